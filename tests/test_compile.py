"""Kernels compile once, are found again by other processes, and are never stale."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import foglight as fl
from foglight.compile import fingerprint, implements, is_compiled, jitable, kernel, snake_case

PACKAGE = Path(fl.__file__).parent

# Whether a fresh process finds the kernel of random games compiled, and, unless it only looks, what these games bring.
PROBE = """
import json, sys
import numpy as np
from foglight import compile
from foglight.games import load_game
from foglight.playouts import _playouts
from foglight.randomness import generator
from foglight.rules import new_worlds

class Stale(Exception):
    pass

def look(cache, signature, target):
    raise Stale(not cache._path(signature, target.codegen()).exists())

report, looked, played = {}, *(text.split() for text in sys.argv[1:])
load = compile._KernelCache.load_overload
for name in (*played, *looked):
    compile._KernelCache.load_overload = look if name in looked else load
    game, totals, misses = load_game(name), np.zeros(2), _playouts.dispatcher.stats.cache_misses
    before = misses.total()
    try:
        steps = _playouts(game, new_worlds(game, 1)[0], 2000, generator(7), totals)
        report[name] = [misses.total() > before, *totals.tolist(), steps]
    except Stale as stale:
        report[name] = [*stale.args]
print(json.dumps(report))
"""


class Copy:
    """A copy of the package that may be edited, with a kernel cache of its own."""

    def __init__(self, folder):
        self.folder = folder
        self.package = folder / "foglight"
        shutil.copytree(PACKAGE, self.package, ignore=shutil.ignore_patterns("__pycache__"))

    def edit(self, file, old, new):
        path = self.package / file
        source = path.read_text()
        assert source.count(old) == 1, f"{file} should hold this once: {old}"
        path.write_text(source.replace(old, new))

    def run(self, program, *arguments, **environment):
        return subprocess.run(
            [sys.executable, "-c", program, *arguments],
            cwd=self.folder,
            env={
                **os.environ,
                "PYTHONPATH": str(self.folder),
                "FOGLIGHT_CACHE": str(self.folder / "cache"),
                **environment,
            },
            capture_output=True,
            text=True,
            check=True,
        )

    def probe(self, look="", play=""):
        """The games whose kernel was stale or missing, and, of those played, mean returns and steps."""
        report = json.loads(self.run(PROBE, look, play).stdout)
        return {name for name, row in report.items() if row[0]}, {name: report[name][1:] for name in play.split()}

    def cached(self):
        return sorted(path.name for path in (self.folder / "cache" / "kernels").iterdir())


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    return Copy(tmp_path_factory.mktemp("copy"))


GAMES = "kuhn_poker phantom_ttt dark_hex"


def test_the_cache_hits_across_processes_and_is_never_stale(copy):
    shutil.rmtree(copy.folder / "cache", ignore_errors=True)  # another test may have come first
    compiled, first = copy.probe(play=GAMES)
    assert compiled == set(GAMES.split())
    compiled, again = copy.probe(play=GAMES)
    assert compiled == set(), "a second process must load what the first one compiled"
    assert again == first
    files = copy.cached()

    # a rule of one game: that game alone has to be compiled again
    copy.edit("games/kuhn_poker.py", "winner, stake = higher, 2.0 if", "winner, stake = higher, 7.0 if")
    assert copy.probe(look=GAMES)[0] == {"kuhn_poker"}
    # a helper in another file, called by one game only
    copy.edit("bits.py", "sums *= uint64(0x0101010101010101)", "sums = sums * uint64(0x0101010101010101)")
    assert copy.probe(look=GAMES)[0] == {"kuhn_poker", "dark_hex"}, "only dark_hex picks cells with bits.nth"
    # a table that a rule reads
    copy.edit("games/phantom_ttt.py", "_LINES = (0o007, 0o070,", "_LINES = (0o007,")
    compiled, after = copy.probe(play=GAMES)
    assert compiled == set(GAMES.split())
    # the new rule and the new table are what runs; the helper is the same written otherwise
    assert after["kuhn_poker"] != first["kuhn_poker"] and after["phantom_ttt"] != first["phantom_ttt"]
    assert after["dark_hex"] == first["dark_hex"]

    # words for people, comments and docstrings are no part of the machine code
    copy.edit("games/dark_hex.py", 'top to bottom" if', 'up and down" if')
    copy.edit("games/kuhn_poker.py", "# the seat that made the last action folded", "# it folded")
    copy.edit("bits.py", '"""The set that holds i alone."""', '"""{i}."""')
    assert copy.probe(look=GAMES)[0] == set()

    # what all of them call
    copy.edit(
        "randomness.py", "_GAMMA, _FIRST, _SECOND = 0x9E3779B97F4A7C15", "_GAMMA, _FIRST, _SECOND = 0x9E3779B97F4A7C17"
    )
    compiled, after_common = copy.probe(look="phantom_ttt dark_hex", play="kuhn_poker")
    assert compiled == set(GAMES.split())
    assert after_common["kuhn_poker"] != after["kuhn_poker"]

    assert len(copy.cached()) == len(files), "outdated kernels are removed"


def test_a_torn_or_missing_cache_file_costs_time_only(copy):
    before = copy.probe(play="kuhn_poker")[1]
    for path in (copy.folder / "cache" / "kernels").iterdir():
        path.write_bytes(path.read_bytes()[:100])
    assert copy.probe(play="kuhn_poker") == ({"kuhn_poker"}, before)


def test_a_cache_that_cannot_be_written_costs_time_only(copy):
    blocked = copy.folder / "a_file"
    blocked.write_text("not a folder")
    done = copy.run("import foglight as fl; print(fl.new_state('kuhn_poker').player)", FOGLIGHT_CACHE=str(blocked))
    assert done.stdout == f"{fl.CHANCE}\n"


def test_the_person_sees_why_nothing_happens(copy):
    program = "import foglight.compile as c; c.PATIENCE = 0.01; import foglight as fl; fl.new_state('dark_hex')"
    fresh = str(copy.folder / "fresh")
    assert "compiling dark_hex, once" in copy.run(program, FOGLIGHT_CACHE=fresh).stderr
    assert copy.run(program, FOGLIGHT_CACHE=fresh).stderr == "", "loading takes no explanation"


def test_importing_foglight_is_light(copy):
    heavy = {"numba", "torch", "pyspiel", "matplotlib", "scipy"}
    loaded = copy.run("import sys, foglight; print(*sys.modules)").stdout.split()
    assert "foglight.state" in loaded and not heavy & set(loaded)


def test_compiled_and_interpreted_playouts_are_the_same():
    names = fl.game_names()
    compiled = [fl.random_playouts(name, 50, seed=3) for name in names]
    done = subprocess.run(
        [sys.executable, "-c", f"import foglight as fl; print([fl.random_playouts(n, 50, seed=3) for n in {names}])"],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == str(compiled) and len(names) > 10


# A game whose worlds are not rows of words: the same entry points run it interpreted


class Nim:
    """One heap; take one or two; who takes the last one wins. A world is a Python object."""

    def __init__(self, heap):
        self.heap = heap

    def __str__(self):
        return f"nim(heap={self.heap})"


class NimWorld:
    def __init__(self):
        self.taken, self.mover = 0, 0


def _register_nim():
    @implements(Nim)
    def num_players(game):
        return 2

    @implements(Nim)
    def num_actions(game):
        return 3

    @implements(Nim)
    def new_worlds(game, n):
        return [NimWorld() for _ in range(n)]

    @implements(Nim)
    def copy_world(game, target, source):
        target.taken, target.mover = source.taken, source.mover

    @implements(Nim)
    def record(game, world, viewer, observation):
        pass

    @implements(Nim)
    def player(game, world):
        return fl.TERMINAL if world.taken == game.heap else world.mover

    @implements(Nim)
    def legal(game, world, out):
        n = min(2, game.heap - world.taken)
        out[:n] = range(1, n + 1)
        return n

    @implements(Nim)
    def step(game, world, action):
        world.taken += int(action)
        world.mover = 1 - world.mover

    @implements(Nim)
    def observe(game, before, action, after, viewer):
        return int(action)

    @implements(Nim)
    def returns(game, world, out):
        out[1 - world.mover], out[world.mover] = 1.0, -1.0


_register_nim()


@pytest.mark.plain
def test_a_game_that_is_not_compiled_runs_through_the_same_entry_points():
    game = Nim(4)
    assert not is_compiled(game)
    state = fl.new_state(game)
    state.play(1)
    state.play(2)
    assert state.actions() == [1]
    state.play(1)
    assert (state.player, state.returns(), state.observations(0)) == (fl.TERMINAL, [1.0, -1.0], [1, 2, 1])
    # by hand: P(seat 0 wins) is w(4) with w(n) = 1 - (w(n-1) + w(n-2)) / 2, w(0) = 0, w(1) = 1: w(2) = 1/2, w(3) = 1/4,
    # w(4) = 5/8, so the mean return is 1/4; 20 000 games leave a standard error below 0.007, and 5 of them are allowed
    means, _ = fl.random_playouts(game, 20_000, seed=1)
    assert abs(means[0] - 0.25) < 0.035


@pytest.mark.plain
def test_registering_nonsense_advises():
    with pytest.raises(TypeError, match="there is no rule 'steps'; the rules are"):

        @implements(Nim)
        def steps(game, world, action):
            pass

    with pytest.raises(TypeError, match=r"rule 'step' takes \(game, world, action\), not \(game, action\)"):

        @implements(Nim)
        def step(game, action):
            pass


@pytest.mark.plain
def test_a_missing_rule_is_named():
    class Mute:
        pass

    @implements(Mute)
    def num_players(game):
        return 1

    with pytest.raises(NotImplementedError, match="Mute has no rule 'num_words'; every game needs one"):
        fl.new_state(Mute())


@pytest.mark.plain
def test_a_fingerprint_tells_apart_what_compiles_differently():
    @jitable
    def helper(world):
        return world[0] + 1

    def first(game, world):
        return helper(world)

    def other(game, world):
        return world[1]

    same_shape = {fingerprint(function, []) for function in (first, other, helper)}
    assert len(same_shape) == 3 and None not in same_shape


@pytest.mark.plain
def test_snake_case():
    assert [snake_case(name) for name in ("DarkHex", "PhantomTtt", "Rbc")] == ["dark_hex", "phantom_ttt", "rbc"]


def test_arrays_of_unequal_shapes_are_not_assigned():
    @kernel
    def assign(rows, row):
        rows[0] = row

    with pytest.raises(ValueError, match=r"shape"):
        assign(np.zeros((2, 3)), np.zeros(4))
