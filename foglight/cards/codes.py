"""What is observed in trick-taking games: the same codes in all of them, and how to read them.

An observation is a kind, a seat and a number; what a game has to add begins at the bit EXTRA. Of cards dealt one sees
only one's own, all that is bid or played is public; so what is public can be told from anyone's observations.
"""

from foglight.bits import get
from foglight.cards.tricks import MOVER
from foglight.compile import jitable
from foglight.rules import NOTHING

DEALT_TO_ME = 1  # seat, card
DEALT_TO = 2  # seat; the card is not seen
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
def seen_deal(before, card, viewer):
    """The observation of a card dealt, where only its receiver notices."""
    seat = get(before, MOVER)
    return seen(DEALT_TO_ME, seat, card) if viewer == seat else NOTHING


@jitable
def kind_of(observation):
    return (observation >> 9) & 15


@jitable
def seat_of(observation):
    return (observation >> 6) & 7


@jitable
def number_of(observation):
    return observation & 63
