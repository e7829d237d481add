"""Batches along the last axis beside a copy and ``einsum``: ``python -m bench.batchlast --out FILE``.

Products of random extents (log-uniform up to ``--most``) in every type, as arrays (m, k, batch) and
(k, n, batch), by ``tilewright.matmul(..., axes=[(0, 1), (0, 1), (0, 1)])`` without a record:

last   into ``out`` (m, n, batch), every second time with an odd batch, which aligns runs to one element
new    without ``out``: the result lies as NumPy's, its matrices one after the other
packs  arrays (batch / 8, m, k, 8) and so on, the compact format, into ``out``

In turns with it: a copy of as many bytes as are read and written, half of them read (``copy``), and
``einsum("ijn,jkn->ikn")`` of NumPy or PyTorch. A processor is measured on one core and also with data in its
caches (half of its second level), where a pass is repeated until it takes a millisecond. There is then no
copy, but the bound that ``tilewright explain`` shows, from ceilings measured in this run. Results are
compared with those of ``einsum`` first; figures are medians over rounds.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import tilewright as tw
from bench import bounds, lines
from tilewright.catalog import TARGETS
from tilewright.model import DTYPES, Device, Problem
from tilewright.planning import dispatch, roofline
from tilewright.tuning.timing import median_interval

Runs = dict[str, Callable[[], object]]
SUBSCRIPTS = {"last": "ijn,jkn->ikn", "new": "ijn,jkn->ikn", "packs": "gijn,gjkn->gikn"}
PACK = 8
AHEAD = 400_000
"""Clocks for which a GPU waits while calls are queued."""
PATIENCE = 2
"""Rounds of the peer on a processor, which takes long."""


@dataclass(frozen=True, slots=True)
class Case:
    """One product to be timed."""

    letter: str
    size: tuple[int, int, int]
    layout: str
    regime: str
    odd: bool
    power: bool = False

    @property
    def each(self) -> int:
        """Bytes of A, B and C of one product."""
        m, n, k = self.size
        return (m * k + k * n + m * n) * DTYPES[self.letter].itemsize

    def batch(self, total: float) -> int:
        """Products of about so many bytes in all, or the power of two below."""
        if self.power:
            return 1 << max(0, int(total / self.each).bit_length() - 1)
        return max(1, int(total / self.each) // 64) * 64 + (self.odd and self.layout == "last")

    def shapes(self, count: int) -> list[tuple[int, ...]]:
        """Of A, B and C."""
        m, n, k = self.size
        sides = ((m, k), (k, n), (m, n))
        if self.layout == "packs":
            return [(count // PACK, *side, PACK) for side in sides]
        return [(*side, count) for side in sides]


def cases(options: argparse.Namespace) -> Iterator[Case]:
    """Random extents, each in every type and layout."""
    draw = np.random.default_rng(options.seed)
    for number in range(options.count):
        m, n, k = (round(float(x)) for x in np.exp(draw.uniform(np.log(2), np.log(options.most), 3)))
        for letter in lines.words(options.types):
            for regime in lines.words(options.regimes):
                for layout in lines.words(options.layouts):
                    yield Case(letter, (m, n, k), layout, regime, number % 2 == 1, options.powers)


# ---- the two kinds of device


class Host:
    """NumPy on one core."""

    def __init__(self, rounds: int):
        tw.set_threads(1)
        self.rounds, self.device = rounds, dispatch.device()
        self.ceilings = bounds.ceilings(self.device, 5)

    def make(self, shape: tuple[int, ...], letter: str) -> Any:
        """Random numbers."""
        draw = np.random.default_rng(1).standard_normal
        values = draw(shape) + (1j * draw(shape) if DTYPES[letter].is_complex else 0)
        return values.astype(DTYPES[letter].numpy)

    def copy(self, size: int) -> Callable[[], object]:
        """A copy that moves so many bytes."""
        source = np.ones(size // 2, np.uint8)
        target = np.empty_like(source)
        return lambda: np.copyto(target, source)

    def einsum(self, subscripts: str, a: Any, b: Any, out: Any) -> Callable[[], object]:
        """The peer."""
        return lambda: np.einsum(subscripts, a, b, out=out)

    def total(self, case: Case, bytes_: float) -> float:
        """Bytes of a case."""
        return bytes_ if case.regime == "memory" else self.device["l2"] / 2

    def seconds(self, runs: Runs) -> dict[str, list[float]]:
        """Samples in turns."""
        repeats = {}
        for name, run in runs.items():
            start = time.perf_counter()
            run()
            repeats[name] = max(1, int(1e-3 / max(time.perf_counter() - start, 1e-7)))
        samples: dict[str, list[float]] = {name: [] for name in runs}
        for turn in range(self.rounds):
            for name, run in runs.items():
                if name == "einsum" and turn >= PATIENCE:
                    continue
                start = time.perf_counter()
                for _ in range(repeats[name]):
                    run()
                samples[name].append((time.perf_counter() - start) / repeats[name])
        return samples

    def bound(self, case: Case, count: int) -> float | None:
        """Seconds that the bound allows."""
        m, n, k = case.size
        suffix = f"/{PACK}" if case.layout == "packs" else "/all"
        (problem,) = Problem.parse(f"{case.letter}:{m}x{n}x{k}@{count}{suffix}")
        here = replace(self.device, ceilings=self.ceilings)
        found = roofline.bound(problem, here, case.regime, 1, streaming=case.regime == "memory")
        return problem.flops * count / found.flops_per_s


class Gpu:
    """PyTorch on the first GPU."""

    def __init__(self, rounds: int):
        import torch

        self.torch, self.rounds, self.device = torch, rounds, dispatch.device("cuda")
        torch.manual_seed(1)

    def make(self, shape: tuple[int, ...], letter: str) -> Any:
        """Random numbers."""
        t = self.torch
        return t.randn(*shape, dtype=getattr(t, DTYPES[letter].name), device="cuda")

    def copy(self, size: int) -> Callable[[], object]:
        """A copy that moves so many bytes."""
        source = self.torch.randint(256, (size // 32 * 16,), dtype=self.torch.uint8, device="cuda")
        target = self.torch.empty_like(source)
        return lambda: target.copy_(source)

    def einsum(self, subscripts: str, a: Any, b: Any, out: Any) -> Callable[[], object]:
        """The peer, which makes its result."""
        return lambda: self.torch.einsum(subscripts, a, b)

    def total(self, case: Case, bytes_: float) -> float:
        """Bytes of a case: more than the second-level cache holds."""
        return max(bytes_, 5.0 * self.device.last_cache)

    def seconds(self, runs: Runs) -> dict[str, list[float]]:
        """Samples in turns, by events around two calls, which are queued behind a wait of the GPU's: what is
        timed is the GPU alone."""
        start, stop = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
        samples: dict[str, list[float]] = {name: [] for name in runs}
        for run in runs.values():
            run()
        for _ in range(self.rounds):
            for name, run in runs.items():
                self.torch.cuda._sleep(AHEAD)
                start.record()
                run()
                run()
                stop.record()
                stop.synchronize()
                samples[name].append(5e-4 * start.elapsed_time(stop))
        return samples

    def bound(self, case: Case, count: int) -> float | None:
        """A copy is the bound."""
        return None


# ---- lines


def measured(case: Case, here: Host | Gpu, bytes_: float) -> lines.Line:
    """One case: ours beside the others."""
    count = case.batch(here.total(case, bytes_))
    a, b, out = (here.make(shape, case.letter) for shape in case.shapes(count))
    axes = [(1, 2) if case.layout == "packs" else (0, 1)] * 3
    target = None if case.layout == "new" else out

    def ours() -> Any:
        return tw.matmul(a, b, target, None, axes)

    einsum = here.einsum(SUBSCRIPTS[case.layout], a, b, out)
    made: Any = einsum()
    want = 1 * made  # Not in ``out``, which is written again.
    error, size = float(abs(ours() - want).max()), float(abs(want).max())
    runs: Runs = {"ours": ours, "einsum": einsum}
    if case.regime == "memory":
        runs["copy"] = here.copy(case.each * count)
    line: lines.Line = {"type": case.letter, "size": case.size, "layout": case.layout, "regime": case.regime}
    line |= {"batch": count, "error": error / size}
    for name, samples in here.seconds(runs).items():
        median, low, high = median_interval(samples)
        line[name] = {"us": 1e6 * median, "low": 1e6 * low, "high": 1e6 * high}
    mine = line["ours"]["us"]
    line["gb_per_s"] = case.each * count / mine / 1e3
    line |= {"of_copy": line["copy"]["us"] / mine} if "copy" in line else {}
    line["times_einsum"] = line["einsum"]["us"] / mine
    bound = here.bound(case, count)
    return line | ({"of_bound": 1e6 * bound / mine} if bound is not None else {})


def shown(line: lines.Line) -> str:
    """A line of the screen."""
    m, n, k = line["size"]
    shares = [
        f"{100 * line[f'of_{name}']:4.0f} % of {name}" for name in ("copy", "bound") if f"of_{name}" in line
    ]
    return (
        f"{line['type']:2} {m:2}x{n:2}x{k:2} {line['layout']:5} {line['regime']:6} "
        f"{line['gb_per_s']:7.1f} GB/s, "
        f"{', '.join(shares)}, x {line['times_einsum']:.1f} of einsum, error {line['error']:.1e}"
    )


def summed(found: list[lines.Line]) -> Iterator[str]:
    """Of each layout and regime: the median, the least and how many reach 0.9, and times the peer."""
    for layout, regime in dict.fromkeys((line["layout"], line["regime"]) for line in found):
        mine = [line for line in found if (line["layout"], line["regime"]) == (layout, regime)]
        peer = float(np.exp(np.mean([np.log(line["times_einsum"]) for line in mine])))
        for name in ("of_copy", "of_bound"):
            if name in mine[0]:
                shares = [line[name] for line in mine]
                many = sum(share >= 0.9 for share in shares)
                yield (
                    f"{layout} {regime}: {name} median {np.median(shares):.2f}, least {min(shares):.2f}, "
                    f"0.9 or more {many} of {len(shares)}; x {peer:.1f} of einsum"
                )


def main() -> None:
    """Measure, print and keep."""
    parser = argparse.ArgumentParser(
        prog="bench.batchlast", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--device", default="cpu", choices=("cpu", "cuda"), help="default: cpu")
    add("--types", help="default: s,d,c,z, on a GPU h and b as well")
    add("--layouts", default="last,new,packs", help="default: last,new,packs")
    add("--regimes", help="default: memory, on a processor memory,cached")
    add("--count", type=int, default=5, help="random extents (default: 5)")
    add("--most", type=int, default=16, help="largest extent (default: 16)")
    add("--bytes", type=float, default=256e6, help="of A, B and C (default: 256e6)")
    add("--powers", action="store_true", help="batches of powers of two, whose rows meet in caches")
    add("--rounds", type=int, default=9, help="samples of each (default: 9)")
    add("--seed", type=int, default=1, help="of the extents (default: 1)")
    add("--out", type=Path, help="lines of JSON are added to this file")
    options = parser.parse_args()
    gpu = options.device == "cuda"
    options.types = options.types or ("s,d,c,z,h,b" if gpu else "s,d,c,z")
    options.regimes = options.regimes or ("memory" if gpu else "memory,cached")
    reason = TARGETS[options.device].missing()
    if reason is not None:
        raise SystemExit(f"nothing to measure on: {reason}")
    here: Host | Gpu = Gpu(options.rounds) if gpu else Host(options.rounds)
    device: Device = TARGETS[options.device].probe()
    sink, console, found = lines.Sink(options.out, "batchlast", device, vars(options)), lines.console(), []
    for case in cases(options):
        line = measured(case, here, options.bytes)
        found.append(line)
        sink.write({"date": lines.now()} | line)
        console.print(shown(line), markup=False)
    for text in summed(found):
        console.print(text, markup=False)


if __name__ == "__main__":
    main()
