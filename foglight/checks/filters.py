"""History filters against plain listing, and the promises of card games on which filtering by deals relies."""

import random
import time

import numpy as np

from foglight.bits import get
from foglight.cards import tricks
from foglight.cards.tricks import hides_only_cards, is_trick_taking, playable, playable_by_pairs
from foglight.checks.alike import all_alike
from foglight.checks.positions import Play, Position, viewer_text, where
from foglight.checks.report import Checks
from foglight.names import BadInput
from foglight.rules import PUBLIC
from foglight.worlds.deals.story import Unfit
from foglight.worlds.filter import history_filter

_NODES = 3_000  # positions that listing the histories of an information state may take
_ENOUGH = 8  # positions that are tried however long it takes


class Filters:
    """Filters at random positions of a game."""

    def __init__(self, play: Play, checks: Checks, rng: random.Random, seed: int, games: int, longest: int) -> None:
        self.game, self.play, self.checks, self.rng, self.seed = play.game, play, checks, rng, seed
        self.games, self.longest = games, longest  # random games, and how many of their positions

    def compare(self, end: float) -> None:
        """Counts and samples of history filters against plain listing at small positions."""
        promised = is_trick_taking(self.game) and bool(hides_only_cards(self.game))
        if promised and playable_by_pairs(self.game):
            self._check_pairs(end)
        share, depth = end - time.monotonic(), 3
        for number in range(max(2 * self.games, _ENOUGH)):
            if (number >= _ENOUGH and time.monotonic() > end) or self.checks.has("card promises"):
                break
            positions = list(self.play.random_game(self.rng, depth))
            position = positions[-1]
            viewer = position.mover if position.mover >= 0 else self.rng.randrange(PUBLIC, self.play.seats)
            small = self._filtered(position, viewer, promised)
            depth = min(depth + 1 + depth // 3, self.longest) if small else max(1, depth - 1)
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
        place = f"what {viewer_text(viewer)} observes {where(self.game, position)}"
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
            why = str(error) if isinstance(error, Unfit) else "no deal agrees, though a history does"
            self.checks.add(name, f"a promise about cards is not kept: {why}; that is for {place}", position.history)
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
        for number in range(max(self.games, 10)):
            for position in self.play.random_game(self.rng, self.longest):
                if get(position.world, tricks.PHASE) == tricks.PLAY:
                    self._pairs_at(position)
            if (number >= 10 and time.monotonic() > end) or self.checks.has("card promises"):
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
            position = self.rng.choice(list(self.play.random_game(self.rng, self.longest)))
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
