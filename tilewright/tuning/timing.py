"""The timing protocol: how a callable becomes seconds. Every figure of this package comes from here.

1. Warm-up. The first call pays for page faults, cold caches, the instruction cache and lazy binding.
2. Calibration. The callable is repeated inside a sample until the sample lasts at least as long as
   the stopwatch asks for. On a CPU that is ``SAMPLE`` seconds in the regime ``cached``, so that the
   two clock readings (some 0.1 us) and a stray interrupt (some us) stay below 1 % of it; a pass of
   the regime ``memory`` walks over more bytes than the last cache holds, is long enough by itself,
   and must not be repeated: a sample is one pass. An accelerator's stopwatch asks for repeats in both
   regimes: its calls only queue work, and the cost of queueing hides behind the work before. There
   ``run`` itself sees to it that no call of the regime ``memory`` finds its operands in a cache.
3. Samples until the 95 % interval of their median is narrower than ``target`` on either side, or the
   budget is spent. A fixed number of repeats is too many on a quiet machine and too few on a busy one.
4. The median, not the mean and not the minimum. Disturbances only ever add time, so the mean is
   theirs; the minimum is the luckiest moment of the machine, which no user sees and which falls the
   longer one looks, so it favours whoever was measured more often.
5. The interval comes from order statistics and supposes no distribution: timings are skewed and
   have several peaks (T. Hoefler, R. Belli, "Scientific Benchmarking of Parallel Computing Systems",
   SC 2015, sections 3.1.2 and 3.1.3; H. A. David, H. N. Nagaraja, "Order Statistics", 3rd ed., 7.1).
6. A candidate that its first sample shows to be beyond the limit is not measured further (``early_stop``): a
   search has better uses for the time, and the record says that it holds one sample.
7. Competitors are interleaved: one sample of each, in a new order every round, so that a slow minute
   of the machine hits all of them, and speeds are compared by the ratios within rounds. Finalists take
   turns until they are told apart or level (``contest``).
8. All raw samples are kept. None is thrown away for being large; one that is not positive cannot be
   a duration (a clock that stepped back), is not kept, and is taken again.

Nothing is subtracted: the cost of calling is part of what is called. Stopping when the interval is
narrow makes its true coverage a little less than 95 %. A change here that moves figures changes
``ALONE`` and ``INTERLEAVED``, and figures of different protocols are not compared.
"""

from __future__ import annotations

import datetime
import functools
import gc
import math
import random
import statistics
import time
from bisect import insort
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Protocol

from tilewright.errors import ArgumentError, DeviceError
from tilewright.model import Record, Timing

ALONE, INTERLEAVED, DECIDED = 1, 2, 3
"""The protocol's numbers: a figure taken alone; one taken in turns with its rivals, which outranks it; and
one taken in turns by who won these turns, or by the vendor in them: what a record says of a figure is what
came of it."""
REGIMES = ("cached", "memory")
SAMPLE = 0.5e-3
MOST_REPEATS = 1 << 22
MISSES = 20
"""One interval in this many may miss the median: 95 % confidence."""
TRIED = 0.01
"""``target`` of a search's tries: finalists are timed again, and better."""

Run = Callable[[], object]
Clock = Callable[[], float]


class Stopwatch(Protocol):
    """What reads the time that calls take: a clock of the host, or events on an accelerator."""

    def time(self, run: Run, repeats: int) -> float:
        """Seconds that ``repeats`` calls take together, all of their work done."""

    def sample(self, regime: str) -> float:
        """Seconds that a sample lasts at least; 0 where it is one call, however short."""


class Ticks:
    """A stopwatch over a clock of the host, which reads seconds; the calls do their work themselves."""

    def __init__(self, clock: Clock):
        self.clock = clock

    def time(self, run: Run, repeats: int) -> float:
        """Seconds that ``repeats`` calls take together."""
        clock, calls = self.clock, range(repeats)
        start = clock()
        for _ in calls:
            run()
        return clock() - start

    def sample(self, regime: str) -> float:
        """``SAMPLE`` on cached data; a pass over memory is a sample."""
        return 0.0 if regime == "memory" else SAMPLE


HOST = Ticks(time.perf_counter)


@functools.cache
def _rank(count: int, misses: int = MISSES) -> int:
    """How many samples to drop at each end of ``count`` sorted ones so that the interval of the rest misses
    the median 1 time in ``misses``.

    The median of the population lies below the r-th smallest of n samples with the probability that
    at most r - 1 of n fair coins show heads. Fewer than 6 samples cannot give 95 %: none is dropped
    (5 samples: 93.75 %).
    """
    tail = 0
    for rank in range(count):
        tail += math.comb(count, rank)
        if 2 * tail * misses > 2**count:
            return max(0, rank - 1)
    return 0


def median_interval(samples: Sequence[float], misses: int = MISSES) -> tuple[float, float, float]:
    """Median of the samples, and the low and high end of its interval, in the samples' unit.

    The interval misses the true median 1 time in ``misses``: 95 % confidence, if nothing else is said.
    """
    if not samples:
        raise ArgumentError("samples=() has no median; accepted: at least one number")
    ordered = sorted(samples)
    drop = _rank(len(ordered), misses)
    return statistics.median(ordered), ordered[drop], ordered[-1 - drop]


def _narrow(ordered: Sequence[float], target: float) -> bool:
    """Whether the interval of sorted samples lies within ``target`` (relative) of their median."""
    drop = _rank(len(ordered))
    median = statistics.median(ordered)
    return max(ordered[-1 - drop] - median, median - ordered[drop]) <= target * median


def _timing(samples: Sequence[float], regime: str, batch: int, protocol: int = ALONE) -> Timing:
    return Timing(tuple(samples), *median_interval(samples), regime, batch, protocol)


@contextmanager
def _quiet() -> Iterator[None]:
    """No garbage collection inside: it would land in somebody's sample."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _is_duration(seconds: float) -> bool:
    return 0 < seconds < math.inf


def _repeats(run: Run, regime: str, watch: Stopwatch) -> int:
    """Warm up, then find how many calls one sample needs."""
    watch.time(run, 1)
    least = watch.sample(regime)
    if not least:
        return 1
    repeats = 1
    while (seconds := watch.time(run, repeats)) < least:
        if repeats >= MOST_REPEATS:
            raise DeviceError(f"{repeats} calls took {seconds} s by this clock: it does not advance")
        # Aim beyond the goal, or noise decides whether a sample is long enough; never grow by more
        # than 12.5, because the first readings may be far too small.
        wanted = 1.25 * repeats * least / max(seconds, least / 10)
        repeats = min(MOST_REPEATS, math.ceil(max(2 * repeats, wanted)))
    return repeats


def _check(regime: str, least: int, most: int) -> None:
    if regime not in REGIMES:
        raise ArgumentError(f"regime={regime!r} is not known; accepted: {', '.join(REGIMES)}")
    if not 1 <= least <= most:
        raise ArgumentError(f"least={least}, most={most}: accepted: 1 <= least <= most")


def measure(
    run: Run,
    *,
    watch: Stopwatch = HOST,
    regime: str,
    batch: int,
    budget: float = 0.15,
    least: int = 5,
    most: int = 200,
    target: float = 0.005,
    early_stop: float = math.inf,
) -> Timing:
    """Seconds for one call of ``run``, which makes one pass over ``batch`` products.

    ``budget`` in seconds covers warm-up, calibration and samples, but ``least`` samples are taken in
    any case. Stops early when the interval of the median is within ``target`` (relative) of it on both
    sides, or when the first sample takes more than ``early_stop`` seconds a call.

    Raises ``DeviceError`` when the clock does not advance.
    """
    _check(regime, least, most)
    samples: list[float] = []
    ordered: list[float] = []
    refused = 0
    with _quiet():
        begin = time.perf_counter()
        repeats = _repeats(run, regime, watch)
        while len(samples) < most:
            seconds = watch.time(run, repeats) / repeats
            if _is_duration(seconds):
                samples.append(seconds)
                insort(ordered, seconds)
            elif (refused := refused + 1) > most:
                raise DeviceError(f"the clock gave {refused} samples that are not positive")
            if len(samples) == 1 and seconds > early_stop:
                break
            if len(samples) >= least and (time.perf_counter() - begin >= budget or _narrow(ordered, target)):
                break
    return _timing(samples, regime, batch)


def interleaved(
    runs: Mapping[str, Run],
    *,
    rounds: int = 25,
    regime: str,
    batch: int,
    watch: Stopwatch = HOST,
    budget: float = math.inf,
    least: int = 5,
    seed: int = 0,
    until: Callable[[Mapping[str, Sequence[float]]], bool] = lambda samples: False,
) -> dict[str, Timing]:
    """Timings of competitors taken in turns: sample i of each belongs to the same round i.

    Every round goes through all of them in a new order, so that none always follows the same
    neighbour. In the regime ``cached`` each sample follows one call that is not timed, which brings
    its own operands back. After ``least`` rounds a spent ``budget`` (seconds) ends the rounds, and so does
    ``until``, which is asked after every round, whenever it says that the samples are enough.
    """
    _check(regime, least, max(rounds, least))
    samples: dict[str, list[float]] = {name: [] for name in runs}
    order, shuffle = list(runs), random.Random(seed).shuffle
    done = refused = 0
    with _quiet():
        begin = time.perf_counter()
        repeats = {name: _repeats(run, regime, watch) for name, run in runs.items()}
        while done < rounds and not (done >= least and time.perf_counter() - begin >= budget):
            shuffle(order)
            taken = {}
            for name in order:
                if regime == "cached":
                    runs[name]()
                taken[name] = watch.time(runs[name], repeats[name]) / repeats[name]
            if all(_is_duration(seconds) for seconds in taken.values()):
                done += 1
                for name, seconds in taken.items():
                    samples[name].append(seconds)
                if done >= least and until(samples):
                    break
            elif (refused := refused + 1) > rounds:
                raise DeviceError(f"the clock gave samples that are not positive in {refused} rounds")
    return {name: _timing(taken, regime, batch, INTERLEAVED) for name, taken in samples.items()}


def ratio(a: Timing, b: Timing) -> tuple[float, float, float]:
    """Time of ``a`` over time of ``b``: median of the ratios within rounds, and its 95 % interval.

    Above 1, ``b`` is the faster one; an interval that holds 1 decides nothing. Only samples of one
    ``interleaved`` run are paired; others raise ``ArgumentError``.
    """
    alone = {a.protocol, b.protocol} != {INTERLEAVED}
    if alone or len(a.samples) != len(b.samples) or a.regime != b.regime:
        raise ArgumentError(
            f"a has {len(a.samples)} samples ({a.regime}, protocol {a.protocol}), "
            f"b has {len(b.samples)} ({b.regime}, protocol {b.protocol}); "
            "accepted: two timings of one interleaved run"
        )
    return median_interval([x / y for x, y in zip(a.samples, b.samples, strict=True)])


def speed(record: Record) -> float:
    """Products per second of a record that has a timing."""
    assert record.timing is not None
    return record.timing.batch / record.timing.median


def now() -> str:
    """The moment, to the microsecond, in UTC."""
    return datetime.datetime.now(datetime.UTC).isoformat()
