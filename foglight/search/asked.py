"""The policy of an agent, asked at the information states of other seats that a belief passes through.

A policy finds an information state by its key. An agent needs the observations that lead to it, which worlds do not
hold. So a trail is kept for each information state of the present layer: its last observation, and the trail before.
When the viewer observes something, every transition that may explain it extends the trails, and the agent is asked at
the information states in which another seat is to move. Its answers are a table, by which the tracker weighs worlds.

An agent is asked at no more than `MOST` information states for each observation of the viewer, those of the greatest
weight first. All others count as played uniformly, and so do states whose trail is unknown: they belong to worlds that
were found by regeneration, after a sample had died.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from foglight.compile import kernel
from foglight.policies import Tabular, Uniform, tabular, weigh
from foglight.rules import (
    CHANCE,
    NOTHING,
    Game,
    begin,
    chance,
    key,
    legal,
    max_legal,
    new_worlds,
    num_players,
    observe,
    player,
    transition,
)
from foglight.worlds.expansion import as_array, transitions

MOST = 500  # information states at which an agent is asked for each observation, or for each set of deals
_WIDEST = 50_000  # worlds of a layer whose trails are extended; of more, the heaviest

Ask: TypeAlias = Callable[[int, list[int], list[int]], Sequence[float]]  # by seat, its observations, legal actions
Trail: TypeAlias = "tuple[Trail, int] | None"  # the trail before the last observation, and that; None at the start


class Asked:
    """The answers of an agent in one game. `ask` gives the probabilities of a seat's legal actions."""

    def __init__(self, game: Game, viewer: int, ask: Ask) -> None:
        self.game, self.viewer = game, viewer
        self.answers: dict[int, list[float]] = {}  # by key of an information state
        self.uniform = 0  # information states that count as played uniformly
        self._ask = ask
        self._others = [seat for seat in range(num_players(game)) if seat != viewer]
        self._trails: dict[tuple[int, int], Trail] = {}  # by seat and key, in the present layer

    def start(self) -> Tabular:
        """The policy as far as it is needed before the viewer's first observation."""
        rows = new_worlds(self.game, 1)
        begin(self.game, rows[0])
        self._trails = {(seat, int(key(self.game, rows[0], seat))): None for seat in self._others}
        self._pass_through(as_array(rows), np.ones(1))
        return tabular(self.answers)

    def follow(self, rows: Any, weights: np.ndarray, observation: int) -> Tabular:
        """The policy as far as it is needed up to the viewer's next observation after this one.

        `rows` are the worlds of the layer before this observation, with their weights.
        """
        before, self._trails = self._trails, {}
        self._pass_through(*self._children(as_array(rows), weights, observation, before))
        return tabular(self.answers)

    def _pass_through(self, rows: np.ndarray, weights: np.ndarray) -> None:
        """Ask at these worlds, and at all worlds that unnoticed transitions lead to from them."""
        worlds: dict[tuple[int, int], tuple[float, Any]] = {}  # by seat and key: the weight, and a world
        while len(rows):
            movers = _movers(self.game, rows, np.empty(len(rows), np.int64))
            for seat in self._others:
                here = np.flatnonzero(movers == seat)
                found = _keys(self.game, rows[here], seat, np.empty(len(here), np.uint64))
                states, firsts, which = np.unique(found, return_index=True, return_inverse=True)
                masses = np.bincount(which, weights[here], len(states))
                for state, first, mass in zip(states.tolist(), firsts, masses.tolist(), strict=True):
                    old, world = worlds.get((seat, state), (0.0, rows[here[first]]))
                    worlds[seat, state] = old + mass, world
            going = movers != self.viewer
            rows, weights = self._children(rows[going], weights[going], NOTHING, self._trails)
        self._ask_at(worlds)

    def _ask_at(self, worlds: dict[tuple[int, int], tuple[float, Any]]) -> None:
        """Ask at the information states of these worlds, the heaviest first."""
        new = [name for name in worlds if name[1] not in self.answers]
        open_ = [name for name in new if name in self._trails]
        open_.sort(key=lambda name: -worlds[name][0])
        actions = np.empty(max_legal(self.game), np.int64)
        for seat, state in open_[:MOST]:
            n = legal(self.game, worlds[seat, state][1], actions)
            self.answers[state] = list(self._ask(seat, _observations(self._trails[seat, state]), actions[:n].tolist()))
        self.uniform += len(new) - len(open_[:MOST])

    def _children(
        self, rows: np.ndarray, weights: np.ndarray, observation: int, trails: dict[tuple[int, int], Trail]
    ) -> tuple[np.ndarray, np.ndarray]:
        """The distinct worlds after transitions that show the viewer this, with weights; their trails are noted."""
        if len(rows) == 0:
            return rows, weights
        steps = transitions(self.game, Uniform(), rows, self.viewer, observation)
        if len(steps.parents) == 0:
            return rows[:0], weights[:0]
        firsts, which = _distinct(steps.rows)
        masses = np.bincount(which, weights[steps.parents] * steps.odds, len(firsts))
        kept = np.argsort(-masses, kind="stable")[:_WIDEST]
        firsts, masses = firsts[kept], masses[kept]
        after, before, actions = steps.rows[firsts], rows[steps.parents[firsts]], steps.actions[firsts]
        for seat in self._others:
            old, new = (_keys(self.game, worlds, seat, np.empty(len(worlds), np.uint64)) for worlds in (before, after))
            shown = _shown(self.game, before, actions, after, seat, np.empty(len(after), np.int64))
            for i in np.unique(new, return_index=True)[1]:
                last = (seat, int(old[i]))
                if last in trails:
                    trail = trails[last] if shown[i] == NOTHING else (trails[last], int(shown[i]))
                    self._trails.setdefault((seat, int(new[i])), trail)
        return after, masses

    # Histories, where worlds come from deals --------------------------------------------------------------------

    def odds(self, histories: list[np.ndarray]) -> np.ndarray:
        """The logarithm of each history's probability by chance and by the other seats, float64[k].

        Once the agent has been asked at `MOST` information states, the rest of the histories is left out.
        """
        asked, logs = len(self.answers), []
        for history in histories:
            if len(self.answers) - asked >= MOST:
                break
            logs.append(self._log(history))
        return np.array(logs)

    def _log(self, history: np.ndarray) -> float:
        game, log = self.game, 0.0
        now, after = new_worlds(game, 2)
        begin(game, now)
        actions, odds = np.empty(max_legal(game), np.int64), np.empty(max_legal(game))
        seen: dict[int, list[int]] = {seat: [] for seat in self._others}
        for action in history.tolist():
            mover = player(game, now)
            n = chance(game, now, actions, odds) if mover == CHANCE else legal(game, now, actions)
            choices = actions[:n].tolist()
            if mover == CHANCE:
                log += float(np.log(odds[choices.index(action)]))
            elif mover != self.viewer:
                state = int(key(game, now, mover))
                if state not in self.answers:
                    self.answers[state] = list(self._ask(mover, list(seen[mover]), choices))
                share = self.answers[state][choices.index(action)]
                log += float(np.log(share)) if share > 0.0 else -np.inf
            transition(game, now, action, after)
            for seat in self._others:
                if (shown := int(observe(game, now, action, after, seat))) != NOTHING:
                    seen[seat].append(shown)
            now, after = after, now
        return log


def log_odds(game: Game, policy: Any, histories: list[np.ndarray], viewer: int) -> np.ndarray:
    """The logarithm of each history's probability by chance and by a policy of all seats but the viewer, float64[n]."""
    out, lengths = np.empty(len(histories)), np.array([len(history) for history in histories])
    for length in np.unique(lengths):
        which = np.flatnonzero(lengths == length)
        block = np.stack([histories[i] for i in which])  # int64[k, length]
        out[which] = _log_odds(game, policy, block, viewer, np.zeros(len(which)))
    return out


def _observations(trail: Trail) -> list[int]:
    """The observations of a trail, from the first one on."""
    found = []
    while trail is not None:
        trail, last = trail
        found.append(last)
    return found[::-1]


def _distinct(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The index of the first of each group of equal worlds, and the group of each world."""
    if rows.dtype == object:
        places: dict[bytes, int] = {}
        which = np.array([places.setdefault(world.tobytes(), len(places)) for world in rows], np.int64)
        return np.unique(which, return_index=True)[1], which
    whole = np.ascontiguousarray(rows).view(np.dtype((np.void, rows.itemsize * rows.shape[1]))).ravel()
    _, firsts, which = np.unique(whole, return_index=True, return_inverse=True)
    return firsts, which


@kernel
def _movers(game, rows, out):
    for i in range(len(rows)):
        out[i] = player(game, rows[i])
    return out


@kernel
def _keys(game, rows, seat, out):
    for i in range(len(rows)):
        out[i] = key(game, rows[i], seat)
    return out


@kernel
def _shown(game, before, actions, after, seat, out):
    """The seat's observation of each transition."""
    for i in range(len(before)):
        out[i] = observe(game, before[i], actions[i], after[i], seat)
    return out


@kernel
def _log_odds(game, policy, histories, viewer, out):
    actions, odds = np.empty(max_legal(game), np.int64), np.empty(max_legal(game))
    for i in range(len(histories)):
        room, now = new_worlds(game, 2), 0
        begin(game, room[now])
        for t in range(len(histories[i])):
            mover, n = player(game, room[now]), 0
            if mover == CHANCE:
                n = chance(game, room[now], actions, odds)
            elif mover != viewer:
                n = legal(game, room[now], actions)
                weigh(policy, game, room[now], mover, actions, n, odds)
            for k in range(n):
                if actions[k] == histories[i, t]:
                    out[i] += np.log(odds[k]) if odds[k] > 0.0 else -np.inf
            transition(game, room[now], histories[i, t], room[1 - now])
            now = 1 - now
    return out
