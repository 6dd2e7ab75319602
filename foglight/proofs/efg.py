"""Extensive-form files, read by us, by Gambit (`pygambit`) and by OpenSpiel's `efg_game`, and solved by both.

Of every file in a folder these must agree, as far as the other program reads it:

    nodes        who moves, among how many actions, with which probabilities, and what an end pays
    sets         two nodes are in one information set there where and only where they are here
    recall       whether all players have perfect recall
    values       what each player gets if all play uniformly; the value of a two-player constant-sum game
    equilibria   nobody gains by leaving an equilibrium of Gambit's, by our best response; nor ours, by Gambit's

and our file of the game must be read back as the same game. Files that we refuse must be absent-minded there, or
refused there too. Gambit refuses files in which a name occurs twice; of these only OpenSpiel's reading is compared.
"""

import contextlib
import hashlib
import math
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import foglight as fl
from foglight.bridges.efg import Efg
from foglight.bridges.efg_files import CHANCE_PLAYER, read, written
from foglight.bridges.efg_tables import ACTION, COUNT, FIRST, MOVER, NONE, PARENT, SET
from foglight.names import BadInput
from foglight.rules import CHANCE, TERMINAL
from foglight.state import State, replay

_COLUMNS = ("nodes", "sets", "recall", "values", "equilibria", "openspiel", "round trip")
_SMALL = 2000  # nodes up to which Gambit solves a constant-sum game in fractions
_SMALLER = 120  # nodes up to which it solves another game of two players, which may take for ever
_PURE = 20_000  # profiles of pure strategies up to which Gambit lists all of them
_LARGEST = 1e12  # payoffs beyond which floating-point numbers do not solve a game
_CLOSE = 1e-7


def cells(files: str) -> dict[str, dict[str, Any]]:
    """A cell for each file."""
    paths = sorted(Path(files).rglob("*.efg"))
    if not paths:
        raise BadInput(f"no .efg files in {files!r}; give a folder of them, such as Gambit's catalog")
    return {
        f"{path.relative_to(files)}, {hashlib.sha256(path.read_bytes()).hexdigest()[:12]}": {"file": str(path)}
        for path in paths
    }


def work(file: str) -> dict[str, Any]:
    """What was compared in a file, by kind; `findings` are the differences."""
    comparison = _Comparison(file)
    comparison.all()
    return {
        "file": Path(file).name,
        "here": comparison.here,
        "gambit": comparison.there,
        **comparison.counts,
        "findings": [f"{Path(file).name}: {finding}" for finding in comparison.findings],
    }


def table(results: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """A row for each file, and the sum."""
    rows = [{**result, "differ": len(result["findings"])} for result in results.values()]
    for row in rows:
        del row["findings"]
    total = {key: sum(row[key] for row in rows) for key in (*_COLUMNS, "differ")}
    read_here = sum(row["here"] != "refused" for row in rows)
    read_there = sum(row["gambit"] != "refused" for row in rows)
    return [*rows, {"file": f"{len(rows)} files", "here": f"{read_here} read", "gambit": f"{read_there} read", **total}]


class _Comparison:
    """One file."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.counts = dict.fromkeys(_COLUMNS, 0)
        self.findings: list[str] = []
        self.here = self.there = "refused"
        self.sets: dict[int, Any] = {}  # Gambit's information set by ours

    def same(self, kind: str, what: str, ours: Any, theirs: Any) -> None:
        self.counts[kind] += 1
        if ours != theirs:
            self.findings.append(f"{what}: {ours!r} here, {theirs!r} there")

    def close(self, kind: str, what: str, ours: float, theirs: float) -> None:
        self.counts[kind] += 1
        if not abs(ours - theirs) <= _CLOSE * max(1.0, abs(theirs)):
            self.findings.append(f"{what}: {ours!r} here, {theirs!r} there")

    def all(self) -> None:
        theirs = _gambits(self.file)
        try:
            game = fl.load_game(f"efg:{self.file}")
        except BadInput as error:
            if theirs is not None:
                self.there = "read"
                self.same("recall", f"refused ({error}), perfect recall", False, bool(theirs.is_perfect_recall))
                self.same("recall", "absent-minded", "absent-minded" in str(error), True)
            return
        self.here = "forgets" if game.forgetful else "read"
        self.same("round trip", "what we write", read("\n".join(written(game.document)), ""), game.document)
        if theirs is not None:
            self.there = "read"
            self.same("recall", "perfect recall", game.forgetful is None, bool(theirs.is_perfect_recall))
            self.walk(game, theirs.root, _Gambit())
            if game.forgetful is None and not self.findings:
                self.compare_values(game, theirs)
        spiel = _openspiels(self.file)
        distinct = all(len(set(one.actions)) == len(one.actions) for one in game.sets)  # OpenSpiel goes by names
        if spiel is not None and distinct:
            self.walk(game, spiel, _OpenSpiel())

    def walk(self, game: Efg, root: Any, other: Any) -> None:
        """Compare all nodes, and which of them are in one information set."""
        ours_of: dict[Any, int] = {}
        theirs_of: dict[int, Any] = {}
        front: list[tuple[int, Any, tuple[float, ...]]] = [(0, root, (0.0,) * game.seats)]
        while front:
            node, theirs, paid = front.pop()
            while game.sets[game.nodes[node, SET]].number == 0 and game.nodes[node, SET] != NONE:
                node = int(game.nodes[node, FIRST])  # a pause is not in the file
            mover, kind = int(game.nodes[node, MOVER]), other.column
            self.same(kind or "nodes", "mover", mover, other.mover(theirs))
            paid = tuple(a + b for a, b in zip(paid, other.paid(theirs, game.seats), strict=True))
            if mover == TERMINAL:
                for mine, their in zip(game.payoffs[node].tolist(), paid, strict=True):
                    self.close(kind or "nodes", "payoff", mine, their)
                continue
            first, count, number = (int(game.nodes[node, column]) for column in (FIRST, COUNT, SET))
            names = game.sets[number].actions
            children = other.children(theirs, names)
            self.same(kind or "nodes", "actions", count, len(children))
            if self.findings:
                return
            if mover == CHANCE:
                for i, share in enumerate(other.odds(theirs, names)):
                    self.close(kind or "nodes", "probability", float(game.odds[first + i]), share)
            else:
                known = other.information_set(theirs)
                self.same(kind or "sets", "information set", ours_of.setdefault(known, number), number)
                self.same(kind or "sets", "information set there", theirs_of.setdefault(number, known), known)
            front += [(first + i, child, paid) for i, child in enumerate(children)]
        if isinstance(other, _Gambit):
            self.sets = {number: other.sets[known] for number, known in theirs_of.items()}

    def compare_values(self, game: Efg, theirs: Any) -> None:
        import pygambit

        uniform, players = theirs.mixed_behavior_profile(rational=False), list(theirs.players)
        for seat, value in enumerate(fl.policy_values(game, fl.Uniform())):
            self.close("values", f"uniform play, seat {seat}", value, float(uniform.payoff(players[seat])))
        profiles: list[Any] = []
        if abs(game.payoffs).max() > _LARGEST:
            return
        if game.seats == 2 and theirs.is_const_sum:
            profiles = pygambit.nash.lp_solve(theirs, rational=len(game.nodes) <= _SMALL).equilibria
            value = float(profiles[0].payoff(players[0]))
            self.close("values", "value of the game", fl.game_value(game), value)
            if _profiles(game) <= _PURE:  # Gambit looks for the best answer among pure strategies
                self.compare_ours(game, theirs)
        elif game.seats == 2 and len(game.nodes) <= _SMALLER:
            profiles = pygambit.nash.lcp_solve(theirs, rational=True).equilibria
        elif game.seats > 2 and _profiles(game) <= _PURE:
            profiles = [one.as_behavior() for one in pygambit.nash.enumpure_solve(theirs).equilibria]
        for profile in profiles[:3]:
            loss = fl.nash_conv(game, _policy(game, profile, self.sets))
            self.close("equilibria", "an equilibrium there, what is gained by leaving it", loss, 0.0)

    def compare_ours(self, game: Efg, theirs: Any) -> None:
        """Nobody regrets our equilibrium there."""
        ours, profile = fl.solve(game, method="lp"), theirs.mixed_behavior_profile(rational=False)
        for number, known in self.sets.items():
            for action, share in zip(known.actions, ours.at(_state_at(game, number)).values(), strict=True):
                profile[action] = share
        self.close("equilibria", "our equilibrium, regret there", 0.0, float(profile.max_regret()))


def _profiles(game: Efg) -> int:
    """The number of profiles of pure strategies, those that differ where play never comes included."""
    return math.prod(len(one.actions) for one in game.sets if one.player != CHANCE_PLAYER)


def _policy(game: Efg, profile: Any, sets: dict[int, Any]) -> Callable[[State], dict[int, float]]:
    """A behaviour profile of Gambit's as a policy."""

    def at(state: State) -> dict[int, float]:
        known = sets[int(game.nodes[int(state.world[0]), SET])]
        shares = [float(profile[action]) for action in known.actions]
        if not sum(shares):  # Gambit leaves undefined what is never reached
            shares = [1.0] * len(shares)
        return {i: share / sum(shares) for i, share in enumerate(shares)}

    return at


def _state_at(game: Efg, number: int) -> State:
    """A state at an information set."""
    node, actions = int((game.nodes[:, SET] == number).argmax()), []
    while game.nodes[node, PARENT] != NONE:
        actions.append(int(game.nodes[node, ACTION]))
        node = int(game.nodes[node, PARENT])
    return replay(game, reversed(actions))


class _Gambit:
    """Nodes of `pygambit`."""

    column = ""

    def __init__(self) -> None:
        self.sets: dict[Any, Any] = {}

    def mover(self, node: Any) -> int:
        if node.is_terminal:
            return TERMINAL
        return CHANCE if node.player.is_chance else int(node.player.number)

    def paid(self, node: Any, seats: int) -> tuple[float, ...]:
        try:
            return tuple(float(node.outcome[player]) for player in node.game.players)
        except (KeyError, TypeError):  # it has none
            return (0.0,) * seats

    def children(self, node: Any, names: tuple[str, ...]) -> list[Any]:
        return list(node.children)

    def odds(self, node: Any, names: tuple[str, ...]) -> list[float]:
        return [float(action.prob) for action in node.infoset.actions]

    def information_set(self, node: Any) -> Any:
        known = (node.player.number, node.infoset.number)
        self.sets[known] = node.infoset
        return known


class _OpenSpiel:
    """States of OpenSpiel's `efg_game`, whose actions are numbered by their names."""

    column = "openspiel"

    def mover(self, state: Any) -> int:
        if state.is_terminal():
            return TERMINAL
        return CHANCE if state.is_chance_node() else int(state.current_player())

    def paid(self, state: Any, seats: int) -> tuple[float, ...]:
        return tuple(state.returns()) if state.is_terminal() else (0.0,) * seats

    def children(self, state: Any, names: tuple[str, ...]) -> list[Any]:
        return [state.child(action) for action in self._actions(state, names)]

    def odds(self, state: Any, names: tuple[str, ...]) -> list[float]:
        shares = dict(state.chance_outcomes())
        return [shares[action] for action in self._actions(state, names)]

    def _actions(self, state: Any, names: tuple[str, ...]) -> list[int]:
        by_name = {state.action_to_string(action): action for action in state.legal_actions()}
        return [by_name[name] for name in names] if sorted(by_name) == sorted(names) else state.legal_actions()

    def information_set(self, state: Any) -> Any:
        return state.current_player(), state.information_state_string(state.current_player())


def _gambits(file: str) -> Any:
    """Gambit's reading of a file; None if it refuses it, or is not installed."""
    try:
        import pygambit

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return pygambit.read_efg(file)
    except (ImportError, ValueError, RuntimeError):
        return None


def _openspiels(file: str) -> Any:
    """The start of OpenSpiel's reading of a file; None if it refuses it, or is not installed."""
    with contextlib.suppress(BadInput):
        from foglight.bridges import openspiel

        with contextlib.suppress(Exception), openspiel.silence():  # whatever its parser raises
            return openspiel.pyspiel.load_game(f"efg_game(filename={file})").new_initial_state()
    return None
