"""A kernel on one GPU with its arguments: a call puts addresses into their block and launches.

Nothing waits, and the host reads no border of groups, so that a call can be recorded into a CUDA graph.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence

from tilewright.catalog import STENCILS
from tilewright.errors import DeviceError, RoomError
from tilewright.model import Kernel, Plan
from tilewright.runtime import launch
from tilewright.targets.cuda import driver
from tilewright.targets.cuda.binding import Binding


class BoundKernel:
    """A plan for a chain or for groups with its kernel in the memory of a GPU."""

    def __init__(self, plan: Plan, kernel: Kernel, index: int):
        assert plan.stencil is not None
        assert plan.config is not None
        self.plan, self.index = plan, index
        self.binding = launch.bind(STENCILS[plan.stencil], kernel, plan.problem, plan.config, (1, 0))
        # One block for all calls: its addresses and launches must not be interleaved by threads.
        self.lock = threading.Lock()

    def __call__(self, addresses: Sequence[int], stream: int) -> None:
        """Launch on the addresses that the stencil's ``arguments`` number, and return at once.

        Raises ``DeviceError`` where the driver refuses.
        """
        with self.lock:
            started(self.binding, addresses, stream, self.index)


def started(binding: Binding, addresses: Sequence[int], stream: int, index: int) -> None:
    """Launch a kernel on a GPU with a number. Raises ``RoomError`` where there is none for a workspace,
    ``DeviceError`` where the driver refuses."""
    try:
        binding.put(addresses)(stream)
    except RoomError:
        raise
    except DeviceError:
        # A thread that has never used the GPU has no context: give it one, or fail again.
        driver.context(index)
        binding.put(addresses)(stream)
