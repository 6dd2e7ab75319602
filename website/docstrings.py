"""A function or a class in Markdown: its call, its docstring, and the comments beside its fields."""

import ast
import inspect
import re
import textwrap
from inspect import Parameter
from typing import Any

WIDTH = 88  # characters of a call on one line
STARS: dict[Any, str] = {Parameter.VAR_POSITIONAL: "*", Parameter.VAR_KEYWORD: "**"}


def code(name: str, thing: Any, bound: bool = False) -> str:
    """The call as a code block, on one line or one line for each parameter."""
    if inspect.isclass(thing) and issubclass(thing, BaseException):
        return f"```python\nclass {name}({thing.__bases__[0].__name__})\n```\n"
    try:
        signature = inspect.signature(thing)
    except (TypeError, ValueError):
        return ""
    chosen = list(signature.parameters.values())[1 if bound else 0 :]
    if inspect.isclass(thing) and [one.kind for one in chosen] == [
        inspect.Parameter.VAR_POSITIONAL,
        inspect.Parameter.VAR_KEYWORD,
    ]:
        return f"```python\nclass {name}\n```\n"  # nothing to call: a protocol
    result = signature.return_annotation
    gives = "" if result in (inspect.Signature.empty, None, "None") or inspect.isclass(thing) else f" -> {kind(result)}"
    texts = parameters(chosen)
    line = f"{name}({', '.join(texts)}){gives}"
    if len(line) > WIDTH:
        line = f"{name}(\n" + "".join(f"    {text},\n" for text in texts) + f"){gives}"
    return f"```python\n{line}\n```\n"


def parameters(chosen: list[inspect.Parameter]) -> list[str]:
    texts, starred = [], False
    for one in chosen:
        if one.kind is one.KEYWORD_ONLY and not starred:
            texts.append("*")
        starred = starred or one.kind in (one.KEYWORD_ONLY, one.VAR_POSITIONAL)
        text = STARS.get(one.kind, "") + one.name
        if one.annotation is not one.empty:
            text += f": {kind(one.annotation)}"
        if one.default is not one.empty:
            default = re.sub(r"<.* at 0x\w+>|<.*>", "...", repr(one.default))
            text += f" = {default}" if ":" in text else f"={default}"
        texts.append(text)
    return texts


def kind(annotation: Any) -> str:
    """A type as people write it: without modules, and without what only type checkers read."""
    bare = getattr(annotation, "__origin__", annotation) if hasattr(annotation, "__metadata__") else annotation
    text = bare if isinstance(bare, str) else inspect.formatannotation(bare)
    text = re.sub(r"~(\w+)", r"\1", text.replace("NoneType", "None"))
    return re.sub(r"\b(?:\w+\.)+(\w+)", r"\1", text)


def summary(text: str) -> str:
    """The first sentence."""
    paragraph = " ".join(inspect.cleandoc(text).split("\n\n")[0].split())
    found = re.match(r".*?\.(?=\s|$)", paragraph)
    return (found[0] if found else paragraph).replace("|", r"\|")


def prose(text: str) -> str:
    """A docstring as Markdown: paragraphs as they are, examples as code."""
    parts = []
    for paragraph in re.split(r"\n\s*\n", inspect.cleandoc(text)):
        lines = textwrap.dedent(paragraph).split("\n")
        start = next((i for i, line in enumerate(lines) if line.lstrip().startswith(">>> ")), len(lines))
        if start:
            parts.append("\n".join(line.strip() for line in lines[:start]))
        if start < len(lines):
            parts.append("```pycon\n" + textwrap.dedent("\n".join(lines[start:])) + "\n```")
    return "\n\n".join(parts) + "\n" if parts else ""


def comments(thing: type) -> dict[str, str]:
    """What the source says beside or above each field."""
    source = textwrap.dedent(inspect.getsource(thing))
    lines = source.split("\n")
    said = {}
    for node in ast.parse(source).body[0].body:  # type: ignore[attr-defined]
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.end_lineno is not None:
            beside = lines[node.end_lineno - 1].encode()[node.end_col_offset or 0 :].decode().partition("#")[2]
            said[node.target.id] = beside.strip()
    return said
