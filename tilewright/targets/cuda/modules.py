"""Contexts, and machine code loaded into them."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from tilewright.errors import CompileError
from tilewright.model import Binary, Kernel
from tilewright.targets.cuda.bindings import _named, bindings, check
from tilewright.targets.cuda.devices import _handle, _need_device

# ---- kernels in memory


@functools.cache
def _primary(index: int) -> Any:
    """The primary context of a device, retained for good: that of PyTorch and CuPy, too."""
    return check(bindings().cuDevicePrimaryCtxRetain(_handle(index)), f"making the context of device {index}")


def context(index: int = 0) -> int:
    """Make a context current on this thread if none is, and give the current one's address.

    One that is current stays, whichever device it is of: who made it current wants its kernels there.
    Raises as ``probe``.
    """
    _need_device()
    api = bindings()
    current = check(api.cuCtxGetCurrent(), "asking for the current context")
    if not int(current):
        current = _primary(index)
        check(api.cuCtxSetCurrent(current), f"making the context of device {index} current")
    return int(current)


@contextmanager
def within(index: int) -> Iterator[None]:
    """Within it the primary context of a device is the current one, whichever was before. Raises as
    ``probe``."""
    _need_device()
    api = bindings()
    check(api.cuCtxPushCurrent(_primary(index)), f"making the context of device {index} current")
    try:
        yield
    finally:
        check(api.cuCtxPopCurrent(), "going back to the context of before")


def current_device() -> int:
    """The number of the device whose context is current."""
    context()
    return int(check(bindings().cuCtxGetDevice(), "asking for the current device"))


def synchronize() -> None:
    """Wait for all that was started on the device. Raises ``DeviceError`` when any of it failed."""
    context()
    check(bindings().cuCtxSynchronize(), "waiting for the device")


def _quietly(address: int, name: str, *arguments: Any) -> None:
    """Call the driver within a context, and never fail: for what is freed."""
    # A lost context, a forked child or an interpreter that is ending: the system frees all of it anyway.
    with suppress(Exception):
        api = bindings()
        if not api.cuCtxPushCurrent(api.CUcontext(address))[0]:
            try:
                getattr(api, name)(*arguments)
            finally:
                api.cuCtxPopCurrent()


class Owned:
    """Something of the driver, given back when nobody holds it any more.

    ``handle`` is its address or number; ``release`` and ``arguments`` are the call that gives it back.
    """

    def __init__(self, handle: int, release: str, *arguments: Any):
        self.handle = handle
        self._finalizer = weakref.finalize(self, _quietly, context(), release, *arguments)
        # The end of the process frees everything, and the driver may be gone before Python is.
        self._finalizer.atexit = False


def load(binary: Binary) -> Kernel:
    """A binary in the memory of the current device (the first, when none is current).

    ``Kernel.address`` is its CUfunction. Raises ``CompileError`` when the binary is not for this device
    or lacks its entry, ``DeviceError`` when the driver fails.
    """
    context()
    api = bindings()
    code, module = api.cuModuleLoadData(binary.code)
    if code in {
        api.CUresult.CUDA_ERROR_INVALID_IMAGE,
        api.CUresult.CUDA_ERROR_NO_BINARY_FOR_GPU,
        api.CUresult.CUDA_ERROR_INVALID_SOURCE,
    }:
        raise CompileError(f"the binary of {binary.entry} does not run on this device ({_named(code)})")
    check((code,), f"loading {binary.entry}")
    owner = Owned(int(module), "cuModuleUnload", module)
    code, function = api.cuModuleGetFunction(module, binary.entry.encode())
    if code == api.CUresult.CUDA_ERROR_NOT_FOUND:
        raise CompileError(f"the binary has no kernel {binary.entry!r}")
    check((code,), f"finding {binary.entry}")
    return Kernel(int(function), binary, owner)
