"""Packs whose elements follow one another without a gap: offsets are constants.

               pack 0          pack 1
    A, B      [......]        [......]      ...     lines of the next ``prefetch`` packs are asked for while
                   *                                this one is multiplied, a few in each step of k
    buffer    [ C of pack 0 | C of pack 1 | ...     streamed to memory line by line (``staging``), or C itself

Each operand is memory in one piece, but products read it in several places at a time, which processors do not
read ahead by themselves; and an ordinary store has each line of C read first.
"""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.model import Problem
from tilewright.stencils.cpu.compact.codegen import Span, Table, loop
from tilewright.stencils.cpu.ir import Ir, batch_loop, load_scalars, strides
from tilewright.stencils.cpu.staging import LINE_BYTES, Stage


class Packs(Span):
    """The writer of ``packs``: all packs of a batch. To it ``%sa``, ``%sb`` and ``%sc`` are the elements from
    one pack to the next, and ``%count`` is the number of packs."""

    def function(self) -> Ir:
        """All of it."""
        ir, p = self.ir, self.p
        self.scalars = load_scalars(ir, p)
        lanes, steps = reals_of_an_element(p), strides(ir, p)
        self.line = LINE_BYTES // (ir.bits // 8)
        stage = Stage(ir, p.m * p.n * lanes, self.width) if self.c["store"] == "staged" else None

        def body(a: str, b: str, c: str) -> None:
            here = (a, b, stage.next() if stage else c)
            later = self._later((a, b) if stage else (a, b, c), steps)

            def turn(first: str) -> None:
                bases = [ir.at(base, first) for base in here]
                number = ir.let(f"udiv i64 {first}, {self.width * self.vectors}")
                for at, part in enumerate(self.parts):
                    step = ir.let(f"add i64 {ir.let(f'mul i64 {number}, {len(self.parts)}')}, {at}")
                    self.asked = [
                        (ir.at(base, ir.let(f"mul i64 {step}, {p.k * lines * self.line}")), lines)
                        for base, lines in later
                    ]
                    self._product(bases, part)

            loop(ir, "0", str(lanes), self.width * self.vectors, turn)
            if stage:
                stage.put(p.m * p.n * lanes)

        batch_loop(ir, ("%A", "%B", "%C"), steps, "%count", body)
        if stage:
            stage.close()
        return ir

    def _later(self, bases: Sequence[str], steps: Sequence[str]) -> list[tuple[str, int]]:
        """What is asked for: operands of a later pack, and how many lines of each in a step of a part; none
        with a prefetch of 0."""
        ir, ahead, lanes = self.ir, self.c["prefetch"], reals_of_an_element(self.p)
        if not ahead:
            return []
        times = len(self.parts) * self.p.k * (lanes // (self.width * self.vectors))
        found = []
        for base, distance, table in zip(bases, steps, self.tables, strict=False):
            lines = -(-table.rows * table.columns * lanes // (self.line * times))
            found.append((ir.at(base, ir.let(f"mul i64 {distance}, {ahead}")), lines))
        return found

    def _step(
        self, bases: Sequence[str], rows: range, columns: range, k: int | str, sums: list[str | None]
    ) -> list[str | None]:
        """A step, and its share of what is asked for: an operand's lines follow one another."""
        ir = self.ir
        for base, lines in self.asked:
            apart = lines * self.line
            start = ir.at(base, k * apart if isinstance(k, int) else ir.let(f"mul i64 {k}, {apart}"))
            for at in range(0, apart, self.line):
                ir.prefetch(ir.at(start, at), write=False, level=2)
        return super()._step(bases, rows, columns, k, sums)

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
