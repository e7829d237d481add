"""What a finalist is checked on: some rows and columns of the timed problem itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from tilewright.model import Problem, Verdict
from tilewright.targets.cuda import driver
from tilewright.tuning.gemm.operands import Array, Operands, Reference, Region, reference, sample, scalars
from tilewright.tuning.gemm.verify import against

SEED = 1
ROWS, COLUMNS, MATRICES = 16, 64, 3
"""How much of the timed problem a finalist is checked on."""


class Excerpt:
    """Some rows and columns of some matrices of the timed problem: enough to know the right answer there.

    Built operand by operand (``take``), from the memory that is uploaded.
    """

    def __init__(self, problem: Problem):
        p = self.problem = problem
        draw = np.random.default_rng(SEED)
        self.which = sample(p.batch, MATRICES)
        # The last row and column lie in the tiles that are not full.
        self.rows, self.cols = (
            np.unique([*draw.choice(extent, min(most, extent) - 1, replace=False), extent - 1])
            for extent, most in ((p.m, ROWS), (p.n, COLUMNS))
        )
        self.parts: dict[str, Array] = {}
        self._right: Reference | None = None

    def take(self, name: str, made: Region) -> None:
        """Copy what is needed of an operand. Of C that is whole columns, as (matrix, column, row)."""
        p, view = self.problem, made.view
        if name == "A":
            found = [view[w][:, self.rows].T if p.transposed_a else view[w][self.rows] for w in self.which]
        elif name == "B":
            found = [view[w][self.cols].T if p.transposed_b else view[w][:, self.cols] for w in self.which]
        else:
            found = [view[w].T[self.cols] for w in self.which]
        self.parts[name] = np.ascontiguousarray(np.stack(found))

    @property
    def right(self) -> Reference:
        """The right answer, as (matrix, row, column)."""
        if self._right is None:
            p, a, b = self.problem, self.parts["A"], self.parts["B"]
            c = self.parts["C"][:, :, self.rows].swapaxes(1, 2)
            part = Problem(
                p.dtype,
                self.rows.size,
                self.cols.size,
                p.k,
                "j" if p.conj_a else "n",
                "j" if p.conj_b else "n",
                batch=self.which.size,
                alpha=p.alpha,
                beta=p.beta,
            )
            a_, b_, c_ = (Region(view, view, 0) for view in (a, b, c))
            self._right = reference(part, Operands(part, (a_, b_, c_), *scalars(p)))
        return self._right

    def columns(self, base: int) -> Iterator[tuple[int, int, int]]:
        """The columns of C: number of the matrix and of the column in here, and the address."""
        p = self.problem
        for i, w in enumerate(self.which):
            for j, col in enumerate(self.cols):
                yield i, j, base + (int(w) * p.strides[2] + int(col) * (p.ldc or 0)) * p.dtype.itemsize

    def check(self, run: Callable[[], object], base: int, roundings: int = 1) -> Verdict:
        """Give C its first values in the columns here, make one call, and judge what it left.

        ``roundings`` is that of ``verify.against``."""
        old = self.parts["C"]
        got = np.empty_like(old)
        for i, j, address in self.columns(base):
            driver.upload(address, old[i, j])
        run()
        driver.synchronize()
        for i, j, address in self.columns(base):
            driver.download(got[i, j], address)
        here = got[:, :, self.rows].swapaxes(1, 2)
        return against(here, self.right, self.problem, f"{self.problem.spelling} itself", roundings)
