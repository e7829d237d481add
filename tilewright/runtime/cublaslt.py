"""cuBLASLt, NVIDIA's library of matrix products, called directly: descriptors, algorithms, workspace.

Where the library is not here (``cublaslt_library``), or refuses a problem, the array library's own product is
what is left.

Everything that a call needs is prepared once, so that a call is one function: ``Operation`` holds the
descriptors of a problem, ``Product`` an operation with the algorithms chosen for it. An algorithm is 64 bytes
that only the library understands; ``Operation.describe`` says in numbers what it is.

Sums of 16-bit types are kept in float32, and float32 is multiplied as float32, or as TF32 where the problem
says so (``math``), which is timed beside our kernels and serves no call yet. Where a sum is divided among
blocks, its parts are added up in float32 too, unless the caller says that 16 bits will do (``narrow``), which
is what PyTorch's and CuPy's own products do unless they are told not to.
"""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from tilewright.errors import DeviceError
from tilewright.model import Config, Problem
from tilewright.runtime import compiled, cublaslt_library, cublaslt_spaces, fastcall_cuda
from tilewright.runtime.cublaslt_library import Refused, check, status_name
from tilewright.targets.cuda import driver

# ---- the constants of cublasLt.h, cublas_api.h and library_types.h

REAL_16, BFLOAT_16, REAL_32, REAL_64, COMPLEX_32, COMPLEX_64 = 2, 14, 0, 1, 4, 5
"""CUDA_R_16F, CUDA_R_16BF, CUDA_R_32F, CUDA_R_64F, CUDA_C_32F and CUDA_C_64F."""
COMPUTE_32, COMPUTE_64, COMPUTE_TF32 = 68, 70, 77
"""CUBLAS_COMPUTE_32F, which is no TF32, CUBLAS_COMPUTE_64F, and CUBLAS_COMPUTE_32F_FAST_TF32, which is."""
OPERATIONS = {"n": 0, "t": 1, "c": 2}
"""CUBLAS_OP_N, CUBLAS_OP_T and CUBLAS_OP_C. There is none that conjugates without transposing."""
DESC_TRANSA, DESC_TRANSB = 3, 4
LAYOUT_BATCH_COUNT, LAYOUT_BATCH_STRIDE = 5, 6
PREFERENCE_WORKSPACE, PREFERENCE_REDUCTION, PREFERENCE_ALIGNMENT = 1, 3, (5, 6, 7, 8)
REDUCTION_COMPUTE, REDUCTION_ANY = 2, 7
"""How the parts of a divided sum are added up: in the type of the arithmetic; or in that of C as well, in a
workspace or in C itself, where counters keep the order. All are the same from run to run."""
CONFIG = {
    "id": 0,
    "tile": 1,
    "splitk": 2,
    "reduction": 3,
    "swizzle": 4,
    "custom": 5,
    "stages": 6,
    "inner": 7,
    "cluster": 8,
}
"""CUBLASLT_ALGO_CONFIG_*: what an algorithm says of itself. The last two have 16 bits, all others 32."""

TYPES = {
    "h": (REAL_16, COMPUTE_32, REAL_32),
    "b": (BFLOAT_16, COMPUTE_32, REAL_32),
    "s": (REAL_32, COMPUTE_32, REAL_32),
    "d": (REAL_64, COMPUTE_64, REAL_64),
    "c": (COMPLEX_32, COMPUTE_32, COMPLEX_32),
    "z": (COMPLEX_64, COMPUTE_64, COMPLEX_64),
}
"""Types of the elements, of the arithmetic and of the scalars."""

ALGORITHM_BYTES = 64
LEAST_32 = 1 << 31


class Heuristic(ctypes.Structure):
    """``cublasLtMatmulHeuristicResult_t``."""

    _fields_ = (
        ("algorithm", ctypes.c_uint64 * 8),
        ("workspace", ctypes.c_size_t),
        ("state", ctypes.c_int),
        ("waves", ctypes.c_float),
        ("reserved", ctypes.c_int * 4),
    )


# ---- problems as descriptors


class Layout(NamedTuple):
    """One operand as it is described to the library, stored by columns."""

    kind: int
    rows: int
    columns: int
    ld: int
    batch: int
    stride: int


def layouts(problem: Problem) -> tuple[Layout, Layout, Layout]:
    """A, B and C of a problem as they are stored; a stride of 0 is one matrix for the whole batch."""
    p, kind = problem, TYPES[problem.dtype.letter][0]
    lds = (p.lda or 0, p.ldb or 0, p.ldc or 0)
    # Nobody moves from one matrix to the next where there is one.
    strides = p.strides if p.batch > 1 else (0, 0, 0)
    rows = zip(p.stored, lds, strides, strict=True)
    one, two, three = (Layout(kind, *shape, ld, p.batch, stride) for shape, ld, stride in rows)
    return one, two, three


def refusal(problem: Problem) -> str | None:
    """Why a problem cannot be described to the library; None when it can."""
    p = problem
    if p.dtype.letter not in TYPES:
        return f"the library has no type {p.dtype.letter}"
    if p.pointers:
        return "its matrices lie where a table says"
    if (p.conj_a and not p.transposed_a) or (p.conj_b and not p.transposed_b):
        return "the library conjugates only what it transposes"
    for layout in layouts(p):
        if layout.ld < layout.rows:
            return f"a leading dimension of {layout.ld} is less than {layout.rows} rows"
        if layout.stride < 0:
            return "matrices of the batch lie in descending order"
        if max(layout.rows, layout.columns, layout.ld, layout.batch) >= LEAST_32:
            return "a size does not fit 32 bits"
    return None


class Algorithm(NamedTuple):
    """One way of the library to compute a product: its bytes, and the workspace that it needs."""

    code: bytes
    workspace: int


class Operation:
    """The descriptors of one problem with its scalars on the current GPU, whose number is ``index``.

    ``narrow``: parts of a divided sum of a 16-bit type may be added up in 16 bits. Raises ``Refused`` where
    the library does not take them.
    """

    def __init__(self, problem: Problem, scalars: tuple[complex, complex], index: int, narrow: bool = False):
        found = cublaslt_library.library()
        self.problem, self.index, self.library, self.narrow = problem, index, found, narrow
        self.handle = cublaslt_library.handle(index)
        _, compute, scale = TYPES[problem.dtype.letter]
        if problem.math == "tf32":
            compute = COMPUTE_TF32
        self.desc = self._made("MatmulDesc", compute, scale)
        for which, letter in ((DESC_TRANSA, problem.trans_a), (DESC_TRANSB, problem.trans_b)):
            # Of real numbers the conjugate is the number itself.
            plain = letter if problem.dtype.is_complex else {"c": "t", "j": "n"}.get(letter, letter)
            self._set("MatmulDesc", self.desc, which, ctypes.c_int32(OPERATIONS[plain]))
        self.layouts = [self._layout(each) for each in layouts(problem)]
        wide = ctypes.c_double if problem.dtype.real_bits == 64 else ctypes.c_float
        parts = [part for value in scalars for part in (complex(value).real, complex(value).imag)]
        self.scalars = (wide * 4)(*parts)
        self.alpha = ctypes.addressof(self.scalars)
        self.beta = self.alpha + 2 * ctypes.sizeof(wide)

    def _made(self, kind: str, *arguments: int) -> int:
        made = ctypes.c_void_p()
        status = getattr(self.library, f"cublasLt{kind}Create")(ctypes.byref(made), *arguments)
        check(status, f"cublasLt{kind}Create for {self.problem.spelling}")
        weakref.finalize(self, getattr(self.library, f"cublasLt{kind}Destroy"), made.value).atexit = False
        return made.value or 0

    def _set(self, kind: str, made: int, which: int, value: Any) -> None:
        function = getattr(self.library, f"cublasLt{kind}SetAttribute")
        status = function(made, which, ctypes.byref(value), ctypes.sizeof(value))
        check(status, f"cublasLt{kind}SetAttribute {which}")

    def _layout(self, layout: Layout) -> int:
        made = self._made("MatrixLayout", *layout[:4])
        if layout.batch > 1:
            self._set("MatrixLayout", made, LAYOUT_BATCH_COUNT, ctypes.c_int32(layout.batch))
            self._set("MatrixLayout", made, LAYOUT_BATCH_STRIDE, ctypes.c_int64(layout.stride))
        return made

    def algorithms(self, workspace: int, count: int) -> list[Algorithm]:
        """At most ``count`` algorithms within ``workspace`` bytes, the one that the library expects to be the
        fastest first. Raises ``Refused`` where it has none."""
        made = ctypes.c_void_p()
        status = self.library.cublasLtMatmulPreferenceCreate(ctypes.byref(made))
        check(status, "cublasLtMatmulPreferenceCreate")
        preference = made.value or 0
        try:
            self._prefer(preference, workspace)
            results, returned = (Heuristic * count)(), ctypes.c_int()
            a, b, c = self.layouts
            status = self.library.cublasLtMatmulAlgoGetHeuristic(
                *(self.handle, self.desc, a, b, c, c, preference, count),
                *(ctypes.addressof(results), ctypes.byref(returned)),
            )
            check(status, f"cublasLtMatmulAlgoGetHeuristic for {self.problem.spelling}")
        finally:
            self.library.cublasLtMatmulPreferenceDestroy(preference)
        return [
            Algorithm(bytes(each.algorithm), each.workspace)
            for each in results[: returned.value]
            if each.state == 0 and each.workspace <= workspace
        ]

    def _prefer(self, preference: int, workspace: int) -> None:
        p = self.problem
        # In 16 bits each part of a sum is rounded; all others are stored as they are kept.
        rounds = p.dtype.real_bits == 16 and not self.narrow
        schemes = REDUCTION_COMPUTE if rounds else REDUCTION_ANY
        values = [(PREFERENCE_WORKSPACE, ctypes.c_uint64(workspace))]
        values += [(PREFERENCE_REDUCTION, ctypes.c_uint32(schemes))]  # type: ignore[list-item]
        values += [(which, ctypes.c_uint32(p.align)) for which in PREFERENCE_ALIGNMENT]  # type: ignore[misc]
        for which, value in values:
            self._set("MatmulPreference", preference, which, value)

    def checked(self, code: bytes) -> Algorithm | None:
        """An algorithm from its bytes; None where this library cannot run it on this problem and GPU."""
        buffer, result = ctypes.create_string_buffer(code, len(code)), Heuristic()
        a, b, c = self.layouts
        status = self.library.cublasLtMatmulAlgoCheck(
            self.handle, self.desc, a, b, c, c, ctypes.addressof(buffer), ctypes.byref(result)
        )
        return None if status or result.state else Algorithm(code, result.workspace)

    def describe(self, algorithm: Algorithm) -> Config:
        """An algorithm as a config: what it says of itself, and all that ``named`` needs to have it again."""
        values: dict[str, Any] = {}
        buffer = ctypes.create_string_buffer(algorithm.code, ALGORITHM_BYTES)
        for name, which in CONFIG.items():
            short = name in ("inner", "cluster")
            value = ctypes.c_uint16() if short else ctypes.c_int32()
            into = ctypes.byref(value), ctypes.sizeof(value), ctypes.byref(ctypes.c_size_t())
            get = self.library.cublasLtMatmulAlgoConfigGetAttribute
            # An older library has not all of them.
            if not get(ctypes.addressof(buffer), which, *into):
                values[name] = value.value
        values |= {
            "workspace": algorithm.workspace,
            "version": cublaslt_library.version(),
            "algorithm": algorithm.code.hex(),
        }
        return Config(values)

    def named(self, config: Config | None) -> Algorithm | None:
        """The algorithm of a config; None where it names none, or one of another version of the library, or
        one that does not run here."""
        if not config or config.get("version") != cublaslt_library.version():
            return None
        code = bytes.fromhex(config.get("algorithm", ""))
        return self.checked(code) if len(code) == ALGORITHM_BYTES else None


# ---- products


class Product:
    """A problem with its scalars and its algorithms on the current GPU, to be multiplied at any addresses.

    ``best`` is the algorithm of every call but those that can have no workspace, whose algorithm is
    ``plain``. Raises ``Refused`` where the library cannot serve the problem.
    """

    def __init__(self, operation: Operation, best: Algorithm, plain: Algorithm | None = None):
        self.operation, self.best = operation, best
        if best.workspace:
            found = plain or next(iter(operation.algorithms(0, 1)), None)
            if found is None:
                raise Refused(f"{operation.problem.spelling}: every algorithm needs a workspace")
        else:
            found = best
        self.plain = found
        self.spaces = cublaslt_spaces.workspaces(operation.index) if best.workspace else None
        self._codes = [ctypes.create_string_buffer(x.code, ALGORITHM_BYTES) for x in (best, found)]

    def __call__(self, a: int, b: int, c: int, stream: int) -> None:
        """C = alpha op(A) op(B) + beta C at these addresses on a stream. Nothing is waited for.

        Raises ``DeviceError`` when the library refuses.
        """
        space = None if self.spaces is None else self.spaces.of(stream)
        code = self._multiply(a, b, c, stream, space)
        if code:
            # A thread that has never used the GPU has no context.
            driver.context(self.operation.index)
            code = self._multiply(a, b, c, stream, space)
        if code:
            raise DeviceError(
                f"cublasLtMatmul of {self.operation.problem.spelling} failed ({status_name(code)})"
            )

    def _multiply(self, a: int, b: int, c: int, stream: int, space: int | None) -> int:
        o, (best, plain) = self.operation, self._codes
        la, lb, lc = o.layouts
        algorithm, size = (plain, 0) if space is None else (best, self.best.workspace)
        status: int = o.library.cublasLtMatmul(
            *(o.handle, o.desc, o.alpha, a, la, b, lb, o.beta, c, lc, c, lc),
            *(ctypes.addressof(algorithm), space, size, stream),
        )
        return status

    def starting(self, swap: bool) -> fastcall_cuda.Start:
        """A function of the addresses of a, b and out and of a stream, compiled where that can be. With
        ``swap`` the first address is that of B."""

        def slow(a: int, b: int, out: int, stream: int) -> None:
            self(*((b, a) if swap else (a, b)), out, stream)

        o, spaces = self.operation, self.spaces
        a, b, c = o.layouts
        words = {
            "matmul": compiled.address_of(o.library.cublasLtMatmul),
            "handle": o.handle,
            "operation": o.desc,
            "alpha": o.alpha,
            "beta": o.beta,
            "layout_a": a,
            "layout_b": b,
            "layout_c": c,
            "algorithm": ctypes.addressof(self._codes[0]),
            "size": self.best.workspace,
            "swap": int(swap),
            "spaces": 0 if spaces is None else ctypes.addressof(spaces.table),
            "capturing": 0 if spaces is None else driver.entry("cuStreamIsCapturing"),
        }
        return fastcall_cuda.multiplying(words, slow, self) or slow


def product(
    problem: Problem,
    scalars: tuple[complex, complex],
    index: int,
    config: Config | None = None,
    narrow: bool = False,
) -> Product | str:
    """A problem ready to be multiplied on the current GPU, by the algorithm of a config, or else by that
    which the library expects to be the fastest; or why it cannot be. ``narrow`` is ``Operation``'s."""
    if cublaslt_library.library() is None:
        return "cuBLASLt is not here"
    reason = refusal(problem)
    if reason is not None:
        return reason
    try:
        operation, size = Operation(problem, scalars, index, narrow), cublaslt_spaces.workspace_bytes(index)
        best = operation.named(config)
        if best is None or best.workspace > size:
            found = operation.algorithms(size, 1)
            if not found:
                return f"cuBLASLt has no algorithm for {problem.spelling}"
            best = found[0]
        return Product(operation, best)
    except Refused as error:
        return str(error)


def candidates(
    problem: Problem, scalars: tuple[complex, complex], index: int, count: int
) -> Sequence[tuple[Config, Product]] | str:
    """The algorithms that the library proposes for a problem, at most ``count``, each as a config and ready
    to be multiplied; or why there are none."""
    first = product(problem, scalars, index)
    if isinstance(first, str):
        return first
    operation, made = first.operation, []
    with suppress(Refused):
        for algorithm in operation.algorithms(cublaslt_spaces.workspace_bytes(index), count):
            made.append((operation.describe(algorithm), Product(operation, algorithm, first.plain)))
    return made
