"""Rules that the spaces of several CUDA stencils have in common.

Each function makes a rule, or some, for a device. What a stencil alone knows (how many registers a thread
needs, how much shared memory a block) it hands in as a function of parameters of its space, by their names.
Functions work on numbers and on NumPy arrays; shared memory is in bytes, registers are words of 32 bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tilewright.model import Device, GroupedProblem, Problem
from tilewright.space import Rule, arguments
from tilewright.stencils.cuda.common import IN_FLIGHT

Needed = Callable[..., Any]
MMA_REGISTERS = 64


# ---- what a device has --------------------------------------------------------------------------------


def bulk_device(device: Device) -> Rule:
    """``path="bulk"`` needs bulk copies."""
    return Rule(
        "bulk-device",
        "tabled",
        "the device has bulk copies (9.0 and above)",
        lambda path: (path != "bulk") | ("bulk_copy" in device.supports),
    )


def clusters(device: Device) -> Rule:
    """``split``, blocks that share the k of a tile, needs clusters of blocks."""
    return Rule(
        "cluster",
        "tabled",
        "blocks share the k of a tile through clusters, which the device has (9.0 and above)",
        lambda split: (split == 1) | ("clusters" in device.supports),
    )


def tensor_cores(p: Problem, device: Device) -> Iterator[Rule]:
    """``mma``, the rows of a tensor-core product (0: none), and what it asks of the tile of a warp."""
    bits = p.dtype.real_bits
    yield Rule(
        "mma-device",
        "tabled",
        "the device has float64 products of 16 rows (9.0 and above); all have those of 8",
        lambda mma: (mma <= 8) | ("mma_f64_m16" in device.supports) | (bits == 16),
    )
    yield Rule(
        "mma-type", "hard", "tensor cores take float64 and 16 bits", lambda mma: (mma == 0) | (bits != 32)
    )
    yield Rule(
        "mma-rows",
        "hard",
        "a tensor-core product has 16 rows, or 8 of float64",
        lambda mma: (mma != 8) | (bits == 64),
    )
    yield Rule(
        "mma-tile",
        "hard",
        "a tile is whole tensor-core products of 8 columns",
        lambda mma, rows, columns: (mma == 0) | ((rows % np.maximum(mma, 1) == 0) & (columns % 8 == 0)),
    )


def mma_registers(p: Problem | GroupedProblem, device: Device, tall: int = 16) -> Rule:
    """Resident blocks leave a thread what the compiler wants for tensor cores: ptxas of CUDA 13.0 says that a
    float64 product of 16 rows "cannot be compiled with specified register target constraints" where these are
    less than ``MMA_REGISTERS``, however few the program needs. ``tall``: the least ``mma`` of 16 rows."""
    sms, wanted = device["sms"], p.dtype.real_bits == 64 and "mma_f64_m16" in device.supports
    return Rule(
        "mma-registers",
        "tabled",
        f"a thread has the {MMA_REGISTERS} registers that float64 products of 16 rows are compiled with",
        lambda mma, warps, blocks: (
            (mma < tall)
            | (not wanted)
            | (MMA_REGISTERS * 32 * warps * (blocks // sms) <= device["registers_per_sm"])
        ),
    )


# ---- what a thread and a block may have ---------------------------------------------------------------


def registers_per_thread(device: Device, registers: Needed) -> Rule:
    """``registers`` of a thread are not more than there are."""
    return Rule(
        "registers-per-thread",
        "tabled",
        "the registers that the loop cannot do without can be addressed",
        _judged(registers, lambda needed: needed <= device["registers_per_thread"]),
    )


def threads_per_block(device: Device, threads: Needed = lambda warps: 32 * warps) -> Rule:
    """``threads`` of a block are not more than it may have."""
    return Rule(
        "threads-per-block",
        "queryable",
        "a block has no more threads than the device allows",
        _judged(threads, lambda needed: needed <= device["threads_per_block"]),
    )


def shared_per_block(device: Device, shared: Needed, what: str = "the ring fits") -> Rule:
    """The bytes of ``shared`` are not more than a block may ask for."""
    return Rule(
        "shared-per-block",
        "queryable",
        f"{what} in the shared memory that a block may ask for",
        _judged(shared, lambda needed: needed <= device["shared_per_block_optin"]),
    )


# ---- what an SM holds, and what keeps it busy ---------------------------------------------------------


def resident_rules(
    device: Device,
    threads: Callable[..., Any],
    registers: Callable[..., Any],
    shared: Callable[..., Any],
    first: str = "resident-blocks",
) -> Iterator[Rule]:
    """The rules of ``blocks``, the persistent blocks of the whole grid: their part of an SM fits on it.

    The three functions take parameters of the space by their names: threads of a block, registers that all
    threads of a block need together, and bytes of shared memory of a block. ``first`` names the first rule.
    """
    sms = device["sms"]
    yield Rule(
        first,
        "tabled",
        "the blocks that are to stay on an SM do not exceed its blocks and threads",
        _with_blocks(
            threads,
            lambda needed, blocks: (
                (blocks <= device["blocks_per_sm"] * sms)
                & (needed * blocks <= device["threads_per_sm"] * sms)
            ),
        ),
    )
    yield Rule(
        "resident-registers",
        "tabled",
        "the blocks that are to stay on an SM leave each other the registers that the loop needs",
        _with_blocks(
            registers, lambda needed, blocks: needed * (blocks // sms) <= device["registers_per_sm"]
        ),
    )
    yield Rule(
        "resident-shared",
        "tabled",
        "the blocks that are to stay on an SM leave each other the shared memory that they need",
        _with_blocks(
            shared,
            lambda needed, blocks: (
                (needed + device["shared_reserved"]) * (blocks // sms) <= device["shared_per_sm"]
            ),
        ),
    )


def scheduler_registers(device: Device, needed: Needed) -> Rule:
    """``needed``: the warps of a block, and the registers of a thread. A warp stays with one of the four
    schedulers of an SM, and each of these has a quarter of the registers."""
    sms = device["sms"]
    return Rule(
        "scheduler-registers",
        "tabled",
        "the warps of each of four schedulers leave each other the registers that sums need",
        _with_blocks(
            needed,
            lambda each, blocks: (
                32 * each[1] * -(-each[0] * (blocks // sms) // 4) <= device["registers_per_sm"] // 4
            ),
        ),
    )


def in_flight(device: Device, flying: Needed) -> Rule:
    """``flying``: bytes that a block has on their way; its persistent blocks hide the latency of memory."""
    sms = device["sms"]
    return Rule(
        "in-flight",
        "soft",
        f"an SM has {IN_FLIGHT // 1024} KB on their way, to hide the latency of memory",
        _with_blocks(flying, lambda each, blocks: each * (blocks // sms) >= IN_FLIGHT),
    )


def warps_enough(device: Device) -> Rule:
    """Every scheduler has a warp."""
    sms = device["sms"]
    return Rule(
        "warps-enough",
        "soft",
        "an SM has a warp for each of its four schedulers",
        lambda warps, blocks: warps * (blocks // sms) >= 4,
    )


def _judged(needed: Needed, fits: Callable[[Any], Any]) -> Needed:
    """A rule's test of the parameters of ``needed``."""

    def test(**values: Any) -> Any:
        return fits(needed(**values))

    test.reads = arguments(needed)  # type: ignore[attr-defined]
    return test


def _with_blocks(needed: Needed, fits: Callable[[Any, Any], Any]) -> Needed:
    """A rule's test of the parameters of ``needed`` and of ``blocks``."""

    def test(blocks: Any, **values: Any) -> Any:
        return fits(needed(**values), blocks)

    test.reads = (*arguments(needed), "blocks")  # type: ignore[attr-defined]
    return test
