"""Which backend serves the arguments of a call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilewright.arrays.backend import on_gpu
from tilewright.arrays.tracing import pass_over, untraced
from tilewright.runtime.backend import Backend
from tilewright.runtime.bound_cpu import HOST

if TYPE_CHECKING:
    from tilewright.runtime.bound_cuda import Gpu


@untraced
def backend_of(**arguments: Any) -> Backend:
    """Where the arguments of a call lie, by their names; None is no argument.

    Raises ``ArgumentError`` when they lie apart.
    """
    pass_over()
    if not any(on_gpu(value) for value in arguments.values()):
        return HOST
    return _gpu().of(arguments) or HOST


def default_gpu(index: int) -> Backend:
    """The backend of matrices on a GPU that belong to no array."""
    return _gpu().by_default(index)


def _gpu() -> type[Gpu]:
    """The backend of arrays on GPUs, and all that is behind it, loaded once there is such an array."""
    from tilewright.runtime.bound_cuda import Gpu

    return Gpu
