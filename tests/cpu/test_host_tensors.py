"""Calls on PyTorch's tensors in this process's memory: planned once, and then looked up like NumPy's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tilewright as tw

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.cpu

Calls = Callable[[Callable[[], object]], int]
FEW = 20
"""Python calls of a call that is looked up; one that is planned goes through hundreds."""
TYPES = ("float32", "float64", "complex64", "complex128", "float16", "bfloat16")
WIDE = {"complex64": "complex128", "complex128": "complex128"}


def made(seed: int, *shape: int, kind: str) -> Any:
    torch.manual_seed(seed)
    wide = torch.randn(*shape, dtype=getattr(torch, WIDE.get(kind, "float64")))
    return wide.to(getattr(torch, kind))


def wide(tensor: Any) -> Any:
    return tensor.to(torch.complex128 if tensor.is_complex() else torch.float64, copy=True)


def close(got: Any, want: Any) -> None:
    few = got.dtype in (torch.float16, torch.bfloat16)
    loose = got.dtype in (torch.float32, torch.complex64)
    tolerance = 4e-2 if few else 1e-4 if loose else 1e-11
    assert torch.allclose(wide(got), want, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(
    ("kind", "layout"),
    [
        *((kind, "rows") for kind in TYPES),
        *((kind, layout) for kind in ("float64", "bfloat16") for layout in ("columns", "last", "steps")),
    ],
)
def test_what_is_looked_up_is_right(kind: str, layout: str, calls_of: Calls) -> None:
    for seed in range(3):
        a = made(seed, 30, 4, 3, kind=kind)
        if layout == "columns":
            a = a.mT.contiguous().mT
        elif layout == "last":
            a = a.permute(1, 2, 0).contiguous().permute(2, 0, 1)
        elif layout == "steps":
            a = a.repeat_interleave(2, -1)[..., ::2]
        b = made(seed + 9, 30, 3, 5, kind=kind)
        want = wide(a) @ wide(b)
        result = tw.matmul(a, b)
        assert result.dtype is a.dtype
        close(result, want)
        out = torch.zeros_like(result)
        assert tw.matmul(a, b, out=out) is out
        close(out, want)
        before = wide(out)
        assert tw.gemm(a, b, out=out, alpha=2, beta=0.5) is out
        close(out, 2 * want + before / 2)
        c, before = out.clone(), wide(out)
        close(tw.gemm(a, b, c, alpha=2, beta=0.5), 2 * want + before / 2)
        assert torch.equal(c, out)
        assert tw.gemm(a, b, c, alpha=2, beta=0.5, out=c) is c
        close(c, 2 * want + before / 2)
    for call in (
        lambda: tw.matmul(a, b),
        lambda: tw.matmul(a, b, out=out),
        lambda: tw.gemm(a, b, out=out, alpha=2, beta=0.5),
        lambda: tw.gemm(a, b, c, alpha=2, beta=0.5),
    ):
        assert calls_of(call) <= FEW


def test_gradients_and_conjugates_are_seen() -> None:
    a, b = made(1, 30, 4, 4, kind="complex64"), made(2, 30, 4, 4, kind="complex64")
    for _ in range(2):
        close(tw.matmul(a, b), wide(a) @ wide(b))
        # The same memory, of which the call says that it is conjugated.
        close(tw.matmul(a.conj(), b), wide(a).conj() @ wide(b))
    wanting = a.clone().requires_grad_()
    assert tw.matmul(wanting, b).requires_grad
    with pytest.raises(tw.DTypeError, match="requires a gradient"):
        tw.matmul(wanting, b, out=torch.empty_like(a))
    with torch.no_grad():
        assert not tw.matmul(wanting, b).requires_grad
        close(tw.matmul(wanting, b, out=torch.empty_like(a)), wide(a) @ wide(b))


def test_what_overlaps_arrays_beside_tensors_and_transforms_go_the_long_way() -> None:
    a = made(1, 30, 4, 4, kind="float64")
    want = a @ a
    for _ in range(2):
        close(tw.matmul(a, a.numpy()), want)
        close(torch.from_numpy(tw.matmul(a.numpy(), a)), want)
        into = a.clone()
        assert tw.matmul(into, into, out=into) is into
        close(into, want)
        close(torch.func.vmap(lambda x, y: tw.matmul(x, y))(a, a), want)
