"""The factored form: the same values, best responses and equilibria as the sequence form, and known facts of others."""

import itertools
from fractions import Fraction
from functools import cache
from typing import NamedTuple

import numpy as np
import pytest

import foglight as fl
from foglight.compile import constants, implements
from foglight.games import load_game
from foglight.policies import Biased, Tabular, Uniform
from foglight.rules import NOTHING, TERMINAL, Bounds, game
from foglight.solving import solver
from foglight.solving.factored import arrays, products
from foglight.solving.factored import exact as exact_solutions
from foglight.solving.factored import form as factored_form
from foglight.solving.factored import walk as walking
from foglight.solving.factored.exact import proved_bound
from foglight.solving.factored.form import FactoredForm, best_response, value
from foglight.solving.factored.policies import best_behaviour, plans_of, table_of
from foglight.solving.factored.regret import FactoredRegrets
from foglight.solving.factored.symmetry import Group, group_of
from foglight.solving.factored.verification import factors
from foglight.solving.whole.behaviour import behaviour_of
from foglight.solving.whole.linear import equilibrium
from foglight.solving.whole.plans import best_response as respond
from foglight.solving.whole.plans import counterfactual_values
from foglight.solving.whole.regret import METHODS
from foglight.solving.whole.sequences import sequence_form

pytestmark = pytest.mark.plain

RULES = ["tries=silent", "tries=silent,abrupt=yes", "tries=heard", "tries=heard,abrupt=yes"]
POLICIES = [Uniform(), Biased(0.6, 3), Biased(0.9, 9), Biased(1.0, 5)]  # all but the first break the symmetry


def small(rules, size="rows=2,cols=2"):
    return load_game(f"dark_hex({size},{rules})")


@pytest.fixture
def factored(monkeypatch):
    """All games that factor get their factored form, as if their trees were too large."""
    monkeypatch.setattr(solver, "fits", lambda game, memory: False)


def same_as_the_tree(small_game, policies=POLICIES):
    """Compare values and best responses with those of the sequence form; returns how many were compared."""
    form, sequences, compared = FactoredForm(small_game), sequence_form(small_game), 0
    for policy in policies:
        plans, behaviour = plans_of(form, policy), behaviour_of(sequences, policy)
        assert value(form, plans) == pytest.approx(counterfactual_values(sequences, behaviour)[0][0], abs=1e-12)
        for seat in range(2):
            worth, values = best_response(form, plans[1 - seat], seat)
            assert worth == pytest.approx(respond(sequences, behaviour, seat)[0][0], abs=1e-12)
            table = Tabular(*table_of(form, seat, best_behaviour(form, seat, values)))
            answer, (first, last) = behaviour.copy(), sequences.form.sequence_begins[seat : seat + 2]
            answer[first:last] = behaviour_of(sequences, table)[first:last]
            assert counterfactual_values(sequences, answer)[seat][0] == pytest.approx(worth, abs=1e-12)
            compared += 2
        compared += 1
    return compared


@pytest.mark.parametrize("rules", RULES)
def test_values_and_best_responses_are_those_of_the_tree(rules):
    assert same_as_the_tree(small(rules)) == 20


@pytest.mark.long_plain
@pytest.mark.parametrize("rules", RULES)
def test_values_and_best_responses_are_those_of_a_larger_tree(rules):
    assert same_as_the_tree(small(rules, "rows=2,cols=3")) == 20


@pytest.mark.parametrize("rules", RULES)
def test_solving_gives_the_equilibrium_of_the_linear_program(rules, factored):
    small_game = small(rules)
    policy = fl.solve(small_game, iterations=200)
    exact = equilibrium(sequence_form(small_game))[0]
    assert policy.method == "sapcfr+" and policy.interval[0] - 1e-9 <= exact <= policy.interval[1] + 1e-9
    assert policy.exploitability < 1e-4
    sequences = sequence_form(small_game)  # the table, measured on the tree
    behaviour = behaviour_of(sequences, policy)
    assert counterfactual_values(sequences, behaviour)[0][0] == pytest.approx(policy.value, abs=1e-9)
    gap = sum(respond(sequences, behaviour, seat)[0][0] for seat in range(2))
    assert gap / 2 == pytest.approx(policy.exploitability, abs=1e-9)


def test_resuming_gives_what_one_run_gives(tmp_path, factored):
    small_game, file = small("tries=silent"), tmp_path / "policy.npz"
    fl.solve(small_game, iterations=17, checkpoint=file)
    resumed, whole = fl.solve(small_game, iterations=40, checkpoint=file), fl.solve(small_game, iterations=40)
    assert np.array_equal(resumed.probabilities, whole.probabilities) and np.array_equal(resumed.keys, whole.keys)
    assert fl.Solved.load(file).interval == whole.interval
    with pytest.raises(fl.BadInput, match="its game is"):
        fl.solve(small("tries=heard"), iterations=50, resume=file)
    older = fl.Solved.load(file)
    older.numbering = 1  # that of a file without a number
    with pytest.raises(fl.BadInput, match="numbered its sequences in another way"):
        fl.solve(small_game, iterations=50, resume=older)
    with pytest.raises(fl.BadInput, match="too large for external; cfr, cfr"):
        fl.solve(small_game, method="external")
    with pytest.raises(fl.BadInput, match="lp cannot go on with 40 iterations"):
        fl.solve(small_game, method="lp", checkpoint=file)


def test_solving_stops_at_the_target(factored):
    assert fl.solve(small("tries=silent,abrupt=yes"), iterations=1000, target=1e-4).iterations in (50, 100)


def test_public_functions_take_the_factored_form(factored):
    small_game = small("tries=silent")
    sequences = sequence_form(small_game)
    for policy in POLICIES:
        behaviour = behaviour_of(sequences, policy)
        first = counterfactual_values(sequences, behaviour)[0][0]
        best = [respond(sequences, behaviour, seat)[0][0] for seat in range(2)]
        assert fl.policy_values(small_game, policy) == pytest.approx([first, -first])
        assert fl.nash_conv(small_game, policy) == pytest.approx(sum(best))
        assert fl.exploitability(small_game, policy) == pytest.approx(sum(best) / 2)
        assert [fl.best_response(small_game, policy, seat)[0] for seat in range(2)] == pytest.approx(best)
    with pytest.raises(fl.BadInput, match="no seat 2"):
        fl.best_response(small_game, Uniform(), 2)
    with pytest.raises(fl.BadInput, match="add up to 1"):
        fl.policy_values(small_game, fl.tabular({sequences.keys[0]: [0.5, 0.4, 0.3, 0.2]}))
    with pytest.raises(fl.BadInput, match="a policy is a table"):
        fl.policy_values(small_game, 3)
    with pytest.raises(fl.BadInput, match="too many information states to call a function at each"):
        fl.policy_values(small_game, lambda state: {0: 1.0})


def test_a_form_that_is_too_large_is_refused():
    with pytest.raises(fl.BadInput, match="even in its factored form: over 1e-05 GiB"):
        FactoredForm(small("tries=heard,abrupt=yes", "rows=2,cols=3"), memory=1e-5)


def test_which_games_factor():
    for name in ("phantom_ttt", "phantom_ttt(abrupt=yes)", "dark_hex(rows=3,cols=3,tries=silent)", "dark_hex"):
        assert factors(load_game(name), games=10), name
    for name in ("kuhn_poker", "leduc_poker", "goofspiel", "battleship", "liars_dice", "unseen_rps", "dark_chess"):
        assert not factors(load_game(name), games=10), name


@game
@constants(num_players=2, num_words=1, num_actions=3, title="a try that matters to the other seat")
class Leaking(NamedTuple):
    """Seat 0 may look, unseen, and then takes 0 or 1. Seat 1 takes 0 or 1, but after a look only 1."""


@implements(Leaking)
def player(game, world):
    return TERMINAL if world[0] & 4 else int(world[0] & 2) // 2


@implements(Leaking)
def legal(game, world, out):
    actions = [0, 1] if world[0] & 3 == 1 else [1] if world[0] & 3 == 3 else [0, 1, 2] if not world[0] & 2 else [0, 1]
    out[: len(actions)] = actions
    return len(actions)


@implements(Leaking)
def step(game, world, action):
    world[0] |= np.uint64(1 if action == 2 else 4 if world[0] & 2 else 2)


@implements(Leaking)
def observe(game, before, action, after, viewer):
    return action + 1 if viewer == int(before[0] & 2) // 2 else NOTHING


@implements(Leaking)
def lay_open(game, world):
    world[0] |= np.uint64(1)


@implements(Leaking)
def returns(game, world, out):
    out[0], out[1] = 1.0, -1.0


@implements(Leaking)
def bounds(game):
    return Bounds(-1.0, 1.0, 0.0, 4)


def test_a_private_action_that_changes_what_the_other_may_do_is_noticed():
    assert not factors(Leaking())


# A game with fixed points -------------------------------------------------------------------------------------------


@game
@constants(num_players=2, num_words=1, num_actions=4, title="four cells, taken unseen; seat 0 wants a diagonal")
class Square(NamedTuple):
    """Cells 0 1 / 2 3. World: bits 0-3 and 4-7 the seats' cells, 8-11 and 12-15 what they have run into, 16 the mover.

    Half of its eight symmetries leave some cell where it is, so that information states are their own mirror images.
    With two stones the seats have a diagonal together or not, and one symmetry leaves all of such a game as it is.
    """

    stones: int = 4


def cells(world, first):
    return int(world[0]) >> first & 15


def mover(world):
    return int(world[0]) >> 16 & 1


@implements(Square, "player")
def _(game, world):
    return TERMINAL if (cells(world, 0) | cells(world, 4)).bit_count() == game.stones else mover(world)


@implements(Square, "legal")
def _(game, world, out):
    seat = mover(world)
    actions = [a for a in range(4) if not (cells(world, 4 * seat) | cells(world, 8 + 4 * seat)) >> a & 1]
    out[: len(actions)] = actions
    return len(actions)


@implements(Square, "step")
def _(game, world, action):
    seat = mover(world)
    if cells(world, 4 - 4 * seat) >> action & 1:
        world[0] |= np.uint64(1 << 8 + 4 * seat + action)
    else:
        world[0] = (world[0] | np.uint64(1 << 4 * seat + action)) ^ np.uint64(1 << 16)


@implements(Square, "observe")
def _(game, before, action, after, viewer):
    seat = mover(before)
    return 1 + 2 * action + (cells(before, 4 - 4 * seat) >> action & 1) if viewer == seat else NOTHING


@implements(Square, "lay_open")
def _(game, world):
    world[0] |= np.uint64(cells(world, 4) << 8 | cells(world, 0) << 12)


@implements(Square, "returns")
def _(game, world, out):
    out[0] = 1.0 if (cells(world, 0) | (cells(world, 4) if game.stones == 2 else 0)) in (9, 6) else -0.5
    out[1] = -out[0]


@implements(Square, "bounds")
def _(game):
    return Bounds(-1.0, 1.0, 0.0, 8)


@implements(Square, "symmetries")
def _(game):
    return [1, 3, 0, 2], [0, 2, 1, 3]


interpreted = pytest.mark.skipif(not fl.compile.INTERPRET_ALL, reason="its rules are for the pass with the JIT off")


@interpreted
def test_states_that_are_their_own_mirror_images():
    assert factors(Square()) and len(group_of(Square()).images) == 8
    assert same_as_the_tree(Square()) == 20


@interpreted
def test_common_histories_that_are_their_own_mirror_images_to_the_end():
    form = FactoredForm(Square(2))
    assert form.ends.payoffs.tolist() == [1.5 * 4]  # four mirror images, not eight: 0 3, 3 0, 1 2 and 2 1
    assert same_as_the_tree(Square(2)) == 20


@interpreted
def test_solving_with_states_that_are_their_own_mirror_images(factored):
    policy, exact = fl.solve(Square(), iterations=300), equilibrium(sequence_form(Square()))[0]
    assert policy.value == pytest.approx(exact, abs=1e-3) and policy.exploitability < 1e-3


# A game in which both seats come to the same place by the same action ------------------------------------------------


@game
@constants(num_players=2, num_words=1, num_actions=4, title="stones fall into four columns; three in a row win")
class Columns(NamedTuple):
    """Two stones fit into a column. A try at a full one fails, and the other seat hears it; other turns are silent.

    World: bits 0-7 and 8-15 the seats' stones, 16-19 and 20-23 the columns known to be full, 24 the mover.
    """


def stones(world, seat):
    return int(world[0]) >> 8 * seat & 255


def height(world, column):
    both = stones(world, 0) | stones(world, 1)
    return (both >> column & 1) + (both >> 4 + column & 1)


def has_line(own):
    return any(own & line == line for row in (0, 4) for line in (7 << row, 14 << row))


def turn(world):
    return int(world[0]) >> 24 & 1


@implements(Columns, "player")
def _(game, world):
    over = has_line(stones(world, 0)) or has_line(stones(world, 1)) or stones(world, 0) | stones(world, 1) == 255
    return TERMINAL if over else turn(world)


@implements(Columns, "legal")
def _(game, world, out):
    actions = [c for c in range(4) if not int(world[0]) >> 16 + 4 * turn(world) + c & 1]
    out[: len(actions)] = actions
    return len(actions)


@implements(Columns, "step")
def _(game, world, action):
    seat, rows = turn(world), height(world, action)
    if rows < 2:
        world[0] = (world[0] | np.uint64(1 << 8 * seat + 4 * rows + action)) ^ np.uint64(1 << 24)
    if rows > 0:  # the column is full, and the seat knows it
        world[0] |= np.uint64(1 << 16 + 4 * seat + action)


@implements(Columns, "observe")
def _(game, before, action, after, viewer):
    rows = height(before, action)
    if viewer == turn(before):
        return 1 + 4 * rows + action
    return 100 if rows == 2 else NOTHING


@implements(Columns, "lay_open")
def _(game, world):
    for c in range(4):
        if height(world, c) == 2:
            world[0] |= np.uint64(1 << 16 + c | 1 << 20 + c)


@implements(Columns, "returns")
def _(game, world, out):
    out[0] = float(has_line(stones(world, 0))) - float(has_line(stones(world, 1)))
    out[1] = -out[0]


@implements(Columns, "bounds")
def _(game):
    return Bounds(-1.0, 1.0, 0.0, 16)


@interpreted
def test_what_a_seat_saw_of_an_action_is_not_what_the_other_saw_of_it():
    """Seat 0 fills a column, seat 1 tries it and is heard: the place and the action are the same."""
    assert factors(Columns())
    assert same_as_the_tree(Columns(), [Uniform()]) == 5


def test_regret_minimisation_passes_values_to_all_parents():
    form = FactoredForm(small("tries=silent", "rows=2,cols=3"))
    assert len(form.sides[1].parents) > len(form.sides[1].fixed)  # some states have several
    regrets, compared = FactoredRegrets(form), 0
    before = [plan.copy() for plan in regrets.plans]
    regrets.iterate(1)
    expected = value(form, tuple(before)), value(form, (regrets.plans[0], before[1]))  # seat 1 answers a new plan
    for seat, worth in enumerate(expected):
        own = regrets.gradients[seat][0, 0] * (1 - 2 * seat) + form.ends.shift
        assert own == pytest.approx(worth, abs=1e-12)
        compared += 1
    assert compared == 2


@pytest.mark.long_plain
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("rules", RULES)
def test_states_that_are_passed_over_would_not_have_changed(rules, method):
    form, quiet = FactoredForm(small(rules, "rows=2,cols=3")), 0
    passing, thorough = FactoredRegrets(form, method), FactoredRegrets(form, method)
    for _ in range(20):
        passing.iterate(1)
        for flags in thorough._quiet:
            flags[:] = 0
        thorough.iterate(1)
        quiet += sum(int((flags > 0).sum()) for flags in passing._quiet)
    assert quiet > 20 * form.num_states / 4
    state, expected = passing.state(), thorough.state()
    assert [(state[name] == expected[name]).all() for name in expected] == [True] * 8


def arrays_of(form):
    """All arrays of a form, with their kinds."""
    groups = (*form.sides, *form.ends.of, form.ends[1:3], form.pasts, form.lengths)
    return [(array.dtype, array.tolist()) for group in groups for array in group if isinstance(array, np.ndarray)]


@pytest.mark.parametrize("rules", RULES)
def test_two_threads_walk_to_the_same_form(rules, monkeypatch):
    forms = []
    for threads in (1, 2):
        monkeypatch.setattr(walking, "THREADS", threads)
        forms.append(arrays_of(FactoredForm(small(rules, "rows=2,cols=2"))))
    assert forms[0] == forms[1] and len(forms[0]) == 2 * 14 + 2 * 3 + 2 + 4


@pytest.mark.parametrize("size", ["rows=2,cols=2", "rows=1,cols=3"])
@pytest.mark.parametrize("rules", RULES)
def test_a_walk_in_parts_finds_what_a_whole_one_finds(size, rules, monkeypatch):
    """Also that what follows different first transitions has nothing in common: nothing is found twice."""
    parted = FactoredForm(small(rules, size))
    parts = []
    monkeypatch.setattr(walking._Walker, "walk_trunk", lambda walker: parts.append(walker) or 0)
    whole = FactoredForm(small(rules, size))
    assert len(parts) == 1 and [len(walker_parts) for walker_parts in parts[0].parts] == [0, 0]
    for ours, theirs in zip(parted.sides, whole.sides, strict=True):
        assert [len(array) for array in ours[:-1]] == [len(array) for array in theirs[:-1]]
        assert ours.num_rows == theirs.num_rows
        assert sorted(np.diff(ours.entry_begins)) == sorted(np.diff(theirs.entry_begins))
        assert sorted(np.diff(ours.row_begins)) == sorted(np.diff(theirs.row_begins))
    assert sorted(parted.ends.payoffs) == sorted(whole.ends.payoffs)
    for policy in POLICIES:
        plans, others = plans_of(parted, policy), plans_of(whole, policy)
        assert value(parted, plans) == pytest.approx(value(whole, others), abs=1e-12)


def test_abrupt_games_are_parted_by_the_first_transitions_of_both_seats(monkeypatch):
    outcomes, walk = [], walking.walk
    monkeypatch.setattr(factored_form, "walk", lambda *arguments: outcomes.append(walk(*arguments)) or outcomes[-1])
    monkeypatch.setattr(factored_form, "ends_of", lambda outcome, *_: [len(own) for own in outcome.parts])
    monkeypatch.setattr(factored_form, "side_of", lambda *_: (None, np.zeros((0, 0)), np.zeros(0)))
    board = "rows=2,cols=3"  # three of the six cells are mirror images
    assert FactoredForm(small("tries=silent,abrupt=yes", board)).ends == [3, 3]
    assert FactoredForm(small("tries=silent", board)).ends == [3, 1]  # seat 1 may have run into the first stone or not


def test_regions_that_share_a_part_are_walked_one_after_the_other():
    for first, second in itertools.product(range(1, 6), repeat=2):
        order = walking._schedule(first, second)
        assert sorted(order) == list(itertools.product(range(first), range(second)))
        for thread in range(2):  # a thread closes a part before it begins the next
            own = [cell[0] for cell in order if cell[0] % 2 == thread]
            assert [key for key, _ in itertools.groupby(own)] == list(dict.fromkeys(own))


def test_a_walk_that_fails_in_one_thread_ends(monkeypatch):
    def fail(part):
        raise MemoryError

    monkeypatch.setattr(walking, "_closed", fail)
    with pytest.raises(MemoryError):
        FactoredForm(small("tries=silent,abrupt=yes"))


@pytest.mark.parametrize("rules", RULES)
def test_two_threads_give_the_same_to_the_last_bit(rules, monkeypatch):
    form, states = FactoredForm(small(rules)), []
    for large in (1 << 60, 0):
        monkeypatch.setattr(products, "_LARGE", large)
        regrets = FactoredRegrets(form)
        regrets.iterate(20)
        states.append(regrets.state())
    assert [(states[0][name] == states[1][name]).all() for name in states[0]] == [True] * 8


@pytest.mark.parametrize("rules", RULES)
def test_the_value_is_proved_as_a_fraction(rules, factored, monkeypatch):
    small_game = small(rules)
    monkeypatch.setattr(exact_solutions, "_SUPPORT", 0.9)  # a poor one, so that best responses add to it
    policy = fl.solve(small_game, method="lp", iterations=1)
    exact, compared = equilibrium(sequence_form(small_game))[0], 0
    for known in (float(Fraction(policy.proved)), policy.value, *policy.interval):
        assert known == pytest.approx(exact, abs=1e-9)
        compared += 1
    assert compared == 4 and policy.exploitability < 1e-9


@pytest.mark.parametrize("size", ["rows=2,cols=2", "rows=1,cols=3"])
def test_a_proof_gives_what_a_plan_in_fractions_is_worth_and_no_more(size):
    form = FactoredForm(small("tries=silent", size))
    plans, compared = plans_of(form, Uniform()), 0
    for seat in range(2):
        worth, _ = best_response(form, plans[seat], 1 - seat)
        assert float(proved_bound(form, seat, plans[seat][0])) == pytest.approx(
            worth if seat == 1 else -worth, abs=1e-12
        )
        wrong = plans[seat][0].copy()
        wrong[-1] += 0.25  # what adds up no more is no plan
        assert proved_bound(form, seat, wrong) is None
        compared += 2
    assert compared == 4


@pytest.mark.long_plain
@pytest.mark.parametrize("rules", RULES)
def test_room_for_payoffs_is_made_as_they_occur(rules, monkeypatch):
    expected = FactoredForm(small(rules, "rows=3,cols=2"))
    monkeypatch.setattr(arrays, "PAYOFFS_AT_FIRST", 1)
    form = FactoredForm(small(rules, "rows=3,cols=2"))
    assert len(form.ends.worth) == 2 and (form.ends.payoffs == expected.ends.payoffs).all()


def test_many_payoffs_get_wider_codes():
    found = arrays.new_desk(small("tries=silent"), 4, 2)
    found.ends.codes[:3] = 5, 3, 255
    kinds = [found.ends.codes.dtype.type]
    while len(found.payoffs.worth) < 1 << 16:
        found = arrays.with_more_payoffs(found, 2)
        kinds.append(found.ends.codes.dtype.type)
        assert found.ends.codes[:3].tolist() == [5, 3, 255]
        assert 2 * len(found.payoffs.worth) - 1 <= np.iinfo(kinds[-1]).max
    assert kinds == [np.uint8] * 4 + [np.uint16] * 8 + [np.int32]


def test_symmetries_make_a_group():
    board = group_of(load_game("phantom_ttt"))
    assert len(board.images) == 8 and len(group_of(load_game("dark_hex")).images) == 2
    assert len(group_of(load_game("kuhn_poker")).images) == 1
    for first, second in itertools.product(range(8), repeat=2):
        both = board.images[board.product[first, second]]
        assert (both == board.images[first][board.images[second]]).all()
    assert (board.product[np.arange(8), board.inverse] == 0).all()


# Phantom Tic-Tac-Toe and Dark Hex on nine cells -------------------------------------------------------------------

FACTS = {  # of uniform play: the best responses of both seats
    "phantom_ttt": (0.953125, 0.624338624),
    "dark_hex(rows=3,cols=3,tries=silent)": (1.0, 0.832804233),
}


def filled_at_random(name):
    """The value of filling the board at random: after a failed try, all free cells are still equally likely."""
    board = load_game(name)

    @cache
    def worth(history):
        state = fl.new_state(board)
        for action in history:
            state.play(action)
        if state.player == TERMINAL:
            return Fraction(state.returns()[0])
        free = [a for a in state.actions() if a not in history]
        return sum((worth((*history, a)) for a in free), Fraction(0)) / len(free)

    return worth(())


@pytest.mark.parametrize("size", ["rows=2,cols=2", "rows=1,cols=3"])
def test_uniform_play_fills_the_board_at_random(size):
    small_game = small("tries=silent", size)
    expected = float(filled_at_random(str(small_game)))
    assert value(FactoredForm(small_game), plans_of(FactoredForm(small_game), Uniform())) == pytest.approx(expected)


@pytest.mark.long_plain
@pytest.mark.parametrize(
    ("name", "best"),
    [pytest.param(*fact, marks=[pytest.mark.long] * (number > 0)) for number, fact in enumerate(FACTS.items())],
)
def test_uniform_play_has_the_known_values(name, best):
    form = FactoredForm(load_game(name))
    plans = plans_of(form, Uniform())
    images = len(form.group.images)
    full = tuple(np.repeat(plan * side.weights, images, 0) for plan, side in zip(plans, form.sides, strict=True))
    # 84 of the 126 ways to place five stones of nine connect; three in a row by the same counting
    expected = {"phantom_ttt": 0.2968253968}.get(name, 1 / 3)
    for lines in (plans, full):
        assert value(form, lines) == pytest.approx(expected, abs=1e-9)
        assert [best_response(form, lines[1 - seat], seat)[0] for seat in range(2)] == pytest.approx(best, abs=1e-8)


@pytest.mark.long
def test_phantom_tic_tac_toe_is_worth_two_thirds():
    policy = fl.solve("phantom_ttt", iterations=600)
    assert policy.exploitability < 1e-4
    assert policy.interval[0] <= 2 / 3 <= policy.interval[1]
    assert fl.solve("phantom_ttt", method="lp", resume=policy).proved == "2/3"
    values = fl.policy_values("phantom_ttt", policy)  # of the table, with all its mirror images and orders
    assert values[0] == pytest.approx(policy.value, abs=1e-9)
    assert fl.exploitability("phantom_ttt", policy) == pytest.approx(policy.exploitability, abs=1e-9)


@pytest.mark.long
def test_symmetry_changes_no_value_of_any_policy(monkeypatch):
    board = load_game("phantom_ttt")
    form, everything = FactoredForm(board), group_of(board)
    alone = Group(everything.images[:1], everything.product[:1, :1], everything.inverse[:1])
    monkeypatch.setattr(factored_form, "group_of", lambda game: alone)
    plain = FactoredForm(board)
    assert len(plain.group.images) == 1 and plain.num_states > 7 * form.num_states
    for policy in (Biased(0.6, 3), Biased(1.0, 5)):
        plans, others = plans_of(form, policy), plans_of(plain, policy)
        assert value(form, plans) == pytest.approx(value(plain, others), abs=1e-9)
        for seat in range(2):
            best = best_response(form, plans[1 - seat], seat)[0]
            assert best == pytest.approx(best_response(plain, others[1 - seat], seat)[0], abs=1e-9)
