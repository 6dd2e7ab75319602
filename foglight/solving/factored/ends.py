"""Where common histories end: the graphs of both seats' walks, followed together."""

from collections.abc import Sequence

import numpy as np

from foglight.compile import kernel
from foglight.solving.factored.walk import Walk

END_BYTES = 13  # that an end takes in a form


def ends_of(walks: Sequence[Walk], symmetries: int, most: float) -> tuple[np.ndarray, ...] | None:
    """Where common histories end: rows int32[T, 2], turns int8[T, 2], payoffs float32[T]; None if over `most` bytes."""
    graphs = tuple((walk.firsts, walk.counts, walk.targets, walk.worths) for walk in walks)
    levels = sum(walk.pasts.shape[1] for walk in walks) + 2
    none = np.zeros((0, 2), np.int32), np.zeros((0, 2), np.int8), np.zeros(0, np.float32)
    total = _couple(graphs, symmetries, levels, *none)
    if total * END_BYTES > most:
        return None
    ends = np.zeros((total, 2), np.int32), np.zeros((total, 2), np.int8), np.zeros(total, np.float32)
    _couple(graphs, symmetries, levels, *ends)
    return ends


@kernel
def _couple(graphs, symmetries, levels, rows, turns, payoffs):
    """Write the ends of all common histories, as far as there is room, and return their number."""
    nodes, edge, odds = np.zeros((levels, 2), np.int64), np.zeros(levels, np.int64), np.ones(levels)
    level, n = 0, 0
    while level >= 0:
        if edge[level] == graphs[0][1][nodes[level, 0]]:
            level -= 1
            continue
        e = edge[level]
        edge[level] += 1
        first, second = graphs[0][0][nodes[level, 0]] + e, graphs[1][0][nodes[level, 1]] + e
        if graphs[0][2][first] >= 0:
            nodes[level + 1, 0], nodes[level + 1, 1] = graphs[0][2][first], graphs[1][2][second]
            odds[level + 1] = odds[level] * graphs[0][3][first]
            level += 1
            edge[level] = 0
            continue
        if n < len(payoffs):
            for seat in range(2):
                code = -1 - graphs[seat][2][first if seat == 0 else second]
                rows[n, seat], turns[n, seat] = code // symmetries, code % symmetries
            payoffs[n] = odds[level] * graphs[0][3][first]
        n += 1
    return n
