"""The ladder: six kernels for one product, each with one idea more than the one before it, beside cuBLAS.

The kernels are the files of this folder; here they are data (``RUNGS``), and the run that
makes a table of them (``climb``). They compute C = alpha A B + beta C on row-major matrices in single
precision, any M, N and K. Their argument is ``struct Gemm`` of ``lib/gemm.cuh``, read as row-major: ``a`` is
m rows of k elements, ``b`` k rows of n, ``c`` m rows of n, and a leading dimension counts the elements from
one row to the next. There is one product, alpha and beta are real, and no textures are read.

The ladder and its measured shares of cuBLAS on an RTX 5070 Ti (``Rung.document``) are those of the article
"GEMM" (November 2025, code at github.com/kathsucurry/cuda_matrix_multiplication); most of its steps are those
of S. Boehm, "How to Optimize a CUDA Matmul Kernel for cuBLAS-like Performance" (2022). ``docs/ladder.md``
explains each step.
"""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from tilewright.errors import ArgumentError, DeviceError
from tilewright.model import Binary, Config, Device, Kernel, Launch, Source
from tilewright.stencils.cuda import args
from tilewright.stencils.cuda.source import FOLDER as KERNELS
from tilewright.targets.cuda import devices, driver, modules, nvrtc
from tilewright.targets.cuda.arguments import Argument
from tilewright.targets.cuda.binding import Binding
from tilewright.tuning import timing

Row = dict[str, Any]
Array = np.ndarray[Any, Any]
Run = Callable[[], object]

FOLDER = Path(__file__).parent
HEADER = "lib/gemm.cuh"
ITEM = 4
"""Bytes of an element."""

DOCUMENT_CUBLAS = 31.66
"""10^12 operations a second of cuBLAS in the document, at order 4096 (RTX 5070 Ti, peak 43.9)."""


# ---- the rungs


@dataclass(frozen=True, slots=True)
class Rung:
    """One kernel of the ladder: its file, the idea it adds, the share of cuBLAS that the document
    measured, and the configs that a run tries, which name every definition of the file.

    ``square`` blocks have BLOCK_DIM x BLOCK_DIM threads and elements; ``dynamic`` kernels are given
    their shared memory at the launch.
    """

    number: int
    name: str
    technique: str
    document: float
    configs: tuple[Config, ...]
    square: bool = False
    dynamic: bool = False

    @property
    def file(self) -> str:
        """The file's name in ``FOLDER``."""
        return f"{self.number:02}_{self.name}.cuh"

    def source(self, config: Mapping[str, int]) -> Source:
        """The program of a config."""
        header = (KERNELS / HEADER).read_text()
        defines = tuple((name, str(value)) for name, value in config.items())
        return Source((FOLDER / self.file).read_text(), self.name, ((HEADER, header),), defines)

    def tile(self, config: Mapping[str, int]) -> tuple[int, int]:
        """Rows and columns of C of a block."""
        if self.square:
            return config["BLOCK_DIM"], config["BLOCK_DIM"]
        return config["BM"], config["BN"]

    def threads(self, config: Mapping[str, int]) -> int:
        """Threads of a block."""
        rows, columns = self.tile(config)
        if self.square:
            return rows * columns
        if "WM" in config:
            return rows // config["WM"] * (columns // config["WN"]) * 32
        return rows // config["TM"] * (columns // config["TN"])

    def shared(self, config: Mapping[str, int]) -> int:
        """Bytes of shared memory that the launch must give."""
        if not self.dynamic:
            return 0
        copies = 2 if config["PREFETCH"] == 2 else 1
        return copies * config["BK"] * (config["BM"] + 4 + config["BN"]) * ITEM

    def launch(self, config: Mapping[str, int], m: int, n: int) -> Launch:
        """Blocks and threads for a result of m x n."""
        rows, columns = self.tile(config)
        threads = (columns, rows, 1) if self.square else (self.threads(config), 1, 1)
        return Launch(grid=(-(-n // columns), -(-m // rows), 1), block=threads, shared=self.shared(config))

    def intensity(self, config: Mapping[str, int], m: int, n: int, k: int) -> float:
        """Operations per byte asked of device memory, were there no caches.

        2MN(K + 1) operations, as alpha and beta count; A is read N / BN times and B M / BM times, where
        the naive kernel's blocks share nothing and count as 1 x 1; C is read and written once.
        """
        rows, columns = (1, 1) if self.number == 1 else self.tile(config)
        elements = m * n * k / columns + m * n * k / rows + 2 * m * n
        return 2 * m * n * (k + 1) / (ITEM * elements)


def _configs(names: str, *points: str) -> tuple[Config, ...]:
    keys = names.split()
    return tuple(Config(dict(zip(keys, map(int, point.split()), strict=True))) for point in points)


RUNGS = (
    Rung(
        1,
        "naive",
        "one thread, one element",
        0.0647,
        _configs("BLOCK_DIM UNROLL", "32 4", "32 8", "16 4", "16 8"),
        square=True,
    ),
    Rung(
        2,
        "block_tiling",
        "tiles in shared memory",
        0.1102,
        _configs("BLOCK_DIM", "32", "16"),
        square=True,
    ),
    Rung(
        3,
        "thread_coarsening",
        "a patch of C in a thread's registers",
        0.6333,
        _configs("BM BN BK TM TN MIN_BLOCKS", "128 128 8 8 8 2", "128 128 16 8 8 2", "128 128 8 16 8 2"),
    ),
    Rung(
        4,
        "vectorised",
        "16 bytes at a time, A turned around",
        0.8263,
        _configs(
            "BM BN BK TM TN MIN_BLOCKS",
            "128 128 16 8 8 2",
            "128 128 8 8 8 2",
            "128 128 16 16 8 2",
            "128 128 16 16 4 2",
        ),
    ),
    Rung(
        5,
        "warp_tiling",
        "a compact tile for each warp",
        0.8272,
        _configs(
            "BM BN BK WM WN TM TN MIN_BLOCKS",
            "128 128 16 32 128 16 8 2",
            "128 128 16 64 64 16 8 2",
            "128 128 16 32 64 8 8 2",
            "128 128 16 64 32 16 4 2",
        ),
    ),
    Rung(
        6,
        "warp_tiling_subdivided",
        "subtiles without bank conflicts, tiles read ahead",
        0.9065,
        _configs(
            "BM BN BK WM WN WMITER WNITER TM TN PREFETCH PAIRED ORDER MIN_BLOCKS",
            "128 128 16 64 64 2 4 4 4 2 1 2 2",
            "128 128 16 64 64 4 2 4 4 2 1 1 2",
            "128 128 16 64 64 2 4 4 4 2 0 2 2",
            "128 128 16 64 64 2 4 4 4 1 1 2 2",
            "128 128 8 64 64 2 4 4 4 2 1 2 2",
            "128 256 16 64 64 2 4 4 4 2 1 2 1",
            "256 128 16 64 64 4 2 4 4 2 1 1 1",
            "128 128 16 32 64 2 2 4 4 2 1 0 2",
            "128 128 16 32 128 2 2 8 4 0 0 0 2",
        ),
        dynamic=True,
    ),
)


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


def survey(n: int, device: Device, every: bool = False) -> Row:
    """The table of ``climb`` without running anything: each rung's first config, or every one.

    Without a compiler only intensities are known; ``missing`` says what there is not.
    """
    if n < 1:
        raise ArgumentError(f"n={n}; accepted: the order of a matrix, 1 or more")
    points = [(rung, config) for rung in RUNGS for config in (rung.configs if every else rung.configs[:1])]
    blind = nvrtc.compiler_missing()
    if blind is None:
        rows = [facts(rung, config, device, n) for rung, config in points]
    else:
        rows = [outline(rung, config, n) for rung, config in points]
    missing = [text for text in (blind, devices.missing()) if text is not None]
    return {
        "device": device.name,
        "n": n,
        "vendor": None,
        "vendor_tflops": None,
        "rows": rows,
        "missing": list(dict.fromkeys(missing)),
    }


def peak(device: Device) -> float:
    """Operations a second of all single-precision units at the top clock."""
    return 2.0 * device.rates["fma.s"] * device["sms"] * device["clock_khz"] * 1e3


# ---- arguments, and the right answer


def arguments(m: int, n: int, k: int, pitches: args.Three | None = None) -> tuple[Argument, ...]:
    """``struct Gemm`` for a row-major product; ``pitches`` are the elements from a row of A, of B and of C
    to the next, packed when None."""
    return (args.struct_gemm((m, n, k), pitches or (k, n, n), (0, 0, 0), 1),)


def excess(got: Array, a: Array, b: Array, c: Array, alpha: float, beta: float) -> float:
    """The worst error of ``got`` over its bound: up to 1 is right; NaN where there should be none is inf.

    ``a`` are the rows of A that belong to the rows of ``got``. The bound is that of a sum of K products in
    any order and three more roundings (Higham, "Accuracy and Stability of Numerical Algorithms", 3.5).
    """
    wide_a, wide_b = a.astype(np.float64), b.astype(np.float64)
    old = beta * c.astype(np.float64) if beta else np.zeros(got.shape)
    product = wide_a @ wide_b if alpha else np.zeros(got.shape)
    size = abs(alpha) * (abs(wide_a) @ abs(wide_b)) if alpha else np.zeros(got.shape)
    bound = (a.shape[1] + 3) * 2.0**-24 * (size + abs(old)) + np.finfo(np.float32).tiny
    error = abs(got.astype(np.float64) - (alpha * product + old))
    worst = np.max(np.where(np.isfinite(error), error / bound, np.inf), initial=0.0)
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


def check(rung: Rung, config: Config, kernel: Kernel, case: Case) -> float:
    """The excess (see ``excess``) of one product on the device; inf when something beside C was written."""
    draw = np.random.default_rng(7)
    padded, addresses, memories = [], [], []
    sizes = ((case.m, case.k), (case.k, case.n), (case.m, case.n))
    for (rows, columns), gap in zip(sizes, case.gaps, strict=True):
        whole = np.full(GUARD + rows * (columns + gap) + GUARD, np.nan, np.float32)
        inside = whole[GUARD : len(whole) - GUARD].reshape(rows, columns + gap)[:, :columns]
        inside[:] = draw.standard_normal((rows, columns), np.float32)
        memory = driver.allocate(whole.nbytes + case.offset * ITEM)
        padded.append((whole, inside))
        memories.append(memory)
        addresses.append(memory.address + case.offset * ITEM)
    (_, a), (_, b), (whole_c, c) = padded
    old = c.copy()
    if case.beta == 0.0:
        c[:] = np.nan
    for (whole, _), address in zip(padded, addresses, strict=True):
        driver.upload(address, whole)
    pointers = (addresses[0] + GUARD * ITEM, addresses[1] + GUARD * ITEM, addresses[2] + GUARD * ITEM)
    ld = tuple(columns + gap for (_, columns), gap in zip(sizes, case.gaps, strict=True))
    described = arguments(case.m, case.n, case.k, (ld[0], ld[1], ld[2]))
    launch, scalars = rung.launch(config, case.m, case.n), {"alpha": case.alpha, "beta": case.beta}
    Binding(kernel, launch, described, scalars).put(pointers)(0)
    driver.synchronize()
    driver.download(whole_c, addresses[2])
    got = c.copy()
    c[:] = np.nan
    if not np.isnan(whole_c).all():
        return math.inf
    return excess(got, a, b, old, case.alpha, case.beta)


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
            x, y = (torch.from_numpy(operand).to(place) for operand in (a, b))
            z = torch.empty_like(x)
            with torch.cuda.stream(torch.cuda.default_stream(place)):
                yield f"PyTorch {torch.__version__}", lambda: torch.mm(x, y, out=z)
        finally:
            torch.backends.cuda.matmul.allow_tf32 = allowed
        return
    cupy = _cupy()
    if cupy is None:
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

    @staticmethod
    def of(n: int, device: Device) -> _Stand:
        draw = np.random.default_rng(11)
        a, b = (draw.standard_normal((n, n), np.float32) for _ in range(2))
        memories = [driver.allocate(n * n * ITEM) for _ in range(3)]
        for memory, operand in zip(memories, (a, b), strict=False):
            driver.upload(memory.address, operand)
        rows = sorted({0, n // 2, n - 1, *draw.integers(0, n, 61).tolist()})
        return _Stand(n, device, a, b, memories, driver.Stopwatch(), rows)

    def attempt(self, rung: Rung, config: Config) -> tuple[Row, Run, int]:
        """A config checked and, if it is right, timed alone: its facts with ``error``, ``right`` and
        ``tflops``; what starts it; and the calls of a sample."""
        n, kernel = self.n, modules.load(compiled(rung, config, self.device))
        pointers = (self.memories[0].address, self.memories[1].address, self.memories[2].address)
        scalars: dict[str, complex] = {"alpha": 1.0, "beta": 0.0}
        run = Binding(kernel, rung.launch(config, n, n), arguments(n, n, n), scalars).put(pointers)
        error = max(check(rung, config, kernel, case) for case in CASES)
        driver.fill(pointers[2], n * n * ITEM, 0xFF)  # NaN
        run()
        driver.synchronize()
        got = np.empty((n, n), np.float32)
        driver.download(got, pointers[2])
        error = max(error, excess(got[self.rows], self.a[self.rows], self.b, got[self.rows], 1.0, 0.0))
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
    n: int = 4096, index: int = 0, rounds: int = 11, listen: Callable[[str], None] = lambda _: None
) -> Row:
    """The table of order n on a device: each rung's best config, beside cuBLAS, timed in turns.

    Every config is checked on ``CASES`` and on rows of the product of order n, and timed alone; the best
    right one of each rung then takes turns with cuBLAS, one sample each in every round in a new order, and
    ``of_cublas`` is the median of the ratios within rounds with its 95 % ``interval``. Returns ``device``,
    ``n``, ``vendor`` (what cuBLAS was reached through; None without), ``vendor_tflops``, ``rows``,
    ``tried`` (every config alone) and ``missing``. Raises ``DeviceError`` without a device.
    """
    if n < 1:
        raise ArgumentError(f"n={n}; accepted: the order of a matrix, 1 or more")
    reason = devices.missing()
    if reason is not None:
        raise DeviceError(f"the ladder needs a CUDA device: {reason}")
    driver.context(index)
    stand = _Stand.of(n, devices.probe(index))
    tried: list[Row] = []
    best: dict[int, tuple[Row, Run, int]] = {}
    for rung in RUNGS:
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
    speeds = {number: 2.0 * n**3 / statistics.median(taken) for number, taken in samples.items()}
    return {
        "device": stand.device.name,
        "driver": devices.driver_version(),
        "toolchain": nvrtc.toolchain(),
        "clocks": driver.clocks(index),
        "n": n,
        "vendor": None if vendor is None else vendor[0],
        "vendor_tflops": None if vendor is None else speeds[VENDOR] / 1e12,
        "rows": [
            best[rung.number][0]
            | {
                "tflops": speeds[rung.number] / 1e12,
                "of_peak": speeds[rung.number] / peak(stand.device),
                **_against(samples.get(VENDOR), samples[rung.number]),
            }
            for rung in RUNGS
            if rung.number in best
        ],
        "tried": tried,
        "missing": [] if vendor is not None else ["PyTorch or CuPy, to reach cuBLAS through"],
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
            samples[number].append(watch.time(run, repeats) / repeats)
    return samples


def _against(theirs: Sequence[float] | None, ours: Sequence[float]) -> Row:
    """How many times as fast as cuBLAS, by the ratios within rounds, and the 95 % interval."""
    if theirs is None:
        return {"of_cublas": None, "interval": None}
    middle, low, high = timing.median_interval([t / o for t, o in zip(theirs, ours, strict=True)])
    return {"of_cublas": middle, "interval": (low, high)}
