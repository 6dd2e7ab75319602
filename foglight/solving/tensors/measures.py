"""Values and best responses of any policy on a device."""

import functools
from typing import Any

import numpy as np

from foglight.solving.factored.form import FactoredForm
from foglight.solving.factored.policies import plans_of
from foglight.solving.tensors.device import check_device, enough_memory, torch
from foglight.solving.tensors.layout import Sums, Tensor, TensorForm
from foglight.solving.tensors.plain import plain_form
from foglight.solving.tensors.products import Products
from foglight.solving.whole.behaviour import behaviour_of
from foglight.solving.whole.sequences import SequenceForm


@functools.lru_cache(maxsize=1)
def _tensors(form: SequenceForm | FactoredForm, device: str) -> TensorForm:
    return TensorForm(plain_form(form, turns=True), device)


def measured(form: SequenceForm | FactoredForm, policy: Any, device: str) -> tuple[np.ndarray, np.ndarray]:
    """The value of a policy to each seat, and what it would gain by changing alone to a best response."""
    check_device(device)
    game = form.game if isinstance(form, FactoredForm) else form.tree.game
    if isinstance(form, FactoredForm):
        given = plans_of(form, policy)
    else:
        given = np.split(behaviour_of(form, policy), form.form.sequence_begins[1:-1])
    with enough_memory(str(game), device):
        tensors = _tensors(form, device)
        inward = [tensors.inward(seat, own) for seat, own in enumerate(given)]
        if isinstance(form, FactoredForm) and len(given[0]) > 1:
            now, best = _Mirrors(tensors).measured(inward)
        else:
            products = Products(tensors)
            plans = [own[0] for own in inward] if isinstance(form, FactoredForm) else products.realised(inward)
            now, best = np.array([products.respond(seat, plans)[:2] for seat in range(len(plans))]).T
    return now, best - now


class _Mirrors:
    """Products with plans that are not symmetric, float64[G, S]: what `factored.form` does with several lines."""

    def __init__(self, form: TensorForm) -> None:
        group = form.plain.group
        assert group is not None
        self.form, self.product, self.images = form, form.moved(group.product), len(group.images)

    def measured(self, plans: list[Tensor]) -> tuple[np.ndarray, np.ndarray]:
        """By seat, its payoff under these plans, and that of its best response."""
        chances = [self._turned(rows.by_row, own) for rows, own in zip(self.form.rows, plans, strict=True)]
        worths = [
            self._turned(rows.values, chances[1 - seat]) / self.images for seat, rows in enumerate(self.form.rows)
        ]
        now = float((chances[0] * worths[0]).sum()) + self.form.shift
        best = [self._best(seat, own) for seat, own in enumerate(worths)]
        return np.array([now, -now]), np.array([best[0] + self.form.shift, best[1] - self.form.shift])

    def _turned(self, sums: Sums, source: Tensor) -> Tensor:
        """The sums of a source with several lines, by line."""
        assert sums.turns is not None and sums.index is not None
        size, turns, index = source.shape[1], sums.turns.long(), sums.index.long()
        out = torch.zeros((self.images, len(sums.begins) - 1), dtype=source.dtype, device=source.device)
        for line in range(self.images):
            terms = source.view(-1)[self.product[line][turns] * size + index]
            out[line].index_add_(0, sums.owners, terms if sums.weights is None else terms * sums.weights)
        return out

    def _best(self, seat: int, worths: Tensor) -> float:
        side, rows = self.form.sides[seat], self.form.rows[seat]
        assert rows.fixed is not None and rows.kept is not None and side.children.index is not None
        earned = self._turned(rows.by_sequence, worths)
        gradient = torch.zeros_like(earned)
        for turn in range(self.images):
            gradient += (rows.kept >> turn & 1) * earned[self.product[:, turn]]
        values = torch.full((self.images, len(side.states)), -torch.inf, dtype=torch.float64, device=worths.device)
        for level in reversed(range(-1, side.depth)):
            first, last = ([0, *side.child_firsts][level + 1], side.child_firsts[level + 1])
            children = side.children.index[first:last]
            gradient.index_add_(1, side.children.owners[first:last], values.index_select(1, children))
            if level >= 0:
                here, states = slice(*side.firsts[level : level + 2]), slice(*side.levels[level : level + 2])
                owners = side.owners[here].long().expand(self.images, -1)
                values.scatter_reduce_(1, owners, gradient[:, here], "amax")
                alone = values[:, states].clone()
                for turn in range(self.images):
                    mirrored = torch.where(
                        (rows.fixed[states] >> turn & 1) == 1, alone[self.product[:, turn]], -torch.inf
                    )
                    values[:, states] = torch.maximum(values[:, states], mirrored)
        return float(gradient[0, 0])
