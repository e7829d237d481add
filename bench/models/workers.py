"""What is done in processes beside the run: what is tried of a product, and its programs."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence

from bench.models.draws import proposals
from bench.models.tries import DEFAULT, DRAWN, OTHER, PROPOSED, Plan, Try
from tilewright.catalog import STENCILS, TARGETS
from tilewright.errors import TilewrightError
from tilewright.model import Config, Device, Problem
from tilewright.runtime import build
from tilewright.space import KINDS
from tilewright.store import binaries

VARIANTS = 3
"""Configs of a product that are tried of one program of another product's."""


def planned(p: Problem, stencil: str, device: Device, first: int, some: int, seed: int) -> Plan:
    """What is proposed, and some of the space by chance, in a process of its own."""
    proposed = proposals(p, stencil, device, first, seed)
    by_chance = list(STENCILS[stencil].space(p, device).sample(some, seed))
    origins = [DEFAULT, *[PROPOSED] * (len(proposed) - 1)]

    def tries(origins: Iterable[str], configs: Iterable[Config]) -> list[Try]:
        return [
            Try(origin, stencil, each, build.key(stencil, p, each, device))
            for origin, each in zip(origins, configs, strict=False)
        ]

    others = [each for each in by_chance if each not in proposed]
    return tries(origins, proposed), tries([DRAWN] * len(others), others)


def served(p: Problem, stencil: str, device: Device, configs: Sequence[Config]) -> list[Try]:
    """Configs of a product that programs of others serve: of each program some with other cuts of tiles, as
    this one's space has them, in a process of its own."""
    draw = random.Random(p.key)
    space = STENCILS[stencil].space(p, device)
    cuts = next((param.values for param in space.params if param.name == "cut"), ())
    found = []
    for config in configs:
        several = [config]
        if config.get("cut"):
            several = [config.with_(cut=cut) for cut in cuts if cut]
        fit = [each for each in several if space.member(each, KINDS) is None]
        for each in draw.sample(fit, min(VARIANTS, len(fit))):
            found.append(Try(OTHER, stencil, each, build.key(stencil, p, each, device)))
    return found


def kept(p: Problem, stencil: str, config: Config, device: Device, key: str) -> bool:
    """Whether a config compiles without spills; its program is put where the measuring child finds it."""
    if binaries.read(key) is not None:
        return True
    try:
        binary = build.compile(stencil, p, config, device, TARGETS["cuda"])
    except TilewrightError:
        return False
    if binary.facts.get("spills"):
        return False
    binaries.write(key, binary)
    return True
