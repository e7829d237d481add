"""A set of few kernels for many problems: found, checked in turns with each problem's best, and written.

1. Each problem is tuned in each regime, unless the records say that it was.
2. The winners, and who is nearly as good, are tried on all other problems (``cells``).
3. The fewest kernels are found that lose at most ``within`` on each (``cover``).
4. Each kernel of the set that is not the winner of a problem is timed in turns with that winner. Where it
   loses more than the table said, the table is mended and the set is found anew, some times; so what is said
   of the final set was measured side by side. These figures are records like those of any final round.

Problems that the vendor's product was measured to do faster than any kernel are left to it.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tilewright.calls.spec import is_real
from tilewright.errors import ArgumentError
from tilewright.model import Device, Record
from tilewright.runtime import build
from tilewright.space import Space
from tilewright.store.jsonl import compact, encode, write_text
from tilewright.tuning.sets import cells
from tilewright.tuning.sets.cells import Case, Kernel, Listed
from tilewright.tuning.sets.cover import Cover, cover, curve
from tilewright.tuning.tasks import sized
from tilewright.tuning.timing import speed
from tilewright.tuning.tuner import Tuner

AGAIN = 6
"""How often a set is found anew when kernels lose more, side by side, than the table said."""


@dataclass(frozen=True, slots=True)
class Served:
    """A problem in a regime and the kernel of the set that serves it, as the place of that in ``kernels``.

    ``loss``: how much longer it takes than the best kernel known of the problem (0.05: 5 %). ``beside``: that
    was measured in turns with the best, or it is the best. ``record`` is the kernel's own.
    """

    problem: Any
    regime: str
    kernel: int
    loss: float
    beside: bool
    record: Record


@dataclass(frozen=True, slots=True)
class Point:
    """A number of kernels, the least that the largest loss can then be, and the geometric mean of losses."""

    kernels: int
    worst: float
    mean: float
    exact: bool


@dataclass(frozen=True, slots=True)
class KernelSet:
    """The smallest set of ``kernels`` that serves each problem within ``within`` of its best.

    ``cases`` are the problems that it serves, ``left`` those that the vendor does faster, ``curve`` what
    fewer and more kernels would give by the table. ``exact``: no fewer kernels would do, by the table; else
    nothing smaller was found. ``binaries``: how many programs each kernel is for its problems, for some
    stencils compile sizes in.
    """

    device: Device
    within: float
    kernels: tuple[Kernel, ...]
    cases: tuple[Served, ...]
    left: tuple[tuple[Any, str], ...]
    curve: tuple[Point, ...]
    exact: bool
    binaries: tuple[int, ...]

    @property
    def worst(self) -> float:
        """The largest loss of a problem; 0 where nothing is served."""
        return max((case.loss for case in self.cases), default=0.0)

    @property
    def holds(self) -> bool:
        """Whether each problem is served within the bound, as measured."""
        return self.worst <= self.within

    @property
    def records(self) -> tuple[Record, ...]:
        """The record of each problem's kernel: what ``tw.use_kernels`` takes."""
        return tuple(case.record for case in self.cases)

    def save(self, path: Path | str) -> int:
        """Write the records of the set as JSON lines, for ``tw.use_kernels`` and ``tilewright import``, and
        return how many they are. Raises ``RecordsError`` where that fails."""
        lines = [compact(encode(record, samples=False)) for record in self.records]
        write_text(Path(path), "".join(f"{line}\n" for line in lines))
        return len(lines)


def kernel_set(
    tuner: Tuner,
    jobs: Sequence[tuple[Any, str]],
    *,
    within: float,
    search: str,
    seconds: float,
    rival: Callable[[Any], bool] = lambda problem: True,
    listen: Callable[[str], None] = lambda text: None,
) -> KernelSet:
    """The smallest set of kernels for problems in regimes.

    ``search`` and ``seconds`` are those of the first step, for one problem; the second gets as long again at
    most; an empty ``search`` measures nothing. ``rival``: whether a problem is left to the vendor where its
    product is faster. ``listen`` is told what is being done.

    Raises ``ArgumentError`` for no problems, for a bound that is no share from 0, and where no kernel is
    right for a problem.
    """
    if not jobs:
        raise ArgumentError("problems is empty; accepted: at least one problem")
    if not (is_real(within) and math.isfinite(within) and within >= 0):
        raise ArgumentError(f"within={within!r}; accepted: a share from 0, as 0.05")
    device, records = tuner.device, tuner.records
    cases = [Case(sized(problem, regime, device), regime) for problem, regime in jobs]
    for number, case in enumerate(cases, 1):
        cells.look(case, records, device)
        if not case.settled and search:
            listen(f"{number} of {len(cases)}: tuning {case.problem.spelling}, {case.regime}")
            tuner.tune(case.problem, case.regime, search=search, budget=seconds, place=(number, len(cases)))
            cells.look(case, records, device)
        if case.best is None:
            raise ArgumentError(
                f"problem={case.problem.spelling}, {case.regime}: no kernel is known to be right; accepted: "
                "problems of which one is, or an effort that measures"
            )
    lost = {number for number, case in enumerate(cases) if rival(case.problem) and _vendor_wins(case)}
    served = [case for number, case in enumerate(cases) if number not in lost]
    left = [(cases[number].problem, cases[number].regime) for number in sorted(lost)]
    pool = cells.candidates(served, within)
    for number, case in enumerate(served if search else (), 1):
        _fill(tuner, case, pool, seconds, f"{number} of {len(served)}", listen)
    return _found(tuner, served, pool, within, left, search, listen)


def _vendor_wins(case: Case) -> bool:
    """Whether the vendor's product was faster than the best kernel."""
    assert case.best is not None
    theirs = case.vendor
    return theirs is not None and theirs.timing is not None and speed(theirs) > speed(case.record(case.best))


def _fill(
    tuner: Tuner,
    case: Case,
    pool: Sequence[Kernel],
    seconds: float,
    place: str,
    listen: Callable[[str], None],
) -> None:
    """Try the candidates that a case has no record of."""
    wanted = cells.missing(case, pool, tuner.device)
    if not wanted:
        return
    configs = [config for each in wanted.values() for config in each]
    listen(f"{place}: {len(configs)} kernels of others on {case.problem.spelling}, {case.regime}")

    def listed(space: Space) -> Space:
        return Listed(space, configs)

    tuner.tune(
        *(case.problem, case.regime),
        search="exhaustive",
        budget=seconds,
        stencils=tuple(wanted),
        spaces=listed,
    )
    cells.look(case, tuner.records, tuner.device)


def _found(
    tuner: Tuner,
    cases: Sequence[Case],
    pool: Sequence[Kernel],
    within: float,
    left: Sequence[tuple[Any, str]],
    measuring: str,
    listen: Callable[[str], None],
) -> KernelSet:
    """The set by the table, mended by what was measured side by side."""
    # What won meanwhile is a candidate, too.
    kernels = list(dict.fromkeys([*pool, *(best for case in cases if (best := case.best) is not None)]))
    losses = [[case.loss(kernel) for case in cases] for kernel in kernels]
    if not cases:
        return KernelSet(tuner.device, within, (), (), tuple(left), (), True, ())
    sure = {(kernels.index(case.best), p) for p, case in enumerate(cases) if case.best is not None}
    for turn in range(AGAIN + 1):
        chosen = cover(losses, within)
        doubtful = [(k, p) for p, k in enumerate(chosen.serving) if (k, p) not in sure]
        if not doubtful or not measuring or turn == AGAIN:
            break
        for k, p in doubtful:
            listen(f"{cases[p].problem.spelling}, {cases[p].regime}: in turns with its best")
            losses[k][p] = _beside(tuner, cases[p], kernels[k])
            sure.add((k, p))
            cells.look(cases[p], tuner.records, tuner.device)
            for row, kernel in zip(losses, kernels, strict=True):
                # Wrong in a round among few is wrong.
                row[p] = row[p] if cases[p].knows(kernel) else math.inf
        if all(losses[k][p] <= within for k, p in doubtful):
            break
    return _told(tuner.device, cases, kernels, losses, chosen, sure, within, left)


def _beside(tuner: Tuner, case: Case, kernel: Kernel) -> float:
    """How much longer a kernel takes than the best of a case, in turns with it: the median of the ratios
    within rounds, which no drift moves. Infinite where it turned out to be wrong."""
    best = case.best
    assert best is not None
    rows = tuner.in_turns(case.problem, case.regime, [best, kernel])
    ours, theirs = (rows[each].timing if each in rows else None for each in (kernel, best))
    if ours is None:
        return math.inf
    if theirs is None:
        # The one that was taken for the best is wrong.
        return 0.0
    pairs = zip(ours.samples, theirs.samples, strict=True)
    return max(0.0, statistics.median(one / other for one, other in pairs) - 1)


def _told(
    device: Device,
    cases: Sequence[Case],
    kernels: Sequence[Kernel],
    losses: Sequence[Sequence[float]],
    chosen: Cover,
    sure: set[tuple[int, int]],
    within: float,
    left: Sequence[tuple[Any, str]],
) -> KernelSet:
    """A cover as a set of kernels."""
    place = {kernel: number for number, kernel in enumerate(chosen.kernels)}
    served = tuple(
        Served(case.problem, case.regime, place[k], losses[k][p], (k, p) in sure, case.record(kernels[k]))
        for p, (case, k) in enumerate(zip(cases, chosen.serving, strict=True))
    )
    programs = [
        {build.key(*_parts(kernels[k], each.problem, device)) for each in served if each.kernel == number}
        for k, number in place.items()
    ]
    points = [Point(len(each.kernels), each.worst, each.mean, each.exact) for each in curve(losses)]
    return KernelSet(
        *(device, within, tuple(kernels[k] for k in chosen.kernels), served, tuple(left), tuple(points)),
        *(chosen.exact, tuple(len(each) for each in programs)),
    )


def _parts(kernel: Kernel, problem: Any, device: Device) -> tuple[Any, ...]:
    return kernel[0], problem, kernel[1], device
