"""Compilation of rules written in plain Python: dispatch by game type, kernels, and a disk cache that is never stale.

There are three kinds of functions.

- A *rule* (`required`, `optional`) is a generic function such as `step(game, world, action)`. A call from Python looks
  up the implementation for `type(game)`. In compiled code, Numba resolves the call from the game's *type*, so that it
  becomes a direct call. A game registers its implementations with `@implements(GameClass)`, or `@constants(...)`.
- A *helper* (`jitable`) is a plain function that compiled code may call too.
- A *kernel* is an entry point: compiled for games that are NamedTuples, interpreted for any other game.

A kernel takes no function as an argument and closes over none: both would defeat the disk cache.

The cache has one file per kernel and signature, named by a digest of everything that the machine code depends on. That
is the bytecode and the constants of the kernel, of the rules it calls as the game implements them, of the helpers these
call, and the tables that any of them read, in whatever file; also the versions of the software and the processor. So an
edit recompiles exactly the kernels that depend on it, and there is no index that could disagree with the files.

Numba is imported when the first kernel is called.
"""

import contextlib
import functools
import hashlib
import inspect
import os
import pickle
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any, TypeVar

import numpy as np

from foglight.compiler_errors import SHOW_ALL, explanation, is_of_numba
from foglight.names import BadInput, snake_case

Function = Callable[..., Any]
GameClass = TypeVar("GameClass", bound=type)

PATIENCE = 1.0  # seconds of compilation, of all kernels together, after which a message tells the user
_LOCKED = 120.0  # seconds to wait for another process that compiles the same kernel
INTERPRET_ALL = os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")

_rules: dict[str, "Rule"] = {}
_allocating: set[str] = set()  # names of rules and helpers that allocate arrays
_apart: set[str] = set()  # names of helpers that are called, not inlined
_interpreted: set[type] = set()  # classes of games and policies that are not NamedTuples
_twins: dict[Function, Function] = {}  # what compiled code runs for a call of the key: mostly the key itself
_waiting: list[Callable[[], None]] | None = []  # registrations to make when Numba is imported; None after that


class Rule:
    """A generic function: one implementation per class of its first argument, and perhaps a default."""

    def __init__(self, stub: Function, default: Function | None) -> None:
        self.name = stub.__name__
        self.parameters = inspect.signature(stub)
        self.default = default
        self.implementations: dict[type, Function] = {}

    def implementation(self, game_class: type) -> Function:
        function = self.implementations.get(game_class, self.default)
        if function is None:
            raise NotImplementedError(f"{game_class.__name__} has no rule '{self.name}'; every game needs one")
        return function


def required(stub: Function) -> Function:
    """Decorator of a rule that every game implements; the stub has its signature and its docstring."""
    return _generic(stub, None)


def optional(stub: Function) -> Function:
    """Decorator of a rule with a default, which is the body of the stub."""
    return _generic(stub, jitable(stub))


def _generic(stub: Function, default: Function | None) -> Function:
    rule = _rules[stub.__name__] = Rule(stub, default)

    @functools.wraps(stub)
    def dispatch(game: Any, *rest: Any) -> Any:
        return rule.implementation(type(game))(game, *rest)

    def resolve(game: Any, *rest: Any) -> Function:
        return rule.implementation(game.instance_class)

    resolve.__signature__ = rule.parameters  # type: ignore[attr-defined]  # Numba compares the argument names
    dispatch.rule = rule  # type: ignore[attr-defined]
    _with_numba(lambda: _overload(dispatch, resolve))
    return dispatch


def implements(game_class: type, name: str = "") -> Callable[[Function], Function]:
    """Register the decorated function as the implementation of a rule for `game_class`.

    `name` is the name of the rule; by default it is the name of the function. Rules of games are in `foglight.rules`; a
    policy implements the rule `weigh`. A NamedTuple runs compiled, any other class interpreted.

        >>> class Passing:
        ...     pass
        >>> @fl.implements(Passing, "weigh")
        ... def weigh_passing(policy, game, world, seat, actions, n, out):
        ...     for i in range(n):
        ...         out[i] = 1.0 if i == 0 else 0.0
        >>> fl.policy_values("kuhn_poker", Passing())
        [0.0, 0.0]
    """

    def register(function: Function) -> Function:
        rule_name = name or function.__name__
        rule = _rules.get(rule_name)
        if rule is None:
            raise TypeError(f"there is no rule '{rule_name}'; the rules are {', '.join(sorted(_rules))}")
        expected, actual = list(rule.parameters.parameters), list(inspect.signature(function).parameters)
        if expected != actual:
            raise TypeError(f"rule '{rule.name}' takes ({', '.join(expected)}), not ({', '.join(actual)})")
        rule.implementations[game_class] = function
        if not issubclass(game_class, tuple):
            _interpreted.add(game_class)
        return jitable(function)

    return register


def constants(**values: Any) -> Callable[[GameClass], GameClass]:
    """Class decorator that implements rules which are the same whatever the parameters and the world.

    >>> from typing import NamedTuple
    >>> @fl.game
    ... @fl.constants(num_players=2, num_words=1)
    ... class Nim(NamedTuple):
    ...     stones: int = 5
    >>> from foglight.rules import num_players
    >>> num_players(Nim())
    2
    """

    def register(game_class: GameClass) -> GameClass:
        for name, value in values.items():
            implements(game_class, name)(_constant(value, game_class, name))
        return game_class

    return register


def _constant(value: Any, game_class: type, name: str) -> Function:
    def rule(game: Any) -> Any:
        return value

    rule.__module__, rule.__name__, rule.__qualname__ = game_class.__module__, name, name  # as if it were written there
    return rule


def has_rule(name: str, game_class: type) -> bool:
    """Whether this class has an implementation of the rule of its own; a default does not count."""
    return game_class in _rules[name].implementations


def rules_of(game_class: type) -> dict[str, Function]:
    """The rules that this class implements itself, by name."""
    return {
        name: rule.implementations[game_class] for name, rule in _rules.items() if game_class in rule.implementations
    }


def allocates(function: Function) -> Function:
    """Decorator of a rule or helper that allocates arrays; compiled code then counts references, which costs time."""
    _allocating.add(function.__name__)
    return function


def apart(function: Function) -> Function:
    """Decorator of a long helper that runs seldom: compiled once for all its calls, not inlined into each of them."""
    _apart.add(function.__name__)
    return function


def jitable(function: Function) -> Function:
    """Decorator of a helper: a plain function that rules and kernels may call, compiled or interpreted.

    >>> @fl.jitable
    ... def neighbours(cell, width):
    ...     return cell - width, cell + width
    >>> neighbours(7, 3)
    (4, 10)
    """
    compiled_twin(function)(function)
    return function


def compiled_twin(function: Function) -> Callable[[Function], Function]:
    """Decorator of the function that compiled code runs instead of `function`: same results, other arithmetic."""

    def register(twin: Function) -> Function:
        @functools.wraps(function)
        def resolve(*arguments: Any) -> Function:
            return twin

        _twins[function] = twin
        _with_numba(lambda: _overload(function, resolve))
        return twin

    return register


class Kernel:
    """An entry point: a call runs compiled, or interpreted if a game or policy among its arguments is no NamedTuple."""

    def __init__(self, function: Function) -> None:
        self.py_func = function
        functools.update_wrapper(self, function)

    def __call__(self, *arguments: Any) -> Any:
        if is_compiled(*arguments):
            try:
                return self.dispatcher(*arguments)
            except Exception as error:
                self.dispatcher._cache.give_up()
                if not is_of_numba(error):
                    raise
                games = [type(argument) for argument in arguments if hasattr(type(argument), "_fields")]
                line = explanation(error, self.py_func, games, _rules, _twins)
                raise BadInput(line) from (error if os.environ.get(SHOW_ALL) else None)
        return self.py_func(*arguments)

    @functools.cached_property
    def dispatcher(self) -> Any:
        """Numba's dispatcher for this kernel, with our cache; the first use imports Numba."""
        numba = _start_numba()
        dispatcher = numba.njit(nogil=True, error_model="numpy")(self.py_func)
        dispatcher._cache = _KernelCache(self.py_func)
        return dispatcher


def kernel(function: Function) -> Kernel:
    """Decorator of a compiled entry point `function(game, ...)`; its `.py_func` is the interpreted function."""
    return Kernel(function)


def is_compiled(*arguments: Any) -> bool:
    """Whether a kernel runs compiled on these arguments: none of them is a game or policy that runs interpreted."""
    return not INTERPRET_ALL and _interpreted.isdisjoint(map(type, arguments))


@contextlib.contextmanager
def interpreted() -> Iterator[None]:
    """Run every kernel interpreted for the time of a `with` statement, in all threads of this process."""
    global INTERPRET_ALL
    before, INTERPRET_ALL = INTERPRET_ALL, True
    try:
        yield
    finally:
        INTERPRET_ALL = before


# Numba, when it is needed ---------------------------------------------------------------------------------------


def _with_numba(registration: Callable[[], None]) -> None:
    """Make a registration now if Numba is imported, otherwise when it will be."""
    if _waiting is None:
        registration()
    else:
        _waiting.append(registration)


def _overload(function: Function, resolve: Function) -> None:
    from numba.extending import overload

    # Rules and helpers are inlined, except those `apart`, and do not count references to arrays, which can cost more
    # than the rules themselves. So a rule or helper must not allocate, unless it is decorated by `allocates`; kernels
    # allocate the arrays that they pass on. Only kernels are called from Python, so only they need wrappers.
    options: Any = {
        "error_model": "numpy",
        "forceinline": function.__name__ not in _apart,
        "no_cpython_wrapper": True,
        "no_cfunc_wrapper": True,
    }
    if function.__name__ not in _allocating:
        options["_nrt"] = False
    overload(function, strict=False, jit_options=options)(resolve)


@functools.cache
def _start_numba() -> ModuleType:
    global _waiting
    import numba
    from numba.core import event

    class Announcer(event.Listener):
        """Tells `_Progress` about our kernels; Numba reports every helper and overload as well."""

        def on_start(self, event: Any) -> None:
            played = _rules["step"].implementations if "step" in _rules else {}
            games = [t.instance_class for t in event.data["args"] if getattr(t, "instance_class", None) in played]
            if isinstance(event.data["dispatcher"]._cache, _KernelCache):
                _progress.start(snake_case(games[0].__name__) if games else "shared kernels")

        def on_end(self, event: Any) -> None:
            if isinstance(event.data["dispatcher"]._cache, _KernelCache):
                _progress.end()

    event.register("numba:compile", Announcer())
    _shorten_shape_error()
    registrations, _waiting = _waiting or [], None
    for registration in registrations:
        registration()
    return numba


class _Progress:
    """What is being compiled, for people: on a terminal one line that is kept up to date, elsewhere a line per game.

    It is quiet for the first PATIENCE seconds of compilation in this process.
    """

    def __init__(self) -> None:
        self.what = ""  # the game whose kernel is being compiled
        self.announced: set[str] = set()
        self.kernels, self.seconds, self.begin = 0, 0.0, 0.0  # compiled so far; when the current one began
        self.timer: threading.Timer | None = None

    def start(self, what: str) -> None:
        self.what, self.begin = what, time.monotonic()
        self._wait(max(0.0, PATIENCE - self.seconds))

    def end(self) -> None:
        if self.timer is not None:
            self.timer.cancel()
        self.timer, self.what = None, ""
        self.kernels += 1
        self.seconds += time.monotonic() - self.begin
        if self.announced and sys.stderr.isatty():
            sys.stderr.write("\r\x1b[K")  # the line has done its duty
            sys.stderr.flush()

    def _wait(self, seconds: float) -> None:
        self.timer = threading.Timer(seconds, self._say)
        self.timer.daemon = True
        self.timer.start()

    def _say(self) -> None:
        what, spent = self.what, self.seconds + time.monotonic() - self.begin
        if sys.stderr.isatty():
            sys.stderr.write(f"\r\x1b[Kcompiling {what}, once: kernel {self.kernels + 1}, {spent:.0f} s")
            self._wait(1.0)
        elif what and what not in self.announced:
            sys.stderr.write(f"compiling {what}, once\n")
        sys.stderr.flush()
        self.announced.add(what)


_progress = _Progress()


def _shorten_shape_error() -> None:
    """Make the error about arrays of unequal shapes cheap to compile.

    Numba writes both shapes into its message. Compiling the code that formats them takes two seconds in every process
    that compiles an assignment such as `rows[i] = row`, and a fifth of a second in every kernel after that.
    """
    from numba.extending import overload
    from numba.np import arrayobj

    def raise_shape_error(source_shape, target_shape):
        raise ValueError("cannot assign an array to a slice of another shape")

    overload(raise_shape_error, strict=False)(lambda source_shape, target_shape: raise_shape_error)
    arrayobj.raise_with_shape_context = raise_shape_error  # found by name when an assignment is compiled


# The disk cache -------------------------------------------------------------------------------------------------


class _KernelCache:
    """The cache interface of Numba's dispatcher: load and save one compiled signature, each in its own file."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.cache_path = str(cache_folder() or "")
        self._lock = _Lock()

    def give_up(self) -> None:
        """What was to be compiled and saved does not compile."""
        self._lock.release()

    def load_overload(self, signature: Any, target: Any) -> Any:
        from numba.core.compiler import CompileResult

        path = self._path(signature, target.codegen())
        target.refresh()
        payload = self._payload(path)
        if payload is None and path is not None:
            self._lock.take(path)  # until it is saved: another process may be compiling it, and we wait for that
            payload = self._payload(path)
        if payload is not None:
            self._lock.release()
        return payload and CompileResult._rebuild(target, *payload)

    def _payload(self, path: Path | None) -> Any:
        try:
            return pickle.loads(path.read_bytes()) if path else None
        except Exception:  # the file is absent, incomplete or outdated: in each case the kernel is compiled again
            return None

    def save_overload(self, signature: Any, result: Any) -> None:
        from numba.core.serialize import dumps

        path = self._path(signature, result.codegen)
        if path is None:
            return
        try:
            self._save(path, dumps(result._reduce()))
        finally:
            self._lock.release()

    def _save(self, path: Path, content: bytes) -> None:
        try:
            with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
                file.write(content)
            os.replace(file.name, path)
            for old in path.parent.glob(f"{path.stem.rpartition('-')[0]}-*.nbc"):
                if old != path:
                    old.unlink(missing_ok=True)
        except OSError:  # a full or read-only disk costs a recompilation, not the result
            pass

    def _path(self, signature: Any, codegen: Any) -> Path | None:
        """The file `kernel-slot-digest.nbc`; the slot identifies kernel and signature, the digest the sources."""
        import numba

        games = [t.instance_class for t in signature if hasattr(t, "instance_class")]
        code = fingerprint(self.function, games)
        if code is None or not self.cache_path:
            return None
        names = [f"{game.__module__}.{game.__qualname__}" for game in games]
        slot = _digest(inspect.getfile(self.function), self.function.__qualname__, str(signature), *names)
        made_from = _digest(code, repr(codegen.magic_tuple()), sys.version, numba.__version__, np.__version__)
        return Path(self.cache_path) / f"{self.function.__name__.strip('_')}-{slot[:16]}-{made_from[:32]}.nbc"


class _Lock:
    """A lock on a file of the cache among the processes of a machine, so that a kernel is compiled by one of them.

    The system releases it when the process ends. Where there are no such locks, it does nothing.
    """

    def __init__(self) -> None:
        self._file: Any = None

    def take(self, path: Path) -> None:
        """Wait for the lock of this file, but not for ever: whoever has it may have been stopped."""
        self.release()
        limit = time.monotonic() + _LOCKED
        with contextlib.suppress(ImportError, OSError):  # Windows; a file system without locks, or a full one
            import fcntl

            self._file = path.with_suffix(".lock").open("w")
            while time.monotonic() < limit:
                try:
                    fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    return
                except BlockingIOError:
                    time.sleep(0.02)

    def release(self) -> None:
        if self._file is not None:
            with contextlib.suppress(ImportError, OSError):
                import fcntl

                Path(self._file.name).unlink(missing_ok=True)
                fcntl.flock(self._file, fcntl.LOCK_UN)  # a forked process may hold the same file
            self._file.close()
            self._file = None


@functools.cache
def cache_folder() -> Path | None:
    """The folder of compiled kernels, in $FOGLIGHT_CACHE or the user's cache folder; None if it is not writable."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(os.environ.get("FOGLIGHT_CACHE") or Path(home) / "foglight") / "kernels"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError:
        return None
    return folder


def fingerprint(function: Function, games: list[type]) -> str | None:
    """A digest of everything that the compilation of `function` for these games depends on; None if it is uncertain."""
    if any(game.__module__ == "__main__" for game in games):
        return None  # another process could not import a class of a script by its name
    parts = [Path(__file__).read_text(encoding="utf-8")]
    seen: set[int] = set()
    front: list[Any] = [function, *games]
    while front:
        value = front.pop()
        if isinstance(value, FunctionType):
            parts.append(f"{value.__module__}.{value.__qualname__}")
            if id(value) not in seen:
                seen.add(id(value))
                rule = getattr(value, "rule", None)
                if rule is not None:
                    implementations = (rule.implementations.get(game, rule.default) for game in games)
                    front.extend(implementation for implementation in implementations if implementation is not None)
                elif value is function or value in _twins:
                    front.extend(_read_by(_twins.get(value, value)))
        elif isinstance(value, tuple | list):
            parts.append(f"{len(value)} values")
            front.extend(value)
        elif isinstance(value, np.ndarray):
            parts.append(f"{value.dtype} {value.shape} {hashlib.sha256(value.tobytes()).hexdigest()}")
        elif isinstance(value, str | bytes | int | float | complex | np.generic | None):
            parts.append(f"{type(value).__name__} {value!r}")
        elif callable(value):  # classes, and functions that Numba itself supports
            parts.append(f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', value)}")
            front.append(getattr(value, "_fields", ()))
        else:
            return None
    return _digest(*parts)


def _read_by(function: Function, code: CodeType | None = None) -> list[Any]:
    """The constants of a function's code, and the values of its global names; attribute names count as global names."""
    code = code or function.__code__
    values: list[Any] = [code.co_code, code.co_names, *(cell.cell_contents for cell in function.__closure__ or ())]
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            values.extend(_read_by(function, constant))
        elif constant != function.__doc__:
            values.append(constant)
    holders = [function.__globals__]  # and the modules among its values: `bits.get` is the name `get` in `bits`
    for holder in holders:
        for name in code.co_names:
            value = holder.get(name)
            if not isinstance(value, ModuleType):
                values.append(value)
            elif vars(value) not in holders:
                holders.append(vars(value))
    return [values]


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()
