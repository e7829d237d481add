"""The calls on arrays of JAX's: products and contractions, put as contractions of two operands each."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from opt_einsum import get_symbol

from tilewright.arrays.layout import LETTERS, TRANSPOSITIONS
from tilewright.arrays.view import ArrayView, imagined
from tilewright.calls.spec import PLAIN, matmul_spec, product_shape
from tilewright.contract.equation import Labels, ordered, read, separated
from tilewright.contract.pair import Term, pair
from tilewright.errors import ArgumentError, DTypeError
from tilewright.jax.lowering import lowered, scaled
from tilewright.jax.primitive import contract, update

ACCEPTED = "float16, bfloat16, float32, float64, complex64 and complex128"


def matmul(a: Any, b: Any) -> Any:
    """``a @ b`` with the shapes of ``jax.numpy.matmul``, by Tilewright's kernels where these are faster.

    a: (..., m, k) or (k,). b: (..., k, n) or (k,), of one type or of types that JAX promotes to one. Returns
    (..., m, n), without the axis that a vector did not have, an array of JAX's. ``jit``, ``vmap``, ``grad``,
    ``jvp`` and what is made of them see one primitive, whose rules give it back. An axis that is mapped or
    broadcast is read where it lies, and not copied. Types that no kernel knows are left to JAX.

    Raises ``ArgumentError`` (a ``ValueError``) for shapes that do not fit, ``DeviceError`` where the device
    of the call has no kernels of ours because something is not installed.
    """
    return _matmul(a, b)


def _multiplied(a: Any, b: Any) -> Any:
    x, y = _promoted(a, b)
    found = matmul_spec(PLAIN[False], _layout(x), _layout(y))
    if x.dtype not in LETTERS:
        return jnp.matmul(x, y)
    x = x.reshape(1, *x.shape) if x.ndim == 1 else x
    y = y.reshape(*y.shape, 1) if y.ndim == 1 else y
    return _product(x, y, found.shape).reshape(found.final)


# A program for each kind of call, as JAX's own functions are: a repeated call is a look at a cache.
_matmul = jax.jit(_multiplied)


def _updated(a: Any, b: Any, c: Any, alpha: Any, beta: Any, trans_a: str, trans_b: str) -> Any:
    x, y, *rest = _promoted(a, b) if c is None else _promoted(a, b, c)
    shapes = [
        v.shape if trans == "n" else (*v.shape[:-2], v.shape[-1], v.shape[-2])
        for v, trans in ((x, trans_a), (y, trans_b))
    ]
    shape = product_shape(*shapes)
    if not rest:
        return _product(x, y, shape, trans_a, trans_b, alpha)
    return _product(x, y, shape, trans_a, trans_b, alpha, rest[0], beta)


_gemm = jax.jit(_updated, static_argnames=("alpha", "beta", "trans_a", "trans_b"))


def gemm(
    a: Any,
    b: Any,
    c: Any = None,
    *,
    alpha: complex = 1,
    beta: complex = 0,
    trans_a: str = "n",
    trans_b: str = "n",
) -> Any:
    """alpha * op(a) @ op(b) + beta * c, for one product or a stack of them, as ``tilewright.gemm`` says.

    a, b: (..., rows, columns); op is "n" (as it is), "t" (transposed) or "c" (conjugated and transposed),
    read by the kernel where it lies. c: what broadcasts to the result, not looked at if beta is 0; the kernel
    adds to it in place where nothing else needs it, and else to a copy that XLA makes. ``alpha`` and ``beta``
    are plain numbers, compiled in. Gradients are those of a, b and c.

    Raises ``ArgumentError`` for letters, scalars and shapes that do not fit, ``DTypeError`` for types that no
    kernel knows.
    """
    for name, letter in (("trans_a", trans_a), ("trans_b", trans_b)):
        if letter not in TRANSPOSITIONS:
            raise ArgumentError(f"{name}={letter!r}; accepted: 'n', 't', 'c'")
    for name, scalar in (("alpha", alpha), ("beta", beta)):
        if not isinstance(scalar, int | float | complex | np.number):
            raise ArgumentError(f"{name}={scalar!r}; accepted: a number")
    arrays = {"a": a, "b": b} | ({} if c is None or beta == 0 else {"c": c})
    for name in "ab":
        if jnp.ndim(arrays[name]) < 2:
            raise ArgumentError(f"{name} has shape {jnp.shape(arrays[name])}; accepted: two or more axes")
    dtype = jnp.result_type(*arrays.values())
    if dtype not in LETTERS:
        raise DTypeError(f"the operands are of {dtype}; accepted: {ACCEPTED}")
    for name, scalar in (("alpha", alpha), ("beta", beta)):
        if complex(scalar).imag and not jnp.issubdtype(dtype, jnp.complexfloating):
            raise ArgumentError(f"{name}={scalar} for arrays of {dtype}; accepted: a real number")
    numbers = complex(alpha), complex(beta)
    alpha, beta = (x if x.imag else x.real for x in numbers)
    return _gemm(a, b, arrays.get("c"), alpha=alpha, beta=beta, trans_a=trans_a, trans_b=trans_b)


def einsum(*arguments: Any, optimize: Any = "auto") -> Any:
    """Einstein's summation, ``einsum(equation, *operands)`` or ``einsum(operand, labels, ..., labels)``, as
    ``tilewright.einsum`` says, on arrays of JAX's: each step of the path is a stack of products that is read
    where it lies. ``optimize`` is what ``opt_einsum.contract_path`` takes.

    Raises ``ArgumentError`` for an equation that is none, for labels and extents that do not fit, and for
    another ``optimize``.
    """
    spec, operands = separated(arguments)
    # As a path of NumPy's begins, too.
    ways = optimize if not isinstance(optimize, list) else tuple(map(tuple, _without_name(optimize)))
    if not isinstance(ways, Hashable):
        raise ArgumentError(f"optimize={optimize!r}; accepted: what opt_einsum.contract_path takes")
    return _einsum(spec, *operands, optimize=ways)


def _without_name(path: list[Any]) -> list[Any]:
    return [step for step in path if step != "einsum_path"]


def _contracted(spec: Any, *operands: Any, optimize: Any) -> Any:
    optimize = list(optimize) if isinstance(optimize, tuple) else optimize
    arrays = _promoted(*operands)
    equation = read(spec, [x.shape for x in arrays])
    if arrays[0].dtype not in LETTERS:
        return jnp.einsum(equation.text, *arrays, optimize=optimize)
    sizes = {label: extent for label, extent in equation.extents.items() if extent != 1}
    wanted = tuple(label for label in equation.out if label in sizes)
    held = [_single(x, labels, sizes) for x, labels in zip(arrays, equation.terms, strict=True)]
    for group in ordered(equation, [x.shape for x in arrays], optimize):
        chosen = list(group)
        while len(chosen) > 1:
            left, right = chosen[:2]
            rest = [one for at, one in enumerate(held) if at not in (left, right)]
            keep = {*wanted, *(label for _, labels in rest for label in labels)}
            held = [*rest, _met(held[left], held[right], keep, () if rest else wanted, sizes)]
            # Those that stood behind move up, and the product is the last of what is left.
            chosen = [len(held) - 1, *(at - (at > left) - (at > right) for at in chosen[2:])]
    ((x, labels),) = held
    x = jnp.einsum(f"{''.join(labels)}->{''.join(wanted)}", x)
    return x.reshape(equation.shape)


_einsum = jax.jit(_contracted, static_argnums=(0,), static_argnames=("optimize",))


def register() -> None:
    """Tell XLA of the handlers, which the first call that is lowered does by itself: for programs that were
    lowered by another process, and are only run in this one.

    Raises ``UnsupportedError`` for a JAX with another interface.
    """
    lowered()


# ---- products as contractions


def _promoted(*values: Any) -> list[Any]:
    """Arguments as arrays of one type."""
    arrays = [jnp.asarray(value) for value in values]
    dtype = jnp.result_type(*arrays)
    return [x.astype(dtype) for x in arrays]


def _layout(x: Any) -> ArrayView:
    """An array's shape and type."""
    return imagined(x.shape, np.dtype(x.dtype))


def _product(
    x: Any,
    y: Any,
    shape: tuple[int, ...],
    trans_x: str = "n",
    trans_y: str = "n",
    alpha: Any = 1,
    z: Any = None,
    beta: Any = 0,
) -> Any:
    """alpha op(x) op(y), of a shape (..., m, n), and beta z where there is a z, which may make more of it.

    Raises ``ArgumentError`` for a z that does not fit.
    """
    lead = "".join(map(get_symbol, range(3, len(shape) + 1)))
    m, n, k = (get_symbol(number) for number in range(3))
    of_x = (m, k) if trans_x == "n" else (k, m)
    of_y = (k, n) if trans_y == "n" else (n, k)
    x, a = _apart(x, lead, shape[:-2])
    y, b = _apart(y, lead, shape[:-2])
    complex_type = jnp.issubdtype(x.dtype, jnp.complexfloating)
    parameters = {
        "a": a + "".join(of_x),
        "b": b + "".join(of_y),
        "out": f"{lead}{m}{n}",
        "conj_a": complex_type and trans_x == "c",
        "conj_b": complex_type and trans_y == "c",
        "alpha": alpha,
    }
    if z is None:
        return contract(x, y, **parameters)
    try:
        whole = np.broadcast_shapes(shape, z.shape)
    except ValueError as error:
        raise ArgumentError(f"c has shape {z.shape}; accepted: what broadcasts to {shape}") from error
    if whole != shape:
        # One product for several parts of z.
        return contract(x, y, **parameters) + scaled(z, beta)
    return update(x, y, jnp.broadcast_to(z, shape), beta=beta, **parameters)


def _apart(x: Any, lead: str, shape: Sequence[int]) -> tuple[Any, str]:
    """An operand without the leading axes along which it is broadcast, and the labels of the others."""
    own = x.shape[:-2]
    labels = lead[len(lead) - len(own) :]
    wide = shape[len(shape) - len(own) :]
    left = [at for at, (extent, whole) in enumerate(zip(own, wide, strict=True)) if extent == whole]
    x = x.reshape(*(own[at] for at in left), *x.shape[-2:])
    return x, "".join(labels[at] for at in left)


# ---- steps of a contraction


One = tuple[Any, Labels]
"""An array and its labels."""


def _single(x: Any, labels: Labels, sizes: dict[str, int]) -> One:
    """An operand without axes of one element, and with diagonals taken where a label stands twice."""
    axes = [at for at, extent in enumerate(x.shape) if extent != 1]
    x, left = x.reshape(tuple(x.shape[at] for at in axes)), tuple(labels[at] for at in axes)
    unique = tuple(dict.fromkeys(left))
    if len(unique) < len(left):
        x = jnp.einsum(f"{''.join(left)}->{''.join(unique)}", x)
    return x, unique


def _met(left: One, right: One, keep: set[str], wanted: Labels, sizes: dict[str, int]) -> One:
    """Two operands as one, in the order of labels that costs least, or that is ``wanted``."""
    (x, a), (y, b) = (_summed(one, {*keep, *other[1]}) for one, other in ((left, right), (right, left)))
    order = wanted
    if not order:
        order = pair(Term.packed(a, sizes), Term.packed(b, sizes), keep).made.labels
    parameters = {"conj_a": False, "conj_b": False, "alpha": 1}
    made = contract(x, y, a="".join(a), b="".join(b), out="".join(order), **parameters)
    return made, order


def _summed(one: One, needed: set[str]) -> One:
    """An operand whose sums are taken over what neither the other one nor the result has."""
    x, labels = one
    axes = tuple(at for at, label in enumerate(labels) if label not in needed)
    return (x.sum(axes) if axes else x), tuple(label for label in labels if label in needed)
