"""A leaf evaluator for chess, for searches over sets of worlds."""

from typing import NamedTuple

from foglight.blind_chess.evaluation import centipawns
from foglight.chess.board import WHITE
from foglight.compile import implements
from foglight.search.leaves import evaluate


class Centipawns(NamedTuple):
    """The static evaluation of a chess position on a board of that size, in centipawns; the king is worth `win`.

    >>> state = fl.new_state("rbc")
    >>> state.play(64)  # white senses nothing
    >>> search = fl.SetSearch("rbc", seat=1, turns=1, leaf=fl.Centipawns())
    >>> valuations = search.valuations(state.world)
    >>> len(valuations.actions), valuations.complete
    (35, True)
    """

    size: int = 8
    win: float = 10_000.0


@implements(Centipawns, evaluate.__name__)
def _centipawns(leaf, game, world, random, out):
    out[WHITE] = centipawns(leaf.size, world)
    out[1 - WHITE] = -out[WHITE]
