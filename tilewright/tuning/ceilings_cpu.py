"""Measured ceilings of a processor: bandwidth by mix and footprint, and peak by type."""

from __future__ import annotations

import math
import os
import statistics
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilewright.model import Device, Kernel, Source
from tilewright.targets.cpu import llvm
from tilewright.targets.protocol import Target

MIXES = {"update": 4, "stream": 3, "write": 3, "read": 3}
"""Streams that each mix is counted as."""

UNROLL = 8
"""Vectors of each operand in one step of a bandwidth loop: whole cache lines of each at a time."""

CHAINS = 12
"""Independent multiply-adds in flight: more than latency 4 x 2 pipes, and 16 registers hold them."""

TURNS = 4
PEAK_STEPS = 1 << 16
"""Steps of one pass of a peak: some ms, so that threads starting 50 us apart do not matter."""

ROUNDS = 7
SAME = 0.9
"""A narrower vector is the unit of price when it reaches this part of the widest one's peak."""

KNEE_ROUNDS = 5
LONG = 32 << 20
"""Bytes that each core goes through in one sample of a footprint, so that it lasts a millisecond."""
FAR = 3
"""Footprints that speak for memory: at steps of sqrt(2) those from half of the largest one on."""
PAYS = 4 / 3
"""How many times as fast as memory a cache has to be: a kernel that streams its stores past the caches moves
three streams where one that keeps C in them moves four, and up to here it is no slower."""

_ENTRY = "roofline"
_CALL = "ptr %A, ptr %B, ptr %C, i64 %sa, i64 %sb, i64 %sc, i64 %count, ptr %scalars"


Call = Callable[..., Any]


def _loop(
    before: Sequence[str], carried: Sequence[tuple[str, str]], body: Sequence[str], after: Sequence[str]
) -> str:
    """A function that runs ``body`` for ``%i`` from 0 to ``%count`` (at least once).

    ``carried`` are (type, name) of sums that begin at zero; ``body`` defines ``%next.name`` of each.
    """
    phis = [f"%{x} = phi {kind} [ zeroinitializer, %entry ], [ %next.{x}, %loop ]" for kind, x in carried]
    counted = ["%following = add i64 %i, 1", "%more = icmp slt i64 %following, %count"]
    lines = [
        f"define void @{_ENTRY}({_CALL}) {{",
        "entry:",
        *before,
        "br label %loop",
        "loop:",
        "%i = phi i64 [ 0, %entry ], [ %following, %loop ]",
        *phis,
        *body,
        *counted,
        "br i1 %more, label %loop, label %done",
        "done:",
        *after,
        "ret void",
        "}",
    ]
    return "\n".join(lines)


def _keep(vector: str, real: str, lanes: int, names: Sequence[str]) -> list[str]:
    """Store sums at ``%scalars``, once: work whose result nobody uses would be left out."""
    lines = []
    for j, name in enumerate(names):
        lines.append(f"%out{j} = getelementptr {real}, ptr %scalars, i64 {j * lanes}")
        lines.append(f"store {vector} %next.{name}, ptr %out{j}, align 4")
    return lines


def bandwidth_ir(mix: str, vector_bits: int) -> Source:
    """A loop over doubles that does one mix of loads and stores.

    ``count`` is in steps of ``UNROLL`` vectors of each operand; all addresses are vector-aligned. After
    every ``sa`` steps it begins anew at the operands' first (0: never).
    """
    lanes = vector_bits // 64
    vector, size = f"<{lanes} x double>", vector_bits // 8
    mark = f"align {size}, !nontemporal !0" if mix == "stream" else f"align {size}"
    reads_c = mix in ("update", "read")
    body = [
        f"%at = mul i64 %j, {UNROLL * lanes}",
        "%up = add i64 %j, 1",
        "%wraps = icmp eq i64 %up, %sa",
        "%next.j = select i1 %wraps, i64 0, i64 %up",
    ]
    for j in range(UNROLL):
        body.append(f"%at{j} = add i64 %at, {j * lanes}")
        body += [f"%p{x}{j} = getelementptr double, ptr %{x}, i64 %at{j}" for x in "ABC"]
        body += [f"%{x}{j} = load {vector}, ptr %p{x}{j}, align {size}" for x in ("ABC" if reads_c else "AB")]
        body.append(f"%ab{j} = fadd {vector} %A{j}, %B{j}")
        if reads_c:
            body.append(f"%abc{j} = fadd {vector} %ab{j}, %C{j}")
        total = f"%abc{j}" if reads_c else f"%ab{j}"
        if mix == "read":
            body.append(f"%next.s{j} = fadd {vector} %s{j}, {total}")
        else:
            body.append(f"store {vector} {total}, ptr %pC{j}, {mark}")
    sums = [f"s{j}" for j in range(UNROLL)] if mix == "read" else []
    carried = [("i64", "j"), *((vector, x) for x in sums)]
    text = _loop([], carried, body, _keep(vector, "double", lanes, sums))
    return Source(f"{text}\n!0 = !{{i32 1}}\n", _ENTRY)


def peak_ir(real_bits: int, vector_bits: int) -> Source:
    """A loop of independent fused multiply-adds; ``count`` is in steps of ``TURNS`` x ``CHAINS`` of them.

    Each is s = s*x + y on vectors x, y that are read once, at ``%A`` and ``%B``.
    """
    real, lanes = ("double" if real_bits == 64 else "float"), vector_bits // real_bits
    vector, fma = f"<{lanes} x {real}>", f"@llvm.fma.v{lanes}f{real_bits}"
    sums = [f"s{chain}" for chain in range(CHAINS)]
    body, old = [], {x: f"%{x}" for x in sums}
    for turn in range(TURNS):
        for x in sums:
            new = f"%next.{x}" if turn == TURNS - 1 else f"%t{turn}.{x}"
            body.append(f"{new} = call {vector} {fma}({vector} {old[x]}, {vector} %x, {vector} %y)")
            old[x] = new
    before = [f"%x = load {vector}, ptr %A, align 4", f"%y = load {vector}, ptr %B, align 4"]
    text = _loop(before, [(vector, x) for x in sums], body, _keep(vector, real, lanes, sums))
    return Source(f"{text}\ndeclare {vector} {fma}({vector}, {vector}, {vector})\n", _ENTRY)


# -- measuring ------------------------------------------------------------------------------------
def _together(
    jobs: Sequence[Sequence[Callable[[], object]]],
    rounds: int = ROUNDS,
    figure: Callable[..., Any] = np.median,
) -> list[float]:
    """Median (or another ``figure``) of the seconds of each job: a job is one work per thread, all at once.

    One more round warms up. Every round does all jobs, so that a slow moment of the machine hits all of
    them. A job lasts from its first start to its last end. The works are foreign calls, which let other
    threads run. Each thread stays on a core of its own: the system tends to wake a short-lived thread on
    the core of its waker, and two would take turns there.
    """
    threads = len(jobs[0])
    stamps = np.zeros((rounds + 1, len(jobs), threads, 2))
    gate = threading.Barrier(threads)
    failures: list[BaseException] = []
    homes = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_setaffinity") else []

    def worker(number: int) -> None:
        try:
            if homes:
                os.sched_setaffinity(0, {homes[number % len(homes)]})
            for turn, (job, works) in product(range(rounds + 1), enumerate(jobs)):
                gate.wait()
                stamps[turn, job, number, 0] = time.perf_counter()
                works[number]()
                stamps[turn, job, number, 1] = time.perf_counter()
        except BaseException as failure:
            failures.append(failure)
            gate.abort()

    team = [threading.Thread(target=worker, args=(number,)) for number in range(threads)]
    for thread in team:
        thread.start()
    for thread in team:
        thread.join()
    if failures:
        raise failures[0]
    lasted = stamps[1:, :, :, 1].max(axis=2) - stamps[1:, :, :, 0].min(axis=2)
    return [float(seconds) for seconds in figure(lasted, axis=0)]


def _aligned(count: int, lines: int = 0) -> NDArray[np.float64]:
    """Uninitialised memory for ``count`` doubles, ``lines`` cache lines past the start of a page."""
    raw = np.empty(8 * count + 8192, np.uint8)
    shift = -int(raw.ctypes.data) % 4096 + 64 * lines
    return raw[shift : shift + 8 * count].view(np.float64)


class _Streams:
    """Three arrays that are together far larger than the caches, in one share per core.

    Each share is first touched by its own core: where memory has several nodes, a page lies on the
    node that touched it first.
    """

    def __init__(self, device: Device, cores: int):
        step = UNROLL * device["vector_bits"] // 64
        total = min(max(128 << 20, 8 * device["l3"]), 1 << 30)
        self.share = total // (3 * 8 * step * cores) * step
        # Not all on the same place in a page, or a load seems to depend on the store before it.
        self.arrays = [_aligned(self.share * cores, lines) for lines in (0, 21, 42)]
        self.sinks = [_aligned(step) for _ in range(cores)]
        block = np.random.default_rng(0).standard_normal(1 << 16)
        _together([[partial(self._touch, core, block) for core in range(cores)]], rounds=1)

    def _touch(self, core: int, block: NDArray[np.float64]) -> None:
        for array in self.arrays:
            part = array[core * self.share : (core + 1) * self.share]
            for start in range(0, part.size, block.size):
                chunk = part[start : start + block.size]
                chunk[:] = block[: chunk.size]

    def works(
        self, call: Call, vector_bits: int, steps: int | None = None, passes: int = 1
    ) -> list[Callable[[], object]]:
        """A bandwidth loop over the first ``steps`` steps of each share (None: all of it), so many times."""
        steps = self.share // (UNROLL * vector_bits // 64) if steps is None else steps
        works: list[Callable[[], object]] = []
        for core, sink in enumerate(self.sinks):
            at = [int(array[core * self.share :].ctypes.data) for array in self.arrays]
            works.append(partial(call, *at, steps, 0, 0, steps * passes, int(sink.ctypes.data)))
        return works


def _widths(device: Device) -> list[int]:
    """Vector widths that are tried, widest first."""
    wide = device["vector_bits"]
    return [bits for bits in (wide, wide // 2, wide // 4) if bits >= 128]


def _loaded(target: Target, device: Device, source: Source, keep: list[Kernel]) -> Call:
    """A callable of a program; ``keep`` holds what must stay alive while it is called."""
    keep.append(target.load(target.compile(source, device)))
    return llvm.PROTOTYPE(keep[-1].address)


def bandwidths(target: Target, device: Device, cores: int, rounds: int = ROUNDS) -> dict[str, float]:
    """``bandwidth.<mix>.<cores>`` in bytes/s for all mixes, about a second.

    Where others use the machine too, bandwidth drifts by a factor of two within minutes: a bound that
    is printed beside a speed should come from the same run.
    """
    keep: list[Kernel] = []
    streams = _Streams(device, cores)
    jobs = [(mix, bits) for mix in MIXES for bits in _widths(device)[:2]]
    calls = [_loaded(target, device, bandwidth_ir(mix, bits), keep) for mix, bits in jobs]
    works = [streams.works(call, bits) for call, (_, bits) in zip(calls, jobs, strict=True)]
    found: dict[str, float] = {}
    for (mix, _), seconds in zip(jobs, _together(works, rounds), strict=True):
        name, moved = f"bandwidth.{mix}.{cores}", 8 * MIXES[mix] * streams.share * cores
        # Of two loops for the same mix the faster one shows what the memory can do.
        found[name] = max(found.get(name, 0.0), moved / seconds)
    return found


def footprints(least: int, most: int) -> list[int]:
    """Bytes from ``most`` down to ``least`` or a little less, each sqrt(2) times the one before."""
    count = 1 + max(0, math.ceil(2 * math.log2(most / least)))
    return [round(most / 2 ** (step / 2)) for step in reversed(range(count))]


def knee(curve: Sequence[tuple[int, float]]) -> int:
    """The footprint in bytes beyond which bandwidth is nearly that of memory, from pairs of the two.

    Each bandwidth is taken with its two neighbours (the median of three), so that one lucky or unlucky
    moment moves little. Memory's is the best of those of the ``FAR`` largest footprints. The knee is the
    largest footprint that goes ``PAYS`` times as fast, the smallest one where none does.
    """
    rows = sorted(curve)
    sizes, speeds = [size for size, _ in rows], [speed for _, speed in rows]
    ends = (speeds[0], *speeds, speeds[-1])
    smooth = [statistics.median(ends[at : at + 3]) for at in range(len(speeds))]
    least = PAYS * max(smooth[-FAR:])
    faster = [size for size, speed in zip(sizes, smooth, strict=True) if speed >= least]
    return max(faster, default=sizes[0])


def knees(target: Target, device: Device, cores: int, rounds: int = KNEE_ROUNDS) -> dict[str, float]:
    """``knee.<cores>`` in bytes, about a second: the mix ``update`` over a ladder of footprints.

    What a machine says of its last cache may be that of a host which others use too, and of it one core may
    see no more than memory's bandwidth.
    """
    keep: list[Kernel] = []
    streams, bits = _Streams(device, cores), device["vector_bits"]
    call = _loaded(target, device, bandwidth_ir("update", bits), keep)
    # Bytes that one step goes through: three operands on each core.
    step = 3 * UNROLL * bits // 8 * cores
    least = cores * device.limits.get("l2", 1 << 20) // 2
    ladder = footprints(least, streams.share * 3 * 8 * cores)
    counts = [max(1, size // step) for size in ladder]
    passes = [max(1, -(-LONG * cores // (count * step))) for count in counts]
    works = [streams.works(call, bits, count, times) for count, times in zip(counts, passes, strict=True)]
    # The best of the rounds: a disturbance hides what a cache holds, and never adds to it.
    seconds = _together(works, rounds, np.min)
    rows = zip(counts, passes, seconds, strict=True)
    return {f"knee.{cores}": float(knee([(n * step, n * step * times / s) for n, times, s in rows]))}


def peaks(target: Target, device: Device, cores: int, rounds: int = ROUNDS) -> dict[str, float]:
    """``peak.<type>.<cores>`` in flop/s for all types, and ``price_unit_bits``."""
    keep: list[Kernel] = []
    jobs = [(real, bits) for real in (32, 64) for bits in _widths(device)]
    works, hold = [], []
    for real, bits in jobs:
        call = _loaded(target, device, peak_ir(real, bits), keep)
        # |x| < 1: the sums stay near y / (1 - x), never overflow and never become subnormal.
        xy = np.random.default_rng(1).uniform(0.25, 0.75, (2, bits // real)).astype(f"f{real // 8}")
        sinks = np.empty((cores, CHAINS * bits // real), xy.dtype)
        hold += [xy, sinks]
        x, y = (int(row.ctypes.data) for row in xy)
        works.append([partial(call, x, y, x, 0, 0, 0, PEAK_STEPS, int(sink.ctypes.data)) for sink in sinks])
    speeds = {
        (real, bits): 2 * bits // real * CHAINS * TURNS * PEAK_STEPS * cores / seconds
        for (real, bits), seconds in zip(jobs, _together(works, rounds), strict=True)
    }
    found: dict[str, float] = {}
    for real, letters in ((32, "sc"), (64, "dz")):
        best = max(speed for (kind, _), speed in speeds.items() if kind == real)
        # A complex multiply-add is four real ones, 8 operations for 8: the peak is the same.
        found |= {f"peak.{letter}.{cores}": best for letter in letters}
    same = [bits for bits in _widths(device) if speeds[64, bits] >= SAME * found[f"peak.d.{cores}"]]
    return found | {"price_unit_bits": float(min(same))}


def measure(target: Target, device: Device, cores: Sequence[int] | None = None) -> dict[str, float]:
    """All ceilings of a processor, for ``Device.ceilings``; takes a few seconds.

    ``cores`` are the thread counts to measure, by default one and all. ``price_unit_bits`` is that of
    the first count.
    """
    counts = sorted({1, device["cores"]} if cores is None else set(cores))
    found: dict[str, float] = {}
    fewer: dict[str, float] = {}
    for count in counts:
        new = peaks(target, device, count) | bandwidths(target, device, count) | knees(target, device, count)
        found.setdefault("price_unit_bits", new.pop("price_unit_bits"))
        # Cores may stay idle: more of them have no lower ceiling, whatever else ran meanwhile.
        now = {name.rpartition(".")[0]: speed for name, speed in new.items()}
        fewer = {name: max(speed, fewer.get(name, 0.0)) for name, speed in now.items()}
        found |= {f"{name}.{count}": speed for name, speed in fewer.items()}
    return found
