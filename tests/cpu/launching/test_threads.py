"""Threads in the compiled program that launches, and how long it keeps what it points to."""

from __future__ import annotations

import ctypes
import gc
import struct
import sys
import threading
import time
import weakref
from itertools import pairwise
from types import SimpleNamespace

import pytest

from tests.cpu.launching.launches import FUNCTION, KERNEL, LAUNCH, Fake, Slow, block_of, starting, words_at
from tests.threads import at_once
from tilewright.model import Binary, Kernel, Source
from tilewright.runtime import fastcall_cuda
from tilewright.targets.cpu import llvm, processor
from tilewright.targets.cuda import driver, library

pytestmark = pytest.mark.cpu


def test_threads_never_mix_their_addresses(fake: Fake) -> None:
    start, slow = starting(block_of(), (1, 0, 2))
    count = 2000

    def work(mine: int) -> None:
        for i in range(count):
            word = mine << 32 | i
            start(word, word | 1 << 60, word | 2 << 60, word | 3 << 60)

    # The function in place of the driver's is Python's, so threads take turns in the middle of launches.
    at_once(4, work)
    assert slow.calls == []
    words = []
    for seen in fake.seen:
        b, a, out = struct.unpack_from("<3Q", seen.argument)
        assert (b, out, seen.stream) == (a | 1 << 60, a | 2 << 60, a | 3 << 60)
        words.append(a)
    assert sorted(words) == [mine << 32 | i for mine in range(4) for i in range(count)]
    turns = [word >> 32 for word in words]
    assert sum(x != y for x, y in pairwise(turns)) > 3, "one thread ran after another"


# In place of the driver's function: says that it runs, and waits to be told to end, without Python.
WAIT = """
define i32 @wait(ptr %configuration, ptr %flags, ptr %parameters, ptr %extra) {
entry:
  store atomic i32 1, ptr %flags seq_cst, align 4
  %end = getelementptr i32, ptr %flags, i64 1
  br label %look
look:
  %i = phi i64 [ 0, %entry ], [ %i.next, %again ]
  %told = load atomic i32, ptr %end seq_cst, align 4
  %stop = icmp ne i32 %told, 0
  br i1 %stop, label %ended, label %again
again:
  %i.next = add i64 %i, 1
  %patient = icmp ult i64 %i.next, 4000000000
  br i1 %patient, label %look, label %late
ended:
  ret i32 0
late:
  ret i32 1
}
"""


def test_another_thread_runs_while_the_driver_works(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    waiting = llvm.load(llvm.compile(Source(WAIT, "wait"), processor.probe()))
    function = FUNCTION(waiting.address)
    monkeypatch.setattr(library, "loaded", lambda: SimpleNamespace(cuLaunchKernelEx=function))
    flags = (ctypes.c_int32 * 2)()
    slow = Slow()
    kernel = Kernel(ctypes.addressof(flags), Binary(b"", "k", ""))
    start = fastcall_cuda.starting(driver.Launcher(kernel, LAUNCH, block_of()), words_at(), slow)
    assert start is not None
    thread = threading.Thread(target=start, args=(1, 2, 3, 4))
    thread.start()
    while not flags[0]:
        time.sleep(0)
    assert thread.is_alive()
    flags[1] = 1
    thread.join(60)
    assert slow.calls == []


def test_the_builtin_keeps_what_it_points_to(fake: Fake) -> None:
    block = block_of()
    start, slow = starting(block)
    gone = weakref.ref(slow)
    want = bytes(block)
    del block, slow
    gc.collect()
    _ = [bytearray(len(want)) for _ in range(1000)]
    assert gone() is not None
    start(1, 2, 3, 4)
    assert fake.seen[0].argument[24:] == want[24:]
    assert fake.seen[0].kernel == KERNEL
    start(-1, 2, 3, 4)
    kept = gone()
    assert kept is not None
    assert kept.calls == [(-1, 2, 3, 4)]
    # A ring, as a bound call has it: what is called instead holds the builtin.
    kept.ring = start  # type: ignore[attr-defined]
    del kept, start
    gc.collect()
    assert gone() is None


def test_no_reference_is_lost_or_kept(fake: Fake) -> None:
    start, slow = starting(block_of())
    large = 2**63 + 12345

    def held() -> list[int]:
        fake.seen.clear()
        slow.calls.clear()
        return [sys.getrefcount(x) for x in (large, slow, None)]

    start(large, large, large, large)
    before = held()
    for _ in range(1000):
        start(large, large, large, large)
        start(large, -1, large, large)
    assert len(slow.calls) == 1000
    after = held()
    assert after[:2] == before[:2]
    # Others hold None too, for moments.
    assert abs(after[2] - before[2]) < 100
