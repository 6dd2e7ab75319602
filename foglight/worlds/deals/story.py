"""What the observations of a trick-taking game tell: when each card was dealt, played or passed, and to whom.

Observations are read by playing along. Before play, every action that shows the viewer the next observation, or
nothing, is a way the story may continue. Any card can stand in for a hidden one. From the first card played on, only
cards are observed. Where hidden cards went, aside or to another seat, is read from where their stand-ins went.

All this assumes the promise `hides_only_cards`. What can be checked is checked on the way, and `Unfit` is raised where
a game cannot be filtered by deals: a hand grows unseen, only some cards of a hand may be chosen, or observations show
something unforeseen of a card.

The possible owners of a card follow from the rules. If a seat plays c, it does not hold any x such that `playable`
forbids c from the hand {c, x}. By the promise `playable_by_pairs` these pairs tell everything: voids and more. For
example, a heart played to the first trick of Hearts denies every card but hearts and the queen of spades. Without that
promise pairs prove nothing, since a larger hand may forbid c, or allow it again.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import NamedTuple

import numpy as np
from numpy import uint64

from foglight import bits
from foglight.bits import get, put
from foglight.cards import codes, tricks
from foglight.cards.tricks import (
    BID,
    DEAL,
    MOVER,
    NONE,
    PHASE,
    PLAY,
    first_bid,
    hand,
    hand_words,
    hides_only_cards,
    opening_card,
    pack,
    playable,
    played,
    set_hand,
)
from foglight.compile import kernel
from foglight.names import BadInput
from foglight.rules import (
    CHANCE,
    NOTHING,
    PUBLIC,
    Game,
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
from foglight.worlds.deals.count import HIDDEN

ASIDE = -1  # the place of a card that was laid aside: in no hand
_PLAIN = (1 << codes.EXTRA) - 1  # the bits of an observation that mean the same in all games
_MOST_STORIES = 4096  # most courses that hidden bids may have taken


class Unfit(BadInput):
    """The game's histories cannot be found from deals; the message says why."""


class Dealt(NamedTuple):
    """A card dealt."""

    time: int  # index of the action
    seat: int  # or num_players, if it goes to nobody
    card: int  # or HIDDEN


class Passed(NamedTuple):
    """A card passed on or laid aside."""

    time: int  # index of the action
    seat: int  # the giver
    card: int  # or HIDDEN
    offset: int  # the action is card + offset


@dataclass
class Story:
    """What the observations tell about one possible course of the actions that are not hidden cards."""

    actions: list[int] = field(default_factory=list)
    dealt: list[Dealt] = field(default_factory=list)
    passed: list[Passed] = field(default_factory=list)
    dealt_as: list[int] = field(default_factory=list)  # the stand-ins of the cards dealt
    passed_as: list[int] = field(default_factory=list)  # the stand-ins of the cards passed on or laid aside
    went: list[int] = field(default_factory=list)  # the last place of each card passed: a seat, or ASIDE
    own: int = 0  # the set of cards dealt to the viewer, once it has seen its hand
    received: list[int] = field(default_factory=list)  # the cards passed to the viewer
    plays: list[tuple[int, int]] = field(default_factory=list)  # seat, card
    open_cards: int = 0  # cards that lie face up, a set
    denied: dict[int, int] = field(default_factory=dict)  # by seat, the set of cards excluded by its play
    pinned: dict[tuple[int, int], int] = field(default_factory=dict)  # by giver and number of the pass, the card
    chance: float = 1.0  # probability of the chance outcomes, the same for every deal
    opening: bool = False  # whether play has begun, but no card has been led

    def then(self, action: int, odds: float) -> "Story":
        """The story with one more action; lists that are not replaced are shared."""
        return replace(self, actions=[*self.actions, action], chance=self.chance * odds)


def read(game: Game, observations: Sequence[int], viewer: int, guess: int | None = None) -> list[Story]:
    """The stories that lead to these observations: several where actions go unnoticed, none if no history is possible.

    With a `guess`, a seed, random cards stand in for hidden ones, and choices pass unchecked that others see something
    of or that the hand limits. Deals that agree with a story may then break the rules, and some histories may have no
    story; another guess may find them.
    """
    random = None if guess is None else Random(guess)
    world = new_worlds(game, 1)[0]
    begin(game, world)
    mine, turned = 0, 0
    for code in observations:
        if codes.is_hand(code):
            mine |= codes.hand_of(int(code))
        elif codes.kind_of(code) in (codes.DEALT_TO_ME, codes.TURNED):
            turned |= 1 << codes.number_of(int(code))
    front, stories = [(world, 0, Story())], []
    while front:
        world, at, story = front.pop()
        playing = get(world, PHASE) >= PLAY
        if playing or at == len(observations):
            story.went = _where_they_went(game, world, story)
        if at == len(observations):
            stories.append(replace(story, opening=get(world, PHASE) == PLAY))
        if playing:
            ended = _read_play(game, world, [int(code) for code in observations[at:]], story)
            stories += [ended] if ended is not None and at < len(observations) else []
        else:
            front += _next_stories(game, world, observations, at, viewer, story, mine, turned, random)
        if len(stories) + len(front) > _MOST_STORIES:
            raise Unfit(f"hidden actions may have taken more than {_MOST_STORIES} courses")
    return stories


def _next_stories(
    game: Game,
    world: np.ndarray,
    observations: Sequence[int],
    at: int,
    viewer: int,
    story: Story,
    mine: int,
    turned: int,
    random: Random | None,
) -> Iterator[tuple[np.ndarray, int, Story]]:
    """Each possible next action before play: the world after it, the number of observations explained, the story."""
    expected = int(observations[at]) if at < len(observations) else NOTHING
    phase, now = get(world, PHASE), len(story.actions)
    actions, seen = np.empty(max_legal(game), np.int64), np.empty(max_legal(game), np.int64)
    afters = new_worlds(game, max_legal(game))
    n = _look_ahead(game, world, viewer, actions, seen, afters)
    dealing, offset = phase <= DEAL, int(first_bid(game)) if phase == BID else 0
    seat, got = get(world, MOVER), 0  # got: the number of cards passed to the viewer
    laid = False
    if dealing:
        seat = _dealt_to(game, world, afters[0])
    else:
        laid = _lays(game, world, afters[:n], (actions[:n] - offset).tolist(), seat)
        if laid and viewer != PUBLIC:
            got = bits.count(int(hand(game, afters[0], viewer)) & ~int(hand(game, world, viewer)))
    mask = _PLAIN if got else -1
    distinct = len(set((seen[:n] & mask).tolist()))
    if dealing:
        hidden = phase == DEAL and _is_hidden(int(seen[0]), n, distinct)
    else:
        hidden = laid and viewer != seat
        if laid:
            _check_choice(game, world, story, seat)
            if hidden and random is None and distinct > 1:
                raise Unfit("others observe something of a card that is laid aside or passed")
            if hidden and random is None and n < bits.count(hand(game, world, seat)):
                raise Unfit("only some cards of a hidden hand may be laid aside or passed")
    # stand-ins: the viewer's own hidden cards are taken from its hand, others from the rest while it lasts
    wanted = 0
    if hidden:
        wanted = sum(1 << int(action) - offset for action in actions[:n])
        wanted &= mine & ~turned if dealing and seat == viewer and mine else ~(mine | turned)
    for i in range(n) if random is None or not hidden else random.sample(range(n), n):
        action, code, after = int(actions[i]), int(seen[i]), afters[i]
        if hidden and wanted != 0 and not wanted >> action - offset & 1:
            continue
        if code == NOTHING or (expected != NOTHING and code & mask == expected & mask):
            card = HIDDEN if hidden else action - offset
            then = story.then(HIDDEN if hidden else action, 1.0 / n if dealing else 1.0)
            if phase == DEAL and (seat != NONE or hidden):
                to = seat if seat != NONE else num_players(game)
                if any(giver == to for _, giver, _, _ in story.passed):
                    raise Unfit("cards are dealt to a seat that has passed some on")
                then.dealt, then.dealt_as = [*story.dealt, Dealt(now, to, card)], [*story.dealt_as, action]
                if codes.is_hand(code):
                    then.own = codes.hand_of(code)
            elif phase == DEAL:
                then.open_cards = story.open_cards | 1 << action
            elif laid:
                then.passed = [*story.passed, Passed(now, seat, card, offset)]
                then.passed_as = [*story.passed_as, action - offset]
                then.received = story.received + [expected >> codes.EXTRA + 6 * k & 63 for k in range(got)]
            yield after, at + (code != NOTHING), then
            if hidden:
                return  # which card stands in makes no difference to the observations


def _dealt_to(game: Game, world: np.ndarray, after: np.ndarray) -> int:
    """The seat whose hand a deal changes, or NONE."""
    changed = np.flatnonzero(after[hand_words(game)] != world[hand_words(game)])
    return int(changed[0]) if len(changed) else NONE


def _is_hidden(code: int, n: int, distinct: int) -> bool:
    """Whether the viewer does not observe which card is dealt, or only later, with its whole hand."""
    if codes.is_hand(code):
        return True
    shown = codes.kind_of(code) in (codes.DEALT_TO_ME, codes.TURNED)
    if shown and distinct == n:
        return False
    if shown or distinct > 1:
        raise Unfit("a card dealt is shown by an observation that is neither HAND nor DEALT_TO_ME nor TURNED")
    return True


def _lays(game: Game, world: np.ndarray, afters: np.ndarray, cards: list[int], seat: int) -> bool:
    """Whether the mover chooses a card that leaves its hand."""
    cards_before, words = int(hand(game, world, seat)), hand_words(game)
    if not (afters[:, words] != world[words]).any():
        return False
    gone = [cards_before & ~int(hand(game, after, seat)) for after in afters]
    if not all(0 <= card < 64 and out >> card & 1 for card, out in zip(cards, gone, strict=True)):
        raise Unfit("a choice before play changes hands, but is neither a pass nor a discard")
    return True


def _check_choice(game: Game, world: np.ndarray, story: Story, seat: int) -> None:
    """Refuse a choice from cards other than those dealt to the seat."""
    given_cards = [card for card, (_, giver, _, _) in zip(story.passed_as, story.passed, strict=True) if giver == seat]
    dealt = [card for card, (_, to, _) in zip(story.dealt_as, story.dealt, strict=True) if to == seat]
    if int(hand(game, world, seat)) != sum(1 << card for card in dealt if card not in given_cards):
        raise Unfit("a seat passes on cards that were passed to it")


def _where_they_went(game: Game, world: np.ndarray, story: Story) -> list[int]:
    """The place of each card passed; refuses hands that do not consist of the cards dealt and passed."""
    seats = range(num_players(game))
    hands = [int(hand(game, world, seat)) for seat in seats]
    went = [next((seat for seat in seats if hands[seat] >> card & 1), ASIDE) for card in story.passed_as]
    expected = [0] * (len(seats) + 1)
    for card, (_, to, _) in zip(story.dealt_as, story.dealt, strict=True):
        expected[to] |= 1 << card if card not in story.passed_as else 0
    for card, to in zip(story.passed_as, went, strict=True):
        expected[to] |= 1 << card
    if hands != expected[:-1]:
        raise Unfit("hands do not consist of the cards dealt and passed")
    return went


def _read_play(game: Game, world: np.ndarray, observations: list[int], story: Story) -> Story | None:
    """The story extended by the cards played; None if they are impossible."""
    if any(codes.kind_of(code) != codes.PLAYS for code in observations):
        return None
    plays = [(codes.seat_of(code), codes.number_of(code)) for code in observations]
    seats, cards = range(num_players(game)), [card for _, card in plays]
    fits = all(seat in seats for seat, _ in plays) and len(set(cards)) == len(cards)
    whole = int(pack(game, world)) & ~story.open_cards
    if not fits or any(not whole >> card & 1 for card in cards):
        return None
    hands = np.zeros(len(seats), np.uint64)  # the cards each seat plays, filled up to its hand size: enough to replay
    for seat in seats:
        own = [card for player, card in plays if player == seat]
        size = bits.count(hand(game, world, seat))
        own += [card for card in range(64) if whole >> card & 1 and card not in cards][: size - len(own)]
        if len(own) > size:
            return None
        hands[seat] = sum(1 << card for card in own)
    denied = np.zeros(len(seats), np.uint64)
    after, opening = world.copy(), int(opening_card(game))
    if plays and opening != NONE and cards[0] != opening:
        return None
    if plays and (opening != NONE or not hides_only_cards(game)):
        put(after, MOVER, plays[0][0])  # the deal determines who leads, or may do so
    if not _follow_play(game, after, hands, np.array(plays, np.int64).reshape(-1, 2), denied):
        return None
    extended = replace(story, actions=[*story.actions, *cards], plays=plays)
    extended.denied = {seat: int(denied[seat]) for seat in seats}
    extra = observations[-1] >> codes.EXTRA if observations else 0
    if get(after, PHASE) == tricks.OVER and extra and ASIDE not in extended.went:
        extended.pinned = _laid_open(extended, extra)
    return extended


def _laid_open(story: Story, extra: int) -> dict[tuple[int, int], int]:
    """The passes shown when the game is over: 4 bits each, the index among the cards that the receiver played."""
    pinned: dict[tuple[int, int], int] = {}
    for (_, seat, _, _), receiver in zip(reversed(story.passed), reversed(story.went), strict=True):
        number = sum(1 for s, _ in pinned if s == seat)
        n_each = sum(1 for _, giver, _, _ in story.passed if giver == seat)
        cards = sorted(card for player, card in story.plays if player == receiver)
        pinned[seat, n_each - 1 - number] = cards[min(extra & 15, len(cards) - 1)]
        extra >>= 4
    return pinned


@kernel
def _look_ahead(game, world, viewer, actions, seen, afters):
    """Write each possible action, the viewer's observation and the world after it; returns how many."""
    odds = np.empty(max_legal(game))
    n = chance(game, world, actions, odds) if player(game, world) == CHANCE else legal(game, world, actions)
    for i in range(n):
        copy_world(game, afters[i], world)
        step(game, afters[i], actions[i])
        seen[i] = observe(game, world, actions[i], afters[i], viewer)
    return n


@kernel
def _follow_play(game, world, hands, plays, denied):
    """Replay the cards played, and note which cards each seat cannot have held; False if it was not a seat's turn."""
    for seat in range(len(hands)):
        set_hand(game, world, seat, hands[seat])
    for t in range(len(plays)):
        seat, card = plays[t, 0], plays[t, 1]
        if get(world, PHASE) != PLAY or get(world, MOVER) != seat:
            return False
        cards_before, others = hand(game, world, seat), pack(game, world) & ~played(game, world, seat) & ~bits.bit(card)
        while others != uint64(0):
            other = bits.lowest(others)
            others = bits.without_lowest(others)
            set_hand(game, world, seat, bits.bit(card) | bits.bit(other))
            if not bits.has(playable(game, world), card):
                denied[seat] |= bits.bit(other)
        set_hand(game, world, seat, cards_before)
        step(game, world, card)
    return True
