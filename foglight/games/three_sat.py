"""The 3-FSAT game [Solinas2023, Definition 2]: an assignment is chosen unseen, then clauses it satisfies are shown.

To find any history that agrees with the public observations is to solve their 3-CNF formula, so construction is as hard
as 3-SAT. Seat 0 sets one variable after the other; everybody observes that it does, but only seat 0 the value. Then
chance shows clauses, each uniform among those over three variables that the assignment satisfies. Where the paper draws
a whole assignment and a whole clause at once, we take several steps, so that the number of actions does not explode
with the number of variables; there is still one history for each assignment and sequence of clauses. Seat 1 never
moves; payoffs are 0.

world   word 0: the assignment, one bit per variable; word 1: bits 0-6 the number of variables set, 7-24 the variables
        of the clause so far, six bits each, plus one, 25-34 the number of clauses shown
action  seat 0: 0 false, 1 true; chance: three times a variable above the last one, then the clause's signs, bit i set
        where the i-th literal is negated
observe seat 0 its own choices; everybody that a choice or a draw was made, and every complete clause
"""

from typing import Annotated, NamedTuple

from numpy import int64, uint64

from foglight.bits import get, has, put
from foglight.compile import constants, implements, jitable
from foglight.drawing.layouts import LABEL, LINE, SIDE, drawing_title, finished, line, stacked
from foglight.drawing.model import Item
from foglight.names import Between
from foglight.rules import CHANCE, TERMINAL, Bounds, World, game

_SET, _SHOWN = (1, 0, 7), (1, 25, 10)
_LITERALS = ((1, 7, 6), (1, 13, 6), (1, 19, 6))
_CHOSEN, _FALSE, _DRAWN, _FIRST_CLAUSE = 1, 2, 4, 5  # observation codes; _FALSE + 1 is true


@game
@constants(
    num_players=2,
    num_words=2,
    title="a hidden truth assignment, shown clause by clause: filtering it is 3-SAT",
)
class ThreeSat(NamedTuple):
    variables: Annotated[int, "that seat 0 sets", Between(3, 60)] = 5
    clauses: Annotated[int, "that chance shows", Between(1, 300)] = 10


@implements(ThreeSat)
def num_actions(game):
    return max(8, game.variables)


@implements(ThreeSat)
def player(game, world):
    if get(world, _SET) < game.variables:
        return 0
    return TERMINAL if get(world, _SHOWN) == game.clauses else CHANCE


@implements(ThreeSat)
def legal(game, world, out):
    out[0], out[1] = 0, 1
    return 2


@jitable
def _violating_signs(world):
    """The only signs that make every literal of the clause false: exactly the true variables are negated."""
    signs = 0
    for i in range(3):
        literal = get(world, (1, 7 + 6 * i, 6)) - 1
        if has(world[0], literal):
            signs |= 1 << i
    return signs


@implements(ThreeSat)
def chance(game, world, out, odds):
    first, second, third = get(world, _LITERALS[0]), get(world, _LITERALS[1]), get(world, _LITERALS[2])
    n = 0
    if third != 0:
        violating = _violating_signs(world)
        for signs in range(8):
            if signs != violating:
                out[n] = signs
                odds[n] = 1.0 / 7.0
                n += 1
        return n
    # three variables in ascending order, all triples equally likely: each has the weight of the triples it leaves
    missing = 3 if first == 0 else (2 if second == 0 else 1)
    start = max(first, second)  # the variable after the last one, since they are stored plus one
    total = 0.0
    for variable in range(start, game.variables - missing + 1):
        after = game.variables - 1 - variable
        ways = after * (after - 1) / 2.0 if missing == 3 else (float(after) if missing == 2 else 1.0)
        out[n] = variable
        odds[n] = ways
        total += ways
        n += 1
    for i in range(n):
        odds[i] /= total
    return n


@implements(ThreeSat)
def step(game, world, action):
    done = get(world, _SET)
    if done < game.variables:
        world[0] |= uint64(action) << uint64(done)
        put(world, _SET, done + 1)
        return
    for i in range(3):
        if get(world, (1, 7 + 6 * i, 6)) == 0:
            put(world, (1, 7 + 6 * i, 6), action + 1)
            return
    for i in range(3):
        put(world, (1, 7 + 6 * i, 6), 0)
    put(world, _SHOWN, get(world, _SHOWN) + 1)


@implements(ThreeSat)
def observe(game, before, action, after, viewer):
    if get(before, _SET) < game.variables:
        return _FALSE + action if viewer == 0 else _CHOSEN
    if get(before, _LITERALS[2]) == 0:
        return _DRAWN
    variables = int64(before[1] >> uint64(7)) & 0x3FFFF
    return _FIRST_CLAUSE + (variables << 3 | action)


@implements(ThreeSat)
def returns(game, world, out):
    out[0] = out[1] = 0.0


@implements(ThreeSat)
def num_sight_features(game):
    return 2 * game.variables + 2


@implements(ThreeSat)
def observation_bits(game):
    return 22


@implements(ThreeSat)
def sight_features(game, world, seat, out):
    # by variable, whether it is set; whether it is true, for seat 0; the share of clauses shown, and of the next one
    for i in range(game.variables):
        out[i] = get(world, _SET) > i
        out[game.variables + i] = seat == 0 and has(world[0], i)
    drawn = 0
    for i in range(3):
        drawn += get(world, (1, 7 + 6 * i, 6)) != 0
    out[2 * game.variables] = get(world, _SHOWN) / game.clauses
    out[2 * game.variables + 1] = drawn / 3


@implements(ThreeSat)
def formula(game, observations, viewer):
    choices, shown = observations[: game.variables], observations[game.variables :]
    if len(choices) < game.variables or len(shown) % 4 != 0:
        return None  # in the middle of an assignment or a clause
    nonsense = game.variables, [[1], [-1]], None  # for impossible observations: a formula that cannot be satisfied
    own = {_FALSE, _FALSE + 1} if viewer == 0 else {_CHOSEN}
    draws_shown = [code for i, code in enumerate(shown) if i % 4 < 3]
    if not own.issuperset(choices) or not {_DRAWN}.issuperset(draws_shown) or len(shown) > 4 * game.clauses:
        return nonsense
    clauses, draws = [], []
    for code in shown[3::4]:
        signs, literals = (code - _FIRST_CLAUSE) & 7, (code - _FIRST_CLAUSE) >> 3
        variables = [literals >> 6 * i & 63 for i in range(3)]
        if not 0 < variables[0] < variables[1] < variables[2] <= game.variables or literals >> 18 != 0:
            return nonsense
        clauses.append([-v if signs >> i & 1 else v for i, v in enumerate(variables)])
        draws += [*(v - 1 for v in variables), signs]
    if viewer == 0:
        clauses += [[-i if code == _FALSE else i] for i, code in enumerate(choices, start=1)]
    return game.variables, clauses, lambda values: [*map(int, values), *draws]


@implements(ThreeSat)
def bounds(game):
    return Bounds(0.0, 0.0, 0.0, game.variables + 4 * game.clauses)


@implements(ThreeSat)
def how_to_play(game):
    return f"""Seat 0 sets the variables x1 to x{game.variables}, one after the other, unseen: `true` or `false`.
Then chance shows {game.clauses} clauses of three variables, each true under these values.
Seat 1 never moves, and nothing can be won: the game is for studies of what observations reveal."""


@implements(ThreeSat)
def action_names(game, world, action):
    if player(game, world) == 0:
        return ("true", "t", "1") if action else ("false", "f", "0")
    if get(world, _LITERALS[2]) == 0:
        return (f"x{action + 1}",)
    return (_clause_text(world, action),)


def _clause_text(world: World, signs: int) -> str:
    literals = [get(world, field) for field in _LITERALS]
    return " or ".join(("not " if signs >> i & 1 else "") + f"x{literal}" for i, literal in enumerate(literals))


def _assignment_text(world: World) -> str:
    values = [f"x{i + 1}={'true' if has(world[0], i) else 'false'}" for i in range(get(world, _SET))]
    return " ".join(values) or "nothing set"


@implements(ThreeSat)
def board(game, world):
    return f"{_assignment_text(world)}; {get(world, _SHOWN)} clauses shown"


@implements(ThreeSat)
def view(game, world, seat):
    seen = _assignment_text(world) if seat == 0 else f"{get(world, _SET)} of {game.variables} variables set unseen"
    return f"you are seat {seat}; {seen}; {get(world, _SHOWN)} clauses shown"


@implements(ThreeSat)
def drawing(game, world, seat):
    done, items = get(world, _SET), []
    for i in range(game.variables):
        x, y = SIDE * (i % 10 + 0.5), (SIDE + LABEL) * (i // 10) + LABEL
        value = "" if i >= done else "?" if seat == 1 else "T" if has(world[0], i) else "F"
        said = {"": "not set", "?": "set unseen", "T": "true", "F": "false"}[value]
        items.append(Item("text", x, y - LABEL / 2, text=f"x{i + 1}", role="label"))
        role = "unseen" if value == "?" else ""
        items.append(Item("square", x, y + SIDE / 2, SIDE, SIDE, value, role, title=f"x{i + 1}: {said}"))
    below = f"{get(world, _SHOWN)} of {game.clauses} clauses shown"
    return finished(stacked(items, [line(0.0, LINE / 2, below)]), drawing_title(game, seat))


@implements(ThreeSat)
def observation_text(game, before, action, after, viewer):
    done = get(before, _SET)
    if done < game.variables:
        return f"x{done + 1} is {'true' if action else 'false'}" if viewer == 0 else f"x{done + 1} is set"
    if get(before, _LITERALS[2]) == 0:
        return "a variable is drawn"
    return _clause_text(before, action)
