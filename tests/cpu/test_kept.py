"""Launches with a workspace that a stream has: by compiled code, and by Python where there is none to be had.

The driver is this processor: what a stream is given waits until ``Gpu.run``, which does the work of all
streams in a random order that keeps each stream's own. A kernel writes to its workspace in one step and reads
it in another, so that whoever has a workspace of somebody else, or one that was given back, is seen.
"""

from __future__ import annotations

import ctypes
import itertools
import random
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.pretended import Pretended
from tests.streams import RECORDED, Streams
from tilewright.arrays.layout import Job
from tilewright.catalog import STENCILS
from tilewright.errors import RoomError
from tilewright.model import Binary, Config, Kernel, Launch, Plan, Problem
from tilewright.runtime import bound_cuda, fastcall_cuda
from tilewright.targets.cuda import capability, driver, launch, library, workspace
from tilewright.targets.cuda.arguments import Pointer, Scalar, Stamp, Struct, Workspace
from tilewright.targets.cuda.binding import Binding

pytestmark = pytest.mark.cpu

NUMBERS = 8
CLEARED = 16
"""Bytes at the beginning of a workspace that are to be 0."""
U64, U32, VOID = ctypes.c_uint64, ctypes.c_uint32, ctypes.c_void_p


def numbers(address: int) -> Any:
    return np.ctypeslib.as_array((U64 * NUMBERS).from_address(address))


@dataclass
class Gpu:
    """What its streams still have to do, as lists of steps. ``stamps`` of all launches."""

    streams: Streams
    queues: dict[int, list[Callable[[], None]]] = field(default_factory=dict)
    stamps: list[int] = field(default_factory=list)
    codes: dict[str, list[int]] = field(default_factory=dict)
    gone: set[int] = field(default_factory=set)
    of: dict[int, int] = field(default_factory=dict)
    """Numbers of streams that have other ones than their handles say."""

    def add(self, stream: int, *steps: Callable[[], None]) -> None:
        self.queues.setdefault(stream, []).extend(steps)

    def code(self, name: str) -> int:
        """What the driver says to a call: 0, or what a test wants."""
        codes = self.codes.get(name)
        return codes.pop(0) if codes else 0

    def number(self, stream: int, to: int) -> int:
        U64.from_address(to).value = self.of.get(stream, 1000 + stream)
        return self.code("number")

    def recording(self, stream: int, to: int) -> int:
        ctypes.c_int.from_address(to).value = int(stream >= RECORDED)
        return self.code("recording")

    def memset(self, address: int, value: int, words: int, stream: int) -> int:
        code = self.code("memset")
        if not code:
            self.add(stream, lambda: self.cleared(address, 4 * words))
        return code

    def cleared(self, address: int, size: int) -> None:
        assert address not in self.gone
        ctypes.memset(address, 0, size)

    def launch(self, configuration: int, kernel: int, parameters: int, extra: Any) -> int:
        code = self.code("launch")
        if code:
            return code
        (block,) = (VOID * 1).from_address(parameters)
        _, a, out, space, stamp = (U64 * 5).from_address(block)
        stream = driver.Configuration.from_address(configuration).stream or 0
        self.stamps.append(stamp)

        def write() -> None:
            assert space not in self.gone
            assert not any((U64 * (CLEARED // 8)).from_address(space))
            assert stamp not in numbers(space)
            numbers(space)[:] = numbers(a)
            numbers(space)[0] = stamp

        def read() -> None:
            assert space not in self.gone
            assert numbers(space)[0] == stamp
            numbers(out)[:] = 2 * numbers(space)
            numbers(out)[0] = 2 * numbers(a)[0]

        self.add(stream, write, read)
        return 0

    def run(self, seed: int = 0) -> None:
        """Do all the work."""
        chance = random.Random(seed)
        while any(self.queues.values()):
            chance.choice([queue for queue in self.queues.values() if queue]).pop(0)()


class Kept(Pretended):
    """Needs as large a workspace as its product has columns of 1024 bytes."""

    def arguments(self, problem: Problem, config: Config) -> Any:
        fields = Scalar("ones", "q", 1), Pointer("a", 0), Pointer("c", 2)
        return (Struct("S", (*fields, Workspace("space", 1024 * problem.n, CLEARED), Stamp("stamp"))),)


@pytest.fixture
def gpu(streams: Streams, monkeypatch: pytest.MonkeyPatch) -> Gpu:
    made = Gpu(streams)
    of = ctypes.CFUNCTYPE
    functions = SimpleNamespace(
        cuLaunchKernelEx=of(ctypes.c_int, VOID, VOID, VOID, VOID)(made.launch),
        cuStreamGetId=of(ctypes.c_int, U64, U64)(made.number),
        cuStreamIsCapturing=of(ctypes.c_int, U64, U64)(made.recording),
        cuMemsetD32Async=of(ctypes.c_int, U64, U32, U64, U64)(made.memset),
    )
    monkeypatch.setattr(library, "loaded", lambda: functions)
    monkeypatch.setattr(launch, "prepare", lambda *_: None)
    monkeypatch.setattr(launch, "_fits", lambda *_: None)
    monkeypatch.setattr(driver, "context", lambda index: None)
    monkeypatch.setattr(bound_cuda, "kernel", lambda *_: Kernel(0x1234, Binary(b"", "k", "")))
    monkeypatch.setitem(STENCILS, "kept", Kept())
    # The same memory from Python.
    free = streams.cuMemFreeAsync

    def given_back(address: int, stream: int) -> tuple[int]:
        made.add(stream, lambda: made.gone.add(address))
        return free(address, stream)

    def cleared(address: int, value: int, words: int, stream: int) -> tuple[int]:
        return (made.memset(address, value, words, stream),)

    monkeypatch.setattr(streams, "cuStreamGetId", lambda stream: (0, made.of.get(stream, 1000 + stream)))
    monkeypatch.setattr(streams, "cuMemFreeAsync", given_back)
    monkeypatch.setattr(streams, "cuMemsetD32Async", cleared)
    return made


def bound(columns: int = 1) -> bound_cuda.Bound:
    (problem,) = Problem.parse(f"d:8x{columns}x8")
    plan = Plan(problem, capability.named("h200"), "memory", "default", "", "kept", Config({}))
    made = bound_cuda.Bound(Job(problem, False, (), ()), plan, (1, 0), 0)
    assert fastcall_cuda.raw(made.run) is None
    assert getattr(made.run, "__name__", "") == "start_kept"
    return made


class Call:
    """A launch with operands of its own, and what is to come of it."""

    counter = itertools.count(1)

    def __init__(self, made: bound_cuda.Bound, stream: int):
        self.a = (U64 * NUMBERS)(*(next(self.counter) for _ in range(NUMBERS)))
        self.out = (U64 * NUMBERS)()
        made.run(ctypes.addressof(self.a), 16, ctypes.addressof(self.out), stream)

    def check(self) -> None:
        assert list(self.out) == [2 * x for x in self.a]


def test_python_makes_a_workspace_and_compiled_code_has_it_from_then_on(
    gpu: Gpu, streams: Streams, by_python: list[int]
) -> None:
    made = bound()
    before = bytes(made.binding.packed.block)
    calls = [Call(made, 5)]
    first = bytes(made.binding.packed.block)
    assert (by_python, first != before) == ([5], True)
    calls += [Call(made, 5) for _ in range(20)]
    assert by_python == [5]
    # Threads share the block, which compiled code leaves as it is.
    assert bytes(made.binding.packed.block) == first
    gpu.run()
    for call in calls:
        call.check()
    assert len(set(gpu.stamps)) == 21
    assert 0 not in gpu.stamps
    assert streams.taken == 1


@pytest.mark.parametrize("seed", range(5))
def test_streams_and_kernels_have_what_is_theirs(
    gpu: Gpu, streams: Streams, by_python: list[int], seed: int
) -> None:
    small, large = bound(1), bound(3)
    chance = random.Random(seed)
    calls = [Call(large, stream) for stream in (5, 6, 0)]
    calls += [Call(chance.choice((small, large)), chance.choice((5, 6, 0))) for _ in range(50)]
    # One that is smaller has the same.
    assert by_python == [5, 6, 0]
    gpu.run(seed)
    for call in calls:
        call.check()
    assert streams.taken == 3


def test_a_workspace_that_grows(gpu: Gpu, streams: Streams, by_python: list[int]) -> None:
    small, large = bound(1), bound(3)
    calls = [Call(small, 5), Call(small, 5), Call(large, 5), Call(large, 5), Call(small, 5), Call(large, 6)]
    assert by_python == [5, 5, 6]
    gpu.run()
    for call in calls:
        call.check()
    assert [said[0] for said in streams.said] == ["take", "give", "take", "take"]
    # Where there is no room for more, what was given back is found by nobody.
    streams.room = 3 * 1024
    with pytest.raises(RoomError):
        Call(bound(4), 5)
    calls = [Call(small, 5), Call(small, 5), Call(large, 5), Call(large, 6)]
    assert by_python == [5, 5, 6, 5, 5, 5]
    gpu.run()
    for call in calls:
        call.check()


def test_compiled_callers_hand_in_memory_of_their_own(
    gpu: Gpu, streams: Streams, by_python: list[int]
) -> None:
    found = fastcall_cuda.raw_within(bound().run)
    assert found is not None
    launch = ctypes.CFUNCTYPE(ctypes.c_int, VOID, *[U64] * 5)(found[0])
    odd, words = 2**64 - 1, 1024 // 8
    arrays = [
        ((U64 * NUMBERS)(*range(stream, stream + NUMBERS)), (U64 * NUMBERS)(), (U64 * words)(*[odd] * words))
        for stream in (5, 6, RECORDED)
    ]
    places = [[ctypes.addressof(x) for x in each] for each in arrays]
    for stream, (a, out, space) in zip((5, 6, RECORDED), places, strict=True):
        assert launch(found[1], a, 16, out, stream, space) == 0
    gpu.run()
    for read, written, kept in arrays:
        assert list(written) == [2 * x for x in read]
        assert list(kept)[NUMBERS:] == [odd] * (words - NUMBERS)
    assert len(set(gpu.stamps)) == 3
    # Neither Python nor the streams were asked.
    assert (by_python, streams.said) == ([], [])
    a, out, space = places[0]
    for what, code in (("memset", 201), ("launch", 719)):
        gpu.codes[what] = [code]
        assert launch(found[1], a, 16, out, 5, space) == code
    assert len(gpu.stamps) == 3
    assert fastcall_cuda.raw_within(len) is None  # type: ignore[arg-type]


def test_what_is_recorded_has_memory_of_its_graph(gpu: Gpu, streams: Streams, by_python: list[int]) -> None:
    made = bound()
    calls = [Call(made, 5)]
    # The same stream by another number of its handle, recorded: found, it would be the stream's.
    gpu.of[RECORDED] = 1005
    calls += [Call(made, RECORDED), Call(made, RECORDED), Call(made, 5)]
    assert by_python == [5, RECORDED, RECORDED]
    gpu.run()
    for call in calls:
        call.check()
    assert [said[0] for said in streams.said] == ["take", "take", "give", "take", "give"]
    # A recording elsewhere may keep a stream from being asked.
    gpu.codes["recording"] = [906]
    calls += [Call(made, 5)]
    assert by_python == [5, RECORDED, RECORDED, 5]
    gpu.run()
    calls[-1].check()


def test_a_stream_with_the_handle_of_one_that_is_gone_has_its_own(
    gpu: Gpu, streams: Streams, by_python: list[int]
) -> None:
    """What the first was given may still be at work."""
    made = bound()
    calls = [Call(made, 5), Call(made, 5)]
    waiting = gpu.queues.pop(5)
    gpu.of[5] = 77
    gpu.queues[105] = waiting
    calls += [Call(made, 5), Call(made, 5)]
    assert by_python == [5, 5]
    for seed in range(3):
        gpu.run(seed)
    for call in calls:
        call.check()
    assert streams.taken == 2


def test_threads_have_what_is_theirs(gpu: Gpu, streams: Streams, by_python: list[int]) -> None:
    small, large = bound(1), bound(2)
    calls: list[Call] = []
    ready = threading.Barrier(4)

    def work(seed: int) -> None:
        chance = random.Random(seed)
        ready.wait()
        for _ in range(50):
            calls.append(Call(chance.choice((small, large)), chance.choice((5, 6))))
        ready.wait()  # So that no two threads have one number.

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    gpu.run()
    for call in calls:
        call.check()
    assert len(set(gpu.stamps)) == len(calls) == 200
    # Each thread made one on each stream, and enlarged it at most once.
    assert 8 <= len(by_python) == streams.taken <= 16


def test_another_gpu_has_its_own(gpu: Gpu, streams: Streams, by_python: list[int]) -> None:
    made = bound()
    calls = [Call(made, 5), Call(made, 5)]
    (problem,) = Problem.parse("d:8x1x8")
    plan = Plan(problem, capability.named("h200"), "memory", "default", "", "kept", Config({}))
    other = bound_cuda.Bound(Job(problem, False, (), ()), plan, (1, 0), 1)
    streams.cuCtxGetDevice = lambda: (0, 1)  # type: ignore[method-assign]
    calls += [Call(other, 5), Call(other, 5)]
    assert (by_python, streams.taken) == ([5, 5], 2)
    gpu.run()
    for call in calls:
        call.check()


def test_as_many_streams_as_the_table_has_rows(gpu: Gpu, streams: Streams, by_python: list[int]) -> None:
    made = bound()
    many = range(workspace.STREAMS + 2)
    calls = [Call(made, stream) for _ in range(3) for stream in many]
    gpu.run()
    for call in calls:
        call.check()
    beyond = [stream for stream in many if stream >= workspace.STREAMS]
    assert by_python == [*many, *beyond, *beyond]


@pytest.mark.parametrize("what", ["launch", "memset", "number", "recording"])
def test_what_the_driver_refuses_python_tries_again(
    gpu: Gpu, streams: Streams, by_python: list[int], what: str
) -> None:
    made = bound()
    calls = [Call(made, 5)]
    gpu.codes[what] = [201]
    calls += [Call(made, 5)]
    assert by_python == [5, 5]
    calls += [Call(made, 5)]
    assert by_python == [5, 5]
    gpu.run()
    for call in calls:
        call.check()


def test_a_driver_that_numbers_no_streams_has_python_launch(gpu: Gpu, by_python: list[int]) -> None:
    del library.loaded().cuStreamGetId
    (problem,) = Problem.parse("d:8x1x8")
    plan = Plan(problem, capability.named("h200"), "memory", "default", "", "kept", Config({}))
    made = bound_cuda.Bound(Job(problem, False, (), ()), plan, (1, 0), 0)
    assert made.run == made._slow
    calls = [Call(made, 5), Call(made, 5)]
    assert by_python == [5, 5]
    gpu.run()
    for call in calls:
        call.check()


def test_a_kernel_of_two_workspaces_is_launched_by_python(gpu: Gpu) -> None:
    two = (Struct("S", (Workspace("one", 64), Workspace("two", 64))),)
    assert Binding(Kernel(0x1234, Binary(b"", "k", "")), Launch(), two).words is None
