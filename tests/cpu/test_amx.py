"""Products of 16-bit numbers by instructions that this machine may lack: compiled for processors by name, and
run where Bochs is there to be one."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from bench.bochs import machine
from bench.bochs.__main__ import drawn, flushes
from tests.tile_unit import emulated
from tilewright.catalog import STENCILS
from tilewright.errors import CompileError, DeviceError
from tilewright.model import DTYPES, Device, Problem
from tilewright.planning import dispatch
from tilewright.space import HARDWARE
from tilewright.stencils.cpu.amx import codegen
from tilewright.targets.cpu import listing, llvm, permission, processor
from tilewright.targets.cpu.isa import ASKED, TILES, compiles_for, family_limits
from tilewright.tuning.gemm.verify import Verifier

pytestmark = pytest.mark.cpu
NEEDS_BF16 = pytest.mark.skipif(
    not compiles_for(processor.probe().features, "avx512bf16"), reason="no AVX512-BF16 here"
)

GOLDEN = Path(__file__).parent.parent / "golden"
SERVERS = {"sapphirerapids": ("avx512bf16", "amx-tile", "amx-bf16"), "graniterapids": ASKED}
INSTRUCTION = {("amx", "b"): "tdpbf16ps", ("amx", "h"): "tdpfp16ps", ("dots", "b"): "vdpbf16ps"}


def cases(name: str) -> Iterator[tuple[str, Problem]]:
    """A stencil and a problem: each type and pair of transpositions once, sizes at random."""
    draw = random.Random(name)
    for stencil, letter in INSTRUCTION:
        for trans in ("nn", "tt") if name == "sapphirerapids" else ("nt", "tn"):
            m, n, k = (draw.randint(1, 40) for _ in range(3))
            scalars = {"alpha": draw.choice(("1", "any")), "beta": draw.choice(("0", "1", "any"))}
            yield stencil, Problem(DTYPES[letter], m, n, k, *trans, **scalars, batch=2)
    # Two sums for each result, and all of a product packed at once.
    yield "amx", Problem(DTYPES["h"], 48, 48, 48, batch=50)


@pytest.mark.parametrize("name", SERVERS)
def test_they_use_the_instructions_and_do_not_spill(name: str) -> None:
    device, served = machine.device(name, SERVERS[name]), 0
    for stencil, problem in cases(name):
        config = STENCILS[stencil].default(problem, device)
        text = llvm.assembly(STENCILS[stencil].source(problem, config, device), device)
        letter = problem.dtype.letter
        # Where tiles multiply no float16, it is the sum of two bfloat16.
        split = (name, letter) == ("sapphirerapids", "h")
        assert f"\t{INSTRUCTION[stencil, 'b' if split else letter]}\t" in text, f"{stencil} {problem.key}"
        assert config["convert"] == (letter == "b")
        if not split:
            assert ("ps2bf16" in text) == (letter == "b")
        assert listing.spills(text, "x86_64")[0] == 0, f"{stencil} {problem.key}, {config}"
        served += 1
    assert served >= 4


def test_every_config_is_one_program() -> None:
    """No two points of a space are the same code, and every point has the products that it must have."""
    device = machine.device()
    for letter, m, n, k in (("b", 40, 40, 40), ("h", 33, 50, 64)):
        problem = Problem(DTYPES[letter], m, n, k, batch=2)
        space, shape = STENCILS["amx"].space(problem, device), codegen.Shape.of(problem)
        space = space.restricted(**({"ahead": 1, "prefetch": 0} if letter == "b" else {"behind": 0}))
        texts = [STENCILS["amx"].source(problem, config, device).text for config in space]
        assert len(set(texts)) == len(texts) == space.count() >= 6
        products = {text.count("call void @llvm.x86.tdp") for text in texts}
        assert products == {shape.down * shape.across * shape.steps}


def test_rounding_by_an_instruction_needs_it() -> None:
    amx, problem = STENCILS["amx"], Problem(DTYPES["b"], 16, 16, 32, batch=2)
    config = amx.default(problem, machine.device())
    assert config["convert"] == 1
    without = machine.device(features=TILES)
    assert [rule.name for rule in amx.space(problem, without).why(config)] == ["convert-is-there"]
    text = llvm.assembly(amx.source(problem, amx.default(problem, without), without), without)
    assert "ps2bf16" not in text


@pytest.mark.usefixtures("new_home")
def test_what_runs_without_a_record() -> None:
    """Tile registers run bfloat16 where they were measured to be faster than vectors, and nothing else."""
    device = machine.device()

    def runs(letter: str, m: int, n: int, k: int, here: Device = device) -> str | None:
        plan = dispatch.plan(Problem(DTYPES[letter], m, n, k, batch=100), here)
        assert plan.origin == "default"
        return plan.stencil

    assert [runs("b", n, n, n) for n in (2, 7, 8, 16, 64)] == ["lanes", "tile", "amx", "amx", "amx"]
    assert runs("b", 64, 1, 64) == runs("b", 16, 16, 16, machine.device(features=("avx512bf16",))) == "tile"
    older = machine.device(features=SERVERS["sapphirerapids"])
    assert [runs("h", n, n, n, older) for n in (16, 24, 64)] == ["tile", "amx", "amx"]
    turned = Problem(DTYPES["h"], 48, 48, 48, "t", "n", batch=100)
    assert dispatch.plan(turned, older).stencil == "tile"
    assert runs("h", 64, 64, 64) == "tile"
    alone = dispatch.plan(Problem(DTYPES["b"], 16, 16, 16), device, vendor=False)
    assert alone.stencil == "tile"


def test_a_float16_is_the_sum_of_two_bfloat16() -> None:
    """What ``pairs`` splits a number into: 8 bits, and what is left of 11, exactly and of the same sign."""
    every = np.arange(1 << 16, dtype=np.uint16).view(np.float16).astype(np.float32)
    every = every[np.isfinite(every)]
    first = (every.view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)
    second = every - first
    assert not (second.view(np.uint32) & 0xFFFF).any()
    assert np.array_equal(first + second, every)
    assert (first * second >= 0).all()
    parts = np.concatenate([first, second])
    assert abs(parts[parts != 0]).min() >= 2.0**-126
    # No first part is zero where a number is not: an infinity meets no such zero.
    assert (first[every != 0] != 0).all()


def test_what_waits_stays_in_the_first_cache() -> None:
    """The rule counts a product's operands and what is packed and summed of those around it, and by default
    a large one is packed at once."""
    device, amx = machine.device(), STENCILS["amx"]
    device = dataclasses.replace(device, limits={**device.limits, "l1d": 48 << 10})
    problem = Problem(DTYPES["b"], 64, 64, 64, batch=2)
    space, config = amx.space(problem, device), amx.default(problem, device)
    assert (config["ahead"], config["behind"]) == (0, 2)
    assert [rule.name for rule in space.why(config.with_(ahead=3))] == ["waiting-fits"]
    small = amx.default(problem.with_(m=16, n=16, k=16, lda=16, ldb=16, ldc=16), device)
    assert (small["ahead"], small["behind"]) == (3, 2)
    far = amx.default(problem.with_(batch=device["l3"]), device)
    assert (far["ahead"], far["prefetch"]) == (1, 1)


@pytest.mark.parametrize(
    ("letter", "size", "features", "words"),
    [
        ("s", 4, ASKED, "type s is not"),
        ("b", 65, ASKED, "larger than 64"),
        ("b", 4, (), "type b needs a processor with"),
    ],
)
def test_what_they_refuse(letter: str, size: int, features: tuple[str, ...], words: str) -> None:
    device = machine.device(features=features)
    for stencil in ("amx", "dots"):
        problem = Problem(DTYPES[letter], 4, size, 4)
        assert words in (STENCILS[stencil].accepts(problem, device) or "")
        assert STENCILS[stencil].accepts(Problem(DTYPES["b"], 4, 4, 0), machine.device())
    bare = machine.device(features=("amx-tile", "amx-bf16"))
    assert "or with avx512bf16" in (STENCILS["amx"].accepts(Problem(DTYPES["h"], 4, 4, 4), bare) or "")


@pytest.mark.parametrize("allowed", [True, False])
def test_tiles_are_there_if_the_system_allows_them(allowed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    known = dict.fromkeys(("avx512f", "avx512vl", "avx512dq", "fma", "f16c", *ASKED), True)
    host = SimpleNamespace(get_host_cpu_features=lambda: known, get_host_cpu_name=lambda: "graniterapids")
    monkeypatch.setattr(processor, "llvm", host)
    monkeypatch.setattr(processor.platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(permission, "tiles", lambda: allowed)
    device = processor.probe.__wrapped__()
    assert compiles_for(device.features, "avx512bf16")
    assert all(compiles_for(device.features, name) == allowed for name in TILES)
    assert ("amx_fp16" in device.supports) == allowed
    assert compiles_for("x86_64/znver4 +avx512f,+fma", "fma")
    assert not compiles_for("x86_64/znver4 +avx512f,+fma", "avx512")


def test_nothing_is_loaded_that_the_system_does_not_allow(monkeypatch: pytest.MonkeyPatch) -> None:
    device, problem = machine.device(), Problem(DTYPES["b"], 3, 3, 3)
    amx = STENCILS["amx"]
    binary = llvm.compile(amx.source(problem, amx.default(problem, device), device), device)
    assert binary.facts["tiles"] == 1
    monkeypatch.setattr(permission, "tiles", lambda: False)
    with pytest.raises(CompileError, match="tile registers, which the system does not allow"):
        llvm.load(binary)


def test_the_system_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def syscall(*numbers: object) -> int:
        asked.append([number.value for number in numbers])  # type: ignore[attr-defined]
        return 0

    monkeypatch.setattr(permission.ctypes, "CDLL", lambda *_, **__: SimpleNamespace(syscall=syscall))
    monkeypatch.setattr(permission.platform, "system", lambda: "Linux")
    monkeypatch.setattr(permission.platform, "machine", lambda: "x86_64")
    assert permission.tiles.__wrapped__()
    assert asked == [[158, 0x1023, 18]]
    monkeypatch.setattr(permission.platform, "system", lambda: "Darwin")
    assert not permission.tiles.__wrapped__()
    assert len(asked) == 1


@pytest.mark.parametrize("stencil", ["amx", "dots"])
def test_the_program_is_as_it_was(stencil: str, request: pytest.FixtureRequest) -> None:
    """One small kernel of each, to be read in a review (``--update-golden``)."""
    device, problem = machine.device(), Problem(DTYPES["b"], 3, 3, 3)
    text = STENCILS[stencil].source(problem, STENCILS[stencil].default(problem, device), device).text
    path = GOLDEN / f"{stencil}-b-3x3x3.{device.key}.ll"
    if request.config.getoption("--update-golden"):
        path.write_text(text)
    assert text == path.read_text(), f"{path.name} differs; if it should, run pytest --update-golden"


@NEEDS_BF16
@pytest.mark.parametrize("seed", range(24))
def test_dots_are_right_on_this_processor(seed: int) -> None:
    """Random sizes, layouts, scalars and configs, under every condition of the verifier."""
    device, dots, draw = processor.probe(), STENCILS["dots"], random.Random(seed)
    m, n, k = (draw.randint(1, draw.choice((7, 20, 64))) for _ in range(3))
    problem = Problem(DTYPES["b"], m, n, k, draw.choice("nt"), draw.choice("nt"))
    wider = {name: getattr(problem, name) + draw.choice((0, 0, 1, 5)) for name in ("lda", "ldb", "ldc")}
    shared = dict.fromkeys(draw.choice(((), (), ("stride_a",), ("stride_b",))), 0)
    problem = Problem(
        DTYPES["b"], m, n, k, *problem.trans, **wider, **shared,
        alpha=draw.choice(("1", "any")), beta=draw.choice(("0", "1", "any")), batch=5,
    )  # fmt: skip
    space = dots.space(problem, device)
    configs = [config for config in space.only(HARDWARE) if config["prefetch"] == draw.choice((0, 1, 2, 4))]
    for config in (dots.default(problem, device), *draw.sample(configs, min(2, len(configs)))):
        kernel = llvm.load(llvm.compile(dots.source(problem, config, device), device))
        call = llvm.PROTOTYPE(kernel.address)
        verdict = Verifier(problem, seed).check(lambda made, call=call: call(*made.arguments))  # type: ignore[misc]
        assert verdict.ok, f"{problem.key}, {config}: {verdict.why}"


@NEEDS_BF16
@pytest.mark.parametrize("seed", range(12))
def test_tiles_are_right_by_python(seed: int) -> None:
    """Random problems by the default and by random configs, with the tile unit in Python, under every
    condition of the verifier: what is packed, read and put into C, and in which order."""
    device, amx, draw = machine.older(), STENCILS["amx"], random.Random(seed)
    for problem in drawn(2, seed):
        space, check = amx.space(problem, device).only(HARDWARE), Verifier(problem, seed)
        others = (space.at(draw.randrange(space.count())) for _ in range(2))
        for config in (amx.default(problem, device), *others):
            kernel, unit = emulated(amx.source(problem, config, device), processor.probe())
            call = llvm.PROTOTYPE(kernel.address)
            verdict = check.check(lambda made, call=call: call(*made.arguments))  # type: ignore[misc]
            assert verdict.ok, f"{problem.key}, {config}: {verdict.why}"
            assert not unit.wrong, f"{problem.key}, {config}"


@pytest.mark.usefixtures("new_home")
def test_pairs_are_the_default_where_they_are_fast() -> None:
    """On a Zen 5, for products that are not tiny, and asked for early from memory; on an Intel never."""
    fast = machine.device("znver5", ("avx512bf16",))
    fast = dataclasses.replace(fast, limits={**fast.limits, **family_limits("znver5")})
    slow = machine.device("sapphirerapids", ("avx512bf16",))
    for spelling, runs in (("b:16x16x16@9", "dots"), ("b:4x4x4@9", "lanes"), ("b:1x40x40@9", "tile")):
        (problem,) = Problem.parse(spelling)
        assert dispatch.plan(problem, fast, vendor=False).stencil == runs
        assert dispatch.plan(problem, slow, vendor=False).stencil != "dots"
    (problem,) = Problem.parse("b:16x16x16")
    assert STENCILS["dots"].default(problem.with_(batch=9), fast)["prefetch"] == 0
    assert STENCILS["dots"].default(problem.with_(batch=fast["l3"]), fast)["prefetch"] == 4


def test_they_run_in_bochs(tmp_path: Path) -> None:
    """Two random problems of each type by both, and by ``tile``, which keeps subnormal numbers."""
    if lacking := machine.missing():
        pytest.skip(f"{', '.join(lacking)} missing")
    device, jobs = machine.device(), []
    for problem in drawn(4, 5):
        for name in ("tile", "dots", "amx"):
            if STENCILS[name].accepts(problem, device) is None:
                config = STENCILS[name].default(problem, device)
                jobs.append(machine.Job(problem, name, config, flushes(name, problem.dtype.letter)))
    # The first of float16 once more, as sums of two bfloat16.
    first, older = next(job.problem for job in jobs if job.problem.dtype.letter == "h"), machine.older()
    last = jobs[-1].problem
    jobs.append(machine.Job(first, "amx", STENCILS["amx"].default(first, older), older=True))
    # One that is said to keep subnormal numbers, and does not.
    wide, dots = last.with_(dtype=DTYPES["b"]), STENCILS["dots"]
    jobs.append(machine.Job(wide, "dots", dots.default(wide, device), flushes=False))
    try:
        said = machine.outcomes(jobs, device, tmp_path)
    except DeviceError as error:
        pytest.skip(str(error))
    for job, words in zip(jobs[:-1], said, strict=False):
        assert words.startswith("right"), f"{job.name}: {words}"
    assert said[-1] == "FAILED in mode 2: an element is wrong"
