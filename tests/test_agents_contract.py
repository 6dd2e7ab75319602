"""What every agent owes, checked on every agent found that needs no person, in the games that it does not refuse."""

import functools
import os
import random
import shlex
import sys
import tempfile
from pathlib import Path

import pytest
from oracles import histories, random_game

import foglight as fl
from foglight.agents import Agent, agent_class
from foglight.arena.referee import IllegalAction, play_game
from foglight.names import BadInput, Spec
from foglight.policies import tabular
from foglight.rules import key
from foglight.solving.whole.solved import Solved

pytestmark = pytest.mark.plain

AGENTS = [name for name in fl.agent_names() if not agent_class(name).at_terminal]
GAMES = ["kuhn_poker", "unseen_rps", "goofspiel(cards=3)", "dark_hex(rows=2,cols=2)"]
FOR_ALL = {"kuhn_poker", "dark_hex(rows=2,cols=2)", "leduc_poker"}  # with chance, with failed tries, with a public card
IN_ALL = {"random", "first_legal", "policy", "pimc", "ismcts"}  # agents that take little time to compile
FILES = tempfile.TemporaryDirectory(prefix="foglight-")


@functools.cache
def named(agent_name, game):
    """The agent as somebody would write it for this game; one that plays a file gets one, a search is short."""
    if agent_name == "engine":
        program = [sys.executable, "-I", "-S", str(Path(__file__).with_name("tiny_engine.py"))]
        return str(Spec("engine", (("command", shlex.join(program)),)))
    if agent_name != "policy":
        short = {"iterations": 60, "cap": 200, "particles": 20}
        if fl.compile.INTERPRET_ALL:  # a few turns of the same loops
            short |= {"iterations": 12, "particles": 8}
        taken = agent_class(agent_name).options()
        options = [f"{name}={number}" for name, number in short.items() if name in taken]
        options += ["network=none", "depth=2"] if "network" in taken else []
        return f"{agent_name}({','.join(options)})" if options else agent_name
    rng, table = random.Random(1), {}
    for _ in range(20):
        for state in random_game(game, rng):
            if state.player >= 0:
                odds = [rng.random() for _ in state.actions()]
                table[int(key(state.game, state.world, state.player))] = [share / sum(odds) for share in odds]
    policy = Solved(*tabular(table))
    policy.game, policy.method, policy.iterations, policy.seed = str(fl.load_game(game)), "cfr", 1, 0
    policy.exploitability, policy.value, policy.state = 1.0, 0.0, {}
    path = f"{FILES.name}/{len(os.listdir(FILES.name))}.npz"
    policy.save(path)
    return f'policy(file="{path}")'


def agents_in(*games):
    """All agents in some games and some agents in all games; the other pairs take long to compile and show no more."""

    def marks(agent, game):
        if agent == "engine":  # starts a process for every question
            return pytest.mark.long if game != "kuhn_poker" else pytest.mark.long_plain
        if game not in FOR_ALL and agent not in IN_ALL:
            return pytest.mark.long
        return pytest.mark.long_plain if game == "phantom_ttt" else ()

    pairs = [pytest.param(agent, game, marks=marks(agent, game)) for game in games for agent in AGENTS]
    return pytest.mark.parametrize(("agent_name", "game"), pairs)


def skip_what_it_refuses(agent_name, game):
    """Some agents are for some games only, and say so in a line."""
    try:
        fl.load_agent(named(agent_name, game)).start(game, 0, 0)
    except BadInput as error:
        pytest.skip(str(error))


def asked(agent_name, state, seed, actions=None):
    agent = fl.load_agent(named(agent_name, str(state.game)))
    agent.start(state.game, state.player, seed)
    for observation in state.observations(state.player):
        agent.observe(observation)
    return agent.act(actions)


@agents_in(*GAMES)
def test_no_agent_can_peek(agent_name, game):
    """Different true worlds that look the same to a seat give the same action, for the same seed."""
    skip_what_it_refuses(agent_name, game)
    groups = {}
    for state in histories(game):
        if state.player >= 0:
            groups.setdefault((state.player, *state.observations(state.player)), []).append(state)
    different = [states for states in groups.values() if len({s.world.tobytes() for s in states}) > 1]
    assert different, "the game hides something"
    most = 6 if fl.compile.INTERPRET_ALL or agent_name == "engine" else 20
    for states in random.Random(1).sample(different, min(len(different), most)):
        for seed in (0, 1):
            actions = {asked(agent_name, state, seed, state.actions()) for state in states[:4]}
            assert len(actions) == 1


@agents_in("phantom_ttt", "leduc_poker", *GAMES)
def test_an_agent_keeps_what_check_agent_checks(agent_name, game):
    """It plays what is legal, told or not; replaying restores it; it serves in game after game; and more."""
    skip_what_it_refuses(agent_name, game)
    games = 1 if fl.compile.INTERPRET_ALL else 2  # on each seat
    checks = fl.check_agent(named(agent_name, game), game, games=games, seconds=600.0)
    assert checks.ok, str(checks)
    always = {"legal actions", "reproducible", "global random numbers", "legal actions untold", "probabilities"}
    assert always | {"replayed observations", "a new game"} <= set(checks.comparisons)
    assert min(checks.comparisons[name] for name in always) >= games  # seat 1 may have nothing to decide


def test_the_referee_hands_out_numbers_and_the_game_only():
    class Spy(Agent):
        def start(self, game, seat, seed):
            super().start(game, seat, seed)
            given.extend([seat, seed])
            assert game == fl.load_game("leduc_poker")

        def observe(self, observation):
            super().observe(observation)
            given.append(observation)

        def act(self, actions=None):
            given.extend(actions)
            return actions[0]

    given = []
    record, state = play_game("leduc_poker", [Spy(), Spy()], 3)
    assert {type(value) for value in given} == {int}
    assert list(record.actions) == state.history()


def test_the_referee_tells_each_seat_what_it_observes_and_nothing_else():
    class Diary(Agent):
        def act(self, actions=None):
            return actions[-1]

    for game in ("dark_hex", "leduc_poker", "goofspiel(cards=4,order=random)"):
        agents = [Diary(), Diary()]
        _, state = play_game(game, agents, 1)
        assert [agent.observations for agent in agents] == [state.observations(0), state.observations(1)]


def test_an_agent_and_a_world_know_an_information_state_by_the_same_key():
    class Keyed(Agent):
        def act(self, actions=None):
            return actions[0]

    agents = [Keyed(), Keyed()]
    _, state = play_game("phantom_ttt", agents, 1)
    assert [agent.key for agent in agents] == [int(key(state.game, state.world, seat)) for seat in range(2)]


def test_an_agent_that_breaks_the_rules_is_named():
    class Cheat(Agent):
        def act(self, actions=None):
            return 99

    with pytest.raises(
        IllegalAction, match=r"Cheat on seat 0 played 99 after 2 actions, where only \[0, 1\] are legal"
    ):
        play_game("kuhn_poker", [Cheat(), Cheat()], 0)


@pytest.mark.long_plain  # the agent draws in Python
def test_random_is_uniform_over_seeds():
    # 900 seeds, 9 cells: chi-square at 1e-6, a false alarm once in a million
    from scipy.stats import chisquare

    state = fl.new_state("phantom_ttt")
    counts = [0] * 9
    for seed in range(900):
        counts[asked("random", state, seed, state.actions())] += 1
    assert chisquare(counts).pvalue > 1e-6
