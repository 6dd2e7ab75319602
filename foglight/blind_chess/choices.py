"""Where to sense and which move to request in blind chess, from weighted boards.

Winning chances are computed from centipawns, 1 / (1 + exp(-cp / SCALE)), so that gains in a decided position count
little. On a board, a request is worth

    1                             if it captures the king
    CAUGHT                        if it leaves one's own king where it can be captured
    p + UNNOTICED * (1 - p)       if it attacks the other king without a capture: an opponent that fails to notice loses
    p                             otherwise

Here p is the winning chance after the move that becomes of the request: by an engine where its value is given, else
with captures played out (`captures.py`). The value of a request is the mean over boards.
"""

import numpy as np
from numpy import uint64

from foglight.bits import get, lowest
from foglight.blind_chess.captures import is_in_check, king_of, quiet, quiet_room, two_leaps
from foglight.chess import blind
from foglight.chess.board import EMPTY, KING, KNIGHT, TURN, WORDS, of_kind, pieces_of
from foglight.chess.moves import NUM_MOVES
from foglight.compile import kernel
from foglight.randomness import fold
from foglight.tables import find, slots_for

SCALE, CAUGHT, UNNOTICED = 400.0, 0.08, 0.2
INNER = np.array([8 * rank + file for rank in range(1, 7) for file in range(1, 7)])  # windows at the edge show less


def information(boards: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The expected information of a sense around each square of INNER about the true board, in bits."""
    room = slots_for(len(boards) + 1)
    return _information(boards, weights, INNER, np.zeros(room, np.uint64), np.zeros(room))


def chances(boards: np.ndarray, requests: np.ndarray, judgements: np.ndarray | None = None) -> np.ndarray:
    """The value of each request on each board, float64[boards, requests]; the request NONE is passing.

    `judgements` may hold centipawns of moves and, in the last column, of passing: float64[boards, NUM_MOVES + 1], nan
    where no value is given.
    """
    if judgements is None:
        judgements = np.full((len(boards), NUM_MOVES + 1), np.nan)
    return _chances(boards, requests, judgements, quiet_room())


def unjudged(boards: np.ndarray, requests: np.ndarray, judgements: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The outcomes of requests without a value yet: indices into `judgements`, int64[n, 2], and the boards after them.

    Boards on which a king can be captured, before or after the move, are left out.
    """
    places = np.empty((len(boards) * len(requests), 2), np.int64)
    children = np.empty((len(places), WORDS), np.uint64)
    n = _unjudged(boards, requests, judgements.copy(), places, children)
    return places[:n], children[:n]


def gains(boards: np.ndarray, weights: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The expected gain in the value of the best request from a sense around each square of INNER."""
    return _gains(boards, weights, values, INNER)


@kernel
def list_requests(board):
    """The moves that the side to move may request, ascending."""
    out = np.empty(512, np.int64)
    return out[: blind.write_requests(board, out)]


@kernel
def dangers(boards, seat):
    """The danger to the seat's king, by board: 0 none, 1 a knight's next move may attack it, 2 it is attacked."""
    levels = np.zeros(len(boards), np.int64)
    for i in range(len(boards)):
        king = king_of(boards[i], seat)
        if is_in_check(boards[i], seat):
            levels[i] = 2
        elif king != uint64(0):
            knights = of_kind(boards[i], KNIGHT) & pieces_of(boards[i], 1 - seat)
            levels[i] = two_leaps(lowest(king)) & knights != uint64(0)
    return levels


@kernel
def _information(boards, weights, squares, keys, sums):
    """The entropy of the window around each square, in bits; `keys` and `sums` are a hash table."""
    entropies = np.zeros(len(squares))
    for s in range(len(squares)):
        keys[:] = uint64(0)
        sums[:] = 0.0
        for i in range(len(boards)):
            key = uint64(fold(uint64(0), 1 + blind.window(boards[i], squares[s])))
            slot = find(keys, key)
            if slot < 0:
                slot = -1 - slot
                keys[slot] = key
            sums[slot] += weights[i]
        for slot in range(len(keys)):
            if sums[slot] > 0.0:
                entropies[s] -= sums[slot] * np.log2(sums[slot])
    return entropies


@kernel
def _chances(boards, requests, judgements, room):
    values = np.empty((len(boards), len(requests)))
    done, child = np.empty(NUM_MOVES + 1), np.empty(WORDS, np.uint64)
    for i in range(len(boards)):
        seat = get(boards[i], TURN)
        done[:] = -1.0
        for j in range(len(requests)):
            became = blind.NONE if requests[j] == blind.NONE else blind.outcome(boards[i], requests[j])
            place = NUM_MOVES if became == blind.NONE else became
            if done[place] < 0.0:
                for k in range(WORDS):
                    child[k] = boards[i, k]
                kind, _ = blind.play_outcome(child, became)
                if kind == KING:
                    value = 1.0
                elif is_in_check(child, seat):
                    value = CAUGHT
                else:
                    worth = judgements[i, place]
                    if np.isnan(worth):
                        worth = -quiet(child, room)
                    value = 1.0 / (1.0 + np.exp(-worth / SCALE))
                    if kind == EMPTY and is_in_check(child, 1 - seat):
                        value += UNNOTICED * (1.0 - value)
                done[place] = value
            values[i, j] = done[place]
    return values


@kernel
def _unjudged(boards, requests, judgements, places, children):
    n = 0
    for i in range(len(boards)):
        seat = get(boards[i], TURN)
        if is_in_check(boards[i], 1 - seat):
            continue
        for j in range(len(requests)):
            became = blind.NONE if requests[j] == blind.NONE else blind.outcome(boards[i], requests[j])
            place = NUM_MOVES if became == blind.NONE else became
            if np.isnan(judgements[i, place]):
                judgements[i, place] = 0.0
                for k in range(WORDS):
                    children[n, k] = boards[i, k]
                blind.play_outcome(children[n], became)
                if not is_in_check(children[n], seat):
                    places[n, 0], places[n, 1] = i, place
                    n += 1
    return n


@kernel
def _gains(boards, weights, values, squares):
    n, k = values.shape
    gain = np.zeros(len(squares))
    windows, order = np.empty(n, np.int64), np.empty(n, np.int64)
    sums = np.zeros(k)
    for i in range(n):
        for j in range(k):
            sums[j] += weights[i] * values[i, j]
    before = sums.max()
    for s in range(len(squares)):
        for i in range(n):
            windows[i] = blind.window(boards[i], squares[s])
        order = np.argsort(windows)
        begin = 0
        while begin < n:
            end = begin
            sums[:] = 0.0
            while end < n and windows[order[end]] == windows[order[begin]]:
                for j in range(k):
                    sums[j] += weights[order[end]] * values[order[end], j]
                end += 1
            gain[s] += sums.max()
            begin = end
        gain[s] -= before
    return gain
