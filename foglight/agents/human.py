"""A person, who sees the information of the seat and nothing else, and writes moves or commands.

What is written is a move if it names one. Otherwise it is a command: `help` is always one as `/help`, also in a game
that has a move of that name. The commands answer from the observations of the seat, as any agent must.
"""

import difflib
import textwrap
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from foglight.agents import Agent, Seat, View, load_agent
from foglight.names import BadInput, choose, unknown
from foglight.randomness import fold, systematic
from foglight.rules import Game, how_to_play, num_players, title
from foglight.search.belief import Belief
from foglight.worlds.deals.cards import has_usual_places
from foglight.worlds.expansion import chosen
from foglight.worlds.filter import history_filter
from foglight.worlds.marginals import Marginals, marginals
from foglight.worlds.regeneration import BeliefLost

_SHOWN = 12  # moves that a prompt shows without folding; `moves` lists all
_FEW = 5  # moves of a kind that a folded prompt shows
_LATEST = 16  # observations shown before each move; `history` shows all
_WIDTH = 100  # characters of a line in a long list
_CAP = 20_000  # worlds that are tracked for a belief
_DRAWN = 2_000  # of these, worlds that are counted to draw it
_HINTS = ("scout(engine=none)", "epimc(time=1.0)")  # the first that plays the game is asked for a hint
_COMMANDS = {
    "help": "the rules of this game, and these commands",
    "moves": "all moves that are possible now",
    "history": "what you have observed so far",
    "belief": "what may be hidden from you, every history alike",
    "hint": "what an agent would play, knowing what you know; hint AGENT asks another agent",
    "save": "save FILE keeps the game in a file, to go on with later",
    "quit": "leave the game; it is kept once you have moved",
}


class Leave(Exception):
    """The person wants to leave the game."""


class Human(Agent):
    """Asks a person at the terminal; only for 'foglight play'."""

    at_terminal = True

    def __init__(self) -> None:
        self.ask: Callable[[str], str] = _ask  # from a prompt to what the person writes
        self.tell: Callable[[Any], None] = _tell  # shows a text, or a table of `rich`
        self.draw: Callable[[Marginals], Any] = Marginals.heat
        self.save: Callable[[str], str] = _refuse_to_save  # keeps the game in the file of that name; says where it is

        self._commands = {
            "help": self._help,
            "moves": self._moves,
            "history": self._history,
            "belief": self._belief,
            "hint": self._hint,
            "save": self._save,
            "quit": self._quit,
        }

    def start(self, game: str | Game, seat: int, seed: int) -> None:
        super().start(game, seat, seed)
        self.moves = 0  # made by the person

    def read(self, view: View) -> None:
        self.view = view

    def act(self, actions: Sequence[int] | None = None) -> int:
        self.tell(f"\n{self._situation()}")
        while True:
            written = self.ask(f"your move ({folded(self._names())}): ")
            try:
                action = self._answer(" ".join(written.split()))
            except (BadInput, BeliefLost) as error:
                self.tell(str(error))
            else:
                if action is not None:
                    self.moves += 1
                    return action

    def _situation(self) -> str:
        """What the seat sees and has observed; of a long history only the end."""
        log = self.view.log
        if len(log) <= _LATEST:
            return self.view.information
        return f"{self.view.sight}\nlast of {len(log)} observations: {', '.join(log[-_LATEST:])}"

    def _names(self) -> list[str]:
        return [names[0] for names in self.view.choices.values()]

    def _answer(self, written: str) -> int | None:
        """The action that was written, or None if a command was written, which is carried out."""
        if not written:
            raise BadInput("write a move, or help")
        try:
            return choose(written, self.view.choices)
        except BadInput:
            word, _, rest = written.partition(" ")
            command = word.removeprefix("/").lower()
            if command in _COMMANDS:
                self._commands[command](rest)
                return None
        if written.startswith("/"):
            raise BadInput(unknown("command", command, _COMMANDS))
        if reason := self.view.why_not(written):
            raise BadInput(f"{written!r} is not possible here: {reason}")
        near = difflib.get_close_matches(written.lower(), self._names(), n=3, cutoff=0.5)
        raise BadInput(f"{written!r} is not possible here; try {folded(near or self._names())}, or help")

    # Commands -----------------------------------------------------------------------------------------------------

    def _help(self, rest: str) -> None:
        rules = how_to_play(self.game) or "it does not say more about its rules"
        lines = [title(self.game), "", rules, ""]
        lines += [f"you are on seat {self.seat} of {num_players(self.game)}, counted from 0; write a move, or"]
        lines += [f"  {command:<8} {what}" for command, what in _COMMANDS.items()]
        lines += ["a word that is a move as well means the move; with a slash, as in /help, it is the command"]
        self.tell("\n".join(lines))

    def _moves(self, rest: str) -> None:
        self.tell("\n".join(grouped(self._names())))

    def _history(self, rest: str) -> None:
        self.tell("\n".join(f"{i:>3} {text}" for i, text in enumerate(self.view.log, start=1)) or "nothing yet")

    def _belief(self, rest: str) -> None:
        shown = believed(self.game, self.seat, self.observations, int(fold(self.seed, self.seat)) >> 1)
        agree = _worlds(shown.worlds, shown.exact)
        self.tell(f"{agree} with what you have observed, every history alike:\n")
        self.tell(self.draw(shown))

    def _hint(self, rest: str) -> None:
        with load_agent(rest or self._adviser()) as agent:
            if agent.at_terminal:
                raise BadInput("ask an agent that plays by itself, such as epimc")
            Seat(agent, self.game, self.seat, int(fold(self.seed, 1)), self.observations)
            if agent.time:
                agent.act(list(self.view.choices))  # compiles and loads kernels, so that the next call searches
            try:
                action = agent.act(list(self.view.choices))
            except (BadInput, BeliefLost):
                raise
            except Exception as error:  # whatever somebody's bot raises; the game goes on
                raise BadInput(f"{rest or self._adviser()} fails with {type(error).__name__}: {error}") from error
            self.tell(f"{rest or self._adviser()} would play {self.view.choices[action][0]}: {self._reason(agent)}")

    def _adviser(self) -> str:
        """The agent that is asked for a hint."""
        for text in _HINTS:
            with load_agent(text) as agent:
                try:
                    agent.check(self.game)
                except BadInput:
                    continue
                return text
        raise BadInput(f"no agent that explains itself plays {self.game}; write hint and an agent")

    def _reason(self, agent: Agent) -> str:
        """Why the agent would play that, in a line."""
        if len(self.view.choices) == 1:
            return "it is the only move"
        if not agent.gives_reasons:
            return "it does not say why"
        why = agent.explain()
        if not why.worlds:
            return "; ".join(f"{name} {note}" for name, note in why.notes.items()) or "it does not say why"
        values = dict(zip(why.actions, why.values, strict=True))
        others = {action: value for action, value in values.items() if action != why.action and value == value}
        text = f"it is worth {values[why.action]:+.2f} to you"
        if others:
            second = max(others, key=lambda action: others[action])
            text += f", the best other move, {self.view.choices[second][0]}, {others[second]:+.2f}"
        return f"{text}; it looked at {_worlds(why.worlds, why.exact)} with what you know"

    def _save(self, rest: str) -> None:
        if not rest:
            raise BadInput("save needs a file: write save FILE")
        self.tell(self.save(rest))

    def _quit(self, rest: str) -> None:
        raise Leave


# Text -------------------------------------------------------------------------------------------------------------


def folded(names: Sequence[str]) -> str:
    """Names for a prompt: of many that begin with the same word only a few, and how many they are."""
    if len(names) <= _SHOWN:
        return ", ".join(names)
    parts = []
    for word, rests in _groups(names).items():
        front, few = f"{word} " if word else "", len(rests) <= _FEW
        parts.append(front + (", ".join(rests) if few else f"{', '.join(rests[:_FEW])} ... {rests[-1]} ({len(rests)})"))
    return f"{'; '.join(parts)}; moves lists all"


def grouped(names: Sequence[str]) -> list[str]:
    """All names in lines; those that begin with the same word share lines, with that word in front."""
    lines = []
    for word, rests in _groups(names).items():
        front = f"{word}: " if word else ""
        lines += textwrap.wrap(front + ", ".join(rests), _WIDTH, subsequent_indent=" " * len(front))
    return lines


def _groups(names: Sequence[str]) -> dict[str, list[str]]:
    """The names that begin with a word that others begin with, without it, by that word; all others by no word."""
    firsts = [name.partition(" ")[0] for name in names if " " in name]
    groups: dict[str, list[str]] = {}
    for name in names:
        word, _, rest = name.partition(" ")
        shared = firsts.count(word) > 1
        groups.setdefault(word if shared else "", []).append(rest if shared else name)
    return groups


def _worlds(number: int, exact: bool) -> str:
    """A number of worlds that agree with the observations, in words."""
    if number == 1 and exact:
        return "the only world that agrees"
    return f"{'all' if exact else 'a sample of'} {number:,} world{'s' * (number != 1)} that agree"


def believed(game: Game, seat: int, observations: Sequence[int], seed: int) -> Marginals:
    """What may be hidden from a seat that is to move. Cards are counted, other worlds tracked, at most _CAP of them."""
    if has_usual_places(game):
        return history_filter(game, observations, seat, mover=seat).belief(seed=seed)
    belief = Belief(game, seat, _CAP, seed)
    for observation in observations:
        belief.observe(observation)
    worlds = belief.worlds()
    if len(worlds.weights) <= _DRAWN:
        return marginals(game, worlds.rows, worlds.weights.tolist(), worlds.exact)
    which = np.empty(_DRAWN, np.int64)
    systematic(worlds.weights, 0.5, which)
    return marginals(game, chosen(worlds.rows, which), [1.0] * _DRAWN, exact=False)


def _ask(prompt: str) -> str:
    from rich.console import Console

    return Console(highlight=False, markup=False, emoji=False, soft_wrap=True).input(prompt)


def _tell(shown: Any) -> None:
    from rich.console import Console

    Console(highlight=False, markup=False, emoji=False, soft_wrap=True).print(shown)


def _refuse_to_save(name: str) -> str:
    raise BadInput("this game cannot be saved; play it by 'foglight play' or fl.play")
