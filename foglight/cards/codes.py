"""The observation codes of trick-taking games, which are the same in all of them.

An observation is a hand, or a kind, a seat and a number; what a game adds begins at the bit EXTRA. A seat sees only the
cards dealt to itself, as a rule all at once when the last of them is dealt: their order does not matter, and would only
multiply information states. Bids and plays are public, so the public observations follow from those of any seat.
"""

from numpy import int64

from foglight import bits
from foglight.bits import get
from foglight.cards.tricks import MOVER, hand, hand_size
from foglight.compile import jitable
from foglight.rules import NOTHING

HAND = 1 << 62  # codes from here on: the viewer's whole hand, a set of cards
DEALT_TO_ME = 1  # kinds: a seat is dealt a card, in games that show cards one by one
TURNED = 3  # a card is turned face up
BIDS = 4  # a seat makes a bid
PLAYS = 5  # a seat plays a card
FIRST_OWN_KIND = 6  # kinds from here to 15 have a meaning of their own in each game
EXTRA = 13  # the first bit of what a game adds to a code


@jitable
def seen(kind, seat, number):
    """The code of an observation."""
    return kind << 9 | seat << 6 | number


@jitable
def seen_deal(game, before, after, viewer):
    """The observation of a dealt card: the viewer's hand when it is complete, otherwise NOTHING."""
    seat = get(before, MOVER)
    if viewer != seat or bits.count(hand(game, after, seat)) < hand_size(game, before):
        return NOTHING
    return HAND | int64(hand(game, after, seat))


@jitable
def seen_card(before, card, viewer):
    """The observation of a dealt card in a game that shows a seat its cards one by one."""
    seat = get(before, MOVER)
    return seen(DEALT_TO_ME, seat, card) if viewer == seat else NOTHING


@jitable
def is_hand(observation):
    return observation >= HAND


@jitable
def hand_of(observation):
    """The cards of an observed hand, a set."""
    return observation & ~HAND


@jitable
def kind_of(observation):
    """The kind of an observation; 0 for a hand."""
    return 0 if is_hand(observation) else (observation >> 9) & 15


@jitable
def seat_of(observation):
    return (observation >> 6) & 7


@jitable
def number_of(observation):
    return observation & 63
