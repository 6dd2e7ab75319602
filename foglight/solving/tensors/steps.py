"""The steps of an iteration in PyTorch's own operations, for any device.

On the CPU `index_add_` adds terms one after another, in their order. On a GPU it does not; there `gpu_steps` takes the
place of this module wherever Triton is installed, which comes with PyTorch on Linux.
"""

from typing import NamedTuple

from foglight.solving.tensors.device import torch
from foglight.solving.tensors.layout import Side, Sums, Tensor
from foglight.solving.whole.regret import METHODS


class Learning(NamedTuple):
    """What a seat's update reads and writes: arrays over its sequences."""

    now: Tensor  # float64[2]: the iteration's weight in the average, and the share of positive regrets that is kept
    regrets: Tensor
    sums: Tensor
    behaviour: Tensor
    plan: Tensor


RESPOND = len(METHODS)  # instead of the number of a method: take the best action, learn nothing


def add_up(sums: Sums, source: Tensor, out: Tensor, scale: Tensor | None = None) -> None:
    """Write sums of numbers of a source, each multiplied by its place in `scale`."""
    terms = source[-len(sums.owners) :] if sums.index is None else source.index_select(0, sums.index)
    if sums.weights is not None:
        terms = terms * sums.weights
    out.zero_().index_add_(0, sums.owners, terms)
    if scale is not None:
        out.mul_(scale)


def pass_up(side: Side, method: int, gradient: Tensor, values: Tensor, learning: Learning | None = None) -> None:
    """Complete the gradient with what follows a sequence, and write the values of information states.

    Then learn, by a method of the compiled solver. With `RESPOND` there is nothing to learn.
    """
    for level in reversed(range(side.depth)):
        here = slice(side.firsts[level], side.firsts[level + 1])
        _add_children(side, side.child_firsts[level], side.child_firsts[level + 1], values, gradient)
        owners = side.owners[here]
        own = values[side.levels[level] : side.levels[level + 1]]
        if learning is None:
            own.fill_(-torch.inf)
            values.scatter_reduce_(0, owners.long(), gradient[here], "amax")
        else:
            own.zero_()
            values.index_add_(0, owners, learning.behaviour[here] * gradient[here])
    if learning is not None:
        _learn(side, METHODS[method], gradient, values, *learning)
    _add_children(side, 0, side.child_firsts[0], values, gradient)


def _add_children(side: Side, first: int, last: int, values: Tensor, gradient: Tensor) -> None:
    """Add the values of information states to the sequences before them, from one place in `children` to another."""
    if last > first and side.children.index is not None:
        terms = values.index_select(0, side.children.index[first:last])
        gradient.index_add_(0, side.children.owners[first:last], terms)


def _learn(
    side: Side, method: str, gradient: Tensor, values: Tensor,
    now: Tensor, regrets: Tensor, sums: Tensor, behaviour: Tensor, plan: Tensor,
) -> None:  # fmt: skip
    """What `whole.regret.learn` does at one information state, at all of them."""
    acting, owners = slice(1, None), side.owners[1:]
    sums[acting] += now[0] * plan[acting]
    regret = gradient[acting] - values.index_select(0, owners)
    grown = regrets[acting] + regret
    positive = grown.clamp(min=0.0)
    if method == "cfr":
        regrets[acting], wish = grown, positive
    elif method == "cfr+":
        regrets[acting], wish = positive, positive
    elif method == "dcfr":
        regrets[acting], wish = torch.where(grown > 0.0, grown * now[1], grown * 0.5), positive
    else:
        predicted = 0.5 * regret if method == "sapcfr+" else regret
        regrets[acting], wish = positive, (positive + predicted).clamp(min=0.0)
    total = torch.zeros_like(values).index_add_(0, owners, wish)
    share = (1.0 / total).index_select(0, owners)
    uniform = 1.0 / side.actions.begins.diff().index_select(0, owners).double()
    behaviour[acting] = torch.where(total.index_select(0, owners) > 0.0, wish * share, uniform)


def pass_down(side: Side, behaviour: Tensor, plan: Tensor, shares: Tensor | None) -> None:
    """Turn a seat's behaviour into its plan; also into `shares`, the plan divided among mirror images."""
    reach = torch.zeros(len(side.states), dtype=plan.dtype, device=plan.device)
    for level in range(side.depth):
        here = slice(side.firsts[level], side.firsts[level + 1])
        first, last = side.link_firsts[level : level + 2]
        assert side.links.index is not None
        reach.index_add_(0, side.links.owners[first:last], plan.index_select(0, side.links.index[first:last]))
        torch.mul(reach.index_select(0, side.owners[here]), behaviour[here], out=plan[here])
    if shares is not None and side.weights is not None:
        torch.mul(plan, side.weights, out=shares)
