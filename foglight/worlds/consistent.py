"""All worlds that agree with a viewer's observations, by breadth-first enumeration [Solinas2023, Theorem 2].

A layer is the set of distinct worlds that explain the first t observations. A transition that shows the viewer the
next observation leads to the next layer, one that shows nothing stays, any other is impossible. Exact; its cost is the
number of distinct worlds on the way, which `limit` bounds.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from foglight.compile import kernel
from foglight.games import load_game
from foglight.names import BadInput
from foglight.rules import (
    CHANCE,
    NOTHING,
    TERMINAL,
    begin,
    chance,
    legal,
    max_legal,
    new_worlds,
    observe,
    player,
    transition,
)

_CHUNK = 4096  # worlds expanded at once, so that room for their successors stays small


def consistent_worlds(game: Any, observations: Sequence[int], viewer: int, limit: int = 1_000_000) -> np.ndarray:
    """The distinct worlds in which `viewer` has observed exactly this, as rows; none if that cannot happen."""
    game = load_game(game)
    worlds = new_worlds(game, 1)
    begin(game, worlds[0])
    for observation in observations:
        layers = _waits(game, worlds, viewer, limit)
        worlds = _distinct(np.concatenate([_expanded(game, w, observation, viewer)[0] for w in layers]), limit)
    return _distinct(np.concatenate(list(_waits(game, worlds, viewer, limit))), limit)


def legal_actions(game: Any, observations: Sequence[int], seat: int) -> list[int]:
    """What `seat` may do when it is asked to move after these observations, which determine it."""
    game = load_game(game)
    out = np.empty(max_legal(game), np.int64)
    n = _legal_somewhere(game, consistent_worlds(game, observations, seat), seat, out)
    if n == 0:
        raise BadInput(f"seat {seat} has no move after the observations {list(observations)}")
    return out[:n].tolist()


def _waits(game: Any, worlds: np.ndarray, viewer: int, limit: int) -> Any:
    """The worlds, then those that follow unnoticed, then those that follow these, while there are any."""
    yield worlds
    while len(worlds):
        worlds = _distinct(_expanded(game, worlds, NOTHING, viewer)[1], limit)
        yield worlds


def _expanded(game: Any, worlds: np.ndarray, observation: int, viewer: int) -> tuple[np.ndarray, np.ndarray]:
    """The successors in which the viewer observes `observation`, and those in which it observes nothing."""
    seen, unnoticed = [worlds[:0]], [worlds[:0]]
    for i in range(0, len(worlds), _CHUNK):
        part = worlds[i : i + _CHUNK]
        room = new_worlds(game, len(part) * max_legal(game)), new_worlds(game, len(part) * max_legal(game))
        n_seen, n_unnoticed = _expand(game, part, observation, viewer, *room)
        seen.append(room[0][:n_seen].copy())
        unnoticed.append(room[1][:n_unnoticed].copy())
    return np.concatenate(seen), np.concatenate(unnoticed)


def _distinct(worlds: np.ndarray, limit: int) -> np.ndarray:
    rows = np.unique(worlds, axis=0) if len(worlds) else worlds
    if len(rows) > limit:
        raise BadInput(f"more than {limit} worlds agree with these observations; raise the limit to hold them all")
    return rows


@kernel
def _expand(game, worlds, observation, viewer, seen, unnoticed):
    """Write every successor that shows the viewer this observation, and every one that shows nothing; how many each."""
    actions = np.empty(max_legal(game), np.int64)
    odds = np.empty(max_legal(game))
    after = new_worlds(game, 1)[0]
    n_seen, n_unnoticed = 0, 0
    for i in range(len(worlds)):
        mover = player(game, worlds[i])
        if mover == TERMINAL:
            continue
        n = chance(game, worlds[i], actions, odds) if mover == CHANCE else legal(game, worlds[i], actions)
        for j in range(n):
            transition(game, worlds[i], actions[j], after)
            shown = observe(game, worlds[i], actions[j], after, viewer)
            if shown == NOTHING:
                unnoticed[n_unnoticed, :] = after
                n_unnoticed += 1
            elif shown == observation:
                seen[n_seen, :] = after
                n_seen += 1
    return n_seen, n_unnoticed


@kernel
def _legal_somewhere(game, worlds, seat, out):
    """The legal actions in the first world in which `seat` moves; how many, 0 if there is none."""
    for i in range(len(worlds)):
        if player(game, worlds[i]) == seat:
            return legal(game, worlds[i], out)
    return 0
