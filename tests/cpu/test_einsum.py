"""``tw.einsum`` and ``tw.tensordot`` beside NumPy's, on arrays that lie in every way."""

from __future__ import annotations

import weakref

import numpy as np
import opt_einsum
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from opt_einsum.testing import build_views
from opt_einsum.tests.test_contract import tests as EQUATIONS

import tilewright as tw
from tilewright import api
from tilewright.arrays.backend import library
from tilewright.contract import einsum as module
from tilewright.contract.einsum import planned
from tilewright.dtypes import BFLOAT16, COMPLEX_HALF, paired

pytestmark = pytest.mark.cpu

RNG = np.random.default_rng(11)


def close(found, expected):
    assert found.shape == expected.shape
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("equation", EQUATIONS)
def test_the_equations_of_opt_einsum(equation):
    operands = build_views(equation)
    expected = np.einsum(equation, *operands)
    close(tw.einsum(equation, *operands), expected)
    np.testing.assert_allclose(opt_einsum.contract(equation, *operands, backend="tilewright"), expected)


@st.composite
def contractions(draw):
    """An equation and operands: axes of one element, none, transposed, strided, backwards, labels twice."""
    letters = "abcdefg"[: draw(st.integers(2, 6))]
    extents = {x: draw(st.sampled_from([0, 1, 1, 2, 2, 3, 3, 4, 5])) for x in letters}
    terms = draw(st.lists(st.text(letters, max_size=4), min_size=1, max_size=3))
    used = sorted({*"".join(terms)})
    out = "".join(draw(st.permutations(used)))[: draw(st.integers(0, len(used)))] if used else ""
    seed = np.random.default_rng(draw(st.integers(0, 2**32)))
    operands = []
    for term in terms:
        thin = draw(st.sampled_from([*term, *" " * 8])) if term else " "
        shape = [1 if x == thin else extents[x] for x in term]
        order = draw(st.permutations(range(len(term))))
        steps = [draw(st.sampled_from([1, 1, 1, 2, -1])) for _ in term]
        kind = draw(st.sampled_from([np.float32, np.float64, np.complex128]))
        memory = seed.standard_normal([shape[at] * abs(steps[at]) for at in order]).astype(kind)
        back = memory.transpose(np.argsort(order)) if term else memory
        operands.append(back[tuple(slice(None, None, step) for step in steps)])
    return ",".join(terms) + "->" + out, operands


@settings(max_examples=110, deadline=None)
@given(contractions(), st.booleans())
def test_what_numpy_gives_is_given(contraction, backwards):
    equation, operands = contraction
    expected = np.einsum(equation, *operands, optimize=True)
    shape = expected.shape[::-1] if backwards else expected.shape
    out = np.empty(shape, expected.dtype)
    out = out.T if backwards else out
    # The second call of each kind is a remembered one.
    for _ in range(2):
        close(tw.einsum(equation, *operands), expected)
        out[...] = np.nan
        assert tw.einsum(equation, *operands, out=out) is out
        close(out, expected)


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("xab,xbc->xac", [(50, 3, 3), (50, 3, 3)]),
        ("xba,xbc,xdc->xad", [(50, 3, 3), (50, 3, 3), (50, 3, 3)]),
        ("wtzyxba,dwtzyxbc->dwtzyxac", [(2, 3, 2, 2, 4, 3, 3), (4, 2, 3, 2, 2, 4, 3, 3)]),
        ("srab,srbc->srac", [(9, 5, 2, 2), (9, 5, 2, 2)]),
    ],
)
def test_contractions_of_public_programs_copy_nothing(equation, shapes):
    operands = [RNG.standard_normal(shape) for shape in shapes]
    plan = planned(equation, operands, "auto")
    assert plan.products
    assert sum(step.pair.copies for step in plan.products) == 0
    close(tw.einsum(equation, *operands), np.einsum(equation, *operands))
    assert "nothing is copied" in tw.explain(equation, *operands)


def test_what_is_copied_is_said():
    a, b = RNG.standard_normal((5, 6, 7)), RNG.standard_normal((7, 6, 8))
    told = tw.explain("akl,lkc->ac", a, b)
    assert "a copied first" in told
    assert "210 elements are copied" in told
    with pytest.raises(tw.ArgumentError, match="out goes with no equation"):
        tw.explain("akl,lkc->ac", a, b, out=a)


def test_operands_and_labels_in_turns_ellipses_and_no_arrow():
    a, b = RNG.standard_normal((2, 4, 5)), RNG.standard_normal((2, 5, 6))
    close(tw.einsum(a, [0, 1, 2], b, [0, 2, 3], [0, 1, 3]), a @ b)
    close(tw.einsum(a[0], [0, 1], b[0], [1, 2]), a[0] @ b[0])
    close(tw.einsum("...ij,...jk", a, b), a @ b)
    close(tw.einsum("ij,jk", a[0], b[0]), a[0] @ b[0])


@pytest.mark.parametrize("axes", [0, 2, ([1, 2], [0, 1]), ([2, 1], [1, 0]), (-1, 1), ([0], [2])])
def test_tensordot(axes):
    a, b = RNG.standard_normal((5, 4, 5)), RNG.standard_normal((4, 5, 5))
    close(tw.tensordot(a, b, axes), np.tensordot(a, b, axes))


@pytest.mark.parametrize("dtype", [np.float16, BFLOAT16, np.int64, np.longdouble])
def test_other_types(dtype):
    a, b = (RNG.integers(-4, 5, shape).astype(dtype) for shape in ((7, 3, 4), (7, 4, 5)))
    found = tw.einsum("xab,xbc->xac", a, b)
    assert found.dtype == dtype
    np.testing.assert_array_equal(found.astype(np.float64), a.astype(np.float64) @ b.astype(np.float64))


def test_sums_of_halves_are_rounded_once():
    a = np.full((4, 4096), 1.0009766, np.float16)
    found = tw.einsum("ij->i", a)
    assert found.dtype == np.float16
    assert abs(float(found[0]) - 4100) <= 4


@pytest.mark.parametrize(
    ("equation", "kinds"),
    [
        ("ij,j->i", ["f8", "f4"]),
        ("i,kij->i", ["f8", "f4"]),
        ("a,cab,cb->a", ["i4", "f4", "f4"]),
        ("a,ab,b->", ["f4", "f2", "i2"]),
        ("i,jk->i", ["c16", "f4"]),
        ("i,jk->i", ["i8", "i2"]),
        ("ij,jk,ki->", [">f4", "f8", ">f8"]),
    ],
)
def test_what_is_in_between_has_the_type_of_the_result(equation, kinds):
    """Numbers near the largest of the narrow types, whose sums leave these."""
    operands = []
    for term, kind in zip(equation.split("->")[0].split(","), kinds, strict=True):
        kind = np.dtype(kind)
        scale = {"f2": 3e4, "i2": 3e4}.get(kind.str[1:], 1)
        operands.append((scale * (1 + RNG.random((9,) * len(term)) / 100)).astype(kind))
    kind = np.result_type(*operands)
    expected = np.einsum(equation, *(x.astype(kind) for x in operands))
    # Sums have another order than NumPy's.
    close = 1e-6 if kind == np.float32 else 1e-13
    for _ in range(2):
        found = tw.einsum(equation, *operands)
        assert found.dtype == kind
        np.testing.assert_allclose(found, expected, rtol=close)
    target = np.empty_like(expected)
    assert tw.einsum(equation, *operands, out=target) is target
    np.testing.assert_allclose(target, expected, rtol=close)


def test_sums_of_numbers_of_the_other_byte_order():
    a = RNG.random((4, 5)).astype(">f8")
    found = tw.einsum("ij->i", a)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, a.sum(1))


def test_tensordot_names_what_is_no_array():
    with pytest.raises(tw.ArgumentError, match="b of type list is no array"):
        tw.tensordot(np.ones((2, 2)), [[1, 2], [3]], 1)


def test_types_that_have_none_in_common():
    a = np.ones((3, 3), np.float16)
    with pytest.raises(tw.DTypeError, match="operand 0 is float16, operand 1 is bfloat16: no common type"):
        tw.einsum("ij,jk->ik", a, a.astype(BFLOAT16))


def test_complex_half():
    parts = [RNG.integers(-3, 4, (6, 4, 4, 2)).astype(np.float16) for _ in range(2)]
    a, b = (paired(x) for x in parts)
    found = tw.einsum("xab,xbc->xac", a, b)
    assert found.dtype == COMPLEX_HALF
    wide = [x[..., 0].astype(np.float32) + 1j * x[..., 1] for x in parts]
    np.testing.assert_array_equal(found["re"] + 1j * found["im"], wide[0] @ wide[1])
    with pytest.raises(tw.DTypeError, match="no matrix product"):
        tw.einsum("xab->xa", a)
    with pytest.raises(tw.DTypeError, match="accepted: complex half alone"):
        tw.einsum("xab,xbc->xac", a, b["re"])


def test_out_may_be_an_operand():
    a, b = RNG.standard_normal((2, 20, 20))
    expected = a @ b
    assert tw.einsum("ij,jk->ik", a, b, out=a) is a
    close(a, expected)


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (("ij,jk->ik",), "no operands"),
        ((), "no operands"),
        (("ij,jk->ik", np.ones((2, 3))), "equation"),
        (("ij,jk->iz", np.ones((2, 3)), np.ones((3, 4))), "z"),
        (("ij,jk->ik", np.ones((2, 3)), np.ones((4, 4))), "label 'j' is 3 long, and 4 in operand 1"),
        (("ij,jk->ii", np.ones((2, 3)), np.ones((3, 4))), "more than once"),
        (("ijk,jk->ik", np.ones((2, 3)), np.ones((3, 4))), "operand 0|equation"),
        (("iij,jk->ik", np.ones((2, 3)), np.ones((3, 4))), r"operand 0 .* 'iij'; accepted: one an axis"),
        (("ij,jk->i.k", np.ones((2, 3)), np.ones((3, 4))), "equation .*; accepted: labels"),
    ],
)
def test_what_is_no_contraction_is_refused(arguments, what):
    with pytest.raises(tw.ArgumentError, match=what):
        tw.einsum(*arguments)


def test_options_that_do_not_fit_are_refused():
    a, b, c = np.ones((2, 3)), np.ones((3, 4)), np.ones((4, 2))
    for wrong in ("fast", {}, [(0, 7)]):
        with pytest.raises(tw.ArgumentError, match="optimize="):
            tw.einsum("ij,jk,kl->il", a, b, c, optimize=wrong)
    with pytest.raises(tw.ArgumentError, match=r"out has shape \(2, 2\); accepted: \(2, 4\)"):
        tw.einsum("ij,jk->ik", a, b, out=np.ones((2, 2)))
    with pytest.raises(tw.ArgumentError, match="out is float32; accepted: float64"):
        tw.einsum("ij,jk->ik", a, b, out=np.ones((2, 4), np.float32))
    with pytest.raises(tw.DTypeError, match="operand 1"):
        tw.einsum("ij,jk->ik", a, np.full((3, 4), "x"))
    for no_equation in (None, 3):
        with pytest.raises(tw.DTypeError, match="accepted: an equation before all operands"):
            tw.einsum(no_equation, a, b)
    for axes in (3, ([0, 0], [0, 1]), ([0], [5]), ([0], [0, 1]), "ab"):
        with pytest.raises(tw.ArgumentError, match="axes"):
            tw.tensordot(a, b, axes)


def test_a_path_that_is_given_is_taken():
    a, b, c = RNG.standard_normal((3, 6, 6))
    steps = planned("ij,jk,kl->il", [a, b, c], [(1, 2), (0, 1)]).products
    assert [(step.left, step.right) for step in steps] == [(1, 2), (0, 1)]
    close(tw.einsum("ij,jk,kl->il", a, b, c, optimize=[(1, 2), (0, 1)]), a @ b @ c)
    path = np.einsum_path("ij,jk,kl->il", a, b, c)[0]
    close(tw.einsum("ij,jk,kl->il", a, b, c, optimize=path), a @ b @ c)
    # All at once is from left to right.
    close(tw.einsum("ij,jk,kl->il", a, b, c, optimize=False), a @ b @ c)


def test_like_operands_are_planned_once(monkeypatch):
    calls = []
    real = module.program
    monkeypatch.setattr(module, "program", lambda *given: calls.append(given) or real(*given))
    a, b = RNG.standard_normal((2, 13, 13))
    for _ in range(3):
        tw.einsum("pq,qr->pr", a, b)
    assert len(calls) == 1
    tw.einsum("pq,qr->pr", a.T, b)
    assert len(calls) == 2


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("xab,xbc->xca", [(5, 3, 4), (5, 4, 2)]),
        ("wtxba,dwtxbc->dwtxac", [(2, 2, 3, 3, 3), (4, 2, 2, 3, 3, 3)]),
        ("fij,fbjk->fbik", [(3, 4, 4), (3, 5, 4, 4)]),
        ("ab,bc,cd->da", [(3, 4), (4, 5), (5, 6)]),
        ("abcd,ad", [(4, 3, 3, 8), (4, 8)]),
        ("dd,fb,be,cdb->cef", [(3, 3), (4, 5), (5, 6), (7, 3, 5)]),
        ("bcd,cd,bd->bcd", [(3, 4, 5), (4, 5), (3, 5)]),
        ("bca,cdb,dbf,afc->", [(2, 3, 4), (3, 5, 2), (5, 2, 6), (4, 6, 3)]),
        ("ii->i", [(4, 4)]),
    ],
)
def test_a_call_that_comes_again_is_not_planned(equation, shapes, monkeypatch):
    first, second = ([RNG.standard_normal(shape) for shape in shapes] for _ in range(2))
    out = np.empty_like(tw.einsum(equation, *first))
    tw.einsum(equation, *first, out=out)
    monkeypatch.setattr(module, "_planned", None)
    expected = np.einsum(equation, *second)
    close(np.asarray(tw.einsum(equation, *second)), expected)
    out[...] = np.nan
    assert tw.einsum(equation, *second, out=out) is out
    close(out, expected)


@pytest.mark.parametrize(
    "equation", ["xab,xbc->xac", "xab,yxbc->xyac", "xab,xbc,xcd->xda", "xab,xab,xbc->xac"]
)
def test_what_is_remembered_keeps_no_array(equation):
    terms = equation.split("->")[0].split(",")
    operands = [RNG.standard_normal([4] * len(term)) for term in terms]
    made = tw.einsum(equation, *operands)
    gone = [weakref.ref(x) for x in (*operands, made)]
    del operands, made
    assert [x() is None for x in gone] == [True] * len(gone)


def test_what_lies_otherwise_is_another_call():
    a, b = RNG.standard_normal((2, 6, 6))
    unaligned = np.frombuffer(bytes(1) + a.tobytes(), np.uint8)[1:].view(np.float64).reshape(6, 6)
    assert not unaligned.flags.aligned
    for _ in range(2):
        for x in (a, a.T, a[::-1], unaligned, a.astype(">f8"), a.astype(np.float32), a.tolist()):
            np.testing.assert_allclose(tw.einsum("ij,jk->ik", x, b), np.asarray(x) @ b, rtol=1e-6)
    given = a.copy()
    for _ in range(2):
        given[...] = a
        assert tw.einsum("ij,jk->ik", given, b, out=given) is given
        close(given, a @ b)
    refused = np.empty((6, 6))
    tw.einsum("ij,jk->ik", a, b, out=refused)
    refused.flags.writeable = False
    with pytest.raises(ValueError, match=r"read-only|writeable"):
        tw.einsum("ij,jk->ik", a, b, out=refused)


def test_products_in_between_lie_as_they_are_read_next():
    shapes = [(8, 8), (4, 8, 8), (8, 8), (8, 8)]
    found = planned("ef,bcd,ed,de->bcf", [np.ones(shape) for shape in shapes], "auto")
    assert found.copies == 0
    operands = [RNG.standard_normal(shape) for shape in shapes]
    close(tw.einsum("ef,bcd,ed,de->bcf", *operands), np.einsum("ef,bcd,ed,de->bcf", *operands))


def test_tensors_come_back_as_tensors():
    torch = pytest.importorskip("torch")
    a, b = torch.rand(5, 3, 4), torch.rand(5, 4, 2)
    found = tw.einsum("xab,xbc->xca", a, b)
    assert isinstance(found, torch.Tensor)
    torch.testing.assert_close(found, (a @ b).mT)
    conjugate = torch.rand(5, 3, 4, dtype=torch.complex64)
    found = tw.einsum("xba,xbc->xac", conjugate.conj(), conjugate)
    torch.testing.assert_close(found, conjugate.mH @ conjugate)


def test_as_an_implementation_for_cotengra():
    cotengra = pytest.importorskip("cotengra")
    a, b, c = RNG.standard_normal((3, 5, 5))
    found = cotengra.einsum("ab,bc,cd->ad", a, b, c, implementation=(tw.einsum, tw.tensordot))
    np.testing.assert_allclose(found, a @ b @ c)


def test_through_autoray():
    autoray = pytest.importorskip("autoray")
    a, b = RNG.standard_normal((2, 5, 5))
    np.testing.assert_allclose(autoray.do("einsum", "ab,bc->ca", a, b, like="tilewright"), (a @ b).T)
    np.testing.assert_allclose(autoray.do("tensordot", a, b, 1, like="tilewright"), a @ b)
    np.testing.assert_array_equal(autoray.do("transpose", a, (1, 0), like="tilewright"), a.T)


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("xab,xbc->xac", [(5, 3, 3), (5, 3, 3)]),
        ("ab,cb,ab->ca", [(3, 4), (5, 4), (3, 4)]),
        ("abc,cdb,dea->ec", [(3, 4, 5), (5, 6, 4), (6, 7, 3)]),
        ("iij,jk->k", [(6, 6, 5), (5, 4)]),
        ("kab,kcd->acbd", [(3, 4, 5), (3, 6, 7)]),
        ("bca,cdb,dbf,afc->", [(2, 3, 4), (3, 5, 2), (5, 2, 6), (4, 6, 3)]),
    ],
)
def test_tensors_are_seen_by_their_strides(equation, shapes, monkeypatch):
    """As on a GPU, where tensors stay tensors: a step's result has to lie as it was planned."""
    torch = pytest.importorskip("torch")
    operands = [torch.rand(shape, dtype=torch.float64) for shape in shapes]
    operands[0] = operands[0].transpose(0, 1).contiguous().transpose(0, 1)
    monkeypatch.setattr(api, "all_behind", lambda values: None)
    monkeypatch.setattr(
        module, "_taken", lambda given, out: (library("torch"), list(given), out, lambda x: x)
    )
    torch.testing.assert_close(tw.einsum(equation, *operands), torch.einsum(equation, *operands))
    out = torch.full_like(torch.einsum(equation, *operands), float("nan"))
    assert tw.einsum(equation, *operands, out=out) is out
    torch.testing.assert_close(out, torch.einsum(equation, *operands))


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("xab,xbc->xac", [(2, 3, 2), (2, 2, 3)]),
        ("kab,kcd->acbd", [(2, 2, 3), (2, 3, 2)]),
        ("iij,jk->k", [(2, 2, 3), (3, 2)]),
        ("abc,cdb,dea->ec", [(2, 3, 2), (2, 3, 3), (3, 2, 2)]),
        ("ab,cb,ab->ca", [(2, 3), (2, 3), (2, 3)]),
    ],
)
def test_gradients(equation, shapes):
    torch = pytest.importorskip("torch")
    operands = [torch.rand(shape, dtype=torch.complex128, requires_grad=True) for shape in shapes]
    torch.testing.assert_close(tw.einsum(equation, *operands), torch.einsum(equation, *operands))
    assert torch.autograd.gradcheck(lambda *given: tw.einsum(equation, *given), operands)
