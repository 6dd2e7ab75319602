"""What a world at the horizon is worth, for searches over sets of worlds.

A leaf implements `evaluate` (`leaves.py`); it is asked about worlds in which the game goes on. `win` is what a payoff
of 1 counts where it has ended.
"""

from typing import NamedTuple

from foglight.compile import implements
from foglight.search.leaves import evaluate


class Even(NamedTuple):
    """Nothing is decided before the end; a payoff of 1 counts `win`.

    >>> search = fl.SetSearch("phantom_ttt", seat=0, turns=1, leaf=fl.Even())
    >>> search.value(fl.new_state("phantom_ttt").world)
    0.0
    """

    win: float = 1.0


@implements(Even, evaluate.__name__)
def _even(leaf, game, world, random, out):
    out[0] = out[1] = 0.0


class Asked(NamedTuple):
    """Somebody else knows: the search hands the worlds of an action over in one array and waits for their values."""

    win: float = 10_000.0


@implements(Asked, evaluate.__name__)
def _asked(leaf, game, world, random, out):
    out[0] = out[1] = 0.0
