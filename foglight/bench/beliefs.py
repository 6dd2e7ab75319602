"""`foglight bench beliefs`: the cost of beliefs, and whether their worlds are legal, in one run on one core.

A section is a list of tasks. Every task gives rows of one table.
"""

from collections.abc import Callable, Sequence

from foglight.bench import boards, deals, legality, samples, trackers
from foglight.bench.figures import Row, check_seconds
from foglight.names import BadInput, unknown

SECTIONS = ("deals", "samples", "trackers", "boards", "legality")
ALL = "all"
SPEED = "beliefs: figures, peers and bars"
TRACKERS = "trackers: children tried per second, time per observation, sizes of sets"
LEGALITY = "legality: worlds judged by the rules"

Task = tuple[str, Callable[[], Sequence[Row]]]  # the title of a table, and a function that gives rows of it


def tasks(
    section: str = ALL,
    seconds: float = 0.5,
    positions: int = 50,
    games: int = 20,
    samples_: int = 10_000,
    seed: int = 0,
) -> list[Task]:
    """The tasks of a section, or of all sections."""
    if section not in (*SECTIONS, ALL):
        raise BadInput(unknown("section", section, (*SECTIONS, ALL)))
    check_seconds(seconds)
    for name, number in (("positions", positions), ("games", games), ("samples", samples_)):
        if number < 1:
            raise BadInput(f"{name} must be at least 1, not {number}")
    by_section: dict[str, list[Task]] = {
        "deals": [(SPEED, task) for task in deals.tasks(seconds)],
        "samples": [(SPEED, task) for task in samples.tasks(positions, seed)],
        "trackers": [(TRACKERS, task) for task in trackers.tasks(games, seed=seed)],
        "boards": [(SPEED, task) for task in boards.tasks(seconds)],
        "legality": [(LEGALITY, task) for task in legality.tasks(samples_, positions, games, seed)],
    }
    return [task for name in SECTIONS if section in (name, ALL) for task in by_section[name]]
