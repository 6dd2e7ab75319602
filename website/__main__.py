"""Build the site, or serve it and build again whenever a page changes: `python -m website [--serve]`."""

import argparse
import sys
import time
from pathlib import Path
from threading import Thread

from website.build import FOLDER, build, prepare, serve
from website.pages import ROOT, Broken, sources


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m website", description=__doc__)
    parser.add_argument("--serve", action="store_true", help="show it at an address of this machine, and watch pages")
    parser.add_argument("--port", type=int, default=8321, help="the port of that address")
    chosen = parser.parse_args()
    try:
        if not chosen.serve:
            code, said = build(FOLDER)
            sys.stdout.write(said if code else f"the site is {(FOLDER / 'html' / 'index.html').relative_to(ROOT)}\n")
            return code
        prepare(FOLDER, chosen.port)
    except Broken as error:
        sys.stderr.write(f"{error}\n")
        return 1
    Thread(target=watch, args=(chosen.port,), daemon=True).start()
    return serve(FOLDER)


def watch(port: int) -> None:
    """Copy the pages again when one of them changes; Zensical notices the copies. Docstrings need another start."""
    before = stamps()
    while True:
        time.sleep(1)
        now = stamps()
        if now != before:
            before = now
            try:
                prepare(FOLDER, port)
            except Broken as error:
                sys.stderr.write(f"{error}\n")


def stamps() -> dict[Path, float]:
    return {path: path.stat().st_mtime for path in [*sources(), *Path(__file__).parent.rglob("*.*")] if path.is_file()}


if __name__ == "__main__":
    sys.exit(main())
