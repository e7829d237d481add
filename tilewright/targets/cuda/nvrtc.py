"""CUDA C++ to machine code by NVRTC, with facts from the log of ptxas. No GPU is needed.

A program is compiled straight to machine code (CUBIN), so no driver ever compiles anything. Its headers are
handed over in memory: what is compiled is exactly what ``Source.digest`` hashes.
"""

from __future__ import annotations

import functools
import re
from contextlib import suppress
from types import ModuleType
from typing import Any

from tilewright.errors import CompileError, DeviceError
from tilewright.model import Binary, Device, Source
from tilewright.targets.cuda.bindings import _INSTALL, _line

# ---- what is there


def _nvrtc() -> ModuleType:
    from cuda.bindings import nvrtc

    module: ModuleType = nvrtc
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


def _nvrtc_version(nvrtc: ModuleType) -> tuple[int, int]:
    code, major, minor = nvrtc.nvrtcVersion()
    if code:
        raise DeviceError(f"nvrtcVersion failed ({code})")
    return major, minor


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
        *source.options,
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
