"""Regeneration of a dead sample: search for histories that explain the observations, then mix them.

The tracker first filters again with a larger sample (`tracker.py`); regeneration is for when that fails.

The search starts from a world of an earlier layer. Step by step it takes a random transition that shows the viewer its
next observation, or nothing. Where no transition fits, it revises the past: one earlier action of another seat is
replaced, and all later actions stay, if they are still legal and show the viewer the same. In this way it finds, for
example, that the stone it just ran into was placed ten moves ago. After many failed revisions it steps back, further
each time.

The first history found is arbitrary. It is improved by Metropolis-Hastings, with histories as states. Half of the
proposals replace one action as above. With p the probability of each step, such a proposal is accepted with probability

    min(1, prod p(new) / prod p(old)),

because the new action is drawn uniformly from the legal ones. The other half cut the history at a random step and draw
the rest anew. Each step is drawn in proportion to its p among the steps that explain the observations; Z is the sum of
their p. Such a proposal is accepted with probability

    min(1, prod Z(new rest) / prod Z(old rest) * length(old) / length(new)),

because the rest has weight prod p and is drawn with probability prod p / Z. A cut before the first step draws the
starting world anew as well. Chains that are too short to mix favour what was found first, but a world that contradicts
an observation is never returned.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from foglight.compile import kernel
from foglight.policies import weigh
from foglight.randomness import below, first_above, unit
from foglight.rules import (
    CHANCE,
    NOTHING,
    TERMINAL,
    chance,
    copy_world,
    legal,
    max_legal,
    new_worlds,
    observe,
    player,
    transition,
)
from foglight.worlds.expansion import Expansion, list_choices

_SAMPLE = 1024  # worlds to draw, if the cap allows
_CHAINS = 4  # Markov chains, each from a search of its own
_MOVES = 4  # proposals per world kept
_LONGEST = 300  # steps of a history beyond one for each observation
_STUBBORN = 300  # changes tried in a row before stepping back
_STALE = 1e300  # in place of log Z: it has to be computed again
_FLOOR = 1e-9  # least probability of an action here: a policy may be wrong about what people do


class BeliefLost(RuntimeError):
    """No world was found that explains the observations, though there must be one.

    `Tracker.observe` and `Tracker.worlds` raise it when a sample has died and could not be replaced.

        >>> tracker = fl.Tracker("kuhn_poker", seat=0)
        >>> try:
        ...     worlds = tracker.worlds(turn_only=False)
        ... except fl.BeliefLost:
        ...     worlds = None  # then play something safe
        >>> worlds.exact
        True
    """


class Layer(NamedTuple):
    """Worlds that explain the first `at` observations."""

    at: int
    rows: Any
    weights: np.ndarray  # float64[n]
    closed: bool  # whether all unnoticed successors are included


def regenerate(
    expansion: Expansion,
    layers: list[Layer],
    observations: list[int],
    at_turn: bool,
    cap: int,
    work: int,
    random: np.ndarray,
    moves: int = _MOVES,
) -> tuple[Any, np.ndarray, int]:
    """Worlds right after the last observation or, with `at_turn`, at the viewer's next turn, reached unnoticed.

    Returns the worlds, their weights, and the number of transitions tried. Half of `work` is for the search, shared
    among the layers to start from. The other half is for mixing, with `moves` proposals per world.
    """
    game, viewer = expansion.game, expansion.viewer
    origins = starts(layers, len(observations))
    worlds, n = new_worlds(game, min(cap, _SAMPLE)), 0
    chains = min(_CHAINS, len(worlds))
    tally = np.zeros(1, np.int64)  # transitions tried
    for layer in origins:
        rest = np.array(observations[layer.at :], np.int64)
        sums = np.cumsum(layer.weights) / layer.weights.sum()
        for chain in range(chains):
            room = worlds[n : n + (len(worlds) - n) // (chains - chain)]
            patience = work // (2 * (len(origins) if n == 0 else chains))
            n += _regrow(
                game, expansion.policy, layer.rows, sums, layer.closed, rest, viewer, at_turn,
                patience, work // (2 * chains), moves, random, room, tally,
            )  # fmt: skip
            if n == 0:
                break
        if n:
            rows, weights = _merged(worlds[:n])
            return rows, weights, int(tally[0])
    raise BeliefLost(
        f"no world of {game} was found that explains the {len(observations)} observations of seat {viewer}"
        f"{' and in which it is to move' if at_turn else ''}, in {int(tally[0])} transitions from {len(origins)} "
        "earlier layers; give the tracker a larger cap, or more work"
    )


def starts(layers: list[Layer], now: int) -> list[Layer]:
    """Earlier layers to start from: the last one, then each about twice as far back, down to the exact one."""
    origins, back = [], 1
    for layer in reversed(layers):
        if now - layer.at >= back or layer is layers[0]:
            origins.append(layer)
            back = 2 * (now - layer.at)
    return origins


def _merged(worlds: Any) -> tuple[Any, np.ndarray]:
    """The distinct worlds, in order of first occurrence, and how often each one occurs."""
    first: dict[bytes, int] = {}
    counts: list[float] = []
    places: list[int] = []
    for i, world in enumerate(worlds):
        name = world.tobytes()
        if name not in first:
            first[name] = len(places)
            places.append(i)
            counts.append(0.0)
        counts[first[name]] += 1.0
    rows = worlds[places] if isinstance(worlds, np.ndarray) else [worlds[i] for i in places]
    return rows, np.array(counts)


@kernel
def _regrow(
    game, policy, roots, sums, closed, observations, viewer, at_turn, search, mixing, moves, random, out, tally
):
    """Search for a history that explains the observations, then mix; write last worlds into `out`, return how many."""
    most, longest = max_legal(game), len(observations) + _LONGEST
    actions, odds = np.empty(most, np.int64), np.empty(most)
    kept, trial = new_worlds(game, longest + 1), new_worlds(game, longest + 1)  # the history, and the one proposed
    seen, trial_seen = np.zeros(longest + 1, np.int64), np.zeros(longest + 1, np.int64)  # observations explained
    played, trial_played = np.empty(longest, np.int64), np.empty(longest, np.int64)
    share_of, trial_share_of = np.empty(longest), np.empty(longest)  # p of each step
    logs, trial_logs = np.empty(longest), np.empty(longest)  # log Z of each step
    after = new_worlds(game, 1)[0]
    length, level, deepest, stuck = -1, -1, -1, 0  # of a whole history; of one in the making; its best; since then
    written, moved, tried = 0, 0, 0
    while written < len(out) and tried < (search if length < 0 else mixing):
        searching, cut, change = length < 0, 0, 0
        regrow = searching or below(random, 2) == 0
        here, here_seen, here_played, here_share_of, here_logs = (
            trial,
            trial_seen,
            trial_played,
            trial_share_of,
            trial_logs,
        )
        if searching:
            here, here_seen, here_played, here_share_of, here_logs = kept, seen, played, share_of, logs
        elif regrow:
            cut = level = below(random, length) if length > 0 else 0
            copy_world(game, trial[cut], kept[cut])
            trial_seen[cut] = seen[cut]
        if regrow and (level < 0 or (cut == 0 and not searching)):
            root = first_above(sums, unit(random), 0, len(sums))
            copy_world(game, here[0], roots[root])
            level = here_seen[0] = 0
        scoring, score, whole = not searching, cut, False  # Z of the old rest is needed as well
        while regrow:
            while scoring and score < length and logs[score] != _STALE:
                score += 1
            scoring = scoring and score < length
            at, world, explained = level, here[level], here_seen[level]
            if scoring:
                at, world, explained = score, kept[score], seen[score]
            mover = player(game, world)
            whole = not scoring and explained == len(observations) and (not at_turn or mover == viewer)
            if whole or at == longest or mover == TERMINAL:
                break
            n = list_choices(game, policy, world, mover, viewer, actions, odds)
            tried += n
            total = 0.0
            for j in range(n):
                transition(game, world, actions[j], after)
                shown = observe(game, world, actions[j], after, viewer)
                if shown == NOTHING:
                    fits = at > 0 or not closed  # a closed layer includes its unnoticed successors
                else:
                    fits = explained < len(observations) and shown == observations[explained]
                if fits:
                    share = 1.0
                    if policy is not None and mover != viewer:
                        share = max(odds[j], _FLOOR)
                    total += share
                    if not scoring and unit(random) * total < share:  # so each is chosen with probability p / Z
                        copy_world(game, here[at + 1], after)
                        here_seen[at + 1] = explained + (shown != NOTHING)
                        here_played[at], here_share_of[at] = actions[j], share
            if scoring:
                logs[score] = math.log(total)
            elif total == 0.0:
                break
            else:
                here_logs[level] = math.log(total)
                level += 1
        if searching and whole:
            length = level
            tally[0] += tried
            tried = 0  # from here on, count the work of mixing
        elif searching:
            if level > deepest:
                deepest, stuck = level, 0
            stuck += 1
            tried += 1
            change = level
            if stuck % _STUBBORN == 0:  # revisions do not help: step back, each time twice as far, or start over
                level -= 1 << min(stuck // _STUBBORN, 30)
                change = 0
                if level < 0:
                    deepest = -1
        elif regrow and whole:
            ratio = math.log(max(1, length)) - math.log(max(1, level))
            for i in range(cut, level):
                ratio += trial_logs[i]
            for i in range(cut, length):
                ratio -= logs[i]
            if unit(random) < math.exp(min(0.0, ratio)):
                for i in range(cut, level + 1):
                    copy_world(game, kept[i], trial[i])
                    seen[i] = trial_seen[i]
                for i in range(cut, level):
                    played[i], share_of[i], logs[i] = trial_played[i], trial_share_of[i], trial_logs[i]
                length = level
        elif not regrow:
            change = length
        if change > 0:
            # replace one action; all later ones stay, if they are legal and show the viewer the same
            first = below(random, change)
            for _ in range(8):
                if player(game, kept[first]) == viewer:
                    first = below(random, change)
            copy_world(game, trial[first], kept[first])
            ratio, same = 1.0, player(game, kept[first]) != viewer
            i = first
            while same and i < change:
                mover = player(game, trial[i])
                same = mover == player(game, kept[i])
                if not same:
                    break
                n = chance(game, trial[i], actions, odds) if mover == CHANCE else legal(game, trial[i], actions)
                pick = below(random, n) if i == first else 0
                while i > first and pick < n and actions[pick] != played[i]:
                    pick += 1
                same = pick < n
                if not same:
                    break
                trial_share_of[i] = 1.0
                if policy is not None and mover != viewer:
                    if mover != CHANCE:
                        weigh(policy, game, trial[i], mover, actions, n, odds)
                    trial_share_of[i] = max(odds[pick], _FLOOR)
                ratio *= trial_share_of[i] / share_of[i]
                trial_played[i] = actions[pick]
                transition(game, trial[i], actions[pick], trial[i + 1])
                tried += 1
                shown = observe(game, trial[i], actions[pick], trial[i + 1], viewer)
                same = shown == (NOTHING if seen[i + 1] == seen[i] else observations[seen[i]])
                i += 1
            if same and at_turn and length >= 0:
                same = player(game, trial[change]) == viewer
            if same and unit(random) < ratio:
                for i in range(first, change):
                    copy_world(game, kept[i + 1], trial[i + 1])
                    played[i], share_of[i] = trial_played[i], trial_share_of[i]
                    if i > first:
                        logs[i] = _STALE
        if length >= 0:
            moved += 1
            if moved % moves == 0:
                copy_world(game, out[written], kept[length])
                written += 1
    if length >= 0 and written == 0:  # the work ran out before the chain kept a world
        copy_world(game, out[0], kept[length])
        written = 1
    tally[0] += tried
    return written
