"""Beliefs in Fog-of-War chess against those of Misty, an engine for it (PyPI `misty-chess`, GPL-3).

Misty stores how many positions each seat holds possible after every ply of a game, and a digest of them: the SHA-256 of
their FENs, sorted (`tests/fixtures/golden_p_trace.json` of github `brianhliou/misty`). The numbers below are those of
that file; the FENs are ours. Misty's sets do not use what a seat sees after its own move, so `Forgetful` is dark chess
in which that is not observed. Our own beliefs do use it, and hold fewer positions; these sizes are those that Misty's
enumeration gives when it is filtered by that sight as well.
"""

import hashlib
from typing import NamedTuple

import pytest

import foglight as fl
from foglight import rules
from foglight.chess import moves
from foglight.chess.board import CASTLING, CLOCK, EN_PASSANT, PLIES, TURN
from foglight.chess.notation import fen, square_name
from foglight.compile import constants, implements
from foglight.games.dark_chess import DarkChess

GAME = ["e2e3", "e7e6", "f1e2", "f8e7", "d2d3", "d7d6", "c1d2", "c8d7", "e2f3", "d7c6", "e3e4", "e7f6", "g1e2", "g8e7"]
# after each ply: Black's and White's positions, and the first 16 digits of their digests
MISTY = [
    ((20, "31d4a53e8bdd89d7"), (1, "568641c6004364db")),
    ((20, "e215f4059be365d2"), (16, "2dc81be2fd85c5f4")),
    ((204, "cadc673516957678"), (16, "ae3878da2cc29706")),
    ((204, "e09e68ac8af35d2f"), (202, "e10977708b138ea2")),
    ((2486, "60409f0d3525ea8a"), (168, "ef52fac96b17acd4")),
    ((1456, "54dacfb1aba2626c"), (2719, "41cc933ce4361e4b")),
    ((21706, "9164ca5b602a8ec6"), (2719, "5201d5dd87308b20")),
    ((21706, "762ec0c496b39615"), (26721, "b7ff8e6dc526666a")),
    ((184816, "8ca5c812867afac7"), (26721, "de3991dd3dd67b29")),
    ((184816, "3848c38711ef9ef0"), (1045, "3fd7e438422c577b")),
    ((446657, "d750a89ca87ffc83"), (408, "4f837a03e3371922")),
    ((446657, "000d60ced5a0fbfe"), (2023, "17ae9cc09241d2ce")),
    ((798656, "f424d438b91dcc25"), (2023, "d40562f4fe9de392")),
    ((798656, "ebfeb462a38bec61"), (16487, "64307260ea28bd3e")),
]
OURS = [
    (20, 1), (16, 16), (202, 16), (202, 202), (2459, 168), (1431, 2719), (21409, 2327), (17606, 26673),
    (182928, 10551), (1014, 266), (435, 61), (221, 795), (2589, 795), (2589, 7740),
]  # fmt: skip


@fl.game
@constants(num_players=2, num_actions=moves.NUM_MOVES, title="dark chess in which a move shows its mover nothing")
class Forgetful(NamedTuple):
    chess: DarkChess = fl.load_game("dark_chess(repetition=ignore,clock=hidden)")


@implements(Forgetful)
def num_words(game):
    return rules.num_words(game.chess)


@implements(Forgetful)
def max_legal(game):
    return rules.max_legal(game.chess)


@implements(Forgetful)
def begin(game, world):
    rules.begin(game.chess, world)


@implements(Forgetful)
def player(game, world):
    return rules.player(game.chess, world)


@implements(Forgetful)
def legal(game, world, out):
    return rules.legal(game.chess, world, out)


@implements(Forgetful)
def step(game, world, action):
    rules.step(game.chess, world, action)


@implements(Forgetful)
def observe(game, before, action, after, viewer):
    if viewer == rules.player(game.chess, before):
        return 1 + action
    return rules.observe(game.chess, before, action, after, viewer)


@implements(Forgetful)
def returns(game, world, out):
    rules.returns(game.chess, world, out)


class Fens:
    """FENs of many positions of the full board, fast: a rank of pieces is written once."""

    def __init__(self):
        self.ranks = {}

    def of(self, row):
        first, second, third, whites, state = row[:5].tolist()
        text = []
        for shift in range(56, -1, -8):
            rank = tuple(word >> shift & 255 for word in (first, second, third, whites))
            if rank not in self.ranks:
                self.ranks[rank] = self.rank(rank)
            text.append(self.ranks[rank])
        field = {part[1]: state >> part[1] & (1 << part[2]) - 1 for part in (TURN, CASTLING, EN_PASSANT, CLOCK, PLIES)}
        rights = "".join("KQkq"[i] for i in range(4) if field[CASTLING[1]] >> i & 1) or "-"
        passed = square_name(field[EN_PASSANT[1]]) if field[EN_PASSANT[1]] else "-"
        turn, clock, plies = field[TURN[1]], field[CLOCK[1]], field[PLIES[1]]
        return f"{'/'.join(text)} {'bw'[turn]} {rights} {passed} {clock} {1 + plies // 2}"

    @staticmethod
    def rank(words):
        first, second, third, whites = words
        text = ""
        for file in range(8):
            letter = ".PNK.BRQ"[first >> file & 1 | (second >> file & 1) << 1 | (third >> file & 1) << 2]
            text += letter if whites >> file & 1 else letter.lower()
        for run in range(8, 0, -1):
            text = text.replace("." * run, str(run))
        return text


def digest(rows, fens):
    return hashlib.sha256("\n".join(sorted(map(fens.of, rows))).encode()).hexdigest()[:16]


def beliefs(game, plies):
    """After every ply, the trackers of black and white, which are exact."""
    state = fl.new_state("dark_chess(repetition=ignore,clock=hidden)")
    follower = fl.new_state(game)
    trackers = [fl.Tracker(game, seat, cap=1_000_000, positions=True) for seat in (0, 1)]
    for text in GAME[:plies]:
        action = state.parse_action(text)
        state.play(action)
        follower.play(action)
        for seat, tracker in enumerate(trackers):
            for observation in follower.observations(seat)[len(tracker.observations) :]:
                tracker.observe(observation)
            assert tracker.exact
        yield state, trackers


@pytest.mark.parametrize("plies", [8, pytest.param(14, marks=pytest.mark.long)])
def test_positions_are_those_of_misty(plies):
    fens, compared = Fens(), 0
    for ply, (state, trackers) in enumerate(beliefs(Forgetful(), plies)):
        for seat, tracker in enumerate(trackers):
            size, expected = MISTY[ply][seat]
            rows = tracker.worlds(turn_only=False).rows
            assert len(rows) == size
            assert digest(rows, fens) == expected
            assert fens.of(rows[-1]) == fen(8, rows[-1])
            assert (rows[:, :5] == state.world[:5]).all(axis=1).sum() == 1
            compared += size
    assert compared == sum(size for row in MISTY[:plies] for size, _ in row)


@pytest.mark.parametrize("plies", [8, pytest.param(14, marks=pytest.mark.long)])
def test_who_uses_what_its_own_move_shows_holds_fewer_positions(plies):
    sizes = []
    for state, trackers in beliefs("dark_chess(repetition=ignore,clock=hidden)", plies):
        sizes.append(tuple(map(len, trackers)))
        for tracker in trackers:
            rows = tracker.worlds(turn_only=False).rows
            assert (rows[:, :5] == state.world[:5]).all(axis=1).sum() == 1
    assert sizes == OURS[:plies]
    assert all(OURS[ply][seat] <= MISTY[ply][seat][0] for ply in range(len(GAME)) for seat in (0, 1))
