"""Products of plans with the matrix of payoffs, and best responses, on a device."""

import importlib.util
from typing import Any

from foglight.solving.tensors import steps as torch_steps
from foglight.solving.tensors.device import torch
from foglight.solving.tensors.layout import TensorForm
from foglight.solving.tensors.plain import others_of
from foglight.solving.tensors.steps import RESPOND

Tensor = torch.Tensor


def steps_for(device: torch.device) -> Any:
    """The module with the steps of an iteration on this device."""
    if device.type == "cuda" and importlib.util.find_spec("triton") is not None:
        from foglight.solving.tensors import gpu_steps

        return gpu_steps
    return torch_steps


class Products:
    """Gradients on a form, from the plans of all seats."""

    def __init__(self, form: TensorForm) -> None:
        self.form, self.steps = form, steps_for(form.device)
        # in a factored form, by seat: the plans divided among mirror images, and two arrays over rows
        self.shares: list[Any] = form.zeros() if form.rows else [None for _ in form.sides]
        self._chances, self._worths = ([self.floats(rows.count) for rows in form.rows] for _ in range(2))

    def floats(self, *shape: int) -> Tensor:
        return torch.zeros(shape, dtype=torch.float64, device=self.form.device)

    def share(self, plans: list[Tensor]) -> None:
        """Divide plans among mirror images, before `write_gradient`; `pass_down` does this on its way."""
        for seat, side in enumerate(self.form.sides):
            if side.weights is not None:
                torch.mul(plans[seat], side.weights, out=self.shares[seat])

    def realised(self, behaviour: list[Tensor]) -> list[Tensor]:
        """The plans of this behaviour of all seats."""
        plans = self.form.zeros()
        for seat, side in enumerate(self.form.sides):
            plans[seat][0] = 1.0
            self.steps.pass_down(side, behaviour[seat], plans[seat], None)
        return plans

    def write_gradient(self, seat: int, plans: list[Tensor], gradient: Tensor) -> None:
        """Write what each sequence of a seat earns where it ends, given the plans of the others, which are shared."""
        add_up = self.steps.add_up
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
        for leader, places in zip(others_of(seat, len(plans)), terms.others, strict=True):
            source = source * plans[leader].index_select(0, places)
        add_up(terms.sums, source, gradient)

    def respond(self, seat: int, plans: list[Tensor]) -> tuple[float, float, Tensor]:
        """A seat's payoff under these plans, that of its best response, and the values of its sequences under it."""
        gradient, values = torch.zeros_like(plans[seat]), self.floats(len(self.form.sides[seat].states))
        self.share(plans)
        self.write_gradient(seat, plans, gradient)
        shift = self.form.shift if seat == 0 else -self.form.shift
        now = float(plans[seat] @ gradient) + shift
        self.steps.pass_up(self.form.sides[seat], RESPOND, gradient, values)
        return now, float(gradient[0]) + shift, gradient
