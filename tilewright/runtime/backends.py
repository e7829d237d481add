"""Which backend serves the arguments of a call."""

from __future__ import annotations

from typing import Any

from tilewright.arrays.tracing import pass_over, untraced
from tilewright.runtime.backend import Backend
from tilewright.runtime.bound_cpu import HOST
from tilewright.runtime.bound_cuda import Gpu


@untraced
def backend_of(**arguments: Any) -> Backend:
    """Where the arguments of a call lie, by their names; None is no argument.

    Raises ``ArgumentError`` when they lie apart.
    """
    pass_over()
    return Gpu.of(arguments) or HOST


def on_gpu(index: int) -> Backend:
    """The backend of matrices on a GPU that belong to no array."""
    return Gpu.by_default(index)
