"""What commands share: a run with the speed of a copy, kernels in turns, searches, and lines of all that."""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from bench import lines, sweep
from bench.batches.points import Entry, Point, planned
from bench.batches.result import bounded, line_of, shown
from bench.batches.seeds import origin_of, seeds_of
from bench.batches.turns import Turns
from bench.lines import Line
from bench.pruning import Listed
from tilewright.catalog import STENCILS
from tilewright.errors import ArgumentError, TilewrightError
from tilewright.model import VENDOR, Config, Problem, Record
from tilewright.planning import dispatch
from tilewright.targets.cuda.capability import units
from tilewright.tuning import ceilings_cuda
from tilewright.tuning.timing import speed


class Run(sweep.Run):
    """A run that keeps the lines of its command, and bytes a second of a copy."""

    program = "batches"
    copy: float | None = None

    def begin(self, options: argparse.Namespace) -> None:
        """Begin a command, the first or another. A copy that was measured is not measured again."""
        super().begin(options)
        self.found: list[Line] = []
        if self.copy is not None:
            self.sink.write({"kind": "copy", "bytes_per_second": self.copy})

    def look(self) -> None:
        """Measure a copy, which takes about a second."""
        try:
            self.copy = ceilings_cuda.measure(self.device)["bandwidth.copy.1"]
        except TilewrightError as error:
            self.console.print(f"no share of a copy: {error}", style="yellow", markup=False)
            return
        self.sink.write({"kind": "copy", "bytes_per_second": self.copy})
        self.console.print(f"a copy moves {self.copy / 1e12:.3f} TB/s", markup=False)

    def copy_beside(self, point: Point) -> float | None:
        """Bytes a second of a copy of as many bytes as a point moves; None where there is no room for it."""
        if self.copy is None:
            return None
        try:
            return ceilings_cuda.copy_of(self.device, point.bytes * point.problem.batch)
        except TilewrightError as error:
            self.console.print(f"no copy of as many bytes: {error}", style="yellow", markup=False)
            return None

    def add(self, line: Line, text: str = "") -> None:
        """Keep and show a line."""
        self.found.append(line)
        self.sink.write(line)
        self.console.print(text or shown(line), markup=False, soft_wrap=True)

    def over(self) -> bool:
        """Whether no time is left; says so."""
        if time.monotonic() < self.end:
            return False
        self.console.print("no time left: the rest is not measured", style="yellow")
        return True

    def problems(self, betas: Iterable[str] = ("0",)) -> Iterator[Problem]:
        """Packed squares of all types, sizes and classes of beta that are asked for, one product each."""
        given = self.options
        for letter, n, beta in itertools.product(given.types, lines.numbers(given.sizes), betas):
            yield lines.square(letter, n, beta)

    def best(
        self,
        problems: Iterable[Problem],
        *,
        moved: Callable[[Problem], float | None] = lambda problem: None,
        telling: Callable[[Problem], Mapping[str, Any]] = lambda problem: {},
    ) -> None:
        """Search for the best config of each problem; with neither ``--budget`` nor ``--seeds`` time what
        dispatch chooses."""
        if not self.options.budget and not self.options.seeds:
            self.turns(self.points(problems, self.chosen, moved=moved, telling=telling))
            return
        for point in self.points(problems, lambda problem: (), moved=moved, telling=telling):
            if self.over():
                return
            self._searched(point)

    def _searched(self, point: Point) -> None:
        """Search for the best config of a point and keep its line; with ``--seeds`` among these alone."""
        given, problem, stencil = self.options, point.problem, self.options.stencil
        seeds: list[Config] = []
        kept: dict[str, Any] = {"search": "climb", "budget": given.budget, "spaces": sweep.whole}
        if given.seeds:
            seeds = seeds_of(given.seeds, problem, stencil, given.top)
            kept = {"search": "exhaustive", "budget": float("inf"), "spaces": lambda s: Listed(s, seeds)}
        kept["budget"] = min(kept["budget"], max(1.0, self.end - time.monotonic()))
        line: Line = {"kind": given.command, "problem": problem.spelling, "beta": problem.beta}
        try:
            result = self.tuner.tune(
                problem, point.regime, stencils=[stencil], tolerate=given.tolerate, **kept
            )
        except TilewrightError as error:
            self.add(line | {"missing": str(error)})
            return
        line = sweep.said(given.command, result, "seeds" if given.seeds else "climb")
        line |= {"layout": problem.layout, "stencil": stencil}
        line |= {"peer": result.vendor.toolchain if result.vendor else "", "origin": ""}
        if result.best:
            line["origin"] = self._origin(result.best, seeds)
            line["seconds"] = problem.batch / speed(result.best)
            line["bytes_per_second"] = point.bytes * speed(result.best)
            if self.copy:
                line["of_copy"] = line["bytes_per_second"] / self.copy
        self.add(line | dict(point.says))

    def _origin(self, best: Record, seeds: Sequence[Config]) -> str:
        """Where the config of a search's winner is from."""
        default = STENCILS[best.stencil].default(best.problem, self.device)
        near = self.records.near(best.problem, best.regime, self.device.key, without=VENDOR)
        known = [record.config for record in near if record.stencil == best.stencil]
        return origin_of(best.config, default, seeds, known)

    def turns(
        self,
        points: Sequence[Point],
        more: Callable[[Point, Line], None] = lambda point, line: None,
        *,
        beside: bool = False,
    ) -> None:
        """Time points one after the other and keep a line for each of their kernels; ``more`` adds to it.
        ``beside``: each beside a copy of as many bytes, and beside its bound (``result.bounded``)."""
        if not points:
            return
        peaks = units(self.device) if beside else {}
        for point, found in Turns(self.tuner, self.options.rounds)(points):
            copy = (beside and self.copy_beside(point)) or self.copy
            for number in range(len(point.entries)):
                line = line_of(self.options.command, point, number, found, copy)
                if beside:
                    line |= bounded(line, point, copy, peaks)
                more(point, line)
                self.add(line)
            if self.over():
                return

    def points(
        self,
        problems: Iterable[Problem],
        entries: Callable[[Problem], tuple[Entry, ...]],
        *,
        regime: str = "",
        moved: Callable[[Problem], float | None] = lambda problem: None,
        telling: Callable[[Problem], Mapping[str, Any]] = lambda problem: {},
    ) -> list[Point]:
        """Problems with their kernels; one that no stencil accepts becomes a line that says so."""
        made = []
        for problem in problems:
            where, says = regime or dispatch.regime(problem, self.device), telling(problem)
            try:
                made.append(Point(problem, where, entries(problem), moved(problem), says))
            except ArgumentError as error:
                line = {"kind": self.options.command, "problem": problem.spelling, "beta": problem.beta}
                self.add(line | dict(says) | {"missing": str(error)})
        return made

    def chosen(self, problem: Problem) -> tuple[Entry, ...]:
        """The one kernel of a call."""
        return (planned(problem, self.device),)
