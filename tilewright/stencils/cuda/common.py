"""What the CUDA stencils compute in common: alignment, what an SM holds, and the choice of a default. The
rules that their spaces share are in ``limits``, and what they say alike of problems is in ``accepting``.

Sizes are in elements, shared memory in bytes, registers are words of 32 bits. Functions on configs work on
numbers and on NumPy arrays.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from math import gcd
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilewright.model import Config, Device, Problem
from tilewright.space import KINDS, Space
from tilewright.stencils.protocol import CostModel
from tilewright.targets.cuda.capability import DEVICES

WIDEST = 16
"""Bytes of the widest access of a thread, and what bulk copies are multiples of."""
IN_FLIGHT = 32 * 1024
"""Bytes per SM on their way that hide the latency of memory: 4.3 TB/s times 0.8 us, shared by 132 SMs, is
26 kB (Little's law)."""


def modern(device: Device) -> bool:
    """Whether a device runs the kernels; the spaces of older ones can be counted."""
    return "cp_async" in device.supports


def units(p: Problem) -> tuple[int, int, int]:
    """Bytes, at most 16, that divide the address of every stored column of A, B and C."""
    size = p.dtype.itemsize
    a, b, c = (
        gcd(WIDEST, p.align, (ld or 0) * size, 0 if p.pointers else stride * size, *(x * size for x in outer))
        for ld, stride, outer in zip((p.lda, p.ldb, p.ldc), p.strides, outer_steps(p), strict=True)
    )
    return a, b, c


def outer_steps(p: Problem) -> tuple[list[int], list[int], list[int]]:
    """Elements from one position to the next along each outer batch axis, of A, B and C."""
    a, b, c = ([axis[which] for axis in p.outer] for which in (1, 2, 3))
    return a, b, c


def resident(shared: Any, needed: Any, warps: Any, device: Device) -> Any:
    """Blocks of an SM by shared memory, registers of a thread, threads and the number of blocks."""
    threads = 32 * warps
    by_shared = device["shared_per_sm"] // (shared + device["shared_reserved"])
    by_registers = device["registers_per_sm"] // (threads * (-(-needed // 8) * 8))
    by_threads = device["threads_per_sm"] // threads
    return np.minimum(np.minimum(by_shared, by_registers), np.minimum(by_threads, device["blocks_per_sm"]))


def cheapest(
    space: Space, columns: Mapping[str, Any], cost: Any, kinds: Sequence[str] = KINDS
) -> Config | None:
    """Of many candidates the one of least cost that the rules of these kinds allow, the first of equals.

    ``columns`` are those of ``Space.allowed``, and ``cost`` has one number for each candidate. None where the
    rules allow none of finite cost.
    """
    chosen = {param.name: columns.get(param.name, param.values[0]) for param in space.params}
    order = np.argsort(cost, kind="stable")
    order = order[np.isfinite(cost[order])]
    # Mostly one of the first is allowed, so the rules are not asked of the others.
    first, last = 0, 128
    while first < len(order):
        some = order[first:last]
        asked = {name: values[some] if np.ndim(values) else values for name, values in chosen.items()}
        for at in np.flatnonzero(space.allowed(asked, kinds))[:1]:
            return Config({n: x[at].item() if np.ndim(x) else x for n, x in asked.items()})
        first, last = last, 8 * last
    return None


def of_configs(cost: Callable[[Mapping[str, Any]], Any]) -> CostModel:
    """A cost model that is asked about configs, of one that is asked about columns of them."""

    def costs(configs: Sequence[Config]) -> NDArray[np.float64]:
        if not configs:
            return np.zeros(0)
        columns = {name: np.array([config[name] for config in configs]) for name in configs[0]}
        with np.errstate(all="ignore"):
            found = np.asarray(cost(columns), float)
        return np.where(np.isnan(found), np.inf, found)

    return costs


@lru_cache(maxsize=64)
def fitted(stencil: str, device: Device) -> Mapping[str, Any]:
    """The constants of a stencil's cost model from ``data/<stencil>.json``: those of this device, else of the
    one there that is most similar by architecture, which is to support most of what this one does."""
    known = json.loads((Path(__file__).parent / "data" / f"{stencil}.json").read_text())["devices"]

    def similar(key: str) -> tuple[bool, bool, float]:
        other = DEVICES[key]
        both = len(device.supports & other.supports)
        return (
            key == device.key,
            other.features == device.features,
            both / len(device.supports | other.supports),
        )

    def whole(key: str) -> dict[str, Any]:
        own = known[key]
        return {**(whole(own["like"]) if "like" in own else {}), **own}

    return {name: x for name, x in whole(max(known, key=similar)).items() if name != "like"}
