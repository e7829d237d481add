"""Calls on arrays of a GPU, without one: a launcher that does in NumPy what a kernel would, on host memory.

The arrays are objects with ``__cuda_array_interface__`` and DLPack over NumPy's memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

import tilewright as tw
from tests.device_arrays import Bare, Capsule, close, in_turns
from tests.pretended import Log, Pretended
from tests.products import filled, op
from tilewright.arrays import dlpack
from tilewright.arrays.view import (
    address_of,
)
from tilewright.calls import settings
from tilewright.errors import ArgumentError, DeviceError, DTypeError
from tilewright.planning import dispatch
from tilewright.stencils.cuda import args
from tilewright.targets.cuda import binding, devices, driver

pytestmark = pytest.mark.pure


FLOATS = ["f4", "f8", "c8", "c16"]


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


def test_other_scalars_are_no_reason_to_plan_again(gpu: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    made, plan = [], dispatch.plan
    monkeypatch.setattr(dispatch, "plan", lambda *a, **k: made.append(a) or plan(*a, **k))
    a, b, out = filled((2, 5, 4)), filled((2, 4, 3), seed=1), np.zeros((2, 5, 3))
    for alpha in (0.5, -3, 0.25, 7):
        tw.gemm(Bare(a), Bare(b), alpha=alpha, out=Bare(out))
        close(out, alpha * np.matmul(a, b))
    assert len(made) == 1


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
