"""The space of vector: parameters, and the rules that prune them.

Sizes are in elements, shared memory in bytes. Functions on configs work on numbers and on NumPy arrays.
"""

from __future__ import annotations

from collections.abc import Iterator

from tilewright.model import Device, Problem
from tilewright.space import Param, Rule
from tilewright.stencils.cuda import limits
from tilewright.stencils.cuda.common import IN_FLIGHT, WIDEST
from tilewright.stencils.cuda.vector.needs import (
    along,
    least_lanes,
    registers,
    resident_blocks,
    share,
    shared_bytes,
    teams,
    tile,
    unit,
)

LANES = (1, 2, 4, 8, 16, 32)
RUNS = (1, 2, 4, 8)
WORDS = (1, 2, 4)
WARPS = (1, 2, 4, 8, 16, 32)
TURNS = (1, 2, 4, 8, 16)
SPLITS = (1, 2, 4, 8)
"""Blocks of a cluster: as many as every device with clusters runs."""
MOST = 16
"""Words of 16 bytes that a thread has on their way."""
STATIC = 48 * 1024
"""Bytes of shared memory that a kernel may declare."""


def params(p: Problem, device: Device) -> list[Param]:
    return [
        Param("lanes", LANES),
        Param("runs", RUNS),
        # Elements of 16 bits that are widened take twice the registers of their words.
        Param("words", WORDS[:2] if p.dtype.real_bits == 16 else WORDS),
        Param("warps", WARPS),
        Param("turns", TURNS if along(p) else (1,)),
        Param("split", SPLITS, absent=1),
    ]


def rules(p: Problem, device: Device) -> Iterator[Rule]:
    yield from _of_the_block(p, device)
    yield from _of_the_run(p)
    yield from _of_the_sm(p, device)


def _of_the_block(p: Problem, device: Device) -> Iterator[Rule]:
    classes = WIDEST // unit(p)
    yield limits.clusters(device)
    yield limits.threads_per_block(device)
    yield limits.registers_per_thread(
        device, lambda lanes, runs, words, split: registers(p, lanes, runs, words, split)
    )
    yield Rule(
        "classes",
        "hard",
        "the runs of a team begin at the same place in a word",
        lambda lanes, warps: teams(lanes, warps) % classes == 0,
    )
    yield Rule(
        "shared-static",
        "tabled",
        "what the teams have of a tile fits in the shared memory that a kernel may declare",
        lambda lanes, runs, words, warps, turns, split: (
            shared_bytes(p, lanes, runs, words, warps, turns, split) <= STATIC
        ),
    )


def _of_the_run(p: Problem) -> Iterator[Rule]:
    """How much of the matrix a team reads at a time."""
    least = least_lanes(p)
    yield Rule(
        "words-of-thread",
        "soft",
        f"a thread has {MOST} words on their way at most",
        lambda runs, words: runs * words <= MOST,
    )
    yield Rule("lanes-in-run", "soft", "lanes of a team have a word of a run", lambda lanes: lanes <= least)
    yield Rule(
        "words-in-run",
        "soft",
        "words of a lane are not all of it beside the run",
        lambda lanes, words: (words == 1) | (lanes * words < 2 * least) | (least == LANES[-1]),
    )
    yield Rule(
        "tile-in-c",
        "soft",
        "a tile is less than twice as long as C",
        lambda lanes, runs, words, warps, turns: (
            (not along(p)) | (tile(p, lanes, runs, words, warps, turns) < 2 * max(p.m, p.n))
        ),
    )
    yield Rule(
        "runs-in-k",
        "soft",
        "all teams have runs, as many as they read at a time",
        lambda lanes, runs, warps, split: along(p) | (teams(lanes, warps) * runs < 2 * share(p, split)),
    )


def _of_the_sm(p: Problem, device: Device) -> Iterator[Rule]:
    """What keeps the memory of an SM busy."""
    yield Rule(
        "in-flight",
        "soft",
        f"an SM has {IN_FLIGHT // 1024} KB on their way, to hide the latency of memory",
        lambda lanes, runs, words, warps, turns, split: (
            resident_blocks(p, device, lanes, runs, words, warps, turns, split)
            * (32 * WIDEST * warps * runs * words)
            >= IN_FLIGHT
        ),
    )
