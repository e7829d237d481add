"""Lists of products, and GPUs for them."""

from __future__ import annotations

from typing import Any

from tilewright.model import (
    GroupedProblem,
)
from tilewright.targets.cuda.capability import named

H200, A100 = named("h200"), named("a100")

MIX = "d:8x8x8@100+16x16x16@50"

RANGES = "s:nn:1..32x1..32x1..32@10000"


def listed(text: str, **fields: Any) -> GroupedProblem:
    return GroupedProblem.parse(text, **fields)
