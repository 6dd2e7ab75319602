"""The command that learns: value networks by self-play, or for one trunk."""

import json
import os
from pathlib import Path
from typing import Annotated, Any

import typer

from foglight.cli._app import Json, Seed, app, bar, fail
from foglight.games import load_game
from foglight.names import BadInput


@app.command()
def train(
    game: Annotated[str, typer.Argument(help="Such as 'leduc_poker'.")],
    folder: Annotated[Path | None, typer.Option(help="Where all goes; runs/train-GAME if not given.")] = None,
    kind: Annotated[str, typer.Option(help="histories, particle, concatenation; with --trunk also positional.")] = "",
    depth: Annotated[int, typer.Option(help="Transitions of the trunk that is resolved at a move.")] = 2,
    particles: Annotated[int, typer.Option(help="Histories held at most.")] = 100,
    iterations: Annotated[int, typer.Option(help="Of CFR+, in a trunk; with --trunk, in a subgame.")] = 0,
    rounds: Annotated[int, typer.Option(help="Of playing and training.")] = 16,
    games: Annotated[int, typer.Option(help="Of each round.")] = 200,
    easy: Annotated[int, typer.Option(help="Trunks go to the end where that takes fewer nodes than this.")] = 0,
    trunk: Annotated[int, typer.Option(help="No self-play: learn random beliefs at this depth of the game.")] = 0,
    strategies: Annotated[int, typer.Option(help="Random strategies, with --trunk.")] = 1000,
    recall: Annotated[str, typer.Option(help="Features, with --trunk: perfect or imperfect.")] = "perfect",
    sparse: Annotated[float, typer.Option(help="With --trunk, the least share of a belief that is kept.")] = 1.0,
    steps: Annotated[int, typer.Option(help="Of training, after each round; with --trunk, in all.")] = 0,
    base: Annotated[int, typer.Option(help="How wide a base is.")] = 0,
    width: Annotated[int, typer.Option(help="How wide the regression is.")] = 0,
    mass: Annotated[
        bool, typer.Option(help="Multiply by the mass of an information state; the paper does not.")
    ] = True,
    device: Annotated[str, typer.Option(help="cpu or cuda.")] = "cpu",
    processes: Annotated[int, typer.Option(help="That play; as many as there are cores if not given.")] = 0,
    seed: Seed = 0,
    json_: Json = False,
) -> None:
    """Learn a value network for a game; the same command goes on where it ended."""
    name = str(load_game(game))
    folder = folder or Path("runs") / f"train-{''.join(c if c.isalnum() else '-' for c in name).strip('-')}"
    processes = processes or os.cpu_count() or 1
    for what, number, least in (("depth", depth, 1), ("rounds", rounds, 1), ("games", games, 1), ("seed", seed, 0)):
        if number < least:
            raise BadInput(f"{what} must be at least {least}, not {number}")
    sizes = {"base": base, "width": width}
    given: dict[str, Any] = {key: number for key, number in sizes.items() if number}
    facts: dict[str, Any] = {}
    try:
        if trunk:
            from foglight.values.networks.datasets import Request
            from foglight.values.networks.training import Settings
            from foglight.values.trunk.training import train_trunk

            request = Request(name, trunk, strategies, iterations or 100, seed, recall, sparse)
            settings = Settings(kind or "particle", seed, mass=mass, **given)
            with bar("shards") as progress:

                def follow(at: Any) -> None:
                    facts.update(loss=at.loss, exploitability=at.exploitability)
                    progress(at.done, at.total, at.exploitability, at.loss, at.what)

                file = train_trunk(request, settings, steps or 10_000, folder, device, processes, follow)
        else:
            from foglight.values.self_play.experience import Plan
            from foglight.values.self_play.learning import learn

            asked = given | ({"kind": kind} if kind else {}) | ({"iterations": iterations} if iterations else {})
            plan = Plan(name, depth, particles, rounds=rounds, games=games, seed=seed, easy=easy, mass=mass, **asked)
            if steps:
                plan = type(plan)(**{**plan.__dict__, "steps": steps})
            with bar("games") as progress:

                def tell(at: Any) -> None:
                    facts.update(loss=at.loss)
                    progress(at.done, at.total, None, at.loss, f"round {at.round + 1} of {rounds}, {at.what}")

                file = learn(plan, folder, processes, tell, device)
    except KeyboardInterrupt:
        fail(f"stopped; what was learned is in {folder}, and the same command goes on", 130)
    if json_:
        typer.echo(json.dumps({"game": name, "network": str(file), **facts}, indent=2))
        return
    known = ", ".join(f"{key} {number:.4g}" for key, number in facts.items() if number is not None)
    typer.echo(f"{file}{': ' if known else ''}{known}")
    if not trunk:
        typer.echo(f"to play it: foglight match --game '{name}' 'particle_resolving(network=\"{file}\")' random")
