"""Very small matrices on the interpreter of PTX: groups, rings, copies and what is left over of each."""

from __future__ import annotations

import pytest

from tests import marks
from tests.emulator.cases import H200, found_wrong, problem, smallest
from tests.emulator.machine import SCHEDULES
from tests.emulator.products import wrongs

pytestmark = marks.COMPILED


FORMS = ["s:5x6x7", "d:nt:9x7x6", "c:ct:6x3x5", "z:nj:5x4x3", "h:tn:9x11x7", "b:nt:8x10x12", "hc:cn:7x9x8"]


@pytest.mark.parametrize(("number", "path"), list(enumerate(("plain", "async", "bulk"))))
@pytest.mark.parametrize("text", FORMS)
def test_tiny_multiplies(text: str, number: int, path: str) -> None:
    dense = problem(f"{text}@11", alpha="any", beta="any")
    padded = problem(f"{text}@11", (1, 2, 1), (0, 1, 3), beta="0")
    # Every form both ways, and every path with the halves of the forms.
    turn = number + FORMS.index(text)
    p = (dense, padded)[turn % 2]
    config = smallest(p, 0, path=path, mma=0, warps=2)
    assert list(wrongs("tiny", p, config, H200, schedules=[SCHEDULES[turn % 4]], grid_x=2)) == []


@pytest.mark.parametrize(
    ("text", "mma", "path"),
    [
        ("d:9x17x7", 8, "async"),
        ("d:9x17x7", 16, "bulk"),
        ("d:tt:16x8x12", 16, "async"),
        ("z:ct:8x9x6", 8, "bulk"),
        ("z:nn:8x8x4", 16, "async"),
        ("h:17x9x10", 16, "bulk"),
        ("b:tn:16x16x16", 16, "bulk"),
        ("h:nt:16x24x40", 16, "async"),
        ("hc:nc:9x8x12", 16, "bulk"),
        ("hc:jt:16x8x16", 16, "async"),
    ],
)
def test_tiny_multiplies_on_tensor_cores(text: str, mma: int, path: str) -> None:
    p = problem(f"{text}@5", alpha="any", beta="any")
    config = smallest(p, 3, path=path, mma=mma, warps=2)
    assert list(wrongs("tiny", p, config, H200, schedules=SCHEDULES[1:2], grid_x=1)) == []


@pytest.mark.parametrize(
    ("text", "pad", "path", "mma", "rows", "columns"),
    [
        # Two fragments of A in two orders, and steps of B in two.
        ("d:16x16x16", 0, "bulk", 16, 16, 16),
        # Four of A; of rows that are not there the last one is read.
        ("d:nt:26x8x16", 6, "bulk", 16, 32, 8),
        # B beside each other, A along k.
        ("d:tt:8x32x16", 0, "async", 8, 8, 32),
        # Both along k, of which the last step is half there.
        ("d:tn:9x7x29", 3, "bulk", 8, 16, 8),
        # Both beside each other, and single numbers of 8 bytes.
        ("d:nt:15x15x8", 1, "bulk", 16, 16, 16),
        ("z:nn:32x8x8", 0, "bulk", 16, 32, 8),
        ("z:jc:8x13x8", 3, "bulk", 8, 8, 16),
        # Columns begin in other banks: nothing is turned.
        ("d:12x12x10", 0, "async", 16, 16, 16),
    ],
)
def test_lanes_of_tensor_cores_take_turns(
    text: str, pad: int, path: str, mma: int, rows: int, columns: int
) -> None:
    """What they ask for in different orders they multiply in one."""
    p = problem(f"{text}@5", (pad, pad, 0), alpha="any", beta="any")
    config = smallest(p, 3, path=path, mma=mma, rows=rows, columns=columns, warps=2, turn=1)
    assert list(wrongs("tiny", p, config, H200, schedules=SCHEDULES[1:2], grid_x=1)) == []


@pytest.mark.parametrize(("text", "path"), [("h:9x9x9", "bulk"), ("b:tn:5x3x7", "async")])
@pytest.mark.parametrize("shared", ["a", "b"])
def test_odd_matrices_are_read_by_words(text: str, path: str, shared: str) -> None:
    p = problem(f"{text}@19", beta="any", align=2).with_(**{f"stride_{shared}": 0})
    p = p if path == "async" else p.with_(align=16)
    config = smallest(p, 0, path=path, mma=0, warps=1, rows=p.m, odd=1)
    assert list(wrongs("tiny", p, config, H200, schedules=SCHEDULES[1:2], grid_x=1)) == []


@pytest.mark.parametrize("stages", [2, 3])
@pytest.mark.parametrize("path", ["async", "bulk"])
def test_tiny_waits_for_its_ring(path: str, stages: int) -> None:
    """One block through more groups than it has stages, so that each is filled again, by three warps."""
    p = problem("d:8x8x7@11", beta="1")
    config = smallest(p, 1, path=path, mma=0, warps=3, stages=stages, rows=1, columns=2)
    assert list(wrongs("tiny", p, config, H200, grid_x=1)) == []


@pytest.mark.parametrize("padded", ["a", "b", "c"])
def test_tiny_copies_nothing_behind_the_last_column(padded: str) -> None:
    """Whole groups, of which the last one has padding behind its last column that belongs to nobody."""
    pad = tuple(2 * (name == padded) for name in "abc")
    p = problem("d:4x4x4@12", pad, beta="1")
    config = smallest(p, 0, path="bulk", mma=0, warps=2)
    assert 12 % config["group"] == 0
    assert found_wrong("tiny", [(p, config)], grid_x=2) == []


@pytest.mark.parametrize("rows", [3, 5, 7])
def test_tiny_writes_what_vectors_leave_of_a_column(rows: int) -> None:
    """Columns of C that begin at multiples of 16 bytes and end in 6, 10 or 14: vectors of 8, 4 and 2."""
    p = problem(f"h:{rows}x4x8@13", (8 - rows, 0, 8 - rows))
    config = smallest(p, 0, path="bulk", mma=0, warps=2)
    assert found_wrong("tiny", [(p, config)], grid_x=2) == []


@pytest.mark.parametrize("path", ["plain", "async", "bulk"])
@pytest.mark.parametrize("which", ["a", "b"])
def test_tiny_shares_an_operand(which: str, path: str) -> None:
    p = problem("s:4x6x4@9").with_(**{f"stride_{which}": 0})
    assert found_wrong("tiny", [(p, smallest(p, 0, path=path, mma=0, warps=2))], grid_x=2) == []


@pytest.mark.parametrize("text", ["s:nn:70x2x3@5", "d:tt:2x66x2@3"])
def test_tiny_multiplies_with_one_long_extent(text: str) -> None:
    p = problem(text, beta="any")
    assert found_wrong("tiny", [(p, smallest(p, 0, path="bulk", mma=0, warps=2))], grid_x=2) == []


@pytest.mark.parametrize("path", ["plain", "async"])
def test_tiny_multiplies_matrices_by_their_addresses(path: str) -> None:
    p = problem("d:5x3x4@9", (1, 2, 3), (1, 2, 3), pointers=True, beta="any", align=8)
    assert list(wrongs("tiny", p, smallest(p, 0, path=path, mma=0, warps=2), H200, grid_x=2)) == []
