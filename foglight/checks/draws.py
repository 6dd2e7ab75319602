"""`pick` and `deal`, which games override for speed: they must draw as `legal` and `chance` say."""

import random
import time
from typing import Any

import numpy as np

from foglight.checks.positions import Play, Position, where
from foglight.checks.report import Checks
from foglight.compile import has_rule
from foglight.names import failure
from foglight.randomness import generator
from foglight.rules import CHANCE, deal, pick

_DRAWS = 1_000  # at a position
_ENOUGH = 10  # positions that are tried however long it takes
_FALSE_ALARM = 1e-6  # of one check of a game, over all positions
_POSITIONS = 200  # at most


def compare_draws(
    play: Play, checks: Checks, rng: random.Random, seed: int, games: int, longest: int, end: float
) -> None:
    """Draw many times at positions of random games, as far as the game has rules of its own for it."""
    own = {name for name in ("pick", "deal") if has_rule(name, type(play.game))}
    generator_, drawn = generator(seed, 1), 0
    for _ in range(games):
        for position in play.random_game(rng, longest):
            rule = "deal" if position.mover == CHANCE else "pick"
            if rule in own and len(position.actions) > 1 and (drawn < _ENOUGH or rng.random() < 0.3):
                _draw(play, checks, rule, position, generator_)
                drawn += 1
                if checks.has(rule):
                    own.discard(rule)
            if not own or drawn == _POSITIONS or (drawn >= _ENOUGH and time.monotonic() > end):
                return


def _draw(play: Play, checks: Checks, name: str, position: Position, random_: np.ndarray) -> None:
    """Draw many times at a position: outcomes must be legal and as frequent as they should be."""
    out, odds = np.zeros(play.most, np.int64), np.zeros(play.most)
    arrays = (out,) if name == "pick" else (out, odds)
    rule: Any = pick if name == "pick" else deal
    counts = dict.fromkeys(position.actions, 0)
    for _ in range(_DRAWS):
        try:
            action = int(rule(play.game, position.world, random_, *arrays))
        except Exception as error:
            said = f"`{name}` fails with {failure(error)} {where(play.game, position)}"
            checks.add(name, said, position.history)
            return
        if action not in counts:
            said = f"`{name}` draws {action}, which is not possible {where(play.game, position)}"
            checks.add(name, said, position.history)
            return
        counts[action] += 1
    checks.count(name)
    shares = position.odds or [1.0 / len(position.actions)] * len(position.actions)
    if _p_value(list(counts.values()), [_DRAWS * share for share in shares]) < _FALSE_ALARM / _POSITIONS:
        action = max(counts, key=lambda a: abs(counts[a] - _DRAWS * shares[position.actions.index(a)]))
        share = shares[position.actions.index(action)]
        said = f"`{name}` draws {action} {counts[action]} times in {_DRAWS}, where {_DRAWS * share:.0f} are expected,"
        checks.add(name, f"{said} {where(play.game, position)}", position.history)


def _p_value(counts: list[int], expected: list[float]) -> float:
    """The chi-square test; neighbouring outcomes are joined until at least 50 draws are expected of each group."""
    from scipy.special import chdtrc

    groups: list[list[float]] = [[0.0, 0.0]]
    for count, wanted in zip(counts, expected, strict=True):
        if groups[-1][1] >= 50.0:
            groups.append([0.0, 0.0])
        groups[-1][0] += count
        groups[-1][1] += wanted
    if len(groups) > 1 and groups[-1][1] < 50.0:
        last = groups.pop()
        groups[-1] = [groups[-1][0] + last[0], groups[-1][1] + last[1]]
    if len(groups) < 2:
        return 1.0
    return float(chdtrc(len(groups) - 1, sum((count - wanted) ** 2 / wanted for count, wanted in groups)))
