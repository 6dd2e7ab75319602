"""The agent that plays a policy saved by `foglight solve GAME --save FILE`, or a response of `foglight exploit`.

Information states that are not in the table are played uniformly, or by another agent. The table lists information
states by the seat's key in a world. Where that differs from the key of the seat's observations, as in most games of
OpenSpiel, the whole game is traversed once to map one to the other, which takes no longer than solving it did. Its
explanations say what each action is worth against the policy itself.
"""

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from foglight.agents import Agent, Another, Explanation, load_agent
from foglight.names import BadInput
from foglight.policies import Tabular
from foglight.randomness import fold, weighted
from foglight.rules import (
    CHANCE,
    NOTHING,
    TERMINAL,
    Game,
    begin,
    chance,
    key,
    legal,
    max_legal,
    new_worlds,
    observe,
    player,
    transition,
)
from foglight.solving.whole.behaviour import behaviour_of
from foglight.solving.whole.plans import action_values
from foglight.solving.whole.sequences import sequence_form
from foglight.solving.whole.solved import Solved
from foglight.solving.whole.tree import TooLarge


@dataclass
class Policy(Agent):
    """Plays a policy saved by 'foglight solve GAME --save PATH' or 'foglight exploit'."""

    strength = "as strong as its file"

    gives_reasons = True
    file: Annotated[str, "path of the policy; it must be given"] = ""
    otherwise: Annotated[
        Any, "agent that plays where the table has nothing; none: uniformly random play", Another()
    ] = ""

    def __post_init__(self) -> None:
        self._other = load_agent(self.otherwise) if self.otherwise else None
        self.remembers = self._other is not None and self._other.remembers

    def check(self, game: Game) -> None:
        if self._other is not None:
            self._other.check(game)
        if not self.file:
            raise BadInput("policy needs a file: write policy(file=PATH); foglight solve GAME --save PATH makes one")
        if (made_for := _read(self.file).game) != str(game):
            raise BadInput(f"{self.file} holds a policy for {made_for}, not for {game}")

    def start(self, game: Game, seat: int, seed: int) -> None:
        super().start(game, seat, seed)
        self.policy = _read(self.file)
        self.keys = _world_keys(self.game, seat)
        if self._other is not None:
            self._other.start(game, seat, seed)

    def observe(self, observation: int) -> None:
        super().observe(observation)
        if self._other is not None:
            self._other.observe(observation)

    def close(self) -> None:
        if self._other is not None:
            self._other.close()

    def exact_policy(self, game: Game) -> Tabular | None:
        self.check(game)
        policy = _read(self.file)
        return None if self.otherwise else Tabular(policy.keys, policy.begins, policy.probabilities)

    def act(self, actions: Sequence[int] | None = None) -> int:
        actions = actions or self.legal_actions()
        odds = self.probabilities(actions)
        possible = np.flatnonzero(odds > 0.0)  # a rounding error must not choose an action of probability 0
        action = actions[int(possible[weighted(self.random(), odds[possible], len(possible))])]
        self.explanation = Explanation(action, list(actions), notes={"odds": odds.tolist()})
        return action

    def explain(self) -> Explanation:
        """The explanation of the last action. Values are exact: expected payoffs if all seats play the policy.

        They are computed here and not by `act`, because they need the tree of the whole game.
        """
        why = super().explain()
        policy = self.policy
        how = "linear programming" if policy.method == "lp" else f"{policy.method}, {policy.iterations:,} iterations"
        why.notes |= {"policy": f"{how}, exploitability {policy.exploitability:.2g}"}
        try:
            values, reach = _worth(self.game, self.file, *_stamp(self.file)).get(self._number, ((), 0.0))
        except TooLarge as error:
            why.notes["values"] = f"not known: {error}"
            return why
        why.values = list(values) or why.values
        why.notes |= {"values": "expected payoffs if all seats play the policy", "reach": reach}
        return why

    def probabilities(self, actions: Sequence[int] | None = None) -> np.ndarray:
        actions = actions or self.legal_actions()
        row = self._row
        if row < 0:
            return (
                np.full(len(actions), 1.0 / len(actions)) if self._other is None else self._other.probabilities(actions)
            )
        odds = self.policy.probabilities[self.policy.begins[row] : self.policy.begins[row + 1]]
        if len(odds) != len(actions):
            raise BadInput(
                f"{self.file} has {len(odds)} actions where {len(actions)} are legal: {self.game} has changed since; "
                "solve it again"
            )
        return odds

    @property
    def _row(self) -> int:
        """The row of the information state in the table, or -1."""
        number = self._number
        row = int(np.searchsorted(self.policy.keys, number))
        return row if row < len(self.policy.keys) and self.policy.keys[row] == number else -1

    @property
    def _number(self) -> np.uint64:
        """The key of the information state in the table."""
        return np.uint64(self.key if self.keys is None else self.keys.get(self.key, 0))


def _read(file: str) -> Solved:
    """The policy in a file, read again only if the file has changed."""
    return _read_once(file, *_stamp(file))


def _stamp(file: str) -> tuple[int, int]:
    """When the file was changed, and its size."""
    try:
        facts = Path(file).stat()
    except OSError as error:
        raise BadInput(f"cannot read {file}: {error.strerror}") from None
    return facts.st_mtime_ns, facts.st_size


@functools.lru_cache(maxsize=8)
def _read_once(file: str, changed: int, size: int) -> Solved:
    return Solved.load(file)


@functools.lru_cache(maxsize=8)
def _worth(game: Game, file: str, changed: int, size: int) -> dict[np.uint64, tuple[list[float], float]]:
    """By key of the information state: the value of each action and the reach probability, if all play the policy."""
    sequences = sequence_form(game)
    values, reach = action_values(sequences, behaviour_of(sequences, _read_once(file, changed, size)))
    spans = zip(sequences.form.begins.tolist(), sequences.form.ends.tolist(), strict=True)
    rows = ((values[begin:end].tolist(), float(reach[state])) for state, (begin, end) in enumerate(spans))
    return dict(zip(sequences.keys, rows, strict=True))


@functools.lru_cache(maxsize=8)
def _world_keys(game: Game, seat: int) -> dict[int, int] | None:
    """The seat's key in a world by the key of the seat's observations; None if they are the same."""
    root = new_worlds(game, 1)[0]
    begin(game, root)
    if int(key(game, root, seat)) == fold(0, seat):
        return None
    keys, frontier = {}, [(root, 0)]  # each world with the hash of the seat's observations
    room, odds = np.empty(max_legal(game), np.int64), np.empty(max_legal(game))
    while frontier:
        before, seen = frontier.pop()
        mover = player(game, before)
        if mover == TERMINAL:
            continue
        if mover == seat:
            keys[fold(seen, seat)] = int(key(game, before, seat))
        n = chance(game, before, room, odds) if mover == CHANCE else legal(game, before, room)
        for action in room[:n].tolist():
            after = new_worlds(game, 1)[0]
            transition(game, before, action, after)
            observation = observe(game, before, action, after, seat)
            frontier.append((after, seen if observation == NOTHING else fold(seen, observation)))
    return keys
