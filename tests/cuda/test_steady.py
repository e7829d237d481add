"""Deterministic calls on a live GPU: a row has the same bits however many rows and products come with it."""

from __future__ import annotations

import pytest

import tilewright as tw
from tilewright.errors import ArgumentError
from tilewright.targets.cuda import devices

torch = pytest.importorskip("torch")
pytestmark = [
    pytest.mark.cuda,
    pytest.mark.skipif(devices.missing() is not None, reason=devices.missing() or ""),
]

NAMES = ["float16", "bfloat16", "float32", "float64", "complex64", "complex128"]


@pytest.mark.parametrize(("n", "k"), [(16, 24), (136, 1000), (1024, 520)])
@pytest.mark.parametrize("name", NAMES)
def test_a_row_does_not_depend_on_how_many_there_are(name: str, n: int, k: int) -> None:
    kind = getattr(torch, name)
    a, b = (torch.randn(*shape, device="cuda", dtype=kind) for shape in ((700, k), (k, n)))
    whole = tw.matmul(a, b, deterministic=True)
    want = a.to(torch.complex128 if kind.is_complex else torch.float64) @ b.to(
        torch.complex128 if kind.is_complex else torch.float64
    )
    assert float((whole - want).abs().max() / want.abs().max()) < 2e-2
    for _ in range(3):
        assert torch.equal(tw.matmul(a, b, deterministic=True), whole)
    for first, rows in ((0, 1), (8, 5), (0, 15), (16, 128), (8, 129), (0, 640)):
        some = tw.matmul(a[first : first + rows], b, deterministic=True)
        assert torch.equal(some, whole[first : first + rows]), (first, rows)
    stack = tw.matmul(a.view(7, 100, k), b, deterministic=True)
    assert torch.equal(stack.view(700, n), whole)
    many = tw.matmul(a.view(7, 100, k), b.expand(7, k, n).contiguous(), deterministic=True)
    assert torch.equal(many.view(700, n), whole)
    turned = a[:96].t().contiguous().t()
    assert torch.equal(tw.matmul(turned, b, deterministic=True), whole[:96])


@pytest.mark.parametrize("name", ["float32", "float64", "complex64", "complex128"])
def test_any_sizes_are_served_in_full_precision(name: str) -> None:
    a, b = (torch.randn(*shape, device="cuda", dtype=getattr(torch, name)) for shape in ((90, 77), (77, 35)))
    whole = tw.matmul(a, b, deterministic=True)
    assert torch.equal(tw.matmul(a[:3], b, deterministic=True), whole[:3])
    updated = tw.gemm(a, b, whole, alpha=2, beta=3, deterministic=True)
    assert torch.equal(tw.gemm(a[:50], b, whole[:50], alpha=2, beta=3, deterministic=True), updated[:50])


def test_what_cannot_be_promised_is_refused() -> None:
    a, b = (torch.randn(*shape, device="cuda", dtype=torch.float16) for shape in ((9, 33), (33, 16)))
    with pytest.raises(ArgumentError, match="warpgroup: a column does not begin"):
        tw.matmul(a, b, deterministic=True)
    with pytest.raises(ArgumentError, match="no kernel adds"):
        tw.matmul(
            torch.zeros(4, 4, 2, device="cuda").half(),
            torch.zeros(4, 4, 2, device="cuda").half(),
            dtype="hc",
            deterministic=True,
        )
