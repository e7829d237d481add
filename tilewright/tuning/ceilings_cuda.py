"""The ceilings of a GPU: a copy that is measured, and the rates of its arithmetic units.

==================  ==========================================================================  =========
name                what it is                                                                  how
==================  ==========================================================================  =========
bandwidth.copy.1    bytes/s that a copy within device memory reads and writes                   measured
peak.<letter>.1     flop/s of the units for fused multiply-adds: 2 * lanes * SMs * top clock    computed
tensor.<letter>.1   flop/s of the tensor units for d, z, h, b, hc, where they are known         computed
tensor.<math>.1     the same for float32 in another ``math`` than "ieee" (``model.MATHS``)       computed
==================  ==========================================================================  =========

Peaks are rates of the units at the top clock, not what a kernel sustains: under full load a GPU lowers
its clock to keep its power limit, and a kernel that never waits stays below its peak by as much. Lanes
are those of ``capability.Tabled``. A complex multiply-add is four real ones, 8 operations for 8, so c has
the peak of s, and z that of d. Types of 16 bits (h, b, hc) have their sums in float32: without tensor units
they have the peaks of s and c, and with them the same rate for hc as for h, because its product is four of
theirs for four times the operations.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import numpy as np

from tilewright.errors import DeviceError
from tilewright.model import Device
from tilewright.targets.cuda import bindings, driver
from tilewright.targets.cuda.capability import units

COPY = 1 << 30
"""Bytes that are copied at once, many times what a cache holds."""
CACHES = 4
"""A copy of fewer bytes than this many times the cache says nothing of memory."""
ROUNDS = 9
REPEATS = 4
"""Copies of one sample, so that starting the first is nothing beside it."""


def measure(device: Device, index: int = 0) -> dict[str, float]:
    """All ceilings of a GPU, for ``Device.ceilings``; takes about a second. ``index`` is its number.

    Raises ``DeviceError`` when it cannot be used or has too little memory free.
    """
    # A thread of its own has no context yet, and the caller's stays as it is.
    with ThreadPoolExecutor(1) as thread:
        copied = thread.submit(_copied, device, index).result()
    return {"bandwidth.copy.1": copied, **units(device)}


def copy_of(device: Device, moved: float, index: int = 0) -> float:
    """Bytes that a copy of ``moved`` bytes, half of them read, moves in a second: what starts and ends slowly
    takes as much of it as of a kernel that moves as many. Bytes a second; ``index`` is the GPU's number.

    Raises ``DeviceError`` when there is too little memory free.
    """
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(_copied, device, index, max(16, int(moved / 2))).result()


def _copied(device: Device, index: int, size: int | None = None) -> float:
    """Bytes that a copy reads and writes in a second: the median of several. ``size`` is what is read; None
    for as much as says most."""
    driver.context(index)
    if size is None:
        target, source, size = _room(CACHES * device["l2"])
    else:
        target, source = driver.allocate(size), driver.allocate(size)
    for memory in (target, source):
        driver.fill(memory.address, size, 1)
    api, watch = bindings.bindings(), driver.Stopwatch()

    def copy() -> None:
        bindings.check(
            api.cuMemcpyDtoDAsync(target.address, source.address, size, 0), f"copying {size} bytes"
        )

    watch.time(copy, 1)
    seconds = float(np.median([watch.time(copy, REPEATS) / REPEATS for _ in range(ROUNDS)]))
    if not seconds > 0:
        raise DeviceError(f"{device.name}: a copy of {size} bytes took {seconds} s by its clock")
    return 2 * size / seconds


def _room(least: int) -> tuple[driver.Memory, driver.Memory, int]:
    """Two blocks of device memory and their size: ``COPY`` bytes, or less where others hold the rest."""
    size = max(COPY, least)
    while True:
        with suppress(DeviceError):
            return driver.allocate(size), driver.allocate(size), size
        size //= 2
        if size < least:
            raise DeviceError(f"there is no room on the device for two blocks of {least} bytes to copy")
