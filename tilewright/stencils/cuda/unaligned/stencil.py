"""Large products of 16-bit matrices whose columns begin anywhere, by warp groups: space, choice and launch.

Tensor maps, which bring slices of operands to shared memory without a thread, want columns at multiples of 16
bytes. Odd leading dimensions and views that begin at odd elements have none of these. But of columns that
begin anywhere every eighth one begins alike in a word of 16 bytes: eight columns together are one of a map,
and eight boxes bring what one would. The rest is a loop as that of ``warpgroup``.

    tile_m, tile_n   of C
    stages   slices of 64 along k in shared memory
    band     columns of C in which tiles are near each other in time
    blocks   of the whole grid: they stay and walk over the tiles

Sizes are in elements, shared memory in bytes. Sizes of the problem are arguments: one binary serves them all.
"""

from __future__ import annotations

from tilewright.model import Config, Device, Launch, Problem, Source
from tilewright.space import Space
from tilewright.stencils.cuda.common import WIDEST, of_configs, too_old, units, unserved
from tilewright.stencils.cuda.source import asked, written
from tilewright.stencils.cuda.unaligned.cost import best, clocks
from tilewright.stencils.cuda.unaligned.needs import SLICE, THREADS, TOGETHER, shared_bytes, tiles
from tilewright.stencils.cuda.unaligned.space import params, rules
from tilewright.stencils.protocol import CostModel, Stencil
from tilewright.targets.cuda.arguments import A, Argument, B, C, Pointer, Scalar, Struct, TensorMap

SMALLEST = 33
"""Extents below which most of a tile would be empty."""
LARGEST = 2**30
"""Extents, and tiles of a product."""
FAR = 2**27
"""Elements from one column of A or B to the next: eight such steps are a coordinate of 31 bits."""
ARGUED = ("band", "blocks")
"""Parameters that are no definitions of the program."""


class UnalignedStencil(Stencil):
    """``unaligned``: one large product of 16 bits with columns anywhere, as the five functions of the
    protocol."""

    name = "unaligned"
    target = "cuda"
    # Whether tiles fill whole waves decides, and that is another matter for each size.
    size_specific = True

    def accepts(self, problem: Problem, device: Device) -> str | None:
        p = problem
        if p.dtype.letter not in ("h", "b"):
            return f"type {p.dtype.letter} is not one of h, b"
        reason = unserved(p, device)
        if reason is not None:
            return reason
        if "wgmma" not in device.supports:
            return "the device has no products of warp groups (9.0 alone)"
        if p.products != 1:
            return f"a batch of {p.products} products; this is for one large product"
        if min(p.m, p.n, p.k) < SMALLEST or max(p.m, p.n, p.k) > LARGEST:
            return f"{p.m}x{p.n}x{p.k} has an extent that is not from {SMALLEST} to {LARGEST}"
        if min(units(p)) >= WIDEST:
            return "all columns begin at multiples of 16 bytes, which tensor maps bring as they are"
        if max(p.lda or 0, p.ldb or 0) >= FAR:
            return "columns of A or B lie 2^27 elements apart"
        if tiles(p, SLICE, SLICE) > LARGEST:
            return f"{p.m}x{p.n} has more than 2^30 tiles"
        return None

    def runs(self, device: Device) -> str | None:
        return too_old(device)

    def needs_record(self, problem: Problem) -> bool:
        """Where nothing was measured the library is the better guess."""
        return True

    def space(self, problem: Problem, device: Device) -> Space:
        return Space(params(problem, device), list(rules(problem, device)), elementwise=True)

    def default(self, problem: Problem, device: Device) -> Config:
        return best(self.space(problem, device), problem, device)

    def cost_model(self, problem: Problem, device: Device) -> CostModel:
        return of_configs(lambda columns: clocks(problem, device, columns))

    def source(self, problem: Problem, config: Config, device: Device) -> Source:
        given = {name.upper(): value for name, value in config.items() if name not in ARGUED}
        return written("unaligned", asked(problem) | given)

    def arguments(self, problem: Problem, config: Config) -> tuple[Argument, ...]:
        p, c = problem, config
        leading = zip("abc", (p.lda, p.ldb, p.ldc), strict=True)
        sizes = (Scalar(x, "i", getattr(p, x)) for x in ("m", "n", "k"))
        return (
            Struct(
                "Product",
                (
                    *(Pointer(name, operand) for name, operand in (("a", A), ("b", B), ("c", C))),
                    *(Scalar(f"ld{name}", "q", ld or 0) for name, ld in leading),
                    *sizes,
                    Scalar("band", "i", max(1, c["band"] // c["tile_n"])),
                    Scalar("alpha", "2d"),
                    Scalar("beta", "2d"),
                ),
            ),
            _maps(p, A, (p.k, p.m) if p.transposed_a else (p.m, p.k), c["tile_m"], p.transposed_a),
            _maps(p, B, (p.n, p.k) if p.transposed_b else (p.k, p.n), c["tile_n"], not p.transposed_b),
        )

    def launch(self, problem: Problem, config: Config) -> Launch:
        p, c = problem, config
        return Launch(
            grid=(min(c["blocks"], int(tiles(p, c["tile_m"], c["tile_n"]))), 1, 1),
            block=(THREADS, 1, 1),
            shared=int(shared_bytes(p, c["tile_m"], c["tile_n"], c["stages"])),
        )


def _maps(p: Problem, operand: int, stored: tuple[int, int], side: int, along: bool) -> Struct:
    """The four maps of an operand as it is stored, by eight columns each: without what is left over of its
    columns and with it, and each by the words of 16 bytes that it may end in."""
    length, columns = stored
    eights, over = divmod(columns, TOGETHER)
    pairs = (("whole", eights, TOGETHER), ("all", eights + 1, over) if over else ("all", eights, TOGETHER))
    return Struct(
        "Maps",
        tuple(
            _map(p, f"{name}_{more}", operand, (length, count, last), more, (side if along else SLICE))
            for name, count, last in pairs
            for more in range(2)
        ),
    )


def _map(
    p: Problem, name: str, operand: int, shape: tuple[int, int, int], more: int, lines: int
) -> TensorMap:
    """A map of so many times eight columns, the last of which is column ``last`` of eight; it ends with the
    word of 16 bytes in which that column ends, or with one ``more``."""
    length, count, last = shape
    size, leading = p.dtype.itemsize, (p.lda, p.ldb)[operand] or 0
    word = WIDEST // size
    extent = -(-((last - 1) * leading + length) // word) * word + more * word
    step = TOGETHER * leading * size
    return TensorMap(
        name,
        operand,
        p.dtype.name,
        (extent, count, 1),
        (step, step * count),
        (SLICE, lines // TOGETHER, 1),
        swizzle=128,
        promotion=128,
        rounded=True,
    )
