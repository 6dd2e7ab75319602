"""Search speed: IS-MCTS beside OpenSpiel's C++, and EPIMC beside bare playouts, on one core in one run.

IS-MCTS is measured in simulations per second over whole decisions, at the first decision after a random deal; our
sampling of worlds is included. OpenSpiel's `ISMCTSBot` gets one rollout per leaf, as ours does. EPIMC samples paths of
three decisions and solves them; the playouts start from the true world of the same position. The sides take turns,
several times, and each one's best rate counts, since noise only ever slows a measurement.
"""

import random
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from foglight.agents import Seat, load_agent
from foglight.bench.figures import Figure, check_seconds, dealt, load_peer, race
from foglight.bench.rollouts import CASES
from foglight.playouts import random_playouts
from foglight.randomness import generator
from foglight.search.belief import Belief
from foglight.search.leaves import rollout
from foglight.search.paths.information_set_search import search
from foglight.search.paths.sampling import new_paths, sample
from foglight.state import State, new_state

DEALT = ["leduc_poker", "oh_hell(players=3,suits=3,ranks=4,tricks=3)"]
OPEN = ["phantom_ttt", "dark_hex(rows=4,cols=4)", "dark_chess(size=4)"]
SIMULATIONS = 10_000  # per decision
DEPTH, INTO = 3, 4  # decisions per path; actions before the position
TIMES, SHARE = 3.0, 0.6  # the bars: least ratios of IS-MCTS to OpenSpiel, and of EPIMC to playouts


def run(seconds: float = 0.5) -> Iterator[Figure]:
    """Measure every case; each side takes about `seconds` per round."""
    check_seconds(seconds)
    for game in DEALT:
        for observers in ("single", "multi"):
            state = dealt(game)
            mine = _decisions(state, f"ismcts(iterations={SIMULATIONS},observers={observers})")
            ours, theirs = race([mine, _peer_decisions(state, CASES[game])], seconds)
            what = f"ismcts({observers}), {game}"
            yield Figure(what, ours * SIMULATIONS, "/s", "ISMCTSBot", theirs * SIMULATIONS, times=TIMES)
    for game in OPEN:
        state = _inside(game)
        ours, plain = race([_searches(state), partial(_playouts, state)], seconds)
        what = f"epimc(depth={DEPTH}), {game}"
        yield Figure(what, ours * SIMULATIONS, "/s", "playouts", plain * SIMULATIONS, times=SHARE)


def _inside(game: str) -> State:
    """A position after a few random actions, always the same."""
    state, rng = new_state(game), random.Random(0)
    for _ in range(INTO):
        state.play(rng.choice(state.actions()))
    return state


def _decisions(state: State, agent: str) -> Callable[[int], Any]:
    loaded, actions = load_agent(agent), state.actions()
    Seat(loaded, state.game, state.player, 0, state.observations(state.player))
    return lambda n: [loaded.act(actions) for _ in range(n)]


def _peer_decisions(state: State, name: str) -> Callable[[int], Any]:
    there = load_peer(name).new_initial_state()
    for action in state.history():
        there.apply_action(action)
    bot = _peer_bot()
    return lambda n: [bot.step(there) for _ in range(n)]


def _peer_bot() -> Any:
    import pyspiel

    most_visits = pyspiel.ISMCTSFinalPolicyType.MAX_VISIT_COUNT
    evaluator = pyspiel.RandomRolloutEvaluator(1, 0)  # one rollout, seed 0
    return pyspiel.ISMCTSBot(0, evaluator, 1.0, SIMULATIONS, -1, most_visits, False, False)


def _searches(state: State) -> Callable[[int], Any]:
    belief = Belief(state.game, state.player, 20_000, 0)
    for observation in state.observations(state.player):
        belief.observe(observation)
    worlds, leaf, draws = belief.worlds(), rollout(state.game), generator(0)

    def searches(n: int) -> None:
        for _ in range(n):
            paths = new_paths(SIMULATIONS, DEPTH, state.num_players)
            sample(state.game, leaf, worlds.rows, worlds.weights, draws, 0, SIMULATIONS, paths)
            search(paths, state.player)

    return searches


def _playouts(state: State, n: int) -> None:
    for _ in range(n):
        random_playouts(state, SIMULATIONS)
