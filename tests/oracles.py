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


def cfr_plus(game, iterations):
    """The average policy of CFR+, information state to probabilities, by walking every history for every seat."""
    regrets, sums = {}, {}

    def current(state):
        own = regrets.setdefault(information(state), [0.0] * len(state.actions()))
        total = sum(own)
        return [regret / total for regret in own] if total > 0.0 else [1.0 / len(own)] * len(own)

    def walk(state, seat, reaches, odds, t):
        if state.player == fl.TERMINAL:
            return state.returns()[seat]
        values = []
        chance = state.player == fl.CHANCE
        if chance:
            shares = [share for _, share in state.chance()]
        else:
            shares = frozen.setdefault(information(state), current(state))
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
            gained = gains.setdefault(information(state), [0.0] * len(values))
            added = sums.setdefault(information(state), [0.0] * len(values))
            for k, value in enumerate(values):
                gained[k] += others * (value - mean)
                added[k] += t * reaches[seat] * shares[k]
        return mean

    for t in range(1, iterations + 1):
        for seat in range(fl.new_state(game).num_players):
            frozen, gains = {}, {}
            walk(fl.new_state(game), seat, [1.0] * fl.new_state(game).num_players, 1.0, t)
            for where, gained in gains.items():
                regrets[where] = [max(old + new, 0.0) for old, new in zip(regrets[where], gained, strict=True)]
    return {
        where: [p / sum(added) for p in added] if sum(added) > 0.0 else [1.0 / len(added)] * len(added)
        for where, added in sums.items()
    }
