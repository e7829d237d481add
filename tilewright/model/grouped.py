"""A list of products, each of its own size."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilewright.errors import ArgumentError
from tilewright.model.letters import DTYPES, DType, Transposed

Extent = tuple[int, int]
"""The least and the largest extent of a matrix in a list."""

Integers = NDArray[np.int64]

_EXTENT = r"(\d+)(?:\.\.(\d+))?"
_TERM = re.compile(rf"{_EXTENT}x{_EXTENT}x{_EXTENT}@(\d+)")
_LIST = re.compile(r"(?P<t>hc|[hbsdcz])(?::(?P<trans>[ntcj]{2}))?:(?P<terms>[\d.x@+]+)")

STEPS = (4, 8, 16, 24, 32, 48, 64)
"""What the largest extents of a list are rounded up to, so that few kernels serve all lists."""

MANY = 14
"""Binary logarithm of a number of products from which on a GPU is full for most of a launch, and more of them
change nothing."""

_LIST_FIELDS = ("alpha", "beta", "math", "align")


@dataclass(frozen=True, slots=True)
class Term:
    """Products of a list whose extents are drawn from the same ranges, each by itself and uniformly."""

    m: Extent
    n: Extent
    k: Extent
    count: int

    @property
    def spelling(self) -> str:
        """``MxNxK@COUNT``, where an extent may be ``LOW..HIGH``."""
        sides = (f"{low}..{high}" if low < high else f"{low}" for low, high in (self.m, self.n, self.k))
        return f"{'x'.join(sides)}@{self.count}"


@dataclass(frozen=True, slots=True)
class GroupedProblem(Transposed):
    """What is asked of a list: C_i = alpha_i * op(A_i) * op(B_i) + beta_i * C_i, each of its own size.

    ``m``, ``n`` and ``k`` are the largest extents, rounded up to ``STEPS``, ``batch`` the number of products,
    ``align`` bytes that divide the addresses of all matrices. ``alpha`` and ``beta`` are the classes of all
    scalars together. ``work``, ``inputs`` and ``outputs`` are means over the list: multiply-adds, elements
    of A and B, and elements of C of one product. ``terms`` say how a list that was spelled is drawn; lists
    of arrays have none.

    Two lists are equal, and one record serves both, where a config is as good for one as for the other: its
    speed follows from what is compiled in (types, transpositions, classes, the largest extents, which fix
    tiles and rings), from how many products of mean size lie in a ring (``mean``, the rounded binary
    logarithm of the elements of one; its distance from the largest is how uneven the list is), and from
    whether there are enough of them for all multiprocessors (``count``, the rounded logarithm of the number
    in steps of four, up to ``MANY``). Everything else is left out of comparisons.
    """

    dtype: DType
    m: int
    n: int
    k: int
    trans_a: str
    trans_b: str
    batch: int
    count: int
    mean: int
    alpha: str = "1"
    beta: str = "0"
    math: str = "ieee"
    align: int = 16
    work: float = field(default=0.0, compare=False)
    inputs: float = field(default=0.0, compare=False)
    outputs: float = field(default=0.0, compare=False)
    terms: tuple[Term, ...] = field(default=(), compare=False)

    @staticmethod
    def of(
        dtype: DType,
        trans: str,
        sizes: tuple[Integers, Integers, Integers],
        *,
        alpha: str = "1",
        beta: str = "0",
        align: int = 16,
    ) -> GroupedProblem:
        """The problem of a list of products whose extents m, n and k are given, one number for each."""
        m, n, k = (np.asarray(side, np.float64) for side in sizes)
        most = [int(side.max(initial=0)) for side in sizes]
        means = [float(x.mean()) if x.size else 0.0 for x in (m * n * k, m * k + k * n, m * n)]
        classes = {"alpha": alpha, "beta": beta, "align": align}
        return GroupedProblem._classified(dtype, trans, most, len(m), means, (), classes)

    @staticmethod
    def _classified(
        dtype: DType,
        trans: str,
        most: Sequence[int],
        batch: int,
        means: Sequence[float],
        terms: tuple[Term, ...],
        classes: Mapping[str, Any],
    ) -> GroupedProblem:
        """A list by its largest extents and its means."""
        # A product without terms is one of a zero: the kernel is compiled for a step of k all the same.
        m, n, k = (next((step for step in STEPS if x <= step), x) for x in (*most[:2], max(most[2], 1)))
        work, inputs, outputs = means
        count = min(2 * round(math.log2(max(batch, 1)) / 2), MANY)
        mean = round(math.log2(max(inputs + outputs, 1.0)))
        return GroupedProblem(
            dtype,
            m,
            n,
            k,
            trans[0],
            trans[1],
            batch,
            count,
            mean,
            work=work,
            inputs=inputs,
            outputs=outputs,
            terms=terms,
            **classes,
        )

    @property
    def flops(self) -> float:
        """Operations of one product of the list, in the mean."""
        return self.dtype.flops_per_fma * self.work

    @property
    def bytes(self) -> float:
        """Fewest bytes of one product, in the mean: A and B read, C written, and read if beta is not 0."""
        return (self.inputs + self.outputs * (1 if self.beta == "0" else 2)) * self.dtype.itemsize

    @property
    def footprint(self) -> int:
        """Bytes of memory that all matrices occupy."""
        return int(self.batch * (self.inputs + self.outputs)) * self.dtype.itemsize

    @property
    def updated(self) -> int:
        """Bytes of C that the whole list reads: none with beta class 0."""
        return 0 if self.beta == "0" else int(self.batch * self.outputs) * self.dtype.itemsize

    @property
    def spelling(self) -> str:
        """``TYPE:TRANS:MxNxK@COUNT+...`` as ``parse`` reads it; of a list of arrays the largest extents."""
        terms = self.terms or (Term((1, self.m), (1, self.n), (1, self.k), self.batch),)
        text = "+".join(term.spelling for term in terms)
        if not _is_list(text):
            # One term without a range would be a batch: a range of one number says that it is a list.
            text = f"{terms[0].m[0]}..{text}"
        return f"{self.dtype.letter}:{self.trans}:{text}"

    @property
    def layout(self) -> str:
        """What takes the place of a layout: the matrices of a list have one each."""
        return "grouped" + (f"+align{self.align}" if self.align < 16 else "")

    @property
    def family(self) -> str:
        """That of one of its products, with a mark: a list and a product alone say nothing of each other."""
        return f"{self.dtype.letter}:{self.trans}:{self.math}:grouped"

    @property
    def extents(self) -> tuple[int, int, int]:
        """The largest m, n and k, rounded up."""
        return self.m, self.n, self.k

    @property
    def compiled(self) -> dict[str, Any]:
        """What may be compiled in: a list has as many products as it likes."""
        return self.with_(batch=1).to_json()

    @property
    def key(self) -> str:
        """What a record is filed under: what two lists that compare equal have in common, but the number."""
        return (
            f"{self.dtype.letter}:{self.trans}:{self.m}x{self.n}x{self.k}"
            f"|{self.layout}|count=2^{self.count}|mean=2^{self.mean}"
            f"|alpha={self.alpha}|beta={self.beta}|{self.math}"
        )

    def with_(self, **changes: Any) -> GroupedProblem:
        """The same class of lists with some fields changed; the class stays what it is."""
        return replace(self, **changes)

    def sizes(self, seed: int) -> tuple[Integers, Integers, Integers]:
        """m, n and k of each product of a list that was spelled, drawn in a random order.

        Raises ``ArgumentError`` for a list of arrays, which has no terms.
        """
        if not self.terms:
            raise ArgumentError(f"problem={self.key}: a list of arrays is not drawn; accepted: a spelling")
        draw = np.random.default_rng(seed)
        parts = [
            [draw.integers(low, high + 1, term.count) for low, high in (term.m, term.n, term.k)]
            for term in self.terms
        ]
        order = draw.permutation(self.batch)
        m, n, k = (np.concatenate([part[side] for part in parts])[order] for side in range(3))
        return m, n, k

    @staticmethod
    def spells(text: str) -> bool:
        """Whether a spelling is that of a list: several terms, or a range among three extents."""
        found = _LIST.fullmatch(text.strip())
        return found is not None and _is_list(found["terms"])

    @staticmethod
    def parse(text: str, **fields: Any) -> GroupedProblem:
        """The list that a spelling names: ``TYPE[:TRANS]:MxNxK@COUNT+MxNxK@COUNT+...``.

        An extent is a number or a range ``LOW..HIGH``, from which each product draws its own:
        ``s:1..32x1..32x1..32@10000``, ``d:8x8x8@100+16x16x16@50``. ``fields``: alpha, beta, math, align.
        Raises ``ArgumentError`` when the spelling is not understood.
        """
        found = _LIST.fullmatch(text.strip())
        matches = [_TERM.fullmatch(part) for part in found["terms"].split("+")] if found else []
        if found is None or not all(matches) or not _is_list(found["terms"]):
            raise ArgumentError(
                f"problem={text!r} is not understood; accepted: TYPE[:TRANS]:MxNxK@COUNT+..., with extents "
                "or ranges LOW..HIGH of them, e.g. d:8x8x8@100+16x16x16@50, s:1..32x1..32x1..32@10000"
            )
        terms = []
        for match in matches:
            assert match is not None
            m, n, k = ((int(match[i]), int(match[i + 1] or match[i])) for i in (1, 3, 5))
            if any(low > high for low, high in (m, n, k)):
                raise ArgumentError(f"problem={text!r} runs backwards; accepted: LOW..HIGH with LOW <= HIGH")
            if min(m[0], n[0], k[0], int(match[7])) < 1:
                raise ArgumentError(f"problem={text!r} has a zero; accepted: extents and numbers from 1")
            terms.append(Term(m, n, k, int(match[7])))
        batch = sum(term.count for term in terms)
        # Extents are drawn one by one, so the mean of a product of them is the product of their means.
        weighed = [
            (term.count / max(batch, 1), *(sum(x) / 2 for x in (term.m, term.n, term.k))) for term in terms
        ]
        means = [
            sum(part * m * n * k for part, m, n, k in weighed),
            sum(part * (m * k + k * n) for part, m, n, k in weighed),
            sum(part * m * n for part, m, n, k in weighed),
        ]
        most = [max(getattr(term, side)[1] for term in terms) for side in "mnk"]
        dtype, trans = DTYPES[found["t"]], found["trans"] or "nn"
        return GroupedProblem._classified(dtype, trans, most, batch, means, tuple(terms), fields)

    def to_json(self) -> dict[str, Any]:
        """A plain dictionary that ``from_json`` reads back: the spelling, and what is not the default."""
        plain = GroupedProblem.parse(self.spelling)
        names = (name for name in _LIST_FIELDS if getattr(self, name) != getattr(plain, name))
        return {"problem": self.spelling} | {name: getattr(self, name) for name in names}

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> GroupedProblem:
        """The list that ``to_json`` wrote; other keys are let be."""
        fields = {name: data[name] for name in _LIST_FIELDS if name in data}
        return GroupedProblem.parse(data["problem"], **fields)


def _is_list(terms: str) -> bool:
    """Whether what follows the type in a spelling is a list and no problem or range of problems."""
    return "+" in terms or (".." in terms and "x" in terms)
