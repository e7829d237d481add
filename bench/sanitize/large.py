"""Stencils for one large product, each of several tiles in few blocks, of all types that they take."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

from bench.sanitize.job import Job, defined, made
from bench.sanitize.small import ORDERS
from tilewright.catalog import STENCILS
from tilewright.model import DTYPES, Config, Device, Problem


def warpgroup(device: Device) -> Iterator[Job]:
    """Products of float16, bfloat16 and tf32 of several tiles, in two blocks or two clusters: halves of
    tiles, tiles in turns, an operand that two blocks share, tiles that are cut, and operands that are
    copied."""
    stencil = STENCILS["warpgroup"]
    forms: tuple[dict[str, int], ...] = (
        {"tile_m": 128, "tile_n": 128, "stages": 4},
        {"tile_m": 128, "tile_n": 64, "ping_pong": 1, "stages": 3},
        {"tile_m": 64, "tile_n": 128, "cluster_m": 2, "stages": 2, "outs": 1},
        {"tile_m": 192, "tile_n": 256, "cluster_m": 1, "cluster_n": 1, "stages": 3},
        {"tile_m": 128, "tile_n": 128, "stages": 4, "cut": 1},
        {"tile_m": 128, "tile_n": 64, "ping_pong": 1, "cluster_n": 2, "stages": 3, "cut": 1},
    )
    alone = {
        "ping_pong": 0,
        "cluster_m": 1,
        "cluster_n": 1,
        "outs": 2,
        "cut": 0,
        "cluster_k": 1,
        "lanes": 0,
        "copied": 0,
        "behind": 0,
    }
    for turn, (letter, fixed) in enumerate((letter, fixed) for letter in ("h", "b", "s") for fixed in forms):
        trans, beta = ORDERS[False][turn % 4], ("any", "0")[(turn + turn // 4) % 2]
        math = "tf32" if letter == "s" else "ieee"
        (problem,) = Problem.parse(f"{letter}:{trans}:392x456x264", alpha="any", beta=beta, math=math)
        if stencil.accepts(problem, device) is not None:
            continue
        config = stencil.default(problem, device).with_(**(alone | fixed))
        lanes = 0
        if problem.math == "tf32" and config["tile_n"] < 256 and config["tile_m"] > 64:
            lanes = 1 if problem.transposed_b else 0 if problem.transposed_a else 2
        config = config.with_(blocks=2 * config["cluster_m"] * config["cluster_n"], lanes=lanes)
        yield made(stencil, problem, config, f"warpgroup_{letter}_{trans}_{turn}", device)
    joined = alone | forms[1] | {"tile_m": 64, "tile_n": 64, "cluster_k": 4}
    for letter, trans, cut in (("h", "nt", 0), ("b", "tn", 3)):
        (problem,) = Problem.parse(f"{letter}:{trans}:72x136x840", alpha="any", beta="any")
        if stencil.accepts(problem, device) is None:
            config = stencil.default(problem, device).with_(**(joined | {"cut": cut}))
            job = made(stencil, problem, config, f"warpgroup_{letter}_{trans}_joined_{cut}", device)
            yield defined(job, "EACH_LANE", "1")
    # Columns that begin anywhere: words that are shifted, of both operands, or of one beside boxes.
    for text, more in (("h:nn:73x135x203", {}), ("b:tn:73x135x203", {"cut": 3}), ("h:tt:72x135x203", {})):
        (problem,) = Problem.parse(text, alpha="any", beta="any")
        if stencil.accepts(problem, device) is None:
            config = stencil.default(problem, device).with_(**(joined | {"cluster_k": 1, "stages": 2} | more))
            yield made(stencil, problem, config, f"warpgroup_{text[0]}_{text[2:4]}_anywhere", device)
    for copied, lanes in ((1, 2), (2, 1), (2, 0)):
        (problem,) = Problem.parse("s:nt:392x456x262", alpha="any", beta="any", math="tf32")
        if stencil.accepts(problem, device) is None:
            config = stencil.default(problem, device).with_(**(alone | forms[4] | {"cluster_m": 2}))
            config = config.with_(blocks=4, overlap=0, lanes=lanes, copied=copied, behind=int(lanes > 0))
            yield made(stencil, problem, config, f"warpgroup_s_nt_copied_{copied}_{lanes}", device)


def dmma(device: Device) -> Iterator[Job]:
    """Products in float64 of several tiles, in two blocks or two clusters: each form of the operands,
    products of tensor cores of each k, an operand that two blocks share, tiles that are cut, and operands
    whose columns begin anywhere."""
    stencil = STENCILS["dmma"]
    alone = {"cluster_m": 1, "cluster_n": 1, "warps_m": 2, "mma_k": 8, "cut": 0}
    forms: tuple[dict[str, int], ...] = (
        {"tile_m": 64, "tile_n": 64, "stages": 4, "cluster_n": 2},
        {"tile_m": 128, "tile_n": 128, "stages": 3},
        {"tile_m": 64, "tile_n": 128, "stages": 2, "mma_k": 16, "cluster_m": 2},
        {"tile_m": 64, "tile_n": 64, "stages": 3, "mma_k": 16},
        {"tile_m": 64, "tile_n": 64, "stages": 3, "mma_k": 16, "cluster_m": 2, "cut": 1},
    )
    for turn, (letter, fixed) in enumerate((letter, fixed) for letter in "dz" for fixed in forms):
        dtype = DTYPES[letter]
        trans, beta = ORDERS[dtype.is_complex][turn % 4], ("any", "0")[(turn + turn // 4) % 2]
        sizes = "210x274x71" if dtype.is_complex else "210x274x74"
        (problem,) = Problem.parse(f"{letter}:{trans}:{sizes}", alpha="any", beta=beta)
        if stencil.accepts(problem, device) is not None:
            continue
        config = Config({**stencil.default(problem, device), **alone, **fixed})
        config = config.with_(depth=256 // dtype.itemsize)
        if dtype.is_complex:
            config = config.with_(tile_n=64)
        config = config.with_(blocks=2 * config["cluster_m"] * config["cluster_n"])
        yield made(stencil, problem, config, f"dmma_{letter}_{trans}_{turn}", device)
    # Columns that begin anywhere: numbers one by one, of both operands, or of one beside boxes of the other.
    loose = {"nn:211x275x75": forms[1], "tn:211x275x75": forms[3], "nt:212x275x76": forms[3]}
    for text, fixed in loose.items():
        (problem,) = Problem.parse(f"d:{text}", alpha="any", beta="any")
        if stencil.accepts(problem, device) is None:
            config = stencil.default(problem, device).with_(**(alone | fixed | {"depth": 32, "blocks": 2}))
            yield made(stencil, problem, config, f"dmma_d_{text.partition(':')[0]}_anywhere", device)
    # Several products side by side: boxes, numbers one by one, and an operand that two blocks share.
    batches = {"d:tn:130x98x74@3": 3, "d:nt:131x99x75@3": 3, "z:cn:66x98x37@3": 0}
    for text, form in batches.items():
        (problem,) = Problem.parse(text, alpha="1", beta="any")
        if stencil.accepts(problem, device) is None:
            config = stencil.default(problem, device).with_(**(alone | forms[form]))
            config = config.with_(depth=256 // problem.dtype.itemsize, blocks=2 * config["cluster_n"])
            yield made(stencil, problem, config, f"dmma_{text[0]}_{text[2:4]}_batch", device)


def ffma(device: Device) -> Iterator[Job]:
    """Products in float32 of several tiles, in two blocks: operands as they lie, packed and turned, tiles
    that are cut, and complex numbers as four products of planes and as three. Each lane arrives at barriers:
    racecheck finds races of ordinary reads with copies that wait for one lane of a warp, for it does not see
    what a __syncwarp before that orders."""
    stencil = STENCILS["ffma"]
    forms: tuple[tuple[str, dict[str, int]], ...] = (
        ("s:nt", {"stages": 3}),
        ("s:tn", {"rows": 8, "columns": 8, "lanes_m": 4, "warps_m": 4, "stages": 4}),
        ("s:nn", {"stages": 3, "cut": 1}),
        ("s:tn", {"rows": 8, "depth": 32, "stages": 2, "turned": 1}),
        ("s:tt", {"rows": 8, "columns": 16, "depth": 32, "stages": 3, "cut": 1, "turned": 1}),
        ("c:nc", {"stages": 3, "products": 4}),
        ("c:tj", {"stages": 3, "products": 3}),
    )
    wide = {"rows": 16, "columns": 8, "lanes_m": 8, "warps_m": 2, "depth": 16, "cut": 0, "blocks": 2}
    wide |= {"turned": 0}
    for turn, (text, fixed) in enumerate(forms):
        (problem,) = Problem.parse(f"{text}:212x276x76", alpha="any", beta=("any", "0")[turn % 2])
        if stencil.accepts(problem, device) is not None:
            continue
        config = stencil.default(problem, device).with_(**(wide | fixed))
        job = made(stencil, problem, config, f"ffma_{text.replace(':', '_')}_{turn}", device)
        yield defined(job, "EACH_LANE", "1")
    (problem,) = Problem.parse("s:tt:132x100x76@3", alpha="1", beta="any")
    if stencil.accepts(problem, device) is None:
        config = stencil.default(problem, device).with_(blocks=2)
        yield defined(made(stencil, problem, config, "ffma_s_tt_batch", device), "EACH_LANE", "1")


def cfma(device: Device) -> Iterator[Job]:
    """Products in complex float32 of several tiles, in two blocks: every order of operands, by boxes and one
    number after the other, eight rows of a thread or columns, and tiles that are cut."""
    stencil = STENCILS["cfma"]
    wide = {"rows": 8, "columns": 4, "lanes_m": 8, "warps_m": 2, "stages": 3, "cut": 0, "blocks": 2}
    few = {"rows": 4, "columns": 8, "lanes_m": 4, "warps_m": 4, "stages": 3}
    forms: tuple[tuple[str, dict[str, int]], ...] = (
        ("nn:212x276x76", {"overlap": 1}),
        ("tj:212x276x76", few | {"cut": 1}),
        ("cn:212x276x76", few),
        ("nt:212x276x76", {"stages": 2, "cut": 1}),
        ("nn:211x275x75", {"stages": 2}),
        ("tt:211x275x75", few | {"cut": 1}),
        ("tn:212x276x75", {"stages": 2}),
    )
    for turn, (text, fixed) in enumerate(forms):
        (problem,) = Problem.parse(f"c:{text}", alpha="any", beta=("any", "0")[turn % 2])
        if stencil.accepts(problem, device) is not None:
            continue
        config = stencil.default(problem, device).with_(**({"overlap": 0} | wide | fixed))
        yield made(stencil, problem, config, f"cfma_{text.partition(':')[0]}_{turn}", device)


def pairs(device: Device) -> Iterator[Job]:
    """Products of complex halves of several tiles, in two blocks or two clusters: operands that are
    exchanged, turned and copied, halves of tiles, tiles in turns, an operand that two blocks share, and tiles
    that are cut."""
    stencil = STENCILS["pairs"]
    forms: tuple[tuple[str, dict[str, int]], ...] = (
        ("nn", {"exchange": 1, "tile_m": 128, "stages": 3}),
        ("nt", {"tile_m": 128, "stages": 3, "cluster_m": 2}),
        ("tj", {"tile_m": 64, "steps": 1, "stages": 2, "outs": 1, "cluster_m": 2}),
        ("cc", {"tile_m": 192, "steps": 1, "stages": 3}),
        ("jn", {"exchange": 1, "tile_m": 64, "cut": 1}),
        ("nt", {"tile_m": 128, "tile_n": 64, "ping_pong": 1, "cluster_n": 2, "stages": 3, "cut": 1}),
        ("tn", {"exchange": 1, "tile_m": 64, "tile_n": 64, "ping_pong": 1, "stages": 3}),
        ("nt", {"copied": 1, "tile_m": 192, "steps": 1, "stages": 3, "cluster_n": 2}),
        ("jt", {"copied": 1, "behind": 1, "exchange": 1, "tile_m": 64, "cluster_m": 2, "cut": 1}),
    )
    alone = {
        "exchange": 0,
        "tile_n": 128,
        "ping_pong": 0,
        "copied": 0,
        "behind": 0,
        "cluster_m": 1,
        "cluster_n": 1,
        "outs": 2,
        "cut": 0,
    }
    for turn, (trans, fixed) in enumerate(forms):
        (problem,) = Problem.parse(f"hc:{trans}:196x260x132", alpha="any", beta=("any", "0")[turn % 2])
        if stencil.accepts(problem, device) is not None:
            continue
        config = stencil.default(problem, device).with_(**({"steps": 2} | alone | fixed))
        config = config.with_(blocks=2 * config["cluster_m"] * config["cluster_n"])
        yield made(stencil, problem, config, f"pairs_{trans}_{turn}", device)


def unaligned(device: Device) -> Iterator[Job]:
    """The same of matrices whose columns begin anywhere, in two blocks."""
    stencil = STENCILS["unaligned"]
    for turn, (letter, trans) in enumerate(product(("h", "b"), ORDERS[False])):
        beta = ("any", "0")[turn // 2 % 2]
        (problem,) = Problem.parse(f"{letter}:{trans}:391x459x205", alpha="any", beta=beta)
        problem = problem.with_(align=2 << turn % 3)
        if stencil.accepts(problem, device) is not None:
            continue
        sides = {"tile_m": 128, "tile_n": 128} if turn % 2 else {"tile_m": 256, "tile_n": 128}
        config = stencil.default(problem, device).with_(**sides, stages=2 + turn % 3)
        job = made(stencil, problem, config, f"unaligned_{letter}_{trans}_{turn}", device, problem.align)
        yield replace(job, launch=replace(job.launch, grid=(2, 1, 1)))


def emulated(device: Device) -> Iterator[Job]:
    """Products of float32 as sums of bfloat16, in two blocks or three: words that are split at once and
    numbers one by one, results of aligned columns and of others, and tiles that are cut."""
    stencil = STENCILS["emulated"]
    forms: tuple[tuple[str, dict[str, int]], ...] = (
        ("s:nn:392x456x264", {"tile_m": 128, "stages": 4}),
        ("s:tn:391x459x205", {"tile_m": 192, "stages": 5}),
        ("s:nt:391x459x205", {"tile_m": 64, "stages": 9}),
        ("s:tt:200x136x840", {"tile_m": 64, "stages": 4, "cut": 1, "blocks": 3}),
        ("c:nc:196x228x132", {"tile_m": 128, "stages": 4}),
        ("c:jn:195x229x101", {"tile_m": 192, "stages": 5, "cut": 1}),
    )
    for turn, ((text, fixed), math) in enumerate(product(forms, stencil.maths)):
        (problem,) = Problem.parse(text, alpha="any", beta=("any", "0")[turn // 2 % 2], math=math)
        if stencil.accepts(problem, device) is not None:
            continue
        config = stencil.default(problem, device).with_(**({"cut": 0, "blocks": 2} | fixed))
        name = f"emulated_{text[0]}_{text[2:4]}_{math}_{turn}"
        yield made(stencil, problem, config, name, device)


def split(device: Device) -> Iterator[Job]:
    """Batches of float32 as sums of bfloat16, in two blocks: words that are split at once and numbers one by
    one, several tiles of a product and products of one tile."""
    stencil = STENCILS["split"]
    forms: tuple[tuple[str, dict[str, int]], ...] = (
        ("s:nn:200x136x136@3", {"tile_m": 128, "stages": 6}),
        ("s:tn:99x59x205@5", {"tile_m": 64, "stages": 9}),
        ("s:tt:61x63x65@9", {"tile_m": 64, "stages": 5}),
        ("c:nc:100x60x68@4", {"tile_m": 128, "stages": 6}),
        ("c:jt:65x65x33@5", {"tile_m": 64, "stages": 9}),
    )
    for turn, ((text, fixed), math) in enumerate(product(forms, stencil.maths)):
        (problem,) = Problem.parse(
            text, alpha=("any", "1")[turn % 2], beta=("any", "0", "1")[turn % 3], math=math
        )
        if stencil.accepts(problem, device) is not None:
            continue
        config = stencil.default(problem, device).with_(**({"blocks": 2} | fixed))
        yield made(stencil, problem, config, f"split_{text[0]}_{text[2:4]}_{math}_{turn}", device)
