"""foglight plays, solves and measures games in which players cannot see everything."""

import importlib
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
    from foglight.blind_chess.leaves import Centipawns
    from foglight.checks.agent import check_agent
    from foglight.checks.game import check_game
    from foglight.checks.report import Checks, Fault
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
    "foglight.blind_chess.leaves": ("Centipawns",),
    "foglight.checks.agent": ("check_agent",),
    "foglight.checks.game": ("check_game",),
    "foglight.checks.report": ("Checks", "Fault"),
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
    "opponent_values",
    "play",
    "play_game",
    "play_match",
    "play_tournament",
    "policy_values",
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
]
