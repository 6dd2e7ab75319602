"""Workers that are spawned, as on Windows and macOS: the results are those of forked ones, or one line says why not."""

import io
import multiprocessing
import os
import subprocess
import sys

import pytest
from test_pieces import died_and_done

import foglight as fl
from foglight import processes
from foglight.blind_chess import uci
from foglight.names import BadInput
from foglight.pieces import Lot, opened
from foglight.processes import start_method

BOTS = """
from dataclasses import dataclass
import foglight as fl


@dataclass
class Moody(fl.Agent):
    mood: int = 0

    def act(self, actions=None):
        return actions[(int(self.random()[0]) >> 3) % len(actions) - self.mood]
"""


@pytest.fixture
def spawning(monkeypatch):
    monkeypatch.setenv("FOGLIGHT_START", "spawn")


@pytest.fixture
def bots(tmp_path, monkeypatch):
    (tmp_path / "spawned_bots.py").write_text(BOTS)
    monkeypatch.syspath_prepend(tmp_path)
    import spawned_bots

    yield spawned_bots
    del sys.modules["spawned_bots"]


def test_how_workers_start(monkeypatch):
    monkeypatch.delenv("FOGLIGHT_START", raising=False)
    for platform, ways, wanted, fresh, started in (
        ("linux", ["fork", "spawn"], "", False, "fork"),
        ("linux", ["fork", "spawn"], "", True, "spawn"),
        ("linux", ["fork", "spawn"], "spawn", False, "spawn"),
        ("linux", ["fork", "spawn"], "fork", True, "spawn"),  # threads of PyTorch would not survive
        ("darwin", ["spawn", "fork"], "", False, "spawn"),
        ("darwin", ["spawn", "fork"], "fork", False, "fork"),
        ("win32", ["spawn"], "", False, "spawn"),
    ):
        monkeypatch.setattr(processes.sys, "platform", platform)
        monkeypatch.setattr(multiprocessing, "get_all_start_methods", lambda ways=ways: ways)
        monkeypatch.setenv("FOGLIGHT_START", wanted)
        assert start_method(fresh) == started
    monkeypatch.setenv("FOGLIGHT_START", "fork")
    with pytest.raises(BadInput, match=r"^this system cannot fork; leave FOGLIGHT_START out$"):
        start_method()
    monkeypatch.setenv("FOGLIGHT_START", "clone")
    with pytest.raises(BadInput, match=r"^FOGLIGHT_START must be fork or spawn, not 'clone'$"):
        start_method()


def test_a_match_of_own_agents_is_the_same_forked_and_spawned(bots, monkeypatch):
    found = []
    for way in ("fork", "spawn"):
        monkeypatch.setenv("FOGLIGHT_START", way)
        for agents in (["spawned_bots:Moody(mood=1)", "random"], [bots.Moody, bots.Moody(mood=1)]):
            found.append(fl.play_match("kuhn_poker", agents, games=60, seed=2, workers=2).records)
    assert found[0] == found[2] and found[1] == found[3] and found[0] != found[1]
    assert found[0] == fl.play_match("kuhn_poker", ["spawned_bots:Moody(mood=1)", "random"], games=60, seed=2).records


@pytest.mark.skipif(os.name == "nt", reason="kills by signal")
def test_spawned_workers_that_are_killed_are_replaced(spawning, tmp_path):
    with opened(2) as place:
        assert place._context.get_start_method() == "spawn"
        assert died_and_done(place, tmp_path, 24) == 3


def test_data_sets_and_studies_are_made_by_spawned_workers(tmp_path, monkeypatch, run):
    digests = set()
    for way in ("fork", "spawn"):
        monkeypatch.setenv("FOGLIGHT_START", way)
        request = fl.DatasetRequest("kuhn_poker", depth=3, strategies=8, per_shard=4)
        digests.add(fl.generate_dataset(request, tmp_path / way, workers=2).digest)
    assert len(digests) == 1
    (tmp_path / "squares.py").write_text(
        "def cells(quick, seed):\n    return {str(n): {'n': n} for n in range(4)}\n\n"
        "def work(n):\n    return {'square': n * n}\n\n"
        "def table(results):\n    return ' '.join(str(r['square']) for r in results.values())\n\n"
        "def draw(results, path):\n    path.write_bytes(b'')\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    code, out, err = run("study", "run", "squares", "--workers", "2", "--folder", str(tmp_path / "runs"))
    assert (code, out.split()[:4]) == (0, ["0", "1", "4", "9"]), err


SCRIPT = """
import foglight as fl

class Mine(fl.Agent):
    def act(self, actions=None):
        return actions[0]

"""
PLAYS = 'print(fl.play_match("kuhn_poker", [Mine, "random"], games=20, workers=2).games)\n'


def spawned(*words, typed=""):
    """What a Python prints that runs a script of somebody's, with spawned workers."""
    environment = os.environ | {"FOGLIGHT_START": "spawn"}
    done = subprocess.run([sys.executable, *words], input=typed, capture_output=True, text=True, env=environment)
    return done.stdout.strip(), done.stderr.strip().splitlines()


def test_a_class_of_a_script_plays_if_the_script_is_guarded(tmp_path):
    (tmp_path / "good.py").write_text(f'{SCRIPT}if __name__ == "__main__":\n    {PLAYS}')
    (tmp_path / "bad.py").write_text(SCRIPT + PLAYS)
    assert spawned(str(tmp_path / "good.py"))[0] == "20"
    out, lines = spawned(str(tmp_path / "bad.py"))
    assert out == "" and "worker processes import your script again" in lines[-1]
    assert sum("Traceback" in line for line in lines) == 1  # of the caller; workers say nothing


def test_a_class_defined_at_a_prompt_is_refused_in_a_line():
    out, lines = spawned("-", typed=SCRIPT + PLAYS)
    assert out == "" and "a worker process cannot find what it needs (" in lines[-1]
    assert lines[-1].endswith("give its address, package.module:Class, or use one worker")


def test_an_agent_that_holds_a_lambda_is_refused_in_a_line(spawning, bots):
    agent = bots.Moody()
    agent.whim = lambda: 0
    with pytest.raises(BadInput, match=r"cannot be sent to worker processes .* use one worker"):
        fl.play_match("kuhn_poker", [agent, "random"], games=20, workers=2)


def test_a_piece_that_a_worker_cannot_find_is_refused_in_a_line(spawning):
    class Hidden(io.StringIO):
        pass

    Hidden.__qualname__, Hidden.__module__ = "Hidden", __name__
    globals()["Hidden"] = Hidden  # known here, but not where this module is imported anew
    try:
        with (
            pytest.raises(BadInput, match=r"^a worker process cannot find what it needs \(.*Hidden"),
            opened(2) as place,
        ):
            list(place.run(_shown, [Lot(Hidden, range(3))]))
    finally:
        del globals()["Hidden"]


def _shown():
    from contextlib import nullcontext

    return nullcontext(lambda common, piece: (common, piece))


# Other differences between systems ------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["good", "hangs", "dies"])
def test_engines_are_read_where_one_cannot_wait_for_a_pipe(misbehaving, patience, monkeypatch, how):
    monkeypatch.setattr(uci, "_SELECTS", False)
    rows = fl.new_state("dark_chess").world[None, :5].copy()
    with uci.Engine(misbehaving(how), patience=patience, remembered=0) as engine:
        values = [engine.evaluate(rows).tolist() for _ in range(4)]
        assert values == [[17.0]] * 4 and engine.restarts == (how != "good")


def test_a_table_is_printed_where_its_signs_cannot_be(tmp_path):
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    command = [
        sys.executable,
        "-m",
        "foglight",
        "match",
        "random",
        "first_legal",
        "--game",
        "kuhn_poker",
        "--games",
        "4",
    ]
    done = subprocess.run(command, env=environment, capture_output=True)
    assert done.returncode == 0 and b"first_legal" in done.stdout and b"?" in done.stdout
