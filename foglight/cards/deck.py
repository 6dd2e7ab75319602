"""Cards as small numbers, sets of cards as words, and the text of both.

A game may number its cards in any way that gives a higher card of a suit a higher number. Two ways are in use: rank by
rank (2c 2d 2s 2h 3c ...), where a suit is a stripe of bits, and suit by suit (2c 3c ... Ac 2d ...), where a suit is a
block of bits. A game with cards implements the rules below.
"""

import numpy as np
from numpy import uint64

from foglight import bits
from foglight.compile import jitable, optional, required
from foglight.rules import Game

RANKS = "23456789TJQKA"
_STRIPES = np.array([sum(1 << i for i in range(0, 64, n)) if n else 0 for n in range(5)], np.uint64)


@required
def num_suits(game):
    """The number of suits."""


@required
def suit_of(game, card):
    """The suit of a card, counted from 0."""


@required
def suit_cards(game, suit):
    """All cards of a suit, a set."""


@optional
def suit_letters(game):
    """The letters of the suits; Python only."""
    return "cdsh"


@jitable
def stripe(suits, ranks, suit):
    """The cards of a suit, a set, in a deck that is numbered rank by rank."""
    return (_STRIPES[suits] << uint64(suit)) & bits.first_bits(suits * ranks)


@jitable
def block(ranks, suit):
    """The cards of a suit, a set, in a deck that is numbered suit by suit."""
    return bits.first_bits(ranks) << uint64(ranks * suit)


# Text, in Python only -------------------------------------------------------------------------------------------


def card_text(game: Game, card: int) -> str:
    """A card as people write it: `Ah`, `Td`."""
    suit = int(suit_of(game, card))
    rank = bits.count(int(suit_cards(game, suit)) & ((1 << int(card)) - 1))
    return RANKS[rank] + suit_letters(game)[suit]


def card_names(game: Game, card: int) -> tuple[str, ...]:
    """The names of a card: `Td`, `10d`, and with the suit first `dT` and `d10`."""
    rank, suit = tuple(card_text(game, card))
    return (rank + suit, f"10{suit}", f"{suit}10", suit + rank) if rank == "T" else (rank + suit, suit + rank)


def cards_text(game: Game, cards: int) -> str:
    """The text of a set of cards, suit by suit, high cards first."""
    suits = [int(suit_cards(game, suit)) & int(cards) for suit in range(int(num_suits(game)))]
    texts = [[card_text(game, card) for card in range(63, -1, -1) if suit >> card & 1] for suit in reversed(suits)]
    return "  ".join(" ".join(suit) for suit in texts if suit) or "none"
