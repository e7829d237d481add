"""The space of the stencil of complex halves by warp groups, its choice without a search, and what both
promise."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tilewright.stencils.cuda.pairs.stencil as module
from tilewright.model import DTYPES, Config, Problem
from tilewright.planning import dispatch
from tilewright.space import HARDWARE
from tilewright.stencils.cuda import copies
from tilewright.stencils.cuda.pairs.cost import clocks
from tilewright.stencils.cuda.pairs.needs import asked_of, shared_bytes, turned
from tilewright.stencils.cuda.pairs.stencil import ARGUED, PairsStencil
from tilewright.stencils.cuda.source import program
from tilewright.stencils.cuda.warpgroup.needs import cut_of, tiles
from tilewright.targets.cuda.arguments import Pointer, Scalar, Struct, TensorMap, Workspace
from tilewright.targets.cuda.capability import named

pytestmark = pytest.mark.pure

PAIRS = PairsStencil()
A100, H200 = named("a100"), named("h200")
KERNEL = Path(module.__file__).with_name("kernel.cuh").read_text()
PROBLEM = dict(program("pairs")[1])["lib/problem.cuh"]
SQUARE = Config(
    {
        "exchange": 0,
        "tile_m": 128,
        "tile_n": 128,
        "ping_pong": 0,
        "copied": 0,
        "behind": 0,
        "steps": 2,
        "cluster_m": 1,
        "cluster_n": 2,
    }
    | {"stages": 6, "outs": 2, "overlap": 0, "band": 2048, "backwards": 1, "blocks": 132, "cut": 0}
)


def problem(text: str, **fields: object) -> Problem:
    return Problem.parse(text, **fields)[0]


def test_small_products_of_which_an_operand_is_turned_run_others(new_home: Path) -> None:
    for text, stencil in (
        ("hc:nt:512x512x512", "tensor"),
        ("hc:nn:512x512x512", "pairs"),
        ("hc:tt:256x256x256", "pairs"),
        ("hc:nt:1024x1024x1024", "pairs"),
    ):
        assert dispatch.plan(problem(text), H200).stencil == stencil, text


# -- the file and the space say the same -----------------------------------------------------------------
def test_every_name_of_the_kernel_is_defined_and_no_other() -> None:
    p = problem("hc:nt:512x1024x80")
    defines = [name for name, _ in PAIRS.source(p, PAIRS.default(p, H200), H200).defines]
    assert sorted(defines) == sorted(set(re.findall(r"^#ifndef (\w+)$", KERNEL + PROBLEM, re.M)))
    names = [param.name.upper() for param in PAIRS.space(p, H200).params if param.name not in ARGUED]
    block = KERNEL[KERNEL.index("the parameters of the space") : KERNEL.index("what follows from them")]
    assert sorted(re.findall(r"^#ifndef (\w+)$", block, re.M)) == sorted(names)


def test_hard_rules_are_said_in_the_same_words() -> None:
    said = dict(re.findall(r'static_assert\(.*, "([\w-]+): (.*)"\);', KERNEL))
    hard = [rule for rule in PAIRS.space(problem("hc:4096x4096x4096"), H200).rules if rule.kind == "hard"]
    assert {rule.name: said[rule.name] for rule in hard} == {rule.name: rule.why for rule in hard}


# -- what is accepted --------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("text", "fields", "reason"),
    [
        ("h:512x512x512", {}, "type h"),
        ("c:512x512x512", {}, "type c"),
        ("hc:512x512x512@2", {}, "a batch of 2"),
        ("hc:512x8x512", {}, "not from 16"),
        ("hc:514x512x512", {}, "multiple of 16 bytes"),
        ("hc:512x512x512", {"align": 8}, "multiple of 16 bytes"),
        ("hc:512x512x512", {"align": 2}, "not of an element's 4"),
        ("hc:512x512x512", {"lda": 2**38}, "2^40"),
    ],
)
def test_what_it_cannot_serve_is_refused_with_the_reason(
    text: str, fields: dict[str, int], reason: str
) -> None:
    assert reason in (PAIRS.accepts(problem(text).with_(**fields), H200) or "")


def test_it_needs_warp_groups() -> None:
    p = problem("hc:512x512x512")
    assert PAIRS.accepts(p, H200) is None
    assert "warp groups" in (PAIRS.accepts(p, A100) or "")


def test_large_products_run_it_without_a_record() -> None:
    """No library multiplies interleaved complex halves, and no other kernel takes such extents."""
    for order in ("nn", "nt", "cn", "jc"):
        plan = dispatch.plan(problem(f"hc:{order}:4096x4096x4096"), H200)
        assert (plan.origin, plan.stencil) == ("default", "pairs")


# -- the product of the transposes -------------------------------------------------------------------------
@pytest.mark.parametrize("order", ["nn", "tj", "ct", "jc"])
def test_transposes_are_what_numpy_says(order: str) -> None:
    """The entries of what the kernel is asked for, from the operands as they are stored."""
    draw = np.random.default_rng(1)
    p = problem(f"hc:{order}:4x6x5")
    made = asked_of(p, 1)

    def stored(of: Problem) -> list[tuple[int, int]]:
        return [
            (of.k, of.m) if of.transposed_a else (of.m, of.k),
            (of.n, of.k) if of.transposed_b else (of.k, of.n),
        ]

    a, b = (draw.normal(size=(*shape, 2)) @ [1, 1j] for shape in stored(p))
    assert stored(made) == [b.shape, a.shape]
    op: dict[str, Callable[[Any], Any]] = {
        "n": lambda x: x,
        "t": np.transpose,
        "c": lambda x: x.conj().T,
        "j": np.conj,
    }
    straight = op[p.trans_a](a) @ op[p.trans_b](b)
    exchanged = op[made.trans_a](b) @ op[made.trans_b](a)
    np.testing.assert_allclose(exchanged, straight.T)


def test_what_runs_along_k_is_not_turned() -> None:
    """Of the two ways the soft rule leaves those that turn less."""
    for order, left in {"nn": (1,), "nt": (0, 1), "tn": (0, 1), "tt": (0,)}.items():
        p = problem(f"hc:{order}:4096x4096x4096")
        space = PAIRS.space(p, H200)
        found = [e for e in (0, 1) if not space.why(SQUARE.with_(exchange=e))]
        assert tuple(found) == left, order
        assert {int(turned(p, e)) for e in left} == {int(order == "nt")}
        assert not turned(p, PAIRS.default(p, H200)["exchange"]) or order == "nt"


# -- tensor maps -------------------------------------------------------------------------------------------
def test_maps_are_of_what_is_stored() -> None:
    """By hand: A is stored 640 x 480 and B 480 x 720, with padding; C is 640 x 720."""
    p = problem("hc:nn:640x720x480").with_(lda=648, ldb=484, ldc=672)
    given, *maps = PAIRS.arguments(p, SQUARE.with_(exchange=1))
    assert isinstance(given, Struct)
    values = {field.name: field.value for field in given.fields if isinstance(field, Scalar)}
    # C^T is 720 x 640. A band of 2,048 columns has eight tiles of clusters, each of two times 128.
    sizes = {"ldc": 672, "m": 720, "n": 640, "k": 480, "band": 8}
    assert values == sizes | {"alpha": None, "beta": None, "clipped": 0}
    assert [(x.operand, x.extents, x.strides, x.box) for x in maps if isinstance(x, TensorMap)] == [
        # Lines along k, of which each of two blocks brings half to both.
        (1, (480, 720, 1), (1936, 1936 * 720), (32, 64, 1)),
        (0, (640, 480, 1), (2592, 2592 * 480), (32, 32, 1)),
        (2, (640, 720, 1), (2688, 2688 * 720), (32, 32, 1)),
    ]
    straight = PAIRS.arguments(problem("hc:tn:640x720x480"), SQUARE.with_(cluster_n=1))
    assert [x.box for x in straight if isinstance(x, TensorMap)] == [(32, 128, 1), (32, 128, 1), (32, 64, 1)]
    # Lines of boxes that begin inside lines of memory are not fetched two at a time.
    assert [x.promotion for x in maps if isinstance(x, TensorMap)] == [128, 128, 256]


def test_shared_memory_of_a_block() -> None:
    """By hand: lines of 128 bytes for 256 rows and columns, two places of 8 KB for each group, barriers."""
    assert shared_bytes(128, 128, 6, 2) == 6 * 256 * 128 + 4 * 8192 + 8 * (18 + 4)


def test_sums_of_both_parts_meet() -> None:
    """By hand: 1,112 x 1,912 are 9 x 8 tiles of clusters, of which 6 are left for 66 clusters."""
    p = problem("hc:tn:1112x1912x1024")
    config = SQUARE.with_(cut=2)
    struct = PAIRS.arguments(p, config)[-1]
    assert isinstance(struct, Struct)
    found = cut_of(p, config)
    assert (found.whole, found.workers) == (66, 12)
    # Two flags, and 128 x 128 sums of re and of im, of each of two blocks.
    assert struct.fields[0] == Workspace("workspace", -(-12 * 4 * 8 // 128) * 128 + 12 * 2 * 128 * 128 * 8)
    assert PAIRS.launch(p, config).grid == (66, 2, 1)


# -- the choice --------------------------------------------------------------------------------------------
@settings(max_examples=20, deadline=None)
@given(
    sizes=st.tuples(*(st.integers(5, 1200),) * 3),
    trans=st.sampled_from(("nn", "nt", "tn", "tt", "cj", "jc")),
    beta=st.sampled_from(("0", "1", "any")),
)
def test_the_default_is_a_member_that_hardware_runs(
    sizes: tuple[int, int, int], trans: str, beta: str
) -> None:
    m, n, k = (4 * x for x in sizes)
    p = Problem(DTYPES["hc"], m, n, k, trans[0], trans[1], beta=beta)
    assert PAIRS.accepts(p, H200) is None
    config = PAIRS.default(p, H200)
    broken = [rule.name for rule in PAIRS.space(p, H200).why(config) if rule.kind in (*HARDWARE, "hard")]
    assert broken == []
    launch = PAIRS.launch(p, config)
    made = asked_of(p, config["exchange"])
    # One block of an SM, and none without a tile, a part of one, or a piece of a copy.
    needed = tiles(made, *(config[name] for name in ("tile_m", "tile_n", "cluster_m", "cluster_n")))
    needed = max(needed, copies.blocks(made, copies.OF_A * config["copied"]) // launch.cluster)
    assert 1 <= launch.grid[0] <= min(max(needed, cut_of(made, config).workers), 132 // launch.cluster)
    assert launch.grid[1] == launch.cluster == config["cluster_m"] * config["cluster_n"]
    assert launch.shared <= H200["shared_per_block_optin"]


def test_a_search_is_told_what_the_default_goes_by() -> None:
    p = problem("hc:4096x4096x4096")
    costs = PAIRS.cost_model(p, H200)
    default = PAIRS.default(p, H200)
    sampled = costs(PAIRS.space(p, H200).sample(48, 1))
    assert (sampled > 0).all()
    assert costs([default])[0] <= sampled.min()


def test_every_hard_rule_removes_what_it_names() -> None:
    space = PAIRS.space(problem("hc:nt:4096x4096x4096"), H200)
    assert space.why(SQUARE) == []
    for name, change in {
        "tile-n": {"tile_n": 64},
        "steps-sums": {"tile_m": 192},
        "turned-sums": {"tile_m": 192, "steps": 1},
        "cluster": {"cluster_m": 2},
        "copied-overlap": {"copied": 1, "overlap": 1},
        "behind": {"behind": 1},
        "shared-per-block": {"stages": 8},
    }.items():
        assert name in [rule.name for rule in space.why(SQUARE.with_(**change))], name


def test_what_runs_along_k_is_not_copied() -> None:
    space = PAIRS.space(problem("hc:tn:4096x4096x4096"), H200)
    assert "copied-across" in [rule.name for rule in space.why(SQUARE.with_(copied=1))]
    # 23,172 squared times 4 bytes are more than 2^31, 23,168 squared are not.
    large, largest = (PAIRS.space(problem(f"hc:nt:{n}x{n}x{n}"), H200) for n in (23168, 23172))
    assert large.why(SQUARE.with_(copied=1)) == []
    assert [rule.name for rule in largest.why(SQUARE.with_(copied=1))] == ["copied-room"]
    # No sums of registers are kept for warps that turn.
    tall = SQUARE.with_(tile_m=192, steps=1, stages=4)
    assert [rule.name for rule in large.why(tall)] == ["turned-sums"]
    assert large.why(tall.with_(copied=1)) == []
    # Those that copy behind the first tiles leave them none.
    assert [rule.name for rule in large.why(tall.with_(copied=1, behind=1))] == ["behind"]
    assert large.why(SQUARE.with_(copied=1, behind=1)) == []


def test_a_copy_lies_behind_counters_and_sums() -> None:
    """By hand: B is stored 720 x 480; its copy has lines of 480, as 15 lines of 32 are, for each of 720."""
    p = problem("hc:nt:640x720x480").with_(lda=648, ldb=728, ldc=672)
    config = SQUARE.with_(exchange=1, copied=1)
    _, a, b, _, cut, copied = PAIRS.arguments(p, config)
    assert isinstance(a, TensorMap)
    assert isinstance(b, TensorMap)
    # Lines along k, of which each of two blocks brings half to both, and boxes of what lies across.
    assert (a.operand, a.extents, a.strides, a.box, a.space) == (
        *(1, (480, 720, 1), (1920, 1920 * 720), (32, 64, 1)),
        128,
    )
    assert (b.operand, b.extents, b.box, b.space) == (0, (640, 480, 1), (32, 32, 1), -1)
    assert isinstance(cut, Struct)
    # Three counters, and one for each of 23 strips.
    assert cut.fields[0] == Workspace("workspace", 128 + 720 * 480 * 4, 128)
    assert isinstance(copied, Struct)
    assert copied.fields == (Pointer("from", 1), Scalar("leading", "q", 728), Scalar("at", "q", 128))
    # 23 x 8 pieces of 32 x 64 for 12 warps each, and 6 x 3 tiles of clusters of 128 x 256.
    assert PAIRS.launch(p, config).grid == (18, 2, 1)
    assert PAIRS.launch(p.with_(m=16), config.with_(cluster_n=1)).grid == (16, 1, 1)
    # A product of 1,112 x 1,912 cuts 6 tiles for 12 clusters, whose sums come first.
    p = problem("hc:nt:1112x1912x1000")
    *_, cut, copied = PAIRS.arguments(p, SQUARE.with_(copied=1, cut=2))
    assert isinstance(cut, Struct)
    sums = 256 + -(-12 * 4 * 8 // 128) * 128 + 12 * 2 * 128 * 128 * 8
    # 35 strips and three counters are 152 bytes. 1,000 numbers are 32 lines of 32 but for the last ones.
    assert cut.fields[0] == Workspace("workspace", sums + 1112 * 1024 * 4, 256)
    assert isinstance(copied, Struct)
    assert Scalar("at", "q", sums) in copied.fields


def test_the_model_counts_what_a_product_takes() -> None:
    """A wave more takes longer, and so does a C that is read, and an operand that is turned."""

    def of(text: str, beta: str = "0", **changes: int) -> float:
        config = {name: np.array([value]) for name, value in SQUARE.with_(**changes).items()}
        return float(clocks(problem(text, beta=beta), H200, config)[0])

    assert of("hc:tn:4096x4096x4096") < of("hc:tn:4096x4096x4096", "1")
    assert of("hc:tn:4096x4096x4096") < of("hc:tn:4096x4360x4096")
    assert of("hc:tn:4096x4096x4096") < of("hc:nt:4096x4096x4096")
    assert of("hc:tn:4096x4096x4096") < of("hc:tn:4096x4096x4096", cluster_n=1)
