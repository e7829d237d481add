"""Long sweeps on the interpreter of PTX, which is slow: every second case of them where that is asked for."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest

HERE = Path(__file__).parent
LONG = 8
"""Cases of a test from which on a half of them is taken."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("--narrow"):
        return
    cases = defaultdict(list)
    for item in items:
        if HERE in item.path.parents:
            cases[item.nodeid.partition("[")[0]].append(item)
    left = {item.nodeid for some in cases.values() if len(some) >= LONG for item in some[1::2]}
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid in left])
    items[:] = [item for item in items if item.nodeid not in left]
