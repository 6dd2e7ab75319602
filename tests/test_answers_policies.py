"""Policies in words: what they play at a state, in a table, on the command line, and what each action is worth."""

import json
import math

import pytest
from oracles import histories

import foglight as fl
from foglight.agents import policy as policy_agent
from foglight.solving.whole.tree import TooLarge


def played(game, *moves):
    state = fl.new_state(game)
    for move in moves:
        state.play(state.parse_action(move))
    return state


def looked_up(table, state):
    """The row of the information state of the seat to move, found by its words."""
    seen = state.log(state.player)
    (row,) = [row for row in table if row["seat"] == state.player and row["seen"] == seen]
    return row


POLICIES = {
    "solved": lambda: fl.solve("kuhn_poker", 50),
    "best response": lambda: fl.best_response("kuhn_poker", fl.Uniform(), seat=1)[1],
    "agent": lambda: fl.agent_policy("random", "kuhn_poker"),
    "uniform": fl.Uniform,
    "biased": lambda: fl.Biased(0.7, seed=2),
}


@pytest.mark.parametrize("name", POLICIES)
def test_a_state_and_the_table_give_the_same_answer(name):
    policy, compared = POLICIES[name](), 0
    table = policy.table("kuhn_poker")
    for state in histories("kuhn_poker"):
        if state.player >= 0:
            odds = policy.at(state)
            assert list(odds) == [state.action_text(action) for action in state.actions()]
            assert odds == pytest.approx(looked_up(table, state)["odds"], abs=1e-12)
            assert sum(odds.values()) == pytest.approx(1.0)
            compared += 1
    assert compared == 24 and len(table) == 12  # six deals, four decisions in each


def test_what_the_equilibrium_does_with_a_jack():
    """[Kuhn1950]: with the jack seat 0 bets with some probability up to 1/3, with the king three times as often."""
    table = fl.solve("kuhn_poker", method="lp").table()
    jack, called = table.where("you get the jack", seat=0)
    assert jack["seen"] == ["you get the jack"] and called["seen"] == ["you get the jack", "you check", "seat 1 bets"]
    assert called["odds"] == pytest.approx({"fold": 1.0, "call": 0.0}, abs=1e-9)
    bluff = jack["odds"]["bet"]
    assert -1e-9 <= bluff <= 1 / 3 + 1e-9
    assert table.where("king", seat=0)[0]["odds"]["bet"] == pytest.approx(3 * bluff, abs=1e-9)
    assert "you get the jack, you check, seat 1 bets  fold 100 %" in str(table.where("jack", seat=0))


def test_values_by_hand():
    """Against uniform play, a jack that checks gets -1 or, after a bet, -1 or -2; one that bets gets 1 or -2."""
    row = fl.Uniform().table("kuhn_poker").where("you get the jack", seat=0)[0]
    assert row["values"] == pytest.approx({"check": (-1 + (-1 - 2) / 2) / 2, "bet": (1 - 2) / 2})
    assert row["reach"] == pytest.approx(1 / 3)


def slow_values(game, policy):
    """By information state, reach probability and action values, from all histories one by one."""
    found = {}  # by seat and observations: reach, counterfactual reach, and by action the weighted sum of values

    def value(state, shares):
        """The expected payoffs; `shares` are chance's probability of this history and each seat's own."""
        if not state.actions():
            return state.returns()
        mover = state.player
        odds = [share for _, share in state.chance()] if mover < 0 else list(policy.at(state).values())
        total = [0.0] * state.num_players
        for action, share in zip(state.actions(), odds, strict=True):
            after = state.clone()
            after.play(action)
            own = list(shares)
            own[1 + mover if mover >= 0 else 0] *= share
            payoffs = value(after, own)
            total = [sum_ + share * payoff for sum_, payoff in zip(total, payoffs, strict=True)]
            if mover >= 0:
                others = math.prod(s for seat, s in enumerate(shares) if seat != 1 + mover)
                row = found.setdefault((mover, *state.observations(mover)), [{}, {}, {}])
                row[0][tuple(state.history())] = math.prod(shares)
                row[1][tuple(state.history())] = others
                name = state.action_text(action)
                row[2][name] = row[2].get(name, 0.0) + others * payoffs[mover]
        return total

    start = fl.new_state(game)
    value(start, [1.0] * (1 + start.num_players))
    return {key: (sum(reach.values()), sum(others.values()), sums) for key, (reach, others, sums) in found.items()}


@pytest.mark.parametrize(("game", "states"), [("kuhn_poker", 12), ("leduc_poker", 936)])
def test_values_and_reach_are_those_of_a_slow_oracle(game, states):
    policy, compared = fl.Biased(0.8, seed=1), 0
    slow, table, done = slow_values(game, policy), policy.table(game), set()
    rows = {(row["seat"], tuple(row["seen"])): row for row in table}
    for state in histories(game):
        seat = state.player
        if seat >= 0 and (key := (seat, *state.observations(seat))) not in done:
            done.add(key)
            reach, others, sums = slow[key]
            row = rows[seat, tuple(state.log(seat))]
            assert row["reach"] == pytest.approx(reach, abs=1e-12)
            assert row["values"] == pytest.approx({name: total / others for name, total in sums.items()}, abs=1e-9)
            compared += 1
    assert compared == states == len(table)


def test_where_the_others_never_lead_nothing_is_known():
    """Nobody who takes the first action bets, so no seat ever faces a bet."""
    table = fl.agent_policy("first_legal", "kuhn_poker").table("kuhn_poker")
    faced = table.where("bets")
    assert len(faced) == 6
    assert all(row["reach"] == 0.0 and set(row["values"].values()) == {None} for row in faced)
    assert all(None not in row["values"].values() for row in table if row not in faced.rows)


def test_rows_that_begin_alike_stand_together():
    rows = fl.Uniform().table("kuhn_poker").rows
    cards = [(row["seat"], row["seen"][0]) for row in rows]
    assert cards == [
        (seat, f"you get the {card}") for seat in (0, 1) for card in ("jack", "queen", "king") for _ in "ab"
    ]


def test_long_tables_are_cut_when_printed():
    table = fl.Uniform().table("leduc_poker")
    lines = str(table).splitlines()
    assert lines[0] == "leduc_poker, 936 information states" and lines[-1] == "... and 876 more rows"
    assert len(lines) == 1 + 1 + 60 + 1 and table._repr_html_().count("<tr>") == 61
    # with each of 6 cards a seat decides at 3 states and, after each of 5 public cards, at 15: 78 states with Js of its
    # own, and 5 * 15 with Js as the public card
    assert repr(table.where("Js", seat=1)) == "<PolicyTable: leduc_poker, 153 of 936 information states>"


def test_refusals_are_one_line():
    policy = fl.solve("kuhn_poker", 5)
    over = played("kuhn_poker", "jack", "queen", "bet", "fold")
    for refused, advice in (
        (lambda: policy.at(fl.new_state("kuhn_poker")), "nobody decides here: chance is to move"),
        (lambda: policy.at(over), "nobody decides here: the game is over"),
        (lambda: policy.at(played("leduc_poker", "Js", "Kh")), "a policy for kuhn_poker, not for leduc_poker"),
        (lambda: policy.table(limit=11), "12 information states, more than limit=11; ask for one of them"),
        (lambda: fl.Uniform().table("phantom_ttt"), "too large to hold"),
        (lambda: policy.table("leduc_poker", memory=1e-6), "too large to hold"),
    ):
        with pytest.raises(fl.BadInput) as error:
            refused()
        assert advice in str(error.value) and "\n" not in str(error.value)


def test_a_table_of_another_game_is_noticed():
    state = played("kuhn_poker", "jack", "queen")
    agent = fl.load_agent("random")
    fl.Seat(agent, state.game, 0, seed=0, observations=state.observations(0))
    with pytest.raises(fl.BadInput, match="belongs to another game"):
        fl.tabular({agent.key: [0.2, 0.3, 0.5]}).at(state)


# On the command line ----------------------------------------------------------------------------------------------


def test_solve_shows_what_it_plays(run):
    code, out, _ = run("solve", "kuhn_poker", "--iterations", "300", "--show")
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert code == 0 and any("1 you get the king, seat 0 bets call 100 % " in line for line in lines)
    assert "value to seat 0" in out
    shown = json.loads(run("solve", "kuhn_poker", "--iterations", "300", "--show", "--json")[1])
    assert shown["table"] == fl.solve("kuhn_poker", 300).table().rows
    assert "table" not in json.loads(run("solve", "kuhn_poker", "--iterations", "300", "--json")[1])


@pytest.fixture
def saved(tmp_path):
    def make(game):
        path = tmp_path / "policy.npz"
        policy = fl.solve(game, 100)
        policy.save(path)
        return f'policy(file="{path}")', policy

    return make


@pytest.mark.parametrize("game", ["kuhn_poker", "openspiel:kuhn_poker"])
def test_the_agent_policy_says_what_its_actions_are_worth(saved, game):
    if game.startswith("openspiel"):
        pytest.importorskip("pyspiel")
    name, policy = saved(game)
    table, compared = policy.table(), 0
    with fl.load_agent(name) as agent:
        for state in histories(game):
            if state.player >= 0:
                thought, row = fl.analyse(state, agent), looked_up(table, state)
                assert {r["action"]: r["odds"] for r in thought.actions} == pytest.approx(row["odds"])
                assert {r["action"]: r["value"] for r in thought.actions} == pytest.approx(row["values"])
                assert thought.facts["notes"]["reach"] == pytest.approx(row["reach"])
                compared += 1
    assert compared == 24


def test_analyse_shows_a_policy(saved, run):
    name, policy = saved("kuhn_poker")
    code, out, _ = run("analyse", "kuhn_poker", "jack", "queen", "--agent", name)
    (jack,) = (row for row in policy.table() if row["seen"] == ["you get the jack"])
    for action, share in jack["odds"].items():
        assert f"{action} {jack['values'][action]:+.3f} {share:.3f}" in " ".join(out.split())
    assert code == 0 and "visits" not in out and "belief" not in out
    assert "cfr+, 100 iterations, exploitability" in out and "if all seats play the policy" in out


def test_values_are_left_out_where_the_game_is_too_large(saved, monkeypatch):
    name, _ = saved("kuhn_poker")

    def too_large(game):
        raise TooLarge(f"{game} is too large to hold")

    policy_agent._worth.cache_clear()
    monkeypatch.setattr(policy_agent, "sequence_form", too_large)
    thought = fl.analyse(played("kuhn_poker", "jack", "queen"), name)
    assert [row["value"] for row in thought.actions] == [None, None] and "not known" in str(thought)
    assert thought.facts["notes"]["values"] == "not known: kuhn_poker is too large to hold"


def test_a_match_computes_no_values(saved, monkeypatch):
    name, _ = saved("kuhn_poker")
    monkeypatch.setattr(policy_agent, "_worth", None)
    assert fl.play_match("kuhn_poker", [name, name], games=10).games == 10


def test_a_state_of_openspiel_will_do():
    pyspiel = pytest.importorskip("pyspiel")
    theirs = pyspiel.load_game("kuhn_poker").new_initial_state()
    for action in (0, 1):
        theirs.apply_action(action)
    policy = fl.solve("openspiel:kuhn_poker", 100)
    ours = fl.new_state(theirs)
    assert policy.at(theirs) == policy.at(ours) and fl.Uniform().at(theirs) == {"Pass": 0.5, "Bet": 0.5}
    best = fl.best_response("openspiel:kuhn_poker", fl.Uniform(), seat=0)[1]
    assert best.at(theirs) == best.at(ours)
    assert fl.random_playouts(theirs, games=20, seed=1) == fl.random_playouts(ours, games=20, seed=1)
