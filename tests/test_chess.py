"""The chess core: moves against a slow reading of the rules and against OpenSpiel, and positions made by hand."""

import random

import numpy as np
import pyspiel
import pytest

import foglight as fl
from foglight.bits import get
from foglight.chess import board as chess
from foglight.chess import moves, notation
from foglight.chess.repetition import HISTORY_WORDS, position_hash
from foglight.games.dark_chess import DarkChess, dark_fen
from foglight.rules import begin, max_legal, new_worlds, num_words, player, returns, step

START = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"
KIWIPETE = "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1"
PAWNS = "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1"
PROMOTIONS = "r3k2r/Pppp1ppp/1b3nbN/nP6/BBP1P3/q4N2/Pp1P2PP/R2Q1RK1 w kq - 0 1"
BLOCKED = "kbnK/pppp/pppp/nbnn b - - 0 1"  # black has nothing but pieces in each other's way


def names(fen):
    """The moves of a position as SAN."""
    size, board = notation.read_fen(fen)
    return {notation.san(size, board, move) for move in moves.list_moves(size, board).tolist()}


def after(fen, *written):
    """The FEN after moves in SAN."""
    size, board = notation.read_fen(fen)
    for text in written:
        move = next(m for m in moves.list_moves(size, board).tolist() if notation.san(size, board, m) == text)
        moves.play(size, board, move)
    return notation.fen(size, board)


def perft(size, board, depth):
    """How many sequences of moves there are, ended by a king taken."""
    if not (chess.pieces_of(board, get(board, chess.TURN)) & chess.of_kind(board, chess.KING)):
        return 0
    found = moves.list_moves(size, board).tolist()
    if depth == 1:
        return len(found)
    total = 0
    for move in found:
        then = board.copy()
        moves.play(size, then, move)
        total += perft(size, then, depth - 1)
    return total


# Moves ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fen", "counts"),
    [  # OpenSpiel's dark_chess counts the same; where no king is ever in check, so does chess: 20, 400, 8902
        (START, [20, 400, 8902]),
        (KIWIPETE, [48, 2049]),
        (PAWNS, [16, 278, 4840]),
        (PROMOTIONS, [38, 1845]),
    ],
)
def test_positions_have_as_many_moves_as_is_known(fen, counts):
    size, board = notation.read_fen(fen)
    assert [perft(size, board, 1 + i) for i in range(len(counts))] == counts


def slow_moves(fen):
    """The moves of a position in coordinates, read off the FEN square by square."""
    placement, turn, castling, passed, *_ = fen.split()
    rows = [list("".join("." * int(c) if c.isdigit() else c for c in row)) for row in placement.split("/")][::-1]
    size, white = len(rows), turn == "w"
    straight, diagonal = [(1, 0), (-1, 0), (0, 1), (0, -1)], [(1, 1), (1, -1), (-1, 1), (-1, -1)]
    leaps = [(f, r) for f in (-2, -1, 1, 2) for r in (-2, -1, 1, 2) if abs(f) != abs(r)]
    ways = {"R": straight, "B": diagonal, "Q": straight + diagonal, "K": straight + diagonal, "N": leaps}
    found = []

    def at(file, rank):
        return rows[rank][file] if 0 <= file < size and 0 <= rank < size else None

    def is_theirs(sign):
        return sign is not None and sign != "." and sign.isupper() != white

    def add(start, end):
        text = "".join("abcdefgh"[file] + str(rank + 1) for file, rank in (start, end))
        last = rows[start[1]][start[0]] in "Pp" and end[1] in (0, size - 1)
        found.extend(text + kind for kind in ("qrbn" if last else [""]))

    for rank in range(size):
        for file in range(size):
            sign = rows[rank][file]
            if sign == "." or sign.isupper() != white:
                continue
            if sign in "Pp":
                up = 1 if white else -1
                if at(file, rank + up) == ".":
                    add((file, rank), (file, rank + up))
                    if size == 8 and rank == (1 if white else 6) and at(file, rank + 2 * up) == ".":
                        add((file, rank), (file, rank + 2 * up))
                for side in (-1, 1):
                    target = at(file + side, rank + up)
                    name = "abcdefgh"[file + side] + str(rank + up + 1) if target else ""
                    if is_theirs(target) or (target == "." and name == passed):
                        add((file, rank), (file + side, rank + up))
                continue
            for right, up in ways[sign.upper()]:
                far = 1
                while True:
                    target = at(file + far * right, rank + far * up)
                    if target == "." or is_theirs(target):
                        add((file, rank), (file + far * right, rank + far * up))
                    if target != "." or sign in "KkNn":
                        break
                    far += 1
    home = 0 if white else 7
    for right, free, end in (("K", (5, 6), 6), ("Q", (1, 2, 3), 2)):
        if (right if white else right.lower()) in castling and all(rows[home][file] == "." for file in free):
            add((4, home), (end, home))
    return sorted(found)


@pytest.mark.parametrize("size", [4, 5, 6, 7, 8])
def test_moves_are_those_of_a_slow_reading_of_the_rules(size):
    rng = random.Random(size)
    for _ in range(8 if size < 7 else 3):
        state = fl.new_state(f"dark_chess(size={size})")
        while state.player != fl.TERMINAL:
            ours = [notation.coordinates(size, state.world, action) for action in state.actions()]
            assert sorted(ours) == slow_moves(notation.fen(size, state.world))
            state.play(rng.choice(state.actions()))


@pytest.mark.parametrize("fen", [KIWIPETE, PAWNS, PROMOTIONS, "r1kr/pppp/PPPP/R1KR w - - 0 1", "1k2/3P/p3/1K2 w - -"])
def test_boards_moves_and_san_are_openspiels_from_any_position(fen):
    size, start = notation.read_fen(fen)
    peer, rng = pyspiel.load_game("dark_chess", {"board_size": size, "fen": fen}), random.Random(fen)
    for _ in range(20):
        board, theirs = start.copy(), peer.new_initial_state()
        for _ in range(40):
            assert notation.fen(size, board) == str(theirs)
            if theirs.is_terminal():
                break
            found = moves.list_moves(size, board).tolist()
            assert found == theirs.legal_actions()
            move = rng.choice(found)
            for one in rng.sample(found, min(3, len(found))):
                assert notation.san(size, board, one) == theirs.action_to_string(one)
            moves.play(size, board, move)
            theirs.apply_action(move)


@pytest.mark.plain
def test_castling_needs_rights_and_free_squares_only():
    both = {"O-O", "O-O-O"}
    assert both <= names("r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1")
    assert both & names("r3k2r/8/8/8/8/8/8/R3K2R w Kkq - 0 1") == {"O-O"}
    assert both <= names("4k3/8/8/8/8/2q1r1q1/8/R3K2R w KQ - 0 1")  # check and squares under attack do not matter
    assert both & names("4k3/8/8/8/8/8/8/RN2K2R w KQ - 0 1") == {"O-O"}
    assert both & names("4k3/8/8/8/8/8/8/R3K1nR w KQ - 0 1") == {"O-O-O"}
    assert after("r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1", "O-O") == "r3k2r/8/8/8/8/8/8/R4RK1 b kq - 1 1"
    assert after("r3k2r/8/8/8/8/8/8/R3K2R b KQkq - 0 1", "O-O-O") == "2kr3r/8/8/8/8/8/8/R3K2R w KQ - 1 2"


@pytest.mark.plain
def test_castling_rights_go_with_king_and_rooks():
    fen = "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1"
    assert after(fen, "Ra2").split()[2] == "Kkq"
    assert after(fen, "Ke2").split()[2] == "kq"
    assert after(fen, "Rxh8").split()[2] == "Qq"
    assert after(fen, "Ra2", "Rh7").split()[2] == "Kq"


@pytest.mark.plain
def test_en_passant_is_for_one_move_and_where_it_can_be_taken():
    fen = "4k3/8/8/8/3p4/8/4P3/4K3 w - - 0 1"
    assert after(fen, "e4") == "4k3/8/8/8/3pP3/8/8/4K3 b - e3 0 1"
    assert after(fen, "e4", "dxe3") == "4k3/8/8/8/8/4p3/8/4K3 w - - 0 2"
    assert after(fen, "e4", "Kd8", "Ke2").split()[3] == "-"
    assert after(START, "e4").split()[3] == "-"
    assert notation.fen(*notation.read_fen("4k3/8/8/8/4P3/8/8/4K3 b - e3 0 1")).split()[3] == "-"
    assert after("4k3/8/8/8/p6P/8/1P6/4K3 w - - 0 1", "b4").split()[3] == "b3"
    assert after("4k3/8/8/7p/P7/8/8/4K3 w - - 0 1", "a5").split()[3] == "-"  # h5 is not beside a5


@pytest.mark.plain
def test_a_pawn_that_takes_on_a1_takes_nothing_else():
    assert after("k3/4/Pp2/R2K b - - 0 1", "bxa1=Q") == "k3/4/P3/q2K w - - 0 2"


@pytest.mark.plain
def test_pawns_become_four_kinds_on_every_size():
    kinds = {"Q", "R", "B", "N"}
    assert names("1k2/3P/4/1K2 w - - 0 1") >= {f"d4={kind}" for kind in kinds}
    assert names("4k3/8/8/8/8/8/3p4/2B1K3 b - - 0 1") >= {f"{to}={k}" for to in ("d1", "dxc1", "dxe1") for k in kinds}
    assert after("1k2/3P/4/1K2 w - - 0 1", "d4=N") == "1k1N/4/4/1K2 b - - 0 1"
    assert after("4k3/8/8/8/8/8/3p4/2B1K3 b - - 0 1", "dxc1=R") == "4k3/8/8/8/8/8/8/2r1K3 w - - 0 2"


@pytest.mark.plain
def test_who_has_no_move_has_none():
    size, board = notation.read_fen(BLOCKED)
    assert moves.list_moves(size, board).tolist() == []
    assert not moves.has_move(size, board)
    theirs = pyspiel.load_game("dark_chess", {"board_size": 4, "fen": BLOCKED}).new_initial_state()
    assert theirs.is_terminal()
    assert theirs.returns() == [0.0, 0.0]


def test_a_random_move_is_any_move_as_often_as_any_other():
    # every move 200 times on average; the sum of squares is that of chi-square within six standard deviations
    for fen in (KIWIPETE, PROMOTIONS, "4k3/P1P5/8/8/8/8/8/R3K2R w KQ - 0 1"):
        size, board = notation.read_fen(fen)
        found = moves.list_moves(size, board).tolist()
        generator, room, seen = fl.randomness.generator(7), np.zeros(512, np.int64), dict.fromkeys(found, 0)
        for _ in range(200 * len(found)):
            seen[int(moves.random_move(size, board, generator, room))] += 1
        square = sum((times - 200) ** 2 / 200 for times in seen.values())
        freedom = len(found) - 1
        assert abs(square - freedom) < 6 * (2 * freedom) ** 0.5


# Game ends ------------------------------------------------------------------------------------------------------


def world_of(fen, repetition="draw"):
    size, board = notation.read_fen(fen)
    game = fl.load_game(f"dark_chess(size={size},repetition={repetition})")
    world = new_worlds(game, 1)[0]
    begin(game, world)
    world[: chess.WORDS] = board
    return game, world


def played(game, world, *written):
    for text in written:
        found = moves.list_moves(game.size, world).tolist()
        step(game, world, next(m for m in found if notation.san(game.size, world, m) == text))
    return player(game, world)


@pytest.mark.plain
def test_whoever_takes_the_king_wins():
    game, world = world_of("4k3/8/8/8/8/8/4Q3/4K3 w - - 0 1")
    assert played(game, world, "Qxe8") == fl.TERMINAL
    payoffs = np.zeros(2)
    returns(game, world, payoffs)
    assert payoffs.tolist() == [-1.0, 1.0]  # black is seat 0


TO_AND_FRO = ("Nf3", "Nf6", "Ng1", "Ng8")


@pytest.mark.plain
def test_the_third_time_is_a_draw_unless_it_is_ignored():
    for word, at_the_end in (("draw", fl.TERMINAL), ("ignore", 1)):
        state = fl.new_state(f"dark_chess(repetition={word})")
        for name in (TO_AND_FRO * 2)[:-1]:
            state.play(state.parse_action(name))
            assert state.player != fl.TERMINAL
        state.play(state.parse_action("Ng8"))
        assert state.player == at_the_end
        assert state.returns() == [0.0, 0.0]


@pytest.mark.plain
def test_positions_that_differ_in_rights_are_not_the_same():
    def key(fen):
        return position_hash(notation.read_fen(fen)[1])

    fens = [START, START.replace("KQkq", "KQk"), START.replace(" w ", " b "), START.replace("PPPP/", "PP1P/")]
    fens += ["4k3/8/8/8/3pP3/8/8/4K3 b - e3 0 1", "4k3/8/8/8/3pP3/8/8/4K3 b - - 0 1"]
    assert len({int(key(fen)) for fen in fens}) == len(fens)
    assert key(START) == key(START.replace("0 1", "17 40"))


@pytest.mark.plain
def test_a_pawn_move_clears_the_history():
    state = fl.new_state("dark_chess")
    for name in (*TO_AND_FRO, "e4"):
        state.play(state.parse_action(name))
    history = state.world[chess.WORDS : chess.WORDS + HISTORY_WORDS]
    assert history.tolist() == [int(position_hash(state.world)), *[0] * (HISTORY_WORDS - 1)]


@pytest.mark.plain
def test_a_hundred_plies_without_progress_are_a_draw():
    state = fl.new_state("dark_chess(repetition=ignore)")
    for i in range(100):
        assert state.player != fl.TERMINAL
        state.play(state.parse_action(TO_AND_FRO[i % 4]))
    assert (state.player, state.returns()) == (fl.TERMINAL, [0.0, 0.0])


@pytest.mark.plain
@pytest.mark.parametrize("size", [4, 5, 6, 7, 8])
def test_every_size_has_room_for_its_moves(size):
    # as many queens as can be there, spread out so that they see far, are within what the game asks room for
    game, rng = DarkChess(size), random.Random(size)
    placed = sum(letter.isupper() for letter in notation.fen(size, world_start(size)).split()[0])
    for _ in range(20):
        signs = ["Q"] * (placed - 1) + ["K", "k"]
        signs += ["."] * (size * size - len(signs))
        rng.shuffle(signs)
        rows = ["".join(signs[size * i : size * (i + 1)]) for i in range(size)]
        fen = "/".join(row.replace(".", "1") for row in rows) + " w - - 0 1"
        assert len(moves.list_moves(*notation.read_fen(fen))) <= max_legal(game)
    assert max_legal(game) >= 2 * placed + 8  # what drawing a random move needs
    assert num_words(DarkChess(size, 1)) == 5


def world_start(size):
    world = new_worlds(DarkChess(size), 1)[0]
    begin(DarkChess(size), world)
    return world


# Text -----------------------------------------------------------------------------------------------------------


@pytest.mark.plain
@pytest.mark.parametrize(
    "fen",
    [
        START,
        KIWIPETE,
        PAWNS,
        PROMOTIONS,
        BLOCKED,
        "rnbqk/ppppp/5/PPPPP/RNBQK w - - 3 9",
        "k7/8/8/8/3pP3/8/8/7K b - e3 0 7",
    ],
)
def test_fen_is_read_as_it_is_written(fen):
    assert notation.fen(*notation.read_fen(fen)) == fen


@pytest.mark.plain
@pytest.mark.parametrize(
    ("given", "wrong", "advice"),
    [
        ("/8", "/9", "write ranks of 4 to 8 squares"),
        (" w", " x", "after the ranks write"),
        ("KQkq", "KX", "after the ranks write"),
        ("- 0", "z9 0", "'z9' is not a square"),
        ("- 0", "a1 0", "a1 cannot be the en passant square"),
        ("0 1", "101 1", "after the ranks write"),
        (START, "8/8 w", "write ranks of 4 to 8 squares"),
    ],
)
def test_what_is_no_fen_is_refused(given, wrong, advice):
    with pytest.raises(fl.BadInput, match=advice):
        notation.read_fen(START.replace(given, wrong, 1))


@pytest.mark.plain
def test_moves_are_read_as_people_write_them():
    state = fl.new_state("dark_chess")
    for text, meant in [
        ("e2e4", "e4"),
        ("d7-d5", "d5"),
        ("ed5", "exd5"),
        ("ng8f6", "Nf6"),
        ("Bf1-b5", "Bb5"),
        ("c6", "c6"),
        ("Nf3", "Nf3"),
        ("cxb5", "cxb5"),
        ("0-0", "O-O"),
        ("e7e6", "e6"),
        ("d5e6", "dxe6"),
        ("a6", "a6"),
        ("exf7", "exf7"),
        ("a5", "a5"),
        ("f7e8r", "fxe8=R"),
    ]:
        action = state.parse_action(text)
        assert state.action_text(action) == meant
        state.play(action)
    assert state.player == fl.TERMINAL


@pytest.mark.plain
def test_a_move_has_many_names():
    size, board = notation.read_fen("k3n3/3P4/8/8/8/8/8/K7 w - - 0 1")
    written = {names[0]: names for names in notation.move_names(size, board).values()}
    assert written["d8=N"] == ("d8=N", "d7d8n", "d7-d8=N", "d8N", "d7d8=N")
    assert written["dxe8=Q"] == ("dxe8=Q", "d7e8q", "d7xe8=Q", "de8=Q", "dxe8Q", "de8Q", "d7e8=Q")
    assert written["Kb2"] == ("Kb2", "Ka1-b2", "a1b2", "Ka1b2")


@pytest.mark.plain
def test_no_two_moves_are_told_apart_by_capitals_alone():
    # the bishop's Bxc3 and the pawn's bxc3
    size, board = notation.read_fen("4k3/8/8/8/8/2n5/1P1B4/4K3 w - - 0 1")
    written = notation.move_names(size, board)
    assert {names[0] for names in written.values()} >= {"b2c3", "Bd2xc3"}
    assert "bxc3" not in {name.lower() for names in written.values() for name in names}
    assert {notation.san(size, board, move) for move in written} >= {"bxc3", "Bxc3"}
    # the bishop's B2c3 and the queen's b2c3
    size, board = notation.read_fen("4k3/8/8/8/3B4/8/1Q1B4/4K3 w - - 0 1")
    written = notation.move_names(size, board)
    assert {"Bd2-c3", "B4c3", "Qc3"} <= {names[0] for names in written.values()}
    assert [names[0] for names in written.values() if "b2c3" in names] == ["Qc3"]


@pytest.mark.plain
def test_a_seat_sees_where_its_pieces_can_go():
    # the pawn on e4 sees what it could take on d5, the bishop its way to a6, the queen hers to h5; nobody sees e3
    state = fl.new_state("dark_chess")
    for name in ("e4", "d5"):
        state.play(state.parse_action(name))
    seen = "????????/????????/1???????/?1?p1??1/4P3/4?3/PPPP1PPP/RNBQKBNR w KQ - 0 2"
    assert dark_fen(state.game, state.world, 1) == seen
    assert state.information(1).splitlines()[4] == " 5 ? . ? p . ? ? ."
    assert "?" not in str(state)
