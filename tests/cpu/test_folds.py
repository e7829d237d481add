"""The ``folds`` stencil: right for every type, transposition and class, without spills, and chosen where the
models say that it is faster."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable

import pytest

from tests.cpu.tile.pretence import AVX2, AVX512, pretended
from tilewright.catalog import STENCILS
from tilewright.model import DTYPES, Config, Device, Problem
from tilewright.planning import dispatch
from tilewright.space import HARDWARE
from tilewright.stencils.cpu.folds.codegen import along, groups, looped
from tilewright.targets.cpu import llvm, processor
from tilewright.tuning.gemm.verify import Verifier

pytestmark = pytest.mark.cpu

FOLDS = STENCILS["folds"]


def drawn(seed: int) -> tuple[Problem, random.Random]:
    """A random problem with few columns, and what draws its config."""
    draw = random.Random(seed)
    letter = draw.choice("sdcz")
    m, k = (int(2 ** draw.uniform(0, 6)) for _ in "mk")
    marks = ("tc", "ntcj") if letter in "cz" else ("t", "nt")
    problem = Problem(
        DTYPES[letter],
        m,
        draw.randint(1, 9),
        k,
        *(draw.choice(some) for some in marks),
        alpha=draw.choice(("1", "any")),
        beta=draw.choice(("0", "1", "any")),
    )
    changed = {f"ld{x}": getattr(problem, f"ld{x}") + draw.choice((0, 0, 3)) for x in "abc"}
    changed |= {f"stride_{x}": None for x in "abc"}
    changed |= draw.choice(({}, {}, {"stride_a": 0}, {"stride_b": 0}))
    return problem.with_(**changed), draw


def config_of(problem: Problem, device: Device, draw: random.Random) -> Config:
    """A random config that the hardware allows."""
    space = FOLDS.space(problem, device).only(HARDWARE)
    while True:
        config = Config({param.name: draw.choice(param.values) for param in space.params})
        if not space.why(config):
            return config


def long_vector(seed: int) -> tuple[Problem, random.Random]:
    """A random matrix times a vector, of which k or the rows are more than other products may have."""
    problem, draw = drawn(seed)
    m, k = draw.choice(((9, 65), (1, 90), (70, 12), (5, 131), (3, 64), (130, 3), (21, 300), (67, 67)))
    fields = {name: getattr(problem, name) for name in ("alpha", "beta")}
    one = Problem(problem.dtype, m, 1, k, problem.trans_a, problem.trans_b, **fields)
    one = one.with_(m=m, lda=k + draw.choice((0, 3)), ldb=(one.ldb or 0) + draw.choice((0, 2)))
    return one.with_(**draw.choice(({}, {}, {"stride_a": 0}, {"stride_b": 0}))), draw


@pytest.mark.parametrize("made", [drawn, long_vector])
@pytest.mark.parametrize("seed", range(40))
def test_random_configs_are_right(seed: int, made: Callable[[int], tuple[Problem, random.Random]]) -> None:
    device = processor.probe()
    problem, draw = made(seed)
    if reason := FOLDS.accepts(problem, device):
        pytest.skip(reason)
    config = config_of(problem, device, draw)
    binary = llvm.compile(FOLDS.source(problem, config, device), device)
    assert binary.facts["fma"] == binary.facts["fma_expected"]
    kernel = llvm.load(binary)
    call = llvm.PROTOTYPE(kernel.address)
    verdict = Verifier(problem, seed).check(lambda made: call(*made.arguments))
    assert verdict.ok, f"{problem.key}, {config}: {verdict.why}"


@pytest.mark.parametrize("made", [drawn, long_vector])
@pytest.mark.parametrize("name", ["znver5", "znver4", "sapphirerapids", "haswell"])
def test_defaults_do_not_spill(name: str, made: Callable[[int], tuple[Problem, random.Random]]) -> None:
    device = pretended(name)
    for seed in range(100, 106):
        problem, _ = made(seed)
        for batch in (2, 1 << 22):
            asked = problem.with_(batch=batch)
            config = FOLDS.default(asked, device)
            assert not FOLDS.space(asked, device).only(HARDWARE).why(config)
            facts = llvm.compile(FOLDS.source(asked, config, device), device).facts
            assert facts["fma"] == facts["fma_expected"], f"{asked.key}, {config}"
            # With 16 registers LLVM keeps signs of complex products on the stack: constants, and no sums.
            constants = 3 + looped(asked) if asked.dtype.is_complex and not device["masks"] else 0
            assert facts["spills"] <= constants, f"{asked.key}, {config}"


def test_what_it_refuses_it_names() -> None:
    arm = dataclasses.replace(AVX2, features="aarch64/cortex-a57 +neon")
    for device, spelling, trans, words in (
        (arm, "d:3x2x9", "tn", "x86"),
        (AVX512, "h:3x2x9", "tn", "type h"),
        (AVX512, "d:3x2x9", "nn", "not transposed"),
        (AVX512, "d:3x2x65", "tn", "larger than 64"),
        (AVX512, "d:3x1x4097", "tn", "larger than 4096"),
        (AVX512, "d:3x2x0", "tn", "nothing to compute"),
    ):
        (problem,) = Problem.parse(spelling)
        problem = problem.with_(trans_a=trans[0], trans_b=trans[1])
        assert words in str(FOLDS.accepts(problem, device))


@pytest.mark.parametrize("name", ["haswell", "znver3"])
def test_what_few_registers_have_no_room_for_is_refused(name: str) -> None:
    """Complex columns of a turned B with an update, read ahead from memory."""
    for spelling in ("z:3x39x31", "c:64x53x10"):
        (problem,) = Problem.parse(spelling, beta="any")
        asked = problem.with_(trans_a="t", trans_b="t", batch=1 << 20)
        assert "vector registers" in str(FOLDS.accepts(asked, pretended(name)))
        few = asked.with_(beta="0", batch=2)
        assert FOLDS.accepts(few, pretended(name)) is None
        assert FOLDS.default(few, pretended(name))
        assert dispatch.plan(asked, pretended(name), vendor=False).stencil == "tile"


@pytest.mark.parametrize("device", [AVX512, AVX2], ids=lambda d: d.key)
@pytest.mark.usefixtures("new_home")
def test_few_columns_and_a_long_sum_run_it_and_many_columns_do_not(device: Device) -> None:
    for spelling in ("s:3x2x62", "d:3x2x10", "s:30x30x5", "d:20x20x20"):
        (problem,) = Problem.parse(spelling)
        chosen = dispatch.plan(problem.with_(trans_a="t", batch=9), device, vendor=False).stencil
        assert (chosen == "folds") == ("x2x" in spelling), spelling
        assert dispatch.plan(problem.with_(batch=9), device, vendor=False).stencil != "folds"


@pytest.mark.usefixtures("new_home")
def test_from_memory_numbers_of_64_bits_run_another() -> None:
    for letter in "sdcz":
        (problem,) = Problem.parse(f"{letter}:3x2x60", batch=AVX512["l3"])
        device, asked = pretended("znver5"), problem.with_(trans_a="t")
        assert (dispatch.plan(asked, device, vendor=False).stencil == "folds") == (letter in "sc")
        few = asked.with_(batch=9)
        assert dispatch.plan(few, device, vendor=False).stencil == "folds"


def test_longer_vectors_run_it_where_it_was_measured_to_win() -> None:
    """A loop along k, whose code is no longer for a longer one."""
    sizes = []
    for k in (300, 1500):
        (problem,) = Problem.parse(f"d:40x1x{k}@9")
        asked = problem.with_(trans_a="t")
        assert FOLDS.needs_record(asked)
        assert FOLDS.accepts(asked, AVX512) is None
        config = FOLDS.default(asked, AVX512)
        sizes.append(len(FOLDS.source(asked, config, AVX512).text))
    # What is left behind the turns of the loop differs.
    assert max(sizes) < 1.5 * min(sizes)
    assert FOLDS.accepts(problem.with_(trans_a="t", n=2), AVX512) is not None


def test_a_deterministic_call_runs_another() -> None:
    (problem,) = Problem.parse("s:3x2x62")
    assert isinstance(FOLDS.steady(problem.with_(trans_a="t"), AVX512), str)


def test_every_row_is_in_one_group_and_every_step_in_one_vector() -> None:
    """Neither overlaps: a product that is added twice, or never, is wrong."""
    for letter, m, k in (("d", 13, 19), ("z", 7, 5), ("s", 64, 64), ("c", 1, 1)):
        problem = Problem(DTYPES[letter], m, 2, k, "t", "n")
        unit = 2 if letter in "cz" else 1
        for tail in ("mask", "binary"):
            for pieces, reals in ((groups(problem, 4, tail), m * unit), (along(problem, 8), k * unit)):
                covered = [piece.start + lane for piece in pieces for lane in range(piece.active)]
                assert covered == list(range(reals))


@pytest.mark.parametrize("spelling", ["d:3x3x24", "s:13x2x40", "z:7x5x30"])
def test_every_line_of_the_product_ahead_is_asked_for_once(spelling: str) -> None:
    """Without a loop over rows: of A, B and C, in 64 bytes each."""
    (problem,) = Problem.parse(spelling, beta="1")
    problem = problem.with_(trans_a="t", batch=9)
    config = FOLDS.default(problem, AVX512).with_(prefetch=2, blk_m=16 if spelling[0] == "s" else 4)
    assert problem.m < 2 * config["blk_m"]
    size = problem.dtype.itemsize
    reals = (problem.m * problem.k, problem.k * problem.n, problem.m * problem.n)
    for asked in (problem, problem.with_(stride_b=0)):
        text = FOLDS.source(asked, config, AVX512).text
        sizes = reals if asked is problem else (reals[0], reals[2])
        lines = [-(-size * some // 64) for some in sizes]
        assert text.count("call void @llvm.prefetch") == sum(lines)
        assert text.count("i32 1, i32 3, i32 1)") == lines[-1], "C is asked for to be written"
    assert "@llvm.prefetch" not in FOLDS.source(problem, config.with_(prefetch=0), AVX512).text


@pytest.mark.parametrize("letter", "sdcz")
def test_two_columns_of_a_transposed_operand_need_no_buffer(letter: str) -> None:
    """Put together out of rows in registers, whatever is left of k, unless rows lie apart or are longer."""
    device = processor.probe()
    for n, room, buffers in ((1, 0, False), (2, 0, False), (2, 1, True), (3, 0, True)):
        for k in (1, 5, 17, 40):
            problem = Problem(DTYPES[letter], 7, n, k, "t", "t", beta="1", ldb=n + room)
            wide = FOLDS.default(problem.with_(k=40, lda=None, stride_a=None, stride_b=None), AVX512)
            text = FOLDS.source(problem, wide.with_(vector_bits=512, blk_m=2), AVX512).text
            assert ("alloca" in text) == buffers
            if FOLDS.accepts(problem, device):
                continue
            config = FOLDS.default(problem, device)
            kernel = llvm.load(llvm.compile(FOLDS.source(problem, config, device), device))
            call = llvm.PROTOTYPE(kernel.address)
            verdict = Verifier(problem, k).check(lambda made, call=call: call(*made.arguments))
            assert verdict.ok, f"{problem.key}, {config}: {verdict.why}"
