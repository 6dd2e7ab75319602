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
    key_of, string_of, met = {}, {}, 0
    rng = random.Random(name)
    for _ in range(60):
        for state in random_game(f"openspiel:{name}", rng):
            for seat in range(2):
                number = (seat, int(key(state.game, state.world, seat)))
                string = (seat, state.world.state.information_state_string(seat))
                assert string_of.setdefault(number, string) == string
                assert key_of.setdefault(string, number) == number
                met += 1
    assert met - len(key_of) > 100, "so many were met again"


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


PAIRED_BATTLESHIP = (
    "battleship(board_width=3,board_height=3,ship_sizes=[1;2],ship_values=[1.0;1.0],num_shots=9,loss_multiplier=1.0)"
)
PAIRED_GOOFSPIEL = "turn_based_simultaneous_game(game=goofspiel(num_cards=4,imp_info=True,points_order=descending))"


@pytest.mark.parametrize(("native", "bridged"), PAIRS)
def test_random_agents_fare_alike_in_a_native_game_and_through_the_bridge(native, bridged):
    # 700 games each with different seeds; the payoffs' chi-square at 1e-6: a false alarm once in a million
    results = [
        Counter(record.returns[0] for record in fl.play_match(game, ["random", "random"], games=700, seed=seed).records)
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
    played_by_ours = 0
    for seed in range(20):
        state = game.new_initial_state()
        returns = pyspiel.evaluate_bots(state, [ours, theirs], seed)
        again = game.new_initial_state()
        for item in state.full_history():
            if item.player == 0:
                assert item.action == again.legal_actions()[0]
                played_by_ours += 1
            again.apply_action(item.action)
        assert again.is_terminal() and again.returns() == returns
    assert played_by_ours >= 60


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


def played(name, *actions):
    """OpenSpiel's state after these actions."""
    state = pyspiel.load_game(name).new_initial_state()
    for action in actions:
        state.apply_action(action)
    return state


def told(bot):
    return list(bot.agent.observations)


def test_a_bot_takes_a_state_in_which_its_seat_has_not_decided_for_a_new_game():
    bot = fl.as_openspiel_bot("first_legal", "phantom_ttt", 1)
    assert bot.step(played("phantom_ttt", 0)) == 0
    assert bot.step(played("phantom_ttt", 0, 0)) == 1, "0 is taken, as it has found out"
    assert len(told(bot)) == 1 and bot.started == 1
    assert bot.step(played("phantom_ttt", 4)) == 0, "the seat has not decided yet: a new game"
    assert told(bot) == [] and bot.started == 2


def test_a_bot_refuses_a_state_that_does_not_go_on_from_what_it_has_seen():
    bot = fl.as_openspiel_bot("first_legal", "phantom_ttt", 0)
    assert bot.step(played("phantom_ttt", 0, 1)) == 1
    seen = told(bot)
    for actions in [(4, 5), (1, 0), (4, 5, 0, 1)]:
        with pytest.raises(fl.BadInput, match=r"seat 0 has seen; call restart_at\(state\)") as caught:
            bot.step(played("phantom_ttt", *actions))
        assert "\n" not in str(caught.value)
        assert told(bot) == seen, "what is refused leaves the bot as it was"
    assert bot.step(played("phantom_ttt", 0, 1, 1)) == 2, "so it can go on"
    bot.restart_at(played("phantom_ttt", 4, 5))
    assert bot.step(played("phantom_ttt", 4, 5)) == 0
    bot.restart()
    assert told(bot) == [] and bot.step(played("phantom_ttt", 0, 5)) == 1


def test_a_state_that_looks_the_same_to_the_seat_goes_on():
    """x placed 0 and o something else: which, x cannot know, so another true state may be handed over at any time."""
    bot = fl.as_openspiel_bot("first_legal", "phantom_ttt", 0)
    assert bot.step(played("phantom_ttt", 0, 1)) == 1
    assert bot.step(played("phantom_ttt", 0, 2, 1, 3)) == 2
    assert bot.started == 1 and len(told(bot)) == 2


@pytest.mark.parametrize(
    ("game", "seat", "state", "why"),
    [
        ("phantom_ttt", 1, ("phantom_ttt",), "seat 1, and seat 0 is to move"),
        ("phantom_ttt", 0, ("phantom_ttt", 0), "seat 0, and seat 1 is to move"),
        ("kuhn_poker", 0, ("kuhn_poker", 0), "seat 0, and chance is to move"),
        ("kuhn_poker", 0, ("kuhn_poker", 0, 1, 0, 0), "seat 0, and the game is over"),
        ("openspiel:tic_tac_toe", 1, ("tic_tac_toe",), "seat 1, and seat 0 is to move"),
    ],
)
def test_a_bot_refuses_to_answer_where_its_seat_does_not_move(game, seat, state, why):
    bot = fl.as_openspiel_bot("random", game, seat)
    with pytest.raises(fl.BadInput, match=f"^this bot sits on {why}; ask it where its seat moves$"):
        bot.step(played(*state))
    assert told(bot) == []


def test_bots_in_the_wrong_order_stop_openspiels_loop():
    bots = [fl.as_openspiel_bot("random", "kuhn_poker", seat) for seat in (1, 0)]
    with pytest.raises(fl.BadInput, match="this bot sits on seat 1, and seat 0 is to move"):
        pyspiel.evaluate_bots(pyspiel.load_game("kuhn_poker").new_initial_state(), bots, 1)


@pytest.mark.parametrize(
    ("game", "other"),
    [
        ("phantom_ttt", "tic_tac_toe"),
        ("phantom_ttt", "phantom_ttt(obstype=reveal-numturns)"),
        ("phantom_ttt", "phantom_ttt(gameversion=abrupt)"),
        ("openspiel:tic_tac_toe", "phantom_ttt"),
        ("openspiel:dark_hex(num_rows=3)", "dark_hex(num_rows=4)"),
        ("dark_hex(rows=3,cols=3)", "dark_hex(num_rows=3,num_cols=4)"),
        ("kuhn_poker", "kuhn_poker(players=3)"),
        ("kuhn_poker", "leduc_poker"),
        ("openspiel:kuhn_poker(players=3)", "kuhn_poker"),
        ("leduc_poker", "leduc_poker(suit_isomorphism=True)"),
        ("liars_dice", "liars_dice(bidding_rule=reset-quantity)"),
        ("battleship", "battleship"),
        ("dark_chess", "dark_chess(board_size=4)"),
        ("phantom_ttt(abrupt=yes)", "phantom_ttt"),
        ("dark_hex(rows=3,cols=3,abrupt=yes)", "dark_hex"),
        ("dark_chess(size=4,start=k3/3p/P3/3K_b)", "dark_chess(board_size=4)"),
        ("hearts", "hearts(jd_bonus=True)"),
        ("oh_hell", "oh_hell(points_per_trick=2)"),
        ("goofspiel(cards=4)", "turn_based_simultaneous_game(game=goofspiel(num_cards=4,imp_info=True))"),
    ],
)
def test_a_bot_refuses_a_state_of_another_game_or_of_other_parameters(game, other):
    bot = fl.as_openspiel_bot("random", game, 0)
    for ask in (bot.step, bot.restart_at):
        with pytest.raises(fl.BadInput, match=r"^this bot plays .*, and the state is of ") as caught:
            ask(played(other))
        assert "\n" not in str(caught.value)
    advised = str(caught.value).split("'")[1]
    assert fl.as_openspiel_bot("random", advised, 0).restart_at(played(other)) is None, "what is advised works"


@pytest.mark.parametrize(
    ("game", "same"),
    [
        ("phantom_ttt", "phantom_ttt(obstype=reveal-nothing)"),
        ("openspiel:leduc_poker(players=2)", "leduc_poker"),
        ("leduc_poker", "leduc_poker(players=2)"),
        ("dark_hex", "dark_hex(board_size=4)"),
        ("phantom_ttt(abrupt=yes)", "phantom_ttt(gameversion=abrupt)"),
        ("dark_hex(rows=3,cols=3,abrupt=yes)", "dark_hex(gameversion=adh)"),
        ("dark_chess(size=4,repetition=ignore)", "dark_chess(board_size=4)"),
        ("dark_chess(size=4,start=k3/3p/P3/3K_b)", "dark_chess(board_size=4,fen=k3/3p/P3/3K b - - 0 1)"),
        ("hearts", "hearts(pass_cards=True)"),
        ("spades", "spades"),
        ("liars_dice(dice=2,sides=4)", "liars_dice(numdice=2,dice_sides=4)"),
        ("oh_hell(tricks=3)", "oh_hell(num_tricks_fixed=3)"),
        ("battleship", PAIRED_BATTLESHIP),
        ("goofspiel(cards=4)", PAIRED_GOOFSPIEL),
        ("openspiel:goofspiel(num_cards=4)", "turn_based_simultaneous_game(game=goofspiel(num_cards=4))"),
    ],
)
def test_a_bot_plays_its_own_game_however_it_is_written(game, same):
    theirs = pyspiel.load_game(same)
    bots = [fl.as_openspiel_bot("random", game, seat) for seat in range(theirs.num_players())]
    pyspiel.evaluate_bots(theirs.new_initial_state(), bots, 1)
    assert sum(len(told(bot)) > 0 for bot in bots) == len(bots)


def test_a_bot_refuses_states_at_which_all_move_at_once():
    bot = fl.as_openspiel_bot("random", "openspiel:matrix_rps", 1)
    with pytest.raises(fl.BadInput, match=r"^in matrix_rps all move at once; give .*convert_to_turn_based\(game\)$"):
        bot.step(played("matrix_rps"))


def test_a_game_openspiel_does_not_name_is_known_by_its_play():
    """OpenSpiel's blind chess numbers senses otherwise, its Hearts draws a direction even for passing nothing."""
    with pytest.raises(fl.BadInput, match="go different ways after 0 actions; make a bot for 'openspiel:rbc"):
        fl.as_openspiel_bot("random", "rbc", 0).restart_at(played("rbc"))
    with pytest.raises(fl.BadInput, match="go different ways after 0 actions; make a bot for 'openspiel:hearts"):
        fl.as_openspiel_bot("random", "hearts(passing=no)", 0).restart_at(played("hearts(pass_cards=False)", 1))
    bots = [fl.as_openspiel_bot("random", "spades(breaking=yes)", seat) for seat in range(4)]
    with pytest.raises(fl.BadInput, match=r"go different ways after .* actions; make a bot for 'openspiel:spades"):
        for seed in range(20):
            pyspiel.evaluate_bots(pyspiel.load_game("spades").new_initial_state(), bots, seed)


def test_impossible_bots_get_advice():
    with pytest.raises(ValueError, match="kuhn_poker has seats 0 to 1, not 2"):
        fl.as_openspiel_bot("random", "kuhn_poker", 2)
    with pytest.raises(ValueError, match="needs somebody at the terminal"):
        fl.as_openspiel_bot("human", "kuhn_poker", 0)
