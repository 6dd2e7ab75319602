"""From a deal to its history, and from a history to its probability, by the rules."""

from typing import NamedTuple

import numpy as np
from numpy import uint64

from foglight.compile import jitable, kernel
from foglight.policies import weigh
from foglight.randomness import below
from foglight.rules import (
    CHANCE,
    NOTHING,
    TERMINAL,
    begin,
    chance,
    legal,
    max_legal,
    new_worlds,
    observe,
    player,
    transition,
)
from foglight.worlds.deals.count import copy

ILLEGAL = -1.0  # in place of a probability: the rules or the observations exclude this history


class Layout(NamedTuple):
    """Where the cards of a deal go in a history.

    The places of a seat are first the cards it keeps, then those it passes. If chance lays cards aside, one more seat
    stands for nobody and is dealt these cards.
    """

    actions: np.ndarray  # int64[T]: the history, HIDDEN where the card is open
    deal_times: np.ndarray  # int64[seats, most]: the time at which each card is dealt
    pass_times: np.ndarray  # int64[seats, most passed]: the time at which each card is passed
    pass_offsets: np.ndarray  # int64[seats, most passed]: the action is card + offset
    dealt: np.ndarray  # int64[seats]: number of cards dealt to it
    passes: np.ndarray  # int64[seats]: number of cards it has passed
    free_passes: np.ndarray  # int64[seats]: 1 if the choice of passed cards is open
    pattern: np.ndarray  # int64[seats, most]: by place, the index of the card dealt, if it is known
    sources: np.ndarray  # int64[seats, most]: by place, the position in the deal, or -1 - card if it is known


@jitable
def write_history(layout, deal, pattern, history):
    """Write the history of a deal and a pattern of passes."""
    copy(history, layout.actions)
    for seat in range(len(layout.dealt)):
        kept = layout.dealt[seat] - layout.passes[seat]
        for place in range(layout.dealt[seat]):
            source = layout.sources[seat, place]
            card = deal[source] if source >= 0 else -1 - source
            history[layout.deal_times[seat, pattern[seat, place]]] = card
            if place >= kept:
                history[layout.pass_times[seat, place - kept]] = card + layout.pass_offsets[seat, place - kept]


@jitable
def draw_pattern(layout, random, pattern, seat):
    """Draw a seat's passes anew: the cards kept stay in the order dealt, the cards passed come in any order."""
    n, k = layout.dealt[seat], layout.passes[seat]
    for i in range(n):
        pattern[seat, i] = i
    for i in range(n - 1, n - 1 - k, -1):
        j = below(random, i + 1)
        pattern[seat, i], pattern[seat, j] = pattern[seat, j], pattern[seat, i]
    for i in range(1, n - k):  # insertion sort: the swaps have left few out of order
        moved, j = pattern[seat, i], i
        while j > 0 and pattern[seat, j - 1] > moved:
            pattern[seat, j] = pattern[seat, j - 1]
            j -= 1
        pattern[seat, j] = moved


@jitable
def reach(game, policy, history, viewer, observed, worlds, actions, odds):
    """The reach probability due to the policy alone; ILLEGAL if the rules or the observations exclude the history.

    The last world is left in row len(history) % 2 of `worlds`.
    """
    worlds[0, :] = uint64(0)
    begin(game, worlds[0])
    weight, seen = 1.0, 0
    for t in range(len(history)):
        before, after = worlds[t & 1], worlds[1 - (t & 1)]
        mover = player(game, before)
        if mover == TERMINAL:
            return ILLEGAL
        n = chance(game, before, actions, odds) if mover == CHANCE else legal(game, before, actions)
        place = 0
        while place < n and actions[place] != history[t]:
            place += 1
        if place == n:
            return ILLEGAL
        if mover != CHANCE:
            weigh(policy, game, before, mover, actions, n, odds)
            weight *= odds[place]
        transition(game, before, history[t], after)
        code = observe(game, before, history[t], after, viewer)
        if code != NOTHING:
            if seen == len(observed) or observed[seen] != code:
                return ILLEGAL
            seen += 1
    return weight if seen == len(observed) else ILLEGAL


@kernel
def replay_deals(game, policy, layout, deals, patterns, viewer, observed, histories, weights, worlds):
    """Write the history, its probability and its last world for each deal and pattern."""
    room = new_worlds(game, 2)
    actions, odds = np.empty(max_legal(game), np.int64), np.empty(max_legal(game))
    for i in range(len(deals)):
        write_history(layout, deals[i], patterns[i], histories[i])
        weights[i] = reach(game, policy, histories[i], viewer, observed, room, actions, odds)
        worlds[i, :] = room[len(histories[i]) & 1]


@kernel
def draw_patterns(layout, random, patterns):
    """Fill `patterns` with uniform patterns of passes."""
    for i in range(len(patterns)):
        patterns[i, :, :] = layout.pattern
        for seat in range(len(layout.dealt)):
            if layout.free_passes[seat] == 1:
                draw_pattern(layout, random, patterns[i], seat)
