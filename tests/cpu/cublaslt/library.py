"""cuBLASLt without a GPU: a library of C functions in its place multiplies on the host's memory."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tilewright.dtypes import narrowed, widened
from tilewright.model import Problem
from tilewright.runtime import cublaslt, cublaslt_library, cublaslt_spaces
from tilewright.targets.cuda import driver

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
            types = [SIZE if kind is POINTER else kind for kind in cublaslt_library.FUNCTIONS[name]]
            made[name] = ctypes.CFUNCTYPE(INT, *types)(function)
        made["cublasLtGetVersion"] = ctypes.CFUNCTYPE(SIZE)(lambda: VERSION)
        self.library = cublaslt_library.declared(SimpleNamespace(**made))

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

    monkeypatch.setattr(cublaslt_library, "library", lambda: made.library)
    monkeypatch.setattr(cublaslt_spaces, "workspace_bytes", lambda index: 1 << 20)
    monkeypatch.setattr(driver, "context", lambda index=0: contexts.append(index) or 1)
    monkeypatch.setattr(driver, "capturing", lambda stream: stream in recording)
    monkeypatch.setattr(driver, "entry", lambda name: address)
    spaces = cublaslt_spaces.Workspaces(
        0, 1 << 20, lambda size: SimpleNamespace(address=0x5000 + 0x100 * next(numbers))
    )
    numbers = iter(range(10**6))
    monkeypatch.setattr(cublaslt_spaces, "workspaces", lambda index: spaces)
    cublaslt_library.handle.cache_clear()
    made.contexts, made.recording, made.spaces, made.keep = contexts, recording, spaces, function  # type: ignore[attr-defined]
    yield made
    cublaslt_library.handle.cache_clear()


def one(spelling: str, **fields: Any) -> Problem:
    return Problem.parse(spelling, **fields)[0]


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
