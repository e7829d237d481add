"""Time on a GPU by its own clock, and what that clock runs at."""

from __future__ import annotations

import ctypes
import functools
import os
from collections.abc import Callable
from contextlib import suppress

from tilewright.errors import DeviceError
from tilewright.targets.cuda import devices, library, modules
from tilewright.targets.cuda.bindings import bindings, check, failure
from tilewright.targets.cuda.modules import Owned


class Stopwatch:
    """Two events of the current device, to time what runs between them on a stream."""

    def __init__(self) -> None:
        modules.context()
        api = bindings()
        self._events = [check(api.cuEventCreate(0), "making an event") for _ in range(2)]
        self._owners = [Owned(int(event), "cuEventDestroy", event) for event in self._events]
        self._record = library.loaded().cuEventRecord

    def time(self, run: Callable[[], object], repeats: int, stream: int = 0) -> float:
        """Seconds that ``repeats`` calls of ``run`` take together on the device, by its own clock
        (0.5 us fine). ``run`` starts work on ``stream``. Waits once, for the end.

        Raises ``DeviceError`` when a kernel failed.
        """
        start, stop = (owner.handle for owner in self._owners)
        self._mark(start, stream)
        for _ in range(repeats):
            run()
        self._mark(stop, stream)
        api = bindings()
        check(api.cuEventSynchronize(self._events[1]), "running what is timed")
        return 1e-3 * float(check(api.cuEventElapsedTime(*self._events), "reading the stopwatch"))

    def _mark(self, event: int, stream: int) -> None:
        code = self._record(event, stream)
        if code:
            raise failure(code, "starting or stopping the stopwatch")


_SM_CLOCK = 1
"""NVML_CLOCK_SM."""


@functools.cache
def _nvml() -> ctypes.CDLL:
    nvml = ctypes.CDLL("nvml.dll" if os.name == "nt" else "libnvidia-ml.so.1")
    if nvml.nvmlInit_v2():
        raise DeviceError("NVML cannot be initialised")
    return nvml


@functools.cache
def _nvml_device(index: int) -> ctypes.c_void_p:
    # By its place on the bus: NVML counts devices that the environment hides from CUDA.
    api = bindings()
    device = check(api.cuDeviceGet(index), f"opening device {index}")
    place = check(api.cuDeviceGetPCIBusId(32, device), "asking for the device's place")
    found = ctypes.c_void_p()
    if _nvml().nvmlDeviceGetHandleByPciBusId_v2(place.partition(b"\0")[0], ctypes.byref(found)):
        raise DeviceError(f"NVML does not know the device {place!r}")
    return found


def clocks(index: int = 0) -> str:
    """The clock of the multiprocessors and the power drawn at this moment: ``1980 MHz, 480 W``.

    Empty where NVIDIA's management library does not tell. Never raises.
    """
    parts = []
    with suppress(Exception):
        if devices.missing() is None:
            nvml, device, value = _nvml(), _nvml_device(index), ctypes.c_uint()
            if not nvml.nvmlDeviceGetClockInfo(device, _SM_CLOCK, ctypes.byref(value)):
                parts.append(f"{value.value} MHz")
            if not nvml.nvmlDeviceGetPowerUsage(device, ctypes.byref(value)):
                parts.append(f"{value.value / 1000:.0f} W")
    return ", ".join(parts)


def energy(index: int = 0) -> float | None:
    """Joules that a device has drawn since its driver was loaded: what differs between two readings was drawn
    between them.

    None where NVIDIA's management library does not tell, as of devices before Volta. Never raises.
    """
    with suppress(Exception):
        if devices.missing() is None:
            nvml, device, value = _nvml(), _nvml_device(index), ctypes.c_ulonglong()
            if not nvml.nvmlDeviceGetTotalEnergyConsumption(device, ctypes.byref(value)):
                return value.value / 1000
    return None
