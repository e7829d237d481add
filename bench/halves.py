"""Numbers of 16 bits beside float32 and other libraries: ``python -m bench.halves --sizes 16,32,64``.

On one core, for each type and size the default of every stencil that accepts the problem, and with
``--configs`` changes of it (``amx:ahead=0``, ``amx:ahead=1,copy_b=1``, parted by spaces), are timed in turns
with our float32 as a call without records runs it, with PyTorch's ``bmm`` in the type and in float32, and
with ``numpy.matmul`` in float32. All multiply as many products, of which the float32 ones take as much as the
regime asks for, or ``--bytes``, so that those of 16 bits take half.

Every line of JSON says the speed in Gflop/s, and as a median of ratios within rounds, with its 95 % interval,
how many times as fast it was as our float32 (``over_s``) and as PyTorch in the type (``over_torch``). Beside
complex half stand our complex64 and the libraries', as ``s`` in all that was said. ``problem`` is of ours;
PyTorch's operands are packed matrices of the same extents, not transposed. What is missing here is left out.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from bench import kernels, lines, machine
from tilewright.errors import TilewrightError
from tilewright.model import DTYPES, Config, Device, Problem
from tilewright.planning import candidates, dispatch
from tilewright.tuning import timing as measure
from tilewright.tuning.gemm.operands import operands
from tilewright.tuning.tasks import sized

OURS = "float32"
"""What our float32 is called among the competitors."""
WIDE = {"b": "s", "h": "s", "hc": "c"}
"""The type that each is compared with."""
Run = Callable[[], Any]


def configs(problem: Problem, device: Device, changes: list[str]) -> Iterator[tuple[str, str, Config]]:
    """A name, a stencil and a config: every default, and what ``changes`` make of it where rules
    allow that."""
    for name, stencil in candidates.of(device).items():
        if candidates.refusal(stencil, problem, device) is not None:
            continue
        config = stencil.default(problem, device)
        yield name, name, config
        for change in changes:
            which, _, values = change.partition(":")
            if which == name:
                pairs = (pair.partition("=") for pair in lines.words(values))
                changed = config.with_(**{key: type(config[key])(value) for key, _, value in pairs})
                if changed != config and stencil.space(problem, device).member(changed) is None:
                    yield change, name, changed


def torch_call(problem: Problem, letter: str) -> Run | None:
    """``torch.bmm`` of as many products in a type, on one thread; None where there is none of that."""
    try:
        import torch
    except ImportError:
        return None
    if letter == "hc":
        return None
    torch.set_num_threads(1)
    kind = getattr(torch, DTYPES[letter].name)
    shapes = (problem.m, problem.k), (problem.k, problem.n)
    a, b = ((torch.rand(problem.batch, *shape) - 0.5).to(kind) for shape in shapes)
    c = torch.empty(problem.batch, problem.m, problem.n, dtype=kind)
    return lambda: torch.bmm(a, b, out=c)


def numpy_call(problem: Problem, letter: str) -> Run:
    """``numpy.matmul`` of as many products in a type."""
    draw = np.random.default_rng(1)
    shapes = (problem.m, problem.k), (problem.k, problem.n)
    a, b = (draw.random((problem.batch, *shape)).astype(DTYPES[letter].numpy) for shape in shapes)
    c = np.empty((problem.batch, problem.m, problem.n), DTYPES[letter].numpy)
    return lambda: np.matmul(a, b, out=c)


def measured(
    problem: Problem, regime: str, device: Device, options: argparse.Namespace
) -> Iterator[lines.Line]:
    """A line for each competitor in one problem."""
    beside = WIDE[problem.dtype.letter]
    wide = sized(problem.with_(dtype=DTYPES[beside]), regime, device)
    if options.bytes:
        wide = wide.with_(batch=max(1, int(options.bytes) // wide.bytes))
    stands = {letter: kernels.Stand(problem, regime, device) for letter in (problem.dtype.letter, beside)}
    for letter, stand in stands.items():
        stand.problem = wide.with_(dtype=DTYPES[letter])
        stand.made = operands(stand.problem, 1)
    own, plain = stands[problem.dtype.letter], stands[beside]
    plan = dispatch.plan(plain.problem, device, cores=1, vendor=False)
    assert plan.stencil is not None
    assert plan.config is not None
    chosen = {OURS: (plan.stencil, plan.config)}
    runs: dict[str, Run] = {OURS: plain.run(plain.kernel(*chosen[OURS]))}
    for label, name, config in configs(own.problem, device, options.configs.split()):
        chosen[label] = name, config
        runs[label] = own.run(own.kernel(name, config))
    passes = dict.fromkeys(runs, own.passes)
    for letter in (problem.dtype.letter, beside):
        call = torch_call(own.problem, letter)
        if call is not None:
            runs[f"torch {letter}"] = call
    runs[f"numpy {beside}"] = numpy_call(own.problem, beside)
    timings = measure.interleaved(
        runs, rounds=options.rounds, regime=regime, batch=wide.batch, budget=options.budget
    )
    called = dispatch.plan(own.problem, device, cores=1, vendor=False)
    theirs = timings.get(f"torch {problem.dtype.letter}")

    def over(other: str, label: str) -> list[float]:
        """How many times as fast as another: products of a pass are one call's."""
        times = passes.get(label, 1) / passes.get(other, 1)
        return [times * x for x in measure.ratio(timings[other], timings[label])]

    for label, timing in timings.items():
        work = problem.flops * wide.batch * passes.get(label, 1) / 1e9
        stencil, config = chosen.get(label, ("", Config({})))
        yield {
            "kind": "halves",
            "type": problem.dtype.letter,
            "problem": own.problem.spelling,
            "regime": regime,
            "bytes": own.problem.footprint,
            "variant": label,
            "stencil": stencil,
            "config": dict(config),
            "runs": label != OURS and (stencil, config) == (called.stencil, called.config),
            "origin": called.origin,
            "gflops": work / timing.median,
            "gflops_low": work / timing.high,
            "gflops_high": work / timing.low,
            "over_s": over(OURS, label),
            "over_torch": over(f"torch {problem.dtype.letter}", label) if theirs else None,
            "samples": len(timing.samples),
            "busy_cores": round(machine.busy_cores(), 2),
            "date": lines.now(),
        }


def main() -> None:
    """Measure what the command line asks for."""
    options = _arguments()
    console = lines.console()
    kernels.pin()
    device = dispatch.device()
    sink = lines.Sink(options.out, "halves", device, vars(options))
    for regime in lines.words(options.regimes):
        for letter in lines.words(options.types):
            for size in lines.words(options.sizes):
                for trans in lines.words(options.trans):
                    (problem,) = Problem.parse(f"{letter}:{trans}:{size}")
                    try:
                        for line in measured(problem, regime, device, options):
                            sink.write(line)
                            others = f", {line['over_torch'][0]:.2f} x torch" if line["over_torch"] else ""
                            console.print(
                                f"{line['problem']} {regime} {line['variant']}: {line['gflops']:.1f} GF/s, "
                                f"{line['over_s'][0]:.2f} x float32{others}{' <- runs' * line['runs']}"
                            )
                    except TilewrightError as error:
                        console.print(f"{letter}:{trans}:{size} {regime}: {error}")


def _arguments() -> argparse.Namespace:
    parser = lines.parser("bench.halves", __doc__)
    add = parser.add_argument
    add("--types", default="b,h", help="any of b, h, hc (default: b,h)")
    add("--sizes", default="8,16,24,32,48,64", help="n or MxNxK (default: 8,16,24,32,48,64)")
    add("--trans", default="nn", help="pairs of transpositions (default: nn)")
    add("--regimes", default="cached", help="cached, memory (default: cached)")
    add("--bytes", type=float, help="what operands of float32 take (default: as the tuner has it)")
    add("--configs", default="", help="changes of defaults, as amx:ahead=0,fetch=1, parted by spaces")
    add("--rounds", type=int, default=15, help="samples of each (default: 15)")
    add("--budget", type=float, default=2.0, help="seconds of timing for each problem (default: 2)")
    add("--out", type=Path, help="lines of JSON are added to this file")
    return parser.parse_args()


if __name__ == "__main__":
    main()
