"""The points of a space in random order, each made when it is asked for."""

from __future__ import annotations

import random
from collections.abc import Iterator

from tilewright.model import Config
from tilewright.space import Space

MOST = 1 << 16
"""Points of a larger space that are drawn: more than anybody measures, few enough to shuffle at once."""


def shuffled(space: Space, seed: int) -> Iterator[Config]:
    """All points of a space, or ``MOST`` of a larger one, uniformly and reproducibly."""
    total = space.count()
    if space.diagram is None or total >= 1 << 62:
        yield from space.sample(MOST, seed)
        return
    for number in random.Random(seed).sample(range(total), min(total, MOST)):
        yield space.at(number)
