"""A knowledge-limited search through a game: from one decision of a seat to the next [Zhang2025].

The first decision searches from the start of the game, where chance and both seats have all their choices. All moves of
chance before the first decision are made at once, and of several worlds that are alike (`alike.py`) only one is
searched. A game of at most `small` histories is held whole, and every decision goes on solving it from its start. That
is the same whatever the seat has observed, so that what it plays in one information state fits what it would have
played in another. In a larger game the tree is expanded at once wherever it agrees with the seat's observations. If
that takes more than `_MOST_STARTS` nodes, the search begins at worlds drawn from the belief instead; chance draws among
them.

Every later decision of a larger game begins where the last one left off (`carry.py`), with at most `positions` possible
histories. If there are fewer, worlds of the belief that the tree lacks are added at random until there are so many.
Where the weights of worlds say how the other seat plays, only half of the positions come from the tree, the likeliest
ones. The others are drawn by weight, and weights also say how likely the two kinds are, so that a search which has lost
sight of the truth comes back to it. A new world is a group of its own, unless the other seat cannot tell it from a
history of the tree. Its alternative is the smaller of its evaluation and the value of the last search. The paper takes
worlds of order 2 from the last tree alone.
Where all worlds that agree with the public observations are known, some of them are added, too (`public.py`); and if
the plan leaves it open, there is no gadget then: how likely we think a group is a better guide than the worst of all
groups.

Where the last tree holds nothing that is still possible, as after an unexpected observation, the search begins anew.
"""

import functools
from typing import Any, NamedTuple

import numpy as np

from foglight.names import BadInput
from foglight.playouts import random_playouts
from foglight.randomness import draw, systematic, unit
from foglight.rules import TERMINAL, Game, bounds, max_legal, new_worlds, num_players
from foglight.search.limited.alike import deals, merged, names
from foglight.search.limited.carry import carry
from foglight.search.limited.growth import (
    PATIENCE,
    Habits,
    Starts,
    add_roots,
    count_nodes,
    describe,
    expand_all,
    expand_whole,
    grow,
    natural_reach,
    new_starts,
    next_leaf,
    ready,
    set_values,
    settle,
)
from foglight.search.limited.public import PublicWorlds
from foglight.search.limited.regret import BY_WORLDS, MIXED, NONE, Present, Roots, new_room, new_roots
from foglight.search.limited.tree import (
    EVALUATIONS,
    FAILURES,
    FULL,
    NO_CHILD,
    NODES,
    STATES,
    Tree,
    find_state,
    longer_rows,
    new_tree,
    profile,
    with_room,
)
from foglight.worlds.expansion import chosen, thin
from foglight.worlds.tracker import Worlds

_MOST_STARTS = 1 << 14  # nodes of a first tree, when it is expanded wherever it agrees with the observations
_SMALL_INTERPRETED = 300  # most histories of a game that is held whole, if only Python can play it
_TOGETHER = 64  # leaves of it that are expanded between two looks at the number of nodes
_FALSE = 2  # worlds that we know to be false, added at most, per position
_FIRST_ROOM = 1 << 12  # nodes that fit at first
_LEAST_SHARE = 1e-3  # of possible histories in a group, so that no group outweighs all others
_MISTAKE = 0.1  # the least probability of a history at the present, as a share of that under even play
_MISTAKE_ANYWHERE = 1e-3  # of an action, in a game that is held whole
_SAMPLES = 32  # random games that show what payoffs add up to
_SEEDING = 0.5  # the share of a budget in evaluations that the children of the first positions may take


LAST, AVERAGE, BY_GAME = range(3)  # of Plan.iterate


class Plan(NamedTuple):
    """The options of a search."""

    gadget: int
    order: int  # 1: only what we hold possible; 2: also what the other seat may hold possible
    frozen: bool
    both: bool
    positions: int
    nodes: int
    playouts: int
    small: int  # histories up to which a game is held whole
    iterate: int  # which strategies count: LAST, AVERAGE, or BY_GAME, the average ones if a game is held whole
    weighed: bool  # whether the weights of worlds say how the other seat plays


@functools.lru_cache(maxsize=64)
def _total(game: Game) -> float:
    """What the payoffs of every game add up to, where the rules do not say it: as in some random games."""
    totals = {round(sum(random_playouts(game, 1, seed)[0]), 9) for seed in range(_SAMPLES)}
    if len(totals) > 1:
        low, high = min(totals), max(totals)
        raise BadInput(f"kluss is for opposed payoffs; those of {game} add up to {low:g} or to {high:g}")
    return totals.pop()


@functools.lru_cache(maxsize=64)
def _histories(game: Game, most: int) -> int:
    """The number of histories of a game; more than `most` if there are more."""
    limit = most if isinstance(game, tuple) else min(most, _SMALL_INTERPRETED)
    number = int(count_nodes(game, limit + 1))
    return number if number <= limit else most + 1


def _belief(group: np.ndarray, share: np.ndarray, possible: np.ndarray, likelihood: np.ndarray) -> np.ndarray:
    """How likely each group is to the searching seat.

    Half of it makes all possible histories alike: a group counts for those, however many false ones it has. The other
    half is the likelihood by the last search.
    """
    n = len(likelihood)
    number = np.bincount(group[possible], minlength=n)  # of possible histories
    weight = np.maximum(np.bincount(group[possible], share[possible], n), _LEAST_SHARE)
    belief = number / number.sum() / weight + likelihood / np.sum(likelihood * weight)
    return belief / belief.sum()


class LimitedSearch:
    """The search of one seat through one game.

    An `engine` has a method `values(rows)`, the payoffs of seat 0 in many worlds. It values leaves instead of `leaf`,
    which is left with the roots.
    """

    def __init__(self, game: Game, seat: int, leaf: Any, plan: Plan, engine: Any = None) -> None:
        if num_players(game) != 2:
            raise BadInput(f"kluss is for two seats; {game} has {num_players(game)}")
        limits = bounds(game)
        self.game, self.seat, self.leaf, self.plan, self.engine = game, seat, leaf, plan, engine
        self.centre = 0.5 * (_total(game) if limits.total is None else limits.total)
        spread = max(abs(limits.low - self.centre), abs(limits.high - self.centre))
        scale = spread if np.isfinite(spread) and spread > 0.0 else 1e6
        self.habits = Habits(seat, plan.gadget, float(scale), plan.both, plan.frozen, plan.playouts)
        self._public = PublicWorlds(game, seat)
        self.tree: Tree | None = None
        self.rows: Any = None
        self.roots: Roots
        self.starts: Starts
        self.value = 0.0  # of the last search
        self._start: Worlds | None = None  # of the game
        self._small = min(plan.small, plan.nodes)  # most histories of a game that is held whole
        self._most_starts = min(_MOST_STARTS, plan.nodes // 2)  # most nodes of a tree from the start of the game
        self._too_long = False  # whether too many histories agree with the observations to begin at the start
        self.whole = False  # whether the tree holds the whole game
        self.carried = 0  # roots that came from the last search
        self.key = 0

    # Roots ------------------------------------------------------------------------------------------------------

    def enter(
        self,
        key: int,
        passed: np.ndarray,
        worlds: Worlds,
        observations: list[int],
        actions: int,
        budget: int,
        random: np.ndarray,
    ) -> None:
        """Prepare the decision at the information state `key`, where the seat has so many actions.

        `passed` are the seat's keys so far. `worlds` is its belief, and `observations` what it follows from. A budget
        in evaluations bounds the first positions, and how often their children are evaluated; 0: it is not known.
        """
        self.key, worlds = key, merged(self.game, worlds)
        seeding = min(int(_SEEDING * budget), self.plan.nodes // 2) if budget else self.plan.nodes // 2
        positions = min(self.plan.positions, max(1, seeding // actions))
        if not self._go_on(key, worlds, observations, positions, random):
            # what was too much once is too much later in the game, too: more observations, no fewer histories before
            self._too_long = self._too_long or not self._from_the_start(key, passed, random)
            if self._too_long:
                self._from_worlds(worlds, observations, positions, random)
        assert self.tree is not None
        n = int(self.tree.used[NODES])
        if not np.any((self.tree.first[:n] == NO_CHILD) & (self.tree.mover[:n] != TERMINAL)):
            self.tree.used[FAILURES] = PATIENCE  # nothing is left for walks to find
        here = self.here()
        self._room_for(int(np.sum(self.tree.first[here] == NO_CHILD)) * actions + max_legal(self.game))
        playouts = max(1, seeding // (len(here) * actions)) if budget else self.habits.playouts
        habits = self.habits._replace(playouts=min(playouts, self.habits.playouts))
        expand_all(self.game, self.leaf, here, self.rows, self.tree, habits, random)
        self.starts = new_starts(self._present(), self.roots.share)
        ready(self.tree, self.roots, self.starts)
        self._working = new_room(len(self.tree.first), len(self.tree.owner))

    def here(self) -> np.ndarray:
        """The nodes of the searching seat's information state."""
        assert self.tree is not None
        n = int(self.tree.used[NODES])
        at_turn = self.tree.mover[:n] == self.seat
        return np.flatnonzero(at_turn & (self.tree.keys[:n, self.seat] == np.uint64(self.key)))

    def _present(self) -> Present:
        """The information state of this decision, and which mistakes may have led there; none where gadgets choose.

        In a game that is held whole, mistakes are the same at all decisions, so that they lead to the same equilibrium.
        """
        assert self.tree is not None
        here = self.here()
        least = np.zeros((len(here), 2))
        if self.habits.gadget == NONE and not self.whole:
            natural_reach(self.tree, self.roots, self.seat, here, least)
            least *= _MISTAKE
        return Present(here, least, np.zeros(len(here), bool), _MISTAKE_ANYWHERE if self.whole else 0.0)

    def _from_the_start(self, key: int, passed: np.ndarray, random: np.ndarray) -> bool:
        """Begin at the start of the game; False if too many histories agree with the observations."""
        self._empty_tree()
        if self._start is None:
            self._start = deals(self.game, self._most_starts if isinstance(self.game, tuple) else 1)
        nodes = self._added(self._start.rows, np.arange(len(self._start.weights)), 1, random)
        keys, group, share, prior = self._drawn(nodes, self._start.weights)
        self._set_roots(nodes, group, share, prior, np.zeros(len(keys)), NONE)
        assert self.tree is not None
        if (histories := _histories(self.game, self._small)) <= self._small:
            self.whole = True
            self._room_for(histories + max_legal(self.game))
            expand_whole(self.game, self.leaf, self.rows, self.tree, self.habits, random)
            return True
        once = self.habits._replace(playouts=1)
        while True:
            n = int(self.tree.used[NODES])
            own = self.tree.keys[:n, self.seat]
            open_ = (self.tree.first[:n] == NO_CHILD) & (self.tree.mover[:n] != TERMINAL) & np.isin(own, passed)
            open_ &= ~((self.tree.mover[:n] == self.seat) & (own == np.uint64(key)))
            leaves = np.flatnonzero(open_)
            if len(leaves) == 0:
                return bool(len(self.here()))
            if n + len(leaves) > self._most_starts:
                return False
            for some in np.array_split(leaves, 1 + len(leaves) // _TOGETHER):
                self._room_for(len(some) * max_legal(self.game))
                expand_all(self.game, self.leaf, some, self.rows, self.tree, once, random)
                if self.tree.used[NODES] > self._most_starts:
                    return False

    def _from_worlds(self, worlds: Worlds, observations: list[int], positions: int, random: np.ndarray) -> None:
        """Begin at worlds of the belief, drawn by weight; chance draws among them."""
        self._empty_tree()
        which = np.empty(min(positions, len(worlds.weights)), np.int64)
        if len(which) == len(worlds.weights):
            which[:] = np.arange(len(which))
            weights = worlds.weights
        else:
            systematic(worlds.weights, unit(random), which)
            which, counts = np.unique(which, return_counts=True)
            weights = counts / counts.sum()
        nodes = self._added(worlds.rows, which, 1, random)
        keys, group, share, prior = self._drawn(nodes, weights)
        false = self._add_false_worlds(observations, keys, nodes, random)
        group = np.concatenate([group, np.searchsorted(keys, self._other_keys(false))])
        members = np.bincount(group)
        share = np.concatenate([share, np.ones(len(false))]) / members[group]
        share /= np.bincount(group, share)[group]
        self._set_roots(np.concatenate([nodes, false]), group, share, prior, np.zeros(len(keys)), NONE)

    def _go_on(self, key: int, worlds: Worlds, observations: list[int], positions: int, random: np.ndarray) -> bool:
        """Begin where the last search left off; False if its tree has nothing that is still possible."""
        if self.tree is None:
            return False
        if self.whole:
            self.tree.used[EVALUATIONS] = 0
            return True
        kept = carry(
            self.tree, self.rows, self.roots, self.seat, key, self.plan.order, self.habits.scale, self.plan.frozen,
            self.profile(), self._most_carried, self.plan.weighed, random,
        )  # fmt: skip
        if kept is None:
            self.tree = None
            return False
        self.tree, self.rows, self.carried = kept.tree, kept.rows, len(kept.nodes)
        wanted = max(0, positions - int(kept.possible.sum()))
        known = np.zeros(len(worlds.weights), bool)  # which worlds the tree has
        if wanted or self.plan.weighed:
            known = self._known(worlds, kept.nodes[kept.possible])
        which, weights = self._new_worlds(worlds.weights, np.flatnonzero(~known), wanted, random)
        fresh = self._added(worlds.rows, which, 1, random)
        keys = np.concatenate([kept.keys, np.setdiff1d(self._other_keys(fresh), kept.keys)])
        false = self._add_false_worlds(observations, keys, np.concatenate([kept.nodes, fresh]), random)
        nodes = np.concatenate([kept.nodes, fresh, false])
        order = np.argsort(keys)
        group = order[np.searchsorted(keys, self._other_keys(nodes), sorter=order)]
        # a history that the last search did not have counts as much as a mean one that it had
        members = np.bincount(group[: self.carried], minlength=len(keys))
        share = np.concatenate([kept.share, 1.0 / np.maximum(members, 1)[group[self.carried :]]])
        share /= np.bincount(group, share, len(keys))[group]
        old = len(kept.keys)
        values = np.full(len(keys), np.inf)
        np.minimum.at(values, group, self.tree.value[nodes])
        alternative = np.minimum(values, self.value)
        alternative[:old] = kept.alternative
        # half evenly, half as likely as the last search thinks; it does not know the groups that are new
        if self.plan.weighed:
            likelihood = np.zeros(len(keys))
            np.add.at(likelihood, group[self.carried : self.carried + len(fresh)], weights)
            likelihood[:old] += kept.likelihood * max(_LEAST_SHARE, worlds.weights[known].sum())
            likelihood /= likelihood.sum()
        else:
            likelihood = np.full(len(keys), 1.0 / len(keys))
            likelihood[:old] = kept.likelihood * old / len(keys)
        prior = 0.5 / len(keys) + 0.5 * likelihood
        gadget = self.plan.gadget
        if gadget == BY_WORLDS:
            gadget = NONE if self._public.known else MIXED
        if gadget == NONE:  # nobody chooses: what counts is how likely we think a group
            possible = np.concatenate([kept.possible, np.ones(len(fresh), bool), np.zeros(len(false), bool)])
            prior = _belief(group, share, possible, likelihood)
        self._set_roots(nodes, group, share, prior, alternative, gadget)
        return True

    def _added(self, rows: Any, which: np.ndarray, true: int, random: np.ndarray) -> np.ndarray:
        """Add worlds as roots; returns their nodes."""
        assert self.tree is not None
        self._room_for(len(which))
        first = int(self.tree.used[NODES])
        add_roots(self.game, self.leaf, rows, which, true, self.rows, self.tree, self.habits, random)
        return np.arange(first, first + len(which))

    def _drawn(self, nodes: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Roots among which chance draws: the other seat's keys, and the groups, shares and priors of `Roots`."""
        keys, group = np.unique(self._other_keys(nodes), return_inverse=True)
        prior = np.bincount(group, weights)
        return keys, group, weights / prior[group], prior

    def _other_keys(self, nodes: np.ndarray) -> np.ndarray:
        assert self.tree is not None
        return self.tree.keys[nodes, 1 - self.seat]

    def _add_false_worlds(
        self, observations: list[int], keys: np.ndarray, nodes: np.ndarray, random: np.ndarray
    ) -> np.ndarray:
        """Add worlds that we know to be false, and that the other seat may hold possible: its key is one of `keys`."""
        worlds = None
        if self.plan.order > 1 or self.plan.gadget == BY_WORLDS:
            worlds = self._public.worlds(observations)
        if worlds is None or self.plan.order == 1:
            return np.zeros(0, np.int64)
        worlds = merged(self.game, worlds)
        own, other, movers = (np.zeros(len(worlds.weights), kind) for kind in (np.uint64, np.uint64, np.int64))
        describe(self.game, worlds.rows, self.seat, own, other, movers)
        false = (movers == self.seat) & (own != np.uint64(self.key)) & np.isin(other, keys)
        pool = np.flatnonzero(false & ~self._known(worlds, nodes))
        wanted = min(_FALSE * self.plan.positions, len(pool))
        draw(random, pool, wanted)
        return self._added(worlds.rows, np.sort(pool[:wanted]), 0, random)

    @property
    def _most_carried(self) -> int:
        """The most possible histories that come from the last tree."""
        return max(1, self.plan.positions // 2) if self.plan.weighed else self.plan.positions

    def _new_worlds(
        self, weights: np.ndarray, pool: np.ndarray, wanted: int, random: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """So many worlds of a pool, and their weights: drawn by weight if weights say how the other seat plays."""
        if wanted >= len(pool) or wanted == 0:
            return pool[:wanted], weights[pool[:wanted]]
        if self.plan.weighed:
            some, shares, _ = thin(weights[pool], wanted, unit(random))
            return pool[some], shares
        draw(random, pool, wanted)
        some = np.sort(pool[:wanted])
        return some, weights[some]

    def _known(self, worlds: Worlds, nodes: np.ndarray) -> np.ndarray:
        """Which worlds the nodes have, bool[n]."""
        return np.isin(names(self.game, worlds.rows), names(self.game, chosen(self.rows, nodes)))

    def _set_roots(self, nodes: Any, group: Any, share: Any, prior: Any, alternative: Any, gadget: int) -> None:
        self.roots = new_roots(nodes.astype(np.int64), group.astype(np.int64), share, prior, alternative)
        self.habits = self.habits._replace(gadget=gadget)

    # Room -------------------------------------------------------------------------------------------------------

    def _empty_tree(self) -> None:
        room = max(min(_FIRST_ROOM, self.plan.nodes), 2 * max_legal(self.game))
        self.tree, self.rows, self.carried = new_tree(room, room, room), new_worlds(self.game, room), 0

    def _room_for(self, nodes: int) -> None:
        """Room for so many more nodes and actions."""
        assert self.tree is not None
        self.tree = with_room(self.tree, nodes, min(nodes, _FIRST_ROOM), nodes)
        if len(self.rows) < len(self.tree.first):
            self.rows = longer_rows(self.game, self.rows, int(self.tree.used[NODES]), len(self.tree.first))

    # Search -----------------------------------------------------------------------------------------------------

    def run(self, evaluations: int, random: np.ndarray) -> None:
        """Grow and iterate for so many evaluations."""
        assert self.tree is not None
        until = int(self.tree.used[EVALUATIONS]) + evaluations
        if self.engine is not None:
            self._run_engine(until, random)
            return
        while self.tree.used[EVALUATIONS] < until:
            grow(
                self.game, self.leaf, self.rows, self.tree, self.roots, self.starts, self.habits, self._working,
                until, random,
            )  # fmt: skip
            if self.tree.used[EVALUATIONS] < until:
                n, most = int(self.tree.used[NODES]), max_legal(self.game)
                if n + most > self.plan.nodes:
                    self.tree.used[FULL] = 1
                else:
                    self._room_for(min(max(most, n), self.plan.nodes - n))
                    self._working = new_room(len(self.tree.first), len(self.tree.owner))

    def _run_engine(self, until: int, random: np.ndarray) -> None:
        """The same with an engine, which values all children of a leaf in one call."""
        assert self.tree is not None
        bare, misses, explorer = self.habits._replace(playouts=0), 0, self.seat
        most = max_legal(self.game)
        while self.tree.used[EVALUATIONS] < until:
            settle(self.tree, self.roots, self.starts, self.habits, self._working)
            explorer = 1 - explorer
            node = int(next_leaf(self.tree, self.roots, self.starts, self.habits, explorer, random))
            n, states = int(self.tree.used[NODES]), int(self.tree.used[STATES])
            misses = misses + 1 if node == NO_CHILD else 0
            if node == NO_CHILD or n + most > self.plan.nodes:
                self.tree.used[EVALUATIONS] += 1 if misses > PATIENCE or node != NO_CHILD else 0
                continue
            if n + most > len(self.tree.first):
                self._room_for(max(most, n))
                self._working = new_room(len(self.tree.first), len(self.tree.owner))
            expand_all(self.game, self.leaf, np.array([node]), self.rows, self.tree, bare, random)
            values = self.engine.values(self.rows[n : int(self.tree.used[NODES])])
            self.tree.used[EVALUATIONS] += len(values)
            set_values(self.tree, node, values, self.seat, int(self.tree.used[STATES]) > states)

    @property
    def evaluations(self) -> int:
        """Evaluations of this decision so far."""
        assert self.tree is not None
        return int(self.tree.used[EVALUATIONS])

    def profile(self) -> np.ndarray:
        """The strategies of all information states, by slot."""
        assert self.tree is not None
        strategies = np.zeros(len(self.tree.action))
        averaged = self.plan.iterate == AVERAGE or (self.plan.iterate == BY_GAME and self.whole)
        profile(self.tree, averaged, strategies)
        return strategies

    def state(self) -> int:
        """The number of the searching seat's information state."""
        return int(find_state(self.tree, np.uint64(self.key)))
