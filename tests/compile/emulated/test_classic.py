"""The universal stencil on the interpreter of PTX: indices, edges, conjugates, scalars and what it shares."""

from __future__ import annotations

from typing import Any

import pytest

from tests import marks
from tests.emulator.cases import H200, allowed, problem
from tests.emulator.machine import SCHEDULES
from tests.emulator.products import wrongs
from tilewright.catalog import STENCILS
from tilewright.model import Problem

pytestmark = marks.COMPILED


SMALL = {"n_dim": 8, "m_dim": 8, "n_blk": 16, "m_blk": 16, "k_blk": 8, "min_blocks": 1, "split": 1}
"""Tiles of 16 x 16 by 64 threads: two warps, so that barriers matter."""
TRANS = ["nn", "nt", "tn", "tt"]


@pytest.mark.parametrize("trans", TRANS)
@pytest.mark.parametrize("letter", "sdcz")
def test_classic_multiplies(letter: str, trans: str) -> None:
    number, at = "sdcz".index(letter), TRANS.index(trans)
    if letter in "cz":
        trans = trans.replace("t", "c") if letter == "c" else trans.replace("n", "j")
    # Odd sizes and even ones in turns, so that either has each type and each transposition of A and of B.
    if (number + (at in (1, 2))) % 2:
        p = problem(f"{letter}:{trans}:16x20x28", (4, 8, 1), beta="01"[at % 2])
    else:
        p = problem(f"{letter}:{trans}:18x17x21@2", (1, 2, 3), (1, 3, 5), alpha="any", beta="any")
    (config,) = allowed("classic", p, H200, 1, number, read="global", **SMALL)
    schedule = SCHEDULES[(number + at) % 4]
    assert list(wrongs("classic", p, config, H200, schedules=[schedule])) == []


WAYS: list[dict[str, Any]] = [
    {"read": "ldg"},
    {"read": "tex1d"},
    {"read": "tex2d"},
    {"split": 2},
    {"split": 4, "vec": 1},
    {"early": 1},
    {"mma": 1, "lanes": 8, "n_blk": 32},
    {"mma": 1, "lanes": 8, "n_blk": 32, "split": 2},
    {"buffers": 1},
    {"order": 0, "lanes": 4},
    {"order": 2, "lanes": 4},
]


@pytest.mark.parametrize(
    "fixed", WAYS, ids=lambda fixed: "-".join(f"{name}-{value}" for name, value in fixed.items())
)
def test_classic_in_all_its_ways(fixed: dict[str, Any]) -> None:
    turn = WAYS.index(fixed)
    # Textures ask for leading dimensions that are multiples of 32 bytes.
    p = problem(("d:nt:19x35x21", "z:cn:18x17x23")[turn % 2], (1, 1, 3), beta="any", alpha="any")
    (config,) = allowed("classic", p, H200, 1, turn % 2, **SMALL | fixed)
    assert list(wrongs("classic", p, config, H200, schedules=[SCHEDULES[turn % 4]])) == []


def test_classic_takes_its_turns_with_what_it_shares() -> None:
    """Several matrices of a block, by warps that do not wait for each other longer than they must."""
    p = problem("s:nn:16x16x20@3", beta="1")
    for buffers, split in ((1, 1), (2, 1), (1, 2)):
        fixed = SMALL | {"buffers": buffers, "split": split, "read": "global", "mma": 0}
        (config,) = allowed("classic", p, H200, 1, 0, **fixed)
        assert list(wrongs("classic", p, config, H200, grid_z=1)) == []


@pytest.mark.parametrize("text", ["s:0x0x0", "d:5x1x0", "c:1x33x1"])
def test_classic_at_the_smallest_sizes(text: str) -> None:
    p = Problem.parse(text, beta="any", alpha="any")[0]
    if STENCILS["classic"].accepts(p, H200) is None:
        config = allowed("classic", p, H200, 1, 0, read="global", **SMALL)[0]
        assert list(wrongs("classic", p, config, H200)) == []
