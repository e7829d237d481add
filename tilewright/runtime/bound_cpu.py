"""A plan bound to arrays of this process: the one way from a decision to a result.

``Bound`` holds what one kind of call needs, found once: the job, the kernel, and the context of the
launch trampoline, which walks the batch axes that one stride cannot cover, too; ``function`` makes the
builtin that serves calls on arrays just like these. ``Host`` is the backend of calls in this process's
memory.
"""

from __future__ import annotations

import math
import os
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tilewright.arrays.layout import Job
from tilewright.arrays.numpy_ import NumpyArrays
from tilewright.arrays.overlap import bounds
from tilewright.arrays.view import Array, Layout
from tilewright.catalog import STENCILS
from tilewright.dtypes import is_half
from tilewright.forks import making
from tilewright.loading import load
from tilewright.model import Plan
from tilewright.runtime import build, gaps, host_calls
from tilewright.runtime.backend import Call, Function
from tilewright.runtime.fastcall_cpu import native, reader
from tilewright.runtime.multiplying import RANK_MAX
from tilewright.runtime.team import find_team
from tilewright.stencils.cpu.ir import LAYOUT_WORDS, alone, launched, layout_words

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

# Below this much work per core the interpreter lock is kept: letting go of it costs about 0.1 us.
RELEASE_FLOPS = 200_000
POOLED = 5
"""Times the work that is worth a core which is awake (``ir.grain``) for which one of Python's threads is
asked, where there is no OpenMP runtime."""


class Bound:
    """One job, its plan and kernel, and everything that a call does not have to find out again."""

    def __init__(self, job: Job, plan: Plan, scalars: tuple[complex, complex]):
        assert plan.stencil is not None
        assert plan.config is not None
        self.job, self.plan = job, plan
        problem, device = plan.problem, plan.device
        with making:
            self.kernel = build.kernel(plan.stencil, problem, plan.config, device)
            self.native = native(device)
        parts = [part for value in scalars for part in (complex(value).real, complex(value).imag)]
        kind = np.float64 if problem.dtype.real_bits == 64 else np.float32
        self.scalars = np.array(parts, kind).tobytes()
        self.strides, self.count = launched(problem)
        launch = STENCILS[plan.stencil].launch(problem, plan.config)
        pays = find_team() is not None or self.count >= POOLED * launch.grain * plan.threads
        self.threads = plan.threads if pays else 1
        self.words = {
            "kernel": self.kernel.address,
            **dict(zip(LAYOUT_WORDS, layout_words(problem), strict=True)),
            "stride_a": self.strides[0],
            "stride_b": self.strides[1],
            "stride_c": self.strides[2],
            "count": self.count,
            "itemsize": problem.dtype.itemsize,
            "threads": self.threads if find_team() else 1,
            "alone": alone(problem),
            "unit": launch.unit,
            "swap": int(job.swap),
            "release": int(problem.flops * problem.batch * math.prod(job.outer) > RELEASE_FLOPS),
        }
        self.outer = [
            (extent, b, a, c) if job.swap else (extent, a, b, c)
            for extent, (a, b, c) in zip(job.outer, job.outer_steps, strict=True)
        ]
        self.context = self.native.context(self.words, self.scalars, self.outer)

    def function(self, a: Layout, b: Layout, out: Layout) -> Function | None:
        """A builtin for arrays just like these; None where every call needs the slow path."""
        if not self.native.trusted or max(a.ndim, b.ndim, out.ndim) > RANK_MAX:
            return None
        # The builtin compares types by address, so they must be NumPy's own, which live for ever.
        if not (a.dtype is b.dtype is out.dtype is self.plan.problem.dtype.numpy):
            return None
        if self.threads > 1 and find_team() is None:
            return None
        words = {**self.words, "descr": id(out.dtype)}
        for number, array in enumerate((a, b, out)):
            words[f"low{number}"], words[f"high{number}"] = bounds(array)
        arrays = [(x.shape, x.strides) for x in (a, b, out)]
        context = self.native.context(words, self.scalars, self.outer, arrays)
        return self.native.function(context, self.kernel)

    def run(self, a: Array, b: Array, out: Array) -> None:
        """The product on arrays of the job's layout (checked by the caller), batch axes and all."""
        left, right, result = map(reader(), (a, b, out))
        if self.job.swap:
            left, right = right, left
        if self.threads == 1 or self.words["threads"] > 1:
            self.native.run(self.context, left, right, result)
            return
        for step_a, step_b, step_c in self.job.starts():
            if self.job.swap:
                step_a, step_b = step_b, step_a
            self._shared(left + step_a, right + step_b, result + step_c)

    def _shared(self, a: int, b: int, c: int) -> None:
        """One run of the job by Python's threads, at some ten microseconds: there is no OpenMP runtime."""
        share = -(-self.count // self.threads)
        share = -(-share // self.words["unit"]) * self.words["unit"]
        size = self.plan.problem.dtype.itemsize

        def part(first: int) -> None:
            words = {**self.words, "count": min(share, self.count - first)}
            skip = [first * step * size for step in self.strides]
            self.native.run(self.native.context(words, self.scalars), a + skip[0], b + skip[1], c + skip[2])

        list(_pool(self.threads, os.getpid()).map(part, range(0, self.count, share)))


@cache
def _pool(threads: int, process: int) -> ThreadPoolExecutor:
    """One pool a process: its threads do not survive a fork."""
    made: type[ThreadPoolExecutor] = load("concurrent.futures:ThreadPoolExecutor")
    return made(threads, thread_name_prefix="tilewright")


class Host(NumpyArrays):
    """Calls on arrays in this process's memory: see ``backend.Backend``."""

    key: tuple[Any, ...] = ("cpu",)
    calls = None

    def here(self) -> Host:
        return self

    def send(self, numbers: NDArray[Any]) -> tuple[int, Any]:
        return numbers.ctypes.data, numbers

    def refusal(self, job: Job, plan: Plan) -> str | None:
        return None

    def bind(self, job: Job, plan: Plan, scalars: tuple[complex, complex]) -> Bound | None:
        return None if plan.stencil is None else Bound(job, plan, scalars)

    def chain(self, plan: Plan) -> None:
        return None

    def remember_chain(self, *_: Any) -> None:
        pass

    def bind_segments(self, plan: Plan) -> None:
        return None

    def run(self, bound: Any, a: Any, b: Any, out: Any) -> None:
        bound.run(a, b, out)

    def function(self, bound: Any, arrays: tuple[Layout, Layout, Layout]) -> Function | None:
        found: Function | None = bound.function(*arrays)
        return found

    def remember(self, bound: Any, call: Call, memo: dict[Any, Any] | None = None) -> None:
        if call.pairs:
            return  # Arrays of pairs are other ones than those of complex half that kernels compare.
        if bound is not None:
            function = None if call.held is not None else self.function(bound, call.arrays)
            if function is None:
                function = self._by_python(bound, call)
        elif not self._numpy_does(call.arrays[-1].dtype):
            return
        elif isinstance(call.tag, str):
            function = host_calls.of_numpy(call.arrays[-1].dtype, call.arrays[-1].shape)
        else:
            function = self.otherwise(call.arrays, call.scalars, call.trans)
        if function is not None:
            host_calls.remember(call, function)

    def _by_python(self, bound: Any, call: Call) -> Function:
        """What serves calls of which some arrays are copied, or lie as no builtin compares them."""

        def launched(a: Any, b: Any, out: Any) -> Any:
            self.run(bound, a, b, out)
            return out

        builtin = None
        if call.held is not None:
            # A kernel's view of a vector has an axis more than what is copied, and compared.
            a, b, out = (
                held if held.ndim == given.ndim else held.reshape(given.shape)  # type: ignore[union-attr]
                for held, given in zip(call.held.arrays, call.arrays, strict=True)
            )
            builtin = self.function(bound, (a, b, out))
        return host_calls.by_copies(builtin or launched, call, builtin is not None)

    def otherwise(
        self,
        arrays: tuple[Layout, Layout, Layout],
        scalars: tuple[complex, complex],
        trans: tuple[str, str],
    ) -> Function | None:
        if not self._numpy_does(arrays[2].dtype):
            return None
        return host_calls.by_numpy(self.multiply, arrays, scalars, trans)

    @staticmethod
    def _numpy_does(kind: np.dtype[Any]) -> bool:
        """Whether NumPy's product of a type is what runs where no stencil does, and nobody counts it."""
        return not is_half(kind) and kind is np.dtype(kind.char) and not gaps.COUNTS.on()


HOST = Host()
