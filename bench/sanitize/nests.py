"""Batches along several axes: jobs, and of each the numbers, where they lie in memory, and what is right."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from bench.sanitize.job import Job, made
from bench.sanitize.lists import stored, wide
from tilewright.catalog import STENCILS
from tilewright.model import DTYPES, Config, Device, Problem
from tilewright.stencils.cuda.tiny.needs import eights, shares, tile
from tilewright.stencils.cuda.tiny.space import sides

SIZES = ((3, 3, 3), (4, 4, 4), (9, 9, 9), (17, 8, 5), (5, 16, 12))
RUN = 7
AXES = {
    # By operand: matrices from one position to the next, along the innermost axis and along two others.
    "held": ((0, 1, 1), ((3, 1, RUN, RUN), (2, 3, 0, 3 * RUN))),
    "inner": ((1, 0, 1), ((5, RUN, 1, RUN), (2, 0, 5, 5 * RUN))),
    "outer": ((0, 1, 1), ((5, 1, 0, RUN), (2, 5, RUN, 5 * RUN))),
    "turned": ((6, 0, 1), ((6, 1, 1, RUN), (3, 6 * RUN, 6, 6 * RUN))),
    "shared": ((0, 1, 1), ((4, 0, RUN, RUN), (3, 0, 4 * RUN, 8 * RUN))),
}
"""Steps of A, B and C along the innermost axis, and the other axes, the next
one first: extent, and steps of the same."""


class Part:
    """One operand, from its first element to its last, with numbers in its gaps as well: -1, 0 and 1, whose
    sums are exact in every type. ``at`` is where each element lies: (axes..., rows, columns)."""

    def __init__(self, p: Problem, which: int):
        shapes = ((p.k, p.m) if p.transposed_a else (p.m, p.k), (p.n, p.k) if p.transposed_b else (p.k, p.n))
        rows, columns = (*shapes, (p.m, p.n))[which]
        axes = [*((extent, steps[which]) for extent, *steps in p.outer), (p.batch, p.strides[which])]
        axes += [(rows, 1), (columns, (p.lda, p.ldb, p.ldc)[which] or 0)]
        grids = np.ogrid[tuple(slice(extent) for extent, _ in axes)]
        self.at = np.asarray(sum(grid * step for grid, (_, step) in zip(grids, axes, strict=True)))
        real, imaginary = np.random.default_rng(which).integers(-1, 2, (2, int(self.at.max()) + 1))
        self.elements = stored(real + 1j * imaginary * p.dtype.is_complex, p.dtype)


def parts(p: Problem) -> list[Part]:
    """A, B and C."""
    return [Part(p, which) for which in range(3)]


def right(p: Problem, read: list[Part]) -> Any:
    """What has to lie in the memory of C afterwards, with an alpha of 1 and a beta of 0 or 1, its gaps as
    they were."""
    a, b, c = (wide(part.elements, p.dtype)[part.at] for part in read)
    a, b = (
        values.swapaxes(-1, -2) if turned else values
        for values, turned in ((a, p.transposed_a), (b, p.transposed_b))
    )
    result = read[2].elements.copy()
    result[read[2].at] = stored(a @ b + (c if p.beta != "0" else 0), p.dtype)
    return result


def jobs(device: Device) -> Iterator[Job]:
    """Runs and tiles of two axes in all types that they are for, from odd bases and from aligned ones; the
    default, and threads or warps with several products of one operand."""
    stencil = STENCILS["tiny"]
    letters = [letter for letter in DTYPES if letter != "hc"]
    for turn, (letter, name) in enumerate((letter, name) for letter in letters for name in AXES):
        (m, n, k), (inner, outer) = SIZES[(turn + turn // 5) % 5], AXES[name]
        trans, beta = ("nn", "tn", "nt", "tt")[turn % 4], "01"[turn % 2]
        p = nest(f"{letter}:{trans}:{m}x{n}x{k}@{RUN}", inner, outer, beta, turn % 3 == 0)
        space = stencil.space(p, device).only(("hard", "tabled", "queryable"))
        rows = max(side for side in sides(m) if side < 4)
        fixed = {"path": "bulk", "mma": 0, "rows": rows, "columns": 1, "warps": 2, "stages": 2}
        fixed |= {"blocks": device["sms"], "turn": 0, "evict": 0, "group": _group(p)}
        for several in (1, 3) if shares(p) else (1,):
            # None where a device has no bulk copies.
            for config in space.restricted(**fixed, several=several).sample(1, 0):
                label = f"nest_{letter}_{m}_{n}_{k}_{name}_{several}"
                yield _of(p, config, label, device)
    yield from _halves(device)
    yield from _reused(device)


def _halves(device: Device) -> Iterator[Job]:
    """Pairs of a thread and eights of a warp, of 16 bits."""
    for turn, (letter, name) in enumerate((letter, name) for letter in "hb" for name in AXES):
        inner, outer = AXES[name]
        trans, beta = ("nn", "tn", "nt", "tt")[turn % 4], "01"[turn // 2 % 2]
        for (m, n, k), several in (((3, 3, 3), 2), ((9, 9, 9), 8), ((17, 5, 7), 8)):
            p = nest(f"{letter}:{trans}:{m}x{n}x{k}@{RUN}", inner, outer, beta, turn % 3 != 0)
            if several == 8 and not eights(p):
                continue
            tile = (m, n, 0) if several == 2 else (-(-m // 16) * 16, -(-n // 8) * 8, 16)
            fixed: dict[str, Any] = dict(zip(("rows", "columns", "mma"), tile, strict=True))
            fixed |= {"path": "bulk", "warps": 2, "stages": 2, "blocks": device["sms"], "evict": 0}
            space = STENCILS["tiny"].space(p, device).only(("hard", "tabled", "queryable"))
            for config in space.restricted(**fixed, several=several, group=_group(p)).sample(1, 0):
                yield _of(p, config, f"nest_{letter}_{m}_{n}_{k}_{name}_halves", device)


def _reused(device: Device) -> Iterator[Job]:
    """Blocks that bring once what neighbouring groups have."""
    for turn, (letter, name) in enumerate((letter, name) for letter in "sdh" for name in AXES):
        (m, n, k), (inner, outer) = SIZES[turn % 5], AXES[name]
        p = nest(f"{letter}:{('nn', 'tt')[turn % 2]}:{m}x{n}x{k}@{RUN}", inner, outer, "01"[turn % 2], True)
        rows = max(side for side in sides(m) if side < 4)
        fixed: dict[str, Any] = {
            "path": "bulk",
            "mma": 0,
            "rows": rows,
            "columns": 1,
            "warps": 2,
            "several": 1,
        }
        fixed |= {"stages": 2 + turn % 2, "blocks": device["sms"], "turn": 0, "evict": 0, "reuse": 1}
        space = STENCILS["tiny"].space(p, device).only(("hard", "tabled", "queryable"))
        for config in space.restricted(**fixed, group=_group(p)).sample(1, 0):
            yield _of(p, config, f"nest_{letter}_{m}_{n}_{k}_{name}_reuse", device)


def _of(p: Problem, config: Config, label: str, device: Device) -> Job:
    """A job of two blocks, so that each fills its ring again."""
    job = made(STENCILS["tiny"], p, config, label, device, p.align % 16)
    return replace(job, launch=replace(job.launch, grid=(2, 1, 1)))


def nest(
    text: str, inner: tuple[int, ...], outer: tuple[tuple[int, ...], ...], beta: str, odd: bool
) -> Problem:
    """A batch whose steps are given in matrices, from any element on if it is ``odd``."""
    (p,) = Problem.parse(text, beta=beta)
    p = p.with_(align=p.dtype.itemsize if odd else 16)
    sizes = p.m * p.k, p.k * p.n, p.m * p.n
    a, b, c = (step * size for step, size in zip(inner, sizes, strict=True))
    axes = tuple(
        (extent, *(step * size for step, size in zip(steps, sizes, strict=True)))
        for extent, *steps in outer[::-1]
    )
    return p.with_(m=p.m, stride_a=a, stride_b=b, stride_c=c, outer=axes)


def _group(p: Problem) -> int:
    """Products of a group: a small tile, or part of a run."""
    tiled = tile(p)
    if tiled is None:
        return 4
    return 4 * tiled.along if tiled.along else 2 * p.batch
