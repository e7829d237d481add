"""The choice without a search: a cost model of vector's kernel.

It says how many clocks of an SM a batch takes with each config; the rules of the space say which may be. Its
constants, fitted to timed configs, are in ``data/vector.json``. Sizes are in elements.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tilewright.model import Config, Device, Problem
from tilewright.space import HARDWARE, Space
from tilewright.stencils.cuda.common import WIDEST, cheapest, fitted
from tilewright.stencils.cuda.vector.needs import (
    along,
    length,
    resident_blocks,
    share,
    teams,
    tiles,
    unit,
    unit_x,
    word,
)
from tilewright.stencils.cuda.vector.space import SPLITS

Columns = Mapping[str, Any]
_NAMES = ("lanes", "runs", "words", "warps", "turns", "split")


def best(space: Space, p: Problem, device: Device) -> Config:
    """The cheapest of all configs; where the soft rules leave none, of those that the hardware can run."""
    grid = np.meshgrid(*(np.array(param.values) for param in space.params), indexing="ij")
    columns = dict(zip(_NAMES, (axis.ravel() for axis in grid), strict=True))
    cost = clocks(p, device, columns, fitted("vector", device))
    found = cheapest(space, columns, cost) or cheapest(space, columns, cost, (*HARDWARE, "hard"))
    if found is None:
        raise AssertionError(f"no config of vector fits {p.key}, which it accepts")
    return found


def counts(p: Problem, device: Device, columns: Columns) -> dict[str, Any]:
    """What the clocks of a config are made of, for a block: instructions of its warps, what they wait for one
    after the other, and bytes."""
    lanes, many, words, warps, turns, split = (columns[name] for name in _NAMES)
    size, wide = p.dtype.itemsize, word(p)
    head = (wide - unit(p) // size) / 2
    halves, pair = p.dtype.real_bits == 16, 1 + p.dtype.is_complex
    # Of an element: a number of 16 bits is widened, and complex ones take four multiply-adds.
    element: float = halves * pair + pair**2
    pipes = pair**2 * (2 if p.dtype.real_bits == 64 else 1)
    of_run = np.ceil(((share(p, split) if along(p) else length(p)) + head) / wide)
    if along(p):
        steps = np.ceil(of_run / (lanes * words)) * turns
        # Of a vector that begins elsewhere in a word two are read, shifted and masked.
        x = np.where(unit_x(p) == WIDEST, 1.0, 4.0 * wide) + halves * pair * wide
        of_x = x * words
        # Words that are not of one run alone are masked.
        element = element + 0.5 * ((unit(p) < WIDEST) | (length(p) % wide != 0))
    else:
        steps = np.ceil(share(p, split) / (teams(lanes, warps) * many))
        of_x = 3.0 * many
    count = many * words
    # Lines of 128 bytes that a load of a team touches, and bytes that it reads side by side where these are
    # not all of a run.
    touched = np.ceil(lanes / 8) + 0.5 * (unit(p) < WIDEST) + 0.25 * (size * length(p) % 128 != 0)
    beside = lanes * words * WIDEST
    beside = np.where(beside >= length(p) * size, np.inf, beside)
    held = resident_blocks(p, device, lanes, many, words, warps, turns, split)
    blocks = tiles(p, lanes, many, words, warps, turns) * split
    moved = p.bytes * p.batch / blocks
    return {
        "steps": steps,
        "words": count * steps,
        "x": of_x * steps,
        "products": count * wide * element * steps,
        "lines": 32 / lanes * count * touched * steps,
        "beside": beside,
        "pipes": count * wide * pipes * steps,
        "split": split,
        "warps": warps,
        "bytes": moved,
        "memory": p.bytes * p.batch > device.knee(None),
        "flying": 32 * WIDEST * warps * count,
        "blocks": blocks / device["sms"],
        "held": np.maximum(held, 1),
    }


def summed(f: Mapping[str, Any], x: Mapping[str, float]) -> Any:
    """Clocks of an SM by what was counted: memory, schedulers, multiply-add units, and blocks by themselves,
    of which the longest counts most."""
    # Blocks of an SM: of the whole batch, at a time, and with the empty places of the last round. A cluster
    # is in one part of the device, whose SMs are no multiple of large clusters.
    of_sm = f["blocks"] / (1 - x["idle"] * (f["split"] - 1) / (SPLITS[-1] - 1))
    present = np.minimum(f["held"], np.ceil(of_sm))
    rounds = np.ceil(of_sm / present) * present
    speed = np.where(f["memory"], x["memory"], x["cached"])
    memory = f["bytes"] / speed * (1 + 1024 * x["flying"] / np.maximum(present * f["flying"], 1))
    memory = memory * (1 + x["page"] / f["beside"])
    of_warp = x["word"] * f["words"] + x["x"] * f["x"] + x["product"] * f["products"] + x["step"] * f["steps"]
    issued = f["warps"] * of_warp / 4
    piped = f["warps"] * f["pipes"] / 4
    # A warp waits for its loads, and each of its instructions for some of those before.
    alone = x["start"] + x["latency"] * f["steps"] + x["own"] * of_warp + x["join"] * (f["split"] > 1)
    lines = x["line"] * f["warps"] * f["lines"]
    sides = (memory, issued, piped, lines, alone / present, x["launch"])
    power = x["power"]
    # Of several rounds blocks begin as others end, and what is left in the last one shares all of memory.
    blocks = of_sm + np.where(of_sm > present, x["tail"], 1) * (rounds - of_sm)
    return blocks * sum(side**power for side in sides) ** (1 / power)


def clocks(p: Problem, device: Device, columns: Columns, x: Mapping[str, float]) -> Any:
    """Clocks of an SM for the batch."""
    return summed(counts(p, device, columns), x)


def cost(p: Problem, device: Device, columns: Columns) -> Any:
    """The same with the constants of the device."""
    return clocks(p, device, columns, fitted("vector", device))
