"""Property tests draw the same examples every time, and nothing here depends on the speed of the machine."""

import builtins
import sys

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
