"""A minute with foglight: a match, a position from one player's eyes, and why it was played on as it was.

`make demo` runs it. All of it is the command line, shown as it would be typed.
"""

import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

import foglight as fl

GAME = "dark_hex(rows=4,cols=4)"
EPIMC, PIMC = "epimc(iterations=20000)", "pimc(iterations=200)"
TRIES = 6  # before the position that is shown; both try, and some tries fail


def main() -> None:
    say(f"foglight {fl.__version__}: games in which players cannot see everything.")
    say(
        "Dark Hex: connect your two sides; you do not see the other's stones until you run into one.\n"
        "EPIMC reasons on what players know, PIMC as if all stones lay open. 100 to 1 is a budget ratio of the paper's."
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
    """How many tries into the first game seat 0, EPIMC's, is to move, after TRIES or a little before."""
    from foglight.arena.store import stored_position

    state, found = fl.new_state(GAME), 0
    for done, action in enumerate(stored_position(store, str(state.game), 0).history()):
        if state.player == 0 and done <= TRIES:
            found = done
        state.play(action)
    return found


def run(*arguments: str) -> None:
    """Show a command, and run it."""
    say(f"$ foglight {shlex.join(arguments)}\n")
    subprocess.run([sys.executable, "-m", "foglight", *arguments], check=True)


def say(text: str) -> None:
    sys.stdout.write(f"\n{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
