"""Evaluations on a GPU, without one: host memory stands for the device's, and NumPy for the kernels."""

from __future__ import annotations

import ctypes
import json
import math
import os
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

from tilewright.catalog import STENCILS
from tilewright.dtypes import WIDE, is_complex, narrowed, widened
from tilewright.errors import CompileError, DeviceError, TilewrightError
from tilewright.model import DTYPES, Binary, Config, Device, Kernel, Launch, Problem, Source
from tilewright.space import Param, Rule, Space
from tilewright.stencils.cuda import args
from tilewright.stencils.cuda.args import BLOCK, pack
from tilewright.stencils.protocol import Stencil
from tilewright.store.records import Records
from tilewright.targets.cuda import binding
from tilewright.tuning import farm, tuner, workers
from tilewright.tuning import timing as measure
from tilewright.tuning.baselines import cublas
from tilewright.tuning.evaluate import Candidate, cuda, cuda_sizes, cuda_timing, kind_cuda
from tilewright.tuning.gemm.operands import operands, reference
from tilewright.tuning.gemm.verify import against

pytestmark = pytest.mark.pure

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
        result = np.einsum("bik,bkj->bij", x, y) * kind.type(alpha)
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
    """``targets.driver`` on host memory."""

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
    set_(cuda, "driver", driver)
    set_(binding, "driver", driver)
    for module in (cuda, cuda_timing):
        set_(module, "modules", SimpleNamespace(load=lambda binary: Kernel(1, binary)))
    set_(cuda_timing, "driver", driver)
    set_(cuda_timing, "SAMPLE", 2e-4)
    set_(cuda, "FINAL_BUDGET", 0.2)
    set_(cublas, "vendor", fake_vendor)
    set_(cuda.cublaslt, "library", lambda: None)
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


# ---- right


@pytest.mark.parametrize("fields", [{}, {"beta": "1"}, {"alpha": "any", "beta": "any"}])
@pytest.mark.parametrize(
    "spelling",
    [
        *("s:320x312x304", "d:tn:320x312x304", "c:nc:160x152x144", "z:jt:99x98x97"),
        *("h:tn:160x152x144", "b:160x152x144", "hc:nc:160x152x144"),
    ],
)
def test_right_candidates_are_timed_and_stand_the_finals(
    driver: FakeDriver, spelling: str, fields: dict[str, str]
) -> None:
    problem = one(spelling, **fields)
    bench = evaluation(problem)
    candidates = [compiled(problem, wide=wide) for wide in (1, 2)]
    for candidate in candidates[: 1 if problem.dtype.letter == "z" else 2]:
        verdict, timing, clocks = bench.attempt(candidate, 3, 0.01, math.inf)
        assert verdict.ok, verdict.why
        assert 0 < verdict.error <= 1
        assert timing is not None
        assert (timing.batch, timing.regime, timing.protocol) == (1, "memory", measure.ALONE)
        assert clocks == "1980 MHz"
    # Bases as they were promised and no better, and better ones.
    assert driver.residues >= {0, 16}
    last_round = bench.final(candidates[:1], 5)
    assert last_round.missing == ""
    assert last_round.vendor is not None
    assert last_round.vendor[0] == "vendor 1"
    (outcome,) = last_round.outcomes
    assert outcome.verdict.ok, outcome.verdict.why
    assert outcome.timing is not None
    assert measure.ratio(outcome.timing, last_round.vendor[1])[0] > 0


@pytest.mark.parametrize("read", ["tex1d", "tex2d"])
def test_textures_are_made_over_single_aligned_matrices(driver: FakeDriver, read: str) -> None:
    problem = one("d:320x312x304")
    verdict, timing, _ = evaluation(problem).attempt(compiled(problem, read=read), 3, 0.01, math.inf)
    assert verdict.ok, verdict.why
    assert timing is not None
    assert driver.textures


def test_blocks_that_share_k_are_checked_on_longer_ones(driver: FakeDriver) -> None:
    problem = one("s:320x312x304")
    bench = evaluation(problem)
    chosen = bench._chosen(compiled(problem, split=8))
    assert len(chosen) == 3
    assert all(small.k >= 128 for small, _ in chosen)
    assert bench.attempt(compiled(problem, split=8), 3, 0.01, math.inf).verdict.ok


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        ("remainder", "right is"),
        ("guard", "guards of C"),
        ("reads c", "right is"),
        ("conjugates", "right is"),
        ("wide", "right is"),
        ("batch", "batch 3"),
        ("short k", "right is"),
    ],
)
def test_faults_are_found_on_small_problems(driver: FakeDriver, fault: str, says: str) -> None:
    problem = one("z:nn:320x312x304")
    verdict, timing, _ = evaluation(problem).attempt(compiled(problem, fault=fault), 3, 0.01, math.inf)
    assert not verdict.ok
    assert timing is None
    assert says in verdict.why


def test_what_is_wrong_on_the_timed_problem_alone_loses_the_finals(driver: FakeDriver) -> None:
    problem = one("d:320x312x304", beta="any")
    bench = evaluation(problem)
    pair = [compiled(problem, fault="large"), compiled(problem)]
    assert all(bench.attempt(candidate, 3, 0.01, math.inf).verdict.ok for candidate in pair)
    last_round = bench.final([*pair, pair[0]], 5)
    assert [outcome.verdict.ok for outcome in last_round.outcomes] == [False, True, False]
    assert [outcome.timing is None for outcome in last_round.outcomes] == [True, False, True]
    assert "320x312x304@1 itself" in last_round.outcomes[0].verdict.why


def test_damage_by_another_is_not_a_candidates_fault(driver: FakeDriver) -> None:
    problem = one("d:320x312x304")
    bench = evaluation(problem)
    array(bench.pointers[0][0], "f8", (320 * 304,), (1,))[...] = 0
    last_round = bench.final([compiled(problem)], 5)
    assert last_round.outcomes[0].verdict.ok
    assert last_round.missing == ""


def test_a_stencil_with_sizes_compiled_in_is_checked_on_its_own(
    driver: FakeDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    def source(self: Pretence, problem: Problem, config: Config, device: Device) -> Source:
        p = problem
        text = json.dumps([[p.dtype.letter, p.trans_a, p.trans_b, p.beta], dict(config)])
        return Source(text, "pretence", defines=(("M", str(p.m)),))

    monkeypatch.setattr(Pretence, "source", source)
    problem = one("d:8x8x8@1000")
    bench = evaluation(problem)
    assert [p.batch for p, _ in bench._chosen(compiled(problem))] == [1, 3, 7]
    verdict, timing, _ = bench.attempt(compiled(problem), 3, 0.01, math.inf)
    assert verdict.ok, verdict.why
    assert timing is not None
    assert timing.batch == 1000
    large = one("d:320x312x304")
    bench.prepare(large, "memory")
    verdict = bench.attempt(compiled(large), 3, 0.01, math.inf).verdict
    assert "no small problem" in verdict.why


# ---- fast


def test_a_candidate_beyond_the_limit_gets_one_sample(driver: FakeDriver) -> None:
    problem = one("d:64x64x64@4")
    bench = evaluation(problem, "cached")
    outcome = bench.attempt(compiled(problem, fault="slow"), 3, 0.5, 0.001)
    assert outcome.timing is not None
    assert len(outcome.timing.samples) == 1


def test_copies_fill_twice_the_cache_in_memory_alone(driver: FakeDriver) -> None:
    problem = one("d:64x64x64@1")
    bench = evaluation(problem)
    bytes_ = 3 * 64 * 64 * 8
    assert len(bench.pointers) == -(-2 * DEVICE.last_cache // bytes_)
    assert len({a for a, _, _ in bench.pointers}) == len(bench.pointers)
    seen = set()
    run = bench.turns(compiled(problem), Kernel(1, compiled(problem).binary))
    for _ in bench.pointers:
        before = [array(c, "f8", (64,), (1,)).tobytes() for _, _, c in bench.pointers]
        run()
        after = [array(c, "f8", (64,), (1,)).tobytes() for _, _, c in bench.pointers]
        seen.add([x == y for x, y in zip(before, after, strict=True)].index(False))
    assert len(seen) == len(bench.pointers)
    bench.prepare(problem, "cached")
    assert len(bench.pointers) == 1
    bench.prepare(one("d:320x320x320"), "memory")
    assert len(bench.pointers) == 1


@pytest.mark.parametrize(
    ("spelling", "regime", "batch"),
    [
        ("s:4096x4096x4096", "memory", 1),
        ("s:4096x4096x4096", "cached", 1),
        ("s:8192x8192x64", "memory", 1),
        ("d:16x16x16@50000", "memory", 50000),
        ("d:16x16x16@50000", "cached", 50000),
        ("d:16x16x16", "memory", (128 << 20) // 6144),
        ("d:16x16x16", "cached", (1 << 17) // 6144),
        ("d:2x2x2@2", "memory", -(-(1 << 19) // (256 * 96))),
    ],
)
def test_sizes(spelling: str, regime: str, batch: int) -> None:
    assert cuda_sizes.sized(one(spelling), regime, DEVICE).batch == batch
    assert tuner.sized(one(spelling), regime, DEVICE).batch == batch


def test_too_large_a_problem_says_how_many_bytes(driver: FakeDriver) -> None:
    driver.room = 1 << 20
    problem = one("z:256x256x256")
    with pytest.raises(TilewrightError, match=r"z:nn:256x256x256@1.* 3145728 bytes"):
        evaluation(problem)
    # And nothing stays of what had been there.
    assert driver.used < 1 << 20
    evaluation(one("z:32x32x32"))


def test_operands_go_when_others_come(driver: FakeDriver) -> None:
    bench = evaluation(one("d:320x320x320"), "cached")
    first = driver.used
    for _ in range(3):
        bench.prepare(one("d:320x320x320"), "cached")
    assert driver.used == first


def test_a_fault_that_costs_the_context_ends_the_process(driver: FakeDriver) -> None:
    problem = one("d:64x64x64@4")
    bench = evaluation(problem)
    with pytest.raises(DeviceError, match="INVALID_VALUE"):
        bench.attempt(compiled(problem, fault="launch"), 3, 0.01, math.inf)
    assert bench.attempt(compiled(problem), 3, 0.01, math.inf).verdict.ok
    with pytest.raises(workers.Fatal, match="ILLEGAL_ADDRESS"):
        bench.attempt(compiled(problem, fault="lost"), 3, 0.01, math.inf)


def test_a_vendor_that_is_wrong_or_absent_is_not_timed(
    driver: FakeDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = one("d:64x64x64@4")
    bench = evaluation(problem)
    monkeypatch.setattr(cublas, "vendor", lambda *_: "torch: not here")
    last_round = bench.final([compiled(problem)], 5)
    assert (last_round.vendor, last_round.missing) == (None, "torch: not here")
    assert last_round.outcomes[0].timing is not None
    monkeypatch.setattr(cublas, "vendor", lambda *_: ("vendor 2", lambda: None, lambda: None))
    last_round = bench.final([compiled(problem)], 5)
    assert last_round.vendor is None
    assert "vendor 2: d:nn:64x64x64@4 itself" in last_round.missing


class Algorithm:
    """An algorithm of cuBLASLt that takes a while, and may be wrong."""

    def __init__(self, problem: Problem, scalars: tuple[complex, complex], wait: float, wrong: bool = False):
        self.problem, self.scalars, self.wait, self.wrong = problem, scalars, wait, wrong

    def starting(self, swap: bool) -> Any:
        assert not swap
        p = self.problem
        classes = [p.dtype.letter, p.trans_a, p.trans_b, p.beta]

        def start(a: int, b: int, c: int, stream: int) -> None:
            assert stream == 0
            words = BLOCK.unpack_from(pack(p, (a, b, c), *self.scalars))
            product(classes, words, "wide" if self.wrong else "")
            end = time.perf_counter() + self.wait
            while time.perf_counter() < end:
                pass

        return start


@pytest.mark.parametrize("waits", [(0.02, 0.0, 0.01), (0.02, 0.02, 0.02)])
def test_the_fastest_right_algorithm_stands_for_the_vendor(
    driver: FakeDriver, monkeypatch: pytest.MonkeyPatch, waits: tuple[float, ...]
) -> None:
    # Of odd columns, where what is "wide" goes wrong.
    problem = one("d:61x59x64@4")
    asked = []

    def candidates(problem: Problem, scalars: Any, index: int, count: int) -> Any:
        asked.append((index, count))
        made = [(Config({"id": i}), Algorithm(problem, scalars, wait)) for i, wait in enumerate(waits)]
        return [(Config({"id": 9}), Algorithm(problem, scalars, 0.0, wrong=True)), *made]

    monkeypatch.setattr(cuda.cublaslt, "candidates", candidates)
    monkeypatch.setattr(cuda.cublaslt, "version", lambda: 130100)
    bench = evaluation(problem)
    # The array library's product, which is faster than an algorithm that waits.
    last_round = bench.final([], 5)
    assert last_round.missing == ""
    assert last_round.vendor is not None
    if waits[1]:
        assert (last_round.vendor[0], last_round.config) == ("vendor 1", Config({"by": "library"}))
    else:
        assert last_round.config in (Config({"id": 1}), Config({"by": "library"}))
    monkeypatch.setattr(cublas, "vendor", lambda *_: "torch: not here")
    last_round = bench.final([], 5)
    assert last_round.vendor is not None
    assert last_round.vendor[0] == "cublas by cublasLt 130100"
    assert last_round.config == Config({"id": 1}) if not waits[1] else last_round.config["id"] in (0, 1, 2)
    assert asked == [(0, cuda.ALGORITHMS)], "once for a problem"
    bench.prepare(problem, "memory")
    monkeypatch.setattr(
        cuda.cublaslt,
        "candidates",
        lambda problem, scalars, *_: [(Config({}), Algorithm(problem, scalars, 0.0, wrong=True))],
    )
    last_round = bench.final([], 5)
    assert (last_round.vendor, last_round.missing) == (None, "torch: not here")


# ---- what the user would call instead

PADDED = {"lda": 11, "ldb": 9, "ldc": 7, "stride_a": 90, "stride_b": 80, "stride_c": 40}


def seen(memory: Any, device: str = "") -> Any:
    """Memory that says that it is a GPU's, as an array."""
    told = memory.__cuda_array_interface__
    size = np.dtype(told["typestr"]).itemsize
    strides = tuple(step // size for step in told["strides"])
    return array(told["data"][0], told["typestr"], told["shape"], strides)


def check_vendor(multiply: Callable[..., Any], problem: Problem) -> None:
    """A vendor's product against the right answer, in the layout of the problem."""
    made = operands(problem, 5)
    right = reference(problem, made)
    with np.errstate(invalid="ignore"):
        run = multiply(problem, made.pointers, made.alpha, made.beta)
        getattr(run, "whole", run)()
    said = against(made.c[right.which], right, problem, "vendor", cublas.roundings(problem) + 1)
    assert said.error <= 2, (problem, said.why)
    assert made.intact()


def problems() -> list[Problem]:
    found = []
    kinds = (("s", "nn"), ("d", "tn"), ("c", "nc"), ("z", "jt"), ("z", "cc"), ("h", "tn"), ("b", "nt"))
    for letter, trans in (*kinds, ("hc", "nn"), ("hc", "cj"), ("hc", "tc")):
        for classes in ({}, {"beta": "1"}, {"alpha": "any"}, {"alpha": "any", "beta": "any"}):
            base = one(f"{letter}:{trans}:4x5x6", **classes)
            found += [base, base.with_(batch=3), base.with_(batch=3, **PADDED), base.with_(**PADDED)]
            found.append(base.with_(batch=3, stride_a=0))
    return found


def test_pytorchs_product_is_the_problems(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(torch, "as_tensor", lambda memory, device: torch.from_numpy(seen(memory)))
    for problem in problems():
        check_vendor(cublas.torch_product, problem)


def test_the_planar_way_is_timed_without_its_conversions(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(torch, "as_tensor", lambda memory, device: torch.from_numpy(seen(memory)))
    monkeypatch.setattr(cublas, "has_torch", lambda: "cublas by torch 9")
    problem = one("hc:nn:5x6x7@3", beta="1")
    made = operands(problem, 3)
    before, right = made.c.copy(), reference(problem, made)
    found = cublas.vendor(problem, [made.pointers], made.alpha, made.beta)
    assert not isinstance(found, str)
    version, first, turns = found
    assert version == "planar cublas by torch 9"
    turns()
    assert (made.c == before).all(), "the timed product writes to planes"
    first()
    assert against(made.c, right, problem, "planar", cublas.roundings(problem)).ok
    # A twisted sign is more than its roundings explain.
    stored = [cublas.tensor(x) for x in cublas.memories(problem, made.pointers)]
    wrong = cublas.Planar(torch, problem.with_(trans_a="j"), stored, 1, 1)
    made.c[...] = before
    wrong.whole()
    assert not against(made.c, right, problem, "planar", cublas.roundings(problem)).ok


def test_cupys_product_is_the_problems(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("matmul", "multiply", "add", "empty")
    cupy = SimpleNamespace(asarray=seen, **{name: getattr(np, name) for name in names})
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    for problem in problems():
        if problem.dtype.letter == "b":
            continue  # NumPy has no product of it that could stand for CuPy's.
        if problem.dtype.letter == "hc":
            with pytest.raises(TypeError, match="complex half"):
                cublas.cupy_product(problem, (0, 0, 0), 1, 0)
            continue
        check_vendor(cublas.cupy_product, problem)


def test_a_vendor_that_cannot_be_asked_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.setitem(sys.modules, "cupy", None)
    said = cublas.vendor(one("d:4x4x4"), [(0, 0, 0)], 1, 0)
    assert isinstance(said, str)
    assert "torch: ModuleNotFoundError" in said
    assert "cupy: ModuleNotFoundError" in said


# ---- the whole tuner, in child processes


def fake_factory(device: Device) -> Callable[[Any], Any]:
    """The timing child of these tests."""
    pretend(FakeDriver(), setattr)
    return cuda.handler(device)


def fake_compiler(device: Device) -> Callable[[Any], Binary]:
    """The compiling children of these tests."""

    def handle(request: tuple[str, Problem, Config]) -> Binary:
        _, problem, config = request
        return compiled(problem, **config).binary

    return handle


@pytest.fixture
def tuned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    module = tuner
    monkeypatch.setitem(STENCILS, "pretence", Pretence())
    kind = replace(kind_cuda.KIND, factory=fake_factory, compilers=lambda device: 2, driver=lambda: "580.1")
    monkeypatch.setitem(module.EVALUATIONS, "cuda", kind)
    monkeypatch.setattr(farm, "compiler", fake_compiler)
    monkeypatch.setattr(module, "toolchain", lambda device, stencil: "nvrtc 13.0.88 stencils 12345678")
    records = Records(tmp_path / "records.sqlite")
    yield module, records
    records.close()


def test_a_sweep_records_every_try_and_survives_all_faults(tuned: Any) -> None:
    module, records = tuned
    problem = one("d:320x312x304")
    options: dict[str, Any] = {"search": "exhaustive", "budget": 120.0, "stencils": ["pretence"]}

    def spaces(space: Space) -> Space:
        return space.restricted(read="global", split=1, wide=1)

    def run() -> Any:
        # No fault hangs: what does not return is waited for in tests/cpu/test_tune.py.
        with module.Tuner(DEVICE, records) as tuner:
            return tuner.tune(problem, "memory", spaces=spaces, **options)

    result = run()
    rows = records.all(stencil="pretence")
    first = {row.config["fault"]: row for row in rows if row.protocol == measure.ALONE}
    assert len(first) == len(FAULTS) == result.tried
    expected = {
        "": "ok",
        "remainder": "wrong",
        "guard": "wrong",
        "reads c": "wrong",
        "conjugates": "ok",  # of real numbers
        "wide": "wrong",
        "batch": "wrong",
        "short k": "wrong",
        "large": "ok",
        "launch": "crashed",
        "lost": "crashed",
        "slow": "ok",
        "exit": "crashed",
        "compile": "compile_failed",
        "spills": "spills",
    }
    assert {fault: row.status for fault, row in first.items()} == expected
    assert "ILLEGAL_ADDRESS" in first["lost"].detail
    assert first["slow"].detail == "one sample: stopped early"
    last = {row.config["fault"]: row for row in rows if row.protocol >= measure.INTERLEAVED}
    assert {fault: row.status for fault, row in last.items()} == {
        "": "ok",
        "conjugates": "ok",
        "large": "wrong",
        "slow": "ok",
    }
    for row in (first[""], last[""]):
        assert row.driver == "580.1"
        assert row.clocks == "1980 MHz"
    assert result.best is not None
    assert result.best.config["fault"] in ("", "conjugates")
    assert result.vendor is not None
    assert result.vendor.toolchain == "vendor 1"
    assert result.missing == ""
    assert result.device_seconds > 0
    assert result.waited >= 0
    # What is wrong on the timed problem is nobody's best, though its first try was right.
    best = records.best(problem.key, "memory", DEVICE.key, without="vendor")
    assert best is not None
    assert best.config["fault"] in ("", "conjugates")
    # And the same again tries nothing anew.
    count = len([row for row in rows if row.protocol == measure.ALONE])
    assert run().tried == count
    assert len([r for r in records.all(stencil="pretence") if r.protocol == measure.ALONE]) == count
    # Unless what spills is let through.
    with module.Tuner(DEVICE, records) as tuner:
        tuner.tune(problem, "memory", spaces=spaces, tolerate=64, **options)
    again = [r for r in records.all(stencil="pretence") if r.config["fault"] == "spills"]
    assert [row.status for row in again][:2] == ["spills", "ok"]


def broken_factory(device: Device) -> Callable[[Any], Any]:
    """A timing child whose vendor takes it down."""
    handle = fake_factory(device)

    def vendor(*_: Any) -> Any:
        os._exit(9)

    cublas.vendor = vendor  # type: ignore[assignment]
    return handle


def test_finals_that_fail_by_themselves_are_nobodys_fault(
    tuned: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    module, records = tuned
    monkeypatch.setitem(
        module.EVALUATIONS, "cuda", replace(module.EVALUATIONS["cuda"], factory=broken_factory)
    )
    problem = one("d:128x128x128@2")
    with module.Tuner(DEVICE, records, timeout=20.0) as tuner:
        result = tuner.tune(
            problem,
            "cached",
            search="exhaustive",
            budget=20,
            stencils=["pretence"],
            spaces=lambda space: space.restricted(read="global", split=1, wide=1, fault=""),
        )
    assert "exit code 9" in result.missing
    assert result.vendor is None
    assert result.best is not None
    assert result.best.protocol == measure.ALONE
    assert [row.status for row in records.all(stencil="pretence")] == ["ok"]


def test_a_spent_budget_ends_a_sweep(tuned: Any) -> None:
    module, records = tuned
    problem = one("d:128x128x128@2")
    with module.Tuner(DEVICE, records, timeout=20.0) as tuner:
        for expected in (1, 2):
            result = tuner.tune(
                problem,
                "cached",
                search="exhaustive",
                budget=0.0,
                stencils=["pretence"],
                spaces=lambda space: space.restricted(read="global", split=1, fault=""),
            )
            assert 1 <= result.tried <= expected
            assert not any(worker.busy for worker in tuner.compilers)
    assert result.best is not None


def test_a_problem_without_room_is_an_error_of_the_run(tuned: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    module, records = tuned
    with (
        module.Tuner(DEVICE, records, timeout=10.0) as tuner,
        pytest.raises(TilewrightError, match=r"d:nn:2048x2048x2048@1.* 100663296 bytes"),
    ):
        tuner.tune(one("d:2048x2048x2048"), "memory", search="exhaustive", budget=1, stencils=["pretence"])
