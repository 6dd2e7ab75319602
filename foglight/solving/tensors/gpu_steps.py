"""The steps of `steps`, each as one kernel of a GPU or one for each level, in Triton.

A lane works on one sum, one information state or one sequence, and adds one term after another, so that terms are added
in the order of the compiled solver. Products and sums are rounded one by one for the same reason.
"""

import triton
import triton.language as tl

from foglight.solving.tensors.layout import Side, Sums, Tensor
from foglight.solving.tensors.steps import RESPOND

_LANES = tl.constexpr(64)  # that a program has
_AHEAD = tl.constexpr(8)  # terms that are read before the first of them is added
_FEW = 4  # children of a sequence that are read by the lane of its information state
_EXACT = {"num_warps": 2, "enable_fp_fusion": False}
_CFR, _CFR_PLUS, _DISCOUNTED = tl.constexpr(0), tl.constexpr(1), tl.constexpr(2)  # as in `regret.METHODS`
_BEST = tl.constexpr(RESPOND)


def add_up(sums: Sums, source: Tensor, out: Tensor, scale: Tensor | None = None) -> None:
    """Write sums of numbers of a source, each multiplied by its place in `scale`."""
    n = len(sums.begins) - 1
    if n:
        _add_up[(triton.cdiv(n, _LANES.value),)](
            sums.begins, sums.index, sums.weights, source, scale, out, 0, n, False, **_EXACT
        )


def pass_up(
    side: Side, method: int, now: Tensor,
    gradient: Tensor, values: Tensor, regrets: Tensor, sums: Tensor, behaviour: Tensor, plan: Tensor,
) -> None:  # fmt: skip
    """As `steps.pass_up`."""
    children = side.children
    for level in reversed(range(side.depth)):
        few, first = side.most_children[level] <= _FEW, side.levels[level]
        if not few:
            _add_children(side, side.firsts[level], side.firsts[level + 1], values, gradient)
        n = side.levels[level + 1] - first
        _pass_up[(triton.cdiv(n, _LANES.value),)](
            side.actions.begins, children.begins, children.index, now,
            gradient, values, regrets, sums, behaviour, plan, first, n,
            method, few and side.most_children[level] > 0, **_EXACT,
        )  # fmt: skip
    if method == RESPOND:
        _add_children(side, 0, 1, values, gradient)


def _add_children(side: Side, first: int, last: int, values: Tensor, gradient: Tensor) -> None:
    """Add the values of information states to some of the sequences before them."""
    n, children = last - first, side.children
    _add_up[(triton.cdiv(n, _LANES.value),)](
        children.begins, children.index, None, values, None, gradient, first, n, True, **_EXACT
    )


def pass_down(side: Side, behaviour: Tensor, plan: Tensor, shares: Tensor | None) -> None:
    """As `steps.pass_down`."""
    for level in range(side.depth):
        first = side.firsts[level]
        n = side.firsts[level + 1] - first
        _pass_down[(triton.cdiv(n, _LANES.value),)](
            side.owners, side.links.begins, side.links.index, side.weights, behaviour, plan, shares, first, n, **_EXACT
        )


@triton.jit
def _add_up(begins, index, weights, source, scale, out, start, n, more: tl.constexpr):
    """Write n sums from number `start` on; `more`: add them to what is there."""
    lanes = tl.program_id(0) * _LANES + tl.arange(0, _LANES)
    live = lanes < n
    numbers = start + lanes
    first = tl.load(begins + numbers, live, 0)
    last = tl.load(begins + numbers + 1, live, 0)
    total = tl.zeros([_LANES], tl.float64)
    if more:
        total = tl.load(out + numbers, live, 0.0)
    for k in range(0, tl.max(last - first, 0), _AHEAD):
        for ahead in tl.static_range(_AHEAD):
            place = first + k + ahead
            there = place < last
            at = place
            if index is not None:
                at = tl.load(index + place, there, 0).to(tl.int64)
            term = tl.load(source + at, there, 0.0)
            if weights is not None:
                term = term * tl.load(weights + place, there, 0.0).to(tl.float64)
            total += term
    if scale is not None:
        total = total * tl.load(scale + numbers, live, 0.0)
    tl.store(out + numbers, total, live)


@triton.jit
def _pass_up(
    begins, child_begins, children, now, gradient, values, regrets, sums, behaviour, plan, start, n,
    method: tl.constexpr, with_children: tl.constexpr,
):  # fmt: skip
    """Update n information states of one level, from number `start` on."""
    lanes = tl.program_id(0) * _LANES + tl.arange(0, _LANES)
    live = lanes < n
    states = start + lanes
    first = tl.load(begins + states, live, 0)
    last = tl.load(begins + states + 1, live, 0)
    size = last - first
    longest = tl.max(size, 0)
    value = tl.zeros([_LANES], tl.float64)
    for k in range(longest):
        place = first + k
        there = place < last
        worth = tl.load(gradient + place, there, 0.0)
        if with_children:
            child = tl.load(child_begins + place, there, 0)
            stop = tl.load(child_begins + place + 1, there, 0)
            for _ in range(tl.max(stop - child, 0)):
                inside = child < stop
                worth += tl.load(values + tl.load(children + child, inside, 0), inside, 0.0)
                child += 1
            tl.store(gradient + place, worth, there)
        if method == _BEST:
            value = tl.where(there & ((k == 0) | (worth > value)), worth, value)
        else:
            value += tl.load(behaviour + place, there, 0.0) * worth
    tl.store(values + states, value, live)
    if method != _BEST:
        weight = tl.load(now)
        kept = tl.load(now + 1)
        tl.debug_barrier()  # what was stored above is read below
        total = tl.zeros([_LANES], tl.float64)
        for k in range(longest):
            place = first + k
            there = place < last
            share = weight * tl.load(plan + place, there, 0.0)
            tl.store(sums + place, tl.load(sums + place, there, 0.0) + share, there)
            regret = tl.load(gradient + place, there, 0.0) - value
            grown = tl.load(regrets + place, there, 0.0) + regret
            positive = tl.maximum(grown, 0.0)
            wish = positive
            if method == _CFR:
                tl.store(regrets + place, grown, there)
            elif method == _CFR_PLUS:
                tl.store(regrets + place, positive, there)
            elif method == _DISCOUNTED:
                tl.store(regrets + place, tl.where(grown > 0.0, grown * kept, grown * 0.5), there)
            else:
                tl.store(regrets + place, positive, there)
                wish = tl.maximum(positive + regret, 0.0)
            wish = tl.where(there, wish, 0.0)
            tl.store(behaviour + place, wish, there)
            total += wish
        tl.debug_barrier()
        part = 1.0 / total
        uniform = 1.0 / size.to(tl.float64)
        for k in range(longest):
            place = first + k
            there = place < last
            wish = tl.load(behaviour + place, there, 0.0)
            tl.store(behaviour + place, tl.where(total > 0.0, wish * part, uniform), there)


@triton.jit
def _pass_down(owners, link_begins, parents, weights, behaviour, plan, shares, start, n):
    """Write the plans of n sequences of one level, from number `start` on."""
    lanes = tl.program_id(0) * _LANES + tl.arange(0, _LANES)
    live = lanes < n
    places = start + lanes
    state = tl.load(owners + places, live, 0)
    link = tl.load(link_begins + state, live, 0)
    stop = tl.load(link_begins + state + 1, live, 0)
    reach = tl.zeros([_LANES], tl.float64)
    for _ in range(tl.max(stop - link, 0)):
        inside = link < stop
        reach += tl.load(plan + tl.load(parents + link, inside, 0), inside, 0.0)
        link += 1
    own = reach * tl.load(behaviour + places, live, 0.0)
    tl.store(plan + places, own, live)
    if shares is not None:
        tl.store(shares + places, own * tl.load(weights + places, live, 0.0), live)
