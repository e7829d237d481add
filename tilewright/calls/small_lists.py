"""Lists of small arrays of NumPy that come again: each product by what serves it alone.

A list is planned for as a whole, by tables that take longer to make than tiny products take. Where lists just
like these came twice in a row, one builtin compares each array and serves their products one by one, or a
function each does. Arrays of the caller's that are written to must be known to be apart from all others
before anything is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tilewright.arrays.numpy_ import LOOKED, new_output
from tilewright.arrays.overlap import bounds
from tilewright.arrays.view import Array, address_of
from tilewright.calls import product_plans
from tilewright.calls.spec import Options, ProductSpec, gemm_spec
from tilewright.runtime.backend import Function
from tilewright.runtime.bound_cpu import HOST, RELEASE_FLOPS
from tilewright.runtime.call_cache import LISTS, keep
from tilewright.runtime.fastcall_cpu import reader, together
from tilewright.runtime.host_calls import looks

MOST = 1024
"""Products of a list that is remembered."""
FLOPS, EACH = 10_000_000, 200_000
"""Operations of all of them, and as many more for each: one core does these in about the time that it takes
to plan for a list, and for each of its products."""

Asked = tuple[complex, complex, str, str, str | None]
"""alpha, beta, the letters of a and b, and ``dtype``."""
Span = tuple[int, int, bool]
"""First byte and one past the last byte that an array reaches from its first element, and whether it is
written to."""


class Known(NamedTuple):
    """Lists as they came before. ``kind``: a hash of how their arrays lie; ``functions``: what serves each
    product, None until the same comes again, and none where there is no such thing; ``make``: new results;
    ``whole``: a builtin that serves all products and makes all checks. Where there is none, ``kinds``: how
    the arrays lie, one after the other, and ``spans``: what they reach."""

    kind: int
    functions: list[Function] | None = None
    make: Callable[[], list[Array]] = list
    whole: Callable[..., Any] | None = None
    kinds: Sequence[Any] = ()
    spans: Sequence[Span] = ()


def again(form: str, a: Any, b: Any, c: Any, out: Any, asked: Asked) -> Any:
    """The results of a call on lists like those of one before; NotImplemented where there was none."""
    try:
        found: Known | None = LISTS.get(_key(form, a, b, c, out, asked))
    except TypeError:
        return NotImplemented
    if found is None or not found.functions:
        return NotImplemented
    if found.whole is not None:
        made = found.make() if out is None else out
        return made if found.whole(*a, *b, *made) is not NotImplemented else NotImplemented
    if out is None:
        made = found.make()
    else:
        # Not the lists, whose elements may be changed.
        a, b, made = [*a], [*b], [*out]
        if _kinds(a, b, made) != found.kinds or not _apart(found.spans, (*a, *b, *made)):
            return NotImplemented
    for function, x, y, z in zip(found.functions, a, b, made, strict=True):
        if function(x, y, z) is NotImplemented:
            return NotImplemented
    return made if out is None else out


def remember(form: str, a: Any, b: Any, c: Any, out: Any, asked: Asked, made: Any) -> None:
    """Serve calls like one that gave these results product by product from now on, if it came before."""
    try:
        key = _key(form, a, b, c, out, asked)
        known: Known | None = LISTS.get(key)
    except TypeError:
        return
    if key is None or len(a) > MOST:
        return
    results = made if out is None else out
    kinds = _kinds(a, b, results)
    if kinds is None:
        return
    kind = hash(tuple(kinds))
    if known is None or known.kind != kind:
        keep(LISTS, key, Known(kind))
        return
    if known.functions is not None:
        return
    functions, flops = _functions(Options.of(*asked[:4]), a, b, results)
    found = Known(kind, functions, _maker(results) if out is None else list)
    whole = together(functions, given=out is not None, release=flops > RELEASE_FLOPS)
    if whole is not None:
        found = found._replace(whole=whole)
    elif functions:
        spans = [(*bounds(x), False) for x in (*a, *b)] + [(*bounds(x), True) for x in results]
        found = found._replace(kinds=kinds, spans=spans)
    keep(LISTS, key, found)


def _key(form: str, a: Any, b: Any, c: Any, out: Any, asked: Asked) -> Any:
    """What a call is looked up by; None for what is not remembered: a c to be added to a new result, say."""
    alpha, beta, *_, dtype = asked
    if not (type(a) in _LISTS and type(b) in _LISTS and (out is None or type(out) in _LISTS)):
        return None
    if dtype is not None or not (isinstance(alpha, _NUMBERS) and isinstance(beta, _NUMBERS)):
        return None
    # With alpha 0 operands are not read.
    if alpha == 0 or (beta != 0 and (out is None or not (c is None or c is out))):
        return None
    if not (a and len(a) == len(b) and type(a[0]) is type(b[0]) is np.ndarray):
        return None
    return form, asked, len(a), None if out is None else len(out), looks(a[0], b[0])


_LISTS, _NUMBERS = (list, tuple), (int, float, complex)


def _kinds(*lists: Sequence[Any]) -> list[Any] | None:
    """How the arrays of lists lie, one after the other; None where some are no arrays of NumPy."""
    arrays = [x for values in lists for x in values]
    if {*map(type, arrays)} != {np.ndarray}:
        return None
    # Types by their numbers: functions are kept for NumPy's own alone, which live for ever.
    return [(x.shape, x.strides, id(x.dtype), x.flags.num & LOOKED) for x in arrays]


def _apart(spans: Sequence[Span], arrays: Sequence[Array]) -> bool:
    """Whether arrays that are written to reach no byte that another one reaches."""
    starts = map(reader(), arrays)
    reached = [(at + low, at + high, writes) for at, (low, high, writes) in zip(starts, spans, strict=True)]
    reached.sort()
    end = end_written = 0
    for low, high, writes in reached:
        if low < (end if writes else end_written):
            return False
        end = max(end, high)
        end_written = max(end_written, high) if writes else end_written
    return True


def _functions(
    options: Options, a: Sequence[Array], b: Sequence[Array], results: Sequence[Array]
) -> tuple[list[Function], int]:
    """What serves each product, and the operations of all; no functions where one product needs more, or all
    together are worth several cores."""
    products = [(gemm_spec(options, x, y), z) for x, y, z in zip(a, b, results, strict=True)]
    each = [2 * z.size * spec.left.shape[-1] for spec, z in products]
    flops = sum(each)
    if min(each) == 0 or flops > FLOPS + len(each) * EACH:
        return [], flops
    known: dict[Any, Function] = {}
    found = []
    for spec, z in products:
        kind = tuple(_kinds((spec.a, spec.b, z)) or ())
        function = known[kind] if kind in known else _function(spec, z)
        if function is None:
            return [], flops
        known[kind] = function
        found.append(function)
    return found, flops


def _function(spec: ProductSpec, out: Array) -> Function | None:
    """What serves one product; None where arrays have to be copied, or several cores are to share it."""
    options, arrays = spec.options, (spec.a, spec.b, out)
    found = product_plans.plan(HOST, options, spec.left, spec.right, out, fresh=True, imagine=True)
    if found.bound is None:
        return HOST.otherwise(arrays, options.scalars, options.trans)
    as_they_are = found.a is spec.left and found.b is spec.right and found.out is out
    return HOST.function(found.bound, arrays) if as_they_are and found.plan.threads == 1 else None


def _maker(results: Sequence[Array]) -> Callable[[], list[Array]]:
    """What makes new results that lie in one allocation as these do, which begin with the first."""
    dtype, shapes = results[0].dtype, [x.shape for x in results]
    first = address_of(results[0])
    starts = [(address_of(x) - first) // dtype.itemsize for x in results]
    each, count = results[0].size, len(results)
    if len(set(shapes)) == 1 and starts == [number * each for number in range(count)]:
        stack = (count, *shapes[0])
        return lambda: list(new_output(stack, dtype))
    places = [(start, start + x.size, x.shape) for start, x in zip(starts, results, strict=True)]
    whole = (places[-1][1],)

    def make() -> list[Array]:
        flat = new_output(whole, dtype)
        return [flat[begin:end].reshape(shape) for begin, end, shape in places]

    return make
