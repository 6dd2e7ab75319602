"""Whole phantom games beside exp-a-spiel: set-up, one evaluation of uniform play, and memory.

An evaluation is the value of both seats' play and both best responses. Each side runs in a process of its own, on all
cores, one after the other. Our kernels are compiled before. exp-a-spiel visits all histories and takes from minutes to
hours a game. It is not a dependency: its package `eas` may be installed for another Python, which `--peer` names. The
bench fails if the two sides' values differ by more than 1e-6.
"""

import json
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from foglight.bench.figures import Row, number, output_of
from foglight.games import load_game
from foglight.names import BadInput

GAMES = {  # our game: its name in exp-a-spiel
    "phantom_ttt": "Pttt",
    "dark_hex(rows=3,cols=3,tries=silent)": "Dh",
    "phantom_ttt(abrupt=yes)": "AbruptPttt",
    "dark_hex(rows=3,cols=3,tries=silent,abrupt=yes)": "AbruptDh",
}
SET_UP_BAR, EVALUATION_BAR, GIGABYTES_BAR = 30, 300, 6
TITLE = "uniform play in whole phantom games"
_TOLERANCE = 1e-6
_ROUNDS = 3
_PEER = """
import json, resource, sys, time, eas
begin = time.perf_counter()
traverser = getattr(eas, sys.argv[1] + "Traverser")()
middle = time.perf_counter()
strategies = traverser.construct_uniform_strategies()
start = time.perf_counter()
result = traverser.ev_and_exploitability(*strategies)
end = time.perf_counter()
best = result.expl[1] + result.ev0, result.expl[0] - result.ev0
print(json.dumps({
    "set_up": middle - begin, "evaluation": end - start, "value": result.ev0, "best": best,
    "information_states": [traverser.NUM_INFOS_PL0, traverser.NUM_INFOS_PL1],
    "gigabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9,
}))
"""


class _Result(Row):
    """What both sides did in one game."""

    def __init__(self, game: str, ours: dict[str, Any], peer: dict[str, Any] | None) -> None:
        self.game, self.ours, self.peer = game, ours, peer

    def summary(self) -> dict[str, Any]:
        return {"game": self.game, "foglight": self.ours, "exp_a_spiel": self.peer}

    def texts(self) -> dict[str, str]:
        texts = {"game": self.game}
        for name, bar in (("set_up", SET_UP_BAR), ("evaluation", EVALUATION_BAR)):
            title = name.replace("_", "-")
            texts[title] = f"{number(self.ours[name])} s"
            if self.peer is not None:
                texts[f"{title}, exp-a-spiel"] = f"{number(self.peer[name])} s"
                texts[f"{title}, ratio"] = f"{number(self.peer[name] / self.ours[name])}× (bar {bar}×)"
        texts["memory"] = f"{self.ours['gigabytes']:.1f} GB (bar {GIGABYTES_BAR})"
        texts["value"] = f"{self.ours['value']:.9f}"
        texts["best responses"] = ", ".join(f"{worth:.6f}" for worth in self.ours["best"])
        return texts


def tasks(games: list[str] | None, peer: str | None) -> list[tuple[str, Callable[[], list[Row]]]]:
    """The tasks, each with the title of its table; `peer` is a Python that has `eas`, or None."""
    names = [str(load_game(game)) for game in games or GAMES]
    for name in names:
        if name not in GAMES:
            raise BadInput(f"exp-a-spiel does not have {name}; choose from {', '.join(GAMES)}")
    return [(TITLE, partial(_measure, name, peer)) for name in names]


def _measure(game: str, peer: str | None) -> list[Row]:
    ours = output_of([sys.executable, "-m", "foglight.bench.phantom", game])
    theirs = None if peer is None else output_of([peer, "-c", _PEER, GAMES[game]])
    if theirs is not None:
        for one, other in zip((ours["value"], *ours["best"]), (theirs["value"], *theirs["best"]), strict=True):
            if abs(one - other) > _TOLERANCE:
                raise RuntimeError(f"{game}: {one} here is {other} by exp-a-spiel")
    return [_Result(game, ours, theirs)]


def _ours(name: str) -> dict[str, Any]:
    import resource  # Windows has none, and cannot run this bench

    from foglight.policies import Uniform
    from foglight.solving.factored.form import FactoredForm, best_response, gaps, value
    from foglight.solving.factored.policies import plans_of

    game = load_game(name)
    FactoredForm(load_game("phantom_ttt" if "phantom" in name else "dark_hex(rows=2,cols=2,tries=silent)"))  # compiles
    begin = time.perf_counter()
    form = FactoredForm(game, memory=64)
    set_up = time.perf_counter() - begin
    plans, seconds = plans_of(form, Uniform()), []
    best = [best_response(form, plans[1 - seat], seat)[0] for seat in range(2)]
    for _ in range(_ROUNDS):
        begin = time.perf_counter()
        gaps(form, plans)
        seconds.append(time.perf_counter() - begin)
    return {
        "set_up": set_up,
        "evaluation": min(seconds),
        "value": value(form, plans),
        "best": best,
        "information_states": [len(side.fixed) for side in form.sides],
        "gigabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9,
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(_ours(sys.argv[1])))
