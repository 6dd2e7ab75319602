"""The text of trick-taking games: actions, observations, whole worlds and views of a seat. Python only."""

from collections.abc import Iterable
from typing import Any

from foglight import bits
from foglight.bits import get
from foglight.cards import codes, tricks
from foglight.cards.deck import card_names, card_text, cards_text, num_suits, suit_letters
from foglight.rules import Game, World, num_players
from foglight.text import does, who


def deal_names(game: Game, card: int) -> tuple[str, ...]:
    """The names of the outcome of chance that deals or turns a card."""
    return (f"deal {card_text(game, card)}", *card_names(game, card))


def bid_names(number: int) -> tuple[str, ...]:
    return (f"bid {number}", str(number))


def by_seat(what: str, values: Iterable[Any]) -> str:
    """A number per seat as text: `points by seat: 0 13 4 0`."""
    return f"{what} by seat: {' '.join(str(value) for value in values)}"


def bids_by_seat(bids: Iterable[int]) -> str:
    """The bids so far as text; -1 stands for a seat that has not bid, and is shown as a dash."""
    return by_seat("bids", ("-" if bid < 0 else bid for bid in bids))


def suit_name(game: Game, suit: int) -> str:
    """The name of a suit: `spades`."""
    return {"c": "clubs", "d": "diamonds", "h": "hearts", "s": "spades"}[suit_letters(game)[int(suit)]]


def why_not(game: Game, world: World, action: int) -> str:
    """Why the mover may not play this card, or bid, now; empty if it could, as far as holding and following go."""
    if get(world, tricks.PHASE) == tricks.BID:
        return "bid first; cards are played when all have bid"
    if action not in tricks.all_cards(game):
        return "all have bid; now play a card"
    if not int(tricks.hand(game, world, get(world, tricks.MOVER))) >> action & 1:
        return f"you do not hold {card_text(game, action)}"
    if tricks.can_follow(game, world) and get(world, tricks.PHASE) == tricks.PLAY:
        return f"you hold {suit_name(game, get(world, tricks.LED_SUIT))}, the suit led, and must follow it"
    return ""


def seen_text(game: Game, observation: int, viewer: int) -> str:
    """The text of an observation of one of the kinds in `codes`."""
    if codes.is_hand(observation):
        return f"you get {cards_text(game, codes.hand_of(observation))}"
    kind, seat, number = codes.kind_of(observation), codes.seat_of(observation), codes.number_of(observation)
    if kind == codes.TURNED:
        return f"{card_text(game, number)} is turned"
    if kind == codes.BIDS:
        return f"{does(seat, viewer, 'bid')} {number}"
    return f"{does(seat, viewer, 'get' if kind == codes.DEALT_TO_ME else 'play')} {card_text(game, number)}"


def table_text(game: Game, world: World, viewer: int) -> str:
    """The trick on the table in the order of play, or the last trick before the next card is led."""
    cards, seats = int(tricks.table(world)), int(num_players(game))
    if not cards:
        return "nothing played yet"
    leader, winner = get(world, tricks.LEADER), get(world, tricks.WINNER)
    order = [(leader + i) % seats for i in range(seats)]
    trick = [(seat, cards & int(tricks.played(game, world, seat))) for seat in order]
    text = ", ".join(f"{who(seat, viewer)} {card_text(game, bits.lowest(card))}" for seat, card in trick if card)
    if get(world, tricks.PLACED) == 0:
        return f"last trick: {text}; {does(winner, viewer, 'take')} it"
    return f"table: {text}"


def board_text(game: Game, world: World, *lines: str) -> str:
    """The whole world as text: the game's own lines, the table, and every hand."""
    hands = [
        f"seat {seat}: {cards_text(game, tricks.hand(game, world, seat))}; tricks {tricks.taken(world, seat)}"
        for seat in range(num_players(game))
    ]
    return "\n".join([*lines, table_text(game, world, tricks.NONE), *hands])


def view_text(game: Game, world: World, seat: int, *lines: str) -> str:
    """The view of a seat as text: the game's own lines, the table, its hand, the tricks taken and the voids shown."""
    seats = range(num_players(game))
    hand = tricks.hand(game, world, seat)
    # in most games a seat looks at its hand only when all its cards are dealt
    visible = get(world, tricks.PHASE) > tricks.DEAL or bits.count(hand) >= max(1, tricks.hand_size(game, world))
    own = f"your hand: {cards_text(game, hand) if visible else 'not dealt yet'}"
    took = by_seat("tricks", (tricks.taken(world, other) for other in seats))
    return "\n".join(
        [f"you are seat {seat}", *lines, table_text(game, world, seat), own, took, *_voids(game, world, seat)]
    )


def _voids(game: Game, world: World, viewer: int) -> list[str]:
    shown = []
    for seat in range(num_players(game)):
        suits = [suit_letters(game)[s] for s in range(num_suits(game)) if tricks.is_void(world, seat, s)]
        if suits:
            shown.append(f"{who(seat, viewer)} in {' '.join(suits)}")
    return [f"void: {', '.join(shown)}"] if shown else []
