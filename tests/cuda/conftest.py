"""The libraries whose arrays lie on a GPU."""

from __future__ import annotations

import pytest

from tests.cuda.arrays import Xp


@pytest.fixture(params=["torch", "cupy"])
def xp(request: pytest.FixtureRequest) -> Xp:
    pytest.importorskip(request.param)
    found = Xp(request.param)
    if found.name == "torch" and not found.xp.cuda.is_available():
        pytest.skip("this PyTorch sees no GPU")
    return found
