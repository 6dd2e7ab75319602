"""Command lines, run in this process, in a folder of files, one of which nobody may replace."""

import builtins
import contextlib
import io
import random
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from foglight.cli import _app, main
from foglight.proofs.fuzz.changes import FINE, ODD, REFUSED, Input, changed
from foglight.proofs.fuzz.files import good_files
from foglight.proofs.fuzz.texts import texts

_COMMANDS = (
    "games", "games kuhn_poker", "games dark_hex(rows=3,cols=3) --json", "agents", "agents epimc --json",
    "play kuhn_poker --vs random --seat 1 --seed 3", "play dark_hex(rows=2,cols=2)", "play --resume saved.game",
    "play kuhn_poker --save precious.txt", "match random first_legal --game kuhn_poker --games 4 --seed 1 --json",
    "match random first_legal --game kuhn_poker --games 4 --store games.sqlite",
    "match random random --game leduc_poker --games 2 --store precious.txt",
    "tournament random first_legal --game kuhn_poker --games 2",
    "tournament random first_legal --game kuhn_poker --games 2 --anchor random --json",
    "export games.sqlite table.csv", "export precious.txt table.csv", "solve kuhn_poker --iterations 5",
    "solve kuhn_poker --iterations 5 --save p.npz --json", "solve unseen_rps --method lp --show",
    "belief kuhn_poker jack queen bet", "belief phantom_ttt b2 b2 a1 --seat 0",
    "belief battleship a1 c3 b2|right a1|down a1 --json", "belief kuhn_poker --store games.sqlite --number 2",
    "belief kuhn_poker jack queen --picture belief.svg", "draw phantom_ttt b2 --output p.svg",
    "draw kuhn_poker jack p.svg --seat 0", "analyse phantom_ttt b2 --agent pimc(iterations=4)",
    "analyse kuhn_poker jack queen --agent epimc(iterations=4) --json",
    "review kuhn_poker king queen bet call --seat 1", "sparsity kuhn_poker", "check-game kuhn_poker --games 1",
    "check-agent first_legal kuhn_poker --games 1", "study list", "study run nothing", "study plan filtering_sizes",
    "bench rollouts --game nothing", "rbc play --games x", "train nothing", "train-trunk nothing",
    "serve --port 99999", "nothing", "--help", "match --help", "",
)  # fmt: skip
# commands that take long or never end unless something about them is wrong; they keep the argument that is
_KEPT = {"study", "bench", "rbc", "train", "train-trunk", "serve"}


@contextlib.contextmanager
def commands() -> Iterator[Input]:
    """Command lines in a folder of files, one of which nobody may replace."""
    with tempfile.TemporaryDirectory() as folder:
        good = good_files(Path(folder))
        precious = Path(folder) / "precious.txt"

        def make(rng: random.Random) -> tuple[str, Callable[[], str]]:
            precious.write_text("years of work\n")
            for name in ("games.sqlite", "saved.game"):
                (Path(folder) / name).write_bytes(good[name])
            line = rng.choice(_COMMANDS).split()
            words = [word.replace("|", " ") for word in line]
            words = _other_words(words, rng) if words and words[0] not in _KEPT else words
            lines = ("bet", "a1", "help", "moves", "quit", "save x", "belief", "")
            typed = [_harmless(changed(rng.choice(lines), rng)) for _ in range(4)]

            def use() -> str:
                outcome = _run(words, typed, folder)
                if precious.read_text() != "years of work\n":
                    return "a file of somebody else was replaced"
                return outcome

            return " ".join(words), use

        yield make


def _other_words(words: list[str], rng: random.Random) -> list[str]:
    for _ in range(rng.choice((0, 1, 1, 2))):
        i, way = rng.randrange(len(words) + 1), rng.randrange(5)
        options = (
            "--json",
            "--seed",
            "--seat",
            "--game",
            "--games",
            "--workers",
            "--on",
            "--number",
            "--after",
            "-1",
            "3",
        )
        if way == 0:
            words = [*words[:i], rng.choice((*ODD, *options)), *words[i:]]
        elif way == 1:
            words = words[:i] + words[i + 1 :]
        elif words:
            i = min(i, len(words) - 1)
            words = [*words[:i], changed(words[i], rng, texts("games")), *words[i + 1 :]]
    return [_harmless(word) for word in words if not re.search("time|seconds|workers|--on|serve", word)]


def _harmless(word: str) -> str:
    """A word that asks for little work, and names no file outside of the folder."""
    return re.sub(r"\d{3,}", lambda number: number[0][:2], re.sub(r"[/~\x00]", "_", word))


def _run(words: list[str], typed: list[str], folder: str) -> str:
    """Run a command line in this process, with these lines typed."""
    answers, said, shown = iter(typed), io.StringIO(), io.StringIO()

    def answer(prompt: str = "") -> str:
        try:
            return next(answers)
        except StopIteration:
            raise EOFError from None

    with contextlib.ExitStack() as stack:
        for owner, name, value in (
            (builtins, "input", answer),
            (sys, "argv", ["foglight", *words]),
            (sys, "path", list(sys.path)),
            (_app.err, "_file", said),
            (_app.out, "_file", shown),
        ):
            stack.callback(setattr, owner, name, getattr(owner, name))
            setattr(owner, name, value)
        stack.enter_context(contextlib.redirect_stdout(shown))
        stack.enter_context(contextlib.redirect_stderr(said))
        stack.enter_context(contextlib.chdir(folder))
        try:
            main()
            code: Any = 0
        except SystemExit as exited:
            code = exited.code
    lines = [line for line in said.getvalue().splitlines() if line.strip() and not line.startswith("compiling ")]
    if code in (0, None):
        return FINE
    if code == 1 and (shown.getvalue() or len(lines) == 1):
        return FINE
    if code == 2 and len(lines) == 1:
        return REFUSED
    return f"exit code {code}, {len(lines)} lines: {' / '.join(lines)[:300]}"
