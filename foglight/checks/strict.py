"""The rules of a game called one by one, interpreted, each result looked at before the next call.

A rule that goes beyond a world's words or beyond `out` would overwrite memory when compiled. Here it meets the end of
an array, or changes a mark in the place of the keys, and is named.
"""

import itertools
import math
import random
from typing import Any

import numpy as np

from foglight.checks.positions import Position, where
from foglight.checks.report import Checks
from foglight.compile import has_rule
from foglight.names import failure
from foglight.rules import (
    CHANCE,
    NOTHING,
    PUBLIC,
    TERMINAL,
    Game,
    begin,
    bounds,
    chance,
    copy_world,
    evaluation,
    key,
    lay_open,
    legal,
    max_legal,
    new_worlds,
    notices_all,
    num_actions,
    num_players,
    num_words,
    observe,
    player,
    returns,
    step,
)

_MARK, _OTHER_MARK = np.uint64(0xF0A5_5A0F_C3C3_3C3C), np.uint64(0x0123_4567_89AB_CDEF)  # in the place of keys
_ROUNDING = 1e-9  # by which probabilities may miss a sum of 1


class Broken(Exception):
    """A rule breaks a property: the property, a sentence without the place, and the position."""

    def __init__(self, name: str, sentence: str, position: Position) -> None:
        self.property, self.sentence, self.position = name, sentence, position

    def add_to(self, checks: Checks, game: Game) -> None:
        checks.add(self.property, f"{self.sentence} {where(game, self.position)}", self.position.history)


class StrictPlay:
    """A game in motion as `Play` does it, but slowly, with every rule under guard; raises `Broken`."""

    def __init__(self, game: Game, checks: Checks, twice: bool = True) -> None:
        self.game, self.checks, self.twice = game, checks, twice  # whether rules are called twice and compared
        self.seats, self.most, self.numbers = int(num_players(game)), int(max_legal(game)), int(num_actions(game))
        world = new_worlds(game, 1)[0]
        self.rows = isinstance(world, np.ndarray)  # otherwise worlds are objects of the game's own
        self.words = int(num_words(game)) if self.rows else 0

    def start(self) -> Position:
        position = Position(self._new(), None, ())
        position.observed = [()] * (1 + self.seats)
        self._call(begin, position, position.world)
        self._keep_keys("begin", position, position.world)
        return self._looked(position)

    def after(self, position: Position, action: int) -> Position:
        """The position after an action, once it is certain that `step` and `observe` keep to their place."""
        child = Position(self._stepped(position, action, _MARK), position, (*position.history, action))
        if self.twice and self.rows:
            again = self._stepped(position, action, _OTHER_MARK)
            self.checks.count("repeatable rules")
            if again[: self.words].tobytes() != child.world[: self.words].tobytes():
                raise Broken(
                    "repeatable rules", f"`step` of action {action} gives two different worlds in two calls", position
                )
        codes = [self.observed(position, action, child, viewer) for viewer in range(PUBLIC, self.seats)]
        child.observed = [
            seen if code == NOTHING else (*seen, code) for seen, code in zip(position.observed, codes, strict=True)
        ]
        return self._looked(child)

    def observed(self, position: Position, action: int, child: Position, viewer: int) -> int:
        """What a viewer observes of a transition."""
        worlds = (position.world, child.world)
        before = [_bytes(world) for world in worlds]
        code = self._whole("observe", self._call(observe, child, position.world, action, child.world, viewer), child)
        self.checks.count("unchanged worlds")
        if [_bytes(world) for world in worlds] != before:
            raise Broken("unchanged worlds", "`observe` changes a world", child)
        if not -(2**63) <= code < 2**63:
            raise Broken("observations", f"`observe` gives {code}, which is no int64,", child)
        if code == NOTHING and notices_all(self.game):
            raise Broken("observations", f"`notices_all` is true, and `observe` gives viewer {viewer} NOTHING", child)
        if self.twice:
            self.checks.count("repeatable rules")
            if code != self._call(observe, child, position.world, action, child.world, viewer):
                raise Broken("repeatable rules", "`observe` gives two different codes in two calls", child)
        return code

    def own_actions(self, position: Position, most: int) -> None:
        """The mover must tell its actions apart by what it observes; of many actions, `most` are tried."""
        seat = position.mover
        actions = position.actions
        if len(actions) > most:
            actions = random.Random(len(position.history)).sample(actions, most)
        by_code: dict[int, int] = {}
        for action in actions:
            child = Position(self._stepped(position, action, _MARK), position, (*position.history, action))
            code = self.observed(position, action, child, seat)
            self.checks.count("own action")
            if code == NOTHING:
                raise Broken(
                    "own action", f"seat {seat} plays action {action} and observes NOTHING of its own action", position
                )
            if by_code.setdefault(code, action) != action:
                raise Broken(
                    "own action",
                    f"seat {seat} observes {code} both of its action {by_code[code]} and of its action {action}",
                    position,
                )

    # One rule at a time --------------------------------------------------------------------------------------------

    def _new(self) -> Any:
        world = new_worlds(self.game, 1)[0]
        if self.rows:
            if len(world) != self.words + 1 + self.seats:
                empty = Position(world, None, ())
                raise Broken("worlds", f"a world has {len(world)} words, not num_words + 1 + num_players,", empty)
            world[self.words :] = _MARK
        return world

    def _stepped(self, position: Position, action: int, mark: np.uint64) -> Any:
        world, before = self._new(), _bytes(position.world)
        self._call(copy_world, position, world, position.world)
        if self.rows:
            world[self.words :] = mark
        self._call(step, position, world, action)
        self._keep_keys(f"step (action {action})", position, world, mark)
        if _bytes(position.world) != before:
            raise Broken("unchanged worlds", "`step` changes the world before, not only its copy,", position)
        return world

    def _keep_keys(self, name: str, position: Position, world: Any, mark: np.uint64 = _MARK) -> None:
        if self.rows:
            self.checks.count("worlds")
            changed = np.flatnonzero(world[self.words :] != mark)
            if len(changed):
                raise Broken(
                    "worlds",
                    f"`{name}` writes word {self.words + int(changed[0])}, where keys are: num_words says "
                    f"that the game has words 0 to {self.words - 1},",
                    position,
                )

    def _identified(self, position: Position) -> None:
        """Worlds that are objects give the bytes and the keys by which they are told apart."""
        self.checks.count("worlds")
        if not isinstance(_bytes(position.world), bytes):
            said = "a world has no method `tobytes` that gives bytes, equal for equal worlds and for no others,"
            raise Broken("worlds", said, position)
        for viewer in range(PUBLIC, self.seats):
            code = self._whole("key", self._call(key, position, position.world, viewer), position)
            if not 0 <= code < 2**64:
                raise Broken("keys", f"`key` gives viewer {viewer} {code}, not a number from 0 to 2^64 - 1,", position)

    def _looked(self, position: Position) -> Position:
        if not self.rows:
            self._identified(position)
        mover = self._whole("player", self._pure(player, position, position.world), position)
        self.checks.count("mover")
        if mover not in (CHANCE, TERMINAL) and not 0 <= mover < self.seats:
            raise Broken("mover", f"`player` gives {mover}, which is no seat, CHANCE or TERMINAL,", position)
        position.mover = mover
        if mover == TERMINAL:
            self._paid(position)
        elif has_rule("evaluation", type(self.game)):
            self._evaluated(position)
        if mover == CHANCE:
            out, odds = self._listed(chance, position)
            position.actions, position.odds = out, odds
            self._odds(position)
        elif mover != TERMINAL:
            position.actions = self._listed(legal, position)[0]
        if self.rows and has_rule("lay_open", type(self.game)):
            self._laid_open(position)
        return position

    def _laid_open(self, position: Position) -> None:
        """`lay_open` changes what seats know, and not the mover, the payoffs, or what an action leads to."""
        game = self.game
        world = self._opened(position.world, position)
        self.checks.count("lay_open")
        if self._opened(world, position)[: self.words].tobytes() != world[: self.words].tobytes():
            raise Broken("lay_open", "`lay_open` changes a world that is laid open already", position)
        if self._whole("player", self._call(player, position, world), position) != position.mover:
            raise Broken("lay_open", "`lay_open` changes whose turn it is", position)
        if position.mover == TERMINAL:
            payoffs = np.full(self.seats, np.nan)
            self._call(returns, position, world, payoffs)
            if payoffs.tolist() != position.payoffs:
                raise Broken("lay_open", f"`lay_open` changes the payoffs to {payoffs.tolist()}", position)
        elif position.mover != CHANCE:
            out = np.full(self.most, -1, np.int64)
            n = self._whole("legal", self._call(legal, position, world, out), position)
            new = set(out[:n].tolist()) - set(position.actions)
            if new:
                raise Broken("lay_open", f"`lay_open` makes action {min(new)} legal", position)
            for action in out[:n].tolist():
                ends = []
                for before in (world, position.world):
                    after = new_worlds(game, 1)[0]
                    copy_world(game, after, before)
                    self._call(step, position, after, action)
                    ends.append(self._opened(after, position)[: self.words].tobytes())
                if ends[0] != ends[1]:
                    raise Broken("lay_open", f"`lay_open` changes what action {action} leads to", position)
                if ends[0] == world[: self.words].tobytes():
                    said = f"`lay_open` leaves action {action} legal, which changes only what seats know,"
                    raise Broken("lay_open", said, position)

    def _opened(self, world: Any, position: Position) -> Any:
        opened = new_worlds(self.game, 1)[0]
        copy_world(self.game, opened, world)
        self._call(lay_open, position, opened)
        return opened

    def _paid(self, position: Position) -> None:
        payoffs = np.full(self.seats, np.nan)
        self._pure(returns, position, position.world, payoffs)
        position.payoffs = payoffs.tolist()
        self.checks.count("returns", self.seats)
        for seat, payoff in enumerate(position.payoffs):
            if not math.isfinite(payoff):
                raise Broken("returns", f"`returns` writes no finite payoff for seat {seat}, but {payoff},", position)

    def _evaluated(self, position: Position) -> None:
        """`evaluation` keeps to the bounds of payoffs, and follows from the game's own words."""
        before = _bytes(position.world)
        values = [self._call(evaluation, position, position.world, seat) for seat in range(self.seats)]
        self.checks.count("unchanged worlds")
        if _bytes(position.world) != before:
            raise Broken("unchanged worlds", "`evaluation` changes the world", position)
        limits = self._call(bounds, position)
        self.checks.count("evaluation", self.seats)
        for seat, value in enumerate(values):
            if not (math.isfinite(value) and limits.low <= value <= limits.high):
                said = f"`evaluation` gives seat {seat} {value}, not a payoff from {limits.low:g} to {limits.high:g},"
                raise Broken("evaluation", said, position)
        if limits.total is not None and abs(sum(values) - limits.total) > _ROUNDING * max(1.0, *map(abs, values)):
            said = f"`evaluation` gives the seats {values}, which do not sum to {limits.total:g} as payoffs do,"
            raise Broken("evaluation", said, position)
        if self.rows:
            other = position.world.copy()
            other[self.words :] = _OTHER_MARK
            if [self._call(evaluation, position, other, seat) for seat in range(self.seats)] != values:
                said = "`evaluation` depends on the viewers' keys, or says something else in a second call,"
                raise Broken("evaluation", said, position)

    def _listed(self, rule: Any, position: Position) -> tuple[list[int], list[float]]:
        """The actions or outcomes that a rule writes, with odds if it is `chance`."""
        name, what = rule.__name__, "legal actions" if rule is legal else "chance"
        out, odds = np.full(self.most, -1, np.int64), np.full(self.most, np.nan)
        arrays = (out,) if rule is legal else (out, odds)
        n = self._whole(name, self._pure(rule, position, position.world, *arrays), position)
        who = f"of seat {position.mover}" if position.mover >= 0 else "of chance"
        self.checks.count(what)
        if not 1 <= n <= self.most:
            allowed = f"1 to {self.most} (max_legal)" if n > 0 else "at least one"
            raise Broken(what, f"`{name}` gives {n} actions {who}, not {allowed},", position)
        actions: list[int] = out[:n].tolist()
        wrong = next((action for action in actions if not 0 <= action < self.numbers), None)
        if wrong is not None:
            raise Broken(
                what, f"`{name}` gives action {wrong} {who}, which is not from 0 to {self.numbers - 1},", position
            )
        if any(low >= high for low, high in itertools.pairwise(actions)):
            kind = "distinct" if len(set(actions)) < n else "ascending"
            raise Broken(what, f"the actions {who} are not {kind}: `{name}` gives {_short(actions)}", position)
        return actions, odds[:n].tolist()

    def _odds(self, position: Position) -> None:
        for action, share in zip(position.actions, position.odds, strict=True):
            if not 0.0 < share <= 1.0 + _ROUNDING:
                raise Broken("chance", f"chance gives outcome {action} the probability {share}", position)
        if abs(sum(position.odds) - 1.0) > _ROUNDING:
            raise Broken("chance", f"the probabilities of chance sum to {sum(position.odds):.9g}, not 1,", position)

    def _pure(self, rule: Any, position: Position, world: Any, *rest: Any) -> Any:
        """The result of a rule that must not change the world, and must say the same again."""
        before, again = _bytes(world), [array.copy() for array in rest]
        result = self._call(rule, position, world, *rest)
        self.checks.count("unchanged worlds")
        if _bytes(world) != before:
            raise Broken("unchanged worlds", f"`{rule.__name__}` changes the world", position)
        if self.twice:
            repeated = self._call(rule, position, world, *again)
            self.checks.count("repeatable rules")
            n = len(rest[0]) if result is None and rest else int(result)
            pairs = zip(rest, again, strict=True)
            if repeated != result or (n >= 0 and any(not _equal(first[:n], second[:n]) for first, second in pairs)):
                raise Broken("repeatable rules", f"`{rule.__name__}` says something else in a second call", position)
        return result

    def _call(self, rule: Any, position: Position, *arguments: Any) -> Any:
        try:
            return rule(self.game, *arguments)
        except IndexError as error:
            size = f"a world has {self.words} word{'s' * (self.words != 1)}, and `out` has room for {self.most} actions"
            raise Broken("worlds", f"`{rule.__name__}` goes beyond an array ({error}; {size})", position) from error
        except Broken:
            raise
        except Exception as error:
            raise Broken("running rules", f"`{rule.__name__}` fails with {failure(error)},", position) from error

    def _whole(self, name: str, value: Any, position: Position) -> int:
        try:
            whole = int(value)
        except (TypeError, ValueError, OverflowError):
            whole = None
        if whole is None or whole != value:
            raise Broken("running rules", f"`{name}` gives {value!r}, which is no whole number,", position)
        return whole


def _bytes(world: Any) -> Any:
    """Bytes that identify a world; None for objects that have none."""
    return world.tobytes() if hasattr(world, "tobytes") else None


def _equal(first: Any, second: Any) -> bool:
    return bool(np.array_equal(first, second, equal_nan=first.dtype.kind == "f"))


def _short(actions: list[int]) -> str:
    return str(actions) if len(actions) <= 12 else f"[{', '.join(map(str, actions[:12]))}, ...]"
