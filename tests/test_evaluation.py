"""The rule `evaluation`, the leaf that asks it, and what it says of chess in which kings are captured."""

import random
from pathlib import Path

import numpy as np
import pytest
from oracles import random_game

import foglight as fl
from foglight.bits import get
from foglight.chess import evaluation as estimate
from foglight.chess import network, notation
from foglight.chess.board import BISHOP, CLOCK, KING, KNIGHT, PAWN, QUEEN, ROOK, TURN
from foglight.compile import has_rule, interpreted, kernel
from foglight.randomness import generator
from foglight.rules import evaluation, new_worlds
from foglight.search.leaves import evaluate, own_evaluation

JUDGED = Path(__file__).with_name("judged_positions.txt")
KINDS = {"p": PAWN, "n": KNIGHT, "k": KING, "b": BISHOP, "r": ROOK, "q": QUEEN}
STRAIGHT, DIAGONAL = ((1, 0), (-1, 0), (0, 1), (0, -1)), ((1, 1), (1, -1), (-1, 1), (-1, -1))
LEAPS = ((1, 2), (2, 1), (-1, 2), (-2, 1), (1, -2), (2, -1), (-1, -2), (-2, -1))
LINES = {BISHOP: DIAGONAL, ROOK: STRAIGHT, QUEEN: STRAIGHT + DIAGONAL}


@kernel
def _payoffs(game, rows, out):
    for i in range(len(rows)):
        out[i, 0], out[i, 1] = evaluation(game, rows[i], 0), evaluation(game, rows[i], 1)


@kernel
def _centipawns(size, rows, out):
    for i in range(len(rows)):
        out[i] = estimate.centipawns(size, rows[i])


@kernel
def _corrected(size, rows, out):
    for i in range(len(rows)):
        out[i] = estimate.corrected(size, rows[i])


@kernel
def _leaf_values(leaf, game, rows, random, out):
    for i in range(len(rows)):
        evaluate(leaf, game, rows[i], random, out[i])


def centipawns(*fens):
    """What positions are worth to the side to move."""
    boards = [notation.read_fen(fen) for fen in fens]
    out = np.zeros(len(fens))
    for i, (size, board) in enumerate(boards):
        _centipawns(size, board[None, :], out[i : i + 1])
    return out.tolist()


def payoffs(game, rows):
    out = np.zeros((len(rows), 2))
    _payoffs(game, rows, out)
    return out


def positions(name, n, seed=0):
    """Worlds of random play that are not terminal."""
    game, rng, found = fl.load_game(name), random.Random(seed), []
    while len(found) < n:
        found += [state.world.copy() for state in random_game(name, rng) if state.player != fl.TERMINAL]
    return game, np.array(found[:n])


def dark_chess(size):
    return f"dark_chess(size={size},repetition=ignore)"


# Facts ------------------------------------------------------------------------------------------------------------


def test_whoever_can_take_the_king_has_won():
    game = fl.load_game("dark_chess(repetition=ignore)")
    taken = notation.read_fen("q3k3/8/8/8/8/8/8/4R2K w - - 0 1")[1]  # both kings can be taken; white is to move
    world = new_worlds(game, 1)
    world[0, : len(taken)] = taken
    assert payoffs(game, world).tolist() == [[-estimate.WON, estimate.WON]]
    world[0, TURN[0]] ^= np.uint64(1)
    assert payoffs(game, world).tolist() == [[estimate.WON, -estimate.WON]]


def test_more_material_is_worth_more():
    start = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"
    extra = [start.replace(piece, "1", 1) for piece in ("q", "r", "b", "n")]
    queen, rook, bishop, knight, even = centipawns(*extra, start)
    assert queen > rook + 200 > rook > bishop > knight > even == estimate.TEMPO
    (pawn,) = centipawns(start.replace("pppppppp", "1ppppppp"))
    assert knight > pawn > even


def test_a_piece_that_hangs_is_as_good_as_taken_by_who_moves_and_at_less_risk_if_its_owner_moves():
    hanging = "4k3/3p4/8/8/4q3/3P4/8/K7"  # the pawn on d3 can take the queen; nothing takes back
    (white,), (black,) = centipawns(f"{hanging} w - - 0 1"), centipawns(f"{hanging} b - - 0 1")
    (without,) = centipawns("4k3/3p4/8/8/8/3P4/8/K7 w - - 0 1")
    assert abs(white - without) < 250 and black > 500
    defended = hanging.replace("8/8/4q3", "8/3p4/4q3")
    (white,) = centipawns(f"{defended} w - - 0 1")
    assert white < without  # a pawn takes back


def test_a_queen_does_not_take_what_a_pawn_defends():
    loose, guarded = centipawns("4k3/8/8/3n4/8/8/8/3QK3 w - - 0 1", "4k3/8/4p3/3n4/8/8/8/3QK3 w - - 0 1")
    assert loose - guarded > estimate.WORTH[KNIGHT]  # the knight, and the pawn


def test_a_king_that_is_attacked_and_has_no_answer_is_lost():
    smothered, attacked = centipawns("6rk/5Npp/8/8/8/8/8/4K3 b - - 0 1", "5r1k/5Npp/8/8/8/8/8/4K3 b - - 0 1")
    assert smothered < -2000  # by a knight that nothing can take
    assert attacked > 0  # the rook takes the knight


def test_a_pawn_about_to_promote_is_worth_more_the_nearer_it_is():
    fens = [
        f"7k/{'/'.join('P7' if rank == here else '8' for rank in range(6, 0, -1))}/7K w - - 0 1" for here in range(1, 7)
    ]
    values = centipawns(*fens)
    assert values == sorted(values) and values[-1] > values[-2] + 300


def test_a_draw_by_the_clock_comes_nearer():
    game = fl.load_game("dark_chess(repetition=ignore)")
    world = new_worlds(game, 3)
    for i, clock in enumerate((0, 50, 90)):
        board = notation.read_fen(f"4k3/8/8/8/8/8/8/3QK3 w - - {clock} 60")[1]
        world[i, : len(board)] = board
        assert get(world[i], CLOCK) == clock
    values = payoffs(game, world)[:, 1]
    np.testing.assert_allclose(values / values[0], [1.0, 0.75, 0.19])


@pytest.mark.parametrize("size", [4, 5, 6, 7, 8])
def test_two_seats_and_two_colours_are_opposed(size):
    """The value to one seat is the negative of that to the other; colours exchanged, the seats' values are too."""
    game, rows = positions(dark_chess(size), 60 if fl.compile.INTERPRET_ALL else 1000, size)
    values = payoffs(game, rows)
    mirrored = rows.copy()
    for world, row in zip(mirrored, rows, strict=True):
        ranks, turn, *rest = notation.fen(size, row).split()
        swapped = "/".join(reversed(ranks.split("/"))).swapcase()
        board = notation.read_fen(" ".join((swapped, "wb"[turn == "w"], rest[0].swapcase(), "-", *rest[2:])))[1]
        world[: len(board)] = board
    opposed, compared = payoffs(game, mirrored), 0
    for value, other in zip(values.tolist(), opposed.tolist(), strict=True):
        assert value[0] == -value[1] and -1 < value[0] < 1
        assert value[0] == pytest.approx(other[1], abs=1e-12)
        compared += 1
    assert compared == len(rows) and len(np.unique(values)) > compared / 2


# The formula, written plainly ---------------------------------------------------------------------------------------


class Plain:
    """The evaluation of a position as the docstring of `foglight/chess/evaluation.py` has it, square by square.

    Squares are (file, rank), the ranks as the mover counts them. Pieces are (kind, whether it is the mover's).
    """

    def __init__(self, size, board):
        self.size, white = size, get(board, TURN) == 1
        self.pieces = {}
        for square, letter in enumerate(notation.letters(board)):
            file, rank = square % 8, square // 8
            if letter.lower() in KINDS and file < size and rank < size:
                place = (file, rank if white else size - 1 - rank)
                self.pieces[place] = (KINDS[letter.lower()], letter.isupper() == white)

    def value(self):
        king, prey = self.place_of_king(True), self.place_of_king(False)
        if self.attackers(prey, True):
            return estimate.MOST + 1
        worth = self.strength(True) - self.strength(False) + estimate.TEMPO
        threats = [*self.gains(False), 0, 0]
        if self.attackers(king, False):
            return worth + self.answer(king) - estimate.LATER * threats[0]
        return worth + [*self.gains(True), 0][0] - estimate.LATER * threats[1]

    def place_of_king(self, own):
        return next((place for place, piece in self.pieces.items() if piece == (KING, own)), None)

    def on_board(self, file, rank):
        return 0 <= file < self.size and 0 <= rank < self.size

    def reached(self, kind, own, place):
        """The squares that a piece in this place attacks."""
        file, rank = place
        if kind == PAWN:
            steps = [(side, 1 if own else -1) for side in (-1, 1)]
        elif kind in (KNIGHT, KING):
            steps = LEAPS if kind == KNIGHT else STRAIGHT + DIAGONAL
        else:
            found = set()
            for right, up in LINES[kind]:
                at = (file + right, rank + up)
                while self.on_board(*at):
                    found.add(at)
                    if at in self.pieces:
                        break
                    at = (at[0] + right, at[1] + up)
            return found
        return {(file + right, rank + up) for right, up in steps if self.on_board(file + right, rank + up)}

    def attackers(self, place, own):
        """The places of a side's pieces that attack this one."""
        return [at for at, (kind, side) in self.pieces.items() if side == own and place in self.reached(kind, own, at)]

    def attacked(self, own):
        return {
            place for at, (kind, side) in self.pieces.items() if side == own for place in self.reached(kind, own, at)
        }

    def strength(self, own):
        attacked, threatened, king = self.attacked(own), self.attacked(not own), self.place_of_king(own)
        mine = {place: kind for place, (kind, side) in self.pieces.items() if side == own}
        total = estimate.SEEN * len(attacked - set(mine))
        for (file, rank), kind in mine.items():
            total += estimate.TABLE[self.size, 64 * kind + 8 * (rank if own else self.size - 1 - rank) + file]
            total -= estimate.LOOSE * (kind != PAWN and (file, rank) not in attacked)
        total -= estimate.EXPOSED * len((self.reached(KING, own, king) | {king}) & threatened)
        return total - estimate.OPEN * len(self.reached(QUEEN, own, king) - set(mine))

    def cheapest(self, place, own):
        kinds = [self.pieces[at][0] for at in self.attackers(place, own)]
        return min(
            {BISHOP: estimate.WORTH[KNIGHT], KING: estimate.KING_WORTH}.get(k, estimate.WORTH.get(k)) for k in kinds
        )

    def gain(self, place, own):
        """The gain of a side's captures on a square that it attacks."""
        worth = estimate.WORTH.get(self.pieces[place][0], 0)
        takers, defenders = len(self.attackers(place, own)), len(self.attackers(place, not own))
        if defenders == 0:
            return worth
        loss = self.cheapest(place, own)
        return worth - (max(0, loss - self.cheapest(place, not own)) if takers > 1 and defenders == 1 else loss)

    def gains(self, own):
        """The gains of a side, the greatest first."""
        attacked, covered = self.attacked(own), self.attacked(not own)
        found = [
            self.gain(place, own)
            for place, (kind, side) in self.pieces.items()
            if side != own and kind != KING and place in attacked
        ]
        last = self.size - 1 if own else 0
        for (file, rank), piece in self.pieces.items():
            ahead = (file, rank + (1 if own else -1))
            if piece == (PAWN, own) and ahead[1] == last and ahead not in self.pieces and ahead not in covered:
                found.append(estimate.PROMOTION)
        return sorted((gain for gain in found if gain > 0), reverse=True)

    def answer(self, king):
        attackers, threatened = self.attackers(king, False), self.attacked(False)
        beside = self.reached(KING, True, king)
        if len(attackers) == 1:
            (place,) = attackers
            takers = self.attackers(place, True)
            if [at for at in takers if at != king] or (takers and place not in threatened):
                return max(0, self.gain(place, True))
        if any(at not in threatened and not self.pieces.get(at, (0, False))[1] for at in beside):
            return 0
        between = len(attackers) == 1 and self.pieces[attackers[0]][0] in LINES and attackers[0] not in beside
        return 0 if between else -estimate.MATE


@pytest.mark.parametrize("size", [4, 5, 6, 7, 8])
def test_the_evaluation_is_the_formula(size):
    _, rows = positions(dark_chess(size), 25 if fl.compile.INTERPRET_ALL else 300, 10 + size)
    values = np.zeros(len(rows))
    _centipawns(size, rows, values)
    decided = 0
    for row, value in zip(rows, values.tolist(), strict=True):
        assert value == pytest.approx(Plain(size, row).value(), abs=1e-9), notation.fen(size, row)
        decided += abs(value) > estimate.MOST
    assert len(values) - decided > len(values) / 3 and len(np.unique(values)) > len(values) / 3


# The network, written plainly ---------------------------------------------------------------------------------------


CLASSES = {PAWN: 1, KNIGHT: 2, BISHOP: 2, ROOK: 3, QUEEN: 4, KING: 5}


def safety(plain, place, kind, own):
    """How safe a piece is, as the docstring of `foglight/chess/network.py` has it."""
    takers, defenders = plain.attackers(place, not own), plain.attackers(place, own)
    if not takers:
        return network.SAFE if defenders else network.LOOSE
    cheapest = min(CLASSES[plain.pieces[at][0]] for at in takers)
    cheaper = cheapest < CLASSES[kind] < CLASSES[KING]
    return network.HANGING if not defenders or cheaper else network.CONTESTED


def plain_correction(plain, estimate):
    hidden = [
        int(bias) + round(estimate) * int(slope) // 256
        for bias, slope in zip(network.BIAS, network.ESTIMATE, strict=True)
    ]
    for (file, rank), (kind, own) in plain.pieces.items():
        piece = (0 if own else 6) + [PAWN, KNIGHT, BISHOP, ROOK, QUEEN, KING].index(kind)
        row = (piece * 64 + 8 * rank + file) * 4 + safety(plain, (file, rank), kind, own)
        hidden = [number + int(weight) for number, weight in zip(hidden, network.WEIGHTS[row], strict=True)]
    total = sum(int(weight) * max(number, 0) for weight, number in zip(network.OUTPUT, hidden, strict=True))
    return (total + network.CONSTANT) / network.UNIT


def test_the_network_corrects_the_formula_on_the_full_board():
    _, rows = positions(dark_chess(8), 20 if fl.compile.INTERPRET_ALL else 400, 31)
    formula, corrected, compared, safeties = np.zeros(len(rows)), np.zeros(len(rows)), 0, set()
    _centipawns(8, rows, formula)
    _corrected(8, rows, corrected)
    for row, before, after in zip(rows, formula.tolist(), corrected.tolist(), strict=True):
        if abs(before) > estimate.MOST:
            assert after == before
            continue
        plain = Plain(8, row)
        assert after - before == pytest.approx(plain_correction(plain, before), abs=1e-6), notation.fen(8, row)
        safeties |= {safety(plain, place, *piece) for place, piece in plain.pieces.items()}
        compared += 1
    assert compared > len(rows) / 2 and safeties == {0, 1, 2, 3}
    _, small = positions(dark_chess(6), 50, 32)
    before, after = np.zeros(len(small)), np.ones(len(small))
    _centipawns(6, small, before)
    _corrected(6, small, after)
    assert before.tolist() == after.tolist()


def test_lanes_of_the_network_cannot_overflow():
    assert network.WEIGHTS.min() >= -network.OFFSET and network.WEIGHTS.max() < network.OFFSET
    assert 32 * (2 * network.OFFSET - 1) < 1 << 16


def test_the_corrected_evaluation_is_nearer_to_a_deeper_search():
    """Positions beside noisy games, and what Stockfish 15.1 at depth 8 said of them: the payoffs' squared error falls.

    Its weights come from other games, at depth 4.
    """
    table = [line.rsplit(" ", 1) for line in JUDGED.read_text().splitlines() if not line.startswith("#")]
    rows = np.array([notation.read_fen(fen)[1] for fen, _ in table])
    wanted = np.array([float(value) for _, value in table])
    formula, corrected = np.zeros(len(rows)), np.zeros(len(rows))
    _centipawns(8, rows, formula)
    _corrected(8, rows, corrected)
    open_ = np.abs(formula) <= estimate.MOST
    assert open_.sum() >= 450

    def error(values):
        x, y = values[open_] / estimate.SCALE, wanted[open_].clip(-20000, 20000) / estimate.SCALE
        return float(np.sqrt(np.mean((x / np.sqrt(1 + x * x) - y / np.sqrt(1 + y * y)) ** 2)))

    assert error(corrected) < 0.92 * error(formula)


def test_compiled_and_interpreted_evaluations_are_equal():
    game, rows = positions(dark_chess(8), 100)
    compiled = payoffs(game, rows)
    with interpreted():
        assert [[evaluation(game, row, seat) for seat in range(2)] for row in rows] == pytest.approx(compiled)


# The leaf -----------------------------------------------------------------------------------------------------------


def test_the_leaf_asks_the_game_and_knows_the_end():
    game, rng, seen = fl.load_game(dark_chess(5)), random.Random(4), 0
    states = [state for _ in range(5) for state in random_game(str(game), rng)]
    rows, out = np.array([state.world for state in states]), np.zeros((len(states), 2))
    _leaf_values(own_evaluation(game), game, rows, generator(0), out)
    for state, row, values in zip(states, rows, out.tolist(), strict=True):
        over = state.player == fl.TERMINAL
        assert values == (state.returns() if over else payoffs(game, row[None, :])[0].tolist())
        seen += over
    assert seen == 5


@pytest.mark.parametrize("agent", ["pimc", "epimc", "ismcts", "iimc"])
def test_an_agent_that_evaluates_takes_a_queen(agent):
    game = fl.load_game('dark_chess(size=5,repetition=ignore,start="k4/5/3q1/2P2/K4 w - - 0 1")')
    player = fl.load_agent(f"{agent}(leaf=evaluation,iterations=200)")
    player.start(game, 1, 0)
    assert fl.new_state(game).action_text(player.act()) == "cxd3"


@pytest.mark.parametrize("agent", ["pimc", "epimc", "ismcts", "iimc"])
def test_a_game_without_evaluation_is_told_so(agent):
    assert not has_rule("evaluation", type(fl.load_game("kuhn_poker")))
    with pytest.raises(fl.BadInput, match=r"^kuhn_poker.* has no rule 'evaluation'; give leaf=rollout, or write"):
        fl.load_agent(f"{agent}(leaf=evaluation)").start("kuhn_poker", 0, 0)
