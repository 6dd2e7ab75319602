"""CFR+ iterations and exploitabilities per second, beside OpenSpiel's C++ and LiteEFG; memory of trees and forms.

All of it runs on one core in one run. Trees are built beforehand on every side. The sides take turns, several times,
and each one's best rate counts, since noise only ever slows a measurement. An iteration updates both seats and the
average on every side; its speed does not depend on the iterations before. Exploitability is that of one policy, which
OpenSpiel gets as its own `TabularPolicy`; the bench fails if the two numbers differ by more than 1e-10. LiteEFG is not
a dependency: its column is empty where it is not installed.
"""

import contextlib
import importlib
import importlib.util
import io
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np

from foglight.bench.figures import ROUNDS, Row, Side, check_seconds, load_peer, number, race
from foglight.solving.solver import exploitability, solve
from foglight.solving.whole.plans import gaps
from foglight.solving.whole.regret import Regrets
from foglight.solving.whole.sequences import SequenceForm, sequence_form
from foglight.solving.whole.tree import build_tree

GOOFSPIEL = "goofspiel(cards=5)"
CASES = {  # our game: the same game in OpenSpiel, and the least ratios to OpenSpiel and to LiteEFG (the bars)
    "leduc_poker": ("leduc_poker", 80, 15),
    GOOFSPIEL: (
        "turn_based_simultaneous_game(game=goofspiel(num_cards=5,imp_info=True,points_order=descending))",
        100,
        15,
    ),
}
SIZED = ["kuhn_poker", *CASES, "liars_dice(dice=1,sides=6)", "goofspiel(cards=6)"]
SPEED = "solving, one core"
MEMORY = "trees and their sequence forms"


@dataclass(frozen=True)
class Race(Row):
    """The rates, per second, at which each side does the same work."""

    what: str
    foglight: float
    openspiel: float
    openspiel_bar: float | None
    liteefg: float | None = None
    liteefg_bar: float | None = None

    def summary(self) -> dict[str, Any]:
        ratios = {"openspiel_ratio": self.foglight / self.openspiel, "liteefg_ratio": None}
        if self.liteefg is not None:
            ratios["liteefg_ratio"] = self.foglight / self.liteefg
        return {**asdict(self), **ratios}

    def texts(self) -> dict[str, str]:
        texts = {"what": self.what, "foglight": f"{number(self.foglight)}/s"}
        for name, peer, rate, bar in (
            ("openspiel", "OpenSpiel", self.openspiel, self.openspiel_bar),
            ("liteefg", "LiteEFG", self.liteefg, self.liteefg_bar),
        ):
            ratio = "" if rate is None else f"{number(self.summary()[f'{name}_ratio'])}×"
            least = "" if rate is None or bar is None else f" (bar {number(bar)}×)"
            texts |= {peer: "" if rate is None else f"{number(rate)}/s", f"to {peer}": ratio + least}
        return texts


@dataclass(frozen=True)
class Size(Row):
    """The size of a game's tree and sequence form, and how fast they are built."""

    game: str
    nodes: int
    information_states: int
    sequences: int
    tree_nodes_per_second: float
    form_nodes_per_second: float
    tree_bytes_per_node: float
    form_bytes_per_node: float

    def texts(self) -> dict[str, str]:
        texts = super().texts().items()
        return {key.replace("_per_second", "/s").replace("_per_node", "/node").replace("_", " "): t for key, t in texts}


def tasks(seconds: float = 0.5) -> list[tuple[str, Callable[[], list[Row]]]]:
    """The tasks, each with the title of its table; each side of a race takes about `seconds` per round."""
    check_seconds(seconds)
    load_peer("kuhn_poker")
    title = SPEED if has_liteefg() else f"{SPEED} (LiteEFG's column is empty; for it: pip install LiteEFG)"
    result: list[tuple[str, Callable[[], list[Row]]]] = []
    for game in CASES:
        result.append((title, partial(_listed, iterations, game, seconds)))
    for remembered in (False, True):
        result.append((title, partial(_listed, exploitabilities, remembered, seconds)))
    for game in SIZED:
        result.append((MEMORY, partial(_listed, size, game)))
    return result


def _listed(measure: Callable[..., Row], *arguments: Any) -> list[Row]:
    return [measure(*arguments)]


def has_liteefg() -> bool:
    return importlib.util.find_spec("LiteEFG") is not None


def iterations(game: str, seconds: float) -> Race:
    """CFR+ iterations per second."""
    import pyspiel

    name, *bars = CASES[game]
    peer = load_peer(name)
    solver = pyspiel.CFRPlusSolver(peer)
    sides = [Regrets(sequence_form(game), "cfr+").iterate, _repeated(solver.evaluate_and_update_policy)]
    if has_liteefg():
        sides.append(_liteefg(peer))
    ours, theirs, *lite = race(sides, seconds)
    return Race(f"CFR+ iterations, {game}", ours, theirs, bars[0], lite[0] if lite else None, bars[1])


def exploitabilities(remembered: bool, seconds: float) -> Race:
    """Exploitabilities per second: of behaviour on a form, or of a policy in a game whose tree is cached."""
    import pyspiel

    peer, sequences = load_peer(CASES[GOOFSPIEL][0]), sequence_form(GOOFSPIEL)
    solver = Regrets(sequences, "cfr+")
    solver.iterate(20)
    behaviour, policy, game = solver.average(), solve(GOOFSPIEL, 20), sequences.tree.game
    theirs = pyspiel.TabularPolicy(_peer_table(sequences, behaviour, peer))

    def of_form() -> float:
        return float(gaps(sequences, behaviour).mean())

    def of_policy() -> float:
        return exploitability(game, policy)

    def of_peer() -> float:
        return float(pyspiel.exploitability(peer, theirs))

    ours = of_policy if remembered else of_form
    if abs(ours() - of_peer()) > 1e-10:
        raise RuntimeError(f"exploitability here is {ours()}, and {of_peer()} by OpenSpiel")
    how = "a policy, tree remembered" if remembered else "behaviour, tree built"
    here, there = race([_repeated(ours), _repeated(of_peer)], seconds)
    return Race(f"exploitability of {how}, {GOOFSPIEL}", here, there, 50)


def size(game: str) -> Size:
    """The size of a game; building is timed after kernels are compiled, and the best of a few rounds counts."""
    build_tree(game, depth=2)
    tree_seconds = form_seconds = float("inf")
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        tree = build_tree(game)
        middle = time.perf_counter()
        form = SequenceForm(tree)
        form_seconds = min(form_seconds, time.perf_counter() - middle)
        tree_seconds = min(tree_seconds, middle - begin)
    n = tree.num_nodes
    return Size(
        game,
        n,
        form.num_states,
        form.num_sequences,
        n / tree_seconds,
        n / form_seconds,
        build_tree(game).num_bytes / n,  # a fresh one, without the properties that building the form has cached in it
        form.num_bytes / n,
    )


def _repeated(once: Callable[[], Any]) -> Side:
    """A side that calls a function n times."""

    def side(n: int) -> None:
        for _ in range(n):
            once()

    return side


def _liteefg(peer: Any) -> Side:
    """LiteEFG's CFR+ as its own training loop runs it: an update of both players, then of the averages."""
    package = importlib.import_module("LiteEFG")  # by name, so that type checkers need not find it
    with _away_from_home(), contextlib.redirect_stdout(io.StringIO()):
        environment = package.OpenSpielEnv(peer)
        graph = package.baselines.CFRplus.graph()
    environment.set_graph(graph)

    def once() -> None:
        graph.update_graph(environment)
        environment.update_strategy(graph.current_strategy())

    return _repeated(once)


@contextlib.contextmanager
def _away_from_home() -> Iterator[None]:
    """Set HOME to a temporary folder, since LiteEFG writes the games it has read to the home folder."""
    home = os.environ.get("HOME")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["HOME"] = folder
        try:
            yield
        finally:
            if home is None:
                del os.environ["HOME"]
            else:
                os.environ["HOME"] = home


def _peer_table(sequences: SequenceForm, behaviour: np.ndarray, peer: Any) -> dict[str, list[tuple[int, float]]]:
    """Behaviour by OpenSpiel's information-state string, read at one history of each of our information states."""
    tree, form, table = sequences.tree, sequences.form, {}
    numbers, firsts = np.unique(sequences.states[tree.deciding], return_index=True)
    for i, history in zip(numbers.tolist(), tree.histories(tree.deciding[firsts]), strict=True):
        state = peer.new_initial_state()
        for action in history:
            state.apply_action(action)
        here = slice(form.begins[i], form.ends[i])
        odds = zip(sequences.actions[here].tolist(), behaviour[here].tolist(), strict=True)
        table[state.information_state_string()] = list(odds)
    if len(table) != sequences.num_states:
        raise RuntimeError(f"{sequences.num_states} information states here are {len(table)} in OpenSpiel")
    return table
