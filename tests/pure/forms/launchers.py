"""Launchers for lists of matrices that do in NumPy what the kernels would, on host memory.

Tensors on the CPU pretend, which the library is told lie on a GPU, and objects with an interface.
"""

from __future__ import annotations

import contextlib
import ctypes
import struct
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tilewright.arrays import backend as lookup
from tilewright.arrays import dlpack, numpy_, torch_
from tilewright.arrays.view import address_of
from tilewright.calls import settings
from tilewright.dtypes import narrowed, widened
from tilewright.model import Binary, Config, Device, Kernel, Launch, Problem
from tilewright.runtime import bound_cuda, build, fastcall_cuda
from tilewright.stencils.cuda import args as call
from tilewright.targets.cuda import capability, devices, driver


class Memory:
    """What ``driver.allocate`` gives, in this process."""

    def __init__(self, size: int):
        self.words = np.zeros(max(1, size), np.uint8)
        self.address = self.words.ctypes.data


def at(address: int, shape: tuple[int, ...], steps: tuple[int, ...], dtype: Any) -> np.ndarray:
    """Host memory as an array; strides in elements."""
    strides = tuple(step * dtype.itemsize for step in steps)
    return numpy_.memory_at(address, shape, strides, dtype)


def product(
    p: Problem,
    where: tuple[int, int, int],
    ld: tuple[int, int, int],
    size: tuple[int, int, int],
    scalars: Any,
) -> None:
    """One column-major product, as a kernel does it."""
    m, n, k = size
    dtype = p.dtype.numpy
    alpha, beta = scalars if p.dtype.is_complex else (x.real for x in scalars)

    def operand(which: int, shape: tuple[int, int], transposed: bool, conj: bool) -> np.ndarray:
        rows, columns = shape[::-1] if transposed else shape
        found = widened(at(where[which], (rows, columns), (1, ld[which]), dtype))
        found = found.T if transposed else found
        return found.conj() if conj else found

    out = at(where[2], (m, n), (1, ld[2]), dtype)
    made = np.zeros((m, n), widened(out).dtype)
    if k:
        made = alpha * (
            operand(0, (m, k), p.transposed_a, p.conj_a) @ operand(1, (k, n), p.transposed_b, p.conj_b)
        )
    out[...] = narrowed(made if beta == 0 else made + beta * widened(out), dtype)


class Log(list[tuple[str, Problem, Launch, int]]):
    """Every launch: stencil, problem, launch and stream."""

    @property
    def names(self) -> list[str]:
        return [name for name, *_ in self]


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[Log]:
    """A machine whose GPU is this processor."""
    log = Log()

    class Launcher:
        def __init__(self, kernel: Kernel, launch: Launch, block: bytearray):
            (self.name, self.problem), self.start, self.block = kernel.owner, launch, block

        def __call__(self, stream: int = 0) -> None:
            p = self.problem
            log.append((self.name, p, self.start, stream))
            if self.name == "grouped":
                self.grouped(p)
                return
            a, b, c, lda, ldb, ldc, *steps, m, n, k, batch, ar, ai, br, bi, _, _ = call.BLOCK.unpack(
                self.block
            )
            scalars = complex(ar, ai), complex(br, bi)
            assert (m, n, k, batch) == (p.m, p.n, p.k, p.batch)
            for i in range(batch):
                where = tuple(
                    int(at(x, (batch,), (1,), np.dtype(np.int64))[i])
                    if p.pointers
                    else x + i * step * p.dtype.itemsize
                    for x, step in zip((a, b, c), steps, strict=True)
                )
                assert all(x % p.align == 0 for x in where)
                product(p, where, (lda, ldb, ldc), (m, n, k), scalars)  # type: ignore[arg-type]

        def grouped(self, p: Problem) -> None:
            start, own, ar, ai, br, bi, count, _ = struct.unpack("<2Q4d2i", self.block)
            words = at(start, (count, 16), (16, 1), np.dtype(np.uint32)).astype(np.int64)
            assert count == p.batch
            for w in words:
                where = tuple(int(w[4 * i] | w[4 * i + 1] << 32) for i in range(3))
                ld = tuple(int(np.int32(np.uint32(w[4 * i + 3]))) for i in range(3))
                m, n, k = (int(w[12] >> 8 * i & 255) for i in range(3))
                assert m <= p.m
                assert n <= p.n
                assert k <= p.k
                scalars = complex(ar, ai), complex(br, bi)
                if own:
                    x = at(own + 32 * int(w[15]), (4,), (1,), np.dtype(np.float64))
                    scalars = complex(x[0], x[1]), complex(x[2], x[3])
                assert (int(w[10]) & 8191 != 0) == (scalars[1] != 0)
                product(p, where, ld, (m, n, k), scalars)  # type: ignore[arg-type]

    class Handle:
        def __init__(self, device: int):
            self.sends: list[int] = []

        def send(self, address: int, numbers: np.ndarray, stream: int) -> None:
            self.sends.append(numbers.nbytes)
            ctypes.memmove(address, np.ascontiguousarray(numbers).ctypes.data, numbers.nbytes)

    def kernel(stencil: str, problem: Problem, config: Config, device: Device) -> Kernel:
        return Kernel(1, Binary(b"", stencil, ""), (stencil, problem))

    def copy(to: int, of: np.ndarray) -> None:
        ctypes.memmove(to, of.ctypes.data, of.nbytes)

    handle = Handle(0)
    monkeypatch.setattr(devices, "missing", lambda: None)
    monkeypatch.setattr(devices, "count", lambda: 1)
    monkeypatch.setattr(devices, "probe", lambda index=0: capability.DEVICES["h200"])
    monkeypatch.setattr(driver, "context", lambda index=0: 1)
    monkeypatch.setattr(driver, "current_device", lambda: 0)
    monkeypatch.setattr(driver, "synchronize", lambda: None)
    monkeypatch.setattr(driver, "Launcher", Launcher)
    monkeypatch.setattr(fastcall_cuda, "starting", lambda *_: None)
    monkeypatch.setattr(driver, "allocate", Memory)
    monkeypatch.setattr(driver, "upload", copy)
    monkeypatch.setattr(
        driver, "download", lambda array, address: ctypes.memmove(array.ctypes.data, address, array.nbytes)
    )
    monkeypatch.setattr(bound_cuda, "staging", lambda index: handle)
    monkeypatch.setattr(build, "kernel", kernel)
    monkeypatch.setattr(dlpack, "device_of", lambda address, name: 0)
    settings.forget()
    yield log
    settings.forget()


@pytest.fixture
def torch(gpu: Log, monkeypatch: pytest.MonkeyPatch) -> Any:
    """PyTorch, whose tensors on the CPU are taken for such of a GPU."""
    module = pytest.importorskip("torch")
    monkeypatch.setattr(torch_.Torch, "on_gpu", lambda self, value: value.device.type == "cpu")
    monkeypatch.setattr(torch_.Torch, "index", lambda self, value: 0)
    monkeypatch.setattr(torch_.Torch, "guard", lambda self, index: contextlib.nullcontext())
    found: Any = lookup.library("torch")
    monkeypatch.setattr(found, "raw_stream", lambda index: 7)
    monkeypatch.setattr(
        found, "empty", lambda shape, dtype, index: module.empty(shape, dtype=found.names[dtype])
    )
    monkeypatch.setattr(lookup, "default_library", lambda: found)
    real = torch_.Torch.real

    def seen(self: Any, array: Any) -> Any:
        if array.owner.library is None and array.size:
            view = numpy_.memory_at(address_of(array), array.shape, array.strides, array.dtype)
            tensor = module.from_numpy(view)
            return tensor.conj() if array.conj else tensor
        return real(self, array)

    monkeypatch.setattr(torch_.Torch, "real", seen)
    return module


TYPES = ["float32", "float64", "complex64", "complex128"]


def tensors(torch: Any, shapes: Any, name: str = "float64", seed: int = 0) -> list[Any]:
    draw = torch.Generator().manual_seed(seed)
    return [torch.randn(shape, dtype=getattr(torch, name), generator=draw) for shape in shapes]


def op(x: Any, letter: str) -> Any:
    x = x if letter == "n" else x.mT
    return x.conj() if letter == "c" else x


def close(torch: Any, got: Any, want: Any) -> None:
    assert got.shape == want.shape
    torch.testing.assert_close(got, want, rtol=1e-4, atol=1e-4)


def halves(*trans: str) -> list[tuple[str, str]]:
    """Each type with half of the transpositions, the other half with the next type."""
    return [(name, each) for turn, name in enumerate(TYPES) for each in trans[turn % 2 :: 2]]
