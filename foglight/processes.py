"""What differs between systems about processes: how workers are started, and who hears Ctrl-C.

`FOGLIGHT_START` chooses how workers on this machine start: `fork`, a copy of this process that has all kernels loaded,
or `spawn`, a new Python that imports what it needs. Without it they are forked on Linux and spawned elsewhere: Windows
cannot fork, and what macOS's frameworks have begun does not survive a fork.
"""

import multiprocessing
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from foglight.names import BadInput

START = "FOGLIGHT_START"  # environment variable
FORK, SPAWN = "fork", "spawn"


def start_method(fresh: bool = False) -> str:
    """How a worker is started; `fresh` ones are always spawned."""
    wanted, ways = os.environ.get(START, ""), multiprocessing.get_all_start_methods()
    if wanted not in ("", FORK, SPAWN):
        raise BadInput(f"{START} must be {FORK} or {SPAWN}, not {wanted!r}")
    if wanted == FORK and FORK not in ways:
        raise BadInput(f"this system cannot fork; leave {START} out")
    if fresh or wanted == SPAWN:
        return SPAWN
    return FORK if wanted == FORK or (sys.platform != "darwin" and FORK in ways) else SPAWN


def is_starting() -> bool:
    """Whether this is a spawned process that is still importing the script it comes from."""
    return bool(vars(multiprocessing.current_process()).get("_inheriting", False))


@contextmanager
def findable_script() -> Iterator[None]:
    """While a process is spawned: hide the name of a script that no process could read, such as standard input."""
    main = vars(sys.modules["__main__"])
    path = main.get("__file__")
    if path is None or os.path.exists(path):
        yield
        return
    del main["__file__"]
    try:
        yield
    finally:
        main["__file__"] = path


def undisturbed() -> dict[str, Any]:
    """Options of `subprocess.Popen` for a program to which Ctrl-C at our terminal does not go."""
    if sys.platform == "win32":
        return {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
    return {"start_new_session": True}
