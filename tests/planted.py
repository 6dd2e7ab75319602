"""Two small games that keep everything, and faults to plant in them: a card game with chance, and a phantom game.

HighCard  chance deals one of four cards to each of two seats; seat 0 checks or bets, seat 1 folds or calls a bet
  world   word 0: the fields below
  action  0 check or fold, 1 bet or call; chance: the card
Hunt      two seats take turns to claim one of four cells unseen; a cell that the other has is refused, and the seat
          tries again; when all are claimed, who has cell 0 wins
  world   word 0: 4 bits of cells for each seat, then 4 bits for each seat of cells that were refused; then MOVER, WON
  action  the cell
"""

from typing import NamedTuple

import numpy as np
from numpy import uint64

import foglight as fl
from foglight.bits import get, put

CARDS, MOVES, BET, CALLED = ((0, 0, 3), (0, 3, 3)), (0, 6, 3), (0, 9, 1), (0, 10, 1)
CELLS, REFUSED, MOVER, WON = ((0, 0, 4), (0, 4, 4)), ((0, 8, 4), (0, 12, 4)), (0, 16, 1), (0, 17, 2)
RANKS = ("jack", "queen", "king", "ace")


def card_game(**changed):
    """HighCard with some rules replaced."""
    return _made("HighCard", _rules_of_cards(), changed)


def phantom_game(**changed):
    """Hunt with some rules replaced."""
    return _made("Hunt", _rules_of_hunt(), changed)


def _made(name, rules, changed):
    return _with_rules(fl.game(NamedTuple(name, [])), rules, changed)


def _with_rules(made, rules, changed):
    for rule, function in {**rules, **changed}.items():
        fl.implements(made, rule)(function)
    return made()


def _rules_of_cards():
    def num_players(game):
        return 2

    def num_words(game):
        return 1

    def num_actions(game):
        return 4

    def player(game, world):
        moves = get(world, MOVES)
        if moves < 2:
            return fl.CHANCE
        if moves == 2:
            return 0
        return 1 if moves == 3 and get(world, BET) == 1 else fl.TERMINAL

    def legal(game, world, out):
        out[0], out[1] = 0, 1
        return 2

    def chance(game, world, out, odds):
        taken = get(world, CARDS[0]) if get(world, MOVES) == 1 else 9
        n = 0
        for card in range(4):
            if card != taken - 1:
                out[n] = card
                odds[n] = 0.25 if taken == 9 else 1.0 / 3.0
                n += 1
        return n

    def step(game, world, action):
        moves = get(world, MOVES)
        if moves < 2:
            put(world, CARDS[0] if moves == 0 else CARDS[1], action + 1)
        elif moves == 2:
            put(world, BET, action)
        else:
            put(world, CALLED, action)
        put(world, MOVES, moves + 1)

    def observe(game, before, action, after, viewer):
        moves = get(before, MOVES)
        if moves < 2:
            return 10 + action if viewer == moves else 1
        return 2 + action

    def returns(game, world, out):
        stake = 2.0 if get(world, CALLED) == 1 else 1.0
        higher = get(world, CARDS[0]) > get(world, CARDS[1])
        folded = get(world, BET) == 1 and get(world, CALLED) == 0
        out[0] = stake if higher or folded else -stake
        out[1] = -out[0]

    def title(game):
        return "the higher card wins"

    def action_names(game, world, action):
        moves = get(world, MOVES)
        if moves < 2:
            return (RANKS[action],)
        return (("check", "bet") if moves == 2 else ("fold", "call"))[action : action + 1]

    def board(game, world):
        return f"cards {get(world, CARDS[0])} and {get(world, CARDS[1])}, {get(world, MOVES)} moves"

    def view(game, world, seat):
        card = get(world, CARDS[seat])
        return f"you are seat {seat}" + (f" with {RANKS[card - 1]}" if card else "")

    def observation_text(game, before, action, after, viewer):
        moves = get(before, MOVES)
        if moves < 2:
            return f"you get {RANKS[action]}" if viewer == moves else f"seat {moves} gets a card"
        return f"seat {moves - 2} plays {action}"

    return {name: rule for name, rule in locals().items() if callable(rule)}


def _rules_of_hunt():
    def num_players(game):
        return 2

    def num_words(game):
        return 1

    def num_actions(game):
        return 4

    def player(game, world):
        return fl.TERMINAL if get(world, WON) > 0 else get(world, MOVER)

    def legal(game, world, out):
        seat = get(world, MOVER)
        tried = get(world, CELLS[seat]) | get(world, REFUSED[seat])
        n = 0
        for cell in range(4):
            if tried >> cell & 1 == 0:
                out[n] = cell
                n += 1
        return n

    def step(game, world, action):
        seat = get(world, MOVER)
        if get(world, CELLS[1 - seat]) >> action & 1:
            put(world, REFUSED[seat], get(world, REFUSED[seat]) | 1 << action)
            return
        cells = get(world, CELLS[seat])
        put(world, CELLS[seat], cells | 1 << action)
        put(world, MOVER, 1 - seat)
        if get(world, CELLS[0]) | get(world, CELLS[1]) == 15:
            put(world, WON, 1 if get(world, CELLS[0]) & 1 else 2)

    def observe(game, before, action, after, viewer):
        seat = get(before, MOVER)
        if viewer != seat:
            return fl.NOTHING
        return 1 + 2 * action + (get(before, CELLS[1 - seat]) >> action & 1)

    def returns(game, world, out):
        out[0] = 1.0 if get(world, WON) == 1 else -1.0
        out[1] = -out[0]

    def title(game):
        return "claim two cells of four, one of them cell 0"

    def action_names(game, world, action):
        return (f"cell {action}",)

    def board(game, world):
        return f"cells {get(world, CELLS[0]):04b} and {get(world, CELLS[1]):04b}"

    def view(game, world, seat):
        return f"you have {get(world, CELLS[seat]):04b}, refused {get(world, REFUSED[seat]):04b}"

    def observation_text(game, before, action, after, viewer):
        taken = get(before, CELLS[1 - get(before, MOVER)]) >> action & 1
        return f"cell {action}" + (" refused" if taken else "")

    return {name: rule for name, rule in locals().items() if callable(rule)}


CARD, HUNT = _rules_of_cards(), _rules_of_hunt()
_observed = fl.jitable(CARD["observe"])


@fl.game
class Overflowing(NamedTuple):
    """HighCard with codes beyond 64 bits; a class of its own, so that its kernels are found again."""


def overflowing_game():
    return _with_rules(Overflowing, CARD, {"observe": overflowing})


# Faults: the game, the property that it breaks, and words of the sentence ---------------------------------------------


def falling(game, world, out):
    out[0], out[1] = 1, 0
    return 2


def double(game, world, out):
    out[0], out[1] = 1, 1
    return 2


def by_hidden_card(game, world, out):
    out[0], out[1] = 0, 1
    return 1 if get(world, MOVES) == 3 and get(world, CARDS[0]) == 4 else 2


def beyond(game, world, out):
    out[0], out[1] = 0, 4
    return 2


def none(game, world, out):
    return 0 if get(world, MOVES) == 3 else CARD["legal"](game, world, out)


def hidden_cell(game, before, action, after, viewer):
    return 1 + (get(before, CELLS[1 - viewer]) >> action & 1) if viewer == get(before, MOVER) else fl.NOTHING


def own_unseen(game, before, action, after, viewer):
    return (
        fl.NOTHING if get(before, MOVES) == 2 and viewer == 0 else CARD["observe"](game, before, action, after, viewer)
    )


def public_card(game, before, action, after, viewer):
    if get(before, MOVES) == 0 and viewer == fl.PUBLIC:
        return 10 + action
    return CARD["observe"](game, before, action, after, viewer)


def changing(game, before, action, after, viewer):
    put(after, (0, 40, 1), 1)
    return CARD["observe"](game, before, action, after, viewer)


def peeking_view(game, world, seat):
    return CARD["view"](game, world, seat) + f", the other has {get(world, CARDS[1 - seat])}"


def peeking_drawing(game, world, seat):
    from foglight.drawing.layouts import finished, line

    cards = (0, 1) if seat is None or get(world, CALLED) else (seat,)
    return finished([line(0, 10, f"seat {i} has {get(world, CARDS[i])}") for i in cards])


def double_drawing(game, world, seat):
    from foglight.drawing.layouts import back, finished

    return finished([back(0, 0, place=0), back(50, 0, place=0)])


def telling_text(game, before, action, after, viewer):
    said = CARD["observation_text"](game, before, action, after, viewer)
    return f"{said}: {RANKS[action]}" if get(before, MOVES) == 0 else said


def telling_names(game, world, action):
    name = CARD["action_names"](game, world, action)[0]
    return (f"{name} against {get(world, CARDS[0])}",) if get(world, MOVES) == 3 else (name,)


def one_name(game, world, action):
    return ("go",) if get(world, MOVES) >= 2 else (RANKS[action],)


def same_text(game, before, action, after, viewer):
    return "something"


def overflowing(game, before, action, after, viewer):
    code = _observed(game, before, action, after, viewer)
    return (code + 7) * 6364136223846793005 % 1000003 + 1  # beyond 64 bits: compiled arithmetic wraps around


def legal_by_helper(game, world, out):
    return _undecorated(out)


def _undecorated(out):
    out[0], out[1] = 0, 1
    return 2


def forgetful(game, world, viewer):
    cells = get(world, CELLS[viewer]) if viewer >= 0 else 0
    refused = get(world, REFUSED[viewer]) if viewer >= 0 else 0
    return cells + 16 * refused + 256 * (viewer + 1)  # not in which order


def far_away(game, world, action):
    world[9] = uint64(1)
    CARD["step"](game, world, action)


def over_keys(game, world, action):
    CARD["step"](game, world, action)
    world[1] += uint64(1)


def too_little(game, world, out, odds):
    n = CARD["chance"](game, world, out, odds)
    odds[n - 1] -= 0.1
    return n


def all_refused(game, world):
    for seat in range(2):
        put(world, REFUSED[seat], get(world, CELLS[1 - seat]))


def turn_taken(game, world):
    all_refused(game, world)
    put(world, MOVER, 0)


def cells_taken(game, world):
    all_refused(game, world)
    put(world, CELLS[1], 0)


def endless(game, world):
    return get(world, MOVER)


def endless_step(game, world, action):
    put(world, MOVER, 1 - get(world, MOVER))


def all_cells(game, world, out):
    for cell in range(4):
        out[cell] = cell
    return 4


def half_paid(game, world, out):
    out[0] = 1.0


def any_cell(game, world, random, out):
    from foglight.randomness import below

    return below(random, 4)


def first_card_often(game, world, random, out, odds):
    from foglight.randomness import below

    n = CARD["chance"](game, world, out, odds)
    return out[below(random, n + 1) % n]


def drawing_step(game, world, action):
    HUNT["step"](game, world, action)
    put(world, (0, 20, 8), int(np.random.default_rng().integers(256)))


def unplaced(game):
    return ["seat 0", "seat 1", "seat 2"], 0


def held(game, world):
    return [str(get(world, CARDS[0])), str(get(world, CARDS[1]))]


def hidden_features(game, world, out):
    out[0] = float(get(world, CARDS[0]))
    return 1


def hidden_sight(game, world, seat, out):
    """What `hidden_features` shows, to a seat."""
    hidden_features(game, world, out)


def other_bits(game, world, actions, out):
    """Action 0 alone, wherever."""
    out[0] = np.uint64(1)


def lying_cards(**options):
    """A game of `card_games.py` that makes both promises, whatever its rules are."""
    import card_games

    from foglight.cards import tricks
    from foglight.compile import _rules

    made = type("LyingCards", (card_games.AnyCards,), {"__annotations__": card_games.AnyCards.__annotations__})
    tricks.trick_taking(made)
    for rule in _rules.values():
        if card_games.AnyCards in rule.implementations:
            rule.implementations[made] = rule.implementations[card_games.AnyCards]
    promises = {"hides_only_cards": lambda game: True, "playable_by_pairs": lambda game: True}
    words = {
        "board": lambda game, world: "cards",
        "view": lambda game, world, seat: f"you are seat {seat}",
        "observation_text": lambda game, before, action, after, viewer: str(
            card_games.observe(game, before, action, after, viewer)
        ),
    }
    for name, function in {**promises, **words}.items():
        fl.implements(made, name)(function)
    return made(**options)


def faults():
    """Name -> (game, property, words that the sentence holds)."""
    import card_games

    held_bids = {"players": 2, "suits": 2, "ranks": 2, "size": 1, "bids": card_games.HELD_BIDS}
    few_others = {"players": 2, "suits": 2, "ranks": 4, "size": 3, "lead": card_games.FEW_OTHERS}
    return {
        "wrong order": (card_game(legal=falling), "legal actions", "not ascending: `legal` gives [1, 0]"),
        "an action twice": (card_game(legal=double), "legal actions", "not distinct: `legal` gives [1, 1]"),
        "legal by hidden card": (card_game(legal=by_hidden_card), "legal by observation", "[0, 1] and [0]"),
        "action out of range": (card_game(legal=beyond), "legal actions", "gives action 4 of seat 0"),
        "no legal action": (card_game(legal=none), "legal actions", "gives 0 actions of seat 1"),
        "own action missing": (phantom_game(observe=hidden_cell), "own action", "both of its action 0 and"),
        "own action unseen": (card_game(observe=own_unseen), "own action", "observes NOTHING of its own action"),
        "unnoticed all the same": (phantom_game(notices_all=lambda game: True), "observations", "`notices_all` is"),
        "public card": (card_game(observe=public_card), "public observations", "PUBLIC observes something"),
        "observe changes a world": (card_game(observe=changing), "unchanged worlds", "`observe` changes a world"),
        "view leaks": (card_game(view=peeking_view), "views", "`view` leaks"),
        "drawing leaks": (card_game(drawing=peeking_drawing), "drawings", "`drawing` leaks"),
        "a place drawn twice": (card_game(drawing=double_drawing, places=unplaced, contents=held), "drawings",
                                "draws places [0, 0], not each of 3"),
        "text leaks": (card_game(observation_text=telling_text), "observation texts", "`observation_text` leaks"),
        "names leak": (card_game(action_names=telling_names), "action names", "`action_names` leaks"),
        "one name for two actions": (card_game(action_names=one_name), "action names", "'go' stands for both actions"),
        "one text for all": (phantom_game(observation_text=same_text, view=lambda game, world, seat: "cells"),
                             "distinct texts", "say the same to seat 0"),
        "no perfect recall": (phantom_game(key=forgetful), "perfect recall", "it forgets"),
        "lay_open takes the turn": (phantom_game(lay_open=turn_taken), "lay_open", "changes whose turn it is"),
        "lay_open takes cells": (phantom_game(lay_open=cells_taken), "lay_open", "`lay_open` "),
        "too few words": (card_game(step=far_away), "worlds", "`step` goes beyond an array"),
        "step changes keys": (card_game(step=over_keys), "worlds", "writes word 1, where keys are"),
        "chance sums to less": (card_game(chance=too_little), "chance", "sum to 0.9, not 1"),
        "never ends": (phantom_game(player=endless, step=endless_step, legal=all_cells, observe=lambda
                                    game, before, action, after, viewer: 1 + action), "end", "does not end within"),
        "payoff missing": (card_game(returns=half_paid), "returns", "no finite payoff for seat 1, but nan"),
        "pick of what is not legal": (phantom_game(pick=any_cell), "pick", "which is not possible"),
        "biased deal": (card_game(deal=first_card_often), "deal", "`deal` draws 0"),
        "random step": (phantom_game(step=drawing_step), "repeatable rules", "gives two different worlds"),
        "places without contents": (card_game(places=unplaced, contents=held), "places", "2 contents for 3 `places`"),
        "features of a hidden card": (card_game(public_features=hidden_features), "public features", "differ"),
        "sight of a hidden card": (card_game(sight_features=hidden_sight, num_sight_features=lambda game: 1),
                                   "sight features", "`sight_features` leaks: of its 1 features, number 0 differ"),
        "legal bits of other actions": (phantom_game(legal_bits=other_bits), "legal bits", "`legal_bits` gives 0, and"),
        "observations beyond their bits": (card_game(observation_bits=lambda game: 1), "observation bits",
                                           "which has more than the 1 bits"),
        "promise to hide only cards": (lying_cards(**held_bids), "card promises", "promise about cards is not kept"),
        "promise of pairs": (lying_cards(**few_others), "card promises", "`playable_by_pairs` is not kept"),
    }  # fmt: skip
