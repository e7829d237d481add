"""What a call costs beside the product, and how long the first one takes: ``python -m bench.latency``.

calls   one 8x8 pair, again and again (us): ``tw.matmul``, ``np.matmul``, ``tw.gemm`` into new results, one
        that is added to and one that is deterministic, a chain, a Plan called again with and without
        ``out``, and the bare kernel on the same product, called by compiled code; the difference between the
        Plan and the kernel is what Python and the checks cost
axes    eight pairs whose batch is the last axis (us): ``tw.matmul`` with ``axes``, without and with ``out``
        and deterministic, and ``tw.einsum``, beside the same kernel called with views that were there before
        and with views made for each call, and beside NumPy
copies  eight pairs that no kernel takes as they are (us), beside NumPy's product of the same arrays or
        PyTorch's: every second column, the batch last on one side, two types, two batch axes in turns, one
        array that is not aligned, whole numbers; and the pairs as tensors in this process's memory, where
        PyTorch is installed, by ``axes``, ``einsum`` and ``chain``, too
outer   products of a few batch axes that no one stride covers (us), by ``tw.matmul`` and NumPy: a part of an
        array, without and with ``out`` and by ``tw.gemm`` with an update, each of one stack by each of
        another, and matrices between the axes of a batch
lists   four pairs in lists (us), of one size by ``tw.gemm_batched`` and of several by ``tw.gemm_grouped`` and
        a plan, without and with ``out``, beside NumPy's product of one pair after the other; and
        ``tw.matmul`` of the lists, which makes arrays of them, beside NumPy's
first   from the first ``plan()`` of a fresh process (imports done) to its first result (ms): with an empty
        ``TILEWRIGHT_HOME``, and again in later processes that find kernels on disk; and its parts
gaps    the same pair without a record, in a home of its own, while such calls are counted and while not (us)
batch   100 and 10,000 products end to end, a new result each time (us): ``tw.matmul`` against ``np.matmul``

Figures are medians; those of one row of ``calls``, ``axes``, ``copies``, ``outer``, ``lists`` and ``batch``
were taken in turns.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import timeit
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table

import tilewright as tw
from bench import kernels, lines
from tilewright.arrays.numpy_ import empty_aligned
from tilewright.model import DTYPES
from tilewright.planning import dispatch
from tilewright.runtime import build
from tilewright.targets.cpu import llvm
from tilewright.tuning.gemm.operands import operands
from tilewright.tuning.timing import median_interval

# Seconds of one sample, and the products in one call of the first process.
SAMPLE, FIRST = 2e-3, 100
# The products of a call along axes: few, so that the call is what is measured.
LAST = 8
PARTS = ("probe", "plan", "kernel", "native", "run")
ROOT = Path(__file__).resolve().parents[1]


def clocked(statements: Mapping[str, str], names: Mapping[str, Any], rounds: int) -> dict[str, lines.Line]:
    """Microseconds of each statement with an interval, all of them in turns, as ``timeit`` counts."""
    timers = {name: timeit.Timer(text, globals=dict(names)) for name, text in statements.items()}
    numbers = {}
    for name, timer in timers.items():
        timer.timeit(3)
        once = timer.timeit(10) / 10
        numbers[name] = max(1, int(SAMPLE / once))
    samples: dict[str, list[float]] = {name: [] for name in timers}
    for _ in range(rounds):
        for name, timer in timers.items():
            samples[name].append(1e6 * timer.timeit(numbers[name]) / numbers[name])
    found = {}
    for name, taken in samples.items():
        median, low, high = median_interval(taken)
        found[name] = {"us": median, "low": low, "high": high}
    return found


def stacks(letter: str, n: int, batch: int | None) -> tuple[Any, Any]:
    """Two random stacks of matrices, or two matrices."""
    rng, kind = np.random.default_rng(0), np.dtype(DTYPES[letter].name)
    shape = (n, n) if batch is None else (batch, n, n)
    a, b = (rng.uniform(-1, 1, shape).astype(kind) for _ in range(2))
    return a, b


def calls(letter: str, n: int, rounds: int) -> lines.Line:
    """The cost of one small product by every way of calling it, in us."""
    a, b = stacks(letter, n, None)
    # As the bare kernel's operands lie: one that streams tests the alignment and takes another path.
    out = empty_aligned(a.shape, a.dtype)
    plan = tw.plan(a, b, out=out)
    names = {"tw": tw, "np": np, "a": a, "b": b, "out": out, "plan": plan}
    statements = {
        "tw.matmul(a, b)": "tw.matmul(a, b)",
        "np.matmul(a, b)": "np.matmul(a, b)",
        "tw.matmul(a, b, out=out)": "tw.matmul(a, b, out=out)",
        "np.matmul(a, b, out=out)": "np.matmul(a, b, out=out)",
        "tw.gemm(a, b)": "tw.gemm(a, b)",
        "tw.gemm(a, b, c, beta=1)": "tw.gemm(a, b, out, beta=1)",
        "tw.gemm(a, b, deterministic)": "tw.gemm(a, b, deterministic=True)",
        "tw.chain(a, b, a)": "tw.chain(a, b, a)",
        "plan(a, b)": "plan(a, b)",
        "plan(a, b, out=out)": "plan(a, b, out=out)",
    }
    inner = 1000
    p = plan.plan
    if p.stencil is not None and p.config is not None:
        # The very kernel of the plan on one product, in a compiled loop: no Python between two calls.
        kernel = build.kernel(p.stencil, p.problem, p.config, p.device)
        made = operands(p.problem, 1)
        names["bare"] = llvm.repeated(kernel, inner, made.arguments, p.device)
        names["made"] = made  # the operands live as long as the call
        statements["kernel"] = "bare()"
    found = clocked(statements, names, rounds)
    line: lines.Line = {"kind": "calls", "type": letter, "n": n, "origin": p.origin}
    if "kernel" in found:
        found["kernel"] = {key: value / inner for key, value in found["kernel"].items()}
        line["overhead_us"] = found["plan(a, b, out=out)"]["us"] - found["kernel"]["us"]
    return line | {"stencil": p.stencil, "us": found}


def axes(letter: str, n: int, rounds: int) -> lines.Line:
    """The cost of a few small products whose batch is the last axis by every way of calling it, in us."""
    a, b = (np.moveaxis(x, 0, -1).copy() for x in stacks(letter, n, LAST))
    out = empty_aligned(a.shape, a.dtype)
    views = {name: x.transpose(2, 0, 1) for name, x in (("x", a), ("y", b), ("z", out))}
    names = {"tw": tw, "np": np, "a": a, "b": b, "out": out, **views}
    turned = "tw.matmul(a.transpose(2, 0, 1), b.transpose(2, 0, 1), out=out.transpose(2, 0, 1))"
    statements = {
        "tw.matmul of views, out": "tw.matmul(x, y, out=z)",
        "tw.matmul of views made, out": turned,
        "tw.matmul(a, b, axes)": "tw.matmul(a, b, axes=[(0, 1), (0, 1), (0, 1)])",
        "tw.matmul(a, b, out, axes)": "tw.matmul(a, b, out, axes=[(0, 1), (0, 1), (0, 1)])",
        "tw.matmul(a, b, axes, deterministic)": (
            "tw.matmul(a, b, axes=[(0, 1), (0, 1), (0, 1)], deterministic=True)"
        ),
        "np.matmul(a, b, axes)": "np.matmul(a, b, axes=[(0, 1), (0, 1), (0, 1)])",
        "tw.einsum(ijn,jkn->ikn)": "tw.einsum('ijn,jkn->ikn', a, b)",
        "tw.einsum(ijn,jkn->ikn), out": "tw.einsum('ijn,jkn->ikn', a, b, out=out)",
        "np.einsum(ijn,jkn->ikn)": "np.einsum('ijn,jkn->ikn', a, b)",
    }
    found = clocked(statements, names, rounds)
    return {"kind": "axes", "type": letter, "n": n, "batch": LAST, "us": found}


def gaps(letter: str, n: int, rounds: int) -> lines.Line:
    """One small product that has no record, in us, while calls without one are counted and while not."""
    a, b = stacks(letter, n, None)
    names = {"tw": tw, "a": a, "b": b}
    timer = timeit.Timer("tw.matmul(a, b)", globals=names)
    samples: dict[str, list[float]] = {"off": [], "on": []}
    before = os.environ.get("TILEWRIGHT_HOME")
    with tempfile.TemporaryDirectory() as home:
        os.environ["TILEWRIGHT_HOME"] = home
        try:
            for _ in range(rounds):
                for name, taken in samples.items():
                    # The switch empties the call cache.
                    tw.count_gaps(name == "on")
                    timer.timeit(10)
                    number = max(1, int(SAMPLE / (timer.timeit(100) / 100)))
                    taken.append(1e6 * timer.timeit(number) / number)
            tw.count_gaps(False)
        finally:
            os.environ.pop("TILEWRIGHT_HOME") if before is None else os.environ.update(TILEWRIGHT_HOME=before)
            tw.forget()
    found = {}
    for name, taken in samples.items():
        median, low, high = median_interval(taken)
        found[name] = {"us": median, "low": low, "high": high}
    return {"kind": "gaps", "type": letter, "n": n, "us": found}


def batch(letter: str, n: int, count: int, rounds: int) -> lines.Line:
    """A batch end to end by ours and by NumPy, in us."""
    a, b = stacks(letter, n, count)
    names = {"tw": tw, "np": np, "a": a, "b": b}
    statements = {name: f"{name}.matmul(a, b)" for name in ("tw", "np")}
    found = clocked(statements, names, rounds)
    line = {"kind": "batch", "type": letter, "n": n, "batch": count, "cores": dispatch.device()["cores"]}
    return line | {"us": found, "times_as_fast": found["np"]["us"] / found["tw"]["us"]}


# ---- the first call ----------------------------------------------------------------------------


def child(letter: str, n: int, split: bool) -> None:
    """In a fresh process: the first result, or each part of the way to it, in ms, as a line of JSON."""
    from time import perf_counter

    from tilewright.runtime.fastcall_cpu import native

    a, b = stacks(letter, n, FIRST)
    out = np.empty_like(a)
    begin = perf_counter()
    if not split:
        tw.plan(a, b, out=out)(a, b, out=out)
        print(json.dumps({"total": 1e3 * (perf_counter() - begin)}))
        return
    problem = lines.square(letter, n, "0").with_(batch=FIRST)
    stamps = [begin]
    device = dispatch.device()
    stamps.append(perf_counter())
    plan = dispatch.plan(problem, device, vendor=False)
    stamps.append(perf_counter())
    assert plan.stencil is not None
    assert plan.config is not None
    build.kernel(plan.stencil, problem, plan.config, device)
    stamps.append(perf_counter())
    native(device)
    stamps.append(perf_counter())
    tw.plan(a, b, out=out)(a, b, out=out)
    stamps.append(perf_counter())
    took = {
        name: 1e3 * (after - before) for name, before, after in zip(PARTS, stamps, stamps[1:], strict=False)
    }
    print(json.dumps(took))


def first(letter: str, n: int, repeats: int) -> lines.Line:
    """Median ms of the first result with an empty home and with a filled one, and of the parts."""
    found: dict[str, list[lines.Line]] = {"empty": [], "filled": []}
    for _ in range(repeats):
        for split in (False, True):
            with tempfile.TemporaryDirectory() as home:
                for kind in found:
                    found[kind].append(_asked(letter, n, split, home))
    line: lines.Line = {"kind": "first", "type": letter, "n": n}
    for kind, rows in found.items():
        line[kind] = {
            name: statistics.median(row[name] for row in rows if name in row) for name in ("total", *PARTS)
        }
        line[f"{kind}_totals"] = [row["total"] for row in rows if "total" in row]
    return line


def _asked(letter: str, n: int, split: bool, home: str) -> lines.Line:
    command = [sys.executable, "-m", "bench.latency", "--child", f"{letter}:{n}:{int(split)}"]
    environment = os.environ | {"TILEWRIGHT_HOME": home}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    answer: lines.Line = json.loads(done.stdout)
    return answer


def copies(letter: str, n: int, rounds: int) -> lines.Line:
    """The cost of a few small products of arrays that are copied, cast or multiplied one by one, in us."""
    a, b = stacks(letter, n, LAST)
    last = np.moveaxis(b, 0, -1).copy().transpose(2, 0, 1)
    other = a.astype({"s": "f8", "d": "f4", "c": "c16", "z": "c8"}[letter])
    names: dict[str, Any] = {"tw": tw, "np": np, "a": a, "b": b, "last": last, "other": other}
    names |= {"out": np.empty_like(a), "steps": np.repeat(a, 2, -1)[..., ::2]}
    names |= {"rows": np.stack([a, a], 1), "turned": np.stack([b, b]).swapaxes(0, 1)}
    names |= {"odd": np.frombuffer(b"\0" + a.tobytes(), a.dtype, offset=1).reshape(a.shape)}
    names |= {"whole": np.arange(a.size).reshape(a.shape)}
    made = {
        "not aligned": "odd, b",
        "whole numbers": "whole, whole",
        "every second column": "steps, b",
        "b with its batch last": "a, last",
        "two types": "other, b",
        "two batch axes in turns": "rows, turned",
        "every second column, out": "steps, b, out",
    }
    statements: dict[str, str] = {}
    for what, arguments in made.items():
        statements |= {f"tw: {what}": f"tw.matmul({arguments})", f"np: {what}": f"np.matmul({arguments})"}
    with suppress(ImportError):
        import torch

        names |= {"torch": torch, "x": torch.from_numpy(a), "y": torch.from_numpy(b)}
        names["z"] = torch.empty_like(names["x"])
        statements |= {"tw: tensors": "tw.matmul(x, y)", "torch: tensors": "torch.matmul(x, y)"}
        statements |= {"tw: tensors, out": "tw.matmul(x, y, out=z)"}
        statements |= {"torch: tensors, out": "torch.matmul(x, y, out=z)"}
        names |= {name: names[of].permute(1, 2, 0).contiguous() for name, of in (("u", "x"), ("v", "y"))}
        names |= {"at": [(0, 1)] * 3, "stacked": "xab,xbc->xac"}
        there = "torch.matmul(u.permute(2, 0, 1), v.permute(2, 0, 1)).permute(1, 2, 0)"
        for what, ours, theirs in (
            ("axes", "tw.matmul(u, v, axes=at)", there),
            ("einsum", "tw.einsum(stacked, x, y)", "torch.einsum(stacked, x, y)"),
            ("chain", "tw.chain(x, y, x, add=z)", "x @ y @ x + z"),
        ):
            statements |= {f"tw: tensors, {what}": ours, f"torch: tensors, {what}": theirs}
    return {"kind": "copies", "type": letter, "n": n, "batch": LAST, "us": clocked(statements, names, rounds)}


def outer(letter: str, n: int, rounds: int) -> lines.Line:
    """The cost of small products along batch axes that no one stride covers, in us."""
    wide, b = (np.stack([x] * 5, 1) for x in stacks(letter, n, LAST))
    names: dict[str, Any] = {"tw": tw, "np": np, "a": wide[:, :3], "b": b[:, :3].copy()}
    names |= {"out": np.zeros_like(names["b"]), "left": wide[:, :1].copy(), "right": b[:1].copy()}
    names |= {"mixed": wide.swapaxes(1, 2).copy()}
    statements: dict[str, str] = {}
    for what, arguments in {
        "a part": "a, b",
        "a part, out": "a, b, out",
        "each by each": "left, right",
        "axes": "mixed, mixed, axes=[(1, 3)] * 3",
    }.items():
        statements |= {f"{name}: {what}": f"{name}.matmul({arguments})" for name in ("tw", "np")}
    statements["tw: a part, update"] = "tw.gemm(a, b, out=out, alpha=0.5, beta=0.5)"
    return {"kind": "outer", "type": letter, "n": n, "us": clocked(statements, names, rounds)}


def lists(letter: str, n: int, rounds: int) -> lines.Line:
    """The cost of a few small products in lists, in us."""
    a, b = (list(x) for x in stacks(letter, n, 4))
    tall, wide = ([x[: n - i] for i, x in enumerate(a)], [x[:, i:].copy() for i, x in enumerate(b)])
    names: dict[str, Any] = {"tw": tw, "np": np, "a": a, "b": b, "tall": tall, "wide": wide}
    names |= {"out": [np.empty_like(x) for x in a]}
    # Each in an allocation of its own, as programs make them.
    names |= {"many": [x.copy() for x in a * 16], "more": [x.copy() for x in b * 16]}
    names |= {"many_out": [np.empty_like(x) for x in a * 16]}
    names |= {"outs": [np.empty_like(x @ y) for x, y in zip(tall, wide, strict=True)]}
    names |= {"plan": tw.plan_grouped(tall, wide, out=names["outs"])}
    statements = {
        "tw.gemm_batched(a, b)": "tw.gemm_batched(a, b)",
        "tw.gemm_batched(a, b, out=out)": "tw.gemm_batched(a, b, out=out)",
        "np: one by one": "[np.matmul(x, y) for x, y in zip(a, b)]",
        "np: one by one, out": "[np.matmul(x, y, z) for x, y, z in zip(a, b, out)]",
        "tw.gemm_batched(a, b, out=out), 64 pairs": "tw.gemm_batched(many, more, out=many_out)",
        "np: one by one, out, 64 pairs": "[np.matmul(x, y, z) for x, y, z in zip(many, more, many_out)]",
        "tw.gemm_grouped(a, b)": "tw.gemm_grouped(tall, wide)",
        "tw.gemm_grouped(a, b, out=out)": "tw.gemm_grouped(tall, wide, out=outs)",
        "plan_grouped, called": "plan()",
        "tw.matmul(a, b)": "tw.matmul(a, b)",
        "np.matmul(a, b)": "np.matmul(a, b)",
    }
    return {"kind": "lists", "type": letter, "n": n, "us": clocked(statements, names, rounds)}


# ---- the screen --------------------------------------------------------------------------------


def _calls_table(found: list[lines.Line], title: str) -> Table:
    drawn = Table(title=title, title_justify="left")
    drawn.add_column("call")
    for line in found:
        drawn.add_column(f"{line['type']} n={line['n']}", justify="right")
    for name in found[0]["us"]:
        drawn.add_row(
            name, *(f"{line['us'][name]['us']:.3f}" if name in line["us"] else "" for line in found)
        )
    if any("overhead_us" in line for line in found):
        overheads = (f"{line['overhead_us']:.3f}" if "overhead_us" in line else "" for line in found)
        drawn.add_row("plan with out, less the kernel", *overheads)
    return drawn


def _first_table(found: list[lines.Line]) -> Table:
    drawn = Table(title=f"the first result ({FIRST} products) of a process, ms", title_justify="left")
    for name in ("", "empty home", *PARTS, "filled home", *PARTS):
        drawn.add_column(name, justify="right")
    for line in found:
        cells = [
            f"{line[kind][name]:.1f}" if name == "total" else f"{line[kind][name]:.2f}"
            for kind in ("empty", "filled")
            for name in ("total", *PARTS)
        ]
        drawn.add_row(f"{line['type']} n={line['n']}", *cells)
    return drawn


def _gaps_table(found: list[lines.Line]) -> Table:
    drawn = Table(title="one product without a record, us a call", title_justify="left")
    for name in ("", "not counted", "counted"):
        drawn.add_column(name, justify="right")
    for line in found:
        off, on = (line["us"][name] for name in ("off", "on"))
        cells = (f"{each['us']:.3f} ({each['low']:.3f} to {each['high']:.3f})" for each in (off, on))
        drawn.add_row(f"{line['type']} n={line['n']}", *cells)
    return drawn


def _batch_table(found: list[lines.Line]) -> Table:
    drawn = Table(title="a batch end to end, us", title_justify="left")
    for name in ("", "tw.matmul", "np.matmul", "times as fast"):
        drawn.add_column(name, justify="right")
    for line in found:
        ours, theirs = (line["us"][name]["us"] for name in ("tw", "np"))
        what = f"{line['type']} n={line['n']} @{line['batch']}"
        drawn.add_row(what, f"{ours:.1f}", f"{theirs:.1f}", f"{line['times_as_fast']:.2f}")
    return drawn


def main() -> None:
    """Measure what the command line asks for."""
    options = _arguments()
    if options.child:
        letter, n, split = options.child.split(":")
        child(letter, int(n), bool(int(split)))
        return
    console = lines.console()
    device = dispatch.device()
    sink = lines.Sink(options.out, "latency", device, vars(options))
    one_by_one = {"calls": calls, "axes": axes, "copies": copies, "outer": outer, "lists": lists}
    one_by_one["gaps"] = gaps
    found: dict[str, list[lines.Line]] = {kind: [] for kind in (*one_by_one, "first", "batch")}

    def add(line: lines.Line) -> None:
        sink.write({"date": lines.now()} | line)
        found[line["kind"]].append(line)

    lines.busy(console)
    wanted = lines.words(options.parts)
    try:
        for part, measure in one_by_one.items():
            if part in wanted:
                with kernels.pinned():
                    for letter in lines.letters(options.types):
                        for n in lines.numbers(options.sizes):
                            add(measure(letter, n, options.rounds))
        if "batch" in wanted:
            for letter in lines.letters(options.types):
                for n in lines.numbers(options.sizes):
                    for count in lines.numbers(options.batches):
                        add(batch(letter, n, count, options.rounds))
        if "first" in wanted:
            for letter in lines.letters(options.first_types):
                for n in lines.numbers(options.first_sizes):
                    add(first(letter, n, options.repeats))
    except KeyboardInterrupt:
        console.print("stopped; what was measured is kept")
    for kind, draw in (
        ("calls", lambda rows: _calls_table(rows, "one product, us a call")),
        ("axes", lambda rows: _calls_table(rows, f"{LAST} products along the last axis, us a call")),
        ("copies", lambda rows: _calls_table(rows, f"{LAST} products of arrays to be copied, us a call")),
        ("outer", lambda rows: _calls_table(rows, "products along several batch axes, us a call")),
        ("lists", lambda rows: _calls_table(rows, "four products in lists, us a call")),
        ("gaps", _gaps_table),
        ("first", _first_table),
        ("batch", _batch_table),
    ):
        if found[kind]:
            console.print(draw(found[kind]))


def _arguments() -> argparse.Namespace:
    parser = lines.parser("bench.latency", __doc__)
    add = parser.add_argument
    parts = "calls, axes, copies, outer, lists, gaps, first, batch (default: calls, axes, first, batch)"
    add("--parts", default="calls,axes,first,batch", help=parts)
    add("--types", default="d", help="of calls and batches, any of s, d, c, z (default: d)")
    add("--sizes", default="8", help=f"of calls and batches, {lines.SIZES} (default: 8)")
    add("--batches", default="100,10000", help="default: 100,10000")
    add("--rounds", type=int, default=51, help="samples of each call (default: 51)")
    add("--first-types", default="sdz", help="default: sdz")
    add("--first-sizes", default="8,16,24,32", help="default: 8,16,24,32")
    add("--repeats", type=int, default=5, help="fresh processes of each kind (default: 5)")
    add("--out", type=Path, help="lines of JSON are added to this file")
    add("--child", help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    main()
