"""Marks that the test files of several folders have."""

from __future__ import annotations

import pytest

from tilewright.targets.cuda import nvrtc

NVRTC = pytest.mark.skipif(nvrtc.compiler_missing() is not None, reason=str(nvrtc.compiler_missing()))
COMPILED = [pytest.mark.compile, NVRTC]
"""Of tests that compile with NVRTC and need no GPU."""


def key(value: object) -> str | None:
    """What a device or a problem is called in the name of a case; None of what pytest names itself."""
    return getattr(value, "key", None)
