"""Every function outside kernels says what it takes and gives."""

import ast
from pathlib import Path

import foglight as fl

PACKAGE = Path(fl.__file__).parent
COMPILED = {"jit", "kernel", "jitable", "implements", "required", "optional", "compiled_twin", "allocates"}


def decorators(function):
    for decorator in function.decorator_list:
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        yield called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")


def compiled_by_name(tree):
    """Functions that are handed to Numba elsewhere: the Python halves of twins, and rules shared by several games."""
    names = set()
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in {"compiled_twin", "overload"}
        ):
            names |= {argument.id for argument in node.args if isinstance(argument, ast.Name)}
        if isinstance(node, ast.For) and any(isinstance(n, ast.Name) and n.id == "implements" for n in ast.walk(node)):
            names |= {rule.id for rule in getattr(node.iter, "elts", []) if isinstance(rule, ast.Name)}
    return names


def unannotated(tree):
    """Functions outside kernels, and those of them that lack an annotation."""
    known, every, bare, front = compiled_by_name(tree), 0, [], [tree]
    while front:
        for node in ast.iter_child_nodes(front.pop()):
            if isinstance(node, ast.FunctionDef):
                if node.name in known or COMPILED.intersection(decorators(node)):
                    continue
                every += 1
                given = node.args
                arguments = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
                missing = [a.arg for a in arguments if a and a.annotation is None and a.arg not in ("self", "cls")]
                if missing or node.returns is None:
                    bare.append(f"{node.name} (line {node.lineno})")
            front.append(node)
    return every, bare


def test_every_function_outside_kernels_is_annotated():
    checked = 0
    for path in sorted(PACKAGE.rglob("*.py")):
        every, bare = unannotated(ast.parse(path.read_text(encoding="utf-8")))
        checked += every
        assert not bare, f"{path.relative_to(PACKAGE)}: {', '.join(bare)}"
    assert checked > 1000


def test_a_missing_annotation_is_noticed():
    plain = "def f(a: int, *rest: int) -> int:\n    return a\n"
    assert unannotated(ast.parse(plain)) == (1, [])
    for broken in (plain.replace("a: int", "a"), plain.replace("rest: int", "rest"), plain.replace(" -> int", "")):
        assert unannotated(ast.parse(broken)) == (1, ["f (line 1)"])
    assert unannotated(ast.parse("@kernel\ndef f(a):\n    pass\n")) == (0, [])


def test_types_are_shipped():
    assert (PACKAGE / "py.typed").is_file()
