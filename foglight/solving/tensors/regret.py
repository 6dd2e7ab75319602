"""Counterfactual regret minimisation on a device: the methods of `whole.regret`, on either form.

On a GPU an iteration is recorded once and then replayed, because launching its many small steps takes longer than
running them.
"""

import importlib.util
from typing import Any

import numpy as np

from foglight.names import BadInput
from foglight.solving.tensors import steps as torch_steps
from foglight.solving.tensors.device import check_device, enough_memory, torch
from foglight.solving.tensors.layout import TensorForm
from foglight.solving.tensors.plain import PlainForm, others_of
from foglight.solving.tensors.steps import RESPOND
from foglight.solving.whole.regret import METHODS, weight_of

Tensor = torch.Tensor
_TOGETHER = 1024  # iterations between two looks at the clock
_STATE = ("regrets", "sums", "behaviour", "plan")


def steps_for(device: Any) -> Any:
    """The module with the steps of an iteration on this device."""
    if torch.device(device).type == "cuda" and importlib.util.find_spec("triton") is not None:
        from foglight.solving.tensors import gpu_steps

        return gpu_steps
    return torch_steps


class TensorRegrets:
    """A running solver on a device; call `iterate` as often as you like."""

    def __init__(self, plain: PlainForm, method: str | None = None, device: str = "cpu") -> None:
        """The method is `cfr+` unless given, or `pcfr+` in a factored form."""
        check_device(device)
        self.method = method or ("pcfr+" if plain.coupling else "cfr+")
        if self.method not in METHODS:
            raise BadInput(f"{self.method} does not run on a device; cfr, cfr+, dcfr and pcfr+ do")
        self.device, self.plain, self.iterations = device, plain, 0
        self._number, self._steps = METHODS.index(self.method), steps_for(device)
        with enough_memory(plain.game, device):
            self.form = form = TensorForm(plain, device)
            self.regrets, self.sums, self.behaviour, self.plan, self._gradients = (form.zeros() for _ in range(5))
            self._products = Products(form)
            self._values = [self._float(len(side.states)) for side in form.sides]
            self._clock, self._now = self._float(_TOGETHER, 2), self._float(2)
            self._tick = torch.zeros(1, dtype=torch.int64, device=self.form.device)
            self.behaviour = [self._normalised(seat) for seat in range(len(form.sides))]
            self._realise(self.behaviour, self.plan)
        self._graph: Any = None

    def _float(self, *shape: int) -> Tensor:
        return torch.zeros(shape, dtype=torch.float64, device=self.form.device)

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
        for seat, side in enumerate(self.form.sides):
            self._products.write_gradient(seat, self.plan, self._gradients[seat])
            self._steps.pass_up(
                side, self._number, self._now, self._gradients[seat], self._values[seat],
                self.regrets[seat], self.sums[seat], self.behaviour[seat], self.plan[seat],
            )  # fmt: skip
            self._steps.pass_down(side, self.behaviour[seat], self.plan[seat], self._products.shares[seat])

    def _normalised(self, seat: int) -> Tensor:
        """Behaviour in proportion to the sums; where all are 0, uniform over mirror images."""
        side, sums = self.form.sides[seat], self.sums[seat]
        images = torch.ones_like(sums) if side.weights is None else 1.0 / side.weights
        total, alike, owners = self._float(len(side.states)), self._float(len(side.states)), side.owners[1:]
        self._steps.add_up(side.actions, sums, total)
        self._steps.add_up(side.actions, images, alike)
        some, every = total.index_select(0, owners), alike.index_select(0, owners)
        behaviour = torch.zeros_like(sums)
        behaviour[1:] = torch.where(some > 0.0, sums[1:] / some, images[1:] / every)
        return behaviour

    def _realise(self, behaviour: list[Tensor], plan: list[Tensor]) -> None:
        """Write the plans of this behaviour, and share them out for the products."""
        for seat, side in enumerate(self.form.sides):
            plan[seat][0] = 1.0
            self._steps.pass_down(side, behaviour[seat], plan[seat], None)
        self._products.share(plan)

    def average(self) -> list[np.ndarray]:
        """By seat, the average behaviour, float64[S]."""
        return [self.form.outward(seat, self._normalised(seat)) for seat in range(len(self.sums))]

    def measure(self) -> tuple[np.ndarray, np.ndarray]:
        """Under the average, the value to each seat, and what it would gain by changing alone to a best response."""
        averages = [self._normalised(seat) for seat in range(len(self.sums))]
        plans = self.form.zeros()
        self._realise(averages, plans)
        result = [self._measured(seat, plans) for seat in range(len(plans))]
        self._products.share(self.plan)
        values, best = np.array(result).T
        return values, best - values

    def _measured(self, seat: int, plans: list[Tensor]) -> tuple[float, float]:
        """The value of a seat under these plans, and that of its best response."""
        gradient, values = torch.zeros_like(plans[seat]), torch.zeros_like(self._values[seat])
        self._products.write_gradient(seat, plans, gradient)
        shift = self.form.shift if seat == 0 else -self.form.shift
        now = float(plans[seat] @ gradient) + shift
        unused = self._now
        self._steps.pass_up(
            self.form.sides[seat], RESPOND, unused, gradient, values, unused, unused, unused, unused
        )
        return now, float(gradient[0]) + shift

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


class Products:
    """Products of plans with the matrix of payoffs."""

    def __init__(self, form: TensorForm) -> None:
        self.form, self._steps = form, steps_for(form.device)
        factored = bool(form.rows)
        self.shares: list[Any] = form.zeros() if factored else [None for _ in form.sides]
        self._chances = [self._empty(rows) for rows in form.rows]
        self._worths = [self._empty(rows) for rows in form.rows]

    def _empty(self, rows: Any) -> Tensor:
        return torch.zeros(len(rows.by_row.begins) - 1, dtype=torch.float64, device=self.form.device)

    def share(self, plans: list[Tensor]) -> None:
        """Divide the plans of sequences among their mirror images; `pass_down` does this on its way."""
        for seat, side in enumerate(self.form.sides):
            if side.weights is not None:
                torch.mul(plans[seat], side.weights, out=self.shares[seat])

    def write_gradient(self, seat: int, plans: list[Tensor], gradient: Tensor) -> None:
        """Write what each sequence of a seat earns where it ends, given the plans, or shares, of the others."""
        add_up = self._steps.add_up
        if self.form.rows:
            own, other = self.form.rows[seat], self.form.rows[1 - seat]
            add_up(other.by_row, self.shares[1 - seat], self._chances[1 - seat])
            add_up(own.values, self._chances[1 - seat], self._worths[seat])
            add_up(own.by_sequence, self._worths[seat], gradient, self.form.sides[seat].weights)
            return
        terms = self.form.terms[seat]
        if len(plans) == 2:
            add_up(terms.sums, plans[1 - seat], gradient)
            return
        source = terms.weights
        for other, places in zip(others_of(seat, len(plans)), terms.others, strict=True):
            source = source * plans[other].index_select(0, places)
        add_up(terms.sums, source, gradient)
