"""The rule `evaluation` of games other than chess, beside slow formulas, and what it says of easy positions."""

import itertools
import random

import numpy as np
import pytest
from oracles import random_game

import foglight as fl
from foglight.compile import kernel
from foglight.games import dark_hex
from foglight.randomness import generator
from foglight.rules import evaluation
from foglight.search.leaves import evaluate, rollout


@kernel
def _payoffs(game, rows, out):
    for i in range(len(rows)):
        out[i, 0], out[i, 1] = evaluation(game, rows[i], 0), evaluation(game, rows[i], 1)


@kernel
def _leaf_payoffs(leaf, game, rows, random, out):
    for i in range(len(rows)):
        evaluate(leaf, game, rows[i], random, out[i])


def payoffs(states):
    """The evaluation of states of one game for both seats."""
    out = np.zeros((len(states), 2))
    _payoffs(states[0].game, np.array([state.world for state in states]), out)
    return out


def leaf_payoffs(leaf, states):
    """What a leaf says of states of one game for seat 0."""
    game, out = states[0].game, np.zeros((len(states), 2))
    _leaf_payoffs(leaf(game), game, np.array([state.world for state in states]), generator(0), out)
    return out[:, 0]


def positions(name, n, seed):
    """States of random play in which a seat is to move."""
    rng, found = random.Random(seed), []
    while len(found) < n:
        found += [state for state in random_game(name, rng) if state.player >= 0]
    return found[:n]


def after(name, *moves):
    """The state after moves written as people write them."""
    state = fl.new_state(name)
    for move in moves:
        state.play(state.parse_action(move))
    return state


def correlation(one, other):
    return float(np.corrcoef(one, other)[0, 1])


# Liar's Dice --------------------------------------------------------------------------------------------------------


def dice_value(state):
    """The formula of the evaluation of Liar's Dice for the mover, by listing all rolls of the other seat's dice."""
    game, word, seat = state.game, int(state.world[0]), state.player
    rolled = [(word >> 3 * i & 7) - 1 for i in range(2 * game.dice)]
    cups = [rolled[: game.dice], rolled[game.dice :]]
    rolls = list(itertools.product(range(game.sides), repeat=game.dice))

    def holds(dice, bid):
        return sum(die in (bid % game.sides, game.sides - 1) for die in dice) > bid // game.sides

    def odds(mover, bid):
        return sum(holds([*cups[mover], *others], bid) for others in rolls) / len(rolls)

    def value(mover, last):
        """For the mover, by recursion: calls and raises are weighed by their odds."""
        raises = [(odds(mover, bid), -bid) for bid in range(last + 1, 2 * game.dice * game.sides)]
        best, bid = max(raises, default=(0.0, 0))
        if last < 0:
            return -value(1 - mover, -bid)
        doubt = 1.0 - odds(mover, last)
        call = doubt / (doubt + best) if best > 0.0 else 1.0
        called = -1.0 if holds(rolled, last) else 1.0
        return call * called - ((1.0 - call) * value(1 - mover, -bid) if call < 1.0 else 0.0)

    return value(seat, (int(state.world[1]) & 255) - 1)


@pytest.mark.parametrize(
    ("name", "n"),
    [
        ("liars_dice", 600),
        ("liars_dice(dice=2)", 300),
        ("liars_dice(dice=2,sides=2)", 200),
        ("liars_dice(dice=3,sides=3)", 200),
        ("liars_dice(dice=5,sides=2)", 100),
    ],
)
def test_the_evaluation_of_liars_dice_is_the_formula(name, n):
    states = positions(name, n, 1)
    compared = 0
    for state, values in zip(states, payoffs(states).tolist(), strict=True):
        value = dice_value(state)
        assert values[state.player] == pytest.approx(value, abs=1e-9), str(state)
        assert values[1 - state.player] == pytest.approx(-value, abs=1e-9)
        compared += 1
    assert compared == n


def test_whoever_must_call_a_bid_that_holds_has_lost_in_liars_dice():
    holds = after("liars_dice", "6", "6", "2-6")
    assert payoffs([holds]).tolist() == [[1.0, -1.0]]
    wrong = after("liars_dice", "6", "5", "2-6")
    assert payoffs([wrong]).tolist() == [[-1.0, 1.0]]


def test_a_bid_that_a_seat_knows_to_be_wrong_is_called():
    assert payoffs([after("liars_dice(dice=2)", "1", "1", "1", "2", "4-3")]).tolist() == [[-1.0, 1.0]]


def test_nothing_is_said_before_all_dice_are_rolled():
    assert payoffs([fl.new_state("liars_dice"), after("liars_dice", "6")]).tolist() == [[0.0, 0.0], [0.0, 0.0]]


def test_the_evaluation_of_liars_dice_follows_an_equilibrium_more_closely_than_random_games():
    """The states come from random bids; their values are those of CFR+ after 100 iterations."""
    name = "liars_dice(dice=1,sides=4)"
    policy = fl.solve(name, iterations=100)

    def value(state):
        if state.player == fl.TERMINAL:
            return state.returns()[0]
        total = 0.0
        for text, share in policy.at(state).items():
            if share > 1e-3:
                later = state.clone()
                later.play(state.parse_action(text))
                total += share * value(later)
        return total

    states = [state for state in positions(name, 500, 3) if len(state.actions()) > 1]
    truth = [value(state) for state in states]
    assert len(states) > 400
    assert correlation(payoffs(states)[:, 0], truth) > 0.45 > 0.25 > correlation(leaf_payoffs(rollout, states), truth)


# Dark Hex -----------------------------------------------------------------------------------------------------------


def hex_value(state):
    """The evaluation of Dark Hex for x, by filling boards as sets of cells and walking from the top."""
    game, stones = state.game, [int(word) for word in state.world[:2]]
    area, won, boards = game.rows * game.cols, 0, 0
    empty = {cell for cell in range(area) if not (stones[0] | stones[1]) >> cell & 1}
    tempo = dark_hex._TEMPO[len(empty)].tolist()
    fitting = 64 // area
    while boards < dark_hex._FILLS or boards % fitting:
        word, place = divmod(boards, fitting)  # boards lie in a word one after the other
        luck = int(dark_hex._LUCK[word])
        luck = luck | tempo[word] if state.player == 0 else luck & ~tempo[word]
        boards += 1
        x = {cell for cell in empty if luck >> area * place + cell & 1}
        x |= {cell for cell in range(area) if stones[0] >> cell & 1}
        reached = [cell for cell in x if cell < game.cols]
        for cell in reached:
            row, col = divmod(cell, game.cols)
            for r, c in (
                (row, col - 1),
                (row, col + 1),
                (row - 1, col),
                (row - 1, col + 1),
                (row + 1, col),
                (row + 1, col - 1),
            ):
                if 0 <= r < game.rows and 0 <= c < game.cols and r * game.cols + c in x - set(reached):
                    reached.append(r * game.cols + c)
        won += any(cell >= area - game.cols for cell in reached)
    share = won / boards
    return (share**3 - (1 - share) ** 3) / (share**3 + (1 - share) ** 3)


@pytest.mark.parametrize(
    ("name", "n"),
    [
        ("dark_hex(rows=3,cols=3)", 30),
        ("dark_hex(rows=2,cols=4,abrupt=yes)", 15),
        ("dark_hex(rows=4,cols=4)", 30),
        ("dark_hex(rows=5,cols=3)", 30),
        ("dark_hex(rows=8,cols=8)", 9),
    ],
)
def test_the_evaluation_of_dark_hex_follows_from_the_share_of_filled_boards(name, n):
    states = positions(name, n, 1)
    for state, values in zip(states, payoffs(states).tolist(), strict=True):
        assert values == pytest.approx([hex_value(state), -hex_value(state)])
    assert len({value for value, _ in payoffs(states).tolist()}) > n // 3


def test_the_evaluation_of_dark_hex_fills_boards_evenly():
    """Of an empty board of 4x4 cells the mover wins a share of 0.577, by 20 000 boards filled elsewhere."""
    fitting = 4  # boards in a word
    cells = np.unpackbits(dark_hex._LUCK[: 128 // fitting].view(np.uint8))
    assert cells.mean() == 0.5
    for number in (1, 2, 8, 16):
        drawn = np.unpackbits(dark_hex._TEMPO[number].view(np.uint8)).mean()
        assert abs(drawn - 1 / number) < 0.02
    value = payoffs([after("dark_hex(rows=4,cols=4)")])[0, 0]
    share = 1 / (1 + ((1 - value) / (1 + value)) ** (1 / 3))
    assert abs(share - 0.577) < 0.05


def test_stones_in_a_column_are_worth_much_in_dark_hex():
    name = "dark_hex(rows=4,cols=4)"
    begun, ahead, behind = payoffs(
        [after(name, *moves) for moves in ((), ("b2", "a1", "b3", "a2"), ("a1", "b2", "a2", "c2"))]
    )[:, 0]
    assert begun + 0.1 < ahead < 1.0 and -1.0 < behind < begun - 0.1


# Phantom Tic-Tac-Toe ------------------------------------------------------------------------------------------------


def test_the_evaluation_of_phantom_ttt_is_what_random_play_earns():
    """By recursion over boards, of positions with at most six empty cells, and of a try that cost the turn."""

    def value(x, o, mover):
        lines = [{0, 1, 2}, {3, 4, 5}, {6, 7, 8}, {0, 3, 6}, {1, 4, 7}, {2, 5, 8}, {0, 4, 8}, {2, 4, 6}]
        if any(line <= x for line in lines) or any(line <= o for line in lines) or len(x | o) == 9:
            return float(any(line <= x for line in lines)) - float(any(line <= o for line in lines))
        free = set(range(9)) - x - o
        return sum(value(x | {c}, o, 1) if mover == 0 else value(x, o | {c}, 0) for c in free) / len(free)

    compared = 0
    for name in ("phantom_ttt", "phantom_ttt(abrupt=yes)"):
        states = [state for state in positions(name, 120, 2) if int(state.world[0] & 0x3FFFF).bit_count() >= 4]
        for state, values in zip(states, payoffs(states).tolist(), strict=True):
            word = int(state.world[0])
            marks = [{c for c in range(9) if word >> c + 9 * seat & 1} for seat in range(2)]
            expected = value(*marks, state.player)
            assert values == pytest.approx([expected, -expected])
            compared += 1
    assert compared > 60


# Battleship ---------------------------------------------------------------------------------------------------------


def battleship_value(state, known):
    """What seat 0 earns if both seats shoot at random, but never at a cell again, by recursion over all shots."""
    if state.player == fl.TERMINAL:
        return state.returns()[0]
    words = tuple(int(word) for word in state.world[: 2 * len(state.game.ships) + 3])
    if words not in known:
        shot = words[2 * len(state.game.ships) + state.player]
        values = []
        for cell in [cell for cell in state.actions() if not shot >> cell & 1] or state.actions():
            later = state.clone()
            later.play(cell)
            values.append(battleship_value(later, known))
        known[words] = sum(values) / len(values)
    return known[words]


@pytest.mark.parametrize(
    ("name", "n"),
    [
        ("battleship(width=2,height=2,ships=[1,1],shots=3,repeats=forbidden)", 20),
        ("battleship(width=3,height=2,ships=[2,1],shots=2)", 20),
        ("battleship(width=3,height=1,ships=[1,2],shots=5)", 20),
    ],
)
def test_the_evaluation_of_battleship_is_what_random_shots_earn(name, n):
    """Where cells are left to shoot at; a seat that has shot at all of them has won."""
    placed = [
        state for state in positions(name, 3 * n, 4) if min(state.actions()) < state.game.width * state.game.height
    ]
    compared, known = 0, {}
    for state, values in zip(placed[:n], payoffs(placed[:n]).tolist(), strict=True):
        expected = battleship_value(state, known)
        assert values == pytest.approx([expected, -expected], abs=1e-9)
        compared += 1
        if len(known) > 20_000:
            known.clear()
    assert compared == n


def test_nothing_is_said_before_all_ships_are_placed():
    assert payoffs([fl.new_state("battleship")]).tolist() == [[0.0, 0.0]]
