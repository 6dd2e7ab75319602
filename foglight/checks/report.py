"""The result of a check: faults, each with the history that shows it, and the number of comparisons made."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class Fault:
    """One broken property of a game or an agent, in one sentence, and the actions that lead to where it shows.

    >>> fl.Fault("chance", "the probabilities of chance sum to 0.9 at the start", ())
    Fault(property='chance', sentence='the probabilities of chance sum to 0.9 at the start', history=())
    """

    property: str
    sentence: str
    history: tuple[int, ...]  # outcomes of chance included


@dataclass
class Checks:
    """What `fl.check_game` and `fl.check_agent` found: at most one fault of each property.

    >>> checks = fl.check_game("kuhn_poker", compiled=False)
    >>> checks.ok, checks.faults, checks.comparisons["own action"]
    (True, [], 90)
    """

    subject: str  # the game, or the agent and its game
    faults: list[Fault] = field(default_factory=list)
    comparisons: dict[str, int] = field(default_factory=dict)  # by property, how many were made
    skipped: dict[str, str] = field(default_factory=dict)  # by property, why it was not checked

    @property
    def ok(self) -> bool:
        """Whether there is no fault."""
        return not self.faults

    def count(self, name: str, n: int = 1) -> None:
        """Count n more comparisons of a property."""
        self.comparisons[name] = self.comparisons.get(name, 0) + n

    def add(self, name: str, sentence: str, history: Sequence[int]) -> None:
        """Add a fault, unless the property has one with a history that is at least as short."""
        fault = Fault(name, sentence, tuple(int(action) for action in history))
        older = next((fault for fault in self.faults if fault.property == name), None)
        if older is None:
            self.faults.append(fault)
        elif len(fault.history) < len(older.history):
            self.faults[self.faults.index(older)] = fault

    def has(self, name: str) -> bool:
        """Whether a fault of this property was found."""
        return any(fault.property == name for fault in self.faults)

    def summary(self) -> dict[str, Any]:
        """All of it as plain data."""
        faults = [{**asdict(fault), "history": list(fault.history)} for fault in self.faults]
        made = {"faults": faults, "comparisons": dict(self.comparisons), "skipped": dict(self.skipped)}
        return {"subject": self.subject, "ok": self.ok, **made}

    def __str__(self) -> str:
        total = sum(self.comparisons.values())
        number = f"{len(self.faults)} fault{'s' * (len(self.faults) != 1)}" if self.faults else "no fault"
        lines = [f"{self.subject}: {number} in {total:,} comparisons of {len(self.comparisons)} properties"]
        lines += [f"  {fault.property}: {fault.sentence}" for fault in self.faults]
        lines += [f"  not checked: {name}: {why}" for name, why in self.skipped.items()]
        return "\n".join(lines)
