"""Online outcome sampling, walk by walk, beside a slow walk that computes every number from its definition."""

import math

import numpy as np
import pytest

import foglight as fl
from foglight.randomness import generator, unit
from foglight.rules import PUBLIC, deal, key, max_legal, pick
from foglight.search.trees import oos
from foglight.search.trees.oos import Walks, aim
from foglight.tables import find

pytestmark = pytest.mark.plain


class Aim:
    """What a walk is aimed at, by histories."""

    def __init__(self, state, public, known):
        self.viewer = PUBLIC if public else state.player
        self.mover = None if public else state.player
        self.observations = state.observations(self.viewer)
        self.known = known  # whether hopes are worked out
        self.hopes = {}

    def arrived(self, state):
        return state.observations(self.viewer) == self.observations and self.mover in (None, state.player)

    def agrees(self, state):
        return state.observations(self.viewer) == self.observations[: len(state.observations(self.viewer))]

    def hope(self, state):
        """How likely uniform play leads from here to the target."""
        if not self.agrees(state):
            return 0.0
        if not self.known or self.arrived(state):
            return 1.0
        told = (state.player, *(tuple(state.observations(seat)) for seat in range(2)))
        if told not in self.hopes:
            chances = dict(state.chance()) if state.player == fl.CHANCE else None
            self.hopes[told] = sum(
                (chances[action] if chances else 1.0 / len(state.actions())) * self.hope(child(state, action))
                for action in state.actions()
            )
        return self.hopes[told]


def child(state, action):
    after = state.clone()
    after.play(action)
    return after


def information_key(state):
    return int(key(state.game, state.world, state.player))


class SlowWalks:
    """Regrets and sums by information state, as the module's text defines them."""

    def __init__(self, game, target, explore, delta, slots=10**9):
        self.game, self.target, self.explore, self.delta, self.slots = game, target, explore, delta, slots
        self.regrets, self.sums, self.arrivals = {}, {}, {}

    def behaviour(self, where, n):
        positive = [max(regret, 0.0) for regret in self.regrets.get(where, [0.0] * n)]
        return [p / sum(positive) for p in positive] if sum(positive) > 0.0 else [1.0 / n] * n

    def walk(self, number, draws):
        explorer, targeted = number % 2, unit(draws) < self.delta
        state, ahead, lost = fl.new_state(self.game), True, set()
        own = []  # of the explorer: information state or None, behaviour, choice, how much coming this way counts
        draw, bias = 1.0, 1.0
        while state.player != fl.TERMINAL:
            if ahead and self.target.arrived(state):
                ahead = False
            if not ahead and lost == {0, 1}:
                break
            actions, where, choice = state.actions(), None, None
            if state.player >= 0:
                n, mover = len(actions), state.player
                if mover not in lost:
                    where = information_key(state)
                    if where not in self.regrets and not ahead:
                        lost.add(mover)  # this one is remembered, the next is not
                sigma = self.behaviour(where, n)
                if where is not None and where not in self.regrets:
                    if 2 * len(self.regrets) >= self.slots or sum(map(len, self.sums.values())) + n > self.slots:
                        where = None  # there is no room for it
                        lost.add(mover)
                    else:
                        self.regrets[where], self.sums[where] = [0.0] * n, [0.0] * n
                plain = [self.explore / n + (1 - self.explore) * p for p in sigma] if mover == explorer else sigma
            else:
                mover, plain = fl.CHANCE, [odds for _, odds in state.chance()]
            weight = 1.0 / (draw * (self.delta * bias + 1 - self.delta))
            if ahead:
                wished = [p * self.target.hope(child(state, a)) for p, a in zip(plain, actions, strict=True)]
                aimed = [w / sum(wished) for w in wished] if sum(wished) > 0.0 else plain
                choice = draw_from(draws, aimed if targeted else plain)
                bias *= aimed[choice] / plain[choice]
                ahead = wished[choice] > 0.0
                action = actions[choice]
            elif mover == fl.CHANCE:
                action = deal(state.game, state.world, draws, *self.room(state))
            else:
                choice = draw_from(draws, plain)
                action = actions[choice]
            if where is not None:
                tries = self.arrivals.setdefault(where, [0] * len(actions))
                tries[choice] += 1
            if mover == explorer:
                own.append((where, sigma, choice, weight / plain[choice]))
                draw *= plain[choice]
            elif where is not None:
                for k, p in enumerate(sigma):
                    self.sums[where][k] += weight * p
            state.play(action)
        while state.player != fl.TERMINAL:
            actions, odds = self.room(state)
            if state.player == fl.CHANCE:
                state.play(deal(state.game, state.world, draws, actions, odds))
            else:
                state.play(pick(state.game, state.world, draws, actions))
        value = state.returns()[explorer] / (draw * (self.delta * bias + 1 - self.delta))
        for d, (where, sigma, choice, _) in enumerate(own):
            if where is not None:
                tail = math.prod(later[1][later[2]] for later in own[d + 1 :])
                for k in range(len(sigma)):
                    self.regrets[where][k] += value * tail * ((k == choice) - sigma[choice])
        return own, value

    def room(self, state):
        return np.empty(max_legal(state.game), np.int64), np.empty(max_legal(state.game))


def draw_from(draws, weights):
    """The first whose cumulated weight exceeds a uniform number; the last possible one if rounding leaves none."""
    wanted, total, drawn = unit(draws), 0.0, 0
    for k, weight in enumerate(weights):
        total += weight
        if weight > 0.0:
            drawn = k
            if wanted < total:
                break
    return drawn


def moved(game, moves):
    state = fl.new_state(game)
    for move in moves:
        state.play(state.actions()[move])
    return state


CASES = [
    ("kuhn_poker", (0, 1, 0, 1)),
    ("leduc_poker", (0, 3, 1, 1, 2)),
    ("phantom_ttt", (4, 4, 4)),
    ("unseen_rps", (2,)),
    ("goofspiel(cards=4)", (1, 2, 1, 0)),  # not all of the other's first bids leave as many ways to get there
]


@pytest.mark.parametrize(("public", "limit"), [(False, 10**5), (True, 10**5), (False, 1)])
@pytest.mark.parametrize(("game", "moves"), CASES)
def test_walks_add_what_their_definition_says(game, moves, public, limit):
    compare(moved(game, moves), public, limit, 10**6, 60)


@pytest.mark.parametrize(
    ("game", "moves", "limit", "most"),
    [("kuhn_poker", (0, 1), 10**5, 16), ("leduc_poker", (0, 3, 1), 10**5, 64), ("phantom_ttt", (4, 4, 4), 1, 512)],
)
def test_a_memory_that_grows_changes_nothing(game, moves, limit, most, monkeypatch):
    monkeypatch.setattr(oos, "_FIRST_ROOM", 0)
    walks = compare(moved(game, moves), False, limit, 10**6, 150)
    assert walks.used[1] > most


# Room is a power of 2; states that find none are played at random.
@pytest.mark.parametrize(
    ("game", "nodes", "slots"), [("leduc_poker", 64, 64), ("leduc_poker", 100, 128), ("kuhn_poker", 9, 16)]
)
def test_a_memory_that_is_full_takes_no_more(game, nodes, slots, monkeypatch):
    monkeypatch.setattr(oos, "_FIRST_ROOM", 0)
    walks = compare(moved(game, (0, 3, 1) if game == "leduc_poker" else (0, 1)), False, 10**5, nodes, 150, slots)
    assert len(walks.memory.keys) == slots
    assert slots - 3 <= walks.used[1] <= slots or 2 * walks.used[0] == slots


def compare(state, public, limit, nodes, n, slots=10**9):
    seat, game = state.player, state.game
    target = aim(game, seat, state.observations(seat), public, limit)
    walks = Walks(game, seat, 0.4, 0.8, nodes)
    walks.turn_to(information_key(state), target)
    slow = SlowWalks(game, Aim(state, public and limit > 1, limit > 1), 0.4, 0.8, slots)
    draws, same = generator(7), generator(7)
    weights, brought = np.zeros((2, len(state.actions())))
    here = information_key(state)
    for number in range(n):
        walks.run(1, draws)
        own, value = slow.walk(number, same)
        assert draws[0] == same[0], "as many random numbers have been drawn"
        for d, (where, _, choice, weight) in enumerate(own):
            if where == here:
                tail = math.prod(later[1][later[2]] for later in own[d + 1 :])
                weights[choice] += weight
                brought[choice] += value * tail
    compared = 0
    for where, regrets in slow.regrets.items():
        slot = find(walks.memory.keys, np.uint64(where))
        assert slot >= 0
        own = slice(walks.memory.begins[slot], walks.memory.begins[slot] + len(regrets))
        assert walks.memory.regrets[own] == pytest.approx(regrets)
        assert walks.memory.sums[own] == pytest.approx(slow.sums[where])
        compared += 1
    assert compared == walks.used[0] == np.count_nonzero(walks.memory.keys) >= 2
    assert walks.used[1] == sum(map(len, slow.regrets.values()))
    assert walks.used[2] == n
    k = len(state.actions())
    assert walks.seen[:k, 0].tolist() == slow.arrivals.get(here, [0] * k)
    assert walks.seen[:k, 1] == pytest.approx(weights) and walks.seen[:k, 2] == pytest.approx(brought)
    sums = np.array(slow.sums.get(here, [0.0] * k))
    assert walks.average(k) == pytest.approx(sums / sums.sum() if sums.sum() > 0 else np.full(k, 1 / k))
    return walks


def test_the_last_slot_moves_too():
    small = oos._new_memory(16)
    assert len(small.keys) == 16
    for slot, code in ((0, 16), (15, 31)):
        small.keys[slot], small.begins[slot] = code, slot
        small.regrets[slot], small.sums[slot] = 1.0 + slot, 2.0 + slot
    large = oos._larger(small)
    assert all(len(column) == 32 for column in large)
    assert {int(k): int(b) for k, b in zip(large.keys, large.begins, strict=True) if k} == {16: 0, 31: 15}
    assert np.array_equal(large.regrets[:16], small.regrets) and np.array_equal(large.sums[:16], small.sums)


def test_a_root_that_was_never_met_is_played_uniformly():
    state = moved("kuhn_poker", (0, 1))
    target = aim(state.game, 0, state.observations(0), False, 100)
    walks = Walks(state.game, 0, 0.4, 0.9, 1000)
    walks.turn_to(information_key(state), target)
    assert walks.average(4).tolist() == [0.25] * 4
