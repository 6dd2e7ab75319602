"""The mutation tester itself: it finds the mutants of a small function, kills what a test notices and nothing else."""

import os
import subprocess
import sys
from pathlib import Path

from mutants import Laboratory, Reach, sampled
from mutations import mutants

SOURCE = '''\
"""Sums of 3 things."""

__all__ = ["total"]


def total(numbers: list[int], most: int = 9) -> int:
    """All of them: 1 + 2."""
    if most < 0:
        raise ValueError(f"{most + 1} is too little")
    result = 0
    for i in range(len(numbers)):
        result += numbers[i]
        if result >= most:
            return most
    return result
'''
CHECK = """\
from small import total

def test_total():
    assert total([1, 2, 3]) == 6 and total([5, 5]) == 9 and total([]) == 0
"""


def test_the_mutants_of_a_small_function():
    found = {(m.line, m.operator, m.old, m.new) for m in mutants(SOURCE)}
    assert found == {
        (6, "integer", "9", "10"), (6, "integer", "9", "8"),
        (8, "comparison", "<", "<="), (8, "comparison", "<", ">="), (8, "integer", "0", "1"), (8, "integer", "0", "-1"),
        (10, "integer", "0", "1"), (10, "integer", "0", "-1"), (10, "removal", "result = 0", "pass"),
        (11, "range", "len(numbers)", "len(numbers) - 1"),
        (12, "arithmetic", "+=", "-="), (12, "removal", "result += numbers[i]", "pass"), (12, "index", "i", "i + 1"),
        (13, "comparison", ">=", ">"), (13, "comparison", ">=", "<"),
        (14, "returned", "return most", "return None"), (15, "returned", "return result", "return None"),
    }  # fmt: skip


def test_a_mutant_changes_one_place():
    for mutant in mutants(SOURCE):
        before, after = SOURCE.splitlines(), mutant.applied(SOURCE).splitlines()
        changed = [i for i, (a, b) in enumerate(zip(before, after, strict=True)) if a != b]
        assert changed == [mutant.line - 1]
        assert mutant.lines(SOURCE) == tuple(" ".join(lines[mutant.line - 1].split()) for lines in (before, after))


def test_operators_of_all_kinds():
    def changes(line):
        return {mutant.applied(line) for mutant in mutants(line)}

    assert changes("x = a and not b") == {"x = a or not b", "x = a and b"}
    assert changes("x = max(a, np.floor(b))") == {"x = min(a, np.floor(b))", "x = max(a, np.ceil(b))"}
    assert changes("x = (a) * (b)") == {"x = (a) / (b)"}
    assert changes("x = a[i, j:k]") == {"x = a[i + 1, j:k]", "x = a[i, j + 1:k]", "x = a[i, j:k + 1]"}
    assert changes("while a: break") == {"while not (a): break", "while a: pass", "while a: continue"}
    assert changes("x = 0.5 if a else True") == {
        "x = 1.0 if a else True", "x = 0.5 if not (a) else True", "x = 0.5 if a else False"
    }  # fmt: skip
    assert changes("x: list[int] | None = zip(a, b, strict=True)") == set()


def test_a_sample_follows_from_its_seed_and_a_larger_one_holds_it():
    few, more = sampled("a.py", SOURCE, 5, 1), sampled("a.py", SOURCE, 9, 1)
    assert more[:5] == few != sampled("a.py", SOURCE, 5, 2)
    assert sorted(sampled("a.py", SOURCE, 0, 1)) == mutants(SOURCE)


def test_what_a_test_notices_is_killed_and_what_is_equivalent_survives(tmp_path):
    """In a process of its own, because it forks."""
    root = tmp_path / "project"
    root.mkdir()
    (root / "small.py").write_text(SOURCE)
    (root / "test_small.py").write_text(CHECK)
    subprocess.run(["git", "init", "--quiet"], cwd=root, check=True)
    script = tmp_path / "script.py"
    script.write_text(f"from test_mutants import judge\njudge({str(root)!r})\n")
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])}
    done = subprocess.run([sys.executable, script], env=environment, capture_output=True, text=True)
    assert done.stdout.split() == ["survived:", "killed:test_small.py::test_total", "late:test_small.py::test_total"]
    assert (root / "small.py").read_text() == SOURCE


def judge(root):
    laboratory = Laboratory(Path(root), Path(root).parent / "laboratory", "small.py", Reach(["test_small.py"], False))
    laboratory.prepare()
    laboratory.patience = 1.0
    by_change = {(m.line, m.new): m for m in mutants(SOURCE)}
    endless = by_change[12, "pass"]._replace(new="while True: pass")
    for mutant in (by_change[13, ">"], by_change[11, "len(numbers) - 1"], endless):
        outcome = laboratory.verdict(mutant)
        sys.stdout.write(f"{outcome.verdict}:{outcome.by}\n")
