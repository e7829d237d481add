"""What this processor is: its instruction set, caches and cores, as data."""

from __future__ import annotations

import functools
import os
import platform
import re
from pathlib import Path

import llvmlite.binding as llvm

from tilewright.errors import DeviceError
from tilewright.model import Device
from tilewright.targets.cpu import arm, permission, riscv
from tilewright.targets.cpu.isa import ASKED, ISAS, TILES, best_isa, family_limits, supported

VECTORS = ("avx", "f16c", "fma", "bmi", "lzcnt", "movbe", "popcnt", "gfni", "vaes", "vpclmulqdq")
"""How LLVM's names begin of what it may use for products where a core has it."""


@functools.cache
def probe() -> Device:
    """This machine. Ceilings are empty until ``tuning.ceilings_cpu.measure`` has run.

    Raises ``DeviceError`` when the processor has none of the instruction sets of ``targets/cpu/isa.py``.
    """
    arch = {"AMD64": "x86_64", "arm64": "aarch64"}.get(platform.machine(), platform.machine())
    features = {name for name, on in llvm.get_host_cpu_features().items() if on}
    if "amx-tile" in features and not permission.tiles():
        features.difference_update(TILES)
    if arch == "riscv64":
        features |= riscv.extensions(_cpuinfo(), 0)
        features |= riscv.extensions("", riscv.vector_bits() if "v" in features else 0)
    lengths = (0, 0)
    if arch == "aarch64":
        features |= arm.extensions(_cpuinfo())
        lengths = (arm.vector_bits(), arm.streaming_bits())
    isa = best_isa(arch, features, *lengths)
    if isa is None:
        raise DeviceError(
            f"this processor ({arch}) has none of the vector instruction sets "
            + ", ".join(i.name for i in ISAS)
        )
    cpu = llvm.get_host_cpu_name()
    asked = features.intersection((*ASKED, *isa.extras))
    flags = ",".join(sorted(f"+{name}" for name in {*isa.needs, *asked}))
    limits = {
        **isa.limits,
        **family_limits(cpu),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        **_caches(),
    }
    flags = ",".join([flags, *_hidden(arch)])
    key, compiled_for = f"{cpu}-{isa.name}", f"{arch}/{cpu} {flags}"
    return Device("cpu", _model_name(), key, limits, compiled_for, supports=supported(features))


def _hidden(arch: str) -> list[str]:
    """Flags against the vector instructions that this processor says it lacks.

    LLVM's name of a core stands for all that the core has, but a virtual machine may hide some of it: a Xeon
    without AVX-512-FP16 is still a ``sapphirerapids``, and one without AVX-512 a ``skylake-avx512``. Only x86
    is asked by ``cpuid`` for each of them.
    """
    if arch != "x86_64":
        return []
    told = llvm.get_host_cpu_features().items()
    return sorted(f"-{name}" for name, on in told if not on and name.startswith(VECTORS))


def _cpuinfo() -> str:
    """What Linux says of its processors; nothing where there is no such file."""
    try:
        return Path("/proc/cpuinfo").read_text()
    except OSError:
        return ""


def _model_name() -> str:
    text = _cpuinfo()
    if not text:
        return platform.processor() or platform.machine()
    found = re.search(r"^(?:model name|uarch)\s*:\s*(.+)$", text, re.M)
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
