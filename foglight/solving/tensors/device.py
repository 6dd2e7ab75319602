"""PyTorch and its devices, or a line that says what is missing."""

import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from foglight.names import BadInput

if importlib.util.find_spec("torch") is None:
    raise BadInput("solving on a device needs PyTorch; install it with: pip install 'foglight[values]'")

import torch

__all__ = ["check_device", "enough_memory", "torch"]


def check_device(device: str) -> None:
    """Refuse a device that is unknown or not available."""
    name, _, number = str(device).partition(":")
    if name not in ("cpu", "cuda") or (name == "cpu" and number) or (":" in str(device) and not number.isdecimal()):
        raise BadInput(f"device must be cpu, cuda, or cuda:1 for the second GPU, not {device!r}")
    if name == "cuda" and not torch.cuda.is_available():
        raise BadInput("there is no CUDA device here; solve without a device, or foglight solve GAME --prepare FILE")
    if number and int(number) >= torch.cuda.device_count():
        raise BadInput(
            f"there is no {device}: this machine has {torch.cuda.device_count()} CUDA devices, from cuda:0 on"
        )


@contextmanager
def enough_memory(game: str, device: str) -> Iterator[None]:
    """Say in one line that a game does not fit into the memory of a device, where PyTorch says it in many."""
    try:
        yield
    except RuntimeError as error:
        if not isinstance(error, torch.OutOfMemoryError) and "can't allocate memory" not in str(error):
            raise
        raise BadInput(f"{game} does not fit into the memory of {device}{_free(device)}; solve without it") from None


def _free(device: Any) -> str:
    if not str(device).startswith("cuda"):
        return ""
    free, total = torch.cuda.mem_get_info(device)
    return f", which has {free / 2**30:.1f} of {total / 2**30:.1f} GiB free"
