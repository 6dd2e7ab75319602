"""Laid-open worlds: a number for each, and for its mirror images.

`walk` says what the words mean.
"""

from numpy import int64, uint64

from foglight.compile import jitable
from foglight.randomness import mix
from foglight.rules import NOTHING, TERMINAL, begin, copy_world, lay_open, player, position, returns, transition
from foglight.solving.factored.arrays import OPENS, enter, find_slot


@jitable
def recall(memory, observation):
    """A hash of what a seat has observed, with one more observation."""
    return memory if observation == NOTHING else mix(memory + uint64(observation) + uint64(1))


@jitable
def replay(game, past, length, image, world, room):
    """Make `world` the world after these actions, each replaced by its image; `room` is another world."""
    for i in range(len(world)):
        room[i] = uint64(0)
    begin(game, room)
    for a in range(length):
        transition(game, room, int64(image[past[a]]), world)
        copy_world(game, room, world)
    copy_world(game, world, room)


@jitable
def open_number(game, world, past, length, image, action, desk):
    """The number of a world when laid open; it comes after the mirror image of a past, and an action unless that is -1.

    A new one is added.
    """
    opens, n = desk.opens, desk.counts[OPENS]
    copy_world(game, opens.worlds[n], world)
    lay_open(game, opens.worlds[n])
    code = uint64(position(game, opens.worlds[n]))
    slot = find_slot(desk.table.keys, code)
    if slot >= 0:
        return int64(desk.table.numbers[slot])
    enter(desk.table, slot, code, n)
    desk.counts[OPENS], opens.names[n], opens.movers[n], opens.lengths[n] = n + 1, code, player(game, world), length
    if opens.movers[n] == TERMINAL:
        returns(game, world, opens.payoffs[n])
    for a in range(length):
        opens.pasts[n, a] = image[past[a]]
    if action >= 0:
        opens.pasts[n, length] = action
        opens.lengths[n] += 1
    opens.turned[n, 0] = n + 1
    return n


@jitable
def turned_open(game, group, number, turn, desk):
    """The number of the mirror image of a laid-open world."""
    opens, worlds = desk.opens, desk.room.worlds
    if opens.turned[number, turn] == 0:
        image, past, length = group.images[turn], opens.pasts[number], opens.lengths[number]
        replay(game, past, length, image, worlds[0], worlds[1])
        other = open_number(game, worlds[0], past, length, image, -1, desk)
        opens.turned[number, turn], opens.turned[other, group.inverse[turn]] = other + 1, number + 1
    return int64(opens.turned[number, turn]) - 1
