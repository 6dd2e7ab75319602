"""Writing files whole or not at all, so that a reader never sees half of one."""

import hashlib
import io
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np

from foglight.names import BadInput


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary path beside `path` to write to; it replaces `path` if the block succeeds, else it is deleted."""
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
    """Write a file, whole or not at all."""
    with replacing(path) as part:
        part.write_bytes(content)


def npz(arrays: Mapping[str, np.ndarray]) -> bytes:
    """The content of a file that holds these arrays."""
    room = io.BytesIO()
    np.savez_compressed(room, **arrays)  # type: ignore[arg-type]
    return room.getvalue()


def write_arrays(path: Path, arrays: Mapping[str, np.ndarray]) -> str:
    """Write arrays to a file in the npz format, whole or not at all; returns its SHA-256."""
    return write_digested(path, npz(arrays))


def write_digested(path: Path, content: bytes) -> str:
    """Write a file, whole or not at all; returns its SHA-256."""
    write_whole(path, content)
    return hashlib.sha256(content).hexdigest()
