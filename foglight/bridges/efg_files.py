"""Extensive-form files of Gambit, `.efg`: what they say, read and written.

A file has a title, the players, perhaps a comment, and then the nodes of a tree, each before the nodes below it:

    EFG 2 R "title" { "Alice" "Bob" } "a comment"
    c "" 1 "the deal" { "red" 1/2 "black" 1/2 } 0          chance: name, information set, outcome
    p "" 1 1 "red card" { "raise" "fold" } 0               a player: name, player, information set, outcome
    t "" 1 "win" { 1, -1 }                                 an end: name, outcome

Information sets and outcomes are known by their numbers; those of information sets count for each player alone, 0 is no
outcome. What a number stands for is said where it first occurs, and may be left out or repeated later. Numbers are
whole, decimal or fractions, and are kept exactly. Commas between payoffs are optional. In a text, \\" is a quotation
mark and \\\\ a backslash; any other backslash is itself.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import NamedTuple, NoReturn

from foglight.names import BadInput

CHANCE_PLAYER = 0  # the number of chance among the players, who count from 1
_TOKEN = re.compile(
    r"""(?P<space>[\s,]+) | (?P<text>"(?:[^"\\]|\\.)*") | (?P<brace>[{}]) | (?P<word>[^\s,{}"]+)""",
    re.VERBOSE | re.DOTALL,
)
_MOST = 200  # characters of a name in a message
_LONGEST = 100  # characters of a number, which then is also one in floating point
_ROUNDING = Fraction(1, 10_000)  # by which the probabilities of chance may miss a sum of 1


def one_line(text: str) -> str:
    """A text on one line that is not too long."""
    return " ".join(text.split())[:_MOST]


@dataclass(frozen=True)
class InformationSet:
    """Where a player decides without telling the nodes apart; for chance, the outcomes with their probabilities."""

    player: int  # from 1; CHANCE_PLAYER for chance
    number: int
    name: str
    actions: tuple[str, ...]
    odds: tuple[Fraction, ...] = ()  # of chance only

    def __str__(self) -> str:
        name = one_line(self.name)
        return f"information set {self.number} ({name})" if name else f"information set {self.number}"


@dataclass(frozen=True)
class Outcome:
    """What a node pays, on top of what the nodes above it have paid."""

    number: int
    name: str
    payoffs: tuple[Fraction, ...]


class Node(NamedTuple):
    """A node; without an information set it is an end of the game."""

    name: str
    information_set: InformationSet | None = None
    outcome: Outcome | None = None


@dataclass(frozen=True)
class Document:
    """The content of a file."""

    title: str
    players: tuple[str, ...]
    comment: str
    nodes: tuple[Node, ...] = field(repr=False)  # each before the nodes below it


# Reading --------------------------------------------------------------------------------------------------------


class _Token(NamedTuple):
    kind: str  # text, brace, word or end
    text: str
    line: int


def read(content: str, file: str) -> Document:
    """The document that a file's content stands for; BadInput names the file and the line that is wrong."""
    return _Reader(content, file).document()


class _Reader:
    """Reads one file, a token at a time."""

    def __init__(self, content: str, file: str) -> None:
        self.file = file
        self.tokens = self._tokens(content)
        self.now = next(self.tokens)
        self.sets: dict[tuple[int, int], InformationSet] = {}
        self.outcomes: dict[int, Outcome] = {}
        self.players: tuple[str, ...] = ()

    def _tokens(self, content: str) -> Iterator[_Token]:
        position, line = 0, 1
        while position < len(content):
            match = _TOKEN.match(content, position)
            if match is None:
                self.fail("a quotation mark is left open", line)
            if match.lastgroup != "space":
                yield _Token(str(match.lastgroup), match[0], line)
            line += match[0].count("\n")
            position = match.end()
        yield _Token("end", "the end of the file", line)

    def fail(self, what: str, line: int | None = None) -> NoReturn:
        raise BadInput(f"{self.file}, line {self.now.line if line is None else line}: {one_line(what)}")

    def take(self, kind: str, what: str, *allowed: str) -> str:
        """The next token, if it is what is expected."""
        token = self.now
        if token.kind != kind or (allowed and token.text not in allowed):
            self.fail(f"{what} is expected, not {token.text[:40]}")
        if kind != "end":
            self.now = next(self.tokens)
        return token.text

    def text(self, what: str) -> str:
        inner = self.take("text", what)[1:-1]
        return re.sub(r'\\(["\\])', r"\1", inner) if "\\" in inner else inner

    def whole(self, what: str, least: int) -> int:
        line, word = self.now.line, self.take("word", what)
        if not re.fullmatch(r"[+-]?\d{1,18}", word) or int(word) < least:
            self.fail(f"{what} must be a whole number of at least {least}, not {word[:40]}", line)
        return int(word)

    def number(self, what: str) -> Fraction:
        line, word = self.now.line, self.take("word", what)
        value = number(word)
        if value is None:
            self.fail(f"{what} must be a number such as 3, -1/2 or 0.25, not {word[:40]}", line)
        return value

    def document(self) -> Document:
        self.take("word", "EFG, the kind of file,", "EFG")
        self.take("word", "version 2", "2")
        self.take("word", "R or D", "R", "D")
        title = self.text("the title in quotation marks")
        self.take("brace", "{ before the players", "{")
        names = []
        while self.now.kind == "text":
            names.append(self.text("a player"))
        self.take("brace", "} after the players", "}")
        if not names:
            self.fail("the file names no players; a game needs at least one")
        self.players = tuple(names)
        comment = self.text("a comment") if self.now.kind == "text" else ""
        nodes, open_places = [], 1
        while open_places:
            node = self.node()
            nodes.append(node)
            open_places += len(node.information_set.actions) - 1 if node.information_set else -1
        self.take("end", "the end of the file after the last node of the tree")
        return Document(title, self.players, comment, tuple(nodes))

    def node(self) -> Node:
        kind = self.take("word", "a node that begins with c, p or t", "c", "p", "t")
        name = self.text("the name of the node in quotation marks")
        if kind == "t":
            return Node(name, None, self.outcome())
        player = CHANCE_PLAYER
        if kind == "p":
            line, player = self.now.line, self.whole("the number of a player", 1)
            if player > len(self.players):
                self.fail(f"there is no player {player}; the file names {len(self.players)}", line)
        return Node(name, self.information_set(player), self.outcome())

    def information_set(self, player: int) -> InformationSet:
        line, number = self.now.line, self.whole("the number of an information set", 1)
        known = self.sets.get((player, number))
        whose = f"of player {player}" if player else "of chance"
        if self.now.kind == "word":
            if known is None:
                self.fail(f"information set {number} {whose} has no actions yet; name them where it first occurs", line)
            return known
        name = self.text("the name of an information set") if self.now.text != "{" else ""  # OpenSpiel leaves it out
        self.take("brace", "{ before the actions", "{")
        actions, odds = [], []
        while self.now.kind == "text":
            actions.append(self.text("an action"))
            if player == CHANCE_PLAYER:
                odds.append(self.number("a probability"))
        self.take("brace", "an action in quotation marks or }", "}")
        said = InformationSet(player, number, name, tuple(actions), tuple(odds))
        if known is None:
            if wrong := check(said):
                self.fail(wrong, line)
            known = self.sets[player, number] = said
        elif known != said:
            self.fail(f"information set {number} {whose} is not what it was where it first occurred", line)
        return known

    def outcome(self) -> Outcome | None:
        line, number = self.now.line, self.whole("the number of an outcome", 0)
        if self.now.kind != "text":
            if number and number not in self.outcomes:
                self.fail(f"outcome {number} has no payoffs yet; give them where it first occurs", line)
            return self.outcomes[number] if number else None
        name = self.text("the name of an outcome")
        self.take("brace", "{ before the payoffs", "{")
        payoffs = []
        while self.now.kind == "word":
            payoffs.append(self.number("a payoff"))
        self.take("brace", "a payoff or }", "}")
        if number == 0:
            self.fail("outcome 0 stands for no outcome, and cannot have payoffs", line)
        if len(payoffs) != len(self.players):
            self.fail(f"outcome {number} has {len(payoffs)} payoffs, and there are {len(self.players)} players", line)
        said = Outcome(number, name, tuple(payoffs))
        if self.outcomes.setdefault(number, said) != said:
            self.fail(f"outcome {number} is not what it was where it first occurred", line)
        return said


def number(word: str) -> Fraction | None:
    """The number that a word stands for, or None."""
    if len(word) > _LONGEST or re.search(r"[eE][+-]?\d{3}", word):  # so many digits take for ever
        return None
    try:
        return Fraction(word)
    except (ValueError, ZeroDivisionError):
        return None


def check(said: InformationSet) -> str:
    """What is wrong with an information set: it has no actions, or its odds are none; empty if nothing is."""
    if not said.actions:
        return f"information set {said.number} has no actions"
    if said.player == CHANCE_PLAYER:
        for share in said.odds:
            if share < 0:
                return f"a probability is {share}, below 0"
        total = sum(said.odds, Fraction(0))
        if not 1 - _ROUNDING <= total <= 1 + _ROUNDING:
            return f"the probabilities of chance add up to {float(total):g}, not to 1"
    return ""


# Writing --------------------------------------------------------------------------------------------------------


def written(document: Document) -> Iterator[str]:
    """The lines of a file; information sets and outcomes are described where they first occur."""
    yield f"EFG 2 R {_quoted(document.title)} {{ {' '.join(map(_quoted, document.players))} }}"
    yield _quoted(document.comment)
    yield ""
    known: set[InformationSet | Outcome] = set()
    for node in document.nodes:
        here, parts = node.information_set, [_quoted(node.name)]
        if here is not None:
            parts += [str(here.player)] * (here.player != CHANCE_PLAYER)
            parts += [str(here.number), *([] if here in known else [_quoted(here.name), _actions(here)])]
            known.add(here)
        kind = "t" if here is None else "c" if here.player == CHANCE_PLAYER else "p"
        yield " ".join([kind, *parts, *_paid(node.outcome, known)])


def _actions(here: InformationSet) -> str:
    if here.odds:
        return _braced(f"{_quoted(name)} {share}" for name, share in zip(here.actions, here.odds, strict=True))
    return _braced(map(_quoted, here.actions))


def _paid(outcome: Outcome | None, known: set[InformationSet | Outcome]) -> list[str]:
    if outcome is None:
        return ["0"]
    if outcome in known:
        return [str(outcome.number)]
    known.add(outcome)
    return [str(outcome.number), _quoted(outcome.name), f"{{ {', '.join(map(str, outcome.payoffs))} }}"]


def _braced(parts: Iterable[str]) -> str:
    return f"{{ {' '.join(parts)} }}"


def _quoted(text: str) -> str:
    """A text in quotation marks. A backslash is doubled only where it would mean something else."""
    if "\\" in text:
        text = re.sub(r'\\(?=["\\]|$)', r"\\\\", text)
    return '"' + text.replace('"', '\\"') + '"'
