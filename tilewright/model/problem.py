"""One product, or a batch of products of one size.

Matrices are column-major, as in BLAS: element (i, j) of a matrix with leading dimension ``ld``
lies at ``i + j*ld`` (in elements). A row-major product is the same problem with A and B swapped,
and only ``arrays.layout.problem_of`` knows that.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from tilewright.errors import ArgumentError
from tilewright.model.letters import DTYPES, DType, Transposed

_SPELLING = re.compile(
    r"(?P<t>hc|[hbsdcz])(?::(?P<trans>[ntcj]{2}))?"
    r":(?P<size>[0-9]+(?:\.\.[0-9]+)?(?:x[0-9]+x[0-9]+)?)(?:@(?P<batch>[0-9]+))?(?:/(?P<pack>all|[0-9]+))?"
)
LARGEST = 2**31 - 1
"""The largest m, n or k of a spelling."""
MOST = 2**47
"""The largest batch of a spelling: no address space holds more matrices."""
RANGE = 10_000
"""The most sizes of a range."""


def _count(digits: str, most: int) -> int:
    """A number of a spelling. Raises ``ArgumentError`` for one over the limit, however many digits it has."""
    if len(digits) > 19 or int(digits) > most:
        shown = digits if len(digits) <= 40 else f"{digits[:20]}... ({len(digits)} digits)"
        raise ArgumentError(f"problem says {shown}; accepted: sizes up to {LARGEST} and batches up to {MOST}")
    return int(digits)


Axis = tuple[int, int, int, int]
"""A batch axis: its extent, and the elements from one position to the next of A, B and C."""
OUTER_AXES = 4
"""The most batch axes of a ``Problem`` beside the innermost one."""


Three = tuple[int, int, int]
"""Something of A, B and C."""


@dataclass(frozen=True, slots=True)
class Interleaved:
    """How the matrices of a batch lie that are interleaved: the same element of neighbours side by side.

    Element (i, j) of matrix b lies at ``b // P * step + b % P * stride + i * row + j * ld``, where stride and
    ld are those of the ``Problem``, and P is ``pack``: so many matrices are interleaved before the next pack
    begins, 0 where the whole batch is one pack. A stride of 0 is an operand that the matrices of a pack
    share; the stride of C may be any, and that of A and B is else 1. ``rows`` are the elements from one row
    to the next of A, B and C, and ``packs`` those from one pack to the next (0 without packs). Strides, ld,
    rows and packs are run-time arguments.

    Arrays (m, n, batch) are one pack; packs of few matrices are the compact format of Intel's oneMKL
    (``mkl_?gemm_compact``), and that of K. Kim et al., "Designing vector-friendly compact BLAS and LAPACK
    kernels" (SC 2017).
    """

    pack: int = 0
    rows: Three = (0, 0, 0)
    packs: Three = (0, 0, 0)


@dataclass(frozen=True, slots=True)
class Problem(Transposed):
    """What is asked: C = alpha * op(A) * op(B) + beta * C, once or for each matrix of a batch.

    op(A) is m x k, op(B) is k x n, C is m x n, column-major. op is n (as stored), t (transposed),
    c (conjugate transposed) or j (conjugated only). Leading dimensions and batch strides are in
    elements; ``None`` means packed. A batch stride of 0 is an operand that the whole batch
    shares. ``alpha`` is "1" or "any", ``beta`` "0", "1" or "any": the class is compiled in, the
    value is a run-time argument. ``align`` bytes divide the addresses of all three operands (16 at
    most, the widest access of a GPU; CPU kernels take any address). With ``pointers`` each matrix lies
    where an array of addresses says, and the batch strides mean nothing. ``math``: one of ``MATHS``, tf32 for
    float32 alone. With ``interleaved`` matrices lie
    element beside element as that says: op is then n or j, for a transpose is another pair of strides.

    ``batch`` counts the products along one axis. Where no stride covers all of a batch, ``outer`` has its
    other axes, the outermost first and ``OUTER_AXES`` at most: the product at i of the innermost axis and
    at j of an outer one has its A at ``i * stride_a + j * step_a``. A step of 0 is an operand shared along an
    axis.
    """

    dtype: DType
    m: int
    n: int
    k: int
    trans_a: str = "n"
    trans_b: str = "n"
    batch: int = 1
    lda: int | None = None
    ldb: int | None = None
    ldc: int | None = None
    stride_a: int | None = None
    stride_b: int | None = None
    stride_c: int | None = None
    alpha: str = "1"
    beta: str = "0"
    math: str = "ieee"
    align: int = 16
    pointers: bool = False
    interleaved: Interleaved | None = None
    outer: tuple[Axis, ...] = ()

    def __post_init__(self) -> None:
        # As the lines of records have it, which know no tuples.
        object.__setattr__(self, "outer", tuple(tuple(axis) for axis in self.outer))
        if self.interleaved is not None:
            self._interleave(self.interleaved)
            return
        (rows_a, cols_a), (rows_b, cols_b), _ = self.stored
        for name, packed in (("lda", rows_a), ("ldb", rows_b), ("ldc", self.m)):
            if getattr(self, name) is None:
                object.__setattr__(self, name, packed)
        for name, ld, columns in (
            ("stride_a", self.lda, cols_a),
            ("stride_b", self.ldb, cols_b),
            ("stride_c", self.ldc, self.n),
        ):
            packed = ld * columns  # type: ignore[operator]  # filled in above
            if getattr(self, name) is None:
                object.__setattr__(self, name, packed)

    def _interleave(self, given: Interleaved) -> None:
        """Fill in what is left open of an interleaved layout: arrays in C order, the batch as last axis."""
        side = given.pack or self.batch
        rows, packs = list(given.rows), list(given.packs)
        shapes = (self.m, self.k), (self.k, self.n), (self.m, self.n)
        for at, (name, (height, width)) in enumerate(zip("abc", shapes, strict=True)):
            ld, stride = f"ld{name}", f"stride_{name}"
            if getattr(self, stride) is None:
                object.__setattr__(self, stride, 1)
            step = getattr(self, stride)
            if getattr(self, ld) is None:
                object.__setattr__(self, ld, side if step == 1 else 1)
                rows[at] = width * getattr(self, ld)
                packs[at] = (height * rows[at] if step == 1 else step * side) if given.pack else 0
        filled = Interleaved(given.pack, (rows[0], rows[1], rows[2]), (packs[0], packs[1], packs[2]))
        object.__setattr__(self, "interleaved", filled)

    @property
    def flops(self) -> int:
        """Operations of one product of the batch, 2mnk for real and 8mnk for complex types."""
        return self.dtype.flops_per_fma * self.m * self.n * self.k

    @property
    def bytes(self) -> int:
        """Fewest bytes of one product: A and B read (if not shared), C written, and read if beta != 0."""
        a, b = (
            elements // math.prod(extent for extent, step in steps if not step) if moves else 0
            for elements, steps, moves in zip(
                (self.m * self.k, self.k * self.n), self._steps[:2], self.moves[:2], strict=True
            )
        )
        c = self.m * self.n * (1 if self.beta == "0" else 2)
        return (a + b + c) * self.dtype.itemsize

    @property
    def footprint(self) -> int:
        """Bytes of memory that the whole batch occupies, shared operands once."""
        a, b = (
            elements * math.prod(extent for extent, step in steps if step)
            for elements, steps in zip((self.m * self.k, self.k * self.n), self._steps[:2], strict=True)
        )
        return (a + b + self.m * self.n * self.products) * self.dtype.itemsize

    @property
    def updated(self) -> int:
        """Bytes of C that the whole batch reads: none with beta class 0."""
        return 0 if self.beta == "0" else self.products * self.m * self.n * self.dtype.itemsize

    @property
    def spelling(self) -> str:
        """``TYPE:TRANS:MxNxK@BATCH``, the form that the command and the records use."""
        pack = "" if self.interleaved is None else f"/{self.interleaved.pack or 'all'}"
        return f"{self.dtype.letter}:{self.trans}:{self.m}x{self.n}x{self.k}@{self.batch}{pack}"

    @property
    def layout(self) -> str:
        """How the operands lie in memory: ``packed`` or the leading dimensions; shared operands named."""
        if self.interleaved is not None:
            return self._interleaved_layout(self.interleaved)
        packed = Problem(self.dtype, self.m, self.n, self.k, self.trans_a, self.trans_b)
        tight = (self.lda, self.ldb, self.ldc) == (packed.lda, packed.ldb, packed.ldc)
        text = "packed" if tight else f"ld{self.lda},{self.ldb},{self.ldc}"
        shared = "".join(name for name, moves in zip("AB", self.moves[:2], strict=True) if not moves)
        gaps = tight and any(
            got not in (0, want) for got, want in zip(self.strides, packed.strides, strict=True)
        )
        text += ("+gaps" if gaps else "") + (f"+shared{shared}" if shared else "")
        text += "+pointers" if self.pointers else ""
        if self.outer:
            # By axis, the outermost first, which operands go on with it.
            axes = [steps for _, *steps in self.outer] + [list(self.strides)]
            moving = ("".join(x for x, step in zip("ABC", steps, strict=True) if step) for steps in axes)
            text += f"+nested{'.'.join(moving)}"
        return text + (f"+align{self.align}" if self.align < 16 else "")

    def _interleaved_layout(self, found: Interleaved) -> str:
        shared = ("A" if self.stride_a == 0 else "") + ("B" if self.stride_b == 0 else "")
        text = f"interleaved{found.pack or ''}" + ("" if self.stride_c == 1 else "+scatteredC")
        text += f"+shared{shared}" if shared else ""
        return text + (f"+align{self.align}" if self.align < 16 else "")

    @property
    def strides(self) -> tuple[int, int, int]:
        """Batch strides of A, B and C in elements."""
        return self.stride_a, self.stride_b, self.stride_c  # type: ignore[return-value]

    @property
    def _steps(self) -> tuple[tuple[tuple[int, int], ...], ...]:
        """Of A, B and C: the extent and the step of each batch axis."""
        axes = ((self.batch, *self.strides), *self.outer)
        return tuple(tuple((axis[0], axis[which]) for axis in axes) for which in (1, 2, 3))

    @property
    def products(self) -> int:
        """The number of products along all batch axes."""
        return self.batch * math.prod(extent for extent, *_ in self.outer)

    @property
    def moves(self) -> tuple[bool, bool, bool]:
        """Whether there are several matrices of A, B and C, and not one for the whole batch."""
        a, b, c = (any(step for _, step in steps) for steps in self._steps)
        return a, b, c

    @property
    def family(self) -> str:
        """What near problems have in common: type, transpositions and math mode."""
        apart = "" if self.interleaved is None else ":interleaved"
        return f"{self.dtype.letter}:{self.trans}:{self.math}{apart}"

    @property
    def extents(self) -> tuple[int, int, int]:
        """m, n and k."""
        return self.m, self.n, self.k

    @property
    def compiled(self) -> dict[str, Any]:
        """What may be compiled in: batch and strides are run-time arguments, what is shared is not."""
        if self.interleaved is not None:
            scattered = self.stride_c != 1
            plain = self.with_(batch=1, m=self.m, stride_a=self.stride_a, stride_b=self.stride_b, stride_c=1)
            return plain.to_json() | {"scattered": scattered}
        fixed = self.with_(batch=1).to_json()
        return fixed | {name: bool(fixed[name]) for name in ("stride_a", "stride_b", "stride_c")}

    @property
    def key(self) -> str:
        """What a record is filed under: everything that is compiled in, without the batch count."""
        return (
            f"{self.dtype.letter}:{self.trans}:{self.m}x{self.n}x{self.k}"
            f"|{self.layout}|alpha={self.alpha}|beta={self.beta}|{self.math}"
        )

    def with_(self, **changes: Any) -> Problem:
        """The same problem with some fields changed; layouts are repacked if a size changes, and those of an
        interleaved batch that is one pack if the batch does."""
        found, fresh = self.interleaved, dict[str, Any]()
        sized = changes.keys() & {"m", "n", "k", "trans_a", "trans_b"}
        if "interleaved" in changes or (found is None and sized):
            fresh = dict.fromkeys(("lda", "ldb", "ldc", "stride_a", "stride_b", "stride_c"))
        elif found is not None and (sized or (not found.pack and "batch" in changes)):
            # What the batch shares stays shared.
            fresh = {"lda": None, "ldb": None, "ldc": None, "interleaved": Interleaved(found.pack)}
            if self.stride_c != 1 and sized:
                fresh["stride_c"] = changes.get("m", self.m) * changes.get("n", self.n)
        return replace(self, **(fresh | changes))

    @staticmethod
    def parse(text: str, **fields: Any) -> list[Problem]:
        """Problems named by a spelling: ``d:8x8x8@100000``, ``z:nt:4x4x4``, ``d:2..32`` (square, every n).
        Of an interleaved batch, ``d:3x3x3@100000/all``, or ``d:3x3x3@100000/8`` in packs of eight.

        Raises ``ArgumentError`` when the spelling is not understood, when a size is over ``LARGEST`` or the
        batch over ``MOST``, and for a range of more than ``RANGE`` sizes.
        """
        found = _SPELLING.fullmatch(text.strip()) if isinstance(text, str) else None
        if not found:
            raise ArgumentError(
                f"problem={text!r} is not understood; accepted: TYPE[:TRANS]:MxNxK[@BATCH] or "
                "TYPE[:TRANS]:LOW..HIGH[@BATCH], e.g. d:8x8x8@100000, z:nt:4x4x4, d:2..32"
            )
        dtype, trans = DTYPES[found["t"]], found["trans"] or "nn"
        pack = _count(found["pack"], LARGEST) if found["pack"] not in (None, "all") else 0
        fields = {"batch": _count(found["batch"] or str(max(pack, 1)), MOST)} | fields
        if found["pack"]:
            if (
                (not pack and found["pack"] != "all")
                or fields["batch"] % max(pack, 1)
                or set(trans) & set("tc")
            ):
                raise ArgumentError(
                    f"problem={text!r}; accepted: of interleaved matrices whole packs of one or more, and "
                    "n and j, a transpose being other strides"
                )
            fields = {"interleaved": Interleaved(pack)} | fields
        size = found["size"]
        if "x" in size:
            if ".." in size:
                raise ArgumentError(f"problem={text!r}: a range is square, write TYPE:LOW..HIGH")
            shapes = [tuple(_count(digits, LARGEST) for digits in size.split("x"))]
        else:
            first, _, last = size.partition("..")
            low, high = _count(first, LARGEST), _count(last or first, LARGEST)
            if high < low:
                raise ArgumentError(f"problem={text!r} runs backwards; accepted: LOW..HIGH with LOW <= HIGH")
            if high - low >= RANGE:
                raise ArgumentError(f"problem={text!r}; accepted: ranges of up to {RANGE} sizes")
            shapes = [(n, n, n) for n in range(low, high + 1)]
        return [Problem(dtype, m, n, k, trans[0], trans[1], **fields) for m, n, k in shapes]

    def to_json(self) -> dict[str, Any]:
        """A plain dictionary that ``from_json`` reads back; without ``outer`` where it is empty."""
        left = {"interleaved"} | (set() if self.outer else {"outer"})
        data = {f: getattr(self, f) for f in self.__dataclass_fields__ if f not in left}
        if self.interleaved is not None:
            found = self.interleaved
            data["interleaved"] = {"pack": found.pack, "rows": list(found.rows), "packs": list(found.packs)}
        return data | {"dtype": self.dtype.letter}

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Problem:
        """The problem that ``to_json`` wrote; what an older version had no field for is as it was then."""
        found = data.get("interleaved")
        if found is not None:
            layout = Interleaved(found["pack"], tuple(found["rows"]), tuple(found["packs"]))
            data = {**data, "interleaved": layout}
        return Problem(**{**data, "dtype": DTYPES[data["dtype"]]})
