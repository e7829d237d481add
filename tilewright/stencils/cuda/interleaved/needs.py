"""What kernel.cuh derives from a problem and a config: parts of C, registers, shared memory.

Functions on configs work on numbers and on NumPy arrays.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tilewright.model import Device, Problem
from tilewright.stencils.cuda.common import resident

LARGEST = 32
"""Extent up to which sizes are compiled in."""
MOST = 16 * 16
"""Elements up to which a C, and twice so many up to which A and B together are taken: larger ones do not stay
where a team of threads finds them again, and an H200 then moved 0.2 to 0.4 of a copy."""
BESIDE = 44
"""32-bit registers that a thread has for addresses, counters and what the compiler likes to keep."""


def words(p: Problem) -> int:
    """32-bit registers of an element in arithmetic."""
    return max(p.dtype.real_bits // 32, 1) * (2 if p.dtype.is_complex else 1)


def tiles(p: Problem, rows: Any, columns: Any) -> Any:
    """Parts of one C."""
    return -(-p.m // rows) * -(-p.n // columns)


def copied(p: Problem, lanes: Any) -> Any:
    """Bytes of an asynchronous copy: as many as every run is aligned to, within a pack those of a thread."""
    packed = p.interleaved is not None and p.interleaved.pack > 0
    return lanes * p.dtype.itemsize if packed else p.align + 0 * lanes


def stage_bytes(p: Problem, lanes: Any, warps: Any, depth: Any) -> Any:
    """Shared memory of a stage of the ring."""
    rows = (p.m if p.stride_a else 0) + (p.n if p.stride_b else 0)
    return rows * depth * matrices(lanes, warps) * p.dtype.itemsize


def registers(p: Problem, lanes: Any, rows: Any, columns: Any, unroll: Any) -> Any:
    """32-bit registers of a thread: sums, the steps of both operands that are read together (of which the
    compiler holds two where it has to choose), the addresses of these, and some more."""
    steps = np.minimum(np.minimum(unroll, p.k), 2)
    held = words(p) * lanes * (rows * columns + steps * (rows + columns))
    return held + 2 * (rows + columns) + BESIDE


def matrices(lanes: Any, warps: Any) -> Any:
    """Matrices of a block."""
    return 32 * warps * lanes


def shared_bytes(p: Problem, lanes: Any, warps: Any, staged: Any, stages: Any, depth: Any) -> Any:
    """Shared memory of a block: the ring, and a scattered C on its way out."""
    return (
        stages * stage_bytes(p, lanes, warps, depth)
        + staged * 32 * warps * (lanes * p.m * p.n | 1) * p.dtype.itemsize
    )


def held(p: Problem, config: Mapping[str, Any], device: Device) -> Any:
    """Blocks of an SM, by what each needs."""
    of_tile = (config[name] for name in ("lanes", "rows", "columns", "unroll_k"))
    of_block = (config[name] for name in ("lanes", "warps", "staged", "stages", "depth"))
    shared = shared_bytes(p, *of_block)
    return resident(shared, registers(p, *of_tile), config["team"] * config["warps"], device)
