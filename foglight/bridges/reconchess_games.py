"""Games of our agents against bots of `reconchess`, played on its board and by its clock.

A bot that raises an error, or makes an illegal request, resigns, as on the public server.
"""

import contextlib
import importlib
import logging
import os
import random
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from foglight.agents import agent_class
from foglight.blind_chess.uci import find_engine
from foglight.bridges.reconchess_player import FoglightPlayer
from foglight.names import BadInput, Spec, parse_spec, unknown

BOTS = {name: f"reconchess.bots.{name}_bot" for name in ("trout", "attacker", "random")}
SECONDS = 900.0  # per side and game
_ENGINE = "STOCKFISH_EXECUTABLE"  # the environment variable from which TroutBot takes its engine


@dataclass(frozen=True)
class Game:
    """The result of one game, from our side."""

    number: int
    colour: str  # ours
    score: float  # 1 for a win, 0.5 for a draw, 0 for a loss
    reason: str  # reconchess's reason of the result, in lower case
    turns: int  # of our side
    seconds: float  # that our side used
    other_seconds: float  # that the bot used


def find_bot(bot: str, engine: str | None = None) -> Callable[[], Any]:
    """A function that makes a new bot; `bot` is a name of BOTS, or a file with a subclass of `reconchess.Player`."""
    from reconchess import load_player

    if bot not in BOTS and not Path(bot).is_file():
        raise BadInput(f"{unknown('bot', bot, list(BOTS))}, or a file with a reconchess player")
    if bot == "trout":
        os.environ[_ENGINE] = find_engine(engine or os.environ.get(_ENGINE))
    try:
        name, bot_class = load_player(BOTS.get(bot, bot))
    except Exception as error:
        raise BadInput(f"cannot load the bot {bot}: {' '.join(str(error).split())}") from None

    def make() -> Any:
        """A bot from a reloaded module: AttackerBot uses up lists of its module, and would only pass in later games."""
        return vars(importlib.reload(sys.modules[bot_class.__module__]))[name]()

    return make


def play_games(
    bot: str,
    agent: str,
    games: int,
    *,
    colour: str = "both",
    seed: int = 0,
    engine: str | None = None,
    seconds: float = SECONDS,
    save: Path | None = None,
) -> Iterator[Game]:
    """Play games one after the other, and yield each as it ends. With the `colour` both, we are white in every other.

    `engine` is for the bot, if it needs one, and for our agent, if it has such an option and does not set it.
    """
    if games < 1:
        raise BadInput(f"games must be at least 1, not {games}")
    if seed < 0:
        raise BadInput(f"seed must be at least 0, not {seed}")
    if colour not in ("white", "black", "both"):
        raise BadInput(f"colour must be white, black or both, not {colour}")
    if save is not None and save.exists() and not save.is_dir():
        raise BadInput(f"cannot keep games in {save}: it is no folder")
    make, agent = find_bot(bot, engine), with_engine(agent, engine)
    for number in range(games):
        white = colour == "white" or (colour == "both" and number % 2 == 0)
        random.seed(1_000_003 * seed + number)  # bots use Python's own generator
        player = FoglightPlayer(agent, seed=1_000_003 * seed + number)
        yield _play(number, player, make(), white, seconds, save)


def with_engine(agent: str, engine: str | None) -> str:
    """The agent's text with this engine added, if the agent has the option `engine` and does not set it."""
    spec = parse_spec(agent)
    if engine is None or "engine" not in agent_class(spec.name).options() or "engine" in dict(spec.arguments):
        return agent
    return str(Spec(spec.name, (*spec.arguments, ("engine", find_engine(engine)))))


def _play(number: int, player: Any, other: Any, white: bool, seconds: float, save: Path | None) -> Game:
    import chess
    from reconchess import LocalGame, play_local_game

    game = LocalGame(seconds, 0)
    # bots may print, and our output may be JSON
    with contextlib.redirect_stdout(sys.stderr), contextlib.closing(player), _closing(other):
        try:
            winner, reason, history = play_local_game(*((player, other) if white else (other, player)), game=game)
        except Exception as error:
            if game.turn == white:  # it was our turn, so the error is ours
                raise
            sys.stderr.write(f"the bot has failed, which counts as resigning: {error}\n")
            game.resign()
            game.end()
            winner, reason, history = game.get_winner_color(), game.get_win_reason(), game.get_game_history()
    if save is not None:
        save.mkdir(parents=True, exist_ok=True)
        history.save(str(save / f"game_{number:04}.json"))
    used = {colour: seconds - left for colour, left in game.seconds_left_by_color.items()}
    return Game(
        number,
        chess.COLOR_NAMES[white],
        0.5 if winner is None else float(winner == white),
        reason.name.lower() if reason is not None else "",
        history.num_turns(white),
        used[white],
        used[not white],
    )


@contextlib.contextmanager
def _closing(bot: Any) -> Iterator[None]:
    """End the engines of a bot such as TroutBot at the end; their threads would keep the process alive."""
    from chess.engine import SimpleEngine

    try:
        yield
    finally:
        for engine in [part for part in vars(bot).values() if isinstance(part, SimpleEngine)]:
            logging.getLogger("asyncio").setLevel(logging.CRITICAL)  # it would log every task that was under way
            engine.close()
