"""Whether a rung's kernel is right: products that no tile divides, with gaps and guards, and their bounds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from tilewright.model import DTYPES, Config, Device, Kernel
from tilewright.targets.cuda import driver, modules
from tilewright.targets.cuda.binding import Binding
from tilewright.tuning.gemm.operands import subnormal
from tilewright.tutorial.outlines import compiled
from tilewright.tutorial.rung import Rung

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class Right:
    """alpha A B + beta C in float64, and what a result in a type may differ from it."""

    expected: Array
    bound: Array

    @staticmethod
    def of(a: Array, b: Array, c: Array, alpha: float, beta: float, letter: str = "s") -> Right:
        """``a`` are some rows of A, ``c`` those of C. The bound is that of a sum of K products in any order
        and three more roundings, in float32 (Higham, "Accuracy and Stability of Numerical Algorithms", 3.5),
        and of storing it in 16 bits (``tuning.gemm.operands.reference`` has the reasons)."""
        dtype = DTYPES[letter]
        wide_a, wide_b = a.astype(np.float64), b.astype(np.float64)
        old = beta * c.astype(np.float64) if beta else np.zeros(c.shape)
        product = wide_a @ wide_b if alpha else np.zeros(c.shape)
        size = abs(alpha) * (abs(wide_a) @ abs(wide_b)) if alpha else np.zeros(c.shape)
        expected = alpha * product + old
        sums = (a.shape[1] + 3) * dtype.unit_roundoff * (size + abs(old)) + np.finfo(np.float32).tiny
        return Right(expected, sums + dtype.storage_roundoff * (abs(expected) + sums) + subnormal(dtype))

    def excess(self, got: Array) -> float:
        """The worst error over its bound: up to 1 is right; NaN where there should be none is inf."""
        error = abs(got.astype(np.float64) - self.expected)
        worst = np.max(np.where(np.isfinite(error), error / self.bound, np.inf), initial=0.0)
        return float(worst)


@dataclass(frozen=True, slots=True)
class Case:
    """A product that a kernel is checked on: sizes, gaps after rows in elements, bases moved by elements,
    scalars."""

    m: int
    n: int
    k: int
    gaps: tuple[int, int, int] = (0, 0, 0)
    offset: int = 0
    alpha: float = 1.0
    beta: float = 0.0


CASES = (
    Case(256, 256, 64),
    Case(1, 1, 1),
    Case(131, 133, 37, alpha=1.5, beta=0.5),
    Case(128, 132, 33, gaps=(7, 4, 8), beta=1.0),
    Case(260, 388, 68, alpha=-2.0),
    Case(130, 260, 36, gaps=(4, 4, 4)),
    Case(130, 260, 36, offset=1),
    Case(257, 129, 129, gaps=(3, 3, 7), offset=3, beta=-1.0),
    Case(300, 4, 516),
    Case(3, 300, 5, beta=2.0),
    Case(65, 67, 0, beta=0.25),
    Case(65, 67, 5, alpha=0.0, beta=0.25),
    Case(65, 67, 0),
)
"""No tile divides most of these, rows are or are not multiples of 16 bytes, and so are bases."""

GUARD = 512
"""Elements of NaN on either side of every operand: what is read there shows in the result."""


def fitted(case: Case, rung: Rung) -> tuple[tuple[int, int, int], tuple[int, int, int], int]:
    """A case as a rung takes it: m, n and k, the elements from one row to the next of A, of B and of C, and
    those by which bases are moved, all rounded up to the multiples that it asks for."""

    def up(value: int, unit: int) -> int:
        return -(-value // unit) * unit

    m, n, k = (up(extent, rung.whole) for extent in (case.m, case.n, case.k))
    pitches = tuple(up(row + gap, rung.unit) for row, gap in zip((k, n, n), case.gaps, strict=True))
    return (m, n, k), (pitches[0], pitches[1], pitches[2]), up(case.offset, rung.unit)


def check(rung: Rung, config: Config, kernel: Kernel, case: Case, device: Device) -> float:
    """The excess (see ``Right``) of one product on the device; inf when something beside C was written."""
    draw, kind = np.random.default_rng(7), DTYPES[rung.letter].numpy
    (m, n, k), pitches, offset = fitted(case, rung)
    padded, addresses, memories = [], [], []
    for (rows, columns), pitch in zip(((m, k), (k, n), (m, n)), pitches, strict=True):
        whole = np.full(GUARD + rows * pitch + GUARD, np.nan, kind)
        inside = whole[GUARD : len(whole) - GUARD].reshape(rows, pitch)[:, :columns]
        inside[:] = draw.standard_normal((rows, columns), np.float32)
        memory = driver.allocate(whole.nbytes + offset * kind.itemsize)
        padded.append((whole, inside))
        memories.append(memory)
        addresses.append(memory.address + offset * kind.itemsize)
    (_, a), (_, b), (whole_c, c) = padded
    right = Right.of(a, b, c, case.alpha, case.beta, rung.letter)
    if case.beta == 0.0:
        c[:] = np.nan
    for (whole, _), address in zip(padded, addresses, strict=True):
        driver.upload(address, whole)
    pointers = [address + GUARD * kind.itemsize for address in addresses]
    described = rung.arguments(config, m, n, k, pitches)
    launch, scalars = rung.launch(config, m, n, device), {"alpha": case.alpha, "beta": case.beta}
    Binding(kernel, launch, described, scalars).put(pointers)(0)
    driver.synchronize()
    driver.download(whole_c, addresses[2])
    excess = right.excess(c)
    c[:] = np.nan
    return excess if np.isnan(whole_c.astype(np.float32)).all() else math.inf


@cache
def worst(rung: Rung, config: Config, device: Device) -> float:
    """The largest excess of a config on ``CASES``."""
    kernel = modules.load(compiled(rung, config, device))
    return max(check(rung, config, kernel, case, device) for case in CASES)
