"""A uniform sample of the space: the control that every cleverer search has to beat."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from tilewright.model import Config
from tilewright.space import Space

if TYPE_CHECKING:
    from tilewright.search import Batches

BATCH = 16


def sample(space: Space, start: Config, seed: int) -> Batches:
    """Yield the default, then the rest of the space in random order."""
    rest = [config for config in space if config != start]
    random.Random(seed).shuffle(rest)
    yield [start]
    for first in range(0, len(rest), BATCH):
        yield rest[first : first + BATCH]
