"""The public calls on numbers of 16 bits in this process's memory: sums in float32, rounded once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tilewright as tw
from tests.products import PATIENT, op
from tilewright.cli import compare
from tilewright.dtypes import BFLOAT16, COMPLEX_HALF, FLOAT16, is_complex, narrowed, paired, unpaired, widened
from tilewright.errors import ArgumentError, DTypeError
from tilewright.model import DTYPES, Problem, Source
from tilewright.stencils.cpu.bits import BitsIr
from tilewright.stencils.cpu.ir import ENTRY, Piece, module
from tilewright.targets.cpu import llvm, processor

pytestmark = [pytest.mark.cpu, pytest.mark.filterwarnings("ignore:ComplexHalf")]

HALVES = {"h": FLOAT16, "b": BFLOAT16, "hc": COMPLEX_HALF}
ROUNDOFF = {"h": 2.0**-11, "b": 2.0**-8, "hc": 2.0**-11}


def filled(shape: tuple[int, ...], letter: str, seed: int = 0) -> np.ndarray:
    draw = np.random.default_rng((seed, *shape))
    values = draw.standard_normal(shape)
    if letter == "hc":
        values = values + 1j * draw.standard_normal(shape)
    return narrowed(values, HALVES[letter])


def exact(x: np.ndarray) -> np.ndarray:
    return widened(x).astype(np.complex128 if is_complex(x.dtype) else np.float64)


def rounded(got: Any, want: np.ndarray, letter: str) -> None:
    """Within one rounding of the right answer, and of the sums in float32."""
    assert got.dtype == HALVES[letter]
    assert got.shape == want.shape
    allowed = ROUNDOFF[letter] * abs(want) + 1e-5 * (1 + abs(want))
    assert (abs(exact(np.asarray(got)) - want) <= allowed).all()


# ---- NumPy's arrays


@PATIENT
@given(
    st.sampled_from(sorted(HALVES)),
    st.tuples(*[st.integers(0, 9)] * 3),
    st.sampled_from([((), ()), ((3,), (3,)), ((2, 1), (3,)), ((), (4,))]),
    st.sampled_from(["no", "a", "b", "both"]),
)
def test_matmul_has_numpys_rules(letter: str, sizes: Any, batches: Any, one: str) -> None:
    m, n, k = sizes
    a = filled((k,) if one in ("a", "both") else (*batches[0], m, k), letter, 1)
    b = filled((k,) if one in ("b", "both") else (*batches[1], k, n), letter, 2)
    want = np.matmul(exact(a), exact(b))
    for _ in range(2):
        rounded(tw.matmul(a, b), np.asarray(want), letter)
    out = filled(np.shape(want), letter, 3)
    assert tw.matmul(a, b, out=out) is out
    rounded(out, np.asarray(want), letter)


@PATIENT
@given(
    st.sampled_from(sorted(HALVES)),
    st.sampled_from("ntc"),
    st.sampled_from("ntc"),
    st.sampled_from([1, 0, -1, 2.5, 0.1, 1.5 - 2j]),
    st.sampled_from([0, 1, -0.5, 0.1, 0.25 + 1j]),
    st.tuples(st.integers(1, 9), st.integers(1, 9), st.integers(0, 9)),
    st.sampled_from([(), (1,), (7,), (2, 3)]),
    st.sampled_from(["c", "out", "in place", "both"]),
)
def test_gemm_is_the_formula(
    letter: str, trans_a: str, trans_b: str, alpha: Any, beta: Any, sizes: Any, batch: Any, way: str
) -> None:
    if letter != "hc":
        alpha, beta = np.real(alpha), np.real(beta)
    m, n, k = sizes
    a = filled((*batch, *((m, k) if trans_a == "n" else (k, m))), letter, 1)
    b = filled((*batch, *((k, n) if trans_b == "n" else (n, k))), letter, 2)
    c = filled((*batch, m, n), letter, 3)
    want = alpha * np.matmul(op(exact(a), trans_a), op(exact(b), trans_b)) + beta * exact(c)
    options: dict[str, Any] = {"alpha": alpha, "beta": beta, "trans_a": trans_a, "trans_b": trans_b}
    kept = c.copy()
    if way == "c":
        got = tw.gemm(a, b, c, **options)
        assert (c == kept).all()
    elif way == "out":
        got = tw.gemm(a, b, c, out=np.empty_like(c), **options)
    elif way == "in place":
        got = tw.gemm(a, b, out=c, **options)
        assert got is c
    else:
        got = tw.plan(a, b, c, **options)(a, b, c, out=c)
        assert got is c
    rounded(got, want, letter)


def test_sums_are_not_kept_in_16_bits() -> None:
    """4096 ones and a few: a sum in float16 would stop at 2048, one in bfloat16 at 256."""
    for letter, dtype in HALVES.items():
        ones = narrowed(np.ones((1, 5000)), dtype)
        got = exact(tw.matmul(ones, ones.T))
        want = exact(narrowed(np.array([[5000.0]]), dtype))
        assert (got == want).all(), letter


def test_float16_is_no_worse_than_numpys() -> None:
    a, b = filled((40, 300), "h", 1), filled((300, 40), "h", 2)
    want = exact(a) @ exact(b)
    ours, theirs = (abs(exact(got) - want).max() for got in (tw.matmul(a, b), np.matmul(a, b)))
    assert ours <= theirs * 1.01


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_what_is_too_large_becomes_infinite() -> None:
    a, b = np.full((2, 2), 300, "f2"), np.full((2, 2), [[200], [-200]], "f2")
    assert np.isposinf(tw.matmul(a, np.full((2, 2), 200, "f2"))).all()
    assert np.isneginf(tw.gemm(a, np.full((2, 2), 200, "f2"), alpha=-1)).all()
    assert (tw.matmul(a, b) == 0).all(), "sums on the way have the room of float32"
    big = narrowed(np.full((2, 2), 300 + 1j), COMPLEX_HALF)
    got = tw.matmul(big, big)
    assert np.isposinf(got["re"]).all()
    assert (got["im"] == 1200).all()
    edge = np.array([[65504.0, 15.0]], "f2"), np.array([[1.0], [1.0]], "f2")
    assert tw.matmul(*edge) == 65504
    assert np.isinf(tw.matmul(np.array([[65504.0, 16.0]], "f2"), edge[1]))
    wide = np.full((2, 2), 300, BFLOAT16)
    assert np.isfinite(tw.matmul(wide, wide).astype("f4")).all()


def test_infinities_and_nan_stay() -> None:
    for letter in ("h", "b"):
        a, b = filled((3, 4), letter, 1), np.ones((4, 2), HALVES[letter])
        a[0, 0], a[1, 1] = np.inf, np.nan
        got = tw.matmul(a, b).astype("f4")
        assert np.isposinf(got[0]).all()
        assert np.isnan(got[1]).all()
        assert np.isfinite(got[2]).all()
        nan = np.full((3, 2), np.nan, HALVES[letter])
        assert np.isfinite(tw.gemm(a[2:], b, nan[2:], beta=0).astype("f4")).all()


def test_beta_alone_and_nothing_to_multiply() -> None:
    for letter, dtype in HALVES.items():
        c = filled((3, 2), letter, 1)
        want = 0.1 * exact(c)
        a, b = narrowed(np.zeros((3, 0)), dtype), narrowed(np.zeros((0, 2)), dtype)
        rounded(tw.gemm(a, b, c, beta=0.1), want, letter)
        rounded(tw.gemm(filled((3, 4), letter), filled((4, 2), letter), c, alpha=0, beta=0.1), want, letter)
        assert (exact(tw.matmul(a, b)) == 0).all()


def test_an_out_over_an_operand_and_any_strides() -> None:
    for letter in HALVES:
        a, b = filled((5, 4, 4), letter, 1), filled((5, 4, 4), letter, 2)
        want = np.matmul(exact(a), exact(b))
        tw.matmul(a, b, out=a)
        rounded(a, want, letter)
        x, y = filled((6, 16), letter, 3)[:, ::-2], filled((8, 3, 2), letter, 4)[:, :, 1]
        rounded(tw.matmul(x, y), exact(x) @ exact(y), letter)
        out = filled((3, 6), letter).T
        tw.matmul(x, y, out=out)
        rounded(out, exact(x) @ exact(y), letter)


def test_types_go_together_as_numpy_says() -> None:
    a = filled((3, 3), "b")
    assert tw.matmul(a, np.ones((3, 3), "f4")).dtype == np.float32
    assert tw.matmul(a, np.ones((3, 3), "i1")).dtype == BFLOAT16
    assert tw.gemm(filled((3, 3), "h"), np.ones((3, 3), "c8")).dtype == np.complex64
    with pytest.raises(DTypeError, match="a is bfloat16, b is float16: no common type"):
        tw.matmul(a, filled((3, 3), "h"))
    x = filled((3, 3), "hc")
    for other in (a, filled((3, 3), "h"), np.ones((3, 3), "c8")):
        for run in (tw.matmul, tw.gemm):
            with pytest.raises(DTypeError, match="accepted: complex half alone"):
                run(x, other)
    with pytest.raises(ArgumentError, match="accepted: a real number"):
        tw.gemm(a, a, alpha=1j)
    with pytest.raises(DTypeError, match="out is float32"):
        tw.matmul(x, x, out=np.zeros((3, 3), "f4"))
    scale = np.array(2, BFLOAT16)[()]
    rounded(tw.gemm(a, a, alpha=scale), 2 * exact(a) @ exact(a), "b")
    for letter in HALVES:
        y = filled((3, 3), letter)
        plan = tw.plan(y, y).plan
        assert plan.problem.dtype.letter == letter
        # A processor that has no instructions for float16 leaves it to NumPy.
        served = letter == "b" or "half" in plan.device.supports
        assert (plan.origin == "default") == served
        assert ("numpy.matmul in " in tw.explain(y, y)) != served
        large = filled((150, 150), letter)
        assert "numpy.matmul in " in tw.explain(large, large)


@pytest.mark.parametrize("letter", sorted(HALVES))
def test_odd_numbers_are_rounded_as_numpy_rounds_them(letter: str) -> None:
    """Subnormal and large numbers, infinities and what is no number, each by a unit matrix and back."""
    kind = HALVES[letter] if letter != "hc" else FLOAT16
    every = np.arange(1 << 16, dtype=np.uint16).view(kind)
    for n in (2, 16):
        # Zero by what is not finite is no number, so that it shares its row with itself alone.
        finite = every[np.isfinite(every.astype(np.float32))]
        some = finite[: finite.size // (n * n) * n * n].reshape(-1, n, n)
        a = some if letter != "hc" else paired(np.stack([some, some[::-1]], -1))
        one = narrowed(np.eye(n), HALVES[letter])
        got, same = exact(tw.matmul(a, one)), exact(a)
        if letter == "b":
            # Instructions for pairs of bfloat16, which some processors run, take subnormal numbers for zeros.
            same[(abs(same) < 2.0**-126) & (got == 0)] = 0
        assert np.array_equal(got, same)
    rest = every[~np.isfinite(every.astype(np.float32))].reshape(-1, 1, 1)
    a = rest if letter != "hc" else paired(np.stack([rest, np.zeros_like(rest)], -1))
    got = tw.matmul(a, narrowed(np.ones((1, 1)), HALVES[letter]))
    got = got if letter != "hc" else unpaired(got)[..., 0]
    assert np.array_equal(got.astype(np.float32), rest.astype(np.float32), equal_nan=True)
    # Halfway between two numbers it is the even one, and the largest sums are infinite.
    step = 2.0 ** (-8 if letter == "b" else -11)
    most = 3.3e38 if letter == "b" else 65504.0
    for left, right, want in (
        ((1.0, step), (1.0, 1.0), 1.0),
        ((1.0 + 2 * step, step), (1.0, 1.0), 1.0 + 4 * step),
        ((most, most), (1.0, 1.0), np.inf),
        ((most, most), (-1.0, -1.0), -np.inf),
    ):
        x, y = narrowed(np.array([left]), HALVES[letter]), narrowed(np.array([right]).T, HALVES[letter])
        assert exact(tw.matmul(x, y)).real.item() == want


# ---- float16 pairs


def test_pairs() -> None:
    a, b, c = filled((3, 4, 5), "hc", 1), filled((5, 6), "hc", 2), filled((3, 4, 6), "hc", 3)
    x, y, z = unpaired(a), unpaired(b), unpaired(c)
    product = exact(a) @ exact(b)
    for _ in range(2):
        got = tw.matmul(x, y, dtype="hc")
        assert (got.shape, got.dtype) == ((3, 4, 6, 2), np.float16)
        rounded(paired(got), product, "hc")
        out = np.empty_like(z)
        assert tw.matmul(x, y, out=out, dtype="hc") is out
        rounded(paired(out), product, "hc")
        rounded(paired(tw.gemm(x, y, z, alpha=1j, beta=2, dtype="hc")), 1j * product + 2 * exact(c), "hc")
        made = tw.plan(x, y, z, beta=1, dtype="hc")
        rounded(paired(made(x, y, z)), product + exact(c), "hc")
        rounded(paired(tw.gemm(x, x, trans_b="c", dtype="hc")), exact(a) @ op(exact(a), "c"), "hc")
        rounded(paired(tw.matmul(x[0, 0], y, dtype="hc")), product[0, 0], "hc")
        dot = tw.matmul(x[0, 0], y[:, 0], dtype="hc")
        assert dot.shape == (2,)
        # The same arrays without the word are something else.
        assert tw.matmul(x.swapaxes(-1, -2), x).shape == (3, 4, 2, 2)
    updated = z.copy()
    tw.gemm(x, y, out=updated, beta=-1, dtype="hc")
    rounded(paired(updated), product - exact(c), "hc")
    assert "hc:nn:6x4x5@3" in tw.explain(x, y, dtype="hc")
    assert tw.matmul(np.zeros((2, 0, 2), "f2"), np.zeros((0, 3, 2), "f2"), dtype="hc").shape == (2, 3, 2)
    apart = np.stack([a["re"], a["im"]]).transpose(1, 2, 3, 0)
    rounded(paired(tw.matmul(apart, y, dtype="hc")), product, "hc")


def test_what_are_no_pairs() -> None:
    x = np.ones((4, 4, 2), "f2")
    wide = np.ones((4, 4))
    tw.matmul(wide, wide)
    for word in ("h", "HC", "complex32", np.float16, "", 0, [], x):
        for run in (tw.matmul, tw.gemm, tw.plan):
            with pytest.raises(ArgumentError, match="accepted: 'hc'"):
                run(x, x, dtype=word)
    for bad, error, words in (
        (wide, DTypeError, "b is float64; accepted with dtype='hc': float16"),
        (np.ones((4, 3), "f2"), ArgumentError, "last axis"),
        (paired(x), DTypeError, "accepted with dtype='hc': float16"),
        (np.ones((3, 4, 2), "f2"), ArgumentError, "4 columns do not meet 3 rows"),
    ):
        for run in (tw.matmul, tw.gemm):
            with pytest.raises(error, match=words):
                run(x, bad, dtype="hc")
    # What was called before without the word is not what is called with it.
    with pytest.raises(DTypeError, match="accepted with dtype='hc'"):
        tw.matmul(wide, wide, dtype="hc")
    with pytest.raises(ArgumentError, match="side by side"):
        tw.matmul(x, x, out=np.zeros((2, 4, 4), "f2").transpose(1, 2, 0), dtype="hc")
    with pytest.raises(ArgumentError, match=r"out has shape \(4, 5, 2\); accepted: \(4, 4, 2\)"):
        tw.matmul(x, x, out=np.zeros((4, 5, 2), "f2"), dtype="hc")


# ---- PyTorch's tensors


@pytest.mark.parametrize("letter", sorted(HALVES))
def test_tensors(letter: str) -> None:
    torch = pytest.importorskip("torch")
    name = {"h": "float16", "b": "bfloat16", "hc": "complex32"}[letter]
    kind = torch.complex64 if letter == "hc" else torch.float32

    def tensor(shape: tuple[int, ...], seed: int) -> Any:
        return torch.from_numpy(widened(filled(shape, letter, seed))).to(getattr(torch, name))

    def host(x: Any) -> np.ndarray:
        return x.to(kind).resolve_conj().numpy().astype("c16" if letter == "hc" else "f8")

    def right(got: Any, want: np.ndarray) -> None:
        assert got.dtype == getattr(torch, name)
        rounded(narrowed(host(got), HALVES[letter]), want, letter)

    a, b, c = tensor((3, 4, 5), 1), tensor((3, 5, 6), 2), tensor((3, 4, 6), 3)
    for x in (a, a.conj(), a.mT.contiguous().mT):
        right(tw.matmul(x, b), host(x) @ host(b))
        got = tw.gemm(x, b, c, alpha=2, beta=0.5)
        right(got, 2 * host(x) @ host(b) + 0.5 * host(c))
    right(tw.gemm(a, a, trans_b="c"), host(a) @ op(host(a), "c"))
    out = c.clone()
    assert tw.gemm(a, b, out=out, beta=1) is out
    right(out, host(a) @ host(b) + host(c))
    none = tw.matmul(a[:, :, :0], b[:, :0])
    assert (host(none) == 0).all()
    for empty in (tw.matmul(a[:0], b[:0]), tw.matmul(a[:, :0], b), tw.gemm(a[:, :0], b[:, :, :0])):
        assert empty.dtype == a.dtype
        assert empty.numel() == 0
    if letter == "hc":
        with pytest.raises(ArgumentError, match="lazily conjugated"):
            tw.matmul(a, b, out=out.conj())
        pairs = tw.matmul(torch.view_as_real(a), torch.view_as_real(b), dtype="hc")
        assert pairs.dtype == torch.float16
        right(torch.view_as_complex(pairs), host(a) @ host(b))


# ---- beside others


@pytest.mark.parametrize("letter", sorted(HALVES))
def test_a_comparison_leaves_out_who_has_no_product(new_home: Path, letter: str) -> None:
    row = compare.compare(Problem.parse(f"{letter}:8x8x8@50")[0], "cached", 1, 0.05)
    assert row.bound is None
    assert "numpy" not in row.timings
    assert "mkl" not in row.timings
    assert letter != "hc" or set(row.timings) == {"tilewright"}


# ---- by integers, as processors do that have no instructions for them


def converted(letter: str, numbers: np.ndarray, widens: bool) -> np.ndarray:
    """Numbers of 16 bits as float32 or the other way round, eight in a vector and three one by one."""
    writer = BitsIr(DTYPES[letter])
    for piece in (Piece(0, 8, 8), *(Piece(8 + at, 1, 1) for at in range(3))):
        value = writer.load(writer.at("%A", piece.start, held=not widens), piece, held=not widens)
        writer.store(value, writer.at("%C", piece.start, held=widens), piece, held=widens)
    device = processor.probe()
    kernel = llvm.load(llvm.compile(Source(module([(ENTRY, writer)]), ENTRY), device))
    run = llvm.PROTOTYPE(kernel.address)
    some = np.resize(numbers, (-(-numbers.size // 11), 11))
    got = np.zeros(some.shape, np.float32 if widens else np.uint16)
    for source, sink in zip(some, got, strict=True):
        run(source.ctypes.data, 0, sink.ctypes.data, 0, 0, 0, 1, 0)
    return got.ravel()[: numbers.size]


@pytest.mark.parametrize(("letter", "kind"), [("h", FLOAT16), ("b", BFLOAT16)])
def test_integers_convert_as_numpy_does(letter: str, kind: np.dtype[Any]) -> None:
    every = np.arange(1 << 16, dtype=np.uint16)
    wide = converted(letter, every, widens=True)
    assert np.array_equal(wide, every.view(kind).astype(np.float32), equal_nan=True)
    # Each number, what lies halfway to the next, and the neighbours of that in float32.
    between = wide.view(np.uint32).astype(np.int64)[:-1] + np.diff(wide.view(np.uint32).astype(np.int64)) // 2
    near = (between[:, None] + np.array([-1, 0, 1])).astype(np.uint32).view(np.float32).ravel()
    asked = np.concatenate([wide, near, np.float32([65519, 65520, 1e30, -1e-30, np.inf, -np.inf])])
    got = converted(letter, asked, widens=False).view(kind)
    with np.errstate(all="ignore"):
        want = asked.astype(kind)
    assert np.array_equal(got.astype(np.float32), want.astype(np.float32), equal_nan=True)
