"""`foglight play --explain`, `foglight analyse`, `foglight bench search`."""

import json

import pytest

import foglight as fl

AGENT = "epimc(depth=2,iterations=300)"
HEX = "dark_hex(rows=3,cols=3)"


def thought(game, moves, agent=AGENT, seed=0):
    """What the agent says when it is asked in Python."""
    state = fl.new_state(game)
    for move in moves:
        state.play(state.parse_action(move))
    asked = fl.load_agent(agent)
    asked.start(state.game, state.player, seed)
    for observation in state.observations(state.player):
        asked.observe(observation)
    asked.act(state.actions())
    return state, asked


def test_analyse_says_what_the_agent_thinks(run):
    moves = ["b2", "b2", "a1"]
    state, asked = thought(HEX, moves)
    why = asked.explain()
    code, out, _ = run("analyse", HEX, *moves, "--agent", AGENT, "--json")
    facts = json.loads(out)
    assert code == 0 and (facts["seat"], facts["agent"]) == (0, AGENT)
    assert facts["action"] == facts["actions"][0]["action"] == state.action_text(why.action)
    assert {row["action"]: (row["value"], row["visits"]) for row in facts["actions"]} == {
        state.action_text(action): (value, visits)
        for action, value, visits in zip(why.actions, why.values, why.visits, strict=True)
    }
    assert (facts["worlds"], facts["exact"], facts["iterations"]) == (8, True, why.iterations)
    assert facts["notes"]["depth"] == 2 and facts["fusion"]["states"] <= facts["fusion"]["of"]
    code, out, _ = run("analyse", HEX, *moves, "--agent", AGENT)
    assert code == 0 and state.information(0) in out
    assert f"plays {facts['action']}:" in out and "8 worlds, all there are" in out and "strategy fusion" in out
    for row in facts["actions"]:
        assert f"{row['value']:+.3f}" in out


def test_analyse_knows_what_the_seat_knows(run):
    answers = []
    for hidden in ("a1", "c3"):  # x has placed b2 and cannot know where o went
        code, out, _ = run("analyse", HEX, "b2", hidden, "--agent", AGENT, "--json")
        assert code == 0
        answers.append({key: value for key, value in json.loads(out).items() if key != "seconds"})
    assert answers[0] == answers[1]


def test_agents_that_mix_say_how_likely_they_play_what(run):
    for agent in ("oos(iterations=200)", "epimc(depth=2,iterations=300,subgame=cfr+)"):
        facts = json.loads(run("analyse", "kuhn_poker", "jack", "queen", "--agent", agent, "--json")[1])
        assert sum(row["odds"] for row in facts["actions"]) == pytest.approx(1, abs=0.01)


def test_a_position_may_come_from_a_store(run, tmp_path):
    store = tmp_path / "games.sqlite"
    result = fl.play_match(HEX, ["random", "random"], games=1, store=store)
    state = fl.new_state(HEX)
    moves = []
    for action in result.records[0].actions[:4]:
        moves.append(state.action_text(action))
        state.play(action)
    typed = json.loads(run("analyse", HEX, *moves, "--agent", AGENT, "--json")[1])
    stored = json.loads(run("analyse", HEX, "--store", str(store), "--after", "4", "--agent", AGENT, "--json")[1])
    assert {**typed, "seconds": 0} == {**stored, "seconds": 0}


def test_a_forced_move_is_played_without_search(run):
    moves = ["a1", "b1", "c1", "a2", "b2", "c2", "b3", "a3"]  # x: a1 c1 b2 b3; o: b1 a2 c2 a3; x has c3 left, or tries
    state = fl.new_state("phantom_ttt")
    for move in moves:
        state.play(state.parse_action(move))
    for tried in ("b1", "a2", "c2", "a3"):
        state.play(state.parse_action(tried))
        moves.append(tried)
    assert state.player == 0 and len(state.actions()) == 1
    code, out, _ = run("analyse", "phantom_ttt", *moves, "--agent", AGENT)
    assert code == 0 and "no choice, no search" in out and "never tried" in out


BAD = [
    (("analyse", "kuhn_poker"), "nobody decides here: chance is to move"),
    (("analyse", "kuhn_poker", "jack", "queen", "pass", "pass"), "nobody decides here: the game is over"),
    (("analyse", "phantom_ttt", "--seat", "1"), "seat 0 is to move here, not 1"),
    (("analyse", "phantom_ttt", "--agent", "random"), "random does not say why it plays what it plays"),
    (("analyse", "phantom_ttt", "--agent", "epimk"), "unknown agent 'epimk'"),
    (("analyse", "phantom_ttt", "--seed", "-1"), "seed must be at least 0"),
    (("analyse", "phantom_ttt", "z9"), "'z9'"),
    (("bench", "search", "--seconds", "0"), "seconds must be from 0.01 to 600"),
]


@pytest.mark.parametrize(("arguments", "advice"), BAD, ids=[" ".join(arguments) for arguments, _ in BAD])
def test_bad_input_gets_one_line(run, arguments, advice):
    code, out, err = run(*arguments)
    assert (code, out) == (2, "") and advice in err and err.count("\n") == 1


def test_play_explains_each_move_of_the_agent(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    command = ("play", "phantom_ttt", "--vs", AGENT, "--seat", "1", "--explain")
    code, out, _ = run(*command, typed=["a1", "c3", "b1"])
    assert code == 0
    first = thought("phantom_ttt", [], seed=0)[0]
    assert first.player == 0 and f"seat 0, {AGENT}, plays " in out
    assert out.count(f"seat 0, {AGENT}, plays ") >= 2
    assert "value" in out and "visits" in out and "belief" in out and "worlds, all there are" in out
    silent = run(*[part for part in command if part != "--explain"], typed=["a1", "c3", "b1"])[1]
    assert "visits" not in silent


def test_agents_that_do_not_search_play_without_a_reason(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, _ = run("play", "phantom_ttt", "--vs", "first_legal", "--seat", "1", "--explain", typed=["b2"])
    assert code == 0 and "seat 0, first_legal, plays a1\nit does not say why" in out


def test_bench_search_prints_a_table_or_data(run, monkeypatch):
    from foglight.bench import search
    from foglight.bench.figures import Figure

    monkeypatch.setattr(search, "run", lambda seconds: iter([Figure("ismcts", 90.0, "/s", "ISMCTSBot", 30.0, times=3)]))
    code, out, _ = run("bench", "search")
    assert code == 0 and "ISMCTSBot" in out and "yes" in out
    rows = json.loads(run("bench", "search", "--json")[1])["searching, one core"]
    assert rows[0]["ratio"] == 3
