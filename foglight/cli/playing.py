"""Commands that list and play: games, agents, play, match, tournament, export."""

import json
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

import foglight as fl
from foglight.agents import AgentLike, opened
from foglight.bars import Bar, progress_bar
from foglight.cli._app import Json, On, Seed, Workers, app, err, fail, out, show, workers_of
from foglight.names import BadInput

KeepIn = Annotated[
    Path | None, typer.Option("--store", help="SQLite file that keeps the games; run the command again to resume.")
]


@app.command()
def games(
    name: Annotated[
        str | None, typer.Argument(help="Show this game alone: its rules and its parameters.", metavar="[GAME]")
    ] = None,
    openspiel: Annotated[bool, typer.Option("--openspiel", help="List the games of OpenSpiel.")] = False,
    json_: Json = False,
) -> None:
    """List the games, or show the rules and the parameters of one."""
    if name is not None:
        _show_game(_description(fl.load_game(name)), json_)
        return
    rows = _loadable(_listed, fl.game_names())
    others: list[dict[str, Any]] = []
    if openspiel:
        from foglight.bridges.openspiel import descriptions

        others = [asdict(description) for description in descriptions()]
    if json_:
        typer.echo(json.dumps(others if openspiel else rows, indent=2))
    elif openspiel:
        out.print(f"{len(others)} games of OpenSpiel, interpreted; their parameters are OpenSpiel's:\n")
        show([{"name": o["name"], "players": o["players"], "supports": _supports(o)} for o in others])
    else:
        show([{key: row[key] for key in ("name", "players", "what")} for row in rows])
        out.print("\nfoglight games GAME shows its rules and parameters; --openspiel lists the games of OpenSpiel")


def _loadable(describe: Callable[[str], dict[str, Any]], names: Sequence[str]) -> list[dict[str, Any]]:
    """The descriptions of what can be loaded; a package that offers something else gets a line on stderr."""
    rows = []
    for name in names:
        try:
            rows.append(describe(name))
        except BadInput as error:
            err.print(str(error))
    return rows


def _listed(name: str) -> dict[str, Any]:
    """The description of the game of this name with its default parameters."""
    from foglight.games import game_class
    from foglight.names import parameter_texts

    try:
        game = game_class(name)()
    except TypeError:  # somebody's game without defaults
        parameters = {key: text._asdict() for key, text in parameter_texts(game_class(name)).items()}
        return {"name": name, "players": "", "what": f"needs {', '.join(parameters)}", "parameters": parameters}
    return {**_description(game), "name": name}


def _description(game: Any) -> dict[str, Any]:
    """A game as plain data: its name, title, rules, and parameters with their values in this game."""
    from foglight.names import parameter_texts, parse_spec
    from foglight.rules import how_to_play, num_players, title

    spec = parse_spec(str(game))
    if isinstance(game, tuple):
        parameters = {key: text._asdict() for key, text in parameter_texts(type(game)).items()}
    elif spec.name.startswith("openspiel:"):
        from foglight.bridges.openspiel import parameters as openspiel_parameters

        parameters = {key: {"default": value} for key, value in openspiel_parameters(game).items()}
    else:
        parameters = {}
    return {
        "name": spec.name,
        "game": str(game),
        "players": num_players(game),
        "what": title(game),
        "rules": how_to_play(game),
        "parameters": parameters,
    }


def _show_game(game: dict[str, Any], json_: bool) -> None:
    if json_:
        typer.echo(json.dumps(game, indent=2))
        return
    out.print(f"{game['game']}: {game['what']}\n{game['players']} seats, counted from 0\n", soft_wrap=True)
    out.print(game["rules"] or "The game does not say its rules.", soft_wrap=True)
    if game["parameters"]:
        out.print()
        show([{"parameter": key, **facts} for key, facts in game["parameters"].items()])
    out.print(f"\nto play it: foglight play '{game['game']}'", soft_wrap=True)


def _supports(game: dict[str, Any]) -> str:
    parts = [game["information"], game["moves"], game["chance"], f"shows {game['shows']}"]
    return ", ".join(part for part in parts if part not in ("sequential", "deterministic"))


@app.command()
def agents(
    name: Annotated[str | None, typer.Argument(help="Show the options of this agent alone.", metavar="[AGENT]")] = None,
    json_: Json = False,
) -> None:
    """List the agents and their options, or show the options of one."""
    from foglight.agents import agent_class
    from foglight.names import parameter_texts, parse_spec

    def described(name: str) -> dict[str, Any]:
        made = agent_class(name)
        options = {key: text._asdict() for key, text in parameter_texts(made).items()}
        return {"name": name, "what": str(made.__doc__).splitlines()[0], "options": options}

    rows = _loadable(described, fl.agent_names()) if name is None else [described(parse_spec(name).name)]
    if json_:
        typer.echo(json.dumps(rows, indent=2))
        return
    show([{"name": row["name"], "what": row["what"]} for row in rows])
    owners: dict[tuple[str, ...], list[str]] = {}  # agents by option, so that a shared option is listed once
    for row in rows:
        for key, text in row["options"].items():
            owners.setdefault((key, text["default"], text["allowed"], text["meaning"]), []).append(row["name"])
    if owners:
        out.print("\noptions with their defaults, written as in 'epimc(depth=3,time=0.1)':\n")
        shared_first = sorted(owners.items(), key=lambda item: (-len(item[1]), item[1]))
        show(
            [
                {"option": f"{key}={default}", "allowed": allowed, "meaning": meaning, "of": ", ".join(of)}
                for (key, default, allowed, meaning), of in shared_first
            ]
        )


@app.command()
def play(
    game: Annotated[str | None, typer.Argument(help="A game, such as 'dark_hex(rows=4,cols=4)'.")] = None,
    vs: Annotated[str, typer.Option(help="The agent on all other seats, such as 'epimc(time=0.5)'.")] = "random",
    seat: Annotated[int, typer.Option(help="Your seat, counted from 0.")] = 0,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show each move of an agent, and why it was played.")
    ] = False,
    save: Annotated[Path | None, typer.Option(help="File that keeps the game when you leave it.")] = None,
    resume: Annotated[
        Path | None, typer.Option(help="Go on with the game in this file, with its agents, seat and seed.")
    ] = None,
    seed: Seed = 0,
) -> None:
    """Play against an agent at the terminal; you see only what your seat sees. Write help to learn how."""
    from rich.text import Text

    from foglight.arena.session import SavedGame, Session, load_saved
    from foglight.cli._explaining import Explained
    from foglight.rules import num_players

    if resume is not None and game is not None:
        raise BadInput("give a game, or --resume FILE, which knows its game, not both")
    if resume is not None:
        saved = load_saved(resume)
    elif game is not None:
        saved = SavedGame(game, (vs,) * (num_players(fl.load_game(game)) - 1), seat, seed, ())
    else:
        raise BadInput("Missing argument 'GAME'; or give --resume FILE")
    with _hanging_up(), opened(saved.agents if explain else ()) as agents:
        explained = [
            agent if agent.at_terminal else Explained(agent, text)
            for agent, text in zip(agents, saved.agents, strict=False)
        ]
        Session(
            saved.game,
            explained if explain else saved.agents,
            seat=saved.seat,
            seed=saved.seed,
            actions=saved.actions,
            file=save or resume,
            draw=lambda belief: Text.from_ansi(belief.heat(colour=True)),
        ).play()


@contextmanager
def _hanging_up() -> Iterator[None]:
    """Treat the end of the terminal as Ctrl-C, so that the game is kept."""
    signals = [vars(signal)[name] for name in ("SIGHUP", "SIGTERM") if name in vars(signal)]  # Windows has no SIGHUP
    before = [signal.signal(number, signal.default_int_handler) for number in signals]
    try:
        yield
    finally:
        for number, handler in zip(signals, before, strict=True):
            signal.signal(number, handler)


@app.command()
def match(
    players: Annotated[list[str], typer.Argument(metavar="AGENT...", help="One agent per seat, such as 'epimc'.")],
    game: Annotated[str, typer.Option(help="A game, such as 'dark_hex(rows=4,cols=4)'.")],
    games: Annotated[int, typer.Option(help="Number of games; agents change seats after each.")] = 200,
    workers: Workers = None,
    on: On = "local",
    seed: Seed = 0,
    store: KeepIn = None,
    json_: Json = False,
) -> None:
    """Play many games between agents; print win rates and mean returns with their uncertainty."""
    place = workers_of(on, workers, 1)
    with _playing(store) as progress:
        result = fl.play_match(game, players, games, seed, progress.of(place), store, progress)
    _tell_changes([result])
    summary = result.summary()
    if json_:
        out.print_json(data=summary)
        return
    table = Table(title=f"{result.game}, {result.games} games, seed {result.seed}", box=None, pad_edge=False)
    timed = _timed(players)
    for column in ("agent", "win rate", "95 % interval", "mean return", *(_TIMES if timed else ())):
        table.add_column(column, justify="left" if column == "agent" else "right", overflow="fold")
    for agent, row in enumerate(summary["agents"]):
        low, high = row["interval"]
        table.add_row(
            row["agent"],
            f"{row['win_rate']:.1%}",
            f"{low:.1%} to {high:.1%}",
            f"{row['mean_return']:+.3f} ± {row['standard_error']:.3f}",
            *(_times(result.timing(agent)) if timed else ()),
        )
    out.print(table)


@app.command()
def tournament(
    players: Annotated[
        list[str], typer.Argument(metavar="AGENT...", help="At least two agents; each meets every other.")
    ],
    game: Annotated[
        list[str], typer.Option(help="A game, such as 'dark_hex(rows=4,cols=4)'; repeat the option for several games.")
    ],
    games: Annotated[
        int,
        typer.Option(
            help="Games per table, which is a pair of agents in a two-player game; rounded up so that all seatings "
            "play equally often."
        ),
    ] = 200,
    workers: Workers = None,
    on: On = "local",
    time_: Annotated[
        float | None, typer.Option("--time", help="Seconds per move, for every agent that takes a budget.")
    ] = None,
    iterations: Annotated[
        int | None, typer.Option(help="Iterations per move, for every agent that takes a budget.")
    ] = None,
    anchor: Annotated[
        str | None, typer.Option(help="The agent whose rating is set to 0; by default the mean rating is 0.")
    ] = None,
    seed: Seed = 0,
    store: KeepIn = None,
    plot: Annotated[Path | None, typer.Option(help="Draw the crosstable and the ratings into this file.")] = None,
    json_: Json = False,
) -> None:
    """Let every agent meet every other on each game, and rate the agents in Elo."""
    from foglight.arena import report
    from foglight.arena.tournament import play_tournament, with_budget
    from foglight.pictures import check_picture

    if time_ is not None and iterations is not None:
        raise BadInput("give --time or --iterations, not both")
    budgets = {"time": time_, "iterations": iterations}
    budget = "".join(f"{key}={value}" for key, value in budgets.items() if value is not None)
    if anchor is not None and anchor not in players:
        raise BadInput(f"--anchor must be one of the agents, not {anchor!r}")
    if plot is not None:
        check_picture(plot)
    entered, place = with_budget(players, budget), workers_of(on, workers, 1)
    with _playing(store) as progress:
        result = play_tournament(game, entered, games, seed, progress.of(place), store, progress)
    _tell_changes(result.matches)
    if anchor is not None:
        anchor = str(entered[players.index(anchor)])
    summary = result.summary(anchor)
    if plot is not None:
        report.draw_tournament(result, plot)
    if json_:
        out.print_json(data=summary)
        return
    title = result.games[0] if len(result.games) == 1 else f"{len(result.games)} games"
    table = Table(title=f"{title}, {result.played} games played, seed {result.seed}", box=None, pad_edge=False)
    timed = _timed(entered)
    for column in ("agent", "Elo", "95 % interval", "score", *(_TIMES if timed else ())):
        table.add_column(column, justify="left" if column == "agent" else "right", overflow="fold")
    for row in summary["ratings"]:
        table.add_row(
            row["agent"],
            f"{row['rating']:+.0f}",
            f"{row['low']:+.0f} to {row['high']:+.0f}",
            f"{row['score']:g} of {row['games']:g}",
            *(_times(result.timing(row["agent"])) if timed else ()),
        )
    out.print(table)


@app.command()
def export(
    store: Annotated[Path, typer.Argument(help="A file written by 'match --store' or 'tournament --store'.")],
    file: Annotated[Path, typer.Argument(help="The file to write; its name ends in .parquet or .csv.")],
) -> None:
    """Write the games of a store as a table with one row per game and seat."""
    from foglight.arena import export as arena_export

    typer.echo(f"{arena_export.export(store, file)} rows written to {file}")


@contextmanager
def _playing(store: Path | None) -> Iterator[Bar]:
    """A progress bar for games. When it is stopped by Ctrl-C, a message says how to resume."""
    try:
        with progress_bar("games") as progress:
            yield progress
    except KeyboardInterrupt:
        advice = (
            f"what was played is in {store}, and the same command goes on" if store else "--store FILE would keep games"
        )
        fail(f"stopped; {advice}", 130)


def _tell_changes(matches: Sequence[fl.MatchResult]) -> None:
    """Say which games of the store are of other code than those just played."""
    earlier = sum(match.earlier for match in matches)
    if earlier:
        changed = dict.fromkeys(name for match in matches for name in match.changed)
        since = f"; since then {' and '.join(changed)} changed" if changed else ""
        err.print(f"the store also keeps {earlier} games of this match by other code, not counted here{since}")


_TIMES = ("ms a move", "longest", "overruns")


def _timed(agents: Sequence[AgentLike]) -> bool:
    """Whether any agent has a time budget. Without one, kernels are not warmed up and times include compilation."""
    with opened(agents) as loaded:
        return any(agent.time for agent in loaded)


def _times(timing: Any) -> list[str]:
    """The cells of the columns _TIMES."""
    if timing is None:
        return [""] * 3
    data = timing.summary()
    return [f"{data['mean_ms']:,.2f}", f"{data['longest_ms']:,.2f} ms", str(data["overruns"])]
