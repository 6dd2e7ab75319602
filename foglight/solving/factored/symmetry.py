"""Symmetries of a game as a finite group of permutations of its actions."""

from typing import NamedTuple

import numpy as np

from foglight.names import BadInput
from foglight.rules import Game, num_actions, symmetries


class Group(NamedTuple):
    """G symmetries; number 0 changes nothing."""

    images: np.ndarray  # int64[G, actions]: the image of each action
    product: np.ndarray  # int64[G, G]: the symmetry that does the second, then the first
    inverse: np.ndarray  # int64[G]


def group_of(game: Game) -> Group:
    """The group that the symmetries of a game generate."""
    n = num_actions(game)
    images = [tuple(range(n))]
    generators = [tuple(map(int, image)) for image in symmetries(game)]
    if any(sorted(image) != list(range(n)) for image in generators):
        raise BadInput(f"a symmetry of {game} is not a permutation of its {n} actions")
    for image in images:  # the list grows while it is read
        for other in generators:
            both = tuple(other[a] for a in image)
            if both not in images:
                images.append(both)
    index = {image: number for number, image in enumerate(images)}
    product = [[index[tuple(first[a] for a in second)] for second in images] for first in images]
    inverse = [row.index(0) for row in product]
    return Group(np.array(images, np.int64), np.array(product, np.int64), np.array(inverse, np.int64))
