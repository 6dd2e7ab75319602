"""The report: verdicts follow from results by rules, and the page from the stored data."""

import json
import math
import re
from itertools import count, pairwise
from pathlib import Path

import numpy as np
import pytest

import foglight as fl
from foglight.studies import (
    Ledger,
    _matches,
    _report,
    _stored,
    epimc_fusion,
    epimc_rivals,
    filtering_burn_in,
    filtering_entropy,
    filtering_sizes,
    filtering_values,
    goofspiel_sizes,
    linear_targets,
    load_study,
    sparse_trunks,
    study_names,
    trunk_values,
)
from foglight.studies._claims import (
    IN_PART,
    NOT,
    NOT_TRIED,
    OWN,
    REPRODUCED,
    UNDECIDED,
    VERDICTS,
    Estimate,
    agrees,
    factor_of,
    judged,
    mean_of,
    median_of,
    ratio_of,
)

RESULTS = Path(__file__).parent.parent / "docs" / "results"
PAPERS = {study for paper in _report.PAPERS for studies in paper.sources.values() for study in studies}


# Rules ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parts", "verdict"),
    [
        ([True, True], REPRODUCED),
        ([True, False], IN_PART),
        ([True, None], IN_PART),
        ([False, None], NOT),
        ([False], NOT),
        ([None, None], UNDECIDED),
        ([], NOT_TRIED),
    ],
)
def test_a_verdict_follows_from_parts(parts, verdict):
    assert judged(parts) == judged(iter(parts)) == verdict


def test_intervals_by_hand():
    # mean 2, standard deviation 1, and 4.3027 is the 97.5 % point of Student's distribution with 2 degrees of freedom
    assert mean_of([1, 2, 3]) == pytest.approx((2, 2 - 4.3027 / 3**0.5, 2 + 4.3027 / 3**0.5), abs=1e-4)
    assert mean_of([5.0]) == (5, -math.inf, math.inf)
    assert ratio_of([2, 4, 6], [1, 2, 3]) == pytest.approx((2, 2, 2))  # every pair has the same ratio
    assert factor_of([8, 2], [2, 2]).value == pytest.approx(2)  # the geometric mean of 4 and 1
    # of 6 values the median lies between the least and the greatest with a probability of 1 - 2 / 64
    assert median_of([5, 1, 9, 3, 7, 11]) == (6, 1, 11)
    assert agrees((1.0, 0.1), (1.27, 0.1)) and not agrees((1.0, 0.1), (1.29, 0.1))  # 1.96 * 0.1414 = 0.277
    assert agrees((1.0, 0.1), (1.29, 0.1), of=9) and agrees((1.0, math.nan), (9.0, 0.1)) is None


def test_an_interval_decides_or_leaves_open():
    one = Estimate(0.5, 0.4, 0.6)
    assert [one.above(limit) for limit in (0.3, 0.5, 0.7)] == [True, None, False]
    assert [one.below(limit) for limit in (0.3, 0.5, 0.7)] == [False, None, True]
    assert [one.near(target, 0.1) for target in (0.5, 0.55, 0.8)] == [True, None, False]


def test_the_difference_of_two_win_rates_is_newcombes():
    """The example of [Newcombe1998], method 10: 56 of 70 and 48 of 80 differ by 0.2, from 0.0524 to 0.3339."""
    point = {"game": "g", "ratio": 1, "agent": "a", "opponent": "b", "ms": [1, 1], "overruns": [0, 0]}
    results = {
        "1": {**point, "line": "x", "score": 56, "games": 70},
        "2": {**point, "line": "y", "score": 48, "games": 80},
    }
    lead = _matches.lead(results, "g", "x", "y")
    assert lead.points == pytest.approx((0.2, 0.0524, 0.3339), abs=1e-4)
    assert _matches.lead(results, "g", "x", "z") is None
    assert _matches.lead({**results, "2": {**results["2"], "games": _matches.ENOUGH - 1}}, "g", "x", "y") is None


def test_a_lead_is_taken_at_the_largest_ratio_with_enough_games():
    point = {"game": "g", "agent": "a", "opponent": "b", "ms": [1, 1], "overruns": [0, 0], "score": 30}
    games = {1: 200, 10: 100, 100: 10}
    results = {
        f"{line} {ratio}": {**point, "line": line, "ratio": ratio, "games": played}
        for line in "xy"
        for ratio, played in games.items()
    }
    assert _matches.lead(results, "g", "x", "y").ratio == 10
    assert _matches.lead(results, "g", "x", "y", 1).ratio == 1 and _matches.lead(results, "g", "x", "y", 100) is None


# Synthetic results: in the first the paper holds, in the second the opposite ------------------------------------------


def spread(mean, error, runs):
    """Numbers with this mean and this standard error."""
    return mean + error * runs**0.5 * np.sqrt((runs - 1) / runs) * np.resize([1, -1], runs)


def sizes(holds):
    return {str(size): {"counted": size, "enumerated": size + (not holds)} for size in filtering_sizes.SIZES}


def entropies(holds):
    results = {}
    for size, published in filtering_entropy.PUBLISHED.items():
        for i, bias in enumerate(filtering_entropy.BIASES):
            numbers = []
            for mean, error in (published[i], published[3 + i]):
                numbers.append(spread(mean if holds else 50 + i, error if holds else 0.01, 100))
            for run, (entropy, variance) in enumerate(zip(*numbers, strict=True)):
                results[f"{size} {bias} {run}"] = {"entropy": entropy, "variance": variance}
    return results


def sampled(holds):
    worth = {"true": 1.0, "importance": 2.0 if holds else 2.5, "gibbs": 1.1 if holds else 3.0}
    results = {}
    for policy in filtering_values.POLICIES:
        for size in filtering_sizes.SIZES:
            for run in range(10):
                results[f"{policy} {size} {run}"] = {name: [9.0, mean + 0.01 * run] for name, mean in worth.items()}
    return results


def burned(holds):
    of = {str(burn): [burn if holds else 1 / burn] * 7 for burn in filtering_burn_in.BURNS}
    return {
        f"{size} {run}": {burn: [one + 0.001 * run for one in errors] for burn, errors in of.items()}
        for size in filtering_sizes.SIZES
        for run in range(10)
    }


def layers(holds):
    return {
        str(n): {
            "variables": n,
            "clauses": 4 * n,
            "solver": 0.01,
            "enumeration": 1.0,
            "worlds": round((2.5 if holds else 1.5) ** n),
            "histories": [1],
        }
        for n in range(6, 12)
    }


def fused(holds):
    leaving = {name: float((name == "pimc") == holds) for name in epimc_fusion.AGENTS}
    results = {f"{name}, {i}": {"agent": name, "leave": share} for name, share in leaving.items() for i in range(5)}
    return results | {game: {"game": game, "fused": [3, 2, 0] if holds else [0, 2, 3]} for game in epimc_fusion.GAMES}


RATES = {  # by study, then by game and line: the win rate if the paper holds, and in the opposite case
    "epimc_depth": {
        (_matches.CARD_GAME, "depth 3"): (0.5, 0.8),
        (_matches.BATTLESHIP, "depth 3"): (0.5, 0.8),
        (_matches.DARK_CHESS, "depth 1"): (0.45, 0.9),
        (_matches.DARK_CHESS, "depth 2"): (0.65, 0.3),
        (_matches.DARK_CHESS, "depth 3"): (0.8, 0.3),
        (_matches.PHANTOM_TTT, "depth 3"): (0.8, 0.2),
        (_matches.DARK_HEX, "depth 2"): (0.5, 0.8),
        (_matches.DARK_HEX, "depth 3"): (0.8, 0.2),
    },
    "epimc_subgame": {
        (_matches.DARK_CHESS, "CFR+"): (0.3, 0.7),
        (_matches.PHANTOM_TTT, "CFR+"): (0.3, 0.7),
        (_matches.SMALL_HEX, "CFR+"): (0.7, 0.3),
    },
    "epimc_leaf": {
        (_matches.PHANTOM_TTT, "minimax"): (0.3, 0.7),
        (_matches.SMALL_HEX, "minimax"): (0.7, 0.3),
        (_matches.SMALL_HEX, "rollout"): (0.5, 0.9),
    },
    "epimc_rivals": {
        (game, line): rates
        for game in epimc_rivals.GAMES
        for line, rates in {
            "epimc, depth 3": (0.9, 0.1),
            "epimc, depth 2": (0.7, 0.1),
            "ismcts": (0.7, 0.3),
            "oos": (0.4, 0.6),
            "iimc": (0.4, 0.6),
            "random": (0.1, 0.6),
        }.items()
    },
}


def matches(study):
    def made(holds):
        results = {}
        for cell, arguments in load_study(study).cells(False, 0).items():
            rate = RATES[study].get((arguments["game"], arguments["line"]), (0.5, 0.5))[not holds]
            if holds and arguments["ratio"] == _matches.LARGEST and arguments["line"] == "depth 3":
                rate = 0.98
            results[cell] = {**arguments, "score": rate * arguments["games"], "ms": [1.0, 1.0], "overruns": [0, 0]}
        return results

    return made


def bounds(holds):
    results = {}
    for rounds, printed in goofspiel_sizes.PUBLISHED.items():
        histories, states = (float(number) * (1 if holds else 3) for number in printed)
        results[str(rounds)] = {"cards": 13, "rounds": rounds, "bound": histories, "bound_states": states}
    exact = {"cards": 4, "rounds": 1, "bound": 6, "bound_states": 4.9}
    return results | {"exact": {**exact, "histories": 6 if holds else 5, "states": 6, "seat_0": 3, "seat_1": 3}}


def losses(holds):
    curves = {
        "linear": [1, 1e-8, 1e-13, 1e-14] if holds else [1, 1e-2, 1e-3, 1e-3],
        "projection": [1, 1e-3, 1e-8, 1e-13] if holds else [1, 1e-2, 1e-3, 1e-3],
        "concatenation, 1 layer": [1, 1e-3, 1, 1e-3] if holds else [1, 1e-3, 1e-8, 1e-9],
        "concatenation, 2 layers": [1, 1e-3, 1e-4, 1e-4] if holds else [1, 1e-3, 1e-7, 1e-8],
    }
    assert list(curves) == list(linear_targets.VARIANTS)
    return {
        f"{variant}, {run}": {"variant": variant, "losses": curve, "every": 500}
        for variant, curve in curves.items()
        for run in range(3)
    }


def trunks(holds, **facts):
    worth = {  # exploitability and loss, at the first and the last mark
        "positional": ([1.0, 0.3], [1.0, 1e-4]) if holds else ([2.0, 0.2], [1.0, 1e-2]),
        "particle": ([2.0, 0.2], [1.0, 1e-1]) if holds else ([1.0, 0.3], [1.0, 1e-4]),
        "histories": ([1.0, 0.1], [1.0, 1e-4]),
    }
    results = {}
    for game in trunk_values.TRUNKS:
        for kind, (scores, errors) in worth.items():
            for run in range(6):
                one = {"game": game, "kind": kind, "exploitability": [score + 0.001 * run for score in scores]}
                results[f"{game}, {kind}, {run}"] = one | {"loss": errors, "steps": [1, 200], "epochs": 200, **facts}
    return results


def masses(holds):
    results = trunks(holds, mass=False)
    return results | {f"{cell} mass": {**one, "mass": True} for cell, one in results.items()}


def sparse(holds):
    n = len(sparse_trunks.FRACTIONS)
    curve = [0.12, 0.11, *[0.1] * (n - 2)] if holds else [0.3, 0.4, *[0.5] * (n - 3), 0.6]
    curve = curve if holds else [*curve[:3], 1.0, *curve[4:]]
    results = {}
    for game in trunk_values.TRUNKS:
        exact = curve if holds else [*[1.0] * (n - 1), 0.1]
        results[f"{game}, oracle"] = {"game": game, "kind": "oracle", "uniform": 0.42 if holds else 2.0}
        results[f"{game}, oracle"] |= {"exploitability": exact, "fractions": list(sparse_trunks.FRACTIONS)}
        for run in range(6):
            scores = [score + 0.0001 * run for score in curve]
            results[f"{game}, particle, {run}"] = {"game": game, "kind": "particle", "exploitability": scores}
    return results


def cached(holds):
    seconds = {"baseline": 10.0, "as published": 3.0 if holds else 12.0, "accelerated": 1.0, "exact": 1.0}
    one = {"game": "rbc", "depth": 3, "seconds": seconds, "leaves": seconds, "used": {}, "worlds": 3}
    off = {way: [0.0, 0.0, 0.0, 250.0] if holds else [400.0, 900.0] for way in seconds}
    positions = {f"rbc, depth 3, position {i}": {**one, "off": off} for i in range(6)}
    return {"first turn, depth 3": {**one, "off": off}} | positions


SYNTHETIC = {
    "filtering_sizes": sizes,
    "filtering_entropy": entropies,
    "filtering_values": sampled,
    "filtering_burn_in": burned,
    "sat_hardness": layers,
    "epimc_fusion": fused,
    **{study: matches(study) for study in RATES},
    "goofspiel_sizes": bounds,
    "linear_targets": losses,
    "trunk_values": trunks,
    "trunk_mass": masses,
    "sparse_trunks": sparse,
    "sketch_speedup": cached,
}


def verdicts(study, results):
    """The verdicts on tables and figures; formulas that are wrong on paper stay so, whatever the results."""
    return {one.statement: one.verdict for one in study.claims(results) if one.source and "Section" not in one.source}


def test_every_study_of_a_paper_has_synthetic_results():
    assert set(SYNTHETIC) == PAPERS


@pytest.mark.parametrize("name", SYNTHETIC)
def test_what_holds_is_reproduced_and_the_opposite_is_not(name):
    study = load_study(name)
    for holds, verdict in ((True, REPRODUCED), (False, NOT)):
        results = SYNTHETIC[name](holds)
        ours = verdicts(study, results)
        assert ours and set(ours.values()) == {verdict}, ours
        if "kept" in vars(study):
            assert study.claims(study.kept(results)) == study.claims(results)
            assert len(json.dumps(study.kept(results))) < len(json.dumps(results))


@pytest.mark.parametrize("name", ["epimc_leaf", "epimc_subgame", "epimc_rivals"])
def test_few_games_decide_nothing(name):
    study, numbers = load_study(name), count()
    results = {
        cell: {
            **arguments,
            "score": (0.5 + 0.01 * (next(numbers) % 2)) * 60,
            "games": 60,
            "ms": [1, 1],
            "overruns": [0, 0],
        }
        for cell, arguments in study.cells(True, 0).items()
    }
    assert set(verdicts(study, results).values()) == {UNDECIDED}
    few = {cell: {**result, "games": 10, "score": 5} for cell, result in results.items()}
    assert set(verdicts(study, few).values()) == {NOT_TRIED}


def test_a_paper_is_wrong_only_where_the_results_say_so():
    for name in ("goofspiel_sizes", "filtering_entropy"):
        study = load_study(name)
        assert not any(one.fault for one in study.claims(SYNTHETIC[name](True)))
    formula = {cell: {**goofspiel_sizes.work(13, rounds)} for cell, rounds in (("2", 2), ("6", 6), ("7", 7))}
    (bad,) = [one for one in goofspiel_sizes.claims(formula) if one.fault]
    assert (
        "143.499, printed 144" in bad.fault and "2.2e5 instead of 2.3e5" in bad.fault and bad.ours.startswith("4 of 6")
    )
    faults = [one for one in load_study("sketch_speedup").claims(cached(True)) if one.fault]
    assert len(faults) == 2 and {one.verdict for one in faults} == {NOT}


# The page -------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def runs():
    return _stored.all_stored(RESULTS / "data")


def test_the_page_is_what_its_data_give(runs):
    assert (RESULTS / "index.md").read_text(encoding="utf-8") == _report.page(runs), "run: foglight study report"


def test_every_study_has_claims_and_every_claim_its_place(runs):
    claims = [one for run in runs.values() for one in run.claims()]
    assert len(claims) > 40
    for one in claims:
        assert one.verdict in (VERDICTS if one.source else ("",))
        assert one.statement.endswith((".", "?")) and (one.why == "" or one.why.endswith("."))
    for name in study_names():
        assert "claims" in vars(load_study(name)), name
    shown = {(row["study"], row["statement"]) for row in _report.entries(runs)}
    for name, run in runs.items():
        assert all((name, one.statement) in shown for one in run.claims())


def published(text):
    """The tables and figures that a line names: `Figures 4 and 6` are two."""
    for kind, numbers in re.findall(
        r"(Table|Figure|Theorem|Appendix|Propositions)s? ?((?:[0-9C]| and | to |, )*)", text
    ):
        if kind == "Propositions":
            yield f"{kind} {numbers}"
        else:
            yield from (f"{kind} {number}" for number in re.findall(r"[0-9C]", numbers) or [""])


def test_every_published_table_and_figure_of_the_list_of_studies_is_on_the_page(runs):
    listed = set()
    for study, text in re.findall(
        r"^\| `(\w+)` \| (.*) \|$", (RESULTS.parent / "studies.md").read_text(), re.MULTILINE
    ):
        listed |= {(study, source.strip()) for source in published(re.sub(r"\(.*?\)", "", text))}
    shown = {
        (study, source) for paper in _report.PAPERS for source, several in paper.sources.items() for study in several
    }
    assert listed == shown and len(shown) == 19
    rows = {(row["study"], row["source"]) for row in _report.entries(runs)}
    for study, source in shown:
        assert any(study == other and where.startswith(source) for other, where in rows), (study, source)


def test_a_study_without_results_is_not_tried(runs):
    fewer = {name: run for name, run in runs.items() if name not in ("epimc_leaf", "filtering_large")}
    rows = [row for row in _report.entries(fewer) if row["study"] in ("epimc_leaf", "filtering_large")]
    assert [(row["source"], row["verdict"], row["run"]) for row in rows] == [
        ("Figure 4", NOT_TRIED, "not run"),
        (OWN, NOT_TRIED, "not run"),
    ]
    assert "| `epimc_leaf` | not run |" in _report.page(fewer)


# Data from runs -------------------------------------------------------------------------------------------------------


def write_run(folder, name, quick, made, share=1.0, seconds=2.0):
    """A ledger with this share of a study's cells; `made` gives a cell's result from its arguments."""
    form = "quick" if quick else "full"
    ledger = Ledger(folder / name / f"cells-{form}-0.jsonl")
    cells = load_study(name).cells(quick, 0)
    for cell, arguments in list(cells.items())[: round(share * len(cells))]:
        ledger.add(cell, made(arguments), seconds)


def drawn(arguments):
    return {**arguments, "score": arguments["games"] / 3, "ms": [1.0, 1.0], "overruns": [0, 0]}


def test_larger_runs_replace_smaller_ones_and_never_the_other_way(tmp_path):
    data = tmp_path / "data"
    write_run(tmp_path / "quick", "epimc_leaf", True, drawn)
    assert _stored.gather(tmp_path / "quick", data) == ["epimc_leaf"]
    run = _stored.stored("epimc_leaf", data)
    assert (run.form, run.cells, run.of, run.seconds, run.version) == ("quick", 16, 16, 32, fl.__version__)
    assert _stored.gather(tmp_path / "quick", data) == [], "nothing new"
    write_run(tmp_path / "few", "epimc_leaf", False, drawn, share=0.05)
    _stored.gather(tmp_path / "few", data)
    assert _stored.stored("epimc_leaf", data) == run, "too few cells of the full form"
    write_run(tmp_path / "many", "epimc_leaf", False, drawn, share=0.3)
    assert _stored.gather(tmp_path / "many", data) == ["epimc_leaf"]
    run = _stored.stored("epimc_leaf", data)
    assert run.form_text() == "full, 126 of 420 cells" and len(run.results) == 20, "blocks are joined"
    assert _stored.gather(tmp_path / "quick", data) == []
    assert _stored.stored("epimc_leaf", data) == run


def test_a_study_that_cannot_grow_needs_all_cells(tmp_path):
    write_run(tmp_path, "filtering_sizes", True, lambda arguments: {"counted": 1, "enumerated": 1}, share=0.7)
    assert _stored.gather(tmp_path, tmp_path / "data") == []


def test_results_of_other_agents_are_not_taken(tmp_path):
    write_run(tmp_path, "epimc_rivals", True, lambda arguments: drawn(arguments) | {"agent": "epimc(time=0.02)"})
    assert _stored.gather(tmp_path, tmp_path / "data") == []


def test_unknown_seconds_stay_unknown(tmp_path):
    write_run(tmp_path, "filtering_sizes", True, lambda arguments: {"counted": 1, "enumerated": 1})
    path = tmp_path / "filtering_sizes" / "cells-quick-0.jsonl"
    path.write_text(path.read_text().replace('"seconds": 2.0, ', ""))
    _stored.gather(tmp_path, tmp_path / "data")
    assert _stored.stored("filtering_sizes", tmp_path / "data").seconds is None


def test_the_command_writes_the_page_and_its_data(run, tmp_path):
    write_run(
        tmp_path / "runs",
        "filtering_sizes",
        True,
        lambda arguments: dict.fromkeys(("counted", "enumerated"), arguments["size"]),
    )
    page = tmp_path / "new" / "page.md"
    code, out, _ = run("study", "report", "--runs", str(tmp_path / "runs"), "--to", str(page))
    assert code == 0 and "new data: filtering_sizes" in out and str(page) in out.replace("\n", "")
    assert "**reproduced** | `filtering_sizes`: quick" in page.read_text()
    code, out, _ = run("study", "report", "--to", str(page), "--json")
    rows = json.loads(out)
    assert code == 0 and len(rows) > 20
    assert [row["verdict"] for row in rows if row["source"] == "Table 1" and row["study"] == "filtering_sizes"] == [
        REPRODUCED
    ]


def test_bad_input_gets_one_line(run, tmp_path):
    for options, words in (
        (["--to", str(tmp_path / "page.md")], "there are no results in"),
        (["--runs", str(tmp_path / "nothing"), "--to", str(tmp_path / "page.md")], "there is no folder"),
    ):
        code, out, err = run("study", "report", *options)
        assert (code, out) == (2, "") and words in err and err.count("\n") == 1
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "filtering_sizes.json").write_text("{")
    code, _, err = run("study", "report", "--to", str(tmp_path / "page.md"))
    assert code == 2 and "cannot read" in err and err.count("\n") == 1


def test_verdicts_of_the_page_are_in_order_of_the_papers(runs):
    rows = [row for row in _report.entries(runs) if row["paper"]]
    places = [[paper.title for paper in _report.PAPERS].index(row["paper"]) for row in rows]
    assert len(places) > 30 and all(one <= other for one, other in pairwise(places))
