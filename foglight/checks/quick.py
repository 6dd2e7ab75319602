"""A quick check of a game before it is used: a few random games by the interpreted rules, within milliseconds.

`play_match`, `solve` and `history_filter` call it for games that do not come with foglight, once per game and process.
A game that breaks these properties does not fail: it gives wrong counts and values.
"""

import functools
import random
import time

import numpy as np

from foglight.checks.positions import where
from foglight.checks.report import Checks
from foglight.checks.strict import Broken, StrictPlay
from foglight.names import BadInput
from foglight.rules import TERMINAL, Game

_GAMES = 4  # random games
_POSITIONS = 60  # at most, in each of them
_ACTIONS = 12  # of the mover at most that are tried at a position
_ENOUGH = 8  # positions that are looked at however long it takes
_SECONDS = 0.03  # after which no further position is looked at


def quick_check(game: Game) -> None:
    """Raise BadInput if a few random games show that the rules are broken; native games and OpenSpiel's are trusted."""
    if not type(game).__module__.startswith("foglight."):
        _quick_check(game)


@functools.lru_cache(maxsize=1000)
def _quick_check(game: Game) -> None:
    rng, end, seen = random.Random(0), time.perf_counter() + _SECONDS, 0
    try:
        with np.errstate(all="ignore"):
            play = StrictPlay(game, Checks(str(game)), twice=False)
            for _ in range(_GAMES):
                position = play.start()
                for _ in range(_POSITIONS):
                    if position.mover == TERMINAL or (seen >= _ENOUGH and time.perf_counter() > end):
                        break
                    seen += 1
                    if position.mover >= 0:
                        play.own_actions(position, _ACTIONS)
                    position = play.after(position, rng.choice(position.actions))
    except Broken as broken:
        said = f"{game}: {broken.sentence} {where(game, broken.position)}; foglight check-game says more"
        raise BadInput(said) from None
