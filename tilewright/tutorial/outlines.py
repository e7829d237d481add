"""The ladders as data: their rungs, and what is known of each without a device (``survey``)."""

from __future__ import annotations

from functools import cache
from typing import Any

from tilewright.errors import ArgumentError
from tilewright.model import DTYPES, Binary, Config, Device
from tilewright.targets.cuda import devices, nvrtc
from tilewright.tutorial import halves, single
from tilewright.tutorial.rung import Rung

Row = dict[str, Any]

LADDERS: dict[str, tuple[Rung, ...]] = {"s": single.RUNGS, **halves.RUNGS}
"""The rungs of each type."""

DOCUMENT_CUBLAS = 31.66
"""10^12 operations a second of cuBLAS in the document, in single precision at order 4096 (RTX 5070 Ti, peak
43.9)."""


def rungs_of(letter: str) -> tuple[Rung, ...]:
    """The ladder of a type. Raises ``ArgumentError`` for one that has none."""
    if letter not in LADDERS:
        raise ArgumentError(f"type={letter!r}; accepted: {', '.join(LADDERS)}")
    return LADDERS[letter]


def occupancy(registers: int, shared: int, threads: int, device: Device) -> tuple[int, float]:
    """Blocks that a multiprocessor holds at once, and the share of its warps that they are.

    ``registers`` of a thread, ``shared`` bytes of a block (static and dynamic). The units in which
    registers and shared memory are given out are those of NVIDIA's occupancy calculator from compute
    capability 7.0 on: 256 registers a warp, within one of four partitions of the multiprocessor, and 128
    bytes.
    """
    warps = -(-threads // device["warp_size"])
    per_warp = -(-registers * device["warp_size"] // 256) * 256
    held = device["registers_per_sm"] // 4 // per_warp * 4
    bytes_ = -(-(shared + device["shared_reserved"]) // 128) * 128
    blocks = min(
        device["blocks_per_sm"],
        device["warps_per_sm"] // warps,
        held // warps,
        device["shared_per_sm"] // bytes_ if bytes_ else device["blocks_per_sm"],
    )
    return blocks, blocks * warps / device["warps_per_sm"]


@cache
def compiled(rung: Rung, config: Config, device: Device) -> Binary:
    """The binary of a config. Raises ``CompileError``, and ``DeviceError`` without a compiler."""
    return nvrtc.compile(rung.source(config), device)


def outline(rung: Rung, config: Config, n: int) -> Row:
    """What is known of a config without compiling it; what is not is None. Order n is the intensity's."""
    return {
        "rung": rung.number,
        "name": rung.name,
        "technique": rung.technique,
        "document": rung.document,
        "config": dict(config),
        "threads": rung.threads(config),
        "intensity": rung.intensity(config, n, n, n),
        **dict.fromkeys(("registers", "spills", "shared", "blocks", "occupancy")),
        **dict.fromkeys(("tflops", "of_cublas", "of_peak", "interval")),
    }


def facts(rung: Rung, config: Config, device: Device, n: int) -> Row:
    """The outline of a config, and what compiling tells: registers, bytes spilled, bytes of shared memory,
    blocks of a multiprocessor and occupancy."""
    found = compiled(rung, config, device).facts
    shared = found["shared"] + rung.shared(config)
    blocks, share = occupancy(found["registers"], shared, rung.threads(config), device)
    return outline(rung, config, n) | {
        "registers": found["registers"],
        "spills": found["spills"],
        "shared": shared,
        "blocks": blocks,
        "occupancy": share,
    }


def survey(n: int, device: Device, every: bool = False, letter: str = "s") -> Row:
    """The table of ``climb`` without running anything: each rung's first config, or every one.

    Without a compiler only intensities are known; ``missing`` says what there is not, steps that the device
    has not among it. Raises ``ArgumentError`` for an order or a type that there is no ladder of.
    """
    demand(n, letter)
    rungs = able(device, letter)
    points = [(rung, config) for rung in rungs for config in (rung.configs if every else rung.configs[:1])]
    blind = nvrtc.compiler_missing()
    if blind is None:
        rows = [facts(rung, config, device, n) for rung, config in points]
    else:
        rows = [outline(rung, config, n) for rung, config in points]
    missing = [text for text in (blind, devices.missing()) if text is not None]
    return {
        "device": device.name,
        "type": letter,
        "n": n,
        "vendor": None,
        "vendor_tflops": None,
        "rows": rows,
        "missing": [*dict.fromkeys(missing), *left_out(device, letter)],
    }


def demand(n: int, letter: str) -> None:
    """Raise ``ArgumentError`` for an order or a type that there is no ladder of."""
    unit = max(rung.unit for rung in rungs_of(letter))
    if n < 1:
        raise ArgumentError(f"n={n}; accepted: the order of a matrix, 1 or more")
    if n % unit:
        raise ArgumentError(f"n={n}; accepted for {DTYPES[letter].name}: multiples of {unit}")


def able(device: Device, letter: str) -> list[Rung]:
    """The rungs that a device can run."""
    return [rung for rung in rungs_of(letter) if rung.missing(device) is None]


def left_out(device: Device, letter: str) -> list[str]:
    """Which rungs a device cannot run, and why."""
    return [text for rung in rungs_of(letter) if (text := rung.missing(device)) is not None]


def peak(device: Device, letter: str = "s") -> float | None:
    """Operations a second of all units of a type at the top clock: of single precision, or of tensor cores by
    the fastest instructions; None where it is not known."""
    rates = device.rates
    rate = rates.get("fma.s") if letter == "s" else rates.get("tensor.h", rates.get("mma.h"))
    return None if rate is None else 2.0 * rate * device["sms"] * device["clock_khz"] * 1e3
