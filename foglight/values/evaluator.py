"""A trained network where a trunk is cut: all public states in one forward pass."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from foglight.names import BadInput
from foglight.solve.public import PublicState
from foglight.solve.sequences import Ranges
from foglight.solve.subgame import Evaluator
from foglight.values.layout import Layout, normalised, units
from foglight.values.networks import Tables, torch
from foglight.values.training import Trained, load_network


class Network(Evaluator):
    """Values by a network, from a file or as it is being trained.

    Public states and information states are known by their keys, so it answers for the trunk it was trained for and for
    parts of it: what is missing from a sparse public state has range 0.
    """

    def __init__(self, network: Trained | Path | str, device: str = "cpu") -> None:
        self.trained = network if isinstance(network, Trained) else load_network(network, device)
        self._device = device

    def start(self, publics: Sequence[PublicState]) -> None:
        super().start(publics)
        about, game = self.trained.about, str(publics[0].game)
        if about["game"] != game:
            raise BadInput(f"the network is for {about['game']}, not for {game}")
        known = self.trained.layout
        numbers = known.chosen([public.key for public in publics])
        self._layout = Layout(**{name: array[numbers] for name, array in known.arrays().items()})
        self._tables = Tables(self._layout, self._device)
        self._numbers = torch.arange(len(publics), device=self._device)
        self._where = [_places(public, keys) for public, keys in zip(publics, self._layout.keys, strict=True)]
        rows = [np.full(sum(map(len, by_seat)), i) for i, by_seat in enumerate(self._where)]
        self._at = np.concatenate(rows), np.concatenate([own for by_seat in self._where for own in by_seat])
        self._ends = np.cumsum([len(own) for by_seat in self._where for own in by_seat])[:-1]

    def values(self, ranges: Sequence[Ranges]) -> list[list[np.ndarray]]:
        whole, publics = np.zeros(self._layout.seats.shape), np.arange(len(self._where))
        whole[self._at] = np.concatenate([own for by_seat in ranges for own in by_seat])
        given = torch.tensor(normalised(self._layout, whole, publics), dtype=torch.float32, device=self._device)
        with torch.inference_mode():
            found = self.trained.network(self._tables.batch(self._numbers, given)).cpu().numpy().astype(np.float64)
        found *= units(self._layout, whole, publics)
        parts = iter(np.split(found[self._at], self._ends))
        return [[next(parts) for _ in by_seat] for by_seat in self._where]


def _places(public: PublicState, keys: np.ndarray) -> list[np.ndarray]:
    """By seat, where its information states are among these keys."""
    order = np.argsort(keys)
    found = [order[np.searchsorted(keys, own, sorter=order).clip(max=len(keys) - 1)] for own in public.keys]
    if any((keys[places] != own).any() for places, own in zip(found, public.keys, strict=True)):
        raise BadInput("the network does not know all of these information states; take the trunk it was trained for")
    return found
