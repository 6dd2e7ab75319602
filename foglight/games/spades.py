"""Spades: partners bid the number of tricks that they will take together; spades are trumps.

The rules are those of OpenSpiel's `spades`, one deal from scores of 0. Seats 0 and 2 play against 1 and 3. Chance deals
the 52 cards one by one. Then each seat bids, seat 0 first; two partners may bid at most 13 together. A seat that has
anything else does not lead spades; with `breaking=yes` it may, once a spade has been played. A side that takes at least
as many tricks as it bid gets 10 points for each trick bid and 1 for each further trick, minus 100 if there are 10 or
more further tricks; otherwise it loses 10 points for each trick bid. A bid of 0 (nil) gains 100 points if the seat
takes no trick, and loses 100 if it takes one.

OpenSpiel has a rule on broken spades, but never records that they are broken; it plays by `breaking=no`.

world   see `foglight.cards.tricks`; own word 0: 4 bits per seat, its bid plus one, then whether spades are broken
action  the card, counted suit by suit (2c 3c ... As, the suits c d h s), or 52 plus the bid; chance: the card dealt
observe each seat alone its whole hand, when its last card is dealt, and nothing before that; everybody every bid and
        every card played
"""

from typing import Annotated, NamedTuple

from numpy import uint64

from foglight import bits
from foglight.bits import get, put
from foglight.cards import codes, drawn, showing, sight, tricks
from foglight.cards.codes import seen
from foglight.cards.deck import block, card_names
from foglight.cards.tricks import BID, DEAL, MOVER, PHASE, PLAY, enter, taken
from foglight.compile import constants, implements, jitable
from foglight.names import OneOf
from foglight.rules import Bounds, World, game

_SEATS, _CARDS, _SUITS, _RANKS = 4, 52, 4, 13
_SPADES = uint64(((1 << 13) - 1) << 39)
_SPADES_SUIT = 3
_OWN = 13
_BROKEN = (_OWN, 16, 1)
NO, YES = 0, 1


@game
@constants(
    num_players=_SEATS,
    num_words=_OWN + 1,
    num_actions=_CARDS + _RANKS + 1,
    max_legal=_CARDS,
    first_bid=_CARDS,
    num_suits=_SUITS,
    suit_letters="cdhs",
    hides_only_cards=True,
    playable_by_pairs=True,
    title="two sides bid how many tricks they will take; spades are trumps",
)
@tricks.trick_taking
class Spades(NamedTuple):
    breaking: Annotated[int, "whether any seat may lead spades once one has been played", OneOf("no", "yes")] = NO


@implements(Spades)
def suit_of(game, card):
    return card // _RANKS


@implements(Spades)
def suit_cards(game, suit):
    return block(_RANKS, suit)


@implements(Spades)
def trumps(game, world):
    return _SPADES


@jitable
def _bid(seat):
    """The field of a seat's bid plus one; 0 before it has bid."""
    return (_OWN, 4 * seat, 4)


@implements(Spades)
def begin(game, world):
    tricks.start_deal(world, bits.first_bits(_CARDS))


@implements(Spades)
def playable(game, world):
    cards = tricks.following_or_all(game, world)
    if get(world, tricks.PLACED) == 0 and get(world, _BROKEN) == 0 and cards & ~_SPADES != uint64(0):
        return cards & ~_SPADES
    return cards


@implements(Spades)
def step(game, world, action):
    if get(world, PHASE) == PLAY:
        _play(game, world, action)
    else:
        _prepare(game, world, action)


@jitable
def _prepare(game, world, action):
    """The actions before play: the deal and the bids."""
    seat = get(world, MOVER)
    if get(world, PHASE) == DEAL:
        if tricks.deal_card(game, world, action) == _CARDS:
            enter(world, BID, 0)
            tricks.offer(world, bits.first_bits(_RANKS + 1))
        return
    put(world, _bid(seat), action - _CARDS + 1)
    if seat == _SEATS - 1:
        tricks.start_play(world, 0)
    else:
        partner = get(world, _bid((seat + 3) & 3)) - 1  # of the seat that bids next
        enter(world, BID, seat + 1)
        tricks.offer(world, bits.first_bits(_RANKS + 1 - max(partner, 0)))


@jitable
def _play(game, world, card):
    if bits.has(_SPADES, card):
        if get(world, tricks.PLACED) == 0 and get(world, _BROKEN) == 0:
            for suit in range(_SPADES_SUIT):
                tricks.show_void(world, get(world, MOVER), suit)  # it had nothing else to lead
        put(world, _BROKEN, game.breaking)
    tricks.play_card(game, world, card)


@implements(Spades)
def hand_size(game, world):
    return _RANKS


@implements(Spades)
def observe(game, before, action, after, viewer):
    phase, seat = get(before, PHASE), get(before, MOVER)
    if phase == PLAY:
        return seen(codes.PLAYS, seat, action)
    if phase == BID:
        return seen(codes.BIDS, seat, action - _CARDS)
    return codes.seen_deal(game, before, after, viewer)


@implements(Spades)
def num_sight_features(game):
    return sight.size(game) + 2 * _SEATS + 1


@implements(Spades)
def sight_features(game, world, seat, out):
    # hands and tricks, the bids, and whether spades are broken
    at = sight.write(game, world, seat, out)
    at += sight.write_bids(game, world, seat, _bid(0), out[at:])
    out[at] = get(world, _BROKEN)


@implements(Spades)
def returns(game, world, out):
    for side in range(2):
        first, second = get(world, _bid(side)) - 1, get(world, _bid(side + 2)) - 1
        out[side] = out[side + 2] = score(first, second, taken(world, side), taken(world, side + 2))


@jitable
def score(first_bid, second_bid, first_won, second_won):
    """The points of a side, from the bids and the tricks won of its two seats."""
    bid, over = first_bid + second_bid, first_won + second_won - first_bid - second_bid
    points = -10 * bid if over < 0 else 10 * bid + over - (100 if over >= 10 else 0)
    if first_bid == 0:
        points += 100 if first_won == 0 else -100
    if second_bid == 0:
        points += 100 if second_won == 0 else -100
    return points


# For people -----------------------------------------------------------------------------------------------------


@implements(Spades)
def bounds(game):
    # at worst both partners bid nil and fail with all tricks, at best 13 tricks and a nil succeed
    return Bounds(-287.0, 230.0, None, 2 * _CARDS + _SEATS)


@implements(Spades)
def how_to_play(game):
    lead = (
        "unless you hold nothing else" if game.breaking == NO else "unless one has been played or you hold nothing else"
    )
    return f"""Four seats with 13 cards each; seats 0 and 2 are partners, and so are 1 and 3. Spades are trumps.
From seat 0 on, each bids how many tricks it will take: `bid 3`, or `nil` for none; partners at most 13 together.
Seat 0 leads. Play a card: `2c`, suits c d h s. Follow the suit led if you can.
Do not lead spades, {lead}.
The highest spade takes the trick, otherwise the highest card of the suit led; the winner leads next.
Partners who take the tricks they bid get 10 for each of these and 1 for each further one, less 100 from 10 further on;
otherwise they lose 10 for each trick bid. Nil gains 100 if that seat takes no trick, and loses 100 if it takes any."""


@implements(Spades)
def why_not(game, world, action):
    if action >= _CARDS and get(world, PHASE) == BID:
        partner = get(world, _bid((get(world, MOVER) + 2) & 3)) - 1
        return f"partners may bid {_RANKS} together, and yours has bid {partner}"
    reason = showing.why_not(game, world, action)
    return reason or "you may not lead spades while you hold another suit"


@implements(Spades)
def action_names(game, world, action):
    phase = get(world, PHASE)
    if phase == DEAL:
        return showing.deal_names(game, action)
    if action < _CARDS:
        return card_names(game, action)
    names = showing.bid_names(action - _CARDS)
    return (*names, "nil") if action == _CARDS else names


def _bids(world: World) -> str:
    return showing.bids_by_seat(get(world, _bid(seat)) - 1 for seat in range(_SEATS))


@implements(Spades)
def board(game, world):
    return showing.board_text(game, world, _bids(world))


@implements(Spades)
def view(game, world, seat):
    return showing.view_text(
        game, world, seat, f"your partner is seat {(seat + 2) & 3}; spades are trumps", _bids(world)
    )


@implements(Spades)
def drawing(game, world, seat):
    def facts(one: int) -> list[str]:
        partner = ["your partner"] if seat is not None and one == (seat + 2) & 3 else []
        bid = drawn.bid_and_tricks(get(world, _bid(one)) - 1, taken(world, one))
        return [bid, *partner, *drawn.voids(game, world, one)]

    return drawn.trick_drawing(game, world, seat, facts, ["spades are trumps"])


@implements(Spades)
def observation_text(game, before, action, after, viewer):
    return showing.seen_text(game, observe(game, before, action, after, viewer), viewer)
