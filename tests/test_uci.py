"""UCI engines: what they say, what they are never asked, and what becomes of one that fails."""

import os
import random

import numpy as np
import pytest
from misbehaving_engine import SCORE

import foglight as fl
from foglight.blind_chess import uci
from foglight.blind_chess.captures import WIN
from foglight.blind_chess.uci import Engine, find_engine
from foglight.chess import notation
from foglight.names import BadInput
from foglight.rules import begin, num_words, step
from foglight.search.sets.search import SetSearch

START = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"
HANGING = "rnb1kbnr/pppppppp/8/8/3q4/4P3/PPPP1PPP/RNBQKBNR w - - 0 1"  # a pawn takes the queen

try:
    find_engine()
    installed = True
except BadInput:
    installed = False
needs_stockfish = pytest.mark.skipif(not installed, reason="STOCKFISH IS NOT INSTALLED: apt-get install stockfish")


def rows(*fens):
    return np.array([notation.read_fen(fen)[1] for fen in fens])


def positions(n, seed=0):
    """Positions of random games, both kings on the board, none of them to be taken."""
    rng, found = random.Random(seed), {}
    while len(found) < n:
        state = fl.new_state("dark_chess(repetition=ignore)")
        for _ in range(rng.randint(2, 40)):
            state.play(rng.choice(state.actions()))
            if state.player == fl.TERMINAL:
                break
        board = state.world[:5].copy()
        if state.player != fl.TERMINAL and uci._fates(board[None, :])[0] == uci._SEND:
            found.setdefault(board.tobytes(), board)
    return np.array(list(found.values()))


# What it says ---------------------------------------------------------------------------------------------------


def test_values_are_whites_and_are_remembered(misbehaving):
    with Engine(misbehaving("good")) as engine:
        boards = rows(START, START.replace(" w ", " b "))
        assert engine.evaluate(boards).tolist() == [SCORE, -SCORE]
        assert engine.evaluate(boards[::-1]).tolist() == [-SCORE, SCORE]
        assert (engine.asked, engine.restarts, engine.failures) == (2, 0, 0)
        assert engine.best_moves(START) == [("e2e4", SCORE)]


def test_clocks_and_what_a_game_keeps_beside_the_board_change_nothing(misbehaving):
    with Engine(misbehaving("good")) as engine:
        state = fl.new_state("rbc")
        state.play(64)  # no sense
        engine.evaluate(np.array([fl.new_state("rbc").world, state.world]))
        engine.evaluate(rows(START.replace("0 1", "7 9")))
        assert engine.asked == 1


def test_boards_that_are_no_chess_are_decided_here(misbehaving):
    cases = {
        "8/8/8/3k4/8/8/8/8 w - - 0 1": -WIN,  # no white king
        "8/8/8/3K4/8/8/8/8 w - - 0 1": WIN,
        "8/8/8/3Kk3/8/8/8/8 w - - 0 1": WIN,  # kings side by side: who is to move takes
        "8/8/8/3Kk3/8/8/8/8 b - - 0 1": -WIN,
        "4k3/8/8/8/8/8/8/K3R3 w - - 0 1": WIN,  # black has moved into check, or stayed there
    }
    with Engine(misbehaving("dead")) as engine:
        assert engine.evaluate(rows(*cases)).tolist() == list(cases.values())
        assert engine.analyse(rows(*cases)) == [{}] * len(cases)
        assert engine.asked == engine.restarts == 0


def test_every_move_is_read_as_it_is_written():
    for board in positions(60, seed=3):
        for move in uci.notation.list_moves(8, board).tolist():
            assert notation.read_coordinates(board, notation.coordinates(8, board, move)) == move
    for fen in (
        "r3k2r/Pppp1ppp/1b3nbN/nP6/BBP1P3/q4N2/Pp1P2PP/R2Q1RK1 b kq - 0 1",
        "r3k2r/p1P1qpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
    ):
        board = rows(fen)[0]
        for move in uci.notation.list_moves(8, board).tolist():
            assert notation.read_coordinates(board, notation.coordinates(8, board, move)) == move


# What becomes of one that fails -----------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["dies", "hangs", "babbles"])
def test_one_that_fails_is_started_again_and_the_evaluation_goes_on(misbehaving, patience, how):
    with Engine(misbehaving(how), patience=patience) as engine:
        boards = positions(4)
        white = boards[:, 4] & np.uint64(1) == np.uint64(1)
        assert engine.evaluate(boards).tolist() == np.where(white, SCORE, -SCORE).tolist()
        assert engine.restarts > 0 and engine.failures == 0


def test_a_position_that_kills_it_twice_is_judged_here(misbehaving):
    with Engine(misbehaving("picky")) as engine:
        values = engine.evaluate(rows(START, HANGING.replace("q", "r"), START.replace(" w ", " b ")))
        assert (engine.restarts, engine.failures) == (2, 1)
        assert values[0] == SCORE and values[2] == -SCORE
        assert values[1] > 800, "black has no queen, and loses a rook"


def test_one_that_always_fails_is_given_up(misbehaving):
    with Engine(misbehaving("dead")) as engine, pytest.raises(BadInput, match="failed on 10 positions in a row"):
        engine.evaluate(positions(12))


def test_a_program_that_does_not_speak_uci_is_refused(misbehaving):
    with Engine(misbehaving("mute"), patience=0.3) as engine, pytest.raises(BadInput, match="does not speak UCI"):
        engine.evaluate(rows(START))


def test_without_an_engine_one_line_says_what_to_do(monkeypatch):
    with pytest.raises(BadInput, match=r"no program '/nowhere'; install Stockfish .*--engine PATH"):
        Engine("/nowhere")
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(uci, "_BESIDE_PATH", "/nowhere")
    with pytest.raises(BadInput, match="no chess engine on PATH; install Stockfish"):
        Engine()


@pytest.mark.parametrize(
    ("options", "advice"),
    [
        ({"depth": 3, "nodes": 10}, "one of depth, nodes and seconds"),
        ({"nodes": -1}, "not a negative number"),
        ({"processes": 0}, "processes must be from 1 to 256, not 0"),
    ],
)
def test_limits_are_checked(misbehaving, options, advice):
    with pytest.raises(BadInput, match=advice):
        Engine(misbehaving("good"), **options)


def test_a_forked_child_starts_programs_of_its_own(misbehaving):
    with Engine(misbehaving("good")) as engine:
        engine.evaluate(rows(START))
        child = os.fork()
        if child == 0:
            told = engine.evaluate(rows(HANGING)).tolist()
            engine.close()
            os._exit(0 if told == [SCORE] else 1)
        assert os.waitpid(child, 0)[1] == 0
        assert engine.evaluate(rows(START.replace("KQkq", "-"))).tolist() == [SCORE]
        assert engine.restarts == 0


# The real one -----------------------------------------------------------------------------------------------------


@needs_stockfish
def test_stockfish_finds_what_hangs_and_who_is_mated():
    with Engine(depth=4) as engine:
        values = engine.evaluate(rows(HANGING, "7k/5KQ1/8/8/8/8/8/8 b - - 0 1", START))
        assert values[0] > 500 and values[1] == WIN and abs(values[2]) < 150
        assert engine.best_moves(HANGING)[0][0] == "e3d4"
        mating = engine.analyse(rows("7k/5K2/6Q1/8/8/8/8/8 w - - 0 1"))[0]
        assert max(mating.values()) == WIN - 1
        assert engine.restarts == engine.failures == 0


@needs_stockfish
def test_stockfish_judges_all_legal_moves_and_more_processes_say_the_same():
    import chess

    boards = positions(12, seed=5)
    with Engine(depth=3, forgetful=True) as one, Engine(depth=3, forgetful=True, processes=2) as two:
        lines = one.analyse(boards)
        assert lines == two.analyse(boards)
        for board, found in zip(boards, lines, strict=True):
            legal = chess.Board(notation.fen(8, board)).legal_moves
            assert {notation.coordinates(8, board, move) for move in found} == {move.uci() for move in legal}


@needs_stockfish
def test_stockfish_survives_what_crashes_it():
    boards = rows("8/8/8/3k4/8/8/8/8 w - - 0 1", "8/8/8/3Kk3/8/8/8/8 w - - 0 1", START)
    with Engine(depth=1) as engine:
        engine.evaluate(boards)
        assert engine.asked == 1 and engine.restarts == 0


@needs_stockfish
def test_a_search_over_sets_of_boards_takes_an_engine_for_its_leaves():
    game = fl.load_game("rbc")
    rows = np.zeros((1, num_words(game)), np.uint64)
    begin(game, rows[0])
    step(game, rows[0], 64)  # white senses nothing
    with Engine(depth=1) as engine:
        plain, exact = (
            SetSearch(game, 1, turns=2, mode=mode, evaluate=engine.evaluate).valuations(rows)
            for mode in ("baseline", "exact")
        )
    assert plain.values == exact.values
    assert len(set(plain.values)) > 5 and abs(np.array(plain.values)).max() < 400
