"""A chain of products: checked, planned, and run in one pass, or composed of products.

On a GPU a chain of matrices of up to 32 rows and columns is one kernel (the stencil of chains). Everywhere
else it is products, one after the other, each planned by itself, the last one on top of what is added. Making
the product in between block by block, so that it stays in the caches, was tried on a processor and gained
nothing that could be told from noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tilewright.arrays.chains import ChainJob, chain_of, right_first
from tilewright.arrays.layout import ACCEPTED, LETTERS, broadcast, promoted
from tilewright.arrays.overlap import may_share, same
from tilewright.arrays.view import Layout, broadcast_to
from tilewright.calls import product
from tilewright.calls.spec import Options, ProductSpec, checked_out, gemm_spec
from tilewright.errors import ArgumentError, DTypeError
from tilewright.forks import making
from tilewright.model import Plan
from tilewright.planning import chains, dispatch
from tilewright.runtime import call_cache, host_calls, host_chains
from tilewright.runtime.backend import Backend, Call, Function
from tilewright.runtime.backends import backend_of
from tilewright.runtime.host_chains import Products

PLAIN, ADDED = Options(), Options(beta=1)


@dataclass(frozen=True, slots=True)
class ChainSpec:
    """A chain as it was asked, with nothing left to refuse but ``out``: factors (..., m, k), (..., k, l) and
    (..., l, n), and what is added, broadcast to ``shape`` (..., m, n)."""

    factors: tuple[Layout, ...]
    add: Layout | None
    shape: tuple[int, ...]
    dtype: Any


def chain_spec(factors: Sequence[Layout], add: Layout | None) -> ChainSpec:
    """A chain of arrays, checked.

    Raises ``ArgumentError`` for shapes that do not fit, ``DTypeError`` for types that no kernel knows.
    """
    named = dict(zip("abc", factors, strict=False))
    for name, array in named.items():
        if array.ndim < 2:
            raise ArgumentError(f"{name} has shape {array.shape}; accepted: two or more axes")
    pairs = zip(named.items(), [*named.items()][1:], strict=False)
    for (left, one), (right, other) in pairs:
        if one.shape[-1] != other.shape[-2]:
            raise ArgumentError(
                f"{left} has shape {one.shape} and {right} {other.shape}: {one.shape[-1]} columns do not "
                f"meet {other.shape[-2]} rows"
            )
    leading = ", ".join(f"{name} {array.shape[:-2]}" for name, array in named.items())
    try:
        batch = broadcast(*(array.shape[:-2] for array in factors))
    except ValueError as error:
        raise ArgumentError(f"the leading axes of {leading} do not broadcast") from error
    shape = (*batch, factors[0].shape[-2], factors[-1].shape[-1])
    if add is not None:
        try:
            shape = (*broadcast(batch, add.shape[:-2]), *shape[-2:])
            add = broadcast_to(add, shape)
        except ValueError as error:
            raise ArgumentError(f"add has shape {add.shape}; accepted: what broadcasts to {shape}") from error
    dtype = promoted(named if add is None else {**named, "add": add})
    if dtype not in LETTERS:
        types = " and ".join(f"{name} is {array.dtype}" for name, array in named.items())
        raise DTypeError(f"{types}; accepted: {ACCEPTED}")
    return ChainSpec(tuple(factors), add, shape, dtype)


def chain(a: Any, b: Any, c: Any, add: Any, out: Any) -> Any:
    """``tw.chain`` with every check and every copy that may be needed."""
    given = {"a": a, "b": b} | ({} if c is None else {"c": c})
    backend = backend_of(**given, add=add, out=out)
    with backend.current():
        taken = {name: backend.view(value, name) for name, value in given.items()}
        added = None if add is None else backend.view(add, "add")[0]
        spec = chain_spec([array for array, _ in taken.values()], added)
        target = None
        if out is not None:
            gpu = backend.kind == "cuda"
            target = checked_out(backend.view_out(out), spec.shape, spec.dtype, gpu=gpu)
        done = _run(backend, spec, target)
        result = done.result
        if done.run is not None and (target is None or result is target):
            third = spec.factors[2] if c is not None else None
            arrays = (*spec.factors[:2], third, spec.add, result)
            backend.remember_chain((a, b, c, add, out), arrays, done.job, done.run)
        if done.products is not None and (out is None or result is out):
            _remember((a, b, c, add, out), spec, done.products)
        if target is None:
            return taken["a"][1](result)
        if result is not target:
            backend.assign(target, result)
        return out


@dataclass(frozen=True, slots=True)
class Done:
    """A result; ``job`` and ``run`` of the kernel that computed it, None where it was composed; ``products``
    that it was composed of in this process's memory."""

    result: Layout
    job: Any = None
    run: Any = None
    products: Products | None = None


def _remember(arguments: Any, spec: ChainSpec, products: Products) -> None:
    """Serve calls like one of arrays of NumPy's, none of which was cast, by its products."""
    given = [x for x in arguments if x is not None]
    if all(type(x) is np.ndarray and x.dtype is spec.dtype for x in given):
        host_chains.remember(arguments, products)


def _run(backend: Backend, spec: ChainSpec, target: Layout | None) -> Done:
    """The result, in ``target`` where it can be computed there."""

    def alike(array: Layout) -> Layout:
        return array if array.dtype == spec.dtype else backend.cast(array, spec.dtype)

    factors = [alike(x) for x in spec.factors]
    add = None if spec.add is None else alike(spec.add)
    arrays = [*factors, *(() if add is None else (add,))]
    if 0 in (x.shape[-1] for x in factors):
        # There are no elements, or no terms of a sum.
        result = backend.empty(spec.shape, spec.dtype)
        backend.scale(result, 0)
        if add is not None:
            backend.assign(result, add)
        return Done(result)
    if target is not None and in_place(arrays, target):
        result, fresh = target, not any(may_share(x, target) for x in arrays)
    else:
        # Matrices that are still to be read must not be overwritten.
        result, fresh = backend.empty(spec.shape, spec.dtype), True
    # No stencil of a processor takes a chain.
    job = chain_of(factors, add, result) if backend.kind == "cuda" else None
    if isinstance(job, ChainJob):
        run = planned(backend, job)[1]
        if run is not None:
            run(job.addresses, backend.stream)
            return Done(result, job, run)
    if not fresh:
        result = backend.empty(spec.shape, spec.dtype)
    return Done(result, products=_composed(backend, factors, add, result))


def in_place(arrays: Sequence[Layout], out: Layout) -> bool:
    """Whether the kernel may write to ``out`` as it computes: each array is elsewhere, or each of its
    matrices is in the very place of the result that it goes into, and is read before that is written."""
    return all(
        not may_share(array, out) or same(array, out) or same(array, out.swapaxes(-1, -2)) for array in arrays
    )


def planned(backend: Backend, job: ChainJob) -> tuple[Plan, Any]:
    """The plan for a chain, and what launches it: None where it is composed of products."""
    key = ("chain", backend.key, job.problem)
    # Another thread may clear the call cache at any moment: look once.
    found: tuple[Plan, Any] | None = call_cache.BOUND.get(key)
    if found is None:
        with making:
            made = chains.plan(job.problem, dispatch.device(backend.kind, backend.index))
            found = made, backend.chain(made)
        call_cache.keep(call_cache.BOUND, key, found)
    return found


def _composed(
    backend: Backend, factors: Sequence[Layout], add: Layout | None, out: Layout
) -> Products | None:
    """The chain by one product after the other, and what served these; None where that is not known."""
    first, right_most = None, False
    shape: tuple[int, ...] = ()
    if len(factors) == 2:
        left, right = factors
    else:
        a, b, c = factors
        right_most = right_first(factors)
        one, other = (b, c) if right_most else (a, b)
        spec = gemm_spec(PLAIN, one, other)
        between, shape = backend.empty(spec.shape, out.dtype), spec.shape
        first = _multiply(backend, spec, between)
        left, right = (a, between) if right_most else (between, c)
    if add is not None:
        backend.assign(out, add)
    options = PLAIN if add is None else ADDED
    last = _multiply(backend, gemm_spec(options, left, right, add), out)
    if last is None or (first is None and shape):
        return None
    return Products(first, shape, right_most, last, out.shape, out.dtype)


def _multiply(backend: Backend, spec: ProductSpec, out: Layout) -> Function | None:
    """One product of a chain into an array that overlaps nothing; in this process's memory by what serves
    such calls of ``gemm``, if there were any before, which is what is returned."""
    if backend.kind != "cpu":
        product.run(backend, spec, out, fresh=True)
        return None
    a, b, scalars = spec.a, spec.b, spec.options.scalars
    trans = spec.options.trans
    call = Call((*scalars, *trans), a, b, out, (a, b, out), scalars, trans)
    known = host_calls.known(call)
    if known is not None and known(a, b, out) is not NotImplemented:
        return known
    done = product.run(backend, spec, out, fresh=True)
    if done.plainly:
        backend.remember(done.bound, replace(call, held=done.held))
    return None
