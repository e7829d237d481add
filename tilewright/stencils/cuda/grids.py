"""How many blocks kernels of persistent blocks are launched with, and how they share tiles.

Blocks that stay and walk over all tiles drift apart, so that what they read and write at a time lies all
over device memory. The hardware begins blocks in their order: where each takes a few tiles and ends, all that
is on its way lies close together. On an H200 kernels that compute nothing then move 1.01 of a copy where half
is written and 0.95 where seven eighths are, beside 0.98 and 0.89 at best by blocks that stay
(``bench/results/h200/order.jsonl``). But a block that ends leaves its ring of stages empty until the next has
filled it, which others on its SM have to cover.

Blocks that stay may take their tiles from a counter instead, which all blocks of a launch share
(``tickets``): tiles that are moved at a time lie as close together, and no ring is ever empty. The counter
takes a workspace.

``per_block`` is a parameter of a launch alone: no code depends on it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tilewright.model import Config, Device, Problem, SegmentedProblem
from tilewright.space import Param, Rule, arguments
from tilewright.stencils.cuda.limits import Needed
from tilewright.targets.cuda.arguments import Argument, Stamp, Struct, Workspace

Asked = Problem | SegmentedProblem
PER_BLOCK = (0, 1, 2, 4, 8, 16, 32)
"""Tiles that a block takes before it ends; 0: it stays until none is left."""
MOVED = 384 * 1024
"""Bytes that an SM moves while a block lives, where blocks end: 12 us of its share of 4.2 TB/s. Of 416
defaults of six stencils on an H200, with each number of tiles a block, lives of 6 to 16 us were the best
(``bench/results/h200/order.jsonl``)."""
MOST = 1 << 20
"""Blocks of a grid, at most: threads of all of them are counted in 32 bits."""
LEAST, FEWEST = 3, 2
"""Blocks on an SM from which on others cover the beginning of one: so chosen, defaults are 1.02 to 1.07
times as fast in the geometric mean of a stencil, and 36 of 560 lose more than 2 %
(``bench/results/h200/order.jsonl``). With two on an SM a third of those with long rings would, but not those
with short ones."""
GAIN = 0.95
"""The time of blocks that end, of those that stay, as the cost models count it. Choices of ``panel`` and
``tiny`` that count it were 1.005 times as fast as others, in 276 problems that nothing was fitted to (timed
once, not kept)."""
LIVES = 2
"""Lives of all blocks that a batch has to last for: 30 MB, which the second-level cache holds, took 0.9 to
1.25 times as long."""


TICKETED = 4
"""Blocks on an SM up to which a counter gains: those of more have small tiles, and wait for it. Of 87
defaults of ``panel`` with bulk copies and up to four, four were below 0.98 of blocks without one (1.067 in
the geometric mean, timed once, not kept); of ten with more, three, at 0.69 to 0.92."""
COUNTER = 24
"""Bytes of the counter that blocks share (``lib/tickets.cuh``)."""


def param() -> Param:
    """The parameter, which records before it do not name."""
    return Param("per_block", PER_BLOCK, absent=0)


def tickets() -> Param:
    """Whether blocks that stay take tiles from a counter, which records before it do not name."""
    return Param("tickets", (0, 1), absent=0)


def counter(config: Mapping[str, Any]) -> tuple[Argument, ...]:
    """The argument of a kernel whose blocks share a counter, behind all others."""
    if not config.get("tickets"):
        return ()
    return (Struct("Tickets", (Workspace("counter", COUNTER), Stamp("stamp"))),)


def launched(config: Mapping[str, Any], tiles: int) -> int:
    """Blocks of the grid of a launch with so many tiles."""
    per_block: int = config.get("per_block", 0)
    blocks: int = config["blocks"]
    if per_block:
        blocks = max(blocks, min(MOST, -(-tiles // per_block)))
    return max(1, min(tiles, blocks))


def staying(config: Config) -> Config:
    """A config whose blocks stay, and walk over tiles as far apart as there are blocks."""
    return Config({**config, **{name: 0 for name in ("per_block", "tickets") if name in config}})


def rule(p: Asked, device: Device, tiles: Needed, moved: int = MOVED) -> Rule:
    """Blocks stay, or end after the one number of tiles that makes their lives about as long as they should
    be: that an SM moves so many bytes meanwhile. ``tiles`` are those of a launch."""

    def test(blocks: Any, per_block: Any, **values: Any) -> Any:
        count = tiles(**values)
        life = _life(p, blocks // device["sms"], per_block, count)
        long = (life >= moved / 2**0.5) & (life < moved * 2**0.5) & lasts(p, device)
        return (per_block == 0) | (long & (-(-count // np.maximum(per_block, 1)) > blocks))

    test.reads = (*arguments(tiles), "blocks", "per_block")  # type: ignore[attr-defined]
    why = f"an SM moves some {moved // 1024} KB while a block lives, and so often that blocks end in turns"
    return Rule("per-block", "soft", why, test)


def ticket_rule(p: Asked, device: Device) -> Rule:
    """Blocks that take tiles from a counter stay, and move much."""
    long = lasts(p, device)
    return Rule(
        "tickets-stay",
        "soft",
        "blocks that take tiles from a counter stay, and move more than the second-level cache holds",
        lambda tickets, per_block: (tickets == 0) | ((per_block == 0) & long),
    )


def ticketed(p: Asked, device: Device, blocks: Any) -> Any:
    """Whether so many blocks gain by a counter, where memory sets the pace."""
    return (blocks // device["sms"] <= TICKETED) & lasts(p, device)


def lasts(p: Asked, device: Device, lives: int = LIVES) -> bool:
    """Whether a batch moves what all SMs do in so many lives of blocks."""
    return _moved(p) >= lives * MOVED * device["sms"]


def slower(
    p: Asked,
    device: Device,
    columns: Mapping[str, Any],
    tiles: Any,
    least: Any = LEAST,
    moved: int = MOVED,
) -> Any:
    """The time of configs, of that of blocks that stay, by their ``per_block``. ``least`` is as ``LEAST``,
    and ``moved`` as ``MOVED``."""
    if "per_block" not in columns:
        return 1.0
    per_sm, per_block = columns["blocks"] // device["sms"], columns["per_block"]
    far = np.abs(np.log2(np.maximum(_life(p, per_sm, per_block, tiles), 1) / moved))
    pays = (per_sm >= least) & lasts(p, device)
    return np.where(per_block == 0, 1.0, np.where(pays, GAIN, 1.02) * (1 + 0.01 * far))


def hoped(p: Asked, device: Device, blocks: Any, tiles: Any, least: Any = LEAST) -> Any:
    """The same with the best ``per_block`` of each config, of which only ``blocks`` are known."""
    pays = (blocks // device["sms"] >= least) & (tiles > blocks) & lasts(p, device)
    return np.where(pays, GAIN, 1.0)


def ended(
    p: Asked, device: Device, config: Config, tiles: int, least: int = LEAST, moved: int = MOVED
) -> Config:
    """A config with the tiles of a block that a life of so many bytes asks for."""
    stay = config["blocks"]
    wanted = rule(p, device, lambda: tiles, moved)
    fits = [n for n in PER_BLOCK if wanted.test(blocks=stay, per_block=n)]
    cost = slower(p, device, {"blocks": stay, "per_block": np.array(fits)}, tiles, least, moved)
    return Config({**config, "per_block": fits[int(np.argmin(cost))]})


def _moved(p: Asked) -> int:
    """Bytes that a launch moves, shared operands once."""
    return p.footprint + (p.updated if isinstance(p, Problem) else 0)


def _life(p: Asked, per_sm: Any, per_block: Any, tiles: Any) -> Any:
    """Bytes that an SM moves while a block of so many tiles lives."""
    return per_sm * per_block * (_moved(p) / np.maximum(tiles, 1))
