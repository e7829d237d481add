"""The space of kernel.cuh: parameters, and the rules that prune them.

Functions on configs work on numbers and on NumPy arrays.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tilewright.model import Device, Problem
from tilewright.space import Param, Rule
from tilewright.stencils.cuda import grids
from tilewright.stencils.cuda.common import WIDEST, modern
from tilewright.stencils.cuda.interleaved.needs import (
    copied,
    fragments,
    layout,
    matrices,
    members_registers,
    orders,
    registers,
    shared_bytes,
    shares,
    tiles,
    together,
)

PER_SM = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16)
"""Blocks of an SM that stay and walk over the packs."""
TEAMS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 15, 16)
_PARTS = 4
"""Schedulers of an SM, each with its own registers and a fourth of the warps."""
MOST_REGISTERS = 255
"""Of a thread, on every device."""


def sides(extent: int) -> tuple[int, ...]:
    """Rows or columns of a part of C: equal parts of a matrix, up to 8."""
    return tuple(sorted({-(-extent // count) for count in range(1, extent + 1)} & set(range(1, 9))))


def is_scattered(p: Problem) -> bool:
    """Whether the matrices of C are not interleaved."""
    return p.stride_c != 1


def params(p: Problem, device: Device) -> list[Param]:
    return [
        Param("lanes", (1, 2, 4, 8)),
        Param("strided", (0, 1)),
        Param("rows", sides(p.m)),
        Param("columns", sides(p.n)),
        Param("team", TEAMS),
        Param("warps", (1, 2, 4, 8)),
        Param("unroll_k", (1, 2, 4, 8)),
        Param("staged", (0, 1, 2)),
        Param("ahead", (0, 1)),
        Param("stages", (0, 2, 3, 4, 6)),
        Param("depth", (1, 2, 4, 8, 16)),
        Param("bulk", (0, 1)),
        Param("group", (0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128)),
        Param("padded", (0, 1)),
        Param("members", (0, 16, 32, 64, 128)),
        Param("blocks", (0, *(count * device["sms"] for count in PER_SM))),
        grids.param(),
    ]


def rules(p: Problem, device: Device) -> Iterator[Rule]:
    pack = p.interleaved.pack if p.interleaved is not None else 0
    size, scattered = p.dtype.itemsize, is_scattered(p)
    yield Rule(
        "lanes-aligned",
        "hard",
        "a vector begins at a multiple of its bytes",
        lambda lanes, strided, members: (
            ((lanes * size <= WIDEST) | (strided > 0))
            & ((members > 0) | (strided > 0) | (p.align % (lanes * size) == 0))
        ),
    )
    yield Rule(
        "strided",
        "hard",
        "matrices of a thread that are 32 apart, several of one pack, come to registers or by bulk copies",
        lambda lanes, strided, stages, bulk, group, members: (
            (strided == 0)
            | ((pack == 0) & (lanes > 1) & (group == 0) & (members == 0) & ((stages == 0) | (bulk > 0)))
        ),
    )
    yield Rule(
        "lanes-pack",
        "hard",
        "a vector does not reach into the next pack",
        lambda lanes: pack % lanes == 0,
    )
    yield Rule(
        "team-tiles",
        "hard",
        "every thread has a part of C",
        lambda rows, columns, team: team <= tiles(p, rows, columns),
    )
    yield Rule(
        "threads",
        "tabled",
        "a block has at most 1024 threads",
        lambda team, warps: 32 * team * warps <= 1024,
    )
    yield Rule(
        "registers",
        "tabled",
        "the sums of a thread stay in its registers, and all threads of a block find theirs",
        lambda lanes, rows, columns, team, warps, unroll_k, depth, bulk, members: (
            np.where(
                members > 0,
                members_registers(p, lanes),
                registers(p, lanes, rows, columns, together(unroll_k, depth, bulk)),
            )
            <= np.minimum(MOST_REGISTERS, device["registers_per_sm"] // (128 * -(-team * warps // _PARTS)))
        ),
    )
    yield Rule(
        "shared",
        "tabled",
        "the ring and a C on its way out fit in shared memory",
        lambda lanes, strided, warps, staged, stages, depth, bulk, group, padded, members: (
            shared_bytes(p, lanes, strided, warps, staged, stages, depth, bulk, group, padded, members)
            <= device["shared_per_block_optin"]
        ),
    )
    yield Rule(
        "staged",
        "hard",
        "a scattered C leaves through shared memory, another one by bulk copies of rows",
        lambda strided, staged, bulk: (
            (staged == 0)
            | scattered
            | ((staged == 2) & (bulk > 0) & (strided > 0) & (p.beta == "0") & (p.stride_c == 1))
        ),
    )
    yield Rule(
        "staged-bulk",
        "tabled",
        "bulk copies take a C of one pack, where the device has such copies (9.0 and above)",
        lambda staged: (staged < 2) | ((pack == 0) & ("bulk_copy" in device.supports)),
    )
    yield Rule(
        "ring-aligned",
        "hard",
        "copies are of 4 bytes at least",
        lambda lanes, stages, bulk, group, members: (
            (stages == 0) | (bulk > 0) | (group > 0) | (members > 0) | (copied(p, lanes) >= 4)
        ),
    )
    yield Rule(
        "ring-alone",
        "hard",
        "what comes through a ring is not asked for in another way",
        lambda unroll_k, ahead, stages, group: (
            (stages == 0) | (((unroll_k == 1) | (group > 0)) & (ahead == 0))
        ),
    )
    yield Rule(
        "ring-depth",
        "hard",
        "without a ring no stage is deep",
        lambda stages, depth: (depth == 1) | (stages > 0),
    )
    yield Rule(
        "ring-long",
        "soft",
        "stages beyond the end of k stay empty",
        lambda stages, depth, group, bulk, members: (
            (stages == 0)
            | (group > 0)
            | (members > 0)
            | ((stages - 1) * depth <= p.k)
            | ((bulk > 0) & (depth < 2 * p.k))
        ),
    )
    yield Rule(
        "unroll",
        "soft",
        "more steps than there are make the same program",
        lambda unroll_k: (unroll_k == 1) | (unroll_k < 2 * p.k),
    )
    yield Rule(
        "team-few",
        "soft",
        "many threads that read the same come too far apart in time",
        lambda team, warps: (team == 1) | (team * warps <= 16),
    )
    yield from _of_groups(p, device)
    yield from _of_members(p, device)


def _of_groups(p: Problem, device: Device) -> Iterator[Rule]:
    """Where whole packs may come through a ring."""
    whole, pack, size = orders(p) is not None, layout(p).pack, p.dtype.itemsize
    yield Rule(
        "group-device",
        "tabled",
        "the device has bulk copies (9.0 and above)",
        lambda bulk, group: ((group == 0) & (bulk == 0)) | ("bulk_copy" in device.supports),
    )
    aligned = pack == 0 and p.align == WIDEST and p.batch * size % WIDEST == 0
    yield Rule(
        "bulk-rows",
        "hard",
        "rows of one pack, aligned to 16 bytes or strided, and a thread for all of C",
        lambda strided, rows, columns, team, stages, bulk: (
            (bulk == 0)
            | ((pack == 0) & (aligned | (strided > 0)) & (stages > 0) & (team == tiles(p, rows, columns)))
        ),
    )
    yield Rule(
        "group-packs",
        "hard",
        "groups are of packs of A, of B and of C",
        lambda group: (group == 0) | whole,
    )
    yield Rule(
        "group-new",
        "hard",
        "a C that is read does not come through the ring",
        lambda group: (group == 0) | (p.beta == "0"),
    )
    yield Rule(
        "group-whole",
        "hard",
        "an element of a pack is a multiple of 16 bytes",
        lambda group: (group == 0) | (pack * size % WIDEST == 0),
    )
    yield Rule(
        "group-aligned",
        "hard",
        "bulk copies begin at multiples of 16 bytes",
        lambda group: (group == 0) | (p.align == WIDEST),
    )
    yield Rule(
        "group-ring",
        "hard",
        "groups have a ring of their own, and blocks that walk over them",
        lambda team, stages, depth, bulk, group, padded, members, blocks: (
            ((group == 0) & (padded == 0) & ((blocks > 0) == ((bulk > 0) | (members > 0))))
            | ((group > 0) & (blocks > 0) & (stages > 0) & (team == 1) & (depth == 1) & (bulk == 0))
        ),
    )
    yield grids.rule(p, device, lambda lanes, warps, group, members: shares(p, lanes, warps, group, members))
    yield Rule(
        "group-busy",
        "soft",
        "half of the threads of a block have something to multiply",
        lambda lanes, rows, columns, warps, group: (
            (group == 0) | (2 * group * (pack // lanes) * tiles(p, rows, columns) >= matrices(1, warps))
        ),
    )


def _of_members(p: Problem, device: Device) -> Iterator[Rule]:
    """Where tensor cores may multiply groups of neighbouring matrices."""
    halves = p.dtype.real_bits == 16 and not p.dtype.is_complex
    pack, size = layout(p).pack, p.dtype.itemsize
    yield Rule(
        "members-device",
        "tabled",
        "the device has asynchronous copies and tensor cores for both types of 16 bits (8.0 and above)",
        lambda members: (members == 0) | modern(device),
    )
    yield Rule(
        "members-type",
        "hard",
        "tensor cores multiply real numbers of 16 bits",
        lambda members: (members == 0) | halves,
    )
    yield Rule(
        "members-both",
        "hard",
        "every matrix has its own A and B",
        lambda members: (members == 0) | (0 not in (p.stride_a, p.stride_b)),
    )
    yield Rule(
        "members-new",
        "hard",
        "a C that is read does not come through the ring",
        lambda members: (members == 0) | (p.beta == "0"),
    )
    yield Rule(
        "members-packs",
        "hard",
        "packs are of whole vectors",
        lambda members: (members == 0) | (pack == 0) | ((pack * size % WIDEST == 0) & (p.align == WIDEST)),
    )
    yield Rule(
        "members-lanes",
        "hard",
        "a warp multiplies pairs of neighbours",
        lambda lanes, members: (members == 0) | (lanes >= 2),
    )
    yield Rule(
        "members-ring",
        "hard",
        "one stage is multiplied while others are filled",
        lambda stages, members: (members == 0) | (stages >= 2),
    )
    yield Rule(
        "members-alone",
        "hard",
        "with tensor cores threads have no parts of C, and nothing comes in another way",
        lambda rows, columns, team, unroll_k, staged, ahead, depth, bulk, group, members: (
            (members == 0)
            | ((rows == 1) & (columns == 1) & (team == 1) & (unroll_k == 1) & (staged == 0) & (ahead == 0)
               & (depth == 1) & (bulk == 0) & (group == 0))
        ),
    )  # fmt: skip
    yield Rule(
        "members-busy",
        "soft",
        "every warp has something to multiply",
        lambda lanes, warps, members: (members == 0) | (members // lanes * fragments(p).strips >= warps),
    )
