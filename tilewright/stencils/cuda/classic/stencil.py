"""One tile of C per block, for matrices of any size: the space, the choice and the launch of classic.cuh.

The universal GEMM stencil of J. Kurzak, S. Tomov, J. Dongarra, "Autotuning GEMM kernels for the Fermi
GPU" (2012): section 6.3 is the kernel, section 6.4 its space. The first nine parameters and the rules
on them are the paper's (algorithms 5 and 6); the others are what later devices pay for, and below
compute capability 8.0 they keep the paper's values, so that a Fermi's space is the paper's.

                 n_blk              m_dim x n_dim threads compute m_blk x n_blk of C,
               +-------+            (m_blk / m_dim) x (n_blk / n_dim) each;
         k_blk |   B   |            the same threads are reshaped to m_dima x n_dima and to
      k_blk    +-------+            m_dimb x n_dimb to read the stripes of A and B as they are stored
      +---+    +-------+
m_blk | A |    |   C   |
      +---+    +-------+

Sizes are in elements, ``itemsize`` and shared memory in bytes, registers in words of 32 bits. The
functions on configs work on numbers and on NumPy arrays of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from math import sqrt
from typing import Any

import numpy as np

from tilewright.errors import ArgumentError
from tilewright.model import Config, Device, DType, Launch, Problem, Source
from tilewright.space import Param, Rule, Space
from tilewright.stencils.cuda.common import WIDEST, modern, too_old
from tilewright.stencils.cuda.source import asked, program
from tilewright.stencils.protocol import Stencil

# Of the ways to read, the paper counts the 1-D texture alone (section 6.3.3).
PAPER: dict[str, tuple[Any, ...]] = {
    "read": ("tex1d",),
    "wide": (1,),
    "vec": (1,),
    "lanes": (32,),
    "buffers": (1,),
    "order": (0,),
    "split": (1,),
    "early": (0,),
    "mma": (0,),
    "min_blocks": (1,),
}
"""The parameters beyond the paper's nine, with the only values that its kernel has."""
READS = ("global", "ldg", "tex1d", "tex2d")
GRID_X, GRID_Z = 2**31 - 1, 65535
LARGEST = 2**31 - 2**17
"""Sizes up to which a size and a tile, a cluster's steps or a grid's depth add up to less than 2^31."""
UNROLLED = 2048
"""Most multiply-adds of a thread in a step, which is written out whole, and twice."""
MEMORY_LATENCY = 700
"""Clocks from a read of device memory to its arrival."""


# -- algorithm 6, piece by piece -----------------------------------------------------------------------
def words(dtype: DType) -> int:
    """32-bit registers of one element (``sizeof(type) / sizeof(float)``)."""
    return dtype.itemsize // 4


def shared_bytes(
    k_blk: Any, n_blk: Any, m_blk: Any, vec: Any, buffers: Any, split: Any, mma: Any, itemsize: int
) -> Any:
    """Shared memory of a block: its stripes of A and B, skewed (``shmem_per_block``), or the tile of C that
    the blocks of a cluster exchange, whichever is larger. The skew is the paper's where vec is 1."""
    paper = (vec == 1) & (mma == 0)
    skew = vec * (mma == 0) + 32 // itemsize * (mma != 0)
    b = paper * ((k_blk + 1) * n_blk) + (1 - paper) * ((n_blk + skew) * k_blk)
    return np.maximum(((m_blk + skew) * k_blk + b) * buffers, (split > 1) * (m_blk * n_blk)) * itemsize


def registers(n_dim: Any, m_dim: Any, k_blk: Any, n_blk: Any, m_blk: Any, words: int) -> Any:
    """Registers of a block that the pipelined loop cannot do without (``regs_per_block``): for every thread
    its elements of C and one of each of its rows of A and columns of B; for the block the next stripes."""
    m_thr, n_thr = m_blk // m_dim, n_blk // n_dim
    return ((m_thr * n_thr + m_thr + n_thr) * (m_dim * n_dim) + m_blk * k_blk + k_blk * n_blk) * words


def resident(available: int, needed: Any, threads: Any, device: Device) -> Any:
    """Blocks on a multiprocessor (SM) that has so much of what each block needs so much of
    (``blocks_per_sm``): filtered through the most blocks, and, counted in warps, through the most warps."""
    blocks = np.minimum(available // np.maximum(needed, 1), device["blocks_per_sm"])
    warps_of_block = np.maximum(threads // device["warp_size"], 1)
    return np.minimum(blocks * warps_of_block, device["warps_per_sm"]) // warps_of_block


def reuse(n_dim: Any, m_dim: Any, n_blk: Any, m_blk: Any, is_complex: bool) -> Any:
    """Multiply-adds per load of the innermost loop (``regs_reuse``), in real ones: 4 to a complex one, whose
    operands are 2 loads each."""
    m_thr, n_thr = m_blk // m_dim, n_blk // n_dim
    ratio = m_thr * n_thr / np.maximum(m_thr + n_thr, 1)
    return 2 * ratio if is_complex else ratio


# -- performance guidelines ------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Guidelines:
    """Floors that a user sets (section 6.4.2): threads and blocks of an SM, and register reuse."""

    min_threads: int = 0
    min_blocks: int = 1
    min_reuse: float = 0.0


NONE = Guidelines()
"""No floor, but one block fits on an SM."""
# Table 1. It prints 5.0 for complex single precision, which no config reaches and its own winner of table
# 2 misses with 4.0; docs/space.md has the count.
TABLE1 = {
    "s": Guidelines(512, 2, 3.0),
    "c": Guidelines(512, 2, 4.0),
    "d": Guidelines(512, 2, 2.0),
    "z": Guidelines(512, 2, 2.0),
}
# Fewer threads than on a Fermi keep the units busy where each has up to 255 registers.
TODAY = {
    "s": Guidelines(256, 1, 4.0),
    "c": Guidelines(256, 1, 4.0),
    "d": Guidelines(256, 1, 2.0),
    "z": Guidelines(256, 1, 2.5),
}
GUIDELINES = ("default", "table1", "none")


def guidelines(name: str, problem: Problem, device: Device) -> Guidelines:
    """``table1``, ``none``, or the ``default`` of a device: table 1 below capability 8.0, and from there on
    ``TODAY``, whose reuse is asked for in proportion where a short matrix or an idle SM forbids large tiles.

    Raises ``ArgumentError`` for another name.
    """
    if name not in GUIDELINES:
        raise ArgumentError(f"guidelines={name!r}; accepted: {', '.join(GUIDELINES)}")
    letter = problem.dtype.letter
    if name == "none":
        return NONE
    if name == "table1" or not modern(device):
        return TABLE1[letter]
    asked = TODAY[letter]
    side = min(problem.m, problem.n, sqrt(problem.m * problem.n * problem.batch / device["sms"]))
    return replace(asked, min_reuse=asked.min_reuse * min(1.0, side / 128))


# -- the stencil -----------------------------------------------------------------------------------------
def widest(problem: Problem) -> int:
    """Most elements (1, 2 or 4) that one read may take: all reads of A and B are aligned and inside."""
    return max(wide for wide in (1, 2, 4) if _aligned(problem, wide))


def _aligned(p: Problem, wide: Any) -> Any:
    """Whether addresses, columns, leading dimensions and batch strides of A and B are whole reads."""
    size = p.dtype.itemsize
    along = (p.k if p.turned_a else p.m, p.n if p.turned_b else p.k)
    batch = p.strides[:2] if p.batch > 1 else ()
    fits = (wide * size <= min(WIDEST, p.align)) & (p.align % (wide * size) == 0)
    for length in (*along, p.lda, p.ldb, *batch):
        fits = fits & (length % wide == 0)
    return fits


class ClassicStencil(Stencil):
    """``classic``: the stencil above as the five functions of the protocol."""

    name = "classic"
    target = "cuda"

    def accepts(self, problem: Problem, device: Device) -> str | None:
        p = problem
        if p.dtype.letter not in "sdcz":
            return f"type {p.dtype.letter} is not one of s, d, c, z"
        if device.kind != "cuda":
            return f"{device.name} is no CUDA device"
        if min(p.m, p.n, p.batch) < 1:
            return "there is nothing to compute"
        if max(p.m, p.n, p.k, p.batch) > LARGEST:
            return f"{p.m}x{p.n}x{p.k}@{p.batch} has a size of nearly 2^31 or more"
        if -(-p.m // 16) * -(-p.n // 16) > GRID_X:
            return f"{p.m}x{p.n} has more tiles than a grid has blocks"
        if p.align % p.dtype.itemsize:
            return f"addresses are multiples of {p.align} bytes only, not of an element's {p.dtype.itemsize}"
        return None

    def runs(self, device: Device) -> str | None:
        """Why the kernel cannot run on a device whose space can still be counted; None when it can."""
        return too_old(device)

    def needs_record(self, problem: Problem) -> bool:
        """Large single products are what libraries tune best: untuned, this one is not the better guess."""
        return problem.batch == 1

    def space(self, problem: Problem, device: Device) -> Space:
        return self.guided(problem, device, guidelines("default", problem, device))

    def guidelines(self, name: str, problem: Problem, device: Device) -> Guidelines:
        """Guidelines by name; see ``guidelines``."""
        return guidelines(name, problem, device)

    def guided(self, problem: Problem, device: Device, floors: Guidelines) -> Space:
        """The space under other guidelines than the device's own."""
        today = modern(device)
        rules = [*_rules(problem, device, floors), *(_today(problem, device) if today else ())]
        return Space(_params(problem, device), rules, elementwise=True)

    def default(self, problem: Problem, device: Device) -> Config:
        if not modern(device):
            return winner(problem)
        return _best(problem, device)

    def source(self, problem: Problem, config: Config, device: Device) -> Source:
        defines = asked(problem) | {name.upper(): value for name, value in config.items()}
        defines["READ"] = READS.index(config["read"])
        text, headers = program("classic")
        return Source(text, "classic", headers, tuple((n, str(value)) for n, value in defines.items()))

    def launch(self, problem: Problem, config: Config) -> Launch:
        p, c = problem, config
        sizes = (c["k_blk"], c["n_blk"], c["m_blk"], c["vec"], c["buffers"], c["split"], c["mma"])
        return Launch(
            grid=(-(-p.m // c["m_blk"]) * -(-p.n // c["n_blk"]), c["split"], min(p.batch, GRID_Z)),
            block=(c["m_dim"] * c["n_dim"], 1, 1),
            shared=int(shared_bytes(*sizes, p.dtype.itemsize)),
            cluster=c["split"],
            reading=c["read"] if c["read"].startswith("tex") else "",
        )


def variants() -> Iterator[tuple[str, str, str]]:
    """The paper's 78 variants of the code (section 6.3.3): type, transpositions, and how memory is read."""
    for letter in "sdcz":
        letters = "ntc" if letter in "cz" else "nt"
        for trans in (a + b for a in letters for b in letters):
            for read in ("global", "tex1d", "tex2d"):
                yield letter, trans, read


# Table 2, but for one number: the grid that reads B in S NT is printed as 8 x 32, which overlays no stored
# 96 x 16; 32 x 8 does, and is what S TT has. Tile m x n x k, then threads that compute and read A and B.
TABLE2 = {
    "s:nn": ((96, 96, 16), (16, 16), (32, 8), (8, 32)),
    "s:nt": ((96, 96, 16), (16, 16), (32, 8), (32, 8)),
    "s:tt": ((96, 96, 16), (16, 16), (16, 16), (32, 8)),
    "s:tn": ((96, 96, 16), (16, 16), (16, 16), (16, 16)),
    "c:nn": ((64, 64, 16), (16, 16), (32, 8), (16, 16)),
    "c:nt": ((64, 64, 16), (16, 16), (16, 16), (16, 16)),
    "c:tt": ((64, 64, 16), (16, 16), (16, 16), (32, 8)),
    "c:tn": ((64, 64, 16), (16, 16), (16, 16), (16, 16)),
    "d:nn": ((64, 64, 16), (16, 16), (16, 16), (16, 16)),
    "d:nt": ((64, 64, 16), (16, 16), (16, 16), (16, 16)),
    "d:tt": ((64, 64, 16), (16, 16), (16, 16), (16, 16)),
    "d:tn": ((64, 64, 16), (16, 16), (16, 16), (16, 16)),
    "z:nn": ((24, 16, 8), (8, 8), (8, 8), (8, 8)),
    "z:nt": ((16, 24, 8), (8, 8), (8, 8), (8, 8)),
    "z:tt": ((16, 24, 8), (8, 8), (4, 16), (8, 8)),
    "z:tn": ((24, 16, 8), (8, 8), (8, 8), (8, 8)),
}


def winner(problem: Problem) -> Config:
    """What was fastest on the paper's Fermi for a problem's type and transpositions (table 2)."""
    trans = ("t" if problem.turned_a else "n") + ("t" if problem.turned_b else "n")
    (m_blk, n_blk, k_blk), (m_dim, n_dim), a, b = TABLE2[f"{problem.dtype.letter}:{trans}"]
    sizes = {"n_dim": n_dim, "m_dim": m_dim, "k_blk": k_blk, "n_blk": n_blk, "m_blk": m_blk}
    grids = {"m_dima": a[0], "n_dima": a[1], "m_dimb": b[0], "n_dimb": b[1]}
    return Config(sizes | grids | {name: values[0] for name, values in PAPER.items()})


# -- the space ---------------------------------------------------------------------------------------------
def _params(p: Problem, device: Device) -> list[Param]:
    """The paper's nine in the order of algorithm 5, then those of later devices."""
    choices: dict[str, tuple[Any, ...]]
    if not modern(device):
        dims = blks = tuple(range(1, 257))
        steps = tuple(range(1, 65))
        # A read grid is no longer than the stripe that it overlays.
        free, deep = blks, steps
        choices = PAPER
    else:
        dims = steps = (4, 8, 16, 32, 64)
        blks = (16, 32, 48, 64, 96, 128, 192, 256)
        free, deep = (1, 2, 4, 8, 16, 32, 64, 128, 256), (1, 2, 4, 8, 16, 32, 64)
        choices = {
            "read": READS,
            "wide": (1, 2, 4),
            "vec": (1, 2, 4),
            "lanes": (4, 8, 16, 32),
            "buffers": (1, 2),
        }
        choices |= {
            "order": (0, 1, 2),
            "split": (1, 2, 4, 8),
            "early": (0, 1),
            "mma": (0, 1),
            "min_blocks": (1, 2, 3, 4),
        }
    grids = {
        "m_dima": deep if p.turned_a else free,
        "n_dima": free if p.turned_a else deep,
        "m_dimb": free if p.turned_b else deep,
        "n_dimb": deep if p.turned_b else free,
    }
    sizes = {"n_dim": dims, "m_dim": dims, "k_blk": steps, "n_blk": blks, "m_blk": blks}
    return [Param(name, values) for name, values in (sizes | grids | choices).items()]


def _rules(p: Problem, device: Device, floors: Guidelines) -> Iterator[Rule]:
    """What every device asks for: algorithm 6 in its order, then the read grids of algorithm 5, then the
    rules that the other parameters bring with them."""
    yield from _of_the_tile(p, device)
    yield from _of_registers(p, device, floors)
    yield from _of_shared_memory(p, device, floors)
    yield from _grids(p)
    yield from _extras(p, device)


def _of_the_tile(p: Problem, device: Device) -> Iterator[Rule]:
    """How threads overlay the tile of C and the stripes of A and B."""
    yield Rule(
        "threads-per-block",
        "queryable",
        "a block has no more threads than the device allows",
        lambda n_dim, m_dim: m_dim * n_dim <= device["threads_per_block"],
    )
    yield Rule(
        "whole-warps",
        "hard",
        "threads come in warps, and the tile is dealt out to whole ones",
        lambda n_dim, m_dim: m_dim * n_dim % device["warp_size"] == 0,
    )
    yield Rule(
        "tile-overlaid-n",
        "hard",
        "the thread grid overlays the tile of C: n_blk goes in steps of n_dim",
        lambda n_dim, n_blk: n_blk % n_dim == 0,
    )
    yield Rule(
        "busy-b",
        "soft",
        "reading a stripe of B leaves no thread idle, whatever the shape of the grid",
        lambda n_dim, m_dim, k_blk, n_blk: k_blk * n_blk % (m_dim * n_dim) == 0,
    )
    yield Rule(
        "tile-overlaid-m",
        "hard",
        "the thread grid overlays the tile of C: m_blk goes in steps of m_dim",
        lambda m_dim, m_blk: m_blk % m_dim == 0,
    )
    yield Rule(
        "busy-a",
        "soft",
        "reading a stripe of A leaves no thread idle, whatever the shape of the grid",
        lambda n_dim, m_dim, k_blk, m_blk: m_blk * k_blk % (m_dim * n_dim) == 0,
    )


def _of_registers(p: Problem, device: Device, floors: Guidelines) -> Iterator[Rule]:
    """What the loop needs of them, and how many blocks and threads that leaves on an SM."""
    word = words(p.dtype)

    def by_registers(n_dim: Any, m_dim: Any, k_blk: Any, n_blk: Any, m_blk: Any) -> Any:
        needed = registers(n_dim, m_dim, k_blk, n_blk, m_blk, word)
        return resident(device["registers_per_sm"], needed, m_dim * n_dim, device)

    yield Rule(
        "registers-per-block",
        "queryable",
        "the loop's registers fit in what a block may have",
        lambda n_dim, m_dim, k_blk, n_blk, m_blk: (
            registers(n_dim, m_dim, k_blk, n_blk, m_blk, word) <= device["registers_per_block"]
        ),
    )
    if modern(device):
        # Not for a Fermi's 63: three of the four kernels that won there need 64 by this estimate, and the
        # paper leaves their spills to the first cache.
        yield Rule(
            "registers-per-thread",
            "tabled",
            "the loop's registers of one thread can be addressed",
            lambda n_dim, m_dim, k_blk, n_blk, m_blk: (
                registers(n_dim, m_dim, k_blk, n_blk, m_blk, word)
                <= device["registers_per_thread"] * m_dim * n_dim
            ),
        )
    yield Rule(
        "blocks-by-registers",
        "guideline",
        f"the registers of an SM let {floors.min_blocks} or more blocks run",
        lambda n_dim, m_dim, k_blk, n_blk, m_blk: (
            by_registers(n_dim, m_dim, k_blk, n_blk, m_blk) >= floors.min_blocks
        ),
    )
    yield Rule(
        "threads-by-registers",
        "guideline",
        f"the registers of an SM let {floors.min_threads} or more threads run",
        lambda n_dim, m_dim, k_blk, n_blk, m_blk: (
            by_registers(n_dim, m_dim, k_blk, n_blk, m_blk) * (m_dim * n_dim) >= floors.min_threads
        ),
    )
    yield Rule(
        "reuse",
        "guideline",
        f"{floors.min_reuse:.3g} or more multiply-adds for each load from shared memory",
        lambda n_dim, m_dim, n_blk, m_blk: (
            reuse(n_dim, m_dim, n_blk, m_blk, p.dtype.is_complex) >= floors.min_reuse
        ),
    )


def _of_shared_memory(p: Problem, device: Device, floors: Guidelines) -> Iterator[Rule]:
    """What the stripes need of it, and how many blocks and threads that leaves on an SM."""
    size = p.dtype.itemsize

    def by_shared(threads: Any, k_blk: Any, n_blk: Any, m_blk: Any, *rest: Any) -> Any:
        vec, buffers, split, mma = rest
        needed = shared_bytes(k_blk, n_blk, m_blk, vec, buffers, split, mma, size)
        return resident(device["shared_per_sm"], needed + device["shared_reserved"], threads, device)

    yield Rule(
        "shared-per-block",
        "queryable",
        "the stripes fit in the shared memory that a block may ask for",
        lambda k_blk, n_blk, m_blk, vec, buffers, split, mma: (
            shared_bytes(k_blk, n_blk, m_blk, vec, buffers, split, mma, size)
            <= device["shared_per_block_optin"]
        ),
    )
    yield Rule(
        "blocks-by-shared",
        "guideline",
        f"the shared memory of an SM lets {floors.min_blocks} or more blocks run",
        lambda n_dim, m_dim, k_blk, n_blk, m_blk, vec, buffers, split, mma: (
            by_shared(m_dim * n_dim, k_blk, n_blk, m_blk, vec, buffers, split, mma) >= floors.min_blocks
        ),
    )
    yield Rule(
        "threads-by-shared",
        "guideline",
        f"the shared memory of an SM lets {floors.min_threads} or more threads run",
        lambda n_dim, m_dim, k_blk, n_blk, m_blk, vec, buffers, split, mma: (
            by_shared(m_dim * n_dim, k_blk, n_blk, m_blk, vec, buffers, split, mma) * (m_dim * n_dim)
            >= floors.min_threads
        ),
    )


def _grids(p: Problem) -> Iterator[Rule]:
    """The thread grids that read A and B, laid over the stripes as they are stored. Algorithm 5 prints these
    remainders the wrong way round."""

    def filled(threads: Any, along: Any, m_dim: Any, across: Any) -> Any:
        return (along % m_dim == 0) & (across % np.maximum(threads // m_dim, 1) == 0)

    yield Rule(
        "grid-a-divides",
        "hard",
        "reading A takes all threads of the block",
        lambda n_dim, m_dim, m_dima: m_dim * n_dim % m_dima == 0,
    )
    yield Rule(
        "overlay-a",
        "hard",
        "the grid that reads A overlays its stripe",
        lambda n_dim, m_dim, k_blk, m_blk, m_dima: (
            filled(m_dim * n_dim, k_blk, m_dima, m_blk)
            if p.turned_a
            else filled(m_dim * n_dim, m_blk, m_dima, k_blk)
        ),
    )
    yield Rule(
        "grid-a",
        "hard",
        "reading A takes all threads of the block",
        lambda n_dim, m_dim, m_dima, n_dima: m_dima * n_dima == m_dim * n_dim,
    )
    yield Rule(
        "grid-b-divides",
        "hard",
        "reading B takes all threads of the block",
        lambda n_dim, m_dim, m_dimb: m_dim * n_dim % m_dimb == 0,
    )
    yield Rule(
        "overlay-b",
        "hard",
        "the grid that reads B overlays its stripe",
        lambda n_dim, m_dim, k_blk, n_blk, m_dimb: (
            filled(m_dim * n_dim, n_blk, m_dimb, k_blk)
            if p.turned_b
            else filled(m_dim * n_dim, k_blk, m_dimb, n_blk)
        ),
    )
    yield Rule(
        "grid-b",
        "hard",
        "reading B takes all threads of the block",
        lambda n_dim, m_dim, m_dimb, n_dimb: m_dimb * n_dimb == m_dim * n_dim,
    )


def _extras(p: Problem, device: Device) -> Iterator[Rule]:
    """What makes the parameters beyond the paper's nine right, and different from one another."""
    yield from _of_textures(p, device)
    yield from _of_wide_reads(p, device)
    # The paper numbers threads in rows of m_dim, which need not be whole warps.
    if modern(device):
        yield from _of_the_warps(p, device)
        yield from _of_resident_blocks(p, device)


def _of_textures(p: Problem, device: Device) -> Iterator[Rule]:
    """What an operand must be like to be read as a texture."""
    size = p.dtype.itemsize
    texels = max(p.lda * (p.m if p.turned_a else p.k), p.ldb * (p.k if p.turned_b else p.n))  # type: ignore[operator]
    width = max(p.k if p.turned_a else p.m, p.n if p.turned_b else p.k)
    height = max(p.m if p.turned_a else p.k, p.k if p.turned_b else p.n)
    pitches = (p.lda * size, p.ldb * size)  # type: ignore[operator]
    flat = (
        max(width, 1) <= device["texture2d_linear_width"]
        and height <= device["texture2d_linear_height"]
        and max(pitches) <= device["texture2d_linear_pitch"]
        and all(pitch % device["texture_pitch_alignment"] == 0 for pitch in pitches)
    )
    yield Rule(
        "texture-1d",
        "queryable",
        "an operand read as a 1-D texture has no more texels than one may have",
        lambda read: (read != "tex1d") | (texels <= device["texture1d_linear"]),
    )
    yield Rule(
        "texture-2d",
        "queryable",
        "an operand read as a 2-D texture has the size and the pitch of one",
        lambda read: (read != "tex2d") | flat,
    )
    yield Rule(
        "texture-single",
        "hard",
        "a texture holds one matrix, not a batch",
        lambda read: (read == "global") | (read == "ldg") | (p.batch == 1),
    )


def _of_wide_reads(p: Problem, device: Device) -> Iterator[Rule]:
    """How wide accesses to device and shared memory may be, and by which path they go."""
    size = p.dtype.itemsize
    yield Rule(
        "read-only-path",
        "tabled",
        "the device has loads through the read-only path (3.5 and above)",
        lambda read: (read != "ldg") | ("ldg" in device.supports),
    )
    yield Rule(
        "texel",
        "hard",
        "a texture read is one element",
        lambda read, wide: (read == "global") | (read == "ldg") | (wide == 1),
    )
    yield Rule(
        "access-width-global",
        "hard",
        "one access moves 16 bytes at most",
        lambda wide: wide * size <= WIDEST,
    )
    yield Rule(
        "aligned",
        "hard",
        "wide reads need addresses, columns, leading dimensions and strides of A and B that are whole reads",
        lambda wide: _aligned(p, wide),
    )
    yield Rule(
        "overlay-wide-a",
        "hard",
        "the grid that reads A overlays its stripe with whole reads",
        (lambda k_blk, m_dima, wide: k_blk % (m_dima * wide) == 0)
        if p.turned_a
        else (lambda m_blk, m_dima, wide: m_blk % (m_dima * wide) == 0),
    )
    yield Rule(
        "overlay-wide-b",
        "hard",
        "the grid that reads B overlays its stripe with whole reads",
        (lambda n_blk, m_dimb, wide: n_blk % (m_dimb * wide) == 0)
        if p.turned_b
        else (lambda k_blk, m_dimb, wide: k_blk % (m_dimb * wide) == 0),
    )
    yield Rule(
        "access-width-shared",
        "hard",
        "one access moves 16 bytes at most",
        lambda vec: vec * size <= WIDEST,
    )
    yield Rule(
        "vec-divides",
        "hard",
        "groups of vec rows and columns fill a thread's tile",
        lambda n_dim, m_dim, n_blk, m_blk, vec: (m_blk % (m_dim * vec) == 0) & (n_blk % (n_dim * vec) == 0),
    )


def _of_the_warps(p: Problem, device: Device) -> Iterator[Rule]:
    """How warps overlay the tile, share it with other blocks and multiply by tensor cores."""
    columns, vec_of_mma = (2, 1) if p.dtype.is_complex else (4, 2)
    yield Rule(
        "lanes-divide",
        "hard",
        "warps overlay the thread grid",
        lambda n_dim, m_dim, lanes: (m_dim % lanes == 0) & (n_dim % (32 // lanes) == 0),
    )
    yield Rule(
        "cluster",
        "tabled",
        "blocks share a tile through clusters, which the device has (9.0 and above)",
        lambda split: (split == 1) | ("clusters" in device.supports),
    )
    yield Rule(
        "early-c",
        "hard",
        "there is a C to read, and one block reads it",
        lambda split, early: (early == 0) | ((split == 1) & (p.beta != "0")),
    )
    yield Rule(
        "mma-device",
        "tabled",
        "the device has float64 products of 16 x 8 x 4 on tensor cores (9.0 and above)",
        lambda mma: (mma == 0) | ("mma_f64_m16" in device.supports),
    )
    yield Rule(
        "mma-type",
        "hard",
        "tensor cores take float64, in warps of 8 x 4 threads",
        lambda lanes, mma: (mma == 0) | ((p.dtype.real_bits == 64) & (lanes == 8)),
    )
    yield Rule(
        "mma-tile",
        "hard",
        "a tensor-core product is 16 x 8 x 4",
        lambda n_dim, m_dim, k_blk, n_blk, m_blk, vec, mma: (
            (mma == 0)
            | (
                (m_blk // m_dim % 2 == 0)
                & (n_blk // n_dim % columns == 0)
                & (k_blk % 4 == 0)
                & (vec == vec_of_mma)
            )
        ),
    )


def _of_resident_blocks(p: Problem, device: Device) -> Iterator[Rule]:
    """What the blocks that the compiler is told to leave room for leave each other."""
    size, word = p.dtype.itemsize, words(p.dtype)
    yield Rule(
        "promise-matters",
        "hard",
        "a promise that leaves a thread all registers that it can address changes nothing",
        lambda n_dim, m_dim, min_blocks: (
            (min_blocks == 1)
            | (min_blocks * m_dim * n_dim * device["registers_per_thread"] > device["registers_per_sm"])
        ),
    )
    yield Rule(
        "promise-threads",
        "tabled",
        "the threads of the promised blocks fit on an SM",
        lambda n_dim, m_dim, min_blocks: min_blocks * m_dim * n_dim <= device["threads_per_sm"],
    )
    yield Rule(
        "promise-registers",
        "tabled",
        "the promised blocks leave each other the registers that the loop needs",
        lambda n_dim, m_dim, k_blk, n_blk, m_blk, min_blocks: (
            min_blocks * registers(n_dim, m_dim, k_blk, n_blk, m_blk, word) <= device["registers_per_sm"]
        ),
    )
    yield Rule(
        "promise-shared",
        "tabled",
        "the promised blocks leave each other the shared memory that they need",
        lambda k_blk, n_blk, m_blk, vec, buffers, split, mma, min_blocks: (
            min_blocks
            * (shared_bytes(k_blk, n_blk, m_blk, vec, buffers, split, mma, size) + device["shared_reserved"])
            <= device["shared_per_sm"]
        ),
    )


def _today(p: Problem, device: Device) -> Iterator[Rule]:
    """What is slow on devices that run the kernel."""
    yield from _of_shapes(p)
    yield from _of_narrow_reads(p)
    yield from _of_idle_sms(p, device)


def _of_shapes(p: Problem) -> Iterator[Rule]:
    """Blocks, steps, tiles and parts of a thread that share too little or are mostly outside."""
    fma = 4 if p.dtype.is_complex else 1
    yield Rule(
        "block-size",
        "soft",
        "fewer than 64 threads share too little, and more than 256 wait too long at a barrier",
        lambda n_dim, m_dim: (m_dim * n_dim <= 256) & (m_dim * n_dim >= min(64, max(32, p.m * p.n // 8))),
    )
    yield Rule(
        "step-worth",
        "soft",
        "a step of less than 8 real numbers along k is mostly barriers",
        lambda k_blk: k_blk * (2 if p.dtype.is_complex else 1) >= 8,
    )
    yield Rule(
        "step-in-k",
        "soft",
        "a step beyond the end of k multiplies zeros",
        lambda k_blk: (k_blk < 2 * p.k) | (k_blk == (4 if p.dtype.is_complex else 8)),
    )
    yield Rule(
        "tile-in-n",
        "soft",
        "half of a tile that is twice as wide as C is for nothing",
        lambda n_blk: (n_blk < 2 * p.n) | (n_blk == 16),
    )
    yield Rule(
        "tile-in-m",
        "soft",
        "half of a tile that is twice as high as C is for nothing",
        lambda m_blk: (m_blk < 2 * p.m) | (m_blk == 16),
    )
    yield Rule(
        "tile-shape",
        "soft",
        "a tile that is more than twice as long as wide reads more for the same work, unless C is as narrow",
        lambda n_blk, m_blk: (
            ((m_blk <= 2 * n_blk) | (n_blk >= p.n)) & ((n_blk <= 2 * m_blk) | (m_blk >= p.m))
        ),
    )
    yield Rule(
        "thread-shape",
        "soft",
        "a thread's part that is more than twice as long as wide loads more for the same work",
        lambda n_dim, m_dim, n_blk, m_blk: (
            ((m_blk // m_dim <= 2 * (n_blk // n_dim)) | (n_blk >= p.n))
            & ((n_blk // n_dim <= 2 * (m_blk // m_dim)) | (m_blk >= p.m))
        ),
    )
    yield Rule(
        "code-size",
        "soft",
        "the loop and the step after it hold a step each: beyond 2048 multiply-adds they crowd the caches",
        lambda n_dim, m_dim, k_blk, n_blk, m_blk: (
            (m_blk // m_dim) * (n_blk // n_dim) * k_blk * fma <= UNROLLED
        ),
    )


def _of_narrow_reads(p: Problem) -> Iterator[Rule]:
    """Reads that take more instructions, or more lines of memory, than they need."""
    size, most = p.dtype.itemsize, widest(p)
    yield Rule(
        "texture-path",
        "soft",
        "loads and textures share a cache since compute capability 7.0, and a texture reads less at once",
        lambda read: (read == "global") | (read == "ldg"),
    )
    yield Rule(
        "wide-enough",
        "soft",
        "narrower reads than type and alignment allow are more instructions for the same bytes",
        lambda wide: wide == most,
    )
    yield Rule(
        "rows-a",
        "soft",
        "rows of less than 16 elements in the grid that reads A take parts of many lines, if there is more",
        (lambda k_blk, m_dima, wide: m_dima * wide >= np.minimum(k_blk, 16))
        if p.turned_a
        else (lambda m_blk, m_dima, wide: m_dima * wide >= np.minimum(m_blk, 16)),
    )
    yield Rule(
        "rows-b",
        "soft",
        "rows of less than 16 elements in the grid that reads B take parts of many lines, if there is more",
        (lambda n_blk, m_dimb, wide: m_dimb * wide >= np.minimum(n_blk, 16))
        if p.turned_b
        else (lambda k_blk, m_dimb, wide: m_dimb * wide >= np.minimum(k_blk, 16)),
    )
    yield Rule(
        "vec-enough",
        "soft",
        "narrower reads from shared memory than a thread's tile allows are more instructions",
        lambda n_dim, m_dim, n_blk, m_blk, vec: (
            (2 * vec * size > WIDEST) | (m_blk % (2 * vec * m_dim) != 0) | (n_blk % (2 * vec * n_dim) != 0)
        ),
    )
    yield Rule(
        "warp-shape",
        "soft",
        "a warp that is as high as wide reads least from shared memory",
        lambda lanes: (lanes >= 4) & (lanes <= 16),
    )


def _of_idle_sms(p: Problem, device: Device) -> Iterator[Rule]:
    """When blocks share a tile, and k."""

    def tiles(n_blk: Any, m_blk: Any) -> Any:
        return -(-p.m // m_blk) * -(-p.n // n_blk) * p.batch

    yield Rule(
        "split-idle",
        "soft",
        "a tile is shared where there are fewer tiles than SMs",
        lambda n_blk, m_blk, split: (split == 1) | (tiles(n_blk, m_blk) * split <= 2 * device["sms"]),
    )
    yield Rule(
        "split-long",
        "soft",
        "a block's share of k is worth more than the exchange of sums",
        lambda k_blk, split: (split == 1) | (p.k >= 4 * k_blk * split),
    )


# -- the choice without a search ---------------------------------------------------------------------------
# For elements of 4, 8 and 16 bytes: threads along m and n, the step of k, rows and columns of the tile of C.
_TILES: dict[int, tuple[tuple[int, int, int, int, int], ...]] = {
    4: (
        (16, 16, 8, 128, 128),
        (16, 16, 16, 128, 128),
        (16, 16, 8, 256, 128),
        (16, 16, 8, 128, 256),
        (16, 8, 16, 128, 64),
        (8, 16, 16, 64, 128),
        (8, 8, 16, 64, 64),
        (16, 16, 16, 64, 64),
        (16, 8, 16, 64, 32),
        (8, 16, 16, 32, 64),
        (8, 8, 32, 32, 32),
        (32, 8, 8, 256, 32),
        (8, 32, 8, 32, 256),
        (32, 4, 16, 128, 16),
        (4, 32, 16, 16, 128),
        (8, 8, 32, 16, 16),
    ),
    8: (
        (16, 16, 8, 128, 128),
        (16, 16, 16, 64, 64),
        (16, 16, 8, 64, 64),
        (16, 16, 8, 128, 64),
        (16, 16, 8, 64, 128),
        (8, 8, 16, 32, 32),
        (16, 8, 16, 64, 32),
        (8, 16, 16, 32, 64),
        (32, 4, 16, 128, 16),
        (4, 32, 16, 16, 128),
        (8, 8, 32, 16, 16),
    ),
    16: (
        (16, 16, 8, 64, 64),
        (16, 8, 8, 64, 32),
        (8, 16, 8, 32, 64),
        (8, 8, 16, 32, 32),
        (32, 4, 8, 64, 16),
        (4, 32, 8, 16, 64),
        (8, 8, 16, 16, 16),
    ),
}


def _best(p: Problem, device: Device) -> Config:
    """The cheapest of a few good tiles by estimated time, each with clusters where C has few tiles."""
    shapes = _candidates(p.dtype, p.turned_a, p.turned_b, widest(p), device)
    fitting = [
        shape
        for shape in shapes
        if (split := shape[0]["split"]) == 1
        or (p.k >= 4 * shape[0]["k_blk"] * split and _tiles(p, shape[0]) * split <= 2 * device["sms"])
    ]
    return min(fitting, key=lambda shape: _clocks(p, shape[0], shape[1], device))[0]


def _tiles(p: Problem, config: Config) -> int:
    """Tiles of all C of a batch."""
    m_blk, n_blk = int(config["m_blk"]), int(config["n_blk"])
    return -(-p.m // m_blk) * -(-p.n // n_blk) * p.batch


@cache
def _candidates(
    dtype: DType, turned_a: bool, turned_b: bool, most: int, device: Device
) -> tuple[tuple[Config, int], ...]:
    """Good tiles with all else chosen for them, and how many of their blocks an SM holds."""
    found = []
    size = dtype.itemsize
    fma = 4 if dtype.is_complex else 1
    for m_dim, n_dim, k_blk, m_blk, n_blk in _TILES[size]:
        threads = m_dim * n_dim
        sums = m_blk * n_blk // threads
        if sums * k_blk * fma > UNROLLED:
            continue
        grids = (
            (
                wide,
                _grid(threads, wide, turned_a, m_blk, k_blk),
                _grid(threads, wide, not turned_b, n_blk, k_blk),
            )
            for wide in (4, 2, 1)
            if wide <= most and wide * size <= WIDEST
        )
        wide, a, b = next((wide, a, b) for wide, a, b in grids if a and b)
        vec = next(
            v
            for v in (4, 2, 1)
            if v * size <= WIDEST and m_blk % (m_dim * v) == 0 and n_blk % (n_dim * v) == 0
        )
        lanes = next(x for x in (8, 16, 4, 32) if m_dim % x == 0 and n_dim % (32 // x) == 0)
        # Tensor cores double what float64 can do, wherever their 16 x 8 x 4 products fill the tile.
        mma = (
            "mma_f64_m16" in device.supports
            and dtype.real_bits == 64
            and lanes == 8
            and vec * size == WIDEST
            and k_blk % 4 == 0
            and m_blk // m_dim % 2 == 0
            and n_blk // n_dim % (2 if dtype.is_complex else 4) == 0
        )
        needed = int(registers(n_dim, m_dim, k_blk, n_blk, m_blk, words(dtype)))
        # Two blocks of 256 threads have to be promised, or a thread takes more than half of all; the
        # compiler keeps that without spilling up to some 90 registers by the estimate.
        promised = threads == 256 and 8 * needed < 3 * device["registers_per_sm"]
        taken = 128 if promised else min(255, max(104, 32 + 5 * needed // (4 * threads)))
        for split in (1, 2, 4, 8) if "clusters" in device.supports else (1,):
            for buffers in (2, 1):
                shared = int(shared_bytes(k_blk, n_blk, m_blk, vec, buffers, split, int(mma), size))
                if shared <= device["shared_per_block_optin"]:
                    break
            else:
                continue
            blocks = min(
                int(resident(device["registers_per_sm"], taken * threads, threads, device)),
                int(resident(device["shared_per_sm"], shared + device["shared_reserved"], threads, device)),
            )
            values = {
                "n_dim": n_dim,
                "m_dim": m_dim,
                "k_blk": k_blk,
                "n_blk": n_blk,
                "m_blk": m_blk,
                "m_dima": a[0],
                "n_dima": a[1],
                "m_dimb": b[0],
                "n_dimb": b[1],
                "read": "global",
                "wide": wide,
                "vec": vec,
                "lanes": lanes,
                "buffers": buffers,
                "order": 1,
                "split": split,
                "early": 0,
                "mma": int(mma),
                "min_blocks": 2 if promised else 1,
            }
            found.append((Config(values), max(blocks, 1)))
    return tuple(found)


def _grid(threads: int, wide: int, k_along: bool, free: int, k_blk: int) -> tuple[int, int] | None:
    """The read grid of a stripe with the longest rows, no longer than a warp; None where none overlays it."""
    along, across = (k_blk, free) if k_along else (free, k_blk)
    shapes = [(m, threads // m) for m in (1, 2, 4, 8, 16, 32, 64, 128, 256) if threads % m == 0]
    fitting = [(m, n) for m, n in shapes if along % (m * wide) == 0 and across % n == 0]
    short = [shape for shape in fitting if shape[0] <= 32]
    return max(short, default=min(fitting, default=None))


def _clocks(p: Problem, config: Config, blocks: int, device: Device) -> float:
    """Estimated clocks of a product: the tiles of the busiest SM, each step of which takes as long as its
    multiply-adds or its reads, or as the latency of memory that the other blocks there do not hide."""
    c, size = config, p.dtype.itemsize
    m_blk, n_blk, k_blk, split = c["m_blk"], c["n_blk"], c["k_blk"], c["split"]
    threads, steps = c["m_dim"] * c["n_dim"], -(-p.k // (k_blk * split))
    deep = -(-_tiles(p, c) * split // device["sms"])
    together = min(blocks, deep)
    units = device.rates["fma.d"] * (1 + c["mma"]) if p.dtype.real_bits == 64 else device.rates["fma.s"]
    sums = m_blk * n_blk * (4 if p.dtype.is_complex else 1) / units
    # A warp's reads from shared memory hold every value twice or more: half of 128 bytes a clock.
    shared = threads * (m_blk // c["m_dim"] + n_blk // c["n_dim"]) * size / 256
    memory = (m_blk + n_blk) * size / 32
    # Fewer than 256 threads leave the latencies of multiply-adds and shared memory in the open.
    busy = min(1.0, together * threads / 256)
    work = k_blk * (max(sums, shared, memory) + shared / 8 + memory / 4) / busy
    step = max(work, MEMORY_LATENCY / together) + 60 / together
    stores = m_blk * n_blk * size / 32
    exchange = 1500 + stores if split > 1 else 0.0
    clocks: float = deep * (steps * step + stores) + -(-deep // blocks) * (1500 + exchange)
    return clocks
