"""Kuhn poker [Kuhn1950]: three cards, one per seat, one bet. Each seat antes 1; a bet or a call adds 1.

world   word 0: bits 0-1 and 2-3 the cards of seats 0 and 1, plus one (0: not dealt), 4-5 the number of actions so far,
        6-8 these actions in order, one bit each
action  0 pass (check, fold), 1 bet (call); chance: the card dealt, 0 jack, 1 queen, 2 king
observe each seat its own card when it is dealt; everybody every action
"""

from typing import NamedTuple

from foglight.bits import get, put
from foglight.compile import constants, implements, jitable
from foglight.drawing.layouts import hands_drawing
from foglight.rules import CHANCE, NOTHING, TERMINAL, Bounds, World, game
from foglight.text import does

_CARDS = ((0, 0, 2), (0, 2, 2))
_TAKEN, _ACTIONS = (0, 4, 2), (0, 6, 3)
_PASS, _BET = 0, 1
_FIRST_ACTION = 4  # observation codes: 1-3 my card, 4-5 an action
_NAMES = ("jack", "queen", "king")


@game
@constants(
    num_players=2,
    num_words=1,
    num_actions=3,
    observation_bits=3,
    title="the smallest poker: three cards, one bet",
)
class KuhnPoker(NamedTuple):
    pass


@jitable
def _action(world, i):
    return get(world, _ACTIONS) >> i & 1


@implements(KuhnPoker)
def player(game, world):
    if get(world, _CARDS[1]) == 0:
        return CHANCE
    taken = get(world, _TAKEN)
    if taken < 2:
        return taken
    # after a pass and a bet the first seat answers; everything else is over after two actions
    return 0 if taken == 2 and get(world, _ACTIONS) == _BET << 1 else TERMINAL


@implements(KuhnPoker)
def legal(game, world, out):
    out[0], out[1] = _PASS, _BET
    return 2


@implements(KuhnPoker)
def chance(game, world, out, odds):
    dealt = get(world, _CARDS[0]) - 1
    n = 0
    for card in range(3):
        if card != dealt:
            out[n] = card
            n += 1
    odds[:n] = 1.0 / n
    return n


@implements(KuhnPoker)
def step(game, world, action):
    if get(world, _CARDS[0]) == 0:
        put(world, _CARDS[0], action + 1)
    elif get(world, _CARDS[1]) == 0:
        put(world, _CARDS[1], action + 1)
    else:
        taken = get(world, _TAKEN)
        put(world, _ACTIONS, get(world, _ACTIONS) | action << taken)
        put(world, _TAKEN, taken + 1)


@implements(KuhnPoker)
def observe(game, before, action, after, viewer):
    if get(before, _CARDS[1]) != 0:
        return _FIRST_ACTION + action
    dealt_to = 0 if get(before, _CARDS[0]) == 0 else 1
    return action + 1 if viewer == dealt_to else NOTHING


@implements(KuhnPoker)
def returns(game, world, out):
    taken = get(world, _TAKEN)
    last, one_before = _action(world, taken - 1), _action(world, taken - 2)
    higher = 0 if get(world, _CARDS[0]) > get(world, _CARDS[1]) else 1
    if last == _PASS and one_before == _BET:
        winner, stake = taken % 2, 1.0  # the seat that made the last action folded
    else:
        winner, stake = higher, 2.0 if last == _BET else 1.0
    out[winner] = stake
    out[1 - winner] = -stake


@implements(KuhnPoker)
def public_features(game, world, out):
    # the number of actions so far, and which of them are bets
    for i in range(3):
        out[i] = get(world, _TAKEN) > i
        out[3 + i] = _action(world, i)
    return 6


@implements(KuhnPoker)
def private_features(game, world, seat, out):
    for card in range(3):
        out[card] = get(world, _CARDS[seat]) == 1 + card
    return 3


@implements(KuhnPoker)
def bounds(game):
    return Bounds(-2.0, 2.0, 0.0, 5)


@implements(KuhnPoker)
def how_to_play(game):
    return """Each seat puts 1 into the pot and gets one of three cards; the king beats the queen, the queen the jack.
Seat 0 begins. While nobody has bet, `check` or `bet` 1 more.
After a bet, `call` it with 1 more, or `fold` and lose what you have put in.
After two checks or a call the higher card takes the pot: you win or lose 1, or 2 if a bet was called."""


@implements(KuhnPoker)
def action_names(game, world, action):
    if player(game, world) == CHANCE:
        return (f"deal {_NAMES[action]}", _NAMES[action])
    facing_bet = get(world, _TAKEN) > 0 and _action(world, get(world, _TAKEN) - 1) == _BET
    if action == _PASS:
        return ("fold", "pass") if facing_bet else ("check", "pass")
    return ("call", "bet") if facing_bet else ("bet",)


@jitable
def _pot(world):
    actions = get(world, _ACTIONS)
    return 2 + (actions & 1) + (actions >> 1 & 1) + (actions >> 2 & 1)


def _card(world: World, seat: int) -> str:
    return _NAMES[get(world, _CARDS[seat]) - 1] if get(world, _CARDS[seat]) else "no card yet"


@implements(KuhnPoker)
def places(game):
    return ["seat 0", "seat 1"], 0


@implements(KuhnPoker)
def contents(game, world):
    return [_NAMES[get(world, _CARDS[seat]) - 1] if get(world, _CARDS[seat]) else "." for seat in range(2)]


@implements(KuhnPoker)
def board(game, world):
    return f"seat 0: {_card(world, 0)}, seat 1: {_card(world, 1)}, pot {_pot(world)}"


@implements(KuhnPoker)
def view(game, world, seat):
    return f"you are seat {seat} with {_card(world, seat)}, pot {_pot(world)}"


@implements(KuhnPoker)
def drawing(game, world, seat):
    cards, said = [held[0].upper() for held in contents(game, world)], []
    for i in range(get(world, _TAKEN)):
        facing_bet = any(_action(world, j) == _BET for j in range(i))
        verbs = ("folds", "calls") if facing_bet else ("checks", "bets")
        said.append(f"seat {i % 2} {verbs[_action(world, i)]}")
    return hands_drawing(game, seat, cards, [f"pot {_pot(world)}", ", ".join(said)])


@implements(KuhnPoker)
def observation_text(game, before, action, after, viewer):
    if get(before, _CARDS[1]) == 0:
        return f"you get the {_NAMES[action]}"
    return does(player(game, before), viewer, action_names(game, before, action)[0])
