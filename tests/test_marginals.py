"""What is where, how likely: by hand, in the terminal, as a picture, from a saved game."""

import json

import pytest

import foglight as fl
from foglight.games import game_class
from foglight.rules import contents, places
from foglight.worlds.marginals import marginals


def played(game, *actions):
    state = fl.new_state(game)
    for action in actions:
        state.play(state.parse_action(action))
    return state


def belief(state, seat, mover=None, **options):
    return fl.history_filter(state.game, state.observations(seat), seat, mover=mover).belief(**options)


@pytest.mark.parametrize("name", fl.game_names())
def test_contents_have_as_many_places_as_there_are(name):
    state = fl.new_state(game_class(name)())
    names, columns = places(state.game)
    assert len(contents(state.game, state.world)) == len(names) == len(set(names))
    assert columns == 0 or len(names) % columns == 0


def test_leduc_cards_by_hand():
    # seat 0 holds a jack and sees a queen: seat 1 has one of the other four cards, a king twice as likely as either
    state = played("leduc_poker", "Js", "Kh", "check", "check", "Qs")
    found = belief(state, 0)
    assert found.exact and found.worlds == 4
    assert found.odds[0] == {"Js": 1.0}
    assert found.odds[1] == pytest.approx({"Jh": 0.25, "Qh": 0.25, "Ks": 0.25, "Kh": 0.25})


def test_a_mark_that_was_met_is_certain():
    state = played("phantom_ttt", "b2", "a1", "a1")  # x ran into o's mark on a1 and moves again
    found = belief(state, 0, mover=0)
    cells = dict(zip(found.places, found.odds, strict=True))
    assert cells["a1"] == {"o": 1.0} and cells["b2"] == {"x": 1.0} and cells["c3"] == {".": 1.0}


def test_a_sample_stands_in_for_too_many_worlds():
    state = played("dark_hex", "b2", "a1", "c3")
    exact, drawn = belief(state, 1, mover=1), belief(state, 1, mover=1, most=200, seed=1)
    assert exact.exact and not drawn.exact and drawn.worlds == 200
    # 15 cells, each share of 200 draws within 6 standard errors of at most 0.036: a false alarm once in 3e7
    for there, here in zip(exact.odds, drawn.odds, strict=True):
        assert abs(there.get("x", 0.0) - here.get("x", 0.0)) < 6 * 0.036


def test_weights_count():
    state = played("kuhn_poker", "jack", "queen")
    other = played("kuhn_poker", "jack", "king")
    found = marginals(state.game, [state.world, other.world], [3.0, 1.0], exact=True)
    assert found.odds[1] == {"queen": 0.75, "king": 0.25}


def test_a_game_without_places_says_so():
    state = fl.new_state("unseen_rps")
    with pytest.raises(ValueError, match="has no rules `places` and `contents`"):
        marginals(state.game, [state.world], [1.0], exact=True)


def test_the_command_shows_what_a_seat_may_think(run):
    code, out, _ = run("belief", "battleship", "a1", "c3", "b2 right", "a1 down", "a1", "--seat", "0")
    assert code == 0
    assert "all 14 worlds" in out and "# 57%" in out and "you shoot a1: hit" in out
    data = json.loads(run("belief", "kuhn_poker", "jack", "queen", "--json")[1])
    assert data["places"]["seat 1"] == {"queen": 0.5, "king": 0.5} and data["exact"]


def test_the_command_reads_saved_games_and_draws(run, tmp_path):
    store, picture = tmp_path / "games.sqlite", tmp_path / "belief.png"
    fl.play_match("phantom_ttt", ["random", "random"], games=3, seed=1, store=store)
    code, out, _ = run(
        "belief", "phantom_ttt", "--store", str(store), "--number", "2", "--after", "4", "--plot", str(picture)
    )
    assert code == 0 and "worlds that agree" in out
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("arguments", "advice"),
    [
        (("kuhn_poker", "ace"), "'ace' is not possible here"),
        (("kuhn_poker", "--seat", "2"), "has seats 0 to 1, not 2"),
        (("unseen_rps",), "has no rules `places` and `contents`"),
        (("kuhn_poker", "--store", "nowhere.sqlite"), "there is no store nowhere.sqlite"),
        (("kuhn_poker", "jack", "--plot", "/no/such/folder/b.png"), "cannot draw"),
        (("kuhn_poker", "--plot", "b.png"), "there is nothing anywhere yet"),
    ],
)
def test_bad_input_gets_one_line(run, arguments, advice):
    code, out, err = run("belief", *arguments)
    told = [line for line in err.splitlines() if not line.startswith("compiling ")]  # with no kernels cached yet
    assert (code, out, len(told)) == (2, "", 1) and advice in told[0]


def test_tables_and_boards_are_drawn():
    # seen from x after b2, o's one mark is on any of eight cells
    assert belief(played("phantom_ttt", "b2", "a1"), 0, mover=0).heat().count("o 12%") == 8
    assert len(belief(played("kuhn_poker", "jack", "queen"), 0).heat().splitlines()) == 3
