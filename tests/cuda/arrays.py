"""Arrays of the libraries that lie on a GPU, put there and fetched, and how near their products must be."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

TYPES = ["float32", "float64", "complex64", "complex128"]


class Xp:
    """PyTorch or CuPy, as far as these tests use them."""

    def __init__(self, name: str):
        self.name, self.xp = name, importlib.import_module(name)

    def put(self, array: np.ndarray) -> Any:
        """An array of the host on the GPU, with its strides where they are positive."""
        if self.name == "cupy":
            return self.xp.asarray(array)
        return self.xp.from_numpy(np.ascontiguousarray(array)).cuda()

    def get(self, array: Any) -> np.ndarray:
        if self.name == "cupy":
            assert isinstance(array, self.xp.ndarray)
            return self.xp.asnumpy(array)
        assert isinstance(array, self.xp.Tensor)
        return array.resolve_conj().resolve_neg().cpu().numpy()

    def full(self, shape: tuple[int, ...], value: float, dtype: str) -> Any:
        return self.put(np.full(shape, value, dtype))

    def synchronize(self) -> None:
        if self.name == "cupy":
            self.xp.cuda.Device().synchronize()
        else:
            self.xp.cuda.synchronize()

    def stream(self) -> Any:
        return self.xp.cuda.Stream(non_blocking=True) if self.name == "cupy" else self.xp.cuda.Stream()

    def on(self, stream: Any) -> Any:
        return stream if self.name == "cupy" else self.xp.cuda.stream(stream)

    def skip(self, array: Any, count: int) -> Any:
        """A copy whose address is ``count`` elements past an aligned one."""
        flat = self.xp.zeros(int(np.prod(array.shape)) + count, dtype=array.dtype, **self.where)
        view = flat[count:].reshape(array.shape)
        view[...] = array
        return view

    @property
    def where(self) -> dict[str, Any]:
        return {} if self.name == "cupy" else {"device": "cuda"}


def filled(shape: tuple[int, ...], dtype: str = "float64", seed: int = 0) -> np.ndarray:
    draw = np.random.default_rng((seed, *shape))
    values = draw.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        values = values + 1j * draw.standard_normal(shape)
    return values.astype(dtype)


def op(x: np.ndarray, letter: str) -> np.ndarray:
    x = x if letter == "n" else x.swapaxes(-1, -2)
    return x.conj() if letter == "c" else x


def wide(x: np.ndarray) -> np.ndarray:
    return x.astype("complex128" if x.dtype.kind == "c" else "float64")


def close(got: np.ndarray, want: np.ndarray, dtype: str, k: int) -> None:
    """Within what rounding explains at worst, for operands of size 1; ``want`` is in double precision."""
    assert got.shape == want.shape
    assert got.dtype == np.dtype(dtype)
    eps = float(np.finfo(dtype).eps)
    np.testing.assert_allclose(got, want, rtol=0, atol=eps * (2 * k + 3) * max(k, 1))


# ---- the formula
