"""Lists of different sizes on the interpreter of PTX: teams, tiles and ways of copying."""

from __future__ import annotations

import pytest

from tests import marks
from tests.emulator.cases import H200
from tests.emulator.machine import SCHEDULES, Schedule
from tests.emulator.products import grouped_wrongs
from tilewright.catalog import STENCILS
from tilewright.model import DTYPES
from tilewright.space import HARDWARE
from tilewright.stencils.cuda.grouped.stencil import products

pytestmark = marks.COMPILED


LISTED = [(5, 6, 7), (16, 8, 16), (1, 1, 1), (13, 2, 9), (8, 16, 4), (3, 11, 16), (16, 16, 0), (7, 5, 12)]


@pytest.mark.parametrize(
    ("letter", "trans", "bulk"),
    [
        ("s", "nt", 0),
        ("s", "nt", 1),
        ("c", "cn", 1),
        ("h", "nn", 0),
        ("hc", "ct", 1),
        # On tensor cores.
        ("d", "tn", 1),
        ("z", "nj", 0),
        ("b", "tt", 1),
        ("hc", "ct", 0),
    ],
)
def test_grouped_multiplies(letter: str, trans: str, bulk: int) -> None:
    p = products(DTYPES[letter], 16, 16, 16, trans, len(LISTED), alpha="any", beta="any")
    space = STENCILS["grouped"].space(p, H200).only((*HARDWARE, "hard"))
    number = 2 * "sdczhb".find(letter) + bulk
    mma = int(letter in "dhb") if bulk else int(letter in ("z", "hc"))
    fixed = {"bulk": bulk, "warps": 2, "team": 1 + number % 2, "mma": mma, "blocks": H200["sms"]}
    # One form of tile after the other takes long to compile.
    fixed |= {"fine": 0, "rows": 2, "columns": 4, "deep": 1 + number % 2}
    # One program for both, which a compiler takes longer for than the lists take.
    config = space.restricted(**fixed, depth=(2, 4)[number // 2 % 2]).sample(1, number)[0]
    for pads, own in (((0, 0, 0), True), ((1, 2, 3), False)):
        found = grouped_wrongs(
            letter,
            trans,
            LISTED,
            config,
            H200,
            pads=pads,
            own=own,
            beta="any",
            schedule=SCHEDULES[number % 4],
        )
        assert list(found) == []


@pytest.mark.parametrize("schedule", SCHEDULES[:2])
def test_grouped_copies_next_to_each_other_in_different_ways(schedule: Schedule) -> None:
    """Bulk copies to where threads have just copied by words: a ring without room to spare, of one team."""
    sizes = [(16, 16, 16), (7, 5, 12), (16, 14, 16)] * 3
    p = products(DTYPES["d"], 16, 16, 16, "nn", len(sizes), alpha="any", beta="any")
    space = STENCILS["grouped"].space(p, H200).only((*HARDWARE, "hard"))
    fixed = {"bulk": 1, "warps": 1, "team": 1, "mma": 0, "fine": 0, "rows": 2, "columns": 4, "deep": 1}
    found = space.restricted(**fixed, depth=2, blocks=H200["sms"]).sample(100, 0)
    config = min(found, key=lambda config: config["ring"])
    wrong = grouped_wrongs("d", "nn", sizes, config, H200, pads=(2, 2, 2), every=2, grid=1, schedule=schedule)
    assert list(wrong) == []
