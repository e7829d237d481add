"""New memory of results is first touched by the threads that compute there: its pages lie near them."""

from __future__ import annotations

import ctypes
import mmap
import os
import resource

import numpy as np
import pytest

import tilewright as tw
from bench import pages
from tilewright.arrays.numpy_ import new_output
from tilewright.runtime.team import find_team

pytestmark = pytest.mark.cpu

BATCH, N = 20_000, 8


def resident(array: np.ndarray) -> int:
    """Pages within an array that somebody has touched."""
    first = -(-array.ctypes.data // mmap.PAGESIZE) * mmap.PAGESIZE
    whole = (array.ctypes.data + array.nbytes - first) // mmap.PAGESIZE
    there = (ctypes.c_ubyte * whole)()
    status = ctypes.CDLL(None).mincore(ctypes.c_void_p(first), ctypes.c_size_t(whole * mmap.PAGESIZE), there)
    assert status == 0
    return sum(byte & 1 for byte in there)


def touched() -> int:
    """Pages that this thread was the first to touch, since it began."""
    return resource.getrusage(resource.RUSAGE_THREAD).ru_minflt


def test_nobody_touches_new_memory_before_the_product() -> None:
    """But for what lies on the pages of its first and last bytes, and in a large page of the system's. So
    much memory is new from the system, and none that the process had before."""
    made = new_output((150_000, N, N), np.dtype("f8"))
    assert resident(made) <= 512
    made[...] = 0
    assert resident(made) >= made.nbytes // mmap.PAGESIZE - 1


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two cores")
@pytest.mark.skipif(find_team() is None, reason="needs an OpenMP runtime")
def test_each_thread_touches_what_it_computes(monkeypatch: pytest.MonkeyPatch) -> None:
    # Whatever waking them takes.
    monkeypatch.setattr("tilewright.runtime.bound_cpu.alone", lambda problem: 10**9)
    tw.forget()
    a, b = (np.ones((BATCH, N, N)) for _ in range(2))
    tw.set_threads(2)
    try:
        plan = tw.plan(a, b)
        assert plan.plan.threads == 2
        own = []
        # Where the other core has much to do, this thread takes its share as well: in some call it did not.
        for _ in range(40):
            out = pages.fresh(BATCH * N * N, "f8").reshape(BATCH, N, N)
            before = touched()
            plan(a, b, out=out)
            own.append(touched() - before)
            assert resident(out) == out.nbytes // mmap.PAGESIZE
            if own[-1] < 0.75 * out.nbytes / mmap.PAGESIZE:
                break
    finally:
        tw.set_threads(None)
        monkeypatch.undo()
        tw.forget()
    assert min(own) < 0.75 * out.nbytes / mmap.PAGESIZE
