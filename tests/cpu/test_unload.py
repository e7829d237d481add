"""Kernels are unloaded when nobody holds them, and never while somebody does."""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright.catalog import TARGETS
from tilewright.model import Binary, Config, Device, Kernel, Problem
from tilewright.runtime import build
from tilewright.store import binaries

pytestmark = pytest.mark.cpu


@pytest.fixture(autouse=True)
def nothing_of_others_is_collected() -> Iterator[None]:
    """Collecting is as slow as there are objects, and other tests have left many."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


SHAPES = [(rows, columns) for rows in range(2, 6) for columns in range(2, 17)]


def product(rows: int, columns: int) -> None:
    a = np.ones((2, rows, columns))
    assert (tw.matmul(a, a.swapaxes(1, 2)) == columns).all()


def mappings() -> int:
    return len(Path("/proc/self/maps").read_text().splitlines())


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="counts mappings by /proc")
def test_memory_of_kernels_comes_back(new_home: Path) -> None:
    product(2, 2)
    tw.forget()
    gc.collect()
    before, most = mappings(), 0
    for number, shape in enumerate(SHAPES, start=1):
        product(*shape)
        if number % 30 == 0:
            most = max(most, mappings() - before)
            tw.forget()
    gc.collect()
    assert most >= 30, "loaded kernels show"
    assert mappings() - before <= 30, "and go"


def test_forget_unloads(new_home: Path) -> None:
    for shape in SHAPES[:10]:
        product(*shape)
    assert len(build._loaded) == 10
    tw.forget()
    gc.collect()
    assert len(build._loaded) == 0


def test_few_kernels_that_no_plan_holds_stay(new_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "KEPT", 3)
    device, keys = TARGETS["cpu"].probe(), []
    for k in range(2, 8):
        problem = Problem.parse(f"d:4x4x{k}")[0]
        config = build.STENCILS["tile"].default(problem, device)
        build.kernel("tile", problem, config, device)
        keys.append(build.key("tile", problem, config, device))
        if k > 3:  # What was used of late stays, whatever came first.
            first = Problem.parse("d:4x4x2")[0]
            build.kernel("tile", first, build.STENCILS["tile"].default(first, device), device)
    gc.collect()
    assert set(build._loaded) == {keys[0], *keys[-2:]}


def test_a_kernel_that_is_held_is_the_same_for_all(new_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "KEPT", 0)
    device, problem = TARGETS["cpu"].probe(), Problem.parse("d:4x4x4")[0]
    config = build.STENCILS["tile"].default(problem, device)
    held = build.kernel("tile", problem, config, device)
    assert build.kernel("tile", problem, config, device) is held
    del held
    gc.collect()
    assert len(build._loaded) == 0


def test_plans_and_builtins_hold_their_kernel(new_home: Path) -> None:
    a = np.arange(32.0).reshape(2, 4, 4)
    plan = tw.plan(a, a)
    function = plan._function
    tw.forget()
    gc.collect()
    assert len(build._loaded) == 1
    np.testing.assert_array_equal(plan(a, a), np.matmul(a, a))
    del plan
    gc.collect()
    assert function is not None
    assert len(build._loaded) == 1
    np.testing.assert_array_equal(function(a, a, np.empty_like(a)), np.matmul(a, a))
    del function
    # The plan had been made anew, so the call cache knows it again.
    tw.forget()
    gc.collect()
    assert len(build._loaded) == 0


def test_nobody_is_run_over_by_another_threads_forget(new_home: Path) -> None:
    stop, wrong = threading.Event(), []

    def work(seed: int) -> None:
        try:
            for turn in range(60):
                rows, columns = SHAPES[(seed * 3 + turn) % 6]
                product(rows, columns)
        except BaseException as error:
            wrong.append(error)

    def disturb() -> None:
        while not stop.wait(0.005):
            tw.forget()
            gc.collect()

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(2)]
    disturber = threading.Thread(target=disturb)
    for thread in (*threads, disturber):
        thread.start()
    for thread in threads:
        thread.join(120)
    stop.set()
    disturber.join(60)
    assert not any(thread.is_alive() for thread in (*threads, disturber))
    assert not wrong


def test_kernels_of_a_gpu_stay_for_recorded_graphs(monkeypatch: pytest.MonkeyPatch) -> None:
    """A CUDA graph names a kernel by its address and holds nothing of ours."""

    class Driver:
        def load(self, binary: Binary) -> Kernel:
            return Kernel(1, binary)

    device = Device("cuda", "a pretence", "pretence", {}, "sm_90a")
    monkeypatch.setitem(build.TARGETS, "cuda", Driver())  # type: ignore[arg-type]
    monkeypatch.setattr(build, "key", lambda *_: "its name")
    monkeypatch.setattr(binaries, "read", lambda _: Binary(b"", "entry", "digest"))
    monkeypatch.setattr(build, "KEPT", 0)
    monkeypatch.setattr(build, "_loaded", type(build._loaded)())
    monkeypatch.setattr(build, "_resident", {})
    arguments: tuple[Any, ...] = ("tiny", Problem.parse("d:4")[0], Config({}), device)
    address = id(build.kernel(*arguments))
    tw.forget()
    gc.collect()
    assert id(build.kernel(*arguments)) == address
    assert len(build._loaded) == 1
