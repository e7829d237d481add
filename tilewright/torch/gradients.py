"""Gradients of the products, which are products: each is a call of the same operators, with gradients, too.

Of C = alpha op(A) op(B) + beta C0 and the gradient G of C, PyTorch's convention for complex types has
d op(A) = conj(alpha) G op(B)^H, d op(B) = conj(alpha) op(A)^H G and d C0 = conj(beta) G; what was broadcast
is summed over the axes that it was broadcast along.
"""

from __future__ import annotations

from typing import Any

import torch

from tilewright.torch import shapes
from tilewright.torch.shapes import matrix, op, summed

OPERATORS: Any = torch.ops.tilewright


def saved_of_matmul(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.save_for_backward(*inputs)


def of_matmul(ctx: Any, gradient: Any, multiply: Any = None) -> tuple[Any, Any]:
    """The gradients of a and b, by products that ``multiply`` makes, the operator where it is None."""
    multiply = OPERATORS.matmul.default if multiply is None else multiply
    a, b = ctx.saved_tensors
    needed = ctx.needs_input_grad
    x, y, g = matrix(a, True), matrix(b, False), gradient
    if a.dim() == 1:
        g = g.unsqueeze(-2 if b.dim() > 1 else -1)
    if b.dim() == 1:
        g = g.unsqueeze(-1)
    of_a = of_b = None
    if needed[0]:
        of_a = summed(multiply(g, y.mH), x.shape).reshape(a.shape)
    if needed[1]:
        if b.dim() <= 2 and x.dim() > 2 and x.is_contiguous():
            # Its gradient is one product along all rows of the batch, of which nothing has to be summed.
            of_b = multiply(x.reshape(-1, x.shape[-1]).mH, g.reshape(-1, g.shape[-1])).reshape(b.shape)
        else:
            of_b = summed(multiply(x.mH, g), y.shape).reshape(b.shape)
    return of_a, of_b


def saved_of_gemm(ctx: Any, inputs: Any, output: Any) -> None:
    a, b, c, alpha, beta, trans_a, trans_b = inputs
    ctx.save_for_backward(a, b)
    ctx.scalars, ctx.trans = (alpha, beta), (trans_a, trans_b)
    ctx.shape = None if c is None else c.shape


def of_gemm(ctx: Any, gradient: Any, multiply: Any = None) -> tuple[Any, ...]:
    """The gradients of a, b and c, by products that ``multiply`` makes, and None for what is no tensor."""
    multiply = OPERATORS.gemm.default if multiply is None else multiply
    alpha, beta = ctx.scalars
    a, b = ctx.saved_tensors
    needed = ctx.needs_input_grad
    of_c = None
    if ctx.shape is not None and needed[2]:
        scaled = gradient * beta.conjugate() if beta != 0 else torch.zeros_like(gradient)
        of_c = summed(scaled, ctx.shape)
    conjugate = alpha.conjugate()
    x, y = op(a, ctx.trans[0]), op(b, ctx.trans[1])
    of_a = of_b = None
    if needed[0]:
        of_a = op(summed(multiply(gradient, y.mH, None, conjugate), x.shape), ctx.trans[0])
    if needed[1]:
        of_b = op(summed(multiply(x.mH, gradient, None, conjugate), y.shape), ctx.trans[1])
    return of_a, of_b, of_c, None, None, None, None


def saved_of_grouped(ctx: Any, inputs: Any, output: Any) -> None:
    a, b, c, alpha, beta, trans_a, trans_b = inputs
    ctx.save_for_backward(*a, *b)
    ctx.count, ctx.scalars, ctx.trans = len(a), (alpha, beta), (trans_a, trans_b)
    ctx.shapes = [x.shape for x in c]


def of_grouped(ctx: Any, gradient: Any) -> tuple[Any, ...]:
    """The gradients of the lists a, b and c, and None for what is no tensor: two lists of products."""
    alpha, beta = ctx.scalars
    saved = ctx.saved_tensors
    a = [shapes.op(x, ctx.trans[0]) for x in saved[: ctx.count]]
    b = [shapes.op(x, ctx.trans[1]) for x in saved[ctx.count :]]
    g, conjugate = list(gradient), alpha.conjugate()
    of_a = OPERATORS.gemm_grouped(g, [y.mH for y in b], [], conjugate)
    of_b = OPERATORS.gemm_grouped([x.mH for x in a], g, [], conjugate)
    of_c = [
        summed(each * beta.conjugate() if beta != 0 else torch.zeros_like(each), shape)
        for each, shape in zip(g, ctx.shapes, strict=False)
    ]
    return (
        [op(summed(each, x.shape), ctx.trans[0]) for each, x in zip(of_a, a, strict=True)],
        [op(summed(each, y.shape), ctx.trans[1]) for each, y in zip(of_b, b, strict=True)],
        of_c,
        # PyTorch counts the arguments that were given, without those that were left out.
        *[None] * (len(ctx.needs_input_grad) - 3),
    )
