"""Kernels of a processor that were handed in, bound to their arguments."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tilewright.custom.definition import Array
from tilewright.custom.problem import KernelProblem
from tilewright.model import Kernel

_NUMBERS: dict[str, Any] = {
    "int8": ctypes.c_int8,
    "uint8": ctypes.c_uint8,
    "int16": ctypes.c_int16,
    "uint16": ctypes.c_uint16,
    "int32": ctypes.c_int32,
    "uint32": ctypes.c_uint32,
    "int64": ctypes.c_int64,
    "uint64": ctypes.c_uint64,
    "float32": ctypes.c_float,
    "float64": ctypes.c_double,
}


def prototype(problem: KernelProblem) -> Any:
    """The type of the function: addresses and numbers in the order of the arguments, no result."""
    kinds = [
        ctypes.c_void_p if isinstance(each, Array) else _NUMBERS[each.dtype]
        for each in problem.made.arguments
    ]
    return ctypes.CFUNCTYPE(None, *kinds)


def numbers(problem: KernelProblem, addresses: Sequence[int], given: Mapping[str, Any]) -> list[Any]:
    """What the function is called with, for the addresses of the arrays in their order."""
    made, sizes, lie = problem.made, problem.all_sizes, iter(addresses)
    return [
        next(lie) if isinstance(each, Array) else made.scalar(each, sizes, given) for each in made.arguments
    ]


def bound(
    kernel: Kernel, problem: KernelProblem, addresses: Sequence[int], given: Mapping[str, Any]
) -> Callable[[], object]:
    """A call of a kernel on arrays at these addresses, with these scalars by name."""
    kinds = prototype(problem)
    function = kinds(kernel.address)
    # Converted once: a call converts nothing but what is of a plain number's type.
    converted = [
        kind(value) for kind, value in zip(kinds._argtypes_, numbers(problem, addresses, given), strict=True)
    ]

    def run() -> None:
        function(*converted)

    run.kernel = kernel  # type: ignore[attr-defined]  # the code lives as long as its owner
    return run
