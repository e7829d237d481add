"""Recording spaces of this package's stencils, to replay searches on: ``python -m bench.record NAME ...``.

Every config of a space is compiled and timed once, alone, as a try of the tuner is, but for fewer samples and
without a check of its numbers, which tests and tuning runs have. Of parameters that would make a space too
large to record whole some values are left out (``SPACES``); the rules are the stencil's. What comes out is a
table of ``bench.recorded`` in ``--out``, named for the space and the device; ``bench/spaces`` keeps those of
one H200 and of the processor beside it. All other cores compile while one config is timed.

A space that is not through within ``--seconds`` is left out, for a table that lacks configs is no space.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import io
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.recorded import COSTS, Recorded
from tilewright.catalog import STENCILS, TARGETS
from tilewright.model import Binary, Config, Device, Gemm, Timing, parsed
from tilewright.runtime import build
from tilewright.space import Space
from tilewright.targets.cuda import driver, modules
from tilewright.targets.cuda.capability import named
from tilewright.tuning import timing
from tilewright.tuning.evaluate import Candidate
from tilewright.tuning.evaluate.cpu import CpuEvaluation
from tilewright.tuning.evaluate.cuda import GpuEvaluation
from tilewright.tuning.evaluate.cuda_timing import guarded
from tilewright.tuning.evaluate.table import EVALUATIONS
from tilewright.tuning.search import Estimate
from tilewright.tuning.tasks import sized
from tilewright.tuning.workers import Answer, Worker, stream

LEAST, BUDGET = 3, 6e-3
"""Samples of a config, and seconds after which no more are taken."""
SLOW = 20e-3
"""Seconds of a pass that is not repeated."""
AHEAD = 256
FOLDER = Path(__file__).parent / "spaces"
Line = dict[str, Any]


@dataclass(frozen=True)
class Part:
    """A stencil's space for a problem with some of the values of some parameters."""

    stencil: str
    spelling: str
    regime: str
    values: Mapping[str, tuple[Any, ...]]

    def problem(self, device: Device) -> Gemm:
        """The problem at the batch that the regime is measured on."""
        made: Gemm = sized(parsed(self.spelling)[0], self.regime, device)
        return made

    def space(self, device: Device) -> Space:
        """The stencil's rules over the values that are kept."""
        whole = STENCILS[self.stencil].space(self.problem(device), device)

        def kept(name: str, values: tuple[Any, ...]) -> tuple[Any, ...]:
            return tuple(value for value in values if value in self.values.get(name, values))

        params = [replace(param, values=kept(param.name, param.values)) for param in whole.params]
        return Space(params, whole.rules, whole.elementwise)


SPACES = {
    "tiny-d8": Part(
        "tiny",
        "d:8x8x8@262144",
        "memory",
        {
            "rows": (1, 2, 4, 8),
            "columns": (1, 2, 4, 8),
            "warps": (2, 4, 6, 8),
            "group": (8, 12, 16, 24, 32, 48),
            "stages": (2, 3),
            "across": (0,),
            "turn": (0, 1),
            "pad": (0,),
            "evict": (0,),
            "blocks": (264, 528, 1056),
        },
    ),
    "middle-d48": Part(
        "middle",
        "d:48x48x48@5000",
        "memory",
        {
            "tile_m": (48,),
            "depth": (8, 16, 24, 48),
            "stages": (2,),
            "blocks": (264, 396, 528, 792),
        },
    ),
    "tensor-z32": Part(
        "tensor",
        "z:32x32x32@8000",
        "memory",
        {
            "tc": ("16x8x4", "8x8x4"),
            "split": ("registers",),
            "stages": (1, 2, 3),
            "ahead": (0,),
            "blk_k": (8, 16, 32),
            "blk_m": (16, 32),
            "blk_n": (16, 32),
            "dim_x": (8, 16, 32),
            "group": (1, 2, 4),
            "blocks": (132, 264, 528),
        },
    ),
    "panel-s1024x8x8": Part(
        "panel",
        "s:1024x8x8@3000",
        "memory",
        {
            "mma": (0,),
            "tile": (128, 256),
            "rows": (1, 2, 4, 8),
            "columns": (2, 4, 8),
            "warps": (1, 2, 4),
            "stages": (2, 3),
            "blocks": (528, 1056, 1584),
        },
    ),
    "classic-d512": Part(
        "classic",
        "d:512x512x512",
        "memory",
        {
            "read": ("global",),
            "order": (1,),
            "early": (0,),
            "m_blk": (32, 64, 128),
            "n_blk": (32, 64, 128),
            "k_blk": (8, 16),
            "m_dim": (8, 16),
            "n_dim": (8, 16),
            "buffers": (2,),
            "wide": (1, 2),
            "vec": (1, 2),
            "lanes": (8,),
            "mma": (0, 1),
            "min_blocks": (1, 2),
            "split": (1, 2, 4, 8),
        },
    ),
    "inner-s8x8x1024": Part(
        "inner",
        "s:8x8x1024@3000",
        "memory",
        {
            "mma": (0,),
            "depth": (48, 96, 128, 256),
            "rows": (2, 4, 8),
            "columns": (2, 4, 8),
            "warps": (1, 2, 4),
            "stages": (2, 3),
            "split": (1, 2),
            "blocks": (528, 2112, 3168),
        },
    ),
    "whole-h197x197x64": Part(
        "whole",
        "h:197x197x64@1000",
        "memory",
        {
            "tile": (112, 224),
            "warps": (4, 8, 12),
            "piece": (8192, 32768),
            "stages": (2,),
            "blocks": (132, 264),
        },
    ),
    "grouped-d16": Part(
        "grouped",
        "d:1..16x1..16x1..16@10000",
        "memory",
        {
            "rows": (1, 2),
            "columns": (2, 4),
            "deep": (1, 2),
            "team": (1, 2, 4),
            "warps": (4, 8, 12, 16, 20, 24),
            "blocks": (132, 264),
        },
    ),
    "tile-z9": Part("tile", "z:9x9x9", "cached", {}),
    "lanes-d3": Part("lanes", "d:3x3x3", "memory", {}),
    "compact-d4": Part(
        "compact",
        "d:4x4x4@100000/all",
        "memory",
        {"rows": (1, 2, 4), "columns": (1, 2, 4), "prefetch": (0, 4), "block": (0, 8)},
    ),
}
"""By name."""


PROCESSORS = {
    "emeraldrapids-avx512": Device(
        "cpu",
        "Intel Xeon (Emerald Rapids)",
        "emeraldrapids-avx512",
        {
            "vector_bits": 512,
            "vector_registers": 32,
            "masks": 1,
            "prefetch": 1,
            "cores": 16,
            "l1d": 49152,
            "l2": 2097152,
            "l3": 314572800,
        },
    )
}
"""The processors on which spaces were recorded; a GPU is known by its name."""


def told(path: Path, given: Recorded) -> tuple[list[Config], Estimate | None]:
    """What the tuner would tell a search of a recorded space: the stencil's default, of each parameter the
    recorded value nearest to it, if that was recorded, and the stencil's cost model. A parameter that the
    stencil did not have then has its first value, which is that of kernels without it. Nothing for a table
    that this module did not write."""
    name = next((name for name in SPACES if path.name.startswith(f"{name}-")), None)
    if name is None:
        return [], None
    part, key = SPACES[name], given.name.removeprefix(f"{name}-")
    device, stencil = PROCESSORS.get(key) or named(key), STENCILS[part.stencil]
    problem = part.problem(device)
    default, model = stencil.default(problem, device), stencil.cost_model(problem, device)
    start = Config({name: _nearest(default[name], values) for name, values in given.params.items()})
    later = {q.name: q.values[0] for q in stencil.space(problem, device).params if q.name not in given.params}

    def estimate(configs: Sequence[Config]) -> NDArray[np.float64]:
        assert model is not None
        return model([Config({**later, **config}) for config in configs])

    return [start] if start in given.times else [], estimate if model and later else model


def _nearest(value: Any, values: Sequence[Any]) -> Any:
    """The one of the values that is nearest to a value: itself, or by size."""
    if value in values or isinstance(value, str):
        return value
    return min(values, key=lambda each: abs(each - value))


# ---- children


def compiler(device: Device) -> Callable[[Any], tuple[Binary, float]]:
    """The handler of a compiling child: (stencil, problem, config) to a binary and the seconds it took."""
    target = TARGETS[device.kind]

    def handle(request: tuple[str, Any, Config]) -> tuple[Binary, float]:
        begin = time.perf_counter()
        return build.compile(*request, device, target), time.perf_counter() - begin

    return handle


def timer(device: Device) -> Callable[[Any], Any]:
    """The handler of the timing child: ("prepare", problem, regime), then (stencil, config, binary) to the
    seconds of a product and those that timing it took."""
    if device.kind == "cuda":
        driver.context()
        gpu = GpuEvaluation(device)
    cpu = CpuEvaluation(device)

    def timed(candidate: Candidate) -> Timing:
        if device.kind == "cpu":
            found = cpu.attempt(candidate, LEAST, BUDGET, SLOW).timing
            if found is None:
                raise ValueError(f"{candidate.config} is wrong")
            return found
        with guarded():
            own = gpu.evaluation
            return timing.measure(
                own.turns(candidate, modules.load(candidate.binary)),
                watch=own.watch,
                regime=own.regime,
                batch=own.problem.batch,
                least=LEAST,
                budget=BUDGET,
                target=0.01,
                early_stop=SLOW,
            )

    def handle(request: tuple[Any, ...]) -> Any:
        if request[0] == "prepare":
            return (cpu if device.kind == "cpu" else gpu).prepare(*request[1:])
        begin = time.perf_counter()
        found = timed(Candidate(*request))
        return found.median / found.batch, time.perf_counter() - begin

    return handle


# ---- a space


def measured(
    part: Part, device: Device, compilers: Sequence[Worker], bench: Worker, deadline: float
) -> Iterator[Line]:
    """A line for every config as it comes: its values, then ``COSTS``, in milliseconds of a product."""
    problem = part.problem(device)
    made = bench.ask(("prepare", problem, part.regime), 100)
    if made.status != "ok":
        raise SystemExit(f"{part.spelling}: {made.detail}")
    built = stream(compilers, ((part.stencil, problem, config) for config in part.space(device)), AHEAD)
    for answer in built:
        config = answer.request[2]
        if answer.status != "ok":
            yield {**config, "time_ms": "", "compile_ms": 0, "benchmark_ms": 0, "why": answer.detail}
            continue
        binary, seconds = answer.value
        if not bench.alive:
            bench.ask(("prepare", problem, part.regime), 100)
        found: Answer = bench.ask((part.stencil, config, binary), 20, built)
        took, whole = found.value if found.status == "ok" else (None, 0.0)
        yield {
            **config,
            "time_ms": "" if took is None else f"{1e3 * took * problem.batch:.6g}",
            "compile_ms": f"{1e3 * seconds:.0f}",
            "benchmark_ms": f"{1e3 * whole:.0f}",
            "why": found.detail,
        }
        if time.monotonic() > deadline:
            built.drop()
            return


def written(lines: Sequence[Line]) -> bytes:
    """The table of a space, compressed; the same bytes for the same lines."""
    names = [name for name in lines[0] if name not in (*COSTS, "why")]
    text = io.StringIO()
    table = csv.DictWriter(text, (*names, *COSTS), extrasaction="ignore", lineterminator="\n")
    table.writeheader()
    table.writerows(lines)
    return gzip.compress(text.getvalue().encode(), mtime=0)


def record(
    name: str, device: Device, children: Sequence[Worker], bench: Worker, folder: Path, seconds: float
) -> str:
    """Measure a space and write its table; what came of it in a line."""
    part, begin = SPACES[name], time.monotonic()
    lines = list(measured(part, device, children, bench, begin + seconds))
    took, total = time.monotonic() - begin, part.space(device).count()
    failed = [line for line in lines if line["time_ms"] == ""]
    said = f"{name}: {len(lines)} of {total} configs in {took:.1f} s, {len(failed)} failed"
    if failed:
        said += f", such as {failed[0]}"
    if len(lines) == total:
        (folder / f"{name}-{device.key}.csv.gz").write_bytes(written(lines))
    return said


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.record", description=__doc__)
    parser.add_argument("names", nargs="+", help=f"spaces: {', '.join(SPACES)}")
    parser.add_argument("--out", type=Path, default=FOLDER, help="folder of the tables")
    parser.add_argument("--seconds", type=float, default=3600.0, help="of a space at most")
    options = parser.parse_args(arguments)
    if unknown := [name for name in options.names if name not in SPACES]:
        parser.error(f"no space {unknown[0]!r}; accepted: {', '.join(SPACES)}")
    for target, names in groupby(options.names, lambda name: STENCILS[SPACES[name].stencil].target):
        device, kind = TARGETS[target].probe(), EVALUATIONS[target]
        children = [Worker(compiler, (device,)) for _ in range(kind.compilers(device))]
        bench = Worker(timer, (device,), environment=kind.environment)
        try:
            for name in names:
                print(record(name, device, children, bench, options.out, options.seconds), flush=True)
        finally:
            for worker in (*children, bench):
                worker.stop()


if __name__ == "__main__":
    main()
