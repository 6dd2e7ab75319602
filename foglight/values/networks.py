"""Networks that value public belief states: positional and particle [Sustr2021, Sections 4.2 and 5.2].

Positional: every private piece of information that a seat may have has its own input and its own output.

    values = regression([ranges, public])

Particle: information states come as a set, each by its features, and only those that are asked about. Order does not
matter, by construction: the set enters through a sum, and each output depends on the others through that sum alone.

    base[j]  = change_of_basis([public, private[j]])
    context  = sum over j of range[j] * base[j]
    value[j] = <regression([context, public]), base[j]>                     projection
    value[j] = join([base[j], regression([context, public])])               concatenation, Appendix C's ablation

Layers are fully connected, with ReLU between them: 5 of width 5 times the input for regression and for the positional
network, 3 of width 3 times the input for the change of basis. The paper does not say how wide a base is, but that both
regressions are alike; so it is as wide as the list of the positional network, unless told.
"""

import importlib.util
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from foglight.names import BadInput
from foglight.values.layout import Layout

if importlib.util.find_spec("torch") is None:
    raise BadInput("value networks need PyTorch; install it with: pip install 'foglight[values]'")

import torch
from torch import Tensor, nn

KINDS = ("positional", "particle", "concatenation")


class Batch(NamedTuple):
    """Public belief states, B of them with at most K information states; what pads has range 0 and mask 0."""

    public: Tensor  # float[B, F]
    private: Tensor  # float[B, K, G]
    places: Tensor  # int64[B, K]: in the positional list; 0 where it pads
    ranges: Tensor  # float[B, K]
    mask: Tensor  # float[B, K]: 1 where there is an information state


class Positional(nn.Module):
    """One input and one output for each of `places`."""

    def __init__(self, public: int, places: int, layers: int = 5, width: int | None = None) -> None:
        super().__init__()
        self.places = places
        self.regression = perceptron(places + public, width or 5 * (places + public), places, layers)

    def forward(self, batch: Batch) -> Tensor:
        """The values of the information states, float[B, K]."""
        ranges = batch.ranges.new_zeros(len(batch.ranges), self.places)
        ranges = ranges.scatter_add(1, batch.places, batch.ranges * batch.mask)
        return self.regression(torch.cat([ranges, batch.public], 1)).gather(1, batch.places) * batch.mask


class Particle(nn.Module):
    """A set of information states by their features."""

    def __init__(
        self, public: int, private: int, base: int, concatenation: bool = False, width: int | None = None
    ) -> None:
        super().__init__()
        features = public + private
        self.change_of_basis = perceptron(features, 3 * features, base, 3)
        self.regression = perceptron(base + public, width or 5 * (base + public), base, 5)
        self.join = perceptron(2 * base, 2 * base, 1, 2) if concatenation else None

    def forward(self, batch: Batch) -> Tensor:
        """The values of the information states, float[B, K]."""
        return self.values(batch, self.bases(batch.public, batch.private))

    def bases(self, public: Tensor, private: Tensor) -> Tensor:
        """The base of each information state, float[B, K, base]: it does not depend on ranges."""
        public = public[:, None].expand(-1, private.shape[1], -1)
        return self.change_of_basis(torch.cat([public, private], 2))

    def values(self, batch: Batch, bases: Tensor) -> Tensor:
        """The values, given the bases."""
        context = ((batch.ranges * batch.mask)[:, :, None] * bases).sum(1)
        found = self.regression(torch.cat([context, batch.public], 1))
        if self.join is None:
            return (bases @ found[:, :, None])[:, :, 0] * batch.mask
        beside = found[:, None].expand(-1, bases.shape[1], -1)
        return self.join(torch.cat([bases, beside], 2))[:, :, 0] * batch.mask


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

    kind: str  # positional, particle or concatenation
    public: int  # features of a public state
    private: int  # features of an information state
    places: int  # what both seats may privately know
    base: int | None = None
    width: int | None = None  # of the regression's hidden layers

    def build(self) -> nn.Module:
        if self.kind == "positional":
            return Positional(self.public, self.places, width=self.width)
        if self.kind in KINDS:
            return Particle(
                self.public, self.private, self.base or self.places, self.kind == "concatenation", self.width
            )
        raise BadInput(f"unknown network '{self.kind}'; there are {', '.join(KINDS)}")

    def data(self) -> dict[str, Any]:
        return asdict(self)


def shape_for(layout: Layout, kind: str, base: int | None = None, width: int | None = None) -> Shape:
    """The shape of a network for a layout."""
    if kind not in KINDS:
        raise BadInput(f"unknown network '{kind}'; there are {', '.join(KINDS)}")
    return Shape(kind, layout.public.shape[1], layout.private.shape[2], layout.num_places, base, width)


class Tables:
    """A layout as tensors on a device, to make batches from."""

    def __init__(self, layout: Layout, device: str = "cpu", dtype: torch.dtype = torch.float32) -> None:
        self.public = torch.tensor(layout.public, dtype=dtype, device=device)
        self.private = torch.tensor(layout.private, dtype=dtype, device=device)
        self.places = torch.tensor(layout.places, device=device).clamp(min=0)
        self.mask = torch.tensor(layout.mask, dtype=dtype, device=device)

    def batch(self, publics: Tensor, ranges: Tensor) -> Batch:
        """Public belief states from the numbers of public states, int64[B], and ranges, float[B, K]."""
        return Batch(self.public[publics], self.private[publics], self.places[publics], ranges, self.mask[publics])
