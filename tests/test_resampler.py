"""Our beliefs as a resampler for OpenSpiel: legal states, the same information, the right distribution."""

import random
from collections import Counter

import numpy as np
import pyspiel
import pytest
from open_spiel.python.algorithms import ismcts, mcts
from scipy.stats import chi2

import foglight as fl

GOOFSPIEL = "turn_based_simultaneous_game(game=goofspiel(imp_info=True,num_cards=4,points_order=descending))"
COMPILED = {  # OpenSpiel's game: ours
    "phantom_ttt": "phantom_ttt",
    "phantom_ttt(gameversion=abrupt)": "phantom_ttt(abrupt=yes)",
    "dark_hex(num_rows=3,num_cols=3)": "dark_hex(rows=3,cols=3)",
    "dark_chess(board_size=4)": "dark_chess(size=4)",
    "liars_dice": "liars_dice",
    "leduc_poker": "leduc_poker",
    GOOFSPIEL: "goofspiel(cards=4)",
    "oh_hell(players=3,num_suits=2,num_cards_per_suit=6,num_tricks_fixed=3)": (
        "oh_hell(players=3,suits=2,ranks=6,tricks=3)"
    ),
    "battleship(board_width=3,board_height=3,num_shots=4,ship_sizes=[1;2],ship_values=[1;1],"
    "allow_repeated_shots=False)": "battleship(width=3,height=3,shots=4,ships=[1,2],repeats=forbidden)",
}
INTERPRETED = [
    "kuhn_poker(players=3)",
    "phantom_ttt(obstype=reveal-numturns)",
    "dark_hex(num_rows=2,num_cols=2,obstype=reveal-numturns)",
]


def played(game, moves, rng):
    """A random position after so many decisions, at which a player is to move; None if the game ends before."""
    state = game.new_initial_state()
    while not state.is_terminal() and (state.is_chance_node() or moves):
        if state.is_chance_node():
            outcomes, odds = zip(*state.chance_outcomes(), strict=True)
            state.apply_action(rng.choices(outcomes, odds)[0])
        else:
            state.apply_action(rng.choice(state.legal_actions()))
            moves -= 1
    return None if state.is_terminal() else state


def shown(state, player):
    if state.get_game().get_type().provides_information_state_string:
        return state.information_state_string(player)
    return state.observation_string(player)


def judge(drawn, state, player):
    """A state is legal if OpenSpiel's own rules replay it, and the player knows what it knew."""
    again = state.get_game().new_initial_state()
    for action in drawn.history():
        assert action in again.legal_actions()
        again.apply_action(action)
    assert shown(again, player) == shown(drawn, player) == shown(state, player)
    if state.current_player() == player:
        assert drawn.current_player() == player
        assert drawn.legal_actions() == state.legal_actions()


@pytest.mark.parametrize("name", [*COMPILED, *INTERPRETED])
def test_states_are_legal_and_look_the_same(name):
    game, rng = pyspiel.load_game(name), random.Random(1)
    resampler = fl.openspiel_resampler(game, seed=1)
    if name in COMPILED:
        assert resampler.game == fl.load_game(COMPILED[name])
    samples = positions = 0
    for moves in list(range(12)) * 2:
        state = played(game, moves, rng)
        if state is None:
            continue
        positions += 1
        for player in range(game.num_players()):
            for _ in range(4):
                judge(resampler(state, player), state, player)
                samples += 1
            assert resampler.exact or name in INTERPRETED
    assert samples == 4 * game.num_players() * positions
    assert samples >= 32


def test_a_small_limit_keeps_states_legal():
    game, rng = pyspiel.load_game("phantom_ttt"), random.Random(2)
    resampler, inexact, samples = fl.openspiel_resampler(game, limit=20, seed=2), 0, 0
    for moves in (4, 5, 6, 7, 8) * 4:
        state = played(game, moves, rng)
        if state is None:
            continue
        for _ in range(5):
            judge(resampler(state, state.current_player()), state, state.current_player())
            samples += 1
        inexact += not resampler.exact
    assert samples >= 60
    assert inexact >= 8


def alike(game, state, player, deepest):
    """All histories in which the player sees the same and is to move, by listing everything."""
    wanted, front, found = shown(state, player), [game.new_initial_state()], []
    while front:
        other = front.pop()
        if other.is_terminal():
            continue
        if other.current_player() == player and shown(other, player) == wanted:
            found.append(tuple(other.history()))
        if len(other.history()) < deepest:
            front += [other.child(action) for action in other.legal_actions()]
    return found


def test_all_histories_are_equally_likely():
    # x takes the middle, o runs into it and takes a corner; o may also have gone elsewhere at once: 8 + 8 histories
    game = pyspiel.load_game("phantom_ttt")
    state = game.new_initial_state()
    for action in (4, 4, 0):
        state.apply_action(action)
    histories = alike(game, state, 0, 4)
    assert len(histories) == 16
    for rng in (None, np.random.default_rng(3), random.Random(3), random.Random(4).random):
        draw, n = fl.openspiel_resampler(game, seed=3), 1600
        counts = Counter(tuple(draw(state, 0, rng).history()) for _ in range(n))
        assert set(counts) <= set(histories)
        expected = n / len(histories)
        statistic = sum((counts[history] - expected) ** 2 / expected for history in histories)
        assert statistic < chi2.ppf(1 - 1e-7, len(histories) - 1)  # false-alarm rate of the four: 4e-7


def test_a_policy_weighs_histories():
    # seat 0 of Kuhn poker has bet, and seat 1 has a queen: how likely is it that seat 0 has the king?
    game, policy = pyspiel.load_game("kuhn_poker"), fl.solve("kuhn_poker", iterations=200)
    state, bets = game.new_initial_state(), []
    for card in (0, 2):
        ours = fl.new_state("kuhn_poker")
        ours.play(card)
        ours.play(1)
        bets.append(list(policy.at(ours).values())[1])
    for action in (0, 1, 1):
        state.apply_action(action)
    resampler, n = fl.openspiel_resampler(game, policy=policy, seed=0), 2000
    kings = sum(resampler(state, 1).history()[0] == 2 for _ in range(n))
    share = bets[1] / sum(bets)
    assert 0.6 < share < 0.9
    assert abs(kings - n * share) < 5 * np.sqrt(n * share * (1 - share))  # false-alarm rate 6e-7


def test_draws_follow_from_the_seed_and_the_information_alone():
    game = pyspiel.load_game("phantom_ttt")
    one, other = game.new_initial_state(), game.new_initial_state()
    for first, second in ((4, 4), (4, 4), (0, 8)):
        one.apply_action(first)
        other.apply_action(second)
    draws = [[fl.openspiel_resampler(game, seed=5)(state, 0).history() for _ in range(8)] for state in (one, other)]
    assert draws[0] == draws[1]
    resampler = fl.openspiel_resampler("phantom_ttt", seed=5)
    assert len({tuple(resampler(one, 0).history()) for _ in range(64)}) > 8


def test_openspiels_search_runs_where_it_has_no_resampler():
    game = pyspiel.load_game("phantom_ttt")
    resampler, samples = fl.openspiel_resampler(game, seed=0), []

    def judged(state, player):
        samples.append(resampler(state, player))
        judge(samples[-1], state, player)
        return samples[-1].clone()

    random_state = np.random.RandomState(0)
    evaluator = mcts.RandomRolloutEvaluator(1, random_state)
    bot = ismcts.ISMCTSBot(game, evaluator, 1.0, 30, random_state=random_state)
    bot.set_resampler(judged)
    rng, state = random.Random(0), game.new_initial_state()
    while not state.is_terminal():
        mover = state.current_player()
        state.apply_action(int(bot.step(state)) if mover == 0 else rng.choice(state.legal_actions()))
    assert len(samples) >= 60
    assert all(np.isfinite(state.returns()))


def test_our_games_there_are_resampled_too():
    fl.register_with_openspiel()
    game = pyspiel.load_game("foglight_phantom_ttt")
    state = game.new_initial_state()
    for action in (4, 4, 0):
        state.apply_action(action)
    resampler = fl.openspiel_resampler(game)
    for _ in range(5):
        judge(resampler(state, 0), state, 0)


@pytest.mark.parametrize(
    ("call", "why"),
    [
        (lambda: fl.openspiel_resampler("three_sat"), "OpenSpiel has no three_sat"),
        (lambda: fl.openspiel_resampler("phantom_ttt", limit=0), "limit must be a whole number of at least 1, not 0"),
        (lambda: fl.openspiel_resampler(pyspiel.load_game("goofspiel")), "all move at once"),
        (lambda: fl.openspiel_resampler("kuhn_poker")(start("leduc_poker"), 0), "this resampler is for kuhn_poker"),
        (lambda: fl.openspiel_resampler("kuhn_poker")(start("kuhn_poker"), 2), "has players 0 to 1, not 2"),
        (lambda: fl.openspiel_resampler("kuhn_poker")(start("kuhn_poker"), 0, rng=3), "rng must be a function"),
    ],
)
def test_what_cannot_be_done_is_refused_in_one_line(call, why):
    with pytest.raises(fl.BadInput, match=why):
        call()


def start(name):
    return pyspiel.load_game(name).new_initial_state()


def test_a_belief_that_is_lost_is_told():
    game, rng, lost = pyspiel.load_game("dark_hex(num_rows=4,num_cols=4)"), random.Random(6), 0
    resampler = fl.openspiel_resampler(game, limit=1, seed=0)
    for _ in range(12):
        state = played(game, 14, rng)
        if state is None:
            continue
        try:
            judge(resampler(state, state.current_player()), state, state.current_player())
        except fl.BeliefLost as error:
            assert "give a limit above 1" in str(error)
            lost += 1
    assert lost >= 1
