"""The driver's own interface, imported when it is first needed, and its errors by name."""

from __future__ import annotations

from contextlib import suppress
from types import ModuleType
from typing import Any

from tilewright.errors import DeviceError

_INSTALL = "pip install 'tilewright[cuda]'"


def bindings() -> ModuleType:
    """The driver, through NVIDIA's bindings."""
    from cuda.bindings import driver

    module: ModuleType = driver
    return module


def _line(error: BaseException) -> str:
    """The first line of an error's message, for a sentence."""
    lines = str(error).strip().splitlines()
    return lines[0].rstrip(".") if lines else type(error).__name__


# ---- the driver's errors

# After these no call of the process's context succeeds any more.
_STICKY = {
    "CUDA_ERROR_ECC_UNCORRECTABLE",
    "CUDA_ERROR_ILLEGAL_ADDRESS",
    "CUDA_ERROR_LAUNCH_TIMEOUT",
    "CUDA_ERROR_CONTEXT_IS_DESTROYED",
    "CUDA_ERROR_ASSERT",
    "CUDA_ERROR_HARDWARE_STACK_ERROR",
    "CUDA_ERROR_ILLEGAL_INSTRUCTION",
    "CUDA_ERROR_MISALIGNED_ADDRESS",
    "CUDA_ERROR_INVALID_ADDRESS_SPACE",
    "CUDA_ERROR_INVALID_PC",
    "CUDA_ERROR_LAUNCH_FAILED",
}


def _named(code: int) -> str:
    """An error of the driver by name and in its own words, as ``CUDA_ERROR_X: words``."""
    with suppress(Exception):
        driver = bindings()
        result = driver.CUresult(int(code))
        text: str = result.name
        failed, words = driver.cuGetErrorString(result)
        return text if failed or not words else f"{text}: {words.decode(errors='replace')}"
    return f"CUDA error {int(code)}"


def failure(code: int, what: str) -> DeviceError:
    """The error to raise when a call of the driver returned ``code``; ``what`` says what was tried."""
    text = _named(code)
    if text.partition(":")[0] in _STICKY:
        text += "; the context is lost: nothing more runs on this device in this process"
    elif "CUDA_ERROR_INVALID_CONTEXT" in text:
        text += "; no context is current on this thread"
    return DeviceError(f"{what} failed ({text})")


def check(answer: tuple[Any, ...], what: str) -> Any:
    """What a call of the bindings returned beside its code. Raises ``DeviceError`` when it failed."""
    code, *values = answer
    if code:
        raise failure(code, what)
    return values[0] if len(values) == 1 else tuple(values)
