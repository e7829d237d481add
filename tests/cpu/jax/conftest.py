"""The room for JAX, with two devices on this processor."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest


@pytest.fixture(scope="module")
def tj() -> Iterator[Any]:
    jax: Any = pytest.importorskip("jax")
    # Where another test has used JAX's devices before, it stays at their number.
    with suppress(RuntimeError):
        jax.config.update("jax_num_cpu_devices", 2)
    jax.config.update("jax_enable_x64", True)
    import tilewright.jax

    yield tilewright.jax
    jax.config.update("jax_enable_x64", False)
