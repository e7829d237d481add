"""A plan bound to arrays on a GPU, and what stands in for NumPy there.

``Bound`` is one kernel with its arguments: a call puts three addresses into their block, or into a copy
of it, and launches on the caller's stream, without waiting and without device memory of its own but for a
workspace that belongs to the stream's order, so that it can be recorded into a CUDA graph; where there is no
room for that, what needs none runs (``roomless``). ``Vendor`` is the
same for cuBLASLt. ``Gpu`` is the backend of a call: its library, GPU and stream.
"""

from __future__ import annotations

import functools
import math
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilewright.arrays import backend, dlpack
from tilewright.arrays.chains import ChainJob
from tilewright.arrays.gpu import GpuArrays, need_cuda
from tilewright.arrays.layout import Job
from tilewright.arrays.library import Library
from tilewright.arrays.pointers import staging
from tilewright.arrays.view import Layout, address_of, conjugated
from tilewright.catalog import STENCILS, TARGETS
from tilewright.dtypes import COMPLEX_HALF
from tilewright.errors import ArgumentError, DeviceError, RoomError
from tilewright.forks import making
from tilewright.model import Config, Kernel, Plan, Problem
from tilewright.runtime import build, chain_calls, cublas, cublaslt, device_calls, fastcall_cuda, launch
from tilewright.runtime.backend import Call, Function
from tilewright.runtime.bound_kernel import BoundKernel, started
from tilewright.runtime.roomless import PROMISED, Roomless, needs_room
from tilewright.store import binaries
from tilewright.targets.cuda import devices, driver
from tilewright.targets.cuda.arguments import A, B, C

Run = Callable[[int, int, int, int], None]

ACCEPTED = "arrays of PyTorch or CuPy, or with __cuda_array_interface__ or DLPack, on one GPU"

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
    with making:
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
    for name in ("m", "n", "k", "products"):
        if getattr(p, name) >= WORD:
            return f"{name}={getattr(p, name)} does not fit 32 bits"
    if plan.stencil is not None and plan.config is not None:
        asked = STENCILS[plan.stencil].launch(p, plan.config)
        if asked.grid[0] >= WORD:
            return f"{asked.grid[0]} tiles do not fit one launch"
        if asked.reading and (job.outer or (p.batch > 1 and (p.stride_a or p.stride_b))):
            return "a texture covers one matrix, and the operands are a batch"
        if asked.reading and not (_texturable(p.lda, p.transposed_a, p.m, p.k)):
            return "the columns of A lie in an order that no texture has"
        if asked.reading and not (_texturable(p.ldb, p.transposed_b, p.k, p.n)):
            return "the columns of B lie in an order that no texture has"
    return None


def _texturable(ld: int | None, transposed: bool, rows: int, columns: int) -> bool:
    return ld is not None and ld >= (columns if transposed else rows)


class Bound:
    """One job, its plan and kernel on one GPU. Called with the addresses of the caller's a, b and out
    and a stream, it launches; all that the device is told is laid out before.

    With textures a new pair of addresses costs some ten microseconds, once; all else costs the same for
    every address. ``instead``: what runs where a workspace finds no room; without it that is an error.
    """

    def __init__(
        self,
        job: Job,
        plan: Plan,
        scalars: tuple[complex, complex],
        index: int,
        instead: Roomless | None = None,
    ):
        assert plan.stencil is not None
        assert plan.config is not None
        self.job, self.plan, self.scalars, self.index = job, plan, scalars, index
        stencil = STENCILS[plan.stencil]
        self.binding = launch.bind(stencil, kernel(plan, index), plan.problem, plan.config, scalars)
        self.binding.insists = instead is None
        self._instead = instead
        # One block for all calls: its addresses and launches must not be interleaved by threads.
        self.lock = threading.Lock()
        self._starts = job.starts()
        self.run: Run = self._compiled() or self._slow

    def _compiled(self) -> Run | None:
        """The one launch of most jobs, as a compiled program makes it; None where only Python can."""
        words = self.binding.words
        if self.job.outer or words is None:
            return None
        if self.job.swap:
            words = tuple(word._replace(operand=SWAPPED[word.operand]) for word in words)
        return fastcall_cuda.starting(self.binding.launcher, words, self._slow, self.binding.room, self.index)

    def _slow(self, a: int, b: int, out: int, stream: int) -> None:
        """The launch in Python, for each run of the batch axes that no stride covers."""
        with self.lock:
            for number, (step_a, step_b, step_out) in enumerate(self._starts):
                addresses = a + step_a, b + step_b, out + step_out
                if self.job.swap:
                    addresses = addresses[1], addresses[0], addresses[2]
                try:
                    started(self.binding, addresses, stream, self.index)
                except RoomError as error:
                    self._without_room(addresses, stream, error, begun=number > 0)

    def _without_room(
        self, addresses: tuple[int, int, int], stream: int, error: RoomError, begun: bool
    ) -> None:
        """A run of the batch axes by what needs no workspace. Raises ``RoomError`` where there is nothing,
        ``DeviceError`` if runs before it have ``begun``: nobody else may multiply all of them then."""
        if self._instead is None:
            raise RoomError(
                f"{error}, or a call without stencil={self.plan.stencil!r}, config= and deterministic=True, "
                "which runs what needs no workspace where there is no room"
            ) from error
        try:
            self._instead(addresses, stream, error)
        except RoomError:
            raise DeviceError(str(error)) if begun else error from None


class Vendor:
    """cuBLASLt's product for one kind of call, as ``Bound`` is a kernel for it."""

    def __init__(self, job: Job, plan: Plan, scalars: tuple[complex, complex], found: cublaslt.Product):
        self.job, self.plan, self.scalars, self.product = job, plan, scalars, found
        start = found.starting(job.swap)
        self.run: Run = start if not job.outer else self._each(start)

    def _each(self, start: Run) -> Run:
        starts = self.job.starts()

        def run(a: int, b: int, out: int, stream: int) -> None:
            for step_a, step_b, step_out in starts:
                start(a + step_a, b + step_b, out + step_out, stream)

        return run


class Listed:
    """cuBLAS's product over arrays of addresses, as ``Bound`` is a kernel for it."""

    def __init__(self, job: Job, plan: Plan, scalars: tuple[complex, complex], index: int):
        self.job, self.plan, self.scalars = job, plan, scalars
        self.run: Run = cublas.Batched(job.problem, scalars, index).run(job.swap)


class Gpu(GpuArrays):
    """Calls on arrays of one GPU: see ``backend.Backend``."""

    def __init__(self, library: Library | None, index: int, stream: int):
        super().__init__(library, index, stream)
        self.key: tuple[Any, ...] = (self.kind, index, self.vendor)

    @staticmethod
    def of(values: dict[str, Any]) -> Gpu | None:
        """The backend of the arguments of a call, by their names; None when none of them lies on a GPU.

        Raises ``ArgumentError`` when they lie on several or only some of them do, ``DeviceError`` when
        no GPU can be used.
        """
        given = {name: value for name, value in values.items() if value is not None}
        on = [name for name, value in given.items() if backend.on_gpu(value)]
        if not on:
            return None
        need_cuda()
        for name, value in given.items():
            if name not in on:
                raise ArgumentError(
                    f"{name} of type {type(value).__name__} is not on a GPU, and {on[0]} is; "
                    f"accepted: {ACCEPTED}"
                )
        indices = {name: backend.index_of(given[name], name) for name in on}
        said = {name: found for name, found in indices.items() if found is not None}
        first, index = next(iter(said.items()), (on[0], 0))
        for name, other in said.items():
            if other != index:
                raise ArgumentError(
                    f"{name} lies on GPU {other} and {first} on GPU {index}; accepted: one GPU"
                )
        libraries = (backend.library_of(given[name]) for name in on)
        library = next((x for x in libraries if x is not None), None) or backend.default_library()
        if library is not None:
            return Gpu(library, index, library.stream(index))
        streams = [dlpack.stream_of(given[name]) for name in on]
        named = sorted({stream for stream in streams if stream is not None})
        if len(named) > 1:
            raise ArgumentError(
                f"the arrays say that they are written on streams {named}; accepted: one stream, or "
                "torch or cupy imported, to order them"
            )
        return Gpu(None, index, named[0] if named else 0)

    @staticmethod
    def by_default(index: int) -> Gpu:
        """The backend of matrices on a GPU that belong to no array."""
        library = backend.default_library()
        return Gpu(library, index, 0 if library is None else library.stream(index))

    def here(self) -> Gpu:
        """The same GPU, work going to the stream that is now the caller's."""
        stream = self.stream if self.library is None else self.library.stream(self.index)
        return self if stream == self.stream else Gpu(self.library, self.index, stream)

    @property
    def calls(self) -> device_calls.Calls | None:
        """The remembered calls on arrays of the library."""
        return device_calls.calls_of(self.library)

    def send(self, numbers: NDArray[Any]) -> tuple[int, Any]:
        """64-bit words in memory of the GPU that belongs to the stream, copied in its order; and that memory,
        which may be let go as soon as what reads it is on the stream."""
        words = np.ascontiguousarray(numbers).reshape(-1).view(np.int64)
        keep: Any
        if self.library is not None:
            keep = self.library.empty((len(words),), np.dtype(np.int64), self.index)
            found = self.library.view(keep, "addresses")
            assert found is not None
            address = found.address
        else:
            # Giving it back waits for the kernels.
            keep = driver.allocate(words.nbytes)
            address = keep.address
        staging(self.index).send(address, words, self.stream)
        return address, keep

    def run(self, bound: Any, a: Any, b: Any, out: Any) -> None:
        """The product on arrays of the job's layout."""
        try:
            bound.run(address_of(a), address_of(b), address_of(out), self.stream)
        except (ArgumentError, RoomError):
            # No texture over these very addresses, or no room for a workspace. The library reads anything,
            # and needs neither.
            if bound.plan.origin in PROMISED or self.library is None:
                raise
            p = bound.plan.problem
            left, right = (p.conj_b, p.conj_a) if bound.job.swap else (p.conj_a, p.conj_b)
            lazy = (conjugated(a), conjugated(b))
            self.multiply(a, b, out, bound.scalars, (left != lazy[0], right != lazy[1]))

    def bind(self, job: Job, plan: Plan, scalars: tuple[complex, complex]) -> Any:
        """A kernel for one kind of call, or cuBLASLt's product where the plan is the vendor's; None where
        that is not here, or cannot serve the call, or where the plan says that the array library's is faster,
        and there is one."""
        if plan.stencil is not None:
            return Bound(job, plan, scalars, self.index, self._instead(plan, scalars))
        if job.problem.pointers:
            return Listed(job, plan, scalars, self.index)
        by = plan.config.get("by") if plan.config else None
        if math.prod(job.outer) > LOOPED or (by == "library" and self.library is not None):
            return None
        found = self._product(plan.problem, scalars, plan.config)
        return None if isinstance(found, str) else Vendor(job, plan, scalars, found)

    def _product(
        self, problem: Problem, scalars: tuple[complex, complex], config: Config | None = None
    ) -> cublaslt.Product | str:
        # As the product that it stands for: no less exact than that, and no slower.
        narrow = self.library is not None and self.library.narrows(problem.dtype.letter)
        return cublaslt.product(problem, scalars, self.index, config, narrow)

    def _instead(self, plan: Plan, scalars: tuple[complex, complex]) -> Roomless | None:
        """What runs where the workspace of a plan's kernel finds no room; None where it needs none, and where
        the caller was promised this very kernel."""
        if plan.origin in PROMISED or not needs_room(plan):
            return None
        return Roomless(
            *(plan, scalars, lambda: self._product(plan.problem, scalars)),
            *(lambda other: kernel(other, self.index), self.stream),
        )

    def chain(self, plan: Plan) -> BoundKernel | None:
        """The kernel of a chain, called with the addresses of the problem's operands and of the result; None
        where the plan has none."""
        return None if plan.stencil is None else BoundKernel(plan, kernel(plan, self.index), self.index)

    def remember_chain(
        self, arguments: chain_calls.Arguments, arrays: Sequence[Layout | None], job: ChainJob, run: Any
    ) -> None:
        """Do chains like this one the short way from now on."""
        if self.library is not None:
            # With one GPU nobody has to ask which one is current.
            several, index = devices.count() > 1, self.index
            place = self.library, index, lambda: not several or driver.current_device() == index
            chain_calls.remember(arguments, arrays, job.addresses, run, place)

    def bind_segments(self, plan: Plan) -> BoundKernel:
        """The kernel of a plan for groups, called with the addresses of its A, B and C and of the borders."""
        return BoundKernel(plan, kernel(plan, self.index), self.index)

    def refusal(self, job: Job, plan: Plan) -> str | None:
        """Why a job cannot be launched as planned; None when it can."""
        return why_not(job, plan)

    def function(self, bound: Any, arrays: tuple[Layout, Layout, Layout]) -> Function | None:
        """None: an array of a library is asked by the way of that library, ``calls``."""
        return None

    def otherwise(self, *_: Any) -> None:
        return None

    def remember(self, bound: Any, call: Call, memo: dict[Any, Any] | None = None) -> None:
        """Do calls like this one the short way from now on."""
        if call.held is not None:
            return
        run = None if bound is None else bound.run
        if run is None and call.arrays[2].dtype == COMPLEX_HALF:
            return  # The library has no product of it to go to at once.
        calls = self.calls
        if calls is None or type(call.a) not in calls.types:
            return
        prepared = device_calls.Prepared(run, self.index, call.arrays, call.scalars, call.trans, call.pairs)
        calls.remember(calls.memo if memo is None else memo, call.tag, call.a, call.b, call.out, prepared)
