"""The order in which memory is read and written: ``python -m bench.order memory``, or ``kernels``, on a GPU.

``memory``: kernels that compute nothing (``order.cuh``) read and write ``--bytes`` together, of which a
quarter to seven eighths is written, by all threads of a block (``threads``) or by bulk copies through a ring
(``bulk``). Their blocks stay and walk over all tiles, or end after so many
(``tilewright.stencils.cuda.grids``).

``kernels``: random products, by the defaults of the stencils whose blocks may end, with every number of tiles
that a block may take, and, where the kernel has such a form, by blocks that stay and take tiles from a
counter (``tickets``).

Each beside a copy by the driver of as many bytes, in turns; medians, the second-level cache overwritten in
between. A line of JSON for each kernel goes to ``--out``.
"""

from __future__ import annotations

import argparse
import itertools
import random
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from bench import lines
from bench.batches import middle, skewed
from bench.batches.problems import filling, forced
from tilewright.catalog import STENCILS
from tilewright.model import DTYPES, Binary, Config, Device, Launch, Problem, Source
from tilewright.planning import candidates, dispatch
from tilewright.stencils.cuda import grids
from tilewright.targets.cuda import modules, nvrtc
from tilewright.targets.cuda.arguments import Field, Pointer, Scalar, Struct
from tilewright.targets.cuda.binding import Binding

WRITTEN = (4, 8, 12, 14)
"""Sixteenths of a tile that are written."""
TILES = {"threads": (8, 16), "bulk": (8, 16, 32)}
"""KB of a tile."""
STAGES = 4
PER_SM = {"threads": (8,), "bulk": (1, 2, 4)}
STENCILS_THAT_END = ("tiny", "panel", "whole", "single", "middle", "tensor", "interleaved")
ROOM = 1.3
"""Bytes of each operand's memory, of those that a launch moves."""
Run = Callable[[], object]

NOTHING = Path(__file__).with_suffix(".cuh")


class Clock:
    """Samples of runs in turns, each after the second-level cache was overwritten."""

    def __init__(self, torch: Any, moved: float):
        self.torch = torch
        # Numbers that no type takes for infinite.
        self.rooms = [torch.full((int(ROOM * moved) // 4,), 0.5, device="cuda") for _ in range(4)]
        self.over = torch.empty(64 << 20, device="cuda")
        self.start, self.stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))

    def copy(self, moved: int) -> Run:
        """The driver's copy that reads and writes so many bytes together."""
        from_, to = (room.view(self.torch.uint8)[: moved // 2] for room in (self.rooms[0], self.rooms[3]))
        return lambda: to.copy_(from_)

    def seconds(self, runs: Mapping[str, Run], rounds: int) -> dict[str, float]:
        """The median of each."""
        samples: dict[str, list[float]] = {name: [] for name in runs}
        for turn in range(rounds + 1):
            for name, run in runs.items():
                self.over.fill_(turn)
                self.start.record()
                run()
                self.stop.record()
                self.stop.synchronize()
                samples[name].append(1e-3 * self.start.elapsed_time(self.stop))
        # The first launch of a kernel loads it.
        return {name: statistics.median(found[1:]) for name, found in samples.items()}

    def addresses(self) -> tuple[int, int, int]:
        """Of A, B and C."""
        a, b, c = (room.data_ptr() for room in self.rooms[:3])
        return a, b, c


# ---- memory ----------------------------------------------------------------------------------------------
def moves(options: argparse.Namespace, device: Device, clock: Clock) -> Iterator[lines.Line]:
    """Kernels that compute nothing."""
    stream = clock.torch.cuda.current_stream().cuda_stream
    for how in TILES:
        source = Source(NOTHING.read_text(), how)
        kernel = modules.load(nvrtc.compile(source, device))
        for kilobytes, written, per_sm in itertools.product(TILES[how], WRITTEN, PER_SM[how]):
            writes = kilobytes * 1024 * written // 16
            reads = kilobytes * 1024 - writes
            tiles = int(options.bytes) // (reads + writes)
            shared = 128 + STAGES * reads + writes if how == "bulk" else 0
            if per_sm * (shared + device["shared_reserved"]) > device["shared_per_sm"]:
                continue
            values = {"reads": reads, "writes": writes, "tiles": tiles, "stages": STAGES}
            numbers = tuple(Scalar(name, "i", value) for name, value in values.items())
            fields: tuple[Field, ...] = (Pointer("from", 0), Pointer("to", 1), *numbers)
            stay = per_sm * device["sms"]
            runs: dict[str, Run] = {"copy": clock.copy(tiles * (reads + writes))}
            for per_block in grids.PER_BLOCK:
                blocks = grids.launched({"blocks": stay, "per_block": per_block}, tiles)
                if per_block and blocks <= stay:
                    continue
                launch = Launch(
                    grid=(blocks, 1, 1), block=(256 if how == "threads" else 32, 1, 1), shared=shared
                )
                bound = Binding(kernel, launch, (Struct("Moved", fields),), {}).put(clock.addresses())
                runs[str(per_block)] = lambda bound=bound: bound(stream)  # type: ignore[misc]
            told = {"kind": "memory", "by": how, "tile": kilobytes << 10, "written": written / 16}
            yield told | {"per_sm": per_sm, "tiles": tiles} | shares(clock.seconds(runs, options.rounds))


# ---- kernels ---------------------------------------------------------------------------------------------
def drawn(letter: str, beta: str, count: int, size: float, seed: int) -> Iterator[Problem]:
    """Random products of a type that move so many bytes: small ones, with a long extent, of middle size, and
    interleaved."""
    draw = random.Random(f"order {seed} {letter} {beta}")

    def extents(most: int) -> list[int]:
        return [int(2 ** draw.uniform(1, most)) for _ in "mnk"]

    found = []
    for number in range(count):
        m, n, k = extents(5) if number % 2 else [draw.randint(2, 32)] * 3
        found.append(Problem(DTYPES[letter], m, n, k, beta=beta))
    found += skewed.drawn(letter, beta, 2 * count, seed, "mn")
    found += middle.drawn(letter, beta, count, size, seed)
    yield from (filling(p, size, forced(p)) for p in found)
    for _ in range(count):
        m, n, k = extents(4)
        batch = int(size / ((m * k + k * n + m * n) * DTYPES[letter].itemsize)) // 128 * 128
        (p,) = Problem.parse(f"{letter}:{m}x{n}x{k}@{batch}/all")
        yield p.with_(beta=beta)


def compiled(job: tuple[Problem, str, Device]) -> tuple[Config, Binary, Binary | None] | None:
    """The default of a stencil for a problem, in a process of its own, by blocks that stay, or end, and by
    such that share a counter; None without one."""
    problem, name, device = job
    stencil = STENCILS[name]
    if candidates.refusal(stencil, problem, device) is not None:
        return None
    config = stencil.default(problem, device)
    if not config["blocks"]:
        return None
    stay, shared = nvrtc.compile(stencil.source(problem, grids.staying(config), device), device), None
    other = sharing(config)
    if other is not None and stencil.space(problem, device).member(other) is None:
        shared = nvrtc.compile(stencil.source(problem, other, device), device)
    return config, stay, shared


def sharing(config: Config) -> Config | None:
    """A config whose blocks share a counter; None where the stencil has no such form."""
    return Config({**grids.staying(config), "tickets": 1}) if "tickets" in config else None


def kernels(options: argparse.Namespace, device: Device, clock: Clock) -> Iterator[lines.Line]:
    """Defaults with every number of tiles a block may take."""
    every = [
        drawn(letter, beta, options.count, options.bytes, options.seed)
        for letter, beta in itertools.product(options.types, "01")
    ]
    problems = [p for p in itertools.chain.from_iterable(itertools.zip_longest(*every)) if p is not None]
    jobs = list(itertools.product(problems, STENCILS_THAT_END, (device,)))
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        made = list(pool.map(compiled, jobs, chunksize=2))
    begin, stream = time.monotonic(), clock.torch.cuda.current_stream().cuda_stream
    for (p, name, _), found in zip(jobs, made, strict=True):
        if found is None:
            continue
        if time.monotonic() - begin > options.limit:
            break
        config, binary, shared = found
        stencil, kernel = STENCILS[name], modules.load(binary)
        stay = stencil.launch(p, grids.staying(config))
        # Of interleaved matrices no column has a gap.
        moved = p.footprint + p.updated if p.interleaved else int(forced(p) * p.batch)
        tiles = stencil.launch(p, Config({**grids.staying(config), "blocks": grids.MOST})).grid[0]
        runs: dict[str, Run] = {"copy": clock.copy(moved)}
        scalars = {"alpha": 1.0, "beta": float(p.beta != "0")}
        for per_block in grids.PER_BLOCK:
            blocks = stencil.launch(p, Config({**config, "per_block": per_block})).grid[0]
            if per_block and blocks <= stay.grid[0]:
                continue
            launch = replace(stay, grid=(blocks, *stay.grid[1:]))
            given = stencil.arguments(p, grids.staying(config))
            bound = Binding(kernel, launch, given, scalars).put(clock.addresses())
            runs[str(per_block)] = lambda bound=bound: bound(stream)  # type: ignore[misc]
        other = sharing(config)
        if shared is not None and other is not None:
            given = stencil.arguments(p, other)
            bound = Binding(modules.load(shared), stay, given, scalars).put(clock.addresses())
            runs["tickets"] = lambda bound=bound: bound(stream)  # type: ignore[misc]
        told = {"kind": "kernel", "problem": p.spelling, "layout": p.layout, "beta": p.beta, "stencil": name}
        told |= {"tiles": tiles, "per_sm": config["blocks"] // device["sms"], "config": dict(config)}
        told |= {"default": "tickets" if config.get("tickets") else str(config["per_block"])}
        yield told | shares(clock.seconds(runs, options.rounds))


# ---- what is said ----------------------------------------------------------------------------------------
def shares(seconds: Mapping[str, float]) -> lines.Line:
    """Speeds by the tiles of a block, 0 for blocks that stay, or by a counter, of that of a copy."""
    of_copy = {name: round(seconds["copy"] / each, 4) for name, each in seconds.items() if name != "copy"}
    return {"copy": seconds["copy"], "of_copy": of_copy}


def shown(line: lines.Line) -> str:
    """A line for people."""
    what = line.get("problem") or f"{line['tile']} bytes, {line['written']:.3f} written"
    found = " ".join(f"{name}:{share:.2f}" for name, share in line["of_copy"].items())
    return f"{line.get('stencil') or line['by']:11} {what:32} {line['per_sm']:2} an SM  {found}"


def summary(found: Sequence[lines.Line]) -> Iterator[str]:
    """What defaults gain over blocks that stay, in the geometric mean, and what the best numbers would."""
    for name in STENCILS_THAT_END:
        some = [line for line in found if line.get("stencil") == name]
        if some:
            gains = [line["of_copy"][line["default"]] / line["of_copy"]["0"] for line in some]
            best = [max(line["of_copy"].values()) / line["of_copy"]["0"] for line in some]
            yield (
                f"{name:11} {len(some)} defaults: {statistics.geometric_mean(gains):.3f} times blocks that "
                f"stay, least {min(gains):.2f}, {sum(gain < 0.98 for gain in gains)} below 0.98; the best "
                f"number {statistics.geometric_mean(best):.3f}"
            )


def main() -> None:
    """Measure one of the two."""
    parser = lines.parser("bench.order", __doc__)
    add = parser.add_argument
    add("what", choices=("memory", "kernels"))
    add("--types", default="sdczhb", help="of kernels (default: sdczhb)")
    add("--count", type=int, default=4, help="products of a kind of each type and beta (default: 4)")
    add("--bytes", type=float, default=7e8, help="that a launch moves (default: 7e8)")
    add("--rounds", type=int, default=5, help="samples of each, in turns (default: 5)")
    add("--seed", type=int, default=1, help="of what is drawn (default: 1)")
    add("--limit", type=float, default=600.0, help="seconds of timing (default: 600)")
    add("--out", type=Path, help="lines of JSON are added to this file")
    options = parser.parse_args()
    lines.demand_gpu()
    import torch

    device = dispatch.device("cuda")
    sink, clock = lines.Sink(options.out, "order", device, vars(options)), Clock(torch, options.bytes)
    found = []
    for line in {"memory": moves, "kernels": kernels}[options.what](options, device, clock):
        sink.write(line)
        print(shown(line), flush=True)
        found.append(line)
    print("\n".join(summary(found)))


if __name__ == "__main__":
    main()
