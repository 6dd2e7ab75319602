"""A person who plays: what is asked and answered at the prompt, leaving and resuming, and that nothing leaks."""

import base64
import contextlib
import json
import os
import random
import re
import signal
import subprocess
import sys
import zlib
from pathlib import Path

import pytest
from oracles import random_game
from test_games_contract import variants

import foglight as fl
from foglight.agents import View
from foglight.agents.human import Human, folded, grouped
from foglight.arena.session import Session, load_saved, resumed
from foglight.compile import has_rule
from foglight.names import choose
from foglight.randomness import fold, generator
from foglight.rules import action_names, how_to_play, num_actions, why_not
from foglight.state import replay

SMALL_OH_HELL = "oh_hell(players=3,suits=2,ranks=4,tricks=2)"


class Person:
    """Writes the given answers, then ends the input; keeps what is shown."""

    def __init__(self, *answers):
        self.answers, self.prompts, self.shown = list(answers), [], []

    def ask(self, prompt):
        self.prompts.append(prompt)
        if not self.answers:
            raise EOFError
        answer = self.answers.pop(0)
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def tell(self, shown):
        self.shown.append(str(shown))

    @property
    def text(self):
        return "\n".join(self.shown)


def sit(game, *answers, vs="first_legal", **options):
    """A person who gives these answers: the person and the record, None if the person left."""
    person = Person(*answers)
    return person, Session(game, vs, ask=person.ask, tell=person.tell, **options).play()


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """Games that are left are kept in the current folder."""
    monkeypatch.chdir(tmp_path)


# Commands ------------------------------------------------------------------------------------------------------------


def test_help_has_the_rules_and_every_command():
    person, record = sit("phantom_ttt", "help", "/HELP", "b2", seat=1)
    assert record is None and len(person.prompts) == 4
    assert person.text.count(how_to_play(fl.load_game("phantom_ttt"))) == 2
    for command in ("help", "moves", "history", "belief", "hint", "save", "quit"):
        assert re.search(rf"^  {command} ", person.text, re.MULTILINE)


def test_history_is_what_the_seat_has_observed_in_words():
    person, _ = sit("phantom_ttt", "history", "a1", "history", "b2", "history", seat=1)
    # x takes a1, then b1; o runs into a1 and takes b2
    assert person.shown[1] == "nothing yet"
    assert person.shown[3] == "  1 a1 taken"
    assert person.shown[5] == "  1 a1 taken\n  2 b2"


def test_belief_is_drawn_from_the_observations():
    person, _ = sit("phantom_ttt", "a1", "belief", seat=1)
    assert "the only world that agrees with what you have observed" in person.text
    assert "\n     x       .       .\n" in person.text
    person, _ = sit("phantom_ttt", "b2", "belief", seat=1)
    state = replay("phantom_ttt", [0, 4, 1])  # x has placed two marks on eight cells that o does not know
    worlds = fl.history_filter(state.game, state.observations(1), viewer=1, mover=1).belief().worlds
    assert f"all {worlds} worlds that agree" in person.text and " x 25%   x 25%   x 25%\n" in person.text
    person, _ = sit("unseen_rps", "belief", seat=0)
    assert "has no rules `places` and `contents`" in person.text, "where nothing can be drawn, one line says so"


def test_a_hint_is_what_an_agent_plays_from_these_observations():
    person, _ = sit(
        "phantom_ttt", "a1", "hint epimc(iterations=300)", "hint random", "hint human", "hint nobody", seat=1
    )
    state = replay("phantom_ttt", [0, 0])
    agent = fl.load_agent("epimc(iterations=300)")
    fl.Seat(agent, state.game, 1, int(fold(int(generator(0, 0, 2)[0]), 1)), state.observations(1))
    best = state.action_text(agent.act(state.actions()))
    said = [line for line in person.shown if " would play " in line]
    assert len(said) == 2 and said[1].endswith("it does not say why")
    move, value, other = re.fullmatch(
        r"epimc\(iterations=300\) would play (\w\d): it is worth ([+-]\d\.\d\d) to you, the best other move, "
        r"(\w\d), .*; it looked at the only world that agrees with what you know",
        said[0],
    ).groups()
    assert move == best != other and float(value) == round(max(agent.explain().values), 2)
    assert "ask an agent that plays by itself" in person.text and "unknown agent 'nobody'" in person.text


def test_the_agent_asked_for_a_hint_plays_the_game():
    for game, adviser in (("kuhn_poker", "epimc(time=1.0)"), ("rbc", "scout(engine=none)")):
        human = Human()
        human.start(game, 0, 0)
        assert human._adviser() == adviser


def read(human, *choices, why=lambda written: ""):
    human.read(View("info", "sight", {i: (name,) for i, name in enumerate(choices)}, [], why))


def test_a_move_named_like_a_command_is_the_move_and_a_slash_makes_it_the_command():
    human, person = Human(), Person("/help", "help", "/moves", "HELP me", "quit")
    human.ask, human.tell = person.ask, person.tell
    human.start("kuhn_poker", 0, 0)
    read(human, "stay", "help", "help me", "quit")
    assert human.act() == 1 and "you are on seat 0 of 2" in person.text
    assert (human.act() == 2 and person.shown[-1] == "stay, quit\nhelp: me") or "help" in person.shown[-1]
    assert human.act() == 3, "quit is a move here"
    person.answers = ["/quit"]
    with pytest.raises(Exception) as left:
        human.act()
    assert type(left.value).__name__ == "Leave"


def test_what_is_no_move_gets_a_reason_or_what_is_near():
    human, person = Human(), Person("", "/frob", "/hlp", "sence b2", "b2", "c9", "sense b2")
    human.ask, human.tell = person.ask, person.tell
    human.start("kuhn_poker", 0, 0)
    read(human, "sense b1", "sense b2", "no sense", why=lambda written: "sense first" if written == "b2" else "")
    assert human.act() == 1
    assert person.shown[1:] == [
        "write a move, or help",
        "unknown command 'frob'; there are help, moves, history, belief, hint, save, quit",
        "unknown command 'hlp'; did you mean 'help'?",
        "'sence b2' is not possible here; try sense b2, sense b1, no sense, or help",
        "'b2' is not possible here: sense first",
        "'c9' is not possible here; try sense b1, sense b2, no sense, or help",
    ]


def test_long_lists_of_moves_are_folded():
    person, _ = sit("rbc", "moves", "no sense", vs="random", seat=1)
    assert person.prompts[0] == "your move (sense a1, b1, c1, d1, e1 ... h8 (64); no sense; moves lists all): "
    listed = person.shown[1].replace("\n", " ")
    assert all(f"{file}{rank}" in listed for file in "abcdefgh" for rank in range(1, 9)) and "no sense" in listed
    assert max(map(len, person.shown[1].splitlines())) <= 100 and len(person.shown[1].splitlines()) < 6
    assert len(person.prompts[2]) < 100


def test_names_in_groups():
    names = ["bid 0", "bid 1", "pass", "a1 right", "a1 down", "b1 right"]
    assert folded(names) == ", ".join(names)
    assert grouped(names) == ["bid: 0, 1", "pass, b1 right", "a1: right, down"]
    many = [f"bid {i}" for i in range(14)]
    assert folded(many) == "bid 0, 1, 2, 3, 4 ... 13 (14); moves lists all"
    assert grouped(many) == ["bid: " + ", ".join(map(str, range(14)))]


def test_a_long_history_shows_its_end():
    human, person = Human(), Person("x")
    human.ask, human.tell = person.ask, person.tell
    human.start("kuhn_poker", 0, 0)
    human.read(View("all of it", "the board", {0: ("x",)}, [f"news {i}" for i in range(40)], lambda written: ""))
    human.act()
    assert "the board\nlast of 40 observations: news 24, " in person.text and "news 23" not in person.text


# Nothing leaks -----------------------------------------------------------------------------------------------------


def alike(game, rng, decisions):
    """States at which a seat decides, each with others that the seat cannot tell from it."""
    states = [state.clone() for _ in range(8) for state in random_game(game, rng) if state.player >= 0]
    for state in rng.sample(states, min(decisions, len(states))):
        seat = state.player
        same = fl.history_filter(state.game, state.observations(seat), viewer=seat, mover=seat).sample(3, seed=1)
        yield state, [other for other in same if other.history() != state.history()]


@pytest.mark.parametrize("game", ["kuhn_poker", SMALL_OH_HELL, "dark_hex(rows=2,cols=3)"])
def test_what_a_person_reads_follows_from_its_observations(game):
    """All commands, at true worlds that the seat cannot tell apart: the same words."""
    compared = 0
    for state, others in alike(game, random.Random(3), 8):
        words = all_words(state)
        assert len(words) > 500
        for other in others:
            assert all_words(other) == words
            compared += 1
    assert compared > 10


def all_words(state):
    human = Human()
    person = Person("help", "moves", "history", "belief", "hint first_legal", "a1 a1", "2c", "bid 2", "b1")
    human.ask, human.tell = person.ask, person.tell
    fl.Seat(human, state.game, state.player, 5, state.observations(state.player))
    seat = state.player
    human.read(View(state.information(seat), state.sight(seat), state.choices(), state.log(seat), state.why_not))
    with contextlib.suppress(EOFError):
        human.act()  # a legal move among the answers ends the questions
    return "\n".join([*person.prompts, *person.shown])


NAMED = [name for name in variants() if has_rule("why_not", type(fl.load_game(name)))]


@pytest.mark.parametrize("name", NAMED)
def test_every_action_that_is_not_allowed_has_a_name_and_mostly_a_reason(name):
    rng, asked, silent = random.Random(1), 0, 0
    states = [state for _ in range(2) for state in random_game(name, rng) if state.player >= 0]
    for state in rng.sample(states, min(6, len(states))):
        actions = range(num_actions(state.game))
        for action in set(rng.sample(actions, min(60, len(actions)))) - set(state.actions()):
            names = action_names(state.game, state.world, action)
            assert names and all(isinstance(word, str) and word for word in names)
            reason = why_not(state.game, state.world, action)
            assert "\n" not in reason and not reason.endswith(".")
            asked += 1
            silent += not reason
    assert silent == 0 or name == "leduc_poker", "in leduc_poker 3 to 5 are cards, which nobody plays"
    assert asked > 10 or num_actions(fl.load_game(name)) < 20


@pytest.mark.parametrize(
    "name",
    ["leduc_poker", "liars_dice", "phantom_ttt", "dark_hex(rows=2,cols=3)", "goofspiel(cards=4)", SMALL_OH_HELL,
     "battleship(width=2,height=2,ships=[1,2],shots=3,repeats=forbidden)", "unseen_rps", "hearts", "spades"],
)  # fmt: skip
def test_reasons_rest_on_what_the_mover_knows(name):
    compared = 0
    for state, others in alike(name, random.Random(name), 8):
        for other in others:
            assert reasons(other) == reasons(state)
            compared += 1
    assert compared >= 6


def reasons(state):
    illegal = set(range(num_actions(state.game))) - set(state.actions())
    return {
        action: (action_names(state.game, state.world, action), why_not(state.game, state.world, action))
        for action in illegal
    }


def test_names_of_moves_reveal_no_enemy_pawn():
    """After e7e6 or h7h6 white cannot tell whether a black pawn is on e7; e7e8q is the name of nothing in both."""
    said = []
    for black in ("e7e6", "h7h6"):
        state = fl.new_state("rbc")
        for move in ("no sense", "e2e4", "no sense", black):
            state.play(state.parse_action(move))
        for written in ("e7e8q", "e7e8", "e2e4"):
            said.append((written, state.why_not(written)))
        said.append(reasons(state))
    assert said[:4] == said[4:]


# Reasons, by hand --------------------------------------------------------------------------------------------------


def oh_hell_before_the_dealer_bids():
    """Seats 0, 1 and 2 get two cards each; seat 2 deals, and 1 + 0 tricks are bid."""
    state = fl.new_state(SMALL_OH_HELL)
    for move in ("2 tricks", "dealer 2", "2c", "3c", "4c", "2d", "3d", "4d", "5d", "bid 1", "bid 0"):
        state.play(state.parse_action(move))
    return state


def test_trumps_and_the_forbidden_bid_are_said():
    state = oh_hell_before_the_dealer_bids()
    reason = "you bid last and may not bid 1: the bids would add up to the number of tricks, 2"
    assert "5d turned: diamonds are trumps" in state.information(0) and reason not in state.information(0)
    assert reason in state.information(2)
    assert state.why_not("bid 1") == state.why_not("1") == reason
    assert state.why_not("bid 2") == "", "that is allowed"
    assert state.why_not("2c") == "bid first; cards are played when all have bid"
    with pytest.raises(fl.BadInput, match=r"^'bid 1' is not possible here: you bid last"):
        state.parse_action("bid 1")
    state.play(state.parse_action("bid 2"))
    assert state.why_not("3c") == "you do not hold 3c" and state.why_not("bid 1") == "all have bid; now play a card"
    modest = oh_hell_before_the_dealer_bids()
    for move in ("bid 0", "2c", "3c"):
        modest.play(modest.parse_action(move))
    assert modest.player == 2 and "you bid last" not in modest.information(2), "bidding is over"
    state.play(state.parse_action("2c"))
    assert state.why_not("3d") == "you hold clubs, the suit led, and must follow it"


@pytest.mark.parametrize(
    ("game", "moves", "written", "reason"),
    [
        ("leduc_poker", "Js Qs", "fold", "you owe nothing"),
        ("leduc_poker", "Js Qs raise raise", "raise", "there have been 2 raises"),
        ("liars_dice", "1 2", "liar", "there is no bid yet"),
        ("liars_dice", "1 2 1-4", "1-3", "a bid must rise above 1-4"),
        ("goofspiel(cards=3,order=ascending)", "2 1", "2", "you have bid 2 already; your cards are 1 3"),
        ("phantom_ttt", "b2 a1", "b2", "your own mark is on b2"),
        ("phantom_ttt", "b2 b2", "b2", "x is on b2, as you have found out"),
        ("dark_hex", "b2 b2", "b2", "x is on b2, as you have found out"),
        ("unseen_rps", "rock", "leave", "only seat 0 may leave"),
        ("battleship", "", "shoot a1", "does not fit there"),
        ("battleship(ships=[2])", "", "a1", "first place your ship of length 2"),
        ("battleship(ships=[2])", "", "c1 right", "your ship of length 2 does not fit there"),
        ("battleship(ships=[1],repeats=forbidden)", "a1 a1 b1 b2", "b1", "you have shot at b1 already"),
        ("battleship(ships=[1])", "a1 a1", "a2 down", "all ships are placed"),
        ("rbc", "", "e2e4", "first sense"),
    ],
)  # fmt: skip
def test_reasons_by_hand(game, moves, written, reason):
    state = fl.new_state(game)
    for move in moves.split():
        state.play(state.parse_action(move))
    assert reason in state.why_not(written)


def test_reasons_in_hearts_and_spades():
    state = fl.new_state("hearts(passing=no)")
    state.play(0)
    for card in range(52):  # 2c 2d 2h 2s ...: each seat gets one suit
        state.play(card)
    assert state.player == 0 and state.why_not("3c") == "the two of clubs leads to the first trick"
    assert state.why_not("2d") == "you do not hold 2d"
    state = fl.new_state("spades")
    for card in range(52):  # suit by suit, so that each seat gets some of each
        state.play(card)
    for bid in ("bid 6", "nil", "bid 7"):
        state.play(state.parse_action(bid))
    assert state.why_not("bid 13") == "", "the partner of seat 3 bid nil"
    state.play(state.parse_action("bid 1"))
    spade = next(name for name in ("2s", "3s", "4s", "5s") if not state.why_not(name).startswith("you do not hold"))
    assert state.why_not(spade) == "you may not lead spades while you hold another suit"


# Rules in a few lines ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", list(variants()))
def test_rules_are_short_and_their_examples_are_moves(name):
    game = fl.load_game(name)
    lines = how_to_play(game).splitlines()
    assert 3 <= len(lines) <= 8 and max(map(len, lines)) <= 120 and lines[0][0].isupper() | lines[0][0].isdigit()
    wanted = set(re.findall(r"`([^`]+)`", how_to_play(game)))
    assert wanted or name.startswith("card_game"), "there is a move to learn from"
    rng = random.Random(name)
    for _ in range(400):
        for state in random_game(game, rng):
            if state.player >= 0:
                choices = state.choices()
                wanted -= {word for word in wanted if reads(word, choices)}
            if not wanted:
                return
    assert wanted == set()


def reads(word, choices):
    try:
        return choose(word, choices) in choices
    except fl.BadInput:
        return False


# Leaving and resuming -----------------------------------------------------------------------------------------------


class Moody(fl.Agent):
    """Plays what was not decided by the observations: a search with a clock does so, too."""

    mood = 0

    def act(self, actions=None):
        Moody.mood += 1
        return actions[Moody.mood % len(actions)]


def whole_game(game, seat, vs, seed):
    """The moves of a person who always takes the last one, and the record."""
    person = Person()
    written = []

    def ask(prompt):
        last = re.search(r"\((.*)\): $", prompt)[1].split(", ")[-1]
        written.append(last)
        return last

    record = Session(game, vs, seat=seat, seed=seed, ask=ask, tell=person.tell).play()
    return written, record


@pytest.mark.parametrize(("game", "seat"), [(SMALL_OH_HELL, 1), ("dark_hex(rows=3,cols=3)", 0), ("leduc_poker", 1)])
def test_a_game_that_is_left_goes_on_exactly(game, seat):
    compared = 0
    for seed in range(8 if game == "leduc_poker" else 3):
        written, record = whole_game(game, seat, "random", seed)
        assert len(written) >= 1
        for moves in range(1, len(written)):
            person, left = sit(game, *written[:moves], vs="random", seat=seat, seed=seed, file="kept")
            assert left is None and "go on with: foglight play --resume kept" in person.text
            assert load_saved("kept").actions == record.actions[: len(load_saved("kept").actions)]
            again = Person(*written[moves:])
            assert resumed("kept", ask=again.ask, tell=again.tell).play() == record
            compared += 1
    assert compared > 2


def test_a_resumed_game_keeps_what_was_played_whatever_the_agent_would_play_now(tmp_path):
    Moody.mood = 0
    _, left = sit("phantom_ttt", "c3", vs=Moody(), seat=1, file="kept")
    assert left is None
    before = load_saved("kept")
    Moody.mood = 4
    person = Person()
    assert resumed("kept", "phantom_ttt", Moody(), ask=person.ask, tell=person.tell).play() is None
    assert load_saved("kept").actions[: len(before.actions)] == before.actions and "so far: " in person.text
    with pytest.raises(fl.BadInput, match="holds a game of phantom_ttt, not of kuhn_poker"):
        resumed("kept", "kuhn_poker")


@pytest.mark.parametrize("end", ["quit", EOFError(), KeyboardInterrupt(), RuntimeError("a mistake in a game")])
def test_no_key_and_no_mistake_costs_the_game(end, tmp_path):
    if isinstance(end, RuntimeError):
        with pytest.raises(RuntimeError):
            sit("dark_hex", "b2", end, vs="random")
    else:
        person, left = sit("dark_hex", "b2", end, vs="random")
        assert left is None
        assert person.shown[-1] == (
            "\nyou left the game; the game is kept; go on with: foglight play --resume dark_hex.saved"
        )
    state = replay("dark_hex", load_saved("dark_hex.saved").actions)
    assert state.history()[0] == 5 and [path.name for path in tmp_path.iterdir()] == ["dark_hex.saved"]


def test_stopping_an_agent_that_thinks_keeps_the_game():
    class Stopped(fl.Agent):
        def act(self, actions=None):
            raise KeyboardInterrupt

    _, left = sit("phantom_ttt", "a1", vs=Stopped())
    assert left is None and load_saved("phantom_ttt.saved").actions == (0,)


def test_nothing_is_kept_of_a_game_without_a_move_and_nothing_is_overwritten(tmp_path):
    assert sit("phantom_ttt", seat=1)[1] is None and list(tmp_path.iterdir()) == []
    for _ in range(2):
        sit("phantom_ttt", "b2", seat=1)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["phantom_ttt.saved", "phantom_ttt1.saved"]
    Path("notes.txt").write_text("mine")
    person, _ = sit("phantom_ttt", "save notes.txt", "save", "save x.saved", "b2", "quit", seat=1)
    assert Path("notes.txt").read_text() == "mine" and "notes.txt is not a saved game of foglight" in person.text
    assert "save needs a file" in person.text
    assert len(load_saved("x.saved").actions) == 3, "leaving saves into the file that was named"


def test_where_the_folder_cannot_be_written_the_game_is_kept_elsewhere(monkeypatch, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(elsewhere))
    person, _ = sit("phantom_ttt", "b2", seat=1, file=tmp_path / "no" / "such" / "folder")
    assert "phantom_ttt.saved" in person.shown[-1]
    Path("phantom_ttt.saved").unlink()
    real = Path.write_bytes
    monkeypatch.setattr(
        Path, "write_bytes", lambda path, data: real(path, data) if elsewhere in path.parents else _full()
    )
    person, _ = sit("phantom_ttt", "b2", seat=1)
    assert load_saved(elsewhere / "phantom_ttt.saved").actions and str(elsewhere) in person.shown[-1]


def _full():
    raise OSError(28, "No space left on device")


def test_a_saved_game_hides_what_is_hidden():
    sit("kuhn_poker", "save kuhn_poker.saved")
    content = json.loads(Path("kuhn_poker.saved").read_text())
    saved = load_saved("kuhn_poker.saved")
    assert set(content) == {"what", "version", "game", "agents", "seat", "seed", "actions"}
    assert json.loads(zlib.decompress(base64.b64decode(content["actions"]))) == list(saved.actions)
    assert not any(word in Path("kuhn_poker.saved").read_text() for word in ("jack", "queen", "king", "[0,"))


def test_damaged_files_are_refused_with_one_line():
    sit("phantom_ttt", "b2", seat=1)
    whole = Path("phantom_ttt.saved").read_bytes()
    content = json.loads(whole)
    broken = [whole[: len(whole) * i // 7] for i in range(7)] + [b"[]", b"3", b"\xff\xfe", b'"saved"']
    for key in ("what", "game", "agents", "seat", "seed", "actions"):
        broken.append(json.dumps({name: value for name, value in content.items() if name != key}).encode())
        broken.append(json.dumps({**content, key: None}).encode())
    packed = content["actions"]
    for i in range(0, len(packed) - 2, 3):
        wrong = packed[:i] + ("A" if packed[i] != "A" else "B") + packed[i + 1 :]
        broken.append(json.dumps({**content, "actions": wrong}).encode())
    refused = 0
    for data in broken:
        Path("broken").write_bytes(data)
        with pytest.raises(fl.BadInput, match=r"broken is not a saved game of foglight, or it is damaged$"):
            load_saved("broken")
        refused += 1
    assert refused > 25
    with pytest.raises(fl.BadInput, match="cannot read nothing"):
        load_saved("nothing")
    bad = base64.b64encode(zlib.compress(b"[0, 0, 0, 0, 0]")).decode()
    Path("broken").write_text(json.dumps({**content, "actions": bad}))
    with pytest.raises(fl.BadInput, match="the saved game does not follow the rules of phantom_ttt: "):
        resumed("broken").play()


def test_from_the_command_line(run):
    code, out, _ = run(
        "play", "phantom_ttt", "--seat", "1", "--vs", "first_legal", typed=["help", "b2", "save a.saved"]
    )
    assert code == 0 and "the game is kept; go on with: foglight play --resume a.saved" in out
    code, out, _ = run("play", "--resume", "a.saved", typed=["history", "belief", "c3"])
    assert code == 0 and "  1 b2" in out and "x 25%" in out and "you lose (-1)" in out
    for arguments, advice in (
        (("play", "phantom_ttt", "--resume", "a.saved"), "not both"),
        (("play", "--resume", "b.saved"), "cannot read b.saved"),
    ):
        code, out, err = run(*arguments)
        assert (code, out) == (2, "") and advice in err and err.count("\n") == 1
    code, out, _ = run("play", "dark_hex", "--save", "mine", typed=["b2"])
    assert code == 0 and load_saved("mine").game == "dark_hex(rows=4,cols=4)"


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="no terminal hangs up here")
def test_closing_the_terminal_keeps_the_game():
    command = [sys.executable, "-m", "foglight", "play", "phantom_ttt", "--vs", "first_legal"]
    environment = {**os.environ, "PYTHONPATH": str(Path(fl.__file__).parent.parent)}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment) as process:
        process.stdin.write(b"b2\n")
        process.stdin.flush()
        shown = b""
        while shown.count(b"your move") < 2:
            more = os.read(process.stdout.fileno(), 1000)
            assert more, shown
            shown += more
        process.send_signal(signal.SIGHUP)
        assert b"go on with: foglight play --resume phantom_ttt.saved" in process.communicate(timeout=60)[0]
    assert process.returncode == 0 and load_saved("phantom_ttt.saved").actions == (4, 0)


def test_play_in_python_takes_games_and_agents_of_ones_own(capsys):
    person = Person("2", "1")
    record = fl.play(fl.load_game("goofspiel(cards=3)"), Moody(), ask=person.ask, tell=person.tell)
    assert len(record.actions) == 4 and "the game is over" in person.text
    person = Person("hint first_legal", "3")
    assert fl.play("goofspiel(cards=3)", [Moody()], save="kept", ask=person.ask, tell=person.tell) is None
    assert "fl.play(resume='kept')" in person.text and "would play bid 1" in person.text
    person = Person("2")
    assert fl.play(resume="kept", vs=Moody(), ask=person.ask, tell=person.tell).actions[0] == 2
    for given, advice in (
        ({}, "give a game"),
        ({"game": SMALL_OH_HELL, "vs": Moody()}, "one agent cannot sit on several seats"),
        ({"game": SMALL_OH_HELL, "vs": ["random"]}, "2 seats beside yours, and 1 agents are given"),
        ({"game": "kuhn_poker", "seat": 2}, "has seats 0 to 1, not 2"),
        ({"game": "kuhn_poker", "seed": -1}, "seed must be at least 0"),
    ):
        with pytest.raises(fl.BadInput, match=advice):
            fl.play(**given)


# The list of games -------------------------------------------------------------------------------------------------


def test_a_game_is_shown_with_its_rules_and_parameters(run):
    code, out, _ = run("games", "dark_hex(rows=3)")
    assert code == 0 and how_to_play(fl.load_game("dark_hex(rows=3)")) in out and "dark_hex(rows=3,cols=4)" in out
    assert re.search(r"rows +4 +1 to 8 +of the board", out)
    shown = json.loads(run("games", "battleship", "--json")[1])
    assert shown["parameters"]["ships"]["default"] == "[1,2]" and shown["players"] == 2
    code, out, _ = run("games", "openspiel:leduc_poker(players=3)")
    assert code == 0 and "3 seats" in out and re.search(r"players +3", out) and "number" in out


def test_every_parameter_of_every_game_says_what_it_means(run):
    rows = json.loads(run("games", "--json")[1])
    meanings = {(row["name"], key): p["meaning"] for row in rows for key, p in row["parameters"].items()}
    assert len(meanings) >= 24 and [key for key, meaning in meanings.items() if not meaning] == []
    assert all(3 <= len(row["rules"].splitlines()) <= 8 for row in rows)


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("openspiel:kuhn", "unknown OpenSpiel game 'kuhn'; did you mean 'kuhn_poker'?"),
        ("openspiel:xyzzy", "unknown OpenSpiel game 'xyzzy'; foglight games --openspiel lists them"),
        ("poker", "unknown game 'poker'; did you mean 'kuhn_poker'"),
        ("dark", "unknown game 'dark'; did you mean 'dark_hex' or 'dark_chess'?"),
        ("dark_hexx", "unknown game 'dark_hexx'; did you mean 'dark_hex'?"),
    ],
)
def test_an_unknown_name_gets_a_near_one(run, name, advice):
    code, out, err = run("games", name)
    assert (code, out) == (2, "") and advice in err and len(err) < 120
