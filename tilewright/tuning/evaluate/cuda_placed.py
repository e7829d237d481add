"""Memory of operands on a GPU."""

from __future__ import annotations

from tilewright.model import Problem
from tilewright.targets.cuda import driver
from tilewright.tuning.gemm.operands import Region

SPAN = 512
"""Bytes that an address is a multiple of where textures are read, on every device so far."""


class Placed:
    """The memory of one operand on the device, as ``Region`` lays it out: matrix 0 begins at ``base``."""

    def __init__(self, made: Region):
        self.origin = made.origin * made.view.itemsize
        self.memory = driver.allocate(made.words.nbytes + 2 * SPAN)
        self.move(0)

    def move(self, residue: int) -> None:
        """Let the base lie ``residue`` bytes past a multiple of ``SPAN``."""
        lowest = self.memory.address + self.origin
        self.base = lowest + (residue - lowest) % SPAN
        self.start = self.base - self.origin


def spans(problem: Problem) -> tuple[int, int, int]:
    """Bytes from the first to the last element of A, B and C."""
    p = problem
    cols = (p.m if p.transposed_a else p.k, p.k if p.transposed_b else p.n, p.n)
    one = [(ld or 0) * columns for ld, columns in zip((p.lda, p.ldb, p.ldc), cols, strict=True)]
    a, b, c = (
        ((p.batch - 1) * abs(stride) + elements) * p.dtype.itemsize
        for stride, elements in zip(p.strides, one, strict=True)
    )
    return a, b, c
