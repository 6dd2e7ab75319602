"""Goofspiel [Ross1971]: both seats bid one card of equal hands for each prize card; the higher bid takes it.

After equal bids neither seat gets the prize. Bids are made in turn but unseen, as in OpenSpiel's turn-based
`goofspiel`; the last cards are bid automatically. With imperfect information the seats learn who took each prize; with
perfect information they also learn the bids. The seat with more points at the end wins 1 from the other.

world   word 0: bits 0-14 and 16-30 the hands of seats 0 and 1, 32-46 the prizes to come, 48-51 the prize on the table
        (0: none), 52-55 the bid of seat 0 (0: none); word 1: bits 0-7 and 8-15 the points of seats 0 and 1
action  the card bid, counted from 0: action 3 is "bid 4"; chance: the prize, likewise
observe each seat its own bid; everybody that seat 0 has bid, the result of each round (also of the last, automatic one)
        and each prize turned up
"""

from typing import Annotated, NamedTuple

from numpy import uint64

from foglight import bits
from foglight.bits import get, put
from foglight.compile import constants, implements, jitable
from foglight.drawing import layouts
from foglight.drawing.layouts import CARD, back, drawing_title, finished, line, slot
from foglight.drawing.model import Item
from foglight.names import Between, OneOf
from foglight.randomness import below
from foglight.rules import CHANCE, PUBLIC, TERMINAL, Bounds, World, game

DESCENDING, ASCENDING, RANDOM = 0, 1, 2
IMPERFECT, PERFECT = 0, 1

_MOST = 15
_HANDS = ((0, 0, 15), (0, 16, 15))
_DECK, _PRIZE, _BID = (0, 32, 15), (0, 48, 4), (0, 52, 4)
_POINTS = ((1, 0, 8), (1, 8, 8))
_TIE = 3  # results of a round: 1 + the seat that takes the prize, or a tie


@game
@constants(
    num_players=2,
    num_words=2,
    title="bid cards for prizes, 2 to 15 of them; bids stay hidden",
)
class Goofspiel(NamedTuple):
    cards: Annotated[int, "of each seat, and prizes", Between(2, _MOST)] = 13
    order: Annotated[int, "of prizes", OneOf("descending", "ascending", "random")] = DESCENDING
    information: Annotated[int, "perfect: bids are shown after each round", OneOf("imperfect", "perfect")] = IMPERFECT


@implements(Goofspiel)
def num_actions(game):
    return game.cards


@implements(Goofspiel)
def begin(game, world):
    cards = bits.first_bits(game.cards)
    put(world, _HANDS[0], cards)
    put(world, _HANDS[1], cards)
    put(world, _DECK, cards)
    _turn_prize(game, world)


@jitable
def _turn_prize(game, world):
    """Turn up the next prize, unless chance draws it."""
    deck = get(world, _DECK)
    last = bits.count(deck) == 1
    put(world, _PRIZE, 0)
    if game.order == ASCENDING or last:
        _take_prize(world, bits.lowest(deck))
    elif game.order == DESCENDING:
        _take_prize(world, bits.nth(uint64(deck), bits.count(deck) - 1))


@jitable
def _take_prize(world, card):
    put(world, _DECK, get(world, _DECK) & ~(1 << card))
    put(world, _PRIZE, card + 1)


@implements(Goofspiel)
def player(game, world):
    if get(world, _HANDS[0]) == 0:
        return TERMINAL
    if get(world, _PRIZE) == 0:
        return CHANCE
    return 0 if get(world, _BID) == 0 else 1


@jitable
def _choices(game, world):
    if get(world, _PRIZE) == 0:
        return uint64(get(world, _DECK))
    return uint64(get(world, _HANDS[0]) if get(world, _BID) == 0 else get(world, _HANDS[1]))


@implements(Goofspiel)
def legal(game, world, out):
    return bits.members(_choices(game, world), out)


@implements(Goofspiel)
def chance(game, world, out, odds):
    n = bits.members(_choices(game, world), out)
    odds[:n] = 1.0 / n
    return n


@implements(Goofspiel)
def legal_bits(game, world, actions, out):
    out[0] = _choices(game, world)


@implements(Goofspiel)
def pick(game, world, random, out):
    choices = _choices(game, world)
    return bits.nth(choices, below(random, bits.count(choices)))


@implements(Goofspiel)
def step(game, world, action):
    if get(world, _PRIZE) == 0:
        _take_prize(world, action)
    elif get(world, _BID) == 0:
        put(world, _BID, action + 1)
    else:
        _settle(world, get(world, _BID) - 1, action)
        put(world, _BID, 0)
        _turn_prize(game, world)
        if bits.count(get(world, _HANDS[0])) == 1:
            _settle(world, bits.lowest(get(world, _HANDS[0])), bits.lowest(get(world, _HANDS[1])))


@jitable
def _settle(world, first, second):
    """Remove both bids from the hands, and give the points of the prize to the higher bid."""
    put(world, _HANDS[0], get(world, _HANDS[0]) & ~(1 << first))
    put(world, _HANDS[1], get(world, _HANDS[1]) & ~(1 << second))
    prize = get(world, _PRIZE)
    if first > second:
        put(world, _POINTS[0], get(world, _POINTS[0]) + prize)
    elif second > first:
        put(world, _POINTS[1], get(world, _POINTS[1]) + prize)


@jitable
def _outcome(first, second):
    return _TIE if first == second else (1 if first > second else 2)


@jitable
def _last_outcome(before, first, second, after):
    """The result of the automatic last round, if it follows these bids; otherwise 0."""
    if get(after, _HANDS[0]) != 0:
        return 0
    mine = bits.lowest(get(before, _HANDS[0]) & ~(1 << first))
    theirs = bits.lowest(get(before, _HANDS[1]) & ~(1 << second))
    return _outcome(mine, theirs)


@implements(Goofspiel)
def observe(game, before, action, after, viewer):
    # bits 0-1 the round, 2-3 the last round, 4-8 and 9-13 the bids plus one, 14-18 the prize turned plus one; plus one
    if get(before, _PRIZE) == 0:
        return 1 + ((action + 1) << 14)
    first = get(before, _BID) - 1
    if first < 0:
        return 1 + ((action + 1) << 4 if viewer == 0 else 0)
    seen = _outcome(first, action) | _last_outcome(before, first, action, after) << 2
    if viewer == 1 or game.information == PERFECT:
        seen |= (action + 1) << 9
    if game.information == PERFECT:
        seen |= (first + 1) << 4
    return 1 + seen


@implements(Goofspiel)
def returns(game, world, out):
    first, second = get(world, _POINTS[0]), get(world, _POINTS[1])
    out[0] = 0.0 if first == second else (1.0 if first > second else -1.0)
    out[1] = -out[0]


@implements(Goofspiel)
def public_features(game, world, out):
    # the prize, prizes to come, whether seat 0 has bid, and by how much it leads: of all points, of those to come
    lead, left = get(world, _POINTS[0]) - get(world, _POINTS[1]), get(world, _PRIZE)
    for card in range(game.cards):
        out[card] = get(world, _PRIZE) == card + 1
        to_come = get(world, _DECK) >> card & 1
        out[game.cards + card] = to_come
        left += to_come * (card + 1)
    out[2 * game.cards] = get(world, _BID) != 0
    out[2 * game.cards + 1] = 2.0 * lead / (game.cards * (game.cards + 1))
    out[2 * game.cards + 2] = min(max(lead / max(left, 1), -1.5), 1.5)
    return 2 * game.cards + 3


@implements(Goofspiel)
def private_features(game, world, seat, out):
    # the cards left, and the card bid
    hand = get(world, _HANDS[seat])
    for card in range(game.cards):
        out[card] = hand >> card & 1
        out[game.cards + card] = seat == 0 and get(world, _BID) == card + 1
    return 2 * game.cards


@implements(Goofspiel)
def observation_bits(game):
    return 20


@implements(Goofspiel)
def bounds(game):
    return Bounds(-1.0, 1.0, 0.0, 3 * game.cards)


@implements(Goofspiel)
def how_to_play(game):
    order = ("from the highest down", "from the lowest up", "in random order")[game.order]
    shown = "who took it, but not the bids" if game.information == IMPERFECT else "the bids"
    return f"""Both seats hold the cards 1 to {game.cards}. As many prizes, 1 to {game.cards}, are turned up {order}.
For each prize both bid a card, unseen: `bid {game.cards}`, or the number alone. Each card is bid once.
The higher bid takes the prize and its points; after equal bids nobody does.
Then both learn {shown}. The last cards are bid by themselves.
Whoever has more points wins 1 from the other."""


@implements(Goofspiel)
def why_not(game, world, action):
    return f"you have bid {action + 1} already; your cards are {_hand(world, player(game, world))}"


@implements(Goofspiel)
def action_names(game, world, action):
    if player(game, world) == CHANCE:
        return (f"prize {action + 1}", str(action + 1))
    return (f"bid {action + 1}", str(action + 1))


def _hand(world: World, seat: int) -> str:
    hand = get(world, _HANDS[seat])
    return " ".join(str(i + 1) for i in range(_MOST) if hand >> i & 1) or "empty"


def _table(world: World) -> str:
    prize = f"prize {get(world, _PRIZE)}" if get(world, _PRIZE) and get(world, _HANDS[0]) else "no prize on the table"
    return f"{prize}, points {get(world, _POINTS[0])} to {get(world, _POINTS[1])}"


@implements(Goofspiel)
def places(game):
    return [f"{card + 1}" for card in range(game.cards)], 0


@implements(Goofspiel)
def contents(game, world):
    hands = get(world, _HANDS[0]), get(world, _HANDS[1])
    names = (".", "seat 0", "seat 1", "both")
    return [names[(hands[0] >> i & 1) + 2 * (hands[1] >> i & 1)] for i in range(game.cards)]


@implements(Goofspiel)
def board(game, world):
    bid = f", seat 0 bids {get(world, _BID)}" if get(world, _BID) else ""
    return f"{_table(world)}{bid}\nseat 0: {_hand(world, 0)}\nseat 1: {_hand(world, 1)}"


@implements(Goofspiel)
def view(game, world, seat):
    lines = [f"you are seat {seat}, {_table(world)}", f"your hand: {_hand(world, seat)}"]
    if get(world, _BID) and seat == 0:
        lines.append(f"you bid {get(world, _BID)}")
    if game.information == PERFECT:
        lines.append(f"their hand: {_hand(world, 1 - seat)}")
    return "\n".join(lines)


@implements(Goofspiel)
def drawing(game, world, seat):
    prize, bid, left = get(world, _PRIZE), get(world, _BID), 110.0
    playing = prize and get(world, _HANDS[0])
    items = [line(0.0, CARD[1] / 2, "prize", "head")]
    items.append(
        layouts.card(left, 0.0, str(prize), f"prize {prize}", role="best") if playing else slot(left, 0.0, "no prize")
    )
    for one in range(2):
        y, hand = (one + 1) * (CARD[1] + 14), get(world, _HANDS[one])
        items.append(line(0.0, y + 16, f"seat {one}" + (" (you)" if one == seat else ""), "head"))
        items.append(line(0.0, y + 34, f"{get(world, _POINTS[one])} points"))
        cards = [i for i in range(game.cards) if hand >> i & 1]
        if seat in (None, one) or game.information == PERFECT:
            clicks = seat in (None, one)
            items += [
                layouts.card(left + (CARD[0] + 4) * i, y, str(n + 1), actions=(n,) if clicks else ())
                for i, n in enumerate(cards)
            ]
        else:
            items += [back(left + (CARD[0] + 4) * i, y) for i in range(len(cards))]
        if one == 0 and bid:
            x = left + (CARD[0] + 4) * (game.cards + 0.5)
            shown = layouts.card(x, y, str(bid), f"the bid of seat 0: {bid}", role="best")
            items.append(shown if seat in (None, 0) else back(x, y, "the bid of seat 0, face down"))
            items.append(Item("text", x + CARD[0] / 2, y - 7, text="bid", role="label"))
    return finished(items, drawing_title(game, seat))


@implements(Goofspiel)
def observation_text(game, before, action, after, viewer):
    if get(before, _PRIZE) == 0:
        return f"prize {action + 1}"
    first = get(before, _BID) - 1
    if first < 0:
        return f"you bid {action + 1}" if viewer == 0 else "seat 0 bids"
    bids = [f"you bid {action + 1}"] if viewer == 1 else []
    if game.information == PERFECT:
        bids = [f"bids {first + 1} and {action + 1}"]
    rounds = [_round_text(_outcome(first, action), get(before, _PRIZE), viewer)]
    last = _last_outcome(before, first, action, after)
    if last:
        rounds.append(_round_text(last, get(after, _PRIZE), viewer))
    return " and ".join([*bids, *rounds])


def _round_text(outcome: int, prize: int, viewer: int) -> str:
    if outcome == _TIE:
        return f"nobody takes {prize}"
    seat = outcome - 1
    return f"you take {prize}" if viewer == seat and viewer != PUBLIC else f"seat {seat} takes {prize}"
