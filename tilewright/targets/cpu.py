"""The CPU target: LLVM IR to machine code through llvmlite, and what the machine is.

A module is compiled as it stands, with no optimiser (see ``stencils/cpu/emit.py``), by LLVM's code
generator at its highest level. With ``facts=True`` it is generated a second time as assembly, and
the assembly says what the code cannot hide: spilled vectors and fused multiply-adds.
"""

from __future__ import annotations

import ctypes
import functools
import os
import platform
import re
from pathlib import Path

import llvmlite
import llvmlite.binding as llvm

from tilewright.errors import CompileError, DeviceError
from tilewright.model import Binary, Device, Kernel, Source
from tilewright.targets.isa import ISAS, best_isa

_SPILL = re.compile(r"#\s*(?:\d+-byte )?(?:Folded )?Spill|//.*Folded Spill")


@functools.cache
def _target(arch: str) -> llvm.Target:
    """LLVM's back end for an architecture, initialised once."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    triple = {"x86_64": "x86_64-unknown-linux-gnu", "aarch64": "aarch64-unknown-linux-gnu"}.get(
        arch, f"{arch}-unknown-linux-gnu"
    )
    return llvm.Target.from_triple(triple)


@functools.cache
def _machine(device: Device) -> llvm.TargetMachine:
    cpu, _, features = device.features.partition(" ")
    arch, _, cpu = cpu.partition("/")
    return _target(arch).create_target_machine(cpu=cpu, features=features, opt=3, reloc="pic", jit=True)


def toolchain() -> str:
    """The compiler behind this target, part of every cache key and record."""
    return f"llvm {'.'.join(map(str, llvm.llvm_version_info))} llvmlite {llvmlite.__version__}"


@functools.cache
def probe() -> Device:
    """This machine. Ceilings are empty until ``roofline.measure`` has run.

    Raises ``DeviceError`` when the processor has none of the instruction sets of ``targets/isa.py``.
    """
    arch = {"AMD64": "x86_64", "arm64": "aarch64"}.get(platform.machine(), platform.machine())
    features = {name for name, on in llvm.get_host_cpu_features().items() if on}
    isa = best_isa(arch, features)
    if isa is None:
        raise DeviceError(
            f"this processor ({arch}) has none of the vector instruction sets {', '.join(i.name for i in ISAS)}"
        )
    cpu = llvm.get_host_cpu_name()
    flags = ",".join(sorted(f"+{name}" for name in isa.needs))
    limits = {
        "vector_bits": isa.vector_bits,
        "vector_registers": isa.vector_registers,
        "masks": int(isa.masks),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        **_caches(),
    }
    return Device("cpu", _model_name(), f"{cpu}-{isa.name}", limits, features=f"{arch}/{cpu} {flags}")


def _model_name() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return platform.processor() or platform.machine()
    found = re.search(r"^model name\s*:\s*(.+)$", text, re.M)
    return found[1] if found else platform.machine()


def _caches() -> dict[str, int]:
    """Data cache sizes in bytes as one core sees them; common values where the system tells none."""
    sizes = {"l1d": 32 << 10, "l2": 1 << 20, "l3": 32 << 20}
    for index in Path("/sys/devices/system/cpu/cpu0/cache").glob("index*"):
        try:
            level, kind, size = ((index / f).read_text().strip() for f in ("level", "type", "size"))
        except OSError:
            continue
        if kind != "Instruction" and size.endswith("K"):
            sizes["l1d" if level == "1" else f"l{level}"] = int(size[:-1]) << 10
    return sizes


def parse(source: Source) -> llvm.ModuleRef:
    """The verified module of a source. Raises ``CompileError`` with LLVM's message."""
    try:
        module = llvm.parse_assembly(source.text)
        module.verify()
    except RuntimeError as error:
        raise CompileError(f"LLVM refused the generated program: {error}") from error
    return module


def assembly(source: Source, device: Device) -> str:
    """The program as assembly with the compiler's comments."""
    machine = _machine(device)
    machine.set_asm_verbosity(True)
    return machine.emit_assembly(parse(source))


def compile(source: Source, device: Device, facts: bool = False) -> Binary:
    """Machine code for a source; with ``facts`` also ``spills``, ``fma`` and ``code_bytes`` of it.

    Raises ``CompileError`` when LLVM refuses the program.
    """
    known: dict[str, int] = {}
    if facts:
        text = assembly(source, device)
        starts = next(isa.fma_text for isa in ISAS if isa.arch == device.features.partition("/")[0])
        operations = [line.split(None, 1)[0] for line in text.splitlines() if line.startswith("\t")]
        known["spills"] = sum(bool(_SPILL.search(line)) for line in text.splitlines())
        known["fma"] = sum(op.startswith(starts) for op in operations)
    code = _machine(device).emit_object(parse(source))
    known["code_bytes"] = len(code)
    return Binary(code, source.entry, source.digest, known)


class _Loader:
    """One JIT engine for every object of the process: making one costs more than loading into it."""

    def __init__(self, device: Device):
        arch = device.features.partition("/")[0]
        target = _target(arch)
        backing = llvm.parse_assembly("")
        backing.triple = target.triple
        # The engine owns its machine, so it is not the one that compiles.
        machine = target.create_target_machine(opt=0, reloc="pic", jit=True)
        self.engine = llvm.create_mcjit_compiler(backing, machine)
        self.count = 0


_loaders: dict[Device, _Loader] = {}


def load(binary: Binary, device: Device) -> Kernel:
    """A binary in memory, callable at ``Kernel.address``."""
    backing = llvm.parse_assembly("")
    target = _target(device.features.partition("/")[0])
    backing.triple = target.triple
    engine = llvm.create_mcjit_compiler(backing, target.create_target_machine(opt=0, reloc="pic", jit=True))
    engine.add_object_file(llvm.ObjectFileRef.from_data(binary.code))
    engine.finalize_object()
    address = engine.get_function_address(binary.entry)
    if not address:
        raise CompileError(f"entry={binary.entry!r} is not in the compiled object")
    return Kernel(address, binary, engine)


PROTOTYPE = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3, *[ctypes.c_longlong] * 4, ctypes.c_void_p)
