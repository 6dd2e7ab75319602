"""The command line, standing still before it stores more than so many games: `halting.py MOST ARGUMENTS`.

A test that kills a run in the middle waits until some games are stored. However long it is kept waiting itself, the run
is not over by then. It stands in the middle of a transaction, where a kill does most harm.
"""

import itertools
import sys
import time

from foglight.arena.store import Store
from foglight.cli import main


def halting(insert, most):
    """A way to insert games that never ends with the one after so many."""
    games = itertools.count(1)

    def inserted(store, *game):
        if next(games) > most:
            time.sleep(3600)
        insert(store, *game)

    return inserted


if __name__ == "__main__":
    Store._insert = halting(Store._insert, int(sys.argv.pop(1)))
    main()
