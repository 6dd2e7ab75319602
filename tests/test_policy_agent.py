"""The agent that plays a saved policy: what the file says, and one clear line where it does not fit."""

import numpy as np
import pytest

import foglight as fl
from foglight.names import parse_spec
from foglight.policies import Tabular, Uniform
from foglight.rules import key
from foglight.solving.solver import exploitability, solve
from foglight.solving.whole.behaviour import behaviour_of
from foglight.solving.whole.plans import counterfactual_values
from foglight.solving.whole.sequences import sequence_form
from foglight.solving.whole.solved import Solved


@pytest.fixture
def saved(tmp_path):
    """A game's policy in a file: the agent's name, and the policy."""

    def make(game, iterations=100, path=tmp_path / "policy.npz"):
        policy = solve(game, iterations)
        policy.save(path)
        return f'policy(file="{path}")', policy

    return make


@pytest.mark.parametrize("game", ["kuhn_poker", "leduc_poker", "goofspiel(cards=4)", "liars_dice(dice=1,sides=3)"])
def test_the_agent_is_as_exploitable_as_its_policy(saved, game):
    name, policy = saved(game)
    assert exploitability(game, fl.agent_policy(name, game)) == pytest.approx(policy.exploitability, abs=1e-12)


@pytest.mark.parametrize("game", ["kuhn_poker", "goofspiel(num_cards=3,imp_info=True,points_order=descending)"])
def test_games_of_openspiel_are_played_as_well(saved, game):
    """Its information states have keys of their own, which the agent finds from its observations."""
    pytest.importorskip("pyspiel")
    name, policy = saved(f"openspiel:{game}")
    game = policy.game
    assert exploitability(game, fl.agent_policy(name, game)) == pytest.approx(policy.exploitability, abs=1e-12)


def test_actions_are_drawn_as_the_policy_says(saved):
    # 2 000 seeds at each of 12 information states: chi-square at 1e-7 each, a false alarm once in 800 000
    from scipy.stats import chisquare

    name, policy = saved("kuhn_poker")
    agent, met = fl.load_agent(name), set()
    stack = [fl.new_state("kuhn_poker")]
    while stack:
        state = stack.pop()
        number = int(key(state.game, state.world, state.player)) if state.player >= 0 else None
        if number is not None and number not in met:
            met.add(number)
            counts = [0, 0]
            for seed in range(2000):
                agent.start(state.game, state.player, seed)
                for observation in state.observations(state.player):
                    agent.observe(observation)
                counts[agent.act(state.actions())] += 1
            row = policy.keys.tolist().index(number)
            odds = policy.probabilities[policy.begins[row] : policy.begins[row + 1]]
            assert odds.min() > 0.0, "so that chi-square may be asked everywhere"
            assert chisquare(counts, odds * 2000).pvalue > 1e-7
        for action in state.actions():
            after = state.clone()
            after.play(action)
            stack.append(after)
    assert len(met) == 12


def test_what_is_never_played_is_never_drawn(saved):
    name, policy = saved("kuhn_poker")
    never = Solved(policy.keys, policy.begins, np.tile([1.0 - 1e-17, 0.0], len(policy.keys)))
    vars(never).update(vars(policy))
    never.save(parse_spec(name).arguments[0][1])
    assert fl.play_match("kuhn_poker", [name, name], 50).records == (
        fl.play_match("kuhn_poker", ["first_legal", "first_legal"], 50).records
    )


def test_unknown_information_states_are_played_uniformly(saved):
    name, policy = saved("kuhn_poker")
    empty = Solved(*Tabular(policy.keys[:0], policy.begins[:1], policy.probabilities[:0]))
    vars(empty).update(vars(policy))
    empty.save(parse_spec(name).arguments[0][1])
    table = fl.agent_policy(name, "kuhn_poker")
    assert len(table.keys) == 12 and set(table.probabilities.tolist()) == {0.5}


def test_a_file_that_has_changed_is_read_again(saved):
    name, _ = saved("kuhn_poker", 1)
    before = fl.agent_policy(name, "kuhn_poker")
    saved("kuhn_poker", 300)
    assert not np.array_equal(before.probabilities, fl.agent_policy(name, "kuhn_poker").probabilities)


def test_a_match_comes_out_as_the_policy_says(saved):
    """Against `random` the mean return is the exact expectation, on either seat in turn; 5 errors: 1 in a million."""
    name, policy = saved("leduc_poker", 500)
    sequences = sequence_form("leduc_poker")
    own, expected = behaviour_of(sequences, policy), []
    for seat in (0, 1):
        both = behaviour_of(sequences, Uniform())
        first, last = sequences.form.sequence_begins[seat : seat + 2]
        both[first:last] = own[first:last]
        expected.append(counterfactual_values(sequences, both)[seat][0])
    result = fl.play_match("leduc_poker", [name, "random"], 2000, seed=2)
    assert abs(result.mean_returns[0] - sum(expected) / 2) < 5 * result.standard_errors[0] < sum(expected) / 2


def test_workers_play_the_same_games(saved):
    name, _ = saved("leduc_poker")
    one, two = (fl.play_match("leduc_poker", [name, "random"], 40, workers=workers) for workers in (1, 2))
    assert one.records == two.records


def one_line(name, game="kuhn_poker", workers=1):
    with pytest.raises(fl.BadInput) as error:
        fl.play_match(game, [name, "random"], 4, workers=workers)
    assert "\n" not in str(error.value)
    return str(error.value)


def test_what_does_not_fit_gets_one_line(saved, tmp_path):
    name, policy = saved("kuhn_poker")
    assert "holds a policy for kuhn_poker, not for leduc_poker" in one_line(name, "leduc_poker")
    assert "holds a policy for kuhn_poker, not for leduc_poker" in one_line(name, "leduc_poker", workers=2)
    assert "policy needs a file: write policy(file=PATH)" in one_line("policy")
    assert "cannot read nowhere.npz: No such file" in one_line("policy(file=nowhere.npz)")
    (tmp_path / "text.npz").write_text("no policy")
    assert "is not a saved policy" in one_line(f"policy(file={tmp_path}/text.npz)")
    short = Solved(policy.keys, np.arange(len(policy.keys) + 1), np.ones(len(policy.keys)))
    vars(short).update(vars(policy))
    short.save(tmp_path / "short.npz")
    assert "has 1 actions where 2 are legal" in one_line(f"policy(file={tmp_path}/short.npz)")


@pytest.mark.parametrize("path", ["policy.npz", "a/b.c/policy.npz", "../p-1_2.npz", '"with space (1).npz"', '"12"'])
def test_paths_can_be_written(path):
    agent = fl.load_agent(f"policy(file={path})")
    assert agent.file == path.strip('"')
    assert fl.load_agent(str(parse_spec(f"policy(file={path})"))).file == agent.file
