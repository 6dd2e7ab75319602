"""Sampled paths as a game in sequence form, for CFR+.

Each path stands for the histories it was drawn from: its payoffs are divided by the probability of its choices. So the
entries of the form are unbiased estimates of the true ones. The mean payoff is subtracted first, so that sequences that
were never sampled are worth the mean.
"""

import numpy as np

from foglight.search.paths.sampling import Paths
from foglight.solving.whole.sequences import Form, payoff_entries


def sampled_form(paths: Paths) -> tuple[Form, np.ndarray]:
    """The sequence form of all paths, and the keys of its information states."""
    n, depth = paths.keys.shape
    seats = paths.values.shape[1]
    there = np.arange(depth)[None, :] < paths.lengths[:, None]
    keys, firsts, which = np.unique(paths.keys[there], return_index=True, return_inverse=True)
    states = np.full((n, depth), -1, np.int64)
    states[there] = which
    movers, sizes = paths.movers[there][firsts].astype(np.int64), paths.sizes[there][firsts].astype(np.int64)
    levels = np.broadcast_to(np.arange(depth), (n, depth))[there][firsts]
    order = np.lexsort((levels, movers))  # seat by seat, each state after its possible predecessors
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    states[there] = rank[which]
    movers, sizes, keys = movers[order], sizes[order], keys[order]
    state_begins = np.searchsorted(movers, np.arange(seats + 1))
    begins = np.cumsum(sizes) - sizes + movers + 1  # one root sequence before those of each seat
    total = int(sizes.sum()) + seats
    ends_of = np.cumsum(np.concatenate([[0], [1 + int(sizes[movers == seat].sum()) for seat in range(seats)]]))
    now = np.tile(ends_of[:-1], (n, 1)).astype(np.int32)  # each seat's last sequence
    parents = np.zeros(len(keys), np.int32)
    weights = np.ones(n)
    for level in range(depth):
        on = np.flatnonzero(there[:, level])
        state, mover = states[on, level], paths.movers[on, level]
        parents[state] = now[on, mover]
        now[on, mover] = begins[state] + paths.choices[on, level]
        weights[on] *= paths.sizes[on, level]
    payoffs = paths.values - paths.values.mean(0)
    entries = payoff_entries(now, payoffs * weights[:, None] / n, total)
    form = Form(
        ends_of.astype(np.int64),
        state_begins.astype(np.int64),
        begins.astype(np.int32),
        (begins + sizes).astype(np.int32),
        parents,
        *entries,
    )
    return form, keys
