"""What the gains at some points foretell at another one.

The mean of the logarithms of the gains at the nearest points, near ones weighing more (E. Nadaraya (1964) and
G. Watson (1964)), less some of their spread, less something for each step to the nearest; or the least of
these gains, less something for each step, where that is more: where all around gain there is no doubt,
however much they gain.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

NEAREST = 9
"""Points that are asked."""
ALIKE = 1.15
"""Logarithm of the gain above which gains count as equal: whether it is 5 or 50 is no doubt of winning."""


@dataclass(frozen=True, slots=True)
class Doubts:
    """How far a point's word goes, and what is taken off of what it says.

    ``reach``: the distance at which a point weighs 1/e. ``spread``: of the spread of the gains. ``unknown``:
    of their mean for each step to the nearest point; ``farther``: of the least of them.
    """

    reach: float
    spread: float
    unknown: float
    farther: float


class Forecast:
    """Points, given by their coordinates, with the gain at each: the library's time over ours."""

    def __init__(self, places: Iterable[Sequence[float]], gains: Iterable[float], doubts: Doubts):
        self._places = np.array(list(places))
        self._gains: NDArray[np.float64] = np.log(list(gains))
        self._doubts = doubts

    def at(self, place: Sequence[float]) -> tuple[float, float]:
        """The gain that may be counted on, and the gain to be expected."""
        doubts = self._doubts
        away = np.sqrt(((self._places - place) ** 2).sum(1))
        near = np.argsort(away, kind="stable")[:NEAREST]
        # All may be far away, but the nearest ones say most then, too.
        weights = np.exp(-((away[near] / doubts.reach) ** 2)) + 1e-6
        weights /= weights.sum()
        gains = self._gains[near]
        alike = np.minimum(gains, ALIKE)
        mean = float(weights @ alike)
        spread = math.sqrt(float(weights @ (alike - mean) ** 2))
        step = float(away[near[0]])
        sure = mean - doubts.spread * spread - doubts.unknown * step
        return (
            math.exp(max(sure, float(alike.min()) - doubts.farther * step)),
            math.exp(float(weights @ gains)),
        )
