"""Problems and configs of the universal stencil that several tests ask for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

from tilewright.model import Config, Problem
from tilewright.stencils.cuda.classic.stencil import ClassicStencil
from tilewright.targets.cuda.capability import named

CLASSIC = ClassicStencil()
H200 = named("h200")

SINGLE: dict[str, Any] = {"read": "global", "order": 1, "split": 1, "early": 0, "mma": 0}
"""What a plain config has of each extra: none."""


def one(spelling: str, size: str = "8192x8192x8192", **fields: Any) -> Problem:
    """The problem of a spelling without its size, such as ``s:nt``."""
    return Problem.parse(f"{spelling}:{size}", **fields)[0]


def good(problem: Problem) -> Config:
    """A plain config of 16 x 16 threads on 128 x 128 (64 x 64) elements."""
    side = 128 if problem.dtype.itemsize == 4 else 64
    vec = 16 // problem.dtype.itemsize
    config = CLASSIC.default(problem, H200).with_(
        m_dim=16,
        n_dim=16,
        m_blk=side,
        n_blk=side,
        k_blk=8,
        wide=vec,
        vec=vec,
        lanes=8,
        min_blocks=1,
        **SINGLE,
    )
    return config.with_(
        **next(g for g in grids_of(problem, config) if g["m_dima"] <= 32 and g["m_dimb"] <= 32)
    )


def grids_of(problem: Problem, c: Mapping[str, Any]) -> Iterator[dict[str, int]]:
    """Read grids that overlay the stripes of a config, the ones with long rows first."""
    threads, wide = c["m_dim"] * c["n_dim"], c["wide"]

    def shapes(k_along: bool, free: int) -> list[tuple[int, int]]:
        along, across = (c["k_blk"], free) if k_along else (free, c["k_blk"])
        found = [(m, threads // m) for m in (64, 32, 16, 8, 4, 2, 1) if threads % m == 0]
        return [(m, n) for m, n in found if along % (m * wide) == 0 and across % n == 0]

    pairs = product(shapes(problem.transposed_a, c["m_blk"]), shapes(not problem.transposed_b, c["n_blk"]))
    for (m_dima, n_dima), (m_dimb, n_dimb) in pairs:
        yield {"m_dima": m_dima, "n_dima": n_dima, "m_dimb": m_dimb, "n_dimb": n_dimb}
