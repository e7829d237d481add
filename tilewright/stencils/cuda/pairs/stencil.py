"""Large products of complex halves by warp groups with roles.

An element (re, im) is what a register holds of a factor of tensor cores: two neighbours along k. So one
operand lies in shared memory as it lies in device memory, a real matrix with twice the k, and the other one
comes into registers, where a change of sign makes the factor of the real parts and an exchange of halves that
of the imaginary ones. Neither is written apart, nor twice. What surrounds the products is that of
``warpgroup``: tensor maps, a ring of slices, persistent blocks, tiles that are cut along k.

    exchange  whether the product of the transposes is made, B by A, and C stored as its transpose: the first
             operand has to run along k, or is turned in shared memory
    tile_m, tile_n   of C, or of its transpose
    ping_pong  whether each of two warp groups multiplies tiles of its own, else half of the columns of each
    carried  whether a first operand that runs across k passes registers, and is not turned in shared memory
    steps    products along k whose fragments come at once, while those before them are multiplied
    cluster_m, cluster_n   blocks that share what comes of the second operand, of the first
    stages   slices of 32 along k in shared memory
    outs     places of results of each group in shared memory, 32 rows by 64 columns each
    overlap  whether blocks make ready while the kernel before them in the stream ends
    band     columns in which tiles are near each other in time
    backwards  whether every other tile of a block runs backwards along k
    blocks   of the whole grid: they stay and walk over the tiles
    cut      along k: 0 no tile, 1 those of the last two waves, so that all blocks have as much to do; more:
             those of the last wave, in so many parts at most. Parts meet in device memory and are added in a
             fixed order

Sizes are in elements, shared memory in bytes. Sizes of the problem are arguments: one binary serves them all.
"""

from __future__ import annotations

from tilewright.model import Config, Device, Launch, Problem, Source
from tilewright.space import Space
from tilewright.stencils.cuda.common import of_configs, unserved
from tilewright.stencils.cuda.large import LargeStencil, misplaced, unfit
from tilewright.stencils.cuda.pairs.cost import best, clocks
from tilewright.stencils.cuda.pairs.needs import SLICE, asked_of, room_for_sums, shared_bytes
from tilewright.stencils.cuda.pairs.space import params, rules
from tilewright.stencils.cuda.source import asked, written
from tilewright.stencils.cuda.warpgroup.needs import BLOCK, THREADS, cut_of, tiles
from tilewright.stencils.protocol import CostModel
from tilewright.targets.cuda.arguments import (
    A,
    Argument,
    B,
    C,
    Pointer,
    Scalar,
    Stamp,
    Struct,
    TensorMap,
    Workspace,
)

SMALLEST = 16
"""Extents below which most of a tile would be empty."""
TURNED = 512
"""Extents up to which a product whose operands both run across k is better made by others."""
LARGEST = 2**30
"""Extents, and tiles of a product."""
ARGUED = ("band", "blocks")
"""Parameters that are no definitions of the program."""
FLAGS = 128
"""Bytes that the flags of a workspace are a multiple of; each has eight."""


class PairsStencil(LargeStencil):
    """``pairs``: one large product of complex halves, as the five functions of the protocol."""

    name = "pairs"

    def accepts(self, problem: Problem, device: Device) -> str | None:
        p = problem
        if p.dtype.letter != "hc":
            return f"type {p.dtype.letter} is not complex float16"
        reason = unserved(p, device)
        if reason is not None:
            return reason
        if "wgmma" not in device.supports:
            return "the device has no products of warp groups (9.0 alone)"
        return unfit(p, SMALLEST, LARGEST, BLOCK) or misplaced(p)

    def needs_record(self, problem: Problem) -> bool:
        """Of small products with both operands across k, one of which has to be turned, ``tensor`` makes 1.3
        times as much (H200, 256 and 512; at 1024 it makes 0.8)."""
        p = problem
        return not p.transposed_a and p.transposed_b and max(p.extents) <= TURNED

    def space(self, problem: Problem, device: Device) -> Space:
        return Space(params(problem, device), list(rules(problem, device)), elementwise=True)

    def default(self, problem: Problem, device: Device) -> Config:
        return best(self.space(problem, device), problem, device)

    def cost_model(self, problem: Problem, device: Device) -> CostModel:
        return of_configs(lambda columns: clocks(problem, device, columns))

    def source(self, problem: Problem, config: Config, device: Device) -> Source:
        given = {name.upper(): value for name, value in config.items() if name not in ARGUED}
        given["CUT"] = int(config["cut"] > 0)
        return written("pairs", asked(asked_of(problem, config["exchange"])) | given)

    def arguments(self, problem: Problem, config: Config) -> tuple[Argument, ...]:
        p, c = problem, config
        made = asked_of(p, c["exchange"])
        a, b = (
            ((made.k, made.m) if made.transposed_a else (made.m, made.k)),
            ((made.n, made.k) if made.transposed_b else (made.k, made.n)),
        )
        of_a, of_b = (B, A) if c["exchange"] else (A, B)
        sizes = (Scalar(name, "i", getattr(made, name)) for name in ("m", "n", "k"))
        band = Scalar("band", "i", max(1, c["band"] // (c["tile_n"] * c["cluster_n"])))
        return (
            Struct(
                "Product",
                (
                    Pointer("c", C),
                    Scalar("ldc", "q", p.ldc or 0),
                    *sizes,
                    band,
                    Scalar("alpha", "2d"),
                    Scalar("beta", "2d"),
                ),
            ),
            _map(p, of_a, a, c["tile_m"] // c["cluster_n"] if made.transposed_a else SLICE),
            _map(p, of_b, b, SLICE if made.transposed_b else c["tile_n"] // c["cluster_m"]),
            _map(p, C, (p.m, p.n), SLICE if c["exchange"] else BLOCK),
            *([_source(made, of_a)] if c["carried"] else []),
            *([_cut(p, c)] if c["cut"] else []),
        )

    def launch(self, problem: Problem, config: Config) -> Launch:
        p, c = problem, config
        cluster = c["cluster_m"] * c["cluster_n"]
        made = asked_of(p, c["exchange"])
        needed = int(tiles(made, c["tile_m"], c["tile_n"], c["cluster_m"], c["cluster_n"]))
        return Launch(
            # Tiles that are cut may be fewer than those who share them.
            grid=(max(min(c["blocks"] // cluster, needed), cut_of(made, c).workers), cluster, 1),
            block=(THREADS, 1, 1),
            shared=int(shared_bytes(c["tile_m"], c["tile_n"], c["stages"], c["outs"])),
            cluster=cluster,
            overlap=bool(c["overlap"]),
        )


def _cut(p: Problem, c: Config) -> Struct:
    """Which tiles are cut, and the workspace where their sums meet."""
    found = cut_of(asked_of(p, c["exchange"]), c)
    numbers = (Scalar(name, "i", value) for name, value in found._asdict().items())
    return Struct("Cut", (Workspace("workspace", room_for_sums(c, found.workers)), Stamp("stamp"), *numbers))


def _source(made: Problem, operand: int) -> Struct:
    """Where the first operand of the product that is made lies."""
    return Struct("Source", (Pointer("a", operand), Scalar("lda", "q", made.lda or 0)))


def _map(p: Problem, operand: int, stored: tuple[int, int], columns: int) -> TensorMap:
    """An operand as it is stored, in boxes of a line of rows and so many columns."""
    rows, cols = stored
    size, leading = p.dtype.itemsize, (p.lda, p.ldb, p.ldc)[operand] or 0
    return TensorMap(
        f"map_{'abc'[operand]}",
        operand,
        # Boxes are copied bit by bit, whatever an element is.
        "float32",
        (rows, cols, 1),
        (leading * size, leading * cols * size),
        (SLICE, columns, 1),
        swizzle=128,
        # Where boxes begin inside lines of memory L2 would fetch too many of these.
        promotion=128 if leading % SLICE else 256,
    )
