"""What a model expects to be fastest, the model refined by every measurement.

It begins with the starts, with what the stencil's cost model ranks first, and with random points. From then
on a Gaussian process (``surrogate``) says of every candidate what it is expected to take and how sure that
is, and the candidate with the largest expected improvement is asked for (D. Jones, M. Schonlau, W. Welch,
"Efficient global optimization of expensive black-box functions", 1998). Of several that are compiled at once,
each is chosen as if those before it had come out as expected (D. Ginsbourger, R. Le Riche, L. Carraro, 2010:
the kriging believer).

The model sees logarithms of times, and all slow configs alike: where a third of them lie beyond the others,
telling ten times too slow from a hundred times too slow would spend its attention. What failed counts as
slow.

Its constants were chosen, of a dozen settings, by replays of three recorded spaces (``bench.search``: two of
a convolution, one of dedispersion, 40 seeds); to leave any one of the three out changes the choice by one
step of ``SPREAD`` at most. A fourth space had no say.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tilewright.model import Config, Record
from tilewright.space import Space
from tilewright.tuning.search import cost
from tilewright.tuning.search.surrogate import Floats, Places, Surrogate

if TYPE_CHECKING:
    from tilewright.tuning.search import Batches, Estimate

BEGIN = 4
"""Points before the model is asked."""
RANKED = 256
"""Points that the stencil's cost model ranks."""
LISTED = 12_000
"""Points of a space all of which are candidates; of a larger one a sample is, and the neighbours of the
best."""
DRAWN = 2048
BEST = 4
GROWTH = 1.25
"""Length scales are found anew whenever there are so many times as many measurements."""
SLOW = 0.65
"""Quantile of the costs from which on all are alike."""


class _Candidates:
    """Configs with their places, each once."""

    def __init__(self, space: Space):
        self._params = [param for param in space.params if len(param.values) > 1]
        self._place = [{value: at for at, value in enumerate(param.values)} for param in self._params]
        self.values = [param.values for param in self._params]
        self.configs: list[Config] = []
        self.number: dict[Config, int] = {}

    def extend(self, configs: Sequence[Config]) -> None:
        """More of them; a start whose values the space does not have is none."""
        for config in configs:
            there = all(config[q.name] in known for q, known in zip(self._params, self._place, strict=True))
            if there and config not in self.number:
                self.number[config] = len(self.configs)
                self.configs.append(config)

    @property
    def places(self) -> Places:
        rows = [
            [at[c[p.name]] for c in self.configs] for p, at in zip(self._params, self._place, strict=True)
        ]
        return np.array(rows, np.int32).reshape(len(rows), len(self.configs))


def model(
    space: Space, starts: Sequence[Config], seed: int, *, width: int = 1, estimate: Estimate | None = None
) -> Batches:
    """Yield the starts, what the cost model likes and random points, then what the model expects most of."""
    times: dict[Config, float] = {}

    def learn(asked: Sequence[Config], records: Sequence[Record]) -> None:
        # What was asked for and did not come back is not asked for again.
        times.update((config, times.get(config, math.inf)) for config in asked)
        times.update((record.config, cost(record)) for record in records)

    first = _first(space, starts, seed, estimate, max(BEGIN, width))
    learn(first, (yield first))
    listed = space.count() <= LISTED
    whole = space.sample(LISTED, seed) if listed else []
    surrogate: Surrogate | None = None
    configs: list[Config] = []
    for turn in count():
        if surrogate is None or not listed:
            candidates = _Candidates(space)
            candidates.extend(list(times))
            known = len(candidates.configs)
            candidates.extend(whole or _nearby(space, times, seed + turn))
            configs = candidates.configs
            surrogate = Surrogate(candidates.values, candidates.places, surrogate)
            for number in range(known):
                surrogate.add(number)
        if len(surrogate.known) == len(configs):
            return
        surrogate.fit(_costs([times[configs[at]] for at in surrogate.known]))
        until = max(len(surrogate.known) + 1, int(len(surrogate.known) * GROWTH))
        while len(surrogate.known) < min(until, len(configs)):
            believed = [times[configs[at]] for at in surrogate.known]
            picks = _picks(surrogate, believed, min(width, len(configs) - len(believed)))
            asked = [configs[at] for at in picks]
            learn(asked, (yield asked))


def _first(
    space: Space, starts: Sequence[Config], seed: int, estimate: Estimate | None, wanted: int
) -> list[Config]:
    """The starts, half of the rest by the stencil's cost model if there is one, and random points."""
    first = list(dict.fromkeys(starts))
    drawn = [
        each for each in space.sample(RANKED if estimate else wanted + len(first), seed) if each not in first
    ]
    if estimate is not None:
        order = np.argsort(estimate(drawn), kind="stable")[: max(0, wanted - len(first)) // 2]
        ranked = [drawn[at] for at in order]
        first += ranked
        drawn = [each for each in drawn if each not in ranked]
    return first + drawn[: max(0, wanted - len(first))]


def _nearby(space: Space, times: dict[Config, float], seed: int) -> list[Config]:
    """A sample of a large space, and the neighbours of the best."""
    best = sorted(times, key=times.__getitem__)[:BEST]
    return [near for config in best for near in space.neighbours(config)] + space.sample(DRAWN, seed)


def _costs(times: Sequence[float]) -> Floats:
    """What the model sees of times: logarithms, the slow ones alike, of mean 0 and deviation 1."""
    logs = np.log(np.array(times, float))
    right = np.isfinite(logs)
    logs[~right] = logs[right].max() if right.any() else 0.0
    logs = np.minimum(logs, np.quantile(logs, SLOW))
    seen: Floats = (logs - logs.mean()) / (logs.std() + 1e-9)
    return seen


def _picks(surrogate: Surrogate, times: Sequence[float], wanted: int) -> list[int]:
    """The candidates of the largest expected improvement, one after the other; they count as known from
    then."""
    costs = _costs(times)
    best = costs.min()
    picks: list[int] = []
    for _ in range(wanted):
        mean, deviation = surrogate.expected(costs)
        gain = _improvement(best, mean, deviation)
        gain[surrogate.known] = -1
        pick = int(gain.argmax())
        costs = np.append(costs, mean[pick])
        surrogate.add(pick)
        picks.append(pick)
    return picks


def _improvement(best: float, mean: Floats, deviation: Floats) -> NDArray[Any]:
    """By how much each is expected to be below the best; the normal distribution by its tanh approximation,
    which is exact to 4 digits."""
    # Beyond eight deviations nothing is gained, and numbers would be too small to compute with quickly.
    z = np.clip((best - mean) / deviation, -8, 8)
    below = 0.5 * (1 + np.tanh(math.sqrt(2 / math.pi) * (z + 0.044715 * z * z * z)))
    gain: NDArray[Any] = deviation * (z * below + np.exp(-0.5 * z * z) / math.sqrt(2 * math.pi))
    return gain
