"""The choice without a search: a cost model of grouped.cuh, over candidates that the rules allow.

Sizes are in elements, shared memory in bytes. Functions on configs work on numbers and on NumPy arrays.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

import numpy as np

from tilewright.model import Config, Device, GroupedProblem
from tilewright.space import Space
from tilewright.stencils.cuda.common import IN_FLIGHT, cheapest, fitted
from tilewright.stencils.cuda.grouped.needs import largest, registers, words_of
from tilewright.stencils.cuda.grouped.space import DEPTHS, TEAMS, WARPS, params, ring_of, rules

WEIGHED = {"warps-enough"}
"""Rules of kind soft that are not asked, for the model itself says what few warps cost: where products are so
large that no more fit, the space is empty."""
# Of equals the larger team, then the larger block.
_TEAM, _WARPS = np.array(list(product(TEAMS[::-1], WARPS[::-1]))).T


def best(p: GroupedProblem, device: Device) -> Config:
    """One block on an SM, with as many teams as hold the largest product and as warps have registers.

    Two places in a ring are enough for all but the smallest products: more are filled before the first one
    is multiplied (H200, 10,000 products of 1 to 32: 33 us with 2 places, 35.5 us with 4, 37 us with 8).
    """
    rows, columns = _tile(p)
    least, teams = largest(p), np.maximum(_WARPS // _TEAM, 1)
    block = min(device["shared_per_sm"] - device["shared_reserved"], device["shared_per_block_optin"])
    few, many = (np.clip(ring_of(block, teams, depth), least, least * depth) for depth in DEPTHS)
    enough = teams * few >= fitted("grouped", device)["flying"] * IN_FLIGHT
    ring = np.where(enough, few, many)
    candidates = {
        "bulk": int("bulk_copy" in device.supports),
        "rows": rows,
        "columns": columns,
        # A step has as many additions to addresses as a turn: few where a step is short.
        "deep": {"s": 4, "d": 2, "z": 2}.get(p.dtype.letter, 1),
        "fine": int(p.dtype.letter == "c"),
        "mma": int(p.dtype.real_bits != 32),
        "team": _TEAM,
        "warps": _WARPS,
        "depth": np.where(enough, *DEPTHS),
        "ring": ring,
        "blocks": device["sms"],
    }
    asked = [rule for rule in rules(p, device) if rule.name not in WEIGHED]
    space = Space(params(p, device), asked, elementwise=True)
    needed = _registers(p, device, rows, columns)
    config = cheapest(space, candidates, _slowness(p, device, needed, _TEAM, _WARPS, ring / least))
    assert config is not None, "a block of one warp with a ring of one product is allowed"
    return config


def cost(p: GroupedProblem, device: Device, columns: Mapping[str, Any]) -> Any:
    """How slow any configs are, next to one another, by their teams and rings: the model knows of a lane's
    tile only the registers that it takes."""
    tiles, which = np.unique(np.stack([columns["rows"], columns["columns"]]), axis=1, return_inverse=True)
    taken = np.array([_registers(p, device, int(rows), int(wide)) for rows, wide in tiles.T])[which.ravel()]
    return _slowness(p, device, taken, columns["team"], columns["warps"], columns["ring"] / largest(p))


def _slowness(p: GroupedProblem, device: Device, needed: Any, team: Any, warps: Any, products: Any) -> Any:
    """How slow blocks of these teams are, next to one another; infinite where warps have too few of the
    registers that a thread needs. ``products`` of the largest extents have room in a ring. The constants are
    in ``data/grouped.json``.

    What hides latency here is teams that wait for memory while others multiply, and a warp alone has no one
    to wait for; so products are shared only where fewer than eight of them fit.
    """
    x = fitted("grouped", device)
    # Each of the four schedulers has registers of its own, and gives them out in eights.
    taken = 32 * (-(-warps // 4) * 4) * (-(-needed // 8) * 8)
    waiting = np.minimum(1.0, warps / team / x["teams"]) ** x["by_teams"]
    running = np.minimum(1.0, warps / x["warps"]) ** x["by_warps"]
    room = np.minimum(1.0, products / x["room"]) ** x["by_room"]
    speed = waiting * running * room * x["shared"] ** (team - 1)
    return np.where(taken <= device["registers_per_sm"], 1 / speed, np.inf)


def _registers(p: GroupedProblem, device: Device, rows: int, columns: int) -> int:
    """Registers of a thread that the compiler takes: more than those that the loop cannot do without, for
    reads ahead and for C, and for the two k of a word."""
    x, half = fitted("grouped", device), p.dtype.real_bits == 16
    more = x["pairs"] if half and p.dtype.is_complex else 0
    if p.beta == "any" or (p.beta == "1" and p.dtype.real_bits != 32):
        more = x["c_half" if half else "c"]
        if half and p.beta == "1" and not p.dtype.is_complex:
            more = x["c_added"]
    taken = int(x["taken_each"] * int(registers(p, rows, columns))) + x["taken"] + more
    if p.dtype.letter == "c":  # One step of k in a turn: nothing is read ahead.
        taken = min(taken, x["taken_c"] + more)
    return int(taken)


def _tile(p: GroupedProblem) -> tuple[int, int]:
    """Rows and columns of a lane, for the largest products."""
    rows = min(4, -(-p.m // 8))
    if p.dtype.real_bits != 32:
        rows += rows & 1
    wide = p.dtype.letter == "c" or (words_of(p) <= 2 and not p.dtype.is_complex)
    columns = min(8 if wide else 4, -(-p.n // 4))
    return rows, columns + (columns & 1)
