"""Networks that value public belief states: positional and particle [Sustr2021, Sections 4.2 and 5.2].

Positional: every private piece of information that a seat may have has its own input and its own output.

    values = regression([ranges, public])

Particle: information states come as a set, each by its features, and only those that are asked about. Order does not
matter, by construction: the set enters through a sum, and each output depends on the others through that sum alone.

    base[j]  = change_of_basis([public, private[j]])
    context  = sum over j of range[j] * base[j]
    value[j] = <regression([context, public]), base[j]>                     projection
    value[j] = join([base[j], regression([context, public])])               concatenation, Appendix C's ablation
    value[j] = +- sum over histories (j, k) of chance * range[k] * <regression([context, public]), face[j] * face[k]>

The outputs of the positional network, of projection and of concatenation are multiplied by how likely an information
state is met, its mass, since counterfactual values have it as a factor. The paper's networks have to learn that, and
so have those with `mass=False`. The last output, `histories`, is ours: it values each history for seat 0, from the
faces of its two information states (a second change of basis), and adds up over the histories that there are. So what
one seat wins the other loses, whatever the weights.

Layers are fully connected, with ReLU between them: 5 of width 5 times the input for regression and for the positional
network, 3 of width 3 times the input for the change of basis. The paper does not say how wide a base is, but that both
regressions are alike; so by default it is as wide as the list of the positional network.

There is one form of input, `Batch`, and one forward pass: `network(batch, network.bases(public, private))`.
"""

import importlib.util
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from foglight.names import BadInput
from foglight.values.networks.layout import Layout

if importlib.util.find_spec("torch") is None:
    raise BadInput("value networks need PyTorch; install it with: pip install 'foglight[values]'")

import torch
from torch import Tensor, nn

KINDS = ("positional", "particle", "concatenation", "histories")


class Batch(NamedTuple):
    """Public belief states, B of them, as one list of their information states, J of them.

    Values are wanted of A of these: of all in training, of one seat's where a trunk is cut. The list of H histories has
    each history once for each of its information states that is asked about.
    """

    public: Tensor  # float[B, F]: features
    of: Tensor  # int64[J]: the public belief state of each information state
    places: Tensor  # int64[J]: in the positional list
    ranges: Tensor  # float[J]
    asked: Tensor | slice  # int64[A]: the information states whose values are wanted
    signs: Tensor  # float[A]: 1 for seat 0, -1 for seat 1
    owners: Tensor  # int64[H]: of each history, the information state that it counts for, by its place in `asked`
    others: Tensor  # int64[H]: of each history, the information state of the other seat
    chance: Tensor  # float[H]: of each history, over the scale of its public state

    def mass(self) -> Tensor:
        """How likely chance and the other seat's range make each information state that is asked about: float[A]."""
        return self._sums(self._weights())

    def faces(self, faces: Tensor) -> Tensor:
        """The faces of the other seat's information states, float[J, n], added up in the same way: float[A, n]."""
        return self._sums(self._weights()[:, None] * faces.index_select(0, self.others))

    def _weights(self) -> Tensor:
        return self.chance * self.ranges.index_select(0, self.others)

    def _sums(self, histories: Tensor) -> Tensor:
        return histories.new_zeros(len(self.signs), *histories.shape[1:]).index_add_(0, self.owners, histories)


class Positional(nn.Module):
    """One input and one output for each of `places`."""

    def __init__(self, public: int, places: int, layers: int = 5, width: int | None = None, mass: bool = True) -> None:
        super().__init__()
        self.places, self.mass = places, mass
        self.regression = perceptron(places + public, width or 5 * (places + public), places, layers)

    def bases(self, public: Tensor, private: Tensor) -> Tensor:
        """It has none: float[J, 0]."""
        return private[:, :0]

    def forward(self, batch: Batch, bases: Tensor) -> Tensor:
        """The values of the information states that are asked about, float[A]."""
        ranges = batch.ranges.new_zeros(len(batch.public), self.places)
        ranges = ranges.index_put_((batch.of, batch.places), batch.ranges, accumulate=True)
        of, places = batch.of[batch.asked], batch.places[batch.asked]
        values = self.regression(torch.cat([ranges, batch.public], 1))[of, places]
        return values * batch.mass() if self.mass else values


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

    def bases(self, public: Tensor, private: Tensor) -> Tensor:
        """What each information state adds to the context, and its face beside it where histories are valued.

        From both kinds of features of each, float[J, F] and float[J, G]: float[J, base] or float[J, 2 * base]. They do
        not depend on ranges.
        """
        features = torch.cat([public, private], 1)
        base = self.change_of_basis(features)
        return base if self.faces is None else torch.cat([base, self.faces(features)], 1)

    def forward(self, batch: Batch, bases: Tensor) -> Tensor:
        """The values of the information states that are asked about, float[A], given the bases of all."""
        bases, faces = bases[:, : self.base], bases[:, self.base :]
        weighted = batch.ranges[:, None] * bases
        context = bases.new_zeros(len(batch.public), self.base).index_add_(0, batch.of, weighted)
        regressed = self.regression(torch.cat([context, batch.public], 1)).index_select(0, batch.of[batch.asked])
        if self.faces is not None:
            return (batch.faces(faces) * faces[batch.asked] * regressed).sum(1) * batch.signs
        bases = bases[batch.asked]
        if self.join is None:
            values = (bases * regressed).sum(1)
        else:
            values = self.join(torch.cat([bases, regressed], 1))[:, 0]
        return values * batch.mass() if self.mass else values


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


def check_device(device: str) -> None:
    """Refuse what is not there."""
    if device.startswith("cuda") and not torch.cuda.is_available():
        raise BadInput("there is no CUDA device here; train on cpu")
    if device != "cpu" and not device.startswith("cuda"):
        raise BadInput(f"device must be cpu or cuda, not {device}")


def one_thread() -> None:
    """Let PyTorch use one thread: networks this small only wait for more, and stall where cores are shared."""
    torch.set_num_threads(1)
