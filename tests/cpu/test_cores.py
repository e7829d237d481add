"""Calls over several cores, from several threads and in forked processes."""

from __future__ import annotations

import ctypes
import multiprocessing
import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tests.products import FLOATS, close, filled
from tilewright.calls.settings import forget
from tilewright.errors import ArgumentError
from tilewright.planning import dispatch
from tilewright.runtime import bound_cpu, build, fastcall_cpu
from tilewright.runtime.compiled import address_of
from tilewright.runtime.team import Team

pytestmark = pytest.mark.cpu


# ---- cores


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("n", [2, 3, 5, 8, 13])
def test_the_bits_do_not_depend_on_the_batch_or_the_cores(dtype: str, n: int) -> None:
    a, b = filled((1000, n, n), dtype, 1), filled((1000, n, n), dtype, 2)
    try:
        tw.set_threads(1)
        whole = tw.matmul(a, b)
        for count in (1, 2, 7, 64, 131):
            assert tw.matmul(a[:count], b[:count]).tobytes() == whole[:count].tobytes()
        assert tw.matmul(a[17], b[17]).tobytes() == whole[17].tobytes()
        for threads in (2, 3):
            tw.set_threads(threads)
            for _ in range(2):
                assert tw.matmul(a, b).tobytes() == whole.tobytes()
    finally:
        tw.set_threads(None)


def force_cores(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    """Every call over ``count`` cores, however small and however few there are."""
    tw.forget()
    monkeypatch.setattr("tilewright.planning.dispatch.threads", lambda problem, grain, cores: count)
    monkeypatch.setattr("tilewright.runtime.bound_cpu.alone", lambda problem: 10**9)
    monkeypatch.setattr("tilewright.runtime.bound_cpu.POOLED", 0)


@pytest.mark.parametrize("count", [2, 3, 5])
@pytest.mark.parametrize("batch", [1, 2, 3, 64, 65, 200, 321])
def test_any_split_over_cores_is_the_same(count: int, batch: int, monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = filled((batch, 3, 3)), filled((batch, 3, 3), seed=1)
    shared = b[:1]
    want, want_shared = tw.matmul(a, b), tw.matmul(a, shared)
    force_cores(monkeypatch, count)
    for _ in range(2):
        assert tw.matmul(a, b).tobytes() == want.tobytes()
        assert tw.matmul(a, shared).tobytes() == want_shared.tobytes()
    # And without an OpenMP runtime, by Python's own threads.
    tw.forget()
    monkeypatch.setattr(bound_cpu, "find_team", lambda: None)
    for _ in range(2):
        assert tw.matmul(a, b).tobytes() == want.tobytes()
    monkeypatch.undo()
    tw.forget()


class Counted:
    """An OpenMP runtime that counts how often it is asked, does all by one thread, and may take its time."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch):
        self.teams, self.pause = 0, 0.0
        self._made = (
            ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint, ctypes.c_uint)(self._run),
            ctypes.CFUNCTYPE(ctypes.c_int)(lambda: 0),
            ctypes.CFUNCTYPE(ctypes.c_int)(lambda: 1),
        )
        run, which, count = self._made
        team = Team(address_of(run), address_of(which), address_of(count), "counted")
        tw.forget()
        monkeypatch.setattr("tilewright.planning.dispatch.threads", lambda problem, grain, cores: 2)
        for module in (bound_cpu, fastcall_cpu):
            monkeypatch.setattr(module, "find_team", lambda: team)
        monkeypatch.setattr(fastcall_cpu, "_natives", {})

    def _run(self, work: int, job: int, size: int, flags: int) -> None:
        self.teams += 1
        time.sleep(self.pause)
        ctypes.CFUNCTYPE(None, ctypes.c_void_p)(work)(job)


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Iterator[Counted]:
    yield Counted(monkeypatch)
    monkeypatch.undo()
    tw.forget()


def test_a_team_that_sleeps_is_not_woken_for_little(
    counted: Counted, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b = filled((64, 3, 3)), filled((64, 3, 3), seed=1)
    want = np.matmul(a, b)
    np.testing.assert_allclose(tw.matmul(a, b), want)
    # Calls that follow each other find it awake, however busy the machine is.
    for _ in range(10_000):
        np.testing.assert_allclose(tw.matmul(a, b), want)
        if counted.teams:
            break
    assert counted.teams
    time.sleep(0.02)
    before = counted.teams
    np.testing.assert_allclose(tw.matmul(a, b), want)
    assert counted.teams == before
    # What lasts is worth waking it.
    monkeypatch.setattr(bound_cpu, "alone", lambda problem: 10**9)
    tw.forget()
    time.sleep(0.02)
    np.testing.assert_allclose(tw.matmul(a, b), want)
    assert counted.teams == before + 1


def test_a_team_that_wakes_slowly_is_left_to_sleep(counted: Counted, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of batches between: one is tried, and says how it is with those of its size."""
    monkeypatch.setattr(bound_cpu, "alone", lambda problem: 2_000_000)
    counted.pause = 0.02
    a, b = filled((64, 3, 3)), filled((64, 3, 3), seed=1)
    want = np.matmul(a, b)
    for teams in (1, 1, 1):
        time.sleep(0.02)
        np.testing.assert_allclose(tw.matmul(a, b), want)
        assert counted.teams == teams
    # Nothing is said of others, which are tried as well, nor of teams that are awake.
    monkeypatch.setattr(bound_cpu, "alone", lambda problem: 8_000_000)
    tw.forget()
    time.sleep(0.02)
    np.testing.assert_allclose(tw.matmul(a, b), want)
    assert counted.teams == 2


@pytest.mark.parametrize("count", [0, -1, 1.5, "2", [1]])
def test_a_number_of_cores_is_a_whole_number(count: Any) -> None:
    with pytest.raises(ArgumentError, match="accepted: a whole number from 1, or None"):
        tw.set_threads(count)


def test_more_cores_than_there_are() -> None:
    try:
        tw.set_threads(10_000)
        a = filled((200_000, 2, 2))
        assert 1 < tw.plan(a, a).plan.threads <= len_cores() or len_cores() == 1
        tw.set_threads(1)
        assert tw.plan(a, a).plan.threads == 1
    finally:
        tw.set_threads(None)


def len_cores() -> int:
    return dispatch.device()["cores"]


# ---- threads and processes


def test_several_threads_at_once(new_home: Any) -> None:
    """Started together on nothing: every kernel is made once and is the same for all."""
    sizes = [2, 3, 7, 12]
    pairs = {n: (filled((3000, n, n)), filled((3000, n, n), seed=1)) for n in sizes}
    start, wrong = threading.Barrier(4), []

    def work(shift: int) -> None:
        try:
            start.wait()
            for turn in range(12):
                a, b = pairs[sizes[(turn + shift) % 4]]
                if turn % 5 == 4:
                    forget()
                np.testing.assert_allclose(tw.matmul(a, b), np.matmul(a, b), rtol=1e-12, atol=1e-12)
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not wrong
    assert len(fastcall_cpu._natives) == 1
    assert len(build._loaded) == len({k.address for k in build._loaded.values()}) <= 2 * len(sizes)


def in_child(pipe: Any, a: np.ndarray, b: np.ndarray, twice: bool) -> None:
    try:
        for _ in range(3):
            got = tw.matmul(a, b)
        small = tw.matmul(filled((40, 6, 6)), filled((40, 6, 6)))
        np.testing.assert_allclose(small, np.matmul(filled((40, 6, 6)), filled((40, 6, 6))), rtol=1e-12)
        pipe.send(bool(np.allclose(got, np.matmul(a, b))))
    except BaseException as error:
        pipe.send(repr(error))
    finally:
        pipe.close()


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork here")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
@pytest.mark.parametrize("team", [True, False])
def test_a_forked_child_still_computes(team: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The threads of the parent are not in the child, which must not wait for them."""
    force_cores(monkeypatch, 2)
    if not team:
        monkeypatch.setattr(bound_cpu, "find_team", lambda: None)
    a, b = filled((100_000, 4, 4)), filled((100_000, 4, 4), seed=1)
    for _ in range(5):
        close(tw.matmul(a, b), np.matmul(a, b))
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()
    child = context.Process(target=in_child, args=(theirs, a, b, team))
    child.start()
    theirs.close()
    try:
        assert ours.poll(30), "the child hangs"
        assert ours.recv() is True
    finally:
        child.kill()
        child.join()
    close(tw.matmul(a, b), np.matmul(a, b))
    monkeypatch.undo()
    tw.forget()
