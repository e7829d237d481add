"""Every config of the space, in its own order, the starts first."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING

from tilewright.model import Config
from tilewright.space import Space

if TYPE_CHECKING:
    from tilewright.tuning.search import Batches, Estimate

# The end of a batch drains the compilers, so batches are long, and the starts are no batch of their own.
BATCH = 512


def exhaustive(
    space: Space, starts: Sequence[Config], seed: int, *, width: int = 1, estimate: Estimate | None = None
) -> Batches:
    """Yield all of the space; what comes back is not looked at."""
    rest = (config for config in space if config not in starts)
    batch = list(starts)
    while batch := [*batch, *islice(rest, BATCH)]:
        yield batch
        batch = []
