"""The searches by name."""

from __future__ import annotations

from tilewright.tuning.search import Search
from tilewright.tuning.search.bayes import bayes
from tilewright.tuning.search.climb import climb
from tilewright.tuning.search.evolve import evolve
from tilewright.tuning.search.exhaustive import exhaustive
from tilewright.tuning.search.model import model
from tilewright.tuning.search.sample import sample
from tilewright.tuning.search.starts import starts

SEARCHES: dict[str, Search] = {
    "bayes": bayes,
    "climb": climb,
    "evolve": evolve,
    "exhaustive": exhaustive,
    "model": model,
    "sample": sample,
    "starts": starts,
}
