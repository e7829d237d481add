"""The ladders: kernels for one product, each with one idea more than the one before it, beside cuBLAS.

The kernels are the files of this folder; ``outlines`` has them as data, by type, ``checks`` says what is
right, and here is the run that makes a table of them (``climb``). They compute C = alpha A B + beta C on
row-major matrices. Their argument is ``struct Gemm`` of ``lib/gemm.cuh``, read as row-major: ``a`` is m rows
of k elements, ``b`` k rows of n, ``c`` m rows of n, and a leading dimension counts the elements from one row
to the next. There is one product, alpha and beta are real, and no textures are read. Kernels that copy boxes
have tensor maps besides.

The ladder in single precision and its measured shares of cuBLAS on an RTX 5070 Ti (``Rung.document``) are
those of the article "GEMM" (November 2025, code at github.com/kathsucurry/cuda_matrix_multiplication); most
of its steps are those of S. Boehm, "How to Optimize a CUDA Matmul Kernel for cuBLAS-like Performance" (2022).
``docs/ladder.md`` explains each step.
"""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.errors import DeviceError
from tilewright.model import DTYPES, Config, Device
from tilewright.targets.cuda import devices, driver, modules, nvrtc
from tilewright.targets.cuda.binding import Binding
from tilewright.tuning import timing
from tilewright.tutorial.checks import Array, Right, worst
from tilewright.tutorial.outlines import Row, able, compiled, demand, facts, left_out, peak
from tilewright.tutorial.rung import Rung

Run = Callable[[], object]


def _torch() -> Any:
    try:
        import torch
    except ImportError:
        return None
    return torch


def _cupy() -> Any:
    try:
        import cupy
    except ImportError:
        return None
    return cupy


@contextmanager
def _vendor(a: Array, b: Array, index: int) -> Iterator[tuple[str, Run] | None]:
    """cuBLAS on these row-major operands, through PyTorch or CuPy and without TF32; None without either.

    On the default stream, where the kernels and the stopwatch are, too.
    """
    torch = _torch()
    if torch is not None and torch.cuda.is_available():
        allowed, place = torch.backends.cuda.matmul.allow_tf32, f"cuda:{index}"
        torch.backends.cuda.matmul.allow_tf32 = False
        try:
            # NumPy's bfloat16 is no type that PyTorch takes: its bits are.
            bits = a.dtype == DTYPES["b"].numpy
            x, y = (torch.from_numpy(each.view(np.int16) if bits else each).to(place) for each in (a, b))
            if bits:
                x, y = x.view(torch.bfloat16), y.view(torch.bfloat16)
            z = torch.empty_like(x)
            with torch.cuda.stream(torch.cuda.default_stream(place)):
                yield f"PyTorch {torch.__version__}", lambda: torch.mm(x, y, out=z)
        finally:
            torch.backends.cuda.matmul.allow_tf32 = allowed
        return
    cupy = _cupy()
    if cupy is None or a.dtype == DTYPES["b"].numpy:
        yield None
        return
    # CuPy leaves TF32 off unless its environment asks for it.
    with cupy.cuda.Device(index), cupy.cuda.Stream.null:
        u, v = cupy.asarray(a), cupy.asarray(b)
        w = cupy.empty_like(u)
        yield f"CuPy {cupy.__version__}", lambda: cupy.matmul(u, v, out=w)


SAMPLE = 0.02
"""Seconds that a sample lasts at least: seven products of order 4096 at 50 * 10^12 operations a second."""

TRIES = 3
"""Samples of a config before the best of a rung is chosen."""

WARM = 2
"""Samples of a kernel before the one that counts: tensor cores at work lower the clock, and none is to be
timed at the clock that the one before it left."""


def _repeats(watch: driver.Stopwatch, run: Run) -> int:
    """Calls of a sample, after a warm-up of as many."""
    watch.time(run, 1)
    count = max(1, round(SAMPLE / max(watch.time(run, 1), 1e-6)))
    watch.time(run, count)
    return count


@dataclass(slots=True)
class _Stand:
    """Operands of one order in device memory, and what a config does with them."""

    n: int
    device: Device
    a: Array
    b: Array
    memories: list[driver.Memory]
    watch: driver.Stopwatch
    rows: list[int]
    """Rows of C that are checked."""
    right: Right
    """What these rows should be."""

    @staticmethod
    def of(n: int, device: Device, letter: str) -> _Stand:
        draw, kind = np.random.default_rng(11), DTYPES[letter].numpy
        a, b = (draw.standard_normal((n, n), np.float32).astype(kind) for _ in range(2))
        memories = [driver.allocate(a.nbytes) for _ in range(3)]
        for memory, operand in zip(memories, (a, b), strict=False):
            driver.upload(memory.address, operand)
        rows = sorted({0, n // 2, n - 1, *draw.integers(0, n, 61).tolist()})
        right = Right.of(a[rows], b, np.zeros((len(rows), n), kind), 1.0, 0.0, letter)
        return _Stand(n, device, a, b, memories, driver.Stopwatch(), rows, right)

    def attempt(self, rung: Rung, config: Config) -> tuple[Row, Run, int]:
        """A config checked and, if it is right, timed alone: its facts with ``error``, ``right`` and
        ``tflops``; what starts it; and the calls of a sample."""
        n, kernel = self.n, modules.load(compiled(rung, config, self.device))
        pointers = (self.memories[0].address, self.memories[1].address, self.memories[2].address)
        scalars: dict[str, complex] = {"alpha": 1.0, "beta": 0.0}
        launch = rung.launch(config, n, n, self.device)
        run = Binding(kernel, launch, rung.arguments(config, n, n, n), scalars).put(pointers)
        error = worst(rung, config, self.device)
        driver.fill(pointers[2], self.a.nbytes, 0xFF)  # NaN
        run()
        driver.synchronize()
        got = np.empty_like(self.a)
        driver.download(got, pointers[2])
        error = max(error, self.right.excess(got[self.rows]))
        if np.isnan(got).any():
            error = math.inf
        row = facts(rung, config, self.device, n) | {"error": error, "right": error <= 1.0}
        repeats = 0
        if row["right"]:
            repeats = _repeats(self.watch, run)
            seconds = statistics.median(self.watch.time(run, repeats) / repeats for _ in range(TRIES))
            row["tflops"] = 2.0 * n**3 / seconds / 1e12
        return row, run, repeats


def climb(
    n: int = 4096,
    index: int = 0,
    rounds: int = 11,
    listen: Callable[[str], None] = lambda _: None,
    letter: str = "s",
) -> Row:
    """The table of order n on a device: each rung's best config, beside cuBLAS, timed in turns.

    Every config is checked on ``CASES`` and on rows of the product of order n, and timed alone; the best
    right one of each rung then takes turns with cuBLAS, one sample each in every round in a new order, and
    ``of_cublas`` is the median of the ratios within rounds with its 95 % ``interval``. Returns ``device``,
    ``type``, ``n``, ``vendor`` (what cuBLAS was reached through; None without), ``vendor_tflops``, ``rows``,
    ``tried`` (every config alone) and ``missing``, rungs that the device cannot run among it. Raises
    ``DeviceError`` without a device, ``ArgumentError`` for an order or a type that there is no ladder of.
    """
    demand(n, letter)
    reason = devices.missing()
    if reason is not None:
        raise DeviceError(f"the ladder needs a CUDA device: {reason}")
    driver.context(index)
    device = devices.probe(index)
    rungs, stand = able(device, letter), _Stand.of(n, device, letter)
    listen("compiling")
    with ThreadPoolExecutor() as pool:
        points = [(rung, config) for rung in rungs for config in rung.configs]
        list(pool.map(lambda point: compiled(*point, device), points))
    tried: list[Row] = []
    best: dict[int, tuple[Row, Run, int]] = {}
    for rung in rungs:
        for config in rung.configs:
            listen(f"rung {rung.number}: {config!r}")
            attempt = stand.attempt(rung, config)
            tried.append(attempt[0])
            if attempt[0]["right"] and (
                rung.number not in best or attempt[0]["tflops"] > best[rung.number][0]["tflops"]
            ):
                best[rung.number] = attempt
    with _vendor(stand.a, stand.b, index) as vendor:
        entrants = {number: (run, repeats) for number, (_, run, repeats) in best.items()}
        if vendor is not None:
            entrants[VENDOR] = (vendor[1], _repeats(stand.watch, vendor[1]))
        samples = _in_turns(stand.watch, entrants, rounds, listen)
    top = peak(device, letter)
    speeds = {number: 2.0 * n**3 / statistics.median(taken) for number, taken in samples.items()}
    return {
        "device": stand.device.name,
        "driver": devices.driver_version(),
        "toolchain": nvrtc.toolchain(),
        "clocks": driver.clocks(index),
        "type": letter,
        "n": n,
        "vendor": None if vendor is None else vendor[0],
        "vendor_tflops": None if vendor is None else speeds[VENDOR] / 1e12,
        "rows": [
            best[rung.number][0]
            | {
                "tflops": speeds[rung.number] / 1e12,
                "of_peak": None if top is None else speeds[rung.number] / top,
                **_against(samples.get(VENDOR), samples[rung.number]),
            }
            for rung in rungs
            if rung.number in best
        ],
        "tried": tried,
        "missing": left_out(device, letter)
        + ([] if vendor is not None else ["PyTorch or CuPy, to reach cuBLAS through"]),
    }


VENDOR = 0
"""cuBLAS among the entrants, who go by the numbers of their rungs."""


def _in_turns(
    watch: driver.Stopwatch,
    entrants: Mapping[int, tuple[Run, int]],
    rounds: int,
    listen: Callable[[str], None],
) -> dict[int, list[float]]:
    """Seconds of one call of each entrant, a sample in every round, in a new order every round."""
    samples: dict[int, list[float]] = {number: [] for number in entrants}
    shuffle = random.Random(5)
    for turn in range(rounds):
        listen(f"in turns with cuBLAS, round {turn + 1} of {rounds}")
        for number in shuffle.sample(list(entrants), len(entrants)):
            run, repeats = entrants[number]
            watch.time(run, WARM * repeats)
            samples[number].append(watch.time(run, repeats) / repeats)
    return samples


def _against(theirs: Sequence[float] | None, ours: Sequence[float]) -> Row:
    """How many times as fast as cuBLAS, by the ratios within rounds, and the 95 % interval."""
    if theirs is None:
        return {"of_cublas": None, "interval": None}
    middle, low, high = timing.median_interval([t / o for t, o in zip(theirs, ours, strict=True)])
    return {"of_cublas": middle, "interval": (low, high)}
