"""Reconnaissance Blind Chess in lock step with `reconchess`, and with OpenSpiel's `rbc` where rules are the same."""

import random
from collections import Counter

import chess
import numpy as np
import pyspiel
import pytest
from reconchess import LocalGame, WinReason
from reconchess.utilities import add_pawn_queen_promotion, capture_square_of_move, revise_move

import foglight as fl
from foglight.bits import get
from foglight.chess import blind, moves, notation
from foglight.chess.board import CASTLING, CLOCK, PAWN, TURN, kind_at
from foglight.compile import kernel
from foglight.randomness import generator
from foglight.rules import key, max_legal

BLACK, WHITE = 0, 1
KEYS = [7778677198534363312, 16777194938002630325, 17091812595977842954]
DRAWS = {"turn limit": WinReason.TURN_LIMIT, "too many reversible moves": WinReason.MOVE_LIMIT}


# The two sides --------------------------------------------------------------------------------------------------


def uci(board, move):
    """Our move as `reconchess` has it, the king's step for castling."""
    start, end, special = (int(part) for part in moves.meaning_seen(move))
    if get(board, TURN) == BLACK:
        start, end = start ^ 56, end ^ 56
    last = end // 8 in (0, 7) and kind_at(board, start) == PAWN
    promoted = (chess.QUEEN, chess.ROOK, chess.BISHOP, chess.KNIGHT)[special] if last else None
    return chess.Move(start, end, promoted)


def same_board(ours, theirs):
    """FENs are equal; we have an en passant square only where a pawn can take."""
    expected = theirs.fen(en_passant="fen").split()
    if not any(theirs.generate_pseudo_legal_ep()):
        expected[3] = "-"
    fields = notation.fen(8, ours).split()
    if theirs.king(chess.WHITE) is None or theirs.king(chess.BLACK) is None:
        fields[2] = expected[2]  # with the king go the rights to castle there, and not here
    assert fields == expected


def contents(seen, square):
    """A window as `reconchess` lists it."""
    words = np.zeros(4, np.uint64)
    blind.unfold(seen, square, words)
    letters = notation.letters(words)
    near = [
        chess.square(file, rank)
        for rank in (square // 8 + 1, square // 8, square // 8 - 1)
        for file in (square % 8 - 1, square % 8, square % 8 + 1)
        if 0 <= rank < 8 and 0 <= file < 8
    ]
    return [(at, None if letters[at] == "." else chess.Piece.from_symbol(letters[at])) for at in near]


def square_or_none(square):
    return None if square == blind.NONE else int(square)


class Both:
    """One game on both sides; every step is compared."""

    def __init__(self, turns=None, reversible=100):
        self.ours = fl.new_state(f"rbc(turns={turns or 'none'},reversible={reversible})")
        self.theirs = LocalGame(None, None, reversible, turns)
        self.theirs.start()
        self.events = Counter()
        self.compare()

    def compare(self):
        same_board(self.ours.world, self.theirs.board)
        over = self.theirs.is_over()
        assert (self.ours.player == fl.TERMINAL) == over
        if over:
            winner, reason = self.theirs.get_winner_color(), self.theirs.get_win_reason()
            value = 0.0 if winner is None else 1.0 if winner == chess.WHITE else -1.0
            assert self.ours.returns() == [-value, value]
            ending = str(self.ours).splitlines()[-1]
            assert DRAWS.get(ending, WinReason.KING_CAPTURE) == reason
            self.events[reason] += 1
        else:
            assert bool(self.ours.player) == self.theirs.turn

    def sense(self, action):
        """Sense around a square, or nothing."""
        seat, nothing = self.ours.player, action == blind.NO_SENSE
        assert self.ours.actions() == [*self.theirs.sense_actions(), blind.NO_SENSE]
        result = self.theirs.sense(None if nothing else action)
        self.ours.play(action)
        done, seen = blind.parted_sense(self.ours.observations(seat)[-1])
        assert done == action
        assert result == ([] if nothing else contents(seen, action))
        assert self.ours.observations(1 - seat)[-1] == self.ours.observations(fl.PUBLIC)[-1] == 1

    def requests(self):
        """What may be requested, the same on both sides: from theirs to our actions."""
        found = {uci(self.ours.world, action - blind.FIRST_MOVE): action for action in self.ours.actions()[:-1]}
        assert self.ours.actions()[-1] == blind.PASS
        listed = self.theirs.move_actions()
        assert set(found) == {add_pawn_queen_promotion(self.theirs.board, move) for move in listed}
        assert len(listed) == len(set(listed))
        return found

    def move(self, action, bare=False):
        """Request a move, or pass; `bare` leaves out that a pawn becomes a queen."""
        seat, request = self.ours.player, None
        if action != blind.PASS:
            request = uci(self.ours.world, action - blind.FIRST_MOVE)
            if bare and request.promotion == chess.QUEEN:
                request = chess.Move(request.from_square, request.to_square)
        kind = self.theirs.board.piece_type_at(request.from_square) if request else None
        castles = request is not None and self.theirs.board.is_castling(request)
        _, taken, captured = self.theirs.move(request)
        self.theirs.end_turn()
        self.ours.play(action)
        done, landed, where, result = blind.parted_move(self.ours.observations(seat)[-1])
        assert done == action
        assert square_or_none(where) == captured == self.theirs.opponent_move_results()
        if castles:
            assert (landed == blind.NONE) == (taken is None)
        else:
            assert square_or_none(landed) == (taken.to_square if taken else None)
        told = self.ours.observations(fl.PUBLIC)[-1]
        assert self.ours.observations(1 - seat)[-1] == told
        assert blind.parted_other(told) == (where, result)
        assert (result == 0) == (not self.theirs.is_over())
        self.note(kind, castles, request, taken, captured)
        self.compare()

    def note(self, kind, castles, request, taken, captured):
        if request is None:
            what = "pass"
        elif castles:
            what = "castling" if taken else "castling fails"
        elif kind == chess.PAWN:
            aslant = request.to_square % 8 != request.from_square % 8
            what = f"pawn {'takes' if aslant else 'goes'}" if taken else f"pawn cannot {'take' if aslant else 'go'}"
            if taken and taken.to_square != request.to_square:
                what = "pawn stops"
            elif taken and captured is not None and captured != taken.to_square:
                what = "en passant"
            elif taken and taken.promotion:
                self.events[f"becomes {taken.promotion}"] += 1
        else:
            what = "goes" if taken.to_square == request.to_square else "is stopped"
        self.events[what] += 1


# Random games ---------------------------------------------------------------------------------------------------


def random_game(rng, turns=None, reversible=100):
    """Both seats play at random, half of the time something special where there is something."""
    both = Both(turns, reversible)
    while both.ours.player != fl.TERMINAL:
        both.sense(rng.randrange(65))
        requests, board = both.requests(), both.theirs.board
        special = [
            action
            for request, action in requests.items()
            if request.promotion or board.is_castling(request) or board.is_en_passant(request)
        ]
        action = rng.choice([*requests.values(), blind.PASS])
        both.move(rng.choice(special) if special and rng.random() < 0.5 else action, bare=rng.random() < 0.5)
    return both.events


@pytest.mark.parametrize("part", [0, *(pytest.param(part, marks=pytest.mark.long) for part in (1, 2, 3))])
def test_random_games_are_those_of_reconchess(part):
    rng, events = random.Random(part), Counter()
    for i in range(125 if part else 70):
        turns = rng.randint(1, 60) if i % 3 == 1 else None
        events += random_game(rng, turns, rng.randint(1, 30) if i % 6 > 3 else 100)
    assert set(events) >= {
        "pass", "castling", "pawn goes", "pawn stops", "pawn cannot go", "pawn takes", "pawn cannot take", "en passant",
        "goes", "is stopped", WinReason.KING_CAPTURE, WinReason.TURN_LIMIT, WinReason.MOVE_LIMIT,
        *(f"becomes {kind}" for kind in (chess.QUEEN, chess.ROOK, chess.BISHOP, chess.KNIGHT)),
    }  # fmt: skip


def outcomes_agree(board):
    """Every request in a position, the same there and becoming the same; what becomes of them."""
    _, words = notation.read_fen(board.fen(en_passant="fen"))
    room, found = np.empty(max_legal(fl.load_game("rbc")), np.int64), Counter()
    for move in room[: blind.write_requests(words, room)].tolist():
        request, after, theirs = uci(words, move), words.copy(), board.copy(stack=False)
        taken = revise_move(board, request)
        became = blind.outcome(words, move)
        assert (None if became == blind.NONE else uci(words, became)) == taken
        _, where = blind.play_outcome(after, became)
        captured = capture_square_of_move(board, taken)
        assert where == (captured or 0)
        theirs.push(taken or chess.Move.null())
        same_board(after, theirs)
        castles = board.is_castling(request)
        found["fails" if taken is None else "castles" if castles else "changed" if taken != request else "done"] += 1
        found["castling fails"] += castles and taken is None
    return found


def scattered(rng):
    """A position with kings, rooks and pieces anywhere, often with rights to castle and a pawn that may be passed."""
    board = chess.Board(None)
    board.turn = rng.random() < 0.5
    for colour, rank in ((chess.WHITE, 0), (chess.BLACK, 7)):
        board.set_piece_at(chess.square(4, rank), chess.Piece(chess.KING, colour))
        for file in (0, 7):
            if rng.random() < 0.8:
                board.set_piece_at(chess.square(file, rank), chess.Piece(chess.ROOK, colour))
    if rng.random() < 0.5:
        file, up = rng.randrange(8), 1 if board.turn else -1
        passed = chess.square(file, 5 if board.turn else 2)
        board.set_piece_at(passed - 8 * up, chess.Piece(chess.PAWN, not board.turn))
        board.set_piece_at(passed - 8 * up + (1 if file < 7 else -1), chess.Piece(chess.PAWN, board.turn))
        board.ep_square = passed
    for _ in range(rng.randint(1, 14)):
        square, kind = rng.randrange(64), rng.choice(chess.PIECE_TYPES[:5])
        ranks = (0, 7) if kind == chess.PAWN else ()
        ep = board.ep_square
        free = ep is None or square not in (ep, ep + 8, ep - 8)
        if board.piece_at(square) is None and square // 8 not in ranks and free:
            board.set_piece_at(square, chess.Piece(kind, rng.random() < 0.5))
    board.castling_rights = board.rooks & chess.BB_CORNERS
    board.castling_rights = board.clean_castling_rights()
    return board


def test_every_request_in_any_position_becomes_what_it_does_in_reconchess():
    rng, found = random.Random(7), Counter()
    for _ in range(300):
        found += outcomes_agree(scattered(rng))
    assert min(found[what] for what in ("done", "changed", "fails", "castles", "castling fails")) > 50


def test_a_random_request_is_any_request_or_a_pass_as_often_as_any_other():
    # each count is binomial and within 6 standard deviations, a false alarm once in 5e8 for each of 152 requests
    room, n = np.empty(max_legal(fl.load_game("rbc")), np.int64), 20_000
    for fen in (
        "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
        "r3k2r/Pppp1ppp/1b3nbN/nP6/BBP1P3/q4N2/Pp1P2PP/R2Q1RK1 b kq - 0 1",
    ):
        _, board = notation.read_fen(fen)
        requests = [*room[: blind.write_requests(board, room)].tolist(), moves.NUM_MOVES]
        seen = Counter(draws(board, n, generator(1)).tolist())
        assert set(seen) == set(requests)
        assert all(abs(seen[move] - n / len(requests)) < 6 * (n / len(requests)) ** 0.5 for move in requests)


@kernel
def draws(board, n, rng):
    """Random requests."""
    out, room = np.empty(n, np.int64), np.empty(400, np.int64)
    for i in range(n):
        out[i] = blind.random_request(board, rng, room)
    return out


# By hand --------------------------------------------------------------------------------------------------------


def played(*written, game="rbc"):
    """The state after requests, nobody sensing."""
    state = fl.new_state(game)
    for text in written:
        state.play(blind.NO_SENSE)
        state.play(state.parse_action(text))
    return state


def told(state, seat):
    """The last thing a seat was told, in words."""
    return state.information(seat).rsplit("so far: ", 1)[1].split("senses, ")[-1].split("no sense, ")[-1]


def placement(state):
    return notation.fen(8, state.world).split()[0]


def test_a_turn_is_a_sense_and_a_request():
    state = fl.new_state("rbc")
    assert (state.player, len(state.actions())) == (WHITE, 65)
    assert [state.action_text(action) for action in (0, 63, 64)] == ["sense a1", "sense h8", "no sense"]
    state.play(state.parse_action("sense b7"))
    assert state.player == WHITE
    assert len(state.actions()) == 20 + 14 + 1  # chess's own, pawns that take what may be there, passing
    state.play(state.parse_action("e2e4"))
    assert state.player == BLACK
    assert "sense b7 rnb/ppp/..., e2e4" in state.information(WHITE)
    assert state.information(BLACK).endswith("so far: white senses, white moves")


def test_a_window_ends_at_the_edge():
    for corner, seen in (("a1", "PP/RN"), ("h1", "PP/NR"), ("a8", "rn/pp"), ("h8", "nr/pp")):
        state = fl.new_state("rbc")
        state.play(state.parse_action(f"sense {corner}"))
        assert state.information(WHITE).endswith(f"so far: sense {corner} {seen}")


def test_a_rook_takes_the_first_piece_it_meets():
    state = played("a2a4", "b7b5", "a4b5", "a7a6", "a1a8")
    assert told(state, WHITE) == "a1a8 ends on a6, taking on a6"
    assert told(state, BLACK) == "white moves, taking on a6"


def test_a_double_step_ends_before_a_piece_or_fails():
    fails = played("a2a3", "b8c6", "a3a4", "c6e5", "a4a5", "e5g4", "a5a6", "g4e3", "e2e4")
    assert told(fails, WHITE) == "e2e4 fails"
    stops = played("a2a3", "g8f6", "a3a4", "f6e4", "e2e4")
    assert told(stops, WHITE) == "e2e4 ends on e3"
    free = played("a2a3", "g8f6", "a3a4", "f6g4", "e2e4")
    assert told(free, WHITE) == "e2e4"


def test_a_pawn_takes_only_what_is_there():
    state = played("e2e4", "d7d6", "e4d5")
    assert told(state, WHITE) == "e4d5 fails"
    assert placement(state) == "rnbqkbnr/ppp1pppp/3p4/8/4P3/8/PPPP1PPP/RNBQKBNR"
    assert told(state, BLACK) == "white moves"
    assert get(state.world, CLOCK) == 1  # a failed request is a pass, and counts as a reversible move


def test_en_passant_tells_where_the_pawn_was():
    state = played("e2e4", "a7a6", "e4e5", "d7d5", "e5d6")
    assert told(state, WHITE) == "e5d6, taking on d5"
    assert told(state, BLACK) == "white moves, taking on d5"
    late = played("e2e4", "a7a6", "e4e5", "d7d5", "pass", "a6a5", "e5d6")
    assert told(late, WHITE) == "e5d6 fails"


def test_castling_looks_at_no_attack_and_fails_if_anything_is_between():
    fails = played("e2e4", "b7b6", "g1f3", "c8a6", "f1e2", "a6e2", "g2g3", "e2f1", "O-O")
    assert told(fails, WHITE) == "e1g1 fails"
    assert get(fails.world, CASTLING) == 0b1111  # the right is kept
    attacked = played("g1f3", "b7b6", "g2g3", "c8a6", "f1h3", "pass", "e2e4", "pass", "e1g1")  # f1 is, by a6
    assert told(attacked, WHITE) == "e1g1"
    assert placement(attacked).endswith("/RNBQ1RK1")
    assert get(attacked.world, CASTLING) == 0b1100


def test_a_pawn_becomes_what_is_asked_for_and_a_queen_if_nothing_is():
    way = ("a2a4", "b7b5", "a4b5", "h7h6", "b5b6", "h6h5", "b6a7", "h5h4")
    for written, piece in (("a7b8n", "N"), ("a7b8", "Q"), ("a7b8q", "Q")):
        assert placement(played(*way, written)).startswith(f"r{piece}bqkbnr")
    assert told(played(*way, "a7a8r"), WHITE) == "a7a8r fails"


def test_the_king_is_taken_and_the_game_is_over():
    state = played("e2e4", "f7f6", "d1h5", "pass", "h5e8")
    assert state.player == fl.TERMINAL
    assert state.returns() == [-1.0, 1.0]
    assert told(state, BLACK) == "white moves, taking on e8, white takes the king"


def test_limits_count_turns_of_both_and_plies_of_each():
    assert played("e2e4", game="rbc(turns=1)").player == BLACK
    over = played("e2e4", "e7e5", game="rbc(turns=1)")
    assert (over.player, over.returns()) == (fl.TERMINAL, [0.0, 0.0])
    assert told(over, WHITE) == "black moves, turn limit"
    assert played("pass", "g8f6", "pass", game="rbc(reversible=3)").player == fl.TERMINAL
    assert played("pass", "g7g6", "pass", game="rbc(reversible=3)").player != fl.TERMINAL


@pytest.mark.plain
def test_a_game_is_the_same_without_the_jit():
    rng, state = random.Random(5), fl.new_state("rbc(turns=4)")
    while state.player != fl.TERMINAL:
        state.play(rng.choice(state.actions()))
    # what everybody has observed, as it was with the JIT when this was written
    assert [int(key(state.game, state.world, viewer)) for viewer in (fl.PUBLIC, BLACK, WHITE)] == KEYS


# OpenSpiel ------------------------------------------------------------------------------------------------------


def shown(theirs, seat):
    """What OpenSpiel shows a seat of each square: a letter, a dot for an empty square, `?` for what it does not see."""
    rows = theirs.observation_string(seat).rsplit(" ", 5)[0].split("/")
    rows = ["".join("?" * int(sign) if sign.isdigit() else sign.replace(" ", ".") for sign in row) for row in rows]
    return "".join(reversed(rows))


def test_openspiels_games_are_the_same_but_for_draws():
    # there, the third time that a position comes is a draw, and a turn in which nothing moves leaves the clock of
    # reversible moves as it was; 36 windows can be sensed, by their lower left squares, and passing is 0
    peer, rng, ends = pyspiel.load_game("rbc"), random.Random(3), Counter()
    for _ in range(100):
        ours, theirs = fl.new_state("rbc"), peer.new_initial_state()
        met = Counter([str(theirs).rsplit(" ", 2)[0]])
        while not theirs.is_terminal():
            seat, corner = ours.player, rng.choice(theirs.legal_actions())
            assert seat == theirs.current_player()
            square = 9 + corner // 6 * 8 + corner % 6
            theirs.apply_action(corner)
            ours.play(square)
            seen = contents(blind.parted_sense(ours.observations(seat)[-1])[1], square)
            expected = shown(theirs, seat)
            assert [expected[at] for at, _ in seen] == ["." if piece is None else piece.symbol() for _, piece in seen]
            legal = theirs.legal_actions()
            assert [*(blind.FIRST_MOVE + move for move in legal if move), blind.PASS] == ours.actions()
            before, move = str(theirs).split(), rng.choice(legal)
            theirs.apply_action(move)
            ours.play(blind.FIRST_MOVE + move if move else blind.PASS)
            fields, expected = notation.fen(8, ours.world).split(), str(theirs).split()
            assert [*fields[:4], fields[5]] == [*expected[:4], expected[5]]
            assert expected[4] == before[4] or expected[0] != before[0]
            met[" ".join(expected[:4])] += 1
        if ours.player == fl.TERMINAL:
            assert ours.returns() == theirs.returns() != [0.0, 0.0]
        else:
            assert max(met.values()) == 3
            assert theirs.returns() == [0.0, 0.0]
        ends[ours.player == fl.TERMINAL] += 1
    assert min(ends[True], ends[False]) > 10
