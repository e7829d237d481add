"""Launch rules as data: what a stencil launches for any number of products, as numbers that C computes with.

A stencil says its launch for one batch at a time. Here it is asked for many, and a rule of one form is found
that says the same; where there is none, or where the number of products changes more than the grid, the
kernel is not exported.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain

from tilewright.model import Launch

COUNTS = (*range(1, 70), *(base << shift for shift in range(5, 31) for base in (2, 3)), 10**6 - 1, 2**30)
"""The numbers of products at which launches are compared."""


@dataclass(frozen=True, slots=True)
class Axis:
    """Blocks along one axis of a grid: min(most, max(least, ceil(count * times / each)))."""

    most: int
    least: int
    times: int
    each: int

    def blocks(self, count: int) -> int:
        """The blocks for so many products."""
        return min(self.most, max(self.least, -(-count * self.times // self.each)))


@dataclass(frozen=True, slots=True)
class Rule:
    """How a kernel is started with any number of products: threads of a block, bytes of shared memory,
    grid."""

    block: int
    shared: int
    grid: tuple[Axis, Axis, Axis]


def rule(launches: Mapping[int, Launch]) -> Rule | None:
    """The rule behind launches by the number of products; None where no rule of this form says the same, or
    where they need clusters, textures, or blocks of several dimensions.

    For few products a rule may start more blocks than the stencil, as many as for somewhat more: a kernel
    has no work for some blocks at other counts, too.
    """
    fixed = {(x.block, x.shared, x.cluster, x.reading) for x in launches.values()}
    if len(fixed) > 1:
        return None
    (((threads, *others), shared, cluster, reading),) = fixed
    if others != [1, 1] or cluster > 1 or reading:
        return None
    axes = [_axis({count: x.grid[axis] for count, x in launches.items()}) for axis in range(3)]
    x, y, z = axes
    return None if x is None or y is None or z is None else Rule(threads, shared, (x, y, z))


def _axis(blocks: Mapping[int, int]) -> Axis | None:
    """The rule of one axis."""
    most, least = max(blocks.values()), min(blocks.values())
    if most == least:
        return Axis(most, most, 1, 1)
    return next((axis for axis in _axes(blocks, most) if _says(axis, blocks)), None)


def _axes(blocks: Mapping[int, int], most: int) -> Iterable[Axis]:
    """Rules that might do, the simplest first."""
    rates = chain(((1, each) for each in range(1, 513)), ((times, 1) for times in range(2, 65)))
    for times, each in rates:
        small = max((made for count, made in blocks.items() if count * times <= each), default=1)
        yield Axis(most, blocks[1], times, each)
        yield Axis(most, small, times, each)


def _says(axis: Axis, blocks: Mapping[int, int]) -> bool:
    return all(
        made == axis.blocks(count) or (made < axis.blocks(count) and count * axis.times <= axis.each)
        for count, made in blocks.items()
    )
