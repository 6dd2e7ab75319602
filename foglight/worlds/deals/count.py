"""Deals of cards to rows: existence by maximum flow, exact counts and uniform draws by dynamic programming.

A puzzle is a list of cards, for each card the set of rows that may own it, and for each row the number of cards it
needs. Rows are the seats, and one more for the cards that stay undealt. [Solinas2023, Section 5.2] decides such puzzles
by integer maximum flow. With few rows, deals can also be counted. Cards with the same owners form a column. Rows that
may own cards of the same columns form a class, and classes are merged as soon as they agree on all columns still to
come. Cell by cell, column after column,

    W(needs) = sum over k of C(left, k) * need! / (need - k)! * W(needs less k in the class of this cell)

counts the ways to put the remaining cards into places. Here `left`, the number of cards left of the column, follows
from the needs. A walk down the same table, which takes each k with its share of W, gives an independent uniform deal.
All counts are exact integers; only the shares are rounded, once, to float64.
"""

import math
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from foglight.compile import jitable, kernel
from foglight.randomness import below, first_above, unit

HIDDEN = -1  # an action or a card that the viewer has not seen


class DealTable(NamedTuple):
    """The table in arrays: the nodes of all cells one after another, each with its edges, one per choice of k."""

    column_begins: np.ndarray  # int64[columns + 1], into cards
    cards: np.ndarray  # int64[F], column by column
    cell_column: np.ndarray  # int64[cells]
    cell_class: np.ndarray  # int64[cells]
    node_begins: np.ndarray  # int64[nodes + 1], into the three arrays of edges
    takes: np.ndarray  # int64[edges]: k
    shares: np.ndarray  # float64[edges]: cumulative shares of the node's ways
    next_nodes: np.ndarray  # int64[edges]
    cell_merges: np.ndarray  # int64[cells]: the class that this class joins after the cell, or HIDDEN
    class_sizes: np.ndarray  # int64[classes]: places of each class
    places: np.ndarray  # int64[classes, F]: the positions of a class's rows


class DealCount:
    """The deals of a puzzle: their exact number, all of them, and random ones.

    A deal is an array of cards by position: first the cards of row 0, then those of row 1, and so on.
    """

    def __init__(self, cards: Sequence[int], owners: Sequence[int], needs: Sequence[int]) -> None:
        self.cards, self.owners, self.needs = list(cards), list(owners), list(needs)
        self.balanced = len(self.cards) == sum(self.needs) and min(self.needs) >= 0
        live = sum(1 << row for row, need in enumerate(self.needs) if need > 0)
        groups: dict[int, list[int]] = {}
        for card, mask in zip(self.cards, self.owners, strict=True):
            groups.setdefault(mask & live, []).append(card)
        # few owners first: forced cards are placed before there is anything to choose
        self.columns = sorted(groups.items(), key=lambda group: (group[0].bit_count(), group[0]))
        self.balanced &= 0 not in groups  # a card without an owner
        classes: dict[tuple[bool, ...], list[int]] = {}
        for row, need in enumerate(self.needs):
            if need > 0:
                classes.setdefault(tuple(bool(mask >> row & 1) for mask, _ in self.columns), []).append(row)
        self.classes = list(classes.items())
        # cells: column, class, and the class that it joins afterwards, or HIDDEN
        self._cells: list[tuple[int, int, int]] = []
        live_classes = set(range(len(self.classes)))
        for column in range(len(self.columns)):
            taking = [i for i in sorted(live_classes) if self.classes[i][0][column]]
            done = {self.classes[i][0][column + 1 :]: i for i in live_classes if i not in taking}
            for i in taking:
                twin = done.setdefault(self.classes[i][0][column + 1 :], i)
                self._cells.append((column, i, twin if twin != i else HIDDEN))
                live_classes -= {i} if twin != i else set()

    @cached_property
    def ordered(self) -> int:
        """The number of deals, by position; the positions of the last row do not count as different."""
        return self._ways[0].get(self._class_needs, 0) // math.factorial(self.needs[-1]) if self.balanced else 0

    def flow(self) -> np.ndarray | None:
        """The number of cards of each column in each row of some deal, int64[rows, columns]; None if there is no deal.

        It takes one maximum flow from the columns to the rows [Solinas2023, Section 5.2].
        """
        if not self.balanced:
            return None
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import maximum_flow

        rows, columns = len(self.needs), len(self.columns)
        sink = 1 + columns + rows
        capacity = np.zeros((sink + 1, sink + 1), np.int32)
        for j, (mask, members) in enumerate(self.columns):
            capacity[0, 1 + j] = len(members)
            for i in range(rows):
                capacity[1 + j, 1 + columns + i] = len(members) if mask >> i & 1 else 0
        capacity[1 + columns : sink, sink] = self.needs
        result = maximum_flow(csr_array(capacity), 0, sink)
        if result.flow_value < len(self.cards):
            return None
        return result.flow.toarray()[1 : 1 + columns, 1 + columns : sink].T.astype(np.int64)

    def construct(self, rng: np.random.Generator) -> np.ndarray | None:
        """One deal, random but not uniform; None if there is no deal."""
        deals = self.constructs(1, rng)
        return None if deals is None else deals[0]

    def constructs(self, n: int, rng: np.random.Generator) -> np.ndarray | None:
        """n such deals, int64[n, F], all with the same numbers of cards by row and column; None if there is no deal."""
        lengths = self.flow()
        return None if lengths is None else np.stack([self._with(lengths, rng) for _ in range(n)])

    def _with(self, lengths: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """A random deal with these numbers of cards, int64[rows, columns]."""
        rows: list[list[int]] = [[] for _ in self.needs]
        for j, (_, members) in enumerate(self.columns):
            shuffled = iter(rng.permutation(members).tolist())
            for row, n in zip(rows, lengths[:, j].tolist(), strict=True):
                row.extend(next(shuffled) for _ in range(n))
        return np.array([card for row in rows for card in rng.permutation(row).tolist()], np.int64)

    @cached_property
    def unordered(self) -> int:
        """The number of ways to give each row its cards, in no order."""
        return self.ordered // math.prod(math.factorial(need) for need in self.needs[:-1]) if self.balanced else 0

    def odds(self) -> dict[int, list[float]]:
        """By card, the probability that it is in each row, all deals being equally likely. There must be a deal.

        A card is in a row as often as the rest of the cards can be dealt to the rest of the places. All cards of a
        column have the same probabilities, and so have all rows of a class with the same need.
        """
        odds: dict[int, list[float]] = {}
        for mask, members in self.columns:
            by_need: dict[tuple[int, int], float] = {}
            row_class = {row: i for i, (_, rows) in enumerate(self.classes) for row in rows}
            shares = [0.0] * len(self.needs)
            if mask.bit_count() == 1:
                shares[mask.bit_length() - 1] = 1.0
            for row in range(len(self.needs)):
                if mask.bit_count() > 1 and mask >> row & 1:
                    alike = (row_class[row], self.needs[row])
                    if alike not in by_need:
                        by_need[alike] = self._with_card_in(members[0], row) / self.ordered
                    shares[row] = by_need[alike]
            odds |= dict.fromkeys(members, shares)
        return odds

    def _with_card_in(self, card: int, row: int) -> int:
        """The number of deals, by position, with this card in this row."""
        rest = [(c, mask) for c, mask in zip(self.cards, self.owners, strict=True) if c != card]
        needs = [need - (r == row) for r, need in enumerate(self.needs)]
        places = self.needs[row] if row + 1 < len(self.needs) else 1
        return places * DealCount([c for c, _ in rest], [mask for _, mask in rest], needs).ordered

    def draw(self, n: int, random: np.ndarray) -> np.ndarray:
        """n independent uniform deals, int64[n, F]. There must be a deal."""
        deals = np.empty((n, len(self.cards)), np.int64)
        _draw(self._table, random, deals)
        return deals

    def assignments(self) -> Iterator[np.ndarray]:
        """Every way to give each row its cards, in no order: as a deal whose rows list their cards in column order."""
        if self.ordered == 0:
            return
        cards = [(card, mask) for mask, members in self.columns for card in members]
        rows: list[list[int]] = [[] for _ in self.needs]
        needs, dead = list(self.needs), set[tuple[int, ...]]()

        def place(i: int) -> Iterator[np.ndarray]:
            if i == len(cards):
                yield np.array([card for row in rows for card in row], np.int64)
                return
            card, mask = cards[i]
            for row in range(len(needs)):
                if mask >> row & 1 and needs[row]:
                    needs[row] -= 1
                    rows[row].append(card)
                    state, possible = tuple(needs), False
                    if state not in dead:
                        for deal in place(i + 1):
                            possible = True
                            yield deal
                        if not possible:
                            dead.add(state)
                    rows[row].pop()
                    needs[row] += 1

        yield from place(0)

    # The table -------------------------------------------------------------------------------------------------------

    @cached_property
    def _class_needs(self) -> tuple[int, ...]:
        return tuple(sum(self.needs[row] for row in rows) for _, rows in self.classes)

    @cached_property
    def _rest(self) -> list[int]:
        """For each cell, the number of cards in the columns after its own."""
        sizes = [len(members) for _, members in self.columns]
        return [sum(sizes[column + 1 :]) for column, _, _ in self._cells]

    @cached_property
    def _ways(self) -> list[dict[tuple[int, ...], int]]:
        """For each cell, and after the last one, the number of ways by needs; needs that cannot be met are absent."""
        layers: list[set[tuple[int, ...]]] = [{self._class_needs}]
        for t in range(len(self._cells)):
            layers.append({after for needs in layers[t] for _, after in self._choices(t, needs)})
        ways: list[dict[tuple[int, ...], int]] = [{} for _ in layers]
        ways[-1] = {needs: 1 for needs in layers[-1] if not any(needs)}
        for t in range(len(self._cells) - 1, -1, -1):
            later = ways[t + 1]
            for needs in layers[t]:
                left = sum(needs) - self._rest[t]
                empty = needs[self._cells[t][1]]
                total = sum(
                    math.comb(left, k) * math.perm(empty, k) * later.get(after, 0)
                    for k, after in self._choices(t, needs)
                )
                if total:
                    ways[t][needs] = total
        return ways

    def _choices(self, t: int, needs: tuple[int, ...]) -> Iterator[tuple[int, tuple[int, ...]]]:
        """The possible numbers of cards that the class of cell t takes of the column, each with the needs after it."""
        column, i, twin = self._cells[t]
        left = sum(needs) - self._rest[t]
        last = t + 1 == len(self._cells) or self._cells[t + 1][0] != column
        for k in range(left if last else 0, min(left, needs[i]) + 1):
            after = [*needs]
            after[i] -= k
            if twin != HIDDEN:
                after[twin] += after[i]
                after[i] = 0
            yield k, tuple(after)

    @cached_property
    def _table(self) -> DealTable:
        """The table as arrays, for the kernel that draws."""
        numbers: list[dict[tuple[int, ...], int]] = []
        n = 0
        for ways in self._ways:
            first, n = n, n + len(ways)
            numbers.append(dict(zip(ways, range(first, n), strict=True)))
        # node 0 is the start: the first layer has no other node
        begins, takes, shares, next_nodes = [0], list[int](), list[float](), list[int]()
        for t in range(len(self._cells)):
            later = self._ways[t + 1]
            for needs, total in self._ways[t].items():
                left, empty, sum_so_far = sum(needs) - self._rest[t], needs[self._cells[t][1]], 0
                for k, after in self._choices(t, needs):
                    if after in later:
                        sum_so_far += math.comb(left, k) * math.perm(empty, k) * later[after]
                        takes.append(k)
                        shares.append(sum_so_far / total)
                        next_nodes.append(numbers[t + 1][after])
                begins.append(len(takes))
        offsets = np.concatenate([[0], np.cumsum(self.needs)]).tolist()
        places = np.zeros((len(self.classes), len(self.cards)), np.int64)
        for i, (_, rows) in enumerate(self.classes):
            positions = [p for row in rows for p in range(offsets[row], offsets[row + 1])]
            places[i, : len(positions)] = positions
        cells = np.array(self._cells, np.int64).reshape(-1, 3)
        return DealTable(
            np.cumsum([0, *(len(members) for _, members in self.columns)]).astype(np.int64),
            np.array([card for _, members in self.columns for card in members], np.int64),
            cells[:, 0].copy(),
            cells[:, 1].copy(),
            np.array(begins, np.int64),
            np.array(takes, np.int64),
            np.array(shares, np.float64),
            np.array(next_nodes, np.int64),
            cells[:, 2].copy(),
            np.array(self._class_needs, np.int64),
            places,
        )


@jitable
def copy(target, source):
    """Copy one array into the front of another; inside compiled functions, slices would count references."""
    for i in range(len(source)):
        target[i] = source[i]


@jitable
def shuffle(random, numbers, begin, end):
    """Put the numbers from begin to end - 1 into random order."""
    for i in range(end - 1, begin, -1):
        j = begin + below(random, i - begin + 1)
        numbers[i], numbers[j] = numbers[j], numbers[i]


@kernel
def _draw(table, random, deals):
    """Fill `deals` with independent uniform deals, each by one walk down the table."""
    cards, places = table.cards.copy(), table.places.copy()
    sizes = np.empty(len(places), np.int64)  # empty places of each class
    used = np.empty(len(table.column_begins) - 1, np.int64)
    for d in range(len(deals)):
        for i in range(len(places)):
            sizes[i] = table.class_sizes[i]
            for k in range(sizes[i]):
                places[i, k] = table.places[i, k]
        for column in range(len(used)):
            used[column] = table.column_begins[column]
        node = 0
        for t in range(len(table.cell_column)):
            edge, last = table.node_begins[node], table.node_begins[node + 1] - 1
            if edge < last:
                edge = first_above(table.shares, unit(random), edge, last + 1)
            column, i, twin = table.cell_column[t], table.cell_class[t], table.cell_merges[t]
            for _ in range(table.takes[edge]):
                first = used[column]
                other = first + below(random, table.column_begins[column + 1] - first)
                cards[first], cards[other] = cards[other], cards[first]
                sizes[i] -= 1
                place = below(random, sizes[i] + 1)
                deals[d, places[i, place]] = cards[first]
                places[i, place] = places[i, sizes[i]]
                used[column] += 1
            if twin >= 0:
                for k in range(sizes[i]):
                    places[twin, sizes[twin] + k] = places[i, k]
                sizes[twin] += sizes[i]
            node = table.next_nodes[edge]
