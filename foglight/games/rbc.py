"""Reconnaissance Blind Chess: each turn, sense the pieces on 3x3 squares, then move without seeing the other's pieces.

The rules are those of the Python package `reconchess`, without its clocks. A turn is two actions of one seat: a sense
action and a request, which may become another move or none (`foglight/chess/blind.py`). The first to take the king
wins. The game is drawn after `reversible` plies without capture or pawn move, passes included, or after `turns` turns
of both sides. Without a limit of turns, a game has fewer than 6 400: pawns move at most 96 times and 30 pieces can be
taken.

After a move, everybody observes the square on which a piece was taken, if any, but not its kind; the mover also
observes the move that became of its request. Everybody observes that a sense action was made, but not where. At the end
of the game everybody observes the result.

seats   0 black, 1 white, which moves first
world   the position (`foglight/chess/board.py`); in the free bits of its last word, bit 0: whether the seat has sensed;
        the others: 0 before the end of the game, 1 + the seat that took the king, 3 turn limit, 4 limit of reversible
        moves
action  and observations: see `foglight/chess/blind.py`. A pawn's move to the last rank without a piece means a queen;
        `reconchess` lists it among the legal moves where it takes, we only accept it as text
"""

from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy import uint64

from foglight.bits import get
from foglight.chess import blind, notation, sight
from foglight.chess.board import (
    CASTLING,
    CLOCK,
    CLOCK_LIMIT,
    FREE_BITS,
    KING,
    PAWN,
    PLIES,
    STATE,
    TURN,
    WORDS,
    kind_at,
    pieces_of,
)
from foglight.chess.drawn import chess_drawing, moves_by_square
from foglight.chess.moves import CASTLE_LEFT, CASTLE_RIGHT, meaning_seen
from foglight.compile import constants, implements, jitable
from foglight.drawing.layouts import drawing_title
from foglight.names import Between, Word
from foglight.randomness import below
from foglight.rules import TERMINAL, Bounds, game

_UNLIMITED = 10_000  # more turns than any game has
_START = notation.read_fen("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1")[1]
_SENSED = uint64(1 << FREE_BITS)
_TURN_LIMIT, _MOVE_LIMIT = 3, 4
_RESULT = (STATE, FREE_BITS + 1, 3)
# an upper bound: every piece where it has most moves, every pawn a queen; castling to both sides, and passing
_MOST_ACTIONS = 9 * 27 + 2 * (14 + 13 + 8) + 8 + 3
# by seat: the bits of the state's word that it knows, its own rights to castle among them
_KNOWN = np.array(
    [1 << TURN[1] | 0xFFFFF << PLIES[1] | rights << CASTLING[1] for rights in (0b1100, 0b0011)], np.uint64
)
_NAMES = ("black", "white")
_ENDS = ("", "black takes the king", "white takes the king", "turn limit", "too many reversible moves")


@game
@constants(
    num_players=2,
    num_words=WORDS,
    num_actions=blind.NUM_ACTIONS,
    max_legal=_MOST_ACTIONS,
    title="Reconnaissance Blind Chess: sense nine squares, then move; whoever takes the king wins",
)
class Rbc(NamedTuple):
    turns: Annotated[
        int, "turns of both sides after which the game is drawn", Word("none", _UNLIMITED), Between(1, _UNLIMITED)
    ] = _UNLIMITED
    reversible: Annotated[
        int, "plies without capture or pawn move after which the game is drawn", Between(1, CLOCK_LIMIT)
    ] = CLOCK_LIMIT


@implements(Rbc)
def begin(game, world):
    for i in range(WORDS):
        world[i] = _START[i]


@implements(Rbc)
def player(game, world):
    return TERMINAL if get(world, _RESULT) != 0 else get(world, TURN)


@jitable
def _has_sensed(world):
    return world[STATE] & _SENSED != uint64(0)


@implements(Rbc)
def legal(game, world, out):
    if _has_sensed(world):
        n = blind.write_requests(world, out)
        for i in range(n):
            out[i] += blind.FIRST_MOVE
        out[n] = blind.PASS
        return n + 1
    for square in range(blind.NO_SENSE + 1):
        out[square] = square
    return blind.NO_SENSE + 1


@implements(Rbc)
def pick(game, world, random, out):
    if _has_sensed(world):
        return blind.FIRST_MOVE + blind.random_request(world, random, out)
    return below(random, blind.NO_SENSE + 1)


@implements(Rbc)
def step(game, world, action):
    if action < blind.FIRST_MOVE:
        world[STATE] |= _SENSED
        return
    seat = get(world, TURN)
    taken_move = blind.NONE if action == blind.PASS else blind.outcome(world, action - blind.FIRST_MOVE)
    kind, _ = blind.play_outcome(world, taken_move)
    result = 0
    if kind == KING:
        result = 1 + seat
    elif get(world, PLIES) >= 2 * game.turns:
        result = _TURN_LIMIT
    elif get(world, CLOCK) >= game.reversible:
        result = _MOVE_LIMIT
    world[STATE] = world[STATE] & ~_SENSED | uint64(result) << uint64(_RESULT[1])


@implements(Rbc)
def returns(game, world, out):
    winner = get(world, _RESULT) - 1
    out[0] = out[1] = 0.0
    if winner < 2:
        out[winner] = 1.0
        out[1 - winner] = -1.0


@implements(Rbc)
def observe(game, before, action, after, viewer):
    result = get(after, _RESULT)
    if viewer != get(before, TURN):
        return blind.others_code(before, action, after, result)
    if action < blind.FIRST_MOVE:
        return blind.sense_code(before, action)
    return blind.move_code(before, action, after, result)


@implements(Rbc)
def num_sight_features(game):
    return 6 * 64 + sight.FACTS + 1


@implements(Rbc)
def sight_features(game, world, seat, out):
    # the own pieces, the facts that the seat knows, and whether the seat to move has sensed
    sight.write_pieces(blind.SIZE, world, seat, pieces_of(world, seat), out)
    sight.write_facts(blind.SIZE, world[STATE] & _KNOWN[seat], seat, out[6 * 64 :])
    out[6 * 64 + sight.FACTS] = _has_sensed(world)


@implements(Rbc)
def observation_bits(game):
    return 50  # a sense action and its window


@implements(Rbc)
def num_recalled(game):
    return 4  # a whole round: the other's sense and move, and the own, with what a sense has shown


# For people -----------------------------------------------------------------------------------------------------


@implements(Rbc)
def bounds(game):
    # every pawn move and every capture sets the clock back; a turn has two actions
    plies = min(2 * game.turns, 128 * game.reversible)
    return Bounds(-1.0, 1.0, 0.0, 2 * plies)


@implements(Rbc)
def how_to_play(game):
    limit = f", or after {game.turns} turns of both sides" if game.turns < _UNLIMITED else ""
    return f"""Chess in which you see only your own pieces. Seat 1 is white and begins, seat 0 is black.
First sense: `sense c6` shows the 3x3 squares around c6; `no sense` shows nothing.
Then move as if no piece of the other were there: `e2e4`, e7e8q to promote, e1g1 or O-O to castle; or `pass`.
A piece that runs into another takes it and stops there; a pawn stops before it, and takes only where a piece stands.
A move that turns out impossible is lost. You learn what became of it, and both learn on which square a piece was taken.
There is no check. Whoever takes the king wins; it is a draw after {game.reversible} moves in a row, of either side,
without capture or pawn move{limit}."""


@implements(Rbc)
def why_not(game, world, action):
    if not _has_sensed(world):
        return "first sense, then move: write sense and a square, or no sense"
    if action < blind.FIRST_MOVE:
        return "you have sensed in this turn; now move, or pass"
    start, end, _ = meaning_seen(action - blind.FIRST_MOVE)
    over = 0 if get(world, TURN) else 56
    start, end = int(start) ^ over, int(end) ^ over
    if not int(pieces_of(world, get(world, TURN))) >> start & 1:
        return f"you have no piece on {notation.square_name(start)}"
    return f"your piece on {notation.square_name(start)} does not move to {notation.square_name(end)}"


@implements(Rbc)
def action_names(game, world, action):
    if action < blind.NO_SENSE:
        return (f"sense {notation.square_name(action)}",)
    if action in (blind.NO_SENSE, blind.PASS):
        return ("no sense",) if action == blind.NO_SENSE else ("pass",)
    move = action - blind.FIRST_MOVE
    start, end, special = (int(part) for part in meaning_seen(move))
    over = 0 if get(world, TURN) else 56
    start, end = start ^ over, end ^ over
    plain = notation.square_name(start) + notation.square_name(end)
    if move in (CASTLE_LEFT, CASTLE_RIGHT):
        return (plain, "O-O-O", "0-0-0") if move == CASTLE_LEFT else (plain, "O-O", "0-0")
    own = int(pieces_of(world, get(world, TURN))) >> start & 1  # the name of an illegal move reveals no enemy pawn
    if own and kind_at(world, start) == PAWN and end // 8 in (0, 7):
        return (plain + "qrbn"[special], plain) if special == 0 else (plain + "qrbn"[special],)
    return (plain,)


@implements(Rbc)
def places(game):
    return [notation.square_name(8 * rank + file) for rank in reversed(range(8)) for file in range(8)], 8


@implements(Rbc)
def contents(game, world):
    letters = notation.letters(world)
    return [letters[8 * rank + file] for rank in reversed(range(8)) for file in range(8)]


@implements(Rbc)
def board(game, world):
    doing = "moves" if _has_sensed(world) else "senses"
    end = _ENDS[get(world, _RESULT)] or f"{_NAMES[get(world, TURN)]} {doing}"
    return f"{_drawn(notation.letters(world))}\n{notation.fen(8, world)}\n{end}"


@implements(Rbc)
def view(game, world, seat):
    own, letters = int(pieces_of(world, seat)), notation.letters(world)
    signs = [letters[square] if own >> square & 1 else "?" for square in range(64)]
    rights = get(world, CASTLING) >> (2 * (1 - seat)) & 3
    castling = ", ".join(name for i, name in enumerate(("O-O", "O-O-O")) if rights >> i & 1) or "none"
    return f"you are {_NAMES[seat]}\n{_drawn(signs)}\nmove {1 + get(world, PLIES) // 2}, rights to castle: {castling}"


def _drawn(signs: list[str]) -> str:
    lines = [f"{rank + 1:>2} {' '.join(signs[8 * rank : 8 * rank + 8])}" for rank in reversed(range(8))]
    return "\n".join([*lines, "   a b c d e f g h"])


@implements(Rbc)
def drawing(game, world, seat):
    own, letters, turn = int(pieces_of(world, seat or 0)), notation.letters(world), get(world, TURN)
    signs = letters if seat is None else [letters[i] if own >> i & 1 else "?" for i in range(64)]
    over, clicks = get(world, _RESULT) != 0, lambda square: ()
    if seat in (None, turn) and not over:
        clicks = moves_by_square(8, world, blind.FIRST_MOVE) if _has_sensed(world) else (lambda square: (square,))
    doing = _ENDS[get(world, _RESULT)] or f"{_NAMES[turn]} {'moves' if _has_sensed(world) else 'senses'}"
    below = [f"move {1 + get(world, PLIES) // 2}, {doing}"]
    if seat is not None:
        below.insert(0, f"you are {_NAMES[seat]}")
    return chess_drawing(8, signs, clicks, drawing_title(game, seat), below)


@implements(Rbc)
def glimpse(game, world, observation, seat):
    square = blind.parted_sense(observation)[0]
    if get(world, TURN) != seat or not _has_sensed(world) or square == blind.NO_SENSE:
        return ()
    ranks, files = (range(max(at - 1, 0), min(at + 2, 8)) for at in (square // 8, square % 8))
    return [8 * (7 - rank) + file for rank in ranks for file in files]


@implements(Rbc)
def observation_text(game, before, action, after, viewer):
    mover = get(before, TURN)
    code = int(observe(game, before, action, after, viewer))
    if action < blind.FIRST_MOVE:
        if viewer != mover:
            return f"{_NAMES[mover]} senses"
        return action_names(game, before, action)[0] + ("" if action == blind.NO_SENSE else f" {_seen(before, action)}")
    if viewer == mover:
        _, landed, taken, result = blind.parted_move(code)
        said = _became(before, action, landed)
    else:
        taken, result = blind.parted_other(code)
        said = f"{_NAMES[mover]} moves"
    where = f", taking on {notation.square_name(taken)}" if taken != blind.NONE else ""
    return said + where + (f", {_ENDS[result]}" if result else "")


def _seen(world: Any, square: int) -> str:
    """The sensed squares as text, from the highest rank down: `rnb/ppp/...`."""
    letters, file, rank = notation.letters(world), square % 8, square // 8
    rows = range(min(rank + 1, 7), max(rank - 1, 0) - 1, -1)
    return "/".join("".join(letters[8 * r + max(file - 1, 0) : 8 * r + min(file + 1, 7) + 1]) for r in rows)


def _became(before: Any, action: int, landed: int) -> str:
    """A request and its outcome as text."""
    name = action_names(Rbc(), before, action)[0]
    if action == blind.PASS:
        return name
    if landed == blind.NONE:
        return f"{name} fails"
    castles = action - blind.FIRST_MOVE in (CASTLE_LEFT, CASTLE_RIGHT)
    return (
        name
        if castles or name[2:4] == notation.square_name(landed)
        else f"{name} ends on {notation.square_name(landed)}"
    )
