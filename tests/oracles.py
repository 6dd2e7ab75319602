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
