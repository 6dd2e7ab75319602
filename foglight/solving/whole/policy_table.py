"""A policy in words: what each seat has observed at each information state, what it does, and what that is worth."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from foglight.frames import Framed
from foglight.names import BadInput
from foglight.rules import Game
from foglight.solving.whole.behaviour import behaviour_of
from foglight.solving.whole.plans import action_values
from foglight.solving.whole.sequences import SequenceForm, sequence_form
from foglight.state import State
from foglight.text import aligned, html_table

_SHOWN = 60  # rows that are printed; `rows` holds all


@dataclass(frozen=True)
class PolicyTable(Framed):
    """A policy at every information state of a game, seat by seat, as `policy.table()` returns it.

    Each of the `rows` is plain data: `seat`; `seen`, the seat's observations in words; `reach`, the probability that
    play comes here; `odds` by action; `values` by action, the seat's expected payoff if all play the policy from there
    on. A value is None where the other seats never let it come to that decision.

        >>> table = fl.solve("kuhn_poker", iterations=2000).table()
        >>> print(table.where("jack", seat=0))
        kuhn_poker, 2 of 12 information states
        seat  seen                                      plays                 reach
           0  you get the jack                          check 78 %  bet 22 %  33 %
           0  you get the jack, you check, seat 1 bets  fold 100 %            13 %
        >>> table[0]["odds"] == table.where("you get the jack")[0]["odds"]  # rows are plain data
        True
    """

    columns_of_table: ClassVar = {
        "seat": "whole",
        "seen": "texts",
        "reach": "number",
        "action": "text",
        "probability": "number",
        "value": "number",
    }
    game: str
    rows: list[dict[str, Any]]
    of: int  # the number of the game's information states

    def where(self, words: str = "", seat: int | None = None) -> "PolicyTable":
        """The rows of a seat whose observations contain these words, such as `jack`."""
        rows = [
            row for row in self.rows if words.lower() in ", ".join(row["seen"]).lower() and seat in (None, row["seat"])
        ]
        return PolicyTable(self.game, rows, self.of)

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.rows)

    def __getitem__(self, number: int) -> dict[str, Any]:
        return self.rows[number]

    def lines(self) -> list[dict[str, Any]]:
        """The rows as texts for a table: seat, what it has seen, what it plays, and the reach probability."""
        return [
            {
                "seat": row["seat"],
                "seen": ", ".join(row["seen"]) or "nothing yet",
                "plays": odds_text(row["odds"]),
                "reach": percentage(row["reach"]),
            }
            for row in self.rows
        ]

    def table(self) -> list[dict[str, Any]]:
        """One row of plain data per information state and action, as data frames have them."""
        return [
            {
                **{name: row[name] for name in ("seat", "seen", "reach")},
                "action": action,
                "probability": share,
                "value": row["values"][action],
            }
            for row in self.rows
            for action, share in row["odds"].items()
        ]

    def _title(self) -> str:
        part = "" if len(self.rows) == self.of else f"{len(self.rows):,} of "
        return f"{self.game}, {part}{self.of:,} information states"

    def __str__(self) -> str:
        more = f"\n... and {len(self.rows) - _SHOWN:,} more rows" if len(self.rows) > _SHOWN else ""
        return f"{self._title()}\n{aligned(self.lines()[:_SHOWN])}{more}"

    def __repr__(self) -> str:
        return f"<PolicyTable: {self._title()}>"

    def _repr_html_(self) -> str:
        more = f"; the first {_SHOWN} rows" if len(self.rows) > _SHOWN else ""
        return html_table(self.lines()[:_SHOWN], self._title() + more)


def odds_text(odds: dict[str, float]) -> str:
    """Action probabilities in a line, without those actions that are never played: `pass 67 %  bet 33 %`."""
    return "  ".join(f"{name} {percentage(share)}" for name, share in odds.items() if share >= 5e-4)


def percentage(share: float) -> str:
    """A probability in a few digits: `67 %`, `0.4 %`."""
    if 0.0 < share < 1e-4:
        return "<0.01 %"
    return f"{100 * share:.0f} %" if share >= 0.0095 or share == 0.0 else f"{100 * share:.2g} %"


def policy_table(game: str | Game, policy: Any, limit: int = 100_000, memory: float = 4.0) -> PolicyTable:
    """The table of a policy. A game of more than `limit` information states is refused; `memory` is in GiB."""
    sequences = sequence_form(game, memory)
    name, number = str(sequences.tree.game), sequences.num_states
    if number > limit:
        raise BadInput(
            f"{name} has {number:,} information states, more than limit={limit:,}; "
            "ask for one of them by policy.at(state), or raise the limit"
        )
    behaviour = behaviour_of(sequences, policy)
    values, reach = action_values(sequences, behaviour)
    rows = []
    for state, position in _positions(sequences):
        seat, begin, end = position.player, sequences.form.begins[state], sequences.form.ends[state]
        names = [names[0] for names in position.choices().values()]
        worth = [None if math.isnan(value) else value for value in values[begin:end].tolist()]
        row = {
            "seat": seat,
            "seen": position.log(seat),
            "reach": float(reach[state]),
            "odds": dict(zip(names, behaviour[begin:end].tolist(), strict=True)),
            "values": dict(zip(names, worth, strict=True)),
        }
        rows.append((seat, position.observations(seat), row))
    rows.sort(key=lambda entry: entry[:2])  # what follows from one observation stands together
    return PolicyTable(name, [row for _, _, row in rows], number)


def _positions(sequences: SequenceForm) -> Iterator[tuple[int, State]]:
    """Each information state with one of its histories. Histories with the same beginning are replayed together."""
    tree = sequences.tree
    states, firsts = np.unique(sequences.states[tree.deciding], return_index=True)
    histories = tree.histories(tree.deciding[firsts])
    trail = [State(tree.game)]  # the states along the last history
    for history, state in sorted(zip(histories, states.tolist(), strict=True)):
        shared = [earlier == later for earlier, later in zip(trail[-1].history(), history, strict=False)]
        del trail[1 + (shared.index(False) if False in shared else len(shared)) :]
        for action in history[len(trail) - 1 :]:
            trail.append(trail[-1].clone())
            trail[-1].play(action)
        yield state, trail[-1]
