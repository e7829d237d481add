"""The compiled program that launches; a function in place of the driver's says what it was given."""

from __future__ import annotations

import ctypes
import gc
import struct
import sys
import sysconfig
import threading
import time
import weakref
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tilewright.arrays.layout import Job
from tilewright.catalog import STENCILS
from tilewright.errors import CompileError, DeviceError
from tilewright.model import Binary, Kernel, Launch, Plan, Problem, Source
from tilewright.runtime import bound_cuda, fastcall_cpu, fastcall_cuda
from tilewright.stencils.cuda import args
from tilewright.targets.cpu import llvm, processor
from tilewright.targets.cuda import capability, driver, launch, library
from tilewright.targets.cuda.binding import Word

pytestmark = pytest.mark.cpu

KERNEL = 0x1234
CODE = 201
"""CUDA_ERROR_INVALID_CONTEXT, what a thread without one gets."""
FUNCTION = ctypes.CFUNCTYPE(ctypes.c_int, *(ctypes.c_void_p,) * 4)


@dataclass
class Seen:
    """One launch as the driver got it: bytes as they were at that moment, and where they lay."""

    configuration: bytes
    argument: bytes
    kernel: int
    extra: int | None
    at: tuple[int, int]

    @property
    def stream(self) -> int | None:
        return driver.Configuration.from_buffer_copy(self.configuration).stream


@dataclass
class Fake:
    """``cuLaunchKernelEx``: ``codes`` are returned one after another, and then 0."""

    size: int = args.BLOCK.size
    codes: list[int] = field(default_factory=list)
    seen: list[Seen] = field(default_factory=list)

    def launch(self, configuration: int, kernel: int, parameters: int, extra: int | None) -> int:
        argument = ctypes.c_void_p.from_address(parameters).value
        assert argument is not None
        told = ctypes.string_at(configuration, ctypes.sizeof(driver.Configuration))
        block = ctypes.string_at(argument, self.size)
        self.seen.append(Seen(told, block, kernel, extra, (configuration, argument)))
        return self.codes.pop(0) if self.codes else 0


class Slow:
    """What is called instead, and with what."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.error: Exception | None = None

    def __call__(self, *arguments: Any) -> Any:
        self.calls.append(arguments)
        if self.error is not None:
            raise self.error


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Fake:
    made = Fake()
    function = FUNCTION(made.launch)
    monkeypatch.setattr(library, "loaded", lambda: SimpleNamespace(cuLaunchKernelEx=function))
    monkeypatch.setattr(launch, "prepare", lambda *_: None)
    monkeypatch.setattr(launch, "_fits", lambda *_: None)
    return made


LAUNCH = Launch(grid=(5, 4, 3), block=(128, 2, 1), shared=60000, cluster=4, overlap=True)


def block_of(size: int = args.BLOCK.size) -> bytearray:
    return bytearray(range(7, 7 + size))


def launcher(block: bytearray) -> driver.Launcher:
    return driver.Launcher(Kernel(KERNEL, Binary(b"", "k", "")), LAUNCH, block)


def words_at(places: Sequence[int] = (0, 1, 2)) -> list[Word]:
    """The three addresses, each in one word."""
    return [Word(place, operand, 0) for operand, place in enumerate(places)]


def starting(block: bytearray, places: tuple[int, int, int] = (0, 1, 2)) -> tuple[Any, Slow]:
    slow = Slow()
    made = fastcall_cuda.starting(launcher(block), words_at(places), slow)
    assert made is not None
    return made, slow


# ---- what the driver gets


@pytest.mark.parametrize("places", [(0, 1, 2), (1, 0, 2), (16, 3, 9)])
def test_addresses_land_where_they_belong(fake: Fake, places: tuple[int, int, int]) -> None:
    block = block_of()
    before = bytes(block)
    start, slow = starting(block, places)
    addresses = (0x7F00_0000_1000, 2**64 - 2, 0)
    assert start(*addresses, 0xABCD) is None
    (seen,) = fake.seen
    want = list(struct.unpack("<17Q", before))
    for place, address in zip(places, addresses, strict=True):
        want[place] = address
    assert struct.unpack("<17Q", seen.argument) == tuple(want)
    assert block == before
    assert (seen.kernel, seen.extra) == (KERNEL, None)
    assert slow.calls == []


@pytest.mark.parametrize("words", [words_at(), [Word(0, 0, 63), Word(1, 1, 0), Word(2, 2, 0)]])
def test_compiled_callers_launch_as_python_does(fake: Fake, words: list[Word]) -> None:
    slow = Slow()
    start = fastcall_cuda.starting(launcher(block_of()), words, slow)
    assert start is not None
    found = fastcall_cuda.raw(start)
    assert found is not None
    function = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, *[ctypes.c_uint64] * 4)(found[0])
    start(64, 2, 3, 9)
    assert function(found[1], 64, 2, 3, 9) == 0
    one, other = fake.seen
    assert (one.argument, one.configuration) == (other.argument, other.configuration)
    fake.codes = [CODE]
    assert function(found[1], 64, 2, 3, 9) == CODE
    assert function(found[1], 65, 2, 3, 9) == int(words[0].mask > 0)
    assert slow.calls == []
    assert fastcall_cuda.raw(slow) is None
    assert fastcall_cuda.raw(len) is None


def test_the_configuration_is_the_launchers_with_the_stream_of_the_call(fake: Fake) -> None:
    block = block_of()
    made = launcher(block)
    start = fastcall_cuda.starting(made, words_at(), Slow())
    assert start is not None
    made(77)
    for stream in (5, 0, 2**64 - 1):
        start(1, 2, 3, stream)
    made(0)
    by_python, *compiled, again = fake.seen
    size = driver.Configuration.stream.offset
    assert [each.stream for each in compiled] == [5, None, 2**64 - 1]
    for each in compiled:
        assert each.configuration[:size] == by_python.configuration[:size]
        assert each.configuration[size + 8 :] == by_python.configuration[size + 8 :]
    assert again.configuration == compiled[1].configuration
    told = driver.Configuration.from_buffer_copy(compiled[0].configuration)
    assert (tuple(told.grid), tuple(told.block), told.shared) == (LAUNCH.grid, LAUNCH.block, LAUNCH.shared)
    assert [told.attributes[i].id for i in range(told.count)] == [driver.CLUSTER_DIMENSION, driver.OVERLAP]


def test_the_copies_are_the_calls_own(fake: Fake) -> None:
    made = launcher(block_of())
    start = fastcall_cuda.starting(made, words_at(), Slow())
    assert start is not None
    start(1, 2, 3, 4)
    (seen,) = fake.seen
    assert seen.at[0] != made.parameters.configuration
    assert seen.at[1] != made.parameters.block
    assert seen.at[1] % 16 == 0


def test_what_is_constant_is_read_at_every_call(fake: Fake) -> None:
    block = block_of()
    start, _ = starting(block)
    start(1, 2, 3, 4)
    block[24:32] = b"changed!"
    start(1, 2, 3, 4)
    first, second = fake.seen
    assert first.argument[24:32] == bytes(range(31, 39))
    assert second.argument[24:32] == b"changed!"
    assert first.argument[32:] == second.argument[32:]


@pytest.mark.parametrize("size", [24, 64, 4096])
def test_arguments_of_other_sizes(fake: Fake, size: int) -> None:
    fake.size = size
    block = bytearray(np.random.default_rng(size).bytes(size))
    start, _ = starting(block)
    start(10, 20, 30, 0)
    assert fake.seen[0].argument == struct.pack("<3Q", 10, 20, 30) + block[24:]


def test_what_no_program_is_made_for(fake: Fake) -> None:
    assert fastcall_cuda.starting(launcher(block_of(60)), words_at(), Slow()) is None
    assert fastcall_cuda.starting(launcher(block_of(64)), words_at((0, 1, 8)), Slow()) is None
    assert fastcall_cuda.starting(launcher(block_of(64)), words_at((-1, 1, 2)), Slow()) is None


# ---- what is not launched


def test_what_the_driver_refuses_goes_to_python(fake: Fake) -> None:
    start, slow = starting(block_of())
    fake.codes += [CODE, 999]
    arguments = (11, 2**63, 33, 44)
    assert start(*arguments) is None
    assert slow.calls == [arguments]
    slow.error = DeviceError("no context is current on this thread")
    with pytest.raises(DeviceError, match="no context") as caught:
        start(*arguments)
    assert caught.value is slow.error
    assert slow.calls == [arguments] * 2
    assert start(*arguments) is None
    assert len(slow.calls) == 2
    assert len(fake.seen) == 3


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        (1, 2, 3),
        (1, 2, 3, 4, 5),
        (-1, 2, 3, 4),
        (1, -(2**70), 3, 4),
        (1, 2, 2**64, 4),
        (1, 2, 3, None),
        (1, "2", 3, 4),
        (1.0, 2, 3, 4),
        (np.uint64(1), 2, 3, 4),
        (None, None, None, None),
    ],
)
def test_other_arguments_go_to_python_as_they_are(fake: Fake, arguments: tuple[Any, ...]) -> None:
    start, slow = starting(block_of())
    start(*arguments)
    (got,) = slow.calls
    assert len(got) == len(arguments)
    assert all(x is y for x, y in zip(got, arguments, strict=True))
    slow.error = ValueError("of Python")
    with pytest.raises(ValueError, match="of Python"):
        start(*arguments)
    assert fake.seen == []
    start_again, _ = starting(block_of())
    start_again(1, 2, 3, 4)
    assert len(fake.seen) == 1


def test_names_of_arguments_are_refused(fake: Fake) -> None:
    start, slow = starting(block_of())
    with pytest.raises(TypeError, match="keyword"):
        start(1, 2, 3, stream=4)
    assert (fake.seen, slow.calls) == ([], [])


# ---- threads and lifetimes


def test_threads_never_mix_their_addresses(fake: Fake) -> None:
    start, slow = starting(block_of(), (1, 0, 2))
    count, before = 2000, sys.getswitchinterval()
    together = threading.Barrier(4)

    def work(mine: int) -> None:
        together.wait()
        for i in range(count):
            word = mine << 32 | i
            start(word, word | 1 << 60, word | 2 << 60, word | 3 << 60)

    threads = [threading.Thread(target=work, args=(mine,)) for mine in range(4)]
    # The function in place of the driver's is Python's, so threads take turns in the middle of launches.
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    finally:
        sys.setswitchinterval(before)
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


# ---- the bound call, and where there is no program


@pytest.fixture
def bound(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Makes the ``Bound`` of a batch, whose kernel is none."""

    def make(swap: bool) -> bound_cuda.Bound:
        device = capability.named("h200")
        (problem,) = Problem.parse("s:8x8x8@100")
        stencil = STENCILS["tiny"]
        plan = Plan(problem, device, "cached", "default", "", "tiny", stencil.default(problem, device))
        return bound_cuda.Bound(Job(problem, swap, (), ()), plan, (1, 0), 0)

    monkeypatch.setattr(bound_cuda, "kernel", lambda *_: Kernel(KERNEL, Binary(b"", "k", "")))
    return make


@pytest.mark.parametrize("swap", [False, True])
def test_a_bound_call_is_what_it_is_in_python(fake: Fake, bound: Any, swap: bool) -> None:
    made = bound(swap)
    slow = made._slow
    assert type(made.run) is not type(slow)
    made.run(0x1000, 0x2000, 0x3000, 9)
    assert struct.unpack_from("<3Q", made.binding.packed.block) == (0, 0, 0)
    slow(0x1000, 0x2000, 0x3000, 9)
    one, two = fake.seen
    assert (one.configuration, one.argument, one.kernel) == (two.configuration, two.argument, two.kernel)
    a_and_b = (0x2000, 0x1000) if swap else (0x1000, 0x2000)
    assert struct.unpack_from("<3Q", one.argument) == (*a_and_b, 0x3000)


def test_a_thread_without_a_context_gets_one(fake: Fake, bound: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    contexts: list[int] = []
    monkeypatch.setattr(driver, "context", contexts.append)
    made = bound(True)
    # The program, Python, and Python again with a context.
    fake.codes += [CODE, CODE]
    made.run(1, 2, 3, 4)
    assert contexts == [0]
    assert [struct.unpack_from("<3Q", each.argument) for each in fake.seen] == [(2, 1, 3)] * 3
    fake.codes += [CODE] * 3
    with pytest.raises(DeviceError, match="launching k with grid="):
        made.run(1, 2, 3, 4)
    assert contexts == [0, 0]


@pytest.mark.parametrize("what", ["python", "compiler", "processor"])
def test_where_there_is_no_program_python_launches(
    what: str, fake: Fake, bound: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> Any:
        raise CompileError("LLVM refused") if what == "compiler" else DeviceError("no vectors")

    if what == "python":
        monkeypatch.setattr(sysconfig, "get_config_var", lambda name: name == "Py_GIL_DISABLED")
    else:
        monkeypatch.setattr(
            *((fastcall_cpu, "load", refuse) if what == "compiler" else (processor, "probe", refuse))
        )
    fastcall_cuda._loaded.cache_clear()
    try:
        made = bound(False)
        assert fastcall_cuda.starting(made.binding.launcher, words_at(), Slow()) is None
    finally:
        fastcall_cuda._loaded.cache_clear()
    made.run(1, 2, 3, 4)
    assert struct.unpack_from("<3Q", made.binding.packed.block) == (1, 2, 3)
    assert fake.seen[0].stream == 4


def test_the_program_is_kept_on_disk(new_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[Any] = []
    compile_ = llvm.compile
    monkeypatch.setattr(llvm, "compile", lambda *a: compiled.append(a) or compile_(*a))
    fastcall_cuda._loaded.cache_clear()
    try:
        for _ in range(2):
            assert fastcall_cuda._loaded() is not None
            fastcall_cuda._loaded.cache_clear()
    finally:
        fastcall_cuda._loaded.cache_clear()
    assert len(compiled) == 1
    assert len([path for path in (new_home / "objects").rglob("*") if path.is_file()]) == 1
