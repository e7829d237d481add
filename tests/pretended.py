"""A GPU that is this processor: a launcher that does in NumPy what a kernel would, on host memory.

``gpu`` and ``torch`` are fixtures of ``tests/pure``: with the first the package believes in one H200, with
the second also that tensors on the CPU lie on it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from tilewright import api
from tilewright.arrays import backend as lookup
from tilewright.arrays import dlpack, torch_
from tilewright.calls import settings
from tilewright.catalog import STENCILS
from tilewright.dtypes import narrowed, widened
from tilewright.errors import DeviceError
from tilewright.model import Binary, Config, Device, Kernel, Launch, Problem, Source
from tilewright.runtime import build, cublaslt_library, fastcall_cuda
from tilewright.space import Space
from tilewright.stencils.cuda import args
from tilewright.stencils.protocol import Stencil
from tilewright.targets.cuda import capability, devices, driver


class Pretended(Stencil):
    """Accepts what a GPU's stencils accept."""

    name, target = "pretend", "cuda"
    reading = ""
    letters: tuple[str, ...] = ("s", "d", "c", "z")

    def accepts(self, problem: Problem, device: Device) -> str | None:
        if problem.dtype.letter not in self.letters:
            return f"type {problem.dtype.letter}"
        return "too large" if problem.m == 97 else None

    def space(self, problem: Problem, device: Device) -> Space:
        return Space((), ())

    def source(self, problem: Problem, config: Config, device: Device) -> Source:
        return Source("", "pretend")

    def default(self, problem: Problem, device: Device) -> Config:
        return Config({})

    def launch(self, problem: Problem, config: Config) -> Launch:
        blocks = -(-problem.m // 16) * -(-problem.n // 16)
        return Launch(grid=(blocks, 1, min(problem.batch, 65535)), block=(64, 1, 1), reading=self.reading)

    def arguments(self, problem: Problem, config: Config) -> Any:
        return args.gemm(problem, self.reading)


@dataclass
class Started:
    """One launch as the driver would have seen it."""

    problem: Problem
    launch: Launch
    stream: int
    pointers: tuple[int, ...]
    words: tuple[Any, ...]
    spans: int = 1
    """Parameters of the kernel."""


@dataclass
class Log:
    starts: list[Started] = field(default_factory=list)
    computes: bool = True
    fails: int = 0
    contexts: list[int] = field(default_factory=list)

    @property
    def last(self) -> Started:
        return self.starts[-1]


def at(address: int, shape: tuple[int, ...], steps: tuple[int, ...], dtype: Any) -> np.ndarray:
    """Host memory as an array; strides in elements."""

    class Interface:
        __array_interface__ = {  # noqa: RUF012
            "data": (address, False),
            "shape": shape,
            "strides": tuple(step * dtype.itemsize for step in steps),
            "typestr": dtype.str if dtype.kind != "V" else f"<u{dtype.itemsize}",
            "version": 3,
        }

    return np.asarray(Interface()).view(dtype)


def compute(problem: Problem, words: tuple[Any, ...]) -> None:
    """What the kernel of a problem does with an argument block."""
    a, b, c, lda, ldb, ldc, step_a, step_b, step_c, m, n, k, batch, *scalars = words
    alpha, beta = complex(*scalars[:2]), complex(*scalars[2:4])
    assert (m, n, k, batch) == (problem.m, problem.n, problem.k, problem.batch)
    dtype = problem.dtype.numpy
    for address in (a, b, c):
        assert address % problem.align == 0
        assert address % dtype.itemsize == 0
    if not problem.dtype.is_complex:
        assert alpha.imag == beta.imag == 0
        alpha, beta = alpha.real, beta.real

    def operand(
        address: int, ld: int, step: int, shape: tuple[int, int], transposed: bool, conj: bool
    ) -> Any:
        rows, columns = shape[::-1] if transposed else shape
        stored = at(address, (batch, rows, columns), (step, 1, ld), dtype)
        found = widened(stored.swapaxes(1, 2) if transposed else stored)
        return found.conj() if conj else found

    left = operand(a, lda, step_a, (m, k), problem.transposed_a, problem.conj_a)
    right = operand(b, ldb, step_b, (k, n), problem.transposed_b, problem.conj_b)
    out = at(c, (batch, m, n), (step_c, 1, ldc), dtype)
    assert (problem.alpha == "1") <= (alpha == 1)
    made = alpha * np.matmul(left, right)
    made = made if problem.beta == "0" else made + (1 if problem.beta == "1" else beta) * widened(out)
    out[...] = narrowed(made, dtype)


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[Log]:
    """A machine whose GPU is this processor."""
    log = Log()

    class Launcher:
        def __init__(self, kernel: Kernel, launch: Launch, block: bytearray, spans: Any = None):
            self.problem, self.start, self.block = kernel.owner, launch, block
            self.spans = len(spans or [0])

        def __call__(self, stream: int = 0) -> None:
            if log.fails:
                log.fails -= 1
                raise DeviceError("no context is current on this thread")
            # What comes after it are other parameters.
            words = args.BLOCK.unpack_from(self.block)
            log.starts.append(Started(self.problem, self.start, stream, words[:3], words, self.spans))
            if log.computes:
                compute(self.problem, words)

    def context(index: int = 0) -> int:
        log.contexts.append(index)
        return 1

    def kernel(stencil: str, problem: Problem, config: Config, device: Device) -> Kernel:
        return Kernel(1, Binary(b"", stencil, ""), problem)

    monkeypatch.setattr(devices, "missing", lambda: None)
    monkeypatch.setattr(devices, "count", lambda: 1)
    monkeypatch.setattr(devices, "probe", lambda index=0: capability.DEVICES["h200"])
    monkeypatch.setattr(driver, "context", context)
    monkeypatch.setattr(driver, "current_device", lambda: 0)
    monkeypatch.setattr(driver, "synchronize", lambda: None)
    monkeypatch.setattr(driver, "Launcher", Launcher)
    monkeypatch.setattr(fastcall_cuda, "starting", lambda *_: None)
    monkeypatch.setattr(build, "kernel", kernel)
    monkeypatch.setattr(dlpack, "device_of", lambda address, name: 0)
    monkeypatch.setattr(lookup, "default_library", lambda: None)
    # Addresses of the host's memory are nothing for the library of a real GPU.
    monkeypatch.setattr(cublaslt_library, "library", lambda: None)
    # Not by monkeypatch, which would put them back in another order: the first that accepts is chosen.
    kept = dict(STENCILS)
    for name, stencil in kept.items():
        if stencil.target == "cuda":
            del STENCILS[name]
    STENCILS["pretend"] = Pretended()
    settings.forget()
    yield log
    STENCILS.clear()
    STENCILS.update(kept)
    settings.forget()


@pytest.fixture
def torch(gpu: Log, monkeypatch: pytest.MonkeyPatch) -> Any:
    module = pytest.importorskip("torch")
    monkeypatch.setattr(torch_.Torch, "on_gpu", lambda self, value: value.device.type == "cpu")
    monkeypatch.setattr(api, "all_behind", lambda values: None)  # they are no arrays of this process then
    monkeypatch.setattr(torch_.Torch, "index", lambda self, value: 0)
    monkeypatch.setattr(torch_.Torch, "guard", lambda self, index: contextlib.nullcontext())
    found = lookup.library("torch")
    monkeypatch.setattr(found, "raw_stream", lambda index: 7)
    made = found.empty
    monkeypatch.setattr(
        found,
        "empty",
        lambda shape, dtype, index: module.empty(shape, dtype=found.names[dtype]),  # type: ignore[attr-defined]
    )
    assert made
    return module


def tensor(torch: Any, shape: tuple[int, ...], name: str = "float64", seed: int = 0) -> Any:
    return torch.randn(shape, dtype=getattr(torch, name), generator=torch.Generator().manual_seed(seed))
