"""The space of ``lanes``: how groups lie over vectors, what is loaded of A and B, how C is written."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass

from tilewright.model import Device, Problem
from tilewright.space import Param, Rule, Space
from tilewright.stencils.cpu.common import memory_rules
from tilewright.stencils.cpu.lanes.groups import Group, smallest_group
from tilewright.stencils.cpu.lanes.reads import Read

STEPS = 400
"""Vector multiply-adds in the unrolled code of a group, beyond which it only gets longer."""


def space_of(problem: Problem, device: Device, widest: int) -> Space:
    """The space of a problem on a device whose shuffles take vectors of up to ``widest`` bits."""
    bits = tuple(b for b in (512, 256, 128) if b <= widest)
    groups = Groups(problem, bits, bool(device["masks"]))
    return Space(_params(groups), tuple(_rules(groups, device)))


@dataclass(frozen=True)
class Groups:
    """Groups of matrices of a problem in vectors of so many bits, and what their shuffles take."""

    problem: Problem
    bits: tuple[int, ...]
    """The widths of vectors that the device has, the widest first."""
    masks: bool

    @property
    def height(self) -> int:
        """Real numbers of a column of C."""
        return self.problem.m * (2 if self.problem.dtype.is_complex else 1)

    @functools.cached_property
    def least(self) -> dict[int, int]:
        """Fewest matrices whose C is a whole number of vectors, by the width of these."""
        return {bits: smallest_group(self.problem, bits) for bits in self.bits}

    @functools.cached_property
    def groups(self) -> tuple[int, ...]:
        """Numbers of matrices of a group: the fewest for each width of vector, twice and four times them."""
        return tuple(sorted({times * least for least in self.least.values() for times in (1, 2, 4)}))

    def lanes(self, vector_bits: int) -> int:
        """Real numbers of a vector."""
        return vector_bits // self.problem.dtype.sum_bits

    def group(self, vector_bits: int, columns: int) -> Group:
        """The smallest group."""
        return Group(self.problem, self.least[vector_bits], self.lanes(vector_bits), columns, self.masks)

    def work(self, vector_bits: int, group: int, columns: int) -> int:
        """Steps of a turn of the loop."""
        p = self.problem
        runs = Group(p, group, self.lanes(vector_bits), columns, self.masks).runs()
        return len(runs) * p.k * (2 if p.dtype.is_complex else 1)


def _params(x: Groups) -> tuple[Param, ...]:
    p = x.problem
    most_columns = min(p.n, max(1, x.bits[0] // p.dtype.sum_bits // x.height))
    return (
        Param("vector_bits", x.bits),
        Param("group", x.groups),
        Param("columns", tuple(range(most_columns + 1))),
        Param("cmul", ("split", "rotate") if p.dtype.is_complex else ("none",)),
        Param("window_a", ("near", "whole")),
        Param("window_b", ("near", "whole")),
        Param("store", ("plain", "stream")),
        Param("prefetch", (0, 1, 2, 4, 8, 16)),
    )


def _rules(x: Groups, device: Device) -> Iterator[Rule]:
    yield from _of_vectors(x)
    yield from _of_windows(x, device)
    yield from _of_stores(x, device)
    yield from _of_speed(x)
    yield from _of_prefetches(x, device)


def _of_vectors(x: Groups) -> Iterator[Rule]:
    """Groups, and columns of a vector, each under one name."""
    p = x.problem
    yield Rule(
        "whole-vectors",
        "hard",
        "the C of a group must be a whole number of vectors",
        lambda vector_bits, group: group % x.least[vector_bits] == 0,
    )
    yield Rule(
        "columns-fit",
        "hard",
        "the columns of a vector must fit in it",
        lambda vector_bits, columns: columns * x.height <= x.lanes(vector_bits),
    )
    yield Rule(
        "columns-break",
        "hard",
        "columns that fill every vector are the unbroken order",
        lambda vector_bits, columns: (
            columns == 0 or columns * x.height < x.lanes(vector_bits) or p.n % columns > 0
        ),
    )


def _of_windows(x: Groups, device: Device) -> Iterator[Rule]:
    """What is loaded of A and B, and how many constants its shuffles take."""

    @functools.cache
    def reads(operand: str, vector_bits: int, columns: int, cmul: str, whole: bool) -> tuple[Read, ...]:
        return tuple(x.group(vector_bits, columns).reads(operand, cmul, whole))

    def differs(operand: str, vector_bits: int, columns: int, cmul: str) -> bool:
        near, whole = (reads(operand, vector_bits, columns, cmul, flag) for flag in (False, True))
        return near != whole

    @functools.cache
    def constants(vector_bits: int, columns: int, cmul: str, whole_a: bool, whole_b: bool) -> int:
        return x.group(vector_bits, columns).constants(cmul, whole_a, whole_b)

    yield Rule(
        "window-a-matters",
        "hard",
        "where both windows load the same of A, both programs are one",
        lambda vector_bits, columns, cmul, window_a: (
            window_a == "near" or differs("a", vector_bits, columns, cmul)
        ),
    )
    yield Rule(
        "window-b-matters",
        "hard",
        "where both windows load the same of B, both programs are one",
        lambda vector_bits, columns, cmul, window_b: (
            window_b == "near" or differs("b", vector_bits, columns, cmul)
        ),
    )
    yield Rule(
        "constants",
        "soft",
        "shuffles of more different patterns than there are registers spill their constants",
        lambda vector_bits, columns, cmul, window_a, window_b: (
            constants(vector_bits, columns, cmul, window_a == "whole", window_b == "whole")
            <= device["vector_registers"] * 7 // 8
        ),
    )


def _of_stores(x: Groups, device: Device) -> Iterator[Rule]:
    """How C is written."""
    p = x.problem
    yield from memory_rules(p, device)
    yield Rule(
        "stream-unread",
        "hard",
        "a streaming store is for a C that nobody reads",
        lambda store: store == "plain" or p.beta == "0",
    )


def _of_speed(x: Groups) -> Iterator[Rule]:
    """Which vectors and groups are slow."""
    p = x.problem
    yield Rule(
        "half-full",
        "soft",
        "vectors that are half empty take more steps than narrower ones",
        lambda vector_bits, columns: columns == 0 or 2 * min(columns, p.n) * x.height > x.lanes(vector_bits),
    )
    yield Rule(
        "group-few",
        "soft",
        "a group of many matrices only saves the end of the loop",
        lambda vector_bits, group: group <= 4 * x.least[vector_bits],
    )
    yield Rule(
        "code-size",
        "soft",
        "longer code than a few hundred steps only takes longer to compile",
        lambda vector_bits, group, columns: (
            group == x.least[vector_bits] or x.work(vector_bits, group, columns) <= STEPS
        ),
    )


def _of_prefetches(x: Groups, device: Device) -> Iterator[Rule]:
    """How far ahead is worth asking for operands."""
    p = x.problem
    one = max(p.m * p.k, p.k * p.n, p.m * p.n) * p.dtype.itemsize
    yield Rule(
        "prefetch-some",
        "soft",
        "a prefetch of less than two lines ahead comes too late",
        lambda group, prefetch: prefetch == 0 or prefetch * group * one >= 128,
    )
    yield Rule(
        "prefetch-few",
        "soft",
        "lines asked for too far ahead are gone when they are needed",
        lambda group, prefetch: prefetch * group * one <= device["l1d"] // 4,
    )
