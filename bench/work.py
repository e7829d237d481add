"""What a peer is given to compute: the problem, its operands in memory, and the check of the result.

A problem is column-major, as everywhere in tilewright: C (m x n) = A (m x k) * B (k x n). In memory that
is the row-major product of the transposes, so NumPy-like peers compute ``c = b @ a`` with b of shape
(batch, n, k), a of (batch, k, m) and c of (batch, n, m), and BLAS-like peers use A, B, C as they are.
Both read the same bytes, and a square problem is the same for all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bench import machine
from tilewright.model import Problem

REGIMES = ("memory", "cached")
TYPES = "sdcz"

_PAGE = 4096
# Operands start at different offsets in a page: equal ones would make loads wait for unrelated stores
# (4K aliasing), and where a fresh allocation lies would then decide a comparison.
_STAGGER = 21 * 64
_BLOCK = 1 << 18


@dataclass(frozen=True, slots=True)
class Operands:
    """One problem with its three stacks of matrices, and the number of threads to use.

    ``a``, ``b``, ``c`` are row-major stacks of shapes (batch, k, m), (batch, n, k), (batch, n, m):
    the product is ``c = b @ a (+ c)`` in NumPy's words.
    """

    problem: Problem
    threads: int
    a: np.ndarray
    b: np.ndarray
    c: np.ndarray

    @property
    def beta(self) -> int:
        """0 to overwrite C, 1 to add to it."""
        return int(self.problem.beta)


def sized(problem: Problem, regime: str, threads: int) -> Problem:
    """The problem with the batch that makes A, B and C together fit the regime.

    ``memory``: four times the last-level cache, at least 128 MB and at most 1 GB, so that nothing is
    reused from a cache. ``cached``: half of the second-level cache of each core in use.
    """
    if regime == "memory":
        room = min(max(4 * machine.last_level_cache_bytes(), 128 * 10**6), 10**9)
    else:
        room = (machine.cache_bytes(2) or 1 << 20) // 2 * threads
    batch = max(1, room // problem.with_(batch=1).footprint)
    # A static split gives every core the same number of products.
    return problem.with_(batch=max(1, batch // threads) * threads)


def make(problem: Problem, threads: int, seed: int = 1) -> Operands:
    """Random operands of a problem, every peer the same values at the same offsets within a page.

    Values are uniform in [-1, 1], A's divided by k: with beta = 1, C then grows by at most 1 a pass,
    which stays far from overflow, and nothing decays into denormals.
    """
    dtype = np.dtype(problem.dtype.name)
    p = problem
    shapes = [(p.batch, p.k, p.m), (p.batch, p.n, p.k), (p.batch, p.n, p.m)]
    sizes = [int(np.prod(shape)) * dtype.itemsize for shape in shapes]
    room = sum(size + 2 * _PAGE for size in sizes)
    arena = np.empty(room + _PAGE, np.uint8)
    arena = arena[-arena.ctypes.data % _PAGE :]
    offset = 0
    rng = np.random.default_rng(seed)
    stacks = []
    for number, (shape, size) in enumerate(zip(shapes, sizes, strict=True)):
        start = offset + number * _STAGGER
        stack = arena[start : start + size].view(dtype).reshape(shape)
        _fill(stack.reshape(-1), rng, 1 / p.k if number == 0 else 1.0)
        stacks.append(stack)
        offset = -(-(start + size) // _PAGE) * _PAGE
    return Operands(problem, threads, *stacks)


def relative_error(operands: Operands, run: Callable[[], object], seed: int = 2) -> float:
    """Worst ``|c - reference| / (|b| |a| + |beta c|)`` over a few matrices after one ``run()``.

    The matrices are the ends of every thread's share and three others. With beta = 0 their C is NaN
    before the run, so a matrix that is not written, or C that is read, is found.
    """
    o, rng = operands, np.random.default_rng(seed)
    batch = o.problem.batch
    ends = [batch * t // o.threads for t in range(o.threads + 1)]
    picks = np.unique([*ends[:-1], *(end - 1 for end in ends[1:]), *rng.integers(0, batch, 3)])
    before = np.zeros_like(o.c[picks])
    if o.beta:
        _fill(before.reshape(-1), rng, 1.0)
    o.c[picks] = before if o.beta else np.nan
    run()
    wide = np.complex128 if o.problem.dtype.is_complex else np.float64
    a, b, c = (x.astype(wide) for x in (o.a[picks], o.b[picks], before))
    scale = np.abs(b) @ np.abs(a) + np.abs(c)
    error = np.abs(o.c[picks] - (b @ a + c)) / scale
    # A poisoned matrix must not outlive the check: arithmetic on NaN is as fast, but results would lie.
    o.c[picks] = before
    return float(np.max(error)) if np.isfinite(error).all() else float("inf")


def error_limit(problem: Problem) -> float:
    """Largest ``relative_error`` of a right result: the rounding of k + 1 sums, complex ones wider.

    Errors of the complex product add a factor of 2 sqrt 2; the float64 reference its own rounding.
    """
    return (4 if problem.dtype.is_complex else 2) * (problem.k + 3) * problem.dtype.unit_roundoff


def _fill(flat: np.ndarray, rng: np.random.Generator, scale: float) -> None:
    """Random values into a flat array: one random block repeated, which is quick and nowhere constant."""
    reals = flat.view(flat.real.dtype)
    block = ((rng.random(min(_BLOCK, reals.size)) * 2 - 1) * scale).astype(reals.dtype)
    for start in range(0, reals.size, block.size):
        part = reals[start : start + block.size]
        part[:] = block[: part.size]
