"""OpenSpiel both ways: its games run here, our agents run there."""

import random
from collections import Counter

import pyspiel
import pytest
from oracles import histories, random_game
from scipy.stats import chi2_contingency

import foglight as fl
from foglight.bridges.openspiel import descriptions
from foglight.rules import key

# poker and its kin, phantom and dark games, dice, cards, bidding at once, perfect information, one player, four players
SAMPLE = [
    "openspiel:kuhn_poker(players=3)",
    "openspiel:leduc_poker",
    "openspiel:kriegspiel(board_size=4)",
    "openspiel:phantom_ttt",
    "openspiel:dark_chess(board_size=4)",
    "openspiel:liars_dice",
    "openspiel:goofspiel(num_cards=4,imp_info=True,points_order=descending)",
    "openspiel:oh_hell(players=3,num_suits=2,num_cards_per_suit=4,num_tricks_fixed=2)",
    "openspiel:tic_tac_toe",
    "openspiel:matrix_rps",
    "openspiel:battleship(board_width=3,board_height=3,ship_sizes=[1;2],ship_values=[1;1],num_shots=9)",
    "openspiel:hearts",
    "openspiel:backgammon",
]


@pytest.mark.parametrize("name", SAMPLE)
def test_openspiels_games_run_through_the_same_entry_points(name):
    game = fl.load_game(name)
    assert fl.load_game(str(game)) == game
    rng = random.Random(name)
    for _ in range(2):
        for state in random_game(game, rng):
            theirs = state.world.state
            assert state.actions() == (theirs.legal_actions() if state.player != fl.TERMINAL else [])
            if state.player == fl.CHANCE:
                assert state.chance() == theirs.chance_outcomes()
            elif state.player >= 0:
                written = [state.action_text(action) for action in state.actions()]
                assert len(set(written)) == len(written)
        assert state.returns() == theirs.returns()
    means, steps = fl.random_playouts(game, 3, seed=1)
    assert len(means) == state.num_players and steps > 0


@pytest.mark.parametrize("name", ["leduc_poker", "liars_dice(dice_sides=3)", "phantom_ttt"])
def test_information_states_are_openspiels_where_it_has_them(name):
    key_of, string_of = {}, {}
    rng = random.Random(name)
    for _ in range(60):
        for state in random_game(f"openspiel:{name}", rng):
            for seat in range(2):
                number = (seat, int(key(state.game, state.world, seat)))
                string = (seat, state.world.state.information_state_string(seat))
                assert string_of.setdefault(number, string) == string
                assert key_of.setdefault(string, number) == number


def test_where_openspiel_has_no_information_states_observations_are_chained():
    for state in random_game("openspiel:dark_chess(board_size=4)", random.Random(2)):
        for seat in range(2):
            assert len(state.observations(seat)) >= len(state.history()) - 1
    assert len(set(state.observations(0))) > 1


def test_a_seat_observes_its_own_action_and_nothing_it_cannot_see():
    groups = {}
    for state in histories("openspiel:kuhn_poker"):
        if state.player >= 0:
            groups.setdefault((state.player, *state.observations(state.player)), set()).add(state.world.tobytes())
    assert len(groups) == 12, "Kuhn poker has 12 information states"
    assert {len(worlds) for worlds in groups.values()} == {2}, "two cards that the other may hold"


def test_public_observations_come_from_openspiels_observers():
    start = fl.new_state("openspiel:kuhn_poker")
    for action in (0, 1, 1):
        start.play(action)
    assert start.observations(fl.PUBLIC), "a bet is public"
    assert fl.new_state("openspiel:phantom_ttt").observations(fl.PUBLIC) == []


PAIRS = [
    ("phantom_ttt", "openspiel:phantom_ttt"),
    ("leduc_poker", "openspiel:leduc_poker"),
    ("dark_hex(rows=3,cols=3)", "openspiel:dark_hex(num_rows=3,num_cols=3)"),
    ("liars_dice(dice=1,sides=6)", "openspiel:liars_dice"),
]


@pytest.mark.parametrize(("native", "bridged"), PAIRS)
def test_random_agents_fare_alike_in_a_native_game_and_through_the_bridge(native, bridged):
    # 1 500 games each with different seeds; the payoffs' chi-square at 1e-6: a false alarm once in a million
    results = [
        Counter(
            record.returns[0] for record in fl.play_match(game, ["random", "random"], games=1500, seed=seed).records
        )
        for seed, game in enumerate((native, bridged))
    ]
    payoffs = [value for value in set(results[0]) | set(results[1]) if results[0][value] + results[1][value] >= 20]
    assert chi2_contingency([[counts[value] for value in payoffs] for counts in results]).pvalue > 1e-6


@pytest.mark.parametrize(("native", "bridged"), [pair for pair in PAIRS if pair[0] != "leduc_poker"])
def test_the_same_seed_gives_the_same_playouts_native_and_bridged(native, bridged):
    # not so in Leduc, where we deal straight from the deck's bits and the bridge from a list of odds
    assert fl.random_playouts(native, 300, seed=9) == fl.random_playouts(bridged, 300, seed=9)


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("openspiel:kriegspil", "did you mean 'kriegspiel'?"),
        ("openspiel:leduc_poker(playrs=2)", "Unknown parameter 'playrs'"),
        ("openspiel:go(9)", "OpenSpiel's parameters need names"),
        ("openspiel:mfg_garnet", "mean-field"),
        ("opnspiel:go", "unknown bridge 'opnspiel'; did you mean 'openspiel'?"),
    ],
)
def test_bad_names_get_advice_in_one_line(name, advice, capfd):
    with pytest.raises(ValueError) as caught:
        fl.load_game(name)
    assert advice in str(caught.value) and "\n" not in str(caught.value)
    assert capfd.readouterr().err == "", "OpenSpiel's own complaint is not shown twice"


def test_every_game_of_openspiel_is_described():
    names = [description.name for description in descriptions()]
    assert len(names) > 100 and "openspiel:kriegspiel" in names


# Our agents in OpenSpiel's loops


def test_our_agent_plays_in_openspiels_loop():
    game = pyspiel.load_game("leduc_poker")
    bots = [fl.as_openspiel_bot("random", "leduc_poker", seat, seed=seat) for seat in range(2)]
    results = [pyspiel.evaluate_bots(game.new_initial_state(), bots, seed) for seed in range(300)]
    assert all(first == -second for first, second in results)
    # random play in Leduc: payoffs of spread below 6, so the mean of 300 games is within 5 * 6 / sqrt(300) of ours
    expected = fl.random_playouts("leduc_poker", 100_000)[0][0]
    assert abs(sum(first for first, _ in results) / 300 - expected) < 5 * 6 / 300**0.5


def test_our_agent_plays_against_openspiels():
    game = pyspiel.load_game("tic_tac_toe")
    theirs = pyspiel.make_uniform_random_bot(1, 7)
    ours = fl.as_openspiel_bot("first_legal", "openspiel:tic_tac_toe", 0)
    results = [pyspiel.evaluate_bots(game.new_initial_state(), [ours, theirs], seed) for seed in range(50)]
    assert {len(result) for result in results} == {2}


def test_a_bot_looks_at_nothing_but_its_seats_observations():
    """OpenSpiel hands over the true state; states that look the same to the seat get the same action."""
    game = pyspiel.load_game("phantom_ttt")
    groups = {}
    rng = random.Random(5)
    for _ in range(300):
        state = game.new_initial_state()
        while not state.is_terminal():
            if state.current_player() == 1:
                groups.setdefault(state.information_state_string(1), {})[str(state)] = state.clone()
            state.apply_action(rng.choice(state.legal_actions()))
    hidden = [list(states.values()) for states in groups.values() if len(states) > 1]
    assert len(hidden) > 20
    for states in hidden:
        actions = set()
        for state in states:
            bot = fl.as_openspiel_bot("random", "phantom_ttt", 1, seed=11)
            actions.add(bot.step(state))
        assert len(actions) == 1


def test_the_agent_inside_a_bot_is_told_observations_only(monkeypatch):
    from foglight.agents import Agent
    from foglight.bridges import openspiel_bot

    given = []

    class Spy(Agent):
        def observe(self, observation):
            super().observe(observation)
            given.append(observation)

        def act(self, actions=None):
            given.extend(actions)
            return actions[0]

    monkeypatch.setattr(openspiel_bot, "load_agent", lambda name: Spy())
    bots = [fl.as_openspiel_bot("spy", "kuhn_poker", seat) for seat in range(2)]
    pyspiel.evaluate_bots(pyspiel.load_game("kuhn_poker").new_initial_state(), bots, 1)
    assert given and {type(value) for value in given} == {int}


def test_a_bot_follows_a_state_that_is_not_where_it_left_off():
    game = pyspiel.load_game("phantom_ttt")
    bot = fl.as_openspiel_bot("first_legal", "phantom_ttt", 0)
    first, other = game.new_initial_state(), game.new_initial_state()
    for action in (0, 1):
        first.apply_action(action)
    for action in (4, 5):
        other.apply_action(action)
    assert (bot.step(first), bot.step(other)) == (1, 0)


def test_impossible_bots_get_advice():
    with pytest.raises(ValueError, match="kuhn_poker has seats 0 to 1, not 2"):
        fl.as_openspiel_bot("random", "kuhn_poker", 2)
    with pytest.raises(ValueError, match="needs somebody at the terminal"):
        fl.as_openspiel_bot("human", "kuhn_poker", 0)
