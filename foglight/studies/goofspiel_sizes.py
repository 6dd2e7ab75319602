"""Table 1 of particle value functions: the sizes of public states of imperfect-information Goofspiel.

Šustr, Kovařík and Lisý, "Particle Value Functions in Imperfect Information Games", Appendix A, Lemma 2. With N cards,
after k rounds, some public state has at least

    X(k) = N! (N - 1)! / ((N - k)! (N - 1 - k)! 2^k)    histories, and at least 2 sqrt(X(k)) information states of both

because at least 2^k X(k) histories have no draw, and they are in 2^k public states. Beside the bound are the exact
sizes of the largest public state, from the tree of the game cut after k rounds: for few cards after every round, for 13
as far as the tree fits into memory. Information states are counted in the public state with the most histories. Others
have more: where every round was a draw, each seat can have bid anything, but there are few histories. The last round
has no choices and is played automatically here; the public state after N - 1 rounds is the one before it.
"""

import math
from pathlib import Path
from typing import Any

import numpy as np

from foglight.pictures import panels, save
from foglight.rules import num_actions
from foglight.solving.whole.tree import Tree, build_tree
from foglight.studies._claims import Claim, claim, count
from foglight.studies._tables import Results, chosen
from foglight.text import markdown

CARDS = 13
PUBLISHED = {  # rounds: histories and information states of both seats; N = 13
    0: ("1", "2"),
    1: ("78", "17.66"),
    2: ("5148", "144"),
    3: ("283140", "1064"),
    4: ("1.3e7", "7139"),
    5: ("4.6e8", "42834"),
    6: ("1.3e10", "2.2e5"),
    7: ("2.7e11", "1.0e6"),
    8: ("4.0e12", "4.0e6"),
    9: ("4.0e13", "1.3e7"),
    10: ("2.4e14", "3.1e7"),
    11: ("7.3e14", "5.4e7"),
    12: ("7.3e14", "5.4e7"),
}
SMALL = {True: (3, 4, 5), False: (3, 4, 5, 6)}  # numbers of cards, by quick
ENUMERATED = 3  # rounds of 13 cards: 2 944 656 histories; a fourth round would have 294 million


def bound(cards: int, rounds: int) -> int:
    """X(k), rounded up to a whole number of histories."""
    orders = math.perm(cards, rounds) * math.perm(cards - 1, rounds)
    return -(-orders // 2**rounds)


def cells(quick: bool, seed: int) -> dict[str, dict[str, Any]]:
    sizes = [(cards, rounds) for cards in SMALL[quick] for rounds in range(cards)]
    sizes += [(CARDS, rounds) for rounds in range(CARDS)]
    return {f"{cards} cards, {rounds} rounds": {"cards": cards, "rounds": rounds} for cards, rounds in sizes}


def work(cards: int, rounds: int) -> dict[str, Any]:
    result: dict[str, Any] = {"cards": cards, "rounds": rounds, "bound": bound(cards, rounds)}
    result["bound_states"] = 2 * math.sqrt(bound(cards, rounds))
    if cards < CARDS or rounds <= ENUMERATED:
        result |= largest(build_tree(f"goofspiel(cards={cards})", depth=2 * rounds), rounds)
        assert result["histories"] >= result["bound"], f"the bound fails: {result}"
        assert result["states"] >= result["bound_states"] - 1e-9, f"the bound fails: {result}"
    return result


def largest(tree: Tree, rounds: int) -> dict[str, int]:
    """The sizes of the largest public state after this many rounds: its histories and information states by seat."""
    public, own = public_states(tree, rounds)
    histories = np.bincount(public)
    states = [np.bincount(np.unique(np.stack([public, bids]), axis=1)[0]) for bids in own]
    at = max(range(len(histories)), key=lambda i: (histories[i], -states[0][i] - states[1][i]))
    return {
        "total": len(public),
        "publics": len(histories),
        "histories": int(histories[at]),
        "states": int(states[0][at] + states[1][at]),
        "seat_0": int(states[0][at]),
        "seat_1": int(states[1][at]),
    }


def public_states(tree: Tree, rounds: int) -> tuple[np.ndarray, list[np.ndarray]]:
    """For each history after this many rounds, the number of its public state, and for each seat a number for its bids.

    A public state is who took which prize. A seat's private information is its own bids.
    """
    public = np.zeros(1, np.int64)
    own = [np.zeros(1, np.int64), np.zeros(1, np.int64)]
    cards = int(num_actions(tree.game))
    for k in range(1, rounds + 1):
        first, last = tree.level_begins[2 * k : 2 * k + 2]
        middle = tree.parents[first:last]  # where seat 0 has bid and seat 1 has not
        before = tree.parents[middle] - tree.level_begins[2 * k - 2]
        bids = tree.actions[middle].astype(np.int64), tree.actions[first:last].astype(np.int64)
        public = 3 * public[before] + 1 + np.sign(bids[0] - bids[1])
        own = [cards * earlier[before] + bid for earlier, bid in zip(own, bids, strict=True)]
    return np.unique(public, return_inverse=True)[1], own


def table(results: Results) -> str:
    columns = ["cards", "rounds", "bound X(k)", "published", "histories"]
    columns += ["bound 2√X(k)", "published", "information states", "seat 0", "seat 1"]
    rows = []
    for result in results.values():
        published = PUBLISHED[result["rounds"]] if result["cards"] == CARDS else ("", "")
        exact = [f"{result[key]:,}" if key in result else "" for key in ("histories", "states", "seat_0", "seat_1")]
        row = [result["cards"], result["rounds"], _short(result["bound"]), published[0], exact[0]]
        rows.append([*row, _short(result["bound_states"]), published[1], *exact[1:]])
    return markdown(columns, rows, left=())


def _short(number: float) -> str:
    if number >= 1e6:
        return f"{number:.1e}".replace("e+0", "e").replace("e+", "e")
    return f"{number:,.2f}".rstrip("0").rstrip(".")


def claims(results: Results) -> list[Claim]:
    same, wrong = [], []
    for result in chosen(results, cards=CARDS):
        for published, key, name in zip(
            PUBLISHED[result["rounds"]], ("bound", "bound_states"), ("X", "2√X"), strict=True
        ):
            same.append(_printed(result[key], published) == published)
            if not same[-1]:
                right = _printed(result[key], published)
                wrong.append(f"{name}({result['rounds']}) = {result[key]:,.3f}, printed {published} instead of {right}")
    exact = [result for result in results.values() if "histories" in result]
    enumerated = [one for one in exact if one["cards"] == CARDS and one["rounds"] == ENUMERATED]
    return [
        claim(
            "Table 1",
            "Lower bounds on histories and information states of 13-card Goofspiel, by depth.",
            "26 numbers",
            f"{count(same)} equal after rounding",
            same,
            "The formula of Lemma 2, in whole numbers.",
            f"The formula of Lemma 2, in whole numbers, gives {'; '.join(wrong)}.",
            f"Table 1, rounding: {'; '.join(wrong)}. That is arithmetic." if wrong else "",
        ),
        claim(
            "Table 1",
            "The bounds hold.",
            "proved",
            f"exact sizes in {len(exact)} cases; "
            + "; ".join(f"13 cards, 3 rounds: {one['histories']:,} of at least {one['bound']:,}" for one in enumerated),
            [one["histories"] >= one["bound"] and one["states"] >= one["bound_states"] - 1e-6 for one in exact],
            "Game trees of 3 to 6 cards after every round, and of 13 cards after up to 3, were counted.",
        ),
    ]


def _printed(number: float, like: str) -> str:
    """The number with as many digits as a published one."""
    if "e" in like:
        mantissa, power = f"{number:.1e}".split("e")
        return f"{mantissa}e{int(power)}"
    return f"{number:.{len(like.partition('.')[2])}f}"


def draw(results: Results, path: Path) -> None:
    figure, parts = panels(2, 9, 4)
    figure.suptitle("Goofspiel, imperfect information: the largest public state")
    columns = ("histories", "bound", "histories"), ("states", "bound_states", "information states of both seats")
    for axes, (exact, limit, title) in zip(parts, columns, strict=True):
        for number, cards in enumerate(sorted({result["cards"] for result in results.values()})):
            own = [result for result in results.values() if result["cards"] == cards]
            axes.semilogy([r["rounds"] for r in own], [r[limit] for r in own], "--", color=f"C{number}")
            own = [result for result in own if exact in result]
            axes.semilogy(
                [r["rounds"] for r in own], [r[exact] for r in own], "o-", color=f"C{number}", label=f"{cards} cards"
            )
        axes.set(xlabel="rounds played", title=title)
        axes.plot([], [], "k--", label="lower bound")
        axes.legend(loc="lower right")
    save(figure, path)
