"""Numbers of 16 bits: as NumPy has them, as operands, and how wrong a result of them may be."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tilewright.arrays.layout import LETTERS, paired, promoted
from tilewright.arrays.numpy_ import adopt
from tilewright.dtypes import BFLOAT16, COMPLEX_HALF, FLOAT16, is_complex, narrowed, unpaired, widened
from tilewright.errors import ArgumentError, DTypeError
from tilewright.model import DTYPES, Device, Problem
from tilewright.planning import roofline
from tilewright.tuning.gemm.operands import POISON, largest, operands, reference, subnormal
from tilewright.tuning.gemm.verify import Case, Verifier, against, judge, prepare, verify

pytestmark = pytest.mark.pure

HALVES = ("h", "b", "hc")


def one(spelling: str, **fields: Any) -> Problem:
    return Problem.parse(spelling, **fields)[0]


def exact(o: Any, rounds: int = 1) -> None:
    """The right answer, kept in float64 and rounded ``rounds`` times."""
    p, kind = o.problem, np.complex128 if o.problem.dtype.is_complex else np.float64
    a, b, c = (widened(x).astype(kind) for x in (o.a, o.b, o.c))
    a = a.swapaxes(1, 2) if p.transposed_a else a
    b = b.swapaxes(1, 2) if p.transposed_b else b
    a, b = (a.conj() if p.conj_a else a), (b.conj() if p.conj_b else b)
    with np.errstate(all="ignore"):
        product = np.matmul(a, b)
        if rounds > 1:
            product = widened(narrowed(product, o.c.dtype)).astype(kind)
        product = o.alpha * product
        o.c[...] = narrowed(product + o.beta * c if p.beta != "0" else product, o.c.dtype)


# ---- types


def test_every_type_has_its_array() -> None:
    assert {DTYPES[x].numpy for x in HALVES} == {FLOAT16, BFLOAT16, COMPLEX_HALF}
    for dtype in DTYPES.values():
        assert LETTERS[dtype.numpy] is dtype
        assert dtype.numpy.itemsize == dtype.itemsize
        assert is_complex(dtype.numpy) == dtype.is_complex
    assert [DTYPES[x].storage_roundoff for x in (*HALVES, "s", "z")] == [2**-11, 2**-8, 2**-11, 0, 0]


@pytest.mark.parametrize("letter", ["h", "b"])
def test_what_storing_rounds_off(letter: str) -> None:
    dtype = DTYPES[letter]
    kind, u = dtype.numpy, dtype.storage_roundoff
    near = np.array([1 + u, 1 + 1.01 * u])
    assert list(narrowed(near, kind).astype("f8")) == [1, 1 + 2 * u]
    most, least = largest(dtype), subnormal(dtype)
    below = np.nextafter(np.float32(most), np.float32(0))
    wide = np.array([most, below, -most], np.float32)
    assert list(np.isinf(narrowed(wide, kind).astype("f8"))) == [True, False, True]
    assert list(narrowed(np.array([least, 1.01 * least]), kind) != 0) == [False, True]
    assert largest(DTYPES["hc"]) == 65520
    assert math.isinf(largest(DTYPES["s"]))


@given(hnp.arrays(np.float16, hnp.array_shapes(max_dims=3).map(lambda shape: (*shape, 2))))
def test_there_and_back(pairs: np.ndarray) -> None:
    found = paired(pairs, "a")
    assert found is not None
    assert np.shares_memory(found, pairs)
    assert np.array_equal(unpaired(found), pairs, equal_nan=True)
    assert np.array_equal(unpaired(narrowed(widened(found), COMPLEX_HALF)), pairs, equal_nan=True)


def test_what_are_no_pairs() -> None:
    with pytest.raises(DTypeError, match="b is float32; accepted with dtype='hc': float16"):
        paired(np.zeros((3, 2), "f4"), "b")
    for shape in ((), (3,), (2, 3)):
        with pytest.raises(ArgumentError, match=r"a has shape .*accepted with dtype='hc': \(\.\.\., 2\)"):
            paired(np.zeros(shape, "f2"), "a")
    assert paired(np.zeros((2, 5), "f2").T, "a") is None


@given(st.sampled_from(["?", "i1", "u1", "f2", "f4", "f8", "c8", "c16"]))
def test_bfloat16_goes_with_what_ml_dtypes_says(other: str) -> None:
    x, y = np.zeros(2, BFLOAT16), np.zeros(2, other)
    if other == "f2":
        with pytest.raises(DTypeError, match="a is bfloat16, b is float16: no common type"):
            promoted({"a": x, "b": y})
    else:
        assert promoted({"a": x, "b": y}) == np.result_type(x, y)
    assert promoted({"a": x, "b": np.zeros(2, "f4")}) == np.float32


def test_complex_half_goes_with_itself_alone() -> None:
    x = np.zeros(2, COMPLEX_HALF)
    assert promoted({"a": x, "b": x}) == COMPLEX_HALF
    for other in ("f2", "c8", BFLOAT16, "i8"):
        for arrays in ({"a": x, "b": np.zeros(2, other)}, {"b": np.zeros(2, other), "a": x}):
            with pytest.raises(DTypeError, match="and a is complex half; accepted: complex half alone"):
                promoted(arrays)


@pytest.mark.filterwarnings("ignore:ComplexHalf")
def test_tensors_share_their_memory_both_ways() -> None:
    torch = pytest.importorskip("torch")
    for name, dtype in (("float16", FLOAT16), ("bfloat16", BFLOAT16), ("complex32", COMPLEX_HALF)):
        wide = torch.complex64 if name == "complex32" else torch.float32
        tensor = torch.ones(3, 4, dtype=wide).to(getattr(torch, name)).T
        array, wrap = adopt(tensor, "a")
        assert (array.dtype, array.shape, array.strides[0]) == (dtype, (4, 3), dtype.itemsize)
        assert array.ctypes.data == tensor.data_ptr()
        again = wrap(array.T)
        assert again.dtype == tensor.dtype
        assert again.data_ptr() == tensor.data_ptr()
    lazy = torch.view_as_complex(torch.ones(3, 2, dtype=torch.float16)).conj()
    assert list(widened(adopt(lazy, "a")[0])) == [1 - 1j] * 3


def test_an_old_record_has_no_pointers() -> None:
    problem = one("hc:nc:3x4x5@6", beta="any")
    data = problem.to_json()
    assert Problem.from_json(data) == problem
    del data["pointers"]
    assert Problem.from_json(data) == problem
    assert not Problem.from_json(data).pointers


def test_their_bound_on_a_processor_is_that_of_the_sums() -> None:
    ceilings = {"peak.s.1": 1e12, "peak.c.1": 5e11, "bandwidth.update.1": 1e9}
    device = Device("cpu", "", "", {"vector_bits": 256}, "", ceilings)
    for letter, wide in (("h", "s"), ("b", "s"), ("hc", "c")):
        half, whole = one(f"{letter}:8x8x8"), one(f"{wide}:8x8x8")
        assert roofline.known(half, device)
        assert roofline.ceiling(half, device) == roofline.ceiling(whole, device)
        there, twice = (roofline.bound(p, device, "memory") for p in (half, whole))
        assert there.seconds == pytest.approx(twice.seconds / 2)


# ---- operands


@pytest.mark.parametrize("letter", HALVES)
def test_operands_of_16_bits(letter: str) -> None:
    problem = one(f"{letter}:8x8x8@3", beta="any", lda=11, stride_a=99)
    made = operands(problem, 0, offset=1)
    assert made.a.dtype == problem.dtype.numpy
    assert all(pointer % 64 == problem.dtype.itemsize for pointer in made.pointers)
    assert made.scalars.dtype == np.float32
    values = widened(made.a)
    values = np.stack([values.real, values.imag]) if problem.dtype.is_complex else values
    assert np.isfinite(values).all()
    assert (abs(values) >= np.finfo("f2").tiny).all()
    assert 0.7 < values.std() < 1.3
    assert len(np.unique(values)) > values.size // 2
    assert made.intact()
    made.regions[0].words[made.regions[0].outside.argmax()] ^= 1
    assert not made.intact()


@pytest.mark.parametrize("letter", HALVES)
def test_poison_is_a_signalling_nan_that_arithmetic_changes(letter: str) -> None:
    made = operands(one(f"{letter}:4x4x4"), 0)
    word = POISON["bfloat16" if letter == "b" else "f2"]
    assert (made.regions[2].words == word).all()
    found = widened(made.c)
    assert np.isnan(found).all()
    fraction = 7 if letter == "b" else 10
    assert word >> (fraction - 1) & 1 == 0, "the first bit of the fraction makes a NaN quiet"
    with np.errstate(invalid="ignore"):
        made.c[...] = narrowed(found + 1, made.c.dtype)
    assert (np.ascontiguousarray(made.c).view("u2") != word).all()


# ---- the bound


@pytest.mark.parametrize("trans", ["nn", "tn", "nc", "jt"])
@pytest.mark.parametrize("letter", HALVES)
def test_one_rounding_is_right_and_two_are_wrong(letter: str, trans: str) -> None:
    base = one(f"{letter}:{trans}:9x7x33", alpha="any", beta="any")
    padded = base.with_(lda=40, ldb=40, ldc=11, stride_a=1400, stride_b=1400, stride_c=90)
    for problem in (base, base.with_(k=0), base.with_(stride_b=0), padded):
        verdict = verify(problem, exact)
        assert verdict.ok, verdict.why
        assert verdict.error > 0.3 or not problem.k, "the bound is little more than the rounding"
        verifier = Verifier(problem)
        for ready in verifier.ready:
            ready.operands.restore()
            exact(ready.operands)
            assert judge(ready, quick=True).ok
    assert not verify(base, lambda o: exact(o, rounds=2)).ok
    assert not verify(base, lambda o: None).ok


@pytest.mark.parametrize("letter", HALVES)
def test_a_product_is_judged_by_some_of_its_results(letter: str) -> None:
    problem = one(f"{letter}:9x7x33", alpha="any", beta="any")
    made = operands(problem, 2)
    right = reference(problem, made)
    exact(made, rounds=2)
    assert not against(made.c, right, problem, "twice").ok
    assert against(made.c, right, problem, "twice", roundings=2).ok


@pytest.mark.parametrize("letter", ["h", "hc"])
def test_what_is_too_large_is_infinite(letter: str) -> None:
    problem = one(f"{letter}:6x5x4", beta="1")
    ready = prepare(problem, Case(1), 0)
    made = ready.operands

    def put(matrix: Any, value: float) -> None:
        matrix[...] = (value, -value) if letter == "hc" else value

    # Rows of 66000, of 65519 (rounded, the largest number) and of -70000, and one close to where it turns.
    put(made.a[...], 0)
    for row, value in enumerate((66000.0, 65519.0, -70000.0, 65520.0)):
        put(made.c[0][row], 40000.0 if value > 0 else -40000.0)
        put(made.a[0][row], 0)
        made.a[0][row, 0] = (value - math.copysign(40000, value), 0) if letter == "hc" else 1
    made.b[...] = np.zeros(1, made.b.dtype)
    made.b[0][0] = (1, -1) if letter == "hc" else 1
    if letter == "h":
        for row, value in enumerate((66000.0, 65519.0, -70000.0, 65520.0)):
            made.a[0][row, 0] = value - math.copysign(40000, value)
    made.keep()
    right = reference(problem, made)
    assert np.isfinite(right.expected).all(), "it is not rounded"

    def said(**changes: float) -> bool:
        made.restore()
        fresh = ready.__class__(
            ready.case,
            made,
            right,
            right.bound + 1e-30,
            np.isfinite(right.expected),
            True,
            ready.near,
            ready.slack,
            calm=False,
        )
        exact(made)
        for place, value in changes.items():
            row = int(place[1:])
            made.c[0][row, 0] = (value, -value) if letter == "hc" else value
        return judge(fresh, quick=True).ok and against(made.c, right, problem, "some").ok

    assert said()
    infinite = unpaired(made.c)[..., 0] if letter == "hc" else made.c
    assert np.isposinf(infinite[0, 0]).all()
    assert np.isneginf(infinite[0, 2]).all()
    assert not said(r0=65504.0), "a finite number in its place"
    assert not said(r0=-math.inf)
    assert not said(r0=math.nan)
    assert not said(r2=-65504.0)
    assert not said(r4=math.inf), "nothing is too large there"
    # On the edge either is right.
    assert said(r3=65504.0)
    assert said(r3=math.inf)


def test_no_case_of_random_data_overflows() -> None:
    for letter in HALVES:
        assert all(ready.calm for ready in Verifier(one(f"{letter}:5x5x64", beta="any")).ready)
