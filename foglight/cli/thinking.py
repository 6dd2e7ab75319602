"""Commands that look into a game: solve, belief, sparsity, analyse."""

import json
import time
from pathlib import Path
from typing import Annotated, Any

import typer

import foglight as fl
from foglight.cli._app import Json, Seed, app, bar, err, fail, out, show
from foglight.names import BadInput, parse_spec


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
    from foglight.solving.whole.solver import sequence_form

    if seed < 0:
        raise BadInput(f"seed must be at least 0, not {seed}")
    if save is not None and not save.parent.is_dir():
        raise BadInput(f"cannot write {save}: there is no folder {save.parent}; make it, or choose another file")
    begin = time.perf_counter()
    sequences = sequence_form(game, memory)
    tree_seconds = time.perf_counter() - begin
    try:
        with bar("iterations") as progress:
            told = progress if err.is_terminal else None
            policy = fl.solve(game, iterations, method, checkpoint=save, seed=seed, memory=memory, progress=told)
    except KeyboardInterrupt:
        if save is not None and save.exists():
            fail(f"stopped; what was done is in {save}, but for the last seconds, and the same command goes on", 130)
        fail("stopped; nothing is kept yet" if save else "stopped; --save FILE would keep what is done", 130)
    seconds, nodes = time.perf_counter() - begin, sequences.tree.num_nodes
    if json_:
        facts = {"game": policy.game, "method": policy.method, "iterations": policy.iterations}
        facts |= {"value": policy.value, "exploitability": policy.exploitability}
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
    show([{policy.game: name, "": text} for name, text in rows.items()])
    if sequences.tree.num_seats != 2 or abs(sequences.tree.payoffs.sum(1)).max(initial=0.0) > 1e-9:
        typer.echo("\nnot a zero-sum game of two seats: nothing says that this comes close to an equilibrium")
    advice = f"to play it: foglight match --game '{policy.game}' 'policy(file={json.dumps(str(save))})' random"
    typer.echo(f"\n{advice}" if save else "\n--save FILE would keep it for the agent policy(file=FILE)")


Game = Annotated[str, typer.Argument(help="Such as 'dark_hex(rows=4,cols=4)'.")]
Moves = Annotated[list[str] | None, typer.Argument(help="What happened so far, chance included.")]
FromStore = Annotated[Path | None, typer.Option(help="Take a game from this store instead of moves.")]
Number = Annotated[int, typer.Option(help="Which game of the store.")]
After = Annotated[int | None, typer.Option(help="How many actions into that game.")]


def _position(game: str, moves: list[str] | None, store: Path | None, number: int, after: int | None) -> Any:
    """The state after these moves, or inside a stored game."""
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
    seat: Annotated[int, typer.Option(help="Whose eyes to look through; -1 for what is public.")] = 0,
    store: FromStore = None,
    number: Number = 0,
    after: After = None,
    plot: Annotated[Path | None, typer.Option(help="Also draw it into this file.")] = None,
    seed: Seed = 0,
    json_: Json = False,
) -> None:
    """Show what a seat can know, and what may be hidden from it, how likely."""
    from foglight.cli._belief import heat

    state = _position(game, moves, store, number, after)
    if not -1 <= seat < state.num_players:
        raise BadInput(f"{state.game} has seats 0 to {state.num_players - 1}, not {seat}")
    mover = seat if state.player == seat else None
    filtered = fl.history_filter(state.game, state.observations(seat), seat, mover=mover)
    found = filtered.belief(seed=seed)
    if plot is not None:
        title = f"what seat {seat} may think" if seat >= 0 else "the public view"
        found.draw(plot, f"{state.game}: {title}")
    if json_:
        typer.echo(json.dumps({**found.summary(), **_counts(filtered)}, indent=2))
        return
    out.print(state.information(seat))
    kind = "all" if found.exact else "a sample of"
    what = "deals" if found.exact and filtered.method == "deals" else "worlds"
    out.print(f"\n{kind} {found.worlds} {what} that agree with this, every history alike:\n")
    out.print(heat(found))


def _counts(filtered: Any) -> dict[str, int | None]:
    """How many histories there are, and in a card game how many deals; None where that cannot be counted."""
    counts: dict[str, int | None] = {}
    for name, ask in (("histories", filtered.count), ("deals", filtered.deals)):
        try:
            counts[name] = ask()
        except BadInput:
            counts[name] = None
    return counts


@app.command()
def sparsity(
    game: Game,
    limit: Annotated[int, typer.Option(help="Worlds held at a time; with more, random games are looked at.")] = 100_000,
    games: Annotated[int, typer.Option(help="How many random games.")] = 10,
    seed: Seed = 0,
    json_: Json = False,
) -> None:
    """Tell how many histories public states have, by the number of public observations."""
    found = fl.public_state_sizes(game, limit, games, seed)
    if json_:
        typer.echo(json.dumps(found.summary(), indent=2))
        return
    rows = [(at, f"{at.largest:,}" if at.largest < 10**12 else f"{float(at.largest):.3g}") for at in found.sizes]
    show(
        [
            {"observations": at.t, "public states": at.states, "largest": largest, "mean": f"{at.mean:,.3g}"}
            for at, largest in rows
        ]
    )
    which = "all public states" if found.exact else f"public states that {games} random games went through"
    grow = f"until they peak, the largest look {found.growth}: about t to the power {found.degree:.2g}, "
    grow += f"or times {found.factor:.3g} with each observation"
    out.print(
        f"\n{which}; " + (grow if found.growth != "early" else "the largest come too early to tell how they grow")
    )
    if found.uncounted:
        out.print(f"{found.uncounted} public states have too many histories to be counted within the limit")


@app.command()
def analyse(
    game: Game,
    moves: Moves = None,
    seat: Annotated[int | None, typer.Option(help="Whose eyes to look through; who is to move, if not given.")] = None,
    agent: Annotated[str, typer.Option(help="Who is asked.")] = "epimc",
    store: FromStore = None,
    number: Number = 0,
    after: After = None,
    seed: Seed = 0,
    json_: Json = False,
) -> None:
    """Ask an agent what it would play at a position, knowing what the seat knows, and why."""
    from foglight.agents import Seat, agent_class
    from foglight.cli._explaining import account, tell

    if seed < 0:
        raise BadInput(f"seed must be at least 0, not {seed}")
    if not agent_class(parse_spec(agent).name).gives_reasons:
        raise BadInput(f"{agent} does not say why it plays what it plays; ask one that searches, such as epimc")
    state = _position(game, moves, store, number, after)
    if state.player < 0:
        what = "the game is over" if not state.actions() else "chance is to move; add its outcome to the moves"
        raise BadInput(f"nobody decides here: {what}")
    if seat not in (None, state.player):
        raise BadInput(f"seat {state.player} is to move here, not {seat}; leave --seat out, or give other moves")
    with fl.load_agent(agent) as loaded:
        Seat(loaded, state.game, state.player, seed, state.observations(state.player))
        if loaded.time:
            loaded.act(state.actions())  # compiles and loads, so that the clock measures thinking
        loaded.act(state.actions())
        facts = account(loaded, state.choices())
    if json_:
        known = {"game": str(state.game), "seat": state.player, "agent": agent}
        typer.echo(json.dumps({**known, **facts}, indent=2))
        return
    out.print(f"{state.information(state.player)}\n\n{agent} on seat {state.player} plays {facts['action']}:\n")
    tell(facts)
