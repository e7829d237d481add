"""The space of the stencil of warp groups with roles, its choice without a search, and what both promise."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tilewright.stencils.cuda.warpgroup.stencil as module
from tilewright.model import DTYPES, Config, Problem
from tilewright.space import HARDWARE
from tilewright.stencils.cuda.source import program
from tilewright.stencils.cuda.warpgroup.cost import clocks
from tilewright.stencils.cuda.warpgroup.needs import (
    JOINED_TOGETHER,
    TOGETHER,
    Cut,
    added,
    clusters_of,
    cut_of,
    held_sums,
    loose,
    shared_bytes,
    stage_bytes,
    tiles,
    turned_rows,
)
from tilewright.stencils.cuda.warpgroup.space import CUTS
from tilewright.stencils.cuda.warpgroup.stencil import ARGUED, WarpGroupStencil
from tilewright.targets.cuda.arguments import Pointer, Scalar, Struct, TensorMap, Workspace
from tilewright.targets.cuda.capability import named

pytestmark = pytest.mark.pure

WARPGROUP = WarpGroupStencil()
A100, H200 = named("a100"), named("h200")
KERNEL = Path(module.__file__).with_name("kernel.cuh").read_text()
PROBLEM = dict(program("warpgroup")[1])["lib/problem.cuh"]
TALL = Config(
    {"tile_m": 256, "tile_n": 128, "ping_pong": 0, "cluster_m": 1, "cluster_n": 2, "stages": 4, "outs": 2}
    | {"band": 2048, "overlap": 0, "backwards": 1, "blocks": 132, "cut": 0, "lanes": 0}
    | {"copied": 0, "behind": 0, "cluster_k": 1}
)

SMALL = TALL.with_(tile_m=64, tile_n=64, ping_pong=1, cluster_n=1, stages=8, cluster_k=8)


def problem(text: str, **fields: object) -> Problem:
    return Problem.parse(text, **fields)[0]


# -- the file and the space say the same -----------------------------------------------------------------
def test_every_name_of_the_kernel_is_defined_and_no_other() -> None:
    p = problem("b:nt:512x1024x80")
    defines = [name for name, _ in WARPGROUP.source(p, WARPGROUP.default(p, H200), H200).defines]
    assert sorted(defines) == sorted(set(re.findall(r"^#ifndef (\w+)$", KERNEL + PROBLEM, re.M)))
    names = [param.name.upper() for param in WARPGROUP.space(p, H200).params if param.name not in ARGUED]
    block = KERNEL[KERNEL.index("the parameters of the space") : KERNEL.index("what follows from them")]
    assert sorted(re.findall(r"^#ifndef (\w+)$", block, re.M)) == sorted(names)


def test_hard_rules_are_said_in_the_same_words() -> None:
    said = dict(re.findall(r'static_assert\(.*, "([\w-]+): (.*)"\);', KERNEL))
    for rule in WARPGROUP.space(problem("h:4096x4096x4096"), H200).rules:
        if rule.kind == "hard":
            assert said[rule.name] == rule.why


# -- what is accepted --------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("text", "fields", "reason"),
    [
        ("s:512x512x512", {}, "type s in ieee"),
        ("s:514x512x512", {"math": "tf32"}, "multiple of 16 bytes"),
        ("hc:512x512x512", {}, "type hc"),
        ("h:512x512x512@2", {}, "a batch of 2"),
        ("h:512x8x512", {}, "not from 16"),
        ("h:516x512x512", {}, "multiple of 16 bytes"),
        ("h:516x512x257", {}, "multiple of 16 bytes"),
        ("s:64x514x511", {"math": "tf32"}, "multiple of 16 bytes"),
        ("h:512x512x512", {"align": 8}, "multiple of 16 bytes"),
        ("h:512x512x512", {"align": 1}, "not of an element's 2"),
        ("h:512x512x512", {"lda": 2**39}, "2^40"),
    ],
)
def test_what_it_cannot_serve_is_refused_with_the_reason(
    text: str, fields: dict[str, int], reason: str
) -> None:
    assert reason in (WARPGROUP.accepts(problem(text).with_(**fields), H200) or "")


def test_it_needs_warp_groups() -> None:
    p = problem("h:512x512x512")
    assert WARPGROUP.accepts(p, H200) is None
    assert "warp groups" in (WARPGROUP.accepts(p, A100) or "")


def test_extents_that_are_contiguous_nowhere_may_be_any() -> None:
    assert WARPGROUP.accepts(problem("h:nn:512x333x128"), H200) is None
    assert loose(problem("h:nn:512x333x128")) == (False, False, False)
    assert "16 bytes" in (WARPGROUP.accepts(problem("h:nt:512x333x128"), H200) or "")


@pytest.mark.parametrize(
    ("text", "align", "want"),
    [
        # A is stored 333 x 511, B 128 x 333, C 511 x 128.
        ("h:tt:511x128x333", 16, (True, False, True)),
        ("b:nt:256x129x333", 16, (False, True, False)),
        ("h:nn:64x512x512", 2, (True, True, True)),
    ],
)
def test_few_rows_or_columns_may_begin_anywhere(text: str, align: int, want: tuple[bool, bool, bool]) -> None:
    p = problem(text).with_(align=align)
    assert WARPGROUP.accepts(p, H200) is None
    assert loose(p) == want
    config = WARPGROUP.default(p, H200)
    assert (config["cluster_m"], config["cluster_n"]) == (1, 1)
    given, *operands = WARPGROUP.arguments(p, config.with_(cut=0))
    for found, operand, leading in zip(operands, range(3), (p.lda, p.ldb, p.ldc), strict=True):
        # Results leave by threads as soon as anything begins anywhere.
        if want[operand] or operand == 2:
            assert found == Struct("Lines", (Pointer("first", operand), Scalar("leading", "q", leading)))
        else:
            assert isinstance(found, TensorMap)
    assert isinstance(given, Struct)
    defines = dict(WARPGROUP.source(p, config, H200).defines)
    assert tuple(defines[f"LOOSE_{x}"] == "1" for x in "ABC") == want


def test_boxes_beside_such_operands_have_no_lines_outside() -> None:
    """By hand: B has 96 of 128 columns in its tile, and of A no box comes."""
    p = problem("h:tn:24x96x481").with_(ldb=488)
    given, _, b, _ = WARPGROUP.arguments(p, SMALL.with_(tile_n=128, cluster_k=1, ping_pong=0, stages=4))
    assert isinstance(given, Struct)
    assert isinstance(b, TensorMap)
    (clipped,) = (x.value for x in given.fields if isinstance(x, Scalar) and x.name == "clipped")
    assert (clipped, b.box) == (32 * 128, (64, 96, 1))


def test_warps_that_shift_words_hold_few_lines() -> None:
    """By hand: 128 + 64 lines of both operands, and more of one that has a map."""
    config = SMALL.with_(tile_m=128, cluster_k=1, stages=4)
    for text, m, n, want in (
        ("h:tn:133x129x481", 128, 64, []),
        ("h:tn:133x129x481", 128, 128, ["loose-lines"]),
        ("h:tn:136x129x488", 128, 128, []),
    ):
        space = WARPGROUP.space(problem(text), H200)
        found = space.why(config.with_(tile_m=m, tile_n=n, ping_pong=int(n == 64)))
        assert [rule.name for rule in found] == want, (text, m, n)
    large = WARPGROUP.space(problem("h:tn:256x257x481"), H200)
    found = large.why(config.with_(tile_m=256, tile_n=64, stages=2))
    assert "loose-sums" in [rule.name for rule in found]


def test_where_nothing_was_measured_the_library_is_the_better_guess() -> None:
    assert WARPGROUP.needs_record(problem("h:512x512x512"))


# -- tensor maps -------------------------------------------------------------------------------------------
def test_maps_are_of_what_is_stored() -> None:
    """By hand: A is stored 480 x 640 and B 720 x 480, with padding; C is 640 x 720."""
    p = problem("b:tt:640x720x480").with_(lda=488, ldb=728, ldc=648)
    given, a, b, c = WARPGROUP.arguments(p, TALL)
    assert isinstance(given, Struct)
    values = {field.name: field.value for field in given.fields if isinstance(field, Scalar)}
    # A band of 2,048 columns has eight tiles of clusters, each of two times 128.
    sizes = {"ldc": 648, "m": 640, "n": 720, "k": 480, "band": 8}
    assert values == sizes | {"alpha": None, "beta": None, "clipped": 0}
    maps = [x for x in (a, b, c) if isinstance(x, TensorMap)]
    assert [(x.operand, x.type, x.extents, x.strides, x.box) for x in maps] == [
        # Each of two blocks brings half of what comes of A to both.
        (0, "bfloat16", (480, 640, 1), (976, 976 * 640), (64, 128, 1)),
        (1, "bfloat16", (720, 480, 1), (1456, 1456 * 480), (64, 64, 1)),
        (2, "bfloat16", (640, 720, 1), (1296, 1296 * 720), (64, 64, 1)),
    ]
    alone = WARPGROUP.arguments(problem("h:tn:640x720x480"), TALL.with_(cluster_n=1))
    assert [x.box for x in alone if isinstance(x, TensorMap)] == [(64, 256, 1), (64, 128, 1), (64, 64, 1)]
    # Lines of boxes that begin inside lines of memory are not fetched two at a time.
    assert [x.promotion for x in maps] == [128, 128, 128]
    assert [x.promotion for x in alone if isinstance(x, TensorMap)] == [128, 128, 256]


def test_boxes_have_no_lines_that_no_tile_has() -> None:
    """By hand: of tiles of 128 x 128 one operand has 24 rows that are there and the other one 96 columns, and
    a line is 128 bytes. What runs across k comes whole, and so does what two blocks share."""
    config = TALL.with_(tile_m=128, tile_n=128, cluster_m=1, cluster_n=1)

    def of(text: str, **changes: int) -> tuple[object, list[tuple[int, ...]]]:
        given, *maps = WARPGROUP.arguments(problem(text), config.with_(**changes))
        assert isinstance(given, Struct)
        (clipped,) = (x.value for x in given.fields if isinstance(x, Scalar) and x.name == "clipped")
        return clipped, [x.box for x in maps[:2] if isinstance(x, TensorMap)]

    assert of("h:tn:24x96x480") == ((104 + 32) * 128, [(64, 24, 1), (64, 96, 1)])
    assert of("h:tn:17x96x480") == ((104 + 32) * 128, [(64, 24, 1), (64, 96, 1)])
    assert of("h:nn:24x96x480") == (32 * 128, [(64, 64, 1), (64, 96, 1)])
    assert of("h:nt:24x96x480") == (0, [(64, 64, 1), (64, 64, 1)])
    assert of("h:tn:24x136x480", cluster_n=2) == (0, [(64, 64, 1), (64, 128, 1)])


def test_boxes_of_float32_are_as_many_bytes() -> None:
    """32 numbers are a line. By hand: A is stored 480 x 640, B 480 x 720."""
    p = problem("s:tn:640x720x480", math="tf32")
    maps = [x for x in WARPGROUP.arguments(p, TALL) if isinstance(x, TensorMap)]
    assert [(x.type, x.extents, x.box) for x in maps] == [
        ("float32", (480, 640, 1), (32, 128, 1)),
        ("float32", (480, 720, 1), (32, 128, 1)),
        ("float32", (640, 720, 1), (32, 64, 1)),
    ]
    across = WARPGROUP.arguments(problem("s:nt:640x720x480", math="tf32"), TALL)
    assert [x.box for x in across if isinstance(x, TensorMap)] == [(32, 32, 1), (32, 32, 1), (32, 64, 1)]
    # The ninth tile for two clusters: 15 slices.
    assert cut_of(p, TALL.with_(cut=2, blocks=4)) == (8, 2, 8, 0, 16)


# -- the choice --------------------------------------------------------------------------------------------
@settings(max_examples=20, deadline=None)
@given(
    sizes=st.tuples(*(st.integers(5, 1200),) * 3),
    trans=st.sampled_from(("nn", "nt", "tn", "tt")),
    beta=st.sampled_from(("0", "1", "any")),
)
def test_the_default_is_a_member_that_hardware_runs(
    sizes: tuple[int, int, int], trans: str, beta: str
) -> None:
    m, n, k = (8 * x for x in sizes)
    p = Problem(DTYPES["h"], m, n, k, trans[0], trans[1], beta=beta)
    assert WARPGROUP.accepts(p, H200) is None
    config = WARPGROUP.default(p, H200)
    broken = [rule.name for rule in WARPGROUP.space(p, H200).why(config) if rule.kind in (*HARDWARE, "hard")]
    assert broken == []
    launch = WARPGROUP.launch(p, config)
    assert launch.block[0] == 384
    cluster = config["cluster_m"] * config["cluster_n"] * config["cluster_k"]
    assert launch.grid[1] == launch.cluster == cluster
    # One block of an SM, and none without a tile or a part of one.
    needed = tiles(p, *(config[name] for name in ("tile_m", "tile_n", "cluster_m", "cluster_n")))
    assert 1 <= launch.grid[0] <= min(max(needed, cut_of(p, config).workers), 132 // launch.cluster)
    assert launch.shared <= H200["shared_per_block_optin"]


def test_large_products_get_large_tiles_that_blocks_share() -> None:
    for size in (4096, 8192):
        config = WARPGROUP.default(problem(f"h:{size}x{size}x{size}"), H200)
        assert config["tile_m"] * config["tile_n"] >= 256 * 128
        assert config["cluster_m"] * config["cluster_n"] == 2
    small = WARPGROUP.default(problem("h:1024x1024x1024"), H200)
    assert small["tile_m"] * small["tile_n"] <= 128 * 128


def test_a_search_is_told_what_the_default_goes_by() -> None:
    p = problem("b:4096x4096x4096")
    costs = WARPGROUP.cost_model(p, H200)
    default = WARPGROUP.default(p, H200)
    sampled = costs(WARPGROUP.space(p, H200).sample(48, 1))
    assert (sampled > 0).all()
    assert costs([default])[0] <= sampled.min()


def test_every_hard_rule_removes_what_it_names() -> None:
    space = WARPGROUP.space(problem("h:4096x4096x4096"), H200)
    assert space.why(TALL) == []
    for name, change in {
        "rows": {"tile_n": 64},
        "sums": {"tile_n": 256},
        "cluster": {"cluster_m": 2},
        "halves": {"tile_m": 192},
        "shared-per-block": {"stages": 5},
    }.items():
        assert name in [rule.name for rule in space.why(TALL.with_(**change))], name


# -- layouts -----------------------------------------------------------------------------------------------
def test_shared_memory_of_a_block() -> None:
    """By hand: lines of 128 bytes for 384 rows and columns, two boxes of 8 KB for each group, barriers."""
    assert stage_bytes(256, 128) == 384 * 128
    assert shared_bytes(256, 128, 4, 2) == 4 * 384 * 128 + 4 * 8192 + 8 * (12 + 4)


def test_the_model_counts_what_a_product_takes() -> None:
    """A wave more takes longer, and so does a C that is read; blocks that share take less."""

    def of(text: str, beta: str = "0", **changes: int) -> float:
        config = {name: np.array([value]) for name, value in TALL.with_(**changes).items()}
        return float(clocks(problem(text, beta=beta), H200, config)[0])

    assert of("h:4096x4096x4096") < of("h:4096x4096x4096", "1")
    assert of("h:4096x4096x4096") < of("h:4096x4360x4096")
    assert of("h:4096x4096x4096") < of("h:4096x4096x4096", cluster_n=1)


# -- tiles that are cut ------------------------------------------------------------------------------------
def test_turning_costs_where_operands_run_across() -> None:
    def of(trans: str) -> float:
        config = {name: np.array([value]) for name, value in TALL.items()}
        return float(clocks(problem(f"s:{trans}:4096x4096x4096", math="tf32"), H200, config)[0])

    assert of("tn") <= of("tt") <= of("nt")
    assert of("tn") < of("nt")
    # Fragments in registers move less, and are of operands that run across k alone.
    for trans, some in (("nt", (0, 1, 2)), ("tt", (0, 1)), ("nn", (0, 2)), ("tn", (0,))):
        space = WARPGROUP.space(problem(f"s:{trans}:4096x4096x4096", math="tf32"), H200)
        assert {param.name: tuple(param.values) for param in space.params}["lanes"] == some
    default = WARPGROUP.default(problem("s:nt:4096x4096x4096", math="tf32"), H200)
    assert not WARPGROUP.space(problem("s:nt:4096x4096x4096", math="tf32"), H200).why(default)


def test_what_is_copied_is_not_turned() -> None:
    """Of float32 that runs across k: either operand, but none that comes into registers."""
    for trans, some in (("nt", (0, 1, 2)), ("tt", (0, 1)), ("nn", (0, 2)), ("tn", (0,))):
        space = WARPGROUP.space(problem(f"s:{trans}:4096x4096x4096", math="tf32"), H200)
        assert {param.name: tuple(param.values) for param in space.params}["copied"] == some
    halves = WARPGROUP.space(problem("h:nt:4096x4096x4096"), H200)
    assert halves.member(TALL.with_(copied=1)) == "says copied=1; accepted: 0"
    p = problem("s:nt:4096x4096x4096", math="tf32")
    space, square = WARPGROUP.space(p, H200), TALL.with_(tile_m=128, cluster_n=1)
    for lanes, copied in ((0, 0), (0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)):
        assert space.why(square.with_(lanes=lanes, copied=copied)) == []
        # Warps that turn one of them copy nothing of the other one.
        found = space.why(square.with_(lanes=lanes, copied=copied, behind=1))
        assert [rule.name for rule in found] == ["behind"] * (lanes == 0 or copied == 0)
    for lanes, copied in ((1, 1), (2, 2)):
        found = space.why(square.with_(lanes=lanes, copied=copied))
        assert [rule.name for rule in found] == ["copied-lanes"]
    assert [rule.name for rule in space.why(square.with_(copied=1, overlap=1))] == ["copied-overlap"]
    lines = [turned_rows(p, 256, 128, lanes, copied) for lanes, copied in ((0, 0), (0, 1), (2, 1), (1, 0))]
    assert lines == [384, 256, 0, 256]


def test_a_copy_lies_behind_counters() -> None:
    """By hand: A is stored 640 x 470 and B 720 x 470; copies have lines of 480."""
    p = problem("s:nt:640x720x470", math="tf32").with_(lda=648, ldb=728, ldc=672)

    def found(copied: int) -> list[object]:
        _, a, b, _, cut, struct = WARPGROUP.arguments(p, TALL.with_(copied=copied))
        maps = [(x.extents, x.box, x.space) for x in (a, b) if isinstance(x, TensorMap)]
        assert isinstance(cut, Struct)
        assert isinstance(struct, Struct)
        return [*maps, cut.fields[0], struct.fields]

    def fields(operand: int, leading: int) -> tuple[object, ...]:
        return Pointer("from", operand), Scalar("leading", "q", leading), Scalar("at", "q", 128)

    assert found(2) == [
        ((470, 640, 1), (32, 128, 1), 128),
        ((720, 470, 1), (32, 32, 1), -1),
        Workspace("workspace", 128 + 640 * 480 * 4, 128),
        fields(0, 648),
    ]
    assert found(1) == [
        ((640, 470, 1), (32, 32, 1), -1),
        ((470, 720, 1), (32, 128, 1), 128),
        Workspace("workspace", 128 + 720 * 480 * 4, 128),
        fields(1, 728),
    ]
    # 23 times 8 pieces of 32 x 64, for 12 warps each: more than 3 x 3 tiles of clusters of two.
    assert WARPGROUP.launch(p, TALL.with_(copied=1)).grid == (9, 2, 1)
    assert WARPGROUP.launch(p, TALL.with_(copied=1, cluster_n=1)).grid == (18, 1, 1)
    assert WARPGROUP.launch(p.with_(m=64), TALL.with_(copied=1)).grid == (8, 2, 1)


def test_large_products_of_which_both_run_across_copy_one() -> None:
    """Behind the first tiles, where warps of the group that loads can; small ones turn it."""
    for n, copies_one in ((2048, False), (4096, True), (8192, True)):
        config = WARPGROUP.default(problem(f"s:nt:{n}x{n}x{n}", math="tf32"), H200)
        assert (config["copied"] > 0, config["behind"] > 0) == (copies_one, copies_one), config


def test_a_deterministic_product_asks_for_no_copies() -> None:
    config = WARPGROUP.steady(problem("s:nt:4096x4096x4096", math="tf32"), H200)
    assert isinstance(config, Config)
    assert config["copied"] == 0


@pytest.mark.parametrize(
    ("text", "cut", "want"),
    [
        # 5 x 6 tiles of clusters for 66 clusters: two parts of eight slices each.
        ("b:1112x1400x1024", 2, (0, 60, 8, 0, 16)),
        # 5 x 8 leave no room for second parts, but 66 can share them all.
        ("b:1112x1912x1024", 2, (40, 0, 0, 0, 16)),
        ("b:1112x1912x1024", 1, (0, 66, 9, 46, 16)),
        # 33 x 2 fill a wave.
        ("b:8448x512x1024", 1, (66, 0, 0, 0, 16)),
        # 16 x 16 are three waves and 58; those and the last wave in equal lengths.
        ("b:4096x4096x640", 1, (132, 66, 18, 52, 10)),
        # Two tiles, of ten slices: parts of three, the last of each of one.
        ("b:256x512x640", 4, (0, 8, 3, 0, 12)),
        # Five parts of two slices are all of ten, where there is room for seven.
        ("b:256x512x640", 7, (0, 10, 2, 0, 10)),
        # No worker has less than a slice.
        ("b:256x256x100", 8, (0, 2, 1, 0, 2)),
    ],
)
def test_what_is_cut(text: str, cut: int, want: tuple[int, ...]) -> None:
    """By hand, for tiles of 256 x 128 in clusters of 256 x 256."""
    p, config = problem(text), TALL.with_(cut=cut)
    assert cut_of(p, config) == want
    assert WARPGROUP.launch(p, config).grid[0] == max(want[1], min(66, want[0]))
    struct = WARPGROUP.arguments(p, config)[-1]
    assert isinstance(struct, Struct)
    # Two flags and 256 x 128 sums of each block.
    flags = -(-want[1] * 4 * 8 // 128) * 128
    assert struct.fields[0] == Workspace("workspace", flags + want[1] * 2 * 256 * 128 * 4)


def walk(found: Cut, worker: int, slices: int) -> Iterator[tuple[int, int, int]]:
    """The pieces of a worker as tiles.cuh has them: a tile that is cut, and its slices."""
    low, high = (w * found.share + min(w, found.longer) for w in (worker, worker + 1))
    top = high // found.counted * found.counted
    own = top - found.counted if top - found.counted >= low else top
    for begin, end in ((own, top), (max(top, low), high), (low, own)):
        if begin < end:
            tile = begin // found.counted
            yield tile, begin - tile * found.counted, min(end - tile * found.counted, slices)


@settings(max_examples=60, deadline=None)
@given(
    sizes=st.tuples(*(st.integers(2, 700),) * 3),
    cut=st.sampled_from(CUTS[1:]),
    blocks=st.integers(1, 66),
)
def test_workers_share_every_slice_once(sizes: tuple[int, int, int], cut: int, blocks: int) -> None:
    """Of a worker's pieces one at most is for others, and nothing that it waits for comes before."""
    m, n, k = (8 * x for x in sizes)
    p, config = problem(f"h:{m}x{n}x{k}"), TALL.with_(cut=cut, blocks=2 * blocks)
    found, slices = cut_of(p, config), -(-k // 64)
    count = int(tiles(p, 256, 128, 1, 2))
    assert found.workers <= blocks
    assert found.whole % blocks == 0 or found.workers == 0
    made = np.zeros((count - found.whole, slices), int)
    for worker in range(found.workers):
        waits = False
        given = 0
        for tile, first, last in walk(found, worker, slices):
            assert 0 <= first < last <= slices
            made[tile, first:last] += 1
            given += last < slices
            assert not (waits and last < slices)
            waits |= first > 0 and last == slices
        assert given <= 1
    assert (made == 1).all()


@pytest.mark.parametrize("workers", range(1, 133))
def test_every_sum_of_a_tile_is_added_once_by_who_comes_later(workers: int) -> None:
    """The rule of ``struct Partners``, followed for all who share a tile."""
    size = workers
    if workers > TOGETHER:
        size = next(size for size in range(3, workers) if size * size >= workers)
    adds = {}
    for own in range(workers):
        behind = workers - 1 - own
        if behind % size == 0:
            near = [own - 1 - i for i in range(min(size - 1, own))]
            far = [own - (i + 1) * size for i in range((workers - 1) // size)] if behind == 0 else []
            adds[own] = near, far
    given = sorted(other for near, far in adds.values() for other in near + far)
    assert given == list(range(workers - 1))
    assert all(other < own for own, (near, far) in adds.items() for other in near + far)
    near, far = adds[workers - 1]
    assert (len(near), len(far)) == tuple(int(x) for x in added(workers))
    assert len(near) + len(far) <= 22


def test_kernel_and_model_agree_who_needs_teams() -> None:
    headers = dict(program("warpgroup")[1])
    said = f"constexpr int TOGETHER = CLUSTER_K > 1 ? {JOINED_TOGETHER} : {TOGETHER};"
    assert said in headers["warpgroup/tiles.cuh"]


# -- blocks that share the slices of a tile ------------------------------------------------------------------


@pytest.mark.parametrize(("cluster_k", "want"), [(1, 132), (2, 66), (4, 30), (8, 14)], ids=lambda x: str(x))
def test_clusters_that_are_there_at_a_time(cluster_k: int, want: int) -> None:
    """Of 132 blocks, as many as begin together on an H200."""
    assert clusters_of(SMALL.with_(cluster_k=cluster_k)) == want


def test_blocks_that_share_slices_have_one_tile_and_a_part_of_its_sums() -> None:
    """By hand: one tile of 64 x 64, whose 1,024 slices 11 clusters share."""
    p, config = problem("h:64x64x65536"), SMALL.with_(cut=11)
    assert not [rule.name for rule in WARPGROUP.space(p, H200).why(config)]
    assert WARPGROUP.launch(p, config).grid == (11, 8, 1)
    assert cut_of(p, config) == (0, 11, 94, 0, 11 * 94)
    struct = WARPGROUP.arguments(p, config)[-1]
    assert isinstance(struct, Struct)
    # A flag of each block, and 64 x 64 sums of each cluster.
    assert struct.fields[0] == Workspace("workspace", 768 + 11 * 64 * 64 * 4)
    assert held_sums(64, 64, 1, 8) == 4


def test_sums_of_all_blocks_have_room() -> None:
    """By hand: 64 KB for both groups in place of boxes of 32."""
    assert shared_bytes(128, 64, 4, 2, 1, 2) - shared_bytes(128, 64, 4, 2) == 65536 - 32768
    assert shared_bytes(64, 64, 4, 2, 1, 8) == shared_bytes(64, 64, 4, 2)


@pytest.mark.parametrize(
    ("text", "changes", "rule"),
    [
        ("h:64x64x4096", {"cluster_m": 2}, "joined"),
        ("h:256x128x4096", {"tile_m": 256, "tile_n": 128, "ping_pong": 0, "stages": 4}, "joined-sums"),
        # 17 tiles for 16 clusters, and parts of more than one tile.
        ("h:64x1088x4096", {}, "joined-once"),
        ("h:64x192x4096", {"cut": 1}, "joined-once"),
    ],
)
def test_what_blocks_that_share_slices_cannot(text: str, changes: dict[str, int], rule: str) -> None:
    space = WARPGROUP.space(problem(text), H200)
    assert rule in [found.name for found in space.why(SMALL.with_(**changes))]
    assert not space.why(SMALL) or text == "h:64x1088x4096"


def test_the_default_cuts_where_most_blocks_would_be_idle() -> None:
    """Five tiles for 132 blocks and a long k; whole waves are left alone."""
    assert WARPGROUP.default(problem("b:256x640x16384"), H200)["cut"] > 0
    assert WARPGROUP.default(problem("b:8448x8192x8192"), H200)["cut"] == 0
