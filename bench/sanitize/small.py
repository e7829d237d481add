"""Stencils for batches and lists of small products, of all types that they take."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from bench.sanitize.job import Job, fits, made
from tilewright.catalog import STENCILS
from tilewright.model import DTYPES, Config, Device, Problem
from tilewright.stencils.cuda.grouped.stencil import products

ORDERS = {False: ("nn", "tn", "nt", "tt"), True: ("nn", "cn", "nt", "jc")}
"""Transpositions of real and of complex types, that jobs take in turns."""
TINY = range(1, 41)
STREAMS = (1, 3, 8, 13, 17, 24, 31, 32, 40)
ODD = (
    *((17, 33, 5), (33, 17, 65), (67, 45, 37), (1, 40, 23), (41, 1, 9), (64, 65, 1)),
    *((15, 31, 63), (129, 9, 16), (9, 129, 17), (50, 50, 50), (95, 97, 31), (31, 127, 48)),
)
"""m, n and k of products for tensor cores."""
THICK = (
    *((33, 67, 75), (65, 66, 33), (95, 97, 35), (66, 41, 67), (129, 40, 65)),
    *((70, 101, 99), (72, 40, 88), (133, 9, 2), (5, 131, 21)),
)
"""Of matrices that are kept whole."""
PAIRED = ((33, 67, 75), (40, 68, 44), (48, 65, 96))
"""Of those of complex numbers: columns at odd ones, and at words of 16 bytes."""
BOXED = ((64, 128, 64), (128, 64, 128), (64, 192, 192), (80, 72, 144))
"""Of matrices that come as boxes."""
LONG = ((261, 9, 7), (9, 135, 18), (70, 33, 2))
"""m, n and k of which one is long."""
MIDDLE = ((33, 50, 37), (65, 41, 12), (64, 34, 40))
"""m, n and k of products of middle size."""
DEEP = ((9, 7, 261), (18, 40, 135), (70, 1, 97), (1, 131, 66))
"""The same of which k is long, and of matrices times vectors."""
THIN = ((70, 97), (9, 261), (133, 5))
"""The longer extent of C and k of such products that are read in no slabs."""
BESIDE = ((3, 3, 3), (5, 2, 6), (16, 16, 16), (13, 9, 11))
"""The same of interleaved matrices."""
LISTS = ((32, 60, "any"), (40, 25, "0"), (9, 150, "1"))
"""Of lists: the largest extent, the number of products, and the class of beta."""


def tiny(device: Device) -> Iterator[Job]:
    """Every small n in all types; layouts and transpositions in turns."""
    stencil = STENCILS["tiny"]
    for turn, (dtype, n) in enumerate((dtype, n) for dtype in DTYPES.values() for n in TINY):
        trans = ORDERS[dtype.is_complex][(turn + n // 4) % 4]
        layout = turn % 3
        (problem,) = Problem.parse(
            f"{dtype.letter}:{trans}:{n}x{n}x{n}@{29 if n < 8 else 5}",
            alpha="any",
            beta="any",
            align=dtype.itemsize,
            pointers=layout == 2,
        )
        if layout:
            # With the size named again, matrices lie as far apart as their columns ask for.
            problem = problem.with_(m=n, lda=n + 1, ldb=n + 2, ldc=n + 3)
        yield from _accepted(stencil, problem, f"tiny_{dtype.letter}_{trans}_{n}_{layout}", device)


def streams(device: Device) -> Iterator[Job]:
    """Batches of small matrices as streams of bytes, as only large batches are read: packed, and padded."""
    stencil = STENCILS["tiny"]
    for turn, (dtype, n) in enumerate((dtype, n) for dtype in DTYPES.values() for n in STREAMS):
        trans = ORDERS[dtype.is_complex][(turn + n // 4) % 4]
        for gap in (0, 1 + turn % 2):
            beta = ("any", "0")[(turn + gap) % 2]
            (problem,) = Problem.parse(f"{dtype.letter}:{trans}:{n}x{n}x{n}", alpha="any", beta=beta)
            problem = problem.with_(m=n, lda=n + gap, ldb=n + gap, ldc=n + gap, batch=10**6)
            config = stencil.default(problem, device)
            some = problem.with_(batch=2 * config["group"] + 1)
            name = f"tiny_stream_{dtype.letter}_{trans}_{n}_{gap}"
            yield from _accepted(stencil, some, name, device, config)


def panel(device: Device) -> Iterator[Job]:
    """One long extent, m or n, along and across, packed and padded: the default, the other path, several
    warps that move tiles, tiles from a counter that two blocks share, and the small operand held by tensor
    cores."""
    stencil = STENCILS["panel"]
    for turn, (dtype, (m, n, k)) in enumerate((dtype, long) for dtype in DTYPES.values() for long in LONG):
        for trans in ORDERS[dtype.is_complex]:
            beta = ("any", "0")[turn % 2]
            (problem,) = Problem.parse(f"{dtype.letter}:{trans}:{m}x{n}x{k}@3", alpha="any", beta=beta)
            name = f"panel_{dtype.letter}_{trans}_{m}_{n}_{k}"
            config = stencil.default(problem.with_(batch=10**5), device)
            yield from _accepted(stencil, problem, name, device, config)
            plain = config.with_(tickets=0)
            other = plain.with_(path="async" if config["path"] == "bulk" else "bulk", direct=0)
            if fits(stencil, problem, other, device):
                yield from _accepted(stencil, problem, f"{name}_{other['path']}", device, other)
            several = plain.with_(path="bulk", direct=0, movers=4)
            if fits(stencil, problem, several, device):
                yield from _accepted(stencil, problem, f"{name}_movers", device, several)
            shared = plain.with_(path="bulk", tickets=1, per_block=0, tile=16, blocks=2, stages=2)
            if fits(stencil, problem, shared, device):
                yield from _accepted(stencil, problem, f"{name}_tickets", device, shared)
            rows, columns = (16, -(-n // 8) * 8) if m > n else (-(-m // 16) * 16, 8)
            held = several.with_(mma=16, packed=0, held=1, movers=1, tile=64, rows=rows, columns=columns)
            if fits(stencil, problem, held, device):
                yield from _accepted(stencil, problem, f"{name}_held", device, held)


def inner(device: Device) -> Iterator[Job]:
    """A long k, of matrices and of vectors: the default, the other path, and two blocks of a cluster."""
    stencil = STENCILS["inner"]
    for turn, (dtype, (m, n, k)) in enumerate((dtype, deep) for dtype in DTYPES.values() for deep in DEEP):
        for number, trans in enumerate(ORDERS[dtype.is_complex]):
            beta, align = ("any", "0")[turn % 2], (16, dtype.itemsize)[(turn + number) % 2]
            (problem,) = Problem.parse(
                f"{dtype.letter}:{trans}:{m}x{n}x{k}@3", alpha="any", beta=beta, align=align
            )
            name = f"inner_{dtype.letter}_{trans}_{m}_{n}_{k}"
            config = stencil.default(problem.with_(batch=10**5), device)
            yield from _accepted(stencil, problem, name, device, config)
            other = config.with_(path="async" if config["path"] == "bulk" else "bulk")
            if fits(stencil, problem, other, device):
                yield from _accepted(stencil, problem, f"{name}_{other['path']}", device, other)
            for form in ("split", "spread"):
                shared = config.with_(**{form: 2})
                if number == 0 and fits(stencil, problem, shared, device):
                    yield from _accepted(stencil, problem, f"{name}_{form}", device, shared)


def vector(device: Device) -> Iterator[Job]:
    """Matrices times vectors: the default, which is a row or a column of them, wherever its runs begin, and
    four blocks of a cluster."""
    stencil = STENCILS["vector"]
    for turn, (dtype, (extent, k)) in enumerate((dtype, thin) for dtype in DTYPES.values() for thin in THIN):
        for number, trans in enumerate(ORDERS[dtype.is_complex]):
            beta, align = ("any", "0")[turn % 2], (16, dtype.itemsize)[(turn + number) % 2]
            m, n = (extent, 1) if number % 2 else (1, extent)
            (problem,) = Problem.parse(
                f"{dtype.letter}:{trans}:{m}x{n}x{k}@3", alpha="any", beta=beta, align=align
            )
            name = f"vector_{dtype.letter}_{trans}_{m}_{n}_{k}"
            config = stencil.default(problem.with_(batch=10**5), device)
            yield from _accepted(stencil, problem, name, device, config)
            shared = config.with_(split=4)
            if fits(stencil, problem, shared, device):
                yield from _accepted(stencil, problem, f"{name}_split", device, shared)


def whole(device: Device) -> Iterator[Job]:
    """Odd shapes of float16 and bfloat16 without padding: the default, and tiles of C with short pieces."""
    stencil = STENCILS["whole"]
    for turn, (letter, (m, n, k)) in enumerate((letter, odd) for letter in ("h", "b") for odd in THICK):
        trans, beta = ORDERS[False][(turn + turn // 6) % 4], ("any", "0")[turn % 2]
        align = (2, 16)[turn // 2 % 2]
        (problem,) = Problem.parse(f"{letter}:{trans}:{m}x{n}x{k}@3", alpha="any", beta=beta, align=align)
        if stencil.accepts(problem, device) is not None:
            continue
        name, default = f"whole_{letter}_{trans}_{m}_{n}_{k}", stencil.default(problem, device)
        for form, config in (("", default), ("_tiles", default.with_(tile=32, piece=2048, stages=1))):
            if not form or stencil.space(problem, device).member(config) is None:
                job = made(stencil, problem, config, f"{name}{form}", device, 2 if align == 2 else 0)
                # Two blocks, so that the ring goes on from one product to the next.
                yield replace(job, launch=replace(job.launch, grid=(2, 1, 1)))
    for turn, (m, n, k) in enumerate(PAIRED):
        (problem,) = Problem.parse(f"hc:nn:{m}x{n}x{k}@3", alpha="any", beta="01"[turn % 2])
        if stencil.accepts(problem, device) is None:
            job = made(stencil, problem, stencil.default(problem, device), f"whole_hc_{m}_{n}_{k}", device)
            yield replace(job, launch=replace(job.launch, grid=(2, 1, 1)))


def boxes(device: Device) -> Iterator[Job]:
    """Matrices of float16 and bfloat16 with aligned columns: the default, and tiles of one box each, in two
    blocks, so that rings go on from one product to the next."""
    stencil = STENCILS["boxes"]
    for turn, (letter, (m, n, k)) in enumerate((letter, size) for letter in ("h", "b") for size in BOXED):
        trans, beta = ORDERS[False][turn % 4], ("any", "0")[turn % 2]
        (problem,) = Problem.parse(f"{letter}:{trans}:{m}x{n}x{k}@3", alpha="any", beta=beta)
        if stencil.accepts(problem, device) is not None:
            continue
        name, default = f"boxes_{letter}_{trans}_{m}_{n}_{k}", stencil.default(problem, device)
        small = default.with_(tile_m=64, tile_n=64, stages=2, kept=2, blocks=device["sms"])
        for form, config in (("", default), ("_small", small)):
            job = made(stencil, problem, config, f"{name}{form}", device)
            yield replace(job, launch=replace(job.launch, grid=(2, 1, 1)))


def single(device: Device) -> Iterator[Job]:
    """Products of middle size without gaps, from odd bases and with aligned columns: the default, and C
    in a place of its own; in two blocks, so that places are taken again."""
    stencil = STENCILS["single"]
    for turn, (letter, (m, n, k)) in enumerate((letter, size) for letter in "sdcz" for size in MIDDLE):
        dtype = DTYPES[letter]
        for trans in ORDERS[dtype.is_complex]:
            align, beta = (dtype.itemsize, 16)[turn % 2], ("any", "0")[turn % 2]
            text = f"{letter}:{trans}:{m}x{n}x{k}@3"
            (problem,) = Problem.parse(text, alpha="any", beta=beta, align=align)
            if stencil.accepts(problem, device) is not None:
                continue
            config = stencil.default(problem.with_(batch=10**5), device)
            name, base = f"single_{letter}_{trans}_{m}_{n}_{k}", align if align < 16 else 0
            for form in ("", "early"):
                other = config.with_(**{form: 1 - config[form]}) if form else config
                if stencil.space(problem, device).member(other) is None and fits(
                    stencil, problem, other, device
                ):
                    job = made(stencil, problem, other, f"{name}_{form}".rstrip("_"), device, base)
                    yield replace(job, launch=replace(job.launch, grid=(2, 1, 1)))


def middle(device: Device) -> Iterator[Job]:
    """Products of middle size, from odd bases and with aligned columns: the default, and two tiles of each
    extent of C through a short ring."""
    stencil = STENCILS["middle"]
    for turn, (letter, (m, n, k)) in enumerate((letter, size) for letter in "sdcz" for size in MIDDLE):
        dtype = DTYPES[letter]
        for trans in ORDERS[dtype.is_complex]:
            align, beta = (dtype.itemsize, 16)[turn % 2], ("any", "0")[turn % 2]
            text = f"{letter}:{trans}:{m}x{n}x{k}@3"
            # With an alpha of 1 sums begin with C, with others C is read when they are complete.
            (problem,) = Problem.parse(text, alpha=("any", "1")[turn // 2 % 2], beta=beta, align=align)
            name = f"middle_{letter}_{trans}_{m}_{n}_{k}"
            config = stencil.default(problem.with_(batch=10**5), device)
            yield from _accepted(stencil, problem, name, device, config)
            halves = {f"tile_{x}": -(-extent // 8) * 4 for x, extent in (("m", m), ("n", n))}
            other = config.with_(**halves, stages=2)
            if fits(stencil, problem, other, device):
                yield from _accepted(stencil, problem, f"{name}_tiles", device, other)


def tensor(device: Device) -> Iterator[Job]:
    """Odd shapes of 16-bit types, with columns anywhere and with such that words of 16 bytes divide; where C
    is read, also with what of it comes early."""
    stencil = STENCILS["tensor"]
    for turn, (letter, (m, n, k)) in enumerate((letter, odd) for letter in ("h", "b", "hc") for odd in ODD):
        dtype = DTYPES[letter]
        trans = ORDERS[dtype.is_complex][(turn + turn // 12) % 4]
        beta = ("any", "0")[turn % 2]
        for align in (dtype.itemsize, 16):
            (problem,) = Problem.parse(f"{letter}:{trans}:{m}x{n}x{k}@3", alpha="any", beta=beta, align=align)
            lds = (8 * -(-(ld or 0) // 8) for ld in (problem.lda, problem.ldb, problem.ldc))
            if align == 16:
                problem = problem.with_(m=m, **dict(zip(("lda", "ldb", "ldc"), lds, strict=True)))
            name, default = f"tensor_{letter}_{trans}_{m}_{n}_{k}_{align}", stencil.default(problem, device)
            yield from _accepted(stencil, problem, name, device, default)
            early = default.with_(early_c=1)
            if fits(stencil, problem, early, device):
                yield from _accepted(stencil, problem, f"{name}_early", device, early)


def _accepted(
    stencil: Any, problem: Problem, name: str, device: Device, config: Config | None = None
) -> Iterator[Job]:
    """A config (the default one) of a problem, if the stencil accepts it; from an odd base if it may be."""
    if stencil.accepts(problem, device) is None:
        config = config or stencil.default(problem, device)
        shift = problem.align if problem.align == problem.dtype.itemsize else 0
        yield made(stencil, problem, config, name, device, shift)


def interleaved(device: Device) -> Iterator[Job]:
    """Matrices element beside element: in one part and in several, through a ring, and a C apart."""
    stencil = STENCILS["interleaved"]
    for turn, (dtype, (m, n, k)) in enumerate((dtype, size) for dtype in DTYPES.values() for size in BESIDE):
        for odd, trans in enumerate(("nn", "jn" if dtype.is_complex else "nn")):
            count, beta = (71, "any") if odd else (128, "0")
            align = dtype.itemsize if odd else 16
            (p,) = Problem.parse(
                f"{dtype.letter}:{trans}:{m}x{n}x{k}@{count}/all", alpha="any", beta=beta, align=align
            )
            p = p.with_(m=m, stride_a=0 if turn % 4 == 3 else 1, stride_c=1 if odd or turn % 2 else m * n)
            name = f"interleaved_{dtype.letter}_{m}_{n}_{k}_{odd}"
            config = stencil.default(p, device)
            yield from _accepted(stencil, p, name, device, config)
            ring = config.with_(stages=2, depth=2, unroll_k=1)
            if not config["stages"] and stencil.space(p, device).member(ring) is None:
                yield from _accepted(stencil, p, f"{name}_ring", device, ring)
            # Matrices of a thread that are 32 apart, also of rows that bulk copies bring with the vectors
            # that they begin in, and take.
            plain = p.with_(m=m, beta="0", stride_a=1, stride_c=p.stride_c)
            filled = {"staged": 2, "stages": 2, "bulk": 1, "blocks": device["sms"]}
            for form, q, asked in (
                ("strided", p, {"staged": 2 * (p.stride_c != 1)}),
                ("rows", plain, filled),
            ):
                apart = config.with_(**_APART | {"rows": 1, "columns": 1, "team": m * n, **asked})
                if fits(stencil, q, apart, device):
                    yield from _accepted(stencil, q, f"{name}_{form}", device, apart)
            if dtype.real_bits == 16 and not dtype.is_complex:
                # Tensor cores, rows that begin anywhere among them, with more groups than blocks.
                # With the size named again: an A that is shared lies otherwise than one that is not.
                plain = p.with_(m=m, beta="0", stride_a=1)
                members = _members(stencil.default(plain, device), device, lanes=4 - 2 * odd)
                for each in _accepted(stencil, plain, f"{name}_members", device, members):
                    yield replace(each, launch=replace(each.launch, grid=(2, 1, 1)))


_APART = {"lanes": 2, "strided": 1, "warps": 1, "unroll_k": 1, "ahead": 0, "stages": 0, "depth": 1, "bulk": 0}
_APART |= {"group": 0, "padded": 0, "members": 0, "blocks": 0}
"""Matrices of a thread 32 apart, in registers."""


def _members(config: Config, device: Device, lanes: int) -> Config:
    """The same by tensor cores, in groups of 16."""
    alone = {
        "strided": 0,
        "rows": 1,
        "columns": 1,
        "team": 1,
        "unroll_k": 1,
        "staged": 0,
        "ahead": 0,
        "depth": 1,
    }
    ring = {"bulk": 0, "group": 0, "padded": 0, "members": 16, "stages": 3, "blocks": device["sms"]}
    return config.with_(lanes=lanes, warps=2, **alone, **ring)


def lists(device: Device) -> Iterator[Job]:
    """Lists of products of all sizes: the default, and what it leaves out."""
    stencil = STENCILS["grouped"]
    for turn, (dtype, (top, count, beta)) in enumerate((d, some) for d in DTYPES.values() for some in LISTS):
        trans = ORDERS[dtype.is_complex][turn % 4]
        alpha = "any" if beta == "any" else "1"
        problem = products(dtype, top, top, top, trans, count, alpha=alpha, beta=beta)
        if stencil.accepts(problem, device) is not None:
            continue
        default = stencil.default(problem, device)
        other = default.with_(mma=0, fine=1, bulk=0, warps=4, team=2, columns=4)
        for form, config in (("default", default), ("plain", other)):
            if fits(stencil, problem, config, device):
                job = made(stencil, problem, config, f"grouped_{dtype.letter}_{trans}_{top}_{form}", device)
                # A few blocks, so that each has many products, one after another.
                yield replace(job, launch=replace(job.launch, grid=(3, 1, 1)))
