"""Links of a lattice, matrices of SU(3): a rotation and the mean plaquette by opt_einsum, on CuPy or NumPy.

The contractions are those of `PyQUDA <https://github.com/CLQCD/PyQUDA>`_'s gauge fixing, as it writes them
for opt_einsum on CuPy; one argument, ``backend="tilewright"``, is what changes. A rotation changes no
plaquette, which is what the program checks itself by.
"""

import sys
from functools import partial

import numpy as np
from turns import Comparison, options, show

try:
    import opt_einsum
except ImportError:
    print("needs opt_einsum (pip install opt_einsum); it is not here.")
    sys.exit()
try:
    import cupy
except ImportError:
    cupy = None

AXES = {"x": 3, "y": 2, "z": 1, "t": 0}
"""Axes of a lattice (t, z, y, x)."""


def unitary(xp, rng, *shape):
    """Random matrices of SU(3): rows made orthogonal one after the other, the third from the first two."""

    def row():
        return xp.asarray(rng.standard_normal((*shape, 3)) + 1j * rng.standard_normal((*shape, 3)))

    def unit(x):
        return x / xp.sqrt((abs(x) ** 2).sum(-1, keepdims=True))

    one = unit(row())
    two = row()
    two = unit(two - (one.conj() * two).sum(-1, keepdims=True) * one)
    three = [one[..., i - 2] * two[..., i - 1] - one[..., i - 1] * two[..., i - 2] for i in range(3)]
    return xp.stack([one, two, xp.stack(three, -1).conj()], -2)


def rotated(xp, contract, links, rotation):
    """g(x)^H U_d(x) g(x + d) for the links (d, t, z, y, x, 3, 3) of all four directions."""
    turned = contract("tzyxba,dtzyxbc->dtzyxac", rotation.conj(), links)
    ahead = xp.stack([xp.roll(rotation, -1, axis) for axis in AXES.values()])
    return contract("dtzyxab,dtzyxbc->dtzyxac", turned, ahead)


def plaquette(xp, contract, links):
    """The mean of Re tr U_i(x) U_j(x + i) U_i(x + j)^H U_j(x)^H / 3 over sites and planes."""
    total = 0.0
    for i, first in enumerate(AXES.values()):
        for j, second in list(enumerate(AXES.values()))[:i]:
            there = contract("tzyxab,tzyxbc->tzyxac", links[i], xp.roll(links[j], -1, first))
            back = contract("tzyxab,tzyxbc->tzyxac", links[j], xp.roll(links[i], -1, second))
            total += float(xp.vdot(back, there).real)
    return total / 3 / 6 / (links[0].size / 9)


def program(xp, contract, links, rotation):
    """Plaquettes before and after a rotation, as an array of two, and the rotated links."""
    before = plaquette(xp, contract, links)
    links = rotated(xp, contract, links, rotation)
    after = plaquette(xp, contract, links)
    assert abs(after - before) <= 1e-12, "a rotation changed a plaquette"
    return np.array([before, after]), links


asked = options(__doc__.splitlines()[0])
gpu = cupy is not None and not asked.cpu
xp = cupy if gpu else np
lattice = (8, 4, 4, 4) if asked.small else (72, 24, 24, 24) if gpu else (16, 12, 12, 12)
wait = cupy.cuda.Device().synchronize if gpu else lambda: None
rng = (cupy if gpu else np).random.default_rng(0)
links, rotation = unitary(xp, rng, 4, *lattice), unitary(xp, rng, *lattice)
library = "CuPy" if gpu else "NumPy"

plain = opt_einsum.contract
ours = partial(opt_einsum.contract, backend="tilewright")  # the one changed line
work = f"a lattice of {' x '.join(map(str, lattice))}, complex128"
ways = {
    f"opt_einsum on {library}": lambda: program(xp, plain, links, rotation),
    'backend="tilewright"': lambda: program(xp, ours, links, rotation),
}
show(Comparison("links", "rotation and plaquettes", work, ways, 1e-12, wait).run(asked.rounds), asked.json)

flat = links.reshape(-1, 3, 3)
other = xp.roll(flat, 1, 0)
half, into = xp.empty((3, flat.size // 2), flat.dtype), xp.empty((3, flat.size // 2), flat.dtype)


def several(call):
    """A call ten times, one after the other, as a program makes them; the last result."""

    def calls():
        for _ in range(9):
            call()
        return call()

    return calls


ways = {
    f"opt_einsum on {library}": several(lambda: plain("xab,xbc->xac", flat, other)),
    'backend="tilewright"': several(lambda: ours("xab,xbc->xac", flat, other)),
}
beside = {"a copy of as many bytes": several(lambda: xp.copyto(into, half))}
work = f"xab,xbc->xac ten times, {len(flat)} products of 3x3, complex128"
show(Comparison("links", "one contraction", work, ways, 1e-12, wait, beside).run(asked.rounds), asked.json)
