"""Beliefs: games between agents, with the belief of every seat followed from the first observation to the last.

No belief may be lost, and one that is exact must hold the true world. Trackers merge positions. A cell is one game. The
agents meet in every combination, over and over, and change seats after each round.
"""

import itertools
import time
from collections.abc import Sequence
from typing import Any

from foglight.agents import opened
from foglight.arena.referee import play_game
from foglight.games import load_game
from foglight.names import BadInput
from foglight.rules import num_players, num_words
from foglight.state import new_state
from foglight.worlds.regeneration import BeliefLost
from foglight.worlds.tracker import Tracker

GAME = "dark_chess(repetition=ignore,clock=hidden,stalemate=loss)"
AGENTS = ("random", *(f"{name}(iterations=300,cap=1000)" for name in ("pimc", "epimc", "ismcts")))


def cells(
    games: int, seed: int, game: str = GAME, agents: Sequence[str] = AGENTS, cap: int = 200_000
) -> dict[str, dict[str, Any]]:
    """One cell for each game."""
    loaded = load_game(game)
    if not isinstance(loaded, tuple):
        raise BadInput(f"{loaded} does not say which part of a world is its position; choose a native game")
    with opened(agents) as players:
        for player in players:
            player.check(loaded)
    crews = list(itertools.combinations_with_replacement(agents, num_players(loaded)))
    made = {}
    for number in range(games):
        crew, first = crews[number % len(crews)], number // len(crews) % num_players(loaded)
        given = {"game": str(loaded), "agents": [*crew[first:], *crew[:first]], "number": number}
        made[f"{given}, cap {cap}, seed {seed}"] = {**given, "cap": cap, "seed": seed}
    return made


def work(game: str, agents: list[str], number: int, cap: int, seed: int) -> dict[str, Any]:
    """What became of the beliefs in one game."""
    loaded = load_game(game)
    with opened(agents) as crew:
        record, _ = play_game(loaded, crew, seed, number)
    seats = [_follow(loaded, record.actions, seat, cap, seed) for seat in range(num_players(loaded))]
    findings = [
        f"{game}, game {number} of {' and '.join(agents)}, seat {seat}: {what}"
        for seat, one in enumerate(seats)
        for what in one.pop("findings")
    ]
    return {"game": game, "agents": " and ".join(sorted(agents)), "cap": cap, "seats": seats, "findings": findings}


def _follow(game: Any, actions: Sequence[int], seat: int, cap: int, seed: int) -> dict[str, Any]:
    """A seat's belief through one game: counts, and what must not be."""
    tracker, state, words = Tracker(game, seat, cap=cap, seed=seed, positions=True), new_state(game), num_words(game)
    largest, exact, slowest, seconds = 1, 0, 0.0, 0.0
    findings: list[str] = []
    for action in actions:
        state.play(action)
        for observation in state.observations(seat)[len(tracker.observations) :]:
            begin = time.process_time()
            try:
                tracker.observe(observation)
            except BeliefLost as error:
                findings.append(f"lost: {error}")
            took = time.process_time() - begin
            seconds, slowest = seconds + took, max(slowest, took)
            if findings:
                break
            largest, exact = max(largest, len(tracker)), exact + tracker.exact
        if findings:
            break
        rows = tracker.worlds(turn_only=False).rows
        if tracker.exact and not (rows[:, :words] == state.world[:words]).all(axis=1).any():
            findings.append(f"the true world is missing after {len(state.history())} actions")
            break
    return {
        "observations": len(tracker.observations), "exact": exact, "largest": largest,
        "regenerations": tracker.regenerations, "lost": sum("lost" in line for line in findings),
        "children": tracker.tried, "seconds": seconds, "slowest": slowest, "findings": findings,
    }  # fmt: skip


def table(results: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """A row for each game and crew, and one for all of them."""
    crews = list(dict.fromkeys((result["game"], result["agents"], result["cap"]) for result in results.values()))
    rows = [
        _row(*crew, [one for one in results.values() if (one["game"], one["agents"], one["cap"]) == crew])
        for crew in crews
    ]
    game, cap = crews[0][0], crews[0][2]
    return [*rows, _row(game, "all", cap, list(results.values()))] if len(rows) > 1 else rows


def _row(game: str, agents: str, cap: int, results: list[dict[str, Any]]) -> dict[str, Any]:
    seats = [seat for result in results for seat in result["seats"]]
    observations, seconds = sum(seat["observations"] for seat in seats), sum(seat["seconds"] for seat in seats)
    return {
        "game": game,
        "agents": agents,
        "cap": cap,
        "games": len(results),
        "observations": observations,
        "largest": max(seat["largest"] for seat in seats),
        "exact %": 100.0 * sum(seat["exact"] for seat in seats) / max(1, observations),
        "regenerations": sum(seat["regenerations"] for seat in seats),
        "lost": sum(seat["lost"] for seat in seats),
        "children/s": int(sum(seat["children"] for seat in seats) / max(1e-9, seconds)),
        "slowest, s": max(seat["slowest"] for seat in seats),
    }
