"""A game in a cell of a notebook: the page's board, played by clicks, with the belief laid over it.

The browser gets `view` and `belief`, which follow from the observations of the person's seat until the game is over,
and `trouble`, a line for the person. It sends orders: `act`, `again`. The true world stays in the kernel.
"""

import re
from importlib.resources import files
from typing import Any

from foglight.arena.referee import Record
from foglight.drawing.svg import stylesheet
from foglight.names import BadInput
from foglight.notebook.sitting import Sitting
from foglight.rules import Game

try:
    import anywidget
    import traitlets
except ImportError:
    raise BadInput("a game in a notebook needs anywidget; install it with: pip install 'foglight[notebook]'") from None

_PAGE, _FRONT = files("foglight.web") / "page", files("foglight.notebook") / "front"
_SHARED = ("dom.js", "board.js")  # of the page
_IMPORT = re.compile(r"^import .*$", re.MULTILINE)


def module() -> str:
    """The widget as one JavaScript module: a notebook has no address from which a second one could be loaded."""
    shared = ((_PAGE / name).read_text(encoding="utf-8").replace("\nexport ", "\n") for name in _SHARED)
    own = (_FRONT / "widget.js").read_text(encoding="utf-8")
    return "\n".join(_IMPORT.sub("", text) for text in (*shared, own))


def style() -> str:
    """The style of drawings and of the widget; the page's marks on a board hold within the widget only."""
    marks = re.search(r"/\* Marks on a board -+ \*/\n(.*?)/\*", (_PAGE / "style.css").read_text("utf-8"), re.DOTALL)
    assert marks is not None
    return f"{stylesheet()}\n{(_FRONT / 'widget.css').read_text('utf-8')}\n.foglight-widget {{\n{marks[1]}}}\n"


class GameWidget(anywidget.AnyWidget):
    """A game that is played in a notebook, as `fl.widget` makes it."""

    _esm = module()
    _css = style()
    view = traitlets.Dict().tag(sync=True)  # what the seat is shown
    belief = traitlets.Dict().tag(sync=True)  # what it may hold possible; empty if nobody wants to know
    belief_on = traitlets.Bool(False).tag(sync=True)
    trouble = traitlets.Unicode("").tag(sync=True)

    def __init__(self, sitting: Sitting, belief: bool) -> None:
        self._sitting = sitting
        self.error: Exception | None = None  # why the game cannot go on
        super().__init__(belief_on=belief)
        self.on_msg(self._ordered)
        self._go_on()

    @property
    def game(self) -> Game:
        """The game that is played."""
        return self._sitting.game

    @property
    def seat(self) -> int:
        """The seat of the person."""
        return self._sitting.seat

    @property
    def observations(self) -> list[int]:
        """What the person's seat has observed, for filters, trackers and agents in other cells."""
        return self._sitting.table.state.observations(self.seat)

    @property
    def record(self) -> Record | None:
        """The finished game; None while it goes on."""
        return self._sitting.table.record() if self._sitting.table.over else None

    def __repr__(self) -> str:
        return f"<GameWidget: {self.game}, you are seat {self.seat}>"

    def _ordered(self, _: Any, order: Any, __: Any) -> None:
        """An order from the browser."""
        given = order if isinstance(order, dict) else {}
        self.trouble = ""
        try:
            if given.get("do") == "again" and (self._sitting.table.over or self.error):
                self.error = None
                self._sitting.again()
            elif given.get("do") == "act" and not self.error:
                self._sitting.act(given.get("action"), given.get("seen"))
            else:
                return
        except BadInput as error:
            self.trouble = str(error)
            self.send_state("view")  # the browser waits for a position
            return
        self._go_on()

    def _go_on(self) -> None:
        self.belief = {}
        try:
            for view in self._sitting.views():
                self.view = view
        except Exception as error:  # somebody's own game or agent may fail in any way
            self.error = error
            # the reason may rest on what another seat alone knows, so it stays in the kernel
            self.trouble = "the game cannot go on; the attribute `error` of the widget says why"
        self._look()

    @traitlets.observe("belief_on")
    def _look(self, _: Any = None) -> None:
        """Work out the belief, if somebody wants to know and something is still hidden."""
        wanted = self.belief_on and not self._sitting.table.over and not self.error
        self.belief = self._sitting.belief() if wanted else {}

    def close(self) -> None:
        """Close the widget and the agents that it has made."""
        self._sitting.close()
        super().close()
