"""Tiles that are cut along k among blocks, for stencils whose sums meet as ``warpgroup/parts.cuh`` has it:
the rules of their spaces, which tiles these are, who has how much of them, and the workspace.

Functions on configs work on numbers and on NumPy arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from tilewright.model import Config
from tilewright.space import HARDWARE, KINDS, Rule, Space, arguments
from tilewright.stencils.cuda.warpgroup.needs import FLAGS, Cut, added, cut_share, cut_tiles, cut_workers
from tilewright.targets.cuda.arguments import Scalar, Stamp, Struct, Workspace

CUTS = (0, 1, 2, 3, 4, 5, 6, 8, 11, 16, 22, 33, 66, 132)
"""Into how many parts: none, as many as make blocks equally busy, or so many."""
LEAST = 4
"""Slices of a part of a tile: with fewer its sums take longer to meet than to make."""
WARPS = 8
"""Warps of a block that sum."""
MET = 3000
"""Bytes of sums that all blocks together store into the second-level cache, or load from it, in a clock. This
and the two below are guesses from what the cache does for other kernels, not fitted."""
CALLED = 900
"""Clocks from asking for some sums of other blocks to having added them."""
TOLD = 2500
"""Clocks for which a block waits that adds the sums of others, and again if these have added some."""
WORD, ASKED = 16, 4
"""Bytes of sums that a thread asks for in one go, and how many such words of each of some other blocks are on
their way at once."""

MINOR = ("stages", "outs", "band", "backwards", "overlap", "a_first", "steps", "behind")
"""Parameters in which configs that a search begins with do not only differ: what else they are decides more,
and models are wrong of these alike."""
STARTS = 16
"""Configs that a search begins with, the default among them."""

Needed = Callable[..., Any]


def rules(waves: Needed, slices: Needed) -> Iterator[Rule]:
    """What spaces say of ``cut``. Both functions take parameters by their names: ``waves`` gives the tiles of
    clusters, and how many there are at a time, ``slices`` those of a tile along k."""
    yield Rule(
        "cut-count",
        "queryable",
        "slices of tiles that are cut are fewer than 2^31",
        _of(
            lambda cut, wave, count: cut_tiles(wave[0], wave[1], cut) * (count + cut) < 2**31,
            waves,
            slices,
        ),
    )
    yield Rule(
        "cut-full",
        "soft",
        "tiles are cut where the last wave is not full",
        _of(lambda cut, wave: (cut == 0) | (cut_tiles(wave[0], wave[1], cut) > 0), waves),
    )
    yield Rule(
        "cut-idle",
        "soft",
        "tiles of the last wave are not cut in more parts than there are blocks for",
        _of(lambda cut, wave: (cut <= 1) | (wave[0] % wave[1] * cut <= wave[1]), waves),
    )
    yield Rule(
        "cut-short",
        "soft",
        f"a part of a tile has {LEAST} slices or more",
        _of(lambda cut, count: (cut <= 1) | (count >= LEAST * cut), slices),
    )


def _of(fits: Callable[..., Any], *needed: Needed) -> Needed:
    """A rule's test of ``cut`` and of what each function makes of its parameters."""
    read = [(each, arguments(each)) for each in needed]

    def test(cut: Any, **values: Any) -> Any:
        return fits(cut, *(each(**{name: values[name] for name in names}) for each, names in read))

    names = dict.fromkeys(name for _, names in read for name in names)
    test.reads = (*names, "cut")  # type: ignore[attr-defined]
    return test


def allowed(space: Space, settled: Mapping[str, Any], kinds: Sequence[str]) -> dict[str, Any]:
    """Columns of all configs with some values that the rules of these kinds let through. A rule is asked as
    soon as all parameters are there that it reads: spaces with cuts have millions of combinations."""
    found = {name: np.array([value]) for name, value in settled.items()}
    rules = [rule for rule in space.rules if rule.kind in kinds]
    for param in space.params:
        if param.name not in found:
            count = len(next(iter(found.values())))
            found = {name: np.repeat(values, len(param.values)) for name, values in found.items()}
            found[param.name] = np.tile(np.array(param.values), count)
        ready = [rule for rule in rules if set(rule.reads) <= set(found)]
        rules = [rule for rule in rules if rule not in ready]
        for rule in ready:
            count = len(found[param.name])
            kept = np.broadcast_to(rule.test(**{name: found[name] for name in rule.reads}), count)
            found = {name: values[kept] for name, values in found.items()}
    return found


def liked(
    space: Space,
    settled: Mapping[str, Any],
    clocks: Callable[[Mapping[str, Any]], Any],
    count: int = 1,
) -> list[Config]:
    """The ``count`` configs of least cost that all rules allow, where the soft ones leave none, of those that
    the hardware can run; of configs that differ in ``MINOR`` parameters alone the cheapest. None of a space
    that is empty."""
    for kinds in (KINDS, (*HARDWARE, "hard")):
        columns = allowed(space, settled, kinds)
        some = len(next(iter(columns.values())))
        if not some:
            continue
        cost = clocks(columns)
        if count == 1:
            return [_config(space, columns, int(np.argmin(cost)))]
        found: dict[tuple[Any, ...], Config] = {}
        for at in np.argsort(cost, kind="stable"):
            config = _config(space, columns, int(at))
            found.setdefault(tuple(value for name, value in config.items() if name not in MINOR), config)
            if len(found) == count:
                break
        return list(found.values())
    return []


def _config(space: Space, columns: Mapping[str, Any], at: int) -> Config:
    return Config({param.name: columns[param.name][at].item() for param in space.params})


def cut_of(count: int, places: int, slices: int, cut: int) -> Cut:
    """What is cut of so many tiles of clusters, which so many clusters of blocks share."""
    some = int(cut_tiles(count, places, cut))
    if some == 0:
        return Cut(count, 0, 0, 0, slices)
    workers = int(cut_workers(some, places, cut, slices))
    if cut == 1:
        return Cut(count - some, workers, *divmod(some * slices, workers), slices)
    share = int(cut_share(some, places, cut, slices))
    return Cut(count - some, workers, share, 0, share * (workers // some))


def met_bytes(found: Cut, cluster: int, tile_bytes: int) -> int:
    """Bytes of a workspace where the sums of tiles meet that are cut: a flag for each warp, and then sums."""
    blocks = found.workers * cluster
    return -(-blocks * WARPS * 8 // FLAGS) * FLAGS + blocks * tile_bytes


def argument(found: Cut, workspace: Workspace | None) -> Struct:
    """Which tiles are cut, and the workspace."""
    place = (Scalar("workspace", "q", 0), Scalar("stamp", "q", 0))
    given = place if workspace is None else (workspace, Stamp("stamp"))
    return Struct("Cut", (*given, *(Scalar(name, "i", value) for name, value in found._asdict().items())))


def clocks(
    count: Any, places: Any, slices: Any, cut: Any, slice_clocks: Any, askew: float, stored: Any, sums: Any
) -> tuple[Any, Any]:
    """Clocks of all tiles, by those of a slice (``askew`` times longer of cut tiles, whose blocks are at
    different k) and of storing a tile; and how many more until sums have met, by the bytes of the sums of a
    cluster."""
    some = cut_tiles(count, places, cut)
    waves = -(-(count - some) // places)
    workers = np.maximum(cut_workers(some, places, cut, slices), 1)
    share = -(-some * slices // workers)
    # Equal lengths begin and end inside tiles: all shares but those that end with a tile are for others at
    # their ends, and a tile has a part of one block more.
    equal = cut == 1
    ended = np.where(equal, np.gcd(np.asarray(some, int), np.asarray(workers, int)), some)
    given = np.maximum(workers - ended, 0)
    part = np.where(some > 0, share * slice_clocks * askew + stored * np.maximum(1, share / slices), 0)
    near, far = added(-(-workers // np.maximum(some, 1)) + (equal & (ended < workers)))
    words = sums // (32 * WARPS * WORD)
    at_once = np.where(words <= 8, 8, np.where(words <= 16, 4, 1))
    asked = -(-words // ASKED) * -(-(near + far) // at_once)
    told = np.where(far > 0, 2, 1) * TOLD
    joined = np.where((some > 0) & (given > 0), 2 * given * sums / MET + asked * CALLED + told, 0)
    return waves * (slices * slice_clocks + stored) + part, joined
