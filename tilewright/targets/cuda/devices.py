"""The GPUs of this machine as data, and why there are none."""

from __future__ import annotations

import functools
import uuid
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

from tilewright.errors import ArgumentError, DeviceError
from tilewright.model import Device
from tilewright.targets.cuda import capability
from tilewright.targets.cuda.bindings import _line, _named, bindings, check
from tilewright.targets.cuda.nvrtc import _nvrtc, _nvrtc_version, compiler_missing


@functools.cache
def missing() -> str | None:
    """Why no CUDA device can be used here, in words for a user; None if one can. Makes no context."""
    reason = compiler_missing()
    if reason is not None:
        return reason
    try:
        return _device_missing(bindings(), _nvrtc_version(_nvrtc()))
    except Exception as error:
        return f"the CUDA driver cannot be used: {_line(error)}"


def _device_missing(driver: ModuleType, compiler: tuple[int, int]) -> str | None:
    try:
        code, version = driver.cuDriverGetVersion()
    except Exception:  # The bindings look for the library at the first call.
        return "no CUDA driver is installed (its library, libcuda.so.1, cannot be loaded)"
    if code:
        return f"the CUDA driver does not say its version ({_named(code)})"
    if not version:
        return "no CUDA driver is installed (libcuda.so.1 is a stand-in without a driver behind it)"
    # Within one major version, machine code of a newer compiler runs on an older driver.
    if version // 1000 < compiler[0]:
        return (
            f"the CUDA driver is too old: it is of CUDA {version // 1000}.{version % 1000 // 10}, and NVRTC "
            f"{compiler[0]}.{compiler[1]} needs one of CUDA {compiler[0]}.0 or later"
        )
    (code,) = driver.cuInit(0)
    if code == driver.CUresult.CUDA_ERROR_NO_DEVICE:
        return "the CUDA driver finds no device"
    if code:
        return f"the CUDA driver cannot be initialised ({_named(code)})"
    code, devices = driver.cuDeviceGetCount()
    if code:
        return f"the CUDA driver does not say how many devices there are ({_named(code)})"
    return None if devices else "the CUDA driver finds no device"


# ---- the device


def _need_device() -> None:
    reason = missing()
    if reason is not None:
        raise DeviceError(reason)


def count() -> int:
    """How many CUDA devices can be used; 0 when something is missing."""
    if missing() is not None:
        return 0
    return int(check(bindings().cuDeviceGetCount(), "counting the devices"))


@functools.cache
def driver_version() -> str:
    """The driver's release and the CUDA version that it is of: ``580.95.05, CUDA 13.0``; "" without one."""
    if missing() is not None:
        return ""
    version = check(bindings().cuDriverGetVersion(), "asking for the driver's version")
    cuda = f"CUDA {version // 1000}.{version % 1000 // 10}"
    with suppress(OSError):
        return f"{Path('/sys/module/nvidia/version').read_text().strip()}, {cuda}"
    return cuda


# Names of ``Device.limits`` and the driver's attributes behind them.
_QUERIES = {
    "warp_size": "WARP_SIZE",
    "threads_per_block": "MAX_THREADS_PER_BLOCK",
    "registers_per_block": "MAX_REGISTERS_PER_BLOCK",
    "shared_per_block": "MAX_SHARED_MEMORY_PER_BLOCK",
    "shared_per_block_optin": "MAX_SHARED_MEMORY_PER_BLOCK_OPTIN",
    "sms": "MULTIPROCESSOR_COUNT",
    "l2": "L2_CACHE_SIZE",
    "clock_khz": "CLOCK_RATE",
    "texture1d_linear": "MAXIMUM_TEXTURE1D_LINEAR_WIDTH",
    "texture2d_linear_width": "MAXIMUM_TEXTURE2D_LINEAR_WIDTH",
    "texture2d_linear_height": "MAXIMUM_TEXTURE2D_LINEAR_HEIGHT",
    "texture2d_linear_pitch": "MAXIMUM_TEXTURE2D_LINEAR_PITCH",
    "texture_pitch_alignment": "TEXTURE_PITCH_ALIGNMENT",
}


@functools.cache
def attribute(name: str, index: int) -> int:
    """A ``CU_DEVICE_ATTRIBUTE_*`` of a device, by the name without this beginning."""
    api = bindings()
    which = getattr(api.CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{name}")
    return int(check(api.cuDeviceGetAttribute(which, _handle(index)), f"asking device {index} for {name}"))


def _handle(index: int) -> Any:
    """The driver's device. Raises ``DeviceError`` without any, ``ArgumentError`` for one too many."""
    _need_device()
    if not 0 <= index < count():
        raise ArgumentError(f"index={index}; accepted: 0 to {count() - 1}, a CUDA device of this machine")
    return check(bindings().cuDeviceGet(index), f"opening device {index}")


@functools.cache
def probe(index: int = 0) -> Device:
    """A device of this machine. Asks the driver only, so that no context comes to be.

    Raises ``DeviceError`` with the reason when CUDA cannot be used, ``ArgumentError`` when there are not
    that many devices.
    """
    handle = _handle(index)
    raw = check(bindings().cuDeviceGetName(256, handle), f"asking device {index} for its name")
    name = raw.partition(b"\0")[0].decode(errors="replace").strip()
    version = 10 * attribute("COMPUTE_CAPABILITY_MAJOR", index) + attribute("COMPUTE_CAPABILITY_MINOR", index)
    queried = {limit: attribute(query, index) for limit, query in _QUERIES.items()}
    found = capability.device(name, capability.key_of(name), version, queried)
    return replace(found, index=index, uuid=_uuid(handle))


def _uuid(handle: Any) -> str:
    """What names a device whatever its number, as NVIDIA's tools write it: ``GPU-4a2c...``; "" if unknown."""
    with suppress(Exception):
        raw = check(bindings().cuDeviceGetUuid(handle), "asking for the device's UUID")
        return f"GPU-{uuid.UUID(bytes=bytes(raw.bytes))}"
    return ""
