"""A transposed operand turned into a packed buffer, whole vectors at a time."""

from __future__ import annotations

from collections.abc import Callable

from tilewright.model import Problem
from tilewright.stencils.cpu.ir import Ir, Piece


def blocks(problem: Problem, ir: Ir, width: int) -> int:
    """How many blocks ``transposed`` turns one after the other."""
    lanes = _lanes(ir, problem, width)
    steps = problem.k if _apart(ir, problem) else -(-problem.k // lanes)
    return -(-problem.m // lanes) * steps


def transposed(
    ir: Ir,
    problem: Problem,
    a: str,
    buffer: str,
    padded: int,
    width: int,
    between: Callable[[], None] = lambda: None,
) -> None:
    """Write op(A) of a transposed A to ``buffer``, column after column of ``padded`` reals.

    A lies k-contiguous: element (row, k) at ``k + row*lda``. Blocks of ``lanes`` rows by ``lanes``
    steps of k are read along k, turned in registers, and written along the rows. Nobody reads rows past m
    from the buffer, so what is written there is left to the compiler. ``between`` is called after each.
    """
    unit = 2 if problem.dtype.is_complex else 1
    lanes = _lanes(ir, problem, width)
    width = lanes * unit
    lda = unit * problem.lda  # type: ignore[operator]
    if _apart(ir, problem):
        _strided(ir, problem, a, buffer, padded, width, between)
        return
    for row in range(0, problem.m, lanes):
        for k in range(0, problem.k, lanes):
            steps = min(lanes, problem.k - k)
            block = [
                ir.load(ir.at(a, (row + i) * lda + k * unit), Piece(0, width, steps * unit))
                if row + i < problem.m
                else "poison"
                for i in range(lanes)
            ]
            for step, vector in enumerate(block_transposed(ir, block, unit, width)[:steps]):
                target = ir.at(buffer, row * unit + (k + step) * padded, held=True)
                ir.store(vector, target, Piece(0, width, width), held=True)
            ir.keep_order()
            between()


def _lanes(ir: Ir, problem: Problem, width: int) -> int:
    """Elements of a vector: of one of 128 bits where they fill a vector of the narrowest kind, which needs no
    turning."""
    unit = 2 if problem.dtype.is_complex else 1
    return width // unit if ir.deals(unit, width) else 1


def _apart(ir: Ir, problem: Problem) -> bool:
    """Whether elements that lie apart are read by one instruction."""
    return ir.loose and (2 if problem.dtype.is_complex else 1) * ir.stored_bits <= 64


def _strided(
    ir: Ir,
    problem: Problem,
    a: str,
    buffer: str,
    padded: int,
    width: int,
    between: Callable[[], None],
) -> None:
    """The same where elements that lie apart are read by one instruction."""
    unit = 2 if problem.dtype.is_complex else 1
    lda = unit * problem.lda  # type: ignore[operator]
    for row in range(0, problem.m, width // unit):
        count = min(width // unit, problem.m - row)
        for k in range(problem.k):
            source = ir.at(a, row * lda + k * unit)
            vector = ir.apart(source, width // unit, unit, lda, count)
            target = ir.at(buffer, row * unit + k * padded, held=True)
            ir.store(vector, target, Piece(0, width, width), held=True)
            ir.keep_order()
            between()


def block_transposed(ir: Ir, rows: list[str], unit: int, width: int) -> list[str]:
    """The transpose of a square block of ``width/unit`` vectors, in log2 stages of two-vector shuffles.

    Each stage deals the elements of two vectors out in turns, to an even and an odd one: first the elements
    within every 128 bits, then these 128 bits as wholes. Both have their order in the instruction, where a
    shuffle across the whole vector would take a register for it.
    """
    lanes, lane = len(rows), min(width, ir.deal_bits // ir.bits)
    inside = [list(range(start, start + lane)) for start in range(0, width, lane)]
    distance = 1
    while distance < lanes:
        if distance * unit < lane:
            grain, groups = unit, [group + [width + x for x in group] for group in inside]
        else:
            grain, groups = lane, [list(range(2 * width))]
        masks = [
            [x for group in groups for at, x in enumerate(group) if at // grain % 2 == part]
            for part in (0, 1)
        ]
        out = list(rows)
        for i in range(lanes):
            if not i & distance:
                for part, mask in enumerate(masks):
                    out[i + distance * part] = ir.shuffle(rows[i], rows[i + distance], mask, width)
        rows, distance = out, distance * 2
    return rows
