"""The public surface: every name of `foglight.__all__` is there, says what it is, and shows how it is used."""

import doctest
import inspect
import re
from pathlib import Path

import numpy as np
import pytest

import foglight as fl

ROOT = Path(fl.__file__).parent.parent
CONSTANTS = ["CHANCE", "NOTHING", "PUBLIC", "TERMINAL", "__version__"]
SHOWN = [name for name in fl.__all__ if name not in CONSTANTS]
NEEDS = {
    "as_openspiel_bot": "pyspiel",
    "openspiel_resampler": "pyspiel",
    "register_with_openspiel": "pyspiel",
    "draw_tournament": "matplotlib",
    "draw_win_rates": "matplotlib",
}
NEEDS |= dict.fromkeys(("Network", "TrainingSettings", "Training"), "torch")


def test_all_names_are_counted():
    assert len(SHOWN) == len(set(SHOWN)) > 80


@pytest.mark.parametrize("name", SHOWN)
def test_a_public_name_shows_how_it_is_used(name):
    if name in NEEDS:
        pytest.importorskip(NEEDS[name])
    thing = getattr(fl, name)
    assert inspect.isclass(thing) or inspect.isfunction(thing)
    text = thing.__doc__ or ""
    examples = doctest.DocTestParser().get_examples(text)
    assert examples, f"fl.{name} has no example"
    assert any(f"fl.{name}" in example.source for example in examples) or name in RESULTS, f"no example uses fl.{name}"
    test = doctest.DocTest(examples, {"fl": fl, "np": np}, f"fl.{name}", None, None, text)
    complaints = []
    result = doctest.DocTestRunner().run(test, out=complaints.append)
    assert result.attempted == len(examples) > 0
    assert result.failed == 0, "".join(complaints)


# what other functions give; their examples show who gives it
RESULTS = [
    "Analysis",
    "Bound",
    "Checks",
    "Drawing",
    "Explanation",
    "HistoryFilter",
    "IllegalAction",
    "Marginals",
    "MatchResult",
    "PolicyTable",
    "Rating",
    "Review",
    "State",
    "Tournament",
    "Worlds",
]


def test_constants_are_what_rules_use():
    assert all(type(getattr(fl, name)) is int for name in CONSTANTS[:4]) and type(fl.__version__) is str


def test_names_imported_later_are_seen_from_the_start():
    assert set(fl.__all__) <= set(dir(fl))
    later = [name for names in fl._LATER.values() for name in names]
    assert len(later) == len(set(later)) > 15 and set(later) <= set(fl.__all__)
    with pytest.raises(AttributeError, match="module 'foglight' has no attribute 'nothing'"):
        fl.nothing  # noqa: B018


def test_the_docs_import_from_submodules_only_what_is_not_public():
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
    imports = 0
    for page in pages:
        for names in re.findall(r"from foglight\.\S+ import (.*)", page.read_text(encoding="utf-8")):
            imports += 1
            public = {name.strip() for name in names.split(",")} & set(fl.__all__)
            assert not public, f"{page.name} imports {public} from a submodule; write fl.NAME"
    assert len(pages) > 10 and imports > 0
