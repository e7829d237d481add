"""Groups that share an axis of one product: a mixture of experts, segments of a graph, and their gradients.

On a GPU one launch serves all groups, whose borders it reads there: see ``stencils.cuda.segments``. In this
process's memory each group is a product of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import product as places
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from tilewright.arrays.backend import looker
from tilewright.arrays.layout import ACCEPTED, LETTERS, WIDEST, promoted
from tilewright.arrays.overlap import bounds, may_share
from tilewright.arrays.segments import SegmentJob, SegmentShapes, segments_of, shapes_of
from tilewright.arrays.tracing import untraced
from tilewright.arrays.view import Array, ArrayView, Layout, address_of, aligned
from tilewright.calls import product
from tilewright.calls.settings import threads
from tilewright.calls.spec import PLAIN, Options, checked_out, forced_config, matmul_spec, of_pairs
from tilewright.dtypes import COMPLEX_HALF, FLOAT16
from tilewright.errors import ArgumentError, DTypeError
from tilewright.forks import making
from tilewright.model import Config, Plan
from tilewright.planning import dispatch
from tilewright.runtime import call_cache
from tilewright.runtime.backend import Backend
from tilewright.runtime.backends import backend_of

INTEGERS = (np.dtype(np.int32), np.dtype(np.int64))
"""The types of borders."""


@dataclass(frozen=True, slots=True)
class SegmentSpec:
    """out = the products of groups, whose ``split`` axis ``ends`` divides; ``sizes``: these are sizes.
    ``arrays`` are a, b and out, of one type; out overlaps none. ``pairs``: they are pairs of halves."""

    arrays: tuple[Layout, Layout, Layout]
    ends: Layout
    sizes: bool
    shapes: SegmentShapes
    split: str
    pairs: bool


@untraced
def segment_matmul(
    a: Any,
    b: Any,
    offsets: Any = None,
    *,
    sizes: Any = None,
    split: str = "m",
    out: Any = None,
    dtype: str | None = None,
    config: Mapping[str, Any] | None = None,
) -> Any:
    """Products of groups that share an axis of ``a``, of ``b`` or of both, which is split among them.

    Group g has the indices from ``begin`` to ``end`` of that axis, ``offsets[g - 1]`` (0 for the first) to
    ``offsets[g]``:

    ========  ==============  ==============  ==============  ==============================================
    split     a               b               result          of group g
    ========  ==============  ==============  ==============  ==============================================
    ``"m"``   (..., T, k)     (G, ..., k, n)  (..., T, n)     a[..., begin:end, :] @ b[g], in these rows
    ``"n"``   (G, ..., m, k)  (..., k, T)     (..., m, T)     a[g] @ b[..., begin:end], in these columns
    ``"k"``   (..., m, T)     (..., T, n)     (G, ..., m, n)  a[..., begin:end] @ b[..., begin:end, :]
    ========  ==============  ==============  ==============  ==============================================

    "m" is what a mixture of experts and messages of typed edges ask for, and "k" the gradient of its ``b``
    (with ``a`` transposed): ``torch._grouped_mm(a, b, offs=offsets)``, DGL's ``segment_mm`` (with ``sizes``),
    PyG's ``segment_matmul`` (``offsets`` of G + 1). Leading axes broadcast as in ``matmul``, and any strides
    do: ``b.mT`` costs nothing. Types are those of ``gemm``; ``dtype="hc"`` as there.

    ``offsets``: G integers (int32 or int64), ends of groups, not decreasing; for "m" and "n" also G + 1, the
    first then being where the first group begins. Or ``sizes``: G integers. They lie where the arrays lie: on
    a GPU nothing waits for them, and the call may be recorded into a CUDA graph once a like one was made.
    A group may be empty: for "k" its result is zeros. Rows (or columns) that belong to no group are zeros.
    Borders that run backwards or past the end are clamped, because the host does not read them: an offset
    counts as no less than 0 and the offsets before it, and no more than T; a size as no less than 0, and no
    more than what is left.

    Returns ``out``, which has the result's shape and type, or a new array. ``config`` forces parameters of
    the kernel on a GPU, for people who tune.

    Raises ``ArgumentError`` for shapes that do not go together, borders that are no such integers, another
    ``split`` or an unusable ``out``, ``DTypeError`` for other types, and what ``matmul`` raises for tensors
    and memories. On a processor, where borders are known, they are clamped just the same.
    """
    if (offsets is None) == (sizes is None):
        raise ArgumentError("offsets and sizes are both given, or neither; accepted: one of them")
    name, given = ("offsets", offsets) if sizes is None else ("sizes", sizes)
    pairs = of_pairs(dtype)
    if config is None and type(a) is not np.ndarray:
        called = _call_of(a, b, given, out, (name, split, pairs))
        found = None if called is None else call_cache.BOUND.get(called[0])
        if found is not None and called is not None:
            result = found(*called[1:], out)
            if result is not None:
                return result
    backend = backend_of(a=a, b=b, out=out, **{name: given})
    with backend.current():
        return _on(backend, a, b, (name, given), split, out, pairs, forced_config(config))


def _on(
    backend: Backend,
    a: Any,
    b: Any,
    borders: tuple[str, Any],
    split: str,
    out: Any,
    pairs: bool,
    config: Config | None,
) -> Any:
    x, y = product.take(backend, a, "a", pairs), product.take(backend, b, "b", pairs)
    ends = _integers(backend, *borders)
    shapes = shapes_of(x.array.shape, y.array.shape, ends.shape[0], split)
    if borders[0] == "sizes" and ends.shape[0] != shapes.groups:
        raise ArgumentError(
            f"sizes has {ends.shape[0]} elements; accepted: {shapes.groups}, one for each group"
        )
    kind = promoted({"a": x.array, "b": y.array})
    if kind not in LETTERS:
        raise DTypeError(f"a and b are {x.array.dtype} and {y.array.dtype}; accepted: {ACCEPTED}")
    given = None
    if out is not None:
        gpu = backend.kind == "cuda"
        given = checked_out(backend.view_out(out), shapes.out, kind, pairs=pairs, gpu=gpu)
    left, right = (v.array if v.array.dtype == kind else backend.cast(v.array, kind) for v in (x, y))
    target = given
    if target is None or any(may_share(target, other) for other in (left, right, ends)):
        target = backend.empty(shapes.out, kind)
    asked = SegmentSpec((left, right, target), ends, borders[0] == "sizes", shapes, split, pairs)
    bound = run(backend, asked, config)
    if given is not None and given is not target:
        backend.assign(given, target)
    elif (
        bound is not None and config is None and (x.own and y.own) and (left is x.array and right is y.array)
    ):
        tag = borders[0], split, pairs
        _remember(backend, bound, (left, right, ends, target), (a, b, borders[1], out), tag)
    return out if out is not None else x.wrap(target)


# ---- calls made before


class _Remembered:
    """A call on arrays of a library on a GPU as it was made before: it launches and checks nothing else."""

    def __init__(self, backend: Any, bound: Any, arrays: tuple[Layout, ...], swap: bool, pairs: bool):
        self.library, self.index = backend.library, backend.index
        self.bound, self.swap = bound, swap
        # With one GPU nobody has to ask which one is current.
        self.several = backend.calls is None or backend.calls.several
        out = arrays[3]
        # Numbers of a caller who gave float16 pairs (..., 2) are such pairs.
        self.shape: tuple[int, ...] = (*out.shape, 2) if pairs else out.shape
        self.dtype: np.dtype[Any] = FLOAT16 if pairs else out.dtype
        self.reaches = [bounds(array) for array in arrays]

    def __call__(self, addresses: tuple[int, ...], address: Callable[[Any], int], out: Any) -> Any:
        """The result; None where ``out`` shares memory with what is read, and the slow path has to do it."""
        library, made = self.library, out
        if out is None:
            made = library.empty(self.shape, self.dtype, self.index)
            made = library.in_kind(made) if self.dtype == COMPLEX_HALF else made
            addresses = (*addresses, address(made))
        elif self._meets(addresses):
            return None
        a, b, ends, c = addresses
        with library.guard(self.index) if self.several else nullcontext():
            self.bound((b, a, c, ends) if self.swap else (a, b, c, ends), library.stream(self.index))
        return made

    def _meets(self, addresses: tuple[int, ...]) -> bool:
        """Whether out reaches into any of the others."""
        *others, (low, high) = self.reaches
        begin, end = addresses[3] + low, addresses[3] + high
        return any(
            begin < address + last and address + first < end
            for address, (first, last) in zip(addresses, others, strict=False)
        )


def _call_of(
    a: Any, b: Any, ends: Any, out: Any, tag: tuple[str, str, bool]
) -> tuple[Any, tuple[int, ...], Callable[[Any], int]] | None:
    """All that a call on arrays of one class goes by, ``tag`` beside what they say of themselves, the
    addresses, and what reads them; None for others."""
    found = looker(a)
    if found is None:
        return None
    given = (a, b, ends) if out is None else (a, b, ends, out)
    try:
        looks = tuple(map(found.look, given))
        if None in looks:
            return None
        addresses = tuple(map(found.address, given))
        # A new result begins wherever widest accesses may.
        together = addresses[0] | addresses[1] | (addresses[3] if out is not None else 0)
        return ("segments call", *tag, *looks, together % WIDEST), addresses, found.address
    except (TypeError, RuntimeError):
        return None  # Not to be hashed, or without memory.


def _remember(
    backend: Any,
    bound: tuple[Any, bool],
    arrays: tuple[Layout, ...],
    given: tuple[Any, ...],
    tag: tuple[str, str, bool],
) -> None:
    """Put calls like this one into the call cache, where nothing had to be copied. ``tag``: what the borders
    are given as, what is split, and whether numbers are float16 pairs."""
    if backend.library is None:
        return
    # Whether gradients are wanted changes from call to call.
    if any(getattr(value, "requires_grad", False) for value in given):
        return
    a, b, ends, out = given
    called = _call_of(a, b, ends, out, tag)
    places = tuple(address_of(array) for array in arrays[: 3 if given[3] is None else 4])
    if called is not None and called[1] == places:
        found = _Remembered(backend, bound[0], arrays, swap=bound[1], pairs=tag[2])
        call_cache.keep(call_cache.BOUND, called[0], found)


def _integers(backend: Backend, name: str, value: Any) -> Layout:
    """Borders as one axis of integers without gaps. Raises ``ArgumentError`` for anything else."""
    array, _ = backend.view(value, name)
    if array.ndim != 1 or array.dtype not in INTEGERS:
        raise ArgumentError(
            f"{name} has shape {array.shape} of {array.dtype}; accepted: (G,) of int32 or int64"
        )
    dense = array.shape[0] <= 1 or array.strides[0] == array.itemsize
    return array if dense and aligned(array) else backend.copy(array)


# ---- plan and run


def run(backend: Backend, asked: SegmentSpec, config: Config | None) -> tuple[Any, bool] | None:
    """Multiply. Returns the kernel that did it all in one launch on the very arrays, and whether its A is b;
    None where more was needed."""
    out = asked.arrays[2]
    if out.size == 0:
        return None
    if 0 in (asked.shapes.k, asked.shapes.groups):
        backend.scale(out, 0)
        return None
    if backend.kind == "cpu":
        _one_by_one(backend, asked)
        return None
    job, usable = _usable(backend, asked)
    key = ("segments", backend.key, job.problem, config)
    # Another thread may clear the call cache at any moment: look once.
    bound = call_cache.BOUND.get(key)
    if bound is None:
        # Planning reads records, and a fork waits for whoever is within SQLite as for the compiler.
        with making:
            bound = backend.bind_segments(planned(backend, job, config))
            assert bound is not None
        call_cache.keep(call_cache.BOUND, key, bound)
    ends = address_of(asked.ends)
    starts = [address_of(array) for array in usable]
    for at in places(*(range(extent) for extent in job.outer)):
        x, y, z = (
            start + sum(i * step[which] for i, step in zip(at, job.outer_steps, strict=True))
            for which, start in enumerate(starts)
        )
        bound((y, x, z, ends) if job.swap else (x, y, z, ends), backend.stream)
    if usable[2] is not out:
        backend.assign(out, usable[2])
    plainly = not job.outer and all(one is other for one, other in zip(usable, asked.arrays, strict=True))
    return (bound, job.swap) if plainly else None


def planned(backend: Backend, job: SegmentJob, config: Config | None) -> Plan:
    """The plan for groups, from the ladder of ``dispatch``: no library of arrays has such a product."""
    device, asked = dispatch.device(backend.kind, backend.index), cast(Any, job.problem)
    return dispatch.plan(asked, device, config=config, cores=threads(), vendor=False)


def _usable(backend: Backend, asked: SegmentSpec) -> tuple[SegmentJob, tuple[Layout, Layout, Layout]]:
    """The job of the arrays, with copies in place of those that no kernel can take as they are."""
    ends, shapes = asked.ends, asked.shapes
    conj = Options(pairs=asked.pairs).conjugated(*asked.arrays[:2])
    kind = (ends.dtype, ends.shape[0] > shapes.groups, asked.sizes)
    named = dict(zip(("a", "b", "out"), asked.arrays, strict=True))
    while True:
        a, b, out = named.values()
        found = segments_of((a, b, out), shapes, asked.split, kind, conj)
        if not isinstance(found, str):
            return found, (a, b, out)
        again = backend.copy(named[found])
        if again.strides == named[found].strides:
            raise ArgumentError(f"{found} has strides that no layout covers, even in a copy")
        named[found] = again


# ---- group by group


def clamped(values: NDArray[Any], length: int, groups: int, sizes: bool) -> list[tuple[int, int]]:
    """Where each group begins and ends, by G or G + 1 offsets or by sizes: groups follow one another within
    the axis, whatever the numbers are."""
    given = [int(value) for value in values]
    begin = min(max(given.pop(0), 0), length) if len(given) > groups else 0
    found = []
    for value in given:
        end = min(begin + max(value, 0) if sizes else max(value, begin), length)
        found.append((begin, end))
        begin = end
    return found


def _one_by_one(backend: Backend, asked: SegmentSpec) -> None:
    """Groups in this process's memory, each by the kernel of its size."""
    a, b, out = (_array(array) for array in asked.arrays)
    shapes, split = asked.shapes, asked.split
    ranges = clamped(_array(asked.ends), shapes.length, shapes.groups, asked.sizes)
    if split != "k":
        for part in (slice(0, ranges[0][0]), slice(ranges[-1][1], None)):
            backend.scale(out[..., part, :] if split == "m" else out[..., part], 0)
    for group, (begin, end) in enumerate(ranges):
        here = slice(begin, end)
        if split == "m":
            left, right, result = a[..., here, :], b[group], out[..., here, :]
        elif split == "n":
            left, right, result = a[group], b[..., here], out[..., here]
        else:
            left, right, result = a[..., here], b[..., here, :], out[group]
        if result.size:
            product.run(backend, matmul_spec(PLAIN[asked.pairs], left, right), result, fresh=True)


def _array(array: Layout) -> Array:
    assert not isinstance(array, ArrayView)
    return array
