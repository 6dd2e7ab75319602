"""Particles: a bounded set of histories of one public state, with the seats' ranges.

Histories are kept by information state: likely information states of each seat are kept, and with them every history
in which the information states of all seats are kept. So at each of them a seat still faces several possible
states of the others, as in the whole public state.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from foglight.games import load_game
from foglight.policies import Uniform
from foglight.rules import (
    CHANCE,
    NOTHING,
    PUBLIC,
    Game,
    begin,
    chance,
    key,
    legal,
    max_legal,
    new_worlds,
    observe,
    player,
    transition,
)
from foglight.solving.depth_limited.public import PublicState, public_state
from foglight.worlds.expansion import chosen
from foglight.worlds.regeneration import BeliefLost
from foglight.worlds.tracker import Tracker, Worlds

_FLOOR = 1e-3  # added to every score, as a share of the highest, so that an unlikely state is kept now and then
_WIDEST = 3  # most information states of a seat, in square roots of the number of histories
_TRACKED = 5000  # least cap of the trackers that find new particles; with fewer worlds they lose the belief


@dataclass(frozen=True)
class Particles:
    """A public belief state, or some of its histories."""

    public: PublicState
    ranges: list[np.ndarray]  # by seat, a reach probability for each of its information states

    def __len__(self) -> int:
        return len(self.public.chance)

    @property
    def weights(self) -> np.ndarray:
        """The reach probability of each history, float64[n]; they need not add up to 1."""
        weights = self.public.chance.copy()
        for seat, own in enumerate(self.ranges):
            weights *= own[self.public.states[:, seat]]
        return weights


def first_particles(game: str | Game) -> Particles:
    """The particles at the start of a game: one history."""
    game = load_game(game)
    rows = new_worlds(game, 1)
    begin(game, rows[0])
    public = public_state(game, int(key(game, rows[0], PUBLIC)), rows, np.ones(1))
    return Particles(public, [np.ones(1) for _ in public.keys])


def thinned(
    particles: Particles, most: int, random: np.random.Generator, seat: int | None = None, own_key: int = 0
) -> Particles:
    """Thin particles to at most `most` histories.

    Information states are drawn without replacement, in proportion to their probabilities. If a seat and the key of its
    information state are given, that state is always kept, and the other seats' states are scored by the mean of two
    probabilities: given that state, and unconditional.
    """
    public, weights = particles.public, particles.weights
    if len(weights) <= most:
        return particles
    worst = np.zeros(len(weights), np.int64)
    mine = None if seat is None else public.keys[seat][public.states[:, seat]] == np.uint64(own_key)
    for other, keys in enumerate(public.keys):
        scores = _shares(np.bincount(public.states[:, other], weights, len(keys)))
        if mine is not None and other != seat:
            scores += _shares(np.bincount(public.states[mine, other], weights[mine], len(keys)))
        drawn = np.log(scores + _FLOOR * scores.max()) + random.gumbel(size=len(scores))
        if other == seat:
            drawn[keys == np.uint64(own_key)] = np.inf
        rank = np.empty(len(keys), np.int64)
        rank[np.argsort(-drawn)] = np.arange(len(keys))
        worst = np.maximum(worst, rank[public.states[:, other]])
    levels = np.cumsum(np.bincount(worst))
    allowed = min(int(np.searchsorted(levels, most, side="right")), _WIDEST * math.isqrt(most))
    kept = np.flatnonzero(worst < max(allowed, worst.min() + 1))
    return part(particles, kept[:most])


def _shares(scores: np.ndarray) -> np.ndarray:
    """Scores divided by their sum; uniform if that is 0."""
    total = scores.sum()
    return scores / total if total > 0.0 else np.full(len(scores), 1.0 / len(scores))


def part(particles: Particles, which: np.ndarray) -> Particles:
    """The particles with these numbers."""
    public = particles.public
    smaller = public_state(public.game, public.key, chosen(public.rows, which), public.chance[which])
    ranges = [
        own[np.searchsorted(keys, kept)]
        for own, keys, kept in zip(particles.ranges, public.keys, smaller.keys, strict=True)
    ]
    return Particles(smaller, ranges)


def regenerated(game: Game, seat: int, observations: list[int], most: int, seed: int) -> Particles:
    """At most `most` new particles from a seat's observations, for when none of the old ones agrees with them.

    Half of them are worlds that agree with the seat's observations, half are worlds that agree with the public's; if
    the public's observations cannot be inferred, all are the seat's. Both are weighted as if every seat had played at
    random, since nothing better is known. Raises BeliefLost if no world agrees with the seat's observations.
    """
    own, public = (_tracker(game, viewer, most, seed) for viewer in (seat, PUBLIC))
    followed = True  # whether the public's observations could be inferred so far
    for observation in observations:
        shown = _shown(game, own.worlds(turn_only=False), observation, seat) if followed else None
        own.observe(observation)
        try:
            if shown is not None and shown != NOTHING:
                public.observe(shown)
        except BeliefLost:
            shown = None
        followed = followed and shown is not None
    random, possible = np.random.default_rng(seed), own.worlds()
    here = int(key(game, possible.rows[0], PUBLIC))
    mine = _drawn(possible.weights, most - most // 2 if followed else most, random)
    rows: Any = [possible.rows[i] for i in mine]
    weights = possible.weights[mine]
    if followed:
        beside = public.worlds(turn_only=False)
        fits = np.flatnonzero([int(key(game, row, PUBLIC)) == here for row in beside.rows])
        others = fits[_drawn(beside.weights[fits], most // 2, random)]
        rows += [beside.rows[i] for i in others]
        weights = np.concatenate([weights, beside.weights[others]])
    if isinstance(possible.rows, np.ndarray):
        rows, firsts = np.unique(np.array(rows), axis=0, return_index=True)
        weights = weights[firsts]
    state = public_state(game, here, rows, np.maximum(weights, 1e-12))
    return Particles(state, [np.ones(len(keys)) for keys in state.keys])


def _tracker(game: Game, viewer: int, most: int, seed: int) -> Tracker:
    """A tracker of a viewer's belief under uniformly random play."""
    return Tracker(game, viewer, cap=max(most, _TRACKED), policy=Uniform(), seed=seed)


def _drawn(weights: np.ndarray, most: int, random: np.random.Generator) -> np.ndarray:
    """At most `most` indices of `weights`, drawn without replacement in proportion to the weights."""
    if len(weights) == 0:
        return np.zeros(0, np.int64)
    odds = weights + 1e-9 * max(float(weights.max()), 1e-300)  # none is 0
    return random.choice(len(weights), min(most, len(weights)), replace=False, p=odds / odds.sum())


def _shown(game: Game, worlds: Worlds, observation: int, seat: int) -> int | None:
    """The public's observation of a transition that gives `seat` this one; None if no world has such a transition."""
    actions, odds = np.empty(max_legal(game), np.int64), np.empty(max_legal(game))
    after = new_worlds(game, 1)
    for row in worlds.rows:
        n = chance(game, row, actions, odds) if player(game, row) == CHANCE else legal(game, row, actions)
        for action in actions[:n].tolist():
            transition(game, row, action, after[0])
            if observe(game, row, action, after[0], seat) == observation:
                return int(observe(game, row, action, after[0], PUBLIC))
    return None
