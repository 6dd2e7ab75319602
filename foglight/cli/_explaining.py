"""Explanations of an agent's moves, as text and as plain data."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from foglight.agents import Agent, View
from foglight.cli._app import out, show
from foglight.rules import Game

_ODDS = ("odds", "strategy")  # names of notes that hold one probability per action


class Explained(Agent):
    """A wrapper of an agent that prints each of its moves and the explanation at the terminal."""

    at_terminal = True

    def __init__(self, agent: Agent, name: str) -> None:
        self.agent, self.name = agent, name

    def __str__(self) -> str:
        return self.name

    def check(self, game: Game) -> None:
        self.agent.check(game)

    def start(self, game: Game, seat: int, seed: int) -> None:
        super().start(game, seat, seed)
        self.agent.start(game, seat, seed)

    def observe(self, observation: int) -> None:
        super().observe(observation)
        self.agent.observe(observation)

    def read(self, view: View) -> None:
        self.choices = view.choices
        self.agent.read(view)

    def act(self, actions: Sequence[int] | None = None) -> int:
        action = self.agent.act(actions)
        out.print(f"\nseat {self.seat}, {self.name}, plays {self.choices[action][0]}")
        if self.agent.gives_reasons:
            tell(account(self.agent, self.choices))
        else:
            out.print("it does not say why")
        return action


def account(agent: Agent, choices: Mapping[int, Sequence[str]]) -> dict[str, Any]:
    """An agent's explanation of its last action as plain data: the action played first, then the others, best first."""
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
    if why.worlds and (fusion := agent.fusion()) is not None:
        facts["fusion"] = {"states": fusion[0], "of": fusion[1]}
    return facts


def tell(facts: dict[str, Any]) -> None:
    """Print an account as two tables: the actions, and the facts that the choice rests on."""
    show([{column: _text(column, number) for column, number in row.items()} for row in facts["actions"]])
    if not facts["worlds"]:
        belief = "no choice, no search" if len(facts["actions"]) == 1 else "none"
    else:
        kind = "all there are" if facts["exact"] else "a sample"
        belief = f"{facts['worlds']:,} world{'s' * (facts['worlds'] > 1)}, {kind}"
    rows = {
        "belief": belief,
        "iterations": f"{facts['iterations']:,}",
        "time": f"{1000 * facts['seconds']:,.1f} ms",
        **{name: _text(name, note) for name, note in facts["notes"].items()},
    }
    if "fusion" in facts:
        fusion = facts["fusion"]
        rows["strategy fusion"] = f"at {fusion['states']} of {fusion['of']} information states just below that depth"
    out.print()
    show([{"why": name, "": text} for name, text in rows.items()])


def _text(name: str, value: Any) -> str:
    if value is None:
        return "never tried"
    if isinstance(value, float):
        return f"{value:+.3f}" if name == "value" else f"{value:.3f}"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, list):
        return ", ".join(f"{part:,}" for part in value)
    return str(value)
