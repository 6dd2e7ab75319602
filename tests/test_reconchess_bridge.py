"""Our agents under `reconchess`: told what our own rules would tell them, and playing by its clock."""

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import chess
import pytest
from reconchess import GameHistory, LocalGame, WinReason, load_player, play_local_game
from reconchess.bots.random_bot import RandomBot
from reconchess.utilities import add_pawn_queen_promotion

import foglight as fl
from foglight.agents import Agent
from foglight.bridges.reconchess_games import play_games, with_engine
from foglight.bridges.reconchess_player import FoglightPlayer
from foglight.chess import blind, notation
from foglight.chess.moves import CASTLE_LEFT
from foglight.names import BadInput, parse_spec


class Diary(Agent):
    """Plays at random, castles when it may, and keeps what it may do."""

    def start(self, game, seat, seed):
        super().start(game, seat, seed)
        self.offered, self.rng = [], random.Random(seed)

    def act(self, actions=None):
        self.offered.append(list(actions))
        special = [a for a in actions if blind.FIRST_MOVE + CASTLE_LEFT <= a < blind.PASS]
        return self.rng.choice(special if special and self.rng.random() < 0.3 else actions)


def player(seed):
    made = FoglightPlayer("random", seed)
    made.agent = Diary()
    return made


def replayed(history, game):
    """The same game by our rules."""
    state = fl.new_state(game)
    offered = ([], [])
    for turn in history.turns():
        seat = state.player
        assert seat == int(turn.color)
        offered[seat].append(state.actions())
        square = history.sense(turn)
        state.play(blind.NO_SENSE if square is None else square)
        offered[seat].append(state.actions())
        request = history.requested_move(turn)
        if request is None:
            state.play(blind.PASS)
            continue
        before = chess.Board(history.truth_fen_before_move(turn))
        request = add_pawn_queen_promotion(before, request)
        state.play(blind.FIRST_MOVE + notation.read_coordinates(state.world, request.uci()))
    return state, offered


@pytest.mark.parametrize("turns", [None, 20])
def test_an_agent_is_told_what_our_rules_would_tell_it(turns):
    ends = set()
    for seed in range(40):
        players = [player(2 * seed), player(2 * seed + 1)]  # black, white
        limit = 15 if seed % 3 == 0 else 100
        game = LocalGame(None, None, limit, turns)
        _, reason, history = play_local_game(players[1], players[0], game=game)
        state, offered = replayed(history, f"rbc(turns={turns or 'none'},reversible={limit})")
        assert state.player == fl.TERMINAL
        for seat in range(2):
            assert players[seat].agent.observations == state.observations(seat)
            assert players[seat].agent.offered == offered[seat]
        ends.add(reason)
    assert ends >= ({WinReason.TURN_LIMIT} if turns else {WinReason.KING_CAPTURE, WinReason.MOVE_LIMIT})


def test_who_runs_out_of_time_is_told_nothing_more():
    mine = player(1)
    _, reason, history = play_local_game(mine, RandomBot(), game=LocalGame(1e-4, 0))
    assert reason == WinReason.TIMEOUT
    state, _ = replayed(history, "rbc")
    assert mine.agent.observations == state.observations(1)[: len(mine.agent.observations)]


def test_a_game_that_starts_elsewhere_is_refused():
    with pytest.raises(BadInput, match="usual position"):
        player(0).handle_game_start(True, chess.Board("4k3/8/8/8/8/8/8/4K3 w - - 0 1"), "somebody")


def test_reconchess_finds_the_player_by_module_and_by_file(monkeypatch):
    monkeypatch.setenv("FOGLIGHT_AGENT", "first_legal")
    name, found = load_player("foglight.bridges.reconchess_player")
    assert name == "FoglightPlayer" and type(found().agent).__name__ == "FirstLegal"
    monkeypatch.setenv("FOGLIGHT_AGENT", "human")
    with pytest.raises(BadInput, match="human needs somebody at the terminal"):
        found()


def test_rc_bot_match_plays_an_agent_of_ours(tmp_path):
    program = Path(sys.executable).with_name("rc-bot-match")
    command = [str(program), "foglight.bridges.reconchess_player", "reconchess.bots.attacker_bot"]
    environment = {**os.environ, "FOGLIGHT_AGENT": "random"}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=600)
    assert "Game Over!" in done.stdout and "ERROR" not in done.stdout
    assert len(list(tmp_path.glob("FoglightPlayer-AttackerBot-*.json"))) == 1


def test_an_engine_is_for_agents_that_take_one_and_have_none():
    assert with_engine("random", sys.executable) == "random"
    assert with_engine("scout(engine=none)", sys.executable) == "scout(engine=none)"
    written = parse_spec(with_engine("scout(nodes=5)", sys.executable))
    assert written.arguments == (("nodes", 5), ("engine", sys.executable))


# The command ------------------------------------------------------------------------------------------------------


def test_games_follow_from_the_seed_and_colours_take_turns():
    first, again = (list(play_games("random", "random", 3, seed=4)) for _ in range(2))
    assert [game.colour for game in first] == ["white", "black", "white"]
    assert [(game.score, game.turns) for game in first] == [(game.score, game.turns) for game in again]


def test_the_command_prints_results_or_data_and_keeps_games(run, tmp_path):
    command = ("rbc", "play", "--bot", "random", "--agent", "random", "--games", "2", "--seed", "1")
    code, out, _ = run(*command, "--json", "--save", str(tmp_path / "kept"))
    data = json.loads(out)
    assert code == 0 and len(data["games"]) == 2 and data["interval"][0] <= data["win_rate"] <= data["interval"][1]
    assert sorted(path.name for path in (tmp_path / "kept").iterdir()) == ["game_0000.json", "game_0001.json"]
    code, out, _ = run(*command)
    assert code == 0 and "random against random" in out and "our time" in out


def test_a_bot_may_be_a_file(run, tmp_path):
    file = tmp_path / "passing_bot.py"
    file.write_text(
        "from reconchess.bots.random_bot import RandomBot\n"
        "class PassingBot(RandomBot):\n"
        "    def choose_move(self, move_actions, seconds_left):\n"
        "        print('I pass')\n"
        "def get_player():\n"
        "    return PassingBot\n"
    )
    code, out, err = run("rbc", "play", "--bot", str(file), "--agent", "random", "--color", "black", "--json")
    assert code == 0 and json.loads(out)["games"][0]["colour"] == "black" and "I pass" in err


def test_a_bot_plays_every_game_as_if_it_were_the_first(tmp_path):
    # AttackerBot takes moves off lists of its module, and without a new module soon has none left
    games = list(play_games("attacker", "random", 12, colour="black", seed=1, save=tmp_path))
    for game in games:
        history = GameHistory.from_file(tmp_path / f"game_{game.number:04}.json")
        assert history.requested_move(history.first_turn(chess.WHITE)) is not None


def test_a_bot_that_breaks_the_rules_has_resigned(run, tmp_path):
    file = tmp_path / "breaking_bot.py"
    file.write_text(
        "import chess\n"
        "from reconchess.bots.random_bot import RandomBot\n"
        "class BreakingBot(RandomBot):\n"
        "    def choose_move(self, move_actions, seconds_left):\n"
        "        return chess.Move(chess.E1, chess.E8)\n"
        "def get_player():\n"
        "    return BreakingBot\n"
    )
    code, out, err = run("rbc", "play", "--bot", str(file), "--agent", "random", "--games", "2", "--json")
    assert code == 0 and [(game["score"], game["reason"]) for game in json.loads(out)["games"]] == [(1.0, "resign")] * 2
    assert "the bot has failed, which counts as resigning: Requested move e1e8" in err


def test_stopping_keeps_what_is_done(run, monkeypatch):
    from foglight.bridges import reconchess_games

    play = reconchess_games._play

    def interrupted(number, *rest):
        if number == 2:
            raise KeyboardInterrupt
        return play(number, *rest)

    monkeypatch.setattr(reconchess_games, "_play", interrupted)
    code, out, err = run("rbc", "play", "--bot", "random", "--agent", "random", "--games", "9", "--json")
    assert code == 130 and len(json.loads(out)["games"]) == 2 and "stopped after 2 of 9 games" in err


@pytest.mark.parametrize(
    "options, message",
    [
        (("--bot", "truot"), "unknown bot 'truot'; did you mean 'trout'?"),
        (("--bot", "random", "--games", "0"), "games must be at least 1, not 0"),
        (("--bot", "random", "--color", "green"), "colour must be white, black or both, not green"),
        (("--bot", "random", "--agent", "scuot"), "did you mean 'scout'?"),
        (("--bot", "trout", "--engine", "/nowhere"), "no program '/nowhere'; install Stockfish"),
        (("--bot", "random", "--agent", "human"), "human needs somebody at the terminal"),
        (("--bot", str(Path(__file__).with_name("oracles.py"))), "cannot load the bot"),
    ],
)
def test_bad_input_gets_one_line(run, options, message):
    code, out, err = run("rbc", "play", *options)
    assert (code, out) == (2, "") and message in err and err.count("\n") == 1


def test_without_reconchess_one_line_says_what_to_install(run, monkeypatch):
    for name in ("reconchess_games", "reconchess_player"):
        monkeypatch.delitem(sys.modules, f"foglight.bridges.{name}")
    monkeypatch.setitem(sys.modules, "reconchess", None)
    code, out, err = run("rbc", "play", "--bot", "random")
    assert (code, out) == (2, "")
    assert err == "bots of reconchess need reconchess; install it with: pip install 'foglight[rbc]'\n"
