"""A drawing as SVG: sharp at any size, light or dark as the reader's screen is, readable without colour.

What colour says, a shape says too: white pieces are hollow, stones of the second seat are rings, unseen squares are
hatched, hits are crossed, probabilities are written. The file refers to nothing outside itself.
"""

from math import sqrt

from foglight.drawing.model import Drawing, Item

_LIGHT = {
    "paper": "#fff", "ink": "#1f2328", "soft": "#656d76", "edge": "#8c959f", "light": "#f4ecdc", "dark": "#d2b48c",
    "plain": "#f6f8fa", "fog": "#c3c9d1", "mist": "#9aa3ae", "sea": "#d8e9f7", "one": "#1b5faa", "two": "#b3541e",
    "red": "#c8102e", "card": "#fff", "back": "#6f83a8", "heat": "#e8590c", "snow": "#fff", "coal": "#1f2328",
}  # fmt: skip
_DARK = {
    "paper": "#0d1117", "ink": "#e6edf3", "soft": "#9198a1", "edge": "#6e7681", "light": "#7d7463", "dark": "#5c4a36",
    "plain": "#1c2128", "fog": "#30363d", "mist": "#4d555f", "sea": "#17324d", "one": "#6cb0ff", "two": "#f0a060",
    "red": "#ff7b72", "card": "#22272e", "back": "#41557d", "heat": "#d9480f", "snow": "#fff", "coal": "#0d1117",
}  # fmt: skip
_FONT = '-apple-system,"Segoe UI","Noto Sans","DejaVu Sans",Arial,sans-serif'
_SIGNS = '"DejaVu Sans","Segoe UI Symbol","Apple Symbols","Noto Sans Symbols2","Noto Sans Symbols",sans-serif'
# Classes and their style; a picture gets those that it uses. Several pictures of one page share their styles, so the
# order of rules cannot decide: where two apply to one thing, that with more dots does.
_STYLE = {
    "text": f"font:14px {_FONT};fill:var(--ink);text-anchor:middle",
    ".square": "fill:var(--plain);stroke:var(--edge);stroke-width:.5",
    ".cell": "fill:none;stroke:var(--edge);stroke-width:.5",
    ".hexagon": "fill:var(--plain);stroke:var(--edge)",
    ".card": "fill:var(--card);stroke:var(--edge)",
    ".die": "fill:var(--card);stroke:var(--edge)",
    ".button": "fill:var(--card);stroke:var(--edge);stroke-width:1.5",
    "..light": "fill:var(--light)",
    "..dark": "fill:var(--dark)",
    "..sea": "fill:var(--sea)",
    "..back": "fill:var(--back)",
    "..slot": "fill:none;stroke-dasharray:4 3",
    "..best": "stroke:var(--ink);stroke-width:2",
    "..seen": "stroke:var(--one);stroke-width:2",
    "...unseen": "fill:var(--fog)",
    ".hatch": "fill:none;stroke:var(--mist)",
    ".weave": "fill:none;stroke:var(--card);stroke-width:5;stroke-dasharray:2 2;opacity:.55",
    ".pip": "fill:var(--ink)",
    ".heat": "fill:var(--heat)",
    ".line-first": "stroke:var(--one);stroke-width:4",
    ".line-second": "stroke:var(--two);stroke-width:4;stroke-dasharray:7 4",
    ".can": "cursor:pointer",
    ".head": "font-weight:600;text-anchor:start",
    ".say": "text-anchor:start",
    ".mono": "font-family:ui-monospace,Menlo,Consolas,monospace;font-size:13px;text-anchor:start;white-space:pre",
    ".label": "font-size:11px;fill:var(--soft)",
    ".small": "font-size:10.5px",
    ".big": f"font-size:19px;font-family:{_SIGNS}",
    ".suit": f"font-size:15px;font-family:{_SIGNS}",
    ".piece": f"font-size:31px;font-family:{_SIGNS};paint-order:stroke;stroke-linejoin:round",
    ".white": "fill:var(--snow);stroke:var(--coal);stroke-width:2.4px",
    ".black": "fill:var(--coal);stroke:var(--snow);stroke-width:1.2px",
    "..less": "font-size:23px",
    ".red": "fill:var(--red)",
    ".first": "fill:var(--one);stroke:var(--one);stroke-width:3.5",
    ".second": "fill:none;stroke:var(--two);stroke-width:3.5",
    ".on": "fill:var(--paper);font-weight:600",
    ".by": "fill:var(--two);font-weight:600",
    ".ship": "fill:var(--soft);stroke:var(--ink)",
    ".cross": "fill:none;stroke:var(--red);stroke-width:4",
    ".splash": "fill:none;stroke:var(--one);stroke-width:2",
}
_AS_TEXT = "\ufe0e"  # after a sign: not as a coloured picture
_PIPS = {1: "e", 2: "ai", 3: "aei", 4: "acgi", 5: "acegi", 6: "acdfgi"}  # by places of a 3x3 grid, row by row


def svg(drawing: Drawing) -> str:
    """The text of an SVG file."""
    body = _body(drawing)
    used = {word for part in body.split('class="')[1:] for word in part.partition('"')[0].split()}
    return _document(drawing, f"<style>{_style(used)}</style>\n", body)


def markup(drawing: Drawing) -> str:
    """The picture without its style, for a page that has the `stylesheet`."""
    return _document(drawing, "", _body(drawing))


def stylesheet() -> str:
    """The style of all pictures."""
    return _style({name.lstrip(".") for name in _STYLE})


def _body(drawing: Drawing) -> str:
    return "".join(f"{_group(item)}\n" for item in drawing.items)


def _document(drawing: Drawing, style: str, body: str) -> str:
    width, height = _number(drawing.width), _number(drawing.height)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="foglight" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" role="graphics-document">{_title(drawing.title)}\n'
        f'{style}<rect width="{width}" height="{height}" fill="var(--paper)"/>\n{body}</svg>\n'
    )


def _style(used: set[str]) -> str:
    """The variables for light and dark screens, and the selectors of these classes."""
    light, dark = (";".join(f"--{name}:{value}" for name, value in theme.items()) for theme in (_LIGHT, _DARK))
    rules = [f".foglight{{{light}}}", f"@media(prefers-color-scheme:dark){{.foglight{{{dark}}}}}"]
    for name, style in _STYLE.items():
        word = name.lstrip(".")
        if name == "text":
            rules.append(f".foglight text{{{style}}}")
        elif word in used:
            rules.append(f".foglight {f'.{word}' * (len(name) - len(word))}{{{style}}}")
    return "\n".join(rules)


def escaped(text: str) -> str:
    """Text as part of XML; characters that XML does not allow become question marks."""
    for sign, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;"), ("'", "&#39;")):
        text = text.replace(sign, entity)
    return "".join("?" if c < " " or "\ud800" <= c <= "\udfff" or c in "\ufffe\uffff" else c for c in text)


def _title(text: str) -> str:
    return f"<title>{escaped(text)}</title>" if text else ""


def _group(item: Item) -> str:
    """An item with its title and what a page needs to know about it."""
    about, drawn = _title(item.title), _drawn(item)
    bare = not about and not _data(item) and item.shape == "text"
    return drawn if bare else f"<g{_data(item)}>{about}{drawn}</g>"


def _data(item: Item) -> str:
    """What a page needs to know about an item: its place, and the actions of a click."""
    place = f' data-place="{item.place}"' if item.place is not None else ""
    if not item.actions:
        return place
    return f'{place} class="can" tabindex="0" role="button" data-actions="{" ".join(map(str, item.actions))}"'


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _drawn(item: Item) -> str:
    if item.shape == "text":
        return _text(item.x, item.y, item.text, "say" if item.role == "note" else _words(item.role))
    if item.shape == "line":
        ends = item.x, item.y, item.x + item.width, item.y + item.height
        x, y, right, low = map(_number, ends)
        return f'<path class="line-{_words(item.role)}" d="M{x} {y}L{right} {low}"/>'
    heat = _outline(item, f'heat" fill-opacity="{0.12 + 0.68 * item.heat:.2f}') if item.heat is not None else ""
    shape = _outline(item, _words(item.shape, item.role)) if item.shape != "cell" or item.heat is None else ""
    return shape + _pattern(item) + heat + _face(item)


def _outline(item: Item, kind: str) -> str:
    x, y = item.x - item.width / 2, item.y - item.height / 2
    if item.shape == "hexagon":
        half, part = item.width / 2, item.width / sqrt(3)
        corners = ((0, -part), (half, -part / 2), (half, part / 2), (0, part), (-half, part / 2), (-half, -part / 2))
        points = " ".join(f"{_number(item.x + dx)},{_number(item.y + dy)}" for dx, dy in corners)
        return f'<polygon class="{kind}" points="{points}"/>'
    rounded = {"card": ' rx="4"', "die": ' rx="7"', "button": ' rx="6"'}.get(item.shape, "")
    return f'<rect class="{kind}" x="{_number(x)}" y="{_number(y)}" {_size(item.width, item.height)}{rounded}/>'


def _size(width: float, height: float) -> str:
    return f'width="{_number(width)}" height="{_number(height)}"'


def _pattern(item: Item) -> str:
    """What marks unseen squares and backs without colour."""
    x, y = item.x - item.width / 2, item.y - item.height / 2
    if "unseen" in item.role and item.shape == "square":
        left, low, half, side = map(_number, (x, y + item.height, item.width / 2, item.width))
        path = (
            f"M{left} {_number(item.y)}l{half}-{half}M{left} {low}l{side}-{side}M{_number(item.x)} {low}l{half}-{half}"
        )
        return f'<path class="hatch" d="{path}"/>'
    if "back" in item.role and item.shape == "card":
        inner = _size(item.width - 12, item.height - 12)
        return f'<rect class="weave" x="{_number(x + 6)}" y="{_number(y + 6)}" {inner}/>'
    return ""


def _face(item: Item) -> str:
    """The text or the mark of an item, and its note."""
    up, low = (0.0, 0.0) if not item.note else (9.0, 11.0) if item.shape == "hexagon" else (7.0, item.height / 2 - 7)
    note = _text(item.x, item.y + low, item.note, "small") if item.note else ""
    if item.shape == "card" and item.text:
        return _card(item, up) + note
    if item.shape == "die" and item.text.isdigit() and 1 <= int(item.text) <= 6:
        return _pips(item)
    mark = _mark(item, item.y - up)
    if mark or not item.text:
        return mark + note
    if item.look in ("white", "black"):
        kind = f"piece {item.look}{' less' * bool(item.note)}"
        return _text(item.x, item.y - up, item.text + _AS_TEXT, kind) + note
    return _text(item.x, item.y - up, item.text, _words(_size_of(item), item.look)) + note


def _size_of(item: Item) -> str:
    """The class for the size of an item's text."""
    if item.shape in ("button", "cell"):
        return ""
    return "big" if len(item.text) < 3 else "small" if len(item.text) > 5 else ""


def _words(*words: str) -> str:
    """Words of a class."""
    return escaped(" ".join(filter(None, words)))


def _mark(item: Item, y: float) -> str:
    """Marks that are shapes: stones, noughts and crosses, ships and shots."""
    x, r = item.x, item.width * (0.2 if item.note else 0.3)
    at = f'cx="{_number(x)}" cy="{_number(y)}"'
    wide = _number(2 * r)
    cross = f"M{_number(x - r)} {_number(y - r)}l{wide} {wide}m0-{wide}l-{wide} {wide}"
    if item.look in ("first", "second") and item.shape == "hexagon":
        letter = _text(x, y, item.text, _words("on" if item.look == "first" else "by", "small" * bool(item.note)))
        return f'<circle class="{item.look}" {at} r="{_number(r)}"/>{letter}'
    if item.look == "first":
        return f'<path class="first" d="{cross}"/>'
    if item.look == "second":
        return f'<circle class="second" {at} r="{_number(r)}"/>'
    ship = (
        f'<rect class="ship" x="{_number(x - r - 3)}" y="{_number(y - r - 3)}" {_size(2 * r + 6, 2 * r + 6)} rx="5"/>'
    )
    if item.look == "ship":
        return ship
    if item.look == "hit":
        return f'{ship}<path class="cross" d="{cross}"/>'
    return f'<circle class="splash" {at} r="5"/>' if item.look == "water" else ""


def _card(item: Item, up: float) -> str:
    suit = item.text[-1] if item.text[-1] in "♣♦♥♠" else ""
    if not suit or item.note:
        sign = item.text + (_AS_TEXT if suit else "")
        return _text(item.x, item.y - up, sign, _words(_size_of(item), item.look))
    x, y = item.x - item.width / 2 + 10, item.y - item.height / 2
    corner = _text(x, y + 12, item.text[:-1], item.look) + _text(x, y + 27, suit + _AS_TEXT, _words("suit", item.look))
    return corner + _text(item.x + 7, item.y + 12, suit + _AS_TEXT, _words("big", item.look))


def _pips(item: Item) -> str:
    step = item.width * 0.27
    at = [("abcdefghi".index(letter) // 3 - 1, "abcdefghi".index(letter) % 3 - 1) for letter in _PIPS[int(item.text)]]
    return "".join(
        f'<circle class="pip" cx="{_number(item.x + step * column)}" cy="{_number(item.y + step * row)}" r="3"/>'
        for row, column in at
    )


def _text(x: float, y: float, text: str, kind: str = "") -> str:
    given = f' class="{kind}"' if kind else ""
    return f'<text{given} x="{_number(x)}" y="{_number(y)}" dy=".35em">{escaped(text)}</text>'
