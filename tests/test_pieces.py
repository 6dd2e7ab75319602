"""Pieces of work in several processes: each gives one result, whatever dies; and the driver stays in charge."""

import contextlib
import json
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import NamedTuple

import pytest
from rich.console import Console

import foglight as fl
from foglight import compile as compiling
from foglight.arena.entrants import entrant, relocated, seated
from foglight.names import Spec, parse_spec
from foglight.pieces import (
    DEATHS,
    Batch,
    Crew,
    Hand,
    Here,
    Lot,
    Outcome,
    Schedule,
    Where,
    WorkersLost,
    luggage,
    opened,
    where,
)
from foglight.pieces.local import Processes

LOTS = [Lot(10, range(7)), Lot(20, ()), Lot(30, [1]), Lot(40, range(200))]
PROCESSES = [1, 2, pytest.param(8, marks=pytest.mark.long)]


@contextmanager
def adding():
    yield lambda common, piece: common + piece


def results_of(work, lots, workers, **options):
    with opened(workers, **options) as place:
        return sorted((lot, *pair) for lot, *both in place.run(work, lots) for pair in zip(*both, strict=True))


EXPECTED = [(number, piece, lot.common + piece) for number, lot in enumerate(LOTS) for piece in lot.pieces]


@pytest.mark.parametrize("workers", PROCESSES)
def test_every_piece_gives_one_result(workers):
    assert results_of(adding, LOTS, workers) == EXPECTED and len(EXPECTED) == 208


def test_fresh_processes_do_the_same():
    assert results_of(adding, LOTS, 2, fresh=True) == EXPECTED


@pytest.mark.parametrize("workers", PROCESSES)
def test_a_place_is_used_again_for_other_work(workers):
    with opened(workers) as place:
        for _ in range(2):
            assert sum(len(done.pieces) for done in place.run(adding, LOTS)) == 208
        (done,) = place.run(multiplying, [Lot(6, [7])])
    assert done.results == [42]


@contextmanager
def multiplying():
    yield lambda common, piece: common * piece


def test_large_pieces_and_results_block_nobody():
    """Both ways are fuller than any pipe."""
    lots = [Lot(bytes(2_000_000), [bytes([i]) * 300_000 for i in range(20)])]
    found = results_of(echoing, lots, 2)
    assert [result for _, _, result in found] == [bytes(2_000_000)[: len(piece)] + piece for piece in lots[0].pieces]


@contextmanager
def echoing():
    yield lambda common, piece: common[: len(piece)] + piece


def test_a_worker_starts_no_workers_of_its_own():
    assert not where(2).is_here and not where("local").is_here and where(1).is_here
    assert results_of(nesting, [Lot(None, [0])], 2) == [(0, 0, True)]


@contextmanager
def nesting():
    yield lambda common, piece: where(2).is_here and where("ray").is_here


@pytest.mark.parametrize("wrong", [0, -1, 1.5, True, None])
def test_a_number_of_workers_is_whole(wrong):
    with (
        pytest.raises(fl.BadInput, match="workers must be a whole number of at least 1, not")
        if wrong is not None
        else (pytest.raises(TypeError))
    ):
        where() if wrong is None else where(wrong)


@pytest.mark.parametrize(
    ("text", "fine"),
    [("local", True), ("ray", True), ("10.0.0.7:6379", True), ("ray://head:10001", True), ("head", False), ("", False)],
)
def test_a_place_has_a_name_or_an_address(text, fine):
    if fine:
        assert where(text) == Where(text) and where(Where(text, 3)).most == 3
    else:
        with pytest.raises(fl.BadInput, match="work is done on local, ray, or the address of a Ray cluster"):
            where(text)


# Batches --------------------------------------------------------------------------------------------------------


def play_out(pieces, seconds, workers=2):
    """The sizes of batches if each piece takes so many seconds and workers take turns."""
    schedule, sizes, given = Schedule([Lot(None, range(pieces))]), [], []
    while batch := schedule.batch(workers, ahead=False):
        sizes.append(len(batch.pieces))
        done = schedule.finish(batch, [None] * len(batch.pieces), seconds * len(batch.pieces))
        given += done.pieces
    assert given == list(range(pieces)) and schedule.left == 0
    return sizes


def test_batches_take_a_quarter_of_a_second():
    sizes = play_out(100_000, 0.001)
    assert sizes[:4] == [1, 8, 64, 250] and max(sizes) == 250
    assert set(play_out(1000, 0.3)) == {1}, "pieces that take longer go alone"


def test_the_last_batches_are_small():
    sizes = play_out(10_000, 1e-5)
    assert max(sizes) == 2353 and sizes[-4:] == [1] * 4
    assert all(size <= max(1, (10_000 - sum(sizes[:i])) // 4) for i, size in enumerate(sizes))


def test_batches_take_longer_with_very_many_workers():
    # 10,000 workers and 1,000 batches a second: a batch takes 10 s
    schedule = Schedule([Lot(None, range(10**9))])
    batch = schedule.batch(10_000, ahead=False)
    for expected in (8, 64, 100, 100):
        schedule.finish(batch, [None] * len(batch.pieces), 0.1 * len(batch.pieces))
        batch = schedule.batch(10_000, ahead=False)
        assert len(batch.pieces) == expected


def test_only_short_pieces_are_sent_ahead():
    schedule = Schedule([Lot(None, range(100))])
    assert schedule.batch(1, ahead=True) is None, "nobody knows how long they take"
    schedule.finish(schedule.batch(1, ahead=False), [None], 0.01)
    assert schedule.batch(1, ahead=True) is not None
    schedule.finish(schedule.batch(1, ahead=False), [None], 10.0)
    assert schedule.batch(1, ahead=True) is None


def test_a_batch_that_died_is_halved_and_the_next_one_is_not():
    schedule = Schedule([Lot(None, range(100))])
    schedule.finish(schedule.batch(1, ahead=False), [None], 0.001)
    batches = [schedule.batch(1, ahead=False) for _ in range(2)]
    assert [len(batch.pieces) for batch in batches] == [8, 8]
    assert schedule.lose(batches, blameless=False) is None
    again = [list(schedule.batch(1, ahead=False).pieces) for _ in range(3)]
    assert again == [[1, 2, 3, 4], [5, 6, 7, 8], list(range(9, 17))]


def test_a_piece_is_given_up_after_three_deaths_that_are_its_own():
    schedule = Schedule([Lot(None, ["x"])])
    for _ in range(DEATHS - 1):
        assert schedule.lose([schedule.batch(1, ahead=False)], blameless=False) is None
        assert schedule.lose([schedule.batch(1, ahead=False)], blameless=True) is None
    assert schedule.lose([schedule.batch(1, ahead=False)], blameless=False).pieces == ["x"]
    assert schedule.left == 1
    assert Batch(0, [1]).deaths == 0


class Backwards(Crew):
    """Two workers here, whose answers come in the wrong order."""

    def __init__(self):
        self.crew, self.sent = [Hand(), Hand()], []

    def hands(self, pieces):
        return self.crew

    def send(self, hand, batch, head, pieces):
        work, common = pickle.loads(head)
        with work() as function:
            results = [function(common, piece) for piece in pickle.loads(pieces)]
        self.sent.insert(0, Outcome(hand, batch, pickle.dumps((results, 0.001, None, ""))))

    def wait(self):
        sent, self.sent = self.sent, []
        return sent


def test_answers_may_come_in_any_order():
    found = [(lot, *pair) for lot, *both in Backwards().run(adding, LOTS) for pair in zip(*both, strict=True)]
    assert sorted(found) == EXPECTED != found


# Deaths ---------------------------------------------------------------------------------------------------------


@contextmanager
def dying():
    """Pieces that end their process the first time; the file says that they have."""

    def work(folder, piece):
        mark = Path(folder) / str(piece)
        if piece % 10 == 3 and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return piece * piece

    yield work


def died_and_done(place, folder, pieces):
    """How many workers died of so many pieces, each of which gave one result."""
    run = list(place.run(dying, [Lot(str(folder), range(pieces))]))
    found = [pair for done in run for pair in zip(done.pieces, done.results, strict=True)]
    assert sorted(found) == [(piece, piece * piece) for piece in range(pieces)]
    return place.deaths


@pytest.mark.parametrize("workers", [2, pytest.param(8, marks=pytest.mark.long)])
def test_what_died_with_a_worker_is_done_by_another(tmp_path, workers):
    with opened(workers) as place:
        assert died_and_done(place, tmp_path, 100) == 10


@contextmanager
def poisoned():
    yield lambda common, piece: os.kill(os.getpid(), signal.SIGKILL) if piece == common else piece


@pytest.mark.parametrize("workers", [1, 2])
def test_a_piece_that_always_ends_its_worker_ends_the_run(workers):
    found = []
    with (
        pytest.raises(WorkersLost, match=r"worker processes keep dying; \d+ pieces are left") as lost,
        Processes(workers) as place,
    ):
        for done in place.run(poisoned, [Lot(-1, range(5)), Lot(77, range(200))]):
            found += [(done.lot, piece) for piece in done.pieces]
    assert (lost.value.lot, lost.value.piece) == (1, 77)
    assert lost.value.left == 205 - len(found) >= 1
    assert (1, 77) not in found and len(found) == len(set(found))
    before = {(0, piece) for piece in range(5)} | {(1, piece) for piece in range(77)}
    assert workers == 2 or before < set(found), "all that comes before; a second worker may still have some of it"


def test_a_match_says_which_game_ends_its_workers(monkeypatch):
    from foglight.arena import match

    real = match._play

    def dies(plan, number, agents):
        return os.kill(os.getpid(), signal.SIGKILL) if number == 7 else real(plan, number, agents)

    monkeypatch.setattr(match, "_play", dies)
    with pytest.raises(RuntimeError, match="number 7 of random against first_legal has ended 3 workers in a row"):
        fl.play_match("kuhn_poker", ["random", "first_legal"], games=20, workers=2)


@dataclass
class Mortal(fl.Agent):
    """Its worker dies in the first game, and in the first game after that; files say that it has."""

    folder: str = ""

    def act(self, actions=None):
        for mark in (Path(self.folder) / "once", Path(self.folder) / "twice"):
            with contextlib.suppress(FileExistsError):
                mark.touch(exist_ok=False)
                os.kill(os.getpid(), signal.SIGKILL)
        return (actions or self.legal_actions())[0]


def test_the_bar_shows_how_many_workers_died(run, monkeypatch, tmp_path):
    shown = Console(file=StringIO(), force_terminal=True, width=150)
    monkeypatch.setattr("rich.console.Console", lambda **options: shown)
    match = ["match", f"{__name__}:Mortal(folder={tmp_path})", "random", "--game", "kuhn_poker", "--games", "30"]
    code, out, _ = run(*match, "--workers", "2", "--json")
    assert code == 0 and json.loads(out)["games"] == 30
    text = shown.file.getvalue()
    assert "games, 1 worker died" in text and "games, 2 workers died" in text and "3 workers" not in text
    assert text.index("30/30") > text.index("2 workers died")
    shown.file.truncate(0)
    assert run(*match, "--workers", "2")[0] == 0
    assert "30/30" in shown.file.getvalue() and "died" not in shown.file.getvalue()


# Errors ---------------------------------------------------------------------------------------------------------


@contextmanager
def failing():
    def work(kind, piece):
        if piece == 5:
            raise pickle.loads(kind) if isinstance(kind, bytes) else Odd("a", "b")
        return piece

    yield work


class Odd(Exception):
    """It can be pickled, but not be made again."""

    def __init__(self, one, two):
        super().__init__(one)


@pytest.mark.parametrize("crew", [Here, lambda: Processes(1)])
def test_an_error_is_raised_as_it_is_after_the_results_before_it(crew):
    problem = KeyError("x")
    problem.add_note("what failed")
    found = []
    with pytest.raises(KeyError, match="x") as raised, crew() as place:
        for done in place.run(failing, [Lot(pickle.dumps(problem), range(40))]):
            found += done.pieces
    assert raised.value.__notes__ == ["what failed"]
    assert found[:5] == [0, 1, 2, 3, 4] and 5 not in found and len(found) == len(set(found))
    if crew is not Here:
        assert "in work" in str(raised.value.__cause__), "the traceback of the worker"


def test_an_error_that_cannot_be_sent_is_told():
    with pytest.raises(RuntimeError, match=r"Odd: a \(test_pieces.py:\d+\)"):
        results_of(failing, [Lot(None, range(9))], 2)


@contextmanager
def unsendable():
    yield lambda common, piece: lambda: piece


def test_a_result_that_cannot_be_sent_is_an_error():
    with pytest.raises((AttributeError, pickle.PicklingError), match="pickle"):
        results_of(unsendable, [Lot(None, [1, 2])], 2)


# Opening and closing --------------------------------------------------------------------------------------------


@contextmanager
def logged():
    def write(word):
        with open(os.environ["PIECES_LOG"], "a") as log:
            log.write(f"{os.getpid()} {word}\n")

    write("open")
    try:
        yield lambda common, piece: write("piece") or 1 // (piece - common)
    finally:
        write("close")


def lives(log):
    by_process = {}
    for line in log.read_text().splitlines():
        by_process.setdefault(line.split()[0], []).append(line.split()[1])
    return list(by_process.values())


@pytest.mark.parametrize("workers", [1, 2])
def test_work_is_opened_once_and_closed_at_the_end(tmp_path, monkeypatch, workers):
    log = tmp_path / "log"
    monkeypatch.setenv("PIECES_LOG", str(log))
    results_of(logged, [Lot(-1, range(20)), Lot(-2, range(20))], workers)
    assert sum(life.count("piece") for life in lives(log)) == 40
    for life in lives(log):
        assert [life[0], life[-1]] == ["open", "close"] and set(life[1:-1]) <= {"piece"}
    assert len(lives(log)) <= workers


@pytest.mark.parametrize("workers", [1, 2])
def test_work_that_fails_is_closed(tmp_path, monkeypatch, workers):
    log = tmp_path / "log"
    monkeypatch.setenv("PIECES_LOG", str(log))
    with pytest.raises(ZeroDivisionError):
        results_of(logged, [Lot(0, [0])], workers)
    assert lives(log) == [["open", "piece", "close"]]


# The driver -----------------------------------------------------------------------------------------------------


@contextmanager
def sleeping():
    def work(folder, piece):
        (Path(folder) / str(os.getpid())).touch()
        time.sleep(600)

    yield work


def drive(folder):
    with opened(2) as place:
        list(place.run(sleeping, [Lot(folder, range(4))]))


def is_running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc")
@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGKILL])
def test_workers_end_with_the_driver(tmp_path, end):
    # whoever starts the tests in the background may have left it deaf to Ctrl-C
    code = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    code += f"from test_pieces import drive; drive({str(tmp_path)!r})"
    driver = subprocess.Popen(
        [sys.executable, "-c", code], cwd=Path(__file__).parent, stderr=subprocess.PIPE, text=True
    )
    limit = time.monotonic() + 600
    while len(list(tmp_path.iterdir())) < 2 and driver.poll() is None and time.monotonic() < limit:
        time.sleep(0.02)
    workers = [int(path.name) for path in tmp_path.iterdir()]
    assert len(workers) == 2 and all(map(is_running, workers))
    driver.send_signal(end)
    _, err = driver.communicate(timeout=300)
    if end == signal.SIGINT:
        assert "KeyboardInterrupt" in err
        assert not any(map(is_running, workers)), "they have ended before the driver does"
    while any(map(is_running, workers)) and time.monotonic() < limit:
        time.sleep(0.02)
    assert not any(map(is_running, workers))


# Compiling ------------------------------------------------------------------------------------------------------


def compile_once(folder, start, counts):
    """Wait for the others, play, and say how many kernels this process has compiled."""
    os.environ["FOGLIGHT_CACHE"] = folder
    compiling.cache_folder.cache_clear()
    start.wait()
    fl.play_match("kuhn_poker", ["random", "first_legal"], games=2)
    counts.put(compiling._progress.kernels)


@pytest.mark.skipif(compiling.INTERPRET_ALL, reason="nothing is compiled")
def test_a_kernel_is_compiled_by_one_process_of_a_machine(tmp_path):
    spawn = multiprocessing.get_context("spawn")
    start, counts = spawn.Barrier(3), spawn.Queue()
    players = [spawn.Process(target=compile_once, args=(str(tmp_path), start, counts)) for _ in range(3)]
    for player in players:
        player.start()
    compiled = sum(counts.get(timeout=300) for _ in players)
    for player in players:
        player.join()
    files = list((tmp_path / "kernels").glob("*.nbc"))
    assert compiled == len(files) > 1
    assert not list((tmp_path / "kernels").glob("*.lock"))


# What matches declare -------------------------------------------------------------------------------------------


@dataclass
class Heavy(fl.Agent):
    threads: int = 3
    memory_bytes: int = 2**30

    def act(self, actions=None):
        return (actions or self.legal_actions())[0]


def test_threads_and_memory_of_agents_are_declared(monkeypatch):
    from foglight.arena import match

    class Enough(Exception):
        pass

    def declared(workers, **needs):
        raise Enough(needs["threads"], needs["memory"], needs["modules"])

    monkeypatch.setattr(match, "opened", declared)
    with pytest.raises(Enough) as needs:
        fl.play_match("kuhn_poker", [Heavy(), Heavy(threads=2)], games=2, workers=2)
    assert needs.value.args == (3, 2 * 2**30, sorted(["foglight.games.kuhn_poker", __name__]))


@pytest.fixture
def travelled(tmp_path, monkeypatch):
    """A file of another machine's, at a path that is not here: the path, and where it is here."""
    monkeypatch.setattr(luggage, "_places", {})
    monkeypatch.setattr(luggage, "cache_folder", lambda: tmp_path / "kernels")
    luggage.unpack("far/table.npz", b"content")
    return "far/table.npz", luggage.path_here("./far/table.npz")


def test_a_file_is_kept_once_by_its_content(travelled, tmp_path):
    copy = Path(travelled[1])
    assert copy.read_bytes() == b"content" and copy.suffix == ".npz" and copy.is_relative_to(tmp_path / "files")
    luggage.unpack("elsewhere/same.npz", b"content")
    assert luggage.path_here("elsewhere/same.npz") == str(copy)
    copy.write_bytes(b"damaged")
    luggage.unpack("far/table.npz", b"content")
    assert copy.read_bytes() == b"content" and list(copy.parent.iterdir()) == [copy]
    luggage.unpack("far/table.npz", b"CONTENT")
    assert Path(luggage.path_here("far/table.npz")).read_bytes() == b"CONTENT"


def test_a_file_that_is_here_stays_where_it_is(travelled, tmp_path):
    there = tmp_path / "here.npz"
    there.write_bytes(b"mine")
    luggage.unpack(str(there), b"mine")
    assert luggage.path_here(str(there)) == str(there)
    luggage.unpack(str(there), b"ours")
    assert Path(luggage.path_here(str(there))).read_bytes() == b"ours" and there.read_bytes() == b"mine"


def test_programs_do_not_travel(tmp_path):
    paths = [tmp_path / "network", tmp_path / "engine"]
    for path, mode in zip(paths, (0o644, 0o755), strict=True):
        path.write_bytes(b"x")
        path.chmod(mode)
    assert luggage.packed(map(str, paths)) == {str(paths[0]): b"x"}


def test_options_name_files_where_a_worker_finds_them(travelled):
    path, copy = travelled
    spec = parse_spec(f"epimc(leaf=value({path}),depth=2)")
    assert str(relocated(spec)) == f"epimc(leaf=value({copy}),depth=2)"
    assert relocated([Path(path), (path, "far"), 3]) == [Path(copy), (copy, "far"), 3]
    odd = Spec("agent", ((path, path), ("file", "auto")))  # a key is no path
    assert relocated(odd) == Spec("agent", ((path, copy), ("file", "auto")))


@dataclass
class Reader(fl.Agent):
    file: str = ""

    def act(self, actions=None):
        return (actions or self.legal_actions())[int(Path(self.file).read_text())]


@pytest.mark.parametrize("form", [lambda path: f"{__name__}:Reader(file={path})", lambda path: Reader(str(path))])
def test_an_agent_in_a_worker_reads_what_has_travelled(tmp_path, monkeypatch, form):
    monkeypatch.setattr(luggage, "_places", {})
    monkeypatch.setattr(luggage, "cache_folder", lambda: tmp_path / "kernels")
    file = tmp_path / "choice"
    file.write_text("1")
    one = entrant(form(file), [])
    assert one.files == (str(file),)
    file.unlink()
    luggage.unpack(str(file), b"1")
    with contextlib.ExitStack() as stack:
        (agent,) = seated([one], stack, in_worker=True)
        assert agent.act([5, 6]) == 6
    assert one.name.endswith(f"Reader(file={file})")


class Script(NamedTuple):
    """A game as a script would define it."""


def test_a_game_of_the_script_itself_cannot_travel():
    from foglight.arena.match import check_importable

    check_importable([Script])
    Script.__module__ = "__main__"
    with pytest.raises(fl.BadInput, match="Script is defined in the script itself; put it into a module"):
        check_importable([Script])
