"""The writer of one function of ``lanes``: the loops over groups and over the matrices that are left."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.model import Config, Device, Problem
from tilewright.stencils.cpu.ir import Ir, Piece, Scalars, batch_loop, finish, load_scalars
from tilewright.stencils.cpu.lanes.groups import Group
from tilewright.stencils.cpu.lanes.reads import Read, Reader, Run
from tilewright.stencils.cpu.sets import ir_of
from tilewright.stencils.cpu.staging import Stage


class Lanes:
    """The writer of one function: all that a config fixes, and the methods that emit from the inside out."""

    def __init__(self, problem: Problem, config: Config, device: Device, store: str):
        self.p, self.c, self.store = problem, config, store
        self.ir = ir_of(problem.dtype, device)
        width, masks = config["vector_bits"] // problem.dtype.sum_bits, bool(device["masks"])
        self.main = Group(problem, config["group"], width, config["columns"], masks)
        self.single = Group(problem, 1, width, 0, masks)
        self.stage: Stage | None = None
        self.whole_a, self.whole_b = (config[name] == "whole" for name in ("window_a", "window_b"))
        # Half of the registers for what is read, half for sums and shuffles under way.
        self.room = device["vector_registers"] // 2
        self.conj_a, self.conj_b = (-1 if conj else 1 for conj in (problem.conj_a, problem.conj_b))

    def function(self) -> Ir:
        """The whole body: scalars, the loop over groups, and the loop over the matrices that are left."""
        ir, size = self.ir, self.main.size
        scalars, bases = load_scalars(ir, self.p), ("%A", "%B", "%C")
        width = self.main.width
        self.stage = Stage(ir, self.main.steps[2], width) if self.store == "staged" else None
        held = self.shared_reads()
        if size == 1:
            self.loop(self.main, bases, "%count", scalars, held)
            return self.closed()
        groups = ir.let(f"udiv i64 %count, {size}")
        self.loop(self.main, bases, groups, scalars, held)
        done = ir.let(f"mul i64 {groups}, {size}")
        left = ir.let(f"sub i64 %count, {done}")
        starts = [
            ir.at(base, ir.let(f"mul i64 {done}, {step}")) if step else base
            for base, step in zip(bases, self.single.steps, strict=True)
        ]
        self.loop(self.single, starts, left, scalars, {})
        return self.closed()

    def closed(self) -> Ir:
        """The body, with what waits in the buffer of a staged function written."""
        if self.stage:
            self.stage.close()
        return self.ir

    def shared_reads(self) -> dict[tuple[str, Read], str]:
        """What groups read of an operand that the whole batch shares, read once where registers allow."""
        held: dict[tuple[str, Read], str] = {}
        for base, operand, stride, whole in (
            ("%A", "a", self.p.stride_a, self.whole_a),
            ("%B", "b", self.p.stride_b, self.whole_b),
        ):
            reads = self.main.reads(operand, self.c["cmul"], whole) if stride == 0 else []
            if len(held) + len(reads) <= 3 * self.room // 4:
                reader = Reader(self.ir, 4)
                held |= {(base, read): reader.emit(base, read) for read in reads}
        return held

    def loop(
        self,
        group: Group,
        starts: Sequence[str],
        count: str,
        scalars: Scalars,
        held: dict[tuple[str, Read], str],
    ) -> None:
        """``count`` groups, from the pointers ``starts`` on."""

        def body(a: str, b: str, c: str) -> None:
            if group is self.main:
                self.ask_ahead((a, b, c))
            a, b = "%A" if self.p.stride_a == 0 else a, "%B" if self.p.stride_b == 0 else b
            reader = Reader(self.ir, self.room - len(held), held)
            self.group(group, reader, a, b, self.stage.next() if self.stage else c, scalars)
            if self.stage:
                self.stage.put(group.steps[2])

        batch_loop(self.ir, starts, group.steps, count, body)

    def ask_ahead(self, bases: Sequence[str]) -> None:
        """Ask for the lines of the group ``prefetch`` groups ahead."""
        distance, line = self.c["prefetch"], 64 * 8 // self.ir.stored_bits
        if not distance:
            return
        asked = (True, True, self.store == "plain")
        writes = (False, False, True)
        for base, step, ask, write in zip(bases, self.main.steps, asked, writes, strict=True):
            for offset in range(0, step if ask else 0, line):
                self.ir.prefetch(self.ir.at(base, distance * step + offset), write)

    def group(self, group: Group, reader: Reader, a: str, b: str, c: str, scalars: Scalars) -> None:
        """All sums of a group; a vector of C is written as soon as the last of its sums is known."""
        sums: dict[tuple[str, Read], str] = {}
        closer, closed = Reader(self.ir, self.room, sums), group.closed()
        for count, run in enumerate(group.runs(), 1):
            sums["", run] = self.product(group, reader, a, b, run)
            while closed and closed[0][1] == count:
                piece, _, read = closed.pop(0)
                stream = self.store == "stream" and group is self.main
                self.update(closer.emit("", read), c, piece, scalars, stream)

    def product(self, group: Group, reader: Reader, a: str, b: str, run: Run) -> str:
        """The sum over k for the lanes of a run.

        With a = (x, conj_a*y) and b = (u, conj_b*w) a complex product is s1*(x*u, y*u) + s2*(y*w, x*w)
        where s1 = (1, conj_a) and s2 = (-conj_a*conj_b, conj_b). ``rotate`` does all of the second sum
        first, turns it by s2/s1, and the first sum goes on from there: one running sum is enough.
        ``split`` sums (x*u, y*u) and (x*w, y*w) and exchanges the pairs of the latter at the end.
        """
        ir, width, steps = self.ir, run.width, range(self.p.k)

        def add(total: str | None, k: int, part: int, swapped: bool) -> str:
            x = reader.emit(a, group.read_a(run, k, swapped, self.whole_a))
            y = reader.emit(b, group.read_b(run, k, part, self.whole_b))
            return ir.fma(x, y, total, width)

        straight: str | None = None
        crossed: str | None = None
        if group.unit == 1:
            for k in steps:
                straight = add(straight, k, 0, False)
            return str(straight)
        turn = -self.conj_a * self.conj_b
        if self.c["cmul"] == "rotate":
            for k in steps:
                crossed = add(crossed, k, 1, True)
            straight = ir.flip(str(crossed), (turn, -turn), width)
            for k in steps:
                straight = add(straight, k, 0, False)
            return ir.flip(str(straight), (1, self.conj_a), width)
        for k in steps:
            straight, crossed = add(straight, k, 0, False), add(crossed, k, 1, False)
        turned = ir.flip(ir.swap(str(crossed), width), (turn, self.conj_b), width)
        return ir.op("fadd", ir.flip(str(straight), (1, self.conj_a), width), turned, width)

    def update(self, total: str, c: str, piece: Piece, scalars: Scalars, stream: bool) -> None:
        """C = alpha * total + beta * C for one vector; vectors do not overlap, so each is done at once."""
        ir, address = self.ir, self.ir.at(c, piece.start)
        place = Piece(0, piece.width, piece.active)
        old = ir.load(address, place) if self.p.beta != "0" else None
        ir.store(finish(ir, self.p, scalars, total, old, piece.width), address, place, stream)
