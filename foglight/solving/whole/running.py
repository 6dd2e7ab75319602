"""The loop around a solver: how far to go, progress reports and checkpoints."""

import time
from collections.abc import Callable
from typing import Any

_BREATH = 0.5  # least seconds between two progress reports; computing them takes at most a tenth of the time
_SAVE_EVERY = 10.0  # least seconds between checkpoints; writing them takes at most a twentieth of the time
_LOOK_EVERY = 50  # iterations between two looks at the exploitability, where a target is given

Progress = Callable[[int, int, float], None]  # iterations done, iterations in all, exploitability


def run(
    solver: Any,
    iterations: int,
    exploitability: Callable[[], float],
    target: float = 0.0,
    progress: Progress | None = None,
    save: Callable[[], None] | None = None,
) -> None:
    """Iterate up to `iterations` in all, or until the exploitability is at most `target`; saves on the way."""
    saved = looked = time.monotonic()
    pause, chunk = _SAVE_EVERY, 1
    while solver.iterations < iterations:
        started = time.monotonic()
        until = min(iterations, solver.iterations + chunk)
        if target:
            until = min(until, solver.iterations // _LOOK_EVERY * _LOOK_EVERY + _LOOK_EVERY)
        solver.iterate(until - solver.iterations)
        now = time.monotonic()
        chunk = max(1, min(4 * chunk, int(chunk * 0.2 / max(now - started, 1e-6))))
        if target and solver.iterations % _LOOK_EVERY == 0 and exploitability() <= target:
            break
        if progress is not None and (now - looked > _BREATH or solver.iterations == iterations):
            progress(solver.iterations, iterations, exploitability())
            looked = time.monotonic()
            looked += max(0.0, 9 * (looked - now) - _BREATH)
        if save is not None and now - saved > pause:
            save()
            saved = time.monotonic()
            pause = max(_SAVE_EVERY, 20 * (saved - now))
