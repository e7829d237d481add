"""Tracks of points that move in a plane: the model and the measurements of the two Kalman programs."""

import numpy as np

STEP = 0.1
MOVES = np.eye(4) + STEP * np.eye(4, k=2)  # F: places go on by their speeds
SEES = np.eye(2, 4)  # H
JITTER = 0.01 * np.eye(4)  # Q
NOISE = 0.25 * np.eye(2)  # R


def measured(tracks, steps):
    """What is seen of the tracks: (tracks, steps, 2)."""
    rng = np.random.default_rng(0)
    places = rng.standard_normal((tracks, 1, 2)) + STEP * np.arange(steps)[:, None] * rng.standard_normal(
        (tracks, 1, 2)
    )
    return places + 0.5 * rng.standard_normal((tracks, steps, 2))
