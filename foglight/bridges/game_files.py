"""Game files of LiteEFG, `.game`: the other plain format of extensive-form games, read as a document of Gambit's.

    # a comment
    node / chance actions red=0.5 black=0.5
    node /C:red player 1 actions raise fold
    node /C:red/P1:raise leaf payoffs 1=2 2=-2
    infoset NAME nodes /C:red

A node is named by the path to it, and the nodes below it by the mover and the action. A node that no line puts into an
information set is one by itself. There are as many players as a leaf has payoffs.
"""

import re
from fractions import Fraction
from typing import NamedTuple, NoReturn

from foglight.bridges.efg_files import CHANCE_PLAYER, Document, InformationSet, Node, Outcome, check, number, one_line
from foglight.names import BadInput


class _Line(NamedTuple):
    """A node as its line says it."""

    line: int
    player: int  # CHANCE_PLAYER for chance; -1 for a leaf
    actions: tuple[str, ...]
    numbers: tuple[Fraction, ...]  # probabilities of chance, or payoffs of a leaf


def is_game_file(content: str) -> bool:
    """Whether this is such a file: its first line that is no comment describes a node."""
    return re.match(r"(?:\s*#[^\n]*\n)*\s*node\s", content) is not None


def read(content: str, file: str) -> Document:
    """The document that a file's content stands for; BadInput names the file and the line that is wrong."""
    return _Reader(file).document(content)


class _Reader:
    """Reads one file, a line at a time."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.nodes: dict[str, _Line] = {}  # by path
        self.sets: dict[str, tuple[str, int]] = {}  # by path of a node, the name and the line of its information set

    def fail(self, what: str, line: int) -> NoReturn:
        raise BadInput(f"{self.file}, line {line}: {one_line(what)}")

    def document(self, content: str) -> Document:
        for i, line in enumerate(content.splitlines(), start=1):
            match line.split():
                case [] | ["#", *_]:
                    continue
                case [first, *_] if first.startswith("#"):
                    continue
                case ["node", path, *rest]:
                    if path in self.nodes:
                        self.fail(f"node {path[:80]} occurs twice", i)
                    self.nodes[path] = self.node(rest, i)
                case ["infoset", name, "nodes", *paths]:
                    for path in paths:
                        if self.sets.setdefault(path, (name, i))[0] != name:
                            self.fail(f"node {path[:80]} is in two information sets", i)
                case [other, *_]:
                    self.fail(f"a line that begins with node or infoset is expected, not {other[:40]}", i)
        if "/" not in self.nodes:
            self.fail("there is no root, node /", 1)
        seats = {len(node.numbers) for node in self.nodes.values() if node.player < 0}
        if len(seats) != 1:
            self.fail("the leaves do not all have as many payoffs", 1)
        return self.tree(seats.pop())

    def node(self, words: list[str], line: int) -> _Line:
        match words:
            case ["chance", "actions", *pairs] if pairs:
                names, odds = zip(*(self.pair(pair, line) for pair in pairs), strict=True)
                return _Line(line, CHANCE_PLAYER, names, odds)
            case ["player", who, "actions", *names] if names and who.isdecimal() and int(who[:9]) > 0 and len(who) < 10:
                return _Line(line, int(who), tuple(names), ())
            case ["leaf", "payoffs", *pairs] if pairs:
                paid = dict(self.pair(pair, line) for pair in pairs)
                if sorted(paid) != sorted(str(i + 1) for i in range(len(pairs))):
                    self.fail(f"payoffs are expected as 1=X 2=Y, not {' '.join(pairs)[:80]}", line)
                return _Line(line, -1, (), tuple(paid[str(i + 1)] for i in range(len(pairs))))
            case _:
                return self.fail("a node is chance actions A=P, player N actions A B, or leaf payoffs 1=X 2=Y", line)

    def pair(self, text: str, line: int) -> tuple[str, Fraction]:
        name, sign, amount = text.rpartition("=")
        value = number(amount)
        if not sign or value is None:
            self.fail(f"a name and a number are expected, as in red=0.5, not {text[:40]}", line)
        return name, value

    def tree(self, seats: int) -> Document:
        """The nodes from the root on."""
        nodes, front, used = [], ["/"], 0
        sets: dict[tuple[int, str], InformationSet] = {}
        outcomes: dict[tuple[Fraction, ...], Outcome] = {}
        counts = [0] * (seats + 1)
        while front:
            path = front.pop()
            line, player, actions, numbers = self.nodes[path]
            used += 1
            if player < 0:
                name = ", ".join(map(str, numbers))
                nodes.append(Node("", None, outcomes.setdefault(numbers, Outcome(len(outcomes) + 1, name, numbers))))
                continue
            if player > seats:
                self.fail(f"there is no player {player}; leaves pay {seats}", line)
            known = player, self.sets.get(path, (path, line))[0]
            if known not in sets:
                counts[player] += 1
                name = known[1] if player != CHANCE_PLAYER else ""
                sets[known] = InformationSet(player, counts[player], name, actions, numbers)
                if wrong := check(sets[known]):
                    self.fail(wrong, line)
            if sets[known].actions != actions:
                self.fail(f"nodes of information set {known[1][:80]} have different actions", line)
            nodes.append(Node("", sets[known]))
            mover = "C" if player == CHANCE_PLAYER else f"P{player}"
            below = [f"{path.rstrip('/')}/{mover}:{action}" for action in actions]
            for child in below:
                if child not in self.nodes:
                    self.fail(f"node {child[:80]} is missing", line)
            front += reversed(below)
        if used < len(self.nodes):
            self.fail(f"{len(self.nodes) - used} nodes cannot be reached from the root", 1)
        return Document("", tuple(f"player {i + 1}" for i in range(seats)), "", tuple(nodes))
