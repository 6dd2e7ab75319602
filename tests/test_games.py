"""Facts of single games: textbook positions, values by hand, text for people."""

import pytest
from oracles import histories

import foglight as fl

pytestmark = pytest.mark.plain


def played(game, *actions):
    state = fl.new_state(game)
    for action in actions:
        state.play(state.parse_action(action))
    return state


def test_phantom_ttt_tells_only_the_mover():
    state = played("phantom_ttt", "b2", "b2")
    assert state.player == 1, "o ran into x and tries again"
    assert state.observations(0) == played("phantom_ttt", "b2", "a1").observations(0)
    assert state.observations(fl.PUBLIC) == []
    assert state.information(1) == "you are o\n   a b c\n 1 . . .\n 2 . x .\n 3 . . .\nso far: b2 taken"


def test_phantom_ttt_ends_with_three_in_line_or_a_full_board():
    assert played("phantom_ttt", "a1", "a2", "b1", "b2", "c1").returns() == [1.0, -1.0]
    draw = played("phantom_ttt", "a1", "b1", "c1", "b2", "a2", "c2", "b3", "a3", "c3")
    assert (draw.player, draw.returns()) == (fl.TERMINAL, [0.0, 0.0])


def test_dark_hex_x_joins_top_and_bottom_o_left_and_right():
    game = "dark_hex(rows=2,cols=3)"
    assert played(game, "a1", "c1", "a2").returns() == [1.0, -1.0]
    assert played(game, "b1", "a2", "c1", "b2", "a1", "c2").returns() == [-1.0, 1.0]
    # b1 and a2 touch along the slant, a1 and b2 do not
    assert played(game, "b1", "a1", "a2").player == fl.TERMINAL
    assert played(game, "a1", "b1", "b2").player == 1


def test_dark_hex_tries_are_heard():
    state = played("dark_hex(rows=3,cols=3)", "b2", "b2")
    assert state.player == 1
    assert state.information(0).endswith("so far: b2, o tries")
    assert len(state.observations(fl.PUBLIC)) == 2


@pytest.mark.parametrize(
    ("tries", "abrupt", "known_tries", "known_stones"),
    [
        ("heard", "no", True, True),
        ("silent", "no", False, True),
        ("heard", "yes", True, False),
        ("silent", "yes", True, False),
    ],
)
def test_what_a_seat_knows_of_the_others_turns_when_it_is_to_move(tries, abrupt, known_tries, known_stones):
    # each turn ends by a stone, or in the abrupt form by one try; the seat to move knows how many turns have passed
    seen = {}
    for state in histories(f"dark_hex(rows=2,cols=2,tries={tries},abrupt={abrupt})"):
        seat = state.player
        if seat != fl.TERMINAL:
            text = str(state)
            stones, own = text.count("ox"[seat]), len([code for code in state.observations(seat) if code != 1])
            facts = seen.setdefault((seat, *state.observations(seat)), (set(), set()))
            for fact, number in zip(facts, (len(state.history()) - own, stones), strict=True):
                fact.add(number)
    assert len(seen) > 50
    assert all(len(tries_made) == 1 for tries_made, _ in seen.values()) == known_tries
    assert all(len(stones) == 1 for _, stones in seen.values()) == known_stones


def test_dark_hex_uses_all_64_bits():
    # x goes down column h, o down column g, on 8x8: the last cell, h8, is bit 63
    moves = [f"{column}{row}" for row in range(1, 9) for column in "hg"][:-1]
    state = played("dark_hex(rows=8,cols=8)", *moves)
    assert (state.player, state.returns()) == (fl.TERMINAL, [1.0, -1.0])
    assert state.history()[-1] == 63


def test_kuhn_poker_payoffs():
    deal = ("king", "queen")
    assert played("kuhn_poker", *deal, "check", "check").returns() == [1, -1]
    assert played("kuhn_poker", *deal, "check", "bet", "call").returns() == [2, -2]
    assert played("kuhn_poker", *deal, "check", "bet", "fold").returns() == [-1, 1]
    assert played("kuhn_poker", *deal, "bet", "fold").returns() == [1, -1]
    assert played("kuhn_poker", "jack", "queen", "bet", "call").returns() == [-2, 2]
    assert "fold" in played("kuhn_poker", *deal, "bet").choices()[0]


def test_kuhn_poker_has_58_states_and_12_information_states():
    # 1 start, 3 and 6 deals, then for each of 6 deals: 2 + 4 + 2 nodes after one, two and three actions
    states = list(histories("kuhn_poker"))
    assert len(states) == 1 + 3 + 6 * 9
    assert len({(s.player, *s.observations(s.player)) for s in states if s.player >= 0}) == 12


def test_leduc_poker_has_9457_states_and_936_information_states():
    states = list(histories("leduc_poker"))
    assert len(states) == 9457
    assert len({(s.player, *s.observations(s.player)) for s in states if s.player >= 0}) == 936


def test_leduc_poker_payoffs():
    deal = ("Js", "Kh")
    assert played("leduc_poker", *deal, "raise", "fold").returns() == [1, -1]
    pair = ("raise", "raise", "call", "Jh", "check", "raise", "call")  # 1 + 2 + 2 + 4 = 9 each
    assert played("leduc_poker", *deal, *pair).returns() == [9, -9]
    assert played("leduc_poker", "Js", "Jh", "check", "check", "Ks", "check", "check").returns() == [0, 0]
    assert "fold" not in {names[0] for names in played("leduc_poker", *deal).choices().values()}
    assert "raise" not in {names[0] for names in played("leduc_poker", *deal, "raise", "raise").choices().values()}


def test_goofspiel_plays_the_last_card_by_itself():
    # prizes 3, 2, 1: seat 0 bids 1, 3 and keeps 2; seat 1 bids 3, 2 and keeps 1
    state = played("goofspiel(cards=3)", "bid 1", "bid 3", "bid 3", "bid 2")
    assert (state.player, state.returns()) == (fl.TERMINAL, [0.0, 0.0]), "3 points each"
    assert state.information(0).endswith("seat 1 takes 3, you bid 3, you take 2 and you take 1")


def test_goofspiel_hides_bids_but_not_who_wins():
    low, high = played("goofspiel(cards=4)", "1", "2"), played("goofspiel(cards=4)", "1", "4")
    assert low.observations(0) == high.observations(0)
    assert low.observations(1) != high.observations(1)
    perfect = "goofspiel(cards=4,information=perfect)"
    assert played(perfect, "1", "2").observations(0) != played(perfect, "1", "4").observations(0)


def test_goofspiel_orders_its_prizes():
    assert "prize 4," in str(fl.new_state("goofspiel(cards=4)"))
    assert "prize 1," in str(fl.new_state("goofspiel(cards=4,order=ascending)"))
    state = fl.new_state("goofspiel(cards=4,order=random)")
    assert state.chance() == [(0, 0.25), (1, 0.25), (2, 0.25), (3, 0.25)]


def test_unseen_rps_is_figure_1():
    # nature's means by hand: leaving pays -0.6, each hand meets each answer once
    assert played("unseen_rps", "leave").returns() == [-0.6, 0.6]
    table = [[played("unseen_rps", a, b).returns()[0] for b in ("rock", "paper", "scissors")] for a in "rps"]
    assert table == [[0, -1, 1], [1, 0, -1], [-1, 1, 0]]
    assert len({tuple(played("unseen_rps", hand).observations(1)) for hand in "rps"}) == 1
    assert fl.load_game("unseen_rps(leave_value=1)").leave_value == 1.0


def test_liars_dice_counts_wild_dice():
    # seat 0 holds 3, seat 1 holds 6, which is wild: two threes are there, two fours are not
    roll = ("roll 3", "roll 6")
    assert played("liars_dice", *roll, "2-3", "liar").returns() == [1, -1]
    assert played("liars_dice", *roll, "1-3", "bid 2-4", "liar").returns() == [1, -1]
    assert played("liars_dice", *roll, "1x6", "liar").returns() == [1, -1]
    assert "liar" not in [names[0] for names in played("liars_dice", *roll).choices().values()]


def test_liars_dice_are_looked_at_when_all_are_rolled():
    low_first = played("liars_dice(dice=2,sides=6)", "1", "2", "3", "4")
    high_first = played("liars_dice(dice=2,sides=6)", "2", "1", "4", "3")
    for seat in range(2):
        assert low_first.observations(seat) == high_first.observations(seat)
    assert played("liars_dice(dice=2,sides=6)", "1").observations(0) == []
    assert low_first.information(1) == "you are seat 1 with 3 4, no bid yet\nso far: you roll 3 4"


def test_battleship_answers_water_hit_and_sunk():
    placed = ("a1", "c3", "b2 right", "a1 down")  # seat 0: a1 and b2-c2; seat 1: c3 and a1-a2
    state = played("battleship", *placed, "a1", "a1", "a2", "b2")
    assert state.information(0).endswith(
        "you shoot a1: hit, seat 1 shoots a1: sunk, you shoot a2: sunk, seat 1 shoots b2: hit"
    )
    end = played("battleship", *placed, "a1", "a1", "a2", "b2", "c3")
    assert (end.player, end.returns()) == (fl.TERMINAL, [1.0, -1.0]), "two ships sunk, one lost"


def test_battleship_ends_when_the_shots_are_fired():
    state = played("battleship(width=2,height=1,ships=[1],shots=1)", "a1", "a1", "b1", "b1")
    assert (state.player, state.returns()) == (fl.TERMINAL, [0.0, 0.0])


@pytest.mark.parametrize(
    ("game", "advice"),
    [
        ("battleship(ships=[])", "ships must be a list of 1 to 8 lengths, not 0"),
        ("battleship(ships=2)", "ships must be a list such as [1,2], not 2"),
        ("battleship(ships=[0])", "ships must be from 1 to 8, not 0"),
        ("battleship(ships=[4])", "a ship of 4 does not fit on 3x3"),
        ("battleship(ships=[3,3,3,1])", "the ships do not all fit on 3x3; make the board larger"),
        ("battleship(shots=10,repeats=forbidden)", "10 shots on 9 cells need repeats=allowed"),
        ("liars_dice(sides=1)", "sides must be from 2 to 6, not 1"),
        ("three_sat(variables=2)", "variables must be from 3 to 60, not 2"),
    ],
)
def test_parameters_that_do_not_go_together_get_advice(game, advice):
    with pytest.raises(ValueError) as caught:
        fl.load_game(game)
    assert advice in str(caught.value)


def test_three_sat_shows_only_clauses_that_hold():
    state = played("three_sat(variables=3,clauses=2)", "true", "false", "true", "x1", "x2", "x3")
    # negating x1 and x3 alone would make all three literals false: not x1 or x2 or not x3
    clauses = {names[0] for names in state.choices().values()}
    assert len(clauses) == 7 and "not x1 or x2 or not x3" not in clauses
    assert [odds for _, odds in state.chance()] == [1 / 7] * 7


def test_three_sat_draws_every_triple_alike():
    state = played("three_sat(variables=5)", *["true"] * 5)
    triples = {}

    def walk(state, odds, chosen):
        if len(chosen) == 3:
            triples[chosen] = odds
            return
        for variable, share in state.chance():
            after = state.clone()
            after.play(variable)
            walk(after, odds * share, (*chosen, variable))

    walk(state, 1.0, ())
    assert len(triples) == 10 and all(odds == pytest.approx(0.1) for odds in triples.values())


def test_three_sat_hides_the_assignment_from_all_but_its_author():
    one, other = (played("three_sat(variables=3)", *values, "x1", "x2", "x3") for values in ("ttt", "ftf"))
    clause = "x1 or x2 or x3"
    one.play(one.parse_action(clause))
    other.play(other.parse_action(clause))
    assert one.observations(1) == other.observations(1) and one.observations(fl.PUBLIC) == one.observations(1)
    assert one.observations(0) != other.observations(0)


def test_a_viewer_who_is_not_there():
    with pytest.raises(ValueError, match="there is no viewer 2; give a seat from 0 to 1, or PUBLIC"):
        fl.new_state("kuhn_poker").observations(2)


def test_playouts_take_a_state_and_refuse_nonsense():
    state = played("unseen_rps", "leave")
    means, steps = fl.random_playouts(state, 10)
    assert means == pytest.approx([-0.6, 0.6]) and steps == 0
    with pytest.raises(ValueError, match="games must be at least 1, not 0"):
        fl.random_playouts("kuhn_poker", 0)
