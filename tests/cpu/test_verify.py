"""Verification: right kernels pass, and every way to be wrong that is known to us is caught."""

import ctypes
import itertools

import numpy as np
import pytest

from tilewright.dtypes import narrowed, widened
from tilewright.errors import ArgumentError
from tilewright.model import Problem
from tilewright.stencils.cpu.tile.stencil import TileStencil
from tilewright.targets.cpu import llvm, processor
from tilewright.tuning.gemm.operands import KEEP, operands, reference, sample
from tilewright.tuning.gemm.verify import CASES, Verifier, against, verify

pytestmark = pytest.mark.cpu


def compute(o):
    """The right answer by NumPy in the working precision, one sum at a time."""
    p = o.problem
    a = o.a.swapaxes(1, 2) if p.transposed_a else o.a
    b = o.b.swapaxes(1, 2) if p.transposed_b else o.b
    a, b = (a.conj() if p.conj_a else a), (b.conj() if p.conj_b else b)
    with np.errstate(invalid="ignore"):
        product = o.alpha * np.einsum("bik,bkj->bij", a, b)
        o.c[...] = product + o.beta * o.c if p.beta != "0" else product


def compiled(problem, number=0):
    """A kernel of the tile stencil as ``run``: the config of that number in its space."""
    device, stencil = processor.probe(), TileStencil()
    config = next(itertools.islice(iter(stencil.space(problem, device)), number, None))
    kernel = llvm.load(llvm.compile(stencil.source(problem, config, device), device))
    call = llvm.PROTOTYPE(kernel.address)

    def run(o, keep=kernel):
        call(*o.arguments)

    return run


def one(spelling, **fields):
    return Problem.parse(spelling, **fields)[0]


PADDED = {"lda": 8, "ldb": 5, "ldc": 9, "stride_a": 40, "stride_b": 50, "stride_c": 80}


@pytest.mark.parametrize("fields", [{}, {"beta": "1"}, {"alpha": "any", "beta": "any"}])
@pytest.mark.parametrize("spelling", ["d:5x7x3", "s:8x8x8", "z:tc:5x7x3", "c:16x3x4"])
def test_tile_kernels_are_right(spelling, fields):
    problem = one(spelling, **fields)
    verdict = verify(problem, compiled(problem))
    assert verdict.ok, verdict.why
    assert 0 < verdict.error <= 1


def test_a_kernel_on_padded_operands_is_right():
    problem = one("d:5x7x3", beta="any", **PADDED)
    verdict = verify(problem, compiled(problem))
    assert verdict.ok, verdict.why


@pytest.mark.parametrize("letter", "sdcz")
@pytest.mark.parametrize("trans", ["nn", "tn", "nc", "tt", "jc"])
def test_numpy_is_right_in_every_layout(letter, trans):
    base = one(f"{letter}:{trans}:4x5x6")
    problems = [
        base,
        base.with_(stride_a=0),
        base.with_(stride_b=0, beta="1"),
        base.with_(lda=11, ldb=9, ldc=7, stride_a=90, stride_b=80, stride_c=40, alpha="any", beta="any"),
        base.with_(stride_a=-30, stride_c=-24),
        base.with_(k=0),
    ]
    for problem in problems:
        verdict = verify(problem, compute)
        assert verdict.ok, (problem, verdict.why)


@pytest.mark.filterwarnings("ignore:invalid value")
def test_another_order_of_the_sum_is_right():
    def backwards(o):
        o.c[...] = 0
        for p in reversed(range(o.problem.k)):
            o.c[...] += o.a[:, :, p, None] * o.b[:, p, None, :]

    verdict = verify(one("d:5x7x33"), backwards)
    assert verdict.ok, verdict.why


def sabotaged(how):
    """The right answer, then ``how`` on a call that has at least one product."""

    def run(o):
        compute(o)
        if o.problem.batch:
            how(o)

    return run


def poke(address, value=1.0):
    ctypes.c_double.from_address(address).value = value


def last_gap_of_c(o):
    poke(o.pointers[2] + 8 * o.problem.m)


WRONG = {
    "one element a little off": lambda o: o.c.__setitem__((-1, 2, 3), o.c[-1, 2, 3] * (1 + 1e-13)),
    "one element from elsewhere": lambda o: o.c.__setitem__((0, 0, 0), o.c[0, 1, 0]),
    "one element unwritten": lambda o: o.c.__setitem__((-1, -1, -1), np.nan),
    "conjugate of a whole column": lambda o: o.c.__setitem__((0, slice(None), 1), -o.c[0, :, 1]),
    "guard before C": lambda o: poke(o.pointers[2] - 8),
    "guard after C": lambda o: poke(
        o.pointers[2] + 8 * ((o.problem.batch - 1) * o.problem.stride_c + 6 * o.problem.ldc + 5)
    ),
    "far in the guard": lambda o: poke(o.pointers[2] - 512),
    "A": lambda o: poke(o.pointers[0]),
    "guard of B": lambda o: poke(o.pointers[1] - 8),
}


@pytest.mark.parametrize("fields", [{}, {"beta": "1"}, PADDED], ids=["packed", "beta", "padded"])
@pytest.mark.parametrize("what", WRONG)
def test_wrong_kernels_are_caught(what, fields):
    verdict = verify(one("d:5x7x3", **fields), sabotaged(WRONG[what]))
    assert not verdict.ok, what
    assert verdict.error > 1
    assert "batch 1" in verdict.why


def test_padding_between_columns_and_matrices_is_guarded():
    problem = one("d:5x7x3", **PADDED)
    between_columns = sabotaged(lambda o: poke(o.pointers[2] + 8 * 6))
    assert "padding" in verify(problem, between_columns).why

    def between_matrices(o):
        compute(o)
        if o.problem.batch > 1:
            poke(o.pointers[2] + 8 * 79)

    verdict = verify(problem, between_matrices)
    assert "padding" in verdict.why
    assert "batch 7" in verdict.why


@pytest.mark.filterwarnings("ignore:invalid value")
def test_padding_written_back_unchanged_by_arithmetic_is_caught():
    def whole_columns(o):
        compute(o)
        if o.problem.batch:
            full = np.lib.stride_tricks.as_strided(o.c, (o.problem.batch, 9, 7), o.c.strides)
            full[:, 5:] += 0.0  # a full vector: lanes past the column add zero

    assert "padding" in verify(one("d:5x7x3", beta="1", **PADDED), whole_columns).why


@pytest.mark.filterwarnings("ignore:invalid value")
def test_c_read_when_beta_is_0_is_caught():
    def reads_c(o):
        old = o.c.copy()
        compute(o)
        o.c[...] += 0 * old

    assert not verify(one("d:5x7x3"), reads_c).ok


@pytest.mark.filterwarnings("ignore:invalid value")
def test_padding_of_a_read_into_results_is_caught():
    problem = one("d:5x7x3", **PADDED)

    def too_far(o):
        compute(o)
        if o.problem.batch:
            beyond = np.lib.stride_tricks.as_strided(o.a, (8,), o.a.strides[1:2])[7]
            o.c[0, 4, 0] += 0 * beyond

    assert not verify(problem, too_far).ok


def only_on(condition, how):
    def run(o):
        compute(o)
        if condition(o):
            how(o)

    return run


def aligned(o):
    return o.pointers[0] % 64 == 0


@pytest.mark.parametrize(
    ("when", "said"),
    [
        (lambda o: o.problem.batch == 7, "batch 7"),
        (lambda o: not aligned(o), "moved by 1"),
        (lambda o: o.problem.batch == 3 and not aligned(o), "moved by 3"),
        (lambda o: o.problem.batch == 3 and aligned(o), "inf and NaN"),
    ],
)
def test_every_case_counts(when, said):
    def how(o):
        o.c[-1, -1, -1] += 1

    assert said in verify(one("d:5x7x3"), only_on(when, how)).why


def test_an_empty_batch_must_leave_everything_alone():
    def careless(o):
        compute(o)
        if not o.problem.batch:
            poke(o.pointers[2], 0.0)

    assert "batch 0" in verify(one("d:5x7x3"), careless).why


@pytest.mark.parametrize("letter", "dz")
def test_infinities_and_nan_must_come_through(letter):
    problem = one(f"{letter}:5x7x3")

    def clean(o):
        a = o.a.copy()
        o.a[~np.isfinite(a)] = 0
        compute(o)
        o.a[...] = a

    verdict = verify(problem, clean)
    assert not verdict.ok
    assert "inf and NaN" in verdict.why


def test_infinity_of_the_wrong_sign_and_leaks_to_neighbours_are_caught():
    def flipped(o):
        compute(o)
        o.c[np.isinf(o.c)] *= -1

    assert "inf and NaN" in verify(one("d:5x7x3"), flipped).why

    def leaking(o):
        compute(o)
        bad = ~np.isfinite(o.c).all(axis=(1, 2))
        o.c[np.roll(bad, 1)] = np.nan

    assert "inf and NaN" in verify(one("d:5x7x3"), leaking).why


def test_a_verifier_is_fresh_after_a_wrong_kernel_and_makes_nothing_anew(monkeypatch):
    problem = one("d:16x16x16")
    verifier, right = Verifier(problem), compiled(problem)
    assert verifier.check(right).ok
    assert not verifier.check(sabotaged(WRONG["A"])).ok
    assert not verifier.check(sabotaged(WRONG["guard before C"])).ok
    assert verifier.check(right).ok
    # A search checks thousands of kernels of a problem: operands and right answers are made once.
    for name in ("operands", "reference"):
        monkeypatch.setattr(f"tilewright.tuning.gemm.verify.{name}", None)
    runs = []
    assert verifier.check(lambda o: (runs.append(o), right(o))).ok
    assert len(runs) == len(CASES)


def test_the_reference_knows_more_digits_than_the_type():
    problem = one("d:1x1x64")
    made = operands(problem, 3)
    made.a[...] = 1.0
    made.b[0, :, 0] = np.array([1.0] + [2.0**-60] * 63)
    right = reference(problem, made)
    if np.finfo(np.longdouble).eps < 2.0**-60:
        assert float(right.expected[0, 0, 0] - 1) == pytest.approx(63 * 2.0**-60, rel=0.1)
    assert right.bound[0, 0, 0] == pytest.approx(66 * 2.0**-53, rel=1e-6)


def test_bound_grows_with_cancellation_not_with_the_result():
    problem = one("s:1x1x2")
    made = operands(problem, 0)
    made.a[...] = [[[1.0, -1.0]]]
    made.b[...] = [[[1e6], [1e6]]]
    right = reference(problem, made)
    assert right.expected[0, 0, 0] == 0
    assert right.bound[0, 0, 0] == pytest.approx(4 * 2.0**-24 * 2e6, rel=1e-5)


def test_tiny_bfloat16_may_count_as_zeros_and_for_no_more():
    """What x86's instructions for bfloat16 make of subnormal operands is within the bound that names it."""
    problem = one("b:6x5x9@3")
    made = operands(problem, 1)
    made.a[...] = narrowed(widened(made.a) * np.float32(2.0**-128), made.a.dtype)
    right = reference(problem, made)
    flushed = np.where(abs(widened(made.a)) < 2.0**-126, 0.0, widened(made.a))
    got = narrowed(np.einsum("bik,bkj->bij", flushed, widened(made.b)).astype(np.float32), made.c.dtype)
    assert (widened(got) == 0).any()
    assert against(got, right, problem, "zeros").ok
    more = narrowed(widened(got) + np.float32(2.0**-121), made.c.dtype)
    assert not against(more, right, problem, "too much").ok


def test_large_batches_are_sampled_with_both_ends():
    which = sample(100_000, 16)
    assert (which[0], which[-1], len(set(which))) == (0, 99_999, 16)
    assert list(sample(5, 16)) == [0, 1, 2, 3, 4]


def test_operands_lie_where_they_should():
    problem = one("z:3x4x5@6", beta="any", lda=7, stride_b=0)
    made = operands(problem, 1, alignment=128, offset=3, guard=100)
    for pointer in made.pointers:
        assert pointer % 128 == 3 * 16
    assert made.b.strides[0] == 0
    assert made.a.strides == (16 * problem.stride_a, 16, 16 * 7)
    assert [view.__array_interface__["data"][0] for view in (made.a, made.b, made.c)] == list(made.pointers)
    assert np.isfinite(made.a).all()
    assert np.isfinite(made.c).all()
    assert abs(complex(made.beta)) < 1
    assert list(made.scalars[:4]) == [1.0, 0.0, -0.75, 0.25]
    assert made.intact()
    poisoned = operands(problem.with_(beta="0"), 1)
    assert np.isnan(poisoned.c).all()
    same, other = operands(problem, 1), operands(problem, 2)
    assert (same.a == operands(problem, 1).a).all()
    assert not (same.a == other.a).any()
    packed = operands(one("d:4x4x4", beta="1"), 1)
    assert len({float(view.flat[5]) for view in (packed.a, packed.b, packed.c)}) == 3


def test_large_operands_are_random_everywhere_and_still_guarded():
    problem = one("d:8x8x8@50000", beta="1")
    assert problem.footprint > 3 * KEEP
    made = operands(problem, 0)
    means = made.a.reshape(50, -1).mean(axis=1)
    assert abs(means).max() < 0.05
    assert made.a[:100].std() == pytest.approx(1, rel=0.05)
    assert not np.array_equal(made.a[0], made.a[4096])
    assert made.intact()
    poke(made.pointers[2] - 8)
    assert not made.intact()
    with pytest.raises(ArgumentError):
        made.restore()


def test_what_cannot_be_made_is_named():
    with pytest.raises(ArgumentError, match="alignment=24"):
        operands(one("z:4x4x4"), 0, alignment=24)


def test_empty_shapes_are_verified_too():
    for spelling in ("d:0x4x4", "d:4x0x4", "d:4x4x0"):
        for beta in "01":
            verdict = verify(one(spelling, beta=beta), compute)
            assert verdict.ok, verdict.why
    assert not verify(one("d:4x4x0"), lambda o: None).ok, "an empty sum is zero, not untouched"
    assert len(CASES) >= 5
