"""Arrays to multiply, and NumPy's products to compare with."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import HealthCheck, settings

FLOATS = ["f4", "f8", "c8", "c16"]
# Kernels are compiled as shapes come: the first call of a shape takes its time.
PATIENT = settings(deadline=None, max_examples=60, suppress_health_check=list(HealthCheck))


def filled(shape: tuple[int, ...], dtype: Any = "f8", seed: int = 0) -> np.ndarray:
    """Random numbers of any type; whole numbers where the type has no others."""
    draw = np.random.default_rng((seed, *shape))
    kind = np.dtype(dtype).kind
    if kind in "iub":
        return draw.integers(0, 5, shape).astype(dtype)
    values = draw.standard_normal(shape)
    if kind == "c":
        values = values + 1j * draw.standard_normal(shape)
    return values.astype(dtype)


def close(got: Any, want: Any, k: int = 64) -> None:
    """Same shape and type as NumPy's result, and the values within rounding of both."""
    assert np.shape(got) == np.shape(want)
    assert np.asarray(got).dtype == np.asarray(want).dtype
    real = np.asarray(want).real.dtype
    eps = float(np.finfo(real).eps) if real.kind == "f" else 0.0
    np.testing.assert_allclose(got, want, rtol=8 * k * eps, atol=32 * k * eps, equal_nan=True)


def op(x: np.ndarray, letter: str) -> np.ndarray:
    x = x if letter == "n" else x.swapaxes(-1, -2)
    return x.conj() if letter == "c" else x
