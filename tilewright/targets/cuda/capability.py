"""What NVIDIA devices can hold, by compute capability, and some devices as data.

The numbers are those of NVIDIA's CUDA C Programming Guide: "Technical Specifications per Compute
Capability" in the appendix on compute capabilities, and "Throughput of Native Arithmetic Instructions"
for multiply-adds. Editions drop old devices: 2.x is in those up to 8.0, 3.x up to 11, 5.x to 7.0 up to
12, and the latest begins at 7.5.

Limits of a CUDA device that it reports itself (``targets.cuda.probe``), in bytes, counts and kHz:
warp_size, threads_per_block, registers_per_block, shared_per_block (what a kernel gets unasked),
shared_per_block_optin (what it gets when it asks), sms, l2, clock_khz, texture1d_linear (texels),
texture2d_linear_width and _height (texels), texture2d_linear_pitch, texture_pitch_alignment.

Limits that follow from its compute capability: those of ``Tabled``, and capability itself. What it supports,
and its rates, follow too, so that a new generation is one row of ``_TABLE`` and nothing else.

``cores`` is the number of host threads that launch, which is 1.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace

from tilewright.errors import ArgumentError
from tilewright.model import EMULATED, Device

FEATURES = {
    "ldg": "loads through the read-only path",
    "cp_async": "asynchronous copies from device to shared memory, and products of bfloat16",
    "mma_f64": "float64 products of 8 x 8 x 4 on tensor cores",
    "mma_f64_m16": "float64 products of 16 rows on tensor cores",
    "bulk_copy": "copies of whole blocks of memory (cp.async.bulk)",
    "tma": "copies of tiles of a tensor by its description",
    "clusters": "blocks that read each other's shared memory",
    "multicast": "one copy into the shared memory of several blocks",
    "dependent_launch": "kernels that begin while those before them end",
    "wgmma": "products of four warps together",
    "tcgen05": "products of a whole block, with sums in tensor memory",
}
"""What a device may support, in words. The PTX ISA says from which version on each instruction is there;
wgmma and tcgen05 are of single architectures and in no later one."""
_KEPLER = frozenset({"ldg"})
_AMPERE = _KEPLER | {"cp_async", "mma_f64"}
# What every device from 9.0 on has; those for workstations (12.x) have no more.
_HOPPER_ALL = _AMPERE | {"mma_f64_m16", "bulk_copy", "tma", "clusters", "dependent_launch"}
_HOPPER = _HOPPER_ALL | {"multicast", "wgmma"}
_BLACKWELL = _HOPPER_ALL | {"multicast", "tcgen05"}
_NOTHING: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Tabled:
    """Limits of a multiprocessor (SM): resident threads, warps and blocks, 32-bit registers, bytes of
    shared memory, registers that one thread can address, bytes of shared memory that the system takes
    of every block. Then what it supports (``FEATURES``), and multiply-adds in a clock.

    ``fma`` is the rate in single and double precision. ``mma`` is that of tensor cores in 16 bits, with sums
    in float32, and in float64, when each warp asks for its own product; ``tensor`` is the highest one, by
    whatever instruction, where NVIDIA has published it. (An SM of the A100 does 1024 multiply-adds of halves
    and 64 of doubles, one of the H100 2048 and 128: their white papers' 312, 19.5, 989 and 67 Tflop/s, the
    third by a clock that is lower for tensor cores.) What ``mma`` reaches on 10.x and 11.0 is not published:
    halves are taken to go as on 8.0, and doubles as the arithmetic units go.

    Where the devices of a capability differ, the row is that of the data-centre part.
    """

    threads_per_sm: int
    warps_per_sm: int
    blocks_per_sm: int
    registers_per_sm: int
    shared_per_sm: int
    registers_per_thread: int
    shared_reserved: int
    fma: tuple[int, int]
    supports: frozenset[str] = _NOTHING
    mma: tuple[int, int] = (0, 0)
    tensor: tuple[int, int] = (0, 0)

    @property
    def limits(self) -> dict[str, int]:
        """The limits by their names."""
        return {name: getattr(self, name) for name in _LIMITS}

    @property
    def rates(self) -> dict[str, float]:
        """``fma.s``, ``fma.d``, ``mma.h``, ``mma.d``, ``tensor.h`` and ``tensor.d``; those that there are."""
        units = (("fma", "sd", self.fma), ("mma", "hd", self.mma), ("tensor", "hd", self.tensor))
        pairs = [(f"{unit}.{x}", y) for unit, names, two in units for x, y in zip(names, two, strict=True)]
        return {name: float(rate) for name, rate in pairs if rate}


_LIMITS = tuple(each.name for each in fields(Tabled) if each.name not in {"fma", "supports", "mma", "tensor"})


_K = 1024
# 8.7, 10.3, 11.0: rows of their own, because the nearest lower one would promise too much or too little.
_TABLE = {
    20: Tabled(1536, 48, 8, 32 * _K, 48 * _K, 63, 0, (32, 16)),
    30: Tabled(2048, 64, 16, 64 * _K, 48 * _K, 63, 0, (192, 8)),
    35: Tabled(2048, 64, 16, 64 * _K, 48 * _K, 255, 0, (192, 64), _KEPLER),
    37: Tabled(2048, 64, 16, 128 * _K, 112 * _K, 255, 0, (192, 64), _KEPLER),
    50: Tabled(2048, 64, 32, 64 * _K, 64 * _K, 255, 0, (128, 4), _KEPLER),
    52: Tabled(2048, 64, 32, 64 * _K, 96 * _K, 255, 0, (128, 4), _KEPLER),
    60: Tabled(2048, 64, 32, 64 * _K, 64 * _K, 255, 0, (64, 32), _KEPLER),
    61: Tabled(2048, 64, 32, 64 * _K, 96 * _K, 255, 0, (128, 4), _KEPLER),
    70: Tabled(2048, 64, 32, 64 * _K, 96 * _K, 255, 0, (64, 32), _KEPLER),
    75: Tabled(1024, 32, 16, 64 * _K, 64 * _K, 255, 0, (64, 2), _KEPLER),
    80: Tabled(2048, 64, 32, 64 * _K, 164 * _K, 255, _K, (64, 32), _AMPERE, (1024, 64), (1024, 64)),
    86: Tabled(1536, 48, 16, 64 * _K, 100 * _K, 255, _K, (128, 2), _AMPERE, (512, 2)),
    87: Tabled(1536, 48, 16, 64 * _K, 164 * _K, 255, _K, (128, 2), _AMPERE, (512, 2)),
    89: Tabled(1536, 48, 24, 64 * _K, 100 * _K, 255, _K, (128, 2), _AMPERE, (512, 2)),
    90: Tabled(2048, 64, 32, 64 * _K, 228 * _K, 255, _K, (128, 64), _HOPPER, (2048, 128), (2048, 128)),
    100: Tabled(2048, 64, 32, 64 * _K, 228 * _K, 255, _K, (128, 64), _BLACKWELL, (1024, 64)),
    103: Tabled(2048, 64, 32, 64 * _K, 228 * _K, 255, _K, (128, 2), _BLACKWELL, (1024, 2)),
    110: Tabled(1536, 48, 24, 64 * _K, 228 * _K, 255, _K, (128, 2), _BLACKWELL, (1024, 2)),
    120: Tabled(1536, 48, 24, 64 * _K, 100 * _K, 255, _K, (128, 2), _HOPPER_ALL, (512, 2)),
}
CAPABILITIES = tuple(_TABLE)


def row_of(capability: int) -> Tabled:
    """What a compute capability (10 * major + minor) has.

    A capability that the table lacks has the row of the nearest lower one; of what only single architectures
    have (wgmma, tcgen05) it has nothing, unless it is of the same major version as that row. Raises
    ``ArgumentError`` below 2.0, whose devices have no fused multiply-add in single precision and no L2.
    """
    # The nearest lower one: minor versions mostly keep what their major version has, and a newer device
    # runs what fitted an older one of its kind, while the nearest higher row may promise too much.
    known = [row for row in _TABLE if row <= capability]
    if not known:
        raise ArgumentError(f"capability={capability}; accepted: {min(_TABLE)} (2.0) and above")
    row = _TABLE[max(known)]
    if max(known) // 10 == capability // 10:
        return row
    return replace(row, supports=row.supports - {"wgmma", "tcgen05", "multicast"})


def limits_of(capability: int) -> dict[str, int]:
    """The tabled limits of a compute capability, and ``capability`` itself. Raises as ``row_of``."""
    return {"capability": capability, **row_of(capability).limits}


def arch_of(capability: int) -> str:
    """What a kernel is compiled for: ``sm_80``; from 9.0 on with the features of this very architecture
    (``sm_90a``), which clusters do without but later instructions need."""
    return f"sm_{capability}{'a' if capability >= 90 else ''}"


def device(name: str, key: str, capability: int, queried: Mapping[str, int]) -> Device:
    """A CUDA device from what it reports and what its capability implies."""
    limits = {"cores": 1, **limits_of(capability), **queried}
    row = row_of(capability)
    return Device("cuda", name, key, limits, arch_of(capability), supports=row.supports, rates=row.rates)


def _named(
    key: str,
    name: str,
    capability: int,
    *,
    sms: int,
    l2: int,
    clock_khz: int,
    optin: int,
    texture1d: int = 2**28,
    texture2d: tuple[int, int, int] = (131072, 65000, 2097120),
) -> Device:
    queried = {
        "warp_size": 32,
        "threads_per_block": 1024,
        "registers_per_block": min(64 * _K, _TABLE[capability].registers_per_sm),
        "shared_per_block": 48 * _K,
        "shared_per_block_optin": optin,
        "sms": sms,
        "l2": l2,
        "clock_khz": clock_khz,
        "texture1d_linear": texture1d,
        "texture2d_linear_width": texture2d[0],
        "texture2d_linear_height": texture2d[1],
        "texture2d_linear_pitch": texture2d[2],
        "texture_pitch_alignment": 32,
    }
    return device(name, key, capability, queried)


DEVICES: dict[str, Device] = {
    d.key: d
    for d in (
        _named(
            "fermi-s2050",
            "Tesla S2050",
            20,
            sms=14,
            l2=768 * _K,
            clock_khz=1_147_000,
            optin=48 * _K,
            texture1d=2**27,
            texture2d=(65000, 65000, 1048544),
        ),
        _named(
            "a100",
            "NVIDIA A100-SXM4-80GB",
            80,
            sms=108,
            l2=41943040,
            clock_khz=1_410_000,
            optin=163 * _K,
        ),
        _named(
            "h100",
            "NVIDIA H100 80GB HBM3",
            90,
            sms=132,
            l2=52428800,
            clock_khz=1_980_000,
            optin=227 * _K,
        ),
        _named("h200", "NVIDIA H200", 90, sms=132, l2=62914560, clock_khz=1_980_000, optin=227 * _K),
        _named("b200", "NVIDIA B200", 100, sms=148, l2=132644864, clock_khz=1_965_000, optin=227 * _K),
    )
}
"""Devices that need not be there: their spaces can be counted, and their kernels compiled, anywhere."""


def _spelled(name: str) -> str:
    """A device's own name as a key: ``NVIDIA A100-SXM4-40GB`` is ``a100-sxm4-40gb``."""
    words = re.findall(r"[a-z0-9.]+", name.lower())
    return "-".join(word for word in words if word not in {"nvidia", "geforce", "tesla", "quadro"})


_SPELLED = {_spelled(device.name): key for key, device in DEVICES.items()}


def canonical(key: str) -> str:
    """The one key of a device that has two: ``h100-80gb-hbm3``, as it calls itself, is ``h100``."""
    return _SPELLED.get(key, key)


def key_of(name: str) -> str:
    """What records of a device are filed under, from its own name: ``NVIDIA H100 80GB HBM3`` is ``h100``,
    ``NVIDIA L40S``, of which ``DEVICES`` has no row, ``l40s``."""
    return canonical(_spelled(name))


def keys(key: str) -> tuple[str, ...]:
    """A device's key, and behind it those under which older versions filed its records."""
    return (key, *(old for old, new in _SPELLED.items() if new == key != old))


def named(key: str) -> Device:
    """A device of ``DEVICES``. Raises ``ArgumentError`` with the list of those there are."""
    try:
        return DEVICES[canonical(key)]
    except KeyError:
        raise ArgumentError(f"device={key!r} is not known; accepted: {', '.join(DEVICES)}") from None


def units(device: Device) -> dict[str, float]:
    """``peak.<letter>.1``, ``tensor.<letter>.1`` and ``tensor.<math>.1`` in flop/s, from the limits of a
    device alone. Products of tf32 go half as fast as those of halves (the white papers' 156 and 494.7
    Tflop/s), and those that are made of bfloat16 ones take so many of these each."""
    clock = 2.0 * device["sms"] * device["clock_khz"] * 1e3
    rates, halves = device.rates, ("h", "b", "hc")
    found = {f"peak.{letter}.1": clock * rates["fma.s"] for letter in (*"sc", *halves)}
    found |= {f"peak.{letter}.1": clock * rates["fma.d"] for letter in "dz"}
    for letters, unit in (("dz", "tensor.d"), (halves, "tensor.h")):
        if unit in rates:
            found |= {f"tensor.{letter}.1": clock * rates[unit] for letter in letters}
    if "tensor.h" in rates:
        found["tensor.tf32.1"] = clock * rates["tensor.h"] / 2
        found |= {f"tensor.{math}.1": clock * rates["tensor.h"] / x.terms for math, x in EMULATED.items()}
    return found
