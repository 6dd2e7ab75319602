"""Rock-paper-scissors with a way out: the smallest game with strategy fusion [Arjonilla2024, Fig. 1].

Seat 0 leaves for a fixed payoff or plays rock, paper or scissors, which seat 1 answers without seeing it. A search that
evaluates each of seat 1's worlds by itself concludes that seat 1 can always win, and leaves.

world   word 0: bits 0-1 the action of seat 0, 2 whether it has acted, 3-4 the action of seat 1, or 0
action  0 leave, 1 rock, 2 paper, 3 scissors
observe each seat its own action; everybody else whether the game goes on or is over
"""

from dataclasses import replace
from typing import Annotated, NamedTuple

from foglight.bits import get, put
from foglight.compile import constants, implements
from foglight.drawing.layouts import LINE, back, card, drawing_title, finished, line, slot
from foglight.names import Between
from foglight.rules import PUBLIC, TERMINAL, Bounds, game

_FIRST, _ACTED, _SECOND = (0, 0, 2), (0, 2, 1), (0, 3, 2)
_LEAVE = 0
_LEFT, _PLAYED, _ANSWERED, _MINE = 1, 2, 3, 4  # observation codes
_NAMES = ("leave", "rock", "paper", "scissors")


@game
@constants(
    num_players=2,
    num_words=1,
    num_actions=4,
    num_sight_features=7,
    observation_bits=3,
    title="rock-paper-scissors with a way out: the smallest case of strategy fusion",
)
class UnseenRps(NamedTuple):
    leave_value: Annotated[float, "payoff to seat 0 for leaving", Between(-100, 100)] = -0.6


@implements(UnseenRps)
def player(game, world):
    if get(world, _ACTED) == 0:
        return 0
    return TERMINAL if get(world, _FIRST) == _LEAVE or get(world, _SECOND) != 0 else 1


@implements(UnseenRps)
def legal(game, world, out):
    first = get(world, _ACTED)  # seat 1 cannot leave
    for action in range(first, 4):
        out[action - first] = action
    return 4 - first


@implements(UnseenRps)
def step(game, world, action):
    if get(world, _ACTED) == 0:
        put(world, _FIRST, action)
        put(world, _ACTED, 1)
    else:
        put(world, _SECOND, action)


@implements(UnseenRps)
def observe(game, before, action, after, viewer):
    mover = get(before, _ACTED)
    if viewer == mover:
        return _MINE + action
    if mover == 1:
        return _ANSWERED
    return _LEFT if action == _LEAVE else _PLAYED


@implements(UnseenRps)
def returns(game, world, out):
    if get(world, _FIRST) == _LEAVE:
        out[0] = game.leave_value
    else:
        # rock < paper < scissors < rock: one step ahead wins, two steps ahead loses
        ahead = (get(world, _FIRST) - get(world, _SECOND)) % 3
        out[0] = 0.0 if ahead == 0 else (1.0 if ahead == 1 else -1.0)
    out[1] = -out[0]


@implements(UnseenRps)
def sight_features(game, world, seat, out):
    # whether seat 0 has acted, whether it has left, whether seat 1 has answered, and the seat's own action
    acted, answered = get(world, _ACTED) == 1, get(world, _SECOND) != 0
    out[0], out[1], out[2] = acted, acted and get(world, _FIRST) == _LEAVE, answered
    if acted and seat == 0:
        out[3 + get(world, _FIRST)] = 1.0
    elif answered and seat == 1:
        out[3 + get(world, _SECOND)] = 1.0


@implements(UnseenRps)
def bounds(game):
    most = max(1.0, abs(game.leave_value))
    return Bounds(-most, most, 0.0, 2)


@implements(UnseenRps)
def how_to_play(game):
    return f"""Seat 0 plays `rock`, `paper` or `scissors`, or `leave`, which ends the game for {game.leave_value:g}.
If it plays, seat 1 answers with `rock`, `paper` or `scissors`, without having seen its hand.
Paper beats rock, scissors beat paper, rock beats scissors. The winner gets 1 from the loser."""


@implements(UnseenRps)
def why_not(game, world, action):
    return "only seat 0 may leave"


@implements(UnseenRps)
def action_names(game, world, action):
    return (_NAMES[action], _NAMES[action][0])


@implements(UnseenRps)
def board(game, world):
    first = _NAMES[get(world, _FIRST)] if get(world, _ACTED) else "to move"
    second = _NAMES[get(world, _SECOND)] if get(world, _SECOND) else "to answer" if get(world, _ACTED) else "waiting"
    return f"seat 0: {first}, seat 1: {second if get(world, _FIRST) or not get(world, _ACTED) else 'not asked'}"


@implements(UnseenRps)
def view(game, world, seat):
    mover = player(game, world)
    if mover == TERMINAL:
        return f"you are seat {seat}, the game is over"
    return f"you are seat {seat}, " + ("your turn" if mover == seat else f"seat {mover} to move")


@implements(UnseenRps)
def drawing(game, world, seat):
    acted = get(world, _ACTED) == 1
    hands = [_NAMES[get(world, _FIRST)] if acted else ".", _NAMES[get(world, _SECOND)] if get(world, _SECOND) else "."]
    if seat == 1 and acted and get(world, _FIRST) != _LEAVE:
        hands[0] = ""  # seat 1 sees whether seat 0 leaves, not what it plays
    if seat == 0 and get(world, _SECOND):
        hands[1] = ""
    items = []
    for one, hand in enumerate(hands):
        x, name = 90.0 * one, f"seat {one}" + (" (you)" if one == seat else "")
        items.append(line(x, LINE / 2, name, "head"))
        item = slot(x, LINE + 4, "not played") if hand == "." else back(x, LINE + 4, "played unseen")
        shown = card(x, LINE + 4, hand) if hand not in (".", "") else item
        items.append(replace(shown, width=64.0, x=x + 32))
    return finished(items, drawing_title(game, seat))


@implements(UnseenRps)
def observation_text(game, before, action, after, viewer):
    mover = get(before, _ACTED)
    if viewer != PUBLIC and viewer == mover:
        return f"you play {_NAMES[action]}"
    if mover == 1:
        return "seat 1 answers"
    return "seat 0 leaves" if action == _LEAVE else "seat 0 plays"
