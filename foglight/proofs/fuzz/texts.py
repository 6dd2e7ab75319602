"""Texts of games and agents, moves by their names, observations, what engines answer, positions as text."""

import contextlib
import functools
import random
from collections.abc import Callable, Iterator

import numpy as np

from foglight.agents import agent_names, load_agent
from foglight.blind_chess import uci
from foglight.chess import notation
from foglight.games import game_names, load_game
from foglight.names import parse_spec
from foglight.proofs.fuzz.changes import FINE, REFUSED, Input, changed
from foglight.rules import NOTHING, PUBLIC, TERMINAL
from foglight.state import State, new_state
from foglight.worlds.filter import history_filter
from foglight.worlds.knowledge import Knowledge
from foglight.worlds.regeneration import BeliefLost
from foglight.worlds.tracker import Tracker


@functools.cache
def texts(kind: str) -> tuple[str, ...]:
    """Texts of all native games, or of agents with options."""
    if kind == "games":
        odd = ("openspiel:kuhn_poker", "foglight:nothing", "dark_chess(size=4,clock=hidden,start=k3/3p/P3/3K_b)")
        return (*map(str, map(load_game, game_names())), *game_names(), *odd)
    options = ("iterations=8", "time=0.5", "depth=2", "cap=20", "subgame=iss", "leaf=value(file.npz)", "explore=0.5")
    return tuple(f"{name}({option})" for name in agent_names() for option in ("", "file=x.npz", *options))


@contextlib.contextmanager
def games() -> Iterator[Input]:
    def make(rng: random.Random) -> tuple[str, Callable[[], str]]:
        text = changed(rng.choice(texts("games")), rng, texts("games"))
        moves = rng.randrange(6)

        def use() -> str:
            state = new_state(load_game(text))
            load_game(str(state.game))
            for _ in range(moves):
                if state.player == TERMINAL:
                    break
                written = state.action_text(rng.choice(state.actions()))
                state.play(state.parse_action(changed(written, rng) if rng.random() < 0.3 else written))
            return FINE

        return f"{text}, {moves} moves", use

    yield make


@contextlib.contextmanager
def agents() -> Iterator[Input]:
    def make(rng: random.Random) -> tuple[str, Callable[[], str]]:
        text = changed(rng.choice(texts("agents")), rng, texts("agents"))

        def use() -> str:
            with load_agent(text) as agent:
                parse_spec(str(agent))
                agent.check(load_game("kuhn_poker"))
            return FINE

        return text, use

    yield make


# Observations ---------------------------------------------------------------------------------------------------

_SEEN = ("kuhn_poker", "leduc_poker", "phantom_ttt", "dark_hex(rows=3,cols=3)", "liars_dice", "battleship",
         "goofspiel(cards=4)", "unseen_rps", "three_sat", "spades", "hearts", "oh_hell", "dark_chess(size=4)", "rbc",
         "card_game")  # fmt: skip


def _random_state(game: str, rng: random.Random, longest: int = 60) -> State:
    state = new_state(game)
    for _ in range(rng.randrange(longest)):
        if state.player == TERMINAL:
            break
        state.play(rng.choice(state.actions()))
    return state


@contextlib.contextmanager
def observations() -> Iterator[Input]:
    def make(rng: random.Random) -> tuple[str, Callable[[], str]]:
        game = rng.choice(_SEEN)
        state = _random_state(game, rng, 14 if "chess" in game or game == "rbc" else 60)
        viewer = rng.randrange(PUBLIC, state.num_players) if rng.random() < 0.95 else rng.choice((-2, 9))
        seen = state.observations(viewer) if PUBLIC <= viewer < state.num_players else [1, 2]
        for _ in range(rng.choice((0, 1, 1, 2, 5))):
            i, way = rng.randrange(len(seen) + 1), rng.randrange(4)
            odd = rng.choice((0, 1, 2, 3, -1, NOTHING, 10**6, 2**62, -(2**62), rng.randrange(200), *seen))
            seen = [seen[:i] + seen[i + 1 :], [*seen[:i], odd, *seen[i:]], [*seen[:i], odd, *seen[i + 1 :]], seen[:i]][
                way
            ]
        reader = rng.choice((_filtered, _tracked, _known))
        return f"{reader.__name__} {game} {viewer} {seen}", lambda: reader(game, viewer, seen)

    yield make


def _filtered(game: str, viewer: int, seen: list[int]) -> str:
    found = history_filter(game, seen, viewer, limit=2000)
    if not found.exists():
        return REFUSED
    for state in found.sample(2):
        if state.observations(viewer) != seen:
            return f"a sample has observed {state.observations(viewer)}"
    return FINE


def _tracked(game: str, viewer: int, seen: list[int]) -> str:
    tracker = Tracker(game, viewer, cap=300, work=20_000)
    try:
        for observation in seen:
            tracker.observe(observation)
    except BeliefLost:
        return REFUSED
    return FINE if len(tracker) else "a tracker without worlds"


def _known(game: str, viewer: int, seen: list[int]) -> str:
    knowledge = Knowledge(game, viewer)
    try:
        for observation in seen[:8]:
            knowledge.observe(observation)
        knowledge.worlds(to_move=False, most=5)
    except BeliefLost:
        return REFUSED
    return FINE


# Engines --------------------------------------------------------------------------------------------------------

_LINES = (
    "info depth 4 seldepth 6 multipv 1 score cp 33 nodes 199 nps 66333 time 3 pv e2e4 e7e5",
    "info depth 4 multipv 2 score mate 3 pv d2d4", "info string NNUE", "bestmove e2e4 ponder e7e5", "readyok",
    "info depth 1 score cp -20 lowerbound pv a2a3", "option name Hash type spin default 16 min 1 max 33554432",
)  # fmt: skip
_FENS = (
    "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", "8/8/8/4k3/8/8/4K2P/8 w - - 5 40",
    "r3k2r/8/8/3pP3/8/8/8/R3K2R w KQkq d6 0 1", "kr/RK w - - 0 1",
)  # fmt: skip


@contextlib.contextmanager
def engines() -> Iterator[Input]:
    def make(rng: random.Random) -> tuple[str, Callable[[], str]]:
        if rng.random() < 0.5:
            lines = [changed(rng.choice(_LINES), rng, _LINES) for _ in range(4)]
            return "\n".join(lines), lambda: _answer_read(lines)
        fen = changed(rng.choice(_FENS), rng, _FENS)
        move = changed("e2e4", rng)

        def use() -> str:
            size, board = notation.read_fen(fen)
            notation.read_fen(notation.fen(size, board))
            notation.read_coordinates(board, move)
            return FINE

        return f"{fen} {move}", use

    yield make


def _answer_read(lines: list[str]) -> str:
    try:
        answer = uci._read_answer(lines)
    except uci._Failure:
        return REFUSED
    return FINE if abs(answer.value) <= uci.WIN and np.isfinite(list(answer.lines.values())).all() else str(answer)
