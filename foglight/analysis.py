"""An agent asked about a position: what it would play, what it thinks of each action, and what that rests on."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from foglight.agents import Agent, AgentLike, opened, seated
from foglight.frames import Framed
from foglight.names import BadInput
from foglight.state import State, as_state
from foglight.text import aligned, html_table, html_text

_ODDS = ("odds", "strategy")  # names of notes that hold one probability per action


@dataclass(frozen=True)
class Analysis(Framed):
    """What an agent would play at a position, and why, as `fl.analyse` returns it.

    `actions` has one row of plain data per legal action: `action`, its name; `value`, the expected payoff to the seat,
    or None; `visits` of the search; and `odds`, if the agent mixes. The action that is played comes first.

        >>> state = fl.new_state("unseen_rps")
        >>> thought = fl.analyse(state, "pimc(leaf=minimax)")
        >>> thought
        <Analysis: pimc(leaf=minimax) on seat 0 of unseen_rps(leave_value=-0.6) plays leave, value -0.600>
        >>> [(row["action"], row["visits"]) for row in thought.actions], thought.facts["worlds"]
        ([('leave', 2500), ('rock', 2500), ('paper', 2500), ('scissors', 2500)], 1)
    """

    columns_of_table: ClassVar = {"action": "text", "value": "number", "visits": "whole", "odds": "number"}
    game: str
    seat: int
    agent: str
    information: str  # the information state of the seat, as text
    action: str  # the name of the action that the agent plays
    actions: list[dict[str, Any]]
    facts: dict[str, Any]  # worlds of the belief, exact, iterations, seconds, notes, and perhaps fusion

    def table(self) -> list[dict[str, Any]]:
        """One row of plain data per legal action; `odds` are None if the agent does not mix."""
        return [{"odds": None, **row} for row in self.actions]

    def summary(self) -> dict[str, Any]:
        """All of it as plain data: what `foglight analyse --json` prints."""
        position = {"game": self.game, "seat": self.seat, "agent": self.agent}
        return {**position, "action": self.action, "actions": self.actions, **self.facts}

    def _title(self) -> str:
        return f"{self.agent} on seat {self.seat} plays {self.action}"

    def __str__(self) -> str:
        return f"{self.information}\n\n{self._title()}:\n\n{account_text(self.summary())}"

    def __repr__(self) -> str:
        value = self.actions[0]["value"]
        worth = "" if value is None else f", value {value:+.3f}"
        return f"<Analysis: {self.agent} on seat {self.seat} of {self.game} plays {self.action}{worth}>"

    def _repr_html_(self) -> str:
        summary = self.summary()
        tables = html_table(_action_rows(summary), self._title()) + html_table(reason_rows(summary))
        return html_text(self.information) + tables


def analyse(state: State, agent: AgentLike = "epimc", seed: int = 0) -> Analysis:
    """Ask an agent what it would play at a position, and why; it gets only the observations of the seat to move.

    `agent` is a name with options, a class, or an agent, which is not closed. It must be one that gives reasons: those
    that search do, and `policy` does.

        >>> state = fl.new_state("phantom_ttt")
        >>> thought = fl.analyse(state, "epimc(iterations=2000)", seed=1)
        >>> thought.seat, thought.action, len(thought.actions)
        (0, 'b2', 9)
        >>> thought.summary()["worlds"]  # the same data as `foglight analyse --json`; print(thought) shows tables
        1
    """
    if seed < 0:
        raise BadInput(f"seed must be at least 0, not {seed}")
    state = as_state(state)
    with opened([agent]) as (asked,):
        name = agent if isinstance(agent, str) else str(asked)
        if not asked.gives_reasons:
            raise BadInput(f"{name} does not say why it plays what it plays; ask one that searches, such as epimc")
        if state.player < 0:
            what = "the game is over" if not state.actions() else "chance is to move; play its outcome first"
            raise BadInput(f"nobody decides here: {what}")
        seated(asked, state, state.player, seed)
        if asked.time:
            asked.act(state.actions())  # compiles and loads kernels, so that the next call uses its time for search
        asked.act(state.actions())
        facts = account(asked, state.choices())
    action, actions = facts.pop("action"), facts.pop("actions")
    information = state.information(state.player)
    return Analysis(str(state.game), state.player, name, information, action, actions, facts)


def account(agent: Agent, choices: Mapping[int, Sequence[str]], fusion: bool = True) -> dict[str, Any]:
    """An agent's explanation of its last action as plain data: the action played first, then the others, best first.

    To count strategy fusion takes time beyond the agent's budget, more than a second in some games.
    """
    why = agent.explain()
    odds = next((why.notes[name] for name in _ODDS if name in why.notes), None)
    rows: list[dict[str, Any]] = []
    for place, action in enumerate(why.actions):
        value = why.values[place]
        row = {
            "action": choices[action][0],
            "value": None if math.isnan(value) else value,
            "visits": why.visits[place],
        }
        rows.append(row if odds is None else {**row, "odds": odds[place]})
    rows.sort(key=lambda row: (row["action"] != choices[why.action][0], row["value"] is None, -(row["value"] or 0.0)))
    facts = {
        "action": choices[why.action][0],
        "actions": rows,
        "worlds": why.worlds,
        "exact": why.exact,
        "iterations": why.iterations,
        "seconds": why.seconds,
        "notes": {name: note for name, note in why.notes.items() if name not in _ODDS},
    }
    if fusion and why.worlds and (counted := agent.fusion()) is not None:
        facts["fusion"] = {"states": counted[0], "of": counted[1]}
    return facts


def account_text(facts: dict[str, Any]) -> str:
    """An account as two tables: the actions, and the facts that the choice rests on."""
    return f"{aligned(_action_rows(facts))}\n\n{aligned(reason_rows(facts))}"


def _searched(facts: dict[str, Any]) -> bool:
    """Whether there was a search, or one would have been made if there were a choice."""
    return bool(facts["iterations"]) or "odds" not in facts["actions"][0]


def _action_rows(facts: dict[str, Any]) -> list[dict[str, str]]:
    hidden = () if _searched(facts) else ("visits",)
    unknown = "never tried" if _searched(facts) else "not known"
    return [
        {name: unknown if value is None else _text(name, value) for name, value in row.items() if name not in hidden}
        for row in facts["actions"]
    ]


def reason_rows(facts: dict[str, Any]) -> list[dict[str, str]]:
    """The facts that a choice rests on, as rows of names and texts."""
    if not facts["worlds"]:
        belief = "no choice, no search" if len(facts["actions"]) == 1 else "none"
    else:
        kind = "all there are" if facts["exact"] else "a sample"
        belief = f"{facts['worlds']:,} world{'s' * (facts['worlds'] > 1)}, {kind}"
    rows = {"belief": belief, "iterations": f"{facts['iterations']:,}", "time": f"{1000 * facts['seconds']:,.1f} ms"}
    rows = (rows if _searched(facts) else {}) | {name: _text(name, note) for name, note in facts["notes"].items()}
    if "fusion" in facts:
        fusion = facts["fusion"]
        rows["strategy fusion"] = f"at {fusion['states']} of {fusion['of']} information states just below that depth"
    return [{"why": name, "": text} for name, text in rows.items()]


def _text(name: str, value: Any) -> str:
    if isinstance(value, float):
        return f"{value:+.3f}" if name == "value" else f"{value:.3f}"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, list):
        return ", ".join(f"{part:,}" for part in value)
    return str(value)
