"""What the README shows is what happens."""

import re
from pathlib import Path

README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")


def test_the_readmes_python_runs(capsys):
    blocks = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert blocks
    for block in blocks:
        exec(compile(block, "README.md", "exec"), {"__name__": "readme"})
    assert "you are o" in capsys.readouterr().out


def test_the_bibliography_holds_every_key_that_is_cited():
    root = Path(__file__).parent.parent
    keys = set(re.findall(r"^@\w+\{(\w+),", (root / "papers.bib").read_text(encoding="utf-8"), re.MULTILINE))
    sources = [path.read_text(encoding="utf-8") for path in (root / "foglight").rglob("*.py")]
    cited = set(re.findall(r"\[([A-Z][a-z]+\d{4})[\],]", "\n".join(sources)))
    assert cited and cited <= keys
