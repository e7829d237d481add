"""One product or stack of them: what was asked (``spec``) is planned for, and run.

``matmul`` and ``gemm`` are the slow path of the public functions of these names: whatever is in no call
cache comes here, is checked, planned, copied where it must be, multiplied, and remembered.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.arrays.layout import ACCEPTED, paired
from tilewright.arrays.numpy_ import itself
from tilewright.arrays.overlap import may_share
from tilewright.arrays.view import Layout
from tilewright.calls import pieces, product_plans
from tilewright.calls.spec import (
    PLAIN,
    Options,
    ProductSpec,
    castable_out,
    checked_out,
    exact,
    gemm_spec,
    matmul_spec,
    written,
)
from tilewright.dtypes import is_complex
from tilewright.errors import ArgumentError, DTypeError
from tilewright.runtime import gaps, host_calls
from tilewright.runtime.backend import Backend, Call, Held, Order
from tilewright.runtime.backends import backend_of
from tilewright.runtime.host_calls import MATMUL

DETERMINISTIC = "deterministic"
"""What deterministic calls of ``gemm`` are remembered under, beside all else."""
TAGS = {False: MATMUL, True: "matmul of pairs"}
"""What calls of ``matmul`` are remembered under, without and with ``dtype="hc"``."""


def tag_of(math: str, deterministic: bool) -> str:
    """What calls of ``matmul`` are remembered under that multiply in another way than ieee, or are
    deterministic."""
    return f"{'deterministic ' if deterministic else ''}matmul in {math}"


def gemm_tag(options: Options) -> tuple[Any, ...]:
    """What calls of ``gemm`` are remembered under: their scalars first."""
    tag = (*options.scalars, *options.trans, *(("hc",) if options.pairs else ()))
    tag = tag if options.math == "ieee" else (*tag, options.math)
    return (*tag, DETERMINISTIC) if options.deterministic else tag


# ---- arguments


@dataclass(frozen=True, slots=True)
class Taken:
    """An argument as an array. ``wrap`` hands a result back in kind; ``own``: the memory is the caller's."""

    array: Layout
    wrap: Any
    own: bool


def take(backend: Backend, value: Any, name: str, pairs: bool) -> Taken:
    """An argument as an array, float16 pairs as complex half: copied where only a copy is that."""
    array, wrap = backend.view(value, name)
    if not pairs:
        return Taken(array, wrap, True)
    found = paired(array, name, backend.kind == "cuda")
    own = found is not None
    if found is None:
        found = paired(backend.copy(array), name)
        assert found is not None  # A copy is contiguous.
    return Taken(found, lambda result: backend.pairs(result, wrap), own)


# ---- the two calls


def matmul(a: Any, b: Any, out: Any, options: Options = PLAIN[False]) -> Any:
    """``matmul`` with every check and every copy that may be needed."""
    backend = backend_of(a=a, b=b, out=out)
    with backend.current():
        return _matmul_on(backend, a, b, out, options)


def _matmul_on(backend: Backend, a: Any, b: Any, out: Any, options: Options) -> Any:
    pairs = options.pairs
    if options == PLAIN[False] and not (backend.known(a) and backend.known(b)):
        return backend.plain(a, b, out)
    x, y = take(backend, a, "a", pairs), take(backend, b, "b", pairs)
    if options == PLAIN[False] and backend.kind == "cpu" and (out is None or type(out) is np.ndarray):
        # What was made an array of just now, a list say, may lie as what was multiplied before.
        before = host_calls.again(x.array, y.array, out)
        if before is not NotImplemented:
            return before if out is not None or x.wrap is itself else x.wrap(np.asarray(before))
    spec = matmul_spec(options, x.array, y.array)
    given = None
    if out is not None and (spec.supported or backend.kind == "cpu"):
        given = _out_of_matmul(backend, spec, out)
    if not spec.supported:
        if options.deterministic and spec.dtype.kind not in "biu":
            raise DTypeError(f"deterministic=True for arrays of {spec.dtype}; accepted: {ACCEPTED}, integers")
        made = backend.plain(a, b, out)
        if backend.kind == "cpu":
            _remember_plain(backend, spec, given, made)
        return made
    target = given if given is not None and exact(given, spec.final, spec.dtype) else None
    result = backend.empty(spec.final, spec.dtype) if target is None else target
    done = run(backend, spec, spec.matrices(result), fresh=target is None)
    if done.plainly and x.own and y.own and given is target:
        arrays = x.array, y.array, result
        # Calls in this process's memory are those on arrays, whatever has the memory.
        into = out if backend.kind == "cuda" else given
        backend.remember(done.bound, Call(_tag(options), a, b, into, arrays, pairs=pairs, held=done.held))
    if given is not None and target is None:
        backend.assign(given, result)
    if out is not None:
        return out
    made = x.wrap(result)
    return made[()] if spec.final == () and x.wrap is itself else made


def _tag(options: Options) -> str:
    """What calls of ``matmul`` are remembered under."""
    pairs = options.pairs
    return TAGS[pairs] if options == PLAIN[pairs] else tag_of(options.math, options.deterministic)


def _remember_plain(backend: Backend, spec: ProductSpec, given: Layout | None, made: Any) -> None:
    """Serve calls like one of a type that no kernel knows, whole numbers say, by NumPy's product alone.
    ``made``: what the call returned."""
    result = np.asarray(made) if given is None and isinstance(made, np.ndarray | np.generic) else given
    numbers = spec.dtype.kind in "biufc" and spec.a.dtype == spec.b.dtype
    if not numbers or result is None or not exact(result, spec.final, spec.dtype):
        return
    # A new result may lie as NumPy likes it.
    if given is not None or (isinstance(result, np.ndarray) and result.flags.c_contiguous):
        arrays = spec.a, spec.b, result
        backend.remember(None, Call(_tag(spec.options), spec.a, spec.b, given, arrays))


def _out_of_matmul(backend: Backend, spec: ProductSpec, out: Any) -> Layout:
    """``out`` as an array. Complex half, and what is on a GPU, is neither cast nor repeated."""
    given, gpu = backend.view_out(out), backend.kind == "cuda"
    if spec.options.pairs or gpu:
        return checked_out(given, spec.final, spec.dtype, pairs=spec.options.pairs, gpu=gpu)
    return castable_out(given, spec)


@dataclass(frozen=True, slots=True)
class Asked:
    """The arguments of ``gemm`` looked at. ``c`` is the array to be added, None where there is none or beta
    is 0, ``target`` that of ``out``."""

    spec: ProductSpec
    c: Layout | None
    target: Layout | None
    wrap: Any
    own: bool


def asked(backend: Backend, options: Options, a: Any, b: Any, c: Any, out: Any) -> Asked:
    """Everything that ``gemm`` and ``plan`` refuse is refused here."""
    x, y = take(backend, a, "a", options.pairs), take(backend, b, "b", options.pairs)
    update = None
    if options.beta != 0 and c is not None:
        update = take(backend, c, "c", options.pairs).array
    spec = gemm_spec(options, x.array, y.array, update)
    target = None
    if out is not None:
        pairs, gpu = options.pairs, backend.kind == "cuda"
        target = checked_out(backend.view_out(out), spec.shape, spec.dtype, pairs=pairs, gpu=gpu)
    return Asked(spec, update, target, x.wrap, x.own and y.own)


def gemm(
    options: Options,
    a: Any,
    b: Any,
    c: Any,
    out: Any,
    memo: dict[Any, Any] | None = None,
    tag: Any = None,
) -> Any:
    """``gemm`` with every check and every copy that may be needed. ``memo``: that of a plan, which remembers
    under ``tag``."""
    backend = backend_of(a=a, b=b, c=c if options.beta != 0 else None, out=out)
    with backend.current():
        return _gemm_on(backend, options, a, b, c, out, memo, tag)


def _gemm_on(
    backend: Backend,
    options: Options,
    a: Any,
    b: Any,
    c: Any,
    out: Any,
    memo: dict[Any, Any] | None,
    tag: Any,
) -> Any:
    found = asked(backend, options, a, b, c, out)
    spec, target = found.spec, found.target
    if options.beta != 0 and spec.update is None and out is None:
        raise ArgumentError(
            f"beta={written(options.beta)} without c; accepted: c, or out to be updated in place"
        )
    result = target
    moved = spec.update is not None and c is not out
    if result is None or (moved and (may_share(spec.a, result) or may_share(spec.b, result))):
        # The copy of c must not run over an operand that is still to be read.
        result = backend.empty(spec.shape, spec.dtype)
    if moved:
        assert spec.update is not None
        backend.assign(result, spec.update)
    fresh = result is not target
    done = run(backend, spec, result, fresh=fresh)
    if done.plainly and found.own and (memo is not None or not options.forced):
        # A c that was copied first is a result that is updated in place.
        into = found.wrap(result) if moved and fresh else out
        if backend.kind == "cpu":
            into = result if moved and fresh else target
        arrays = spec.a, spec.b, result
        call = Call(
            *(gemm_tag(options) if memo is None else tag, a, b, into, arrays),
            *(options.scalars, options.trans, options.pairs, moved, done.held),
        )
        backend.remember(done.bound, call, memo)
    if target is not None and fresh:
        backend.assign(target, result)
    return out if out is not None else found.wrap(result)


# ---- run


@dataclass(frozen=True, slots=True)
class Done:
    """What multiplied; ``plainly``: the arrays as they were, or ``held`` in their place, so that calls like
    it can be remembered."""

    bound: Any = None
    plainly: bool = False
    held: Held | None = None


def run(backend: Backend, spec: ProductSpec, out: Layout, *, fresh: bool) -> Done:
    """out = alpha op(a) op(b) + beta out, where out has both matrix axes.

    ``fresh``: out was made for this call, so it overlaps nothing.
    """
    options, a, b, dtype = spec.options, spec.left, spec.right, out.dtype
    if 0 in (*out.shape, a.shape[-1]) or options.alpha == 0:
        backend.scale(out, options.beta)
        return Done()
    left, right = (x if x.dtype == dtype else backend.cast(x, dtype) for x in (a, b))
    if pieces.run(backend, options, left, right, out, fresh=fresh):
        return Done()
    found = product_plans.plan(backend, options, left, right, out, fresh=fresh)
    if found.bound is None:
        gaps.passed(found.plan)
        conj = options.conj if is_complex(dtype) else (False, False)
        backend.multiply(left, right, out, options.scalars, conj)
        return Done(None, left is a and right is b)
    backend.run(found.bound, found.a, found.b, found.out)
    if found.out is not out:
        backend.assign(out, found.out)
    orders = (_order(a, left, found.a), _order(b, right, found.b), _order(out, out, found.out))
    if not any(orders):
        return Done(found.bound, True)
    apart = fresh or not (may_share(a, out) or may_share(b, out))
    return Done(found.bound, apart, Held((found.a, found.b, found.out), orders))


def _order(given: Layout, cast: Layout, taken: Layout) -> Order:
    """In which order an array was copied: a cast keeps its own."""
    return "C" if taken is not cast else "K" if cast is not given else ""
