"""Processors that need not be here, by LLVM's names of their cores: kernels are written for them, and judged
by LLVM's scheduling models (``cycles``).

A named processor has the key that the same one gives itself where it is found (``processor.probe``), so that
what is filed under it serves there. Caches are those of a core, from its maker's manuals; the last level is
what a common server of the kind has, and no promise.
"""

from __future__ import annotations

import difflib
import functools
from collections.abc import Mapping
from dataclasses import dataclass

from tilewright.errors import ArgumentError
from tilewright.model import Device
from tilewright.targets.cpu.isa import ISAS, Isa, family_limits, supported


@dataclass(frozen=True, slots=True)
class Core:
    """What a core is called, the instruction sets of ``isa.ISAS`` that it has, the one that it uses first,
    its caches in KiB (first level for data, second, last), and what it has of ``Isa.extras``."""

    title: str
    sets: tuple[str, ...]
    caches: tuple[int, int, int]
    extras: tuple[str, ...] = ()


CORES = {
    "cortex-a57": Core("Arm Cortex-A57", ("neon",), (32, 2048, 2048)),
    "neoverse-n1": Core("Arm Neoverse N1", ("neon",), (64, 1024, 32768)),
    "neoverse-n2": Core("Arm Neoverse N2", ("sve128", "neon"), (64, 1024, 32768), ("bf16", "sve2")),
    "neoverse-v1": Core("Arm Neoverse V1", ("sve256", "neon"), (64, 1024, 32768), ("bf16",)),
    "neoverse-v2": Core("Arm Neoverse V2", ("sve128", "neon"), (64, 2048, 32768), ("bf16", "sve2")),
    "a64fx": Core("Fujitsu A64FX", ("sve512", "neon"), (64, 8192, 8192)),
    "apple-m1": Core("Apple M1", ("neon_fcma", "neon"), (128, 12288, 12288)),
    "apple-m4": Core("Apple M4", ("sme512", "neon_fcma", "neon"), (128, 16384, 16384)),
    "pwr8": Core("IBM POWER8", ("vsx",), (64, 512, 8192)),
    "pwr9": Core("IBM POWER9", ("vsx",), (32, 512, 10240)),
    "pwr10": Core("IBM POWER10", ("mma", "vsx"), (32, 2048, 8192)),
    "sifive-x280": Core("SiFive X280", ("rvv512",), (32, 256, 2048), ("zvfhmin",)),
    "sifive-p670": Core("SiFive P670", ("rvv128",), (32, 256, 2048)),
    "spacemit-x60": Core("SpacemiT X60", ("rvv256",), (32, 512, 512), ("zvfhmin",)),
    "znver3": Core("AMD Zen 3", ("avx2",), (32, 512, 32768)),
    "znver4": Core("AMD Zen 4", ("avx512",), (32, 1024, 32768)),
    "znver5": Core("AMD Zen 5", ("avx512",), (48, 1024, 32768)),
    "sapphirerapids": Core("Intel Sapphire Rapids", ("avx512",), (48, 2048, 32768)),
    "icelake-server": Core("Intel Ice Lake", ("avx512",), (48, 1280, 32768)),
    "rocketlake": Core("Intel Rocket Lake", ("avx512",), (48, 512, 16384)),
    "cascadelake": Core("Intel Cascade Lake", ("avx512",), (32, 1024, 32768)),
    "skylake-avx512": Core("Intel Skylake", ("avx512",), (32, 1024, 32768)),
    "haswell": Core("Intel Haswell", ("avx2",), (32, 256, 25600)),
}
"""The cores that are known by LLVM's names of them. It has a scheduling model of each but Apple's, for
which an older core's stands in, without outer products."""


def _device(name: str, core: Core, isa: Isa) -> Device:
    has = {*isa.needs, *set(isa.extras).intersection(core.extras)}
    limits = {
        **isa.limits,
        **family_limits(name),
        "cores": 1,
        **{level: size << 10 for level, size in zip(("l1d", "l2", "l3"), core.caches, strict=True)},
    }
    features = f"{isa.arch}/{name} " + ",".join(sorted(f"+{need}" for need in has))
    return Device("cpu", core.title, f"{name}-{isa.name}", limits, features, supports=supported(has))


@functools.cache
def devices() -> Mapping[str, Device]:
    """The named processors as data, one core of each, by their keys: ``neoverse-v2-neon``."""
    sets = {isa.name: isa for isa in ISAS}
    return {
        f"{name}-{known}": _device(name, core, sets[known])
        for name, core in CORES.items()
        for known in core.sets
    }


def device(name: str) -> Device:
    """A named processor by its key, or by LLVM's name of its core and then with its widest vectors.

    Raises ``ArgumentError``, which names those that are spelled nearly so.
    """
    found = devices()
    key = f"{name}-{CORES[name].sets[0]}" if name in CORES else name
    if key in found:
        return found[key]
    names = [*CORES, *found]
    near = difflib.get_close_matches(name, names, n=4, cutoff=0.5)
    meant = f"; did you mean {', '.join(near)}?" if near else ""
    raise ArgumentError(f"device={name!r} is no processor by name; accepted: {', '.join(CORES)}{meant}")
