"""The text of chess: FEN, standard algebraic notation (SAN), and other notations of moves. In Python only.

A FEN has as many ranks as the board. SAN follows OpenSpiel: it has no marks for check.
"""

import functools
import re
from collections import Counter
from typing import Any, NamedTuple

import numpy as np

from foglight.bits import get, lowest, put
from foglight.chess.board import (
    CASTLING,
    CLOCK,
    CLOCK_LIMIT,
    EN_PASSANT,
    KING,
    PLIES,
    TURN,
    WHITE,
    WHITES,
    WORDS,
    flipped_square,
    kind_at,
)
from foglight.chess.moves import CASTLE_LEFT, CASTLE_RIGHT, can_be_passed, list_moves, meaning_seen, move_between
from foglight.names import BadInput
from foglight.text import cell

_LETTERS = ".PNK.BRQ"  # by kind
_RIGHTS = "KQkq"


def square_name(square: int) -> str:
    """The name of a square, such as `e4`."""
    return cell(square, 8)


def letters(board: Any) -> list[str]:
    """The letter of the piece on each of the 64 squares, white's in capitals; a dot for an empty square."""
    first, second, third, whites = (int(word) for word in board[: WHITES + 1])
    signs, rest = ["."] * 64, first | second | third
    while rest:
        square = lowest(rest)
        rest &= rest - 1
        kind = first >> square & 1 | (second >> square & 1) << 1 | (third >> square & 1) << 2
        signs[square] = _LETTERS[kind] if whites >> square & 1 else _LETTERS[kind].lower()
    return signs


# FEN ------------------------------------------------------------------------------------------------------------


def fen(size: int, board: Any, signs: list[str] | None = None) -> str:
    """The position as FEN; `signs` may replace the letters of the 64 squares, with a dot for an empty one."""
    passed = get(board, EN_PASSANT)
    return " ".join(
        (
            _placement(size, signs or letters(board)),
            "bw"[get(board, TURN)],
            "".join(_RIGHTS[i] for i in range(4) if get(board, CASTLING) >> i & 1) or "-",
            square_name(passed) if passed else "-",
            str(get(board, CLOCK)),
            str(1 + get(board, PLIES) // 2),
        )
    )


def _placement(size: int, signs: list[str]) -> str:
    text = "/".join("".join(signs[8 * rank : 8 * rank + size]) for rank in reversed(range(size)))
    for run in range(size, 0, -1):
        text = text.replace("." * run, str(run))
    return text


def read_fen(text: str) -> tuple[int, np.ndarray]:
    """The size of the board and the words of the position; fields after the side to move may be missing at the end.

    An en passant square where no pawn could take is dropped, as it is in play.
    """
    fields = text.split()
    if len(fields) >= 2:
        fields += ["-", "-", "0", "1"][len(fields) - 2 :]
    ranks = fields[0].split("/") if len(fields) == 6 else []
    size, board = len(ranks), np.zeros(WORDS, np.uint64)
    rows = ["".join("." * int(sign) if sign in "12345678" else sign for sign in rank) for rank in ranks]
    if not 4 <= size <= 8 or any(len(row) != size or row.strip(".PNBRQKpnbrqk") for row in rows):
        raise BadInput(f"cannot read the FEN {text!r}; write ranks of 4 to 8 squares, then 'w KQkq - 0 1' or the like")
    for rank, row in enumerate(reversed(rows)):
        for file, sign in enumerate(row):
            kind, place = _LETTERS.index(sign.upper()), np.uint64(1 << (8 * rank + file))
            for i in range(3):
                board[i] |= place * np.uint64(kind >> i & 1)
            board[WHITES] |= place * np.uint64(sign.isupper())
    colour, counters = "bw".find(fields[1]), all(re.fullmatch("[0-9]{1,4}", field) for field in fields[4:])
    if (
        colour < 0
        or fields[2].strip(_RIGHTS + "-")
        or not counters
        or int(fields[4]) > CLOCK_LIMIT
        or int(fields[5]) == 0
    ):
        raise BadInput(f"cannot read the FEN {text!r}; after the ranks write 'w KQkq - 0 1' or the like")
    put(board, TURN, colour)
    put(board, CASTLING, sum(1 << i for i in range(4) if _RIGHTS[i] in fields[2]))
    put(board, CLOCK, int(fields[4]))
    put(board, PLIES, 2 * (int(fields[5]) - 1) + (colour != WHITE))
    if fields[3] != "-":
        passed = read_square(fields[3])
        if passed // 8 != (5 if colour == WHITE else 2):
            raise BadInput(f"{fields[3]} cannot be the en passant square of {text!r}; that is on rank 3 or 6")
        if can_be_passed(board, passed + (-8 if colour == WHITE else 8), colour):
            put(board, EN_PASSANT, passed)
    return size, board


def read_square(text: str) -> int:
    """The square of a name such as `e4`."""
    if len(text) != 2 or text[0] not in "abcdefgh" or text[1] not in "12345678":
        raise BadInput(f"{text!r} is not a square; write a letter from a to h and a number from 1 to 8")
    return "abcdefgh".index(text[0]) + 8 * (int(text[1]) - 1)


# Moves ----------------------------------------------------------------------------------------------------------


class Written(NamedTuple):
    """The parts of a move."""

    start: int
    end: int
    piece: str  # a capital letter
    takes: bool
    promoted: str  # a capital letter, or empty
    castling: str  # O-O, O-O-O or empty

    @property
    def coordinates(self) -> str:
        return square_name(self.start) + square_name(self.end) + self.promoted.lower()


def move_names(size: int, board: Any) -> dict[int, tuple[str, ...]]:
    """The names of each move of the side to move, the best one first; no two moves share a name.

    Capitals do not distinguish names. So where both the bishop's `Bxc3` and the b pawn's `bxc3` can be played, neither
    is a name; the best names are then `Bd2xc3` and `b2c3`.
    """
    return _move_names(size, board[:WORDS].tobytes())


def san(size: int, board: Any, move: int) -> str:
    """Standard algebraic notation, in which capitals count: `e4`, `exd5`, `Nf3`, `R1e2`, `e8=Q`, `O-O`."""
    written = _taken_apart(size, board)
    return _san(written[move], _rivals(written))


def coordinates(size: int, board: Any, move: int) -> str:
    """The move by its squares: `e2e4`, `e7e8q`; castling is the king's step."""
    return _taken_apart(size, board)[move].coordinates


def read_coordinates(board: Any, text: str) -> int:
    """The number of a move such as `e2e4` or `e7e8n`, whether it is legal or not."""
    start, end = read_square(text[:2]), read_square(text[2:4])
    return numbered(start, end, text[4:5], kind_at(board, start) == KING, get(board, TURN) == WHITE)


def numbered(start: int, end: int, promoted: str, king: bool, white: bool) -> int:
    """The number of the move from square to square.

    `king` says whether a king moves, and `white` whether white does; `promoted` is a letter of `qrbn`, or empty.
    """
    if king and abs(end - start) == 2:
        return CASTLE_LEFT if end < start else CASTLE_RIGHT
    over = 0 if white else 56
    start, end = start ^ over, end ^ over
    special = "rbn".find(promoted or "q")
    if special < 0:
        return int(move_between(start, end))
    return int(move_between(start, start + 8)) // 73 * 73 + 3 * special + (0, 1, 2)[end - start - 8]


@functools.lru_cache(maxsize=1024)
def _move_names(size: int, words: bytes) -> dict[int, tuple[str, ...]]:
    written = _taken_apart(size, np.frombuffer(words, np.uint64).copy())
    rivals = _rivals(written)
    ways = {move: _ways(one, _san(one, rivals)) for move, one in written.items()}
    uses = Counter(name for names in ways.values() for name in {name.lower() for name in names})
    return {
        move: tuple(name for name in names if name == written[move].coordinates or uses[name.lower()] == 1)
        for move, names in ways.items()
    }


def _taken_apart(size: int, board: Any) -> dict[int, Written]:
    """The parts of each move of the side to move, by number."""
    white, signs, parts = get(board, TURN) == WHITE, letters(board), {}
    for move in list_moves(size, board).tolist():
        start, end, special = (int(part) for part in meaning_seen(move))
        if not white:
            start, end = flipped_square(size, start), flipped_square(size, end)
        piece, castling = signs[start].upper(), {CASTLE_LEFT: "O-O-O", CASTLE_RIGHT: "O-O"}.get(move, "")
        last = piece == "P" and end // 8 in (0, size - 1)
        takes = signs[end] != "." or (piece == "P" and start % 8 != end % 8)
        parts[move] = Written(start, end, piece, takes, "QRBN"[special] if last else "", castling)
    return parts


def _rivals(written: dict[int, Written]) -> dict[tuple[str, int], list[int]]:
    """The squares from which a piece of each kind can go to each square."""
    starts: dict[tuple[str, int], list[int]] = {}
    for one in written.values():
        starts.setdefault((one.piece, one.end), []).append(one.start)
    return starts


def _san(one: Written, rivals: dict[tuple[str, int], list[int]]) -> str:
    if one.castling:
        return one.castling
    name = square_name(one.start)
    others = [start for start in rivals[one.piece, one.end] if start != one.start]
    same_file = any(start % 8 == one.start % 8 for start in others)
    same_rank = any(start // 8 == one.start // 8 for start in others)
    if one.piece == "P":
        which = name[0] if one.takes else ""
    elif not others:
        which = ""
    elif not same_file:
        which = name[0]
    else:
        which = name if same_rank else name[1]
    return _letter(one) + which + "x" * one.takes + square_name(one.end) + _promotion(one)


def _ways(one: Written, best: str) -> tuple[str, ...]:
    plain = one.coordinates
    if one.castling:
        return best, best.replace("O", "0"), plain
    start, end = _letter(one) + square_name(one.start), square_name(one.end) + _promotion(one)
    long = start + ("x" if one.takes else "-") + end
    first = (best, plain, long) if one.piece == "P" else (best, long, plain)
    bare = best.replace("x", "")
    return tuple(dict.fromkeys((*first, bare, best.replace("=", ""), bare.replace("=", ""), start + end)))


def _letter(one: Written) -> str:
    return "" if one.piece == "P" else one.piece


def _promotion(one: Written) -> str:
    return f"={one.promoted}" if one.promoted else ""
