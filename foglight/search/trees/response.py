"""A best response by tree search: UCB against an agent whose policy is known, after [Timbers2022].

Each iteration plays a game from its start. The other seats draw their actions from their policy, so hidden worlds come
as often as play against this agent makes them: that is the seat's belief about it, and no world is guessed. At its own
information states the seat takes the action with the largest

    mean + c * spread * sqrt(ln(visits of the state) / visits of the action),

where `spread` is half the range of its payoffs so far. Once it leaves the tree it plays at random. Against a fixed
policy this is a decision process of one seat, whose states are that seat's information states, so the actions with the
most visits approach a best response. The paper plays by a learned value where the tree ends; here that is left to the
caller. Where payoffs of a subtree are learned late, the mean of an action is too low for a while, as in all of UCT.

The tree has the layout of `ismcts`. It grows below an action that has been tried a few times, so that memory goes to
where play leads.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy import uint64

from foglight.compile import jitable, kernel
from foglight.policies import weigh
from foglight.randomness import below, weighted_possible
from foglight.rules import (
    CHANCE,
    TERMINAL,
    Game,
    begin,
    copy_world,
    deal,
    key,
    legal,
    max_legal,
    new_worlds,
    num_players,
    pick,
    player,
    returns,
    transition,
)
from foglight.search.trees.ismcts import Growth, find_action
from foglight.tables import find

_RIPE = 4  # tries of an action before the tree grows below it
_DEEPEST = 1024  # own actions of one descent that are remembered
_BLOCK = 1 << 14  # most iterations between two looks at the room that is left
_LEAST, _MOST = range(2)


class ResponseTree(Growth):
    """The tree of a seat that responds to a policy; it grows with the search, up to `nodes` actions."""

    def __init__(self, game: Game, seat: int, exploration: float, nodes: int) -> None:
        super().__init__(game, seat, 0, exploration, nodes)

    def respond(self, policy: Any, random: np.ndarray, n: int) -> float:
        """n iterations against this policy; returns the mean payoff."""
        total, left = 0.0, n
        while left > 0:
            block = min(left, _BLOCK)
            self._make_room(block)
            most = min(self.nodes, len(self.tree.keys) // 2)
            payoffs = _simulate(
                self.game, policy, self.seat, self.exploration, random, block, most, self.tree, self.used, self.ranges
            )
            total += float(payoffs)
            left -= block
        return total / n

    def arrays(self) -> dict[str, np.ndarray]:
        """The tree as arrays, for a file."""
        taken = np.flatnonzero(self.tree.keys)
        keys, visits, sums = (column[taken] for column in (self.tree.keys, self.tree.visits, self.tree.sums))
        return {"keys": keys, "visits": visits, "sums": sums, "ranges": self.ranges}

    def restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Take over what `arrays` gave."""
        self._make_room(len(arrays["keys"]))
        _enter(self.tree, arrays["keys"], arrays["visits"], arrays["sums"])
        self.used[0], self.ranges[:] = len(arrays["keys"]), arrays["ranges"]

    def table(self, policy: Any, random: np.ndarray, games: int, least: int) -> dict[int, list[float]]:
        """The actions with the most visits at information states that games by these actions lead to, by key.

        States with fewer than `least` visits are left out.
        """
        keys, sizes, choices = _visited(self.game, policy, self.seat, random, games, least, self.tree)
        different, first = np.unique(keys, return_index=True)
        return {
            int(number): [float(i == choice) for i in range(size)]
            for number, size, choice in zip(different, sizes[first].tolist(), choices[first].tolist(), strict=True)
        }


@kernel
def _enter(tree, keys, visits, sums):
    for i in range(len(keys)):
        slot = -1 - find(tree.keys, keys[i])
        tree.keys[slot], tree.visits[slot], tree.sums[slot] = keys[i], visits[i], sums[i]


@kernel
def _simulate(game, policy, seat, exploration, random, n, most, tree, used, ranges):
    """Grow the tree by n games, as long as it has fewer than `most` actions; returns the sum of the payoffs."""
    room = new_worlds(game, 2)
    origin = new_worlds(game, 1)[0]
    begin(game, origin)
    actions, odds = np.empty(max_legal(game), np.int64), np.empty(max_legal(game))
    payoffs = np.empty(num_players(game))
    slots = np.empty(_DEEPEST, np.int64)
    total = 0.0
    for _ in range(n):
        now, depth, inside, ripe = 0, 0, True, True
        copy_world(game, room[now], origin)
        mover = player(game, room[now])
        while mover != TERMINAL:
            if mover == CHANCE:
                action = deal(game, room[now], random, actions, odds)
            elif mover != seat:
                m = legal(game, room[now], actions)
                weigh(policy, game, room[now], mover, actions, m, odds)
                action = actions[weighted_possible(random, odds, m)]
            elif not inside or depth == _DEEPEST:
                action = pick(game, room[now], random, actions)
            else:
                m = legal(game, room[now], actions)
                node = uint64(key(game, room[now], seat))
                spread = exploration
                if ranges[seat, _MOST] > ranges[seat, _LEAST]:
                    spread *= 0.5 * (ranges[seat, _MOST] - ranges[seat, _LEAST])
                growing = ripe and used[0] < most
                action, slot = _choice(random, tree, node, actions, m, spread, growing)
                if slot < 0:
                    inside = False
                    if growing:
                        slot = -1 - slot
                        tree.keys[slot] = node ^ uint64(action)
                        used[0] += 1
                if slot >= 0:
                    slots[depth] = slot
                    depth += 1
                    ripe = tree.visits[slot] >= _RIPE
            transition(game, room[now], action, room[1 - now])
            now = 1 - now
            mover = player(game, room[now])
        returns(game, room[now], payoffs)
        payoff = payoffs[seat]
        total += payoff
        ranges[seat, _LEAST], ranges[seat, _MOST] = min(ranges[seat, _LEAST], payoff), max(ranges[seat, _MOST], payoff)
        for d in range(depth):
            tree.visits[slots[d]] += 1
            tree.sums[slots[d]] += payoff
    return total


@jitable
def _choice(random, tree, node, actions, n, spread, growing):
    """An action and its slot, negative if it is not in the tree; a growing tree first takes actions not in it."""
    fresh, new, new_slot, visits = 0, 0, -1, 0
    for k in range(n):
        slot = find_action(tree, node, actions[k])
        if slot < 0:
            fresh += 1
            if below(random, fresh) == 0:
                new, new_slot = k, slot
        else:
            visits += tree.visits[slot]
    if fresh > 0 and (growing or visits == 0):
        return actions[new], new_slot
    log, choice, place, best = np.log(max(visits, 1)), -1, -1, 0.0
    for k in range(n):
        slot = find_action(tree, node, actions[k])
        if slot >= 0:
            score = tree.sums[slot] / tree.visits[slot] + spread * np.sqrt(log / tree.visits[slot])
            if choice < 0 or score > best:
                best, choice, place = score, k, slot
    return actions[choice], place


@jitable
def _most_visited(tree, node, actions, n):
    """The index of the action with the most visits, and the visits of all actions."""
    choice, most, visits = -1, 0, 0
    for k in range(n):
        slot = find_action(tree, node, actions[k])
        if slot >= 0:
            visits += tree.visits[slot]
            if tree.visits[slot] > most:
                choice, most = k, tree.visits[slot]
    return choice, visits


@kernel
def _visited(game, policy, seat, random, n, least, tree):
    """Keys, numbers of actions and most visited actions of the information states that n games lead to."""
    room = new_worlds(game, 2)
    origin = new_worlds(game, 1)[0]
    begin(game, origin)
    actions, odds = np.empty(max_legal(game), np.int64), np.empty(max_legal(game))
    keys, sizes, choices, rows = (
        np.empty(1 << 10, np.uint64),
        np.empty(1 << 10, np.int64),
        np.empty(1 << 10, np.int64),
        0,
    )
    for _ in range(n):
        now = 0
        copy_world(game, room[now], origin)
        mover = player(game, room[now])
        while mover != TERMINAL:
            if mover == CHANCE:
                action = deal(game, room[now], random, actions, odds)
            else:
                m = legal(game, room[now], actions)
                if mover != seat:
                    weigh(policy, game, room[now], mover, actions, m, odds)
                    action = actions[weighted_possible(random, odds, m)]
                else:
                    node = uint64(key(game, room[now], seat))
                    choice, visits = _most_visited(tree, node, actions, m)
                    if visits < least or choice < 0:
                        break
                    if rows == len(keys):
                        keys = np.concatenate((keys, np.empty_like(keys)))
                        sizes = np.concatenate((sizes, np.empty_like(sizes)))
                        choices = np.concatenate((choices, np.empty_like(choices)))
                    keys[rows], sizes[rows], choices[rows] = node, m, choice
                    rows += 1
                    action = actions[choice]
            transition(game, room[now], action, room[1 - now])
            now = 1 - now
            mover = player(game, room[now])
    return keys[:rows], sizes[:rows], choices[:rows]
