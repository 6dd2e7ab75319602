"""Leduc poker [Southey2005]: six cards (jack, queen, king, twice each), two rounds of betting, one public card.

Each seat antes 1; a raise is 2 in the first round and 4 in the second, with at most two raises per round. A card that
pairs the public card wins, otherwise the higher rank; equal ranks share the pot. The rules are those of OpenSpiel's
`leduc_poker`, where suits count as information: states that differ only in suit are different information states.

world   word 0: the fields below; cards are stored plus one, 0 is a card not dealt
action  0 fold, 1 call (check), 2 raise; chance: the card, two of each rank in order
observe each seat its own card when it is dealt; everybody that seat 1 has been dealt its card, the public card, every
        action, and the winner of a showdown
"""

from typing import NamedTuple

from numpy import uint64

from foglight import bits
from foglight.bits import get, put
from foglight.compile import constants, implements, jitable
from foglight.drawing.layouts import hands_drawing
from foglight.randomness import below
from foglight.rules import CHANCE, NOTHING, TERMINAL, Bounds, World, game
from foglight.text import does

_CARDS = ((0, 0, 3), (0, 3, 3))
_PUBLIC_CARD = (0, 6, 3)
_STAKES = ((0, 9, 4), (0, 13, 4))
_ROUND, _MOVER, _RAISES, _CALLS = (0, 17, 1), (0, 18, 1), (0, 19, 2), (0, 21, 2)
_OVER, _FOLDED = (0, 23, 1), (0, 24, 2)  # who folded, plus one
_FOLD, _CALL, _RAISE = 0, 1, 2
_MOST_RAISES = 2
_DEALT, _FIRST_PUBLIC, _FIRST_ACTION = 7, 8, 16  # observation codes; 1-6 are my card
_NAMES = ("Js", "Jh", "Qs", "Qh", "Ks", "Kh")


@game
@constants(
    num_players=2,
    num_words=1,
    num_actions=6,
    num_recalled=11,  # all of them: the order of bets
    observation_bits=5,
    title="six cards, two betting rounds, one public card",
)
class LeducPoker(NamedTuple):
    pass


@implements(LeducPoker)
def begin(game, world):
    put(world, _STAKES[0], 1)
    put(world, _STAKES[1], 1)


@implements(LeducPoker)
def player(game, world):
    if get(world, _OVER) == 1:
        return TERMINAL
    if get(world, _CARDS[1]) == 0 or (get(world, _ROUND) == 1 and get(world, _PUBLIC_CARD) == 0):
        return CHANCE
    return get(world, _MOVER)


@jitable
def _stake(world, seat):
    return get(world, _STAKES[1]) if seat == 1 else get(world, _STAKES[0])


@jitable
def _can_fold(world):
    seat = get(world, _MOVER)
    return _stake(world, seat) < _stake(world, 1 - seat)


@implements(LeducPoker)
def legal(game, world, out):
    n = 0
    if _can_fold(world):
        out[n] = _FOLD
        n += 1
    out[n] = _CALL
    n += 1
    if get(world, _RAISES) < _MOST_RAISES:
        out[n] = _RAISE
        n += 1
    return n


@implements(LeducPoker)
def pick(game, world, random, out):
    first = _FOLD if _can_fold(world) else _CALL
    last = _RAISE if get(world, _RAISES) < _MOST_RAISES else _CALL
    return first + below(random, last - first + 1)


@jitable
def _deck(world):
    dealt = bits.bit(get(world, _CARDS[0])) | bits.bit(get(world, _CARDS[1]))
    return bits.first_bits(6) & ~(dealt >> uint64(1))


@implements(LeducPoker)
def chance(game, world, out, odds):
    n = bits.members(_deck(world), out)
    odds[:n] = 1.0 / n
    return n


@implements(LeducPoker)
def deal(game, world, random, out, odds):
    deck = _deck(world)
    return bits.nth(deck, below(random, bits.count(deck)))


@implements(LeducPoker)
def step(game, world, action):
    if get(world, _CARDS[0]) == 0:
        put(world, _CARDS[0], action + 1)
    elif get(world, _CARDS[1]) == 0:
        put(world, _CARDS[1], action + 1)
    elif get(world, _ROUND) == 1 and get(world, _PUBLIC_CARD) == 0:
        put(world, _PUBLIC_CARD, action + 1)
    else:
        _bet(world, action)


@jitable
def _bet(world, action):
    seat = get(world, _MOVER)
    put(world, _MOVER, 1 - seat)
    if action == _FOLD:
        put(world, _FOLDED, 1 + seat)
        put(world, _OVER, 1)
        return
    stake = _stake(world, 1 - seat)
    if action == _RAISE:
        stake += 4 if get(world, _ROUND) == 1 else 2
    if seat == 1:
        put(world, _STAKES[1], stake)
    else:
        put(world, _STAKES[0], stake)
    if action == _RAISE:
        put(world, _RAISES, get(world, _RAISES) + 1)
    elif get(world, _RAISES) == 0 and get(world, _CALLS) == 0:
        put(world, _CALLS, 1)
    elif get(world, _ROUND) == 1:
        put(world, _OVER, 1)
    else:
        put(world, _ROUND, 1)
        put(world, _MOVER, 0)
        put(world, _RAISES, 0)
        put(world, _CALLS, 0)


@implements(LeducPoker)
def observe(game, before, action, after, viewer):
    if get(before, _CARDS[0]) == 0:
        return action + 1 if viewer == 0 else NOTHING
    if get(before, _CARDS[1]) == 0:
        return action + 1 if viewer == 1 else _DEALT
    if get(before, _ROUND) == 1 and get(before, _PUBLIC_CARD) == 0:
        return _FIRST_PUBLIC + action
    return _FIRST_ACTION + action + 4 * _showdown(after)


@jitable
def _showdown(world):
    """The winner of the showdown plus one; 3 if the seats share the pot, 0 if there is no showdown."""
    if get(world, _OVER) == 0 or get(world, _FOLDED) != 0:
        return 0
    difference = _strength(world, 0) - _strength(world, 1)
    return 3 if difference == 0 else (1 if difference > 0 else 2)


@jitable
def _strength(world, seat):
    card = get(world, _CARDS[1]) if seat == 1 else get(world, _CARDS[0])
    rank = (card - 1) // 2
    return rank + (3 if (get(world, _PUBLIC_CARD) - 1) // 2 == rank else 0)


@implements(LeducPoker)
def returns(game, world, out):
    folded, showdown = get(world, _FOLDED), _showdown(world)
    if showdown == 3:
        out[0] = out[1] = 0.0
        return
    winner = 2 - folded if folded != 0 else showdown - 1
    stake = _stake(world, 1 - winner)
    out[winner] = stake
    out[1 - winner] = -stake


@implements(LeducPoker)
def public_features(game, world, out):
    # the public card, the stakes, the round, the mover, the raises and calls of the round
    for card in range(6):
        out[card] = get(world, _PUBLIC_CARD) == 1 + card
    out[6], out[7] = get(world, _STAKES[0]) / 13, get(world, _STAKES[1]) / 13
    out[8], out[9] = get(world, _ROUND), get(world, _MOVER)
    out[10], out[11] = get(world, _RAISES) / 2, get(world, _CALLS) / 2
    return 12


@implements(LeducPoker)
def private_features(game, world, seat, out):
    for card in range(6):
        out[card] = get(world, _CARDS[seat]) == 1 + card
    return 6


@implements(LeducPoker)
def bounds(game):
    return Bounds(-13.0, 13.0, 0.0, 11)


@implements(LeducPoker)
def how_to_play(game):
    return f"""Six cards: Js Jh Qs Qh Ks Kh. Each seat puts 1 into the pot and gets one of them.
There are two rounds of betting, which seat 0 begins; before the second, a public card is turned up.
`check`, or `raise` by 2 in the first round and by 4 in the second, {_MOST_RAISES} times a round at most.
After a raise, `call` it, `raise` again, or `fold` and lose what you have put in.
A card of the public card's rank wins, otherwise the higher rank; equal ranks share the pot."""


@implements(LeducPoker)
def why_not(game, world, action):
    if action == _FOLD:
        return "you owe nothing, so there is nothing to fold to; check instead"
    return f"there have been {_MOST_RAISES} raises in this round; call or fold" if action == _RAISE else ""


@implements(LeducPoker)
def action_names(game, world, action):
    if player(game, world) == CHANCE:
        return (f"deal {_NAMES[action]}", _NAMES[action])
    if action == _FOLD:
        return ("fold",)
    if action == _RAISE:
        return ("raise", "bet")
    return ("call", "check") if _can_fold(world) else ("check", "call")


def _card(world: World, field: tuple[int, int, int]) -> str:
    return _NAMES[get(world, field) - 1] if get(world, field) else "--"


def _table(world: World) -> str:
    return f"public card {_card(world, _PUBLIC_CARD)}, stakes {get(world, _STAKES[0])} and {get(world, _STAKES[1])}"


@implements(LeducPoker)
def places(game):
    return ["seat 0", "seat 1"], 0


@implements(LeducPoker)
def contents(game, world):
    return [_NAMES[get(world, _CARDS[seat]) - 1] if get(world, _CARDS[seat]) else "." for seat in range(2)]


@implements(LeducPoker)
def board(game, world):
    return f"seat 0: {_card(world, _CARDS[0])}, seat 1: {_card(world, _CARDS[1])}, {_table(world)}"


@implements(LeducPoker)
def view(game, world, seat):
    return f"you are seat {seat} with {_card(world, _CARDS[seat])}, {_table(world)}"


@implements(LeducPoker)
def drawing(game, world, seat):
    public = _card(world, _PUBLIC_CARD)
    stakes = f"stakes {get(world, _STAKES[0])} and {get(world, _STAKES[1])}"
    return hands_drawing(game, seat, contents(game, world), [stakes], public if public != "--" else "")


@implements(LeducPoker)
def observation_text(game, before, action, after, viewer):
    if get(before, _CARDS[1]) == 0:
        seat = 0 if get(before, _CARDS[0]) == 0 else 1
        return f"you get {_NAMES[action]}" if viewer == seat else "seat 1 gets a card"
    if player(game, before) == CHANCE:
        return f"public card {_NAMES[action]}"
    said = does(get(before, _MOVER), viewer, action_names(game, before, action)[0])
    return said + ("", ", seat 0 wins", ", seat 1 wins", ", the pot is shared")[_showdown(after)]
