"""A plan bound to arrays on a GPU, and what stands in for NumPy there.

``Bound`` is one kernel with its arguments: a call puts three addresses into their block, or into a copy
of it, and launches on the caller's stream, without waiting and without device memory of its own, so that it
can be recorded into a CUDA graph. ``Vendor`` is the same for cuBLASLt. ``Gpu`` is the place of a call: its
library, GPU and stream, and what copies and multiplies there when no kernel can take the arrays as they are.
"""

from __future__ import annotations

import functools
import math
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from itertools import product
from typing import Any

import numpy as np

from tilewright.arrays import device
from tilewright.arrays.device import ACCEPTED, Library, Phantom, imagined, same
from tilewright.arrays.layout import ACCEPTED as TYPES
from tilewright.arrays.layout import LETTERS, Array, Job, address_of, handing, paired
from tilewright.catalog import STENCILS, TARGETS
from tilewright.dtypes import COMPLEX_HALF, is_complex
from tilewright.errors import ArgumentError, DeviceError, DTypeError
from tilewright.model import Kernel, Plan
from tilewright.runtime import build, cublaslt, fastcall_cuda, launch
from tilewright.store import binaries
from tilewright.targets.cuda import driver
from tilewright.targets.cuda.arguments import A, B, C

Run = Callable[[int, int, int, int], None]

WORD = 1 << 31
"""Sizes and counts from here on do not fit the argument block, nor a launch's grid."""

SWAPPED = (B, A, C)
"""Which of the caller's a, b and out are A, B and C of a job that swaps them, and the other way round."""

LOOPED = 16
"""Most runs for batch axes that no stride covers in which the vendor's product is called: more of them cost
the host more than the array library's copy of an operand."""


@functools.cache
def _elsewhere(index: int, name: str) -> Kernel:
    """A kernel in the memory of a GPU that is not the first. ``name`` is that of its binary."""
    binary = binaries.read(name)
    assert binary is not None
    return TARGETS["cuda"].load(binary)


def kernel(plan: Plan, index: int) -> Kernel:
    """The kernel of a plan in the memory of the current GPU, whose number is ``index``."""
    assert plan.stencil is not None
    assert plan.config is not None
    parts = (plan.stencil, plan.problem, plan.config, plan.device)
    with build.making:
        # build keeps one kernel for a binary, and code belongs to the context that it was loaded in.
        if index == 0:
            return build.kernel(*parts)
        name = build.key(*parts)
        if binaries.read(name) is None:
            binaries.write(name, build.compile(*parts, TARGETS["cuda"]))
        return _elsewhere(index, name)


def why_not(job: Job, plan: Plan) -> str | None:
    """Why a job cannot be given to the kernel of its plan; None when it can."""
    p = plan.problem
    for name in ("m", "n", "k", "batch"):
        if getattr(p, name) >= WORD:
            return f"{name}={getattr(p, name)} does not fit 32 bits"
    if plan.stencil is not None and plan.config is not None:
        asked = STENCILS[plan.stencil].launch(p, plan.config)
        if asked.grid[0] >= WORD:
            return f"{asked.grid[0]} tiles do not fit one launch"
        if asked.reading and (job.outer or (p.batch > 1 and (p.stride_a or p.stride_b))):
            return "a texture covers one matrix, and the operands are a batch"
        if asked.reading and not (_texturable(p.lda, p.turned_a, p.m, p.k)):
            return "the columns of A lie in an order that no texture has"
        if asked.reading and not (_texturable(p.ldb, p.turned_b, p.k, p.n)):
            return "the columns of B lie in an order that no texture has"
    return None


def _texturable(ld: int | None, turned: bool, rows: int, columns: int) -> bool:
    return ld is not None and ld >= (columns if turned else rows)


class Bound:
    """One job, its plan and kernel on one GPU. Called with the addresses of the caller's a, b and out
    and a stream, it launches; all that the device is told is laid out before.

    With textures a new pair of addresses costs some ten microseconds, once; all else costs the same for
    every address.
    """

    def __init__(self, job: Job, plan: Plan, scalars: tuple[complex, complex], index: int):
        assert plan.stencil is not None
        assert plan.config is not None
        self.job, self.plan, self.scalars, self.index = job, plan, scalars, index
        stencil = STENCILS[plan.stencil]
        self.binding = launch.bind(stencil, kernel(plan, index), plan.problem, plan.config, scalars)
        # One block for all calls: its addresses and launches must not be interleaved by threads.
        self.lock = threading.Lock()
        self._steps = steps_of(job)
        self.run: Run = self._compiled() or self._slow

    def _compiled(self) -> Run | None:
        """The one launch of most jobs, as a compiled program makes it; None where only Python can."""
        words = self.binding.words
        if self.job.outer or words is None:
            return None
        if self.job.swap:
            words = tuple(word._replace(operand=SWAPPED[word.operand]) for word in words)
        return fastcall_cuda.starting(self.binding.launcher, words, self._slow)

    def _slow(self, a: int, b: int, out: int, stream: int) -> None:
        """The launch in Python, for each run of the batch axes that no stride covers."""
        with self.lock:
            for step_a, step_b, step_out in self._steps:
                addresses = a + step_a, b + step_b, out + step_out
                if self.job.swap:
                    addresses = addresses[1], addresses[0], addresses[2]
                try:
                    self.binding.put(addresses)(stream)
                except DeviceError:
                    # A thread that has never used the GPU has no context: give it one, or fail again.
                    driver.context(self.index)
                    self.binding.put(addresses)(stream)


def steps_of(job: Job) -> list[tuple[int, int, int]]:
    """Bytes from the first run of a job to each, for a, b and out."""
    steps = []
    for at in product(*(range(extent) for extent in job.outer)):
        a, b, c = (
            sum(i * step[which] for i, step in zip(at, job.outer_steps, strict=True)) for which in range(3)
        )
        steps.append((a, b, c))
    return steps


class Vendor:
    """cuBLASLt's product for one kind of call, as ``Bound`` is a kernel for it."""

    def __init__(self, job: Job, plan: Plan, scalars: tuple[complex, complex], found: cublaslt.Product):
        self.job, self.plan, self.scalars, self.product = job, plan, scalars, found
        start = found.starting(job.swap)
        self.run: Run = start if not job.outer else self._each(start)

    def _each(self, start: Run) -> Run:
        steps = steps_of(self.job)

        def run(a: int, b: int, out: int, stream: int) -> None:
            for step_a, step_b, step_out in steps:
                start(a + step_a, b + step_b, out + step_out, stream)

        return run


class Gpu:
    """Where the arrays of a call lie when that is a GPU: see ``execute.Place``."""

    kind = "cuda"

    def __init__(self, library: Library | None, index: int, stream: int):
        self.library, self.index, self.stream = library, index, stream
        # Without a library of arrays nobody else can multiply, whatever the records say.
        self.vendor = library is not None
        self.key = (self.kind, index, self.vendor)

    @staticmethod
    def of(values: dict[str, Any]) -> Gpu | None:
        """The place of the arguments of a call, by their names; None when none of them lies on a GPU.

        Raises ``ArgumentError`` when they lie on several or only some of them do, ``DeviceError`` when
        no GPU can be used.
        """
        given = {name: value for name, value in values.items() if value is not None}
        on = [name for name, value in given.items() if device.on_gpu(value)]
        if not on:
            return None
        device.need_cuda()
        for name, value in given.items():
            if name not in on:
                raise ArgumentError(
                    f"{name} of type {type(value).__name__} is not on a GPU, and {on[0]} is; "
                    f"accepted: {ACCEPTED}"
                )
        places = {name: device.index_of(given[name], name) for name in on}
        said = {name: place for name, place in places.items() if place is not None}
        first, index = next(iter(said.items()), (on[0], 0))
        for name, other in said.items():
            if other != index:
                raise ArgumentError(
                    f"{name} lies on GPU {other} and {first} on GPU {index}; accepted: one GPU"
                )
        libraries = (device.library_of(given[name]) for name in on)
        library = next((x for x in libraries if x is not None), None) or device.default_library()
        if library is not None:
            return Gpu(library, index, library.stream(index))
        streams = [_stream_of(given[name]) for name in on]
        named = sorted({stream for stream in streams if stream is not None})
        if len(named) > 1:
            raise ArgumentError(
                f"the arrays say that they are written on streams {named}; accepted: one stream, or "
                "torch or cupy imported, to order them"
            )
        return Gpu(None, index, named[0] if named else 0)

    def current(self) -> AbstractContextManager[None]:
        """Within it, work goes to this GPU."""
        return device.current(self.library, self.index)

    def adopt(self, value: Any, name: str) -> tuple[Array, Callable[[Array], Any]]:
        """An argument as a phantom, and how to hand a result back. What was written to it on another
        stream is waited for, on this one.

        Raises ``DTypeError`` for a type that neither kernels nor NumPy know.
        """
        found = device.adopt(value, name, self.stream)
        if found is None:
            raise DTypeError(f"{name} is {getattr(value, 'dtype', type(value).__name__)}; accepted: {TYPES}")
        assert found.held is not None
        stream = found.held.stream
        if stream is not None and stream != self.stream:
            if self.library is None:
                raise ArgumentError(f"{name} is written on stream {stream}, and the call is on {self.stream}")
            self.library.wait(self.index, stream)
        if device.library_of(value) is not None:
            return found, self.hand
        theirs = handing(value)
        return found, lambda result: theirs(self.hand(result))

    def adopt_out(self, value: Any) -> Array:
        """``out`` as a phantom. Raises ``ArgumentError`` for what is to be conjugated or negated."""
        if device.torch_tensor(value) and (value.is_conj() or value.is_neg()):
            raise ArgumentError("out is a lazily conjugated or negated tensor; accepted: out.resolve_conj()")
        return self.adopt(value, "out")[0]

    def hand(self, array: Array) -> Any:
        """A result as the caller's library has it."""
        assert isinstance(array, Phantom)
        held = array.held
        if held is not None and self.library is not None and held.library is self.library:
            # The very object that was made, where the result is all of it.
            whole = self.library.adopt(held.value, "out")
            if whole is not None and same(whole, array):
                return held.value
        made = self._real(array, "out")
        return self._library("out").handed(made) if array.dtype == COMPLEX_HALF else made

    def pairs(self, array: Array, wrap: Callable[[Array], Any]) -> Any:
        """A result of complex half as float16 pairs (..., 2)."""
        return self._library("out=None").pairs(self._real(array, "out"))

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
        """A new array. Raises ``ArgumentError`` when there is no library to make it."""
        return self._made(self._library("out=None").new(shape, dtype, self.index), dtype)

    def copied(self, array: Array) -> Array:
        """A C-contiguous copy of what is in memory, to be conjugated if the array was."""
        memory = array.view()
        assert isinstance(memory, Phantom)
        lazy, memory.lazy = memory.lazy, False
        made = self._made(self._library("a copy").copied(self._real(memory, "a copy")), array.dtype)
        made.lazy = lazy
        return made

    def cast(self, array: Array, dtype: np.dtype[Any]) -> Array:
        """A copy of another type."""
        return self._made(self._library("a copy").cast(self._real(array, "a copy"), dtype), dtype)

    def _made(self, value: Any, dtype: np.dtype[Any]) -> Phantom:
        """What the library made for elements of a type, which may be float16 pairs for complex half."""
        found: Any = self._library("a copy").adopt(value, "a copy")
        assert found is not None
        if dtype == COMPLEX_HALF and found.dtype != dtype:
            found = paired(found, "a copy")
        assert isinstance(found, Phantom)
        return found

    @staticmethod
    def imagined(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
        """What ``empty`` would make, for planning alone."""
        return imagined(shape, dtype)

    def assign(self, target: Array, source: Array) -> None:
        """target[...] = source."""
        if target.size == 0 or same(target, source):
            return
        if np.may_share_memory(target, source):
            source = self.copied(source)
        self._library("a copy").assign(self._real(target, "out"), self._real(source, "c"))

    def scale(self, out: Array, beta: complex) -> None:
        """out = beta * out; zeros, whatever out held, for beta = 0."""
        if out.size == 0 or beta == 1:
            return
        real = self._real(out, "out")
        if beta == 0:
            real[...] = 0
        elif out.dtype == COMPLEX_HALF:
            library = self._library("out")
            library.narrow(real, library.widened(real) * beta)
        else:
            real *= beta if is_complex(out.dtype) else beta.real

    def multiply(
        self, a: Array, b: Array, out: Array, scalars: tuple[complex, complex], conj: tuple[bool, bool]
    ) -> None:
        """The same product by the array library. ``conj``: what is to be conjugated beside what is lazily."""
        library = self._library("this product")
        if out.dtype == COMPLEX_HALF:
            self._multiply_pairs(a, b, out, scalars, conj)
            return
        left, right = (
            library.conjugate(real) if turn else real
            for real, turn in zip((self._real(a, "a"), self._real(b, "b")), conj, strict=True)
        )
        alpha, beta = (x if is_complex(out.dtype) else x.real for x in scalars)
        if np.may_share_memory(a, out) or np.may_share_memory(b, out):
            apart = self.copied(out)
            library.gemm(left, right, self._real(apart, "out"), alpha, beta)
            self.assign(out, apart)
        else:
            library.gemm(left, right, self._real(out, "out"), alpha, beta)

    def _multiply_pairs(
        self, a: Array, b: Array, out: Array, scalars: tuple[complex, complex], conj: tuple[bool, bool]
    ) -> None:
        """``multiply`` of complex half, which no library has a product of: by way of complex64."""
        library, (alpha, beta) = self._library("this product"), scalars
        left, right = (
            library.conjugate(wide) if turn else wide
            for wide, turn in zip((self._wide(a, "a"), self._wide(b, "b")), conj, strict=True)
        )
        product = library.matmul(left, right)
        if alpha != 1:
            product *= alpha
        if beta != 0:
            product = product + beta * self._wide(out, "out")
        library.narrow(self._real(out, "out"), product)

    def _wide(self, array: Array, name: str) -> Any:
        """Complex half as complex64 of the library."""
        return self._library(name).widened(self._real(array, name))

    def plain(self, a: Any, b: Any, out: Any) -> Any:
        """The library's own product, on the caller's very arrays: for types that no stencil accepts.

        Raises ``DTypeError`` where there is no such product.
        """
        library, given = self.library, [value for value in (a, b, out) if value is not None]
        if library is None or any(device.library_of(value) is not library for value in given):
            types = " and ".join(str(getattr(value, "dtype", type(value).__name__)) for value in (a, b))
            raise DTypeError(f"a and b are {types}; accepted: {TYPES}")
        for name, value in zip(("a", "b", "out"), given, strict=False):
            library.check(value, name)
        made = library.matmul(a, b, out)
        return made if out is None else out

    def known(self, value: Any) -> bool:
        """Whether a kernel may take the type of an argument."""
        library = device.library_of(value)
        return library is None or library.dtype(value) in LETTERS

    def run(self, bound: Any, a: Array, b: Array, out: Array) -> None:
        """The product on arrays of the job's layout."""
        try:
            bound.run(address_of(a), address_of(b), address_of(out), self.stream)
        except ArgumentError:
            # No texture over these very addresses. The library reads anything.
            if bound.plan.origin == "forced" or self.library is None:
                raise
            p = bound.plan.problem
            left, right = (p.conj_b, p.conj_a) if bound.job.swap else (p.conj_a, p.conj_b)
            lazy = (getattr(a, "lazy", False), getattr(b, "lazy", False))
            self.multiply(a, b, out, bound.scalars, (left != lazy[0], right != lazy[1]))

    def bound(self, job: Job, plan: Plan, scalars: tuple[complex, complex]) -> Any:
        """A kernel for one kind of call, or cuBLASLt's product where the plan is the vendor's; None where
        that is not here, or cannot serve the call, or where the records say that the array library's is
        faster."""
        if plan.stencil is not None:
            return Bound(job, plan, scalars, self.index)
        by = plan.config.get("by") if plan.config else None
        if math.prod(job.outer) > LOOPED or by == "library":
            return None
        # As the product that it stands for: no less exact than that, and no slower.
        narrow = self.library is not None and self.library.narrows(plan.problem.dtype.letter)
        found = cublaslt.product(plan.problem, scalars, self.index, plan.config, narrow)
        return None if isinstance(found, str) else Vendor(job, plan, scalars, found)

    def why_not(self, job: Job, plan: Plan) -> str | None:
        """Why a job cannot be launched as planned; None when it can."""
        return why_not(job, plan)

    def _library(self, what: str) -> Library:
        if self.library is None:
            raise ArgumentError(
                f"{what}: needs a library that makes arrays; accepted: torch or cupy imported, or out= and "
                "operands with one unit stride and aligned elements"
            )
        return self.library

    def _real(self, array: Array, name: str) -> Any:
        assert isinstance(array, Phantom)
        return self._library(name).real(array)


def _stream_of(value: Any) -> int | None:
    interface = getattr(value, "__cuda_array_interface__", None) or {}
    stream = interface.get("stream")
    return None if stream is None else device.usual(int(stream))
