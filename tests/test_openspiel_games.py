"""Our games as OpenSpiel's, its games and states as ours, and bots that say how likely each action is."""

import random
from typing import Annotated, NamedTuple

import numpy as np
import pytest
from oracles import random_game
from test_games_contract import variants

import foglight as fl
from foglight.bridges.openspiel import descriptions
from foglight.rules import MOST_FEATURES, bounds, private_features, public_features
from foglight.state import as_state

pyspiel = pytest.importorskip("pyspiel")
from open_spiel.python.algorithms import cfr, exploitability, external_sampling_mccfr  # noqa: E402

NAMES = fl.register_with_openspiel()
SHORT = {  # long games in a short form
    "foglight_rbc": "foglight_rbc(turns=6)",
    "foglight_dark_chess": "foglight_dark_chess(size=4,repetition=ignore)",
    "foglight_hearts": "foglight_hearts(passing=no)",
    "foglight_battleship": "foglight_battleship(width=4,ships=[2;3],repeats=forbidden)",
    "foglight_goofspiel": "foglight_goofspiel(cards=5,order=random,information=perfect)",
    "foglight_oh_hell": "foglight_oh_hell(players=4,suits=2,tricks=3,off_bid_penalty=yes)",
    "foglight_unseen_rps": "foglight_unseen_rps(leave_value=-0.25)",
}


# Native games there ------------------------------------------------------------------------------------------------


def test_all_native_games_are_registered_once():
    assert [f"foglight_{name}" for name in fl.game_names()] == NAMES
    assert fl.register_with_openspiel() == NAMES
    assert set(NAMES) <= set(pyspiel.registered_names())
    assert not any("foglight" in description.name for description in descriptions()), "they are listed as native games"


@pytest.mark.parametrize("name", NAMES)
def test_openspiels_own_test_of_a_game_passes(name, capfd):
    """Random games there, with copies, serialisation, bounds of payoffs and lengths, legal actions and chance."""
    game = pyspiel.load_game(SHORT.get(name, name))
    pyspiel.random_sim_test(game, num_sims=1, serialize=True, verbose=False)
    native = fl.load_game(game)
    assert (
        str(native).split("(")[0] == name.removeprefix("foglight_")
        and game.num_players() == fl.new_state(native).num_players
    )
    assert str(fl.load_game(str(fl.load_game(f"openspiel:{game}")))) == str(native), "as OpenSpiel's it is itself again"


@pytest.mark.parametrize("name", ["phantom_ttt", "leduc_poker", "oh_hell(players=3,suits=2,ranks=4,tricks=2)"])
def test_a_state_there_says_what_a_state_here_says(name):
    rng, compared = random.Random(name), 0
    theirs = pyspiel.load_game(f"foglight_{name}").new_initial_state()
    for ours in random_game(name, rng):
        while len(theirs.history()) < len(ours.history()):
            theirs.apply_action(ours.history()[len(theirs.history())])
        assert theirs.legal_actions() == ours.actions() or theirs.is_terminal()
        assert theirs.returns() == ours.returns() and theirs.is_terminal() == (ours.player == fl.TERMINAL)
        for seat in range(ours.num_players):
            assert theirs.information_state_string(seat) == " | ".join([f"seat {seat}", *ours.log(seat)])
            assert theirs.observation_string(seat) == ours.sight(seat)
            compared += 1
        if ours.player >= 0:
            assert [theirs.action_to_string(a) for a in theirs.legal_actions()] == [
                ours.action_text(a) for a in ours.actions()
            ]
        assert as_state(theirs).history() == ours.history() and as_state(theirs).game == ours.game
    assert compared > 10


@pytest.mark.parametrize("name", ["kuhn_poker", "leduc_poker", "liars_dice", "goofspiel"])
def test_features_are_observation_tensors(name):
    game = pyspiel.load_game(f"foglight_{name}")
    out, compared = np.zeros(MOST_FEATURES), 0
    for ours in random_game(name, random.Random(name)):
        theirs = game.new_initial_state()
        for action in ours.history():
            theirs.apply_action(action)
        for seat in range(2):
            private = out[: private_features(ours.game, ours.world, seat, out)].tolist()
            public = out[: public_features(ours.game, ours.world, out)].tolist()
            wanted = [float(seat == 0), float(seat == 1), *private, *public]
            assert theirs.observation_tensor(seat) == pytest.approx(wanted)
            compared += 1
    assert compared > 5 and not game.get_type().provides_information_state_tensor


def solved(name, iterations):
    game = pyspiel.load_game(name)
    solver = cfr.CFRSolver(game)
    for _ in range(iterations):
        solver.evaluate_and_update_policy()
    return exploitability.exploitability(game, solver.average_policy())


def test_cfr_there_comes_as_far_on_our_rules_as_on_its_own():
    ours = solved("foglight_kuhn_poker", 20)
    assert ours == pytest.approx(solved("kuhn_poker", 20), abs=1e-12) and 0.0 < ours < 0.1
    results = []
    for name in ("leduc_poker", "foglight_leduc_poker"):
        game = pyspiel.load_game(name)
        solver = pyspiel.CFRSolver(game)
        solver.evaluate_and_update_policy()
        results.append(pyspiel.nash_conv(game, solver.average_policy()))
    assert results[0] == pytest.approx(results[1], abs=1e-9) and results[0] > 1.0


def test_sampling_there_learns_our_rules():
    np.random.seed(3)
    game = pyspiel.load_game("foglight_kuhn_poker")
    solver = external_sampling_mccfr.ExternalSamplingSolver(game, external_sampling_mccfr.AverageType.SIMPLE)
    first = None
    for _ in range(300):
        solver.iteration()
        first = exploitability.exploitability(game, solver.average_policy()) if first is None else first
    assert exploitability.exploitability(game, solver.average_policy()) < min(0.2, first)


def test_bots_of_both_sides_play_our_rules_there():
    game = pyspiel.load_game("foglight_leduc_poker")
    totals = [0.0, 0.0]
    for seed in range(20):
        bots = [pyspiel.make_uniform_random_bot(0, seed), fl.as_openspiel_bot("random", "leduc_poker", 1, seed)]
        results = pyspiel.evaluate_bots(game.new_initial_state(), bots, seed)
        totals = [a + b for a, b in zip(totals, results, strict=True)]
    assert sum(totals) == 0.0 and totals[0] != 0.0


def test_parameters_are_checked_as_ours_are():
    with pytest.raises(fl.BadInput, match="dark_hex: rows must be from 1 to 8, not 99"):
        pyspiel.load_game("foglight_dark_hex(rows=99)")
    with pytest.raises(fl.BadInput, match="order must be one of descending"):
        pyspiel.load_game("foglight_goofspiel(order=sideways)")
    assert fl.load_game(pyspiel.load_game(SHORT["foglight_battleship"])).ships == (2, 3)


@fl.game
class GuessIt(NamedTuple):
    coins: Annotated[int, fl.Between(2, 9)] = 2


@fl.implements(GuessIt)
def num_players(game):
    return 1


@fl.implements(GuessIt)
def num_words(game):
    return 1


@fl.implements(GuessIt)
def num_actions(game):
    return game.coins


@fl.implements(GuessIt)
def player(game, world):
    return 0 if world[0] == 0 else fl.TERMINAL


@fl.implements(GuessIt)
def legal(game, world, out):
    for coin in range(game.coins):
        out[coin] = coin
    return game.coins


@fl.implements(GuessIt)
def step(game, world, action):
    world[0] = action + 1


@fl.implements(GuessIt)
def observe(game, before, action, after, viewer):
    return 1 + action


@fl.implements(GuessIt)
def returns(game, world, out):
    out[0] = float(world[0])


@fl.implements(GuessIt)
def title(game):
    return "take a coin"


@fl.implements(GuessIt)
def action_names(game, world, action):
    return (f"coin {action}",)


@fl.implements(GuessIt)
def board(game, world):
    return f"coin {int(world[0])}"


@fl.implements(GuessIt)
def view(game, world, seat):
    return board(game, world)


@fl.implements(GuessIt)
def observation_text(game, before, action, after, viewer):
    return f"coin {action}"


def test_a_game_of_ones_own_is_registered_by_its_class():
    assert fl.register_with_openspiel(GuessIt) == ["foglight_guess_it"] == fl.register_with_openspiel(GuessIt)
    game = pyspiel.load_game("foglight_guess_it(coins=4)")
    assert game.num_distinct_actions() == 4 and fl.load_game(game) == GuessIt(4)
    assert game.max_utility() == np.inf, "it does not say what it can pay"
    state = game.new_initial_state()
    state.apply_action(2)
    assert state.returns() == [3.0] and str(state) == "coin 3\nhistory: 2"
    with pytest.raises(fl.BadInput, match="is no class of games"):
        fl.register_with_openspiel(GuessIt())
    other = type("GuessIt", (), {})
    fl.implements(other, "num_players")(lambda game: 1)
    with pytest.raises(fl.BadInput, match="another game is registered as foglight_guess_it"):
        fl.register_with_openspiel(other)


@pytest.mark.parametrize("name", list(variants()))
def test_games_stay_within_the_bounds_that_they_state(name):
    limits, rng, most = bounds(fl.load_game(name)), random.Random(name), 0
    for _ in range(3):
        *_, end = random_game(name, rng)
        assert all(limits.low <= payoff <= limits.high for payoff in end.returns())
        assert limits.total is None or sum(end.returns()) == pytest.approx(limits.total)
        most = max(most, len(end.history()))
    assert 0 < most <= limits.length


def test_bounds_that_are_reached():
    """The longest games and the largest payoffs by hand."""
    reached = {
        "kuhn_poker": ["jack", "queen", "check", "bet", "call"],
        "leduc_poker": ["Js", "Qs", "check", "raise", "raise", "call", "Qh", "check", "raise", "raise", "call"],
        "unseen_rps": ["rock", "paper"],
        "liars_dice(dice=1,sides=2)": ["1", "2", "1-1", "1-2", "2-1", "2-2", "liar"],
        "battleship(ships=[1],shots=1)": ["a1", "a1", "b1", "a1"],
    }
    for name, moves in reached.items():
        state = fl.new_state(name)
        for move in moves:
            state.play(state.parse_action(move))
        limits = bounds(state.game)
        assert len(state.history()) == limits.length and sorted(state.returns()) == [limits.low, limits.high]


# Games and states of OpenSpiel here ----------------------------------------------------------------------------------


def test_a_game_of_openspiel_goes_wherever_a_game_goes():
    kuhn = pyspiel.load_game("kuhn_poker")
    assert str(fl.load_game(kuhn)) == "openspiel:kuhn_poker", "OpenSpiel's own rules, not ours"
    assert fl.new_state(kuhn).game == fl.load_game("openspiel:kuhn_poker")
    policy = fl.solve(kuhn, iterations=50)
    assert fl.exploitability(kuhn, policy) < 0.05 and fl.game_value(kuhn) == pytest.approx(-1 / 18)
    assert fl.random_playouts(kuhn, 20, seed=1) == fl.random_playouts("openspiel:kuhn_poker", 20, seed=1)
    assert fl.play_match(kuhn, ["random", "first_legal"], games=4).games == 4
    assert fl.history_filter(kuhn, fl.new_state(kuhn).observations(0), viewer=0).count() == 1
    assert fl.Tracker(kuhn, seat=0).exact
    assert fl.as_openspiel_bot("random", kuhn, 0).referee.game == fl.load_game(kuhn)


def test_a_game_of_openspiel_says_what_its_payoffs_stay_within():
    assert bounds(fl.load_game("openspiel:kuhn_poker")) == fl.Bounds(-2.0, 2.0, 0.0)
    assert bounds(fl.load_game("openspiel:matrix_pd")).total is None


@pytest.mark.parametrize("options", ["iterations=100", "iterations=100,small=0", "time=0.05"])
@pytest.mark.parametrize(
    "name", ["kuhn_poker", "leduc_poker", "phantom_ttt", "goofspiel(num_cards=3)", "liars_dice(numdice=1,dice_sides=3)"]
)
def test_kluss_plays_games_of_openspiel(name, options):
    """It searches each decision from worlds that it holds possible, whatever keys the game's strings give."""
    state, asked = fl.new_state(f"openspiel:{name}"), 0
    while state.player != fl.TERMINAL:
        if state.player >= 0:
            agent, seen = fl.load_agent(f"kluss({options})"), state.observations(state.player)
            fl.Seat(agent, state.game, state.player, 1, seen, state.decisions(state.player))
            state.play(agent.act(state.actions()))
            if len(agent.explain().actions) > 1:
                assert agent.explain().notes["possible"] > 0 and not np.isnan(agent.explain().values).all()
                asked += 1
        else:
            state.play(state.actions()[-1])
    assert asked > 0


def test_kluss_plays_kuhn_poker_of_openspiel_as_well_as_ours():
    policy = fl.agent_policy("kluss(iterations=2000)", "openspiel:kuhn_poker")
    assert fl.exploitability("openspiel:kuhn_poker", policy) < 0.01


@pytest.mark.parametrize(
    "name",
    [
        "battleship(ship_sizes=[2;1],ship_values=[1;2])",
        "turn_based_simultaneous_game(game=matrix_rps())",
        "goofspiel(num_cards=4,points_order=descending)",
        "python_kuhn_poker",
        "tic_tac_toe",
    ],
)
def test_the_text_of_a_game_of_openspiel_is_read_back(name):
    theirs = pyspiel.load_game(name)
    game = fl.load_game(theirs)
    assert fl.load_game(str(game)) == game
    assert str(pyspiel.load_game(game.text)) == str(theirs)


@pytest.mark.parametrize(
    ("name", "joint", "actions"),
    [
        ("kuhn_poker", False, [2, 0, 1]),
        ("phantom_ttt", False, [4, 4, 0]),
        ("goofspiel(num_cards=4,points_order=descending)", True, [0, 1, 2, 0]),
    ],
)
def test_a_state_of_openspiel_is_replayed(name, joint, actions):
    theirs = pyspiel.load_game(name).new_initial_state()
    for i in range(0, len(actions), 2 if joint else 1):
        theirs.apply_actions(actions[i : i + 2]) if joint else theirs.apply_action(actions[i])
    state = fl.new_state(theirs)
    assert state.history() == theirs.history() == actions and str(state.game) == f"openspiel:{name}"
    assert as_state(state) is state
    seat = state.player
    assert fl.history_filter(state.game, state.observations(seat), viewer=seat).contains(theirs)
    if not joint:
        assert theirs.information_state_string(seat) in state.information(seat)


def test_what_cannot_be_taken_is_refused_with_one_line():
    with pytest.raises(fl.BadInput, match="unknown OpenSpiel game 'short_name'"):
        fl.load_game(pyspiel.create_matrix_game([[1.0, 2.0]], [[1.0, 2.0]]))
    with pytest.raises(fl.BadInput, match="3 is not a state; make one by"):
        as_state(3)


# Policies of bots ----------------------------------------------------------------------------------------------------


def dealt():
    state = pyspiel.load_game("kuhn_poker").new_initial_state()
    for card in (2, 0):
        state.apply_action(card)
    return state


def test_bots_say_how_likely_each_action_is():
    bot = fl.as_openspiel_bot("random", "kuhn_poker", 0)
    assert bot.provides_policy() and bot.get_policy(dealt()) == [(0, 0.5), (1, 0.5)]
    policy, action = bot.step_with_policy(dealt())
    assert policy == [(0, 0.5), (1, 0.5)] and action == fl.as_openspiel_bot("random", "kuhn_poker", 0).step(dealt())
    with pytest.raises(fl.BadInput, match="this bot sits on seat 1, and seat 0 is to move"):
        fl.as_openspiel_bot("random", "kuhn_poker", 1).get_policy(dealt())


def test_an_agent_without_probabilities_is_asked_once_and_may_be_an_instance():
    class Counts(fl.Agent):
        asked = 0

        def act(self, actions=None):
            self.asked += 1
            return actions[-1]

    agent = Counts()
    bot = fl.as_openspiel_bot(agent, "kuhn_poker", 0)
    assert bot.agent is agent
    assert bot.step_with_policy(dealt()) == ([(0, 0.0), (1, 1.0)], 1) and agent.asked == 1


def test_the_policy_of_a_bot_is_that_of_its_file(tmp_path):
    solution = fl.solve("kuhn_poker", iterations=200, checkpoint=tmp_path / "kuhn.npz")
    bot = fl.as_openspiel_bot(f'policy(file="{tmp_path}/kuhn.npz")', "kuhn_poker", 1)
    state = dealt()
    state.apply_action(1)  # a bet against the jack, which folds
    assert dict(bot.get_policy(state))[0] == pytest.approx(1.0, abs=1e-3) and solution.exploitability < 0.02
