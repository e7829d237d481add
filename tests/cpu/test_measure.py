"""The timing protocol on the real clock: alone on the machine, unlike what is run beside other tests."""

from __future__ import annotations

import statistics
from collections.abc import Callable

import pytest

from tilewright.tuning import timing

pytestmark = pytest.mark.cpu


def work(count: int) -> Callable[[], object]:
    return lambda: sum(range(count))


def test_twice_the_work_takes_twice_the_time() -> None:
    runs = {"one": work(2000), "two": work(4000)}
    timings = timing.interleaved(runs, rounds=15, regime="cached", batch=1)
    assert 1.5 < timing.ratio(timings["two"], timings["one"])[0] < 2.6
    assert timings["one"].median == statistics.median(timings["one"].samples)
