"""UCI engines, such as Stockfish: the values of positions and of their moves.

An engine is a separate program, which is asked through pipes; several may run in parallel. Answers are remembered by
position. A program that dies, hangs or gives an unreadable answer is started again and asked once more. If that fails
too, the position gets the value of `captures.quiet`; after a few such positions in a row an error is raised. Positions
without a king, or in which the king of the side that has just moved can be captured, are never sent: they are not legal
chess, and engines crash on them. Their values are decided here.
"""

import os
import re
import select
import shutil
import subprocess
import threading
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numpy import uint64

from foglight.bits import get
from foglight.blind_chess.captures import WIN, is_in_check, king_of, quiet, quiet_room
from foglight.chess import notation
from foglight.chess.board import CLOCK, STATE, TURN, WHITE, WORDS
from foglight.compile import kernel
from foglight.names import BadInput
from foglight.processes import undisturbed

NAMES = ("stockfish",)  # programs to look for
_BESIDE_PATH = "/usr/games"  # where Debian puts engines, and where not every PATH looks
_SAME = uint64((1 << CLOCK[1]) - 1)  # the bits of the state that tell positions apart
_ALL_LINES = 256  # more than the moves of any position
_SURE = WIN - 1000  # most centipawns of a score that is no mate
_GIVING_UP = 10  # failures on so many positions in a row raise an error
_MOVE = re.compile(r"[a-h][1-8][a-h][1-8][qrbn]?$")
_SELECTS = os.name != "nt"  # whether one can wait for a pipe; on Windows for sockets only
_SEND, _WON, _LOST = 0, 1, 2  # fates of positions: to be sent; won or lost for the side to move


class Answer(NamedTuple):
    """An engine's answer about a position, in centipawns for the side to move."""

    value: int
    lines: dict[str, int]  # value by first move, as `e2e4` or `e7e8q`


def find_engine(path: str | None = None) -> str:
    """The path of this program, or of the first known engine on PATH."""
    search = os.pathsep.join((os.environ.get("PATH", ""), _BESIDE_PATH))
    program = next((which for name in ((path,) if path else NAMES) if (which := shutil.which(name, path=search))), None)
    if program is None:
        what = f"no program {path!r}" if path else "no chess engine on PATH"
        raise BadInput(f"{what}; install Stockfish (apt-get install stockfish), or say where one is with --engine PATH")
    return program


class Engine:
    """A UCI engine in one or several processes.

    Each position gets `depth` plies, `nodes` nodes or `seconds`; give at most one of them. `memory` is the hash table
    of each process in MiB, `patience` the seconds before a process counts as hanging, and `remembered` the most answers
    kept. A `forgetful` engine starts afresh with every position, which takes it a millisecond; answers then depend on
    nothing else, unless they are limited by time. `batch` positions are sent at once when values alone are asked for:
    three times as fast at depth 1, if the engine queues what it is sent, as Stockfish does.
    """

    def __init__(
        self,
        path: str | None = None,
        *,
        processes: int = 1,
        depth: int = 0,
        nodes: int = 0,
        seconds: float = 0.0,
        memory: int = 4,
        forgetful: bool = False,
        batch: int = 1,
        patience: float = 10.0,
        remembered: int = 200_000,
    ) -> None:
        if sum(map(bool, (depth, nodes, seconds))) > 1 or min(depth, nodes, seconds) < 0:
            raise BadInput("give an engine at most one of depth, nodes and seconds, and not a negative number")
        if not 1 <= processes <= 256:
            raise BadInput(f"processes must be from 1 to 256, not {processes}")
        self.path = find_engine(path)
        limit = f"nodes {nodes}" if nodes else f"movetime {max(1, round(1000 * seconds))}" if seconds else ""
        self._go = f"go {limit or f'depth {depth or 4}'}"
        self._options = {"Threads": 1, "Hash": memory}
        self._forgetful, self._batch = forgetful, batch
        self._patience, self._remembered = patience + seconds, remembered
        self._processes: list[_Process | None] = [None] * processes
        self._owner = os.getpid()  # programs belong to the process that started them
        self._answers: dict[tuple[bytes, bool], Answer] = {}
        # positions sent, programs started again, positions without answer
        self.asked = self.restarts = self.failures = 0
        self._failed_in_a_row = 0

    def __enter__(self) -> "Engine":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __del__(self) -> None:
        if any(getattr(self, "_processes", ())):  # a closed engine needs nothing that an ending interpreter has dropped
            self.close()

    def close(self) -> None:
        """End the programs; the next question starts new ones."""
        if self._owner == os.getpid():
            for place in range(len(self._processes)):
                self._drop(place)

    def evaluate(self, rows: np.ndarray) -> np.ndarray:
        """The values of positions to white, in centipawns; rows are worlds of chess on the full board."""
        values = np.array([answer.value for answer in self._answered(rows, every_move=False)], float)
        return np.where(rows[:, STATE] & uint64(1) == uint64(WHITE), values, -values)

    def analyse(self, rows: np.ndarray) -> list[dict[int, int]]:
        """For each position, the value of each legal move to its player, in centipawns.

        There are no values where a king can be captured.
        """
        answers = self._answered(rows, every_move=True)
        return [
            {notation.read_coordinates(row, text): value for text, value in answer.lines.items()}
            for row, answer in zip(rows, answers, strict=True)
        ]

    def best_moves(self, fen: str, n: int = 1) -> list[tuple[str, int]]:
        """The n best moves of a position and their values to the side to move, the best first."""
        size, board = notation.read_fen(fen)
        if size != 8:
            raise BadInput(f"engines play on 8x8 squares, not {size}x{size}")
        lines = self._answered(board[None, :], every_move=True)[0].lines
        return sorted(lines.items(), key=lambda line: -line[1])[:n]

    def _answered(self, rows: np.ndarray, every_move: bool) -> list[Answer]:
        """Answers in the order of the rows, from memory where possible."""
        boards = rows[:, :WORDS].copy()
        boards[:, STATE] &= _SAME
        keys = [(board.tobytes(), every_move) for board in boards]
        places = {key: i for i, key in enumerate(keys) if key not in self._answers}
        if len(self._answers) + len(places) > self._remembered:
            self._answers.clear()
            places = {key: i for i, key in enumerate(keys)}
        fates = _fates(boards[list(places.values())])
        unknown = []
        for (key, i), fate in zip(places.items(), fates.tolist(), strict=True):
            if fate == _SEND:
                unknown.append((key, i))
            else:
                self._answers[key] = Answer(WIN if fate == _WON else -WIN, {})
        shares = [unknown[i :: len(self._processes)] for i in range(len(self._processes))]
        busy = [(place, share) for place, share in enumerate(shares) if share]
        if len(busy) == 1:
            self._ask(*busy[0], boards)
        elif busy:
            with ThreadPoolExecutor(len(busy)) as pool:
                for done in [pool.submit(self._ask, place, share, boards) for place, share in busy]:
                    done.result()
        return [self._answers[key] for key in keys]

    def _ask(self, place: int, share: list[tuple[tuple[bytes, bool], int]], boards: np.ndarray) -> None:
        """Ask one process about its share of the positions."""
        at_once = 1 if any(every_move for (_, every_move), _ in share) else self._batch
        for k in range(0, len(share), at_once):
            lot = share[k : k + at_once]
            answers = self._try(place, [notation.fen(8, boards[i]) for _, i in lot], False) if at_once > 1 else None
            if answers is not None:
                self.asked += len(lot)
                self._failed_in_a_row = 0
                self._answers |= {key: answer for (key, _), answer in zip(lot, answers, strict=True)}
            else:
                self._ask_singly(place, lot, boards)

    def _ask_singly(self, place: int, share: list[tuple[tuple[bytes, bool], int]], boards: np.ndarray) -> None:
        for key, i in share:
            fen = notation.fen(8, boards[i])
            answers = self._try(place, [fen], key[1]) or self._try(place, [fen], key[1])
            self.asked += 1
            if answers is None:
                self.failures += 1
                self._failed_in_a_row += 1
                answers = [Answer(int(quiet(boards[i], quiet_room())), {})]
                if self._failed_in_a_row >= _GIVING_UP:
                    raise BadInput(
                        f"{self.path} failed on {_GIVING_UP} positions in a row; is it a working UCI engine?"
                    )
            else:
                self._failed_in_a_row = 0
            self._answers[key] = answers[0]

    def _try(self, place: int, fens: list[str], every_move: bool) -> list[Answer] | None:
        """The answers of one process, or None if it fails; it is then ended, and started again when next asked."""
        if self._owner != os.getpid():  # forked: pipes belong to the parent
            self._owner, self._processes = os.getpid(), [None] * len(self._processes)
        process = self._processes[place]
        try:
            if process is None:
                process = self._processes[place] = _Process(self.path, self._options, self._patience)
            return process.answers(fens, self._go, _ALL_LINES if every_move else 1, self._forgetful)
        except (_Failure, OSError):
            if process is None:
                raise BadInput(f"{self.path} does not speak UCI; give a chess engine such as Stockfish") from None
            self._drop(place)
            self.restarts += 1
            return None
        except KeyboardInterrupt:  # half an answer is in the pipe
            self._drop(place)
            raise

    def _drop(self, place: int) -> None:
        process, self._processes[place] = self._processes[place], None
        if process is not None:
            process.close()


# One program ----------------------------------------------------------------------------------------------------


class _Failure(Exception):
    """The program has died, hangs, or gives an unreadable answer."""


class _Process:
    """A running engine."""

    def __init__(self, path: str, options: dict[str, int], patience: float) -> None:
        self.patience, self.rest, self.lines = patience, b"", 1
        self.program = subprocess.Popen(
            [path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            **undisturbed(),
        )
        try:
            self.say("uci")
            self.until("uciok")
            for name, value in options.items():
                self.say(f"setoption name {name} value {value}")
            self.say("isready")
            self.until("readyok")
        except (_Failure, OSError):
            self.close()
            raise

    def close(self) -> None:
        self.program.kill()
        for pipe in (self.program.stdin, self.program.stdout):
            if pipe is not None:
                pipe.close()
        self.program.wait()

    def say(self, line: str) -> None:
        assert self.program.stdin is not None
        self.program.stdin.write(line.encode() + b"\n")

    def until(self, word: str) -> list[str]:
        """Read lines up to the first one that begins with this word."""
        assert self.program.stdout is not None
        pipe, lines, end = self.program.stdout.fileno(), [], time.monotonic() + self.patience
        while True:
            while b"\n" in self.rest:
                line, self.rest = self.rest.split(b"\n", 1)
                lines.append(line.decode(errors="replace").strip())
                if lines[-1].split(" ", 1)[0] == word:
                    return lines
            more = self._read(pipe, max(0.0, end - time.monotonic()))
            if not more:
                raise _Failure("the program has ended")
            self.rest += more

    def _read(self, pipe: int, seconds: float) -> bytes:
        """What comes next; a _Failure if nothing comes in so many seconds."""
        if _SELECTS:
            if not select.select([pipe], [], [], seconds)[0]:
                raise _Failure("no answer")
            return os.read(pipe, 1 << 16)
        late = threading.Timer(seconds, self.program.kill)
        late.start()
        try:
            return os.read(pipe, 1 << 16)
        finally:
            late.cancel()

    def answers(self, fens: list[str], go: str, lines: int, forgetful: bool) -> list[Answer]:
        """The answers to positions that are sent at once."""
        if lines != self.lines:
            self.say(f"setoption name MultiPV value {lines}")
            self.lines = lines
        afresh = "ucinewgame\n" if forgetful else ""
        self.say("\n".join(f"{afresh}position fen {fen}\n{go}" for fen in fens))
        return [self.answer() for _ in fens]

    def answer(self) -> Answer:
        output = self.until("bestmove")
        best = output[-1].split()[1:2]
        if not best or (best[0] not in ("(none)", "0000") and not _MOVE.match(best[0])):
            raise _Failure("bestmove is not a move")
        return _read_answer(output)


def _read_answer(output: Iterable[str]) -> Answer:
    """The last value of each first move, and of the best line."""
    value, lines = None, {}
    for line in output:
        words = line.split()
        if "score" not in words or "lowerbound" in words or "upperbound" in words:
            continue
        try:
            kind, number = words[words.index("score") + 1 : words.index("score") + 3]
            scored = _centipawns(kind, int(number))
        except ValueError:
            raise _Failure("unreadable score") from None
        move, line_number = (_after(words, word) for word in ("pv", "multipv"))
        if _MOVE.match(move):
            lines[move] = scored
        if line_number in ("", "1"):
            value = scored
    if value is None:
        raise _Failure("no score")
    return Answer(value, lines)


def _after(words: list[str], word: str) -> str:
    """The word after this one; empty if there is none."""
    return words[words.index(word) + 1] if word in words[:-1] else ""


def _centipawns(kind: str, number: int) -> int:
    """A score as one number; a mate in n moves is worth WIN - n."""
    if kind == "mate":
        far = min(abs(number), WIN - _SURE)  # a mate is worth no less than any other score
        return WIN - far if number > 0 else far - WIN
    if kind != "cp":
        raise ValueError(kind)
    return max(-_SURE, min(_SURE, number))


@kernel
def _fates(boards):
    """Which positions may be sent to an engine, and who has won the others."""
    fates = np.zeros(len(boards), np.int64)
    for i in range(len(boards)):
        mover = get(boards[i], TURN)
        if king_of(boards[i], mover) == uint64(0):
            fates[i] = _LOST
        elif king_of(boards[i], 1 - mover) == uint64(0) or is_in_check(boards[i], 1 - mover):
            fates[i] = _WON
    return fates
