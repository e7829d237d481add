"""What several tests of this processor share: its ceilings, which take seconds to measure."""

from __future__ import annotations

import pytest

from tests.by_python import by_python
from tests.streams import streams
from tilewright.catalog import TARGETS
from tilewright.targets.cpu import processor
from tilewright.tuning import ceilings_cpu

__all__ = ["by_python", "ceilings", "streams"]


@pytest.fixture(scope="session")
def ceilings() -> dict[str, float]:
    """The ceilings of this machine, measured once in a run."""
    return ceilings_cpu.measure(TARGETS["cpu"], processor.probe())
