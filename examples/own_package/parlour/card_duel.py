"""Card duel: each seat is dealt a card and may raise once; then the higher card wins the pot.

Seat 0 raises or waits, then seat 1 raises or waits, each without knowing the other's card. A raise adds to what its own
seat puts into the pot, which is 1 without a raise.

world   word 0: the fields below
action  of chance a card, of a seat 0 to wait or 1 to raise
observe who is dealt to the card; everybody that a card was dealt; everybody a raise or its absence
"""

from typing import Annotated, NamedTuple

import foglight as fl
from foglight.bits import get, put

MOVES, CARDS, RAISES = (0, 0, 3), ((0, 3, 4), (0, 7, 4)), ((0, 11, 1), (0, 12, 1))
DEALT, CARD, CHOICE = 1, 2, 20  # codes of observations: a hidden card, a card of one's own, a choice
NAMES = ("wait", "raise")


@fl.game
@fl.constants(num_players=2, num_words=1)
class CardDuel(NamedTuple):
    cards: Annotated[int, "cards in the pack", fl.Between(2, 13)] = 6
    stake: Annotated[int, "what a raise adds to the pot", fl.Between(1, 10)] = 2


@fl.implements(CardDuel)
def num_actions(game):
    return max(game.cards, 2)


@fl.implements(CardDuel)
def player(game, world):
    moves = get(world, MOVES)
    return fl.CHANCE if moves < 2 else moves - 2 if moves < 4 else fl.TERMINAL


@fl.implements(CardDuel)
def legal(game, world, out):
    out[0], out[1] = 0, 1
    return 2


@fl.implements(CardDuel)
def chance(game, world, out, odds):
    n = 0
    for card in range(game.cards):
        if get(world, MOVES) == 0 or card != get(world, CARDS[0]):
            out[n] = card
            n += 1
    odds[:n] = 1.0 / n
    return n


@fl.implements(CardDuel)
def step(game, world, action):
    moves = get(world, MOVES)
    if moves < 2:
        put(world, CARDS[moves], action)
    else:
        put(world, RAISES[moves - 2], action)
    put(world, MOVES, moves + 1)


@fl.implements(CardDuel)
def observe(game, before, action, after, viewer):
    moves = get(before, MOVES)
    if moves >= 2:
        return CHOICE + action
    return CARD + action if viewer == moves else DEALT


@fl.implements(CardDuel)
def returns(game, world, out):
    winner = 0 if get(world, CARDS[0]) > get(world, CARDS[1]) else 1
    out[1 - winner] = -1.0 - game.stake * get(world, RAISES[1 - winner])
    out[winner] = -out[1 - winner]


@fl.implements(CardDuel)
def title(game):
    return f"two seats bet on the higher of two cards from a pack of {game.cards}"


@fl.implements(CardDuel)
def action_names(game, world, action):
    return (f"card {action}",) if get(world, MOVES) < 2 else (NAMES[action],)


@fl.implements(CardDuel)
def board(game, world):
    moves = get(world, MOVES)
    cards = [f"seat {seat} has card {get(world, CARDS[seat])}" for seat in range(min(moves, 2))]
    return ", ".join(cards) or "nothing is dealt"


@fl.implements(CardDuel)
def view(game, world, seat):
    return f"you have card {get(world, CARDS[seat])}" if get(world, MOVES) > seat else "you have no card"


@fl.implements(CardDuel)
def observation_text(game, before, action, after, viewer):
    moves = get(before, MOVES)
    if moves >= 2:
        return f"seat {moves - 2} {'raises' if action else 'waits'}"
    return f"you get card {action}" if viewer == moves else f"seat {moves} gets a card"


@fl.implements(CardDuel)
def places(game):
    return ["seat 0", "seat 1"], 0


@fl.implements(CardDuel)
def contents(game, world):
    moves = get(world, MOVES)
    return [f"card {get(world, CARDS[seat])}" if moves > seat else "." for seat in range(2)]
