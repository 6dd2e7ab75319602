"""A game in a cell of a notebook: orders in, state out, and nothing about the truth before the end."""

import json
import random
import subprocess
import sys

import pytest

import foglight as fl
from foglight.arena.referee import Course

anywidget = pytest.importorskip("anywidget", reason="no foglight[notebook]: the widget is not tested")
import comm  # noqa: E402  # comes with anywidget

from foglight.notebook.widget import module, style  # noqa: E402


class Line:
    """What goes over the wire to a browser, as bytes, in order."""

    sent: list[bytes]

    def __init__(self, data, **_):
        self.sent, self.comm_id = [self._bytes(data)], "the same for all"

    def _bytes(self, data):
        state = {name: value for name, value in data.get("state", {}).items() if name not in ("layout", "_esm", "_css")}
        return json.dumps({**data, "state": state}, sort_keys=True).encode()

    def send(self, data=None, **_):
        self.sent.append(self._bytes(data))

    def on_msg(self, handler):
        self.handler = handler

    def close(self, *_, **__):
        pass


@pytest.fixture
def wired(monkeypatch):
    monkeypatch.setattr(comm, "create_comm", lambda **given: Line(**given))


def order(widget, **given):
    """What a click sends, through the messages of widgets."""
    tell(widget, method="custom", content=given)


def tell(widget, **data):
    """A message from the browser; ipywidgets would print what goes wrong, and go on."""
    widget.comm.handler({"content": {"data": data}, "buffers": []})


def wish(widget, on):
    tell(widget, method="update", state={"belief_on": on})


# Playing --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("game", ["kuhn_poker", "phantom_ttt", "dark_hex(rows=3,cols=3)"])
def test_a_game_is_played_by_orders_to_its_end(wired, game):
    widget, rng, moves = fl.widget(game, "random", seat=1, belief=True, seed=3), random.Random(3), 0
    while widget.record is None and moves < 100:
        view = widget.view
        assert view["turn"] == "yours" and view["over"] is None and widget.belief["seen"] == view["seen"]
        assert len(widget.observations) == view["seen"]
        order(widget, do="act", action=rng.choice(view["moves"])[0], seen=view["seen"])
        moves += 1
    assert 1 <= moves < 100 and widget.view["over"]["returns"] == list(widget.record.returns) and widget.belief == {}
    order(widget, do="act", action=0, seen=widget.view["seen"])
    assert "over" in widget.trouble
    order(widget, do="again")
    assert widget.view["turn"] == "yours" and widget.trouble == "" and widget.record is None


def test_the_game_is_that_of_the_referee(wired):
    """With the moves of a match, the same outcomes of chance and the same answers follow from the seed."""
    for seed in range(5):
        record, _ = fl.play_game("leduc_poker", [fl.load_agent("random"), fl.load_agent("random")], seed=seed)
        widget = fl.widget("leduc_poker", "random", seat=0, seed=seed)
        state = fl.new_state("leduc_poker")
        for action in record.actions:
            if state.player == 0:
                order(widget, do="act", action=action, seen=widget.view["seen"])
            state.play(action)
        assert widget.record == record


def test_orders_that_make_no_sense_change_nothing(wired):
    widget = fl.widget("phantom_ttt", "first_legal")
    seen = widget.view["seen"]
    nonsense = [{}, {"do": "win"}, {"do": "again"}, {"do": "act"}, {"do": "act", "action": 99, "seen": seen}]
    nonsense += [{"do": "act", "action": True, "seen": seen}, {"do": "act", "action": 0, "seen": seen + 1}]
    before = widget.view
    for given in nonsense:
        order(widget, **given)
        assert widget.view == before and len(widget.observations) == 0
    tell(widget, method="custom", content="act")
    assert widget.view == before


def test_the_belief_comes_and_goes_with_the_switch(wired):
    widget = fl.widget("phantom_ttt", "first_legal")
    order(widget, do="act", action=4, seen=0)
    assert widget.belief == {}
    wish(widget, True)
    assert widget.belief["worlds"] == 16 and "<svg" in widget.belief["svg"]
    wish(widget, False)
    assert widget.belief == {}


class Faint(fl.Agent):
    """Fails with a secret in its message."""

    name = "faint"

    def act(self, actions=None):
        if self.observations:
            raise RuntimeError("I hold the king")
        return actions[0]


def test_an_agent_that_fails_ends_the_game_and_tells_the_kernel_alone(wired):
    with pytest.raises(RuntimeError, match="king"):  # while kernels are loaded, in the cell itself
        fl.widget("kuhn_poker", Faint())

    class Later(Faint):
        games = 0

        def act(self, actions=None):
            Later.games += 1
            return super().act(actions) if Later.games > 1 else actions[0]

    widget = fl.widget("kuhn_poker", Later())
    order(widget, do="act", action=0, seen=1)
    assert "king" in str(widget.error) and "cannot go on" in widget.trouble
    assert not any(b"the king" in sent for sent in widget.comm.sent)
    order(widget, do="again")
    assert widget.error is None and widget.view["turn"] == "yours"


def test_bad_input_is_one_line():
    for given in (("dark_hx", None), ("kuhn_poker", "epimk"), ("kuhn_poker", "human"), ("kuhn_poker", ["random"] * 2)):
        with pytest.raises(fl.BadInput) as error:
            fl.widget(*given)
        assert "\n" not in str(error.value)
    for options in ({"seat": 2}, {"seed": -1}, {"seat": "0"}):
        with pytest.raises(fl.BadInput):
            fl.widget("kuhn_poker", "random", **options)
    code = "import sys; sys.modules['anywidget'] = None; import foglight as fl; fl.widget('kuhn_poker')"
    failed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stderr
    assert failed.strip().endswith("install it with: pip install 'foglight[notebook]'")


# Twins ----------------------------------------------------------------------------------------------------------------


class Scripted(fl.Agent):
    """Plays what it is told to play."""

    name = "scripted"

    def __init__(self, moves):
        self.moves = moves

    def start(self, game, seat, seed):
        super().start(game, seat, seed)
        self.rest = iter(self.moves)

    def act(self, actions=None):
        wanted = next(self.rest, None)
        return wanted if wanted in actions else actions[0]  # the game that loads kernels is another one


def wire_of(game, history, seat, monkeypatch):
    """All bytes that a browser is sent while this history is played, with the person on that seat."""
    state, moves, chance, own = fl.new_state(game), [], [], []
    for action in history:
        (chance if state.player < 0 else own if state.player == seat else moves).append(action)
        state.play(action)
    drawn = iter(chance)
    with monkeypatch.context() as patch:
        patch.setattr(Course, "outcome", lambda course: next(drawn))
        widget = fl.widget(game, Scripted(moves), seat=seat, belief=True)
        for action in own:
            order(widget, do="act", action=action, seen=widget.view["seen"])
    assert widget._sitting.table.state.history() == list(history)
    return widget.comm.sent


@pytest.mark.parametrize(
    "game", ["kuhn_poker", "leduc_poker", "phantom_ttt", "dark_hex(rows=3,cols=3)", "battleship(ships=[1],shots=2)"]
)
def test_twins_are_sent_the_same_bytes(wired, game, monkeypatch):
    """True worlds that the seat cannot tell apart: different histories, perhaps of another length, on one wire."""
    rng, compared, longer = random.Random(game), 0, 0
    for _ in range(200):
        if compared == 6:
            break
        state = fl.new_state(game)
        here = []
        while state.player != fl.TERMINAL:
            if state.player >= 0:
                here.append((state.player, state.observations(state.player), state.history()))
            state.play(rng.choice(state.actions()))
        seat, seen, history = rng.choice(here)
        others = fl.history_filter(game, seen, viewer=seat, mover=seat).sample(20, seed=compared)
        others = [other.history() for other in others if other.history() != history]
        if not others:
            continue
        other = max(others, key=lambda other: len(other) != len(history))
        first, second = (wire_of(game, each, seat, monkeypatch) for each in (history, other))
        assert first == second
        compared, longer = compared + 1, longer + (len(history) != len(other))
    assert compared == 6 and (longer or game != "phantom_ttt")


def test_the_wire_of_other_observations_is_another(wired, monkeypatch):
    """So that the comparison above cannot hold for want of anything to compare."""
    jack, king = (wire_of("kuhn_poker", [card, 1], 0, monkeypatch) for card in (0, 2))
    assert jack != king and len(jack) == len(king) >= 3


# The front ------------------------------------------------------------------------------------------------------------


def test_the_module_is_one_file_and_the_style_stays_within_the_widget():
    code, css = module(), style()
    assert "\nimport " not in code and code.count("export default") == 1 and "\nexport {" not in code
    assert "class Board" in code and "/page/" not in code
    assert ".foglight-widget {" in css and "\nbody" not in css and ":root" not in css
