"""Progress bars: a line on a terminal, one output in a notebook, nothing in a file."""

import itertools
import os
import pty
import subprocess
import sys
import types

import pytest

import foglight as fl

SCRIPT = """
import foglight as fl
from foglight.pieces import Where
with fl.progress_bar("games") as bar:
    for done in range(1, 4):
        bar(done, 3)
    bar.of(Where("local", 1)).mourner(2)
print("done")
"""


def test_a_terminal_shows_one_line_that_is_drawn_anew():
    ours, theirs = pty.openpty()
    process = subprocess.Popen([sys.executable, "-c", SCRIPT], stderr=theirs, stdout=subprocess.PIPE)
    os.close(theirs)
    shown = b""
    try:
        while part := os.read(ours, 4096):
            shown += part
    except OSError:  # the other end is closed
        pass
    assert process.communicate()[0] == b"done\n" and process.returncode == 0
    text = shown.decode()
    assert "games" in text and "1/3" in text and "3/3" in text and "2 workers died" in text
    assert text.count("\n") <= 1  # the line at the end, and not one for each step


def test_a_pipe_gets_nothing():
    process = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True)
    assert (process.returncode, process.stdout, process.stderr) == (0, "done\n", "")


@pytest.fixture
def outputs(monkeypatch):
    """What a notebook is asked to show, as pairs of the number of the output and its HTML."""
    shown, module = [], types.ModuleType("IPython")
    display = types.ModuleType("IPython.display")

    class Handle:
        def __init__(self, number):
            self.number = number

        def update(self, html):
            shown.append((self.number, html))

    def show(html, display_id):
        assert display_id
        handle = Handle(len({number for number, _ in shown}))
        handle.update(html)
        return handle

    display.HTML, display.display = str, show
    module.get_ipython = lambda: types.SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", module)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    return shown


def test_a_notebook_keeps_one_bar_for_each_use(outputs):
    for noun in ("games", "<pairs>"):
        with fl.progress_bar(noun) as bar:
            fl.play_match("kuhn_poker", ["random", "random"], games=2000, seed=0, progress=bar)
    assert {number for number, _ in outputs} == {0, 1}
    last = dict(outputs)
    assert 'value="2000" max="2000"' in last[0] and "2,000 of 2,000" in last[0] and "/s" in last[0]
    assert "&lt;pairs&gt;" in last[1] and "<pairs>" not in last[1]


def test_a_notebook_is_shown_ten_pictures_a_second(outputs, monkeypatch):
    ticks = itertools.count()  # every look at the clock takes a 64th of a second
    monkeypatch.setattr("foglight.bars.time", types.SimpleNamespace(monotonic=lambda: next(ticks) / 64))
    with fl.progress_bar("steps") as bar:
        for done in range(700):
            bar(done, 1400, loss=0.5)
        assert len(outputs) == 1 + 100  # the empty bar, then one at each seventh look
        assert "steps, loss 5.00e-01" in outputs[-1][1] and 'value="699"' in outputs[-1][1]
        bar(1400, 1400)
    assert len(outputs) == 102 and "1,400 of 1,400" in outputs[-1][1]  # the end is always shown
