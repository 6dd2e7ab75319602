"""Which mutants a module has: small changes of its source, each of which some test should notice.

A mutant replaces one segment of the source, so that all other lines stay as they are. Left alone are docstrings,
annotations, decorators, imports, `__all__`, errors with their messages, and text in f-strings.
"""

import ast
import functools
from collections.abc import Iterator
from typing import NamedTuple

_ARITHMETIC = {
    ast.Add: ("+", "-"), ast.Sub: ("-", "+"), ast.Mult: ("*", "/"), ast.Div: ("/", "*"), ast.FloorDiv: ("//", "*"),
    ast.Mod: ("%", "*"), ast.Pow: ("**", "*"), ast.LShift: ("<<", ">>"), ast.RShift: (">>", "<<"),
    ast.BitAnd: ("&", "|"), ast.BitOr: ("|", "&"), ast.BitXor: ("^", "|"), ast.MatMult: ("@", "*"),
}  # fmt: skip
_COMPARISON = {
    ast.Lt: ("<", ("<=", ">=")), ast.LtE: ("<=", ("<", ">")), ast.Gt: (">", (">=", "<=")), ast.GtE: (">=", (">", "<")),
    ast.Eq: ("==", ("!=",)), ast.NotEq: ("!=", ("==",)), ast.Is: ("is", ("is not",)), ast.IsNot: ("is not", ("is",)),
    ast.In: ("in", ("not in",)), ast.NotIn: ("not in", ("in",)),
}  # fmt: skip
_PAIRS = (
    ("min", "max"), ("minimum", "maximum"), ("argmin", "argmax"), ("any", "all"), ("floor", "ceil"), ("zeros", "ones"),
    ("fmin", "fmax"), ("left", "right"), ("append", "appendleft"),
)  # fmt: skip
_SWAPPED = {a: b for pair in _PAIRS for a, b in (pair, pair[::-1])}


class Mutant(NamedTuple):
    """One change of a source: the bytes from `begin` to `end` become `new`."""

    line: int
    column: int
    operator: str
    begin: int
    end: int
    old: str
    new: str

    @property
    def name(self) -> str:
        return f"{self.line}:{self.column} {self.operator}: {_one_line(self.old)} -> {_one_line(self.new)}"

    def applied(self, source: str) -> str:
        text = source.encode()
        return (text[: self.begin] + self.new.encode() + text[self.end :]).decode()

    def function(self, source: str) -> str:
        """The name of the innermost function around it, or nothing."""
        around = [
            node
            for node in ast.walk(ast.parse(source))
            if isinstance(node, ast.FunctionDef) and node.lineno <= self.line <= (node.end_lineno or 0)
        ]
        return max(around, key=lambda node: node.lineno).name if around else ""

    def lines(self, source: str) -> tuple[str, str]:
        """What is changed as it stands in the source, and what it becomes: whole lines, written as one."""
        text = source.encode()
        first = text.rfind(b"\n", 0, self.begin) + 1
        last = text.find(b"\n", self.end)
        last = len(text) if last < 0 else last
        before, after = text[first : self.begin].decode(), text[self.end : last].decode()
        return _one_line(before + self.old + after), _one_line(before + self.new + after)


@functools.cache
def mutants(source: str) -> list[Mutant]:
    """All mutants, in the order of the source; each is valid Python and differs from the source and all others."""
    tree = ast.parse(source)
    original = ast.dump(tree)
    found: dict[str, Mutant] = {}
    for mutant in _Walk(source).all_in(tree):
        changed = mutant.applied(source)
        try:
            shape = ast.dump(ast.parse(changed))
        except SyntaxError:
            continue
        if shape != original:
            found.setdefault(shape, mutant)
    return sorted(found.values())


class _Walk:
    def __init__(self, source: str) -> None:
        self.text = source.encode()
        lines = self.text.split(b"\n")
        self.starts = [0]
        for line in lines:
            self.starts.append(self.starts[-1] + len(line) + 1)

    def all_in(self, node: ast.AST, function: ast.AST | None = None) -> Iterator[Mutant]:
        if isinstance(node, ast.Import | ast.ImportFrom | ast.Raise | ast.JoinedStr | ast.Assert):
            return
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            return
        if isinstance(node, ast.Assign) and any(getattr(target, "id", "") == "__all__" for target in node.targets):
            return
        if isinstance(node, ast.FunctionDef):
            function = node
        yield from self.here(node, function)
        for name, value in ast.iter_fields(node):
            if name in ("annotation", "returns", "decorator_list", "bases"):
                continue
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.keyword) and child.arg == "strict":
                    continue
                if isinstance(child, ast.AST):
                    yield from self.all_in(child, function)

    def here(self, node: ast.AST, function: ast.AST | None) -> Iterator[Mutant]:
        match node:
            case ast.Compare():
                operands = [node.left, *node.comparators]
                for left, op, right in zip(operands, node.ops, operands[1:], strict=False):
                    old, others = _COMPARISON[type(op)]
                    for new in others:
                        yield from self.between("comparison", left, right, old, new)
            case ast.BinOp():
                yield from self.between("arithmetic", node.left, node.right, *_ARITHMETIC[type(node.op)])
            case ast.BoolOp():
                words = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
                for left, right in zip(node.values, node.values[1:], strict=False):
                    yield from self.between("logic", left, right, *words)
            case ast.UnaryOp(op=ast.Not() | ast.USub()):
                yield self.swap("sign", node, self.segment(node.operand))
            case ast.AugAssign():
                old, new = _ARITHMETIC[type(node.op)]
                yield from self.between("arithmetic", node.target, node.value, old + "=", new + "=")
                yield self.swap("removal", node, "pass")
            case ast.Constant(value=bool()):
                yield self.swap("truth", node, str(not node.value))
            case ast.Constant(value=int()):
                for new in (node.value + 1, node.value - 1):
                    yield self.swap("integer", node, str(new))
            case ast.Constant(value=float()):
                yield self.swap("float", node, {0.0: "1.0", 1.0: "0.0"}.get(node.value, repr(2 * node.value)))
                if node.value == 1.0:
                    yield self.swap("float", node, "2.0")
            case ast.Constant(value=str()) if node.value in _SWAPPED:
                yield self.swap("name", node, repr(_SWAPPED[node.value]))
            case ast.Name() if node.id in _SWAPPED:
                yield self.swap("name", node, _SWAPPED[node.id])
            case ast.Attribute() if node.attr in _SWAPPED:
                end = self.span(node)[1]
                yield self.replace("name", end - len(node.attr), end, _SWAPPED[node.attr])
            case ast.If() | ast.While() | ast.IfExp() | ast.comprehension():
                for test in node.ifs if isinstance(node, ast.comprehension) else [node.test]:
                    if not isinstance(test, ast.Compare) or len(test.ops) > 1:  # its comparison is negated anyway
                        yield self.swap("condition", test, f"not ({self.segment(test)})")
            case ast.Break():
                yield self.swap("loop", node, "pass")
                yield self.swap("loop", node, "continue")
            case ast.Continue():
                yield self.swap("loop", node, "pass")
                yield self.swap("loop", node, "break")
            case ast.Return() if node.value is not None:
                yield self.swap("returned", node, "return None")
            case ast.Expr():
                yield self.swap("removal", node, "pass")
            case ast.Assign() if function is not None and not self.only_assignment(node, function):
                yield self.swap("removal", node, "pass")
            case ast.Subscript():
                parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
                for part in parts:
                    bounds = [part.lower, part.upper] if isinstance(part, ast.Slice) else [part]
                    for bound in bounds:
                        if isinstance(bound, ast.Name) and not bound.id[0].isupper():
                            yield self.swap("index", bound, f"{bound.id} + 1")
            case ast.Call(func=ast.Name(id="range")):
                stop = node.args[min(1, len(node.args) - 1)]
                if not isinstance(getattr(stop, "right", stop), ast.Constant):  # that is changed by 1 anyway
                    yield self.swap("range", stop, f"{self.segment(stop)} - 1")

    def only_assignment(self, node: ast.Assign, function: ast.AST) -> bool:
        """Whether a name would be undefined without it: any run that comes there would fail."""
        names = {part.id for target in node.targets for part in ast.walk(target) if _is_stored(part)}
        for other in ast.walk(function):
            if other is not node and isinstance(other, ast.Assign | ast.AugAssign | ast.AnnAssign | ast.For | ast.With):
                targets = getattr(other, "targets", None) or [getattr(other, "target", None)]
                names -= {part.id for target in targets if target for part in ast.walk(target) if _is_stored(part)}
        return bool(names - {part.arg for part in ast.walk(function) if isinstance(part, ast.arg)})

    def span(self, node: ast.AST) -> tuple[int, int]:
        return (
            self.starts[node.lineno - 1] + node.col_offset,  # type: ignore[attr-defined]
            self.starts[node.end_lineno - 1] + node.end_col_offset,  # type: ignore[attr-defined]
        )

    def segment(self, node: ast.AST) -> str:
        begin, end = self.span(node)
        return self.text[begin:end].decode()

    def swap(self, operator: str, node: ast.AST, new: str) -> Mutant:
        return self.replace(operator, *self.span(node), new)

    def between(self, operator: str, left: ast.AST, right: ast.AST, old: str, new: str) -> Iterator[Mutant]:
        begin, end = self.span(left)[1], self.span(right)[0]
        at = self.text.find(old.encode(), begin, end)
        if at >= 0:
            yield self.replace(operator, at, at + len(old), new)

    def replace(self, operator: str, begin: int, end: int, new: str) -> Mutant:
        line = self.text.count(b"\n", 0, begin) + 1
        column = begin - self.starts[line - 1]
        return Mutant(line, column, operator, begin, end, self.text[begin:end].decode(), new)


def _is_stored(part: ast.AST) -> bool:
    return isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)


def _one_line(text: str) -> str:
    return " ".join(text.split())
