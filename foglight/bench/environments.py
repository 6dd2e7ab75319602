"""Steps per second of environments in random play, on one core, beside those of other libraries; and how much of an
information state their vectors keep.

A step is one decision in one game, chance included. Seconds are of processor time, of all threads together, since
machines are busy. pgx, EnvPool, OpenSpiel and shimmy are no dependencies: `--peer` names a Python that has them, and
`env_peer.py` is run there. Where a library lacks the game, the nearest one that it has is named.
"""

import importlib.util
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from foglight.bench.env_peer import best_rate, whole
from foglight.bench.figures import Figure, Row, check_seconds, output_of
from foglight.environments.vectorised import Masks, Shown, vector_env
from foglight.games import game_names, load_game
from foglight.names import BadInput
from foglight.rules import key

SCRIPT = str(Path(__file__).with_name("env_peer.py"))
SECTIONS = ("rates", "vectors", "all")
BAR = 20e6  # steps per second in Phantom Tic-Tac-Toe
LOOP, CALLS, PETTINGZOO = "a compiled loop", "calls of step", "PettingZoo's protocol, one game"
VECTORS = "information states of the seat to move in random games, and their vectors"
_ROUNDS = 100  # of a compiled loop in one call
_STATES = 10_000  # decisions from which information states are taken

# our game: the games of other libraries
CASES: dict[str, dict[str, str]] = {
    "phantom_ttt": {"pgx": "tic_tac_toe", "envpool": "TicTacToe-v1", "openspiel": "phantom_ttt"},
    "kuhn_poker": {"pgx": "kuhn_poker", "envpool": "KuhnPoker-v1", "openspiel": "kuhn_poker"},
    "leduc_poker": {"pgx": "leduc_holdem", "envpool": "LeducHoldem-v1", "openspiel": "leduc_poker"},
    "dark_hex(rows=4,cols=4)": {"openspiel": "dark_hex(num_rows=4,num_cols=4)"},
    "dark_chess": {"openspiel": "dark_chess"},
    "hearts": {"openspiel": "hearts"},
}

Tasks = list[tuple[str, Callable[[], Sequence[Row]]]]


@dataclass(frozen=True)
class Vectors(Row):
    """How many of the information states in random games have a vector that no other of them has."""

    game: str
    size: int  # of a vector
    information_states: int
    distinct: float  # the share, in per cent, whose vector is their own
    with_recall: float  # the same if the last eight observations are added


def tasks(section: str, games: Sequence[str] | None, envs: int, seconds: float, peer: str | None) -> Tasks:
    """The tasks, each with the title of its table; `peer` is a Python that has other libraries, or None."""
    check_seconds(seconds)
    if section not in SECTIONS:
        raise BadInput(f"there is no section {section!r}; choose from {', '.join(SECTIONS)}")
    has_pettingzoo = importlib.util.find_spec("pettingzoo") is not None
    title = f"steps per second of processor time, random play, {envs} games at once"
    made: Tasks = []
    if section != "vectors":
        names = [_case(game) for game in games or CASES]
        made += [(title, partial(_loops, name, envs, seconds, peer)) for name in names]
        made += [(title, partial(_calls, name, envs, seconds, peer)) for name in names]
        made += [(title, partial(_pettingzoo, name, seconds, peer)) for name in names if has_pettingzoo]
    if section != "rates" and has_pettingzoo:
        made += [(VECTORS, partial(_vectors, name)) for name in games or game_names()]
    if not made:
        raise BadInput("vectors are counted by PettingZoo's protocol; pip install 'foglight[pettingzoo]'")
    return made


def _case(game: str) -> str:
    """The name of a game among the cases, if it is one of them."""
    return next((case for case in CASES if load_game(case) == load_game(game)), game)


def _loops(game: str, envs: int, seconds: float, peer: str | None) -> list[Figure]:
    """The compiled loop: the row says what it computes at each step."""
    bar = BAR if game == "phantom_ttt" else None
    rates = [_loop(game, envs, seconds, *kind) for kind in (("bits", "none"), ("bool", "none"), ("bool", "mover"))]
    theirs, rate = _peer(peer, "pgx", game, envs, seconds)
    return [
        Figure(f"{game}: {LOOP}, masks as bits", rates[0], "/s", at_least=bar),
        Figure(f"{game}: {LOOP}, masks as bool", rates[1], "/s", at_least=bar),
        Figure(f"{game}: {LOOP}, masks as bool, observations", rates[2], "/s", theirs, rate, at_least=bar),
    ]


def _loop(game: str, envs: int, seconds: float, masks: Masks, observations: Shown) -> float:
    env = vector_env(game, envs, observations=observations, masks=masks)
    env.reset()
    return best_rate(whole(lambda n: env.play_random(n * _ROUNDS)), envs * _ROUNDS, seconds)


def _calls(game: str, envs: int, seconds: float, peer: str | None) -> list[Figure]:
    """Calls from Python, actions drawn outside: the time is that of `step` alone."""
    env = vector_env(game, envs)
    env.reset()
    step = whole(env.step)

    def play(n: int) -> float:
        return sum(step(env.sample()) for _ in range(n))

    ours = best_rate(play, envs, seconds)
    peers = [_peer(peer, library, game, envs, seconds) for library in ("envpool", "openspiel")]
    measured = [one for one in peers if one[1] is not None] or peers[:1]
    return [Figure(f"{game}: {CALLS}, masks as bool, observations", ours, "/s", *one) for one in measured]


def _pettingzoo(game: str, seconds: float, peer: str | None) -> list[Figure]:
    from foglight.environments.aec import GameEnv

    env, steps = GameEnv(game), 100
    env.reset(seed=0)

    def play(n: int) -> None:
        for _ in range(n * steps):
            seen, _, ended, _, _ = env.last()
            env.step(None if ended else random.choice(np.flatnonzero(seen["action_mask"]).tolist()))
            if all(env.terminations.values()):
                env.reset()

    ours = best_rate(whole(play), steps, seconds)
    theirs, rate = _peer(peer, "shimmy", game, 1, seconds)
    return [Figure(f"{game}: {PETTINGZOO}", ours, "/s", theirs, rate)]


def _vectors(game: str) -> list[Vectors]:
    from foglight.environments.aec import GameEnv

    counts = []
    for recall in (None, 8):
        env, rng = GameEnv(game, recall=recall), random.Random(0)
        states: dict[int, bytes] = {}  # by key of the information state, its vector
        env.reset(seed=0)
        for _ in range(_STATES):
            seen, _, ended, _, _ = env.last()
            if not ended:
                states[int(key(env.game, env.position().world, env.position().player))] = seen["observation"].tobytes()
            env.step(None if ended else rng.choice(np.flatnonzero(seen["action_mask"]).tolist()))
            if all(env.terminations.values()):
                env.reset()
        vectors = list(states.values())
        numbers = np.unique(np.frombuffer(b"".join(vectors), f"V{len(vectors[0])}"), return_counts=True)[1]
        counts.append((len(vectors[0]) // 4, len(states), 100.0 * int((numbers == 1).sum()) / len(states)))
    return [Vectors(game, counts[0][0], counts[0][1], counts[0][2], counts[1][2])]


def _peer(peer: str | None, library: str, game: str, envs: int, seconds: float) -> tuple[str, float | None]:
    """The name and the rate of another library in this game; no rate if it is missing or lacks the game."""
    theirs = CASES.get(game, {}).get("openspiel" if library == "shimmy" else library)
    if peer is None or theirs is None:
        return "", None
    answer = output_of([peer, SCRIPT, library, theirs, str(envs), str(seconds)])
    if "missing" in answer:
        return f"{library} is not installed", None
    return f"{answer['library']}, {theirs}", answer["rate"]
