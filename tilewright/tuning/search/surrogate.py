"""A Gaussian process over the points of a space: what a config is expected to take, and how sure that is.

Points are columns of places (which of its parameter's values each is). A parameter is seen through up to
three coordinates: its value's rank, its logarithm, and how often 2 divides it; kernels care for all of them
(a tile of 48 lies between 32 and 64, and is no multiple of either). Every coordinate has a length scale of
its own, found by maximising the posterior of the length scales under a log-normal prior (C. Rasmussen, C.
Williams, "Gaussian Processes for Machine Learning" (2006), sections 5.1 and 5.4.1; Matern 5/2 covariance of
section 4.2).

Half of what a config takes is expected to be the sum of what each parameter does by itself, so that a few
measurements say something of all candidates that share a value with them (D. Duvenaud, H. Nickisch, C.
Rasmussen, "Additive Gaussian processes", NIPS 2011). That half has length scales of its own, which are not
fitted: its covariances are looked up in a table for each parameter.

Distances of all candidates are one product of matrices. A new point costs a row of them, and one row more of
the inverse of the triangular factor: that it is kept, and not the factor, saves solving for every try.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[Any]
Places = NDArray[np.int32]

SCALE = 0.7
"""Length scales that are expected beforehand are 1 / SCALE of a coordinate's range, for six coordinates; more
of them have longer ones (C. Hvarfner, E. Hellsten, L. Nardi, ICML 2024: vanilla Bayesian optimisation
works)."""
SPREAD = 0.4
"""Standard deviation of the logarithm of a length scale, beforehand."""
EACH = 0.5
"""Share of the variance that parameters explain each by itself."""
OWN = 1.5
"""Inverse length scale of every coordinate there."""
TABLE = 256
"""Rows of a table of covariances at most, where it is not one parameter's."""
NOISE = 1e-2
"""Share of the variance that no parameter explains, beforehand."""
JITTER = 1e-6
STEPS = 10
ROOM = 64
"""Measurements that there is room for at first."""
MOST_FITTED = 96
"""Points that length scales are fitted to at most: the best ones and the latest."""


def coordinates(values: Sequence[Any]) -> list[Floats]:
    """What is seen of a parameter with these values: coordinates from 0 to 1, no two nearly alike."""
    count = len(values)
    plain = all(isinstance(value, int | float) for value in values)
    if not plain and count > 2:
        # Names are equally far apart: a coordinate for each.
        return list(np.eye(count))
    seen = [np.arange(count) / (count - 1)]
    if not plain or count == 2:
        return seen
    numbers = np.array(values, float)
    offered = [np.log2(numbers)] if (numbers > 0).all() else []
    if all(isinstance(value, int) and value >= 0 for value in values):
        offered.append(np.array([float(min((v & -v).bit_length() - 1, 6)) if v else 6.0 for v in values]))
    for each in offered:
        if each.max() > each.min() and all(abs(np.corrcoef(each, known)[0, 1]) < 0.995 for known in seen):
            seen.append((each - each.min()) / (each.max() - each.min()))
    return seen


def _covariance(squares: Floats) -> Floats:
    """Matern 5/2 of squared distances."""
    r: Floats = np.sqrt(5 * squares)
    decay = np.exp(-r)
    r *= 1 + r / 3
    r += 1
    r *= decay
    return r


def _joined(seen: Sequence[Sequence[Floats]], places: Places) -> Iterator[tuple[Floats, NDArray[np.intp]]]:
    """Tables of the sums of parameters' covariances, each of several parameters together, which is fewer
    numbers to look up, and what to look up for each point."""
    table, joined = np.zeros((1, 1), np.float32), np.zeros(places.shape[1], np.intp)
    for known, row in zip(seen, places, strict=True):
        squares = sum((OWN * (each[:, None] - each)) ** 2 for each in known)
        own = _covariance(np.asarray(squares)).astype(np.float32)
        if len(table) * len(own) > TABLE and len(table) > 1:
            yield table, joined
            table, joined = np.zeros((1, 1), np.float32), np.zeros(places.shape[1], np.intp)
        count = len(table) * len(own)
        table = (table[:, None, :, None] + own[None, :, None, :]).reshape(count, count)
        joined = joined * len(own) + row
    yield table, joined


class Surrogate:
    """What is expected of every candidate, from those that were measured.

    ``values`` are the parameters' values, ``candidates`` the points that may be asked about, ``hint`` what
    else is seen of each of them, from 0 to 1. Length scales are at first those of ``before``, if it is given:
    the same parameters, other candidates.
    """

    def __init__(
        self,
        values: Sequence[Sequence[Any]],
        candidates: Places,
        hint: Floats | None = None,
        before: Surrogate | None = None,
    ):
        found = [coordinates(known) for known in values]
        seen = [(row, each) for row, known in enumerate(found) for each in known]
        # Which values each candidate has of some parameters, and the covariances of these; of the hint
        # likewise, as numbers that are too many for a table.
        self._joined = list(_joined(found, candidates))
        self._parts = len(found)
        self._hint = None if hint is None else np.asarray(hint, np.float32)
        rows = [each[candidates[row]] for row, each in seen] + ([] if hint is None else [hint])
        self._points = np.array(rows, np.float32).reshape(len(rows), candidates.shape[1])
        expected = np.log(SCALE) - 0.25 * np.log(max(1, len(rows)) / 6)
        # The logarithms of the inverse length scales, and of the share of noise.
        self._expected = np.array([expected] * len(rows) + [np.log(NOISE)])
        self._state: Floats = (self._expected if before is None else before._state).copy()
        self.known: list[int] = []
        # The inverse of the triangular factor, and what it makes of the covariances with all candidates.
        self._inverse = np.zeros((ROOM, ROOM))
        self._solved = np.zeros((ROOM, candidates.shape[1]), np.float32)
        self._begin()

    def _begin(self) -> None:
        """Nothing is worked in under these length scales yet."""
        self._scaled = self._points * np.exp(self._state[:-1, None]).astype(np.float32)
        self._norms = np.einsum("ij,ij->j", self._scaled, self._scaled)
        self._left = np.ones(self._points.shape[1], np.float32)
        self._worked = 0

    def _with(self, chosen: Sequence[int]) -> Floats:
        """The covariances of some candidates, a row each, with all of them."""
        some = np.array(chosen, np.intp)
        squares = (-2 * self._scaled[:, some].T) @ self._scaled
        squares += self._norms
        squares += self._norms[some, None]
        covariance = _covariance(np.maximum(squares, 0, out=squares))
        covariance *= 1 - EACH
        covariance += EACH * self._by_each(some, slice(None))
        # What rounding leaves between a point and itself would be taken for a distance.
        covariance[np.arange(len(some)), some] = 1
        return covariance

    def _by_each(self, some: NDArray[np.intp], others: Any) -> Floats:
        """The covariances, a row for each of some candidates, by what parameters do each by itself."""
        total: Any = 0.0
        for table, places in self._joined:
            total = total + np.take(table[places[some]], places[others], axis=1, mode="clip")
        parts = self._parts
        if self._hint is not None:
            apart = OWN * (self._hint[some, None] - self._hint[others])
            # It says as much as all parameters together.
            total, parts = total + parts * _covariance(apart * apart), 2 * parts
        by_each: Floats = np.float32(1 / max(1, parts)) * total
        return by_each

    def add(self, chosen: int) -> None:
        """A candidate was measured."""
        self.known.append(chosen)

    def _work_in(self) -> None:
        """Extend the factor's inverse, and what it makes of all candidates, by what was added."""
        done, count = self._worked, len(self.known)
        if done == count:
            return
        while count > len(self._inverse):
            grown = np.zeros((2 * len(self._inverse),) * 2)
            grown[:done, :done] = self._inverse[:done, :done]
            self._inverse = grown
            self._solved = np.vstack([self._solved, np.zeros_like(self._solved)])
        added, own = self.known[done:], np.eye(count - done)
        rows = self._with(added)
        above = self._solved[:done, added].T.astype(float)
        noise = np.exp(self._state[-1]) + 2 * JITTER
        corner = rows[:, added].astype(float) + noise * own - above @ above.T
        inverse = np.linalg.inv(np.linalg.cholesky(corner))
        if done:
            rows -= above.astype(np.float32) @ self._solved[:done]
        new = inverse.astype(np.float32) @ rows
        self._inverse[done:count, :done] = -inverse @ above @ self._inverse[:done, :done]
        self._inverse[done:count, done:count] = inverse
        self._solved[done:count] = new
        self._left -= np.einsum("ij,ij->j", new, new)
        self._worked = count

    def fit(self, costs: Floats, places: Sequence[int]) -> None:
        """Find length scales for the costs of some of the known candidates, given by their places among
        these."""
        known = np.array(self.known)[np.array(places, np.intp)]
        if len(known) > MOST_FITTED:
            best = np.argsort(costs, kind="stable")[: MOST_FITTED // 2]
            latest = np.setdiff1d(np.arange(len(known)), best)[-(MOST_FITTED // 2) :]
            some = np.concatenate([best, latest])
            known, costs = known[some], costs[some]
        self._state = self._fitted(known, costs)
        self._begin()

    def _fitted(self, known: NDArray[np.intp], costs: Floats) -> Floats:
        """The most probable length scales: steps by the signs of the gradient (Rprop), the best of all
        kept."""
        points = self._points[:, known].astype(float)
        squares = (points[:, :, None] - points[:, None, :]) ** 2
        count, one, eye = len(known), np.ones(len(known)), np.eye(len(known))
        by_each = EACH * self._by_each(known, known).astype(float)
        state, step, before = self._state.copy(), np.full(len(self._state), 0.25), np.zeros(len(self._state))
        best, least = state, np.inf
        for _ in range(STEPS):
            weights = np.exp(2 * state[:-1])
            r = np.sqrt(5 * np.tensordot(weights, squares, 1))
            decay = np.exp(-r)
            covariance = (1 - EACH) * (1 + r + r * r / 3) * decay + by_each
            covariance += (np.exp(state[-1]) + JITTER) * eye
            inverse = np.linalg.inv(covariance)
            solved = inverse @ one
            centred = costs - (solved @ costs) / (solved @ one)
            weighted = inverse @ centred
            variance = (centred @ weighted + 0.5) / (count + 0.5)
            apart = (state - self._expected) / SPREAD
            loss = 0.5 * (count * np.log(variance) + np.linalg.slogdet(covariance)[1] + apart @ apart)
            if loss < least:
                best, least = state, loss
            slope = 0.5 * (inverse - np.outer(weighted, weighted) / variance)
            inner = -(5 / 3) * (1 - EACH) * slope * (1 + r) * decay
            gradient = np.append(
                weights * np.tensordot(squares, inner, 2), np.trace(slope) * np.exp(state[-1])
            )
            gradient += apart / SPREAD
            turned = np.sign(gradient) * np.sign(before)
            step = np.clip(step * np.where(turned > 0, 1.4, np.where(turned < 0, 0.5, 1.0)), 0.01, 0.7)
            state, before = state - step * np.sign(gradient), gradient
        return best

    def expected(self, costs: Floats) -> tuple[Floats, Floats]:
        """Mean and standard deviation of every candidate's cost, from the costs of the known ones in
        order."""
        self._work_in()
        count = len(self.known)
        both = self._inverse[:count, :count] @ np.column_stack([costs, np.ones(count)])
        level = (both[:, 0] @ both[:, 1]) / (both[:, 1] @ both[:, 1])
        rest = both[:, 0] - level * both[:, 1]
        variance = (rest @ rest + 0.5) / (count + 0.5)
        mean = np.float32(level) + rest.astype(np.float32) @ self._solved[:count]
        return mean, np.sqrt(np.float32(variance) * np.maximum(self._left, np.float32(1e-9)))
