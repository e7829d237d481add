"""Lines of results: what is kept of one kernel of a point, and how it looks on the screen."""

from __future__ import annotations

from collections.abc import Mapping

from bench.batches.points import Point
from bench.batches.turns import Found
from bench.lines import Line
from tilewright.model import Config
from tilewright.tuning import timing


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
        line["against_cublas"], line["low"], line["high"] = timing.ratio(found.vendor[1], outcome.timing)
    return line


def bounded(line: Line, point: Point, copy: float | None, peaks: Mapping[str, float]) -> Line:
    """The bytes a second of the copy that a line is beside, and its share of its bound: of the time that the
    copy takes, or, if that is longer, the arithmetic at the rate of the units (``ceilings_cuda``)."""
    if not line.get("seconds") or not copy:
        return {}
    p = point.problem
    rate = max(peaks.get(f"{unit}.{p.dtype.letter}.1", 0.0) for unit in ("peak", "tensor"))
    moving, multiplying = point.bytes * p.batch / copy, p.flops * p.batch / rate
    return {
        "copy_bytes_per_second": copy,
        "bound": "memory" if moving >= multiplying else "arithmetic",
        "of_bound": max(moving, multiplying) / line["seconds"],
    }


def shown(line: Line) -> str:
    """A line on the screen: problem, kernel, speed, share of a copy, ratio to the peer, config."""
    name = f"{line['problem']:28} beta {line['beta']:3} {line.get('stencil') or '-':7}"
    if not line.get("tflops"):
        return f"{name} not measured: {line.get('wrong') or line.get('missing') or 'nothing right was found'}"
    copy = f"{100 * line['of_copy']:6.1f} % of a copy" if "of_copy" in line else ""
    if line.get("bound") == "arithmetic":
        copy += f", {100 * line['of_bound']:.1f} % of the arithmetic"
    ratio = f"{line['against_cublas']:.3f} x peer" if "against_cublas" in line else "no peer"
    counted = f" ({line['against_counted']:.3f} counted)" if "against_counted" in line else ""
    layout = f" {line['layout']}" if line.get("layout", "packed") != "packed" else ""
    return f"{name} {line['tflops']:8.3f} TF/s {copy} {ratio}{counted}{layout}  {Config(line['config'])}"
