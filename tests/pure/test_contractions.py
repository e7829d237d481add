"""Contractions on a GPU that is pretended: what is launched, what comes again, what is one chain."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tests.pretended import Log, at, tensor
from tilewright.arrays.chains import ChainJob
from tilewright.calls import chains
from tilewright.contract import einsum as contraction
from tilewright.runtime.call_cache import CONTRACTIONS

pytestmark = pytest.mark.pure

CASES = [
    # An equation, its shapes, launches of products and of chains.
    ("xab,xbc->xac", [(20, 3, 3)] * 2, 1, 0),
    ("xba,xbc->xca", [(20, 3, 4), (20, 3, 5)], 1, 0),
    ("bij,bj->bi", [(20, 4, 4), (20, 4)], 1, 0),
    ("abcd,ad", [(4, 3, 3, 8), (4, 8)], 1, 0),
    ("dd,fb,be,cdb->cef", [(3, 3), (4, 5), (5, 6), (7, 3, 5)], 2, 0),
    ("abcd,xcydz->xaybz", [(2, 2, 2, 2), (4, 2, 6, 2, 6)], 1, 0),
    ("xba,xbc,xdc->xad", [(20, 3, 3)] * 3, 0, 1),
    ("nij,njk,nlk->nil", [(20, 2, 3), (20, 3, 3), (20, 2, 3)], 0, 1),
    ("bij,bjk,bk->bi", [(20, 4, 5), (20, 5, 6), (20, 6)], 0, 1),
    ("xij,xjk,xkl,xlm->xmi", [(20, 3, 4), (20, 4, 5), (20, 5, 6), (20, 6, 2)], 1, 1),
    # One of the products is a large one.
    ("ij,bjk,lk->bil", [(4, 5), (20, 5, 6), (7, 6)], 2, 0),
    ("ni,ij,nj->n", [(20, 4), (4, 5), (20, 5)], 2, 0),
    # Two labels are summed, and a trace is no matrix.
    ("srij,srjk,srlk->ril", [(3, 5, 2, 2)] * 3, None, 0),
    ("rij,rjk,rik->r", [(20, 2, 2)] * 3, 2, 0),
]


@pytest.fixture
def linked(monkeypatch: pytest.MonkeyPatch) -> list[ChainJob]:
    """Chains that a GPU has a kernel for, each of them, computed here; which ones ran."""
    ran: list[ChainJob] = []

    def planned(backend: Any, job: ChainJob) -> tuple[None, Any]:
        p = job.problem

        def run(addresses: Any, stream: int) -> None:
            ran.append(job)
            lies = (*p.operands, p.out)
            arrays = [
                at(address, (p.batch, x.columns, x.rows), (x.stride, x.ld, 1), p.dtype.numpy)
                for x, address in zip(lies, addresses, strict=True)
            ]
            made = None
            for factor in p.factors:
                x = arrays[factor.operand]
                x = x if factor.transposed else x.swapaxes(1, 2)
                x = x.conj() if factor.conjugated else x
                made = x if made is None else made @ x
            assert made is not None
            arrays[-1][...] = made.swapaxes(1, 2)

        return None, run

    monkeypatch.setattr(chains, "planned", planned)
    return ran


def only_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise AssertionError("the slow path")

    monkeypatch.setattr(contraction, "_planned", refuse)


def drawn(torch: Any, shapes: list[tuple[int, ...]]) -> list[Any]:
    return [tensor(torch, shape, "float64", seed) for seed, shape in enumerate(shapes)]


@pytest.mark.parametrize(("equation", "shapes", "products", "linking"), CASES)
def test_a_call_that_comes_again_is_its_launches(
    gpu: Log,
    torch: Any,
    linked: list[ChainJob],
    monkeypatch: Any,
    equation: str,
    shapes: Any,
    products: int | None,
    linking: int,
) -> None:
    operands = drawn(torch, shapes)
    want = torch.einsum(equation, *operands)
    torch.testing.assert_close(tw.einsum(equation, *operands), want)
    started, ran = len(gpu.starts), len(linked)
    assert ran == linking
    assert products in (None, started)
    assert ("in one kernel" in tw.explain(equation, *operands)) is (ran > 0)
    out = torch.full_like(want, float("nan"))
    assert tw.einsum(equation, *operands, out=out) is out
    torch.testing.assert_close(out, want)
    only_remembered(monkeypatch)
    others = [x + 1 for x in operands]
    want = torch.einsum(equation, *others)
    before = len(gpu.starts), len(linked)
    torch.testing.assert_close(tw.einsum(equation, *others), want)
    assert (len(gpu.starts) - before[0], len(linked) - before[1]) == (started, ran)
    assert {start.stream for start in gpu.starts} <= {7}
    assert tw.einsum(equation, *others, out=out) is out
    torch.testing.assert_close(out, want)


@pytest.mark.parametrize("equation", ["xab,xbc->xac", "xab,xbc,xcd->xad", "xab,xab,xbc->xac"])
def test_what_is_remembered_keeps_no_array(gpu: Log, torch: Any, linked: Any, equation: str) -> None:
    operands = drawn(torch, [(9, 3, 3)] * (equation.count(",") + 1))
    made = tw.einsum(equation, *operands)
    assert CONTRACTIONS
    gone = [weakref.ref(x) for x in (*operands, made)]
    del operands, made
    assert [x() is None for x in gone] == [True] * len(gone)


def test_an_operand_that_stands_twice_is_no_other_call(gpu: Log, torch: Any, linked: Any) -> None:
    u, v, w = drawn(torch, [(9, 3, 3)] * 3)
    for a, b, c in ((u, v, u), (u, v, w), (u, u, u), (w, v, w), (u, v, w)):
        torch.testing.assert_close(tw.einsum("xab,xbc,xcd->xad", a, b, c), a @ b @ c)


@pytest.mark.parametrize("equation", ["xab,xbc->xac", "xab,xbc,xcd->xad"])
def test_an_out_over_an_operand(gpu: Log, torch: Any, linked: Any, equation: str) -> None:
    operands = drawn(torch, [(9, 3, 3)] * (equation.count(",") + 1))
    want = torch.einsum(equation, *operands)
    tw.einsum(equation, *operands, out=torch.empty_like(want))
    for at_operand in range(len(operands)):
        given = [x.clone() for x in operands]
        torch.testing.assert_close(tw.einsum(equation, *given, out=given[at_operand]), want)


def test_what_is_not_told_apart_goes_the_usual_way(gpu: Log, torch: Any) -> None:
    a, b = drawn(torch, [(9, 3, 3)] * 2)
    wide = tensor(torch, (82,))
    odd = wide[1:].reshape(9, 3, 3)
    assert odd.data_ptr() % 16
    for operands in ((a, b), (odd, b), (a.mT, b), (a, a.double() * 2)):
        for _ in range(2):
            torch.testing.assert_close(tw.einsum("xab,xbc->xac", *operands), operands[0] @ operands[1])
    assert len(CONTRACTIONS) == 2
    wants = torch.nn.Parameter(a.clone())
    assert tw.einsum("xab,xbc->xac", wants, b).requires_grad
    with torch.no_grad():
        assert not tw.einsum("xab,xbc->xac", wants, b).requires_grad
    lists = tw.einsum(a, [0, 1, 2], b, [0, 2, 3], [0, 1, 3])
    torch.testing.assert_close(lists, a @ b)
    tw.forget()
    assert CONTRACTIONS == {}


def test_whoever_follows_all_calls_sees_them(gpu: Log, torch: Any) -> None:
    from torch.utils._python_dispatch import TorchDispatchMode

    class Seen(TorchDispatchMode):  # type: ignore[misc]  # PyTorch's classes are unknown here
        calls = 0

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            self.calls += "tilewright" in str(func) or "matmul" in str(func) or "bmm" in str(func)
            return func(*args, **(kwargs or {}))

    a, b = drawn(torch, [(9, 3, 3)] * 2)
    tw.einsum("xab,xbc->xac", a, b)
    with Seen() as seen:
        torch.testing.assert_close(tw.einsum("xab,xbc->xac", a, b), a @ b)
    assert seen.calls


def test_a_gpu_that_is_not_the_current_one(gpu: Log, torch: Any, monkeypatch: Any) -> None:
    from tilewright.runtime.call_cache import DEVICE

    a, b = drawn(torch, [(9, 3, 3)] * 2)
    tw.matmul(a, b)
    calls = DEVICE[torch.Tensor]
    calls.several, calls.current = True, lambda: 0
    for _ in range(2):
        torch.testing.assert_close(tw.einsum("xab,xbc->xac", a, b), a @ b)
    calls.current = lambda: 1
    only_remembered(monkeypatch)
    with pytest.raises(AssertionError, match="the slow path"):
        tw.einsum("xab,xbc->xac", a, b)


def test_dots_are_remembered(gpu: Log, torch: Any, monkeypatch: Any) -> None:
    a, b = drawn(torch, [(4, 3, 5), (5, 3, 6)])
    for axes in (([1, 2], [1, 0]), ((2, 1), (0, 1))):
        tw.tensordot(a, b, axes)
    only_remembered(monkeypatch)
    want = np.tensordot(a.numpy(), b.numpy(), ([1, 2], [1, 0]))
    np.testing.assert_allclose(tw.tensordot(a, b, ([1, 2], [1, 0])).numpy(), want)
