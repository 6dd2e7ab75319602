"""Commands that measure: studies and benches."""

import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from foglight.bars import progress_bar
from foglight.cli._app import Json, On, Seed, Workers, bench, fail, out, show, study, workers_of
from foglight.names import BadInput

Seconds = Annotated[float, typer.Option(help="Seconds per side and round.")]


@study.command("list")
def list_studies(json_: Json = False) -> None:
    """List the studies."""
    from foglight.studies import load_study, study_names

    rows = [{"name": name, "what": str(load_study(name).__doc__).splitlines()[0]} for name in study_names()]
    if json_:
        typer.echo(json.dumps(rows, indent=2))
    else:
        show(rows)


@study.command("run")
def run_study(
    name: Annotated[
        str, typer.Argument(help="A study from 'foglight study list', or all of them, or a module, package.module.")
    ],
    quick: Annotated[
        bool, typer.Option("--quick/--full", help="Run a small version in minutes, or the published size.")
    ] = True,
    folder: Annotated[
        Path | None, typer.Option(help="Folder for the results; by default runs/NAME. With all, the folder of folders.")
    ] = None,
    minutes: Annotated[
        float | None, typer.Option(min=0, help="Stop after so many minutes. The same command goes on from there.")
    ] = None,
    begin_with: Annotated[
        Path | None,
        typer.Option("--from", help="Begin with the finished cells stored in this folder, such as docs/results/data."),
    ] = None,
    only: Annotated[
        str, typer.Option(help="Work only on cells with this text in their names, such as '100:1'; not with all.")
    ] = "",
    workers: Workers = None,
    on: On = "local",
    seed: Seed = 0,
    json_: Json = False,
) -> None:
    """Run or resume a study: write its data, a table beside the published numbers, and a picture."""
    from foglight import studies

    if only and name == "all":
        raise BadInput("--only takes the cells of one study: name it, instead of all")
    place = workers_of(on, workers, 1)
    names = studies.study_names() if name == "all" else [name]
    runs = (folder or Path("runs")) if name == "all" else None
    end = None if minutes is None else time.monotonic() + 60 * minutes
    data = {}
    for number, each in enumerate(names):
        where = runs / each if runs else folder or Path("runs") / each
        # a study that ends early leaves its time to those after it
        seconds = None if end is None else max(0.0, end - time.monotonic()) / (len(names) - number)
        try:
            with progress_bar(f"cells of {each}" if runs else "cells") as progress:
                table = studies.run_study(
                    each, where, quick, seed, progress, progress.of(place), seconds, begin_with, only
                )
        except KeyboardInterrupt:
            fail(f"stopped; finished cells are in {where}, and the same command goes on", 130)
        if not json_:
            typer.echo(f"{table}\nresults are in {where}")
        elif (where / "data.json").exists():
            data[each] = json.loads((where / "data.json").read_text(encoding="utf-8"))
    if json_:
        typer.echo(json.dumps(data if runs else data.get(name, {}), indent=1))


@study.command("plan")
def plan_study(
    name: Annotated[str, typer.Argument(help="A study whose networks are trained elsewhere, such as trunk_values.")],
    quick: Annotated[bool, typer.Option("--quick/--full", help="The small version, or the published size.")] = True,
    folder: Annotated[Path | None, typer.Option(help="Folder for the results; by default runs/NAME.")] = None,
    seed: Seed = 0,
) -> None:
    """Write the data sets that a study's networks are trained on, so that a machine with torch alone can train them."""
    from foglight import studies

    loaded = studies.load_study(name)
    if "plan" not in vars(loaded):
        raise BadInput(f"the study {name} trains no networks; run it")
    where = loaded.plan(loaded.cells(quick, seed), folder or Path("runs") / name)
    typer.echo(f"written to {where}; train there, or on a copy: python -m foglight.values.networks.stack {where}")


@study.command("report")
def report_studies(
    runs: Annotated[
        Path | None, typer.Option(help="Folder of the studies' folders, to take larger or newer results from.")
    ] = None,
    to: Annotated[
        Path, typer.Option(help="The page. The data it is made from are in the folder data beside it.")
    ] = Path("docs/results/index.md"),
    json_: Json = False,
) -> None:
    """Write one page with every published table and figure: our number beside the published one, and a verdict."""
    from foglight.files import write_whole
    from foglight.studies import _report, _stored

    data = to.parent / "data"
    changed = _stored.gather(runs, data) if runs is not None else []
    stored = _stored.all_stored(data)
    write_whole(to, _report.page(stored).encode())
    if json_:
        typer.echo(json.dumps(_report.entries(stored), indent=1))
        return
    if changed:
        typer.echo(f"new data: {', '.join(changed)}")
    typer.echo(f"written to {to}")


@bench.command()
def rollouts(
    game: Annotated[
        list[str] | None,
        typer.Option(help="A game to measure, yours too; repeat the option for several. By default native games."),
    ] = None,
    seconds: Seconds = 0.5,
    json_: Json = False,
) -> None:
    """Measure random playouts per second, beside OpenSpiel's C++ where it has the game."""
    from foglight.bench import rollouts as bench_rollouts

    rows, games = [], game or list(bench_rollouts.CASES)
    with progress_bar("games") as progress:
        for case in bench_rollouts.run(seconds, games):
            rows.append(case.summary())
            progress(len(rows), len(games))
    if json_:
        out.print_json(data=rows)
        return
    table = Table(title="random playouts per second, one core")
    for column in ("game", "foglight", "OpenSpiel", "ratio"):
        table.add_column(column, justify="left" if column == "game" else "right")
    for row in rows:
        peer = [f"{row['openspiel']:,.0f}", f"{row['ratio']:.1f}×"] if row["ratio"] else ["", ""]
        table.add_row(row["game"], f"{row['foglight']:,.0f}", *peer)
    out.print(table)


@bench.command()
def beliefs(
    section: Annotated[
        str, typer.Option(help="Part of the bench: deals, samples, trackers, boards, legality or all.")
    ] = "all",
    seconds: Annotated[float, typer.Option(help="Seconds per measured rate.")] = 0.5,
    positions: Annotated[int, typer.Option(help="Random positions per card game.")] = 50,
    games: Annotated[int, typer.Option(help="Random games per tracker.")] = 20,
    samples: Annotated[int, typer.Option(help="Samples per card game to check against the rules.")] = 10_000,
    workers: Workers = None,
    on: On = "local",
    seed: Seed = 0,
    json_: Json = False,
) -> None:
    """Measure the cost of beliefs beside OpenSpiel and plain Python, and how many samples the rules allow."""
    from foglight.bench import beliefs as bench_beliefs
    from foglight.bench.legality import judge_all

    tasks = bench_beliefs.tasks(section, seconds, positions, games, samples, seed)
    place = workers_of(on, workers, 1)
    if place.is_here:
        _measure(tasks, json_)
    elif section == "legality":
        with progress_bar("positions") as progress:
            rows = judge_all(samples, positions, games, seed, progress.of(place), progress)
        _show_tables({bench_beliefs.LEGALITY: rows}, json_)
    else:
        raise BadInput("only --section legality takes several workers; what is timed needs a core of its own")


@bench.command("solve")
def bench_solve(seconds: Seconds = 0.5, json_: Json = False) -> None:
    """Measure the speed of solvers beside OpenSpiel's C++ and LiteEFG, and the memory per node."""
    from foglight.bench import solve as bench_solving

    _measure(bench_solving.tasks(seconds), json_)


@bench.command("phantom")
def bench_phantom(
    game: Annotated[list[str] | None, typer.Option(help="A phantom game on nine cells; by default all four.")] = None,
    peer: Annotated[str | None, typer.Option(help="A Python that has exp-a-spiel; without it, only ours runs.")] = None,
    json_: Json = False,
) -> None:
    """Measure the set-up and the evaluation of whole phantom games, beside exp-a-spiel's. Takes hours beside it."""
    from foglight.bench import phantom

    _measure(phantom.tasks(game, peer), json_)


@bench.command("env")
def bench_env(
    section: Annotated[str, typer.Option(help="Part of the bench: rates, vectors or all.")] = "rates",
    game: Annotated[
        list[str] | None, typer.Option(help="A game to measure, yours too; repeat the option. By default six games.")
    ] = None,
    envs: Annotated[int, typer.Option(help="Games at once.")] = 4096,
    seconds: Seconds = 0.5,
    peer: Annotated[
        str | None,
        typer.Option(help="A Python that has pgx, EnvPool, OpenSpiel or shimmy; none: only ours runs."),
    ] = None,
    json_: Json = False,
) -> None:
    """Measure steps per second of environments beside other libraries', and what their vectors keep."""
    from foglight.bench import environments

    _measure(environments.tasks(section, game, envs, seconds, peer), json_)


@bench.command("fog")
def bench_fog(
    peer: Annotated[str, typer.Option(help="A Python that has misty-chess.")],
    agent: Annotated[str, typer.Option(help="Our agent.")] = "epimc(time=1)",
    games: Annotated[int, typer.Option(help="Games; the two change seats after each.")] = 40,
    seconds: Annotated[float, typer.Option(help="Seconds per move of Misty.")] = 1.0,
    repetition: Annotated[
        str, typer.Option(help="A position that occurs for the third time: ignore or draw.")
    ] = "ignore",
    compare: Annotated[int, typer.Option(help="Compare Misty's own set of positions with ours up to this size.")] = 0,
    store: Annotated[
        Path, typer.Option(help="SQLite file that keeps the games; run the command again to resume.")
    ] = Path("runs/fog.sqlite"),
    seed: Seed = 0,
    json_: Json = False,
) -> None:
    """Play Fog-of-War chess against Misty. Takes a minute or two a game."""
    from foglight.bench import fog

    try:
        with progress_bar("games") as progress:
            tables = fog.run(peer, agent, games, seconds, seed, store, repetition, compare, progress)
    except KeyboardInterrupt:
        fail(f"stopped; finished games are in {store}, and the same command goes on", 130)
    _show_tables(tables, json_)


@bench.command("search")
def bench_search(seconds: Seconds = 0.5, json_: Json = False) -> None:
    """Measure the speed of IS-MCTS beside OpenSpiel's C++, and of EPIMC beside bare playouts."""
    from foglight.bench import search as bench_searching

    _measure([("searching, one core", lambda: list(bench_searching.run(seconds)))], json_)


@bench.command("values")
def bench_values(
    section: Annotated[str, typer.Option(help="Part of the bench: data, batch, tensors or all.")] = "all",
    strategies: Annotated[
        int, typer.Option(help="Random strategies in the data set; each gives 9 training points.")
    ] = 1000,
    beliefs: Annotated[int, typer.Option(help="Belief states solved in one batch.")] = 256,
    export: Annotated[
        Path | None,
        typer.Option(help="Only write belief states to this file, for 'python -m foglight.bench.tensor_cfr'."),
    ] = None,
    seed: Seed = 0,
    json_: Json = False,
) -> None:
    """Measure the speed of making training data, and of solving belief states one by one, in batches and on tensors."""
    from foglight.bench import values as bench_valuing

    tasks = bench_valuing.tasks(section, seed, strategies, beliefs)
    if export is not None:
        bench_valuing.export(export, seed, beliefs)
        typer.echo(f"written to {export}; next: python -m foglight.bench.tensor_cfr {export} --device cuda")
        return
    _measure(tasks, json_)


@bench.command("sketches")
def bench_sketches(
    depth: Annotated[int, typer.Option(help="Depth of the search in turns of either side.")] = 3,
    moves: Annotated[int, typer.Option(help="Root moves to value; 0: all.")] = 0,
    positions: Annotated[int, typer.Option(help="Positions from play, in addition to the first turn.")] = 20,
    seed: Seed = 0,
    json_: Json = False,
) -> None:
    """Measure search over sets of worlds in blind chess with and without its cache: time, and the error of values."""
    from foglight.bench import sketches as bench_sketching

    _measure(bench_sketching.tasks(depth, moves, positions, seed), json_)


@bench.command("serve")
def bench_serve(
    games: Annotated[int, typer.Option(help="Games that are played at once.")] = 200,
    seed: Seed = 0,
    json_: Json = False,
) -> None:
    """Measure the page on a server of its own: first page, clicks, beliefs, many games at once. Takes minutes."""
    from foglight.bench import serve as bench_serving

    with progress_bar("measurements") as progress:
        tables = bench_serving.run(games, seed, progress)
    _show_tables(tables, json_)


def _measure(tasks: list[tuple[str, Any]], as_json: bool) -> None:
    """Take measurements one after the other, then print all tables, or the data as JSON."""
    tables: dict[str, list[Any]] = {}
    with progress_bar("measurements") as progress:
        for done, (title, measure) in enumerate(tasks):
            progress(done, len(tasks))
            tables.setdefault(title, []).extend(measure())
    _show_tables(tables, as_json)


def _show_tables(tables: Mapping[str, Sequence[Any]], as_json: bool) -> None:
    """Print tables of rows by title, or the data as JSON."""
    if as_json:
        typer.echo(json.dumps({title: [row.summary() for row in rows] for title, rows in tables.items()}, indent=2))
        return
    for title, rows in tables.items():
        out.print(f"{title}\n")
        show([row.texts() for row in rows])
        out.print()
