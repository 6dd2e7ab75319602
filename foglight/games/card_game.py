"""The card game of the EPIMC paper [Arjonilla2024, section V.A]: two seats, tricks without trumps, six cards unseen.

22 cards of a pack of 52 are in play, and all seats know which; each seat is dealt 8 and 6 stay hidden. Seat 0 leads
first. In the paper a seat wins if it takes at least half of the 8 tricks, so that both win at 4 to 4. Here more than
half pays 1, less than half -1, and 4 to 4 pays 0. `pack` chooses the 22 cards: each number is a fixed random choice.

world   see `foglight.cards.tricks`; own word 0: the set of the 22 cards
action  the card, counted suit by suit (2c 3c ... As, the suits c d h s); chance: the card dealt, to both in turn
observe each seat alone its whole hand, when its last card is dealt, and nothing before that; everybody every card
        played. The 22 cards in play are known from the start
"""

from typing import Annotated, NamedTuple

from numpy import int64, uint64

from foglight import bits
from foglight.bits import get
from foglight.cards import codes, drawn, showing, sight, tricks
from foglight.cards.codes import seen
from foglight.cards.deck import block, card_names, cards_text
from foglight.cards.tricks import PHASE, PLAY, taken
from foglight.compile import constants, implements
from foglight.names import Between
from foglight.randomness import fold
from foglight.rules import Bounds, Game, World, game

_CARDS, _SUITS, _RANKS = 52, 4, 13
_IN_PLAY, _TO_EACH = 22, 8
_OWN = 9


@game
@constants(
    num_players=2,
    num_words=_OWN + 1,
    num_actions=_CARDS,
    max_legal=_IN_PLAY,
    num_suits=_SUITS,
    suit_letters="cdhs",
    hides_only_cards=True,
    playable_by_pairs=True,
    title="two seats, eight tricks, six of 22 cards hidden",
)
@tricks.trick_taking
class CardGame(NamedTuple):
    pack: Annotated[int, "which 22 cards are in play", Between(0, 999999)] = 0


@implements(CardGame)
def suit_of(game, card):
    return card // _RANKS


@implements(CardGame)
def suit_cards(game, suit):
    return block(_RANKS, suit)


@implements(CardGame)
def pack(game, world):
    return world[_OWN]


@implements(CardGame)
def begin(game, world):
    world[_OWN] = bits.first_bits(_CARDS)
    for size in range(_CARDS, _IN_PLAY, -1):
        out = bits.nth(world[_OWN], int64(uint64(fold(game.pack, size)) % uint64(size)))
        world[_OWN] ^= bits.bit(out)
    tricks.start_deal(world, world[_OWN])


@implements(CardGame)
def step(game, world, action):
    if get(world, PHASE) == PLAY:
        tricks.play_card(game, world, action)
    elif tricks.deal_card(game, world, action) == 2 * _TO_EACH:
        tricks.start_play(world, 0)


@implements(CardGame)
def hand_size(game, world):
    return _TO_EACH


@implements(CardGame)
def observe(game, before, action, after, viewer):
    if get(before, PHASE) == PLAY:
        return seen(codes.PLAYS, get(before, tricks.MOVER), action)
    return codes.seen_deal(game, before, after, viewer)


@implements(CardGame)
def returns(game, world, out):
    first, second = taken(world, 0), taken(world, 1)
    out[0] = 0.0 if first == second else (1.0 if first > second else -1.0)
    out[1] = -out[0]


@implements(CardGame)
def num_sight_features(game):
    return sight.size(game) + _CARDS


@implements(CardGame)
def sight_features(game, world, seat, out):
    # hands and tricks, and the cards in play
    sight.write_cards(game, world[_OWN], out[sight.write(game, world, seat, out) :])


# For people -----------------------------------------------------------------------------------------------------


@implements(CardGame)
def bounds(game):
    return Bounds(-1.0, 1.0, 0.0, 4 * _TO_EACH)


@implements(CardGame)
def how_to_play(game):
    return f"""{_IN_PLAY} cards are in play, and both seats know which. Each gets {_TO_EACH}; the others stay hidden.
Seat 0 leads. Write a card, rank and suit, of the suits c d h s: 2c is the two of clubs, Th the ten of hearts.
Follow the suit led if you can. The higher card of the suit led takes the trick; there are no trumps.
The winner of a trick leads to the next. More than half of the {_TO_EACH} tricks win 1 from the other."""


@implements(CardGame)
def why_not(game, world, action):
    return showing.why_not(game, world, action)


@implements(CardGame)
def action_names(game, world, action):
    return card_names(game, action) if get(world, PHASE) == PLAY else showing.deal_names(game, action)


def _in_play(game: Game, world: World) -> str:
    return f"in play: {cards_text(game, world[_OWN])}"


@implements(CardGame)
def board(game, world):
    return showing.board_text(game, world, _in_play(game, world))


@implements(CardGame)
def view(game, world, seat):
    return showing.view_text(game, world, seat, _in_play(game, world))


@implements(CardGame)
def drawing(game, world, seat):
    def facts(one: int) -> list[str]:
        return [f"{taken(world, one)} tricks", *drawn.voids(game, world, one)]

    hidden = f"{_IN_PLAY - 2 * _TO_EACH} of the {_IN_PLAY} cards stay hidden"
    return drawn.trick_drawing(game, world, seat, facts, [hidden])


@implements(CardGame)
def observation_text(game, before, action, after, viewer):
    return showing.seen_text(game, observe(game, before, action, after, viewer), viewer)
