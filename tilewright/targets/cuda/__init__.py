"""The CUDA target: program text to machine code through NVRTC, and which device there is.

NVRTC and the driver are reached through NVIDIA's Python bindings (the extra ``cuda``), which are
imported on first use: without them, without the libraries, or without a device, ``missing`` says why
and nothing else happens. Compiling needs NVRTC alone, and no device.

A program is compiled straight to machine code (CUBIN), so no driver ever compiles anything. Its headers
are handed over in memory: what is compiled is exactly what ``Source.digest`` hashes.
"""

from __future__ import annotations

import functools
import re
import uuid
import weakref
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

from tilewright.errors import ArgumentError, CompileError, DeviceError
from tilewright.model import Binary, Device, Kernel, Source
from tilewright.targets.cuda import capability

_INSTALL = "pip install 'tilewright[cuda]'"


# ---- what is there


def _nvrtc() -> ModuleType:
    from cuda.bindings import nvrtc

    module: ModuleType = nvrtc
    return module


def bindings() -> ModuleType:
    """The driver, through NVIDIA's bindings."""
    from cuda.bindings import driver

    module: ModuleType = driver
    return module


@functools.cache
def compiler_missing() -> str | None:
    """Why nothing can be compiled for CUDA here, in words for a user; None if it can."""
    try:
        nvrtc = _nvrtc()
    except Exception as error:  # A broken installation must not keep the CPU from being used.
        return f"NVIDIA's Python bindings cannot be imported ({_line(error)}); {_INSTALL} brings them"
    try:
        _nvrtc_version(nvrtc)
    except Exception as error:
        return f"the library NVRTC, CUDA's compiler, cannot be used ({_line(error)}); {_INSTALL} brings it"
    return None


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


def _line(error: BaseException) -> str:
    """The first line of an error's message, for a sentence."""
    lines = str(error).strip().splitlines()
    return lines[0].rstrip(".") if lines else type(error).__name__


def _nvrtc_version(nvrtc: ModuleType) -> tuple[int, int]:
    code, major, minor = nvrtc.nvrtcVersion()
    if code:
        raise DeviceError(f"nvrtcVersion failed ({code})")
    return major, minor


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


# ---- the compiler


@functools.cache
def toolchain() -> str:
    """The compiler behind this target, part of every cache key and record: ``nvrtc 13.0.88``.

    Raises ``DeviceError`` when it is missing.
    """
    _need_compiler()
    nvrtc = _nvrtc()
    # The version function leaves out the build, which PTX states in its head.
    with suppress(Exception):
        program = check_nvrtc(nvrtc.nvrtcCreateProgram(b"", b"version.cu", 0, [], []))
        try:
            check_nvrtc(nvrtc.nvrtcCompileProgram(program, 0, []))
            text = bytearray(check_nvrtc(nvrtc.nvrtcGetPTXSize(program)))
            check_nvrtc(nvrtc.nvrtcGetPTX(program, text))
        finally:
            nvrtc.nvrtcDestroyProgram(program)
        found = re.search(rb"\bV(\d+\.\d+\.\d+)", text)
        if found:
            return f"nvrtc {found[1].decode()}"
    return "nvrtc {}.{}".format(*_nvrtc_version(nvrtc))


def _need_compiler() -> None:
    reason = compiler_missing()
    if reason is not None:
        raise DeviceError(reason)


def check_nvrtc(answer: tuple[Any, ...]) -> Any:
    """What a call of NVRTC returned beside its code. Raises ``CompileError`` when it failed."""
    code, *values = answer
    if code:
        raise CompileError(f"NVRTC failed ({getattr(code, 'name', code)})")
    return values[0] if values else None


def options(source: Source, device: Device) -> tuple[str, ...]:
    """What NVRTC is told. Definitions go here and not into the text, so that its line numbers are true."""
    return (
        f"--gpu-architecture={device.features}",
        "--std=c++17",
        "--ptxas-options=-v",  # Registers and spills, in the log.
        "--no-cache",  # NVRTC's own cache brings back the code without its log.
        *(f"-D{name}={value}" for name, value in source.defines),
    )


def _compiled(source: Source, device: Device) -> tuple[bytes | None, str]:
    """Machine code and log of a source; no code when NVRTC refused it."""
    _need_compiler()
    nvrtc = _nvrtc()
    names = [name.encode() for name, _ in source.headers]
    texts = [text.encode() for _, text in source.headers]
    program = check_nvrtc(
        nvrtc.nvrtcCreateProgram(
            source.text.encode(), f"{source.entry}.cu".encode(), len(names), texts, names
        )
    )
    try:
        told = [option.encode() for option in options(source, device)]
        (code,) = nvrtc.nvrtcCompileProgram(program, len(told), told)
        text = bytearray(check_nvrtc(nvrtc.nvrtcGetProgramLogSize(program)))
        check_nvrtc(nvrtc.nvrtcGetProgramLog(program, text))
        # It ends with a zero, and ptxas' own errors come after another one.
        log = text.replace(b"\0", b"").decode(errors="replace")
        if code:
            return None, log or str(getattr(code, "name", code))
        cubin = bytearray(check_nvrtc(nvrtc.nvrtcGetCUBINSize(program)))
        check_nvrtc(nvrtc.nvrtcGetCUBIN(program, cubin))
        return bytes(cubin), log
    finally:
        nvrtc.nvrtcDestroyProgram(program)


def log(source: Source, device: Device) -> str:
    """All that the compiler says of a source, whether it accepts it or not."""
    return _compiled(source, device)[1]


def compile(source: Source, device: Device) -> Binary:
    """Machine code for a source.

    Facts, of the entry alone: ``registers`` of a thread, ``spills`` (bytes that one thread stores and
    loads because registers ran out), ``stack`` (bytes of its frame), ``shared`` (bytes that are not
    dynamic); and of the whole program: ``warnings`` (their number, ptxas' advisories of lost
    performance among them) and ``code_bytes``. Raises ``CompileError`` with the first errors when NVRTC
    refuses the program, and ``DeviceError`` when there is no NVRTC.
    """
    code, text = _compiled(source, device)
    if code is None:
        raise CompileError(f"NVRTC refused {source.entry} for {device.features}: {first_errors(text)}")
    return Binary(code, source.entry, source.digest, facts_of(text, source.entry) | {"code_bytes": len(code)})


_ERROR = re.compile(r"\berror\b|\bfatal\b")
_ERRORS_SHOWN = 4


def first_errors(text: str) -> str:
    """The first lines of a log that are errors; its last line when none looks like one."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if _ERROR.search(line)]
    return "\n".join(errors[:_ERRORS_SHOWN] or lines[-1:])


_ENTRY = re.compile(r"Compiling entry function '([^']+)'")
_FRAME = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_REGISTERS = re.compile(r"\bUsed (\d+) registers")
_SHARED = re.compile(r"(\d+)(?:\+\d+)? bytes smem")
# The front end writes "warning #177-D:", ptxas "warning :" or an advisory numbered (C75xx).
_WARNING = re.compile(r"\bwarning\s*[#:]|\(C75\d\d\)", re.I)


def facts_of(text: str, entry: str) -> dict[str, int]:
    """What a log says of an entry. Raises ``CompileError`` when it does not speak of it.

    After "Compiling entry function" come the frame of the entry, its registers, and the frames of the
    functions that it calls; then the next entry.
    """
    group: list[str] | None = None
    for line in text.splitlines():
        found = _ENTRY.search(line)
        if found:
            if group is not None:
                break
            if found[1] == entry:
                group = []
        elif group is not None:
            group.append(line)
    if group is None:
        raise CompileError(f'the program has no kernel {entry!r}; accepted: one that is extern "C"')
    told = "\n".join(group)
    frames = [tuple(map(int, found.groups())) for found in _FRAME.finditer(told)]
    registers, shared = _REGISTERS.search(told), _SHARED.search(told)
    if registers is None or not frames:
        raise CompileError(f"the log of NVRTC does not state the registers and spills of {entry!r}")
    return {
        "registers": int(registers[1]),
        "spills": sum(stores + loads for _, stores, loads in frames),
        "stack": frames[0][0],
        "shared": int(shared[1]) if shared else 0,
        "warnings": sum(bool(_WARNING.search(line)) for line in text.splitlines()),
    }


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
def driver() -> str:
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
