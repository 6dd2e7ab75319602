"""The match against Misty: what the peer is handed, and that a match resumes. A small script stands in for Misty."""

import contextlib
import json
import sqlite3
import sys
from pathlib import Path

import pytest

import foglight as fl
from foglight.bench import fog
from foglight.chess.notation import coordinates, fen, read_square
from foglight.cli import app, main
from foglight.games.dark_chess import signs_seen
from foglight.proofs import beliefs
from foglight.proofs.__main__ import app as proofs_app

PEER = """
import json, sys
log = open({log!r}, "a")
print(json.dumps({{"ready": "fake-1"}}), flush=True)
for line in sys.stdin:
    log.write(line)
    log.flush()
    asked = json.loads(line)
    print(json.dumps({{}} if "game" in asked else {{"move": {move}, "compared": {{"sets": 1}}}}), flush=True)
"""


def fake(folder: Path, move: str = "asked['moves'][len(asked['seen'].replace('?', '')) % len(asked['moves'])]") -> str:
    """The path of a peer that plays a move by what it sees, and writes down what it is asked."""
    script = folder / "peer.py"
    script.write_text(PEER.format(log=str(folder / "log"), move=move), encoding="utf-8")
    return str(script)


def asked(folder: Path) -> list[dict]:
    return [json.loads(line) for line in (folder / "log").read_text(encoding="utf-8").splitlines()]


def test_the_peer_is_handed_what_its_seat_sees_and_every_position_that_may_be_true(tmp_path, monkeypatch):
    monkeypatch.setattr(fog, "_CAP", 3000)
    with fog.Misty(sys.executable, 0.01, script=fake(tmp_path)) as misty:
        result = fl.play_match(fog.GAME, ["random", misty], games=2, seed=9)
    played: list[list[dict]] = []
    for request in asked(tmp_path):
        played += [[]] if "game" in request else []
        played[-1].append(request)
    checked, held, longest = 0, 0, 0
    assert len(played) == 3  # the first only warms up
    for number, record in enumerate(result.records):
        state, seat, news = fl.new_state(fog.GAME), 1 - number, []
        requests, is_exact = iter(played[1 + number]), True
        assert next(requests)["game"]["white"] == (seat == 1)
        for action in record.actions:
            own = state.player == seat
            move = coordinates(8, state.world, action)
            if own:
                request = next(requests)
                assert request["seen"] == "".join(signs_seen(8, state.world, seat))
                assert [one["own"] for one in request["news"]] == news
                assert len(request["positions"]) == min(request["size"], 1000)
                is_exact = is_exact and request["size"] < 2000
                if is_exact and request["size"] <= 1000:
                    assert fen(8, state.world) in request["positions"]
                    held += 1
                assert sorted(request["moves"]) == sorted(coordinates(8, state.world, a) for a in state.actions())
                longest, checked, news = max(longest, request["size"]), checked + 1, []
            state.play(action)
            news.append(move if own else None)
    assert checked >= 40 and held >= 8 and longest > 1000


@pytest.fixture
def misty(tmp_path):
    with fog.Misty(sys.executable, 0.01, script=fake(tmp_path)) as made:
        yield made


def followed(misty: fog.Misty, moves: str) -> tuple[fl.State, dict]:
    """The state after these moves, and the last news for white."""
    state = fl.new_state(fog.GAME)
    seat = fl.Seat(misty, state.game, 1, seed=0)
    for move in moves.split():
        state.play(state.parse_action(move))
        seat.tell(state.observations(1))
        assert (misty._tracker.worlds(turn_only=False).rows[:, :5] == state.world[:5]).all(axis=1).any()
    return state, misty._news[-1]


@pytest.mark.parametrize(
    ("moves", "own"),
    [
        ("e4 a6 e5 d5 e5d6", "e5d6"),
        ("e4 d5 exd5", "e4d5"),
        ("Nf3 a6 e3 a5 Be2 a4 O-O", "e1g1"),
        ("d4 a6 Bf4 a5 Qd3 a4 Nc3 a3 O-O-O", "e1c1"),
        ("a4 h6 a5 h5 a6 h4 axb7 h3 bxa8=N", "b7a8n"),
        ("a4 h6 a5 h5 a6 h4 axb7 h3 bxa8=Q", "b7a8q"),
    ],
)
def test_own_moves_follow_from_what_is_seen(misty, moves, own):
    assert followed(misty, moves)[1]["own"] == own


@pytest.mark.parametrize(
    ("moves", "gone", "landed"),
    [
        ("e4 d5 a3 a6", None, False),
        ("e4 d5 a3 dxe4", "e4", True),  # white does not see what stands there, but something must
        ("Nf3 d5 Ng1 d4 e4 dxe3", "e4", False),  # seen: the square is empty
        ("Nh3 e5 a3 e4 f4 exf3", "f4", False),  # not seen, for all white knows it was taken where it stood
        ("e4 f5 e5 f4 a3 f3 a4 fxg2", "g2", True),
    ],
)
def test_captures_are_told_as_a_player_knows_them(misty, moves, gone, landed):
    state, news = followed(misty, moves)
    assert news["own"] is None and (news["gone"], news["landed"]) == (gone, landed)
    assert news["seen"] == "".join(signs_seen(8, state.world, 1))


def test_the_side_that_makes_a_double_step_is_not_shown_whether_it_can_be_taken_en_passant(misty):
    state, news = followed(misty, "Nh3 e5 a3 e4 f4")
    f3 = read_square("f3")
    assert signs_seen(8, state.world, 1)[f3] == "." and news["seen"][f3] == "?"


def test_a_match_resumes(tmp_path):
    script, store = fake(tmp_path), tmp_path / "store" / "games.sqlite"
    fog.run(sys.executable, "random", 1, 0.01, 5, store, script=script)
    before = sum("game" in one for one in asked(tmp_path))
    calls: list[tuple[int, int]] = []
    tables = fog.run(
        sys.executable, "random", 2, 0.01, 5, store, progress=lambda *now: calls.append(now), script=script
    )
    again = fog.run(sys.executable, "random", 2, 0.01, 5, store, script=script)
    (ours, theirs), (sets,) = tables[fog.TITLE], tables[fog.SETS]
    assert calls[0] == (1, 2) and calls[-1] == (2, 2)
    assert sum("game" in one for one in asked(tmp_path)) == 2 * before  # warmed up twice, and one game each
    assert again == {fog.TITLE: [ours, theirs]} and theirs.agent == "fake-1(time=0.01)"
    assert sets.counts["sets"] > 0
    assert ours.games == ours.wins + ours.draws + ours.losses == 2


def test_the_command_prints_scores_as_data(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(fog, "SCRIPT", fake(tmp_path))
    store = str(tmp_path / "games.sqlite")
    words = ["bench", "fog", "--peer", sys.executable, "--agent", "random", "--games", "1", "--seconds", "0.01"]
    monkeypatch.setattr(sys, "argv", ["foglight", *words, "--repetition", "draw", "--store", store, "--json"])
    with pytest.raises(SystemExit) as end:
        main(app)
    assert not end.value.code
    ours, theirs = json.loads(capsys.readouterr().out)[fog.TITLE]
    assert (ours["agent"], theirs["agent"], ours["games"]) == ("random", "fake-1(time=0.01)", 1)
    assert ours["win_rate"] + theirs["win_rate"] == 1 and len(ours["interval"]) == 2
    with contextlib.closing(sqlite3.connect(store)) as database:
        assert "repetition=draw" in "".join(database.iterdump())


@pytest.mark.parametrize(
    ("python", "move", "line"),
    [
        ("/nowhere/python", "", "cannot run /nowhere/python"),
        (sys.executable, "1 / 0", "failed: ZeroDivisionError"),
        (sys.executable, "'e2e5'", "fake-1.time=0.01. plays e2e5, where only"),
    ],
)
def test_a_peer_that_fails_gets_one_line(tmp_path, python, move, line):
    with pytest.raises(fl.BadInput, match=line):
        fog.run(python, "random", 1, 0.01, 0, None, script=fake(tmp_path, move))


def test_misty_refuses_other_games(misty):
    with pytest.raises(fl.BadInput, match="Misty plays"):
        fl.play_match("dark_chess", ["random", misty], games=1)


# Beliefs through games ------------------------------------------------------------------------------------------

SMALL = "dark_chess(size=5,repetition=ignore,clock=hidden)"


def test_beliefs_through_games_are_exact_or_samples_and_hold_the_true_world():
    cells = beliefs.cells(4, 1, SMALL, ("random", "pimc(iterations=20,cap=100)"), 300)
    results = {name: beliefs.work(**cell) for name, cell in cells.items()}
    rows = beliefs.table(results)
    assert [row["games"] for row in rows] == [2, 1, 1, 4]
    assert rows[-1]["observations"] > 200 and rows[-1]["largest"] > 250 and 50 < rows[-1]["exact %"] <= 100
    assert rows[-1]["lost"] == 0 and not any(result["findings"] for result in results.values())


def test_a_lost_belief_and_a_missing_world_are_found(monkeypatch):
    (cell,) = beliefs.cells(1, 1, SMALL, ("random",), 300).values()
    whole = fl.Tracker.worlds

    def without_one(self, turn_only=True):
        found = whole(self, turn_only)
        return fl.Worlds(found.rows[1:], found.weights[1:], found.exact)

    with monkeypatch.context() as patch:
        patch.setattr(fl.Tracker, "worlds", without_one)
        assert "the true world is missing" in beliefs.work(**cell)["findings"][0]

    def lost(self, observation):
        raise fl.BeliefLost("no world was found")

    monkeypatch.setattr(fl.Tracker, "observe", lost)
    result = beliefs.work(**cell)
    assert len(result["findings"]) == 2 and beliefs.table({"": result})[0]["lost"] == 2


def test_the_proof_of_beliefs_goes_on_where_it_was_killed(monkeypatch, capsys, tmp_path):
    words = ["beliefs", "--game", SMALL, "--agent", "random", "--cap", "300", "--folder", str(tmp_path), "--json"]
    numbers: list[int] = []
    whole = beliefs.work
    monkeypatch.setattr(beliefs, "work", lambda **cell: numbers.append(cell["number"]) or whole(**cell))
    for games in (1, 2):
        monkeypatch.setattr(sys, "argv", ["proofs", *words, "--games", str(games)])
        with pytest.raises(SystemExit) as end:
            main(proofs_app)
        assert not end.value.code
        assert json.loads(capsys.readouterr().out)["rows"][0]["games"] == games
    assert numbers == [0, 1]


def test_beliefs_are_followed_in_native_games_only():
    with pytest.raises(fl.BadInput, match="choose a native game"):
        beliefs.cells(1, 0, "openspiel:kuhn_poker")
