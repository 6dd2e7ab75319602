"""The bench of the page: what the first page loads is followed, and all games of a crowd are counted."""

import json

import pytest

import foglight as fl

pytest.importorskip("uvicorn")
pytest.importorskip("websockets")

from foglight.bench import serve


def test_what_a_page_loads_at_once_is_found():
    page = '<link href="/page/style.css"><script type="module" src="page/main.js"></script><a href="/page">'
    assert serve._needed("/", page) == ["/page/style.css", "/page/main.js"]
    module = 'import { a } from "./net.js"; import "./dom.js"; const later = () => import("/page/play.js");'
    assert serve._needed("/page/main.js", module) == ["/page/net.js", "/page/dom.js"]
    assert serve._needed("/page/style.css", '@import "drawing.css";') == ["/page/drawing.css"]
    assert serve._needed("/api/offers", module) == []


def test_what_cannot_be_measured_is_refused():
    for wrong in ({"games": 0}, {"seed": -1}):
        with pytest.raises(fl.BadInput, match="must be at least"):
            serve.run(**wrong)


@pytest.mark.long
def test_the_bench_measures_every_bar(run):
    code, out, _ = run("bench", "serve", "--games", "5", "--json")
    tables = json.loads(out)
    assert code == 0 and list(tables) == [serve.PAGE, serve.CLICKS, serve.BELIEFS, serve.CROWD]
    assert len(tables[serve.CLICKS]) == 2 * len(fl.game_names()) and len(tables[serve.BELIEFS]) == 6
    bars = [row for rows in tables.values() for row in rows if row["met"] is not None]
    assert len(bars) == 2 + len(fl.game_names()) + 3 + 3 and all(row["foglight"] > 0 for row in bars)
    assert [row["foglight"] for row in tables[serve.CROWD] if "played to the end" in row["what"]] == [5.0, 5.0]
