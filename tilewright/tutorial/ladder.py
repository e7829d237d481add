"""The ladders: kernels for one product, each with one idea more than the one before it, beside cuBLAS.

The kernels are the files of this folder; ``single`` and ``halves`` have them as data, ``LADDERS`` by type,
and here is the run that makes a table of them (``climb``). They compute C = alpha A B + beta C on row-major
matrices. Their argument is ``struct Gemm`` of ``lib/gemm.cuh``, read as row-major: ``a`` is m rows of k
elements, ``b`` k rows of n, ``c`` m rows of n, and a leading dimension counts the elements from one row to
the next. There is one product, alpha and beta are real, and no textures are read. Kernels that copy boxes
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
from functools import cache
from typing import Any

import numpy as np

from tilewright.errors import ArgumentError, DeviceError
from tilewright.model import DTYPES, Binary, Config, Device, Kernel
from tilewright.targets.cuda import devices, driver, modules, nvrtc
from tilewright.targets.cuda.binding import Binding
from tilewright.tuning import timing
from tilewright.tuning.gemm.operands import subnormal
from tilewright.tutorial import halves, single
from tilewright.tutorial.rung import Rung

Row = dict[str, Any]
Array = np.ndarray[Any, Any]
Run = Callable[[], object]

LADDERS: dict[str, tuple[Rung, ...]] = {"s": single.RUNGS, **halves.RUNGS}
"""The rungs of each type."""

DOCUMENT_CUBLAS = 31.66
"""10^12 operations a second of cuBLAS in the document, in single precision at order 4096 (RTX 5070 Ti, peak
43.9)."""


def rungs_of(letter: str) -> tuple[Rung, ...]:
    """The ladder of a type. Raises ``ArgumentError`` for one that has none."""
    if letter not in LADDERS:
        raise ArgumentError(f"type={letter!r}; accepted: {', '.join(LADDERS)}")
    return LADDERS[letter]


# ---- what is known without a device


def occupancy(registers: int, shared: int, threads: int, device: Device) -> tuple[int, float]:
    """Blocks that a multiprocessor holds at once, and the share of its warps that they are.

    ``registers`` of a thread, ``shared`` bytes of a block (static and dynamic). The units in which
    registers and shared memory are given out are those of NVIDIA's occupancy calculator from compute
    capability 7.0 on: 256 registers a warp, within one of four partitions of the multiprocessor, and 128
    bytes.
    """
    warps = -(-threads // device["warp_size"])
    per_warp = -(-registers * device["warp_size"] // 256) * 256
    held = device["registers_per_sm"] // 4 // per_warp * 4
    bytes_ = -(-(shared + device["shared_reserved"]) // 128) * 128
    blocks = min(
        device["blocks_per_sm"],
        device["warps_per_sm"] // warps,
        held // warps,
        device["shared_per_sm"] // bytes_ if bytes_ else device["blocks_per_sm"],
    )
    return blocks, blocks * warps / device["warps_per_sm"]


@cache
def compiled(rung: Rung, config: Config, device: Device) -> Binary:
    """The binary of a config. Raises ``CompileError``, and ``DeviceError`` without a compiler."""
    return nvrtc.compile(rung.source(config), device)


def outline(rung: Rung, config: Config, n: int) -> Row:
    """What is known of a config without compiling it; what is not is None. Order n is the intensity's."""
    return {
        "rung": rung.number,
        "name": rung.name,
        "technique": rung.technique,
        "document": rung.document,
        "config": dict(config),
        "threads": rung.threads(config),
        "intensity": rung.intensity(config, n, n, n),
        **dict.fromkeys(("registers", "spills", "shared", "blocks", "occupancy")),
        **dict.fromkeys(("tflops", "of_cublas", "of_peak", "interval")),
    }


def facts(rung: Rung, config: Config, device: Device, n: int) -> Row:
    """The outline of a config, and what compiling tells: registers, bytes spilled, bytes of shared memory,
    blocks of a multiprocessor and occupancy."""
    found = compiled(rung, config, device).facts
    shared = found["shared"] + rung.shared(config)
    blocks, share = occupancy(found["registers"], shared, rung.threads(config), device)
    return outline(rung, config, n) | {
        "registers": found["registers"],
        "spills": found["spills"],
        "shared": shared,
        "blocks": blocks,
        "occupancy": share,
    }


def survey(n: int, device: Device, every: bool = False, letter: str = "s") -> Row:
    """The table of ``climb`` without running anything: each rung's first config, or every one.

    Without a compiler only intensities are known; ``missing`` says what there is not, steps that the device
    has not among it. Raises ``ArgumentError`` for an order or a type that there is no ladder of.
    """
    _demand(n, letter)
    rungs = _able(device, letter)
    points = [(rung, config) for rung in rungs for config in (rung.configs if every else rung.configs[:1])]
    blind = nvrtc.compiler_missing()
    if blind is None:
        rows = [facts(rung, config, device, n) for rung, config in points]
    else:
        rows = [outline(rung, config, n) for rung, config in points]
    missing = [text for text in (blind, devices.missing()) if text is not None]
    return {
        "device": device.name,
        "type": letter,
        "n": n,
        "vendor": None,
        "vendor_tflops": None,
        "rows": rows,
        "missing": [*dict.fromkeys(missing), *_left_out(device, letter)],
    }


def _demand(n: int, letter: str) -> None:
    """Raise ``ArgumentError`` for an order or a type that there is no ladder of."""
    unit = max(rung.unit for rung in rungs_of(letter))
    if n < 1:
        raise ArgumentError(f"n={n}; accepted: the order of a matrix, 1 or more")
    if n % unit:
        raise ArgumentError(f"n={n}; accepted for {DTYPES[letter].name}: multiples of {unit}")


def _able(device: Device, letter: str) -> list[Rung]:
    """The rungs that a device can run."""
    return [rung for rung in rungs_of(letter) if rung.missing(device) is None]


def _left_out(device: Device, letter: str) -> list[str]:
    """Which rungs a device cannot run, and why."""
    return [text for rung in rungs_of(letter) if (text := rung.missing(device)) is not None]


def peak(device: Device, letter: str = "s") -> float | None:
    """Operations a second of all units of a type at the top clock: of single precision, or of tensor cores by
    the fastest instructions; None where it is not known."""
    rates = device.rates
    rate = rates.get("fma.s") if letter == "s" else rates.get("tensor.h", rates.get("mma.h"))
    return None if rate is None else 2.0 * rate * device["sms"] * device["clock_khz"] * 1e3


# ---- the right answer


@dataclass(frozen=True, slots=True)
class Right:
    """alpha A B + beta C in float64, and what a result in a type may differ from it."""

    expected: Array
    bound: Array

    @staticmethod
    def of(a: Array, b: Array, c: Array, alpha: float, beta: float, letter: str = "s") -> Right:
        """``a`` are some rows of A, ``c`` those of C. The bound is that of a sum of K products in any order
        and three more roundings, in float32 (Higham, "Accuracy and Stability of Numerical Algorithms", 3.5),
        and of storing it in 16 bits (``tuning.gemm.operands.reference`` has the reasons)."""
        dtype = DTYPES[letter]
        wide_a, wide_b = a.astype(np.float64), b.astype(np.float64)
        old = beta * c.astype(np.float64) if beta else np.zeros(c.shape)
        product = wide_a @ wide_b if alpha else np.zeros(c.shape)
        size = abs(alpha) * (abs(wide_a) @ abs(wide_b)) if alpha else np.zeros(c.shape)
        expected = alpha * product + old
        sums = (a.shape[1] + 3) * dtype.unit_roundoff * (size + abs(old)) + np.finfo(np.float32).tiny
        return Right(expected, sums + dtype.storage_roundoff * (abs(expected) + sums) + subnormal(dtype))

    def excess(self, got: Array) -> float:
        """The worst error over its bound: up to 1 is right; NaN where there should be none is inf."""
        error = abs(got.astype(np.float64) - self.expected)
        worst = np.max(np.where(np.isfinite(error), error / self.bound, np.inf), initial=0.0)
        return float(worst)


# ---- on a device


@dataclass(frozen=True, slots=True)
class Case:
    """A product that a kernel is checked on: sizes, gaps after rows in elements, bases moved by elements,
    scalars."""

    m: int
    n: int
    k: int
    gaps: tuple[int, int, int] = (0, 0, 0)
    offset: int = 0
    alpha: float = 1.0
    beta: float = 0.0


CASES = (
    Case(256, 256, 64),
    Case(1, 1, 1),
    Case(131, 133, 37, alpha=1.5, beta=0.5),
    Case(128, 132, 33, gaps=(7, 4, 8), beta=1.0),
    Case(260, 388, 68, alpha=-2.0),
    Case(130, 260, 36, gaps=(4, 4, 4)),
    Case(130, 260, 36, offset=1),
    Case(257, 129, 129, gaps=(3, 3, 7), offset=3, beta=-1.0),
    Case(300, 4, 516),
    Case(3, 300, 5, beta=2.0),
    Case(65, 67, 0, beta=0.25),
    Case(65, 67, 5, alpha=0.0, beta=0.25),
    Case(65, 67, 0),
)
"""No tile divides most of these, rows are or are not multiples of 16 bytes, and so are bases."""

GUARD = 512
"""Elements of NaN on either side of every operand: what is read there shows in the result."""


def fitted(case: Case, rung: Rung) -> tuple[tuple[int, int, int], tuple[int, int, int], int]:
    """A case as a rung takes it: m, n and k, the elements from one row to the next of A, of B and of C, and
    those by which bases are moved, all rounded up to the multiples that it asks for."""

    def up(value: int, unit: int) -> int:
        return -(-value // unit) * unit

    m, n, k = (up(extent, rung.whole) for extent in (case.m, case.n, case.k))
    pitches = tuple(up(row + gap, rung.unit) for row, gap in zip((k, n, n), case.gaps, strict=True))
    return (m, n, k), (pitches[0], pitches[1], pitches[2]), up(case.offset, rung.unit)


def check(rung: Rung, config: Config, kernel: Kernel, case: Case, device: Device) -> float:
    """The excess (see ``Right``) of one product on the device; inf when something beside C was written."""
    draw, kind = np.random.default_rng(7), DTYPES[rung.letter].numpy
    (m, n, k), pitches, offset = fitted(case, rung)
    padded, addresses, memories = [], [], []
    for (rows, columns), pitch in zip(((m, k), (k, n), (m, n)), pitches, strict=True):
        whole = np.full(GUARD + rows * pitch + GUARD, np.nan, kind)
        inside = whole[GUARD : len(whole) - GUARD].reshape(rows, pitch)[:, :columns]
        inside[:] = draw.standard_normal((rows, columns), np.float32)
        memory = driver.allocate(whole.nbytes + offset * kind.itemsize)
        padded.append((whole, inside))
        memories.append(memory)
        addresses.append(memory.address + offset * kind.itemsize)
    (_, a), (_, b), (whole_c, c) = padded
    right = Right.of(a, b, c, case.alpha, case.beta, rung.letter)
    if case.beta == 0.0:
        c[:] = np.nan
    for (whole, _), address in zip(padded, addresses, strict=True):
        driver.upload(address, whole)
    pointers = [address + GUARD * kind.itemsize for address in addresses]
    described = rung.arguments(config, m, n, k, pitches)
    launch, scalars = rung.launch(config, m, n, device), {"alpha": case.alpha, "beta": case.beta}
    Binding(kernel, launch, described, scalars).put(pointers)(0)
    driver.synchronize()
    driver.download(whole_c, addresses[2])
    excess = right.excess(c)
    c[:] = np.nan
    return excess if np.isnan(whole_c.astype(np.float32)).all() else math.inf


@cache
def worst(rung: Rung, config: Config, device: Device) -> float:
    """The largest excess of a config on ``CASES``."""
    kernel = modules.load(compiled(rung, config, device))
    return max(check(rung, config, kernel, case, device) for case in CASES)


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
    _demand(n, letter)
    reason = devices.missing()
    if reason is not None:
        raise DeviceError(f"the ladder needs a CUDA device: {reason}")
    driver.context(index)
    device = devices.probe(index)
    rungs, stand = _able(device, letter), _Stand.of(n, device, letter)
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
        "missing": _left_out(device, letter)
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
