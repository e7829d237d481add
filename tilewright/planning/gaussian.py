"""A Gaussian process over few points: a mean and how sure it is.

C. Rasmussen and C. Williams, "Gaussian Processes for Machine Learning" (2006), algorithm 2.1: a squared
exponential kernel over coordinates in which a distance of one is that at which points have little more to say
of each other, noise of their own, and far from all points a mean that is given and the spread of the process.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray


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
