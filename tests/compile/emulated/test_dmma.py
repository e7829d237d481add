"""Float64 on tensor cores on the interpreter of PTX: edges, signs of conjugates, which k a lane has, blocks
that share slices; and no two lanes that read together want one bank."""

from __future__ import annotations

import numpy as np
import pytest

from tests import marks
from tests.emulator.cases import found_wrong, problem
from tests.emulator.memory import Array
from tests.emulator.races import Watch
from tilewright.model import Config

pytestmark = marks.COMPILED

SMALL = {"tile_m": 32, "tile_n": 64, "warps_m": 2, "mma_k": 8, "depth": 16, "stages": 2}
SMALL |= {"cluster_m": 1, "cluster_n": 1, "band": 1024, "backwards": 1, "blocks": 132, "cut": 0, "overlap": 0}


@pytest.mark.parametrize(
    ("text", "beta", "fixed"),
    [
        # A across k, B along it: 16 bytes of either at a time; odd edges, two tiles of a block.
        ("d:nn:35x29x19", "any", {}),
        # Three blocks share five tiles, of which two are cut; two clusters share one.
        ("d:nn:40x280x35", "any", {"tile_m": 64, "warps_m": 2, "cut": 1, "blocks": 3}),
        ("z:nt:24x56x20", "1", {"depth": 8, "cluster_m": 2, "cut": 2, "blocks": 4}),
        # Seven columns of products of a warp, so that two steps begin at different ones of two places.
        ("d:tt:34x34x18", "0", {"tile_m": 112, "overlap": 1}),
        # The smallest tiles in either direction; nine share one, and add the sums of two each.
        ("d:nn:70x16x37", "0", {"tile_m": 64, "tile_n": 16, "warps_m": 4}),
        ("d:nn:16x60x140", "1", {"tile_m": 16, "tile_n": 64, "warps_m": 1, "cut": 11}),
        # Both along k, and both across it, which two blocks share.
        ("d:tn:24x72x41", "1", {"mma_k": 16, "depth": 32, "cluster_n": 2}),
        ("d:nt:32x64x18", "0", {"cluster_m": 2}),
        ("z:jn:18x21x9", "any", {"depth": 8}),
        ("z:tc:33x17x9", "0", {"mma_k": 16, "depth": 16}),
    ],
)
def test_products_are_right_and_no_bank_is_asked_twice(
    text: str, beta: str, fixed: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = conflicts(monkeypatch)
    alpha = "1" if beta == "0" else "any"
    p = problem(text, beta=beta, alpha=alpha)
    unit = 16 // p.dtype.itemsize
    pads = [-(ld or 0) % unit for ld in (p.lda, p.ldb, p.ldc)]
    p = problem(text, pad=(pads[0], pads[1] + unit, pads[2] + 2 * unit), beta=beta, alpha=alpha)
    assert found_wrong("dmma", [(p, Config(SMALL | fixed))], grid_x=None if "cut" in fixed else 1) == []
    assert set(asked) == {1}


def conflicts(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Of all reads of shared memory by whole warps, how often the busiest bank was asked: of as many lanes as
    read 128 bytes, which the hardware serves together."""
    found: list[int] = []
    watched = Watch.loaded

    def loaded(watch: Watch, epoch: int, lanes: Array, addresses: Array, size: int) -> None:
        if addresses.size == 32 and size >= 8:
            words = addresses.reshape(-1, 128 // size, 1) // 4 + np.arange(size // 4)
            together = np.sort(words.reshape(len(words), 32), axis=1)
            # A word that several lanes read is asked for once.
            once = np.diff(together, axis=1, prepend=-1) > 0
            banks = together % 32 + 32 * np.arange(len(words))[:, None]
            asked = np.bincount(banks[once], minlength=32 * len(words)).reshape(len(words), 32)
            found.extend(asked.max(axis=1).tolist())
        watched(watch, epoch, lanes, addresses, size)

    monkeypatch.setattr(Watch, "loaded", loaded)
    return found


@pytest.mark.parametrize(
    ("text", "loose", "fixed"),
    [
        # Both across k or along it, or one of each; one operand by boxes; three share a tile that is cut.
        ("d:nn:35x29x19", (1, 1, 1), {}),
        ("d:tn:37x70x37", (1, 1, 0), {"tile_m": 64, "depth": 32}),
        ("d:nt:35x33x21", (1, 1, 1), {"tile_m": 64, "warps_m": 4}),
        ("d:tt:35x29x19", (0, 1, 0), {"overlap": 1}),
        ("d:nn:17x60x140", (0, 1, 1), {"tile_m": 16, "tile_n": 64, "warps_m": 1, "cut": 3}),
        ("d:tn:17x60x45", (1, 0, 0), {"tile_m": 16, "blocks": 2}),
    ],
)
def test_columns_that_begin_anywhere_come_number_by_number(
    text: str, loose: tuple[int, int, int], fixed: dict[str, int]
) -> None:
    p = problem(text, beta="any", alpha="any")
    # Odd columns, or even ones.
    pads = [int(((ld or 0) % 2 == 1) != odd) for ld, odd in zip((p.lda, p.ldb, p.ldc), loose, strict=True)]
    p = problem(text, pad=(pads[0], pads[1], pads[2]), beta="any", alpha="any")
    assert tuple(x % 2 for x in (p.lda or 0, p.ldb or 0, p.ldc or 0)) == loose
    assert found_wrong("dmma", [(p, Config(SMALL | fixed))], grid_x=None if "cut" in fixed else 1) == []


@pytest.mark.parametrize(
    ("text", "shared", "loose", "beta", "fixed"),
    [
        # Two blocks have the tiles of three products, whose columns end inside of these; A for all products.
        ("d:nn:35x29x19@3", "", 0, "any", {}),
        ("d:tn:35x70x19@3", "a", 0, "1", {"cluster_n": 2}),
        # Clusters of two blocks for tiles that follow each other in m; B for all products.
        ("z:nt:35x56x9@3", "b", 0, "1", {"depth": 8, "cluster_m": 2, "blocks": 4}),
        # Numbers one by one, of matrices that begin at odd ones.
        ("d:tt:35x33x21@3", "", 1, "1", {}),
        ("d:nt:33x35x17@3", "b", 1, "0", {"depth": 32}),
    ],
)
def test_tiles_of_a_batch_stand_side_by_side(
    text: str, shared: str, loose: int, beta: str, fixed: dict[str, int]
) -> None:
    p = problem(text, beta=beta)
    unit = 16 // p.dtype.itemsize
    pads = [(ld or 0) % 2 == 0 if loose else -(ld or 0) % unit for ld in (p.lda, p.ldb, p.ldc)]
    pad = (int(pads[0]), int(pads[1]), int(pads[2]))
    p = problem(text, pad, (1, 0, 3) if loose else (unit, 0, 2 * unit), beta=beta)
    p = p.with_(**{f"stride_{name}": 0 for name in shared})
    assert found_wrong("dmma", [(p, Config(SMALL | {"blocks": 2} | fixed))]) == []
