"""A contraction in words: the path, each stack of products, and what is copied for it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tilewright.contract.einsum import planned
from tilewright.contract.pair import Pair
from tilewright.contract.program import Chain, Product, Single, Step, Times
from tilewright.errors import ArgumentError


def explain_contraction(equation: str, operands: Sequence[Any], **options: Any) -> str:
    """The steps of an equation for some operands, a line each.

    Raises as ``einsum`` does, ``ArgumentError`` for an option that it has not.
    """
    unknown = set(options) - {"optimize"}
    if unknown:
        raise ArgumentError(f"{unknown.pop()} goes with no equation; accepted: optimize")
    program = planned(equation, operands, options.get("optimize", "auto"))
    names = ["".join(term) for term in program.equation.terms]
    lines = [program.equation.text]
    for step in program.steps:
        lines.append(f"  {_told(step, names)}")
        if not isinstance(step, Single):
            made = _labels(step)
            names = [name for at, name in enumerate(names) if at not in step.places] + [made]
    lines.append(f"  {program.copies:,} elements are copied" if program.copies else "  nothing is copied")
    return "\n".join(lines)


def _labels(step: Product | Chain | Times) -> str:
    """The labels of what a step makes, as they lie in memory."""
    if isinstance(step, Times):
        return "".join(step.labels)
    return "".join((step if isinstance(step, Chain) else step.pair).made.labels)


def _told(step: Step, names: Sequence[str]) -> str:
    """One step."""
    if isinstance(step, Single):
        done = [
            *(["copied"] if step.packed else []),
            *(["its diagonal"] if step.diagonal is not None else []),
            *(["summed"] if step.summed else []),
        ]
        return f"{names[step.number]}: {', '.join(done) or 'axes of one element dropped'}"
    text = f"{','.join(names[at] for at in step.places)}->{_labels(step)}: "
    if isinstance(step, Times):
        return text + "element by element"
    if isinstance(step, Chain):
        (first, *_), count = step.views, math.prod(step.out.shape[:-2])
        sizes = "x".join(str(extent) for extent in (first.shape[-2], *(x.shape[-1] for x in step.views)))
        return f"{text}{count} chains of {sizes} in one kernel"
    return text + _product(step.pair)


def _product(pair: Pair) -> str:
    """A stack of products."""
    count, rows, columns = math.prod(pair.out.shape[:-2]), *pair.out.shape[-2:]
    kinds = {"m": pair.m, "n": pair.n, "k": pair.k, "stack": pair.batch}
    said = ", ".join(f"{name} = {''.join(labels)}" for name, labels in kinds.items() if labels)
    copied = [name for name, operand in (("a", pair.a), ("b", pair.b)) if operand.copied]
    apart = f"; {' and '.join(copied)} copied first" if copied else ""
    return f"{count} of {rows}x{columns}x{pair.a.shape[-1]} ({said}){apart}"
