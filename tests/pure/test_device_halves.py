"""Calls on 16-bit arrays of a GPU, without one."""

from __future__ import annotations

import ctypes
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tests.device_arrays import Bare, Capsule, only_remembered
from tests.pretended import Log, Pretended, tensor
from tests.products import filled, op
from tilewright.arrays import cupy_, dlpack
from tilewright.dtypes import BFLOAT16, COMPLEX_HALF, narrowed, paired, unpaired, widened
from tilewright.errors import ArgumentError, DTypeError

pytestmark = pytest.mark.pure


HALVES = ["float16", "bfloat16", "complex32"]


def host(x: Any) -> np.ndarray:
    """A tensor of 16-bit numbers as they are computed with."""
    torch: Any = sys.modules["torch"]
    wide = torch.complex64 if x.dtype == torch.complex32 else torch.float32
    return x.detach().to(wide).resolve_conj().numpy()


def half(torch: Any, shape: tuple[int, ...], name: str, seed: int) -> Any:
    values = tensor(torch, shape, "complex64" if name == "complex32" else "float32", seed)
    return values.to(getattr(torch, name))


def rounded(got: Any, want: np.ndarray, name: str) -> None:
    """One rounding to the type, and a little for the sums."""
    assert str(got.dtype) == f"torch.{name}"
    u = 2.0**-8 if name == "bfloat16" else 2.0**-11
    np.testing.assert_allclose(host(got), want, rtol=1.5 * u, atol=1e-5)


@pytest.mark.filterwarnings("ignore:ComplexHalf")
@pytest.mark.parametrize("accepted", [True, False])
@pytest.mark.parametrize("name", HALVES)
@pytest.mark.parametrize("turn", range(2))
def test_halves(gpu: Log, torch: Any, monkeypatch: Any, name: str, accepted: bool, turn: int) -> None:
    """By a kernel where a stencil accepts them, else by the library, which has no product of complex32."""
    # Half of the transpositions, the other half of the next type and the other way.
    trans_a, trans_b = ("nn", "tn", "cc", "nc")[2 * turn + (HALVES.index(name) + accepted) % 2]
    if accepted:
        monkeypatch.setattr(Pretended, "letters", ("h", "b", "hc"))
    m, n, k = 5, 3, 7
    a = half(torch, (2, *((m, k) if trans_a == "n" else (k, m))), name, 1)
    b = half(torch, (2, *((k, n) if trans_b == "n" else (n, k))), name, 2)
    c = half(torch, (2, m, n), name, 3)
    is_complex = name == "complex32"
    for lazy in (False, True):
        x = a.conj() if lazy else a
        for alpha, beta in [(1, 0), (2.5, 1), (-1, 0.5)] + ([(1j, 2 - 1j)] if is_complex else []):
            want = alpha * np.matmul(op(host(x), trans_a), op(host(b), trans_b)) + beta * host(c)
            options: dict[str, Any] = {"alpha": alpha, "beta": beta, "trans_a": trans_a, "trans_b": trans_b}
            made = tw.plan(x, b, c, **options)
            assert (made.plan.origin == "vendor") != accepted
            for run in (lambda *u, o=options, **v: tw.gemm(*u, **o, **v), made):
                for _ in range(2):
                    rounded(run(x, b, c), want, name)
                    out = c.clone()
                    assert run(x, b, out, out=out) is out
                    rounded(out, want, name)
    assert bool(gpu.starts) == accepted
    if accepted:
        letter = {"float16": "h", "bfloat16": "b", "complex32": "hc"}[name]
        assert {start.problem.dtype.letter for start in gpu.starts} == {letter}


@pytest.mark.filterwarnings("ignore:ComplexHalf")
@pytest.mark.parametrize("accepted", [True, False])
def test_pairs_of_tensors(gpu: Log, torch: Any, monkeypatch: Any, accepted: bool) -> None:
    if accepted:
        monkeypatch.setattr(Pretended, "letters", ("h", "hc"))
    a, b, c = (
        half(torch, (*shape, 2), "float16", seed) for seed, shape in enumerate(((3, 4, 5), (5, 6), (3, 4, 6)))
    )
    x, y, z = (torch.view_as_complex(t.float()).numpy() for t in (a, b, c))

    def same(got: Any, want: np.ndarray) -> None:
        assert got.dtype == torch.float16
        np.testing.assert_allclose(torch.view_as_complex(got.float()).numpy(), want, rtol=2**-9, atol=1e-3)

    made = tw.plan(a, b, c, alpha=1j, beta=2, dtype="hc")
    for turn in range(2):
        with monkeypatch.context() as patch:
            if turn and accepted:
                only_remembered(patch)
            same(tw.matmul(a, b, dtype="hc"), x @ y)
            out = torch.full_like(c, float("nan"))
            assert tw.matmul(a, b, out=out, dtype="hc") is out
            same(out, x @ y)
            same(tw.gemm(a, b, c, alpha=1j, beta=2, dtype="hc"), 1j * (x @ y) + 2 * z)
            same(tw.gemm(a, a, trans_b="c", dtype="hc"), x @ x.conj().swapaxes(1, 2))
            same(made(a, b, c), 1j * (x @ y) + 2 * z)
            out = c.clone()
            assert made(a, b, out=out) is out
            same(out, 1j * (x @ y) + 2 * z)
    assert bool(gpu.starts) == accepted
    # The same arrays without the word are another product: of stacks of (k, 2) matrices.
    plain = tw.matmul(a.mT, a)
    assert plain.shape == (3, 4, 2, 2)
    rounded(plain, np.matmul(host(a).swapaxes(-1, -2), host(a)), "float16")
    # Parts that lie apart are copied, but not written to; a vector has two axes.
    apart = a.movedim(-1, 0).contiguous().movedim(0, -1)
    for _ in range(2):
        same(tw.matmul(apart, b, dtype="hc"), x @ y)
        same(tw.matmul(a[0, 0], b, dtype="hc"), (x @ y)[0, 0])
    with pytest.raises(ArgumentError, match="side by side"):
        tw.matmul(a, b, out=c.movedim(-1, 0).contiguous().movedim(0, -1), dtype="hc")
    with pytest.raises(DTypeError, match="a is float32; accepted with dtype='hc': float16"):
        tw.matmul(a.float(), b, dtype="hc")
    for word in ("h", "complex32", torch.float16, 0):
        for run in (tw.matmul, tw.gemm, tw.plan):
            with pytest.raises(ArgumentError, match="accepted: 'hc'"):
                run(a, b, dtype=word)
    odd = half(torch, (3 * 4 * 5 * 2 + 1,), "float16", 5)[1:].view(3, 4, 5, 2)
    for _ in range(2):
        same(tw.matmul(odd, b, dtype="hc"), torch.view_as_complex(odd.float()).numpy() @ y)
    out = half(torch, (3 * 4 * 6 * 2 + 1,), "float16", 5)[1:].view(3, 4, 6, 2)
    with pytest.raises(ArgumentError, match="on a GPU at multiples of 4 bytes"):
        tw.matmul(a, b, out=out, dtype="hc")


@pytest.mark.filterwarnings("ignore:ComplexHalf")
def test_complex_half_without_terms(gpu: Log, torch: Any) -> None:
    none = torch.zeros(2, 3, 0, dtype=torch.complex32)
    assert (host(tw.matmul(none, none.mT)) == 0).all()
    c = half(torch, (2, 3, 3), "complex32", 1)
    want = 1j * host(c)
    tw.gemm(none, none.mT, out=c, beta=1j)
    rounded(c, want, "complex32")
    with pytest.raises(DTypeError, match="complex half alone"):
        tw.matmul(c, c.to(torch.complex64))


@pytest.mark.parametrize("dtype", [np.dtype("f2"), BFLOAT16, COMPLEX_HALF])
def test_halves_of_no_library(gpu: Log, monkeypatch: Any, dtype: Any) -> None:
    """Float16 by the interface, bfloat16 and complex half by DLPack, and pairs by either."""
    monkeypatch.setattr(Pretended, "letters", ("h", "b", "hc"))
    kind = "c8" if dtype == COMPLEX_HALF else "f4"
    a, b = (narrowed(filled((4, 4), kind, seed), dtype) for seed in range(2))
    out = np.zeros((4, 4), dtype)
    want = narrowed(widened(a) @ widened(b), dtype)
    codes = {"float16": (2, 16), "bfloat16": (4, 16)}
    code, bits = codes.get(dtype.name, (5, 32))

    class Other(Capsule):
        """Integers to NumPy, whose capsule is told what they are."""

        def __dlpack__(self, stream: int | None = None) -> Any:
            capsule = self.array.view(f"i{dtype.itemsize}").__dlpack__()
            pointer = ctypes.pythonapi.PyCapsule_GetPointer
            pointer.restype, pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
            told = dlpack._Tensor.from_address(pointer(capsule, b"dltensor"))
            told.code, told.bits = code, bits
            return capsule

    tw.matmul(Other(a), Other(b), out=Other(out))
    assert (out == want).all()
    assert gpu.last.problem.dtype.numpy == dtype
    if dtype == COMPLEX_HALF:
        pairs = np.zeros((4, 4, 2), "f2")
        tw.matmul(Bare(unpaired(a)), Bare(unpaired(b)), out=Bare(pairs), dtype="hc")
        assert (paired(pairs) == want).all()


class FakeCupy:
    """As much of CuPy as complex half and bfloat16 touch, on NumPy's memory."""

    @staticmethod
    def library() -> cupy_.Cupy:
        return cupy_.Cupy(SimpleNamespace(matmul=np.matmul, empty=np.empty))


def test_what_cupy_is_given_for_types_that_it_lacks() -> None:
    found = FakeCupy.library()
    pairs = filled((3, 4, 2), "f2")
    wide = found.widened(pairs[:, ::2])
    assert (wide == widened(paired(pairs[:, ::2].copy()))).all()
    target = found.empty((3, 2), COMPLEX_HALF, 0)
    assert (target.shape, target.dtype) == ((3, 2, 2), np.float16)
    found.narrow(target, wide)
    assert (target == pairs[:, ::2]).all()
    assert (found.in_kind(target) == paired(target)).all()
    a = filled((3, 4, 4), "f4").astype(BFLOAT16)
    want = np.matmul(a.astype("f4"), a.astype("f4")).astype(BFLOAT16)
    assert (found.matmul(a, a) == want).all()
    out = np.zeros_like(a)
    assert found.matmul(a, a, out) is out
    assert (out == want).all()
