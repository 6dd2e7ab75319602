"""Many games of one kind in arrays, which all take a turn at once: `fl.vector_env`.

A step is one decision in each game, with the chance that follows it. A game that ends is followed by a new one in the
same step: `terminated` and `rewards` are of the game that has ended, everything else is of the one that has begun.
Payoffs come at the end only, so no learner needs the last position.
"""

from typing import Any, Literal, NamedTuple

import numpy as np

from foglight.environments.turns import (
    BEGIN,
    RANDOM,
    first_illegal,
    new_outputs,
    new_rows,
    observation_size,
    sample_legal,
    take_turns,
)
from foglight.games import load_game
from foglight.names import BadInput, listed
from foglight.randomness import generator
from foglight.rules import Game, num_actions, num_players, num_recalled
from foglight.state import State, state_of

MOST_ENVS = 10_000_000
MOST_RECALLED = 1000
_SAMPLES = 1  # the branch of the seed that `sample` draws from

Shown = Literal["mover", "all", "none"]
Masks = Literal["bool", "bits", "none"]


class Turn(NamedTuple):
    """What n games show after a step, one row for each; the arrays are new at each step.

    >>> turn = fl.vector_env("kuhn_poker", num_envs=3).reset()
    >>> turn.player, turn.mask.tolist()[0], turn.observation.shape
    (array([0, 0, 0]), [True, True, False], (3, 11))
    """

    player: np.ndarray  # int64[n]: the seat to move
    mask: Any  # bool[n, actions]: its legal actions; or uint64[n, words], as bits; or None
    observation: Any  # float32[n, F]: what it sees; or float32[n, seats, F]: what every seat sees; or None
    rewards: np.ndarray  # float64[n, seats]: the payoffs of a game that has ended, otherwise 0
    terminated: np.ndarray  # bool[n]: whether a game has ended; the next one has begun


class RandomPlay(NamedTuple):
    """The result of `play_random`."""

    steps: int  # decisions
    games: int  # that have ended
    mean_returns: list[float]  # by seat, over these games; nan if none has ended


class VectorEnv:
    """n games of one kind in arrays; `vector_env` makes it."""

    def __init__(
        self, game: Game, num_envs: int, seed: int, *, observations: Shown, masks: Masks, recall: int | None
    ) -> None:
        self.game: Any = load_game(game)
        _check(num_envs, observations, masks, recall)
        self.num_envs = int(num_envs)
        self.num_players = int(num_players(self.game))
        self.num_actions = int(num_actions(self.game))
        self.recall = int(num_recalled(self.game)) if recall is None else recall
        if observations == "none":
            self.recall = 0
        self.observation_size = observation_size(self.game, self.recall)
        self._seed, self._shown, self._masks = seed, observations, masks
        self._rows = new_rows(self.game, self.num_envs, self.recall)
        self._samples = generator(seed, _SAMPLES)
        self._begun = False

    def reset(self, seed: int | None = None) -> Turn:
        """Begin all games anew, with this seed, or with the last one: that of the environment, at first."""
        self._seed = self._seed if seed is None else seed
        self._rows.random[:] = np.random.SeedSequence(self._seed).generate_state(self.num_envs, np.uint64)
        self._samples = generator(self._seed, _SAMPLES)
        self._begun = True
        return self._take(np.full(self.num_envs, BEGIN, np.int64))

    def step(self, actions: Any) -> Turn:
        """Play an action in each game. If one of them is not legal, nothing is played."""
        self._need_reset()
        given = np.asarray(actions)
        if given.shape != (self.num_envs,) or given.dtype.kind not in "iu":
            raise BadInput(
                f"step takes {self.num_envs} whole numbers, an action for each environment, "
                f"not an array of shape {given.shape} and type {given.dtype}"
            )
        given = given.astype(np.int64, copy=False)
        wrong = int(first_illegal(self._rows, given, self.num_actions))
        if wrong >= 0:
            raise BadInput(
                f"action {given[wrong]} is not legal in environment {wrong}; legal are {listed(self.legal(wrong))}; "
                "nothing was played, so choose by the mask"
            )
        return self._take(given)

    def sample(self) -> np.ndarray:
        """A uniformly random legal action for each game."""
        self._need_reset()
        actions = np.empty(self.num_envs, np.int64)
        sample_legal(self._rows, self._samples, actions)
        return actions

    def play_random(self, rounds: int) -> RandomPlay:
        """Play so many uniformly random steps in each game, all compiled, as if by `sample` and `step`.

        Masks and observations are computed in each of them.
        """
        self._need_reset()
        if rounds < 1:
            raise BadInput(f"rounds must be at least 1, not {rounds}")
        totals = np.zeros(self.num_players)
        games = self._run(np.full(self.num_envs, RANDOM, np.int64), rounds, totals)[1]
        means = [float(total) / games if games else float("nan") for total in totals]
        return RandomPlay(rounds * self.num_envs, games, means)

    def legal(self, env: int) -> list[int]:
        """The legal actions in one environment."""
        words = self._rows.legal[env].tolist()
        return [64 * i + b for i, word in enumerate(words) for b in range(64) if word >> b & 1]

    def state(self, env: int) -> State:
        """The position of one environment, all of it, for people and tests; it does not know its history."""
        return state_of(self.game, self._rows.worlds[env])

    def _take(self, actions: np.ndarray) -> Turn:
        out, _ = self._run(actions, 1, np.zeros(self.num_players))
        mask = self._rows.legal.copy() if self._masks == "bits" else out.masks
        seen = out.observations[:, 0] if self._shown == "mover" else out.observations
        return Turn(
            out.movers,
            None if self._masks == "none" else mask,
            None if self._shown == "none" else seen,
            out.rewards,
            out.terminated,
        )

    def _run(self, actions: np.ndarray, rounds: int, totals: np.ndarray) -> tuple[Any, int]:
        seats = {"mover": 1, "all": self.num_players, "none": 0}[self._shown]
        out = new_outputs(
            self.game, self.num_envs, masks=self._masks == "bool", seats=seats, size=self.observation_size
        )
        games = int(take_turns(self.game, self._rows, out, actions, rounds, True, totals))
        if games < 0:
            raise BadInput(f"{self.game} ends before any seat decides anything, so there is nothing to learn in it")
        return out, games

    def _need_reset(self) -> None:
        if not self._begun:
            raise BadInput("the games have not begun; call reset() first")

    def __repr__(self) -> str:
        return f"<VectorEnv: {self.num_envs} of {self.game}, observations of {self.observation_size} numbers>"


def vector_env(
    game: str | Game,
    num_envs: int = 4096,
    seed: int = 0,
    *,
    observations: Shown = "mover",
    masks: Masks = "bool",
    recall: int | None = None,
) -> VectorEnv:
    """Many games of one kind in arrays, by compiled rules; a game that ends is followed by a new one at once.

    `reset()` begins all games, `step(actions)` plays an action in each. Both give the seat to move, its legal actions,
    what it sees, the rewards, and which games have ended. Chance is played inside. `observations` are those of the seat
    to move, of all seats, or none. `masks` are `bool`, or `bits` in 64-bit words, or none. `recall` adds so many of the
    seat's last observations to what it sees; docs/environments.md says what that holds. NumPy is all it needs.

        >>> env = fl.vector_env("phantom_ttt", num_envs=1000, seed=0)
        >>> turn = env.reset()
        >>> for _ in range(20):
        ...     turn = env.step(env.sample())
        >>> turn.mask.shape, turn.observation.shape, turn.rewards.shape, bool(turn.terminated.any())
        ((1000, 9), (1000, 65), (1000, 2), True)
        >>> env.play_random(rounds=1000).steps
        1000000
    """
    return VectorEnv(game, num_envs, seed, observations=observations, masks=masks, recall=recall)


def _check(num_envs: int, observations: str, masks: str, recall: int | None) -> None:
    if not isinstance(num_envs, int | np.integer) or not 1 <= num_envs <= MOST_ENVS:
        raise BadInput(f"num_envs must be from 1 to {MOST_ENVS:,}, not {num_envs}")
    if observations not in ("mover", "all", "none"):
        raise BadInput(f"observations must be 'mover', 'all' or 'none', not {observations!r}")
    if masks not in ("bool", "bits", "none"):
        raise BadInput(f"masks must be 'bool', 'bits' or 'none', not {masks!r}")
    check_recall(recall)


def check_recall(recall: int | None) -> None:
    """Refuse a number of recalled observations that is too small or too large."""
    if recall is not None and not 0 <= recall <= MOST_RECALLED:
        raise BadInput(f"recall must be from 0 to {MOST_RECALLED} observations, not {recall}")
