"""Batches on tensor cores on the interpreter of PTX: all shapes of products, stages of C, warp groups."""

from __future__ import annotations

from typing import Any

import pytest

from tests import marks
from tests.emulator.cases import H200, allowed, found_wrong, problem
from tilewright.catalog import STENCILS
from tilewright.model import Config, Device, Problem
from tilewright.space import HARDWARE, Rule, Space

pytestmark = marks.COMPILED


SHAPES = [(letter, tc) for letter in ("h", "b", "hc") for tc in ("16x16x16", "32x8x16", "8x32x16", "16x8x16")]
SHAPES += [(letter, tc) for letter in "dz" for tc in ("8x8x4", "16x8x4", "16x8x8", "16x8x16")]


FEW = (
    Rule("few-threads", "soft", "four warps at most", lambda dim_x, dim_y: dim_x * dim_y <= 128),
    Rule("small-tile", "soft", "1,024 elements at most", lambda blk_m, blk_n: blk_m * blk_n <= 1024),
    Rule("short-tile", "soft", "no long k-tile", lambda blk_k: blk_k <= 32),
)
"""What leaves few instructions to be run, as rules: a space is then small before it is drawn from."""


def modest(p: Problem, device: Device, seed: int, **fixed: Any) -> Config:
    """A config of at most four warps, two if it can be, and the smallest tile."""
    space = STENCILS["tensor"].space(p, device).only((*HARDWARE, "hard"))
    space = Space(space.params, (*FEW, *space.rules), elementwise=True)
    found = space.restricted(blocks=device["sms"], **fixed).sample(500, seed)
    assert found, (p.key, fixed)
    return min(
        found,
        key=lambda config: (
            config["blk_m"] * config["blk_n"] * config["blk_k"]
            + 100 * (config["dim_x"] * config["dim_y"] < 64)
        ),
    )


# The other real type of 16 bits with half of its shapes: it differs in the instruction alone.
@pytest.mark.parametrize(("letter", "tc"), [shape for shape in SHAPES if shape not in SHAPES[4:8:2]])
def test_tensor_multiplies(letter: str, tc: str) -> None:
    """Each type with all shapes of its products and all transpositions, and other pairs of them than the
    next type has."""
    number = SHAPES.index((letter, tc))
    at = (number + number // 4) % 4
    trans = (("nn", "nt", "tt", "tn") if letter in "hbd" else ("jc", "nt", "jj", "cn"))[at]
    p = problem(
        f"{letter}:{trans}:19x21x23@3", (1, 2, 3), (0, 2, 4), alpha="any", beta=("any", "0", "1", "any")[at]
    )
    config = modest(p, H200, at, tc=tc)
    # Three blocks for all tiles of all matrices, so that each goes from one to others.
    assert found_wrong("tensor", [(p, config)], grid_x=3) == []


@pytest.mark.parametrize(
    ("letter", "tc", "beta", "columns"),
    [("h", "16x16x16", "0", 32), ("b", "16x8x16", "1", 32), ("h", "16x8x16", "0", 64)],
)
def test_tensor_stages_columns_after_columns(letter: str, tc: str, beta: str, columns: int) -> None:
    """A warp with more columns of C than it stages together, so that those before have to be read first, and
    whole vectors beside single rows."""
    p = problem(f"{letter}:nn:19x{columns + 3}x16", (1, 2, 5), beta=beta)
    fixed = {"blk_m": 16, "blk_n": columns, "warps_m": 1, "group": 1, "split": "none"}
    found = [c for c in allowed("tensor", p, H200, 500, 0, tc=tc, **fixed) if c["dim_x"] * c["dim_y"] == 32]
    config = min(found, key=lambda c: (c["blk_k"], -c["vec_c"]))
    assert found_wrong("tensor", [(p, config)]) == []


@pytest.mark.parametrize(("size", "vec_c"), [("51x19x16", 1), ("50x18x16", 2)])
def test_tensor_adds_narrow_vectors_in_turns(size: str, vec_c: int) -> None:
    """48 rows of a warp, vectors at other rows in each column, inside of C and across its borders."""
    p = problem(f"h:nn:{size}", (2, 4, 2 * vec_c), beta="1")
    fixed = {"blk_m": 48, "blk_n": 16, "warps_m": 1, "group": 1, "early_c": 0, "vec_c": vec_c}
    found = allowed("tensor", p, H200, 500, 0, tc="16x8x16", split="none", **fixed)
    config = min(found, key=lambda c: (c["dim_x"] * c["dim_y"], c["blk_k"]))
    assert found_wrong("tensor", [(p, config)]) == []


@pytest.mark.parametrize(
    ("letter", "trans", "beta", "early_c"),
    [("h", "nn", "any", 0), ("b", "tn", "0", 0), ("hc", "cj", "any", 1)],
)
def test_warp_groups_multiply(letter: str, trans: str, beta: str, early_c: int) -> None:
    p = problem(f"{letter}:{trans}:70x31x72@2", (2, 0, 2), alpha="any", beta=beta)
    wide = 16 // p.dtype.itemsize
    p = p.with_(lda=96, ldb=96, stride_a=96 * 80, stride_b=96 * 80)
    config = STENCILS["tensor"].default(p, H200).with_(
        tc="64x8x16", split="registers" if letter == "hc" else "none", stages=3, ahead=0, early_c=early_c,
        vec=wide, vec_c=2, blk_k=8 * wide, blk_m=64, blk_n=32, dim_x=8, dim_y=16, group=1, warps_m=4,
        blocks=H200["sms"],
    )  # fmt: skip
    assert not any(rule.kind in (*HARDWARE, "hard") for rule in STENCILS["tensor"].space(p, H200).why(config))
    assert found_wrong("tensor", [(p, config)]) == []
