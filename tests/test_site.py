"""The site: it builds without a warning, has every name and every command, and loads nothing from elsewhere."""

import contextlib
import functools
import http.server
import json
import os
import re
import threading
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
import typer

import foglight as fl
from foglight.agents import agent_class
from foglight.cli import app
from foglight.rules import how_to_play

pytest.importorskip("zensical", reason="no foglight[docs]: the site is not built")

from website import catalogue, chart, commands, gallery, papers, reference
from website.build import build
from website.navigation import navigation
from website.pages import ROOT, Broken, page_text, pages_of, sources

CHROMIUM = Path(os.environ.get("CHROMIUM", "/usr/bin/chromium"))
SWITCHES = "--no-sandbox --disable-gpu --disable-background-networking --disable-component-update --disable-sync"
PATIENCE = 180_000  # milliseconds
SHOWN = ["index.html", "reference/solving.html", "results/index.html", "compared.html"]  # looked at in a browser


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The folder with the site's files, and what the build has said."""
    folder = tmp_path_factory.mktemp("site")
    code, said = build(folder)
    assert code == 0, said
    return folder / "html", said


class Page(HTMLParser):
    """What a page has: anchors, links, and what the browser loads with it."""

    def __init__(self, text):
        super().__init__()
        self.anchors, self.links, self.loads, self.text, self.prose, self.code = set(), [], [], "", "", 0
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.code += tag in ("code", "script", "style")
        self.anchors |= {given[name] for name in ("id", "name") if given.get(name)}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if tag in ("img", "script", "iframe", "source", "audio", "video", "embed") and "src" in given:
            self.loads.append(given["src"])
        if tag == "link":
            self.loads.append(given["href"])

    def handle_endtag(self, tag):
        self.code -= tag in ("code", "script", "style")

    def handle_data(self, data):
        self.text += data
        self.prose += "" if self.code else data


@pytest.fixture(scope="module")
def pages(site):
    folder, _ = site
    return {
        path.relative_to(folder).as_posix(): Page(path.read_text(encoding="utf-8"))
        for path in folder.rglob("*.html")
        if path.name != "404.html"  # which is shown at any address, so that its links begin at the root
    }


# What is in it -----------------------------------------------------------------------------------------------------


def test_it_builds_without_warnings(site):
    _, said = site
    assert "Warning" not in said and "No issues found" in said


def test_every_page_of_the_repository_is_on_the_site(pages):
    wanted = {name.replace(".md", ".html") for name in pages_of()}
    assert len(sources()) == len(wanted) > 30 and wanted <= set(pages)


def test_every_public_name_is_on_a_page_of_the_reference(site, pages):
    folder, _ = site
    places = {a: page for page in pages if page.startswith("reference/") for a in pages[page].anchors}
    assert len(fl.__all__) > 80
    for name in fl.__all__:
        assert places[reference.anchor(name)] != "reference/index.html"
        assert f"#{reference.anchor(name)}" in "".join(pages["reference/index.html"].links)
    texts = [(folder / page).read_text(encoding="utf-8") for page in pages if page.startswith("reference/")]
    examples = sum(text.count("language-pycon") for text in texts)
    assert examples >= len([name for name in fl.__all__ if not reference.is_constant(name)])


def test_every_entry_of_the_reference_says_something():
    entries = 0
    for page in reference.pages({}).values():
        for entry in re.split(r"^(?=###? `)", page, flags=re.MULTILINE)[1:]:
            heading, text = entry.split("\n", 1)
            assert re.sub(r"```.*?```", "", text, flags=re.DOTALL).strip(), f"{heading} has no text"
            entries += 1
    assert entries > 200


def test_every_command_is_on_a_page_with_all_its_options(pages):
    top = typer.main.get_command(app)
    counted = options = 0
    for name, command in top.commands.items():
        page = pages[f"commands/{name}.html"]
        for words, one in commands.walk(["foglight", name], command):
            assert "--".join(words) in page.anchors
            for option in [text for parameter in one.params for text in parameter.opts if text.startswith("--")]:
                assert option in page.text
                options += 1
            counted += 1
    assert counted > 25 and options > 150


def test_new_names_and_new_commands_find_their_pages(monkeypatch):
    def planted(seat: int, *, cap: int = 3) -> list[int]:
        """A planted name. It is not there.

        >>> fl.planted(1)
        []
        """

    planted.__module__ = "foglight.bridges.planted"
    monkeypatch.setattr(fl, "__all__", [*fl.__all__, "planted"])
    monkeypatch.setattr(fl, "planted", planted, raising=False)
    page = reference.pages({})["reference/libraries.md"]
    assert "fl.planted(seat: int, *, cap: int = 3) -> list[int]" in page
    assert "```pycon\n>>> fl.planted(1)\n[]\n```" in page
    planted.__module__ = "foglight.a_new_room"
    assert "fl.planted(seat: int" in reference.pages({})["reference/further.md"]

    def run(game: str, often: int = 3) -> None:
        """Do nothing often."""

    group = typer.Typer()
    group.command("planted")(run)
    group.command("other")(run)
    monkeypatch.setattr(commands, "app", group)
    page = commands.pages({"guide.md": "```sh\nfoglight planted hex  # why\n```\n"})["commands/planted.md"]
    assert "foglight planted GAME [OPTIONS]" in page and "`--often` NUMBER" in page and "`3`" in page
    assert "foglight planted hex  # why" in page


def test_every_game_every_agent_and_every_rule_is_described(pages):
    games = pages["reference/all_games.html"]
    assert len(catalogue.native_games()) >= 15
    for name in catalogue.native_games():
        assert f"game.{name}" in games.anchors and f"../gallery/{name}.svg" in games.loads
        assert how_to_play(fl.load_game(name)).split("\n")[0].replace("`", "") in games.text.replace("  ", " ")
    own = [name for name in fl.agent_names() if agent_class(name).__module__.startswith("foglight.")]
    assert len(own) > 10 and {f"agent.{name}" for name in own} <= pages["reference/all_agents.html"].anchors
    listed = {anchor for anchor in pages["reference/rules.html"].anchors if anchor.startswith("rule.")}
    assert {"rule.observe", "rule.evaluation", "rule.drawing"} <= listed and len(listed) > 30


def test_pictures_of_games_are_of_decisions_and_repeat_themselves():
    state = gallery.position("kuhn_poker")
    assert state.player in (0, 1) and state.history() == gallery.position("kuhn_poker").history()


def test_every_paper_is_listed_with_plain_letters(pages):
    keys = re.findall(r"^@\w+\{(\w+),", (ROOT / "papers.bib").read_text(encoding="utf-8"), re.M)
    assert len(keys) > 30 and set(keys) <= pages["papers.html"].anchors
    assert not re.search(r"[{}\\]", re.sub(r"\{ #\w+ \}", "", papers.pages()["papers.md"]))
    assert papers.plain(r"Kova{\v{r}}{\'i}k, J{\'e}r{\^o}me") == "Kovařík, Jérôme"


# Where it leads ----------------------------------------------------------------------------------------------------


def test_every_link_anchor_and_picture_leads_to_something(site, pages):
    folder, _ = site
    links = anchors = files = 0
    for name, page in pages.items():
        for target in [*page.links, *page.loads]:
            split = urlsplit(target)
            if split.scheme or split.netloc:
                continue
            path = os.path.normpath(os.path.join(os.path.dirname(name), unquote(split.path))) if split.path else name
            path = "index.html" if path == "." else path
            assert (folder / path).is_file(), f"{name} leads to {target}"
            links += 1
            files += path not in pages
            if split.fragment and path in pages:
                assert unquote(split.fragment) in pages[path].anchors | {"__skip"}, f"{name} leads to {target}"
                anchors += 1
    assert links > 2000 and anchors > 1000 and files > 100


def test_no_markdown_is_left_over(pages):
    marks = re.compile(r"^.*(?:\]\(|\*\*|`|\\\||\|--|\{ #).*$|^(?:[-*]|\d\.) .*$", re.MULTILINE)
    left_over = {name: marks.findall(page.prose) for name, page in pages.items()}
    assert not {name: found for name, found in left_over.items() if found}


def test_nothing_is_loaded_from_elsewhere(site, pages):
    folder, _ = site
    loads = [(name, load) for name, page in pages.items() for load in page.loads]
    outside = [one for one in loads if re.match(r"(https?:)?//", one[1])]
    assert len(loads) > 200 and not outside
    sheets = [path.read_text(encoding="utf-8") for path in folder.rglob("*.css")]
    assert sheets and not any(re.search(r"@import|url\(['\"]?(https?:)?//", sheet) for sheet in sheets)


def test_the_navigation_has_every_page_once():
    pages = [page for page in pages_of() if not page.startswith("tutorials/")]
    texts = dict.fromkeys([*pages, "tutorials/b.md", "tutorials/a.md"], "# A page\n")
    texts |= {"papers.md": "# Papers\n", "reference/index.md": "", "commands/index.md": ""}
    texts |= {"tutorials/index.md": "# Tutorials\n\n[b](b.md), then [a](a.md)\n", "new_guide.md": "# New\n"}
    sections = {title: entries for entry in navigation(texts) for title, entries in entry.items()}
    listed = re.findall(r"'([\w/]+\.md)'", str(sections))
    assert sorted(listed) == sorted(texts)
    assert re.findall(r"\w+/\w+\.md", str(sections["Tutorials"])) == [f"tutorials/{n}.md" for n in ("index", "b", "a")]
    assert "new_guide.md" in str(sections["Guides"])


def test_the_search_index_has_names_questions_and_pictures(site):
    folder, _ = site
    items = json.loads((folder / "search.json").read_text(encoding="utf-8"))["items"]
    places = {item["location"] for item in items}
    assert len(items) > 500 and {"reference/solving.html#fl.solve", "commands/solve.html"} <= places


# How pages are turned ----------------------------------------------------------------------------------------------


def turned(text, names=None):
    files = {}
    return page_text("index.md", text, names or {}, files), files


def test_links_of_the_readme_lead_to_where_the_pages_are():
    text, files = turned(
        "[![a board](docs/pictures/page_dark_hex.png)](docs/page.md#play) and [more](CONTRIBUTING.md)\n"
    )
    assert text == "[![a board](pictures/page_dark_hex.png)](page.md#play) and [more](contributing.md)\n"
    assert list(files) == ["pictures/page_dark_hex.png"]
    text, files = turned("see [the demo](examples/demo.py)")
    assert text == "see [the demo](files/examples/demo.py)" and files["files/examples/demo.py"].name == "demo.py"


@pytest.mark.parametrize("target", ["docs/nowhere.md", "../elsewhere.md", "examples"])
def test_a_link_to_nowhere_is_one_line(target):
    with pytest.raises(Broken, match=rf"README.md links to {re.escape(target)}, which is no file of the repository"):
        turned(f"[there]({target})")


def test_names_are_linked_once_in_each_section_and_nowhere_in_code_links_or_headings():
    names = {"fl.solve": "reference/solving.md#fl.solve", "foglight solve": "commands/solve.md#x"}
    names["Key2024"] = "papers.md#k"
    text = "# `fl.solve`\n`fl.solve(game)` or `fl.solve`, [`fl.solve`](docs/page.md), "
    text += "`foglight solve --seed 1` [Key2024, p. 3]\n## More\n`fl.solve`\n```python\nfl.solve\n```\n"
    linked = turned(text, names)[0].splitlines()
    assert linked[0] == "# `fl.solve`"
    assert linked[1] == (
        "[`fl.solve(game)`](reference/solving.md#fl.solve) or `fl.solve`, [`fl.solve`](page.md), "
        r"[`foglight solve --seed 1`](commands/solve.md#x) [\[Key2024, p. 3\]](papers.md#k)"
    )
    assert linked[3] == "[`fl.solve`](reference/solving.md#fl.solve)" and linked[5] == "fl.solve"


def test_code_blocks_and_lists_are_what_zensical_reads():
    assert turned("```python file=coin.py\nx = 1\n```\n")[0].startswith('```python title="coin.py"\n')
    assert turned("```python stockfish\nx = 1\n```\n")[0].startswith("```python\n")
    assert turned("| `a\\|b` | c \\| d |\n")[0] == "| `a|b` | c \\| d |\n"
    assert turned("Take\n- one\n- two\n  more\n- three\n")[0] == "Take\n\n- one\n- two\n  more\n- three\n"


def test_the_chart_shows_the_table():
    table = re.findall(r"^\|.*×.*$", chart.TABLE.read_text(encoding="utf-8"), re.M)
    peers = [row[1] for row in chart.ratios()]
    assert peers.count("OpenSpiel") == sum("OpenSpiel" in line for line in table) > 8
    assert ("CFR+ iterations, leduc_poker", "OpenSpiel", 335.0, 418.0) in chart.ratios()


# In a browser ------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def served(folder):
    """The address of a server of that folder."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *words):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=folder)) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="no Playwright: the site is not tested in a browser")
    if not CHROMIUM.exists():
        pytest.skip(f"no browser at {CHROMIUM}: the site is not tested in one; `make browser` installs one")
    with playwright.sync_playwright() as tool:
        browser = tool.chromium.launch(executable_path=CHROMIUM, args=SWITCHES.split(), timeout=PATIENCE)
        yield browser
        browser.close()


def opened(browser, requests, width):
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme="light")
    page.set_default_timeout(PATIENCE)
    page.on("request", lambda request: requests.append(request.url))
    return page


def test_a_browser_asks_nobody_else_and_pages_fit_a_phone(site, browser):
    requests = []
    with served(site[0]) as address:
        page = opened(browser, requests, 390)
        for name in SHOWN:
            page.goto(address + name)
            assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), name
        page.close()
    assert len(requests) > 20 and all(request.startswith((address, "data:", "blob:")) for request in requests)


@pytest.mark.long
def test_a_browser_asks_nobody_else_on_any_page(site, pages, browser):
    requests, failures = [], []
    with served(site[0]) as address:
        page = opened(browser, requests, 390)
        page.on("requestfailed", lambda request: failures.append(request.url))
        page.on("pageerror", lambda error: failures.append(str(error)))
        for name in pages:
            page.goto(address + name)
            page.wait_for_load_state("networkidle")
            assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), name
        page.close()
    assert len(requests) > len(pages) > 60 and not failures
    assert all(request.startswith((address, "data:", "blob:")) for request in requests)


def look_up(page):
    """Search for a name, and follow what is found to where it is explained."""
    field = page.get_by_role("combobox", name="Search")
    for look in range(1200):  # two minutes; a key that is pressed before the search listens is lost
        if field.is_visible():
            break
        if look % 30 == 0:
            page.keyboard.press("Control+k")
        page.wait_for_timeout(100)
    field.fill("trunk_exploitability")
    page.get_by_role("option", name="fl.trunk_exploitability", exact=True).click()
    page.wait_for_url(re.compile(r"reference/depth_limited\.html.*#fl\.trunk_exploitability"))


def test_search_works_in_files_without_a_server(site, browser):
    requests = []
    page = opened(browser, requests, 1280)
    page.goto((site[0] / "commands" / "solve.html").as_uri())
    look_up(page)
    page.close()
    assert len(requests) > 5 and all(request.startswith(("file:", "data:", "blob:", "about:")) for request in requests)


def test_search_dark_mode_and_copying_work(site, browser):
    requests = []
    with served(site[0]) as address:
        page = opened(browser, requests, 1280)
        page.goto(address + "solving.html")
        scheme = "document.body.getAttribute('data-md-color-scheme')"
        assert page.evaluate(scheme) == "default"
        for _ in range(2):  # from the system's choice to light, then to dark
            page.locator("label.md-header__button[for^=__palette]:visible").click()
        page.wait_for_function(f"{scheme} === 'slate'")
        page.locator("button[data-md-type=copy], .md-code__button").nth(3).wait_for(state="attached")
        look_up(page)
        page.close()
    assert all(request.startswith((address, "data:", "blob:")) for request in requests)
