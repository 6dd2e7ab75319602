"""What every game owes, checked on every game found: with its defaults, its smallest and largest parameters, and with
the last of the rules that it offers instead of its default ones."""

import functools
import itertools
import random
from typing import get_args, get_type_hints

import numpy as np
import pytest
from oracles import random_game

import foglight as fl
from foglight.cards.tricks import is_trick_taking
from foglight.compile import has_rule
from foglight.games import game_class
from foglight.names import Between, Variant
from foglight.rules import bounds, evaluation, key, max_legal, num_actions, num_words

pytestmark = pytest.mark.plain


def variants():
    """Each game as it comes, with every limited parameter at its low end, at its high end, and with other rules."""
    for name in fl.game_names():
        made = game_class(name)
        hints = get_type_hints(made, include_extras=True)
        limits = [(parameter, limit) for parameter, hint in hints.items() for limit in get_args(hint)[1:]]
        low = {parameter: limit.low for parameter, limit in limits if isinstance(limit, Between)}
        high = {parameter: limit.high for parameter, limit in limits if isinstance(limit, Between)}
        other = {parameter: limit.words[-1] for parameter, limit in limits if isinstance(limit, Variant)}
        several = ({}, low, high, other)
        yield from dict.fromkeys(str(fl.load_game(made(**given))) for given in several if _fits(made(**given)))


def _fits(game):
    """Whether the parameters go together and, where the JIT is off, the game is small enough for that."""
    try:
        game = fl.load_game(game)
    except fl.BadInput:
        return False
    return not fl.compile.INTERPRET_ALL or (num_words(game) <= 5 and max_legal(game) <= 64)


@functools.cache
def _numbered_states(name):
    """The states of 15 random games, each with the number of its game; the first 400: long games are long enough."""
    rng = random.Random(name)
    states = ((number, state) for number in range(15) for state in random_game(name, rng))
    return list(itertools.islice(states, 400))


def some_games(name, n=15, most=400):
    """The states of the first n of these games, at most so many; tests share them, and play on in clones."""
    return [state for number, state in _numbered_states(name)[:most] if number < n]


every_game = pytest.mark.parametrize("name", list(variants()))


@every_game
def test_text_and_game_say_the_same(name):
    game = fl.load_game(name)
    assert str(game) == name
    assert fl.load_game(str(game)) == game
    assert game_class(name.split("(")[0]) is type(game)


def test_games_without_parameters_are_different_games():
    games = [fl.load_game(name) for name in fl.game_names()]
    assert len(set(games)) == len(games)


@every_game
def test_actions_are_ascending_and_within_bounds(name):
    for state in some_games(name):
        actions = state.actions()
        assert actions == sorted(set(actions))
        assert all(0 <= action < num_actions(state.game) for action in actions)
        assert (actions == []) == (state.player == fl.TERMINAL)


@every_game
def test_chance_adds_up(name):
    for state in some_games(name):
        if state.player == fl.CHANCE:
            assert [action for action, _ in state.chance()] == state.actions()
            assert sum(odds for _, odds in state.chance()) == pytest.approx(1)
            assert all(odds > 0 for _, odds in state.chance())
        else:
            assert state.chance() == []


@every_game
def test_a_seat_observes_its_own_action(name):
    for state in some_games(name, n=5):
        seat = state.player
        if seat >= 0:
            told = []
            for action in state.actions():
                after = state.clone()
                after.play(action)
                assert len(after.observations(seat)) == len(state.observations(seat)) + 1
                told.append(after.observations(seat)[-1])
            assert len(set(told)) == len(told), "two actions look the same to the seat that played them"


@every_game
def test_what_is_public_every_seat_knows(name):
    public_of = {}
    for state in some_games(name):
        public = tuple(state.observations(fl.PUBLIC))
        for seat in range(state.num_players):
            known = public_of.setdefault((seat, tuple(state.observations(seat))), public)
            assert known == public


@every_game
def test_an_information_state_determines_its_text_its_key_and_what_is_legal(name):
    text_of, observed_of, legal_of, observed_of_key = {}, {}, {}, {}
    for state in some_games(name, most=150):  # a text takes as long as its history
        for seat in range(state.num_players):
            observed, text = (seat, *state.observations(seat)), state.information(seat)
            assert text_of.setdefault(observed, text) == text
            assert observed_of.setdefault(text, observed) == observed, "one text for two information states"
            assert observed_of_key.setdefault(int(key(state.game, state.world, seat)), observed) == observed
        if state.player >= 0:
            observed = (state.player, *state.observations(state.player))
            assert legal_of.setdefault(observed, state.actions()) == state.actions()


def cannot_be_compared(name):
    """Whoever decides knows all that has happened, or ten dice have fallen in more ways than can be listed."""
    return name.startswith(("three_sat", "dark_hex(rows=1,cols=1)", "liars_dice(dice=5"))


@every_game
def test_other_histories_that_look_the_same_to_who_decides_are_the_same_to_it(name):
    """Random games of 52 cards hardly ever look the same to anyone twice, so that such histories are drawn."""
    if fl.compile.INTERPRET_ALL and cannot_be_compared(name):
        pytest.skip("takes long to find that out, interpreted")
    rng, compared = random.Random(name), 0
    states = [state for state in some_games(name, n=8) if state.player >= 0]
    if is_trick_taking(fl.load_game(name)):
        rng.shuffle(states)  # deals are drawn at any time
    else:
        states.sort(key=lambda state: len(state.history()))  # there are few worlds to list in the beginning
    for state in states:
        seat = state.player
        if compared > (4 if fl.compile.INTERPRET_ALL else 40):
            break
        try:
            found = fl.history_filter(name, state.observations(seat), seat, mover=seat, limit=20_000)
        except fl.BadInput:
            break  # too many worlds to list, from here on
        for other in found.sample(4, seed=1):
            assert other.observations(seat) == state.observations(seat)
            assert other.observations(fl.PUBLIC) == state.observations(fl.PUBLIC)
            assert (other.player, other.actions()) == (seat, state.actions())
            assert other.information(seat) == state.information(seat)
            assert key(other.game, other.world, seat) == key(state.game, state.world, seat)
            compared += other.history() != state.history()
    assert (compared > 2) != cannot_be_compared(name)


@every_game
def test_actions_are_read_as_they_are_written(name):
    for state in some_games(name, n=5, most=40):
        written = [state.action_text(action) for action in state.actions()]
        assert len(set(written)) == len(written)
        assert [state.parse_action(f"  {text.upper()} ") for text in written] == state.actions()


@every_game
def test_what_is_not_legal_is_refused_and_changes_nothing(name):
    state = fl.new_state(name)
    before = (state.history(), state.actions(), state.observations(0), str(state))
    for action in (-1, 10**6):
        with pytest.raises(ValueError, match="not legal here; legal are"):
            state.play(action)
    with pytest.raises(ValueError, match="'no such move' is not possible here; try"):
        state.parse_action("no such move")
    assert before == (state.history(), state.actions(), state.observations(0), str(state))


@every_game
def test_a_finished_game_pays_and_moves_no_more(name):
    *_, end = random_game(name, random.Random(1))
    assert len(end.returns()) == end.num_players
    assert end.actions() == []
    with pytest.raises(ValueError, match="the game is over"):
        end.play(0)
    with pytest.raises(ValueError, match="the game is over"):
        end.parse_action("a1")


EVALUATED = [name for name in variants() if has_rule("evaluation", type(fl.load_game(name)))]


@pytest.mark.parametrize("name", EVALUATED)
def test_an_evaluation_keeps_to_the_bounds_of_payoffs_and_follows_from_the_games_own_words(name):
    game, compared = fl.load_game(name), 0
    limits, words = bounds(game), num_words(game)
    for state in some_games(name, n=8, most=100):
        if state.player != fl.TERMINAL:
            values = [evaluation(game, state.world, seat) for seat in range(state.num_players)]
            assert all(limits.low <= value <= limits.high for value in values)
            assert limits.total is None or sum(values) == pytest.approx(limits.total, abs=1e-9)
            other = state.world.copy()
            other[words:] += np.uint64(1)  # the viewers' keys
            assert [evaluation(game, other, seat) for seat in range(state.num_players)] == values
            compared += 1
    assert compared > (20 if num_actions(game) > 1 else 7)  # Dark Hex on one cell has one move


@every_game
def test_a_clone_goes_its_own_way(name):
    rng = random.Random(2)
    for state in some_games(name, n=2):
        if state.actions():
            before = (state.history(), state.world.tobytes(), str(state))
            copy = state.clone()
            copy.play(rng.choice(copy.actions()))
            assert (state.history(), state.world.tobytes(), str(state)) == before
            again = state.clone()
            again.play(copy.history()[-1])
            assert again.world.tobytes() == copy.world.tobytes()


@every_game
def test_playouts_reach_the_same_returns_as_play(name):
    # means over 2 000 compiled and 100 plain random games; each difference is normal within 6 standard errors,
    # a false alarm once in 5e8
    size = 50 if fl.compile.INTERPRET_ALL else 2000
    means, steps = fl.random_playouts(name, size, seed=5)
    assert steps >= size
    ends, rng = [], random.Random(3)
    for _ in range(size // 20):
        state = fl.new_state(name)
        while state.player != fl.TERMINAL:
            outcomes = state.chance()
            weights = [odds for _, odds in outcomes] or None
            state.play(rng.choices(state.actions(), weights)[0])
        ends.append(state.returns())
    for seat, mean in enumerate(means):
        payoffs = [end[seat] for end in ends]
        plain = sum(payoffs) / len(payoffs)
        spread = max((sum((p - plain) ** 2 for p in payoffs) / len(payoffs)) ** 0.5, 1.0)
        assert abs(mean - plain) < 6 * spread * (1 / len(payoffs) + 1 / size) ** 0.5
