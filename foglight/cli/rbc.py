"""Reconnaissance Blind Chess against bots of `reconchess`."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from foglight.bars import progress_bar
from foglight.cli._app import Json, Seed, app, fail, out, show

rbc = typer.Typer(help="Play Reconnaissance Blind Chess against bots of reconchess.", no_args_is_help=True)
app.add_typer(rbc, name="rbc")


@rbc.command("play")
def play_bot(
    bot: Annotated[
        str, typer.Option(help="The opponent: trout, attacker, random, or a file with a reconchess player.")
    ],
    agent: Annotated[str, typer.Option(help="Our agent, such as 'scout(nodes=5000)'.")] = "scout",
    games: Annotated[int, typer.Option(help="Number of games.")] = 1,
    color: Annotated[str, typer.Option(help="Our colour: white, black, or both in turn.")] = "both",
    seed: Seed = 0,
    engine: Annotated[
        str | None, typer.Option(help="UCI engine that both sides use; by default Stockfish on PATH.")
    ] = None,
    save: Annotated[
        Path | None, typer.Option(help="Folder in which games are kept, in the format of rc-replay.")
    ] = None,
    json_: Json = False,
) -> None:
    """Play games on the official clock of 15 minutes per side; print the win rate with its 95 % interval."""
    from foglight.bridges.reconchess_games import play_games

    records: list[Any] = []
    stopped = False
    try:
        with progress_bar("games") as progress:
            progress(0, games)
            for game in play_games(bot, agent, games, colour=color, seed=seed, engine=engine, save=save):
                records.append(game)
                progress(len(records), games)
    except KeyboardInterrupt:
        stopped = True
    if json_:
        out.print_json(data=_summary(bot, agent, seed, records))
    elif records:
        _print(_summary(bot, agent, seed, records))
    if stopped:
        fail(f"stopped after {len(records)} of {games} games", 130)


def _summary(bot: str, agent: str, seed: int, records: list[Any]) -> dict[str, Any]:
    """The score over all games with its interval, the thinking time, and the games themselves."""
    from foglight.arena.intervals import wilson

    score, n = sum(game.score for game in records), len(records)
    return {
        "agent": agent,
        "bot": bot,
        "seed": seed,
        "score": score,
        "win_rate": score / n if n else None,
        "interval": list(wilson(score, n)),
        "seconds_a_game": sum(game.seconds for game in records) / n if n else None,
        "most_seconds": max((game.seconds for game in records), default=None),
        "games": [asdict(game) for game in records],
    }


def _print(summary: dict[str, Any]) -> None:
    rows = [
        {
            "game": str(game["number"] + 1),
            "we are": game["colour"],
            "result": {1.0: "won", 0.5: "drawn", 0.0: "lost"}[game["score"]],
            "by": game["reason"].replace("_", " "),
            "turns": str(game["turns"]),
            "our time": f"{game['seconds']:.1f} s",
            "its time": f"{game['other_seconds']:.1f} s",
        }
        for game in summary["games"]
    ]
    show(rows)
    low, high = summary["interval"]
    won = f"{summary['score']:g} of {len(rows)}, {summary['win_rate']:.1%} ({low:.1%} to {high:.1%})"
    out.print(f"\n{summary['agent']} against {summary['bot']}: {won}")
    out.print(f"our time: {summary['seconds_a_game']:.1f} s a game, {summary['most_seconds']:.1f} s at most")
