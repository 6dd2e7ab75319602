"""Our games move in lock step with OpenSpiel's: same movers, actions, odds and returns, same information states.

Two situations must look the same to a player here exactly when they do there. That is checked at every state of every
game, for both seats, whoever moves, at the end too: our sequences of observations and what OpenSpiel has shown that
seat so far must map one to one onto each other over everything met. What it has shown is its information-state string,
or, where that string forgets, the chain of such strings. Dark Hex is such a game: the string holds the number of tries
so far but not when they were made, so that a player who has watched the number grow knows more than the string says
(`test_openspiels_dark_hex_string_forgets_when_tries_were_made` is the evidence).
"""

import random

import pytest

import foglight as fl
from foglight.rules import key

pyspiel = pytest.importorskip("pyspiel")

GAMES = 500
PLAYERS = {-1: fl.CHANCE, -4: fl.TERMINAL}


def turn_based_goofspiel(cards, order, imperfect):
    return (
        "turn_based_simultaneous_game(game=goofspiel("
        f"num_cards={cards},points_order={order},imp_info={imperfect},returns_type=win_loss))"
    )


FORGETFUL = [
    ("dark_hex(rows=3,cols=3)", "dark_hex(num_rows=3,num_cols=3)"),
    ("dark_hex(rows=4,cols=4)", "dark_hex(num_rows=4,num_cols=4)"),
    ("dark_hex(rows=3,cols=5)", "dark_hex(num_rows=3,num_cols=5)"),
    ("dark_hex(rows=8,cols=8)", "dark_hex(num_rows=8,num_cols=8)"),
]
RECALLING = [
    ("phantom_ttt", "phantom_ttt"),
    ("kuhn_poker", "kuhn_poker"),
    ("leduc_poker", "leduc_poker"),
    ("goofspiel(cards=4)", turn_based_goofspiel(4, "descending", True)),
    ("goofspiel(cards=5)", turn_based_goofspiel(5, "descending", True)),
    ("goofspiel(cards=5,order=ascending)", turn_based_goofspiel(5, "ascending", True)),
    ("goofspiel(cards=5,order=random)", turn_based_goofspiel(5, "random", True)),
]


class Partition:
    """Two ways of naming situations, and whether they agree on which are the same."""

    def __init__(self):
        self.theirs_of, self.ours_of = {}, {}

    def meet(self, ours, theirs):
        assert self.theirs_of.setdefault(ours, theirs) == theirs, f"{ours} is two situations there"
        assert self.ours_of.setdefault(theirs, ours) == ours, f"{theirs!r} is two situations here"


def play_both(ours_name, theirs_name, games, meet):
    """Random games on both sides; `meet(our state, their strings)` at every state, after the rules agreed on it.

    Their strings are, for each seat, what the information-state string has been, each time it changed.
    """
    peer, rng = pyspiel.load_game(theirs_name), random.Random(ours_name)
    for _ in range(games):
        ours, theirs = fl.new_state(ours_name), peer.new_initial_state()
        strings = [[], []]
        while True:
            assert ours.player == PLAYERS.get(theirs.current_player(), theirs.current_player())
            assert ours.actions() == theirs.legal_actions()
            if theirs.is_chance_node():
                assert dict(ours.chance()) == pytest.approx(dict(theirs.chance_outcomes()), abs=1e-12)
            assert ours.returns() == (theirs.returns() if theirs.is_terminal() else [0.0, 0.0])
            for seat, shown in enumerate(strings):
                now = theirs.information_state_string(seat)
                if not shown or shown[-1] != now:
                    shown.append(now)
            meet(ours, strings)
            if theirs.is_terminal():
                break
            action = rng.choice(ours.actions())
            ours.play(action)
            theirs.apply_action(action)


def check_partition(ours_name, theirs_name, name):
    partitions = [(Partition(), Partition()) for _ in range(2)]

    def meet(ours, strings):
        for seat, (sequences, keys) in enumerate(partitions):
            observed = tuple(ours.observations(seat))
            sequences.meet(observed, name(strings[seat]))
            keys.meet(observed, int(key(ours.game, ours.world, seat)))

    play_both(ours_name, theirs_name, GAMES, meet)


@pytest.mark.parametrize(("ours_name", "theirs_name"), RECALLING)
def test_rules_and_information_states_are_openspiels(ours_name, theirs_name):
    check_partition(ours_name, theirs_name, name=lambda shown: shown[-1])


@pytest.mark.parametrize(("ours_name", "theirs_name"), FORGETFUL)
def test_rules_and_what_a_player_has_been_shown_are_openspiels(ours_name, theirs_name):
    check_partition(ours_name, theirs_name, name=tuple)


def test_openspiels_dark_hex_string_forgets_when_tries_were_made():
    def watched_by_o(*actions):
        state, shown = pyspiel.load_game("dark_hex(num_rows=3,num_cols=3)").new_initial_state(), []
        for action in actions:
            state.apply_action(action)
            shown.append(state.information_state_string(1))
        return shown

    # o places 1 and then 5 both times; x runs into 1 before o places 5 (two tries heard), or only after it (one heard)
    early = watched_by_o(0, 1, 1, 2, 5)
    late = watched_by_o(0, 1, 2, 5, 1)
    assert early[-1] == late[-1]
    assert early[2:4] != late[2:4]


def test_perfect_information_goofspiel_recalls_at_least_what_openspiels_does():
    # with perfect information OpenSpiel's string forgets which bid met which; ours recalls it, so only one way holds
    known = [{}, {}]

    def meet(ours, strings):
        for seat in range(2):
            now = strings[seat][-1]
            assert known[seat].setdefault(tuple(ours.observations(seat)), now) == now

    play_both("goofspiel(cards=4,information=perfect)", turn_based_goofspiel(4, "descending", False), GAMES, meet)
