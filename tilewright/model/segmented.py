"""Groups of products whose borders lie on the device."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from tilewright.model.letters import DType, Transposed

AXES = ("m", "n", "k")
"""The axes of a product, any of which can be split among groups."""


@dataclass(frozen=True, slots=True)
class SegmentedProblem(Transposed):
    """What is asked of groups whose borders lie on the device: products that share an axis, split among them.

    ``axis`` says which. With m, rows of op(A) and of C are split and each group has a B; with n, columns of
    op(B) and of C, and each group has an A; with k, what is summed over, and each group has a C. ``m``, ``n``
    and ``k`` are whole extents, that of the split axis the one that the ``groups`` share. Matrices are
    column-major; leading dimensions and strides count elements. ``strides`` are those of the batch, in which
    every matrix is split alike, ``steps`` those from one group to the next: 0 for what is split.

    ``wide``: borders are integers of 64 bits, else of 32. ``first``: there is one more of them, where the
    first group begins. ``sizes``: they are sizes of groups, not ends. ``align`` as in ``Problem``.
    """

    dtype: DType
    axis: str
    m: int
    n: int
    k: int
    groups: int
    trans_a: str = "n"
    trans_b: str = "n"
    batch: int = 1
    lda: int = 0
    ldb: int = 0
    ldc: int = 0
    strides: tuple[int, int, int] = (0, 0, 0)
    steps: tuple[int, int, int] = (0, 0, 0)
    wide: bool = False
    first: bool = False
    sizes: bool = False
    alpha: str = "1"
    beta: str = "0"
    math: str = "ieee"
    align: int = 16

    @property
    def length(self) -> int:
        """The extent of the axis that is split."""
        return self.extents[AXES.index(self.axis)]

    @property
    def flops(self) -> int:
        """Operations of one product of the batch, where groups cover all of the axis."""
        return self.dtype.flops_per_fma * math.prod(self.extents)

    @property
    def bytes(self) -> int:
        """Fewest bytes of one product of the batch: all groups' operands read and results written."""
        sizes = (self.m * self.k, self.k * self.n, self.m * self.n)
        stacked = {"m": 1, "n": 0, "k": 2}[self.axis]
        total = sum(size * (self.groups if at == stacked else 1) for at, size in enumerate(sizes))
        return total * self.dtype.itemsize

    @property
    def footprint(self) -> int:
        """Bytes of memory that the whole batch occupies, at most."""
        return self.bytes * self.batch

    @property
    def extents(self) -> tuple[int, int, int]:
        """m, n and k."""
        return self.m, self.n, self.k

    @property
    def spelling(self) -> str:
        """Type, transpositions, extents, how many groups share which axis, and the batch."""
        size = f"{self.m}x{self.n}x{self.k}"
        return f"{self.dtype.letter}:{self.trans}:{size}/{self.groups}{self.axis}@{self.batch}"

    @property
    def layout(self) -> str:
        """What takes the place of a layout: all strides are arguments."""
        return "segments" + (f"+align{self.align}" if self.align < 16 else "")

    @property
    def family(self) -> str:
        """Type, transpositions and math mode, with a mark: single products say nothing of groups."""
        return f"{self.dtype.letter}:{self.trans}:{self.math}:segments{self.axis}"

    @property
    def compiled(self) -> dict[str, Any]:
        """What may be compiled in, as plain JSON values."""
        fields = {name: getattr(self.with_(batch=1), name) for name in self.__dataclass_fields__}
        return fields | {"dtype": self.dtype.letter}

    @property
    def key(self) -> str:
        """What a record is filed under."""
        size = f"{self.m}x{self.n}x{self.k}/{self.groups}{self.axis}"
        return f"{self.dtype.letter}:{self.trans}:{size}|{self.layout}|{self.math}"

    def with_(self, **changes: Any) -> SegmentedProblem:
        """The same problem with some fields changed."""
        return replace(self, **changes)
