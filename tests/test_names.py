"""Names with parameters: what is written is read, what is wrong is explained in one line."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import foglight as fl
from foglight.games.dark_hex import DarkHex
from foglight.names import Spec, parse_spec

names = st.from_regex(r"[a-z][a-z0-9_:.]{0,12}", fullmatch=True)
values = st.recursive(
    st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.booleans() | st.text(max_size=12),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.builds(Spec, names, st.lists(st.tuples(names | st.just(""), inner), min_size=1, max_size=3).map(tuple))
    ),
    max_leaves=6,
)
specs = st.builds(Spec, names, st.lists(st.tuples(names | st.just(""), values), max_size=4).map(tuple))


@given(specs)
def test_printing_and_reading_round_trip(spec):
    assert parse_spec(str(spec)) == spec


@given(st.text(max_size=40))
def test_any_text_is_read_or_refused_in_one_line(written):
    try:
        parse_spec(written)
    except fl.BadInput as error:
        assert "\n" not in str(error)


@given(st.integers(1, 8), st.integers(1, 8))
def test_games_round_trip(rows, cols):
    game = DarkHex(rows, cols)
    assert fl.load_game(str(game)) == game
    assert fl.load_game(f" dark_hex ( cols = {cols} , rows={rows} ) ") == game
    assert fl.load_game(f"dark_hex({rows},{cols})") == game


@given(st.integers(-(10**12), 10**12), st.integers(-(10**12), 10**12))
def test_any_numbers_are_taken_or_refused_with_advice(rows, cols):
    if 1 <= rows <= 8 and 1 <= cols <= 8:
        assert fl.load_game(DarkHex(rows, cols)) == DarkHex(rows, cols)
    else:
        with pytest.raises(fl.BadInput, match="must be from 1 to 8"):
            fl.load_game(DarkHex(rows, cols))


@pytest.mark.parametrize(
    ("written", "advice"),
    [
        ("dark_hx", "unknown game 'dark_hx'; did you mean 'dark_hex'?"),
        ("zzz", "unknown game 'zzz'; there are "),
        ("", "a name or value is missing before the end"),
        ("dark_hex(", "a name or value is missing before the end"),
        ("dark_hex(rows=4", "a ')' or ',' is missing after 4"),
        ("dark_hex(rows=4))", "write name or name(key=value,...)"),
        ("dark_hex(rows=)", "a name or value is missing before )"),
        ("dark_hex(rows=4,)", "a name or value is missing before )"),
        ("dark_hex(row=4)", "unknown dark_hex parameter 'row'; did you mean 'rows'?"),
        ("dark_hex(rows=4,rows=5)", "dark_hex got rows twice"),
        ("liars_dice(1,2,3)", "liars_dice takes 2 parameters, not 3"),
        ("dark_hex(1,2,3)", "tries must be one of heard, silent, not 3"),
        ("kuhn_poker(3)", "kuhn_poker takes no parameters, not 1"),
        ("dark_hex(rows=9)", "dark_hex: rows must be from 1 to 8, not 9"),
        ("dark_hex(rows=four)", "dark_hex: rows must be a whole number, not four"),
        ("dark_hex(rows=4.5)", "dark_hex: rows must be a whole number, not 4.5"),
        ("dark_hex(rows=true)", "dark_hex: rows must be a whole number, not true"),
        ("dark_hex(rows=[1])", "dark_hex: rows must be a whole number, not [1]"),
        ("goofspiel(order=up)", "goofspiel: order must be one of descending, ascending, random, not up"),
        ("goofspiel(order=7)", "goofspiel: order must be one of descending, ascending, random, not 7"),
        ("unseen_rps(leave_value=much)", "unseen_rps: leave_value must be a number, not much"),
        ("unseen_rps(leave_value=nan)", "unseen_rps: leave_value must be from -100 to 100, not nan"),
        ('dark_hex(rows="4)', "a quote is left open"),
        ('dark_hex(rows="4\n")', "inside quotes write"),
        ("[1,2]", "write name or name(key=value,...)"),
    ],
)
def test_bad_names_get_advice(written, advice):
    with pytest.raises(ValueError) as caught:
        fl.load_game(written)
    assert advice in str(caught.value)
    assert "\n" not in str(caught.value)


def test_numbers_of_another_type_become_the_declared_one():
    assert type(fl.load_game(DarkHex(4.0, 4)).rows) is int
    assert type(fl.load_game("unseen_rps(leave_value=-1)").leave_value) is float


def test_things_that_are_no_game():
    with pytest.raises(ValueError, match="DarkHex is a class; give an instance"):
        fl.load_game(DarkHex)
    with pytest.raises(ValueError, match="is not a game"):
        fl.load_game(5)


def test_agents_are_found_by_name():
    with pytest.raises(ValueError, match="unknown agent 'randm'; did you mean 'random'"):
        fl.load_agent("randm")
    with pytest.raises(ValueError, match="random takes no parameters"):
        fl.load_agent("random(3)")
