"""The command that writes a game as a file of another program: export-game."""

import json
from pathlib import Path
from typing import Annotated

import typer

from foglight.bars import progress_bar
from foglight.cli._app import Json, app


@app.command("export-game")
def export_game(
    game: Annotated[str, typer.Argument(help="A small game, such as 'leduc_poker'.")],
    to: Annotated[Path, typer.Option(help="The file to write; its name ends in .efg.")],
    limit: Annotated[int, typer.Option(help="Most nodes of the game tree.")] = 100_000,
    json_: Json = False,
) -> None:
    """Write the tree of a small game as an .efg file, which Gambit reads, and foglight too as efg:FILE."""
    from foglight.bridges import efg_export

    with progress_bar("nodes") as progress:
        exported = efg_export.export_game(game, to, limit=limit, progress=progress)
    typer.echo(json.dumps(exported.data()) if json_ else f"{exported}; load it as efg:{to}")
