"""The steps of `steps`, each as one kernel of a GPU or one for each level, in Triton.

Terms are added in the order of the compiled solver: a lane adds the terms of one sum one after another, or a program
reads a tile of them at once and adds its columns one after another. Products and sums are rounded one by one for the
same reason.
"""

import triton
import triton.language as tl

from foglight.solving.tensors.layout import Side, Sums, Tensor
from foglight.solving.tensors.steps import RESPOND, Learning

_AHEAD = 16  # most terms of a sum that are read before the first of them is added
_FEW = 4  # children of a sequence that are read by the program of its information state
_SMALL = 1 << 16  # numbers up to which programs of one warp use more of the GPU
_EXACT = {"enable_fp_fusion": False}
_CFR, _CFR_PLUS, _DISCOUNTED = tl.constexpr(0), tl.constexpr(1), tl.constexpr(2)  # as in `regret.METHODS`
_ASYMMETRIC = tl.constexpr(4)
_BEST = tl.constexpr(RESPOND)


def add_up(sums: Sums, source: Tensor, out: Tensor, scale: Tensor | None = None) -> None:
    """Write sums of numbers of a source, each multiplied by its place in `scale`."""
    _sum(sums, source, out, 0, len(sums.begins) - 1, scale, False)


def _sum(sums: Sums, source: Tensor, out: Tensor, first: int, n: int, scale: Tensor | None, more: bool) -> None:
    """Write n sums from number `first` on; `more`: add them to what is there."""
    if n:
        lanes = _lanes(n)
        _add_up[(triton.cdiv(n, lanes),)](
            sums.begins, sums.index, sums.weights, source, scale, out, first, n,
            more, lanes, sums.width(_AHEAD), num_warps=lanes // 32, **_EXACT,
        )  # fmt: skip


def _lanes(n: int) -> int:
    """Lanes of a program, where n are needed in all."""
    return 32 if n <= _SMALL else 128


def pass_up(side: Side, method: int, gradient: Tensor, values: Tensor, learning: Learning | None = None) -> None:
    """As `steps.pass_up`."""
    children, arrays = side.children, learning or (None,) * len(Learning._fields)
    for level in reversed(range(side.depth)):
        first, last = side.firsts[level : level + 2]
        many = side.most_children[level] > _FEW
        if many:
            _sum(children, values, gradient, first, last - first, None, True)
        n, width = side.levels[level + 1] - side.levels[level], triton.next_power_of_2(side.most_actions[level])
        lanes = _lanes(n * width)
        height = max(1, 4 * lanes // width)
        _pass_up[(triton.cdiv(n, height),)](
            side.actions.begins, children.begins, children.index, gradient, values, *arrays, side.levels[level], n,
            method, 0 if many else side.most_children[level], height, width, num_warps=lanes // 32, **_EXACT,
        )  # fmt: skip
    if method == RESPOND:
        _sum(children, values, gradient, 0, 1, None, True)


def pass_down(side: Side, behaviour: Tensor, plan: Tensor, shares: Tensor | None) -> None:
    """As `steps.pass_down`."""
    for level in range(side.depth):
        first = side.firsts[level]
        n = side.firsts[level + 1] - first
        lanes = _lanes(n)
        _pass_down[(triton.cdiv(n, lanes),)](
            side.owners, side.links.begins, side.links.index, side.weights, behaviour, plan, shares, first, n,
            lanes, num_warps=lanes // 32, **_EXACT,
        )  # fmt: skip


@triton.jit
def _add_up(
    begins, index, weights, source, scale, out, start, n, more: tl.constexpr, lanes: tl.constexpr, ahead: tl.constexpr
):
    lines = tl.program_id(0) * lanes + tl.arange(0, lanes)
    live = lines < n
    numbers = start + lines
    first = tl.load(begins + numbers, live, 0)
    last = tl.load(begins + numbers + 1, live, 0)
    total = tl.zeros([lanes], tl.float64)
    if more:
        total = tl.load(out + numbers, live, 0.0)
    for k in range(0, tl.max(last - first, 0), ahead):
        for step in tl.static_range(ahead):
            place = first + k + step
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
def _in_order(tile, longest, height: tl.constexpr, width: tl.constexpr):
    """The sum of each line of a tile, its columns added from left to right."""
    columns = tl.arange(0, width)[None, :]
    total = tl.zeros([height], tl.float64)
    for column in range(longest):  # unrolling it makes it slower
        total += tl.sum(tl.where(columns == column, tile, 0.0), 1)
    return total


@triton.jit
def _pass_up(
    begins, child_begins, children, gradient, values, now, regrets, sums, behaviour, plan, start, n,
    method: tl.constexpr, most_children: tl.constexpr, height: tl.constexpr, width: tl.constexpr,
):  # fmt: skip
    """Update n information states of one level, from number `start` on; a column is an action."""
    lines = tl.program_id(0) * height + tl.arange(0, height)
    columns = tl.arange(0, width)[None, :]
    live = lines < n
    states = start + lines
    first = tl.load(begins + states, live, 0)
    last = tl.load(begins + states + 1, live, 0)
    longest = tl.max(last - first, 0)
    place = first[:, None] + columns
    there = place < last[:, None]
    worth = tl.load(gradient + place, there, 0.0)
    if most_children > 0:
        child = tl.load(child_begins + place, there, 0)
        stop = tl.load(child_begins + place + 1, there, 0)
        for k in tl.static_range(most_children):
            inside = child + k < stop
            worth += tl.load(values + tl.load(children + child + k, inside, 0), inside, 0.0)
    if method == _BEST:
        tl.store(gradient + place, worth, there)
        tl.store(values + states, tl.max(tl.where(there, worth, float("-inf")), 1), live)
    else:
        product = tl.load(behaviour + place, there, 0.0) * worth
        value = _in_order(product, longest, height, width)
        tl.store(values + states, value, live)
        share = tl.load(now) * tl.load(plan + place, there, 0.0)
        tl.store(sums + place, tl.load(sums + place, there, 0.0) + share, there)
        regret = worth - value[:, None]
        grown = tl.load(regrets + place, there, 0.0) + regret
        positive = tl.maximum(grown, 0.0)
        wish = positive
        if method == _CFR:
            tl.store(regrets + place, grown, there)
        elif method == _CFR_PLUS:
            tl.store(regrets + place, positive, there)
        elif method == _DISCOUNTED:
            tl.store(regrets + place, tl.where(grown > 0.0, grown * tl.load(now + 1), grown * 0.5), there)
        else:
            tl.store(regrets + place, positive, there)
            predicted = regret
            if method == _ASYMMETRIC:
                predicted = 0.5 * regret
            wish = tl.maximum(positive + predicted, 0.0)
        wish = tl.where(there, wish, 0.0)
        total = _in_order(wish, longest, height, width)
        part = (1.0 / total)[:, None]
        uniform = (1.0 / (last - first).to(tl.float64))[:, None]
        tl.store(behaviour + place, tl.where(total[:, None] > 0.0, wish * part, uniform), there)


@triton.jit
def _pass_down(owners, link_begins, parents, weights, behaviour, plan, shares, start, n, lanes: tl.constexpr):
    """Write the plans of n sequences of one level, from number `start` on."""
    lines = tl.program_id(0) * lanes + tl.arange(0, lanes)
    live = lines < n
    places = start + lines
    state = tl.load(owners + places, live, 0)
    link = tl.load(link_begins + state, live, 0)
    stop = tl.load(link_begins + state + 1, live, 0)
    reach = tl.zeros([lanes], tl.float64)
    for _ in range(tl.max(stop - link, 0)):
        inside = link < stop
        reach += tl.load(plan + tl.load(parents + link, inside, 0), inside, 0.0)
        link += 1
    own = reach * tl.load(behaviour + places, live, 0.0)
    tl.store(plan + places, own, live)
    if shares is not None:
        tl.store(shares + places, own * tl.load(weights + places, live, 0.0), live)
