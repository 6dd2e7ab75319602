"""Environments: what a seat is shown, PettingZoo's own tests, games in arrays in lock step with single ones."""

import random
import warnings
from typing import Annotated, NamedTuple

import numpy as np
import pytest
from planted import card_game

import foglight as fl
from foglight.checks.alike import some_alike
from foglight.checks.positions import Play
from foglight.environments.aec import GameEnv
from foglight.rules import deal, max_legal, num_recalled, num_sight_features, observation_bits, sight_features

pettingzoo_tests = pytest.importorskip("pettingzoo.test", reason="needs PettingZoo")

GAMES = {  # every native game, small where that shows as much
    "battleship": "battleship(width=2,height=2,ships=[1,2],shots=3)",
    "dark_chess": "dark_chess(size=4)",
    "dark_hex": "dark_hex(rows=3,cols=3)",
    "goofspiel": "goofspiel(cards=4,order=random)",
    "oh_hell": "oh_hell(players=3,suits=2,ranks=4)",
    "rbc": "rbc(turns=8)",
    "three_sat": "three_sat(variables=3,clauses=2)",
}
every_game = pytest.mark.parametrize("name", [GAMES.get(name, name) for name in fl.game_names()])
few_games = pytest.mark.parametrize("name", ["phantom_ttt", "leduc_poker", "oh_hell(players=3,suits=2,ranks=4)"])


def shown(game, world, seat, observations, recall):
    """The vector of a seat, plainly: the seat, what it sees, and the bits of its last observations."""
    seats = np.zeros(fl.new_state(game).num_players)
    seats[seat] = 1.0
    sights = np.zeros(num_sight_features(game))
    sight_features(game, world, seat, sights)
    size, last = observation_bits(game), [*reversed(observations[-recall:])] if recall else []
    bits = [code >> i & 1 for code in [*last, *[0] * (recall - len(last))] for i in range(size)]
    return np.concatenate([seats, sights, bits]).astype(np.float32)


class Single:
    """One game by `fl.State`, with chance from a generator that the environment has, too."""

    def __init__(self, game, word):
        self.game, self.random = game, np.array([word], np.uint64)
        self.begin()

    def begin(self):
        self.state = fl.new_state(self.game)
        self.chance()

    def chance(self):
        room = np.empty(max_legal(self.game), np.int64), np.empty(max_legal(self.game))
        while self.state.player == fl.CHANCE:
            self.state.play(int(deal(self.game, self.state.world, self.random, *room)))

    def play(self, action):
        self.state.play(action)
        self.chance()


# Games in arrays --------------------------------------------------------------------------------------------------


def in_lock_step(name, envs, steps, observations="all"):
    """Random games in arrays and one by one, compared; the number of comparisons, and of games that ended."""
    game = fl.load_game(name)
    env = fl.vector_env(game, envs, seed=3, observations=observations)
    turn, compared, ended = env.reset(), 0, 0
    words = np.random.SeedSequence(3).generate_state(envs, np.uint64)
    singles = [Single(game, word) for word in words]
    rng = random.Random(str(name))
    for _ in range(steps):
        for i, single in enumerate(singles):
            state = single.state
            assert turn.player[i] == state.player
            assert np.flatnonzero(turn.mask[i]).tolist() == state.actions() == env.legal(i)
            seats = range(state.num_players) if observations == "all" else [state.player]
            for seat in seats:
                seen = turn.observation[i, seat] if observations == "all" else turn.observation[i]
                wanted = shown(game, state.world, seat, state.observations(seat), env.recall)
                assert seen.tobytes() == wanted.tobytes()
            compared += 1
        actions = [rng.choice(single.state.actions()) for single in singles]
        turn = env.step(actions)
        for i, (single, action) in enumerate(zip(singles, actions, strict=True)):
            single.play(action)
            over = single.state.player == fl.TERMINAL
            assert turn.terminated[i] == over
            assert turn.rewards[i].tolist() == (single.state.returns() if over else [0.0] * single.state.num_players)
            if over:
                ended += 1
                single.begin()
    return compared, ended


@every_game
def test_games_in_arrays_are_in_lock_step_with_states(name):
    compared, ended = in_lock_step(name, envs=3, steps=60)
    assert compared == 180
    assert ended > 0 or name.startswith(("dark_chess", "rbc"))  # a new game begins after each end


@pytest.mark.plain
@few_games
def test_lock_step_holds_for_the_seat_to_move_alone_and_interpreted(name):
    compared, ended = in_lock_step(name, envs=2, steps=30, observations="mover")
    assert compared == 60
    assert ended > 0


@few_games
def test_the_same_seed_gives_the_same_games_whatever_the_number_of_environments(name):
    def course(envs, seed, again=False):
        env = fl.vector_env(name, envs, seed=seed)
        if again:
            env.reset(seed=99)
            env.step(env.sample())
        taken = [env.reset(seed=seed)]
        for _ in range(12):
            lowest = taken[-1].mask.argmax(1)
            taken.append(env.step(lowest))
        return [(turn.player[:4], turn.mask[:4], turn.observation[:4], turn.rewards[:4]) for turn in taken]

    def same(one, other):
        return all(
            (a == b).all() for first, second in zip(one, other, strict=True) for a, b in zip(first, second, strict=True)
        )

    assert same(course(4, 7), course(9, 7))
    assert same(course(4, 7), course(4, 7, again=True))
    assert name == "phantom_ttt" or not same(course(4, 7), course(4, 8))  # chance differs


def test_bits_bools_and_samples_agree():
    env = fl.vector_env("oh_hell(players=3,suits=4,ranks=13,tricks=3)", 50, masks="bits", observations="none")
    twin = fl.vector_env("oh_hell(players=3,suits=4,ranks=13,tricks=3)", 50, observations="none")
    one, two, compared = env.reset(), twin.reset(), 0
    for _ in range(12):
        assert one.mask.shape == (50, 2) and two.mask.shape == (50, 70) and one.observation is None
        unpacked = np.unpackbits(one.mask.view(np.uint8), axis=1, bitorder="little")[:, :70].astype(bool)
        assert (unpacked == two.mask).all()
        actions = env.sample()
        assert two.mask[np.arange(50), actions].all()
        one, two = env.step(actions), twin.step(actions)
        compared += 50
    assert compared == 600


def test_samples_are_uniform():
    env = fl.vector_env("kuhn_poker", 10_000, seed=1)
    env.reset()
    bets = int((env.sample() == 1).sum())
    assert abs(bets - 5000) < 245  # 4.9 standard deviations of 50: a false alarm in a million


def test_random_play_counts_steps_games_and_returns():
    env = fl.vector_env("kuhn_poker", 2000, seed=5)
    env.reset()
    played = env.play_random(50)
    assert played.steps == 100_000
    assert 100_000 / 3 < played.games < 100_000 / 2  # a game has two or three decisions
    exact = fl.policy_values("kuhn_poker", fl.Uniform())[0]
    error = 1.5 / played.games**0.5  # the standard deviation of a payoff is below 1.5
    assert abs(played.mean_returns[0] - exact) < 4.9 * error  # a false alarm in a million
    assert sum(played.mean_returns) == pytest.approx(0.0)


def test_a_state_of_an_environment_is_the_true_position():
    env = fl.vector_env("kuhn_poker", 5, seed=0)
    env.reset()
    assert all(env.state(i).player == 0 for i in range(5))
    assert len({str(env.state(i)) for i in range(5)}) > 1


@pytest.mark.parametrize(
    ("call", "line"),
    [
        (lambda: fl.vector_env("kuhn_poker", 2.5), "num_envs must be from 1 to 10,000,000, not 2.5"),
        (lambda: fl.vector_env("kuhn_poker", 0), "num_envs must be from 1 to 10,000,000, not 0"),
        (lambda: fl.vector_env("kuhn_poker", masks="none!"), "masks must be 'bool', 'bits' or 'none', not 'none!'"),
        (lambda: fl.vector_env("kuhn_poker", observations="x"), "observations must be 'mover', 'all' or 'none'"),
        (lambda: fl.vector_env("kuhn_poker", recall=-1), "recall must be from 0 to 1000 observations, not -1"),
        (lambda: fl.vector_env("kuhn_poker", 2).step([0, 0]), "the games have not begun; call reset"),
        (lambda: fl.vector_env("kuhn_pokr"), "unknown game 'kuhn_pokr'; did you mean 'kuhn_poker'?"),
        (lambda: begun().step([0]), "step takes 2 whole numbers, an action for each environment, not"),
        (lambda: begun().step([0.0, 1.0]), "of shape (2,) and type float64"),
        (lambda: begun().step([0, 2]), "action 2 is not legal in environment 1; legal are 0, 1"),
        (lambda: begun().step([-1, 0]), "action -1 is not legal in environment 0"),
        (lambda: begun().step([0, 99]), "action 99 is not legal in environment 1"),
        (lambda: begun().play_random(0), "rounds must be at least 1, not 0"),
    ],
)
def test_bad_input_is_one_line(call, line):
    with pytest.raises(fl.BadInput) as raised:
        call()
    assert line in str(raised.value) and "\n" not in str(raised.value)


def begun():
    env = fl.vector_env("kuhn_poker", 2)
    env.reset()
    return env


def test_nothing_is_played_if_one_action_is_not_legal():
    env = begun()
    before = [str(env.state(i)) for i in range(2)]
    with pytest.raises(fl.BadInput):
        env.step([1, 2])
    assert [str(env.state(i)) for i in range(2)] == before
    assert env.step([1, 1]).player.tolist() == [1, 1]


class Endless(NamedTuple):
    """A game that is over as soon as it begins."""

    nothing: Annotated[int, fl.Between(0, 1)] = 0


def test_a_game_without_decisions_is_refused():
    endless = fl.constants(num_players=2, num_words=1, num_actions=1, title="over at once")(fl.game(Endless))
    for name, rule in {
        "player": lambda game, world: fl.TERMINAL,
        "legal": lambda game, world, out: 0,
        "step": lambda game, world, action: None,
        "observe": lambda game, before, action, after, viewer: 1,
    }.items():
        fl.implements(endless, name)(rule)

    @fl.implements(endless)
    def returns(game, world, out):
        out[0], out[1] = 1.0, -1.0

    with pytest.raises(fl.BadInput, match="ends before any seat decides anything"):
        fl.vector_env(endless(), 2).reset()
    env = fl.pettingzoo_env(endless())
    env.reset()
    assert env.last()[1:3] == (1.0, True)


# What a seat is shown ---------------------------------------------------------------------------------------------


@every_game
def test_what_a_seat_cannot_tell_apart_is_shown_alike(name):
    game = fl.load_game(name)
    play, rng, recall = Play(game, compiled=True), random.Random(name), int(num_recalled(game))
    compared, masks = 0, 0
    for _ in range(400):
        positions = list(play.random_game(rng, 60))
        position = rng.choice(positions)
        deciding = [position.mover] if position.mover >= 0 else range(play.seats)
        for seat in deciding:
            wanted = shown(game, position.world, seat, position.seen_by(seat), recall)
            for other in some_alike(play, position, seat, rng, trials=3):
                assert play.key(other, seat) == play.key(position, seat) and other.history != position.history
                assert shown(game, other.world, seat, other.seen_by(seat), recall).tobytes() == wanted.tobytes()
                compared += 1
                if position.mover == other.mover == seat:
                    assert position.actions == other.actions
                    masks += 1
        if compared >= 60 and masks >= 20:
            break
    least = 4 if name == "unseen_rps" else 20
    assert compared >= least and masks >= (0 if name.startswith(("three_sat", "unseen_rps")) else 5)


@every_game
def test_different_information_states_mostly_look_different(name):
    env, rng = GameEnv(name), random.Random(name)
    env.reset(seed=0)
    vectors = {}
    for _ in range(300):
        seen, _, ended, _, _ = env.last()
        if not ended:
            state = env.position()
            known = (state.player, *state.observations(state.player))
            assert vectors.setdefault(known, seen["observation"].tobytes()) == seen["observation"].tobytes()
        env.step(None if ended else rng.choice(np.flatnonzero(seen["action_mask"]).tolist()))
        if not env.agents:
            env.reset()
    assert len(set(vectors.values())) >= 0.8 * len(vectors)  # where it is less than all, docs/environments.md says why


def test_vectors_of_phantom_tic_tac_toe_recall_everything_or_forget_the_order():
    orders = [["a1", "c3", "b2"], ["b2", "c3", "a1"]]
    for recall, same in ((None, False), (0, True)):
        vectors = []
        for moves in orders:
            env = fl.pettingzoo_env("phantom_ttt", recall=recall)
            env.reset()
            for move in moves:
                env.step(env.position().parse_action(move))
            vectors.append(env.observe("seat_0")["observation"])
        assert (vectors[0] == vectors[1]).all() == same


# PettingZoo -------------------------------------------------------------------------------------------------------


@every_game
def test_environments_pass_the_tests_of_pettingzoo(name, capsys):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an observation with a mask is a dict, of which it warns
        pettingzoo_tests.api_test(fl.pettingzoo_env(name), num_cycles=30)
        pettingzoo_tests.seed_test(lambda: fl.pettingzoo_env(name), num_cycles=30)
    assert "Passed API test" in capsys.readouterr().out


def test_environments_with_opponents_pass_the_tests_of_pettingzoo(capsys):
    def made():
        return fl.pettingzoo_env("oh_hell(players=3,suits=2,ranks=4)", {0: "random", 2: "first_legal"})

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pettingzoo_tests.api_test(made(), num_cycles=30)
        pettingzoo_tests.seed_test(made, num_cycles=30)
    assert "Passed API test" in capsys.readouterr().out
    assert made().possible_agents == ["seat_1"]


@every_game
def test_rewards_are_the_returns_of_the_position_that_is_told_again(name):
    """The position is played again from the seed for people and opponents: it must be that of the arrays."""
    env, rng, ends = fl.pettingzoo_env(name, seed=4), random.Random(name), 0
    for _ in range(5):
        env.reset()
        for _ in range(80):
            seen, _, ended, _, _ = env.last()
            if ended:
                break
            state = env.position()
            assert env.agent_selection == f"seat_{state.player}"
            assert np.flatnonzero(seen["action_mask"]).tolist() == state.actions()
            env.step(rng.choice(state.actions()))
        if all(env.terminations.values()):
            assert list(env.rewards.values()) == env.position().returns()
            ends += 1
    assert ends == 5 or name.startswith(("dark_chess", "rbc"))


def test_opponents_play_as_they_do_in_matches():
    class Watching(fl.Agent):
        seen = None

        def act(self, actions=None):
            Watching.seen = list(self.observations)
            return max(actions)

    env = fl.pettingzoo_env("kuhn_poker", {1: Watching()}, seed=2)
    env.reset()
    env.step(1)
    state = env.position()
    assert Watching.seen == state.observations(1)[:2]  # its card and the bet, and nothing else
    assert state.history()[2:] == [1, 1] and env.last()[1] == state.returns()[0]


def test_an_opponent_that_begins_has_moved_when_the_game_begins():
    env = fl.pettingzoo_env("kuhn_poker", {0: "first_legal"})
    env.reset(seed=1)
    assert env.agent_selection == "seat_1" and env.position().history()[2:] == [0]


def test_a_seed_gives_a_game_and_the_next_reset_another():
    def deals(env, first):
        env.reset(seed=first)
        found = [env.position().history()]
        for _ in range(6):
            env.reset()
            found.append(env.position().history())
        return found

    one, two = fl.pettingzoo_env("leduc_poker"), fl.pettingzoo_env("leduc_poker")
    assert deals(one, 3) == deals(two, 3) != deals(one, 4)
    assert len({tuple(deal) for deal in deals(one, 3)}) > 2


def test_an_illegal_action_ends_the_game_and_its_seat_alone_pays(recwarn):
    env = fl.pettingzoo_env("kuhn_poker", render_mode="ansi")
    env.reset(seed=0)
    env.step(2)
    assert "seat_0 played 2, which is not legal here; legal are 0, 1." in str(recwarn.pop().message)
    assert env.rewards == {"seat_0": -2.0, "seat_1": 0.0} and all(env.terminations.values())
    assert env.render().endswith("an illegal action has ended the game")
    assert not env.observe("seat_0")["action_mask"].any()
    for agent in env.agent_iter():
        assert env.last()[1] == {"seat_0": -2.0, "seat_1": 0.0}[agent]
        env.step(None)
    assert env.agents == []


def test_text_shows_what_the_seat_to_move_sees(capsys):
    env = fl.pettingzoo_env("kuhn_poker", render_mode="ansi")
    env.reset(seed=0)
    env.step(1)
    state = env.position()
    assert env.render() == f"{state.information(1)}\nseat_1 to move"
    env.step(0)
    assert env.render().endswith("the game is over, returns 1, -1")
    env = fl.pettingzoo_env("kuhn_poker", render_mode="human")
    env.reset(seed=0)
    env.step(1)
    assert capsys.readouterr().out == f"{env.position().information(1)}\nseat_1 to move\n"


def test_the_state_is_what_all_seats_see():
    env = fl.pettingzoo_env("leduc_poker")
    env.reset(seed=0)
    seen = [env.observe(agent)["observation"] for agent in env.agents]
    assert (env.state() == np.concatenate(seen)).all()
    assert env.observe("seat_0")["action_mask"].any() and not env.observe("seat_1")["action_mask"].any()


@pytest.mark.parametrize(
    ("call", "line"),
    [
        (lambda: fl.pettingzoo_env("kuhn_poker", {2: "random"}), "has no seat 2; opponents sit on seats from 0 to 1"),
        (lambda: fl.pettingzoo_env("kuhn_poker", {0: "random", 1: "random"}), "none is left to learn; leave one out"),
        (lambda: fl.pettingzoo_env("kuhn_poker", {1: "rndom"}), "unknown agent 'rndom'; did you mean 'random'?"),
        (lambda: fl.pettingzoo_env("kuhn_poker", {1: "scout"}), "scout"),
        (lambda: fl.pettingzoo_env("kuhn_poker", {1: "human"}), "human needs somebody at the terminal"),
        (lambda: fl.pettingzoo_env("kuhn_poker", render_mode="x"), "render_mode must be 'ansi', 'human' or None"),
        (lambda: fl.pettingzoo_env("kuhn_poker", recall=2000), "recall must be from 0 to 1000 observations, not 2000"),
        (lambda: fl.pettingzoo_env("kuhn_poker").step(0), "there is no game to play; call reset() first"),
        (lambda: fl.pettingzoo_env("kuhn_poker", render_mode="ansi").render(), "call reset() first"),
        (lambda: started().step(None), "seat_0 is to move: give an action from 0 to 2, not None"),
        (lambda: started().step(7), "seat_0 is to move: give an action from 0 to 2, not 7"),
        (lambda: started().observe("player_0"), "there is no agent 'player_0'; there are seat_0, seat_1"),
    ],
)
def test_bad_input_to_pettingzoo_is_one_line(call, line):
    with pytest.raises(fl.BadInput) as raised:
        call()
    assert line in str(raised.value) and "\n" not in str(raised.value)


def started():
    env = fl.pettingzoo_env("kuhn_poker")
    env.reset(seed=0)
    return env


def test_a_missing_extra_says_what_to_install(monkeypatch):
    find = fl.importlib.util.find_spec
    monkeypatch.setattr(fl.importlib.util, "find_spec", lambda name: None if name == "pettingzoo" else find(name))
    with pytest.raises(fl.BadInput, match=r"needs pettingzoo; install: pip install 'foglight\[pettingzoo\]'"):
        fl.pettingzoo_env("kuhn_poker")


# Other games ------------------------------------------------------------------------------------------------------


def test_a_game_of_ones_own_shows_its_last_observations():
    game = card_game()
    env = fl.vector_env(game, 2, observations="all")
    assert (env.recall, env.observation_size) == (8, 2 + 8 * 64)
    compared, ended = in_lock_step(game, envs=2, steps=20)
    assert compared == 40 and ended > 0


def test_games_of_openspiel_are_environments():
    pytest.importorskip("pyspiel")
    env = fl.pettingzoo_env("openspiel:kuhn_poker", {1: "first_legal"})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pettingzoo_tests.api_test(env, num_cycles=10)
    import pyspiel

    theirs = pyspiel.load_game("kuhn_poker")
    turn = fl.vector_env("openspiel:kuhn_poker", 2).reset()
    assert turn.observation.shape == (2, 2 + theirs.information_state_tensor_size())
