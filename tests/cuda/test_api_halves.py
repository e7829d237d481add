"""The public calls on 16-bit arrays of a GPU, by PyTorch and by CuPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tests.cuda.arrays import Xp, filled, op, wide
from tilewright.errors import ArgumentError, DTypeError
from tilewright.targets.cuda import devices

REASON = devices.missing()
pytestmark = [pytest.mark.cuda, pytest.mark.skipif(REASON is not None, reason=str(REASON))]


HALVES = {"float16": 2.0**-11, "bfloat16": 2.0**-8, "complex32": 2.0**-11}


@pytest.fixture
def torch() -> Any:
    module = pytest.importorskip("torch")
    if not module.cuda.is_available():
        pytest.skip("this PyTorch sees no GPU")
    matmul = module.backends.cuda.matmul
    names = ("allow_fp16_reduced_precision_reduction", "allow_bf16_reduced_precision_reduction")
    before = [getattr(matmul, name) for name in names]
    for name in names:
        setattr(matmul, name, False)
    yield module
    for name, value in zip(names, before, strict=True):
        setattr(matmul, name, value)


def half(torch: Any, shape: tuple[int, ...], name: str, seed: int) -> Any:
    values = filled(shape, "complex64" if name == "complex32" else "float32", seed)
    if name != "complex32":
        return torch.from_numpy(values).cuda().to(getattr(torch, name))
    if 0 in shape:
        return torch.zeros(shape, dtype=torch.complex32, device="cuda")
    parts = torch.from_numpy(np.stack([values.real, values.imag], -1)).cuda().half()
    return torch.view_as_complex(parts)


def host(torch: Any, x: Any) -> np.ndarray:
    """A tensor of 16-bit numbers in double precision."""
    if x.dtype != torch.complex32:
        return x.double().cpu().numpy()
    lazy = x.is_conj()
    parts = torch.view_as_real(x.conj() if lazy else x).double().cpu().numpy()
    return parts[..., 0] + (-1j if lazy else 1j) * parts[..., 1]


def rounded(torch: Any, got: Any, want: np.ndarray, name: str, k: int) -> None:
    """One rounding to the type, and what sums of k products of size 1 in float32 may be off by."""
    assert got.dtype == getattr(torch, name)
    np.testing.assert_allclose(
        host(torch, got), want, rtol=1.01 * HALVES[name], atol=2.0**-22 * max(k, 1) ** 1.5
    )


# Small batches, which ``tiny`` takes; one row, or nothing to add up; and what is too large for it.
HALF_SIZES = [(7, 5, 3, 4), (100, 16, 16, 16), (33, 17, 31, 9), (5, 1, 8, 1), (3, 4, 4, 0), (2, 100, 90, 80)]


@pytest.mark.filterwarnings("ignore:ComplexHalf")
@pytest.mark.parametrize("name", HALVES)
@pytest.mark.parametrize("trans", ["nn", "tn", "nt", "cc", "nc"])
@pytest.mark.parametrize("sizes", HALF_SIZES)
def test_halves_of_torch(torch: Any, name: str, trans: str, sizes: tuple[int, int, int, int]) -> None:
    (trans_a, trans_b), (batch, m, n, k) = trans, sizes
    a = half(torch, (batch, *((m, k) if trans_a == "n" else (k, m))), name, 1)
    b = half(torch, (batch, *((k, n) if trans_b == "n" else (n, k))), name, 2)
    c = half(torch, (batch, m, n), name, 3)
    scalars: list[tuple[complex, complex]] = [(1, 0), (1.5, 0.75), (-0.5, 1)]
    if name == "complex32":
        scalars.append((0.5 + 1j, 0.5j))
    for lazy in (False, True):
        x = a.conj() if lazy else a
        product = op(host(torch, x), trans_a) @ op(host(torch, b), trans_b)
        for alpha, beta in scalars:
            want = alpha * product + beta * host(torch, c)
            options: dict[str, Any] = {"alpha": alpha, "beta": beta, "trans_a": trans_a, "trans_b": trans_b}
            planned = tw.plan(x, b, c, **options)
            for run in (lambda *u, o=options, **v: tw.gemm(*u, **o, **v), planned):
                for _ in range(2):
                    rounded(torch, run(x, b, c), want, name, k)
                    out = c.clone()
                    assert run(x, b, out, out=out) is out
                    rounded(torch, out, want, name, k)
        if trans == "nn":
            for _ in range(2):
                rounded(torch, tw.matmul(x, b), product, name, k)
    nan = torch.view_as_complex(torch.full((*c.shape, 2), float("nan"), device="cuda").half())
    nan = nan if name == "complex32" else torch.full_like(c, float("nan"))
    tw.gemm(a, b, nan, out=nan, trans_a=trans_a, trans_b=trans_b)
    rounded(torch, nan, op(host(torch, a), trans_a) @ op(host(torch, b), trans_b), name, k)


@pytest.mark.filterwarnings("ignore:ComplexHalf")
def test_what_is_too_large_for_float16_becomes_infinite(torch: Any) -> None:
    a = torch.full((50, 8, 8), 300.0, device="cuda").half()
    b = torch.full((50, 8, 8), 200.0, device="cuda").half()
    for _ in range(2):
        assert torch.isposinf(tw.matmul(a, b)).all()
        assert torch.isneginf(tw.gemm(a, b, alpha=-1)).all()
    b[:, ::2] *= -1
    assert (tw.matmul(a, b) == 0).all(), "sums on the way have the room of float32"
    pairs = torch.stack([a, torch.ones_like(a)], -1)
    got = tw.matmul(pairs, pairs, dtype="hc")
    assert torch.isposinf(got[..., 0]).all()
    assert (got[..., 1] == 8 * 600).all()
    wide = a.bfloat16()
    assert torch.isfinite(tw.matmul(wide, wide)).all()


@pytest.mark.parametrize("sizes", HALF_SIZES)
def test_float16_pairs(xp: Xp, sizes: tuple[int, int, int, int]) -> None:
    batch, m, n, k = sizes

    def pairs(shape: tuple[int, ...], seed: int) -> tuple[Any, np.ndarray]:
        values = filled((*shape, 2), "float16", seed)
        return xp.put(values), values[..., 0].astype("f8") + 1j * values[..., 1].astype("f8")

    (x, a), (y, b), (z, c) = pairs((batch, m, k), 1), pairs((batch, k, n), 2), pairs((batch, m, n), 3)

    def same(got: Any, want: np.ndarray) -> None:
        found = xp.get(got)
        assert (found.shape, found.dtype) == ((*want.shape, 2), np.float16)
        wide = found[..., 0].astype("f8") + 1j * found[..., 1].astype("f8")
        np.testing.assert_allclose(wide, want, rtol=1.01 * 2.0**-11, atol=2.0**-21 * max(k, 1) ** 1.5)

    planned = tw.plan(x, y, z, alpha=1j, beta=2, dtype="hc")
    for _ in range(2):
        same(tw.matmul(x, y, dtype="hc"), a @ b)
        same(tw.gemm(x, y, z, alpha=1j, beta=2, dtype="hc"), 1j * (a @ b) + 2 * c)
        same(planned(x, y, z), 1j * (a @ b) + 2 * c)
        same(tw.gemm(x, x, trans_a="c", dtype="hc"), op(a, "c") @ a)
        out = xp.full((batch, m, n, 2), float("nan"), "float16")
        assert tw.matmul(x, y, out=out, dtype="hc") is out
        same(out, a @ b)
        out = xp.put(xp.get(z).copy())
        assert tw.gemm(x, y, out=out, beta=-1, dtype="hc") is out
        same(out, a @ b - c)
    np.testing.assert_array_equal(xp.get(z)[..., 0], c.real.astype("f2"))
    # Parts that lie apart, and bases that are aligned to a part alone.
    apart = xp.put(np.moveaxis(xp.get(x), -1, 0).copy())
    apart = apart.movedim(0, -1) if xp.name == "torch" else xp.xp.moveaxis(apart, 0, -1)
    same(tw.matmul(apart, y, dtype="hc"), a @ b)
    if k:
        for skip in (1, 2):
            same(tw.matmul(xp.skip(x, skip), y, dtype="hc"), a @ b)
    with pytest.raises(ArgumentError, match="accepted: 'hc'"):
        tw.matmul(x, y, dtype="h")
    with pytest.raises(DTypeError, match="accepted with dtype='hc': float16"):
        tw.matmul(xp.full((2, 2, 2), 1, "float32"), y, dtype="hc")


@pytest.mark.parametrize("sizes", HALF_SIZES)
def test_float16_of_both(xp: Xp, sizes: tuple[int, int, int, int]) -> None:
    batch, m, n, k = sizes
    a, b = filled((batch, m, k), "float16", 1), filled((batch, k, n), "float16", 2)
    c = filled((batch, m, n), "float16", 3)
    x, y, z = xp.put(a), xp.put(b), xp.put(c)
    atol = 2.0**-9 * max(k, 1) ** 0.5  # Where the library multiplies, it may add up in steps of its own.
    for _ in range(2):
        np.testing.assert_allclose(xp.get(tw.matmul(x, y)), wide(a) @ wide(b), rtol=2.0**-9, atol=atol)
        got = xp.get(tw.gemm(x, y, z, alpha=2, beta=0.5))
        np.testing.assert_allclose(got, 2 * wide(a) @ wide(b) + 0.5 * wide(c), rtol=2.0**-9, atol=2 * atol)


def test_bfloat16_of_cupy() -> None:
    cupy, ml_dtypes = pytest.importorskip("cupy"), pytest.importorskip("ml_dtypes")
    try:
        x = cupy.asarray(filled((5, 8, 8), "float32", 1)).astype(ml_dtypes.bfloat16)
    except Exception as error:
        pytest.skip(f"this CuPy has no bfloat16: {error}")
    a = x.astype("float64").get()
    for _ in range(2):
        got = tw.matmul(x, x)
        assert got.dtype == x.dtype
        np.testing.assert_allclose(got.astype("float64").get(), a @ a, rtol=1.01 * 2.0**-8, atol=1e-5)


@pytest.mark.filterwarnings("ignore:ComplexHalf")
@pytest.mark.parametrize("name", HALVES)
def test_halves_in_a_graph(torch: Any, name: str) -> None:
    a, b = (half(torch, (64, 8, 8), name, seed) for seed in range(2))
    out = half(torch, (64, 8, 8), name, 3)
    made = tw.plan(a, b, out=out)
    if made.plan.origin == "vendor":
        pytest.skip("no stencil takes it")
    for _ in range(2):
        made(a, b, out=out)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        made(a, b, out=out)
    a.copy_(half(torch, (64, 8, 8), name, 5))
    graph.replay()
    rounded(torch, out, host(torch, a) @ host(torch, b), name, 8)
