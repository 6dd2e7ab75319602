"""Dark chess: a seat sees its own pieces and the squares they can move to; the first to take the king wins.

The rules are those of OpenSpiel's `dark_chess`, whose boards have 4x4 and 8x8 squares. A move may leave the king where
it can be taken. The game is drawn after a hundred plies without capture or pawn move, when a position occurs for the
third time, or when the mover has no move. Repetitions are not announced, so a belief may leave them out
(`repetition=ignore`): a world then has 5 words instead of 55. Castling, double steps and en passant exist on 8x8 only;
pawns promote to queen, rook, bishop or knight on every size. OpenSpiel has no starting position for the sizes between;
ours are Gardner's for 5x5, that of Los Alamos chess for 6x6, and that of the full board without one bishop for 7x7.
`start` gives another position.

Fog-of-War chess, as others play it, has `clock=hidden` and `stalemate=loss`. With `clock=hidden` nobody observes the
plies since the last capture or pawn move, so that an unseen pawn move does not give itself away. The world still counts
them, since they decide the draw: two positions that differ only in them are two. With `stalemate=loss` whoever cannot
move loses, also if the clock or a repetition would make it a draw.

seats   0 black, 1 white, which moves first unless `start` says otherwise
world   words 0-4: the position (`foglight/chess/board.py`), the free bits of word 4: 0 while the game goes on,
        1 + winner, or 3 for a draw; words 5-54, with repetition=draw only: the history (`foglight/chess/repetition.py`)
action  the move as the mover sees it (`foglight/chess/moves.py`), OpenSpiel's numbers on every size
observe each seat a hash of the squares that it sees and their pieces, the side to move, its own castling rights, the en
        passant square if a pawn of its own could take there, the clock and the number of the move; the mover's hash
        also covers its action; the public observes the clock, and the kind and square of a piece that is taken; with
        clock=hidden, all of this but the clock

There is an en passant square only where a pawn can take. Like OpenSpiel, we also show it to the side that made the
double step, if a pawn of its own stands as if it could take there. OpenSpiel's string reveals more: for a square on the
a or h file, a pawn at the other end of the board counts too (`tests/test_lockstep_dark_chess.py`). Ours does not.
"""

import functools
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy import int64, uint64

from foglight.bits import count, get, lowest
from foglight.chess import attacks, moves, notation, sight
from foglight.chess import evaluation as estimate
from foglight.chess.board import (
    BISHOP,
    CASTLING,
    CLOCK,
    CLOCK_LIMIT,
    EN_PASSANT,
    FREE_BITS,
    KING,
    KNIGHT,
    PAWN,
    PLIES,
    QUEEN,
    ROOK,
    STATE,
    TURN,
    WHITE,
    WORDS,
    kind_at,
    occupied,
    of_kind,
    pieces_of,
)
from foglight.chess.drawn import chess_drawing, moves_by_square
from foglight.chess.repetition import HISTORY_WORDS, remember
from foglight.chess.start import POSITION, STANDARD, start_size, start_words
from foglight.compile import compiled_twin, constants, implements, jitable, kernel
from foglight.drawing.layouts import drawing_title
from foglight.names import BadInput, Between, OneOf, Variant
from foglight.randomness import fold
from foglight.rules import PUBLIC, TERMINAL, Bounds, game

_FEN = {
    4: "r1kr/pppp/PPPP/R1KR w - - 0 1",
    5: "rnbqk/ppppp/5/PPPPP/RNBQK w - - 0 1",
    6: "rnqknr/pppppp/6/6/PPPPPP/RNQKNR w - - 0 1",
    7: "rnbqknr/ppppppp/7/7/7/PPPPPPP/RNBQKNR w - - 0 1",
    8: "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
}
_START = np.array([notation.read_fen(_FEN[size])[1] if size in _FEN else [0] * WORDS for size in range(9)], np.uint64)
_DRAW, _DRAWN = 0, 3  # `repetition=draw`, and the result of a drawn game
_HIDDEN, _LOSS = 1, 1  # `clock=hidden`, `stalemate=loss`
_OWN_RIGHTS = np.array([0b1100, 0b0011], np.uint64) << np.uint64(CASTLING[1])  # by seat
_NAMES = ("black", "white")


def _most_by_kind(size: int) -> list[int]:
    """The most moves of a piece of each kind, anywhere on the board; a pawn may be a queen, or about to promote."""
    straight = 2 * (size - 1)
    diagonal = 2 * (size - 1) - (size % 2 == 0)
    queen = straight + diagonal
    most = {PAWN: max(queen, 12), KNIGHT: 8, KING: 8, BISHOP: diagonal, ROOK: straight, QUEEN: queen}
    return [most.get(kind, 0) for kind in range(QUEEN + 1)]


_MOST_BY_KIND = np.array([_most_by_kind(size) for size in range(9)], np.int64)


@jitable
def _most_moves(size, board):
    """An upper bound of the number of moves of either side from this position on, castling to both sides included."""
    most = 0
    for colour in range(2):
        moves_of_side = 2
        for kind in range(1, QUEEN + 1):
            moves_of_side += _MOST_BY_KIND[size, kind] * count(pieces_of(board, colour) & of_kind(board, kind))
        most = max(most, moves_of_side)
    return most


_MOST_MOVES = np.array([_most_moves(size, _START[size]) for size in range(9)], np.int64)


@game
@constants(
    num_players=2,
    num_actions=moves.NUM_MOVES,
    title="chess; you see only where your pieces can go, and whoever takes the king wins",
)
class DarkChess(NamedTuple):
    size: Annotated[int, "rows and columns", Between(4, 8)] = 8
    repetition: Annotated[int, "a position that occurs for the third time", OneOf("draw", "ignore")] = _DRAW
    clock: Annotated[int, "the number of plies since the last capture or pawn move", Variant("shown", "hidden")] = 0
    stalemate: Annotated[int, "for whoever cannot move", Variant("draw", "loss")] = 0
    start: Annotated[tuple[int, ...], "the first position", POSITION] = STANDARD


@implements(DarkChess)
def check(game):
    size = start_size(game.start)
    if size not in (0, game.size):
        raise BadInput(f"dark_chess: start has {size} ranks, and size is {game.size}; write size={size}")


@implements(DarkChess)
def num_words(game):
    return WORDS + HISTORY_WORDS if game.repetition == _DRAW else WORDS


@implements(DarkChess)
def max_legal(game):
    if game.start[STATE] == 0:
        return int64(_MOST_MOVES[game.size])
    return int64(_most_moves(game.size, start_words(game.start)))


@implements(DarkChess)
def begin(game, world):
    words = start_words(game.start)
    for i in range(WORDS):
        world[i] = _START[game.size, i] if game.start[STATE] == 0 else words[i]
    if game.repetition == _DRAW:
        remember(world, world[WORDS:], 0)


@implements(DarkChess)
def player(game, world):
    return TERMINAL if world[STATE] >> uint64(FREE_BITS) != uint64(0) else get(world, TURN)


@implements(DarkChess)
def legal(game, world, out):
    return moves.write_moves(game.size, world, out)


@implements(DarkChess)
def notices_all(game):
    return True


@implements(DarkChess)
def pick(game, world, random, out):
    return moves.random_move(game.size, world, random, out)


@implements(DarkChess)
def step(game, world, action):
    seat, clock = get(world, TURN), get(world, CLOCK)
    taken, _ = moves.play(game.size, world, action)
    result = 0
    if game.repetition == _DRAW and remember(world, world[WORDS:], clock) >= 2:
        result = _DRAWN
    if taken == KING:
        result = 1 + seat
    elif not moves.has_move(game.size, world):
        result = 1 + seat if game.stalemate == _LOSS else _DRAWN
    elif get(world, CLOCK) >= CLOCK_LIMIT:
        result = _DRAWN
    world[STATE] |= uint64(result) << uint64(FREE_BITS)


@implements(DarkChess)
def returns(game, world, out):
    result = int64(world[STATE] >> uint64(FREE_BITS))
    out[0] = out[1] = 0.0
    if result != _DRAWN:
        out[result - 1] = 1.0
        out[2 - result] = -1.0


@implements(DarkChess)
def evaluation(game, world, seat):
    value = estimate.payoff(game.size, world)
    return value if seat == get(world, TURN) else -value


# Observations ---------------------------------------------------------------------------------------------------


@jitable
def _beside_en_passant(world, seat):
    """The en passant square as a set, if a pawn of the seat could take there; otherwise the empty set."""
    return attacks.en_passant(world) & attacks.pawn_attacks(pieces_of(world, seat) & of_kind(world, PAWN), seat)


@jitable
def _sight(size, world, seat):
    """The squares that a seat sees."""
    passed = _beside_en_passant(world, seat)
    pawn = passed >> uint64(8) if seat == WHITE else passed << uint64(8)
    return pieces_of(world, seat) | attacks.targets(size, world, seat) | pawn


@jitable
def _facts(game, world, seat):
    """The part of the state's word that a seat observes; all other bits are 0."""
    everyone = uint64(1 << TURN[1] | 0xFFFFF << PLIES[1])
    if game.clock != _HIDDEN:
        everyone |= uint64(0b1111111 << CLOCK[1])
    passed = uint64(get(world, EN_PASSANT)) if _beside_en_passant(world, seat) != uint64(0) else uint64(0)
    return world[STATE] & (everyone | _OWN_RIGHTS[seat]) | passed << uint64(EN_PASSANT[1])


@jitable
def _seen_code(game, before, action, after, viewer):
    if viewer == PUBLIC:
        victim = 1 - get(before, TURN)
        taken = pieces_of(before, victim) & ~pieces_of(after, victim)
        what = 0
        if taken != uint64(0):
            square = lowest(taken)
            what = 64 * kind_at(before, square) + square
        return 1 + what + (0 if game.clock == _HIDDEN else 512 * get(after, CLOCK))
    sight = _sight(game.size, after, viewer)
    key = fold(fold(0, sight), _facts(game, after, viewer))
    for i in range(STATE):
        key = fold(key, after[i] & sight)
    if viewer == get(before, TURN):
        key = fold(key, action)
    return max(int64(uint64(key) >> uint64(1)), 1)


@kernel
def _compiled_code(game, before, action, after, viewer):
    return _seen_code(game, before, action, after, viewer)


def _code(game, before, action, after, viewer):
    """`_seen_code`, compiled even when Python calls it: the text of a position calls it for every earlier ply."""
    return int(_compiled_code(game, before, action, after, viewer))


compiled_twin(_code)(_seen_code)


@implements(DarkChess)
def observe(game, before, action, after, viewer):
    return _code(game, before, action, after, viewer)


@implements(DarkChess)
def num_sight_features(game):
    return 13 * game.size**2 + sight.FACTS


@implements(DarkChess)
def sight_features(game, world, seat, out):
    # the pieces in sight, the squares in sight, and the facts that the seat observes, the clock if it is shown
    planes = _sight(game.size, world, seat)
    own = pieces_of(world, seat)
    sight.write_pieces(game.size, world, seat, own, out)
    area = game.size * game.size
    sight.write_pieces(game.size, world, seat, planes & ~own, out[6 * area :])
    sight.write_squares(game.size, seat, planes, out[12 * area :])
    facts = _facts(game, world, seat)
    sight.write_facts(game.size, facts, seat, out[13 * area :])


@kernel
def _compiled_sight(size, world, seat):
    return _sight(size, world, seat)


# For people -----------------------------------------------------------------------------------------------------


@implements(DarkChess)
def bounds(game):
    # every pawn move and every capture sets the clock back
    first = _first_words(game)
    changes = (game.size - 2) * count(of_kind(first, PAWN)) + count(occupied(first))
    return Bounds(-1.0, 1.0, 0.0, CLOCK_LIMIT * changes)


def _first_words(game: DarkChess) -> Any:
    return _START[game.size] if game.start == STANDARD else start_words(game.start)


@implements(DarkChess)
def how_to_play(game):
    moves = (
        "`a3`, `Nc3`, or from square to square, `a2a3`" if game.size > 4 else "`axb3`, or from square to square, `a2b3`"
    )
    castling = "Castle by O-O or O-O-O." if game.size == 8 else "There is no castling and no double step of a pawn."
    first = _NAMES[get(_first_words(game), TURN)]
    counted = "; you are not told how many" if game.clock == _HIDDEN else ""
    repeated = "A position that occurs for the third time is a draw.\n" if game.repetition == _DRAW else ""
    stuck = "If you cannot move, you lose." if game.stalemate == _LOSS else "If you cannot move, it is a draw."
    return f"""Chess on {game.size}x{game.size} squares; you see your own pieces and the squares that they can move to.
Seat 0 is black, seat 1 is white; {first} begins. There is no check: whoever takes the king wins.
Write a move: {moves}. A pawn promotes as in a{game.size}=Q.
{castling}
After {CLOCK_LIMIT} moves in a row, of either side, without capture or pawn move it is a draw{counted}.
{repeated}{stuck}"""


@implements(DarkChess)
def action_names(game, world, action):
    return notation.move_names(game.size, world)[action]


@implements(DarkChess)
def places(game):
    ranks = reversed(range(game.size))
    return [notation.square_name(8 * rank + file) for rank in ranks for file in range(game.size)], game.size


@implements(DarkChess)
def contents(game, world):
    letters = notation.letters(world)
    return [letters[8 * rank + file] for rank in reversed(range(game.size)) for file in range(game.size)]


@implements(DarkChess)
def board(game, world):
    return f"{_drawn(game.size, notation.letters(world))}\n{notation.fen(game.size, world)}"


@implements(DarkChess)
def view(game, world, seat):
    signs = signs_seen(game.size, world, seat)
    return f"you are {_NAMES[seat]}\n{_drawn(game.size, signs)}\n{dark_fen(game, world, seat)}"


def _drawn(size: int, signs: list[str]) -> str:
    lines = [f"{rank + 1:>2} {' '.join(signs[8 * rank : 8 * rank + size])}" for rank in reversed(range(size))]
    return "\n".join([*lines, "   " + " ".join("abcdefgh"[:size])])


def signs_seen(size: int, world: Any, seat: int) -> list[str]:
    """The sign of each of the 64 squares for a seat: a letter, a dot for an empty square, `?` where it does not see."""
    sight = int(_compiled_sight(size, world, seat))
    return [letter if sight >> square & 1 else "?" for square, letter in enumerate(notation.letters(world))]


def dark_fen(game: DarkChess, world: Any, seat: int) -> str:
    """The view of a seat as a FEN with `?` for unseen squares, and `-` for a clock that is hidden."""
    return _dark_fen(game, world[:WORDS].tobytes(), seat)


@functools.lru_cache(maxsize=4096)
def _dark_fen(game: DarkChess, words: bytes, seat: int) -> str:
    world = np.frombuffer(words, np.uint64).copy()
    facts = world.copy()
    facts[STATE] = _facts(game, world, seat)
    fields = notation.fen(game.size, facts, signs_seen(game.size, world, seat)).split()
    if game.clock == _HIDDEN:
        fields[4] = "-"
    return " ".join(fields)


@implements(DarkChess)
def drawing(game, world, seat):
    turn = get(world, TURN)
    signs = notation.letters(world) if seat is None else signs_seen(game.size, world, seat)
    moving = seat in (None, turn) and world[STATE] >> uint64(FREE_BITS) == uint64(0)
    clicks = moves_by_square(game.size, world) if moving else (lambda square: ())
    below = [f"move {1 + get(world, PLIES) // 2}, {_NAMES[turn]} to move"]
    if seat is not None:
        below.insert(0, f"you are {_NAMES[seat]}")
    return chess_drawing(game.size, signs, clicks, drawing_title(game, seat), below)


@implements(DarkChess)
def observation_text(game, before, action, after, viewer):
    mover = _NAMES[get(before, TURN)]
    if viewer == PUBLIC:
        victim = 1 - get(before, TURN)
        taken = pieces_of(before, victim) & ~pieces_of(after, victim)
        if count(taken):
            square = lowest(taken)
            return f"{mover} takes {notation.letters(before)[square]} on {notation.square_name(square)}"
        if game.clock == _HIDDEN:
            return f"{mover} moves"
        clock = get(after, CLOCK)
        return f"{mover} moves" + (f", {clock} plies without capture or pawn move" if clock else " a pawn")
    did = action_names(game, before, action)[0] if viewer == get(before, TURN) else f"{mover} moves"
    return f"{did} [{dark_fen(game, after, viewer)}]"
