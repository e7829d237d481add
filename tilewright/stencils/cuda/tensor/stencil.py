"""Batches of matrices up to a few hundred on tensor cores: space, choice and launch of tensor.cuh.

A. Abdelfattah, S. Tomov, J. Dongarra, "Matrix multiplication on batches of small matrices in half and
half-complex precisions" (2020): half and complex half, the latter in the standard layout of (re, im)
pairs; float64 by the same kernel. Its parameters keep their names:

    blk_m, blk_n, blk_k   the tile of C of a block and the depth of one step, of any size
    tc       the product that tensor cores are asked for: "16x16x16", "32x8x16", "8x32x16" by the wmma
             instructions that the paper had, "16x8x16" and those of float64 by mma, "64x8x16" by wgmma:
             four warps multiply together, and by any number of eights of columns at once
    dim_x, dim_y   the threads of a block while they read: dim_x along the stored columns, or the most that
             divides them; then they are regrouped into warps
    warps_m  warps of a matrix along m. The paper deals sub-tiles out one by one; in rectangles, what a
             warp has loaded is multiplied several times

and what later devices pay for:

    split    where a complex product is taken apart: "shared", into planes of re and im in shared memory
             (the paper's way), or "registers"; "none" for real types
    stages   steps in shared memory, all but one on their way; 1 is the paper's way: the next step waits in
             registers
    ahead    whether a warp loads the fragments of its next product before it multiplies those that it has
    early_c  whether what is read of C comes to shared memory while its tile is multiplied, or else to
             registers afterwards, as many words at a time as there is room for
    group    small matrices that share a block
    vec, vec_c   elements of one access to A and B, and to C
    blocks   of the whole grid, in multiples of the SMs: they stay and walk over tiles and batch

Sizes are in elements, shared memory in bytes. Functions on configs work on numbers and on NumPy arrays.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import product
from typing import Any

import numpy as np

from tilewright.model import Config, Device, Launch, Problem, Source
from tilewright.space import Param, Rule, Space
from tilewright.stencils.cuda import args
from tilewright.stencils.cuda.common import WIDEST, fitted, no_gpu, resident, resident_rules, too_old, units
from tilewright.stencils.cuda.source import asked, program
from tilewright.stencils.protocol import Stencil
from tilewright.targets.cuda.arguments import Argument

SHAPES: dict[str, tuple[int, int, int]] = {
    "16x16x16": (16, 16, 16),
    "32x8x16": (32, 8, 16),
    "8x32x16": (8, 32, 16),
    "16x8x16": (16, 8, 16),
    "8x8x4": (8, 8, 4),
    "16x8x4": (16, 8, 4),
    "16x8x8": (16, 8, 8),
    "64x8x16": (16, 8, 16),
}
"""Products of tensor cores by name, in the order in which the kernel counts them; m of one warp."""
WMMA = ("16x16x16", "32x8x16", "8x32x16")
WGMMA = "64x8x16"
HALF_SHAPES = ("16x8x16", *WMMA, WGMMA)
DOUBLE_SHAPES = ("16x8x4", "16x8x8", "16x8x16", "8x8x4")
SPLITS = ("registers", "shared")
LARGEST = 1024
"""Extent up to which the kernel is offered; it is meant for 8 to 256."""
PER_SM = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16)
MARGIN = 24
"""Registers beyond those that are counted that the compiler is left with, so that it spills none."""
MARGIN_AHEAD = 16
"""The same where fragments of two products are counted: one of them gives way to addresses in turns."""


# -- what the kernel derives, in the same words -----------------------------------------------------------
def _padded(along: Any, rest: int, unit: int) -> Any:
    return along + (rest + unit - along % unit) % unit


def _pitch(p: Problem, tc: Any, planes: Any, k_along: bool, along: Any) -> Any:
    """Elements from one stored column of a stripe to the next."""
    if p.dtype.real_bits == 16:
        pairs = _padded(along, 4, 8) if k_along else _padded(along, 8, 16)
        halves = np.where(_is_wmma(tc), _padded(along, 16, 32), _padded(along, 8, 16))
        return np.where(np.logical_not(planes), pairs, halves) if p.dtype.is_complex else halves
    plain = _padded(along, 4, 8)
    if p.dtype.is_complex and not k_along:
        return np.where(planes, plain, _padded(along, 2, 4))
    return plain


def _one_of(tc: Any, names: tuple[str, ...]) -> Any:
    return np.isin(tc, names)


def _is_wmma(tc: Any) -> Any:
    return _one_of(tc, WMMA)


def _tc(tc: Any, axis: int) -> Any:
    """m, n or k (0, 1, 2) of a product, by its name or by an array of names."""
    if isinstance(tc, str):
        return SHAPES[tc][axis]
    return np.select([tc == name for name in SHAPES], [shape[axis] for shape in SHAPES.values()])


def step_of(p: Problem, tc: Any, split: Any) -> Any:
    """Elements along k of one product: half as many where a pair is two neighbours in k."""
    pairs = (split == "registers") & (p.dtype.real_bits == 16)
    return _tc(tc, 2) // (1 + 1 * pairs)


def shared_bytes(
    p: Problem,
    tc: Any,
    split: Any,
    stages: Any,
    early_c: Any,
    blk: tuple[Any, Any, Any],
    warps: tuple[Any, Any, Any],
) -> Any:
    """Shared memory of a block: the ring of stripes, what results are gathered in, C where it comes early.

    ``blk`` is (blk_m, blk_n, blk_k), ``warps`` is (warps of the block, group, warps_m).
    """
    blk_m, blk_n, blk_k = blk
    all_warps, group, warps_m = warps
    planes = split == "shared"
    along_a, across_a = (blk_k, blk_m) if p.turned_a else (blk_m, blk_k)
    along_b, across_b = (blk_n, blk_k) if p.turned_b else (blk_k, blk_n)
    stripe_a = group * across_a * _pitch(p, tc, planes, p.turned_a, along_a) * p.dtype.itemsize
    stripe_b = group * across_b * _pitch(p, tc, planes, not p.turned_b, along_b) * p.dtype.itemsize
    # What warp groups read is not padded, and begins at multiples of 1024 bytes.
    groups = np.equal(tc, WGMMA)
    stripe_a = np.where(groups, -(-stripe_a // 1024) * 1024, stripe_a)
    stripe_b = np.where(groups, group * blk_n * 128, stripe_b)
    ring = stages * (stripe_a + stripe_b) + early_c * blk_m * blk_n * group * p.dtype.itemsize
    if p.dtype.real_bits == 64:
        return ring
    wmma = _is_wmma(tc)
    warps_n = np.maximum(all_warps // group // warps_m, 1)
    warp_m, warp_n = blk_m // warps_m, blk_n // warps_n
    # By mma alone, what nothing is added to is gathered as halves.
    halves = np.logical_not(wmma) & (p.beta == "0")
    most = np.where(halves & (warp_n % 32 == 0), 32, 16)
    columns = np.where(wmma, _tc(tc, 1), np.where(warp_n % 16 == 0, most, 8))
    column = np.where(halves, (warp_m + 8) * 2, (warp_m + 4 + 4 * wmma) * 4)
    out = all_warps * (2 if p.dtype.is_complex else 1) * column * columns
    return ring + out * (wmma | (not p.dtype.is_complex))


def registers(
    p: Problem,
    tc: Any,
    split: Any,
    stages: Any,
    ahead: Any,
    blk: tuple[Any, Any, Any],
    warps: tuple[Any, Any, Any],
) -> Any:
    """32-bit registers of a thread that the loop cannot do without: sums, fragments of one product along k or
    of two, what waits for the next step, and some for addresses. The others are as in ``shared_bytes``."""
    blk_m, blk_n, blk_k = blk
    all_warps, group, warps_m = warps
    warps_n = np.maximum(all_warps // group // warps_m, 1)
    warp_m, warp_n = blk_m // warps_m, blk_n // warps_n
    word = p.dtype.real_bits // 64 + 1
    sums = warp_m * warp_n // 32 * (2 if p.dtype.is_complex else 1) * word
    parts = 1 + 1 * (p.dtype.is_complex & ((split == "shared") | (p.dtype.real_bits == 64)))
    fragments = (warp_m + warp_n) // 8 * parts * np.where(p.dtype.real_bits == 64, _tc(tc, 2) // 2, 2)
    # Warp groups have the rows of a whole step, and columns of none.
    rows = warp_m * blk_k * p.dtype.itemsize // 128 * (2 if p.dtype.is_complex else 1)
    fragments = np.where(np.equal(tc, WGMMA), rows, fragments)
    waiting = (blk_m + blk_n) * blk_k * group * p.dtype.itemsize // (128 * all_warps)
    # A single half takes a register of its own.
    waiting = waiting * (2 if min(units(p)[:2]) < 4 else 1)
    # Scalars of two words, and columns of B with their signs turned.
    turned = 16 if p.dtype.letter == "z" else 0
    return 40 + sums + fragments * (1 + ahead) + waiting * (stages == 1) + turned


# -- the stencil -------------------------------------------------------------------------------------------
class TensorStencil(Stencil):
    """``tensor``: tiles of C on tensor cores, as the five functions of the protocol."""

    name = "tensor"
    target = "cuda"

    def accepts(self, problem: Problem, device: Device) -> str | None:
        p = problem
        if p.dtype.letter not in SPELLED:
            return f"type {p.dtype.letter} is not one of {', '.join(SPELLED)}"
        reason = no_gpu(device)
        if reason is not None:
            return reason
        if min(p.m, p.n, p.batch) < 1:
            return "there is nothing to compute"
        if max(p.m, p.n, p.k) > LARGEST:
            return f"{p.m}x{p.n}x{p.k} has an extent above {LARGEST}"
        if p.batch >= 2**31 - 2**16:
            return f"a batch of {p.batch} is 2^31 or close to it"
        if p.batch > 1 and p.strides[2] == 0:
            return "all products would be written to one C"
        if p.align % p.dtype.itemsize:
            return f"addresses are multiples of {p.align} bytes only, not of an element's {p.dtype.itemsize}"
        return None

    def runs(self, device: Device) -> str | None:
        return too_old(device)

    def needs_record(self, problem: Problem) -> bool:
        """Untuned, it made 0.32 to 0.97 of cuBLAS on an H200, batches of 96 to 512 in float16 and float64."""
        return True

    def space(self, problem: Problem, device: Device) -> Space:
        return Space(_params(problem, device), list(_rules(problem, device)), elementwise=True)

    def default(self, problem: Problem, device: Device) -> Config:
        return _best(problem, device)

    def source(self, problem: Problem, config: Config, device: Device) -> Source:
        defines = asked(problem) | {name.upper(): value for name, value in config.items()}
        defines["TC"] = tuple(SHAPES).index(config["tc"])
        defines["SPLIT"] = int(config["split"] == "shared")
        # Registers are promised to as many blocks as are to stay on an SM.
        defines["BLOCKS"] = -(-config["blocks"] // device["sms"])
        text, headers = program("tensor")
        return Source(text, "tensor", headers, tuple((n, str(value)) for n, value in defines.items()))

    def arguments(self, problem: Problem, config: Config) -> tuple[Argument, ...]:
        return args.gemm(problem)

    def launch(self, problem: Problem, config: Config) -> Launch:
        p, c = problem, config
        threads = c["dim_x"] * c["dim_y"]
        tiles = -(-p.m // c["blk_m"]) * -(-p.n // c["blk_n"]) * -(-p.batch // c["group"])
        return Launch(
            grid=(min(c["blocks"], max(tiles, 1)), 1, 1),
            block=(threads, 1, 1),
            shared=int(
                shared_bytes(
                    p,
                    c["tc"],
                    c["split"],
                    c["stages"],
                    c["early_c"],
                    (c["blk_m"], c["blk_n"], c["blk_k"]),
                    (threads // 32, c["group"], c["warps_m"]),
                )
            ),
        )


SPELLED = ("h", "b", "hc", "d", "z")
"""The types that are accepted, by their letters."""


# -- the space ---------------------------------------------------------------------------------------------
def _params(p: Problem, device: Device) -> list[Param]:
    half = p.dtype.real_bits == 16
    widths = tuple(w for w in (8, 4, 2, 1) if w * p.dtype.itemsize <= WIDEST)
    return [
        Param("tc", HALF_SHAPES if half else DOUBLE_SHAPES),
        Param("split", SPLITS if p.dtype.is_complex else ("none",)),
        Param("stages", (1, 2, 3, 4, 6)),
        Param("ahead", (0, 1)),
        Param("early_c", (0, 1) if p.beta != "0" else (0,)),
        Param("vec", widths),
        Param("vec_c", widths),
        Param("blk_k", (8, 16, 32, 48, 64) if half else (4, 8, 16, 32)),
        Param("blk_m", (8, 16, 32, 48, 64, 96, 128, 192, 256)),
        Param("blk_n", (8, 16, 24, 32, 40, 48, 56, 64, 96, 128, 192, 256)),
        Param("dim_x", (1, 2, 4, 8, 16, 32)),
        Param("dim_y", (1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 256)),
        Param("group", (1, 2, 4, 8)),
        Param("warps_m", (1, 2, 3, 4, 8)),
        Param("blocks", tuple(count * device["sms"] for count in PER_SM)),
    ]


def _rules(p: Problem, device: Device) -> Iterator[Rule]:
    yield from _of_the_product(p, device)
    yield from _of_warp_groups(p, device)
    yield from _of_the_reads(p)
    yield from _of_the_warps(p, device)
    yield from _of_the_sizes(p)


def _of_the_product(p: Problem, device: Device) -> Iterator[Rule]:
    """What tensor cores take, and how it comes into shared memory."""
    size, half, is_complex = p.dtype.itemsize, p.dtype.real_bits == 16, p.dtype.is_complex
    names = HALF_SHAPES if half else DOUBLE_SHAPES
    yield Rule(
        "tc-type",
        "hard",
        "tensor cores multiply this type in this shape",
        lambda tc: _one_of(tc, names),
    )
    yield Rule(
        "mma-device",
        "tabled",
        "the device has float64 products of 16 rows (9.0 and above)",
        lambda tc: half | (tc == "8x8x4") | ("mma_f64_m16" in device.supports),
    )
    yield Rule(
        "half-rate",
        "soft",
        "float64 products of 8 rows take twice the time where there are larger ones",
        lambda tc: (tc != "8x8x4") | ("mma_f64_m16" not in device.supports) | (p.m <= 8),
    )
    yield Rule(
        "split-complex",
        "hard",
        "only pairs can be split",
        lambda split: is_complex | (split != "shared"),
    )
    yield Rule(
        "wmma-planes",
        "hard",
        "wmma takes planes, because its fragments hide what is a pair",
        lambda tc, split: np.logical_not(_is_wmma(tc)) | (not is_complex) | (split == "shared"),
    )
    yield Rule(
        "planes-by-registers",
        "hard",
        "what is split passes through registers",
        lambda split, stages: (split != "shared") | (stages == 1),
    )
    yield Rule(
        "ahead-copies",
        "hard",
        "what is loaded ahead has been copied to shared memory",
        lambda stages, ahead: (ahead == 0) | (stages > 1),
    )
    yield Rule(
        "ahead-mma",
        "hard",
        "only fragments of mma are loaded ahead by choice",
        lambda tc, ahead: (ahead == 0) | np.logical_not(_is_wmma(tc) | (tc == WGMMA)),
    )
    yield Rule(
        "access-width",
        "hard",
        "one access moves 16 bytes at most",
        lambda vec: vec * size <= WIDEST,
    )
    yield Rule(
        "copy-width",
        "hard",
        "copies to shared memory move 4 bytes or more",
        lambda stages, vec: (stages == 1) | (vec * size >= 4),
    )
    yield Rule(
        "early-read",
        "hard",
        "nothing of C comes early where it is not read",
        lambda early_c: (early_c == 0) | (p.beta != "0"),
    )
    yield Rule(
        "early-copies",
        "hard",
        "C is copied to shared memory where the steps are",
        lambda stages, early_c: (early_c == 0) | (stages > 1),
    )
    yield Rule(
        "early-width",
        "hard",
        "copies to shared memory move 4 bytes or more",
        lambda early_c, vec_c: (early_c == 0) | (vec_c * size >= 4),
    )
    yield Rule(
        "access-width-c",
        "hard",
        "one access moves 16 bytes at most",
        lambda vec_c: vec_c * size <= WIDEST,
    )


def _of_warp_groups(p: Problem, device: Device) -> Iterator[Rule]:
    """What warp groups need, beside what the others do."""
    size = p.dtype.itemsize
    yield Rule(
        "wgmma-device",
        "hard",
        "the device has products of warp groups (9.0 alone)",
        lambda tc: (tc != WGMMA) | ("wgmma" in device.supports),
    )
    yield Rule(
        "wgmma-group",
        "hard",
        "four warps multiply together, one below the other",
        lambda tc, warps_m: (tc != WGMMA) | (warps_m % 4 == 0),
    )
    yield Rule(
        "wgmma-columns",
        "hard",
        "warp groups multiply 16 to 128 columns in sixteens, 192, or 256",
        lambda tc, blk_n, dim_x, dim_y, group, warps_m: (
            (tc != WGMMA) | _columns(blk_n // np.maximum(dim_x * dim_y // 32 // group // warps_m, 1))
        ),
    )
    yield Rule(
        "wgmma-step",
        "hard",
        "tensor cores read B in rows of 128 bytes along k",
        lambda tc, blk_k: (tc != WGMMA) | ((not p.turned_b) & (blk_k * size == 128)),
    )
    yield Rule(
        "wgmma-words",
        "hard",
        "in rows of B, words of 16 bytes change places",
        lambda tc, vec: (tc != WGMMA) | (vec * size == WIDEST),
    )
    yield Rule(
        "wgmma-stages",
        "hard",
        "one step is multiplied, the next is there, others come",
        lambda tc, stages: (tc != WGMMA) | (stages >= 3),
    )
    yield Rule(
        "wgmma-pairs",
        "hard",
        "warp groups multiply pairs as they are",
        lambda tc, split: (tc != WGMMA) | (split != "shared"),
    )


def _columns(n: Any) -> Any:
    return (n % 16 == 0) & (n <= 256) & ((n <= 128) | (n % 64 == 0))


def _of_the_reads(p: Problem) -> Iterator[Rule]:
    """How wide an access may be, and which are worth it."""
    size = p.dtype.itemsize
    unit_a, unit_b, unit_c = units(p)
    unit = min(unit_a, unit_b)
    yield Rule(
        "aligned",
        "hard",
        "addresses, leading dimensions and strides of A and B are whole reads",
        lambda vec: unit % (vec * size) == 0,
    )
    yield Rule(
        "aligned-c",
        "hard",
        "addresses, leading dimensions and strides of C are whole accesses",
        lambda vec_c: unit_c % (vec_c * size) == 0,
    )
    yield Rule(
        "wide",
        "soft",
        "the widest read that is aligned is the fastest",
        lambda vec: 2 * vec * size > unit,
    )
    yield Rule(
        "wide-c",
        "soft",
        "the widest access that is aligned is the fastest",
        lambda vec_c: 2 * vec_c * size > unit_c,
    )
    yield Rule(
        "step-whole",
        "hard",
        "a step is made of whole products",
        lambda tc, split, blk_k: blk_k % step_of(p, tc, split) == 0,
    )
    yield Rule(
        "stripe-a",
        "hard",
        "stored columns of a stripe are whole reads",
        (lambda vec, blk_k: blk_k % vec == 0) if p.turned_a else (lambda vec, blk_m: blk_m % vec == 0),
    )
    yield Rule(
        "stripe-b",
        "hard",
        "stored columns of a stripe are whole reads",
        (lambda vec, blk_n: blk_n % vec == 0) if p.turned_b else (lambda vec, blk_k: blk_k % vec == 0),
    )
    yield Rule(
        "wmma-aligned-a",
        "hard",
        "fragments of wmma begin at multiples of 32 bytes",
        lambda tc, blk_m: (tc != "8x32x16") | p.turned_a | (blk_m == 8),
    )
    yield Rule(
        "wmma-aligned-b",
        "hard",
        "fragments of wmma begin at multiples of 32 bytes",
        lambda tc, blk_n: (tc != "32x8x16") | (not p.turned_b) | (blk_n == 8),
    )
    yield Rule(
        "dim-x-used",
        "soft",
        "no stored column of a stripe has more reads than dim_x: fewer threads along it do the same",
        lambda vec, blk_k, blk_m, blk_n, dim_x: dim_x <= _words(p, vec, blk_m, blk_n, blk_k),
    )
    yield Rule(
        "coalesced",
        "soft",
        "neighbouring threads read 32 bytes or a whole column",
        lambda vec, blk_k, blk_m, blk_n, dim_x: (
            (dim_x * vec * size >= 32) | (dim_x == _words(p, vec, blk_m, blk_n, blk_k))
        ),
    )


def _of_the_warps(p: Problem, device: Device) -> Iterator[Rule]:
    """How the tile is dealt out, and what the device can hold."""

    def hold(dim_x: Any, dim_y: Any, group: Any, warps_m: Any) -> tuple[Any, Any, Any]:
        return np.maximum(dim_x * dim_y // 32, 1), group, warps_m

    yield Rule(
        "threads-per-block",
        "queryable",
        "a block has no more threads than the device allows",
        lambda dim_x, dim_y: dim_x * dim_y <= device["threads_per_block"],
    )
    yield Rule(
        "whole-warps",
        "hard",
        "threads come in warps",
        lambda dim_x, dim_y: dim_x * dim_y % 32 == 0,
    )
    yield Rule(
        "block-size",
        "soft",
        "more than 8 warps wait too long at a barrier",
        lambda dim_x, dim_y: dim_x * dim_y <= 256,
    )
    yield Rule(
        "group-warps",
        "hard",
        "every matrix of a group has as many warps",
        lambda dim_x, dim_y, group: dim_x * dim_y // 32 % group == 0,
    )
    yield Rule(
        "group-small",
        "soft",
        "matrices share a block where a warp or two are enough for one",
        lambda blk_m, blk_n, group: (
            (group == 1) | ((blk_m >= p.m) & (blk_n >= p.n) & (blk_m * blk_n <= 2048))
        ),
    )
    yield Rule(
        "warps-dealt",
        "hard",
        "the warps of a matrix form a grid over its tile",
        lambda dim_x, dim_y, group, warps_m: (
            (dim_x * dim_y // 32 // group > 0) & (dim_x * dim_y // 32 // group % warps_m == 0)
        ),
    )
    yield Rule(
        "tile-dealt-m",
        "hard",
        "every warp has whole products along m",
        lambda tc, blk_m, warps_m: blk_m % (_tc(tc, 0) * warps_m) == 0,
    )
    yield Rule(
        "tile-dealt-n",
        "hard",
        "every warp has whole products along n",
        lambda tc, blk_n, dim_x, dim_y, group, warps_m: (
            blk_n % (_tc(tc, 1) * np.maximum(dim_x * dim_y // 32 // group // warps_m, 1)) == 0
        ),
    )
    yield Rule(
        "warp-shape",
        "soft",
        "a warp's part that is much longer than wide loads more for the same work",
        lambda tc, blk_m, blk_n, dim_x, dim_y, group, warps_m: (
            (tc == WGMMA) | _shapely(p, blk_m, blk_n, np.maximum(dim_x * dim_y // 32 // group, 1), warps_m)
        ),
    )
    yield Rule(
        "busy",
        "soft",
        "half of the threads have something to read, or more",
        lambda vec, blk_k, blk_m, blk_n, dim_x, dim_y, group: (
            _reading(p, vec, (blk_m, blk_n, blk_k), group, dim_x, np.maximum(dim_x * dim_y, 1)) >= 0.5
        ),
    )
    yield Rule(
        "registers-per-thread",
        "tabled",
        "the registers that the loop cannot do without can be addressed",
        lambda tc, split, stages, ahead, blk_k, blk_m, blk_n, dim_x, dim_y, group, warps_m: (
            registers(p, tc, split, stages, ahead, (blk_m, blk_n, blk_k), hold(dim_x, dim_y, group, warps_m))
            <= device["registers_per_thread"]
        ),
    )
    yield Rule(
        "shared-per-block",
        "queryable",
        "the ring fits in the shared memory that a block may ask for",
        lambda tc, split, stages, early_c, blk_k, blk_m, blk_n, dim_x, dim_y, group, warps_m: (
            shared_bytes(
                *(p, tc, split, stages, early_c), (blk_m, blk_n, blk_k), hold(dim_x, dim_y, group, warps_m)
            )
            <= device["shared_per_block_optin"]
        ),
    )
    yield from resident_rules(
        device,
        lambda dim_x, dim_y: dim_x * dim_y,
        lambda tc, split, stages, ahead, blk_k, blk_m, blk_n, dim_x, dim_y, group, warps_m: (
            registers(p, tc, split, stages, ahead, (blk_m, blk_n, blk_k), hold(dim_x, dim_y, group, warps_m))
            * (dim_x * dim_y)
        ),
        lambda tc, split, stages, early_c, blk_k, blk_m, blk_n, dim_x, dim_y, group, warps_m: shared_bytes(
            *(p, tc, split, stages, early_c), (blk_m, blk_n, blk_k), hold(dim_x, dim_y, group, warps_m)
        ),
        first="promise-threads",
    )
    yield Rule(
        "warps-enough",
        "soft",
        "an SM has a warp for each of its four schedulers",
        lambda dim_x, dim_y, blocks: dim_x * dim_y * (blocks // device["sms"]) >= 128,
    )


def _of_the_sizes(p: Problem) -> Iterator[Rule]:
    """No tile and no step is much larger than what there is."""
    least = 16 if p.dtype.real_bits == 16 else 8
    yield Rule(
        "step-in-k",
        "soft",
        "a step beyond the end of k multiplies zeros",
        lambda blk_k: (blk_k < p.k + 16) | (blk_k <= 16),
    )
    yield Rule(
        "tile-in-m",
        "soft",
        "half of a tile that is twice as high as C is for nothing",
        lambda blk_m: (blk_m < 2 * p.m) | (blk_m <= least),
    )
    yield Rule(
        "tile-in-n",
        "soft",
        "half of a tile that is twice as wide as C is for nothing",
        lambda blk_n: (blk_n < 2 * p.n) | (blk_n <= 8),
    )
    yield Rule(
        "tile-shape",
        "soft",
        "a tile that is more than twice as long as wide reads more for the same work, unless C is as narrow",
        lambda blk_m, blk_n: (
            ((blk_m <= 2 * blk_n) | (blk_n >= p.n)) & ((blk_n <= 2 * blk_m) | (blk_m >= p.m))
        ),
    )


def _words(p: Problem, vec: Any, blk_m: Any, blk_n: Any, blk_k: Any) -> Any:
    """Reads of the longer of the stored columns of both stripes."""
    return np.maximum(blk_k if p.turned_a else blk_m, blk_n if p.turned_b else blk_k) // vec


def _reading(p: Problem, vec: Any, blk: tuple[Any, Any, Any], group: Any, dim_x: Any, threads: Any) -> Any:
    """The part of the threads that read the stripe that keeps fewer of them busy."""
    blk_m, blk_n, blk_k = blk
    stripes = (
        (blk_k, blk_m) if p.turned_a else (blk_m, blk_k),
        (blk_n, blk_k) if p.turned_b else (blk_k, blk_n),
    )
    parts = []
    for along, columns in stripes:
        across = threads // np.gcd(dim_x, np.maximum(along // vec, 1))
        turns = -(-columns * group // np.maximum(across, 1))
        parts.append(columns * group / np.maximum(turns * across, 1))
    return np.minimum(*parts)


def _shapely(p: Problem, blk_m: Any, blk_n: Any, warps: Any, warps_m: Any) -> Any:
    tall, long = blk_m // warps_m, blk_n // np.maximum(warps // warps_m, 1)
    # Halves are gathered a few columns of a warp at a time: tall parts are read and written in fewer turns.
    most = 3 if p.dtype.real_bits == 64 else 4 if p.dtype.is_complex else 8
    most = 4 if p.dtype.letter == "d" and p.k <= 32 else most
    return ((tall <= most * long) | (blk_n <= 16)) & ((long <= 3 * tall) | (blk_m <= 16))


# -- the choice without a search ---------------------------------------------------------------------------
# Parts of C of one warp, by whether the type is a half and whether it is complex: as large as registers allow
# for the largest, because what a warp has loaded is then multiplied most often.
_PARTS: dict[tuple[bool, bool], tuple[tuple[int, int], ...]] = {
    (True, False): (
        *((16, 8), (16, 16), (32, 16), (32, 32), (48, 24), (48, 48), (64, 16), (64, 32), (64, 64)),
        *((96, 24), (128, 16)),
    ),
    (True, True): ((16, 8), (16, 16), (32, 16), (32, 32), (48, 24), (48, 48), (64, 16), (64, 32)),
    (False, False): ((8, 8), (16, 8), (16, 16), (32, 8), (32, 16), (32, 32), (48, 24), (64, 32)),
    (False, True): ((8, 8), (16, 8), (16, 16), (32, 16), (32, 32)),
}
_WARPS = ((1, 1), (1, 2), (2, 1), (2, 2), (1, 4), (2, 4), (4, 2), (1, 8))
_NAMES = ("blk_m", "blk_n", "blk_k", "warps_m", "warps_n", "group", "stages", "per_sm", "ahead")


@cache
def _candidates(half: bool, is_complex: bool) -> dict[str, Any]:
    """Columns of candidates: parts of a warp times warps, steps, groups, stages, blocks of an SM."""
    tiles = product(_PARTS[half, is_complex], _WARPS, (8, 16, 32, 64) if half else (8, 16, 32))
    known = {8, 16, 24, 32, 48, 64, 96, 128, 192, 256}
    rows = [
        (part_m * warps_m, part_n * warps_n, blk_k, warps_m, warps_n, group, stages, per_sm, ahead)
        for (part_m, part_n), (warps_m, warps_n), blk_k in tiles
        if {part_m * warps_m, part_n * warps_n} <= known
        for group, stages, per_sm in product((1, 2, 4, 8), (1, 2, 3, 4, 6), (1, 2, 3, 4, 5, 6, 8))
        for ahead in ((0, 1) if half and stages > 1 and part_m * part_n >= 512 else (0,))
        if warps_m * warps_n * group <= 8
        and warps_m * warps_n * group * per_sm >= 4
        and (group == 1 or part_m * warps_m * part_n * warps_n <= 2048)
        and stages * blk_k <= (256 if half else 64)
    ]
    return dict(zip(_NAMES, np.array(rows).T, strict=True))


def _modelled(p: Problem, device: Device, columns: dict[str, Any]) -> Any:
    """Clocks of the whole batch by a model of one SM, for columns of candidates.

    A tile takes a little more than the largest of what tensor cores, shared memory and device memory need for
    it, and what one block needs, one thing after the other, over the blocks that overlap. The constants are
    in ``data/tensor.json``.
    """
    half, is_complex, size = p.dtype.real_bits == 16, p.dtype.is_complex, p.dtype.itemsize
    reads_c, x = p.beta != "0", fitted("tensor", device)
    sms = device["sms"]
    blk_m, blk_n, blk_k, warps_m, warps_n, group, stages, per_sm, ahead = (columns[name] for name in _NAMES)
    warps = warps_m * warps_n * group
    tiles = -(-p.m // blk_m) * -(-p.n // blk_n)
    steps = np.maximum(-(-p.k // blk_k), 1)
    deep = steps * blk_k
    items = -(-p.batch // group) * tiles
    stay = np.minimum(per_sm, -(-items // sms))
    letter = "h" if half else "d"
    rate = x[f"reached_{letter}"] * device.rates[f"mma.{letter}"]
    sums = blk_m * blk_n * deep * group * (4 if is_complex else 1) / rate
    loads = (blk_m * warps_n + blk_n * warps_m + blk_m + blk_n) * deep * size * group / 128
    stripes = (blk_m + blk_n) * blk_k * group * size
    unique = p.bytes * np.minimum(group, p.batch) / tiles / x["unique"]
    results = blk_m * blk_n * group * size
    passed = (stripes * steps + results * (2 if reads_c else 1)) / x["passed"]
    # Bytes on their way hide the latency of memory: Little's law. What is loaded ahead frees a stage early.
    flying = stay * stripes * np.maximum(stages - 1 + 0.5 * ahead, 1)
    # C is read in batches of as many words as there are registers for: 16 at most, and of the columns that
    # halves are gathered in. Where registers are left, a batch is on its way while one is used.
    warp_m, warp_n = blk_m // warps_m, blk_n // warps_n
    kept = warp_m * warp_n // 32 * (size // 2 if half else size // 4)
    room = np.minimum(65536 // (32 * warps * per_sm), 255) - kept - 72 - ahead * (warp_m + warp_n) // 4
    sets = np.where(room >= 48, 2, 1)
    wide = 8 if half and is_complex else WIDEST
    together = np.clip(room * 4 // (wide * sets), 1, 16)
    gathered = np.where(warp_n % 16 == 0, 16, 8) if half and not is_complex else warp_n
    words = -(-warp_m * gathered * size // (32 * wide))
    batches = warp_n // gathered * -(-words // together)
    # Two words where a tile reaches beyond C.
    inside = (p.m // blk_m) * (p.n // blk_n) / tiles
    batches = inside * (1 + (batches - 1) / sets) + (1 - inside) * warp_n // gathered * words / 2
    flying = flying + stay * 32 * warps * np.minimum(words, together * sets) * wide * reads_c
    memory = (unique + passed) * (1 + (x["flying"] * 1024 / flying) ** x["sharp"]) ** (1 / x["sharp"])
    held = stages == 1
    waits = np.where(held, x["start_held"] + x["step_held"] * steps, x["start"] + x["step"] * steps)
    # Instructions beside products: addresses, results. A warp has one at a time.
    each = x["fixed"] + x["by_step"] * steps
    each = each + blk_m * blk_n * group * (x["write"] + x["read"] * reads_c) / 32 / warps
    waits = waits + x["look"] * batches * reads_c + x["each"] * each
    # Warps of a scheduler multiply while others load, and so does a warp that loads ahead.
    slow = sums * np.maximum(1, 4 / warps)
    over = np.minimum(slow, loads) * (1 - x["ahead"] * ahead) / np.maximum(1, warps / 4)
    alone = waits + np.maximum(slow, loads) + over + np.where(held, 1, x["hidden"]) * memory / stay
    # What takes nearly as long as the longest is in its way.
    parts = (sums, loads, memory, warps * each / 4, alone / stay)
    time = sum(part ** x["sharp"] for part in parts) ** (1 / x["sharp"])
    # Blocks of an SM are in each other's way, as are idle stages; few warps wait for themselves.
    crowd = x["crowd_read"] if reads_c else x["crowd"]
    time = time * (1 + crowd * (stay - 1)) * (1 + x["lone"] * np.maximum(4 / (warps_m * warps_n) - 1, 0))
    time = time * (1 + x["spare"] * stages)
    return -(-items // (sms * stay)) * stay * time


def _fitting(p: Problem, device: Device, tc: str, split: str, columns: dict[str, Any]) -> Any:
    """Which candidates obey the hard rules; of those the ones that the soft rules want, if there are any."""
    half, size = p.dtype.real_bits == 16, p.dtype.itemsize
    vec = min(units(p)[:2]) // size
    blk_m, blk_n, blk_k, warps_m, warps_n, group, stages, per_sm, ahead = (columns[name] for name in _NAMES)
    warps, blk = warps_m * warps_n * group, (blk_m, blk_n, blk_k)
    along = (blk_k if p.turned_a else blk_m, blk_n if p.turned_b else blk_k)
    shared = shared_bytes(p, tc, split, stages, 0, blk, (warps, group, warps_m))
    needed = registers(p, tc, split, stages, ahead, blk, (warps, group, warps_m))
    needed = needed + np.where(ahead == 1, MARGIN_AHEAD, MARGIN)
    fits = (shared <= device["shared_per_block_optin"]) & (needed <= device["registers_per_thread"])
    fits &= resident(shared, needed, warps, device) >= per_sm
    fits &= (along[0] % vec == 0) & (along[1] % vec == 0) & (blk_k % int(step_of(p, tc, split)) == 0)
    fits &= (blk_m // warps_m % SHAPES[tc][0] == 0) & ((stages == 1) | (vec * size >= 4))
    tiles = -(-p.m // blk_m) * -(-p.n // blk_n)
    fits &= (group == 1) | (tiles == 1)
    fits &= (blk_k < p.k + 16) | (blk_k <= 16)
    # Where C is as narrow as that, any shape will do.
    shapely = fits & ((blk_m <= 2 * blk_n) | (blk_n >= p.n)) & ((blk_n <= 2 * blk_m) | (blk_m >= p.m))
    shapely &= (blk_m < 2 * p.m) | (blk_m <= (16 if half else 8))
    shapely &= (blk_n < 2 * p.n) | (blk_n <= 8)
    # Half of the threads have something to read, or more.
    shapely &= np.minimum(blk_m, blk_n) * blk_k * group >= 16 * warps * vec
    return shapely if shapely.any() else fits


def _warp_groups(p: Problem, device: Device) -> dict[str, int] | None:
    """A tile of warp groups for large products of complex half, where they can be had: at 256 a search timed
    508 TFLOP/s on an H200, and 394 of single warps. Where C is read, more and smaller blocks hide that.
    """
    wide = min(units(p)[:2]) == WIDEST and "wgmma" in device.supports and not p.turned_b
    if not (wide and p.dtype.letter == "hc" and min(p.m, p.n) >= 128 and p.k >= 32):
        return None
    if p.beta != "0":
        tile = (64, 128, 32, 4, 1, 1, 4, 2, 0) if p.n >= 256 else (64, 64, 32, 4, 1, 1, 4, 3, 0)
    elif -(-p.m // 128) * -(-p.n // 128) * 128**2 > 1.5 * p.m * p.n:
        return None  # Too much of the tiles would be for nothing.
    else:
        tile = (128, 128, 32, 8, 1, 1, 4, 1, 0)
    return dict(zip(_NAMES, tile, strict=True))


def _best(p: Problem, device: Device) -> Config:
    """Warp groups where they pay, or the candidate that the model gives the least time."""
    half, is_complex, size = p.dtype.real_bits == 16, p.dtype.is_complex, p.dtype.itemsize
    sms = device["sms"]
    unit_a, unit_b, unit_c = units(p)
    vec, vec_c = min(unit_a, unit_b) // size, unit_c // size
    tc = "16x8x16" if half else "16x8x4" if "mma_f64_m16" in device.supports and p.m > 8 else "8x8x4"
    split = "registers" if is_complex else "none"

    groups = _warp_groups(p, device)
    if groups:
        tc, values = WGMMA, groups
    else:
        columns = _candidates(half, is_complex)
        fits = _fitting(p, device, tc, split, columns)
        best = int(np.argmin(np.where(fits, _modelled(p, device, columns), np.inf)))
        values = {name: int(columns[name][best]) for name in _NAMES}
    threads = 32 * values["warps_m"] * values["warps_n"] * values["group"]
    words = int(_words(p, vec, values["blk_m"], values["blk_n"], values["blk_k"]))
    tile = (values["blk_m"], values["blk_n"], values["blk_k"])
    most = min(32, 1 << (words.bit_length() - 1))
    along_one = [x for x in (32, 16, 8, 4, 2, 1) if x <= most and (x == most or x * vec * size >= 32)]
    dim_x = max(along_one, key=lambda x: float(_reading(p, vec, tile, values["group"], x, threads)))
    return Config(
        {"tc": tc, "split": split, "stages": values["stages"], "ahead": values["ahead"], "early_c": 0}
        | {"vec": vec, "vec_c": vec_c}
        | {name: values[name] for name in ("blk_k", "blk_m", "blk_n")}
        | {"dim_x": dim_x, "dim_y": threads // dim_x, "group": values["group"]}
        | {"warps_m": values["warps_m"], "blocks": values["per_sm"] * sms}
    )
