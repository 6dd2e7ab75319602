"""Small trick-taking games with rules drawn at random: one class, its parameters choose the rules.

world   as `foglight.cards.tricks` says; own word 0: the fields below; own words 1-4: what each seat has laid down
action  the card, counted rank by rank; bids, and cards laid down in phase BID, from the number of cards on
"""

from typing import Annotated, NamedTuple

from numpy import int64, uint64

from foglight import bits
from foglight.bits import get, put
from foglight.cards import codes, tricks
from foglight.cards.codes import seen
from foglight.cards.deck import card_names, stripe
from foglight.cards.tricks import BID, DEAL, DEALT, MOVER, NONE, PASS, PHASE, PLACED, PLAY, enter, first_own_word, hand
from foglight.compile import implements, jitable
from foglight.names import Between
from foglight.rules import NOTHING, PUBLIC, game

FOLLOW, TRUMP, HEAD, ANYTHING = range(4)  # follow: must follow; or else trump; and head the trick; no obligation
FREE, BROKEN, FEW_OTHERS, TWO_TRUMPS, FIRST_TRICK = range(5)  # lead: when trumps may be led
DOWN, LEFT, ACROSS, RIGHT, AT_ONCE, LOW_ONLY, SUIT_TOLD = range(7)  # goes: where cards laid down go
NO_BIDS, OPEN_BIDS, SECRET_BIDS, HELD_BIDS = range(4)  # bids; the last: 1 only with a card of the highest rank
SEAT_0, MUST_LEAD_LOWEST, HAS_LOWEST = range(3)  # leader
_HAS_BID, _LAYS, _LAID, _GETS = range(codes.FIRST_OWN_KIND, codes.FIRST_OWN_KIND + 4)


@game
@tricks.trick_taking
class AnyCards(NamedTuple):
    players: Annotated[int, Between(2, 4)] = 2
    suits: Annotated[int, Between(1, 4)] = 2
    ranks: Annotated[int, Between(2, 13)] = 3
    size: Annotated[int, Between(1, 13)] = 2  # cards dealt to each seat
    widow: Annotated[int, Between(0, 2)] = 0  # cards dealt face down to nobody
    turned: Annotated[int, Between(0, 1)] = 0  # a card turned up, whose suit is trumps; else the last suit is
    trumps: Annotated[int, Between(0, 1)] = 1  # whether there are trumps
    look: Annotated[int, Between(0, 1)] = 0  # 1: cards are seen one by one
    follow: Annotated[int, Between(0, 3)] = FOLLOW
    lead: Annotated[int, Between(0, 4)] = FREE
    laid: Annotated[int, Between(0, 3)] = 0  # cards that each seat lays down
    phase: Annotated[int, Between(2, 3)] = PASS  # in which it does
    goes: Annotated[int, Between(0, 6)] = DOWN
    noticed: Annotated[int, Between(0, 1)] = 0  # whether others notice that a seat lays down a card, or bids in secret
    bids: Annotated[int, Between(0, 3)] = NO_BIDS
    bids_last: Annotated[int, Between(0, 1)] = 0  # after cards are laid down
    leader: Annotated[int, Between(0, 2)] = SEAT_0


@jitable
def _cards(game):
    return game.suits * game.ranks


@implements(AnyCards)
def num_players(game):
    return game.players


@implements(AnyCards)
def num_words(game):
    return first_own_word(game) + 5


@implements(AnyCards)
def num_actions(game):
    return 2 * _cards(game) + 2


@implements(AnyCards)
def max_legal(game):
    return max(_cards(game), 2)


@implements(AnyCards)
def first_bid(game):
    return _cards(game)


@implements(AnyCards)
def num_suits(game):
    return game.suits


@implements(AnyCards)
def suit_of(game, card):
    return int64(uint64(card) % uint64(game.suits))


@implements(AnyCards)
def suit_cards(game, suit):
    return stripe(game.suits, game.ranks, suit)


@implements(AnyCards)
def hand_size(game, world):
    return game.size if game.look == 0 else 0


@jitable
def _trump_suit(game):
    return (first_own_word(game), 0, 3)


@jitable
def _bid(game, seat):
    """The bid plus one."""
    return (first_own_word(game), 8 + 2 * seat, 2)


@jitable
def _broken(game):
    return (first_own_word(game), 20, 1)


@jitable
def _laid_by(game, world, seat):
    return world[first_own_word(game) + 1 + seat]


@implements(AnyCards)
def trumps(game, world):
    return suit_cards(game, get(world, _trump_suit(game))) if game.trumps == 1 else uint64(0)


@jitable
def _or(cards, wanted):
    """Those that are wanted, or all if there are none."""
    return cards & wanted if cards & wanted != uint64(0) else cards


@jitable
def _beating(game, world):
    """All cards that would beat the best one on the table."""
    found, best = uint64(0), get(world, tricks.BEST_CARD)
    led = suit_cards(game, get(world, tricks.LED_SUIT))
    for card in range(_cards(game)):
        if tricks.beats(trumps(game, world), led, card, best):
            found |= bits.bit(card)
    return found


@implements(AnyCards)
def playable(game, world):
    cards = hand(game, world, get(world, MOVER))
    if get(world, PLACED) == 0:
        return _leadable(game, world, cards)
    if game.follow == ANYTHING:
        return cards
    following = cards & suit_cards(game, get(world, tricks.LED_SUIT))
    if following != uint64(0):
        return _or(following, _beating(game, world)) if game.follow == HEAD else following
    if game.follow == FOLLOW:
        return cards
    high = _or(cards & trumps(game, world), _beating(game, world))
    return cards if high == uint64(0) else high if game.follow == HEAD else cards & trumps(game, world)


@jitable
def _leadable(game, world, cards):
    first = get(world, tricks.TRICKS_PLAYED) == 0
    if first and game.leader == MUST_LEAD_LOWEST:
        return _or(cards, bits.bit(0))
    trump_cards = trumps(game, world)
    others = cards & ~trump_cards
    if game.lead == BROKEN and get(world, _broken(game)) == 0:
        return _or(cards, ~trump_cards)
    if game.lead == FEW_OTHERS and bits.count(others) >= 2:
        return others
    if game.lead == TWO_TRUMPS and bits.count(cards & trump_cards) < 2:
        return _or(cards, ~trump_cards)
    if game.lead == FIRST_TRICK and first:
        return _or(cards, ~trump_cards)
    return cards


@implements(AnyCards)
def hides_only_cards(game):
    if game.laid > 0 and game.goes in (AT_ONCE, LOW_ONLY, SUIT_TOLD):
        return False
    all_dealt = game.players * game.size == _cards(game) and (game.laid == 0 or game.goes != DOWN)
    return game.bids != HELD_BIDS and game.leader != HAS_LOWEST and (game.leader == SEAT_0 or all_dealt)


@implements(AnyCards)
def playable_by_pairs(game):
    return game.lead not in (FEW_OTHERS, TWO_TRUMPS)


@implements(AnyCards)
def opening_card(game):
    return 0 if game.leader == MUST_LEAD_LOWEST else NONE


@implements(AnyCards)
def begin(game, world):
    put(world, _trump_suit(game), game.suits - 1)
    tricks.start_deal(world, bits.first_bits(_cards(game)))


@implements(AnyCards)
def step(game, world, action):
    phase, seat = get(world, PHASE), get(world, MOVER)
    if phase == PLAY:
        if bits.has(trumps(game, world), action):
            put(world, _broken(game), 1)
        tricks.play_card(game, world, action)
    elif phase == DEAL:
        _deal(game, world, action)
    elif _is_bidding(game, world):
        put(world, _bid(game, seat), action - _cards(game) + 1)
        _next(game, world)
    else:
        _lay(game, world, seat, action - _cards(game) if phase == BID else action)
        _next(game, world)


@jitable
def _deal(game, world, card):
    dealt, hands = get(world, DEALT), game.players * game.size
    if dealt < hands:
        tricks.deal_card(game, world, card)
    else:
        tricks.offer(world, world[4] ^ bits.bit(card))
        put(world, DEALT, dealt + 1)
        if dealt >= hands + game.widow:
            put(world, _trump_suit(game), suit_of(game, card))
    if dealt + 1 == hands + game.widow + game.turned:
        _next(game, world)


@jitable
def _is_bidding(game, world):
    return get(world, PHASE) == BID and bits.has(world[first_own_word(game)], 24)


@jitable
def _next(game, world):
    """Who does what next before play."""
    for stage in range(2):
        if (stage == 0) == (game.bids_last == 0):
            for seat in range(game.players if game.bids != NO_BIDS else 0):
                if get(world, _bid(game, seat)) == 0:
                    world[first_own_word(game)] |= bits.bit(24)
                    enter(world, BID, seat)
                    high = hand(game, world, seat) >> uint64(_cards(game) - game.suits) != uint64(0)
                    tricks.offer(world, bits.first_bits(2 if game.bids != HELD_BIDS or high else 1))
                    return
        else:
            for seat in range(game.players):
                if bits.count(_laid_by(game, world, seat)) < game.laid:
                    world[first_own_word(game)] &= ~bits.bit(24)
                    enter(world, game.phase, seat)
                    cards = hand(game, world, seat)
                    tricks.offer(
                        world, _or(cards, bits.first_bits(_cards(game) // 2)) if game.goes == LOW_ONLY else cards
                    )
                    return
    leader = 0
    if game.leader != SEAT_0:
        for seat in range(game.players):
            if bits.has(hand(game, world, seat), 0):
                leader = seat
    tricks.start_play(world, leader)


@jitable
def _receiver(game, seat):
    shift = (
        1
        if game.goes == LEFT or game.goes == AT_ONCE
        else game.players - 1
        if game.goes == RIGHT
        else game.players // 2
    )
    return (seat + shift) % game.players


@jitable
def _passes(game):
    return game.laid > 0 and (game.goes >= LEFT) and (game.goes <= AT_ONCE)


@jitable
def _all_laid(game, world):
    fewest = game.laid
    for seat in range(game.players):
        fewest = min(fewest, bits.count(_laid_by(game, world, seat)))
    return fewest == game.laid


@jitable
def _lay(game, world, seat, card):
    tricks.set_hand(game, world, seat, hand(game, world, seat) & ~bits.bit(card))
    world[first_own_word(game) + 1 + seat] |= bits.bit(card)
    if not _passes(game):
        return
    if game.goes == AT_ONCE:
        to = _receiver(game, seat)
        tricks.set_hand(game, world, to, hand(game, world, to) | bits.bit(card))
    elif _all_laid(game, world):
        for giver in range(game.players):
            to = _receiver(game, giver)
            tricks.set_hand(game, world, to, hand(game, world, to) | _laid_by(game, world, giver))


@implements(AnyCards)
def observe(game, before, action, after, viewer):
    phase, seat = get(before, PHASE), get(before, MOVER)
    if phase == PLAY:
        return seen(codes.PLAYS, seat, action)
    if phase == DEAL:
        if get(before, DEALT) >= game.players * game.size + game.widow:
            return seen(codes.TURNED, 0, action)
        if get(before, DEALT) >= game.players * game.size:
            return NOTHING
        return (
            codes.seen_card(before, action, viewer) if game.look == 1 else codes.seen_deal(game, before, after, viewer)
        )
    if _is_bidding(game, before):
        if game.bids != SECRET_BIDS or viewer == seat:
            return seen(codes.BIDS, seat, action - _cards(game))
        return seen(_HAS_BID, seat, 0) if game.noticed == 1 else NOTHING
    card = action - _cards(game) if phase == BID else action
    code = seen(_LAYS, seat, card) if viewer == seat else seen(_LAID, seat, 0) if game.noticed == 1 else NOTHING
    if game.goes == SUIT_TOLD and viewer != seat:
        return seen(_LAID, seat, suit_of(game, card))
    if not _passes(game):
        return code
    if game.goes == AT_ONCE:
        return seen(_GETS, seat, 0) | int64(card) << codes.EXTRA if viewer == _receiver(game, seat) else code
    if not _all_laid(game, after):
        return code
    if viewer == PUBLIC:
        return seen(_GETS, 0, 0)
    got = uint64(0)
    for giver in range(game.players):
        if _receiver(game, giver) == viewer:
            got = _laid_by(game, after, giver)
    packed = 0
    for i in range(game.laid):
        packed |= bits.lowest(got) << 6 * i
        got = bits.without_lowest(got)
    return (code if viewer == seat else seen(_GETS, 0, 0)) | packed << codes.EXTRA


@implements(AnyCards)
def returns(game, world, out):
    for seat in range(game.players):
        out[seat] = tricks.taken(world, seat)


@implements(AnyCards)
def title(game):
    return "cards with rules drawn at random"


@implements(AnyCards)
def action_names(game, world, action):
    return card_names(game, action % _cards(game)) if get(world, PHASE) != BID else (str(action),)


def random_rules(rng, promised=None):
    """A game with rules drawn at random, small enough to hold all its worlds."""
    from foglight.worlds.deals.cards import worlds_in_layers

    while True:
        players, suits, ranks = rng.randrange(2, 5), rng.randrange(1, 4), rng.randrange(2, 5)
        drawn = AnyCards(
            players,
            suits,
            ranks,
            rng.randrange(1, 4),
            rng.choice([0, 0, 0, 1]),
            rng.choice([0, 0, 1]),
            rng.choice([0, 1, 1]),
            rng.choice([0, 0, 1]),
            rng.randrange(4),
            rng.randrange(5),
            rng.choice([0, 0, 1, 1, 2]),
            rng.choice([BID, PASS]),
            rng.choice([DOWN, DOWN, LEFT, ACROSS, RIGHT, AT_ONCE, LOW_ONLY, SUIT_TOLD]),
            rng.randrange(2),
            rng.choice([NO_BIDS, NO_BIDS, OPEN_BIDS, SECRET_BIDS, HELD_BIDS]),
            rng.randrange(2),
            rng.choice([SEAT_0, SEAT_0, MUST_LEAD_LOWEST, HAS_LOWEST]),
        )
        dealt, down = (
            drawn.players * drawn.size + drawn.widow + drawn.turned,
            drawn.laid if drawn.goes not in range(1, 5) else 0,
        )
        if dealt > suits * ranks or drawn.laid > drawn.size or down >= drawn.size:
            continue
        if promised is not None and bool(hides_only_cards(drawn)) != promised:
            continue
        if 20 < worlds_in_layers(drawn) < 500:
            return drawn
