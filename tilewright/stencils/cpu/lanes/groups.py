"""Groups of tiny matrices: how their sums lie over vectors, and where each lane finds its operands."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import gcd

from tilewright.model import Problem
from tilewright.stencils.cpu.ir import Piece
from tilewright.stencils.cpu.lanes.reads import Read, Run, patterns, picked, read_of


@dataclass(frozen=True, slots=True)
class Group:
    """``size`` matrices whose sums lie over vectors, ``columns`` to each or unbroken (0)."""

    p: Problem
    size: int
    width: int
    columns: int
    masks: bool

    @property
    def unit(self) -> int:
        """Reals of one element."""
        return 2 if self.p.dtype.is_complex else 1

    @property
    def steps(self) -> tuple[int, int, int]:
        """Reals from one group's A, B and C to the next one's; 0 for a shared operand."""
        p, scale = self.p, self.size * self.unit
        a, b = p.m * p.k if p.stride_a else 0, p.k * p.n if p.stride_b else 0
        return a * scale, b * scale, p.m * p.n * scale

    def vectors(self) -> list[Piece]:
        """The group's C as it is stored: whole vectors; only a group that fills none has a remainder.

        Without mask registers the remainder is cut into ever narrower vectors.
        """
        full, rest = divmod(self.steps[2], self.width)
        out = [Piece(i * self.width, self.width, self.width) for i in range(full)]
        start = full * self.width
        if rest and self.masks:
            out.append(Piece(start, 1 << (rest - 1).bit_length(), rest))
            rest = 0
        while rest:
            lanes = 1 << (rest.bit_length() - 1)
            out.append(Piece(start, lanes, lanes))
            start, rest = start + lanes, rest - lanes
        return out

    def runs(self) -> list[Run]:
        """The group's C as it is summed: each run of reals in one vector."""
        if not self.columns:
            return [Run(piece.start, piece.width, piece.active) for piece in self.vectors()]
        height = self.p.m * self.unit
        return [
            Run((matrix * self.p.n + j) * height, self.width, min(self.columns, self.p.n - j) * height)
            for matrix in range(self.size)
            for j in range(0, self.p.n, self.columns)
        ]

    def _lanes(self, run: Run) -> Iterator[tuple[int, int, int, int]]:
        """Matrix, row, column and part (0 real, 1 imaginary) of every lane that is real."""
        for lane in range(run.start, run.start + run.active):
            element, part = divmod(lane, self.unit)
            matrix, inside = divmod(element, self.p.m * self.p.n)
            yield matrix, inside % self.p.m, inside // self.p.m, part

    def read_a(self, run: Run, k: int, swapped: bool, whole: bool) -> Read:
        """For every lane its A(i, k), or with ``swapped`` the other part of it."""
        p, one, order = self.p, self.p.m * self.p.k, []
        for matrix, i, _, part in self._lanes(run):
            place = k + i * p.k if p.transposed_a else i + k * p.m
            place += matrix * one if p.stride_a else 0
            order.append(place * self.unit + (1 - part if swapped else part))
        return self._read(run, order, self.steps[0] or one * self.unit, whole)

    def read_b(self, run: Run, k: int, part: int, whole: bool) -> Read:
        """For every lane the real (0) or the imaginary (1) part of its B(k, j)."""
        p, one, order = self.p, self.p.k * self.p.n, []
        for matrix, _, j, _ in self._lanes(run):
            place = j + k * p.n if p.transposed_b else k + j * p.k
            place += matrix * one if p.stride_b else 0
            order.append(place * self.unit + part)
        return self._read(run, order, self.steps[1] or one * self.unit, whole)

    def _read(self, run: Run, order: list[int], size: int, whole: bool) -> Read:
        idle = [-1] * (run.width - run.active)
        return read_of((*order, *idle), size, self.p.dtype.sum_bits, whole)

    def reads(self, operand: str, cmul: str, whole: bool) -> list[Read]:
        """Every different read of A or of B that a group makes."""
        parts = (False, True) if self.unit == 2 and (operand == "b" or cmul == "rotate") else (False,)
        found = (
            self.read_a(run, k, part, whole) if operand == "a" else self.read_b(run, k, int(part), whole)
            for run in self.runs()
            for k in range(self.p.k)
            for part in parts
        )
        return list(dict.fromkeys(found))

    def closed(self) -> list[tuple[Piece, int, Read]]:
        """How every vector of C is closed up from runs, after how many of which it is complete."""
        out, runs = [], self.runs()
        for piece in self.vectors():
            end = piece.start + piece.active
            last = next(i for i, run in enumerate(runs, 1) if run.start + run.active >= end)
            parts = [run for run in runs[:last] if run.start + run.active > piece.start]
            order = (*range(piece.start, end), *[-1] * (piece.width - piece.active))
            out.append((piece, last, picked(order, parts)))
        return out

    def constants(self, cmul: str, whole_a: bool, whole_b: bool) -> int:
        """Different constant vectors that the shuffles of a group need."""
        reads = [*self.reads("a", cmul, whole_a), *self.reads("b", cmul, whole_b)]
        return len({lanes for read in reads + [c[2] for c in self.closed()] for lanes in patterns(read)})


def smallest_group(problem: Problem, vector_bits: int) -> int:
    """Matrices whose C is a whole number of vectors."""
    reals = problem.m * problem.n * (2 if problem.dtype.is_complex else 1)
    width = vector_bits // problem.dtype.sum_bits
    return width // gcd(width, reals)
