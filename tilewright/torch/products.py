"""Products of tensors without gradients: the shortest way from tensors to a kernel, on either kind of device.

What these functions are handed is plain: tensors with memory, in this process or on a GPU, whose gradients
are somebody else's matter. The operators (``operators``) run them below PyTorch's own layers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilewright.arrays import torch_
from tilewright.calls import list_forms, product
from tilewright.calls.spec import Options
from tilewright.runtime.call_cache import DEVICE, FAST
from tilewright.torch import shapes

SHARED = {"torch.float32", "torch.float64", "torch.complex64", "torch.complex128"}
"""Types that NumPy has, too: tensors of these in this process's memory are arrays at once."""


def matmul(a: Any, b: Any, out: Any = None) -> Any:
    """``a @ b`` of tensors, (..., m, k) by (..., k, n), with the shapes of ``torch.matmul``, in ``out`` where
    that is given. Raises ``RuntimeError`` for what does not fit, else as ``tilewright.matmul`` does."""
    a, b = detached(a), detached(b)
    calls = DEVICE.get(type(a))
    if calls is not None:
        result = calls(calls.memo, "matmul", a, b, out)
        if result is not NotImplemented:
            return result
    if out is None and a.is_cpu and b.is_cpu:
        result = _on_host(a, b)
        if result is not NotImplemented:
            return result
    # What was multiplied before fitted; only here may something be wrong.
    shapes.of_matmul(a, b)
    return product.matmul(a, b, out)


def gemm(
    a: Any, b: Any, c: Any, alpha: complex, beta: complex, trans_a: str, trans_b: str, out: Any = None
) -> Any:
    """alpha op(a) op(b) + beta c of tensors, as ``tilewright.gemm`` says. Raises as ``matmul`` does."""
    a, b = detached(a), detached(b)
    c = None if c is None else detached(c)
    calls = DEVICE.get(type(a))
    if calls is not None:
        result = calls.gemm(calls.memo, (alpha, beta, trans_a, trans_b), a, b, c, out, beta)
        if result is not NotImplemented:
            return result
    shapes.of_gemm(a, b, out if c is None else c, beta, trans_a, trans_b)
    return product.gemm(Options.of(alpha, beta, trans_a, trans_b), a, b, c, out)


def grouped(
    a: Sequence[Any],
    b: Sequence[Any],
    c: Sequence[Any],
    out: Sequence[Any],
    scalars: tuple[complex, complex],
    trans: tuple[str, str],
) -> None:
    """out[i] = alpha op(a[i]) op(b[i]) + beta c[i] for lists of tensors, as ``tilewright.gemm_grouped``;
    ``c`` is empty where nothing is added."""
    lists = [[detached(x) for x in some] for some in (a, b, c)]
    list_forms.gemm_grouped(
        *(lists[0], lists[1], lists[2] or None),
        alpha=scalars[0],
        beta=scalars[1],
        trans_a=trans[0],
        trans_b=trans[1],
        out=out,
    )


def detached(tensor: Any) -> Any:
    """The tensor without its history: what is below autograd has none, whatever the tensor says of itself."""
    return tensor.detach() if tensor.requires_grad else tensor


def _on_host(a: Any, b: Any) -> Any:
    """The product of tensors that are NumPy's arrays, too; ``NotImplemented`` for a call not made before."""
    if a.is_conj() or b.is_conj() or a.is_neg() or b.is_neg() or str(a.dtype) not in SHARED:
        return NotImplemented
    if a.dtype is not b.dtype:
        return NotImplemented
    x, y = a.numpy(), b.numpy()
    found = FAST.get((x.shape, x.strides, x.dtype.char, y.shape, y.strides))
    if found is None or not found[1]:
        return NotImplemented
    function, shape, dtype, make = found
    result = function(x, y, make(shape, dtype))
    return NotImplemented if result is NotImplemented else torch_.tensor_of(result)
