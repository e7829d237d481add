"""The defaults of ``tile``: they do not spill, and are what processors and their memory ask for."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from tests.cpu.tile.pretence import AVX2, AVX512, PROCESSORS, TILE, pretended
from tilewright.catalog import STENCILS
from tilewright.model import DTYPES, Device, Problem
from tilewright.space import HARDWARE
from tilewright.stencils.cpu.tile.stencil import live
from tilewright.targets.cpu import llvm

pytestmark = pytest.mark.cpu


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
            # the stack: constants, at most four, and no sum among them.
            constants = 4 if problem.dtype.is_complex and not device["masks"] else 0
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


@pytest.mark.parametrize(
    ("spelling", "beta", "tile", "roll"),
    [
        # Three vectors by four columns with A held, four by three with B held, complex ones two by three.
        ("d:24x24x24", "0", (3, 4, "column"), 1),
        ("d:32x32x32", "1", (4, 3, "row"), 1),
        ("s:24x24x24", "0", (3, 4, "column"), 1),
        ("c:16x16x16", "0", (2, 3, "column"), 1),
        ("z:24x24x24", "1", (2, 3, "column"), 1),
        # A short program stays straight code.
        ("d:12x12x12", "0", (3, 4, "column"), 0),
        # Scalars take registers of their own.
        ("d:24x24x24", "any", (3, 3, "column"), 1),
    ],
)
def test_few_registers_are_filled_and_long_programs_are_loops(
    spelling: str, beta: str, tile: tuple[int, int, str], roll: int
) -> None:
    (problem,) = Problem.parse(f"{spelling}@9", beta=beta)
    for name in ("haswell", "znver3"):
        config = TILE.default(problem, pretended(name))
        assert (config["blk_m"], config["blk_n"], config["inner"]) == tile, (name, config)
        assert config["roll"] == roll, (name, config)


def test_a_zen_3_is_asked_for_more_products_ahead_where_they_are_small() -> None:
    device = pretended("znver3")
    for n, ahead in ((7, 4), (13, 2), (24, 1)):
        (problem,) = Problem.parse(f"d:{n}x{n}x{n}", batch=1 << 20)
        assert TILE.default(problem, device)["prefetch"] == ahead, n
        assert TILE.default(problem.with_(batch=9), device)["prefetch"] == 0, n


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


MEMORY = {"znver4": 1, "rocketlake": 2, "znver5": 4}


@pytest.mark.parametrize("name", MEMORY)
@pytest.mark.parametrize(
    ("stencil", "spelling"), [("tile", "d:13x13x13"), ("tile", "d:16x16x16"), ("lanes", "d:3x3x3")]
)
def test_defaults_from_memory(stencil: str, spelling: str, name: str) -> None:
    """Beyond the caches results are staged, and operands asked for early where that is known to gain."""
    device = pretended(name)
    assert device["prefetch"] == MEMORY[name]
    # A Zen 5 sees by itself what `lanes` reads from end to end, a Zen 4 all small products.
    asks = name != "znver4" and (name, stencil) != ("znver5", "lanes")
    written = STENCILS[stencil]
    (problem,) = Problem.parse(spelling)
    small = written.default(problem.with_(batch=10), device)
    assert (small["store"], small["prefetch"]) == ("plain", 0)
    large = problem.with_(batch=device["l3"])
    for beta, store in (("0", "staged"), ("1", "plain")):
        config = written.default(large.with_(beta=beta), device)
        # Results of lanes always follow one another, so what it streams is staged where it has to be; and so
        # are those of 16 rows, which fill lines, where that is known to gain. On a Zen 4 those of 13 hide.
        straight = stencil == "lanes" or (name in ("znver4", "znver5") and problem.m == 16)
        past = "stream" if straight else "plain" if (name, problem.m) == ("znver4", 13) else "staged"
        assert config["store"] == (past if store == "staged" else store)
        assert (config["prefetch"] >= device["prefetch"]) if asks else config["prefetch"] == 0
        assert config.get("spread", 0) == int(asks and stencil == "tile")
        assert not [
            r.name for r in written.space(large.with_(beta=beta), device).why(config) if r.kind in HARDWARE
        ]


@pytest.mark.parametrize(
    ("spelling", "asks"), [("d:22", 0), ("d:23", 1), ("s:31", 0), ("s:32", 1), ("z:16", 1)]
)
def test_small_products_are_not_asked_for_where_that_loses(spelling: str, asks: int) -> None:
    """On a Zen 4 from 12 KB on."""
    device = pretended("znver4")
    (problem,) = Problem.parse(spelling)
    assert TILE.default(problem.with_(batch=device["l3"]), device)["prefetch"] == asks


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
