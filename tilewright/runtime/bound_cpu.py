"""A plan bound to arrays: the one way from a decision to a result, fast where the arrays are as planned.

``Bound`` holds what one kind of call needs, found once: the job, the kernel, and the context of the
native program. ``run`` is the careful way: it copies what has no usable layout, sets aside an
output that overlaps its inputs, and walks the batch axes that one stride cannot cover.

A ``Place`` is where the arrays of a call lie, and what touches their elements there: ``Host`` is this
process's memory, by NumPy; ``execute_cuda.Gpu`` a GPU, by the library of the arrays.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from itertools import product
from typing import Any, Protocol

import numpy as np

from tilewright.arrays.layout import Array, Job, adopt, adopt_out, bounds, empty_aligned, itself, problem_of
from tilewright.catalog import STENCILS
from tilewright.dtypes import is_complex, is_half, narrowed, unpaired, widened
from tilewright.errors import ArgumentError
from tilewright.model import Plan
from tilewright.runtime import build
from tilewright.runtime.fastcall_cpu import RANK_MAX, find_team, native

# Below this much work per core the interpreter lock is kept: letting go of it costs about 0.1 us.
RELEASE_FLOPS = 200_000
# Outputs from this size on are allocated on cache-line boundaries, which streaming stores need.
ALIGN_FROM = 1 << 16


class Bound:
    """One job, its plan and kernel, and everything that a call does not have to find out again."""

    def __init__(self, job: Job, plan: Plan, scalars: tuple[complex, complex]):
        assert plan.stencil is not None
        assert plan.config is not None
        self.job, self.plan = job, plan
        problem, device = plan.problem, plan.device
        with build.making:
            self.kernel = build.kernel(plan.stencil, problem, plan.config, device)
            self.native = native(device)
        parts = [part for value in scalars for part in (complex(value).real, complex(value).imag)]
        kind = np.float64 if problem.dtype.real_bits == 64 else np.float32
        self.scalars = np.array(parts, kind).tobytes()
        self.threads = plan.threads
        self.words = {
            "kernel": self.kernel.address,
            "stride_a": problem.strides[0],
            "stride_b": problem.strides[1],
            "stride_c": problem.strides[2],
            "count": problem.batch,
            "itemsize": problem.dtype.itemsize,
            "threads": self.threads if find_team() else 1,
            "unit": STENCILS[plan.stencil].launch(problem, plan.config).unit,
            "swap": int(job.swap),
            "release": int(problem.flops * problem.batch > RELEASE_FLOPS),
        }
        self.context = self.native.context(self.words, self.scalars)

    def function(self, a: Array, b: Array, out: Array) -> Callable[[Any, Any, Any], Any] | None:
        """A builtin for arrays just like these; None where every call needs the careful way."""
        if self.job.outer or not self.native.trusted or max(a.ndim, b.ndim, out.ndim) > RANK_MAX:
            return None
        # The builtin compares types by address, so they must be NumPy's own, which live for ever.
        if not (a.dtype is b.dtype is out.dtype is self.plan.problem.dtype.numpy):
            return None
        if self.threads > 1 and find_team() is None:
            return None
        words = {**self.words, "descr": id(out.dtype)}
        for number, array in enumerate((a, b, out)):
            words[f"low{number}"], words[f"high{number}"] = bounds(array)
        context = self.native.context(words, self.scalars, [(x.shape, x.strides) for x in (a, b, out)])
        return self.native.function(context, self.kernel)

    def run(self, a: Array, b: Array, out: Array) -> None:
        """The product on arrays of the job's layout (checked by the caller), batch axes and all."""
        left, right, result = a.ctypes.data, b.ctypes.data, out.ctypes.data
        if self.job.swap:
            left, right = right, left
        for index in product(*(range(extent) for extent in self.job.outer)):
            step_a, step_b, step_c = (
                sum(i * steps[which] for i, steps in zip(index, self.job.outer_steps, strict=True))
                for which in range(3)
            )
            if self.job.swap:
                step_a, step_b = step_b, step_a
            self._launch(left + step_a, right + step_b, result + step_c)

    def _launch(self, a: int, b: int, c: int) -> None:
        if self.threads == 1 or self.words["threads"] > 1:
            self.native.run(self.context, a, b, c)
            return
        # No OpenMP runtime on this machine: Python's threads, at some ten microseconds a call.
        problem = self.plan.problem
        share = -(-problem.batch // self.threads)
        share = -(-share // self.words["unit"]) * self.words["unit"]
        size = problem.dtype.itemsize

        def part(first: int) -> None:
            words = {**self.words, "count": min(share, problem.batch - first)}
            skip = [first * step * size for step in problem.strides]
            self.native.run(self.native.context(words, self.scalars), a + skip[0], b + skip[1], c + skip[2])

        list(_pool(self.threads, os.getpid()).map(part, range(0, problem.batch, share)))


@cache
def _pool(threads: int, process: int) -> ThreadPoolExecutor:
    """One pool a process: its threads do not survive a fork."""
    return ThreadPoolExecutor(threads, thread_name_prefix="tilewright")


def new_output(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """A fresh array for a result; a large one starts on a cache line."""
    if dtype.itemsize * int(np.prod(shape)) < ALIGN_FROM:
        return np.empty(shape, dtype)
    return empty_aligned(shape, dtype)


class Place(Protocol):
    """Where the arrays of a call lie. Arrays are ndarrays; on a GPU, phantoms of what lies there."""

    @property
    def kind(self) -> str:
        """The kind of the device: ``cpu`` or ``cuda``."""

    @property
    def index(self) -> int:
        """The number of the device among those of its kind."""

    @property
    def key(self) -> tuple[Any, ...]:
        """What bound kernels are kept under, beside the job."""

    @property
    def vendor(self) -> bool:
        """Whether there is a library of arrays whose own product can be called."""

    def current(self) -> AbstractContextManager[None]:
        """Within it, work goes there."""

    def adopt(self, value: Any, name: str) -> tuple[Array, Callable[[Array], Any]]:
        """An argument as an array that shares its memory, and how to hand a result back in kind."""

    def adopt_out(self, value: Any) -> Array:
        """``out`` as an array that shares its memory."""

    def pairs(self, array: Array, wrap: Callable[[Array], Any]) -> Any:
        """A result of complex half as float16 pairs (..., 2), handed back as ``wrap`` hands an array."""

    def known(self, value: Any) -> bool:
        """Whether ``adopt`` understands the type of an argument; else ``plain`` is all there is."""

    def plain(self, a: Any, b: Any, out: Any) -> Any:
        """The product of types that no stencil accepts, by the arrays' library."""

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
        """A new array, C-contiguous."""

    def imagined(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
        """The layout of a new array, with or without memory: for planning."""

    def copied(self, array: Array) -> Array:
        """A C-contiguous copy."""

    def cast(self, array: Array, dtype: np.dtype[Any]) -> Array:
        """A copy of another type."""

    def assign(self, target: Array, source: Array) -> None:
        """target[...] = source."""

    def scale(self, out: Array, beta: complex) -> None:
        """out = beta * out; zeros, whatever out held, for beta = 0."""

    def multiply(
        self, a: Array, b: Array, out: Array, scalars: tuple[complex, complex], conj: tuple[bool, bool]
    ) -> None:
        """out = alpha a b + beta out by the arrays' library, ``conj`` saying what is conjugated first."""

    def why_not(self, job: Job, plan: Plan) -> str | None:
        """Why a job cannot be launched as planned; None when it can."""

    def bound(self, job: Job, plan: Plan, scalars: tuple[complex, complex]) -> Any:
        """The kernel of a plan, or the vendor's product, ready for ``run``; None where only ``multiply`` is
        left."""

    def run(self, bound: Any, a: Array, b: Array, out: Array) -> None:
        """The product on arrays of the job's layout (checked by the caller)."""


class Host:
    """This process's memory."""

    kind = "cpu"
    index = 0
    key = ("cpu",)
    vendor = True
    current = nullcontext
    adopt = staticmethod(adopt)
    adopt_out = staticmethod(adopt_out)
    empty = staticmethod(new_output)
    imagined = staticmethod(new_output)

    def known(self, value: Any) -> bool:
        return True

    def pairs(self, array: Array, wrap: Callable[[Array], Any]) -> Any:
        return wrap(unpaired(array))

    def plain(self, a: Any, b: Any, out: Any) -> Any:
        (x, wrap), (y, _) = adopt(a, "a"), adopt(b, "b")
        if out is not None:
            np.matmul(x, y, out=adopt_out(out))
            return out
        made = np.matmul(x, y)
        return made if wrap is itself else wrap(np.asarray(made))

    def copied(self, array: Array) -> Array:
        return np.array(array, order="C")

    def cast(self, array: Array, dtype: np.dtype[Any]) -> Array:
        return array.astype(dtype)

    def assign(self, target: Array, source: Array) -> None:
        target[...] = source

    def scale(self, out: Array, beta: complex) -> None:
        if beta == 0:
            out[...] = 0
        elif beta != 1:
            factor = beta if is_complex(out.dtype) else beta.real
            if is_half(out.dtype):
                # NumPy would round the factor to 16 bits first.
                out[...] = narrowed(widened(out) * factor, out.dtype)
            else:
                out *= factor

    def multiply(
        self, a: Array, b: Array, out: Array, scalars: tuple[complex, complex], conj: tuple[bool, bool]
    ) -> None:
        # Sums of 16-bit numbers are kept in float32 and rounded once.
        a, b = widened(a), widened(b)
        a = a.conj() if conj[0] else a
        b = b.conj() if conj[1] else b
        alpha, beta = scalars if is_complex(out.dtype) else (scalars[0].real, scalars[1].real)
        half = is_half(out.dtype)
        if (alpha, beta) == (1, 0) and not half:
            np.matmul(a, b, out=out)
            return
        product = np.matmul(a, b)
        if alpha != 1:
            product *= alpha
        if half:
            if beta != 0:
                product = product + beta * widened(out)
            out[...] = narrowed(product, out.dtype)
        elif beta != 0:
            self.scale(out, beta)
            out += product
        else:
            out[...] = product

    def why_not(self, job: Job, plan: Plan) -> str | None:
        return None

    def bound(self, job: Job, plan: Plan, scalars: tuple[complex, complex]) -> Bound | None:
        return None if plan.stencil is None else Bound(job, plan, scalars)

    def run(self, bound: Bound, a: Array, b: Array, out: Array) -> None:
        bound.run(a, b, out)


HOST = Host()


def usable(
    a: Array,
    b: Array,
    out: Array,
    *,
    conj: tuple[bool, bool],
    classes: tuple[str, str],
    fresh: bool,
    place: Place = HOST,
    planning: bool = False,
) -> tuple[Array, Array, Array, Job]:
    """The arrays with copies in place of those that no kernel can take as they are, and their job.

    ``fresh``: out was made for this call, so it overlaps nothing. When the third array returned is
    not ``out`` itself, the caller copies it back. ``planning``: copies hold anything.
    """

    def copied(array: Array) -> Array:
        return place.imagined(array.shape, array.dtype) if planning else place.copied(array)

    result = out
    if not fresh and (np.may_share_memory(a, out) or np.may_share_memory(b, out)):
        result = copied(out)

    def job() -> Job | str:
        alpha, beta = classes
        gpu = place.kind == "cuda"
        return problem_of(a, b, result, conj_a=conj[0], conj_b=conj[1], alpha=alpha, beta=beta, gpu=gpu)

    found = job()
    # A copy is contiguous, so each of the three is copied once at most.
    while isinstance(found, str):
        if found == "a":
            a = copied(a)
        elif found == "b":
            b = copied(b)
        else:
            result = copied(result)
        again = job()
        if again == found:
            raise ArgumentError(f"{found} has strides that no layout covers, even in a copy")
        found = again
    return a, b, result, found
