"""A GPU that is this processor, for JAX's programs: XLA runs them on the processor and hands the handler for
GPUs its own memory, and what the driver is told to do is done at once.

A kernel of this GPU writes over the whole of its workspace before it computes, so that memory that is not its
own is seen.
"""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.pretended import Pretended, compute
from tilewright.calls import settings
from tilewright.catalog import STENCILS
from tilewright.model import Binary, Config, Device, Kernel, Plan, Problem
from tilewright.runtime import bound_cuda, cublaslt_library
from tilewright.space import Param, Space
from tilewright.stencils.cuda import args
from tilewright.targets.cuda import capability, devices, driver, launch, library
from tilewright.targets.cuda.arguments import Stamp, Struct, Workspace

STREAM = 0x57
CLEARED = 16
"""Bytes at the beginning of a workspace that are to be 0."""
TARGET = "tilewright_cuda_on_cpu"
U64, U32, VOID = ctypes.c_uint64, ctypes.c_uint32, ctypes.c_void_p


class Roomy(Pretended):
    """Needs a workspace, by ``needs`` of as many KB as the product has columns in memory, or of none."""

    needs: tuple[int, ...] = (1, 0)

    def space(self, problem: Problem, device: Device) -> Space:
        return Space((Param("needs", self.needs),), ())

    def default(self, problem: Problem, device: Device) -> Config:
        return Config({"needs": self.needs[0]})

    def arguments(self, problem: Problem, config: Config) -> Any:
        space = Struct("Space", (Workspace("space", bytes_of(problem), CLEARED), Stamp("stamp")))
        return args.gemm(problem) + ((space,) if config["needs"] else ())


def bytes_of(problem: Problem) -> int:
    """Of the workspace."""
    return 1024 * problem.m


@dataclass
class Launched:
    """One launch: the problem, and the workspace's address and stamp, 0 where there is none."""

    problem: Problem
    space: int = 0
    stamp: int = 0


@dataclass
class Driver:
    """The driver. ``kernels``: the plans of its kernels by their addresses."""

    kernels: dict[int, Plan] = field(default_factory=dict)
    launches: list[Launched] = field(default_factory=list)
    cleared: list[int] = field(default_factory=list)

    def load(self, plan: Plan, index: int) -> Kernel:
        address = 0x1000 + len(self.kernels)
        self.kernels[address] = plan
        return Kernel(address, Binary(b"", "k", ""))

    def memset(self, address: int, value: int, words: int, stream: int) -> int:
        assert (4 * words, stream) == (CLEARED, STREAM)
        self.cleared.append(address)
        ctypes.memset(address, value, 4 * words)
        return 0

    def launch(self, configuration: int, kernel: int, parameters: int, extra: Any) -> int:
        assert driver.Configuration.from_address(configuration).stream == STREAM
        plan = self.kernels[kernel]
        assert plan.config is not None
        problem, given = plan.problem, (U64 * 2).from_address(parameters)
        words = args.BLOCK.unpack(ctypes.string_at(given[0], args.BLOCK.size))
        if not plan.config["needs"]:
            compute(problem, words)
            self.launches.append(Launched(problem))
            return 0
        space, stamp = (U64 * 2).from_address(given[1])
        size = bytes_of(problem)
        assert ctypes.string_at(space, CLEARED) == bytes(CLEARED)
        ctypes.memset(space, 0xAB, size)
        compute(problem, words)
        assert ctypes.string_at(space, size) == b"\xab" * size
        self.launches.append(Launched(problem, space, stamp))
        return 0


@pytest.fixture
def pretence(h200: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Driver]:
    """Within it JAX's programs on the processor may call ``TARGET``, the handler for GPUs."""
    made = Driver()
    of = ctypes.CFUNCTYPE
    functions = SimpleNamespace(
        cuLaunchKernelEx=of(ctypes.c_int, VOID, VOID, VOID, VOID)(made.launch),
        cuMemsetD32Async=of(ctypes.c_int, U64, U32, U64, U64)(made.memset),
        # Of streams nothing is asked: the workspace is the call's.
        cuStreamGetId=of(ctypes.c_int, U64, U64)(lambda *_: 999),
        cuStreamIsCapturing=of(ctypes.c_int, U64, U64)(lambda *_: 999),
    )
    monkeypatch.setattr(library, "loaded", lambda: functions)
    monkeypatch.setattr(bound_cuda, "kernel", made.load)
    monkeypatch.setattr(cublaslt_library, "library", lambda: None)
    kept = {name: stencil for name, stencil in STENCILS.items() if stencil.target == "cuda"}
    for name in kept:
        del STENCILS[name]
    STENCILS["pretend"] = Roomy()
    _registered()
    yield made
    del STENCILS["pretend"]
    STENCILS.update(kept)


@pytest.fixture
def h200(tj: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Have the package plan for one H200."""
    monkeypatch.setattr(launch, "prepare", lambda *_: None)
    monkeypatch.setattr(launch, "_fits", lambda *_: None)
    monkeypatch.setattr(devices, "missing", lambda: None)
    monkeypatch.setattr(devices, "count", lambda: 1)
    monkeypatch.setattr(devices, "probe", lambda index=0: capability.DEVICES["h200"])
    monkeypatch.setattr(driver, "context", lambda index=0: 1)
    monkeypatch.setattr(driver, "within", lambda index: contextlib.nullcontext())
    from tilewright.jax import lowering

    index = lowering._index
    monkeypatch.setattr(lowering, "_index", lambda kind: 0 if kind == "cuda" else index(kind))
    settings.forget()
    yield
    settings.forget()


_HELD: list[Any] = []
"""What XLA calls, which stays: nothing is ever registered twice, or given back."""


def _registered() -> None:
    """Have XLA's processor know the handler for GPUs, which it tells of a stream."""
    if _HELD:
        return
    import jax

    from tilewright.jax import frames, lowering

    call = ctypes.CFUNCTYPE(VOID, VOID)
    cuda = call(lowering.lowered().handlers.entries["cuda"])

    def tells(value: int, kind: Any) -> Any:
        def tell(given: int) -> None:
            kind.from_address(given + frames.at(frames.Asked, "found")).value = value

        return call(tell)

    stream, device = tells(STREAM, U64), tells(0, ctypes.c_int32)

    def handle(given: int) -> int | None:
        frame = frames.Frame.from_address(given)
        api = frames.Api.from_buffer_copy(ctypes.string_at(frame.api, ctypes.sizeof(frames.Api)))
        for name, function in (("stream_get", stream), ("device_ordinal", device)):
            setattr(api, name, ctypes.cast(function, VOID))
        before, frame.api = frame.api, ctypes.addressof(api)
        found: int | None = cuda(given)
        frame.api = before
        return found

    _HELD.extend([stream, device, cuda, call(handle)])
    jax.ffi.register_ffi_target(TARGET, jax.ffi.pycapsule(ctypes.cast(_HELD[-1], VOID)), platform="cpu")


def numbers(*shape: int, seed: int = 0) -> Any:
    """An array of JAX's, on the processor."""
    import jax

    return jax.numpy.asarray(np.random.default_rng(seed).standard_normal(shape))
