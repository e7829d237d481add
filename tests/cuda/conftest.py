"""The libraries whose arrays lie on a GPU, and what is left of these tests without one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.by_python import by_python
from tests.cuda.arrays import Xp
from tilewright.targets.cuda import devices

__all__ = ["by_python", "xp"]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Where there is no GPU, one test of each file says why all of them are skipped: to skip thousands one by
    one takes longer than to read their files, which are read here as elsewhere."""
    if devices.missing() is None or config.getoption("collectonly"):
        return
    said: set[Path] = set()
    kept: list[pytest.Item] = []
    left: list[pytest.Item] = []
    for item in items:
        here = Path(__file__).parent in item.path.parents
        (left if here and item.path in said else kept).append(item)
        if here:
            said.add(item.path)
    items[:] = kept
    config.hook.pytest_deselected(items=left)


@pytest.fixture(params=["torch", "cupy"])
def xp(request: pytest.FixtureRequest) -> Xp:
    pytest.importorskip(request.param)
    found = Xp(request.param)
    if found.name == "torch" and not found.xp.cuda.is_available():
        pytest.skip("this PyTorch sees no GPU")
    return found
