"""Two sets of records beside each other, problem by problem: what became slower, worst first.

For each problem and regime that both have, the fastest right kernel of the one is set against that of the
other by the seconds of one product. It is a *regression* if the second is slower by more than the threshold
and the 95 % intervals of the two medians lie apart; where they do not, or where one was timed alone and the
other in a final round, it is *unsure* and fails nobody. An interval says how well one run knows its median
and not how much runs differ, so a threshold below the noise between runs finds noise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tilewright.cli.report.solved import by_problem, fastest, gflops, label_of, per_product, type_of
from tilewright.cli.report.sources import Source
from tilewright.errors import ArgumentError
from tilewright.model import VENDOR, Record
from tilewright.tuning.timing import INTERLEAVED

Row = dict[str, Any]

THRESHOLD = 3.0
"""Percent by which a problem has to be slower to be a regression."""


def compared(before: Source, after: Source, threshold: float = THRESHOLD) -> Row:
    """Every problem of both sources, slowest against before first, with counts of what became of them.

    ``ratio`` is the speed after over the speed before. ``vendor_ratio`` is the same of the vendor's library
    where both have it: where that fell too, it was the machine. Raises ``ArgumentError`` for a threshold
    that is not a percentage of 0 or more, and where no problem is in both.
    """
    if not (math.isfinite(threshold) and threshold >= 0):
        raise ArgumentError(f"threshold={threshold:g}; accepted: percent, 0 or more")
    old, new = _winners(before.rows), _winners(after.rows)
    names = sorted(old.keys() & new.keys())
    if not names:
        raise ArgumentError(
            f"compare: no problem is solved in both {before.label!r} ({len(old)} problems) and "
            f"{after.label!r} ({len(new)} problems); accepted: records that share problems"
        )
    rows = sorted((_row(old[name], new[name], threshold) for name in names), key=lambda row: row["ratio"])
    verdicts = [row["verdict"] for row in rows]
    ratios = [row["ratio"] for row in rows]
    return {
        "before": _described(before),
        "after": _described(after),
        "threshold": threshold,
        "problems": len(rows),
        "counts": {name: verdicts.count(name) for name in ("regression", "unsure", "same", "faster")},
        "geometric_mean": math.exp(sum(map(math.log, ratios)) / len(ratios)),
        "only_before": sorted(key for key, _ in old.keys() - new.keys()),
        "only_after": sorted(key for key, _ in new.keys() - old.keys()),
        "rows": rows,
    }


def _described(source: Source) -> Row:
    """A source in a few words: its records, and what they say of where they were made."""
    return {
        "label": source.label,
        "records": len(source.rows),
        "devices": _distinct([row.device for row in source.rows]),
        "drivers": _distinct([row.driver for row in source.rows]),
        "toolchains": _distinct([row.toolchain for row in source.rows]),
        "last": max((row.when for row in source.rows), default=""),
    }


def _distinct(texts: Sequence[str]) -> list[str]:
    return sorted({text for text in texts if text})


Winners = dict[tuple[str, str], tuple[Record, Record | None]]


def _winners(rows: Sequence[Record]) -> Winners:
    """The fastest kernel and the newest figure of the vendor's, by problem and regime."""
    found: Winners = {}
    for name, own in by_problem(rows).items():
        best = fastest(row for row in own if row.stencil != VENDOR)
        vendor = next((row for row in reversed(own) if row.stencil == VENDOR and per_product(row)), None)
        if best is not None:
            found[name] = best, vendor
    return found


def _row(old: tuple[Record, Record | None], new: tuple[Record, Record | None], threshold: float) -> Row:
    (before, vendor_before), (after, vendor_after) = old, new
    first, second = gflops(before), gflops(after)
    assert first is not None
    assert second is not None
    vendors = gflops(vendor_before), gflops(vendor_after)
    problem = before.problem
    return {
        "problem": problem.key,
        "label": label_of(problem),
        "type": type_of(problem),
        "regime": before.regime,
        "before_gflops": first,
        "after_gflops": second,
        "ratio": second / first,
        "vendor_ratio": vendors[1] / vendors[0] if vendors[0] and vendors[1] else None,
        "verdict": _verdict(before, after, threshold),
        "before": _kernel(before),
        "after": _kernel(after),
    }


def _kernel(record: Record) -> str:
    return " ".join([f"{record.stencil}:", *(f"{name}={value}" for name, value in record.config.items())])


def _verdict(before: Record, after: Record, threshold: float) -> str:
    slower = (per_product(after) or 0.0) / (per_product(before) or math.inf)
    if slower <= 1 + threshold / 100:
        return "faster" if slower < 1 / (1 + threshold / 100) else "same"
    alike = before.protocol == after.protocol or min(before.protocol, after.protocol) >= INTERLEAVED
    return "regression" if alike and _edge(after, "low") > _edge(before, "high") else "unsure"


def _edge(record: Record, name: str) -> float:
    """An end of the interval of a record's median, in seconds of one product."""
    assert record.timing is not None
    return float(getattr(record.timing, name) / record.timing.batch)
