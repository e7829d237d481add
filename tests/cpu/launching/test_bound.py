"""A bound call through the compiled program that launches, and where there is no such program."""

from __future__ import annotations

import struct
import sysconfig
from pathlib import Path
from typing import Any

import pytest

from tests.cpu.launching.launches import CODE, KERNEL, Fake, Slow, words_at
from tilewright.arrays.layout import Job
from tilewright.catalog import STENCILS
from tilewright.errors import CompileError, DeviceError
from tilewright.model import Binary, Kernel, Plan, Problem
from tilewright.runtime import bound_cuda, compiled, fastcall_cuda
from tilewright.targets.cpu import llvm, processor
from tilewright.targets.cuda import capability, driver

pytestmark = pytest.mark.cpu


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
            *((compiled, "load", refuse) if what == "compiler" else (processor, "probe", refuse))
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
