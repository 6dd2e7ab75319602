"""Beliefs weighted by how the other seats play: Bayes' rule by enumeration, for policies and for agents."""

import random
from collections import defaultdict
from dataclasses import dataclass

import numpy as np
import pytest
from oracles import random_game
from test_games_contract import variants

import foglight as fl
from foglight.agents import Agent
from foglight.policies import Biased, Tabular, Uniform
from foglight.randomness import fold
from foglight.rules import key
from foglight.search import asked
from foglight.search.belief import Belief
from foglight.worlds.deals.cards import is_chance_even

pytestmark = pytest.mark.plain

LEANING = Biased(bias=0.8, seed=5)
PROMPT = "test_belief_weights:Prompt"


class Leaning(Agent):
    """Plays `LEANING`, and says so by probabilities."""

    def probabilities(self, actions=None):
        n = len(actions)
        odds = np.full(n, (1.0 - LEANING.bias) / max(1, n - 1))
        odds[int(np.uint64(fold(self.key, LEANING.seed)) % np.uint64(n))] = LEANING.bias
        return odds if n > 1 else np.ones(1)

    def act(self, actions=None):
        return actions[int(self.probabilities(actions).argmax())]


class Prompt(Agent):
    """Always plays its last action, and gives no probabilities."""

    def act(self, actions=None):
        return actions[-1]


@dataclass(frozen=True)
class Loaded:
    """A coin falls on heads nine times of ten, unseen; seat 0 guesses, and wins 1 with heads or 2 with tails."""

    def __str__(self):
        return "test_belief_weights:Loaded()"


class Thrown:
    def __init__(self):
        self.path, self.keys = [], [0, 0, 0]

    def tobytes(self):
        return repr((self.path, self.keys)).encode()


@fl.implements(Loaded)
def num_players(game):
    return 2


@fl.implements(Loaded)
def num_actions(game):
    return 2


@fl.implements(Loaded)
def new_worlds(game, n):
    return [Thrown() for _ in range(n)]


@fl.implements(Loaded)
def copy_world(game, target, source):
    target.path, target.keys = list(source.path), list(source.keys)


@fl.implements(Loaded)
def record(game, world, viewer, observation):
    world.keys[1 + viewer] = fold(world.keys[1 + viewer], observation)


@fl.implements(Loaded, "key")
def _(game, world, viewer):
    return fold(world.keys[1 + viewer], viewer)


@fl.implements(Loaded)
def player(game, world):
    return (fl.CHANCE, 0, fl.TERMINAL)[len(world.path)]


@fl.implements(Loaded)
def legal(game, world, out):
    out[:2] = 0, 1
    return 2


@fl.implements(Loaded)
def chance(game, world, out, odds):
    out[:2], odds[:2] = (0, 1), (0.9, 0.1)
    return 2


@fl.implements(Loaded)
def step(game, world, action):
    world.path.append(int(action))


@fl.implements(Loaded)
def observe(game, before, action, after, viewer):
    return 2 + int(action) if before.path else 1


@fl.implements(Loaded)
def returns(game, world, out):
    coin, guess = world.path
    out[0] = float(1 + coin) if coin == guess else -1.0
    out[1] = -out[0]


def by_bayes(state, policy):
    """The probability of each world by enumeration: chance and the policy of all but the seat to move."""
    seat, shares = state.player, defaultdict(float)
    front = [(fl.new_state(state.game), 1.0)]
    while front:
        now, share = front.pop()
        seen = now.observations(seat)
        if seen != state.observations(seat)[: len(seen)]:
            continue
        if now.player == seat and len(seen) == len(state.observations(seat)):
            shares[now.world.tobytes()] += share
            continue
        odds = dict(now.chance())
        if now.player >= 0:
            odds = dict(zip(now.actions(), policy.at(now).values(), strict=True))
        for action in now.actions():
            after = now.clone()
            after.play(action)
            front.append((after, share if now.player == seat else share * odds[action]))
    total = sum(shares.values())
    return {world: share / total for world, share in shares.items()} if total else None


def random_decisions(game, games, seed=0):
    """Decisions in random games."""
    rng = random.Random(seed)
    for _ in range(games):
        state = fl.new_state(game)
        while state.player != fl.TERMINAL:
            if state.player >= 0 and len(state.actions()) > 1:
                yield state.clone()
            state.play(rng.choice(state.actions()))


def believed(agent, state):
    fl.Seat(agent, state.game, state.player, 0, state.observations(state.player))
    worlds = agent.belief.worlds(state.actions())
    return {row.tobytes(): share for row, share in zip(worlds.rows, worlds.weights.tolist(), strict=True)}


def difference(one, other):
    return max(abs(one.get(world, 0.0) - other.get(world, 0.0)) for world in one.keys() | other.keys())


def compared(agent, game, policy, games):
    """The largest differences of an agent's belief from Bayes' rule, and from that of uniform play, and how many."""
    found = [(believed(agent, state), state) for state in random_decisions(game, games)]
    wanted = [(mine, right, by_bayes(state, Uniform())) for mine, state in found if (right := by_bayes(state, policy))]
    return (
        max(difference(mine, right) for mine, right, _ in wanted),
        max(difference(mine, wrong) for mine, _, wrong in wanted),
        len(wanted),
    )


@pytest.mark.parametrize("agent", ["pimc", "epimc", "ismcts", "iimc", "kluss"])
def test_agents_count_the_odds_of_chance(agent):
    """Heads are worth 0.9 - 0.1, tails 0.2 - 0.9; with both sides alike tails would look better."""
    state = fl.new_state(Loaded())
    state.play(1)
    one = fl.load_agent(f"{agent}(iterations=400)")
    fl.Seat(one, state.game, 0, 0, state.observations(0))
    assert one.act() == 0 and one.explain().values[0] == pytest.approx(0.8, abs=0.15)


def test_in_native_games_but_one_chance_is_even():
    """All outcomes are as likely, and as many in all games: so all histories are alike without weights."""
    compared = 0
    for name in variants():
        if not is_chance_even(fl.load_game(name)):
            assert name.startswith("three_sat")
            continue
        rng, several = random.Random(name), defaultdict(set)
        for _ in range(3):
            events = [state.chance() for state in random_game(name, rng) if state.player == fl.CHANCE]
            for number, outcomes in enumerate(events):
                assert len({share for _, share in outcomes}) == 1, name
                several[number].add(len(outcomes))
                compared += 1
        assert all(len(counts) == 1 for counts in several.values()), name
    assert compared > (30 if fl.compile.INTERPRET_ALL else 500)


@pytest.mark.parametrize("game", ["kuhn_poker", pytest.param("leduc_poker", marks=pytest.mark.long_plain)])
def test_worlds_are_weighted_by_the_policy_in_a_file(game, tmp_path):
    policy = fl.solve(game, iterations=50)
    policy.save(tmp_path / "policy.npz")
    agent = fl.load_agent(f'pimc(iterations=10,weights=policy(file="{tmp_path / "policy.npz"}"))')
    near, far, number = compared(agent, game, policy, games=20)
    assert near < 1e-9 and far > 0.05 and number >= 30


@pytest.mark.parametrize(
    "game",
    [
        "kuhn_poker",
        pytest.param("leduc_poker", marks=pytest.mark.long_plain),
        "dark_hex(rows=2,cols=2)",  # the other seat moves unnoticed
        "goofspiel(cards=3)",
    ],
)
def test_worlds_are_weighted_by_what_an_agent_says(game):
    agent = fl.load_agent("pimc(iterations=10,weights=test_belief_weights:Leaning)")
    near, far, number = compared(agent, game, LEANING, games=15)
    assert near < 1e-9 and far > 0.05 and number >= 15


def test_an_agent_that_only_acts_is_doubted():
    """It plays the last action with 0.95 of the probability, where two are legal: 0.9, and half of the doubt."""
    agent, state = fl.load_agent(f"pimc(iterations=10,weights={PROMPT})"), fl.new_state("kuhn_poker")
    for action in (0, 1, 0):  # the jack, the queen, a pass
        state.play(action)
    assert sorted(believed(agent, state).values()) == pytest.approx([0.5, 0.5])  # it would bet with any card
    assert agent._ask(0, state.observations(0)[:1], [0, 1]) == pytest.approx([0.05, 0.95])
    assert agent.belief.notes["weights"] == "asked at 2 information states"


def test_openspiels_games_are_asked_as_well():
    pytest.importorskip("pyspiel")
    agent = fl.load_agent(f"pimc(iterations=10,weights={PROMPT})")
    mean = 0.0
    for state in random_decisions("openspiel:kuhn_poker", 6):
        mean += sum(believed(agent, state).values())
        assert agent.belief._asked.uniform == 0
    assert mean > 5


def test_random_is_uniform_play_and_texts_are_read_back():
    state = next(s for s in random_decisions("leduc_poker", 5) if len(s.history()) > 4)
    one, two = (believed(fl.load_agent(f"pimc(weights={name})"), state) for name in ("random", "uniform_play"))
    assert one == two
    for text in ("pimc(iterations=300,weights=policy(file=x.npz))", "epimc(weights=ismcts(iterations=100))"):
        assert str(fl.load_agent(text)) == text == str(fl.load_agent(str(fl.load_agent(text))))
    assert str(fl.load_agent("pimc(weights=histories)")) == "pimc"
    with pytest.raises(fl.BadInput, match="unknown agent 'ismct'"):
        fl.load_agent("pimc(weights=ismct)")
    with pytest.raises(fl.BadInput, match=r"cannot read x\.npz"):
        fl.load_agent("pimc(weights=policy(file=x.npz))").start("kuhn_poker", 0, 0)


def test_few_are_asked_and_the_rest_is_uniform(monkeypatch):
    """Of Leduc's 5 hands of the other seat after a raise, two are asked, and three are left."""
    monkeypatch.setattr(asked, "MOST", 2)
    state = fl.new_state("leduc_poker")
    for action in (0, 3, 1, 2):
        state.play(action)
    agent = fl.load_agent("pimc(iterations=10,weights=test_belief_weights:Leaning)")
    fl.Seat(agent, state.game, state.player, 0, state.observations(state.player))
    action = agent.act(state.actions())
    assert action in state.actions()
    assert "more taken as uniform" in agent.explain().notes["weights"]


HELL = "oh_hell(players=3,suits=2,ranks=4,tricks=2)"


@pytest.mark.long_plain
@pytest.mark.parametrize("how", ["policy", "asked"])
def test_deals_are_weighted_by_the_other_seats(how):
    """20 000 or 500 draws, weighted: each world's share is within 6 standard errors, or 1e-6 in all of 200 and more."""
    number, far = 0, 0.0
    ask = None
    for state in list(random_decisions(HELL, 6, seed=1))[2::2]:
        if how == "asked":
            agent = Leaning()

            def ask(seat, observations, actions, game=state.game, agent=agent):
                fl.Seat(agent, game, seat, 0, observations)
                return agent.probabilities(actions)

        belief = Belief(state.game, state.player, 20_000, 0, None if ask else LEANING, ask)
        for observation in state.observations(state.player):
            belief.observe(observation)
        worlds = belief.worlds(state.actions())
        mine = defaultdict(float)
        for row, share in zip(worlds.rows, worlds.weights, strict=True):
            mine[row.tobytes()] += share
        exact = fl.history_filter(state.game, state.observations(state.player), state.player, policy=LEANING)
        right, wrong = defaultdict(float), defaultdict(float)
        for found, share in exact.enumerate():
            right[found.world.tobytes()] += share
            wrong[found.world.tobytes()] += 1.0
        total, effective = sum(right.values()), 1.0 / float(np.square(worlds.weights).sum())
        for world in right.keys() | mine.keys():
            share = right[world] / total
            assert abs(mine[world] - share) < 6 * np.sqrt(max(share, 1 / effective) / effective)
            far = max(far, abs(mine[world] - wrong[world] / sum(wrong.values())))
            number += 1
    assert number >= 200 and far > 0.05


@pytest.mark.long_plain
def test_what_the_policy_never_plays_itself_is_left_out():
    """A policy that never does what we did says nothing about the others; their choices still count."""
    state = fl.new_state("leduc_poker")
    for action in (0, 2, 1, 2):  # two cards; seat 0 calls, seat 1 raises
        state.play(action)
    own = int(key(state.game, state.world, 0))
    for action in (1, 4):  # seat 0 calls; a public card, and seat 0 is to move
        state.play(action)
    policy = fl.solve("leduc_poker", iterations=20)
    never, row = policy.probabilities.copy(), policy.keys.tolist().index(own)
    never[policy.begins[row] : policy.begins[row + 1]] = [0.5, 0.0, 0.5]  # it never calls there
    beliefs = [
        Belief(state.game, 0, 1000, 0, Tabular(policy.keys, policy.begins, odds))
        for odds in (policy.probabilities, never)
    ]
    for observation in state.observations(0):
        for belief in beliefs:
            belief.observe(observation)
    one, two = (belief.worlds() for belief in beliefs)
    assert not np.array_equal(never, policy.probabilities)
    assert np.allclose(one.weights, two.weights) and np.ptp(one.weights) > 0.01


@pytest.mark.long_plain
def test_our_own_plays_do_not_count_in_deals():
    """The others always play one sure action; we do not, and that must not make every deal impossible."""
    sure, rng, number = Biased(bias=1.0, seed=3), random.Random(2), 0
    for seat in (0, 1, 2, 0, 1, 2):
        state, played = fl.new_state(HELL), []
        while state.player != fl.TERMINAL:
            actions = state.actions()
            if state.player == seat and len(actions) > 1:
                belief = Belief(state.game, seat, 5000, 0, sure)
                for observation in state.observations(seat):
                    belief.observe(observation)
                worlds = belief.worlds(actions)
                true = (worlds.rows == state.world).all(axis=1)
                if any(played):  # we have done what the policy never does
                    assert worlds.weights[true].sum() > 0.0 and np.ptp(worlds.weights) > 0.0
                    number += 1
            odds = list(sure.at(state).values()) if state.player >= 0 else [1.0] * len(actions)
            choice = rng.choice(actions) if state.player in (seat, fl.CHANCE) else actions[int(np.argmax(odds))]
            played.append(state.player == seat and odds[actions.index(choice)] == 0.0)
            state.play(choice)
    assert number >= 3
