"""foglight plays, solves and measures games in which players cannot see everything."""

import importlib
import importlib.util
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from foglight.agent_policies import agent_policy
from foglight.agents import Agent, Explanation, Seat, agent_names, load_agent
from foglight.arena.match import MatchResult, play_match
from foglight.arena.referee import IllegalAction, Record, Timing, play_game
from foglight.compile import constants, implements, jitable
from foglight.drawing.model import Drawing
from foglight.games import game_names, load_game
from foglight.names import BadInput, Between, OneOf
from foglight.playouts import random_playouts
from foglight.policies import Biased, Tabular, Uniform, tabular
from foglight.rules import CHANCE, NOTHING, PUBLIC, TERMINAL, Bounds, Game, game
from foglight.solving.solver import best_response, exploitability, game_value, nash_conv, policy_values, solve
from foglight.solving.whole.behaviour import behaviour_of
from foglight.solving.whole.plans import counterfactual_values, realised
from foglight.solving.whole.solved import Solved
from foglight.state import State, new_state, state_of
from foglight.version import __version__
from foglight.worlds.filter import HistoryFilter, belief, history_filter
from foglight.worlds.marginals import Marginals
from foglight.worlds.regeneration import BeliefLost
from foglight.worlds.sparsity import public_state_sizes
from foglight.worlds.tracker import Tracker, Worlds

if TYPE_CHECKING:
    from foglight.analysis import Analysis, analyse
    from foglight.arena.ratings import Rating, rate
    from foglight.arena.report import draw_tournament, draw_win_rates
    from foglight.arena.tournament import Tournament, play_tournament
    from foglight.bars import progress_bar
    from foglight.blind_chess.leaves import Centipawns
    from foglight.bridges.efg_export import export_game
    from foglight.bridges.openspiel_resampler import Resampler
    from foglight.checks.agent import check_agent
    from foglight.checks.game import check_game
    from foglight.checks.report import Checks, Fault
    from foglight.environments.vectorised import vector_env
    from foglight.exploiting import exploit
    from foglight.exploiting.bound import Bound
    from foglight.hindsight import Review, review
    from foglight.search.paths.fusion import strategy_fusion
    from foglight.search.sets.leaves import Even
    from foglight.search.sets.search import SetSearch
    from foglight.solving.depth_limited.resolving import opponent_values, resolve_safely, resolve_unsafely
    from foglight.solving.depth_limited.subgame import Evaluator, Function, Oracle, Subgames
    from foglight.solving.depth_limited.trunk import Trunk, TrunkJudge, solve_trunk, trunk_exploitability
    from foglight.solving.whole.policy_table import PolicyTable
    from foglight.solving.whole.q_learning import q_learning
    from foglight.values.networks.datasets import DatasetRequest
    from foglight.values.networks.evaluator import Network
    from foglight.values.networks.training import Training, TrainingSettings
    from foglight.values.trunk.generation import generate_dataset

_LATER = {  # modules of the names that are imported at their first use, which makes `import foglight` a third faster
    "foglight.analysis": ("Analysis", "analyse"),
    "foglight.arena.ratings": ("Rating", "rate"),
    "foglight.arena.report": ("draw_tournament", "draw_win_rates"),
    "foglight.arena.tournament": ("Tournament", "play_tournament"),
    "foglight.bars": ("progress_bar",),
    "foglight.blind_chess.leaves": ("Centipawns",),
    "foglight.bridges.efg_export": ("export_game",),
    "foglight.checks.agent": ("check_agent",),
    "foglight.checks.game": ("check_game",),
    "foglight.checks.report": ("Checks", "Fault"),
    "foglight.environments.vectorised": ("vector_env",),
    "foglight.exploiting": ("exploit",),
    "foglight.exploiting.bound": ("Bound",),
    "foglight.hindsight": ("Review", "review"),
    "foglight.search.paths.fusion": ("strategy_fusion",),
    "foglight.search.sets.leaves": ("Even",),
    "foglight.search.sets.search": ("SetSearch",),
    "foglight.solving.depth_limited.resolving": ("opponent_values", "resolve_safely", "resolve_unsafely"),
    "foglight.solving.depth_limited.subgame": ("Evaluator", "Function", "Oracle", "Subgames"),
    "foglight.solving.depth_limited.trunk": ("Trunk", "TrunkJudge", "solve_trunk", "trunk_exploitability"),
    "foglight.solving.whole.policy_table": ("PolicyTable",),
    "foglight.solving.whole.q_learning": ("q_learning",),
    "foglight.values.networks.datasets": ("DatasetRequest",),
    "foglight.values.networks.evaluator": ("Network",),  # needs PyTorch, as the next two do
    "foglight.values.networks.training": ("Training", "TrainingSettings"),
    "foglight.values.trunk.generation": ("generate_dataset",),
}


def as_openspiel_bot(agent: Any, game: Game, seat: int, seed: int = 0) -> Any:
    """An agent as a `pyspiel.Bot` for OpenSpiel's own loops. It uses only the observations of its seat.

    `agent` is a text, a class or an instance. `game` is a native game, or one of OpenSpiel's as `openspiel:NAME` or
    as a `pyspiel.Game`. The bot provides its policy: `get_policy` and `step_with_policy` give the probability of each
    legal action. Call `close()` on a bot whose agent has an engine.

        >>> bot = fl.as_openspiel_bot("first_legal", "kuhn_poker", seat=0)
        >>> import pyspiel
        >>> state = pyspiel.load_game("kuhn_poker").new_initial_state()
        >>> state.apply_action(2), state.apply_action(0)  # the king for seat 0, the jack for seat 1
        (None, None)
        >>> state.action_to_string(bot.step(state)), bot.step_with_policy(state)
        ('Pass', ([(0, 1.0), (1, 0.0)], 0))
    """
    from foglight.bridges import openspiel  # raises BadInput that says what to install, if OpenSpiel is missing
    from foglight.bridges.openspiel_bot import AgentBot

    assert openspiel
    return AgentBot(agent, game, seat, seed)


def pettingzoo_env(
    game: Game,
    opponents: Any = None,
    *,
    seed: int = 0,
    recall: int | None = None,
    render_mode: str | None = None,
) -> Any:
    """A game as an environment of PettingZoo, in which agents `seat_0`, `seat_1` ... act in turn (AEC).

    An observation has the vector `observation`, which is a function of the seat's information state, and `action_mask`.
    `opponents` are agents on other seats, by seat, which the environment plays itself. Chance is drawn from the seed:
    `reset(seed=...)` begins the first game of a seed, `reset()` the next one. `recall` adds so many of the seat's last
    observations to the vector; docs/environments.md says what that holds. `render_mode` is `ansi` or `human`: what the
    agent that is to move sees. An illegal action ends the game, with the lowest payoff for its seat and 0 for others.

        >>> env = fl.pettingzoo_env("kuhn_poker", opponents={1: "first_legal"}, render_mode="ansi")
        >>> env.reset(seed=0)
        >>> for agent in env.agent_iter():
        ...     observation, reward, terminated, truncated, info = env.last()
        ...     env.step(None if terminated else 1)  # bets, and the opponent folds
        >>> env.possible_agents, observation["observation"].shape, reward
        (['seat_0'], (11,), 1.0)
    """
    if missing := [name for name in ("gymnasium", "pettingzoo") if importlib.util.find_spec(name) is None]:
        raise BadInput(f"this environment needs {' and '.join(missing)}; install: pip install 'foglight[pettingzoo]'")
    from foglight.environments.aec import GameEnv

    return GameEnv(game, opponents, seed=seed, recall=recall, render_mode=render_mode)


def openspiel_resampler(game: Any, *, limit: int | None = None, policy: Any = None, seed: int = 0) -> "Resampler":
    """A function that draws states of OpenSpiel which a player cannot tell from a given one, from our belief.

    `game` is a `pyspiel.Game`, `openspiel:NAME`, or one of our games that OpenSpiel has too. The resampler takes a
    state, a player and, if you like, a source of random numbers, and gives another `pyspiel.State`: its history is
    legal, and the player has the same information in it. All such histories are equally likely, or with a `policy`
    likely by their reach probability. Where there are more than `limit` positions at some time, they are drawn from a
    sample, and `resampler.exact` is False; by default these are 10 000, or some hundreds in a game that we do not
    have, which runs interpreted. OpenSpiel's Python `ISMCTSBot` takes it by `bot.set_resampler(resampler)`.

        >>> import pyspiel
        >>> state = pyspiel.load_game("phantom_ttt").new_initial_state()
        >>> for action in (4, 4, 0):  # x takes the middle, o runs into it and takes a corner
        ...     state.apply_action(action)
        >>> resampler = fl.openspiel_resampler(state.get_game())
        >>> other = resampler(state, 0)
        >>> other.information_state_string(0) == state.information_state_string(0), resampler.exact
        (True, True)
    """
    from foglight.bridges import openspiel  # raises BadInput that says what to install, if OpenSpiel is missing
    from foglight.bridges.openspiel_resampler import resampler

    assert openspiel
    return resampler(game, limit, policy, seed)


def play(
    game: Game | None = None,
    vs: Any = None,
    *,
    seat: int = 0,
    seed: int = 0,
    save: Any = None,
    resume: Any = None,
    ask: Callable[[str], str] | None = None,
    tell: Callable[[Any], None] | None = None,
) -> Record | None:
    """Play a game at the terminal against agents, `random` ones by default; you see only what your seat sees.

    Write a move, or `help`. `vs` is an agent, as text, class or instance, or a list with one for each other seat. A
    game that you leave is kept in the file `save`, by default in a new one of this folder, and the result is None;
    `fl.play(resume=FILE)` goes on with it. Give `game` and `vs` again if they are objects that no text describes.
    `ask` takes a prompt and returns what you write, `tell` shows a text or a table: by default both use the terminal.

        >>> moves = iter(["hint first_legal", "bet"])
        >>> record = fl.play("kuhn_poker", "first_legal", ask=lambda prompt: next(moves), tell=lambda shown: None)
        >>> record.actions[2:], record.returns  # a bet, and a pass to it
        ((1, 0), (1.0, -1.0))
    """
    from foglight.arena.session import Session, resumed

    how: dict[str, Any] = {"ask": ask, "tell": tell, "advice": "fl.play(resume={file!r})"}
    if resume is not None:
        return resumed(resume, game, vs, **how).play()
    if game is None:
        raise BadInput("give a game, such as fl.play('dark_hex'), or resume=FILE")
    return Session(game, "random" if vs is None else vs, seat=seat, seed=seed, file=save, **how).play()


def register_with_openspiel(*classes: type) -> list[str]:
    """Register native games with OpenSpiel, as `foglight_NAME`, so that its algorithms run on our rules.

    Without arguments these are all native games; give the classes of your own games to register those. Parameters are
    ours, with lists written as `[1;2]`. A second call changes nothing. The result is the names in OpenSpiel.

        >>> names = fl.register_with_openspiel()
        >>> import pyspiel
        >>> game = pyspiel.load_game("foglight_dark_hex(rows=3,cols=3)")
        >>> state = game.new_initial_state()
        >>> state.apply_action(4)
        >>> state.information_state_string(0), state.information_state_string(1)
        ('seat 0 | b2', 'seat 1 | x tries')
        >>> str(fl.load_game(game))
        'dark_hex(rows=3,cols=3)'
    """
    from foglight.bridges import openspiel  # raises BadInput that says what to install, if OpenSpiel is missing
    from foglight.bridges.openspiel_games import register

    assert openspiel
    return register(*classes)


def widget(game: Game, vs: Any = None, *, seat: int = 0, belief: bool = False, seed: int = 0) -> Any:
    """Play a game in a cell of a notebook, by clicks, against agents, `random` ones by default.

    `vs` is an agent, as text, class or instance, or a list with one for each other seat. With `belief`, what you may
    hold possible is laid over the board. The browser is sent what your seat may know, and the truth when the game is
    over. `observations` has what your seat has observed, and `record` the finished game. Needs `foglight[notebook]`.

        >>> cell = fl.widget("kuhn_poker", "first_legal", belief=True)  # in a notebook: the last line of a cell
        >>> cell.view["turn"], [name for _, name in cell.view["moves"]], cell.belief["worlds"]
        ('yours', ['check', 'bet'], 2)
    """
    from foglight.notebook.sitting import Sitting
    from foglight.notebook.widget import GameWidget

    return GameWidget(Sitting(game, "random" if vs is None else vs, seat, seed), belief)


def __getattr__(name: str) -> Any:
    for module, names in _LATER.items():
        if name in names:
            globals()[name] = vars(importlib.import_module(module))[name]
            return globals()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


__all__ = [
    "CHANCE",
    "NOTHING",
    "PUBLIC",
    "TERMINAL",
    "Agent",
    "Analysis",
    "BadInput",
    "BeliefLost",
    "Between",
    "Biased",
    "Bound",
    "Bounds",
    "Centipawns",
    "Checks",
    "DatasetRequest",
    "Drawing",
    "Evaluator",
    "Even",
    "Explanation",
    "Fault",
    "Function",
    "Game",
    "HistoryFilter",
    "IllegalAction",
    "Marginals",
    "MatchResult",
    "Network",
    "OneOf",
    "Oracle",
    "PolicyTable",
    "Rating",
    "Record",
    "Review",
    "Seat",
    "SetSearch",
    "Solved",
    "State",
    "Subgames",
    "Tabular",
    "Timing",
    "Tournament",
    "Tracker",
    "Training",
    "TrainingSettings",
    "Trunk",
    "TrunkJudge",
    "Uniform",
    "Worlds",
    "__version__",
    "agent_names",
    "agent_policy",
    "analyse",
    "as_openspiel_bot",
    "behaviour_of",
    "belief",
    "best_response",
    "check_agent",
    "check_game",
    "constants",
    "counterfactual_values",
    "draw_tournament",
    "draw_win_rates",
    "exploit",
    "exploitability",
    "export_game",
    "game",
    "game_names",
    "game_value",
    "generate_dataset",
    "history_filter",
    "implements",
    "jitable",
    "load_agent",
    "load_game",
    "nash_conv",
    "new_state",
    "openspiel_resampler",
    "opponent_values",
    "pettingzoo_env",
    "play",
    "play_game",
    "play_match",
    "play_tournament",
    "policy_values",
    "progress_bar",
    "public_state_sizes",
    "q_learning",
    "random_playouts",
    "rate",
    "realised",
    "register_with_openspiel",
    "resolve_safely",
    "resolve_unsafely",
    "review",
    "solve",
    "solve_trunk",
    "state_of",
    "strategy_fusion",
    "tabular",
    "trunk_exploitability",
    "vector_env",
    "widget",
]
