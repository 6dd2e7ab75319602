"""The command line: what it prints, what it refuses, and that it never answers with a traceback."""

import json
import subprocess
import sys

import pytest

import foglight as fl


def test_games_and_agents_are_listed(run):
    code, out, _ = run("games")
    assert code == 0 and all(name in out for name in fl.game_names())
    assert [row["name"] for row in json.loads(run("games", "--json")[1])] == fl.game_names()
    assert "openspiel" not in out.replace("--openspiel", "") and len(out.splitlines()) < 50
    assert "openspiel:kriegspiel" in run("games", "--openspiel")[1]
    names = [row["name"] for row in json.loads(run("games", "--openspiel", "--json")[1])]
    assert len(names) > 90 and all(name.startswith("openspiel:") for name in names)
    code, out, _ = run("agents")
    assert code == 0 and all(name in out for name in fl.agent_names())
    assert [row["name"] for row in json.loads(run("agents", "--json")[1])] == fl.agent_names()


def test_every_option_of_an_agent_says_what_it_means(run):
    rows = json.loads(run("agents", "--json")[1])
    meanings = {(row["name"], key): option["meaning"] for row in rows for key, option in row["options"].items()}
    assert len(meanings) >= 45 and [option for option, meaning in meanings.items() if not meaning] == []
    out = " ".join(run("agents")[1].split())
    assert "time=0.0 0 to 86400" in out and "most boards" in out and "scout" in out


def test_a_match_prints_a_table_or_data(run):
    command = ("match", "random", "first_legal", "--game", "kuhn_poker", "--games", "20", "--seed", "1")
    result = fl.play_match("kuhn_poker", ["random", "first_legal"], games=20, seed=1)
    code, out, _ = run(*command, "--json")
    assert code == 0 and json.loads(out) == result.summary()
    code, out, _ = run(*command)
    assert code == 0
    assert f"{result.win_rate(0):.1%}" in out and f"{result.mean_returns[0]:+.3f}" in out


def test_a_person_plays_and_sees_only_that_seat(run):
    # x (first_legal) takes a1, b1, c1; o runs into a1, then places b2 and c3, and never learns of b1
    code, out, _ = run("play", "phantom_ttt", "--vs", "first_legal", "--seat", "1", typed=["what?", "A1", "b2", "c3"])
    assert code == 0
    assert "'what?' is not possible here; try a1, b1" in out
    shown, truth = out.split("What was really there:")
    state = fl.new_state("phantom_ttt")
    for move in ("a1", "a1", "b2", "b1", "c3", "c1"):
        if state.player == 1:
            assert state.information(1) in shown
        state.play(state.parse_action(move))
    assert "x x" not in shown and "x x x" in truth


def test_leaving_in_the_middle_is_fine(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, _ = run("play", "dark_hex", typed=["b2"])
    assert code == 0 and out.endswith(
        "you left the game; the game is kept; go on with: foglight play --resume dark_hex.saved\n"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["dark_hex.saved"]


def test_the_result_is_told_from_the_persons_seat(run):
    _, out, _ = run("play", "unseen_rps", "--vs", "first_legal", "--seat", "0", typed=["paper"])
    assert "the game is over: you win (+1)" in out and "seat 0: paper, seat 1: rock" in out
    _, out, _ = run("play", "unseen_rps", "--seat", "0", typed=["leave"])
    assert "the game is over: you lose (-0.6)" in out


BAD = [
    (("play", "dark_hx"), "did you mean 'dark_hex'?"),
    (("play", "dark_hex(rows=99)"), "rows must be from 1 to 8"),
    (("play", "dark_hex(rows="), "a name or value is missing"),
    (("play", "kuhn_poker", "--seat", "2"), "kuhn_poker has seats 0 to 1, not 2"),
    (("play", "kuhn_poker", "--vs", "nobody"), "unknown agent 'nobody'"),
    (("play", "kuhn_poker", "--seed", "-1"), "seed must be at least 0"),
    (("play",), "Missing argument"),
    (("match", "random", "random"), "Missing option '--game'"),
    (("match", "random", "--game", "kuhn_poker"), "is for 2 agents, not 1"),
    (("match", "random", "human", "--game", "kuhn_poker"), "use 'foglight play'"),
    (("match", "random", "random", "--game", "kuhn_poker", "--games", "many"), "--games"),
    (("match", "random", "random", "--game", "kuhn_poker", "--games", "-3"), "games must be a whole number"),
    (("match", "random", "random", "--game", "kuhn_poker", "--store", "/no/such/folder/x"), "choose another file"),
    (("match", "random", "random", "--game", "kuhn_poker", "--store", __file__), "choose another file"),
    (("bench", "rollouts", "--seconds", "0"), "seconds must be from 0.01 to 600"),
    (("bench", "frob"), "No such command"),
    (("frob",), "No such command"),
    (("games", "--frob"), "No such option"),
]


@pytest.mark.parametrize(("arguments", "advice"), BAD)
def test_bad_input_gets_one_line_and_exit_code_2(run, arguments, advice):
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert advice in err and err.count("\n") == 1


def test_help_is_there_for_every_command(run):
    for command in ("games", "agents", "play", "match", "belief", "study", "bench"):
        code, out, _ = run(command, "--help")
        assert code == 0 and "Usage" in out


def test_a_reader_that_closes_the_pipe_is_no_error():
    done = subprocess.run(
        f"{sys.executable} -m foglight games --json | head -1", shell=True, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[" and done.stderr == ""


def test_the_bench_measures_both_sides(run):
    pytest.importorskip("pyspiel")
    code, out, _ = run("bench", "rollouts", "--seconds", "0.01", "--json")
    rows = json.loads(out)
    assert code == 0 and len(rows) > 6
    assert all(
        row["ratio"] == pytest.approx(row["foglight"] / row["openspiel"]) and row["openspiel"] > 0 for row in rows
    )
