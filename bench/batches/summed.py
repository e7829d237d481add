"""Lines of results in short: a few sentences."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from bench.batches.names import name_of, order_of, type_of
from bench.lines import Line

GOALS = {"0": 0.95, "1": 0.97}
"""The share of a copy that is aimed at, by the class of beta: a copy writes half of what it moves, a product
without C a third, an update a quarter."""


def summary(found: Sequence[Line]) -> list[str]:
    """A few sentences for each kind of line, type and class of beta. Of a point that was measured again the
    last line counts."""
    newest = {
        (line["kind"], type_of(line), line["beta"], name_of(line)): line
        for line in found
        if "problem" in line
    }
    groups: dict[tuple[str, str, str], list[Line]] = {}
    for (kind, letter, beta, _), line in newest.items():
        groups.setdefault((kind, letter, beta), []).append(line)
    told = []
    for (kind, letter, beta), group in groups.items():
        if kind == "crossover":
            told.append(f"{letter} beta {beta}: {_crossing(group)}")
        elif kind in ("squares", "batches"):
            told.append(f"{letter} beta {beta}: {_squares(group, beta)}")
        elif kind != "calls" and kind != "tries":
            told.append(f"{kind} {letter} beta {beta}: {_ratios(group)}; {_behind(group)}{_bounds(group)}")
    return told


def _squares(group: Sequence[Line], beta: str) -> str:
    right = [line for line in group if line.get("of_copy")]
    if not right:
        return "nothing was measured"
    goal = GOALS.get(beta, min(GOALS.values()))
    reached = sum(line["of_copy"] >= goal for line in right)
    least = min(right, key=lambda line: line["of_copy"])
    middle = [line for line in right if 2 <= order_of(line) <= 16]
    return (
        f"{reached} of {len(group)} points at {goal:.0%} of a copy or more, "
        f"least {100 * least['of_copy']:.1f} % at n={order_of(least)}; "
        f"n=2..16: {_ratios(middle)}; all: {_behind(right)}"
    )


def _ratios(group: Sequence[Line]) -> str:
    ratios = [line["against_cublas"] for line in group if line.get("against_cublas")]
    if not ratios:
        return "no peer"
    mean = statistics.geometric_mean(ratios)
    return f"{mean:.2f} x peer (geometric mean of {len(ratios)}), least {min(ratios):.3f}"


def _behind(group: Sequence[Line]) -> str:
    slow = sorted((line["against_cublas"], name_of(line)) for line in group if line.get("against_cublas"))
    slow = [(ratio, name) for ratio, name in slow if ratio < 1]
    return f"behind at {len(slow)}" + ("" if not slow else ": " + ", ".join(f"{n} {r:.3f}" for r, n in slow))


def _bounds(group: Sequence[Line]) -> str:
    shares = sorted(line["of_bound"] for line in group if line.get("of_bound"))
    if not shares:
        return ""
    reached = [sum(share >= goal for share in shares) for goal in (0.9, 0.75)]
    return (
        f"; of the bound {100 * statistics.median(shares):.0f} % in the median, {100 * shares[0]:.0f} % at "
        f"least, {reached[0]} of {len(shares)} at 90 %, {reached[1]} at 75 %"
    )


def _crossing(group: Sequence[Line]) -> str:
    known = sorted((order_of(line), line["tensor_over_fma"]) for line in group if line["tensor_over_fma"])
    wins = [n for n, ratio in known if ratio > 1]
    losses = [n for n, ratio in known if ratio <= 1]
    if not wins:
        return f"tensor cores win at none of {len(known)} sizes"
    always = [n for n in wins if n > max(losses, default=0)]
    since = f"at every size from n={always[0]} on" if always else "not at the largest size"
    return f"tensor cores win first at n={wins[0]}, {since}"
