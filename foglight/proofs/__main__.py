"""`python -m foglight.proofs`: properties that must hold always, tried very often.

python -m foglight.proofs legality --samples 10000000
python -m foglight.proofs twins --pairs 10000
python -m foglight.proofs fuzz --inputs 100000
python -m foglight.proofs playthroughs --files open_spiel/integration_tests/playthroughs
python -m foglight.proofs beliefs --games 100
python -m foglight.proofs efg --files gambit/catalog

Kill it whenever you like: the same command continues it. The exit code is 1 if anything was found.
"""

import importlib
import json
from pathlib import Path
from typing import Annotated, Any

import typer

from foglight import proofs
from foglight.bars import progress_bar
from foglight.cli import main
from foglight.cli._app import Json, On, Seed, Workers, fail, workers_of
from foglight.names import BadInput

app = typer.Typer(
    help="Proof by repetition: properties that must hold always, tried very often.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
Folder = Annotated[Path, typer.Option(help="Folder for the results; the same command continues a run.")]
_RUNS = Path("runs") / "proofs"


@app.command()
def legality(
    samples: Annotated[int, typer.Option(help="Hidden worlds to judge in all, roughly.")] = 100_000,
    on: On = "local",
    workers: Workers = None,
    seed: Seed = 0,
    folder: Folder = _RUNS,
    json_: Json = False,
) -> None:
    """Judge sampled worlds of all native games by the rules: legal, and the observations are those observed."""
    _prove("legality", {"samples": samples, "seed": seed}, folder, workers_of(on, workers, 1), json_)


@app.command()
def twins(
    pairs: Annotated[int, typer.Option(help="Pairs of games for each agent and game.")] = 100,
    seconds: Annotated[float, typer.Option(help="Most seconds of the processor for each agent and game.")] = 60.0,
    agent: Annotated[str, typer.Option(help="Only this agent.")] = "",
    game: Annotated[str, typer.Option(help="Only this game.")] = "",
    on: On = "local",
    workers: Workers = None,
    seed: Seed = 0,
    folder: Folder = _RUNS,
    json_: Json = False,
) -> None:
    """Compare what agents do in games that look the same to them, and differ in what is hidden."""
    given = {"pairs": pairs, "seconds": seconds, "agent": agent, "game": game, "seed": seed}
    _prove("twins", given, folder, workers_of(on, workers, 1), json_)


@app.command()
def fuzz(
    inputs: Annotated[int, typer.Option(help="Inputs in all.")] = 1000,
    on: On = "local",
    workers: Workers = None,
    seed: Seed = 0,
    folder: Folder = _RUNS,
    json_: Json = False,
) -> None:
    """Feed nonsense to everything that takes input: it must succeed, or be refused in one line."""
    _prove("fuzz", {"inputs": inputs, "seed": seed}, folder, workers_of(on, workers, 1), json_)


@app.command()
def playthroughs(
    files: Annotated[str, typer.Option(help="Folder of OpenSpiel's playthroughs, from its source.")],
    on: On = "local",
    workers: Workers = None,
    folder: Folder = _RUNS,
    json_: Json = False,
) -> None:
    """Follow the games that OpenSpiel keeps for its own tests, line by line, by our rules."""
    _prove("playthroughs", {"files": files}, folder, workers_of(on, workers, 1), json_)


@app.command()
def efg(
    files: Annotated[str, typer.Option(help="Folder of .efg files, such as Gambit's catalog.")],
    on: On = "local",
    workers: Workers = None,
    folder: Folder = _RUNS,
    json_: Json = False,
) -> None:
    """Compare extensive-form games as we read and solve them with pygambit's and OpenSpiel's reading and solutions."""
    _prove("efg", {"files": files}, folder, workers_of(on, workers, 1), json_)


@app.command()
def beliefs(
    games: Annotated[int, typer.Option(help="Games in all.")] = 10,
    game: Annotated[str, typer.Option(help="A native game; by default Fog-of-War chess on the full board.")] = "",
    agent: Annotated[list[str] | None, typer.Option(help="An agent that plays; repeat the option for several.")] = None,
    cap: Annotated[int, typer.Option(help="Positions up to which a belief is exact.")] = 200_000,
    on: On = "local",
    workers: Workers = None,
    seed: Seed = 0,
    folder: Folder = _RUNS,
    json_: Json = False,
) -> None:
    """Follow the beliefs of all seats through games between agents: none may be lost, nor miss the true world."""
    chosen = {"game": game} if game else {}
    given = {"games": games, "cap": cap, "seed": seed, **chosen, **({"agents": agent} if agent else {})}
    _prove("beliefs", given, folder, workers_of(on, workers, 1), json_)


def _prove(proof: str, given: dict[str, Any], folder: Path, place: Any, json_: bool) -> None:
    """Run or continue a proof, and print its table."""
    for name, value in given.items():
        if isinstance(value, int | float) and value < (name != "seed"):
            raise BadInput(f"{name} must be at least {int(name != 'seed')}, not {value}")
    module = importlib.import_module(f"foglight.proofs.{proof}")
    cells = module.cells(**given)
    if not cells:
        raise BadInput("no native agent plays that game; foglight agents and foglight games list them")
    try:
        with progress_bar("cells") as progress:
            results = proofs.prove(proof, cells, folder, progress, place)
    except KeyboardInterrupt:
        fail(f"stopped; finished cells are in {folder}, and the same command goes on", 130)
    rows, findings = module.table(results), [line for result in results.values() for line in result["findings"]]
    if json_:
        typer.echo(json.dumps({"rows": rows, "findings": findings}, indent=1))
    else:
        typer.echo(proofs.markdown(rows))
        for line in findings:
            typer.echo(line)
    raise typer.Exit(1 if findings else 0)


if __name__ == "__main__":
    main(app)
