"""Many products of different sizes in one launch: the space, the choice, the launch and the descriptors of
grouped.cuh.

I. Masliah et al., "Algorithms and optimization techniques for high-performance matrix-matrix
multiplications of very small matrices" (2018): memory sets the pace of small matrices, so each passes
it once and whole products stay in shared memory (section 7). Their batches are of one size. Where sizes
differ, what is added is a matter of balance, and sizes are no constants:

    ring     bytes of shared memory of a team, in which products lie one after another; what is not
             multiplied is on its way
    depth    products of a team that lie there at most
    team     warps that share a product: several, where products are so large that few of them fit
    warps    of a block
    blocks   of the whole grid, in multiples of the SMs: they stay and walk over the list
    rows, columns   elements of a lane in a warp's tile of C, which 8 lanes share along a column; smaller
             products are run by smaller tiles of the same kind
    deep     steps of k in one turn of the loop
    fine     1: a tile for each number of rows and columns; 2: for each number of rows; 0: whole tiles and
             halves, which is less code: each instruction is fetched once on every SM before it runs, and a
             launch takes 20 us
    mma      tensor cores multiply (float64 and 16 bits)
    bulk     operands without gaps come by bulk copies

The list is sorted, most work first, and dealt to the blocks back and forth, so that all get nearly the
same; what is left at the end is small. Sizes are in elements, shared memory in bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilewright.model import Config, Device, DType, GroupedProblem, Launch, Source
from tilewright.space import Param, Rule, Space
from tilewright.stencils.cuda.common import IN_FLIGHT, WIDEST, no_gpu, resident_rules, too_old
from tilewright.stencils.cuda.source import asked, program
from tilewright.stencils.protocol import Stencil
from tilewright.targets.cuda import arguments
from tilewright.targets.cuda.arguments import Argument, Pointer, Scalar, Struct

Integers = NDArray[np.int64]
Words = NDArray[np.uint32]

LARGEST = 64
"""Extent up to which whole matrices are kept in shared memory."""
LINE = WIDEST
"""Bytes that the places of operands in shared memory are multiples of."""
CROWDED = 128
"""Columns of a multiple of so many bytes begin in the same bank."""
BEYOND = 32
"""Elements that a warp may read beyond an operand, for tiles are at most so much larger than a product."""
FRONT = 1024
"""Products of middle size at the front of a list: some 8 for each SM of an H200."""
_FULL = 1024
"""Bytes of shared memory that the device keeps of every block."""


def products(
    dtype: DType, m: int, n: int, k: int, trans: str, count: int, *, alpha: str = "1", beta: str = "0"
) -> GroupedProblem:
    """The problem of a list of which all products have the largest extents m, n and k."""
    sizes = tuple(np.full(count, extent, np.int64) for extent in (m, n, k))
    align = min(LINE, dtype.itemsize)
    return GroupedProblem.of(dtype, trans, sizes, alpha=alpha, beta=beta, align=align)  # type: ignore[arg-type]


# -- what the kernel derives, in the same words -----------------------------------------------------------
def largest(p: GroupedProblem) -> int:
    """Bytes of shared memory that a product of the largest extents takes, wherever its operands begin."""
    size = p.dtype.itemsize
    a = (p.k, p.m) if p.turned_a else (p.m, p.k)
    b = (p.n, p.k) if p.turned_b else (p.k, p.n)
    read = [a, b] if p.beta == "0" else [a, b, (p.m, p.n)]
    taken = [-(-(LINE - 1 + (rows + LINE // size) * cols * size) // LINE) * LINE for rows, cols in read]
    return int(max(sum(taken), *_reach(taken, size, p.turned_a, p.turned_b)))


def _reach(taken: Any, size: int, turned_a: bool, turned_b: bool) -> list[Any]:
    """Bytes of a product that are read, with what is looked at and not used: lanes of rows beyond the last
    one of A and of columns beyond the last one of B, fewer than ``BEYOND`` of them."""
    more = BEYOND * size
    return [taken[0] + (0 if turned_a else more), taken[0] + taken[1] + (more if turned_b else 0)]


def fixed_bytes(teams: Any, depth: Any) -> Any:
    """Shared memory before the rings: barriers, descriptors, what hands out products."""
    queue = -(-8 * teams * depth // LINE) * LINE
    return -(-(queue + 64 * teams * depth + 16 + 8 * teams) // 128) * 128


def shared_bytes(team: Any, warps: Any, ring: Any, depth: Any) -> Any:
    """Shared memory of a block."""
    teams = warps // team
    return fixed_bytes(teams, depth) + teams * ring


def registers(p: GroupedProblem, rows: Any, columns: Any) -> Any:
    """32-bit registers of a thread that its loop cannot do without: sums, one element of each of its rows
    and columns, and addresses."""
    return 40 + _words(p) * (rows * columns + rows + columns)


def _words(p: GroupedProblem) -> int:
    """Registers of an element that is computed with."""
    return (2 if p.dtype.real_bits == 64 else 1) * (2 if p.dtype.is_complex else 1)


# -- the stencil -------------------------------------------------------------------------------------------
class GroupedStencil(Stencil):
    """``grouped``: lists of small products of different sizes, as the five functions of the protocol.

    Its argument is not ``struct Gemm`` but ``struct Products``: ``forms`` makes it, not a usual call.
    """

    name = "grouped"
    target = "cuda"
    lists = True

    def accepts(self, problem: GroupedProblem, device: Device) -> str | None:
        p = problem
        reason = no_gpu(device)
        if reason is not None:
            return reason
        if min(p.m, p.n, p.batch) < 1:
            return "there is nothing to multiply"
        if max(p.m, p.n, p.k) > LARGEST:
            return f"{p.m}x{p.n}x{p.k} has an extent above {LARGEST}"
        if p.batch >= 2**30:
            return f"a list of {p.batch} products is 2^30 or more"
        if largest(p) + int(fixed_bytes(1, 2)) > device["shared_per_block_optin"]:
            return f"a product of {p.m}x{p.n}x{p.k} does not fit in shared memory"
        return None

    def runs(self, device: Device) -> str | None:
        return too_old(device)

    def space(self, problem: GroupedProblem, device: Device) -> Space:
        return Space(_params(problem, device), list(_rules(problem, device)), elementwise=True)

    def default(self, problem: GroupedProblem, device: Device) -> Config:
        return _best(problem, device)

    def source(self, problem: GroupedProblem, config: Config, device: Device) -> Source:
        defines = asked(problem) | {"LARGEST": largest(problem)}
        defines |= {"LARGEST_M": problem.m, "LARGEST_N": problem.n}
        defines |= {name.upper(): value for name, value in config.items()}
        # Registers are promised to as many blocks as are to stay on an SM.
        defines["BLOCKS"] = -(-config["blocks"] // device["sms"])
        text, headers = program("grouped")
        return Source(text, "grouped", headers, tuple((n, str(value)) for n, value in defines.items()))

    def arguments(self, problem: GroupedProblem, config: Config) -> tuple[Argument, ...]:
        return struct_products(problem.batch)

    def launch(self, problem: GroupedProblem, config: Config) -> Launch:
        c = config
        return Launch(
            grid=(min(c["blocks"], problem.batch), 1, 1),
            block=(32 * c["warps"], 1, 1),
            shared=int(shared_bytes(c["team"], c["warps"], c["ring"], c["depth"])),
            # Bulk copies came with the same compute capability. Back to back, lists of 10,000 products of up
            # to 32 took 1 to 2 us less (of 10 to 40) on an H200.
            overlap=bool(c["bulk"]),
        )


# -- the space ---------------------------------------------------------------------------------------------
_TEAMS = (1, 2, 4, 8)
_WARPS = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 32)
_PER_SM = (1, 2, 3, 4)
_DEPTHS = (2, 4)


def _rings(p: GroupedProblem, device: Device) -> tuple[int, ...]:
    """Rings of a whole SM shared by some blocks of some teams each, and one of the largest product alone."""
    return _rings_of(largest(p), device["shared_per_sm"], device["shared_per_block_optin"])


@cache
def _rings_of(least: int, per_sm: int, per_block: int) -> tuple[int, ...]:
    found = {least * count for count in (1, *_DEPTHS)}
    for blocks in _PER_SM:
        block = min(per_sm // blocks - _FULL, per_block)
        for teams in _WARPS:
            found |= {_ring(block, teams, depth) for depth in _DEPTHS}
    return tuple(sorted(ring for ring in found if ring >= least))


def _ring(block: int, teams: int, depth: int) -> int:
    """The largest ring of so many teams in the shared memory of a block."""
    return max(0, (block - int(fixed_bytes(teams, depth))) // teams // LINE * LINE)


def _params(p: GroupedProblem, device: Device) -> list[Param]:
    return [
        Param("bulk", (0, 1)),
        Param("rows", (1, 2, 3, 4)),
        Param("columns", (2, 4, 6, 8)),
        Param("deep", (1, 2, 4)),
        Param("fine", (0, 1, 2)),
        Param("mma", (0, 1)),
        Param("team", _TEAMS),
        Param("warps", _WARPS),
        Param("depth", _DEPTHS),
        Param("ring", _rings(p, device)),
        Param("blocks", tuple(count * device["sms"] for count in _PER_SM)),
    ]


def _rules(p: GroupedProblem, device: Device) -> Iterator[Rule]:
    bulk_copies, sms, least, words = "bulk_copy" in device.supports, device["sms"], largest(p), _words(p)
    yield Rule(
        "bulk-device",
        "tabled",
        "the device has bulk copies (9.0 and above)",
        lambda bulk: (bulk == 0) | bulk_copies,
    )
    yield Rule(
        "bulk-better",
        "soft",
        "where there are bulk copies, they ask for less than copies by words",
        lambda bulk: (bulk == 1) | (not bulk_copies),
    )
    yield Rule(
        "tile-in-c",
        "soft",
        "a warp's tile is not larger than the largest C",
        lambda rows, columns: ((rows - 2 + rows % 2) * 8 < p.m) & ((columns - 2) * 4 < p.n),
    )
    yield Rule(
        "square",
        "soft",
        "a warp's tile is at most twice as long as it is wide, or as C asks for",
        lambda rows, columns: (
            (16 * rows >= np.minimum(4 * columns, p.m)) & (8 * columns >= np.minimum(8 * rows, p.n))
        ),
    )
    yield Rule(
        "mma-type",
        "hard",
        "tensor cores take float64 and 16 bits",
        lambda mma: (mma == 0) | (p.dtype.real_bits != 32),
    )
    yield Rule(
        "mma-tile",
        "hard",
        "a tile is whole tensor-core products of 16 rows and 8 columns",
        lambda rows, columns, mma: (mma == 0) | ((rows % 2 == 0) & (columns % 2 == 0)),
    )
    yield Rule(
        "mma-better",
        "soft",
        "tensor cores multiply where they can, for they read less of shared memory",
        lambda mma: (mma == 1) | (p.dtype.real_bits == 32),
    )
    yield Rule(
        "halves",
        "soft",
        "whole tiles and halves are enough, but for complex64, where arithmetic sets the pace",
        lambda fine: fine == int(p.dtype.letter == "c"),
    )
    yield Rule(
        "sums-fit",
        "soft",
        "a thread has 64 registers of sums at most",
        lambda rows, columns: rows * columns * words <= 64,
    )
    yield Rule(
        "reuse",
        "soft",
        "for large products, an element that is loaded is multiplied twice or more",
        lambda rows, columns: (min(p.m, p.n) < 16) | (rows * columns >= 2 * (rows + columns) - 4),
    )
    yield Rule(
        "registers-per-thread",
        "tabled",
        "the registers that the loop cannot do without can be addressed",
        lambda rows, columns: registers(p, rows, columns) <= device["registers_per_thread"],
    )
    yield Rule(
        "threads-per-block",
        "queryable",
        "a block has no more threads than the device allows",
        lambda warps: 32 * warps <= device["threads_per_block"],
    )
    yield Rule(
        "teams",
        "hard",
        "all warps of a block belong to whole teams",
        lambda team, warps: warps % team == 0,
    )
    yield Rule(
        "team-barriers",
        "hard",
        "a block has fifteen barriers for its teams",
        lambda team, warps: (team == 1) | (warps // team <= 15),
    )
    yield Rule(
        "team-work",
        "soft",
        "each warp of a team has four columns or more of the largest C",
        lambda team: (team == 1) | (p.n >= 4 * team),
    )
    yield Rule(
        "ring",
        "hard",
        "a team's ring has room for the largest product",
        lambda ring: ring >= least,
    )
    yield Rule(
        "ring-deep",
        "soft",
        "a ring is not so long that it could hold the largest product more often than it has places",
        lambda depth, ring: ring <= least * depth,
    )
    yield Rule(
        "shared-per-block",
        "queryable",
        "the rings fit in the shared memory that a block may ask for",
        lambda team, warps, depth, ring: (
            shared_bytes(team, warps, ring, depth) <= device["shared_per_block_optin"]
        ),
    )
    yield from resident_rules(
        device,
        lambda warps: 32 * warps,
        lambda rows, columns, warps: 32 * warps * registers(p, rows, columns),
        shared_bytes,
    )
    yield Rule(
        "shared-used",
        "soft",
        "rings take three quarters of the shared memory of an SM, or have room for all that they may hold",
        lambda team, warps, depth, ring, blocks: (
            (4 * shared_bytes(team, warps, ring, depth) * (blocks // sms) >= 3 * device["shared_per_sm"])
            | (ring >= least * depth)
        ),
    )
    yield Rule(
        "in-flight",
        "soft",
        f"an SM has {IN_FLIGHT // 1024} KB on their way, to hide the latency of memory, or full rings",
        lambda team, warps, ring, blocks: (
            (warps // team * ring * (blocks // sms) >= IN_FLIGHT) | (ring >= least * _DEPTHS[-1])
        ),
    )
    yield Rule(
        "warps-enough",
        "soft",
        "an SM has a warp for each of its four schedulers",
        lambda warps, blocks: warps * (blocks // sms) >= 4,
    )


# -- the choice without a search ---------------------------------------------------------------------------
def _best(p: GroupedProblem, device: Device) -> Config:
    """One block on an SM, with as many teams as hold the largest product and as warps have registers.

    What hides latency here is teams that wait for memory while others multiply, and a warp alone has no
    one to wait for; so products are shared only where fewer than eight of them fit. Two places in a ring
    are enough for all but the smallest: more are filled before the first product is multiplied (H200,
    10,000 products of 1 to 32: 33 us with 2 places, 35.5 us with 4, 37 us with 8).
    """
    rows, columns = _tile(p)
    mma = int(p.dtype.real_bits != 32)
    least, per_sm = largest(p), device["registers_per_sm"]
    block = min(device["shared_per_sm"] - device["shared_reserved"], device["shared_per_block_optin"])
    found: list[tuple[float, int, int, int, int]] = []
    for team in _TEAMS:
        # The compiler takes more, for reads ahead and for C, and for the two k of a word.
        more = 16 * (p.dtype.real_bits == 16 and p.dtype.is_complex)
        if p.beta == "any" or (mma and p.beta == "1"):
            more = 16 if p.dtype.real_bits != 16 else 8 if p.beta == "1" and not p.dtype.is_complex else 24
        needed = int(1.25 * int(registers(p, rows, columns))) + 8 + more
        if p.dtype.letter == "c":  # One step of k in a turn: nothing is read ahead.
            needed = min(needed, 128 + more)
        for warps in _WARPS:
            teams = warps // team
            # Each of the four schedulers has registers of its own.
            if warps % team or 32 * (-(-warps // 4) * 4) * (-(-needed // 8) * 8) > per_sm:
                continue
            if team > 1 and (teams > 15 or p.n < 4 * team):
                continue
            # Two places, or more where products are so small that too few bytes would be on their way.
            for depth in _DEPTHS:
                ring = min(max(_ring(block, teams, depth), least), least * depth)
                if teams * ring >= 2 * IN_FLIGHT:
                    break
            if shared_bytes(team, warps, ring, depth) > block:
                continue
            waiting = min(1.0, teams / 12) ** 0.5
            running = min(1.0, warps / 16) ** 0.5
            room = min(1.0, ring / least / 1.25) ** 0.25
            found.append((waiting * running * room * 0.97 ** (team - 1), team, warps, depth, ring))
    _, team, warps, depth, ring = max(found)
    return Config(
        {
            "bulk": int("bulk_copy" in device.supports),
            "rows": rows,
            "columns": columns,
            # A step has as many additions to addresses as a turn: few where a step is short.
            "deep": {"s": 4, "d": 2, "z": 2}.get(p.dtype.letter, 1),
            "fine": int(p.dtype.letter == "c"),
            "mma": mma,
            "team": team,
            "warps": warps,
            "depth": depth,
            "ring": ring,
            "blocks": device["sms"],
        }
    )


def _tile(p: GroupedProblem) -> tuple[int, int]:
    """Rows and columns of a lane, for the largest products."""
    rows = min(4, -(-p.m // 8))
    if p.dtype.real_bits != 32:
        rows += rows & 1
    wide = p.dtype.letter == "c" or (_words(p) <= 2 and not p.dtype.is_complex)
    columns = min(8 if wide else 4, -(-p.n // 4))
    return rows, columns + (columns & 1)


# -- descriptors -------------------------------------------------------------------------------------------
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
    turned_a, turned_b = trans[0] in "tc", trans[1] in "tc"
    some = k > 0
    operands = (
        Operand(addresses[0], leading[0], *((k, m) if turned_a else (m, k)), turned_a, some),
        Operand(addresses[1], leading[1], *((n, k) if turned_b else (k, n)), not turned_b, some),
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
    room = np.maximum.reduce([sum(bytes_), *_reach(bytes_, size, turned_a, turned_b)])
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
