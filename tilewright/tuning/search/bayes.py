"""Bayesian optimisation through scikit-learn, an optional library (``tilewright[bayes]``).

Its trees, grown at random and averaged, are the surrogate (F. Hutter, H. Hoos, K. Leyton-Brown, "Sequential
model-based optimization for general algorithm configuration", 2011): they take parameters of any kind as they
are, need no length scales, and cost the same at the thousandth try as at the hundredth.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright.errors import ArgumentError
from tilewright.model import Config, Record
from tilewright.space import Space
from tilewright.tuning.search import cost, whole

if TYPE_CHECKING:
    from tilewright.tuning.search import Batches, Estimate

BEGIN = 16
TREES = 32
BATCH = 8
"""Tries between two forests: growing one takes as long as a few tries may wait."""
CANDIDATES = 2048
EXPLORED = 0.12
"""Share of tries that are random, which keeps the trees honest where they have seen nothing."""


def bayes(
    space: Space, starts: Sequence[Config], seed: int, *, width: int = 1, estimate: Estimate | None = None
) -> Batches:
    """Yield the starts and random points, then what a forest expects most of.

    Raises ``ArgumentError`` without scikit-learn.
    """
    try:
        from sklearn import ensemble
    except ImportError as missing:
        raise ArgumentError(
            "search='bayes' needs scikit-learn (pip install 'tilewright[bayes]'); accepted without it: model"
        ) from missing
    values = {q.name: {v: at for at, v in enumerate(q.values)} for q in space.params if len(q.values) > 1}
    draw = np.random.default_rng(seed)
    times: dict[Config, float] = {}

    def places(configs: Sequence[Config]) -> Any:
        return np.array([[at[config[name]] for name, at in values.items()] for config in configs], np.float32)

    def learn(asked: Sequence[Config], records: Sequence[Record]) -> None:
        times.update((config, times.get(config, math.inf)) for config in asked)
        times.update((record.config, cost(record)) for record in records)

    strangers = [config for config in space.sample(BEGIN + len(starts), seed) if config not in starts]
    batch = [*starts, *strangers[: max(0, BEGIN - len(starts))]]
    turn = 0
    while batch:
        learn(batch, (yield from whole(batch)))
        turn += 1
        logs = np.log(np.array(list(times.values())))
        right = np.isfinite(logs)
        logs[~right] = logs[right].max() if right.any() else 0.0
        best = sorted(times, key=times.__getitem__)[:4]
        offered = [near for config in best for near in space.neighbours(config)]
        offered += space.sample(CANDIDATES, seed + turn)
        offered = [config for config in dict.fromkeys(offered) if config not in times]
        if not offered:
            return
        # Its thread pool costs more than it gains on so few points, so that each tree is asked by itself.
        forest = ensemble.ExtraTreesRegressor(TREES, random_state=seed + turn, min_samples_leaf=1)
        forest.fit(places(list(times)), logs)
        asked = places(offered)
        said = np.array([tree.predict(asked) for tree in forest.estimators_])
        gain = said.std(0) - said.mean(0)
        ranked = np.argsort(-gain, kind="stable")
        count = max(BATCH, width)
        random = int(draw.binomial(count, EXPLORED))
        chosen = [*ranked[: count - random], *draw.permutation(len(offered))[:random]]
        batch = [offered[at] for at in dict.fromkeys(map(int, chosen))]
