"""What tiny.cuh derives from a problem and a config, in the same words: layouts, shared memory, registers.

Sizes are in elements, shared memory in bytes. Functions on configs work on numbers and on NumPy arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations
from math import gcd
from typing import Any

import numpy as np

from tilewright.model import Problem
from tilewright.stencils.cuda.common import WIDEST, outer_steps, units

PATHS = ("plain", "async", "bulk")
LARGEST = 64
"""Extent up to which whole matrices are kept in shared memory, whatever brings them."""
LONG = 640
"""The same of one extent where bulk copies bring them."""
SECTOR = 32
"""Bytes that memory writes at once."""
BANKS = 128
"""Bytes of all banks of shared memory."""
KEPT = 16 * 1024
"""Bytes up to which operands that all runs have stay in shared memory."""
PER_SM = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 20, 24, 32)
LONGEST = 128 * 1024
"""Bytes from one matrix to the next up to which they are constants of the compiler."""
RUN = 256
"""Bytes of A, B and C of a run along the innermost batch axis from which on bulk copies are worth it."""
PIECES = 16
"""Runs of C that a group has, at most: a thread asks for each."""
ASKING = 32
"""Threads of a tile of two axes that ask for runs, at most."""
SHORT_RUN = 4096
"""Bytes of C of a run below which several runs that lie next to each other are one."""
ALONG = 1024
"""Bytes of a run along the outer axis of a tile that are enough."""
SHARING = 8
"""Positions along the outer axis of a tile along which an operand with gaps is shared, at most."""
TOGETHER = 16384
"""Bytes of C of a run along it there, at most."""
ALONE = 256
"""Bytes of a matrix from which on it is worth a bulk copy of its own."""
SEVERAL = (1, 2, 3, 4)
"""Products of a thread that have one A or one B."""
STACKED = 8
"""The same of a warp with tensor cores of 16 bits: one column of each fills a fragment."""
PAIRED = 16
"""Elements of matrices of 16 bits, at most, of which a thread has two neighbouring products."""
HELD_WORDS = 81
"""Elements of an odd A of 16 bits, at most, that a thread reads by words and keeps widened."""
AT_ONCE = 3
"""Columns that it then takes at a time where they divide its own."""
COUNTS = (*range(1, 9), *(b * 2**s for s in range(1, 7) for b in (5, 6, 7, 8)))


def _rounded(count: Any) -> Any:
    return -(-count // 128) * 128


def vector(size: int, extent: int) -> int:
    """Elements of the widest word that divides a column."""
    v = WIDEST // size
    while v > 1 and extent % v:
        v //= 2
    return v


def listed(p: Problem) -> bool:
    """Whether a group's matrices are found one by one: by addresses of an array, or by several batch axes."""
    return p.pointers or bool(p.outer)


def held(p: Problem) -> tuple[bool, bool, bool]:
    """Whether A, B and C are shared along the innermost batch axis, but not by the whole batch."""
    a, b, c = (moves and not stride for moves, stride in zip(p.moves, p.strides, strict=True))
    return a, b, c


def words(p: Problem) -> tuple[int, int, int]:
    """Bytes, at most 16, that divide the addresses from which words may be read: those of columns, or, of a
    batch with several axes whose matrices have no padding, those of matrices."""
    if not p.outer:
        return units(p)
    size = p.dtype.itemsize
    a, b, c = (
        gcd(WIDEST, p.align, *(step * size for step in (stride, *outer))) if tight else unit
        for unit, tight, stride, outer in zip(units(p), flat(p), p.strides, outer_steps(p), strict=True)
    )
    return a, b, c


def flat(p: Problem) -> tuple[bool, bool, bool]:
    """Whether the batches of A, B and C have no gaps; where matrices lie anywhere, or along several axes,
    whether they have none themselves."""
    a, b, c = (
        ld == rows and (stride == rows * cols or listed(p))
        for (rows, cols), ld, stride in zip(p.stored, (p.lda, p.ldb, p.ldc), p.strides, strict=True)
    )
    return a, b, c


@lru_cache(maxsize=256)
def spaced(p: Problem) -> tuple[tuple[int, int], tuple[int, int], tuple[int, int]]:
    """Leading dimension and batch stride of A, B and C as constants of the compiler: where there is padding
    in a rhythm, else (0, 0). With pointers, and along several axes, there is no stride."""

    def known(rows: int, cols: int, ld: int, stride: int, is_flat: bool, moves: bool) -> tuple[int, int]:
        extent = ld * (cols - 1) + rows
        far = extent if p.outer else max(extent, stride)
        if is_flat or not moves or far * p.dtype.itemsize > LONGEST or ld < rows:
            return 0, 0
        if listed(p):
            return ld, 0
        return (ld, stride) if stride >= extent else (0, 0)

    a, b, c = (
        known(rows, cols, ld or 0, stride, is_flat, moves)
        for (rows, cols), ld, stride, is_flat, moves in zip(
            p.stored, (p.lda, p.ldb, p.ldc), p.strides, flat(p), p.moves, strict=True
        )
    )
    return a, b, c


@lru_cache(maxsize=256)
def steps(p: Problem) -> tuple[int, int, int]:
    """Elements from one matrix of A, B and C to the next where bulk copies bring them, 0 for shared ones."""
    a, b, c = (
        0 if stride == 0 else step or rows * cols
        for (rows, cols), stride, (_, step) in zip(p.stored, p.strides, spaced(p), strict=True)
    )
    return a, b, c


def whole(p: Problem) -> int:
    """Fewest matrices that are a multiple of 16 bytes of each operand that is not shared; along several axes
    bulk copies take any number."""
    if p.outer:
        return 1
    return max(WIDEST // gcd(WIDEST, step * p.dtype.itemsize) for step in (*steps(p), WIDEST) if step)


def partly(p: Problem) -> bool:
    """Whether bulk copies read a C that the product does not need, because sectors of 32 bytes are written
    in part, which memory cannot do. On an H200 this made half precision 15 % faster and float32 5 %, but
    float64, which is written by longer words, 4 to 10 % slower."""
    lead, step = spaced(p)[2]
    short = p.beta == "0" and lead > 0 and units(p)[2] <= 4
    return short and any(x * p.dtype.itemsize % 32 for x in (p.m, lead, step))


@dataclass(frozen=True, slots=True)
class Tile:
    """A group that is a tile of the innermost batch axis and an outer one, for bulk copies.

    ``axis`` is its number in ``Problem.outer``, ``extent`` the axis's, ``along`` the positions along it that
    a tile has, 0 where it has as many whole runs as the group is large; ``run`` are the products of a run.
    ``turned``: whether the runs of A, B and C lie along the outer axis. ``inner`` and ``outer``: whether A, B
    and C go on along each axis. ``adjacent``: whether their runs lie next to each other.
    """

    axis: int
    extent: int
    along: int
    run: int
    turned: tuple[bool, bool, bool]
    inner: tuple[bool, bool, bool]
    outer: tuple[bool, bool, bool]
    adjacent: tuple[bool, bool, bool]

    def sides(self, group: Any) -> tuple[Any, Any]:
        """Positions along the outer axis, and along the inner one."""
        if self.along:
            return self.along, np.maximum(group // self.along, 1)
        return np.maximum(group // self.run, 1), self.run

    def joined(self, which: int, group: Any) -> Any:
        """Whether the runs of an operand are one."""
        return self.adjacent[which] & np.equal(self.sides(group)[1], self.run)

    def runs(self, which: int, group: Any) -> tuple[Any, Any]:
        """How many runs a tile has of an operand, and matrices of a run."""
        along, piece = self.sides(group)
        inner, outer = piece if self.inner[which] else 1, along if self.outer[which] else 1
        count, length = (inner, outer) if self.turned[which] else (outer, inner)
        joined = self.joined(which, group)
        return np.where(joined, 1, count), np.where(joined, count * length, length)

    def asking(self, group: Any) -> Any:
        """Threads that ask for runs."""
        a, b, c = (self.runs(which, group)[0] for which in range(3))
        return np.maximum(np.maximum(a, b), c)


@lru_cache(maxsize=256)
def tile(p: Problem) -> Tile | None:
    """The tile of a batch along several axes of which an operand has gaps between the matrices of a run, but
    none along another axis, or whose runs are short and lie next to each other in C; None for others. Large
    matrices come one by one, wherever they lie."""
    if not p.outer or p.pointers:
        return None
    sizes = [rows * cols for rows, cols in p.stored]
    size = p.dtype.itemsize
    loose = [
        moves and stride not in (0, room)
        for moves, stride, room in zip(p.moves, p.strides, sizes, strict=True)
    ]
    tight = all(is_flat or not moves for is_flat, moves in zip(flat(p), p.moves, strict=True))
    if not tight or loose[2]:
        return None
    if not any(loose):
        if stacks(p) and (axis := _shared_axis(p)) is not None:
            extent = p.outer[axis][0]
            return _tile_of(p, axis, -(-extent // -(-extent // STACKED)), (False, False, False))
        extent, *outer = p.outer[-1]
        short = outer[2] == p.batch * p.strides[2] and p.batch * sizes[2] * size < SHORT_RUN
        if not short or any(_few(p)):
            return None
        turned = [step == room != stride for room, step, stride in zip(sizes, outer, p.strides, strict=True)]
        return _tile_of(p, len(p.outer) - 1, 0, turned)
    # The axis along which what is loose has no gaps, or, next best, is shared: each of its matrices is a run.
    largest = max(sizes) * size
    for shared in (False, True):
        for axis in sorted(range(len(p.outer)), key=lambda at: (-p.outer[at][0], -at)):
            extent, *outer = p.outer[axis]
            turned = [
                step == room != stride or (shared and gaps and not step)
                for room, step, stride, gaps in zip(sizes, outer, p.strides, loose, strict=True)
            ]
            if all(turns or not gaps for turns, gaps in zip(turned, loose, strict=True)):
                most = min(SHARING, TOGETHER // largest) if shared else min(PIECES, -(-ALONG // largest))
                return _tile_of(p, axis, -(-extent // -(-extent // max(1, most))), turned)
    if min(room for room, gaps in zip(sizes, loose, strict=True) if gaps) * size < ALONE:
        return None
    return _tile_of(p, len(p.outer) - 1, 1, loose)


def _shared_axis(p: Problem) -> int | None:
    """The longest axis along which A or B is shared, where neither is along the innermost one."""
    if not all(p.strides[:2]):
        return None
    found = [
        (extent, axis)
        for axis, (extent, a, b, _) in enumerate(p.outer)
        if (not a and p.moves[0]) != (not b and p.moves[1])
    ]
    return max(found)[1] if found else None


def stacks(p: Problem) -> bool:
    """Whether what tensor cores take of one product is bad: odd matrices of 16 bits."""
    odd = any(extent % 2 for extent in p.extents)
    real = p.dtype.real_bits == 16 and not p.dtype.is_complex
    return real and odd and min(p.extents) >= 5 and max(p.extents) <= 32


def _tile_of(p: Problem, axis: int, along: int, turned: Sequence[bool]) -> Tile:
    extent, *outer = p.outer[axis]
    adjacent = [
        not turns and bool(stride) and step == p.batch * stride
        for turns, stride, step in zip(turned, p.strides, outer, strict=True)
    ]
    moving = ([bool(step) for step in some] for some in (p.strides, outer))
    return Tile(axis, extent, along, p.batch, *map(_three, (turned, *moving, adjacent)))


def _three(values: Sequence[bool]) -> tuple[bool, bool, bool]:
    a, b, c = values
    return a, b, c


def taken(p: Problem) -> tuple[float, float, float]:
    """Bytes that one matrix of A, B and C takes from memory, which comes 64 at a time: the mean over where
    columns begin. (On an H200 columns of 32 bytes, 64 apart, come at half the speed of a copy.)"""

    def of(rows: int, cols: int, ld: int, stride: int, outer: list[int], is_flat: bool) -> float:
        size = p.dtype.itemsize
        if is_flat:
            return float(rows * cols * size)
        # Memory is given out at multiples of 64 and more.
        apart = (step * size for step in (stride, *outer))
        unit = gcd(64, ld * size, *apart, p.align if p.align < WIDEST else 0)
        column = sum(-(-(start + rows * size) // 64) for start in range(0, 64, unit)) * unit
        most = ld * cols if p.outer else max(stride, rows * cols)
        return float(min(most * size, cols * column))

    a, b, c = (
        of(rows, cols, ld or 0, stride, outer, is_flat) if moves else 0.0
        for (rows, cols), ld, stride, outer, is_flat, moves in zip(
            p.stored, (p.lda, p.ldb, p.ldc), p.strides, outer_steps(p), flat(p), p.moves, strict=True
        )
    )
    return a, b, c


def stage_bytes(p: Problem, group: Any, pad: Any, path: Any = "async") -> Any:
    """Bytes of a stage: a group of every operand that is read and not shared, with bulk copies as it lies in
    memory."""
    return _staged(p, _chunks(p, group, pad, path), path)


def _staged(p: Problem, sizes: tuple[Any, Any, Any], path: Any) -> Any:
    """The same of the bytes of a group of each operand."""
    bulk, reads = 1 * (path == "bulk"), (True, True, p.beta != "0")
    return sum(
        chunk * (1 - bulk) if stays else chunk
        for chunk, moves, stays, read in zip(sizes, p.moves, kept(p), reads, strict=True)
        if moves and read
    )


def moved_bytes(p: Problem, group: Any, pad: Any, path: Any) -> Any:
    """What speaks for a stage: its bytes. Where operands stay hardly anything may be read, and what is
    written counts, too."""
    written = _chunks(p, group, pad, path)[2] if any(kept(p)) and p.beta == "0" else 0
    return stage_bytes(p, group, pad, path) + written * (path == "bulk")


def flying_bytes(p: Problem, group: Any, pad: Any, path: Any) -> Any:
    """What a stage has on its way: what is moved, and along several axes, where operands may be shared along
    one, what is written."""
    if not p.outer or any(kept(p)) or p.beta != "0":
        return moved_bytes(p, group, pad, path)
    return stage_bytes(p, group, pad, path) + _chunks(p, group, pad, path)[2] * (path == "bulk")


def pieces(p: Problem, group: Any) -> tuple[Any, Any]:
    """How many pieces of runs along the innermost of several axes bulk copies bring as a group, and the most
    products of a piece: one of a long run, several whole runs, or those of a tile."""
    if not p.outer:
        return 1, group
    found = tile(p)
    if found is not None:
        return found.sides(group)
    return np.maximum(group // p.batch, 1), np.minimum(group, p.batch)


def kept(p: Problem) -> tuple[bool, bool, bool]:
    """Whether all runs along the innermost of several axes have the same A (or B), so few of them that bulk
    copies are spared: they stay in shared memory. Else all SMs would ask for the same lines at a time."""
    a, b = _few(p) if p.outer and tile(p) is None else (False, False)
    return a, b, False


def _few(p: Problem) -> tuple[bool, bool]:
    a, b = (
        bool(p.outer and stride == rows * cols and ld == rows)
        and not any(outer)
        and p.batch * stride * p.dtype.itemsize <= KEPT
        for (rows, cols), ld, stride, outer in zip(
            p.stored[:2], (p.lda, p.ldb), p.strides[:2], outer_steps(p)[:2], strict=True
        )
    )
    return a, b


def skewed(p: Problem) -> tuple[bool, bool, bool]:
    """Whether the matrices of A, B and C of a batch along several axes have no padding, and begin or end
    between multiples of 16 bytes. They then lie in shared memory as far behind such a multiple."""
    if not p.outer:
        return False, False, False
    a, b, c = (
        moves and tight and (word < WIDEST or rows * cols * p.dtype.itemsize % WIDEST != 0)
        for (rows, cols), moves, tight, word in zip(p.stored, p.moves, flat(p), words(p), strict=True)
    )
    return a, b, c


def spread(size: Any) -> Any:
    """An odd number of vectors, of which the runs of a tile begin in different banks: so many or one more."""
    return size + WIDEST * (size // WIDEST % 2 == 0)


def room(size: Any, odd: bool) -> Any:
    """Bytes of shared memory for so many: whole vectors, and one more where they begin anywhere."""
    return -(-size // WIDEST) * WIDEST + WIDEST * odd


def room_out(p: Problem, size: Any) -> Any:
    """The same for so many of C, which begin as far behind a multiple of 32 bytes as in device memory."""
    rows, cols = p.stored[2]
    shifted = skewed(p)[2] or rows * cols * p.dtype.itemsize % SECTOR != 0
    return -(-size // WIDEST) * WIDEST + SECTOR * shifted


def _chunks(p: Problem, group: Any, pad: Any, path: Any) -> tuple[Any, Any, Any]:
    size, bulk = p.dtype.itemsize, 1 * (path == "bulk")
    count, piece = pieces(p, group)
    tiled = tile(p)

    def brought(which: int, matrix: int, step: int, moves: bool, once: bool, odd: bool, stays: bool) -> Any:
        """Bytes of an operand in a stage of bulk copies, or of what stays."""
        if not moves or stays:
            return (p.batch if stays else 1) * matrix * size
        if not p.outer:
            return group * (step or matrix) * size
        if tiled is not None:
            runs, length = tiled.runs(which, group)
            bytes_of_run = length * matrix * size
            return runs * spread(room_out(p, bytes_of_run) if which == 2 else room(bytes_of_run, odd))
        bytes_of_piece = (1 if once else piece) * matrix * size
        return count * (room_out(p, bytes_of_piece) if which == 2 else room(bytes_of_piece, odd))

    def word_by_word(rows: int, cols: int, moves: bool, odd: bool) -> Any:
        """The same of copies by words, which leave a matrix where it begins, but for C and what has gaps."""
        plain = (rows + pad * vector(size, rows)) * cols * size
        each = plain if not odd else pad * plain + (1 - pad) * room(rows * cols * size, True)
        return (group if moves else 1) * each

    a, b, c = (
        _rounded(
            bulk * brought(which, rows * cols, step, moves, once, odd, stays)
            + (1 - bulk) * word_by_word(rows, cols, moves, odd and which < 2)
        )
        for which, (rows, cols), moves, once, odd, stays, step in zip(
            range(3), p.stored, p.moves, held(p), skewed(p), kept(p), steps(p), strict=True
        )
    )
    return a, b, c


def shared_bytes(p: Problem, path: Any, group: Any, stages: Any, pad: Any, direct: Any = 0) -> Any:
    """Shared memory of a block: barriers (and what is known of pieces), what the batch shares, the ring,
    results on their way out (and a C that nobody looks at), and, of matrices found one by one, the addresses
    of the groups to come."""
    chunks = a, b, c = _chunks(p, group, pad, path)
    bulk, plain = path == "bulk", path == "plain"
    once = sum(
        chunk * bulk if stays else chunk * (not moves)
        for chunk, moves, stays in zip((a, b), p.moves, kept(p), strict=False)
    )
    outs = c * ((2 * (1 - direct) + partly(p)) * bulk + (1 - bulk) * (p.beta == "0"))
    lists = (2 * stages - 1) * 24 * group * listed(p) * (1 - bulk)
    ring = stages * _staged(p, chunks, path)
    known = 16 * (stages + 1) * asking(p, group) * bool(p.outer)
    return (_rounded(8 * stages + known) * bulk + once + ring + outs + lists) * (1 - plain)


def asking(p: Problem, group: Any) -> Any:
    """Threads that ask for the runs of a group."""
    found = tile(p)
    return pieces(p, group)[0] if found is None else found.asking(group)


def rounds(p: Problem, group: Any, path: Any) -> Any:
    """Groups of a batch, those of bulk copies in pieces of runs or in tiles."""
    if path == "bulk" and p.outer:
        count, piece = pieces(p, group)
        found = tile(p)
        if found is not None:
            others = p.products // p.batch // found.extent
            return others * -(-p.batch // piece) * -(-found.extent // count)
        return -(-(p.products // p.batch * -(-p.batch // piece)) // count)
    return -(-p.products // group)


@lru_cache(maxsize=4096)
def walked(p: Problem, group: int) -> tuple[tuple[int, ...], tuple[float, float]]:
    """How a block walks over neighbouring groups of bulk copies, and the part of A and of B that it then asks
    for. Axes are numbers, the quickest first: 0 are the pieces of a run, 1 is the outer axis of a tile, or
    the innermost of the outer ones, 2 the next one outwards. Of all orders the one that asks for the fewest
    bytes, and of equal ones the nearest to that of C."""
    found, (count, piece) = tile(p), (int(side) for side in pieces(p, group))
    others = list(p.outer)
    inward = [others.pop(found.axis if found is not None else -1), *others[::-1]]
    extents = [-(-p.batch // piece), *(extent for extent, *_ in inward)]
    if found is not None:
        extents[1] = -(-extents[1] // count)
    asked = [(operand and not stays) for operand, stays in zip(p.moves[:2], kept(p), strict=False)]
    # Elements of each operand that a group has, and whether it goes on along each axis.
    elements = [
        float(np.prod(found.runs(which, group)) if found is not None else count * (piece if stride else 1))
        * rows
        * cols
        for which, ((rows, cols), stride) in enumerate(zip(p.stored[:2], p.strides[:2], strict=True))
    ]
    goes = [
        [bool(stride), *(bool(axis[1 + which]) for axis in inward)]
        for which, stride in enumerate(p.strides[:2])
    ]
    # A thread asks for every so many-th piece.
    apart = count if found is None else 1

    def parts(order: tuple[int, ...]) -> tuple[float, float]:
        out = []
        for which in range(2):
            same = 1
            for axis in order:
                if goes[which][axis] and extents[axis] > 1:
                    break
                same *= extents[axis]
            out.append(min(1.0, apart / same))
        return out[0], out[1]

    def bytes_of(order: tuple[int, ...]) -> float:
        return sum(
            part * size for part, size, wanted in zip(parts(order), elements, asked, strict=True) if wanted
        )

    order = min(permutations(range(len(extents))), key=bytes_of)
    return order, parts(order)


def part_asked(p: Problem, group: Any) -> Any:
    """The part of the bytes of A and B that is asked for with `reuse`."""

    def of(number: int) -> float:
        _, parts = walked(p, number)
        sizes = _chunks(p, number, 0, "bulk")
        some = [
            (float(size), part)
            for size, part, moves, stays in zip(sizes, parts, p.moves, kept(p), strict=False)
            if moves and not stays
        ]
        whole = sum(size for size, _ in some)
        return sum(size * part for size, part in some) / whole if whole else 1.0

    numbers, where = np.unique(group, return_inverse=True)
    return np.array([of(int(number)) for number in numbers])[where].reshape(np.shape(group))


def tiles(p: Problem, rows: Any, columns: Any) -> Any:
    """Tiles of one C."""
    return -(-p.m // rows) * -(-p.n // columns)


def words_of_sum(p: Problem) -> int:
    """32-bit registers of a sum."""
    return max(p.dtype.real_bits // 32, 1) * (2 if p.dtype.is_complex else 1)


def registers(p: Problem, mma: Any, rows: Any, columns: Any, several: Any = 1, odd: Any = 0) -> Any:
    """32-bit registers of a thread that its loop cannot do without: sums and one word of each of its rows and
    columns, or its share of a warp's, and a few for addresses; of ``odd`` matrices all of A and the sums of a
    few columns."""
    words, deep = words_of_sum(p), WIDEST // p.dtype.itemsize
    along_k = vector(p.dtype.itemsize, p.k)
    fma = (
        rows * columns * several
        + rows * (along_k if p.transposed_a else 1)
        + columns * (1 if p.transposed_b else along_k)
    )
    if p.dtype.real_bits == 16:
        tensor = words * rows * columns // 32 + (2 * rows + 2 * columns) // 8
        whole = 12 + p.m * p.k + AT_ONCE * p.m
        return (24 + (mma == 0) * words * fma + (mma != 0) * tensor) * (odd == 0) + whole * (odd != 0)
    tensor = rows * columns // 32 + (rows + columns) // 8 * deep
    return 24 + words * ((mma == 0) * fma + (mma != 0) * tensor)


@lru_cache(maxsize=256)
def meeting(p: Problem) -> tuple[bool, bool, bool]:
    """Where lanes of float64 tensor cores that ask for fragments in one order meet in the banks of shared
    memory, as stored columns are multiples of all banks apart: along the rows of A and along the columns of
    B, where tiles of two fragments or more mend it, and along k. (fragments_f64.cuh says the same.)"""
    if p.dtype.real_bits != 64:
        return False, False, False
    size, pair = p.dtype.itemsize, WIDEST // p.dtype.itemsize
    along_k = (p.transposed_a, not p.transposed_b)
    deep = pair if any(along_k) and p.k % pair == 0 and (p.k % 8 == 0 or p.k % 8 > 4) else 1
    even = -(-p.k // (4 * deep)) % 2 == 0
    a, b = (
        (lead or rows) * size * (1 if along else deep) % BANKS == 0
        for along, (rows, _), (lead, _) in zip(along_k, p.stored, spaced(p), strict=False)
    )
    return a and not along_k[0], b and not along_k[1], even and ((a and along_k[0]) or (b and along_k[1]))


def turning(p: Problem, rows: Any, columns: Any) -> Any:
    """Whether tiles of float64 tensor cores have lanes that meet in banks and may take turns there."""
    in_a, in_b, along_k = meeting(p)
    return along_k | (in_a & (rows % 16 == 0)) | (in_b & (columns % 16 == 0))


def shares(p: Problem) -> bool:
    """Whether a thread finds products of one A or one B in a group that bulk copies bring along several
    axes."""
    found = tile(p) if p.outer else None
    if found is not None:
        return not all((*found.inner[:2], *found.outer[:2]))
    return bool(p.outer) and (any(held(p)) or not all(p.moves))


def pairs(p: Problem) -> bool:
    """Whether two products of a thread are neighbours along the innermost of several axes, which it reads by
    words: tiny odd matrices of 16 bits. (On an H200 those of order 4, which vectors divide, were slower.)"""
    tiny = max(p.m * p.k, p.k * p.n, p.m * p.n) <= PAIRED and p.m * p.n * p.k % 2 == 1
    return bool(p.outer) and p.dtype.real_bits == 16 and not p.dtype.is_complex and tiny


def odds(p: Problem) -> bool:
    """Whether a thread may read matrices by words, in the middle of which they begin: odd ones of 16 bits
    without padding, B along k, and an A that its registers hold. (Smaller ones are read in pairs.)"""
    real = p.dtype.real_bits == 16 and not p.dtype.is_complex and not p.transposed_b
    packed = p.lda == p.stored[0][0] and p.ldb == p.stored[1][0] and p.ldc == p.m
    return real and packed and p.m * p.n * p.k % 2 == 1 and PAIRED < p.m * p.k <= HELD_WORDS


def by_along(p: Problem, several: Any) -> Any:
    """Whether the products of a thread or a warp lie along the second axis of a tile: where one operand is
    shared along it; but pairs, and those of a warp, are neighbours in a run."""
    found = tile(p) if p.outer else None
    if found is None or all(found.outer[:2]):
        return np.equal(several, 0)
    return ~((pairs(p) & np.equal(several, 2)) | np.equal(several, STACKED))


def eights(p: Problem) -> bool:
    """Whether eight neighbours in a run share an operand, of 16 bits and real."""
    if not p.outer or p.dtype.real_bits != 16 or p.dtype.is_complex:
        return False
    found = tile(p)
    turned = found.turned if found is not None else (False, False, False)
    a, b = (not stride for stride in p.strides[:2])
    return (a and not turned[1]) or (b and not turned[0])


def items(p: Problem, rows: Any, columns: Any, group: Any, several: Any = 1) -> Any:
    """Tiles of a group, those that a thread has of several products with one operand counted once."""
    along, piece = pieces(p, group)
    outer = piece * -(-along // several)
    units = np.where(by_along(p, several), outer, along * -(-piece // several))
    return np.where(np.equal(several, 1), group, units) * tiles(p, rows, columns)


def busy(p: Problem, mma: Any, rows: Any, columns: Any, warps: Any, group: Any, several: Any = 1) -> Any:
    """The part of the threads (or warps) that have a tile while a group is multiplied."""
    slots = warps * (1 * (mma != 0) + 32 * (mma == 0))
    count = items(p, rows, columns, group, several)
    return count / (-(-count // slots) * slots)
