"""Batches along several axes beside a copy and PyTorch: ``python -m bench.structures``, on a GPU.

Products of square matrices of ``SIZES`` whose batch has two to five axes, drawn at random: an operand is
shared along some of them, its axes lie in another order than those of the result, or every other position of
one is left out. The result is packed. The batches of ``NAMED``, which public programs have, come first.

All three are timed in turns by the clock of the GPU, which is kept busy while the host gets ready:

    ours    ``tw.matmul(a, b, out=out)``
    copy    half the bytes of A, B and C, each counted once, copied to the other half
    torch   ``torch.matmul(a, b, out=out)``

``of_copy`` is the copy's time over ours, ``of_bound`` the longer of the copy's time and that of the
multiply-adds at the device's peak over ours, and ``of_torch`` PyTorch's time over ours. Each line of the file
is one batch; the first says on what all of it ran.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

from rich.table import Table

import tilewright as tw
from bench import lines
from tilewright.catalog import TARGETS
from tilewright.model import DTYPES
from tilewright.planning import dispatch

SIZES = (3, 4, 9, 16, 32)
LETTERS = "sdczhb"
BYTES = 192 << 20
"""Of A, B and C together, about: several times what the second-level cache of any GPU holds."""
BUSY = 400_000
"""Clocks for which the GPU sleeps before a sample, so that the host is ahead of it."""
RATIOS = ("of_copy", "of_bound", "of_torch")
Run = Callable[[], object]


@dataclass(frozen=True)
class Stack:
    """Where the matrices of an operand are: elements from one position to the next along each batch axis (0
    where it is shared), and elements of memory in all."""

    steps: tuple[int, ...]
    room: int


@dataclass(frozen=True)
class Structure:
    """A batch: type, order of the matrices, extents of its axes, and the stacks A and B. C is packed."""

    letter: str
    n: int
    extents: tuple[int, ...]
    a: Stack
    b: Stack

    @property
    def bytes(self) -> int:
        """Bytes of all matrices, each counted once."""
        counts = [
            prod(extent for extent, step in zip(self.extents, stack.steps, strict=True) if step)
            for stack in (self.a, self.b)
        ]
        return (sum(counts) + prod(self.extents)) * self.n**2 * DTYPES[self.letter].itemsize

    @property
    def name(self) -> str:
        """Type, order, extents, and the steps of A and B in matrices."""
        a, b = (",".join(str(step // self.n**2) for step in x.steps) for x in (self.a, self.b))
        return f"{self.letter} {self.n} ({','.join(map(str, self.extents))}) A({a}) B({b})"


def stack(
    n: int,
    extents: Sequence[int],
    shared: Sequence[int] = (),
    order: Sequence[int] = (),
    apart: int | None = None,
) -> Stack:
    """A stack of matrices of order n that is ``shared`` along some axes. ``order``: its axes from the
    outermost in memory to the innermost, as they are where empty. ``apart``: the axis of which only every
    other position is taken."""
    steps, room = [0] * len(extents), n * n
    for axis in reversed(order or range(len(extents))):
        if axis not in shared:
            steps[axis] = room * (1 + (axis == apart))
            room *= extents[axis] * (1 + (axis == apart))
    return Stack(tuple(steps), room)


def _named(
    letter: str, n: int, extents: tuple[int, ...], a: tuple[int, ...], b: tuple[int, ...] = ()
) -> Structure:
    return Structure(letter, n, extents, stack(n, extents, a), stack(n, extents, b))


NAMED = (
    _named("s", 4, (8, 100_000), (1,)),
    _named("d", 9, (160_000,), (0,)),
    _named("s", 4, (1000, 800), (1,)),
    _named("d", 4, (200_000, 4), (1,)),
    _named("c", 3, (40, 100, 200), (0, 2), (1,)),
    _named("d", 8, (500, 500), (1,), (0,)),
)


def drawn(count: int, seed: int) -> Iterator[Structure]:
    """Random batches, the same for the same seed; two operands are never shared along the same axis."""
    draw = random.Random(seed)
    for _ in range(count):
        letter, n = draw.choice(LETTERS), draw.choice(SIZES)
        axes = draw.randint(2, 5)
        products = BYTES / (2.5 * n * n * DTYPES[letter].itemsize)
        shares = [draw.uniform(0.3, 1) for _ in range(axes)]
        extents = tuple(max(2, round(products ** (share / sum(shares)))) for share in shares)
        shared: tuple[list[int], list[int]] = ([], [])
        for axis in range(axes):
            which = draw.random()
            if which < 0.5:
                shared[which < 0.25].append(axis)
        stacks = []
        for some in shared:
            order = list(range(axes))
            kind = draw.random()
            if kind < 0.25:
                draw.shuffle(order)
            moving = [axis for axis in order if axis not in some]
            # Not the innermost axis, of which memory would be read in part.
            apart = draw.choice(moving[:-1]) if kind > 0.8 and len(moving) > 1 else None
            stacks.append(stack(n, extents, some, order, apart))
        yield Structure(letter, n, extents, *stacks)


def turns(torch: Any, runs: Mapping[str, Run], rounds: int) -> dict[str, float]:
    """Median seconds of a call of each, in turns."""
    samples: dict[str, list[float]] = {name: [] for name in runs}
    for turn in range(rounds + 1):
        for name, run in runs.items():
            start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            torch.cuda._sleep(BUSY)
            start.record()
            run()
            stop.record()
            stop.synchronize()
            if turn:
                samples[name].append(float(start.elapsed_time(stop)) / 1e3)
    return {name: statistics.median(each) for name, each in samples.items()}


def timed(torch: Any, structure: Structure, rounds: int) -> lines.Line:
    """One batch by us, by a copy and by PyTorch, and the largest difference of the results."""
    s, kind = structure, getattr(torch, DTYPES[structure.letter].name)
    shape = (*s.extents, s.n, s.n)
    a, b = (
        torch.randn(x.room, dtype=kind, device="cuda").as_strided(shape, (*x.steps, s.n, 1))
        for x in (s.a, s.b)
    )
    return {"structure": s.name} | beside(torch, a, b, s.bytes, rounds)


def beside(torch: Any, a: Any, b: Any, moved: int, rounds: int) -> lines.Line:
    """A product of tensors, of which so many bytes are read and written, by us, by a copy and by PyTorch."""
    out = torch.matmul(a, b)
    want = out.clone()
    out.fill_(float("nan"))
    half = torch.empty(moved // 2, dtype=torch.uint8, device="cuda")
    other = torch.empty_like(half)
    made = tw.plan(a, b, out=out).plan
    tw.matmul(a, b, out=out)
    # Another kernel's sums are rounded in another order.
    difference = float((out - want).abs().max() / want.abs().max())
    del want
    found = turns(
        torch,
        {
            "ours": lambda: tw.matmul(a, b, out=out),
            "copy": lambda: other.copy_(half),
            "torch": lambda: torch.matmul(a, b, out=out),
        },
        rounds,
    )
    problem = made.problem
    ceilings = TARGETS["cuda"].ceilings(dispatch.device("cuda"))
    letter = problem.dtype.letter
    peak = ceilings.get(f"tensor.{letter}.1") or ceilings[f"peak.{letter}.1"]
    flops = out.numel() * problem.flops / (problem.m * problem.n)
    least = max(found["copy"], flops / peak)
    return {
        "bytes": moved,
        "layout": problem.layout,
        "batch": problem.batch,
        "origin": made.origin,
        "stencil": made.stencil,
        "config": dict(made.config or {}),
        "seconds": found,
        "of_copy": found["copy"] / found["ours"],
        "of_bound": least / found["ours"],
        "of_torch": found["torch"] / found["ours"],
        "difference": difference,
    }


def summary(found: Sequence[lines.Line], of_what: str, worst: int = 10) -> Table:
    """The worst batches, and the geometric mean, median and least of all."""
    table = Table(title=f"{len(found)} {of_what}")
    for head in ("batch", "path", "of a copy", "of the bound", "of PyTorch's speed"):
        table.add_column(head)
    for line in sorted(found, key=lambda line: line["of_copy"])[:worst]:
        path = line["config"].get("path", line["stencil"] or "library")
        table.add_row(line["structure"], path, *(f"{line[name]:.2f}" for name in RATIOS))
    for name, of in (
        ("geometric mean", statistics.geometric_mean),
        ("median", statistics.median),
        ("least", min),
    ):
        columns = ([line[which] for line in found] for which in RATIOS)
        table.add_row(name, "", *(f"{of(column):.2f}" for column in columns))
    return table


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(
        prog="bench.structures", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, help="a file that lines of JSON are added to")
    parser.add_argument("--count", type=int, default=100, help="random batches")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="no new batch after so long")
    options = parser.parse_args()
    import torch

    sink = lines.Sink(
        options.out,
        "structures",
        dispatch.device("cuda"),
        vars(options) | {"seconds": str(options.seconds)},
    )
    structures = (*NAMED, *drawn(options.count, options.seed))
    each = (timed(torch, structure, options.rounds) for structure in structures)
    shown(each, sink, options.seconds, "batches along several axes")


def shown(each: Iterable[lines.Line], sink: lines.Sink, seconds: float, of_what: str) -> None:
    """Print and write lines as they are measured, until so many seconds are over, and sum them up."""
    begin = time.perf_counter()
    console = lines.console()
    found = []
    for line in each:
        sink.write(line)
        found.append(line)
        console.print(
            f"{line['structure']}: {line['of_copy']:.2f} of a copy, {line['of_bound']:.2f} of the bound, "
            f"{line['of_torch']:.2f} of PyTorch, "
            f"{line['config'].get('path', line['stencil'])}, off by {line['difference']:.1e}",
            soft_wrap=True,
        )
        if time.perf_counter() - begin > seconds:
            console.print(f"{seconds} s are over")
            break
    if found:
        console.print(summary(found, of_what))


if __name__ == "__main__":
    main()
