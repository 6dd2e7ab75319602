"""Battleship: place ships unseen, then shoot in turn; a shooter is told water, hit or sunk.

The rules are those of OpenSpiel's `battleship` with ships worth 1 each and no loss multiplier: a seat's payoff is the
number of ships it sank less the number it lost, play ends when a fleet is sunk or all shots are fired.

world   words 0 to 2n-1: the cells of each ship, seat 0's n ships first; words 2n and 2n+1: cells that seat 0, that
        seat 1 has shot at; word 2n+2: bits 0-15 how many actions were taken, bit 16 whether a fleet is sunk
action  a cell, row by row, to shoot at; plus the number of cells, a ship that lies from there to the right; plus twice
        that, one that lies downwards
observe one's own ships; that the other placed one; every shot and its result, which the target sees for itself
"""

from typing import Annotated, NamedTuple

from numpy import int64, uint64

from foglight import bits, text
from foglight.bits import get, put
from foglight.compile import implements, jitable
from foglight.names import BadInput, Between, OneOf
from foglight.randomness import below
from foglight.rules import PUBLIC, TERMINAL, game

ALLOWED, FORBIDDEN = 0, 1
_PLACED = 1  # observation codes: the other has placed a ship; then own placements; then shots with results
_WATER, _HIT, _SUNK = 0, 1, 2
_RESULTS = ("water", "hit", "sunk")


@game
class Battleship(NamedTuple):
    width: Annotated[int, Between(1, 8)] = 3
    height: Annotated[int, Between(1, 8)] = 3
    ships: Annotated[tuple[Annotated[int, Between(1, 8)], ...], "lengths, in the order of placing"] = (1, 2)
    shots: Annotated[int, Between(1, 1000)] = 9
    repeats: Annotated[int, OneOf("allowed", "forbidden")] = ALLOWED


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
def num_players(game):
    return 2


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
    """The cells of a ship placed by this action, or none if it would leave the board."""
    area = game.width * game.height
    cell = action % area
    row, col = cell // game.width, cell % game.width
    down = action >= 2 * area
    if (row if down else col) + length > (game.height if down else game.width):
        return uint64(0)
    cells = uint64(0)
    for i in range(length):
        cells |= bits.bit(cell + i * (game.width if down else 1))
    return cells


@jitable
def _free_place(game, fleet, action, ship):
    """Where the next ship would lie, or none if it cannot lie there, or leaves no room for those that follow."""
    cells = _ship(game, action, game.ships[ship])
    if cells & fleet != uint64(0) or (game.ships[ship] == 1 and action >= 2 * game.width * game.height):
        return uint64(0)
    return cells


@implements(Battleship)
def legal(game, world, out):
    taken, area = get(world, _taken(game)), game.width * game.height
    seat = taken % 2
    if not _placing(game, world):
        cells = bits.first_bits(area)
        return bits.members(cells & ~world[2 * len(game.ships) + seat] if game.repeats == FORBIDDEN else cells, out)
    n = 0
    fleet = _fleet(game, world, seat)
    for action in range(area, 3 * area):
        cells = _free_place(game, fleet, action, taken // 2)
        if cells != uint64(0) and _room(game, fleet | cells, taken // 2 + 1):
            out[n] = action
            n += 1
    return n


@jitable
def _room(game, fleet, ship):
    """Whether ships from this one on still fit beside the fleet: depth-first over their places, without recursion."""
    area, n = game.width * game.height, len(game.ships)
    places, fleets = [0] * (n + 1), [uint64(0)] * (n + 1)
    depth = ship
    places[depth], fleets[depth] = area, fleet
    while depth < n:
        cells = uint64(0)
        while places[depth] < 3 * area and cells == uint64(0):
            cells = _free_place(game, fleets[depth], places[depth], depth)
            places[depth] += 1
        if cells != uint64(0):
            depth += 1
            places[depth], fleets[depth] = area, fleets[depth - 1] | cells
        elif depth == ship:
            return False
        else:
            depth -= 1
    return True


@implements(Battleship)
def pick(game, world, random, out):
    if game.repeats == ALLOWED and not _placing(game, world):
        return below(random, game.width * game.height)
    return out[below(random, legal(game, world, out))]


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
    """What a shot of `seat` at a cell did, once the cell is among those it has shot at."""
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
    """How many of a seat's ships are sunk."""
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


@implements(Battleship)
def title(game):
    return "hidden ships on up to 8x8 cells; shots answer water, hit or sunk"


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


def _sea(game, world, seat, own):
    """A seat's sea: its ships if they are its own to see, and where it was hit."""
    ships = len(game.ships)
    shot, fleet = world[2 * ships + 1 - seat], _fleet(game, world, seat)
    sets = {"*": shot & fleet, "o": shot & ~fleet}
    return text.grid(game.height, game.width, {**sets, "#": fleet} if own else sets)


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
def observation_text(game, before, action, after, viewer):
    seat = get(before, _taken(game)) % 2
    mine = viewer == seat and viewer != PUBLIC
    if _placing(game, before):
        name = action_names(game, before, action)[0].removeprefix("place ")
        return f"you place {name}" if mine else f"seat {seat} places a ship"
    result = _RESULTS[_result(game, after, seat, action)]
    return f"{'you shoot' if mine else f'seat {seat} shoots'} {text.cell(action, game.width)}: {result}"
