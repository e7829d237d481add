"""Calls on arrays of a GPU, without one: a launcher that does in NumPy what a kernel would, on host memory.

Two kinds of arrays pretend: objects with ``__cuda_array_interface__`` and DLPack over NumPy's memory, and
(where PyTorch is installed) tensors on the CPU that the library is told lie on a GPU.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from timeit import repeat
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.lib.stride_tricks import as_strided

import tilewright as tw
from tests.pretended import Log, Pretended, tensor
from tests.products import filled, op
from tilewright.arrays import backend as lookup
from tilewright.arrays import cupy_, dlpack
from tilewright.arrays.overlap import may_share
from tilewright.arrays.view import (
    ArrayView,
    Owner,
    address_of,
    broadcast_to,
    view_at,
    view_of,
    with_axis,
)
from tilewright.calls import product, settings
from tilewright.dtypes import BFLOAT16, COMPLEX_HALF, narrowed, paired, unpaired, widened
from tilewright.errors import ArgumentError, DeviceError, DTypeError
from tilewright.model import Binary, Device, Kernel, Source
from tilewright.planning import dispatch
from tilewright.runtime import bound_cuda, build, device_calls
from tilewright.stencils.cuda import args
from tilewright.store.records import Records
from tilewright.targets.cuda import binding, capability, devices, driver, modules, nvrtc

pytestmark = pytest.mark.pure

FLOATS = ["f4", "f8", "c8", "c16"]
KERNEL = build.kernel


class Bare:
    """An array of no library, with memory of NumPy's."""

    def __init__(self, array: np.ndarray, **changes: Any):
        self.array = array
        self.__cuda_array_interface__ = {
            "data": (address_of(array), not array.flags.writeable),
            "shape": array.shape,
            "strides": array.strides,
            "typestr": array.dtype.str,
            "version": 3,
            "stream": None,
        } | changes


class Capsule:
    """An array that speaks DLPack alone."""

    def __init__(self, array: np.ndarray):
        self.array, self.streams = array, []

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, 0

    def __dlpack__(self, stream: int | None = None) -> Any:
        self.streams.append(stream)
        return self.array.__dlpack__()


def close(got: Any, want: Any) -> None:
    assert np.shape(got) == np.shape(want)
    assert np.asarray(got).dtype == np.asarray(want).dtype
    eps = float(np.finfo(want.dtype).eps)
    np.testing.assert_allclose(got, want, rtol=500 * eps, atol=2000 * eps)


# ---- views


def test_a_view_of_no_memory_is_transposed_and_repeated_and_asked_where_it_lies() -> None:
    nowhere = 0x10
    x = view_at(nowhere, (4, 5, 6), None, np.dtype("f8"))
    assert (x.strides, x.ndim, x.size, x.itemsize, x.nbytes) == ((240, 48, 8), 3, 120, 8, 960)
    transposed = x.swapaxes(-1, -2)
    assert isinstance(transposed, ArrayView)
    assert (transposed.shape, transposed.strides) == ((4, 6, 5), (240, 8, 48))
    assert address_of(transposed) == nowhere
    wide = broadcast_to(with_axis(x, 0), (9, 4, 5, 6))
    assert wide.strides == (0, 240, 48, 8)
    assert may_share(x, wide)
    assert (repr(x), f"{x}") == ("<float64 (4, 5, 6) at 0x10>",) * 2


@given(st.data())
def test_a_view_is_changed_as_numpy_changes_an_array(data: st.DataObject) -> None:
    """The same shapes and strides for whatever an array is asked to look like, and the same refusals."""
    shape = tuple(data.draw(st.lists(st.integers(0, 3), min_size=1, max_size=3)))
    cuts = tuple(data.draw(st.sampled_from([slice(None), slice(None, None, -1)])) for _ in shape)
    array = np.zeros(shape, "f4")[cuts]
    view = view_at(address_of(array), array.shape, array.strides, array.dtype)
    one, other = (data.draw(st.integers(-len(shape), len(shape) - 1)) for _ in range(2))
    at = data.draw(st.integers(-len(shape) - 1, len(shape)))
    wanted = tuple(data.draw(st.lists(st.integers(0, 3), max_size=4)))

    def layout(x: Any) -> Any:
        steps = tuple(step if extent > 1 else 0 for extent, step in zip(x.shape, x.strides, strict=True))
        return x.shape, x.dtype, (steps if x.size else None)

    assert layout(view.swapaxes(one, other)) == layout(array.swapaxes(one, other))
    assert layout(with_axis(view, at)) == layout(np.expand_dims(array, at))
    try:
        want = np.broadcast_to(array, wanted)
    except ValueError:
        with pytest.raises(ValueError, match="broadcast"):
            broadcast_to(view, wanted)
    else:
        assert layout(broadcast_to(view, wanted)) == layout(want)


@pytest.mark.parametrize(
    "read",
    [
        lambda x: x + 1,
        lambda x: x @ x,
        lambda x: x[0, 0],
        lambda x: x[0],
        lambda x: x.copy(),
        lambda x: x.astype("f4"),
        lambda x: x.reshape(-1),
        lambda x: x.sum(),
        lambda x: x.tolist(),
        lambda x: list(x),
        lambda x: float(x),
        lambda x: x.__setitem__(..., 0),
        lambda x: np.linalg.norm(x),
        lambda x: np.matmul(x, x),
        lambda x: np.zeros(3) + x,
    ],
)
def test_what_would_read_is_refused(read: Any) -> None:
    with pytest.raises((TypeError, AttributeError, ValueError)):
        read(view_at(0x10, (4, 4), None, np.dtype("f8")))


class Unreadable:
    """An array of another process: whoever prints or compares it reads it."""

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        raise AssertionError("read")

    def __eq__(self, other: object) -> bool:
        raise AssertionError("read")


def test_a_view_is_a_value() -> None:
    owners = [Owner(Unreadable(), None, 0, None) for _ in range(2)]
    x, y = (view_at(0x10, (4, 4), None, np.dtype("f8"), owner) for owner in owners)
    assert x == y == view_at(0x10, (4, 4), (32, 8), np.dtype("f8"))
    assert repr(x) == repr(y)
    assert len({x, y}) == 1
    with pytest.raises(AttributeError):
        x.address = 0  # type: ignore[misc]


@pytest.mark.parametrize(("conj", "readonly"), [(False, False), (True, False), (False, True)])
def test_a_layout_without_its_array_is_the_same_layout(conj: bool, readonly: bool) -> None:
    owner = Owner(Unreadable(), None, 0, None)
    x = view_at(0x10, (4, 4), (8, 32), np.dtype("c8"), owner, conj=conj, readonly=readonly)
    assert view_of(x) == x
    assert view_of(x).owner is None


def test_views_of_nothing_and_of_more_than_memory() -> None:
    assert view_at(0, (0, 3), None, np.dtype("f8")).shape == (0, 3)
    big = view_at(1 << 40, (1 << 33, 1 << 20), (1 << 22, 4), np.dtype("f4"))
    assert big.strides == (1 << 22, 4)
    with pytest.raises(DTypeError, match="numbers"):
        view_at(64, (2,), None, np.dtype("V8"))
    with pytest.raises(ArgumentError, match="one for each axis"):
        view_at(64, (2, 2), (8,), np.dtype("f8"))


# ---- arrays of no library


def in_turns(types: Sequence[str]) -> list[tuple[str, str, str]]:
    """Types with transpositions of A and of B, so that any two of these three meet."""
    return [(name, "ntc"[at], "ntc"[(at + turn) % 3]) for turn, name in enumerate(types) for at in range(3)]


@pytest.mark.parametrize(("dtype", "trans_a", "trans_b"), in_turns(FLOATS))
def test_the_formula(gpu: Log, dtype: str, trans_a: str, trans_b: str) -> None:
    m, n, k = 5, 3, 7
    # Either kind of array with each type and each transposition.
    kind = (Bare, Capsule)[(FLOATS.index(dtype) + "ntc".index(trans_a)) % 2]
    a = filled((2, *((m, k) if trans_a == "n" else (k, m))), dtype, 1)
    b = filled((2, *((k, n) if trans_b == "n" else (n, k))), dtype, 2)
    for alpha, beta in ((1, 0), (2.5, 1), (-1, 0.5)):
        c = filled((2, m, n), dtype, 3)
        want = (alpha * np.matmul(op(a, trans_a), op(b, trans_b)) + beta * c).astype(dtype)
        out = kind(c)
        options = {"alpha": alpha, "beta": beta, "trans_a": trans_a, "trans_b": trans_b}
        assert tw.gemm(kind(a), kind(b), out=out, **options) is out
        close(c, want)
    assert {start.problem.batch for start in gpu.starts} == {2}
    assert len(gpu.starts) == 3


def test_what_is_told_to_the_driver(gpu: Log) -> None:
    memory = filled((8, 40, 48))
    a, b, out = memory[:, 4:14, 8:20], memory[0, :12, 24:31], np.zeros((8, 10, 7))
    held = Bare(out)
    tw.matmul(Bare(a, stream=77), Bare(b), out=held)
    close(out, np.matmul(a, b))
    start = gpu.last
    # Row-major: the kernel's A is b, shared by the batch, and its B is a.
    assert start.pointers == (address_of(b), address_of(a), address_of(out))
    assert start.words[3:13] == (48, 48, 7, 0, 40 * 48, 70, 7, 10, 12, 8)
    assert start.stream == 77
    assert start.launch.grid == (1, 1, 8)
    assert start.problem.align == 16
    assert args.BLOCK.unpack(args.pack(start.problem, start.pointers, 1, 0)) == start.words


@pytest.mark.parametrize(
    ("dtype", "skip", "align"), [("f4", 1, 4), ("f4", 2, 8), ("f8", 1, 8), ("f4", 4, 16)]
)
def test_alignment(gpu: Log, dtype: str, skip: int, align: int) -> None:
    flat = filled((200,), dtype)
    start = -(address_of(flat) // flat.itemsize) % (16 // flat.itemsize)
    a = flat[start + skip : start + skip + 64].reshape(8, 8)
    out = np.zeros(144, dtype)
    begin = -(address_of(out) // out.itemsize) % (16 // out.itemsize)
    c = out[begin : begin + 64].reshape(8, 8)
    tw.matmul(Bare(a), Bare(a), out=Bare(c))
    close(c, a @ a)
    assert gpu.last.problem.align == align


def test_alignment_of_all_runs(gpu: Log) -> None:
    """Batch axes that one stride cannot cover: each run starts elsewhere."""
    a = filled((3, 5, 2, 9, 9), "f4")[:, ::2, :, :8, :8]
    out = np.zeros((3, 3, 2, 8, 8), "f4")
    tw.matmul(Bare(a), Bare(a), out=Bare(out))
    close(out, np.matmul(a, a))
    assert len(gpu.starts) > 1
    assert gpu.last.problem.align == 4


def test_nothing_is_read_on_the_way(gpu: Log) -> None:
    """Addresses that no process has: an access would end this one."""
    gpu.computes = False
    for shape in ((64, 64), (5, 64, 64)):
        x = np.zeros(shape)
        a, b, c = (
            Bare(x, data=(place, False), strides=None) for place in (1 << 20, (1 << 44) + 8, (1 << 45) + 16)
        )
        tw.matmul(a, b, out=c)
        tw.gemm(a, b, out=c, alpha=2, beta=3, trans_a="c")
        made = tw.plan(a, b, out=c)
        made(a, b, out=c)
        assert "pretend" in repr(made)
    assert gpu.last.pointers == ((1 << 44) + 8, 1 << 20, (1 << 45) + 16)
    assert gpu.last.problem.align == 8


def test_sizes_and_strides_beyond_32_bits(gpu: Log) -> None:
    gpu.computes = False
    x = np.zeros((2, 2), "f4")
    far = {"shape": (1 << 22, 520), "strides": (1 << 20, 4)}
    a, b = Bare(x, data=(1 << 40, False), **far), Bare(x, shape=(520, 8), strides=(32, 4))
    tw.matmul(a, b, out=Bare(x, data=(1 << 45, False), shape=(1 << 22, 8), strides=(1 << 21, 4)))
    assert gpu.last.words[3:6] == (8, 1 << 18, 1 << 19)
    long = Bare(x, data=(1 << 40, False), shape=(4, 1 << 31), strides=(1 << 33, 4))
    with pytest.raises(ArgumentError, match="m=2147483648 does not fit 32 bits"):
        tw.plan(Bare(x, shape=(3, 4), strides=(16, 4)), long, stencil="pretend")


def test_no_library_and_no_out(gpu: Log) -> None:
    a = Bare(filled((4, 4)))
    with pytest.raises(ArgumentError, match=r"out=None.*torch or cupy"):
        tw.matmul(a, a)
    with pytest.raises(ArgumentError, match="torch or cupy"):
        tw.matmul(Bare(filled((4, 8))[:, ::2]), a, out=Bare(np.zeros((4, 4))))
    # What no stencil takes.
    x = Bare(filled((97, 97)))
    with pytest.raises(ArgumentError, match="torch or cupy"):
        tw.matmul(x, x, out=Bare(np.zeros((97, 97))))


@pytest.mark.parametrize(
    ("a", "error", "words"),
    [
        (lambda a: a.array, ArgumentError, "is not on a GPU"),
        (lambda a: [[1.0]], ArgumentError, "b of type list is not on a GPU"),
        (lambda a: Bare(a.array, typestr="|V8"), DTypeError, "numbers"),
        (lambda a: Bare(a.array, mask=a), DTypeError, "mask"),
        (lambda a: Bare(a.array, data=None), ArgumentError, "interface"),
        (lambda a: Bare(a.array[:3]), ArgumentError, "4 columns do not meet 3 rows"),
        (lambda a: Bare(a.array[0, :1][0]), ArgumentError, "scalar|axes"),
    ],
)
def test_what_is_refused(gpu: Log, a: Any, error: type[Exception], words: str) -> None:
    x = Bare(filled((4, 4)))
    for run in (tw.matmul, tw.gemm):
        with pytest.raises(error, match=words):
            run(x, a(x), out=Bare(np.zeros((4, 4))))
    assert gpu.starts == []


def test_types_that_no_kernel_takes(gpu: Log) -> None:
    x = filled((4, 4))
    for spelled in ("<i8", "<u1", "|b1"):
        a = Bare(x, typestr=spelled, strides=None)
        for run in (tw.matmul, tw.gemm):
            with pytest.raises(DTypeError, match="accepted: float16, bfloat16, float32"):
                run(a, a, out=a)


@pytest.mark.parametrize(
    ("out", "error", "words"),
    [
        (np.zeros((4, 4)), ArgumentError, "out of type ndarray is not on a GPU"),
        (Bare(np.zeros((4, 5))), ArgumentError, r"out has shape \(4, 5\)"),
        (Bare(np.zeros((4, 4), "f4")), DTypeError, "out is float32"),
        (Bare(np.broadcast_to(np.zeros(4), (4, 4))), ArgumentError, "read-only"),
        (Bare(as_strided(np.zeros(4), (4, 4), (0, 8))), ArgumentError, "share one place"),
    ],
)
def test_an_out_that_cannot_be_used(gpu: Log, out: Any, error: type[Exception], words: str) -> None:
    a = Bare(filled((4, 4)))
    for run in (tw.matmul, tw.gemm, tw.plan):
        with pytest.raises(error, match=words):
            run(a, a, out=out)


def test_streams_of_the_interface(gpu: Log) -> None:
    a, c = filled((4, 4)), np.zeros((4, 4))
    for streams, want in (
        ((None, None, None), 0),
        ((1, None, 1), 0),
        ((2, 2, None), 2),
        ((None, None, 9), 9),
    ):
        x, y, z = (Bare(array, stream=stream) for array, stream in zip((a, a, c), streams, strict=True))
        tw.matmul(x, y, out=z)
        assert gpu.last.stream == want
    with pytest.raises(ArgumentError, match=r"streams \[5, 6\]"):
        tw.matmul(Bare(a, stream=5), Bare(a, stream=6), out=Bare(c))
    made = Capsule(a)
    tw.matmul(made, Bare(a), out=Bare(c, stream=9))
    assert made.streams == [9]


def test_arrays_on_two_gpus(gpu: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = filled((4, 4)), filled((4, 4))
    monkeypatch.setattr(dlpack, "device_of", lambda address, name: int(address == address_of(b)))
    with pytest.raises(ArgumentError, match="b lies on GPU 1 and a on GPU 0"):
        tw.matmul(Bare(a), Bare(b), out=Bare(np.zeros((4, 4))))
    with pytest.raises(DeviceError, match="GPU 1 and GPU 0 is current"):
        tw.matmul(Bare(b), Bare(b), out=Bare(b))


def test_no_cuda(gpu: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "missing", lambda: "the CUDA driver finds no device")
    a = Bare(filled((4, 4)))
    for run in (tw.matmul, tw.gemm, tw.plan, tw.explain):
        with pytest.raises(DeviceError, match="finds no device"):
            run(a, a)


def test_nothing_to_multiply(gpu: Log) -> None:
    for a, b in (((0, 3), (3, 2)), ((4, 0, 3), (3, 2)), ((0, 2, 2), (0, 2, 2))):
        x, y, z = np.zeros(a), np.zeros(b), np.zeros(np.matmul(np.zeros(a), np.zeros(b)).shape)
        tw.matmul(Bare(x, data=(0, False)), Bare(y), out=Bare(z, data=(0, False)))
        assert "nothing to multiply" in tw.explain(Bare(x, data=(0, False)), Bare(y))
    assert gpu.starts == []


def test_a_thread_without_a_context(gpu: Log) -> None:
    a, c = Bare(filled((4, 4))), Bare(np.zeros((4, 4)))
    tw.matmul(a, a, out=c)
    before = len(gpu.contexts)
    gpu.fails = 1
    tw.matmul(a, a, out=c)
    assert len(gpu.starts) == 2
    assert len(gpu.contexts) == before + 2
    gpu.fails = 2
    with pytest.raises(DeviceError, match="no context"):
        tw.matmul(a, a, out=c)


def test_explain(gpu: Log) -> None:
    a = Bare(filled((3, 4, 4)))
    text = tw.explain(a, a, trans_a="t")
    assert "d:nt:4x4x4@3" in text
    assert "runs   default: pretend" in text
    assert "core" not in text
    assert "on     NVIDIA H200, GPU 0" in text
    assert "copies" not in text
    made = tw.plan(Bare(filled((4, 8))[:, ::2]), Bare(filled((4, 4))))
    assert made.copies == ("a",)
    assert "copies a" in made.explain()
    assert gpu.starts == []


# ---- textures


def test_textures_are_kept_by_address(gpu: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[tuple[int, ...]] = []

    class Texture:
        def __init__(self, *told: int):
            made.append(told)
            self.handle = len(made)

    monkeypatch.setattr(driver, "texture1d", Texture)
    monkeypatch.setattr(driver, "texture2d", Texture)
    monkeypatch.setattr(binding, "TEXTURES", 2)
    monkeypatch.setattr(Pretended, "reading", "tex1d")
    a, b, out = filled((5, 7)), filled((7, 3)), np.zeros((5, 3))
    for turn in range(3):
        tw.gemm(Bare(a), Bare(b), out=Bare(out))
        close(out, a @ b)
        assert gpu.last.words[-2:] == (1, 2)
        assert len(made) == 2, turn
    assert made == [(address_of(b), 21, 8), (address_of(a), 35, 8)]
    others = [filled((5, 7), seed=seed) for seed in (1, 2)]
    for other in others:
        tw.gemm(Bare(other), Bare(b), out=Bare(out))
    assert len(made) == 6
    tw.gemm(Bare(others[0]), Bare(b), out=Bare(out))
    assert len(made) == 6
    tw.gemm(Bare(a), Bare(b), out=Bare(out))
    assert len(made) == 8
    assert "textures (tex1d)" in tw.explain(Bare(a), Bare(b))
    settings.forget()
    monkeypatch.setattr(Pretended, "reading", "tex2d")
    tw.gemm(Bare(a), Bare(b), out=Bare(out), trans_a="n")
    assert made[-2:] == [(address_of(b), 3, 7, 24, 8), (address_of(a), 7, 5, 56, 8)]
    # No texture covers a batch, and bare arrays have no library to fall back to.
    with pytest.raises(ArgumentError, match="batch"):
        tw.plan(Bare(filled((3, 4, 4))), Bare(filled((3, 4, 4))), stencil="pretend")


# ---- PyTorch's tensors, which the library is told lie on a GPU


TYPES = ["float32", "float64", "complex64", "complex128"]


def only_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """From here on only calls like earlier ones pass."""

    def refuse(*_: Any) -> None:
        raise AssertionError("the slow path")

    monkeypatch.setattr(product, "matmul", refuse)
    monkeypatch.setattr(product, "gemm", refuse)


@pytest.mark.parametrize("name", TYPES)
def test_tensors(gpu: Log, torch: Any, name: str) -> None:
    for a, b in (
        ((4, 5), (5, 3)),
        ((6, 4, 5), (6, 5, 3)),
        ((6, 1, 4, 5), (2, 5, 3)),
        ((5,), (5, 3)),
        ((2, 4, 5), (5,)),
        ((5,), (5,)),
        ((1, 5), (5, 1)),
    ):
        x, y = tensor(torch, a, name, 1), tensor(torch, b, name, 2)
        want = np.matmul(x.numpy(), y.numpy())
        for _ in range(3):
            got = tw.matmul(x, y)
            assert isinstance(got, torch.Tensor)
            close(got.numpy(), np.asarray(want))
            assert gpu.last.stream == 7
        out = torch.full(tuple(want.shape), float("nan"), dtype=x.dtype)
        for _ in range(2):
            assert tw.matmul(x, y, out=out) is out
            close(out.numpy(), np.asarray(want))


@pytest.mark.parametrize(("name", "trans_a", "trans_b"), in_turns(TYPES))
def test_gemm_of_tensors(gpu: Log, torch: Any, name: str, trans_a: str, trans_b: str) -> None:
    m, n, k = 5, 3, 7
    a = tensor(torch, (2, *((m, k) if trans_a == "n" else (k, m))), name, 1)
    b = tensor(torch, (2, *((k, n) if trans_b == "n" else (n, k))), name, 2)
    c = tensor(torch, (2, m, n), name, 3)
    scalars = [(1, 0), (2.5, 1), (-1, 0.5)] + ([(1j, 2 - 1j)] if name.startswith("c") else [])
    for lazy_a, lazy_b in ((False, False), (True, False), (True, True)):
        x, y = a.conj() if lazy_a else a, b.conj() if lazy_b else b
        for alpha, beta in scalars:
            left, right = (z.resolve_conj().numpy() for z in (x, y))
            want = alpha * np.matmul(op(left, trans_a), op(right, trans_b)) + beta * c.numpy()
            want = want.astype(name)
            options: dict[str, Any] = {"alpha": alpha, "beta": beta, "trans_a": trans_a, "trans_b": trans_b}
            made = tw.plan(x, y, c, **options)
            assert made.copies == ()
            for run in (lambda *u, o=options, **v: tw.gemm(*u, **o, **v), made):
                for _ in range(3):
                    close(run(x, y, c).numpy(), want)
                    out = c.clone()
                    assert run(x, y, out, out=out) is out
                    close(out.numpy(), want)
                    out = c.clone()
                    assert run(x, y, out=out) is out
                    close(out.numpy(), want)
                    out = torch.full_like(c, float("nan"))
                    assert run(x, y, c, out=out) is out
                    close(out.numpy(), want)


def test_the_second_call_is_short(gpu: Log, torch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    a, b, c = (tensor(torch, (3, 8, 8), seed=seed) for seed in range(3))
    made = tw.plan(a, b, c, alpha=2, beta=3)
    for turn in range(2):
        results = [
            tw.matmul(a, b),
            tw.matmul(a, b, out=torch.empty_like(a)),
            tw.gemm(a, b, trans_a="t"),
            tw.gemm(a, b, c, beta=1),
            tw.gemm(a, b, beta=1, out=c.clone()),
            made(a, b, c),
            made(a, b, out=c.clone()),
        ]
        if turn == 0:
            first = results
            only_remembered(monkeypatch)
    for one, two in zip(first, results, strict=True):
        assert torch.equal(one, two)
    weights = torch.nn.Parameter(b)
    with torch.no_grad():
        assert torch.equal(tw.matmul(a, weights), first[0])
    assert tw.matmul(a, weights).requires_grad
    for change in (
        lambda: tw.matmul(a, b.mT),
        lambda: tw.matmul(a.float(), b),
        lambda: tw.matmul(a, b, out=a),
        lambda: tw.matmul(a.flatten()[1:193].view(3, 8, 8), b),
        lambda: tw.gemm(a, b, trans_a="c"),
        lambda: tw.gemm(a, b, trans_a=[]),
        lambda: tw.gemm(a, b, c, beta=2),
        lambda: made(a, b[:2], c),
    ):
        with pytest.raises((AssertionError, RuntimeError)):
            change()


def test_out_over_an_operand(gpu: Log, torch: Any) -> None:
    for _ in range(2):
        for which in range(2):
            pair = [tensor(torch, (5, 4, 4), seed=1), tensor(torch, (5, 4, 4), seed=2)]
            want = pair[0] @ pair[1]
            assert tw.matmul(*pair, out=pair[which]) is pair[which]
            close(pair[which].numpy(), want.numpy())
        memory = tensor(torch, (6, 4, 4))
        b = tensor(torch, (5, 4, 4), seed=3)
        want = memory[:5] @ b
        tw.matmul(memory[:5], b, out=memory[1:])
        close(memory[1:].numpy(), want.numpy())
        memory = tensor(torch, (6, 4, 4))
        want = b @ b - memory[:5]
        tw.gemm(b, b, memory[:5], beta=-1, out=memory[1:])
        close(memory[1:].numpy(), want.numpy())


def test_layouts_that_are_copied(gpu: Log, torch: Any) -> None:
    a, b = tensor(torch, (4, 6, 16))[:, :, ::2], tensor(torch, (4, 8, 5))
    assert tw.plan(a, b).copies == ("a",)
    close(tw.matmul(a, b).numpy(), (a @ b).numpy())
    out = torch.zeros(4, 6, 10, dtype=torch.float64)[:, :, ::2]
    assert tw.plan(a, b, out=out).copies == ("a", "out")
    for _ in range(2):
        tw.gemm(a, b, out=out, beta=0)
        close(out.numpy(), (a @ b).numpy())
    z = torch.view_as_complex(tensor(torch, (200,), "float32").view(-1, 2))
    lazy = z[:96].view(6, 16)[:, ::2].conj()
    close(tw.gemm(lazy, lazy, trans_a="c").numpy(), (lazy.mH @ lazy).numpy())
    negated = lazy.imag
    assert negated.is_neg()
    close(tw.matmul(negated, negated.mT).numpy(), (negated @ negated.mT).numpy())


def test_elements_that_are_not_aligned(gpu: Log) -> None:
    """NumPy is content with the alignment of a complex number's parts; a GPU reads the whole."""
    flat = np.zeros(2 * 40, "f4")
    flat[...] = filled((80,), "f4")
    odd = int(address_of(flat) % 8 == 0)
    a = flat[odd : odd + 32].view("c8").reshape(4, 4)
    assert a.flags.aligned
    assert address_of(a) % 8 == 4
    assert tw.plan(Bare(a), Bare(a)).copies == ("a", "b")


def test_promotion(gpu: Log, torch: Any) -> None:
    a, b = tensor(torch, (3, 4, 5), "float32"), tensor(torch, (5, 6), "complex128")
    got = tw.matmul(a, b)
    assert got.dtype == torch.complex128
    close(got.numpy(), np.matmul(a.numpy(), b.numpy()))
    c = tensor(torch, (3, 4, 6), "complex64")
    got = tw.gemm(a, b, c, beta=2)
    close(got.numpy(), np.matmul(a.numpy(), b.numpy()) + 2 * c.numpy())
    for shape in ((6,), (1, 3, 6), (2, 1, 3, 6)):
        u, v, w = tensor(torch, (4, 3, 5)), tensor(torch, (5, 6)), tensor(torch, shape)
        if len(shape) > 1:
            close(tw.gemm(u, v, w, beta=1).numpy(), (u @ v + w).numpy())


def test_other_types_are_the_librarys(gpu: Log, torch: Any) -> None:
    for dtype in (torch.bfloat16, torch.int64, torch.float16, torch.int32):
        a = torch.ones(3, 4, 4).to(dtype)
        for _ in range(2):
            got = tw.matmul(a, a)
            assert got.dtype == dtype
            assert torch.equal(got, a @ a)
        out = torch.zeros_like(a)
        assert tw.matmul(a, a, out=out) is out
        assert torch.equal(out, a @ a)
        for run in (tw.gemm, tw.plan):
            if dtype.is_floating_point:
                assert torch.equal(run(a, a) if run is tw.gemm else run(a, a)(a, a), a @ a)
                continue
            with pytest.raises(DTypeError, match="accepted: float16, bfloat16, float32"):
                run(a, a)
    assert gpu.starts == []
    wide = tw.matmul(torch.ones(4, 4, dtype=torch.bfloat16), torch.ones(4, 4))
    assert torch.equal(wide, torch.full((4, 4), 4.0))
    with pytest.raises(DTypeError, match="same dtype"):
        tw.matmul(torch.ones(4, 4, dtype=torch.int32), torch.ones(4, 4, dtype=torch.int64))


# ---- numbers of 16 bits

HALVES = ["float16", "bfloat16", "complex32"]


def host(x: Any) -> np.ndarray:
    """A tensor of 16-bit numbers as they are computed with."""
    torch: Any = sys.modules["torch"]
    wide = torch.complex64 if x.dtype == torch.complex32 else torch.float32
    return x.detach().to(wide).resolve_conj().numpy()


def half(torch: Any, shape: tuple[int, ...], name: str, seed: int) -> Any:
    values = tensor(torch, shape, "complex64" if name == "complex32" else "float32", seed)
    return values.to(getattr(torch, name))


def rounded(got: Any, want: np.ndarray, name: str) -> None:
    """One rounding to the type, and a little for the sums."""
    assert str(got.dtype) == f"torch.{name}"
    u = 2.0**-8 if name == "bfloat16" else 2.0**-11
    np.testing.assert_allclose(host(got), want, rtol=1.5 * u, atol=1e-5)


@pytest.mark.filterwarnings("ignore:ComplexHalf")
@pytest.mark.parametrize("accepted", [True, False])
@pytest.mark.parametrize("name", HALVES)
@pytest.mark.parametrize("turn", range(2))
def test_halves(gpu: Log, torch: Any, monkeypatch: Any, name: str, accepted: bool, turn: int) -> None:
    """By a kernel where a stencil accepts them, else by the library, which has no product of complex32."""
    # Half of the transpositions, the other half of the next type and the other way.
    trans_a, trans_b = ("nn", "tn", "cc", "nc")[2 * turn + (HALVES.index(name) + accepted) % 2]
    if accepted:
        monkeypatch.setattr(Pretended, "letters", ("h", "b", "hc"))
    m, n, k = 5, 3, 7
    a = half(torch, (2, *((m, k) if trans_a == "n" else (k, m))), name, 1)
    b = half(torch, (2, *((k, n) if trans_b == "n" else (n, k))), name, 2)
    c = half(torch, (2, m, n), name, 3)
    is_complex = name == "complex32"
    for lazy in (False, True):
        x = a.conj() if lazy else a
        for alpha, beta in [(1, 0), (2.5, 1), (-1, 0.5)] + ([(1j, 2 - 1j)] if is_complex else []):
            want = alpha * np.matmul(op(host(x), trans_a), op(host(b), trans_b)) + beta * host(c)
            options: dict[str, Any] = {"alpha": alpha, "beta": beta, "trans_a": trans_a, "trans_b": trans_b}
            made = tw.plan(x, b, c, **options)
            assert (made.plan.origin == "vendor") != accepted
            for run in (lambda *u, o=options, **v: tw.gemm(*u, **o, **v), made):
                for _ in range(2):
                    rounded(run(x, b, c), want, name)
                    out = c.clone()
                    assert run(x, b, out, out=out) is out
                    rounded(out, want, name)
    assert bool(gpu.starts) == accepted
    if accepted:
        letter = {"float16": "h", "bfloat16": "b", "complex32": "hc"}[name]
        assert {start.problem.dtype.letter for start in gpu.starts} == {letter}


@pytest.mark.filterwarnings("ignore:ComplexHalf")
@pytest.mark.parametrize("accepted", [True, False])
def test_pairs_of_tensors(gpu: Log, torch: Any, monkeypatch: Any, accepted: bool) -> None:
    if accepted:
        monkeypatch.setattr(Pretended, "letters", ("h", "hc"))
    a, b, c = (
        half(torch, (*shape, 2), "float16", seed) for seed, shape in enumerate(((3, 4, 5), (5, 6), (3, 4, 6)))
    )
    x, y, z = (torch.view_as_complex(t.float()).numpy() for t in (a, b, c))

    def same(got: Any, want: np.ndarray) -> None:
        assert got.dtype == torch.float16
        np.testing.assert_allclose(torch.view_as_complex(got.float()).numpy(), want, rtol=2**-9, atol=1e-3)

    made = tw.plan(a, b, c, alpha=1j, beta=2, dtype="hc")
    for turn in range(2):
        with monkeypatch.context() as patch:
            if turn and accepted:
                only_remembered(patch)
            same(tw.matmul(a, b, dtype="hc"), x @ y)
            out = torch.full_like(c, float("nan"))
            assert tw.matmul(a, b, out=out, dtype="hc") is out
            same(out, x @ y)
            same(tw.gemm(a, b, c, alpha=1j, beta=2, dtype="hc"), 1j * (x @ y) + 2 * z)
            same(tw.gemm(a, a, trans_b="c", dtype="hc"), x @ x.conj().swapaxes(1, 2))
            same(made(a, b, c), 1j * (x @ y) + 2 * z)
            out = c.clone()
            assert made(a, b, out=out) is out
            same(out, 1j * (x @ y) + 2 * z)
    assert bool(gpu.starts) == accepted
    # The same arrays without the word are another product: of stacks of (k, 2) matrices.
    plain = tw.matmul(a.mT, a)
    assert plain.shape == (3, 4, 2, 2)
    rounded(plain, np.matmul(host(a).swapaxes(-1, -2), host(a)), "float16")
    # Parts that lie apart are copied, but not written to; a vector has two axes.
    apart = a.movedim(-1, 0).contiguous().movedim(0, -1)
    for _ in range(2):
        same(tw.matmul(apart, b, dtype="hc"), x @ y)
        same(tw.matmul(a[0, 0], b, dtype="hc"), (x @ y)[0, 0])
    with pytest.raises(ArgumentError, match="side by side"):
        tw.matmul(a, b, out=c.movedim(-1, 0).contiguous().movedim(0, -1), dtype="hc")
    with pytest.raises(DTypeError, match="a is float32; accepted with dtype='hc': float16"):
        tw.matmul(a.float(), b, dtype="hc")
    for word in ("h", "complex32", torch.float16, 0):
        for run in (tw.matmul, tw.gemm, tw.plan):
            with pytest.raises(ArgumentError, match="accepted: 'hc'"):
                run(a, b, dtype=word)
    odd = half(torch, (3 * 4 * 5 * 2 + 1,), "float16", 5)[1:].view(3, 4, 5, 2)
    for _ in range(2):
        same(tw.matmul(odd, b, dtype="hc"), torch.view_as_complex(odd.float()).numpy() @ y)
    out = half(torch, (3 * 4 * 6 * 2 + 1,), "float16", 5)[1:].view(3, 4, 6, 2)
    with pytest.raises(ArgumentError, match="on a GPU at multiples of 4 bytes"):
        tw.matmul(a, b, out=out, dtype="hc")


@pytest.mark.filterwarnings("ignore:ComplexHalf")
def test_complex_half_without_terms(gpu: Log, torch: Any) -> None:
    none = torch.zeros(2, 3, 0, dtype=torch.complex32)
    assert (host(tw.matmul(none, none.mT)) == 0).all()
    c = half(torch, (2, 3, 3), "complex32", 1)
    want = 1j * host(c)
    tw.gemm(none, none.mT, out=c, beta=1j)
    rounded(c, want, "complex32")
    with pytest.raises(DTypeError, match="complex half alone"):
        tw.matmul(c, c.to(torch.complex64))


@pytest.mark.parametrize("dtype", [np.dtype("f2"), BFLOAT16, COMPLEX_HALF])
def test_halves_of_no_library(gpu: Log, monkeypatch: Any, dtype: Any) -> None:
    """Float16 by the interface, bfloat16 and complex half by DLPack, and pairs by either."""
    monkeypatch.setattr(Pretended, "letters", ("h", "b", "hc"))
    kind = "c8" if dtype == COMPLEX_HALF else "f4"
    a, b = (narrowed(filled((4, 4), kind, seed), dtype) for seed in range(2))
    out = np.zeros((4, 4), dtype)
    want = narrowed(widened(a) @ widened(b), dtype)
    codes = {"float16": (2, 16), "bfloat16": (4, 16)}
    code, bits = codes.get(dtype.name, (5, 32))

    class Other(Capsule):
        """Integers to NumPy, whose capsule is told what they are."""

        def __dlpack__(self, stream: int | None = None) -> Any:
            capsule = self.array.view(f"i{dtype.itemsize}").__dlpack__()
            pointer = ctypes.pythonapi.PyCapsule_GetPointer
            pointer.restype, pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
            told = dlpack._Tensor.from_address(pointer(capsule, b"dltensor"))
            told.code, told.bits = code, bits
            return capsule

    tw.matmul(Other(a), Other(b), out=Other(out))
    assert (out == want).all()
    assert gpu.last.problem.dtype.numpy == dtype
    if dtype == COMPLEX_HALF:
        pairs = np.zeros((4, 4, 2), "f2")
        tw.matmul(Bare(unpaired(a)), Bare(unpaired(b)), out=Bare(pairs), dtype="hc")
        assert (paired(pairs) == want).all()


class FakeCupy:
    """As much of CuPy as complex half and bfloat16 touch, on NumPy's memory."""

    @staticmethod
    def library() -> cupy_.Cupy:
        return cupy_.Cupy(SimpleNamespace(matmul=np.matmul, empty=np.empty))


def test_what_cupy_is_given_for_types_that_it_lacks() -> None:
    found = FakeCupy.library()
    pairs = filled((3, 4, 2), "f2")
    wide = found.widened(pairs[:, ::2])
    assert (wide == widened(paired(pairs[:, ::2].copy()))).all()
    target = found.empty((3, 2), COMPLEX_HALF, 0)
    assert (target.shape, target.dtype) == ((3, 2, 2), np.float16)
    found.narrow(target, wide)
    assert (target == pairs[:, ::2]).all()
    assert (found.in_kind(target) == paired(target)).all()
    a = filled((3, 4, 4), "f4").astype(BFLOAT16)
    want = np.matmul(a.astype("f4"), a.astype("f4")).astype(BFLOAT16)
    assert (found.matmul(a, a) == want).all()
    out = np.zeros_like(a)
    assert found.matmul(a, a, out) is out
    assert (out == want).all()


@pytest.mark.parametrize("name", ["float64", "complex64"])
def test_what_no_stencil_takes_is_the_librarys(gpu: Log, torch: Any, name: str, monkeypatch: Any) -> None:
    for batch in ((), (2,), (2, 2)):
        a, b, c = (tensor(torch, (*batch, 97, 97), name, seed) for seed in range(3))
        want = torch.matmul(a, b)
        for turn in range(2):
            with monkeypatch.context() as patch:
                if turn:
                    only_remembered(patch)
                close(tw.matmul(a, b).numpy(), want.numpy())
                np.testing.assert_allclose(
                    tw.gemm(a, b, c, alpha=2, beta=0.5, trans_a="c").numpy(),
                    (2 * a.mH @ b + 0.5 * c).numpy(),
                    rtol=1e-3,
                    atol=1e-3,
                )
                nan = torch.full_like(c, float("nan"))
                np.testing.assert_allclose(
                    tw.gemm(a, b, alpha=2, trans_b="t", out=nan).numpy(),
                    (2 * a @ b.mT).numpy(),
                    rtol=1e-3,
                    atol=1e-3,
                )
        square = a.clone()
        tw.matmul(square, b, out=square)
        np.testing.assert_allclose(square.numpy(), want.numpy(), rtol=1e-4, atol=1e-4)
    assert gpu.starts == []
    assert tw.plan(a, b).plan.origin == "vendor"
    assert "the array library's matmul" in tw.explain(a, b)


def test_empty_and_alpha_zero_and_nan(gpu: Log, torch: Any) -> None:
    for a, b in (((3, 0), (0, 4)), ((0, 3, 2), (2, 2)), ((2, 0, 3), (2, 3, 3))):
        x, y = torch.zeros(a), torch.zeros(b)
        assert torch.equal(tw.matmul(x, y), x @ y)
        out = torch.full((x @ y).shape, float("nan"))
        assert torch.equal(tw.gemm(x, y, out=out), x @ y)
        tw.plan(x, y)(x, y)
    nan, a = torch.full((4, 4), float("nan")), tensor(torch, (4, 4), "float32")
    for _ in range(2):
        assert torch.equal(tw.gemm(nan, nan, alpha=0), torch.zeros(4, 4))
        assert torch.equal(tw.gemm(nan, nan, a, alpha=0, beta=2), 2 * a)
        close(tw.gemm(a, a, nan, beta=0).numpy(), (a @ a).numpy())
        close(tw.gemm(a, a, out=nan.clone()).numpy(), (a @ a).numpy())
    three = torch.full((2, 2), 3.0)
    tw.gemm(torch.zeros(2, 0), torch.zeros(0, 2), out=three, beta=2)
    assert torch.equal(three, torch.full((2, 2), 6.0))


def frames(run: Callable[[], object]) -> list[str]:
    """The functions of the package that a call goes through."""
    found: list[str] = []

    def note(frame: Any, event: str, argument: object) -> None:
        if event == "call" and "/tilewright/" in frame.f_code.co_filename:
            found.append(frame.f_code.co_name)

    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(None)
    return found


def test_gradients(gpu: Log, torch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    a = tensor(torch, (3, 3))
    wants = torch.nn.Parameter(a.clone())
    seed, into = torch.ones_like(a), torch.zeros_like(a)
    for _ in range(2):
        for run in (lambda: tw.matmul(wants, a, into), lambda: tw.plan(a, a)(wants, a)):
            with pytest.raises(DTypeError, match="requires a gradient"):
                run()
        for run in (lambda: tw.matmul(wants, a), lambda: tw.gemm(wants, a)):
            started = len(gpu.starts)
            (made,) = torch.autograd.grad(run(), wants, seed)
            close(made.numpy(), (seed @ a.mT).numpy())
            assert len(gpu.starts) == started + 2
        with torch.no_grad():
            close(tw.matmul(wants, a).numpy(), (a @ a).numpy())
            close(tw.gemm(a, wants).numpy(), (a @ a).numpy())
    # What nobody listens to goes through the call, the look and its key, and nothing of PyTorch's room; then
    # it is launched, here in Python.
    tw.matmul(a, a)
    assert frames(lambda: tw.matmul(a, a))[:4] == ["matmul", "__call__", "key", "_slow"]
    only_remembered(monkeypatch)
    with torch.no_grad():
        close(tw.matmul(wants, a).numpy(), (a @ a).numpy())
    with pytest.raises(DTypeError, match="layout"):
        lookup.library("torch").check(a.to_sparse(), "a")


def test_tensors_and_arrays_of_others(gpu: Log, torch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[int] = []
    found = lookup.library("torch")
    monkeypatch.setattr(found, "wait", lambda index, stream: waited.append(stream))
    a, b = tensor(torch, (4, 4)), filled((4, 4))
    want = a.numpy() @ b
    for stream in (None, 7, 1, 30):
        close(tw.matmul(a, Bare(b, stream=stream)).numpy(), want)
        assert gpu.last.stream == 7
    assert waited == [0, 30]
    out = np.zeros((4, 4))
    tw.matmul(Bare(b), a, out=Bare(out))
    close(out, b @ a.numpy())
    with pytest.raises(ArgumentError, match="is not on a GPU"):
        tw.matmul(a, b)
    with pytest.raises(ArgumentError, match="lazily conjugated"):
        tw.matmul(a, a, out=torch.zeros(4, 4, dtype=torch.complex128).conj())
    monkeypatch.setattr(lookup, "default_library", lambda: found)
    monkeypatch.setattr(gpu, "computes", False)
    assert isinstance(tw.matmul(Bare(b), Bare(b)), torch.Tensor)


def test_threads_share_a_kernel(gpu: Log, torch: Any) -> None:
    pairs = [(tensor(torch, (30, 6, 6), seed=i), tensor(torch, (30, 6, 6), seed=9 + i)) for i in range(4)]
    wrong = []

    def work(x: Any, y: Any) -> None:
        want = np.matmul(x.numpy(), y.numpy())
        for _ in range(100):
            if not np.allclose(tw.matmul(x, y).numpy(), want):
                wrong.append(1)

    threads = [threading.Thread(target=work, args=pair) for pair in pairs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not wrong
    assert len(gpu.starts) == 400


def test_time_around_the_launch(gpu: Log, torch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What Python adds to a launch: some microseconds, where planning takes hundreds."""
    monkeypatch.setattr(driver.Launcher, "__call__", lambda self, stream=0: None)
    a, b, c = (tensor(torch, (64, 64), seed=seed) for seed in range(3))
    made = tw.plan(a, b, out=c)
    for run in (lambda: tw.gemm(a, b), lambda: made(a, b, out=c)):
        run()
        best = min(repeat(run, number=200, repeat=20)) / 200
        print(f"{best * 1e6:.2f} us")
        assert best < 40e-6


def test_addresses_that_no_texture_covers(gpu: Log, torch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The library multiplies there, and a batch of several runs is not planned with textures at all."""
    refused = []

    def refuse(address: int, *_: int) -> None:
        refused.append(address)
        raise ArgumentError("address: accepted by textures of this device: multiples of 512 bytes")

    monkeypatch.setattr(driver, "texture1d", refuse)
    monkeypatch.setattr(Pretended, "reading", "tex1d")
    a, b, c = (tensor(torch, (6, 6), "complex64", seed) for seed in range(3))
    want = 2 * a.mH @ b.conj() + 3 * c
    made = tw.plan(a, b.conj(), c, alpha=2, beta=3, trans_a="c")
    assert made.plan.stencil == "pretend"
    for turn in range(1, 3):
        out = c.clone()
        made(a, b.conj(), out=out)
        np.testing.assert_allclose(out.numpy(), want.numpy(), rtol=1e-4, atol=1e-4)
        assert len(refused) >= turn
    assert gpu.starts == []
    with pytest.raises(ArgumentError, match="512"):
        tw.plan(a, b, stencil="pretend")(a, b)
    stack = tensor(torch, (2, 6, 6))
    assert tw.plan(stack, stack).plan.origin == "vendor"
    close(tw.matmul(stack, stack).numpy(), (stack @ stack).numpy())


def test_a_call_that_comes_again_and_again(gpu: Log, torch: Any) -> None:
    """From the third on it is compared with the last one alone; anything else about it is seen."""
    a, b, c = (tensor(torch, (3, 6, 6), seed=seed) for seed in range(3))
    for _ in range(4):
        assert tw.matmul(a, b, out=c.fill_(0)) is c
        close(c.numpy(), (a @ b).numpy())
    calls = device_calls.CALLS[type(a)]
    assert isinstance(calls, device_calls.TorchCalls)
    assert calls.again is not None
    for x, y in ((b, a), (a.mT, b), (a[:2], b[:2]), (a.to(torch.float32), b.to(torch.float32))):
        out = torch.zeros(x.shape, dtype=x.dtype)
        for _ in range(3):
            tw.matmul(x, y, out=out.fill_(0))
            close(out.numpy(), (x @ y).numpy())
            tw.gemm(x, y, alpha=2, out=out.fill_(0))
            close(out.numpy(), (2 * x @ y).numpy())
    with pytest.raises(ArgumentError):
        tw.matmul(a, b, out=c[:, :, :5])
    tw.matmul(a, a, out=a)
    tw.forget()
    assert device_calls.CALLS == {}


def test_forget(gpu: Log, torch: Any) -> None:
    a = tensor(torch, (4, 4))
    tw.matmul(a, a)
    assert type(a) in device_calls.CALLS
    tw.forget()
    assert device_calls.CALLS == {}
    tw.matmul(a, a)
    assert dispatch.device("cuda").key == "h200"


@dataclass
class Made:
    """Architectures that were compiled for, and the GPU that each kernel was loaded on."""

    compiled: list[str] = field(default_factory=list)
    loaded: list[tuple[str, int]] = field(default_factory=list)


MODELS = ("h200", "a100")


@pytest.fixture
def two_gpus(gpu: Log, new_home: Any, monkeypatch: pytest.MonkeyPatch) -> Made:
    """An H200 and an A100; compiling and loading take notes only."""
    made = Made()

    def compiled(source: Source, device: Device) -> Binary:
        made.compiled.append(device.features)
        return Binary(device.features.encode(), source.entry, source.digest)

    def load(binary: Binary) -> Kernel:
        made.loaded.append((binary.code.decode(), driver.current_device()))
        return Kernel(1, binary)

    monkeypatch.setattr(devices, "count", lambda: 2)
    monkeypatch.setattr(
        devices, "probe", lambda index=0: replace(capability.named(MODELS[index]), index=index)
    )
    monkeypatch.setattr(nvrtc, "toolchain", lambda: "nvrtc 0")
    monkeypatch.setattr(nvrtc, "compile", compiled)
    monkeypatch.setattr(modules, "load", load)
    monkeypatch.setattr(bound_cuda.build, "kernel", KERNEL)
    monkeypatch.setattr(gpu, "computes", False)
    bound_cuda._elsewhere.cache_clear()
    return made


def on(monkeypatch: pytest.MonkeyPatch, index: int) -> None:
    """Arrays lie on a GPU, and it is current."""
    monkeypatch.setattr(dlpack, "device_of", lambda address, name: index)
    monkeypatch.setattr(driver, "current_device", lambda: index)


def test_each_gpu_has_its_own_plans_and_kernels(
    gpu: Log, two_gpus: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    best = Records.best

    def noted(self: Records, key: str, kind: str, device: str, **options: Any) -> Any:
        asked.append(device)
        return best(self, key, kind, device, **options)

    monkeypatch.setattr(Records, "best", noted)
    x = Bare(filled((8, 8)))
    for index in (0, 1, 0):
        on(monkeypatch, index)
        tw.matmul(x, x, out=Bare(np.zeros((8, 8))))
    # Others are asked after them, for they may be alike.
    own = [name for name in map(capability.canonical, asked) if name in MODELS]
    assert list(dict.fromkeys(own)) == list(MODELS)
    assert two_gpus.compiled == ["sm_90a", "sm_80"]
    assert two_gpus.loaded == [("sm_90a", 0), ("sm_80", 1)]
    for index in (0, 1):
        on(monkeypatch, index)
        made = tw.plan(x, x, out=Bare(np.zeros((8, 8))))
        assert (made.plan.device.key, made.plan.device.index) == (MODELS[index], index)
        assert f"GPU {index}" in made.explain()


def test_a_product_of_nothing_is_planned_where_its_arrays_lie(
    gpu: Log, two_gpus: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    on(monkeypatch, 1)
    empty = Bare(np.zeros((0, 4)))
    assert tw.plan(empty, Bare(np.zeros((4, 4))), out=empty).plan.device.key == "a100"


def test_alike_gpus_share_what_is_looked_up() -> None:
    one, other = (replace(capability.named("h200"), index=i, uuid=f"GPU-{i}") for i in (0, 1))
    assert one == other
    assert hash(one) == hash(other)
    assert one != capability.named("a100")


def test_a_gpu_is_named_as_nvidias_tools_name_it(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = SimpleNamespace(bytes=bytes(range(16)))
    monkeypatch.setattr(devices, "bindings", lambda: SimpleNamespace(cuDeviceGetUuid=lambda handle: (0, raw)))
    assert devices._uuid(7) == "GPU-00010203-0405-0607-0809-0a0b0c0d0e0f"
    monkeypatch.setattr(
        devices, "bindings", lambda: SimpleNamespace(cuDeviceGetUuid=lambda handle: (999, raw))
    )
    assert devices._uuid(7) == ""
