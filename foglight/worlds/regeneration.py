"""When a sample has died: search for histories that explain what was seen, then mix them.

Filtering again with a larger sample comes first (`tracker.py`); what follows is for when that fails.

The search starts from a world of an earlier layer and takes, at random, one transition after the other that shows the
viewer what it saw next, or nothing. Where there is none it changes what is behind it: one action of somebody else
becomes another, and all later actions stay, if they are still legal and show the same. So it finds that the stone it
just ran into was put there ten moves ago. After many such changes it steps back, further each time.

A history so found is only some history, and is improved by Metropolis and Hastings' rule, with histories as states.
Half of the moves change one action as above; with p the odds of each step, a change is accepted with probability

    min(1, prod p(new) / prod p(old)),

for the action is proposed alike among all legal ones. The other half cut the history at a random step and draw the
rest anew, each step in proportion to its p out of the sum Z of those that explain, and accept with probability

    min(1, prod Z(new rest) / prod Z(old rest) * length(old) / length(new)),

because the rest weighs the product of its p and is drawn with probability the product of its p / Z. Cutting before the
first step draws the earlier world anew as well. Chains too short to mix lean to what is found first; but a world that
contradicts an observation is never given.
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

_SAMPLE = 1024  # worlds looked for, if the cap allows
_CHAINS = 4  # each from a search of its own
_MOVES = 4  # proposals between two worlds that are kept
_LONGEST = 300  # steps of a history beyond one for each observation
_STUBBORN = 300  # changes tried in a row before stepping back
_STALE = 1e300  # no logarithm: Z has to be worked out again
_FLOOR = 1e-9  # the least odds of an action here: a policy may be wrong about what people do


class BeliefLost(RuntimeError):
    """No world was found that explains what was seen, though there must be one.

    `Tracker.observe` and `Tracker.worlds` raise it where a sample has died and could not be made anew.

        >>> tracker = fl.Tracker("kuhn_poker", seat=0)
        >>> try:
        ...     worlds = tracker.worlds(turn_only=False)
        ... except fl.BeliefLost:
        ...     worlds = None  # then play something safe
        >>> worlds.exact
        True
    """


class Layer(NamedTuple):
    """Worlds that explained the first so many observations."""

    at: int
    rows: Any
    weights: np.ndarray  # float64[n]
    closed: bool  # whether those that follow unnoticed are among them


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
    """Worlds right after the last observation or, with `at_turn`, at the viewer's turn that follows it unnoticed.

    Returns the worlds, their weights, and how many transitions were tried. Half of `work` is for the search, and each
    layer to start from gets its share of that; as much again is for mixing, `moves` proposals for each world.
    """
    game, viewer = expansion.game, expansion.viewer
    origins = starts(layers, len(observations))
    found, n = new_worlds(game, min(cap, _SAMPLE)), 0
    chains = min(_CHAINS, len(found))
    tally = np.zeros(1, np.int64)  # transitions tried
    for layer in origins:
        rest = np.array(observations[layer.at :], np.int64)
        sums = np.cumsum(layer.weights) / layer.weights.sum()
        for chain in range(chains):
            room = found[n : n + (len(found) - n) // (chains - chain)]
            patience = work // (2 * (len(origins) if n == 0 else chains))
            n += _regrow(
                game, expansion.policy, layer.rows, sums, layer.closed, rest, viewer, at_turn,
                patience, work // (2 * chains), moves, random, room, tally,
            )  # fmt: skip
            if n == 0:
                break
        if n:
            rows, weights = _merged(found[:n])
            return rows, weights, int(tally[0])
    raise BeliefLost(
        f"no world of {game} was found that explains the {len(observations)} observations of seat {viewer}"
        f"{' and in which it is to move' if at_turn else ''}, in {int(tally[0])} transitions from {len(origins)} "
        "earlier layers; give the tracker a larger cap, or more work"
    )


def starts(layers: list[Layer], now: int) -> list[Layer]:
    """Earlier layers to start from: the last one, then each about twice as far back, down to the exact one."""
    found, back = [], 1
    for layer in reversed(layers):
        if now - layer.at >= back or layer is layers[0]:
            found.append(layer)
            back = 2 * (now - layer.at)
    return found


def _merged(found: Any) -> tuple[Any, np.ndarray]:
    """Distinct worlds, in the order in which they were found, and how often each one was."""
    first: dict[bytes, int] = {}
    counts: list[float] = []
    places: list[int] = []
    for i, world in enumerate(found):
        name = world.tobytes()
        if name not in first:
            first[name] = len(places)
            places.append(i)
            counts.append(0.0)
        counts[first[name]] += 1.0
    rows = found[places] if isinstance(found, np.ndarray) else [found[i] for i in places]
    return rows, np.array(counts)


@kernel
def _regrow(
    game, policy, roots, sums, closed, observations, viewer, at_turn, search, mixing, moves, random, out, tally
):
    """Search for a history that explains the observations, then mix; write ends of histories into `out`, how many."""
    most, longest = max_legal(game), len(observations) + _LONGEST
    actions, odds = np.empty(most, np.int64), np.empty(most)
    kept, trial = new_worlds(game, longest + 1), new_worlds(game, longest + 1)  # the history, and one that may follow
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
        scoring, score, whole = not searching, cut, False  # Z of the old rest has to be known, too
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
                    fits = at > 0 or not closed  # a closed layer holds what follows unnoticed already
                else:
                    fits = explained < len(observations) and shown == observations[explained]
                if fits:
                    share = 1.0
                    if policy is not None and mover != viewer:
                        share = max(odds[j], _FLOOR)
                    total += share
                    if not scoring and unit(random) * total < share:  # so each is taken with probability p / Z
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
            tried = 0  # from here on it is the mixing that counts
        elif searching:
            if level > deepest:
                deepest, stuck = level, 0
            stuck += 1
            tried += 1
            change = level
            if stuck % _STUBBORN == 0:  # changes do not help: step back, each time twice as far, or begin anew
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
            # one action becomes another, and all that follow stay, if they can and show the same
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
    if length >= 0 and written == 0:  # work ran out before anything could be mixed
        copy_world(game, out[0], kept[length])
        written = 1
    tally[0] += tried
    return written
