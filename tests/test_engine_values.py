"""Payoffs of chess worlds by an engine: of many worlds in one call, and of none that is not legal chess."""

import math
import random

import numpy as np
import pytest
from misbehaving_engine import SCORE
from test_uci import needs_stockfish, positions, rows

import foglight as fl
from foglight.blind_chess.engine_values import EngineValues
from foglight.blind_chess.uci import Engine
from foglight.chess.board import WORDS
from foglight.chess.evaluation import SCALE, WON
from foglight.rules import new_worlds

GAME = fl.load_game("dark_chess(repetition=ignore)")
SQUASHED = SCORE / SCALE / math.sqrt(1 + (SCORE / SCALE) ** 2)


def worlds(boards):
    made = new_worlds(GAME, len(boards))
    made[:, :WORDS] = boards
    return made


def expected(boards):
    """The engine gives SCORE to whoever is to move; seat 0 is black. A draw by the clock comes nearer."""
    clocks = (boards[:, 4] >> np.uint64(11) & np.uint64(127)).astype(float) / 100
    return np.where(boards[:, 4] & np.uint64(1) == np.uint64(1), -SQUASHED, SQUASHED) * (1 - clocks**2)


@pytest.mark.parametrize("how", ["good", "dies", "babbles"])
def test_values_are_those_of_seat_0_and_an_engine_that_fails_is_asked_again(misbehaving, how):
    boards = positions(8)
    with EngineValues(GAME, misbehaving(how)) as engine:
        np.testing.assert_allclose(engine.values(worlds(boards)), expected(boards))
        assert engine.engine.asked == 8 and engine.engine.failures == 0
        assert (engine.engine.restarts > 0) == (how != "good")
        np.testing.assert_allclose(engine.values(worlds(boards[::-1])), expected(boards)[::-1])
        assert engine.engine.asked == 8  # answers are remembered


def test_worlds_that_are_no_chess_are_decided_without_the_engine(misbehaving):
    cases = {
        "4k3/8/8/8/8/8/8/K3R3 w - - 0 1": -WON,  # white takes the king
        "8/8/8/3Kk3/8/8/8/8 b - - 0 1": WON,
    }
    with EngineValues(GAME, misbehaving("dead")) as engine:
        assert engine.values(worlds(rows(*cases))).tolist() == list(cases.values())
        assert engine.engine.asked == 0


def test_a_world_at_the_end_of_a_game_has_its_payoff(misbehaving):
    rng, ends, payoffs = random.Random(0), [], []
    for _ in range(5):
        state = fl.new_state(GAME)
        while state.player != fl.TERMINAL:
            state.play(rng.choice(state.actions()))
        ends.append(state.world.copy())
        payoffs.append(state.returns()[0])
    boards = positions(5)
    with EngineValues(GAME, misbehaving("good")) as engine:
        values = engine.values(np.stack([ends, worlds(boards)], axis=1).reshape(10, -1))  # every other game is over
        assert values[::2].tolist() == payoffs and set(payoffs) >= {-1.0, 1.0}
        np.testing.assert_allclose(values[1::2], expected(boards))
        assert engine.engine.asked == 5


@pytest.mark.parametrize("batch", [3, 64])
def test_positions_sent_at_once_have_the_answers_of_positions_sent_one_by_one(misbehaving, batch):
    boards = positions(10, seed=5)
    with Engine(misbehaving("good")) as singly, Engine(misbehaving("dies"), batch=batch) as at_once:
        assert at_once.evaluate(boards).tolist() == singly.evaluate(boards).tolist()
        assert at_once.restarts > 0 and at_once.failures == 0


@pytest.mark.parametrize("game", ["dark_chess(size=5)", "kuhn_poker"])
def test_other_games_are_refused(game):
    with pytest.raises(fl.BadInput, match=r"engines value dark_chess\(size=8\), not .*; give leaf=evaluation"):
        EngineValues(fl.load_game(game))


def test_an_engine_values_all_actions_or_none():
    with pytest.raises(fl.BadInput, match="leave out tries=one"):
        fl.load_agent("pimc(leaf=engine,tries=one)")
    with pytest.raises(fl.BadInput, match="must be rollout, evaluation, minimax or value"):
        fl.load_agent("epimc(leaf=engine)")


@needs_stockfish
def test_stockfish_knows_who_is_ahead():
    fens = (
        "rnb1kbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",  # black has no queen
        "rnb1kbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR b KQkq - 0 1",
        "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNB1KBNR b KQkq - 0 1",
    )
    with EngineValues(GAME) as engine:
        first, second, third = engine.values(worlds(rows(*fens)))
        assert -1 < first < -0.5 and -1 < second < -0.5 and 1 > third > 0.5
        many = worlds(positions(200, seed=7))
        values = engine.values(many)
        assert len(values) == 200 and np.all(np.abs(values) < 1) and engine.engine.failures == 0


@needs_stockfish
def test_pimc_asks_an_engine_and_takes_a_queen():
    game = fl.load_game('dark_chess(repetition=ignore,start="4k3/pppp4/8/8/3q4/4P3/PPP5/4K3 w - - 0 1")')
    with fl.load_agent("pimc(leaf=engine,iterations=400)") as agent:
        agent.start(game, 1, 0)
        assert fl.new_state(game).action_text(agent.act()) == "exd4"
        assert agent.fusion() == (0, 0)
