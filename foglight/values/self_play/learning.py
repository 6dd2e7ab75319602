"""Learning by self-play: the particle algorithm teaches its own value network [Sustr2021, Section 5.1; Brown2020].

A game is a walk through public belief states. Its first trunks, a random number of them, get random strategies, so that
beliefs differ. From then on each trunk below the particles is solved with the network at its leaves, and the solution's
counterfactual values of the particles become a training point. The walk goes on at one of the trunk's leaves. Late in
the game trunks reach its end and need no network. So values are learned from the end of the game backwards: in the
first rounds, random strategies are played until late in the game.

A folder has all training points and the state of learning. If learning is killed, it resumes with the unfinished round,
and gives the same network on one machine, with any number of workers.

    plan.json             the plan
    points-0003.npz       the points from the games of a round
    state.pt              network and optimiser after the last finished round
    network.safetensors   the network, to play with
"""

import json
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from foglight.files import write_whole
from foglight.games import load_game
from foglight.names import BadInput
from foglight.pieces import Lot, Workers, opened
from foglight.rules import num_players
from foglight.solving.particles.belief import Particles, first_particles, thinned
from foglight.solving.particles.lookahead import Lookahead, cut
from foglight.solving.whole.plans import random_behaviour, realised
from foglight.values.networks.architectures import KINDS, check_kind, one_thread
from foglight.values.networks.encoding import encode, offers_features
from foglight.values.networks.evaluator import Network
from foglight.values.networks.points import Points
from foglight.values.self_play.experience import Learner, Plan, joined, read_points, write_points

_EXPLORE = 0.25  # probability that the walk goes on at a uniformly random leaf, not one drawn by reach
_PLAN, _STATE, NETWORK = "plan.json", "state.pt", "network.safetensors"
_COUNTED = 20  # random games from which the length of a game is measured


class Progress(NamedTuple):
    """How far learning has come."""

    round: int  # from 0
    what: str  # "games" or "steps"
    done: int  # of `what`, in this round
    total: int  # of `what`, in each round
    loss: float  # mean over the batches of the last round so far


def learn(
    plan: Plan,
    folder: Path | str,
    workers: Workers = 1,
    progress: Callable[[Progress], None] | None = None,
    device: str = "cpu",
) -> Path:
    """Play and train, from the folder's state on; returns the network's file.

    `workers` play, and are as in `play_match`; `device` is for training only.
    """
    plan = replace(plan, game=str(load_game(plan.game)))
    folder = _begun(plan, Path(folder))
    features = encode([first_particles(plan.game).public])
    learner = Learner(plan, features.public.shape[1], features.private.shape[1], device)
    learner.resume(folder / _STATE)
    say = progress or (lambda _: None)
    # fresh ones: threads of PyTorch do not survive a fork
    with opened(workers, modules=[type(load_game(plan.game)).__module__], fresh=True) as place:
        for number in range(learner.rounds, plan.rounds):
            path = folder / f"points-{number:04}.npz"
            if not path.exists():
                network = (folder / NETWORK).read_bytes() if number else None
                by_game: dict[int, list[Points]] = {}
                for _, games, results in place.run(_playing, [Lot(_Round(plan, number, network), range(plan.games))]):
                    by_game |= zip(games, results, strict=True)
                    say(Progress(number, "games", len(by_game), plan.games, learner.loss))
                several = [points for game in sorted(by_game) for points in by_game[game]]
                if not several:
                    raise BadInput(f"the {plan.games} games of a round gave no points to learn from; play more games")
                write_points(path, joined(several))
            learner.remember(read_points(path))
            for done in learner.train():
                say(Progress(number, "steps", done, plan.steps, learner.loss))
            learner.trained().save(folder / NETWORK)
            learner.save(folder / _STATE)
    return folder / NETWORK


def _begun(plan: Plan, folder: Path) -> Path:
    """Check the plan, and write it into the folder; refuse a folder of another plan (`rounds` may differ)."""
    game = load_game(plan.game)
    if num_players(game) != 2:
        raise BadInput(f"particle networks are for two seats; {game} has {num_players(game)}")
    if not offers_features(game):
        raise BadInput(f"{game} offers no features to learn from; play it with particle_resolving(network=none)")
    if plan.kind not in KINDS or plan.kind == "positional":
        raise BadInput(f"self-play trains {', '.join(kind for kind in KINDS if kind != 'positional')}, not {plan.kind}")
    check_kind(plan.kind, plan.mass)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(f"cannot use {folder}: {error.strerror}") from None
    path = folder / _PLAN
    if path.exists():
        try:
            before = Plan(**json.loads(path.read_text(encoding="utf-8")))
        except (ValueError, TypeError) as error:
            raise BadInput(f"cannot read {path}: {error}; remove the folder and start again") from None
        if replace(before, rounds=plan.rounds) != plan:
            raise BadInput(f"{folder} was begun with other settings, {before}; give another folder")
    write_whole(path, json.dumps(asdict(plan), indent=1).encode())
    return folder


# Playing ------------------------------------------------------------------------------------------------------------


class Player:
    """Plays the games of a plan."""

    def __init__(self, plan: Plan) -> None:
        one_thread()
        self.plan, self.first = plan, first_particles(plan.game)
        self._network: tuple[str, Any] = ("", None)
        random = np.random.default_rng([plan.seed, 0])
        self.length = max(len(list(self._walk(random, _COUNTED, None))) for _ in range(_COUNTED))  # trunks of a game

    def play(self, network: Path | None, number: int, game: int) -> list[Points]:
        """Play one game of round `number`; returns a point for each trunk that was solved."""
        random = np.random.default_rng([self.plan.seed, 1 + number, game])
        if network is None:
            evaluator: Any = None
        else:
            text = f"{network}, {number}"
            if self._network[0] != text:
                self._network = text, Network(network)
            evaluator = self._network[1]
        earliest = max(0.0, 1.0 - 2.0 * (number + 1) / self.plan.rounds) if evaluator is not None else 1.0
        blind = self.length - 1 if evaluator is None else int(random.integers(int(earliest * self.length), self.length))
        return [_point(look) for look in self._walk(random, blind, evaluator) if look is not None]

    def _walk(self, random: np.random.Generator, blind: int, evaluator: Any) -> Iterator[Lookahead | None]:
        """The solved trunks of a game; None for the first `blind`, and without an evaluator for those with leaves."""
        particles = self.first
        while True:
            trunk = cut(particles, self.plan.depth, self.plan.easy)
            if blind > 0 or (evaluator is None and trunk.leaves):
                behaviour = random_behaviour(trunk.sequences, random)
                yield None
            else:
                look = Lookahead(particles, self.plan.depth, evaluator, self.plan.easy)
                look.solve(self.plan.iterations)
                behaviour = look.average
                yield look
            if not trunk.leaves:
                return
            blind -= 1
            plan = realised(trunk.sequences, behaviour)
            below = [Particles(leaf.public, trunk.leaf_range(leaf, plan)) for leaf in trunk.leaves]
            odds = np.array([particles.weights.sum() for particles in below])
            if random.random() < _EXPLORE or odds.sum() <= 0.0:
                odds = np.ones(len(odds))
            particles = thinned(below[random.choice(len(below), p=odds / odds.sum())], self.plan.particles, random)


def _point(look: Lookahead) -> Points:
    """The training point of a solved trunk: its root, in the units of `layout`."""
    public, ranges = look.particles.public, look.particles.ranges
    sums = [own.sum() for own in ranges]
    normal = [own / total if total > 0.0 else own for own, total in zip(ranges, sums, strict=True)]
    units = [max(sums[1 - seat], 1e-300) * public.chance.max() for seat in range(2)]
    targets = [own / unit for own, unit in zip(look.values(), units, strict=True)]
    flat = (np.concatenate(numbers).astype(np.float32) for numbers in (normal, targets))
    return Points(encode([public]), np.zeros(1, np.int64), *flat)


class _Round(NamedTuple):
    """What the games of a round have in common."""

    plan: Plan
    number: int  # of the round, from 0
    network: bytes | None  # the content of its file


@contextmanager
def _playing() -> Iterator[Callable[[_Round, int], list[Points]]]:
    """Playing games in a worker, which may be on another machine: the network is a file of its own there."""
    player, current = None, None
    with tempfile.TemporaryDirectory(prefix="foglight-") as folder:
        path = Path(folder) / NETWORK

        def play(round_: _Round, game: int) -> list[Points]:
            nonlocal player, current
            if player is None or player.plan != round_.plan:
                player = Player(round_.plan)
            if round_ is not current and round_.network is not None:
                path.write_bytes(round_.network)
            current = round_
            return player.play(None if round_.network is None else path, round_.number, game)

        yield play
