"""The public states at which a trunk is cut, as plain arrays: all that training needs to know of a game.

P public states, at most K information states of both seats in one of them; seat 0's come first, each seat's in order of
their keys, ascending. Shorter lists are padded: seat -1, place -1, everything else 0.

Ranges are normalised to add up to 1 for each seat; a seat that never comes here keeps zeros. Counterfactual values are
linear in the range of the other seat and in chance, so a network learns them in these units,

    value of seat i  /  (sum of the other seat's range * chance of the likeliest history of the public state)

and whoever asks multiplies back. In Goofspiel a value is then at most 1, in Leduc poker a number of chips.

How likely chance and the other seat's range make an information state, its mass, follows from `shared` and the ranges,
so a network need not learn it: its output is multiplied by it, unless its shape says `mass=False` (`architectures`).
Where nothing can be met, values are 0.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from foglight.names import BadInput

PADDING = -1  # the seat and place of what is no information state


@dataclass(frozen=True)
class Features:
    """Public states as one list of their information states, J of them: state after state, seat after seat."""

    public: np.ndarray  # float32[P, F]: features of public states
    private: np.ndarray  # float32[J, G]: features of information states, the seat among them
    places: np.ndarray  # int64[J]: in a positional network's list; PADDING if there is none
    of: np.ndarray  # int64[J]: the public state of each, ascending
    seats: np.ndarray  # int64[J]
    pairs: np.ndarray  # int64[H, 2]: the information states of each history, seat 0's first, public state after state
    chance: np.ndarray  # float[H]: of each history, over the scale of its public state


@dataclass(frozen=True)
class Layout:
    """Features and places of every public state and information state at a cut."""

    public_keys: np.ndarray  # uint64[P]
    public: np.ndarray  # float32[P, F]: features of public states
    keys: np.ndarray  # uint64[P, K]: of information states
    seats: np.ndarray  # int64[P, K]
    places: np.ndarray  # int64[P, K]: the number of what the seat privately knows, among all that can be known
    private: np.ndarray  # float32[P, K, G]: features of information states, the seat among them
    scales: np.ndarray  # float64[P]: the chance of the likeliest history
    shared: np.ndarray  # float32[P, K, K]: the chance of the histories that two of them share, over the scale

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
        """Numbers of information states by public state and seat, as one array: float64[P, K]."""
        whole = np.zeros(self.seats.shape)
        whole[self.mask] = np.concatenate([own for by_seat in numbers for own in by_seat])
        return whole

    def parted(self, whole: np.ndarray) -> list[list[np.ndarray]]:
        """The way back."""
        seats = range(self.num_seats)
        return [[row[own == seat] for seat in seats] for row, own in zip(whole, self.seats, strict=True)]

    def features(self) -> Features:
        """The public states without padding. Histories that share both information states are one."""
        mask = self.mask
        numbers = np.cumsum(mask).reshape(mask.shape) - 1
        of, first, second = np.nonzero(self.shared * (self.seats == 0)[:, :, None])
        pairs = np.stack([numbers[of, first], numbers[of, second]], axis=1)
        chance = self.shared[of, first, second]
        listed = self.private[mask], self.places[mask], np.nonzero(mask)[0], self.seats[mask]
        return Features(self.public, *listed, pairs, chance)

    def chosen(self, public_keys: Sequence[int]) -> np.ndarray:
        """The numbers of the public states with these keys."""
        order = np.argsort(self.public_keys)
        wanted = np.array(public_keys, np.uint64)
        found = order[np.searchsorted(self.public_keys, wanted, sorter=order).clip(max=len(order) - 1)]
        if (self.public_keys[found] != wanted).any():
            raise BadInput("the network does not know all of these public states; take the trunk it was trained for")
        return found


def layout_of(arrays: dict[str, np.ndarray]) -> Layout:
    """A layout from its arrays; others are left alone."""
    return Layout(**{field.name: arrays[field.name] for field in fields(Layout)})


def sums_of(layout: Layout, ranges: np.ndarray, publics: np.ndarray) -> np.ndarray:
    """The sum of its own seat's range beside each information state, for some public states: float64[n, K]."""
    sums = np.zeros(ranges.shape)
    for seat in range(layout.num_seats):
        own = layout.seats[publics] == seat
        sums += own * (ranges * own).sum(1, keepdims=True)
    return sums


def normalised(layout: Layout, ranges: np.ndarray, publics: np.ndarray) -> np.ndarray:
    """Each seat's range so that it adds up to 1, or 0 where it never comes: float64[n, K]."""
    sums = sums_of(layout, ranges, publics)
    return np.divide(ranges, sums, out=np.zeros(ranges.shape), where=sums > 0.0)


def units(layout: Layout, ranges: np.ndarray, publics: np.ndarray) -> np.ndarray:
    """By what to multiply a network's answer to get counterfactual values under these ranges; for two seats."""
    found = np.zeros(ranges.shape)
    for seat in range(2):
        own, other = layout.seats[publics] == seat, layout.seats[publics] == 1 - seat
        found += own * (ranges * other).sum(1, keepdims=True)
    return found * layout.scales[publics][:, None]
