"""A small mutation tester: does some test notice if a line of an algorithm is wrong?

    make mutants FILE=foglight/solving/whole/regret.py [SAMPLE=60] [SEED=0]

The file's mutants (see `mutations`) are tried one after the other, in a copy of the project under `runs/mutants`, with
the tests that `REACH` names. Results are appended as they come, so that the same command goes on where it ended. A
killed mutant stays killed while the file is the same; a survivor is tried again when its tests have changed.

Numba is why this is not mutmut. A process that has Numba and pytest loaded is forked for each mutant, and gets kernels
of its own: links to those compiled from the unmutated source, so that what the mutant does not touch is not compiled
again, and what it compiles is thrown away. Tests that have killed mutants of lines near by go first. A test has a limit
of processor time, not of time on the clock, so that a busy machine kills nothing.

Mutants that no test could notice stand in `equivalent_mutants.toml`, each with the reason.
"""

import argparse
import contextlib
import hashlib
import importlib
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

from mutations import Mutant, mutants

ROOT = Path(__file__).parent.parent
RUNS = ROOT / "runs" / "mutants"
EQUIVALENT = Path(__file__).parent / "equivalent_mutants.toml"
MEMORY = 8 << 30  # bytes that a mutant may ask for
PATIENCE = 4.0  # seconds of processor time beyond what a test took before
NEAR = 10  # lines


class Reach(NamedTuple):
    """The tests that reach a file: short ones that should suffice, and whether kernels are compiled for them."""

    tests: Sequence[str]
    jit: bool = True
    without: Sequence[str] = ()  # too slow for what they add here
    sample: int = 60  # mutants to try, unless somebody asks for more; 0 for all


_SETS = [  # of test_sketches: searches of blind chess, which run compiled only
    f"tests/test_sketches.py::test_{name}"
    for name in (
        "settings_that_make_no_sense_are_refused", "exact_bounds_change_no_value",
        "checking_finds_no_wrong_bound_in_the_exact_mode", "checking_finds_wrong_bounds_where_little_must_be_shared",
        "the_report_counts_what_was_done",
    )
]  # fmt: skip

REACH = {
    "foglight/solving/whole/regret.py": Reach(["tests/test_regret.py"], jit=False, sample=0),
    "foglight/solving/whole/sequences.py": Reach(
        ["tests/test_sequences.py", "tests/test_solve.py::test_forgetful_information_states_are_refused"],
        jit=False,
        sample=0,
    ),
    "foglight/solving/depth_limited/trunk.py": Reach(["tests/test_depth_limited.py"], jit=False),
    "foglight/solving/depth_limited/resolving.py": Reach(["tests/test_depth_limited.py"], jit=False),
    "foglight/solving/particles/belief.py": Reach(["tests/test_particles_slowly.py"], jit=False),
    "foglight/arena/referee.py": Reach(["tests/test_referee.py"], jit=False),
    "foglight/arena/store.py": Reach(
        ["tests/test_store.py", "tests/test_arena.py::test_a_store_that_cannot_be_used_is_left_alone"]
    ),
    "foglight/search/sets/bound_cache.py": Reach(
        ["tests/test_bound_cache.py", "tests/test_sketches.py::test_the_threshold_says_how_much_must_be_shared"],
        jit=False,
    ),
    "foglight/search/sets/sketches.py": Reach(["tests/test_sketches.py"], jit=False, without=_SETS),
    "foglight/search/sets/search.py": Reach(["tests/test_set_search_plainly.py"], jit=False),
    "foglight/search/sets/expansion.py": Reach(["tests/test_set_search_plainly.py"], jit=False),
    "foglight/search/sets/frames.py": Reach(
        ["tests/test_set_frames.py", "tests/test_set_search_plainly.py"],
        jit=False,
        without=[
            f"tests/test_set_search_plainly.py::test_{name}"
            for name in (
                "values_are_what_the_recurrence_says",
                "every_bound_of_the_exact_mode_is_right_and_counted",
            )
        ],
    ),
    "foglight/search/trees/ismcts.py": Reach(
        [
            f"tests/test_ismcts.py::test_{name}"
            for name in (
                "the_tree_is_that_of_a_slow_search",
                "a_tree_that_moves_to_a_larger_room_is_the_same",
                "the_root_says_what_each_action_brought",
                "the_first_slot_of_a_table_is_as_good_as_any",
                "a_descent_remembers_so_many_actions_and_no_more",
                "worlds_are_taken_as_often_as_they_weigh",
                "worlds_whose_weights_do_not_quite_add_up_are_taken_all_the_same",
            )
        ],
        jit=False,
    ),
    "foglight/worlds/layers.py": Reach(
        [
            "tests/test_layers.py",
            *(
                f"tests/test_filter.py::test_{name}"
                for name in (
                    "all_five_problems_against_every_history[kuhn_poker]",
                    "contradictions",
                    "all_five_problems_against_every_history[goofspiel(cards=3)]",
                    "weights_are_reach_probabilities",
                    "the_mover_narrows_the_filter",
                    "counts_that_outgrow_machine_integers_stay_exact",
                    "a_bridged_game_is_filtered_like_a_native_one",
                )
            ),
        ],
        jit=False,
    ),
    "foglight/worlds/expansion.py": Reach(["tests/test_expansion.py"], jit=False),
    "foglight/worlds/regeneration.py": Reach(["tests/test_regeneration.py"], jit=False),
    "foglight/worlds/deals/ring_swap.py": Reach(
        [
            *(
                f"tests/test_chains.py::test_{name}"
                for name in (
                    "the_chains_own_code_is_in_detailed_balance",
                    "a_deal_of_a_matrix_is_drawn_uniformly",
                    "passes_that_are_known_stay_and_others_are_drawn",
                    "a_transition_does_not_depend_on_the_one_before",
                    "rings_are_drawn_as_long_as_coins_say_and_all_alike",
                    "a_ring_moves_each_card_to_the_next_position",
                )
            ),
            "tests/test_chain_runs.py",
            "tests/test_deals.py::test_the_neighbours_are_those_of_plain_python",
        ],
        jit=False,
        without=["tests/test_chain_runs.py::test_one_chain_settles_by_itself"],
        sample=0,
    ),
    "foglight/worlds/deals/chains.py": Reach(
        ["tests/test_chain_runs.py", "tests/test_diagnostics.py::test_r_hat_by_hand"], sample=0
    ),
    "foglight/worlds/deals/count.py": Reach(["tests/test_deal_count.py"], jit=False),
    "foglight/worlds/deals/puzzle.py": Reach(["tests/test_deal_puzzle.py"]),
    "foglight/worlds/deals/story.py": Reach(
        [
            "tests/test_deal_puzzle.py",
            "tests/test_card_games.py::test_weights_under_a_policy_are_those_of_layers",
            "tests/test_deals.py::test_contradictions_are_told",
            "tests/test_deals.py::test_any_observations_right_or_wrong_have_as_many_histories_as_the_layers_find",
        ]
    ),
    "foglight/search/paths/fusion.py": Reach(["tests/test_fusion.py"], jit=False),
    "foglight/search/trees/oos.py": Reach(["tests/test_oos_walks.py"], jit=False),
    "foglight/search/paths/information_set_search.py": Reach(
        ["tests/test_paths_plainly.py", "tests/test_epimc.py::test_information_set_search_by_hand"],
        jit=False,
        sample=0,
    ),
    "foglight/search/paths/steered.py": Reach(
        [
            "tests/test_paths_plainly.py",
            "tests/test_epimc.py::test_steered_states_are_left_to_chance_until_they_are_known",
        ],
        jit=False,
    ),
    "foglight/search/paths/sampling.py": Reach(["tests/test_paths_plainly.py"], jit=False),
    "foglight/tables.py": Reach(["tests/test_tables.py"], jit=False, sample=0),
    "foglight/search/paths/open_worlds.py": Reach(["tests/test_paths_plainly.py"], jit=False, sample=0),
}


class Outcome(NamedTuple):
    verdict: str  # killed, survived, or late: it ran out of time, which kills it too
    by: str  # the test
    seconds: float


class Laboratory:
    """A copy of the project in which one file is replaced by its mutants."""

    def __init__(self, root: Path, folder: Path, file: str, reach: Reach) -> None:
        self.folder, self.file, self.reach = folder, file, reach
        self.tree, self.primed = folder / "tree", folder / "kernels"
        self.source = (root / file).read_text(encoding="utf-8")
        self.usual: dict[str, float] = {}  # seconds of processor time by test
        self.kills: list[tuple[int, str]] = []  # line and test
        _copy(root, self.tree)
        self._write(self.source)
        self.primed.mkdir(parents=True, exist_ok=True)
        self.longest, self.patience = 0.0, PATIENCE

    def prepare(self) -> None:
        """Load what every run needs, compile the kernels, and see how long the tests take while nothing is wrong."""
        os.environ["NUMBA_DISABLE_JIT"] = "0" if self.reach.jit else "1"
        os.environ["PYTHONPATH"] = str(self.tree)
        os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
        _preload(self.reach.jit)
        for _ in range(2):  # the first compiles
            outcome, times = self._run(self.primed, [], None)
            if outcome.verdict != "survived":
                raise SystemExit(f"the tests fail without any mutant: {outcome.by}; see {self.folder / 'log.txt'}")
            self.longest = max(self.longest, *times.values())
            self.usual = times

    def verdict(self, mutant: Mutant) -> Outcome:
        kernels = self.folder / "overlay"
        shutil.rmtree(kernels, ignore_errors=True)
        shutil.copytree(self.primed, kernels, copy_function=os.link)
        self._write(mutant.applied(self.source))
        try:
            outcome, _ = self._run(kernels, self._order(mutant), self.longest + self.patience)
        finally:
            self._write(self.source)
        if outcome.by:
            self.kills.append((mutant.line, outcome.by))
        return outcome

    def _order(self, mutant: Mutant) -> list[str]:
        """Tests by the kills to expect in a second, if mutants of lines near by are any guide."""
        score = Counter(dict.fromkeys(self.usual, 0.02))
        for line, test in self.kills:
            score[test] += 1.0 / (1.0 + abs(line - mutant.line) / NEAR)
        return sorted(self.usual, key=lambda test: -score[test] / (0.3 + self.usual[test]))

    def _write(self, source: str) -> None:
        target = self.tree / self.file
        target.write_text(source, encoding="utf-8")
        for stale in (target.parent / "__pycache__").glob(f"{target.stem}.*"):
            stale.unlink()  # it is told apart by size and second only

    def _run(self, kernels: Path, order: list[str], allowance: float | None) -> tuple[Outcome, dict[str, float]]:
        """One run of the tests in a process of its own; without an allowance it may take as long as it likes."""
        notes = self.folder / "notes.jsonl"
        notes.write_text("")
        shutil.rmtree(self.folder / "temporary", ignore_errors=True)
        began = time.monotonic()
        child = os.fork()
        if child == 0:
            try:
                self._be_the_run(kernels, notes, order, allowance)
            finally:
                os._exit(70)
        wall = 3600.0 if allowance is None else 60.0 + 5.0 * (sum(self.usual.values()) + allowance)
        code, late = _wait(child, began + wall)
        seconds = time.monotonic() - began
        lines = [json.loads(line) for line in notes.read_text().splitlines() if line.endswith("}")]
        times = {line["done"]: line["seconds"] for line in lines if "done" in line}
        failed = next((line["failed"] for line in lines if "failed" in line), "")
        running = next((line["begun"] for line in reversed(lines) if "begun" in line), "") if code != 0 else ""
        late = late or code in (-signal.SIGPROF, -signal.SIGXCPU)
        if code == 0 and not failed:
            return Outcome("survived", "", seconds), times
        return Outcome("late" if late else "killed", failed or running or "collection", seconds), times

    def _be_the_run(self, kernels: Path, notes: Path, order: list[str], allowance: float | None) -> None:
        import pytest

        os.setsid()
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        signal.signal(signal.SIGPROF, signal.SIG_DFL)  # ends compiled code too, which runs no handler
        log = os.open(self.folder / "log.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        for stream in (1, 2):
            os.dup2(log, stream)
        os.chdir(self.tree)
        os.environ["FOGLIGHT_CACHE"] = str(kernels)
        sys.path[:] = [str(self.tree), *(p for p in sys.path if not p or not Path(p).is_relative_to(ROOT / "tests"))]
        sys.dont_write_bytecode = allowance is not None
        watcher = _Watcher(notes, order, self.usual, allowance)
        options = ["-x", "-q", "--tb=line", "--assert=plain", "-p", "no:cacheprovider", "-p", "no:xdist"]
        options += [f"--basetemp={self.folder / 'temporary'}", *(f"--deselect={test}" for test in self.reach.without)]
        os._exit(int(pytest.main([*options, *self.reach.tests], plugins=[watcher])))


class _Watcher:
    """A plugin of pytest: orders the tests, gives each its time, and notes what it does."""

    def __init__(self, notes: Path, order: list[str], usual: dict[str, float], allowance: float | None) -> None:
        self.notes, self.usual, self.allowance = notes, usual, allowance
        self.places = {test: i for i, test in enumerate(order)}
        self.began = 0.0

    def pytest_sessionstart(self) -> None:
        from hypothesis import HealthCheck, Phase, settings

        phases = (Phase.explicit, Phase.generate)  # a failing example need not be made smaller
        health = [HealthCheck.too_slow]
        settings.register_profile(
            "mutants", deadline=None, derandomize=True, phases=phases, suppress_health_check=health
        )
        settings.load_profile("mutants")

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        items.sort(key=lambda item: self.places.get(item.nodeid, len(self.places)))

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        if self.allowance is not None:
            signal.setitimer(signal.ITIMER_PROF, self.allowance + 3.0 * self.usual.get(nodeid, 0.0))
        self.began = time.process_time()
        self.note(begun=nodeid)

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            self.note(failed=report.nodeid)

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        self.note(done=nodeid, seconds=time.process_time() - self.began)

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            self.note(failed="collection")

    def note(self, **what: Any) -> None:
        with self.notes.open("a") as file:
            file.write(json.dumps(what) + "\n")


def _copy(root: Path, tree: Path) -> None:
    """Bring a copy of the project up to date; what is as it was keeps its time, and so its bytecode."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    names = subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout.split("\0")
    wanted = {name for name in names if name and (root / name).is_file()}
    for path in [p for p in tree.rglob("*.py") if str(p.relative_to(tree)) not in wanted]:
        path.unlink()
    for name in wanted:
        old, new = tree / name, root / name
        if not old.exists() or old.read_bytes() != new.read_bytes():
            old.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(new, old)


def _preload(jit: bool) -> None:
    """Import what takes long and holds nothing of the project."""
    for name in ("numpy", "scipy.sparse", "scipy.optimize", "scipy.stats", "pytest", "hypothesis", "typer", "rich"):
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    if jit:
        import numba
        import numpy as np

        @numba.njit
        def warm(array):
            total = 0.0
            for i in range(len(array)):
                total += max(array[i], 0.5)
            return total + np.empty(3).sum()

        warm(np.ones(3))


def _wait(child: int, until: float) -> tuple[int, bool]:
    """The exit code of a child that has its own process group, and whether it had to be ended; all of it is gone."""
    late = False
    pause = 0.002
    while (ended := os.waitpid(child, os.WNOHANG))[0] == 0:
        if time.monotonic() > until:
            late = True
            os.kill(child, signal.SIGKILL)
        time.sleep(pause)
        pause = min(0.05, 1.5 * pause)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGKILL)
    return os.waitstatus_to_exitcode(ended[1]), late


# The command ----------------------------------------------------------------------------------------------------


def sampled(file: str, source: str, sample: int, seed: int) -> list[Mutant]:
    """A sample of the mutants, all if it is 0; a larger sample holds the smaller ones of the same seed."""
    every = list(mutants(source))
    random.Random(f"{file} {seed}").shuffle(every)
    return every[: sample or len(every)]


def equivalent(file: str, source: str, wanted: Sequence[Mutant]) -> dict[Mutant, str]:
    """Those that are no mutants, with the reason: known by their line before and after, and perhaps the function."""
    found = {}
    for entry in tomllib.loads(EQUIVALENT.read_text(encoding="utf-8")).get(file, []):
        for mutant in wanted:
            before, after = mutant.lines(source)
            is_it = before == entry["line"] and after in entry["mutants"]
            if is_it and ("function" not in entry or entry["function"] == mutant.function(source)):
                found[mutant] = entry["reason"]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description="mutation testing of one file")
    parser.add_argument("file", choices=sorted(REACH), nargs="?")
    parser.add_argument("--sample", type=int, help="how many mutants; 0 for all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--table", action="store_true", help="only show what is known of all files")
    asked = parser.parse_args()
    if asked.table:
        for file in REACH:
            _say(next(report(file, REACH[file].sample, asked.seed)))
        return
    if asked.file is None:
        parser.error("name a file: make mutants FILE=foglight/solving/whole/regret.py")
    sample = REACH[asked.file].sample if asked.sample is None else asked.sample
    run(asked.file, sample, asked.seed)
    for line in report(asked.file, sample, asked.seed):
        _say(line)


def run(file: str, sample: int, seed: int) -> None:
    """Try what has not been tried."""
    source = (ROOT / file).read_text(encoding="utf-8")
    wanted = sampled(file, source, sample, seed)
    same = equivalent(file, source, wanted)
    wanted = [m for m in wanted if m not in same]
    known, tests = results(file), _tests_digest(REACH[file])
    wanted = [m for m in wanted if not _is_known(known.get(m.name), tests)]
    if not wanted:
        return
    folder = _folder(file)
    laboratory = Laboratory(ROOT, folder, file, REACH[file])
    laboratory.kills = [(line["line"], line["by"]) for line in known.values() if line["by"]]
    laboratory.prepare()
    usual = sum(laboratory.usual.values())
    _say(f"{file}: {len(wanted)} mutants to try; {len(laboratory.usual)} tests take {usual:.1f} s, kernels loaded")
    for i, mutant in enumerate(wanted):
        verdict, by, seconds = laboratory.verdict(mutant)
        line = {
            "source": _digest(source), "tests": tests, "mutant": mutant.name, "line": mutant.line, "verdict": verdict,
            "by": by, "seconds": round(seconds, 1), "date": date.today().isoformat(),
        }  # fmt: skip
        with (folder / "results.jsonl").open("a", encoding="utf-8") as log:
            log.write(json.dumps(line) + "\n")
        _say(f"{i + 1}/{len(wanted)} {verdict} {seconds:.1f} s {mutant.name}  {by.rpartition('::')[2]}")


def results(file: str) -> dict[str, dict[str, Any]]:
    """What is known of the mutants of the file as it is now, by mutant."""
    log, source = _folder(file) / "results.jsonl", _digest((ROOT / file).read_text(encoding="utf-8"))
    lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()] if log.exists() else []
    return {line["mutant"]: line for line in lines if line["source"] == source}


def report(file: str, sample: int, seed: int) -> Iterator[str]:
    """A row of the table in docs/testing.md, then the survivors."""
    source, known = (ROOT / file).read_text(encoding="utf-8"), results(file)
    wanted = sampled(file, source, sample, seed)
    same = equivalent(file, source, wanted)
    tried = [m for m in wanted if m not in same and m.name in known]
    alive = [m for m in tried if known[m.name]["verdict"] == "survived"]
    killed = len(tried) - len(alive)
    late = sum(known[m.name]["verdict"] == "late" for m in tried)
    day = max((known[m.name]["date"] for m in tried), default="")
    share = f"{killed / len(tried):.0%}" if tried else ""
    how_many = f"{len(wanted)} of {len(mutants(source))}"
    yield f"| `{file}` | {how_many} | {len(tried)} | {killed} ({late}) | {share} | {len(alive)} | {len(same)} | {day} |"
    for mutant in sorted(alive):
        before, after = mutant.lines(source)
        yield f"  line {mutant.line} in {mutant.function(source)}()\n    line = {before!r}\n    mutants = [{after!r}]"


def _is_known(line: dict[str, Any] | None, tests: str) -> bool:
    return line is not None and (line["verdict"] != "survived" or line["tests"] == tests)


def _tests_digest(reach: Reach) -> str:
    files = {test.partition("::")[0] for test in reach.tests} | {"tests/oracles.py", "tests/conftest.py"}
    return _digest(
        repr(reach._replace(sample=0)), *((ROOT / name).read_text(encoding="utf-8") for name in sorted(files))
    )


def _folder(file: str) -> Path:
    return RUNS / file.removesuffix(".py").replace("/", ".")


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[name] = "1"  # before numpy comes: a process that is forked has one thread
    main()
