"""What ARM's sets have of their own: complex multiply-adds, and vectors of SVE.

A program for SVE is of one length of vectors. LLVM is told so by an attribute of every function
(``vscale_range``), and vectors keep a fixed number of lanes, as for all other sets; what is written in
scalable vectors are predicates, complex multiply-adds and pieces of assembly, for which there are no fixed
ones. Turning a fixed vector into a scalable one and back makes no instruction.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tilewright.model import DType
from tilewright.stencils.cpu.ir import Ir, Piece

PATTERNS = {**{lanes: lanes for lanes in range(1, 9)}, 16: 9}
"""Numbers of lanes of which one instruction without operands makes a predicate, and what they are there."""


class Neon(Ir):
    """NEON with the complex multiply-adds of ARMv8.3 (FCMLA)."""

    complex_fma = True

    def __init__(self, dtype: DType, register: str):
        super().__init__(dtype, register)
        # Pairs that were copied from the first half of a vector, and that vector.
        self.read_once: dict[str, str] = {}

    def cfma(
        self, x: str, y: str, z: str | None, width: int, conj: tuple[bool, bool] = (False, False)
    ) -> str:
        # An instruction adds the products of one part of its first factor: 0 those of the real part, 90 those
        # of the imaginary one as a product has them, 270 as one with the conjugate has them.
        first, second = (y, x) if conj == (False, True) else (x, y)
        self.fma_count += 2
        total = self._turned(0, first, second, z or "zeroinitializer", width)
        return self._turned(270 if conj[0] != conj[1] else 90, first, second, total, width)

    def _turned(self, angle: int, x: str, y: str, z: str, width: int) -> str:
        """What one instruction adds to z."""
        kind, name = self.vec(width), f"@llvm.aarch64.neon.vcmla.rot{angle}.v{width}{self.short}"
        self.declared.add(f"declare {kind} {name}({kind}, {kind}, {kind})")
        return self.let(f"call {kind} {name}({kind} {z}, {kind} {x}, {kind} {y})")

    def pair(self, address: str, width: int, second: bool = False) -> str:
        if self.bits == 64:
            return self.let(f"load <2 x double>, ptr {address}, align 8")
        if second and self.register and width * self.bits == 128:
            return self._indexed(address)
        return self._copied(address, 64, width // 2, width)

    def _indexed(self, address: str) -> str:
        """A pair of 64 bits as a load leaves it, copied to the other half: an instruction takes it from one.

        LLVM is not to know that it was read, or it copies as it reads, which takes the place of a product.
        """
        kind, one = "<2 x double>", self.let(f"load double, ptr {address}, align 4")
        first = self.let(f"insertelement {kind} poison, double {one}, i64 0")
        read = self.let(f'call {kind} asm "", "={self.register},0"({kind} {first})')
        # It finds copies of whole numbers in products, and not of those with a fraction.
        whole = "<2 x i64>"
        bits = self.let(f"bitcast {kind} {read} to {whole}")
        every = self.let(f"shufflevector {whole} {bits}, {whole} poison, <2 x i32> zeroinitializer")
        made = self.let(f"bitcast {whole} {every} to {self.vec(4)}")
        self.read_once[made] = read
        return made

    def _copied(self, address: str, bits: int, times: int, width: int) -> str:
        """So many bits read as a whole number and copied, in a vector of reals.

        As a number with a fraction LLVM does it by two instructions on some processors, where its own model
        of them says that one is as quick.
        """
        kind, one = f"<{times} x i{bits}>", self.let(f"load i{bits}, ptr {address}, align {self.bits // 8}")
        if times == 1:
            return self.let(f"bitcast i{bits} {one} to {self.vec(width)}")
        first = self.let(f"insertelement {kind} poison, i{bits} {one}, i64 0")
        lanes = f"<{times} x i32> zeroinitializer"
        every = self.let(f"shufflevector {kind} {first}, {kind} poison, {lanes}")
        return self.let(f"bitcast {kind} {every} to {self.vec(width)}")

    def paired(self, real: str, imaginary: str, width: int) -> str:
        x, y = self.splat(real, width), self.splat(imaginary, width)
        return self.shuffle(x, y, [lane % 2 * (width + 1) for lane in range(width)], width)


class Sve(Neon):
    """SVE whose vectors have ``vector_bits``."""

    deal_bits = 2048

    def __init__(self, dtype: DType, register: str, vector_bits: int, complex_fma: bool):
        super().__init__(dtype, register)
        self.complex_fma = complex_fma
        self.attributes = f"vscale_range({vector_bits // 128},{vector_bits // 128}) "

    # -- fixed and scalable vectors -------------------------------------------------------------------
    def _scalable(self, real: str) -> tuple[str, str, int]:
        """The scalable vector of a type, the name that functions have for it, and its lanes in 128 bits."""
        bits, short = {
            "double": (64, "f64"), "float": (32, "f32"), "half": (16, "f16"), "bfloat": (16, "bf16")
        }[real]  # fmt: skip
        lanes = 128 // bits
        return f"<vscale x {lanes} x {real}>", f"nxv{lanes}{short}", lanes

    def _opened(self, value: str, width: int, real: str) -> str:
        """A fixed vector as the first lanes of a scalable one."""
        kind, suffix, _ = self._scalable(real)
        fixed, short = f"<{width} x {real}>", suffix.lstrip("nxv0123456789")
        name = f"@llvm.vector.insert.{suffix}.v{width}{short}"
        self.declared.add(f"declare {kind} {name}({kind}, {fixed}, i64)")
        return self.let(f"call {kind} {name}({kind} poison, {fixed} {value}, i64 0)")

    def _closed(self, value: str, width: int, real: str) -> str:
        """The first lanes of a scalable vector as a fixed one."""
        kind, suffix, _ = self._scalable(real)
        fixed, short = f"<{width} x {real}>", suffix.lstrip("nxv0123456789")
        name = f"@llvm.vector.extract.v{width}{short}.{suffix}"
        self.declared.add(f"declare {fixed} {name}({kind}, i64)")
        return self.let(f"call {fixed} {name}({kind} {value}, i64 0)")

    # -- predicates -------------------------------------------------------------------------------
    def _predicate(self, active: int | str, real: str) -> str:
        """The predicate of the first lanes of a type: so many, or a number that is known at run time."""
        lanes = self._scalable(real)[2]
        kind, suffix = f"<vscale x {lanes} x i1>", f"nxv{lanes}i1"
        if isinstance(active, int) and active in PATTERNS:
            name, given = f"@llvm.aarch64.sve.ptrue.{suffix}", f"i32 {PATTERNS[active]}"
            self.declared.add(f"declare {kind} {name}(i32 immarg)")
        else:
            name, given = f"@llvm.aarch64.sve.whilelo.{suffix}.i64", f"i64 0, i64 {active}"
            self.declared.add(f"declare {kind} {name}(i64, i64)")
        return f"{kind} " + self.let(f"call {kind} {name}({given})")

    def first_lanes(self, count: str, width: int) -> str:
        return self._predicate(count, self.real)

    def load_where(self, address: str, mask: str, width: int) -> str:
        return self._load_where(address, mask, width, self.real)

    def store_where(self, value: str, address: str, mask: str, width: int) -> None:
        self._store_where(value, address, mask, width, self.real)

    def _load_where(self, address: str, mask: str, width: int, real: str) -> str:
        kind, suffix, lanes = self._scalable(real)
        name = f"@llvm.masked.load.{suffix}.p0"
        self.declared.add(f"declare {kind} {name}(ptr, i32, <vscale x {lanes} x i1>, {kind})")
        given = f"ptr {address}, i32 {self._bytes(real)}, {mask}, {kind} zeroinitializer"
        return self._closed(self.let(f"call {kind} {name}({given})"), width, real)

    def _store_where(self, value: str, address: str, mask: str, width: int, real: str) -> None:
        kind, suffix, lanes = self._scalable(real)
        name = f"@llvm.masked.store.{suffix}.p0"
        self.declared.add(f"declare void {name}({kind}, ptr, i32, <vscale x {lanes} x i1>)")
        opened = self._opened(value, width, real)
        self.do(f"call void {name}({kind} {opened}, ptr {address}, i32 {self._bytes(real)}, {mask})")

    def _read(self, address: str, piece: Piece, real: str, suffix: str) -> str:
        if piece.active == piece.width:
            return super()._read(address, piece, real, suffix)
        return self._load_where(address, self._predicate(piece.active, real), piece.width, real)

    def _write(self, value: str, address: str, piece: Piece, real: str, suffix: str, stream: bool) -> None:
        if piece.active == piece.width:
            super()._write(value, address, piece, real, suffix, stream)
        else:
            self._store_where(value, address, self._predicate(piece.active, real), piece.width, real)

    # -- copies -----------------------------------------------------------------------------------
    def broadcasts(
        self, addresses: Sequence[str], widths: Iterable[int], held: bool = False
    ) -> dict[int, tuple[str, ...]]:
        whole = self.stored == self.real or held
        long = [width for width in widths if whole and width * self.bits > 128]
        made = super().broadcasts(addresses, [width for width in widths if width not in long], held)
        for width in long:
            made[width] = tuple(self._copied(address, self.bits, width, width) for address in addresses)
        return made

    def pair(self, address: str, width: int, second: bool = False) -> str:
        if self.bits == 32 or width == 2:
            return super().pair(address, width, second)
        kind, suffix, lanes = self._scalable("double")
        name = f"@llvm.aarch64.sve.ld1rq.{suffix}"
        self.declared.add(f"declare {kind} {name}(<vscale x {lanes} x i1>, ptr)")
        whole = self._predicate(width, "double")
        return self._closed(self.let(f"call {kind} {name}({whole}, ptr {address})"), width, "double")

    def paired(self, real: str, imaginary: str, width: int) -> str:
        # Two copies dealt out as fixed vectors LLVM would put together in memory.
        kind, suffix, _ = self._scalable(self.real)
        copies = []
        for value in (real, imaginary):
            first = self.let(f"insertelement {kind} poison, {self.real} {value}, i64 0")
            zeros = kind.replace(self.real, "i32")
            copies.append(self.let(f"shufflevector {kind} {first}, {kind} poison, {zeros} zeroinitializer"))
        name = f"@llvm.aarch64.sve.trn1.{suffix}"
        self.declared.add(f"declare {kind} {name}({kind}, {kind})")
        both = self.let(f"call {kind} {name}({kind} {copies[0]}, {kind} {copies[1]})")
        return self._closed(both, width, self.real)

    # -- products of 16 bits into float32 (FMLALB, BFMLALB) -------------------------------------------
    def row_stored(self, address: str, piece: Piece) -> str:
        if piece.width == 1:
            return self.load(address, piece)
        # Each number in the lower half of 32 bits, where the even lanes of 16 bits are: one load.
        lanes, wide = "<vscale x 4 x i16>", "<vscale x 4 x i32>"
        name = "@llvm.masked.load.nxv4i16.p0"
        self.declared.add(f"declare {lanes} {name}(ptr, i32, <vscale x 4 x i1>, {lanes})")
        where = self._predicate(piece.active, "float")
        read = self.let(f"call {lanes} {name}(ptr {address}, i32 2, {where}, {lanes} zeroinitializer)")
        apart = self.let(f"zext {lanes} {read} to {wide}")
        return self.let(f"bitcast {wide} {apart} to {self._scalable(self.stored)[0]}")

    def copies_stored(self, address: str, widths: Iterable[int]) -> dict[int, tuple[str]]:
        kind, made = "<vscale x 8 x i16>", {}
        for width in widths:
            if width == 1:
                made[width] = (self.one(address),)
                continue
            one = self.let(f"load i16, ptr {address}, align 2")
            first = self.let(f"insertelement {kind} poison, i16 {one}, i64 0")
            zeros = "<vscale x 8 x i32> zeroinitializer"
            every = self.let(f"shufflevector {kind} {first}, {kind} poison, {zeros}")
            made[width] = (self.let(f"bitcast {kind} {every} to {self._scalable(self.stored)[0]}"),)
        return made

    def widened(self, value: str, width: int) -> str:
        if not self.brain or width == 1:
            return super().widened(value, width)
        # LLVM takes vectors of bfloat16 apart; as whole numbers they are read into their places.
        whole, wide = f"<{width} x i16>", f"<{width} x i32>"
        raw = self.let(f"bitcast <{width} x bfloat> {value} to {whole}")
        apart = self.let(f"zext {whole} {raw} to {wide}")
        places = ", ".join(["i32 16"] * width)
        moved = self.let(f"shl {wide} {apart}, <{places}>")
        return self.let(f"bitcast {wide} {moved} to {self.vec(width)}")

    def fma_stored(self, x: str, y: str, z: str | None, width: int) -> str:
        if width == 1:
            return self.fma(x, y, z, width)
        self.fma_count += 1
        sums, kind = self._scalable("float")[0], self._scalable(self.stored)[0]
        name = "@llvm.aarch64.sve." + ("bfmlalb" if self.brain else "fmlalb.nxv4f32")
        self.declared.add(f"declare {sums} {name}({sums}, {kind}, {kind})")
        total = self._opened(z, width, "float") if z else "zeroinitializer"
        made = self.let(f"call {sums} {name}({sums} {total}, {kind} {x}, {kind} {y})")
        return self._closed(made, width, "float")

    # -- arithmetic -----------------------------------------------------------------------------
    def fma(self, x: str, y: str, z: str | None, width: int) -> str:
        if z is None or width * self.bits <= 128:
            return super().fma(x, y, z, width)
        # LLVM's general one may put the sum into another register than it was in, by an instruction more.
        self.fma_count += 1
        kind, suffix, lanes = self._scalable(self.real)
        name = f"@llvm.aarch64.sve.fmla.{suffix}"
        self.declared.add(f"declare {kind} {name}(<vscale x {lanes} x i1>, {kind}, {kind}, {kind})")
        whole = self._predicate(width, self.real)
        a, b, c = (self._opened(value, width, self.real) for value in (x, y, z))
        made = self.let(f"call {kind} {name}({whole}, {kind} {c}, {kind} {a}, {kind} {b})")
        return self._closed(made, width, self.real)

    # -- the rest ---------------------------------------------------------------------------------
    def settled(self, value: str, width: int) -> str:
        if not self.register or width * self.bits <= 128:
            return super().settled(value, width)
        kind, tied = self._scalable(self.real)[0], f"={self.register},0,~{{memory}}"
        opened = self._opened(value, width, self.real)
        same = self.let(f'call {kind} asm sideeffect "", "{tied}"({kind} {opened})')
        return self._closed(same, width, self.real)

    def shuffle(self, x: str, y: str, mask: Sequence[int], width: int) -> str:
        # LLVM knows what deals single lanes out, and has no look at pairs of them as one.
        both = (
            (one // 2, one % 2 == 0 and two == one + 1)
            for one, two in zip(mask[::2], mask[1::2], strict=True)
        )
        pairs = list(both)
        if self.bits * len(mask) <= 128 or self.bits == 64 or not all(whole for _, whole in pairs):
            return super().shuffle(x, y, mask, width)
        kind = f"<{width // 2} x double>"
        twice = [v if v == "poison" else self.let(f"bitcast {self.vec(width)} {v} to {kind}") for v in (x, y)]
        lanes = ", ".join(f"i32 {pair}" for pair, _ in pairs)
        order = f"<{len(pairs)} x i32> <{lanes}>"
        dealt = self.let(f"shufflevector {kind} {twice[0]}, {kind} {twice[1]}, {order}")
        return self.let(f"bitcast <{len(pairs)} x double> {dealt} to {self.vec(len(mask))}")

    def deals(self, unit: int, width: int) -> bool:
        return unit * self.bits <= 64 or width * self.bits <= 128

    def _turned(self, angle: int, x: str, y: str, z: str, width: int) -> str:
        kind, suffix, lanes = self._scalable(self.real)
        if y in self.read_once:
            halves = self.let(f"bitcast <2 x double> {self.read_once[y]} to {self.vec(width)}")
            a, b = (self._opened(value, width, self.real) for value in (x, halves))
            c = z if z == "zeroinitializer" else self._opened(z, width, self.real)
            name, more = f"@llvm.aarch64.sve.fcmla.lane.{suffix}", "i32 immarg, i32 immarg"
            self.declared.add(f"declare {kind} {name}({kind}, {kind}, {kind}, {more})")
            made = self.let(f"call {kind} {name}({kind} {c}, {kind} {a}, {kind} {b}, i32 0, i32 {angle})")
            return self._closed(made, width, self.real)
        name = f"@llvm.aarch64.sve.fcmla.{suffix}"
        self.declared.add(
            f"declare {kind} {name}(<vscale x {lanes} x i1>, {kind}, {kind}, {kind}, i32 immarg)"
        )
        whole = self._predicate(width, self.real)
        a, b = (self._opened(value, width, self.real) for value in (x, y))
        c = z if z == "zeroinitializer" else self._opened(z, width, self.real)
        made = self.let(f"call {kind} {name}({whole}, {kind} {c}, {kind} {a}, {kind} {b}, i32 {angle})")
        return self._closed(made, width, self.real)
