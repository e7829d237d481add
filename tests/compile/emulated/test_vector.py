"""Matrices times vectors on the interpreter of PTX: runs along the sum and across it, wherever they begin."""

from __future__ import annotations

from typing import Any

import pytest

from tests import marks
from tests.emulator.cases import H200, allowed, found_wrong, problem

pytestmark = marks.COMPILED


@pytest.mark.parametrize(
    ("text", "layout", "fixed"),
    [
        # Runs along the sum: whole words, an end inside of one, and such that begin anywhere.
        ("s:tn:9x1x16@2", "dense", {"lanes": 2, "runs": 2, "words": 1, "turns": 2}),
        ("d:tn:5x1x22@3", "dense", {"lanes": 4, "runs": 2, "words": 4, "turns": 1}),
        ("d:tn:70x1x67@1", "dense", {"lanes": 8, "runs": 2, "words": 2, "turns": 1}),
        ("h:tn:21x1x75@2", "padded", {"lanes": 4, "runs": 2, "words": 2, "turns": 1}),
        ("c:1x13x21@3", "dense", {"lanes": 4, "runs": 1, "words": 1, "turns": 2}),
        ("b:1x33x40@2", "shared", {"lanes": 4, "runs": 4, "words": 1, "turns": 1}),
        ("z:cn:5x1x9@3", "padded", {"lanes": 4, "runs": 2, "words": 1, "turns": 1}),
        # Across it: tiles of which the last is not whole, and k that ends before the teams do.
        ("s:nn:70x1x9@2", "dense", {"lanes": 4, "runs": 2, "words": 2}),
        ("h:nn:133x1x11@2", "dense", {"lanes": 8, "runs": 2, "words": 1}),
        ("hc:nt:19x1x23@1", "padded", {"lanes": 2, "runs": 4, "words": 2}),
        ("d:nt:1x37x6@3", "dense", {"lanes": 4, "runs": 1, "words": 4}),
        ("z:nj:6x1x5@2", "shared", {"lanes": 2, "runs": 2, "words": 1}),
        # Operands that go back in memory.
        ("s:tn:5x1x71@3", "back", {"lanes": 8, "runs": 1, "words": 1, "turns": 1}),
        ("h:nn:35x1x7@3", "back", {"lanes": 4, "runs": 1, "words": 1}),
    ],
)
def test_vector_multiplies(text: str, layout: str, fixed: dict[str, Any]) -> None:
    p = problem(text, (1, 0, 1), (0, 0, 2), beta="0") if layout == "padded" else problem(text, beta="any")
    p = p.with_(**{"stride_b" if p.m == 1 else "stride_a": 0}) if layout == "shared" else p
    if layout == "back":
        p = p.with_(stride_a=-(p.stride_a or 0), stride_b=-(p.stride_b or 0) - 3)
    found = allowed("vector", p, H200, 60, 1, **({"turns": 1} | fixed))
    config = min(found, key=lambda c: c["warps"])
    assert found_wrong("vector", [(p, config)]) == []
