"""Property tests draw the same examples every time, and nothing here depends on the speed of the machine."""

import builtins
import os
import select
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import HealthCheck, settings

# What commands print does not depend on how somebody has set up a terminal or a server that runs the tests. Rich and
# Typer read this when they are imported.
for variable in ("COLUMNS", "FORCE_COLOR", "GITHUB_ACTIONS", "LINES", "NO_COLOR", "PY_COLORS", "TERMINAL_WIDTH",
                 "TTY_COMPATIBLE", "TTY_INTERACTIVE", "FOGLIGHT_NUMBA_ERRORS", "FOGLIGHT_START",
                 "FOGLIGHT_TRACEBACK"):  # fmt: skip
    os.environ.pop(variable, None)
os.environ["TERM"] = "xterm"

from foglight import compile as compiling  # noqa: E402
from foglight.blind_chess import uci  # noqa: E402
from foglight.cli import main  # noqa: E402

settings.register_profile("foglight", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("foglight")
compiling.PATIENCE = 1e6  # seconds: no notice of slow compilation comes between the lines that a test expects
uci.Engine.__init__.__kwdefaults__["patience"] = 600.0  # an engine that starts slowly is not one that hangs


@pytest.fixture
def run(monkeypatch, capsys):
    """Run a command line in this process: exit code, stdout, stderr."""

    def command(*arguments, typed=()):
        answers = iter(typed)

        def answer(prompt=""):
            try:
                return next(answers)
            except StopIteration:
                raise EOFError from None

        monkeypatch.setattr(builtins, "input", answer)
        monkeypatch.setattr(sys, "argv", ["foglight", *arguments])
        with pytest.raises(SystemExit) as exited:
            main()
        printed = capsys.readouterr()
        return exited.value.code, printed.out, printed.err

    return command


@pytest.fixture
def misbehaving(tmp_path):
    """The path of an engine that misbehaves in a way."""

    def make(how):
        path = tmp_path / how
        script = Path(__file__).with_name("misbehaving_engine.py")
        path.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{script}" {how} "{tmp_path / "counter"}"\n')
        path.chmod(0o755)
        return str(path)

    return make


@pytest.fixture
def patience(tmp_path, monkeypatch):
    """Seconds to wait for an engine of `misbehaving` or `tiny_engine.py`. They pass at once when it says that it hangs,
    and not before, so that a slow machine is not taken for one that hangs.
    """
    seconds, hangs, real = 600.0, tmp_path / "counter.hangs", select.select

    def hanging():
        if hangs.exists():
            hangs.unlink()
            return True
        return False

    def wait(pipes, writers, others, timeout):
        assert 0 < timeout <= seconds
        while not (ready := real(pipes, writers, others, 0.01))[0] and not hanging():
            pass
        return ready

    class Timer(threading.Thread):
        def __init__(self, interval, function):
            super().__init__(daemon=True)
            assert 0 < interval <= seconds
            self.function, self.over = function, threading.Event()

        def run(self):
            while not self.over.wait(0.01):
                if hanging():
                    self.function()
                    return

        def cancel(self):
            self.over.set()

    monkeypatch.setattr("foglight.blind_chess.uci.select", SimpleNamespace(select=wait))
    for module in ("foglight.blind_chess.uci", "foglight.agents.engine"):
        monkeypatch.setattr(f"{module}.threading", SimpleNamespace(Timer=Timer))
    return seconds
