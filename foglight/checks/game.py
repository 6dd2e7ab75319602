"""`fl.check_game`: whether a game keeps what every algorithm relies on.

The rules first play a few random games one call at a time (`strict.py`), because what is wrong there makes everything
else meaningless or dangerous. Then compiled and interpreted rules play the same games. Then histories that look the
same to a seat are compared: all of them in a small game, otherwise those near the start and some that a plain search
finds (`alike.py`). At last, history filters are compared with plain listing.
"""

import contextlib
import random
import time
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from foglight import compile as compiling
from foglight.checks.alike import reordered, some_alike
from foglight.checks.draws import compare_draws
from foglight.checks.filters import Filters
from foglight.checks.information import InformationStates
from foglight.checks.positions import Play, Position, viewer_text, where
from foglight.checks.report import Checks
from foglight.checks.strict import Broken, StrictPlay
from foglight.compile import has_rule, is_compiled, kernel
from foglight.games import load_game
from foglight.names import BadInput, failure
from foglight.playouts import _playouts
from foglight.randomness import generator
from foglight.rules import (
    CHANCE,
    PUBLIC,
    TERMINAL,
    Game,
    bounds,
    chance,
    copy_world,
    evaluation,
    key,
    legal,
    max_legal,
    new_worlds,
    num_actions,
    num_players,
    num_words,
    player,
    step,
    title,
)

Progress = Callable[[int, int], None]  # called with the steps done and the steps in total

_CORE = ("num_players", "num_words", "num_actions", "player", "legal", "step", "observe", "returns")
_TEXT = ("title", "action_names", "board", "view", "observation_text")
_STRICT = 400  # positions of a random game that are looked at one rule at a time
_SMALL = 20_000  # histories up to which all of them are compared


def check_game(
    game: Game,
    *,
    games: int = 20,
    seconds: float = 10.0,
    seed: int = 0,
    compiled: bool = True,
    longest: int = 100_000,
    progress: Progress | None = None,
) -> Checks:
    """Check what every game owes to the algorithms, and give each fault in one sentence with a position that shows it.

    `games` random games are played, and all histories of a small game are compared. The check stops after about
    `seconds`, without the time for compilation. With `compiled=False` nothing is compiled. A random game of `longest`
    actions counts as one that never ends.

        >>> checks = fl.check_game("kuhn_poker")
        >>> checks.ok, checks.comparisons["views"]  # the same for histories that a seat cannot tell apart
        (True, 60)
    """
    loaded = load_game(game)
    for name, value, low in (("games", games, 1), ("longest", longest, 1), ("seed", seed, 0)):
        if type(value) is not int or value < low:
            raise BadInput(f"{name} must be a whole number of at least {low}, not {value!r}")
    if not seconds > 0:
        raise BadInput(f"seconds must be above 0, not {seconds}")
    run = _Run(loaded, games, seconds, seed, longest)
    with np.errstate(all="ignore"):
        if compiled:
            run.all(progress)
        else:
            with compiling.interpreted():
                run.all(progress)
    return run.checks


class _Run:
    """One check of a game."""

    def __init__(self, game: Game, games: int, seconds: float, seed: int, longest: int) -> None:
        self.game, self.games, self.seconds, self.longest = game, games, seconds, longest
        self.checks = Checks(str(game))
        self.rng = random.Random(seed)
        self.seed = seed
        self.histories: list[tuple[int, ...]] = []  # of the random games
        self.texts = True  # whether the game has all rules for text
        self.play: Play

    def all(self, progress: Progress | None) -> None:
        """Every step, unless a fault of an earlier one makes it meaningless."""
        steps: list[tuple[Callable[[float], None], float]] = [
            (self.describe, 0.0),
            (self.play_strictly, 0.25),
            (self.compare_compiled, 0.1),
            (self.compare_alike, 0.35),
            (lambda end: compare_draws(*self._common(), end), 0.1),
            (lambda end: Filters(*self._common()).compare(end), 0.2),
        ]
        with contextlib.ExitStack() as stack:
            for i, (check, share) in enumerate(steps):
                try:
                    check(time.monotonic() + share * self.seconds)
                except Broken as broken:
                    broken.add_to(self.checks, self.game)
                if i < 2 and (not self._has_core() or any(f.property != "required rules" for f in self.checks.faults)):
                    break  # the other steps would be meaningless, or unsafe
                if i == 2 and self.checks.has("compiled rules"):
                    stack.enter_context(compiling.interpreted())
                if progress is not None:
                    progress(i + 1, len(steps))

    def _common(self) -> tuple[Play, Checks, random.Random, int, int, int]:
        return self.play, self.checks, self.rng, self.seed, self.games, _STRICT

    def _has_core(self) -> bool:
        boxed = has_rule("new_worlds", type(self.game))
        return all(self._has(name) or (boxed and name == "num_words") for name in _CORE)

    def _has(self, name: str) -> bool:
        return has_rule(name, type(self.game))

    # What it says about itself ----------------------------------------------------------------------------------------

    def describe(self, end: float) -> None:
        """The rules are there, the sizes make sense, and the text names this game."""
        boxed = self._has("new_worlds")
        missing = [name for name in (*_CORE, *_TEXT) if not self._has(name) and not (boxed and name == "num_words")]
        self.checks.count("required rules", len(_CORE) + len(_TEXT))
        if missing:
            some = f"rule{'s' * (len(missing) > 1)} {', '.join(missing)}"
            self.checks.add("required rules", f"{type(self.game).__name__} has no {some}; every game needs them", ())
        self.texts = all(self._has(name) for name in _TEXT)
        for rule, low in ((num_players, 1), (num_actions, 1), (num_words, 0), (max_legal, 1)):
            if rule.__name__ in missing or (boxed and rule is num_words):
                continue
            self.checks.count("sizes")
            try:
                value = rule(self.game)
                right = int(value) == value and value >= low
            except Exception as error:
                value, right = f"{type(error).__name__}: {error}", False
            if not right:
                self.checks.add("sizes", f"`{rule.__name__}` gives {value}, not a whole number of at least {low}", ())
        if isinstance(self.game, tuple) and type(self.game).__str__ is object.__str__:
            self.checks.add("text", f"{type(self.game).__name__} lacks the decorator @fl.game", ())
            return
        if self.texts and not isinstance(title(self.game), str):
            self.checks.add("required rules", f"`title` gives {title(self.game)!r}, which is no text", ())
        try:
            again = load_game(str(self.game))
        except BadInput:
            self.checks.skipped["text"] = f"{str(self.game)!r} names no class that can be imported here"
            return
        self.checks.count("text")
        if again != self.game or hash(again) != hash(self.game):
            self.checks.add("text", f"the game's text {str(self.game)!r} loads another game, {again!r}", ())

    # One rule at a time -----------------------------------------------------------------------------------------------

    def play_strictly(self, end: float) -> None:
        """Random games by the interpreted rules, each call under guard."""
        play = StrictPlay(self.game, self.checks)
        self.seats, self.most, count = play.seats, play.most, 0
        while count < self.games and (count == 0 or time.monotonic() < end):
            position = play.start()
            for _ in range(_STRICT):
                if position.mover == TERMINAL or time.monotonic() > end:
                    break
                if position.mover >= 0:
                    play.own_actions(position, 40)
                position = play.after(position, self.rng.choice(position.actions))
            self.histories.append(position.history)
            count += 1
            if position.mover == TERMINAL:
                self.checks.count("end")
                self._within_bounds(position)
            elif "end" not in self.checks.skipped:
                self._finish(position)

    def _within_bounds(self, position: Position) -> None:
        """Payoffs and length are what the rule `bounds` says, if the game has it."""
        if not self._has("bounds"):
            return
        self.checks.count("bounds")
        try:
            low, high, total, length = bounds(self.game)
        except Exception as error:
            raise Broken("bounds", f"`bounds` fails with {failure(error)},", position) from error
        payoffs = [float(payoff) for payoff in position.payoffs]
        if min(payoffs) < low or max(payoffs) > high:
            said = f"payoffs are {payoffs}, not between {low:g} and {high:g} as `bounds` says,"
            raise Broken("bounds", said, position)
        if total is not None and abs(sum(payoffs) - total) > 1e-9:
            said = f"payoffs {payoffs} sum to {sum(payoffs):g}, not to {total:g} as `bounds` says,"
            raise Broken("bounds", said, position)
        if length and len(position.history) > length:
            said = f"a game has {len(position.history)} actions, not at most {length} as `bounds` says,"
            raise Broken("bounds", said, position)

    def _finish(self, position: Position) -> None:
        """Play a long random game on, without looking at more than whether it ends."""
        world, out, odds = new_worlds(self.game, 1)[0], np.zeros(self.most, np.int64), np.zeros(self.most)
        copy_world(self.game, world, position.world)
        end = time.monotonic() + self.seconds
        for played in range(len(position.history), self.longest):
            try:
                mover = player(self.game, world)
                if mover == TERMINAL:
                    self.checks.count("end")
                    return
                n = chance(self.game, world, out, odds) if mover == CHANCE else legal(self.game, world, out)
                step(self.game, world, int(out[self.rng.randrange(n)]))
            except Exception as error:
                said = f"a rule fails with {failure(error)}, {played} actions into a game that went on"
                raise Broken("running rules", said, position) from error
            if time.monotonic() > end:
                self.checks.skipped["end"] = f"a random game had not ended after {played:,} actions, when time was up"
                return
        raise Broken("end", f"a random game does not end within {self.longest:,} actions; it went on", position)

    # Compiled and interpreted -----------------------------------------------------------------------------------------

    def compare_compiled(self, end: float) -> None:
        """The same histories by compiled and by interpreted rules."""
        plain = self.play = Play(self.game, compiled=False)
        if not is_compiled(self.game):
            self.checks.skipped["compiled rules"] = "the game runs interpreted"
            return
        fast, begin_ = Play(self.game, compiled=True), time.monotonic()
        try:
            fast.after(fast.start(), fast.start().actions[0])
        except BadInput as error:
            self.checks.add("compiled rules", str(error), ())
            return
        end += time.monotonic() - begin_
        for history in self.histories:
            self._same_game(fast, plain, history, end)
            if self.checks.has("compiled rules"):
                return
        self.play = fast
        if (self._has("pick") or self._has("deal")) and time.monotonic() < end:
            self._same_playouts()

    def _same_game(self, fast: Play, plain: Play, history: tuple[int, ...], end: float) -> None:
        one, other = fast.start(), plain.start()
        for number in range(len(history) + 1):
            self.checks.count("compiled rules")
            for what, first, second in _differences(self.game, one, other):
                self.checks.add(
                    "compiled rules",
                    f"compiled and interpreted rules differ: {what} {first} compiled, {second} interpreted, "
                    f"{where(self.game, other)}",
                    other.history,
                )
                return
            if number == len(history) or time.monotonic() > end:
                return
            one, other = fast.after(one, history[number]), plain.after(other, history[number])

    def _same_playouts(self) -> None:
        """One random game by `pick` and `deal` from the same random numbers."""
        totals = [np.zeros(self.seats), np.zeros(self.seats)]
        origin = self.play.start().world
        steps = [_playouts(self.game, origin, 1, generator(self.seed), totals[0])]
        steps.append(_playouts.py_func(self.game, origin, 1, generator(self.seed), totals[1]))
        self.checks.count("compiled rules")
        if steps[0] != steps[1] or not np.allclose(totals[0], totals[1]):
            said = "compiled and interpreted `pick` or `deal` draw differently from the same random numbers"
            self.checks.add("compiled rules", said, ())

    # Histories that look the same -------------------------------------------------------------------------------------

    def compare_alike(self, end: float) -> None:
        """All histories of a small game, or those near the start and some that look like those of random games."""
        compare = InformationStates(self.play, self.checks, self.texts)
        front: deque[Position] = deque([self.play.start()])
        listed, half = 0, time.monotonic() + 0.5 * (end - time.monotonic())
        while front and listed < _SMALL and time.monotonic() < half:
            position = front.popleft()
            compare.take(position)
            listed += 1
            front.extend(self.play.after(position, action) for action in position.actions)
        for _ in range(50 * self.games if front else 0):
            if time.monotonic() > end:
                break
            positions = list(self.play.random_game(self.rng, _STRICT))
            for position in self.rng.sample(positions, min(len(positions), 8)):
                compare.take(position)
                deciding = [position.mover] if position.mover >= 0 else range(self.seats)
                for seat in deciding:
                    for other in some_alike(self.play, position, seat, self.rng, trials=6):
                        compare.pair(position, other, seat)
                    for other in reordered(self.play, position, seat, self.rng, trials=4 * self._has("key")):
                        compare.take(other)
                if time.monotonic() > end:
                    break


def _differences(game: Game, one: Position, other: Position) -> list[tuple[str, Any, Any]]:
    """What differs between a position reached by compiled and by interpreted rules, as it should not."""
    words = int(num_words(game))
    found: list[tuple[str, Any, Any]] = []
    for word in np.flatnonzero(one.world[:words] != other.world[:words]).tolist():
        found.append((f"word {word} is", int(one.world[word]), int(other.world[word])))
    for viewer, (seen, other_seen) in enumerate(zip(one.observed, other.observed, strict=True), start=PUBLIC):
        if seen != other_seen:
            found.append((f"the last observation of {viewer_text(viewer)} is", seen[-1:], other_seen[-1:]))
    found += [("keys are", "", "other ones")] if not found and one.world.tobytes() != other.world.tobytes() else []
    for what, fact, other_fact in (
        ("the mover is", one.mover, other.mover),
        ("actions are", one.actions, other.actions),
    ):
        if fact != other_fact:
            found.append((what, fact, other_fact))
    for what, numbers, others in (
        ("probabilities are", one.odds, other.odds),
        ("payoffs are", one.payoffs, other.payoffs),
    ):
        if not found and not np.allclose(numbers, others, rtol=1e-9, atol=1e-12, equal_nan=True):
            found.append((what, numbers, others))
    if has_rule("evaluation", type(game)) and one.mover != TERMINAL and not found:
        for seat in range(num_players(game)):
            value, other_value = float(_evaluation(game, one.world, seat)), float(evaluation(game, other.world, seat))
            if abs(value - other_value) > 1e-9 * max(1.0, abs(value)):
                found.append((f"the evaluation of seat {seat} is", value, other_value))
    if has_rule("key", type(game)) and not found:
        for viewer in range(PUBLIC, len(one.observed) - 1):
            first, second = int(_key(game, one.world, viewer)), int(key(game, other.world, viewer))
            if first != second:
                found.append((f"the key of {viewer_text(viewer)} is", first, second))
    return found


@kernel
def _evaluation(game, world, seat):
    return evaluation(game, world, seat)


@kernel
def _key(game, world, viewer):
    return key(game, world, viewer)
