"""The space of the stencil of float32 by warps with roles, its choice without a search, their promises."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import tilewright.stencils.cuda.ffma.stencil as module
from tilewright.model import Config, Problem
from tilewright.space import HARDWARE
from tilewright.stencils.cuda.ffma.cost import clocks
from tilewright.stencils.cuda.ffma.needs import registers, shared_bytes, tile_m, tile_n
from tilewright.stencils.cuda.ffma.stencil import ARGUED, FfmaStencil
from tilewright.stencils.cuda.source import program
from tilewright.targets.cuda.arguments import Scalar, Struct, TensorMap, Workspace
from tilewright.targets.cuda.capability import named

pytestmark = pytest.mark.pure

FFMA = FfmaStencil()
A100, H200 = named("a100"), named("h200")
KERNEL = Path(module.__file__).with_name("kernel.cuh").read_text()
PROBLEM = dict(program("ffma")[1])["lib/problem.cuh"]
WIDE = Config(
    {"rows": 8, "columns": 16, "lanes_m": 8, "warps_m": 2, "depth": 16, "stages": 5}
    | {"band": 2048, "blocks": 132, "cut": 0, "a_first": 1, "products": 1, "overlap": 0, "turned": 0}
)


def problem(text: str, **fields: object) -> Problem:
    return Problem.parse(text, **fields)[0]


# -- the file and the space say the same -----------------------------------------------------------------
def test_every_name_of_the_kernel_is_defined_and_no_other() -> None:
    p = problem("c:nc:512x1024x80")
    defines = [name for name, _ in FFMA.source(p, FFMA.default(p, H200), H200).defines]
    wanted = set(re.findall(r"^#ifndef (\w+)$", KERNEL + PROBLEM, re.M)) - {"BRAIN"}
    assert sorted(defines) == sorted(wanted)
    names = [param.name.upper() for param in FFMA.space(p, H200).params if param.name not in ARGUED]
    block = KERNEL[KERNEL.index("the parameters of the space") : KERNEL.index("what follows from them")]
    assert sorted(re.findall(r"^#ifndef (\w+)$", block, re.M)) == sorted(names)


def test_hard_rules_are_said_in_the_same_words() -> None:
    said = dict(re.findall(r'static_assert\(.*, "([\w-]+): (.*)"\);', KERNEL))
    hard = [rule for rule in FFMA.space(problem("s:nt:4096x4096x4096"), H200).rules if rule.kind == "hard"]
    assert hard
    for rule in hard:
        assert said[rule.name] == rule.why


# -- what is accepted --------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("text", "fields", "reason"),
    [
        ("d:nt:512x512x512", {}, "type d"),
        ("s:nt:512x32x512@2", {}, "512x32 of a batch is small"),
        ("c:nt:512x512x512@2", {}, "parts of complex numbers are packed of one product"),
        ("s:nt:512x16x512", {}, "not from 17"),
        ("s:nt:510x512x512", {}, "multiple of 16 bytes"),
        ("c:nt:512x512x512", {"align": 8}, "multiple of 16 bytes"),
        ("s:nt:512x512x512", {"lda": 2**38}, "2^40"),
    ],
)
def test_what_it_cannot_serve_is_refused_with_the_reason(
    text: str, fields: dict[str, int], reason: str
) -> None:
    assert reason in (FFMA.accepts(problem(text).with_(**fields), H200) or "")


def test_it_needs_tensor_maps_and_a_record() -> None:
    p = problem("c:nc:512x512x511")
    assert FFMA.accepts(p, H200) is None
    assert "tensor maps" in (FFMA.accepts(p, A100) or "")
    assert FFMA.needs_record(p)


# -- tensor maps, layouts ----------------------------------------------------------------------------------
def test_maps_are_of_what_is_stored() -> None:
    """By hand: A is stored 640 x 480 and B 720 x 480, with padding. Tiles are 128 x 256."""
    p = problem("s:nt:640x720x480").with_(lda=648, ldb=724, ldc=640)
    given, _, _, a, b = FFMA.arguments(p, WIDE)
    assert isinstance(given, Struct)
    values = {field.name: field.value for field in given.fields if isinstance(field, Scalar)}
    assert values == {"ldc": 640, "m": 640, "n": 720, "k": 480, "band": 8, "alpha": None, "beta": None}
    maps = [x for x in (a, b) if isinstance(x, TensorMap)]
    assert [(x.operand, x.type, x.extents, x.strides, x.box) for x in maps] == [
        (0, "float32", (640, 480, 1), (2592, 2592 * 480), (128, 16, 1)),
        (1, "float32", (720, 480, 1), (2896, 2896 * 480), (256, 16, 1)),
    ]
    # What is packed comes without a map.
    orders = {"nn": 1, "tn": 0, "tt": 1}
    for order, left in orders.items():
        asked = FFMA.arguments(problem(f"s:{order}:640x720x480"), WIDE)
        assert sum(isinstance(x, TensorMap) for x in asked) == left
    # What is turned in shared memory comes in lines of 32 along k, and nothing is in front of it.
    _, _, cut, a, b = FFMA.arguments(problem("s:nn:640x720x480"), WIDE.with_(turned=1, depth=32))
    maps = [x for x in (a, b) if isinstance(x, TensorMap)]
    assert [(x.operand, x.extents, x.strides, x.box, x.swizzle) for x in maps] == [
        (0, (640, 480, 1), (2560, 2560 * 480), (128, 32, 1), 0),
        (1, (480, 720, 1), (1920, 1920 * 720), (32, 256, 1), 128),
    ]
    assert isinstance(cut, Struct)
    assert not any(isinstance(field, Workspace) for field in cut.fields)


def test_a_config_from_before_there_was_turning_packs() -> None:
    p = problem("s:nn:640x720x480")
    old = Config({name: value for name, value in WIDE.items() if name not in ("turned", "overlap")})
    assert FFMA.source(p, old, H200) == FFMA.source(p, WIDE, H200)
    assert FFMA.arguments(p, old) == FFMA.arguments(p, WIDE)
    assert FFMA.space(p, H200).why(WIDE) == []


def test_the_workspace_has_what_is_packed_and_cut_and_kept() -> None:
    """By hand: 300 x 200 is 3 x 1 tiles of 128 x 256; k of 70 is five slices of 16. Three planes of both
    operands, behind the turns, and a block's two parts of a complex tile."""

    def placed(text: str, **changes: int) -> tuple[dict[str, object], Workspace | None]:
        _, packs, cut, *_ = FFMA.arguments(problem(text), WIDE.with_(**changes))
        assert isinstance(packs, Struct)
        assert isinstance(cut, Struct)
        values = {field.name: field.value for field in packs.fields if isinstance(field, Scalar)}
        return values, next((x for x in cut.fields if isinstance(x, Workspace)), None)

    values, space = placed("c:nt:300x200x70", products=3, blocks=3)
    plane_a, plane_b, tile = 3 * 128 * 80, 256 * 80, 128 * 256
    assert (values["plane_a"], values["plane_b"]) == (plane_a, plane_b)
    assert values["at_b"] == 128 + 3 * 4 * plane_a
    assert space == Workspace("workspace", 128 + 12 * (plane_a + plane_b) + 2 * 3 * 4 * tile, 128)
    values, space = placed("s:nn:300x200x70")
    assert space == Workspace("workspace", 128 + 4 * plane_b, 128)
    # Two blocks share three tiles: flags of eight warps, and the sums of a tile for each.
    _, space = placed("s:nt:300x200x70", cut=1, blocks=2)
    assert space == Workspace("workspace", 128 + 128 + 2 * 4 * tile, 0)
    assert placed("s:nt:300x200x70")[1] is None


def test_shared_memory_and_registers() -> None:
    """By hand: 384 rows and columns at 16 k and three barriers; 128 sums, and 24 numbers in two places."""
    assert (tile_m(8, 8, 2), tile_n(16, 8, 2)) == (128, 256)
    assert shared_bytes(128, 256, 16, 5) == 5 * (384 * 16 * 4 + 24)
    assert registers(8, 16) == 128 + 2 * 24 + 24


# -- the choice --------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "text", ["s:nt:4096x4096x4096", "c:nc:1024x1000x77", "s:nt:20x9000x17", "c:jt:64x64x9999"]
)
def test_the_default_is_a_member_that_hardware_runs(text: str) -> None:
    p = problem(text)
    config = FFMA.default(p, H200)
    broken = [rule.name for rule in FFMA.space(p, H200).why(config) if rule.kind in (*HARDWARE, "hard")]
    assert broken == []
    launch = FFMA.launch(p, config)
    assert launch.block[0] == 384
    assert 1 <= launch.grid[0] <= 132
    assert launch.shared <= H200["shared_per_block_optin"]
    costs = FFMA.cost_model(p, H200)
    assert costs([config])[0] <= costs(FFMA.space(p, H200).sample(8, 1)).min()


def test_every_rule_removes_what_it_names() -> None:
    space = FFMA.space(problem("s:nt:4096x4096x4096"), H200)
    assert space.why(WIDE) == []
    for name, change in {
        "sums": {"rows": 16},
        "registers": {"rows": 16},
        "box": {"warps_m": 1},
        "shared-per-block": {"depth": 32},
        "in-flight": {"stages": 2, "depth": 8},
        "unrolled": {"depth": 32, "stages": 4},
        "cut-full": {"cut": 1, "blocks": 128},
        "cut-idle": {"cut": 132},
    }.items():
        assert name in [rule.name for rule in space.why(WIDE.with_(**change))], name
    low = FFMA.space(problem("s:nt:32x64x4096"), H200)
    assert {"tile-in-m", "tile-in-n"} <= {rule.name for rule in low.why(WIDE)}
    turned = FFMA.space(problem("s:tn:4096x4096x4096"), H200)
    narrow = WIDE.with_(rows=4, columns=4, lanes_m=4, warps_m=1)
    assert {"packs", "room"} <= {rule.name for rule in turned.why(narrow.with_(stages=2, depth=8))}
    assert [rule.name for rule in turned.why(WIDE.with_(turned=1))] == ["turned"]
    assert turned.why(WIDE.with_(turned=1, depth=32, stages=4)) == []
    assert "cut-short" in [rule.name for rule in low.why(WIDE.with_(cut=66, depth=32))]
    for k, short in ((143, True), (144, False)):
        some = FFMA.space(problem(f"s:nt:904x296x{k}"), H200)
        assert ("cut-equal" in [rule.name for rule in some.why(WIDE.with_(cut=1))]) == short
    planes = FFMA.space(problem("c:nn:4096x4096x4096"), H200)
    assert [rule.name for rule in planes.why(WIDE.with_(products=3))] == ["three"]


def test_the_model_counts_what_a_product_takes() -> None:
    """A wave more takes longer, and so do a C that is read, few sums of a thread, and complex numbers."""

    def of(text: str, beta: str = "0", **changes: int) -> float:
        config = {name: np.array([value]) for name, value in WIDE.with_(**changes).items()}
        return float(clocks(problem(text, beta=beta), H200, config)[0])

    assert of("s:nt:4096x4096x4096") < of("s:nt:4096x4096x4096", "1")
    assert of("s:nt:4096x4096x4096") < of("s:nt:4096x4700x4096")
    assert of("s:nt:4096x4096x4096") < of("s:nt:4096x4096x4096", columns=4)
    four = of("c:nt:4096x4096x4096", products=4)
    assert 3.9 < four / of("s:nt:4096x4096x4096") < 4.3
    assert 0.7 < of("c:nt:4096x4096x4096", products=3) / four < 0.8
    assert of("s:nt:4096x4096x4096") < of("s:tn:4096x4096x4096") < 1.05 * of("s:nt:4096x4096x4096")
    # Where an operand is long and its product thin, turning it in shared memory takes no pass over it.
    assert of("s:nn:128x8192x8192", turned=1) < 0.9 * of("s:nn:128x8192x8192")


def test_few_slices_are_not_cut_in_equal_lengths() -> None:
    for text in ("s:7368x8976x48", "s:9696x5480x24", "s:5488x7552x40"):
        assert FFMA.default(problem(text), H200)["cut"] != 1
