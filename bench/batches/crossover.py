"""Tensor cores against multiply-add units: from which size on they pay."""

from __future__ import annotations

from collections.abc import Sequence

from bench import lines
from bench.batches.points import Entry, Point
from bench.batches.problems import SEED, filling
from bench.batches.result import line_of
from bench.batches.run import Run
from bench.batches.turns import Found, Turns
from bench.lines import Line
from tilewright.catalog import STENCILS
from tilewright.model import Problem
from tilewright.space import Space
from tilewright.tuning import timing
from tilewright.tuning.evaluate import Outcome


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
        line["tensor_over_fma"], line["low"], line["high"] = timing.ratio(fma.timing, tensor.timing)
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
