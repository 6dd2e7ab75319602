"""Independent Q-learning [Claus1998]: each seat learns its own action values while the others learn theirs.

    Q(s, a) <- Q(s, a) + rate * (max over b of Q(s', b) - Q(s, a))        s' the seat's next information state
    Q(s, a) <- Q(s, a) + rate * (payoff - Q(s, a))                        at the end of the game

Play during learning is ε-greedy, and so is the policy returned. Every legal action has a positive probability, which
history filtering needs of a policy [Solinas2023, Section 5.3].
"""

import numpy as np
from numpy import uint64

from foglight.compile import jitable, kernel
from foglight.games import load_game
from foglight.names import BadInput
from foglight.policies import Tabular
from foglight.randomness import below, generator, unit
from foglight.rules import (
    CHANCE,
    TERMINAL,
    Game,
    begin,
    deal,
    key,
    legal,
    max_legal,
    new_worlds,
    num_players,
    player,
    returns,
    transition,
)
from foglight.tables import find, slots_for


def q_learning(
    game: str | Game,
    episodes: int = 100_000,
    *,
    rate: float = 0.1,
    explore: float = 0.1,
    seed: int = 0,
    room: int = 1 << 20,
) -> Tabular:
    """A policy learned by self-play over `episodes` games.

    `rate` is the learning rate. `explore` is the probability of a uniformly random action, in learning and in the
    policy. `room` is the most information states that the table can hold.

        >>> policy = fl.q_learning("kuhn_poker", episodes=20_000, seed=0)
        >>> fl.exploitability("kuhn_poker", policy) < fl.exploitability("kuhn_poker", fl.Uniform())
        True
    """
    game = load_game(game)
    for name, value, low, high in (("rate", rate, 0.0, 1.0), ("explore", explore, 0.0, 1.0)):
        if not low < value <= high:
            raise BadInput(f"{name} must be above {low} and at most {high}, not {value}")
    if episodes < 1 or room < 2:
        raise BadInput(f"episodes must be at least 1 and room at least 2, not {episodes} and {room}")
    size = slots_for(room)
    keys, sizes = np.zeros(size, np.uint64), np.zeros(size, np.int64)
    values = np.zeros((size, max_legal(game)))
    used = _learn(game, episodes, rate, explore, generator(seed), room, keys, sizes, values)
    if used > room:
        raise BadInput(f"the games have more than {room} information states; give more room")
    return _soft(keys, sizes, values, explore)


def _soft(keys: np.ndarray, sizes: np.ndarray, values: np.ndarray, explore: float) -> Tabular:
    """The ε-greedy policy for a table of action values."""
    places = np.flatnonzero(sizes)
    places = places[np.argsort(keys[places])]
    begins = np.concatenate([[0], np.cumsum(sizes[places])]).astype(np.int64)
    probabilities = np.empty(begins[-1])
    for i, place in enumerate(places):
        n = sizes[place]
        odds = np.full(n, explore / n)
        odds[np.argmax(values[place, :n])] += 1.0 - explore
        probabilities[begins[i] : begins[i + 1]] = odds
    return Tabular(keys[places].copy(), begins, probabilities)


@jitable
def _best(values, place, n):
    best = 0
    for i in range(1, n):
        if values[place, i] > values[place, best]:
            best = i
    return best


@kernel
def _learn(game, episodes, rate, explore, random, room, keys, sizes, values):
    """Fill the table; returns how many information states it has, which is more than `room` if it overflowed."""
    seats = num_players(game)
    worlds = new_worlds(game, 2)
    actions, odds, payoffs = np.empty(max_legal(game), np.int64), np.empty(max_legal(game)), np.zeros(seats)
    last_place, last_choice = np.zeros(seats, np.int64), np.full(seats, -1, np.int64)
    used = 0
    for _ in range(episodes):
        worlds[:] = uint64(0)
        begin(game, worlds[0])
        last_choice[:] = -1
        now = 0
        mover = player(game, worlds[now])
        while mover != TERMINAL:
            if mover == CHANCE:
                action = deal(game, worlds[now], random, actions, odds)
            else:
                n = legal(game, worlds[now], actions)
                code = uint64(key(game, worlds[now], mover))
                place = find(keys, code)
                if place < 0:
                    place = -1 - place
                    keys[place], sizes[place] = code, n
                    used += 1
                    if used > room:
                        return used
                best = _best(values, place, n)
                if last_choice[mover] >= 0:
                    old = last_place[mover]
                    values[old, last_choice[mover]] += rate * (values[place, best] - values[old, last_choice[mover]])
                choice = below(random, n) if unit(random) < explore else best
                last_place[mover], last_choice[mover] = place, choice
                action = actions[choice]
            transition(game, worlds[now], action, worlds[1 - now])
            now = 1 - now
            mover = player(game, worlds[now])
        returns(game, worlds[now], payoffs)
        for seat in range(seats):
            if last_choice[seat] >= 0:
                old = last_place[seat]
                values[old, last_choice[seat]] += rate * (payoffs[seat] - values[old, last_choice[seat]])
    return used
