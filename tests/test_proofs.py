"""Small forms of `python -m foglight.proofs`, and mistakes that its proofs must notice."""

import asyncio
import base64
import json
import sys
import zlib
from typing import ClassVar

import numpy as np
import pytest

import foglight as fl
from foglight import proofs
from foglight.arena.session import load_saved
from foglight.arena.store import Store
from foglight.bench import legality as judges
from foglight.blind_chess.uci import WIN, _centipawns, _read_answer
from foglight.chess.notation import read_fen
from foglight.proofs import __main__ as command
from foglight.proofs import legality, twins
from foglight.values.networks.datasets import load_dataset

FAULTS = ("forbidden", "unlike", "untrue")

# Legality -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("game", ["kuhn_poker", "phantom_ttt", "battleship", "three_sat"])
def test_histories_that_a_filter_draws_are_legal_and_a_tracker_has_their_worlds(game):
    (row,) = judges.judge_filter(game, samples=200, positions=10, seed=1)
    assert row.worlds > 100 and [getattr(row, fault) for fault in FAULTS] == [0, 0, 0]


@pytest.mark.parametrize("swaps", [False, True])
def test_chains_pass_only_through_legal_histories(swaps):
    (row,) = judges.judge_chains("spades", samples=600, positions=3, seed=1, swaps=swaps)
    assert row.worlds == 600 and [getattr(row, fault) for fault in FAULTS] == [0, 0, 0]


@pytest.mark.parametrize("kind", [*judges.KINDS, "particles"])
def test_every_kind_of_belief_holds_only_what_the_seat_may_have_seen(kind):
    (row,) = judges.judge_beliefs("phantom_ttt", 2, 1, 500, kind)
    assert row.worlds > row.positions >= 8 and [getattr(row, fault) for fault in FAULTS] == [0, 0, 0]


def test_every_native_game_is_judged():
    judged = {result for task, _ in judges._counted(10, 1, 1, 0) for result in task.args if isinstance(result, str)}
    assert set(fl.game_names()) - {"rbc"} <= {game.partition("(")[0] for game in judged}
    assert any(task.func is judges.judge_boards for task, _ in judges._counted(10, 1, 1, 0))


def test_the_judge_of_filters_notices_a_tracker_that_misses_a_world(monkeypatch):
    whole = fl.Tracker.worlds

    def without_one(self, turn_only=True):
        found = whole(self, turn_only)
        return fl.Worlds(found.rows[:-1], found.weights[:-1], found.exact)

    monkeypatch.setattr(fl.Tracker, "worlds", without_one)
    (row,) = judges.judge_filter("kuhn_poker", samples=10, positions=10, seed=1)
    assert row.untrue == 10


def test_the_judge_of_boards_notices_a_piece_that_moved():
    state = fl.new_state("rbc")
    boards = np.repeat(state.world[None, :5], 3, axis=0)
    boards[1] = state.world[:5]
    boards[1, :4] ^= np.uint64(1 << 8) * (state.world[:4] >> np.uint64(8) & np.uint64(1))  # the pawn on a2 is gone
    tally = np.zeros(3, np.int64)
    judges._compare_boards(boards, state.world, 1, tally)
    assert tally.tolist() == [3, 1, 1]


# Twins ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("agent", "game"),
    [
        ("random", "phantom_ttt"),
        ("human", "kuhn_poker"),
        ("policy", "kuhn_poker"),
        ("engine", "kuhn_poker"),
        ("pimc(iterations=8,cap=200)", "leduc_poker"),
        ("epimc(iterations=8,cap=200)", "phantom_ttt"),
        ("ismcts(iterations=8,cap=200)", "kuhn_poker"),
        ("oos(iterations=8,cap=200)", "kuhn_poker"),
        ("particle_resolving(network=none,particles=20,depth=1,iterations=2)", "kuhn_poker"),
    ],
)
def test_an_agent_does_the_same_in_games_that_look_the_same(agent, game):
    result = twins.work(agent, game, pairs=60, seconds=60.0, seed=1)
    assert result["pairs"] >= 60 and result["different"] == 0, result["findings"]


class Peeker(fl.Agent):
    """Finds the referee's state among the callers."""

    gives_reasons = True

    def _hidden(self):
        frame = sys._getframe()
        while not isinstance(frame.f_locals.get("state"), fl.State):
            frame = frame.f_back
        return int(frame.f_locals["state"].world.sum())

    def act(self, actions=None):
        action = actions[self._hidden() % len(actions)]
        self.explanation = fl.Explanation(action, list(actions))
        return action


class Blabber(Peeker):
    """Plays honestly, but knows too much when it is asked why."""

    def act(self, actions=None):
        self.explanation = fl.Explanation(actions[0], list(actions), worlds=self._hidden())
        return actions[0]


class Gossip(fl.Agent):
    """Tells its other instances what it has seen."""

    heard: ClassVar[dict] = {}

    def start(self, game, seat, seed):
        super().start(game, seat, seed)
        Gossip.heard[seat] = ()

    def observe(self, observation):
        super().observe(observation)
        Gossip.heard[self.seat] = tuple(self.observations)

    def act(self, actions=None):
        return actions[hash(tuple(sorted(self.heard.items()))) % len(actions)]


@pytest.mark.parametrize("cheat", [Peeker, Blabber, Gossip])
@pytest.mark.parametrize("game", ["kuhn_poker", "phantom_ttt"])
def test_cheats_are_caught_within_a_few_pairs(cheat, game):
    """Peeker and Gossip choose one of two to nine actions by a hash: 60 pairs are alike with probability 2**-30."""
    result = twins.compare(cheat, game, pairs=60, seed=1)
    assert 60 <= result["pairs"] < 90 and result["different"] >= 5
    assert "but" in result["findings"][0]


class Forgetful(fl.Agent):
    """Counts how often it was asked, which replaying the observations cannot restore."""

    def start(self, game, seat, seed):
        super().start(game, seat, seed)
        self.asked = 0

    def act(self, actions=None):
        self.asked += 1
        return actions[self.asked % len(actions)]


def test_an_agent_that_is_not_restored_is_told_from_one_that_peeks():
    result = twins.compare(Forgetful, "phantom_ttt", pairs=60, seed=1)
    assert result["different"] == 0 and result["unrestored"] >= 1 and "resumed" in result["findings"][0]


def test_an_agent_that_cannot_play_a_game_says_so():
    class Picky(fl.Agent):
        def start(self, game, seat, seed):
            raise fl.BadInput("only on Sundays")

        def act(self, actions=None):
            return 0

    assert twins.compare(Picky, "kuhn_poker", pairs=5)["refused"] == "only on Sundays"


def test_every_native_agent_and_game_has_twins():
    pairs = list(twins.combinations())
    assert {agent.partition("(")[0] for agent, _ in pairs} == set(fl.agent_names())
    assert {game.partition("(")[0] for _, game in pairs} == set(fl.game_names()) and len(pairs) > 150


# Fuzz -----------------------------------------------------------------------------------------------------------

SMALL = {"games": 300, "agents": 300, "observations": 30, "commands": 40, "files": 60, "orders": 40, "requests": 150,
         "lines": 60}  # fmt: skip


@pytest.fixture(scope="module")
def fuzz():
    pytest.importorskip("starlette")
    pytest.importorskip("torch")
    from foglight.proofs import fuzz

    return fuzz


@pytest.mark.parametrize("kind", [*SMALL, "engines"])
def test_nonsense_is_refused_in_one_line(fuzz, kind, monkeypatch):
    monkeypatch.setattr(fuzz.texts, "_SEEN", ("kuhn_poker", "phantom_ttt", "leduc_poker", "three_sat"))
    inputs = SMALL.get(kind, 500)
    result = fuzz.work(kind, 0, inputs, seed=3)
    assert result["findings"] == [] and result["fine"] + result["refused"] == inputs
    assert result["refused"] > inputs // 8


def test_fuzz_notices_a_game_of_the_page_that_stops(fuzz, monkeypatch):
    """As when a stand-in for the workers gave no legal move: orders were then tried at games that had ended."""
    right = fuzz.page._Answers.ask

    async def wrong(self, lane, limit, name, *arguments, topics=()):
        if name == "move":
            raise IndexError("list index out of range")
        return await right(self, lane, limit, name, *arguments, topics=topics)

    monkeypatch.setattr(fuzz.page._Answers, "ask", wrong)
    result = fuzz.work("orders", 0, 40, seed=3)
    assert result["found"] >= 5 and "the game stops" in result["findings"][0]


@pytest.mark.parametrize("order", [("export", "games.sqlite"), ("solve", "kuhn_poker", "--iterations", "5", "--save")])
def test_a_file_name_that_is_too_long_is_refused(run, tmp_path, monkeypatch, order):
    monkeypatch.chdir(tmp_path)
    fl.play_match("kuhn_poker", ["random", "first_legal"], 2, store=tmp_path / "games.sqlite")
    code, out, err = run(*order, f"{'a' * 400}.csv")
    assert (code, out) == (2, "") and err.count("\n") == 1 and "the name of a file is too long: aaa" in err


def test_every_kind_of_input_has_its_share(fuzz):
    cells = fuzz.cells(100_000, 0)
    assert sum(cell["inputs"] for cell in cells.values()) == 100_000
    assert {cell["kind"] for cell in cells.values()} == set(fuzz.KINDS) == {*SMALL, "engines"}


def test_fuzz_notices_tracebacks_long_refusals_and_lost_files(fuzz, monkeypatch):
    def failing(text):
        raise KeyError(text)

    def verbose(text):
        raise fl.BadInput("two\nlines")

    for reader, said in ((failing, "KeyError"), (verbose, "not one helpful line")):
        monkeypatch.setattr(fuzz.texts, "load_agent", reader)
        result = fuzz.work("agents", 0, 20, seed=0)
        assert result["found"] == 20 and len(result["findings"]) == 5 and said in result["findings"][0]

    def careless(path):
        path.write_bytes(b"")
        raise fl.BadInput(f"cannot read {path}")

    monkeypatch.setattr(fuzz.files, "_READERS", dict.fromkeys(fuzz.files._READERS, (careless,)))
    result = fuzz.work("files", 0, 20, seed=0)
    assert result["found"] >= 10 and "and yet changed" in result["findings"][0]


# What it has found ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("game", ["o-0.0nspiel:kuhn_poker", "o..penspiel:kuhn_poker"])
def test_a_bridge_with_dots_in_its_name_is_refused(game):
    with pytest.raises(fl.BadInput, match=r"there is no module|importing it failed"):
        fl.load_game(game)


@pytest.mark.parametrize(
    "fen",
    [
        "r3k②r/8/8/8/8/8/8/R3K2R w KQkq - 0 1",
        "8/8/8/8/8/8/8/8 w - - 0 " + "9" * 5000,
        "8/8/8/8/8/8/8/8 w - - " + "9" * 5000 + " 1",
        "8/8/8/8/8/8/8/8 w - - 0 00",
    ],
)
def test_odd_digits_in_a_position_are_refused(fen):
    with pytest.raises(fl.BadInput, match="cannot read the FEN"):
        read_fen(fen)


def test_an_engine_may_end_its_line_anywhere():
    answer = _read_answer(["info score cp 20 pv e2e4 multipv"])
    assert (answer.value, answer.lines) == (20, {"e2e4": 20})


def test_a_mate_in_very_many_moves_is_still_a_mate():
    assert _read_answer([f"info score mate {'9' * 30} pv e2e4"]).value == _centipawns("cp", 10**30)
    assert _read_answer(["info score mate -3 pv e2e4"]).value == 3 - WIN == -_read_answer(["info score mate 3"]).value


def test_a_message_of_sqlite_that_quotes_damaged_text_is_a_refusal(tmp_path):
    store = Store(tmp_path / "games.sqlite")
    with pytest.raises(fl.BadInput, match=r"cannot use .* as a store"), store.advice():
        b"\xa0".decode()
    store.close()


@pytest.mark.parametrize(
    "change",
    [
        {"actions": "null"},
        {"actions": '["a"]'},
        {"actions": "[" * 100_000},
        {"agents": [None]},
    ],
)
def test_a_saved_game_with_other_content_is_refused(tmp_path, change):
    moves = iter(["a1", "quit"])
    file = tmp_path / "game.saved"
    fl.play("dark_hex(rows=2,cols=2)", save=file, ask=lambda _: next(moves, "quit"), tell=lambda _: None)
    assert load_saved(file).actions
    content = json.loads(file.read_text())
    if "actions" in change:
        change = {"actions": base64.b64encode(zlib.compress(change["actions"].encode())).decode()}
    file.write_text(json.dumps({**content, **change}))
    with pytest.raises(fl.BadInput, match="is not a saved game of foglight, or it is damaged"):
        load_saved(file)


@pytest.mark.parametrize(("old", "new"), [(b"kind", b"kKnd"), (b"format", b"fOrmat")])
def test_a_network_with_a_damaged_header_is_refused(tmp_path, old, new):
    pytest.importorskip("torch")
    from foglight.values.networks.shipped import shipped_network
    from foglight.values.networks.training import load_network

    content = shipped_network(fl.load_game("leduc_poker")).read_bytes()
    assert old in content
    (tmp_path / "damaged.safetensors").write_bytes(content.replace(old, new))
    with pytest.raises(fl.BadInput) as refusal:
        load_network(tmp_path / "damaged.safetensors")
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("change", [{"points": None}, {"per_shard": 0}, {"strategies": "x"}, {"game": 3}])
def test_a_data_set_with_another_manifest_is_refused(tmp_path, change):
    request = fl.DatasetRequest("kuhn_poker", 3, strategies=2)
    fl.generate_dataset(request, tmp_path)
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert load_dataset(tmp_path).request == request
    part = manifest["request"] if "points" not in change else manifest
    part.update(change)
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(fl.BadInput, match=r"cannot read .*manifest\.json: .* is not what was written"):
        load_dataset(tmp_path)


@pytest.mark.parametrize("place", [4, 6])  # of the version that unpacks it, and of the flag that it is encrypted
def test_an_archive_that_nobody_can_unpack_is_no_policy(tmp_path, place):
    fl.solve("kuhn_poker", iterations=2).save(tmp_path / "policy.npz")
    content = bytearray((tmp_path / "policy.npz").read_bytes())
    entry = content.index(b"PK\x01\x02")  # the first one of the directory at the end
    while entry >= 0:
        content[entry + 2 + place] = 109
        entry = content.find(b"PK\x01\x02", entry + 1)
    (tmp_path / "policy.npz").write_bytes(content)
    with pytest.raises(fl.BadInput, match="is not a saved policy, or it is damaged"):
        fl.Solved.load(tmp_path / "policy.npz")


def test_an_origin_that_is_no_address_is_not_welcome():
    pytest.importorskip("starlette")
    from foglight.web.guard import Guard

    sent = []

    async def send(event):
        sent.append(event)

    headers = [(b"host", b"127.0.0.1:8421"), (b"origin", b"http://127.].0.1:8421")]
    scope = {"type": "http", "path": "/", "query_string": b"", "headers": headers}
    asyncio.run(Guard(None, hosts=["127.0.0.1"])(scope, None, send))
    assert sent[0]["status"] == 403


# Running them ---------------------------------------------------------------------------------------------------


def run(monkeypatch, capsys, *arguments):
    monkeypatch.setattr(sys, "argv", ["proofs", *arguments])
    with pytest.raises(SystemExit) as exited:
        command.main(command.app)
    return exited.value.code, capsys.readouterr()


def test_a_proof_goes_on_where_it_was_killed(monkeypatch, capsys, tmp_path):
    order = ("twins", "--agent", "random", "--game", "kuhn_poker", "--pairs", "20", "--folder", str(tmp_path))
    code, said = run(monkeypatch, capsys, *order, "--json")
    rows = json.loads(said.out)["rows"]
    assert code == 0 and [row["agent"] for row in rows] == ["random"] and rows[0]["pairs"] >= 20
    assert (tmp_path / "twins.md").read_text().startswith("| agent | game |")
    calls = []
    work = twins.work
    monkeypatch.setattr(proofs, "_code", lambda work: json.loads((tmp_path / "twins.jsonl").read_text())["code"])
    monkeypatch.setattr(twins, "work", lambda **given: calls.append(given) or work(**given))
    more = (*order[:2], "first_legal", *order[3:])
    assert run(monkeypatch, capsys, *order)[0] == 0 and not calls, "it is done"
    with (tmp_path / "twins.jsonl").open("a") as ledger:
        ledger.write('\n{"cell": "first_legal in kuhn_po')  # the last line of a process that was killed
    monkeypatch.setattr(proofs, "_code", lambda work: "other")
    assert run(monkeypatch, capsys, *more)[0] == 0 and [call["agent"] for call in calls] == ["first_legal"]
    assert run(monkeypatch, capsys, *order)[0] == 0 and len(calls) == 2, "other code has to prove it again"


def test_findings_are_shown_and_end_in_code_1(monkeypatch, capsys, tmp_path):
    wrong = {"game": "kuhn_poker", "what": "drawn", **dict.fromkeys(legality._COLUMNS, 1), "seconds": 0.0}
    monkeypatch.setattr(legality, "cells", lambda samples, seed: {"one": {}})
    monkeypatch.setattr(legality, "work", lambda: {**wrong, "findings": ["a world is illegal"]})
    monkeypatch.setattr(proofs, "_code", lambda work: "")
    code, said = run(monkeypatch, capsys, "legality", "--folder", str(tmp_path))
    assert code == 1 and said.out.endswith("a world is illegal\n")


@pytest.mark.parametrize(
    ("arguments", "advice"),
    [
        (("twins", "--pairs", "0"), "pairs must be at least 1, not 0"),
        (("fuzz", "--inputs", "-3"), "inputs must be at least 1, not -3"),
        (("legality", "--seed", "-1"), "seed must be at least 0, not -1"),
        (("twins", "--game", "chess"), "no native agent plays that game"),
    ],
)
def test_bad_orders_get_one_line(monkeypatch, capsys, arguments, advice):
    code, said = run(monkeypatch, capsys, *arguments)
    assert code == 2 and advice in said.err and said.err.count("\n") == 1
