"""Depth-limited solving beside slow walks of the whole game: trunks, their leaves, their judge, resolving."""

import itertools

import numpy as np
import pytest
from oracles import best_value, cfr, expected, histories, information

import foglight as fl
from foglight.policies import Biased
from foglight.rules import key
from foglight.solving.depth_limited.public import public_state
from foglight.solving.depth_limited.resolving import opponent_values, resolve_safely, resolve_unsafely
from foglight.solving.depth_limited.subgame import Evaluator, Function, Subgames
from foglight.solving.depth_limited.trunk import Trunk, TrunkJudge, TrunkSolver, solve_trunk
from foglight.solving.whole.behaviour import behaviour_of
from foglight.solving.whole.plans import counterfactual_values, realised
from foglight.solving.whole.regret import METHODS
from foglight.solving.whole.sequences import sequence_form
from foglight.solving.whole.tree import build_tree

CUTS = [("kuhn_poker", 3), ("kuhn_poker", 4), ("goofspiel(cards=3)", 2)]  # at 4, some games are over before the cut


def played(game, policy):
    """{information state: probabilities} of a policy, at every state."""
    sequences = sequence_form(game)
    behaviour, form = behaviour_of(sequences, policy), sequences.form
    places = {int(k): i for i, k in enumerate(sequences.keys)}
    found = {}
    for state in histories(game):
        if state.player >= 0:
            i = places[int(key(state.game, state.world, state.player))]
            found[information(state)] = behaviour[form.begins[i] : form.ends[i]].tolist()
    return found


def in_trunk(game, depth):
    """The information states met before the cut."""
    return {information(s) for s in histories(game) if s.player >= 0 and len(s.history()) < depth}


class PlayedOn(Evaluator):
    """Leaves are worth what a policy gets from there on."""

    def __init__(self, policy):
        self.policy = policy

    def start(self, publics):
        super().start(publics)
        self.subgames = Subgames(publics)

    def values(self, ranges):
        below = behaviour_of(self.subgames.sequences, self.policy)
        return self.subgames.parted(counterfactual_values(self.subgames.sequences, below, self.subgames.joined(ranges)))


@pytest.mark.parametrize(("game", "depth"), CUTS)
def test_the_values_of_the_roots_are_those_of_the_whole_game(game, depth):
    policy, trunk = Biased(0.6, 2), Trunk(game, depth)
    solver = TrunkSolver(trunk, PlayedOn(policy))
    found = solver.root_values(behaviour_of(trunk.sequences, policy))
    table = played(game, policy)
    wanted = expected(fl.new_state(game), lambda state: table[information(state)])
    assert [float(own[0]) for own in found] == pytest.approx(wanted, abs=1e-12)
    assert abs(wanted[0]) > 0.01


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("game", "depth"), CUTS)
def test_a_trunk_learns_what_the_whole_game_would_with_the_rest_fixed(game, depth, method):
    policy = Biased(0.6, 2)
    table, above = played(game, policy), in_trunk(game, depth)
    slow, _, _ = cfr(game, 5, method, {where: odds for where, odds in table.items() if where not in above})
    trunk = Trunk(game, depth)
    solver = TrunkSolver(trunk, PlayedOn(policy), method)
    solver.iterate(2)
    solver.iterate(3)
    assert solver.iterations == 5
    found = played(game, solver.policy())
    assert len(above) == trunk.sequences.num_states >= 2
    for where in above:
        assert found[where] == pytest.approx(slow[where], abs=1e-9)
    whole = played(game, solve_trunk(trunk, PlayedOn(policy), 5, method))
    assert all(whole[where] == pytest.approx(slow[where], abs=1e-9) for where in above)


@pytest.mark.parametrize(("game", "depth", "iterations"), [("kuhn_poker", 3, 6), ("goofspiel(cards=3)", 2, 4)])
def test_what_a_trunk_guarantees_is_what_slow_regrets_find_after_it(game, depth, iterations):
    """Each seat in turn keeps its trunk, learns the rest, and meets a best response."""
    policy = Biased(0.7, 3)
    table, above = played(game, policy), in_trunk(game, depth)
    total = 0.0
    for seat in (0, 1):
        kept = {where: table[where] for where in above if where[0] == seat}
        slow, _, _ = cfr(game, iterations, "cfr+", kept)
        total += best_value(game, lambda state, slow=slow: slow[information(state)], 1 - seat)
    judge = TrunkJudge(Trunk(game, depth))
    assert judge.exploitability(policy, iterations) == pytest.approx(total, abs=1e-9)
    assert 0.0 < judge.exploitability(policy) <= total + 1e-9


def after_the_deal():
    """Kuhn poker's only public state in which all cards are dealt."""
    deals = build_tree("kuhn_poker", depth=2)
    return public_state(deals.game, int(deals.public_keys[0]), deals.leaf_rows, np.full(6, 1 / 6))


def test_a_trunk_after_the_deal_is_judged_like_the_game():
    public, policy = after_the_deal(), Biased(0.7, 3)
    below, whole = Trunk("kuhn_poker", 1, public, [np.ones(3), np.ones(3)]), Trunk("kuhn_poker", 3)
    for iterations in (None, 6):
        found = TrunkJudge(below).exploitability(policy, iterations)
        assert found == pytest.approx(TrunkJudge(whole).exploitability(policy, iterations), abs=1e-9)
        assert TrunkJudge(Trunk("kuhn_poker", 1, public)).exploitability(policy, iterations) == pytest.approx(found)


def test_by_regret_exploitability_is_near_that_by_programming_whatever_the_ranges():
    public, policy = after_the_deal(), Biased(0.7, 3)
    for seed in range(3):
        ranges = [np.random.default_rng([seed, seat]).random(3) for seat in (0, 1)]
        judge = TrunkJudge(Trunk("kuhn_poker", 1, public, ranges))
        exact = judge.exploitability(policy)
        assert exact - 1e-9 <= judge.exploitability(policy, 150) <= exact + 0.01
        assert exact > 0.02
        larger = TrunkJudge(Trunk("kuhn_poker", 1, public, [2 * ranges[0], 3 * ranges[1]]))
        assert larger.exploitability(policy) == pytest.approx(6 * exact)
        assert larger.exploitability(policy, 7) == pytest.approx(6 * judge.exploitability(policy, 7))


def test_ranges_are_handed_on_from_trunk_to_trunk():
    """Two rounds at once, or one after the other: the seats are as likely to be where they are."""
    game, policy = "goofspiel(cards=4)", Biased(0.6, 2)
    plans = {}

    def leaf_ranges(trunk):
        plan = realised(trunk.sequences, behaviour_of(trunk.sequences, policy))
        listed = trunk.leaf_ranges(plan)
        flat = np.concatenate([own for by_seat in listed for own in by_seat])
        assert np.array_equal(trunk.flat_ranges(plan), flat)
        for public, by_seat in zip(trunk.public_states, listed, strict=True):
            for seat, own in enumerate(by_seat):
                for where, share in zip(public.keys[seat].tolist(), own.tolist(), strict=True):
                    plans.setdefault((public.key, seat, where), []).append(share)
        return zip(trunk.public_states, listed, strict=True)

    for public, ranges in leaf_ranges(Trunk(game, 2)):
        list(leaf_ranges(Trunk(game, 2, public, ranges)))
    first_round = len(plans)
    list(leaf_ranges(Trunk(game, 4)))
    twice = [shares for shares in plans.values() if len(shares) == 2]
    assert len(twice) >= 10 and len(plans) == first_round
    assert all(one == pytest.approx(other) for one, other in twice)
    assert any(one < 0.3 for one, _ in twice)


def test_bad_trunks_get_one_line():
    with pytest.raises(fl.BadInput, match="at least 1, not 0"):
        Trunk("kuhn_poker", 0)
    assert Trunk("unseen_rps", 1).sequences.num_states == 1
    with pytest.raises(fl.BadInput, match="trunks are solved by cfr"):
        solve_trunk(Trunk("kuhn_poker", 3), Function(lambda public, ranges: []), 1, "outcome")
    with pytest.raises(fl.BadInput, match="needs two seats"):
        TrunkJudge(Trunk("openspiel:kuhn_poker(players=3)", 4))


# Resolving --------------------------------------------------------------------------------------------------------


def deals_of_kuhn(opening):
    """Kuhn poker's six deals, and what was played after them: histories of one public state, each with its odds."""
    found = []
    for first in range(3):
        for second in range(3):
            if first != second:
                state = fl.new_state("kuhn_poker")
                for action in (first, second, *opening):
                    state.play(action)
                found.append((state, 1 / 6))
    rows = np.array([state.world for state, _ in found])
    game, start = found[0][0].game, found[0][0]
    return found, public_state(game, int(key(game, start.world, fl.PUBLIC)), rows, np.full(6, 1 / 6))


def known(state, seat):
    return (seat, *state.observations(seat))


def slow_gadget(starts, ranges, iterations, leaver=None, leaving=()):
    """CFR+ below some histories, by information state; the leaver may take a value at each of its states there."""
    regrets, sums, leaving = {}, {}, dict(leaving)
    going = dict.fromkeys(leaving, 1.0)
    choices = {where: [0.0, 0.0] for where in leaving}

    def behaviour(state):
        own = regrets.setdefault(information(state), [0.0] * len(state.actions()))
        return [r / sum(own) for r in own] if sum(own) > 0.0 else [1.0 / len(own)] * len(own)

    def walk(state, seat, reaches, odds, t):
        if state.player == fl.TERMINAL:
            return state.returns()[seat]
        shares, gained = behaviour(state), []
        for action, share in zip(state.actions(), shares, strict=True):
            after, further = state.clone(), list(reaches)
            after.play(action)
            further[state.player] *= share
            gained.append(walk(after, seat, further, odds, t))
        mean = sum(share * value for share, value in zip(shares, gained, strict=True))
        if state.player == seat:
            where = information(state)
            if where not in gains:
                added = sums.setdefault(where, [0.0] * len(shares))
                for k, share in enumerate(shares):
                    added[k] += t * reaches[seat] * share
            total = gains.setdefault(where, [0.0] * len(shares))
            for k, value in enumerate(gained):
                total[k] += odds * reaches[1 - seat] * (value - mean)
        return mean

    for t in range(1, iterations + 1):
        for seat in (0, 1) if leaver is None else (1 - leaver, leaver):
            gains, worth = {}, {}
            for state, odds in starts:
                reaches = [1.0, 1.0]
                for other in (0, 1):
                    where = known(state, other)
                    reaches[other] = going[where] if other == leaver else ranges[other][where]
                if seat != leaver:
                    reaches[seat] = 1.0  # what a seat can get does not depend on its own range
                value = odds * reaches[1 - seat] * walk(state, seat, reaches, odds, t)
                worth[known(state, seat)] = worth.get(known(state, seat), 0.0) + value
            for where, gained in gains.items():
                regrets[where] = [max(a + b, 0.0) for a, b in zip(regrets[where], gained, strict=True)]
            if seat == leaver:
                for where, value in leaving.items():
                    mean = going[where] * worth[where] + (1 - going[where]) * value
                    leave, go = choices[where]
                    choices[where] = [max(leave + value - mean, 0.0), max(go + worth[where] - mean, 0.0)]
                    going[where] = choices[where][1] / sum(choices[where]) if sum(choices[where]) > 0.0 else 0.5
    return {
        where: [p / sum(added) for p in added] if sum(added) > 0.0 else [1 / len(added)] * len(added)
        for where, added in sums.items()
    }


def of_each_state(starts, public, numbers):
    """Numbers by seat and place in a public state, by seat and information state."""
    found = [{}, {}]
    for i, (state, _) in enumerate(starts):
        for seat in (0, 1):
            found[seat][known(state, seat)] = float(numbers[seat][public.states[i, seat]])
    return found


def below(starts):
    """All histories at which somebody moves, from these on."""
    front = [state for state, _ in starts]
    while front:
        state = front.pop()
        if state.player >= 0:
            yield state
            for action in state.actions():
                after = state.clone()
                after.play(action)
                front.append(after)


def looked_up(table, state):
    """What a table says at a state, or None."""
    at = int(np.searchsorted(table.keys, np.uint64(key(state.game, state.world, state.player))))
    if at == len(table.keys) or table.keys[at] != np.uint64(key(state.game, state.world, state.player)):
        return None
    return table.probabilities[table.begins[at] : table.begins[at + 1]].tolist()


@pytest.mark.parametrize("opening", [(), (0,), (1,), (0, 1)])
@pytest.mark.parametrize("seat", [0, 1])
def test_safe_resolving_does_what_the_slow_gadget_does(opening, seat):
    starts, public = deals_of_kuhn(opening)
    own_range, leaving = np.array([0.2, 1.0, 0.6]), np.array([-0.2, 0.05, 0.3])
    numbers = of_each_state(starts, public, [leaving, own_range] if seat else [own_range, leaving])
    slow = slow_gadget(starts, numbers, 7, 1 - seat, numbers[1 - seat])
    found = resolve_safely(public, seat, own_range, leaving, 7)
    compared = set()
    for state in below(starts):
        if state.player == seat:
            assert looked_up(found, state) == pytest.approx(slow[information(state)], abs=1e-9)
            compared.add(information(state))
        else:
            assert looked_up(found, state) is None, "it says nothing about the opponent"
    assert len(compared) == len(found.keys) == len(found.begins) - 1


@pytest.mark.parametrize("opening", [(), (0,), (0, 1)])
def test_unsafe_resolving_takes_the_ranges_for_certain(opening):
    starts, public = deals_of_kuhn(opening)
    ranges = [np.array([0.2, 1.0, 0.6]), np.array([1.0, 0.3, 0.0])]
    slow = slow_gadget(starts, of_each_state(starts, public, ranges), 7)
    found, compared = resolve_unsafely(public, ranges, 7), set()
    for state in below(starts):
        assert looked_up(found, state) == pytest.approx(slow[information(state)], abs=1e-9)
        compared.add(information(state))
    assert len(compared) == len(found.keys)


@pytest.mark.parametrize("opening", [(), (0,), (1,)])
@pytest.mark.parametrize("seat", [0, 1])
def test_what_the_opponent_can_get_is_the_best_of_its_pure_strategies(opening, seat):
    starts, public = deals_of_kuhn(opening)
    own_range, other = np.array([0.2, 1.0, 0.6]), 1 - seat
    table = played("kuhn_poker", Biased(0.7, 3))
    found = opponent_values(public, Biased(0.7, 3), own_range, seat)
    shares = of_each_state(starts, public, [own_range, own_range])[seat]
    wanted = of_each_state(starts, public, [found, found])[other]
    for where, value in wanted.items():
        mine = [(state, odds) for state, odds in starts if known(state, other) == where]
        states = sorted({information(state) for state in below(mine) if state.player == other})
        best = -np.inf
        for plan in itertools.product(*([[1.0, 0.0], [0.0, 1.0]] for _ in states)):
            policy = table | dict(zip(states, plan, strict=True))
            total = 0.0
            for state, odds in mine:
                total += odds * shares[known(state, seat)] * expected(state, lambda s: policy[information(s)])[other]  # noqa: B023
            best = max(best, total)
        assert value == pytest.approx(best, abs=1e-12)
    assert len(wanted) == 3
