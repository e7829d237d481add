"""Products with extents over 64 beside NumPy's, on one core: ``python -m bench.skewed --out FILE``.

Random problems, each by the default of the stencil that serves it (``ours``) and by ``numpy.matmul`` (with
beta 1: and an addition), in turns:

long    one extent log-uniform in 65..4096, the others in 2..64
two     two extents log-uniform in 65..1024, the other in 2..64
square  extents in 65..128, half of them alike

vector  one extent 1, the other two log-uniform in 2..4096, one of them over 64 (``--kinds vector``)

with random transposes, and operands that the batch shares; in cache (half of the second level, or one
product) and from memory. ``--public`` has the shapes of public programs in place of random ones. A line says
what either took, their ratio (``gain``), what a call without a record runs (``chosen``), and how near that is
to the bound: in cache the peak, measured before the first problem; from memory a copy of as many bytes, half
of them read, in turns with both.

    python -m bench.skewed --seed 1 --out FILE           measure, and say what calls gain and where they lose
    python -m bench.skewed --stencil folds --kinds vector   the same of matrices times vectors, by another
    python -m bench.skewed --write FILE...               make ``planning/data/processors.json`` of files
    python -m bench.skewed --check FILE...               hold the data that ships against other files

Times are those of the thread, so that what other programs take of the core is not counted; what they take of
the memory is. NumPy's BLAS gets one thread.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np  # A BLAS asks how many threads it gets when it is loaded.

import tilewright as tw
from bench import bounds, kernels, lines
from bench.classes import written
from tilewright.catalog import TARGETS
from tilewright.model import DTYPES
from tilewright.planning import candidates, dispatch, processors, roofline
from tilewright.planning.neighbours import Point

BLOCKED = "blocked"
KINDS = ("long", "long", "two", "square")
DATA = Path(processors.__file__).parent / "data" / "processors.json"
SLACK = 0.03
"""By how much samples of the same kernel differ."""
PUBLIC = (
    ("sd", (9, 256, 9), "nn", ""),
    ("sd", (9, 128, 9), "nn", ""),
    ("sd", (9, 128, 3), "nn", ""),
    ("sd", (19, 256, 25), "nn", ""),
    ("s", (29, 512, 49), "nn", ""),
    ("sd", (256, 16, 16), "nn", "b"),
    ("sd", (768, 16, 16), "nn", "b"),
    ("d", (81, 9, 10), "nn", "b"),
    ("d", (10, 81, 9), "nn", "a"),
    ("d", (3, 3, 10_000), "nt", ""),
    ("d", (10_000, 3, 3), "nn", "b"),
    ("c", (2, 4096, 2), "nn", "a"),
    ("s", (197, 64, 197), "nn", ""),
    ("s", (64, 197, 197), "nn", ""),
    ("d", (76, 76, 76), "nn", ""),
)
"""Shapes (m, n, k) of public programs in C order, their types, transposes, and what the batch shares."""


@dataclass(frozen=True, slots=True)
class Case:
    """One product to be timed, in C order: a (m, k), b (k, n)."""

    letter: str
    size: tuple[int, int, int]
    trans: str
    shared: str
    beta: str
    regime: str

    @property
    def each(self) -> int:
        """Bytes of A, B and C of one product."""
        m, n, k = self.size
        return (m * k + k * n + m * n) * DTYPES[self.letter].itemsize


def drawn(options: argparse.Namespace) -> Iterator[Case]:
    """Random problems, or those of public programs, the same for the same seed."""
    draw = random.Random(options.seed)

    def between(low: int, high: int) -> int:
        return round(float(np.exp(draw.uniform(np.log(low), np.log(high)))))

    if options.public:
        for letters, size, trans, shared in PUBLIC:
            for letter in letters:
                for regime in lines.words(options.regimes):
                    yield Case(letter, size, trans, shared, "0", regime)
        return
    for _ in range(options.count):
        for letter in lines.letters(options.types):
            kind = draw.choice(lines.words(options.kinds) or KINDS)
            if kind == "vector":
                long, other = between(65, 4096), between(2, 4096)
                extents = [*draw.sample((long, other), 2), 1]
            elif kind == "square":
                n = draw.randint(65, 128)
                extents = [n, n, n] if draw.random() < 0.5 else [draw.randint(65, 128) for _ in range(3)]
            elif kind == "two":
                extents = [between(65, 1024), between(65, 1024), between(2, 64)]
            else:
                extents = [between(65, 4096), between(2, 64), between(2, 64)]
            if kind == "vector":
                # C is a column as often as a row: the vector is on either side.
                m, k, one = extents
                extents = [m, one, k] if draw.random() < 0.5 else [one, m, k]
            else:
                draw.shuffle(extents)
            trans = draw.choice(("nn", "nn", "nn", "nt", "tn", "tt"))
            shared, beta = draw.choice(("", "", "", "a", "b")), draw.choice("0001")
            regime = draw.choice(lines.words(options.regimes))
            yield Case(letter, (extents[0], extents[1], extents[2]), trans, shared, beta, regime)


def operand(letter: str, count: int, rows: int, columns: int, trans: str) -> Any:
    """A stack of random matrices; of ``t`` the transposes of what lies in memory."""
    draw = np.random.default_rng(1).standard_normal
    shape = (count, columns, rows) if trans == "t" else (count, rows, columns)
    values = (draw(shape) + (1j * draw(shape) if DTYPES[letter].is_complex else 0)).astype(
        DTYPES[letter].numpy
    )
    return values.swapaxes(-1, -2) if trans == "t" else values


def seconds(runs: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """The lower quartile of samples taken in turns, of one run each."""
    repeats, samples = {}, dict[str, list[float]]()
    for name, run in runs.items():
        start = time.perf_counter()
        run()
        repeats[name] = max(1, int(2e-3 / max(time.perf_counter() - start, 1e-7)))
        samples[name] = []
    for _ in range(rounds):
        for name, run in runs.items():
            start = time.thread_time()
            for _ in range(repeats[name]):
                run()
            samples[name].append((time.thread_time() - start) / repeats[name])
    return {name: float(np.quantile(found, 0.25)) for name, found in samples.items()}


def copied(total: int) -> Callable[[], object]:
    """A copy that moves so many bytes."""
    source = np.ones(total // 2, np.uint8)
    target = np.ones_like(source)
    return lambda: np.copyto(target, source)


def measured(case: Case, options: argparse.Namespace, ceilings: Mapping[str, float]) -> lines.Line | None:
    """One case; None where no stencil of ours serves it."""
    (m, n, k), device = case.size, dispatch.device()
    total = options.bytes if case.regime == "memory" else device["l2"] / 2
    batch = max(1, int(total / case.each))
    a, b = (
        operand(case.letter, 1 if name in case.shared else batch, *shape, trans)
        for name, shape, trans in zip("ab", ((m, k), (k, n)), case.trans, strict=True)
    )
    out = np.zeros((batch, m, n), DTYPES[case.letter].numpy)
    beta = int(case.beta)
    spare = np.empty_like(out)

    def theirs() -> None:
        if beta:
            np.add(np.matmul(a, b, out=spare), out, out=out)
        else:
            np.matmul(a, b, out=out)

    keep = out if beta else None
    plain = tw.plan(a, b, keep, beta=beta, out=out)
    if candidates.refusal(candidates.of(device)[options.stencil], plain.plan.problem, device) is not None:
        return None
    ours = tw.plan(a, b, keep, beta=beta, out=out, stencil=options.stencil)
    wanted = np.matmul(a, b)
    out[:] = 0
    ours(a, b, keep, out=out)
    error = float(abs(out - wanted).max() / abs(wanted).max())
    p = ours.plan.problem
    runs: dict[str, Callable[[], object]] = {"ours": lambda: ours(a, b, keep, out=out), "numpy": theirs}
    if ours.plan.regime == "memory":
        runs["bound"] = copied(p.footprint + p.updated)
    chosen = {None: "numpy", options.stencil: "ours"}.get(plain.plan.stencil, str(plain.plan.stencil))
    # A call may run a third one.
    runs.setdefault(chosen, lambda: plain(a, b, keep, out=out))
    found = seconds(runs, options.rounds)
    peak = roofline.bound(p, replace(device, ceilings=dict(ceilings)), "cached", 1).seconds * batch
    return {
        "stencil": options.stencil,
        "type": case.letter,
        "size": case.size,
        "trans": case.trans,
        "beta": case.beta,
        "batch": batch,
        "point": list(processors.point(p, ours.plan.regime)),
        "config": dict(ours.plan.config or {}),
        "error": error,
        "us": {name: 1e6 * value for name, value in found.items()},
        "gflops": p.flops * batch / found["ours"] * 1e-9,
        "gain": found["numpy"] / found["ours"],
        "chosen": chosen,
        "of_bound": max(peak, found.get("bound", 0.0)) / found[chosen],
    }


def shown(line: lines.Line) -> str:
    """A line of the screen."""
    m, n, k = line["size"]
    return (
        f"{line['type']:2} {line['trans']} {m:4}x{n:4}x{k:4} beta {line['beta']} {line['point'][-1]:6} "
        f"{line['gflops']:6.1f} GF/s, x {line['gain']:5.2f} of NumPy, {line['chosen']:5} runs, at "
        f"{100 * line['of_bound']:3.0f} % of the bound"
    )


def summed(found: Iterable[tuple[lines.Line, bool]]) -> Iterator[str]:
    """Of each type and regime: what our default gains, what calls gain, how many lose, and the worst."""
    groups: dict[tuple[str, str], list[tuple[float, bool]]] = {}
    for line, ours in found:
        groups.setdefault((line["type"], line["point"][-1]), []).append((line["gain"], ours))
    for (letter, regime), each in sorted(groups.items()):
        ran = [gain if ours else 1.0 for gain, ours in each]
        lost = sum(gain < 1 - SLACK for gain in ran)
        missed = sum(gain > 1 + SLACK for gain, ours in each if not ours)
        alone = [gain for gain, _ in each]
        yield (
            f"{letter} {regime:6} {len(each):4} problems: default x {statistics.geometric_mean(alone):.2f} "
            f"(least {min(alone):.2f}), calls x {statistics.geometric_mean(ran):.2f} (least "
            f"{min(ran):.2f}, {lost} below {1 - SLACK}), ours runs {sum(o for _, o in each)}, missed {missed}"
        )


def stencil_of(line: lines.Line) -> str:
    """Whose default a line is of; those of before this field are all of one."""
    stencil: str = line.get("stencil", BLOCKED)
    return stencil


def gathered(files: Iterable[Path]) -> dict[str, Any]:
    """The points of files, by device and type."""
    found: dict[str, Any] = {}
    for file in files:
        device = ""
        for line in lines.read(file):
            device = line.get("device", device)
            if "point" in line:
                parts = found.setdefault(device, {}).setdefault(stencil_of(line), {})
                rows = parts.setdefault(line["type"], [])
                rows.append([*line["point"], round(line["gain"], 3)])
    return found


def judged(files: Iterable[Path]) -> Iterator[tuple[lines.Line, bool]]:
    """The lines of files, and whether the data that ships counts on ours."""
    for file in files:
        device = ""
        for line in lines.read(file):
            device = line.get("device", device)
            if "point" in line:
                known = processors.measured(device, stencil_of(line))
                yield (
                    line,
                    known is not None and known.foretold(line["type"], Point(*line["point"]))[0] >= 1,
                )


def main() -> None:
    """Measure, print and keep; or make and check the data of the planner."""
    parser = lines.parser("bench.skewed", __doc__)
    add = parser.add_argument
    add("--types", default="sdcz", help="default: sdcz")
    add("--regimes", default="cached,memory", help="default: cached,memory")
    add("--count", type=int, default=25, help="random problems of each type (default: 25)")
    add("--stencil", default=BLOCKED, help=f"whose default it is (default: {BLOCKED})")
    add("--kinds", default="", help="of problems, with commas (default: long, two and square)")
    add("--public", action="store_true", help="the shapes of public programs")
    add("--bytes", type=float, default=48e6, help="of A, B and C from memory (default: 48e6)")
    add("--rounds", type=int, default=7, help="samples of each (default: 7)")
    add("--seed", type=int, default=1, help="of the problems (default: 1)")
    add("--out", type=Path, help="lines of JSON are added to this file")
    add("--write", type=Path, nargs="+", help="make the planner's data of these files")
    add("--check", type=Path, nargs="+", help="hold the planner's data against these files")
    options, console = parser.parse_args(), lines.console()
    if options.write:
        data = json.loads(DATA.read_text("utf-8"))
        for device, parts in gathered(options.write).items():
            # Other stencils were measured by other runs.
            data["devices"].setdefault(device, {}).update(parts)
        DATA.write_text(written(data), "utf-8")
        return
    if options.check:
        for text in summed(judged(options.check)):
            console.print(text, markup=False)
        return
    kernels.pin()
    tw.set_threads(1)
    probed = TARGETS["cpu"].probe()
    ceilings = bounds.ceilings(probed, 5)
    options.write = options.check = None
    sink, found = lines.Sink(options.out, "skewed", probed, vars(options)), []
    for case in drawn(options):
        line = measured(case, options, ceilings)
        if line is not None:
            found.append((line, line["chosen"] == "ours"))
            sink.write(line)
            console.print(shown(line), markup=False)
    for text in summed(found):
        console.print(text, markup=False)


if __name__ == "__main__":
    main()
