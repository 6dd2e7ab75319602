"""The loop that trains every network: Adam on the mean squared error over information states."""

import io
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from foglight.files import write_whole
from foglight.names import BadInput
from foglight.values.networks.architectures import Shape, Tensor, check_device, torch
from foglight.values.networks.points import Lesson


class Descent:
    """A network in training, with its optimiser."""

    def __init__(self, shape: Shape, seed: int, rate: float, device: str = "cpu") -> None:
        check_device(device)
        self.shape, self.device, self.rate = shape, device, rate
        torch.manual_seed(seed)
        self.network: Any = shape.build().to(device)
        # one kernel for all parameters: several times faster for networks this small
        self._optimiser = torch.optim.Adam(self.network.parameters(), lr=rate, foreach=True)

    def loss(self, lesson: Lesson) -> Tensor:
        """The mean squared error over the information states of a batch."""
        bases = self.network.bases(lesson.public, lesson.private)
        if lesson.rows is not None:
            bases = bases.index_select(0, lesson.rows)
        return ((self.network(lesson.batch, bases) - lesson.targets) ** 2).mean()

    def steps(self, lessons: Iterable[Lesson]) -> Iterator[Tensor]:
        """Take one step for each lesson, and yield the loss before it."""
        for group in self._optimiser.param_groups:
            group["lr"] = self.rate
        for lesson in lessons:
            self._optimiser.zero_grad()
            loss = self.loss(lesson)
            loss.backward()
            self._optimiser.step()
            yield loss.detach()

    def save(self, path: Path, **facts: Any) -> None:
        """Write a checkpoint: the network, the optimiser and the caller's facts."""
        room = io.BytesIO()
        state = {"network": self.network.state_dict(), "optimiser": self._optimiser.state_dict()}
        torch.save(state | facts, room)
        write_whole(path, room.getvalue())

    def load(self, path: Path, **expected: Any) -> dict[str, Any]:
        """Restore a checkpoint if it has the expected facts; returns all its facts."""
        try:
            state = torch.load(path, map_location=self.device, weights_only=True)
            same = all(state[name] == fact for name, fact in expected.items())
            if same:
                self.network.load_state_dict(state["network"])
                self._optimiser.load_state_dict(state["optimiser"])
        except Exception as error:  # torch has no single error for files it cannot read
            raise BadInput(
                f"cannot read the checkpoint {path}: {str(error).splitlines()[0]}; remove it to start again"
            ) from None
        if not same:
            raise BadInput(f"{path} is a checkpoint of other settings or other data; remove it or name another file")
        return dict(state)
