"""Commands that look into a game: solve, belief, draw, sparsity, analyse, review."""

import json
import time
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

import foglight as fl
from foglight.bars import progress_bar
from foglight.cli._app import Json, Seed, app, err, fail, out, show
from foglight.names import BadInput


@app.command()
def solve(
    game: Annotated[str, typer.Argument(help="A small game, such as 'leduc_poker', or a phantom game.")],
    iterations: Annotated[
        int, typer.Option(help="Iterations in total, including those of a saved policy that is resumed.")
    ] = 10_000,
    target: Annotated[
        float, typer.Option(min=0, help="Stop when the exploitability is at most this; 0: after all iterations.")
    ] = 0.0,
    method: Annotated[
        str | None,
        typer.Option(
            help="Regret minimisation: cfr, cfr+, dcfr, pcfr+ or sapcfr+. Sampling: external or outcome. "
            "Exact, by linear programming: lp. By default cfr+, or sapcfr+ where the tree is too large to be held; "
            "resuming goes on with the method of before.",
        ),
    ] = None,
    save: Annotated[
        Path | None, typer.Option(help="File that keeps the policy; run the command again to resume.")
    ] = None,
    memory: Annotated[float, typer.Option(help="GiB that the game tree may take.")] = 4.0,
    device: Annotated[
        str | None,
        typer.Option(help="Solve on a device of PyTorch: cuda, cuda:1 or cpu. Without it: compiled code."),
    ] = None,
    prepare: Annotated[
        Path | None,
        typer.Option(
            help="Write the game's form to this file and stop; python -m foglight.solving.tensors FILE solves it where "
            "there is PyTorch alone."
        ),
    ] = None,
    show_: Annotated[
        bool, typer.Option("--show", help="Print what the policy plays at every information state.")
    ] = False,
    seed: Seed = 0,
    json_: Json = False,
) -> None:
    """Approximate an equilibrium of a small game, and print its exploitability."""
    from foglight.solving.factored.form import FactoredForm
    from foglight.solving.solver import form_of
    from foglight.solving.whole.solved import value_fact

    if seed < 0:
        raise BadInput(f"seed must be at least 0, not {seed}")
    if save is not None and not save.parent.is_dir():
        raise BadInput(f"cannot write {save}: there is no folder {save.parent}; make it, or choose another file")
    if device is not None:
        from foglight.solving.tensors.device import check_device

        check_device(device)  # before minutes are spent on the form
    begin = time.perf_counter()
    form = form_of(game, memory)
    tree_seconds = time.perf_counter() - begin
    if prepare is not None:
        from foglight.solving.tensors.plain import plain_form

        plain_form(form).save(prepare)
        typer.echo(f"to solve it: python -m foglight.solving.tensors {prepare} --device cuda --save FILE")
        return
    try:
        with progress_bar("iterations") as progress:
            report = progress if err.is_terminal else None
            policy = fl.solve(
                game, iterations, method, target=target, checkpoint=save, seed=seed, memory=memory, device=device,
                progress=report,
            )  # fmt: skip
    except KeyboardInterrupt:
        if save is not None and save.exists():
            fail(f"stopped; what was done is in {save}, but for the last seconds, and the same command goes on", 130)
        fail("stopped; nothing is kept yet" if save else "stopped; --save FILE would keep what is done", 130)
    seconds = time.perf_counter() - begin
    nodes = None if isinstance(form, FactoredForm) else form.tree.num_nodes
    table = policy.table(limit=form.num_states, memory=memory) if show_ else None
    if json_:
        facts = {"game": policy.game, "method": policy.method, "iterations": policy.iterations}
        facts |= {"value": policy.value, "exploitability": policy.exploitability, "interval": policy.interval}
        facts |= {"proved": policy.proved} if policy.proved else {}
        facts |= {"seconds": seconds, "tree_seconds": tree_seconds, "saved": str(save) if save else None}
        facts |= {"nodes": nodes, "information_states": form.num_states}
        typer.echo(json.dumps(facts | ({"table": table.rows} if table else {}), indent=2))
        return
    if table:
        show(table.lines())
        typer.echo()
    states = f"{form.num_states:,} information states"
    rows = {
        "value to seat 0": f"{policy.value:.9g}",
        **value_fact(policy),
        "exploitability": f"{policy.exploitability:.3g}",
        "time": f"{seconds:.3g} s, {tree_seconds:.3g} s of it for the {'form' if nodes is None else 'tree'}",
        "method": "linear programming, exact"
        if policy.method == "lp"
        else f"{policy.method}, {policy.iterations:,} iterations",
        "size": f"{states} up to symmetry, in the factored form" if nodes is None else f"{nodes:,} nodes, {states}",
    }
    show([{policy.game: name, "": text} for name, text in rows.items()])
    if policy.method != "lp" and policy.interval is None:
        typer.echo("\nnot a zero-sum game of two seats: nothing says that this comes close to an equilibrium")
    advice = f"to play it: foglight match --game '{policy.game}' 'policy(file={json.dumps(str(save))})' random"
    typer.echo(f"\n{advice}" if save else "\n--save FILE would keep it for the agent policy(file=FILE)")


Game = Annotated[str, typer.Argument(help="A game, such as 'dark_hex(rows=4,cols=4)'.")]
Moves = Annotated[list[str] | None, typer.Argument(help="All moves so far, outcomes of chance included.")]
FromStore = Annotated[Path | None, typer.Option(help="Take the moves from a game in this store.")]
Number = Annotated[int, typer.Option(help="Number of the game in the store, counted from 0.")]
After = Annotated[
    int | None, typer.Option(help="Actions of the stored game to play, outcomes of chance included; by default all.")
]


def _position(game: str, moves: list[str] | None, store: Path | None, number: int, after: int | None) -> Any:
    """The state after these moves, or after the first actions of a stored game."""
    from foglight.arena.store import stored_position

    state = fl.new_state(game)
    if store is not None:
        if moves:
            raise BadInput("give moves, or a game of a store with --store, not both")
        return stored_position(store, str(state.game), number, after)
    for move in moves or []:
        state.play(state.parse_action(move))
    return state


@app.command()
def belief(
    game: Game,
    moves: Moves = None,
    seat: Annotated[int, typer.Option(help="The seat whose belief is shown; -1: the public belief.")] = 0,
    store: FromStore = None,
    number: Number = 0,
    after: After = None,
    plot: Annotated[
        Path | None, typer.Option("--picture", "--plot", help="Draw the belief into this file, such as belief.svg.")
    ] = None,
    seed: Seed = 0,
    json_: Json = False,
) -> None:
    """Show what a seat has observed, and the probabilities of what is hidden from it."""
    state = _position(game, moves, store, number, after)
    found = fl.belief(state, seat, seed=seed)
    if plot is not None:
        found.draw(plot)
    if json_:
        typer.echo(json.dumps(found.summary(), indent=2))
        return
    out.print(Text.from_ansi(found.text(colour=out.is_terminal)), soft_wrap=True)


@app.command()
def draw(
    game: Game,
    moves: Moves = None,
    picture: Annotated[Path, typer.Option(help="The file to write; its name ends in .svg.")] = Path("game.svg"),
    seat: Annotated[int | None, typer.Option(help="Draw what this seat sees; by default the whole truth.")] = None,
    store: FromStore = None,
    number: Number = 0,
    after: After = None,
) -> None:
    """Draw a position into an SVG file: the whole truth, or what one seat sees."""
    state = _position(game, moves, store, number, after)
    state.draw(picture, seat)
    typer.echo(f"{picture} written")


@app.command()
def sparsity(
    game: Game,
    limit: Annotated[
        int, typer.Option(help="Worlds per depth up to which all public states are counted, not only sampled ones.")
    ] = 100_000,
    games: Annotated[int, typer.Option(help="Random games from which public states are sampled.")] = 10,
    seed: Seed = 0,
    json_: Json = False,
) -> None:
    """Count the histories per public state, by the number of public observations."""
    result = fl.public_state_sizes(game, limit, games, seed)
    if json_:
        typer.echo(json.dumps(result.summary(), indent=2))
        return
    rows = [(at, f"{at.largest:,}" if at.largest < 10**12 else f"{float(at.largest):.3g}") for at in result.sizes]
    show(
        [
            {"observations": at.t, "public states": at.states, "largest": largest, "mean": f"{at.mean:,.3g}"}
            for at, largest in rows
        ]
    )
    which = "all public states" if result.exact else f"public states that {games} random games went through"
    grow = f"until they peak, the largest look {result.growth}: about t to the power {result.degree:.2g}, "
    grow += f"or times {result.factor:.3g} with each observation"
    out.print(
        f"\n{which}; " + (grow if result.growth != "early" else "the largest come too early to tell how they grow")
    )
    if result.uncounted:
        out.print(f"{result.uncounted} public states have too many histories to be counted within the limit")


@app.command()
def analyse(
    game: Game,
    moves: Moves = None,
    seat: Annotated[int | None, typer.Option(help="The seat to move; another one is refused.")] = None,
    agent: Annotated[str, typer.Option(help="The agent that is asked, such as 'epimc(time=0.1)'.")] = "epimc",
    store: FromStore = None,
    number: Number = 0,
    after: After = None,
    seed: Seed = 0,
    json_: Json = False,
) -> None:
    """Ask an agent what it would play at a position, and why; it gets only the observations of the seat to move."""
    state = _position(game, moves, store, number, after)
    if seat not in (None, state.player) and state.player >= 0:
        raise BadInput(f"seat {state.player} is to move here, not {seat}; leave --seat out, or give other moves")
    thought = fl.analyse(state, agent, seed)
    typer.echo(json.dumps(thought.summary(), indent=2) if json_ else thought)


@app.command()
def review(
    game: Game,
    moves: Moves = None,
    seat: Annotated[int, typer.Option(help="The seat whose decisions are looked back on.")] = 0,
    agent: Annotated[str, typer.Option(help="The agent that judges.")] = "epimc(time=0.3)",
    margin: Annotated[
        float, typer.Option(help="Differences up to this share of the range of payoffs do not count.")
    ] = 0.05,
    store: FromStore = None,
    number: Number = 0,
    seed: Seed = 0,
    json_: Json = False,
) -> None:
    """Look back on a game with a verdict on each decision of a seat.

    Was the move forced or good, the decision wrong, the belief misled, or the luck bad? The agent that judges knows
    what the seat knew.
    """
    state = _position(game, moves, store, number, None)
    with progress_bar("decisions") as progress:
        found = fl.review(state, seat=seat, agent=agent, margin=margin, seed=seed, progress=progress)
    typer.echo(json.dumps(found.summary(), indent=2) if json_ else found)
