"""Batches of float32 as sums of bfloat16 beside cuBLAS and beside the numbers as they are, on a GPU.

    python -m bench.split draw --seed 1 --out FILE    random batches, each in every math
    python -m bench.split points FILE...              make the planner's points of these measurements

Each batch is multiplied by cuBLAS in float32 (``torch.bmm`` or ``baddbmm``), by what a call runs that names
no math, and by the default of ``split`` in each, in turns on the same memory, beside a copy of as many bytes.
``gain`` is what ``split`` gains over the faster of the first two, which is what a point says: a call
runs it where that is foretold to be more than 1. ``call`` is what a call with that math runs then, and
``over`` how many times as fast as cuBLAS that is. ``errors`` are |C - A B| / (|A| |B|) in units of 2^-24,
root mean square and largest. What the points were made of must not be what they are checked on.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from math import log2
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from bench import beside, lines
from bench.classes import DATA, point_of, written
from bench.emulated import UNIT
from tilewright.catalog import STENCILS
from tilewright.model import DTYPES, EMULATED, Device, Plan, Problem
from tilewright.planning import alone, dispatch
from tilewright.runtime import launch
from tilewright.targets.cuda import modules

STENCIL = "split"
LEAST, MOST = 24, 640
"""The range of extents that are drawn."""
SIZES = (1.0, 1.0, 0.06)
"""Of the bytes that are asked for: batches from memory, and such that stay in the second-level cache."""
STRUCTURES = (*("packed",) * 5, "shared A", "shared B", "gaps")
CHECKED = 16
"""Products of which errors are told."""
SAMPLE, CALLS = 1e-3, 20
"""Seconds of a sample, and how many products it has at most."""


def drawn(
    letter: str, beta: str, count: int, seed: int, size: float, extents: tuple[int, int] = (LEAST, MOST)
) -> Iterator[Problem]:
    """Random batches of a type, the same for a seed: extents log-uniform, half of them multiples of 8."""
    draw = random.Random(f"split {seed} {letter} {beta}")
    for number in range(count):
        unit = 8 if number % 2 else 1
        bounds = [log2(x / unit) for x in extents]
        m, n, k = (unit * round(2 ** draw.uniform(*bounds)) for _ in "mnk")
        trans, structure = draw.choice(("nn", "nn", "tn", "nt", "tt")), draw.choice(STRUCTURES)
        one = Problem(DTYPES[letter], m, n, k, trans[0], trans[1], beta=beta)
        if structure == "gaps":
            one = one.with_(m=m, lda=(one.lda or 0) + 3, ldb=(one.ldb or 0) + 3, ldc=(one.ldc or 0) + 3)
        found = one.with_(batch=max(2, int(size * draw.choice(SIZES) / one.bytes)))
        shared = structure[-1].lower() if structure.startswith("shared") else ""
        yield found.with_(**{f"stride_{shared}": 0}) if shared else found


def plans(p: Problem, device: Device) -> dict[str, Plan]:
    """The plans of a batch by what they are called: of a call that names no math, and of each math the
    default of the stencil and what a call runs."""
    found = {"ieee": dispatch.plan(p, device)}
    for math in EMULATED:
        asked = p.with_(math=math)
        found[math] = dispatch.plan(asked, device, stencil=STENCIL)
        found[f"call {math}"] = dispatch.allowed(asked, device)
    return found


class Batch:
    """A batch in memory, with its products as runs by name."""

    def __init__(self, torch: Any, p: Problem):
        self.torch, self.problem = torch, p
        kind = getattr(torch, p.dtype.name)
        shared = [step == 0 for step in p.strides]
        self.operands = []
        for (rows, columns), lead, one in zip(p.stored, (p.lda, p.ldb, p.ldc), shared, strict=True):
            held = torch.randn(1 if one else p.batch, columns, lead or rows, device="cuda", dtype=kind)
            self.operands.append(held[:, :, :rows])
        a, b, self.c = self.operands
        self.left, self.right = (self._seen(x, op) for x, op in ((b, p.trans_b), (a, p.trans_a)))
        self.begun, self.want = self.c.clone(), torch.zeros_like(self.c)
        half = torch.empty(max(1, int(p.bytes * p.batch) // 8), device="cuda")
        copied = torch.empty_like(half)
        self.runs: dict[str, beside.Run] = {"cublas": self._library(), "copy": lambda: copied.copy_(half)}

    def _seen(self, x: Any, trans: str) -> Any:
        """A stored operand as it enters the products, without a copy."""
        x = x.mT if trans in "tc" else x
        return (x.conj() if trans in "cj" else x).expand(self.problem.batch, -1, -1)

    def _library(self) -> beside.Run:
        torch, left, right, want = self.torch, self.left, self.right, self.want
        if self.problem.beta == "0":
            return lambda: torch.bmm(left, right, out=want)
        return lambda: torch.baddbmm(want, left, right, out=want)

    def add(self, name: str, plan: Plan, binary: Any) -> dict[str, float]:
        """A kernel as a run, and how far its first and last products are from those in float64."""
        assert plan.stencil is not None
        assert plan.config is not None
        addresses = tuple(x.data_ptr() for x in self.operands)
        beta = 0 if self.problem.beta == "0" else 1
        bound = launch.bind(
            STENCILS[plan.stencil], modules.load(binary), plan.problem, plan.config, (1, beta), addresses
        )
        stream = self.torch.cuda.current_stream().cuda_stream
        self.c.copy_(self.begun)
        bound(stream)
        self.runs[name] = lambda: bound(stream)
        return self.errors()

    def errors(self) -> dict[str, float]:
        """Of what C holds."""
        torch = self.torch
        wide = torch.complex128 if self.problem.dtype.is_complex else torch.float64
        some = [*range(min(CHECKED, self.problem.batch) - 1), -1]
        left, right = (x[some].to(wide) for x in (self.left, self.right))
        exact, size = left @ right, left.abs() @ right.abs()
        if self.problem.beta != "0":
            exact = exact + self.begun[some].to(wide)
            size = size + self.begun[some].to(wide).abs()
        off = (self.c[some].to(wide) - exact).abs() / size / UNIT
        return {"rms": round(float((off * off).mean().sqrt()), 3), "largest": round(float(off.max()), 2)}

    def seconds(self, rounds: int) -> dict[str, list[float]]:
        """Seconds of a product by each run, in turns."""
        clock = beside.Clock(self.torch)
        taken: dict[str, list[float]] = {name: [] for name in self.runs}
        calls = {}
        for name, run in self.runs.items():
            calls[name] = max(1, min(CALLS, round(SAMPLE / clock.seconds(run, 1))))
        for turn in range(rounds):
            for name in random.Random(turn).sample(list(self.runs), len(self.runs)):
                taken[name].append(clock.seconds(self.runs[name], calls[name]))
        return taken


def compiled(work: tuple[Plan, Device]) -> Any:
    """The code of a plan, in a process of its own."""
    plan, device = work
    if plan.stencil is None:
        return None
    assert plan.config is not None
    return beside.compiled(STENCILS[plan.stencil].source(plan.problem, plan.config, device), device)


def draw(options: argparse.Namespace) -> None:
    """Measure, print and keep."""
    device = beside.gpu()
    kinds = product(lines.letters(options.types), lines.words(options.betas))
    how = options.count, options.seed, options.bytes, (options.least, options.most)
    every = [drawn(letter, beta, *how) for letter, beta in kinds]
    problems = [p for some in zip(*every, strict=True) for p in some]
    made = [plans(p, device) for p in problems]
    asked = [(plan, device) for named in made for name, plan in named.items() if " " not in name]
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        codes = iter(list(pool.map(compiled, asked)))
    import torch

    torch.backends.cuda.matmul.allow_tf32 = False
    console, sink = lines.console(), lines.Sink(options.out, "split", device, vars(options))
    begin = time.monotonic()
    for p, named in zip(problems, made, strict=True):
        binaries = {name: next(codes) for name in named if " " not in name}
        if time.monotonic() - begin > options.limit:
            break
        batch, errors = Batch(torch, p), {}
        for name, binary in binaries.items():
            if binary is not None:
                errors[name] = batch.add(name, named[name], binary)
        batch.runs["cublas"]()
        taken = batch.seconds(options.rounds)
        for line in told(p, named, taken, errors, device):
            sink.write(line)
            console.print(shown(line), markup=False, soft_wrap=True)
        del batch
        torch.cuda.empty_cache()


def told(
    p: Problem, named: dict[str, Plan], taken: dict[str, list[float]], errors: dict[str, Any], device: Device
) -> Iterator[lines.Line]:
    """The lines of a batch, one for each math."""
    median = {name: statistics.median(each) for name, each in taken.items()}
    theirs = median["cublas"]
    ieee = median.get("ieee", theirs)
    for math in EMULATED:
        call = named[f"call {math}"]
        ran = median[math] if call.stencil == STENCIL else ieee
        yield {
            "kind": "split",
            "problem": p.spelling,
            "beta": p.beta,
            "layout": p.layout,
            "math": math,
            "stencil": STENCIL,
            "date": lines.now(),
            "regime": dispatch.regime(p, device),
            "config": dict(named[math].config or {}),
            "us": {name: round(each * 1e6, 2) for name, each in median.items()},
            "ieee": named["ieee"].stencil or "cublas",
            "gain": round(min(theirs, ieee) / median[math], 4),
            "call": call.stencil or "cublas",
            "over": round(theirs / ran, 4),
            "over_ieee": round(ieee / ran, 4),
            "errors": errors[math],
        }


def shown(line: lines.Line) -> str:
    """A line of the screen."""
    us = line["us"]
    of_copy = " ".join(
        f"{name} {us['copy'] / us[name]:.2f}" for name in ("cublas", "ieee", line["math"]) if name in us
    )
    layout = "" if line["layout"] == "packed" else f" {line['layout']}"
    return (
        f"{line['problem']}{layout} beta {line['beta']} {line['math']}: of a copy {of_copy}"
        f" | {line['ieee']} | gain {line['gain']:.2f} | call {line['call']} {line['over']:.2f}"
        f" | {line['errors']}"
    )


def points(files: list[Path]) -> None:
    """The planner's points of this stencil, in place of those that it had."""
    found: dict[str, dict[str, Any]] = {}
    device = ""
    for file in files:
        for line in lines.read(file):
            device = line.get("device", device)
            if line.get("kind") == "split":
                letter = alone.filed(Problem.parse(line["problem"], math=line["math"])[0])
                rows = found.setdefault(device, {}).setdefault(letter, [])
                rows.append([*point_of(line), round(line["gain"], 3)])
    file = DATA / "neighbours.json"
    data = json.loads(file.read_text("utf-8"))
    for name, letters in found.items():
        data["devices"].setdefault(name, {})[STENCIL] = letters
    file.write_text(written(data), "utf-8")
    lines.console().print(
        {name: {letter: len(rows) for letter, rows in each.items()} for name, each in found.items()}
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="bench.split", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("what", choices=("draw", "points"))
    add("files", nargs="*", type=Path, help="of measurements (points)")
    add("--types", default="s,c", help="default: s,c")
    add("--betas", default="0,1", help="default: 0,1")
    add("--count", type=int, default=12, help="batches of each type and beta (default: 12)")
    add("--seed", type=int, default=1, help="of what is drawn (default: 1)")
    add("--bytes", type=float, default=4e8, help="that most of the batches move (default: 4e8)")
    add("--least", type=int, default=LEAST, help=f"extent that is drawn (default: {LEAST})")
    add("--most", type=int, default=MOST, help=f"extent that is drawn (default: {MOST})")
    add("--rounds", type=int, default=5, help="samples of each (default: 5)")
    add("--limit", type=float, default=1e9, help="seconds after which no other batch begins")
    add("--out", type=Path, help="lines of JSON are added to this file")
    options = parser.parse_args()
    if options.what == "points":
        points(options.files)
    else:
        draw(options)


if __name__ == "__main__":
    main()
