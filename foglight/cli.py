"""The command line: parsing and printing only. Bad input gets one line and exit code 2."""

import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

import foglight as fl
from foglight.names import BadInput

app = typer.Typer(
    help="Play, solve and measure games in which players cannot see everything.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
bench = typer.Typer(help="Measure speed against a peer, in one run.", no_args_is_help=True)
study = typer.Typer(help="Reproduce published tables and figures.", no_args_is_help=True)
app.add_typer(bench, name="bench")
app.add_typer(study, name="study")

out = Console(highlight=False, markup=False)
err = Console(stderr=True, highlight=False, markup=False, soft_wrap=True)

Json = Annotated[bool, typer.Option("--json", help="Print data for programs instead of text.")]
Seed = Annotated[int, typer.Option(help="Everything random follows from it.")]


def main() -> None:
    """Run the command line; whatever a person got wrong ends in one line on stderr and exit code 2."""
    try:
        sys.exit(app(standalone_mode=False) or 0)
    except BadInput as error:
        _fail(str(error), 2)
    except (KeyboardInterrupt, typer.Abort):
        _fail("stopped", 130)
    except BrokenPipeError:  # the reader of our output, such as head, has seen enough
        sys.stderr.close()
        sys.exit(0)
    except Exception as error:
        # Typer's own complaints; depending on its version they are Click's classes or a copy of them
        if not hasattr(error, "format_message"):
            raise
        if type(error).__name__ == "NoArgsIsHelpError":  # the help is on the screen
            sys.exit(0)
        _fail(f"{error.format_message().rstrip('.')}; see foglight --help", 2)


def _fail(message: str, code: int) -> NoReturn:
    err.print(message)
    sys.exit(code)


@app.command()
def games(json_: Json = False) -> None:
    """List the games."""
    from foglight.games import game_class
    from foglight.names import parameter_texts
    from foglight.rules import num_players, title

    rows: list[dict[str, Any]] = []
    for name in fl.game_names():
        game = game_class(name)()
        parameters = ", ".join(f"{key}={value}" for key, value in parameter_texts(type(game)).items())
        rows.append({"name": name, "players": num_players(game), "what": title(game), "parameters": parameters})
    try:
        from foglight.bridges.openspiel import descriptions
    except BadInput as error:
        others, advice = [], str(error)
    else:
        others, advice = [asdict(description) for description in descriptions()], ""
    if json_:
        typer.echo(json.dumps(rows + others, indent=2))
        return
    _show(rows)
    if others:
        out.print(f"\n{len(others)} games of OpenSpiel, interpreted; their parameters are OpenSpiel's:\n")
        _show([{"name": o["name"], "players": o["players"], "supports": _supports(o)} for o in others])
    else:
        out.print(f"\n{advice}")


def _supports(game: dict[str, Any]) -> str:
    parts = [game["information"], game["moves"], game["chance"], f"shows {game['shows']}"]
    return ", ".join(part for part in parts if part not in ("sequential", "deterministic"))


@app.command()
def agents(json_: Json = False) -> None:
    """List the agents."""
    from foglight.agents import agent_class

    rows = [{"name": name, "what": agent_class(name).__doc__} for name in fl.agent_names()]
    if json_:
        typer.echo(json.dumps(rows, indent=2))
    else:
        _show(rows)


@app.command()
def play(
    game: Annotated[str, typer.Argument(help="Such as 'dark_hex(rows=4,cols=4)'.")],
    vs: Annotated[str, typer.Option(help="The agent on the other seats.")] = "random",
    seat: Annotated[int, typer.Option(help="Your seat, counted from 0.")] = 0,
    seed: Seed = 0,
) -> None:
    """Play against an agent; you see what your seat sees."""
    from foglight.arena.referee import play_game
    from foglight.rules import num_players

    loaded = fl.load_game(game)
    if not 0 <= seat < num_players(loaded):
        raise BadInput(f"{loaded} has seats 0 to {num_players(loaded) - 1}, not {seat}")
    if seed < 0:
        raise BadInput(f"seed must be at least 0, not {seed}")
    seated = [fl.load_agent("human" if i == seat else vs) for i in range(num_players(loaded))]
    try:
        record, state = play_game(loaded, seated, seed)
    except EOFError:
        out.print("\nyou left the game")
        return
    payoff = record.returns[seat]
    result = "you win" if payoff > 0 else "you lose" if payoff < 0 else "nobody wins"
    out.print(f"\nthe game is over: {result} ({payoff:+g}). What was really there:\n{state}")


@app.command()
def match(
    players: Annotated[list[str], typer.Argument(metavar="AGENT...", help="One for each seat.")],
    game: Annotated[str, typer.Option(help="Such as 'dark_hex(rows=4,cols=4)'.")],
    games: Annotated[int, typer.Option(help="How many games; agents change seats after each.")] = 200,
    workers: Annotated[int, typer.Option(help="Processes; the result is the same with any number.")] = 1,
    seed: Seed = 0,
    store: Annotated[Path | None, typer.Option(help="Keep games in this file; the same command goes on there.")] = None,
    json_: Json = False,
) -> None:
    """Let agents play many games, and say how sure the result is."""
    with _playing(store) as progress:
        result = fl.play_match(game, players, games, seed, workers, store, progress)
    summary = result.summary()
    if json_:
        out.print_json(data=summary)
        return
    table = Table(title=f"{result.game}, {result.games} games, seed {result.seed}")
    for column in ("agent", "win rate", "95 % interval", "mean return", "ms a move", "longest", "overruns"):
        table.add_column(column, justify="left" if column == "agent" else "right")
    for agent, row in enumerate(summary["agents"]):
        low, high = row["interval"]
        table.add_row(
            row["agent"],
            f"{row['win_rate']:.1%}",
            f"{low:.1%} to {high:.1%}",
            f"{row['mean_return']:+.3f} ± {row['standard_error']:.3f}",
            *_times(result.timing(agent)),
        )
    out.print(table)


@app.command()
def tournament(
    players: Annotated[list[str], typer.Argument(metavar="AGENT...", help="At least two; each meets every other.")],
    game: Annotated[list[str], typer.Option(help="Such as 'dark_hex(rows=4,cols=4)'; may be given several times.")],
    games: Annotated[int, typer.Option(help="How many for each pair, or table, of agents; all seats alike.")] = 200,
    workers: Annotated[int, typer.Option(help="Processes; the result is the same with any number.")] = 1,
    time_: Annotated[float | None, typer.Option("--time", help="Seconds a move, for all agents that take it.")] = None,
    iterations: Annotated[int | None, typer.Option(help="Iterations a move, for all agents that take it.")] = None,
    anchor: Annotated[str | None, typer.Option(help="The agent whose rating is 0, instead of the mean.")] = None,
    seed: Seed = 0,
    store: Annotated[Path | None, typer.Option(help="Keep games in this file; the same command goes on there.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Also draw crosstable and ratings into this file.")] = None,
    json_: Json = False,
) -> None:
    """Let every agent meet every other, and rate them."""
    from foglight.arena import report
    from foglight.arena.tournament import play_tournament, with_budget

    if time_ is not None and iterations is not None:
        raise BadInput("give --time or --iterations, not both")
    given = {"time": time_, "iterations": iterations}
    budget = "".join(f"{key}={value}" for key, value in given.items() if value is not None)
    if anchor is not None and anchor not in players:
        raise BadInput(f"--anchor must be one of the agents, not {anchor!r}")
    if plot is not None:
        report.check_picture(plot)
    with _playing(store) as progress:
        result = play_tournament(game, players, games, seed, workers, store, progress, budget)
    if anchor is not None:
        anchor = with_budget(players, budget)[players.index(anchor)]
    summary = result.summary(anchor)
    if plot is not None:
        report.draw_tournament(result, plot)
    if json_:
        out.print_json(data=summary)
        return
    title = result.games[0] if len(result.games) == 1 else f"{len(result.games)} games"
    table = Table(title=f"{title}, {result.played} games played, seed {result.seed}")
    for column in ("agent", "Elo", "95 % interval", "score", "ms a move", "longest", "overruns"):
        table.add_column(column, justify="left" if column == "agent" else "right")
    for row in summary["ratings"]:
        table.add_row(
            row["agent"],
            f"{row['rating']:+.0f}",
            f"{row['low']:+.0f} to {row['high']:+.0f}",
            f"{row['score']:g} of {row['games']:g}",
            *_times(result.timing(row["agent"])),
        )
    out.print(table)


@app.command()
def export(
    store: Annotated[Path, typer.Argument(help="A file that match or tournament --store wrote.")],
    file: Annotated[Path, typer.Argument(help="Ends in .parquet or .csv.")],
) -> None:
    """Write the games of a store as a table, one row for each game and seat."""
    from foglight.arena import export as arena_export

    typer.echo(f"{arena_export.export(store, file)} rows written to {file}")


@contextmanager
def _playing(store: Path | None) -> Iterator[Any]:
    """A bar for games; who stops them learns how to go on."""
    try:
        with _progress("games") as progress:
            yield progress
    except KeyboardInterrupt:
        kept = (
            f"what was played is in {store}, and the same command goes on" if store else "--store FILE would keep games"
        )
        _fail(f"stopped; {kept}", 130)


def _times(timing: Any) -> list[str]:
    """Mean and longest move, and overruns of the budget, for people."""
    if timing is None:
        return [""] * 3
    data = timing.summary()
    return [f"{data['mean_ms']:,.2f}", f"{data['longest_ms']:,.2f} ms", str(data["overruns"])]


@app.command()
def solve(
    game: Annotated[str, typer.Argument(help="Such as 'leduc_poker'.")],
    iterations: Annotated[int, typer.Option(help="How many, counted from the very beginning.")] = 10_000,
    method: Annotated[str, typer.Option(help="cfr, cfr+, dcfr, pcfr+, external, outcome; or lp, exact.")] = "cfr+",
    save: Annotated[Path | None, typer.Option(help="Keep the policy in this file; the same command goes on.")] = None,
    memory: Annotated[float, typer.Option(help="GiB that the game's tree may take.")] = 4.0,
    seed: Seed = 0,
    json_: Json = False,
) -> None:
    """Find an equilibrium of a small game, and say how far from one it is."""
    from foglight.solve.solver import sequence_form

    if seed < 0:
        raise BadInput(f"seed must be at least 0, not {seed}")
    if save is not None and not save.parent.is_dir():
        raise BadInput(f"cannot write {save}: there is no folder {save.parent}; make it, or choose another file")
    begin = time.perf_counter()
    sequences = sequence_form(game, memory)
    tree_seconds = time.perf_counter() - begin
    try:
        with _progress("iterations") as bar:
            told = bar if err.is_terminal else None
            policy = fl.solve(game, iterations, method, checkpoint=save, seed=seed, memory=memory, progress=told)
    except KeyboardInterrupt:
        if save is not None and save.exists():
            _fail(f"stopped; what was done is in {save}, but for the last seconds, and the same command goes on", 130)
        _fail("stopped; nothing is kept yet" if save else "stopped; --save FILE would keep what is done", 130)
    seconds, nodes = time.perf_counter() - begin, sequences.tree.num_nodes
    if json_:
        facts = {name: getattr(policy, name) for name in ("game", "method", "iterations", "value", "exploitability")}
        facts |= {"seconds": seconds, "tree_seconds": tree_seconds, "saved": str(save) if save else None}
        typer.echo(json.dumps({**facts, "nodes": nodes, "information_states": sequences.num_states}, indent=2))
        return
    rows = {
        "value to seat 0": f"{policy.value:.9g}",
        "exploitability": f"{policy.exploitability:.3g}",
        "time": f"{seconds:.3g} s, {tree_seconds:.3g} s of it for the tree",
        "method": "linear programming, exact" if method == "lp" else f"{method}, {policy.iterations:,} iterations",
        "size": f"{nodes:,} nodes, {sequences.num_states:,} information states",
    }
    _show([{policy.game: name, "": text} for name, text in rows.items()])
    if sequences.tree.num_seats != 2 or abs(sequences.tree.payoffs.sum(1)).max(initial=0.0) > 1e-9:
        typer.echo("\nnot a zero-sum game of two seats: nothing says that this comes close to an equilibrium")
    advice = f"to play it: foglight match --game '{policy.game}' 'policy(file={json.dumps(str(save))})' random"
    typer.echo(f"\n{advice}" if save else "\n--save FILE would keep it for the agent policy(file=FILE)")


@app.command()
def belief(
    game: Annotated[str, typer.Argument(help="Such as 'dark_hex(rows=4,cols=4)'.")],
    moves: Annotated[list[str] | None, typer.Argument(help="What happened so far, chance included.")] = None,
    seat: Annotated[int, typer.Option(help="Whose eyes to look through; -1 for what is public.")] = 0,
    store: Annotated[Path | None, typer.Option(help="Take a game from this store instead of moves.")] = None,
    number: Annotated[int, typer.Option(help="Which game of the store.")] = 0,
    after: Annotated[int | None, typer.Option(help="How many actions into that game.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Also draw it into this file.")] = None,
    seed: Seed = 0,
    json_: Json = False,
) -> None:
    """Show what a seat can know, and what may be hidden from it, how likely."""
    from foglight.arena.store import stored_actions
    from foglight.worlds.marginals import draw, heat

    state = fl.new_state(game)
    for move in moves or []:
        state.play(state.parse_action(move))
    for action in stored_actions(store, str(state.game), number)[:after] if store else []:
        state.play(action)
    if not -1 <= seat < state.num_players:
        raise BadInput(f"{state.game} has seats 0 to {state.num_players - 1}, not {seat}")
    mover = seat if state.player == seat else None
    found = fl.history_filter(state.game, state.observations(seat), seat, mover=mover).belief(seed=seed)
    if plot is not None:
        draw(
            found, plot, f"{state.game}: what seat {seat} may think" if seat >= 0 else f"{state.game}: the public view"
        )
    if json_:
        typer.echo(json.dumps(found.summary(), indent=2))
        return
    out.print(state.information(seat))
    kind = "all" if found.exact else "a sample of"
    out.print(f"\n{kind} {found.worlds} worlds that agree with this, every history alike:\n")
    out.print(heat(found))


@study.command("list")
def list_studies(json_: Json = False) -> None:
    """List the studies."""
    from foglight.studies import load_study, study_names

    rows = [{"name": name, "what": str(load_study(name).__doc__).splitlines()[0]} for name in study_names()]
    if json_:
        typer.echo(json.dumps(rows, indent=2))
    else:
        _show(rows)


@study.command("run")
def run_study(
    name: Annotated[str, typer.Argument(help="As listed by foglight study list.")],
    quick: Annotated[bool, typer.Option("--quick/--full", help="Minutes, or the published size.")] = True,
    folder: Annotated[Path | None, typer.Option(help="Where results go; runs/NAME if not given.")] = None,
    seed: Seed = 0,
    json_: Json = False,
) -> None:
    """Run a study, or go on with it: data, a table beside the published numbers, a picture."""
    from foglight import studies

    folder = folder or Path("runs") / name
    with _progress("cells") as progress:
        table = studies.run_study(name, folder, quick, seed, progress)
    if json_:
        typer.echo((folder / "data.json").read_text(encoding="utf-8"))
    else:
        typer.echo(f"{table}\nwritten to {folder}: data.json, table.md, picture.png")


@bench.command()
def rollouts(
    seconds: Annotated[float, typer.Option(help="Time for each side and round.")] = 0.5,
    json_: Json = False,
) -> None:
    """Random playouts a second, against OpenSpiel's C++."""
    from foglight.bench import rollouts as bench_rollouts

    if not 0.01 <= seconds <= 600:
        raise BadInput(f"seconds must be from 0.01 to 600, not {seconds}")
    rows = []
    with _progress("games") as progress:
        for case in bench_rollouts.run(seconds):
            rows.append(case.summary())
            progress(len(rows), len(bench_rollouts.CASES))
    if json_:
        out.print_json(data=rows)
        return
    table = Table(title="random playouts a second, one core")
    for column in ("game", "foglight", "OpenSpiel", "ratio"):
        table.add_column(column, justify="left" if column == "game" else "right")
    for row in rows:
        table.add_row(row["game"], f"{row['foglight']:,.0f}", f"{row['openspiel']:,.0f}", f"{row['ratio']:.1f}×")
    out.print(table)


@bench.command()
def beliefs(
    section: Annotated[str, typer.Option(help="One of deals, samples, trackers, legality; or all.")] = "all",
    seconds: Annotated[float, typer.Option(help="Time for each rate.")] = 0.5,
    positions: Annotated[int, typer.Option(help="Random positions of each card game.")] = 50,
    games: Annotated[int, typer.Option(help="Random games for each tracker.")] = 20,
    samples: Annotated[int, typer.Option(help="Samples of each card game to judge by the rules.")] = 10_000,
    seed: Seed = 0,
    json_: Json = False,
) -> None:
    """What beliefs cost, beside OpenSpiel's and plain Python's; and whether they may be true."""
    from foglight.bench import beliefs as bench_beliefs

    _measure(bench_beliefs.tasks(section, seconds, positions, games, samples, seed), json_)


@bench.command("solve")
def bench_solve(
    seconds: Annotated[float, typer.Option(help="Time for each side and round.")] = 0.5,
    json_: Json = False,
) -> None:
    """What solving costs, beside OpenSpiel's C++ and LiteEFG; and how much memory a node takes."""
    from foglight.bench import solve as bench_solving

    _measure(bench_solving.tasks(seconds), json_)


def _measure(tasks: list[tuple[str, Any]], as_json: bool) -> None:
    """Take measurements one after the other; tables or data at the end."""
    tables: dict[str, list[Any]] = {}
    with _progress("measurements") as progress:
        for done, (title, measure) in enumerate(tasks):
            progress(done, len(tasks))
            tables.setdefault(title, []).extend(measure())
    if as_json:
        typer.echo(json.dumps({title: [row.summary() for row in rows] for title, rows in tables.items()}, indent=2))
        return
    for title, rows in tables.items():
        out.print(f"{title}\n")
        _show([row.texts() for row in rows])
        out.print()


def _show(rows: list[dict[str, Any]]) -> None:
    table = Table(box=None, pad_edge=False)
    for column in rows[0]:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*map(str, row.values()))
    out.print(table)


@contextmanager
def _progress(noun: str) -> Iterator[Any]:
    """A bar on stderr, for people; refreshed by hand, so that no thread of it is there when workers are forked."""
    columns = [TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()]
    with Progress(*columns, console=err, auto_refresh=False, disable=not err.is_terminal) as bar:
        task = bar.add_task(noun, total=None)

        def update(done: int, total: int, exploitability: float | None = None) -> None:
            text = noun if exploitability is None else f"{noun}, exploitability {exploitability:.2e}"
            bar.update(task, completed=done, total=total, description=text, refresh=True)

        yield update
