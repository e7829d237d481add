"""The space of the stencil of float64 on tensor cores, its choice without a search, and what both promise."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tilewright.stencils.cuda.dmma.stencil as module
from tilewright.model import DTYPES, Config, Problem
from tilewright.space import HARDWARE
from tilewright.stencils.cuda.dmma.cost import clocks
from tilewright.stencils.cuda.dmma.needs import (
    loose,
    most_registers,
    registers,
    shared_bytes,
    stage_bytes,
    tiles,
)
from tilewright.stencils.cuda.dmma.stencil import ARGUED, DmmaStencil
from tilewright.stencils.cuda.source import program
from tilewright.targets.cuda.arguments import Pointer, Scalar, Struct, TensorMap
from tilewright.targets.cuda.capability import named

pytestmark = pytest.mark.pure

DMMA = DmmaStencil()
A100, H200 = named("a100"), named("h200")
KERNEL = Path(module.__file__).with_name("kernel.cuh").read_text()
PROBLEM = dict(program("dmma")[1])["lib/problem.cuh"]
GOLDEN = Path(__file__).parent.parent / "golden" / "dmma.h200.cuh"
SQUARE = Config(
    {"tile_m": 128, "tile_n": 128, "warps_m": 4, "mma_k": 8, "depth": 16, "stages": 6}
    | {"cluster_m": 1, "cluster_n": 1, "band": 2048, "backwards": 1, "blocks": 132, "cut": 0}
)


def problem(text: str, **fields: object) -> Problem:
    return Problem.parse(text, **fields)[0]


# -- the file and the space say the same -----------------------------------------------------------------
def test_every_name_of_the_kernel_is_defined_and_no_other() -> None:
    p = problem("z:ct:512x1024x80")
    defines = [name for name, _ in DMMA.source(p, DMMA.default(p, H200), H200).defines]
    wanted = set(re.findall(r"^#ifndef (\w+)$", KERNEL + PROBLEM, re.M)) - {"BRAIN"}
    assert sorted(defines) == sorted(wanted)
    names = [param.name.upper() for param in DMMA.space(p, H200).params if param.name not in ARGUED]
    block = KERNEL[KERNEL.index("the parameters of the space") : KERNEL.index("what follows from them")]
    assert sorted(re.findall(r"^#ifndef (\w+)$", block, re.M)) == sorted(names)


def test_hard_rules_are_said_in_the_same_words() -> None:
    said = dict(re.findall(r'static_assert\(.*, "([\w-]+): (.*)"\);', KERNEL))
    for rule in DMMA.space(problem("d:4096x4096x4096"), H200).rules:
        if rule.kind == "hard":
            assert said[rule.name] == rule.why


def test_definitions_are_as_they_were(request: pytest.FixtureRequest) -> None:
    """What an untuned call of a large product would be compiled with, of each form of the operands."""
    parts = []
    for text in ("d:nn", "d:nt", "d:tn", "z:nc"):
        p = problem(f"{text}:4096x4096x4096", beta="1", alpha="any")
        config = DMMA.default(p, H200)
        launch, defines = DMMA.launch(p, config), DMMA.source(p, config, H200).defines
        parts.append(f"// {p.key}\n// grid={launch.grid} shared={launch.shared} cluster={launch.cluster}\n")
        parts += [f"#define {name} {value}\n" for name, value in defines]
    if request.config.getoption("--update-golden"):
        GOLDEN.write_text("".join(parts))
    assert "".join(parts) == GOLDEN.read_text(), "it differs; if it should, run pytest --update-golden"


# -- what is accepted --------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("text", "fields", "reason"),
    [
        ("s:512x512x512", {}, "type s"),
        ("c:512x512x512", {}, "type c"),
        ("d:512x32x512@2", {}, "512x32 of a batch is small"),
        ("d:64x64x512@2", {}, "64x64 of a batch is small"),
        ("d:512x512x512@2", {"stride_a": -(512**2)}, "matrices of A lie -262144 elements apart"),
        ("d:512x512x512@2", {"stride_b": 2**38}, "matrices of B"),
        (f"d:512x512x512@{2**21}", {}, "more than"),
        ("d:512x15x512", {}, "not from 16"),
        ("d:512x512x512", {"align": 4}, "not of an element's 8"),
        ("z:512x512x512", {"align": 8}, "not of an element's 16"),
        ("d:512x512x512", {"lda": 2**37}, "2^40"),
    ],
)
def test_what_it_cannot_serve_is_refused_with_the_reason(
    text: str, fields: dict[str, int], reason: str
) -> None:
    assert reason in (DMMA.accepts(problem(text).with_(**fields), H200) or "")


def test_it_needs_products_of_16_rows() -> None:
    p = problem("d:512x512x512")
    assert DMMA.accepts(p, H200) is None
    assert "16 rows" in (DMMA.accepts(p, A100) or "")


def test_extents_that_are_contiguous_nowhere_may_be_any() -> None:
    assert DMMA.accepts(problem("d:nn:512x333x128"), H200) is None
    assert loose(problem("d:nn:512x333x128")) == (False, False, False)
    assert DMMA.accepts(problem("z:tc:511x333x129"), H200) is None
    assert loose(problem("z:tc:511x333x129")) == (False, False, False)


@pytest.mark.parametrize(
    ("text", "align", "want"),
    [
        # A is stored 333 x 511, B 129 x 333, C 511 x 129; and of even columns all may begin at odd numbers.
        ("d:tt:511x128x333", 16, (True, False, True)),
        ("d:nt:512x129x333", 16, (False, True, False)),
        ("d:nn:512x512x512", 8, (True, True, True)),
    ],
)
def test_columns_at_multiples_of_8_bytes_come_number_by_number(
    text: str, align: int, want: tuple[bool, bool, bool]
) -> None:
    p = problem(text).with_(align=align)
    assert DMMA.accepts(p, H200) is None
    assert loose(p) == want
    config = DMMA.default(p, H200)
    assert (config["cluster_m"], config["cluster_n"]) == (1, 1)
    _, a, b = DMMA.arguments(p, config.with_(cut=0))
    for found, operand, leading in ((a, 0, p.lda), (b, 1, p.ldb)):
        if want[operand]:
            assert found == Struct("Lines", (Pointer("first", operand), Scalar("leading", "q", leading)))
        else:
            assert isinstance(found, TensorMap)
    defines = dict(DMMA.source(p, config, H200).defines)
    assert tuple(defines[f"LOOSE_{x}"] == "1" for x in "ABC") == want


def test_warps_that_bring_numbers_keep_registers_for_it() -> None:
    """By hand: 240, 232 or 224 registers of 256 threads, and 24, 40 or 56 of 128."""
    for text, most in (
        ("512x512x512", 240),
        ("512x512x512@2", 240),
        ("511x512x512", 232),
        ("511x512x512@2", 224),
    ):
        assert most_registers(problem(f"d:nn:{text}")) == most
    assert 256 * 240 + 128 * 24 == 256 * 232 + 128 * 40 == 256 * 224 + 128 * 56 == 384 * 168
    said = KERNEL[KERNEL.index("constexpr int FEW") :].splitlines()[0]
    assert "FEW = LOOSE ? BATCHED ? 56 : 40 : 24, MANY = LOOSE ? BATCHED ? 224 : 232 : 240;" in said


def test_where_nothing_was_measured_the_library_is_the_better_guess() -> None:
    assert DMMA.needs_record(problem("d:512x512x512"))


# -- tensor maps -------------------------------------------------------------------------------------------
def test_maps_are_of_what_is_stored() -> None:
    """By hand: real numbers; A is stored 480 x 640 and B 720 x 480, with padding; C is 640 x 720."""
    p = problem("d:tt:640x720x480").with_(lda=488, ldb=728, ldc=648)
    given, a, b = DMMA.arguments(p, SQUARE.with_(cluster_n=2))
    assert isinstance(given, Struct)
    values = {field.name: field.value for field in given.fields if isinstance(field, Scalar)}
    # A band of 2,048 columns has eight tiles of clusters, each of two times 128.
    sizes = {"ldc": 648, "m": 640, "n": 720, "k": 480, "band": 8}
    assert values == sizes | {"alpha": None, "beta": None}
    assert [shape(x) for x in (a, b)] == [
        # Each of two blocks brings half of what comes of A to both.
        (0, (480, 640, 1), (3904, 3904 * 640), (16, 64, 1)),
        (1, (720, 480, 1), (5824, 5824 * 480), (16, 16, 1)),
    ]
    # Complex numbers are two real ones.
    _, a, b = DMMA.arguments(problem("z:nn:64x48x40"), SQUARE.with_(tile_n=64, depth=8))
    assert [shape(x) for x in (a, b)] == [
        (0, (128, 40, 1), (1024, 1024 * 40), (16, 8, 1)),
        (1, (80, 48, 1), (640, 640 * 48), (16, 64, 1)),
    ]


def shape(x: object) -> tuple[object, ...]:
    assert isinstance(x, TensorMap)
    assert (x.type, x.swizzle) == ("float64", 128)
    return x.operand, x.extents, x.strides, x.box


# -- the choice --------------------------------------------------------------------------------------------
@settings(max_examples=20, deadline=None)
@given(
    letter=st.sampled_from("dz"),
    sizes=st.tuples(*(st.integers(9, 1200),) * 3),
    trans=st.sampled_from(("nn", "nt", "tn", "tt")),
    beta=st.sampled_from(("0", "1", "any")),
)
def test_the_default_is_a_member_that_hardware_runs(
    letter: str, sizes: tuple[int, int, int], trans: str, beta: str
) -> None:
    m, n, k = (2 * x for x in sizes)
    p = Problem(DTYPES[letter], m, n, k, trans[0], trans[1], beta=beta)
    assert DMMA.accepts(p, H200) is None
    config = DMMA.default(p, H200)
    broken = [rule.name for rule in DMMA.space(p, H200).why(config) if rule.kind in (*HARDWARE, "hard")]
    assert broken == []
    launch = DMMA.launch(p, config)
    assert launch.block[0] == 384
    assert launch.grid[1] == launch.cluster == config["cluster_m"] * config["cluster_n"]
    # One block of an SM, and none without a tile.
    needed = tiles(p, *(config[name] for name in ("tile_m", "tile_n", "cluster_m", "cluster_n")))
    assert (
        1
        <= launch.grid[0]
        <= (132 // launch.cluster if config["cut"] else min(needed, 132 // launch.cluster))
    )
    assert launch.shared <= H200["shared_per_block_optin"]


def test_large_products_get_large_tiles_and_small_ones_many() -> None:
    large = DMMA.default(problem("d:4096x4096x4096"), H200)
    assert large["tile_m"] * large["tile_n"] >= 112 * 128
    # 128 x 128 fills 7.76 waves.
    assert (large["mma_k"], large["cut"]) == (16, 1)
    p = problem("d:1024x1024x1024")
    small = DMMA.default(p, H200)
    assert 96 < tiles(p, small["tile_m"], small["tile_n"]) <= 132


@pytest.mark.parametrize(
    ("text", "least"), [("d:nn:904x296x{}", 16), ("d:nn:905x296x{}", 32), ("z:nn:904x296x{}", 24)]
)
def test_short_sums_are_not_cut_in_equal_lengths(text: str, least: int) -> None:
    """By hand: slices of 16 along k, of complex numbers of 8."""
    depth = 8 if text[0] == "z" else 16
    for slices, want in ((least - 1, ["cut-equal"]), (least, [])):
        p = problem(text.format(max(slices, 2) * depth))
        config = SQUARE.with_(tile_m=64, tile_n=64, warps_m=2, depth=depth, cut=1, stages=8)
        found = [rule.name for rule in DMMA.space(p, H200).why(config)]
        assert [name for name in found if name == "cut-equal"] == want


def test_a_search_is_told_what_the_default_goes_by() -> None:
    p = problem("z:4096x4096x4096")
    costs = DMMA.cost_model(p, H200)
    sampled = costs(DMMA.space(p, H200).sample(48, 1))
    assert (sampled > 0).all()
    assert costs([DMMA.default(p, H200)])[0] <= sampled.min()


def test_every_rule_removes_what_it_names() -> None:
    space = DMMA.space(problem("d:4096x4096x4096"), H200)
    assert space.why(SQUARE) == []
    for name, change in {
        "sums": {"tile_n": 192},
        "warp-tile": {"tile_m": 96},
        "shares": {"tile_m": 112, "cluster_n": 2},
        "steps": {"mma_k": 16},
        "cluster": {"cluster_m": 2, "cluster_n": 2},
        "registers": {"warps_m": 1},
        "shared-per-block": {"stages": 8},
        "in-flight": {"stages": 2, "tile_m": 64},
    }.items():
        assert name in [rule.name for rule in space.why(SQUARE.with_(**change))], name
    low = DMMA.space(problem("d:64x64x4096"), H200)
    assert {"tile-in-m", "tile-in-n"} <= {rule.name for rule in low.why(SQUARE)}


@pytest.mark.parametrize(
    ("text", "tile", "rule"),
    [
        ("z:nt:3504x640x4096", (48, 64, 1), "tall"),
        ("z:nt:3504x640x4096", (96, 32, 2), "tall"),
        ("d:tt:333x275x4097", (112, 64, 2), "seven"),
        ("d:nn:333x275x4097", (64, 112, 4), "seven"),
    ],
)
def test_tiles_that_spill_where_they_are_cut_are_left_out(
    text: str, tile: tuple[int, int, int], rule: str
) -> None:
    """20 to 332 bytes by the compilers of CUDA 13.0 and 13.5, which find registers for them uncut."""
    config = SQUARE.with_(tile_m=tile[0], tile_n=tile[1], warps_m=tile[2], depth=16, stages=8)
    space = DMMA.space(problem(text), H200)
    assert rule not in [each.name for each in space.why(config)]
    assert rule in [each.name for each in space.why(config.with_(cut=1))]
    # Of other orders, and of columns at multiples of 16 bytes, it finds some.
    other = DMMA.space(problem(text.replace("nt", "tn").replace("333x275x4097", "336x280x4096")), H200)
    assert rule not in [each.name for each in other.why(config.with_(cut=1))]


# -- layouts -----------------------------------------------------------------------------------------------
def test_shared_memory_and_registers() -> None:
    """By hand: lines of 128 bytes for 256 rows and columns, two barriers; 64 sums of two registers, and in
    two places each fragments of two times 16 rows and of 8 columns, of two numbers for a row and a column."""
    d, z = problem("d:4096x4096x4096"), problem("z:4096x4096x4096")
    assert stage_bytes(d, 128, 128, 16) == stage_bytes(z, 128, 128, 8) == 256 * 128
    assert shared_bytes(d, 128, 64, 32, 3) == 3 * (2 * 192 * 128 + 16)
    assert registers(d, 128, 128, 4, 8) == 2 * 64 + 2 * 2 * (2 * 2 * 2 + 2) + 24
    assert registers(z, 128, 64, 4, 16) == 2 * 64 + 2 * 2 * (2 * 2 * 4 + 4) + 24


def test_the_model_counts_what_a_product_takes() -> None:
    """A wave more takes longer, and so do a C that is read, narrow tiles, and complex numbers."""

    def of(text: str, beta: str = "0", **changes: int) -> float:
        config = {name: np.array([value]) for name, value in SQUARE.with_(**changes).items()}
        return float(clocks(problem(text, beta=beta), H200, config)[0])

    assert of("d:4096x4096x4096") < of("d:4096x4096x4096", "1")
    assert of("d:4096x4096x4096") < of("d:4096x4400x4096")
    assert of("d:4096x4096x4096") < of("d:4096x4096x4096", tile_n=64)
    assert 3 < of("z:4096x4096x4096", depth=8) / of("d:4096x4096x4096") < 5


def test_bands_are_narrow_where_a_large_c_is_stored_most_of_the_time() -> None:
    """Such a C no cache holds: blocks then store whole columns at a time, and ask for few slices ahead."""
    for text, band in (("d:8192x8192x64", 128), ("d:8192x8192x256", 2048), ("d:1024x1024x64", 2048)):
        assert DMMA.default(problem(text), H200)["band"] == band
    config = DMMA.default(problem("d:8192x8192x64"), H200)
    assert config["stages"] * config["depth"] <= 96


def test_the_default_of_512_has_no_warps_with_one_product_of_eight_columns() -> None:
    """Warps of 16 x 16 took 7.6 us on an H200, those of 32 x 8 8.3."""
    config = DMMA.default(problem("d:512x512x512"), H200)
    assert (config["tile_m"], config["tile_n"], config["warps_m"]) == (32, 64, 2)


def test_products_of_a_batch_stand_side_by_side_in_whole_tiles_of_clusters() -> None:
    """By hand: 720 columns are three tiles of two blocks with 128 each, and five products 15 of them."""
    p = problem("d:tt:640x720x480@5").with_(lda=488, ldb=728, ldc=648)
    p = p.with_(stride_a=0, stride_b=728 * 480, stride_c=648 * 721)
    given, a, b = DMMA.arguments(p, SQUARE.with_(cluster_n=2))
    assert isinstance(given, Struct)
    values = {field.name: field.value for field in given.fields if isinstance(field, Scalar)}
    sizes = {"ldc": 648, "m": 640, "n": 5 * 768, "k": 480, "band": 8, "columns": 720, "across": 768}
    steps = {"stride_a": 0, "stride_b": 728 * 480, "stride_c": 648 * 721}
    assert values == sizes | steps | {"alpha": None, "beta": None}
    # All products have the one A; B has a third axis.
    assert [shape(x) for x in (a, b)] == [
        (0, (480, 640, 1), (3904, 3904 * 640), (16, 64, 1)),
        (1, (720, 480, 5), (5824, 5824 * 480), (16, 16, 1)),
    ]
    assert tiles(p, 128, 128, 1, 2) == 5 * 5 * 3
    assert DMMA.launch(p, SQUARE.with_(cluster_n=2)).grid == (66, 2, 1)


def test_tiles_of_a_batch_are_not_cut() -> None:
    space = DMMA.space(problem("d:512x512x512@3"), H200)
    assert next(param for param in space.params if param.name == "cut").values == (0,)
