"""The agent `scout` and what it is made of: plausible boards, captures played out, where to look, what to request."""

import math
import random

import numpy as np
import pytest
from test_uci import needs_stockfish

import foglight as fl
from foglight.arena.referee import play_game
from foglight.blind_chess import choices as blind_chess
from foglight.blind_chess.boards import Boards
from foglight.blind_chess.captures import WIN, quiet, quiet_room
from foglight.blind_chess.choices import CAUGHT, INNER, UNNOTICED, chances, gains, information
from foglight.blind_chess.plausible_boards import RUSHING, PlausibleBoards
from foglight.chess import blind, notation
from foglight.chess.moves import NUM_MOVES
from foglight.names import BadInput

BLACK, WHITE = 0, 1
QUICK = "scout(engine=none,sample=30,cap=2000)"


def board(fen):
    return notation.read_fen(fen + " - - 0 1")[1]


def move(position, text):
    return notation.read_coordinates(position, text)


# Captures ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "fen, low, high",
    [
        ("4k3/8/8/3q4/8/4N3/8/4K3 w", 250, 450),  # the knight takes the queen: a knight is left
        ("4k3/8/4p3/3p4/8/4N3/8/4K3 w", -60, 250),  # the pawn is guarded, so the knight leaves it
        ("4k3/8/8/3q4/8/4N3/8/4K3 b", 400, 700),  # black's queen is up against a knight, and need not be lost
        ("3rk3/8/8/3r4/8/3R4/3R4/4K3 w", 450, 550),  # two rooks against two: who takes first takes last
        ("4k3/8/8/8/8/8/4R3/4K3 w", WIN - 1, WIN - 1),  # the king can be taken
    ],
)
def test_captures_are_played_out(fen, low, high):
    assert low <= quiet(board(fen), quiet_room()) <= high


# Boards -----------------------------------------------------------------------------------------------------------


def told_of_random_play(seed, turns):
    """What white is told in a random game."""
    state, rng = fl.new_state("rbc"), random.Random(seed)
    while state.player != fl.TERMINAL and len(state.history()) < 4 * turns:
        yield state, len(state.observations(WHITE))
        state.play(rng.choice(state.actions()))


def test_plausible_boards_are_the_possible_ones_weighed():
    for seed in range(3):
        exact, weighed, known = Boards(WHITE), PlausibleBoards(WHITE, cap=100_000), 0
        for state, seen in told_of_random_play(seed, 4):
            for code in state.observations(WHITE)[known:]:
                exact.observe(code)
                weighed.observe(code)
            known = seen
            positions = weighed.boards & ~np.array([0, 0, 0, 0, RUSHING], np.uint64)
            assert {row.tobytes() for row in exact.boards} == {row.tobytes() for row in positions}
            assert weighed.positions == exact.size
            assert weighed.weights.sum() == pytest.approx(1.0) and weighed.weights.min() > 0.0
    assert weighed.corrections == 0


def test_boards_on_which_a_queen_was_not_taken_weigh_less():
    # the knight on c6 could have taken the queen on d4, the one on h8 could not; nothing was taken
    belief = PlausibleBoards(WHITE)
    belief.boards = np.array([board(f"{fen}/3Q4/8/8/4K3 b") for fen in ("4k3/8/2n5/8", "4k2n/8/8/8")])
    belief.weights = np.full(2, 0.5)
    belief.opponent_moved()
    far = {notation.read_square(name) for name in ("h8", "f7", "g6")}
    knights = [next(i for i, sign in enumerate(notation.letters(row)) if sign == "n") for row in belief.boards]
    unlikely = sum(weight for weight, square in zip(belief.weights, knights, strict=True) if square not in far)
    assert 0.05 < unlikely < 0.35


def test_judged_moves_are_likelier():
    start = "4k3/p7/8/8/8/8/8/4K3 b - - 0 1"

    def judge(boards):
        return [{move(row, "a7a5"): 500, move(row, "a7a6"): 0} for row in boards]

    plain, judged = PlausibleBoards(WHITE, fen=start), PlausibleBoards(WHITE, fen=start, judge=judge)
    for belief in (plain, judged):
        belief.opponent_moved()
    far = np.uint64(1 << 32)  # a5
    shares = [float(belief.weights[(belief.boards[:, 0] & far) != 0][0]) for belief in (plain, judged)]
    assert shares[0] < 0.2 and shares[1] > 0.4


def test_a_sample_that_dies_is_corrected():
    corrections = 0
    for seed in range(6):
        belief, known = PlausibleBoards(WHITE, cap=2, seed=seed), 0
        for state, seen in told_of_random_play(seed, 25):
            for code in state.observations(WHITE)[known:]:
                belief.observe(code)
            known = seen
            own = int(state.world[3])
            assert (belief.boards[:, 3] == own).all(), "own pieces are known"
            kings = belief.boards[:, 0] & belief.boards[:, 1] & ~belief.boards[:, 2] & ~belief.boards[:, 3]
            assert all(int(word).bit_count() == 1 for word in kings)
        corrections += belief.corrections
    assert corrections > 10


# Where to look ----------------------------------------------------------------------------------------------------


def test_a_look_tells_as_much_as_the_boards_differ():
    # a knight on b8 or c6, and far away a pawn on g7, g6 or g5: one bit and log2(3) bits
    fens = []
    for eighth, sixth in (("1n2k3", "8"), ("4k3", "2n5")):
        with_pawn = sixth.replace("8", "6p1").replace("2n5", "2n3p1")
        fens += [f"{eighth}/6p1/{sixth}/8/8/8/8/4K3 w", f"{eighth}/8/{with_pawn}/8/8/8/8/4K3 w"]
        fens += [f"{eighth}/8/{sixth}/6p1/8/8/8/4K3 w"]
    boards, weights = np.array([board(fen) for fen in fens]), np.full(6, 1 / 6)
    bits = dict(zip((notation.square_name(square) for square in INNER), information(boards, weights), strict=True))
    assert bits["b7"] == pytest.approx(1.0)  # sees b8 and c6
    assert bits["g6"] == pytest.approx(math.log2(3))
    assert bits["g7"] == pytest.approx(math.log2(3))  # g7, g6, or neither
    assert bits["g4"] == pytest.approx(-(1 / 3) * math.log2(1 / 3) - (2 / 3) * math.log2(2 / 3))
    assert bits["d3"] == pytest.approx(0.0)
    assert max(bits.values()) == pytest.approx(math.log2(3))
    agent = fl.load_agent(QUICK)
    agent.start("rbc", WHITE, 0)
    agent.belief.boards, agent.belief.weights = boards, weights
    assert notation.square_name(agent.act()) in {name for name, value in bits.items() if value > 1.5}


def test_a_look_gains_where_it_changes_the_request():
    # a rook on a1 may take an undefended queen on a8 or on h1: looking at either square tells which
    boards = np.array([board("q3k3/8/8/8/8/2K5/8/R7 w"), board("4k3/8/8/8/8/2K5/8/R6q w")])
    requests = np.array([move(boards[0], "a1a8"), move(boards[0], "a1h1")])
    values = np.array([[0.9, 0.1], [0.1, 0.9]])
    gained = dict(zip(INNER.tolist(), gains(boards, np.full(2, 0.5), values), strict=True))
    assert gained[notation.read_square("b7")] == pytest.approx(0.4)  # 0.9 instead of 0.5
    assert gained[notation.read_square("d4")] == pytest.approx(0.0)
    real = chances(boards, requests)
    assert real[0, 0] > real[0, 1] and real[1, 1] > real[1, 0]


# What to request --------------------------------------------------------------------------------------------------


def test_kings_taken_caught_and_attacked():
    positions = np.array(
        [board("4k3/8/8/8/8/8/4R3/4K3 w"), board("4r1k1/8/8/8/8/8/4N3/4K3 w"), board("6k1/8/8/8/8/8/8/R3K3 w")]
    )
    assert chances(positions[:1], np.array([move(positions[0], "e2e8")]))[0, 0] == 1.0
    assert chances(positions[1:2], np.array([move(positions[1], "e2c3")]))[0, 0] == CAUGHT
    known = np.full((1, NUM_MOVES + 1), np.nan)
    known[0, move(positions[2], "a1a8")] = 0.0
    assert chances(positions[2:], np.array([move(positions[2], "a1a8")]), known)[0, 0] == 0.5 + UNNOTICED * 0.5


def test_chances_are_the_same_without_the_jit():
    boards = np.array([board("r1bqk2r/pppp1ppp/2n2n2/4p3/1bB1P3/2N2N2/PPPP1PPP/R1BQK2R w")])
    requests = np.append(blind_chess.list_requests(boards[0]), blind.NONE)
    known = np.full((1, NUM_MOVES + 1), np.nan)
    slow = blind_chess._chances.py_func(boards, requests, known, quiet_room())
    assert chances(boards, requests) == pytest.approx(slow)


def test_a_king_that_is_there_is_taken():
    state = fl.new_state("rbc")
    for text in ("no sense", "e2e4", "no sense", "f7f6", "no sense", "d1h5", "no sense", "pass"):
        state.play(state.parse_action(text))
    agent = fl.load_agent(QUICK)
    agent.start("rbc", WHITE, 0)
    for code in state.observations(WHITE):
        agent.observe(code)
    sense = state.parse_action("sense f7")  # the king is still on e8, and nothing between
    state.play(sense)
    agent.observe(state.observations(WHITE)[-1])
    assert state.action_text(agent.act(state.actions())) == "h5e8"
    assert max(agent.explain().values) > 0.9


# Whole games ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(2))
def test_games_are_legal_to_the_end(seed):
    record, state = play_game("rbc(turns=15)", [fl.load_agent(QUICK), fl.load_agent("random")], seed)
    assert state.player == fl.TERMINAL and record.returns[0] >= 0.0


def test_what_it_does_follows_from_seed_and_observations():
    state, rng = fl.new_state("rbc"), random.Random(2)
    going_on = fl.load_agent(QUICK)
    going_on.start("rbc", BLACK, 7)
    known = 0
    for _ in range(16):
        if state.player == BLACK:
            fresh = fl.load_agent(QUICK)
            fresh.start("rbc", BLACK, 7)
            for code in state.observations(BLACK):
                fresh.observe(code)
            for code in state.observations(BLACK)[known:]:
                going_on.observe(code)
            known = len(state.observations(BLACK))
            action = going_on.act(state.actions())
            assert fresh.act() == action, "told or not, the legal actions are the same"
            state.play(action)
        else:
            state.play(rng.choice(state.actions()))


def test_it_plays_rbc_only():
    with pytest.raises(BadInput, match="scout plays rbc only, not kuhn_poker"):
        fl.load_agent(QUICK).start("kuhn_poker", 0, 0)
    with pytest.raises(BadInput, match="no program '/nowhere'"):
        fl.load_agent('scout(engine="/nowhere")')


def test_short_of_time_it_asks_no_engine():
    agent = fl.load_agent(QUICK)
    agent.start("rbc", WHITE, 0)
    agent._engine = object()  # would fail if asked
    agent.seconds_left = 10.0
    agent.observe(1 + blind.NO_SENSE)
    assert agent.act() in agent.legal_actions()


@needs_stockfish
def test_with_stockfish_it_takes_what_hangs_and_mates():
    for fen, best in (
        ("rnb1kbnr/pppppppp/8/8/3q4/4P3/PPPP1PPP/RNBQKBNR w - - 0 1", "e3d4"),
        ("6k1/5ppp/8/8/8/8/8/R3K3 w - - 0 1", "a1a8"),
    ):
        agent = fl.load_agent("scout(nodes=2000)")
        agent.start("rbc", WHITE, 0)
        agent.belief = PlausibleBoards(WHITE, fen=fen)
        agent.observe(1 + blind.NO_SENSE)
        actions = agent.legal_actions()
        assert agent.act(actions) == blind.FIRST_MOVE + move(agent.belief.boards[0], best)
        agent._engine.close()
