"""A contraction that ran, as functions: the kernel of each step is known, and only the memory is new.

``remembered`` finds for each stack of products what the call cache serves it by: a builtin in this process's
memory, a launch for three addresses on a GPU. A step for which there is nothing goes the way of its
first time, and what libraries do is done by them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tilewright.arrays.backend import looker
from tilewright.arrays.numpy_ import NUMPY
from tilewright.arrays.shaping import Shaping
from tilewright.arrays.view import contiguous, imagined
from tilewright.calls import product_plans
from tilewright.calls.spec import Options
from tilewright.contract.program import Chain, Product, Program, Single, Times, View
from tilewright.contract.steps import Calls, alone, viewed
from tilewright.errors import ArgumentError, RoomError
from tilewright.runtime import call_cache, chain_calls
from tilewright.runtime.backend import Function
from tilewright.runtime.bound_cpu import HOST
from tilewright.runtime.contraction_calls import Direct, Run
from tilewright.runtime.fastcall_cpu import relaid
from tilewright.runtime.host_calls import MATMUL, looks, maker

Step = Callable[[list[Any], Any, int], bool]
"""What is done to the operands that are held, with the caller's ``out`` and a stream; a product is appended.
False: these very arrays are not served so."""


def remembered(
    using: Calls,
    library: Shaping,
    plan: Program,
    arrays: Sequence[Any],
    dtype: np.dtype[Any],
    served: Sequence[Builtin | Launch | None],
) -> Run:
    """The steps of a program for operands that lie just like ``arrays``, whose products were ``served`` so.

    What it returns keeps none of the arrays.
    """
    launches: list[Launch] = []
    # What was multiplied keeps its place among the operands, and the product comes last.
    places, held = list(range(len(arrays))), len(arrays)
    steps: list[tuple[Step, Sequence[int]]] = []
    products = iter(served)
    final = None if plan.final.plain else plan.final
    for step in plan.steps:
        if isinstance(step, Single):
            steps.append((_single(library, step, places[step.number]), ()))
            continue
        sides = [places[at] for at in step.places]
        places = [x for at, x in enumerate(places) if at not in step.places] + [held]
        held += 1
        # Memory of products in between is let go when they were multiplied.
        spent = [x for x in sides if x >= len(arrays)]
        if isinstance(step, Times):
            steps.append((_times(library, step, sides), spent))
            continue
        found = next(products)
        views = step.views if isinstance(step, Chain) else (step.a, step.b)
        if not isinstance(found, Launch):
            usual = using.chain if isinstance(step, Chain) else using.product
            function = None
            if isinstance(found, Builtin):
                function = found.function or (None if step.asked else found.run)
            steps.append((_multiplied(usual, function, library, step, views, sides, dtype), spent))
            continue
        launches.append(found)
        view = None
        if step is plan.steps[-1] and not step.asked:
            # The result is made as it is seen.
            view, final = final, None
        make = _maker(library, step, view, dtype, arrays[0])
        steps.append((_launched(library, found, _address(arrays[0]), views, sides, make), spent))
    written, place = plan.written, places[0]
    traced, of, gpu = library.traced, getattr(library, "stream", None), 0
    current = None
    if launches:
        gpu, current = launches[0].gpu, launches[0].current

    def run(operands: Sequence[Any], out: Any) -> Any:
        if traced() or (current is not None and not current()):
            return NotImplemented
        there = 0 if of is None else of(gpu)
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


def direct(
    library: Shaping,
    plan: Program,
    arrays: Sequence[Any],
    out: Any,
    dtype: np.dtype[Any],
    served: Sequence[Builtin | Launch | None],
) -> Direct | None:
    """A builtin for the very arrays of a contraction that is one product of two where they lie; None: it is
    more than that, or was not served by a builtin."""
    if len(arrays) != 2 or plan.written != (out is not None):
        return None
    *before, last = plan.steps
    if not (isinstance(last, Product) and last.places == (0, 1)):
        return None
    # Diagonals and other shapes begin with the operand, and copies and sums are other memory.
    if any(not isinstance(step, Single) or step.packed or step.summed for step in before):
        return None
    (found,) = served
    if not isinstance(found, Builtin) or found.function is None or None in (last.a.steps, last.b.steps):
        return None
    made = imagined(last.made, dtype)
    layouts = [(x.shape, x.strides) for x in (*arrays, made if out is None else out)]
    function = relaid(found.function, layouts)
    if function is None:
        return None
    return Direct(function, made.shape, made.dtype, maker(made), _view(library, plan.final))


def _single(library: Shaping, step: Single, place: int) -> Step:
    def run(held: list[Any], out: Any, stream: int) -> bool:
        held[place] = alone(library, held[place], step)
        return True

    return run


def _times(library: Shaping, step: Times, sides: Sequence[int]) -> Step:
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
    return None if view.plain else _seen(library, view)


def _seen(library: Shaping, view: View) -> Callable[[Any], Any]:
    """The same, always a function."""
    axes, shape, steps, seen = view.axes, view.shape, view.steps, library.viewed
    return lambda x: seen(x, axes, shape, steps)


def _multiplied(
    usual: Callable[..., Any],
    function: Callable[..., Any] | None,
    library: Shaping,
    step: Product | Chain,
    views: Sequence[View],
    sides: Sequence[int],
    dtype: np.dtype[Any],
) -> Step:
    """A stack of products by ``function``, or the ``usual`` way where that is None or refuses."""
    seen = [(place, _view(library, view)) for place, view in zip(sides, views, strict=True)]
    view_out = _view(library, step.out)
    asked, shape, new, shaped = step.asked, _shape(step), library.new, library.shaped

    def run(held: list[Any], out: Any, stream: int) -> bool:
        factors = [held[place] if view is None else view(held[place]) for place, view in seen]
        made = shaped(out, shape) if asked else new(shape, dtype, factors[0])
        into = made if view_out is None else view_out(made)
        if function is None or function(*factors, into) is NotImplemented:
            usual(*factors, out=into)
        held.append(made)
        return True

    return run


class Builtin(NamedTuple):
    """What serves a product of NumPy's arrays: a ``function`` of the call cache, which finds out what it may
    not serve, or the ``run`` of a kernel, for memory that overlaps nothing."""

    function: Function | None
    run: Function | None


def served_product(library: Shaping, a: Any, b: Any, out: Any) -> Builtin | Launch | None:
    """What served a product that ran just now, ``out`` None: into new memory; None: nothing that is kept."""
    if library is NUMPY:
        return _on_host(a, b, out)
    calls = call_cache.DEVICE.get(type(a))
    return None if calls is None else _of_product(calls, a, b, out)


def served_chain(a: Any, b: Any, c: Any, out: Any) -> Launch | None:
    """The same of a chain."""
    found = chain_calls.prepared((a, b, c, None, out))
    if found is None:
        return None
    start, which, clear = found.run, found.which, found.clear
    # An operand that stood in the chain twice was read once.
    alike = len(which) < 4
    pattern = _pattern([*map(_address(a), (a, b, c, out))])

    def full(at: Sequence[int]) -> list[int]:
        # The arguments of a chain, of which nothing is added.
        return [*at[:-1], 0, at[-1]]

    def same(at: Sequence[int]) -> bool:
        return not alike or _pattern(at) == pattern

    def apart(at: Sequence[int]) -> bool:
        return at[-1] not in at[:-1] and clear(full(at)) and same(at)

    def run(at: Sequence[int], stream: int) -> None:
        addresses = full(at)
        start([addresses[number] for number in which], stream)

    return Launch(run, apart, same if alike else None, found.index, found.current)


def _address(x: Any) -> Callable[[Any], int]:
    """What reads the addresses of arrays of a class on a GPU."""
    # Not that of the call cache, which another thread may empty.
    found = looker(x)
    assert found is not None
    return found.address


def _pattern(at: Sequence[int]) -> list[int]:
    """Which addresses are the same."""
    return [at.index(x) for x in at]


def _on_host(a: Any, b: Any, out: Any) -> Builtin | None:
    if out is None:
        found: tuple[Function, Any, Any, Any] | None = call_cache.FAST.get(looks(a, b))
        if found is not None:
            return Builtin(found[0], None)
        batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
        out = np.empty((*batch, a.shape[-2], b.shape[-1]), a.dtype)
    into: Function | None = call_cache.INTO.get((*looks(a, b), out.strides))
    if into is not None:
        return Builtin(into, None)
    if not a.dtype == b.dtype == out.dtype or 0 in (*a.shape, *b.shape):
        return None
    # What no function serves may still have a kernel that takes the arrays as they are.
    planned = product_plans.plan(HOST, Options(), a, b, out, fresh=True)
    if planned.bound is not None and planned.a is a and planned.b is b and planned.out is out:
        return Builtin(None, planned.bound.run)
    return None


# ---- on a GPU


class Launch(NamedTuple):
    """A product or a chain on a GPU: ``run`` for the addresses of its factors and of the result, and a
    stream. ``given`` says whether it may be run into memory of the caller, ``fresh`` into new memory; None:
    always. ``gpu`` is the number of the GPU, and ``current`` says whether that is the current one; None:
    there is one alone."""

    run: Callable[[Sequence[int], int], None]
    given: Callable[[Sequence[int]], bool]
    fresh: Callable[[Sequence[int]], bool] | None
    gpu: int
    current: Callable[[], bool] | None


def _of_product(calls: Any, a: Any, b: Any, out: Any) -> Launch | None:
    looked = calls.key(MATMUL, a, b, out) if type(a) in calls.types else None
    found = None if looked is None else calls.memo.get(looked[1])
    if found is None or found.run is None:
        return None
    start, clear, gpu = found.run, found.clear, found.index
    return Launch(
        lambda at, stream: start(*at, stream),
        lambda at: bool(clear(*at)),
        None,
        gpu,
        (lambda: bool(calls.current() == gpu)) if calls.several else None,
    )


def _launched(
    library: Shaping,
    launch: Launch,
    address: Callable[[Any], int],
    views: Sequence[View],
    sides: Sequence[int],
    make: Callable[[], Any] | None,
) -> Step:
    """One launch for some addresses: views of an operand begin where it begins."""
    start, fits = launch.run, launch.given if make is None else launch.fresh
    copies = [(at, _seen(library, view)) for at, view in enumerate(views) if view.steps is None]

    def run(held: list[Any], out: Any, stream: int) -> bool:
        factors = [held[place] for place in sides]
        for at, copy in copies:
            factors[at] = copy(factors[at])
        made = out if make is None else make()
        addresses = [*map(address, factors), address(made)]
        if fits is not None and not fits(addresses):
            return False
        try:
            start(addresses, stream)
        except (ArgumentError, RoomError):
            return False  # No texture over these very addresses, or no room for a workspace.
        held.append(made)
        return True

    return run


def _maker(
    library: Shaping, step: Product | Chain, view: View | None, dtype: np.dtype[Any], like: Any
) -> Callable[[], Any] | None:
    """What makes the memory of a product, seen as ``view``; None where it is the caller's."""
    if step.asked:
        return None
    if view is not None and view.steps is not None:
        return library.maker(_shape(step), view.axes, view.shape, view.steps, dtype, like)
    return library.maker(_shape(step), None, _shape(step), contiguous(_shape(step), 1), dtype, like)


def _shape(step: Product | Chain) -> tuple[int, ...]:
    """The shape of the memory that a step makes."""
    return step.made.extents if isinstance(step, Chain) else step.made
