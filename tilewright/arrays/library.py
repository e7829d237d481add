"""What is asked of a library of arrays on GPUs, and the product of any of them in terms of its own.

``torch_`` and ``cupy_`` are the libraries. Layouts come and go as ``ArrayView``; what touches elements works
on the library's own arrays, which ``real`` makes of views.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from tilewright.arrays.shaping import Shaping
from tilewright.arrays.view import ArrayView
from tilewright.dtypes import WIDE, is_half


class Library(Shaping):
    """What is asked of an array library. ``index`` is a device's number, ``stream`` the driver's own number
    of one (0: the default stream)."""

    name: str
    backwards = True
    """Whether its arrays may run backwards in memory. If not, ``real`` of a view that does is a copy."""

    def on_gpu(self, value: Any) -> bool:
        """Whether one of the library's arrays lies on a GPU."""
        raise NotImplementedError

    def index(self, value: Any) -> int:
        """The GPU that one of the library's arrays lies on."""
        raise NotImplementedError

    def dtype(self, value: Any) -> np.dtype[Any] | None:
        """The type of one of the library's arrays; None where NumPy has no such type."""
        raise NotImplementedError

    def check(self, value: Any, name: str) -> None:
        """Raises ``DTypeError`` for an array that no product reads."""

    def op(self, value: Any, letter: str) -> Any:
        """op of one of the library's arrays: "n", "t" or "c", over the last two axes."""
        if letter == "n":
            return value
        flipped = value.swapaxes(-1, -2)
        return self.conjugate(flipped) if letter == "c" else flipped

    def view(self, value: Any, name: str) -> ArrayView | None:
        """One of the library's arrays; None where NumPy has no such type.

        Raises ``DTypeError`` for what no product reads.
        """
        raise NotImplementedError

    def put_off(self, value: Any) -> bool:
        """Whether conjugation or negation of an array was put off: its memory is not what it stands for."""
        return False

    def stream(self, index: int) -> int:
        """The stream that the caller's work goes to."""
        raise NotImplementedError

    def wait(self, index: int, stream: int) -> None:
        """Let the caller's stream wait for what another stream holds so far."""
        raise NotImplementedError

    def guard(self, index: int) -> AbstractContextManager[Any]:
        """Within it, a GPU is the current one."""
        raise NotImplementedError

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any], index: int) -> Any:
        """A new array, C-contiguous, holding anything."""
        raise NotImplementedError

    def real(self, array: ArrayView) -> Any:
        """The library's array with the elements of a view, conjugated if they are to be."""
        raise NotImplementedError

    def copied(self, value: Any) -> Any:
        """A C-contiguous copy."""
        raise NotImplementedError

    def assign(self, target: Any, source: Any) -> None:
        """target[...] = source."""
        raise NotImplementedError

    def conjugate(self, value: Any) -> Any:
        """The conjugate: put off, where the library can."""
        raise NotImplementedError

    def pairs(self, value: Any) -> Any:
        """What ``real`` makes of complex half as float16 pairs (..., 2): the same memory."""
        raise NotImplementedError

    def in_kind(self, value: Any) -> Any:
        """What ``real`` makes of complex half as its owner has such numbers: the same memory."""
        return value

    def widened(self, value: Any) -> Any:
        """What ``real`` makes of complex half as complex64: a copy."""
        raise NotImplementedError

    def narrow(self, target: Any, source: Any) -> None:
        """target[...] = source, where the target is what ``real`` makes of complex half, and the source
        complex64: each part is rounded once."""
        raise NotImplementedError

    def matmul(self, a: Any, b: Any, out: Any = None) -> Any:
        """The library's own product. Raises ``DTypeError`` for types that it has none for."""
        raise NotImplementedError

    def narrows(self, letter: str) -> bool:
        """Whether the library's own product of a type may add up parts of a sum in 16 bits."""
        return letter in ("h", "b")

    def gemm(self, a: Any, b: Any, out: Any, alpha: complex, beta: complex) -> None:
        """out = alpha a b + beta out, where out overlaps neither; beta 0 does not read out."""
        if (alpha, beta) == (1, 0):
            self.matmul(a, b, out)
            return
        half = self.dtype(out)
        if half is not None and is_half(half):
            # In steps of 16 bits each would be rounded.
            product = self.matmul(self.cast(a, WIDE[half]), self.cast(b, WIDE[half]))
            product *= alpha
            if beta != 0:
                product = product + beta * self.cast(out, WIDE[half])
            self.assign(out, product)
            return
        product = self.matmul(a, b)
        if alpha != 1:
            product *= alpha
        if beta == 0:
            self.assign(out, product)
            return
        if beta != 1:
            out *= beta
        out += product
