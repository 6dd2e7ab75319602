"""A trained network where a trunk is cut: all public states in one forward pass."""

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
    """Values by a network, from a file or as it is being trained.

    A network that was trained for one trunk knows public states and information states by their keys, and answers for
    that trunk and for parts of it. One that was trained on the features that a game offers answers anywhere.

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
        for seat, asked in enumerate(self.places):
            numbers[asked] = np.arange(len(asked))
            self._batches.append(
                Batch(
                    public,
                    self._tensor(of, number),
                    self._tensor(features.places.clip(0), number),
                    self._tensor(np.zeros(len(of))),
                    self._tensor(asked, number),
                    self._tensor(np.full(len(asked), 1.0 - 2.0 * seat)),
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
        found = self.flat_values(np.concatenate([own for by_seat in ranges for own in by_seat]))
        parts = iter(np.split(found, self._ends))
        return [[next(parts) for _ in by_seat] for by_seat in ranges]

    def flat_values(self, ranges: np.ndarray) -> np.ndarray:
        found = np.empty(len(ranges))
        for seat, places in enumerate(self.places):
            found[places] = self.seat_values(ranges, seat)
        return found

    def seat_values(self, ranges: np.ndarray, seat: int) -> np.ndarray:
        if not self.publics:
            return np.zeros(0)
        totals = np.bincount(self._whose, ranges, 2 * len(self.publics))
        own = totals[self._whose]
        normal = np.divide(ranges, own, out=np.zeros(len(ranges)), where=own > 0.0)
        batch = self._batches[seat]._replace(ranges=self._tensor(normal))
        with torch.inference_mode():
            found = self.trained.network(batch, self._bases).cpu().numpy().astype(np.float64)
        places = self.places[seat]
        return found * totals[self._against[places]] * self._scales[places]
