"""Evaluation of candidates for lists of products on an NVIDIA GPU.

All matrices of one operand lie in one block of memory, with guards before the first and behind the last
one, and with gaps between them where a check asks for gaps:

    | guard | matrix 0 | gap | matrix 1 | gap | ... | guard |

Guards, gaps and an output that is not read hold a signalling NaN, as in ``operands``. The kernel takes sizes
as arguments, so a candidate is checked on short lists that are hard on it, of all sizes up to the largest
ones that it was compiled for, and then timed on the list that the spelling draws. Finalists are checked
on that list too, in some of its products.

No library of arrays multiplies such a list by one call, so nothing of a vendor's is timed beside it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilewright.errors import DeviceError, TilewrightError
from tilewright.model import Device, GroupedProblem, Integers, Kernel, Problem, Verdict
from tilewright.runtime import launch
from tilewright.stencils.cuda.grouped.descriptors import describe
from tilewright.stencils.cuda.grouped.stencil import GroupedStencil
from tilewright.targets.cuda import driver, modules
from tilewright.targets.cuda.binding import Binding
from tilewright.tuning import contest
from tilewright.tuning import timing as measure
from tilewright.tuning.evaluate import Candidate, FinalRound, Outcome
from tilewright.tuning.evaluate.cuda_sizes import COPIES
from tilewright.tuning.evaluate.cuda_timing import EventEvaluation, guarded, turns
from tilewright.tuning.gemm.operands import (
    POISON,
    Array,
    Operands,
    Reference,
    Region,
    reference,
    region,
    sample,
    scalars,
)
from tilewright.tuning.gemm.verify import against

SEED = 1
GUARD = 1024
"""Bytes before the first matrix and behind the last one."""
LINE = 16
"""Bytes that a list of full alignment has all matrices begin at multiples of."""
CHECKED = 64
"""Products of the timed list that a finalist is checked on."""
NO_VENDOR = "no library of arrays multiplies a list of many sizes by one call"

STENCIL = GroupedStencil()

Shape = tuple[Integers, Integers]


@dataclass(frozen=True, slots=True)
class Operand:
    """The matrices of one operand: ``words`` is the whole block, as integers of the width of a real.

    ``begin`` is the element at which each matrix begins, ``ld`` its leading dimension, ``rows`` and
    ``columns`` its extents as it is stored. ``at`` is the element of the block of each element of each
    matrix, column by column, and ``owner`` the matrix that it belongs to.
    """

    words: Array
    dtype: np.dtype[Any]
    begin: Integers
    ld: Integers
    rows: Integers
    columns: Integers
    at: Integers
    owner: Integers

    @property
    def values(self) -> Array:
        """The block as elements."""
        return self.words.view(self.dtype)

    def of(self, words: Array) -> Array:
        """The elements of all matrices in a block like this one, one matrix after the other."""
        found: Array = words.view(self.dtype)[self.at]
        return found

    def padded(self, which: Integers, rows: int, columns: int) -> Array:
        """Some of the matrices as (matrix, row, column), with zeros up to these extents."""
        made = np.zeros((len(which), rows, columns), self.dtype)
        for place, number in enumerate(which):
            mine = self.at[self.owner == number]
            high, wide = int(self.rows[number]), int(self.columns[number])
            made[place, :high, :wide] = self.values[mine].reshape(wide, high).T
        return made


def laid(
    problem: GroupedProblem, shape: Shape, seed: int, *, poisoned: bool, gaps: bool, unit: int
) -> Operand:
    """One operand of a list in this process's memory: random numbers, or poison where it is not read.

    ``unit``: elements that every matrix begins at a multiple of. With ``gaps`` some leading dimensions are
    larger than the columns.
    """
    dtype, (rows, columns) = problem.dtype, shape
    draw = np.random.default_rng((seed, 3))
    ld = np.maximum(rows, 1) + (draw.choice((0, 0, 1, 2, 4), len(rows)) if gaps else 0)
    reach = np.where((rows > 0) & (columns > 0), (columns - 1) * ld + rows, 0)
    room = -(-(reach + (draw.choice((0, 1, 3), len(rows)) if gaps else 0)) // unit) * unit
    before = GUARD // dtype.itemsize
    begin = before + np.cumsum(room) - room
    counts = rows * columns
    owner = np.repeat(np.arange(len(rows)), counts)
    inside = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
    high = np.maximum(rows, 1)[owner]
    at = begin[owner] + inside // high * ld[owner] + inside % high
    real = dtype.real_bits // 8
    total = 2 * before + int(room.sum())
    poison = POISON["bfloat16" if dtype.letter == "b" else f"f{real}"]
    words = np.full(total * (dtype.itemsize // real), poison, f"u{real}")
    made = Operand(words, dtype.numpy, begin, ld, rows, columns, at, owner)
    if not poisoned and len(at):
        # One long column is where the random numbers of other operands come from, too.
        numbers = region(Problem(dtype, len(at), 1, 1), "A", seed).view[0, :, 0]
        made.values[at] = numbers
    return made


class List:
    """A list of products with its operands in this process's memory."""

    def __init__(
        self,
        problem: GroupedProblem,
        sizes: tuple[Integers, Integers, Integers],
        seed: int,
        *,
        gaps: bool = False,
        packed: bool = False,
    ):
        self.problem, self.sizes = problem, sizes
        m, n, k = sizes
        shapes = (
            (k, m) if problem.transposed_a else (m, k),
            (n, k) if problem.transposed_b else (k, n),
            (m, n),
        )
        unit = 1 if packed else max(1, LINE // problem.dtype.itemsize)
        self.operands = tuple(
            laid(
                problem,
                shape,
                seed + number,
                poisoned=number == 2 and problem.beta == "0",
                gaps=gaps,
                unit=unit,
            )
            for number, shape in enumerate(shapes)
        )
        self.alpha, self.beta, self._scalars = scalars(problem)

    def descriptors(self, bases: Sequence[int]) -> NDArray[np.uint32]:
        """What the kernel reads of the products, whose operands lie at these addresses."""
        size = self.problem.dtype.itemsize
        a, b, c = (base + size * part.begin for base, part in zip(bases, self.operands, strict=True))
        lda, ldb, ldc = (part.ld for part in self.operands)
        reads = np.full(len(self.sizes[0]), self.beta != 0)
        return describe(self.problem.dtype, self.problem.trans, self.sizes, (a, b, c), (lda, ldb, ldc), reads)

    def right(self, which: Integers) -> tuple[Reference, Integers]:
        """The right answer for some products, one after the other, and where in C its elements are.

        Products are padded with zeros to one size for it, which changes no sum, and loosens the bound of
        the smaller ones.
        """
        p = self.problem
        m, n, k = (max(1, int(side[which].max(initial=0))) for side in self.sizes)
        part = Problem(p.dtype, m, n, k, p.trans_a, p.trans_b, batch=len(which), alpha=p.alpha, beta=p.beta)
        stored = ((k, m) if p.transposed_a else (m, k), (n, k) if p.transposed_b else (k, n), (m, n))
        views = [x.padded(which, *shape) for x, shape in zip(self.operands, stored, strict=True)]
        a, b, c = (Region(view, view, 0) for view in views)
        whole = reference(part, Operands(part, (a, b, c), self.alpha, self.beta, self._scalars), len(which))
        target = self.operands[2]
        place = np.full(len(self.sizes[0]), -1)
        place[which] = np.arange(len(which))
        some = place[target.owner] >= 0
        owner = target.owner[some]
        inside = target.at[some] - target.begin[owner]
        index = (place[owner], inside % target.ld[owner], inside // target.ld[owner])
        rows = (whole.expected, whole.bound, whole.size, whole.sums)
        expected, bound, size, sums = (row[index] for row in rows)
        return Reference(which, expected, bound, size, sums), target.at[some]

    def judge(self, words: Sequence[Array], right: tuple[Reference, Integers], name: str) -> Verdict:
        """The verdict on what a kernel left in the three blocks."""
        for operand, letter, got in zip(self.operands, "AB", words, strict=False):
            if not np.array_equal(got, operand.words):
                return Verdict(False, math.inf, f"{name}: {letter}, its gaps or its guards were written")
        target = self.operands[2]
        around = words[2].copy()
        around.view(target.dtype)[target.at] = target.values[target.at]
        if not np.array_equal(around, target.words):
            return Verdict(False, math.inf, f"{name}: the gaps or the guards of C were written")
        found, at = right
        m, n, k = (max(1, int(side.max(initial=0))) for side in self.sizes)
        return against(words[2].view(target.dtype)[at], found, Problem(self.problem.dtype, m, n, k), name)


class Placed:
    """The operands and descriptors of a list in the memory of the GPU.

    The bases are multiples of 512 bytes, moved by ``shift`` bytes.
    """

    def __init__(self, list_: List, shift: int):
        self.list = list_
        self.memory = [driver.allocate(part.words.nbytes + 512 + shift) for part in list_.operands]
        self.bases = [-(-memory.address // 512) * 512 + shift for memory in self.memory]
        self.refresh()
        words = list_.descriptors(self.bases)
        self.words = driver.allocate(words.nbytes)
        driver.upload(self.words.address, np.ascontiguousarray(words))

    def refresh(self) -> None:
        """All operands as they were made."""
        for base, part in zip(self.bases, self.list.operands, strict=True):
            driver.upload(base, part.words)

    def bound(self, candidate: Candidate, kernel: Kernel) -> Binding:
        """A candidate on this list."""
        list_, count = self.list, len(self.list.sizes[0])
        problem, values = list_.problem.with_(batch=count), (list_.alpha, list_.beta)
        return launch.bind(STENCIL, kernel, problem, candidate.config, values, (self.words.address, 0))

    def left(self) -> list[Array]:
        """The three blocks as they are on the GPU now."""
        driver.synchronize()
        found = [np.empty_like(part.words) for part in self.list.operands]
        for base, words in zip(self.bases, found, strict=True):
            driver.download(words, base)
        return found


def hard_lists(problem: GroupedProblem) -> list[List]:
    """Short lists for which a binary of this problem is right too, if it is right at all.

    One has all sizes, gaps, operands that begin anywhere, and a product without terms; one is a single
    product of the largest size; and one is of few products without gaps.
    """
    draw = np.random.default_rng(SEED)
    most = (problem.m, problem.n, problem.k)

    def drawn(count: int) -> tuple[Integers, Integers, Integers]:
        m, n, k = (draw.integers(1, extent + 1, count) for extent in most)
        m[0], n[0], k[0] = most
        return m, n, k

    every = drawn(151)
    every[2][3] = 0
    return [
        List(problem, every, SEED + 10, gaps=True, packed=True),
        List(problem, drawn(1), SEED + 20),
        List(problem, drawn(7), SEED + 30),
    ]


class GroupedEvaluation(EventEvaluation[GroupedProblem]):
    """Checks and times binaries for one list of products after another on the GPU of this process."""

    def __init__(self, device: Device):
        super().__init__()
        self.device = device
        self.release()

    def release(self) -> None:
        """Give the memory of the operands back."""
        self._copies: list[Placed] = []
        self._checks: list[tuple[Placed, tuple[Reference, Integers]]] = []

    def prepare(self, problem: GroupedProblem, regime: str) -> None:
        """Put the list on the device: in the regime ``memory`` as many copies as fill twice its cache.

        Raises ``ArgumentError`` for a list without a spelling, ``TilewrightError`` when there is not enough
        memory.
        """
        self.release()
        self.problem, self.regime = problem, regime
        shift = problem.align if problem.align < LINE else 0
        timed = List(problem, problem.sizes(SEED), SEED, packed=shift > 0)
        one = sum(part.words.nbytes for part in timed.operands)
        copies = 1
        if regime == "memory":
            copies = min(COPIES, max(1, -(-2 * self.device.last_cache // one)))
        try:
            self._copies = [Placed(timed, shift) for _ in range(copies)]
            which = np.flatnonzero(np.isin(np.arange(problem.batch), sample(problem.batch, CHECKED)))
            self._right = timed.right(which)
            # Every second list begins where one element does, and no more.
            for number, list_ in enumerate(hard_lists(problem)):
                placed = Placed(list_, 0 if number % 2 else problem.dtype.itemsize)
                self._checks.append((placed, list_.right(np.arange(len(list_.sizes[0])))))
        except (DeviceError, MemoryError) as error:
            self.release()
            raise TilewrightError(
                f"problem={problem.spelling}: there is no room for its operands, {copies * one} bytes on the "
                f"device ({copies} of {one}): {error}"
            ) from error

    def check(self, candidate: Candidate, kernel: Kernel) -> Verdict:
        """The verdict on the lists that are hard on a kernel."""
        worst = 0.0
        for placed, right in self._checks:
            verdict = self._one(placed, right, candidate, kernel, "a list")
            if not verdict.ok:
                return verdict
            worst = max(worst, verdict.error)
        return Verdict(True, worst)

    def _one(
        self,
        placed: Placed,
        right: tuple[Reference, Integers],
        candidate: Candidate,
        kernel: Kernel,
        name: str,
    ) -> Verdict:
        """The verdict on one launch on fresh operands."""
        placed.refresh()
        placed.bound(candidate, kernel)(0)
        words = placed.left()
        placed.refresh()
        return placed.list.judge(words, right, f"{name} of {len(placed.list.sizes[0])} products")

    def turns(self, candidate: Candidate, kernel: Kernel) -> measure.Run:
        """A launch on the next copy of the list."""
        return turns([copy.bound(candidate, kernel) for copy in self._copies])

    def final(self, candidates: Sequence[Candidate], rounds: int) -> FinalRound:
        """Check binaries on the timed list, and time the right ones in turns."""
        with guarded():
            runs: dict[str, measure.Run] = {}
            verdicts = []
            for number, candidate in enumerate(candidates):
                kernel = modules.load(candidate.binary)
                verdicts.append(self._one(self._copies[0], self._right, candidate, kernel, "the timed list"))
                if verdicts[-1].ok:
                    runs[str(number)] = self.turns(candidate, kernel)
            timings, clocks, note = contest.race(
                runs,
                rounds=rounds,
                regime=self.regime,
                batch=self.problem.batch,
                clocks=driver.clocks,
                watch=self.watch,
            )
            outcomes = [
                Outcome(verdict, timings.get(str(number)), clocks) for number, verdict in enumerate(verdicts)
            ]
            return FinalRound(outcomes, None, NO_VENDOR, note=note)
