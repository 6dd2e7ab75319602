"""The core of trick-taking games: hands, following suit, the winner of a trick, and the voids that play reveals.

The mover plays a card of the suit led if it has one, otherwise any card. The highest trump takes the trick, or without
trumps the highest card of the suit led; the winner leads to the next trick. A seat that does not follow suit has shown
that it is void in the suit led. A game in which leads reveal voids too calls `show_void` itself. All voids stored are
certain; the rules of a game may imply more.

world   word 0: the fields below; 1: the set of cards on the table, kept until the next lead; 2: 4 bits per seat, the
        suits that it has shown to be void in; 3: 8 bits per seat, tricks taken; 4: before play, the set of numbers
        that the mover or chance may choose, then 0; then a word per seat, its hand; then a word per seat, the cards it
        has played; then the game's own words, from `first_own_word` on. In play only hands are hidden, unless a game
        says otherwise
observe `foglight.cards.codes`

The decorator `@trick_taking` makes a class such a game. Before play, its `step` sets the next choices by `offer`; in
play it calls `play_card`, and the rule `playable` gives the legal cards. The mover, the legal actions and the outcomes
of chance follow from these.

The belief in such a game is exact at any size if the game makes the two promises on which the counting of deals relies:
`hides_only_cards` and `playable_by_pairs`. Without them it is exact as long as all worlds fit into memory.
"""

from numpy import int64, uint64

from foglight import bits
from foglight.bits import get, put
from foglight.cards.deck import card_text, num_suits, suit_cards, suit_of
from foglight.compile import GameClass, implements, jitable, optional
from foglight.randomness import below
from foglight.rules import CHANCE, TERMINAL, Game, World, num_players

SETUP, DEAL, BID, PASS, PLAY, OVER = 0, 1, 2, 3, 4, 5  # phases, in this order; chance moves in the first two
NONE = -1  # no seat: the trick is not complete

_TABLE, _VOIDS, _TAKEN, _OPEN, _HANDS = 1, 2, 3, 4, 5  # indices of words
PHASE, MOVER, LEADER, PLACED = (0, 0, 3), (0, 3, 3), (0, 6, 3), (0, 9, 3)  # in the deal, MOVER gets the next card
LED_SUIT, BEST_CARD, WINNER, DEALT = (0, 12, 2), (0, 14, 6), (0, 20, 3), (0, 23, 6)  # the trick so far; cards dealt
TRICKS_PLAYED = (0, 29, 5)

_classes: set[type] = set()


@optional
def pack(game, world):
    """All cards in play, a set."""
    cards = uint64(0)
    for suit in range(num_suits(game)):
        cards |= suit_cards(game, suit)
    return cards


@optional
def hand_size(game, world):
    """The number of cards that each seat is dealt before it looks at them; 0 if it looks at each card."""
    return 0


@optional
def trumps(game, world):
    """The set of cards that are trumps."""
    return uint64(0)


@optional
def playable(game, world):
    """The cards the mover may play, a set: those that follow suit, or all if there are none."""
    return following_or_all(game, world)


@optional
def hides_only_cards(game):
    """Whether the game promises that it hides only cards; in Python only. That means:

    - Before play, the hidden things are cards that chance deals to a hand or lays aside, and cards that a seat lays
      aside or passes on. A seat may choose any cards of the hand that it was dealt, and no other seat sees which.
    - All other events and observations before play are the same whichever cards are hidden. Only the codes HAND,
      DEALT_TO_ME and TURNED show cards; cards passed to a viewer are part of the code of the pass that brings them,
      ascending, 6 bits each from EXTRA on. Other actions may be hidden too, if no hand decides which are legal.
    - In play, the legal cards follow from the mover's hand and from public observations, and so do all observations.
      The first leader does not depend on the hidden cards, or it is the holder of `opening_card`.
    """
    return False


@optional
def playable_by_pairs(game):
    """Whether the game promises that pairs of cards determine `playable`; in Python only.

    That means: a card c may be played from a hand if and only if it may be played from {c, x} for every other card x of
    the hand. This holds for a rule of the form "the cards that ..., or all if there are none", and for a game that
    switches between such rules, as long as public observations determine which one applies.
    """
    return False


@optional
def opening_card(game):
    """The card whose holder leads to the first trick, and must lead it; NONE if there is no such card. Python only."""
    return NONE


@optional
def first_bid(game):
    """The action that stands for a bid of 0."""
    return 0


def trick_taking(game_class: GameClass) -> GameClass:
    """Class decorator of a trick-taking game; it implements the rules that are the same in all of them."""
    _classes.add(game_class)
    for rule in (player, legal, legal_bits, chance, pick, deal, places, contents):
        implements(game_class)(rule)
    return game_class


def is_trick_taking(game: Game) -> bool:
    """Whether the class of a game has the decorator `@trick_taking`."""
    return type(game) in _classes


# The layout of a world ------------------------------------------------------------------------------------------


@jitable
def first_own_word(game):
    return _HANDS + 2 * num_players(game)


def hand_words(game: Game) -> slice:
    """The words of the hands in a world, seat by seat; as many words of played cards follow. Python only."""
    return slice(_HANDS, _HANDS + int(num_players(game)))


@jitable
def hand(game, world, seat):
    """The hand of a seat, a set of cards."""
    return world[_HANDS + seat]


@jitable
def set_hand(game, world, seat, cards):
    world[_HANDS + seat] = cards


@jitable
def played(game, world, seat):
    """The cards that a seat has played, a set."""
    return world[_HANDS + num_players(game) + seat]


@jitable
def table(world):
    """The cards on the table, a set; those of the last trick before the next card is led."""
    return world[_TABLE]


@jitable
def taken(world, seat):
    """The number of tricks that a seat has taken."""
    return get(world, (_TAKEN, 8 * seat, 8))


@jitable
def is_void(world, seat, suit):
    """Whether a seat has shown that it holds no card of a suit."""
    return bits.has(world[_VOIDS], 4 * seat + suit)


@jitable
def show_void(world, seat, suit):
    world[_VOIDS] |= bits.bit(4 * seat + suit)


@jitable
def offer(world, numbers):
    """Set the choices of the mover or of chance before play: a set of outcomes, cards or bids."""
    world[_OPEN] = numbers


# Events ---------------------------------------------------------------------------------------------------------


@jitable
def start_deal(world, cards):
    """Begin to deal from these cards, seat 0 first."""
    enter(world, DEAL, 0)
    offer(world, cards)


@jitable
def deal_card(game, world, card):
    """Deal a card to the next seat, and return the number of cards dealt so far."""
    seat = get(world, MOVER)
    world[_HANDS + seat] |= bits.bit(card)
    world[_OPEN] ^= bits.bit(card)
    dealt = get(world, DEALT) + 1
    put(world, DEALT, dealt)
    put(world, MOVER, seat + 1 if seat + 1 < num_players(game) else 0)
    return dealt


@jitable
def enter(world, phase, mover):
    """Begin a phase with this mover."""
    put(world, PHASE, phase)
    put(world, MOVER, mover)


@jitable
def start_play(world, leader):
    enter(world, PLAY, leader)
    offer(world, uint64(0))


@jitable
def can_follow(game, world):
    """The mover's cards that follow suit; the empty set if it leads or is void."""
    if get(world, PLACED) == 0:
        return uint64(0)
    return hand(game, world, get(world, MOVER)) & suit_cards(game, get(world, LED_SUIT))


@jitable
def following_or_all(game, world):
    """The mover's cards that follow suit, or all of them if there are none."""
    following = can_follow(game, world)
    return following if following != uint64(0) else hand(game, world, get(world, MOVER))


@jitable
def beats(trump_cards, led_cards, card, best):
    """Whether a card beats the best one of the trick so far."""
    if bits.has(trump_cards, best):
        return bits.has(trump_cards, card) and card > best
    return bits.has(trump_cards, card) or (bits.has(led_cards, card) and card > best)


@jitable
def play_card(game, world, card):
    """Play a card of the mover; the seat that takes the completed trick, or NONE. The last trick ends the game."""
    state, seats = world[0], num_players(game)  # word 0 is written once, at the end: playouts are bound by memory
    seat, placed = _read(state, MOVER), _read(state, PLACED)
    if placed == 0:
        state = _written(state, LED_SUIT, suit_of(game, card))
        state = _written(state, LEADER, seat)
        wins = True
        world[_TABLE] = bits.bit(card)
    else:
        led = _read(state, LED_SUIT)
        led_cards = suit_cards(game, led)
        if not bits.has(led_cards, card):
            show_void(world, seat, led)
        wins = beats(trumps(game, world), led_cards, card, _read(state, BEST_CARD))
        world[_TABLE] |= bits.bit(card)
    if wins:
        state = _written(_written(state, BEST_CARD, card), WINNER, seat)
    world[_HANDS + seat] ^= bits.bit(card)
    world[_HANDS + seats + seat] |= bits.bit(card)
    winner = NONE
    if placed + 1 < seats:
        state = _written(state, PLACED, placed + 1)
        state = _written(state, MOVER, seat + 1 if seat + 1 < seats else 0)
    else:
        winner = _read(state, WINNER)
        world[_TAKEN] += bits.bit(8 * winner)
        state = _written(state, TRICKS_PLAYED, _read(state, TRICKS_PLAYED) + 1)
        state = _written(_written(state, PLACED, 0), MOVER, winner)
        if hand(game, world, winner) == uint64(0):
            state = _written(state, PHASE, OVER)
    world[0] = state
    return winner


@jitable
def _read(word, field):
    return int64((word >> uint64(field[1])) & bits.first_bits(field[2]))


@jitable
def _written(word, field, number):
    return (word & ~(bits.first_bits(field[2]) << uint64(field[1]))) | uint64(number) << uint64(field[1])


# The rules that are the same in all these games --------------------------------------------------------------------


@jitable
def _choices(game, world):
    """The choices of the mover or of chance: a set of numbers, and the action that number 0 stands for."""
    phase, first = get(world, PHASE), 0
    if phase == PLAY:
        return playable(game, world), first
    if phase == BID:
        first = first_bid(game)
    return world[_OPEN], first


def player(game, world):
    phase = get(world, PHASE)
    if phase <= DEAL:
        return CHANCE
    return TERMINAL if phase == OVER else get(world, MOVER)


def legal(game, world, out):
    numbers, first = _choices(game, world)
    n = bits.members(numbers, out)
    for i in range(n):
        out[i] += first
    return n


def legal_bits(game, world, actions, out):
    numbers, first = _choices(game, world)
    for i in range(len(out)):
        out[i] = uint64(0)
    if first < 64:
        out[0] = numbers << uint64(first)
    if first > 0 and len(out) > 1:
        out[1] = numbers >> uint64(64 - first)


def chance(game, world, out, odds):
    n = bits.members(world[_OPEN], out)
    odds[:n] = 1.0 / n
    return n


def pick(game, world, random, out):
    numbers, first = _choices(game, world)
    return first + bits.nth(numbers, below(random, bits.count(numbers)))


def deal(game, world, random, out, odds):
    return bits.nth(world[_OPEN], below(random, bits.count(world[_OPEN])))


def all_cards(game: Game) -> list[int]:
    """The cards of all suits, ascending, whether they are in play or not. Python only."""
    cards = 0
    for suit in range(int(num_suits(game))):
        cards |= int(suit_cards(game, suit))
    return [card for card in range(64) if cards >> card & 1]


def places(game: Game) -> tuple[list[str], int]:
    return [card_text(game, card) for card in all_cards(game)], 0


def contents(game: Game, world: World) -> list[str]:
    seats = range(int(num_players(game)))
    hands, gone = [int(hand(game, world, seat)) for seat in seats], [int(played(game, world, seat)) for seat in seats]

    def owner(card: int) -> str:
        if any(cards_gone >> card & 1 for cards_gone in gone):
            return "played"
        return next((f"seat {seat}" for seat in seats if hands[seat] >> card & 1), "undealt")

    return [owner(card) for card in all_cards(game)]
