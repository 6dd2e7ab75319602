"""Slow, obvious ways to do what the library does fast."""

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
    weighing = {"cfr": lambda t: 1, "cfr+": lambda t: t, "dcfr": lambda t: t * t, "pcfr+": lambda t: t * t}[method]

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
                    added[k] += weighing(t) * reaches[seat] * share
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
        elif method == "pcfr+":
            basis[where] = [max(regret + new, 0.0) for regret, new in zip(positive, gained, strict=True)]

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
