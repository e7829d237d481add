"""Lines in short: how near defaults and what is proposed come to the best, by type and stencil."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from rich.table import Table

from bench import lines
from bench.models.draws import FIRST
from tilewright.errors import TilewrightError
from tilewright.model import Device, Problem
from tilewright.planning import dispatch

NEAREST = 0.85, 0.97
"""What the default, and the best of those proposed, should reach of the best."""
Judged = Mapping[tuple[str, str], lines.Line]
"""By problem and stencil the last line."""


def newest(found: Iterable[lines.Line]) -> dict[tuple[str, str], lines.Line]:
    """The last line ``models`` of each product and stencil."""
    return {(line["problem"], line["stencil"]): line for line in found if line.get("kind") == "models"}


class Share(NamedTuple):
    """A product's shares of the best: of its default and of the best of those proposed; beside cuBLAS."""

    problem: str
    default: float
    first: float
    gain: float


def shares(judged: Judged, device: Device) -> dict[tuple[str, str], list[Share]]:
    """By type and stencil, beside the best of the stencil itself; and by type alone (``any``) what the
    stencil that a call without the library would run makes of the best of all stencils."""
    found: dict[tuple[str, str], list[Share]] = defaultdict(list)
    best: dict[str, float] = {}
    for (problem, _), line in judged.items():
        best[problem] = min(best.get(problem, math.inf), line["best_us"])
    for (problem, stencil), line in judged.items():
        p = Problem.parse(problem)[0]
        gain = line["cublas_us"] / line["default_us"]
        bests = {stencil: line["best_us"]} | ({"any": best[problem]} if chosen(p, device) == stencil else {})
        for name, of in bests.items():
            share = Share(problem, of / line["default_us"], of / line["first_us"], gain)
            found[p.dtype.letter, name].append(share)
    return dict(sorted(found.items()))


def summary(found: Mapping[tuple[str, str], Sequence[Share]]) -> Table:
    """By type and stencil: geometric means, how many reach what they should, the worst."""
    enough, near = NEAREST
    shown = Table(title="times of the best over those of", title_justify="left")
    for head in (
        "type",
        "stencil",
        "products",
        "default",
        f">= {enough}",
        "least",
        f"best of {FIRST}",
        f">= {near}",
        "least",
        "default over cuBLAS",
    ):
        shown.add_column(head)
    for (letter, stencil), of in found.items():
        cells = [letter, stencil, str(len(of))]
        for values, least in (([s.default for s in of], enough), ([s.first for s in of], near)):
            cells += [
                f"{statistics.geometric_mean(values):.3f}",
                f"{sum(v >= least for v in values)}",
                f"{min(values):.3f}",
            ]
        shown.add_row(*cells, f"{statistics.geometric_mean([s.gain for s in of]):.3f}")
    return shown


def worst(found: Mapping[tuple[str, str], Sequence[Share]], count: int) -> Iterator[str]:
    """The products of each type and stencil whose defaults are farthest from the best."""
    for (letter, stencil), of in found.items():
        if stencil != "any":
            low = sorted(of, key=lambda each: each.default)[:count]
            yield f"{letter} {stencil}: " + ", ".join(
                f"{s.problem} {s.default:.2f} ({s.first:.2f})" for s in low
            )


def show(found: Iterable[lines.Line], device: Device, console: Any) -> None:
    """The summary of lines, and their worst products."""
    of = shares(newest(found), device)
    console.print(summary(of))
    for text in worst(of, 4):
        console.print(text, markup=False, soft_wrap=True)


def chosen(p: Problem, device: Device) -> str | None:
    """The stencil that a call without the library would run; None for none."""
    try:
        return dispatch.plan(p, device, vendor=False).stencil
    except TilewrightError:
        return None
