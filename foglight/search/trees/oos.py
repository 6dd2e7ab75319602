"""Online outcome sampling [Lisy2015]: outcome sampling [Lanctot2009] from the start, biased towards where we are.

A walk is one play of the game. It updates the regrets of one seat, the explorer, which takes a random action with
probability `explore`, and the average strategies of the other. With probability `delta` a walk is targeted: while the
target is ahead, actions of seats and of chance are drawn in proportion to

    plain(action) * hope(world after it),

where hope is the probability that uniform play leads from that world to the target. So a targeted walk arrives, unless
the current strategies exclude that. A world without hope (some seat has strayed) is continued by plain play. The hopes
are computed backwards on the layers of worlds that explain the observations (`worlds/layers.py`). If the layers are too
large, hope is 1 while observations agree, and many walks stray.

Estimates are unbiased whatever the hopes are. A walk through h is drawn with probability

    q(h) = plain(h) * (delta * bias(h) + 1 - delta),   bias = product of hope(chosen) / sum of plain * hope,

and plain(h) contains the other seat's and chance's own probabilities, which cancel. With own(h) the probability of the
explorer's draws, the result of the walk has weight 1 / (own * (delta * bias + 1 - delta)); with bias 1 that is outcome
sampling.

    information_set   the target is the seat's information state: the same observations, and its turn
    public            the target is the public state

States are added to memory as walks reach them: all states on the way to the target, then the first new state of each
seat. A state that is not in memory plays at random. Once every seat has reached such a state, all states after it do,
and the rest of the walk is a playout.

Memory is kept from one decision to the next, with the regrets and sums of all states. So a decision depends on the
walks at earlier ones (`Agent.remembers`). If half of `nodes` is in use, the next decision starts with an empty memory.

Departure from the paper: the weights of earlier samples are not adjusted to the new target. Each of them is unbiased as
it is, but a state that few walks were aimed at has sums of few and heavy walks.
"""

from typing import NamedTuple

import numpy as np
from numpy import uint64

from foglight.compile import jitable, kernel
from foglight.names import BadInput
from foglight.policies import Uniform
from foglight.randomness import fold, unit, weighted_possible
from foglight.rules import (
    CHANCE,
    NOTHING,
    PUBLIC,
    TERMINAL,
    Game,
    begin,
    chance,
    copy_world,
    deal,
    key,
    legal,
    max_legal,
    new_worlds,
    num_players,
    observe,
    pick,
    player,
    returns,
    step,
    transition,
)
from foglight.tables import find, grown, slots_for
from foglight.worlds.layers import Layers

INFORMATION_SET, PUBLIC_STATE = range(2)
_ANYBODY = -9  # in place of a mover: any mover fits the target
_DEEPEST = 1024  # most decisions of the explorer that a walk updates
_SPARE = 16  # states that must fit into memory before a walk starts
_FIRST_ROOM = 1 << 10  # actions that fit at first
_STATES, ACTIONS, _WALKS = range(3)  # places of Walks.used
_TRIES, _WEIGHT, _VALUE = range(3)  # columns of Walks.seen: tries of a root action, their weights, weighted payoffs
_BEGIN, _COUNT, _CHOICE = range(3)  # columns of a walk's path: where a state's actions begin, how many, the one chosen


class Target(NamedTuple):
    """The situation that targeted walks should pass through."""

    viewer: int  # the seat, or PUBLIC
    mover: int  # the seat, or _ANYBODY
    observations: np.ndarray  # int64[t]
    keys: np.ndarray  # uint64[slots], a power of 2: worlds on the way, 0 where free; one slot without hopes
    hopes: np.ndarray  # float64[slots]


class Memory(NamedTuple):
    """The regrets and average strategies of the states reached; at most half of the slots are used."""

    keys: np.ndarray  # uint64[slots], a power of 2; 0 where free
    begins: np.ndarray  # int64[slots]: where the actions of a state begin in regrets and sums
    regrets: np.ndarray  # float64[slots]
    sums: np.ndarray  # float64[slots]: of average strategies


class Walks:
    """The walks of one seat through a game; `nodes` bounds the actions in memory. `turn_to` comes before `run`."""

    def __init__(self, game: Game, seat: int, explore: float, delta: float, nodes: int) -> None:
        self.game, self.seat = game, seat
        self.explore, self.delta, self.nodes = explore, delta, nodes
        self.memory = _new_memory(min(_FIRST_ROOM + _SPARE * max_legal(game), nodes))
        self.used = np.zeros(3, np.int64)  # _STATES, ACTIONS, _WALKS
        self.seen = np.zeros((max_legal(game), 3))  # by root action: _TRIES, _WEIGHT, _VALUE

    def turn_to(self, root: int, target: Target) -> None:
        """Aim at another decision: `root` is the key of the information state."""
        self.root, self.target = np.uint64(root), target
        self.seen[:] = 0.0

    @property
    def crowded(self) -> bool:
        """Whether half of the memory that is allowed is in use."""
        return 2 * int(self.used[ACTIONS]) > self.nodes

    def run(self, n: int, random: np.ndarray) -> None:
        """n more walks; the seats take turns as explorer."""
        last = self.used[_WALKS] + n
        while self.used[_WALKS] < last:
            full = 2 * len(self.memory.keys) > self.nodes
            walk(
                self.game, self.target, self.seat, self.root, self.explore, self.delta, random, last, full,
                self.memory, self.used, self.seen,
            )  # fmt: skip
            if self.used[_WALKS] < last:
                self.memory = _larger(self.memory)

    def average(self, n: int) -> np.ndarray:
        """The average strategy at the root, float64[n]; uniform if no walk reached it."""
        slot = find(self.memory.keys, self.root)
        sums = self.memory.sums[self.memory.begins[slot] : self.memory.begins[slot] + n] if slot >= 0 else np.zeros(n)
        return sums / sums.sum() if sums.sum() > 0.0 else np.full(n, 1.0 / n)


def aim(game: Game, seat: int, observations: list[int], public: bool, limit: int) -> Target:
    """The target of a seat with these observations; hopes are computed if no layer has more than `limit` worlds."""
    target = Target(seat, seat, np.array(observations, np.int64), np.zeros(1, np.uint64), np.zeros(1))
    try:
        layers = Layers(game, observations, seat, Uniform(), limit, seat)
        if public:
            shown = layers.one_history(*layers.ends[0]).observations(PUBLIC)
            target = target._replace(viewer=PUBLIC, mover=_ANYBODY, observations=np.array(shown, np.int64))
            if not shown:  # the start of the game: every walk passes through it
                return target
            layers = Layers(game, shown, PUBLIC, Uniform(), limit)
    except BadInput:
        return target
    hopes = [np.zeros(len(layer.rows)) for layer in layers.layers]
    for i, world in layers.ends:
        hopes[i][world] = -1.0
    slots = slots_for(sum(map(len, hopes)))
    target = target._replace(keys=np.zeros(slots, np.uint64), hopes=np.zeros(slots))
    for i in range(len(hopes) - 1, -1, -1):
        hopes[i][hopes[i] < 0.0] = 1.0
        for entry in layers.layers[i].entries:
            gained = np.zeros(len(hopes[entry.source]))
            np.add.at(gained, entry.parents, entry.odds * hopes[i][entry.children])
            hopes[entry.source] += np.where(hopes[entry.source] < 0.0, 0.0, gained)
        _note(game, layers.layers[i].rows, hopes[i], target)
    return target


def _new_memory(slots: int) -> Memory:
    slots = 1 << max(4, int(slots) - 1).bit_length()
    return Memory(np.zeros(slots, np.uint64), np.zeros(slots, np.int64), np.zeros(slots), np.zeros(slots))


def _larger(memory: Memory) -> Memory:
    """The same memory with twice the slots."""
    slots = len(memory.keys)
    keys, before, after = grown(memory.keys, 2 * slots)
    begins, regrets, sums = np.zeros(2 * slots, np.int64), np.zeros(2 * slots), np.zeros(2 * slots)
    begins[after], regrets[:slots], sums[:slots] = memory.begins[before], memory.regrets, memory.sums
    return Memory(keys, begins, regrets, sums)


@kernel
def _note(game, rows, hopes, target):
    """Add the hopes of these worlds to the target's table."""
    for i in range(len(rows)):
        code = _joint(game, rows[i])
        slot = find(target.keys, code)
        if slot < 0:
            slot = -1 - slot
            target.keys[slot] = code
        target.hopes[slot] += hopes[i]


@jitable
def _joint(game, world):
    """A hash of all seats' information states and the mover: it determines the hope of a world."""
    code = fold(uint64(0), player(game, world))
    for seat in range(num_players(game)):
        code = fold(code, key(game, world, seat))
    return uint64(code)


@jitable
def _hope(game, target, before, action, after, stage):
    """The probability that uniform play leads to the target after this action; `stage` observations came before."""
    shown = observe(game, before, action, after, target.viewer)
    if shown != NOTHING and (stage == len(target.observations) or shown != target.observations[stage]):
        return 0.0
    if len(target.keys) == 1:
        return 1.0
    slot = find(target.keys, _joint(game, after))
    return target.hopes[slot] if slot >= 0 else 0.0


@kernel
def walk(game, target, seat, root, explore, delta, random, last, full, memory, used, seen):
    """Walks until `last` have been made in total; fewer if memory runs out, unless it is `full` for good."""
    room, seats, most = new_worlds(game, 4), num_players(game), max_legal(game)
    begin(game, room[3])
    actions, plain, biased, sigma = np.empty(most, np.int64), np.empty(most), np.empty(most), np.empty(most)
    payoffs, lost = np.empty(seats), np.empty(seats, np.bool_)
    path = np.empty((_DEEPEST, 3), np.int64)  # the explorer's decisions: _BEGIN, _COUNT, _CHOICE
    shares = np.empty(_DEEPEST)
    while used[_WALKS] < last and (full or max(2 * used[_STATES], used[ACTIONS]) + _SPARE * most <= len(memory.keys)):
        explorer, targeted = used[_WALKS] % seats, unit(random) < delta
        used[_WALKS] += 1
        now, depth, stage, ahead = 0, 0, 0, True
        own, rest, bias = 1.0, 1.0, 1.0  # rest: the explorer's own probability of choices that are not updated
        at_root, root_weight = -1, 0.0
        lost[:] = False
        copy_world(game, room[now], room[3])
        mover = player(game, room[now])
        while mover != TERMINAL:
            if stage == len(target.observations) and (target.mover == _ANYBODY or mover == target.mover):
                ahead = False
            if not ahead and lost.all():
                break
            slot, n, code = -1, 0, uint64(0)
            weight = 1.0 / (own * (delta * bias + 1.0 - delta))
            if mover >= 0:
                n = legal(game, room[now], actions)
                if not lost[mover]:
                    code = uint64(key(game, room[now], mover))
                    slot = find(memory.keys, code)
                    if slot < 0:
                        lost[mover] = not ahead
                        slot = _remember(memory, used, code, -1 - slot, n)
                        lost[mover] = lost[mover] or slot < 0
                _match(memory, slot, n, sigma)
                for k in range(n):
                    plain[k] = explore / n + (1.0 - explore) * sigma[k] if mover == explorer else sigma[k]
            elif ahead:
                n = chance(game, room[now], actions, plain)
            choice = 0
            if ahead:
                total = 0.0
                for k in range(n):
                    transition(game, room[now], actions[k], room[2])
                    biased[k] = plain[k] * _hope(game, target, room[now], actions[k], room[2], stage)
                    total += biased[k]
                for k in range(n):
                    biased[k] = biased[k] / total if total > 0.0 else plain[k]
                choice = weighted_possible(random, biased if targeted else plain, n)
                bias *= biased[choice] / plain[choice]
                ahead = total > 0.0 and biased[choice] > 0.0
                action = actions[choice]
            elif mover == CHANCE:
                action = deal(game, room[now], random, actions, plain)
            else:
                choice = weighted_possible(random, plain, n)
                action = actions[choice]
            if slot >= 0 and code == root:
                seen[choice, _TRIES] += 1
                if mover == explorer:
                    at_root, root_weight = depth, weight / plain[choice]
            if mover == explorer:
                own *= plain[choice]
                if slot >= 0 and depth < _DEEPEST:
                    path[depth, _BEGIN], path[depth, _COUNT], path[depth, _CHOICE] = memory.begins[slot], n, choice
                    shares[depth] = sigma[choice]
                    depth += 1
                else:
                    rest *= sigma[choice]
            elif slot >= 0:
                for k in range(n):
                    memory.sums[memory.begins[slot] + k] += weight * sigma[k]
            transition(game, room[now], action, room[1 - now])
            if ahead and observe(game, room[now], action, room[1 - now], target.viewer) != NOTHING:
                stage += 1
            now = 1 - now
            mover = player(game, room[now])
        while mover != TERMINAL:
            if mover == CHANCE:
                step(game, room[now], deal(game, room[now], random, actions, plain))
            else:
                step(game, room[now], pick(game, room[now], random, actions))
            mover = player(game, room[now])
        returns(game, room[now], payoffs)
        value = payoffs[explorer] * rest / (own * (delta * bias + 1.0 - delta))
        for d in range(depth - 1, -1, -1):
            if d == at_root:
                seen[path[d, _CHOICE], _WEIGHT] += root_weight
                seen[path[d, _CHOICE], _VALUE] += value
            memory.regrets[path[d, _BEGIN] + path[d, _CHOICE]] += value
            value *= shares[d]
            for k in range(path[d, _COUNT]):
                memory.regrets[path[d, _BEGIN] + k] -= value


@jitable
def _remember(memory, used, code, slot, n):
    """Add a state with n actions, if there is room; returns its slot, or -1."""
    if 2 * used[_STATES] >= len(memory.keys) or used[ACTIONS] + n > len(memory.keys):
        return -1
    memory.keys[slot], memory.begins[slot] = code, used[ACTIONS]
    used[_STATES] += 1
    used[ACTIONS] += n
    return slot


@jitable
def _match(memory, slot, n, sigma):
    """Regret matching: write a strategy in proportion to positive regrets, uniform if there are none."""
    total = 0.0
    for k in range(n):
        sigma[k] = max(memory.regrets[memory.begins[slot] + k], 0.0) if slot >= 0 else 0.0
        total += sigma[k]
    for k in range(n):
        sigma[k] = sigma[k] / total if total > 0.0 else 1.0 / n
