"""The command line: parsing and printing only. Bad input gets one line and exit code 2."""

import errno
import io
import os
import sys

import typer

from foglight.arena.referee import IllegalAction
from foglight.cli import (  # noqa: F401  these add their commands
    checking,
    exploiting,
    exporting,
    learning,
    measuring,
    playing,
    rbc,
    serving,
    thinking,
)
from foglight.cli._app import app, fail
from foglight.names import BadInput
from foglight.pieces import WorkersLost


def main(commands: typer.Typer = app) -> None:
    """Run the command line. A mistake of the user ends in one line on stderr and exit code 2."""
    if "" not in sys.path:
        sys.path.insert(0, "")  # games and agents in the current folder can be named by their address
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and "utf" not in stream.encoding.lower():
            stream.reconfigure(errors="replace")  # a question mark for ± is better than no table
    try:
        sys.exit(commands(standalone_mode=False) or 0)
    except BadInput as error:
        fail(str(error), 2)
    except NotImplementedError as error:  # a game of somebody's own lacks a rule
        fail(str(error) or type(error).__name__, 2)
    except (KeyboardInterrupt, typer.Abort):
        fail("stopped", 130)
    except BrokenPipeError:  # the reader of our output, such as head, has seen enough
        sys.stderr.close()
        sys.exit(0)
    except (IllegalAction, WorkersLost) as error:
        fail(str(error), 1)
    except OSError as error:  # even to ask whether such a file exists is an error
        if error.errno != errno.ENAMETOOLONG:
            raise
        fail(f"the name of a file is too long: {str(error.filename)[:60]}...; choose a shorter one", 2)
    except Exception as error:
        notes = vars(error).get("__notes__")
        if notes and not os.environ.get("FOGLIGHT_TRACEBACK"):  # the code of somebody's bot or study has failed
            fail(f"{notes[0]}; FOGLIGHT_TRACEBACK=1 shows all of it", 1)
        # Typer's usage errors: Click's classes or copies of them, depending on Typer's version
        if not hasattr(error, "format_message"):
            raise
        if type(error).__name__ == "NoArgsIsHelpError":  # the help has been printed already
            sys.exit(0)
        fail(f"{error.format_message().rstrip('.')}; see foglight --help", 2)
