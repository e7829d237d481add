"""Where cuBLASLt is, the functions of it that are called here, and what their statuses mean.

The library is no dependency: where a process has it already, or a wheel or the system brings it, it is loaded
by ``ctypes``.
"""

from __future__ import annotations

import ctypes
import functools
import importlib.util
import os
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from tilewright.targets.cuda import bindings

MAJORS = (13, 12, 11)
"""Major versions of the library whose functions are as they are called here, newest first."""
STATUSES = {
    1: "NOT_INITIALIZED",
    3: "ALLOC_FAILED",
    7: "INVALID_VALUE",
    8: "ARCH_MISMATCH",
    11: "MAPPING_ERROR",
    13: "EXECUTION_FAILED",
    14: "INTERNAL_ERROR",
    15: "NOT_SUPPORTED",
    16: "LICENSE_ERROR",
}


def paths(maps: str, folders: Iterable[Path], newest: int) -> list[str]:
    """What to load, best first: what the process has loaded (``maps`` is what the system says of its
    memory), what wheels have brought (``folders`` are those of the package ``nvidia``), and names for the
    system to find. Of these two nothing of a later CUDA than ``newest``, which the driver could not run.
    """
    loaded = {line.split()[-1] for line in maps.splitlines() if "libcublasLt.so" in line}
    brought = [
        path
        for folder in folders
        for pattern in ("cu[0-9]*/lib", "cublas/lib")
        for path in folder.glob(f"{pattern}/libcublasLt.so.*")
    ]
    known = sorted(((_major(str(path)), str(path)) for path in brought), key=lambda pair: -pair[0])
    name = "cublasLt64_{}.dll" if os.name == "nt" else "libcublasLt.so.{}"
    return [
        *sorted((path for path in loaded if _major(path) in MAJORS), key=lambda path: -_major(path)),
        *(path for major, path in known if major in MAJORS and major <= newest),
        *(name.format(major) for major in MAJORS if major <= newest),
    ]


def _major(path: str) -> int:
    found = re.search(r"libcublasLt\.so\.(\d+)", path)
    return int(found[1]) if found else 0


def _folders() -> list[Path]:
    with suppress(ImportError, ValueError):
        spec = importlib.util.find_spec("nvidia")
        return [Path(folder) for folder in (spec.submodule_search_locations or ()) if folder] if spec else []
    return []


def _newest() -> int:
    """The major version of CUDA that the driver is of."""
    with suppress(Exception):
        asked = bindings.bindings().cuDriverGetVersion()
        return int(bindings.check(asked, "asking for the driver's version")) // 1000
    return MAJORS[0]


FUNCTIONS: dict[str, tuple[Any, ...]] = {
    "cublasLtCreate": (ctypes.c_void_p,),
    "cublasLtMatmulDescCreate": (ctypes.c_void_p, ctypes.c_int, ctypes.c_int),
    "cublasLtMatmulDescSetAttribute": (ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t),
    "cublasLtMatmulDescDestroy": (ctypes.c_void_p,),
    "cublasLtMatrixLayoutCreate": (
        ctypes.c_void_p,
        ctypes.c_int,
        ctypes.c_uint64,
        ctypes.c_uint64,
        ctypes.c_int64,
    ),
    "cublasLtMatrixLayoutSetAttribute": (ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t),
    "cublasLtMatrixLayoutDestroy": (ctypes.c_void_p,),
    "cublasLtMatmulPreferenceCreate": (ctypes.c_void_p,),
    "cublasLtMatmulPreferenceSetAttribute": (ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t),
    "cublasLtMatmulPreferenceDestroy": (ctypes.c_void_p,),
    "cublasLtMatmulAlgoGetHeuristic": (*(ctypes.c_void_p,) * 7, ctypes.c_int, *(ctypes.c_void_p,) * 2),
    "cublasLtMatmulAlgoCheck": (ctypes.c_void_p,) * 8,
    "cublasLtMatmulAlgoConfigGetAttribute": (
        ctypes.c_void_p,
        ctypes.c_int,
        ctypes.c_void_p,
        ctypes.c_size_t,
        ctypes.c_void_p,
    ),
    "cublasLtMatmul": (*(ctypes.c_void_p,) * 14, ctypes.c_size_t, ctypes.c_void_p),
}


def typed(found: Any, functions: Mapping[str, tuple[Any, ...]]) -> Any:
    """A library with the types of the functions that are called of it, all of which return a status.

    Raises ``AttributeError`` where it has not all of them.
    """
    for name, types in functions.items():
        function = getattr(found, name)
        function.argtypes, function.restype = types, ctypes.c_int
    return found


def declared(found: Any) -> Any:
    """cuBLASLt with the types of its functions: see ``typed``."""
    typed(found, FUNCTIONS)
    found.cublasLtGetVersion.argtypes, found.cublasLtGetVersion.restype = (), ctypes.c_size_t
    return found


@functools.cache
def library() -> Any:
    """The library; None where there is none. Loading it takes a moment, once, where nobody else has."""
    maps = ""
    with suppress(OSError):
        maps = Path("/proc/self/maps").read_text()
    for path in paths(maps, _folders(), _newest()):
        with suppress(OSError, AttributeError):
            return declared(ctypes.CDLL(path))
    return None


def version() -> int:
    """The library's version as it tells it: 13.1.0 is 130100 or so; 0 where there is none."""
    found = library()
    return 0 if found is None else int(found.cublasLtGetVersion())


class Refused(Exception):
    """A status of the library that is not success."""


def check(status: int, what: str) -> None:
    """Raises ``Refused`` for a status that is not success."""
    if status:
        raise Refused(f"{what} failed ({status_name(status)})")


def status_name(status: int) -> str:
    """A status as the library's headers name it."""
    return f"CUBLAS_STATUS_{STATUSES[status]}" if status in STATUSES else f"cuBLAS status {status}"


@functools.cache
def handle(index: int) -> int:
    """The library's handle for a GPU, which has to be current. It holds no stream and no workspace, so that
    one serves all threads."""
    made = ctypes.c_void_p()
    check(library().cublasLtCreate(ctypes.byref(made)), f"cublasLtCreate on GPU {index}")
    return made.value or 0
