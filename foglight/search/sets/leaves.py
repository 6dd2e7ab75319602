"""Leaf evaluators for searches over sets of worlds.

A leaf implements `evaluate` (`foglight/search/leaves.py`) for worlds in which the game goes on. Where the game has
ended, a payoff of 1 counts `win`.
"""

from typing import NamedTuple

from foglight.compile import implements
from foglight.search.leaves import evaluate


class Even(NamedTuple):
    """Every world counts 0 until the game ends; a payoff of 1 then counts `win`.

    >>> search = fl.SetSearch("phantom_ttt", seat=0, turns=1, leaf=fl.Even())
    >>> search.value(fl.new_state("phantom_ttt").world)
    0.0
    """

    win: float = 1.0


@implements(Even, evaluate.__name__)
def _even(leaf, game, world, random, out):
    out[0] = out[1] = 0.0


class Asked(NamedTuple):
    """Leaves evaluated outside: the search hands over the worlds of an action in one array and gets their values."""

    win: float = 10_000.0


@implements(Asked, evaluate.__name__)
def _asked(leaf, game, world, random, out):
    out[0] = out[1] = 0.0
