"""Positions that look the same to a seat, compared: what is legal, what is public, what people are told and shown."""

from itertools import zip_longest
from typing import Any

import numpy as np

from foglight.checks.positions import Play, Position, viewer_text, where
from foglight.checks.report import Checks
from foglight.checks.strict import Broken
from foglight.compile import has_rule
from foglight.drawing.model import Drawing
from foglight.names import failure, listed
from foglight.rules import (
    MOST_FEATURES,
    PUBLIC,
    action_names,
    contents,
    drawing,
    legal_bits,
    num_actions,
    num_sight_features,
    observation_bits,
    observation_text,
    places,
    public_features,
    sight_features,
    view,
)

_MOST_SIGHTS = 400  # comparisons of features in one check: interpreted, they take longer than the others


class InformationStates:
    """Positions by what a seat has observed: those with equal observations must be equal to that seat."""

    def __init__(self, play: Play, checks: Checks, texts: bool) -> None:
        self.game, self.play, self.checks = play.game, play, checks
        self.texts = texts  # whether the game has all rules for text
        self.first: dict[tuple[int, tuple[int, ...]], Position] = {}  # by seat and observations
        self.deciding: dict[tuple[int, tuple[int, ...]], Position] = {}  # the same, where the seat moves
        self.by_text: dict[tuple[int, str], Position] = {}
        self.by_key: dict[tuple[int, int], Position] = {}  # where the seat moves
        self.features: dict[tuple[int, ...], tuple[Position, bytes]] = {}  # by public observations
        self.lengths: set[int] = set()  # numbers of public features
        self.has_features = has_rule("public_features", type(play.game))
        self.bits = int(observation_bits(play.game))
        self.num_sights = int(num_sight_features(play.game))
        self.has_bits = has_rule("legal_bits", type(play.game))
        self.has_drawing = has_rule("drawing", type(play.game))
        self.has_places = has_rule("places", type(play.game)) or has_rule("contents", type(play.game))

    def take(self, position: Position) -> None:
        """Compare a position with the first one that looks the same to each seat."""
        if self.texts:
            self._names(position)
        if self.has_places:
            self._places(position)
        if self.has_features:
            self._features(position)
        if self.has_drawing:
            self._drawn(position, None)
        for seat in range(self.play.seats):
            self._bits(position, seat)
            known = self.first.setdefault((seat, position.seen_by(seat)), position)
            if known is position:
                self._distinct_text(position, seat)
            elif known.history != position.history:
                self._same(known, position, seat)
        if (seat := position.mover) >= 0:
            if self.has_bits:
                self._legal_bits(position)
            known = self.deciding.setdefault((seat, position.seen_by(seat)), position)
            if known.history != position.history:
                self._same_choices(known, position, seat)
            self._recall(position, seat)

    def pair(self, known: Position, other: Position, seat: int) -> None:
        """Compare two positions that look the same to a seat."""
        self._same(known, other, seat)
        if known.mover == other.mover == seat:
            self._same_choices(known, other, seat)

    def _fault(self, name: str, what: str, known: Position, other: Position, seat: int) -> None:
        """A difference between two positions that the seat cannot tell apart."""
        if not self.checks.has(name) or len(other.history) < len(self._fault_of(name).history):
            one, two = where(self.game, known), where(self.game, other)
            self.checks.add(name, f"{what} {one} and {two}, which look the same to {viewer_text(seat)}", other.history)

    def _fault_of(self, name: str) -> Any:
        return next(fault for fault in self.checks.faults if fault.property == name)

    def _same(self, known: Position, other: Position, seat: int) -> None:
        self.checks.count("public observations")
        if known.seen_by(PUBLIC) != other.seen_by(PUBLIC):
            self._fault(
                "public observations", "PUBLIC observes something that a seat does not: it differs", known, other, seat
            )
        self.checks.count("keys")
        if self.play.key(known, seat) != self.play.key(other, seat):
            self._fault("keys", "`key` differs", known, other, seat)
        if self.num_sights and self.checks.comparisons.get("sight features", 0) < _MOST_SIGHTS:
            self._same_sights(known, other, seat)
        if self.texts:
            self.checks.count("views")
            one, two = (self._text(view, position, seat) for position in (known, other))
            if one != two:
                said = f"`view` leaks, or `observe` does not tell the seat: it says {_quoted(one, two)}"
                self._fault("views", said, known, other, seat)
            if self.has_drawing:
                self._same_drawing(known, other, seat)
            self.checks.count("observation texts")
            logs = self._log(known, seat), self._log(other, seat)
            if logs[0] != logs[1]:
                different = next((pair for pair in zip(*logs, strict=False) if pair[0] != pair[1]), ("more", "less"))
                said = f"`observation_text` leaks: it says {_quoted(*different)}"
                self._fault("observation texts", said, known, other, seat)

    def _same_sights(self, known: Position, other: Position, seat: int) -> None:
        one, two = np.zeros((2, self.num_sights))
        for position, out in ((known, one), (other, two)):
            self._guarded(sight_features, position, seat, out)
        self.checks.count("sight features")
        if different := np.flatnonzero(one != two).tolist():
            said = f"`sight_features` leaks: of its {self.num_sights} features, number {listed(different)} differ"
            self._fault("sight features", said, known, other, seat)

    def _bits(self, position: Position, seat: int) -> None:
        seen = position.seen_by(seat)[-1:]
        self.checks.count("observation bits", len(seen))
        if seen and int(seen[0]).bit_length() > self.bits:
            said = f"seat {seat} observes {seen[0]}, which has more than the {self.bits} bits of `observation_bits`,"
            self.checks.add("observation bits", f"{said} {where(self.game, position)}", position.history)

    def _legal_bits(self, position: Position) -> None:
        words = np.full(-(-num_actions(self.game) // 64), -1).astype(np.uint64)
        self._guarded(legal_bits, position, np.zeros(self.play.most, np.int64), words)
        given = [64 * i + b for i, word in enumerate(words.tolist()) for b in range(64) if word >> b & 1]
        self.checks.count("legal bits")
        if given != position.actions:
            said = f"`legal_bits` gives {listed(given)}, and `legal` {listed(position.actions)},"
            self.checks.add("legal bits", f"{said} {where(self.game, position)}", position.history)

    def _same_drawing(self, known: Position, other: Position, seat: int) -> None:
        one, two = self._drawn(known, seat), self._drawn(other, seat)
        if one == two:
            return
        if (one.title, one.faces) != (two.title, two.faces):
            said = _quoted(f"{one.title} {one.faces}", f"{two.title} {two.faces}")
        else:
            items = zip_longest(map(str, one.items), map(str, two.items), fillvalue="nothing")
            sizes = (f"{one.width} by {one.height}", f"{two.width} by {two.height}")
            said = _quoted(*next((pair for pair in items if pair[0] != pair[1]), sizes))
        self._fault("drawings", f"`drawing` leaks: it has {said}", known, other, seat)

    def _drawn(self, position: Position, seat: int | None) -> Drawing:
        """What `drawing` gives; a drawing with each place at most once."""
        picture = self._guarded(drawing, position, seat)
        self.checks.count("drawings")
        if not isinstance(picture, Drawing):
            raise Broken("drawings", f"`drawing` gives {type(picture).__name__}, not a Drawing,", position)
        wrong, most = "", len(places(self.game)[0])
        places_drawn = [item.place for item in picture.items if item.place is not None]
        actions = {action for item in picture.items for action in item.actions}
        if len(places_drawn) != len(set(places_drawn)) or not set(places_drawn) <= set(range(most)):
            wrong = f"draws places {places_drawn}, not each of {most} at most once,"
        elif actions and not (min(actions) >= 0 and max(actions) < num_actions(self.game)):
            wrong = f"has actions from {min(actions)} to {max(actions)}, beyond those of the game,"
        if wrong:
            self.checks.add("drawings", f"`drawing` {wrong} {where(self.game, position)}", position.history)
        return picture

    def _same_choices(self, known: Position, other: Position, seat: int) -> None:
        self.checks.count("legal by observation")
        if known.actions != other.actions:
            said = f"the legal actions of seat {seat} are not determined by its observations: they are "
            self._fault("legal by observation", f"{said}{known.actions} and {other.actions}", known, other, seat)
        elif self.texts:
            self.checks.count("action names")
            for action in known.actions:
                one, two = (action_names(self.game, position.world, action) for position in (known, other))
                if one != two:
                    said = f"`action_names` leaks: action {action} is {_quoted(str(one[0]), str(two[0]))}"
                    self._fault("action names", said, known, other, seat)
                    return

    def _recall(self, position: Position, seat: int) -> None:
        """A key determines the seat's earlier keys and actions, and what is legal."""
        known = self.by_key.setdefault((seat, self.play.key(position, seat)), position)
        if known is position:
            return
        self.checks.count("perfect recall")
        one, two = where(self.game, known), where(self.game, position)
        if known.memories[seat] != position.memories[seat]:
            said = f"seat {seat} has the same `key` {one} and {two}, though its own earlier keys or actions differ"
            self.checks.add("perfect recall", f"{said}: it forgets", position.history)
        elif known.actions != position.actions:
            said = f"seat {seat} has the same `key` {one} and {two}, but other legal actions"
            self.checks.add("keys", said, position.history)

    def _distinct_text(self, position: Position, seat: int) -> None:
        if not self.texts:
            return
        text = "\n".join([self._text(view, position, seat), *self._log(position, seat)])
        known = self.by_text.setdefault((seat, text), position)
        self.checks.count("distinct texts")
        if known.seen_by(seat) != position.seen_by(seat):
            self.checks.add(
                "distinct texts",
                f"`view` and `observation_text` say the same to seat {seat} {where(self.game, known)} and "
                f"{where(self.game, position)}, where its observations differ",
                position.history,
            )

    def _names(self, position: Position) -> None:
        """Names of actions are texts, and the best name of each leads back to it."""
        owners: dict[str, int] = {}
        names = {action: action_names(self.game, position.world, action) for action in position.actions}
        for action, written in names.items():
            if isinstance(written, str) or not written or not all(isinstance(n, str) and n.strip() for n in written):
                said = f"`action_names` gives {written!r} for action {action}, not a tuple of names,"
                self.checks.add("action names", f"{said} {where(self.game, position)}", position.history)
                return
            for name in written:
                owners.setdefault(" ".join(name.lower().split()), action)
        self.checks.count("action names", len(names))
        for action, written in names.items():
            owner = owners[" ".join(written[0].lower().split())]
            if owner != action:
                said = f"the name {written[0]!r} stands for both actions {owner} and {action}"
                self.checks.add("action names", f"{said} {where(self.game, position)}", position.history)

    def _places(self, position: Position) -> None:
        names, columns = places(self.game)
        within = contents(self.game, position.world)
        self.checks.count("places")
        if len(names) != len(within) or (columns and len(names) % columns):
            said = f"`contents` gives {len(within)} contents for {len(names)} `places` in {columns} columns"
            self.checks.add("places", f"{said} {where(self.game, position)}", position.history)
        elif not all(isinstance(text, str) for text in (*names, *within)):
            self.checks.add("places", f"not all places and contents are texts {where(self.game, position)}", ())

    def _features(self, position: Position) -> None:
        out = np.zeros(MOST_FEATURES)
        n = int(public_features(self.game, position.world, out))
        public = position.seen_by(PUBLIC)
        known, wanted = self.features.setdefault(public, (position, out[:n].tobytes()))
        self.lengths.add(n)
        self.checks.count("public features")
        if wanted != out[:n].tobytes():
            self._fault("public features", "`public_features` differ", known, position, PUBLIC)
        elif len(self.lengths) > 1:
            said = f"`public_features` gives {sorted(self.lengths)} features, not always the same number,"
            self.checks.add("public features", f"{said} {where(self.game, position)}", position.history)

    def _text(self, rule: Any, position: Position, *rest: Any) -> str:
        return str(self._guarded(rule, position, *rest))

    def _guarded(self, rule: Any, position: Position, *rest: Any) -> Any:
        """What a rule gives; it must not change the world."""
        world = position.world
        before = world.tobytes() if hasattr(world, "tobytes") else None
        try:
            given = rule(self.game, world, *rest)
        except Exception as error:
            raise Broken("running rules", f"`{rule.__name__}` fails with {failure(error)},", position) from error
        if before is not None and world.tobytes() != before:
            raise Broken("unchanged worlds", f"`{rule.__name__}` changes the world", position)
        return given

    def _log(self, position: Position, seat: int) -> list[str]:
        """What a seat is told, step by step."""
        steps = []
        while position.before is not None:
            steps.append((position.before, position))
            position = position.before
        return [
            observation_text(self.game, before.world, after.history[-1], after.world, seat)
            for before, after in reversed(steps)
            if before.seen_by(seat) != after.seen_by(seat)
        ]


def _quoted(one: str, two: str) -> str:
    """Two texts on one line, shortened to where they differ."""
    start = next((i for i, (a, b) in enumerate(zip(one, two, strict=False)) if a != b), min(len(one), len(two)))
    low = max(0, start - 20)
    return " and ".join(repr(text[low : start + 40]) for text in (one, two))
