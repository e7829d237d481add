"""Products along a long k on the interpreter of PTX: slabs, vectors, and warps that share k."""

from __future__ import annotations

from typing import Any

import pytest

from tests import marks
from tests.emulator.cases import H200, allowed, found_wrong, problem

pytestmark = marks.COMPILED


@pytest.mark.parametrize(
    ("text", "layout", "fixed"),
    [
        # Slabs as streams that begin anywhere in a word, and rows and columns along k that do.
        ("s:nt:5x6x70@3", "dense", {"path": "bulk"}),
        ("c:ct:3x6x67@2", "padded", {"path": "bulk"}),
        ("s:tn:6x5x71@2", "padded", {"path": "async"}),
        ("hc:cn:7x9x81@1", "padded", {"path": "async", "mma": 16}),
        # Vectors, in tiles of which the last is not whole.
        ("d:tn:70x1x67@1", "dense", {"path": "bulk", "tile": 32}),
        ("z:1x67x66@1", "padded", {"path": "async", "tile": 32}),
        # A matrix times a few vectors, by tensor cores.
        ("h:tn:70x5x67@1", "dense", {"path": "bulk", "tile": 32, "mma": 16, "warps": 2}),
        # Tensor cores, and warps that share k, in one block and in several.
        ("h:nn:20x11x77@1", "dense", {"path": "bulk", "mma": 16, "warps": 2}),
        ("d:nt:9x7x66@1", "shared", {"path": "bulk", "mma": 8, "warps": 2}),
        ("z:nj:5x4x65@1", "dense", {"path": "async", "mma": 16, "warps": 2}),
        # Blocks that share a tile: of one cluster, and of several clusters, of which some have no k.
        ("b:nn:6x6x70@2", "shared", {"path": "bulk", "split": 2, "spread": 3}),
        ("c:tn:3x5x99@1", "padded", {"path": "async", "spread": 8}),
        # Operands that go back in memory.
        ("s:tn:5x6x71@3", "back", {"path": "bulk"}),
        ("h:nn:5x6x70@3", "back", {"path": "async"}),
    ],
)
def test_inner_multiplies(text: str, layout: str, fixed: dict[str, Any]) -> None:
    p = problem(text, (1, 0, 1), (0, 0, 2), beta="0") if layout == "padded" else problem(text, beta="any")
    p = p.with_(stride_a=0) if layout == "shared" else p
    if layout == "back":
        p = p.with_(stride_a=-(p.stride_a or 0), stride_b=-(p.stride_b or 0) - 3)
    few = {"mma": 0, "warps": 1, "stages": 2, "blocks": 132, "depth": 16, "split": 1, "spread": 1} | fixed
    found = allowed("inner", p, H200, 60, 1, **few)
    config = min(found, key=lambda c: abs(c["rows"] * c["columns"] - 8 * max(1, c["mma"])))
    assert found_wrong("inner", [(p, config)]) == []
