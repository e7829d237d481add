"""Rules of ``torch.vmap``: a batch of products is a product of batches, one call of the operator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from tilewright.torch.shapes import matrix

OPERATORS: Any = torch.ops.tilewright


def leading(x: Any, at: int | None, rank: int) -> Any:
    """A tensor with its mapped axis first and, behind it, as many axes as the widest operand has."""
    if at is None:
        return x
    x = x.movedim(at, 0)
    return x.reshape(x.shape[0], *(1,) * (rank - (x.dim() - 1)), *x.shape[1:])


def of_matmul(
    info: Any, in_dims: Sequence[int | None], a: Any, b: Any, multiply: Any = None
) -> tuple[Any, int]:
    """``matmul`` of tensors with a mapped axis each, or of one with and one without, by a product that
    ``multiply`` makes, the operator where it is None."""
    multiply = OPERATORS.matmul.default if multiply is None else multiply
    at_a, at_b = in_dims
    rows, columns = a.dim() - (at_a is not None) > 1, b.dim() - (at_b is not None) > 1
    # A vector becomes a matrix behind its mapped axis.
    x = matrix(a, True) if at_a is None else _matrix(a.movedim(at_a, 0), -2)
    y = matrix(b, False) if at_b is None else _matrix(b.movedim(at_b, 0), -1)
    rank = max(x.dim() - (at_a is not None), y.dim() - (at_b is not None))
    at_a, at_b = (None if at is None else 0 for at in in_dims)
    made = multiply(leading(x, at_a, rank), leading(y, at_b, rank))
    made = made if columns else made.squeeze(-1)
    return (made if rows else made.squeeze(-1 if not columns else -2)), 0


def _matrix(x: Any, axis: int) -> Any:
    """A mapped vector, (batch, k), as matrices (batch, 1, k) or (batch, k, 1)."""
    return x if x.dim() > 2 else x.unsqueeze(axis)


def of_gemm(
    info: Any, in_dims: Sequence[Any], a: Any, b: Any, c: Any = None, *options: Any, multiply: Any = None
) -> tuple[Any, int | None]:
    """``gemm`` of tensors some of which have a mapped axis, by a product that ``multiply`` makes."""
    multiply = OPERATORS.gemm.default if multiply is None else multiply
    given = [(a, in_dims[0]), (b, in_dims[1]), (c, in_dims[2] if c is not None else None)]
    rank = max(x.dim() - (at is not None) for x, at in given if x is not None)
    x, y, z = (None if x is None else leading(x, at, rank) for x, at in given)
    # Where only c is mapped, it lends its axis to the product, unless beta is 0 and it is not looked at.
    read = given if len(options) > 1 and options[1] != 0 else given[:2]
    return multiply(x, y, z, *options), 0 if any(at is not None for _, at in read) else None


def of_grouped(
    info: Any, in_dims: Sequence[Any], a: Any, b: Any, c: Any, *options: Any
) -> tuple[list[Any], list[int]]:
    """``gemm_grouped`` of lists of which some elements have a mapped axis: one list of all products."""
    size = info.batch_size
    lists = [
        [each for x, at in zip(some, dims, strict=True) for each in _apart(x, at, size)]
        for some, dims in zip((a, b, c), in_dims[:3], strict=True)
    ]
    made = OPERATORS.gemm_grouped(*lists, *options)
    count = len(a)
    return [torch.stack(made[first * size : (first + 1) * size]) for first in range(count)], [0] * count


def _apart(x: Any, at: int | None, size: int) -> Sequence[Any]:
    found: Sequence[Any] = [x] * size if at is None else x.unbind(at)
    return found
