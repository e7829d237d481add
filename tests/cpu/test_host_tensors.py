"""Calls on PyTorch's tensors in this process's memory: planned once, and then looked up like NumPy's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tilewright as tw

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.cpu

Calls = Callable[[Callable[[], object]], int]
FEW = 20
"""Python calls of a call that is looked up; one that is planned goes through hundreds."""
TYPES = ("float32", "float64", "complex64", "complex128", "float16", "bfloat16")
WIDE = {"complex64": "complex128", "complex128": "complex128"}


def made(seed: int, *shape: int, kind: str) -> Any:
    torch.manual_seed(seed)
    wide = torch.randn(*shape, dtype=getattr(torch, WIDE.get(kind, "float64")))
    return wide.to(getattr(torch, kind))


def wide(tensor: Any) -> Any:
    return tensor.to(torch.complex128 if tensor.is_complex() else torch.float64, copy=True)


def close(got: Any, want: Any) -> None:
    few = got.dtype in (torch.float16, torch.bfloat16)
    loose = got.dtype in (torch.float32, torch.complex64)
    tolerance = 4e-2 if few else 1e-4 if loose else 1e-11
    assert torch.allclose(wide(got), want, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(
    ("kind", "layout"),
    [
        *((kind, "rows") for kind in TYPES),
        *((kind, layout) for kind in ("float64", "bfloat16") for layout in ("columns", "last", "steps")),
    ],
)
def test_what_is_looked_up_is_right(kind: str, layout: str, calls_of: Calls) -> None:
    for seed in range(3):
        a = made(seed, 30, 4, 3, kind=kind)
        if layout == "columns":
            a = a.mT.contiguous().mT
        elif layout == "last":
            a = a.permute(1, 2, 0).contiguous().permute(2, 0, 1)
        elif layout == "steps":
            a = a.repeat_interleave(2, -1)[..., ::2]
        b = made(seed + 9, 30, 3, 5, kind=kind)
        want = wide(a) @ wide(b)
        result = tw.matmul(a, b)
        assert result.dtype is a.dtype
        close(result, want)
        out = torch.zeros_like(result)
        assert tw.matmul(a, b, out=out) is out
        close(out, want)
        before = wide(out)
        assert tw.gemm(a, b, out=out, alpha=2, beta=0.5) is out
        close(out, 2 * want + before / 2)
        c, before = out.clone(), wide(out)
        close(tw.gemm(a, b, c, alpha=2, beta=0.5), 2 * want + before / 2)
        assert torch.equal(c, out)
        assert tw.gemm(a, b, c, alpha=2, beta=0.5, out=c) is c
        close(c, 2 * want + before / 2)
    for call in (
        lambda: tw.matmul(a, b),
        lambda: tw.matmul(a, b, out=out),
        lambda: tw.gemm(a, b, out=out, alpha=2, beta=0.5),
        lambda: tw.gemm(a, b, c, alpha=2, beta=0.5),
    ):
        assert calls_of(call) <= FEW


def test_gradients_and_conjugates_are_seen() -> None:
    a, b = made(1, 30, 4, 4, kind="complex64"), made(2, 30, 4, 4, kind="complex64")
    for _ in range(2):
        close(tw.matmul(a, b), wide(a) @ wide(b))
        # The same memory, of which the call says that it is conjugated.
        close(tw.matmul(a.conj(), b), wide(a).conj() @ wide(b))
    wanting = a.clone().requires_grad_()
    assert tw.matmul(wanting, b).requires_grad
    with pytest.raises(tw.DTypeError, match="requires a gradient"):
        tw.matmul(wanting, b, out=torch.empty_like(a))
    with torch.no_grad():
        assert not tw.matmul(wanting, b).requires_grad
        close(tw.matmul(wanting, b, out=torch.empty_like(a)), wide(a) @ wide(b))


def test_what_overlaps_arrays_beside_tensors_and_transforms_go_the_long_way() -> None:
    a = made(1, 30, 4, 4, kind="float64")
    want = a @ a
    for _ in range(2):
        close(tw.matmul(a, a.numpy()), want)
        close(torch.from_numpy(tw.matmul(a.numpy(), a)), want)
        into = a.clone()
        assert tw.matmul(into, into, out=into) is into
        close(into, want)
        close(torch.func.vmap(lambda x, y: tw.matmul(x, y))(a, a), want)


AXES = [(0, 1)] * 3
FORMS: dict[str, Callable[..., Any]] = {
    "axes": lambda a, b, **o: tw.matmul(a, b, axes=AXES, **o),
    "einsum": lambda a, b, **o: tw.einsum("abx,bcx->acx", a, b, **o),
    "einsum of three": lambda a, b, **o: tw.einsum("abx,bcx,cdx->adx", a, b, b.transpose(0, 1), **o),
    "chain": lambda a, b, **o: tw.chain(a, b, **o),
    "chain of three": lambda a, b, **o: tw.chain(a, b, b.mT, **o),
    "added": lambda a, b, **o: tw.chain(a, b, b.mT, add=a[0], **o),
}


def wanted(form: str, a: Any, b: Any) -> Any:
    a, b = wide(a), wide(b)
    if form == "axes":
        return torch.einsum("abx,bcx->acx", a, b)
    if form.startswith("einsum"):
        found = torch.einsum("abx,bcx->acx", a, b)
        return found if form == "einsum" else torch.einsum("acx,dcx->adx", found, b)
    found = a @ b if form == "chain" else a @ b @ b.mT
    return found + a[0] if form == "added" else found


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("form", FORMS)
def test_axes_contractions_and_chains_are_looked_up(form: str, kind: str, calls_of: Calls) -> None:
    call, shapes = FORMS[form], ((4, 3, 6), (3, 5, 6))
    if form not in ("axes", "einsum", "einsum of three"):
        shapes = ((6, 4, 3), (6, 3, 5))
    for seed in range(3):
        a, b = (made(seed + at, *shape, kind=kind) for at, shape in enumerate(shapes))
        want = wanted(form, a, b)
        result = call(a, b)
        assert type(result) is torch.Tensor
        assert result.dtype is a.dtype
        close(result, want)
        out = torch.zeros_like(result)
        assert call(a, b, out=out) is out
        close(out, want)
    # Steps between products, and copies of 16-bit types, are some calls more; planning is hundreds.
    few = FEW if form in ("axes", "chain") else 3 * FEW
    assert calls_of(lambda: call(a, b)) <= few
    assert calls_of(lambda: call(a, b, out=out)) <= few
    # Other memory, strides and shapes after it.
    for other in (a.transpose(0, 1).contiguous().transpose(0, 1), a.repeat_interleave(2, -1)[..., ::2]):
        close(call(other, b), wanted(form, other, b))
        close(call(other, b, out=out), wanted(form, other, b))


@pytest.mark.parametrize("form", FORMS)
def test_what_is_more_than_memory_is_seen_by_axes_contractions_and_chains(form: str) -> None:
    call = FORMS[form]
    a, b = (made(seed, 4, 4, 4, kind="complex128") for seed in range(2))
    want = wanted(form, a, b)
    for _ in range(3):
        close(call(a, b), want)
        close(call(a.conj(), b), wanted(form, a.conj(), b))
        # In place, and into another operand.
        for into in range(2):
            arrays = [a.clone(), b.clone()]
            try:
                assert call(*arrays, out=arrays[into]) is arrays[into]
            except tw.ArgumentError as error:
                assert "memory" in str(error)  # noqa: PT017
            else:
                close(arrays[into], want)
    wanting = a.clone().requires_grad_()
    with torch.no_grad():
        assert not call(wanting, b).requires_grad
        close(call(wanting, b), want)
    with pytest.raises(tw.DTypeError, match="requires a gradient"):
        call(wanting, b, out=torch.empty_like(a))
    with pytest.raises(tw.ArgumentError, match="conjugated"):
        call(a, b, out=torch.empty_like(a).conj())
    if not form.startswith(("chain", "added")):
        assert call(wanting, b).requires_grad
        close(torch.func.vmap(lambda x: call(x, b))(a[None])[0], want)

    # A class of tensors that may mean something else by everything.
    named: Any = type("Named", (torch.Tensor,), {})
    for _ in range(2):
        close(torch.as_tensor(call(a.as_subclass(named), b)), want)


@pytest.mark.parametrize("form", FORMS)
def test_what_does_not_fit_is_refused_after_calls_that_did(form: str) -> None:
    call = FORMS[form]
    a, b = (made(seed, 4, 4, 4, kind="float64") for seed in range(2))
    out = torch.empty_like(a)
    for _ in range(3):
        call(a, b, out=out)
    for wrong in ((a[:, :3], b[:2], None), (a, b, torch.empty(3, 4, 4, dtype=torch.float64))):
        with pytest.raises(tw.ArgumentError):
            call(*wrong[:2], out=wrong[2])
    odd = torch.frombuffer(bytearray(8 * 64 + 4), dtype=torch.float32, offset=4)[:128].view(torch.float64)
    odd = odd.reshape(4, 4, 4).copy_(a)
    for _ in range(2):
        close(call(odd, b), wanted(form, a, b))
        close(call(odd, b, out=out), wanted(form, a, b))
