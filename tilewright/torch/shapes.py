"""What operators return, from shapes and types alone: sizes may be symbols of PyTorch's tracer."""

from __future__ import annotations

from typing import Any

import torch


def of_matmul(a: Any, b: Any) -> tuple[Any, ...]:
    """The shape of ``a @ b``. Raises ``RuntimeError``, as PyTorch does, for what does not fit."""
    alike(a, b)
    if a.dim() == 0 or b.dim() == 0:
        raise RuntimeError(f"a has {a.dim()} axes and b {b.dim()}; accepted: one or more in each")
    inner = b.shape[0] if b.dim() == 1 else b.shape[-2]
    torch._check(
        a.shape[-1] == inner,
        lambda: f"a has shape {tuple(a.shape)} and b {tuple(b.shape)}; accepted: (..., m, k) and (..., k, n)",
    )
    batch = torch.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    rows = a.shape[-2:-1] if a.dim() > 1 else ()
    columns = b.shape[-1:] if b.dim() > 1 else ()
    return (*batch, *rows, *columns)


def of_gemm(a: Any, b: Any, c: Any, beta: complex, trans_a: str, trans_b: str) -> tuple[Any, ...]:
    """The shape of alpha op(a) op(b) + beta c. Raises ``RuntimeError`` for what does not fit."""
    for name, letter in (("trans_a", trans_a), ("trans_b", trans_b)):
        if letter not in ("n", "t", "c"):
            raise RuntimeError(f"{name}={letter!r}; accepted: n, t, c")
    if a.dim() < 2 or b.dim() < 2:
        raise RuntimeError(f"a has {a.dim()} axes and b {b.dim()}; accepted: two or more in each")
    shape = of_matmul(op(a, trans_a), op(b, trans_b))
    if beta == 0:
        return shape
    if c is None:
        raise RuntimeError(f"beta={beta} without c; accepted: c")
    alike(a, c)
    # As ``tilewright.gemm`` has it, c may lend the result leading axes.
    return (*torch.broadcast_shapes(shape[:-2], c.shape[:-2]), *shape[-2:])


def op(x: Any, letter: str) -> Any:
    """op(x) over the last two axes: x, its transpose or its conjugate transpose; never a copy."""
    return x if letter == "n" else x.mT if letter == "t" else x.mH


def alike(a: Any, b: Any) -> None:
    """Raises ``RuntimeError`` for tensors of different types or on different devices."""
    if a.dtype != b.dtype:
        raise RuntimeError(f"expected tensors of the same dtype, but got {a.dtype} and {b.dtype}")
    if a.device != b.device:
        raise RuntimeError(f"expected tensors on the same device, but got {a.device} and {b.device}")


def matrix(x: Any, first: bool) -> Any:
    """A vector as the matrix that ``matmul`` takes it for: a row where it is the ``first`` operand."""
    if x.dim() > 1:
        return x
    return x.unsqueeze(0) if first else x.unsqueeze(1)


def summed(x: Any, shape: Any) -> Any:
    """The sum of ``x`` along the axes that a tensor of this shape was broadcast along."""
    if x.shape == shape:
        return x
    if x.dtype is torch.complex32:
        # It has no sums of its own; those of its parts are exact in the same way.
        return torch.view_as_complex(
            torch.view_as_real(x.resolve_conj()).sum_to_size((*shape, 2)).contiguous()
        )
    return x.sum_to_size(shape)
