"""What the README shows is what happens."""

import re
from pathlib import Path

import pytest

README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")


def test_the_readmes_python_runs(capsys):
    blocks = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert blocks
    for block in blocks:
        exec(compile(block, "README.md", "exec"), {"__name__": "readme"})
    assert "you are o" in capsys.readouterr().out


@pytest.mark.parametrize(("name", "blocks"), [("beliefs", 3), ("search", 2)])  # others have tests of their own
def test_the_python_of_the_docs_runs(name, blocks):
    text = (Path(__file__).parent.parent / "docs" / f"{name}.md").read_text(encoding="utf-8")
    found = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len(found) == blocks
    together = {"__name__": name}
    for block in found:
        exec(compile(block, f"{name}.md", "exec"), together)


def test_the_bibliography_holds_every_key_that_is_cited():
    root = Path(__file__).parent.parent
    keys = set(re.findall(r"^@\w+\{(\w+),", (root / "papers.bib").read_text(encoding="utf-8"), re.MULTILINE))
    sources = [path.read_text(encoding="utf-8") for path in (root / "foglight").rglob("*.py")]
    cited = set(re.findall(r"\[([A-Z][a-z]+\d{4})[\],]", "\n".join(sources)))
    assert cited and cited <= keys
