"""The list of grouped.cuh: what says of every product where its matrices lie and how they are copied, in
which order products come, and the argument that the kernel is called with.

Sizes are in elements, places in shared memory in bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tilewright.model import DType
from tilewright.stencils.cuda.grouped.needs import LINE, reach
from tilewright.targets.cuda import arguments
from tilewright.targets.cuda.arguments import Argument, Pointer, Scalar, Struct

Integers = NDArray[np.int64]
Words = NDArray[np.uint32]

CROWDED = 128
"""Columns of a multiple of so many bytes begin in the same bank."""
FRONT = 1024
"""Products of middle size at the front of a list: some 8 for each SM of an H200."""
ARGUMENT = struct.Struct("<2Q4d2i")
"""The bytes of ``struct Products`` of grouped.cuh, for who reads them."""


def struct_products(count: int) -> tuple[Argument, ...]:
    """What the kernel is called with for so many products.

    Its addresses are those of the descriptors and of the scalars of every product; the second is 0 where
    alpha and beta are those of all products.
    """
    fields = (
        *(Pointer("list", 0), Pointer("scalars", 1)),
        *(Scalar("alpha", "2d"), Scalar("beta", "2d")),
        *(Scalar("count", "i", count), Scalar("unused", "i", 0)),
    )
    return (Struct("Products", fields),)


def pack(descriptors: int, scalars: int, count: int, alpha: complex, beta: complex) -> bytearray:
    """The bytes of that argument at these addresses."""
    packed = arguments.pack(struct_products(count), {"alpha": alpha, "beta": beta})
    packed.put((descriptors, scalars))
    return packed.block


@dataclass(frozen=True, slots=True)
class Operand:
    """One operand of all products as it is stored: its addresses, leading dimensions (elements, also
    negative), rows and columns. ``strided``: lanes of a warp read different columns at a time."""

    address: Integers
    ld: Integers
    rows: Integers
    columns: Integers
    strided: bool
    read: NDArray[np.bool_]


def _copied(x: Operand, size: int) -> tuple[Integers, Integers, Integers]:
    """How an operand comes into shared memory: the bytes of a word (0: without gaps), its leading dimension
    there, and the multiples of 16 bytes that it takes."""
    column = x.rows * size
    flat = (x.ld == x.rows) | (x.columns <= 1)
    # What divides the addresses of all columns, 16 bytes at most, and their length.
    together = x.address | np.where(x.columns > 1, x.ld * size, 0) | column
    word = np.minimum(LINE, together & -together)
    word = np.where(word == 0, LINE, word)
    # A gap costs a copy of each column in place of one of all: worth it where lanes that read elements of
    # four columns (tensor cores read of other places) meet in a bank, and copies are wide.
    crowded = x.strided & (size == 4) & (column % CROWDED == 0) & (x.columns >= 4) & (word == LINE)
    words = ~flat | crowded
    # Columns with a gap of one word begin in different banks.
    lead = x.rows + np.where(words & (column % (2 * word) == 0), np.maximum(word // size, 1), 0)
    if size < 4:
        # Words of 4 bytes reach into the element before a column and the one after it, which must be a gap,
        # and columns begin as they do in device memory, at a multiple of 4 bytes or after one.
        narrow = words & (word < 4)
        lead = np.where(narrow, x.rows + 1 + ((x.rows + 1 - x.ld) & 1), lead)
        word = np.maximum(word, 4)
    word = np.where(words, word, 0)
    reach = np.where(x.columns > 0, (x.columns - 1) * lead + x.rows, 0) * size
    # A word of 4 bytes fills up to the end of a multiple of 4, which is within the multiple of 16.
    chunks = np.where(x.read & (reach > 0), -(-((x.address & (LINE - 1)) + reach) // LINE), 0)
    return np.where(x.read, word, 0), lead, chunks


def _bounded(operands: Iterable[Operand], size: int) -> list[NDArray[np.bool_]]:
    """Whether the 16-byte line in which an operand ends may be read as a whole: it ends there, or the last
    byte of the line belongs to a matrix of the list. Whose all others are, nobody knows."""
    begins, ends = [], []
    for x in operands:
        reach = np.where(x.ld > 0, np.maximum(x.columns - 1, 0) * x.ld + x.rows, x.rows) * size
        begins.append(x.address)
        ends.append(x.address + np.where((x.rows > 0) & (x.columns > 0), reach, 0))
    every = np.concatenate(begins)
    order = np.argsort(every, kind="stable")
    # Of all that begin no later than a byte, the one that ends last has it, if any.
    starts, farthest = every[order], np.maximum.accumulate(np.concatenate(ends)[order])
    found = []
    for end in ends:
        last = (end | (LINE - 1)) - LINE * (end % LINE == 0)
        found.append(farthest[np.searchsorted(starts, last, "right") - 1] > last)
    return found


def describe(
    dtype: DType,
    trans: str,
    sizes: tuple[Integers, Integers, Integers],
    addresses: tuple[Integers, Integers, Integers],
    leading: tuple[Integers, Integers, Integers],
    reads: NDArray[np.bool_],
    numbers: Integers | None = None,
) -> Words:
    """Descriptors, (count, 16), the product with most work first.

    ``sizes``: m, n and k of each; m and n are 1 to 64, k 0 to 64 (0: alpha times the product is nothing).
    ``addresses`` and ``leading``: of A, B and C, column-major; ``trans`` as a problem's letters.
    ``reads``: whether C is read. ``numbers``: which scalars a product has, its place where None.
    """
    m, n, k = sizes
    size, count = dtype.itemsize, len(m)
    transposed_a, transposed_b = trans[0] in "tc", trans[1] in "tc"
    some = k > 0
    operands = (
        Operand(addresses[0], leading[0], *((k, m) if transposed_a else (m, k)), transposed_a, some),
        Operand(addresses[1], leading[1], *((n, k) if transposed_b else (k, n)), not transposed_b, some),
        Operand(addresses[2], leading[2], m, n, False, reads),
    )
    words = np.zeros((count, 16), np.uint32)
    copies = np.zeros(count, np.int64)
    lead = np.zeros(count, np.int64)
    bytes_: list[Integers] = []
    whole = _bounded(operands, size)
    for which, operand in enumerate(operands):
        word, there, taken = _copied(operand, size)
        address = operand.address.astype(np.uint64)
        begin = sum(bytes_) + (operand.address & (LINE - 1))
        words[:, 4 * which] = (address & np.uint64(0xFFFFFFFF)).astype(np.uint32)
        words[:, 4 * which + 1] = (address >> np.uint64(32)).astype(np.uint32)
        words[:, 4 * which + 2] = taken | begin << 13
        words[:, 4 * which + 3] = operand.ld.astype(np.int32).view(np.uint32)
        log = np.where(whole[which] | (taken == 0), 0, 1)
        for bits in (2, 3, 4):
            log[word == 1 << bits] = bits
        copies |= log << 4 * which
        lead |= there << 8 * which
        bytes_.append(LINE * taken)
    room = np.maximum.reduce([sum(bytes_), *reach(bytes_, size, transposed_a, transposed_b)])
    words[:, 12] = m | n << 8 | k << 16
    words[:, 13] = lead
    words[:, 14] = -(-room // LINE) | copies << 16
    words[:, 15] = np.arange(count) if numbers is None else numbers
    return words[_order(dtype, m, n, k, reads)]


def _order(dtype: DType, m: Integers, n: Integers, k: Integers, reads: NDArray[np.bool_]) -> Integers:
    """The products in the order of the list: the largest first, so that all SMs end together, but for some of
    middle size before them, which are multiplied while the largest are on their way."""
    largest_first = np.argsort(-_work(dtype, m, n, k, reads), kind="stable")
    front, half = min(FRONT, len(m) // 10), len(m) // 2
    parts = (largest_first[half : half + front], largest_first[:half], largest_first[half + front :])
    return np.concatenate(parts)


def _work(dtype: DType, m: Integers, n: Integers, k: Integers, reads: NDArray[np.bool_]) -> Integers:
    """What the list is sorted by, so that all SMs get the same of it.

    Bytes through memory, and some for the multiplication, which many of the largest could be held up by;
    for float32 and complex64 the instructions of a warp, which set the pace (simulated for 10,000 products of
    1 to 32: the busiest SM has 0.3 % more of them than the mean in place of 4 %).
    """
    if dtype.real_bits != 32:
        moved: Integers = dtype.itemsize * (m * k + k * n + m * n * (1 + reads)) + m * n * k // 8
        return moved
    # For each k: multiply-adds, one element of each row and column, and addresses.
    rows, columns = -(-m // 8), 2 * -(-n // 8)
    per_k = (4 if dtype.is_complex else 1) * rows * columns + rows + columns + 4
    issued: Integers = k * per_k + 2 * rows * columns
    return issued
