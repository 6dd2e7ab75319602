"""What workers compute. Arguments and results are plain data, and a result depends on its arguments alone."""

import contextlib
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from foglight.agents import Agent, Decision, Seat, load_agent
from foglight.analysis import account, reason_rows
from foglight.arena.referee import warm_up
from foglight.drawing.svg import markup
from foglight.games import load_game
from foglight.hindsight import DEFAULT_MARGIN, Judge
from foglight.names import BadInput
from foglight.rules import Game, contents, drawing, places
from foglight.state import State, new_state, replay, state_of
from foglight.worlds.knowledge import Knowledge, likelihood, seed_of
from foglight.worlds.marginals import Marginals
from foglight.worlds.regeneration import BeliefLost

_BRIEF = 0.01  # seconds
_REMEMBERED = 32  # agents of games in progress
_KNOWN = 64  # positions whose worlds are remembered
_LEAVES = 200  # worlds to leaf through
_LONGEST = 5000  # observations of a position that comes by a link
JUDGE = "epimc(time=0.3,cap=2000)"  # gives verdicts
_VERDICT = ("step", "played", "verdict", "sentence", "best", "value_played", "value_best", "truth_played", "truth")

_seats: OrderedDict[tuple[Any, ...], Seat] = OrderedDict()
_known: OrderedDict[tuple[str | Game, int, tuple[int, ...]], Knowledge] = OrderedDict()
_warm: set[tuple[str, str]] = set()  # games and agents whose kernels are loaded


def move(
    table: int,
    game: str,
    agent: str,
    seat: int,
    seed: int,
    observations: Sequence[int],
    actions: Sequence[int],
    decisions: Sequence[Decision] = (),
) -> int:
    """The action of an agent. An agent that has played this game before gets only what is new.

    Any other gets all observations, and one that remembers is asked at the seat's earlier `decisions`.
    """
    key = (table, game, agent, seat, seed)
    place = _seats.pop(key, None)
    if place is None or list(place.observations) != list(observations[: len(place.observations)]):
        if place is not None:
            place.agent.close()
        place = Seat(load_agent(agent), load_game(game), seat, seed, list(observations), decisions)
    place.tell(list(observations))
    action = place.agent.act(list(actions))
    if action not in actions:
        raise BadInput(f"{agent} played {action!r}, which is not legal here")
    _seats[key] = place
    while len(_seats) > _REMEMBERED:
        _seats.popitem(last=False)[1].agent.close()
    return int(action)


def prepare(game: str, agents: Sequence[str]) -> None:
    """Compile and load what a game and its agents need; they think as briefly as they can."""
    new_state(game)
    made: list[Agent] = [load_agent(agent) for agent in agents]
    for agent in made:
        agent.time = min(agent.time, _BRIEF)
    try:
        if made:
            warm_up(load_game(game), made)
    finally:
        for agent in made:
            agent.close()


# What may be true -----------------------------------------------------------------------------------------------------


def belief(game: str | Game, seat: int, observations: Sequence[int], to_move: bool) -> dict[str, Any]:
    """What a seat may hold possible, as a picture and as numbers; `none` says why there is no such thing."""
    return _belief(game, seat, observations, to_move)[0]


def _belief(
    game: str | Game, seat: int, observations: Sequence[int], to_move: bool
) -> tuple[dict[str, Any], Marginals | None]:
    """The answer, and the probabilities by place, if there are any."""
    try:
        rules = load_game(game)
        if not places(rules)[0]:
            return {"none": f"{rules} has no places to show a belief for; its worlds can be looked at"}, None
        knowledge = _knowledge(game, seat, observations)
        sight = drawing(rules, knowledge.one_world(to_move), seat)
        found = replace(knowledge.marginals(to_move), title=f"{rules}: what seat {seat} may think", sight=sight)
    except (BadInput, BeliefLost) as error:
        return {"none": f"there is no belief here: {error}"}, None
    answer = {
        "svg": markup(found.drawing()),
        "worlds": found.worlds,
        "exact": found.exact,
        "sentence": found.sentence(),
        "places": [
            {"place": place, "contents": [[what, round(share, 6)] for what, share in odds.items()]}
            for place, odds in zip(found.places, found.odds, strict=True)
        ],
    }
    return answer, found


def world(game: str, seat: int, observations: Sequence[int], to_move: bool, index: int) -> dict[str, Any]:
    """One of the worlds that a seat may hold possible, the likeliest first."""
    try:
        knowledge = _knowledge(game, seat, observations)
        worlds = knowledge.some(to_move, _LEAVES)
    except (BadInput, BeliefLost) as error:
        return {"none": f"there are no worlds to look at: {error}"}
    of = len(worlds.weights)
    if not 0 <= index < of:
        raise BadInput(f"there are worlds 0 to {of - 1} to look at, not {index}")
    picture = markup(state_of(knowledge.game, worlds.rows[index]).drawing())
    return {"index": index, "of": of, "weight": float(worlds.weights[index]), "exact": worlds.exact, "svg": picture}


def position(game: str, seat: int, observations: Sequence[int]) -> dict[str, Any]:
    """A position from a seat's observations alone. BadInput if nobody can have observed them."""
    state, to_move = _position(game, seat, observations)
    return {
        "svg": markup(state.drawing(seat, choices=to_move, last=observations[-1] if observations else None)),
        "text": state.sight(seat),
        "moves": [[action, names[0]] for action, names in state.choices().items()] if to_move else [],
        "log": None,
        "to_move": to_move,
        "belief": belief(game, seat, observations, to_move),
    }


def position_advice(
    game: str, seat: int, observations: Sequence[int], agent: str, seconds: float | None = None
) -> dict[str, Any]:
    """What an agent would play in a position that is known by a seat's observations alone."""
    state, to_move = _position(game, seat, observations)
    if not to_move:
        raise BadInput(f"seat {seat} is not to move here, so an agent has nothing to advise")
    choices = state.choices()
    return advice(game, seat, observations, list(choices), [names[0] for names in choices.values()], agent, seconds)


def _position(game: str, seat: int, observations: Sequence[int]) -> tuple[State, bool]:
    """A world that agrees with these observations, in which it is the seat's turn if that is possible."""
    if len(observations) > _LONGEST:
        raise BadInput(f"a position has at most {_LONGEST:,} observations, not {len(observations):,}")
    if not all(type(code) is int and -(2**63) <= code < 2**63 for code in observations):
        raise BadInput("observations are whole numbers of 64 bits")
    try:
        knowledge = _knowledge(game, seat, observations)
        state = state_of(knowledge.game, knowledge.one_world(to_move=False))
        if state.player != seat:
            with contextlib.suppress(BadInput, BeliefLost):
                state = state_of(knowledge.game, knowledge.one_world(to_move=True))
    except BeliefLost as error:
        raise BadInput(f"this is no position of {game} that could be found: {error}") from None
    return state, state.player == seat


def _knowledge(game: str | Game, seat: int, observations: Sequence[int]) -> Knowledge:
    """What these observations say, from what is remembered of the longest part of them."""
    seen = tuple(observations)
    known = next((k for n in range(len(seen), -1, -1) if (k := _known.get((game, seat, seen[:n])))), None)
    knowledge = Knowledge(game, seat) if known is None else known
    if len(knowledge.observations) < len(seen):
        knowledge = knowledge.clone()
        for code in seen[len(knowledge.observations) :]:
            knowledge.observe(code)
    _known[game, seat, seen] = knowledge
    _known.move_to_end((game, seat, seen))
    while len(_known) > _KNOWN:
        _known.popitem(last=False)
    return knowledge


# What to do -----------------------------------------------------------------------------------------------------------


def advice(
    game: str,
    seat: int,
    observations: Sequence[int],
    actions: Sequence[int],
    names: Sequence[str],
    agent: str,
    seconds: float | None = None,
) -> dict[str, Any]:
    """What an agent would play, and why, with at most `seconds` of thought if it thinks by the clock."""
    with load_agent(agent) as asked:
        if asked.at_terminal:
            raise BadInput(f"{agent} is a person; ask an agent")
        if seconds is not None and asked.time:
            asked.time = min(asked.time, seconds)
        Seat(asked, load_game(game), seat, seed_of(game, seat, list(observations)), list(observations))
        if asked.time and (game, agent) not in _warm:  # the first decision compiles and loads kernels
            asked.act(list(actions))
            _warm.add((game, agent))
        chosen = asked.act(list(actions))
        if chosen not in actions:
            raise BadInput(f"{agent} played {chosen!r}, which is not legal here")
        called = dict(zip(actions, names, strict=True))
        if not asked.gives_reasons:
            rows = [{"action": a, "name": called[a], "value": None, "visits": 0} for a in actions]
            rows.sort(key=lambda row: row["action"] != chosen)
            return {"agent": agent, "action": int(chosen), "actions": rows, "facts": []}
        account_ = account(asked, {action: (str(action),) for action in actions}, fusion=False)
    rows = [{**row, "action": int(row["action"]), "name": called[int(row["action"])]} for row in account_["actions"]]
    return {"agent": agent, "action": int(chosen), "actions": rows, "facts": _facts(account_)}


def _facts(account_: dict[str, Any]) -> list[list[str]]:
    """What a choice rests on, as names and texts; without the time it took, which is no fact of the position."""
    return [[row["why"], row[""]] for row in reason_rows(account_) if row["why"] != "time"]


# Looking back ---------------------------------------------------------------------------------------------------------


def replay_belief(game: str, actions: Sequence[int], step: int, seat: int) -> dict[str, Any]:
    """The belief of a seat after the first `step` actions of a game, and how likely it held what was true."""
    state = replay(game, actions[:step])
    to_move, observations, truth = state.player == seat, state.observations(seat), None
    answer, found = _belief(game, seat, observations, to_move)
    right = likelihood(found.odds, contents(state.game, state.world)) if found else None
    with contextlib.suppress(BadInput, BeliefLost):
        truth = _knowledge(game, seat, observations).share(state.world, to_move)
    return {**answer, "truth": truth, "places_right": right}


def verdict(game: str, actions: Sequence[int], step: int, agent: str = JUDGE) -> dict[str, Any]:
    """The verdict on the move at this step: was it forced, good, a wrong decision, bad luck or a wrong belief?"""
    before = replay(game, actions[:step])
    if step >= len(actions) or before.player < 0:
        raise BadInput(f"nobody decides at step {step}")
    seat = before.player
    with load_agent(agent) as asked:
        knowledge, seed = _knowledge(game, seat, before.observations(seat)), seed_of(game, list(actions[:step]))
        judge = Judge(knowledge, asked, DEFAULT_MARGIN, seed, agent, warm=(game, agent) in _warm)
        row = judge.row(before, actions[step])
    _warm.add((game, agent))
    return {name: row[name] for name in _VERDICT} | {"seat": seat, "agent": agent}


ANSWERS: dict[str, Callable[..., Any]] = {
    answer.__name__: answer
    for answer in (
        move,
        prepare,
        belief,
        world,
        advice,
        position,
        position_advice,
        replay_belief,
        verdict,
    )
}
