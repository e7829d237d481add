"""Chains in one pass, on shapes that nothing was fitted to: ``python -m bench.chains --out FILE``.

Each line is a chain of random extents of 2 to 32 on a GPU, as ``tw.chain`` runs it without a record:

covariance   F P F^H + Q, all of them batches, or one F for all
gram         H H^H + S, of any two extents
rotation     D X D^H, one X for all
chain        A B C, of any four extents

Seconds are medians of samples in turns with ``copy``, a copy of as many bytes as the chain has to read and
write, each operand once (``of_copy``), and with what a user of PyTorch would write: ``two``, ``torch.matmul``
and ``torch.baddbmm``, and ``calls``, one operator after the other. Operands exceed the second-level cache
several times. Calls are queued behind a wait of the GPU's, so that what is timed is the GPU alone. Results
are compared with double precision first. At the end: medians, worst, and for how many of each type the
copy's speed is reached to 85 %.

With ``--defaults`` the stencil's default runs also where products one by one were measured to be faster: of
these lines ``python -m bench.classes`` makes the table that says where.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import tilewright as tw
from bench import lines
from tilewright.arrays.chains import chain_of
from tilewright.calls import chains
from tilewright.catalog import TARGETS
from tilewright.model import DTYPES, Plan
from tilewright.planning import chains as planning
from tilewright.planning import classes, dispatch
from tilewright.runtime.backends import backend_of
from tilewright.tuning.timing import median_interval

KINDS = ("covariance", "shared", "gram", "rotation", "chain")
LETTERS = "sdczhb"
CALLS = 3
"""Launches of a sample."""
AHEAD = 400_000
"""Clocks for which the GPU waits while calls are queued."""
PATIENCE = 3
"""Rounds of what takes long."""
LIMITS = {"h": 4e-3, "b": 3e-2, "s": 1e-5, "d": 1e-13, "c": 1e-5, "z": 1e-13}
"""Largest error, in parts of the sizes of the terms that are summed, of a right result."""
GOAL = 0.85


class Chain:
    """Tensors of a chain of a kind, drawn for so many bytes in all."""

    def __init__(self, torch: Any, letter: str, kind: str, sizes: tuple[int, ...], total: float):
        self.torch, self.letter, self.kind, self.sizes = torch, letter, kind, sizes
        m, k, l, n = sizes  # noqa: E741
        shapes = {
            "covariance": ((k, k), (k, k), (k, k), (k, k)),
            "shared": ((k, k), (k, k), (k, k)),
            "gram": ((m, k), (m, m), (m, m)),
            "rotation": ((k, k), (k, k)),
            "chain": ((m, k), (k, l), (l, n), (m, n)),
        }[kind]
        each = sum(rows * columns for rows, columns in shapes) * DTYPES[letter].itemsize
        self.batch = int(total / each)
        make = self._random
        if kind in ("covariance", "shared"):
            f = make(k, k, one=kind == "shared")
            self.factors, self.add = [f, make(k, k), f.mH], make(k, k)
        elif kind == "gram":
            h = make(m, k)
            self.factors, self.add = [h, h.mH], make(m, m)
        elif kind == "rotation":
            d = make(k, k)
            self.factors, self.add = [d, make(k, k, one=True), d.mH], None
        else:
            self.factors, self.add = [make(m, k), make(k, l), make(l, n)], None
        self.bytes = each * self.batch
        first, last = self.factors[0], self.factors[-1]
        self.out = torch.empty(self.batch, first.shape[-2], last.shape[-1], dtype=first.dtype, device="cuda")

    def _random(self, rows: int, columns: int, *, one: bool = False) -> Any:
        kind = getattr(self.torch, DTYPES[self.letter].name)
        shape = (rows, columns) if one else (self.batch, rows, columns)
        return self.torch.randn(shape, dtype=kind, device="cuda")

    def ours(self) -> Any:
        """One pass."""
        return tw.chain(*self.factors, add=self.add, out=self.out)

    def calls(self) -> Any:
        """One operator after the other."""
        made = self.factors[0]
        for factor in self.factors[1:]:
            made = made @ factor
        return made if self.add is None else made + self.add

    def two(self) -> Any:
        """The fewest calls of PyTorch: what is added goes into the last product."""
        first, last = self.factors[0], self.factors[-1]
        made = first @ self.factors[1] if len(self.factors) == 3 else first
        if self.add is None:
            return made @ last
        made, last = (x.expand(self.batch, *x.shape[-2:]) for x in (made, last))
        return self.torch.baddbmm(self.add, made, last)

    def error(self) -> float:
        """The largest error of some results, in parts of the sizes of their terms."""
        some = slice(0, 1000)
        chosen = (x if x.ndim == 2 else x[some] for x in self.factors)
        right, *others = [x.resolve_conj().to(self.torch.complex128) for x in chosen]
        size = right.abs()
        for wide in others:
            right, size = right @ wide, size @ wide.abs()
        if self.add is not None:
            wide = self.add[some].to(self.torch.complex128)
            right, size = right + wide, size + wide.abs()
        got = self.out[some].to(self.torch.complex128)
        return float(((got - right).abs() / (size + 1e-3)).max())

    def plan(self, *, default: bool) -> tuple[Plan, Callable[[], object]]:
        """What an untuned call runs, or the stencil's default, and what does."""
        backend = backend_of(**dict(zip("abc", self.factors, strict=False)), out=self.out)
        views = [backend.view(x, "a")[0] for x in self.factors]
        add = None if self.add is None else backend.view(self.add, "add")[0]
        job = chain_of(views, add, backend.view_out(self.out))
        assert not isinstance(job, str), job
        if not default:
            return chains.planned(backend, job)[0], self.ours
        plan = replace(planning.plan(job.problem, dispatch.device("cuda"), {}), origin="default")
        run: Any = backend.chain(plan)
        return plan, lambda: run(job.addresses, backend.stream)


def seconds(
    torch: Any, runs: dict[str, tuple[Callable[[], object], int]], rounds: int
) -> dict[str, list[float]]:
    """Samples in turns: seconds of one pass, from events around so many calls."""
    start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    for run, _ in runs.values():
        run()
    samples: dict[str, list[float]] = {name: [] for name in runs}
    for turn in range(rounds):
        for name, (run, calls) in runs.items():
            if calls == 1 and turn >= PATIENCE:
                continue
            torch.cuda._sleep(AHEAD)
            start.record()
            for _ in range(calls):
                run()
            stop.record()
            stop.synchronize()
            samples[name].append(1e-3 * start.elapsed_time(stop) / calls)
    return samples


def measured(torch: Any, chain: Chain, rounds: int, *, default: bool) -> lines.Line:
    """A line: what ran, whether it is right, and medians of all."""
    plan, ours = chain.plan(default=default)
    ours()
    half = chain.bytes // 2
    source, target = (torch.empty(half, dtype=torch.uint8, device="cuda") for _ in range(2))
    runs: dict[str, tuple[Callable[[], object], int]] = {
        "ours": (ours, CALLS),
        "copy": (lambda: target.copy_(source), CALLS),
        "two": (chain.two, 1),
        "calls": (chain.calls, 1),
    }
    error = chain.error()
    line: lines.Line = {"kind": chain.kind, "type": chain.letter, "sizes": chain.sizes, "batch": chain.batch}
    line |= {"bytes": chain.bytes, "problem": plan.problem.key, "origin": plan.origin}
    line |= {"stencil": plan.stencil, "class": classes.of_chain(plan.problem, plan.regime)}
    line |= {"config": dict(plan.config or {}), "error": error, "right": error <= LIMITS[chain.letter]}
    line["flops_per_byte"] = plan.problem.flops / plan.problem.bytes
    for name, taken in seconds(torch, runs, rounds).items():
        median, low, high = median_interval(taken)
        line[name] = {"us": 1e6 * median, "low": 1e6 * low, "high": 1e6 * high}
    line["of_copy"] = line["copy"]["us"] / line["ours"]["us"]
    line["against"] = min(line[name]["us"] for name in ("two", "calls")) / line["ours"]["us"]
    # What a class of the planner's table is made of.
    line["against_cublas"] = line["against"]
    return line


def shown(line: lines.Line) -> str:
    """A line of the screen."""
    return (
        f"{line['type']} {line['kind']:10} {'x'.join(map(str, line['sizes']))} @{line['batch']}: "
        f"{line['ours']['us']:.1f} us, {100 * line['of_copy']:.0f} % of a copy, {line['against']:.1f} times "
        f"the best of PyTorch, {line['flops_per_byte']:.1f} flop/byte, right: {line['right']}"
    )


def summary(found: list[lines.Line]) -> lines.Line:
    """Of all chains of a type: medians, and the worst."""
    of_copy, against = (np.array([line[name] for line in found]) for name in ("of_copy", "against"))
    return {
        "kind": "summary",
        "type": found[0]["type"],
        "chains": len(found),
        "of_copy": {"median": float(np.median(of_copy)), "worst": float(of_copy.min())},
        "reached": int((of_copy >= GOAL).sum()),
        "against": {"mean": float(np.exp(np.log(against).mean())), "worst": float(against.min())},
        "right": all(line["right"] for line in found),
    }


def main() -> None:
    """Measure, print and keep."""
    parser = lines.parser("bench.chains", __doc__)
    add = parser.add_argument
    add("--types", default=LETTERS, help=f"default: {LETTERS}")
    add("--count", type=int, default=20, help="chains of a type (default: 20)")
    add("--largest", type=int, default=32, help="largest extent (default: 32)")
    add("--bytes", type=float, default=4e8, help="that a chain moves (default: 4e8)")
    add("--rounds", type=int, default=7, help="samples of each (default: 7)")
    add("--seed", type=int, default=12, help="of the shapes (default: 12)")
    add("--defaults", action="store_true", help="run the stencil's default whatever is known of the class")
    add("--out", type=Path, help="lines of JSON are added to this file")
    options = parser.parse_args()
    lines.demand_gpu()
    import torch

    console = lines.console()
    sink = lines.Sink(options.out, "chains", TARGETS["cuda"].probe(), vars(options))
    draw = np.random.default_rng(options.seed)
    for letter in options.types:
        found = []
        for number in range(options.count):
            spread = np.exp(draw.uniform(np.log(2), np.log(options.largest + 1), 4))
            sizes = tuple(int(extent) for extent in spread)
            made = Chain(torch, letter, KINDS[number % len(KINDS)], sizes, options.bytes)
            found.append(measured(torch, made, options.rounds, default=options.defaults))
            sink.write({"date": lines.now()} | found[-1])
            console.print(shown(found[-1]), markup=False)
        total = summary(found)
        sink.write(total)
        console.print(total, markup=False)


if __name__ == "__main__":
    main()
