"""Twins: an agent in two games that look the same to its seat, and differ in what is hidden from it.

At a random position, histories are drawn that the seat to move cannot tell from the true one. The referee plays the
true history and its twins with the same seed. What the agent answers must not differ: its action, its probabilities,
its explanation, and what a person is shown. Half of the twins are followed from the start, with a question at every
decision on the way; half are resumed at the position, as a match is. A pair counts if the two worlds differ. An agent
whose answer is another one where the true history is resumed does not peek, but replaying the observations does not
restore it: such positions are counted apart.

The twins are drawn by history filtering, or found by plain search where a filter would need too many worlds. At every
fourth position the same agent sits on all seats, so that what one instance knows might reach another.
"""

import functools
import random
import shlex
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from foglight.agents import Agent, AgentLike, Explanation, agent_names, load_agent
from foglight.agents.human import Human
from foglight.arena.referee import Referee, warm_up
from foglight.checks.alike import some_alike
from foglight.checks.positions import Play, Position
from foglight.games import game_names, load_game
from foglight.names import BadInput, Spec, parse_spec
from foglight.rules import Game, num_players
from foglight.solving.solver import solve
from foglight.worlds.filter import history_filter

SIZES = {"goofspiel": ("goofspiel(cards=5)", "goofspiel"), "dark_chess": ("dark_chess(size=4)", "dark_chess")}
SOLVED = {  # sizes at which a game is solved for the agent that plays a policy
    "dark_hex": "dark_hex(rows=2,cols=2)",
    "goofspiel": "goofspiel(cards=4)",
    "battleship": "battleship(width=2,height=2,ships=[1],shots=2)",
    "three_sat": "three_sat(variables=3,clauses=2)",
}
UNSOLVED = ("card_game", "dark_chess", "hearts", "oh_hell", "phantom_ttt", "rbc", "spades")  # too large at any size
OPTIONS = {  # small budgets: what is compared is not how strong an agent is
    "engine": ("engine",),
    "epimc": ("epimc(iterations=8,cap=200)", "epimc(depth=2,iterations=8,cap=200,subgame=iss)"),
    "iimc": ("iimc(iterations=8,cap=200)",),
    "ismcts": ("ismcts(iterations=8,cap=200)",),
    "oos": ("oos(iterations=8,cap=200)",),
    "particle_resolving": ("particle_resolving(network=none,particles=20,depth=1,iterations=2)",),
    "pimc": ("pimc(iterations=8,cap=200)",),
    "policy": ("policy",),
    "scout": ("scout(engine=none,sample=10,cap=100)",),
}
LONGEST = {"dark_chess": 20, "rbc": 24}  # actions before a position; beliefs of long games take seconds
ENGINE = "pimc(iterations=8,cap=200)"  # the agent that another process plays, in these games
IN_PROCESSES = ("kuhn_poker", "leduc_poker", "phantom_ttt", "dark_hex")
_TWINS = 16  # at one position
_LISTED = 5000  # worlds up to which a filter is used where layers of them have to be kept
_SHOWN = 5  # findings that are kept of a cell


def cells(pairs: int, seconds: float, seed: int, agent: str = "", game: str = "") -> dict[str, dict[str, Any]]:
    """One cell for each agent and game, or only for those given; it ends after so many pairs or seconds."""
    limits = {"pairs": pairs, "seconds": seconds, "seed": seed}
    return {
        f"{one} in {where}, {pairs} pairs, {seconds:g} s, seed {seed}": {"agent": one, "game": where, **limits}
        for one, where in combinations()
        if agent in ("", one, parse_spec(one).name) and game in ("", where, parse_spec(where).name)
    }


def combinations() -> Iterator[tuple[str, str]]:
    """Every native agent with every native game that it plays."""
    agents = [agent for name in agent_names() for agent in OPTIONS.get(name, (name,))]
    for game in game_names():
        for agent in agents:
            if agent == "policy":
                yield from [(agent, SOLVED.get(game, game))] if game not in UNSOLVED else []
                continue
            if agent == "engine":
                yield from [(agent, game)] if game in IN_PROCESSES else []
                continue
            for where in SIZES.get(game, (game,)):
                with suppress(BadInput):
                    load_agent(agent).check(load_game(where))
                    yield agent, where


def work(agent: str, game: str, pairs: int, seconds: float, seed: int) -> dict[str, Any]:
    """The pairs that were compared and the seconds of the processor they took."""
    made = _policy(game) if agent == "policy" else _engine() if agent == "engine" else agent
    return compare(made, game, pairs, seconds, seed)


def table(results: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """A row for each agent and game."""
    return [
        {
            "agent": cell.partition(" in ")[0],
            "game": cell.partition(" in ")[2].rpartition(", ")[0].rpartition(", ")[0].rpartition(", ")[0],
            "positions": result["positions"],
            "pairs": result["pairs"],
            "different": result["different"],
            "unrestored": result["unrestored"],
            "seconds": "cannot be played" if "refused" in result else result["seconds"],
        }
        for cell, result in results.items()
    ]


def compare(agent: AgentLike, game: str | Game, pairs: int, seconds: float = 60.0, seed: int = 0) -> dict[str, Any]:
    """Compare an agent's answers in pairs of twins until there are so many, or after so many seconds of the processor.

    `agent` is a text or a class. The findings name the seat, the two histories and the two answers.
    """
    loaded = load_game(game)
    play, seats = Play(loaded, isinstance(loaded, tuple)), int(num_players(loaded))
    found: dict[str, Any] = {
        "positions": 0,
        "pairs": 0,
        "different": 0,
        "unrestored": 0,
        "seconds": 0.0,
        "findings": [],
    }
    with ExitStack() as stack:
        crew = [[stack.enter_context(_made(agent)) for _ in range(seats)] for _ in range(2)]
        others = [stack.enter_context(load_agent("first_legal")) for _ in range(seats)]
        try:
            crew[0][0].start(loaded, 0, seed)
        except BadInput as error:  # `check` cannot tell for every agent
            return {**found, "refused": str(error)}
        if not crew[0][0].at_terminal:
            warm_up(loaded, crew[0])
        begun = time.process_time()
        number = 0
        while found["pairs"] < pairs and time.process_time() - begun < seconds:
            rng = random.Random(f"{agent} {loaded} {seed} {number}")
            position = _position(play, rng)
            twins = list(_twins(play, position, rng)) if position is not None else []
            found["positions"] += bool(twins)
            for i, twin in enumerate(twins if position is not None else ()):
                assert position is not None
                seat = position.mover
                one, two = (
                    own if number % 4 == 0 else [*others[:seat], own[seat], *others[seat + 1 :]] for own in crew
                )
                if i == 0:
                    true = position.history
                    expected = [_followed(loaded, one, seat, seed + number, true, live) for live in (true, ())]
                    if expected[0][-1][1] != expected[1][-1][1]:
                        found["unrestored"] += 1
                        if len(found["findings"]) < _SHOWN:
                            what = f"seat {seat}, seed {seed + number}, after {list(true)}"
                            found["findings"].append(f"{what}: another answer if the game is resumed there")
                answers = _followed(loaded, two, seat, seed + number, twin, () if i % 2 else twin)
                for (world, answer), (other, given) in zip(expected[i % 2], answers, strict=True):
                    if np.array_equal(world, other):
                        continue
                    found["pairs"] += 1
                    if answer != given:
                        found["different"] += 1
                        if len(found["findings"]) < _SHOWN:
                            what = f"seat {seat}, seed {seed + number}: {answer} after {list(position.history)}"
                            found["findings"].append(f"{what}, but {given} after {list(twin)}")
                if found["pairs"] >= pairs or time.process_time() - begun > seconds:
                    break
            number += 1
            if number >= 200 and not found["pairs"]:
                break  # in this game, the seat that moves knows everything
        found["seconds"] = time.process_time() - begun
    return found


def _made(agent: AgentLike) -> Agent:
    """An agent, which if it is a person writes some commands and then the first move."""
    made = load_agent(agent)
    if isinstance(made, Human):
        made = _Reader()
    return made


class _Reader(Human):
    """Somebody who reads all that the terminal shows, and plays the first legal move."""

    def __init__(self) -> None:
        super().__init__()
        self.shown: list[str] = []
        self.tell = lambda what: self.shown.append(str(what))
        self.ask = self._write

    def act(self, actions: Sequence[int] | None = None) -> int:
        self.shown = []
        self._orders = ["/moves", "/history", "nonsense"]
        return super().act(actions)

    def _write(self, prompt: str) -> str:
        self.shown.append(prompt)
        return self._orders.pop(0) if self._orders else self._names()[0]


def _position(play: Play, rng: random.Random) -> Position | None:
    """A random position of a random game at which a seat has a choice; None if this game has none."""
    longest = LONGEST.get(parse_spec(str(play.game)).name, 200)
    inner = [at for at in play.random_game(rng, longest) if at.mover >= 0 and len(at.actions) > 1]
    return rng.choice(inner) if inner else None


def _twins(play: Play, position: Position, rng: random.Random) -> Iterator[tuple[int, ...]]:
    """Other histories that the seat to move cannot tell from that of the position, in which it is to move too."""
    seat = position.mover
    drawn: list[tuple[int, ...]] = []
    try:
        histories = history_filter(play.game, position.seen_by(seat), seat, mover=seat, limit=_LISTED)
        drawn = [tuple(state.history()) for state in histories.sample(_TWINS, seed=rng.randrange(2**30))]
    except BadInput:  # too many worlds to list
        drawn = [other.history for other in some_alike(play, position, seat, rng, _TWINS)]
    yield from (history for history in dict.fromkeys(drawn) if history != position.history)


def _followed(
    game: Game, agents: Sequence[Agent], seat: int, seed: int, history: Sequence[int], live: Sequence[int]
) -> list[tuple[Any, str]]:
    """The true world and the seat's answer at each of its decisions in the history's `live` part, and at its end."""
    referee = Referee(game, agents, seed, actions=history[: len(history) - len(live)])
    answers = []
    for action in (*live, None):
        state = referee._state
        if state.player == seat and (len(state.actions()) > 1 or action is None):
            answers.append((state.world, _answer(referee, agents[seat], state.actions())))
        if action is not None:
            referee.play(action)
    return answers


def _answer(referee: Referee, agent: Agent, actions: list[int]) -> str:
    """All that an agent says at its decision, as text."""
    parts: list[Any] = [referee.ask()]
    if agent.gives_reasons:
        parts.append(_reasons(agent.explain()))
    if type(agent).probabilities is not Agent.probabilities:
        parts.append(np.asarray(agent.probabilities(actions)).tolist())
    if isinstance(agent, _Reader):
        parts.append(agent.shown)
    return "; ".join(map(str, parts))


def _reasons(explanation: Explanation) -> dict[str, Any]:
    return {name: value for name, value in asdict(explanation).items() if name != "seconds"}


@functools.cache
def _policy(game: str) -> Spec:
    """The agent that plays a policy of this game, solved here."""
    folder = tempfile.mkdtemp(prefix="foglight-twins-")
    file = Path(folder) / "policy.npz"
    solve(game, iterations=20).save(file)
    return Spec("policy", (("file", str(file)),))


def _engine() -> Spec:
    """An agent in another process."""
    return Spec("engine", (("command", shlex.join([sys.executable, "-m", "foglight", "engine", ENGINE])),))
