"""The room for JAX, with two devices on this processor, where there is a GPU as well."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

# JAX starts on all devices at once, and takes most of a GPU's memory unless it is told.
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")


@pytest.fixture(scope="module")
def tj() -> Iterator[Any]:
    jax: Any = pytest.importorskip("jax")
    # Where another test has used JAX's devices before, it stays at their number.
    with suppress(RuntimeError):
        jax.config.update("jax_num_cpu_devices", 2)
    jax.config.update("jax_enable_x64", True)
    # Else arrays are where JAX prefers them: on a GPU.
    jax.config.update("jax_default_device", jax.devices("cpu")[0])
    import tilewright.jax

    yield tilewright.jax
    jax.config.update("jax_default_device", None)
    jax.config.update("jax_enable_x64", False)
