"""Drawings: every game from every seat is well-formed, says what a click means, and tells a seat nothing new."""

import json
import random
import re
import sys
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple
from xml.etree import ElementTree

import pytest
from planted import CARD, card_game, phantom_game

import foglight as fl
from foglight import fingerprints
from foglight.compile import interpreted
from foglight.drawing.layouts import Cell, board_drawing, card, finished, line
from foglight.drawing.model import Item
from foglight.drawing.svg import _DARK, _LIGHT, _STYLE, svg
from foglight.games import game_class
from foglight.rules import contents, drawing, places

SMALL = {
    "dark_chess": "dark_chess(size=5)",
    "goofspiel": "goofspiel(cards=4,order=random)",
    "liars_dice": "liars_dice(dice=2)",
    "oh_hell": "oh_hell(suits=3,ranks=5,tricks=3)",
}
GAMES = [*fl.game_names(), *SMALL.values(), "goofspiel(cards=3,information=perfect)", "battleship(ships=[1,2,1])"]
PAGES = Path(fl.__file__).parent.parent / "docs" / "pictures"
NAMESPACE = "{http://www.w3.org/2000/svg}"


def played(game, *moves):
    state = fl.new_state(game)
    for move in moves:
        state.play(state.parse_action(move))
    return state


def some_states(game, number=8, seed=0):
    """Positions of one random game: the start, the end, and some between them."""
    rng, state, states = random.Random(f"{game} {seed}"), fl.new_state(game), []
    while len(states) < 140:
        states.append(state)
        if state.player == fl.TERMINAL:
            break
        state = state.clone()
        state.play(rng.choice(state.actions()))
    middle = states[1:-1]
    return [states[0], *rng.sample(middle, min(number - 2, len(middle))), states[-1]]


def tree(picture):
    text = picture.svg()
    assert len(text) < 60_000 and "://" not in text.replace("http://www.w3.org/2000/svg", "") and "<script" not in text
    return ElementTree.fromstring(text)


@pytest.mark.parametrize("game", GAMES)
def test_every_seat_gets_a_well_formed_picture_with_every_place_once(game):
    states, checked = some_states(game), 0
    names, columns = places(states[0].game)
    for state in states:
        for seat in (None, *range(state.num_players)):
            picture = state.drawing(seat)
            root = tree(picture)
            assert root.get("viewBox") == f"0 0 {picture.width} {picture.height}"
            assert len(root) == len(picture.items) + 3  # a title, the style and the paper
            assert json.loads(json.dumps(picture.data()))["items"][0]["shape"] == picture.items[0].shape
            drawn = sorted(item.place for item in picture.items if item.place is not None)
            assert drawn == list(range(len(names))) if columns else len(drawn) == len(set(drawn))
            assert set(drawn) <= set(range(len(names)))
            for item in picture.items:
                assert 0 <= item.x <= picture.width and 0 <= item.y <= picture.height
                assert item.title or item.shape in ("text", "card"), item
                checked += 1
    assert checked > 20


@pytest.mark.parametrize("game", GAMES)
def test_clicks_mean_the_legal_actions_of_the_mover(game):
    clickable = 0
    for state in some_states(game, number=10, seed=1):
        for seat in (None, *range(state.num_players)):
            picture = state.drawing(seat, choices=True)
            items = [item for item in picture.items if item.actions]
            data, root = json.loads(json.dumps(picture.data())), tree(picture)
            shown = [group.get("data-actions") for group in root if group.get("data-actions")]
            assert shown == [" ".join(map(str, item["actions"])) for item in data["items"] if item["actions"]]
            found = {action for item in items for action in item.actions}
            asked = state.player >= 0 and seat in (None, state.player)
            assert found == set(state.actions() if asked else ())
            for action in found:  # on at most two items, whose clicks leave at most the four promotions
                sets = [set(item.actions) for item in items if action in item.actions]
                assert len(sets) <= 2 and len(set.intersection(*sets)) <= (4 if "chess" in game or "rbc" in game else 1)
                clickable += 1
            assert not any(item.actions for item in state.drawing(seat).items)
    assert clickable > 3


@pytest.mark.parametrize("game", GAMES)
def test_what_a_seat_does_not_notice_does_not_change_its_picture(game):
    """Time that passes unnoticed, such as a deal to others, within one game."""
    rng, state = random.Random(game), fl.new_state(game)
    states, compared = [state], 0
    while state.player != fl.TERMINAL and len(states) < 70:
        state = state.clone()
        state.play(rng.choice(state.actions()))
        states.append(state)
    for before, after in pairwise(states):
        for seat in range(state.num_players):
            if before.observations(seat) == after.observations(seat):
                assert drawing(before.game, before.world, seat) == drawing(after.game, after.world, seat)
                compared += 1
    unnoticed = ("kuhn", "leduc", "liars", "phantom", "card", "oh_hell", "hearts", "spades")
    assert compared > 0 or not game.startswith(unnoticed)


TWINS = ["battleship", "card_game", "dark_chess(size=4)", "dark_hex(rows=3,cols=3)", "goofspiel(cards=4)", "hearts"]
TWINS += ["kuhn_poker", "leduc_poker", SMALL["liars_dice"], SMALL["oh_hell"], "phantom_ttt", "spades", "unseen_rps"]


@pytest.mark.parametrize("game", TWINS)
def test_histories_that_a_seat_cannot_tell_apart_have_one_picture(game):
    compared = 0
    for state in some_states(game, number=5, seed=2)[1:-1]:
        seat = state.player if state.player >= 0 else state.num_players - 1
        mine = drawing(state.game, state.world, seat)
        truth = drawing(state.game, state.world, None)
        others = fl.history_filter(game, state.observations(seat), viewer=seat).sample(4, seed=1)
        for other in others:
            assert drawing(other.game, other.world, seat) == mine
            compared += drawing(other.game, other.world, None) != truth
    assert compared > 0


def test_hostile_texts_are_escaped():
    bad = '</title></svg><script>alert("1")</script>&\'\x00\ud800]]>'
    picture = finished([line(0, 10, bad, "head"), card(0, 20, bad, bad), card(60, 20, "Qs", bad)], bad)
    root = ElementTree.fromstring(svg(picture).encode())
    assert not list(root.iter(f"{NAMESPACE}script")) and "script" in "".join(root.itertext())
    assert "😀 é" in "".join(ElementTree.fromstring(svg(finished([line(0, 10, "😀 é")]))).itertext())
    for shape in ("square", "hexagon", "cell", "card", "die", "line", "text", "button"):
        item = Item(shape, 0.0, 0.0, 40.0, 40.0, "x", bad, bad, place=0, actions=(1,), heat=0.5, note=bad)
        ElementTree.fromstring(svg(finished([item])))
    cells = [Cell(bad, said=bad)] * 4
    board = board_drawing([f"{bad} {i}" for i in range(4)], 2, cells, bad, {bad: (bad, "")}, [bad])
    assert ElementTree.fromstring(svg(board).encode()).find(f"{NAMESPACE}title").text.startswith("</title></svg>")


def test_styles_have_light_and_dark_and_every_variable():
    assert set(_LIGHT) == set(_DARK)
    used = set(re.findall(r"var\(--(\w+)\)", "".join(_STYLE.values())))
    assert used <= set(_LIGHT) and len(used) > 12
    text = played("dark_chess").drawing(0).svg()
    assert "prefers-color-scheme:dark" in text and ".weave" not in text and "...unseen" not in text


# Games without a picture of their own ---------------------------------------------------------------------------------


def test_a_game_without_the_rule_is_drawn_as_text_or_on_a_board():
    with interpreted():
        state = fl.new_state(card_game())
        assert [item.text for item in state.drawing(0).items] == ["you are seat 0"]
        names = [f"cell {i}" for i in range(4)]
        held = phantom_game(places=lambda game: (names, 2), contents=lambda game, world: list("x..o"))
        truth, sight = fl.new_state(held).drawing(), fl.new_state(held).drawing(1, choices=True)
        assert [item.text for item in truth.items if item.place is not None] == ["x", "", "", "o"]
        assert all(item.role == "unseen" for item in sight.items if item.place is not None)
        assert "you have 0000" in sight.items[0].text
        choices = fl.new_state(held).drawing(0, choices=True).items
        assert [item.text for item in choices if item.actions] == names and choices[-1].shape == "button"


def test_actions_beyond_the_game_are_found():
    with interpreted():
        game = card_game(drawing=lambda game, world, seat: finished([card(0, 0, "7", actions=(9,))]))
        fault = next(f for f in fl.check_game(game, games=2, compiled=False).faults if f.property == "drawings")
    assert "has actions from 9 to 9" in fault.sentence


def test_a_changed_picture_is_no_other_game():
    """A picture does not decide how anybody plays, so stored games stay valid."""

    class Cards(NamedTuple):
        pass

    def print_with(**rules):
        for name, rule in rules.items():
            fl.implements(Cards, name)(rule)
        fingerprints._prints.pop(Cards, None)
        return fingerprints.code_of(Cards)

    plain = print_with(**CARD)
    assert print_with(drawing=lambda game, world, seat: finished([])) == plain
    assert print_with(view=lambda game, world, seat: "nothing") != plain


# Beliefs --------------------------------------------------------------------------------------------------------------


def test_a_sense_is_drawn_until_the_move(seen=0):
    for square in range(64):
        state = fl.new_state("rbc")
        name = "abcdefgh"[square % 8] + str(square // 8 + 1)
        state.play(state.parse_action(f"sense {name}"))
        shown = {item.title: item for item in state.drawing(1).items if "seen" in item.role.split()}
        truth = {item.title for item in state.drawing().items if item.place is not None}
        around = [
            f"{file}{rank}" for file in "abcdefgh" for rank in range(1, 9)
            if abs(ord(file) - ord(name[0])) <= 1 and abs(rank - int(name[1])) <= 1
        ]  # fmt: skip
        assert sorted(title[:2] for title in shown) == sorted(around) and shown.keys() <= truth
        assert not any("unseen" in item.role for item in shown.values())
        seen += len(shown)
        assert not any("seen" in item.role.split() for item in state.drawing(0).items)
        state.play(state.parse_action("e2e4"))
        assert not any("seen" in item.role.split() for item in state.drawing(1).items)
    assert seen == 36 * 9 + 24 * 6 + 4 * 4


def test_a_belief_is_laid_over_the_board():
    found = fl.belief(played("phantom_ttt", "b2", "a1"), 0)
    picture = found.drawing()
    notes = [item.note for item in picture.items if item.place is not None]
    assert notes == ["12%"] * 4 + [""] + ["12%"] * 4
    heats = {item.heat for item in picture.items if item.note}
    assert heats == {0.125} and [item.text for item in picture.items if item.place == 4] == ["x"]
    assert "a1: empty 88%, o 12%" in [item.title for item in picture.items]
    assert found._repr_svg_() == picture.svg() and tree(picture).find(f"{NAMESPACE}title").text == found.title


def test_a_certain_hit_stays_a_hit():
    found = fl.belief(played("battleship", "a1", "c3", "b2 right", "a1 down", "a1"), 0).drawing()
    by_place = {item.place: item for item in found.items if item.place is not None}
    assert (by_place[9].look, by_place[9].heat) == ("hit", None)
    assert (by_place[10].look, by_place[10].note) == ("ship", "57%")


def test_a_public_belief_has_the_shapes_of_the_board():
    found = fl.belief(played("dark_hex", "b2", "a1"), fl.PUBLIC).drawing()
    shapes = [item.shape for item in found.items if item.place is not None]
    assert shapes == ["hexagon"] * 16 and sum(item.heat is not None for item in found.items) == 16


def test_a_belief_without_a_board_is_a_table_below_what_the_seat_sees():
    found = fl.belief(played("kuhn_poker", "jack", "queen"), 0)
    picture = found.drawing()
    cells = [(item.text, item.heat) for item in picture.items if item.shape == "cell"]
    assert sorted(cells, key=str) == [("100%", None), ("50%", 0.5), ("50%", 0.5)]
    assert [item.role for item in picture.items if item.shape == "card"] == ["", "back"]
    bare = fl.history_filter("spades", [], viewer=fl.PUBLIC).belief().drawing()
    assert len([item for item in bare.items if item.place is not None]) == 52 and tree(bare) is not None


@pytest.mark.parametrize("game", ["dark_hex", "battleship", SMALL["oh_hell"], SMALL["liars_dice"], "leduc_poker"])
def test_beliefs_are_well_formed(game):
    state = some_states(game, number=5, seed=3)[2]
    found = fl.belief(state, max(state.player, 0), most=100)
    root = tree(found.drawing())
    shown = [item for item in found.drawing().items if item.heat is not None]
    assert shown and root is not None and all(0 < item.heat < 1 for item in shown)
    if found.columns:
        assert all(item.note == f"{item.heat:.0%}" for item in shown)
    assert len(contents(state.game, state.world)) == len(found.places)


# Files and commands ---------------------------------------------------------------------------------------------------


def test_svg_files_need_no_matplotlib(tmp_path, monkeypatch, run):
    monkeypatch.setitem(sys.modules, "matplotlib", SimpleNamespace())
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    state, file = played("phantom_ttt", "b2", "a1"), tmp_path / "x.svg"
    state.draw(file, seat=0)
    assert file.read_text(encoding="utf-8") == state.drawing(0).svg() != state._repr_svg_()
    fl.belief(state, 0).draw(file, title="mine")
    assert "<title>mine</title>" in file.read_text(encoding="utf-8")
    for option in ("--picture", "--plot"):
        file.unlink()
        assert run("belief", "phantom_ttt", "b2", "a1", option, str(file))[0] == 0
        assert file.read_text(encoding="utf-8") == fl.belief(state, 0)._repr_svg_()
    assert run("draw", "phantom_ttt", "b2", "a1", "--picture", str(file))[:2] == (0, f"{file} written\n")
    assert file.read_text(encoding="utf-8") == state._repr_svg_()
    assert run("draw", "phantom_ttt", "b2", "a1", "--seat", "1", "--picture", str(file))[0] == 0
    assert file.read_text(encoding="utf-8") == state.drawing(1).svg()


@pytest.mark.parametrize(
    ("arguments", "advice"),
    [
        (("--picture", "x.png"), "its name must end in .svg"),
        (("--picture", "/no/such/folder/x.svg"), "there is no folder /no/such/folder"),
        (("--seat", "2"), "there is no seat 2; give one from 0 to 1, or none"),
    ],
)
def test_pictures_that_cannot_be_drawn_are_refused_in_one_line(run, arguments, advice):
    code, out, err = run("draw", "phantom_ttt", *arguments)
    assert (code, out) == (2, "") and advice in err.splitlines()[-1]


SHIPS = ("a1", "c3", "b2 right", "a1 down", "a1")
OPENING = ("e4", "d5", "exd5", "Qxd5", "Nc3", "Qa5", "d4")
OH_HELL = "6_tricks dealer_2 Kh Js Qh Qs 6d 6h 2c 4c 5h Qd Tc Ks Qc 3c Kd Ts As 8c Td bid_2 bid_1 bid_1 Ts As"
PICTURES = {
    "battleship_belief": lambda: fl.belief(played("battleship", *SHIPS), 0),
    "dark_chess_belief": lambda: fl.belief(played("dark_chess", *OPENING), 0),
    "dark_chess_sight": lambda: played("dark_chess", *OPENING).drawing(0),
    "dark_hex_belief": lambda: fl.belief(played("dark_hex", "b2", "c2", "c2", "b3", "a3", "d1"), 0),
    "liars_dice_belief": lambda: fl.belief(played("liars_dice(dice=2)", "3", "6", "2", "5", "1-6", "2-2"), 0),
    "oh_hell_sight": lambda: played("oh_hell", *(move.replace("_", " ") for move in OH_HELL.split())).drawing(2),
}


@pytest.mark.parametrize("name", PICTURES)
def test_pictures_of_the_pages_are_what_is_drawn(name):
    """To write them anew: `(PAGES / f"{name}.svg").write_text(PICTURES[name]()._repr_svg_())`."""
    text = (PAGES / f"{name}.svg").read_text(encoding="utf-8")
    assert text == PICTURES[name]()._repr_svg_() and len(text.encode()) < 20_000


def test_native_games_have_pictures_of_their_own():
    classes = [game_class(name) for name in fl.game_names()]
    assert len(classes) >= 15 and all(made in drawing.rule.implementations for made in classes)
