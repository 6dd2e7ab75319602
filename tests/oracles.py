"""Slow, obvious ways to do what the library does fast."""

import math
from typing import NamedTuple

import foglight as fl


def histories(game):
    """Every state of a small game, the start first."""
    front = [fl.new_state(game)]
    while front:
        state = front.pop()
        yield state
        for action in state.actions():
            after = state.clone()
            after.play(action)
            front.append(after)


def agreeing(game, seat, observations):
    """Every history that shows a seat exactly these observations, as its last state."""
    front = [fl.new_state(game)]
    while front:
        state = front.pop()
        seen = state.observations(seat)
        if seen != observations[: len(seen)]:
            continue
        if len(seen) == len(observations):
            yield state
        for action in state.actions():
            after = state.clone()
            after.play(action)
            front.append(after)


def information_sets(game, seat, rng, n):
    """Up to n random information states of `seat` to move in a small game, each as all its [(state, weight)].

    A weight is the odds of the history when chance and every player move at random, given the information state.
    """
    odds = {(): 1.0}
    found = {}
    for state in histories(game):
        here = tuple(state.history())
        reached = odds.pop(here)
        if state.player == seat:
            found.setdefault(information(state), []).append((state, reached))
        for action, share in moves(state):
            odds[*here, action] = reached * share
    picked = rng.sample(list(found.values()), min(n, len(found)))
    totals = [sum(reached for _, reached in members) for members in picked]
    return [
        [(state, reached / total) for state, reached in members] for members, total in zip(picked, totals, strict=True)
    ]


def random_game(game, rng):
    """The states of one random game, the start first; chance is as random as the players."""
    state = fl.new_state(game)
    yield state
    while state.player != fl.TERMINAL:
        state = state.clone()
        state.play(rng.choice(state.actions()))
        yield state


def nth_bit(word, n):
    return [i for i in range(64) if word >> i & 1][n]


# Solving, by recursion over states ------------------------------------------------------------------------------


def information(state):
    """The identity of the mover's information state."""
    return (state.player, *state.observations(state.player))


def expected(state, policy):
    """Each seat's expected payoff when `policy(state)` gives the mover's probabilities."""
    if state.player == fl.TERMINAL:
        return state.returns()
    choices = state.chance() if state.player == fl.CHANCE else zip(state.actions(), policy(state), strict=True)
    totals = [0.0] * state.num_players
    for action, share in choices:
        if share > 0.0:
            after = state.clone()
            after.play(action)
            totals = [total + share * value for total, value in zip(totals, expected(after, policy), strict=True)]
    return totals


def best_value(game, policy, seat):
    """What a seat can get at most against the others' policy: information states settled from the longest up."""
    reach = {}  # information state -> [(state, probability that chance and the others lead there)]

    def collect(state, odds):
        if state.player == fl.TERMINAL or odds == 0.0:
            return
        if state.player == seat:
            reach.setdefault(information(state), []).append((state, odds))
        shares = [1.0] * len(state.actions())
        if state.player == fl.CHANCE:
            shares = [share for _, share in state.chance()]
        elif state.player != seat:
            shares = policy(state)
        for action, share in zip(state.actions(), shares, strict=True):
            after = state.clone()
            after.play(action)
            collect(after, odds * share)

    chosen = {}

    def value(state):
        if state.player == fl.TERMINAL:
            return state.returns()[seat]
        if state.player == seat:
            after = state.clone()
            after.play(choice(information(state)))
            return value(after)
        shares = [share for _, share in state.chance()] if state.player == fl.CHANCE else policy(state)
        total = 0.0
        for action, share in zip(state.actions(), shares, strict=True):
            if share > 0.0:
                after = state.clone()
                after.play(action)
                total += share * value(after)
        return total

    def choice(where):
        if where not in chosen:
            best = None
            for action in reach[where][0][0].actions():
                total = 0.0
                for state, odds in reach[where]:
                    after = state.clone()
                    after.play(action)
                    total += odds * value(after)
                if best is None or total > best[0]:
                    best = (total, action)
            chosen[where] = best[1]
        return chosen[where]

    start = fl.new_state(game)
    collect(start, 1.0)
    return value(start)


def cfr(game, iterations, method="cfr+", fixed=()):
    """By information state, CFR's average policy, regrets and sums of plans: every history walked for every seat.

    What is played at some information states may be fixed.
    """
    fixed = dict(fixed)
    regrets, basis, sums = {}, {}, {}
    degree = {"cfr": 0, "cfr+": 1, "dcfr": 2, "pcfr+": 2, "sapcfr+": 4}[method]  # of the weight of an iteration
    foresight = {"pcfr+": 1.0, "sapcfr+": 0.5}.get(method, 0.0)  # how often the last change of regrets counts once more

    def walk(state, seat, reaches, odds, t):
        if state.player == fl.TERMINAL:
            return state.returns()[seat]
        values = []
        chance = state.player == fl.CHANCE
        if chance:
            shares = [share for _, share in state.chance()]
        else:
            where = information(state)
            shares = fixed.get(where) or _in_proportion(basis.setdefault(where, [0.0] * len(state.actions())))
        for action, share in zip(state.actions(), shares, strict=True):
            after = state.clone()
            after.play(action)
            further = list(reaches)
            if not chance:
                further[state.player] *= share
            values.append(walk(after, seat, further, odds * share if chance else odds, t))
        mean = sum(share * value for share, value in zip(shares, values, strict=True))
        if state.player == seat:
            others = odds
            for other, reach in enumerate(reaches):
                others *= reach if other != seat else 1.0
            if information(state) not in gains:  # it did the same in all histories that look the same
                added = sums.setdefault(information(state), [0.0] * len(values))
                for k, share in enumerate(shares):
                    added[k] += t**degree * reaches[seat] * share
            gained = gains.setdefault(information(state), [0.0] * len(values))
            for k, value in enumerate(values):
                gained[k] += others * (value - mean)
        return mean

    def learn(where, gained, t):
        grown = [old + new for old, new in zip(regrets.get(where, [0.0] * len(gained)), gained, strict=True)]
        positive = [max(regret, 0.0) for regret in grown]
        basis[where], regrets[where] = positive, positive
        if method == "cfr":
            regrets[where] = grown
        elif method == "dcfr":
            regrets[where] = [regret * (t**1.5 / (t**1.5 + 1) if regret > 0 else 0.5) for regret in grown]
        elif foresight:
            basis[where] = [max(regret + foresight * new, 0.0) for regret, new in zip(positive, gained, strict=True)]

    for t in range(1, iterations + 1):
        for seat in range(fl.new_state(game).num_players):
            gains = {}
            walk(fl.new_state(game), seat, [1.0] * fl.new_state(game).num_players, 1.0, t)
            for where, gained in gains.items():
                learn(where, gained, t)
    return {where: fixed.get(where) or _in_proportion(added) for where, added in sums.items()}, regrets, sums


def _in_proportion(numbers):
    total = sum(numbers)
    return [number / total for number in numbers] if total > 0.0 else [1.0 / len(numbers)] * len(numbers)


# Information set search, by recursion over states ---------------------------------------------------------------

_TIE = 1e-12  # means closer than this are equal: rounding must not choose


class Choice(NamedTuple):
    """What an information state was settled on."""

    action: int
    means: dict  # action -> the mover's mean payoff
    margin: float  # by how much the action beats the best one that gives any history other payoffs; inf: none does


def information_set_search(worlds, seat, depth, leaf, choices=None):
    """Each action's value for `seat` at the root, by information set search [Arjonilla2024] on the whole subgame.

    `worlds` is the belief: [(state, weight)], histories of one information state in which `seat` moves. The subgame is
    all that can follow within `depth` decisions; chance is played through and is no decision. A branch ends at the
    game's returns, or right after its last decision at `leaf(state)`, one payoff a seat, whoever would move next. A
    history weighs the belief, times the odds of chance, times 1/|A| for each decision, since sampling plays at random.

    Information states are settled from the deepest level up, a level being the number of decisions made. The mover
    takes the action with the best mean, over the weighted histories, of its own payoff; equal ones give the lowest
    action. A history's payoffs under an action are its own, under what is settled below, not those of its information
    state. Where time passes unnoticed, as in phantom_ttt, histories of one information state can lie on different
    levels; each level is then settled by itself: the unit is (level, information state).

    `choices`, if given, is filled with {(level, information state): Choice}, so that tests can leave out close calls.
    """
    assert depth >= 1
    assert all(state.player == seat for state, _ in worlds)
    assert len({information(state) for state, _ in worlds}) == 1
    assert math.isclose(sum(weight for _, weight in worlds), 1.0)
    choices = {} if choices is None else choices
    levels = [{} for _ in range(depth)]  # for each level: information state -> [(state, weight)]

    def collect(state, weight, level):
        if level == depth or state.player == fl.TERMINAL or weight == 0.0:
            return
        if state.player != fl.CHANCE:
            levels[level].setdefault(information(state), []).append((state, weight))
        for action, share in moves(state):
            collect(played(state, action), weight * share, level + (state.player != fl.CHANCE))

    def value(state, level):
        if state.player == fl.TERMINAL:
            return state.returns()
        if level == depth:
            return leaf(state)
        if state.player == fl.CHANCE:
            shared = [(share, value(played(state, action), level)) for action, share in state.chance() if share > 0.0]
            return [sum(share * payoffs[i] for share, payoffs in shared) for i in range(state.num_players)]
        return value(played(state, choices[level, information(state)].action), level + 1)

    for state, weight in worlds:
        collect(state, weight, 0)
    for level in reversed(range(depth)):
        for where, members in levels[level].items():
            actions = members[0][0].actions()
            payoffs = {a: [value(played(state, a), level + 1) for state, _ in members] for a in actions}
            choices[level, where] = _settled(payoffs, [weight for _, weight in members], members[0][0].player)
    return choices[0, information(worlds[0][0])].means


def _settled(payoffs, weights, mover):
    total = sum(weights)
    means = {
        action: sum(weight * own[mover] for weight, own in zip(weights, each, strict=True)) / total
        for action, each in payoffs.items()
    }
    best = max(means.values())
    action = min(a for a, mean in means.items() if mean >= best - _TIE)
    rivals = [means[a] for a, each in payoffs.items() if not _alike(each, payoffs[action])]
    return Choice(action, means, means[action] - max(rivals, default=-math.inf))


def _alike(payoffs, others):
    return all(abs(x - y) <= _TIE for a, b in zip(payoffs, others, strict=True) for x, y in zip(a, b, strict=True))


def closest_call(choices):
    """The smallest margin of a choice below the root; at 0, the root's values hang on how ties are broken."""
    return min((choice.margin for (level, _), choice in choices.items() if level > 0), default=math.inf)


_uniform_values = {}


def uniform_leaf(state):
    """Each seat's exact expected payoff when everybody plays at random to the end."""
    if state.player == fl.TERMINAL:
        return state.returns()
    key = (state.game, tuple(state.history()))
    if key not in _uniform_values:
        shared = [(share, uniform_leaf(played(state, action))) for action, share in moves(state)]
        _uniform_values[key] = [sum(share * values[i] for share, values in shared) for i in range(state.num_players)]
    return _uniform_values[key]


def moves(state):
    """The mover's actions with their odds at random: chance has its own, a player's are all the same."""
    if state.player == fl.CHANCE:
        return state.chance()
    return [(action, 1.0 / len(state.actions())) for action in state.actions()]


def played(state, action):
    child = state.clone()
    child.play(action)
    return child
