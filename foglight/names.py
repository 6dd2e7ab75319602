"""The text form of games and agents, `dark_hex(rows=4,cols=4)`: reading, checking and printing.

    spec  = name [ "(" [ item { "," item } ] ")" ]
    item  = [ name "=" ] value
    value = number | word | "quoted text" | 'text without escapes' | "[" [ value { "," value } ] "]" | spec

The class declares the limits of a parameter beside its type, and may add its meaning as a text:
`rows: Annotated[int, "rows of the board", Between(1, 8)] = 4`.
"""

import difflib
import inspect
import json
import re
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, NamedTuple, get_args, get_origin, get_type_hints


class BadInput(ValueError):
    """Input that cannot be used. The message is one line that says what was given and what to do.

    >>> fl.load_game("kuhn_pokr")
    Traceback (most recent call last):
    foglight.names.BadInput: unknown game 'kuhn_pokr'; did you mean 'kuhn_poker'?
    >>> issubclass(fl.BadInput, ValueError)
    True
    """


def failure(error: Exception) -> str:
    """An error of somebody else's code in one line, with the place: `KeyError: 'x' (bots.py:83)`."""
    places = traceback.extract_tb(error.__traceback__)
    place = f" ({Path(places[-1].filename).name}:{places[-1].lineno})" if places else ""
    return f"{type(error).__name__}: {' '.join(str(error).split())}{place}"


def note(error: Exception, what: str) -> None:
    """Note on an error of somebody else's code what failed, why and where; the command line shows this line alone."""
    error.add_note(f"{what} with {failure(error)}")


@dataclass(frozen=True)
class Spec:
    """A name with its arguments as written: pairs of key and value, the key empty for a positional argument."""

    name: str
    arguments: tuple[tuple[str, Any], ...] = ()

    def __str__(self) -> str:
        inside = ",".join(f"{key}={_value_text(value)}" if key else _value_text(value) for key, value in self.arguments)
        return f"{self.name}({inside})" if inside else self.name


@dataclass(frozen=True)
class Between:
    """The limits of a number, `low` and `high` included, declared beside the type of a parameter.

    >>> from typing import Annotated, NamedTuple
    >>> class Nim(NamedTuple):
    ...     stones: Annotated[int, fl.Between(1, 100)] = 5
    >>> fl.Between(1, 100).check(int, 101)
    Traceback (most recent call last):
    foglight.names.BadInput: must be from 1 to 100, not 101
    """

    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.low} to {self.high}"

    def check(self, kind: type, value: Any) -> Any:
        """The value, if it is within the limits; else BadInput."""
        if not self.low <= value <= self.high:
            raise BadInput(f"must be from {self}, not {value}")
        return value


@dataclass(frozen=True)
class OneOf:
    """A choice of words, declared beside the type of a parameter. A field of type int holds the word's position.

    >>> from typing import Annotated, NamedTuple
    >>> class Nim(NamedTuple):
    ...     last: Annotated[int, fl.OneOf("wins", "loses")] = 0
    >>> fl.OneOf("wins", "loses").check(int, "loses")
    1
    """

    words: tuple[str, ...]

    def __init__(self, *words: str) -> None:
        object.__setattr__(self, "words", words)

    def __str__(self) -> str:
        return ", ".join(self.words)

    def check(self, kind: type, value: Any) -> Any:
        """The value as a field holds it: its word's position for a field of type int; BadInput for other words."""
        if kind is int and isinstance(value, int) and 0 <= value < len(self.words):
            return int(value)  # a position, or true and false for the second and first word of two
        if value not in self.words:
            raise BadInput(f"must be one of {self}, not {_value_text(value)}")
        return self.words.index(value) if kind is int else value


@dataclass(frozen=True, init=False)
class Variant(OneOf):
    """A choice between rules that a game's text leaves out where it has its default: older texts mean what they did."""


@dataclass(frozen=True)
class Word:
    """A word that may be written instead of a number, such as `auto`."""

    word: str
    number: int

    def __str__(self) -> str:
        return f"or {self.word}"

    def check(self, kind: type, value: Any) -> Any:
        return self.number if value == self.word else value


@dataclass(frozen=True)
class Coded:
    """A text that a parameter holds as a tuple of whole numbers, because compiled rules read no texts.

    `read` gives the numbers of a text, and raises BadInput if there are none; `write` gives the text of numbers. A
    game's text leaves the parameter out where it has its default, as with `Variant`.
    """

    form: str  # what to write, for people
    read: Callable[[str], tuple[int, ...]]
    write: Callable[[tuple[int, ...]], str]

    def __str__(self) -> str:
        return self.form

    def check(self, kind: type, value: Any) -> Any:
        if not isinstance(value, str | tuple):
            raise BadInput(f"must be {self}, not {_value_text(value)}")
        return self.read(self.written(value))

    def written(self, value: str | tuple[int, ...]) -> str:
        return value if isinstance(value, str) else self.write(value)


def snake_case(name: str) -> str:
    """`DarkHex` becomes `dark_hex`."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


# Reading --------------------------------------------------------------------------------------------------------

_TOKEN = re.compile(
    r"""\s*(?: (?P<text>"(?:[^"\\]|\\.)*") | '(?P<raw>[^']*)'(?![^\s(),=\[\]"]) | (?P<sign>[(),=\[\]])
        | (?P<word>[^\s(),=\[\]"]+) )""",
    re.VERBOSE,
)


def parse_spec(written: str) -> Spec:
    """Read a name with arguments; BadInput says where the text is wrong."""
    tokens = _tokens(written)
    try:
        value, rest = _read_value(tokens, 0, written)
    except RecursionError:
        raise BadInput(f"cannot read {written[:40]!r}...; it is nested too deep") from None
    if not isinstance(value, Spec) and isinstance(value, str) and tokens and tokens[0][0] == "word":
        value = Spec(value)
    if not isinstance(value, Spec) or rest < len(tokens):
        raise BadInput(f"cannot read {written!r}; write name or name(key=value,...)")
    return value


def _tokens(written: str) -> list[tuple[str, str]]:
    tokens, position = [], 0
    while written[position:].strip():
        match = _TOKEN.match(written, position)
        if match is None:
            raise BadInput(f"cannot read {written!r} from character {position + 1} on: a quote is left open")
        tokens.append((str(match.lastgroup), str(match[str(match.lastgroup)])))
        position = match.end()
    return tokens


def _read_value(tokens: list[tuple[str, str]], i: int, written: str) -> tuple[Any, int]:
    """The value that starts at token i, and the index of the token after it."""
    kind, token = tokens[i] if i < len(tokens) else ("end", "the end")
    if kind == "text":
        try:
            return json.loads(token), i + 1
        except ValueError:
            raise BadInput(f"cannot read {token!r} in {written!r}; inside quotes write \\\\ for \\") from None
    if kind == "raw":
        return token, i + 1
    if token == "[":
        pairs, i = _read_items(tokens, i + 1, "]", written)
        if any(key for key, _ in pairs):
            raise BadInput(f"cannot read {written!r}; a list holds values only, as in [1,2]")
        return [value for _, value in pairs], i
    if kind != "word":
        raise BadInput(f"cannot read {written!r}: a name or value is missing before {token}")
    if i + 1 < len(tokens) and tokens[i + 1][1] == "(":
        pairs, i = _read_items(tokens, i + 2, ")", written)
        return Spec(token, tuple(pairs)), i
    return _scalar(token), i + 1


def _read_items(tokens: list[tuple[str, str]], i: int, close: str, written: str) -> tuple[list[tuple[str, Any]], int]:
    pairs: list[tuple[str, Any]] = []
    while True:
        if i < len(tokens) and tokens[i][1] == close and not pairs:
            return pairs, i + 1
        key = ""
        if i + 1 < len(tokens) and tokens[i][0] == "word" and tokens[i + 1] == ("sign", "="):
            key, i = tokens[i][1], i + 2
        value, i = _read_value(tokens, i, written)
        pairs.append((key, value))
        token = tokens[i] if i < len(tokens) else ("end", "")
        i += 1
        if token == ("sign", close):
            return pairs, i
        if token != ("sign", ","):
            raise BadInput(f"cannot read {written!r}: a '{close}' or ',' is missing after {_value_text(value)}")


def _scalar(word: str) -> Any:
    for kind in (int, float):
        try:
            return kind(word)
        except ValueError:
            pass
    return {"true": True, "false": False}.get(word.lower(), word)


_FEW_NAMES = 30  # names that one line lists

# Checking -------------------------------------------------------------------------------------------------------


def construct(made: type, spec: Spec) -> Any:
    """An instance of the NamedTuple or dataclass `made` with the arguments of a spec, all checked."""
    parameters = list(inspect.signature(made).parameters)
    given: dict[str, Any] = {}
    for position, (key, value) in enumerate(spec.arguments):
        if not key:
            if position >= len(parameters):
                raise BadInput(f"{spec.name} takes {_count(len(parameters), 'parameter')}, not {len(spec.arguments)}")
            key = parameters[position]
        if key not in parameters:
            raise BadInput(unknown(f"{spec.name} parameter", key, parameters))
        if key in given:
            raise BadInput(f"{spec.name} got {key} twice; give it once")
        given[key] = value
    return checked(made, spec.name, given)


def checked(made: type, name: str, given: dict[str, Any]) -> Any:
    """`made(**given)`, after each value has been checked against its type and limits; `name` is for messages."""
    hints = type_hints(made)
    parameters = inspect.signature(made).parameters
    missing = [key for key, p in parameters.items() if p.default is p.empty and key not in given]
    if missing:
        raise BadInput(f"{name} needs {missing[0]}: write {name}({missing[0]}=...)")
    values = {}
    for key, value in given.items():
        try:
            values[key] = _check(hints.get(key), value)
        except BadInput as error:
            raise BadInput(f"{name}: {key} {error}") from None
    return made(**values)


def type_hints(made: type) -> dict[str, Any]:
    """The declared types of the parameters of a class, by name: of its fields, or of its constructor."""
    constructor = vars(made).get("__init__")
    of_constructor = get_type_hints(constructor, include_extras=True) if inspect.isfunction(constructor) else {}
    return get_type_hints(made, include_extras=True) | of_constructor


def _check(hint: Any, value: Any) -> Any:
    kind, limits = get_args(hint)[0] if get_origin(hint) is Annotated else hint, _limits(hint)
    words = any(
        isinstance(limit, OneOf | Coded) or (isinstance(limit, Word) and value == limit.word) for limit in limits
    )
    if get_origin(kind) is tuple and not words:
        if not isinstance(value, list | tuple):
            raise BadInput(f"must be a list such as [1,2], not {_value_text(value)}")
        return tuple(_check(get_args(kind)[0], item) for item in value)
    if kind is float and type(value) is int:
        value = float(value)
    if kind is int and type(value) is float and value.is_integer():
        value = int(value)
    if kind in (int, float, str, bool) and not words and type(value) is not kind:
        noun = {int: "a whole number", float: "a number", str: "a word", bool: "true or false"}[kind]
        raise BadInput(f"must be {noun}, not {_value_text(value)}")
    for limit in limits:
        value = limit.check(kind, value)
    return value


def _limits(hint: Any) -> list[Any]:
    """The limits declared beside a parameter's type."""
    return [limit for limit in _declared(hint) if not isinstance(limit, str)]


def _meaning(hint: Any) -> str:
    """The text declared beside a parameter's type, or an empty one."""
    return next((text for text in _declared(hint) if isinstance(text, str)), "")


def _declared(hint: Any) -> tuple[Any, ...]:
    return get_args(hint)[1:] if get_origin(hint) is Annotated else ()


def unknown(what: str, given: str, known: Iterable[str], advice: str = "") -> str:
    """The message for an unknown name: `unknown game 'dark_hx'; did you mean 'dark_hex'?`

    Near are the names that begin with what was given, else the most similar one, else those that contain it. Where
    nothing is near, few names are all listed, and for many `advice` says where they are.
    """
    names, start = list(known), given.lower()
    close = sorted((name for name in names if start and name.startswith(start)), key=len)[:3]
    close = close or difflib.get_close_matches(given, names, n=1)
    close = close or sorted((name for name in names if start and start in name), key=len)[:3]
    if close:
        return f"unknown {what} {given!r}; did you mean {' or '.join(map(repr, close))}?"
    if len(names) > _FEW_NAMES and advice:
        return f"unknown {what} {given!r}; {advice}"
    return f"unknown {what} {given!r}; " + (f"there are {listed(names, _FEW_NAMES)}" if names else "there are none")


def choose(written: str, choices: Mapping[int, Sequence[str]]) -> int:
    """The action whose name was written; `choices` has the names of each legal action."""
    for action, names in choices.items():
        if _plain(written) in map(_plain, names):
            return action
    raise BadInput(f"{written!r} is not possible here; try {listed(names[0] for names in choices.values())}")


def listed(things: Iterable[Any], most: int = 20) -> str:
    """Things separated by commas, at most `most` of them, and the number of the others."""
    shown = [str(thing) for thing in things]
    return ", ".join(shown[:most]) + (f" or {len(shown) - most} more" if len(shown) > most else "")


def _plain(written: str) -> str:
    return " ".join(written.lower().split())


# Printing -------------------------------------------------------------------------------------------------------


class ParameterText(NamedTuple):
    """A parameter for people: `rows` has the default `4`, the allowed values `1 to 8` and perhaps a meaning."""

    default: str
    allowed: str
    meaning: str


def parameter_texts(made: type) -> dict[str, ParameterText]:
    """The parameters of a NamedTuple or dataclass, by name."""
    hints = type_hints(made)
    texts = {}
    for key, parameter in inspect.signature(made).parameters.items():
        needed = parameter.default is parameter.empty
        default = "" if needed else _value_text(as_written(hints.get(key), parameter.default))
        limits = sorted(_limits(hints.get(key)), key=lambda limit: isinstance(limit, Word))  # the word comes last
        texts[key] = ParameterText(default, ", ".join(map(str, limits)), _meaning(hints.get(key)))
    return texts


def as_written(hint: Any, value: Any) -> Any:
    """A value as the text form writes it: a word where its parameter declares words."""
    for limit in _limits(hint):
        if isinstance(limit, OneOf) and isinstance(value, int):
            return limit.words[value]
        if isinstance(limit, Word) and value == limit.number:
            return limit.word
        if isinstance(limit, Coded):
            return limit.written(value)
    return value


def _value_text(value: Any) -> str:
    if isinstance(value, list | tuple):
        return f"[{','.join(map(_value_text, value))}]"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        match = _TOKEN.fullmatch(value)
        plain = match is not None and match["word"] == value and _scalar(value) is value
        return value if plain else json.dumps(value, ensure_ascii=False)
    return str(value)


def _count(n: int, noun: str) -> str:
    return f"{n or 'no'} {noun}{'s' * (n != 1)}"


def is_variant(hint: Any) -> bool:
    """Whether a parameter with this annotation is left out of texts where it has its default."""
    return any(isinstance(limit, Variant | Coded) for limit in _limits(hint))
