"""A uniform sample of the space: the control that every cleverer search has to beat."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tilewright.model import Config
from tilewright.space import Space

if TYPE_CHECKING:
    from tilewright.tuning.search import Batches

# The end of a batch drains the compilers, so batches are long.
BATCH = 512


def sample(space: Space, starts: Sequence[Config], seed: int) -> Batches:
    """Yield the starts, then the rest of the space in random order."""
    rest = [config for config in space if config not in starts]
    random.Random(seed).shuffle(rest)
    yield list(starts)
    for first in range(0, len(rest), BATCH):
        yield rest[first : first + BATCH]
