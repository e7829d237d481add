"""The choice without a search: a cost model of kernel.cuh.

It proposes parts of C and ways to bring A and B, and says what each costs; the rules of the space say which
of them may be. Its constants are in ``data/interleaved.json``. Functions on configs work on numbers and on
NumPy arrays.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tilewright.model import Config, Device, Problem
from tilewright.space import Space
from tilewright.stencils.cuda import grids
from tilewright.stencils.cuda.common import IN_FLIGHT, WIDEST, cheapest, fitted
from tilewright.stencils.cuda.interleaved.needs import (
    copied,
    fragments,
    held,
    layout,
    members_bytes,
    orders,
    packs_bytes,
    registers,
    shares,
    stage_bytes,
    tiles,
    words,
)
from tilewright.stencils.cuda.interleaved.space import MOST_REGISTERS, PER_SM, is_scattered

Columns = dict[str, Any]
_WARP, _LINE = 32, 128
_PLAIN = {"strided": 0, "unroll_k": 1, "ahead": 0, "stages": 0, "depth": 1, "bulk": 0, "group": 0,
          "padded": 0, "members": 0, "blocks": 0}  # fmt: skip
"""Parameters that a way to bring A and B has no use for."""


def best(space: Space, p: Problem, device: Device) -> Config:
    """The cheapest point by what is read and computed, and by what is on its way."""
    x = fitted("interleaved", device)
    ways = [way(space, p, device) for way in (_direct, _ring, _bulk, _packs, _members)]
    both = {name: np.concatenate([way[name] for way in ways]) for name in ways[0]}
    found = cheapest(space, both, clocks(p, device, both, x))
    if found is None:
        # Not even the C of one warp fits in shared memory.
        columns = ways[0]
        found = cheapest(space, {**columns, "staged": 0 * columns["staged"]}, columns["lanes"])
    assert found is not None
    return found


# ---- what is proposed


def _grid(space: Space, p: Problem, axes: Mapping[str, Any], *, teams: str) -> Columns:
    """All combinations of the values of some parameters, the others as they are in ``_PLAIN``. ``teams``: a
    thread for every part of C (``all``), also for every second one (``half``), or for all of C (``one``)."""
    known = {param.name: param.values for param in space.params}
    names = tuple(dict.fromkeys(("lanes", "rows", "columns", "warps", *axes)))
    values = [np.array(axes.get(name, known[name]), int) for name in names]
    mesh = dict(zip(names, (axis.ravel() for axis in np.meshgrid(*values, indexing="ij")), strict=True))
    known_teams, parts = np.array(known["team"]), tiles(p, mesh["rows"], mesh["columns"])
    wanted = {"one": [np.ones_like(parts)], "all": [parts], "half": [parts, -(-parts // 2)]}[teams]
    found = []
    for some in wanted:
        team = known_teams[np.searchsorted(known_teams, some, side="right") - 1]
        found.append(mesh | {"team": team})
    columns = {name: np.concatenate([part[name] for part in found]) for name in found[0]}
    count = len(columns["team"])
    fixed = _PLAIN | {"staged": int(is_scattered(p))}
    return {name: np.full(count, value) for name, value in fixed.items() if name not in columns} | columns


def _resident(p: Problem, device: Device, columns: Columns) -> Columns:
    """The same with as many persistent blocks as an SM holds."""
    most = np.maximum(held(p, columns, device), 1)
    columns["blocks"] = np.array(PER_SM)[np.searchsorted(PER_SM, most, side="right") - 1] * device["sms"]
    return columns


def _direct(space: Space, p: Problem, device: Device) -> Columns:
    """Blocks of 8 warps side by side were slower on an H200, for which the model has no reason."""
    axes = {"strided": _strided(p), "unroll_k": (1, 2, 4, 8), "warps": (1, 2, 4), **_leaving(p, device)}
    return _grid(space, p, axes, teams="half")


def _strided(p: Problem) -> tuple[int, ...]:
    """Where vectors fit only some have matrices that are 32 apart."""
    return (0,) if layout(p).pack or p.align >= WIDEST else (0, 1)


def _leaving(p: Problem, device: Device) -> dict[str, Any]:
    """How a C whose matrices lie apart leaves shared memory."""
    bulk = not layout(p).pack and "bulk_copy" in device.supports
    return {"staged": (1, 2) if bulk else (1,)} if is_scattered(p) else {}


def _ring(space: Space, p: Problem, device: Device) -> Columns:
    """Two and three stages of several steps each had little on its way while the last was multiplied: 0.7 to
    0.9 of the speed of four of fewer."""
    return _grid(space, p, {"stages": (4, 6), "depth": (1, 2, 4)}, teams="half")


def _bulk(space: Space, p: Problem, device: Device) -> Columns:
    if layout(p).pack:
        return _grid(space, p, {"lanes": (1,), "bulk": ()}, teams="all")
    axes = {"strided": (0, 1), "stages": (2, 3, 4), "depth": (1, 2, 4, 8, 16), "bulk": (1,)}
    if not is_scattered(p):
        axes |= {"staged": (0, 2) if p.beta == "0" else (0,)}
    return _resident(p, device, _grid(space, p, axes | _leaving(p, device), teams="all"))


def _packs(space: Space, p: Problem, device: Device) -> Columns:
    if orders(p) is None or p.align < WIDEST:
        return _grid(space, p, {"lanes": (1,), "group": ()}, teams="one")
    groups = next(param.values for param in space.params if param.name == "group")[1:]
    axes = {"stages": (2, 3), "group": groups, "padded": (0, 1), "unroll_k": (2,)}
    return _resident(p, device, _grid(space, p, axes, teams="one"))


def _members(space: Space, p: Problem, device: Device) -> Columns:
    """Tensor cores; of what they do not multiply a point that the rules remove."""
    if p.dtype.real_bits != 16 or p.dtype.is_complex or p.beta != "0":
        return _grid(space, p, {"lanes": (1,), "rows": (1,), "columns": (1,), "members": ()}, teams="one")
    axes = {"lanes": (2, 4, 8), "rows": (1,), "columns": (1,), "staged": (0,), "stages": (2, 3, 4, 6)}
    members = next(param.values for param in space.params if param.name == "members")[1:]
    return _resident(p, device, _grid(space, p, {**axes, "members": members}, teams="one"))


# ---- what it costs


def clocks(p: Problem, device: Device, columns: Columns, x: Mapping[str, Any]) -> Any:
    """Clocks of an SM for a matrix: what memory takes for its bytes, instructions for their issue, or
    accesses to the nearest memory, whichever is longer, and something for where they get in each other's
    way."""
    lanes, rows, cols, team, warps = (columns[name] for name in ("lanes", "rows", "columns", "team", "warps"))
    stages, depth, bulk, group = (columns[name] for name in ("stages", "depth", "bulk", "group"))
    members, strided = columns["members"], columns["strided"]
    # Elements of an access.
    vector = np.where(strided > 0, 1, lanes)
    size, scattered = p.dtype.itemsize, is_scattered(p)
    once = p.m * p.k + p.k * p.n
    parts = tiles(p, rows, cols)
    turns = -(-parts // team)
    # Elements that threads ask for, and multiply-adds; what lies outside C is computed, too.
    asked, summed = p.k * parts * (rows + cols), p.k * parts * rows * cols
    blocks = held(p, columns, device)
    blocks = np.where(columns["blocks"] > 0, columns["blocks"] // device["sms"], blocks)
    running = np.maximum(blocks * team * warps, 1)
    ringed = (stages > 0) & (bulk == 0) & (group == 0) & (members == 0)
    # A ring is filled anew for every turn.
    copies = np.where(ringed, turns * once * size / copied(p, lanes), 0)
    each = (4 if p.dtype.is_complex else 1) * (2 if p.dtype.real_bits == 64 else 1)
    converted = asked if p.dtype.real_bits == 16 else 0
    by_lanes = (
        summed * each
        + x["convert"] * converted
        + x["load"] * asked / vector
        + x["copy"] * copies
        + x["store"] * p.m * p.n * (x["apart"] if scattered else 1 / vector)
    )
    issue = np.where(members > 0, _of_members(p, lanes, members, x), by_lanes) / (4 * _WARP)
    # Threads that each have a pack ask for as many lines at once; those of a group lie in shared memory.
    pack = layout(p).pack
    spread = np.where((group == 0) & (pack > 0), np.maximum(1, _WARP * lanes * size / max(pack * size, 1)), 1)
    wide = np.maximum(_WARP * lanes * size, _LINE * spread)
    near = np.where(members > 0, 0.0, asked / (_WARP * lanes) * wide / _LINE)
    far = np.where(stages > 0, x["near_ring"], x["near"]) * near
    flying = np.where(
        stages > 0,
        blocks * np.select(
            [group > 0, members > 0],
            [stages * packs_bytes(p, group, columns["padded"]), (stages - 1) * members_bytes(p, members)],
            (stages - 1 + bulk) * stage_bytes(p, lanes, strided, warps, depth),
        ),
        running * _WARP * lanes * size * np.minimum(columns["unroll_k"], p.k) * (rows + cols),
    )  # fmt: skip
    starved = np.minimum(1.0, np.maximum(flying, 1) / (x["flying"] * IN_FLIGHT)) ** x["flying_power"]
    again = np.where(stages > 0, 0.0, x["again"] * (asked / once - 1) + x["turns"] * (turns - 1))
    moved = (once * (1 + np.maximum(again, 0)) + p.m * p.n) * size
    if p.align < WIDEST // 2:
        # Rows of a block begin and end within sectors, which neighbouring blocks ask for as well. (Rows of
        # multiples of 8 bytes were no faster in wider blocks.)
        row = np.where(members > 0, members, _WARP * warps * lanes)
        moved = moved * (1 + np.where(strided > 0, x["edge_strided"], x["edge"]) / (row * size))
    memory = moved / x["bytes"] / starved
    power = x["power"]
    busy = (x["issue"] * issue) ** power + far**power + memory**power
    stepped = ((stages > 0) & (group == 0) & (members == 0)) * -(-p.k // depth)
    waiting = 1 + (x["few"] + x["step"] * stepped) / running
    # Every block of a ring that threads fill waits for its first steps.
    waiting = waiting + x["fill"] * ringed * np.minimum(stages - 1, stepped) / np.maximum(stepped, 1)
    # Steps that are left over at the end of k come one by one.
    unroll = columns["unroll_k"]
    left = (stages == 0) & (unroll < p.k) & (p.k % unroll > 0)
    waiting = waiting * np.where(left, x["left"], 1.0)
    # The compiler loads all steps that are written out together, and spills what has no register.
    wanted = registers(p, lanes, rows, cols, 0) + words(p) * lanes * np.minimum(unroll, p.k) * (rows + cols)
    crowded = (stages == 0) * np.maximum(wanted / MOST_REGISTERS - 1, 0)
    waiting = waiting * (1 + x["crowded"] * crowded)
    # What each way was measured to take for what it should.
    of_members = x["members"] * (1 + (0 if layout(p).pack else x["short"]) / (np.maximum(members, 1) * size))
    way = np.select([bulk > 0, ringed, members > 0], [x["bulk"], x["ring"], of_members], 1.0)
    staged = columns["staged"]
    way = way * np.where(strided > 0, np.where(bulk > 0, x["rows"], x["strided"]), 1.0)
    way = way * np.where(staged == 2, x["run_out"] if scattered else x["rows_out"], 1.0)
    if pack:
        way = way * np.where(
            members > 0,
            1.0,
            np.where(group > 0, x["packs"], np.where(ringed, x["packs_ring"], x["packs_direct"])),
        )
    return np.where(blocks > 0, busy ** (1 / power) * waiting * way, np.inf)


def _of_members(p: Problem, lanes: Any, members: Any, x: Mapping[str, Any]) -> Any:
    """Instructions of threads for a matrix on tensor cores: copies, what becomes fragments, products, and the
    way of C."""
    high, tall, across, eights = fragments(p)
    straight = p.align >= WIDEST
    reads = 2 if straight else 6 + lanes
    of_strip = eights * (tall + across) * (2 * reads + lanes) + -(-eights // 2) * across * lanes
    put = 2 * tall * across * (4 + 1.5 * lanes)
    once, area, size = p.m * p.k + p.k * p.n, p.m * p.n, p.dtype.itemsize
    # A row that begins anywhere has another vector, and vectors of packs have addresses of their own.
    beside = 0 if straight else WIDEST / (np.maximum(members, 1) * size)
    each = x["copy_member"] * (1 if straight and not layout(p).pack else x["copy_apart"])
    vectors = (once + area) * (size / WIDEST) * (1 + beside)
    return _WARP * high * (x["fragment"] * of_strip + put) / lanes + each * vectors


def cost(p: Problem, device: Device, columns: Columns) -> Any:
    """Clocks of an SM for a matrix, with the constants of the device."""
    found = clocks(p, device, columns, fitted("interleaved", device))
    count = shares(p, *(columns[name] for name in ("lanes", "warps", "group", "members")))
    return found * grids.slower(p, device, columns, count, grids.FEWEST)
