"""A uniform sample of the space: the control that every cleverer search has to beat."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING

from tilewright.model import Config
from tilewright.space import Space
from tilewright.tuning.search.order import shuffled

if TYPE_CHECKING:
    from tilewright.tuning.search import Batches, Estimate

# The end of a batch drains the compilers, so batches are long, and the starts are no batch of their own.
BATCH = 512


def sample(
    space: Space, starts: Sequence[Config], seed: int, *, width: int = 1, estimate: Estimate | None = None
) -> Batches:
    """Yield the starts, then the rest of the space in random order."""
    rest = (config for config in shuffled(space, seed) if config not in starts)
    batch = list(starts)
    while batch := [*batch, *islice(rest, BATCH)]:
        yield batch
        batch = []
