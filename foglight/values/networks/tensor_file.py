"""Files of arrays in the safetensors format, which every framework reads: a JSON header, then plain numbers.

The format is implemented here, so that training needs no packages but torch and numpy.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from foglight.files import write_whole
from foglight.names import BadInput

_KINDS = {"F64": np.float64, "F32": np.float32, "I64": np.int64, "I32": np.int32, "U64": np.uint64, "U8": np.uint8}
_NAMES = {np.dtype(kind): name for name, kind in _KINDS.items()}
_ALIGNED = 8  # bytes to whose multiple the header is padded


def save_arrays(path: Path | str, arrays: Mapping[str, np.ndarray], about: str) -> None:
    """Write arrays by name; `about` is a text that goes into the header."""
    header: dict[str, Any] = {"__metadata__": {"foglight": about}}
    parts, end = [], 0
    for name, array in sorted(arrays.items(), key=lambda item: (-item[1].dtype.itemsize, item[0])):
        content = np.ascontiguousarray(array).tobytes()
        places = [end, end + len(content)]
        header[name] = {"dtype": _NAMES[array.dtype], "shape": list(array.shape), "data_offsets": places}
        parts.append(content)
        end += len(content)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % _ALIGNED)
    write_whole(Path(path), len(text).to_bytes(8, "little") + text + b"".join(parts))


def load_arrays(path: Path | str) -> tuple[dict[str, np.ndarray], str]:
    """The arrays of a file by name, and its `about` text."""
    try:
        content = Path(path).read_bytes()
        header, data = _split(content)
        about = header.pop("__metadata__", {}).get("foglight")
        arrays = {}
        for name, entry in header.items():
            first, last = entry["data_offsets"]
            numbers = np.frombuffer(data[first:last], _KINDS[entry["dtype"]])
            arrays[name] = numbers.reshape(entry["shape"]).copy()
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadInput(f"cannot read the network {path}: {error}") from None
    if about is None:
        raise BadInput(f"{path} is not a value network of foglight: its header has no foglight entry")
    return arrays, about


def read_about(path: Path | str) -> str | None:
    """The `about` text of a file, without reading the arrays; None if it has none."""
    with Path(path).open("rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
    about = header.get("__metadata__", {}).get("foglight")
    return None if about is None else str(about)


def _split(content: bytes) -> tuple[dict[str, Any], bytes]:
    """The header and the numbers of a file."""
    length = int.from_bytes(content[:8], "little")
    if len(content) < 8 + length:
        raise ValueError("the file is cut short")
    header = json.loads(content[8 : 8 + length])
    return header, content[8 + length :]
