"""Battleship: place ships unseen, then shoot in turn; each shot is answered by water, hit or sunk.

The rules are those of OpenSpiel's `battleship` with ships worth 1 each and no loss multiplier. A seat's payoff is the
number of ships it sank less the number it lost. Play ends when a fleet is sunk or all shots are fired.

world   words 0 to 2n-1: the cells of each ship, seat 0's n ships first; words 2n and 2n+1: the cells that seats 0 and 1
        have shot at; word 2n+2: bits 0-15 the number of actions so far, bit 16 whether a fleet is sunk
action  a cell, row by row: shoot at it; the number of cells plus a cell: place a ship from there to the right; twice
        the number of cells plus a cell: place a ship from there downwards
observe each seat alone the places of its own ships; everybody else that a ship was placed; everybody every shot and its
        result
"""

import math
from typing import Annotated, NamedTuple

import numpy as np
from numpy import int64, uint64

from foglight import bits, text
from foglight.bits import get, put
from foglight.compile import constants, implements, jitable
from foglight.drawing.layouts import LABEL, LINE, Cell, beside, drawing_title, finished, line, squares, stacked
from foglight.names import BadInput, Between, OneOf
from foglight.randomness import below
from foglight.rules import PUBLIC, TERMINAL, Bounds, World, game

ALLOWED, FORBIDDEN = 0, 1
_PLACED = 1  # observation codes: 1 a ship of another seat was placed; then own placements; then shots with results
_WATER, _HIT, _SUNK = 0, 1, 2
_RESULTS = ("water", "hit", "sunk")
_FACES = {"#": ("#", "ship"), "*": ("*", "hit"), "o": ("o", "water")}  # in pictures
_SAID = {"#": "ship", "*": "hit", "o": "water"}
# by width of the board and a number n: the cells of the first n columns, on eight rows
_LEFT_OF = np.array(
    [
        [sum(1 << r * width + c for r in range(8) for c in range(n)) & 2**64 - 1 if n <= width else 0 for n in range(9)]
        for width in range(9)
    ],
    np.uint64,
)
_CHOOSE = np.array([[float(math.comb(n, k)) for k in range(65)] for n in range(65)])  # binomial coefficients


@game
@constants(
    num_players=2,
    title="hidden ships on up to 8x8 cells; shots answer water, hit or sunk",
)
class Battleship(NamedTuple):
    width: Annotated[int, "columns of each sea", Between(1, 8)] = 3
    height: Annotated[int, "rows of each sea", Between(1, 8)] = 3
    ships: Annotated[
        tuple[Annotated[int, Between(1, 8)], ...], "lengths of 1 to 8 ships, each 1 to 8, in the order of placing"
    ] = (1, 2)
    shots: Annotated[int, "per seat", Between(1, 1000)] = 9
    repeats: Annotated[int, "shots at the same cell", OneOf("allowed", "forbidden")] = ALLOWED


@implements(Battleship)
def check(game):
    if not 1 <= len(game.ships) <= 8:
        raise BadInput(f"battleship: ships must be a list of 1 to 8 lengths, not {len(game.ships)}")
    if max(game.ships) > max(game.width, game.height):
        raise BadInput(f"battleship: a ship of {max(game.ships)} does not fit on {game.width}x{game.height}")
    if game.repeats == FORBIDDEN and game.shots > game.width * game.height:
        raise BadInput(f"battleship: {game.shots} shots on {game.width * game.height} cells need repeats=allowed")
    if not _room(game, uint64(0), 0):
        raise BadInput(f"battleship: the ships do not all fit on {game.width}x{game.height}; make the board larger")


@implements(Battleship)
def num_words(game):
    return 2 * len(game.ships) + 3


@implements(Battleship)
def num_actions(game):
    return 3 * game.width * game.height


@jitable
def _taken(game):
    return (2 * len(game.ships) + 2, 0, 16)


@jitable
def _fleet_sunk(game):
    return (2 * len(game.ships) + 2, 16, 1)


@jitable
def _placing(game, world):
    return get(world, _taken(game)) < 2 * len(game.ships)


@implements(Battleship)
def player(game, world):
    taken = get(world, _taken(game))
    if get(world, _fleet_sunk(game)) == 1 or taken == 2 * (len(game.ships) + game.shots):
        return TERMINAL
    return taken % 2


@jitable
def _fleet(game, world, seat):
    """All cells of a seat's ships."""
    cells = uint64(0)
    for i in range(len(game.ships)):
        cells |= world[seat * len(game.ships) + i]
    return cells


@jitable
def _ship(game, action, length):
    """The cells of a ship placed by this action."""
    area = game.width * game.height
    stride = game.width if action >= 2 * area else 1
    cells = uint64(0)
    for i in range(length):
        cells |= bits.bit(action % area + i * stride)
    return cells


@jitable
def _places(game, fleet, length):
    """The cells from which a ship fits to the right, and those from which it fits downwards, beside the fleet."""
    free = bits.first_bits(game.width * game.height) & ~fleet
    across, down = free, free
    for i in range(1, length):
        across &= (free >> uint64(i)) & _LEFT_OF[game.width, max(0, game.width - i)]
        down &= free >> uint64(i * game.width) if i < game.height else uint64(0)
    return across, down if length > 1 else uint64(0)


@jitable
def _room(game, fleet, ship):
    """Whether the ships from this one on all fit beside the fleet; a depth-first search.

    `tried` holds the last action tried for each ship, in 8 bits.
    """
    area, ships = game.width * game.height, len(game.ships)
    tried, depth = uint64(0), ship
    while depth < ships:
        across, down = _places(game, fleet, game.ships[depth])
        if depth == ships - 1 and across | down != uint64(0):
            return True
        action = int64(tried >> uint64(8 * depth)) & 0xFF
        action = max(action + 1, area)
        while action < 3 * area and not bits.has(across if action < 2 * area else down, action % area):
            action += 1
        tried &= ~(uint64(0xFF) << uint64(8 * depth))
        if action < 3 * area:
            tried |= uint64(action) << uint64(8 * depth)
            fleet |= _ship(game, action, game.ships[depth])
            depth += 1
        elif depth == ship:
            return False
        else:
            depth -= 1
            fleet &= ~_ship(game, int64(tried >> uint64(8 * depth)) & 0xFF, game.ships[depth])
    return True


@jitable
def _open_places(game, world):
    """The places of the next ship that leave room for all later ships, to the right and downwards."""
    taken, area = get(world, _taken(game)), game.width * game.height
    ship, fleet = taken // 2, _fleet(game, world, taken % 2)
    across, down = _places(game, fleet, game.ships[ship])
    if ship < len(game.ships) - 1:
        for cell in range(area):
            if bits.has(across, cell) and not _room(game, fleet | _ship(game, area + cell, game.ships[ship]), ship + 1):
                across &= ~bits.bit(cell)
            if bits.has(down, cell) and not _room(
                game, fleet | _ship(game, 2 * area + cell, game.ships[ship]), ship + 1
            ):
                down &= ~bits.bit(cell)
    return across, down


@jitable
def _targets(game, world):
    cells = bits.first_bits(game.width * game.height)
    if game.repeats == FORBIDDEN:
        cells &= ~world[2 * len(game.ships) + get(world, _taken(game)) % 2]
    return cells


@implements(Battleship)
def legal(game, world, out):
    if not _placing(game, world):
        return bits.members(_targets(game, world), out)
    area = game.width * game.height
    across, down = _open_places(game, world)
    n = bits.members(across, out)
    m = bits.members(down, out[n:])
    for i in range(n + m):
        out[i] += area if i < n else 2 * area
    return n + m


@implements(Battleship)
def pick(game, world, random, out):
    if not _placing(game, world):
        if game.repeats == ALLOWED:
            return below(random, game.width * game.height)
        cells = _targets(game, world)
        return bits.nth(cells, below(random, bits.count(cells)))
    area = game.width * game.height
    across, down = _open_places(game, world)
    n = bits.count(across)
    i = below(random, n + bits.count(down))
    return area + bits.nth(across, i) if i < n else 2 * area + bits.nth(down, i - n)


@implements(Battleship)
def step(game, world, action):
    taken, ships = get(world, _taken(game)), len(game.ships)
    seat = taken % 2
    if taken < 2 * ships:
        world[seat * ships + taken // 2] = _ship(game, action, game.ships[taken // 2])
    else:
        world[2 * ships + seat] |= bits.bit(action)
        if _fleet(game, world, 1 - seat) & ~world[2 * ships + seat] == uint64(0):
            put(world, _fleet_sunk(game), 1)
    put(world, _taken(game), taken + 1)


@jitable
def _result(game, world, seat, cell):
    """The result of a shot of `seat` at a cell, in the world after the shot."""
    ships = len(game.ships)
    for i in range(ships):
        ship = world[(1 - seat) * ships + i]
        if bits.has(ship, cell):
            return _SUNK if ship & ~world[2 * ships + seat] == uint64(0) else _HIT
    return _WATER


@implements(Battleship)
def observe(game, before, action, after, viewer):
    seat = get(before, _taken(game)) % 2
    if _placing(game, before):
        return 2 + action if viewer == seat else _PLACED
    return 2 + num_actions(game) + 3 * action + _result(game, after, seat, action)


@jitable
def _losses(game, world, seat):
    """The number of a seat's ships that are sunk."""
    ships, lost = len(game.ships), 0
    for i in range(ships):
        if world[seat * ships + i] & ~world[2 * ships + 1 - seat] == uint64(0):
            lost += 1
    return lost


@implements(Battleship)
def returns(game, world, out):
    difference = _losses(game, world, 1) - _losses(game, world, 0)
    out[0] = float(difference)
    out[1] = -float(difference)


@jitable
def _fleet_odds(game, world, seat, shots):
    """Chances of a seat that fires so many more shots at random, at cells that it has not shot at.

    The result is the probability that the other fleet is sunk, and the expected number of ships sunk where it is not
    (0 where it is).
    """
    ships = len(game.ships)
    aimed = world[2 * ships + seat]
    cells = game.width * game.height - bits.count(aimed)
    shots = min(shots, cells)
    whole, total = 0, 0.0
    for i in range(ships):
        left = bits.count(world[(1 - seat) * ships + i] & ~aimed)
        whole += left
        total += _CHOOSE[shots, left] / _CHOOSE[cells, left]
    sunk = _CHOOSE[shots, whole] / _CHOOSE[cells, whole]
    return sunk, total - ships * sunk


@implements(Battleship)
def evaluation(game, world, seat):
    """The expected payoff if both seats shoot at random, but never at a cell again; 0 until all ships are placed.

    A ship of which n cells are left is sunk by s shots at c cells with probability C(s, n) / C(c, n).
    """
    if _placing(game, world):
        return 0.0
    ships = len(game.ships)
    fired = get(world, _taken(game)) - 2 * ships
    mover = fired % 2
    left, others_left = game.shots - fired // 2, game.shots - (fired + 1) // 2
    value = 0.0
    sunk, some = _fleet_odds(game, world, mover, 0)  # by the mover's shots so far; then by the other seat's
    others_sunk, others_some = _fleet_odds(game, world, 1 - mover, 0)
    for shots in range(1, left + 1):
        before = sunk
        sunk, some = _fleet_odds(game, world, mover, shots)
        value += (sunk - before) * (ships * (1.0 - others_sunk) - others_some)
        if shots <= others_left:
            before = others_sunk
            others_sunk, others_some = _fleet_odds(game, world, 1 - mover, shots)
            value -= (others_sunk - before) * (ships * (1.0 - sunk) - some)
        if sunk == 1.0 or others_sunk == 1.0:
            break
    value += some * (1.0 - others_sunk) - others_some * (1.0 - sunk)
    return value if seat == mover else -value


@implements(Battleship)
def num_sight_features(game):
    return 4 * game.width * game.height + 4


@implements(Battleship)
def observation_bits(game):
    return (1 + num_actions(game) + 3 * game.width * game.height).bit_length()


@implements(Battleship)
def sight_features(game, world, seat, out):
    # by cell: own ships, the other's shots, own shots, own hits; then the shares of the other's ships and of the own
    # ones that are sunk, of ships placed and of shots fired
    area, ships, taken = game.width * game.height, len(game.ships), get(world, _taken(game))
    mine, theirs = _fleet(game, world, seat), _fleet(game, world, 1 - seat)
    shots, shots_here = world[2 * ships + seat], world[2 * ships + 1 - seat]
    for cell in range(area):
        out[cell] = bits.has(mine, cell)
        out[area + cell] = bits.has(shots_here, cell)
        out[2 * area + cell] = bits.has(shots, cell)
        out[3 * area + cell] = bits.has(shots & theirs, cell)
    if taken >= 2 * ships:  # before that, a ship that is not placed has no cell that is not hit
        out[4 * area] = _losses(game, world, 1 - seat) / ships
        out[4 * area + 1] = _losses(game, world, seat) / ships
    out[4 * area + 2] = min(taken, 2 * ships) / (2 * ships)
    out[4 * area + 3] = max(taken - 2 * ships, 0) / (2 * game.shots)


@implements(Battleship)
def bounds(game):
    ships = len(game.ships)
    return Bounds(-float(ships), float(ships), 0.0, 2 * (ships + game.shots))


@implements(Battleship)
def how_to_play(game):
    lengths, last = ", ".join(map(str, game.ships)), text.cell(game.width * game.height - 1, game.width)
    ships = f"a ship of length {lengths}" if len(game.ships) == 1 else f"ships of lengths {lengths}, in this order,"
    place = []
    if 1 in game.ships:
        place.append(f"`place {last}`")
    if max(game.ships) > 1 and game.width >= min(length for length in game.ships if length > 1):
        place.append("`a1 right`")
    if max(game.ships) > 1 and game.height >= min(length for length in game.ships if length > 1):
        place.append("`a1 down`")
    again = "may" if game.repeats == ALLOWED else "may not"
    return f"""Each seat places {ships} on {game.width}x{game.height} cells, unseen, in turn with the other.
Place a ship from a cell on: {", ".join(place)}. Ships may touch, but not overlap.
Then both shoot in turn, {game.shots} shots each: `{last}`. Everybody hears water, hit or sunk.
You {again} shoot at a cell again. The game ends when a fleet is sunk or no shots are left.
You win the ships that you have sunk, less those that you have lost."""


@implements(Battleship)
def why_not(game, world, action):
    taken, area = get(world, _taken(game)), game.width * game.height
    if not _placing(game, world):
        cell = text.cell(action % area, game.width)
        return f"you have shot at {cell} already" if action < area else "all ships are placed; shoot at a cell"
    length = game.ships[taken // 2]
    if action < area and length > 1:
        return f"first place your ship of length {length}, from a cell on to the right or down"
    return f"your ship of length {length} does not fit there, or leaves no room for your other ships"


@implements(Battleship)
def action_names(game, world, action):
    area = game.width * game.height
    cell = text.cell(action % area, game.width)
    if action < area:
        return (cell, f"shoot {cell}")
    if _placing(game, world) and game.ships[get(world, _taken(game)) // 2] == 1:
        return (f"place {cell}", cell)
    way = "right" if action < 2 * area else "down"
    return (f"{cell} {way}", f"place {cell} {way}", f"{cell} {way[0]}")


def _sea(game: Battleship, world: World, seat: int, own: bool) -> str:
    """A seat's sea with the shots at it; its ships are shown if `own`."""
    ships = len(game.ships)
    shot, fleet = world[2 * ships + 1 - seat], _fleet(game, world, seat)
    sets = {"*": shot & fleet, "o": shot & ~fleet}
    return text.grid(game.height, game.width, {**sets, "#": fleet} if own else sets)


@implements(Battleship)
def places(game):
    cells = [text.cell(i, game.width) for i in range(game.width * game.height)]
    return [f"{name}{cell}" for name in ("seat 0 ", "seat 1 ") for cell in cells], game.width


@implements(Battleship)
def contents(game, world):
    area = game.width * game.height
    return [mark for seat in range(2) for mark in text.marks(area, {"#": _fleet(game, world, seat)})]


@implements(Battleship)
def board(game, world):
    return f"seat 0's sea:\n{_sea(game, world, 0, True)}\nseat 1's sea:\n{_sea(game, world, 1, True)}"


@implements(Battleship)
def view(game, world, seat):
    shots = max(0, get(world, _taken(game)) - 2 * len(game.ships))
    left = game.shots - int64(shots + 1 - seat) // 2
    return (
        f"you are seat {seat}, {left} shots left; # ship, * hit, o water\n"
        f"your sea:\n{_sea(game, world, seat, True)}\ntheir sea:\n{_sea(game, world, 1 - seat, False)}"
    )


@implements(Battleship)
def drawing(game, world, seat):
    names, columns = places(game)
    area, ships = game.width * game.height, len(game.ships)
    clicks = _clicks(game, world, player(game, world) if seat is None else seat)
    seas = []
    for owner in range(2):
        shot, fleet = world[2 * ships + 1 - owner], _fleet(game, world, owner)
        sets = {"*": shot & fleet, "o": shot & ~fleet}
        marks = text.marks(area, {**sets, "#": fleet} if seat in (None, owner) else sets)
        cells = [
            Cell(mark, "sea", tuple(clicks.get((owner, i), ())), _SAID.get(mark, "")) for i, mark in enumerate(marks)
        ]
        whose = f"seat {owner}" + (" (you)" if owner == seat else "")
        lost = f"{whose}: {_losses(game, world, owner)} of {ships} sunk"
        sea = squares(names[owner * area : (owner + 1) * area], columns, cells, _FACES, owner * area)
        seas.append(stacked([line(LABEL, LINE / 2, lost, "head")], sea, gap=4.0))
    return finished(beside(*seas), drawing_title(game, seat), _FACES)


def _clicks(game: Battleship, world: World, seat: int) -> dict[tuple[int, int], list[int]]:
    """By sea and cell, what a click of the seat there may mean: a shot, or a ship that begins or ends there."""
    area, taken = game.width * game.height, get(world, _taken(game))
    if seat < 0:
        return {}
    if not _placing(game, world):
        return {(1 - seat, i): [i] for i in range(area)}
    ship = min((taken + 1 - seat) // 2, len(game.ships) - 1)  # the seat's next one
    found: dict[tuple[int, int], list[int]] = {}
    for action in range(area, 3 * area):
        first = action % area
        last = first + (game.ships[ship] - 1) * (game.width if action >= 2 * area else 1)
        for i in {first, last}:
            found.setdefault((seat, i), []).append(action)
    return found


@implements(Battleship)
def observation_text(game, before, action, after, viewer):
    seat = get(before, _taken(game)) % 2
    mine = viewer == seat and viewer != PUBLIC
    if _placing(game, before):
        name = action_names(game, before, action)[0].removeprefix("place ")
        return f"you place {name}" if mine else f"seat {seat} places a ship"
    result = _RESULTS[_result(game, after, seat, action)]
    return f"{'you shoot' if mine else f'seat {seat} shoots'} {text.cell(action, game.width)}: {result}"
