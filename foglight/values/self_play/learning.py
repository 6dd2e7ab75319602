"""Learning by self-play: the particle algorithm teaches its own value network [Sustr2021, Section 5.1; Brown2020].

A game is a walk through public belief states. It begins with random strategies for a random while, so that beliefs
differ; from then on a trunk below the particles is solved with the network at its leaves, and what the solution says
the particles are worth is something to learn. The walk goes on at one of the trunk's leaves. Late in the game trunks
reach its end and need no network: values are learned from the end of the game backwards, and at first games are walked
blindly until late.

A folder holds all that was learned from and how far learning came. Killed at any moment it goes on with the round it
was in, to the same network on one machine, with any number of processes.

    plan.json             what was asked for
    points-0003.npz       what the games of a round gave
    state.pt              network and optimiser after the last finished round
    network.safetensors   the network, to play with
"""

import json
import multiprocessing
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from foglight.files import write_whole
from foglight.games import load_game
from foglight.names import BadInput
from foglight.rules import num_players
from foglight.solving.particles.belief import Particles, first_particles, thinned
from foglight.solving.particles.lookahead import Lookahead, cut
from foglight.solving.whole.plans import realised
from foglight.values.networks.architectures import KINDS, check_kind, one_thread
from foglight.values.networks.encoding import encode, offers_features
from foglight.values.networks.evaluator import Network
from foglight.values.networks.points import Points
from foglight.values.self_play.experience import Learner, Plan, joined, read_points, write_points
from foglight.values.trunk.generation import random_behaviour

_EXPLORE = 0.25  # how often the walk goes on at any leaf, whatever the solution says
_PLAN, _STATE, NETWORK = "plan.json", "state.pt", "network.safetensors"
_COUNTED = 20  # blind games by which the length of a game is measured


class Progress(NamedTuple):
    """How far learning came."""

    round: int
    what: str  # games or steps
    done: int
    total: int
    loss: float


def learn(
    plan: Plan,
    folder: Path | str,
    processes: int = 1,
    progress: Callable[[Progress], None] | None = None,
    device: str = "cpu",
) -> Path:
    """Play and train, from where the folder is; the file of the network. A device other than the CPU trains only."""
    plan = replace(plan, game=str(load_game(plan.game)))
    folder = _begun(plan, Path(folder))
    features = encode([first_particles(plan.game).public])
    learner = Learner(plan, features.public.shape[1], features.private.shape[1], device)
    learner.resume(folder / _STATE)
    say = progress or (lambda _: None)
    with _pool(plan, processes) as played:
        for number in range(learner.rounds, plan.rounds):
            path = folder / f"points-{number:04}.npz"
            if not path.exists():
                network = folder / NETWORK if number else None
                several: list[Points] = []
                for done, points in enumerate(played(network, number), 1):
                    several += points
                    say(Progress(number, "games", done, plan.games, learner.loss))
                if not several:
                    raise BadInput(f"the {plan.games} games of a round gave nothing to learn from; play more games")
                write_points(path, joined(several))
            learner.remember(read_points(path))
            for done in learner.train():
                say(Progress(number, "steps", done, plan.steps, learner.loss))
            learner.trained().save(folder / NETWORK)
            learner.save(folder / _STATE)
    return folder / NETWORK


def _begun(plan: Plan, folder: Path) -> Path:
    game = load_game(plan.game)
    if num_players(game) != 2:
        raise BadInput(f"particle networks are for two seats; {game} has {num_players(game)}")
    if not offers_features(game):
        raise BadInput(f"{game} offers no features to learn by; play it with particle_resolving(network=none)")
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
            raise BadInput(f"cannot read {path}: {error}; remove the folder and begin again") from None
        if replace(before, rounds=plan.rounds) != plan:
            raise BadInput(f"{folder} was begun with other settings, {before}; give another folder")
    write_whole(path, json.dumps(asdict(plan), indent=1).encode())
    return folder


# Playing ------------------------------------------------------------------------------------------------------------


class Player:
    """Plays games of a plan, one after the other."""

    def __init__(self, plan: Plan) -> None:
        one_thread()
        self.plan, self.first = plan, first_particles(plan.game)
        self._network: tuple[str, Any] = ("", None)
        random = np.random.default_rng([plan.seed, 0])
        self.length = max(len(list(self._walk(random, _COUNTED, None))) for _ in range(_COUNTED))  # trunks of a game

    def play(self, network: Path | None, number: int, game: int) -> list[Points]:
        """The points of one game of a round, one for each trunk that was solved."""
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
        """The trunks of a game that were solved; None for those that were not."""
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
    """A solved trunk's root, normalised."""
    public, ranges = look.particles.public, look.particles.ranges
    sums = [own.sum() for own in ranges]
    normal = [own / total if total > 0.0 else own for own, total in zip(ranges, sums, strict=True)]
    units = [max(sums[1 - seat], 1e-300) * public.chance.max() for seat in range(2)]
    targets = [own / unit for own, unit in zip(look.values(), units, strict=True)]
    flat = (np.concatenate(numbers).astype(np.float32) for numbers in (normal, targets))
    return Points(encode([public]), np.zeros(1, np.int64), *flat)


class _pool:  # noqa: N801  (used like a function)
    """Games of a round, in order, by one process or several that stay alive between rounds."""

    def __init__(self, plan: Plan, processes: int) -> None:
        self._plan = plan
        self._pool = None
        if processes > 1:
            # threads of PyTorch do not survive a fork
            self._pool = multiprocessing.get_context("spawn").Pool(processes, _begin, (plan,))
        else:
            _begin(plan)

    def __enter__(self) -> Callable[[Path | None, int], Iterator[list[Points]]]:
        def played(network: Path | None, number: int) -> Iterator[list[Points]]:
            tasks = [(network, number, game) for game in range(self._plan.games)]
            return iter(map(_play, tasks)) if self._pool is None else self._pool.imap(_play, tasks)

        return played

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.terminate()
            self._pool.join()


_player: Player | None = None  # of a process


def _begin(plan: Plan) -> None:
    global _player
    _player = Player(plan)


def _play(task: tuple[Path | None, int, int]) -> list[Points]:
    assert _player is not None
    return _player.play(*task)
