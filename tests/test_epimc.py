"""EPIMC: the paper's example and propositions, leaves beside recursion, samples beside the game they come from."""

import itertools
import random

import numpy as np
import pytest
from oracles import random_game

import foglight as fl
from foglight.agents import _searching
from foglight.compile import kernel
from foglight.randomness import generator
from foglight.rules import begin, lay_open, new_worlds, num_players, num_words, position
from foglight.search.leaves import evaluate, minimax, rollout
from foglight.search.paths.fusion import strategy_fusion
from foglight.search.paths.information_set_search import search
from foglight.search.paths.sampled_form import sampled_form
from foglight.search.paths.sampling import first_of, new_paths, sample
from foglight.search.paths.steered import new_states, walk
from foglight.solving.whole.plans import write_gradient
from foglight.solving.whole.regret import FormRegrets
from foglight.worlds.tracker import Tracker

SMALL = ["kuhn_poker", "unseen_rps", "goofspiel(cards=3)", "goofspiel(cards=4)", "liars_dice(sides=2)"]


def asked(spec, state, seed=0):
    """An agent that knows what the seat to move knows, after it has acted; and its action."""
    agent = fl.load_agent(spec)
    agent.start(state.game, state.player, seed)
    for observation in state.observations(state.player):
        agent.observe(observation)
    return agent, agent.act(state.actions())


def start_of(game):
    rows = new_worlds(game, 1)
    begin(game, rows[0])
    return rows


@kernel
def evaluated(game, leaf, rows, random, out):
    for i in range(len(rows)):
        evaluate(leaf, game, rows[i], random, out[i])


# The paper's example and propositions ---------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_figure_1_pimc_leaves_and_epimc_plays(seed):
    state = fl.new_state("unseen_rps")
    _, leaving = asked("pimc(leaf=minimax,iterations=500)", state, seed)
    assert state.action_text(leaving) == "leave"
    for subgame in ("steered", "iss", "cfr+"):
        agent, action = asked(f"epimc(depth=2,leaf=minimax,iterations=2000,subgame={subgame})", state, seed)
        assert state.action_text(action) != "leave"
    agent, _ = asked("epimc(depth=2,leaf=minimax,iterations=20000,subgame=cfr+)", state, seed)
    assert agent.explain().notes["odds"] == pytest.approx([0.0, 1 / 3, 1 / 3, 1 / 3], abs=0.05)


@pytest.mark.parametrize("game", SMALL)
def test_fusion_never_rises_with_depth_and_ends(game):
    """Propositions 1 to 3."""
    fused = [strategy_fusion(game, depth) for depth in range(12)]
    assert all(later <= earlier for earlier, later in itertools.pairwise(fused))
    assert fused[0] > 0
    assert fused[-1] == 0


def test_fusion_of_a_decision_is_counted_just_below_its_depth():
    state = fl.new_state("unseen_rps")
    agent, _ = asked("pimc(leaf=minimax,iterations=200)", state)
    assert agent.fusion() == (1, 1)  # the other seat's only state, in which every world wants another answer
    agent, _ = asked("epimc(depth=2,leaf=minimax,iterations=200)", state)
    assert agent.fusion() == (0, 0)  # nothing is left to be fused


# PIMC, and budgets ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("game", ["phantom_ttt", "dark_hex(rows=3,cols=3)", "leduc_poker"])
def test_pimc_is_epimc_at_depth_1(game):
    for state in random_game(game, random.Random(3)):
        if state.player >= 0 and len(state.actions()) > 1:
            one, first = asked("pimc(tries=one,iterations=300)", state, 5)
            two, second = asked("epimc(depth=1,subgame=iss,iterations=300)", state, 5)
            assert first == second
            assert np.array_equal(one.explain().values, two.explain().values, equal_nan=True)


@pytest.mark.parametrize("game", ["dark_hex(rows=2,cols=3)", "goofspiel(cards=4)", "kuhn_poker"])
def test_pimc_tries_every_action_in_each_world(game):
    """Algorithm 1 with exact leaves: the mean open value over the worlds, each as often as its weight says."""
    compared, known = 0, {}
    for state in random_game(game, random.Random(3)):
        if state.player < 0 or len(state.actions()) < 2 or compared > 40:
            continue
        f = fl.history_filter(game, state.observations(state.player), state.player, mover=state.player)
        if f.count() > 60:
            continue
        worlds, sign = [world for world, _ in f.enumerate()], 1 if state.player == 0 else -1
        wanted = []
        for action in state.actions():
            values = []
            for world in worlds:
                after = world.clone()
                after.play(action)
                values.append(sign * open_value(after, known))
            wanted.append(sum(values) / len(values))
        n = 20 * len(worlds)
        agent, _ = asked(f"pimc(leaf=minimax,iterations={n * len(wanted)})", state)
        why = agent.explain()
        assert why.iterations == n * len(wanted) and why.visits == [n] * len(wanted)
        assert why.values == pytest.approx(wanted, abs=0.1)  # worlds come as often as they weigh, up to one in 20
        compared += len(wanted)
    assert compared >= {"dark_hex(rows=2,cols=3)": 15, "goofspiel(cards=4)": 8, "kuhn_poker": 4}[game]


def test_pimc_evaluates_whole_worlds():
    for n, done in ((1, 9), (7, 9), (400, 396), (405, 405)):
        agent, _ = asked(f"pimc(iterations={n})", fl.new_state("phantom_ttt"))
        assert agent.explain().iterations == done


@pytest.mark.parametrize(
    "spec", ["pimc(tries=one,iterations={})", "epimc(iterations={})", "epimc(depth=2,subgame=cfr+,iterations={})"]
)
@pytest.mark.parametrize("n", [1, 7, 400])
def test_iterations_are_what_was_asked_for(spec, n):
    agent, _ = asked(spec.format(n), fl.new_state("phantom_ttt"))
    told = agent.explain()
    assert told.iterations == n
    assert sum(told.visits) <= n
    assert told.worlds == 1 and told.exact


def test_time_is_kept_by_the_clock(monkeypatch):
    """With a clock that only moves when iterations run: a millisecond each, after ten for whatever comes before."""
    now = [0.0]
    monkeypatch.setattr(_searching.time, "perf_counter", lambda: now[0])
    agent = fl.load_agent("epimc(time=2)")
    ran = []

    def run(n):
        ran.append(n)
        now[0] += n / 1000

    begun = now[0]
    now[0] += 0.01
    assert agent.spend(begun, run, 0.5) == sum(ran)
    assert 0.9 < now[0] <= 1.1
    agent.spend(begun, run)
    assert 1.9 < now[0] <= 2.0 + 0.2 * 2.0 + 0.005
    agent.spend(begun, run)  # nothing is left
    assert now[0] <= 2.0 + 0.2 * 2.0 + 0.005


@pytest.mark.parametrize("cheap", [0, 64, 1000])
def test_a_rate_that_was_too_high_does_not_cost_a_time_budget(cheap, monkeypatch):
    """The first iterations cost nearly nothing, as in a small tree, the others a millisecond."""
    now, done = [0.0], [0]
    monkeypatch.setattr(_searching.time, "perf_counter", lambda: now[0])

    def run(n):
        before = done[0]
        done[0] += n
        now[0] += 1e-9 * n + 0.001 * max(0, done[0] - max(cheap, before))

    agent = fl.load_agent("epimc(time=2)")
    for _ in range(3):
        begun, done[0] = now[0], 0
        agent.spend(begun, run)
        assert 1.9 < now[0] - begun < 2.0 + 0.2 * 2.0 + 0.005
        agent._rate = 1e9


@pytest.mark.parametrize("agent", ["pimc", "epimc", "epimc(subgame=iss)", "epimc(subgame=cfr+)", "ismcts", "iimc"])
def test_a_budget_that_is_over_at_once_still_gives_a_move(agent):
    spec = f"{agent[:-1]},time=0.000001)" if agent.endswith(")") else f"{agent}(time=0.000001)"
    state = fl.new_state("phantom_ttt")
    thinker, action = asked(spec, state)
    assert action in state.actions()
    assert thinker.explain().iterations >= 1


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("epimc(iterations=5,time=1)", "not both"),
        ("epimc(depth=0.5)", "whole number"),
        ("epimc(depth=13)", "from 0 to 12"),
        ("epimc(leaf=stockfish)", "must be rollout, evaluation, minimax or value"),
        ("pimc(depth=2)", "unknown pimc parameter"),
    ],
)
def test_bad_options_get_one_line(spec, said):
    with pytest.raises(fl.BadInput, match=said):
        fl.load_agent(spec)


def test_minimax_leaves_are_for_two_seats():
    with pytest.raises(fl.BadInput, match="two seats"):
        fl.load_agent("pimc(leaf=minimax)").start("oh_hell", 0, 0)


def test_nothing_to_explain_before_the_first_move():
    agent = fl.load_agent("epimc")
    agent.start("kuhn_poker", 0, 0)
    with pytest.raises(fl.BadInput, match="nothing has been played"):
        agent.explain()


@pytest.mark.parametrize(
    "spec", ["epimc(iterations=200)", "pimc(iterations=200)", "epimc(iterations=200,weights=uniform_play)"]
)
@pytest.mark.parametrize(
    "game",
    [
        "oh_hell(players=3,tricks=3)",
        "openspiel:kuhn_poker",
        *(pytest.param(game, marks=pytest.mark.long) for game in ("hearts", "card_game")),
    ],
)
def test_games_of_many_kinds_can_be_played(spec, game):
    rng = random.Random(1)
    state = fl.new_state(game)
    asked_once = False
    for _ in range(90):
        if state.player == fl.TERMINAL:
            break
        if state.player >= 0 and len(state.actions()) > 1 and not asked_once:
            agent, action = asked(spec, state)
            assert action in state.actions()
            assert agent.explain().worlds > 0
            asked_once = True
        state.play(rng.choice(state.actions()))
    assert asked_once


# Leaves ---------------------------------------------------------------------------------------------------------------


def open_value(state, known):
    """The value to seat 0 when all is open, by recursion."""
    if state.player == fl.TERMINAL:
        return state.returns()[0]
    code = int(position(state.game, state.world))
    if code not in known:
        values = []
        for action in state.actions():
            after = state.clone()
            after.play(action)
            values.append(open_value(after, known))
        if state.player == fl.CHANCE:
            known[code] = sum(odds * value for (_, odds), value in zip(state.chance(), values, strict=True))
        else:
            known[code] = max(values) if state.player == 0 else min(values)
    return known[code]


@pytest.mark.parametrize(
    ("game", "played"),
    [
        ("phantom_ttt", 5),
        ("dark_hex(rows=3,cols=3)", 5),
        *(pytest.param(game, 3, marks=pytest.mark.long) for game in ("phantom_ttt", "dark_hex(rows=3,cols=3)")),
        ("goofspiel(cards=4)", 0),
        ("kuhn_poker", 0),
        ("leduc_poker", 2),
    ],
)
def test_minimax_is_what_recursion_finds(game, played):
    rng, known = random.Random(2), {}
    states = []
    for _ in range(10):
        state = fl.new_state(game)
        for _ in range(played):
            if state.player != fl.TERMINAL:
                state.play(rng.choice(state.actions()))
        states.append(state)
    leaf, out = minimax(states[0].game), np.zeros((len(states), 2))
    evaluated(states[0].game, leaf, np.array([state.world for state in states]), generator(1), out)
    assert out[:, 0] == pytest.approx([open_value(state, known) for state in states], abs=1e-12)
    assert np.array_equal(out[:, 1], -out[:, 0])
    assert leaf.tally[1] == 0


def test_minimax_behind_its_horizon_is_a_random_game_that_is_not_remembered():
    game = fl.load_game("dark_hex(rows=4,cols=4)")
    leaf, out = minimax(game, plies=2), np.zeros((1, 2))
    evaluated(game, leaf, start_of(game), generator(1), out)
    assert leaf.tally[1] == 1
    assert not leaf.kinds.any()
    assert abs(out[0, 0]) == 1.0


def standing_at(game, world):
    """A state whose world is this one, and what the rules say of it."""
    state = fl.new_state(game)
    state.world[:] = world
    state._look()
    return state


def opened(state, *actions):
    """The state after these actions, laid open."""
    after = state.clone()
    for action in actions:
        after.play(action)
    world = after.world.copy()
    lay_open(state.game, world)
    return standing_at(state.game, world)


@pytest.mark.parametrize("game", fl.game_names())
def test_laying_open_changes_nothing_but_what_is_known(game):
    """The same seat moves, chance is the same, the end is the same, and each action leads to the same open world.

    So open play from both worlds is the same. An action that is legal no more could only inform: after it, the open
    world is the one before.
    """
    rng, words = random.Random(4), num_words(fl.load_game(game))
    compared, ended, informing = 0, 0, 0
    while ended < 2 or compared < 300:
        for state in random_game(game, rng):
            before = opened(state)
            assert np.array_equal(opened(before).world, before.world), "doing it twice does nothing more"
            assert (before.player, before.chance(), before.returns()) == (state.player, state.chance(), state.returns())
            if state.player == fl.TERMINAL:
                ended += 1
                continue
            left, gone = before.actions(), sorted(set(state.actions()) - set(before.actions()))
            assert left and sorted(left + gone) == state.actions()
            for action in rng.sample(left, min(3, len(left))):
                assert np.array_equal(opened(before, action).world[:words], opened(state, action).world[:words])
                compared += 1
            for action in gone:
                assert np.array_equal(opened(state, action).world[:words], before.world[:words])
                informing += 1
    assert (informing > 0) == (game in ("phantom_ttt", "dark_hex")), "where one may run into what one does not see"


def test_rollouts_are_random_games():
    """Mean payoffs beside `random_playouts`, at 5 standard errors: a false alarm in two million."""
    state = fl.new_state("phantom_ttt")
    n = 20_000
    out = np.zeros((n, 2))
    evaluated(state.game, rollout(state.game), np.tile(state.world, (n, 1)), generator(3), out)
    means, _ = fl.random_playouts(state, 200_000)
    assert abs(out[:, 0].mean() - means[0]) < 5 * np.sqrt(1.1) * out[:, 0].std() / np.sqrt(n)


# Paths and what is made of them ---------------------------------------------------------------------------------------


def paths_of(game, n, depth, seed=1):
    game = fl.load_game(game)
    rows = start_of(game)
    paths = new_paths(n, depth, num_players(game))
    sample(game, rollout(game), rows, np.ones(1), generator(seed), 0, n, paths)
    return game, paths


def test_paths_keep_to_the_weights_of_worlds():
    """Systematic sampling: each world exactly as often as its weight says, up to one."""
    state = fl.new_state("phantom_ttt")
    for move in ("b2", "a1"):
        state.play(state.parse_action(move))
    tracker = Tracker(state.game, 0)
    for observation in state.observations(0):
        tracker.observe(observation)
    held = tracker.worlds()
    weights = np.arange(1.0, len(held.rows) + 1)
    weights /= weights.sum()
    n = 10_000
    paths = new_paths(n, 2, 2)
    sample(state.game, rollout(state.game), held.rows, weights, generator(1), 0, n, paths)
    assert (paths.lengths == 2).all()
    assert (paths.keys[:, 0] == paths.keys[0, 0]).all()  # all at the searcher's own information state
    heavy = new_paths(n, 2, 2)
    sample(state.game, rollout(state.game), held.rows[-1:], np.ones(1), generator(1), 0, n, heavy)
    # paths come in the order of the worlds, so the last ones are from the heaviest
    last = paths.keys[-int(n * weights[-1]) + 1 :, 1]
    assert set(last.tolist()) <= set(heavy.keys[:, 1].tolist())


@pytest.mark.parametrize("game", ["kuhn_poker", "goofspiel(cards=3)", "unseen_rps"])
def test_sampled_forms_are_unbiased(game):
    """The mean payoff of a sampled form under uniform play, beside the exact one; 5 standard errors."""
    estimates = []
    for seed in range(200):
        _, paths = paths_of(game, 200, 8, seed)
        form, _ = sampled_form(paths)
        plan = np.zeros(int(form.sequence_begins[-1]))
        plan[form.sequence_begins[:-1]] = 1.0
        for seat in range(2):
            for i in range(form.state_begins[seat], form.state_begins[seat + 1]):
                size = form.ends[i] - form.begins[i]
                plan[form.begins[i] : form.ends[i]] = plan[form.parents[i]] / size
        gradient = np.zeros(len(plan))
        own = slice(form.sequence_begins[0], form.sequence_begins[1])
        write_gradient(form, plan, 0, gradient)
        estimates.append(gradient[own] @ plan[own] + paths.values[:, 0].mean())
    from foglight.policies import Uniform

    truth = fl.policy_values(game, Uniform())[0]
    error = np.std(estimates) / np.sqrt(len(estimates))
    assert len(estimates) == 200 and 0 < error < 0.1
    assert abs(np.mean(estimates) - truth) < 5 * error


def test_cfr_on_many_samples_comes_close_to_equilibrium():
    game, paths = paths_of("kuhn_poker", 200_000, 8)
    form, keys = sampled_form(paths)
    solver = FormRegrets(form)
    solver.iterate(2000)
    average = solver.average()
    table = {int(k): average[a:b].tolist() for k, a, b in zip(keys, form.begins, form.ends, strict=True)}
    assert fl.exploitability(game, table) < 0.02


def test_information_set_search_by_hand():
    """Four paths, two histories in one state: one action is taken for both, and each is worth what it is itself."""
    paths = new_paths(4, 2, 2)
    paths.lengths[:] = 2
    paths.keys[:, 0], paths.sizes[:, 0] = 7, 2
    paths.choices[:, 0] = [0, 0, 1, 1]
    paths.keys[:, 1], paths.sizes[:, 1] = 9, 2
    paths.histories[:, 1] = [1, 1, 2, 2]
    paths.choices[:, 1] = [0, 1, 0, 1]
    paths.values[:, 0] = [1.0, -1.0, 0.5, 0.0]
    paths.values[:, 1] = -paths.values[:, 0]
    paths.movers[:, 1] = 1  # it answers 1: -1 and 0 against 1 and 0.5
    assert search(paths, 0).values.tolist() == [-1.0, 0.0]
    paths.movers[:, 1] = 0  # we answer 0: a mean of 0.75 against -0.5
    assert search(paths, 0).values.tolist() == [1.0, 0.5]
    assert search(paths, 0, least=3).values.tolist() == [0.0, 0.25]  # two paths an action are not enough


def test_steered_states_are_left_to_chance_until_they_are_known():
    game = fl.load_game("unseen_rps")
    rows, random_ = start_of(game), generator(1)
    sums, counts = np.zeros(4), np.zeros(4, np.int64)
    for least, share in ((10**6, 0.0), (1, 0.9)):
        states = new_states(100, 4)
        walk(game, rollout(game), states, rows, np.ones(1), random_, 1000, 2, least, 1.0, np.arange(4), sums, counts)
        assert states.tally[0] == 1
        assert states.settled[1] >= share * states.visited[1]
        assert least == 1 or states.settled[1] == 0
    # against rock alone the other seat learns paper
    states = new_states(100, 4)
    walk(game, rollout(game), states, rows, np.ones(1), random_, 1000, 2, 1, 1.0, np.array([1]), sums, counts)
    first = states.begins[np.flatnonzero(states.visits)[0]]
    assert np.argmax(states.counts[first : first + 3]) == 1


def test_memory_is_bounded():
    game = fl.load_game("dark_hex(rows=4,cols=4)")
    states = new_states(50, 4)
    sums, counts = np.zeros(16), np.zeros(16, np.int64)
    walk(
        game,
        rollout(game),
        states,
        start_of(game),
        np.ones(1),
        generator(1),
        5000,
        4,
        1,
        1.0,
        np.arange(16),
        sums,
        counts,
    )
    assert states.tally[1] <= 200
    assert states.tally[2] > 5000  # visits that found no room
    assert counts.sum() == 5000
    agent, _ = asked("epimc(depth=4,memory=50,iterations=5000)", fl.new_state(game))
    assert agent.explain().iterations == 5000
    assert agent.explain().notes["states"] <= 64 and agent.explain().notes["memory"].startswith("full; ")
    with pytest.raises(fl.BadInput, match="memory=1000 paths cannot hold iterations=5000"):
        fl.load_agent("epimc(depth=2,subgame=iss,memory=1000,iterations=5000)")
    assert len(first_of(new_paths(10, 1, 2), 4).lengths) == 4


def test_epimc_beats_random():
    """200 games of Phantom Tic-Tac-Toe; random play wins this often against itself once in 10^9."""
    result = fl.play_match("phantom_ttt", ["epimc(iterations=500)", "random"], games=200, seed=1)
    assert result.win_rate(0) > 0.75


def test_workers_do_not_change_a_move():
    match = {"game": "dark_hex(rows=3,cols=3)", "agents": ["epimc(iterations=300)", "pimc(iterations=100)"], "games": 6}
    alone, together = (fl.play_match(**match, seed=3, workers=workers) for workers in (1, 2))
    assert [record.actions for record in alone.records] == [record.actions for record in together.records]
