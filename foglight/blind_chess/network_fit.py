"""The weights of the network that corrects the evaluation of chess on the full board (`foglight/chess/network.py`).

    python -m foglight.blind_chess.network_fit --out network.npz                 as published: 3.7 million positions
    python -m foglight.blind_chess.network_fit --out small.npz --blocks 2        a quick try

Positions come from games in which both sides take the move after which the formula likes them best, plus noise. How
much noise, and how many moves are random, is drawn for each game. Now and then a position one or two random moves away
from the game is kept: a search looks at such positions far more often than at good play. Stockfish says what they are
worth to the side to move. The network learns to correct the formula, with the least squared error of the payoff.

Blocks of positions and values are kept in `--folder`: kill the command whenever you like, and the same one goes on.
Needs `foglight[values]` and Stockfish.
"""

import argparse
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy import int64, uint64

from foglight.bars import progress_bar
from foglight.bits import lowest, without_lowest
from foglight.blind_chess.uci import Engine
from foglight.chess.board import CLOCK, STATE, TURN, WHITE, WORDS
from foglight.chess.evaluation import MOST, SCALE, centipawns, parts, squashed
from foglight.chess.network import BIAS, DESCRIPTIONS, HIDDEN, OFFSET, UNIT, safety_bits
from foglight.chess.network import description as description_of
from foglight.compile import jitable, kernel
from foglight.files import write_arrays
from foglight.games import load_game
from foglight.names import BadInput
from foglight.randomness import below, generator, unit
from foglight.rules import TERMINAL, begin, copy_world, legal, max_legal, new_worlds, player, step

GAME = "dark_chess(repetition=ignore,clock=hidden,stalemate=loss)"
BLOCK = 100_000  # positions
_BATCH = 2000  # positions valued between two looks at the progress bar
_MOST_PLIES, _MOST_RANDOM = 160, 10  # of a game; random moves at its start
_KEPT = 0.06  # probability that a position beside the game is kept
_NOBODY = DESCRIPTIONS  # stands for a missing piece
_PIECES = 32
_HIDDEN_UNIT = 512  # hidden numbers are whole multiples of 1 / 512
_NO_CLOCK = ~uint64(((1 << CLOCK[2]) - 1) << CLOCK[1])


class Positions(NamedTuple):
    """Positions that are not decided, with what a network sees of them."""

    pieces: np.ndarray  # int16[n, 32]: descriptions, then _NOBODY
    formula: np.ndarray  # float64[n]: centipawns
    wanted: np.ndarray  # float64[n]: centipawns by the engine


def positions(n: int, seed: int) -> np.ndarray:
    """Worlds of chess beside noisy games, uint64[n, WORDS], without their clocks."""
    game = load_game(GAME)
    rows = np.zeros((n, new_worlds(game, 1).shape[1]), np.uint64)
    _play(game, rows, generator(seed))
    rows = rows[:, :WORDS].copy()
    rows[:, STATE] &= _NO_CLOCK
    return rows


@kernel
def _play(game, rows, random):
    """Fill the rows with positions."""
    kept, actions, worlds = 0, np.empty(max_legal(game), np.int64), new_worlds(game, 2)
    while kept < len(rows):
        now, other = worlds[0], worlds[1]
        begin(game, now)
        noise, slips = 0.02 * 10.0 ** (1.5 * unit(random)), 0.15 * unit(random) ** 2
        opening, ply = below(random, _MOST_RANDOM), 0
        while player(game, now) != TERMINAL and ply < _MOST_PLIES and kept < len(rows):
            n = legal(game, now, actions)
            choice = below(random, n)
            if ply >= opening and unit(random) >= slips:
                choice = _liked(game, now, other, actions, n, noise, random)
            if ply > 1 and unit(random) < _KEPT:
                copy_world(game, other, now)
                step(game, other, actions[below(random, n)])
                if unit(random) < 0.5 and player(game, other) != TERMINAL:
                    step(game, other, actions[below(random, legal(game, other, actions))])
                    n = legal(game, now, actions)
                if player(game, other) != TERMINAL:
                    copy_world(game, rows[kept], other)
                    kept += 1
            step(game, now, actions[choice])
            ply += 1


@jitable
def _liked(game, now, other, actions, n, noise, random):
    """The move after which the mover is best off, with noise of about this size in payoffs."""
    best, choice = -np.inf, 0
    for c in range(n):
        copy_world(game, other, now)
        step(game, other, actions[c])
        value = 2.0 if player(game, other) == TERMINAL else -squashed(centipawns(8, other), 0)
        value += 2.0 * noise * (unit(random) + unit(random) + unit(random) - 1.5)
        if value > best:
            best, choice = value, c
    return choice


def describe(rows: np.ndarray, wanted: np.ndarray) -> Positions:
    """What the network sees of positions; those in which a king can be taken are left out."""
    pieces, formula = np.full((len(rows), _PIECES), _NOBODY, np.int16), np.empty(len(rows))
    _describe(rows, pieces, formula)
    open_ = np.abs(formula) <= MOST
    return Positions(pieces[open_], formula[open_], wanted[open_])


@kernel
def _describe(rows, pieces, formula):
    for i in range(len(rows)):
        formula[i], kinds, own, other, ours, theirs = parts(8, rows[i])
        n = _list(kinds, own, ours, theirs, 0, pieces[i], 0)
        _list(kinds, other, theirs, ours, DESCRIPTIONS // 2, pieces[i], n)


@jitable
def _list(kinds, side, attacks, against, first, out, n):
    """Write the descriptions of a side's pieces from place n on; returns the next place."""
    attacked, odd = safety_bits(kinds, side, attacks, against)
    rest = side
    while rest != uint64(0):
        out[n] = first + int64(description_of(kinds, uint64(lowest(rest)), attacked, odd))
        rest = without_lowest(rest)
        n += 1
    return n


def valued(rows: np.ndarray, depth: int, show: Any, done: int, total: int) -> np.ndarray:
    """What an engine says of positions, in centipawns for the side to move."""
    with Engine(depth=depth, batch=64, remembered=_BATCH) as engine:
        parts_ = []
        for first in range(0, len(rows), _BATCH):
            parts_.append(engine.evaluate(rows[first : first + _BATCH]))
            show(done + min(first + _BATCH, len(rows)), total)
    values = np.concatenate(parts_)
    is_white = (rows[:, STATE] >> uint64(TURN[1]) & uint64(1)) == uint64(WHITE)
    return np.where(is_white, values, -values)


def collected(folder: Path, blocks: int, depth: int) -> tuple[np.ndarray, np.ndarray]:
    """Positions and their values; blocks that the folder lacks are made."""
    rows, values = [], []
    folder.mkdir(parents=True, exist_ok=True)
    with progress_bar("positions") as show:
        for k in range(blocks):
            path = folder / f"depth-{depth}-{k}.npz"
            if not path.exists():
                block = positions(BLOCK, k)
                write_arrays(path, {"rows": block, "values": valued(block, depth, show, k * BLOCK, blocks * BLOCK)})
            with np.load(path) as file:
                rows.append(file["rows"])
                values.append(file["values"])
            show((k + 1) * BLOCK, blocks * BLOCK)
    return np.concatenate(rows), np.concatenate(values)


def fit(data: Positions, epochs: int, seed: int, show: Any) -> tuple[dict[str, np.ndarray], tuple[float, float]]:
    """The weights, and the error of the formula and of the corrected one in positions that were not learned."""
    import torch

    torch.manual_seed(seed)
    pieces = torch.from_numpy(data.pieces.astype(np.int64))
    formula, wanted = (torch.from_numpy(x / SCALE).float() for x in (data.formula, data.wanted.clip(-20000, 20000)))
    rows = torch.nn.EmbeddingBag(DESCRIPTIONS + 1, HIDDEN, mode="sum", padding_idx=_NOBODY)
    places = torch.nn.EmbeddingBag(DESCRIPTIONS // 4 + 1, HIDDEN, mode="sum", padding_idx=_NOBODY // 4)
    bias, slope = torch.nn.Parameter(torch.zeros(HIDDEN)), torch.nn.Parameter(torch.zeros(HIDDEN))
    output = torch.nn.Linear(HIDDEN, 1)
    with torch.no_grad():
        for table, nobody in ((rows, _NOBODY), (places, _NOBODY // 4)):
            table.weight.normal_(std=0.05)
            table.weight[nobody] = 0.0
        output.weight.mul_(0.1)
        output.bias.zero_()

    def error(which: Any) -> Any:
        hidden = rows(pieces[which]) + places(pieces[which] // 4) + bias + formula[which, None] * slope
        x = formula[which] + output(torch.relu(hidden)).squeeze(1)
        return x / (1 + x * x).sqrt() - wanted[which] / (1 + wanted[which] ** 2).sqrt()

    order = torch.randperm(len(formula))
    test, learned = order[: len(order) // 20], order[len(order) // 20 :]
    weights = [*rows.parameters(), *places.parameters(), bias, slope, *output.parameters()]
    steps = epochs * -(-len(learned) // 8192)
    optimiser = torch.optim.Adam(weights)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, max_lr=4e-3, total_steps=steps, pct_start=0.1)
    done = 0
    for _ in range(epochs):
        for part in learned[torch.randperm(len(learned))].split(8192):
            optimiser.zero_grad()
            error(part).square().mean().backward()
            optimiser.step()
            schedule.step()
            done += 1
            show(done, steps)
    with torch.no_grad():
        after = float(torch.cat([error(part) for part in test.split(65536)]).square().mean().sqrt())
        x, y = formula[test], wanted[test]
        before = float((x / (1 + x * x).sqrt() - y / (1 + y * y).sqrt()).square().mean().sqrt())
        each = rows.weight[:DESCRIPTIONS] + places.weight[: DESCRIPTIONS // 4].repeat_interleave(4, 0)
        names = ("weights", "bias", "slope", "output", "constant")
        found = dict(zip(names, (each, bias, slope, output.weight[0], output.bias[0]), strict=True))
        return _whole({name: value.double().numpy() for name, value in found.items()}), (before, after)


def _whole(found: dict[str, Any]) -> dict[str, np.ndarray]:
    """The weights as the whole numbers that `foglight/chess/network.py` reads."""
    weights = np.round(found["weights"] * _HIDDEN_UNIT).clip(-OFFSET, OFFSET - 1)
    return {
        "weights": weights.astype(np.int16),
        "bias": np.round(found["bias"] * _HIDDEN_UNIT).astype(BIAS.dtype),
        "estimate": np.round(found["slope"] * _HIDDEN_UNIT / SCALE * 256).astype(BIAS.dtype),
        "output": np.round(found["output"] * SCALE / _HIDDEN_UNIT * UNIT).astype(BIAS.dtype),
        "constant": np.int64(round(float(found["constant"]) * SCALE * UNIT)),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line, collect positions, fit, and write the file."""
    parser = argparse.ArgumentParser("python -m foglight.blind_chess.network_fit", description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, required=True, help="the file of weights to write")
    parser.add_argument("--folder", type=Path, default=Path("runs/chess_network"), help="keeps positions and values")
    parser.add_argument("--blocks", type=int, default=37, help=f"blocks of {BLOCK:,} positions")
    parser.add_argument("--depth", type=int, default=4, help="plies that Stockfish searches")
    parser.add_argument("--epochs", type=int, default=10, help="passes over all positions")
    parser.add_argument("--seed", type=int, default=0, help="of the fit")
    chosen = parser.parse_args(arguments)
    try:
        if min(chosen.blocks, chosen.depth, chosen.epochs) < 1:
            raise BadInput("--blocks, --depth and --epochs must be at least 1")
        if not chosen.out.parent.is_dir():
            raise BadInput(f"there is no folder {chosen.out.parent}; choose another --out")
        if find_spec("torch") is None:
            raise BadInput("fitting needs PyTorch: pip install 'foglight[values]'")
        data = describe(*collected(chosen.folder, chosen.blocks, chosen.depth))
        with progress_bar("steps") as show:
            weights, (before, after) = fit(data, chosen.epochs, chosen.seed, show)
        write_arrays(chosen.out, weights)
    except BadInput as error:
        sys.exit(f"error: {error}")
    print(f"{len(data.formula):,} positions; error of payoffs {before:.4f} by the formula, {after:.4f} corrected")  # noqa: T201


if __name__ == "__main__":
    main()
