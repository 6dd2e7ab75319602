"""The trick-taking games move in lock step with OpenSpiel's.

While cards are dealt, its strings show a hand as it grows, and afterwards as a set; ours show it once, when it is full,
except in hearts, where the chain of strings recalls the order of dealing as we do.
Information states are compared wherever somebody decides or the game is over. Spades has observation strings only, so
there the chain of strings counts, each time it changed after the deal.
"""

import random

import pyspiel
import pytest
from lockstep import Shown, check_lockstep, information, observation

import foglight as fl

large_packs = pytest.mark.parametrize("games", [150, pytest.param(500, marks=pytest.mark.long)])


def theirs_oh_hell(players=3, suits=4, ranks=13, tricks=-1, off_bid_penalty=False, points_per_trick=1):
    return (
        f"oh_hell(players={players},num_suits={suits},num_cards_per_suit={ranks},num_tricks_fixed={tricks},"
        f"off_bid_penalty={off_bid_penalty},points_per_trick={points_per_trick})"
    )


@pytest.mark.parametrize(
    ("ours_name", "theirs_name"),
    [
        ("oh_hell", "oh_hell"),
        ("oh_hell(players=3,suits=3,ranks=4,tricks=3)", theirs_oh_hell(3, 3, 4, 3)),
        ("oh_hell(players=3,suits=2,ranks=4,tricks=2)", theirs_oh_hell(3, 2, 4, 2)),
        ("oh_hell(players=3,suits=1,ranks=7)", theirs_oh_hell(3, 1, 7)),
        ("oh_hell(players=4,tricks=5)", theirs_oh_hell(4, tricks=5)),
        ("oh_hell(players=7)", theirs_oh_hell(7)),
        ("oh_hell(players=4,suits=3,ranks=6,off_bid_penalty=yes)", theirs_oh_hell(4, 3, 6, off_bid_penalty=True)),
        (
            "oh_hell(players=5,ranks=5,off_bid_penalty=yes,points_per_trick=2)",
            theirs_oh_hell(5, 4, 5, off_bid_penalty=True, points_per_trick=2),
        ),
        ("oh_hell(suits=2,ranks=5,points_per_trick=2)", theirs_oh_hell(3, 2, 5, points_per_trick=2)),
    ],
)
@large_packs
def test_oh_hell_is_openspiels(ours_name, theirs_name, games):
    # only tiny packs let a seat see the same twice in random games; for the others there are exchanged cards below
    tiny = ours_name in ("oh_hell(players=3,suits=2,ranks=4,tricks=2)", "oh_hell(players=3,suits=1,ranks=7)")
    check_lockstep(ours_name, theirs_name, 500 if tiny else games, at_chance=False, again=300 if tiny else 0)


def after_deal(text):
    """What is shown once the cards are dealt."""
    return lambda state, seat: "" if state.is_chance_node() else text(state, seat)


@large_packs
def test_hearts_is_openspiels(games):
    # hearts shows its cards one by one, here and, for those who watch the string change, there
    check_lockstep("hearts", "hearts", games, chain=True)


@large_packs
def test_spades_is_openspiels(games):
    check_lockstep("spades", "spades", games, chain=True, text=after_deal(observation), at_chance=False, again=0)


@pytest.mark.parametrize(
    ("ours_name", "theirs_name", "first", "text"),
    [
        ("oh_hell(tricks=5)", theirs_oh_hell(tricks=5), 2, after_deal(information)),
        ("hearts", "hearts", 1, information),
        ("spades", "spades", 0, after_deal(observation)),
    ],
)
def test_cards_changed_behind_a_seats_back_change_nothing_for_it(ours_name, theirs_name, first, text):
    # random games of 52 cards hardly ever look the same to anyone; exchanging two dealt cards makes pairs that do
    def shown(history):
        ours, theirs = fl.new_state(ours_name), pyspiel.load_game(theirs_name).new_initial_state()
        screens = [Shown(text) for _ in range(ours.num_players)]
        for action in [*history, None]:
            for seat, screen in enumerate(screens):
                screen.look(theirs, seat)
            if action is not None:
                if ours.player >= 0:
                    screens[ours.player].act(action)
                ours.play(action)
                theirs.apply_action(action)
        return ours, [screen.chain for screen in screens]

    rng, pairs, alike = random.Random(ours_name), 0, 0
    while pairs < 300:
        state = fl.new_state(ours_name)
        while state.player != fl.TERMINAL and (state.player == fl.CHANCE or rng.random() < 0.95):
            state.play(rng.choice(state.actions()))
        history, cards = state.history(), (15 if first == 2 else 52)
        i, j = (first + k for k in rng.sample(range(cards), 2))
        history[i], history[j] = history[j], history[i]
        try:
            ours, theirs_chains = shown(history)
        except fl.BadInput:
            continue  # what was played afterwards is not legal with these hands
        pairs += 1
        _, chains = shown(state.history())
        for seat in range(state.num_players):
            same = ours.observations(seat) == state.observations(seat)
            assert same == (theirs_chains[seat] == chains[seat])
            alike += same
    assert alike > 100


def both_after(ours_name, theirs_name, history):
    ours, theirs = fl.new_state(ours_name), pyspiel.load_game(theirs_name).new_initial_state()
    for action in history:
        ours.play(action)
        theirs.apply_action(action)
    return ours, theirs


def test_openspiels_hearts_does_not_tell_that_nothing_is_passed():
    ours, theirs = both_after("hearts", "hearts", [0])
    assert theirs.information_state_string(0) == pyspiel.load_game(
        "hearts"
    ).new_initial_state().information_state_string(0)
    assert ours.observations(0) == []


def test_openspiels_hearts_lays_all_passes_open_at_the_end_and_so_do_we():
    # the same cards change hands and the same cards are played; only the order in which seat 1 chose them differs
    ends = []
    for chosen in ((1, 5, 9), (9, 5, 1)):
        history = [2, *range(52), 0, 4, 8, *chosen, 2, 6, 10, 3, 7, 11]
        ours, theirs = both_after("hearts", "hearts", history)
        while not theirs.is_terminal():
            action = theirs.legal_actions()[0]
            before = (ours.observations(0), theirs.information_state_string(0))
            ours.play(action)
            theirs.apply_action(action)
        ends.append((*before, ours.observations(0), theirs.information_state_string(0)))
    first, second = ends
    assert first[:2] == second[:2]
    assert first[2] != second[2]
    assert first[3] != second[3]


def test_shooting_the_moon_pays_as_in_openspiel():
    # each seat holds one suit, seat 0 the clubs: it takes every trick
    ours, theirs = both_after("hearts", "hearts", [0, *range(52)])
    while not theirs.is_terminal():
        action = theirs.legal_actions()[-1]
        ours.play(action)
        theirs.apply_action(action)
    assert ours.returns() == theirs.returns() == [26, 0, 0, 0]


def test_openspiels_hearts_without_passing_still_draws_a_direction():
    # with pass_cards=false its legal outcome is "no pass" alone, but its chance outcomes are all four directions; ours
    # go by the former, and from there on the games are the same
    theirs = pyspiel.load_game("hearts(pass_cards=false)").new_initial_state()
    assert theirs.legal_actions() == [0]
    assert [outcome for outcome, _ in theirs.chance_outcomes()] == [0, 1, 2, 3]
    assert fl.new_state("hearts(passing=no)").chance() == [(0, 1.0)]
    play_on("hearts(passing=no)", "hearts(pass_cards=false)", 50)


def play_on(ours_name, theirs_name, games, prefer=lambda actions: actions):
    """Random games on both sides; the legal actions and the returns agree."""
    rng = random.Random(theirs_name)
    for _ in range(games):
        ours, theirs = both_after(ours_name, theirs_name, [])
        while not theirs.is_terminal():
            assert ours.actions() == theirs.legal_actions()
            action = rng.choice(prefer(ours.actions()))
            ours.play(action)
            theirs.apply_action(action)
        assert ours.returns() == theirs.returns()


def test_nil_and_bags_score_as_in_openspiel():
    # bids of 0 and 1 only: nils made and failed, and sides with ten bags or more
    play_on("spades", "spades", 200, lambda actions: actions[:2] if actions[0] >= 52 else actions)


def test_openspiels_spades_are_never_broken():
    # it reads a flag that says whether spades are broken, but nothing sets it: a seat that leads and holds anything
    # else never gets to lead a spade, even after spades have been played; breaking=no does the same, breaking=yes not
    rng, leads, repaired = random.Random(2), 0, 0
    for _ in range(30):
        ours, theirs = both_after("spades(breaking=yes)", "spades", [])
        while not theirs.is_terminal():
            plays = theirs.history()[56:]
            if plays and len(plays) % 4 == 0 and max(plays) >= 39:
                legal = theirs.legal_actions()
                assert len({card >= 39 for card in legal}) == 1
                leads += 1
                repaired += len({card >= 39 for card in ours.actions()}) == 2
            action = rng.choice(theirs.legal_actions())
            ours.play(action)
            theirs.apply_action(action)
    assert leads > 100
    assert repaired > 20
