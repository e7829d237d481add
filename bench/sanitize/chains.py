"""The operands of a chain: numbers, where they lie in memory, and what is right."""

from __future__ import annotations

from typing import Any

import numpy as np

from bench.sanitize.lists import stored, wide
from tilewright.model import ChainProblem, Factor, Stored


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
