"""What several tests of this processor share: its ceilings, which take seconds to measure."""

from __future__ import annotations

import pytest

from tilewright.planning import roofline
from tilewright.targets import cpu


@pytest.fixture(scope="session")
def ceilings() -> dict[str, float]:
    """The ceilings of this machine, measured once in a run."""
    return roofline.measure(cpu, cpu.probe())
