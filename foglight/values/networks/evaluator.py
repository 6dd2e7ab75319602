"""A trained network as the evaluator of a trunk's leaves: all public states in one forward pass."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from foglight.names import BadInput
from foglight.solving.depth_limited.public import PublicState
from foglight.solving.depth_limited.subgame import Evaluator
from foglight.solving.whole.sequences import Ranges
from foglight.values.networks.architectures import Batch, torch
from foglight.values.networks.encoding import encode, listed
from foglight.values.networks.training import Trained, load_network


class Network(Evaluator):
    """An evaluator that asks a value network, from a file or still in training.

    A network trained for one trunk finds public states and information states by their keys, and gives values for that
    trunk and for parts of it. A network trained on the features that a game offers gives values anywhere in the game.

        >>> from foglight.values.networks.shipped import shipped_network
        >>> network = fl.Network(shipped_network("leduc_poker"))
        >>> trunk = fl.Trunk("leduc_poker", depth=5)
        >>> policy = fl.solve_trunk(trunk, network, iterations=5)
        >>> len(policy.keys) == trunk.sequences.num_states
        True
    """

    def __init__(self, network: Trained | Path | str, device: str = "cpu") -> None:
        self.trained = network if isinstance(network, Trained) else load_network(network, device)
        self._device = device

    def start(self, publics: Sequence[PublicState]) -> None:
        super().start(publics)
        if not publics:
            return
        about, game = self.trained.about, str(publics[0].game)
        if about["game"] != game:
            raise BadInput(f"the network is for {about['game']}, not for {game}")
        layout = self.trained.layout
        features = encode(publics) if layout is None else listed(publics, layout)
        of, seats, pairs = features.of, features.seats, features.pairs
        self._scales = np.array([public.chance.max() for public in publics])[of]
        self._whose, self._against = 2 * of + seats, 2 * of + 1 - seats
        number, numbers = torch.int64, np.empty(len(of), np.int64)
        public, private = self._tensor(features.public), self._tensor(features.private)
        self._batches = []
        for seat, own in enumerate(self.places):
            numbers[own] = np.arange(len(own))
            self._batches.append(
                Batch(
                    public,
                    self._tensor(of, number),
                    self._tensor(features.places.clip(0), number),
                    self._tensor(np.zeros(len(of))),
                    self._tensor(own, number),
                    self._tensor(np.full(len(own), 1.0 - 2.0 * seat)),
                    self._tensor(numbers[pairs[:, seat]], number),
                    self._tensor(pairs[:, 1 - seat], number),
                    self._tensor(features.chance),
                )
            )
        with torch.inference_mode():
            self._bases = self.trained.network.bases(public[self._batches[0].of], private)

    def _tensor(self, array: np.ndarray, kind: Any = torch.float32) -> torch.Tensor:
        return torch.tensor(array, dtype=kind, device=self._device)

    def values(self, ranges: Sequence[Ranges]) -> list[list[np.ndarray]]:
        if not self.publics:
            return []
        values = self.flat_values(np.concatenate([own for by_seat in ranges for own in by_seat]))
        parts = iter(np.split(values, self._ends))
        return [[next(parts) for _ in by_seat] for by_seat in ranges]

    def flat_values(self, ranges: np.ndarray) -> np.ndarray:
        values = np.empty(len(ranges))
        for seat, places in enumerate(self.places):
            values[places] = self.seat_values(ranges, seat)
        return values

    def seat_values(self, ranges: np.ndarray, seat: int) -> np.ndarray:
        if not self.publics:
            return np.zeros(0)
        totals = np.bincount(self._whose, ranges, 2 * len(self.publics))
        own = totals[self._whose]
        normal = np.divide(ranges, own, out=np.zeros(len(ranges)), where=own > 0.0)
        batch = self._batches[seat]._replace(ranges=self._tensor(normal))
        with torch.inference_mode():
            values = self.trained.network(batch, self._bases).cpu().numpy().astype(np.float64)
        places = self.places[seat]
        return values * totals[self._against[places]] * self._scales[places]
