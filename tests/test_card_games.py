"""Card games with rules drawn at random: beliefs from deals beside layers, which are right for every game."""

import json
import math
import random
from collections import Counter

import numpy as np
import pytest
from card_games import (
    AT_ONCE,
    DOWN,
    FEW_OTHERS,
    HAS_LOWEST,
    HELD_BIDS,
    LEFT,
    LOW_ONLY,
    SUIT_TOLD,
    TWO_TRUMPS,
    AnyCards,
    random_rules,
)
from oracles import random_game
from scipy.stats import chi2

import foglight as fl
from foglight.cards import tricks
from foglight.cards.tricks import BID, PASS, hand, hides_only_cards, playable_by_pairs, played
from foglight.policies import Biased, tabular
from foglight.rules import key
from foglight.search.belief import Belief
from foglight.worlds.deals.cards import worlds_in_layers
from foglight.worlds.deals.count import DealCount
from foglight.worlds.deals.filter import DealFilter
from foglight.worlds.deals.story import Unfit

GAMES = 200
FALSE_ALARM = 1e-6  # of each statistical test, all its comparisons together
LARGE = AnyCards(players=4, suits=4, ranks=13, size=12, laid=2)


def questions(game, rng, positions=2):
    """Random positions of a random game, each from two pairs of eyes, with a mover or without."""
    states = list(random_game(game, rng))
    for state in rng.sample(states, min(positions, len(states))):
        for viewer in (fl.PUBLIC, rng.randrange(game.players)):
            mover = state.player if state.player != fl.TERMINAL and rng.random() < 0.5 else None
            yield state, viewer, mover


def both(game, state, viewer, mover, policy=None):
    observed = state.observations(viewer)
    return tuple(fl.history_filter(game, observed, viewer, policy, way, mover=mover) for way in ("layers", "deals"))


def listed(found):
    return {tuple(state.history()): weight for state, weight in found.enumerate()}


def same_odds(one, other):
    return all(
        abs(left.get(what, 0.0) - right.get(what, 0.0)) < 1e-9
        for left, right in zip(one.odds, other.odds, strict=True)
        for what in {*left, *right}
    )


# The games themselves -----------------------------------------------------------------------------------------------


def test_the_games_keep_the_contract():
    rng, decisions = random.Random(1), 0
    for _ in range(60):
        game = random_rules(rng)
        legal_of, public_of, keys = {}, {}, {}
        for state in (state for _ in range(3) for state in random_game(game, rng)):
            for seat in range(game.players):
                observed = (seat, *state.observations(seat))
                assert public_of.setdefault(observed, state.observations(-1)) == state.observations(-1)
                assert keys.setdefault(int(key(game, state.world, seat)), observed) == observed
            if state.player < 0:
                continue
            observed = (state.player, *state.observations(state.player))
            assert legal_of.setdefault(observed, state.actions()) == state.actions()
            told = set()
            for action in state.actions():
                after = state.clone()
                after.play(action)
                assert len(after.observations(state.player)) == len(observed)
                told.add(after.observations(state.player)[-1])
            assert len(told) == len(state.actions())
            decisions += 1
    assert decisions > 800


# Promised games: deals beside layers --------------------------------------------------------------------------------


@pytest.mark.parametrize("positions", [1, pytest.param(2, marks=pytest.mark.long)])
def test_deals_agree_with_layers_in_games_that_promise(positions):
    rng, compared, by_pairs, listed_too = random.Random(positions), 0, 0, 0
    for _ in range(GAMES):
        game = random_rules(rng, promised=True)
        for state, viewer, mover in questions(game, rng, positions):
            layers, deals = both(game, state, viewer, mover)
            assert deals.exists() and layers.exists()
            assert (deals.count(), deals.deals()) == (layers.count(), layers.deals()), (game, state.history(), viewer)
            believed = deals.belief(most=10**6)
            assert believed.exact and same_odds(believed, layers.belief(most=10**6)), (game, state.history(), viewer)
            assert deals.contains(state)
            compared += 1
            by_pairs += bool(playable_by_pairs(game))
            if deals.count() <= 60:
                assert listed(deals) == listed(layers)
                listed_too += 1
            assert fl.history_filter(game, state.observations(viewer), viewer).method == "deals"
    assert compared > 375 * positions and listed_too > 60 * positions
    assert by_pairs > 180 * positions and compared - by_pairs > 90 * positions


def test_samples_from_deals_are_uniform():
    rng, compared, wanted = random.Random(3), 0, 60
    while compared < wanted:
        game = random_rules(rng, promised=True)
        for state, viewer, mover in questions(game, rng, positions=4):
            layers, deals = both(game, state, viewer, mover)
            total = layers.count()
            if not 2 <= total <= 100 or compared == wanted:
                continue
            drawn = Counter(tuple(s.history()) for s in deals.sample(20 * total, seed=rng.randrange(10**6)))
            assert deals.diagnostics()["exact"]
            expected = listed(layers)
            assert set(drawn) <= set(expected)
            statistic = sum((drawn[history] - 20) ** 2 / 20 for history in expected)
            assert statistic < chi2.isf(FALSE_ALARM / wanted, total - 1), (game, state.history(), viewer)
            compared += 1


def test_weights_under_a_policy_are_those_of_layers():
    rng, compared = random.Random(4), 0
    for _ in range(60):
        game = random_rules(rng, promised=True)
        for state, viewer, mover in questions(game, rng):
            layers, deals = both(game, state, viewer, mover, Biased(0.7, 3))
            if layers.count() <= 300:
                assert listed(deals) == pytest.approx(listed(layers))
                believed = deals.belief()
                assert believed.exact and same_odds(believed, layers.belief(most=10**6))
                compared += 1
    assert compared > 60


def test_a_policy_that_rules_actions_out_rules_histories_out():
    rng, fewer = random.Random(5), 0
    for _ in range(40):
        game = random_rules(rng, promised=True)
        *_, state = random_game(game, rng)
        table, at = {}, fl.new_state(game)
        for action in state.history():  # the true players play what they played, and nothing else
            if at.player >= 0:
                table[int(key(game, at.world, at.player))] = [float(a == action) for a in at.actions()]
            at.play(action)
        policy = tabular(table)
        layers, deals = both(game, state, fl.PUBLIC, None, policy)
        assert deals.count() == layers.count() and deals.exists()
        assert deals.contains(state)
        everything = fl.history_filter(game, state.observations(-1), method="layers")
        fewer += deals.count() < everything.count()
        for other, _ in everything.enumerate() if everything.count() <= 50 else ():
            assert deals.contains(other) == layers.contains(other) == (tuple(other.history()) in listed(layers))
    assert fewer > 10


# Games that promise nothing ------------------------------------------------------------------------------------------


def test_games_that_promise_nothing_are_left_to_layers():
    rng, compared, sampled, refused = random.Random(6), 0, 0, Counter()
    for _ in range(GAMES):
        game = random_rules(rng, promised=False)
        for state, viewer, mover in questions(game, rng, positions=1):
            observed = state.observations(viewer)
            found = fl.history_filter(game, observed, viewer, mover=mover)
            assert found.method == "layers" and found.contains(state)
            deals = fl.history_filter(game, observed, viewer, method="deals", mover=mover)
            for ask in (deals.count, deals.deals, lambda deals=deals: next(deals.enumerate())):
                with pytest.raises(fl.BadInput):
                    ask()
            compared += 1
            try:
                drawn = deals.sample(3)
            except Unfit as why:
                refused[str(why)[:20]] += 1
                continue
            assert all(found.contains(s) for s in drawn) and not deals.diagnostics()["exact"]
            assert not deals.belief(most=20).exact
            sampled += 1
    assert compared == 2 * GAMES and sampled > 180 and refused.total() > 12


@pytest.mark.parametrize(
    "rules",
    [
        {"ranks": 3, "laid": 1, "phase": PASS},  # all cards are dealt: else there are more worlds than this needs
        {"ranks": 3, "laid": 1, "phase": BID, "noticed": 1},
        {"ranks": 3, "laid": 1, "goes": AT_ONCE},
        {"ranks": 3, "laid": 1, "goes": LOW_ONLY},
        {"ranks": 3, "laid": 1, "goes": SUIT_TOLD, "noticed": 1},
        {"bids": HELD_BIDS},
        {"leader": HAS_LOWEST},
        {"lead": FEW_OTHERS},
        {"lead": TWO_TRUMPS},
    ],
)
def test_rules_that_a_new_user_would_write(rules):
    game = AnyCards(**{"players": 3, "suits": 2, "ranks": 4, "size": 2} | rules)
    rng, compared = random.Random(7), 0
    for _ in range(2):
        for state, viewer, mover in questions(game, rng, positions=5):
            found = fl.history_filter(game, state.observations(viewer), viewer, mover=mover)
            layers, _ = both(game, state, viewer, mover)
            assert (found.count(), found.deals()) == (layers.count(), layers.deals())
            compared += 1
    result = fl.play_match(game, ["pimc(iterations=20)", "ismcts(iterations=20)", "epimc(iterations=20)"], games=1)
    assert len(result.mean_returns) == 3
    assert compared == 20


def promise(monkeypatch, rule, given):
    monkeypatch.setitem(rule.rule.implementations, AnyCards, lambda game: given)


def test_a_promise_that_is_not_kept_is_found_out(monkeypatch):
    game = AnyCards(players=2, suits=2, ranks=4, size=3, lead=FEW_OTHERS)
    promise(monkeypatch, playable_by_pairs, True)
    rng, told, wrong = random.Random(8), 0, 0
    for _ in range(40):
        states = [s for s in random_game(game, rng) if len(s.history()) > 6]
        state = rng.choice(states)
        layers, deals = both(game, state, fl.PUBLIC, None)
        try:
            wrong += deals.count() != layers.count()
        except Unfit as why:
            assert "take the promise back" in str(why)
            told += 1
            chosen = fl.history_filter(game, state.observations(fl.PUBLIC))
            assert chosen.method != "layers" or chosen.count() == layers.count()
    assert told > 5 and wrong == 0


def test_pairs_alone_would_miss_histories_where_larger_hands_allow_more(monkeypatch):
    """Why play excludes nothing without the promise: with it, a trump led from two would be thought impossible."""
    game = AnyCards(players=2, suits=2, ranks=4, size=3, lead=TWO_TRUMPS)
    rng = random.Random(9)
    states = [state for _ in range(40) for state in random_game(game, rng) if len(state.history()) == 7]
    assert all(both(game, s, -1, None)[0].count() == both(game, s, -1, None)[1].count() for s in states[:10])
    promise(monkeypatch, playable_by_pairs, True)
    counts = [(both(game, s, -1, None)[0].count(), both(game, s, -1, None)[1].count()) for s in states]
    assert any(deals < layers for layers, deals in counts)


# Any size ------------------------------------------------------------------------------------------------------------


def after_plays(game, plays, seed=1):
    rng = random.Random(seed)
    state = fl.new_state(game)
    while fl.bits.get(state.world, tricks.PHASE) < tricks.PLAY or plays > 0:
        plays -= fl.bits.get(state.world, tricks.PHASE) == tricks.PLAY
        state.play(rng.choice(state.actions()))
    return state


@pytest.mark.parametrize("goes", [DOWN, LEFT])
def test_hidden_cards_of_a_whole_pack_are_counted(goes):
    game = LARGE._replace(goes=goes)
    state = after_plays(game, 0)
    ways = math.perm(52, 48) * (12 * 11) ** 4
    if goes == DOWN:  # or seat 0 is still to lay down its first card, or its second
        ways += math.perm(52, 48) * (1 + 12)
    assert state.player == 0  # nobody notices that cards are dealt and laid down, but whoever is to move
    assert fl.history_filter(game, state.observations(-1), mover=0).count() == ways
    # seat 1 knows its twelve cards and what it laid; of what it got from the left, in either order, too
    own = math.factorial(12) * math.perm(40, 36) * (12 * 11) ** 3
    got = math.factorial(12) * math.perm(38, 34) * 2 * (12 * 11) ** 3
    found = fl.history_filter(game, state.observations(1), 1, mover=0)
    assert found.count() == (own if goes == DOWN else got)
    assert found.deals() == own_deals(goes)


def own_deals(goes):
    """How seat 1 may think that the others' hands lie when play begins: nobody has led."""
    if goes == DOWN:  # 40 cards it was not dealt: three hands of 10, and 10 in nobody's hand
        return math.factorial(40) // math.factorial(10) ** 4
    # 38 cards it neither was dealt nor got: 10 to seat 2, which also got two of its cards, 12 each to seats 3 and 0
    return math.factorial(38) // math.factorial(10) // math.factorial(12) ** 2 // math.factorial(4)


@pytest.mark.parametrize("name", ["spades", "hearts", "oh_hell(players=4,tricks=12)", "card_game", LARGE])
def test_marginals_of_a_whole_pack_are_exact_and_fast(name):
    rng = random.Random(10)
    for plays in (0, 9, 14):
        state = after_plays(name, plays, seed=plays)
        for viewer in (fl.PUBLIC, rng.randrange(state.num_players)):
            found = fl.history_filter(name, state.observations(viewer), viewer, mover=state.player)
            believed = found.belief()
            assert believed.exact and believed.worlds == found.deals() > 1
            assert all(sum(odds.values()) == pytest.approx(1) for odds in believed.odds)
            for seat in range(state.num_players):
                held = sum(odds.get(f"seat {seat}", 0.0) for odds in believed.odds)
                assert held == pytest.approx(int(hand(state.game, state.world, seat)).bit_count())
            # beside 4000 draws: 5.7 standard errors in each of at most 208 places, a false alarm below 1 in 400 000
            worlds = found._worker.sample_worlds(4000, seed=1)
            for card, odds in zip(tricks.all_cards(state.game), believed.odds, strict=True):
                for seat in range(state.num_players):
                    share, in_hand = (
                        odds.get(f"seat {seat}", 0.0),
                        worlds[:, 5 + seat] >> np.uint64(card) & np.uint64(1),
                    )
                    assert abs(in_hand.mean() - share) < 6.2 * (share * (1 - share) / 4000) ** 0.5 + 1e-9


@pytest.mark.parametrize(
    "name", ["spades", "spades(breaking=yes)", "hearts", "oh_hell(players=7,tricks=7)", "card_game"]
)
def test_the_truth_is_never_excluded(name):
    rng, compared = random.Random(11), 0
    for _ in range(4):
        for state in rng.sample(list(random_game(name, rng))[1:], 6):
            viewer = rng.randrange(-1, state.num_players)
            deals = DealFilter(name, state.observations(viewer), viewer)
            true = {
                card: seat
                for seat in range(state.num_players)
                for card in range(64)
                if int(hand(state.game, state.world, seat) | played(state.game, state.world, seat)) >> card & 1
            }

            def allows(puzzle, true=true):
                rows = zip(puzzle.deals.cards, puzzle.deals.owners, strict=True)
                seats = [(c, {puzzle.where[r] for r in range(len(puzzle.where)) if mask >> r & 1}) for c, mask in rows]
                known = all(true.get(card, puzzle.seats) == seat for card, seat in puzzle.known.items())
                return known and all(true.get(card, puzzle.seats) in owners for card, owners in seats)

            assert any(allows(puzzle) for puzzle in deals.histories.puzzles), (name, state.history(), viewer)
            compared += 1
    assert compared == 24


def test_a_large_game_without_promises_is_sampled_and_says_so():
    game = LARGE._replace(leader=HAS_LOWEST)
    assert not hides_only_cards(game) and worlds_in_layers(game) > 1e20
    state = after_plays(game, 12)
    found = fl.history_filter(game, state.observations(0), 0)
    assert found.method == "deals" and found.exists()
    drawn = found.sample(20)
    assert all(found.contains(s) for s in drawn) and not found.diagnostics()["exact"]
    assert not found.belief().exact
    with pytest.raises(fl.BadInput, match="does not promise that it hides only cards"):
        found.count()


@pytest.mark.parametrize(
    "rules", [{"leader": HAS_LOWEST}, {"goes": LOW_ONLY}, {"lead": FEW_OTHERS}, {"bids": HELD_BIDS}]
)
def test_agents_survive_large_games_that_deals_do_not_suit(rules):
    game = LARGE._replace(**rules)
    for plays in (0, 7, 25):
        state = after_plays(game, plays)
        belief = Belief(game, state.player, 200, seed=1)
        for observation in state.observations(state.player):
            belief.observe(observation)
        held = belief.worlds()
        assert len(held.weights) > 0 and not held.exact
        assert {int(key(game, row, state.player)) for row in held.rows} == {int(key(game, state.world, state.player))}


def test_agents_hold_exact_worlds_of_small_games_without_promises():
    game = AnyCards(players=3, suits=2, ranks=4, size=2, leader=HAS_LOWEST)
    state = after_plays(game, 2)
    belief = Belief(game, state.player, 5000, seed=1)
    for observation in state.observations(state.player):
        belief.observe(observation)
    held = belief.worlds()
    found = fl.history_filter(game, state.observations(state.player), state.player, mover=state.player)
    assert held.exact and len(held.weights) == len(found._worker.ends)


# Counting ------------------------------------------------------------------------------------------------------------


def test_odds_of_random_puzzles_beside_listing():
    rng, compared = random.Random(12), 0
    while compared < 200:
        rows = rng.randrange(2, 5)
        needs = [rng.randrange(4) for _ in range(rows)]
        cards = rng.sample(range(64), sum(needs))
        puzzle = DealCount(cards, [rng.randrange(1, 1 << rows) for _ in cards], needs)
        if not 0 < puzzle.ordered < 20_000:
            continue
        ends, sums, n = np.cumsum([0, *needs]), {card: [0] * rows for card in cards}, 0
        for deal in puzzle.assignments():
            n += 1
            for row in range(rows):
                for card in deal[ends[row] : ends[row + 1]].tolist():
                    sums[card][row] += 1
        assert n == puzzle.unordered
        odds = puzzle.odds()
        assert set(odds) == set(cards)
        assert all([k / n for k in row] == pytest.approx(odds[card]) for card, row in sums.items())
        compared += 1


def test_six_deals_are_six_deals_to_a_person():
    rng = random.Random(13)
    while True:
        state = after_plays("oh_hell(players=3,suits=2,ranks=4,tricks=2)", 3, seed=rng.random())
        found = fl.history_filter(state.game, state.observations(0), 0)
        if found.deals() == 6:
            break
    assert found.count() > 6
    layers = fl.history_filter(state.game, state.observations(0), 0, method="layers")
    assert layers.deals() == 6 and layers.count() == found.count()
    assert found.belief().exact and same_odds(found.belief(), layers.belief())
    with pytest.raises(fl.BadInput, match="not a trick-taking game"):
        fl.history_filter("kuhn_poker", []).deals()


def test_the_command_tells_histories_and_deals(run):
    moves = ["2", "0", "2c", "3c", "4c", "2d", "3d", "4d", "5c"]
    code, out, _ = run("belief", "oh_hell(players=3,suits=2,ranks=4,tricks=2)", *moves, "--json")
    found = json.loads(out)
    # seat 0 holds two cards and sees one: of 5 cards the others hold two each; each hand is dealt in either order
    assert code == 0 and found["exact"]
    assert (found["histories"], found["deals"], found["worlds"]) == (2 * 5 * 4 * 3 * 2, 30, 30)
    assert json.loads(run("belief", "kuhn_poker", "jack", "queen", "--json")[1])["deals"] is None


# Is this history one of them? ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("game", ["kuhn_poker", "goofspiel(cards=3)", "three_sat(variables=3,clauses=1)"])
def test_a_filter_contains_what_it_lists_and_nothing_else(game):
    from oracles import histories

    everything, rng, compared = list(histories(game)), random.Random(14), 0
    for state in rng.sample(everything, 12):
        viewer = rng.randrange(-1, state.num_players)
        for mover in (None, state.player):
            found = fl.history_filter(game, state.observations(viewer), viewer, mover=mover)
            inside = set(listed(found))
            for other in rng.sample(everything, min(len(everything), 150)):
                assert found.contains(other) == found.contains(other.history()) == (tuple(other.history()) in inside)
                compared += 1
            assert found.contains(state)
    assert compared > 600
    assert not found.contains([99]) and not found.contains([*state.history(), -1])
    with pytest.raises(fl.BadInput, match="is one of leduc_poker"):
        found.contains(fl.new_state("leduc_poker"))
