"""Files that travel: what work reads on the driver's machine, a worker on another one gets by its content.

A worker looks at the same path first. If that file is another one, or none, it keeps the driver's in the cache of its
machine, under a name that follows from the content. Programs do not travel: they need more than their own file.
"""

import hashlib
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

from foglight.compile import cache_folder

_places: dict[str, str] = {}  # in a worker: from the path of a driver's file to that of the copy here


def packed(paths: Iterable[str]) -> dict[str, bytes]:
    """The contents of files, by path, apart from programs."""
    return {path: Path(path).read_bytes() for path in paths if not os.access(path, os.X_OK)}


def unpack(path: str, content: bytes) -> None:
    """Keep a file of the driver's, unless it is here."""
    if not _is_here(Path(path), content):
        kernels = cache_folder()
        folder = kernels.with_name("files") if kernels else Path(tempfile.mkdtemp())
        copy = folder / f"{hashlib.sha256(content).hexdigest()}{Path(path).suffix}"
        if not _is_here(copy, content):
            folder.mkdir(exist_ok=True)
            number, part = tempfile.mkstemp(dir=folder)
            with open(number, "wb") as file:
                file.write(content)
            Path(part).replace(copy)  # whole or not at all, whoever else does the same
        _places[path] = str(copy)


def path_here(path: str) -> str:
    """Where this process finds the file that has this path on the driver's machine."""
    return _places.get(str(Path(path)), path)


def _is_here(path: Path, content: bytes) -> bool:
    try:
        return path.stat().st_size == len(content) and path.read_bytes() == content
    except OSError:
        return False
