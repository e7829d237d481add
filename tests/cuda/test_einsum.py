"""Contractions of tensors on a GPU beside PyTorch's, and what is copied for them."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
from tilewright.targets.cuda import devices

pytestmark = [
    pytest.mark.cuda,
    pytest.mark.skipif(devices.missing() is not None, reason=devices.missing() or ""),
]
torch = pytest.importorskip("torch")

EQUATIONS = [
    ("xab,xbc->xac", [(5000, 3, 3), (5000, 3, 3)]),
    ("xba,xbc,xdc->xad", [(700, 3, 3), (700, 3, 4), (700, 5, 4)]),
    ("wtxba,dwtxbc->dwtxac", [(2, 3, 40, 3, 3), (4, 2, 3, 40, 3, 3)]),
    ("ai,bj,ck,eijk->eabc", [(6, 5), (6, 5), (6, 5), (50, 5, 5, 5)]),
    ("bqhd,bkhd->bhqk", [(3, 20, 4, 16), (3, 24, 4, 16)]),
    ("abx,bcx->acx", [(3, 4, 1000), (4, 5, 1000)]),
    ("pqrs,sa->pqra", [(5, 6, 7, 8), (8, 9)]),
    ("iij,jk->k", [(6, 6, 5), (5, 4)]),
    ("bi,bj->bij", [(30, 4), (30, 5)]),
    ("bij,bij->b", [(30, 4, 5), (30, 4, 5)]),
    ("ni,nj->ij", [(4000, 6), (4000, 7)]),
    ("bij,bjk,bk->bi", [(900, 4, 5), (900, 5, 6), (900, 6)]),
    ("nij,njk,nlk->nil", [(900, 2, 3), (900, 3, 3), (900, 2, 3)]),
    ("xij,xjk,xkl,xlm->xmi", [(300, 3, 4), (300, 4, 5), (300, 5, 6), (300, 6, 2)]),
    ("ef,bcd,ed,de->bcf", [(8, 8), (16, 8, 8), (8, 8), (8, 8)]),
]


def drawn(shapes, dtype):
    generator = torch.Generator("cuda").manual_seed(5)
    return [torch.randn(shape, dtype=dtype, device="cuda", generator=generator) for shape in shapes]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.complex64], ids=str)
@pytest.mark.parametrize(("equation", "shapes"), EQUATIONS)
def test_equations(equation, shapes, dtype):
    operands = drawn(shapes, dtype)
    expected = torch.einsum(equation, *operands)
    for _ in range(2):
        found = tw.einsum(equation, *operands)
        assert found.device.type == "cuda"
        torch.testing.assert_close(found, expected, rtol=2e-3, atol=2e-3)
    out = torch.full_like(expected, float("nan"))
    assert tw.einsum(equation, *operands, out=out) is out
    torch.testing.assert_close(out, expected, rtol=2e-3, atol=2e-3)


def test_halves_and_conjugates_that_are_put_off():
    a, b = drawn([(500, 8, 8), (500, 8, 8)], torch.float16)
    torch.testing.assert_close(tw.einsum("xab,xbc->xac", a, b), a @ b, rtol=1e-2, atol=1e-2)
    u, v = drawn([(500, 3, 3), (500, 3, 3)], torch.complex128)
    torch.testing.assert_close(tw.einsum("xba,xbc->xac", u.conj(), v), u.mH @ v)


def test_nothing_is_allocated_but_the_result():
    a, b = drawn([(4, 2, 3, 4000, 3, 3), (2, 3, 4000, 3, 3)], torch.float64)
    tw.einsum("dwtxba,wtxbc->dwtxac", a, b)
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    found = tw.einsum("dwtxba,wtxbc->dwtxac", a, b)
    torch.cuda.synchronize()
    assert torch.cuda.max_memory_allocated() - before <= found.numel() * 8 + 4096


def test_a_contraction_is_captured_in_a_graph():
    a, b = drawn([(1000, 4, 4), (1000, 4, 4)], torch.float32)
    out = torch.empty_like(a)
    for _ in range(3):
        tw.einsum("xab,xcb->xac", a, b, out=out)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        tw.einsum("xab,xcb->xac", a, b, out=out)
    a.copy_(torch.randn_like(a))
    out.fill_(0)
    graph.replay()
    torch.testing.assert_close(out, a @ b.mT, rtol=1e-3, atol=1e-3)


def test_chains_are_one_kernel():
    u, v, w = drawn([(2000, 3, 3)] * 3, torch.complex128)
    assert "2000 chains of 3x3x3x3 in one kernel" in tw.explain("xba,xbc,xdc->xad", u, v, w)
    for a, b, c in ((u, v, u), (u, v, w), (u, u, u), (u.conj(), v, w)):
        for _ in range(2):
            found = tw.einsum("xba,xbc,xdc->xad", a, b, c)
            torch.testing.assert_close(found, a.mT @ b @ c.mT)
    given = u.clone()
    assert tw.einsum("xba,xbc,xdc->xad", given, v, w, out=given) is given
    torch.testing.assert_close(given, u.mT @ v @ w.mT)


def test_new_results_are_captured_in_a_graph():
    a, b, c = drawn([(1000, 4, 4)] * 3, torch.float32)
    for _ in range(3):
        tw.einsum("xab,xcb,xcd,xed->xae", a, b, c, a)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        made = tw.einsum("xab,xcb,xcd,xed->xae", a, b, c, a)
    a.copy_(torch.randn_like(a))
    graph.replay()
    torch.testing.assert_close(made, a @ b.mT @ c @ a.mT, rtol=1e-3, atol=1e-3)


def test_arrays_in_different_memories_are_refused():
    (a,) = drawn([(4, 4)], torch.float32)
    with pytest.raises(tw.ArgumentError, match="some operands lie on a GPU"):
        tw.einsum("ij,jk->ik", a, np.ones((4, 4), np.float32))
