"""A person at the terminal, who sees the information of the seat and nothing else."""

from collections.abc import Mapping, Sequence

from rich.console import Console

from foglight.agents import Agent
from foglight.names import BadInput, choose


class Human(Agent):
    """Asks a person at the terminal; only for 'foglight play'."""

    at_terminal = True

    def read(self, information: str, choices: Mapping[int, Sequence[str]]) -> None:
        self.information, self.choices = information, choices

    def act(self, actions: Sequence[int] | None = None) -> int:
        console = Console(highlight=False, markup=False, soft_wrap=True)
        console.print(f"\n{self.information}")
        while True:
            answer = console.input(f"your move ({', '.join(names[0] for names in self.choices.values())}): ")
            try:
                return choose(answer, self.choices)
            except BadInput as error:
                console.print(str(error))
