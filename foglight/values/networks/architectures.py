"""Networks that value public belief states: positional and particle [Sustr2021, Sections 4.2 and 5.2].

Positional: every private piece of information that a seat may have has its own input and its own output.

    values = regression([ranges, public])

Particle: information states come as a set, each by its features, and only those that are asked about. Order does not
matter, by construction: the set enters through a sum, and each output depends on the others through that sum alone.

    base[j]  = change_of_basis([public, private[j]])
    context  = sum over j of range[j] * base[j]
    value[j] = <regression([context, public]), base[j]>                     projection
    value[j] = join([base[j], regression([context, public])])               concatenation, Appendix C's ablation
    value[j] = +- sum over k of shared[j, k] * range[k] * <regression([context, public]), face[j] * face[k]>   histories

What the first three say is multiplied by how likely an information state is met, its mass, since counterfactual values
have it as a factor. The paper's networks have to learn that; `mass=False` makes them. The last, ours, says what a
history is worth to seat 0, from the faces of its two information states (a second change of basis), and adds up over
the histories that there are: so what one seat wins the other loses, whatever the weights.

Layers are fully connected, with ReLU between them: 5 of width 5 times the input for regression and for the positional
network, 3 of width 3 times the input for the change of basis. The paper does not say how wide a base is, but that both
regressions are alike; so it is as wide as the list of the positional network, unless told.
"""

import importlib.util
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np

from foglight.names import BadInput
from foglight.values.networks.layout import Layout

if importlib.util.find_spec("torch") is None:
    raise BadInput("value networks need PyTorch; install it with: pip install 'foglight[values]'")

import torch
from torch import Tensor, nn

KINDS = ("positional", "particle", "concatenation", "histories")


class Batch(NamedTuple):
    """Public belief states, B of them with at most K information states; what pads has range 0 and mask 0."""

    public: Tensor  # float[B, F]
    private: Tensor  # float[B, K, G]
    places: Tensor  # int64[B, K]: in the positional list; 0 where it pads
    ranges: Tensor  # float[B, K]
    mask: Tensor  # float[B, K]: 1 where there is an information state
    signs: Tensor  # float[B, K]: 1 for seat 0, -1 for seat 1, 0 where it pads
    mass: Tensor  # float[B, K]: how likely chance and the other seat's range make it
    shared: Tensor  # float[B, K, K]: the chance of the histories that two information states share


class Ragged(NamedTuple):
    """Public belief states as one list of their information states, J of them; what is shared is a sparse matrix."""

    public: Tensor  # float[B, F]
    of: Tensor  # int64[J]: the public state of each information state
    places: Tensor  # int64[J]
    ranges: Tensor  # float[J]
    signs: Tensor  # float[J]
    asked: Tensor  # int64[A]: of which the values are wanted
    shared: Tensor  # sparse float[A, J]


class Positional(nn.Module):
    """One input and one output for each of `places`."""

    def __init__(self, public: int, places: int, layers: int = 5, width: int | None = None, mass: bool = True) -> None:
        super().__init__()
        self.places, self.mass = places, mass
        self.regression = perceptron(places + public, width or 5 * (places + public), places, layers)

    def forward(self, batch: Batch) -> Tensor:
        """The values of the information states, float[B, K]."""
        ranges = batch.ranges.new_zeros(len(batch.ranges), self.places)
        ranges = ranges.scatter_add(1, batch.places, batch.ranges * batch.mask)
        found = self.regression(torch.cat([ranges, batch.public], 1)).gather(1, batch.places)
        return found * (batch.mass if self.mass else batch.mask)

    def ragged_bases(self, public: Tensor, private: Tensor) -> None:
        """It has none."""

    def ragged_values(self, given: Ragged, bases: None) -> Tensor:
        """The values of a ragged batch that are asked for, float[A]."""
        ranges = given.ranges.new_zeros(len(given.public), self.places)
        ranges = ranges.index_put_((given.of, given.places), given.ranges, accumulate=True)
        of, places = given.of[given.asked], given.places[given.asked]
        found = self.regression(torch.cat([ranges, given.public], 1))[of, places]
        return found * (given.shared @ given.ranges[:, None])[:, 0] if self.mass else found


class Particle(nn.Module):
    """A set of information states by their features; `output` is projection, concatenation or histories."""

    def __init__(
        self,
        public: int,
        private: int,
        base: int,
        output: str = "projection",
        width: int | None = None,
        mass: bool = True,
    ) -> None:
        super().__init__()
        features, self.base, self.mass = public + private, base, mass
        self.change_of_basis = perceptron(features, 3 * features, base, 3)
        self.regression = perceptron(base + public, width or 5 * (base + public), base, 5)
        self.join = perceptron(2 * base, 2 * base, 1, 2) if output == "concatenation" else None
        self.faces = perceptron(features, 3 * features, base, 3) if output == "histories" else None

    def forward(self, batch: Batch) -> Tensor:
        """The values of the information states, float[B, K]."""
        return self.values(batch, self.bases(batch.public, batch.private))

    def bases(self, public: Tensor, private: Tensor) -> Tensor:
        """What each information state adds to the context, and its face beside it where histories are valued.

        float[B, K, base] or float[B, K, 2 * base]; it does not depend on ranges.
        """
        features = torch.cat([public[:, None].expand(-1, private.shape[1], -1), private], 2)
        base = self.change_of_basis(features)
        return base if self.faces is None else torch.cat([base, self.faces(features)], 2)

    def values(self, batch: Batch, bases: Tensor) -> Tensor:
        """The values, given the bases."""
        bases, faces = bases[:, :, : self.base], bases[:, :, self.base :]
        context = ((batch.ranges * batch.mask)[:, :, None] * bases).sum(1)
        found = self.regression(torch.cat([context, batch.public], 1))
        if self.faces is not None:
            met = batch.shared @ (batch.ranges[:, :, None] * faces)
            return (met * faces @ found[:, :, None])[:, :, 0] * batch.signs
        factor = batch.mass if self.mass else batch.mask
        if self.join is None:
            return (bases @ found[:, :, None])[:, :, 0] * factor
        beside = found[:, None].expand(-1, bases.shape[1], -1)
        return self.join(torch.cat([bases, beside], 2))[:, :, 0] * factor

    def ragged_bases(self, public: Tensor, private: Tensor) -> Tensor:
        """The bases of information states, from both kinds of features of each: float[J, base]."""
        return self.bases(public, private[:, None])[:, 0]

    def ragged_values(self, given: Ragged, bases: Tensor) -> Tensor:
        """The values of a ragged batch that are asked for, float[A], given the bases, float[J, base]."""
        bases, faces = bases[:, : self.base], bases[:, self.base :]
        ranges = given.ranges[:, None]
        context = bases.new_zeros(len(given.public), self.base).index_add_(0, given.of, ranges * bases)
        found = self.regression(torch.cat([context, given.public], 1))[given.of[given.asked]]
        if self.faces is not None:
            met = given.shared @ (ranges * faces)
            return (met * faces[given.asked] * found).sum(1) * given.signs[given.asked]
        bases = bases[given.asked]
        said = (bases * found).sum(1) if self.join is None else self.join(torch.cat([bases, found], 1))[:, 0]
        return said * (given.shared @ ranges)[:, 0] if self.mass else said


def perceptron(inputs: int, hidden: int, outputs: int, layers: int) -> nn.Sequential:
    """Fully connected layers with ReLU between them; the last is linear."""
    widths = [inputs, *[hidden] * (layers - 1), outputs]
    parts: list[nn.Module] = []
    for i in range(layers):
        parts += [nn.Linear(widths[i], widths[i + 1]), nn.ReLU()]
    return nn.Sequential(*parts[:-1])


@dataclass(frozen=True)
class Shape:
    """All that a network is made from, beside its weights."""

    kind: str  # one of KINDS
    public: int  # features of a public state
    private: int  # features of an information state
    places: int  # what both seats may privately know
    base: int | None = None
    width: int | None = None  # of the regression's hidden layers
    mass: bool = True  # whether what it says is multiplied by the mass; files that do not say so mean yes

    def build(self) -> nn.Module:
        check_kind(self.kind, self.mass)
        if self.kind == "positional":
            return Positional(self.public, self.places, width=self.width, mass=self.mass)
        output = "projection" if self.kind == "particle" else self.kind
        return Particle(self.public, self.private, self.base or self.places, output, self.width, self.mass)

    def data(self) -> dict[str, Any]:
        return asdict(self)


def shape_for(layout: Layout, kind: str, base: int | None = None, width: int | None = None, mass: bool = True) -> Shape:
    """The shape of a network for a layout."""
    check_kind(kind, mass)
    return Shape(kind, layout.public.shape[1], layout.private.shape[2], layout.num_places, base, width, mass)


def check_kind(kind: str, mass: bool = True) -> None:
    """Refuse what is no network."""
    if kind not in KINDS:
        raise BadInput(f"unknown network '{kind}'; there are {', '.join(KINDS)}")
    if kind == "histories" and not mass:
        others = ", ".join(other for other in KINDS if other != kind)
        raise BadInput(f"the network 'histories' adds up masses and cannot go without; without mass there are {others}")


class Tables:
    """A layout as tensors on a device, to make batches from."""

    def __init__(self, layout: Layout, device: str = "cpu", dtype: torch.dtype = torch.float32) -> None:
        self.public = torch.tensor(layout.public, dtype=dtype, device=device)
        self.private = torch.tensor(layout.private, dtype=dtype, device=device)
        self.places = torch.tensor(layout.places, device=device).clamp(min=0)
        self.mask = torch.tensor(layout.mask, dtype=dtype, device=device)
        self.signs = torch.tensor((layout.seats == 0) * 1.0 - (layout.seats == 1), dtype=dtype, device=device)
        self.shared = torch.tensor(layout.shared, dtype=dtype, device=device)

    def batch(self, publics: Tensor, ranges: Tensor) -> Batch:
        """Public belief states from the numbers of public states, int64[B], and ranges, float[B, K]."""
        shared = self.shared[publics]
        mass = (shared @ ranges[:, :, None])[:, :, 0]
        features = self.public[publics], self.private[publics], self.places[publics]
        return Batch(*features, ranges, self.mask[publics], self.signs[publics], mass, shared)


def shared_matrix(pairs: np.ndarray, chance: np.ndarray, size: int, device: str = "cpu") -> torch.Tensor:
    """The chance that two information states share, from the pairs of each history: a sparse matrix, symmetric."""
    where = torch.tensor(np.concatenate([pairs, pairs[:, ::-1]]).T, device=device)
    amounts = torch.tensor(np.concatenate([chance, chance]), dtype=torch.float32, device=device)
    return torch.sparse_coo_tensor(where, amounts, (size, size), check_invariants=True).coalesce()


def check_device(device: str) -> None:
    """Refuse what is not there."""
    if device.startswith("cuda") and not torch.cuda.is_available():
        raise BadInput("there is no CUDA device here; train on cpu")
    if device != "cpu" and not device.startswith("cuda"):
        raise BadInput(f"device must be cpu or cuda, not {device}")


def one_thread() -> None:
    """Let PyTorch use one thread: networks this small only wait for more, and stall where cores are shared."""
    torch.set_num_threads(1)
