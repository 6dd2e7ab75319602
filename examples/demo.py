"""A minute with foglight: a match, the belief of one player at a position, and the explanation of its move.

`make demo` runs it. It prints each command as it would be typed, and runs it.
"""

import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

import foglight as fl

GAME = "dark_hex(rows=4,cols=4)"
EPIMC, PIMC = "epimc(iterations=20000)", "pimc(iterations=200)"
TRIES = 6  # actions before the position that is shown, at most; an action tries a cell, which may be taken


def main() -> None:
    say(f"foglight {fl.__version__}: games in which players cannot see everything.")
    say(
        "Dark Hex: connect your two sides; you do not see the other's stones until you run into one.\n"
        "EPIMC reasons on what players know, PIMC as if all stones lay open. EPIMC gets 100 times the budget of PIMC,\n"
        "one of the ratios in the paper."
    )
    with tempfile.TemporaryDirectory(prefix="foglight-") as folder:
        store = Path(folder) / "games.sqlite"
        run("match", EPIMC, PIMC, "--game", GAME, "--games", "100", "--workers", "2", "--store", str(store))
        here = ("--store", str(store), "--after", str(after := position(store)))
        say(f"The first game after {after} tries, as EPIMC sees it, and where the other's stones may be:")
        run("belief", GAME, *here)
        say("What it plays there, and why:")
        run("analyse", GAME, *here, "--agent", EPIMC)
    say("Next: foglight play dark_hex --vs epimc --explain, foglight tournament --help, docs/search.md")


def position(store: Path) -> int:
    """The last number of actions, at most TRIES, after which seat 0, EPIMC's, is to move in the first game."""
    from foglight.arena.store import stored_position

    state, last = fl.new_state(GAME), 0
    for done, action in enumerate(stored_position(store, str(state.game), 0).history()):
        if state.player == 0 and done <= TRIES:
            last = done
        state.play(action)
    return last


def run(*arguments: str) -> None:
    """Print a command, and run it."""
    say(f"$ foglight {shlex.join(arguments)}\n")
    subprocess.run([sys.executable, "-m", "foglight", *arguments], check=True)


def say(text: str) -> None:
    sys.stdout.write(f"\n{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
