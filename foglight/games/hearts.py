"""Hearts: take no hearts and not the queen of spades, or take them all.

The rules are those of OpenSpiel's `hearts`, with its defaults. Chance draws the direction in which three cards are
passed (left, across, right or nowhere) and deals all 52 cards one by one. Seats choose their cards in turn, one by one;
then all passed cards change hands at once. The two of clubs leads. Hearts and the queen of spades are not played to the
first trick, and hearts are not led before one of these cards has been played, unless a seat has nothing else. A heart
counts 1 point, the queen 13. If a seat takes all 26 points, each of the others gets 26 points instead. Payoffs are 26
minus the points.

world   see `foglight.cards.tricks`; own word 0: the fields below, and from bit 8 on 5 bits per seat, its points; own
        words 1-4: the cards that each seat passes, 6 bits per card in the order chosen, and their number from bit 18
action  the card, counted rank by rank (2c 2d 2h 2s 3c ...); chance: first the direction of the pass (0 nowhere, 1 left,
        2 across, 3 right), then cards
observe each seat alone the cards that it is dealt, passes and receives; everybody the direction of the pass, unless it
        is nowhere, when all have passed, and every card played. As in OpenSpiel, all passes become public when the game
        is over
"""

from typing import Annotated, NamedTuple

from numpy import uint64

from foglight import bits
from foglight.bits import get, put
from foglight.cards import codes, drawn, showing, sight, tricks
from foglight.cards.codes import seen
from foglight.cards.deck import card_names, card_text, cards_text, stripe
from foglight.cards.tricks import DEAL, MOVER, OVER, PASS, PHASE, PLAY, SETUP, enter, hand, played, set_hand
from foglight.compile import constants, implements, jitable
from foglight.names import OneOf
from foglight.rules import NOTHING, PUBLIC, Bounds, Game, World, game

_SEATS, _CARDS, _SUITS, _RANKS, _PASSED = 4, 52, 4, 13, 3
_TWO_OF_CLUBS, _QUEEN_OF_SPADES = 0, 43
_HEARTS_SUIT = 2
_HEARTS = uint64(sum(1 << 4 * rank + _HEARTS_SUIT for rank in range(_RANKS)))
_QUEEN = uint64(1 << _QUEEN_OF_SPADES)
_ALL_POINTS, _QUEEN_POINTS = 26, 13
_OWN = 13
_DIRECTION, _BROKEN = (_OWN, 0, 2), (_OWN, 2, 1)
_DRAWN, _PASSES, _RECEIVED = codes.FIRST_OWN_KIND, codes.FIRST_OWN_KIND + 1, codes.FIRST_OWN_KIND + 2
_DIRECTIONS = ("nowhere", "left", "across", "right")
YES, NO = 0, 1


@game
@constants(
    num_players=_SEATS,
    num_words=_OWN + 1 + _SEATS,
    num_actions=_CARDS,
    num_suits=_SUITS,
    suit_letters="cdhs",
    hides_only_cards=True,
    playable_by_pairs=True,
    opening_card=_TWO_OF_CLUBS,
    title="avoid hearts and the queen of spades, or take them all; four seats, passing",
)
@tricks.trick_taking
class Hearts(NamedTuple):
    passing: Annotated[int, "whether chance draws a direction in which cards are passed", OneOf("yes", "no")] = YES


@implements(Hearts)
def suit_of(game, card):
    return card & 3


@implements(Hearts)
def suit_cards(game, suit):
    return stripe(_SUITS, _RANKS, suit)


@jitable
def _points(seat):
    return (_OWN, 8 + 5 * seat, 5)


@jitable
def _chosen(seat):
    """The field with the number of cards that a seat has chosen to pass."""
    return (_OWN + 1 + seat, 18, 2)


@jitable
def _choice(seat, i):
    return (_OWN + 1 + seat, 6 * i, 6)


@jitable
def passed_by(world, seat):
    """The cards that a seat has chosen to pass, a set."""
    cards = uint64(0)
    for i in range(get(world, _chosen(seat))):
        cards |= bits.bit(get(world, _choice(seat, i)))
    return cards


# The rules ------------------------------------------------------------------------------------------------------


@implements(Hearts)
def begin(game, world):
    tricks.offer(world, bits.first_bits(4 if game.passing == YES else 1))


@implements(Hearts)
def playable(game, world):
    following = tricks.can_follow(game, world)
    if following != uint64(0):
        return following
    cards, wanted = hand(game, world, get(world, MOVER)), ~uint64(0)
    leads, first = get(world, tricks.PLACED) == 0, get(world, tricks.TRICKS_PLAYED) == 0
    if first and leads:
        wanted = bits.bit(_TWO_OF_CLUBS)
    elif first:
        wanted = ~(_HEARTS | _QUEEN)
    elif leads and get(world, _BROKEN) == 0:
        wanted = ~_HEARTS
    return cards & wanted if cards & wanted != uint64(0) else cards


@implements(Hearts)
def step(game, world, action):
    if get(world, PHASE) == PLAY:
        _play(game, world, action)
    else:
        _prepare(game, world, action)


@jitable
def _prepare(game, world, action):
    """The actions before play: the draw, the deal and the passing."""
    phase = get(world, PHASE)
    if phase == PASS:
        _pass(game, world, action)
    elif phase == SETUP:
        put(world, _DIRECTION, action)
        tricks.start_deal(world, bits.first_bits(_CARDS))
    elif tricks.deal_card(game, world, action) == _CARDS:
        if get(world, _DIRECTION) == 0:
            _start_play(game, world)
        else:
            _start_pass(game, world, 0)


@jitable
def _start_pass(game, world, seat):
    enter(world, PASS, seat)
    tricks.offer(world, hand(game, world, seat))


@jitable
def _start_play(game, world):
    seat = 0
    while not bits.has(hand(game, world, seat), _TWO_OF_CLUBS):
        seat += 1
    tricks.start_play(world, seat)


@jitable
def _pass(game, world, card):
    seat = get(world, MOVER)
    chosen = get(world, _chosen(seat))
    put(world, _choice(seat, chosen), card)
    put(world, _chosen(seat), chosen + 1)
    set_hand(game, world, seat, hand(game, world, seat) ^ bits.bit(card))
    if chosen + 1 < _PASSED or seat + 1 < _SEATS:
        _start_pass(game, world, seat if chosen + 1 < _PASSED else seat + 1)
        return
    for giver in range(_SEATS):
        receiver = (giver + get(world, _DIRECTION)) & 3
        set_hand(game, world, receiver, hand(game, world, receiver) | passed_by(world, giver))
    _start_play(game, world)


@jitable
def _play(game, world, card):
    seat, leads = get(world, MOVER), get(world, tricks.PLACED) == 0
    if bits.has(_HEARTS, card) and leads and get(world, _BROKEN) == 0:
        for suit in range(_SUITS):
            if suit != _HEARTS_SUIT:
                tricks.show_void(world, seat, suit)  # hearts not broken are led by a seat that has nothing else
    if bits.has(_HEARTS | _QUEEN, card):
        put(world, _BROKEN, 1)
    winner = tricks.play_card(game, world, card)
    if winner != tricks.NONE:
        put(world, _points(winner), get(world, _points(winner)) + _worth(tricks.table(world)))


@jitable
def _worth(cards):
    """The points of a set of cards."""
    return bits.count(cards & _HEARTS) + (_QUEEN_POINTS if cards & _QUEEN != uint64(0) else 0)


@implements(Hearts)
def observe(game, before, action, after, viewer):
    phase, seat = get(before, PHASE), get(before, MOVER)
    if phase == PLAY:
        return seen(codes.PLAYS, seat, action) | _all_passes(game, after) << codes.EXTRA
    if phase == DEAL:
        return codes.seen_card(before, action, viewer)
    if phase == SETUP:
        return seen(_DRAWN, 0, action) if action != 0 else NOTHING
    own = seen(_PASSES, seat, action) if viewer == seat else NOTHING
    if get(after, PHASE) == PASS:
        return own
    if viewer == PUBLIC:
        return seen(_RECEIVED, 0, 0)
    received = _packed(passed_by(after, (viewer - get(after, _DIRECTION)) & 3))
    return (own if viewer == seat else seen(_RECEIVED, 0, 0)) | received << codes.EXTRA


@jitable
def _packed(cards):
    """Three cards in 18 bits, ascending."""
    code = 0
    for i in range(_PASSED):
        code |= bits.lowest(cards) << 6 * i
        cards = bits.without_lowest(cards)
    return code


@jitable
def _all_passes(game, world):
    """All passed cards, once the game is over: for each card its rank among the 13 cards that the receiver played."""
    if get(world, PHASE) != OVER or get(world, _DIRECTION) == 0:
        return 0
    code = 0
    for seat in range(_SEATS):
        receiver = (seat + get(world, _DIRECTION)) & 3
        for i in range(_PASSED):
            lower = bits.first_bits(get(world, _choice(seat, i))) & played(game, world, receiver)
            code = code << 4 | bits.count(lower)
    return code


@implements(Hearts)
def returns(game, world, out):
    moon = False
    for seat in range(_SEATS):
        moon |= get(world, _points(seat)) == _ALL_POINTS
    for seat in range(_SEATS):
        points = get(world, _points(seat))
        out[seat] = points if moon else _ALL_POINTS - points  # after a moon, 26 for the shooter and 0 for the others


@implements(Hearts)
def num_sight_features(game):
    return sight.size(game) + 2 * _CARDS + _SEATS + 4


@implements(Hearts)
def sight_features(game, world, seat, out):
    # hands and tricks, the cards passed and received, the points, the direction of the pass, whether hearts are broken
    at, direction = sight.write(game, world, seat, out), get(world, _DIRECTION)
    sight.write_cards(game, passed_by(world, seat), out[at:])
    if get(world, PHASE) > PASS and direction != 0:
        sight.write_cards(game, passed_by(world, (seat - direction) & 3), out[at + _CARDS :])
    at += 2 * _CARDS
    for i in range(_SEATS):
        out[at + i] = get(world, _points(sight.after(game, seat, i))) / _ALL_POINTS
        out[at + _SEATS + i] = i > 0 and direction == i
    out[at + _SEATS] = get(world, _BROKEN)  # the direction nowhere is the absence of the others


# For people -----------------------------------------------------------------------------------------------------


@implements(Hearts)
def bounds(game):
    return Bounds(0.0, float(_ALL_POINTS), None, 1 + 2 * _CARDS + _SEATS * _PASSED)


@implements(Hearts)
def how_to_play(game):
    passing = (
        "Chance draws a direction, left, across, right or nowhere; pass three cards that way, one by one: `pass 2c`."
    )
    if game.passing == NO:
        passing = "No cards are passed."
    return f"""Four seats with 13 cards each. Each heart that you take is 1 point, the queen of spades 13. No trumps.
{passing}
The two of clubs leads. Play a card: `2c`, suits c d h s. Follow the suit led if you can.
The highest card of the suit led takes the trick; the winner leads next.
Hearts and the queen of spades are not played to the first trick; hearts are not led before one of these cards has
been played. If you hold nothing else, both are allowed.
You get 26 less your points. If a seat takes all 26 points, it gets 26 and the others nothing."""


@implements(Hearts)
def why_not(game, world, action):
    reason = showing.why_not(game, world, action)
    if reason:
        return reason
    if get(world, tricks.TRICKS_PLAYED) > 0:
        return "hearts are not led before a heart or the queen of spades has been played"
    if get(world, tricks.PLACED) == 0:
        return "the two of clubs leads to the first trick"
    return "hearts and the queen of spades are not played to the first trick"


@implements(Hearts)
def action_names(game, world, action):
    phase = get(world, PHASE)
    if phase == SETUP:
        return (f"pass {_DIRECTIONS[action]}", _DIRECTIONS[action])
    if phase == DEAL:
        return showing.deal_names(game, action)
    names = card_names(game, action)
    return (f"pass {names[0]}", *names) if phase == PASS else names


def _situation(world: World) -> str:
    direction = get(world, _DIRECTION)  # the direction "nowhere" is not observed
    where = f"passing {_DIRECTIONS[direction]}, " if direction else ""
    return where + showing.by_seat("points", (get(world, _points(seat)) for seat in range(_SEATS)))


@implements(Hearts)
def board(game, world):
    passes = [
        f"seat {seat} passes {cards_text(game, passed_by(world, seat))}"
        for seat in range(_SEATS)
        if get(world, _chosen(seat))
    ]
    return showing.board_text(game, world, _situation(world), *passes)


@implements(Hearts)
def view(game, world, seat):
    lines = [_situation(world)]
    if get(world, _chosen(seat)):
        lines.append(f"you pass {cards_text(game, passed_by(world, seat))}")
    if get(world, PHASE) >= PLAY and get(world, _DIRECTION):
        giver = (seat - get(world, _DIRECTION)) & 3
        lines.append(f"you get {cards_text(game, passed_by(world, giver))} from seat {giver}")
    return showing.view_text(game, world, seat, *lines)


@implements(Hearts)
def drawing(game, world, seat):
    def facts(one: int) -> list[str]:
        said = [f"{get(world, _points(one))} points", *drawn.voids(game, world, one)]
        passes = cards_text(game, passed_by(world, one))
        return [*said, f"passes {passes}"] if seat in (None, one) and get(world, _chosen(one)) else said

    direction = get(world, _DIRECTION)  # the direction "nowhere" is not observed
    head = [f"passing {_DIRECTIONS[direction]}" if direction else "hearts and the queen of spades count"]
    return drawn.trick_drawing(game, world, seat, facts, head, full=_RANKS)


@implements(Hearts)
def observation_text(game, before, action, after, viewer):
    observation = observe(game, before, action, after, viewer)
    kind = codes.kind_of(observation)
    if kind == _DRAWN:
        return f"passing {_DIRECTIONS[action]}"
    if kind == codes.PLAYS and get(after, PHASE) == OVER and get(after, _DIRECTION):
        passes = "; ".join(_pass_text(game, after, seat) for seat in range(_SEATS))
        return f"{showing.seen_text(game, observation, viewer)}; passed were: {passes}"
    if kind not in (_PASSES, _RECEIVED):
        return showing.seen_text(game, observation, viewer)
    said = [f"you pass {card_text(game, action)}"] if kind == _PASSES else []
    if get(after, PHASE) == PLAY:
        got = "all have passed"
        if viewer != PUBLIC:
            got = f"you receive {cards_text(game, passed_by(after, (viewer - get(after, _DIRECTION)) & 3))}"
        said.append(got)
    return " and ".join(said)


def _pass_text(game: Game, world: World, seat: int) -> str:
    cards = " ".join(card_text(game, get(world, _choice(seat, i))) for i in range(_PASSED))
    return f"seat {seat} {cards}"
