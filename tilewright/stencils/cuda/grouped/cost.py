"""The choice without a search: a cost model of grouped.cuh.

Sizes are in elements, shared memory in bytes.
"""

from __future__ import annotations

from tilewright.model import Config, Device, GroupedProblem
from tilewright.stencils.cuda.common import IN_FLIGHT
from tilewright.stencils.cuda.grouped.needs import largest, registers, shared_bytes, words_of
from tilewright.stencils.cuda.grouped.space import DEPTHS, TEAMS, WARPS, ring_of


def best(p: GroupedProblem, device: Device) -> Config:
    """One block on an SM, with as many teams as hold the largest product and as warps have registers.

    What hides latency here is teams that wait for memory while others multiply, and a warp alone has no
    one to wait for; so products are shared only where fewer than eight of them fit. Two places in a ring
    are enough for all but the smallest: more are filled before the first product is multiplied (H200,
    10,000 products of 1 to 32: 33 us with 2 places, 35.5 us with 4, 37 us with 8).
    """
    rows, columns = _tile(p)
    mma = int(p.dtype.real_bits != 32)
    least, per_sm = largest(p), device["registers_per_sm"]
    block = min(device["shared_per_sm"] - device["shared_reserved"], device["shared_per_block_optin"])
    found: list[tuple[float, int, int, int, int]] = []
    for team in TEAMS:
        # The compiler takes more, for reads ahead and for C, and for the two k of a word.
        more = 16 * (p.dtype.real_bits == 16 and p.dtype.is_complex)
        if p.beta == "any" or (mma and p.beta == "1"):
            more = 16 if p.dtype.real_bits != 16 else 8 if p.beta == "1" and not p.dtype.is_complex else 24
        needed = int(1.25 * int(registers(p, rows, columns))) + 8 + more
        if p.dtype.letter == "c":  # One step of k in a turn: nothing is read ahead.
            needed = min(needed, 128 + more)
        for warps in WARPS:
            teams = warps // team
            # Each of the four schedulers has registers of its own.
            if warps % team or 32 * (-(-warps // 4) * 4) * (-(-needed // 8) * 8) > per_sm:
                continue
            if team > 1 and (teams > 15 or p.n < 4 * team):
                continue
            # Two places, or more where products are so small that too few bytes would be on their way.
            for depth in DEPTHS:
                ring = min(max(ring_of(block, teams, depth), least), least * depth)
                if teams * ring >= 2 * IN_FLIGHT:
                    break
            if shared_bytes(team, warps, ring, depth) > block:
                continue
            waiting = min(1.0, teams / 12) ** 0.5
            running = min(1.0, warps / 16) ** 0.5
            room = min(1.0, ring / least / 1.25) ** 0.25
            found.append((waiting * running * room * 0.97 ** (team - 1), team, warps, depth, ring))
    _, team, warps, depth, ring = max(found)
    return Config(
        {
            "bulk": int("bulk_copy" in device.supports),
            "rows": rows,
            "columns": columns,
            # A step has as many additions to addresses as a turn: few where a step is short.
            "deep": {"s": 4, "d": 2, "z": 2}.get(p.dtype.letter, 1),
            "fine": int(p.dtype.letter == "c"),
            "mma": mma,
            "team": team,
            "warps": warps,
            "depth": depth,
            "ring": ring,
            "blocks": device["sms"],
        }
    )


def _tile(p: GroupedProblem) -> tuple[int, int]:
    """Rows and columns of a lane, for the largest products."""
    rows = min(4, -(-p.m // 8))
    if p.dtype.real_bits != 32:
        rows += rows & 1
    wide = p.dtype.letter == "c" or (words_of(p) <= 2 and not p.dtype.is_complex)
    columns = min(8 if wide else 4, -(-p.n // 4))
    return rows, columns + (columns & 1)
