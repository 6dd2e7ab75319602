"""Property tests draw the same examples every time, and nothing here depends on the speed of the machine."""

import builtins
import sys
from pathlib import Path

import pytest
from hypothesis import settings

from foglight.cli import main

settings.register_profile("foglight", deadline=None, derandomize=True)
settings.load_profile("foglight")


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
