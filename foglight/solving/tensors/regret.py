"""Counterfactual regret minimisation on a device: the methods of `whole.regret`, on either form.

On a GPU an iteration is recorded once and then replayed, because launching its many small steps takes longer than
running them.
"""

from typing import Any

import numpy as np

from foglight.names import BadInput
from foglight.solving.tensors.device import check_device, enough_memory, torch
from foglight.solving.tensors.layout import TensorForm
from foglight.solving.tensors.plain import PlainForm
from foglight.solving.tensors.products import Products
from foglight.solving.tensors.steps import Learning
from foglight.solving.whole.regret import METHODS, USUAL, USUAL_FACTORED, weight_of

Tensor = torch.Tensor
_TOGETHER = 1024  # iterations between two looks at the clock
_STATE = ("regrets", "sums", "behaviour", "plan")


class TensorRegrets:
    """A running solver on a device; call `iterate` as often as you like."""

    def __init__(self, plain: PlainForm, method: str | None = None, device: str = "cpu") -> None:
        """The method is `cfr+` unless given, or `sapcfr+` in a factored form."""
        check_device(device)
        self.method = method or (USUAL_FACTORED if plain.coupling else USUAL)
        if self.method not in METHODS:
            raise BadInput(f"{self.method} does not run on a device; {', '.join(METHODS)} do")
        self.device, self.plain, self.iterations = device, plain, 0
        self._number = METHODS.index(self.method)
        with enough_memory(plain.game, device):
            self.form = form = TensorForm(plain, device)
            self._products = products = Products(form)
            self.regrets, self.sums, self._gradients = form.zeros(), form.zeros(), form.zeros()
            self._values = [products.floats(len(side.states)) for side in form.sides]
            self._clock, self._now = products.floats(_TOGETHER, 2), products.floats(2)
            self._tick = torch.zeros(1, dtype=torch.int64, device=form.device)
            self.behaviour = self._average()
            self.plan = products.realised(self.behaviour)
            products.share(self.plan)
        self._graph: Any = None

    def iterate(self, n: int) -> None:
        with enough_memory(self.plain.game, self.device):
            while n > 0:
                self._iterate(min(n, _TOGETHER))
                n -= _TOGETHER
            if self.form.device.type == "cuda":
                torch.cuda.synchronize(self.form.device)

    def _iterate(self, n: int) -> None:
        times = range(self.iterations + 1, self.iterations + n + 1)
        kept = [float(t) ** 1.5 for t in times]
        clock = [(weight_of(self._number, t), power / (power + 1.0)) for t, power in zip(times, kept, strict=True)]
        self._clock[:n] = torch.tensor(clock, dtype=torch.float64)
        self._tick.zero_()
        for _ in range(n):
            if self._graph is not None:
                self._graph.replay()
                continue
            self._step()
            if self.form.device.type == "cuda":
                self._graph = torch.cuda.CUDAGraph()
                with torch.cuda.device(self.form.device), torch.cuda.graph(self._graph):  # records, does not run
                    self._step()
        self.iterations += n

    def _step(self) -> None:
        self._now.copy_(self._clock.index_select(0, self._tick)[0])
        self._tick += 1
        products, steps = self._products, self._products.steps
        for seat, side in enumerate(self.form.sides):
            products.write_gradient(seat, self.plan, self._gradients[seat])
            learning = Learning(self._now, self.regrets[seat], self.sums[seat], self.behaviour[seat], self.plan[seat])
            steps.pass_up(side, self._number, self._gradients[seat], self._values[seat], learning)
            steps.pass_down(side, self.behaviour[seat], self.plan[seat], products.shares[seat])

    def average(self) -> list[np.ndarray]:
        """By seat, the average behaviour, float64[S]."""
        return [self.form.outward(seat, own) for seat, own in enumerate(self._average())]

    def _average(self) -> list[Tensor]:
        """Behaviour in proportion to the sums; where all are 0, uniform over mirror images."""
        result, add_up = [], self._products.steps.add_up
        for side, sums, values in zip(self.form.sides, self.sums, self._values, strict=True):
            images = torch.ones_like(sums) if side.weights is None else 1.0 / side.weights
            total, alike, owners = torch.empty_like(values), torch.empty_like(values), side.owners[1:]
            add_up(side.actions, sums, total)
            add_up(side.actions, images, alike)
            some, every = total.index_select(0, owners), alike.index_select(0, owners)
            behaviour = torch.zeros_like(sums)
            behaviour[1:] = torch.where(some > 0.0, sums[1:] / some, images[1:] / every)
            result.append(behaviour)
        return result

    def measure(self) -> tuple[np.ndarray, np.ndarray]:
        """Under the average, the value to each seat, and what it would gain by changing alone to a best response."""
        plans = self._products.realised(self._average())
        now, best = np.array([self._products.respond(seat, plans)[:2] for seat in range(len(plans))]).T
        self._products.share(self.plan)
        return now, best - now

    def exploitability(self) -> float:
        """The exploitability of the average, per seat."""
        return float(self.measure()[1].mean())

    def state(self) -> dict[str, np.ndarray]:
        """The arrays that resuming needs, beside the number of iterations: those of the compiled solver."""
        parts = {name: [self.form.outward(*own) for own in enumerate(getattr(self, name))] for name in _STATE}
        if self.plain.coupling:
            return {f"{name}{seat}": own[None] for name, part in parts.items() for seat, own in enumerate(part)}
        return {name: np.concatenate(part) for name, part in parts.items()}

    def restore(self, state: dict[str, np.ndarray], iterations: int) -> None:
        """Go on from a state of this solver or of the compiled one."""
        ends = np.cumsum([len(side.order) for side in self.form.sides])
        for name in _STATE:
            for seat, own in enumerate(getattr(self, name)):
                if self.plain.coupling:
                    array = state[f"{name}{seat}"][0]
                else:
                    array = state[name][ends[seat] - len(own) : ends[seat]]
                own.copy_(self.form.inward(seat, array))
        self._products.share(self.plan)
        self.iterations = iterations
