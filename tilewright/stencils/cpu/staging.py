"""Results on their way to memory through a small buffer, so that they leave it in whole cache lines.

A streaming store pays only when it writes whole lines, and a matrix of 13x13 neither begins nor ends
on one; nor do the arrays that NumPy makes. But the matrices of a packed batch follow one another
without a gap, so the end of one and the beginning of the next make up a line together:

              first line of C          whole lines                    last line of C
      C       ....|xxxxxxxx  xxxxxxxxxxxxxxxx  xxxxxxxxxxxxxxxx  xxxxxxxxx|.......
      buffer      the same offset from a line: products are put in one after another

Products are written to a buffer on the stack that begins at the same distance from a cache line as C
does. Once ``LINES`` lines are full they are streamed, and what is left of the last one is carried to
the front. The first and the last line belong in part to others (to what lies around C, or to the
share of another core), so of these only the own elements are written, by ordinary stores: no byte
outside is touched, and no two cores ever write the same byte.
"""

from __future__ import annotations

from collections.abc import Callable

from tilewright.stencils.cpu.ir import Ir, Piece

LINE_BYTES = 64
LINES = 16
"""Lines that are streamed together. What was written just before is not yet in the cache, and a load of a
line from two such stores waits for it: with more lines most of them have arrived."""


def counted(
    ir: Ir, start: str, stop: str, step: int, body: Callable[[str], None], *, blocks: bool = False
) -> None:
    """``body(i)`` for i from ``start`` in steps while it is below ``stop``. ``blocks``: whether it begins
    some of its own."""
    before, loop, after = (ir.label(x) for x in ("from", "each", "end"))
    ir.do(f"br label %{before}")
    ir.place(before)
    some = ir.let(f"icmp ult i64 {start}, {stop}")
    ir.do(f"br i1 {some}, label %{loop}, label %{after}")
    ir.place(loop)
    top, index, last = len(ir.lines), f"%{loop}.i", loop
    body(index)
    if blocks:
        last = ir.label("next")
        ir.do(f"br label %{last}")
        ir.place(last)
    following = ir.let(f"add i64 {index}, {step}")
    more = ir.let(f"icmp ult i64 {following}, {stop}")
    ir.do(f"br i1 {more}, label %{loop}, label %{after}")
    ir.place(after)
    ir.lines.insert(top, f"  {index} = phi i64 [ {start}, %{before} ], [ {following}, %{last} ]")


class Stage:
    """The buffer of one function, made at its entry. Offsets are in reals, counted from the start of a line.

    ``most``: the most reals that are put in at a time. ``width``: lanes of the vectors that are streamed.
    ``to``: where the first product goes. The state lies in memory: registers belong to the products.
    """

    def __init__(self, ir: Ir, most: int, width: int, to: str = "%C"):
        # Numbers of 16 bits lie in the buffer as in memory, and fill a vector with twice as many.
        self.ir, self.lanes, self.width = ir, width, width * ir.bits // ir.stored_bits
        self.line = LINE_BYTES * 8 // ir.stored_bits
        self.full = LINES * self.line
        # Before the last product fewer than ``full`` wait; a line more, because the rest is moved as a line.
        self.buffer = ir.let(f"alloca [{self.full + most + self.line} x {ir.stored}], align {LINE_BYTES}")
        self.end = ir.let("alloca i64")
        self.begin = ir.let("alloca i64")
        self.target = ir.let("alloca ptr")
        place = ir.let(f"ptrtoint ptr {to} to i64")
        offset = ir.let(f"and i64 {place}, {LINE_BYTES - 1}")
        phase = ir.let(f"udiv i64 {offset}, {ir.stored_bits // 8}")
        first = ir.at(to, ir.let(f"sub i64 0, {phase}"))
        ir.do(f"store i64 {phase}, ptr {self.end}")
        ir.do(f"store i64 {phase}, ptr {self.begin}")
        ir.do(f"store ptr {first}, ptr {self.target}")

    def next(self) -> str:
        """Where the next product is to be written."""
        return self.ir.at(self.buffer, self.ir.let(f"load i64, ptr {self.end}"))

    def put(self, reals: int) -> None:
        """Count a product that was written to ``next``, and stream what is worth it."""
        ir = self.ir
        end = ir.let(f"add i64 {ir.let(f'load i64, ptr {self.end}')}, {reals}")
        ir.do(f"store i64 {end}, ptr {self.end}")
        leave, stay = ir.label("leave"), ir.label("stay")
        enough = ir.let(f"icmp uge i64 {end}, {self.full}")
        ir.do(f"br i1 {enough}, label %{leave}, label %{stay}")
        ir.place(leave)
        self._stream()
        ir.do(f"br label %{stay}")
        ir.place(stay)

    def close(self) -> None:
        """Write what is left: whole lines, then the part of the last one that is ours."""
        self._stream()
        begin, end, target = self._state()
        counted(self.ir, begin, end, 1, lambda i: self._copy(target, i))

    def _state(self) -> tuple[str, str, str]:
        ir = self.ir
        begin, end = (ir.let(f"load i64, ptr {at}") for at in (self.begin, self.end))
        return begin, end, ir.let(f"load ptr, ptr {self.target}")

    def _copy(self, target: str, index: str) -> None:
        """One real by ordinary instructions."""
        ir, align = self.ir, self.ir.stored_bits // 8
        value = ir.let(f"load {ir.stored}, ptr {ir.at(self.buffer, index)}, align {align}")
        ir.do(f"store {ir.stored} {value}, ptr {ir.at(target, index)}, align {align}")

    def _stream(self) -> None:
        """Write all whole lines, and carry the rest to the front of the buffer."""
        ir, whole = self.ir, Piece(0, self.width, self.width)
        begin, end, target = self._state()
        lines = ir.let(f"and i64 {end}, {-self.line}")
        # The first line of all, where C begins inside of it: only the own part, as far as it is complete.
        complete = ir.let(f"icmp ne i64 {lines}, 0")
        partial = ir.let(f"and i1 {complete}, {ir.let(f'icmp ne i64 {begin}, 0')}")
        border = ir.let(f"select i1 {partial}, i64 {self.line}, i64 0")
        counted(ir, begin, border, 1, lambda i: self._copy(target, i))

        def leave(index: str) -> None:
            source, sink = ir.at(self.buffer, index), ir.at(target, index)
            # As what registers hold, whatever lies in memory: with AVX-512 LLVM writes vectors of 16-bit
            # numbers by ordinary stores, even if they are marked to be streamed.
            vectors, held = range(0, self.line, self.width), Piece(0, self.lanes, self.lanes)
            values = [ir.load(ir.at(source, first), held, held=True) for first in vectors]
            for first, value in zip(vectors, values, strict=True):
                ir.store(value, ir.at(sink, first), held, stream=True, held=True)

        counted(ir, border, lines, self.line, leave)
        rest = ir.at(self.buffer, lines)
        for first in range(0, self.line, self.width):
            ir.store_stored(ir.load_stored(ir.at(rest, first), whole), ir.at(self.buffer, first), whole)
        ir.do(f"store i64 {ir.let(f'sub i64 {end}, {lines}')}, ptr {self.end}")
        ir.do(f"store i64 {ir.let(f'select i1 {complete}, i64 0, i64 {begin}')}, ptr {self.begin}")
        ir.do(f"store ptr {ir.at(target, lines)}, ptr {self.target}")
