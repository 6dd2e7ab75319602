"""The page in a real browser: whole games by clicks and by keys, beliefs, reloads, looking back, and who can read it.

The server draws the seeds of its games itself, so games differ from run to run; what is asserted holds in all of them.
Clicks are seeded.
"""

import contextlib
import itertools
import os
import random
import re
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import foglight as fl

playwright = pytest.importorskip("playwright.sync_api", reason="no Playwright: the page is not tested in a browser")
axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="no axe-core: the page is not tested")
pytest.importorskip("uvicorn", reason="no foglight[web]: the page is not tested")

CHROMIUM = Path(os.environ.get("CHROMIUM", "/usr/bin/chromium"))
if not CHROMIUM.exists():
    pytest.skip(
        f"no browser at {CHROMIUM}: the page is not tested; `make browser` installs one", allow_module_level=True
    )

SWITCHES = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
)
PATIENCE = 180_000  # milliseconds: kernels may have to be compiled
UNLABELLED = (
    """[...document.querySelectorAll("input, select")].filter(one => !one.labels.length).map(one => one.outerHTML)"""
)
LONGEST = 400  # moves of a person
SMALL = {  # parameters where a game of the default size takes long
    "battleship": {"ships": "[1]", "shots": "4"},
    "dark_chess": {"size": "4"},
    "dark_hex": {"rows": "3", "cols": "3"},
    "goofspiel": {"cards": "4"},
    "oh_hell": {"suits": "2", "ranks": "4", "tricks": "2"},
    "rbc": {"turns": "2"},
    "three_sat": {"variables": "4", "clauses": "3"},
}
LONG = ("hearts", "spades")  # 13 cards to click, of large packs


# The server and the browser -------------------------------------------------------------------------------------------


@contextlib.contextmanager
def serving(*arguments, port=0):
    """A server in a process of its own: its address and the process."""
    command = [
        sys.executable,
        "-m",
        "foglight",
        "serve",
        "--no-open",
        "--workers",
        "1",
        "--port",
        str(port),
        *arguments,
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert select.select([process.stdout], [], [], PATIENCE / 1000)[0], "the server does not start"
            line = process.stdout.readline()
            yield re.search(r"http://[^/\s]+", line).group(), process
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(PATIENCE / 1000)


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    path = tmp_path_factory.mktemp("watched") / "games.sqlite"
    fl.play_match("kuhn_poker", ["random", "first_legal"], games=12, seed=0, store=path)
    return path


@pytest.fixture(scope="module")
def server(tmp_path_factory, store):
    keep = tmp_path_factory.mktemp("page") / "page.sqlite"
    with serving(str(store), "--keep", str(keep)) as (address, _):
        yield address


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as p:
        browser = p.chromium.launch(executable_path=str(CHROMIUM), args=SWITCHES.split(), timeout=PATIENCE)
        yield browser
        browser.close()


@pytest.fixture
def person(browser, server):
    """Makes persons, each with a browser of their own; in the end none of them may have seen an error."""
    people = []

    def make(address=server, **options):
        people.append(Person(browser, address, **options))
        return people[-1]

    yield make
    for one in people:
        one.leave()


class Person:
    """Somebody at the page, and what their browser complained about."""

    def __init__(self, browser, address, width=1100, height=800, scheme="light", expected="nothing"):
        self.address, self.expected = address, expected
        self.context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
        self.page = self.context.new_page()
        self.page.set_default_timeout(PATIENCE)
        self.complaints, self.asked, self.clicks = [], [], 0
        self.page.on("console", self._hear)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.on("websocket", lambda socket: self.asked.append(socket.url))

    def _hear(self, said):
        if said.type in ("error", "warning"):
            self.complaints.append(f"{said.text} {said.location.get('url', '')}")

    def leave(self):
        self.context.close()
        assert [said for said in self.complaints if not re.search(self.expected, said)] == []
        assert len(self.asked) > 5
        here = self.address.removeprefix("http://")
        assert [url for url in self.asked if re.match(r"\w+://([^/]+)", url).group(1) != here] == []

    def open(self, place=""):
        self.page.goto(f"{self.address}/#/{place}")

    def begin(self, game, parameters=(), seat=0, opponent="random"):
        """Choose all that by the form, and play."""
        page = self.page
        self.open()
        page.fill("#search", game)
        page.click(f"[data-game='{game}'] a")
        page.wait_for_selector("form.setup")
        for name, value in dict(parameters).items():
            control = page.locator(f"[data-parameter={name}]")
            if control.evaluate("e => e.tagName") == "SELECT":
                control.select_option(value)
            else:
                control.fill(value)
        if seat:
            page.check(f"#me-{seat}")
        for other in page.locator(".seat select").all():
            other.select_option(opponent)
        page.click("button[type=submit]")
        return self.turn()

    def turn(self, after=None):
        """Wait for a turn, or for the end, after that with so many observations: whose turn it is, and how many now."""
        self.page.wait_for_function(
            "seen => { const at = document.querySelector('.stage')?.dataset ?? {};"
            " return at.turn && at.turn !== 'waiting' && at.seen !== seen }",
            arg=after,
        )
        return self.page.evaluate("(({turn, seen}) => ({turn, seen}))(document.querySelector('.stage').dataset)")

    def move(self, rng, figure=".own-figure"):
        """One move by clicks on what is marked."""
        before = self.page.evaluate("document.querySelector('.stage').dataset.seen")
        for _ in range(4):
            here = (".may", ".others button", ".chooser:not([hidden]) button:not(.quiet)")
            items = self.page.locator(", ".join(f"{figure} {one}" for one in here))
            items.first.wait_for()
            names = items.count()
            assert names, "there is nothing to click"
            item = items.nth(rng.randrange(names))
            box = item.bounding_box()
            item.click(position={"x": min(8, box["width"] / 2), "y": box["height"] / 2})  # cards lie over each other
            self.clicks += 1
            if not self.page.locator(f"{figure} .mark.chosen").count():
                break
        return self.turn(before)


def seriously(page):
    """Serious and critical problems that axe-core finds."""
    found = axe.Axe().run(page).response
    assert len(found["passes"]) > 10
    return [
        (problem["id"], [node["html"][:120] for node in problem["nodes"]][:4])
        for problem in found["violations"]
        if problem["impact"] in ("serious", "critical")
    ]


def no_sideways(page):
    """Whether the page is no wider than the screen."""
    return page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


# Playing --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "game", [pytest.param(name, marks=[pytest.mark.long] * (name in LONG)) for name in fl.game_names()]
)
def test_whole_game_by_clicks(person, game):
    """With the belief turned on, a reload in the middle, and a look back at the end."""
    rng = random.Random(game)
    one = person()
    page, at = one.page, one.begin(game, SMALL.get(game, {}))
    for moves in range(1, LONGEST):
        if at["turn"] == "over":
            break
        if moves == 1:
            _look_at_belief(page)
        if moves == 2:
            page.reload()
            assert one.turn() == at
        at = one.move(rng)
    assert at["turn"] == "over"
    assert one.clicks >= moves - 1 > 0
    assert page.locator(".boards figure:visible").count() == 2  # what the seat saw, and the truth
    page.click("text=Look back")
    page.wait_for_selector(".truth-figure svg")
    last = int(page.get_attribute("#step", "max"))
    assert last >= moves - 1
    assert page.locator(".seat-figure svg").count() == page.locator(".seat-figure").count() >= 2
    page.keyboard.press("End")
    page.wait_for_function(f"() => document.querySelector('#where').textContent.startsWith('{last} of')")
    page.keyboard.press("ArrowLeft")
    page.wait_for_function(f"() => document.querySelector('#where').textContent.startsWith('{last - 1} of')")


def _look_at_belief(page):
    page.check("#belief")
    page.wait_for_function(
        "() => !['', 'Counting worlds …'].includes(document.querySelector('.belief-panel .sentence').textContent)"
    )
    if page.locator(".belief-figure svg:visible").count():
        page.click("text=Next")
        page.wait_for_selector("text=/world 1 of \\d+/")
    page.uncheck("#belief")
    assert not page.locator(".belief-figure:visible").count()


def test_by_keys_alone(person):
    """From the choice of the game to the look back, without a mouse."""
    one = person()
    page = one.page
    one.open()
    page.wait_for_selector(".card a")
    presses = itertools.count()

    def press(key, until=None, most=60):
        for _ in range(most if until else 1):
            page.keyboard.press(key)
            next(presses)
            if until and page.evaluate(f"document.activeElement.matches({until!r})"):
                return
        assert not until, f"{key} does not lead to {until}"

    press("Tab", "#search")
    page.keyboard.type("phantom")
    press("Tab", "[data-game=phantom_ttt] a")
    press("Enter")
    page.wait_for_selector("form.setup")
    press("Tab", ".seat select")
    for _ in range(30):
        page.keyboard.type("random")
        if page.evaluate("document.activeElement.value") == "random":
            break
        page.wait_for_timeout(2000)  # a list forgets what was typed a second ago, as it did between two letters
    else:
        raise AssertionError("typing does not choose an agent")
    press("Tab", "button[type=submit]")
    press("Enter")
    at = one.turn()
    press("Tab", ".own-figure [data-actions]")
    moves, way = 0, itertools.cycle(["ArrowRight", "ArrowDown", "ArrowLeft", "ArrowDown", "ArrowRight", "ArrowUp"])
    while at["turn"] != "over":
        assert page.evaluate("document.activeElement.matches('.own-figure [data-actions]')"), "a move loses the focus"
        press(next(way))
        press("Enter" if moves % 2 else "Space")
        at, moves = one.turn(at["seen"]), moves + 1
        assert moves < 20
    assert moves >= 3
    press("Tab", "a.primary")
    press("Enter")
    page.wait_for_selector(".truth-figure svg")
    press("ArrowRight")
    page.wait_for_function("() => document.querySelector('#where').textContent.startsWith('1 of')")
    assert next(presses) > 20 and one.clicks == 0


def test_move_of_two_squares(person):
    """The first click shows where to, Escape takes it back, and one click alone never moves."""
    one = person()
    page, at = one.page, one.begin("dark_chess", {"size": "4"})
    starts = page.locator(".own-figure .may").count()
    page.locator(".own-figure .may").first.click()
    assert page.locator(".own-figure .mark.chosen").count() == 1
    assert page.locator(".own-figure .may").count() >= 1
    page.keyboard.press("Escape")
    assert page.locator(".own-figure .mark.chosen").count() == 0
    assert page.locator(".own-figure .may").count() == starts
    for item in page.locator(".own-figure [data-actions]").all():
        item.click()
        assert page.locator(".own-figure .mark.chosen").count() == 1
        page.keyboard.press("Escape")
    assert page.evaluate("document.querySelector('.stage').dataset.seen") == at["seen"]
    page.keyboard.press("m")
    names = page.locator(".moves button")
    every = names.count()
    page.keyboard.type("a")
    assert 0 < names.count() < every
    names.first.click()
    assert one.turn(at["seen"])["turn"] in ("yours", "over")


def test_playing_on_the_belief(person):
    """On a narrow screen the belief takes the place of the board, and one plays on it: by cards and by buttons."""
    one = person(width=375)
    page, at, rng = one.page, one.begin("oh_hell", SMALL["oh_hell"]), random.Random(5)
    page.check("#belief")
    moves = 0
    while at["turn"] != "over":
        page.wait_for_selector(".belief-figure .may, .others button:visible")
        assert not page.locator(".own-figure svg:visible").count()
        kinds = [page.locator(f".belief-figure {one}").count() > 0 for one in (".others button", ".may")]
        assert kinds == [moves == 0, moves > 0]  # bids are buttons
        at, moves = one.move(rng, ".belief-figure"), moves + 1
    assert moves == 3  # a bid and two cards


def test_two_people(person):
    """One hands a link to the other; each sees its own cards."""
    one, other = person(), person(width=375, scheme="dark")
    assert one.begin("kuhn_poker", opponent="person") == {"turn": "yours", "seen": "1"}
    link = one.page.get_attribute(".invite button", "data-link")
    other.page.goto(link)
    other.page.wait_for_selector(".stage[data-turn=waiting]")
    cards = {who.page.locator(".own-figure svg").text_content() for who in (one, other)}
    assert len(cards) == 2
    rng, moves = random.Random(0), 0
    for who in itertools.cycle((one, other)):
        before = who.turn()
        if before["turn"] == "over":
            break
        who.page.locator(".own-figure .may").nth(rng.randrange(2)).click()
        who.page.wait_for_function(f"() => document.querySelector('.stage').dataset.seen !== '{before['seen']}'")
        moves += 1
    assert 2 <= moves <= 3
    for who in (one, other):
        assert who.turn()["turn"] == "over"
        who.page.wait_for_selector("text=/You have (won|lost)/")
    assert "won" in one.page.inner_text(".over") or "won" in other.page.inner_text(".over")


def test_my_games(person):
    one = person()
    one.begin("kuhn_poker")
    address = one.page.url
    one.open("mine")
    one.page.click(".mine a:has-text('Kuhn Poker')")
    one.turn()
    assert one.page.url == address
    one.open("mine")
    one.page.click("text=Forget")
    one.page.wait_for_selector("text=No games yet")


def test_connection_lost(person):
    """The page says so, and comes back by itself."""
    one, lines, down = person(), [], False

    def line(socket):
        lines.append(socket)
        if down:
            socket.close(code=1012)
        else:
            socket.connect_to_server()

    one.page.route_web_socket(re.compile("/api/play/"), line)
    before = one.begin("phantom_ttt")
    down = True  # until the page has been seen to try in vain
    lines[0].close(code=1012)
    one.page.wait_for_selector("text=/connection to the server is lost.*\\(([2-9]|\\d\\d+)\\)/")
    assert not one.page.locator(".own-figure .may").count()
    down = False
    one.page.wait_for_selector(".trouble", state="hidden")
    assert len(lines) >= 3 and one.turn() == before
    assert int(one.move(random.Random(2))["seen"]) > int(before["seen"])


@pytest.mark.long
def test_server_restarted(person, tmp_path):
    """After `kill -9` the game goes on with another server on the same file."""
    keep = str(tmp_path / "page.sqlite")
    with serving("--keep", keep) as (address, process):
        port = address.rpartition(":")[2]
        one = person(address, expected="WebSocket connection to .* failed|ERR_CONNECTION")
        before = one.begin("phantom_ttt")
        before = one.move(random.Random(1))
        process.kill()
        process.wait(PATIENCE / 1000)
        one.page.wait_for_selector("text=connection to the server is lost")
    with serving("--keep", keep, port=port):
        one.page.wait_for_selector(".trouble", state="hidden")
        assert one.turn() == before
        assert int(one.move(random.Random(2))["seen"]) > int(before["seen"])
        one.page.close()  # the server would wait for it


# Asking ---------------------------------------------------------------------------------------------------------------


def test_asking_and_links(person):
    """Advice as bars and rings; the position as a link shows the same board."""
    one = person()
    page = one.page
    one.begin("phantom_ttt")
    one.move(random.Random(3))
    assert page.locator(".mark.advice").count() == 0
    shown = page.locator(".own-figure svg").text_content()
    page.locator(".ask input").fill("0.1")
    page.click("button:has-text('Ask')")
    page.wait_for_selector(".bars li")
    assert page.locator(".bars li").count() == page.locator(".own-figure [data-actions]").count()
    assert page.locator(".mark.badge").count() == min(3, page.locator(".bars li").count())
    one.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.click("text=Link to this position")
    page.wait_for_selector("text=Copied")
    page.goto(page.evaluate("navigator.clipboard.readText()"))
    page.wait_for_selector(".own-figure svg")
    assert page.locator(".own-figure svg").text_content() == shown
    assert page.locator(".belief-figure svg:visible").count() == 1


# Reading --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme, width", [("light", 1440), ("dark", 320)])
def test_readable_by_everybody(person, scheme, width):
    """axe-core finds nothing serious, and nothing is wider than the screen."""
    one = person(width=width, scheme=scheme)
    page, looked = one.page, 0

    def look():
        nonlocal looked
        assert seriously(page) == []
        assert no_sideways(page)
        assert page.evaluate(UNLABELLED) == []
        looked += 1

    one.open()
    page.wait_for_selector("[data-game=dark_hex]")
    look()
    one.open("new/oh_hell")
    page.wait_for_selector("form.setup")
    look()
    at = one.begin("phantom_ttt")
    page.check("#belief")
    page.wait_for_selector(".belief-figure svg")
    look()
    while at["turn"] != "over":
        at = one.move(random.Random(int(at["seen"])), ".own-figure" if width > 1000 else ".belief-figure")
    page.wait_for_selector(".over")
    look()
    page.click("text=Look back")
    page.check("#beliefs")
    page.wait_for_selector(".verdict")
    look()
    one.open("watch/0")
    page.wait_for_selector(".match table")
    page.click("summary:has-text('Games')")
    page.wait_for_selector(".games a")
    look()
    one.open("mine")
    page.wait_for_selector(".mine")
    look()
    assert looked == 7


# Watching and weight --------------------------------------------------------------------------------------------------


def test_watching(person, store):
    """A store that grows while one looks, and one of its games."""
    one = person()
    page = one.page
    one.open("watch/0")
    page.wait_for_selector("text=/^12 games in 1 match/")
    fl.play_match("kuhn_poker", ["random", "first_legal"], games=20, seed=0, store=store)
    page.wait_for_selector("text=/^20 games in 1 match/")
    page.click("summary:has-text('Games')")
    page.wait_for_selector(".games a")
    assert page.locator(".games a").count() == 20
    page.locator(".games a").nth(3).click()
    page.wait_for_selector(".truth-figure svg")
    page.click("text=Judge these moves")
    page.wait_for_selector(".verdict")


def test_weight(person):
    """The first page is below 300 kB, also uncompressed, and all of it comes from here."""
    one = person()
    sizes = {}
    one.page.on("response", lambda reply: sizes.update({reply.url: len(reply.body())}))
    one.open()
    one.page.wait_for_selector("[data-game=dark_hex]")
    one.page.wait_for_load_state("networkidle")
    assert len(sizes) >= 8
    assert sum(sizes.values()) < 300_000
    paint = one.page.wait_for_function("performance.getEntriesByName('first-contentful-paint')[0]?.startTime")
    assert paint.json_value() > 0


def test_files_of_the_page_obey_the_policy():
    """No inline script or style, no address of another machine."""
    files = sorted((Path(fl.__file__).parent / "web" / "page").iterdir())
    assert len(files) > 12
    for path in files:
        text = path.read_text()
        outside = set(re.findall(r"(?:https?:)?//[\w.-]+\.\w+", text)) - {"http://www.w3.org"}
        assert outside == set(), path.name
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function", text), (
            path.name
        )
        if path.suffix == ".html":
            assert not re.search(r"<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)", text)
