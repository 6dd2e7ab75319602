"""Which games are filtered by deals, and the probability of each card's place in weighted worlds."""

import math
from random import Random

import numpy as np

from foglight.bits import get
from foglight.cards import tricks
from foglight.cards.tricks import all_cards, hand_words, hides_only_cards, is_trick_taking
from foglight.rules import CHANCE, PUBLIC, Game, contents, num_players, places
from foglight.state import new_state
from foglight.worlds.marginals import Marginals

_NATIVE, _UNEVEN = "foglight.games.", "foglight.games.three_sat"  # modules: of native games, and of the one with odds


def is_chance_even(game: Game) -> bool:
    """Whether a game is known for outcomes of chance that are equally likely, and as many in all of its histories."""
    module = type(game).__module__
    return is_trick_taking(game) or (module.startswith(_NATIVE) and module != _UNEVEN)


def are_deals_better(game: Game, most: int) -> bool:
    """Whether a game's worlds are best drawn from deals: it promises what they need, or has more than `most` worlds."""
    return is_trick_taking(game) and bool(hides_only_cards(game) or worlds_in_layers(game) > most)


def distinct_deals(game: Game, rows: np.ndarray) -> np.ndarray:
    """The distinct deals of these worlds, uint64[n, W]: who holds, or has played, which card."""
    words = hand_words(game)
    deal = slice(words.start, 2 * words.stop - words.start)  # the hands, then the cards each seat has played
    return np.unique(rows[:, deal], axis=0)


def has_usual_places(game: Game) -> bool:
    """Whether a game uses the places and contents that trick-taking games share."""
    if not is_trick_taking(game):
        return False
    rules = ((places, tricks.places), (contents, tricks.contents))
    return all(rule.rule.implementation(type(game)) is usual for rule, usual in rules)  # type: ignore[attr-defined]


def card_marginals(game: Game, worlds: np.ndarray, weights: np.ndarray, exact: bool) -> Marginals:
    """The probability of each card's place in weighted worlds of a trick-taking game.

    The same cards must have been played in all of them.
    """
    hands = worlds[:, hand_words(game)]  # uint64[n, seats]
    sums = np.zeros((64, hands.shape[1] + 1))
    for card in range(64):
        sums[card, :-1] = weights / weights.sum() @ (hands >> np.uint64(card) & np.uint64(1))
    rest = 1.0 - sums[:, :-1].sum(1)
    sums[:, -1] = np.where(rest > 1e-9, rest, 0.0)  # not 0 by rounding errors alone
    gone = sum(int(tricks.played(game, worlds[0], seat)) for seat in range(hands.shape[1]))
    return by_cards(game, sums, gone, len(worlds), exact)


def worlds_in_layers(game: Game) -> float:
    """An estimate, from one random game, of how many distinct worlds a trick-taking game has after the deal."""
    state, random, log = new_state(game), Random(0), 0.0
    sizes = [0] * num_players(game)
    while state.actions() and get(state.world, tricks.PHASE) < tricks.PLAY:
        before, public = state.world[hand_words(game)], len(state.observations(PUBLIC))
        many, chance_moves = len(state.actions()), state.player == CHANCE
        at_once = int(tricks.hand_size(game, state.world)) > 0
        state.play(random.choice(state.actions()))
        if len(state.observations(PUBLIC)) == public:
            log += math.log(many)
        if chance_moves and at_once:  # the order of dealing does not count in a hand that is seen all at once
            for seat in np.flatnonzero(state.world[hand_words(game)] != before).tolist():
                sizes[seat] += 1
                log -= math.log(sizes[seat])
    return math.exp(min(log, 700.0))


def by_cards(game: Game, shares: np.ndarray, played: int, worlds: int, exact: bool) -> Marginals:
    """Marginals by card, for a game that uses the places and contents that trick-taking games share.

    `shares` holds the probability that each card is in each seat's hand, or in no hand: float64[64, seats + 1].
    `played` is the set of cards played, as bits.
    """
    names, columns = places(game)
    seats = [f"seat {seat}" for seat in range(shares.shape[1] - 1)]
    odds = []
    for card in all_cards(game):
        by_place = {
            what: float(share) for what, share in zip([*seats, "undealt"], shares[card], strict=True) if share > 0.0
        }
        by_place = {"played": 1.0} if played >> card & 1 else by_place
        odds.append(dict(sorted(by_place.items(), key=lambda item: -item[1])))
    return Marginals(names, columns, odds, worlds, exact)
