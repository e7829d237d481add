"""The entry of the ``compact`` stencil: offsets of elements, packs, and where whole vectors begin."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.model import Device, Problem
from tilewright.stencils.cpu.compact.codegen import Table, loop, tables
from tilewright.stencils.cpu.compact.conflicts import conflicting, sets_of
from tilewright.stencils.cpu.compact.packs import reals_of_an_element
from tilewright.stencils.cpu.ir import (
    CALL,
    ENTRY,
    LAYOUT,
    LAYOUT_WORDS,
    Ir,
    batch_loop,
    fence,
    strides,
)


def block_words(p: Problem) -> int:
    """64-bit words of the entry's block."""
    return LAYOUT // 8 + p.m * p.k + p.k * p.n + p.m * p.n


class Entry:
    """The writer of the entry, for functions of so many vectors to a turn. ``stream``: one of them is
    ``stream``. ``packs``: one is ``packs``. ``staged``: some stream. ``block``: one is ``blocks``, of so
    many turns. ``copies``: one is ``copies``, likewise."""

    def __init__(
        self,
        problem: Problem,
        device: Device,
        width: int,
        vectors: int,
        *,
        stream: bool = False,
        packs: bool = False,
        staged: bool = False,
        block: int = 0,
        copies: int = 0,
    ):
        self.p, self.device = problem, device
        self.stream, self.packs, self.staged = stream, packs, staged
        self.block, self.copies = block, copies
        self.ir, self.unit = Ir(problem.dtype), 2 if problem.dtype.is_complex else 1
        self.width, self.per_turn = width, width // self.unit * vectors

    def function(self) -> Ir:
        """All of it."""
        ir, p = self.ir, self.p
        assert p.interleaved is not None
        words = [self._word(name) for name in LAYOUT_WORDS]
        block = ir.let(f"alloca i64, i64 {block_words(p)}, align 64")
        for at in range(LAYOUT // 8):
            old = ir.let(f"load i64, ptr {ir.let(f'getelementptr i64, ptr %scalars, i64 {at}')}, align 4")
            ir.do(f"store i64 {old}, ptr {ir.let(f'getelementptr i64, ptr {block}, i64 {at}')}, align 8")
        for table in tables(p):
            self._fill(block, table, words[table.row_word], words[table.column_word])
        self.steady = "true" if self.stream else "false"
        if self.stream:
            self._aligned(words)
        self.conflict = self._conflict(block) if self.copies else "false"
        pack, step_c = words[6], words[7]
        if p.interleaved.pack:
            steps = strides(ir, p)
            if self.packs:
                self._packs(words, steps, block)
            batch_loop(
                ir, ("%A", "%B", "%C"), steps, "%count",
                lambda a, b, c: self._span((a, b, c), pack, step_c, block),
            )  # fmt: skip
        else:
            self._span(("%A", "%B", "%C"), "%count", step_c, block)
        if self.stream or self.staged:
            fence(ir, self.device)
        return ir

    def _conflict(self, block: str) -> str:
        """Whether rows of matrices conflict, and may be copied."""
        ir, size = self.ir, self.ir.bits // 8

        def offset(word: str) -> str:
            at = ir.let(f"getelementptr i64, ptr {block}, i64 {word}")
            return ir.let(f"mul i64 {ir.let(f'load i64, ptr {at}, align 8')}, {size}")

        sets = sets_of(self.p, self.device, self.per_turn * self.unit * size)
        found = conflicting(ir, self.p, sets, offset)
        past = (self.stream or self.staged) and self.p.stride_c == 1
        return ir.let(f"and i1 {found}, {self._even('%C')}") if past else found

    def _even(self, c: str) -> str:
        """Whether C lies at a multiple of the size of a real: parts of lines are counted in reals."""
        ir = self.ir
        odd = ir.let(f"and i64 {ir.let(f'ptrtoint ptr {c} to i64')}, {ir.bits // 8 - 1}")
        return ir.let(f"icmp eq i64 {odd}, 0")

    def _packs(self, words: Sequence[str], steps: Sequence[str], block: str) -> None:
        """All packs at once, and the end of the entry, where elements of all operands follow one another by
        rows, and the results of packs do."""
        ir, p, apart = self.ir, self.p, reals_of_an_element(self.p)
        rows, columns, pack = words[:3], words[3:6], words[6]
        wanted = [(pack, apart // self.unit), (steps[2], p.m * p.n * apart)]
        wanted += [(row, n * apart) for row, n in zip(rows, (p.k, p.n, p.n), strict=True)]
        wanted += [(column, apart) for column in columns]
        dense = "true"
        for value, constant in wanted:
            dense = ir.let(f"and i1 {dense}, {ir.let(f'icmp eq i64 {value}, {constant}')}")
        some, after = ir.label("packs"), ir.label("else")
        ir.do(f"br i1 {dense}, label %{some}, label %{after}")
        ir.place(some)
        ir.do(f"call void @{ENTRY}_packs({CALL.replace('%scalars', block)})")
        if self.staged:
            fence(ir, self.device)
        ir.do("ret void")
        ir.place(after)

    def _word(self, name: str) -> str:
        """A word of the layout, strides in reals."""
        ir = self.ir
        at = LAYOUT // 8 + LAYOUT_WORDS.index(name)
        found = ir.let(f"load i64, ptr {ir.let(f'getelementptr i64, ptr %scalars, i64 {at}')}, align 4")
        return found if self.unit == 1 or name == "pack" else ir.let(f"shl i64 {found}, 1")

    def _fill(self, block: str, table: Table, row: str, column: str) -> None:
        """The offsets of an operand's elements."""
        ir = self.ir

        def line(i: str) -> None:
            start = ir.let(f"mul i64 {i}, {row}")
            place = ir.let(f"add i64 {ir.let(f'mul i64 {i}, {table.columns}')}, {table.first}")

            def element(j: str) -> None:
                offset = ir.let(f"add i64 {start}, {ir.let(f'mul i64 {j}, {column}')}")
                at = ir.let(f"add i64 {place}, {j}")
                ir.do(
                    f"store i64 {offset}, ptr {ir.let(f'getelementptr i64, ptr {block}, i64 {at}')}, align 8"
                )

            loop(ir, "0", str(table.columns), 1, element)

        loop(ir, "0", str(table.rows), 1, line)

    def _aligned(self, words: Sequence[str]) -> None:
        """Whether all rows of C lie alike to vectors, so that what aligns one aligns all."""
        ir = self.ir
        together = ir.let(f"or i64 {words[2]}, {words[5]}")
        off = ir.let(f"and i64 {together}, {self.width - 1}")
        self.steady = ir.let(f"icmp eq i64 {off}, 0")

    def _span(self, bases: tuple[str, str, str], count: str, step_c: str, block: str) -> None:
        """``count`` matrices: blocks that are copied, or those before the first whole vector of C; then whole
        vectors, and the others."""
        ir = self.ir
        head, steady = "0", self.steady
        if self.stream:
            # Reals from C to the next multiple of a vector, in matrices; none where vectors do not matter.
            place = ir.let(f"ptrtoint ptr {bases[2]} to i64")
            size = ir.bits // 8
            back = ir.let(f"and i64 {ir.let(f'sub i64 0, {place}')}, {self.width * size - 1}")
            ahead = ir.let(f"sdiv i64 {back}, {size * self.unit}")
            ir.declared.add("declare i64 @llvm.smin.i64(i64, i64)")
            ahead = ir.let(f"call i64 @llvm.smin.i64(i64 {ahead}, i64 {count})")
            head = ir.let(f"select i1 {steady}, i64 {ahead}, i64 0")
        if self.copies:
            head = ir.let(f"select i1 {self.conflict}, i64 {self._in_blocks(count, self.copies)}, i64 {head}")
            steady = ir.let(f"select i1 {self.conflict}, i1 false, i1 {steady}")
        rest = ir.let(f"sub i64 {count}, {head}")
        whole = ir.let(f"sub i64 {rest}, {ir.let(f'srem i64 {rest}, {self.per_turn}')}")
        end = ir.let(f"add i64 {head}, {whole}")

        def call(name: str, first: str, last: str, condition: str) -> None:
            some, after = ir.label(name), ir.label("next")
            ir.do(f"br i1 {condition}, label %{some}, label %{after}")
            ir.place(some)
            given = f"ptr {bases[0]}, ptr {bases[1]}, ptr {bases[2]}, i64 {first}, i64 {last}, i64 {step_c}"
            ir.do(f"call void @{ENTRY}_{name}({given}, i64 0, ptr {block})")
            ir.do(f"br label %{after}")
            ir.place(after)

        def some(first: str, last: str, also: str = "true") -> str:
            return ir.let(f"and i1 {ir.let(f'icmp slt i64 {first}, {last}')}, {also}")

        if self.copies:
            call("copies", "0", head, some("0", head, self.conflict))
        apart, begin = "true", head
        if self.stream:
            call("rest", "0", head, some("0", head, steady))
            call("stream", head, end, some(head, end, steady))
            apart = ir.let(f"xor i1 {steady}, true")
        if self.block:
            there = ir.let(f"and i1 {apart}, {self._even(bases[2])}")
            if self.copies:
                there = ir.let(f"select i1 {self.conflict}, i1 false, i1 {there}")
            begin = ir.let(f"select i1 {there}, i64 {self._in_blocks(count, self.block)}, i64 {head}")
            call("blocks", "0", begin, some("0", begin, there))
        call("main", begin, end, some(begin, end, apart))
        call("rest", end, count, some(end, count))

    def _in_blocks(self, count: str, block: int) -> str:
        """How many of so many matrices whole blocks of turns have."""
        ir = self.ir
        return ir.let(f"sub i64 {count}, {ir.let(f'srem i64 {count}, {block * self.per_turn}')}")
