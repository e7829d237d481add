"""Arrays of no library, of two, on two GPUs, and those that are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tests.cuda.arrays import Xp, close, filled
from tilewright.errors import ArgumentError, DTypeError
from tilewright.targets.cuda import devices

REASON = devices.missing()
pytestmark = [pytest.mark.cuda, pytest.mark.skipif(REASON is not None, reason=str(REASON))]


class Bare:
    """An array that offers ``__cuda_array_interface__`` and nothing else."""

    def __init__(self, array: Any):
        self.array = array
        told = dict(array.__cuda_array_interface__)
        self.__cuda_array_interface__ = told | {"data": (told["data"][0], False)}


class Capsule:
    """An array that speaks DLPack and nothing else."""

    def __init__(self, array: Any):
        self.array = array

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()

    def __dlpack__(self, stream: int | None = None) -> Any:
        return self.array.__dlpack__(stream=stream)


@pytest.mark.parametrize("kind", [Bare, Capsule])
def test_arrays_of_no_library(xp: Xp, kind: Any) -> None:
    a, b = filled((3, 20, 30)), filled((3, 30, 10))
    out = xp.full((3, 20, 10), 0, "float64")
    held = kind(out)
    assert tw.matmul(kind(xp.put(a)), kind(xp.put(b)), out=held) is held
    xp.synchronize()
    close(xp.get(out), np.matmul(a, b), "float64", 30)
    # Without out, the result is of a library that is there.
    got = tw.matmul(kind(xp.put(a)), kind(xp.put(b)))
    assert type(got).__module__.partition(".")[0] in ("torch", "cupy")
    got = tw.matmul(xp.put(a), kind(xp.put(b)))
    close(xp.get(got), np.matmul(a, b), "float64", 30)


def test_two_libraries_in_one_call() -> None:
    torch, cupy = pytest.importorskip("torch"), pytest.importorskip("cupy")
    a, b = filled((20, 30)), filled((30, 10))
    x, y = torch.from_numpy(a).cuda(), cupy.asarray(b)
    torch.cuda.synchronize()
    got = tw.matmul(x, y)
    assert isinstance(got, torch.Tensor)
    close(got.cpu().numpy(), a @ b, "float64", 30)
    got = tw.gemm(y, x, trans_a="t", trans_b="t")
    assert isinstance(got, cupy.ndarray)
    close(cupy.asnumpy(got), b.T @ a.T, "float64", 30)


def test_what_is_refused(xp: Xp) -> None:
    a = xp.put(filled((4, 4)))
    for run in (tw.matmul, tw.gemm, tw.plan):
        with pytest.raises(ArgumentError, match="b of type ndarray is not on a GPU"):
            run(a, filled((4, 4)))
        with pytest.raises(ArgumentError, match="out of type ndarray is not on a GPU"):
            run(a, a, out=filled((4, 4)))
        with pytest.raises(ArgumentError, match=r"out has shape \(4, 5\)"):
            run(a, a, out=xp.full((4, 5), 0, "float64"))
        with pytest.raises(DTypeError, match="out is float32"):
            run(a, a, out=xp.full((4, 4), 0, "float32"))
    with pytest.raises(ArgumentError, match="columns do not meet"):
        tw.matmul(a, a[:3])
    with pytest.raises(ArgumentError, match=r"(?s)alpha=.*accepted: a number"):
        tw.gemm(a, a, alpha=a)
    with pytest.raises(ArgumentError, match="without c"):
        tw.gemm(a, a, beta=1)


def test_tensors_that_are_refused() -> None:
    torch = pytest.importorskip("torch")
    a = torch.ones(4, 4, device="cuda")
    wants = torch.nn.Parameter(a.clone())
    for _ in range(2):
        with pytest.raises(DTypeError, match="requires a gradient"):
            tw.matmul(wants, a, out=torch.empty_like(a))
        with torch.no_grad():
            assert (tw.matmul(wants, a) == 4).all()
    with pytest.raises(ArgumentError, match="b of type Tensor is not on a GPU"):
        tw.matmul(a, torch.ones(4, 4))
    with pytest.raises(DTypeError, match="layout"):
        tw.matmul(a.to_sparse(), a)
    z = torch.zeros(4, 4, device="cuda", dtype=torch.complex64)
    with pytest.raises(ArgumentError, match="lazily conjugated"):
        tw.matmul(z, z, out=torch.zeros_like(z).conj())


def test_two_gpus(xp: Xp) -> None:
    if devices.count() < 2:
        pytest.skip("one GPU here")
    a = filled((30, 30))
    here = xp.put(a)
    if xp.name == "torch":
        there = here.to("cuda:1")
    else:
        with xp.xp.cuda.Device(1):
            there = xp.xp.asarray(a)
    with pytest.raises(ArgumentError, match="b lies on GPU 1 and a on GPU 0"):
        tw.matmul(here, there)
    for _ in range(3):
        got = tw.matmul(there, there)
        assert "1" in str(got.device)
        close(xp.get(got), a @ a, "float64", 30)
        close(xp.get(tw.matmul(here, here)), a @ a, "float64", 30)
