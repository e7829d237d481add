"""Chains of products: jobs, and of each the numbers, where they lie in memory, and what is right."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from bench.sanitize.job import Job, made
from bench.sanitize.lists import stored, wide
from bench.sanitize.small import ORDERS
from tilewright.catalog import STENCILS
from tilewright.model import DTYPES, ChainProblem, Device, DType, Factor, Stored
from tilewright.space import HARDWARE

CHAINS = ((5, 3, 6, 4), (8, 8, 8, 8), (16, 12, 16, 9), (17, 32, 7, 32), (1, 2, 3, 4), (6, 4, 6))
"""Extents of chains, those of C first and last."""


class Part:
    """One operand, from its first element to its last, with numbers in its gaps as well: -1, 0 and 1, whose
    sums are exact in every type. ``at`` is where each element lies: (matrices, rows, columns)."""

    def __init__(self, p: ChainProblem, layout: Stored, seed: int):
        count = p.batch if layout.stride else 1
        matrix, row, column = np.ogrid[:count, : layout.rows, : layout.columns]
        self.at = np.asarray(matrix * layout.stride + row + column * layout.ld)
        real, imaginary = np.random.default_rng(seed).integers(-1, 2, (2, int(self.at.max()) + 1))
        self.elements = stored(real + 1j * imaginary * p.dtype.is_complex, p.dtype)

    @property
    def used(self) -> Any:
        """Which elements belong to matrices."""
        used = np.zeros(len(self.elements), bool)
        used[self.at] = True
        return used


def parts(p: ChainProblem) -> list[Part]:
    """The operands of a chain in their order, and C."""
    return [Part(p, layout, number) for number, layout in enumerate((*p.operands, p.out))]


def right(p: ChainProblem, read: list[Part]) -> Any:
    """What has to lie in the memory of C afterwards, its gaps as they were."""

    def op(factor: Factor) -> Any:
        part = read[factor.operand]
        values = wide(part.elements, p.dtype)[part.at]
        values = values.swapaxes(-1, -2) if factor.transposed else values
        return values.conj() if factor.conjugated else values

    product = op(p.factors[0])
    for factor in p.factors[1:]:
        product = product @ op(factor)
    if p.add is not None:
        product = product + op(p.add)
    made = read[-1].elements.copy()
    made[read[-1].at] = stored(product, p.dtype)
    return made


def jobs(device: Device) -> Iterator[Job]:
    """Chains of two and three factors in all types, packed and with gaps, from odd bases where those are,
    with something added and without; some read an operand twice, some share one."""
    stencil = STENCILS["chain"]
    for turn, (dtype, sizes) in enumerate((dtype, sizes) for dtype in DTYPES.values() for sizes in CHAINS):
        for gap in (0, 1 + turn % 2):
            problem = chain(dtype, sizes, gap, turn)
            config = stencil.default(problem.with_(batch=10**6), device)
            some = problem.with_(batch=2 * config["group"] + 1)
            shift = problem.align if gap else 0
            name = f"chain_{dtype.letter}_{'_'.join(map(str, sizes))}_{gap}"
            job = made(stencil, some, config, name, device, shift)
            # Fewer blocks than groups, so that each fills its ring again.
            yield replace(job, launch=replace(job.launch, grid=(2, 1, 1)))
            other = config.with_(in_place=1 - config["in_place"])
            if stencil.space(some, device).only((*HARDWARE, "hard")).member(other) is None:
                job = made(stencil, some, other, f"{name}_place", device, shift)
                yield replace(job, launch=replace(job.launch, grid=(2, 1, 1)))


def chain(dtype: DType, sizes: tuple[int, ...], gap: int, turn: int) -> ChainProblem:
    """A chain of these extents, its operands' letters and what it adds in turns."""
    letters = ORDERS[dtype.is_complex][turn % 4] + "nt"[turn % 2]
    operands, factors = [], []
    for i, (rows, columns) in enumerate(pairwise(sizes)):
        letter = letters[i]
        shape = (columns, rows) if letter in "tc" else (rows, columns)
        operands.append(_stored(*shape, gap, shared=turn % 5 == i))
        factors.append(Factor(i, letter))
    if sizes[:2] == (sizes[-1], sizes[-2]):
        # The last factor is the first one's conjugate transpose.
        operands.pop()
        factors[-1] = Factor(0, {"n": "c", "t": "j", "c": "n", "j": "t"}[factors[0].trans])
    m, n = sizes[0], sizes[-1]
    add = None
    if turn % 4 == 1:
        add = Factor(len(operands), "t")
        operands.append(_stored(n, m, gap, shared=False))
    elif turn % 4 == 3:
        add = Factor(len(operands))
        operands.append(_stored(m, n, gap, shared=False))
    align = dtype.itemsize if gap else 16
    first = turn // 2 % 2 if len(factors) == 3 else 0
    out = _stored(m, n, gap, shared=False)
    return ChainProblem(dtype, tuple(operands), tuple(factors), out, 1, add, first, align)


def _stored(rows: int, columns: int, gap: int, *, shared: bool) -> Stored:
    ld = rows + gap
    return Stored(rows, columns, ld, 0 if shared else ld * columns + gap)
