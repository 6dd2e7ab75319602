"""One finished game as a file: a store with one match of one game, which everything that reads stores can read."""

import contextlib
import tempfile
from pathlib import Path

from foglight.arena.referee import Record
from foglight.arena.store import Match, Store
from foglight.web.watching import seated


def game_file(match: Match, number: int, record: Record) -> bytes:
    """The bytes of the store. Its only game has number 0, so that no command needs to be told which one is meant.

    The agents are in the order of their seats. The code that played is left out for a game of another number: with it,
    `foglight match` would take the game for the first one of its match. The bytes follow from the game and its times.
    """
    if number:
        match = match._replace(agents=seated(match.agents, number), code=())
    with tempfile.TemporaryDirectory(prefix="foglight-") as folder:
        path = Path(folder) / "game.sqlite"
        with contextlib.closing(Store(path)) as store:
            store.add(store.match(match), 0, record)
            # one whole file without a second one beside it, readable from a folder that cannot be written
            store.connection.execute("PRAGMA journal_mode = DELETE")
            store.connection.execute("VACUUM")
        return path.read_bytes()
