"""Extensive-form files of Gambit: read, played, solved, refused, written.

`python -m foglight.proofs efg --files FOLDER` compares whole folders of other people's files; the environment variable
FOGLIGHT_EFG names such a folder for the test here.
"""

import json
import os
import pickle
import random
import sys
from fractions import Fraction
from pathlib import Path

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

import foglight as fl
from foglight.bridges.efg_files import Document, InformationSet, Node, Outcome, read, written
from foglight.proofs import efg as proof
from foglight.proofs.__main__ import app, main
from foglight.web.offers import Offers

FILES = os.environ.get("FOGLIGHT_EFG", "")

# Chance deals red or black to Ann, who sees it. She raises or folds; Bob, who sees no card, meets a raise or passes. A
# fold pays Bob 1. A raise is worth 1 if passed; if met, red wins 2 and black loses 2.
POKER = r"""
EFG 2 R "One \"card\"" { "Ann" "Bob \\ Co" }
"An ante of 1, a raise of 1"
c "deal" 1 "" { "red" 1/2 "black" 0.5 } 0
p "" 1 1 "red" { "raise" "fold" } 0
p "" 2 1 "a raise" { "meet" "pass" } 0
t "" 1 "wins all" { 2, -2 }
t "" 2 "wins the ante" { 1 -1, }
t "" 3 "loses the ante" { -1 1 }
p "" 1 2 "black" { "raise" "fold" } 0
p "" 2 1 0
t "" 4 "loses all" { -2.0 2.00 }
t "" 2
t "" 3 "loses the ante" { -1 1 }
"""

# Matching pennies after an entry fee: the fee of 1/4 is paid at the root, and Ann wins 1 for a match, 2 for two tails.
# Value with Ann's share of heads p and Bob's q: 2(1-p)(1-q) + pq - p(1-q) - q(1-p) = 2 - 3p - 3q + 5pq, so p = q = 3/5
# and the value is 2 - 9/5 = 1/5; less the fee -1/20.
PENNIES = """
EFG 2 R "pennies" { "Ann" "Bob" }
p "" 1 1 "" { "h" "t" } 1 "fee" { -1/4 1/4 }
p "" 2 1 "" { "h" "t" } 0
t "" 2 "" { 1 -1 }
t "" 3 "" { -1 1 }
p "" 2 1 "" { "h" "t" } 0
t "" 3
t "" 4 "" { 2 -2 }
"""

# Ann moves twice, with or without Bob's move in between, which she does not notice.
UNNOTICED = """
EFG 2 R "unnoticed" { "Ann" "Bob" }
c "" 1 "" { "h" 1/3 "t" 2/3 } 0
p "" 1 1 "first" { "go" "stop" } 0
p "" 1 2 "second" { "up" "down" } 0
t "" 1 "" { 3 -3 }
t "" 2 "" { -1 1 }
t "" 0
p "" 1 1 0
p "" 2 1 "" { "x" "y" } 0
p "" 1 2 0
t "" 3 "" { 2 -2 }
t "" 4 "" { 0 0 }
p "" 1 2 0
t "" 2
t "" 3
t "" 0
"""

HORSE = """
EFG 2 R "three players, an information set across levels" { "1" "2" "3" }
p "" 1 1 "" { "C" "D" } 0
p "" 2 1 "" { "c" "d" } 0
t "" 1 "" { 1 1 1 }
p "" 3 1 "" { "L" "R" } 0
t "" 2 "" { 4 4 0 }
t "" 3 "" { 0 0 1 }
p "" 3 1 0
t "" 4 "" { 3 2 2 }
t "" 5 "" { 0 0 0 }
"""

FORGETFUL = """
EFG 2 R "Ann forgets her card" { "Ann" "Bob" }
c "" 1 "" { "red" 1/2 "black" 1/2 } 0
p "" 1 1 "red" { "on" } 0
p "" 1 3 "which was it" { "red" "black" } 0
t "" 1 "" { 1 -1 }
t "" 2 "" { -1 1 }
p "" 1 2 "black" { "on" } 0
p "" 1 3 0
t "" 2
t "" 1
"""

ABSENT = """
EFG 2 R "driver" { "Ann" }
p "" 1 1 "a crossing" { "exit" "on" } 0
t "" 1 "" { 0 }
p "" 1 1 0
t "" 2 "" { 4 }
t "" 3 "" { 1 }
"""

ALL = {"poker": POKER, "pennies": PENNIES, "unnoticed": UNNOTICED, "horse": HORSE, "forgetful": FORGETFUL}
SOLVED = {"poker": Fraction(1, 3), "pennies": Fraction(-1, 20)}


@pytest.fixture
def file(tmp_path):
    """The path of a file with this content."""

    def write(content, name="game.efg"):
        path = tmp_path / name
        path.write_text(content, "utf-8")
        return path

    return write


def load(path):
    return fl.load_game(f"efg:{path}")


def told(error):
    """The lines on stderr, except those that a cold cache of kernels gives."""
    return [line for line in error.splitlines() if not line.startswith("compiling")]


# Reading --------------------------------------------------------------------------------------------------------


def test_a_file_is_read_with_everything_in_it():
    document = read(POKER, "poker.efg")
    assert (document.title, document.players) == ('One "card"', ("Ann", "Bob \\ Co"))
    assert document.comment == "An ante of 1, a raise of 1"
    assert len(document.nodes) == 11
    deal, raised, passed = document.nodes[0], document.nodes[2], document.nodes[4]
    assert deal.information_set == InformationSet(0, 1, "", ("red", "black"), (Fraction(1, 2), Fraction(1, 2)))
    assert raised.information_set is document.nodes[7].information_set
    assert passed.outcome == document.nodes[9].outcome == Outcome(2, "wins the ante", (Fraction(1), Fraction(-1)))
    assert document.nodes[8].outcome.payoffs == (-2, 2)


def test_payoffs_along_a_path_add_up(file):
    state = fl.new_state(load(file(PENNIES)))
    state.play(1)
    state.play(1)
    assert state.returns() == [1.75, -1.75]


def test_numbers_are_exact():
    said = "3 -1/2 +4 .25 1.5e-3 6/4 2."
    document = read('EFG 2 R "" {' + 7 * ' "A"' + ' } t "" 1 "" { ' + said + " }", "")
    exact = (3, Fraction(-1, 2), 4, Fraction(1, 4), Fraction(3, 2000), Fraction(3, 2), 2)
    assert document.nodes[0].outcome.payoffs == exact


def test_an_information_set_may_lack_its_name():
    document = read('EFG 2 R "" { "A" } p "" 1 1 { "x" } 0 t "" 0', "")
    assert document.nodes[0].information_set == InformationSet(1, 1, "", ("x",))


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("EFG 2", "NFG 2", 2, "EFG, the kind of file, is expected, not NFG"),
        ("EFG 2", "EFG 1", 2, "version 2 is expected, not 1"),
        ('{ "Ann" "Bob \\\\ Co" }', "{ }", 3, "names no players"),
        ('p "" 1 1 "red"', 'q "" 1 1 "red"', 5, "begins with c, p or t"),
        ('p "" 1 1 "red"', 'p "" 3 1 "red"', 5, "there is no player 3; the file names 2"),
        ('p "" 1 1 "red"', 'p "" 1 x "red"', 5, "must be a whole number of at least 1, not x"),
        ('1 1 "red" { "raise" "fold" }', '1 1 "red" { }', 5, "information set 1 has no actions"),
        ('p "" 2 1 0', 'p "" 2 9 0', 11, "information set 9 of player 2 has no actions yet"),
        ('p "" 2 1 0', 'p "" 2 1 "a raise" { "meet" } 0', 11, "is not what it was"),
        ("1/2", "1/0", 4, "must be a number"),
        ("1/2", "1e99999999", 4, "must be a number"),
        ("1/2", 200 * "1", 4, "must be a number"),
        ("1/2", "1/3", 4, "add up to 0.833333, not to 1"),
        ('"red" 1/2 "black" 0.5', '"red" -1/2 "black" 1.5', 4, "below 0"),
        ("{ 2, -2 }", "{ 2 }", 7, "outcome 1 has 1 payoffs, and there are 2 players"),
        ("{ 2, -2 }", "{ 2, two }", 7, "a payoff must be a number such as 3, -1/2 or 0.25, not two"),
        ('t "" 2\n', 't "" 7\n', 13, "outcome 7 has no payoffs yet"),
        ('t "" 2\n', 't "" 0 "x" { 1 1 }\n', 13, "outcome 0 stands for no outcome"),
        ('t "" 2\n', 't "" 2 "wins the ante" { 1 1 }\n', 13, "outcome 2 is not what it was"),
        ('t "" 2\n', "", 14, "a node that begins with c, p or t is expected, not the end of the file"),
        ('t "" 2\n', 't "" 2\nt "" 2\n', 15, "the end of the file after the last node"),
    ],
)
def test_a_bad_file_is_refused_in_one_line_with_its_number(old, new, line, message, file):
    assert old in POKER
    path = file(POKER.replace(old, new, 1))
    with pytest.raises(fl.BadInput, match=r"line \d+: ") as refused:
        load(path)
    said = str(refused.value)
    assert said.startswith(f"{path}, line {line}: ")
    assert message in said
    assert "\n" not in said


def test_what_is_no_file_is_refused(tmp_path, run):
    with pytest.raises(fl.BadInput, match=r"game\.efg, line 2: a quotation mark is left open"):
        read('EFG 2 R\n"title', "game.efg")
    for path in (tmp_path / "none.efg", tmp_path, "a\0b", "/dev/null"):
        with pytest.raises(fl.BadInput, match="cannot read"):
            load(path)
    assert run("games", "efg") == (2, "", "efg needs file: write efg(file=...)\n")
    (tmp_path / "bytes.efg").write_bytes(bytes(range(256)))
    with pytest.raises(fl.BadInput, match=r"line 1: EFG, the kind of file, is expected"):
        load(tmp_path / "bytes.efg")


# The game -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ALL)
def test_it_keeps_what_every_game_owes(name, file):
    checks = fl.check_game(load(file(ALL[name])), games=5)
    assert checks.faults == []
    assert sum(checks.comparisons.values()) > 100


def test_games_are_known_by_path_and_content(file, tmp_path):
    path = file(PENNIES)
    game, same = load(path), fl.load_game(f'efg(file="{path}")')
    assert str(game) == f"efg:{path}"
    assert game == same == fl.load_game(game) == pickle.loads(pickle.dumps(game))
    assert hash(game) == hash(pickle.loads(pickle.dumps(game)))
    odd = file(PENNIES, "a (b), c.efg")
    assert str(load(odd)) == f'efg(file="{odd}")'
    assert fl.load_game(str(load(odd))) == load(odd) != game
    file(PENNIES.replace("2 -2", "3 -3"))
    assert load(path) != game == fl.load_game(game)
    path.unlink()
    assert fl.game_value(pickle.loads(pickle.dumps(game))) == pytest.approx(-1 / 20, abs=1e-12)


def test_a_pause_hides_whether_another_seat_has_moved(file):
    game = load(file(UNNOTICED))
    assert len(game.nodes) == len(game.document.nodes) + 1
    straight, around = fl.new_state(game), fl.new_state(game)
    for action in (0, 0, 0):  # heads, go, the pause
        straight.play(action)
    for action in (1, 0, 0):  # tails, go, x
        around.play(action)
    assert straight.player == around.player == 0
    assert straight.observations(0) == around.observations(0)
    assert straight.information(0) == around.information(0)
    assert fl.history_filter(game, straight.observations(0), viewer=0).count() == 3  # after heads, tails x, tails y


def test_outcomes_of_probability_0_do_not_happen(file):
    game = load(file('EFG 2 R "" { "A" } c "" 1 "" { "never" 0 "always" 1 } 0 t "" 1 "" { 5 } t "" 2 "" { 7 }'))
    assert fl.new_state(game).chance() == [(1, 1.0)]
    assert fl.policy_values(game, fl.Uniform()) == [7.0]


def test_names_lead_to_actions(file):
    game = load(file('EFG 2 R "" { "" } p "" 1 1 "" { "a" "" "A" "a #1" } 0' + 4 * ' t "" 0'))
    state = fl.new_state(game)
    names = [state.action_text(action) for action in state.actions()]
    assert len(set(map(str.lower, names))) == 4
    assert [state.parse_action(name) for name in names] == [0, 1, 2, 3]


@pytest.mark.parametrize("name", SOLVED)
def test_values_worked_out_by_hand(name, file):
    game = load(file(ALL[name]))
    assert fl.game_value(game) == pytest.approx(float(SOLVED[name]), abs=1e-12)
    assert fl.solve(game, iterations=2000).exploitability < 0.002


def test_constant_sums_have_a_value_too(file):
    game = load(file(PENNIES.replace("{ -1/4 1/4 }", "{ 1 4 }")))
    assert fl.game_value(game) == pytest.approx(1.2, abs=1e-12)


def test_solvers_say_which_games_they_refuse(file, run):
    horse, forgetful = load(file(HORSE, "horse.efg")), load(file(FORGETFUL, "forgetful.efg"))
    with pytest.raises(fl.BadInput, match="has 3 seats; a linear program solves games of two seats only"):
        fl.game_value(horse)
    assert fl.exploitability(horse, fl.solve(horse, iterations=500)) < 0.1
    general = load(file(PENNIES.replace("2 -2", "2 2"), "general.efg"))
    with pytest.raises(fl.BadInput, match="is not zero-sum"):
        fl.game_value(general)
    large = load(file(PENNIES.replace("2 -2", f"{10**20} {-(10**20)}"), "large.efg"))
    with pytest.raises(fl.BadInput, match=r"pays up to 1e\+20, and a linear program takes 1e\+12 at most"):
        fl.game_value(large)
    why = r"Ann \(seat 0\) has forgotten something at information set 3 \(which was it\); a game without perfect recall"
    for measure in (
        fl.solve,
        fl.game_value,
        lambda game: fl.exploitability(game, fl.Uniform()),
        lambda game: fl.exploit(game, "random", iterations=10, games=10),
    ):
        with pytest.raises(fl.BadInput, match=why):
            measure(forgetful)
    code, _, error = run("solve", str(forgetful), "--method", "lp")
    assert (code, len(told(error))) == (2, 1)
    with pytest.raises(fl.BadInput, match=r"Ann is absent-minded: a path comes to information set 1 \(a crossing\)"):
        load(file(ABSENT, "absent.efg"))


def test_it_is_played_everywhere(file, run, tmp_path):
    path, forgetful = file(POKER), file(FORGETFUL, "forgetful.efg")
    result = fl.play_match(f"efg:{path}", ["epimc(iterations=20)", "ismcts(iterations=20)"], games=4, workers=2)
    assert result.games == 4
    assert fl.play_match(f"efg:{forgetful}", ["random", "random"], games=2).games == 2
    code, out, error = run("play", f"efg:{path}", "--vs", "first_legal", typed=["raise"])
    assert (code, told(error)) == (0, [])
    assert "you are Ann (seat 0)" in out
    code, out, error = run("belief", f"efg:{path}", "red", "raise", "--seat", "1", "--json")
    assert (code, told(error)) == (0, [])
    assert '"red": 0.5' in out
    code, out, error = run("analyse", f"efg:{path}", "red", "raise", "--agent", "epimc(iterations=20)")
    assert (code, told(error)) == (0, [])
    assert "meet" in out
    code, out, error = run("games", f"efg:{path}")
    assert (code, told(error)) == (0, [])
    assert "Bob \\ Co (seat 1)" in out


def test_the_page_offers_files_and_never_chooses_them(file, tmp_path):
    offers = Offers(games=[f"efg:{file(POKER)}", f"efg:{file(POKER, 'a (b).efg')}"])
    for name in list(offers._games)[-2:]:
        (described,) = [game for game in offers.data()["games"] if game["name"] == name]
        assert (described["title"], described["parameters"]) == ('One "card"', [])
        text = str(fl.load_game(name))
        assert offers.game(name, {}) == offers.known(name) == offers.known(text) == text
        with pytest.raises(fl.BadInput, match="a game from a file has no parameters"):
            offers.game(name, {"file": str(file(PENNIES, "other.efg"))})
    for other in (f"efg:{tmp_path}/other.efg", f'efg(file="{tmp_path}/other.efg")', "efg"):
        with pytest.raises(fl.BadInput, match="unknown game"):
            offers.known(other)


def test_a_store_knows_the_content_of_the_file(file, tmp_path):
    path, store = file(PENNIES), tmp_path / "games.sqlite"
    first = fl.play_match(f"efg:{path}", ["random", "random"], games=3, store=store)
    file(PENNIES.replace("2 -2", "3 -3").replace("1 -1", "3 -3"))
    second = fl.play_match(f"efg:{path}", ["random", "random"], games=3, store=store)
    assert (first.earlier, second.earlier) == (0, 3)


# Writing --------------------------------------------------------------------------------------------------------

texts = st.text(alphabet='ab "\\\n{},é', max_size=8)
numbers = st.fractions(min_value=-9, max_value=9, max_denominator=50)


@st.composite
def documents(draw):
    """A document with a random tree, in which nothing needs to make sense."""
    seats = draw(st.integers(1, 3))
    sets, outcomes, nodes, open_places = {}, {}, [], 1
    while open_places:
        outcome = None
        if number := draw(st.integers(0, 3)):
            made = Outcome(number, draw(texts), tuple(draw(numbers) for _ in range(seats)))
            outcome = outcomes.setdefault(number, made)
        here = None
        if len(nodes) < 12 and draw(st.booleans()):
            player, number = draw(st.integers(0, seats)), draw(st.integers(1, 3))
            count = draw(st.integers(1, 3))
            weights = [draw(st.integers(1, 9)) for _ in range(count)]
            odds = tuple(Fraction(weight, sum(weights)) for weight in weights) if player == 0 else ()
            made = InformationSet(player, number, draw(texts), tuple(draw(texts) for _ in range(count)), odds)
            here = sets.setdefault((player, number), made)
        nodes.append(Node(draw(texts), here, outcome))
        open_places += len(here.actions) - 1 if here else -1
    return Document(draw(texts), tuple(draw(texts) for _ in range(seats)), draw(texts), tuple(nodes))


@settings(max_examples=50)
@given(documents())
def test_what_is_written_is_read_again(document):
    assert read("\n".join(written(document)), "") == document


@pytest.mark.parametrize(
    ("game", "nodes", "sets"),
    [
        ("kuhn_poker", 58, 12),
        ("goofspiel(cards=3)", 67, 16),
        ("unseen_rps", 14, 2),
        ("openspiel:kuhn_poker(players=3)", 617, 48),
        ("efg", 15, 3),
    ],
)
def test_an_export_is_the_same_game(game, nodes, sets, tmp_path, file):
    if game == "efg":
        game = f"efg:{file(UNNOTICED)}"
    calls = []
    first = fl.export_game(game, tmp_path / "a.efg", progress=lambda *numbers: calls.append(numbers))
    assert (first.nodes, first.information_sets) == (nodes, sets)
    again = load(tmp_path / "a.efg")
    second = fl.export_game(again, tmp_path / "b.efg")
    assert (tmp_path / "a.efg").read_bytes() == (tmp_path / "b.efg").read_bytes()
    assert (second.nodes, second.information_sets) == (nodes, sets)
    assert np.allclose(fl.policy_values(game, fl.Uniform()), fl.policy_values(again, fl.Uniform()), atol=1e-12)
    assert fl.solve(game, iterations=20).exploitability == pytest.approx(
        fl.solve(again, iterations=20).exploitability, abs=1e-9
    )
    assert proof.work(str(tmp_path / "a.efg"))["findings"] == []
    assert calls[-1:] in ([], [(nodes, nodes)])


def test_the_command_writes_whole_files_or_none(tmp_path, run, monkeypatch):
    monkeypatch.chdir(tmp_path)
    said = "k.efg: 58 nodes and 12 information sets of kuhn_poker; load it as efg:k.efg\n"
    assert run("export-game", "kuhn_poker", "--to", "k.efg")[:2] == (0, said)
    code, out, _ = run("export-game", "kuhn_poker", "--to", "k.efg", "--json")
    assert (code, '"nodes": 58' in out) == (0, True)
    before = Path("k.efg").read_bytes()
    for words, message in (
        (("kuhn_poker", "--to", "k.efg", "--limit", "57"), "has 58 nodes, and the limit is 57"),
        (("phantom_ttt", "--to", "k.efg"), "nodes, and the limit is 100,000; give a higher limit"),
        (("kuhn_poker", "--to", "k.txt"), "its name must end in .efg"),
        (("kuhn_poker", "--to", "none/k.efg"), "there is no folder none"),
        (("kuhn_poker", "--to", "k.efg", "--limit", "0"), "limit must be a whole number of at least 1, not 0"),
        (("efg:k.efg", "--to", "j.efg", "--limit", "5"), "has 58 nodes, and the limit is 5"),
    ):
        code, out, error = run("export-game", *words)
        assert (code, out, len(told(error))) == (2, "", 1)
        assert message in error
    assert Path("k.efg").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["k.efg"]


def test_probabilities_are_written_so_that_they_add_up_to_1(tmp_path):
    fl.export_game("openspiel:leduc_poker(suit_isomorphism=True)", tmp_path / "l.efg")
    sums = [
        sum(node.information_set.odds)
        for node in read((tmp_path / "l.efg").read_text(), "").nodes
        if node.information_set is not None and node.information_set.odds
    ]
    assert len(sums) == 49
    assert set(sums) == {1}


# Beside Gambit and OpenSpiel ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ALL)
def test_gambit_and_openspiel_agree(name, file):
    pytest.importorskip("pygambit")
    result = proof.work(str(file(ALL[name])))
    assert result["findings"] == []
    assert result["gambit"] == "read"
    assert result["nodes"] >= 8
    assert result["sets"] >= 4
    assert result["recall"] == result["round trip"] == 1
    assert (result["values"] >= 2) == (result["equilibria"] >= 1) == (name != "forgetful")


@pytest.mark.parametrize(
    ("old", "new"),
    [("1/3", "1/4"), ("{ 3 -3 }", "{ 3 3 }"), ('p "" 2 1 "" { "x"', 'p "" 1 7 "" { "x"'), ('p "" 1 2 0\nt "" 2', "")],
)
def test_the_proof_finds_differences(old, new, file, monkeypatch):
    pytest.importorskip("pygambit")
    path = str(file(UNNOTICED))
    other = UNNOTICED.replace(old, new, 1)
    if new == "1/4":
        other = other.replace("2/3", "3/4", 1)
    elif not new:
        other = UNNOTICED.replace('p "" 1 2 0\nt "" 2', 'p "" 1 9 "" { "up" "down" } 0\nt "" 2', 1)
    theirs = proof._gambits(str(file(other, "other.efg")))
    monkeypatch.setattr(proof, "_gambits", lambda file: theirs)
    assert proof.work(path)["findings"]


def test_the_proof_is_a_command(file, monkeypatch, capsys, tmp_path):
    file(POKER)
    file(ABSENT, "absent.efg")
    for folder, code in ((tmp_path, 0), (tmp_path / "none", 2)):
        words = ["proofs", "efg", "--files", str(folder), "--folder", str(tmp_path / "runs"), "--json"]
        monkeypatch.setattr(sys, "argv", words)
        with pytest.raises(SystemExit) as exited:
            main(app)
        assert exited.value.code == code
        printed = capsys.readouterr()
        if code == 0:
            *_, total = json.loads(printed.out)["rows"]
            assert (total["file"], total["here"], total["differ"]) == ("2 files", "1 read", 0)
        else:
            assert "no .efg files in" in printed.err


@pytest.mark.skipif(not FILES, reason="FOGLIGHT_EFG names no folder of .efg files")
@pytest.mark.parametrize("cell", proof.cells(FILES).values() if FILES else ())
def test_files_of_others(cell):
    assert proof.work(**cell)["findings"] == []


# Game files of LiteEFG ------------------------------------------------------------------------------------------

LITE = """
# One card: as POKER
node / chance actions red=0.5 black=0.5
node /C:red player 1 actions raise fold
node /C:red/P1:raise player 2 actions meet pass
node /C:red/P1:raise/P2:meet leaf payoffs 1=2 2=-2
node /C:red/P1:raise/P2:pass leaf payoffs 1=1 2=-1
node /C:red/P1:fold leaf payoffs 1=-1 2=1
node /C:black player 1 actions raise fold
node /C:black/P1:fold leaf payoffs 2=1 1=-1
node /C:black/P1:raise player 2 actions meet pass
node /C:black/P1:raise/P2:meet leaf payoffs 1=-2 2=2
node /C:black/P1:raise/P2:pass leaf payoffs 1=1 2=-1
infoset a_raise nodes /C:red/P1:raise /C:black/P1:raise
"""


def test_game_files_of_liteefg_are_read(file, tmp_path):
    game = load(file(LITE, "card.game"))
    assert (len(game.nodes), len(game.sets)) == (11, 4)
    assert fl.game_value(game) == pytest.approx(1 / 3, abs=1e-12)
    fl.export_game(game, tmp_path / "card.efg")
    assert fl.game_value(load(tmp_path / "card.efg")) == pytest.approx(1 / 3, abs=1e-12)
    assert pickle.loads(pickle.dumps(game)) == game


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("node / chance", "node /x chance", 1, "there is no root"),
        ("red=0.5", "red=half", 3, "a name and a number are expected, as in red=0.5, not red=half"),
        ("red=0.5", "red=0.6", 3, "add up to 1.1, not to 1"),
        ("player 1 actions raise fold", "player 0 actions raise fold", 4, "a node is chance actions A=P, player N"),
        ("player 1 actions raise fold", "player 3 actions raise fold", 4, "there is no player 3; leaves pay 2"),
        ("player 1 actions raise fold", "player 1 actions raise fall", 4, "node /C:red/P1:fall is missing"),
        ("1=2 2=-2", "1=2 3=-2", 6, "payoffs are expected as 1=X 2=Y, not 1=2 3=-2"),
        ("1=2 2=-2", "1=2 2=-2 3=0", 1, "the leaves do not all have as many payoffs"),
        ("node /C:black/P1:fold", "node /C:red/P1:fold", 10, "node /C:red/P1:fold occurs twice"),
        ("infoset a_raise", "set a_raise", 14, "a line that begins with node or infoset is expected, not set"),
        ("\ninfoset", "\nnode /D leaf payoffs 1=0 2=0\ninfoset", 1, "1 nodes cannot be reached from the root"),
        ("infoset", "infoset b nodes /C:red/P1:raise\ninfoset", 15, "is in two information sets"),
    ],
)
def test_bad_game_files_are_refused_in_one_line(old, new, line, message, file):
    assert old in LITE
    path = file(LITE.replace(old, new, 1), "card.game")
    with pytest.raises(fl.BadInput, match=r"line \d+: ") as refused:
        load(path)
    assert str(refused.value).startswith(f"{path}, line {line}: ")
    assert message in str(refused.value)


def test_nonsense_is_read_or_refused_in_one_line(file):
    rng, read_, refused = random.Random(0), 0, 0
    for _ in range(400):
        text = list(rng.choice([*ALL.values(), ABSENT, LITE]))
        for _ in range(rng.randrange(1, 5)):
            i = rng.randrange(len(text))
            text[i : i + rng.randrange(3)] = rng.choices('"{}\\ 0129-/.ecpt\n,²#=', k=rng.choice([0, 1, 1, 3, 5000]))
        try:
            load(file("".join(text)))
            read_ += 1
        except fl.BadInput as error:
            assert "\n" not in str(error)
            assert len(str(error)) < 600
            refused += 1
    assert read_ + refused == 400
    assert min(read_, refused) >= 10
