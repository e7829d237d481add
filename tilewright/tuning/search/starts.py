"""Nothing but the starts: the cost model's choice, and what won here, nearby and on similar devices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tilewright.model import Config
from tilewright.space import Space
from tilewright.tuning.search import once

if TYPE_CHECKING:
    from tilewright.tuning.search import Batches, Estimate


def starts(
    space: Space, starts: Sequence[Config], seed: int, *, width: int = 1, estimate: Estimate | None = None
) -> Batches:
    """The starts; the space is not searched."""
    return once(list(starts))
