"""The nouns. Everything that crosses from one room to another is one of these frozen values.

Matrices are column-major, as in BLAS: element (i, j) of a matrix with leading dimension ``ld``
lies at ``i + j*ld`` (in elements). A row-major product is the same problem with A and B swapped,
and only ``arrays.problem_of`` knows that.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilewright.dtypes import BFLOAT16, COMPLEX_HALF
from tilewright.errors import ArgumentError


@dataclass(frozen=True, slots=True)
class DType:
    """An element type: its BLAS letter, its name (PyTorch's, and NumPy's where it has one) and how it is
    made of real numbers."""

    letter: str
    name: str
    real_bits: int
    is_complex: bool

    @property
    def sum_bits(self) -> int:
        """Bits of the real numbers that sums are kept in: 32 for types of 16, else those of the type."""
        return max(32, self.real_bits)

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return self.real_bits // 8 * (2 if self.is_complex else 1)

    @property
    def flops_per_fma(self) -> int:
        """Floating-point operations of one multiply-add: 2 real, 8 complex (LAPACK Working Note 41)."""
        return 8 if self.is_complex else 2

    @property
    def unit_roundoff(self) -> float:
        """Half the distance from 1 to the next number of the precision that sums are kept in."""
        return 2.0**-53 if self.real_bits == 64 else 2.0**-24

    @property
    def storage_roundoff(self) -> float:
        """What storing a sum rounds off, relative to it: 2^-11 to a float16 and 2^-8 to a bfloat16, which
        have 11 and 8 bits; 0 where a sum is stored as it is kept."""
        return 0.0 if self.real_bits != 16 else 2.0**-8 if self.letter == "b" else 2.0**-11

    @property
    def numpy(self) -> np.dtype[Any]:
        """The type of an array of such elements."""
        return _NUMPY[self.letter] if self.letter in _NUMPY else np.dtype(self.name)


_NUMPY = {"b": BFLOAT16, "hc": COMPLEX_HALF}

MATHS = ("ieee", "tf32")
"""How products are made: of the numbers as they are, or of float32 numbers cut off behind 10 bits of the
fraction, which tensor cores multiply; sums are float32 in both."""
TF32_ROUNDOFF = 2.0**-10
"""What cutting a float32 off to tf32 takes of it at most, relative to it."""

DTYPES = {
    d.letter: d
    for d in (
        DType("h", "float16", 16, False),
        DType("b", "bfloat16", 16, False),
        DType("s", "float32", 32, False),
        DType("d", "float64", 64, False),
        DType("c", "complex64", 32, True),
        DType("z", "complex128", 64, True),
        DType("hc", "complex32", 16, True),
    )
}

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


class _Transposed:
    """What follows from the letters of A and B, of a product as of each of a list or of groups."""

    __slots__ = ()
    dtype: DType
    m: int
    n: int
    k: int
    trans_a: str
    trans_b: str

    @property
    def trans(self) -> str:
        """Both transposition letters, A's first."""
        return self.trans_a + self.trans_b

    @property
    def transposed_a(self) -> bool:
        """Whether A is stored transposed."""
        return self.trans_a in "tc"

    @property
    def transposed_b(self) -> bool:
        """Whether B is stored transposed."""
        return self.trans_b in "tc"

    @property
    def stored(self) -> tuple[tuple[int, int], tuple[int, int], tuple[int, int]]:
        """Rows and columns of A, B and C as they are stored."""
        a = (self.k, self.m) if self.transposed_a else (self.m, self.k)
        b = (self.n, self.k) if self.transposed_b else (self.k, self.n)
        return a, b, (self.m, self.n)

    @property
    def conj_a(self) -> bool:
        """Whether A enters conjugated."""
        return self.dtype.is_complex and self.trans_a in "cj"

    @property
    def conj_b(self) -> bool:
        """Whether B enters conjugated."""
        return self.dtype.is_complex and self.trans_b in "cj"


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
class Problem(_Transposed):
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


SHARED_MOST = 32 << 20
"""Bytes of a last cache that are believed in without a measurement: what the cores that share one have on
common server processors. More is mostly the cache of a whole socket, and not one virtual machine's."""
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
class GroupedProblem(_Transposed):
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


_LIST_FIELDS = ("alpha", "beta", "math", "align")


def _is_list(terms: str) -> bool:
    """Whether what follows the type in a spelling is a list and no problem or range of problems."""
    return "+" in terms or (".." in terms and "x" in terms)


AXES = ("m", "n", "k")
"""The axes of a product, any of which can be split among groups."""


@dataclass(frozen=True, slots=True)
class SegmentedProblem(_Transposed):
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


Gemm = Problem | GroupedProblem
"""What is planned: products of one size, or a list of products of many. Both are tasks (``task.Task``)."""


def parsed(text: str, **fields: Any) -> list[Gemm]:
    """What a spelling names: a list of products (``GroupedProblem.parse``), or problems (``Problem.parse``).

    Raises ``ArgumentError`` when the spelling is not understood.
    """
    if GroupedProblem.spells(text):
        return [GroupedProblem.parse(text, **fields)]
    return list(Problem.parse(text, **fields))


@dataclass(frozen=True, slots=True)
class Device:
    """What a kernel runs on, as data: rules read ``limits``, reports read ``ceilings``.

    ``limits`` are counts and bytes (a CPU: vector_bits, vector_registers, masks, prefetch, cores, l1d,
    l2, l3; a GPU: see ``targets.capability``). ``features`` says what is compiled for. ``ceilings``
    are measured: ``bandwidth.<mix>.<cores>`` in bytes/s, ``peak.<type>.<cores>`` in flop/s and
    ``knee.<cores>`` in bytes.
    ``supports`` names what its instructions can do (a GPU: ``targets.cuda.capability.FEATURES``; a CPU:
    ``targets.cpu.isa.FEATURES``), ``rates`` how many multiply-adds a GPU's multiprocessor does in a clock:
    ``fma.<type>`` by its arithmetic units, ``tensor.<type>`` by its tensor cores, ``mma.<type>`` by these
    when each warp asks for its own product. Stencils ask for these, not for a model or a version.
    ``index`` and ``uuid`` say which GPU of this machine it is (0 and "" for what is not here). Devices that
    are alike are equal whatever their numbers, so that plans and records of one serve the other.
    """

    kind: str
    name: str
    key: str
    limits: Mapping[str, int]
    features: str = ""
    ceilings: Mapping[str, float] = field(default_factory=dict)
    supports: frozenset[str] = frozenset()
    rates: Mapping[str, float] = field(default_factory=dict)
    index: int = field(default=0, compare=False)
    uuid: str = field(default="", compare=False)

    def __getitem__(self, limit: str) -> int:
        return self.limits[limit]

    @property
    def last_cache(self) -> int:
        """Bytes that the cache before memory claims: the third level of a CPU, the second of a GPU."""
        return self.limits["l3" if "l3" in self.limits else "l2"]

    def ceiling(self, name: str, cores: int) -> float | None:
        """A measured ceiling; None where there is none. For a count of cores that was not measured, no more
        than fewer cores could reach if they scaled, and no more than all of them reach."""
        exact = self.ceilings.get(f"{name}.{cores}")
        if exact is not None:
            return exact
        measured = {
            int(key.rpartition(".")[2]): value
            for key, value in self.ceilings.items()
            if key.rpartition(".")[0] == name
        }
        return min((value * max(1.0, cores / count) for count, value in measured.items()), default=None)

    def knee(self, cores: int | None = None) -> int:
        """Bytes that ``cores`` cores (None: all) can use again and again faster than memory gives them.

        Where it was measured (``roofline.knees``) it is that; a GPU's is else its second level. A
        processor's is else a guess, because what a virtual machine claims as its last cache is that of the
        whole host: the second levels of these cores and their share of the last one, of which no more than
        ``SHARED_MOST`` are believed, and never more than is claimed. The guess is low on purpose: cached
        data that are planned for memory are still read from the cache where they lie, and only the stores
        go past it; data in memory that are planned as cached are fetched before they are overwritten, and
        without a prefetch (products of order 16 ran at 18 Gflop/s in place of 33).
        """
        everyone = self.limits.get("cores", 1)
        count = everyone if cores is None else min(cores, everyone)
        measured = self.ceiling("knee", count)
        if "l3" not in self.limits:
            return self.last_cache if measured is None else int(measured)
        alone, shared = self.limits.get("l2", 0), self.limits["l3"]
        if measured is None:
            measured = min(shared, count * alone + min(shared * count // everyone, SHARED_MOST))
        # A measurement may be noisy: what a core has for itself is faster than memory, and no more than all
        # caches of these cores claim is.
        return max(alone, min(int(measured), count * (alone + shared)))

    def with_cores(self, cores: int) -> Device:
        """The same device of which no more than ``cores`` cores are used."""
        if cores == self.limits.get("cores", 1):
            return self
        ceilings = {**self.ceilings, f"knee.{cores}": float(self.knee(cores))}
        return replace(self, limits={**self.limits, "cores": cores}, ceilings=ceilings)

    def __hash__(self) -> int:
        return hash((self.kind, self.key, self.features))


class Config(Mapping[str, Any]):
    """One point of a space: an immutable, hashable map from parameter name to value."""

    __slots__ = ("_hash", "_items")

    def __init__(self, values: Mapping[str, Any]):
        self._items = dict(values)
        # Most points of a space are made, looked at and never looked up.
        self._hash: int | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        # Another process hashes names in another way.
        return Config, (self._items,)

    def __getitem__(self, name: str) -> Any:
        return self._items[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(frozenset(self._items.items()))
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Config) and self._items == other._items

    def __repr__(self) -> str:
        return " ".join(f"{name}={value}" for name, value in self._items.items())

    def with_(self, **changes: Any) -> Config:
        """The same point with some values changed."""
        made = object.__new__(Config)
        made._items, made._hash = {**self._items, **changes}, None
        return made


@dataclass(frozen=True, slots=True)
class Source:
    """Program text with its entry point: the only thing that crosses from a stencil to a target.

    ``expect`` holds facts that the compiled code must show (``fma``: fused multiply-adds in the
    text of the program), so that a target can gate on them without knowing what is computed.
    ``language`` is "" for the target's own (CUDA C++ or LLVM IR) and "c" for C; ``options`` are further
    options of the compiler.
    """

    text: str
    entry: str
    headers: tuple[tuple[str, str], ...] = ()
    defines: tuple[tuple[str, str], ...] = ()
    expect: tuple[tuple[str, int], ...] = ()
    language: str = ""
    options: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        """Hash of all that is compiled."""
        parts: list[Any] = [self.text, self.entry, self.headers, self.defines]
        # What most sources have not is not hashed, so that their binaries keep their names.
        content = json.dumps(
            [*parts, self.language, self.options] if self.language or self.options else parts
        )
        return hashlib.sha256(content.encode()).hexdigest()[:24]


@dataclass(frozen=True, slots=True)
class Binary:
    """Compiled bytes and the compiler's own facts (``spills``, ``fma``, ``code_bytes``, ...)."""

    code: bytes
    entry: str
    digest: str
    facts: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Kernel:
    """A binary in memory, ready to be launched. ``owner`` keeps the loaded code alive."""

    address: int
    binary: Binary
    owner: Any = None


@dataclass(frozen=True, slots=True)
class Launch:
    """How a kernel is started.

    On a CPU: how many products a core needs to be worth waking (``grain``), and the number that a
    core's share should be a multiple of (``unit``). On a GPU: blocks (``grid``), threads of a block
    (``block``), bytes of dynamic shared memory (``shared``), blocks of a cluster along y
    (``cluster``), what the operands are read through (``reading``: "" for plain loads, "tex1d" or
    "tex2d" for textures that the launching side makes), and whether the kernel waits by itself for those
    before it in its stream, so that its blocks may start while they end (``overlap``, from capability 9.0).
    """

    grain: int = 1
    unit: int = 1
    grid: tuple[int, int, int] = (1, 1, 1)
    block: tuple[int, int, int] = (1, 1, 1)
    shared: int = 0
    cluster: int = 1
    reading: str = ""
    overlap: bool = False


@dataclass(frozen=True, slots=True)
class Verdict:
    """Right or wrong, and by how much: the worst componentwise error over its bound (1 is the limit)."""

    ok: bool
    error: float
    why: str = ""


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds for one pass over a batch: raw samples, their median and a 95 % interval of it."""

    samples: tuple[float, ...]
    median: float
    low: float
    high: float
    regime: str
    batch: int
    protocol: int


PREDICTED = "predicted"
"""The status of a record of which nothing was run: its ``seconds`` are cycles by LLVM's scheduling model at 1
GHz, and its ``detail`` says so. No question for what is right, or fast, is answered by one."""
STATUSES = ("ok", "rejected", "compile_failed", "spills", "wrong", "crashed", "timeout", PREDICTED)


@dataclass(frozen=True, slots=True)
class Record:
    """One try, good or bad, with all that is needed to judge it later."""

    problem: Any
    """A task (``task.Task``): of matrix products a ``Gemm``."""
    regime: str
    stencil: str
    config: Config
    status: str
    device: str
    toolchain: str
    source: str = ""
    seconds: float | None = None
    timing: Timing | None = None
    error: float | None = None
    detail: str = ""
    protocol: int = 0
    clocks: str = ""
    driver: str = ""
    when: str = ""


@dataclass(frozen=True, slots=True)
class Plan:
    """What a call will run, and why: a stencil and a config, and the rung of the ladder that gave them.

    ``origin`` is ``forced``, ``tuned``, ``near``, ``kin``, ``predicted``, ``default`` or ``vendor``, or
    ``deterministic`` (``planning.steady``); ``stencil`` is None when the vendor's library is to be called,
    and ``config`` then the algorithm that its record names, None where it names none.
    """

    problem: Any
    """A ``Problem``, or the ``GroupedProblem`` of a list."""
    device: Device
    regime: str
    origin: str
    why: str
    stencil: str | None = None
    config: Config | None = None
    threads: int = 1
