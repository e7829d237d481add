"""Chains that several tiers of tests ask for."""

from __future__ import annotations

from tilewright.model import DTYPES, ChainProblem, Factor, Stored

LETTERS = tuple(DTYPES)


def covariance(letter: str, n: int, batch: int, *, shared: bool = False) -> ChainProblem:
    """F P F^H + Q of squares as a caller with row-major arrays asks for it; ``shared``: one F for all."""
    each, f = Stored(n, n, n, n * n), Stored(n, n, n, 0 if shared else n * n)
    factors = (Factor(0, "j" if DTYPES[letter].is_complex else "n"), Factor(1), Factor(0, "t"))
    return ChainProblem(DTYPES[letter], (f, each, each), factors, each, batch, Factor(2))
