"""Independent uniform worlds of a trick-taking game, without the histories that lead to them.

A search needs worlds, a million per second, and not the order in which their cards were dealt. Once play has begun, two
histories with the same observations of the viewer differ in the hands alone: in the words that hold the hands, and in
the keys of the seats that saw them. So one history is replayed by the rules, and its last world is dealt anew: hands
are drawn as in `count.py`, and each seat's key is folded again from its hand on.

Whether a game is like that is checked: a few histories are also replayed by the rules, and their worlds must come out
the same, word for word.
"""

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy import int64, uint64

from foglight import bits
from foglight.cards import codes
from foglight.cards.tricks import played, set_hand
from foglight.compile import kernel
from foglight.randomness import fold
from foglight.rules import PUBLIC, Game, num_players, num_words
from foglight.state import replay
from foglight.worlds.deals.count import DealCount

_BLOCK = 64  # keys that are folded side by side


class Redeal(NamedTuple):
    """What all worlds share, and where they differ."""

    world: np.ndarray  # uint64[W]: one of the worlds
    seats: np.ndarray  # int64[s]: the seats whose hands are hidden
    sure: np.ndarray  # uint64[s]: the set of cards that each was surely dealt
    begins: np.ndarray  # int64[s]: where the other cards of each begin in a deal
    ends: np.ndarray  # int64[s]: where they end
    keys: np.ndarray  # uint64[s]: their keys before they see their hands
    tail: np.ndarray  # int64[t]: the observations of each of them after that


class DealWorlds:
    """A sampler of the last worlds of a puzzle's histories, uniform and independent."""

    def __init__(self, game: Game, redeal: Redeal, deals: DealCount) -> None:
        self._game, self._redeal, self._deals = game, redeal, deals

    def draw(self, n: int, random: np.ndarray) -> np.ndarray:
        """n worlds, uint64[n, W]."""
        return self._dealt(self._deals.draw(n, random))

    def same(self, deals: np.ndarray, begins: Sequence[int], worlds: np.ndarray) -> bool:
        """Whether these deals of the whole puzzle, row by row, yield the worlds that their replay gave."""
        mine = set(self._deals.cards)
        rows = [[c for b, e in itertools.pairwise(begins) for c in deal[b:e] if c in mine] for deal in deals.tolist()]
        return bool(np.array_equal(self._dealt(np.array(rows, np.int64).reshape(len(deals), len(mine))), worlds))

    def _dealt(self, deals: np.ndarray) -> np.ndarray:
        worlds = np.empty((len(deals), len(self._redeal.world)), np.uint64)
        _deal_anew(self._game, self._redeal, deals, worlds)
        return worlds


def deal_worlds(
    game: Game, viewer: int, history: np.ndarray, world: np.ndarray, puzzle: DealCount
) -> DealWorlds | None:
    """A sampler that deals the last world of a history anew; None if the game is not suited.

    All hidden seats must see their hands at once and observe the same after that.
    """
    state = replay(game, history.tolist())
    hidden = [seat for seat in range(num_players(game)) if seat != viewer]
    keys, tails = [], []
    for seat in hidden:
        observations = state.observations(seat)
        looks = [t for t, code in enumerate(observations) if codes.is_hand(code)]
        if len(looks) != 1:
            return None
        key = 0
        for code in observations[: looks[0]]:
            key = int(fold(key, code))
        keys.append(key)
        tails.append(observations[looks[0] + 1 :])
    sure, needs, free = [0] * len(puzzle.needs), list(puzzle.needs), []
    for card, rows in zip(puzzle.cards, puzzle.owners, strict=True):
        if rows.bit_count() > 1:
            free.append((card, rows))
        else:
            row = rows.bit_length() - 1
            sure[row] |= 1 << card
            needs[row] -= 1
    if any(tail != tails[0] for tail in tails) or (viewer != PUBLIC and needs[viewer] > 0):
        return None
    begins = np.cumsum([0, *needs])
    redeal = Redeal(
        world.copy(),
        np.array(hidden, np.int64),
        np.array([sure[seat] for seat in hidden], np.uint64),
        np.array([begins[seat] for seat in hidden], np.int64),
        np.array([begins[seat + 1] for seat in hidden], np.int64),
        np.array(keys, np.uint64),
        np.array(tails[0], np.int64),
    )
    return DealWorlds(game, redeal, DealCount([c for c, _ in free], [rows for _, rows in free], needs))


@kernel
def _deal_anew(game, redeal, deals, worlds):
    """Write the world of each deal; keys are folded in blocks, so that their chains of operations overlap."""
    hidden, first_key = len(redeal.seats), num_words(game) + 1
    keys = np.empty(_BLOCK * hidden, np.uint64)
    for first in range(0, len(deals), _BLOCK):
        n = min(_BLOCK, len(deals) - first)
        for i in range(n):
            world = worlds[first + i]
            world[:] = redeal.world
            for s in range(hidden):
                dealt = redeal.sure[s]
                for p in range(redeal.begins[s], redeal.ends[s]):
                    dealt |= bits.bit(deals[first + i, p])
                set_hand(game, world, redeal.seats[s], dealt & ~played(game, world, redeal.seats[s]))
                keys[i * hidden + s] = fold(redeal.keys[s], int64(codes.HAND) | int64(dealt))
        for t in range(len(redeal.tail)):
            code = redeal.tail[t]
            for k in range(n * hidden):
                keys[k] = fold(keys[k], code)
        for i in range(n):
            for s in range(hidden):
                worlds[first + i, first_key + redeal.seats[s]] = uint64(keys[i * hidden + s])
