"""What is observed in trick-taking games: the same codes in all of them, and how to read them.

An observation is a kind, a seat and a number; what a game has to add begins at the bit EXTRA. Of cards dealt one sees
only one's own, as a rule all at once when the last of them is dealt: in which order they came matters to nobody, and
would only multiply information states. All that is bid or played is public; so what is public can be told from anyone's
observations.
"""

from numpy import int64

from foglight import bits
from foglight.bits import get
from foglight.cards.tricks import MOVER, hand, hand_size
from foglight.compile import jitable
from foglight.rules import NOTHING

HAND = 1 << 62  # a code from here on is one's own hand, a set of cards
DEALT_TO_ME = 1  # seat, card: in games that show them one by one
TURNED = 3  # card
BIDS = 4  # seat, bid
PLAYS = 5  # seat, card
FIRST_OWN_KIND = 6  # kinds from here to 15 mean something else in each game
EXTRA = 13


@jitable
def seen(kind, seat, number):
    """The code of an observation."""
    return kind << 9 | seat << 6 | number


@jitable
def seen_deal(game, before, after, viewer):
    """The observation of a card dealt: one's hand, when it has its full size."""
    seat = get(before, MOVER)
    if viewer != seat or bits.count(hand(game, after, seat)) < hand_size(game, before):
        return NOTHING
    return HAND | int64(hand(game, after, seat))


@jitable
def seen_card(before, card, viewer):
    """The observation of a card dealt in a game that shows one's own cards one by one."""
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
    """What an observation is about; 0 for a hand."""
    return 0 if is_hand(observation) else (observation >> 9) & 15


@jitable
def seat_of(observation):
    return (observation >> 6) & 7


@jitable
def number_of(observation):
    return observation & 63
