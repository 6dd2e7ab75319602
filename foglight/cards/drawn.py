"""The picture of a trick-taking game: a row for each seat with its hand, and the trick on the table. In Python only."""

from collections.abc import Callable, Sequence

from foglight import bits
from foglight.bits import get
from foglight.cards import tricks
from foglight.cards.deck import card_text, num_suits, suit_cards, suit_letters
from foglight.drawing.layouts import CARD, FAN, LABEL, LINE, back, card, drawing_title, finished, line, slot
from foglight.drawing.model import Drawing, Item
from foglight.rules import Game, World, num_players

_NAMES, _HAND, _ROW = 110.0, 12.0, CARD[1] + 14
_BACKS = 9.0  # the step from back to back


def trick_drawing(
    game: Game,
    world: World,
    seat: int | None,
    facts: Callable[[int], Sequence[str]],
    head: Sequence[str] = (),
    turned: int | None = None,
    full: int = 0,
) -> Drawing:
    """Each seat's name and facts, hand and card on the table, the viewer's last; `turned` is a card face up beside.

    `full` is the size of a hand after the deal; by default `hand_size`. Before its own hand is complete a seat knows
    nothing about the others' cards.
    """
    seats, full = int(num_players(game)), full or int(tricks.hand_size(game, world))
    viewer = seats - 1 if seat is None else seat
    order = [(viewer + 1 + i) % seats for i in range(seats)]
    known = seat is None or get(world, tricks.PHASE) > tricks.DEAL or _held(game, world, seat) >= max(1, full)
    middle = _NAMES + _HAND + max(FAN * max(full - 1, 3) + CARD[0], 150.0) + 22
    items = [line(0.0, LINE * (i + 0.5), text, "head" if i == 0 else "note") for i, text in enumerate(head)]
    y = LINE * len(head) + LABEL + 4
    if tricks.table(world):
        text = "table" if get(world, tricks.PLACED) else "last trick"
        items.append(Item("text", middle + CARD[0] / 2, y - LABEL / 2, text=text, role="label"))
    if turned is not None:
        items.append(Item("text", middle + 62 + CARD[0] / 2, y - LABEL / 2, text="turned", role="label"))
        items.append(card(middle + 62, y, card_text(game, turned), place=_places(game)[turned]))
    for one in order:
        name = f"seat {one}" + (" (you)" if one == seat else "")
        items.append(line(0.0, y + 10, name, "head"))
        items += [line(0.0, y + 10 + 16 * (i + 1), text) for i, text in enumerate(filter(None, facts(one)))]
        if seat is None or one == seat:
            visible = known or int(tricks.hand_size(game, world)) == 0  # or looked at one by one
            items += _fan(game, int(tricks.hand(game, world, one)) if visible else 0, _NAMES + _HAND, y)
        elif known:
            left = full - bits.count(int(tricks.played(game, world, one)))
            items += [back(_NAMES + _HAND + _BACKS * i, y, f"{left} cards face down" * (i == 0)) for i in range(left)]
            if left:
                label = _NAMES + _HAND + _BACKS * (left - 1) + CARD[0] + 12
                items.append(Item("text", label, y + CARD[1] / 2, text=f"×{left}", role="label"))
        items += _on_table(game, world, one, middle, y)
        y += _ROW
    return finished(items, drawing_title(game, seat))


def _held(game: Game, world: World, seat: int) -> int:
    return bits.count(int(tricks.hand(game, world, seat)))


def _places(game: Game) -> dict[int, int]:
    """The place of each card."""
    return {one: i for i, one in enumerate(tricks.all_cards(game))}


def _fan(game: Game, cards: int, x: float, y: float) -> list[Item]:
    """A hand face up, suit by suit, high cards first; a click on a card plays it."""
    suits = [int(suit_cards(game, suit)) & cards for suit in reversed(range(int(num_suits(game))))]
    order = [one for suit in suits for one in range(63, -1, -1) if suit >> one & 1]
    places = _places(game)
    return [
        card(x + FAN * i, y, card_text(game, one), place=places[one], actions=(one,)) for i, one in enumerate(order)
    ]


def _on_table(game: Game, world: World, seat: int, x: float, y: float) -> list[Item]:
    """The card of a seat in this trick, or in the last one; the best so far has a strong edge."""
    there = int(tricks.table(world)) & int(tricks.played(game, world, seat))
    if not there:
        return (
            [slot(x, y, "no card on the table")]
            if get(world, tricks.PHASE) == tricks.PLAY and tricks.table(world)
            else []
        )
    best = seat == get(world, tricks.WINNER)
    one = bits.lowest(there)
    title = f"{card_text(game, one)} of seat {seat} on the table" + (", the best" if best else "")
    return [card(x, y, card_text(game, one), title, place=_places(game)[one], role="best" if best else "")]


def voids(game: Game, world: World, seat: int) -> list[str]:
    """The suits that a seat has shown to be void in, as a line of its facts."""
    signs = {"c": "♣", "d": "♦", "h": "♥", "s": "♠"}
    suits = [signs[suit_letters(game)[s]] for s in range(int(num_suits(game))) if tricks.is_void(world, seat, s)]
    return [f"no {' '.join(suits)}"] if suits else []


def bid_and_tricks(bid: int, taken: int) -> str:
    """A seat's bid, -1 for none yet, and the tricks it has taken."""
    return f"{taken} of {bid} tricks" if bid >= 0 else "no bid yet"
