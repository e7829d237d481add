"""What a kernel is made of and what bounds it: ``python -m bench.analysis --problems "d:8x8x8@650000,..."``.

For each problem and class of beta, the kernel that dispatch chooses: its roofline, the instructions of its
machine code (of the whole kernel, and of the loop that does the work), registers, shared memory, and how many
warps an SM holds. None of this needs a GPU; ``--device h200`` names one that need not be there.

``--profile`` measures, with Nsight Compute: the bytes that device memory moved, and the instructions as they
were executed. It runs ``python -m bench.analysis --launch PROBLEM`` under ``ncu``, without holding the clock.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from bench import lines
from tilewright.catalog import TARGETS
from tilewright.errors import ArgumentError
from tilewright.model import Device, Problem
from tilewright.planning import dispatch
from tilewright.targets.cuda import capability

COPY = {"h200": 4.2e12}
"""Bytes a second of a copy on named devices whose ceilings nobody recorded here: ``bytes_per_second`` over
``of_copy`` of results/h200/batches.jsonl."""


def parsed(words: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = lines.parser("bench.analysis", __doc__)
    add = parser.add_argument
    add("--problems", default="", help="with commas, such as d:8x8x8@650000,h:16x16x16@500000")
    add(
        "--device",
        default="",
        help="cuda, or one by name (default: cuda where there is one, else h200)",
    )
    add("--beta", default="0,1", help="classes of beta, with commas (default: 0,1)")
    add("--copy", type=float, help="bytes a second of a copy (default: what was measured)")
    add("--profile", action="store_true", help="measure with Nsight Compute too")
    add("--launch", default="", help=argparse.SUPPRESS)
    add("--out", type=Path, help="lines of JSON are added to this file")
    options = parser.parse_args(words)
    if not options.problems and not options.launch:
        raise ArgumentError("--problems names nothing; accepted: such as d:8x8x8@650000,h:16x16x16@500000")
    if not options.device:
        options.device = "cuda" if TARGETS["cuda"].missing() is None else "h200"
    return options


def named(name: str, copy: float | None = None) -> Device:
    """The device of this machine (``cuda``) or a named one, with ceilings: recorded ones, else computed
    ones with a copy of ``copy`` bytes a second, by default that of ``COPY``.

    Raises ``ArgumentError`` where nobody knows how fast it copies.
    """
    device = dispatch.device("cuda") if name == "cuda" else capability.named(name)
    ceilings = {**capability.units(device), **device.ceilings}
    ceilings |= dispatch.records().ceilings(device.key, device["cores"])
    if copy or "bandwidth.copy.1" not in ceilings:
        if not copy and device.key not in COPY:
            raise ArgumentError(f"device={name!r}: its copy was never measured; give --copy, in bytes/s")
        ceilings["bandwidth.copy.1"] = copy or COPY[device.key]
    return replace(device, ceilings=ceilings)


def problems(text: str, betas: Sequence[str]) -> list[Problem]:
    """``d:8x8x8@650000,h:16..18@500000`` in every class of beta."""
    return [
        problem
        for spelling in lines.words(text)
        for beta in betas
        for problem in Problem.parse(spelling, beta=beta)
    ]
