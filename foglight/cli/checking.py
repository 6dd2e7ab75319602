"""Commands that check a game or an agent, one's own too: check-game, check-agent."""

import json
from typing import Annotated, Any

import typer

import foglight as fl
from foglight.bars import progress_bar
from foglight.cli._app import Json, Seed, app

Seconds = Annotated[float, typer.Option(help="Seconds after which the check stops; compilation is not counted.")]


@app.command("check-game")
def check_game(
    game: Annotated[str, typer.Argument(help="A game, such as 'dark_hex(rows=4,cols=4)'.")],
    games: Annotated[int, typer.Option(help="Random games to play.")] = 20,
    seconds: Seconds = 10.0,
    seed: Seed = 0,
    json_: Json = False,
) -> None:
    """Check what every game owes; each fault is one sentence with a position. The exit code is 1 if there are any."""
    with progress_bar("steps") as progress:
        checks = fl.check_game(game, games=games, seconds=seconds, seed=seed, progress=progress)
    _report(checks, json_)


@app.command("check-agent")
def check_agent(
    agent: Annotated[str, typer.Argument(help="An agent, such as 'pimc(iterations=100)'.")],
    game: Annotated[str, typer.Option(help="The game that it plays.")],
    games: Annotated[int, typer.Option(help="Random games to play, on each seat.")] = 4,
    seconds: Seconds = 10.0,
    seed: Seed = 0,
    json_: Json = False,
) -> None:
    """Check what every agent owes: that it does not peek, and is reproducible. The exit code is 1 on faults."""
    with progress_bar("games") as progress:
        checks = fl.check_agent(agent, game, games=games, seconds=seconds, seed=seed, progress=progress)
    _report(checks, json_)


def _report(checks: Any, json_: bool) -> None:
    if json_:
        typer.echo(json.dumps(checks.summary(), indent=2))
    else:
        typer.echo(str(checks))
    if not checks.ok:
        raise typer.Exit(1)
