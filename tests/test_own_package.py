"""A package of one's own, from Python and from the command line: two games and two bots, as in examples/own_package."""

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing, suppress
from pathlib import Path

import pytest

import foglight as fl

PACKAGE = Path(__file__).parents[1] / "examples" / "own_package"
CARDS, ROW = "parlour.card_duel:CardDuel", "parlour.blind_row:BlindRow"
GREEDY, PROBER = "parlour.bots:Greedy", "parlour.bots:Prober"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A folder with the package, in which Python and the command line run."""
    shutil.copytree(PACKAGE / "parlour", tmp_path / "parlour")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    for name in [name for name in sys.modules if name.partition(".")[0] == "parlour"]:
        del sys.modules[name]


def test_files_are_short():
    for name in ("card_duel", "blind_row", "bots"):
        lines = (PACKAGE / "parlour" / f"{name}.py").read_text().splitlines()
        code = [line for line in lines if line.strip() and not line.startswith(("@fl.implements", '"""'))]
        assert len(code) < 90


@pytest.mark.parametrize("game", [CARDS, ROW])
def test_the_games_keep_the_contract(game, run):
    code, out, _ = run("check-game", game, "--seconds", "20")
    assert code == 0 and "no fault in" in out
    code, out, _ = run("games", game)
    assert (code == 0 and "cells of the row" in out) or "cards in the pack" in out


@pytest.mark.parametrize("agent", [GREEDY, PROBER + "(worlds=3,games=4)"])
def test_the_bots_keep_the_contract(agent, run):
    code, out, _ = run("check-agent", agent, "--game", CARDS + "(cards=4)", "--games", "2")
    assert code == 0 and "no fault in" in out


def test_the_card_game_is_solved_believed_and_explained(run):
    game = CARDS + "(cards=3)"
    code, out, _ = run("solve", game, "--show", "--save", "duel.npz")
    assert code == 0 and "you get card 2" in out and "raise" in out
    policy = fl.solve(fl.load_game(game), iterations=2000)
    assert policy.game == "parlour.card_duel:CardDuel(cards=3,stake=2)"
    # a raise adds only to what its own seat may lose, so that nobody should raise: the higher card wins 1
    assert abs(policy.value) < 1e-3 and fl.exploitability(game, policy) < 1e-2
    state = fl.new_state(game)
    for move in ("card 1", "card 2", "wait"):
        state.play(state.parse_action(move))
    belief = fl.belief(state, 1)
    assert belief.worlds == 2 and belief.odds[0] == {"card 0": 0.5, "card 1": 0.5}
    code, out, _ = run("belief", game, "card 1", "card 2", "wait", "--seat", "1", "--json")
    assert code == 0 and json.loads(out)["places"]["seat 0"] == belief.odds[0]
    for agent in ("policy(file=duel.npz)", "pimc(iterations=50)"):
        code, out, _ = run("analyse", game, "card 1", "card 2", "wait", "--agent", agent)
        assert code == 0 and "raise" in out
    code, out, _ = run("play", game, "--vs", GREEDY, typed=["help", "raise"])
    assert code == 0 and "the game is over" in out


def test_the_phantom_game_is_played_watched_and_measured(run):
    code, out, _ = run("match", "random", GREEDY, "--game", ROW, "--games", "10", "--store", "row.sqlite")
    assert code == 0 and GREEDY in out
    code, out, _ = run("belief", ROW, "--store", "row.sqlite", "--number", "3", "--after", "3")
    assert code == 0 and "agree" in out
    code, out, _ = run("tournament", GREEDY, PROBER + "(worlds=2,games=2)", "random", "--game", ROW, "--game", CARDS,
                       "--games", "4", "--workers", "2", "--json")  # fmt: skip
    assert code == 0 and set(json.loads(out)["by_game"]) == {str(fl.load_game(game)) for game in (ROW, CARDS)}
    code, out, _ = run("bench", "rollouts", "--game", ROW, "--seconds", "0.01", "--json")
    assert code == 0 and json.loads(out)[0]["foglight"] > 0
    assert fl.play_match(ROW, [GREEDY, fl.load_agent(PROBER)], games=4, workers=2).games == 4


def test_a_match_of_ones_own_is_killed_and_resumed(folder):
    """Two workers, killed twice with all their processes, give the games of one worker that nobody kills."""
    agents, games = [f"{PROBER}(worlds=5,games=5)", f"{GREEDY}(low=true)"], 60
    options = f"--game {ROW} --games {games} --workers 2 --store games.sqlite".split()
    command = [sys.executable, "-m", "foglight", "match", *agents, *options]
    kept = []
    for _ in range(2):
        process = subprocess.Popen(
            command, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        while process.poll() is None and stored(folder) <= sum(kept[-1:]):
            time.sleep(0.02)
        with suppress(ProcessLookupError):  # it may have come to its end
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        kept.append(stored(folder))
    assert 0 < kept[0] <= kept[1]
    subprocess.run(command, check=True, capture_output=True)
    resumed = fl.play_match(ROW, agents, games=games, workers=2, store="games.sqlite")
    assert resumed == fl.play_match(ROW, agents, games=games) and stored(folder) == games


def stored(folder):
    """The number of games in the store."""
    try:
        with closing(sqlite3.connect(folder / "games.sqlite", timeout=10)) as connection:
            return connection.execute("SELECT count(*) FROM games").fetchone()[0]
    except sqlite3.OperationalError:  # there is no such table yet
        return 0
