"""A list of products of different sizes: numbers, where they lie in memory, and what is right."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.model import DType, GroupedProblem
from tilewright.stencils.cuda.grouped.descriptors import describe


@dataclass(frozen=True, slots=True)
class Drawn:
    """A list with its numbers; ``values``, ``begins`` and ``leading`` hold an array each for A, B and C."""

    problem: GroupedProblem
    sizes: tuple[Any, Any, Any]
    """m, n and k of each product; the first has no k."""
    values: tuple[Any, ...]
    """All that lies in the memory of A, of B and of C, as complex numbers."""
    begins: tuple[Any, ...]
    """Where each matrix begins in it, in elements."""
    leading: tuple[Any, ...]
    """Leading dimension of each matrix."""
    alphas: Any
    betas: Any

    def arguments(self, bases: tuple[int, ...]) -> tuple[Any, Any]:
        """What the kernel reads of A, B and C that lie at these addresses: descriptors, and a row of scalars
        for each product."""
        p = self.problem
        a, b, c = (base + p.dtype.itemsize * begin for base, begin in zip(bases, self.begins, strict=True))
        lda, ldb, ldc = self.leading
        trans = p.trans_a + p.trans_b
        words = describe(p.dtype, trans, self.sizes, (a, b, c), (lda, ldb, ldc), self.betas != 0)
        scalars = np.stack([self.alphas, 0 * self.alphas, self.betas, 0 * self.betas], axis=1)
        return words, scalars.astype(float)

    def right(self) -> Any:
        """What has to lie in the memory of C afterwards, as complex numbers."""
        p, right = self.problem, self.values[2].copy()
        shapes = shapes_of(p, *self.sizes)
        for i in range(p.batch):
            a, b, c = (
                _matrix(numbers, begin[i], ld[i], *(int(x[i]) for x in shape))
                for numbers, begin, ld, shape in zip(
                    (*self.values[:2], right), self.begins, self.leading, shapes, strict=True
                )
            )
            a, b = (a.T if p.transposed_a else a), (b.T if p.transposed_b else b)
            a, b = (a.conj() if p.conj_a else a), (b.conj() if p.conj_b else b)
            c[...] = self.alphas[i] * (a @ b) + self.betas[i] * c
        return right


def shapes_of(p: GroupedProblem, m: Any, n: Any, k: Any) -> tuple[tuple[Any, Any], ...]:
    """Rows and columns of A, B and C as they are stored."""
    return ((k, m) if p.transposed_a else (m, k), (n, k) if p.transposed_b else (k, n), (m, n))


def drawn(p: GroupedProblem) -> Drawn:
    """Sizes, gaps and numbers, the same every time. Numbers are -1, 0 and 1, whose sums are exact in every
    type."""
    draw = np.random.default_rng(7)
    m, n, k = (draw.integers(1, most + 1, p.batch) for most in (p.m, p.n, p.k))
    k[0] = 0
    leading, begins, values = [], [], []
    for rows, columns in shapes_of(p, m, n, k):
        # Half of them without gaps. One element before the first, so that bases are odd.
        ld = np.maximum(rows, 1) + draw.choice((0, 0, 0, 1, 2, 4), p.batch)
        reach = np.where(columns > 0, (columns - 1) * ld + rows, 0) + draw.choice((0, 1, 2), p.batch)
        reach[-1] -= max(0, reach[-1] - ((columns[-1] - 1) * ld[-1] + rows[-1]))
        ends = 1 + np.cumsum(reach)
        leading.append(ld)
        begins.append(ends - reach)
        values.append(draw.integers(-1, 2, int(ends[-1])) + 1j * draw.integers(-1, 2, int(ends[-1])))
        if not p.dtype.is_complex:
            values[-1] = values[-1].real + 0j
    alphas = draw.choice((1, -1), p.batch) if p.alpha == "any" else np.ones(p.batch)
    betas = draw.choice((0, 1, -1), p.batch) if p.beta == "any" else np.full(p.batch, int(p.beta))
    return Drawn(p, (m, n, k), tuple(values), tuple(begins), tuple(leading), alphas, betas)


def stored(values: Any, dtype: DType) -> Any:
    """Complex numbers as elements of a type, along the first axis."""
    if dtype.letter == "hc":
        out = np.empty(values.shape, dtype.numpy)
        out["re"], out["im"] = values.real, values.imag
        return out
    return (values if dtype.is_complex else values.real).astype(dtype.numpy)


def wide(values: Any, dtype: DType) -> Any:
    """The other way."""
    if dtype.letter == "hc":
        return values["re"].astype(float) + 1j * values["im"].astype(float)
    return values.astype(np.complex128)


def _matrix(values: Any, begin: int, ld: int, rows: int, columns: int) -> Any:
    """A column-major matrix in a row of numbers."""
    step = values.itemsize
    return np.lib.stride_tricks.as_strided(values[begin:], (rows, columns), (step, int(ld) * step))
