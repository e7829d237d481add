"""Lists of matrices of one size on a GPU, without one."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tests.pure.forms.launchers import Log, close, halves, op, tensors
from tilewright.model import Problem
from tilewright.planning import dispatch

pytestmark = pytest.mark.pure


def test_an_update_whose_matrices_lie_backwards(gpu: Log, torch: Any) -> None:
    """No tensor has a negative stride, so what lies evenly spaced so is copied matrix by matrix."""
    stacks = [torch.randn(5, 4, 4, dtype=torch.float64) for _ in range(3)]
    a, b, c = (list(x) for x in stacks)
    for out in (None, list(torch.zeros(5, 4, 4, dtype=torch.float64))):
        made = tw.gemm_batched(a, b, c[::-1], beta=1, out=out)
        for which in range(5):
            np.testing.assert_allclose(made[which].numpy(), (a[which] @ b[which] + c[4 - which]).numpy())


@pytest.mark.parametrize(("name", "trans"), halves("nn", "tn", "nc", "ct"))
def test_scattered_matrices_are_one_launch(gpu: Log, torch: Any, name: str, trans: str) -> None:
    m, n, k, count = 5, 7, 6, 11
    a = tensors(torch, [(m, k) if trans[0] == "n" else (k, m)] * count, name)
    b = tensors(torch, [(k, n) if trans[1] == "n" else (n, k)] * count, name, 1)
    c = tensors(torch, [(m, n)] * count, name, 2)
    random.Random(3).shuffle(a)
    want = [op(x, trans[0]) @ op(y, trans[1]) for x, y in zip(a, b, strict=True)]
    options = {"trans_a": trans[0], "trans_b": trans[1]}
    made = tw.gemm_batched(a, b, **options)
    assert gpu.names == ["tiny"]
    assert gpu[0][1].pointers
    assert gpu[0][3] == 7
    assert len({x.untyped_storage().data_ptr() for x in made}) == 1
    for got, right in zip(made, want, strict=True):
        close(torch, got, right)
    right = [2 * x + 0.5 * y for x, y in zip(want, c, strict=True)]
    before = [x.clone() for x in c]
    for got, x in zip(tw.gemm_batched(a, b, c, alpha=2, beta=0.5, **options), right, strict=True):
        close(torch, got, x)
    assert all(torch.equal(x, y) for x, y in zip(c, before, strict=True))
    assert tw.gemm_batched(a, b, c, alpha=2, beta=0.5, out=c, **options) is c
    for got, x in zip(c, right, strict=True):
        close(torch, got, x)
    assert gpu.names == ["tiny"] * 3


def test_matrices_that_lie_evenly_are_stacks(gpu: Log, torch: Any) -> None:
    stack = torch.randn(20, 6, 6, dtype=torch.float64)
    made = tw.gemm_batched(list(stack[::2]), list(stack[1::2]))
    assert [p.pointers for _, p, *_ in gpu] == [False]
    for got, x, y in zip(made, stack[::2], stack[1::2], strict=True):
        close(torch, got, x @ y)


def test_what_is_too_large_runs_one_by_one(gpu: Log, torch: Any) -> None:
    # Columns that no tensor map takes: kernels by those have more parameters than are computed here.
    a, b = tensors(torch, [(81, 20)] * 3, "float32"), tensors(torch, [(20, 71)] * 3, "float32", 1)
    a.insert(1, a.pop(2))
    for got, x, y in zip(tw.gemm_batched(a, b), a, b, strict=True):
        close(torch, got, x @ y)
    assert "tiny" not in gpu.names


def test_other_strides_are_copied(gpu: Log, torch: Any) -> None:
    a = tensors(torch, [(4, 5)] * 3)
    a[1] = a[1].mT.contiguous().mT
    b = [torch.randn(5, 6, dtype=torch.float64)[:, ::2] for _ in range(3)]
    out = [
        torch.empty(3, 4, dtype=torch.float64).mT if i else torch.empty(4, 3, dtype=torch.float64)
        for i in range(3)
    ]
    assert tw.gemm_batched(a, b, out=out) is out
    for got, x, y in zip(out, a, b, strict=True):
        close(torch, got, x @ y)


def test_lazily_conjugated_matrices(gpu: Log, torch: Any) -> None:
    a, b = tensors(torch, [(4, 5)] * 4, "complex64"), tensors(torch, [(5, 3)] * 4, "complex64", 1)
    a.append(a.pop(0))
    lazy = [x.conj() for x in a]
    for got, x, y in zip(tw.gemm_batched(lazy, b), a, b, strict=True):
        close(torch, got, x.conj() @ y)
    assert gpu[0][1].trans in ("jn", "nj")
    lazy[2] = lazy[2].resolve_conj()
    for got, x, y in zip(tw.gemm_batched(lazy, b), a, b, strict=True):
        close(torch, got, x.conj() @ y)


def test_pointers(gpu: Log, torch: Any) -> None:
    count = 9
    a, b = tensors(torch, [(4, 5)] * count, "float32"), tensors(torch, [(5, 3)] * count, "float32", 1)
    order = random.Random(1).sample(range(count), count)
    row = torch.tensor([a[i].data_ptr() for i in order])
    left = tw.Pointers(row, (4, 5), torch.float32)
    right = tw.Pointers([b[i].data_ptr() for i in order], (5, 3), "s")
    assert len(left) == count
    assert left.there() == row.data_ptr()
    made = tw.gemm_batched(left, right)
    for got, i in zip(made, order, strict=True):
        close(torch, got, a[i] @ b[i])
    out = tensors(torch, [(4, 3)] * count, "float32", 2)
    want = [a[i] @ b[i] + x for x, i in zip(out, order, strict=True)]
    to = tw.Pointers([x.data_ptr() for x in out], (4, 3), np.float32, ld=3)
    assert tw.gemm_batched(left, [b[i] for i in order], to, beta=1, out=to) is to
    for got, x in zip(out, want, strict=True):
        close(torch, got, x)
    # Column-major, and of a larger matrix.
    whole = torch.randn(8, 8, dtype=torch.float64)
    corner = tw.Pointers([whole[:4, :4].data_ptr(), whole[4:, 4:].data_ptr()], (4, 4), "d", ld=8, order="F")
    for got, x in zip(
        tw.gemm_batched(corner, corner, trans_b="t"), (whole[:4, :4], whole[4:, 4:]), strict=True
    ):
        close(torch, got, x.mT @ x)
    assert set(gpu.names) <= {"tiny"}


def test_batches_by_addresses_follow_new_records(
    gpu: Log, torch: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b = tensors(torch, [(4, 5)] * 9), tensors(torch, [(5, 3)] * 9, seed=1)
    random.Random(1).shuffle(a)
    planned = []
    real = dispatch.plan

    def spy(problem: Problem, *args: Any, **options: Any) -> Any:
        planned.append(problem.pointers)
        return real(problem, *args, **options)

    monkeypatch.setattr(dispatch, "plan", spy)
    for _ in range(2):
        tw.gemm_batched(a, b)
    assert planned == [True]
    tw.forget()
    tw.gemm_batched(a, b)
    assert planned == [True, True]
    assert gpu.names == ["tiny"] * 3


def test_without_terms(gpu: Log, torch: Any) -> None:
    a, b = [torch.empty(3, 0)] * 2, [torch.empty(0, 2)] * 2
    assert all((x == 0).all() for x in tw.gemm_batched(a, b))
    out = tensors(torch, [(3, 2)] * 2, "float32")
    want = [2 * x for x in out]
    tw.gemm_batched(a, b, beta=2, out=out)
    for got, x in zip(out, want, strict=True):
        close(torch, got, x)
    assert gpu == []
