"""What is drawn by chance, and what a tuner proposes of a product."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from bench import alone
from tilewright.catalog import STENCILS
from tilewright.model import Config, Device, Problem
from tilewright.tuning.search.model import ranked

FIRST = 16
"""Configs that are proposed, the default among them."""
SPEED, SLOW = {"h": 7e14, "b": 7e14}, 6e13
"""Operations a second of large products, of types of 16 bits and of others."""


def drawn(letter: str, count: int, seed: int, longest: float) -> Iterator[Problem]:
    """So many random products of a type that take no longer than ``longest`` seconds at ``SPEED``."""
    some = (p for p in alone.drawn(letter, 8 * count, seed) if p.flops <= longest * SPEED.get(letter, SLOW))
    yield from islice(some, count)


def proposals(p: Problem, stencil: str, device: Device, count: int, seed: int) -> list[Config]:
    """The first configs that a tuner without records asks for: the default, what the stencil proposes beside
    it, and what its cost model ranks first."""
    own = STENCILS[stencil]
    space = own.space(p, device)
    first = [own.default(p, device), *(each for each in own.starts(p, device) if each in space)]
    first = list(dict.fromkeys(first))[:count]
    model = own.cost_model(p, device)
    if model is not None and len(first) < count:
        first += [each for each in ranked(space, model, seed) if each not in first][: count - len(first)]
    return first
