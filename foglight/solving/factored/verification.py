"""Whether a game factors, tried on random games.

The game is played as it is, and beside it in two worlds of a factored form. In the world of a seat, that seat acts as
it does in the game, and the other takes the first action that gives the same common transition. What the form needs is
compared at every step: legal actions, the laid-open world, the mover, each seat's key, and the payoffs. The transition
has to follow from the action and from the laid-open world before it. What the mover observes has to follow from its
action and from the laid-open world afterwards. A mirror image of the game is played as well.
"""

import random
from typing import Any

import numpy as np

from foglight.compile import has_rule
from foglight.rules import (
    CHANCE,
    NOTHING,
    TERMINAL,
    Game,
    begin,
    bounds,
    chance,
    copy_world,
    key,
    lay_open,
    legal,
    max_legal,
    new_worlds,
    num_players,
    observe,
    player,
    position,
    returns,
    transition,
)
from foglight.solving.factored.symmetry import group_of

_GAMES = 100


def factors(game: Game, games: int = _GAMES, seed: int = 0) -> bool:
    """Whether a game has a factored form: a two-seat zero-sum game with private transitions, and nothing against it."""
    limits = bounds(game)
    if num_players(game) != 2 or limits.total != 0.0 or not limits.length or not has_rule("lay_open", type(game)):
        return False
    if not isinstance(new_worlds(game, 1), np.ndarray):
        return False
    trial = _Trial(game, random.Random(seed))
    return all(trial.play() for _ in range(games)) and trial.ambiguous > 0


class _Trial:
    def __init__(self, game: Game, rng: random.Random) -> None:
        self.game, self.rng, self.group = game, rng, group_of(game)
        self.ambiguous = 0  # transitions that were private, or common to several actions
        self.observations: dict[tuple[int, int, int], int] = {}  # by laid-open world afterwards, mover and action
        self.transitions: dict[tuple[int, int, int], Any] = {}  # by laid-open world before, mover and action
        self.images: dict[tuple[int, int, int], int] = {}  # by symmetry, seat and observation: the mirrored observation

    def play(self) -> bool:
        """Play a random game; returns whether all is as a factored form has it."""
        game, turn = self.game, self.rng.randrange(len(self.group.images))
        real, *own = (self._start() for _ in range(3))
        mirrored = self._start()
        while (mover := player(game, real)) != TERMINAL:
            if mover == CHANCE:
                if len(self.group.images) > 1:
                    return False  # images of chance outcomes are not known
                out, odds = np.empty(max_legal(game), np.int64), np.empty(max_legal(game))
                n = chance(game, real, out, odds)
                action = self.rng.choices(out[:n].tolist(), odds[:n].tolist())[0]
                real, mirrored, *own = (self._after(world, action) for world in (real, mirrored, *own))
            else:
                actions = self._legal(real)
                if actions != self._legal(own[mover]):
                    return False
                image = self.group.images[turn]
                if sorted(int(image[a]) for a in actions) != self._legal(mirrored):
                    return False
                action = self.rng.choice(actions)
                after, label = self._step(real, action, mover)
                if self.transitions.setdefault((int(position(game, self._open(real))), mover, action), label) != label:
                    return False
                place = int(position(game, self._open(after))), mover, action
                seen = int(observe(game, real, action, after, mover))
                if self.observations.setdefault(place, seen) != seen:
                    return False
                own_after = self._after(own[mover], action)
                self.ambiguous += label is None or sum(self._step(real, a, mover)[1] == label for a in actions) > 1
                other = 1 - mover
                if label is not None:
                    fitting = [a for a in self._legal(own[other]) if self._step(own[other], a, mover)[1] == label]
                    if not fitting:
                        return False
                    own[other] = self._after(own[other], fitting[0])
                mirrored_after = self._after(mirrored, int(image[action]))
                for seat in range(2):
                    seen = int(observe(game, real, action, after, seat))
                    twin = int(observe(game, mirrored, int(image[action]), mirrored_after, seat))
                    if (seen == NOTHING) != (twin == NOTHING) or self.images.setdefault(
                        (turn, seat, seen), twin
                    ) != twin:
                        return False
                real, own[mover], mirrored = after, own_after, mirrored_after
            if not self._same(real, own, mirrored):
                return False
        return True

    def _same(self, real: Any, own: list[Any], mirrored: Any) -> bool:
        game, worlds = self.game, [real, *own, mirrored]
        if len({int(player(game, world)) for world in worlds}) > 1:
            return False
        if len({int(position(game, self._open(world))) for world in worlds[:3]}) > 1:
            return False
        if any(key(game, real, seat) != key(game, own[seat], seat) for seat in range(2)):
            return False
        if player(game, real) == TERMINAL:
            payoffs = np.zeros((len(worlds), 2))
            for line, world in zip(payoffs, worlds, strict=True):
                returns(game, world, line)
            return bool((payoffs == payoffs[0]).all())
        return True

    def _step(self, world: Any, action: int, mover: int) -> tuple[Any, tuple[int, int] | None]:
        """The world after an action, and the common transition; None if it is private."""
        after = self._after(world, action)
        before, now = (int(position(self.game, self._open(w))) for w in (world, after))
        heard = int(observe(self.game, world, action, after, 1 - mover))
        if before == now and heard == NOTHING and player(self.game, after) == mover:
            return after, None
        return after, (now, heard)

    def _start(self) -> Any:
        world = new_worlds(self.game, 1)[0]
        begin(self.game, world)
        return world

    def _after(self, world: Any, action: int) -> Any:
        after = new_worlds(self.game, 1)[0]
        transition(self.game, world, action, after)
        return after

    def _open(self, world: Any) -> Any:
        copy = new_worlds(self.game, 1)[0]
        copy_world(self.game, copy, world)
        lay_open(self.game, copy)
        return copy

    def _legal(self, world: Any) -> list[int]:
        out = np.empty(max_legal(self.game), np.int64)
        return [int(action) for action in out[: legal(self.game, world, out)]]
