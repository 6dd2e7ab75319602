"""Every game, every agent and every rule of a game: what the library itself says about them."""

import ast
import inspect
import re
from typing import Any

import foglight as fl
from foglight import rules
from foglight.agents import agent_class
from foglight.games import game_class
from foglight.names import parameter_texts
from website.docstrings import prose

SECTION = re.compile(r"^# (.*?) -{5,}$")


def pages() -> dict[str, str]:
    return {
        "reference/all_games.md": games(),
        "reference/all_agents.md": agents(),
        "reference/rules.md": all_rules(),
    }


def native_games() -> list[str]:
    """Games of the library, without those that packages on this machine offer."""
    return [name for name in fl.game_names() if game_class(name).__module__.startswith("foglight.")]


def games() -> str:
    """A page with the rules, the parameters and a picture of each game."""
    parts = [
        "# Every game\n",
        "What `foglight games` says of each, with a position after a few random moves, as seat 0 sees it.",
        "[The games](../games.md) compares them, and says how they are checked.\n",
    ]
    for name in native_games():
        game = game_class(name)()
        parts += [
            f"## {name} {{ #game.{name} }}\n",
            f"{rules.title(game).capitalize()}. {rules.num_players(game)} seats.\n",
            f"![a position of {name}, as seat 0 sees it](../gallery/{name}.svg)\n",
            "\n".join(f"{line}  " for line in rules.how_to_play(game).splitlines()) + "\n",
            parameters(type(game), "parameter"),
            f"```sh\nfoglight play {name} --vs random\n```\n",
        ]
    return "\n".join(parts)


def agents() -> str:
    """A page with the options of each agent."""
    parts = [
        "# Every agent\n",
        "What `foglight agents` says of each. Options are written as in `epimc(depth=3,time=0.1)`.",
        "[Search](../search.md) says which one to take.\n",
    ]
    for name in fl.agent_names():
        made = agent_class(name)
        if made.__module__.startswith("foglight."):
            parts += [f"## {name} {{ #agent.{name} }}\n", prose(made.__doc__ or ""), parameters(made, "option")]
    return "\n".join(parts)


def parameters(made: Any, heading: str) -> str:
    rows = [
        f"| `{key}` | {text.meaning} | {text.allowed} | `{text.default}` |".replace("| `` |", "| |")
        for key, text in parameter_texts(made).items()
    ]
    head = [f"| {heading} | meaning | allowed | default |", "|---|---|---|---|"]
    return "\n".join([*head, *rows, ""]) if rows else ""


def all_rules() -> str:
    """A page with what each rule of a game must do, from `foglight/rules.py`."""
    source = inspect.getsource(rules)
    parts = [
        "# Every rule of a game\n",
        "What the functions under `fl.implements` must do. [Writing a game](../writing_games.md) has them in use.\n",
    ]
    sections = {number: found[1] for number, line in enumerate(source.split("\n"), 1) if (found := SECTION.match(line))}
    for node in ast.parse(source).body:
        kinds = {one.id for one in getattr(node, "decorator_list", []) if isinstance(one, ast.Name)}
        if isinstance(node, ast.FunctionDef) and kinds & {"required", "optional"}:
            for number in [number for number in sections if number < node.lineno]:
                parts.append(f"## {sections.pop(number)}\n")
            given = ", ".join(argument.arg for argument in node.args.args)
            kind = "Required." if "required" in kinds else "Optional."
            parts += [
                f"### `{node.name}` {{ #rule.{node.name} }}\n",
                f"```python\n{node.name}({given}) -> {ast.unparse(node.returns or ast.Constant(None))}\n```\n",
                f"{kind} {prose(ast.get_docstring(node) or '')}",
            ]
    return "\n".join(parts)
