"""A solved policy: its table, and the solver state from which solving can resume, in one file."""

import json
import zipfile
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from foglight.compile import implements
from foglight.files import replacing
from foglight.names import BadInput
from foglight.policies import Tabular, weigh_by_table
from foglight.rules import Game
from foglight.solving.whole.sequences import SequenceForm
from foglight.state import State, as_state
from foglight.text import aligned, html_table
from foglight.version import __version__

if TYPE_CHECKING:
    from foglight.solving.whole.policy_table import PolicyTable

_FORMAT = 1
NUMBERING = 2  # how factored forms number their sequences; solver states of another numbering cannot go on


class Solved(Tabular):
    """A tabular policy with the state of its solver; `fl.solve(..., resume=policy)` continues from it.

    >>> policy = fl.solve("kuhn_poker", iterations=100)
    >>> policy.game, policy.method, policy.iterations, policy.exploitability < 0.01
    ('kuhn_poker', 'cfr+', 100, True)
    >>> print(policy.table().where("you get the king, seat 0 bets"))
    kuhn_poker, 1 of 12 information states
    seat  seen                           plays       reach
       1  you get the king, seat 0 bets  call 100 %  3 %
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     policy.save(pathlib.Path(folder) / "kuhn.npz")
    ...     fl.Solved.load(pathlib.Path(folder) / "kuhn.npz").value == policy.value
    True
    """

    game: str
    method: str
    iterations: int
    seed: int
    state: dict[str, np.ndarray]  # the solver's arrays
    exploitability: float
    value: float  # expected payoff of seat 0 if all seats play the policy
    numbering: int = NUMBERING  # of the sequences in `state`, if the form was factored
    complete: bool = True  # False: solved where rules cannot run, so that there is no table yet; resuming makes it
    interval: tuple[float, float] | None = None  # that holds the value of a two-seat zero-sum game, by best responses
    proved: str | None = None  # the value of the game as a fraction, such as "2/3", if it is proved

    def at(self, state: State) -> dict[str, float]:
        """The probability of each legal action at a state, by the action's name."""
        state = as_state(state)
        if str(state.game) != self.game:
            raise BadInput(f"this is a policy for {self.game}, not for {state.game}")
        return super().at(state)

    def table(self, game: str | Game | None = None, *, limit: int = 100_000, memory: float = 4.0) -> "PolicyTable":
        """The policy at every information state, in words.

        A game of more than `limit` information states is refused, and so is one whose tree needs more than `memory`
        GiB. The game must be given only where its text does not lead back to it.
        """
        from foglight.solving.whole.policy_table import policy_table

        return policy_table(self.game if game is None else game, self, limit, memory)

    def __repr__(self) -> str:
        how = self.method if self.method == "lp" else f"{self.method}, {self.iterations:,} iterations"
        facts = f"value {self.value:.4g}, exploitability {self.exploitability:.2g}"
        return f"<Solved policy for {self.game}: {how}, {len(self.keys):,} information states, {facts}>"

    def _facts(self) -> list[dict[str, str]]:
        """A summary as the rows of a table."""
        rows = {
            "value to seat 0": f"{self.value:.6g}",
            "exploitability": f"{self.exploitability:.3g}",
            **value_fact(self),
            "method": "linear programming" if self.method == "lp" else f"{self.method}, {self.iterations:,} iterations",
            "size": f"{len(self.keys):,} information states",
        }
        return [{self.game: name, "": text} for name, text in rows.items()]

    def __str__(self) -> str:
        return aligned(self._facts())

    def _repr_html_(self) -> str:
        return html_table(self._facts())

    def save(self, path: str | Path) -> None:
        """Write the policy to a file, whole or not at all."""
        facts = {name: getattr(self, name) for name in (*_FACTS, "interval", "proved", "complete", "numbering")}
        header = json.dumps({"foglight": __version__, "format": _FORMAT, **facts})
        arrays: dict[str, Any] = {
            "header": np.array(header),
            "keys": self.keys,
            "begins": self.begins,
            "probabilities": self.probabilities,
        }
        arrays |= {f"state_{name}": array for name, array in self.state.items()}
        with replacing(Path(path)) as part, part.open("wb") as file:
            np.savez(file, **arrays)

    @classmethod
    def load(cls, path: str | Path, resuming: bool = False) -> "Solved":
        """Read a policy from a file; `resuming`: also one without a table, from which only a solver can go on."""
        try:
            with np.load(path, allow_pickle=False) as file:
                header = json.loads(str(file["header"]))
                if header["format"] != _FORMAT:
                    raise BadInput(f"{path} was written by foglight {header['foglight']} in another format")
                policy = cls(file["keys"], file["begins"], file["probabilities"])
                policy.state = {name[6:]: file[name] for name in file.files if name.startswith("state_")}
                for name in _FACTS:
                    setattr(policy, name, header[name])
                policy.proved = header.get("proved")
                policy.interval = tuple(header["interval"]) if header.get("interval") else None
                policy.complete = bool(header.get("complete", True))
                policy.numbering = int(header.get("numbering", 1))
        except OSError as error:
            raise BadInput(f"cannot read {path}: {error.strerror or error}") from None
        except BadInput:
            raise
        except _DAMAGE:
            raise BadInput(f"{path} is not a saved policy, or it is damaged") from None
        if not policy.complete and not resuming:
            how = f"foglight solve '{policy.game}' --iterations {policy.iterations} --save {path}"
            raise BadInput(f"{path} holds what a solver needs, and no policy yet; make it with: {how}")
        return policy


# what a damaged archive may raise; a RuntimeError says that it is encrypted, or of a version that nobody has
_DAMAGE = (
    ValueError, KeyError, TypeError, AttributeError, EOFError, RuntimeError, MemoryError, OverflowError,
    zipfile.BadZipFile, zlib.error,
)  # fmt: skip
_FACTS = ("game", "method", "iterations", "seed", "exploitability", "value")


@implements(Solved, "weigh")
def _weigh_solved(policy, game, world, seat, actions, n, out):
    weigh_by_table(policy, game, world, seat, actions, n, out)


def value_fact(policy: Solved) -> dict[str, str]:
    """What is known of the game's value, as a row of a table."""
    if policy.proved:
        return {"value of the game": f"{policy.proved}, proved in whole numbers"}
    return {"value of the game": interval_text(policy.interval)} if policy.interval else {}


def interval_text(interval: tuple[float, float]) -> str:
    """An interval for the value of a game, with as many digits as tell its ends apart."""
    low, high = interval
    digits = next((n for n in range(4, 12) if f"{low:.{n}f}" != f"{high:.{n}f}"), 12)
    return f"{low:.{digits}f} to {high:.{digits}f}"


def table(sequences: SequenceForm, behaviour: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Behaviour as the arrays of a tabular policy: keys in ascending order, begins, probabilities."""
    form, order = sequences.form, np.argsort(sequences.keys)
    sizes = (form.ends - form.begins)[order].astype(np.int64)
    begins = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    places = np.repeat(form.begins[order] - begins[:-1], sizes) + np.arange(begins[-1])
    return sequences.keys[order], begins, behaviour[places]


def solved(sequences: SequenceForm, behaviour: np.ndarray, **facts: Any) -> Solved:
    """A solved policy with this behaviour; `facts` are its other attributes."""
    policy = Solved(*table(sequences, behaviour))
    for name, value in facts.items():
        setattr(policy, name, value)
    return policy
