"""foglight plays, solves and measures games in which players cannot see everything."""

import importlib
from typing import TYPE_CHECKING, Any

from foglight.agent_policies import agent_policy
from foglight.agents import Agent, Explanation, Seat, agent_names, load_agent
from foglight.arena.match import MatchResult, play_match
from foglight.arena.referee import IllegalAction, Record, Timing, play_game
from foglight.compile import implements, jitable
from foglight.games import game_names, load_game
from foglight.names import BadInput, Between, OneOf
from foglight.playouts import random_playouts
from foglight.policies import Biased, Tabular, Uniform, tabular
from foglight.rules import CHANCE, NOTHING, PUBLIC, TERMINAL, Game, game
from foglight.solving.whole.behaviour import behaviour_of
from foglight.solving.whole.plans import counterfactual_values, realised
from foglight.solving.whole.solved import Solved
from foglight.solving.whole.solver import best_response, exploitability, game_value, nash_conv, policy_values, solve
from foglight.state import State, new_state
from foglight.version import __version__
from foglight.worlds.filter import HistoryFilter, history_filter
from foglight.worlds.marginals import Marginals
from foglight.worlds.regeneration import BeliefLost
from foglight.worlds.sparsity import public_state_sizes
from foglight.worlds.tracker import Tracker, Worlds

if TYPE_CHECKING:
    from foglight.arena.ratings import Rating, rate
    from foglight.arena.report import draw_tournament, draw_win_rates
    from foglight.arena.tournament import Tournament, play_tournament
    from foglight.blind_chess.leaves import Centipawns
    from foglight.checks.agent import check_agent
    from foglight.checks.game import check_game
    from foglight.checks.report import Checks, Fault
    from foglight.search.paths.fusion import strategy_fusion
    from foglight.search.sets.leaves import Even
    from foglight.search.sets.search import SetSearch
    from foglight.solving.depth_limited.resolving import opponent_values, resolve_safely, resolve_unsafely
    from foglight.solving.depth_limited.subgame import Evaluator, Function, Oracle, Subgames
    from foglight.solving.depth_limited.trunk import Trunk, TrunkJudge, solve_trunk, trunk_exploitability
    from foglight.solving.whole.q_learning import q_learning
    from foglight.values.networks.datasets import Request
    from foglight.values.networks.evaluator import Network
    from foglight.values.networks.training import Settings, Training
    from foglight.values.trunk.generation import generate

_LATER = {  # modules of the names that are imported at their first use, which makes `import foglight` a third faster
    "foglight.arena.ratings": ("Rating", "rate"),
    "foglight.arena.report": ("draw_tournament", "draw_win_rates"),
    "foglight.arena.tournament": ("Tournament", "play_tournament"),
    "foglight.blind_chess.leaves": ("Centipawns",),
    "foglight.checks.agent": ("check_agent",),
    "foglight.checks.game": ("check_game",),
    "foglight.checks.report": ("Checks", "Fault"),
    "foglight.search.paths.fusion": ("strategy_fusion",),
    "foglight.search.sets.leaves": ("Even",),
    "foglight.search.sets.search": ("SetSearch",),
    "foglight.solving.depth_limited.resolving": ("opponent_values", "resolve_safely", "resolve_unsafely"),
    "foglight.solving.depth_limited.subgame": ("Evaluator", "Function", "Oracle", "Subgames"),
    "foglight.solving.depth_limited.trunk": ("Trunk", "TrunkJudge", "solve_trunk", "trunk_exploitability"),
    "foglight.solving.whole.q_learning": ("q_learning",),
    "foglight.values.networks.datasets": ("Request",),
    "foglight.values.networks.evaluator": ("Network",),  # needs PyTorch, as the next two do
    "foglight.values.networks.training": ("Settings", "Training"),
    "foglight.values.trunk.generation": ("generate",),
}


def as_openspiel_bot(agent: str, game: Game, seat: int, seed: int = 0) -> Any:
    """An agent as a `pyspiel.Bot` for OpenSpiel's own loops. It uses only the observations of its seat.

    `game` is a native game, or one of OpenSpiel's as `openspiel:NAME`. Call `close()` on a bot whose agent has an
    engine.

        >>> bot = fl.as_openspiel_bot("first_legal", "kuhn_poker", seat=0)
        >>> import pyspiel
        >>> state = pyspiel.load_game("kuhn_poker").new_initial_state()
        >>> state.apply_action(2), state.apply_action(0)  # the king for seat 0, the jack for seat 1
        (None, None)
        >>> state.action_to_string(bot.step(state))
        'Pass'
    """
    from foglight.bridges import openspiel  # raises BadInput that says what to install, if OpenSpiel is missing
    from foglight.bridges.openspiel_bot import AgentBot

    assert openspiel
    return AgentBot(agent, game, seat, seed)


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
    "BadInput",
    "BeliefLost",
    "Between",
    "Biased",
    "Centipawns",
    "Checks",
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
    "Rating",
    "Record",
    "Request",
    "Seat",
    "SetSearch",
    "Settings",
    "Solved",
    "State",
    "Subgames",
    "Tabular",
    "Timing",
    "Tournament",
    "Tracker",
    "Training",
    "Trunk",
    "TrunkJudge",
    "Uniform",
    "Worlds",
    "__version__",
    "agent_names",
    "agent_policy",
    "as_openspiel_bot",
    "behaviour_of",
    "best_response",
    "check_agent",
    "check_game",
    "counterfactual_values",
    "draw_tournament",
    "draw_win_rates",
    "exploitability",
    "game",
    "game_names",
    "game_value",
    "generate",
    "history_filter",
    "implements",
    "jitable",
    "load_agent",
    "load_game",
    "nash_conv",
    "new_state",
    "opponent_values",
    "play_game",
    "play_match",
    "play_tournament",
    "policy_values",
    "public_state_sizes",
    "q_learning",
    "random_playouts",
    "rate",
    "realised",
    "resolve_safely",
    "resolve_unsafely",
    "solve",
    "solve_trunk",
    "strategy_fusion",
    "tabular",
    "trunk_exploitability",
]
