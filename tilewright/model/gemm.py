"""What is planned and spelled: products of one size, and lists of products."""

from __future__ import annotations

from typing import Any

from tilewright.model.grouped import GroupedProblem
from tilewright.model.problem import Problem

Gemm = Problem | GroupedProblem
"""What is planned: products of one size, or a list of products of many. Both are tasks (``task.Task``)."""


def parsed(text: str, **fields: Any) -> list[Gemm]:
    """What a spelling names: a list of products (``GroupedProblem.parse``), or problems (``Problem.parse``).

    Raises ``ArgumentError`` when the spelling is not understood.
    """
    if GroupedProblem.spells(text):
        return [GroupedProblem.parse(text, **fields)]
    return list(Problem.parse(text, **fields))
