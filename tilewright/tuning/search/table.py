"""The searches by name."""

from __future__ import annotations

from tilewright.tuning.search import Search
from tilewright.tuning.search.climb import climb
from tilewright.tuning.search.exhaustive import exhaustive
from tilewright.tuning.search.sample import sample

SEARCHES: dict[str, Search] = {"climb": climb, "exhaustive": exhaustive, "sample": sample}
