"""The study of all agents at equal time: who meets whom, standings by hand, and a cell for real."""

from collections import Counter
from itertools import combinations

import pytest

from foglight.studies import equal_time
from foglight.studies.equal_time import AGENTS, TITLES


def met(game, scores, games=80, **more):
    """Results in which each agent scores so many games against each one after it."""
    pairs = combinations(AGENTS, 2)
    return {
        f"{game}, {agent}, {opponent}": {
            "game": game, "agent": agent, "opponent": opponent, "games": games, "score": scores[agent],
            "mean": 0.0, "error": 0.0, "ms": [50.0, 50.0], **more,
        }
        for agent, opponent in pairs
    }  # fmt: skip


def test_every_agent_meets_every_other_and_has_400_games_in_small_games():
    games, pairs = Counter(), Counter()
    for arguments in equal_time.cells(False, 0).values():
        assert arguments["games"] % 2 == 0  # as often in one seat as in the other
        pairs[arguments["game"]] += 1
        for agent in (arguments["agent"], arguments["opponent"]):
            games[arguments["game"], agent] += arguments["games"]
    assert set(pairs) == set(TITLES) and set(pairs.values()) == {15, 21}
    few = {game for (game, _), played in games.items() if played < 400}
    assert {TITLES[game] for game in few} == {
        "Dark Chess 5×5", "Dark Chess 8×8", "Goofspiel, 13 cards", "Battleship 5×5",
    }  # fmt: skip
    assert len(games) == 6 * len(TITLES) + 3


def test_a_standing_is_against_all_others_together():
    """pimc wins all 80 games against each of 5; kluss, the last, loses 80 to pimc and half of the other matches."""
    results = met("phantom_ttt", {agent: 80 if agent == "pimc" else 40 for agent in AGENTS})
    by_agent = equal_time.standings(results, "phantom_ttt")
    assert {agent: one[0] for agent, one in by_agent.items()} == {
        agent: 1.0 if agent == "pimc" else pytest.approx(160 / 400) for agent in AGENTS
    }
    assert {one[3] for one in by_agent.values()} == {400}
    assert equal_time.leaders(results, "phantom_ttt") == ["pimc"]
    even = met("phantom_ttt", dict.fromkeys(AGENTS, 40))
    assert sorted(equal_time.leaders(even, "phantom_ttt")) == sorted(AGENTS)


def test_chips_of_the_opponent_are_minus_the_agents():
    """epimc loses 1 chip to pimc and wins 1 from each of four others: 0.6 a game; the error is that of five matches."""
    results = met("kuhn_poker", dict.fromkeys(AGENTS, 40), mean=1.0, error=0.1)
    mean, low, high, _ = equal_time.standing(results, "kuhn_poker", "epimc")
    assert mean == pytest.approx(0.6) and high - low == pytest.approx(2 * 1.96 * 0.1 / 5**0.5)
    assert equal_time.standing(results, "kuhn_poker", "kluss")[0] == pytest.approx(-1.0)


def test_games_that_not_all_have_played_are_left_out(tmp_path):
    results = met("phantom_ttt", dict.fromkeys(AGENTS, 40)) | met("dark_hex", dict.fromkeys(AGENTS, 60))
    results.popitem()
    table = equal_time.table(results)
    assert "Phantom Tic-Tac-Toe" in table and "Dark Hex" not in table and table.count("50 (45–55)") == 6
    equal_time.draw(results, tmp_path / "picture.png")
    assert (tmp_path / "picture.png").stat().st_size > 1000
    assert equal_time.claims(results)[0].ours.startswith("Phantom Tic-Tac-Toe: ")


def test_a_cell(monkeypatch):
    monkeypatch.setattr(equal_time, "SECONDS", 0.001)
    row = equal_time.work("liars_dice", "pimc", "ismcts", 4, 0)
    assert row["games"] == 4 and 0 <= row["score"] <= 4 and min(row["ms"]) > 0
