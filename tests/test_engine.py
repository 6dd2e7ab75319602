"""Agents as processes that speak JSON lines (docs/engine.md), on both sides of the pipe."""

import contextlib
import importlib.util
import json
import os
import random
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from test_docs import FENCE, says

import foglight as fl
from foglight.arena.referee import Referee
from foglight.engine.clock import budget
from foglight.engine.pipe import lines_of
from foglight.engine.requests import LONGEST, checked, is_stop, read
from foglight.engine.session import Session
from foglight.engine.words import Words
from foglight.names import Spec
from foglight.proofs.fuzz.lines import answers, conversation

HERE = Path(__file__).parent
FOGLIGHT = [sys.executable, "-m", "foglight", "engine"]


def named(*words, **options):
    """The agent `engine` that runs this command."""
    return str(Spec("engine", (("command", shlex.join(map(str, words))), *options.items())))


def tiny(how="", counter="", **options):
    program = [sys.executable, "-I", "-S", HERE / "tiny_engine.py"]
    return named(*program, *([how, counter] if how else []), **options)


def ask(session, **request):
    return json.loads(session.answer(json.dumps(request).encode()))


def talk(agent, game, *requests):
    return [json.loads(answer) for answer in answers(agent, game, [json.dumps(r).encode() for r in requests])]


def process(*words):
    return subprocess.Popen(
        [*FOGLIGHT, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


# The protocol ---------------------------------------------------------------------------------------------------------


def test_the_conversations_of_the_page_are_held_as_shown():
    text = (HERE.parent / "docs" / "engine.md").read_text()
    compared = 0
    for match in FENCE.finditer(text):
        lines = match[2].splitlines()
        if lines[0].startswith("> "):
            sent = [line[2:].encode() for line in lines if line.startswith("> ")]
            shown = [line[2:] for line in lines if line.startswith("< ")]
            for line, answer in zip(shown, answers("pimc(iterations=400)", "kuhn_poker", sent), strict=True):
                assert says(line, answer.decode()), f"the page shows {line}, the engine says {answer}"
                compared += 1
    assert compared == 6


def test_the_page_names_every_request_and_field():
    from foglight.engine.requests import _FIELDS

    text = (HERE.parent / "docs" / "engine.md").read_text()
    for request, (_, fields) in _FIELDS.items():
        (row,) = re.findall(rf"^\| `{request}` \|.*$", text, re.MULTILINE)
        assert all(f"`{name}`" in row for name in fields), (request, fields)


BAD = [
    (b"x", "not JSON"),
    (b"[1]", "one JSON object"),
    (b"\xff\xfe", "UTF-8"),
    (b"[" * 100_000, "nested too deep"),
    (b'{"do": "act", "actions": [' + b"1" * 5000 + b"]}", "not JSON"),
    (b"x" * (LONGEST + 1), "at most 1,048,576 bytes"),
    (b"{}", "says what to do"),
    (b'{"do": "observ", "observations": [1]}', "did you mean 'observe'?"),
    (b'{"do": ["act"]}', "unknown request"),
    (b'{"do": "act", "id": {}}', "id must be"),
    (b'{"do": "act", "moveTime": 3}', "did you mean 'movetime'?"),
    (b'{"do": "act", "movetime": -1}', "movetime must be milliseconds, from 0 to 86400000"),
    (b'{"do": "act", "movetime": NaN}', "NaN is no number of JSON"),
    (b'{"do": "act", "movetime": true}', "movetime must be milliseconds"),
    (b'{"do": "act", "actions": []}', "actions must be a list"),
    (b'{"do": "act", "actions": [0, 0]}', "list of different actions"),
    (b'{"do": "act", "actions": [0, 9]}', "the actions of kuhn_poker are numbers from 0 to 2"),
    (b'{"do": "act", "actions": [0, 1, 2]}', "after the observations [0, 1] are"),
    (b'{"do": "act", "explain": 1}', "explain must be true or false"),
    (b'{"do": "observe"}', "observe needs observations"),
    (b'{"do": "observe", "observations": [1.5]}', "whole numbers of 64 bits"),
    (b'{"do": "observe", "observations": [9223372036854775808]}', "whole numbers of 64 bits"),
    (b'{"do": "observe", "observations": ["you get the ace"]}', "possible are you check, you bet"),
    (b'{"do": "start"}', "start needs seat"),
    (b'{"do": "start", "seat": 2}', "kuhn_poker has the seats 0 to 1, not 2"),
    (b'{"do": "start", "seat": 0, "seed": -1}', "seed must be a whole number from 0"),
    (b'{"do": "start", "seat": 0, "game": "kuhn_pokr"}', "did you mean 'kuhn_poker'?"),
    (b'{"do": "start", "seat": 0, "game": "os:system"}', "start the engine with --game"),
    (b'{"do": "restore", "seat": 0, "observations": [1], "decisions": [[1, [0]]]}', "before the last of the 1"),
    (b'{"do": "restore", "seat": 0, "observations": [1], "decisions": [[0, [0, 7]]]}', "numbers from 0 to 2"),
    (b'{"do": "restore", "seat": 0, "observations": [1, 2], "decisions": [[1, [0]], [0, [0]]]}', "ascending"),
]


@pytest.mark.parametrize(("line", "said"), BAD)
def test_a_bad_line_gets_one_line_and_changes_nothing(line, said):
    start = [b'{"do": "start", "seat": 0, "seed": 5}', b'{"do": "observe", "observations": [2]}']
    act = b'{"do": "act", "explain": true}'
    agent = "ismcts(iterations=30,reuse=yes)"
    *_, without = answers(agent, "kuhn_poker", [*start, act])
    *before, refused, with_it = answers(agent, "kuhn_poker", [*start, line, act])
    error = json.loads(refused)["error"]
    assert said in error and len(error.splitlines()) == 1 and len(error) < 400
    assert with_it == without and all("ok" in json.loads(answer) for answer in before)


def test_before_a_game_there_is_nothing_to_observe_or_to_decide():
    found = talk("random", "kuhn_poker", {"do": "observe", "observations": [1]}, {"do": "act"}, {"do": "explain"})
    assert [answer["error"] for answer in found] == ["no game is going on; send start or restore first"] * 3


def test_a_line_may_name_another_game_of_ours():
    start = {"do": "start", "seat": 1, "game": "goofspiel(cards=3)"}
    first, second = talk("random", "kuhn_poker", start, {"do": "act", "actions": [0, 1, 2], "text": False})
    assert first["game"] == str(fl.load_game("goofspiel(cards=3)")) and second["action"] in (0, 1, 2)
    session = Session(fl.load_agent("random"))
    assert ask(session, do="hello")["game"] is None
    assert ask(session, do="start", seat=0)["error"].startswith("say which game: start needs game")
    assert ask(session, do="start", seat=0, game="kuhn_poker")["game"] == "kuhn_poker"


def test_a_game_of_somebody_is_played_where_the_command_line_names_it():
    game = fl.load_game("openspiel:kuhn_poker") if importlib.util.find_spec("pyspiel") else pytest.skip("no OpenSpiel")
    session = Session(fl.load_agent("first_legal"), game)
    assert ask(session, do="start", seat=0, game=str(game))["ok"] == "start"
    assert ask(session, do="act", actions=[0, 1], text=False)["action"] == 0


class Fragile(fl.Agent):
    """Fails at the observation 4 and at its second decision, and plays what it should not at its third."""

    asked = 0

    def observe(self, observation):
        super().observe(observation)
        if observation == 4:
            raise RuntimeError("too\nmuch")

    def act(self, actions=None):
        Fragile.asked += 1
        if Fragile.asked == 2:
            self.observations.append(5)  # half of what it wanted to do
            raise ZeroDivisionError("oh")
        return 7 if Fragile.asked == 3 else len(self.observations) % 2


def test_an_agent_that_fails_is_made_again():
    session = Session(Fragile(), fl.load_game("kuhn_poker"))
    assert ask(session, do="start", seat=0)["ok"] == "start"
    assert ask(session, do="observe", observations=[1])["seen"] == 1
    error = ask(session, do="observe", observations=[2, 5, 4], id=9)
    assert error["id"] == 9 and re.fullmatch(r"Fragile fails with RuntimeError: too much \(.*\)", error["error"])
    assert ask(session, do="act", actions=[0, 1], text=False) == {"ok": "act", "action": 1}  # it has seen one
    assert "ZeroDivisionError: oh" in ask(session, do="act", actions=[0, 1])["error"]
    assert "plays 7, where only [0, 1] are legal" in ask(session, do="act", actions=[0, 1])["error"]
    assert ask(session, do="act", actions=[0, 1], text=False)["action"] == 1


def test_a_person_is_no_engine():
    with pytest.raises(fl.BadInput, match=r"^human needs somebody at the terminal"):
        Session(fl.load_agent("human"))


@pytest.mark.parametrize("game", ["kuhn_poker", "leduc_poker", "phantom_ttt", "unseen_rps"])
def test_observations_in_words_are_the_codes(game):
    rng, compared = random.Random(1), 0
    for _ in range(3):
        state = fl.new_state(game)
        while state.player != fl.TERMINAL and len(state.history()) < 8:
            state.play(rng.choice(state.actions()))
        for seat in range(2):
            codes, texts = state.observations(seat), state.log(seat)
            assert Words(state.game, seat).codes([], texts) == codes
            compared += len(codes)
    assert compared >= 6


def test_an_act_without_actions_finds_those_that_are_legal():
    rng, compared = random.Random(2), 0
    for game in ("kuhn_poker", "phantom_ttt", "leduc_poker"):
        state = fl.new_state(game)
        while state.player != fl.TERMINAL:
            if state.player >= 0:
                words = Words(state.game, state.player)
                seen = state.observations(state.player)
                assert words.actions(seen) == state.actions()
                names = {action: state.action_text(action) for action in state.actions()}
                assert words.names(seen, state.actions()) == names
                compared += 1
            state.play(rng.choice(state.actions()))
    assert compared >= 10


def test_twins_are_answered_with_the_same_bytes():
    """Two true worlds that look the same to a seat: what its engine is sent is the same, and so is what it says."""
    compared = 0
    for game, agent in (("kuhn_poker", "pimc(iterations=40)"), ("phantom_ttt", "ismcts(iterations=20)")):
        rng, groups = random.Random(3), {}
        for _ in range(60):
            state = fl.new_state(game)
            while state.player != fl.TERMINAL and len(state.history()) < 4:
                state.play(rng.choice(state.actions()))
            if state.player >= 0:
                groups.setdefault((state.player, *state.observations(state.player)), {})[state.world.tobytes()] = state
        for alike in [list(group.values()) for group in groups.values() if len(group) > 1][:4]:
            sent, got = set(), set()
            for state in alike[:2]:
                lines = tuple(json.dumps(line).encode() for line in told(state, state.player))
                sent.add(lines)
                got.add(tuple(answers(agent, game, lines)))
            assert len(sent) == len(got) == 1
            compared += 1
    assert compared >= 5


def told(state, seat):
    """What the server of the page says to an engine that is to move."""
    yield {"do": "hello"}
    yield {"do": "start", "seat": seat, "seed": 1}
    yield {"do": "observe", "observations": state.observations(seat)}
    yield {"do": "act", "actions": state.actions(), "explain": True}


@pytest.mark.parametrize(
    ("given", "seconds"),
    [
        ((None, None, None, 0.0), 0.0),  # no clock, no budget
        ((None, None, None, 0.5), 0.5),
        ((1000, None, None, 0.0), 0.98),
        ((100, None, None, 0.0), 0.09),  # a tenth is less than 20 ms
        ((1000, None, None, 0.3), 0.3),
        ((None, 50_000, None, 0.0), 1.98),  # 50 s / 25
        ((None, 50_000, 1000, 0.0), 2.78),
        ((None, 1000, 10_000, 0.0), 0.48),  # half of what remains
        ((500, 50_000, None, 0.0), 0.48),
        ((0, None, None, 0.0), 0.001),
    ],
)
def test_a_clock_becomes_a_budget(given, seconds):
    assert budget(*given) == pytest.approx(seconds)


def test_only_agents_with_a_time_budget_look_at_the_clock():
    for agent, clock, stops in (
        ("epimc", True, True), ("epimc(time=0.1)", True, True), ("epimc(iterations=5)", False, False),
        ("random", False, False), ("particle_resolving", True, False),
    ):  # fmt: skip
        (hello,) = talk(agent, "kuhn_poker", {"do": "hello"})
        assert (hello["clock"], hello["stops"]) == (clock, stops), agent


class Clocked(fl.Agent):
    """Plays as many hundredths of a second as it was given."""

    def __init__(self, time: float = 0.0) -> None:
        self.time = time

    def act(self, actions=None):
        self.seen = self.time, self.seconds_left
        return actions[0]


def test_a_budget_is_for_one_decision():
    agent = Clocked()
    session = Session(agent, fl.load_game("kuhn_poker"))
    ask(session, do="start", seat=0)
    ask(session, do="act", actions=[0, 1], remaining=50_000)
    assert agent.seen == (pytest.approx(1.98), 50.0) and agent.time == 0.0
    ask(session, do="act", actions=[0, 1])
    assert agent.seen == (0.0, float("inf"))


def test_lines_come_whole_however_they_are_cut(tmp_path):
    content = b"one\n\ntwo" + b"\n" + b"y" * (LONGEST + 10) + b"\nthree"
    (tmp_path / "lines").write_bytes(content)
    source = os.open(tmp_path / "lines", os.O_RDONLY)
    lines = list(lines_of(source))
    os.close(source)
    assert lines[:3] == [b"one", b"", b"two"] and lines[-1] == b"three"
    assert len(lines) == 5 and LONGEST < len(lines[3]) <= LONGEST + 10
    with contextlib.suppress(fl.BadInput):
        checked(read(b"stop"))
    assert [is_stop(line) for line in (b"stop", b'{"do": "stop"}', b'{"do": "stop", "x": 1}')] == [False, True, False]


# A process ------------------------------------------------------------------------------------------------------------


def test_a_process_answers_every_line_and_ends_with_its_input(tmp_path):
    (tmp_path / "noisy.py").write_text(
        "import os\nimport foglight as fl\n\nclass Noisy(fl.Agent):\n    def act(self, actions=None):\n"
        "        print('hear me')\n        os.write(1, b'and me')\n        return actions[0]\n"
    )
    rng = random.Random(5)
    lines = conversation("kuhn_poker", rng)[:-1]
    lines = [
        *lines,
        b"nonsense",
        b"",
        b'{"do": "act", "actions": [0, 1]}',
        bytes(range(1, 10)),
        *lines,
        b'{"do": "hello"}',
    ]
    done = subprocess.run(
        [*FOGLIGHT, "noisy:Noisy", "--game", "kuhn_poker"], input=b"\n".join(lines), capture_output=True, cwd=tmp_path
    )
    found = [json.loads(line) for line in done.stdout.decode("ascii").splitlines()]
    assert done.returncode == 0 and len(found) == len(lines) - 1  # one is empty
    assert b"hear me" in done.stderr and b"and me" in done.stderr and b"Traceback" not in done.stderr
    assert sum("error" in answer for answer in found) >= 2 and "ok" in found[-1]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["epimk"], "unknown agent 'epimk'; did you mean 'epimc'?"),
        (["random", "--game", "kuhn"], "unknown game 'kuhn'; did you mean 'kuhn_poker'?"),
        (["scout(engine=none)", "--game", "kuhn_poker"], "scout plays rbc only, not kuhn_poker"),
        (["human"], "human needs somebody at the terminal; an engine plays by itself"),
    ],
)
def test_what_cannot_start_says_so_in_a_line(run, words, said):
    assert run("engine", *words) == (2, "", f"{said}\n")


@pytest.mark.parametrize("pipelined", [False, True])
def test_stop_ends_a_search(pipelined):
    """A search of ten minutes: if stop were not heard, the test would not end."""
    with process("ismcts(nodes=1000)", "--game", "kuhn_poker") as engine:
        for line in told(fl.new_state("unseen_rps"), 0):
            if line["do"] in ("hello", "start"):
                engine.stdin.write(json.dumps(line) + "\n")
        engine.stdin.write('{"do": "observe", "observations": [2]}\n{"do": "act", "movetime": 600000}\n')
        engine.stdin.flush()
        for _ in range(3):
            assert "ok" in json.loads(engine.stdout.readline())
        if not pipelined:
            time.sleep(0.5)
        engine.stdin.write('{"do": "stop"}\n{"do": "act", "movetime": 1}\n{"do": "quit"}\n')
        engine.stdin.flush()
        begin = time.monotonic()
        found = [json.loads(engine.stdout.readline())["ok"] for _ in range(4)]
        assert found == ["act", "stop", "act", "quit"] and time.monotonic() - begin < 300
        assert engine.wait() == 0


# The other side -------------------------------------------------------------------------------------------------------


def records(agents, games=6, game="kuhn_poker", **options):
    return fl.play_match(game, agents, games=games, seed=4, **options).records


@pytest.mark.parametrize(
    ("agent", "game"), [("random", "kuhn_poker"), ("ismcts(iterations=20,reuse=yes)", "leduc_poker")]
)
def test_an_agent_plays_the_same_in_another_process(agent, game):
    command = named(*FOGLIGHT, agent, "--game", game)
    assert records([command, "random"], game=game) == records([agent, "random"], game=game)


def test_analysis_is_the_same_in_another_process():
    state = fl.new_state("kuhn_poker")
    for action in (0, 1):
        state.play(action)
    inner = fl.analyse(state, "pimc(iterations=40)", seed=3).summary()
    outer = fl.analyse(state, named(*FOGLIGHT, "pimc(iterations=40)"), seed=3).summary()
    for one in (inner, outer):
        one.pop("seconds"), one.pop("agent"), one.pop("fusion", None)
    assert inner == outer and inner["worlds"] == 2


@pytest.mark.skipif(os.name == "nt", reason="kills by signal")
def test_a_game_survives_the_death_of_its_engine(capfd):
    """kill -9 before every decision but the first: the game is the same, and each death is told in one line."""
    agent = "ismcts(iterations=20,reuse=yes)"

    def played(make, kill):
        with fl.load_agent(make) as mine, fl.load_agent("random") as other:
            referee, deaths = Referee("leduc_poker", [mine, other], 8), 0
            while referee._state.player != fl.TERMINAL:
                if referee._state.player == 0 and len(mine.observations) > 1 and kill:
                    os.kill(mine._program._process.pid, signal.SIGKILL)
                    mine._program._process.wait()
                    deaths += 1
                referee.play(referee.ask())
            return referee.actions(), deaths

    whole, _ = played(agent, kill=False)
    interrupted, deaths = played(named(*FOGLIGHT, agent), kill=True)
    said = capfd.readouterr().err.splitlines()
    assert interrupted == whole and deaths >= 1
    assert sum("has ended" in line and line.endswith("it is started again") for line in said) == deaths
    assert not any("Traceback" in line for line in said)


@pytest.mark.parametrize("how", ["dies", "hangs", "babbles", "forgets"])
def test_an_engine_that_misbehaves_is_started_again(how, tmp_path, capfd, patience):
    agent = tiny(how, tmp_path / "counter", patience=patience)
    assert records([agent, "random"]) == records([tiny(), "random"])
    (line,) = capfd.readouterr().err.splitlines()
    assert line.endswith("it is started again") and (how != "dies" or "has ended (it hurts)" in line)


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("dead", r"engine '.*' has ended \(it hurts\), twice at one question; is it a working engine\?"),
        ("mute", r"engine '.*' has not answered in 1 s, twice at one question; is it a working engine\?"),
        ("modern", r"engine '.*' does not speak protocol 1 of docs/engine.md; it says .*"),
        ("rude", r"engine '.*' refuses: I play on Sundays only"),
    ],
)
def test_an_engine_that_cannot_play_ends_in_a_line(run, how, said, tmp_path):
    agent = tiny(how, tmp_path / "counter", patience=1.0 if how == "mute" else 600.0)
    code, out, err = run("match", agent, "random", "--game", "kuhn_poker", "--games", "2", "--json")
    assert code == 2 and out == "" and re.fullmatch(said, err.splitlines()[-1])


def test_an_engine_that_cheats_is_named(tmp_path):
    with pytest.raises(fl.IllegalAction, match=r"^Engine on seat . played 99 after"):
        records([tiny("cheats", tmp_path / "counter"), "random"])


@pytest.mark.parametrize(
    ("agent", "said"),
    [
        ("engine", "engine needs a command: write engine(command='PROGRAM ARGUMENTS')"),
        (
            "engine(command='nothing-here x')",
            "engine cannot run 'nothing-here': there is no such program; give its path",
        ),
        ('engine(command="it\'s")', 'engine cannot read its command "it\'s" (No closing quotation)'),
    ],
)
def test_a_command_that_is_none_is_refused(agent, said):
    with pytest.raises(fl.BadInput) as refused:
        fl.load_agent(agent).start("kuhn_poker", 0, 0)
    assert str(refused.value) == said


def test_single_quotes_hold_a_text_without_escapes():
    agent = fl.load_agent(r"""engine(command='a \ "b" c',time=2)""")
    assert agent.command == r'a \ "b" c' and agent.time == 2.0
    assert fl.load_agent(str(agent)).command == agent.command
    assert fl.load_agent("engine(command='')").command == "" and fl.load_agent("engine(it's)").command == "it's"


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="looks for engines in /proc")
def test_no_engine_outlives_a_match(tmp_path):
    from test_agent_protocol import running

    counter = tmp_path / "counter"
    results = [records([tiny("stays", counter), "random"], workers=workers) for workers in (1, 2)]
    assert results[0] == results[1] and counter.stat().st_size > 0
    deadline = time.monotonic() + 120
    while running(counter) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert running(counter) == []
