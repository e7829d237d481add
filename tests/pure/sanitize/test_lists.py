"""The lists that ``bench.sanitize`` draws, and what is right of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bench.sanitize import lists
from tilewright.model import DTYPES
from tilewright.stencils.cuda.grouped import stencil as grouped

pytestmark = pytest.mark.pure

LISTS = [("d", "tn", "any"), ("s", "nt", "0"), ("z", "cn", "any"), ("c", "jc", "1"), ("hc", "tj", "any")]


def products(letter: str, trans: str, beta: str, count: int = 30) -> Any:
    alpha = "any" if beta == "any" else "1"
    return grouped.products(DTYPES[letter], 8, 8, 8, trans, count, alpha=alpha, beta=beta)


def operand(list_: lists.Drawn, which: int, number: int, row: int, column: int) -> complex:
    """An element of op(A), of op(B) or of C, of one product."""
    trans = (list_.problem.trans_a, list_.problem.trans_b, "n")[which]
    if trans in "tc":
        row, column = column, row
    at = list_.begins[which][number] + row + column * list_.leading[which][number]
    value = complex(list_.values[which][at])
    return value.conjugate() if trans in "cj" else value


@pytest.mark.parametrize(("letter", "trans", "beta"), LISTS)
def test_what_is_right_of_a_list(letter: str, trans: str, beta: str) -> None:
    list_ = lists.drawn(products(letter, trans, beta))
    want = list_.values[2].copy()
    for number, (m, n, k) in enumerate(zip(*list_.sizes, strict=True)):
        for column in range(n):
            for row in range(m):
                total = 0j
                for inner in range(k):
                    total += operand(list_, 0, number, row, inner) * operand(list_, 1, number, inner, column)
                total *= list_.alphas[number]
                total += list_.betas[number] * operand(list_, 2, number, row, column)
                want[list_.begins[2][number] + row + column * list_.leading[2][number]] = total
    before = list_.values[2].copy()
    assert (list_.right() == want).all()
    # What is given is not written to, and what is right is another.
    assert (list_.values[2] == before).all()
    assert (want != before).any()
    assert (want.imag != 0).any() == list_.problem.dtype.is_complex


@pytest.mark.parametrize(("letter", "trans", "beta"), LISTS)
def test_how_a_list_is_drawn(letter: str, trans: str, beta: str) -> None:
    p = products(letter, trans, beta, 60)
    list_ = lists.drawn(p)
    m, n, k = list_.sizes
    assert k[0] == 0
    assert min(m.min(), n.min(), k[1:].min()) >= 1
    assert (m.max(), n.max(), k.max()) <= (p.m, p.n, p.k)
    rows = (k if trans[0] in "tc" else m, n if trans[1] in "tc" else k, m)
    columns = (m if trans[0] in "tc" else k, k if trans[1] in "tc" else n, n)
    for which in range(3):
        begin, ld, values = list_.begins[which], list_.leading[which], list_.values[which]
        assert (ld >= np.maximum(1, rows[which])).all()
        # Some have gaps between their columns, and some have none.
        assert {bool(gap) for gap in ld - rows[which]} == {False, True}
        end = np.where(columns[which] > 0, begin + (columns[which] - 1) * ld + rows[which], begin)
        assert (begin[1:] >= end[:-1]).all(), "they overlap"
        assert begin[0] >= 1
        assert end[-1] == values.size, "an access beyond the last element would not be seen"
        assert set(values.real) | set(values.imag) == {-1, 0, 1}
        if not p.dtype.is_complex:
            assert not values.imag.any()
    assert set(list_.alphas) == ({1, -1} if beta == "any" else {1})
    assert set(list_.betas) == ({0, 1, -1} if beta == "any" else {int(beta)})
    again = lists.drawn(p)
    assert all((a == b).all() for a, b in zip(list_.values, again.values, strict=True))


def test_each_product_takes_its_own_scalars_and_begins() -> None:
    list_ = lists.drawn(products("z", "cn", "any"))
    moved, rows = list_.arguments((10_000, 20_000, 30_000))
    still, _ = list_.arguments((0, 0, 0))
    assert rows.shape == (30, 4)
    assert (rows[:, 0] == list_.alphas).all()
    assert (rows[:, 2] == list_.betas).all()
    assert not rows[:, 1::2].any()
    assert len(moved) == len(still) == 30
    assert (np.asarray(moved) != np.asarray(still)).any(axis=1).all()


@pytest.mark.parametrize("letter", list(DTYPES))
def test_numbers_are_stored_and_widened_again(letter: str) -> None:
    dtype = DTYPES[letter]
    values = np.array([0, 1, -1, 1, -1]) + 1j * np.array([1, 0, 0, -1, 1]) * dtype.is_complex
    held = lists.stored(values, dtype)
    assert held.dtype == dtype.numpy
    assert held.nbytes == 5 * dtype.itemsize
    assert (lists.wide(held, dtype) == values).all()
