"""Other histories that look the same to a viewer, found by plain search.

History filtering is not used here: what it finds may be wrong for a game whose rules are. A search follows the history
of the position with something changed in it, goes elsewhere where that is not legal, and turns back as soon as the
viewer would observe something else.
"""

import random
from collections.abc import Iterator, Sequence

from foglight.checks.positions import Play, Position


def all_alike(play: Play, observed: Sequence[int], viewer: int, nodes: int) -> list[Position] | None:
    """Every position at which the viewer has observed exactly this; None if that takes more than `nodes` positions."""
    wanted, found = tuple(observed), []
    front = [play.start()]
    while front:
        position = front.pop()
        seen = position.seen_by(viewer)
        if seen != wanted[: len(seen)]:
            continue
        if len(seen) == len(wanted):
            found.append(position)
        nodes -= len(position.actions)
        if nodes < 0:
            return None
        front += [play.after(position, action) for action in position.actions]
    return found


def some_alike(play: Play, position: Position, viewer: int, rng: random.Random, trials: int) -> Iterator[Position]:
    """Some other positions at which the viewer has observed the same, and moves if it moves in this one."""
    path = _path(position)
    found = {position.history}
    for _ in range(trials if path else 0):
        guide, turn = _changed(path, viewer, rng)
        for other in _followed(play, position, viewer, guide, turn, rng):
            if other.history not in found:
                found.add(other.history)
                yield other
            break


def reordered(play: Play, position: Position, seat: int, rng: random.Random, trials: int) -> Iterator[Position]:
    """Positions after the same history with two actions of the seat exchanged: a key that forgets cannot tell them."""
    own = [i for i, (mover, _) in enumerate(_path(position)) if mover == seat]
    for _ in range(trials if len(own) > 1 else 0):
        history = list(position.history)
        first, second = rng.sample(own, 2)
        history[first], history[second] = history[second], history[first]
        other = play.start()
        for action in history:
            if action not in other.actions:
                break
            other = play.after(other, action)
        else:
            yield other


def _path(position: Position) -> list[tuple[int, int]]:
    """The movers and actions of a history."""
    steps = []
    while position.before is not None:
        steps.append((position.before.mover, position.history[-1]))
        position = position.before
    return steps[::-1]


def _changed(path: list[tuple[int, int]], viewer: int, rng: random.Random) -> tuple[list[int], int]:
    """The actions to try first, and the index of the first one that must be another.

    Either the actions are those of the history up to an index; or two actions of others trade places; or two numbers do
    so in all that others did, as when two cards that the viewer has not seen are exchanged.
    """
    guide = [action for _, action in path]
    others = [i for i, (mover, _) in enumerate(path) if mover != viewer]
    if not others:
        return guide, rng.randrange(len(guide))
    first, second = rng.choice(others), rng.choice(others)
    one, two, way = guide[first], guide[second], rng.randrange(3)
    if one == two or way == 0:
        return guide, first
    if way == 1:
        guide[first], guide[second] = two, one
        return guide, -1
    swapped = {one: two, two: one}
    return [swapped.get(action, action) if mover != viewer else action for mover, action in path], -1


def _followed(
    play: Play, position: Position, viewer: int, guide: list[int], turn: int, rng: random.Random
) -> Iterator[Position]:
    """Positions that look the same, depth first along the guide; at the index `turn` its action comes last."""
    wanted, nodes = position.seen_by(viewer), 4 * len(guide) + 100
    start = play.start()
    stack = [(start, iter(_order(start, guide, turn, rng)))]
    while stack and nodes > 0:
        here, actions = stack[-1]
        action = next(actions, None)
        if action is None:
            stack.pop()
            continue
        nodes -= 1
        child = play.after(here, action)
        seen = child.seen_by(viewer)
        if seen != wanted[: len(seen)]:
            continue
        same_turn = position.mover != viewer or child.mover == viewer
        if len(seen) == len(wanted) and same_turn and child.history != position.history:
            yield child
        stack.append((child, iter(_order(child, guide, turn, rng))))


def _order(position: Position, guide: list[int], turn: int, rng: random.Random) -> list[int]:
    actions, depth = list(position.actions), len(position.history)
    rng.shuffle(actions)
    if depth < len(guide) and guide[depth] in actions:
        actions.remove(guide[depth])
        actions.insert(len(actions) if depth == turn else 0, guide[depth])
    return actions
