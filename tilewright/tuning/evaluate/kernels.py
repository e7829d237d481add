"""Evaluations of kernels that were handed in: operands from their definition, verdicts by its reference.

Every candidate runs on a few cases, each with two draws of inputs, in memory with guards around every array:
what it writes has to be what the reference says, within the definition's tolerance, and what it only reads,
or what lies beside an array, has to be as it was. Finalists are checked on the timed operands, too: on the
first and the last items of a batch, or as a whole where there is no batch.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.custom import spaces
from tilewright.custom.definition import Array, Definition
from tilewright.custom.expressions import at
from tilewright.custom.problem import KernelProblem
from tilewright.dtypes import widened
from tilewright.errors import ArgumentError
from tilewright.model import Device, Verdict
from tilewright.space import Space, arguments
from tilewright.tuning import timing
from tilewright.tuning.evaluate import Candidate, Evaluation, FinalRound, Outcome

Values = dict[str, Any]
"""Arrays and scalars by the names of their arguments."""

SEEDS = (1, 2)
BATCHES = (1, 2, 37)
"""Batches that candidates are checked on where a definition names no cases."""
ITEMS = 32
"""Items at either end of a batch that finalists are checked on."""
GUARD = 256
"""Bytes beside an array that have to stay as they are; an array begins at a multiple of it."""
MARK = 0xA5
TOLERANCES = {"float16": 4e-3, "bfloat16": 3e-2, "float32": 1e-4, "complex64": 1e-4}
OTHERS = 1e-10
"""The largest error relative to the largest number of the right answer, by type: a definition that asks for
another says so by its ``tolerance``. Whole numbers have to be equal."""
NO_PEER = "a kernel that was handed in has no peer to be timed beside"
COPIES = 64
"""Most copies of the operands that calls go through in turns."""


# ---- what is right


def cases(problem: KernelProblem) -> list[dict[str, int]]:
    """The sizes that candidates are checked on. Raises ``ArgumentError`` for cases that are of another
    binary."""
    made, whole = problem.made, problem.all_sizes
    if not made.cases:
        return [{**whole, made.batch: batch} for batch in BATCHES] if made.batch else [whole]
    for case in made.cases:
        for name in case:
            if name not in whole or name in made.compiled:
                raise ArgumentError(
                    f"case {dict(case)} names {name!r}; accepted: sizes that are not compiled in: "
                    + (", ".join(size for size in whole if size not in made.compiled) or "there are none")
                )
    return [{**whole, **case} for case in made.cases]


def drawn(made: Definition, sizes: Mapping[str, int], seed: int) -> Values:
    """The arrays that a kernel is given, and the scalars that a call names: those of the definition's
    ``inputs``, and random ones for the rest (normal numbers; whole ones from 0 to 99)."""
    draw = np.random.default_rng(seed)
    own: Mapping[str, Any] = {}
    if made.inputs is not None:
        reads = arguments(made.inputs)
        rest = reads[1:]
        unknown = [name for name in rest if name not in sizes]
        if not reads or unknown:
            raise ArgumentError(
                f"inputs takes {', '.join(reads) or 'nothing'}; accepted: a generator of random "
                "numbers, then any "
                f"of the sizes {', '.join(sizes)}"
            )
        own = made.inputs(draw, **{name: sizes[name] for name in rest})
        if not isinstance(own, Mapping):
            raise ArgumentError(
                f"inputs returns a {type(own).__name__}; accepted: a mapping of names and values"
            )
    found: Values = {}
    for array in made.given:
        extents = array.extents(sizes)
        value = own.get(array.name)
        if value is None:
            value = _random(draw, extents, array)
        value = np.ascontiguousarray(np.asarray(value).astype(array.numpy))
        if value.shape != extents:
            raise ArgumentError(
                f"inputs makes {array.name!r} of shape {value.shape} {at(sizes)}; accepted: {extents}"
            )
        found[array.name] = value
    for scalar in made.asked:
        found[scalar.name] = own.get(scalar.name, 1)
    return found


def _random(draw: np.random.Generator, extents: tuple[int, ...], array: Array) -> Any:
    if array.numpy.kind in "iub":
        return draw.integers(0, 2 if array.numpy.kind == "b" else 100, extents)
    made = draw.standard_normal(extents)
    return made + 1j * draw.standard_normal(extents) if array.numpy.kind == "c" else made


def answered(made: Definition, values: Values, sizes: Mapping[str, int]) -> dict[str, Any]:
    """What the reference says of some inputs, by the names of what is written.

    Raises ``ArgumentError`` for a reference that fails, changes what it is given, or returns something else
    than one array of the right shape for each that is written.
    """
    assert made.reference is not None
    handed: dict[str, Any] = {
        **sizes,
        **{n: v.copy() if isinstance(v, np.ndarray) else v for n, v in values.items()},
    }
    reads = arguments(made.reference)
    unknown = [name for name in reads if name not in handed]
    if unknown:
        raise ArgumentError(f"reference takes {unknown[0]!r}; accepted: any of {', '.join(handed)}")
    try:
        result = made.reference(**{name: handed[name] for name in reads})
    except Exception as error:
        raise ArgumentError(
            f"reference raises {type(error).__name__} ({error}) {at(sizes)}; accepted: a function "
            "that knows the "
            "right answer for every input: see that inputs draws what it can take"
        ) from error
    for name, value in values.items():
        if isinstance(value, np.ndarray) and handed[name].tobytes() != value.tobytes():
            raise ArgumentError(
                f"reference changes its argument {name!r}; accepted: one that returns new arrays"
            )
    parts = result if isinstance(result, tuple) else (result,)
    if len(parts) != len(made.written):
        raise ArgumentError(
            f"reference returns {len(parts)} arrays; accepted: one for each of "
            + ", ".join(array.name for array in made.written)
        )
    found = {}
    for array, part in zip(made.written, parts, strict=True):
        value, extents = np.asarray(part), array.extents(sizes)
        if value.shape != extents:
            raise ArgumentError(
                f"reference returns {array.name!r} of shape {value.shape} {at(sizes)}; accepted: {extents}"
            )
        found[array.name] = value
    return found


def agreed(problem: KernelProblem) -> None:
    """Raises ``ArgumentError`` where a reference says two things of one input, or nothing that is of use."""
    made = problem.made
    if made.reference is None:
        return
    sizes = cases(problem)[0]
    values = drawn(made, sizes, SEEDS[0])
    first, second = answered(made, values, sizes), answered(made, values, sizes)
    for array in made.written:
        verdict = compared(made, array, second[array.name], first[array.name])
        if not verdict.ok:
            raise ArgumentError(
                f"reference disagrees with itself: asked twice of the same inputs {at(sizes)}, "
                f"{verdict.why}; "
                "accepted: one that depends on its arguments alone (a generator of random numbers, "
                "or an array "
                "that it keeps between calls, are the usual reasons)"
            )


def compared(made: Definition, array: Array, got: Any, want: Any) -> Verdict:
    """The verdict on one array: its worst error over its bound. Magnitudes are those of each item of a
    batch."""
    if array.numpy.kind in "iub":
        wrong = np.flatnonzero(got != want.astype(array.numpy))
        if not wrong.size:
            return Verdict(True, 0.0)
        where = np.unravel_index(wrong[0], got.shape)
        return Verdict(
            False,
            math.inf,
            f"{array.name}{list(map(int, where))} is {got[where]} and should be {want[where]}",
        )
    wide = np.complex128 if array.numpy.kind == "c" else np.float64
    there, right = widened(got).astype(wide), widened(np.asarray(want)).astype(wide)
    batched = bool(made.batch) and bool(array.shape) and array.shape[0] == made.batch
    there, right = ((x.reshape(len(x), -1) if batched else x.reshape(1, -1)) for x in (there, right))
    if not right.size:
        return Verdict(True, 0.0)
    tolerance = TOLERANCES.get(array.dtype, OTHERS) if made.tolerance is None else made.tolerance
    finite = np.isfinite(right)
    scale = np.max(np.abs(right), axis=1, where=finite, initial=0.0)[:, None]
    with np.errstate(all="ignore"):
        error = np.abs(there - right) / (tolerance * np.where(scale == 0, 1, scale))
    same = (there == right) | (np.isnan(there) & np.isnan(right))
    error = np.where(same, 0.0, np.where(np.isnan(error) | ~finite, np.inf, error))
    worst = int(np.argmax(error))
    most = float(error.flat[worst])
    if most <= 1:
        return Verdict(True, most)
    place = list(map(int, np.unravel_index(worst, got.shape)))
    return Verdict(
        False,
        most,
        f"{array.name}{place} is {there.flat[worst]} and should be {right.flat[worst]} "
        f"within {tolerance:g} of the largest",
    )


# ---- memory


class Image:
    """The bytes of one array with its guards, as they are before a launch."""

    def __init__(self, array: Array, extents: tuple[int, ...], values: Any):
        self.array, self.extents = array, extents
        self.bytes = math.prod(extents) * array.numpy.itemsize
        raw = np.empty(self.bytes + 3 * GUARD, np.uint8)
        start = -raw.ctypes.data % GUARD
        self.words = raw[start : start + self.bytes + 2 * GUARD]
        self.words[:GUARD] = self.words[GUARD + self.bytes :] = MARK
        inside = self.words[GUARD : GUARD + self.bytes]
        if values is None:
            # Floating-point numbers that are not numbers: what is not written is seen.
            inside[:] = 0xFF
        else:
            inside[:] = np.ascontiguousarray(values).reshape(-1).view(np.uint8)

    def read(self, words: Any) -> Any:
        """The array in the bytes that a launch left."""
        return words[GUARD : GUARD + self.bytes].view(self.array.numpy).reshape(self.extents)

    def spoiled(self, words: Any) -> str:
        """What a launch has changed that it must not, in words; "" where it is all as it was."""
        before, after = words[:GUARD], words[GUARD + self.bytes :]
        for side, guard in (("before", before), ("behind", after)):
            if (guard != MARK).any():
                return f"something was written {side} {self.array.name}"
        if not self.array.writes and not np.array_equal(words, self.words):
            return f"{self.array.name} was written, which is an input"
        return ""


def images(made: Definition, sizes: Mapping[str, int], values: Values) -> list[Image]:
    """All arrays of a kernel before a launch, in the order of its arguments."""
    return [Image(array, array.extents(sizes), values.get(array.name)) for array in made.arrays]


@dataclass(slots=True)
class Check:
    """A case made ready: the problem, its inputs, the right answer, and where its arrays lie."""

    problem: KernelProblem
    values: Values
    right: dict[str, Any]
    images: list[Image]
    placed: Any


# ---- the evaluation


class KernelEvaluation(ABC):
    """Checks and times kernels that were handed in, of one problem after another.

    How arrays get to the device and back, and what a call is, the modules beside this one say.
    """

    problem: KernelProblem
    regime: str

    def __init__(self, device: Device):
        self.device = device
        self._spaces: dict[KernelProblem, Space] = {}

    @abstractmethod
    def place(self, images: Sequence[Image]) -> Any:
        """Memory of the device for arrays."""

    @abstractmethod
    def fill(self, placed: Any, images: Sequence[Image]) -> None:
        """The arrays as they are before a launch."""

    @abstractmethod
    def fetch(self, placed: Any) -> list[Any]:
        """The bytes of all arrays, guards included, once all work is done."""

    @abstractmethod
    def call(self, candidate: Candidate, problem: KernelProblem, placed: Any, values: Values) -> timing.Run:
        """What starts a candidate on arrays."""

    @abstractmethod
    def timed(self, candidate: Candidate, least: int, budget: float, early_stop: float) -> tuple[Any, str]:
        """A candidate's time on the operands, and the clocks meanwhile."""

    @abstractmethod
    def raced(self, candidates: Sequence[Candidate], rounds: int) -> tuple[list[Any], str, str]:
        """The times of several candidates in turns until it is clear who is fastest, the clocks meanwhile,
        and what disturbed them."""

    def prepare(self, problem: KernelProblem, regime: str) -> None:
        """Draw the inputs of all cases, ask the reference, and make the operands that are timed."""
        made = problem.made
        self.problem, self.regime, self._spaces = problem, regime, {}
        self.checks = []
        if made.reference is not None:
            for sizes in cases(problem):
                one = KernelProblem.of(made, sizes)
                for seed in SEEDS:
                    values = drawn(made, sizes, seed)
                    right = answered(made, values, sizes)
                    before = images(made, sizes, values)
                    self.checks.append(Check(one, values, right, before, self.place(before)))
        self.values = drawn(made, problem.all_sizes, SEEDS[0])
        self.images = images(made, problem.all_sizes, self.values)
        bytes_ = sum(image.bytes for image in self.images)
        copies = (
            min(COPIES, max(1, -(-2 * self.device.knee() // max(1, bytes_)))) if regime == "memory" else 1
        )
        self.copies = [self.place(self.images) for _ in range(copies)]
        for copy in self.copies:
            self.fill(copy, self.images)

    def attempt(self, candidate: Candidate, least: int, budget: float, early_stop: float) -> Outcome:
        """Check a binary on every case, and time it if it is right."""
        worst, looked = 0.0, not self.checks
        for check in self.checks:
            if not self._serves(candidate, check.problem):
                continue
            looked = True
            verdict = self._checked(candidate, check)
            if not verdict.ok:
                return Outcome(verdict)
            worst = max(worst, verdict.error)
        if not looked:
            return Outcome(
                Verdict(False, math.inf, "no case is small enough for it: name cases that its rules allow")
            )
        timed, clocks = self.timed(candidate, least, budget, early_stop)
        return Outcome(Verdict(True, worst), timed, clocks)

    def final(self, candidates: Sequence[Candidate], rounds: int) -> FinalRound:
        """Check binaries on the timed operands, and time the right ones in turns."""
        verdicts = [self._proved(candidate) for candidate in candidates]
        right = [c for c, verdict in zip(candidates, verdicts, strict=True) if verdict.ok]
        timings, clocks, note = self.raced(right, rounds) if right else ([], "", "")
        times = iter(timings)
        outcomes = [Outcome(v, next(times) if v.ok else None, clocks) for v in verdicts]
        return FinalRound(outcomes, None, NO_PEER, note=note)

    def _serves(self, candidate: Candidate, problem: KernelProblem) -> bool:
        """Whether the rules of other sizes let a config through."""
        if problem not in self._spaces:
            self._spaces[problem] = spaces.space(problem.made, problem.all_sizes, self._limits())
        return candidate.config in self._spaces[problem]

    def _limits(self) -> Device | None:
        return self.device if self.device.kind == "cuda" else None

    def _checked(self, candidate: Candidate, check: Check) -> Verdict:
        self.fill(check.placed, check.images)
        self.call(candidate, check.problem, check.placed, check.values)()
        verdict = judged(check.problem.made, check.images, self.fetch(check.placed), check.right)
        return (
            verdict
            if verdict.ok
            else Verdict(False, verdict.error, f"{check.problem.spelling}: {verdict.why}")
        )

    def _proved(self, candidate: Candidate) -> Verdict:
        """The verdict on the timed operands: some items of the batch, or all of it where there is none."""
        made = self.problem.made
        placed = self.copies[0]
        self.fill(placed, self.images)
        self.call(candidate, self.problem, placed, self.values)()
        words = self.fetch(placed)
        if made.reference is None:
            return Verdict(True, 0.0)
        for image, left in zip(self.images, words, strict=True):
            if why := image.spoiled(left):
                return Verdict(False, math.inf, f"{self.problem.spelling}: {why}")
        return self._looked(words)

    def _looked(self, words: Sequence[Any]) -> Verdict:
        made, whole = self.problem.made, self.problem.all_sizes
        over = {
            array.name for array in made.arrays if made.batch and array.shape and array.shape[0] == made.batch
        }
        written = {array.name for array in made.written}
        if not written <= over or self.problem.batch <= 2 * ITEMS:
            which: Any = slice(None)
            sizes = whole
        else:
            which = np.r_[0:ITEMS, self.problem.batch - ITEMS : self.problem.batch]
            sizes = {**whole, made.batch: 2 * ITEMS}
        values = {n: v[which] if n in over else v for n, v in self.values.items()}
        right = answered(made, values, sizes)
        worst = 0.0
        for image, left in zip(self.images, words, strict=True):
            name = image.array.name
            if name in written:
                found = image.read(left)
                verdict = compared(made, image.array, found[which] if name in over else found, right[name])
                if not verdict.ok:
                    return Verdict(False, verdict.error, f"{self.problem.spelling} itself: {verdict.why}")
                worst = max(worst, verdict.error)
        return Verdict(True, worst)


def judged(
    made: Definition, before: Sequence[Image], words: Sequence[Any], right: Mapping[str, Any]
) -> Verdict:
    """The verdict on what a launch left of all arrays."""
    worst = 0.0
    for image, left in zip(before, words, strict=True):
        if why := image.spoiled(left):
            return Verdict(False, math.inf, why)
        if image.array.writes:
            verdict = compared(made, image.array, image.read(left), right[image.array.name])
            if not verdict.ok:
                return verdict
            worst = max(worst, verdict.error)
    return Verdict(True, worst)


class Either:
    """Products, or kernels that were handed in: the evaluation of the problem that was prepared last
    answers."""

    def __init__(self, products: Evaluation, kernels: KernelEvaluation):
        self.products, self.kernels = products, kernels
        self.chosen: Evaluation = products

    def prepare(self, problem: Any, regime: str) -> None:
        """Make the operands of a problem."""
        self.chosen = self.kernels if isinstance(problem, KernelProblem) else self.products
        self.chosen.prepare(problem, regime)

    def attempt(self, candidate: Candidate, least: int, budget: float, early_stop: float) -> Outcome:
        """Check a candidate, and time it if it is right."""
        return self.chosen.attempt(candidate, least, budget, early_stop)

    def final(self, candidates: Sequence[Candidate], rounds: int) -> FinalRound:
        """Time several candidates in turns."""
        return self.chosen.final(candidates, rounds)
