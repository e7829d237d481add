"""The choice without a search: a cost model of chain.cuh.

It proposes tiles and rings and says what each costs; the rules of the space say which of them may be. Its
constants are in ``data/chain.json``. Sizes are in elements, shared memory in bytes. Functions on configs work
on numbers and on NumPy arrays.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tilewright.model import ChainProblem, Config, Device
from tilewright.space import Space
from tilewright.stencils.cuda.chain.banks import wavefronts
from tilewright.stencils.cuda.chain.needs import (
    busy,
    is_turned,
    placed,
    reads_once,
    registers,
    registers_of,
    shared_bytes,
    stage_bytes,
    strips,
    words_of_sum,
    work,
)
from tilewright.stencils.cuda.chain.space import PER_SM, groups, sides
from tilewright.stencils.cuda.common import cheapest, fitted, resident

Columns = dict[str, Any]
_WARPS, _STAGES = np.array((1, 2, 4, 6, 8)), np.array((2, 3, 4))


def best(space: Space, p: ChainProblem, device: Device) -> Config:
    """The best of many rings and tiles by how busy they keep memory and threads; with bulk copies where the
    rules allow one."""
    x = fitted("chain", device)
    for path in ("bulk", "async"):
        parts = [_candidates(p, device, path, mma, x) for mma in _rows_of_fragments(p)]
        columns: Columns = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        columns["path"] = path
        found = cheapest(space.restricted(path=path), columns, _cost(p, device, columns, x))
        if found is not None:
            return found
    # No ring that keeps memory and schedulers busy: a small one.
    tile = {"path": "async", "mma": 0, "rows": 1, "columns": 1}
    return Config(tile | {"warps": 4, "group": 1, "stages": 2, "in_place": 0, "blocks": device["sms"]})


def _rows_of_fragments(p: ChainProblem) -> tuple[int, ...]:
    """The ways to multiply: on multiply-add units, and on tensor cores by strips of so many rows."""
    if p.dtype.real_bits == 64:
        return 0, 8, 16
    return (0, 16, 32) if p.dtype.real_bits == 16 and not p.dtype.is_complex else (0,)


def _candidates(p: ChainProblem, device: Device, path: str, mma: int, x: Mapping[str, Any]) -> Columns:
    """Every tile with every ring, in as many blocks as an SM holds."""
    sides_of_tile = _sides(p, x) if not mma else np.ones((2, 1), int)
    places = np.array((0, 1) if placed(p) else (0,))
    mesh = np.meshgrid(*sides_of_tile, _WARPS, np.array(groups(p)), _STAGES, places, indexing="ij")
    most = x["sums_halves" if p.dtype.real_bits == 16 else "sums"]
    few = mesh[0] * mesh[1] * words_of_sum(p) <= most
    rows, columns, warps, group, stages, in_place = (axis[few] for axis in mesh)
    # The compiler takes more registers than the loop needs, for reads ahead.
    beside = x[
        "registers_beside" if not mma else "registers_mma" if path == "bulk" else "registers_mma_async"
    ]
    needed = (x["registers"] * registers(p, mma, rows, columns)).astype(int) + beside
    shared = shared_bytes(p, path, mma, group, stages, in_place)
    held = np.minimum(resident(shared, needed, warps, device), x["blocks"])
    blocks = np.zeros(len(rows), int)
    for per_sm in PER_SM:
        fits = (per_sm <= held) & (registers_of(device, warps, per_sm) >= needed)
        blocks[fits] = per_sm * device["sms"]
    names = ("rows", "columns", "warps", "group", "stages", "in_place", "blocks")
    found = dict(zip(names, (rows, columns, warps, group, stages, in_place, blocks), strict=True))
    return found | {"mma": np.full(len(rows), mma)}


def _sides(p: ChainProblem, x: Mapping[str, Any]) -> tuple[Any, Any]:
    """Rows and columns of tiles that are worth a thought."""
    rows, columns = (sides(tuple(product[axis] for product in p.products)) for axis in (0, 1))
    most = x["side"]
    return np.array([r for r in rows if r <= most]), np.array([c for c in columns if c <= most])


def _cost(p: ChainProblem, device: Device, columns: Columns, x: Mapping[str, Any]) -> Any:
    """Clocks of an SM for a matrix: what memory takes for its bytes or multiplying takes, whichever is
    longer, and something for where they get in each other's way."""
    mma, rows, cols, warps, group = (columns[name] for name in ("mma", "rows", "columns", "warps", "group"))
    per_sm = np.maximum(columns["blocks"] // device["sms"], 1)
    stage = stage_bytes(p, group)
    flying = np.minimum(1.0, per_sm * columns["stages"] * stage / (x["flying"] * 1024))
    memory = p.bytes / x["bytes"] / flying ** x["flying_power"]
    used = busy(p, mma, rows, cols, warps, group)
    running = np.minimum(1.0, per_sm * warps / x["movers"])
    on_units = _multiplying(p, rows, cols, x) / (running * used ** x["used_power"])
    computing = np.where(mma > 0, _on_tensor_cores(p, mma, per_sm * warps * used, x), on_units)
    # Barriers of a group, which other blocks fill in part, and its copies, which an SM starts in turns.
    waiting = x["barrier"] / (group * per_sm) + x["started"] / group
    # The last round leaves part of the SMs idle.
    rounds = p.batch / (group * per_sm * device["sms"])
    power = x["power"]
    return ((memory**power + computing**power) ** (1 / power) + waiting) * (rounds + x["last"]) / rounds


def _on_tensor_cores(p: ChainProblem, mma: Any, warps: Any, x: Mapping[str, Any]) -> Any:
    """Clocks of an SM with so many busy warps for the strips of one matrix: what its units take for products
    and for reads of shared memory, and how long a strip is on its way, of which warps have one each."""
    rows = (8, 16, 32)
    counts = [_of_a_strip(p, high) for high in rows]
    products, reads = (np.select([mma == high for high in rows], each) for each in zip(*counts, strict=True))
    clocks = x["mma_products"] * products + x["mma_reads"] * reads
    waited = x["mma_start"] + x["mma_product_waits"] * products + x["mma_read_waits"] * reads
    return strips(p, mma) * (clocks + waited / warps)


def _of_a_strip(p: ChainProblem, mma: int) -> tuple[float, float]:
    """Instructions of a warp for a strip of so many rows: products of tensor cores, in those of 16 x 8 x 4
    float64 or 16 x 8 x 16 halves, and accesses to shared memory, in 128 bytes."""
    (m, *_, n), turned, halves = p.sizes, bool(is_turned(p, mma)), p.dtype.real_bits == 16
    wide, sums = -(-(m if turned else n) // 8), 2 if p.add is not None else 1
    inner, between = p.sizes[1], 0
    if len(p.factors) == 3:
        inner, between = (p.sizes[2], p.sizes[1]) if turned else (p.sizes[1], p.sizes[2])
    first = -(-between // 8) or wide
    if halves:
        high, steps, again = -(-mma // 16), -(-inner // 8) / 2, -(-between // 8) / 2
        products, reads = high * np.ceil(steps) * first, 4 * steps * (2 * high + first)
        # A second product is one of two parts, of float16 in tf32, which has half the k.
        products += high * wide * (2 * np.ceil(again) if p.dtype.letter == "b" else 4 * again)
        reads += 0 if reads_once(p, mma) else 4 * again * wide
        return products, reads + 4 * high * wide * sums
    high, steps, again = mma // 8, -(-inner // 4), 2 * -(-between // 8)
    # Eight rows take as long as sixteen.
    products = (steps * first + again * wide) * (4 if p.dtype.is_complex else 1)
    reads = steps * (high + first) + again * wide + 2 * wide * high * sums
    return products, reads * p.dtype.itemsize / 4


def _multiplying(p: ChainProblem, rows: Any, columns: Any, x: Mapping[str, Any]) -> Any:
    """Clocks of an SM for the products of one matrix: multiply-adds, loads, and what banks make of them."""
    done = work(p, rows, columns)
    each = (4 if p.dtype.is_complex else 1) * (2 if p.dtype.real_bits == 64 else 1)
    # Halves are converted as they are read.
    loads = done * (1 / rows + 1 / columns) * (2 if p.dtype.real_bits == 16 else 1)
    # Both sides as one number: NumPy tells pairs apart far more slowly.
    beyond = int(np.max(columns, initial=0)) + 1
    tiles, where = np.unique(rows * beyond + columns, return_inverse=True)
    passes = np.array([wavefronts(p, *divmod(int(tile), beyond)) for tile in tiles])[where.ravel()]
    return done * each / x["units"] + loads / x["loads"] + passes / x["passes"]


def cost(p: ChainProblem, device: Device, columns: Columns) -> Any:
    """Clocks of an SM for a matrix, with the constants of the device."""
    return _cost(p, device, columns, fitted("chain", device))
