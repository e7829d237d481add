"""cuBLASLt without a GPU: a library of C functions in its place multiplies on the host's memory."""

from __future__ import annotations

import ctypes
import gc
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tilewright.arrays import torch_
from tilewright.arrays.layout import Job
from tilewright.arrays.library import Library
from tilewright.calls import explain
from tilewright.dtypes import narrowed, widened
from tilewright.errors import DeviceError
from tilewright.model import Config, Plan, Problem
from tilewright.planning import dispatch
from tilewright.runtime import bound_cuda, cublaslt, fastcall_cuda
from tilewright.targets.cuda import capability, driver

pytestmark = pytest.mark.cpu

INT, SIZE, POINTER = ctypes.c_int, ctypes.c_size_t, ctypes.c_void_p
VERSION = 130100
HANDLE = 4242
PLAIN, SPLIT = (bytes([number]) * cublaslt.ALGORITHM_BYTES for number in (1, 2))
NEED = 4096
"""Bytes of workspace that the algorithm ``SPLIT`` needs."""


def put(address: int, value: int) -> None:
    ctypes.c_uint64.from_address(address).value = value


class Lt:
    """The library, as far as it is called. What was created is a dictionary under a number."""

    def __init__(self) -> None:
        self.made: dict[int, dict[Any, Any]] = {}
        self.calls: list[dict[str, Any]] = []
        self.statuses: list[int] = []
        self.offers = [SPLIT, PLAIN]
        self.preferences: list[dict[Any, Any]] = []
        self.refuses: set[bytes] = set()
        self.works = True
        functions: dict[str, Callable[..., int]] = {
            "cublasLtCreate": self.create,
            "cublasLtMatmulDescCreate": self.of("compute", "scale"),
            "cublasLtMatrixLayoutCreate": self.of("kind", "rows", "columns", "ld"),
            "cublasLtMatmulPreferenceCreate": self.of(),
            "cublasLtMatmulDescSetAttribute": self.set,
            "cublasLtMatrixLayoutSetAttribute": self.set,
            "cublasLtMatmulPreferenceSetAttribute": self.set,
            "cublasLtMatmulDescDestroy": self.destroy,
            "cublasLtMatrixLayoutDestroy": self.destroy,
            "cublasLtMatmulPreferenceDestroy": self.destroy,
            "cublasLtMatmulAlgoGetHeuristic": self.heuristic,
            "cublasLtMatmulAlgoCheck": self.check,
            "cublasLtMatmulAlgoConfigGetAttribute": self.attribute,
            "cublasLtMatmul": self.matmul,
        }
        made: dict[str, Any] = {}
        for name, function in functions.items():
            # Addresses as numbers, also where they are NULL.
            types = [SIZE if kind is POINTER else kind for kind in cublaslt._FUNCTIONS[name]]
            made[name] = ctypes.CFUNCTYPE(INT, *types)(function)
        made["cublasLtGetVersion"] = ctypes.CFUNCTYPE(SIZE)(lambda: VERSION)
        self.library = cublaslt.declared(SimpleNamespace(**made))

    def create(self, into: int) -> int:
        put(into, HANDLE)
        return 0

    def of(self, *names: str) -> Callable[..., int]:
        def create(into: int, *values: int) -> int:
            number = 1000 + len(self.made)
            self.made[number] = dict(zip(names, values, strict=True))
            put(into, number)
            return 0

        return create

    def set(self, number: int, which: int, at: int, size: int) -> int:
        self.made[number][which] = int.from_bytes(ctypes.string_at(at, size), "little", signed=True)
        return 0

    def destroy(self, number: int) -> int:
        self.made[number]["destroyed"] = True
        return 0

    def heuristic(self, *arguments: int) -> int:
        handle, _, _, _, _, _, preference, count, results, returned = arguments
        assert handle == HANDLE
        wants = self.made[preference]
        self.preferences.append(dict(wants))
        room = wants[cublaslt.PREFERENCE_WORKSPACE]
        offered = [code for code in self.offers if code != SPLIT or room >= NEED][:count]
        for index, code in enumerate(offered):
            result = cublaslt.Heuristic.from_address(results + index * ctypes.sizeof(cublaslt.Heuristic))
            ctypes.memmove(ctypes.addressof(result), code, len(code))
            result.workspace, result.state = NEED * (code == SPLIT), 0
        INT.from_address(returned).value = len(offered)
        return 0 if offered else 15

    def check(self, *arguments: int) -> int:
        code = ctypes.string_at(arguments[6], cublaslt.ALGORITHM_BYTES)
        result = cublaslt.Heuristic.from_address(arguments[7])
        result.workspace, result.state = NEED * (code == SPLIT), 0
        return 15 if code in self.refuses else 0

    def attribute(self, algorithm: int, which: int, value: int, size: int, written: int) -> int:
        ctypes.memmove(value, int(10 * which + 1).to_bytes(size, "little"), size)
        put(written, size)
        return 0

    def matmul(self, *arguments: int) -> int:
        handle, desc, alpha, a, la, b, lb, beta, c, lc, d, ld, algorithm, space, size, stream = arguments
        assert (handle, c, lc) == (HANDLE, d, ld)
        code = ctypes.string_at(algorithm, cublaslt.ALGORITHM_BYTES)
        self.calls.append(
            {
                "algorithm": code,
                "space": space,
                "size": size,
                "stream": stream,
                "thread": threading.get_ident(),
                "addresses": (a, b, c),
            }
        )
        if self.statuses and (status := self.statuses.pop(0)):
            return status
        if self.works:
            self.compute(self.made[desc], (alpha, beta), (a, b, c), [self.made[x] for x in (la, lb, lc)])
        return 0

    @staticmethod
    def compute(desc: dict[Any, Any], scalars: Any, at: Any, layouts: list[dict[Any, Any]]) -> None:
        """C = alpha op(A) op(B) + beta C, from nothing but what the descriptors say."""
        letter = next(x for x, (kind, *_) in cublaslt.TYPES.items() if kind == layouts[0]["kind"])
        (problem,) = Problem.parse(f"{letter}:1x1x1")
        dtype = problem.dtype.numpy
        assert (desc["compute"], desc["scale"]) == cublaslt.TYPES[letter][1:]
        assert {layout["kind"] for layout in layouts} == {cublaslt.TYPES[letter][0]}
        a, b, c = (matrices(x, layout, dtype) for x, layout in zip(at, layouts, strict=True))
        wide_a, wide_b = (
            operated(widened(x), desc[which])
            for x, which in ((a, cublaslt.DESC_TRANSA), (b, cublaslt.DESC_TRANSB))
        )
        scale = {0: np.float32, 1: np.float64, 4: np.complex64, 5: np.complex128}[desc["scale"]]
        alpha, beta = (
            np.frombuffer(ctypes.string_at(x, np.dtype(scale).itemsize), scale)[0] for x in scalars
        )
        made = alpha * (wide_a @ wide_b)
        made = made if beta == 0 else made + beta * widened(c)
        c[...] = narrowed(made, dtype) if letter in "hb" else made


def matrices(address: int, layout: dict[Any, Any], dtype: Any) -> np.ndarray:
    batch = layout.get(cublaslt.LAYOUT_BATCH_COUNT, 1)
    step, size = layout.get(cublaslt.LAYOUT_BATCH_STRIDE, 0), dtype.itemsize
    assert layout["ld"] >= layout["rows"]

    class Interface:
        __array_interface__ = {  # noqa: RUF012
            "data": (address, False),
            "shape": (batch, layout["rows"], layout["columns"]),
            "strides": (step * size, size, layout["ld"] * size),
            "typestr": dtype.str if dtype.kind != "V" else f"<u{size}",
            "version": 3,
        }

    return np.asarray(Interface()).view(dtype)


def operated(x: np.ndarray, operation: int) -> np.ndarray:
    assert operation in (0, 1, 2)
    x = x if operation == 0 else x.swapaxes(1, 2)
    return x.conj() if operation == 2 else x


@pytest.fixture
def lt(monkeypatch: pytest.MonkeyPatch) -> Iterator[Lt]:
    made = Lt()
    contexts: list[int] = []
    recording: set[int] = set()
    function = ctypes.CFUNCTYPE(INT, SIZE, POINTER)(lambda stream, into: asked(stream, into))
    address = ctypes.cast(function, POINTER).value or 0

    def asked(stream: int, into: int) -> int:
        INT.from_address(into).value = int(stream in recording)
        return 0

    monkeypatch.setattr(cublaslt, "library", lambda: made.library)
    monkeypatch.setattr(cublaslt, "workspace_bytes", lambda index: 1 << 20)
    monkeypatch.setattr(driver, "context", lambda index=0: contexts.append(index) or 1)
    monkeypatch.setattr(driver, "capturing", lambda stream: stream in recording)
    monkeypatch.setattr(driver, "entry", lambda name: address)
    spaces = cublaslt.Workspaces(
        0, 1 << 20, lambda size: SimpleNamespace(address=0x5000 + 0x100 * next(numbers))
    )
    numbers = iter(range(10**6))
    monkeypatch.setattr(cublaslt, "workspaces", lambda index: spaces)
    cublaslt._handle.cache_clear()
    made.contexts, made.recording, made.spaces, made.keep = contexts, recording, spaces, function  # type: ignore[attr-defined]
    yield made
    cublaslt._handle.cache_clear()


def one(spelling: str, **fields: Any) -> Problem:
    return Problem.parse(spelling, **fields)[0]


# ---- what the headers say


def test_the_constants_are_those_of_the_headers() -> None:
    """library_types.h, cublas_api.h and cublasLt.h of CUDA 11 to 13."""
    assert {
        "CUDA_R_32F": cublaslt.REAL_32,
        "CUDA_R_64F": cublaslt.REAL_64,
        "CUDA_R_16F": cublaslt.REAL_16,
        "CUDA_C_32F": cublaslt.COMPLEX_32,
        "CUDA_C_64F": cublaslt.COMPLEX_64,
        "CUDA_R_16BF": cublaslt.BFLOAT_16,
        "CUBLAS_COMPUTE_32F": cublaslt.COMPUTE_32,
        "CUBLAS_COMPUTE_64F": cublaslt.COMPUTE_64,
        "CUBLAS_COMPUTE_32F_FAST_TF32": cublaslt.COMPUTE_TF32,
        "CUBLASLT_MATMUL_DESC_TRANSA": cublaslt.DESC_TRANSA,
        "CUBLASLT_MATMUL_DESC_TRANSB": cublaslt.DESC_TRANSB,
        "CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT": cublaslt.LAYOUT_BATCH_COUNT,
        "CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET": cublaslt.LAYOUT_BATCH_STRIDE,
        "CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES": cublaslt.PREFERENCE_WORKSPACE,
        "CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK": cublaslt.PREFERENCE_REDUCTION,
        "CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE": cublaslt.REDUCTION_COMPUTE,
        "CUBLASLT_REDUCTION_SCHEME_MASK": cublaslt.REDUCTION_ANY,
    } == {
        "CUDA_R_32F": 0,
        "CUDA_R_64F": 1,
        "CUDA_R_16F": 2,
        "CUDA_C_32F": 4,
        "CUDA_C_64F": 5,
        "CUDA_R_16BF": 14,
        "CUBLAS_COMPUTE_32F": 68,
        "CUBLAS_COMPUTE_64F": 70,
        "CUBLAS_COMPUTE_32F_FAST_TF32": 77,
        "CUBLASLT_MATMUL_DESC_TRANSA": 3,
        "CUBLASLT_MATMUL_DESC_TRANSB": 4,
        "CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT": 5,
        "CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET": 6,
        "CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES": 1,
        "CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK": 3,
        "CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE": 2,
        "CUBLASLT_REDUCTION_SCHEME_MASK": 7,
    }
    assert cublaslt.OPERATIONS == {"n": 0, "t": 1, "c": 2}
    assert cublaslt.PREFERENCE_ALIGNMENT == (5, 6, 7, 8)
    assert list(cublaslt.CONFIG.values()) == list(range(9))
    result = cublaslt.Heuristic
    assert (ctypes.sizeof(result), result.workspace.offset, result.state.offset) == (96, 64, 72)
    assert (result.waves.offset, result.reserved.offset) == (76, 80)


# ---- where the library is


def test_the_order_in_which_the_library_is_looked_for(tmp_path: Path) -> None:
    files = [
        "cu13/lib/libcublasLt.so.13",
        "cublas/lib/libcublasLt.so.12",
        "cublas/lib/libcublas.so.12",
        "cu13/lib/libcublasLt.so.99",
    ]
    for name in files:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    maps = "7f00-7f01 r-xp 0 08:01 5 /opt/x/libcublasLt.so.12.8.4\n7f02-7f03 r-xp 0 0 0 [heap]\n"
    names = ["libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so.11"]
    wheels = [str(tmp_path / name) for name in files[:2]]
    assert cublaslt.paths(maps, [tmp_path], 13) == ["/opt/x/libcublasLt.so.12.8.4", *wheels, *names]
    assert cublaslt.paths("", [tmp_path, tmp_path / "none"], 12) == [*wheels[1:], *names[1:]]
    assert cublaslt.paths("", [], 13) == names


def test_a_library_that_does_not_load_or_lacks_a_function_is_passed_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tried: list[str] = []

    def load(path: str) -> Any:
        tried.append(path)
        if path == "broken":
            raise OSError("no such file")
        return SimpleNamespace() if path == "old" else made.library

    made = Lt()
    monkeypatch.setattr(cublaslt, "paths", lambda *_: ["broken", "old", "good", "never"])
    only = SimpleNamespace(CDLL=load, c_int=INT, c_size_t=SIZE)
    monkeypatch.setattr(cublaslt, "ctypes", only)
    cublaslt.library.cache_clear()
    try:
        assert cublaslt.library() is made.library
        assert cublaslt.version() == VERSION
        assert tried == ["broken", "old", "good"]
        cublaslt.library.cache_clear()
        monkeypatch.setattr(cublaslt, "paths", lambda *_: ["broken"])
        assert cublaslt.library() is None
        assert cublaslt.version() == 0
        assert cublaslt.product(one("s:8x8x8"), (1, 0), 0) == "cuBLASLt is not here"
    finally:
        cublaslt.library.cache_clear()


# ---- problems as layouts


def test_layouts() -> None:
    (a, b, c) = cublaslt.layouts(one("z:tn:5x7x3", lda=9, ldc=11))
    assert a == (cublaslt.COMPLEX_64, 3, 5, 9, 1, 0)
    assert b == (cublaslt.COMPLEX_64, 3, 7, 3, 1, 0)
    assert c == (cublaslt.COMPLEX_64, 5, 7, 11, 1, 0)
    (a, b, c) = cublaslt.layouts(one("b:nt:5x7x3@6", stride_a=0, stride_b=40))
    assert a == (cublaslt.BFLOAT_16, 5, 3, 5, 6, 0)
    assert b == (cublaslt.BFLOAT_16, 7, 3, 7, 6, 40)
    assert c == (cublaslt.BFLOAT_16, 5, 7, 5, 6, 35)


@pytest.mark.parametrize(
    ("spelling", "fields", "words"),
    [
        ("hc:8x8x8", {}, "no type hc"),
        ("c:jn:8x8x8", {}, "conjugates only what it transposes"),
        ("z:nj:8x8x8", {}, "conjugates only what it transposes"),
        ("s:8x8x8", {"lda": 0}, "leading dimension of 0 is less than 8 rows"),
        ("s:8x8x8@4", {"stride_b": -64}, "descending"),
        ("s:8x8x8@4", {"pointers": True}, "table"),
        ("s:8x8x8", {"ldb": 1 << 31}, "32 bits"),
    ],
)
def test_what_cannot_be_described(lt: Lt, spelling: str, fields: dict[str, Any], words: str) -> None:
    problem = one(spelling, **fields)
    assert words in (cublaslt.refusal(problem) or "")
    assert words in str(cublaslt.product(problem, (1, 0), 0))
    assert lt.made == {}
    assert cublaslt.refusal(one("s:jj:8x8x8")) is None, "of real numbers a conjugate is the number itself"


# ---- products


def stored(problem: Problem, name: str, seed: int) -> np.ndarray:
    """An operand as it lies in memory: (batch, column, row), with room for its leading dimension and gaps."""
    a, b, c = cublaslt.layouts(problem)
    layout = {"a": a, "b": b, "c": c}[name]
    dtype = problem.dtype.numpy
    draw = np.random.default_rng((seed, ord(name)))
    count = layout.stride * (layout.batch - 1) + layout.ld * layout.columns
    values = draw.uniform(-1, 1, count)
    if problem.dtype.is_complex:
        values = values + 1j * draw.uniform(-1, 1, count)
    flat = values.astype(dtype)
    kind = {"kind": 0, "rows": layout.rows, "columns": layout.columns, "ld": layout.ld}
    kind |= {cublaslt.LAYOUT_BATCH_COUNT: layout.batch, cublaslt.LAYOUT_BATCH_STRIDE: layout.stride}
    KEPT.append(flat)
    return matrices(flat.ctypes.data, kind, dtype)


KEPT: list[np.ndarray] = []
"""What the arrays of ``stored`` lie in: they are views by address, which keep nothing."""


def wanted(problem: Problem, a: Any, b: Any, c: Any, alpha: complex, beta: complex) -> np.ndarray:
    def op(x: np.ndarray, transposed: bool, conj: bool) -> np.ndarray:
        x = widened(x).swapaxes(1, 2) if transposed else widened(x)
        return x.conj() if conj else x

    made = op(a, problem.transposed_a, problem.conj_a) @ op(b, problem.transposed_b, problem.conj_b)
    return alpha * made + (beta * widened(c) if beta else 0)


@pytest.mark.parametrize("letter", "hbsdcz")
@pytest.mark.parametrize("trans", ["nn", "nt", "tn", "cc", "ct"])
@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"lda": 19, "ldb": 23, "ldc": 29},
        {"batch": 5},
        {"batch": 5, "stride_a": 0},
        {"batch": 5, "stride_b": 0, "stride_c": 400, "ldc": 12},
        {"alpha": "any", "beta": "any", "batch": 2},
    ],
)
@pytest.mark.parametrize("swap", [False, True])
def test_products(lt: Lt, letter: str, trans: str, fields: dict[str, Any], swap: bool) -> None:
    problem = one(f"{letter}:{trans}:9x7x5", **fields)
    complex_ = problem.dtype.is_complex
    alpha = 1 if problem.alpha == "1" else (1.5 - 0.5j if complex_ else 1.5)
    beta = 0 if problem.beta == "0" else (0.25 + 2j if complex_ else 0.25)
    a, b, c = (stored(problem, name, 1) for name in "abc")
    want = wanted(problem, a, b, c, alpha, beta)
    if beta == 0:
        c[...] = narrowed(np.full(c.shape, np.nan, np.float32), c.dtype) if letter in "hb" else np.nan
    made = cublaslt.product(problem, (alpha, beta), 0)
    assert isinstance(made, cublaslt.Product)
    start = made.starting(swap)
    addresses = (b.ctypes.data, a.ctypes.data) if swap else (a.ctypes.data, b.ctypes.data)
    assert start(*addresses, c.ctypes.data, 7) is None
    np.testing.assert_allclose(widened(c), want, rtol=1e-5 if letter not in "hb" else 2e-2, atol=1e-2)
    (said,) = lt.calls
    assert said["stream"] == 7
    wants = lt.preferences[0]
    assert wants[cublaslt.PREFERENCE_WORKSPACE] == 1 << 20
    assert wants[cublaslt.PREFERENCE_REDUCTION] == (2 if letter in "hb" else 7)
    assert [wants[which] for which in cublaslt.PREFERENCE_ALIGNMENT] == [problem.align] * 4


def test_descriptors_go_with_what_they_describe(lt: Lt) -> None:
    made = cublaslt.product(one("s:8x8x8"), (1, 0), 0)
    assert isinstance(made, cublaslt.Product)
    start = made.starting(False)
    living = [x for x in lt.made.values() if "destroyed" not in x]
    assert len(living) == 4, "the operation and three layouts; preferences are gone"
    del made
    assert [x for x in lt.made.values() if "destroyed" not in x] == living
    del start
    gc.collect()
    assert [x for x in lt.made.values() if "destroyed" not in x] == []


def test_tf32_is_multiplied_only_where_the_problem_says_so(lt: Lt) -> None:
    for math, compute in (("ieee", cublaslt.COMPUTE_32), ("tf32", cublaslt.COMPUTE_TF32)):
        made = cublaslt.Operation(one("s:8x8x8", math=math), (1, 0), 0)
        assert lt.made[made.desc]["compute"] == compute


# ---- workspace


def product_of(spelling: str = "s:8x8x8") -> tuple[cublaslt.Product, Any, list[Any]]:
    """A product with the slow calls that its compiled function makes."""
    made = cublaslt.product(one(spelling), (1, 0), 0)
    assert isinstance(made, cublaslt.Product)
    slow: list[Any] = []

    class Noted(cublaslt.Product):
        def __call__(self, *arguments: int) -> None:
            slow.append(arguments)
            super().__call__(*arguments)

    made.__class__ = Noted
    return made, made.starting(False), slow


def test_a_stream_and_thread_get_a_workspace_once(lt: Any) -> None:
    lt.works = False
    made, start, slow = product_of()
    assert made.best.workspace == NEED
    for stream in (5, 5, 9, 5, 9):
        start(1, 2, 3, stream)
    assert len(slow) == 2, "the first call of each stream"
    spaces = [call["space"] for call in lt.calls]
    assert spaces[0] == spaces[1] == spaces[3] != spaces[2] == spaces[4]
    assert 0 not in spaces
    assert {call["algorithm"] for call in lt.calls} == {SPLIT}
    assert {call["size"] for call in lt.calls} == {NEED}
    # Another plan finds them.
    _, other, slow_other = product_of("s:9x9x9")
    other(1, 2, 3, 9)
    assert slow_other == []
    assert lt.calls[-1]["space"] == spaces[2]


def test_threads_do_not_share_a_workspace(lt: Any) -> None:
    lt.works = False
    _, start, _ = product_of()
    together = threading.Barrier(4)
    switch = sys.getswitchinterval()

    def work() -> None:
        together.wait()
        for _ in range(300):
            start(1, 2, 3, 5)

    threads = [threading.Thread(target=work) for _ in range(4)]
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    finally:
        sys.setswitchinterval(switch)
    pairs = {(call["thread"], call["space"]) for call in lt.calls}
    assert len(lt.calls) == 1200
    assert len(pairs) == len({thread for thread, _ in pairs}) == len({space for _, space in pairs}) == 4


@pytest.mark.parametrize("why", ["recorded", "per thread", "no memory", "no room"])
def test_where_there_can_be_no_workspace_the_algorithm_needs_none(
    lt: Any, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lt.works = False
    _, start, slow = product_of()
    stream = 5
    if why == "recorded":
        start(1, 2, 3, 5)
        lt.recording.add(5)
    elif why == "per thread":
        stream = cublaslt.PER_THREAD
    elif why == "no memory":

        def none(size: int) -> Any:
            raise DeviceError("size: the device has not that many bytes")

        monkeypatch.setattr(lt.spaces, "_allocate", none)
    else:
        for number in range(cublaslt.Workspaces.ROWS):
            assert lt.spaces.of(100 + number) is not None
    for _ in range(2):
        start(1, 2, 3, stream)
        said = lt.calls[-1]
        assert (said["algorithm"], said["space"], said["size"]) == (PLAIN, 0, 0)
    if why == "recorded":
        lt.recording.clear()
        before = len(slow)
        start(1, 2, 3, 5)
        assert lt.calls[-1]["algorithm"] == SPLIT
        assert len(slow) == before


def test_an_algorithm_without_a_workspace_asks_for_nothing(lt: Any) -> None:
    lt.works = False
    lt.offers = [PLAIN]
    made, start, slow = product_of()
    for stream in (0, 5, cublaslt.PER_THREAD):
        start(1, 2, 3, stream)
    assert slow == []
    assert made.spaces is None
    assert lt.spaces.table[0] == 0
    # A compiled caller makes the same call; of one that needs a workspace it knows none.
    found = fastcall_cuda.raw(start)
    assert found is not None
    function = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, *[ctypes.c_uint64] * 4)(found[0])
    before = lt.calls[-1]
    assert function(found[1], 1, 2, 3, cublaslt.PER_THREAD) == 0
    assert lt.calls[-1] == before
    lt.statuses = [13]
    assert function(found[1], 1, 2, 3, 5) == 13
    lt.offers = [SPLIT, PLAIN]
    assert fastcall_cuda.raw(product_of("s:9x9x9")[1]) is None


def test_a_problem_without_an_algorithm_is_not_served(lt: Any) -> None:
    lt.offers = [SPLIT]
    assert "NOT_SUPPORTED" in str(cublaslt.product(one("s:8x8x8"), (1, 0), 0))
    lt.offers = []
    assert "NOT_SUPPORTED" in str(cublaslt.product(one("s:8x8x8"), (1, 0), 0))


# ---- errors, and where there is no compiled program


def test_what_the_library_refuses_is_tried_with_a_context_and_then_an_error(lt: Any) -> None:
    lt.works = False
    lt.offers = [PLAIN]
    _, start, slow = product_of()
    lt.statuses = [13, 13, 0]
    start(1, 2, 3, 5)
    assert len(slow) == 1
    assert lt.contexts == [0]
    lt.statuses = [13] * 3
    with pytest.raises(
        DeviceError, match=r"cublasLtMatmul of s:nn:8x8x8@1 failed \(CUBLAS_STATUS_EXECUTION_F"
    ):
        start(1, 2, 3, 5)
    with pytest.raises(TypeError):
        start(1, 2, 3)


def test_without_a_compiled_program_python_calls(lt: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fastcall_cuda, "_loaded", lambda: None)
    problem = one("d:9x7x5")
    a, b, c = (stored(problem, name, 1) for name in "abc")
    made = cublaslt.product(problem, (1, 0), 0)
    assert isinstance(made, cublaslt.Product)
    made.starting(True)(b.ctypes.data, a.ctypes.data, c.ctypes.data, 3)
    np.testing.assert_allclose(c, a @ b)


# ---- recorded algorithms


def test_an_algorithm_comes_back_from_its_config(lt: Any) -> None:
    problem = one("s:8x8x8")
    found = cublaslt.candidates(problem, (1, 0), 0, 8)
    assert not isinstance(found, str)
    assert [made.best.code for _, made in found] == [SPLIT, PLAIN]
    config, _ = found[1]
    assert config == Config(
        {name: 10 * which + 1 for name, which in cublaslt.CONFIG.items()}
        | {"workspace": 0, "version": VERSION, "algorithm": PLAIN.hex()}
    )
    made = cublaslt.product(problem, (1, 0), 0, config)
    assert isinstance(made, cublaslt.Product)
    assert made.best.code == PLAIN
    for other in (
        config.with_(version=1),
        config.with_(algorithm=PLAIN.hex()[:-2]),
        Config({}),
        None,
    ):
        made = cublaslt.product(problem, (1, 0), 0, other)
        assert isinstance(made, cublaslt.Product)
        assert made.best.code == SPLIT, "the library's first choice"
    lt.refuses.add(PLAIN)
    made = cublaslt.product(problem, (1, 0), 0, config)
    assert isinstance(made, cublaslt.Product)
    assert made.best.code == SPLIT


# ---- plans


def plan_of(problem: Problem, config: Config | None = None) -> Plan:
    return Plan(problem, capability.named("h200"), "cached", "vendor", "", config=config)


def test_a_plan_of_the_vendors_is_bound_to_the_library(lt: Any) -> None:
    place = bound_cuda.Gpu(None, 0, 0)
    problem = one("d:9x7x5")
    job = Job(problem, True, (), ())
    bound = place.bind(job, plan_of(problem), (1, 0))
    assert isinstance(bound, bound_cuda.Vendor)
    a, b, c = (stored(problem, name, 1) for name in "abc")
    bound.run(b.ctypes.data, a.ctypes.data, c.ctypes.data, 3)
    np.testing.assert_allclose(c, a @ b)
    assert place.bind(job, plan_of(problem, Config({"by": "library"})), (1, 0)) is None
    hc = one("hc:8x8x8")
    assert place.bind(Job(hc, False, (), ()), plan_of(hc), (1, 0)) is None
    assert place.bind(Job(problem, True, (17,), ((0, 0, 1),)), plan_of(problem), (1, 0)) is None


@pytest.mark.parametrize(("letter", "allowed"), [("h", True), ("h", False), ("b", True), ("b", False)])
def test_parts_of_a_sum_are_added_up_as_the_array_library_would(lt: Any, letter: str, allowed: bool) -> None:
    """In 16 bits where PyTorch's switch of that type says so; in float32 where there is no library."""
    names = {"h": "allow_fp16_reduced_precision_reduction", "b": "allow_bf16_reduced_precision_reduction"}
    matmul = SimpleNamespace(**{name: allowed == (key == letter) for key, name in names.items()})
    library = object.__new__(torch_.Torch)
    library.module = SimpleNamespace(backends=SimpleNamespace(cuda=SimpleNamespace(matmul=matmul)))
    problem = one(f"{letter}:8x8x8")
    for given, want in ((library, 7 if allowed else 2), (None, 2)):
        place = bound_cuda.Gpu(given, 0, 0)
        lt.preferences.clear()
        assert place.bind(Job(problem, False, (), ()), plan_of(problem), (1, 0)) is not None
        assert {wants[cublaslt.PREFERENCE_REDUCTION] for wants in lt.preferences} == {want}
    setattr(matmul, names[letter], (allowed, True))
    assert library.narrows(letter) is allowed
    assert not library.narrows("s")
    assert Library(None).narrows("b")
    assert not Library(None).narrows("d")


def test_batch_axes_that_no_stride_covers(lt: Any) -> None:
    lt.works = False
    problem = one("s:8x8x8@2")
    job = Job(problem, True, (3, 2), ((100, 0, 1000), (0, 10, 500)))
    bound = bound_cuda.Gpu(None, 0, 0).bind(job, plan_of(problem), (1, 0))
    bound.run(10**6, 2 * 10**6, 3 * 10**6, 5)
    assert [call["addresses"] for call in lt.calls] == [
        (2 * 10**6 + 10 * j, 10**6 + 100 * i, 3 * 10**6 + 1000 * i + 500 * j)
        for i in range(3)
        for j in range(2)
    ]


def test_a_record_of_the_vendors_brings_its_algorithm(monkeypatch: pytest.MonkeyPatch, lt: Any) -> None:
    device = capability.named("h200")
    config = Config({"algorithm": PLAIN.hex(), "version": VERSION, "id": 21, "tile": 20})
    for recorded, want in ((config, config), (Config({}), None)):
        monkeypatch.setattr(dispatch, "_tuned", lambda *_, recorded=recorded: ("vendor", recorded))
        plan = dispatch.plan(one("s:64x64x64"), device)
        assert (plan.origin, plan.stencil, plan.config) == ("vendor", None, want)
        text = explain.explain_plan(plan)
        assert ("cuBLASLt, id=21 tile=20" if want else "cuBLASLt, the algorithm that it expects") in text
