"""The notebooks of `examples/` are the tutorials: the same text and code, without stored output, and they run."""

import importlib.util
import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
spec = importlib.util.spec_from_file_location("notebooks", ROOT / "examples" / "notebooks.py")
notebooks = importlib.util.module_from_spec(spec)
spec.loader.exec_module(notebooks)
WIDGETS = "application/vnd.jupyter.widget-state+json"
NAMES = [page.stem for page in notebooks.pages()]


def stored(name):
    return (ROOT / "examples" / f"{name}.ipynb").read_text(encoding="utf-8")


def cells(name, kind):
    return ["".join(cell["source"]) for cell in json.loads(stored(name))["cells"] if cell["cell_type"] == kind]


def test_there_is_a_notebook_for_each_tutorial_and_no_other():
    assert {path.stem for path in (ROOT / "examples").glob("*.ipynb")} == set(NAMES) and len(NAMES) == 9
    index = (ROOT / "docs" / "tutorials" / "index.md").read_text(encoding="utf-8")
    assert set(re.findall(r"`examples/(\w+)\.ipynb`", index)) == set(re.findall(r"\((\w+)\.md\)", index)) == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_is_its_page(name):
    """`python examples/notebooks.py` writes them."""
    page = (ROOT / "docs" / "tutorials" / f"{name}.md").read_text(encoding="utf-8")
    assert stored(name) == notebooks.notebook(ROOT / "docs" / "tutorials" / f"{name}.md")
    code = cells(name, "code")
    assert len(code) == page.count("\n```python") >= 4
    assert all(re.sub(r"^%%writefile .*\n", "", cell) in page for cell in code)
    assert not any("```python" in text for text in cells(name, "markdown"))
    assert {"Exercise", "Where next"} <= set(re.findall(r"^## (.*)$", page, re.MULTILINE))


@pytest.mark.parametrize("name", NAMES)
def test_links_of_a_notebook_lead_somewhere(name):
    links = [link for text in cells(name, "markdown") for link in re.findall(r"\]\(([^)\s#]+)", text)]
    assert len(links) >= 2
    for link in links:
        assert (ROOT / "examples" / link).exists(), link


def test_notebooks_are_notebooks():
    nbformat = pytest.importorskip("nbformat")
    for name in NAMES:
        nbformat.validate(json.loads(stored(name)))


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_runs(name, tmp_path):
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    made = nbformat.reads(stored(name), as_version=4)
    nbclient.NotebookClient(made, timeout=600, resources={"metadata": {"path": str(tmp_path)}}).execute()
    outputs = [output for cell in made.cells if cell.cell_type == "code" for output in cell.outputs]
    assert outputs and not any(output.output_type == "error" for output in outputs)


@pytest.mark.long
def test_a_kernel_shows_the_widget_and_keeps_the_truth():
    """In a real kernel: the cell has a view of the widget, and what a notebook saves of it has no card of the other."""
    pytest.importorskip("anywidget")
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    code = [
        "import foglight as fl\nfl.widget('kuhn_poker', 'first_legal', belief=True)",
        "cell = _\nlen(cell.observations)",
    ]
    made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in code])
    nbclient.NotebookClient(made, timeout=300).execute()
    shown, seen = made.cells[0].outputs[-1].data, made.cells[1].outputs[-1].data["text/plain"]
    assert "application/vnd.jupyter.widget-view+json" in shown and seen == "1"
    (state,) = (
        kept["state"] for kept in made.metadata["widgets"][WIDGETS]["state"].values() if "view" in kept["state"]
    )
    assert state["view"]["turn"] == "yours" and state["view"]["over"] is None
    assert state["belief"]["places"][1]["contents"][0][1] == 0.5
