"""The vendor's library through us and through PyTorch and CuPy: ``python -m bench.vendor``, on a GPU.

host    microseconds of host time of one call on small matrices, the GPU waiting for the host: ``tw.matmul``
        where the plan is the vendor's (with ``out`` and without), the compiled call alone, ``torch.matmul``
        and ``cupy.matmul``, and our call on arrays of CuPy
shapes  seconds of one product, seeded random sizes of 64 to 5,000 in six types, by the clock of the GPU: our
        call as it plans, our call with the vendor's plan, and PyTorch's, in turns

Figures are medians; ``ratio`` is PyTorch's time over ours, so more than 1 is faster than PyTorch. Each line
of the file is one case; the first says on what all of it ran.
"""

from __future__ import annotations

import importlib
import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table

import tilewright as tw
from bench import lines
from tilewright.calls.product_plans import plan as planned
from tilewright.calls.spec import PLAIN
from tilewright.model import DTYPES, Device, Plan, Problem
from tilewright.planning import dispatch
from tilewright.runtime import call_cache, cublaslt_library
from tilewright.runtime.bound_cuda import Gpu, Vendor

LETTERS = "hbsdcz"
SMALL = (64, 256, 512)
LOW, HIGH = 64, 5000
CALLS = 200
"""Calls between two waits for the GPU: fewer than a stream takes before it makes the host wait."""
SAMPLE = 2e-3
Run = Callable[[], object]


@contextmanager
def vendors_plans() -> Iterator[None]:
    """Within it, every plan is the vendor's, as it is without a record."""
    plan = dispatch.plan

    def made(problem: Problem, device: Device, **_: Any) -> Plan:
        return Plan(problem, device, dispatch.regime(problem, device), "vendor", "asked for")

    def forget() -> None:
        # Not the records: reading them again takes longer than a product.
        call_cache.PLANS.clear()
        call_cache.BOUND.clear()
        call_cache.DEVICE.clear()

    forget()
    dispatch.plan = made  # type: ignore[assignment]
    try:
        yield
    finally:
        dispatch.plan = plan
        forget()


def host(runs: Mapping[str, Run], wait: Run, rounds: int) -> dict[str, float]:
    """Microseconds of host time of one call of each, in turns."""
    samples: dict[str, list[float]] = {name: [] for name in runs}
    for run in runs.values():
        for _ in range(5):
            run()
    for _ in range(rounds):
        for name, run in runs.items():
            wait()
            begin = time.perf_counter()
            for _ in range(CALLS):
                run()
            samples[name].append(1e6 * (time.perf_counter() - begin) / CALLS)
    wait()
    return {name: statistics.median(each) for name, each in samples.items()}


def bare(a: Any, b: Any, out: Any) -> Run | None:
    """The compiled call of cuBLASLt alone on these arrays, with all that Python has to find out found."""
    made = tw.plan(a, b, out=out)
    place = Gpu.of({"a": a})
    assert place is not None
    with place.current():
        left, right, into = (place.view(x, "x")[0] for x in (a, b, out))
        bound = planned(place, PLAIN[False], left, right, into, fresh=True).bound
    if not isinstance(bound, Vendor):
        return None
    x, y, z = (view.address for view in (left, right, into))
    run, stream = bound.run, place.stream
    del made
    return lambda: run(x, y, z, stream)


def calls(torch: Any, letter: str, n: int, rounds: int) -> lines.Line:
    """The host time of one product by every way of calling it, in us."""
    kind = getattr(torch, DTYPES[letter].name)
    a, b = (torch.randn(n, n, dtype=kind, device="cuda") for _ in range(2))
    out = torch.empty_like(a)
    plan = tw.plan(a, b, out=out)
    runs: dict[str, Run] = {
        "tw.matmul(out)": lambda: tw.matmul(a, b, out=out),
        "tw.matmul": lambda: tw.matmul(a, b),
        "plan(out)": lambda: plan(a, b, out=out),
        "torch.matmul(out)": lambda: torch.matmul(a, b, out=out),
        "torch.matmul": lambda: torch.matmul(a, b),
    }
    alone = bare(a, b, out)
    if alone is not None:
        runs["cublaslt"] = alone
    cupy: Any = None
    if letter != "b":
        try:
            cupy = importlib.import_module("cupy")
        except ImportError:
            cupy = None
    if cupy is not None:
        x, y, z = (cupy.asarray(v) for v in (a, b, out))
        runs |= {
            "tw.matmul of CuPy(out)": lambda: tw.matmul(x, y, out=z),
            "cupy.matmul(out)": lambda: cupy.matmul(x, y, out=z),
        }
    found = host(runs, torch.cuda.synchronize, rounds)
    return {"kind": "host", "type": letter, "n": n, "us": {k: round(v, 2) for k, v in found.items()}}


class Clock:
    """Two events of the GPU around repeated calls."""

    def __init__(self, torch: Any):
        self.torch = torch
        self.start, self.stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))

    def seconds(self, run: Run, repeats: int) -> float:
        """Seconds of one of ``repeats`` calls."""
        self.start.record()
        for _ in range(repeats):
            run()
        self.stop.record()
        self.stop.synchronize()
        return float(self.start.elapsed_time(self.stop)) / 1e3 / repeats


def turns(clock: Clock, runs: Mapping[str, Run], rounds: int) -> dict[str, float]:
    """Median seconds of a call of each, in turns."""
    repeats = {}
    for name, run in runs.items():
        clock.seconds(run, 2)
        repeats[name] = max(2, min(CALLS, int(SAMPLE / max(clock.seconds(run, 3), 1e-7))))
    samples: dict[str, list[float]] = {name: [] for name in runs}
    for turn in range(rounds):
        order = list(runs)
        for name in order[turn % len(order) :] + order[: turn % len(order)]:
            samples[name].append(clock.seconds(runs[name], repeats[name]))
    return {name: statistics.median(each) for name, each in samples.items()}


def shapes(count: int, seed: int) -> list[tuple[int, int, int, str]]:
    """Random sizes with transpositions, the same for the same seed."""
    draw = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        m, n, k = (int(x) for x in draw.integers(LOW, HIGH + 1, 3))
        found.append((m, n, k, ("nn", "tn", "nt", "tt")[int(draw.integers(4))]))
    return found


def product(
    torch: Any, clock: Clock, letter: str, shape: tuple[int, int, int, str], rounds: int
) -> lines.Line:
    """One random product by us, by us with the vendor's plan, and by PyTorch."""
    m, n, k, trans = shape
    kind = getattr(torch, DTYPES[letter].name)

    def made(rows: int, columns: int, transposed: bool) -> Any:
        stored = (columns, rows) if transposed else (rows, columns)
        found = torch.randn(*stored, dtype=kind, device="cuda")
        return found.mT if transposed else found

    a, b = made(m, k, trans[0] == "t"), made(k, n, trans[1] == "t")
    out = torch.empty(m, n, dtype=kind, device="cuda")
    ours = tw.plan(a, b, out=out)
    with vendors_plans():
        direct = tw.plan(a, b, out=out)
        direct(a, b, out=out)
    want = torch.matmul(a, b)
    direct(a, b, out=out)
    wrong = float((out - want).abs().max() / want.abs().max())
    runs: dict[str, Run] = {
        "ours": lambda: ours(a, b, out=out),
        "direct": lambda: direct(a, b, out=out),
        "torch": lambda: torch.matmul(a, b, out=out),
    }
    found = turns(clock, runs, rounds)
    line = {"kind": "shape", "type": letter, "m": m, "n": n, "k": k, "trans": trans}
    return line | {
        "origin": ours.plan.origin,
        "stencil": ours.plan.stencil,
        "seconds": found,
        "tflops": DTYPES[letter].flops_per_fma * m * n * k / found["torch"] / 1e12,
        "ratio": found["torch"] / found["ours"],
        "ratio_direct": found["torch"] / found["direct"],
        "difference": wrong,
    }


def summary(found: list[lines.Line]) -> Table:
    """Quantiles of the ratios by type."""
    table = Table(title="PyTorch's time over ours, random shapes")
    for head in ("type", "", "shapes", "least", "10 %", "median", "90 %", "most", "below 0.97"):
        table.add_column(head)
    for letter in dict.fromkeys(line["type"] for line in found):
        for name in ("ratio", "ratio_direct"):
            ratios = np.array([line[name] for line in found if line["type"] == letter])
            quantiles = [f"{q:.3f}" for q in np.quantile(ratios, (0, 0.1, 0.5, 0.9, 1))]
            low = str(int((ratios < 0.97).sum()))
            table.add_row(letter, name, str(ratios.size), *quantiles, low)
    return table


def main() -> None:
    """The command."""
    parser = lines.parser("bench.vendor", __doc__)
    parser.add_argument("--out", type=Path, help="a file that lines of JSON are added to")
    parser.add_argument("--types", default=LETTERS, help=f"letters of {LETTERS}")
    parser.add_argument("--shapes", type=int, default=60, help="random sizes for each type")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="no new shape after so long")
    options = parser.parse_args()
    import torch

    begin = time.perf_counter()
    console = lines.console()
    device = dispatch.device("cuda")
    sink = lines.Sink(options.out, "vendor", device, vars(options) | {"seconds": str(options.seconds)})
    matmul = torch.backends.cuda.matmul
    switches = {
        "narrow_h": matmul.allow_fp16_reduced_precision_reduction,
        "narrow_b": matmul.allow_bf16_reduced_precision_reduction,
    }
    sink.write(
        {"kind": "library", "cublaslt": cublaslt_library.version(), "torch": torch.__version__} | switches
    )
    console.print(f"cuBLASLt {cublaslt_library.version()}, torch {torch.__version__}, {device.name}")
    with vendors_plans():
        for letter in options.types:
            for n in SMALL:
                line = calls(torch, letter, n, options.rounds)
                sink.write(line)
                console.print(f"{letter} {n}: " + ", ".join(f"{k} {v}" for k, v in line["us"].items()))
    clock = Clock(torch)
    found: list[Any] = []
    for shape in shapes(options.shapes, options.seed):
        if time.perf_counter() - begin > options.seconds:
            console.print(f"stopped after {len(found)} products")
            break
        for letter in options.types:
            line = product(torch, clock, letter, shape, options.rounds)
            sink.write(line)
            found.append(line)
    console.print(summary(found))
    for line in sorted(found, key=lambda line: line["ratio_direct"])[:12]:
        console.print(
            f"{line['type']} {line['trans']} {line['m']}x{line['n']}x{line['k']}: ours {line['ratio']:.3f} "
            f"({line['origin']} {line['stencil']}), direct {line['ratio_direct']:.3f}"
        )
    console.print(f"largest difference from PyTorch {max(line['difference'] for line in found):.2e}")


if __name__ == "__main__":
    main()
