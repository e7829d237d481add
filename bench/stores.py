"""How results leave for memory, and what is asked for early: ``python -m bench.stores --sizes 8,9,16,23``.

For each n the default's kernel with every combination of ``--stores`` (plain, stream, staged) and
``--prefetch`` (products ahead, all operands evenly; 0: none; into the caches of ``--levels``) is timed in
turns with ``numpy.matmul``, on one core, on a batch of twice the last cache. C begins ``--offset`` bytes
after a cache line: 16 is where NumPy's own arrays begin.

Every line of JSON has the commit and the machine. A median is printed beside the streaming bandwidth of one
core, measured in the same run before each size (``of_stream``: A and B read and C written, over it).
What a config's rules do not allow, as a stream of columns that are not aligned, is left out.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from bench import kernels, lines, machine
from tilewright.catalog import STENCILS, TARGETS
from tilewright.model import Config, Device, Problem
from tilewright.planning import candidates, dispatch
from tilewright.space import HARDWARE
from tilewright.targets.cpu import llvm
from tilewright.tuning import ceilings_cpu
from tilewright.tuning import timing as measure
from tilewright.tuning.evaluate.cpu import vendor_call

LINE = 64


def variants(problem: Problem, device: Device, options: argparse.Namespace) -> Iterator[tuple[str, Config]]:
    """Named configs that differ in stores and prefetches only."""
    stencil = STENCILS[_stencil(problem, device)]
    base, space = stencil.default(problem, device), stencil.space(problem, device).only(HARDWARE)
    for store in lines.words(options.stores):
        for ahead in lines.numbers(options.prefetch):
            for level in lines.numbers(options.levels) if ahead else [1]:
                changes: dict[str, Any] = {"store": store, "prefetch": ahead}
                if "spread" in base:
                    changes["spread"] = int(ahead > 0)
                if "level" in base:
                    changes["level"] = level
                elif level > 1:
                    continue
                config = base.with_(**changes)
                if config in space:
                    yield f"{store}, prefetch {ahead}" + f" level {level}" * (level > 1), config


def _stencil(problem: Problem, device: Device) -> str:
    """The stencil that a call without records uses."""
    accepting = (name for name, one in candidates.of(device).items() if not one.accepts(problem, device))
    return next(accepting)


class Moved(kernels.Stand):
    """Operands whose C begins ``offset`` bytes after a cache line; some products are given up for it."""

    def __init__(self, problem: Problem, device: Device, offset: int):
        super().__init__(problem, "memory", device)
        self.shift = (offset - self.made.c.ctypes.data) % LINE
        self.problem = self.problem.with_(batch=self.problem.batch - LINE)

    def run(self, kernel: Any) -> Callable[[], None]:
        a, b, c, *strides, _, scalars = self.made.arguments
        arguments = (a, b, c + self.shift, *strides, self.problem.batch, scalars)
        call: Callable[[], None] = llvm.repeated(kernel, 1, arguments, self.device)
        return call


def measured(problem: Problem, device: Device, options: argparse.Namespace) -> Iterator[lines.Line]:
    """A line for each variant of one problem, and one for NumPy."""
    bandwidth = ceilings_cpu.bandwidths(TARGETS["cpu"], device, 1, options.rounds)["bandwidth.stream.1"]
    stand = Moved(problem, device, options.offset)
    name = _stencil(stand.problem, device)
    configs = dict(variants(stand.problem, device, options))
    runs = {label: stand.run(stand.kernel(name, config)) for label, config in configs.items()}
    runs["numpy.matmul"] = vendor_call(stand.made)
    timings = measure.interleaved(
        runs, rounds=options.rounds, regime="memory", batch=stand.problem.batch, budget=options.budget
    )
    least = stand.problem.with_(beta="0").bytes
    for label, timing in timings.items():
        # NumPy's product is of the whole batch, ours of a few products less.
        batch = stand.made.problem.batch if label == "numpy.matmul" else stand.problem.batch
        yield {
            "kind": "stores",
            "type": problem.dtype.letter,
            "n": problem.n,
            "beta": problem.beta,
            "variant": label,
            "config": dict(configs.get(label, {})),
            "stencil": name if label in configs else "numpy",
            "offset": options.offset,
            "batch": batch,
            "gflops": problem.flops * batch / timing.median / 1e9,
            "seconds": timing.median,
            "seconds_low": timing.low,
            "seconds_high": timing.high,
            "gbytes_per_s": least * batch / timing.median / 1e9,
            "stream_gbytes_per_s": bandwidth / 1e9,
            "of_stream": least * batch / timing.median / bandwidth,
            "busy_cores": round(machine.busy_cores(), 2),
            "commit": machine.commit(),
            "machine": machine.processor(),
            "date": lines.now(),
        }


def main() -> None:
    """Measure what the command line asks for."""
    options = _arguments()
    console = lines.console()
    kernels.pin()
    device = dispatch.device()
    sink = lines.Sink(options.out, "stores", device, vars(options))
    for letter in lines.letters(options.types):
        for beta in lines.words(options.betas):
            for n in lines.numbers(options.sizes):
                for line in measured(lines.square(letter, n, beta), device, options):
                    sink.write(line)
                    console.print(
                        f"{letter} n={n} beta {beta} {line['variant']}: {line['gflops']:.1f} GF/s, "
                        f"{line['gbytes_per_s']:.1f} of {line['stream_gbytes_per_s']:.1f} GB/s"
                    )


def _arguments() -> argparse.Namespace:
    parser = lines.parser("bench.stores", __doc__)
    add = parser.add_argument
    add("--types", default="d", help="any of s, d, c, z (default: d)")
    add("--sizes", default="5,8,9,13,16,17,23,24,32", help=lines.SIZES)
    add("--betas", default="0", help="beta classes (default: 0)")
    add("--stores", default="plain,stream,staged", help="default: plain,stream,staged")
    add("--prefetch", default="0,2", help="products ahead, of the space's values (default: 0,2)")
    add("--levels", default="1", help="of the caches that lines are asked for into (default: 1)")
    add("--offset", type=int, default=16, help="bytes from a cache line to C (default: 16)")
    add("--rounds", type=int, default=9, help="samples of each variant (default: 9)")
    add("--budget", type=float, default=10.0, help="seconds of timing for each size (default: 10)")
    add("--out", type=Path, help="lines of JSON are added to this file")
    return parser.parse_args()


if __name__ == "__main__":
    main()
