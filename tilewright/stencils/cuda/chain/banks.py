"""How often threads of chain.cuh ask shared memory for words of the same bank, counted access by access.

Shared memory has 32 banks of 4 bytes. A warp's access is served in one pass (a wavefront) where no bank is
asked for two different words; vectors of 16 bytes are served 8 threads at a time, of 8 bytes 16. Matrices of
4, 8, 16 or 32 rows begin in few different banks, so tiles of the same size differ by several times.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from tilewright.model import ChainProblem, Factor
from tilewright.stencils.cuda.chain.needs import factors_of, vector, words_of_sum

_LANES, _BANKS, _WORD = 32, 32, 4


class Lying(NamedTuple):
    """A factor in shared memory: elements from a column to the next, from a matrix to the next, bytes of an
    element, and whether it is stored transposed."""

    ld: int
    step: int
    size: int
    trans: bool


def wavefronts(p: ChainProblem, rows: int, columns: int) -> float:
    """Wavefronts of the products of one chain by tiles of so many rows and columns."""
    size = p.dtype.itemsize
    wide = max(size, _WORD * words_of_sum(p))
    count = 0.0
    for last, ((m, n, k), factors) in enumerate(zip(p.products, factors_of(p), strict=True), 1):
        x, y = (_lying(p, factor, wide) for factor in factors)
        is_last = last == len(p.products)
        added = p.add is not None and is_last
        put = size if is_last else wide
        count += _product((m, n, k), (min(rows, m), min(columns, n)), x, y, put, added)
    return count


def _lying(p: ChainProblem, factor: Factor, wide: int) -> Lying:
    """Where a factor lies; without an operand it is the product in between."""
    if factor.operand < 0:
        m, n, _ = p.products[0]
        return Lying(m, m * n, wide, trans=False)
    stored = p.operands[factor.operand]
    return Lying(stored.rows, stored.size if stored.stride else 0, p.dtype.itemsize, factor.transposed)


@lru_cache(maxsize=4096)
def _product(
    sizes: tuple[int, int, int], tile: tuple[int, int], x: Lying, y: Lying, put: int, added: bool
) -> float:
    """Wavefronts of one matrix of a product, as its first 32 threads have them in their first step of k."""
    (m, n, k), (high, wide) = sizes, tile
    vk_x = vector(x.size, k) if x.trans else k
    vk_y = k if y.trans else vector(y.size, k)
    vk = 1 if y.trans and not x.trans else min(vk_x, vk_y)
    vm = min(vector(put, m, high), high if x.trans else vector(x.size, m, high))
    vn = vector(y.size, n, wide) if y.trans else 1
    across_m, across_n = -(-m // high), -(-n // wide)
    each = across_m * across_n
    which, of_tile = np.divmod(np.arange(_LANES), each)
    at_m, at_n = of_tile % across_m, of_tile // across_m
    pieces_m, pieces_n = np.arange(high // vm)[:, None], np.arange(wide // vn)[:, None]
    row = np.minimum((pieces_m * across_m + at_m) * vm, m - vm)
    column = np.minimum((pieces_n * across_n + at_n) * vn, n - vn)
    if x.trans:
        every = (row[:, None] + np.arange(vm)[:, None]).reshape(-1, _LANES)
        left = _passes((which * x.step + every * x.ld) * x.size, vk * x.size)
    else:
        left = vk * _passes((which * x.step + row) * x.size, vm * x.size)
    if y.trans:
        right = vk * _passes((which * y.step + column) * y.size, vn * y.size)
    else:
        right = _passes((which * y.step + column * y.ld) * y.size, vk * y.size)
    every = (column[:, None] + np.arange(vn)[:, None]).reshape(-1, 1, _LANES)
    out = _passes((which * m * n + row + every * m).reshape(-1, _LANES) * put, vm * put)
    return ((left + right) * (k // vk) + out * (1 + added)) * each / _LANES


def _passes(places: Any, width: int) -> int:
    """Wavefronts of accesses of ``width`` bytes at these places, a row for each access of a warp."""
    together = min(_LANES, _BANKS * _WORD // width)
    words = (places[..., None] + np.arange(0, max(width, _WORD), _WORD)) // _WORD
    parts = np.sort(words.reshape(-1, together * words.shape[-1]), axis=1)
    new = np.ones(parts.shape, bool)
    new[:, 1:] = parts[:, 1:] != parts[:, :-1]
    at = (np.arange(len(parts))[:, None] * _BANKS + parts % _BANKS)[new]
    return int(np.bincount(at, minlength=len(parts) * _BANKS).reshape(-1, _BANKS).max(axis=1).sum())
