"""How a contraction is compiled: as a call of a handler, or as XLA's own operations."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from opt_einsum import get_symbol

from tilewright.arrays.layout import LETTERS
from tilewright.contract.equation import Labels
from tilewright.contract.pair import Pair, Term, pair
from tilewright.contract.program import View
from tilewright.forks import making
from tilewright.jax.handler import TARGETS
from tilewright.jax.plans import Call, Lies, Lowered
from tilewright.jax.table import key_of


@lru_cache(maxsize=1)
def _made() -> Lowered:
    return Lowered()


def lowered() -> Lowered:
    """The handlers of this process, made and registered with XLA once."""
    with making:
        return _made()


def scaled(z: Any, beta: Any) -> Any:
    """beta z, of z's type."""
    return z if beta == 1 else z * jnp.asarray(beta, z.dtype)


def by_xla(
    x: Any,
    y: Any,
    z: Any = None,
    *,
    a: str,
    b: str,
    out: str,
    conj_a: bool,
    conj_b: bool,
    alpha: Any,
    beta: Any = 0,
) -> Any:
    """alpha times a contraction, and beta z, by XLA's own operations, as exactly as by ours: not in
    TensorFloat-32."""
    x, y = jnp.conj(x) if conj_a else x, jnp.conj(y) if conj_b else y
    made = scaled(jnp.einsum(f"{a},{b}->{out}", x, y, precision=jax.lax.Precision.HIGHEST), alpha)
    return made if z is None else made + scaled(z, beta)


def by_kernel(
    kind: str, x: Any, y: Any, z: Any = None, *, a: str, b: str, out: str, alpha: Any, **parameters: Any
) -> Any:
    """The same by a kernel on one kind of device, or by XLA where that is faster or all there is."""
    extents = {**dict(zip(a, x.shape, strict=True)), **dict(zip(b, y.shape, strict=True))}
    whole = tuple(extents[label] for label in out)
    x, a = _without_units(x, a, extents)
    y, b = _without_units(y, b, extents)
    z, kept = (None, _units_less(out, extents)) if z is None else _without_units(z, out, extents)
    if set(a) & set(b) - set(kept) and 0 not in extents.values():
        one, other = Term.packed(tuple(a), extents), Term.packed(tuple(b), extents)
        found = _read(one, other, tuple(kept), extents)
        views = [
            View.of(term, reading.labels, reading.shape, reading.copied)
            for term, reading in ((one, found.a), (other, found.b), (found.made, found.out))
        ]
        conj = parameters["conj_a"], parameters["conj_b"]
        lies = [_lies(view) for view in views]
        letter = LETTERS[np.dtype(x.dtype)].letter
        scalars = complex(alpha), complex(parameters.get("beta", 0))
        asked = Call(kind, letter, lies[0], lies[1], lies[2], conj, *scalars)
        call = lowered().add(asked, _index(kind))
        if call is not None:
            arrays = _put(x, views[0]), _put(y, views[1]), *(() if z is None else (z,))
            return _called(call, arrays, found, kept).reshape(whole)
    return by_xla(x, y, z, a=a, b=b, out=kept, alpha=alpha, **parameters).reshape(whole)


def _read(one: Term, other: Term, kept: Labels, extents: dict[str, int]) -> Pair:
    """How two operands are read. The result is written as its labels stand, for XLA would else have to put it
    in that order, unless that saves copies of more than the result."""
    free, made = pair(one, other, kept, wanted=kept), Term.packed(kept, extents)
    fixed = pair(one, other, kept, made)
    return fixed if fixed.copies < free.copies + made.size and fixed.apart <= free.apart else free


def _without_units(x: Any, labels: str, extents: dict[str, int]) -> tuple[Any, str]:
    """An operand without its axes of one element, which kernels do not ask for."""
    left = _units_less(labels, extents)
    return x.reshape(tuple(extents[label] for label in left)), left


def _units_less(labels: str, extents: dict[str, int]) -> str:
    return "".join(label for label in labels if extents[label] != 1)


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
    """A call of the handler, whose result lies as the kernel writes it and has its axes as ``kept`` says. A
    third array is what it is written over.

    A workspace is a second result that nobody reads: XLA finds memory for it as for any result, which nobody
    else has while the call runs or is replayed, and nothing is allocated in a call.
    """
    extents = dict(zip(found.made.labels, found.made.extents, strict=True))
    results = [jax.ShapeDtypeStruct(tuple(extents[label] for label in kept), arrays[0].dtype)]
    order = tuple(map(kept.index, found.made.labels))
    if call.room:
        results.append(jax.ShapeDtypeStruct((call.room,), np.uint8))
    over = len(arrays) > 2
    run = jax.ffi.ffi_call(
        TARGETS[call.kind],
        results,
        vmap_method=None,
        input_layouts=(None, None, order) if over else None,
        output_layouts=(order, None)[: len(results)],
        input_output_aliases={2: 0} if over else None,
    )
    made: Any = run(*arrays, call=call.text, key=np.int64(key_of(call.text)))[0]
    return made


def _index(kind: str) -> int:
    """The number of the device that calls are planned for."""
    if kind == "cpu":
        return 0
    return int(jax.local_devices(backend="cuda")[0].local_hardware_id or 0)
