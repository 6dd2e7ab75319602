"""The command line: one page for each command, from the command itself, with the lines of our pages that use it."""

import re
from typing import Any

import typer

from foglight.cli import app
from website.pages import FENCE

EXAMPLES = 8  # at most, of one command


def pages(guides: dict[str, str]) -> dict[str, str]:
    """Pages by their paths; `guides` are searched for examples."""
    top: Any = typer.main.get_command(app)
    shown = examples(guides)
    written = {f"commands/{name}.md": page(name, command, shown) for name, command in sorted(top.commands.items())}
    rows = [
        f"| [`{' '.join(words)}`]({words[1]}.md#{'--'.join(words)}) | {first(command.help)} |"
        for name, command in sorted(top.commands.items())
        for words, command in walk(["foglight", name], command)
    ]
    head = [
        "# Command line",
        "",
        "`foglight COMMAND --help` prints what these pages say. `--json` is for programs. Whatever takes long shows a",
        "bar, and a command that was stopped goes on where it stopped if it keeps a file.",
        "",
        "| command | what it does |",
        "|---|---|",
    ]
    return {"commands/index.md": "\n".join([*head, *rows, ""])} | written


def walk(words: list[str], command: Any) -> list[tuple[list[str], Any]]:
    """A command and all below it, with the words that name them."""
    below = sorted(getattr(command, "commands", {}).items())
    return [(words, command), *(found for name, one in below for found in walk([*words, name], one))]


def page(name: str, command: Any, shown: dict[str, list[str]]) -> str:
    parts = []
    for depth, (words, one) in enumerate(walk(["foglight", name], command)):
        title = " ".join(words)
        parts.append(f"{'##' if depth else '#'} {title} {{ #{'--'.join(words)} }}\n\n{one.help or ''}\n")
        if not hasattr(one, "commands"):
            parts.append(f"```text\n{title} {usage(one)}\n```\n")
            parts += [table("argument", one), table("option", one)]
            if shown.get(title):
                parts.append("From the guides:\n\n```sh\n" + "\n".join(shown[title][:EXAMPLES]) + "\n```\n")
    return "\n".join(parts)


def usage(command: Any) -> str:
    """What follows the command's name: arguments, options that must be given, the others."""
    needed = [f"{one.opts[0]} {kind(one, command)}" for one in command.params if one.required and not is_argument(one)]
    return " ".join([*(written(one) for one in command.params if is_argument(one)), *needed, "[OPTIONS]"])


def table(heading: str, command: Any) -> str:
    """The arguments or the options of a command, as `--help` has them; empty if there are none."""
    rows = []
    for one in command.params:
        if is_argument(one) == (heading == "argument") and not one.hidden:
            _, text = one.get_help_record(typer.Context(command))
            about, notes = re.fullmatch(r"(.*?)\s*(\[(?:default: .*|required|env var.*)\])?", text, re.S).groups()  # type: ignore[union-attr]
            name = f"`{written(one)}`" if heading == "argument" else option(one, command)
            rows.append(f"| {name} | {cell(about)} | {default(notes)} |")
    return "\n".join([f"| {heading} | meaning | default |", "|---|---|---|", *rows, ""]) if rows else ""


def is_argument(one: Any) -> bool:
    return bool(one.param_type_name == "argument")


def written(one: Any) -> str:
    """An argument as usage lines have it: GAME, [GAME] if it may be left out, MOVES... if there may be several."""
    word = str(one.metavar or one.name).strip("[].").upper() + ("..." if one.nargs == -1 else "")
    return word if one.required else f"[{word}]"


def option(one: Any, command: Any) -> str:
    names = ", ".join(f"`{name}`" for name in [*one.opts, *one.secondary_opts])
    return f"{names} {kind(one, command)}".strip()


def kind(one: Any, command: Any) -> str:
    """What follows an option: INT, PATH, ..., or nothing if it is a switch."""
    name, _ = one.get_help_record(typer.Context(command))
    found = re.search(r"<(?:list\[)?(\w+)", name)
    return {"STR": "TEXT", "INT": "NUMBER", "FLOAT": "NUMBER"}.get(found[1].upper(), found[1].upper()) if found else ""


def default(notes: str | None) -> str:
    if notes == "[required]":
        return "needed"
    found = re.search(r"default: ([^;\]]+)", notes or "")
    return f"`{found[1]}`" if found else ""


def cell(text: str) -> str:
    return " ".join(text.split()).replace("|", r"\|")


def first(text: str | None) -> str:
    return cell((text or "").split("\n\n")[0])


def examples(guides: dict[str, str]) -> dict[str, list[str]]:
    """The command lines of all pages, by the command that they call; each once."""
    found: dict[str, list[str]] = {}
    for text in guides.values():
        for match in FENCE.finditer(text):
            for line in match["code"].replace("\\\n    ", "").splitlines():
                words = line.removeprefix("$ ").split()
                if words[:1] == ["foglight"] and len(words) > 1:
                    for length in (2, 3):
                        lines = found.setdefault(" ".join(words[:length]), [])
                        plain = re.sub(r"\s{2,}#", "  #", line.removeprefix("$ "))
                        if not any(plain.split("  #")[0] == other.split("  #")[0] for other in lines):
                            lines.append(plain)
    return found
