"""The tree of an `.efg` file as arrays for compiled rules, and what it lacks: the recall of its players.

Nodes are numbered level by level, so that the children of a node are adjacent. What a seat observes follows from the
tree: its own actions, and the information sets at which it is to move. With perfect recall the histories of one
information set then have the same observations, with one exception: if a seat comes to an information set both straight
from its own action and after an action of somebody else, it observes one transition there and two here. In such a case
a pause, a chance node with one outcome, stands between the seat's two moves.

Refused is absent-mindedness, an information set that a path visits twice: its player cannot even know how often it has
moved. A player who forgets is told apart, so that solvers can refuse the game.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from foglight.bridges.efg_files import CHANCE_PLAYER, Document, InformationSet, Node, one_line
from foglight.names import BadInput
from foglight.rules import CHANCE, TERMINAL

MOVER, FIRST, COUNT, SET, PARENT, ACTION = range(6)  # columns of `nodes`
NONE = -1
PAUSE = InformationSet(CHANCE_PLAYER, 0, "pause", ("go on",), (Fraction(1),))


@dataclass
class Tables:
    """N nodes, from the root on."""

    nodes: np.ndarray  # int64[N, 6]: mover, first child, number of children, information set, parent, action before it
    odds: np.ndarray  # float64[N]: the probability that chance plays the action before the node; 1 for a seat's
    payoffs: np.ndarray  # float64[N, seats]: what the path down to the node has paid
    sets: list[InformationSet]  # by number in the tables; those of chance too
    forgetful: InformationSet | None  # one at which a player has forgotten what it did or knew


@dataclass
class _Place:
    """A node of the document on its way into the tables."""

    node: Node
    parent: "_Place | None" = None
    action: int = NONE
    depth: int = 0
    number: int = NONE


def tabulated(document: Document, file: str) -> Tables:
    """The arrays of a document's tree; BadInput names an information set that a path visits twice."""
    places = _with_pauses(_places(document, file))
    places.sort(key=lambda place: place.depth)  # stable: siblings stay in order, and in the order of their parents
    seats = len(document.players)
    nodes = np.full((len(places), 6), NONE, np.int64)
    odds, payoffs = np.ones(len(places)), np.zeros((len(places), seats))
    numbers: dict[InformationSet, int] = {}
    for i, place in enumerate(places):
        place.number, here, above = i, place.node.information_set, place.parent
        row = nodes[i]
        row[MOVER] = TERMINAL if here is None else CHANCE if here.player == CHANCE_PLAYER else here.player - 1
        row[COUNT] = 0
        if here is not None:
            row[SET] = numbers.setdefault(here, len(numbers))
        if above is not None:
            row[PARENT], row[ACTION] = above.number, place.action
            first = nodes[above.number]
            first[COUNT] += 1
            first[FIRST] = i - place.action  # siblings are adjacent, in the order of actions
            payoffs[i] = payoffs[above.number]
            over = above.node.information_set
            if over is not None and over.odds:
                odds[i] = float(over.odds[place.action] / sum(over.odds))
        if place.node.outcome is not None:
            payoffs[i] += [float(payoff) for payoff in place.node.outcome.payoffs]
    return Tables(nodes, odds, payoffs, list(numbers), _forgetful(nodes, list(numbers), seats))


def _places(document: Document, file: str) -> list[_Place]:
    """The nodes of the document with their parents, in its order."""
    places: list[_Place] = []
    path: list[tuple[_Place, int]] = []  # nodes with children to come, and how many they have got
    for node in document.nodes:
        place = _Place(node)
        if path:
            parent, children = path.pop()
            place.parent, place.action, place.depth = parent, children, parent.depth + 1
            path.append((parent, children + 1))
        places.append(place)
        here = node.information_set
        if here is not None:
            if here.player != CHANCE_PLAYER and any(above.node.information_set is here for above, _ in path):
                player = one_line(document.players[here.player - 1]) or f"player {here.player}"
                raise BadInput(
                    f"{file}: {player} is absent-minded: a path comes to {here} twice; such a game cannot be played"
                )
            path.append((place, 0))
        while path and path[-1][1] == len(_actions(path[-1][0])):
            path.pop()
    return places


def _actions(place: _Place) -> tuple[str, ...]:
    return place.node.information_set.actions if place.node.information_set else ()


def _with_pauses(places: list[_Place]) -> list[_Place]:
    """The same nodes, with a pause before those at which a seat would notice that nobody moved in between."""
    straight: dict[InformationSet, set[bool]] = {}
    for place in places:
        here = place.node.information_set
        if here is not None and here.player != CHANCE_PLAYER:
            straight.setdefault(here, set()).add(_is_straight(place))
    paused: list[_Place] = []
    for place in places:  # parents first, so that depths can be worked out anew
        above, here = place.parent, place.node.information_set
        if above is not None:
            if here is not None and len(straight.get(here, ())) == 2 and _is_straight(place):
                pause = _Place(Node("", PAUSE), above, place.action, above.depth + 1)
                paused.append(pause)
                place.parent, place.action, above = pause, 0, pause
            place.depth = above.depth + 1
        paused.append(place)
    return paused


def _is_straight(place: _Place) -> bool:
    """Whether the player of the node has just moved."""
    above = None if place.parent is None else place.parent.node.information_set
    return (
        above is not None
        and place.node.information_set is not None
        and (above.player == place.node.information_set.player)
    )


def _forgetful(nodes: np.ndarray, sets: list[InformationSet], seats: int) -> InformationSet | None:
    """An information set whose histories differ in what its player did or knew before; None with perfect recall."""
    last: list[tuple[tuple[int, int], ...]] = []  # by node, each seat's last information set and action
    at: dict[int, tuple[int, int]] = {}
    start = ((NONE, NONE),) * seats
    for mover, _, _, number, parent, action in nodes.tolist():
        own = start
        if parent != NONE:
            own, above = last[parent], nodes[parent]
            if above[MOVER] >= 0:
                seat = int(above[MOVER])
                own = (*own[:seat], (int(above[SET]), action), *own[seat + 1 :])
        last.append(own)
        if mover >= 0 and at.setdefault(number, own[mover]) != own[mover]:
            return sets[number]
    return None
