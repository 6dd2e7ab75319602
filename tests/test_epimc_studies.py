"""The studies of EPIMC: the published settings, one cell for real, and tables and pictures of any results."""

from collections import Counter, defaultdict

import pytest

from foglight.agents import load_agent
from foglight.agents.epimc import Epimc
from foglight.studies import _matches, epimc_depth, epimc_leaf, epimc_rivals, epimc_subgame, load_study, study_names

STUDIES = ["epimc_depth", "epimc_leaf", "epimc_rivals", "epimc_subgame"]


def test_what_studies_share_is_no_study():
    assert set(STUDIES) <= set(study_names())
    assert not [name for name in study_names() if name.startswith("_")]


@pytest.mark.parametrize("name", STUDIES)
def test_full_studies_have_the_published_number_of_games_and_agents_that_exist(name):
    for quick in (True, False):
        games, seeds = Counter(), defaultdict(list)
        for arguments in load_study(name).cells(quick, 3).values():
            match = arguments["game"], arguments["line"], arguments["ratio"]
            games[match] += arguments["games"]
            seeds[match].append(arguments["seed"])
            load_agent(arguments["agent"])
            load_agent(arguments["opponent"])
        assert len(games) >= 16
        for match, played in games.items():
            assert 60 <= played <= 100 if quick else played == 500
            assert seeds[match] == ([3] if quick else list(range(3000, 3000 + len(seeds[match]))))


def test_first_games_come_first_and_the_largest_ratio_after_the_others():
    cells = list(epimc_depth.cells(False, 0).items())
    assert {arguments["games"] for _, arguments in cells} == {10, 20, 50}
    played, stages = Counter(), []
    for cell, arguments in cells:
        match = cell.rpartition(", games ")[0]
        largest = arguments["ratio"] == _matches.LARGEST
        stages.append(2 if played[match] >= _matches.ENOUGH else int(largest))
        played[match] += arguments["games"]
        assert cell.endswith(f" to {played[match]}")  # in their order
        assert arguments["seed"] == (played[match] - 1) // arguments["games"]  # it counts the blocks
    assert stages == sorted(stages) and Counter(stages) == {0: 225, 1: 36, 2: len(cells) - 261}


def test_blocks_of_one_match_are_one_result():
    block = {
        "game": "g",
        "line": "l",
        "ratio": 1,
        "agent": "a",
        "opponent": "pimc(iterations=7)",
        "overruns": [1, None],
    }
    blocks = {
        "1": {**block, "score": 10, "games": 50, "ms": [1.0, None]},
        "2": {**block, "score": 9, "games": 10, "ms": [7.0, None]},
        "3": {**block, "score": 3, "games": 10, "ms": [1.0, 2.0], "ratio": 0.1},
    }
    fewer, more = _matches.grouped(blocks)["g", "l"]
    assert (fewer["ratio"], fewer["score"], fewer["games"]) == (0.1, 3, 10)
    assert (more["ratio"], more["score"], more["games"], more["ms"], more["overruns"]) == (
        1,
        19,
        60,
        [2.0, None],
        [2, None],
    )
    table = _matches.table_of(blocks, {})
    assert "10 or 60 games a cell" in table and "PIMC has 7 iterations." in table and "32%" in table


def test_budgets_are_ratios_to_pimcs():
    cell = epimc_depth.cells(False, 0)["dark_chess(size=4,repetition=ignore), depth 3, 1000:1, games 1 to 10"]
    assert cell["agent"] == "epimc(depth=3,subgame=iss,iterations=2000000)"
    assert cell["opponent"] == "pimc(iterations=2000)"
    cell = epimc_subgame.cells(True, 0)["phantom_ttt, CFR+, 1:10"]
    assert cell["agent"] == "epimc(depth=3,subgame=cfr+,iterations=200)"
    assert cell["opponent"] == "pimc(iterations=2000)"
    assert epimc_leaf.cells(True, 0)["dark_hex(rows=3,cols=3), minimax, 1:1"]["opponent"] == "pimc(iterations=200)"
    rivals = epimc_rivals.cells(False, 0)
    assert rivals["phantom_ttt, ismcts, 10:1, games 1 to 50"]["agent"] == "ismcts(exploration=1,iterations=4000)"
    assert rivals["phantom_ttt, ismcts, 10:1, games 1 to 50"]["opponent"] == "pimc(iterations=2000)"
    assert rivals["phantom_ttt, random, 10:1, games 1 to 50"]["agent"] == "random"


def test_no_search_of_a_study_is_capped_by_its_memory():
    budgets = 0
    for name in STUDIES:
        for arguments in load_study(name).cells(False, 0).values():
            agent = load_agent(arguments["agent"])
            if isinstance(agent, Epimc) and agent.subgame == 0:  # recorded paths have the room that the budget needs
                budgets += 1
                assert agent.iterations * (agent.depth or 4) <= (agent.memory or 1_000_000)
    assert budgets > 100


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
