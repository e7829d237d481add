"""What a model expects to be fastest, the model refined by every measurement.

It begins with the starts, with what the stencil's cost model ranks first, and with random points. From then
on a Gaussian process (``surrogate``) says of every candidate what it is expected to take and how sure that
is, and the candidate with the largest expected improvement is asked for (D. Jones, M. Schonlau, W. Welch,
"Efficient global optimization of expensive black-box functions", 1998). Of several that are compiled at once,
each is chosen as if those before it had come out as expected (D. Ginsbourger, R. Le Riche, L. Carraro, 2010:
the kriging believer). As many are outstanding as are compiled at once: for each that comes back another is
asked for, with what was expected of the others in place of what they will take.

Beside the parameters the model sees how the cost model ranks a candidate, as one more coordinate: where times
follow it that says much from the first tries on, and where they do not its length scale grows.

The model sees logarithms of times, and all slow configs alike: where a third of them lie beyond the others,
telling ten times too slow from a hundred times too slow would spend its attention. What failed counts as
slow.

Its constants were chosen, of a dozen settings, by replays of three recorded spaces (``bench.search``: two of
a convolution, one of dedispersion, 40 seeds), ``BEGIN`` and ``DOUBT`` by what is found after 25 tries; nine
spaces of our own stencils were looked at before ``DOUBT`` was settled. What parameters do by themselves
(``surrogate.EACH``) was settled by all four recorded spaces, 80 seeds, and ten of our own, 20.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tilewright.model import Config, Record
from tilewright.space import Space
from tilewright.tuning.search import cost
from tilewright.tuning.search.surrogate import Floats, Places, Surrogate

if TYPE_CHECKING:
    from tilewright.tuning.search import Batches, Estimate

BEGIN = 2
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
DOUBT = 1.6
"""How much wider deviations are taken than the model says, which knows its own length scales no better than
a few measurements do."""
SLOW = 0.65
"""Quantile of the costs from which on all are alike."""


class _Candidates:
    """Points that may be asked for, each once, as columns of places; configs are made of what is asked for.

    First come the ``known`` configs; one of them whose values the space does not have is none.
    """

    def __init__(self, coder: _Coder, known: Iterable[Config], others: Places):
        self._coder = coder
        told = {coder.key(config): config for config in known}
        self.known = [config for key, config in told.items() if key is not None]
        fresh = dict.fromkeys(_keys(others))
        for key in told:
            fresh.pop(key or b"", None)
        rest = np.frombuffer(b"".join(fresh), np.int32).reshape(len(fresh), len(others)).T
        self.places: Places = np.concatenate([coder.places(self.known), rest], axis=1)

    def config(self, at: int) -> Config:
        """The config of a column."""
        return self.known[at] if at < len(self.known) else self._coder.config(self.places[:, at])


class _Coder:
    """Configs of a space as columns: of each parameter that has several values which of them, and back."""

    def __init__(self, space: Space):
        self._space = space
        self._params = [param for param in space.params if len(param.values) > 1]
        self._place = [{value: at for at, value in enumerate(param.values)} for param in self._params]
        self.values = [param.values for param in self._params]

    def key(self, config: Config) -> bytes | None:
        """A column as bytes; None for a config whose values the space does not have."""
        found = [known.get(config[q.name]) for q, known in zip(self._params, self._place, strict=True)]
        return None if None in found else np.array(found, np.int32).tobytes()

    def places(self, configs: Sequence[Config]) -> Places:
        """The columns of configs whose values the space has."""
        rows = [
            [at[config[q.name]] for config in configs]
            for q, at in zip(self._params, self._place, strict=True)
        ]
        return np.array(rows, np.int32).reshape(len(rows), len(configs))

    def config(self, places: Iterable[int]) -> Config:
        """The config of a column."""
        chosen = {q.name: q.values[place] for q, place in zip(self._params, places, strict=True)}
        return Config({q.name: chosen.get(q.name, q.values[0]) for q in self._space.params})


def _keys(places: Places) -> list[bytes]:
    """Each column as bytes, by which equal ones are found."""
    return [row.tobytes() for row in np.ascontiguousarray(places.T, np.int32)]


class _Hints:
    """What the stencil's cost model says of candidates: the rank of each among all, from 0 to 1."""

    def __init__(self, estimate: Estimate):
        self._estimate = estimate
        self._told: dict[bytes, float] = {}

    def of(self, candidates: _Candidates) -> Floats:
        """Asked for what was not told before."""
        keys = _keys(candidates.places)
        new = [at for at, key in enumerate(keys) if key not in self._told]
        told = self._estimate([candidates.config(at) for at in new]).tolist()
        self._told.update(zip((keys[at] for at in new), told, strict=True))
        _, ranks = np.unique([self._told[key] for key in keys], return_inverse=True)
        found: Floats = ranks / max(1, int(ranks.max(initial=0)))
        return found


def model(
    space: Space, starts: Sequence[Config], seed: int, *, width: int = 1, estimate: Estimate | None = None
) -> Batches:
    """Yield the starts, what the cost model likes and random points, then what the model expects most of."""
    asked = _first(space, starts, seed, estimate, max(BEGIN, width))
    times: dict[Config, float] = {}
    # What is outstanding, and what it is expected to take once there is a model.
    believed: dict[Config, float] = dict.fromkeys(asked, math.inf)

    def learn(records: Sequence[Record]) -> None:
        for record in records:
            times[record.config] = cost(record)
            believed.pop(record.config, None)

    learn((yield list(asked)))
    while 2 * len(times) < len(asked):
        # Of less a model would know next to nothing, and compilers have something to do.
        records = yield []
        if not records:
            break
        learn(records)
    if not times:
        return
    total, coder = space.count(), _Coder(space)
    listed = total <= LISTED
    hints = None if estimate is None else _Hints(estimate)
    drawn = space.columns(range(total)) if listed else space.drawn(DRAWN, seed)
    surrogate: Surrogate | None = None
    for turn in count():
        if surrogate is None or not listed:
            if turn and hints is None:
                # Without a cost model that would have to be asked about them other points cost nothing.
                drawn = space.drawn(DRAWN, seed + turn)
            others = drawn if listed else np.concatenate([_near(space, coder, times), drawn], axis=1)
            # What was measured comes first: what is outstanding is not known before the model has seen that.
            candidates = _Candidates(coder, sorted(asked, key=lambda config: config not in times), others)
            hint = None if hints is None else hints.of(candidates)
            surrogate = Surrogate(coder.values, candidates.places, hint, surrogate)
            asked = list(candidates.known)
            for place, config in enumerate(asked):
                if config in times:
                    surrogate.add(place)
        left = candidates.places.shape[1] - len(asked)
        if not left:
            return
        measured = [place for place, config in enumerate(asked) if config in times]
        surrogate.fit(_costs([times[asked[place]] for place in measured]).seen, measured)
        if len(surrogate.known) < len(asked):
            known = _costs([times[asked[place]] for place in measured])
            mean, _ = surrogate.expected(known.seen)
            for place in range(len(measured), len(asked)):
                believed[asked[place]] = known.seconds(mean[place])
                surrogate.add(place)
        until = max(len(asked) + 1, int(len(asked) * GROWTH))
        while len(asked) < until and left:
            more: list[Config] = []
            if len(believed) < width:
                costs = _costs([times.get(config, believed.get(config, math.inf)) for config in asked])
                best = min(costs.seen[place] for place, config in enumerate(asked) if config in times)
                picks, expected = _picks(surrogate, costs.seen, float(best), min(width - len(believed), left))
                more = [candidates.config(at) for at in picks]
                believed.update(zip(more, map(costs.seconds, expected), strict=True))
                asked += more
                left -= len(more)
            records = yield more
            if not more and not records:
                return
            learn(records)


def ranked(space: Space, estimate: Estimate, seed: int) -> list[Config]:
    """Some random points of a space, what the stencil's cost model likes first."""
    drawn = space.sample(RANKED, seed)
    return [drawn[at] for at in np.argsort(estimate(drawn), kind="stable")]


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
        liked = [drawn[at] for at in order]
        first += liked
        drawn = [each for each in drawn if each not in liked]
    return first + drawn[: max(0, wanted - len(first))]


def _near(space: Space, coder: _Coder, times: dict[Config, float]) -> Places:
    """The neighbours of the best."""
    best = sorted(times, key=times.__getitem__)[:BEST]
    return coder.places([near for config in best for near in space.neighbours(config)])


class _Costs(NamedTuple):
    """What the model sees of times: logarithms, the slow ones alike, of mean 0 and deviation 1."""

    seen: Floats
    middle: float
    spread: float

    def seconds(self, seen: float) -> float:
        """The time that is seen as this."""
        return math.exp(self.middle + self.spread * float(seen))


def _costs(times: Sequence[float]) -> _Costs:
    logs = np.log(np.array(times, float))
    right = np.isfinite(logs)
    logs[~right] = logs[right].max() if right.any() else 0.0
    logs = np.minimum(logs, np.quantile(logs, SLOW))
    middle, spread = logs.mean(), logs.std() + 1e-9
    return _Costs((logs - middle) / spread, float(middle), float(spread))


def _picks(surrogate: Surrogate, costs: Floats, best: float, wanted: int) -> tuple[list[int], list[float]]:
    """The candidates of the largest expected improvement over the best, one after the other, which count as
    known from then; and what is expected of each."""
    picks: list[int] = []
    expected: list[float] = []
    for _ in range(wanted):
        mean, deviation = surrogate.expected(costs)
        # ``best`` is not of NumPy, whose numbers would make all of the below of 64 bits.
        gain = _improvement(best, mean, DOUBT * deviation)
        gain[surrogate.known] = -1
        pick = int(gain.argmax())
        costs = np.append(costs, mean[pick])
        surrogate.add(pick)
        picks.append(pick)
        expected.append(float(mean[pick]))
    return picks, expected


def _improvement(best: float, mean: Floats, deviation: Floats) -> NDArray[Any]:
    """By how much each is expected to be below the best; the normal distribution by its tanh approximation,
    which is exact to 4 digits."""
    # Beyond eight deviations nothing is gained, and numbers would be too small to compute with quickly.
    z = np.clip((best - mean) / deviation, -8, 8)
    below = 0.5 * (1 + np.tanh(math.sqrt(2 / math.pi) * (z + 0.044715 * z * z * z)))
    gain: NDArray[Any] = deviation * (z * below + np.exp(-0.5 * z * z) / math.sqrt(2 * math.pi))
    return gain
