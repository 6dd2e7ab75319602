"""The pages of the repository as pages of the site: where they go, and how their links, names and code are turned.

A page is written for two readers: on a code-hosting page, and on the site. Its links are relative to its file. On the
site README is the first page, and `docs/` is the root. There `fl.NAME`, `foglight COMMAND` and `[Key2024]` in a text
become links to reference, command line and bibliography, which exist only on the site.
"""

import os
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).parent.parent
MOVED = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "security.md",
}
FENCE = re.compile(
    r"^(?P<indent> *)(?P<ticks>```+)(?P<words>[^\n`]*)\n(?P<code>.*?)^(?P=indent)(?P=ticks)$", re.M | re.S
)
IMAGE = re.compile(r"(?P<before>!\[[^\]]*\]\()(?P<target>[^)\s]+)\)")
TEXT = r"(?:[^\[\]]|!?\[[^\[\]]*\](?:\([^)\s]*\))?)*"  # of a link, with a picture or brackets in it
LINK = re.compile(rf"(?P<before>(?<!!)\[{TEXT}\]\()(?P<target>[^)\s]+)\)")
NAMED = re.compile(  # a link, which is left alone; code within a text; a citation
    rf"!?\[{TEXT}\]\([^)\s]+\)"
    r"|(?<!`)`(?P<code>[^`\n]*[^`\s][^`\n]*)`(?!`)"
    r"|\[(?P<key>[A-Z][A-Za-z]+\d{4}[a-z]?)(?P<where>[,;][^\]\[]*)?\]"
)
ALONE = ["compared.md"]  # pages without neighbours, which have no use for a sidebar
WIDE = "---\nhide:\n  - navigation\n---\n\n"
ITEM = re.compile(r"^(?:[-*] |1\. )")


class Broken(Exception):
    """A page that cannot be shown as it is; one line says which and why."""


def sources() -> list[Path]:
    """The files that pages are made of."""
    return [*(ROOT / name for name in MOVED), *sorted((ROOT / "docs").rglob("*.md"))]


def site_path(path: Path) -> str:
    """Where a file of the repository is on the site."""
    name = path.relative_to(ROOT).as_posix()
    return MOVED.get(name) or (name.removeprefix("docs/") if name.startswith("docs/") else f"files/{name}")


def pages_of() -> dict[str, str]:
    """The text of each page, as it is in the repository, by its path on the site."""
    return {site_path(path): path.read_text(encoding="utf-8") for path in sources()}


def repository_path(page: str) -> Path:
    """The file in the repository that a page of the site was copied from."""
    back = {new: old for old, new in MOVED.items()}
    return ROOT / back.get(page, f"docs/{page}")


def copied(pages: dict[str, str], generated: dict[str, str]) -> tuple[dict[str, str], dict[str, Path]]:
    """All pages as the site needs them, and the other files that they link to, by their paths on the site."""
    names = names_of(generated)
    files: dict[str, Path] = {}
    texts = {name: page_text(name, text, names, files) for name, text in pages.items()}
    for name, text in generated.items():
        texts[name] = outside_fences(text, partial(named, page=name, names=names))
    return texts, files


def names_of(generated: dict[str, str]) -> dict[str, str]:
    """Where `fl.NAME`, `foglight COMMAND` and `Key2024` are explained: page and anchor by what is named."""
    return {
        anchor.replace("--", " ") if anchor.startswith("foglight") else anchor: f"{page}#{anchor}"
        for page, text in generated.items()
        for anchor in re.findall(r"^#+ .*\{ #(\S+) \}$", text, re.M)
    }


def page_text(name: str, text: str, names: dict[str, str], files: dict[str, Path]) -> str:
    source = repository_path(name)

    def turned(part: str) -> str:
        for kind in (LINK, IMAGE):
            part = kind.sub(lambda match: f"{match['before']}{target(match['target'])})", part)
        return named(spaced(bare_pipes(part)), name, names)

    def target(link: str) -> str:
        if re.match(r"[a-z]+:", link) or link.startswith("#"):
            return link
        path, _, anchor = link.partition("#")
        file = Path(os.path.normpath(source.parent / path))
        if not file.is_relative_to(ROOT) or not file.is_file():
            raise Broken(f"{source.relative_to(ROOT)} links to {link}, which is no file of the repository")
        place = site_path(file)
        if file.suffix != ".md":
            files[place] = file
        return relative(place, name) + (f"#{anchor}" if anchor else "")

    return WIDE + outside_fences(text, turned) if name in ALONE else outside_fences(text, turned)


def relative(place: str, page: str) -> str:
    """The way from one page to a place on the site."""
    return os.path.relpath(place, PurePosixPath(page).parent)


def outside_fences(text: str, turned: Callable[[str], str]) -> str:
    """The text with everything but code blocks turned; the words of a block are made fit for Zensical."""
    parts, end = [], 0
    for match in FENCE.finditer(text):
        parts += [turned(text[end : match.start()]), fence(match)]
        end = match.end()
    return "".join([*parts, turned(text[end:])])


def fence(match: re.Match[str]) -> str:
    """A code block: `python file=coin.py` gets a title, words that only our tests read go."""
    language, *words = match["words"].split() or [""]
    file = next((word.removeprefix("file=") for word in words if word.startswith("file=")), None)
    title = f' title="{file}"' if file else ""
    return f"{match['indent']}{match['ticks']}{language}{title}\n{match['code']}{match['indent']}{match['ticks']}"


def spaced(part: str) -> str:
    """With an empty line before a list: hosts of code do not need it, Python-Markdown does."""
    lines: list[str] = []
    for line in part.split("\n"):
        if ITEM.match(line) and lines and lines[-1].strip() and not re.match(r"\s|[-*] |\d+\. ", lines[-1]):
            lines.append("")
        lines.append(line)
    return "\n".join(lines)


def bare_pipes(part: str) -> str:
    """In code within tables, a bare `|`: hosts of code want it escaped there, Python-Markdown would show the escape."""
    return re.sub(
        r"^\|.*$", lambda row: re.sub(r"`[^`]*`", lambda code: code[0].replace(r"\|", "|"), row[0]), part, flags=re.M
    )


def named(part: str, page: str, names: dict[str, str]) -> str:
    """With links from names to where they are explained: once in each section, not in headings and not in links."""
    seen: set[str] = set()

    def link(match: re.Match[str]) -> str:
        if match["code"]:
            words = match["code"].split()
            command = words[0] == "foglight"
            keys = [" ".join(words[:n]) for n in (3, 2)] if command else [re.split(r"[(\s]", match["code"])[0]]
            shown = match[0]
        else:
            keys, shown = [match["key"] or ""], rf"\[{(match['key'] or '') + (match['where'] or '')}\]"
        key = next((key for key in keys if key in names), None)
        if key is None or key in seen or names[key].split("#")[0] == page:
            return match[0]
        seen.add(key)
        return f"[{shown}]({relative(names[key], page)})"

    pieces = re.split(r"(^#+ .*$)", part, flags=re.M)  # text, heading, text, heading, ...
    for i in range(0, len(pieces), 2):
        seen.clear()
        pieces[i] = NAMED.sub(link, pieces[i])
    return "".join(pieces)
