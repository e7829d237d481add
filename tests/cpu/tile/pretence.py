"""The ``tile`` stencil, processors that need not be here, and configs drawn from its spaces."""

from __future__ import annotations

import dataclasses
import random
from typing import Any

from tilewright.catalog import STENCILS
from tilewright.model import Config, Device
from tilewright.space import Space
from tilewright.targets.cpu.isa import family_limits

TILE = STENCILS["tile"]

# Devices as data: what is written for them does not depend on the machine that the test runs on.
AVX512 = Device(
    "cpu",
    "a server with 512-bit vectors",
    "skylake-avx512",
    {"vector_bits": 512, "vector_registers": 32, "masks": 1, "cores": 8, "l1d": 32 << 10, "l2": 1 << 20,
     "l3": 32 << 20},
    features="x86_64/skylake-avx512 +avx512dq,+avx512f,+avx512vl,+fma",
    supports=frozenset({"half"}),
)  # fmt: skip

AVX2 = Device(
    "cpu",
    "a laptop with 256-bit vectors",
    "haswell",
    {"vector_bits": 256, "vector_registers": 16, "masks": 0, "cores": 4, "l1d": 32 << 10, "l2": 256 << 10,
     "l3": 8 << 20},
    features="x86_64/haswell +avx2,+fma",
    supports=frozenset({"half"}),
)  # fmt: skip


def walk(space: Space, seed: int) -> Config | None:
    """A random config that the rules let through, found by going back where a rule says no."""
    draw = random.Random(seed)
    order = {p.name: draw.sample(p.values, len(p.values)) for p in space.params}
    level = {param.name: depth for depth, param in enumerate(space.params)}
    ready: list[list[Any]] = [[] for _ in space.params]
    for rule in space.rules:
        ready[max((level[name] for name in rule.reads), default=0)].append(rule)
    steps = 0

    def extend(chosen: dict[str, Any], depth: int) -> Config | None:
        nonlocal steps
        if depth == len(space.params):
            return Config(chosen)
        name = space.params[depth].name
        for value in order[name]:
            steps += 1
            if steps > 5000:
                return None
            point = {**chosen, name: value}
            if all(rule.test(**{n: point[n] for n in rule.reads}) for rule in ready[depth]):
                found = extend(point, depth + 1)
                if found is not None:
                    return found
        return None

    return extend({}, 0)


# One processor of every scheduling model that LLVM has for these instructions, and the limits that decide
# what is written: what this test finds depends on no machine that it runs on.
PROCESSORS = {
    "znver5": AVX512,
    "znver4": AVX512,
    "sapphirerapids": AVX512,
    "skylake-avx512": AVX512,
    "rocketlake": AVX512,
    "haswell": AVX2,
    "znver3": AVX2,
}


def pretended(name: str) -> Device:
    like = PROCESSORS[name]
    features = f"x86_64/{name} {like.features.partition(' ')[2]}"
    limits = {**like.limits, **family_limits(name)}
    return dataclasses.replace(like, name=name, key=name, limits=limits, features=features)
