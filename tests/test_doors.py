"""One's own games and agents: instances, classes, addresses, names on offer, and stores that know the code."""

import csv
import importlib
import importlib.metadata
import re
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import pytest

import foglight as fl
from foglight import addresses, fingerprints
from foglight.addresses import text_of
from foglight.arena.entrants import entrant
from foglight.arena.store import Store
from foglight.names import parse_spec

PACKAGE = Path(__file__).parents[1] / "examples" / "own_package"


@dataclass
class Steady(fl.Agent):
    """plays one of the legal actions by its position"""

    place: Annotated[int, fl.Between(-1, 1)] = 0
    file: str = ""

    def act(self, actions=None):
        return (actions or self.legal_actions())[self.place]


class BySeat(fl.Agent):
    def act(self, actions=None):
        return actions[self.seat]


class Unwritten(fl.Agent):
    def __init__(self, secret=1):
        self.kept = secret

    def act(self, actions=None):
        return actions[0]


ADDRESS = f"{__name__}:Steady"


def names(*agents, **options):
    return fl.play_match("kuhn_poker", agents, games=6, seed=1, **options).agents


# Agents ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("workers", [1, 2])
def test_an_agent_is_an_instance_a_class_an_address_or_a_name(workers, tmp_path):
    forms = [Steady(), Steady, ADDRESS, parse_spec(ADDRESS)]
    results = [
        fl.play_match("kuhn_poker", [form, "random"], games=12, seed=3, workers=workers, store=tmp_path / f"{i}.sqlite")
        for i, form in enumerate(forms)
    ]
    assert all(result == results[0] for result in results)
    assert results[0].agents == (ADDRESS, "random")
    assert names(Steady(place=1), ADDRESS + "(place=-1)") == (f"{ADDRESS}(place=1)", f"{ADDRESS}(place=-1)")


def test_the_same_instance_may_have_two_seats():
    one = Steady()
    assert names(one, one) == (ADDRESS, ADDRESS)
    assert names(Steady(), Steady()) == (ADDRESS, ADDRESS)
    both = BySeat()  # an agent on both seats at once would take itself for seat 1
    shared = fl.play_match("kuhn_poker", [both, both], games=6, seed=1)
    assert shared == fl.play_match("kuhn_poker", [BySeat, BySeat], games=6, seed=1)


def test_an_instance_plays_itself_and_stays_open():
    class Counter(Steady):
        acts = closed = 0

        def act(self, actions=None):
            self.acts += 1
            return super().act(actions)

        def close(self):
            self.closed += 1

    one = Counter()
    fl.play_match("kuhn_poker", [one, "random"], games=6, seed=1)
    assert one.acts >= 6 and one.closed == 0


def test_a_name_of_ones_own():
    one, other = Unwritten(), Unwritten(2)
    with pytest.raises(fl.BadInput, match="does not keep its option secret as an attribute; keep it, or set"):
        names(one, "random")
    one.name, other.name = "mine", "mine too"
    assert names(one, other, workers=2) == ("mine", "mine too")
    other.name = "mine"
    assert names(one, other) == ("mine", "mine"), "the same name and the same code"
    steady = Steady()
    steady.name = "mine"
    with pytest.raises(fl.BadInput, match="two different agents are called mine"):
        names(one, steady)


def test_tournaments_policies_and_bots_take_them():
    tournament = fl.play_tournament(["kuhn_poker"], [Steady(), Steady(place=1), "random"], games_each=4, workers=2)
    assert set(tournament.agents) == {ADDRESS, f"{ADDRESS}(place=1)", "random"}
    assert len(tournament.ratings(anchor=ADDRESS)) == 3
    assert {row["agent_code"] for row in tournament.table()} == {entrant(a, []).code for a in (Steady, "random")}
    for form in (Steady, Steady(), ADDRESS, [Steady, Steady()]):
        assert fl.policy_values("kuhn_poker", fl.agent_policy(form, "kuhn_poker")) == [0.0, 0.0]
    pytest.importorskip("pyspiel")
    assert fl.as_openspiel_bot(Steady(), "kuhn_poker", 0).seat == 0


def test_a_budget_reaches_those_who_take_one():
    @dataclass
    class Thinker(Steady):
        time: float = 0.0
        iterations: int = 0

    given = Thinker()
    tournament = fl.play_tournament(["kuhn_poker"], [given, "random"], games_each=2, budget="iterations=7")
    assert any("iterations=7" in name for name in tournament.agents) and given.iterations == 0


def test_what_cannot_be_sent_to_a_worker_says_so():
    class Local(Steady):
        pass

    assert names(Local(), "random")[0].endswith(".<locals>.Local")
    for form in (Local(), Local):
        with pytest.raises(fl.BadInput, match=r"cannot be sent to worker processes .* use one worker, or define"):
            names(form, "random", workers=2)


@pytest.mark.parametrize(
    ("agent", "advice"),
    [
        (5, "5 is no agent; give its text"),
        ("nowhere:Bot", "there is no module nowhere"),
        ("json:JSONDecoder", "an agent is a subclass of foglight.Agent"),
        ("json:JSONDecodr", "unknown class 'JSONDecodr'; did you mean 'JSONDecoder'"),
        ("json:dumps", "it is no class"),
        ("json.nowhere:Bot", "there is no module json.nowhere"),
        ("json.decoder", "write json.decoder:Class"),
        ("no.where", "write package.module:Class"),
        (ADDRESS + "(place=7)", "place must be from -1 to 1, not 7"),
        (ADDRESS + "(places=7)", "did you mean 'place'"),
    ],
)
def test_what_is_no_agent_gets_one_line(agent, advice):
    with pytest.raises(fl.BadInput) as caught:
        fl.load_agent(agent)
    assert advice in str(caught.value) and "\n" not in str(caught.value)


def test_a_rule_that_a_game_lacks_is_named_in_one_line(tmp_path, monkeypatch, run):
    (tmp_path / "mute_games.py").write_text(
        "from typing import NamedTuple\nimport foglight as fl\n"
        "@fl.game\n@fl.constants(num_players=1, num_words=1, num_actions=2)\nclass Mute(NamedTuple):\n    pass\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    code, _, error = run("analyse", "mute_games:Mute", "--agent", "random")
    assert code == 2
    assert re.fullmatch(r"Mute has no rule '\w+'; every game needs one\n", error)


def test_a_module_that_fails_to_import_says_why(tmp_path, monkeypatch):
    (tmp_path / "broken_bots.py").write_text("import foglight\n1 / 0\n")
    (tmp_path / "needy_bots.py").write_text("import a_module_that_is_not_there\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(fl.BadInput, match="importing it failed: ZeroDivisionError: division by zero"):
        fl.load_agent("broken_bots:Bot")
    with pytest.raises(fl.BadInput, match=r"importing it failed: .*a_module_that_is_not_there"):
        fl.load_agent("needy_bots:Bot")


# Texts ----------------------------------------------------------------------------------------------------------


def test_the_text_of_an_agent_makes_it_again():
    compared = 0
    for agent in (Steady(), Steady(1), "epimc(depth=2,subgame=steered)", "epimc(leaf=value(F))", "oos(delta=0.5)"):
        loaded = fl.load_agent(agent)
        assert fl.load_agent(str(loaded)) == loaded
        compared += 1
    assert compared == 5
    assert str(fl.load_agent("pimc(time=0.5,iterations=0)")) == "pimc(time=0.5)", "0 is the default"
    weighted = Steady(place=(1, 2))
    assert text_of(weighted).startswith(f"{ADDRESS}(place=") and text_of(Steady(file=None)).startswith(
        f"{ADDRESS}(file=#"
    )


@pytest.mark.parametrize(
    ("game", "advice"),
    [
        ("nowhere:Game", "there is no module nowhere"),
        ("openspeil:kuhn_poker", "unknown bridge 'openspeil'; did you mean 'openspiel'"),
        ("openspiel_bot:kuhn_poker", "did you mean 'openspiel'"),
        (ADDRESS, "is not a game"),
        (Steady, "Steady is a class; give an instance"),
    ],
)
def test_what_is_no_game_gets_one_line(game, advice):
    with pytest.raises(fl.BadInput) as caught:
        fl.load_game(game)
    assert advice in str(caught.value) and "\n" not in str(caught.value)


# Stores know the code -------------------------------------------------------------------------------------------

BOT = '''"""a bot"""
import foglight as fl
from fog_tactics import choose

class Bot(fl.Agent):
    """{doc}"""
    def act(self, actions=None):
        {comment}
        return choose(actions)
'''


@pytest.fixture
def bot(tmp_path, monkeypatch):
    """A function that (re)writes the modules of a bot, and returns the bot's class."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # an edit within a second must be noticed

    def write(place=0, doc="", comment="", table="{}"):
        (tmp_path / "fog_tactics.py").write_text(
            f"TABLE = {table}\ndef choose(actions):\n    return actions[{place}] if not TABLE else actions[0]\n"
        )
        (tmp_path / "fog_bot.py").write_text(BOT.format(doc=doc, comment=f"# {comment}"))
        for name in ("fog_bot", "fog_tactics"):
            sys.modules.pop(name, None)
        importlib.invalidate_caches()
        return importlib.import_module("fog_bot").Bot

    yield write
    for name in ("fog_bot", "fog_tactics"):
        sys.modules.pop(name, None)


def test_an_edited_bot_is_another_one_and_old_games_stay(bot, tmp_path, run):
    path = tmp_path / "games.sqlite"
    first = fl.play_match("kuhn_poker", [bot(), "first_legal"], games=10, seed=1, store=path)
    again = fl.play_match(
        "kuhn_poker", [bot(doc="new words", comment="why"), "first_legal"], games=10, seed=1, store=path
    )
    assert again == first and again.earlier == 0, "docstrings and comments are no code"
    edited = fl.play_match("kuhn_poker", [bot(place=-1), "first_legal"], games=10, seed=1, store=path)
    assert edited.returns(0) != first.returns(0), "the edit is in another module than the bot"
    assert (edited.earlier, edited.changed) == (10, ("fog_bot:Bot",))
    back = fl.play_match("kuhn_poker", [bot(), "first_legal"], games=10, seed=1, store=path)
    assert back.records == first.records and back.code == first.code and back.earlier == 10
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT count(*) FROM games").fetchone() == (20,)
    bot(table="{1: 2}")
    code, _, err = run("match", "fog_bot:Bot", "first_legal", "--game", "kuhn_poker", "--games", "10", "--seed", "1",
                       "--store", str(path))  # fmt: skip
    assert code == 0 and "keeps 20 games of this match by other code" in err and "fog_bot:Bot changed" in err
    code, _, _ = run("export", str(path), str(tmp_path / "games.csv"))
    with (tmp_path / "games.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 60 and len({row["agent_code"] for row in rows if row["agent"] == "fog_bot:Bot"}) == 3
    assert {row["game_code"] for row in rows} == {fingerprints.code_of(type(fl.load_game("kuhn_poker")))}


def test_files_of_options_are_part_of_the_code(tmp_path):
    file = tmp_path / "table.txt"
    codes = set()
    for content in ("one", "two", "one"):
        file.write_text(content)
        codes.add(entrant(Steady(file=str(file)), ["kuhn_poker"]).code)
        codes.add(entrant(f'{ADDRESS}(file="{file}")', ["kuhn_poker"]).code)
    assert len(codes) == 2
    policy = tmp_path / "policy.npz"
    fl.solve("kuhn_poker", 10).save(policy)
    one = entrant(f'policy(file="{policy}")', ["kuhn_poker"])
    fl.solve("kuhn_poker", 20).save(policy)
    assert entrant(f'policy(file="{policy}")', ["kuhn_poker"]).code != one.code


def test_fingerprints_are_the_same_in_every_process():
    here = {"PYTHONPATH": str(PACKAGE.parents[1])}
    script = (
        "from foglight.fingerprints import code_of; from foglight.agents import agent_class, agent_names; "
        "from foglight.games import game_class; "
        "print([code_of(agent_class(n)) for n in agent_names()], [code_of(game_class('oh_hell'))])"
    )
    outs = {
        subprocess.run(
            [sys.executable, "-c", script],
            capture_output=True,
            text=True,
            check=True,
            env=here | {"PYTHONHASHSEED": seed},
        ).stdout
        for seed in "12"
    }
    assert len(outs) == 1
    codes = outs.pop().split("'")[1::2]
    assert len(codes) >= 12 and len(set(codes)) == len(codes)


# Names on offer -------------------------------------------------------------------------------------------------


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """The example package as pip would install it, with its entry points."""
    shutil.copytree(PACKAGE / "parlour", tmp_path / "parlour")
    data = tmp_path / "parlour-0.1.dist-info"
    data.mkdir()
    (data / "METADATA").write_text("Metadata-Version: 2.1\nName: parlour\nVersion: 0.1\n")
    lines, keep = [], False
    for line in (PACKAGE / "pyproject.toml").read_text().splitlines():
        if line.startswith("["):
            keep = "entry-points" in line
            line = line.replace('project.entry-points."', "").replace('"', "")
        lines += [line.replace('"', "")] if keep else []
    (data / "entry_points.txt").write_text("\n".join(lines))
    monkeypatch.syspath_prepend(tmp_path)
    addresses.installed.cache_clear()
    yield tmp_path
    addresses.installed.cache_clear()
    for name in [name for name in sys.modules if name.partition(".")[0] == "parlour"]:
        del sys.modules[name]


def test_installed_packages_offer_games_and_agents(installed, run):
    assert {"card_duel", "blind_row", "kuhn_poker"} <= set(fl.game_names())
    assert {"greedy", "prober", "random"} <= set(fl.agent_names())
    game = fl.load_game("card_duel(cards=3)")
    assert str(game) == "card_duel(cards=3,stake=2)" and fl.load_game(str(game)) == game
    assert str(fl.load_game("parlour.card_duel:CardDuel(3)")) == str(game)
    assert names("greedy", "greedy(low=true)") == ("greedy", "greedy(low=true)")
    assert str(fl.load_agent("parlour.bots:Greedy(low=true)")) == "greedy(low=true)"
    code, out, _ = run("games")
    assert code == 0 and "card_duel" in out and "blind_row" in out
    code, out, _ = run("games", "card_duel(cards=4)")
    assert code == 0 and "cards in the pack" in out and "from a pack of 4" in out
    code, out, _ = run("agents")
    assert code == 0 and "greedy" in out and "lowest" in out


def test_without_entry_points_a_game_is_known_by_its_address(tmp_path, monkeypatch):
    shutil.copytree(PACKAGE / "parlour", tmp_path / "parlour")
    monkeypatch.syspath_prepend(tmp_path)
    game = fl.load_game("parlour.card_duel:CardDuel(cards=4)")
    assert str(game) == "parlour.card_duel:CardDuel(cards=4,stake=2)" and fl.load_game(str(game)) == game
    with closing(Store(":memory:")) as store:
        assert list(store.games()) == []


def test_a_broken_offer_spoils_no_list(installed, run):
    points = installed / "parlour-0.1.dist-info" / "entry_points.txt"
    points.write_text(points.read_text().replace("bots:Prober", "bots:Nobody").replace("blind_row:", "blind_rwo:"))
    addresses.installed.cache_clear()
    code, out, err = run("agents")
    assert code == 0 and "greedy" in out and "prober" not in out and "unknown class 'Nobody'" in err
    code, out, err = run("games")
    assert code == 0 and "card_duel" in out and "there is no module parlour.blind_rwo" in err
    code, out, _ = run("agents", "greedy")
    assert code == 0 and "low=false" in out and "scout" not in out


# Code of others that fails --------------------------------------------------------------------------------------


class Crash(fl.Agent):
    def act(self, actions=None):
        return {}["x"]


class Cheat(fl.Agent):
    def act(self, actions=None):
        return 99


@pytest.mark.parametrize("workers", ["1", "2"])
@pytest.mark.parametrize(
    ("agent", "line"),
    [
        (
            "Crash",
            r"Crash fails on seat \d after \d actions with KeyError: 'x' \(test_doors.py:\d+\); FOGLIGHT_TRACEBACK",
        ),
        ("Cheat", r"Cheat on seat \d played 99 after \d actions, where only \[0, 1\] are legal"),
    ],
)
def test_a_bot_that_fails_gets_one_line(run, agent, line, workers):
    code, _, err = run("match", f"{__name__}:{agent}", "random", "--game", "kuhn_poker", "--games", "3",
                       "--workers", workers)  # fmt: skip
    assert code == 1 and re.match(line, err) and err.count("\n") == 1


def test_a_game_that_never_ends_is_given_up(monkeypatch):
    monkeypatch.setattr("foglight.arena.referee.LONGEST", 3)
    with pytest.raises(fl.BadInput, match="kuhn_poker has not ended after 3 actions; foglight check-game says more"):
        fl.play_match("kuhn_poker", ["random", "random"], games=1)


STUDY = """
import foglight as fl

def cells(quick, seed):
    return {"one": {"agent": "fog_bot:Bot"}, "two": {"agent": "random"}}

def work(agent):
    if agent == "random":
        agent = "fog_bot:" + "Bot"
    return {"mean": fl.play_match("kuhn_poker", [agent, "first_legal"], 4).mean_returns[0]}

def table(results):
    return str([result["mean"] for result in results.values()])

def draw(results, path):
    pass
"""


@pytest.mark.parametrize("named_by", ["fog_bot:Bot", "random"])  # in the cells, or in the code of `work` alone
def test_a_study_notices_an_edit_of_a_bot_that_it_names(named_by, bot, tmp_path, monkeypatch, run):
    study = STUDY.replace('"one": {"agent": "fog_bot:Bot"}', f'"one": {{"agent": "{named_by}"}}')
    (tmp_path / "fog_study.py").write_text(study)
    monkeypatch.chdir(tmp_path)
    bot()
    first = run("study", "run", "fog_study")
    assert first[0] == 0 and run("study", "run", "fog_study") == first
    bot(place=-1)
    sys.modules.pop("fog_study")  # as in a new process
    edited = run("study", "run", "fog_study")
    assert edited[0] == 0 and edited[1] != first[1]
    (tmp_path / "fog_study.py").write_text(study.replace("mean_returns[0]", "x"))
    sys.modules.pop("fog_study")
    code, _, err = run("study", "run", "fog_study", "--seed", "1")
    assert code == 1 and err.startswith("cell 'one' of fog_study fails with AttributeError") and err.count("\n") == 1
    sys.modules.pop("fog_study")


def test_an_address_is_printed_as_it_was_written(run):
    code, _, err = run("check-game", "nowhere:X")
    assert code == 2 and err.startswith("cannot load the game nowhere:X: there is no module nowhere")
