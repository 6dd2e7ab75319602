"""Trick-taking games for people: actions, observations, the whole truth and what a seat sees. Python only."""

from collections.abc import Iterable
from typing import Any

from foglight import bits
from foglight.bits import get
from foglight.cards import codes, tricks
from foglight.cards.deck import card_names, card_text, cards_text, num_suits, suit_letters
from foglight.rules import Game, World, num_players
from foglight.text import does, who


def deal_names(game: Game, card: int) -> tuple[str, ...]:
    """The ways people write that a card is dealt or turned."""
    return (f"deal {card_text(game, card)}", *card_names(game, card))


def bid_names(number: int) -> tuple[str, ...]:
    return (f"bid {number}", str(number))


def by_seat(what: str, values: Iterable[Any]) -> str:
    """`points by seat: 0 13 4 0`"""
    return f"{what} by seat: {' '.join(str(value) for value in values)}"


def bids_by_seat(bids: Iterable[int]) -> str:
    """Bids so far, with a dash for a seat that has not bid."""
    return by_seat("bids", ("-" if bid < 0 else bid for bid in bids))


def seen_text(game: Game, observation: int, viewer: int) -> str:
    """One of the common observations in words."""
    if codes.is_hand(observation):
        return f"you get {cards_text(game, codes.hand_of(observation))}"
    kind, seat, number = codes.kind_of(observation), codes.seat_of(observation), codes.number_of(observation)
    if kind == codes.TURNED:
        return f"{card_text(game, number)} is turned"
    if kind == codes.BIDS:
        return f"{does(seat, viewer, 'bid')} {number}"
    return f"{does(seat, viewer, 'get' if kind == codes.DEALT_TO_ME else 'play')} {card_text(game, number)}"


def table_text(game: Game, world: World, viewer: int) -> str:
    """The trick on the table, in the order of play; or the last one while nothing has been led."""
    cards, seats = int(tricks.table(world)), int(num_players(game))
    if not cards:
        return "nothing played yet"
    leader, winner = get(world, tricks.LEADER), get(world, tricks.WINNER)
    order = [(leader + i) % seats for i in range(seats)]
    placed = [(seat, cards & int(tricks.played(game, world, seat))) for seat in order]
    shown = ", ".join(f"{who(seat, viewer)} {card_text(game, bits.lowest(card))}" for seat, card in placed if card)
    if get(world, tricks.PLACED) == 0:
        return f"last trick: {shown}; {does(winner, viewer, 'take')} it"
    return f"table: {shown}"


def board_text(game: Game, world: World, *lines: str) -> str:
    """The whole truth: the game's own lines, the table, and every hand."""
    hands = [
        f"seat {seat}: {cards_text(game, tricks.hand(game, world, seat))}; tricks {tricks.taken(world, seat)}"
        for seat in range(num_players(game))
    ]
    return "\n".join([*lines, table_text(game, world, tricks.NONE), *hands])


def view_text(game: Game, world: World, seat: int, *lines: str) -> str:
    """What a seat sees: the game's own lines, the table, its hand, the tricks taken and the voids shown."""
    seats = range(num_players(game))
    held = tricks.hand(game, world, seat)
    # in most games nobody looks before all of one's cards are dealt
    looked = get(world, tricks.PHASE) > tricks.DEAL or bits.count(held) >= max(1, tricks.hand_size(game, world))
    own = f"your hand: {cards_text(game, held) if looked else 'not dealt yet'}"
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
