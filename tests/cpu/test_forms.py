"""Lists of matrices in this process's memory: right in every layout, and refused by name."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tests.products import filled, op
from tilewright.dtypes import BFLOAT16

pytestmark = pytest.mark.cpu


def laid(matrix: np.ndarray, how: int) -> np.ndarray:
    """The same matrix by rows, by columns, with a gap, or with every second element only."""
    if how == 0:
        return matrix
    if how == 1:
        return np.asfortranarray(matrix)
    step = 1 if how == 2 else 2
    room = np.zeros((matrix.shape[0], step * matrix.shape[1] + 3), matrix.dtype)
    room[:, 1 : step * matrix.shape[1] + 1 : step] = matrix
    return room[:, 1 : step * matrix.shape[1] + 1 : step]


def close(got: np.ndarray, want: np.ndarray) -> None:
    assert got.shape == want.shape
    wide = np.float32 if got.dtype.itemsize == 2 else got.dtype
    eps = {2: 1e-2, 4: 1e-5, 8: 1e-5 if wide == np.complex64 else 1e-13, 16: 1e-13}[got.dtype.itemsize]
    np.testing.assert_allclose(got.astype(wide), want.astype(wide), rtol=eps, atol=20 * eps)


@pytest.mark.parametrize("dtype", ["f2", BFLOAT16, "f4", "f8", "c8", "c16"])
@pytest.mark.parametrize("trans", ["nn", "tn", "nc", "ct"])
def test_a_batch(dtype: Any, trans: str) -> None:
    m, n, k, count = 5, 4, 7, 9
    dtype = np.dtype(dtype)
    for how in range(4):
        a = [laid(filled((m, k) if trans[0] == "n" else (k, m), dtype, i), how) for i in range(count)]
        b = [
            laid(filled((k, n) if trans[1] == "n" else (n, k), dtype, 50 + i), 3 - how) for i in range(count)
        ]
        c = [laid(filled((m, n), dtype, 90 + i), how) for i in range(count)]
        want = [op(x, trans[0]) @ op(y, trans[1]) for x, y in zip(a, b, strict=True)]
        made = tw.gemm_batched(a, b, trans_a=trans[0], trans_b=trans[1])
        assert len(made) == count
        # Views of one allocation.
        assert len({id(x.base if x.base is None or x.base.base is None else x.base.base) for x in made}) == 1
        for got, right in zip(made, want, strict=True):
            close(got, right)
        right = [(2 * w + 0.5 * x).astype(dtype) for w, x in zip(want, c, strict=True)]
        kept = [x.copy() for x in c]
        made = tw.gemm_batched(a, b, c, alpha=2, beta=0.5, trans_a=trans[0], trans_b=trans[1])
        for got, x in zip(made, right, strict=True):
            close(got, x)
        assert all((x == y).all() for x, y in zip(c, kept, strict=True))
        assert tw.gemm_batched(a, b, c, alpha=2, beta=0.5, trans_a=trans[0], trans_b=trans[1], out=c) is c
        for got, x in zip(c, right, strict=True):
            close(got, x)


def test_matrices_that_lie_evenly_are_used_where_they_are() -> None:
    stack = filled((30, 6, 6), "f8", 1)
    out = np.full((30, 6, 6), np.nan)
    tw.gemm_batched(list(stack[::2]), list(stack[1::2]), out=list(out[:15]))
    np.testing.assert_allclose(out[:15], stack[::2] @ stack[1::2])
    assert np.isnan(out[15:]).all()


def test_nothing_to_multiply() -> None:
    assert tw.gemm_batched([], []) == []
    assert tw.gemm_grouped([], []) == []
    made = tw.gemm_batched([np.ones((3, 0))] * 2, [np.ones((0, 2))] * 2)
    assert [x.tolist() for x in made] == [[[0, 0]] * 3] * 2
    made = tw.gemm_grouped([np.ones((3, 0)), np.ones((0, 4))], [np.ones((0, 2)), np.ones((4, 2))])
    assert [x.tolist() for x in made] == [[[0, 0]] * 3, []]
    c = [np.full((3, 2), np.nan)] * 1
    # With beta 0 nothing of c is read, with alpha 0 nothing of a and b.
    tw.gemm_batched([np.full((3, 4), np.nan)], [np.ones((4, 2))], alpha=0, out=c)
    assert (c[0] == 0).all()


@pytest.mark.parametrize("dtype", ["f4", "c16"])
def test_many_sizes(dtype: str) -> None:
    draw = random.Random(5)
    shapes = [tuple(draw.randrange(1, 20) for _ in range(3)) for _ in range(20)]
    for trans in ("nn", "tc"):
        a, b, c = [], [], []
        for i, (m, n, k) in enumerate(shapes):
            a.append(laid(filled((m, k) if trans[0] == "n" else (k, m), dtype, i), i % 4))
            b.append(laid(filled((k, n) if trans[1] == "n" else (n, k), dtype, 99 + i), i % 3))
            c.append(laid(filled((m, n), dtype, 7 + i), i % 3))
        alphas = [draw.choice((0.0, 1.0, -2.0)) for _ in shapes]
        betas = [draw.choice((0.0, 1.0, 0.5)) for _ in shapes]
        want = [
            (s * (op(x, trans[0]) @ op(y, trans[1])) + t * z).astype(dtype)
            for s, t, x, y, z in zip(alphas, betas, a, b, c, strict=True)
        ]
        for made in (
            tw.gemm_grouped(a, b, c, alpha=alphas, beta=betas, trans_a=trans[0], trans_b=trans[1]),
            tw.gemm_grouped(a, b, c, alpha=alphas, beta=betas, trans_a=trans[0], trans_b=trans[1], out=c),
        ):
            for got, right in zip(made, want, strict=True):
                close(got, right)


def test_stacks_among_matrices_and_a_plan() -> None:
    a = [
        filled((3, 4, 5), "f8", 1),
        filled((2, 2), "f8", 2),
        filled((0, 2, 2), "f8", 3),
        filled((2, 3, 3), "f8", 4),
    ]
    b = [
        filled((3, 5, 2), "f8", 5),
        filled((2, 6), "f8", 6),
        filled((0, 2, 2), "f8", 7),
        filled((3, 1), "f8", 8),
    ]
    plan = tw.plan_grouped(a, b)
    assert isinstance(plan, tw.Grouped)
    for _ in range(2):
        made = plan.run()
        for got, x, y in zip(made, a, b, strict=True):
            close(got, x @ y)
        a[0] *= 2
        b[1] += 1
    assert made is plan.results
    assert [x.problem.batch for x in sorted(plan.plans, key=lambda x: x.problem.batch)] == [1, 2, 3]


def test_tensors_come_back_as_tensors() -> None:
    torch = pytest.importorskip("torch")
    a = [torch.randn(3, 4) for _ in range(5)]
    b = [torch.randn(4, 2) for _ in range(5)]
    for made in (tw.gemm_batched(a, b), tw.gemm_grouped(a, b)):
        for got, x, y in zip(made, a, b, strict=True):
            assert isinstance(got, torch.Tensor)
            torch.testing.assert_close(got, x @ y, rtol=1e-5, atol=1e-5)
    lazy = [torch.randn(3, 4, dtype=torch.complex64).conj() for _ in range(3)]
    right = [torch.randn(4, 2, dtype=torch.complex64) for _ in range(3)]
    for got, x, y in zip(tw.gemm_batched(lazy, right), lazy, right, strict=True):
        torch.testing.assert_close(got, x @ y, rtol=1e-5, atol=1e-5)


def test_pairs_of_halves() -> None:
    a, b = ([filled((4, 4, 2), "f2", i + s) for i in range(3)] for s in (0, 9))
    for made in (tw.gemm_batched(a, b, dtype="hc"), tw.gemm_grouped(a, b, dtype="hc")):
        for got, x, y in zip(made, a, b, strict=True):
            wide = [z[..., 0].astype("c8") + 1j * z[..., 1] for z in (x, y)]
            assert got.shape == (4, 4, 2)
            np.testing.assert_allclose(
                got[..., 0] + 1j * got[..., 1], wide[0] @ wide[1], rtol=2e-2, atol=2e-2
            )


def ones(*shape: int, dtype: str = "f8") -> np.ndarray:
    return np.ones(shape, dtype)


WHOLE = np.zeros((4, 4))

REFUSED: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (
        lambda: tw.gemm_batched([ones(2, 2)] * 2, [ones(2, 2)]),
        tw.ArgumentError,
        "b has 1 elements and a has 2",
    ),
    (
        lambda: tw.gemm_batched([ones(2, 2), ones(3, 2)], [ones(2, 2)] * 2),
        tw.ArgumentError,
        r"a\[1\] .*\(3, 2\)",
    ),
    (lambda: tw.gemm_batched([ones(2, 2)], [ones(3, 2)]), tw.ArgumentError, "2 columns do not meet 3 rows"),
    (
        lambda: tw.gemm_batched([ones(2, 2), ones(2, 2, dtype="f4")], [ones(2, 2)] * 2),
        tw.DTypeError,
        r"a\[1\] is float32",
    ),
    (
        lambda: tw.gemm_batched([ones(2, 2)], [ones(2, 2, dtype="f4")]),
        tw.DTypeError,
        "b is float32 and a is float64",
    ),
    (lambda: tw.gemm_batched([ones(2, 2, dtype="i8")], [ones(2, 2, dtype="i8")]), tw.DTypeError, "int64"),
    (lambda: tw.gemm_batched([ones(2, 2, 2)], [ones(2, 2)]), tw.ArgumentError, r"a\[0\] .* two axes"),
    (lambda: tw.gemm_batched([ones(2, 2)], [ones(2, 2)], beta=1), tw.ArgumentError, r"beta=1\.0 without c"),
    (lambda: tw.gemm_batched([ones(2, 2)], [ones(2, 2)], alpha=1j), tw.ArgumentError, "alpha=1j"),
    (lambda: tw.gemm_batched([ones(2, 2)], [ones(2, 2)], trans_a="x"), tw.ArgumentError, "trans_a='x'"),
    (lambda: tw.gemm_batched(ones(2, 2), 7), tw.ArgumentError, "b of type int"),
    (
        lambda: tw.gemm_batched([ones(2, 2)] * 2, [ones(2, 2)] * 2, out=[WHOLE[:2, :2]] * 2),
        tw.ArgumentError,
        r"out\[0\] and out\[1\] share memory .* same address",
    ),
    (
        lambda: tw.gemm_batched([ones(2, 2)] * 2, [ones(2, 2)] * 2, out=[WHOLE[:2, :2], WHOLE[1:3, 1:3]]),
        tw.ArgumentError,
        r"out\[0\] and out\[1\] share memory",
    ),
    (
        lambda: tw.gemm_batched(
            [WHOLE[:2, :2], ones(2, 2)], [ones(2, 2)] * 2, out=[ones(2, 2), WHOLE[1:3, 1:3]]
        ),
        tw.ArgumentError,
        r"out\[1\] shares memory with a\[0\]",
    ),
    (
        lambda: tw.gemm_batched([ones(2, 2)], [ones(2, 2)], out=[ones(2, 3)]),
        tw.ArgumentError,
        r"out has matrices of shape \(2, 3\)",
    ),
    (
        lambda: tw.gemm_batched([ones(2, 2)], [ones(2, 2)], out=[np.broadcast_to(1.0, (2, 2))]),
        tw.ArgumentError,
        r"out\[0\].*read-only",
    ),
    (lambda: tw.gemm_grouped([ones(2, 2)]), tw.ArgumentError, "b=None"),
    (
        lambda: tw.gemm_grouped([ones(2, 2), ones(3, 4)], [ones(2, 2), ones(3, 3)]),
        tw.ArgumentError,
        r"op\(a\[1\]\) .* 4 columns do not meet 3 rows",
    ),
    (
        lambda: tw.gemm_grouped([ones(2, 2)] * 2, [ones(2, 2)] * 2, alpha=[1, 2, 3]),
        tw.ArgumentError,
        "alpha has 3 elements .* 2 numbers",
    ),
    (
        lambda: tw.gemm_grouped([ones(2, 2)] * 2, [ones(2, 2)] * 2, alpha=[1, 2j]),
        tw.ArgumentError,
        r"alpha\[1\]=",
    ),
    (lambda: tw.gemm_grouped([ones(2, 2)], [ones(2, 2)], beta=1), tw.ArgumentError, r"beta=1\.0 without c"),
    (
        lambda: tw.gemm_grouped([ones(3, 2, 2)], [ones(2, 2, 2)]),
        tw.ArgumentError,
        r"b\[0\] is a stack of 2 and a\[0\] of 3",
    ),
    (
        lambda: tw.gemm_grouped([ones(2, 2)], [ones(2, 2)], out=[ones(2, 3)]),
        tw.ArgumentError,
        r"out\[0\] has shape \(2, 3\); accepted: \(2, 2\)",
    ),
    (
        lambda: tw.gemm_grouped([ones(2, 2)], [ones(2, 2)], out=[np.ones((4, 4))[::2, ::2]]),
        tw.ArgumentError,
        r"out\[0\] has strides",
    ),
]


@pytest.mark.parametrize(("call", "error", "words"), REFUSED, ids=range(len(REFUSED)))
def test_what_is_refused(call: Callable[[], Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        call()


def test_blocks_of_one_matrix_are_apart() -> None:
    whole = filled((12, 12), "f8", 3)
    before = whole.copy()
    a = [whole[i : i + 4, :4] for i in (4, 8)]
    b = [whole[:4, j : j + 4] for j in (4, 8)]
    pairs = [(i, j) for i in range(2) for j in range(2)]
    c = [whole[4 + 4 * i : 8 + 4 * i, 4 + 4 * j : 8 + 4 * j] for i, j in pairs]
    left, right = [a[i] for i, _ in pairs], [b[j] for _, j in pairs]
    tw.gemm_batched(left, right, c, alpha=-1, beta=1, out=c)
    want = before.copy()
    want[4:, 4:] -= before[4:, :4] @ before[:4, 4:]
    np.testing.assert_allclose(whole, want)
    whole[...] = before
    tw.gemm_grouped(left, right, c, alpha=-1, beta=1, out=c)
    np.testing.assert_allclose(whole, want)


def test_a_buffer_of_several_axes_is_no_sequence() -> None:
    """Python cannot go through its matrices one by one."""
    stack = np.ones((2, 3, 3))
    for call in (tw.gemm_batched, tw.gemm_grouped):
        with pytest.raises(tw.ArgumentError, match="a of type memoryview is no sequence"):
            call(memoryview(stack), stack)
