"""The commands that train value networks: by self-play, and for one trunk."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from foglight.bars import progress_bar
from foglight.cli._app import Json, On, Seed, Workers, app, fail, workers_of
from foglight.games import load_game
from foglight.names import BadInput

Game = Annotated[str, typer.Argument(help="A two-player game, such as 'leduc_poker'.")]
Mass = Annotated[
    bool,
    typer.Option(
        help="Multiply each output by the probability that chance and the other seat lead to the information state; "
        "the paper's networks have to learn this factor."
    ),
]
Device = Annotated[str, typer.Option(help="PyTorch device for training: cpu or cuda.")]


@app.command()
def train(
    game: Game,
    folder: Annotated[Path | None, typer.Option(help="Folder of the run; by default runs/train-GAME.")] = None,
    kind: Annotated[str, typer.Option(help="Network: histories, particle or concatenation.")] = "histories",
    depth: Annotated[int, typer.Option(help="Transitions per trunk.")] = 2,
    particles: Annotated[int, typer.Option(help="Maximum number of histories in a belief.")] = 100,
    iterations: Annotated[int, typer.Option(help="CFR+ iterations per trunk.")] = 50,
    rounds: Annotated[int, typer.Option(help="Rounds of self-play followed by training.")] = 16,
    games: Annotated[int, typer.Option(help="Games per round.")] = 200,
    steps: Annotated[int, typer.Option(help="Training steps per round.")] = 500,
    easy: Annotated[
        int, typer.Option(help="Solve a trunk to the end of the game if that takes fewer nodes than this; 0: never.")
    ] = 0,
    base: Annotated[int, typer.Option(help="Outputs of the network that embeds each information state.")] = 64,
    width: Annotated[int, typer.Option(help="Width of the hidden layers of the value regression.")] = 256,
    mass: Mass = True,
    device: Device = "cpu",
    workers: Workers = None,
    on: On = "local",
    seed: Seed = 0,
    json_: Json = False,
) -> None:
    """Train a value network for the agent particle_resolving by self-play; run the command again to resume."""
    name, place = str(load_game(game)), workers_of(on, workers, None)
    _check(1, depth=depth, particles=particles, iterations=iterations, rounds=rounds, games=games, steps=steps)
    _check(1, base=base, width=width)
    _check(0, easy=easy, seed=seed)
    from foglight.values.self_play.experience import Plan
    from foglight.values.self_play.learning import learn

    network: dict[str, Any] = {"kind": kind, "base": base, "width": width, "mass": mass}
    plan = Plan(name, depth, particles, iterations, rounds, games, steps, seed=seed, easy=easy, **network)
    folder = folder or _folder("train", name)
    facts: dict[str, Any] = {}
    with _resumable(folder), progress_bar("games") as progress:

        def follow(at: Any) -> None:
            facts.update(loss=at.loss)
            progress(at.done, at.total, None, at.loss, f"round {at.round + 1} of {rounds}, {at.what}")

        file = learn(plan, folder, progress.of(place), follow, device)
    _report(name, file, facts, json_)
    if not json_:
        typer.echo(f"to play it: foglight match --game '{name}' 'particle_resolving(network=\"{file}\")' random")


@app.command("train-trunk")
def train_trunk(
    game: Game,
    depth: Annotated[int, typer.Argument(help="Transitions from the start of the game to the end of the trunk.")],
    folder: Annotated[Path | None, typer.Option(help="Folder of the run; by default runs/train-trunk-GAME.")] = None,
    kind: Annotated[str, typer.Option(help="Network: positional, particle, concatenation or histories.")] = "particle",
    strategies: Annotated[int, typer.Option(help="Random strategies from which the data set is made.")] = 1000,
    iterations: Annotated[int, typer.Option(help="CFR+ iterations per subgame of the data set.")] = 100,
    recall: Annotated[str, typer.Option(help="Recall of the features: perfect or imperfect.")] = "perfect",
    sparse: Annotated[
        float,
        typer.Option(
            help="Keep each information state of a range with a probability drawn between this and 1; 1: keep all."
        ),
    ] = 1.0,
    steps: Annotated[int, typer.Option(help="Training steps in total.")] = 10_000,
    base: Annotated[
        int,
        typer.Option(
            help="Outputs of the network that embeds each information state; 0: as many as the positional network has."
        ),
    ] = 0,
    width: Annotated[
        int, typer.Option(help="Width of the hidden layers of the value regression; 0: 5 times its input.")
    ] = 0,
    mass: Mass = True,
    device: Device = "cpu",
    workers: Workers = None,
    on: On = "local",
    seed: Seed = 0,
    json_: Json = False,
) -> None:
    """Train a value network for the leaves of one trunk on random strategies; run the command again to resume."""
    name, place = str(load_game(game)), workers_of(on, workers, None)
    _check(1, depth=depth, strategies=strategies, iterations=iterations, steps=steps)
    _check(0, base=base, width=width, seed=seed)
    if not 0.0 <= sparse <= 1.0:
        raise BadInput(f"sparse must be from 0 to 1, not {sparse}")
    from foglight.values.networks.datasets import DatasetRequest
    from foglight.values.networks.training import TrainingSettings
    from foglight.values.trunk.training import train_trunk as train_network

    request = DatasetRequest(name, depth, strategies, iterations, seed, recall, sparse)
    settings = TrainingSettings(kind, seed, base=base or None, width=width or None, mass=mass)
    folder = folder or _folder("train-trunk", name)
    facts: dict[str, Any] = {}
    with _resumable(folder), progress_bar("shards") as progress:

        def follow(at: Any) -> None:
            facts.update(loss=at.loss, exploitability=at.exploitability)
            progress(at.done, at.total, at.exploitability, at.loss, at.what)

        file = train_network(request, settings, steps, folder, device, progress.of(place), follow)
    _report(name, file, facts, json_)


def _check(least: int, **numbers: int) -> None:
    """Refuse options below `least`."""
    for what, number in numbers.items():
        if number < least:
            raise BadInput(f"{what} must be at least {least}, not {number}")


def _folder(command: str, game: str) -> Path:
    return Path("runs") / f"{command}-{''.join(c if c.isalnum() else '-' for c in game).strip('-')}"


@contextmanager
def _resumable(folder: Path) -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        fail(f"stopped; the run is in {folder}, and the same command resumes it", 130)


def _report(game: str, file: Path, facts: dict[str, Any], as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps({"game": game, "network": str(file), **facts}, indent=2))
        return
    results = ", ".join(f"{key} {number:.4g}" for key, number in facts.items() if number is not None)
    typer.echo(f"{file}{': ' if results else ''}{results}")
