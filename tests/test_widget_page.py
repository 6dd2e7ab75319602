"""The widget in a real browser: its module with a model that only passes messages on, clicked to the end of games."""

import json

import pytest

import foglight as fl

pytest.importorskip("anywidget", reason="no foglight[notebook]: the widget is not tested")
from test_page import CHROMIUM, PATIENCE, SWITCHES, axe, playwright  # skips where there is no browser

from foglight.notebook.widget import module, style

PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>A cell</title></head>
<body style="margin:12px;background:#fff">
<main><h1>A notebook</h1><div id="cell"></div></main></body></html>"""
# The model of a notebook: it holds the state, passes on what is sent, and says what has changed.
MODEL = """async ([code, css, state, shadowed]) => {
  const heard = {};
  const model = {
    get: (name) => state[name],
    set: (name, value) => (state[name] = value),
    on: (event, listener) => (heard[event] = [...(heard[event] ?? []), listener]),
    off: (event, listener) => (heard[event] = (heard[event] ?? []).filter((one) => one !== listener)),
    send: async (given) => take(await window.order(given)),
    save_changes: async () => take(await window.wish(state.belief_on)),
  };
  const take = (changes) => {
    for (const [name, value] of changes) {
      state[name] = value;
      for (const listener of heard[`change:${name}`] ?? []) listener();
    }
  };
  const cell = document.getElementById("cell");
  const root = shadowed ? cell.attachShadow({ mode: "open" }) : cell;
  const sheet = document.createElement("style");
  sheet.textContent = css;
  const place = document.createElement("div");
  root.append(sheet, place);
  const { default: widget } = await import(URL.createObjectURL(new Blob([code], { type: "text/javascript" })));
  window.leave = widget.render({ model, el: place });
}"""


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as p:
        browser = p.chromium.launch(executable_path=str(CHROMIUM), args=SWITCHES.split(), timeout=PATIENCE)
        yield browser
        browser.close()


@pytest.fixture
def cell(browser):
    """Opens a widget in a page; no page may complain."""
    complaints, pages = [], []

    def make(widget, width=900, shadowed=False):
        changes = []
        widget.observe(lambda change: changes.append([change["name"], change["new"]]))

        def done():
            news = [[name, value] for name, value in changes if name in ("view", "belief", "trouble")]
            changes.clear()
            return json.loads(json.dumps(news))

        def order(given):
            widget._handle_custom_msg(given, [])
            return done()

        def wish(on):
            widget.belief_on = on
            return done()

        page = browser.new_page(viewport={"width": width, "height": 640})
        page.set_default_timeout(PATIENCE)
        pages.append(page)
        page.on("console", lambda said: said.type in ("error", "warning") and complaints.append(said.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.set_content(PAGE)
        page.expose_function("order", order)
        page.expose_function("wish", wish)
        state = {name: getattr(widget, name) for name in ("view", "belief", "belief_on", "trouble")}
        page.evaluate(MODEL, [module(), style(), state, shadowed])
        return page

    yield make
    for page in pages:
        page.close()
    assert complaints == []


@pytest.mark.parametrize("shadowed", [False, True])  # as in JupyterLab, as in marimo
def test_a_whole_game_by_clicks_on_the_belief(cell, shadowed):
    widget = fl.widget("phantom_ttt", "first_legal", belief=True)
    page = cell(widget, shadowed=shadowed)
    assert "you are seat 0" in page.inner_text(".foglight-widget .title")
    assert page.inner_text(".status") == "your turn"
    clicks = 0
    while widget.record is None and clicks < 9:
        moves = widget.view["moves"]
        page.locator("figure").nth(clicks % 2).locator("[data-actions]").first.click()
        page.locator(".log li").nth(clicks).wait_for(state="attached")
        clicks += 1
        assert len(widget.view["moves"]) < len(moves)
    assert widget.record is not None and "the game is over" in page.inner_text(".status")
    assert "What was true" in page.inner_text(".boards") and page.locator("label").is_hidden()
    page.click("text=Play again")
    page.wait_for_selector("text=your turn")
    assert widget.record is None and widget.view["seen"] == 0


def test_keys_the_switch_and_readers(cell):
    widget = fl.widget("dark_hex(rows=3,cols=3)", "first_legal")
    page = cell(widget)
    assert page.locator("figure").nth(1).is_hidden()
    page.check("input[type=checkbox]")
    page.wait_for_selector("text=What may be true")
    page.locator("[data-actions]").nth(4).focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_selector(".heat")
    assert widget.observations and widget.belief["worlds"] > 1
    found = axe.Axe().run(page, options={"resultTypes": ["violations"]})
    assert [fault["id"] for fault in found.response["violations"]] == []
    page.evaluate("window.leave()")  # a closed view listens no more
