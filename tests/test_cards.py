"""Facts of the trick-taking core and its games that can be worked out by hand, and the card game beside an oracle."""

import random

import numpy as np
import pytest
from oracles import random_game

import foglight as fl
from foglight import bits
from foglight.cards import tricks
from foglight.cards.deck import card_text, num_suits, suit_cards, suit_of
from foglight.compile import kernel
from foglight.games import card_game, oh_hell, spades
from foglight.rules import begin, new_worlds, num_actions, num_players

pytestmark = pytest.mark.plain

TRICK_GAMES = ["oh_hell(players=4,suits=3,ranks=5)", "hearts", "spades", "spades(breaking=yes)", "card_game(pack=7)"]
every_trick_game = pytest.mark.parametrize("name", TRICK_GAMES)


def card(game, text):
    """The number of a card."""
    return next(c for c in range(52) if card_text(game, c) == text)


def cards(game, texts):
    """A set of cards from text: `Ah Kh`."""
    return np.uint64(sum(1 << card(game, text) for text in texts.split()))


def play(state, texts):
    """Play actions as people write them."""
    for text in texts.split(", "):
        state.play(state.parse_action(text))
    return state


def dealt(state, hands):
    """Deal hands given as text, one card to each seat in turn."""
    for turn in zip(*(hand.split() for hand in hands), strict=True):
        for text in turn:
            state.play(card(state.game, text))
    return state


def legal_texts(state):
    return {state.action_text(action) for action in state.actions()}


# The core -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("played", "best"),
    [
        ("9h Th 2h Jh", "Jh"),  # the highest card of the suit led
        ("9h Ad Kc 2h", "9h"),  # discards never win, however high
        ("9h 2s Ah Kd", "2s"),  # the lowest trump beats the ace of the suit led
        ("9h 3s Ah 2s", "3s"),  # a lower trump after a higher one does not
        ("9h 3s Ah 4s", "4s"),  # a higher one does
        ("3s Ah 2s 5s", "5s"),  # trumps led
    ],
)
def test_who_wins_a_trick(played, best):
    game = fl.load_game("spades")
    first, *rest = [card(game, text) for text in played.split()]
    led, winning = suit_cards(game, suit_of(game, first)), first
    for number in rest:
        if tricks.beats(cards(game, "2s 3s 4s 5s"), led, number, winning):
            winning = number
    assert card_text(game, winning) == best


def small_oh_hell():
    """Three seats with three cards each of clubs, diamonds and spades, 2 to 5; spades are trumps, seat 0 leads."""
    state = play(fl.new_state("oh_hell(players=3,suits=3,ranks=4,tricks=3)"), "3 tricks, dealer 2")
    dealt(state, ["5c 2d 3s", "4c 3c 4d", "5d 3d 2s"])
    return play(state, "4s, bid 1, bid 1, bid 0")


def test_the_dealer_may_not_make_the_bids_add_up():
    state = play(fl.new_state("oh_hell(players=3,suits=3,ranks=4,tricks=3)"), "3 tricks, dealer 2")
    dealt(state, ["5c 2d 3s", "4c 3c 4d", "5d 3d 2s"])
    play(state, "4s, bid 1, bid 1")
    assert legal_texts(state) == {"bid 0", "bid 2", "bid 3"}


def test_suit_must_be_followed_and_a_void_is_shown_and_trumps_win():
    state = small_oh_hell()
    assert legal_texts(state) == {"5c", "2d", "3s"}
    play(state, "5c")
    assert legal_texts(state) == {"4c", "3c"}
    play(state, "3c")
    assert legal_texts(state) == {"5d", "3d", "2s"}
    assert not tricks.is_void(state.world, 2, 0)
    play(state, "2s")
    assert tricks.is_void(state.world, 2, 0)
    assert [int(tricks.taken(state.world, seat)) for seat in range(3)] == [0, 0, 1]
    assert state.player == 2
    assert "void: seat 2 in c" in fl.rules.view(state.game, state.world, 0)


def test_oh_hell_pays_ten_for_an_exact_bid():
    state = play(small_oh_hell(), "5c, 3c, 2s, 5d, 2d, 4d, 3d, 3s, 4c")
    # seat 2 takes two tricks, having bid 0; seat 0 the last one with 3s, having bid 1; seat 1 none, having bid 1
    assert state.returns() == [10 + 1, 0, 2]


@pytest.mark.parametrize(
    ("penalty", "points", "bid", "won", "pays"),
    [(0, 1, 3, 3, 13), (0, 1, 3, 2, 2), (0, 5, 0, 2, 10), (1, 1, 3, 3, 13), (1, 2, 3, 1, -4), (1, 2, 0, 3, -6)],
)
def test_oh_hell_scores(penalty, points, bid, won, pays):
    game = oh_hell.OhHell(off_bid_penalty=penalty, points_per_trick=points)
    assert oh_hell.score(game, bid, won) == pays


@pytest.mark.parametrize(
    ("bids", "won", "points"),
    [
        ((4, 3), (4, 3), 70),
        ((4, 3), (5, 4), 70 + 2),  # two bags
        ((4, 3), (3, 3), -70),
        ((0, 4), (0, 4), 40 + 100),
        ((0, 4), (1, 4), 40 + 1 - 100),
        ((0, 4), (1, 3), 40 - 100),  # a failed nil's tricks count for its partner
        ((0, 0), (0, 0), 100 + 100),
        ((1, 1), (7, 5), 20 + 10 - 100),  # ten bags
    ],
)
def test_spades_scores(bids, won, points):
    assert spades.score(*bids, *won) == points


def test_hearts_opens_with_the_two_of_clubs_and_keeps_points_off_the_first_trick():
    game = fl.load_game("hearts")
    by_rank = [[card_text(game, c) for c in range(52) if suit_of(game, c) == suit] for suit in range(4)]
    clubs, diamonds, hearts, black = by_rank
    hands = [[*clubs[:12], "Ah"], [*diamonds[:12], "Qs"], ["Ac", *hearts[:12]], ["Ad", *black[:10], *black[11:]]]
    state = dealt(play(fl.new_state(game), "pass nowhere"), [" ".join(hand) for hand in hands])
    assert legal_texts(state) == {"2c"}
    play(state, "2c")
    assert legal_texts(state) == set(diamonds[:12])  # void in clubs, but not the queen of spades
    play(state, "2d, Ac")
    assert legal_texts(state) == {"Ad", *black} - {"Qs"}
    play(state, "Ks")
    assert state.player == 2  # the ace of clubs takes it, and its holder has nothing but hearts left
    assert legal_texts(state) == set(hearts[:12])
    play(state, "2h")
    assert [tricks.is_void(state.world, 2, suit) for suit in range(4)] == [True, True, False, True]


def test_a_seat_that_takes_all_points_in_hearts_shoots_the_moon():
    game = fl.load_game("hearts")
    suits = [" ".join(card_text(game, c) for c in range(suit, 52, 4)) for suit in range(4)]
    state = dealt(play(fl.new_state(game), "pass nowhere"), suits)
    while state.player != fl.TERMINAL:
        state.play(state.actions()[0])
    assert state.returns() == [26, 0, 0, 0]  # seat 0 leads clubs 13 times: 0 points for it, 26 for each other seat


@pytest.mark.parametrize("breaking", ["no", "yes"])
def test_spades_are_led_by_a_seat_with_nothing_else_or_once_broken(breaking):
    hands = ["2c 3c 4c 5c 6c 7c 8c 9c Tc Jc Qc Ks Qs", "2d 3d 4d 5d 6d 7d 8d 9d Td Jd Qd Kd As"]
    hands += ["2h 3h 4h 5h 6h 7h 8h 9h Th Jh Qh Kh Ah", "Ac Kc Ad 2s 3s 4s 5s 6s 7s 8s 9s Ts Js"]
    state = play(dealt(fl.new_state(f"spades(breaking={breaking})"), hands), "bid 1, nil, bid 0, bid 3")
    assert {"Ks", "Qs"}.isdisjoint(legal_texts(state))
    play(state, "2c, As, 2h, Ac")  # seat 1 trumps, which breaks spades
    play(state, "2d, 3h, Ad, Ks")  # seat 0 trumps
    assert state.player == 0
    assert ("Qs" in legal_texts(state)) == (breaking == "yes")
    play(state, "3c, 3d, 4h, Kc, 2s")  # seat 3 has nothing but spades, which its lead shows if it could lead no spade
    assert [tricks.is_void(state.world, 3, suit) for suit in range(4)] == [breaking == "no"] * 3 + [False]


# The layout that these games share ------------------------------------------------------------------------------


@every_trick_game
def test_hands_and_voids_are_what_they_say(name):
    rng, voids = random.Random(name), 0
    for _ in range(5):
        for state in random_game(name, rng):
            game, world, seats = state.game, state.world, range(state.num_players)
            assert tricks.is_trick_taking(game)
            held = [int(tricks.hand(game, world, seat)) for seat in seats]
            gone = [int(tricks.played(game, world, seat)) for seat in seats]
            turned = isinstance(game, oh_hell.OhHell) and bits.get(world, tricks.PHASE) > tricks.DEAL
            places = [*held, *gone, 1 << bits.get(world, oh_hell._turned(game)) if turned else 0]
            assert sum(map(bits.count, places)) == bits.count(int(np.bitwise_or.reduce(places)))
            assert int(np.bitwise_or.reduce(places)) & ~int(tricks.pack(game, world)) == 0
            assert sum(tricks.taken(world, seat) for seat in seats) == bits.get(world, tricks.TRICKS_PLAYED)
            for seat in seats:
                for suit in range(num_suits(game)):
                    if tricks.is_void(world, seat, suit):
                        assert held[seat] & int(suit_cards(game, suit)) == 0
                        voids += 1
    assert voids > 20


@every_trick_game
def test_what_lies_open_follows_from_the_public_observations(name):
    def shown(state):
        """What everybody has played, the table, the voids, the tricks taken."""
        plays = [int(tricks.played(state.game, state.world, seat)) for seat in range(num_players(state.game))]
        return (*plays, *(int(word) for word in state.world[1:4]))

    if fl.compile.INTERPRET_ALL and name in ("hearts", "spades", "spades(breaking=yes)"):
        pytest.skip("drawing deals of 52 cards takes long, interpreted")
    rng, compared = random.Random(name), 0
    for state in rng.sample(list(random_game(name, rng)), 12):
        found = fl.history_filter(name, state.observations(fl.PUBLIC), mover=state.player)
        for other in found.sample(2, seed=1):
            assert shown(other) == shown(state)
            compared += other.history() != state.history() and any(shown(state))
    assert compared >= 8


def test_other_games_are_not_trick_taking():
    assert not tricks.is_trick_taking(fl.load_game("kuhn_poker"))


# The card game --------------------------------------------------------------------------------------------------


def oracle(history):
    """The card game as a slow list of tuples: (mover, legal cards, tricks taken), from the cards dealt and played."""
    deal, plays = history[:16], history[16:]
    hands, won, leader = [set(deal[0::2]), set(deal[1::2])], [0, 0], 0
    for i, number in enumerate(plays):
        mover = leader if i % 2 == 0 else 1 - leader
        hands[mover].remove(number)
        if i % 2 == 1:
            led = plays[i - 1]
            leader = mover if number // 13 == led // 13 and number > led else leader
            won[leader] += 1
    mover, legal = (leader, hands[leader]) if len(plays) % 2 == 0 else (1 - leader, hands[1 - leader])
    if len(plays) % 2 == 1:
        legal = {number for number in legal if number // 13 == plays[-1] // 13} or legal
    return mover, sorted(legal), won


def test_the_card_game_is_the_oracles():
    rng = random.Random(1)
    for i in range(60):
        for state in random_game(f"card_game(pack={i})", rng):
            if state.player == fl.CHANCE:
                assert len(state.actions()) == 22 - len(state.history())
                continue
            mover, legal, won = oracle(state.history())
            assert state.actions() == legal
            if legal:
                assert state.player == mover
            else:
                assert sum(won) == 8
                assert state.returns() == [float(np.sign(won[0] - won[1])), float(np.sign(won[1] - won[0]))]


@kernel
def _begun(game, world):
    begin(game, world)


def test_a_pack_is_22_cards_and_the_same_compiled():
    packs = set()
    for number in (*range(20), 999999):
        game = card_game.CardGame(number)
        plain, compiled = new_worlds(game, 2)
        begin(game, plain)
        _begun(game, compiled)
        assert plain.tobytes() == compiled.tobytes()
        packs.add(tuple(fl.new_state(game).actions()))
    assert len(packs) == 21
    assert all(len(pack) == 22 and max(pack) < 52 for pack in packs)


# Text -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["oh_hell", "hearts", "spades", "card_game"])
def test_cards_have_the_names_people_give_them(name):
    game = fl.load_game(name)
    texts = [card_text(game, number) for number in range(52)]
    assert sorted(texts) == sorted(rank + suit for rank in "23456789TJQKA" for suit in "cdhs")
    assert num_actions(game) >= 52
    state = fl.new_state("spades")
    assert state.parse_action("10D") == state.parse_action("td") == state.parse_action("dT") == card(state.game, "Td")


def test_a_view_holds_ones_own_hand_and_nobody_elses():
    state = small_oh_hell()
    seen = fl.rules.view(state.game, state.world, 0)
    assert "3s  2d  5c" in seen
    assert "4s turned" in seen
    assert not any(text in seen for text in ("4c", "3c", "4d", "5d", "3d", "2s"))
    assert all(text in str(state) for text in ("4c", "3c", "4d", "5d", "3d", "2s"))


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("oh_hell(players=7,tricks=8)", "give at most tricks=7"),
        ("oh_hell(players=5,suits=2,ranks=2)", "give more suits or ranks, or fewer players"),
        ("oh_hell(suits=3,ranks=4,tricks=4)", "need 13 cards, 3 suits of 4 have 12; give at most tricks=3"),
    ],
)
def test_what_does_not_go_together_is_refused_with_advice(name, advice):
    with pytest.raises(fl.BadInput, match=advice):
        fl.load_game(name)
