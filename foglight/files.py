"""Files that are written whole or not at all, so that a reader never meets half of one."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from foglight.names import BadInput


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A name beside `path` to write to; it takes the place of `path` when all went well, and vanishes otherwise."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        yield part
        part.replace(path)
    except OSError as error:
        raise BadInput(f"cannot write {path} ({error.strerror or error}); choose another file") from None
    finally:
        with suppress(OSError):
            part.unlink()


def write_whole(path: Path, content: bytes) -> None:
    """Write a file in one go."""
    with replacing(path) as part:
        part.write_bytes(content)
