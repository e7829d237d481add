"""The steps of a contraction on the arrays of a library."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from tilewright.arrays.shaping import Shaping
from tilewright.contract.program import Chain, Product, Program, Single, Times, View


class Calls(NamedTuple):
    """What multiplies: ``product(a, b, out)`` a stack of matrices, ``chain(a, b, c, out)`` one of chains."""

    product: Callable[..., Any]
    chain: Callable[..., Any]


def run(calls: Calls, library: Shaping, plan: Program, arrays: Sequence[Any], dtype: Any, out: Any) -> Any:
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
            factors = [held[at] for at in step.places]
            held = [x for at, x in enumerate(held) if at not in step.places]
            held.append(_made(calls, library, step, factors, dtype, out))
        if out is not None and plan.written:
            return out
        made = viewed(library, held[0], plan.final)
    if out is None:
        return made
    library.assign(out, made)
    return out


def _made(
    calls: Calls, library: Shaping, step: Product | Chain | Times, factors: list[Any], dtype: Any, out: Any
) -> Any:
    """The product of a step."""
    views = step.views if isinstance(step, Chain) else (step.a, step.b)
    seen = [viewed(library, x, view) for x, view in zip(factors, views, strict=True)]
    if isinstance(step, Times):
        return library.times(*seen)
    if isinstance(step, Product) and not step.asked:
        if step.out.plain:
            return calls.product(*seen)
        if library.follows:
            return _laid_out(library, calls.product(*seen), step)
    shape = step.made.extents if isinstance(step, Chain) else step.made
    made = library.shaped(out, shape) if step.asked else library.new(shape, dtype, factors[0])
    into = viewed(library, made, step.out)
    if isinstance(step, Chain):
        calls.chain(*seen, out=into)
    else:
        calls.product(*seen, into)
    return made


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


def _laid_out(library: Shaping, x: Any, step: Product) -> Any:
    """A stack of products with its axes as the memory of the result would have had them."""
    labels, made = step.pair.out.labels, step.pair.made
    parted = library.shaped(x, tuple(map(made.extent, labels)))
    return library.viewed(parted, tuple(map(labels.index, made.labels)), made.extents, None)
