"""A chain of products in one pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from tilewright.model.letters import DType


@dataclass(frozen=True, slots=True)
class Stored:
    """A batch of matrices as it lies in memory, column-major: rows and columns of one, and in elements the
    leading dimension and what is between one matrix and the next, 0 where the whole batch shares one."""

    rows: int
    columns: int
    ld: int
    stride: int

    @property
    def size(self) -> int:
        """Elements of one matrix."""
        return self.rows * self.columns

    @property
    def packed(self) -> bool:
        """Whether a batch of its own lies in memory without gaps."""
        return self.ld == self.rows and self.stride == self.size


@dataclass(frozen=True, slots=True)
class Factor:
    """op of the operand of that number: n (as stored), t (transposed), c (conjugate transposed) or j
    (conjugated only)."""

    operand: int
    trans: str = "n"

    @property
    def transposed(self) -> bool:
        """Whether the operand is stored transposed."""
        return self.trans in "tc"

    @property
    def conjugated(self) -> bool:
        """Whether the operand enters conjugated."""
        return self.trans in "cj"

    def shape(self, operands: Sequence[Stored]) -> tuple[int, int]:
        """Rows and columns of op."""
        stored = operands[self.operand]
        return (stored.columns, stored.rows) if self.transposed else (stored.rows, stored.columns)


@dataclass(frozen=True, slots=True)
class ChainProblem:
    """What is asked of a chain: C = op(X1) * op(X2) [* op(X3)] [+ op(Q)], for each matrix of a batch.

    ``operands`` are the distinct arrays that are read; ``factors``, two or three, and ``add`` say by number
    which of them they are, so that one that stands in the chain twice is read once. ``out`` is C, m x n.
    ``first`` is the product of three factors that is made first: 0 for X1 X2, 1 for X2 X3. ``align`` bytes
    divide the addresses of all operands.
    """

    dtype: DType
    operands: tuple[Stored, ...]
    factors: tuple[Factor, ...]
    out: Stored
    batch: int = 1
    add: Factor | None = None
    first: int = 0
    align: int = 16

    @property
    def beta(self) -> str:
        """The class of what is added, as of a product: "1" for Q, "0" for nothing."""
        return "0" if self.add is None else "1"

    @property
    def sizes(self) -> tuple[int, ...]:
        """Rows of X1, then the columns of each factor."""
        shapes = [factor.shape(self.operands) for factor in self.factors]
        return (shapes[0][0], *(columns for _, columns in shapes))

    @property
    def products(self) -> tuple[tuple[int, int, int], ...]:
        """m, n and k of each product, in the order in which they are made."""
        if len(self.factors) == 2:
            m, k, n = self.sizes
            return ((m, n, k),)
        m, k, k_2, n = self.sizes
        return ((k, n, k_2), (m, n, k)) if self.first else ((m, k_2, k), (m, n, k_2))

    @property
    def flops(self) -> int:
        """Operations of one chain, without those of the sum."""
        return self.dtype.flops_per_fma * sum(m * n * k for m, n, k in self.products)

    @property
    def bytes(self) -> int:
        """Fewest bytes of one chain: each operand that is not shared read once, C written."""
        read = sum(operand.size for operand in self.operands if operand.stride)
        return (read + self.out.size) * self.dtype.itemsize

    @property
    def footprint(self) -> int:
        """Bytes of memory that the whole batch occupies, shared operands once."""
        read = sum(x.size * (self.batch if x.stride else 1) for x in self.operands)
        return (read + self.batch * self.out.size) * self.dtype.itemsize

    @property
    def extents(self) -> tuple[int, int, int]:
        """m and n of C, and the largest extent that is summed over."""
        return self.sizes[0], self.sizes[-1], max(self.sizes[1:-1])

    @property
    def spelling(self) -> str:
        """``TYPE:OPS:MxKxN@BATCH``, OPS each factor's number and letter: ``d:0n.1n.0t+2n:6x6x6x6@1000``."""
        ops = ".".join(f"{factor.operand}{factor.trans}" for factor in self.factors)
        ops += f"+{self.add.operand}{self.add.trans}" if self.add else ""
        return f"{self.dtype.letter}:{ops}:{'x'.join(map(str, self.sizes))}@{self.batch}"

    @property
    def layout(self) -> str:
        """How the operands lie in memory: ``packed``, or which have gaps; shared operands by number."""
        gaps = [str(i) for i, x in enumerate(self.operands) if x.stride and not x.packed]
        gaps += [] if self.out.packed or self.batch == 1 else ["C"]
        shared = [str(i) for i, x in enumerate(self.operands) if x.stride == 0]
        text = f"gaps{','.join(gaps)}" if gaps else "packed"
        text += f"+shared{','.join(shared)}" if shared else ""
        return text + (f"+align{self.align}" if self.align < 16 else "")

    @property
    def family(self) -> str:
        """What near chains have in common: type, factors and how they are associated."""
        return f"{self.spelling.rpartition(':')[0]}:{self.first}"

    @property
    def compiled(self) -> dict[str, Any]:
        """What may be compiled in: a chain has as many matrices as it likes."""
        return asdict(replace(self, batch=1)) | {"dtype": self.dtype.letter}

    @property
    def key(self) -> str:
        """Everything that is compiled in, without the batch count."""
        return f"{self.with_(batch=1).spelling[:-2]}|{self.layout}|first={self.first}"

    def with_(self, **changes: Any) -> ChainProblem:
        """The same chain with some fields changed."""
        return replace(self, **changes)
