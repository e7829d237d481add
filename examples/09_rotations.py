"""Operators rotated and back: D X D^H for many rotations D at once, of a shared X, in one pass."""

import numpy as np

import tilewright as tw

COUNT, SPIN = 5_000, 2  # of spin 2 there are 5 x 5 matrices


def rotations(angles: np.ndarray, axes: np.ndarray) -> np.ndarray:
    """exp(-i angle (axis . J)), the Wigner matrices (count, 5, 5), from the generators of spin 2."""
    m = np.arange(SPIN, -SPIN - 1, -1)
    up = np.diag(np.sqrt(SPIN * (SPIN + 1) - m[1:] * (m[1:] + 1)), 1)
    j = np.stack([(up + up.T) / 2, (up - up.T) / 2j, np.diag(m)])
    values, vectors = np.linalg.eigh(np.einsum("ni,iab->nab", axes, j))
    # A diagonal in the middle is no matrix to be multiplied by: columns are scaled.
    return tw.chain(vectors * np.exp(-1j * angles[:, None] * values)[:, None, :], vectors.conj().mT)


rng = np.random.default_rng(0)
axes = rng.standard_normal((COUNT, 3))
axes /= np.linalg.norm(axes, axis=1, keepdims=True)
d = rotations(rng.uniform(0, np.pi, COUNT), axes)
x = rng.standard_normal((5, 5)) + 1j * rng.standard_normal((5, 5))

turned = tw.chain(d, x, d.conj().mT)
print("right:", np.allclose(turned, d @ x @ d.conj().mT))
print("and back:", np.allclose(tw.chain(d.conj().mT, turned, d), x))
# A rotation changes no trace, and adding the operator itself costs no pass of its own.
moved = tw.chain(d, x, d.conj().mT, add=-x)
print("no trace:", np.allclose(np.trace(moved, axis1=-2, axis2=-1), 0))
