"""Playthroughs of OpenSpiel are followed by our rules: fresh ones, and those that it keeps for its own tests.

The latter are read from the folder that the environment variable FOGLIGHT_PLAYTHROUGHS names:
`open_spiel/integration_tests/playthroughs` of its source.
"""

import os
import sys
from pathlib import Path

import pyspiel
import pytest
from open_spiel.python.algorithms.generate_playthrough import playthrough

import foglight as fl
from foglight.proofs import playthroughs
from foglight.proofs.__main__ import app, main

FILES = os.environ.get("FOGLIGHT_PLAYTHROUGHS", "")
stored = pytest.mark.skipif(not FILES, reason="FOGLIGHT_PLAYTHROUGHS names no folder of OpenSpiel's playthroughs")


def written(folder, theirs, seed=1, change=lambda text: text):
    """A fresh playthrough as a file."""
    path = folder / "fresh.txt"
    path.write_text(change(playthrough(theirs, None, seed=seed)), "utf-8")
    return str(path)


@pytest.mark.parametrize("theirs", playthroughs.OURS)
def test_a_fresh_playthrough_is_ours_line_by_line(theirs, tmp_path):
    described, rules, strings = 0, 0, 0
    for seed in (1, 2, 3) if theirs == "rbc" else (0, 1, 2):  # draws of blind chess are not ours; these games are won
        result = playthroughs.work(written(tmp_path, theirs, seed))
        assert result["findings"] == []
        described += result["described"]
        rules += result["rules"]
        strings += result["information"] + result["observations"]
    assert described >= 9
    assert rules >= 4 * described
    assert strings > described or theirs.endswith("_ir")


@pytest.mark.parametrize(
    ("theirs", "line", "wrong"),
    [
        ("phantom_ttt", "LegalActions() = [0, ", "LegalActions() = ["),
        ("phantom_ttt", "CurrentPlayer() = 1", "CurrentPlayer() = 0"),
        ("phantom_ttt", "Returns() = [1, -1]", "Returns() = [-1, 1]"),
        ("phantom_ttt", 'InformationStateString(1) = "...', 'InformationStateString(1) = "x..'),
        ("phantom_ttt", 'ObservationString(1) = "...\\n...\\n..."', 'ObservationString(1) = "x..\\n...\\n..."'),
        ("leduc_poker", "(0,0.166667)", "(0,0.266667)"),
        ("dark_chess(board_size=4)", "# r1kr", "# r1rk"),
        ("dark_chess(board_size=4)", 'ObservationString(0) = "r1kr', 'ObservationString(0) = "r1rk'),
    ],
)
def test_a_line_that_differs_is_found(theirs, line, wrong, tmp_path):
    def change(text):
        assert line in text
        return wrong.join(text.rsplit(line, 1))

    (finding,) = playthroughs.work(written(tmp_path, theirs, 4, change))["findings"]
    assert "there" in finding and "here" in finding


def test_a_string_that_forgets_is_found(tmp_path):
    def change(text):
        # o has moved by then, and its string is what it was at the start
        lines = [line for line in text.splitlines() if line.startswith("InformationStateString(1)")]
        assert lines[0] == lines[1] != lines[2]
        return text.replace(lines[2], lines[0], 1)

    (finding,) = playthroughs.work(written(tmp_path, "phantom_ttt", 4, change))["findings"]
    assert "InformationStateString(1), ours" in finding


def test_a_game_that_ends_too_early_is_found(tmp_path):
    path = written(tmp_path, "kuhn_poker(players=2)", change=lambda text: text.rsplit("# State", 2)[0])
    (finding,) = playthroughs.work(path)["findings"]
    assert finding == "fresh.txt: the playthrough is over, and our game is not"


def test_a_folder_without_playthroughs_gets_one_line(tmp_path, monkeypatch, capsys):
    with pytest.raises(fl.BadInput, match="no playthroughs in"):
        playthroughs.cells(str(tmp_path))
    monkeypatch.setattr(sys, "argv", ["proofs", "playthroughs", "--files", str(tmp_path / "missing")])
    with pytest.raises(SystemExit) as exited:
        main(app)
    assert exited.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1


@stored
def test_stored_playthroughs_are_ours_line_by_line():
    results = {cell: playthroughs.work(**arguments) for cell, arguments in playthroughs.cells(FILES).items()}
    assert [finding for result in results.values() for finding in result["findings"]] == []
    total = playthroughs.table(results)[-1]
    assert total["file"] == "22 files"
    assert total["described"] >= 180
    assert total["rules"] >= 900
    assert total["information"] >= 450
    assert total["observations"] >= 240


@stored
def test_the_strings_stored_are_those_of_the_openspiel_that_lock_step_compares():
    compared = 0
    for arguments in playthroughs.cells(FILES).values():
        path = Path(arguments["file"])
        name = path.read_text("utf-8").splitlines()[0].removeprefix("game: ")
        state = pyspiel.load_game(name).new_initial_state()
        for described in playthroughs.described(path.read_text("utf-8")):
            for seat in range(state.num_players()):
                for key, text in (
                    (f"InformationStateString({seat})", state.information_state_string),
                    (f"ObservationString({seat})", state.observation_string),
                ):
                    if key in described.lines:
                        assert described.lines[key] == text(seat), f"{path.name}, state {described.number}"
                        compared += 1
            if path.name == "rbc.txt" and described.number == 93:
                break  # what is played there is no longer legal in OpenSpiel
            if len(described.actions) > 1:
                state.apply_actions(described.actions)
            elif described.actions:
                state.apply_action(described.actions[0])
    assert compared > 500
