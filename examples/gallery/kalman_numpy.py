"""Tracking by Kalman filters in NumPy: simdkalman as it is, and with its products by Tilewright.

`simdkalman <https://github.com/oseiskar/simdkalman>`_ filters many tracks at once; every product it makes
goes through two functions of its module ``primitives``, and two lines replace them.
"""

import sys

import numpy as np
from tracks import JITTER, MOVES, NOISE, SEES, measured
from turns import Comparison, options, show

import tilewright as tw

try:
    import simdkalman
except ImportError:
    print("needs simdkalman (pip install simdkalman); it is not here.")
    sys.exit()


def by_numpy(data):
    """simdkalman's own loop over the steps: means and covariances of the states after each."""
    filters = simdkalman.KalmanFilter(MOVES, JITTER, SEES, NOISE)
    found = filters.compute(
        data, 0, initial_value=np.zeros(4), initial_covariance=np.eye(4), filtered=True, smoothed=False
    )
    return found.filtered.states.mean, found.filtered.states.cov


def with_products(data):
    """The same with the two functions in which simdkalman multiplies replaced."""
    of_module = simdkalman.primitives
    before = of_module.ddot, of_module.ddot_t_right
    of_module.ddot, of_module.ddot_t_right = tw.matmul, lambda a, b: tw.matmul(a, b.mT)
    try:
        return by_numpy(data)
    finally:
        of_module.ddot, of_module.ddot_t_right = before


asked = options(__doc__.splitlines()[0])
tracks, steps = (2000, 4) if asked.small else (100_000, 5)
seen = measured(tracks, steps)
work = f"{tracks} tracks, {steps} steps of 4 states and 2 measured, float64"
ways = {"simdkalman": lambda: by_numpy(seen), "its products by tw.matmul": lambda: with_products(seen)}
show(Comparison("kalman, NumPy", "simdkalman", work, ways, 1e-9).run(asked.rounds), asked.json)
