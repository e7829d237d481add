"""Tensors of PyTorch: results in kind, work that was put off, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
from tests.products import close
from tilewright.errors import ArgumentError, DTypeError

pytestmark = pytest.mark.cpu


def test_tensors() -> None:
    torch = pytest.importorskip("torch")
    for dtype in (torch.float32, torch.float64, torch.complex64, torch.complex128):
        a, b = torch.randn(6, 4, 5, dtype=dtype), torch.randn(6, 5, 3, dtype=dtype)
        want = np.matmul(a.numpy(), b.numpy())
        for _ in range(2):
            for got in (tw.matmul(a, b), tw.gemm(a, b), tw.plan(a, b)(a, b)):
                assert isinstance(got, torch.Tensor)
                close(got.numpy(), want)
        out = torch.zeros(6, 4, 3, dtype=dtype)
        assert tw.matmul(a, b, out=out) is out
        close(out.numpy(), want)
        transposed = tw.gemm(b, a, trans_a="c", trans_b="c")
        close(transposed.numpy(), np.matmul(b.numpy().conj().swapaxes(1, 2), a.numpy().conj().swapaxes(1, 2)))
        mixed = tw.matmul(a.numpy(), b)
        assert isinstance(mixed, np.ndarray)
        close(mixed, want)
    whole = torch.ones(3, 3, dtype=torch.int64)
    assert torch.equal(tw.matmul(whole, whole), whole @ whole)
    into = torch.zeros(3, 3, dtype=torch.int64)
    assert tw.matmul(whole, whole, out=into) is into
    assert torch.equal(into, whole @ whole)
    v = torch.randn(4, dtype=torch.float64)
    for _ in range(2):
        assert isinstance(tw.matmul(v, v), torch.Tensor)


def test_tensors_that_put_off_work() -> None:
    torch = pytest.importorskip("torch")
    a = torch.randn(4, 4, dtype=torch.complex128)
    lazy = a.conj()
    close(tw.matmul(lazy, a).numpy(), np.matmul(a.numpy().conj(), a.numpy()))
    with pytest.raises(ArgumentError, match="lazily conjugated"):
        tw.matmul(a, a, out=torch.zeros(4, 4, dtype=torch.complex128).conj())


def test_tensors_that_are_refused() -> None:
    torch = pytest.importorskip("torch")
    a = torch.randn(3, 3, dtype=torch.float64)
    wants = a.clone().requires_grad_()
    into = torch.zeros_like(a)
    for call in (
        lambda: tw.matmul(wants, a, into),
        lambda: tw.plan(a, a)(wants, a),
        lambda: tw.chain(a, wants),
    ):
        with pytest.raises(DTypeError, match="requires a gradient"):
            call()
    with torch.no_grad():
        close(tw.matmul(wants, a).numpy(), np.matmul(a.numpy(), a.numpy()))
    close(tw.matmul(wants.detach(), a).numpy(), np.matmul(a.numpy(), a.numpy()))
    with pytest.raises(DTypeError, match="tensor on meta"):
        tw.matmul(torch.ones(3, 3, device="meta"), a)
    with pytest.raises(DTypeError, match="float8"):
        tw.matmul(a.to(torch.float8_e4m3fn), a.to(torch.float8_e4m3fn))
    with pytest.raises(DTypeError):
        tw.matmul(a.to_sparse(), a)
