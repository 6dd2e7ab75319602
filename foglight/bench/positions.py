"""How often the true world is among the positions that `kluss` searches.

    python -m foglight.bench.positions --agent 'kluss(time=0.2)' --games 10 --seed 0
    python -m foglight.bench.positions --agent 'kluss(time=0.2,weights=histories)' --games 10 --seed 0

The agent plays itself. A decision counts if its belief holds more worlds than fit into the tree. The true world is
found by its position alone, whatever its history.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from typing import Any

from foglight.agents import load_agent
from foglight.agents.kluss import Kluss
from foglight.arena.referee import Referee
from foglight.bars import progress_bar
from foglight.games import load_game
from foglight.names import BadInput
from foglight.rules import TERMINAL, num_words
from foglight.state import State

GAME = "dark_chess(repetition=ignore,clock=hidden,stalemate=loss)"


class Watched(Referee):
    """A game in which each decision is compared with the truth."""

    def watch(self, found: list[bool]) -> None:
        """Play to the end; add for each decision that counts whether the truth was searched."""
        while self._state.player != TERMINAL:
            mover, action = self._state.player, self.ask()
            if mover >= 0 and len(self._state.actions()) > 1:
                self._compare(self.agents[mover], found)
            self.play(action)

    def _compare(self, agent: Any, found: list[bool]) -> None:
        search = agent._search
        if search.tree is None or search.whole or agent.explain().worlds <= agent.positions:
            return
        width = num_words(search.game)
        rows = search.rows[search.here()][:, :width]
        found.append(bool((rows == self._state.world[:width]).all(axis=1).any()))


def measure(name: str, game: str, games: int, seed: int) -> dict[str, Any]:
    """The figures of some games that the agent plays with itself."""
    found: list[bool] = []
    agents = [load_agent(name) for _ in range(2)]
    if not all(isinstance(agent, Kluss) for agent in agents):
        raise BadInput(f"only kluss searches positions; {name} is another agent")
    if State(load_game(game)).num_players != 2 or not isinstance(load_game(game), tuple):
        raise BadInput(f"kluss is compared with the truth in native games for two seats, not in {game}")
    with progress_bar("games") as show:
        for number in range(games):
            Watched(load_game(game), agents, seed, number).watch(found)
            show(number + 1, games)
    share = sum(found) / len(found) if found else None
    return {"agent": name, "game": game, "games": games, "seed": seed, "decisions": len(found), "searched": share}


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line, and print one line or JSON."""
    parser = argparse.ArgumentParser("python -m foglight.bench.positions", description=__doc__.split("\n")[0])
    parser.add_argument("--agent", default="kluss(time=0.2)", help="kluss with its options")
    parser.add_argument("--game", default=GAME)
    parser.add_argument("--games", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")
    chosen = parser.parse_args(arguments)
    try:
        if chosen.games < 1 or chosen.seed < 0:
            raise BadInput("--games must be at least 1, and --seed at least 0")
        row = measure(chosen.agent, chosen.game, chosen.games, chosen.seed)
    except BadInput as error:
        sys.exit(f"error: {error}")
    if chosen.json:
        print(json.dumps(row))  # noqa: T201
    elif not row["decisions"]:
        print("no decision had more worlds than fit into the tree")  # noqa: T201
    else:
        print(f"{row['decisions']} decisions: the truth was searched at {row['searched']:.1%} of them")  # noqa: T201


if __name__ == "__main__":
    main()
