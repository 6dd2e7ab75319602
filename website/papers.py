"""The bibliography, from `papers.bib`: every paper under its key, which is what pages and docstrings cite."""

import re
import unicodedata

from website.pages import ROOT

ENTRY = re.compile(r"^@\w+\{(\w+),\n(.*?)^\}", re.M | re.S)
FIELD = re.compile(r"^\s*(\w+)\s*=\s*\{(.*?)\},?$", re.M)
ACCENTS = {"'": "\u0301", "`": "\u0300", "^": "\u0302", '"': "\u0308", "~": "\u0303", "v": "\u030c", "c": "\u0327"}


def pages() -> dict[str, str]:
    entries = ENTRY.findall((ROOT / "papers.bib").read_text(encoding="utf-8"))
    lines = ["# Papers", "", "What the library stands on. Pages and docstrings cite these keys.", ""]
    for key, body in sorted(entries):
        fields = {name: plain(value) for name, value in FIELD.findall(body)}
        lines += [f"### {key} {{ #{key} }}", "", cited(fields), ""]
    return {"papers.md": "\n".join(lines)}


def cited(fields: dict[str, str]) -> str:
    authors = [" ".join(reversed(name.split(", "))) for name in fields["author"].split(" and ")]
    where = fields.get("journal") or fields.get("booktitle") or fields.get("note", "")
    volume = " ".join(filter(None, [fields.get("volume"), f"({fields['number']})" if "number" in fields else ""]))
    pages = f"pages {fields['pages']}" if "pages" in fields else ""
    rest = ", ".join(filter(None, [where, volume, pages, fields["year"]]))
    return f"{', '.join(authors)}: *{fields['title']}*. {rest}."


def plain(text: str) -> str:
    """TeX's accents and braces as ordinary letters."""
    text = re.sub(
        r"\{?\\(['`^\"~vc])\s*\{?\\?(\w)\}?\}?", lambda m: unicodedata.normalize("NFC", m[2] + ACCENTS[m[1]]), text
    )
    return re.sub(r"[{}]|\\(?=&)", "", text).replace("--", "–")
