"""The calls: a plain product goes straight to its kernel, and what PyTorch has to know of to an operator.

An operator's layers cost some microseconds each, for calls that need none of them. So each call looks first:
where nothing wants a gradient, nothing traces, maps or converts, it runs as ``tilewright.matmul`` does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from tilewright.torch import batching, gradients, operators, products
from tilewright.torch.listeners import plain, transformed
from tilewright.torch.switch import SERVING


def matmul(a: Any, b: Any, out: Any = None) -> Any:
    """``a @ b`` with the shapes of ``torch.matmul``, by Tilewright's kernels where these are faster.

    a: (..., m, k) or (k,). b: (..., k, n) or (k,), tensors of one type, in this process's memory or on one
    GPU. Returns (..., m, n), without the axis that a vector did not have, or ``out``, of that shape and type.
    Has gradients of every order, for complex types, too; ``torch.compile(fullgraph=True)``, ``torch.export``,
    ``torch.vmap``, ``torch.func`` and autocast see the operator ``tilewright::matmul``.

    Raises ``RuntimeError`` for shapes, types and devices that do not fit, and for ``out`` where a gradient is
    wanted, as PyTorch does; ``ArgumentError`` and ``DTypeError`` as ``tilewright.matmul`` does.
    """
    if torch.compiler.is_compiling():
        return _operator(a, b, out)
    if not plain(a, b, out):
        if out is None and transformed():
            return TransformedMatmul.apply(a, b)
        return _operator(a, b, out)
    if torch.is_grad_enabled() and (a.requires_grad or b.requires_grad):
        if out is not None:
            return _operator(a, b, out)  # Which says what PyTorch says of it.
        alike = a.dim() == b.dim() == 3 and a.shape[0] == b.shape[0]
        if SERVING.depth and alike and a.dtype is not torch.complex32:
            # Served below PyTorch's own gradient, which is written in C++.
            return torch.bmm(a, b)
        return Product.apply(a, b)
    return products.matmul(a, b, out)


def gemm(
    a: Any,
    b: Any,
    c: Any = None,
    *,
    alpha: complex = 1,
    beta: complex = 0,
    trans_a: str = "n",
    trans_b: str = "n",
    out: Any = None,
) -> Any:
    """alpha * op(a) @ op(b) + beta * c, for one product or a stack of them, as ``tilewright.gemm`` says.

    Tensors as for ``matmul``. With ``out`` the result is written there; ``c`` must then be ``out`` itself or
    None, and ``out`` is what beta multiplies. Gradients are those of a, b and c.

    Raises ``RuntimeError`` as ``matmul`` does, and for letters and scalars that do not fit.
    """
    if out is None:
        op = TransformedGemm.apply if not torch.compiler.is_compiling() and transformed() else operators.GEMM
        return op(a, b, c, alpha, beta, trans_a, trans_b)
    if c is not None and c is not out:
        raise RuntimeError("c is another tensor than out; accepted: c=out or c=None with out=")
    operators.GEMM_OUT(a, b, out, alpha, beta, trans_a, trans_b)
    return out


def gemm_grouped(
    a: Sequence[Any],
    b: Sequence[Any],
    c: Sequence[Any] | None = None,
    *,
    alpha: complex = 1,
    beta: complex = 0,
    trans_a: str = "n",
    trans_b: str = "n",
) -> list[Any]:
    """alpha * op(a[i]) @ op(b[i]) + beta * c[i] for lists of tensors of many sizes, as
    ``tilewright.gemm_grouped`` says. Returns a list of new tensors; gradients are those of all elements.

    Raises ``RuntimeError`` for lists of different length and for what ``matmul`` refuses.
    """
    if not a and not b:
        return []  # Of no tensor PyTorch cannot tell whose kernel to take.
    found: list[Any] = operators.GEMM_GROUPED(a, b, c or [], alpha, beta, trans_a, trans_b)
    return found


def _operator(a: Any, b: Any, out: Any) -> Any:
    """``matmul`` by its operators."""
    if out is None:
        return operators.MATMUL(a, b)
    operators.MATMUL_OUT(a, b, out)
    return out


# ---- functions with gradients


class Product(torch.autograd.Function):  # type: ignore[misc]  # PyTorch's types are not read
    """``matmul`` of plain tensors: less costly than the operator's own layer for gradients."""

    @staticmethod
    def forward(ctx: Any, a: Any, b: Any) -> Any:
        ctx.save_for_backward(a, b)
        return products.matmul(a, b)

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        a, b = ctx.saved_tensors
        if gradient.dim() > 1 and 0 in gradient.stride()[-2:]:
            # That of a sum is one number repeated, which each of the two products would have to copy.
            gradient = gradient.contiguous()
        alike = a.is_cuda and a.dim() == b.dim() == 3 and a.shape[0] == b.shape[0]
        if alike and not torch.is_grad_enabled() and plain(a, b, gradient):
            return _two_products(a, b, gradient, ctx.needs_input_grad)
        return gradients.of_matmul(ctx, gradient, matmul)


def _two_products(a: Any, b: Any, gradient: Any, needed: Any) -> tuple[Any, Any]:
    """The gradients of a batch of products, for which no view has to be made, nor anything summed."""
    of_a = products.gemm(gradient, b, None, 1, 0, "n", "c") if needed[0] else None
    of_b = products.gemm(a, gradient, None, 1, 0, "c", "n") if needed[1] else None
    return of_a, of_b


class TransformedMatmul(torch.autograd.Function):  # type: ignore[misc]  # the same
    """``matmul`` for the transforms of ``torch.func``: vmap, grad, jvp and what is made of them."""

    @staticmethod
    def forward(a: Any, b: Any) -> Any:
        return matmul(a, b)

    @staticmethod
    def vmap(info: Any, in_dims: Any, a: Any, b: Any) -> tuple[Any, int]:
        return batching.of_matmul(info, in_dims, a, b, matmul)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        gradients.saved_of_matmul(ctx, inputs, output)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        return gradients.of_matmul(ctx, gradient, matmul)

    @staticmethod
    def jvp(ctx: Any, of_a: Any, of_b: Any) -> Any:
        a, b = ctx.saved_tensors
        parts = [] if of_a is None else [matmul(of_a, b)]
        parts += [] if of_b is None else [matmul(a, of_b)]
        return parts[0] if len(parts) == 1 else parts[0] + parts[1]


class TransformedGemm(torch.autograd.Function):  # type: ignore[misc]  # the same
    """``gemm`` for the transforms of ``torch.func``."""

    @staticmethod
    def forward(a: Any, b: Any, c: Any, *options: Any) -> Any:
        return _gemm(a, b, c, *options)

    @staticmethod
    def vmap(info: Any, in_dims: Any, a: Any, b: Any, c: Any, *options: Any) -> tuple[Any, int | None]:
        return batching.of_gemm(info, in_dims, a, b, c, *options, multiply=_gemm)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        gradients.saved_of_gemm(ctx, inputs, output)

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        return gradients.of_gemm(ctx, gradient, _gemm)


def _gemm(
    a: Any, b: Any, c: Any, alpha: complex, beta: complex = 0, trans_a: str = "n", trans_b: str = "n"
) -> Any:
    return gemm(a, b, c, alpha=alpha, beta=beta, trans_a=trans_a, trans_b=trans_b)
