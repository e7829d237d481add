"""Products of two arrays as one primitive of JAX, and its rules.

The primitive is a contraction of two operands by labels, ``einsum`` with two terms: batched products,
transposed ones and broadcast ones differ in their labels alone. So is all that JAX makes of them: a mapped
axis is one more label wherever it lies, and the gradients are contractions of the same labels in other roles.
No rule moves an element, and each of them gives the primitive back, so that they can be applied again.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir
from opt_einsum import get_symbol

from tilewright.arrays.layout import LETTERS
from tilewright.contract.equation import Labels
from tilewright.contract.pair import Pair, Term, pair
from tilewright.contract.program import View
from tilewright.forks import making
from tilewright.jax.handler import TARGETS
from tilewright.jax.plans import Call, Lies, Lowered
from tilewright.jax.table import key_of

CONTRACT = Primitive("tilewright_contract")
"""Parameters: ``a``, ``b`` and ``out``, a text of labels each; every label of an operand is in the other one
or in ``out``, once in each. ``conj_a``, ``conj_b``: that operand enters conjugated. ``alpha``: a factor."""


def contract(x: Any, y: Any, **parameters: Any) -> Any:
    """alpha times the sum of x y over every label that is not in ``out``; in ``jax.shard_map`` both vary
    along the same axes of the mesh."""
    vary = [jax.typeof(v).mat.varying for v in (x, y)]
    both = vary[0] | vary[1]
    x, y = (
        jax.lax.pcast(v, tuple(sorted(both - have)), to="varying") if both - have else v
        for v, have in zip((x, y), vary, strict=True)
    )
    return CONTRACT.bind(x, y, **parameters)


# ---- what it is


@lru_cache(maxsize=4096)
def _compiled(parameters: tuple[tuple[str, Any], ...]) -> Any:
    return jax.jit(partial(CONTRACT.bind, **dict(parameters)))


@CONTRACT.def_impl  # type: ignore[untyped-decorator]  # JAX's types are not read
def _run(x: Any, y: Any, **parameters: Any) -> Any:
    return _compiled(tuple(sorted(parameters.items())))(x, y)


@CONTRACT.def_abstract_eval  # type: ignore[untyped-decorator]  # the same
def _described(x: Any, y: Any, *, a: str, b: str, out: str, **_: Any) -> Any:
    extents = {**dict(zip(a, x.shape, strict=True)), **dict(zip(b, y.shape, strict=True))}
    shape = tuple(extents[label] for label in out)
    # Along which axes of a mesh it varies is the same of both operands; XLA does not cut the call itself.
    spread = x.sharding.update(spec=jax.P(*[None] * len(shape)))
    return x.update(shape=shape, weak_type=False, sharding=spread)


# ---- what JAX makes of it


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


def _mapped(
    arrays: Sequence[Any], axes: Sequence[Any], *, a: str, b: str, out: str, **parameters: Any
) -> tuple[Any, int]:
    """One product more, with a label for the mapped axis; its axis comes first in the result."""
    new = next(label for number in range(len(a) + len(b) + 1) if (label := get_symbol(number)) not in a + b)
    a, b = (
        labels if axis is None else labels[:axis] + new + labels[axis:]
        for labels, axis in zip((a, b), axes, strict=True)
    )
    return contract(*arrays, a=a, b=b, out=new + out, **parameters), 0


# By its name, for what stands for JAX where the pages are made without it has no other way in.
batching.primitive_batchers.__setitem__(CONTRACT, _mapped)


# ---- how it is compiled


@lru_cache(maxsize=1)
def _made() -> Lowered:
    return Lowered()


def lowered() -> Lowered:
    """The handlers of this process, made and registered with XLA once."""
    with making:
        return _made()


def _by_xla(x: Any, y: Any, *, a: str, b: str, out: str, conj_a: bool, conj_b: bool, alpha: Any) -> Any:
    """The same by XLA's own operations, as exactly as by ours: not in TensorFloat-32."""
    x, y = jnp.conj(x) if conj_a else x, jnp.conj(y) if conj_b else y
    made = jnp.einsum(f"{a},{b}->{out}", x, y, precision=jax.lax.Precision.HIGHEST)
    return made if alpha == 1 else made * jnp.asarray(alpha, made.dtype)


def _by_kernel(
    kind: str, x: Any, y: Any, *, a: str, b: str, out: str, conj_a: bool, conj_b: bool, alpha: Any
) -> Any:
    """The same by a kernel on one kind of device, or by XLA where that is faster or all there is."""
    parameters = {"conj_a": conj_a, "conj_b": conj_b, "alpha": alpha}
    extents = {**dict(zip(a, x.shape, strict=True)), **dict(zip(b, y.shape, strict=True))}
    whole = tuple(extents[label] for label in out)
    x, a = _without_units(x, a, extents)
    y, b = _without_units(y, b, extents)
    kept = "".join(label for label in out if extents[label] != 1)
    summed = set(a) & set(b) - set(kept)
    if not summed or 0 in extents.values():
        return _by_xla(x, y, a=a, b=b, out=kept, **parameters).reshape(whole)
    one, other = Term.packed(tuple(a), extents), Term.packed(tuple(b), extents)
    found = _read(one, other, tuple(kept), extents)
    of_x, of_y, made = (
        View.of(term, reading.labels, reading.shape, reading.copied)
        for term, reading in ((one, found.a), (other, found.b), (found.made, found.out))
    )
    letter = LETTERS[jnp.dtype(x.dtype)].letter
    call = Call(kind, letter, _lies(of_x), _lies(of_y), _lies(made), (conj_a, conj_b), complex(alpha))
    if not lowered().add(call, _index(kind)):
        return _by_xla(x, y, a=a, b=b, out=kept, **parameters).reshape(whole)
    return _called(call, (_put(x, of_x), _put(y, of_y)), found, kept).reshape(whole)


def _read(one: Term, other: Term, kept: Labels, extents: dict[str, int]) -> Pair:
    """How two operands are read. The result is written as its labels stand, for XLA would else have to put it
    in that order, unless that saves copies of more than the result."""
    free, made = pair(one, other, kept, wanted=kept), Term.packed(kept, extents)
    fixed = pair(one, other, kept, made)
    return fixed if fixed.copies < free.copies + made.size and fixed.apart <= free.apart else free


def _without_units(x: Any, labels: str, extents: dict[str, int]) -> tuple[Any, str]:
    """An operand without its axes of one element, which kernels do not ask for."""
    left = "".join(label for label in labels if extents[label] != 1)
    return x.reshape(tuple(extents[label] for label in left)), left


def _lies(view: View) -> Lies:
    """Where a kernel finds the elements of a view; of a copy, without gaps."""
    steps = view.steps
    if steps is None:
        labels = tuple(map(get_symbol, range(len(view.shape))))
        steps = Term.packed(labels, dict(zip(labels, view.shape, strict=True))).strides
    return view.shape, steps


def _put(x: Any, view: View) -> Any:
    """An operand as it lies, or in the order in which the kernel can read it."""
    return x if view.steps is not None or view.axes is None else jnp.transpose(x, view.axes)


def _called(call: Call, arrays: Sequence[Any], found: Pair, kept: str) -> Any:
    """A call of the handler, whose result lies as the kernel writes it and has its axes as ``kept`` says."""
    extents = dict(zip(found.made.labels, found.made.extents, strict=True))
    shape = jax.ShapeDtypeStruct(tuple(extents[label] for label in kept), arrays[0].dtype)
    order = tuple(map(kept.index, found.made.labels))
    run = jax.ffi.ffi_call(TARGETS[call.kind], shape, output_layouts=order, vmap_method=None)
    return run(*arrays, call=call.text, key=np.int64(key_of(call.text)))


def _index(kind: str) -> int:
    """The number of the device that calls are planned for."""
    if kind == "cpu":
        return 0
    return int(jax.local_devices(backend="cuda")[0].local_hardware_id or 0)


mlir.register_lowering(CONTRACT, mlir.lower_fun(_by_xla, multiple_results=False))
for _kind in TARGETS:
    mlir.register_lowering(
        CONTRACT, mlir.lower_fun(partial(_by_kernel, _kind), multiple_results=False), platform=_kind
    )
