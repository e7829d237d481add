"""Products of two arrays as a primitive of JAX, and its rules.

The primitive is a contraction of two operands by labels, ``einsum`` with two terms: batched products,
transposed ones and broadcast ones differ in their labels alone. So is all that JAX makes of them: a mapped
axis is one more label wherever it lies, and the gradients are contractions of the same labels in other roles.
No rule moves an element, and each of them gives the primitive back, so that they can be applied again. A
second primitive adds the contraction to an array; what is derived from it is contractions and sums.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir
from opt_einsum import get_symbol

from tilewright.jax import lowering
from tilewright.jax.handler import TARGETS
from tilewright.jax.lowering import scaled

CONTRACT = Primitive("tilewright_contract")
"""Parameters: ``a``, ``b`` and ``out``, a text of labels each; every label of an operand is in the other one
or in ``out``, once in each. ``conj_a``, ``conj_b``: that operand enters conjugated. ``alpha``: a factor."""

UPDATE = Primitive("tilewright_update")
"""A contraction, and ``beta`` times a third operand, whose labels are those of ``out``."""


def contract(x: Any, y: Any, **parameters: Any) -> Any:
    """alpha times the sum of x y over every label that is not in ``out``."""
    return CONTRACT.bind(*_varying(x, y), **parameters)


def update(x: Any, y: Any, z: Any, **parameters: Any) -> Any:
    """The same and beta z, written over z where nobody needs that any more."""
    return UPDATE.bind(*_varying(x, y, z), **parameters)


def _varying(*arrays: Any) -> list[Any]:
    """Arrays that in ``jax.shard_map`` all vary along the same axes of the mesh."""
    vary = [jax.typeof(x).mat.varying for x in arrays]
    every = frozenset().union(*vary)
    return [
        jax.lax.pcast(x, tuple(sorted(every - have)), to="varying") if every - have else x
        for x, have in zip(arrays, vary, strict=True)
    ]


# ---- what they are


@lru_cache(maxsize=4096)
def _compiled(primitive: Any, parameters: tuple[tuple[str, Any], ...]) -> Any:
    return jax.jit(partial(primitive.bind, **dict(parameters)))


def _run(primitive: Any, *arrays: Any, **parameters: Any) -> Any:
    return _compiled(primitive, tuple(sorted(parameters.items())))(*arrays)


def _described(x: Any, y: Any, *_: Any, a: str, b: str, out: str, **__: Any) -> Any:
    extents = {**dict(zip(a, x.shape, strict=True)), **dict(zip(b, y.shape, strict=True))}
    shape = tuple(extents[label] for label in out)
    # Along which axes of a mesh it varies is the same of both operands; XLA does not cut the call itself.
    spread = x.sharding.update(spec=jax.P(*[None] * len(shape)))
    return x.update(shape=shape, weak_type=False, sharding=spread)


for _primitive in (CONTRACT, UPDATE):
    _primitive.def_impl(partial(_run, _primitive))
    _primitive.def_abstract_eval(_described)


# ---- what JAX makes of them


def _of_x(ct: Any, x: Any, y: Any, **parameters: Any) -> Any:
    return _cotangent(ct, y, "a", "b", **parameters)


def _of_y(ct: Any, x: Any, y: Any, **parameters: Any) -> Any:
    return _cotangent(ct, x, "b", "a", **parameters)


def _cotangent(ct: Any, other: Any, mine: str, others: str, **p: Any) -> Any:
    """The cotangent of one operand: JAX's has no conjugation of its own, so that of conj(x) is conj(ct)."""
    flipped = p[f"conj_{mine}"]
    return contract(
        *(ct, other),
        a=p["out"],
        b=p[others],
        out=p[mine],
        conj_a=flipped,
        conj_b=p[f"conj_{others}"] != flipped,
        alpha=complex(p["alpha"]).conjugate() if flipped else p["alpha"],
    )


ad.defbilinear(CONTRACT, _of_x, _of_y)
ad.defjvp(
    UPDATE,
    lambda g, x, y, z, beta, **parameters: contract(g, y, **parameters),
    lambda g, x, y, z, beta, **parameters: contract(x, g, **parameters),
    lambda g, x, y, z, beta, **_: scaled(g, beta),
)


def _labelled(axes: Sequence[Any], *, a: str, b: str, out: str, **parameters: Any) -> dict[str, Any]:
    """The parameters with a label for the mapped axis; its axis comes first in the result."""
    new = next(label for number in range(len(a) + len(b) + 1) if (label := get_symbol(number)) not in a + b)
    a, b = (
        labels if axis is None else labels[:axis] + new + labels[axis:]
        for labels, axis in zip((a, b), axes, strict=True)
    )
    return {"a": a, "b": b, "out": new + out, **parameters}


def _mapped(arrays: Sequence[Any], axes: Sequence[Any], **parameters: Any) -> tuple[Any, int]:
    return contract(*arrays, **_labelled(axes, **parameters)), 0


def _update_mapped(
    arrays: Sequence[Any], axes: Sequence[Any], *, beta: Any, **parameters: Any
) -> tuple[Any, int]:
    (x, y, z), (of_x, of_y, of_z) = arrays, axes
    z = z if of_z is None else jnp.moveaxis(z, of_z, 0)
    if of_x is of_y is None:
        # One product for all of z.
        return contract(x, y, **parameters)[None] + scaled(z, beta), 0
    size = y.shape[of_y] if of_x is None else x.shape[of_x]
    z = jnp.broadcast_to(z[None], (size, *z.shape)) if of_z is None else z
    return update(x, y, z, beta=beta, **_labelled((of_x, of_y), **parameters)), 0


# By its name, for what stands for JAX where the pages are made without it has no other way in.
batching.primitive_batchers.__setitem__(CONTRACT, _mapped)
batching.primitive_batchers.__setitem__(UPDATE, _update_mapped)

for _primitive in (CONTRACT, UPDATE):
    mlir.register_lowering(_primitive, mlir.lower_fun(lowering.by_xla, multiple_results=False))
    for _kind in TARGETS:
        _rule = mlir.lower_fun(partial(lowering.by_kernel, _kind), multiple_results=False)
        mlir.register_lowering(_primitive, _rule, platform=_kind)
