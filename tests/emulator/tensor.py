"""What the lanes of a warp do together: fragments, and products of tensor cores.

Layouts are those of the PTX ISA, "Warp Level Matrix Multiply-Accumulate Instructions". Those of wmma are open
there, and here any: elements in the order of rows, as often as they fill the registers.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from tests.emulator.arithmetic import LANES, widened
from tests.emulator.machine import BLOCK, SHARED
from tests.emulator.memory import Array, Fault
from tests.emulator.races import COLLECTIVE

if TYPE_CHECKING:
    from tests.emulator.compiler import Compiler
    from tests.emulator.machine import Operation, Warp
    from tests.emulator.ptx import Instruction

LANE = np.arange(LANES)
R, Q = LANE // 4, LANE % 4
EIGHT = np.arange(8)


def operation(compiler: Compiler, instruction: Instruction, following: int) -> Operation | None:
    """An instruction of this file as an operation, None for others."""
    makers = {
        "mma.sync": _mma,
        "wmma.load": _wmma_load,
        "wmma.mma": _wmma,
        "wmma.store": _wmma_store,
        "ldmatrix.sync": _matrices,
        "stmatrix.sync": _matrices_back,
        "movmatrix.sync": _matrix_turned,
        "shfl.sync": _shuffle,
        "vote.sync": _vote,
        "wgmma.mma_async": _wgmma,
        "wgmma.fence": _nothing,
        "wgmma.commit_group": _nothing,
        "wgmma.wait_group": _nothing,
    }
    make = makers.get(".".join(instruction.opcode.split(".")[:2]))
    if make is None:
        return None
    inner = make(compiler, instruction.opcode.split("."), instruction.operands)

    def together(w: Warp) -> int:
        if not w.together():
            return w.stall()
        inner(w)
        return following

    return together


def _loaded(w: Warp, addresses: Array, shared: bool = True) -> Array:
    """Numbers of 16 bits in shared memory, or in device memory, read by all lanes together."""
    if not shared:
        return w.block.memory.load(addresses, 2)[0]
    numbers: Array = w.cluster.shared.load(addresses, 2)[0]
    w.cluster.watch.loaded(w.epoch, np.full(addresses.shape, COLLECTIVE), addresses, 2)
    return numbers


def _stored(w: Warp, addresses: Array, numbers: Array) -> None:
    """Numbers put into shared memory by all lanes together."""
    w.cluster.shared.store(addresses, numbers.reshape(1, -1))
    together = np.full(addresses.shape, COLLECTIVE)
    w.cluster.watch.stored(w.epoch, w.identity, together, addresses, numbers.itemsize)


def _names(operand: str) -> list[str]:
    return [name.strip() for name in operand.strip("{}").split(",")]


def _nothing(compiler: Compiler, parts: list[str], operands: tuple[str, ...]) -> Operation:
    return lambda w: 0


def _halves(words: list[Array], kind: str) -> Array:
    """Registers of two numbers each as float32: (register, lane, 2)."""
    return np.stack([widened(word.view(np.uint16), kind).reshape(LANES, 2) for word in words])


# ---- vote.sync ------------------------------------------------------------------------------------------


def _vote(compiler: Compiler, parts: list[str], operands: tuple[str, ...]) -> Operation:
    if parts[2] not in ("ballot", "any"):
        raise ValueError(f"not understood: {'.'.join(parts)}")
    read, put = compiler.reader(operands[1], "pred"), compiler.write(operands[0])

    def ballot(w: Warp) -> int:
        bits = int(np.where(read(w), 1 << LANE, 0).sum())
        put(w, np.full(LANES, bits, np.uint32))
        return 0

    def any_(w: Warp) -> int:
        put(w, np.full(LANES, bool(read(w).any())))
        return 0

    return ballot if parts[2] == "ballot" else any_


# ---- mma.sync -------------------------------------------------------------------------------------------


def _rows_of_a(fragments: list[Array], half: bool, kind: str) -> Array:
    """A of a product: (8 or 16 rows, k)."""
    if half:
        # Rows r and r + 8 at k 2q, then at k 2q + 8.
        numbers = _halves(fragments, kind)
        out = np.zeros((16, 4 * len(fragments)), np.float32)
        for i in range(len(fragments)):
            for e in range(2):
                out[R + 8 * (i % 2), 2 * Q + e + 8 * (i // 2)] = numbers[i, :, e]
        return out
    rows = min(2, len(fragments))
    wide = np.zeros((8 * rows, 4 * len(fragments) // rows))
    for i, fragment in enumerate(fragments):
        wide[R + 8 * (i % rows), Q + 4 * (i // rows)] = fragment
    return wide


def _columns_of_b(fragments: list[Array], half: bool, kind: str) -> Array:
    """B of a product: (k, 8)."""
    if half:
        numbers = _halves(fragments, kind)
        out = np.zeros((8 * len(fragments), 8), np.float32)
        for i in range(len(fragments)):
            for e in range(2):
                out[2 * Q + e + 8 * i, R] = numbers[i, :, e]
        return out
    wide = np.zeros((4 * len(fragments), 8))
    for i, fragment in enumerate(fragments):
        wide[Q + 4 * i, R] = fragment
    return wide


def _added(sums: list[Array], product: Array) -> list[Array]:
    """Fragments of C with a product added: row r, columns 2q and 2q + 1; then row r + 8."""
    return [
        (sums[i].astype(product.dtype) + product[R + 8 * (i // 2), 2 * Q + i % 2]).astype(sums[i].dtype)
        for i in range(len(sums))
    ]


def _mma(compiler: Compiler, parts: list[str], operands: tuple[str, ...]) -> Operation:
    kind = parts[-2] if parts[-2] in ("f16", "bf16") else ""
    half, word = bool(kind), "f64" if parts[-2] == "f64" else "u32"
    c_kind = "f64" if word == "f64" else "f32"
    a, b = ([compiler.reader(name, word) for name in _names(operands[i])] for i in (1, 2))
    c = [compiler.reader(name, c_kind) for name in _names(operands[3])]
    puts = [compiler.write(name) for name in _names(operands[0])]

    def fragments(readers: list[Callable[[Warp], Array]], w: Warp) -> list[Array]:
        words = [read(w) for read in readers]
        # Of tf32 the last 13 bits of a float32 are not seen.
        return [(x & 0xFFFFE000).view(np.float32) for x in words] if parts[-2] == "tf32" else words

    def multiply(w: Warp) -> int:
        left = _rows_of_a(fragments(a, w), half, kind).astype(np.float64)
        right = _columns_of_b(fragments(b, w), half, kind).astype(np.float64)
        for put, value in zip(puts, _added([read(w) for read in c], left @ right), strict=True):
            put(w, value)
        return 0

    return multiply


# ---- wgmma ----------------------------------------------------------------------------------------------


class Described:
    """An operand of wgmma in shared memory, by its descriptor: lines of 128 bytes, whose chunks of 16 bytes
    change places by the line. They lie along k, or ``across`` it."""

    def __init__(self, w: Warp, at: int, across: bool, kind: str):
        self.w, self.across, self.kind = w, across, kind
        self.start, self.leading, self.stride = ((at >> shift & 0x3FFF) << 4 for shift in (0, 16, 32))
        # Descriptors have addresses within a block.
        self.start += w.block.rank * BLOCK
        if at >> 62 != 1:
            raise Fault("wgmma reads lines of 128 bytes")

    def rows(self, first: int, count: int) -> Array:
        """So many rows (of B: columns) of 32 bytes along k: 16 numbers of 16 bits, or 8 of tf32."""
        size = 4 if self.kind == "tf32" else 2
        row, k = first + np.arange(count)[:, None], np.arange(32 // size)
        if self.across:
            at = row // 64 * self.leading + k // 8 * self.stride + k % 8 * 128 + row % 64 * 2
        else:
            at = row // 8 * self.stride + row % 8 * 128 + size * k
        linear = self.start + at
        self.w.cluster.watch.multiplied(np.unique(linear >> 7) << 7, 128)
        numbers = self.w.cluster.shared.load((linear ^ (linear >> 7 & 7) << 4).ravel(), size)[0]
        if size == 4:
            # The last 13 bits of a float32 are not seen.
            return (numbers & 0xFFFFE000).view(np.float32).astype(np.float64).reshape(linear.shape)
        return widened(numbers, self.kind).astype(np.float64).reshape(linear.shape)


def _wgmma(compiler: Compiler, parts: list[str], operands: tuple[str, ...]) -> Operation:
    """A from registers, 16 rows of each warp, or from shared memory; B from shared memory. Where a predicate
    says so nothing is added to C. The product is made at once: its own waits are not seen."""
    kind = parts[-1]
    names = _names(operands[0])
    puts, c = [compiler.write(name) for name in names], [compiler.reader(name, "f32") for name in names]
    shared = not operands[1].startswith("{")
    a = [compiler.reader(name, "u64" if shared else "u32") for name in _names(operands[1])]
    where, adds = compiler.reader(operands[2], "u64"), compiler.reader(operands[3], "pred")
    # Of tf32 nothing lies across k, and nothing says so: the last operands are signs.
    across_a = shared and kind != "tf32" and operands[-2] == "1"
    across_b = kind != "tf32" and operands[-1] == "1"

    def multiply(w: Warp) -> int:
        right = Described(w, int(where(w)[0]), across_b, kind)
        if shared:
            left = Described(w, int(a[0](w)[0]), across_a, kind).rows(16 * (w.number % 4), 16)
        elif kind == "tf32":
            left = _rows_of_a([(read(w) & 0xFFFFE000).view(np.float32) for read in a], False, kind)
            left = left.astype(np.float64)
        else:
            left = _rows_of_a([read(w) for read in a], True, kind).astype(np.float64)
        add = bool(adds(w)[0])
        for block in range(len(names) // 4):
            some = slice(4 * block, 4 * block + 4)
            sums = [read(w) if add else np.zeros(LANES, np.float32) for read in c[some]]
            for put, value in zip(puts[some], _added(sums, left @ right.rows(8 * block, 8).T), strict=True):
                put(w, value)
        return 0

    return multiply


# ---- ldmatrix, stmatrix, shuffles -----------------------------------------------------------------------


def _eights(operand_count: int, rows: Array) -> Array:
    """Addresses of the 8 x 8 numbers of some matrices: (matrix, row, column)."""
    return rows[: 8 * operand_count].reshape(operand_count, 8, 1) + 2 * EIGHT


def _whole_rows(rows: Array, count: int) -> Array:
    if (rows[: 8 * count] % 16).any():
        raise Fault("a row of a matrix is not aligned to 16 bytes")
    return rows


def _matrices(compiler: Compiler, parts: list[str], operands: tuple[str, ...]) -> Operation:
    puts, address = [compiler.write(name) for name in _names(operands[0])], compiler.address(operands[1])

    def load(w: Warp) -> int:
        at = _eights(len(puts), _whole_rows(address(w), len(puts)))
        found = _loaded(w, at.ravel()).reshape(at.shape)
        for put, matrix in zip(puts, found, strict=True):
            put(w, _as_words(matrix.T if "trans" in parts else matrix))
        return 0

    return load


def _as_words(matrix: Array) -> Array:
    """Columns 2q and 2q + 1 of row r of 8 x 8 numbers."""
    return matrix[R, 2 * Q].astype(np.uint32) | matrix[R, 2 * Q + 1].astype(np.uint32) << np.uint32(16)


def _from_words(word: Array) -> Array:
    out = np.zeros((8, 8), np.uint16)
    out[R, 2 * Q], out[R, 2 * Q + 1] = word.astype(np.uint16), (word >> np.uint32(16)).astype(np.uint16)
    return out


def _matrices_back(compiler: Compiler, parts: list[str], operands: tuple[str, ...]) -> Operation:
    address, reads = (
        compiler.address(operands[0]),
        [compiler.reader(name, "u32") for name in _names(operands[1])],
    )

    def store(w: Warp) -> int:
        at = _eights(len(reads), _whole_rows(address(w), len(reads)))
        for place, read in zip(at, reads, strict=True):
            matrix = _from_words(read(w))
            _stored(w, place.ravel(), matrix.T if "trans" in parts else matrix)
        return 0

    return store


def _matrix_turned(compiler: Compiler, parts: list[str], operands: tuple[str, ...]) -> Operation:
    put, read = compiler.write(operands[0]), compiler.reader(operands[1], "u32")

    def turn(w: Warp) -> int:
        put(w, _as_words(_from_words(read(w)).T))
        return 0

    return turn


def _shuffle(compiler: Compiler, parts: list[str], operands: tuple[str, ...]) -> Operation:
    to, *_ = operands[0].split("|")
    put, value, by, bounds = (
        compiler.write(to),
        compiler.reader(operands[1], "u32"),
        compiler.reader(operands[2], "u32"),
        compiler.reader(operands[3], "u32"),
    )

    def shuffle(w: Warp) -> int:
        # A warp in segments, as the PTX ISA has it: which bits of a lane say the segment, and its last lane.
        other, apart = by(w).astype(int), bounds(w).astype(int) >> 8 & 31
        last = LANE & apart | bounds(w).astype(int) & 31 & ~apart
        source = {
            "idx": LANE & apart | other & ~apart & 31,
            "bfly": LANE ^ other,
            "down": LANE + other,
            "up": LANE - other,
        }[parts[2]]
        inside = source >= last if parts[2] == "up" else source <= last
        put(w, np.where(inside, value(w)[source % LANES], value(w)))
        return 0

    return shuffle


# ---- wmma -----------------------------------------------------------------------------------------------


def _shape(parts: list[str]) -> tuple[int, int, int]:
    found = next(
        re.fullmatch(r"m(\d+)n(\d+)k(\d+)", part) for part in parts if re.fullmatch(r"m\d+n\d+k\d+", part)
    )
    assert found is not None
    m, n, k = (int(size) for size in found.groups())
    return m, n, k


def _dealt(count: int, registers: int, each: int) -> Array:
    """Which element of a matrix is at (register, lane, place) of a fragment."""
    lane, register, place = LANE[None, :, None], np.arange(registers)[:, None, None], np.arange(each)
    return ((lane * registers + register) * each + place) % count


def _wmma_load(compiler: Compiler, parts: list[str], operands: tuple[str, ...]) -> Operation:
    puts, address = [compiler.write(name) for name in _names(operands[0])], compiler.address(operands[1])
    pitch = compiler.reader(operands[2], "u32")
    m, n, k = _shape(parts)
    rows, columns = (m, k) if parts[2] == "a" else (k, n)
    which = _dealt(rows * columns, len(puts), 2)
    row, column = which // columns, which % columns

    def load(w: Warp) -> int:
        start, step = int(address(w)[0]), int(pitch(w)[0])
        if start % 32 or 2 * step % 16:
            raise Fault("a fragment of wmma begins at a multiple of 32 bytes, columns at multiples of 16")
        # An address of no space says itself where it belongs.
        generic = "shared" not in parts and start >= SHARED
        at = start - generic * SHARED + 2 * (row * step + column if "row" in parts else column * step + row)
        numbers = _loaded(w, at.ravel(), generic or "shared" in parts).reshape(at.shape)
        for put, pair in zip(puts, numbers, strict=True):
            put(w, np.ascontiguousarray(pair).view(np.uint32)[:, 0])
        return 0

    return load


def _fragment(words: list[Array], rows: int, columns: int, kind: str) -> Array:
    out = np.zeros(rows * columns)
    out[_dealt(rows * columns, len(words), 2)] = _halves(words, kind)
    return out.reshape(rows, columns)


def _wmma(compiler: Compiler, parts: list[str], operands: tuple[str, ...]) -> Operation:
    kind = "bf16" if "bf16" in parts else "f16"
    m, n, k = _shape(parts)
    puts = [compiler.write(name) for name in _names(operands[0])]
    a, b = ([compiler.reader(name, "u32") for name in _names(operands[i])] for i in (1, 2))
    c = [compiler.reader(name, "f32") for name in _names(operands[3])]
    which = _dealt(m * n, len(c), 1)[..., 0]

    def multiply(w: Warp) -> int:
        product = _fragment([read(w) for read in a], m, k, kind) @ _fragment(
            [read(w) for read in b], k, n, kind
        )
        for i, (put, read) in enumerate(zip(puts, c, strict=True)):
            put(w, (read(w) + product.ravel()[which[i]]).astype(np.float32))
        return 0

    return multiply


def _wmma_store(compiler: Compiler, parts: list[str], operands: tuple[str, ...]) -> Operation:
    address, pitch = compiler.address(operands[0]), compiler.reader(operands[2], "u32")
    c = [compiler.reader(name, "u32") for name in _names(operands[1])]
    m, n, _ = _shape(parts)
    which = _dealt(m * n, len(c), 1)[..., 0]

    def store(w: Warp) -> int:
        start, step, row, column = int(address(w)[0]), int(pitch(w)[0]), which // n, which % n
        at = start - (start >= SHARED) * SHARED
        at = at + 4 * (row * step + column if "row" in parts else column * step + row)
        _stored(w, at.ravel(), np.stack([read(w) for read in c]))
        return 0

    return store
