"""Oh Hell: bid the number of tricks that you will take, and take exactly that many.

The rules are those of OpenSpiel's `oh_hell`. Chance draws the number of tricks (if it is not given) and the dealer,
deals the cards one by one from seat 0 on, and turns up one more, whose suit is trumps. Each seat bids, from the
dealer's left on; the dealer's bid may not make the bids add up to the number of tricks. Each trick pays
`points_per_trick`, and an exact bid 10 more. With `off_bid_penalty`, a wrong bid instead costs `points_per_trick` for
each trick that it is off.

world   see `foglight.cards.tricks`; own word 0: the fields below, and from bit 20 on 5 bits per seat, its bid plus
        one; own word 1: the set of trumps
action  the card, counted rank by rank (2c 2d 2s 2h 3c ...), or the number of cards plus the bid; chance: first the
        number of tricks, then the dealer, then cards
observe everybody the number of tricks, the dealer, the card turned up, every bid and every card played; each seat alone
        its whole hand, when its last card is dealt, and nothing before that
"""

from typing import Annotated, NamedTuple

from numpy import int64, uint64

from foglight import bits
from foglight.bits import get, put
from foglight.cards import codes, drawn, showing, sight, tricks
from foglight.cards.codes import seen
from foglight.cards.deck import RANKS, card_names, card_text, stripe, suit_letters
from foglight.cards.tricks import BID, DEAL, MOVER, PHASE, PLAY, SETUP, enter, first_own_word, taken
from foglight.compile import constants, implements, jitable
from foglight.names import BadInput, Between, OneOf
from foglight.rules import Bounds, World, game
from foglight.text import who

_EXACT = 10  # points for an exact bid
_TRICKS_DRAWN, _DEALER_DRAWN = codes.FIRST_OWN_KIND, codes.FIRST_OWN_KIND + 1


@game
@constants(
    hides_only_cards=True,
    playable_by_pairs=True,
    title="bid the tricks you will take, then take exactly that many; 3 to 7 seats",
)
@tricks.trick_taking
class OhHell(NamedTuple):
    players: Annotated[int, "number of seats", Between(3, 7)] = 3
    suits: Annotated[int, "number of suits", Between(1, 4)] = 4
    ranks: Annotated[int, "cards per suit", Between(2, 13)] = 13
    tricks: Annotated[int, "cards dealt to each seat; 0: drawn by chance", Between(0, 17)] = 0
    off_bid_penalty: Annotated[int, "whether a wrong bid costs points", OneOf("no", "yes")] = 0
    points_per_trick: Annotated[int, "paid for each trick taken", Between(0, 100)] = 1


@implements(OhHell)
def check(game):
    cards, wanted = game.suits * game.ranks, game.players * max(game.tricks, 1) + 1
    if wanted > cards:
        most = _most_tricks(game)
        advice = f"give at most tricks={most}" if most > 0 else "give more suits or ranks, or fewer players"
        raise BadInput(
            f"oh_hell: {game.players} players, {max(game.tricks, 1)} tricks and the card turned need {wanted} cards, "
            f"{game.suits} suits of {game.ranks} have {cards}; {advice}"
        )


@implements(OhHell)
def num_players(game):
    return game.players


@implements(OhHell)
def num_words(game):
    return first_own_word(game) + 2


@jitable
def _num_cards(game):
    return game.suits * game.ranks


@jitable
def _most_tricks(game):
    return (_num_cards(game) - 1) // game.players


@implements(OhHell)
def num_actions(game):
    return _num_cards(game) + _most_tricks(game) + 1


@implements(OhHell)
def max_legal(game):
    return _num_cards(game)


@implements(OhHell)
def first_bid(game):
    return _num_cards(game)


@implements(OhHell)
def num_suits(game):
    return game.suits


@implements(OhHell)
def suit_of(game, card):
    return int64(uint64(card) % uint64(game.suits))  # unsigned is faster


@implements(OhHell)
def suit_cards(game, suit):
    return stripe(game.suits, game.ranks, suit)


@implements(OhHell)
def trumps(game, world):
    return world[first_own_word(game) + 1]


# Fields of the own word 0 ---------------------------------------------------------------------------------------


@jitable
def _tricks(game):
    return (first_own_word(game), 0, 5)


@jitable
def _dealer(game):
    return (first_own_word(game), 5, 3)


@jitable
def _turned(game):
    return (first_own_word(game), 8, 6)


@jitable
def _bid(game, seat):
    """The field of a seat's bid plus one; 0 before it has bid."""
    return (first_own_word(game), 20 + 5 * seat, 5)


# The rules ------------------------------------------------------------------------------------------------------


@implements(OhHell)
def begin(game, world):
    if game.tricks != 0:
        tricks.offer(world, bits.bit(game.tricks))
    else:
        tricks.offer(world, bits.first_bits(_most_tricks(game) + 1) ^ bits.bit(0))


@implements(OhHell)
def step(game, world, action):
    if get(world, PHASE) == PLAY:
        tricks.play_card(game, world, action)
    else:
        _prepare(game, world, action)


@jitable
def _prepare(game, world, action):
    """The actions before play: the draws, the deal and the bids."""
    phase, seat = get(world, PHASE), get(world, MOVER)
    if phase == BID:
        put(world, _bid(game, seat), action - _num_cards(game) + 1)
        _next_bid(game, world, seat)
    elif phase == DEAL and not _all_dealt(game, world):
        tricks.deal_card(game, world, action)
    elif phase == DEAL:
        put(world, _turned(game), action)
        world[first_own_word(game) + 1] = suit_cards(game, suit_of(game, action))
        enter(world, BID, 0)
        _next_bid(game, world, get(world, _dealer(game)))
    elif get(world, _tricks(game)) == 0:
        put(world, _tricks(game), action)
        tricks.offer(world, bits.first_bits(game.players))
    else:
        put(world, _dealer(game), action)
        tricks.start_deal(world, bits.first_bits(_num_cards(game)))


@jitable
def _next_bid(game, world, after):
    """Let the seat after `after` bid, or begin play. The dealer bids last, and may not make the bids add up."""
    dealer, most = get(world, _dealer(game)), get(world, _tricks(game))
    seat = after + 1 if after + 1 < game.players else 0
    if after == dealer and get(world, _bid(game, after)) != 0:
        tricks.start_play(world, seat)
        return
    left = most
    for other in range(game.players):
        left -= max(get(world, _bid(game, other)) - 1, 0)
    forbidden = bits.bit(left) if seat == dealer and left >= 0 else uint64(0)
    tricks.offer(world, bits.first_bits(most + 1) & ~forbidden)
    enter(world, BID, seat)


@jitable
def _all_dealt(game, world):
    return get(world, tricks.DEALT) == get(world, _tricks(game)) * game.players


@implements(OhHell)
def hand_size(game, world):
    return get(world, _tricks(game))


@implements(OhHell)
def observe(game, before, action, after, viewer):
    phase, seat = get(before, PHASE), get(before, MOVER)
    if phase == PLAY:
        return seen(codes.PLAYS, seat, action)
    if phase == BID:
        return seen(codes.BIDS, seat, action - _num_cards(game))
    if phase == SETUP:
        return seen(_TRICKS_DRAWN if get(before, _tricks(game)) == 0 else _DEALER_DRAWN, 0, action)
    if _all_dealt(game, before):
        return seen(codes.TURNED, 0, action)
    return codes.seen_deal(game, before, after, viewer)


@implements(OhHell)
def returns(game, world, out):
    for seat in range(game.players):
        out[seat] = score(game, get(world, _bid(game, seat)) - 1, taken(world, seat))


@jitable
def score(game, bid, won):
    """The points of a seat, from its bid and the tricks it has won."""
    if won == bid:
        return _EXACT + game.points_per_trick * won
    return -game.points_per_trick * abs(won - bid) if game.off_bid_penalty == 1 else game.points_per_trick * won


@implements(OhHell)
def num_sight_features(game):
    return sight.size(game) + 3 * game.players + 1 + _num_cards(game)


@implements(OhHell)
def sight_features(game, world, seat, out):
    # hands and tricks, the bids, the dealer, the number of tricks, and the card turned up
    at = sight.write(game, world, seat, out)
    first = _bid(game, 0)
    at += sight.write_bids(game, world, seat, first, out[at:])
    if get(world, PHASE) != SETUP:
        for i in range(game.players):
            out[at + i] = get(world, _dealer(game)) == sight.after(game, seat, i)
    at += game.players
    out[at] = get(world, _tricks(game)) / _most_tricks(game)
    if get(world, PHASE) > DEAL:
        out[at + 1 + get(world, _turned(game))] = 1.0


# For people -----------------------------------------------------------------------------------------------------


@implements(OhHell)
def bounds(game):
    most = game.tricks or int(_most_tricks(game))
    points = float(game.points_per_trick * most)
    low = -points if game.off_bid_penalty == 1 else 0.0
    return Bounds(low, _EXACT + points, None, 3 + game.players * (2 * most + 1))


@implements(OhHell)
def how_to_play(game):
    number = f"{game.tricks}" if game.tricks else f"1 to {_most_tricks(game)} (chance draws how many)"
    pay = f"Each trick pays {game.points_per_trick}, and an exact bid {_EXACT} more."
    if game.off_bid_penalty == 1:
        pay = f"An exact bid pays {_EXACT}, and {game.points_per_trick} for each trick; "
        pay += f"a wrong one costs {game.points_per_trick} for each trick that it is off."
    letters = " ".join(suit_letters(game)[: game.suits])
    cards = f"{_num_cards(game)} cards, {game.suits} suits from 2 up to {RANKS[game.ranks - 1]}"
    return f"""{game.players} seats get {number} of {cards}.
One more card is turned up; its suit is trumps.
From the dealer's left on, each seat bids how many tricks it will take: `bid 1`, or the number alone.
The dealer bids last, and may not make the bids add up to the number of tricks.
The seat after the dealer leads. Play a card: `{card_text(game, 0)}`, suits {letters}. Follow the suit led if you can.
The highest trump takes the trick, otherwise the highest card of the suit led; the winner leads next.
{pay}"""


@implements(OhHell)
def why_not(game, world, action):
    bid, most = action - _num_cards(game), int(get(world, _tricks(game)))
    if bid < 0 or get(world, PHASE) != BID:
        return showing.why_not(game, world, action)
    if bid > most:
        return f"there {'is' if most == 1 else 'are'} only {most} trick{'s' * (most > 1)} to take"
    return _forbidden_bid(game, world)


def _forbidden_bid(game: OhHell, world: World) -> str:
    """What the mover may not bid as the dealer, and why; empty if it may bid anything."""
    most = get(world, _tricks(game))
    left = most - sum(max(get(world, _bid(game, seat)) - 1, 0) for seat in range(game.players))
    if get(world, PHASE) != BID or get(world, MOVER) != get(world, _dealer(game)) or left < 0:
        return ""
    return f"you bid last and may not bid {left}: the bids would add up to the number of tricks, {most}"


@implements(OhHell)
def action_names(game, world, action):
    phase = get(world, PHASE)
    if phase >= BID:
        bid = action - _num_cards(game)
        return showing.bid_names(bid) if bid >= 0 else card_names(game, action)
    if phase == DEAL:
        return showing.deal_names(game, action)
    if get(world, _tricks(game)) == 0:
        return (f"{action} tricks", str(action))
    return (f"dealer {action}", str(action))


def _situation(game: OhHell, world: World, viewer: int) -> str:
    """The public facts beside the table: the number of tricks, the dealer, the card turned up and the bids."""
    phase = get(world, PHASE)
    if phase <= DEAL:
        drawn = get(world, _tricks(game))
        dealer = f", dealer {who(get(world, _dealer(game)), viewer)}" if phase == DEAL else ""
        return f"{drawn or 'number of'} tricks{dealer}" + ("" if drawn else " not drawn yet")
    turned, dealer = card_text(game, get(world, _turned(game))), who(get(world, _dealer(game)), viewer)
    bids = showing.bids_by_seat(get(world, _bid(game, seat)) - 1 for seat in range(game.players))
    trumps = showing.suit_name(game, suit_of(game, get(world, _turned(game))))
    forbidden = _forbidden_bid(game, world) if viewer == get(world, MOVER) else ""
    lines = [f"{get(world, _tricks(game))} tricks, dealer {dealer}, {turned} turned: {trumps} are trumps", bids]
    return "\n".join([*lines, forbidden] if forbidden else lines)


@implements(OhHell)
def board(game, world):
    return showing.board_text(game, world, _situation(game, world, tricks.NONE))


@implements(OhHell)
def view(game, world, seat):
    return showing.view_text(game, world, seat, _situation(game, world, seat))


@implements(OhHell)
def drawing(game, world, seat):
    phase, dealer = get(world, PHASE), get(world, _dealer(game))

    def facts(one: int) -> list[str]:
        bid = [drawn.bid_and_tricks(get(world, _bid(game, one)) - 1, taken(world, one))] if phase > DEAL else []
        more = [*(["dealer"] if one == dealer and phase >= DEAL else []), *drawn.voids(game, world, one)]
        return [*bid, ", ".join(more)]

    head = [_situation(game, world, tricks.NONE if seat is None else seat).splitlines()[0]]
    turned = get(world, _turned(game)) if phase > DEAL else None
    return drawn.trick_drawing(game, world, seat, facts, head, turned)


@implements(OhHell)
def observation_text(game, before, action, after, viewer):
    observation = observe(game, before, action, after, viewer)
    kind = codes.kind_of(observation)
    if kind == _TRICKS_DRAWN:
        return f"{action} tricks"
    if kind == _DEALER_DRAWN:
        return f"dealer {who(action, viewer)}"
    return showing.seen_text(game, observation, viewer)
