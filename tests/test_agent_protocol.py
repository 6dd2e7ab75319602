"""What an agent may have is on `Agent`: nobody guesses, and whoever opens an agent closes it."""

import ast
import contextlib
import os
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

import foglight as fl
from foglight.agents import Agent, Seat, agent_class, load_agent, opened

PACKAGE = Path(fl.__file__).parent


@dataclass
class Keeper(Agent):
    """writes down what becomes of it; fails at its `fails`th action"""

    log: str = ""
    fails: int = 0

    def __post_init__(self):
        self.acted = 0

    def write(self, what):
        with open(self.log, "a") as file:
            file.write(f"{os.getpid()} {id(self)} {what}\n")

    def start(self, game, seat, seed):
        super().start(game, seat, seed)
        self.write("start")

    def act(self, actions=None):
        self.acted += 1
        if self.acted == self.fails:
            raise ZeroDivisionError("it has failed")
        return actions[0]

    def close(self):
        self.write("close")


KEEPER = f"{__name__}:Keeper"


@pytest.fixture
def log(tmp_path):
    """The file in which the agent Keeper writes; lines are process, agent and what has happened."""
    return tmp_path / "log"


def lives(log):
    """What has happened to each agent that was started, in order."""
    found = {}
    for line in log.read_text().splitlines():
        process, agent, what = line.split()
        found.setdefault((process, agent), []).append(what)
    return [life for life in found.values() if "start" in life]


# Nobody guesses -----------------------------------------------------------------------------------------------------


def test_nobody_guesses_what_an_agent_has():
    allowed = {"cli/__init__.py"}  # Typer's own exceptions have a class that depends on its version
    files = [
        path
        for room in ("agents", "arena", "bridges", "cli")
        for path in sorted((PACKAGE / room).glob("*.py"))
        if path.relative_to(PACKAGE).as_posix() not in allowed
    ]
    files += [PACKAGE / "agent_policies.py", PACKAGE / "bench" / "search.py"]
    assert len(files) > 30
    for path in files:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            called = node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""
            assert called not in ("hasattr", "getattr"), f"{path.name}:{node.lineno} guesses"


def test_an_agent_that_only_acts_has_the_defaults():
    class Plain(Agent):
        def act(self, actions=None):
            return actions[0]

    agent = Plain()
    agent.start("kuhn_poker", 0, 0)
    assert (agent.time, agent.iterations, agent.at_terminal, agent.gives_reasons) == (0.0, 0, False, False)
    assert agent.seconds_left == float("inf") and agent.fusion() is None and Plain.options() == []
    with pytest.raises(fl.BadInput, match=r"^Plain does not say why"):
        agent.explain()
    with agent as same:
        assert same is agent


def test_options_are_those_that_can_be_written():
    assert agent_class("random").options() == [] and "engine" in agent_class("scout").options()
    for name in fl.agent_names():
        assert {"time", "iterations"} <= set(agent_class(name).options()) or name in (
            "engine", "first_legal", "human", "policy", "random", "scout",
        )  # fmt: skip


def test_a_new_game_forgets_reasons_and_the_clock():
    agent = load_agent("pimc(iterations=20)")
    for seed in range(2):
        agent.start("unseen_rps", 0, seed)
        assert agent.explanation is None and agent.seconds_left == float("inf")
        assert agent.act() == agent.explain().action
        agent.seconds_left = 3.0


def test_a_seat_tells_its_agent_what_is_new():
    state = fl.new_state("leduc_poker")
    for action in (0, 3):
        state.play(action)
    agent = load_agent("random")
    seat = Seat(agent, state.game, 0, 5, state.observations(0))
    assert agent.observations == state.observations(0) and (agent.seat, agent.seed) == (0, 5)
    state.play(1)
    seat.tell(state.observations(0))
    seat.tell(state.observations(0))
    assert agent.observations == state.observations(0) == list(seat.observations)


# A person ------------------------------------------------------------------------------------------------------------


def test_a_person_is_refused_where_none_can_be(run):
    with pytest.raises(fl.BadInput, match="human needs somebody at the terminal; use 'foglight play'"):
        fl.play_match("kuhn_poker", ["human", "random"], games=1)
    with pytest.raises(fl.BadInput, match="a person cannot be asked"):
        fl.agent_policy("human", "kuhn_poker")
    code, out, err = run("analyse", "kuhn_poker", "jack", "queen", "--agent", "human")
    assert (code, out) == (2, "") and err.startswith("human does not say why") and err.count("\n") == 1


def test_two_people_may_share_the_terminal_and_are_not_explained(run):
    code, out, _ = run("play", "kuhn_poker", "--vs", "human", "--explain", typed=["check", "check"])
    assert code == 0 and "you are seat 0" in out and "you are seat 1" in out and "say why" not in out


# Games that an agent refuses -----------------------------------------------------------------------------------------


def test_a_game_that_an_agent_refuses_is_refused_before_anything_is_opened(tmp_path):
    store = tmp_path / "games.sqlite"
    with pytest.raises(fl.BadInput, match="oos is for two seats, oh_hell"):
        fl.play_match("oh_hell", ["oos", "random", "random"], games=1, store=store)
    with pytest.raises(fl.BadInput, match="scout plays rbc only, not kuhn_poker"):
        fl.play_match("kuhn_poker", ["scout(engine=none)", "random"], games=1, store=store)
    with pytest.raises(fl.BadInput, match="particle_resolving is for two seats"):
        fl.play_tournament(["kuhn_poker", "oh_hell"], ["particle_resolving", "random"], 1, store=store)
    assert not store.exists()


# Closing -------------------------------------------------------------------------------------------------------------


def test_a_match_closes_its_agents_once_at_its_end(log):
    agents = [f'{KEEPER}(log="{log}")', "random"]
    fl.play_match("kuhn_poker", agents, games=7)
    assert lives(log) == [["start"] * 7 + ["close"]]


def test_matches_of_a_tournament_close_theirs(log):
    fl.play_tournament(["kuhn_poker"], [f'{KEEPER}(log="{log}")', "random"], 6)
    assert lives(log) == [["start"] * 3 + ["close"]] * 2, "one match for each seating"


def test_workers_close_theirs(log):
    fl.play_match("kuhn_poker", [f'{KEEPER}(log="{log}")', "random"], games=40, workers=2)
    found = lives(log)
    assert 1 <= len(found) <= 2 and sum(life.count("start") for life in found) == 40
    assert all(life.index("close") == len(life) - 1 for life in found), "at the end of the worker, not after a chunk"


@pytest.mark.parametrize("workers", [1, 2])
def test_a_match_that_fails_closes_its_agents(log, workers):
    with pytest.raises(ZeroDivisionError):
        fl.play_match("kuhn_poker", [f'{KEEPER}(log="{log}",fails=4)', "random"], games=10, workers=workers)
    assert "close" in [life[-1] for life in lives(log)], "the one that failed; other workers may have been ended"
    assert workers == 2 or len(lives(log)) == 1


def test_a_policy_closes_what_it_has_loaded_and_nothing_else(log):
    fl.agent_policy(f'{KEEPER}(log="{log}")', "kuhn_poker")
    assert [life[-1] for life in lives(log)] == ["close"] * 2, "one agent for each seat"
    log.unlink()
    fl.agent_policy(Keeper(log=str(log)), "kuhn_poker")
    assert [set(life) for life in lives(log)] == [{"start"}]


def test_agents_are_closed_if_a_later_one_cannot_be_loaded(log):
    with pytest.raises(fl.BadInput, match="unknown agent"), opened([f'{KEEPER}(log="{log}")', "nobody"]):
        pass
    assert log.read_text().split()[2:] == ["close"]


def test_commands_close_theirs(log, run):
    agent = f'{KEEPER}(log="{log}")'
    assert run("play", "kuhn_poker", "--vs", agent, typed=[])[0] == 0
    assert run("play", "kuhn_poker", "--vs", agent, "--explain", typed=["pass", "pass"])[0] == 0
    assert [life[-1] for life in lives(log)] == ["close"] * 2


def test_a_bot_closes_its_agent(log):
    pytest.importorskip("pyspiel")
    bot = fl.as_openspiel_bot(f'{KEEPER}(log="{log}")', "kuhn_poker", 0)
    bot.close()
    assert lives(log) == [["start", "close"]]


# An engine -----------------------------------------------------------------------------------------------------------


def running(path):
    """Processes that have this path in their command line."""
    found = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            found += [file.parent.name] if str(path).encode() in file.read_bytes() else []
    return found


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="looks for engines in /proc")
@pytest.mark.parametrize("workers", [1, 2])
def test_no_engine_outlives_a_match(misbehaving, tmp_path, workers):
    counter, engine = tmp_path / "counter", misbehaving("stays")
    scout = f'scout(engine="{engine}",boards=2,sample=2,judged=1,cap=50)'
    fl.play_match("rbc(turns=2)", [scout, "random"], games=2, workers=workers)
    assert counter.stat().st_size > 0, "the engine was asked"
    deadline = time.monotonic() + 120
    while running(counter) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert running(counter) == []


def test_an_engine_ends_with_the_game_that_failed(misbehaving, tmp_path, monkeypatch):
    pytest.importorskip("reconchess")
    from foglight.agents.scout import Scout
    from foglight.bridges.reconchess_games import play_games

    closed = []
    monkeypatch.setattr(Scout, "close", lambda self: closed.append(self))
    monkeypatch.setattr(Scout, "act", lambda self, actions=None: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        list(play_games("random", "scout(engine=none)", 1, colour="white"))
    assert closed
