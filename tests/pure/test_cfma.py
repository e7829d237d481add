"""The space of the stencil of complex float32 by warps with roles, its choice without a search, promises."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import tilewright.stencils.cuda.cfma.stencil as module
from tilewright.model import Config, Problem
from tilewright.space import HARDWARE
from tilewright.stencils.cuda.cfma.cost import clocks
from tilewright.stencils.cuda.cfma.needs import shared_bytes, tile_m, tile_n
from tilewright.stencils.cuda.cfma.stencil import ARGUED, CfmaStencil
from tilewright.stencils.cuda.source import program
from tilewright.targets.cuda.arguments import Struct, TensorMap, Workspace
from tilewright.targets.cuda.capability import named

pytestmark = pytest.mark.pure

CFMA = CfmaStencil()
A100, H200 = named("a100"), named("h200")
KERNEL = Path(module.__file__).with_name("kernel.cuh").read_text()
PROBLEM = dict(program("cfma")[1])["lib/problem.cuh"]
SQUARE = Config(
    {"rows": 8, "columns": 4, "lanes_m": 4, "warps_m": 4, "stages": 6}
    | {"band": 2048, "blocks": 132, "cut": 0, "overlap": 1}
)


def problem(text: str, **fields: object) -> Problem:
    return Problem.parse(text, **fields)[0]


# -- the file and the space say the same -----------------------------------------------------------------
def test_every_name_of_the_kernel_is_defined_and_no_other() -> None:
    p = problem("c:nc:512x1024x80")
    defines = [name for name, _ in CFMA.source(p, CFMA.default(p, H200), H200).defines]
    wanted = set(re.findall(r"^#ifndef (\w+)$", KERNEL + PROBLEM, re.M)) - {"BRAIN"}
    assert sorted(defines) == sorted(wanted)
    names = [param.name.upper() for param in CFMA.space(p, H200).params if param.name not in ARGUED]
    block = KERNEL[KERNEL.index("the parameters of the space") : KERNEL.index("what follows from them")]
    assert sorted(re.findall(r"^#ifndef (\w+)$", block, re.M)) == sorted(names)


def test_hard_rules_are_said_in_the_same_words() -> None:
    said = dict(re.findall(r'static_assert\(.*, "([\w-]+): (.*)"\);', KERNEL))
    hard = [rule for rule in CFMA.space(problem("c:4096x4096x4096"), H200).rules if rule.kind == "hard"]
    assert [rule.name for rule in hard] == ["sums", "box"]
    for rule in hard:
        assert said[rule.name] == rule.why


# -- what is accepted --------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("text", "fields", "reason"),
    [
        ("z:nt:512x512x512", {}, "type z"),
        ("c:nt:512x512x512@2", {}, "a batch of 2"),
        ("c:nt:512x15x512", {}, "not from 16"),
        ("c:nt:512x512x512", {"lda": 2**37}, "2^40"),
    ],
)
def test_what_it_cannot_serve_is_refused_with_the_reason(
    text: str, fields: dict[str, int], reason: str
) -> None:
    assert reason in (CFMA.accepts(problem(text).with_(**fields), H200) or "")


def test_columns_begin_anywhere_and_it_needs_tensor_maps_and_a_record() -> None:
    p = problem("c:nc:511x513x16")
    assert CFMA.accepts(p, H200) is None
    assert CFMA.accepts(p.with_(align=8), H200) is None
    assert "tensor maps" in (CFMA.accepts(p, A100) or "")
    assert CFMA.needs_record(p)


# -- what the kernel is called with ------------------------------------------------------------------------
def test_maps_are_of_what_is_stored_as_real_numbers() -> None:
    """By hand: A is stored 640 x 480 and B 480 x 720, padded. Tiles are 128 x 64, lines of 16 numbers."""
    p = problem("c:nn:640x720x480").with_(lda=648, ldb=482, ldc=640)
    _, *given = CFMA.arguments(p, SQUARE)
    maps = [x for x in given if isinstance(x, TensorMap)]
    assert [(x.operand, x.type, x.extents, x.strides, x.box) for x in maps] == [
        (0, "float32", (1280, 480, 1), (5184, 5184 * 480), (32, 16, 1)),
        (1, "float32", (960, 720, 1), (3856, 3856 * 720), (32, 64, 1)),
    ]
    # What begins at odd numbers comes without a map.
    _, *given = CFMA.arguments(p.with_(ldb=483), SQUARE)
    assert [isinstance(x, TensorMap) for x in given] == [True, False]


def test_the_workspace_has_what_is_cut() -> None:
    """By hand: 300 x 120 is 3 x 2 tiles of 128 x 64, of which four blocks share two: flags of eight warps for
    each, and the sums of a tile."""
    p = problem("c:nt:300x120x70")
    *_, cut = CFMA.arguments(p, SQUARE.with_(cut=1, blocks=4))
    assert isinstance(cut, Struct)
    spaces = [x for x in cut.fields if isinstance(x, Workspace)]
    assert spaces == [Workspace("workspace", 256 + 4 * 128 * 64 * 8)]
    assert len(CFMA.arguments(p, SQUARE)) == 3


def test_shared_memory() -> None:
    """By hand: 192 rows and columns in lines of 128 bytes, and two barriers."""
    assert (tile_m(8, 4, 4), tile_n(4, 4, 4)) == (128, 64)
    assert shared_bytes(128, 64, 6) == 6 * (192 * 128 + 16)


# -- the choice --------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "text", ["c:4096x4096x4096", "c:nc:1023x1000x77", "c:nt:20x9000x17", "c:jt:64x64x9999"]
)
def test_the_default_is_a_member_that_hardware_runs(text: str) -> None:
    p = problem(text)
    config = CFMA.default(p, H200)
    broken = [rule.name for rule in CFMA.space(p, H200).why(config) if rule.kind in (*HARDWARE, "hard")]
    assert broken == []
    launch = CFMA.launch(p, config)
    assert launch.block[0] == 384
    assert 1 <= launch.grid[0] <= 132
    assert launch.shared <= H200["shared_per_block_optin"]
    costs = CFMA.cost_model(p, H200)
    assert costs([config])[0] <= costs(CFMA.space(p, H200).sample(8, 1)).min()


def test_every_rule_removes_what_it_names() -> None:
    space = CFMA.space(problem("c:4096x4096x4096"), H200)
    assert space.why(SQUARE) == []
    for name, change in {
        "sums": {"columns": 8},
        "box": {"lanes_m": 8, "warps_m": 8},
        "shared-per-block": {"lanes_m": 8, "warps_m": 8},
        "in-flight": {"stages": 2, "rows": 4, "columns": 4},
        "cut-full": {"cut": 1, "blocks": 128},
        "cut-idle": {"cut": 132},
    }.items():
        assert name in [rule.name for rule in space.why(SQUARE.with_(**change))], name
    low = CFMA.space(problem("c:32x32x1024"), H200)
    assert {"tile-in-m", "tile-in-n"} <= {rule.name for rule in low.why(SQUARE)}
    assert "cut-short" in [rule.name for rule in low.why(SQUARE.with_(cut=66))]


def test_the_model_counts_what_a_product_takes() -> None:
    """A wave more takes longer, and so do a C that is read, and few sums of a thread."""

    def of(text: str, beta: str = "0", **changes: int) -> float:
        config = {name: np.array([value]) for name, value in SQUARE.with_(**changes).items()}
        return float(clocks(problem(text, beta=beta), H200, config)[0])

    assert of("c:4096x4096x4096") < of("c:4096x4096x4096", "1")
    assert of("c:4096x4096x4096") < of("c:4096x4700x4096")
    assert of("c:4096x4096x4096") < of("c:4096x4096x4096", rows=4)
