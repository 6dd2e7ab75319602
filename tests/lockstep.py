"""Our games beside OpenSpiel's: the same random games on both sides, compared at every state.

What must agree: who moves, the legal actions, the odds of chance, the returns, and which situations look the same to a
player. For the last, our sequences of observations and what OpenSpiel has shown that seat so far must map one to one
onto each other over everything met, whoever moves, at the end too.
"""

import random

import pyspiel
import pytest

import foglight as fl
from foglight.rules import key

PLAYERS = {-1: fl.CHANCE, -4: fl.TERMINAL}


class Partition:
    """Two ways of naming situations, and whether they agree on which are the same."""

    def __init__(self):
        self.theirs_of, self.ours_of, self.met = {}, {}, 0

    @property
    def again(self):
        """How often a situation was met again: without that, nothing is compared."""
        return self.met - len(self.theirs_of)

    def meet(self, ours, theirs):
        self.met += 1
        assert self.theirs_of.setdefault(ours, theirs) == theirs, f"{ours} is two situations there"
        assert self.ours_of.setdefault(theirs, ours) == ours, f"{theirs!r} is two situations here"


class Shown:
    """What OpenSpiel has shown a seat: a string each time it changed, and the seat's own actions in between."""

    def __init__(self, text):
        self.text, self.now, self.chain = text, "", ()

    def look(self, state, seat):
        now = self.text(state, seat)
        if not self.chain or now != self.now:
            self.now = now
            self.chain = (*self.chain, hash(now))

    def act(self, action):
        self.chain = (*self.chain, action)


def information(state, seat):
    return state.information_state_string(seat)


def observation(state, seat):
    return state.observation_string(seat)


def play_both(ours_name, theirs_name, games, meet, text=information):
    """Random games on both sides; `meet(our state, a Shown for each seat)` at every state, after the rules agreed."""
    peer, rng = pyspiel.load_game(theirs_name), random.Random(ours_name)
    for _ in range(games):
        ours, theirs = fl.new_state(ours_name), peer.new_initial_state()
        shown = [Shown(text) for _ in range(ours.num_players)]
        while True:
            assert ours.player == PLAYERS.get(theirs.current_player(), theirs.current_player())
            assert ours.actions() == theirs.legal_actions()
            if theirs.is_chance_node():
                assert dict(ours.chance()) == pytest.approx(dict(theirs.chance_outcomes()), abs=1e-12)
            assert ours.returns() == pytest.approx(theirs.returns() if theirs.is_terminal() else [0.0] * len(shown))
            for seat, screen in enumerate(shown):
                screen.look(theirs, seat)
            meet(ours, shown)
            if theirs.is_terminal():
                break
            action = rng.choice(ours.actions())
            if ours.player >= 0:
                shown[ours.player].act(action)
            ours.play(action)
            theirs.apply_action(action)


def check_lockstep(ours_name, theirs_name, games=500, chain=False, text=information, at_chance=True, again=300):
    """Rules agree, and so do information states: their string now, or with `chain` all they have shown so far.

    Without `at_chance`, information states are compared only where somebody decides or the game is over. Every seat
    must meet information states `again` at least so often; with 52 cards nothing is met twice, and rules alone agree.
    """
    players = fl.new_state(ours_name).num_players
    partitions = [(Partition(), Partition()) for _ in range(players)]

    def meet(ours, shown):
        if ours.player == fl.CHANCE and not at_chance:
            return
        for seat, (sequences, keys) in enumerate(partitions):
            observed = tuple(ours.observations(seat))
            sequences.meet(observed, shown[seat].chain if chain else shown[seat].now)
            keys.meet(observed, int(key(ours.game, ours.world, seat)))

    play_both(ours_name, theirs_name, games, meet, text)
    assert min(sequences.again for sequences, _ in partitions) >= again
