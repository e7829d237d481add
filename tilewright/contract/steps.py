"""The steps of a contraction on the arrays of a library."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tilewright.arrays.shaping import Shaping
from tilewright.contract.program import Product, Program, Single, Times, View

Multiply = Callable[..., Any]
"""A stack of products, ``multiply(a, b, out)``, as ``matmul`` does it."""


def run(
    multiply: Multiply, library: Shaping, plan: Program, arrays: Sequence[Any], dtype: Any, out: Any
) -> Any:
    """The steps of a program on arrays; the result, or ``out``. ``dtype``: the type of the result, None for
    one that no kernel knows: then the contraction is the library's own."""
    if dtype is None:
        made = library.own(plan.equation.text, arrays)
    else:
        held = list(arrays)
        for step in plan.steps:
            if isinstance(step, Single):
                held[step.number] = alone(library, held[step.number], step)
                continue
            left, right = held[step.left], held[step.right]
            held = [x for at, x in enumerate(held) if at not in (step.left, step.right)]
            a, b = viewed(library, left, step.a), viewed(library, right, step.b)
            if isinstance(step, Times):
                made = library.times(a, b)
            elif step.out.plain and not step.asked:
                made = multiply(a, b)
            elif library.follows:
                made = laid_out(library, multiply(a, b), step)
            else:
                made = library.shaped(out, step.made) if step.asked else library.new(step.made, dtype, left)
                multiply(a, b, viewed(library, made, step.out))
            held.append(made)
        if out is not None and plan.written:
            return out
        made = viewed(library, held[0], plan.final)
    if out is None:
        return made
    library.assign(out, made)
    return out


def alone(library: Shaping, x: Any, step: Single) -> Any:
    """What is done to one operand."""
    if step.packed:
        x = library.copied(x)
    if step.diagonal is not None:
        x = library.diagonal(x, step.diagonal.extents, step.diagonal.strides)
    elif step.summed:
        # Axes as they were counted: those of one element are not.
        x = library.shaped(x, tuple(extent for extent in x.shape if extent != 1))
    if step.summed:
        x = library.summed(x, step.summed)
    return library.shaped(x, step.shape)


def viewed(library: Shaping, x: Any, view: View) -> Any:
    """An array as a kernel reads it."""
    return x if view.plain else library.viewed(x, view.axes, view.shape, view.steps)


def laid_out(library: Shaping, x: Any, step: Product) -> Any:
    """A stack of products with its axes as the memory of the result would have had them."""
    labels, made = step.pair.out.labels, step.pair.made
    parted = library.shaped(x, tuple(map(made.extent, labels)))
    return library.viewed(parted, tuple(map(labels.index, made.labels)), made.extents, None)
