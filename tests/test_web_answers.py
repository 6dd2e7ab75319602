"""What workers answer: equal to plain enumeration, a function of the seat's observations, and no more than that."""

import json
import pickle
import random
from collections import Counter

import numpy as np
import pytest
from oracles import agreeing

import foglight as fl
from foglight.cards.tricks import is_trick_taking
from foglight.drawing.svg import markup
from foglight.randomness import fold
from foglight.rules import contents, key, num_words, places
from foglight.web import answers
from foglight.worlds import knowledge
from foglight.worlds.expansion import TooLong
from foglight.worlds.knowledge import Knowledge, likelihood

NATIVE = [str(fl.load_game(name)) for name in fl.game_names()]
SMALL = [
    "kuhn_poker",
    "leduc_poker",
    "phantom_ttt",
    "dark_hex(rows=2,cols=3)",
    "goofspiel(cards=3)",
    "liars_dice",
    "battleship",
    "oh_hell(players=3,suits=2,ranks=3,tricks=1)",
]


@pytest.fixture(autouse=True)
def _nothing_remembered():
    answers._known.clear()


def played(game, rng, most):
    """A random game up to so many actions: every state on the way at which a seat is to move."""
    state, states = fl.new_state(game), []
    while state.player != fl.TERMINAL and len(state.history()) < most:
        if state.player >= 0:
            states.append(state.clone())
        state.play(rng.choice(state.actions()))
    return states


def question(state, seat=None):
    seat = state.player if seat is None else seat
    return str(state.game), seat, state.observations(seat), state.player == seat


def as_bytes(answer):
    """What the page gets; a worker's pipe must take it, too."""
    assert pickle.loads(pickle.dumps(answer)) == answer
    return json.dumps(answer).encode()


# Against enumeration -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("game", SMALL)
def test_beliefs_are_those_of_all_histories_alike(game):
    """Every history that agrees counts once: the contents of places, the number of worlds, the truth's probability."""
    rng, compared, unsure = random.Random(game), 0, 0
    states = [state for _ in range(3) for state in played(game, rng, 9)]
    few = [state for state in states if len(state.history()) <= 5 or "oh_hell" in game]
    for state in few[: 4 if "oh_hell" in game else 8]:
        for seat in (state.player, (state.player + 1) % state.num_players):
            *asked, to_move = question(state, seat)
            alike = [s for s in agreeing(game, seat, asked[2]) if s.player == seat or not to_move]
            tally = Counter(s.world[: num_words(s.game)].tobytes() for s in alike)
            names, _ = places(state.game)
            odds = [Counter(what) for what in zip(*(contents(s.game, s.world) for s in alike), strict=True)]
            answer = answers.replay_belief(asked[0], state.history(), len(state.history()), seat)
            assert answer["worlds"] == len(tally) and answer["exact"]
            assert [row["place"] for row in answer["places"]] == names
            for row, wanted in zip(answer["places"], odds, strict=True):
                shares = {what: n / len(alike) for what, n in wanted.items()}
                assert dict(map(tuple, row["contents"])) == pytest.approx(shares, abs=1e-6)
                compared += 1
            true = tally[state.world[: num_words(state.game)].tobytes()] / len(alike)
            assert answer["truth"] == pytest.approx(true)
            right = [
                wanted[what] / len(alike) for wanted, what in zip(odds, contents(state.game, state.world), strict=True)
            ]
            assert answer["places_right"] == pytest.approx(np.mean(right))
            unsure += true < 1.0
            leaves = [answers.world(*asked, to_move, i) for i in range(min(len(tally), 200))]
            weights = [leaf["weight"] for leaf in leaves]
            assert {leaf["of"] for leaf in leaves} == {min(len(tally), 200)} and weights == sorted(weights)[::-1]
            if len(tally) <= 200:
                assert weights == pytest.approx(sorted((n / len(alike) for n in tally.values()), reverse=True))
                assert sum(weights) == pytest.approx(1.0) and leaves[0]["exact"]
    assert compared >= 20 and unsure >= 4


@pytest.mark.parametrize("game", NATIVE)
def test_worlds_to_leaf_through_agree_with_the_observations(game):
    """Each of them is another one, has the seat's information state, and is drawn as that world."""
    rng, worlds = random.Random(game), 0
    states = played(game, rng, 80 if is_trick_taking(fl.load_game(game)) else 20)
    for state in states[:: max(1, len(states) // 4)]:
        text, seat, observations, to_move = question(state)
        seen = Knowledge(text, seat)
        code = 0
        for observation in observations:
            seen.observe(observation)
            code = fold(code, observation)
        some = seen.some(to_move, 200)
        assert len({row[: num_words(state.game)].tobytes() for row in some.rows}) == len(some.rows) <= 200
        for row in some.rows:
            assert key(state.game, row, seat) == fold(code, seat)
            assert fl.state_of(text, row).player == seat
            worlds += 1
        assert some.weights.sum() <= 1.0 + 1e-9
        leaf = answers.world(text, seat, observations, to_move, len(some.rows) - 1)
        assert leaf["svg"] == markup(fl.state_of(text, some.rows[-1]).drawing())
        with pytest.raises(fl.BadInput, match="to look at, not"):
            answers.world(text, seat, observations, to_move, len(some.rows))
    assert worlds >= 3


# Twins -------------------------------------------------------------------------------------------------------------


def twins(state, seat, rng):
    """Other worlds, up to two, in which the seat has observed the same, and is to move if it is here."""
    text, seat, observations, to_move = question(state, seat)
    seen = Knowledge(text, seat)
    for code in observations:
        seen.observe(code)
    rows, words = seen.worlds(to_move, most=20).rows, num_words(state.game)
    other = [row for row in rows if (row[:words] != state.world[:words]).any()]
    return [fl.state_of(text, row) for row in rng.sample(other, min(2, len(other)))]


def all_answers(true, seat, observations, to_move):
    """Whatever a seat may ask here, as bytes; what a link shows is what the true world shows."""
    asked, choices = (str(true.game), seat, observations), true.choices()
    place = answers.position(*asked)
    shown = markup(true.drawing(seat, choices=True, last=observations[-1] if observations else None))
    assert place["to_move"] == to_move and place["svg"] == shown
    assert place["text"] == true.sight(seat)
    belief, world = answers.belief(*asked, to_move), answers.world(*asked, to_move, 0)
    assert place["belief"] == belief
    if not to_move:
        return as_bytes([place, belief, world])
    assert place["moves"] == [[action, names[0]] for action, names in choices.items()]
    agent = "pimc(iterations=60,cap=200)"
    advice = answers.advice(*asked, list(choices), [names[0] for names in choices.values()], agent)
    return as_bytes([advice, place, belief, world, answers.position_advice(*asked, agent)])


@pytest.mark.parametrize("game", NATIVE)
def test_twins_get_the_same_bytes(game):
    """Two true worlds with equal observations: the position of a link shows what both show, and all answers are equal.

    One worker has seen nothing before; the other has answered about this game move by move, and about another game.
    """
    rng, compared, other_game = random.Random(game), 0, "kuhn_poker" if game != "kuhn_poker" else "leduc_poker"
    most = 12 if game.startswith(("dark_chess", "rbc")) else 70
    states = [state for _ in range(4) for state in played(game, rng, most)]
    for state in rng.sample(states, min(4, len(states))):
        seat = 1 if game.startswith("three_sat") else state.player  # the only one who moves there knows everything
        text, seat, observations, to_move = question(state, seat)
        for n in range(0, len(observations), 3):
            answers.belief(text, seat, observations[:n], False)
        answers.belief(*question(played(other_game, rng, 9)[-1]))
        kept = all_answers(state, seat, observations, to_move)
        for twin in twins(state, seat, rng):
            answers._known.clear()
            assert all_answers(twin, seat, observations, to_move) == kept
            compared += 1
    assert compared >= 4


@pytest.mark.parametrize("game", ["phantom_ttt", "dark_hex(rows=3,cols=3)", "goofspiel(cards=5)", "dark_chess(size=4)"])
def test_samples_do_not_depend_on_what_is_remembered(game, monkeypatch):
    """With so few worlds that samples are thinned, die, are replaced and are lost, answers are equal all the same."""
    monkeypatch.setattr(knowledge, "_EXACT", 3)
    monkeypatch.setattr(knowledge, "_SAMPLES", (2, 3))
    monkeypatch.setattr(knowledge, "_WORK", 4)
    rng, compared, sampled, lost = random.Random(game), 0, 0, 0
    for _ in range(6):
        answers._known.clear()
        states = played(game, rng, 40)
        seat = rng.randrange(2)
        asked = [question(state, seat) for state in states]
        kept = [as_bytes([answers.belief(*one), answers.world(*one, 0)]) for one in asked]
        back = [as_bytes([answers.belief(*one), answers.world(*one, 0)]) for one in reversed(asked)][::-1]
        for one, first, second in zip(asked, kept, back, strict=True):
            answers._known.clear()
            assert as_bytes([answers.belief(*one), answers.world(*one, 0)]) == first == second
            compared += 1
            sampled += b'"exact": true' not in first
            lost += answers._known[*one[:2], tuple(one[2])]._lost > 0
    assert compared >= 30 and sampled >= 10 and (lost >= 3 or game not in ("phantom_ttt", "dark_hex(rows=3,cols=3)"))


def test_trackers_go_on_alone():
    """A copy of a tracker and the original, told the same or something else, are as trackers that were never copied."""
    rng, compared = random.Random(3), 0
    for _ in range(5):
        state = played("phantom_ttt", rng, 12)[-1]
        observations = state.observations(0)
        tracker = fl.Tracker("phantom_ttt", 0, cap=10, seed=1)
        for i, code in enumerate(observations):
            copy, alone = tracker.clone(), fl.Tracker("phantom_ttt", 0, cap=10, seed=1)
            for past in observations[: i + 1]:
                alone.observe(past)
            copy.observe(code)
            tracker.observe(code)
            for other in (copy, tracker):
                assert (other.worlds(False).rows == alone.worlds(False).rows).all()
                assert (other.worlds(False).weights == alone.worlds(False).weights).all()
                compared += 1
    assert compared >= 20


# Positions of a link -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("game", NATIVE)
def test_what_nobody_can_have_observed_is_refused(game):
    """Observations with one code changed, dropped or added, and plain noise: a position, or one line that says no."""
    rng, refused, shown = random.Random(game), 0, 0
    state = played(game, rng, 62 if is_trick_taking(fl.load_game(game)) else 14)[-1]
    text, seat, observations, _ = question(state)
    wrong = [[], [0], [-1], [2**62, -(2**62)], [rng.getrandbits(60) for _ in range(5)]]
    for _ in range(8):
        changed = list(observations)
        if changed:
            place = rng.randrange(len(changed))
            changed[place : place + rng.randrange(2)] = rng.choice([[], [rng.getrandbits(40)], [changed[0]]])
        wrong.append(changed)
    for codes in wrong:
        try:
            answer = answers.position(text, seat, codes)
        except fl.BadInput as error:
            assert "\n" not in str(error)
            refused += 1
        else:
            as_bytes(answer)
            assert answer["text"] and answer["svg"].startswith("<svg")
            shown += 1
    assert refused >= 4 and shown >= 1 and refused + shown == len(wrong)


@pytest.mark.parametrize("codes", [[1.5], ["1"], [True], [2**63], [-(2**63) - 1], [1] * 5001])
def test_what_is_no_list_of_observations_is_refused(codes):
    with pytest.raises(fl.BadInput, match="observations"):
        answers.position("kuhn_poker", 0, codes)


def test_a_seat_that_is_not_there_is_refused():
    for seat in (-1, 2):
        with pytest.raises(fl.BadInput, match="has seats 0 to 1"):
            answers.position("kuhn_poker", seat, [])


def test_a_position_at_which_others_move_has_no_moves():
    state = fl.new_state("kuhn_poker")
    for move in ("jack", "queen"):
        state.play(state.parse_action(move))
    answer = answers.position("kuhn_poker", 1, state.observations(1))
    assert answer["moves"] == [] and not answer["to_move"] and "queen" in answer["text"]
    with pytest.raises(fl.BadInput, match="seat 1 is not to move"):
        answers.position_advice("kuhn_poker", 1, state.observations(1), "pimc")


# Advice ------------------------------------------------------------------------------------------------------------


def kuhn(*moves):
    state = fl.new_state("kuhn_poker")
    for move in moves:
        state.play(state.parse_action(move))
    return state


def advised(state, agent, seconds=None):
    text, seat, observations, _ = question(state)
    choices = state.choices()
    return answers.advice(text, seat, observations, list(choices), [n[0] for n in choices.values()], agent, seconds)


def test_advice_is_what_the_agent_thinks():
    state = kuhn("jack", "king", "bet")
    answer = advised(state, "pimc(iterations=100)")
    assert answer["agent"] == "pimc(iterations=100)" and answer["action"] == 1
    assert answer["actions"] == [
        {"action": 1, "name": "call", "value": 2.0, "visits": 50},
        {"action": 0, "name": "fold", "value": -1.0, "visits": 50},
    ]
    facts = dict(answer["facts"])
    assert facts["belief"] == "2 worlds, all there are" and "time" not in facts
    assert answer == advised(state, "pimc(iterations=100)")
    assert all("odds" in row for row in advised(state, "oos(iterations=100)")["actions"])


def test_agents_without_reasons_only_say_what_they_play():
    answer = advised(kuhn("jack", "king", "bet"), "first_legal")
    assert answer["action"] == 0 and answer["facts"] == []
    assert [(row["action"], row["value"]) for row in answer["actions"]] == [(0, None), (1, None)]
    with pytest.raises(fl.BadInput, match="is a person"):
        advised(kuhn("jack", "king", "bet"), "human")


class Clocked(fl.Agent):
    """Plays the first action, and says how long it may think."""

    gives_reasons = True
    time = 5.0

    def act(self, actions=None):
        self.explanation = fl.Explanation(actions[0], list(actions), notes={"budget": self.time})
        return actions[0]


@pytest.mark.parametrize(("seconds", "budget"), [(None, 5.0), (2.0, 2.0), (9.0, 5.0)])
def test_seconds_bound_the_thought(seconds, budget):
    answer = advised(kuhn("jack", "king", "bet"), f"{__name__}:Clocked", seconds)
    assert float(dict(answer["facts"])["budget"]) == budget


# Looking back ------------------------------------------------------------------------------------------------------


def test_a_verdict_is_the_row_of_a_review():
    moves = kuhn("king", "queen", "bet", "call").history()
    answer = answers.verdict("kuhn_poker", moves, 3, "pimc(iterations=2000)")
    wanted = {"step": 3, "seat": 1, "played": "call", "verdict": "luck", "best": "call", "truth": 0.5}
    assert {name: answer[name] for name in wanted} == wanted and answer["truth_played"] == -2.0
    assert set(answer) == {*wanted, "sentence", "value_played", "value_best", "truth_played", "agent"}
    assert as_bytes(answer) == as_bytes(answers.verdict("kuhn_poker", moves, 3, "pimc(iterations=2000)"))
    for step in (0, 1, 4, 9):
        with pytest.raises(fl.BadInput, match="nobody decides"):
            answers.verdict("kuhn_poker", moves, step)


def test_every_seat_has_a_belief_at_every_step():
    rng, compared = random.Random(5), 0
    for game in ("liars_dice", "phantom_ttt", "card_game"):
        state = fl.new_state(game)
        while state.player != fl.TERMINAL:
            state.play(rng.choice(state.actions()))
        for step in range(0, len(state.history()) + 1, 3):
            for seat in range(state.num_players):
                answer = answers.replay_belief(str(state.game), state.history(), step, seat)
                assert answer["exact"] and 0.0 < answer["places_right"] <= 1.0 + 1e-9
                assert answer["truth"] is None or 0.0 < answer["truth"] <= 1.0
                compared += 1
    assert compared >= 30


def test_places_right_is_the_mean_probability_of_what_is_there():
    assert likelihood([{"x": 0.5, ".": 0.5}, {"o": 1.0}, {"x": 1.0}], ["x", "o", "."]) == pytest.approx(0.5)


# What cannot be answered -------------------------------------------------------------------------------------------


def test_games_without_places_have_worlds_but_no_overlay():
    state = fl.new_state("unseen_rps")
    state.play(1)
    assert "has no places" in answers.belief(*question(state))["none"]
    leaves = [answers.world(*question(state), i) for i in range(3)]
    assert {leaf["of"] for leaf in leaves} == {3} and len({leaf["svg"] for leaf in leaves}) == 3


def test_games_of_openspiel_have_worlds_as_text():
    pytest.importorskip("pyspiel")
    state = fl.new_state("openspiel:kuhn_poker")
    for action in (0, 1):
        state.play(action)
    assert "has no places" in answers.belief(*question(state))["none"]
    leaves = [answers.world(*question(state), i) for i in range(2)]
    assert [leaf["weight"] for leaf in leaves] == [0.5, 0.5] and "0 1" in "".join(leaf["svg"] for leaf in leaves)
    place = answers.position(*question(state)[:3])
    assert place["moves"] == [[0, "Pass"], [1, "Bet"]] and place["text"] == state.sight(0)
    answer = answers.replay_belief(str(state.game), state.history(), 2, 0)
    assert answer["truth"] == 0.5 and answer["places_right"] is None and "none" in answer
    assert advised(state, "pimc(iterations=20)")["action"] in (0, 1)


def test_what_is_lost_is_said_in_a_line(monkeypatch):
    monkeypatch.setattr(knowledge, "_SAMPLES", ())
    state = played("phantom_ttt", random.Random(0), 6)[-1]
    for answer in (answers.belief(*question(state)), answers.world(*question(state), 0)):
        assert list(answer) == ["none"] and "no world was found" in answer["none"]
    answer = answers.replay_belief("phantom_ttt", state.history(), len(state.history()), state.player)
    assert answer["truth"] is None and answer["places_right"] is None
    with pytest.raises(fl.BadInput, match="that could be found"):
        answers.position(*question(state)[:3])


def test_a_game_that_is_too_large_for_python_is_given_up(monkeypatch):
    """OpenSpiel's hearts deals 39 cards that a seat does not see; to follow them all takes minutes."""
    pytest.importorskip("pyspiel")
    monkeypatch.setattr(knowledge, "_PATIENCE", 2000)
    state, tracker = fl.new_state("openspiel:hearts"), fl.Tracker("openspiel:hearts", 0, cap=100, patience=2000)
    while not state.observations(0):
        state.play(state.actions()[0])
    answer = answers.world(*question(state, 0), 0)
    assert list(answer) == ["none"] and "no world was found" in answer["none"]
    with pytest.raises(TooLong, match="too many possibilities"):
        tracker.observe(state.observations(0)[0])


def test_all_answers_can_be_asked_for_by_name():
    names = {"move", "prepare", "belief", "world", "advice", "position", "position_advice", "replay_belief", "verdict"}
    assert names <= set(answers.ANSWERS)
