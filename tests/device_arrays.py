"""Arrays of no library that pretend to lie on a GPU, over NumPy's memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from tilewright.arrays.view import (
    address_of,
)
from tilewright.calls import product
from tilewright.runtime import build

KERNEL = build.kernel


class Bare:
    """An array of no library, with memory of NumPy's."""

    def __init__(self, array: np.ndarray, **changes: Any):
        self.array = array
        self.__cuda_array_interface__ = {
            "data": (address_of(array), not array.flags.writeable),
            "shape": array.shape,
            "strides": array.strides,
            "typestr": array.dtype.str,
            "version": 3,
            "stream": None,
        } | changes


class Capsule:
    """An array that speaks DLPack alone."""

    def __init__(self, array: np.ndarray):
        self.array, self.streams = array, []

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, 0

    def __dlpack__(self, stream: int | None = None) -> Any:
        self.streams.append(stream)
        return self.array.__dlpack__()


def close(got: Any, want: Any) -> None:
    assert np.shape(got) == np.shape(want)
    assert np.asarray(got).dtype == np.asarray(want).dtype
    eps = float(np.finfo(want.dtype).eps)
    np.testing.assert_allclose(got, want, rtol=500 * eps, atol=2000 * eps)


def in_turns(types: Sequence[str]) -> list[tuple[str, str, str]]:
    """Types with transpositions of A and of B, so that any two of these three meet."""
    return [(name, "ntc"[at], "ntc"[(at + turn) % 3]) for turn, name in enumerate(types) for at in range(3)]


def only_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """From here on only calls like earlier ones pass."""

    def refuse(*_: Any) -> None:
        raise AssertionError("the slow path")

    monkeypatch.setattr(product, "matmul", refuse)
    monkeypatch.setattr(product, "gemm", refuse)
