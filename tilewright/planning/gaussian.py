"""Gaussian processes over points: a mean and how sure it is.

C. Rasmussen and C. Williams, "Gaussian Processes for Machine Learning" (2006), algorithm 2.1: a kernel over
coordinates in which a distance of one is that at which points have little more to say of each other, noise of
their own, and far from all points a mean that is given and the spread of the process. Few points are asked
all, by a squared exponential kernel; of many the nearest.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

ASKED = 48
"""Points near a place that are asked. With 96, or all of two thousand, as many are foretold rightly."""


class Process:
    """Values at places, and what they say of others.

    ``most``: far from all of them their mean is expected, or this, if it is less. ``spread``: the standard
    deviation of the process; ``noise``: that of a value beside it.
    """

    def __init__(
        self,
        places: Iterable[Sequence[float]],
        values: Iterable[float],
        most: float,
        spread: float,
        noise: float,
    ):
        self._places: NDArray[np.float64] = np.array(list(places), np.float64)
        found: NDArray[np.float64] = np.array(list(values), np.float64)
        self._mean, self._spread, self._noise = min(float(found.mean()), most), spread, noise
        apart = ((self._places[:, None] - self._places) ** 2).sum(-1)
        root = np.linalg.cholesky(spread**2 * np.exp(-apart / 2) + noise**2 * np.eye(len(found)))
        self._inverse = np.linalg.inv(root)
        self._weights = self._inverse.T @ (self._inverse @ (found - self._mean))

    def at(self, place: Sequence[float]) -> tuple[float, float]:
        """The mean of a new value at a place, and its standard deviation."""
        apart = ((self._places - np.array(place)) ** 2).sum(1)
        near = self._spread**2 * np.exp(-apart / 2)
        known = float(((self._inverse @ near) ** 2).sum())
        left = self._spread**2 + self._noise**2 - known
        return self._mean + float(near @ self._weights), math.sqrt(max(left, 0.0))


class Nearest:
    """Places with values, and what these say of others. The nearest alone are asked, so that nothing is
    solved for before the first question, and little for each. The kernel is Matern's of 3/2: squared
    exponentials are smoother than what is quick at one size and slow at the next.

    ``deviations``: of the process, whose mean is zero, and of a value beside it.
    """

    def __init__(
        self,
        places: NDArray[np.float64],
        values: NDArray[np.float64],
        deviations: tuple[float, float],
    ):
        self._places, self._squares, self._values = places, (places**2).sum(1), values
        self._spread, self._noise = (deviation**2 for deviation in deviations)

    def at(self, place: NDArray[np.float64], others: NDArray[np.float64]) -> tuple[float, float, float]:
        """The mean of a new value at a place, its standard deviation, and the mean of other values, one for
        each of the places, by the same weights."""
        apart = self._squares + place @ place - 2 * (self._places @ place)
        near = np.argpartition(apart, ASKED)[:ASKED] if len(apart) > ASKED else np.arange(len(apart))
        places, squares, values = self._places[near], self._squares[near], self._values[near]
        known = self._spread * matern(apart[near])
        among = self._spread * matern(squares[:, None] + squares - 2 * places @ places.T)
        among.flat[:: len(near) + 1] += self._noise
        weights, errors = np.linalg.solve(among, np.stack([known, values], 1)).T
        left = max(self._spread + self._noise - float(weights @ known), 0.0)
        # Where values contradict each other they are noisier there than the noise of all.
        alike = known**2
        left += float(alike @ (self._noise * errors) ** 2 / max(alike.sum(), 1e-300))
        return float(weights @ values), math.sqrt(left), float(weights @ others[near])


def matern(squares: NDArray[np.float64]) -> NDArray[np.float64]:
    """The kernel of Matern of 3/2 at squares of distances, which may be a little below zero."""
    away: NDArray[np.float64] = np.sqrt(np.maximum(squares, 0.0) * 3)
    return (1 + away) * np.exp(-away)
