"""The choice without a search: a cost model of tensor.cuh.

It proposes tiles and rings and says what each costs; the rules of the space say which of them may be. Its
constants are in ``data/tensor.json``. Sizes are in elements, shared memory in bytes. Functions on configs
work on numbers and on NumPy arrays.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import product
from typing import Any

import numpy as np

from tilewright.model import Config, Device, Problem
from tilewright.space import HARDWARE, KINDS, Space
from tilewright.stencils.cuda import grids
from tilewright.stencils.cuda.accesses import WGMMA
from tilewright.stencils.cuda.common import WIDEST, cheapest, fitted, units
from tilewright.stencils.cuda.tensor.needs import MARGIN, MARGIN_AHEAD, registers, tiles
from tilewright.stencils.cuda.tensor.space import reading

Columns = dict[str, Any]
# Parts of C of one warp, by whether the type is a half and whether it is complex: as large as registers allow
# for the largest, because what a warp has loaded is then multiplied most often.
_PARTS: dict[tuple[bool, bool], tuple[tuple[int, int], ...]] = {
    (True, False): (
        *((16, 8), (16, 16), (32, 16), (32, 32), (48, 24), (48, 48), (64, 16), (64, 32), (64, 64)),
        *((96, 24), (128, 16)),
    ),
    (True, True): ((16, 8), (16, 16), (32, 16), (32, 32), (48, 24), (48, 48), (64, 16), (64, 32)),
    (False, False): ((8, 8), (16, 8), (16, 16), (32, 8), (32, 16), (32, 32), (48, 24), (64, 32)),
    (False, True): ((8, 8), (16, 8), (16, 16), (32, 16), (32, 32)),
}
# Warps of a matrix along m and n, for each number of matrices that share a block.
_WARPS = {
    1: ((1, 1), (1, 2), (2, 1), (2, 2), (1, 4), (2, 4), (4, 2), (1, 8)),
    2: ((1, 1), (1, 2), (2, 1), (2, 2), (1, 4)),
    4: ((1, 1), (1, 2), (2, 1)),
    8: ((1, 1),),
}
_ALONG = np.array((32, 16, 8, 4, 2, 1))
_TILE = ("blk_m", "blk_n", "blk_k", "warps_m", "warps_n", "group")
_RING = ("stages", "per_sm", "ahead")
_NAMES = (*_TILE, *_RING)
SPILLING = 4.0
"""How much slower what spills is taken to be: enough to be tried last."""
IDLE = 0.1
"""The share of a config's time that reads take which no thread is idle for, by guess."""
_OF_TILES = ("tc", "split", "vec", "blk_k", "blk_m", "blk_n", "dim_x", "dim_y", "group", "warps_m")


@cache
def _tiles(half: bool, is_complex: bool) -> Columns:
    """Columns of tiles: parts of a warp times warps, steps, matrices of a block."""
    rows = [
        (part_m * warps_m, part_n * warps_n, blk_k, warps_m, warps_n, group)
        for (part_m, part_n), warps in product(_PARTS[half, is_complex], _WARPS[1])
        for warps_m, warps_n in (warps,)
        for blk_k in ((8, 16, 32, 64) if half else (8, 16, 32))
        for group in _WARPS
        if warps in _WARPS[group]
    ]
    return dict(zip(_TILE, np.array(rows).T, strict=True))


@cache
def _rings(half: bool) -> Columns:
    """Columns of rings: stages, blocks of an SM, whether fragments are loaded ahead."""
    rows = product((1, 2, 3, 4, 6), (1, 2, 3, 4, 5, 6, 8), (0, 1) if half else (0,))
    return dict(zip(_RING, np.array([*rows]).T, strict=True))


def _modelled(p: Problem, device: Device, columns: Columns) -> Any:
    """Clocks of the whole batch by a model of one SM, for columns of candidates.

    A tile takes a little more than the largest of what tensor cores, shared memory and device memory need for
    it, and what one block needs, one thing after the other, over the blocks that overlap. The constants are
    in ``data/tensor.json``.
    """
    half, is_complex, size = p.dtype.real_bits == 16, p.dtype.is_complex, p.dtype.itemsize
    reads_c, x = p.beta != "0", fitted("tensor", device)
    sms = device["sms"]
    blk_m, blk_n, blk_k, warps_m, warps_n, group, stages, per_sm, ahead = (columns[name] for name in _NAMES)
    warps = warps_m * warps_n * group
    tiles = -(-p.m // blk_m) * -(-p.n // blk_n)
    steps = np.maximum(-(-p.k // blk_k), 1)
    deep = steps * blk_k
    items = -(-p.batch // group) * tiles
    stay = np.minimum(per_sm, -(-items // sms))
    letter = "h" if half else "d"
    rate = x[f"reached_{letter}"] * device.rates[f"mma.{letter}"]
    sums = blk_m * blk_n * deep * group * (4 if is_complex else 1) / rate
    loads = (blk_m * warps_n + blk_n * warps_m + blk_m + blk_n) * deep * size * group / 128
    stripes = (blk_m + blk_n) * blk_k * group * size
    unique = p.bytes * np.minimum(group, p.batch) / tiles / x["unique"]
    results = blk_m * blk_n * group * size
    passed = (stripes * steps + results * (2 if reads_c else 1)) / x["passed"]
    # Bytes on their way hide the latency of memory: Little's law. What is loaded ahead frees a stage early.
    flying = stay * stripes * np.maximum(stages - 1 + 0.5 * ahead, 1)
    # C is read in batches of as many words as there are registers for: 16 at most, and of the columns that
    # halves are gathered in. Where registers are left, a batch is on its way while one is used.
    warp_m, warp_n = blk_m // warps_m, blk_n // warps_n
    kept = warp_m * warp_n // 32 * (size // 2 if half else size // 4)
    room = np.minimum(65536 // (32 * warps * per_sm), 255) - kept - 72 - ahead * (warp_m + warp_n) // 4
    sets = np.where(room >= 48, 2, 1)
    wide = 8 if half and is_complex else WIDEST
    together = np.clip(room * 4 // (wide * sets), 1, 16)
    gathered = np.where(warp_n % 16 == 0, 16, 8) if half and not is_complex else warp_n
    words = -(-warp_m * gathered * size // (32 * wide))
    batches = warp_n // gathered * -(-words // together)
    # Two words where a tile reaches beyond C.
    inside = (p.m // blk_m) * (p.n // blk_n) / tiles
    batches = inside * (1 + (batches - 1) / sets) + (1 - inside) * warp_n // gathered * words / 2
    flying = flying + stay * 32 * warps * np.minimum(words, together * sets) * wide * reads_c
    memory = (unique + passed) * (1 + (x["flying"] * 1024 / flying) ** x["sharp"]) ** (1 / x["sharp"])
    held = stages == 1
    waits = np.where(held, x["start_held"] + x["step_held"] * steps, x["start"] + x["step"] * steps)
    # Instructions beside products: addresses, results. A warp has one at a time.
    each = x["fixed"] + x["by_step"] * steps
    each = each + blk_m * blk_n * group * (x["write"] + x["read"] * reads_c) / 32 / warps
    waits = waits + x["look"] * batches * reads_c + x["each"] * each
    # Warps of a scheduler multiply while others load, and so does a warp that loads ahead.
    slow = sums * np.maximum(1, 4 / warps)
    over = np.minimum(slow, loads) * (1 - x["ahead"] * ahead) / np.maximum(1, warps / 4)
    alone = waits + np.maximum(slow, loads) + over + np.where(held, 1, x["hidden"]) * memory / stay
    # What takes nearly as long as the longest is in its way.
    parts = (sums, loads, memory, warps * each / 4, alone / stay)
    time = sum(part ** x["sharp"] for part in parts) ** (1 / x["sharp"])
    # Blocks of an SM are in each other's way, as are idle stages; few warps wait for themselves.
    crowd = x["crowd_read"] if reads_c else x["crowd"]
    time = time * (1 + crowd * (stay - 1)) * (1 + x["lone"] * np.maximum(4 / (warps_m * warps_n) - 1, 0))
    time = time * (1 + x["spare"] * stages)
    return -(-items // (sms * stay)) * stay * time


def _crowded(p: Problem, device: Device, tc: str, split: str, columns: Columns) -> Any:
    """Whether so many blocks of an SM leave the compiler fewer registers than it takes not to spill any."""
    warps = columns["warps_m"] * columns["warps_n"] * columns["group"]
    tile = tuple(columns[name] for name in ("blk_m", "blk_n", "blk_k"))
    dealt = warps, columns["group"], columns["warps_m"]
    needed = registers(p, tc, split, columns["stages"], columns["ahead"], tile, dealt)
    needed = needed + np.where(columns["ahead"] == 1, MARGIN_AHEAD, MARGIN)
    # Registers are given out by eights, a quarter of them by each of four schedulers: a thread of ten warps
    # has 168, not 204. Where matrices share a block it needs them; single ones ran faster for being let pass.
    held, each = warps * columns["per_sm"], device["registers_per_sm"] // 32
    room = np.where(columns["group"] > 1, each // 4 // -(-held // 4), each // held) // 8 * 8
    return needed > np.minimum(room, device["registers_per_thread"])


def _read(space: Space, p: Problem, vec: int, tiles: Columns, kinds: Sequence[str]) -> Columns:
    """The tiles that the rules allow, each with as many threads along stored columns as keep most busy."""
    each = {name: column.repeat(len(_ALONG)) for name, column in tiles.items()}
    threads = 32 * each["warps_m"] * each["warps_n"] * each["group"]
    each["dim_x"] = np.tile(_ALONG, len(tiles["group"]))
    each["dim_y"] = threads // each["dim_x"]
    left = space.part(_OF_TILES).allowed(each, kinds)
    blk = each["blk_m"], each["blk_n"], each["blk_k"]
    busy = np.where(left, reading(p, vec, blk, each["group"], each["dim_x"], threads), -1)
    best = np.arange(len(left), step=len(_ALONG)) + busy.reshape(-1, len(_ALONG)).argmax(1)
    best = best[left[best]]
    return {name: column[best] for name, column in each.items()}


def _crossed(tiles: Columns, rings: Columns, half: bool) -> Columns:
    """Every tile with every ring of at most so many elements along k; large parts of a warp leave room and
    time to load ahead."""
    count, turns = len(tiles["group"]), len(rings["stages"])
    columns = {name: column.repeat(turns) for name, column in tiles.items()}
    columns |= {name: np.tile(column, count) for name, column in rings.items()}
    part = columns["blk_m"] * columns["blk_n"] // (columns["warps_m"] * columns["warps_n"])
    some = columns["stages"] * columns["blk_k"] <= (256 if half else 64)
    some &= (columns["ahead"] == 0) | (part >= 512)
    return {name: column[some] for name, column in columns.items()}


def _warp_groups(p: Problem) -> Columns | None:
    """A tile of warp groups for large products of complex half: at 256 a search timed 508 TFLOP/s on an H200,
    and 394 of single warps. Where C is read, more and smaller blocks hide that.
    """
    if not (p.dtype.letter == "hc" and min(p.m, p.n) >= 128 and p.k >= 32):
        return None
    if p.beta != "0":
        tile = (64, 128, 32, 4, 1, 1, 4, 2, 0) if p.n >= 256 else (64, 64, 32, 4, 1, 1, 4, 3, 0)
    elif -(-p.m // 128) * -(-p.n // 128) * 128**2 > 1.5 * p.m * p.n:
        return None  # Too much of the tiles would be for nothing.
    else:
        tile = (128, 128, 32, 8, 1, 1, 4, 1, 0)
    return {name: np.array([value]) for name, value in zip(_NAMES, tile, strict=True)}


def _proposed(p: Problem) -> Iterator[tuple[str, Columns, Columns]]:
    """Products of tensor cores, the better ones first, each with tiles and rings for it."""
    half, is_complex = p.dtype.real_bits == 16, p.dtype.is_complex
    groups = _warp_groups(p)
    if groups:
        tile, ring = ({name: groups[name] for name in names} for names in (_TILE, _RING))
        yield WGMMA, tile, ring
    for tc in ("16x8x16",) if half else ("16x8x4", "8x8x4"):
        yield tc, _tiles(half, is_complex), _rings(half)


def best(space: Space, p: Problem, device: Device) -> Config:
    """Warp groups where they pay and may be, or the config that the model gives the least time. Where the
    soft rules leave none of all that is proposed, the others decide alone."""
    size, split = p.dtype.itemsize, "registers" if p.dtype.is_complex else "none"
    unit_a, unit_b, unit_c = units(p)
    vec = min(unit_a, unit_b) // size
    for kinds, (tc, proposed, rings) in product((KINDS, HARDWARE), _proposed(p)):
        some = space.restricted(tc=tc, split=split, early_c=0, vec=vec, vec_c=unit_c // size)
        columns = _crossed(_read(some, p, vec, proposed, kinds), rings, p.dtype.real_bits == 16)
        columns["blocks"] = columns["per_sm"] * device["sms"]
        spills = _crowded(p, device, tc, split, columns)
        found = cheapest(some, columns, np.where(spills, np.inf, _modelled(p, device, columns)), kinds)
        if found is not None:
            return found
    raise AssertionError(f"no tile for {p.spelling}: the smallest one breaks no rule of hardware")


def cost(p: Problem, device: Device, columns: Columns) -> Any:
    """Clocks of the whole batch for any configs. What is likely to spill is behind all that is not, and what
    reads with few threads behind its like."""
    threads = columns["dim_x"] * columns["dim_y"]
    warps, group = threads // 32, columns["group"]
    warps_n = np.maximum(warps // group // columns["warps_m"], 1)
    of_block = {"warps_n": warps_n, "per_sm": np.maximum(columns["blocks"] // device["sms"], 1)}
    columns = columns | of_block
    blk = columns["blk_m"], columns["blk_n"], columns["blk_k"]
    busy = reading(p, columns["vec"], blk, group, columns["dim_x"], threads)
    found = np.asarray(_modelled(p, device, columns) * (1 + IDLE * (1 - busy)))
    for tc, split in dict.fromkeys(zip(columns["tc"].tolist(), columns["split"].tolist(), strict=True)):
        some = (columns["tc"] == tc) & (columns["split"] == split)
        part = {name: column[some] for name, column in columns.items()}
        found[some] *= np.where(_crowded(p, device, tc, split, part), SPILLING, 1.0)
    count = tiles(p, columns["blk_m"], columns["blk_n"], columns["group"])
    return found * grids.slower(p, device, columns, count)
