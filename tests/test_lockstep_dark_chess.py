"""Dark chess moves in lock step with OpenSpiel's, on both of the boards that OpenSpiel has a start for.

Its observation string is followed to the letter, but for one case: it looks for an own pawn beside the en passant
square without minding the edge of the board, so that a pawn at the other end counts as well.
"""

import copy
import random
import re

import pyspiel
import pytest
from lockstep import PLAYERS, Partition, Shown, check_lockstep, play_both

import foglight as fl
from foglight.chess import notation
from foglight.games.dark_chess import dark_fen

COORDINATES = re.compile("[a-h][1-8][a-h][1-8]")
boards = pytest.mark.parametrize(
    ("ours_name", "theirs_name"),
    [("dark_chess(size=4)", "dark_chess(board_size=4)"), ("dark_chess(size=8)", "dark_chess")],
)


def shown(state, seat):
    """What OpenSpiel shows a seat, less the en passant squares that only the other end of the board gives away."""
    board, *fields = state.observation_string(seat).split()
    passed = fields[2]
    if passed != "-":
        for digit in "87654321":
            board = board.replace(digit, "." * int(digit))
        rows = board.split("/")
        row = rows[8 - int(passed[1]) + (1 if seat == 1 else -1)]
        file = "abcdefgh".index(passed[0])
        if "pP"[seat] not in (row[max(file - 1, 0)], row[min(file + 1, 7)]):
            fields[2] = "-"
    return " ".join((state.observation_string(seat).split()[0], *fields))


@boards
def test_rules_and_information_states_are_openspiels(ours_name, theirs_name):
    check_lockstep(ours_name, theirs_name, games=500, chain=True, text=shown)


@boards
@pytest.mark.parametrize("games", [50, pytest.param(200, marks=pytest.mark.long)])
def test_boards_and_what_is_seen_of_them_are_openspiels(ours_name, theirs_name, games):
    def truth_and_sight(state, seat):
        return f"{state}\n{shown(state, seat)}"

    def meet(ours, screens):
        board = notation.fen(ours.game.size, ours.world)
        for seat, screen in enumerate(screens):
            assert screen.now == f"{board}\n{dark_fen(ours.game, ours.world, seat)}"

    play_both(ours_name, theirs_name, games, meet, text=truth_and_sight)


@pytest.mark.parametrize(
    ("ours_name", "theirs_name", "depth"),
    [("dark_chess(size=4)", "dark_chess(board_size=4)", 4), ("dark_chess(size=8)", "dark_chess", 3)],
)
def test_every_way_to_open_tells_what_openspiels_tells(ours_name, theirs_name, depth):
    # random games hardly ever meet the same information state twice; all openings together do
    partitions = [Partition(), Partition()]

    def walk(ours, theirs, screens, depth):
        for seat, screen in enumerate(screens):
            screen.look(theirs, seat)
            partitions[seat].meet(tuple(ours.observations(seat)), screen.chain)
        for action in ours.actions() if depth else ():
            ours_then, theirs_then, screens_then = ours.clone(), theirs.child(action), [copy.copy(s) for s in screens]
            screens_then[ours.player].act(action)
            ours_then.play(action)
            walk(ours_then, theirs_then, screens_then, depth - 1)

    theirs = pyspiel.load_game(theirs_name).new_initial_state()
    walk(fl.new_state(ours_name), theirs, [Shown(shown), Shown(shown)], depth)
    assert min(partition.again for partition in partitions) > 100


@boards
def test_repetition_ends_a_game_when_openspiels_does(ours_name, theirs_name):
    # whoever can often takes the last move back, so that many games end by repetition
    peer, rng, repeated = pyspiel.load_game(theirs_name), random.Random(1), 0
    relaxed_name = ours_name.replace(")", ",repetition=ignore)")
    for _ in range(100):
        ours, relaxed, theirs = fl.new_state(ours_name), fl.new_state(relaxed_name), peer.new_initial_state()
        last = {0: "", 1: ""}
        while not theirs.is_terminal():
            moves = {name: action for action, names in ours.choices().items() for name in names}
            back = last[ours.player][2:4] + last[ours.player][:2]
            name = back if back in moves and rng.random() < 0.9 else rng.choice(sorted(moves))
            action = moves[name]
            last[ours.player] = next(other for other in moves if moves[other] == action and COORDINATES.match(other))
            for state in (ours, relaxed):
                state.play(action)
            theirs.apply_action(action)
            assert ours.player == PLAYERS.get(theirs.current_player(), theirs.current_player())
            assert ours.observations(0) == relaxed.observations(0)
        assert ours.returns() == theirs.returns()
        repeated += relaxed.player != fl.TERMINAL
    assert repeated > 40


# What OpenSpiel shows that its own rules do not explain ---------------------------------------------------------------


def theirs_after(fen, *moves):
    state = pyspiel.load_game("dark_chess", {"fen": fen}).new_initial_state()
    for move in moves:
        state.apply_action({state.action_to_string(action): action for action in state.legal_actions()}[move])
    return state


def test_openspiel_takes_the_other_end_of_the_board_for_beside():
    # white's a pawn is nowhere near h3, and yet white is told that black can take there, so that g4 is black's pawn
    told = theirs_after("4k3/8/8/8/6p1/P7/7P/4K3 w - - 0 1", "h4")
    not_told = theirs_after("4k3/8/8/8/6p1/8/P6P/4K3 w - - 0 1", "h4")
    assert told.observation_string(1).split()[3] == "h3"
    assert not_told.observation_string(1).split()[3] == "-"
    assert shown(told, 1).split()[3] == "-"


def test_who_went_two_steps_sees_what_its_own_pawn_cannot_take():
    # there is an en passant square only if black can take, and OpenSpiel shows it to white's g pawn as well; we follow
    told = theirs_after("4k3/8/8/8/6p1/8/6PP/4K3 w - - 0 1", "h4")
    not_told = theirs_after("4k3/8/8/6p1/8/8/6PP/4K3 w - - 0 1", "h4")
    assert (
        told.observation_string(1) == "????????/????????/????????/???????1/???????P/??????2/???3P1/???1K1?? b - h3 0 1"
    )
    assert not_told.observation_string(1).split()[3] == "-"


def test_a_king_that_is_taken_keeps_its_right_to_castle():
    assert str(theirs_after("r3k2r/8/8/8/8/8/8/4QK2 w kq - 0 1", "Qxe8")).split()[2] == "kq"
