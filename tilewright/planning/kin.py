"""Which devices are alike: whose records serve one that has none of its own.

Only devices that run the same code are alike at all: processors of one instruction set, so of the same vector
width and registers, and GPUs of one architecture. Of those the most similar one is asked, and no other:

1. of processors one of the same maker, then one with caches of nearly the same size: a core's own caches,
   which virtual machines seldom hide, while they rename cores and claim the host's last cache;
2. of GPUs one with nearly as many multiprocessors, then with a second level of nearly the same size.

Records of processors that are known to do otherwise with memory (``isa.FAMILIES``) are no better than the
default, which knows that: they do not serve (``serving``), and a search may still begin from them.

What is known of a device that is not here is its key: a processor's names its core and instruction
set (``targets.cpu``), a GPU's is in its target's ``devices`` or is not known.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from tilewright.catalog import TARGETS
from tilewright.model import Device
from tilewright.targets.cpu.isa import ISAS, family

SERVES: dict[str, tuple[str, ...]] = {"cpu": ("memory",), "cuda": ("memory", "cached")}
"""The regimes in which records of a similar device are better than the cost model, by kind of device.

On a Xeon without records those of another Xeon made batches in memory 1.0 to 1.5 times as fast as the
default, and lost 3 % on cached ones, which depend more on the core. On an H100 those of the H200 gained
little and did no harm (its own, which ship since, gain up to 11 % more on the worst squares). An entry is
added here when held-out sizes say so.

That was among processors that do the same with memory. On a Zen 5 those of a Zen 4 reached 59 to 77 % of the
bound in the median over n = 2..32 in four types with beta 0 and 1, the default that knows of Zen 5 81 to 95 %
(``bench/results/znver5-avx512``); on a Cascade Lake those of a newer Xeon 81 to 90 %, the default 97 and
more, of d and s with beta 0.
"""

LIBRARIES = ("cuda",)
"""Kinds of devices whose similar ones have the same library, so that a record of its speed counts: there is
one cuBLAS, and behind NumPy may be any BLAS."""

_MAKERS = {
    "znver": "amd",
    "bdver": "amd",
    "neoverse": "arm",
    "cortex": "arm",
    "apple": "apple",
    "pwr": "ibm",
}
"""Makers by how LLVM's names of their cores begin; those of Intel's have no common beginning."""

_NAMES = {"intel": "intel", "xeon": "intel", "amd": "amd", "epyc": "amd", "ryzen": "amd"}
"""Makers by words in the names of their models, as the system tells them."""

_CACHES = {
    "haswell": (32, 256),
    "broadwell": (32, 256),
    "skylake": (32, 256),
    "skylake-avx512": (32, 1024),
    "cascadelake": (32, 1024),
    "cooperlake": (32, 1024),
    "icelake-server": (48, 1280),
    "sapphirerapids": (48, 2048),
    "emeraldrapids": (48, 2048),
    "graniterapids": (48, 2048),
    "znver1": (32, 512),
    "znver2": (32, 512),
    "znver3": (32, 512),
    "znver4": (32, 1024),
    "znver5": (48, 1024),
}
"""Data caches of a core in KB, first and second level, by LLVM's name of it. The last level is the model's,
not the core's, and so no part of a key."""


def named(key: str) -> Device | None:
    """The device of a key that says all of it, wherever it is: a named GPU; None of any other."""
    return next((target.devices[key] for target in TARGETS.values() if key in target.devices), None)


def nearest(device: Device, keys: Iterable[str]) -> str | None:
    """The key of the device most similar to this one; None where there is none that is alike."""
    canonical = TARGETS[device.kind].canonical
    others = {key for key in keys if canonical(key) != device.key}
    rank = _gpus if device.kind == "cuda" else _processors
    ranked = sorted((*apart, key) for key in others if (apart := rank(device, key)) is not None)
    return str(ranked[0][-1]) if ranked else None


def serving(device: Device, keys: Iterable[str]) -> str | None:
    """The key of the device whose records serve this one: the most similar of those that are not known to do
    otherwise with memory; None where there is none."""
    if device.kind != "cpu":
        return nearest(device, keys)
    ours = family(_core(device.key))

    def alike(key: str) -> bool:
        theirs = family(_core(key))
        return ours is None or theirs is None or ours.memory == theirs.memory

    return nearest(device, [key for key in keys if alike(key)])


def _core(key: str) -> str:
    """LLVM's name of a processor's core, of a device's key."""
    return key.rpartition("-")[0]


def _processors(device: Device, key: str) -> tuple[float, ...] | None:
    """How far a processor is from this one, smaller is nearer; None where the code is another."""
    core, _, name = key.rpartition("-")
    isa = next((isa for isa in ISAS if isa.name == name), None)
    if isa is None or device.kind != "cpu" or device.features.partition("/")[0] != isa.arch:
        return None
    asked = (isa.vector_bits, isa.vector_registers, int(isa.masks))
    if asked != tuple(device[limit] for limit in ("vector_bits", "vector_registers", "masks")):
        return None
    ours = _core(device.key)
    sizes = _CACHES.get(core)
    apart = math.inf
    if sizes is not None and "l2" in device.limits and "l1d" in device.limits:
        apart = _ratio(device["l1d"] >> 10, sizes[0]) + _ratio(device["l2"] >> 10, sizes[1])
    return float(_maker(core) != (_called(device.name) or _maker(ours))), apart


def _gpus(device: Device, key: str) -> tuple[float, ...] | None:
    """How far a GPU is from this one, smaller is nearer; None where the code is another, or it is unknown."""
    target = TARGETS[device.kind]
    other = target.devices.get(target.canonical(key))
    if other is None or other.features != device.features:
        return None
    return _ratio(device["sms"], other["sms"]), _ratio(device["l2"], other["l2"])


def _ratio(one: int, other: int) -> float:
    """How far apart two sizes are: 0 for equal ones, 1 for one twice the other."""
    return abs(math.log2(max(1, one) / max(1, other)))


def _called(name: str) -> str | None:
    """Who makes a processor, by its model's name; None where that does not say.

    Virtual machines hide which core it is, and LLVM then calls it by what it can do (``x86-64-v4``,
    ``rocketlake``), but seldom whose it is.
    """
    return next((maker for word, maker in _NAMES.items() if word in name.lower()), None)


def _maker(core: str) -> str:
    """Who makes a core, by LLVM's name of it."""
    return next((maker for start, maker in _MAKERS.items() if core.startswith(start)), "intel")
