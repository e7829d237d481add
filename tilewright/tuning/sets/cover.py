"""The smallest set of kernels that serves all problems within a bound of loss.

That is a set cover. It is solved by branch and bound: the problem that fewest kernels serve is taken first,
a kernel that serves no more than another is left out, and a branch ends where even kernels that serve as many
as the best of them could not be fewer than the least found so far. That answer is exact. Where it takes more
than ``LOOKS`` steps the best set so far stands, which began as the greedy one (always the kernel that serves
most of what is left; at most 1 + ln(problems) times the least, V. Chvatal, "A greedy heuristic for the
set-covering problem", Mathematics of Operations Research, 1979), and it is said that it may not be the least.

Among sets of one size the faster one is better: kernels are exchanged one by one for as long as that lessens
the loss of all problems together. Everything follows from the order of kernels alone, so equal tables give
equal sets.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

LOOKS = 20_000
"""Steps of branch and bound after which the best set so far stands."""

Losses = Sequence[Sequence[float]]
"""By kernel and problem: how much longer than the best known kernel this one takes (0.05: 5 %), infinite
where it cannot serve the problem."""


@dataclass(frozen=True, slots=True)
class Cover:
    """Some kernels by their places in the table, and which of them serves each problem; ``exact``: no fewer
    would do."""

    kernels: tuple[int, ...]
    serving: tuple[int, ...]
    worst: float
    """The largest loss of a problem."""
    mean: float
    """The geometric mean of all times over the best, less 1."""
    exact: bool


def cover(losses: Losses, within: float) -> Cover:
    """The fewest kernels of which one serves each problem with a loss of at most ``within``.

    Raises ``ValueError`` where some problem has no such kernel.
    """
    problems = len(losses[0]) if losses else 0
    masks = [sum(1 << p for p, loss in enumerate(row) if loss <= within) for row in losses]
    whole = (1 << problems) - 1
    if _union(masks) != whole:
        raise ValueError(
            f"problems without a kernel within {within:g}: {problems - _union(masks).bit_count()}"
        )
    chosen, exact = _fewest(_maximal(masks, losses), whole)
    return _served(losses, _polished(losses, masks, chosen, whole), exact)


def curve(losses: Losses) -> list[Cover]:
    """For each number of kernels, from the fewest that serve all problems at all to one for each problem's
    best, the set whose largest loss is least; numbers that gain nothing over fewer are left out."""
    steps = sorted({loss for row in losses for loss in row if math.isfinite(loss)})
    found: dict[int, Cover] = {}

    def at(step: int) -> Cover:
        if step not in found:
            found[step] = cover(losses, steps[step])
        return found[step]

    # From this step on every problem has a kernel.
    least = max((min(column) for column in zip(*losses, strict=True)), default=0.0)
    first, last = bisect_left(steps, least), len(steps) - 1
    points: list[Cover] = []
    while first <= last:
        # The least loss that as few kernels as the largest one allows can reach.
        size, low, high = len(at(last).kernels), first, last
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if len(at(middle).kernels) <= size else (middle + 1, high)
        points.append(at(low))
        last = low - 1
    return points


def _union(masks: Sequence[int]) -> int:
    found = 0
    for mask in masks:
        found |= mask
    return found


def _maximal(masks: Sequence[int], losses: Losses) -> dict[int, int]:
    """Kernels with what each serves, without those that serve no more than another; of equals the fastest."""

    def total(kernel: int) -> float:
        return sum(loss for p, loss in enumerate(losses[kernel]) if masks[kernel] >> p & 1)

    order = sorted(range(len(masks)), key=lambda kernel: (-masks[kernel].bit_count(), total(kernel), kernel))
    kept: dict[int, int] = {}
    for kernel in order:
        if masks[kernel] and not any(masks[kernel] | other == other for other in kept.values()):
            kept[kernel] = masks[kernel]
    return kept


def _greedy(masks: dict[int, int], whole: int) -> list[int]:
    """Always the kernel that serves most of what is left, and then without those that are not needed."""
    chosen: list[int] = []
    left = whole
    while left:
        best = max(masks, key=lambda kernel: (masks[kernel] & left).bit_count())
        chosen.append(best)
        left &= ~masks[best]
    for kernel in list(chosen):
        if _union([masks[other] for other in chosen if other != kernel]) == whole:
            chosen.remove(kernel)
    return chosen


def _fewest(masks: dict[int, int], whole: int) -> tuple[list[int], bool]:
    """The least set of kernels, and whether it is sure that there is no smaller one."""
    best, looks = _greedy(masks, whole), 0
    takers = [[k for k, mask in masks.items() if mask >> p & 1] for p in range(whole.bit_length())]

    def search(left: int, chosen: list[int]) -> None:
        nonlocal best, looks
        looks += 1
        if not left:
            best = list(chosen)
            return
        most = max((mask & left).bit_count() for mask in masks.values())
        if looks > LOOKS or len(chosen) + math.ceil(left.bit_count() / most) >= len(best):
            return
        # Who has the fewest to choose from.
        rarest = min((p for p in range(len(takers)) if left >> p & 1), key=lambda p: (len(takers[p]), p))
        for kernel in sorted(takers[rarest], key=lambda k: (-(masks[k] & left).bit_count(), k)):
            search(left & ~masks[kernel], [*chosen, kernel])

    search(whole, [])
    return sorted(best), looks <= LOOKS


def _polished(losses: Losses, masks: Sequence[int], chosen: list[int], whole: int) -> list[int]:
    """As many kernels that serve all problems as well, exchanged for as long as the sum of losses falls."""

    def total(kernels: Sequence[int]) -> float:
        return sum(min(math.log1p(losses[k][p]) for k in kernels) for p in range(len(losses[0])))

    best, improved = total(chosen), True
    while improved:
        improved = False
        for place in range(len(chosen)):
            rest = chosen[:place] + chosen[place + 1 :]
            needed = whole & ~_union([masks[k] for k in rest])
            for kernel in range(len(masks)):
                if kernel in chosen or masks[kernel] & needed != needed:
                    continue
                tried = total([*rest, kernel])
                if tried < best - 1e-12:
                    best, chosen, improved = tried, sorted([*rest, kernel]), True
                    break
    return chosen


def _served(losses: Losses, chosen: Sequence[int], exact: bool) -> Cover:
    serving = tuple(min(chosen, key=lambda k: (losses[k][p], k)) for p in range(len(losses[0])))
    taken = [losses[kernel][p] for p, kernel in enumerate(serving)]
    used = tuple(kernel for kernel in chosen if kernel in serving)
    mean = math.exp(sum(map(math.log1p, taken)) / len(taken)) - 1
    return Cover(used, serving, max(taken), mean, exact)
