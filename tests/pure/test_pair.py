"""Two operands with labels as one stack of products: which labels become what, and what is copied."""

from __future__ import annotations

import pytest

from tilewright.arrays.view import contiguous
from tilewright.contract.pair import Pair, Term, pair

pytestmark = pytest.mark.pure

EXTENTS = dict(zip("abcdklmnx", (3, 4, 5, 6, 7, 8, 9, 10, 100), strict=True))


def packed(labels: str) -> Term:
    return Term.packed(tuple(labels), EXTENTS)


def read(equation: str, out: Term | None = None) -> Pair:
    """The reading of an equation of packed operands."""
    inputs, result = equation.split("->")
    left, right = inputs.split(",")
    return pair(packed(left), packed(right), result, out, tuple(result))


def kinds(found: Pair) -> tuple[str, ...]:
    return tuple("".join(labels) for labels in (found.batch, found.m, found.n, found.k))


@pytest.mark.parametrize(
    ("equation", "expected"),
    [
        ("xab,xbc->xac", ("x", "a", "c", "b")),
        ("xba,xbc->xac", ("x", "a", "c", "b")),
        ("xab,xcb->xca", ("x", "a", "c", "b")),
        # Two neighbours are one axis.
        ("abk,kc->abc", ("", "ab", "c", "k")),
        ("akl,klc->ac", ("", "a", "c", "kl")),
        ("xabk,xkcd->xabcd", ("x", "ab", "cd", "k")),
        # Of those that are no neighbours the rest counts the stack, where a new result would not do better.
        ("dnmxab,dnmxbc->dnmxac", ("dnmx", "a", "c", "b")),
    ],
)
def test_what_labels_become(equation, expected):
    found = read(equation)
    assert kinds(found) == expected
    assert found.copies == 0
    assert found.apart == 1
    assert found.made.labels == tuple(equation.split("->")[1])


def test_an_operand_stands_still_along_what_the_other_one_has_alone():
    found = read("ab,xbc->xac")
    assert (kinds(found), found.copies, found.apart) == (("x", "a", "c", "b"), 0, 100)
    assert found.a.shape == (1, 3, 4)


def test_a_result_lies_as_the_products_are_written_where_its_own_order_would_part_them():
    found = read("kab,kcd->acbd")
    assert (kinds(found), found.copies, found.apart) == (("", "ab", "cd", "k"), 0, 1)
    assert found.made.labels in (tuple("abcd"), tuple("cdab"))


def test_a_result_that_is_given_parts_them():
    found = read("kab,kcd->acbd", packed("acbd"))
    assert (found.copies, found.made.labels) == (0, tuple("acbd"))
    assert found.apart == EXTENTS["a"] * EXTENTS["c"]
    assert set(found.batch) == {"a", "c"}
    assert found.out.shape == (3, 5, 4, 6)


def test_sums_over_axes_in_another_order_copy_the_smaller_operand():
    found = read("akl,lkc->ac")
    assert (found.a.copied, found.b.copied, found.copies) == (True, False, 3 * 7 * 8)
    assert kinds(found) == ("", "a", "c", "lk")


def test_what_has_its_unit_stride_in_the_batch_is_copied_or_taken_element_by_element():
    beside = read("abx,bcx->acx")
    assert (beside.copies, beside.made.labels[-1]) == (0, "x")
    # Nobody takes large matrices so.
    wide = dict(EXTENTS) | {"a": 50}
    a, b = (Term.packed(tuple(labels), wide) for labels in ("abx", "bcx"))
    assert pair(a, b, "acx", None, tuple("acx")).a.copied


def test_readings_describe_the_same_memory():
    """Each label's stride is what the reading's order and shape give."""
    found = read("xabk,xkcd->xacbd")
    for reading, term in ((found.a, packed("xabk")), (found.b, packed("xkcd")), (found.out, found.made)):
        assert sorted(reading.labels) == sorted(term.labels)
        sizes = [EXTENTS[label] for label in reading.labels]
        product = 1
        for extent in reading.shape:
            product *= extent
        expected = 1
        for extent in sizes:
            expected *= extent
        assert product == expected


@pytest.mark.parametrize(
    ("strides", "labels", "covers"),
    [((20, 5, 1), "ab", True), ((20, 5, 1), "bc", True), ((24, 6, 1), "ab", True), ((24, 6, 1), "bc", False)],
)
def test_one_stride_covers_axes_without_a_gap(strides, labels, covers):
    term = Term(tuple("abc"), (3, 4, 5), strides)
    assert term.merges(labels) is covers


def test_a_packed_term_has_the_strides_of_an_array_without_gaps():
    assert packed("abc").strides == contiguous((3, 4, 5), 1) == (20, 5, 1)
