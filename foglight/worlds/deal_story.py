"""What observations of a trick-taking game tell: who was dealt how many cards and when, what was played, bid, passed.

Observations are read by playing along: before play, every action that would show the viewer the next observation, or
nothing, is a way the story may go; hidden cards are stood for by any. From the first card played on, only cards are
seen. Who may own which card follows from the rules themselves. If a seat plays c, it holds no x such that `playable`
would not allow c from the hand {c, x}; for rules of the form "those that ... , or all if there are none", which all
games here have, these pairs say everything, voids and more: a heart played to the first trick of Hearts denies every
other card but hearts and the queen of spades.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy import uint64

from foglight import bits
from foglight.bits import get, put
from foglight.cards import codes, tricks
from foglight.cards.tricks import DEAL, MOVER, PASS, PHASE, PLAY, SETUP, hand, pack, playable, played, set_hand
from foglight.compile import kernel
from foglight.rules import (
    CHANCE,
    NOTHING,
    PUBLIC,
    begin,
    chance,
    copy_world,
    legal,
    max_legal,
    new_worlds,
    num_players,
    observe,
    player,
    step,
)
from foglight.worlds.deal_count import HIDDEN

_PLAIN = (1 << codes.EXTRA) - 1  # the bits of a code that mean the same in all games


@dataclass
class Story:
    """What the observations tell of one possible length of the history."""

    actions: list[int] = field(default_factory=list)
    dealt: list[tuple[int, int, int]] = field(default_factory=list)  # time, seat, card or HIDDEN
    passed: list[tuple[int, int, int]] = field(default_factory=list)  # time, seat, card or HIDDEN
    own: int = 0  # the cards dealt to the viewer, a set, once it has looked
    received: list[int] = field(default_factory=list)  # what the viewer got
    receiver: dict[int, int] = field(default_factory=dict)  # whose cards went to whom, once all have passed
    plays: list[tuple[int, int]] = field(default_factory=list)  # seat, card
    open_cards: int = 0  # cards that lie face up, a set
    denied: dict[int, int] = field(default_factory=dict)  # by seat, the set of cards that its play excludes
    pinned: dict[tuple[int, int], int] = field(default_factory=dict)  # seat and number of the pass: the card
    chance: float = 1.0  # the probability of the outcomes of chance, the same for every deal

    def then(self, action: int, odds: float = 1.0) -> "Story":
        """The story with one action more; lists that are not replaced are shared."""
        return replace(self, actions=[*self.actions, action], chance=self.chance * odds)


def read(game: Any, observations: Sequence[int], viewer: int) -> list[Story]:
    """The stories that lead to these observations: several where time passes unnoticed, none if there is none."""
    world = new_worlds(game, 1)[0]
    begin(game, world)
    mine = sum(codes.hand_of(int(code)) for code in observations if codes.is_hand(code))
    turned = 0
    for code in observations:
        if codes.kind_of(code) in (codes.DEALT_TO_ME, codes.TURNED):
            turned |= 1 << codes.number_of(int(code))
    front, stories = [(world, 0, Story())], []
    while front:
        world, at, story = front.pop()
        if at == len(observations):
            stories.append(story)
        if get(world, PHASE) >= PLAY:
            ended = _read_play(game, world, [int(code) for code in observations[at:]], story)
            stories += [ended] if ended is not None and at < len(observations) else []
        else:
            front += _next_stories(game, world, observations, at, viewer, story, mine, turned)
    return stories


def _next_stories(
    game: Any,
    world: np.ndarray,
    observations: Sequence[int],
    at: int,
    viewer: int,
    story: Story,
    mine: int,
    turned: int,
) -> Iterator[tuple[np.ndarray, int, Story]]:
    """What may happen next before play: the world after it, how many observations it explains, the story."""
    expected = int(observations[at]) if at < len(observations) else NOTHING
    phase, seat, now = get(world, PHASE), get(world, MOVER), len(story.actions)
    actions, seen = np.empty(max_legal(game), np.int64), np.empty(max_legal(game), np.int64)
    afters = new_worlds(game, max_legal(game))
    n = _look_ahead(game, world, viewer, actions, seen, afters)
    to_seat = phase == DEAL and hand(game, afters[0], seat) != hand(game, world, seat)
    one_by_one = bool(codes.kind_of(int(seen[0])) == codes.DEALT_TO_ME)
    hidden = (to_seat and not one_by_one) or (phase == PASS and viewer != seat)
    # a card that stands for a hidden one: the viewer's own come from its hand, others from the rest while that lasts
    wanted = sum(1 << int(action) for action in actions[:n])
    if hidden:
        wanted &= mine & ~turned if to_seat and seat == viewer and mine else ~(mine | turned)
    for i in range(n):
        action, code, after = int(actions[i]), int(seen[i]), afters[i]
        if hidden and wanted != 0 and not wanted >> action & 1:
            continue
        last_pass = phase == PASS and get(after, PHASE) != PASS
        same = code & _PLAIN == expected & _PLAIN if last_pass else code == expected
        if code == NOTHING or (same and expected != NOTHING):
            card = HIDDEN if hidden else action
            then = story.then(card, 1.0 / n if phase in (SETUP, DEAL) else 1.0)
            if to_seat:
                then.dealt = [*story.dealt, (now, seat, card)]
                if codes.is_hand(code):
                    then.own = codes.hand_of(code)
            elif phase == DEAL:
                then.open_cards = story.open_cards | 1 << action
            elif phase == PASS:
                then.passed = [*story.passed, (now, seat, card)]
            if last_pass:
                n_each = sum(1 for _, giver, _ in then.passed if giver == seat)
                if viewer != PUBLIC:
                    then.received = [expected >> codes.EXTRA + 6 * k & 63 for k in range(n_each)]
                then.receiver = _receivers(game, afters[i], action, seat)
            yield after, at + (code != NOTHING), then
        if hidden:
            return  # which card it is makes no difference to what is seen


def _receivers(game: Any, after: np.ndarray, card: int, giver: int) -> dict[int, int]:
    """Who has got whose cards, from where the last card passed is now."""
    seats = num_players(game)
    shift = next(s for s in range(seats) if bits.has(hand(game, after, s), card)) - giver
    return {seat: (seat + shift) % seats for seat in range(seats)}


def _read_play(game: Any, world: np.ndarray, observed: list[int], story: Story) -> Story | None:
    """The story with what was played, or None if that is impossible."""
    if any(codes.kind_of(code) != codes.PLAYS for code in observed):
        return None
    plays = [(codes.seat_of(code), codes.number_of(code)) for code in observed]
    seats, cards = range(num_players(game)), [card for _, card in plays]
    fits = all(seat in seats for seat, _ in plays) and len(set(cards)) == len(cards)
    whole = int(pack(game, world)) & ~story.open_cards
    if not fits or any(not whole >> card & 1 for card in cards):
        return None
    hands = np.zeros(len(seats), np.uint64)  # each seat's plays, filled up to its size: enough to follow the play
    for seat in seats:
        own = [card for player, card in plays if player == seat]
        size = sum(1 for _, player, _ in story.dealt if player == seat)
        own += [card for card in range(64) if whole >> card & 1 and card not in cards][: size - len(own)]
        if len(own) > size:
            return None
        hands[seat] = sum(1 << card for card in own)
    denied = np.zeros(len(seats), np.uint64)
    after = world.copy()
    if plays:
        put(after, MOVER, plays[0][0])  # in some games the deal decides who leads
    if not _follow_play(game, after, hands, np.array(plays, np.int64).reshape(-1, 2), denied):
        return None
    told = replace(story, actions=[*story.actions, *cards], plays=plays)
    told.denied = {seat: int(denied[seat]) for seat in seats}
    extra = observed[-1] >> codes.EXTRA if observed else 0
    if get(after, PHASE) == tricks.OVER and told.receiver:
        told.pinned = _laid_open(told, extra)
    return told


def _laid_open(story: Story, extra: int) -> dict[tuple[int, int], int]:
    """The passes that are shown when the game is over: 4 bits each, the place among the cards the receiver played."""
    pinned: dict[tuple[int, int], int] = {}
    for _, seat, _ in reversed(story.passed):
        number = sum(1 for s, _ in pinned if s == seat)
        n_each = sum(1 for _, giver, _ in story.passed if giver == seat)
        cards = sorted(card for player, card in story.plays if player == story.receiver[seat])
        pinned[seat, n_each - 1 - number] = cards[min(extra & 15, len(cards) - 1)]
        extra >>= 4
    return pinned


@kernel
def _look_ahead(game, world, viewer, actions, seen, afters):
    """What may happen, what the viewer would observe, and the world after it; how many."""
    odds = np.empty(max_legal(game))
    n = chance(game, world, actions, odds) if player(game, world) == CHANCE else legal(game, world, actions)
    for i in range(n):
        copy_world(game, afters[i], world)
        step(game, afters[i], actions[i])
        seen[i] = observe(game, world, actions[i], afters[i], viewer)
    return n


@kernel
def _follow_play(game, world, hands, plays, denied):
    """Play what was played, and note the cards that each seat cannot have held; False if it was another's turn."""
    for seat in range(len(hands)):
        set_hand(game, world, seat, hands[seat])
    for t in range(len(plays)):
        seat, card = plays[t, 0], plays[t, 1]
        if get(world, PHASE) != PLAY or get(world, MOVER) != seat:
            return False
        held, others = hand(game, world, seat), pack(game, world) & ~played(game, world, seat) & ~bits.bit(card)
        while others != uint64(0):
            other = bits.lowest(others)
            others = bits.without_lowest(others)
            set_hand(game, world, seat, bits.bit(card) | bits.bit(other))
            if not bits.has(playable(game, world), card):
                denied[seat] |= bits.bit(other)
        set_hand(game, world, seat, held)
        step(game, world, card)
    return True
