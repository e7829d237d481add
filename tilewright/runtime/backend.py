"""Where a call runs: the memory of its arrays, and how plans are bound, run and remembered there.

``bound_cpu.Host`` is this process and ``bound_cuda.Gpu`` a GPU. What calls need beyond an ``ArrayBackend`` is
asked here, so that nobody else has to know which of the two serves a call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from numpy.typing import NDArray

from tilewright.arrays.backend import ArrayBackend
from tilewright.arrays.chains import ChainJob
from tilewright.arrays.layout import Job
from tilewright.arrays.view import Layout
from tilewright.model import Plan
from tilewright.runtime.chain_calls import Arguments

Function = Callable[[Any, Any, Any], Any]


Order = Literal["", "C", "K"]
"""NumPy's orders of a copy; "" for no copy."""


@dataclass(frozen=True, slots=True)
class Held:
    """What ran in place of a call's arrays, which overlap nowhere, and in which orders they are copied,
    or cast, for it."""

    arrays: tuple[Layout, Layout, Layout]
    orders: tuple[Order, Order, Order]


@dataclass(frozen=True, slots=True)
class Call:
    """A call, as it is remembered.

    ``tag`` tells the public function and its options apart. ``a``, ``b`` and ``out`` are the caller's,
    ``out`` None where the result is new; ``arrays`` are the same, and the result, as arrays. ``moved``: an
    update was copied into the result first, which is ``out`` then if it is new. ``held``: what ran in place
    of ``arrays``, None where that is they themselves.
    """

    tag: Any
    a: Any
    b: Any
    out: Any
    arrays: tuple[Layout, Layout, Layout]
    scalars: tuple[complex, complex] = (1, 0)
    trans: tuple[str, str] = ("n", "n")
    pairs: bool = False
    moved: bool = False
    held: Held | None = None


class Backend(ArrayBackend, Protocol):
    """Where the arrays of a call lie and what runs there."""

    @property
    def key(self) -> tuple[Any, ...]:
        """What bound kernels are kept under, beside the job."""

    @property
    def calls(self) -> Any:
        """The remembered calls on arrays of this library (``device_calls.Calls``), which plans ask; None:
        there are none."""

    def here(self) -> Backend:
        """The same memory, work going to the stream that is now the caller's."""

    def send(self, numbers: NDArray[Any]) -> tuple[int, Any]:
        """64-bit words where a kernel on this stream can read them: their address, and what keeps them there
        until that kernel is on the stream."""

    def refusal(self, job: Job, plan: Plan) -> str | None:
        """Why a job cannot be launched as planned; None when it can."""

    def bind(self, job: Job, plan: Plan, scalars: tuple[complex, complex]) -> Any:
        """The kernel of a plan, or the vendor's product, ready for ``run``; None where only ``multiply`` is
        left."""

    def chain(self, plan: Plan) -> Callable[[Sequence[int], int], None] | None:
        """What launches the kernel of a chain's plan, for the addresses of its operands and of its result and
        a stream; None where there is none, and the chain is composed of products."""

    def remember_chain(
        self, arguments: Arguments, arrays: Sequence[Layout | None], job: ChainJob, run: Any
    ) -> None:
        """Do chains like this one, which was served without a copy, the short way from now on: see
        ``chain_calls.remember``."""

    def bind_segments(self, plan: Plan) -> Callable[[Sequence[int], int], None] | None:
        """The kernel of a plan for groups, to be called with the addresses of A, B, C and the borders and a
        stream; None where groups are multiplied one after the other."""

    def run(self, bound: Any, a: Layout, b: Layout, out: Layout) -> None:
        """The product on arrays of the job's layout (checked by the caller)."""

    def function(self, bound: Any, arrays: tuple[Layout, Layout, Layout]) -> Function | None:
        """What runs calls on arrays just like these, and finds out itself which are; None where there is no
        such thing."""

    def otherwise(
        self,
        arrays: tuple[Layout, Layout, Layout],
        scalars: tuple[complex, complex],
        trans: tuple[str, str],
    ) -> Function | None:
        """What serves calls of ``gemm`` on arrays like these that no kernel was planned for; None where the
        slow path has to."""

    def remember(self, bound: Any, call: Call, memo: dict[Any, Any] | None = None) -> None:
        """Do calls like this one the short way from now on; ``memo``: that of a plan, None for all calls'. A
        GPU remembers none whose arrays were copied."""
