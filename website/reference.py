"""The reference: every public name of `fl` with its signature, its text and its example, from docstrings.

A name is put on the page of the room that it comes from, so that a new name finds its page by itself. We read
docstrings ourselves, because they have no sections to parse, and many names are imported at their first use only: tools
that read source files do not see them.
"""

import inspect
import re
from typing import Any

import foglight as fl
from website.docstrings import code, comments, kind, prose, summary

GROUPS = {  # page: title, what it is about, rooms
    "games": (
        "Games and states",
        "Load a game, play it move by move, draw it, play it out at random.",
        ("foglight.games", "foglight.state", "foglight.playouts", "foglight.drawing"),
    ),
    "writing": (
        "Writing a game",
        "What the file of a game uses.",
        ("foglight.rules", "foglight.compile", "foglight.names"),
    ),
    "beliefs": ("Beliefs", "What may be true, given what a seat has observed.", ("foglight.worlds",)),
    "agents": (
        "Agents and search",
        "Players, their reasons, and verdicts on their moves.",
        ("foglight.agents", "foglight.analysis", "foglight.hindsight", "foglight.search", "foglight.blind_chess"),
    ),
    "policies": ("Policies", "Probabilities of actions, by information state.", ("foglight.policies",)),
    "solving": (
        "Solving",
        "Equilibria, best responses and exploitability of whole games.",
        ("foglight.solving", "foglight.exploiting"),
    ),
    "depth_limited": (
        "Depth-limited solving",
        "Trunks, evaluators at their leaves, and solving again from a public state.",
        ("foglight.solving.depth_limited",),
    ),
    "values": ("Value networks", "Data sets and training.", ("foglight.values",)),
    "arena": ("Matches and ratings", "Games between agents, counted.", ("foglight.arena",)),
    "checks": ("Checks", "What every game and every agent owes.", ("foglight.checks",)),
    "libraries": ("Other libraries", "Games and agents there and back.", ("foglight.bridges",)),
    "further": ("Further", "What belongs to none of these.", ("foglight",)),
}
PLACED = {"BadInput": "games", "play": "games", "agent_policy": "policies"}  # where the room would mislead
CONSTANTS = {
    "CHANCE": "The player of a state in which chance moves.",
    "TERMINAL": "The player of a state in which the game is over.",
    "PUBLIC": "The viewer who sees what everybody sees.",
    "NOTHING": "The observation of a viewer who does not notice that anything happened.",
    "__version__": "The version of the library.",
}
INDEX = """# Reference

Every public name, after `import foglight as fl`, from the docstrings of this version. Beside it:

- [every game](all_games.md) with its rules, its parameters and a picture;
- [every agent](all_agents.md) with its options;
- [every rule of a game](rules.md) and what it must do;
- the [command line](../commands/index.md), option by option.
"""


def pages(guides: dict[str, str]) -> dict[str, str]:
    """Pages by their paths; `guides` are searched for uses of each name."""
    grouped: dict[str, list[str]] = {}
    for name in fl.__all__:
        grouped.setdefault(group_of(name), []).append(name)
    order = [group for group in GROUPS if group in grouped]
    written = {f"reference/{group}.md": page(group, sorted(grouped[group], key=order_of), guides) for group in order}
    index = [INDEX]
    for group in order:
        title, about, _ = GROUPS[group]
        index += [f"## [{title}]({group}.md)", "", about, "", "| name | what it is |", "|---|---|"]
        index += [row(name, f"{group}.md") for name in sorted(grouped[group], key=order_of)]
        index.append("")
    return {"reference/index.md": "\n".join(index)} | written


def group_of(name: str) -> str:
    """The page of a name: that of the longest room which its module is in."""
    if is_constant(name):
        return "games"
    module = f"{getattr(fl, name).__module__}."
    if module == "foglight.":
        return PLACED.get(name, "libraries")  # what is defined in the first file needs a library that may be missing
    rooms = {room: group for group, (_, _, rooms) in GROUPS.items() for room in rooms}
    return PLACED.get(name) or rooms[max((room for room in rooms if module.startswith(f"{room}.")), key=len)]


def order_of(name: str) -> tuple[bool, bool, str]:
    """Functions first, then classes, then constants; by the alphabet."""
    return is_constant(name), inspect.isclass(getattr(fl, name)), name.lower()


def is_constant(name: str) -> bool:
    return not hasattr(getattr(fl, name), "__module__")


def row(name: str, page: str = "") -> str:
    text = CONSTANTS.get(name, "") if is_constant(name) else summary(getattr(fl, name).__doc__ or "")
    return f"| [`fl.{name}`]({page}#{anchor(name)}) | {text} |"


def anchor(name: str) -> str:
    """Without the underscores of `__version__`, which Markdown would take for emphasis."""
    return f"fl.{name.strip('_')}"


def page(group: str, names: list[str], guides: dict[str, str]) -> str:
    title, about, _ = GROUPS[group]
    head = [f"# {title}", "", about, "", "| name | what it is |", "|---|---|", *map(row, names), ""]
    return "\n".join([*head, *(entry(name, guides) for name in names)])


def entry(name: str, guides: dict[str, str]) -> str:
    thing = getattr(fl, name)
    heading = f"## `fl.{name}` {{ #{anchor(name)} }}\n"
    if is_constant(name):
        return f"{heading}\n{CONSTANTS.get(name, '')} Its value is `{thing!r}`.\n"
    parts = [heading, code(f"fl.{name}", thing), prose(thing.__doc__ or ""), used(name, guides)]
    if inspect.isclass(thing):
        parts += [fields(thing), *members(name, thing)]
    return "\n".join(part for part in parts if part)


def used(name: str, guides: dict[str, str]) -> str:
    """Links to the guides that use a name."""
    found = [path for path, text in guides.items() if re.search(rf"\bfl\.{name}\b", text) and path != "changelog.md"]
    links = [f"[{title_of(guides[path])}](../{path})" for path in sorted(found, key=lambda path: ("/" in path, path))]
    return f"In the guides: {', '.join(links)}.\n" if links else ""


def title_of(text: str) -> str:
    return re.sub(r" \[\w+\]", "", re.search(r"^# (.*)$", text, re.M)[1].replace("`", ""))  # type: ignore[index]


def fields(thing: type) -> str:
    """The data of a class: names, types, and the comments beside them."""
    named = {name: value for name, value in vars(thing).get("__annotations__", {}).items() if not name.startswith("_")}
    if not named:
        return ""
    said = comments(thing)
    rows = ["| " + " | ".join(cells(name, value, said)) + " |" for name, value in named.items()]
    return "\n".join(["| field | type | meaning |", "|---|---|---|", *rows, ""])


def cells(name: str, annotation: Any, said: dict[str, str]) -> list[str]:
    """A field's name, type and meaning: the comment beside it, and the limits that it declares."""
    declared = [
        text if isinstance(text, str) else f"allowed: {text}" for text in getattr(annotation, "__metadata__", ())
    ]
    meaning = "; ".join(filter(None, [said.get(name, ""), *declared]))
    return [f"`{name}`", f"`{kind(annotation)}`", meaning.replace("|", r"\|")]


def members(name: str, thing: type) -> list[str]:
    """The methods and properties that a class adds, each with its text."""
    parts = []
    for own, value in vars(thing).items():
        if own.startswith("_") or own in vars(thing).get("__annotations__", {}):
            continue
        text = prose(inspect.getdoc(getattr(thing, own)) or "")  # that of the class above, if it has none of its own
        heading = f"### `{name}.{own}` {{ #fl.{name}.{own} }}\n"
        if isinstance(value, property):
            result = kind(inspect.signature(value.fget).return_annotation) if value.fget else ""
            parts += [heading, f"```python\n{own}: {result}\n```\n" if result != "_empty" else "", text]
        elif isinstance(value, classmethod | staticmethod) or inspect.isfunction(value):
            function = value.__func__ if isinstance(value, classmethod | staticmethod) else value
            parts += [heading, code(own, function, not isinstance(value, staticmethod)), text]
    return parts
