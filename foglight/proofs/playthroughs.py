"""Playthroughs: the games that OpenSpiel keeps for its own tests, followed line by line by our rules.

A playthrough is a text file with one game: its parameters, then its states one after the other. Long games describe
only some of their states; the actions between them are always there. In every state described, these lines must say
what our rules say:

    IsTerminal, IsChanceNode, IsSimultaneousNode, CurrentPlayer    who moves
    LegalActions, ChanceOutcomes                                   by number
    Returns                                                        at the end
    InformationStateString    equal strings of a seat in two states where and only where our information states are
    ObservationString         a string of a seat that changes means an observation of ours

While cards or dice are dealt, OpenSpiel shows what has come so far, and ours is shown when all have come. Strings are
therefore compared where a seat decides, and at the end. In dark chess strings are FEN, and ours are compared to the
letter; so are the positions. The files come with OpenSpiel's source, in `open_spiel/integration_tests/playthroughs`.
"""

import ast
import hashlib
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from foglight.chess import blind, notation
from foglight.games.dark_chess import DarkChess, dark_fen
from foglight.games.rbc import Rbc
from foglight.names import BadInput
from foglight.rules import CHANCE, TERMINAL, num_players
from foglight.state import State, new_state

OURS = {  # OpenSpiel's game, the first line of a file: our game
    "dark_chess": "dark_chess",
    "dark_chess(board_size=4)": "dark_chess(size=4)",
    "dark_hex(num_rows=5,num_cols=3)": "dark_hex(rows=5,cols=3)",
    "dark_hex(gameversion=adh,obstype=reveal-numturns)": "dark_hex(rows=3,cols=3,abrupt=yes)",
    "dark_hex_ir(board_size=3)": "dark_hex(rows=3,cols=3)",
    "goofspiel(imp_info=True,num_cards=4,points_order=descending)": "goofspiel(cards=4)",
    "goofspiel(imp_info=True,egocentric=True,num_cards=4,points_order=descending)": "goofspiel(cards=4)",
    "goofspiel(imp_info=True,num_cards=4)": "goofspiel(cards=4,order=random)",
    "turn_based_simultaneous_game(game=goofspiel(imp_info=True,num_cards=4,points_order=descending))": (
        "goofspiel(cards=4)"
    ),
    "hearts": "hearts",
    "kuhn_poker(players=2)": "kuhn_poker",
    "python_kuhn_poker": "kuhn_poker",
    "leduc_poker": "leduc_poker",
    "liars_dice": "liars_dice",
    "liars_dice_ir": "liars_dice",
    "oh_hell": "oh_hell",
    "phantom_ttt": "phantom_ttt",
    "phantom_ttt_ir": "phantom_ttt",
    "rbc": "rbc",
    "spades": "spades",
}
_FORGETS = ("dark_hex_ir", "liars_dice_ir", "phantom_ttt_ir")  # OpenSpiel's games of imperfect recall
_MOVERS = {-1: CHANCE, -4: TERMINAL}
_SIMULTANEOUS = -2
# The file of blind chess castles in this state, by a number that OpenSpiel has since given up. Nothing after it can be
# played, there or here: two states later the king is still on its first square.
_STALE = {"rbc.txt": 93}
_COLUMNS = ("states", "described", "rules", "information", "observations")


@dataclass
class Described:
    """A state of a playthrough: its lines by name, empty where it is not described, and the actions after it."""

    number: int
    text: str = ""  # the first line of the state as text
    lines: dict[str, Any] = field(default_factory=dict)
    actions: list[int] = field(default_factory=list)


def cells(files: str) -> dict[str, dict[str, Any]]:
    """A cell for each file of a game that we have."""
    folder = Path(files)
    found = {path: _game(path) for path in sorted(folder.glob("*.txt"))} if folder.is_dir() else {}
    if not any(found.values()):
        raise BadInput(f"no playthroughs in {files!r}; give open_spiel/integration_tests/playthroughs of its source")
    return {
        f"{path.name}, {hashlib.sha256(path.read_bytes()).hexdigest()[:12]}": {"file": str(path)}
        for path, game in found.items()
        if game in OURS
    }


def work(file: str) -> dict[str, Any]:
    """How many states, and lines of each kind, were compared in a file; `findings` are the lines that differ."""
    path = Path(file)
    theirs = _game(path)
    follower = _Follower(new_state(OURS[theirs]), recalls=not theirs.startswith(_FORGETS))
    last = _STALE.get(path.name, math.inf)
    for state in described(path.read_text("utf-8")):
        follower.meet(state)
        if follower.findings or state.number == last:
            break  # nothing after it means anything
        follower.play(state.actions)
    if not follower.findings and follower.ours.player != TERMINAL and last == math.inf:
        follower.findings.append("the playthrough is over, and our game is not")
    return {
        "file": path.name,
        "game": str(follower.ours.game),
        **follower.counts,
        "findings": [f"{path.name}: {finding}" for finding in follower.findings],
    }


def table(results: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """A row for each file, and the sum."""
    rows = [{**result, "differ": len(result["findings"])} for result in results.values()]
    for row in rows:
        del row["findings"]
    total = {key: sum(row[key] for row in rows) for key in (*_COLUMNS, "differ")}
    return [*rows, {"file": f"{len(rows)} files", "game": "", **total}]


# Files ----------------------------------------------------------------------------------------------------------


def _game(path: Path) -> str:
    with path.open(encoding="utf-8") as lines:
        return lines.readline().removeprefix("game:").strip()


def described(text: str) -> Iterator[Described]:
    """The states of a playthrough."""
    for block in re.split(r"^# State ", text, flags=re.MULTILINE)[1:]:
        lines = block.splitlines()
        state = Described(int(lines[0]), lines[1].removeprefix("# ") if len(lines) > 1 else "")
        for line in lines[1:]:
            key, _, value = line.partition(" = ")
            if re.fullmatch(r"\w+\(\d?\)", key) and value:
                state.lines[key] = ast.literal_eval(value)
            elif line.startswith(("action: ", "actions: ")):
                actions = ast.literal_eval(line.partition(": ")[2])
                state.actions = actions if isinstance(actions, list) else [actions]
        yield state


# Comparison -----------------------------------------------------------------------------------------------------


class _Follower:
    """Our game beside a playthrough."""

    def __init__(self, ours: State, recalls: bool) -> None:
        self.ours, self.recalls = ours, recalls
        self.seats = range(num_players(ours.game))
        self.counts = dict.fromkeys(_COLUMNS, 0)
        self.findings: list[str] = []
        self._number = 0
        self._told: list[dict[tuple[int, ...], str]] = [{} for _ in self.seats]  # their string by our observations
        self._meant: list[dict[str, tuple[int, ...]]] = [{} for _ in self.seats]
        self._last: list[tuple[str, int]] = [("", 0) for _ in self.seats]  # their observation, and how many were ours

    def play(self, actions: list[int]) -> None:
        """Play what was played there."""
        for action in actions:
            here = _our_action(self.ours, action)
            if here not in self.ours.actions():
                self.findings.append(f"state {self._number}: action {action} was played there, and is not legal here")
                return
            self.ours.play(here)

    def meet(self, state: Described) -> None:
        """Compare a state; a line that differs becomes a finding."""
        self.counts["states"] += 1
        self._number = state.number
        if not state.lines:
            return
        self.counts["described"] += 1
        self._compare_rules(state.lines)
        if isinstance(self.ours.game, DarkChess | Rbc):
            fen = notation.fen(8 if isinstance(self.ours.game, Rbc) else self.ours.game.size, self.ours.world)
            clock = slice(4, 5) if isinstance(self.ours.game, Rbc) else slice(0)  # the clocks of rbc count otherwise
            theirs, here = state.text.split(), fen.split()
            del theirs[clock], here[clock]
            self._same("rules", "position", theirs, here)
        if self.ours.player != CHANCE:
            self._compare_information(state.lines)

    def _same(self, kind: str, what: str, theirs: Any, ours: Any) -> None:
        self.counts[kind] += 1
        if theirs != ours:
            self.findings.append(f"state {self._number}, {what}: {theirs!r} there, {ours!r} here")

    def _compare_rules(self, lines: dict[str, Any]) -> None:
        ours = self.ours
        mover = lines["CurrentPlayer()"]
        if mover == _SIMULTANEOUS:
            mover = 0  # ours moves one seat after the other
        self._same("rules", "CurrentPlayer()", _MOVERS.get(mover, mover), ours.player)
        self._same("rules", "IsTerminal()", lines["IsTerminal()"], ours.player == TERMINAL)
        self._same("rules", "IsChanceNode()", lines["IsChanceNode()"], ours.player == CHANCE)
        if "ChanceOutcomes()" in lines:
            there = {outcome: round(odds, 5) for outcome, odds in lines["ChanceOutcomes()"]}
            here = {outcome: round(odds, 5) for outcome, odds in ours.chance()}
            self._same("rules", "ChanceOutcomes()", there, here)
        if "LegalActions(0)" in lines:
            for seat in self.seats:
                bids = self.ours.clone()
                for first in range(seat):
                    bids.play(lines[f"LegalActions({first})"][0])  # what the first bids changes nothing for the next
                self._same("rules", f"LegalActions({seat})", lines[f"LegalActions({seat})"], bids.actions())
        elif "LegalActions()" in lines:
            legal = sorted(_our_action(ours, action) for action in lines["LegalActions()"])
            windows = isinstance(ours.game, Rbc) and blind.PASS not in ours.actions()  # there 36 windows, here 64
            self._same("rules", "LegalActions()", legal, [a for a in ours.actions() if a in legal or not windows])
        if "Returns()" in lines:
            returns = ours.returns() if ours.player == TERMINAL else [0.0 for _ in self.seats]
            self._same("rules", "Returns()", lines["Returns()"], returns)

    def _compare_information(self, lines: dict[str, Any]) -> None:
        for seat in self.seats:
            observed = tuple(self.ours.observations(seat))
            told = lines.get(f"InformationStateString({seat})")
            if told is not None and self.recalls:
                self._same("information", f"InformationStateString({seat})", self._told[seat].get(observed, told), told)
                expected = self._meant[seat].get(told, observed)
                self._same("information", f"InformationStateString({seat}), ours", expected, observed)
                self._told[seat][observed], self._meant[seat][told] = told, observed
            seen = lines.get(f"ObservationString({seat})")
            if seen is not None:
                last, many = self._last[seat]
                if last and last != seen:
                    self._same("observations", f"ObservationString({seat}) changed", True, len(observed) > many)
                if isinstance(self.ours.game, DarkChess):
                    here = dark_fen(self.ours.game, self.ours.world, seat)
                    self._same("observations", f"ObservationString({seat})", seen, here)
                self._last[seat] = seen, len(observed)


def _our_action(state: State, action: int) -> int:
    """The number of OpenSpiel's action here; only in blind chess it is another one."""
    if not isinstance(state.game, Rbc):
        return action
    if blind.PASS not in state.actions():
        return 9 + action // 6 * 8 + action % 6  # a window, there by its lower left square, here by its middle
    return blind.FIRST_MOVE + action if action else blind.PASS
