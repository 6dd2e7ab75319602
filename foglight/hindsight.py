"""A game looked back on: was a move forced or good, was the decision wrong, the belief, or was it bad luck?

For each decision of a seat, an agent that has observed the same says what it would play and what each action is worth.
It searches twice: the first search chooses its action, the second, with other random numbers, measures it against the
action played, so that luck in the choice does not count. B is the seat's belief, w* the true world, and

    V(a | worlds) = mean over the worlds of the payoff when a is played there and the game is then played out,

the same estimate over the belief and in the true world alone: at random, or by alpha-beta for an agent with
leaf=minimax. The verdicts, the first that fits:

    forced    only one action was legal
    decision  value(best) - value(played) > margin, by the agent's second search
    belief    the move turned out badly, and the belief was misled: it gave w* less than half of the probability of an
              average world (`foglight/worlds/knowledge.py`)
    luck      the move turned out badly, and the belief was not misled
    good      everything else

A move turned out badly if V(played | B) - V(played | w*) > margin, and V(other | w*) - V(played | w*) > margin for some
other action, which is chosen by one set of samples and measured by another. Each difference must exceed the margin by
two of its standard errors. So what is too noisy to tell counts as good. The standard error of V comes from its samples;
that of an agent's value is at most half of the range of payoffs by the root of its visits.

V supposes that the game goes on at random, or with open cards. It compares worlds, not plans: what a move was meant to
hide or to find out is judged by the agent alone.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, ClassVar, NamedTuple

import numpy as np

from foglight.agents import Agent, AgentLike, Seat, opened
from foglight.frames import Framed
from foglight.names import BadInput
from foglight.randomness import generator
from foglight.rules import Game, bounds
from foglight.search.leaves import minimax, rollout
from foglight.search.paths.open_worlds import try_action
from foglight.state import State, as_state, new_state, replay
from foglight.text import aligned, html_table
from foglight.worlds.knowledge import Knowledge, seed_of
from foglight.worlds.regeneration import BeliefLost

DEFAULT_AGENT, DEFAULT_MARGIN = "epimc(time=0.3)", 0.05
_SAMPLES, _SAMPLES_INTERPRETED = 4000, 200  # games played out for each value
_GAMES = 100  # random games that show the range of payoffs where a game does not say it
_ERRORS = 2.0  # standard errors by which a difference must exceed the margin
_COLUMNS = {"move": "whole", "played": "text", "verdict": "text", "truth": "number", "best": "text"}
_COLUMNS |= dict.fromkeys(("value_played", "value_best", "belief_played", "truth_played"), "number")


@dataclass(frozen=True)
class Review(Framed):
    """A seat's decisions in a game with a verdict on each, as `fl.review` returns them.

    `rows` has one row of plain data per decision: `step`, how many actions were played before, and `move`, the number
    of the decision; `played` and `best`, names of actions; `verdict` and `sentence`; `truth`, the probability of the
    true world in the belief, None if it is not known; `worlds` of the belief and whether they are `exact`;
    `value_played` and `value_best` by the agent's search; `belief_played`, `truth_played` and `truth_best`, values of
    the action played over the belief and in the true world, and of the best one there. What was not needed is None.

        >>> looked_back = fl.review("kuhn_poker", ["king", "queen", "bet", "call"], 1, "pimc(iterations=2000)")
        >>> looked_back
        <Review: seat 1 of kuhn_poker, 1 decision: 1 luck>
        >>> looked_back.rows[0]["sentence"], looked_back.rows[0]["truth"]
        ('call was worth +0.00 by the belief, but -2.00 as things were, where fold was worth -1.00.', 0.5)
    """

    columns_of_table: ClassVar = _COLUMNS
    game: str
    seat: int
    agent: str
    margin: float  # in payoffs
    rows: list[dict[str, Any]]

    def table(self) -> list[dict[str, Any]]:
        """One row of plain data per decision, without what `summary` says beside."""
        return [{name: row[name] for name in _COLUMNS} for row in self.rows]

    def counts(self) -> dict[str, int]:
        """How many decisions have each verdict."""
        verdicts = [row["verdict"] for row in self.rows]
        return {verdict: verdicts.count(verdict) for verdict in dict.fromkeys(sorted(verdicts))}

    def summary(self) -> dict[str, Any]:
        """All of it as plain data: what `foglight review --json` prints."""
        facts = {"game": self.game, "seat": self.seat, "agent": self.agent, "margin": self.margin}
        return {**facts, "verdicts": self.counts(), "decisions": self.rows}

    def _texts(self) -> list[dict[str, str]]:
        return [{name.replace("_", " "): _text(name, row[name]) for name in _COLUMNS} for row in self.rows]

    def _title(self) -> str:
        return f"seat {self.seat} of {self.game}, looked back on with {self.agent}, margin {self.margin:.3g}"

    def __str__(self) -> str:
        if not self.rows:
            return f"{self._title()}: it decided nothing"
        sentences = "\n".join(f"{row['move']:>3}. {row['verdict']}: {row['sentence']}" for row in self.rows)
        return f"{self._title()}\n\n{aligned(self._texts())}\n\n{sentences}"

    def __repr__(self) -> str:
        number = f"{len(self.rows)} decision{'s' * (len(self.rows) != 1)}"
        counts = ", ".join(f"{count} {verdict}" for verdict, count in self.counts().items())
        return f"<Review: seat {self.seat} of {self.game}, {number}{': ' * bool(counts)}{counts}>"

    def _repr_html_(self) -> str:
        rows = [{**row, "why": long["sentence"]} for row, long in zip(self._texts(), self.rows, strict=True)]
        return html_table(rows, self._title())


def _text(name: str, value: Any) -> str:
    if value is None:
        return "-"
    if name == "truth":
        return f"{value:.2g}" if value < 0.001 else f"{value:.1%}"
    return f"{value:+.3f}" if isinstance(value, float) else str(value)


def review(
    game: str | Game | State,
    actions: Sequence[int | str] | None = None,
    seat: int = 0,
    agent: AgentLike = DEFAULT_AGENT,
    *,
    margin: float = DEFAULT_MARGIN,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> Review:
    """Look back on a game: a verdict on each decision of a seat, by an agent that knows what the seat knew.

    Give a game and all its actions, as numbers or names, outcomes of chance included, or the state at its end. `margin`
    is a share of the range of payoffs: smaller differences do not count. With a budget in iterations, the verdicts
    follow from the seed. `progress` is called with the decisions done and their number.

        >>> state = fl.new_state("kuhn_poker")
        >>> for name in ("king", "queen", "bet", "call"):
        ...     state.play(state.parse_action(name))
        >>> fl.review(state, seat=0, agent="pimc(iterations=2000)").counts()
        {'good': 1}
        >>> fl.review("kuhn_poker", ["jack", "king", "bet", "fold"], 1, "pimc(iterations=2000)").rows[0]["verdict"]
        'decision'
    """
    if seed < 0:
        raise BadInput(f"seed must be at least 0, not {seed}")
    end = _played(game, actions)
    if not 0 <= seat < end.num_players:
        raise BadInput(f"{end.game} has seats 0 to {end.num_players - 1}, not {seat}")
    history, state, decisions = end.history(), new_state(end.game), []
    for step, action in enumerate(history):
        if state.player == seat:
            decisions.append(step)
        state.play(action)
    rows = []
    with opened([agent]) as (asked,):
        judge = Judge(Knowledge(end.game, seat), asked, margin, seed, agent if isinstance(agent, str) else str(asked))
        for number, step in enumerate(decisions):
            rows.append({"move": number + 1, **judge.row(replay(end.game, history[:step]), history[step])})
            if progress is not None:
                progress(number + 1, len(decisions))
        return Review(str(end.game), seat, judge.name, judge.margin, rows)


def _played(game: Any, actions: Sequence[int | str] | None) -> State:
    """The state that a game is looked back on from."""
    if actions is None:
        try:
            return as_state(game)
        except BadInput:
            raise BadInput("give a game with all its actions, or the state at its end") from None
    if isinstance(game, State):
        raise BadInput("give a game with its actions, or a state without them")
    state = new_state(game)
    for action in actions:
        state.play(state.parse_action(action) if isinstance(action, str) else action)
    return state


class _Value(NamedTuple):
    """An estimate."""

    mean: float
    error: float  # its standard error

    def exceeds(self, other: "_Value", margin: float) -> bool:
        """Whether it is larger by more than the margin, as far as the standard errors tell."""
        return self.mean - other.mean > margin + _ERRORS * math.hypot(self.error, other.error)


class Judge:
    """Judges decisions of one seat in the order in which they were made.

    `knowledge` is what the seat knows so far, and follows the game. `margin` is a share of the range of payoffs. `warm`
    says that the agent's kernels are loaded, so that it need not decide once for that.
    """

    def __init__(
        self, knowledge: Knowledge, agent: Agent, margin: float, seed: int, name: str, warm: bool = False
    ) -> None:
        if not agent.gives_reasons:
            raise BadInput(f"{name} does not say why it plays what it plays; ask one that searches, such as epimc")
        if not 0.0 <= margin <= 1.0:
            raise BadInput(f"margin must be a share of the range of payoffs, from 0 to 1, not {margin}")
        self._knowledge, self._agent, self._seed, self.name = knowledge, agent, seed, name
        self._who = name.partition("(")[0]
        self._range = _range(knowledge.game)
        self.margin = margin * self._range
        self._seat = Seat(agent, knowledge.game, knowledge.seat, seed)
        self._leaf: Any = (
            minimax(knowledge.game) if getattr(agent, "leaf", "") == "minimax" else rollout(knowledge.game)
        )
        self._samples = _SAMPLES if isinstance(knowledge.game, tuple) else _SAMPLES_INTERPRETED
        self._warm = warm or not agent.time

    def row(self, state: State, action: int) -> dict[str, Any]:
        """The verdict on the action that the seat played in this state, as plain data."""
        seat, played, actions = state.player, state.action_text(action), state.actions()
        row: dict[str, Any] = dict.fromkeys(("best", "value_played", "value_best"), None)
        row |= dict.fromkeys(("belief_played", "truth_played", "truth_best", "truth", "worlds", "exact"), None)
        row |= {"step": len(state.history()), "seat": seat, "played": played}
        observations = state.observations(seat)
        self._seat.tell(observations)
        for code in observations[len(self._knowledge.observations) :]:
            self._knowledge.observe(code)
        try:
            worlds = self._knowledge.worlds(to_move=True)
            row["worlds"], row["exact"] = len(worlds.weights), worlds.exact
            row["truth"] = self._knowledge.share(state.world, to_move=True)
        except BeliefLost:
            worlds = None
        if len(actions) == 1:
            return row | {"best": played, "verdict": "forced", "sentence": f"{played} is the only legal move."}
        best, values = self._asked(actions, action)
        row["best"] = state.action_text(best)
        random = generator(seed_of(self._seed, len(observations)))

        def tried(choice: int, where: Any, weights: Any) -> _Value:
            return self._tried(choice, where, weights, random)

        if values is None and worlds is not None and best != action:  # it does not say what actions are worth
            values = tried(action, worlds.rows, worlds.weights), tried(best, worlds.rows, worlds.weights)
        if values is not None:
            row["value_played"], row["value_best"] = values[0].mean, values[1].mean
            if values[1].exceeds(values[0], self.margin):
                sentence = (
                    f"{self._who}, with the same belief, plays {row['best']} for {values[1].mean:+.2f}; "
                    f"{played} is worth {values[0].mean:+.2f}."
                )
                return row | {"verdict": "decision", "sentence": sentence}
        if worlds is not None:
            over = tried(action, worlds.rows, worlds.weights)
            true: Any = state.world[None] if isinstance(state.world, np.ndarray) else [state.world]
            one = np.ones(1)
            there = tried(action, true, one)
            row["belief_played"], row["truth_played"] = over.mean, there.mean
            if over.exceeds(there, self.margin):
                others = [other for other in actions if other != action]
                better = max(others, key=lambda other: tried(other, true, one).mean)
                value, again = tried(better, true, one), tried(action, true, one)
                if value.exceeds(again, self.margin):
                    row["truth_best"] = value.mean
                    return row | self._unlucky(row, state, over, there, state.action_text(better), value)
        return row | {"verdict": "good", "sentence": self._good(row, best == action, values)}

    def _asked(self, actions: list[int], played: int) -> tuple[int, tuple[_Value, _Value] | None]:
        """What the agent plays, and what the action played and its own are worth; None if it does not say that."""
        agent = self._agent
        if not self._warm:
            agent.act(list(actions))  # compiles and loads kernels, so that the next call uses its time for search
            self._warm = True
        agent.seed = self._seed
        best = agent.act(list(actions))
        if best not in actions:
            raise BadInput(f"{self.name} plays {best!r}, which is not legal")
        agent.seed = seed_of(self._seed, 1)  # other random numbers
        agent.act(list(actions))
        why = agent.explain()
        values = []
        for action in (played, best):
            place = why.actions.index(action)
            visits = why.visits[place]
            if math.isnan(why.values[place]) or not visits:
                return int(best), None
            values.append(_Value(float(why.values[place]), 0.5 * self._range / math.sqrt(visits)))
        return int(best), (values[0], values[1])

    def _tried(self, action: int, rows: Any, weights: np.ndarray, random: np.ndarray) -> _Value:
        """The value of an action in these worlds."""
        n, totals = self._samples, np.zeros(2)
        try_action(self._knowledge.game, self._leaf, rows, weights, action, random, n, totals)
        mean = totals[0] / n
        return _Value(float(mean), math.sqrt(max(0.0, totals[1] / n - mean * mean) / (n - 1)))

    def _unlucky(
        self, row: dict[str, Any], state: State, over: _Value, there: _Value, better: str, value: _Value
    ) -> dict[str, Any]:
        worth = f"{row['played']} was worth {over.mean:+.2f} by the belief, but {there.mean:+.2f} as things were"
        was = f"{worth}, where {better} was worth {value.mean:+.2f}"
        if not self._knowledge.is_misled(state.world, to_move=True):
            return {"verdict": "luck", "sentence": f"{was}."}
        share = row["truth"]
        held = "no world of the sample was like it" if share is None else f"it held that for {share:.1%} likely"
        less = "" if share is None else f", less than half of {1 / row['worlds']:.1%}, the share of an average world"
        return {"verdict": "belief", "sentence": f"{was}; the belief was misled: {held}{less}."}

    def _good(self, row: dict[str, Any], same: bool, values: tuple[_Value, _Value] | None) -> str:
        if same:
            return f"{self._who} plays {row['best']}, too."
        if values is None:
            return f"{self._who} plays {row['best']}; nothing says that {row['played']} is worse."
        gain = values[1].mean - values[0].mean
        if gain <= 0.0:
            return f"{self._who} plays {row['best']}, which is worth no more."
        if gain <= self.margin:
            return f"{self._who} plays {row['best']} for {gain:.2f} more, less than the margin of {self.margin:.3g}."
        return f"{self._who} plays {row['best']}, but its search was too short to tell whether that is better."


def _range(game: Game) -> float:
    """The range of payoffs: as the game says, or as some random games show."""
    said = bounds(game)
    if math.isfinite(said.high - said.low):
        return max(said.high - said.low, 1e-9)
    random, seen = Random(0), []
    for _ in range(_GAMES):
        state = new_state(game)
        while state.actions():
            state.play(random.choice(state.actions()))
        seen += state.returns()
    return max(max(seen) - min(seen), 1e-9)
