"""Networks that value public belief states: positional and particle [Sustr2021, Sections 4.2 and 5.2].

Positional: every private observation history that a seat may have (a place) has its own input and its own output.

    values = regression([ranges, public])

Particle: the input is a set of information states, each given by its features. Their order does not matter, by
construction: the set enters through a sum, and each output depends on the other states through that sum alone.

    base[j]  = change_of_basis([public, private[j]])
    context  = sum over j of range[j] * base[j]
    value[j] = <regression([context, public]), base[j]>                     projection
    value[j] = join([base[j], regression([context, public])])               concatenation, Appendix C's ablation
    value[j] = +- sum over histories (j, k) of chance * range[k] * <regression([context, public]), face[j] * face[k]>

The mass of an information state is its reach probability by chance and the other seat's range; counterfactual values
have it as a factor. The outputs of the positional network, of projection and of concatenation are multiplied by the
mass. The paper's networks have to learn this factor, and so do those with `mass=False`. The last output, `histories`,
is ours: it gives each history a value for seat 0, computed from the faces of its two information states (a second
change of basis), and sums over the histories. So the game is zero-sum to the network, whatever its weights.

Layers are fully connected, with ReLU between them. Regression and the positional network have 5 layers of 5 times the
input's width; the change of basis has 3 layers of 3 times the input's width. The paper does not give the width of a
base, but says that both regressions are alike; so by default a base has as many entries as there are places.

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
    """B public belief states as one list of their J information states.

    The network gives values for A of these, the states in `asked`: all of them in training, one seat's at the leaves of
    a trunk. The list of H histories has each history once for each of its information states in `asked`.
    """

    public: Tensor  # float[B, F]: features of the public states
    of: Tensor  # int64[J]: the public belief state of each information state
    places: Tensor  # int64[J]: the place of each, for the positional network
    ranges: Tensor  # float[J]: each seat's range adds up to 1
    asked: Tensor | slice  # int64[A]: the information states whose values are wanted
    signs: Tensor  # float[A]: 1 for seat 0, -1 for seat 1
    owners: Tensor  # int64[H]: the information state that each history counts for, as an index into `asked`
    others: Tensor  # int64[H]: the other seat's information state in each history
    chance: Tensor  # float[H]: the chance probability of each history, divided by the scale of its public state

    def mass(self) -> Tensor:
        """The mass of each information state in `asked`, float[A]: its reach by chance and the other seat's range."""
        return self._sums(self._weights())

    def faces(self, faces: Tensor) -> Tensor:
        """The sum of the other seat's faces, float[J, n], with the same weights: float[A, n]."""
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
        """This network has no bases: float[J, 0]."""
        return private[:, :0]

    def forward(self, batch: Batch, bases: Tensor) -> Tensor:
        """The values of the information states in `asked`, float[A]."""
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
        """The base of each information state, float[J, base]; with `histories` its face too, float[J, 2 * base].

        `public` and `private` are the features of each information state, float[J, F] and float[J, G]. Bases do not
        depend on ranges.
        """
        features = torch.cat([public, private], 1)
        base = self.change_of_basis(features)
        return base if self.faces is None else torch.cat([base, self.faces(features)], 1)

    def forward(self, batch: Batch, bases: Tensor) -> Tensor:
        """The values of the information states in `asked`, float[A], given the bases of all."""
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
    """A network's kind and sizes: all that defines it beside its weights."""

    kind: str  # one of KINDS
    public: int  # features of a public state
    private: int  # features of an information state
    places: int  # places of both seats
    base: int | None = None  # width of a base; None: `places`
    width: int | None = None  # width of the regression's hidden layers; None: 5 times its input
    mass: bool = True  # whether outputs are multiplied by the mass; the default for files without this entry

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
    """Refuse a kind of network that does not exist, and one that cannot go without the mass."""
    if kind not in KINDS:
        raise BadInput(f"unknown network '{kind}'; there are {', '.join(KINDS)}")
    if kind == "histories" and not mass:
        others = ", ".join(other for other in KINDS if other != kind)
        raise BadInput(f"the network 'histories' adds up masses and needs them; without mass there are {others}")


def check_device(device: str) -> None:
    """Refuse a device that is unknown or not available."""
    if device.startswith("cuda") and not torch.cuda.is_available():
        raise BadInput("there is no CUDA device here; train on cpu")
    if device != "cpu" and not device.startswith("cuda"):
        raise BadInput(f"device must be cpu or cuda, not {device}")


def one_thread() -> None:
    """Limit PyTorch to one thread: more only slow networks this small, and stall where cores are shared."""
    torch.set_num_threads(1)
