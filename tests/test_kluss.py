"""Knowledge-limited search: regrets against a plain oracle, roots against enumeration, and facts about its play."""

import itertools

import numpy as np
import pytest
from oracles import histories
from scipy.stats import chi2

import foglight as fl
from foglight.names import BadInput
from foglight.policies import Uniform
from foglight.rules import CHANCE, key
from foglight.search.leaves import rollout
from foglight.search.limited import search as limited
from foglight.search.limited.alike import deals, merged, names
from foglight.search.limited.carry import carry
from foglight.search.limited.regret import (
    BY_WORLDS,
    MAXMARGIN,
    MIXED,
    NONE,
    RESOLVE,
    Present,
    iterate,
    new_room,
    new_roots,
)
from foglight.search.limited.report import Report
from foglight.search.limited.search import LimitedSearch, Plan
from foglight.search.limited.tree import ITERATIONS, NO_CHILD, NODES, STATES
from foglight.search.sensible import Sensible
from foglight.worlds.tracker import Worlds

pytestmark = pytest.mark.plain


def plan(**options):
    usual = {"gadget": MIXED, "order": 2, "frozen": False, "both": False, "positions": 64, "nodes": 10**6}
    return Plan(**{**usual, "playouts": 1, "small": 40_000, "iterate": limited.LAST, "weighed": False, **options})


def searched(game, actions, seat, evaluations=400, **options):
    """A search after these actions, entered at each of the seat's decisions on the way, and its last belief."""
    state = fl.new_state(game)
    search = LimitedSearch(state.game, seat, rollout(state.game), plan(**options))
    for action in [*actions, None]:
        if state.player == seat:
            seen = state.observations(seat)
            tracker = fl.Tracker(state.game, seat)
            for observation in seen:
                tracker.observe(observation)
            agent = fl.load_agent("first_legal")
            agent.start(state.game, seat, 0)
            keys = [agent.key]
            for observation in seen:
                agent.observe(observation)
                keys.append(agent.key)
            random = np.array([len(seen)], np.uint64)
            passed, worlds = np.array(keys, np.uint64), tracker.worlds()
            search.enter(agent.key, passed, worlds, list(seen), len(state.actions()), 0, random)
            search.run(evaluations, random)
        if action is not None:
            state.play(action)
    return search, state


class PlainRegrets:
    """Predictive CFR+ by recursion over a tree, with dictionaries; written from the formulas of the paper."""

    def __init__(self, tree, roots, present, seat, gadget):
        self.tree, self.roots, self.seat, self.gadget = tree, roots, seat, gadget
        self.least = {int(node): least for node, least in zip(present.node, present.least.tolist(), strict=True)}
        self.mistake, self.anywhere, self.iteration = 0.0, present.mistake, int(tree.used[ITERATIONS])
        n = int(tree.used[STATES])
        self.slots = {s: range(tree.begin[s], tree.begin[s] + tree.actions[s]) for s in range(n)}
        self.x = {s: [float(tree.strategy[i]) for i in self.slots[s]] for s in self.slots}
        self.r = {s: [float(tree.regret[i]) for i in self.slots[s]] for s in self.slots}
        groups = len(roots.prior)
        self.enter, self.entry = [0.5] * groups, [[0.0, 0.0] for _ in range(groups)]
        self.pick, self.picks = [1.0 / groups] * groups, [0.0] * groups
        self.weight = list(roots.prior)

    def value(self, node, owner, reach, gained):
        """The owner's value of a node; adds to counterfactual values `gained` where the others' reach is positive."""
        tree = self.tree
        if node in self.least:
            reach = max(reach, self.least[node][0 if owner == self.seat else 1])
            self.left.discard(node)
        first, n, mover = tree.first[node], tree.children[node], tree.mover[node]
        if first == NO_CHILD:
            return float(tree.value[node]) * (1.0 if owner == self.seat else -1.0)
        if mover == CHANCE:
            shares = [float(tree.odds[first + c]) for c in range(n)]
        else:
            shares = self.x[int(tree.state[node])]
        total = 0.0
        for c in range(n):
            if mover == owner:
                worth = self.value(first + c, owner, reach, gained)
                state = int(tree.state[node])
                gained.setdefault(state, [0.0] * n)[c] += reach * worth
                total += shares[c] * worth
                continue
            share = shares[c] if mover == CHANCE else (1.0 - self.mistake) * shares[c] + self.mistake / n
            if share > 0.0:
                total += shares[c] * self.value(first + c, owner, reach * share, gained)
        return total

    def update(self, owner):
        gained, values, self.left = {}, [0.0] * len(self.weight), set(self.least)
        for node, group, share in zip(self.roots.node, self.roots.group, self.roots.share, strict=True):
            reach = share * (self.weight[group] if owner == self.seat else 1.0)
            if reach > 0.0:
                values[group] += share * self.value(int(node), owner, reach, gained)
        for node in sorted(self.left):
            if self.least[node][0 if owner == self.seat else 1] > 0.0:
                self.value(node, owner, 0.0, gained)
        for state, worth in gained.items():
            expected = sum(x * w for x, w in zip(self.x[state], worth, strict=True))
            r = [w - expected for w in worth]
            self.r[state] = [max(a + b, 0.0) for a, b in zip(self.r[state], r, strict=True)]
            hope = [max(a + b, 0.0) for a, b in zip(self.r[state], r, strict=True)]
            if sum(hope) > 0.0:
                self.x[state] = [h / sum(hope) for h in hope]
        return values

    def iterate(self):
        self.iteration += 1
        self.mistake = self.anywhere if self.iteration % 4 == 0 else 0.0
        theirs = self.update(1 - self.seat)
        if self.gadget != NONE:
            self.choose([-value for value in theirs])
        self.update(self.seat)

    def choose(self, values):
        gains = [float(a) - v for a, v in zip(self.roots.alternative, values, strict=True)]
        for j, gain in enumerate(gains):
            r = [(1.0 - self.enter[j]) * gain, -self.enter[j] * gain]
            self.entry[j] = [max(a + b, 0.0) for a, b in zip(self.entry[j], r, strict=True)]
            hope = [max(a + b, 0.0) for a, b in zip(self.entry[j], r, strict=True)]
            if sum(hope) > 0.0:
                self.enter[j] = hope[0] / sum(hope)
        expected = sum(p * g for p, g in zip(self.pick, gains, strict=True))
        r = [gain - expected for gain in gains]
        self.picks = [max(a + b, 0.0) for a, b in zip(self.picks, r, strict=True)]
        hope = [max(a + b, 0.0) for a, b in zip(self.picks, r, strict=True)]
        if sum(hope) > 0.0:
            self.pick = [h / sum(hope) for h in hope]
        mixed = {MIXED: max(self.enter), RESOLVE: 1.0, MAXMARGIN: 0.0}[self.gadget]
        priors = self.roots.prior
        self.weight = [
            mixed * float(priors[j]) * self.enter[j] + (1.0 - mixed) * self.pick[j] for j in range(len(gains))
        ]


@pytest.mark.parametrize("mistakes", [False, True])
@pytest.mark.parametrize("gadget", [NONE, RESOLVE, MAXMARGIN, MIXED])
def test_regrets_are_those_of_a_plain_recursion(gadget, mistakes):
    compared = 0
    for game, actions in (("kuhn_poker", [2, 0]), ("kuhn_poker", [2, 0, 0, 1]), ("leduc_poker", [1, 5, 1, 2])):
        if game == "leduc_poker" and fl.compile.INTERPRET_ALL:
            continue
        search, _ = searched(game, actions, 0, evaluations=1500, gadget=gadget, small=0)
        tree, roots = search.tree, search.roots
        start = new_roots(roots.node, roots.group, roots.share, roots.prior, roots.alternative)
        here = search.starts.present.node
        least = (
            np.random.default_rng(compared).uniform(0.0, 0.5, (len(here), 2)) if mistakes else np.zeros((len(here), 2))
        )
        present = Present(here, least, np.zeros(len(here), bool), 0.1 if mistakes else 0.0)
        plain = PlainRegrets(tree, start, present, 0, gadget)
        iterate(tree, start, present, 0, gadget, new_room(len(tree.first), len(tree.owner)), 5)
        for _ in range(5):
            plain.iterate()
        for state, slots in plain.slots.items():
            for c, i in enumerate(slots):
                assert tree.strategy[i] == pytest.approx(plain.x[state][c], abs=1e-6)
                compared += 1
        if gadget != NONE:
            assert list(start.weight) == pytest.approx(plain.weight, abs=1e-9)
    assert compared >= (24 if fl.compile.INTERPRET_ALL else 300)


def test_roots_are_the_histories_of_orders_one_and_two():
    """At a second decision: every history that we hold possible, and all that look like one to the other seat."""
    compared = 0
    for order in (1, 2):
        search, state = searched("kuhn_poker", [1, 2, 0, 1], 0, order=order, small=0)
        tree, game = search.tree, state.game
        here = [other for other in histories("kuhn_poker") if other.player == 0]
        ours = [other for other in here if other.observations(0) == state.observations(0)]
        theirs = {tuple(other.observations(1)) for other in ours}
        wanted = ours if order == 1 else [other for other in here if tuple(other.observations(1)) in theirs]
        rows = sorted(bytes(other.world.tobytes()) for other in wanted)
        roots = sorted(bytes(search.rows[node].tobytes()) for node in search.roots.node)
        assert roots == rows
        groups = {int(key(game, search.rows[node], 1)) for node in search.roots.node}
        assert len(groups) == len(search.roots.prior) == len(theirs)
        assert sorted(np.flatnonzero(tree.true[: len(roots)])) == [
            i for i, node in enumerate(search.roots.node) if int(key(game, search.rows[node], 0)) == search.key
        ]
        compared += len(roots)
    assert compared == 2 + 4


def test_what_the_last_search_says_about_a_group():
    """Shares, alternatives and gifts, against sums over whole histories of the last tree."""
    search, state = searched("kuhn_poker", [1, 2], 0, evaluations=300, small=0)
    for action in (0, 1):  # we pass, the other seat bets
        state.play(action)
    tree, random = search.tree, np.random.default_rng(1)
    for s in range(int(tree.used[STATES])):  # strategies that give much away
        tree.strategy[tree.begin[s] : tree.begin[s] + tree.actions[s]] = random.dirichlet(np.ones(tree.actions[s]))
    profile = search.profile()
    strategy = {s: profile[tree.begin[s] : tree.begin[s] + tree.actions[s]] for s in range(int(tree.used[STATES]))}

    def walk(node, own, other, gift):
        """Each history with our reach, the other's, and the gift; values are computed on the way back."""
        nonlocal compared
        if tree.first[node] == NO_CHILD:
            values[node] = float(tree.value[node])
            return
        mover = tree.mover[node]
        shares = (
            [float(tree.odds[tree.first[node] + c]) for c in range(tree.children[node])]
            if mover == CHANCE
            else strategy[int(tree.state[node])]
        )
        reach[node] = (own, other)
        values[node] = 0.0
        for c in range(tree.children[node]):
            child = int(tree.first[node]) + c
            parents[child] = (node, c)
            walk(
                child,
                own * (shares[c] if mover in (CHANCE, 0) else 1.0),
                other * (shares[c] if mover == 1 else 1.0),
                gift,
            )
            reach.setdefault(child, (own * (shares[c] if mover in (CHANCE, 0) else 1.0), other))
            values[node] += shares[c] * values[child]

    compared, values, reach, parents, gifts = 0, {}, {}, {}, []
    roots = search.roots
    for node, group, share in zip(roots.node, roots.group, roots.share, strict=True):
        walk(int(node), share, roots.prior[group], 0.0)
    agent = fl.load_agent("first_legal")
    seat = fl.Seat(agent, state.game, 0, 0, state.observations(0))
    assert seat.number == 0
    kept = carry(
        tree, search.rows, search.roots, 0, agent.key, 2, 2.0, False, profile, 100, True, np.zeros(1, np.uint64)
    )
    for group, code in enumerate(kept.keys):
        nodes = [node for node in range(int(tree.used[NODES])) if tree.mover[node] == 0 and tree.keys[node, 1] == code]
        mass = sum(reach[node][0] for node in nodes)
        mean = sum(reach[node][0] * values[node] for node in nodes) / mass
        parent, c = parents[nodes[0]]  # the other seat's bet
        alike = [node for node in range(int(tree.used[NODES])) if tree.state[node] == tree.state[parent]]
        worth = [-sum(reach[node][0] * values[int(tree.first[node]) + k] for node in alike) for k in range(2)]
        expected = sum(share * w for share, w in zip(strategy[int(tree.state[parent])], worth, strict=True))
        gift = max(expected - worth[c], 0.0) / mass
        gifts.append(gift)
        assert kept.alternative[group] == pytest.approx(max(mean - gift, -2.0), abs=1e-6)
        shares = {bytes(search.rows[node].tobytes()): reach[node][0] / mass for node in nodes}
        for root in np.flatnonzero(kept.group == group):
            assert kept.share[root] == pytest.approx(shares[bytes(kept.rows[root].tobytes())], abs=1e-6)
            compared += 1
    assert compared == 4 and max(gifts) > 0.01


def test_a_carried_tree_is_the_old_one_below_its_roots():
    search, state = searched("leduc_poker", [1, 5], 0, evaluations=600, small=0)
    for action in (1, 2):
        state.play(action)
    agent = fl.load_agent("first_legal")
    fl.Seat(agent, state.game, 0, 0, state.observations(0))
    old = search.tree
    random = np.zeros(1, np.uint64)
    kept = carry(old, search.rows, search.roots, 0, agent.key, 2, 13.0, False, search.profile(), 100, True, random)
    names = {bytes(search.rows[node].tobytes()): node for node in range(int(old.used[NODES]))}
    compared = 0
    for node in range(int(kept.tree.used[NODES])):
        origin = names[bytes(kept.rows[node].tobytes())]
        assert kept.tree.children[node] == old.children[origin] and kept.tree.mover[node] == old.mover[origin]
        if kept.tree.first[node] != NO_CHILD and kept.tree.mover[node] >= 0:
            new, before = kept.tree.state[node], old.state[origin]
            a = kept.tree.strategy[kept.tree.begin[new] :][: kept.tree.actions[new]]
            assert list(a) == list(old.strategy[old.begin[before] :][: old.actions[before]])
            compared += 1
    assert compared >= 5


def drawn_of(search, key, most, seed, likeliest=True):
    """The possible histories that are carried over with room for so many, by their old nodes."""
    tree, names = search.tree, {}
    for node in range(int(tree.used[NODES])):
        names[bytes(search.rows[node].tobytes())] = node
    random = np.array([seed], np.uint64)
    kept = carry(tree, search.rows, search.roots, 0, key, 2, 1.0, False, search.profile(), most, likeliest, random)
    roots = [names[bytes(kept.rows[root].tobytes())] for root in kept.nodes]
    return kept, [node for node, possible in zip(roots, kept.possible, strict=True) if possible], roots


def likelihoods(search, nodes):
    """The probability that both seats and chance lead to nodes, by their present strategies: from each node up."""
    tree, plan, odds = search.tree, search.profile(), []
    for node in nodes:
        share = 1.0
        while tree.parent[node] != node:
            parent = tree.parent[node]
            begin = tree.begin[tree.state[parent]] if tree.mover[parent] >= 0 else 0
            share *= plan[begin + node - tree.first[parent]] if tree.mover[parent] >= 0 else tree.odds[node]
            node = parent
        root = int(np.flatnonzero(search.roots.node == node)[0])
        odds.append(share * search.roots.share[root] * search.roots.weight[search.roots.group[root]])
    return np.array(odds)


@pytest.mark.parametrize("likeliest", [True, False])
def test_no_more_possible_histories_are_carried_over_than_asked_for(likeliest):
    """The likeliest ones, or any; among equals some are drawn evenly; chi-square, one false alarm in 1000.

    None of the others comes back as a false one.
    """
    search, state = searched("dark_hex(rows=3,cols=3)", [], 0, evaluations=3000, small=0)
    for action in (4, 0):
        state.play(action)
    agent = fl.load_agent("first_legal")
    fl.Seat(agent, state.game, 0, 0, state.observations(0))
    tree = search.tree
    for owned in np.flatnonzero(tree.owner[: int(tree.used[STATES])] == 1):  # the other seat plays its first actions
        shares = tree.strategy[tree.begin[owned] :][: tree.actions[owned]]
        shares[:] = np.where(np.arange(len(shares)) < 4, shares + 0.1, 0.0)
        shares /= shares.sum()
    everything, possible, roots = drawn_of(search, agent.key, 10**9, 0)
    assert everything.possible.all() or len(roots) > len(possible)
    likely = likelihoods(search, possible)
    order, n = np.argsort(-likely), int((likely > 0.0).sum())
    assert 1 <= n < len(possible) - 2 and len(possible) >= 6
    n = n if likeliest else 0
    sure = {possible[i] for i in order[:n]}
    rest = [node for node in possible if node not in sure]
    most = n + len(rest) // 2
    counts, times = dict.fromkeys(rest, 0), 400
    for seed in range(times):
        kept, some, others = drawn_of(search, agent.key, most, seed, likeliest)
        assert len(some) == most and set(others) & set(possible) == set(some) and sure <= set(some)
        assert np.bincount(kept.group, kept.share) == pytest.approx(np.ones(len(kept.keys)))
        for node in set(some) - sure:
            counts[node] += 1
    drawn = most - n
    expected = times * drawn / len(rest)
    spread = expected * (1 - drawn / len(rest)) * len(rest) / (len(rest) - 1)  # drawn without repetition
    assert sum((count - expected) ** 2 for count in counts.values()) / spread < chi2.ppf(0.999, len(rest) - 1)
    search.tree.value[:] = np.arange(len(search.tree.value)) % 7  # other values change nothing
    for few in range(1, n):
        _, some, _ = drawn_of(search, agent.key, few, few)
        assert sorted(likelihoods(search, some)) == pytest.approx(sorted(likely[order[:few]]))
    search.tree.keys[possible, 1] = 7  # as if the other seat could not tell them apart
    kept, some, others = drawn_of(search, agent.key, most, 0)
    assert len(kept.keys) == 1 and set(others) & set(possible) == set(some)


@pytest.mark.long_plain
def test_a_large_old_tree_is_searched_in_part():
    """Each tree holds hundreds of histories that are possible at the next decision; 64 of them remain."""
    agent = fl.load_agent("kluss(iterations=50000,playouts=1,positions=64)")
    state = fl.new_state("dark_hex(rows=4,cols=4)")
    agent.start(state.game, 0, 1)
    possible = []
    while len(possible) < 4:
        if state.player == 0:
            for observation in state.observations(0)[len(agent.observations) :]:
                agent.observe(observation)
            state.play(agent.act(state.actions()))
            possible.append(agent.explain().notes["possible"])
        else:
            state.play(state.actions()[0])
    assert possible == [1, 15, 64, 64]


@pytest.mark.long_plain
def test_a_resolved_strategy_concedes_nothing():
    """Where the last search had converged, what it said can be had again in every group: the margin is not negative."""
    margins = []
    for actions in ([1, 2, 0, 1], [0, 2, 0, 1], [2, 0, 0, 1]):
        search, _ = searched("kuhn_poker", actions, 0, evaluations=20_000, gadget=MAXMARGIN, small=0)
        margins.append(float((search.roots.value - search.roots.alternative).min()))
    assert len(margins) == 3 and min(margins) > -0.02


@pytest.mark.parametrize(
    ("game", "share"),
    [
        pytest.param("kuhn_poker", 0.02, marks=pytest.mark.long_plain),
        pytest.param("goofspiel(cards=4)", 0.02, marks=[pytest.mark.long, pytest.mark.long_plain]),
        pytest.param("liars_dice(dice=1,sides=4)", 0.02, marks=[pytest.mark.long, pytest.mark.long_plain]),
    ],
)
def test_play_in_a_game_held_whole_can_hardly_be_exploited(game, share):
    policy = fl.agent_policy("kluss(iterations=30000)", game)
    assert fl.exploitability(game, policy) <= share * fl.exploitability(game, Uniform())


def asked(game, actions, agent, seed=0):
    """The agent of the seat that is to move after these actions, when it has acted, and the legal actions."""
    state = fl.new_state(game)
    for action in actions:
        state.play(action)
    agent = fl.load_agent(agent)
    fl.Seat(agent, state.game, state.player, seed, state.observations(state.player), state.decisions(state.player))
    agent.act(state.actions())
    return agent, state.actions()


@pytest.mark.parametrize("game", ["phantom_ttt", "goofspiel(cards=4)", "leduc_poker"])
def test_the_tree_stays_within_its_nodes(game):
    """Not even a game that could be held whole, or a tree from the start of a game, is larger."""
    agent, _ = asked(game, [0, 3] if game == "leduc_poker" else [], "kluss(iterations=6000,nodes=1000,playouts=1)")
    assert agent.explain().notes["nodes"] <= 1000 + 9
    assert agent.explain().notes["cfr iterations"] > 10  # a full tree is still solved


@pytest.mark.parametrize("options", ["", ",small=0"])
def test_a_seat_knows_what_to_do_after_a_mistake_of_the_other(options):
    """Dark Hex on four cells: having lost b2, seat 1 wins with b1 for certain; seat 0 should not have begun so.

    An equilibrium never begins so, and says nothing about it.
    """
    for seed in range(3):
        agent, actions = asked("dark_hex(rows=2,cols=2,tries=silent)", [3, 3], f"kluss(iterations=3000{options})", seed)
        assert agent.explain().values == [-1.0, 1.0, -1.0] and agent.explain().action == actions[1]


def test_what_is_possible_is_searched_whatever_led_there():
    """After white's first move each of black's actions has a value, however unlikely the search thinks that move."""
    compared, chess = 0, "dark_chess(size=4,clock=hidden,repetition=ignore)"
    for move in fl.new_state(chess).actions():
        agent, actions = asked(chess, [move], "kluss(iterations=1000)")
        assert len(agent.explain().values) == len(actions) and not np.isnan(agent.explain().values).any()
        compared += len(actions)
    assert compared >= 40


def test_a_seat_wins_where_its_own_play_would_not_have_led():
    """In Goofspiel the seat has come by moves of its own that its strategy never makes; the last card but one wins."""
    agent, actions = asked("goofspiel(cards=4)", [1, 0, 2, 3], "kluss(iterations=30000)")
    assert agent.explain().values == pytest.approx([0.0, 1.0]) and agent.explain().action == actions[1]


def test_payoffs_that_are_not_opposed_are_refused(tmp_path):
    ends = (-1, -1), (-3, 0), (0, -3), (-2, -2)
    first, second, third, fourth = (f't "" {i + 1} "" {{ {a}, {b} }}\n' for i, (a, b) in enumerate(ends))
    choice = 'p "" 2 1 "" { "C" "D" } 0\n'
    text = 'EFG 2 R "dilemma" { "a" "b" }\n""\np "" 1 1 "" { "C" "D" } 0\n'
    path = tmp_path / "dilemma.efg"
    path.write_text(text + choice + first + second + choice + third + fourth)
    with pytest.raises(BadInput, match=r"^kluss is for opposed payoffs; those of .* add up to -4 or to -2$"):
        asked(f"efg:{path}", [], "kluss(iterations=10)")


@pytest.mark.parametrize("order", [1, 2])
def test_gadgets_depend_on_the_public_worlds_and_not_on_the_order(order):
    """In Liar's Dice all deals can be listed, so there is no gadget, and no margin."""
    search, _ = searched("liars_dice(dice=1,sides=3)", [0, 2, 0, 1], 0, order=order, gadget=BY_WORLDS, small=0)
    assert search.carried > 0 and search.habits.gadget == NONE
    assert {int(key) for key in search.tree.keys[search.roots.node, 0]} > {search.key} or order == 1


def test_a_start_that_was_too_far_is_not_tried_again(monkeypatch):
    """Two plies of a board with nine cells are fewer than 100 nodes, four are more: then no later decision tries."""
    begin, tried = LimitedSearch._from_the_start, []
    monkeypatch.setattr(
        LimitedSearch, "_from_the_start", lambda self, *given: tried.append(begin(self, *given)) or tried[-1]
    )
    monkeypatch.setattr(LimitedSearch, "_go_on", lambda *given: False)
    monkeypatch.setattr(limited, "_MOST_STARTS", 100)
    search, _ = searched("dark_hex(rows=3,cols=3)", [4, 0, 8, 2, 6, 1], 0, evaluations=1, small=0)
    assert tried == [True, True, False] and len(search.starts.present.node) > 1


def test_false_worlds_come_from_what_everybody_has_observed(monkeypatch):
    """A search that begins at some of the possible worlds is completed by worlds that the other seat may mean."""
    monkeypatch.setattr(limited, "_MOST_STARTS", 1)
    search, state = searched("leduc_poker", [0, 3, 1], 1, evaluations=1, small=0, positions=3)
    possible = {int(key(state.game, search.rows[node], 0)) for node in search.starts.present.node}
    false = [node for node in search.roots.node if not search.tree.true[node]]
    assert len(search.starts.present.node) == len(possible) == 3 and len(false) >= 6
    for node in false:
        assert int(key(state.game, search.rows[node], 1)) != search.key
        assert int(key(state.game, search.rows[node], 0)) in possible


class Constant:
    """An engine that values worlds by the lowest bits of their first word."""

    def __init__(self):
        self.calls = 0

    def values(self, rows):
        self.calls += 1
        return np.array([float(int(row[0]) % 7) / 7 for row in rows])


@pytest.mark.parametrize("seat", [0, 1])
def test_an_engine_values_all_children_of_a_leaf_in_one_call(seat):
    state = fl.new_state("dark_hex(rows=3,cols=3)")
    if seat == 1:
        state.play(4)
    engine = Constant()
    search = LimitedSearch(state.game, seat, rollout(state.game), plan(small=0), engine)
    agent = fl.load_agent("first_legal")
    fl.Seat(agent, state.game, seat, 0, state.observations(seat))
    tracker = fl.Tracker(state.game, seat)
    keys = [agent.key]
    for observation in state.observations(seat):
        tracker.observe(observation)
    random, seen = np.array([3], np.uint64), list(state.observations(seat))
    search.enter(agent.key, np.array(keys, np.uint64), tracker.worlds(), seen, len(state.actions()), 0, random)
    before = int(search.tree.used[NODES])
    search.run(60, random)
    valued = range(before, int(search.tree.used[NODES]))
    for node in valued:
        expected = float(int(search.rows[node][0]) % 7) / 7
        if search.tree.first[node] == NO_CHILD:
            assert search.tree.value[node] == pytest.approx(expected if seat == 0 else -expected, abs=1e-6)
    assert len(valued) >= 40 and engine.calls * 9 >= len(valued)


KINGS = "dark_chess(repetition=ignore,clock=hidden,stalemate=loss,start={}_w_-_-_0_1)"


@pytest.mark.parametrize("fen", ["k7/8/1K6/8/8/8/8/8", "k7/2K5/8/8/8/8/8/8", "k7/8/2K5/8/8/8/8/8"])
@pytest.mark.long
@pytest.mark.long_plain
def test_a_king_in_the_corner_is_in_danger(fen):
    """King against king, Black on a8, White to move with its king near: more than a draw for White [Zhang2025]."""
    state = fl.new_state(KINGS.format(fen))
    agent = fl.load_agent("kluss(iterations=30000)")
    fl.Seat(agent, state.game, state.player, 0)
    agent.act(state.actions())
    why = agent.explain()
    value = sum(share * worth for share, worth in zip(why.notes["strategy"], why.values, strict=True) if share > 0.0)
    assert 0.1 < value < 1.0


def test_purification_says_how_many_actions_are_played():
    """One, at most three, or all actions of the strategy; by default all in a game that is held whole, else one."""
    played = {}
    for options in ("purify=no,small=0", "purify=yes,small=0", "purify=one,small=0", "small=0", "purify=auto"):
        agent = fl.load_agent(f"kluss(iterations=3000,{options})")
        state = fl.new_state("kuhn_poker")
        for move in ("queen", "jack", "pass"):  # a jack bluffs one time in three
            state.play(state.parse_action(move))
        fl.Seat(agent, state.game, 1, 0, state.observations(1))
        agent.act(state.actions())
        notes = agent.explain().notes
        played[options] = [share > 0.0 for share in notes["odds"]].count(True)
        if options in ("purify=no,small=0", "purify=auto"):
            assert notes["odds"] == notes["strategy"]
        assert notes["odds"][int(np.argmax(notes["strategy"]))] == max(notes["odds"])
    assert played["purify=one,small=0"] == played["small=0"] == 1
    assert 1 < played["purify=yes,small=0"] <= 3
    assert played["purify=no,small=0"] > 1 and played["purify=auto"] > 1


@pytest.mark.parametrize(("purify", "most"), [("one", 1), ("yes", 3)])
def test_actions_are_stable_where_the_last_strategy_was_safe(purify, most):
    """There the likeliest stable ones; if none is stable, and where it was not safe, the most likely of all."""
    agent = fl.load_agent(f"kluss(purify={purify})")
    strategy, even, compared = np.array([0.1, 0.4, 0.3, 0.05, 0.15]), np.zeros(5), 0
    for stable in itertools.product((False, True), repeat=5):
        for unsafe in (0.0, 0.25, 1.0):
            said = Report(strategy, np.array(stable), even, even, unsafe, 0.0, {})
            likely = sorted((k for k in range(5) if stable[k]), key=lambda k: -strategy[k])[:most] or [1]
            expected = [(k == 1) * unsafe for k in range(5)]
            for k in likely:
                expected[k] += (1 - unsafe) * strategy[k] / sum(strategy[likely])
            assert agent._odds(said) == pytest.approx(expected)
            compared += 1
    assert compared == 96


def test_dice_in_another_order_are_the_same_deal():
    """Of two dice each with three sides, 6 hands, 1 or 2 of 9 rolls each; the other order is not searched again."""
    start = deals(fl.load_game("liars_dice(dice=2,sides=3)"), 10_000)
    rolls = {hand: 1 + (hand[0] != hand[1]) for hand in itertools.combinations_with_replacement((1, 2, 3), 2)}
    odds = {}
    for row, weight in zip(start.rows, start.weights, strict=True):
        dice = [int(row[0]) >> 3 * i & 7 for i in range(4)]
        odds[tuple(sorted(dice[:2])), tuple(sorted(dice[2:]))] = weight
    assert len(start.rows) == len(odds) == 36
    for (one, other), weight in odds.items():
        assert weight == pytest.approx(rolls[one] * rolls[other] / 81)
    search, _ = searched("liars_dice(dice=2,sides=3)", [0, 1, 2, 2], 0, small=0)
    assert len(search.roots.node) == 36 and len(search.roots.prior) == 6 and len(search.starts.present.node) == 6
    assert search.roots.prior.sum() == pytest.approx(1.0)
    assert len(deals(fl.load_game("kuhn_poker"), 100).rows) == 6 and len(deals(fl.load_game("kuhn_poker"), 9).rows) == 1
    assert len(deals(fl.load_game("phantom_ttt"), 100).rows) == 1  # nothing is dealt


def test_worlds_that_are_alike_count_together():
    """Seat 0 has 1 and 2, in either order; of the 9 rolls of seat 1, 6 hands are left, with 1 or 2 of 9 each."""
    tracker = fl.Tracker("liars_dice(dice=2,sides=3)", 0)
    state = fl.new_state("liars_dice(dice=2,sides=3)")
    for action in (0, 1, 2, 2):
        state.play(action)
    for observation in state.observations(0):
        tracker.observe(observation)
    worlds = tracker.worlds()
    one_each = merged(state.game, worlds)
    assert len(worlds.weights) == 18 and sorted(one_each.weights) == pytest.approx([1 / 9] * 3 + [2 / 9] * 3)
    assert {bytes(row) for row in one_each.rows} <= {bytes(row) for row in worlds.rows}
    numbers = names(state.game, one_each.rows)
    assert len(set(numbers)) == 6 and numbers.dtype == np.uint64  # as floats they would be rounded to 53 bits


def test_three_seats_are_refused():
    with pytest.raises(BadInput, match="two seats"):
        fl.load_agent("kluss").start("oh_hell(players=3)", 0, 0)


def test_without_a_gadget_all_possible_histories_are_alike():
    """A group counts for its possible histories, however many false ones look like them to the other seat."""
    group = np.array([0, 0, 0, 0, 1, 2, 2])
    share = np.array([0.25, 0.25, 0.25, 0.25, 1.0, 0.5, 0.5])
    possible = np.array([True, False, False, False, True, True, True])
    weight = np.array([0.25, 1.0, 1.0])  # the share of possible histories in each group
    even = np.array([1 / 4, 1 / 4, 2 / 4]) / weight  # alike by history
    likelihood = np.array([0.2, 0.3, 0.5])
    belief = limited._belief(group, share, possible, likelihood)
    assert belief == pytest.approx((even + likelihood / 0.85) / (even + likelihood / 0.85).sum())
    reach = np.array([0.25, 1.0, 0.5, 0.5]) * belief[[0, 1, 2, 2]]
    flat = limited._belief(group, share, possible, np.array([4.0, 1.0, 2.0]) / 7)[[0, 1, 2, 2]] * [0.25, 1.0, 0.5, 0.5]
    assert len(set(np.round(flat, 12))) == 1 < len(set(np.round(reach, 12)))


@pytest.mark.parametrize(("known", "expected"), [(True, NONE), (False, MIXED)])
def test_gadgets_are_for_games_whose_public_worlds_cannot_be_listed(known, expected, monkeypatch):
    """In Battleship they can be: there are 64 pairs of fleets on 2x2 cells, and a shot is seen by everybody."""
    if not known:
        monkeypatch.setattr("foglight.search.limited.public._MOST", 20)
    game = "battleship(width=2,height=2,ships=[1,2],shots=4)"
    state = fl.new_state(game)
    while len(state.history()) < 5:  # two ships each, and a shot
        state.play(state.actions()[0])
    for gadget in (NONE, RESOLVE, MAXMARGIN, MIXED):
        assert searched(game, state.history(), 1, small=0, gadget=gadget)[0].habits.gadget == gadget
    assert searched(game, state.history(), 1, small=0, gadget=BY_WORLDS)[0].habits.gadget == expected


@pytest.mark.parametrize(("playouts", "budget", "most"), [(1, 600, 600), (16, 600, 600), (16, 10_000, 2000)])
def test_the_first_positions_leave_half_of_a_budget(playouts, budget, most):
    """Nine worlds with nine actions each: with 16 playouts for each child they would take 1,296 evaluations."""
    state = fl.new_state("dark_hex(rows=3,cols=3)")
    state.play(4)
    agent = fl.load_agent("first_legal")
    agent.start(state.game, 1, 0)
    keys, tracker = [agent.key], fl.Tracker(state.game, 1)
    for observation in state.observations(1):
        agent.observe(observation)
        tracker.observe(observation)
        keys.append(agent.key)
    search, random = LimitedSearch(state.game, 1, rollout(state.game), plan(small=0, playouts=playouts)), np.array([1])
    seen = list(state.observations(1))
    search.enter(agent.key, np.array(keys, np.uint64), tracker.worlds(), seen, 9, budget, random.astype(np.uint64))
    assert len(search.starts.present.node) == 9
    assert 81 <= search.evaluations <= most // 2 or (budget == 10_000 and 1296 <= search.evaluations <= most)


# Weights that say how the other seat plays ---------------------------------------------------------------------------


def decided(search, state, heavy=()):
    """Enter a decision of seat 0 with its belief, in which these worlds have nearly all the weight; returns weights."""
    seen, agent = state.observations(0), fl.load_agent("first_legal")
    tracker, keys = fl.Tracker(state.game, 0), []
    agent.start(state.game, 0, 0)
    for observation in seen:
        keys.append(agent.key)
        tracker.observe(observation)
        agent.observe(observation)
    worlds = merged(state.game, tracker.worlds())
    rows = [row.tobytes() for row in worlds.rows]
    weights = np.array([100.0 * len(rows) if row in heavy else 1.0 for row in rows])
    worlds = Worlds(worlds.rows, weights / weights.sum(), True)
    random = np.array([len(seen)], np.uint64)
    passed = np.array([*keys, agent.key], np.uint64)
    search.enter(agent.key, passed, worlds, list(seen), len(state.actions()), 0, random)
    search.run(2000, random)
    return dict(zip(rows, worlds.weights.tolist(), strict=True))


def searched_by_weight(heavy=()):
    """The third decision of a game of Dark Hex with 16 positions, and the weights of its belief."""
    state = fl.new_state("dark_hex(rows=4,cols=4)")
    search = LimitedSearch(state.game, 0, rollout(state.game), plan(positions=16, weighed=True, small=0))
    for action in (5, 0, 6, 1, 9, 2):
        if state.player == 0:
            decided(search, state)
        state.play(action)
    return search, decided(search, state, heavy)


def places_of(search):
    """The places among the roots of the positions that may be true, by world."""
    nodes = search.roots.node.tolist()
    return {search.rows[node].tobytes(): place for place, node in enumerate(nodes) if search.tree.true[node]}


def test_half_of_the_positions_are_drawn_by_weight_where_weights_say_how_the_other_seat_plays():
    """The weights are also how likely the fresh positions are, and the carried ones together."""
    search, weights = searched_by_weight()
    carried = [row for row, place in places_of(search).items() if place < search.carried]
    heavy = [carried[0], *[row for row in weights if row not in places_of(search)][::40][:3]]
    search, weights = searched_by_weight(heavy)
    places, roots = places_of(search), search.roots
    assert len(heavy) == 4 and len(places) == 16 and set(heavy) <= set(places)
    assert {row for row, place in places.items() if place < search.carried} == set(carried) and len(carried) == 8
    prior = {row: roots.prior[roots.group[place]] for row, place in places.items()}
    fresh = [row for row in places if row not in carried]
    light = [prior[row] for row in fresh if row not in heavy]
    assert len(light) >= 4 and min(prior[row] for row in heavy[1:]) > 3 * max(light)
    even = 0.5 / len(roots.prior)  # half of a prior is even, the other half is the likelihood
    likelihood = sum(2 * (prior[row] - even) for row in fresh)
    known = sum(weights[row] for row in carried)
    assert 0.2 < known < 0.3 and likelihood == pytest.approx(1.0 - known, rel=0.02)


@pytest.mark.parametrize(
    ("options", "game", "sensible", "cap"),
    [
        ("", "dark_hex(rows=3,cols=3)", True, 3000),
        ("(weights=histories)", "dark_hex(rows=3,cols=3)", False, 20_000),
        ("(cap=77)", "dark_hex(rows=3,cols=3)", True, 77),
        ("", "liars_dice", False, 20_000),  # has an evaluation, and chance
        ("(weights=sensible_play)", "liars_dice", True, 3000),
        ("", "goofspiel(cards=4)", False, 20_000),
    ],
)
def test_worlds_are_weighed_by_sensible_play_where_there_is_an_evaluation_and_no_chance(options, game, sensible, cap):
    agent = fl.load_agent(f"kluss{options}")
    agent.start(game, 0, 0)
    assert isinstance(agent.belief.policy, Sensible) == sensible == agent._search.plan.weighed
    assert agent.belief.cap == cap and agent.belief._tracker._refill != sensible
