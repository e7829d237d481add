"""Where calls from compiled programs run. XLA has all memory, so nothing is made here: calls are planned for
and bound, and where no kernel is the best, XLA multiplies."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from tilewright.arrays.gpu import need_cuda
from tilewright.arrays.layout import Job
from tilewright.model import Plan
from tilewright.runtime.backend import Backend
from tilewright.runtime.bound_cpu import HOST, Host
from tilewright.runtime.bound_cuda import Bound, Gpu
from tilewright.targets.cuda import driver


class Alone(Host):
    """This process's memory where no product but a kernel's can be had."""

    key = ("cpu", "alone")
    vendor = False


ALONE = Alone()


class Compiled(Gpu):
    """One GPU, for compiled programs: the streams are XLA's, and so is the product of who is faster."""

    def __init__(self, index: int, alone: bool):
        super().__init__(None, index, 0)
        self.vendor = not alone
        self.key = (self.kind, index, self.vendor, "compiled")

    def current(self) -> AbstractContextManager[None]:
        """Within it, kernels are loaded on this GPU, whichever is current on this thread."""
        return driver.within(self.index)

    def bind(self, job: Job, plan: Plan, scalars: tuple[complex, complex]) -> Any:
        """The kernel of a plan; None where XLA multiplies."""
        return None if plan.stencil is None else Bound(job, plan, scalars, self.index)


def backend_on(kind: str, index: int, alone: bool) -> Backend:
    """The backend of a device. ``alone``: nobody else multiplies. Raises ``DeviceError`` where there is no
    such device."""
    if kind == "cpu":
        return ALONE if alone else HOST
    need_cuda()
    return Compiled(index, alone)
