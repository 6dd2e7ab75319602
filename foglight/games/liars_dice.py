"""Liar's Dice for two: each seat rolls its dice under a cup; bids rise until one seat calls the other a liar.

A bid is a number of dice and a face. It claims that at least this number of all dice show the face; the highest face is
wild and counts as any. The next bid must name more dice, or the same number with a higher face. The rules are those of
OpenSpiel's `liars_dice`. There a seat sees its dice in the order rolled until all are rolled, and sorted from then on;
here a seat sees its dice, sorted, when all its own dice are rolled.

world   word 0: three bits per die, its face plus one (0: not rolled), seat 0's dice first; word 1: bits 0-7 the last
        bid plus one, bit 8 the seat to move, bit 9 whether "liar" was called
action  (number - 1) * sides + face - 1; the last action is "liar"; chance: the face of the next die, from 0
observe each seat its own dice, sorted, when the last of them is rolled; everybody every bid and the call "liar"
"""

import itertools
import math
from typing import Annotated, NamedTuple

import numpy as np
from numpy import uint64

from foglight.bits import get, put
from foglight.compile import constants, implements, jitable
from foglight.drawing.layouts import DIE, die, drawing_title, finished, line
from foglight.names import Between
from foglight.randomness import fold
from foglight.rules import CHANCE, NOTHING, PUBLIC, TERMINAL, Bounds, World, game

_BID, _MOVER, _CALLED = (1, 0, 8), (1, 8, 1), (1, 9, 1)
_MOST_BID = 10  # dice of both seats
_FIRST_BID = 1 << 32  # observation codes: smaller ones are dice

# by sides, dice, faces that count and a number: the probability that at least this number of dice show such a face
_AT_LEAST = np.zeros((7, 6, 3, _MOST_BID + 1))
for _sides, _dice, _faces, _least in itertools.product(range(2, 7), range(1, 6), (1, 2), range(_MOST_BID + 1)):
    # in integers, so that equal probabilities are equal numbers
    _rolls = sum(math.comb(_dice, k) * _faces**k * (_sides - _faces) ** (_dice - k) for k in range(_least, _dice + 1))
    _AT_LEAST[_sides, _dice, _faces, _least] = _rolls / _sides**_dice


@game
@constants(
    num_players=2,
    num_words=2,
    num_recalled=8,  # the last bids
    observation_bits=33,
    title="bid on all dice, see only your own",
)
class LiarsDice(NamedTuple):
    dice: Annotated[int, "per seat", Between(1, 5)] = 1
    sides: Annotated[int, "faces of a die", Between(2, 6)] = 6


@implements(LiarsDice)
def num_actions(game):
    return 2 * game.dice * game.sides + 1


@jitable
def _die(world, i):
    return get(world, (0, 3 * i, 3))


@jitable
def _rolled(game, world):
    n = 0
    while n < 2 * game.dice and _die(world, n) != 0:
        n += 1
    return n


@implements(LiarsDice)
def player(game, world):
    if get(world, _CALLED) == 1:
        return TERMINAL
    return CHANCE if _die(world, 2 * game.dice - 1) == 0 else get(world, _MOVER)


@jitable
def _liar(game):
    return num_actions(game) - 1


@implements(LiarsDice)
def legal(game, world, out):
    first = get(world, _BID)  # the last bid plus one
    last = _liar(game) if first > 0 else _liar(game) - 1
    for action in range(first, last + 1):
        out[action - first] = action
    return last + 1 - first


@implements(LiarsDice)
def chance(game, world, out, odds):
    for face in range(game.sides):
        out[face] = face
        odds[face] = 1.0 / game.sides
    return game.sides


@implements(LiarsDice)
def step(game, world, action):
    n = _rolled(game, world)
    if n < 2 * game.dice:
        put(world, (0, 3 * n, 3), action + 1)
    elif action == _liar(game):
        put(world, _CALLED, 1)
    else:
        put(world, _BID, action + 1)
        put(world, _MOVER, 1 - get(world, _MOVER))


@jitable
def _cup(game, world, seat):
    """A seat's dice as one number that does not depend on the order in which they were rolled."""
    code = uint64(0)
    for i in range(game.dice):
        code += uint64(1) << uint64(4 * (_die(world, seat * game.dice + i) - 1))
    return code


@implements(LiarsDice)
def position(game, world):
    # in which order its dice were rolled does not matter, once a seat has rolled them all
    code, rolled = world[1], _rolled(game, world)
    for seat in range(2):
        if rolled >= (seat + 1) * game.dice:
            code = fold(code, _cup(game, world, seat))
    for i in range(rolled - rolled % game.dice, rolled):
        code = fold(code, _die(world, i))
    return fold(code, rolled)


@implements(LiarsDice)
def observe(game, before, action, after, viewer):
    n = _rolled(game, before)
    if n == 2 * game.dice:
        return _FIRST_BID + action
    if n % game.dice == game.dice - 1 and viewer == n // game.dice:
        return _cup(game, after, viewer)
    return NOTHING


@jitable
def _matching(game, world, face):
    n = 0
    for i in range(2 * game.dice):
        rolled = _die(world, i) - 1
        if rolled == face or rolled == game.sides - 1:
            n += 1
    return n


@implements(LiarsDice)
def returns(game, world, out):
    bid, caller = get(world, _BID) - 1, get(world, _MOVER)
    holds = _matching(game, world, bid % game.sides) > bid // game.sides
    winner = 1 - caller if holds else caller
    out[winner] = 1.0
    out[1 - winner] = -1.0


@jitable
def _shown(game, world, seat, face):
    """The number of a seat's dice that count for a face."""
    n = 0
    for i in range(game.dice):
        rolled = _die(world, seat * game.dice + i) - 1
        if rolled == face or rolled == game.sides - 1:
            n += 1
    return n


@jitable
def _odds(game, world, seat, bid):
    """The probability that a bid holds, for a seat that knows its own dice alone."""
    face = bid % game.sides
    lacking = bid // game.sides + 1 - _shown(game, world, seat, face)
    return _AT_LEAST[game.sides, game.dice, 1 if face == game.sides - 1 else 2, max(lacking, 0)]


@implements(LiarsDice)
def evaluation(game, world, seat):
    """The expected payoff if both seats, each by its own dice alone, go on as follows; 0 until all dice are rolled.

    Let p(bid) be the probability that a bid holds, given the mover's own dice. The mover's raise is the higher bid with
    the largest p, the lowest of these. It calls "liar" with probability

        (1 - p(last bid)) / (1 - p(last bid) + p(raise)),

    and always if no higher bid can hold. At the first bid there is nothing to call.
    """
    if _die(world, 2 * game.dice - 1) == 0:
        return 0.0
    mover, last = get(world, _MOVER), get(world, _BID) - 1
    value, reach = 0.0, 1.0
    while reach > 0.0:
        raised, odds = last, 0.0
        for bid in range(last + 1, min(last + 1 + game.sides, _liar(game))):  # of each face the lowest
            if _odds(game, world, mover, bid) > odds:
                raised, odds = bid, _odds(game, world, mover, bid)
        if last >= 0:
            doubt = 1.0 - _odds(game, world, mover, last)
            call = doubt / (doubt + odds) if odds > 0.0 else 1.0
            holds = _matching(game, world, last % game.sides) > last // game.sides
            value += reach * call * (1.0 if holds == (seat != mover) else -1.0)
            reach *= 1.0 - call
        last, mover = raised, 1 - mover
    return value


@implements(LiarsDice)
def public_features(game, world, out):
    # the last bid, by number of dice and by face; and the mover
    bid = get(world, _BID)
    for i in range(2 * game.dice):
        out[i] = bid > i * game.sides
    for face in range(game.sides):
        out[2 * game.dice + face] = bid > 0 and (bid - 1) % game.sides == face
    out[2 * game.dice + game.sides] = get(world, _MOVER)
    return 2 * game.dice + game.sides + 1


@implements(LiarsDice)
def private_features(game, world, seat, out):
    # the number of dice that show each face, when all are rolled
    for face in range(game.sides):
        out[face] = 0.0
    if _die(world, (seat + 1) * game.dice - 1) > 0:
        for i in range(game.dice):
            out[_die(world, seat * game.dice + i) - 1] += 1.0 / game.dice
    return game.sides


@implements(LiarsDice)
def bounds(game):
    return Bounds(-1.0, 1.0, 0.0, 2 * game.dice + num_actions(game))


@implements(LiarsDice)
def how_to_play(game):
    dice, top = "a die" if game.dice == 1 else f"{game.dice} dice", game.sides
    return f"""Each seat rolls {dice} of {game.sides} sides and sees only its own. Seat 0 bids first, then both in turn.
`1-{top}` bids that at least one of all {2 * game.dice} dice shows {top}. A {top} is wild: it counts as every face.
The next bid names more dice, or as many with a higher face.
Instead of bidding, say `liar`: then all dice are shown. You win if the last bid was wrong, and lose if it holds."""


@implements(LiarsDice)
def why_not(game, world, action):
    if action == _liar(game):
        return "there is no bid yet; bid"
    return f"a bid must rise above {_bid_text(game, get(world, _BID) - 1)}: more dice, or as many with a higher face"


def _bid_text(game: LiarsDice, action: int) -> str:
    return f"{action // game.sides + 1}-{action % game.sides + 1}"


@implements(LiarsDice)
def action_names(game, world, action):
    if player(game, world) == CHANCE:
        return (f"roll {action + 1}", str(action + 1))
    if action == _liar(game):
        return ("liar",)
    bid = _bid_text(game, action)
    return (bid, f"bid {bid}", bid.replace("-", " "), bid.replace("-", "x"))


def _dice_text(game: LiarsDice, world: World, seat: int) -> str:
    rolled = [_die(world, seat * game.dice + i) for i in range(game.dice)]
    return " ".join(str(face) if face else "-" for face in rolled)


def _table(game: LiarsDice, world: World) -> str:
    return f"last bid {_bid_text(game, get(world, _BID) - 1)}" if get(world, _BID) else "no bid yet"


@implements(LiarsDice)
def places(game):
    return [f"seat {seat} shows {face + 1}" for seat in range(2) for face in range(game.sides)], 0


@implements(LiarsDice)
def contents(game, world):
    # the order of the dice does not matter: the number of a seat's dice that show each face
    faces = [[_die(world, seat * game.dice + i) - 1 for i in range(game.dice)] for seat in range(2)]
    return [str(faces[seat].count(face) or ".") for seat in range(2) for face in range(game.sides)]


@implements(LiarsDice)
def board(game, world):
    return f"seat 0: {_dice_text(game, world, 0)}, seat 1: {_dice_text(game, world, 1)}, {_table(game, world)}"


@implements(LiarsDice)
def view(game, world, seat):
    rolled = [_die(world, seat * game.dice + i) for i in range(game.dice)]
    dice = " ".join(map(str, sorted(rolled))) if all(rolled) else "no dice yet"
    return f"you are seat {seat} with {dice}, {_table(game, world)}"


@implements(LiarsDice)
def drawing(game, world, seat):
    items, bid = [], get(world, _BID) - 1
    for one in range(2):
        faces = [_die(world, one * game.dice + i) for i in range(game.dice)]
        own = [_die(world, (one if seat is None else seat) * game.dice + i) for i in range(game.dice)]
        y = one * (DIE + 14)
        items.append(line(0.0, y + DIE / 2, f"seat {one}" + (" (you)" if one == seat else ""), "head"))
        if seat is None:
            shown = [int(face) or "" for face in faces]
        else:  # sorted, and nothing before all of one's own are rolled
            shown = (sorted(map(int, faces)) if one == seat else ["?"] * game.dice) if all(own) else [""] * game.dice
        items += [die(112 + i * (DIE + 8), y, face) for i, face in enumerate(shown)]
    low = 2 * (DIE + 14)
    items.append(line(0.0, low + DIE / 2, "last bid" if bid >= 0 else "no bid yet", "head"))
    if bid >= 0:
        items.append(line(112, low + DIE / 2, f"{bid // game.sides + 1} ×", "head"))
        items.append(die(144, low, int(bid % game.sides + 1)))
    if get(world, _CALLED) == 1:
        items.append(line(192, low + DIE / 2, f'seat {get(world, _MOVER)}: "liar"'))
    return finished(items, drawing_title(game, seat))


@implements(LiarsDice)
def observation_text(game, before, action, after, viewer):
    if _rolled(game, before) < 2 * game.dice:
        rolled = [_die(after, viewer * game.dice + i) for i in range(game.dice)]
        return f"you roll {' '.join(map(str, sorted(rolled)))}"
    seat = get(before, _MOVER)
    said = '"liar"' if action == _liar(game) else _bid_text(game, action)
    return f"you: {said}" if viewer == seat and viewer != PUBLIC else f"seat {seat}: {said}"
