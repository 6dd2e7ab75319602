"""What the pages show is what happens: their Python runs, their commands parse, their links lead somewhere.

Every ```python block of a page runs, in order and in one namespace, in an empty folder. A ```text block right behind it
is what it prints. In other blocks, each line `foglight ...` is parsed by the real command line. A block that begins
with `$ foglight` is run, and the rest of it is what it prints. `...` stands for any text. A block ```python stockfish
runs where Stockfish is installed; a block ```python long runs, with all others of its page, by `make test-long` only; a
block ```python skip runs nowhere. A block ```python file=NAME becomes that file,
beside which the page's blocks and commands run.
"""

import doctest
import re
import shlex
import sys
from itertools import zip_longest
from pathlib import Path

import pytest
import typer
from test_uci import needs_stockfish

import foglight as fl
from foglight.cli import app
from foglight.studies import study_names

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
NAMES = [str(page.relative_to(ROOT)) for page in PAGES]
FENCE = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)

# How many blocks of Python each page runs, how many of them have their output compared, how many commands are run.
PYTHON = {
    "README.md": 1,
    "docs/arena.md": 4,
    "docs/beliefs.md": 5,
    "docs/engine.md": 1,
    "docs/environments.md": 3,
    "docs/games.md": 3,
    "docs/gambit.md": 1,
    "docs/guides.md": 3,
    "docs/search.md": 4,
    "docs/sketches.md": 1,
    "docs/solving.md": 5,
    "docs/start.md": 1,
    "docs/values.md": 1,
    "docs/writing_games.md": 8,
    "docs/results/arena.md": 2,
    "docs/results/solving.md": 2,
    "docs/tutorials/blind_chess.md": 5,
    "docs/tutorials/card_bot.md": 2,
    "docs/tutorials/hidden.md": 7,
    "docs/tutorials/index.md": 1,
    "docs/tutorials/measure_your_agent.md": 5,
    "docs/tutorials/scale_out.md": 3,
    "docs/tutorials/solve_poker.md": 7,
    "docs/tutorials/train_a_network.md": 5,
    "docs/tutorials/why_pimc_fails.md": 4,
    "docs/tutorials/write_a_game.md": 3,
    "docs/notebooks.md": 4,
}
OUTPUTS = {
    "README.md": 1,
    "docs/arena.md": 4,
    "docs/beliefs.md": 4,
    "docs/engine.md": 1,
    "docs/environments.md": 3,
    "docs/games.md": 3,
    "docs/gambit.md": 1,
    "docs/guides.md": 3,
    "docs/search.md": 3,
    "docs/sketches.md": 1,
    "docs/solving.md": 2,
    "docs/writing_games.md": 6,
    "docs/start.md": 1,
    "docs/results/arena.md": 2,
    "docs/results/solving.md": 1,
    "docs/tutorials/blind_chess.md": 5,
    "docs/tutorials/card_bot.md": 2,
    "docs/tutorials/hidden.md": 7,
    "docs/tutorials/measure_your_agent.md": 5,
    "docs/tutorials/scale_out.md": 2,
    "docs/tutorials/solve_poker.md": 6,
    "docs/tutorials/train_a_network.md": 4,
    "docs/tutorials/why_pimc_fails.md": 4,
    "docs/tutorials/write_a_game.md": 3,
    "docs/notebooks.md": 2,
}
LONG = {
    "docs/tutorials/blind_chess.md": 1,
    "docs/tutorials/card_bot.md": 4,
    "docs/tutorials/measure_your_agent.md": 1,
    "docs/tutorials/scale_out.md": 1,
    "docs/tutorials/train_a_network.md": 1,
    "docs/tutorials/why_pimc_fails.md": 2,
    "docs/tutorials/write_a_game.md": 2,
}  # blocks that only `make test-long` runs, each with its output
STOCKFISH = {"docs/results/rbc.md": 1}
SKIPPED: dict[str, int] = {}
FILES = {  # modules that a page has the reader write
    "CONTRIBUTING.md": ["coin", "bots", "doubts"],
    "docs/tutorials/card_bot.md": ["sampler"],
    "docs/tutorials/measure_your_agent.md": ["bots"],
    "docs/tutorials/write_a_game.md": ["one_card"],
}
SESSIONS = {
    "CONTRIBUTING.md": 5,
    "docs/beliefs.md": 1,
    "docs/search.md": 1,
    "docs/start.md": 1,
    "docs/results/search.md": 1,
}


def text_of(name):
    return (ROOT / name).read_text(encoding="utf-8")


def blocks(name):
    """Language words, content, and what a ```text block right behind says is printed."""
    text = text_of(name)
    found = list(FENCE.finditer(text))
    for match, after in zip_longest(found, found[1:]):
        adjacent = after is not None and not text[match.end() : after.start()].strip()
        yield match[1].split(), match[2], after[2] if adjacent and after[1] == "text" else None


def says(wanted, printed):
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    return doctest.OutputChecker().check_output(wanted, printed, flags)


def run_python(name, kinds, capsys):
    """Run the blocks of these kinds: how many ran, and of how many the output was compared."""
    namespace, ran, compared = {"__name__": "page"}, 0, 0
    for words, code, output in blocks(name):
        if words not in kinds:
            continue
        exec(compile(code, name, "exec"), namespace)
        printed = capsys.readouterr().out
        ran += 1
        if output is not None:
            assert says(output, printed), f"{name} shows\n{output}\nbut its code prints\n{printed}"
            compared += 1
    return ran, compared


@pytest.fixture(autouse=True)
def folder(request, tmp_path, monkeypatch):
    """The folder of a page: empty, but for the modules that the page has the reader write."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    name = request.node.callspec.params["name"] if hasattr(request.node, "callspec") else ""
    for module in FILES.get(name, ()):
        (code,) = (code for words, code, _ in blocks(name) if words == ["python", f"file={module}.py"])
        (tmp_path / f"{module}.py").write_text(code, encoding="utf-8")
    yield
    for module in FILES.get(name, ()):
        sys.modules.pop(module, None)


@pytest.mark.parametrize("name", NAMES)
def test_the_python_of_a_page_runs_and_prints_what_it_shows(name, capsys):
    counts = run_python(name, [["python"]], capsys)
    assert counts == (PYTHON.get(name, 0), OUTPUTS.get(name, 0))


@pytest.mark.long
@pytest.mark.parametrize("name", LONG)
def test_the_python_of_a_page_runs_to_its_end(name, capsys):
    ran, compared = run_python(name, [["python"], ["python", "long"]], capsys)
    assert (ran, compared) == (PYTHON[name] + LONG[name], OUTPUTS[name] + LONG[name])


@needs_stockfish
@pytest.mark.parametrize("name", STOCKFISH)
def test_the_python_of_a_page_that_needs_stockfish_runs(name, capsys):
    ran, _ = run_python(name, [["python", "stockfish"]], capsys)
    assert ran == STOCKFISH[name]


def test_few_blocks_are_left_out():
    left_out = {"stockfish": {}, "long": {}, "skip": {}}
    for name in NAMES:
        for words, _, _ in blocks(name):
            if words[:1] == ["python"] and words[1:] and not words[1].startswith("file="):
                counts = left_out[words[1]]
                counts[name] = counts.get(name, 0) + 1
    assert left_out == {"stockfish": STOCKFISH, "long": LONG, "skip": SKIPPED}


# Commands ---------------------------------------------------------------------------------------------------------


def command_lines(text):
    """The command lines of a block, as lists of words; a prompt and what stands before `foglight` are left out."""
    for line in text.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True) if line.startswith(("foglight ", "$ foglight ")) else []
        if words:
            yield words[words.index("foglight") + 1 :]


def parsed(words):
    """The context in which the real command line would run that command; raises if it would refuse it."""
    command, parent = typer.main.get_command(app), None
    while hasattr(command, "commands"):
        parent = command.make_context("foglight", [words[0]], parent=parent)
        command, words = command.commands[words[0]], words[1:]
    return command.make_context("foglight", list(words), parent=parent)


def named(context):
    """The games and the agents that a command names."""
    given = context.params
    games = [given["game"]] if isinstance(given.get("game"), str) else given.get("game", [])
    players = given["players"] if context.command.name in ("match", "tournament") else []
    agents = [given[option] for option in ("agent", "vs") if option in given]
    several = [one for agent in agents for one in ([agent] if isinstance(agent, str) else agent)]  # of `serve`
    return games, [*players, *several]


@pytest.mark.parametrize("name", NAMES)
def test_the_commands_of_a_page_are_commands_of_ours(name):
    lines = [line for _, text, _ in blocks(name) for line in text.splitlines()]
    checked = 0
    for _, text, _ in blocks(name):
        for words in command_lines(text):
            games, agents = named(parsed(words))
            for game in games:
                if not game.startswith("efg:"):  # a file that the reader has
                    fl.load_game(game)
            for agent in agents:
                fl.load_agent(agent)
            if words[:2] == ["study", "run"]:
                assert words[2] in study_names() or words[2] in FILES[name]
            checked += 1
    assert checked == sum(line.startswith(("foglight ", "$ foglight ")) for line in lines)


def test_commands_within_the_text_exist_with_their_options():
    spans = [span for name in NAMES for span in re.findall(r"`(foglight [^`]+)`", FENCE.sub("", text_of(name)))]
    for span in spans:
        command, words = typer.main.get_command(app), shlex.split(" ".join(span.split()))[1:]
        while hasattr(command, "commands") and words and not words[0].startswith("-"):
            command, words = command.commands[words[0]], words[1:]
        options = {option for parameter in command.params for option in parameter.opts + parameter.secondary_opts}
        assert {word for word in words if word.startswith("--")} <= options | {"--help"}, span
    assert len(spans) > 50


def test_targets_of_make_exist():
    targets = set(re.findall(r"^(\w[\w-]*):", text_of("Makefile"), re.MULTILINE))
    shown = {target for name in NAMES for target in re.findall(r"(?:^|`)make ([\w-]+)", text_of(name), re.MULTILINE)}
    assert {"demo", "test"} <= shown <= targets


@pytest.mark.parametrize("name", SESSIONS)
def test_the_commands_that_a_page_shows_with_their_output_print_it(name, run):
    compared = 0
    for _, text, _ in blocks(name):
        if text.startswith("$ foglight "):
            line, output = text.split("\n", 1)
            code, printed, _ = run(*shlex.split(line)[2:])
            assert code == 0 and says(output, printed), f"{name} shows\n{text}\nbut the command prints\n{printed}"
            compared += 1
    assert compared == SESSIONS[name]


def test_every_study_has_a_line():
    lines = set(re.findall(r"^\| `(\w+)`", text_of("docs/studies.md"), re.MULTILINE))
    assert lines == set(study_names())


# Links ------------------------------------------------------------------------------------------------------------


def anchors(name):
    headings = re.findall(r"^#+ (.*)$", FENCE.sub("", text_of(name)), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_every_link_and_picture_leads_to_something():
    links = 0
    for page, name in zip(PAGES, NAMES, strict=True):
        for target in re.findall(r"\]\(([^)\s]+)\)", FENCE.sub("", text_of(name))):
            if target.startswith(("http://", "https://")):
                continue
            path, _, anchor = target.partition("#")
            file = (page.parent / path).resolve() if path else page
            assert file.exists(), f"{name} links to {target}"
            assert not anchor or anchor in anchors(str(file.relative_to(ROOT))), f"{name} links to {target}"
            links += 1
    pictures = {str(path.relative_to(ROOT)) for path in (ROOT / "docs" / "pictures").iterdir()}
    shown = {
        str((page.parent / target).resolve().relative_to(ROOT))
        for page, name in zip(PAGES, NAMES, strict=True)
        for target in re.findall(r"!\[[^\]]*\]\(([^)]+)\)", text_of(name))
    }
    assert links > 50 and shown == pictures


def test_files_that_pages_name_exist():
    checked = 0
    for name in NAMES:
        for path in re.findall(r"`([\w./]+/[\w.]+\.(?:py|md|toml|bib))`", FENCE.sub("", text_of(name))):
            assert (ROOT / path).exists() or (ROOT / "foglight" / path).exists(), f"{name} names {path}"
            checked += 1
    assert checked > 50


def test_the_bibliography_holds_every_key_that_is_cited():
    keys = set(re.findall(r"^@\w+\{(\w+),", text_of("papers.bib"), re.MULTILINE))
    sources = [path.read_text(encoding="utf-8") for path in (ROOT / "foglight").rglob("*.py")]
    cited = set(re.findall(r"\[([A-Z][a-z]+\d{4})[\],]", "\n".join(sources)))
    assert cited and cited <= keys
