"""A contraction that ran, as functions: the kernel of each step is known, and only the memory is new.

``remembered`` finds for each stack of products what the call cache serves it by: a builtin in this process's
memory, a launch for three addresses on a GPU. A step for which there is nothing goes through ``multiply``, as
at the first time, and what libraries do is done by them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tilewright.arrays.numpy_ import NUMPY
from tilewright.arrays.shaping import Shaping
from tilewright.arrays.view import contiguous
from tilewright.calls import product
from tilewright.calls.spec import Options
from tilewright.contract.program import Product, Program, Single, Times, View
from tilewright.contract.steps import Multiply, alone, viewed
from tilewright.errors import ArgumentError
from tilewright.runtime import call_cache
from tilewright.runtime.bound_cpu import HOST
from tilewright.runtime.contraction_calls import Run
from tilewright.runtime.host_calls import MATMUL, looks

Made = tuple[Any, Any, Any]
"""a, b and out of a product that ran, as ``multiply`` got them; out None: it was new."""
Step = Callable[[list[Any], Any, int], bool]
"""What is done to the operands that are held, with the caller's ``out`` and a stream; a product is appended.
False: these very arrays are not served so."""
Sides = tuple[int, int]
"""Where the two operands of a step are held."""


def remembered(
    multiply: Multiply,
    library: Shaping,
    plan: Program,
    arrays: Sequence[Any],
    dtype: np.dtype[Any],
    made: Sequence[Made],
) -> Run:
    """The steps of a program for operands that lie just like ``arrays``, for which ``made`` was called."""
    calls = None if library is NUMPY else call_cache.DEVICE.get(type(arrays[0]))
    index: int | None = None
    # What was multiplied keeps its place among the operands, and the product comes last.
    places, held = list(range(len(arrays))), len(arrays)
    steps: list[tuple[Step, Sequence[int]]] = []
    products = iter(made)
    final = None if plan.final.plain else plan.final
    for step in plan.steps:
        if isinstance(step, Single):
            steps.append((_single(library, step, places[step.number]), ()))
            continue
        sides = places[step.left], places[step.right]
        places = [x for at, x in enumerate(places) if at not in (step.left, step.right)] + [held]
        held += 1
        # Memory of products in between is let go when they were multiplied.
        spent = [x for x in sides if x >= len(arrays)]
        if isinstance(step, Times):
            steps.append((_times(library, step, sides), spent))
            continue
        found = next(products)
        prepared = None if calls is None else _prepared(calls, found)
        if prepared is None:
            function = _function(found, step.asked) if library is NUMPY else None
            steps.append((_multiplied(multiply, library, step, sides, dtype, function, arrays[0]), spent))
            continue
        index, view = prepared.index, None
        if step is plan.steps[-1] and not step.asked:
            # The result is made as it is seen.
            view, final = final, None
        make = _maker(library, step, view, dtype, arrays[0])
        steps.append((_launched(library, calls, prepared, step, sides, make), spent))
    ready, stream = _device(library, calls, index)
    written, place = plan.written, places[0]

    def run(operands: Sequence[Any], out: Any) -> Any:
        if ready is not None and not ready():
            return NotImplemented
        there = 0 if stream is None else stream()
        held = list(operands)
        for step, spent in steps:
            if not step(held, out, there):
                return NotImplemented
            for at in spent:
                held[at] = None
        if written:
            return out
        found = held[place] if final is None else viewed(library, held[place], final)
        if out is None:
            return found
        library.assign(out, found)
        return out

    return run


def _device(
    library: Shaping, calls: Any, index: int | None
) -> tuple[Callable[[], bool] | None, Callable[[], int] | None]:
    """Whether a call may go the short way now, and the caller's stream; None where nobody has to ask."""
    if index is None:
        return None, None
    of, traced, current = calls.stream, library.traced, calls.current
    if calls.several:
        return lambda: not traced() and bool(current() == index), lambda: int(of(index))
    return lambda: not traced(), lambda: int(of(index))


def _single(library: Shaping, step: Single, place: int) -> Step:
    def run(held: list[Any], out: Any, stream: int) -> bool:
        held[place] = alone(library, held[place], step)
        return True

    return run


def _times(library: Shaping, step: Times, sides: Sides) -> Step:
    left, right = sides
    times = library.times
    view_a, view_b = _view(library, step.a), _view(library, step.b)

    def run(held: list[Any], out: Any, stream: int) -> bool:
        x, y = held[left], held[right]
        held.append(times(x if view_a is None else view_a(x), y if view_b is None else view_b(y)))
        return True

    return run


def _view(library: Shaping, view: View) -> Callable[[Any], Any] | None:
    """How an array is seen as a kernel reads it; None: as it is."""
    if view.plain:
        return None
    axes, shape, steps, seen = view.axes, view.shape, view.steps, library.viewed
    return lambda x: seen(x, axes, shape, steps)


def _multiplied(
    multiply: Multiply,
    library: Shaping,
    step: Product,
    sides: Sides,
    dtype: np.dtype[Any],
    function: Callable[[Any, Any, Any], Any] | None,
    like: Any,
) -> Step:
    """A stack of products by ``function``, or by ``multiply`` where that is None or refuses."""
    left, right = sides
    view_a, view_b, view_out = (_view(library, view) for view in (step.a, step.b, step.out))
    asked, shape, new, shaped = step.asked, step.made, library.new, library.shaped

    def run(held: list[Any], out: Any, stream: int) -> bool:
        x, y = held[left], held[right]
        if view_a is not None:
            x = view_a(x)
        if view_b is not None:
            y = view_b(y)
        made = shaped(out, shape) if asked else new(shape, dtype, like)
        z = made if view_out is None else view_out(made)
        if function is None or function(x, y, z) is NotImplemented:
            multiply(x, y, z)
        held.append(made)
        return True

    return run


def _function(made: Made, asked: bool) -> Callable[[Any, Any, Any], Any] | None:
    """What serves a product of NumPy's arrays; None where every call goes the usual way."""
    a, b, out = made
    if out is None:
        found = call_cache.FAST.get(looks(a, b))
        return None if found is None else found[0]
    function = call_cache.INTO.get((*looks(a, b), out.strides))
    if function is None and not asked and a.dtype == b.dtype == out.dtype:
        # Batch axes that no stride covers are several launches, which no builtin makes.
        planned = product.plan(HOST, Options(), a, b, out, fresh=True)
        if planned.bound is not None and planned.a is a and planned.b is b and planned.out is out:
            return planned.bound.run  # type: ignore[no-any-return]  # that of ``bound_cpu.Bound``
    return function


# ---- on a GPU


def _prepared(calls: Any, made: Made) -> Any:
    """What a product on a GPU was remembered by, if it has a launch of its own; else None."""
    a, b, out = made
    looked = calls.key(MATMUL, a, b, out) if type(a) in calls.types else None
    found = None if looked is None else calls.memo.get(looked[1])
    return None if found is None or found.run is None else found


def _launched(
    library: Shaping, calls: Any, prepared: Any, step: Product, sides: Sides, make: Callable[[], Any] | None
) -> Step:
    """A stack of products by one launch for three addresses: views of an operand begin where it begins."""
    left, right = sides
    start, clear = prepared.run, prepared.clear
    address = call_cache.LOOKERS[calls.types[0]].address
    copy_a, copy_b = (_view(library, view) if view.steps is None else None for view in (step.a, step.b))

    def run(held: list[Any], out: Any, stream: int) -> bool:
        x, y = held[left], held[right]
        if copy_a is not None:
            x = copy_a(x)
        if copy_b is not None:
            y = copy_b(y)
        at, to = address(x), address(y)
        if make is None:
            made, place = out, address(out)
            if not clear(at, to, place):
                return False
        else:
            made = make()
            place = address(made)
        try:
            start(at, to, place, stream)
        except ArgumentError:
            return False  # No texture over these very addresses.
        held.append(made)
        return True

    return run


def _maker(
    library: Shaping, step: Product, view: View | None, dtype: np.dtype[Any], like: Any
) -> Callable[[], Any] | None:
    """What makes the memory of a product, seen as ``view``; None where it is the caller's."""
    if step.asked:
        return None
    if view is not None and view.steps is not None:
        return library.maker(step.made, view.axes, view.shape, view.steps, dtype, like)
    return library.maker(step.made, None, step.made, contiguous(step.made, 1), dtype, like)
