"""The ``tile`` stencil: random problems under random configs are right, rules hold, defaults do not spill."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tilewright as tw
from tilewright.catalog import STENCILS
from tilewright.errors import ArgumentError
from tilewright.model import DTYPES, Config, Device, Problem
from tilewright.space import HARDWARE, Space
from tilewright.stencils.cpu.tile.stencil import live
from tilewright.targets.cpu import llvm, processor
from tilewright.targets.cpu.isa import family_limits
from tilewright.tuning.gemm.verify import Verifier

pytestmark = pytest.mark.cpu

TILE = STENCILS["tile"]
GOLDEN = Path(__file__).parent.parent / "golden"

# Devices as data: what is written for them does not depend on the machine that the test runs on.
AVX512 = Device(
    "cpu",
    "a server with 512-bit vectors",
    "skylake-avx512",
    {"vector_bits": 512, "vector_registers": 32, "masks": 1, "cores": 8, "l1d": 32 << 10, "l2": 1 << 20,
     "l3": 32 << 20},
    features="x86_64/skylake-avx512 +avx512dq,+avx512f,+avx512vl,+fma",
    supports=frozenset({"half"}),
)  # fmt: skip
AVX2 = Device(
    "cpu",
    "a laptop with 256-bit vectors",
    "haswell",
    {"vector_bits": 256, "vector_registers": 16, "masks": 0, "cores": 4, "l1d": 32 << 10, "l2": 256 << 10,
     "l3": 8 << 20},
    features="x86_64/haswell +avx2,+fma",
    supports=frozenset({"half"}),
)  # fmt: skip


SERVED = [
    letter
    for letter, dtype in DTYPES.items()
    if TILE.accepts(Problem(dtype, 4, 4, 4), processor.probe()) is None
]
"""The types of this processor: an old one has no instructions for float16."""


def walk(space: Space, seed: int) -> Config | None:
    """A random config that the rules let through, found by going back where a rule says no."""
    draw = random.Random(seed)
    order = {p.name: draw.sample(p.values, len(p.values)) for p in space.params}
    level = {param.name: depth for depth, param in enumerate(space.params)}
    ready: list[list[Any]] = [[] for _ in space.params]
    for rule in space.rules:
        ready[max((level[name] for name in rule.reads), default=0)].append(rule)
    steps = 0

    def extend(chosen: dict[str, Any], depth: int) -> Config | None:
        nonlocal steps
        if depth == len(space.params):
            return Config(chosen)
        name = space.params[depth].name
        for value in order[name]:
            steps += 1
            if steps > 5000:
                return None
            point = {**chosen, name: value}
            if all(rule.test(**{n: point[n] for n in rule.reads}) for rule in ready[depth]):
                found = extend(point, depth + 1)
                if found is not None:
                    return found
        return None

    return extend({}, 0)


def check(problem: Problem, config: Config, device: Device, seed: int = 0) -> None:
    """Compile, load, and verify under every condition of the verifier."""
    binary = llvm.compile(TILE.source(problem, config, device), device)
    kernel = llvm.load(binary)
    call = llvm.PROTOTYPE(kernel.address)
    verdict = Verifier(problem, seed).check(lambda made: call(*made.arguments))
    assert verdict.ok, f"{problem.key}, {config}: {verdict.why}"


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    most = draw(st.sampled_from([4, 9, 20, 20, 33, 64]))
    size = st.integers(1, most)
    dtype = DTYPES[draw(st.sampled_from(SERVED))]
    m, n = draw(size), draw(size)
    k = draw(st.one_of(size, size, st.just(0)))
    if m * n * k > 20_000:
        m, n = min(m, 17), min(n, 17)
    letter = st.sampled_from("ntcj")
    p = Problem(dtype, m, n, k, draw(letter), draw(letter))
    pad = st.sampled_from([0, 0, 1, 3, 8])
    changed: dict[str, Any] = {f"ld{x}": getattr(p, f"ld{x}") + draw(pad) for x in "abc"}
    shared = draw(st.sampled_from(["", "", "a", "b", "ab"]))
    changed |= {f"stride_{x}": 0 for x in shared}
    changed |= {
        "alpha": draw(st.sampled_from(["1", "any"])),
        "beta": draw(st.sampled_from(["0", "1", "any"])),
    }
    changed |= {f"stride_{x}": None for x in "abc" if x not in shared}
    return p.with_(**changed)


@settings(deadline=None, max_examples=60, suppress_health_check=list(HealthCheck))
@given(problems(), st.integers(0, 10**6), st.booleans())
def test_random_configs_are_right(problem: Problem, seed: int, all_rules: bool) -> None:
    device = processor.probe()
    assert TILE.accepts(problem, device) is None
    space = TILE.space(problem, device)
    config = walk(space if all_rules else space.only(HARDWARE), seed)
    if config is None:
        config = TILE.default(problem, device)
    assert not [rule for rule in space.why(config) if rule.kind in HARDWARE]
    check(problem, config, device, seed)


@pytest.mark.parametrize("store", ["plain", "staged"])
@pytest.mark.parametrize("letter", SERVED)
def test_a_sum_over_nothing_is_written_however_results_leave(letter: str, store: str) -> None:
    device, problem = processor.probe(), Problem(DTYPES[letter], 3, 2, 0, batch=5)
    config = TILE.default(problem, device).with_(store=store)
    assert not [rule for rule in TILE.space(problem, device).why(config) if rule.kind in HARDWARE]
    check(problem, config, device)


@pytest.mark.parametrize("letter", [letter for letter in SERVED if letter not in ("s", "c")])
@pytest.mark.parametrize("bits", [128, 256, 512])
@pytest.mark.parametrize("tail", ["mask", "narrow", "binary", "overlap"])
def test_every_tail_of_every_width(letter: str, bits: int, tail: str) -> None:
    device = processor.probe()
    tried = 0
    for m in (3, 5, 7, 11):
        problem = Problem(DTYPES[letter], m, 3, 4, beta="1")
        space = TILE.space(problem, device).only(HARDWARE)
        values = {param.name: param.values for param in space.params}
        if bits in values["vector_bits"] and tail in values["tail"]:
            config = walk(space.restricted(vector_bits=bits, tail=tail), m)
            if config is not None:
                tried += 1
                check(problem, config, device)
    if not tried:
        pytest.skip("no such vectors here")


@pytest.mark.parametrize("letter", "szb")
def test_streaming_stores_where_they_fit_and_where_not(letter: str) -> None:
    device = processor.probe()
    n = 64 * 8 // DTYPES[letter].sum_bits // (2 if DTYPES[letter].is_complex else 1)
    problem = Problem(DTYPES[letter], n, 3, 4)
    space = TILE.space(problem, device).only(HARDWARE).restricted(store="stream")
    for seed in range(3):
        config = walk(space, seed)
        assert config is not None
        check(problem, config, device)


# ---- the code


# One processor of every scheduling model that LLVM has for these instructions, and the limits that decide
# what is written: what this test finds depends on no machine that it runs on.
PROCESSORS = {
    "znver5": AVX512,
    "znver4": AVX512,
    "sapphirerapids": AVX512,
    "skylake-avx512": AVX512,
    "rocketlake": AVX512,
    "haswell": AVX2,
    "znver3": AVX2,
}


def pretended(name: str) -> Device:
    like = PROCESSORS[name]
    features = f"x86_64/{name} {like.features.partition(' ')[2]}"
    limits = {**like.limits, **family_limits(name)}
    return dataclasses.replace(like, name=name, key=name, limits=limits, features=features)


def defaults(letter: str, name: str) -> Iterator[Problem]:
    """Squares, of which each processor has its own share, some transposed, and a few rectangles."""
    draw = random.Random(f"{letter} {name}")
    dtype = DTYPES[letter]
    for n in (2, 3, 5, 7, 9, 11, 13, 18, 21, 25, 27, 31):
        if draw.random() < 0.2:
            yield Problem(dtype, n, n, n, beta=draw.choice("01"), batch=2)
    yield Problem(dtype, 24, 12, 24, beta="1", batch=2)
    yield Problem(dtype, draw.randint(33, 64), 40, 40, batch=2)
    yield Problem(dtype, 13, 13, 13, *draw.choice(("tn", "tt", "cn", "nc")), batch=2)
    for _ in range(2):
        yield Problem(dtype, *(draw.randint(1, 24) for _ in range(3)), batch=2)
    # Beyond the caches, where results are staged or streamed.
    yield Problem(dtype, 9, 11, 10, batch=1 << 20)


HALVES = [letter for letter, dtype in DTYPES.items() if dtype.real_bits == 16]
# Those of 16 bits each on two of the processors.
PAIRS = [
    (name, letter)
    for number, name in enumerate(PROCESSORS)
    for letter in ("s", "d", "c", "z", HALVES[number % len(HALVES)])
]


@pytest.mark.parametrize(("name", "letter"), PAIRS)
def test_defaults_do_not_spill(name: str, letter: str) -> None:
    device = pretended(name)
    for problem in defaults(letter, name):
        for stencil in ("lanes", "tile"):
            if STENCILS[stencil].accepts(problem, device):
                continue
            config = STENCILS[stencil].default(problem, device)
            facts = llvm.compile(STENCILS[stencil].source(problem, config, device), device).facts
            assert facts["fma"] == facts["fma_expected"], f"{problem.key}, {config}"
            assert facts["fma"] > 0 or problem.k == 1, "the first product of a sum is no multiply-add"
            # With 16 registers LLVM reads the signs of complex remainders before the loops and puts them on
            # the stack: constants, at most three, and no sum among them.
            constants = 3 if problem.dtype.is_complex and not device["masks"] else 0
            # Of results that are rounded in integers one may wait on the stack until it is written.
            waiting = int(letter == "b")
            assert facts["spills"] <= constants + waiting, f"{problem.key}, {config}"


@pytest.mark.parametrize(
    ("name", "spelling", "trans", "alpha", "beta", "batch"),
    [
        # Steps after the loop over k, in one block with an update that reads C.
        ("rocketlake", "s:53x24x15", "nt", "1", "any", 1 << 20),
        ("sapphirerapids", "s:53x24x15", "nt", "1", "any", 1 << 20),
        # Orders of lanes, and zeros for the rows that are not there, in a transpose of A.
        ("rocketlake", "s:20x12x19", "tt", "any", "1", 1 << 20),
        ("znver4", "s:47x46x54", "tt", "1", "0", 2),
        ("skylake-avx512", "s:47x14x38", "tt", "1", "any", 2),
        # With 16 registers: alpha and beta, the signs of conjugates, tiles that are one vector high.
        ("haswell", "s:17x26x2", "nn", "1", "any", 2),
        ("haswell", "c:35x3x4", "nt", "any", "any", 2),
        ("haswell", "c:18x39x22", "nc", "any", "0", 1 << 20),
        ("haswell", "z:3x39x31", "tt", "any", "any", 2),
        ("haswell", "d:4x12x12", "nn", "1", "0", 2),
        ("haswell", "d:4x24x6", "nn", "1", "1", 2),
        ("znver3", "c:4x15x33", "nn", "1", "1", 2),
    ],
)
def test_defaults_that_once_spilled(
    name: str, spelling: str, trans: str, alpha: str, beta: str, batch: int
) -> None:
    (problem,) = Problem.parse(spelling, beta=beta)
    problem = problem.with_(trans_a=trans[0], trans_b=trans[1], alpha=alpha, batch=batch)
    device = pretended(name)
    source = TILE.source(problem, TILE.default(problem, device), device)
    assert llvm.compile(source, device).facts["spills"] == 0


def test_registers_are_counted_to_the_last() -> None:
    """One more column, or one more vector, and the registers that are counted are these."""
    real = {"vector_bits": 512, "tail": "binary", "cmul": "none", "blk_m": 3, "blk_n": 9}
    d18, d16 = (Problem(DTYPES["d"], m, 9, 9) for m in (18, 16))
    # 27 sums, 3 vectors of A, and a value of B copied for vectors of 8 and for vectors of 2.
    assert live(d18, real) == 27 + 3 + 2
    assert live(d18, {**real, "tail": "mask"}) == 27 + 3 + 1
    assert live(d16, {**real, "blk_m": 2}) == 18 + 2 + 1
    assert live(d16.with_(trans_a="t", alpha="any"), {**real, "blk_m": 2}) == 18 + 2 + 1 + 1 + 6
    # Two sums for an element, two values of B, and the signs that the imaginary part ends with.
    z = Problem(DTYPES["z"], 8, 3, 9)
    assert live(z, {**real, "blk_m": 2, "blk_n": 3, "cmul": "split"}) == 12 + 2 + 2 + 1
    assert live(z, {**real, "blk_m": 2, "blk_n": 3, "cmul": "rotate"}) == 6 + 4 + 2 + 1


@pytest.mark.parametrize("device", [AVX512, AVX2], ids=lambda d: d.key)
def test_defaults_pass_every_hardware_rule(device: Device) -> None:
    for letter in DTYPES:
        for m, n, k in ((1, 1, 1), (3, 5, 2), (8, 8, 8), (17, 31, 9), (64, 64, 64), (64, 1, 1), (1, 64, 64)):
            for beta in ("0", "any"):
                problem = Problem(DTYPES[letter], m, n, k, beta=beta)
                config = TILE.default(problem, device)
                assert not TILE.space(problem, device).only(HARDWARE).why(config)
                llvm.parse(TILE.source(problem, config, device).text)


KERNELS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "tile-d-3x3x3-staged": ("tile", "d:3x3x3", {"store": "staged"}),
    "tile-d-8x8x8-stream": ("tile", "d:8x8x8", {"store": "stream", "prefetch": 4, "level": 2}),
    "tile-d-8x8x8-spread": ("tile", "d:8x8x8", {"beta": "1", "blk_k": 4, "prefetch": 2, "spread": 1}),
    "lanes-d-2x2x2-stream": ("lanes", "d:2x2x2", {"store": "stream", "prefetch": 4}),
    "lanes-d-2x2x2": ("lanes", "d:2x2x2", {}),
    "tile-d-4x4x4": ("tile", "d:4x4x4", {}),
    "folds-d-3x2x5": ("folds", "d:tn:3x2x5", {"beta": "1"}),
    "tile-z-3x3x3": ("tile", "z:3x3x3", {}),
    "tile-s-5x3x4-mask": ("tile", "s:5x3x4", {"tail": "mask"}),
    "tile-h-5x3x4": ("tile", "h:5x3x4", {"beta": "1"}),
    "tile-b-3x3x3": ("tile", "b:3x3x3", {}),
    "lanes-hc-2x1x2": ("lanes", "hc:2x1x2", {}),
}


@pytest.mark.parametrize("device", [AVX512, AVX2], ids=lambda d: d.key)
@pytest.mark.parametrize("name", KERNELS)
def test_the_programs_are_as_they_were(name: str, device: Device, request: pytest.FixtureRequest) -> None:
    """What is written for a few small kernels, to be read in a review (``--update-golden``)."""
    stencil, spelling, changes = KERNELS[name]
    (problem,) = Problem.parse(spelling, beta=changes.get("beta", "0"))
    changes = {name: value for name, value in changes.items() if name != "beta"}
    default = STENCILS[stencil].default(problem, device)
    if changes.get("tail") == "mask" and not device["masks"]:
        changes = {}
    config = default.with_(**changes)
    # A parameter that came later is named where it says anything, so that older files stay as they were.
    shown = config if config.get("spread") else Config({k: v for k, v in config.items() if k != "spread"})
    text = (
        f"; {problem.key} {device.key}\n; {shown}\n{STENCILS[stencil].source(problem, config, device).text}"
    )
    path = GOLDEN / f"{name}.{device.key}.ll"
    if request.config.getoption("--update-golden"):
        path.write_text(text)
    assert text == path.read_text(), f"{path.name} differs; if it should, run pytest --update-golden"
    llvm.parse(text)


def test_streams_end_with_a_fence_and_staged_results_too() -> None:
    """Another thread that sees the call done must see its results: the fence comes after the last of them."""
    for store, problem in (("stream", "d:8x8x8"), ("staged", "d:9x9x9")):
        (asked,) = Problem.parse(problem)
        config = TILE.default(asked, AVX512).with_(store=store)
        text = TILE.source(asked, config, AVX512).text
        entry = text[text.index("define void @tilewright_kernel(") :]
        after = entry[entry.index(f"call void @tilewright_kernel_{store}(") :]
        assert after.splitlines()[1].strip() == "call void @llvm.x86.sse.sfence()"


def test_prefetches_are_as_far_ahead_as_the_config_says() -> None:
    (problem,) = Problem.parse("d:8x8x8", beta="1")
    for prefetch in (1, 2, 4):
        for spread in (0, 1):
            config = TILE.default(problem, AVX512).with_(prefetch=prefetch, spread=spread)
            text = TILE.source(problem, config, AVX512).text
            for stride in ("%sa", "%sb", "%sc"):
                assert text.count(f"mul i64 {stride}, {prefetch}\n") == 1


def test_prefetches_of_all_operands_come_evenly() -> None:
    """No step of k asks for more than its part: bursts fill the queue of misses, and the loads wait."""
    (problem,) = Problem.parse("d:16x16x16", beta="1")
    config = TILE.default(problem, AVX512).with_(prefetch=2, blk_k=16, roll=0)
    most = {}
    for spread in (0, 1):
        lines = TILE.source(problem, config.with_(spread=spread), AVX512).text.splitlines()
        asks = [number for number, line in enumerate(lines) if "call void @llvm.prefetch" in line]
        assert len(asks) == 3 * 16 * 16 * 8 // 64
        most[spread] = [line for line in lines if "@llvm.prefetch" in line and "i32 1, i32 3" in line]
        first = next(number for number, line in enumerate(lines) if "i32 1, i32 3, i32 1" in line)
        if spread:
            # C's first line is asked for among the first, not after all of A and B.
            assert asks.index(first) <= 3
        else:
            assert asks.index(first) == 2 * 16 * 16 * 8 // 64
    assert len(most[0]) == len(most[1]) == 16 * 16 * 8 // 64
    looped = config.with_(blk_k=4, spread=1)
    text = TILE.source(problem, looped, AVX512).text
    assert ".p = phi ptr" in text
    assert ".p1 = phi ptr" in text
    assert ".p2 = phi ptr" in text


def test_a_transposed_operand_is_asked_for_while_the_last_one_is_turned() -> None:
    """Of few columns most of the lines, of many the fewer; each of them once, all the same."""
    before = {}
    for n in (2, 24):
        problem = Problem(DTYPES["d"], 40, n, 40, "t", "n", beta="1", batch=9)
        config = TILE.default(problem, AVX512).with_(prefetch=2, blk_k=40, roll=0)
        every = sum(-(-8 * reals // 64) for reals in (40 * 40, 40 * n, 40 * n))
        for spread in (0, 1):
            text = TILE.source(problem, config.with_(spread=spread), AVX512).text
            assert text.count("call void @llvm.prefetch") == every
            before[n, spread] = text[: text.index("= fmul <")].count("call void @llvm.prefetch") / every
    assert before[2, 0] == before[24, 0] == 0
    assert before[2, 1] > 0.5 > before[24, 1] > 0


@pytest.mark.parametrize("grain_of", ["tile", "lanes"])
def test_a_core_is_woken_for_some_microseconds_of_work(grain_of: str) -> None:
    """15 us at 20 flop or bytes a nanosecond are 300,000 of either."""
    for spelling, products in (("d:2x2x2", 3125), ("d:4x4x4", 781), ("s:8x8x8", 292)):
        (problem,) = Problem.parse(spelling)
        config = STENCILS[grain_of].default(problem, AVX512)
        assert STENCILS[grain_of].launch(problem, config).grain == products
    (large,) = Problem.parse("d:64x64x64")
    assert TILE.launch(large, TILE.default(large, AVX512)).grain == 1


MEMORY = {"znver4": 0, "rocketlake": 2, "znver5": 4}


@pytest.mark.parametrize("name", MEMORY)
@pytest.mark.parametrize(
    ("stencil", "spelling"), [("tile", "d:13x13x13"), ("tile", "d:16x16x16"), ("lanes", "d:3x3x3")]
)
def test_defaults_from_memory(stencil: str, spelling: str, name: str) -> None:
    """Beyond the caches results are staged, and operands asked for early where that is known to gain."""
    device = pretended(name)
    assert device["prefetch"] == MEMORY[name]
    # A Zen 5 sees by itself what `lanes` reads from end to end.
    asks = name != "znver4" and (name, stencil) != ("znver5", "lanes")
    written = STENCILS[stencil]
    (problem,) = Problem.parse(spelling)
    small = written.default(problem.with_(batch=10), device)
    assert (small["store"], small["prefetch"]) == ("plain", 0)
    large = problem.with_(batch=device["l3"])
    for beta, store in (("0", "staged"), ("1", "plain")):
        config = written.default(large.with_(beta=beta), device)
        # Results of lanes always follow one another, so what it streams is staged where it has to be; and so
        # are those of 16 rows, which fill lines, where that is known to gain.
        straight = stencil == "lanes" or (name, problem.m) == ("znver5", 16)
        assert config["store"] == ("stream" if store == "staged" and straight else store)
        assert (config["prefetch"] >= device["prefetch"]) if asks else config["prefetch"] == 0
        assert config.get("spread", 0) == int(asks and stencil == "tile")
        assert not [
            r.name for r in written.space(large.with_(beta=beta), device).why(config) if r.kind in HARDWARE
        ]


@pytest.mark.parametrize(
    ("order", "ahead"),
    # Four products of order 18 take 31 KB, of order 19 34; two of order 26 take 32,448 bytes; one of 33 more.
    [(13, 4), (18, 4), (19, 2), (26, 2), (27, 1), (64, 1)],
)
def test_what_is_asked_for_has_room_in_the_first_cache(order: int, ahead: int) -> None:
    device = pretended("znver5")
    problem = Problem(DTYPES["d"], order, order, order, batch=device["l3"])
    assert TILE.default(problem, device)["prefetch"] == ahead
    # A shared operand is read once, and takes no part of it.
    shared = problem.with_(stride_a=0)
    assert TILE.default(shared, device)["prefetch"] >= ahead


def test_units_of_512_bits_are_filled_by_one_vector() -> None:
    """Where shorter vectors cost a unit as much, 9 floats are one vector."""
    problem = Problem(DTYPES["s"], 9, 9, 9, batch=100)
    for name, bits in (("znver4", 256), ("znver5", 512)):
        device = pretended(name)
        config = TILE.default(problem, device)
        assert (config["vector_bits"], config["blk_m"]) == (bits, 512 // bits)


def test_results_that_hide_behind_multiply_adds_take_no_buffer() -> None:
    """Where that was measured: what fills lines is streamed, and the rest written as from the caches."""
    device = pretended("znver5")
    for spelling, known, other in (
        ("d:13x13x13", "staged", "staged"),
        ("d:32x32x32", "stream", "staged"),
        ("s:39x39x39", "plain", "staged"),
        ("d:40x40x40", "stream", "staged"),
        ("c:27x27x27", "plain", "staged"),
    ):
        (problem,) = Problem.parse(spelling, batch=device["l3"])
        assert TILE.default(problem, device)["store"] == known
        assert TILE.default(problem, pretended("sapphirerapids"))["store"] == other
        assert TILE.default(problem.with_(beta="1"), device)["store"] == "plain"


def test_defaults_from_memory_where_results_cannot_be_staged() -> None:
    (problem,) = Problem.parse("d:16x16x16", batch=AVX512["l3"])
    padded = problem.with_(ldc=24, stride_c=None)
    assert TILE.default(padded, AVX512)["store"] == "stream"
    assert TILE.default(problem.with_(ldc=17, stride_c=None), AVX512)["store"] == "plain"
    # A result that a second-level cache holds is left there, however large the operands are.
    (dot,) = Problem.parse("d:1x1x64", batch=1 << 17)
    assert dot.footprint > AVX512["l3"]
    assert TILE.default(dot, AVX512)["store"] == "plain"


def test_records_from_before_a_parameter_mean_what_they_meant() -> None:
    (problem,) = Problem.parse("d:16x16x16")
    new = TILE.default(problem, AVX512).with_(prefetch=4)
    old = Config({name: value for name, value in new.items() if name != "spread"})
    space = TILE.space(problem, AVX512)
    assert [rule.name for rule in space.why(old)] == [rule.name for rule in space.why(new)]
    assert TILE.source(problem, old, AVX512).text == TILE.source(problem, new, AVX512).text
    assert TILE.source(problem, new.with_(spread=1), AVX512).text != TILE.source(problem, new, AVX512).text


@pytest.mark.parametrize("ldc", [8, 9, 12, 16])
def test_streaming_asks_the_leading_dimension(ldc: int) -> None:
    """A column that does not begin on a vector's boundary would be a fault, not only a slow store."""
    (problem,) = Problem.parse("d:8x8x8", ldc=ldc)
    space = TILE.space(problem, AVX512)
    config = TILE.default(problem, AVX512).with_(vector_bits=512, tail="mask", store="stream")
    broken = "stream-aligned" in [rule.name for rule in space.why(config)]
    assert broken == (ldc % 8 > 0)


def test_what_just_fits_is_let_through() -> None:
    (problem,) = Problem.parse("d:24x24x24")
    space = TILE.space(problem, AVX512)
    base = TILE.default(problem, AVX512).with_(
        vector_bits=512, blk_m=3, blk_n=8, reg_a=3, reg_b=5, inner="column"
    )

    def broken(**changes: Any) -> set[str]:
        return {rule.name for rule in space.why(base.with_(**changes))}

    assert "registers" not in broken()
    assert "registers" in broken(reg_b=6)
    # 24 + 1 sums beside one vector of A: 31 + 1 fit, 32 + 1 do not.
    (tall,) = Problem.parse("d:8x31x9")
    rows = TILE.space(tall.with_(n=28), AVX512)
    wide = TILE.default(tall.with_(n=28), AVX512).with_(vector_bits=512, blk_m=1, blk_n=28, reg_a=1, reg_b=3)
    assert not {"registers", "registers-of-c"} & {rule.name for rule in rows.why(wide)}
    assert "registers" in {rule.name for rule in rows.why(wide.with_(reg_b=4))}
    # A vector moved up may begin where the column does, and not before.
    for m, fits in ((3, False), (4, True), (5, False)):
        (column,) = Problem.parse(f"d:{m}x4x4")
        moved = TILE.default(column, AVX512).with_(vector_bits=512, tail="overlap", blk_m=1, reg_a=1)
        names = {rule.name for rule in TILE.space(column, AVX512).why(moved)}
        assert ("overlap-has-room" not in names) == fits
    # A loop over k that runs twice is a loop.
    (twice,) = Problem.parse("d:8x8x16")
    loops = TILE.space(twice, AVX512)
    assert "k-loop-turns" not in {r.name for r in loops.why(TILE.default(twice, AVX512).with_(blk_k=8))}


# ---- the rules


def broken_by(rule: str, device: Device) -> Iterator[tuple[Problem, Config]]:
    """Configs that break a rule of the kinds that nobody may break, and no other such rule before it."""
    for spelling in ("d:16x16x16", "d:7x9x5", "z:3x5x9", "s:20x4x3", "s:5x3x4", "d:1x1x4", "c:9x9x9"):
        for beta in "01":
            (problem,) = Problem.parse(spelling, beta=beta)
            space = TILE.space(problem, device).only(HARDWARE)
            base = walk(space, 3)
            assert base is not None
            for start in (TILE.default(problem, device), base):
                for param in space.params:
                    for value in param.values:
                        config = start.with_(**{param.name: value})
                        if [each.name for each in space.why(config)][:1] == [rule]:
                            yield problem, config


RULES = [
    rule.name
    for rule in TILE.space(Problem.parse("z:7x9x5")[0], AVX512).rules
    if rule.kind in ("hard", "queryable")
]


@pytest.mark.parametrize("rule", RULES)
def test_what_breaks_a_rule_is_refused(rule: str) -> None:
    found = next(broken_by(rule, processor.probe()), None)
    if found is None:
        pytest.skip("nothing breaks this rule first on this machine")
    problem, config = found
    dtype = problem.dtype.name
    # Row-major arrays: the kernel's A is the second operand.
    a, b = np.ones((problem.n, problem.k), dtype), np.ones((problem.k, problem.m), dtype)
    c = np.ones((problem.n, problem.m), dtype)
    options = {"beta": int(problem.beta), "out": c, "stencil": "tile"}
    asked = tw.plan(a, b, c, **options).plan.problem
    assert (asked.m, asked.n, asked.k) == (problem.m, problem.n, problem.k)
    with pytest.raises(ArgumentError, match=f"breaks '{rule}'"):
        tw.plan(a, b, c, **options, config=dict(config))


def test_every_rule_can_be_put_to_the_test() -> None:
    """Three cannot on a processor with masks, where the test above skips them: "masks" itself, and those that
    the shapes there reach on narrower vectors alone."""
    missing = {rule for rule in RULES if next(broken_by(rule, AVX2), None) is None}
    assert missing == set()
    missing = {rule for rule in RULES if next(broken_by(rule, AVX512), None) is None}
    assert missing <= {"masks", "equal-rows", "registers"}


def test_what_the_stencil_does_not_accept() -> None:
    device = dataclasses.replace(processor.probe(), supports=frozenset())
    for problem, words in (
        (Problem(DTYPES["h"], 4, 4, 4), "type h needs a processor that converts float16"),
        (Problem(DTYPES["hc"], 4, 4, 4), "type hc needs"),
        (Problem(DTYPES["d"], 65, 4, 4), "larger than 64"),
        (Problem(DTYPES["d"], 0, 4, 4), "nothing to compute"),
    ):
        assert words in str(TILE.accepts(problem, device))
