"""Evolution: children of the best configs, crossed or changed in one parameter, replace the worst of them.

A steady state of few parents with strong selection: recorded spaces reward exploiting what is good early, as
Kernel Tuner's own sweeps of its genetic algorithm found (F.-J. Willemsen et al., "Tuning the Tuner", 2025). A
child that breaks a rule is dropped before it costs anything, and asking for that takes some microseconds.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tilewright.model import Config, Record
from tilewright.space import Space
from tilewright.tuning.search import cost
from tilewright.tuning.search.order import shuffled

if TYPE_CHECKING:
    from tilewright.tuning.search import Batches, Estimate

FOUNDERS = 16
"""Random points to begin with."""
PARENTS = 12
BROOD = 4
"""Children that are outstanding at once, unless more are compiled at once."""
CROSSED = 0.4
"""Share of children with two parents; the others differ from one parent in a parameter or two."""
FAR = 0.4
"""Share of changes to any value; the others go to the next one or the one before."""
TRIES = 24
"""Children that may break a rule or be known before a random point takes their place."""


def evolve(
    space: Space, starts: Sequence[Config], seed: int, *, width: int = 1, estimate: Estimate | None = None
) -> Batches:
    """Yield the starts and random founders, then children of the best, as many as have come back."""
    draw = random.Random(seed)
    strangers = shuffled(space, seed)
    known: dict[Config, float] = {}
    asked = set(starts)

    def stranger() -> Config | None:
        return next((each for each in strangers if each not in asked), None)

    def learn(records: Sequence[Record]) -> None:
        known.update((record.config, cost(record)) for record in records)

    brood = list(starts)
    while len(brood) < max(FOUNDERS, width) and (founder := stranger()) is not None:
        asked.add(founder)
        brood.append(founder)
    values = {param.name: param.values for param in space.params if len(param.values) > 1}
    while True:
        records = yield brood
        if not brood and not records:
            return
        learn(records)
        parents = sorted((each for each in known if known[each] < float("inf")), key=known.__getitem__)[
            :PARENTS
        ]
        brood = []
        while len(asked) - len(known) < max(BROOD, width):
            child = _child(space, parents, values, asked, draw) or stranger()
            if child is None:
                break
            asked.add(child)
            brood.append(child)


def _child(
    space: Space,
    parents: Sequence[Config],
    values: dict[str, tuple[object, ...]],
    asked: set[Config],
    draw: random.Random,
) -> Config | None:
    """A point that was not asked for yet, made of the parents; None where none is found."""
    if not parents or not values:
        return None
    names = list(values)
    for _ in range(TRIES):
        # The better of two random parents; the best of all is the likeliest.
        first = parents[min(draw.randrange(len(parents)), draw.randrange(len(parents)))]
        changed: dict[str, object] = {}
        if draw.random() < CROSSED:
            second = parents[draw.randrange(len(parents))]
            changed = {name: second[name] for name in names if draw.random() < 0.5}
        for _ in range(1 if draw.random() < 0.7 else 2):
            name = names[draw.randrange(len(names))]
            known = values[name]
            place = known.index(first[name])
            if draw.random() < FAR:
                place = draw.randrange(len(known))
            else:
                place = min(max(place + draw.choice((-1, 1)), 0), len(known) - 1)
            changed[name] = known[place]
        child = first.with_(**changed)
        if child not in asked and child in space:
            return child
    return None
