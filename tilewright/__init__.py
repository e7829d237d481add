"""Tilewright writes, prunes, measures and runs matrix-multiplication kernels for the machine it is on."""

from tilewright.api import explain, gemm, matmul, plan, tune
from tilewright.calls.executable import Executable
from tilewright.calls.list_forms import Grouped, Groups, Pointers, gemm_batched, gemm_grouped, plan_grouped
from tilewright.calls.settings import forget, set_threads
from tilewright.errors import (
    ArgumentError,
    CompileError,
    DeviceError,
    DTypeError,
    RecordsError,
    TilewrightError,
    UnsupportedError,
)
from tilewright.model import Problem

__version__ = "0.1.0"

__all__ = [
    "ArgumentError",
    "CompileError",
    "DTypeError",
    "DeviceError",
    "Executable",
    "Grouped",
    "Groups",
    "Pointers",
    "Problem",
    "RecordsError",
    "TilewrightError",
    "UnsupportedError",
    "explain",
    "forget",
    "gemm",
    "gemm_batched",
    "gemm_grouped",
    "matmul",
    "plan",
    "plan_grouped",
    "set_threads",
    "tune",
]
