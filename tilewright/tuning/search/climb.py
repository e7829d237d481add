"""A sample, then steps from its best points to their neighbours until no step helps.

Cheap to state and hard to beat on these spaces: most parameters matter alone or in pairs, so the
best config is a few one-parameter steps from any good one, and several starts guard against the
rest (autotuning surveys find local search near the top: Schoonhoven et al., "Benchmarking
optimization algorithms for auto-tuning GPU kernels", 2022).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tilewright.model import Config, Record
from tilewright.space import Space
from tilewright.tuning.search import cost, whole

if TYPE_CHECKING:
    from tilewright.tuning.search import Batches, Estimate

SAMPLE = 24
STARTS = 4


def climb(
    space: Space, starts: Sequence[Config], seed: int, *, width: int = 1, estimate: Estimate | None = None
) -> Batches:
    """Yield the starts and a sample, then the untried neighbours of the best points, best first."""
    points = [config for config in space.sample(SAMPLE + len(starts), seed) if config not in starts]
    known: dict[Config, float] = {}

    def learn(records: list[Record]) -> None:
        for record in records:
            known[record.config] = cost(record)

    learn((yield from whole([*starts, *points[:SAMPLE]])))
    expanded: set[Config] = set()
    while True:
        best = sorted((c for c in known if known[c] < float("inf")), key=lambda c: known[c])[:STARTS]
        here = next((config for config in best if config not in expanded), None)
        if here is None:
            return
        expanded.add(here)
        fresh = [config for config in space.neighbours(here) if config not in known]
        if fresh:
            learn((yield from whole(fresh)))
