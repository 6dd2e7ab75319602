"""`foglight solve`: what it prints, keeps and refuses; and the study of Goofspiel's sizes, which uses its trees."""

import itertools
import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import foglight as fl
from foglight.rules import key
from foglight.solving.whole.tree import build_tree, seat_keys
from foglight.studies import goofspiel_sizes


def complaints(err):
    """What stderr says, but for the notice that a kernel is compiled for the first time."""
    return [line for line in err.splitlines() if not line.startswith("compiling ")]


def test_value_exploitability_time_and_sizes_are_printed(run):
    code, out, err = run("solve", "leduc_poker", "--iterations", "300")
    policy = fl.solve("leduc_poker", 300)
    assert code == 0 and not complaints(err)
    for part in (f"{policy.value:.9g}", f"{policy.exploitability:.3g}", "9,457 nodes, 936 information states", " s, "):
        assert part in out
    assert "cfr+, 300 iterations" in out and "--save FILE" in out


def test_data_for_programs(run):
    code, out, _ = run("solve", "kuhn_poker", "--iterations", "50", "--method", "dcfr", "--json")
    found, policy = json.loads(out), fl.solve("kuhn_poker", 50, "dcfr")
    assert code == 0
    assert found["value"] == policy.value and found["exploitability"] == policy.exploitability
    assert (found["nodes"], found["information_states"], found["saved"]) == (58, 12, None)


def test_the_same_command_with_more_iterations_goes_on(run, tmp_path):
    path = str(tmp_path / "policy.npz")
    assert run("solve", "kuhn_poker", "--iterations", "200", "--save", path)[0] == 0
    assert fl.Solved.load(path).iterations == 200
    code, out, _ = run("solve", "kuhn_poker", "--iterations", "700", "--save", path)
    assert code == 0 and f"'policy(file=\"{path}\")'" in out
    assert np.array_equal(fl.Solved.load(path).probabilities, fl.solve("kuhn_poker", 700).probabilities)


def test_a_match_plays_what_was_saved(run, tmp_path):
    path = tmp_path / "policy.npz"
    run("solve", "leduc_poker", "--iterations", "100", "--save", str(path))
    code, out, _ = run("match", "--game", "leduc_poker", f"policy(file={path})", "random", "--games", "20", "--json")
    assert code == 0 and json.loads(out)["agents"][0]["agent"] == f"policy(file={path})"


def test_linear_programming_is_exact_and_says_so(run, tmp_path):
    path = str(tmp_path / "exact.npz")
    code, out, _ = run("solve", "kuhn_poker", "--method", "lp", "--save", path)
    assert code == 0 and "linear programming, exact" in out and "-0.0555555556" in out
    assert fl.exploitability("kuhn_poker", fl.Solved.load(path)) < 1e-12
    assert run("solve", "kuhn_poker", "--method", "lp", "--save", path)[0] == 0, "again is no harm"
    code, _, err = run("solve", "kuhn_poker", "--save", path)
    assert code == 2 and "its method is lp" in err


def test_what_took_iterations_is_not_overwritten_by_linear_programming(run, tmp_path):
    path = str(tmp_path / "policy.npz")
    run("solve", "kuhn_poker", "--iterations", "20", "--save", path)
    code, _, err = run("solve", "kuhn_poker", "--method", "lp", "--save", path)
    assert code == 2 and "cannot go on with 20 iterations of cfr+" in err
    assert fl.Solved.load(path).iterations == 20


def test_games_without_a_guarantee_say_so(run):
    pytest.importorskip("pyspiel")
    _, out, _ = run("solve", "openspiel:kuhn_poker(players=3)", "--iterations", "20")
    assert "not a zero-sum game of two seats" in out
    _, out, _ = run("solve", "kuhn_poker", "--iterations", "20")
    assert "not a zero-sum" not in out


BAD = [
    (("liars_dice(dice=5)",), "too large to hold: it has about 10^"),
    (("dark_hex",), "too large to hold, even in its factored form: over 4 GiB; give more memory"),
    (("leduc_poker", "--memory", "0.0001"), "nodes down to depth"),
    (("dark_hx",), "did you mean 'dark_hex'?"),
    (("kuhn_poker", "--method", "cfr++"), "did you mean 'cfr+'?"),
    (("kuhn_poker", "--iterations", "0"), "iterations must be at least 1"),
    (("kuhn_poker", "--seed", "-1"), "seed must be at least 0"),
    (("kuhn_poker", "--save", "/no/such/folder/x.npz"), "there is no folder /no/such/folder"),
    (("kuhn_poker", "--save", __file__), "is not a saved policy"),
    (("openspiel:kuhn_poker(players=3)", "--method", "lp"), "two seats only"),
]


@pytest.mark.parametrize(("arguments", "advice"), BAD)
def test_bad_input_gets_one_line_and_exit_code_2(run, arguments, advice):
    code, out, err = run("solve", *arguments)
    assert (code, out) == (2, "")
    assert len(complaints(err)) == 1 and advice in err


@pytest.mark.parametrize("saves", [True, False])
def test_ctrl_c_says_what_is_kept(run, monkeypatch, tmp_path, saves):
    path = tmp_path / "policy.npz"
    real = fl.solve

    def interrupted(game, iterations, *rest, **options):
        real(game, 50, *rest, **options)
        raise KeyboardInterrupt

    monkeypatch.setattr(fl, "solve", interrupted)
    code, out, err = run("solve", "kuhn_poker", *(["--save", str(path)] if saves else []))
    kept = f"what was done is in {path}, but for the last seconds, and the same command goes on"
    assert (code, out) == (130, "")
    assert complaints(err) == [f"stopped; {kept if saves else '--save FILE would keep what is done'}"]


def test_a_kill_loses_only_what_came_after_the_last_checkpoint(tmp_path):
    path = tmp_path / "policy.npz"
    script = (
        "import foglight as fl\n"
        "from foglight.solving.whole import running; running._SAVE_EVERY = 0.2\n"
        f"fl.solve('leduc_poker', 10**9, checkpoint={str(path)!r})"
    )
    process = subprocess.Popen([sys.executable, "-c", script])
    try:
        deadline = time.monotonic() + 600
        while not path.exists() and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.05)
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    done = fl.Solved.load(path).iterations
    assert done > 0
    after = fl.solve("leduc_poker", done + 500, checkpoint=path)
    assert np.array_equal(after.probabilities, fl.solve("leduc_poker", done + 500).probabilities)


# Goofspiel's public states ----------------------------------------------------------------------------------------


def by_hand(cards, rounds):
    """Sizes of the public states, by going through all bids."""
    found = {}
    for first in itertools.permutations(range(cards), rounds):
        for second in itertools.permutations(range(cards), rounds):
            public = tuple(np.sign(a - b) for a, b in zip(first, second, strict=True))
            found.setdefault(public, []).append((first, second))
    most = max(map(len, found.values()))
    both = [
        tuple(len({bids[seat] for bids in pairs}) for seat in (0, 1)) for pairs in found.values() if len(pairs) == most
    ]
    return most, min(sum(states) for states in both), len(found)


@pytest.mark.parametrize(("cards", "rounds"), [(3, 1), (3, 2), (4, 0), (4, 2), (4, 3), (5, 2)])
def test_public_states_are_counted_as_by_hand(cards, rounds):
    found = goofspiel_sizes.work(cards, rounds)
    assert (found["histories"], found["states"], found["publics"]) == by_hand(cards, rounds)
    assert found["seat_0"] + found["seat_1"] == found["states"]


@pytest.mark.parametrize(("cards", "rounds"), [(5, 1), (5, 2), (5, 3)])
def test_public_and_information_states_are_those_of_the_game(cards, rounds):
    tree = build_tree(f"goofspiel(cards={cards})", depth=2 * rounds)
    public, own = goofspiel_sizes.public_states(tree, rounds)
    keys = tree.public_keys[tree.leaves]
    assert len(np.unique(keys)) == len(np.unique(public)) == len(np.unique(np.stack([keys, public]), axis=1).T)
    for seat in (0, 1):
        seen = seat_keys(tree.game, tree.leaf_rows, seat)
        pairs = np.unique(np.stack([public, own[seat]]), axis=1)
        assert pairs.shape[1] == len(np.unique(seen))
    assert int(key(tree.game, tree.leaf_rows[0], fl.PUBLIC)) == int(keys[0])


def test_the_bound_is_the_published_one():
    """To all digits printed, but for two: 143.499 is printed as 144, and 226 656 as 2.2e5, cut and not rounded."""
    different = {}
    for rounds, published in goofspiel_sizes.PUBLISHED.items():
        bound = goofspiel_sizes.bound(goofspiel_sizes.CARDS, rounds)
        for printed, number in zip(published, (bound, 2 * bound**0.5), strict=True):
            digits = 2 if "e" in printed else len(printed.replace(".", ""))
            if float(f"{number:.{digits}g}") != float(printed):
                different[rounds, printed] = number
    assert {key: round(number) for key, number in different.items()} == {(2, "144"): 143, (6, "2.2e5"): 226_656}
