"""The studies of EPIMC: the published settings, one cell for real, and tables and pictures of any results."""

import pytest

from foglight.agents import load_agent
from foglight.studies import _matches, epimc_depth, epimc_leaf, epimc_rivals, epimc_subgame, load_study, study_names

STUDIES = ["epimc_depth", "epimc_leaf", "epimc_rivals", "epimc_subgame"]


def test_what_studies_share_is_no_study():
    assert set(STUDIES) <= set(study_names())
    assert not [name for name in study_names() if name.startswith("_")]


@pytest.mark.parametrize("name", STUDIES)
def test_full_studies_have_the_published_number_of_games_and_agents_that_exist(name):
    for quick in (True, False):
        for arguments in load_study(name).cells(quick, 3).values():
            assert arguments["games"] == 500 or (quick and 60 <= arguments["games"] <= 100)
            assert arguments["seed"] == 3
            load_agent(arguments["agent"])
            load_agent(arguments["opponent"])


def test_budgets_are_ratios_to_pimcs():
    cell = epimc_depth.cells(False, 0)["dark_chess(size=4,repetition=ignore), depth 3, 1000:1"]
    assert cell["agent"] == "epimc(depth=3,subgame=iss,iterations=200000)"
    assert cell["opponent"] == "pimc(iterations=200)"
    cell = epimc_subgame.cells(True, 0)["phantom_ttt, CFR+, 1:10"]
    assert cell["agent"] == "epimc(depth=3,subgame=cfr+,iterations=200)"
    assert cell["opponent"] == "pimc(iterations=2000)"
    rivals = epimc_rivals.cells(False, 0)
    assert rivals["phantom_ttt, ismcts, 10:1"]["agent"] == "ismcts(exploration=1,time=0.2)"
    assert rivals["phantom_ttt, ismcts, 10:1"]["opponent"] == "pimc(time=0.02)"
    assert rivals["phantom_ttt, random, 10:1"]["agent"] == "random"


def test_a_cell_is_a_match_that_follows_from_its_seed():
    arguments = {**epimc_leaf.cells(True, 5)["phantom_ttt, minimax, 1:10"], "games": 6}
    first, again = epimc_leaf.work(**arguments), epimc_leaf.work(**arguments)
    assert first["score"] == again["score"] and 0 <= first["score"] <= 6
    assert first["games"] == 6 and first["ratio"] == 0.1 and first["line"] == "minimax"
    assert first["overruns"] == [0, 0]


@pytest.mark.parametrize("quick", [True, False])
@pytest.mark.parametrize("name", STUDIES)
def test_tables_have_intervals_and_the_papers_words(name, quick, tmp_path):
    study = load_study(name)
    results = {
        cell: {**arguments, "score": 0.8 * arguments["games"], "ms": [12.5, 1.0], "overruns": [1, 0]}
        for cell, arguments in study.cells(quick, 0).items()
    }
    table = study.table(results)
    head, _, *rows = table.splitlines()
    assert "published" in head and "1:1" in head
    assert any("80% (71–87)" in row or "80% (68–88)" in row or "80% (76–83)" in row for row in rows)
    assert all(words in table for words in study.PUBLISHED.values())
    study.draw(results, tmp_path / "picture.png")
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")


def test_ratios_and_games_for_people():
    assert [_matches.ratio_text(ratio) for ratio in (0.1, 1, 1000)] == ["1:10", "1:1", "1000:1"]
    assert _matches.short("dark_hex(rows=3,cols=3)") == "dark_hex 3×3" and _matches.short("card_game") == "card_game"
