"""A minute with foglight: a match, its result, and one game through the eyes of one player. `make demo` runs it."""

import random

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

import foglight as fl

GAME = "dark_hex(rows=4,cols=4)"
AGENTS = ["random", "first_legal"]
console = Console(highlight=False)


def main() -> None:
    console.print(f"[bold]foglight {fl.__version__}[/bold]: games in which players cannot see everything\n")
    console.print(f"{' against '.join(AGENTS)} in {GAME}:")
    columns = [BarColumn(), MofNCompleteColumn(), TextColumn("games"), TimeElapsedColumn()]
    with Progress(*columns, console=console, auto_refresh=False) as bar:
        task = bar.add_task("games", total=None)
        result = fl.play_match(
            GAME,
            AGENTS,
            games=2000,
            seed=1,
            workers=2,
            progress=lambda done, total: bar.update(task, completed=done, total=total, refresh=True),
        )
    for agent, name in enumerate(result.agents):
        low, high = result.interval(agent)
        console.print(f"{name:>12} wins {result.win_rate(agent):.1%} (95 % interval {low:.1%} to {high:.1%})")
    show_a_position()
    console.print("\nNext: foglight play dark_hex, foglight games, foglight match --help")


def show_a_position() -> None:
    """Eleven tries into a random game: what o knows, and what is there."""
    rng = random.Random(13)
    state = fl.new_state(GAME)
    for _ in range(11):
        state.play(rng.choice(state.actions()))
    console.print("\nA game in progress, as [bold]o[/bold] sees it:", end="\n\n")
    console.print(state.information(1), markup=False)
    console.print("\nand what is really there:\n")
    console.print(str(state), markup=False)


if __name__ == "__main__":
    main()
