"""Batches of small matrices on a GPU, beside what a user would call instead: ``python -m bench.batches``.

    squares     --sizes 1..32 --betas 0,1        how near the speed of a copy (Masliah et al., section 3)
    rectangles  --parts shapes,padded            what dispatch chooses for mixed shapes and padded columns
    half        --types h,hc                     float16, complex half (Abdelfattah et al., section 7)
    updates     --ks 8,16,32                     C = alpha A B + C with a short k (the same section)
    counts      --counts 1,10,100,1000           the speed over the number of products (the same section)
    crossover   --types h,hc --sizes 2..24       from which size on tensor cores pay (the same section)
    calls                                        what a call from PyTorch costs beside its kernel

The peer is cuBLAS through PyTorch; of complex half it is the planar way, four products of float16. Ours
and the peer are timed in turns, in one process: ``against_cublas`` is the median of the ratios within
rounds (above 1 ours is faster), ``low`` and ``high`` its 95 % interval. ``of_copy`` is bytes a second over
those of a copy within device memory, which is measured when a run begins. Every point is a line of JSON,
written as soon as it is known, and one on the screen.

``squares`` searches, or tries again the best of what ``--seeds`` holds. The others time what dispatch chooses
without a search (``rectangles --budget`` searches too), and compile ahead of the clock.
"""

from __future__ import annotations

import argparse
import itertools
import random
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import gcd
from pathlib import Path
from typing import Any

from rich.console import Console

from bench import lines
from bench.pruning import Listed
from bench.sweep import best_of, said, whole
from tilewright import dispatch, measure, roofline_cuda
from tilewright.catalog import STENCILS, TARGETS
from tilewright.errors import ArgumentError, TilewrightError
from tilewright.model import DTYPES, Config, Device, Problem, Timing
from tilewright.records import Records
from tilewright.space import HARDWARE, Space
from tilewright.targets import driver
from tilewright.trials import Candidate, Finals, Outcome
from tilewright.trials.cuda import Events
from tilewright.tune import Tuner, speed
from tilewright.workers import Answer, Stream, stream

SMALL = ("tiny", "tensor")
"""The stencils that are written for batches, in the order in which an untuned call asks them."""
AHEAD = 64
"""Binaries that may wait for the clock."""
MOST = 100_000
"""Products of a batch at most, where a figure asks for no certain number."""
SECTOR = 32
"""Bytes that device memory is read and written by."""
EXTENTS, SHAPES, SEED = (3, 7, 8, 13, 16, 24, 32), 60, 1
PADDED = (3, 8, 16, 24, 32)
GOALS = {"0": 0.95, "1": 0.97}
"""The share of a copy that is aimed at, by the class of beta: a copy writes half of what it moves, a product
without C a third, an update a quarter."""

Line = lines.Line


# ---- what is measured


@dataclass(frozen=True, slots=True)
class Entry:
    """A kernel that takes part: its stencil and config, and where they are from."""

    stencil: str
    config: Config
    origin: str


@dataclass(frozen=True, slots=True)
class Point:
    """A problem with the kernels that are timed in turns on it.

    ``moved``: bytes of one product, where they are not ``Problem.bytes``. ``says``: more of its lines.
    """

    problem: Problem
    regime: str
    entries: tuple[Entry, ...]
    moved: float | None = None
    says: Mapping[str, Any] = field(default_factory=dict)

    @property
    def bytes(self) -> float:
        """Bytes of one product that device memory has to move."""
        return self.problem.bytes if self.moved is None else self.moved


def sectors(problem: Problem) -> float:
    """Fewest bytes of one product of a large batch that device memory moves for its layout.

    Memory is read and written by whole sectors of 32 bytes: what the stored columns of A, B and C touch
    counts, a sector that several of them share once; C twice where it is read too. Bases are multiples
    of a sector. Without gaps this is ``Problem.bytes``.
    """
    p = problem
    shapes = (
        (p.k, p.m) if p.turned_a else (p.m, p.k),
        (p.n, p.k) if p.turned_b else (p.k, p.n),
        (p.m, p.n),
    )
    total = 0.0
    for (rows, columns), ld, stride, times in zip(
        shapes, (p.lda, p.ldb, p.ldc), p.strides, (1, 1, 1 if p.beta == "0" else 2), strict=True
    ):
        assert ld is not None
        size = p.dtype.itemsize
        # So many matrices lie in a whole number of sectors: those after them lie alike.
        alike = SECTOR // gcd(SECTOR, stride * size) if stride else 1
        starts = ((i * stride + j * ld) * size for i in range(alike) for j in range(columns))
        touched = {
            sector
            for start in starts
            for sector in range(start // SECTOR, (start + rows * size - 1) // SECTOR + 1)
        }
        if stride:
            ring = alike * stride * size // SECTOR
            total += times * SECTOR * len({sector % ring for sector in touched}) / alike
        else:
            total += times * SECTOR * len(touched) / p.batch
    return total


def mixed(count: int = SHAPES, seed: int = SEED) -> list[tuple[int, int, int]]:
    """Different shapes (m, n, k) of ``EXTENTS`` that are no cubes, the same ones every time."""
    shapes = [(m, n, k) for m, n, k in itertools.product(EXTENTS, repeat=3) if not m == n == k]
    return random.Random(seed).sample(shapes, count)


def paddings(n: int) -> tuple[int, int, int]:
    """Leading dimensions for n rows: odd, odd by more, and a multiple of 8 with 8 to spare."""
    return n + 1, n + 3, -(-n // 8) * 8 + 8


def filling(problem: Problem, size: float, moved: float | None = None, most: float = float("inf")) -> Problem:
    """The problem with a batch that moves ``size`` bytes, and at most ``most`` products."""
    return problem.with_(batch=int(max(1, min(most, size // (moved or problem.bytes)))))


def seeds_of(path: Path, problem: Problem, stencil: str, count: int) -> list[Config]:
    """The fastest configs that a file holds of a problem, whatever its batch: tries, and results."""
    name = problem.spelling.partition("@")[0]
    rows = [
        (line["tflops"], Config(line["config"]))
        for line in lines.read(path)
        if line.get("config") and line.get("tflops") and line["problem"].partition("@")[0] == name
        if line["beta"] == problem.beta and line.get("stencil", stencil) == stencil
    ]
    rows.sort(key=lambda row: -row[0])
    return list(dict.fromkeys([*best_of(path, problem, count), *(config for _, config in rows)]))[:count]


def planned(problem: Problem, device: Device) -> Entry:
    """What a call runs, were there no library."""
    plan = dispatch.plan(problem, device, vendor=False)
    assert plan.stencil is not None
    assert plan.config is not None
    return Entry(plan.stencil, plan.config, plan.origin)


def entry_of(name: str, problem: Problem, regime: str, device: Device, records: Records) -> Entry:
    """A stencil's best config for a problem on record, or its default. Its own records rank: newer protocols
    first, then the faster."""
    stencil = STENCILS[name]
    asked = {"problem_key": problem.key, "regime": regime, "stencil": name, "status": "ok"}
    rows = [row for row in records.all(device=device.key, **asked) if row.timing]
    rows = rows or [
        row
        for row in records.shipped(device.key)
        if row.timing and (row.problem.key, row.regime, row.stencil) == (problem.key, regime, name)
    ]
    space = stencil.space(problem, device)
    names = {param.name for param in space.params}
    for row in sorted(rows, key=lambda row: (-row.protocol, -speed(row))):
        if set(row.config) == names and not any(r.kind in HARDWARE for r in space.why(row.config)):
            return Entry(name, row.config, "tuned")
    return Entry(name, stencil.default(problem, device), "default")


# ---- taking turns


@dataclass(frozen=True, slots=True)
class Found:
    """What came of a point: outcomes of its entries (a reason where there is none), the peer's version
    and timing, and why that is missing."""

    outcomes: tuple[Outcome | str, ...]
    vendor: tuple[str, Timing] | None
    missing: str = ""


class Turns:
    """Kernels of one point after the other, checked and timed in turns with the peer by the children of a
    tuner. What comes later is compiled meanwhile. Nothing is recorded."""

    def __init__(self, tuner: Tuner, rounds: int):
        self.tuner, self.rounds = tuner, rounds

    def __call__(self, points: Sequence[Point]) -> Iterator[tuple[Point, Found]]:
        """What came of each point, in order."""
        wanted = [[(e.stencil, point.problem, e.config) for e in point.entries] for point in points]
        requests = dict.fromkeys(request for asked in wanted for request in asked)
        built: dict[Any, Answer] = {}
        answers = stream(self.tuner.compilers, list(requests), AHEAD)
        try:
            for point, asked in zip(points, wanted, strict=True):
                while any(request not in built for request in asked):
                    answer = next(answers)
                    built[answer.request] = answer
                yield point, self._found(point, [built[request] for request in asked], answers)
        finally:
            answers.drop()

    def _found(self, point: Point, built: Sequence[Answer], answers: Stream) -> Found:
        bench, patience = self.tuner.bench, self.tuner.patience
        candidates = [
            Candidate(entry.stencil, entry.config, answer.value)
            for entry, answer in zip(point.entries, built, strict=True)
            if answer.status == "ok"
        ]
        said = bench.ask(("prepare", point.problem, point.regime), patience, answers)
        if said.status != "ok":
            # What it could not make it may hold half of.
            bench.stop()
        else:
            said = bench.ask(("final", candidates, self.rounds), patience, answers)
        if said.status != "ok":
            return Found((said.detail,) * len(built), None, said.detail)
        finals: Finals = said.value
        left = iter(finals.outcomes)
        outcomes = tuple(next(left) if answer.status == "ok" else answer.detail for answer in built)
        return Found(outcomes, finals.vendor, finals.missing)


def line_of(kind: str, point: Point, number: int, found: Found, copy: float | None) -> Line:
    """What is kept of one kernel of a point; ``copy`` is the bytes a second of a copy."""
    p, entry, outcome = point.problem, point.entries[number], found.outcomes[number]
    line: Line = {
        "kind": kind,
        "problem": p.spelling,
        "layout": p.layout,
        "alpha": p.alpha,
        "beta": p.beta,
        "regime": point.regime,
        "stencil": entry.stencil,
        "origin": entry.origin,
        "config": dict(entry.config),
        "tflops": None,
        "cublas_tflops": None,
        "peer": "",
        "missing": found.missing,
        "clocks": "",
    } | dict(point.says)
    if found.vendor:
        line["peer"], theirs = found.vendor
        line |= {"cublas_seconds": theirs.median, "cublas_tflops": p.flops * p.batch / theirs.median / 1e12}
    if isinstance(outcome, str):
        return line | {"wrong": outcome}
    if outcome.timing is None:
        return line | {"wrong": outcome.verdict.why or "not timed"}
    seconds = outcome.timing.median
    rate = point.bytes * p.batch / seconds
    line |= {
        "seconds": seconds,
        "tflops": p.flops * p.batch / seconds / 1e12,
        "bytes_per_second": rate,
        "clocks": outcome.clocks,
    }
    if copy:
        line["of_copy"] = rate / copy
    if found.vendor:
        line["against_cublas"], line["low"], line["high"] = measure.ratio(found.vendor[1], outcome.timing)
    return line


def shown(line: Line) -> str:
    """A line on the screen: problem, kernel, speed, share of a copy, ratio to the peer, config."""
    name = f"{line['problem']:28} beta {line['beta']:3} {line.get('stencil') or '-':7}"
    if not line.get("tflops"):
        return f"{name} not measured: {line.get('wrong') or line.get('missing') or 'nothing right was found'}"
    copy = f"{100 * line['of_copy']:6.1f} % of a copy" if "of_copy" in line else ""
    ratio = f"{line['against_cublas']:.3f} x peer" if "against_cublas" in line else "no peer"
    counted = f" ({line['against_counted']:.3f} counted)" if "against_counted" in line else ""
    layout = f" {line['layout']}" if line.get("layout", "packed") != "packed" else ""
    return f"{name} {line['tflops']:8.3f} TF/s {copy} {ratio}{counted}{layout}  {Config(line['config'])}"


# ---- a run


class Run:
    """One run of a command: the tuner, where lines go, and when it has to end."""

    def __init__(self, options: argparse.Namespace, device: Device, console: Console):
        self.options, self.device, self.console = options, device, console
        self.records = Records(options.records)
        self.sink = lines.Sink(options.out, f"batches {options.command}", device, vars(options))
        self.end = time.monotonic() + options.limit
        self.found: list[Line] = []
        self.copy: float | None = None

    def __enter__(self) -> Run:
        self.tuner = Tuner(self.device, self.records)
        return self

    def __exit__(self, *_: object) -> None:
        self.tuner.__exit__()
        self.records.close()

    def look(self) -> None:
        """Measure a copy, which takes about a second."""
        try:
            self.copy = roofline_cuda.measure(self.device)["bandwidth.copy.1"]
        except TilewrightError as error:
            self.console.print(f"no share of a copy: {error}", style="yellow", markup=False)
            return
        self.sink.write({"kind": "copy", "bytes_per_second": self.copy})
        self.console.print(f"a copy moves {self.copy / 1e12:.3f} TB/s", markup=False)

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

    def tuned(self, point: Point, stencil: str) -> None:
        """Search for the best config of a point and keep its line; with ``--seeds`` among these alone."""
        given, problem = self.options, point.problem
        kept: dict[str, Any] = {"search": "climb", "budget": given.budget, "spaces": whole}
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
        line = said(given.command, result, "seeds" if given.seeds else "climb")
        line |= {"layout": problem.layout, "stencil": stencil}
        line |= {"peer": result.vendor.toolchain if result.vendor else "", "origin": "search"}
        if result.best:
            line["seconds"] = problem.batch / speed(result.best)
            line["bytes_per_second"] = point.bytes * speed(result.best)
            if self.copy:
                line["of_copy"] = line["bytes_per_second"] / self.copy
        self.add(line | dict(point.says))

    def turns(
        self, points: Sequence[Point], more: Callable[[Point, Line], None] = lambda point, line: None
    ) -> None:
        """Time points one after the other and keep a line for each of their kernels; ``more`` adds to it."""
        if not points:
            return
        for point, found in Turns(self.tuner, self.options.rounds)(points):
            for number in range(len(point.entries)):
                line = line_of(self.options.command, point, number, found, self.copy)
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


# ---- the commands


def squares(run: Run) -> None:
    """Batches of tiny squares that fill ``--bytes`` of memory: how near the speed of a copy."""
    for one in run.problems(lines.words(run.options.betas)):
        problem = filling(one, run.options.bytes)
        if run.over():
            return
        run.tuned(Point(problem, dispatch.regime(problem, run.device), ()), run.options.stencil)


def rectangles(run: Run) -> None:
    """Mixed shapes, and squares whose columns are padded: what dispatch chooses, or what a search finds."""
    given, parts = run.options, lines.words(run.options.parts)
    problems = []
    for letter, beta in itertools.product(given.types, lines.words(given.betas)):
        dtype = DTYPES[letter]
        if "shapes" in parts:
            problems += [Problem(dtype, m, n, k, beta=beta) for m, n, k in mixed(given.count or SHAPES)]
        if "padded" in parts:
            problems += [
                Problem(dtype, n, n, n, lda=ld, ldb=ld, ldc=ld, beta=beta)
                for n in PADDED
                for ld in paddings(n)
            ]
    filled = [filling(one, given.bytes, sectors(one)) for one in problems]
    if not given.budget:
        run.turns(run.points(filled, run.chosen, moved=sectors, telling=lambda p: {"plain_bytes": p.bytes}))
        return
    for problem in filled:
        if run.over():
            return
        says = {"plain_bytes": problem.bytes}
        run.tuned(Point(problem, dispatch.regime(problem, run.device), (), sectors(problem), says), "tiny")


def half(run: Run) -> None:
    """float16 and complex half: every stencil for batches that accepts, on memory that no cache holds."""

    def entries(problem: Problem) -> tuple[Entry, ...]:
        names = [name for name in SMALL if STENCILS[name].accepts(problem, run.device) is None]
        if not names:
            raise ArgumentError(f"problem={problem.spelling}: neither {' nor '.join(SMALL)} accepts it")
        return tuple(entry_of(name, problem, "memory", run.device, run.records) for name in names)

    taken: dict[Problem, float | str] = {}

    def more(point: Point, line: Line) -> None:
        """The planar way once more, with what taking the parts from each other and together costs."""
        if point.problem.dtype.letter != "hc" or not line.get("seconds") or not line.get("cublas_seconds"):
            return
        if point.problem not in taken:
            taken[point.problem] = conversion(point.problem)
        seconds = taken[point.problem]
        if isinstance(seconds, str):
            line["conversion_missing"] = seconds
            return
        line["conversion_seconds"] = seconds
        line["against_counted"] = (line["cublas_seconds"] + seconds) / line["seconds"]

    betas = lines.words(run.options.betas)
    problems = [filling(one, run.options.bytes, most=MOST) for one in run.problems(betas)]
    run.turns(run.points(problems, entries, regime="memory"), more)


def conversion(problem: Problem) -> float | str:
    """Seconds that PyTorch takes to split A and B (and C, where it is read) of a batch of complex half into
    planes, and to put C together; or why nobody knows."""
    try:
        import torch
    except ImportError:
        return "PyTorch is not installed"
    p = problem
    shapes = ((p.batch, p.m, p.k), (p.batch, p.k, p.n), (p.batch, p.m, p.n))
    try:
        pairs = [torch.zeros((*shape, 2), dtype=torch.float16, device="cuda") for shape in shapes]
        planes = [torch.zeros((2, *shape), dtype=torch.float16, device="cuda") for shape in shapes]
    except (RuntimeError, AssertionError) as error:
        return str(error).splitlines()[0]
    ways = [
        (planes[which][part], pairs[which][..., part])
        for which in range(2 if p.beta == "0" else 3)
        for part in range(2)
    ]
    ways += [(pairs[2][..., part], planes[2][part]) for part in range(2)]

    def run() -> None:
        for target, source in ways:
            target.copy_(source)

    timing = measure.measure(run, watch=Events(), regime="memory", batch=p.batch, budget=0.1)
    # The timing child needs the memory next, which PyTorch would keep.
    for held in (ways, pairs, planes):
        held.clear()
    torch.cuda.empty_cache()
    return timing.median


def updates(run: Run) -> None:
    """Rank-k updates C = alpha A B + C, as in a blocked factorisation of a batch."""
    given = run.options
    axes = given.types, lines.numbers(given.ks), lines.numbers(given.sizes)
    problems = [
        filling(Problem(DTYPES[letter], n, n, k, alpha="any", beta="1"), given.bytes, most=MOST)
        for letter, k, n in itertools.product(*axes)
    ]
    run.turns(run.points(problems, run.chosen, telling=lambda p: {"k": p.k}))


def counts(run: Run) -> None:
    """Time over the number of products, operands in the cache where they fit.

    Launches from Python follow each other: what takes less than some 3 us a launch (some 6 us by PyTorch)
    is timed as a launch.
    """
    problems = []
    for one, count in itertools.product(run.problems(), lines.numbers(run.options.counts)):
        problem = one.with_(batch=count)
        if problem.footprint <= run.options.bytes:
            problems.append(problem)
        else:
            size = f"{problem.footprint / 1e9:.1f} GB, more than --bytes"
            line = {"kind": "counts", "problem": problem.spelling, "beta": problem.beta}
            run.add(line | {"count": count, "missing": size})
    run.turns(run.points(problems, run.chosen, regime="cached", telling=lambda p: {"count": p.batch}))


def crossover(run: Run) -> None:
    """``tiny`` with multiply-add units and with tensor cores: a few configs of each, all in turns."""
    given = run.options

    def entries(problem: Problem) -> tuple[Entry, ...]:
        space, default = STENCILS["tiny"].space(problem, run.device), STENCILS["tiny"].default
        start = default(problem, run.device)
        drawn = [Entry("tiny", start, "default")]
        for mma in (0, 16):
            for config in kind(space, mma).sample(given.count or 12, SEED):
                if config != start:
                    drawn.append(Entry("tiny", config, "drawn"))
        return tuple(drawn)

    problems = [filling(one, given.bytes) for one in run.problems(lines.words(given.betas))]
    points = run.points(problems, entries)
    for point, found in Turns(run.tuner, given.rounds)(points):
        measured = [line_of("crossover", point, i, found, run.copy) for i in range(len(point.entries))]
        line = crossed(point, found, measured)
        run.add(line, shown_crossing(line))
        if run.over():
            break


def kind(space: Space, mma: int) -> Space:
    """The configs without tensor cores (``mma`` 0), or with them: also where so much of their tiles lies
    outside C that a rule expects nothing of it, which is what is asked here."""
    rules = [rule for rule in space.rules if not (mma and rule.name == "tile-full")]
    return Space(space.params, rules, space.elementwise).restricted(mma=mma)


def crossed(point: Point, found: Found, measured: Sequence[Line]) -> Line:
    """One line of a point of ``crossover``: the fastest of each kind, and the ratio of their times."""
    best: dict[int, int] = {}
    for number, line in enumerate(measured):
        mma = line["config"]["mma"]
        if line["tflops"] and (mma not in best or line["tflops"] > measured[best[mma]]["tflops"]):
            best[mma] = number
    line = {"kind": "crossover", "problem": point.problem.spelling, "beta": point.problem.beta}
    line |= {"tried": len(measured), "missing": found.missing, "tensor_over_fma": None}
    for name, mma in (("fma", 0), ("tensor", 16)):
        if mma in best:
            line[name] = measured[best[mma]]
    if "fma" in line and "tensor" in line:
        fma, tensor = (found.outcomes[best[mma]] for mma in (0, 16))
        assert isinstance(fma, Outcome)
        assert isinstance(tensor, Outcome)
        assert fma.timing is not None
        assert tensor.timing is not None
        line["tensor_over_fma"], line["low"], line["high"] = measure.ratio(fma.timing, tensor.timing)
    return line


def shown_crossing(line: Line) -> str:
    """A line of ``crossover`` on the screen."""
    parts = [f"{line['problem']:28} beta {line['beta']:3} {line['tried']} tried"]
    parts += [
        f"{name} {line[name]['tflops']:7.3f} TF/s{_share(line[name])}"
        for name in ("fma", "tensor")
        if name in line
    ]
    if line["tensor_over_fma"]:
        parts.append(f"tensor cores {line['tensor_over_fma']:.3f} times as fast")
    return "  ".join([*parts, line["missing"]])


def _share(line: Line) -> str:
    return f" {100 * line['of_copy']:.1f} %" if "of_copy" in line else ""


def calls(run: Run) -> None:
    """What a call from PyTorch costs: alone, in a row of calls, and its kernel's own time."""
    try:
        import torch
    except ImportError:
        run.console.print("nothing to call: PyTorch is not installed", style="yellow")
        return
    import tilewright as tw

    given = run.options
    for letter, n, count in itertools.product(
        given.types, lines.numbers(given.sizes), lines.numbers(given.counts)
    ):
        dtype = getattr(torch, DTYPES[letter].name)
        a, b = (torch.randn((count, n, n), dtype=dtype, device="cuda") for _ in range(2))
        c = torch.empty_like(a)
        plan = tw.plan(a, b, out=c).plan
        ways = {
            "tilewright": lambda a=a, b=b, c=c: tw.matmul(a, b, out=c),
            "torch": lambda a=a, b=b, c=c: torch.matmul(a, b, out=c),
        }
        problem = lines.square(letter, n, "0").with_(batch=count)
        line: Line = {"kind": "calls", "problem": problem.spelling, "beta": "0", "count": count}
        line |= {"stencil": plan.stencil, "config": dict(plan.config or {}), "origin": plan.origin}
        line |= {"clocks": driver.clocks(), "missing": ""}
        figures = {
            "call": clocked(ways, Synchronized(torch.cuda.synchronize, 1), CALLS),
            "queued": clocked(ways, Synchronized(torch.cuda.synchronize, 0), given.rounds),
        }
        try:
            recorded = {name: recording(torch, way) for name, way in ways.items()}
            kernel = clocked(recorded, Events(), given.rounds)
            figures["kernel"] = {name: _divided(times, GRAPH) for name, times in kernel.items()}
        except Exception as error:
            line["missing"] = f"no graph of calls: {type(error).__name__}: {error}"
        line["us"] = figures
        if ours := figures.get("kernel", {}).get("tilewright"):
            rate = problem.bytes * count / (1e-6 * ours["us"])
            line |= {"bytes_per_second": rate, "of_copy": rate / run.copy if run.copy else None}
        run.add(line, shown_calls(line))
        if run.over():
            return


CALLS = 301
"""Calls that are timed one by one."""
GRAPH = 50
"""Calls of a recorded graph: starting it is nothing beside them."""


def recording(torch: Any, way: Callable[[], object]) -> Callable[[], object]:
    """A graph of ``GRAPH`` calls, which runs without Python in between."""
    way()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(GRAPH):
            way()
    replay: Callable[[], object] = graph.replay
    return replay


class Synchronized:
    """The host's clock around calls that only queue work, and around waiting for it: after each call
    (``every`` 1), or once after all of a sample (0)."""

    def __init__(self, wait: Callable[[], object], every: int):
        self.wait, self.every = wait, every

    def time(self, run: Callable[[], object], repeats: int) -> float:
        """Seconds that ``repeats`` calls take until all of their work is done."""
        wait, every = self.wait, self.every
        wait()
        start = time.perf_counter()
        for _ in range(repeats):
            run()
            if every:
                wait()
        wait()
        return time.perf_counter() - start

    def sample(self, regime: str) -> float:
        """One call is a sample; a row of them lasts some ms."""
        return 0.0 if self.every else 5e-3


def clocked(
    ways: Mapping[str, Callable[[], object]], watch: measure.Stopwatch, rounds: int
) -> dict[str, dict[str, float]]:
    """Microseconds of a call by each way, in turns: the median and its 95 % interval."""
    taken = measure.interleaved(ways, rounds=rounds, regime="cached", batch=1, watch=watch)
    return {
        name: {"us": 1e6 * t.median, "low": 1e6 * t.low, "high": 1e6 * t.high} for name, t in taken.items()
    }


def _divided(times: Mapping[str, float], count: int) -> dict[str, float]:
    return {name: value / count for name, value in times.items()}


def shown_calls(line: Line) -> str:
    """A line of ``calls`` on the screen, in us."""
    parts = [f"{line['problem']:22} {line['stencil'] or 'vendor'}"]
    for what, ways in line["us"].items():
        values = ", ".join(f"{name} {figures['us']:.2f}" for name, figures in ways.items())
        parts.append(f"{what}: {values} us")
    return "; ".join([*parts, line["missing"]])


# ---- in short


def summary(found: Sequence[Line]) -> list[str]:
    """A few sentences for each kind of line, type and class of beta. Of a point that was measured again the
    last line counts."""
    newest = {
        (line["kind"], _letter(line), line["beta"], _name(line)): line for line in found if "problem" in line
    }
    groups: dict[tuple[str, str, str], list[Line]] = {}
    for (kind, letter, beta, _), line in newest.items():
        groups.setdefault((kind, letter, beta), []).append(line)
    told = []
    for (kind, letter, beta), group in groups.items():
        if kind == "crossover":
            told.append(f"{letter} beta {beta}: {_crossing(group)}")
        elif kind in ("squares", "batches"):
            told.append(f"{letter} beta {beta}: {_squares(group, beta)}")
        elif kind != "calls" and kind != "tries":
            told.append(f"{kind} {letter} beta {beta}: {_ratios(group)}; {_behind(group)}")
    return told


def _squares(group: Sequence[Line], beta: str) -> str:
    right = [line for line in group if line.get("of_copy")]
    if not right:
        return "nothing was measured"
    goal = GOALS.get(beta, min(GOALS.values()))
    reached = sum(line["of_copy"] >= goal for line in right)
    least = min(right, key=lambda line: line["of_copy"])
    middle = [line for line in right if 2 <= _order(line) <= 16]
    return (
        f"{reached} of {len(group)} points at {goal:.0%} of a copy or more, "
        f"least {100 * least['of_copy']:.1f} % at n={_order(least)}; "
        f"n=2..16: {_ratios(middle)}; all: {_behind(right)}"
    )


def _ratios(group: Sequence[Line]) -> str:
    ratios = [line["against_cublas"] for line in group if line.get("against_cublas")]
    if not ratios:
        return "no peer"
    mean = statistics.geometric_mean(ratios)
    return f"{mean:.2f} x peer (geometric mean of {len(ratios)}), least {min(ratios):.3f}"


def _behind(group: Sequence[Line]) -> str:
    slow = sorted((line["against_cublas"], _name(line)) for line in group if line.get("against_cublas"))
    slow = [(ratio, name) for ratio, name in slow if ratio < 1]
    return f"behind at {len(slow)}" + ("" if not slow else ": " + ", ".join(f"{n} {r:.3f}" for r, n in slow))


def _crossing(group: Sequence[Line]) -> str:
    known = sorted((_order(line), line["tensor_over_fma"]) for line in group if line["tensor_over_fma"])
    wins = [n for n, ratio in known if ratio > 1]
    losses = [n for n, ratio in known if ratio <= 1]
    if not wins:
        return f"tensor cores win at none of {len(known)} sizes"
    always = [n for n in wins if n > max(losses, default=0)]
    since = f"at every size from n={always[0]} on" if always else "not at the largest size"
    return f"tensor cores win first at n={wins[0]}, {since}"


def _letter(line: Line) -> str:
    return str(line["problem"].partition(":")[0])


def _order(line: Line) -> int:
    """Rows of C."""
    return int(line["problem"].split(":")[2].partition("x")[0])


def _name(line: Line) -> str:
    """A point without its batch, except where that is what differs, and its stencil where there are two."""
    name = str(line["problem"])
    name = name if "count" in line else name.partition("@")[0]
    layout = line.get("layout", "packed")
    name += "" if layout == "packed" else f" {layout}"
    return name + (f" {line['stencil']}" if line["kind"] == "half" and line.get("stencil") else "")


# ---- figures

Curve = tuple[list[float], list[float]]
AXES = {
    "squares": ("n", "of_copy", "share of a copy"),
    "rectangles": ("m n k", "of_copy", "share of a copy"),
    "half": ("n", "tflops", "TFLOP/s"),
    "updates": ("n", "tflops", "TFLOP/s"),
    "counts": ("products", "tflops", "TFLOP/s"),
    "crossover": ("n", "tensor_over_fma", "tensor cores over multiply-add units"),
}


def curves(command: str, found: Sequence[Line]) -> dict[str, Curve]:
    """Curves of a command by name, ours and the peer's where speeds are drawn: (x, y) in the order of x."""
    key = AXES[command][1]
    points: dict[str, dict[float, float]] = {}
    for line in found:
        if line["kind"] not in (command, "batches" if command == "squares" else command):
            continue
        m, n, k = (int(size) for size in line["problem"].split(":")[2].partition("@")[0].split("x"))
        x = {"rectangles": m * n * k, "counts": line.get("count")}.get(command, m)
        name = f"{_letter(line)} beta {line['beta']}"
        name += f" k={k}" if command == "updates" else ""
        name += f" n={n}" if command == "counts" else ""
        mine = f"{name} {line.get('stencil', '')}".rstrip() if key == "tflops" else name
        for curve, value in ((mine, line.get(key)), (f"{name} peer", line.get("cublas_tflops"))):
            if value and (curve == mine or key == "tflops"):
                points.setdefault(curve, {})[float(x or 0)] = value
    return {name: _curve(values) for name, values in points.items()}


def _curve(values: Mapping[float, float]) -> Curve:
    xs = sorted(values)
    return xs, [values[x] for x in xs]


def plot(path: Path, command: str, found: Sequence[Line]) -> str:
    """Draw a command's figure as a page; what came of it, in words."""
    if command not in AXES:
        return f"{command} has no figure"
    try:
        from plotly import graph_objects
    except ImportError:
        return "no figure: plotly is not installed"
    x, _, y = AXES[command]
    figure = graph_objects.Figure()
    mode = "markers" if command == "rectangles" else "lines+markers"
    for name, (xs, ys) in curves(command, found).items():
        figure.add_scatter(x=xs, y=ys, name=name, mode=mode)
    figure.update_layout(xaxis_title=x, yaxis_title=y)
    if command in ("counts", "rectangles"):
        figure.update_xaxes(type="log")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.write_html(path, include_plotlyjs="cdn")
    return f"figure: {path}"


# ---- the command line


@dataclass(frozen=True, slots=True)
class Command:
    """What a command does, and what it takes where nothing is said: types, sizes, classes of beta, bytes."""

    run: Callable[[Run], None]
    types: str
    sizes: str = ""
    betas: str = "0"
    bytes: float = 1e9
    counts: str = ""


COMMANDS = {
    "squares": Command(squares, "h,b,s,d,c,z,hc", "1..32", "0,1"),
    "rectangles": Command(rectangles, "h,b,s,d,c,z,hc", bytes=1.3e8),
    "half": Command(half, "h,hc", "8,16,32,64,128,256", "0,1"),
    "updates": Command(updates, "h,hc,s,d", "32,64,128,256,512", "1", 2.5e8),
    "counts": Command(counts, "h,hc,d", "8,16,32", bytes=6.5e9, counts="1,10,100,1000,10000,100000,1000000"),
    "crossover": Command(crossover, "h,hc", "2..24", bytes=1.3e8),
    "calls": Command(calls, "d", "8", counts="100000,100"),
}


def parsed(words: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line; what it does not say is as the command has it."""
    parser = argparse.ArgumentParser(
        prog="bench.batches", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("command", choices=list(COMMANDS))
    add("--types", default="", help="such as h,b,hc or sdcz (default: the command's)")
    add("--sizes", "--n", default="", help=f"orders, {lines.SIZES} (default: the command's)")
    add("--betas", default="", help="classes of beta, with commas (default: 0, or 0,1)")
    add("--ks", default="8,16,32", help="of updates (default: 8,16,32)")
    add("--counts", default="", help="products of a batch (counts, calls)")
    add("--bytes", type=float, default=0.0, help="that a batch moves, or at most takes (counts)")
    add("--parts", default="shapes,padded", help="of rectangles (default: shapes,padded)")
    add("--count", type=int, default=0, help="shapes (default: 60), or configs of each kind (crossover: 12)")
    add("--rounds", type=int, default=11, help="samples of each, in turns (default: 11)")
    add("--budget", type=float, default=0.0, help="seconds of a search (squares: 20; rectangles: none)")
    add("--tolerate", type=int, default=0, help="bytes that a searched kernel may spill (default: 0)")
    add("--limit", type=float, default=float("inf"), help="seconds for all")
    add("--seeds", type=Path, help="try only the best of what this file holds of each problem")
    add("--stencil", default="tiny", choices=SMALL, help="that squares tunes (default: tiny)")
    add("--top", type=int, default=4, help="so many of them (default: 4)")
    add("--records", type=Path, help="SQLite file of the tries (default: the user's)")
    add("--summary", type=Path, help="measure nothing: sum up this file")
    add("--draw", type=Path, help="measure nothing: draw what this file holds")
    add("--plot", type=Path, help="an HTML page")
    add("--out", type=Path, help="lines of JSON are added to this file")
    options = parser.parse_args(words)
    usual = COMMANDS[options.command]
    options.types = lines.letters(options.types or usual.types)
    for name in ("sizes", "betas", "bytes", "counts"):
        setattr(options, name, getattr(options, name) or getattr(usual, name))
    unknown = set(lines.words(options.betas)) - {"0", "1", "any"}
    if unknown:
        raise ArgumentError(f"betas: {min(unknown)!r}; accepted: 0, 1, any")
    unknown = set(lines.words(options.parts)) - {"shapes", "padded"}
    if unknown:
        raise ArgumentError(f"parts: {min(unknown)!r}; accepted: shapes, padded")
    if options.draw and not options.plot:
        raise ArgumentError("--draw needs --plot, the page to draw")
    if options.command == "squares" and not options.budget:
        options.budget = 20.0
    return options


def main() -> None:
    """Run one of the commands, or say in short or draw what one has written."""
    options = parsed()
    console = lines.console()
    if options.summary or options.draw:
        if options.summary:
            for text in summary(list(lines.read(options.summary))):
                console.print(text, markup=False, soft_wrap=True)
        if options.draw:
            console.print(plot(options.plot, options.command, list(lines.read(options.draw))), markup=False)
        return
    reason = TARGETS["cuda"].missing()
    if reason is not None:
        raise SystemExit(f"nothing to measure on: {reason}")
    with Run(options, dispatch.device("cuda"), console) as run:
        run.look()
        try:
            COMMANDS[options.command].run(run)
        except KeyboardInterrupt:
            console.print("stopped; what was measured is kept")
        for text in summary(run.found):
            console.print(text, markup=False, soft_wrap=True)
        if options.plot:
            console.print(plot(options.plot, options.command, run.found), markup=False)


if __name__ == "__main__":
    try:
        main()
    except ArgumentError as error:
        raise SystemExit(str(error)) from error
