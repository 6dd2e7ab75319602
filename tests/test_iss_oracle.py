"""The oracle of information set search, by hand on small games and beside a second way that shares nothing with it."""

import itertools
import math
import random

import pytest
from oracles import Choice, closest_call, histories, information_set_search, information_sets, uniform_leaf

import foglight as fl

THREE_SEATS = "oh_hell(players=3,suits=1,ranks=4,tricks=1)"
FLEETS = "battleship(width=4,height=1,ships=[1,2],shots=1)"  # the fewer places are left, the fewer actions
JACK, QUEEN, KING = range(3)
PASS, BET = range(2)
LEAVE, ROCK, PAPER, SCISSORS = range(4)


def after(game, *actions):
    state = fl.new_state(game)
    for action in actions:
        state.play(action)
    return state


def forbidden(state):
    raise AssertionError("a leaf was asked for where the game goes to its end")


def clairvoyant(state):
    """Everybody sees everything and takes the best for itself."""
    if state.player == fl.TERMINAL:
        return state.returns()
    following = []
    for action in state.actions():
        child = state.clone()
        child.play(action)
        following.append(clairvoyant(child))
    return max(following, key=lambda payoffs: payoffs[state.player])


def arbitrary(state):
    """Payoffs that nothing ties: they differ from history to history and do not add up to anything."""
    rng = random.Random(repr(state.history()))
    return [rng.uniform(-1.0, 1.0) for _ in range(state.num_players)]


# By hand ------------------------------------------------------------------------------------------------------------


def test_a_queen_facing_a_jack_or_a_king():
    # We (seat 0) hold the queen; the other has the jack with 0.7, the king with 0.3. Payoffs are ours; theirs negative.
    belief = [(after("kuhn_poker", QUEEN, JACK), 0.7), (after("kuhn_poker", QUEEN, KING), 0.3)]

    # To the end, 3 decisions. Level 2, we answer pass-bet: fold -1; call 0.7 * 2 + 0.3 * -2 = 0.8, so we call.
    # Level 1, they answer a pass: jack, pass +1, bet (called) +2, so it passes; king, pass -1, bet -2, so it bets.
    # Level 1, they answer a bet: jack, fold +1, call +2, so it folds; king, fold +1, call -2, so it calls.
    # Level 0: pass 0.7 * 1 + 0.3 * -2 = 0.1; bet 0.7 * 1 + 0.3 * -2 = 0.1.
    choices = {}
    values = information_set_search(belief, 0, 3, forbidden, choices)
    assert values == pytest.approx({PASS: 0.1, BET: 0.1})
    by_level = [
        sorted((choice.action, round(choice.margin, 9)) for (lv, _), choice in choices.items() if lv == level)
        for level in range(3)
    ]
    # the king gains 3 by calling a bet (2 to -1), every other answer at level 1 gains 1; we gain 1.8 by calling
    assert by_level[1:] == [[(PASS, 1.0), (PASS, 1.0), (BET, 1.0), (BET, 3.0)], [(BET, 1.8)]]
    assert choices[0, (0, *belief[0][0].observations(0))].action == PASS  # a tie goes to the lowest action
    assert closest_call(choices) == pytest.approx(1.0)

    # 2 decisions, then at random. Pass-bet: jack (-1 + 2) / 2 = 0.5, king (-1 - 2) / 2 = -1.5. Level 1, they answer a
    # pass: jack, pass +1, bet +0.5, so it bets; king, pass -1, bet -1.5, so it bets. Answers to a bet are as above.
    # Level 0: pass 0.7 * 0.5 + 0.3 * -1.5 = -0.1; bet 0.1.
    assert information_set_search(belief, 0, 2, uniform_leaf) == pytest.approx({PASS: -0.1, BET: 0.1})

    # 1 decision, then at random. Pass: jack (1 + 0.5) / 2 = 0.75, king (-1 - 1.5) / 2 = -1.25, together
    # 0.525 - 0.375 = 0.15. Bet: jack (1 + 2) / 2 = 1.5, king (1 - 2) / 2 = -0.5, together 1.05 - 0.15 = 0.9.
    assert information_set_search(belief, 0, 1, uniform_leaf) == pytest.approx({PASS: 0.15, BET: 0.9})


def test_clairvoyant_leaves_make_seat_0_leave_at_depth_1_and_play_at_depth_2():
    start = [(after("unseen_rps"), 1.0)]
    # seat 1 sees and beats whatever is played [Arjonilla2024, Section II-C]
    at_once = information_set_search(start, 0, 1, clairvoyant)
    assert at_once == {LEAVE: -0.6, ROCK: -1.0, PAPER: -1.0, SCISSORS: -1.0}
    # seat 1 does not see: over rock, paper and scissors alike each answer has mean 0; the lowest, rock, is settled
    choices = {}
    later = information_set_search(start, 0, 2, clairvoyant, choices)
    assert later == {LEAVE: -0.6, ROCK: 0.0, PAPER: 1.0, SCISSORS: -1.0}
    (answer,) = (choice for (level, _), choice in choices.items() if level == 1)
    assert answer == Choice(ROCK, {ROCK: 0.0, PAPER: 0.0, SCISSORS: 0.0}, 0.0)
    assert closest_call(choices) == 0.0


def test_an_answer_to_a_biased_player():
    # rock 0.5, paper 0.3, scissors 0.2: rock -0.3 + 0.2, paper 0.5 - 0.2, scissors -0.5 + 0.3
    belief = [(after("unseen_rps", a), w) for a, w in [(ROCK, 0.5), (PAPER, 0.3), (SCISSORS, 0.2)]]
    for depth in (1, 2):
        choices = {}
        values = information_set_search(belief, 1, depth, forbidden, choices)
        assert values == pytest.approx({ROCK: -0.1, PAPER: 0.3, SCISSORS: -0.2})
        (choice,) = choices.values()
        assert (choice.action, choice.margin) == (PAPER, pytest.approx(0.4))


def test_the_first_bid_for_three_prizes():
    # Seat 0's payoff if it bids a and seat 1 bids b for prize 3, and the rest (prizes 2, 1) is played at random:
    #   a = b: equal hands, 0.    a 2, b 1: 3 points ahead with 1, 3 against 2, 3, cannot lose both the others: 1.
    #   a 3, b 2: likewise with 1, 2 against 1, 3: 1.    a 3, b 1: 1, 2 against 2, 3 loses both prizes, a draw, if 1
    #   meets 2 or 2 meets 3; else it wins: 0.5.    The others are the same with the seats swapped.
    #           b: 1     2     3
    #   a 1        0    -1   -0.5
    #   a 2        1     0    -1
    #   a 3       0.5    1     0
    # Seat 1 does not see a; its means are the columns', negative: -0.5, 0, 0.5. It bids 3, which gives the last column.
    start = [(after("goofspiel(cards=3)"), 1.0)]
    choices = {}
    assert information_set_search(start, 0, 2, uniform_leaf, choices) == pytest.approx({0: -0.5, 1: -1.0, 2: 0.0})
    (answer,) = (choice for (level, _), choice in choices.items() if level == 1)
    assert answer == Choice(2, pytest.approx({0: -0.5, 1: 0.0, 2: 0.5}), pytest.approx(0.5))
    # seeing a, it would answer 1 by 2 and make that -1
    assert information_set_search(start, 0, 1, clairvoyant)[0] == -1.0

    # With one more decision, seat 0's second bid: after a = b the higher card wins or draws, 0.5; elsewhere both cards
    # are worth the same against a random one. Columns: (0.5 + 1 + 0.5) / 3, (-1 + 0.5 + 1) / 3, (-0.5 - 1 + 0.5) / 3.
    # Seat 1 bids 3: -0.5, -1, 0.5. Its margin is 1/3 + 1/6; ties that change nobody's payoffs are no close calls.
    choices = {}
    assert information_set_search(start, 0, 3, uniform_leaf, choices) == pytest.approx({0: -0.5, 1: -1.0, 2: 0.5})
    assert closest_call(choices) == pytest.approx(0.5)

    # To the end. After a = b both bid the higher card: 0. After a 3, b 1 seat 1 has 2 or 3 to bid, is as well off with
    # either against 1 or 2 at random, and bids the lower, 2; seat 0 bids 2 and wins: 1. After a 1, b 3 seat 1 likewise
    # bids 1; seat 0 bids 2 and draws: 0. Columns: (0 + 1 + 1) / 3, (-1 + 0 + 1) / 3, (0 - 1 + 0) / 3; the last again.
    choices = {}
    assert information_set_search(start, 0, 4, forbidden, choices) == pytest.approx({0: 0.0, 1: -1.0, 2: 0.0})
    assert closest_call(choices) == pytest.approx(0.0)


def test_random_play_by_hand():
    # answered by the queen, the jack's bet: fold 1, call -2; its pass: pass -1, or bet, to which fold -1, call -2
    assert uniform_leaf(after("kuhn_poker", JACK, QUEEN, BET)) == pytest.approx([-0.5, 0.5])
    assert uniform_leaf(after("kuhn_poker", JACK, QUEEN, PASS)) == pytest.approx([-1.25, 1.25])
    # over all deals showdowns cancel out; seat 1 folds with 1/4, seat 0 with 1/8
    assert uniform_leaf(after("kuhn_poker")) == pytest.approx([0.125, -0.125])
    assert uniform_leaf(after("leduc_poker")) != uniform_leaf(after("kuhn_poker"))  # one memory for all games


def test_information_sets_are_whole_and_weigh_random_play():
    answers = information_sets("kuhn_poker", 1, random.Random(0), 100)
    assert len(answers) == 6  # three cards, after a pass or a bet
    assert all(sorted(weight for _, weight in members) == [0.5, 0.5] for members in answers)
    # A ship of 1 on cell 0 or 3 leaves a ship of 2 two places, on cell 1 or 2 one: (1/8, 1/8, 1/4) and its mirror.
    shots = [s for s in information_sets(FLEETS, 0, random.Random(0), 100) if len(s[0][0].history()) == 4]
    assert len(shots) == 6
    for members in shots:
        assert sorted(weight for _, weight in members) == pytest.approx([1 / 8] * 4 + [1 / 4] * 2)
    assert len(information_sets("leduc_poker", 0, random.Random(0), 3)) == 3


class Coin:
    """A state of a game of its own: seat 0 starts it, a coin falls heads with 0.8 unseen, seat 1 calls it for 1."""

    num_players = 2

    def __init__(self, *path):
        self.path = path

    @property
    def player(self):
        return (0, fl.CHANCE, 1, fl.TERMINAL)[len(self.path)]

    def clone(self):
        return Coin(*self.path)

    def play(self, action):
        self.path += (action,)

    def actions(self):
        return ([0], [0, 1], [0, 1], [])[len(self.path)]

    def chance(self):
        return [(0, 0.2), (1, 0.8)]

    def observations(self, seat):
        return []

    def returns(self):
        return [-1.0, 1.0] if self.path[1] == self.path[2] else [1.0, -1.0]


def test_histories_weigh_the_odds_of_chance():
    # heads 0.8 - 0.2, tails 0.2 - 0.8
    choices = {}
    assert information_set_search([(Coin(), 1.0)], 0, 2, forbidden, choices) == pytest.approx({0: -0.6})
    assert choices[1, (1,)] == Choice(1, pytest.approx({0: -0.6, 1: 0.6}), pytest.approx(1.2))


def test_histories_weigh_one_over_the_number_of_actions():
    # Seat 1's ship of 1 lies on each cell with 1/4: the ends have two places for the ship of 2, each half as likely as
    # the one place that the middle cells leave. A shot sinks it with 1/4, and so does the random shot that follows.
    choices = {}
    information_set_search([(after(FLEETS), 1.0)], 0, 5, uniform_leaf, choices)
    shots = [choice.means for (level, _), choice in choices.items() if level == 4]
    assert len(shots) == 6
    assert all(means == pytest.approx(dict.fromkeys(range(4), 0.0)) for means in shots)


# The subgame --------------------------------------------------------------------------------------------------------


def test_leaves_lie_right_after_the_last_decision():
    game = "leduc_poker"
    root = [(after(game, 0, card), 0.2) for card in range(1, 6)]
    movers = set()

    def leaf(state):
        assert state.player != fl.TERMINAL
        assert len(state.history()) == 4  # two cards, two decisions: the public card is not dealt
        movers.add(state.player)
        return uniform_leaf(state)

    information_set_search(root, 0, 2, leaf)
    assert movers == {0, fl.CHANCE}


def test_levels_of_an_information_state_are_settled_apart():
    # x has a1, c2, b3, o has b1, c1, a2. If o's next try hits a cross, x's next turn comes a decision later, and x
    # does not know; nor does o, if x ran into a nought.
    root = [(after("phantom_ttt", 0, 1, 5, 2, 7, 3), 1.0)]
    choices = {}
    information_set_search(root, 0, 4, arbitrary, choices)
    levels = {}
    for (level, where), choice in choices.items():
        levels.setdefault(where, []).append((level, choice.action))
    apart = [found for found in levels.values() if len(found) > 1]
    assert len(apart) >= 5
    assert any(len({action for _, action in found}) > 1 for found in apart)


# A second way, along whole lines of play ----------------------------------------------------------------------------


def lines_of_play(worlds, depth, leaf):
    """Every way through the subgame: (odds of belief and chance, ((unit, action, 1/|A|), ...), payoffs)."""
    lines, open_lines = [], [(state, weight, ()) for state, weight in worlds]
    while open_lines:
        state, odds, path = open_lines.pop()
        if state.player == fl.TERMINAL or len(path) == depth:
            lines.append((odds, path, state.returns() if state.player == fl.TERMINAL else leaf(state)))
            continue
        unit = None
        if state.player != fl.CHANCE:
            unit = (len(path), (state.player, *state.observations(state.player)))
        for k, action in enumerate(state.actions()):
            child = state.clone()
            child.play(action)
            if unit is None:
                open_lines.append((child, odds * state.chance()[k][1], path))
            else:
                open_lines.append((child, odds, (*path, (unit, action, 1 / len(state.actions())))))
    return lines


def mean_payoffs(lines, choices):
    """For each unit and action, the mover's mean payoff: all play at random up to the unit, then by `choices`."""
    sums = {}
    for odds, path, payoffs in lines:
        for k in reversed(range(len(path))):
            unit, action, _ = path[k]
            reach = odds * math.prod(share for _, _, share in path[:k])
            found = sums.setdefault(unit, {}).setdefault(action, [0.0, 0.0])
            found[0] += reach
            found[1] += reach * payoffs[unit[1][0]]
            if choices[unit] != action:
                break
    return {unit: {a: total / reach for a, (reach, total) in found.items()} for unit, found in sums.items()}


def is_settled(lines, choices):
    """Whether every choice is a best one, given those below it."""
    means = mean_payoffs(lines, choices)
    assert means.keys() == choices.keys()
    return all(found[choices[unit]] >= max(found.values()) - 1e-9 for unit, found in means.items())


def settled_by_turns(lines, depth):
    """Start anywhere and let all units improve at once, again and again: each round one more level is final."""
    choices = {unit: action for _, path, _ in lines for unit, action, _ in path}
    for _ in range(depth):
        means = mean_payoffs(lines, choices)
        choices = {
            unit: min(a for a, mean in found.items() if mean >= max(found.values()) - 1e-9)
            for unit, found in means.items()
        }
    return choices


@pytest.mark.parametrize(
    ("game", "roots", "compared"),
    [
        ("kuhn_poker", 6, 144),  # 6 information states a seat, 2 seats, 6 depths, 2 leaves
        ("unseen_rps", 1, 24),
        ("goofspiel(cards=3)", 5, 120),
        ("goofspiel(cards=3,order=random)", 4, 96),
        ("leduc_poker", 3, 72),
        (THREE_SEATS, 2, 72),
        (FLEETS, 2, 48),
    ],
)
def test_two_ways_to_settle_agree(game, roots, compared):
    rng = random.Random(game)
    done = clear = 0
    for seat in range(fl.new_state(game).num_players):
        every = information_sets(game, seat, rng, 1_000_000)  # in random order
        first = min(range(len(every)), key=lambda k: len(every[k][0][0].history()))
        for worlds in [every.pop(first), *every[: roots - 1]]:  # an opening has most below it
            # some other belief than random play's
            weights = [weight * rng.uniform(0.2, 1.0) for _, weight in worlds]
            belief = [(state, weight / sum(weights)) for (state, _), weight in zip(worlds, weights, strict=True)]
            for depth, leaf in itertools.product(range(1, 7), (uniform_leaf, arbitrary)):
                choices = {}
                values = information_set_search(belief, seat, depth, leaf, choices)
                lines = lines_of_play(belief, depth, leaf)
                actions = {unit: choice.action for unit, choice in choices.items()}
                assert is_settled(lines, actions)
                assert actions == settled_by_turns(lines, depth)
                root = (0, (seat, *belief[0][0].observations(seat)))
                assert values == pytest.approx(mean_payoffs(lines, actions)[root])
                done += 1
                clear += closest_call(choices) > 1e-9
    assert done == compared
    assert clear >= compared / 2


def test_only_one_set_of_choices_is_settled():
    # the queen again: every choice but the root's, which is a tie, must be as worked out there
    belief = [(after("kuhn_poker", QUEEN, JACK), 0.7), (after("kuhn_poker", QUEEN, KING), 0.3)]
    choices = {}
    information_set_search(belief, 0, 3, forbidden, choices)
    lines = lines_of_play(belief, 3, forbidden)
    units = list(choices)
    every = [dict(zip(units, actions, strict=True)) for actions in itertools.product((PASS, BET), repeat=len(units))]
    settled = [actions for actions in every if is_settled(lines, actions)]
    assert (len(every), len(settled)) == (64, 2)
    below = [{unit: action for unit, action in actions.items() if unit[0] > 0} for actions in settled]
    assert below[0] == below[1] == {unit: choice.action for unit, choice in choices.items() if unit[0] > 0}


def test_depth_1_is_the_mean_of_the_leaves():
    belief = [
        (state, 1 / 5) for state in histories("leduc_poker") if state.history()[:1] == [3] and len(state.history()) == 2
    ]
    assert len(belief) == 5
    values = information_set_search(belief, 0, 1, arbitrary)
    for action, value in values.items():
        leaves = [after("leduc_poker", *state.history(), action) for state, _ in belief]
        assert value == pytest.approx(sum(arbitrary(leaf)[0] for leaf in leaves) / 5)
