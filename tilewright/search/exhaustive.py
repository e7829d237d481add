"""Every config of the space, in its own order, the default first."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from tilewright.model import Config
from tilewright.space import Space

if TYPE_CHECKING:
    from tilewright.search import Batches

BATCH = 16


def exhaustive(space: Space, start: Config, seed: int) -> Batches:
    """Yield all of the space; what comes back is not looked at."""
    yield [start]
    rest = (config for config in space if config != start)
    while batch := list(islice(rest, BATCH)):
        yield batch
