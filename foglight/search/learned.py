"""A value network as a leaf evaluator: the value of a single world, as a belief of one history.

The weights lie in plain arrays and the forward pass is compiled, so that a search can call it from a kernel.
"""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from foglight.compile import implements, jitable
from foglight.names import BadInput
from foglight.rules import MOST_FEATURES, TERMINAL, Game, player, private_features, public_features, returns
from foglight.search.leaves import evaluate

_WIDEST = 4096  # most numbers in a layer


class Learned(NamedTuple):
    """A particle network: the flat weights of its perceptrons, and working memory."""

    basis: np.ndarray  # float32: weights and biases of the change of basis, layer after layer
    basis_widths: np.ndarray  # int64: widths of its layers, from inputs to outputs
    faces: np.ndarray  # the same for the faces; empty if the network has none
    faces_widths: np.ndarray
    regression: np.ndarray
    regression_widths: np.ndarray
    room: np.ndarray  # float32[6, _WIDEST], working memory


def learned(game: Game, path: Path | str) -> Learned:
    """A leaf evaluator from the file of a particle network that can evaluate any belief.

    A belief of one history has mass 1, so it does not matter whether the network multiplies its values by the mass.
    """
    from foglight.values.networks.training import load_network  # needs PyTorch

    trained = load_network(path)
    if trained.about["game"] != str(game):
        raise BadInput(f"the network {path} is for {trained.about['game']}, not for {game}")
    if trained.layout is not None or trained.shape.kind not in ("particle", "histories"):
        raise BadInput(f"the network {path} cannot value single worlds; train one with: foglight train '{game}'")
    network = trained.network
    room = np.zeros((6, _WIDEST), np.float32)
    return Learned(*_flat(network.change_of_basis), *_flat(network.faces), *_flat(network.regression), room)


def _flat(perceptron: Any) -> tuple[np.ndarray, np.ndarray]:
    """The weights and widths of a perceptron: layer after layer, first the weights input by input, then the biases."""
    if perceptron is None:
        return np.zeros(0, np.float32), np.zeros(0, np.int64)
    layers = [layer for layer in perceptron if hasattr(layer, "weight")]
    widths = [layers[0].in_features, *(layer.out_features for layer in layers)]
    numbers = [tensor.detach().numpy().ravel() for layer in layers for tensor in (layer.weight.T, layer.bias)]
    return np.concatenate(numbers), np.array(widths, np.int64)


@implements(Learned, evaluate.__name__)
def _value(leaf, game, world, random, out):
    if player(game, world) == TERMINAL:
        returns(game, world, out)
        return
    features, hidden = leaf.room[0], leaf.room[1]
    base = leaf.basis_widths[-1]
    shown = public_features(game, world, features)
    context, first, second = leaf.room[3], leaf.room[4], leaf.room[5]
    for seat in range(2):
        more = private_features(game, world, seat, features[shown : shown + MOST_FEATURES])
        features[shown + more + seat], features[shown + more + 1 - seat] = 1.0, 0.0
        own = first if seat == 0 else second
        _forward(leaf.basis, leaf.basis_widths, features, hidden, leaf.room[2], own)
        for i in range(base):
            context[i] = own[i] if seat == 0 else context[i] + own[i]
        if len(leaf.faces) > 0:
            _forward(leaf.faces, leaf.faces_widths, features, hidden, leaf.room[2], own)
    for i in range(shown):
        context[base + i] = features[i]
    _forward(leaf.regression, leaf.regression_widths, context, hidden, leaf.room[2], features)
    value = 0.0
    for i in range(base):
        if len(leaf.faces) > 0:
            value += features[i] * first[i] * second[i]
        else:
            value += 0.5 * features[i] * (first[i] - second[i])
    out[0], out[1] = value, -value


@jitable
def _forward(weights, widths, inputs, room, other, outputs):
    """A perceptron with ReLU between its layers; `inputs` stay unchanged."""
    at, layers = 0, len(widths) - 1
    for layer in range(layers):
        source = inputs if layer == 0 else (room if layer % 2 == 1 else other)
        target = outputs if layer == layers - 1 else (room if layer % 2 == 0 else other)
        wide, high = widths[layer], widths[layer + 1]
        biases = at + wide * high
        for i in range(high):
            target[i] = weights[biases + i]
        for j in range(wide):
            amount = source[j]
            if amount != 0.0:
                row = weights[at + j * high : at + (j + 1) * high]
                for i in range(high):
                    target[i] += amount * row[i]
        if layer < layers - 1:
            for i in range(high):
                target[i] = max(target[i], np.float32(0.0))
        at = biases + high
