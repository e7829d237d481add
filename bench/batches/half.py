"""Squares of float16 and complex half by every stencil for batches."""

from __future__ import annotations

from bench import lines
from bench.batches.points import SMALL, Entry, Point, entry_of
from bench.batches.problems import MOST, filling
from bench.batches.run import Run
from bench.lines import Line
from tilewright.catalog import STENCILS
from tilewright.errors import ArgumentError
from tilewright.model import Problem
from tilewright.tuning import timing as measure
from tilewright.tuning.evaluate.cuda_timing import Events


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
