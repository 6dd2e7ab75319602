"""Dark chess as others play it: a hidden clock, stalemate as a loss, and games that start from a given position.

The defaults are OpenSpiel's (`test_lockstep_dark_chess.py`); so are games from a given position.
"""

import copy
import itertools
import random

import pyspiel
import pytest
from lockstep import Partition, Shown, check_lockstep
from oracles import random_game
from test_lockstep_dark_chess import shown

import foglight as fl
from foglight.chess import notation
from foglight.games.dark_chess import DarkChess
from foglight.rules import PUBLIC, bounds, how_to_play, max_legal, observation_text
from foglight.web.offers import Offers

ENDING = "4k3/8/8/8/6p1/8/6PP/4K3 w - - 0 1"
SMALL = "k3/3p/P3/3K w - - 7 12"


def written(fen):
    return fen.replace(" ", "_")


def given(fen, **options):
    size = len(fen.split()[0].split("/"))
    others = "".join(f",{key}={word}" for key, word in options.items())
    return f"dark_chess(size={size},start={written(fen)}{others})"


# The text of a game ---------------------------------------------------------------------------------------------


@pytest.mark.plain
def test_a_variant_is_written_only_where_it_is_not_the_default():
    assert str(fl.load_game("dark_chess(clock=shown,stalemate=draw,start=standard)")) == (
        "dark_chess(size=8,repetition=draw)"
    )
    assert str(fl.load_game("dark_chess(clock=hidden,stalemate=loss)")) == (
        "dark_chess(size=8,repetition=draw,clock=hidden,stalemate=loss)"
    )


@pytest.mark.plain
@pytest.mark.parametrize("fen", [ENDING, SMALL, "r3k2r/8/8/8/3pP3/8/8/R3K2R b KQkq e3 0 20"])
def test_a_position_is_read_as_it_is_written(fen):
    size = len(fen.split()[0].split("/"))
    game = fl.load_game(given(fen))
    assert str(game) == f"dark_chess(size={size},repetition=draw,start={written(fen)})"
    assert fl.load_game(str(game)) == game == fl.load_game(f'dark_chess(size={size},start="{fen}")')
    assert fl.load_game(DarkChess(size, start=fen)) == fl.load_game(game) == game
    assert notation.fen(size, fl.new_state(game).world) == fen


@pytest.mark.plain
def test_the_end_of_a_position_may_be_left_out():
    assert fl.load_game("dark_chess(size=4,start=k3/3p/P3/3K_b)") == fl.load_game(given("k3/3p/P3/3K b - - 0 1"))


@pytest.mark.plain
@pytest.mark.parametrize(
    ("size", "start", "advice"),
    [
        (8, "4k3/8/8/8/8/8/8/4KK2_w", "white has 2 kings; place exactly one"),
        (8, "8/8/8/8/8/8/8/4K3_w", "black has no kings; place exactly one"),
        (8, "qqqqkqqq/qqqqqqqq/q7/8/8/8/8/4K3_w", "black has 17 pieces; place at most 16"),
        (8, "4k3/8/8/8/8/8/8/P3K3_w", "a pawn is on the first or the last rank, a1; move it"),
        (4, "k2p/4/4/K3_w", "a pawn is on the first or the last rank, d4; move it"),
        (8, "4k3/8/8/8/8/8/8/4K2R_w_KQ", "the right to castle Q needs king and rook"),
        (5, "k4/5/5/5/R3K_w_Q", "the right to castle Q needs king and rook"),
        (8, "4k3/8/8/6P1/8/8/8/4K3_w_-_h6", "no pawn can just have passed h6"),
        (8, "4k3/8/7n/6Pp/8/8/8/4K3_w_-_h6", "no pawn can just have passed h6"),
        (6, "k5/4Pp/6/6/6/K5_w_-_f6", "no pawn can just have passed f6"),
        (8, "4k3/8/8/8/8/8/8/4K3_w_-_-_100_80", "it is drawn, after 100 plies"),
        (8, "7k/8/8/8/1p6/pPp5/PRP5/KB6_w", "white is to move and has no move"),
        (8, "4k3/8/8/8/8/8/8/4K3_x", "after the ranks write 'w KQkq - 0 1'"),
        (8, "hello", "write ranks of 4 to 8 squares"),
        (8, written(SMALL), "start has 4 ranks, and size is 8; write size=4"),
        (8, "7", "start must be standard or a FEN with _ for spaces, not 7"),
        (8, "[1,2]", "start must be standard or a FEN with _ for spaces, not [1,2]"),
    ],
)
def test_a_position_that_nobody_can_play_from_gets_one_line(size, start, advice):
    with pytest.raises(fl.BadInput) as caught:
        fl.load_game(f"dark_chess(size={size},start={start})")
    assert advice in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.plain
@pytest.mark.parametrize("numbers", [(1, 2), (0, 0, 0, 0, 1), (0, 0, 0, 0, 9 << 38), (0, 0, 0, 0, 8 << 38), (1,) * 6])
def test_numbers_that_are_no_position_are_refused(numbers):
    with pytest.raises(fl.BadInput, match=r"^dark_chess: start "):
        fl.load_game(DarkChess(start=numbers))


def test_positions_are_given_on_the_command_line(run, tmp_path):
    picture = tmp_path / "ending.svg"
    code, _, _ = run("draw", given(ENDING, clock="hidden"), "h4", "--seat", "1", "--picture", str(picture))
    assert code == 0
    assert picture.exists()
    code, printed, _ = run("games", "dark_chess")
    assert "FEN" in printed and "hidden" in printed
    code, _, refused = run("games", "dark_chess(start=8/8/8/8/8/8/8/4K3_w)")
    assert code != 0
    assert "black has no kings" in refused and refused.count("\n") == 1


def test_positions_are_given_on_the_page():
    offers = Offers()
    (described,) = (game for game in offers.data()["games"] if game["name"] == "dark_chess")
    (start,) = (parameter for parameter in described["parameters"] if parameter["name"] == "start")
    assert start["default"] == "standard"
    assert start["default"] not in start["allowed"].split(", "), "the page would offer a choice of words"
    assert offers.game("dark_chess", {"size": "4", "start": written(SMALL)}) == str(fl.load_game(given(SMALL)))
    assert offers.game("dark_chess", {"start": "standard"}) == "dark_chess(size=8,repetition=draw)"


@pytest.mark.plain
def test_the_rules_for_people_are_those_of_the_variant():
    assert "white begins" in how_to_play(fl.load_game("dark_chess"))
    text = how_to_play(fl.load_game("dark_chess(size=4,clock=hidden,stalemate=loss,start=k3/3p/P3/3K_b)"))
    assert "black begins" in text
    assert "you are not told how many" in text
    assert "you lose" in text


# Play from a position -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "fen",
    [
        ENDING,
        "r3k2r/pp4pp/8/2pP4/4Pp2/8/PP4PP/R3K2R w KQkq c6 0 20",
        "k3/3p/P3/3K w - - 7 12",
        "8/5k2/8/8/8/8/1R6/K7 b - - 92 70",  # a few plies before the clock ends it
        "qqq1/k3/3K/1QQQ b - - 0 1",
    ],
)
def test_games_from_a_position_are_openspiels(fen, monkeypatch):
    size = len(fen.split()[0].split("/"))
    peer = pyspiel.load_game("dark_chess", {"board_size": size, "fen": fen})
    monkeypatch.setattr(pyspiel, "load_game", lambda name: peer)
    check_lockstep(given(fen), "", games=100, chain=True, text=shown, again=99)


@pytest.mark.parametrize("fen", [ENDING, "qqq1/k3/3K/1QQQ b - - 0 1", "7k/8/8/8/8/8/PPPPPPPP/QQQKQQQQ w - - 0 1"])
def test_a_position_has_room_for_its_moves_and_says_how_long_it_lasts(fen):
    game, lengths, most = fl.load_game(given(fen)), [], 0
    for seed in range(20):
        states = list(random_game(game, random.Random(seed)))
        lengths.append(len(states[-1].history()))
        most = max(most, *(len(state.actions()) for state in states))
    assert most <= max_legal(game)
    assert max(lengths) <= bounds(game).length
    standard = fl.load_game(f"dark_chess(size={game.size})")
    assert (max_legal(game) > max_legal(standard)) == fen.startswith("7k")


# The clock ------------------------------------------------------------------------------------------------------


def shown_without_clock(state, seat):
    """What OpenSpiel shows a seat, less the clock."""
    fields = shown(state, seat).split()
    return " ".join((*fields[:4], fields[5]))


def walk(depth, ours, theirs, screens, taken=()):
    """Every way to open, on both sides: our state, a Shown for each seat, and what was taken on every ply."""
    for seat, screen in enumerate(screens):
        screen.look(theirs, seat)
    yield ours, screens, taken
    for action in ours.actions() if depth else ():
        after, screens_then = ours.clone(), [copy.copy(screen) for screen in screens]
        screens_then[ours.player].act(action)
        after.play(action)
        before, now = (notation.letters(state.world) for state in (ours, after))
        victims = [at for at, letter in enumerate(before) if letter.isupper() == (ours.player == 0) and letter != "."]
        gone = tuple((at, before[at]) for at in victims if now[at] != before[at])
        yield from walk(depth - 1, after, theirs.child(action), screens_then, (*taken, gone))


@pytest.mark.parametrize(
    ("ours_name", "theirs_name", "depth"),
    [
        ("dark_chess(size=4,clock=hidden)", "dark_chess(board_size=4)", 4),
        ("dark_chess(size=8,clock=hidden)", "dark_chess", 3),
    ],
)
def test_a_hidden_clock_hides_the_clock_and_nothing_else(ours_name, theirs_name, depth):
    # each seat knows the chain of what OpenSpiel shows it, less the clock; the public knows what was taken
    pairs = [Partition(), Partition(), Partition()]
    theirs = pyspiel.load_game(theirs_name).new_initial_state()
    screens = [Shown(shown_without_clock), Shown(shown_without_clock)]
    for ours, now, taken in walk(depth, fl.new_state(ours_name), theirs, screens):
        for seat in (0, 1):
            pairs[seat].meet(tuple(ours.observations(seat)), now[seat].chain)
        pairs[PUBLIC].meet(tuple(ours.observations(PUBLIC)), taken)
    assert min(pair.again for pair in pairs) > 300


@pytest.mark.parametrize(("size", "games"), [(4, 300), (8, 50)])
def test_with_a_hidden_clock_rules_and_information_states_are_openspiels(size, games):
    ours, theirs = f"dark_chess(size={size},clock=hidden)", f"dark_chess(board_size={size})"
    check_lockstep(ours, theirs, games, chain=True, text=shown_without_clock, again=49)


def test_an_unseen_pawn_move_gives_itself_away_by_the_clock_alone():
    # after a white move that black does not see, black holds 20 moves possible; the clock leaves the 16 of the pawns
    for word, possible in (("shown", 16), ("hidden", 20)):
        state = fl.new_state(f"dark_chess(clock={word},repetition=ignore)")
        state.play(state.parse_action("e3"))
        tracker = fl.Tracker(state.game, 0, positions=True)
        tracker.observe(state.observations(0)[0])
        assert len(tracker) == possible


def test_a_hidden_clock_is_in_no_text_of_a_seat():
    state = fl.new_state("dark_chess(clock=hidden)")
    for name in ("Nf3", "Nf6", "Ng1", "Ng8"):
        before = state.world.copy()
        state.play(state.parse_action(name))
    assert str(state).endswith(" 4 3")
    for seat in (0, 1):
        assert state.information(seat).splitlines()[10].endswith(" - 3")
    assert observation_text(state.game, before, state.history()[-1], state.world, PUBLIC) == "black moves"
    assert "plies" not in state.information(PUBLIC)


def test_the_hidden_clock_still_ends_the_game():
    state = fl.new_state("dark_chess(clock=hidden,repetition=ignore)")
    for name in itertools.islice(itertools.cycle(["Nf3", "Nf6", "Ng1", "Ng8"]), 100):
        assert state.player != fl.TERMINAL
        state.play(state.parse_action(name))
    assert (state.player, state.returns()) == (fl.TERMINAL, [0.0, 0.0])


def test_a_belief_holds_positions_of_several_clocks():
    # white's second move may have taken the first one back, moved on, or moved a pawn: the clock is 2, 2 or 0
    state = fl.new_state("dark_chess(clock=hidden,repetition=ignore)")
    for name in ("Nf3", "a6", "Ng1"):
        state.play(state.parse_action(name))
    tracker = fl.Tracker(state.game, 0, positions=True)
    for observation in state.observations(0):
        tracker.observe(observation)
    clocks = {notation.fen(8, row).split()[4] for row in tracker.worlds().rows}
    assert clocks == {"0", "1"}


# Stalemate ------------------------------------------------------------------------------------------------------

# white's king, bishop, rook and pawns are in each other's way, but for the pawn on b3 as long as b4 is empty
BEFORE_STALEMATE = "7k/8/8/1p6/8/pPp5/PRP5/KB6 b - - 0 60"
STALEMATE = "7k/8/8/8/1p6/pPp5/PRP5/KB6 b - - {} 60"  # if black does not change it


@pytest.mark.parametrize(("word", "payoffs"), [("draw", [0.0, 0.0]), ("loss", [1.0, -1.0])])
def test_whoever_cannot_move_draws_or_loses(word, payoffs):
    state = fl.new_state(given(BEFORE_STALEMATE, stalemate=word))
    state.play(state.parse_action("b4"))
    assert (state.player, state.returns()) == (fl.TERMINAL, payoffs)


def test_a_stalemate_at_the_end_of_the_clock_is_a_stalemate():
    # black's king makes the hundredth ply without capture or pawn move, and white cannot move
    for word, payoffs in (("draw", [0.0, 0.0]), ("loss", [1.0, -1.0])):
        state = fl.new_state(given(STALEMATE.format(99), stalemate=word))
        state.play(state.parse_action("Kg8"))
        assert (state.player, state.returns()) == (fl.TERMINAL, payoffs)


def test_games_without_stalemate_end_alike():
    ends = {"same": 0, "stalemate": 0}
    for seed in range(50):
        draw, loss = (fl.new_state(given(BEFORE_STALEMATE, stalemate=word)) for word in ("draw", "loss"))
        rng = random.Random(seed)
        while draw.player != fl.TERMINAL:
            assert (draw.player, draw.actions()) == (loss.player, loss.actions())
            action = rng.choice(draw.actions())
            for state in (draw, loss):
                state.play(action)
        assert loss.player == fl.TERMINAL
        stuck = draw.returns() == [0.0, 0.0] and not pyspiel_moves(draw)
        ends["stalemate" if stuck else "same"] += 1
        black_is_stuck = len(draw.history()) % 2 == 0  # black made the first move
        expected = ([-1.0, 1.0] if black_is_stuck else [1.0, -1.0]) if stuck else draw.returns()
        assert loss.returns() == expected
    assert min(ends.values()) >= 5


def pyspiel_moves(state):
    """The moves of the side to move in the last position, by OpenSpiel's chess rules."""
    fields = notation.fen(8, state.world).split()
    fields[4] = "0"  # not drawn by the clock, and new to the table of repetitions
    peer = pyspiel.load_game("dark_chess", {"fen": " ".join(fields)})
    return peer.new_initial_state().legal_actions()
