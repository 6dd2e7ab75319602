"""A release: its version is said once, its metadata is complete, and one commit gives one wheel."""

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.version import Version

import foglight as fl
from foglight.version import RESULTS_VERSION

ROOT = Path(__file__).parent.parent


def test_the_version_is_the_same_everywhere():
    assert re.fullmatch(r"\d+\.\d+\.\d+", fl.__version__)
    assert f"\nversion: {fl.__version__}\n" in (ROOT / "CITATION.cff").read_text()
    assert Version(RESULTS_VERSION) <= Version(fl.__version__)


def test_the_stability_page_says_whose_results_these_are():
    page = (ROOT / "docs" / "stability.md").read_text()
    assert f"Version {fl.__version__} has the results of {RESULTS_VERSION}." in page


def test_every_python_that_is_promised_is_a_classifier():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    least = int(project["requires-python"].removeprefix(">=3."))
    promised = [f"Programming Language :: Python :: 3.{minor}" for minor in range(least, 15)]
    assert [line for line in project["classifiers"] if ":: 3." in line] == promised and "urls" not in project


@pytest.mark.long
@pytest.mark.skipif(shutil.which("git") is None or not (ROOT / ".git").exists(), reason="builds a commit")
def test_two_builds_of_one_commit_are_the_same_bytes(tmp_path):
    command = [sys.executable, str(ROOT / "tests" / "distribution.py"), "--into", str(tmp_path / "dist")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert sorted(path.suffix for path in (tmp_path / "dist").iterdir()) == [".gz", ".whl"]
