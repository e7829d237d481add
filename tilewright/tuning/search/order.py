"""The points of a space in random order, some made at a time."""

from __future__ import annotations

import random
from collections.abc import Iterator

from tilewright.model import Config
from tilewright.space import Space

TOGETHER = 32
"""Points that are made at once: enough to share the cost of arrays, few enough for who asks for some."""


def shuffled(space: Space, seed: int) -> Iterator[Config]:
    """All points of a space, each once, uniformly and reproducibly, however many there are.

    The shuffle is that of Fisher and Yates, of which only what was moved is kept.
    """
    if space.diagram is None:
        # Points of such a space are not found by their number.
        yield from space.sample(space.count(), seed)
        return
    total, draw = space.count(), random.Random(seed)
    moved: dict[int, int] = {}
    for begin in range(0, total, TOGETHER):
        numbers = []
        for place in range(begin, min(begin + TOGETHER, total)):
            other = draw.randrange(place, total)
            number = moved.pop(other, other)
            if other != place:
                moved[other] = moved.pop(place, place)
            numbers.append(number)
        yield from space.several(numbers)
