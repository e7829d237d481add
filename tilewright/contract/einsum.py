"""``tw.einsum`` and ``tw.tensordot``: contractions as stacks of products, on the arrays of any library."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import lru_cache
from operator import index
from typing import Any

import numpy as np
from opt_einsum import get_symbol

from tilewright.arrays.backend import follower, library_of, on_gpu
from tilewright.arrays.layout import LETTERS, no_numbers, promoted
from tilewright.arrays.numpy_ import NUMPY, adopt, adopt_out
from tilewright.arrays.shaping import Shaping
from tilewright.contract.equation import read, separated
from tilewright.contract.links import linked
from tilewright.contract.program import Program, Single, Times, program
from tilewright.contract.remembered import direct, remembered, served_chain, served_product
from tilewright.contract.steps import Calls, run
from tilewright.dtypes import COMPLEX_HALF
from tilewright.errors import ArgumentError, DTypeError
from tilewright.runtime import contraction_calls


def einsum(calls: Calls, arguments: Sequence[Any], out: Any, optimize: Any) -> Any:
    """The contraction, each stack of products by ``calls``."""
    spec, operands = separated(arguments)
    library, given, target, wrap = _taken(operands, out)
    arrays = _alike(library, given)
    plan, dtype = _planned(library, spec, arrays, target, optimize)
    # Arrays as they were given are treated alike again and again.
    plain = dtype is not None and wrap is _itself and not library.follows
    if plain:
        plan = _linked(plan, library, arrays, target)
    served: list[Any] = []

    def product(a: Any, b: Any, out: Any = None) -> Any:
        made = calls.product(a, b, out)
        served.append(served_product(library, a, b, out) if plain else None)
        return made

    def chain(a: Any, b: Any, c: Any, out: Any) -> Any:
        made = calls.chain(a, b, c, out=out)
        served.append(served_chain(a, b, c, out))
        return made

    result = run(Calls(product, chain), library, plan, arrays, dtype, target)
    if plain:
        others = [at for at, (x, y) in enumerate(zip(given, arrays, strict=True)) if x is not y]

        def make() -> contraction_calls.Run:
            made = remembered(calls, library, plan, arrays, dtype, served)
            return _after_casts(library, others, dtype, made) if others else made

        contraction_calls.remember(arguments, out, optimize, make)
        alone = None if others else direct(library, plan, arrays, target, dtype, served)
        if alone is not None:
            contraction_calls.remember_direct(arguments, out, optimize, alone)
    return out if out is not None else wrap(result)


def planned(spec: Any, operands: Sequence[Any], optimize: Any) -> Program:
    """The program of a call, for whoever explains it."""
    library, given, _, wrap = _taken(operands, None)
    arrays = _alike(library, given)
    plan, dtype = _planned(library, spec, arrays, None, optimize)
    plain = dtype is not None and wrap is _itself and not library.follows
    return _linked(plan, library, arrays, None) if plain else plan


def _linked(plan: Program, library: Shaping, arrays: Sequence[Any], out: Any) -> Program:
    """The program with chains in one kernel where there are some and a GPU has one."""
    if library is NUMPY or len(plan.products) < 2:
        return plan
    from tilewright.runtime.backends import backend_of

    if len({array.dtype for array in arrays}) > 1:
        return plan
    backend = backend_of(**{f"operand {number}": x for number, x in enumerate(arrays)})
    with backend.current():
        return linked(plan, backend, library, arrays, out)


def _taken(operands: Sequence[Any], out: Any) -> tuple[Shaping, list[Any], Any, Callable[[Any], Any]]:
    """Operands and ``out`` as arrays of one library, and how a result goes back to the caller.

    Raises ``ArgumentError`` for arrays in different memories, ``DTypeError`` for an ``out`` that is none.
    """
    if out is not None and not hasattr(out, "shape"):
        raise DTypeError(f"out is of type {type(out).__name__}; accepted: an array")
    # Most calls are on arrays of one known class.
    if all(type(x) is np.ndarray for x in operands) and (out is None or type(out) is np.ndarray):
        return NUMPY, list(operands), out, _itself
    followed = follower(*operands) if out is None else None
    if followed is not None:
        return followed, list(operands), None, _itself
    there = [on_gpu(x) for x in operands]
    if out is not None:
        there.append(on_gpu(out))
    if not any(there):
        taken = [adopt(x, f"operand {number}") for number, x in enumerate(operands)]
        return NUMPY, [x for x, _ in taken], None if out is None else adopt_out(out), taken[0][1]
    if not all(there):
        raise ArgumentError("some operands lie on a GPU and others do not; accepted: all in one memory")
    (library, *others) = {library_of(x) for x in (*operands, *(() if out is None else (out,)))}
    if library is not None and not others:
        return library, list(operands), out, _itself
    return _foreign(operands, out)


def _alike(library: Shaping, arrays: Sequence[Any]) -> Sequence[Any]:
    """Operands of the one type that NumPy gives them together.

    Sums and products in between would else be rounded, or overflow, in the type of the operands that come
    first. Raises ``DTypeError`` for types that have none in common.
    """
    kinds = {x.dtype for x in arrays}
    if len(kinds) == 1 and (len(arrays) == 1 or getattr(kinds.pop(), "isnative", True)):
        return arrays
    looks: dict[str, Any] = {f"operand {at}": library.look(library.key(x)) for at, x in enumerate(arrays)}
    types = [look.dtype for look in looks.values()]
    if any(kind is None or no_numbers(kind) for kind in types):
        return arrays
    dtype = promoted(looks)
    return [x if kind == dtype else library.cast(x, dtype) for x, kind in zip(arrays, types, strict=True)]


def _after_casts(
    library: Shaping, which: Sequence[int], dtype: Any, made: contraction_calls.Run
) -> contraction_calls.Run:
    """A remembered contraction of operands some of which are cast first."""

    def run(operands: Sequence[Any], out: Any) -> Any:
        return made([library.cast(x, dtype) if at in which else x for at, x in enumerate(operands)], out)

    return run


def _foreign(operands: Sequence[Any], out: Any) -> tuple[Shaping, list[Any], Any, Callable[[Any], Any]]:
    """The same for arrays on a GPU of several libraries, or of one that is not known: as those of the
    library that makes results."""
    from tilewright.runtime.backends import backend_of

    backend: Any = backend_of(**{f"operand {number}": x for number, x in enumerate(operands)}, out=out)
    with backend.current():
        taken = [backend.view(x, f"operand {number}") for number, x in enumerate(operands)]
        library = backend.library
        if library is None:
            raise ArgumentError("operands are of no known library; accepted: torch or cupy imported")
        arrays = [library.real(view) for view, _ in taken]
        target = None if out is None else library.real(backend.view_out(out))
        wrap = taken[0][1]
        return library, arrays, target, lambda made: wrap(library.view(made, "out"))


def _itself(made: Any) -> Any:
    return made


def _planned(
    library: Shaping, spec: Any, arrays: Sequence[Any], out: Any, optimize: Any
) -> tuple[Program, Any]:
    """The program for some arrays, and the type of the result, None where no kernel knows it."""
    ways = optimize
    if isinstance(optimize, list):
        # As a path of NumPy's begins, too.
        ways = tuple(tuple(step) for step in optimize if step != "einsum_path")
    if not isinstance(ways, Hashable):
        raise ArgumentError(f"optimize={optimize!r}; accepted: what opt_einsum.contract_path takes")
    target = None if out is None else library.key(out)
    found: tuple[Program, Any] = _program(library, spec, tuple(map(library.key, arrays)), target, ways)
    return found


@lru_cache(maxsize=4096)
def _program(library: Shaping, spec: Any, keys: tuple[Any, ...], target: Any, optimize: Any) -> Any:
    layouts = [library.look(key) for key in keys]
    out = None if target is None else library.look(target)
    equation = read(spec, [look.shape for look in layouts])
    types = [look.dtype for look in layouts]
    for number, kind in enumerate(types):
        if kind is not None and no_numbers(kind):
            raise DTypeError(f"operand {number} is {kind}; accepted: numbers")
    dtype = None if any(kind is None for kind in types) else np.result_type(*types)
    if out is not None:
        if out.shape != equation.shape:
            raise ArgumentError(f"out has shape {out.shape}; accepted: {equation.shape}")
        if out.dtype != dtype:
            raise ArgumentError(f"out is {out.dtype}; accepted: {dtype}")
    found = program(
        equation,
        [(look.shape, look.elements) for look in layouts],
        list(optimize) if isinstance(optimize, tuple) else optimize,
        None if out is None else out.elements,
    )
    sums = [
        step for step in found.steps if isinstance(step, Times) or (isinstance(step, Single) and step.summed)
    ]
    if sums and dtype == COMPLEX_HALF:
        raise DTypeError(
            f"{equation.text} of complex half has a step that is no matrix product; accepted: complex64"
        )
    return found, dtype if dtype in LETTERS else None


def tensordot(einsum: Callable[..., Any], a: Any, b: Any, axes: Any) -> Any:
    """The contraction of NumPy's ``tensordot`` by ``einsum``: the last ``axes`` of a with the first of b, or
    pairs of axes."""
    a, b = (x if hasattr(x, "ndim") else adopt(x, name)[0] for x, name in ((a, "a"), (b, "b")))
    dims = a.ndim, b.ndim
    asked = axes
    try:
        if hasattr(axes, "__iter__"):
            asked = tuple(tuple(x) if hasattr(x, "__iter__") else (x,) for x in axes)
        equation = _dotted(dims, asked)
    except (TypeError, ValueError, OverflowError) as error:
        if isinstance(error, ArgumentError):
            raise
        raise ArgumentError(
            f"axes={axes!r}; accepted: a number of axes, or a list for each operand"
        ) from error
    return einsum(equation, a, b)


@lru_cache(maxsize=4096)
def _dotted(dims: tuple[int, int], axes: Any) -> str:
    """The equation of ``tensordot`` for operands of so many axes."""
    if isinstance(axes, tuple):
        of_a, of_b = axes
    else:
        count = index(axes)
        of_a, of_b = range(dims[0] - count, dims[0]), range(count)
    pairs = [
        (index(x) + dims[0] * (x < 0), index(y) + dims[1] * (y < 0)) for x, y in zip(of_a, of_b, strict=True)
    ]
    for side in (0, 1):
        taken = [pair[side] for pair in pairs]
        if len(set(taken)) < len(taken) or not all(0 <= at < dims[side] for at in taken):
            name = "ab"[side]
            raise ArgumentError(f"axes={axes!r} for {name} of {dims[side]} axes; accepted: each axis once")
    left = [get_symbol(x) for x in range(dims[0])]
    right = [get_symbol(x) for x in range(dims[0], sum(dims))]
    for x, y in pairs:
        right[y] = left[x]
    kept = [x for x in left if x not in right] + [x for x in right if x not in left]
    return f"{''.join(left)},{''.join(right)}->{''.join(kept)}"
