"""The arrays of a chain as a ``ChainProblem``: which of them share their memory, and how all of them lie.

As for one product, a row-major result is the column-major one of the chain read backwards, with every factor
transposed: (A B C)^T = C^T B^T A^T. Only ``chain_of`` knows that.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tilewright.arrays.layout import LETTERS, WIDEST
from tilewright.arrays.view import Layout, address_of, aligned, broadcast_to, conjugated
from tilewright.model import ChainProblem, Factor, Stored


@dataclass(frozen=True, slots=True)
class ChainJob:
    """A chain as the kernels see it. ``addresses`` are those of the problem's operands, in their order, and
    of the result."""

    problem: ChainProblem
    addresses: tuple[int, ...]


def chain_of(factors: Sequence[Layout], add: Layout | None, out: Layout) -> ChainJob | str:
    """The job that computes out = the product of the factors (+ add), or why no kernel takes these arrays.

    factors: two or three, (..., m, k), (..., k, l), (..., l, n), batch axes broadcast to those of out;
    add and out: (..., m, n), all of one supported type. Each array needs whole elements, one unit stride
    among its matrix axes, and batch axes that one stride covers.
    """
    shape, size = out.shape[:-2], out.itemsize
    named = dict(zip("abc", factors, strict=False)) | ({} if add is None else {"add": add}) | {"out": out}
    _, column = (step // size for step in out.strides[-2:])
    # By rows, where both are true.
    backwards = column == 1 or out.shape[-1] == 1
    placed: dict[str, tuple[int, Stored, str]] = {}
    for name, array in named.items():
        if any(step % size for step in array.strides) or not aligned(array) or address_of(array) % size:
            return f"{name} has elements between the places of others"
        wide = broadcast_to(array, shape + array.shape[-2:])
        step = even_step(shape, wide.strides[:-2])
        if step is None:
            return f"the batch axes of {name} are covered by no one stride"
        found = _stored(array, step // size, backwards)
        if found is None:
            return f"{name} has no unit stride among its last two axes"
        placed[name] = (address_of(array), *found)
    if placed["out"][2] != "n":
        return "out has no unit stride where its result is written"
    operands: list[tuple[int, Stored]] = []

    def factor(name: str) -> Factor:
        address, stored, letter = placed[name]
        if (address, stored) not in operands:
            operands.append((address, stored))
        if conjugated(named[name]):
            letter = {"n": "j", "t": "c"}[letter]
        return Factor(operands.index((address, stored)), letter)

    names = [*"abc"[: len(factors)]]
    made = tuple(factor(name) for name in (reversed(names) if backwards else names))
    added = None if add is None else factor("add")
    addresses = (*(address for address, _ in operands), placed["out"][0])
    problem = ChainProblem(
        LETTERS[out.dtype],
        tuple(stored for _, stored in operands),
        made,
        placed["out"][1],
        math.prod(shape),
        added,
        int(backwards != right_first(factors)) if len(factors) == 3 else 0,
        math.gcd(WIDEST, *addresses),
    )
    return ChainJob(problem, addresses)


def right_first(factors: Sequence[Layout]) -> bool:
    """Whether a (b c) takes fewer operations than (a b) c; of equals the latter is chosen."""
    (m, k), (_, k_2), (_, n) = (x.shape[-2:] for x in factors)
    return k * k_2 * n + m * k * n < m * k * k_2 + m * k_2 * n


def even_step(shape: Sequence[int], strides: Sequence[int]) -> int | None:
    """The stride of one axis in place of axes of these extents and strides; None where there is none."""
    step, reach = 0, 0
    for extent, stride in zip(reversed(shape), reversed(strides), strict=True):
        if extent == 1:
            continue
        if reach and stride != reach:
            return None
        if not reach:
            # The innermost axis; of one that repeats its elements all others have to.
            step = stride
            if step == 0:
                others = zip(shape, strides, strict=True)
                return None if any(other for axis, other in others if axis > 1) else 0
        reach = stride * extent
    return step


def _stored(array: Layout, step: int, backwards: bool) -> tuple[Stored, str] | None:
    """How matrices lie, and the letter of what is asked of them; None where neither stride is 1."""
    size = array.itemsize
    (rows, columns), (down, along) = array.shape[-2:], (stride // size for stride in array.strides[-2:])
    if backwards:
        rows, columns, down, along = columns, rows, along, down
    if down == 1 or rows == 1:
        return Stored(rows, columns, along if columns > 1 else rows, step), "n"
    if along == 1 or columns == 1:
        return Stored(columns, rows, down, step), "t"
    return None
