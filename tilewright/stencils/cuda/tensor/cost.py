"""The choice without a search: a cost model of tensor.cuh.

Sizes are in elements, shared memory in bytes. Functions on configs work on numbers and on NumPy arrays.
"""

from __future__ import annotations

from functools import cache
from itertools import product
from typing import Any

import numpy as np

from tilewright.model import Config, Device, Problem
from tilewright.stencils.cuda.common import WIDEST, fitted, resident, units
from tilewright.stencils.cuda.tensor.needs import (
    MARGIN,
    MARGIN_AHEAD,
    SHAPES,
    WGMMA,
    registers,
    shared_bytes,
    step_of,
)
from tilewright.stencils.cuda.tensor.space import reading, words_along

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
_WARPS = ((1, 1), (1, 2), (2, 1), (2, 2), (1, 4), (2, 4), (4, 2), (1, 8))
_NAMES = ("blk_m", "blk_n", "blk_k", "warps_m", "warps_n", "group", "stages", "per_sm", "ahead")


@cache
def _candidates(half: bool, is_complex: bool) -> dict[str, Any]:
    """Columns of candidates: parts of a warp times warps, steps, groups, stages, blocks of an SM."""
    tiles = product(_PARTS[half, is_complex], _WARPS, (8, 16, 32, 64) if half else (8, 16, 32))
    known = {8, 16, 24, 32, 48, 64, 96, 128, 192, 256}
    rows = [
        (part_m * warps_m, part_n * warps_n, blk_k, warps_m, warps_n, group, stages, per_sm, ahead)
        for (part_m, part_n), (warps_m, warps_n), blk_k in tiles
        if {part_m * warps_m, part_n * warps_n} <= known
        for group, stages, per_sm in product((1, 2, 4, 8), (1, 2, 3, 4, 6), (1, 2, 3, 4, 5, 6, 8))
        for ahead in ((0, 1) if half and stages > 1 and part_m * part_n >= 512 else (0,))
        if warps_m * warps_n * group <= 8
        and warps_m * warps_n * group * per_sm >= 4
        and (group == 1 or part_m * warps_m * part_n * warps_n <= 2048)
        and stages * blk_k <= (256 if half else 64)
    ]
    return dict(zip(_NAMES, np.array(rows).T, strict=True))


def _modelled(p: Problem, device: Device, columns: dict[str, Any]) -> Any:
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


def _fitting(p: Problem, device: Device, tc: str, split: str, columns: dict[str, Any]) -> Any:
    """Which candidates obey the hard rules; of those the ones that the soft rules want, if there are any."""
    half, size = p.dtype.real_bits == 16, p.dtype.itemsize
    vec = min(units(p)[:2]) // size
    blk_m, blk_n, blk_k, warps_m, warps_n, group, stages, per_sm, ahead = (columns[name] for name in _NAMES)
    warps, blk = warps_m * warps_n * group, (blk_m, blk_n, blk_k)
    along = (blk_k if p.turned_a else blk_m, blk_n if p.turned_b else blk_k)
    shared = shared_bytes(p, tc, split, stages, 0, blk, (warps, group, warps_m))
    needed = registers(p, tc, split, stages, ahead, blk, (warps, group, warps_m))
    needed = needed + np.where(ahead == 1, MARGIN_AHEAD, MARGIN)
    fits = (shared <= device["shared_per_block_optin"]) & (needed <= device["registers_per_thread"])
    fits &= resident(shared, needed, warps, device) >= per_sm
    fits &= (along[0] % vec == 0) & (along[1] % vec == 0) & (blk_k % int(step_of(p, tc, split)) == 0)
    fits &= (blk_m // warps_m % SHAPES[tc][0] == 0) & ((stages == 1) | (vec * size >= 4))
    tiles = -(-p.m // blk_m) * -(-p.n // blk_n)
    fits &= (group == 1) | (tiles == 1)
    fits &= (blk_k < p.k + 16) | (blk_k <= 16)
    # Where C is as narrow as that, any shape will do.
    shapely = fits & ((blk_m <= 2 * blk_n) | (blk_n >= p.n)) & ((blk_n <= 2 * blk_m) | (blk_m >= p.m))
    shapely &= (blk_m < 2 * p.m) | (blk_m <= (16 if half else 8))
    shapely &= (blk_n < 2 * p.n) | (blk_n <= 8)
    # Half of the threads have something to read, or more.
    shapely &= np.minimum(blk_m, blk_n) * blk_k * group >= 16 * warps * vec
    return shapely if shapely.any() else fits


def _warp_groups(p: Problem, device: Device) -> dict[str, int] | None:
    """A tile of warp groups for large products of complex half, where they can be had: at 256 a search timed
    508 TFLOP/s on an H200, and 394 of single warps. Where C is read, more and smaller blocks hide that.
    """
    wide = min(units(p)[:2]) == WIDEST and "wgmma" in device.supports and not p.turned_b
    if not (wide and p.dtype.letter == "hc" and min(p.m, p.n) >= 128 and p.k >= 32):
        return None
    if p.beta != "0":
        tile = (64, 128, 32, 4, 1, 1, 4, 2, 0) if p.n >= 256 else (64, 64, 32, 4, 1, 1, 4, 3, 0)
    elif -(-p.m // 128) * -(-p.n // 128) * 128**2 > 1.5 * p.m * p.n:
        return None  # Too much of the tiles would be for nothing.
    else:
        tile = (128, 128, 32, 8, 1, 1, 4, 1, 0)
    return dict(zip(_NAMES, tile, strict=True))


def best(p: Problem, device: Device) -> Config:
    """Warp groups where they pay, or the candidate that the model gives the least time."""
    half, is_complex, size = p.dtype.real_bits == 16, p.dtype.is_complex, p.dtype.itemsize
    sms = device["sms"]
    unit_a, unit_b, unit_c = units(p)
    vec, vec_c = min(unit_a, unit_b) // size, unit_c // size
    tc = "16x8x16" if half else "16x8x4" if "mma_f64_m16" in device.supports and p.m > 8 else "8x8x4"
    split = "registers" if is_complex else "none"

    groups = _warp_groups(p, device)
    if groups:
        tc, values = WGMMA, groups
    else:
        columns = _candidates(half, is_complex)
        fits = _fitting(p, device, tc, split, columns)
        cheapest = int(np.argmin(np.where(fits, _modelled(p, device, columns), np.inf)))
        values = {name: int(columns[name][cheapest]) for name in _NAMES}
    threads = 32 * values["warps_m"] * values["warps_n"] * values["group"]
    words = int(words_along(p, vec, values["blk_m"], values["blk_n"], values["blk_k"]))
    tile = (values["blk_m"], values["blk_n"], values["blk_k"])
    most = min(32, 1 << (words.bit_length() - 1))
    along_one = [x for x in (32, 16, 8, 4, 2, 1) if x <= most and (x == most or x * vec * size >= 32)]
    dim_x = max(along_one, key=lambda x: float(reading(p, vec, tile, values["group"], x, threads)))
    return Config(
        {"tc": tc, "split": split, "stages": values["stages"], "ahead": values["ahead"], "early_c": 0}
        | {"vec": vec, "vec_c": vec_c}
        | {name: values[name] for name in ("blk_k", "blk_m", "blk_n")}
        | {"dim_x": dim_x, "dim_y": threads // dim_x, "group": values["group"]}
        | {"warps_m": values["warps_m"], "blocks": values["per_sm"] * sms}
    )
