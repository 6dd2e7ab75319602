"""`fl.check_game`: whether a game keeps what every algorithm relies on.

The rules first play a few random games one call at a time (`strict.py`), because what is wrong there makes everything
else meaningless or dangerous. Then compiled and interpreted rules play the same games. Then histories that look the
same to a seat are compared: all of them in a small game, otherwise those near the start and some that a plain search
finds (`alike.py`). At last, history filters are compared with plain listing.
"""

import random
import time
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from foglight import compile as compiling
from foglight.bits import get
from foglight.cards import tricks
from foglight.cards.tricks import hides_only_cards, is_trick_taking, playable, playable_by_pairs
from foglight.checks.alike import all_alike, some_alike
from foglight.checks.positions import Play, Position, where
from foglight.checks.report import Checks
from foglight.checks.strict import Broken, StrictPlay
from foglight.compile import has_rule, is_compiled, kernel
from foglight.games import load_game
from foglight.names import BadInput
from foglight.playouts import _playouts
from foglight.randomness import generator
from foglight.rules import (
    CHANCE,
    MOST_FEATURES,
    PUBLIC,
    TERMINAL,
    Game,
    action_names,
    chance,
    contents,
    copy_world,
    deal,
    key,
    legal,
    max_legal,
    new_worlds,
    num_actions,
    num_players,
    num_words,
    observation_text,
    pick,
    places,
    player,
    public_features,
    step,
    title,
    view,
)
from foglight.worlds.filter import history_filter

Progress = Callable[[int, int], None]  # called with the steps done and the steps in total

_CORE = ("num_players", "num_words", "num_actions", "player", "legal", "step", "observe", "returns")
_TEXT = ("title", "action_names", "board", "view", "observation_text")
_STRICT = 400  # positions of a random game that are looked at one rule at a time
_SMALL = 20_000  # histories up to which all of them are compared
_NODES = 3_000  # positions that listing the histories of an information state may take
_DRAWS = 1_000  # draws of `pick` or `deal` at a position
_FALSE_ALARM = 1e-6  # of one check of a game, over all comparisons of draws
_TRIALS = 200  # comparisons of draws that this rate is divided by


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
        >>> print(checks)
        kuhn_poker: no fault in ... comparisons of ... properties
        >>> checks.ok
        True
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
        self.exhaustive = False  # whether all histories were compared
        self.play: Play

    def all(self, progress: Progress | None) -> None:
        """Every step, unless a fault of an earlier one makes it meaningless."""
        steps: list[tuple[Callable[[float], None], float]] = [
            (self.describe, 0.0),
            (self.play_strictly, 0.25),
            (self.compare_compiled, 0.1),
            (self.compare_alike, 0.35),
            (self.compare_draws, 0.1),
            (self.compare_filters, 0.2),
        ]
        for i, (check, share) in enumerate(steps):
            try:
                check(time.monotonic() + share * self.seconds)
            except Broken as broken:
                broken.add_to(self.checks, self.game)
            if i < 2 and any(fault.property != "required rules" for fault in self.checks.faults):
                break
            if i < 2 and not self._has_core():
                break
            if progress is not None:
                progress(i + 1, len(steps))

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
            elif "end" not in self.checks.skipped:
                self._finish(position)

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
                said = f"a rule fails with {type(error).__name__}: {error}, {played} actions into a game that begins"
                raise Broken("running rules", said, position) from error
            if time.monotonic() > end:
                self.checks.skipped["end"] = f"a random game had not ended after {played:,} actions, when time was up"
                return
        raise Broken("end", f"a random game does not end within {self.longest:,} actions; it begins", position)

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
            for what, first, second in _differences(self.game, one, other, self._has("key")):
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
        steps = [
            playouts(self.game, origin, 1, generator(self.seed), total)
            for playouts, total in zip((_playouts, _playouts.py_func), totals, strict=True)
        ]
        self.checks.count("compiled rules")
        if steps[0] != steps[1] or not np.allclose(*totals):
            said = "compiled and interpreted `pick` or `deal` draw differently from the same random numbers"
            self.checks.add("compiled rules", said, ())

    # Histories that look the same -------------------------------------------------------------------------------------

    def compare_alike(self, end: float) -> None:
        """All histories of a small game, or those near the start and some that look like those of random games."""
        compare = _Alike(self)
        front: deque[Position] = deque([self.play.start()])
        listed, half = 0, time.monotonic() + 0.5 * (end - time.monotonic())
        while front and listed < _SMALL and time.monotonic() < half:
            position = front.popleft()
            compare.take(position)
            listed += 1
            front.extend(self.play.after(position, action) for action in position.actions)
        if not front:
            self.exhaustive = True
            return
        for _ in range(50 * self.games):
            if time.monotonic() > end:
                break
            positions = list(self.play.random_game(self.rng, _STRICT))
            for position in self.rng.sample(positions, min(len(positions), 8)):
                compare.take(position)
                deciding = [position.mover] if position.mover >= 0 else range(self.seats)
                for seat in deciding:
                    for other in some_alike(self.play, position, seat, self.rng, trials=6):
                        compare.pair(position, other, seat)
                if time.monotonic() > end:
                    break

    # Draws ------------------------------------------------------------------------------------------------------------

    def compare_draws(self, end: float) -> None:
        """`pick` and `deal` against `legal` and `chance`."""
        own = {name for name in ("pick", "deal") if self._has(name)}
        random_ = generator(self.seed, 1)
        drawn = 0
        for _ in range(self.games):
            for position in self.play.random_game(self.rng, _STRICT):
                rule = "deal" if position.mover == CHANCE else "pick"
                if rule in own and len(position.actions) > 1 and (drawn < 10 or self.rng.random() < 0.3):
                    self._drawn(rule, position, random_)
                    drawn += 1
                    if self.checks.has(rule):
                        own.discard(rule)
                if not own or drawn == _TRIALS or (drawn >= 10 and time.monotonic() > end):
                    return

    def _drawn(self, name: str, position: Position, random_: np.ndarray) -> None:
        """Draw many times at a position: outcomes must be legal and as frequent as they should be."""
        out, odds = np.zeros(self.most, np.int64), np.zeros(self.most)
        arrays = (out,) if name == "pick" else (out, odds)
        rule: Any = pick if name == "pick" else deal
        counts = dict.fromkeys(position.actions, 0)
        for _ in range(_DRAWS):
            try:
                action = int(rule(self.game, position.world, random_, *arrays))
            except Exception as error:
                said = f"`{name}` fails with {type(error).__name__}: {error} {where(self.game, position)}"
                self.checks.add(name, said, position.history)
                return
            if action not in counts:
                said = f"`{name}` draws {action}, which is not possible {where(self.game, position)}"
                self.checks.add(name, said, position.history)
                return
            counts[action] += 1
        self.checks.count(name)
        shares = position.odds or [1.0 / len(position.actions)] * len(position.actions)
        if _p_value(list(counts.values()), [_DRAWS * share for share in shares]) < _FALSE_ALARM / _TRIALS:
            action = max(counts, key=lambda a: abs(counts[a] - _DRAWS * shares[position.actions.index(a)]))
            share = shares[position.actions.index(action)]
            said = (
                f"`{name}` draws {action} {counts[action]} times in {_DRAWS}, where {_DRAWS * share:.0f} are expected,"
            )
            self.checks.add(name, f"{said} {where(self.game, position)}", position.history)

    # Filters ----------------------------------------------------------------------------------------------------------

    def compare_filters(self, end: float) -> None:
        """Counts and samples of history filters against plain listing at small positions."""
        promised = is_trick_taking(self.game) and bool(hides_only_cards(self.game))
        if promised and playable_by_pairs(self.game):
            self._check_pairs(end)
        share, depth = end - time.monotonic(), 3
        for number in range(2 * self.games):
            if (number >= 4 and time.monotonic() > end) or self.checks.has("card promises"):
                break
            positions = list(self.play.random_game(self.rng, depth))
            position = positions[-1]
            viewer = position.mover if position.mover >= 0 else self.rng.randrange(PUBLIC, self.seats)
            small = self._filtered(position, viewer, promised)
            depth = min(depth + 1, _STRICT) if small else max(1, depth - 1)
            if number == 0:  # filters are compiled now
                end = time.monotonic() + share
        if promised and playable_by_pairs(self.game) and not self.checks.has("card promises"):
            self._sample_deals(end)

    def _filtered(self, position: Position, viewer: int, promised: bool) -> bool:
        """Compare a filter with plain listing; False if there are too many histories to list."""
        observed = position.seen_by(viewer)
        mover = viewer if position.mover == viewer else None
        found = all_alike(self.play, observed, viewer, _NODES)
        if found is None:
            return False
        right = {other.history for other in found if mover is None or other.mover == mover}
        name = "card promises" if promised else "histories"
        place = f"what {_viewer(viewer)} observes {where(self.game, position)}"
        try:
            histories = history_filter(
                self.game, observed, viewer, mover=mover, method="deals" if promised else "auto", limit=50_000
            )
            count = histories.count()
            listed = {tuple(state.history()) for state, _ in histories.enumerate()}
            drawn = {tuple(state.history()) for state in histories.sample(3, seed=self.seed)}
        except BadInput as error:
            if not promised:
                return False
            self.checks.add(name, f"a promise about cards is not kept: {error}; that is for {place}", position.history)
            return True
        self.checks.count(name, 2 + len(drawn))
        if count != len(right) or listed != right:
            hint = "; a promise about cards is not kept" if promised else ""
            numbers = f"{count} histories agree by history_filter, {len(right)} by plain listing"
            self.checks.add(name, f"{numbers}, with {place}{hint}", position.history)
        elif not drawn <= right:
            self.checks.add(
                name, f"history_filter samples a history that does not agree with {place}", position.history
            )
        return True

    def _check_pairs(self, end: float) -> None:
        """The promise `playable_by_pairs`, taken by its word."""
        for number in range(self.games):
            for position in self.play.random_game(self.rng, _STRICT):
                if get(position.world, tricks.PHASE) == tricks.PLAY:
                    self._pairs_at(position)
            if (number > 5 and time.monotonic() > end) or self.checks.has("card promises"):
                return

    def _pairs_at(self, position: Position) -> None:
        cards = int(tricks.hand(self.game, position.world, position.mover))
        hand = [card for card in range(64) if cards >> card & 1]

        def from_hand(held: int) -> int:
            world = position.world.copy()
            tricks.set_hand(self.game, world, position.mover, np.uint64(held))
            return int(playable(self.game, world))

        for card in hand:
            by_pairs = all(from_hand(1 << card | 1 << other) >> card & 1 for other in hand if other != card)
            self.checks.count("card promises")
            if by_pairs != bool(from_hand(cards) >> card & 1):
                may, pairs = ("may not", "may") if by_pairs else ("may", "may not always")
                said = f"`playable_by_pairs` is not kept: card {card} {may} be played from the whole hand, but {pairs}"
                said += f" from the hands of it and another one, {where(self.game, position)}"
                self.checks.add("card promises", said, position.history)
                return

    def _sample_deals(self, end: float) -> None:
        """In a large card game, samples at random positions: legal, and observed alike."""
        for _ in range(10):
            position = self.rng.choice(list(self.play.random_game(self.rng, _STRICT)))
            seat = position.mover if position.mover >= 0 else 0
            observed, place = position.seen_by(seat), where(self.game, position)
            mover = seat if position.mover == seat else None
            try:
                states = history_filter(self.game, observed, seat, mover=mover, method="deals").sample(
                    2, seed=self.seed
                )
            except BadInput as error:
                self.checks.add(
                    "card promises", f"a promise about cards is not kept {place}: {error}", position.history
                )
                return
            for state in states:
                self.checks.count("card promises")
                if tuple(state.observations(seat)) != observed:
                    said = f"a promise about cards is not kept: a sampled deal looks different to seat {seat} {place}"
                    self.checks.add("card promises", said, position.history)
                    return
            if time.monotonic() > end:
                return


class _Alike:
    """Positions by what a seat has observed: those with equal observations must be equal to that seat."""

    def __init__(self, run: _Run) -> None:
        self.game, self.play, self.checks, self.texts = run.game, run.play, run.checks, run.texts
        self.seats = run.seats
        self.first: dict[tuple[int, tuple[int, ...]], Position] = {}  # by seat and observations
        self.deciding: dict[tuple[int, tuple[int, ...]], Position] = {}  # the same, where the seat moves
        self.by_text: dict[tuple[int, str], Position] = {}
        self.by_key: dict[tuple[int, int], Position] = {}  # where the seat moves
        self.features: dict[tuple[int, ...], tuple[Position, bytes]] = {}  # by public observations
        self.lengths: set[int] = set()  # numbers of public features
        self.has_features = has_rule("public_features", type(run.game))
        self.has_places = has_rule("places", type(run.game)) or has_rule("contents", type(run.game))

    def take(self, position: Position) -> None:
        """Compare a position with the first one that looks the same to each seat."""
        if self.texts:
            self._names(position)
        if self.has_places:
            self._places(position)
        if self.has_features:
            self._features(position)
        for seat in range(self.seats):
            known = self.first.setdefault((seat, position.seen_by(seat)), position)
            if known is position:
                self._distinct_text(position, seat)
            elif known.history != position.history:
                self._same(known, position, seat)
        if (seat := position.mover) >= 0:
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
            self.checks.add(name, f"{what} {one} and {two}, which look the same to {_viewer(seat)}", other.history)

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
        if self.texts:
            self.checks.count("views")
            one, two = (self._text(view, position, seat) for position in (known, other))
            if one != two:
                self._fault("views", f"`view` leaks: it says {_quoted(one, two)}", known, other, seat)
            self.checks.count("observation texts")
            logs = self._log(known, seat), self._log(other, seat)
            if logs[0] != logs[1]:
                different = next((pair for pair in zip(*logs, strict=False) if pair[0] != pair[1]), ("more", "less"))
                said = f"`observation_text` leaks: it says {_quoted(*different)}"
                self._fault("observation texts", said, known, other, seat)

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
        """What a rule says; it must not change the world."""
        world = position.world
        before = world.tobytes() if hasattr(world, "tobytes") else None
        try:
            text = rule(self.game, world, *rest)
        except Exception as error:
            raise Broken(
                "running rules", f"`{rule.__name__}` fails with {type(error).__name__}: {error},", position
            ) from error
        if before is not None and world.tobytes() != before:
            raise Broken("unchanged worlds", f"`{rule.__name__}` changes the world", position)
        return str(text)

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


def _differences(game: Game, one: Position, other: Position, own_key: bool) -> list[tuple[str, Any, Any]]:
    """What differs between a position reached by compiled and by interpreted rules, as it should not."""
    words = int(num_words(game))
    found: list[tuple[str, Any, Any]] = []
    for word in np.flatnonzero(one.world[:words] != other.world[:words]).tolist():
        found.append((f"word {word} is", int(one.world[word]), int(other.world[word])))
    for viewer, (first, second) in enumerate(zip(one.observed, other.observed, strict=True), start=PUBLIC):
        if first != second:
            found.append((f"the last observation of {_viewer(viewer)} is", first[-1:], second[-1:]))
    found += [("keys are", "", "other ones")] if not found and one.world.tobytes() != other.world.tobytes() else []
    for what, first, second in (("the mover is", one.mover, other.mover), ("actions are", one.actions, other.actions)):
        if first != second:
            found.append((what, first, second))
    for what, numbers, others in (
        ("probabilities are", one.odds, other.odds),
        ("payoffs are", one.payoffs, other.payoffs),
    ):
        if not found and not np.allclose(numbers, others, rtol=1e-9, atol=1e-12, equal_nan=True):
            found.append((what, numbers, others))
    if own_key and not found:
        for viewer in range(PUBLIC, len(one.observed) - 1):
            first, second = int(_key(game, one.world, viewer)), int(key(game, other.world, viewer))
            if first != second:
                found.append((f"the key of {_viewer(viewer)} is", first, second))
    return found


@kernel
def _key(game, world, viewer):
    return key(game, world, viewer)


def _viewer(viewer: int) -> str:
    return "the public" if viewer == PUBLIC else f"seat {viewer}"


def _quoted(one: str, two: str) -> str:
    """Two texts on one line, shortened to where they differ."""
    start = next((i for i, (a, b) in enumerate(zip(one, two, strict=False)) if a != b), min(len(one), len(two)))
    low = max(0, start - 20)
    return " and ".join(repr(text[low : start + 40]) for text in (one, two))


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
