"""Tilewright writes, prunes, measures and runs matrix-multiplication kernels for the machine it is on.

What is public is loaded when it is first asked for (PEP 562): a program that imports the package and
multiplies later, or never, does not wait for NumPy, LLVM and the stencils. Once loaded a name is a plain
attribute of this module, so a call costs the look-up that it always did.
"""

from tilewright.loading import load as _load

__version__ = "0.1.0"

__all__ = [
    "ArgumentError",
    "CompileError",
    "DTypeError",
    "DeviceError",
    "Executable",
    "Grouped",
    "Groups",
    "InOut",
    "Input",
    "KernelError",
    "Output",
    "Pointers",
    "Problem",
    "RecordsError",
    "Scalar",
    "Stencil",
    "TilewrightError",
    "UnsupportedError",
    "chain",
    "count_gaps",
    "einsum",
    "explain",
    "export_kernels",
    "forget",
    "gaps",
    "gemm",
    "gemm_batched",
    "gemm_grouped",
    "kernel_set",
    "matmul",
    "plan",
    "plan_grouped",
    "segment_matmul",
    "set_threads",
    "tensordot",
    "transpose",
    "tune",
    "use_kernels",
]

# Type checkers take this for true: they read the imports, and know no other names. Importing the name from
# ``typing`` would cost as much as all the rest of this module.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from tilewright.api import (
        chain,
        einsum,
        explain,
        gemm,
        kernel_set,
        matmul,
        plan,
        tensordot,
        transpose,
        tune,
    )
    from tilewright.calls.executable import Executable
    from tilewright.calls.gaps import gaps
    from tilewright.calls.list_forms import (
        Grouped,
        Groups,
        Pointers,
        gemm_batched,
        gemm_grouped,
        plan_grouped,
    )
    from tilewright.calls.segments import segment_matmul
    from tilewright.calls.settings import count_gaps, forget, set_threads, use_kernels
    from tilewright.custom.definition import InOut, Input, Output, Scalar
    from tilewright.errors import (
        ArgumentError,
        CompileError,
        DeviceError,
        DTypeError,
        KernelError,
        RecordsError,
        TilewrightError,
        UnsupportedError,
    )
    from tilewright.export.library import export_kernels
    from tilewright.kernels.stencil import Stencil
    from tilewright.model import Problem
else:
    _MODULES = {
        "tilewright.api": (
            *("chain", "einsum", "explain", "gemm", "kernel_set", "matmul", "plan", "tensordot"),
            *("transpose", "tune"),
        ),
        "tilewright.calls.executable": ("Executable",),
        "tilewright.calls.gaps": ("gaps",),
        "tilewright.calls.list_forms": (
            "Grouped",
            "Groups",
            "Pointers",
            "gemm_batched",
            "gemm_grouped",
            "plan_grouped",
        ),
        "tilewright.calls.segments": ("segment_matmul",),
        "tilewright.calls.settings": ("count_gaps", "forget", "set_threads", "use_kernels"),
        "tilewright.custom.definition": ("InOut", "Input", "Output", "Scalar"),
        "tilewright.errors": (
            *("ArgumentError", "CompileError", "DTypeError", "DeviceError", "KernelError"),
            *("RecordsError", "TilewrightError", "UnsupportedError"),
        ),
        "tilewright.export.library": ("export_kernels",),
        "tilewright.kernels.stencil": ("Stencil",),
        "tilewright.model": ("Problem",),
    }
    _MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}

    def __getattr__(name):
        """A public name that nobody has asked for yet. Raises ``AttributeError`` for any other."""
        if name not in _MODULE_OF:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = _load(f"{_MODULE_OF[name]}:{name}")
        globals()[name] = value
        return value

    def __dir__():
        """All names, loaded or not."""
        return sorted({*globals(), *__all__})


del TYPE_CHECKING
