"""The space of single: parameters, and the rules that prune them, by topic.

Sizes are in elements, shared memory in bytes. Functions on configs work on numbers and on NumPy arrays.
"""

from __future__ import annotations

from collections.abc import Iterator

from tilewright.model import Device, Problem
from tilewright.space import Param, Rule
from tilewright.stencils.cuda import grids, limits
from tilewright.stencils.cuda.common import WIDEST, units
from tilewright.stencils.cuda.middle.needs import along_k, by_tensor_cores, registers, sums
from tilewright.stencils.cuda.single.needs import shared_bytes, warps

PER_SM = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16)


def params(p: Problem, device: Device) -> list[Param]:
    tensor = by_tensor_cores(p)
    sides = tuple(range(8, 65, 8) if tensor else range(2, 17))
    return [
        Param("mma", (8, 16) if tensor else (0,)),
        Param("rows", sides),
        Param("columns", sides),
        Param(
            "deep",
            (1,) if tensor or not any(along_k(p)) else (1, 2, 4)[: WIDEST // p.dtype.itemsize // 2 + 1],
        ),
        Param("early", (0, 1) if p.beta == "0" else (0,)),
        Param("blocks", tuple(count * device["sms"] for count in PER_SM)),
        grids.param(),
    ]


def rules(p: Problem, device: Device) -> Iterator[Rule]:
    yield from _of_the_part(p, device)
    yield from _of_the_sm(p, device)


def _of_the_part(p: Problem, device: Device) -> Iterator[Rule]:
    """What tensor cores and vectors take, and how large a part of C a thread or a warp computes."""
    unit = min([u for u, along in zip(units(p), along_k(p), strict=False) if along], default=1)
    tensor = by_tensor_cores(p)
    slack = 16 if tensor else 1
    yield Rule(
        "mma-device",
        "tabled",
        "the device has float64 products of 16 rows (9.0 and above); all have those of 8",
        lambda mma: (mma <= 8) | ("mma_f64_m16" in device.supports),
    )
    yield Rule(
        "part",
        "hard",
        "whole tensor-core products of 8 columns",
        lambda mma, rows: (mma == 0) | (rows % (mma + (mma == 0)) == 0),
    )
    yield Rule(
        "deep-aligned",
        "hard",
        "a read of several k is an aligned vector",
        lambda deep: (deep == 1) | (deep * p.dtype.itemsize <= unit),
    )
    yield Rule(
        "part-in-c",
        "soft",
        "a part is not longer than C, but for what tensor cores ask for",
        lambda rows, columns: (rows < p.m + slack) & (columns < p.n + slack),
    )
    yield Rule(
        "sums-fit",
        "soft",
        "a thread has 144 registers of sums at most",
        lambda rows, columns: sums(p, rows, columns) <= 144,
    )
    yield limits.registers_per_thread(device, lambda rows, columns, deep: registers(p, rows, columns, deep))
    yield Rule(
        "full",
        "soft",
        "half of what warps compute lies in C, or more",
        lambda rows, columns: (
            2 * p.m * p.n >= warps(p, rows, columns) * rows * columns * (1 if tensor else 32)
        ),
    )


def _of_the_sm(p: Problem, device: Device) -> Iterator[Rule]:
    """What an SM holds, and what keeps its schedulers busy."""
    sms = device["sms"]
    yield limits.threads_per_block(device, lambda rows, columns: 32 * warps(p, rows, columns))
    yield limits.shared_per_block(
        device,
        lambda rows, columns, early: shared_bytes(p, rows, columns, early),
        "a product fits",
    )
    yield from limits.resident_rules(
        device,
        lambda rows, columns: 32 * warps(p, rows, columns),
        lambda rows, columns, deep: 32 * warps(p, rows, columns) * registers(p, rows, columns, deep),
        lambda rows, columns, early: shared_bytes(p, rows, columns, early),
    )
    yield Rule(
        "warps-enough",
        "soft",
        "an SM has a warp for each of its four schedulers",
        lambda rows, columns, blocks: warps(p, rows, columns) * (blocks // sms) >= 4,
    )
    yield Rule(
        "several",
        "soft",
        "one block multiplies while another one waits for memory",
        lambda blocks: blocks >= 2 * sms,
    )
    yield grids.rule(p, device, lambda: p.batch)
