"""From the repository to `site/pages`, and from there to `site/html`."""

import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

from website import catalogue, commands, gallery, papers, reference
from website.navigation import configuration
from website.pages import ROOT, copied, pages_of

FOLDER = ROOT / "site"
HERE = Path(__file__).parent
ASSETS = [HERE / "style.css", HERE / "iframe-worker.js", ROOT / "foglight" / "web" / "page" / "icon.svg"]


def prepare(folder: Path, port: int = 8321) -> dict[str, str]:
    """Write `pages/` and `zensical.toml` into the folder; the pages by their paths. Equal files are left alone."""
    pages = pages_of()
    generated = reference.pages(pages) | catalogue.pages() | commands.pages(pages) | papers.pages()
    texts, files = copied(pages, generated)
    target = folder / "pages"
    files |= {f"assets/{path.name}": path for path in ASSETS}
    contents = {name: text.encode() for name, text in texts.items()}
    contents |= {name: source.read_bytes() for name, source in files.items()}
    contents |= {f"gallery/{name}.svg": picture for name, picture in drawn().items()}
    for old in target.rglob("*"):
        if old.is_file() and old.relative_to(target).as_posix() not in contents:
            old.unlink()
    for name, content in contents.items():
        write(target / name, content)
    write(folder / "zensical.toml", configuration(texts, port).encode())
    return texts


@cache
def drawn() -> dict[str, bytes]:
    """The pictures of games, once in a process: they do not change while pages are edited."""
    return gallery.pictures()


def write(path: Path, content: bytes) -> None:
    """Write a file unless it has that content: an equal file keeps its time, so that nothing is built in vain."""
    if not path.exists() or path.read_bytes() != content:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def build(folder: Path) -> tuple[int, str]:
    """Build the site into `folder/html`; the exit code and what Zensical said. Warnings are errors."""
    prepare(folder)
    shutil.rmtree(folder / "html", ignore_errors=True)
    done = subprocess.run(zensical("build", "--clean", "--strict"), cwd=folder, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def serve(folder: Path) -> int:
    return subprocess.run(zensical("serve", "--open"), cwd=folder).returncode


def zensical(*words: str) -> list[str]:
    return [sys.executable, "-m", "zensical", *words]
