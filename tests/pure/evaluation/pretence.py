"""A device that is this process: host memory stands for the device's, and NumPy for the kernels.

Its kernels go wrong in every way that an evaluation has to find.
"""

from __future__ import annotations

import ctypes
import json
import os
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

from tilewright.catalog import STENCILS
from tilewright.dtypes import WIDE, is_complex, narrowed, widened
from tilewright.errors import CompileError, DeviceError
from tilewright.model import DTYPES, Binary, Config, Device, Kernel, Launch, Problem, Source
from tilewright.space import Param, Rule, Space
from tilewright.stencils.cuda import args
from tilewright.stencils.cuda.args import BLOCK, pack
from tilewright.stencils.protocol import Stencil
from tilewright.targets.cuda import binding
from tilewright.tuning import timing as measure
from tilewright.tuning.baselines import cublas
from tilewright.tuning.evaluate import Candidate, cuda, cuda_excerpt, cuda_placed, cuda_timing

DEVICE = Device("cuda", "a pretence", "pretence", {"l2": 1 << 18, "cores": 1, "sms": 1}, "sm_90a")
FAULTS = (
    "",
    "remainder",
    "guard",
    "reads c",
    "conjugates",
    "wide",
    "batch",
    "short k",
    "large",
    "launch",
    "lost",
    "slow",
    "exit",
    "compile",
    "spills",
)


class Pretence(Stencil):
    """A stencil for kernels that are NumPy's, with a fault by name."""

    name, target = "pretence", "cuda"

    def accepts(self, problem: Problem, device: Device) -> str | None:
        return None

    def space(self, problem: Problem, device: Device) -> Space:
        def aligned(wide: int) -> bool:
            p = problem
            extents = (p.k if p.transposed_a else p.m, p.n if p.transposed_b else p.k, p.lda, p.ldb)
            return all((e or 0) % wide == 0 for e in extents) and p.align % (wide * p.dtype.itemsize) == 0

        return Space(
            [
                Param("fault", FAULTS),
                Param("wide", (1, 2, 4)),
                Param("read", ("global", "tex1d", "tex2d")),
                Param("split", (1, 8)),
            ],
            [
                Rule("aligned", "hard", "whole reads", aligned),
                Rule(
                    "single",
                    "hard",
                    "no batch",
                    lambda read: read == "global" or problem.batch == 1,
                ),
                Rule(
                    "pitch",
                    "queryable",
                    "as textures want it",
                    lambda read: (
                        read != "tex2d"
                        or all(
                            (ld or 0) * problem.dtype.itemsize % 32 == 0 for ld in (problem.lda, problem.ldb)
                        )
                    ),
                ),
                Rule("steps", "hard", "a step each", lambda split: split == 1 or 16 * split <= problem.k),
            ],
        )

    def default(self, problem: Problem, device: Device) -> Config:
        return Config({"fault": "", "wide": 1, "read": "global", "split": 1})

    def source(self, problem: Problem, config: Config, device: Device) -> Source:
        p = problem
        if config["fault"] == "compile":
            raise CompileError("no such thing")
        classes = [p.dtype.letter, p.trans_a, p.trans_b, p.beta]
        return Source(json.dumps([classes, dict(config)]), "pretence")

    def launch(self, problem: Problem, config: Config) -> Launch:
        return Launch(reading=config["read"] if config["read"] != "global" else "")

    def arguments(self, problem: Problem, config: Config) -> Any:
        return args.gemm(problem, config["read"] if config["read"] != "global" else "")


def array(address: int, dtype: Any, shape: tuple[int, ...], strides: tuple[int, ...]) -> Any:
    """Memory at an address as an array; strides in elements."""
    size = np.dtype(dtype).itemsize
    reach = (sum((e - 1) * abs(s) for e, s in zip(shape, strides, strict=True)) + 1) * size
    flat = np.frombuffer((ctypes.c_char * reach).from_address(address), dtype)
    return as_strided(flat, shape, tuple(s * size for s in strides))


class FakeLauncher:
    def __init__(self, driver: FakeDriver, kernel: Kernel, launch: Launch, block: bytearray):
        self.driver, self.kernel, self.launch, self.block = driver, kernel, launch, block

    def __call__(self, stream: int) -> None:
        self.driver.launches += 1
        classes, config = json.loads(self.kernel.binary.code)
        words = BLOCK.unpack_from(self.block)
        fault = config["fault"]
        if fault == "launch":
            raise DeviceError("launching pretence failed (CUDA_ERROR_INVALID_VALUE)")
        if fault == "lost":
            self.driver.lost = True
            return
        if fault == "exit":
            os._exit(7)
        if fault == "slow":
            time.sleep(0.02)
        if self.launch.reading:
            assert words[-1]
            assert words[-2]
            assert self.driver.textures[words[-2]] == words[0]
        product(classes, words, fault, self.driver.aligned(config["wide"], words))


def product(classes: list[str], words: tuple[Any, ...], fault: str, aligned: bool = True) -> None:
    """What the kernel does: the block of arguments, unpacked, says on what."""
    letter, ta, tb, beta_class = classes
    a, b, c, lda, ldb, ldc, sa, sb, sc, m, n, k, batch = words[:13]
    alpha, beta = complex(*words[13:15]), complex(*words[15:17])
    dtype = DTYPES[letter].numpy
    kind = WIDE.get(dtype, dtype)
    x = array(a, dtype, (batch, k, m) if ta in "tc" else (batch, m, k), (sa, 1, lda))
    y = array(b, dtype, (batch, n, k) if tb in "tc" else (batch, k, n), (sb, 1, ldb))
    z = array(c, dtype, (batch, m, n), (sc, 1, ldc))
    x = widened(x.swapaxes(1, 2) if ta in "tc" else x)
    y = widened(y.swapaxes(1, 2) if tb in "tc" else y)
    if (tb in "cj") != (fault == "conjugates" and is_complex(dtype)):
        y = y.conj()
    x = x.conj() if ta in "cj" else x
    if not is_complex(dtype):
        alpha, beta = alpha.real, beta.real  # type: ignore[assignment]
    with np.errstate(all="ignore"):
        result = np.matmul(x, y) * kind.type(alpha)
        if beta_class != "0" or fault == "reads c":
            result = result + kind.type(beta) * widened(z)
        result = narrowed(result, dtype)
    if fault == "remainder":
        z[:, : m // 8 * 8, : n // 8 * 8] = result[:, : m // 8 * 8, : n // 8 * 8]
        return
    if fault == "batch" and batch > 1:
        result[-1] = result[0]
    if fault == "short k" and k < 16:
        result[...] = np.zeros(1, dtype)
    if fault == "large" and m > 300:
        result[:, -1, :] = np.zeros(1, dtype)
    if not aligned:
        raise AssertionError("a wide read that is not aligned")
    z[...] = result
    if fault == "guard":
        array(c, dtype, (1,), (1,))[...] = array(c, dtype, (1,), (1,))
        array(c + ((batch - 1) * sc + (n - 1) * ldc + m) * z.itemsize, dtype, (1,), (1,))[...] = 1
    if fault == "wide" and lda % 2:
        z[...] = np.zeros(1, dtype)


class FakeDriver:
    """``targets.cuda.driver`` on host memory."""

    def __init__(self, room: int = 1 << 26):
        self.lost, self.launches, self.used, self.room = False, 0, 0, room
        self.textures: dict[int, int] = {}
        self.residues: set[int] = set()

    def context(self, index: int = 0) -> int:
        return 1

    def allocate(self, size: int) -> Any:
        if self.used + size > self.room:
            raise DeviceError(f"size={size}: the device has not that many bytes")
        self.used += size
        memory = np.empty(size + 512, np.uint8)
        address = memory.ctypes.data
        driver = self

        class Memory:
            def __init__(self) -> None:
                self.address, self.size, self.held = address + -address % 256, size, memory

            def __del__(self) -> None:
                driver.used -= size

        return Memory()

    def upload(self, address: int, words: Any) -> None:
        assert words.flags.forc
        ctypes.memmove(address, words.ctypes.data, words.nbytes)

    def download(self, words: Any, address: int) -> None:
        assert words.flags.forc
        assert words.flags.writeable
        ctypes.memmove(words.ctypes.data, address, words.nbytes)

    def synchronize(self) -> None:
        if self.lost:
            raise DeviceError("waiting for the device failed (CUDA_ERROR_ILLEGAL_ADDRESS)")

    def aligned(self, wide: int, words: tuple[Any, ...]) -> bool:
        self.residues.add(words[0] % 32)
        return True

    def texture1d(self, address: int, count: int, itemsize: int) -> Any:
        assert address % 512 == 0
        assert count > 0
        handle = len(self.textures) + 1
        self.textures[handle] = address
        return SimpleNamespace(handle=handle)

    def texture2d(self, address: int, width: int, height: int, pitch: int, itemsize: int) -> Any:
        assert pitch % 32 == 0
        assert pitch >= width * itemsize
        return self.texture1d(address, width * height, itemsize)

    def Launcher(self, kernel: Kernel, launch: Launch, block: bytearray) -> FakeLauncher:
        return FakeLauncher(self, kernel, launch, block)

    def Stopwatch(self) -> Any:
        watch = measure.Ticks(time.perf_counter)

        def timed(run: Callable[[], object], repeats: int, stream: int = 0) -> float:
            seconds = watch.time(run, repeats)
            self.synchronize()
            return seconds

        return SimpleNamespace(time=timed)

    def clocks(self, index: int = 0) -> str:
        return "1980 MHz"


def compiled(problem: Problem, **values: Any) -> Candidate:
    stencil = Pretence()
    config = stencil.default(problem, DEVICE).with_(**values)
    source = stencil.source(problem, config, DEVICE)
    spills = 64 if config["fault"] == "spills" else 0
    return Candidate(
        "pretence", config, Binary(source.text.encode(), "pretence", source.digest, {"spills": spills})
    )


def fake_vendor(problem: Problem, copies: Any, alpha: complex, beta: complex) -> Any:
    p = problem
    classes = [p.dtype.letter, p.trans_a, p.trans_b, p.beta]
    words = BLOCK.unpack_from(pack(p, copies[0], alpha, beta))
    return "vendor 1", lambda: product(classes, words, ""), lambda: product(classes, words, "")


def pretend(driver: FakeDriver, set_: Callable[[Any, str, Any], None]) -> None:
    """Put the pretence in place of the device."""
    for module in (cuda, cuda_excerpt, cuda_placed):
        set_(module, "driver", driver)
    set_(binding, "driver", driver)
    for module in (cuda, cuda_timing):
        set_(module, "modules", SimpleNamespace(load=lambda binary: Kernel(1, binary)))
    set_(cuda_timing, "driver", driver)
    set_(cuda_timing, "SAMPLE", 2e-4)
    set_(cuda, "FINAL_BUDGET", 0.2)
    set_(cublas, "vendor", fake_vendor)
    set_(cuda.cublaslt_library, "library", lambda: None)
    STENCILS["pretence"] = Pretence()  # type: ignore[assignment]


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> Any:
    made = FakeDriver()
    monkeypatch.setitem(STENCILS, "pretence", Pretence())
    pretend(made, monkeypatch.setattr)
    return made


def one(spelling: str, **fields: Any) -> Problem:
    return Problem.parse(spelling, **fields)[0]


def evaluation(problem: Problem, regime: str = "memory") -> cuda.CudaEvaluation:
    made = cuda.CudaEvaluation(DEVICE)
    made.prepare(problem, regime)
    return made


def seen(memory: Any, device: str = "") -> Any:
    """Memory that says that it is a GPU's, as an array."""
    told = memory.__cuda_array_interface__
    size = np.dtype(told["typestr"]).itemsize
    strides = tuple(step // size for step in told["strides"])
    return array(told["data"][0], told["typestr"], told["shape"], strides)
