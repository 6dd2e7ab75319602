"""Lines that an engine is sent: good conversations, with some lines made bad.

Each line must get one answer. A line that is refused must change nothing: the conversation without it is held again,
with another instance of the agent, and all other answers must be the same, byte for byte.
"""

import contextlib
import json
import random
from collections.abc import Callable, Iterator
from typing import Any

from foglight.agents import load_agent
from foglight.engine.pipe import converse
from foglight.games import load_game
from foglight.proofs.fuzz.changes import FINE, REFUSED, Input, changed, damaged, is_one_line, other_json
from foglight.rules import TERMINAL
from foglight.state import State

_AGENTS = ("random", "first_legal", "pimc(iterations=4,cap=50)", "ismcts(iterations=4,cap=50,reuse=yes)")
_GAMES = ("kuhn_poker", "phantom_ttt", "leduc_poker")
_BAD = 0.25  # share of the lines that are changed


@contextlib.contextmanager
def lines() -> Iterator[Input]:
    """Conversations with an engine."""

    def make(rng: random.Random) -> tuple[str, Callable[[], str]]:
        agent, game = rng.choice(_AGENTS), rng.choice(_GAMES)
        sent = [_changed(line, rng) if rng.random() < _BAD else line for line in conversation(game, rng)]
        sent = [part for line in sent for part in line.split(b"\n") if part.strip()]
        return f"{agent} {game} {sent}", lambda: _outcome(agent, game, sent)

    yield make


def conversation(game: str, rng: random.Random) -> list[bytes]:
    """What a server says to an engine on one seat of a random game."""
    state = State(load_game(game))
    seat, told = rng.randrange(state.num_players), 0
    said: list[dict[str, Any]] = [{"do": "hello", "id": 1}, {"do": "start", "seat": seat, "seed": rng.randrange(100)}]
    while state.player != TERMINAL and len(said) < 14:
        if state.player == seat:
            seen = state.observations(seat)
            if told < len(seen):
                texts = state.log(seat)
                said.append({"do": "observe", "observations": texts[told:] if rng.random() < 0.2 else seen[told:]})
                told = len(seen)
            said.append({"do": "act", "explain": rng.random() < 0.3, "movetime": rng.choice((1, 2.5)), "text": False})
            if rng.random() < 0.6:
                said[-1]["actions"] = state.actions()
            if rng.random() < 0.2:
                asked = [[at, actions] for at, actions in state.decisions(seat) if at < told]
                said.append({"do": "restore", "seat": seat, "seed": 3, "observations": seen, "decisions": asked})
        state.play(rng.choice(state.actions()))
    said += [{"do": "explain"}, {"do": "stop", "id": "x"}, {"do": "quit"}]
    return [json.dumps(request).encode() for request in said]


def _changed(line: bytes, rng: random.Random) -> bytes:
    way = rng.randrange(3)
    if way == 0:
        return damaged(line, rng)
    if way == 1:
        return changed(line.decode(), rng).encode("utf-8", "surrogateescape")
    return json.dumps(other_json(json.loads(line), rng)).encode()


def answers(agent: str, game: str, sent: list[bytes]) -> list[bytes]:
    """The answers of an engine in this process."""
    found: list[bytes] = []
    with load_agent(agent) as player:
        converse(player, load_game(game), sent, found.append)
    return found


def _outcome(agent: str, game: str, sent: list[bytes]) -> str:
    found = answers(agent, game, sent)
    read = [json.loads(answer) for answer in found]
    over = next((i for i, answer in enumerate(read) if answer.get("ok") == "quit"), len(sent) - 1)
    if len(found) != over + 1:
        return f"{len(found)} answers to {over + 1} lines"
    for answer in read:
        if ("ok" in answer) == ("error" in answer):
            return f"neither an answer nor an error: {answer}"
        if "error" in answer and (not is_one_line(answer["error"]) or "fails with" in answer["error"]):
            return f"not one helpful line: {answer['error']!r}"
    good = [i for i, answer in enumerate(read) if "ok" in answer]
    again = answers(agent, game, [sent[i] for i in good])
    if again != [found[i] for i in good]:
        return f"a line that was refused has changed something: {found} and {again}"
    return FINE if len(good) == len(read) else REFUSED
