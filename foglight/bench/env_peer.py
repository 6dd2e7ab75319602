"""Random play in other libraries' environments, for `foglight bench env`. It runs in a Python that has them.

    python env_peer.py LIBRARY GAME ENVS SECONDS

prints {"library": name and version, "rate": steps per second}, or {"missing": name}. A second is one of processor time,
of all threads together, so that other work on the machine does not count. It imports no foglight.

pgx       a loop compiled by JAX: a random action by the mask, a step with its observation, a new game after an end
envpool   calls of `step` alone, on one thread: masks and observations included, the choice of actions not
openspiel `rl_environment`, one game after the other: with observations and legal actions
shimmy    PettingZoo's protocol around OpenSpiel: `last`, a random action by the mask, `step`
"""

import json
import os
import random
import sys
import time
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

ROUNDS = 3  # of which the best counts


def best_rate(play: Callable[[int], float], steps: int, seconds: float) -> float:
    """Steps per second; `play(n)` plays n times `steps` steps and returns the seconds that they took."""
    play(1)
    n, elapsed = 1, play(1)
    while elapsed < seconds / 4:
        n *= 2
        elapsed = play(n)
    return max(n * steps / play(n) for _ in range(ROUNDS))


def whole(play: Callable[[Any], Any]) -> Callable[[Any], float]:
    """The processor time of all that a call does."""

    def timed(n: Any) -> float:
        begin = time.process_time()
        play(n)
        return time.process_time() - begin

    return timed


def pgx_rate(game: str, envs: int, seconds: float) -> float:
    os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
    import jax
    import pgx
    from pgx.experimental import auto_reset

    env = pgx.make(game)
    step = jax.vmap(auto_reset(env.step, env.init))
    rounds = 64

    def turn(state: Any, key: Any) -> Any:
        choice, chance = jax.random.split(key)
        actions = jax.random.categorical(choice, jax.numpy.log(state.legal_action_mask.astype(jax.numpy.float32)))
        state = step(state, actions, jax.random.split(chance, envs))
        return state, (state.rewards, state.terminated)

    @jax.jit
    def loop(state: Any, key: Any) -> Any:
        state, seen = jax.lax.scan(turn, state, jax.random.split(key, rounds))
        return state, (seen[0].sum(), seen[1].sum(), state.observation.sum())

    state = jax.jit(jax.vmap(env.init))(jax.random.split(jax.random.PRNGKey(0), envs))

    def play(n: int) -> None:
        nonlocal state
        for i in range(n):
            state, seen = loop(state, jax.random.PRNGKey(i))
            jax.block_until_ready(seen)

    return best_rate(whole(play), envs * rounds, seconds)


def envpool_rate(game: str, envs: int, seconds: float) -> float:
    import envpool

    env = envpool.make(game, env_type="gymnasium", num_envs=envs, num_threads=1)
    mask = env.reset()[1]["legal_action_mask"]
    rng = np.random.default_rng(0)

    def play(n: int) -> float:
        nonlocal mask
        elapsed = 0.0
        for _ in range(n):
            actions = np.argmax(mask * rng.random(mask.shape, np.float32), axis=1).astype(np.int32)
            begin = time.process_time()
            mask = env.step(actions)[4]["legal_action_mask"]
            elapsed += time.process_time() - begin
        return elapsed

    return best_rate(play, envs, seconds)


def openspiel_rate(game: str, envs: int, seconds: float) -> float:
    from open_spiel.python import rl_environment

    env = rl_environment.Environment(game)
    steps, now = 100, env.reset()

    def play(n: int) -> None:
        nonlocal now
        for _ in range(n * steps):
            if now.last():
                now = env.reset()
            mover = now.observations["current_player"]
            now = env.step([random.choice(now.observations["legal_actions"][mover])])

    return best_rate(whole(play), steps, seconds)


def shimmy_rate(game: str, envs: int, seconds: float) -> float:
    import pyspiel
    from shimmy.openspiel_compatibility import OpenSpielCompatibilityV0

    env = OpenSpielCompatibilityV0(pyspiel.load_game(game))
    env.reset(seed=0)
    steps = 100

    def play(n: int) -> None:
        for _ in range(n * steps):
            _, _, ended, cut, info = env.last()
            env.step(None if ended or cut else random.choice(np.flatnonzero(info["action_mask"]).tolist()))
            if all(env.terminations.values()):
                env.reset()

    return best_rate(whole(play), steps, seconds)


RATES = {"pgx": pgx_rate, "envpool": envpool_rate, "openspiel": openspiel_rate, "shimmy": shimmy_rate}
PACKAGES = {"openspiel": "open_spiel"}


def main(library: str, game: str, envs: str, seconds: str) -> None:
    try:
        name = f"{library} {version(PACKAGES.get(library, library))}"
        answer: dict[str, Any] = {"library": name, "rate": RATES[library](game, int(envs), float(seconds))}
    except (ImportError, PackageNotFoundError):
        answer = {"missing": library}
    sys.stdout.write(json.dumps(answer) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
