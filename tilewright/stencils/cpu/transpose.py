"""A transposed operand turned into a packed buffer, whole vectors at a time."""

from __future__ import annotations

from tilewright.model import Problem
from tilewright.stencils.cpu.ir import Ir, Piece


def transposed(ir: Ir, problem: Problem, a: str, buffer: str, padded: int, width: int) -> None:
    """Write op(A) of a transposed A to ``buffer``, column after column of ``padded`` reals.

    A lies k-contiguous: element (row, k) at ``k + row*lda``. Blocks of ``lanes`` rows by ``lanes``
    steps of k are read along k, turned in registers, and written along the rows. Rows past m are
    written as zeros, so that the buffer never holds a denormal or a NaN that nobody put there.
    """
    unit = 2 if problem.dtype.is_complex else 1
    lanes = width // unit
    lda = unit * problem.lda  # type: ignore[operator]
    zero = "zeroinitializer" if width > 1 else "0.0"
    for row in range(0, problem.m, lanes):
        for k in range(0, problem.k, lanes):
            steps = min(lanes, problem.k - k)
            block = [
                ir.load(ir.at(a, (row + i) * lda + k * unit), Piece(0, width, steps * unit))
                if row + i < problem.m
                else zero
                for i in range(lanes)
            ]
            for step, vector in enumerate(_turned(ir, block, unit, width)[:steps]):
                ir.store(vector, ir.at(buffer, row * unit + (k + step) * padded), Piece(0, width, width))


def _turned(ir: Ir, rows: list[str], unit: int, width: int) -> list[str]:
    """The transpose of a square block of ``width/unit`` vectors, in log2 stages of two-vector shuffles."""
    lanes = len(rows)
    distance = 1
    while distance < lanes:
        out = list(rows)
        for i in range(lanes):
            if i & distance:
                continue
            low, high = rows[i], rows[i + distance]
            for part in (0, 1):
                mask = []
                for lane in range(lanes):
                    source = lane & ~distance | (distance if part else 0)
                    mask += [
                        (lanes if lane & distance else 0) * unit + source * unit + u for u in range(unit)
                    ]
                out[i + distance * part] = ir.shuffle(low, high, mask, width)
        rows, distance = out, distance * 2
    return rows
