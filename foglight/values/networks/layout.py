"""The public states at which a trunk is cut, as plain arrays: all that training needs to know of a game.

There are P public states, each with at most K information states of both seats. Seat 0's come first; each seat's are in
ascending order of their keys. Shorter lists are padded: seat -1, place -1, everything else 0.

Each seat's range is normalised to add up to 1; a seat that never reaches the public state keeps zeros. Counterfactual
values are linear in the range of the other seat and in chance, so a network learns them in these units,

    value of seat i  /  (sum of the other seat's range * chance of the likeliest history of the public state)

and its outputs are multiplied back. In Goofspiel a value is then at most 1, in Leduc poker a number of chips.

The mass of an information state, its reach probability by chance and the other seat's range, follows from `shared` and
the ranges, so a network need not learn it. Outputs are multiplied by the mass, unless the network's shape says
`mass=False` (`architectures`). Where the mass is 0, so are the values.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from foglight.names import BadInput

PADDING = -1  # seat and place of an empty entry; place of a state that has none


@dataclass(frozen=True)
class Features:
    """P public states as one list of their J information states, ordered by public state, then by seat."""

    public: np.ndarray  # float32[P, F]: features of public states
    private: np.ndarray  # float32[J, G]: features of information states, the seat among them
    places: np.ndarray  # int64[J]: the place of each in a positional network; PADDING if it has none
    of: np.ndarray  # int64[J]: the public state of each, ascending
    seats: np.ndarray  # int64[J]
    pairs: np.ndarray  # int64[H, 2]: the information states of each history, seat 0's first, ordered by public state
    chance: np.ndarray  # float[H]: the chance probability of each history, divided by its public state's scale


@dataclass(frozen=True)
class Layout:
    """Features and places of all public states and information states at a cut."""

    public_keys: np.ndarray  # uint64[P]
    public: np.ndarray  # float32[P, F]: features of public states
    keys: np.ndarray  # uint64[P, K]: the keys of information states
    seats: np.ndarray  # int64[P, K]
    places: np.ndarray  # int64[P, K]: the number of the seat's private observations, among all that occur at the cut
    private: np.ndarray  # float32[P, K, G]: features of information states, the seat among them
    scales: np.ndarray  # float64[P]: the chance probability of the likeliest history
    shared: np.ndarray  # float32[P, K, K]: the chance of the histories with both states, divided by the scale

    @property
    def num_places(self) -> int:
        return int(self.places.max()) + 1

    @property
    def num_seats(self) -> int:
        return int(self.seats.max()) + 1

    @property
    def mask(self) -> np.ndarray:
        """Where there is an information state, bool[P, K]."""
        return self.seats != PADDING

    def arrays(self) -> dict[str, np.ndarray]:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def packed(self, numbers: Sequence[Sequence[np.ndarray]]) -> np.ndarray:
        """Pack numbers of information states, given by public state and seat, into one array: float64[P, K]."""
        whole = np.zeros(self.seats.shape)
        whole[self.mask] = np.concatenate([own for by_seat in numbers for own in by_seat])
        return whole

    def parted(self, whole: np.ndarray) -> list[list[np.ndarray]]:
        """Part such an array into numbers by public state and seat."""
        seats = range(self.num_seats)
        return [[row[own == seat] for seat in seats] for row, own in zip(whole, self.seats, strict=True)]

    def features(self) -> Features:
        """The features without padding. Histories with the same two information states are merged into one."""
        mask = self.mask
        numbers = np.cumsum(mask).reshape(mask.shape) - 1
        of, first, second = np.nonzero(self.shared * (self.seats == 0)[:, :, None])
        pairs = np.stack([numbers[of, first], numbers[of, second]], axis=1)
        chance = self.shared[of, first, second]
        listed = self.private[mask], self.places[mask], np.nonzero(mask)[0], self.seats[mask]
        return Features(self.public, *listed, pairs, chance)

    def chosen(self, public_keys: Sequence[int]) -> np.ndarray:
        """The numbers of the public states with these keys, int64."""
        order = np.argsort(self.public_keys)
        keys = np.array(public_keys, np.uint64)
        numbers = order[np.searchsorted(self.public_keys, keys, sorter=order).clip(max=len(order) - 1)]
        if (self.public_keys[numbers] != keys).any():
            raise BadInput("the network does not know all of these public states; take the trunk it was trained for")
        return numbers


def layout_of(arrays: dict[str, np.ndarray]) -> Layout:
    """A layout from its arrays; arrays of other names are ignored."""
    return Layout(**{field.name: arrays[field.name] for field in fields(Layout)})


def sums_of(layout: Layout, ranges: np.ndarray, publics: np.ndarray) -> np.ndarray:
    """For each information state of some public states, the sum of its seat's range: float64[n, K]."""
    sums = np.zeros(ranges.shape)
    for seat in range(layout.num_seats):
        own = layout.seats[publics] == seat
        sums += own * (ranges * own).sum(1, keepdims=True)
    return sums


def normalised(layout: Layout, ranges: np.ndarray, publics: np.ndarray) -> np.ndarray:
    """Ranges divided by their sums, or 0 where a seat never reaches the public state: float64[n, K]."""
    sums = sums_of(layout, ranges, publics)
    return np.divide(ranges, sums, out=np.zeros(ranges.shape), where=sums > 0.0)


def units(layout: Layout, ranges: np.ndarray, publics: np.ndarray) -> np.ndarray:
    """The factors from a network's outputs to counterfactual values under these ranges, two seats: float64[n, K]."""
    factors = np.zeros(ranges.shape)
    for seat in range(2):
        own, other = layout.seats[publics] == seat, layout.seats[publics] == 1 - seat
        factors += own * (ranges * other).sum(1, keepdims=True)
    return factors * layout.scales[publics][:, None]
