"""Calls from PyTorch, and what they cost beside their kernels."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Mapping
from typing import Any

import tilewright as tw
from bench import lines
from bench.batches.run import Run
from bench.lines import Line
from tilewright.model import DTYPES
from tilewright.targets.cuda import driver
from tilewright.tuning import timing
from tilewright.tuning.evaluate.cuda_timing import Events

CALLS = 301
"""Calls that are timed one by one."""
GRAPH = 50
"""Calls of a recorded graph: starting it is nothing beside them."""


def calls(run: Run) -> None:
    """What a call from PyTorch costs: alone, in a row of calls, and its kernel's own time."""
    try:
        import torch
    except ImportError:
        run.console.print("nothing to call: PyTorch is not installed", style="yellow")
        return

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
    ways: Mapping[str, Callable[[], object]], watch: timing.Stopwatch, rounds: int
) -> dict[str, dict[str, float]]:
    """Microseconds of a call by each way, in turns: the median and its 95 % interval."""
    taken = timing.interleaved(ways, rounds=rounds, regime="cached", batch=1, watch=watch)
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
