"""Sets of possible boards, against the same sets made board by board with `reconchess`, and against the truth."""

import random
from collections import defaultdict

import chess
import numpy as np
import pytest
from reconchess.utilities import capture_square_of_move, move_actions, revise_move

import foglight as fl
from foglight.bench.boards import tasks
from foglight.bits import get
from foglight.blind_chess.boards import NONE, Boards
from foglight.chess import blind, notation
from foglight.chess.board import TURN
from foglight.chess.moves import list_moves, move_between
from foglight.worlds.regeneration import BeliefLost

BLACK, WHITE = 0, 1


# The slow way ---------------------------------------------------------------------------------------------------


def board_of(row):
    return chess.Board(notation.fen(8, row))


def name_of(board):
    """A board as four fields of a FEN, an en passant square only where a pawn can take."""
    fields = board.fen(en_passant="fen").split()[:4]
    if not any(board.generate_pseudo_legal_ep()):
        fields[3] = "-"
    return " ".join(fields)


def name_after(board, move):
    board = board.copy(stack=False)
    board.push(move or chess.Move.null())
    return name_of(board)


def our_names(belief):
    """Each board with its weight."""
    return {
        " ".join(notation.fen(8, row).split()[:4]): weight
        for row, weight in zip(belief.boards, belief.weights, strict=True)
    }


class Slow:
    """The same belief, from name to weight, by what `reconchess` says becomes of requests."""

    def __init__(self, seat, fen):
        self.seat, self.weights = seat, {name_of(chess.Board(fen)): 1.0}

    def opponent_moved(self, taken):
        found = defaultdict(float)
        for board, weight in self._boards():
            outcomes = {revise_move(board, request) for request in move_actions(board)} | {None}
            for move in outcomes:
                if capture_square_of_move(board, move) == taken:
                    found[name_after(board, move)] += weight / len(outcomes)
        self._adopt(found)

    def sensed(self, state, square):
        near = chess.SquareSet(int(blind.WINDOW[square]))
        truth = board_of(state.world)
        self._adopt(
            {
                name_of(board): weight
                for board, weight in self._boards()
                if all(board.piece_at(at) == truth.piece_at(at) for at in near)
            }
        )

    def moved(self, request, taken_move, taken):
        found = defaultdict(float)
        for board, weight in self._boards():
            move = None if request is None else revise_move(board, request)
            same = (move, capture_square_of_move(board, move)) == (taken_move, taken)
            if same and board.king(not board.turn) != taken:
                found[name_after(board, move)] += weight
        self._adopt(found)

    def _boards(self):
        for name, weight in self.weights.items():
            yield chess.Board(f"{name} 0 1"), weight

    def _adopt(self, found):
        total = sum(found.values())
        self.weights = {name: weight / total for name, weight in found.items()}


def follow(slow, before, action, after):
    """Tell the slow belief what happened, from the true positions."""
    board, mover = board_of(before.world), before.player
    if action < blind.FIRST_MOVE:
        if mover == slow.seat and action != blind.NO_SENSE:
            slow.sensed(before, action)
        return
    request = None if action == blind.PASS else chess.Move.from_uci(before.action_text(action))
    move = None if request is None else revise_move(board, request)
    taken = capture_square_of_move(board, move)
    if mover == slow.seat:
        slow.moved(request, move, taken)
    else:
        slow.opponent_moved(taken)


def middle(rng):
    """A position of a random game, at which somebody is about to sense."""
    while True:
        state = fl.new_state("rbc")
        for _ in range(2 * rng.randint(0, 60)):
            if state.player != fl.TERMINAL:
                state.play(rng.choice(state.actions()))
        if state.player != fl.TERMINAL:
            return state


@pytest.mark.parametrize("part", [0, pytest.param(1, marks=pytest.mark.long)])
def test_boards_and_weights_are_those_of_the_slow_way(part):
    rng, compared, largest = random.Random(part), 0, 0
    for _ in range(25):
        state = middle(rng)
        seat, fen = rng.randrange(2), notation.fen(8, state.world)
        fast, slow = Boards(seat, fen=fen), Slow(seat, fen)
        while state.player != fl.TERMINAL and len(slow.weights) < 60:
            before, action = state.clone(), rng.choice(state.actions())
            state.play(action)
            if state.player != fl.TERMINAL:
                fast.observe(state.observations(seat)[-1])
                follow(slow, before, action, state)
                names = our_names(fast)
                assert len(names) == fast.size
                assert names == pytest.approx(slow.weights)
                compared, largest = compared + 1, max(largest, fast.size)
        assert fast.exact
    assert compared > 150
    assert largest > 500


def test_boards_with_rights_to_castle_and_en_passant_follow_too():
    # black may castle to both sides and take en passant, and white has just seen it; then black moves unseen
    fen = "r3k2r/p6p/8/8/3pP3/8/P6P/R3K2R b KQkq e3 0 1"
    fast, slow = Boards(WHITE, fen=fen), Slow(WHITE, fen)
    fast.opponent_moved()
    slow.opponent_moved(None)
    names = our_names(fast)
    assert names == pytest.approx(slow.weights)
    assert "2kr3r/p6p/8/8/3pP3/8/P6P/R3K2R w KQ -" in names
    assert "r4rk1/p6p/8/8/3pP3/8/P6P/R3K2R w KQ -" in names
    passed = Boards(WHITE, fen=fen)
    passed.opponent_moved(chess.E4)
    assert set(our_names(passed)) == {"r3k2r/p6p/8/8/8/4p3/P6P/R3K2R w KQkq -"}


def test_what_was_taken_was_no_king_if_the_game_goes_on():
    belief = Boards(WHITE, fen="1k6/2n5/8/8/8/8/8/R6K b - - 0 1")
    belief.opponent_moved()
    request = int(move_between(chess.A1, chess.A8))
    belief.moved(request, request, chess.A8)
    assert set(our_names(belief)) == {"Rk6/8/8/8/8/8/8/7K b - -"}  # the knight was there, the king cannot have been


# The truth ------------------------------------------------------------------------------------------------------


def telling_square(belief, rng):
    """The window of which boards of the set differ most, judged by 200 of them."""
    rows = belief.boards[[rng.randrange(belief.size) for _ in range(200)], :4]
    inner = [8 * rank + file for rank in range(1, 7) for file in range(1, 7)]

    def expected(square):
        _, counts = np.unique(rows & blind.WINDOW[square], axis=0, return_counts=True)
        return (counts**2).sum()

    return min(inner, key=expected)


@pytest.mark.parametrize("games", [8, pytest.param(30, marks=pytest.mark.long)])
def test_the_true_board_is_in_the_set_while_it_is_exact(games):
    rng, looked, sizes = random.Random(11), 0, []
    for _ in range(games):
        state = fl.new_state("rbc(turns=40)")
        beliefs = [Boards(seat, cap=30_000) for seat in (BLACK, WHITE)]
        while state.player != fl.TERMINAL and any(belief.exact for belief in beliefs):
            seat = state.player
            if blind.NO_SENSE in state.actions():
                state.play(telling_square(beliefs[seat], rng) if beliefs[seat].exact else blind.NO_SENSE)
            else:
                state.play(rng.choice(state.actions()))
            for belief in beliefs:
                if belief.exact:
                    belief.observe(state.observations(belief.seat)[-1])
                if belief.exact and state.player != fl.TERMINAL:
                    truth = state.world[:5].copy()
                    truth[4] &= np.uint64(2**11 - 1)
                    assert (belief.boards == truth).all(1).sum() == 1
                    looked += 1
                    sizes.append(belief.size)
    assert looked > 50 * games
    assert max(sizes) > 10_000


# Samples --------------------------------------------------------------------------------------------------------


def two_plies(cap, seed=0):
    """White passes twice, and black moves twice unseen."""
    belief = Boards(WHITE, cap=cap, seed=seed)
    for _ in range(2):
        belief.moved(NONE, NONE)
        belief.opponent_moved()
    return belief


def test_above_the_cap_a_sample_stands_for_all():
    everything = our_names(two_plies(1000))
    advanced = [name for name in everything if name.startswith("rnbqkbnr/pppp1ppp/")]  # the e pawn, and nothing else
    share = sum(everything[name] for name in advanced)
    found = []
    for seed in range(300):
        belief = two_plies(50, seed)
        assert not belief.exact
        assert belief.size <= 50
        assert belief.weights.sum() == pytest.approx(1)
        names = our_names(belief)
        assert names.keys() <= everything.keys()
        found.append(sum(names.get(name, 0.0) for name in advanced))
    # the mean is normal within 5 standard errors, a false alarm once in 2e6
    assert abs(np.mean(found) - share) < 5 * np.std(found) / len(found) ** 0.5


def test_a_set_below_the_cap_is_all_there_is():
    belief, slow = two_plies(1000), Slow(WHITE, chess.STARTING_FEN)
    for _ in range(2):
        slow.moved(None, None, None)
        slow.opponent_moved(None)
    assert belief.exact
    assert our_names(belief) == pytest.approx(slow.weights)


def test_what_no_board_explains_is_refused():
    belief = Boards(WHITE)
    with pytest.raises(fl.BadInput, match="not the turn"):
        belief.opponent_moved()
    belief.moved(NONE, NONE)
    with pytest.raises(fl.BadInput, match="no board explains"):
        belief.opponent_moved(chess.A1)  # black reaches nothing in one move
    with pytest.raises(fl.BadInput, match="cap must be"):
        Boards(WHITE, cap=0)
    with pytest.raises(fl.BadInput, match="seat must be"):
        Boards(2)


def test_a_lost_sample_says_what_to_do():
    belief = two_plies(10)
    with pytest.raises(BeliefLost, match="larger cap"):
        belief.sensed(chess.B2, 0)  # white's own pieces are gone


def test_the_bench_makes_the_same_boards_as_python_chess():
    (against,), figures = (task() for task in tasks(seconds=0.01, many=2000))
    assert against.peer is not None  # it has checked that both sides find the same number
    assert [figure.unit for figure in figures] == [" s", " MB", " s", " MB"]
    assert "follow 2,000, a sample of 2,000: 2,000 different ones" in figures[2].what


@pytest.mark.plain
def test_what_black_knows_after_a_sense():
    belief = Boards(BLACK)
    belief.opponent_moved()
    assert belief.size == 21  # twenty moves, or none
    belief.sensed(chess.E3, blind.window(belief.boards[-1], chess.E3))
    # nothing has moved on d2 to f4: ten moves of the other pawns, three of knights, or none
    assert belief.size == 14
    request = int(list_moves(8, belief.boards[0])[0])
    belief.moved(request, request)
    assert belief.size == 14
    assert get(belief.boards[0], TURN) == WHITE


@pytest.mark.parametrize("seat", [0, 1])
def test_codes_that_no_game_gives_are_refused_before_kernels_see_them(seat):
    state = fl.new_state("rbc")
    boards = Boards(seat)
    refused = 0
    for action in (10, blind.FIRST_MOVE + move_between(12, 28), 10):
        seen = len(state.observations(seat))
        if state.player == seat:
            codes = (-5, 0, 1 + 200, 1 + 255 + (3 << 13)) if action < blind.FIRST_MOVE else (5, 1 + 8000, -(2**62))
        else:
            codes = () if action < blind.FIRST_MOVE else (2 + 100,)
        for code in codes:
            before = boards.boards.tobytes()
            with pytest.raises(fl.BadInput, match=f"^{code} is no observation that blind chess gives here$"):
                boards.observe(code)
            assert boards.boards.tobytes() == before
            refused += 1
        state.play(action)
        for code in state.observations(seat)[seen:]:
            boards.observe(code)
    assert refused >= 5
