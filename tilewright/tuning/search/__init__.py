"""The search protocol: a generator that yields batches of configs and is sent back their records.

A search knows the space, the configs to start from (the default, then those of near problems), and a
seed; it returns when it has nothing more to ask. Budgets are the tuner's business: it may stop asking
at any moment.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence

from tilewright.model import Config, Record
from tilewright.space import Space

Batches = Generator[list[Config], Sequence[Record], None]
Search = Callable[[Space, Sequence[Config], int], Batches]
