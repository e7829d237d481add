"""The search protocol: a generator that yields batches of configs and is sent back records.

A search knows the space, the configs to start from (the default, then those of near problems and similar
devices), and a seed; it returns when it has nothing more to ask. Budgets are the tuner's business: it may
stop asking at any moment. Two things a search may use or not: ``width``, how many configs are compiled at
once, so that fewer that are asked for leave compilers idle, and ``estimate``, the stencil's cost model,
smaller is better.

What is sent back is what has come since the last time, in any order: the tuner asks for the next batch while
records of earlier ones are outstanding, for a search that waits for all of a batch lets compilers and device
wait with it. Each config that was asked for is answered once. An empty batch waits: the answer to it holds a
record at least, or nothing when none is outstanding. A search that looks at nothing before all of a batch is
there takes it by ``whole``.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tilewright.model import Config, Record
from tilewright.space import Space

Batches = Generator[list[Config], Sequence[Record], None]
Estimate = Callable[[Sequence[Config]], NDArray[np.float64]]
"""What configs are expected to cost, one number for each: a stencil's cost model."""


class Search(Protocol):
    """What a search is called with; every search accepts all of it."""

    def __call__(
        self,
        space: Space,
        starts: Sequence[Config],
        seed: int,
        *,
        width: int = 1,
        estimate: Estimate | None = None,
    ) -> Batches:
        """Batches of points of ``space``, each at most once, the ``starts`` among the first."""


def whole(asked: list[Config]) -> Generator[list[Config], Sequence[Record], list[Record]]:
    """Ask for a batch and wait until all of it is answered: the records."""
    records = list((yield asked))
    while not {record.config for record in records}.issuperset(asked):
        more = yield []
        if not more:
            break
        records += more
    return records


def once(asked: list[Config]) -> Batches:
    """A search that asks for these configs and for nothing more."""
    yield asked


def cost(record: Record) -> float:
    """Seconds per product; infinite for a try that failed."""
    timing = record.timing
    return timing.median / timing.batch if record.status == "ok" and timing is not None else float("inf")
