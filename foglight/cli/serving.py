"""The commands that serve: a page for people, and an agent for other programs."""

import os
import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from foglight.cli._app import app, out
from foglight.names import BadInput


@app.command()
def serve(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[PATH]...", help="Stores to watch, and folders whose pictures are shown."),
    ] = None,
    host: Annotated[
        str, typer.Option(help="Address to listen at; with any but this machine's own, the link has a token.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen at; 0 takes a free one.")] = 8421,
    keep: Annotated[
        Path | None, typer.Option(help="SQLite file that keeps the games; by default one in your data folder.")
    ] = None,
    game: Annotated[
        list[str] | None, typer.Option(help="Offer this game, too, such as 'package.module:Class(rows=3)'; may repeat.")
    ] = None,
    agent: Annotated[
        list[str] | None, typer.Option(help="Offer this agent, too, such as 'epimc(depth=3)'; may repeat.")
    ] = None,
    workers: Annotated[int, typer.Option(help="Processes that search; one more is for what is quick.")] = 2,
    seconds: Annotated[float, typer.Option(help="Seconds that an agent may think about a move, at most.")] = 10.0,
    show: Annotated[bool, typer.Option("--open/--no-open", help="Open the page in your browser.")] = True,
) -> None:
    """Serve a page on which any game can be played, and seen as each seat sees it."""
    from foglight.web.server import serve as serve_page

    for name, value, low in (("workers", workers, 1), ("seconds", seconds, 0.01)):
        if not value >= low:
            raise BadInput(f"--{name} must be at least {low}, not {value}")

    def ready(link: str) -> None:
        out.print(f"foglight is at {link}  (Ctrl-C ends it; no game is lost)", soft_wrap=True)
        if show and (os.name == "nt" or "DISPLAY" in os.environ or "WAYLAND_DISPLAY" in os.environ):
            webbrowser.open(link)

    serve_page(
        host=host,
        port=port,
        keep=keep,
        paths=paths or (),
        games=game or (),
        agents=agent or (),
        workers=workers,
        seconds=seconds,
        ready=ready,
    )


@app.command()
def engine(
    agent: Annotated[str, typer.Argument(help="The agent that plays, such as 'epimc(depth=3)'.")],
    game: Annotated[
        str | None, typer.Option(help="The game; without it, each start says which native game is played.")
    ] = None,
) -> None:
    """Let another program play against an agent: requests as JSON lines on standard input, answers on standard output.

    docs/engine.md describes the protocol. Standard output has answers only; everything else goes to standard error.
    """
    from foglight.agents import load_agent
    from foglight.engine.pipe import serve as converse
    from foglight.games import load_game

    loaded = None if game is None else load_game(game)
    with load_agent(agent) as player:
        converse(player, loaded)
