"""What a seat sees of a trick-taking game, as numbers for learners.

Seats are counted from the viewer: first itself, then the seat after it. By card: the viewer's hand, the cards that each
seat has played, the cards on the table. By seat: who led to them, the share of tricks taken, the suits it is known to
be void in. Whose turn it is before play is left out: a seat does not notice when cards are dealt to others.
"""

from numpy import uint64

from foglight import bits
from foglight.bits import get
from foglight.cards import tricks
from foglight.cards.deck import num_suits, suit_cards
from foglight.compile import jitable
from foglight.rules import num_players

_MOST_TRICKS = 17


@jitable
def num_cards(game):
    cards = 0
    for suit in range(num_suits(game)):
        cards += bits.count(suit_cards(game, suit))
    return cards


@jitable
def size(game):
    """The number of features that `write` writes."""
    return num_cards(game) * (2 + num_players(game)) + num_players(game) * (2 + num_suits(game)) + 1


@jitable
def write_cards(game, cards, out):
    """Mark a set of cards."""
    for card in range(num_cards(game)):
        out[card] = bits.has(cards, card)


@jitable
def has_looked(game, world, seat):
    """Whether a seat has looked at its hand; in most games it does when all its cards are dealt."""
    dealt = bits.count(tricks.hand(game, world, seat))
    return get(world, tricks.PHASE) > tricks.DEAL or dealt >= max(1, tricks.hand_size(game, world))


@jitable
def write(game, world, seat, out):
    """Write what a seat sees of hands and tricks into `out`, and return the number of features."""
    cards, seats, suits = num_cards(game), num_players(game), num_suits(game)
    if has_looked(game, world, seat):
        write_cards(game, tricks.hand(game, world, seat), out)
    write_cards(game, tricks.table(world), out[cards:])
    at = 2 * cards
    for i in range(seats):
        other = after(game, seat, i)
        write_cards(game, tricks.played(game, world, other), out[at:])
        at += cards
    for i in range(seats):
        other = after(game, seat, i)
        out[at] = tricks.table(world) != uint64(0) and get(world, tricks.LEADER) == other
        out[at + 1] = tricks.taken(world, other) / _MOST_TRICKS
        for suit in range(suits):
            out[at + 2 + suit] = tricks.is_void(world, other, suit)
        at += 2 + suits
    out[at] = tricks.table(world) != uint64(0) and get(world, tricks.PLACED) == 0  # the trick is complete
    return at + 1


@jitable
def after(game, seat, i):
    """The seat i places after another."""
    other = seat + i
    return other - num_players(game) if other >= num_players(game) else other


@jitable
def write_bids(game, world, seat, bids, out):
    """Write the bids by seat into `out`: whether it has bid, and the bid; `bids` are the fields of bids plus one."""
    for i in range(num_players(game)):
        bid = get(world, (bids[0], bids[1] + bids[2] * after(game, seat, i), bids[2]))
        out[2 * i], out[2 * i + 1] = bid > 0, max(bid - 1, 0) / _MOST_TRICKS
    return 2 * num_players(game)
