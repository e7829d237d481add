"""The watch over shared memory in the interpreter of kernels: what it faults, and what it lets pass."""

from __future__ import annotations

import numpy as np
import pytest

from tests.emulator.machine import BLOCK, FIRST
from tests.emulator.memory import Fault
from tests.emulator.races import COLLECTIVE, Watch

pytestmark = pytest.mark.pure

LANES = np.arange(32)
OWN = FIRST + 4 * LANES
"""A word of each lane's own."""
NEXT = FIRST + 4 * (LANES ^ 1)
"""That of a neighbour."""
UNORDERED, UNFENCED = "no barrier between them", "no fence between them"


def watch() -> Watch:
    return Watch(FIRST, 1024, BLOCK, 2)


def test_what_a_lane_wrote_others_read_behind_a_barrier() -> None:
    seen = watch()
    epoch = seen.epoch()
    seen.stored(epoch, 0, LANES, OWN, 4)
    seen.loaded(epoch, LANES, OWN, 4)
    with pytest.raises(Fault, match=UNORDERED):
        seen.loaded(epoch, LANES, NEXT, 4)
    with pytest.raises(Fault, match=UNORDERED):
        seen.loaded(epoch, LANES[:1], OWN[:1], 8)
    seen.loaded(epoch, LANES, NEXT + BLOCK, 4)
    seen.loaded(seen.epoch(), LANES, NEXT, 4)


@pytest.mark.parametrize("together", [False, True])
def test_what_lanes_read_another_writes_behind_a_barrier(together: bool) -> None:
    seen = watch()
    epoch = seen.epoch()
    if together:
        seen.loaded(epoch, LANES, np.full(32, FIRST), 4)
    else:
        seen.loaded(epoch, LANES[:1], OWN[:1], 4)
        seen.loaded(epoch, LANES[1:2], OWN[:1], 4)
    for lane in (0, 1, 31):
        with pytest.raises(Fault, match=UNORDERED):
            seen.stored(epoch, 0, LANES[lane : lane + 1], OWN[:1], 4)
    seen.stored(epoch, 0, LANES[:1], OWN[1:2], 4)
    seen.stored(seen.epoch(), 0, LANES[31:], OWN[:1], 4)


def test_a_matrix_is_read_by_all_lanes_together() -> None:
    seen = watch()
    epoch = seen.epoch()
    seen.loaded(epoch, np.full(32, COLLECTIVE), OWN, 2)
    with pytest.raises(Fault, match=UNORDERED):
        seen.stored(epoch, 0, LANES, OWN, 4)


def test_a_bulk_copy_meets_what_the_lane_that_wrote_has_fenced() -> None:
    seen = watch()
    seen.stored(seen.epoch(), 0, LANES, OWN, 4)
    seen.stored(seen.epoch(), 1, LANES, OWN + 128, 4)
    seen.copied(FIRST + 256, 16)
    seen.copied(FIRST + BLOCK, 16)
    seen.fenced(0, LANES > 0)
    with pytest.raises(Fault, match=UNFENCED):
        seen.copied(FIRST, 16)
    seen.copied(FIRST + 16, 112)
    with pytest.raises(Fault, match=UNFENCED):
        seen.copied(FIRST + 16, 128)
    seen.fenced(0, LANES == 0)
    seen.fenced(1, LANES >= 0)
    seen.copied(FIRST, 256)


def test_a_product_of_warp_groups_meets_it_in_any_of_its_lines() -> None:
    seen = watch()
    seen.stored(seen.epoch(), 0, LANES, OWN, 4)
    lines = FIRST + 128 * np.arange(4)
    seen.multiplied(lines[1:], 128)
    for some in (lines, lines[:1]):
        with pytest.raises(Fault, match=UNFENCED):
            seen.multiplied(some, 128)
    seen.fenced(0, LANES >= 0)
    seen.multiplied(lines, 128)
