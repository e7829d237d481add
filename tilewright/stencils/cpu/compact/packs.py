"""Packs whose elements follow one another without a gap: offsets are constants.

               pack 0          pack 1
    A, B      [......]        [......]      ...     lines of the next ``prefetch`` packs are asked for while
                   *                                this one is multiplied, a share of them before each part
    buffer    [ C of pack 0 | C of pack 1 | ...     streamed to memory line by line (``staging``), or C itself

Each operand is memory in one piece, but products read it in several places at a time, which processors do not
read ahead by themselves; and an ordinary store has each line of C read first.
"""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.model import Problem
from tilewright.stencils.cpu.compact.codegen import Span, Table, loop
from tilewright.stencils.cpu.ir import Ir, batch_loop, load_scalars, strides
from tilewright.stencils.cpu.staging import Stage


class Packs(Span):
    """The writer of ``packs``: all packs of a batch. To it ``%sa``, ``%sb`` and ``%sc`` are the elements from
    one pack to the next, and ``%count`` is the number of packs."""

    def function(self) -> Ir:
        """All of it."""
        ir, p = self.ir, self.p
        self.scalars = load_scalars(ir, p)
        lanes, steps = reals_of_an_element(p), strides(ir, p)
        stage = Stage(ir, p.m * p.n * lanes, self.width) if self.c["store"] == "staged" else None

        def body(a: str, b: str, c: str) -> None:
            here = (a, b, stage.next() if stage else c)
            later = self._later((a, b) if stage else (a, b, c), steps)

            def turn(first: str) -> None:
                bases = [ir.at(base, first) for base in here]
                self._products(bases, self.parts, self._lines([ir.at(base, first) for base in later]))

            loop(ir, "0", str(lanes), self.width * self.vectors, turn)
            if stage:
                stage.put(p.m * p.n * lanes)

        batch_loop(ir, ("%A", "%B", "%C"), steps, "%count", body)
        if stage:
            stage.close()
        return ir

    def _later(self, bases: Sequence[str], steps: Sequence[str]) -> list[str]:
        """Where the operands of what is asked for are; none with a prefetch of 0."""
        ir, ahead = self.ir, self.c["prefetch"]
        far = [ir.let(f"mul i64 {step}, {ahead}") for step in steps] if ahead else []
        return [ir.at(base, distance) for base, distance in zip(bases, far, strict=False)]

    def _lines(self, bases: Sequence[str]) -> list[tuple[str, int, Table]]:
        """All elements of the operands that are asked for."""
        return [
            (base, word, table)
            for base, table in zip(bases, self.tables, strict=False)
            for word in range(table.first, table.first + table.rows * table.columns)
        ]

    def _offset(self, word: int | str, table: Table) -> int | str:
        """By rows, the pack's matrices side by side."""
        apart = reals_of_an_element(self.p)
        if isinstance(word, int):
            return (word - table.first) * apart
        return self.ir.let(f"mul i64 {self.ir.let(f'sub i64 {word}, {table.first}')}, {apart}")


def whole(p: Problem, matrices: int) -> bool:
    """Whether turns of so many matrices end with a pack, and all operands are interleaved: what ``Packs``
    requires of a problem. Gaps between elements are seen at run time alone."""
    pack = p.interleaved.pack if p.interleaved is not None else 0
    return pack > 0 and pack % matrices == 0 and p.strides == (1, 1, 1)


def reals_of_an_element(p: Problem) -> int:
    """Reals from one element of a pack's matrices to the next."""
    assert p.interleaved is not None
    return p.interleaved.pack * (2 if p.dtype.is_complex else 1)
