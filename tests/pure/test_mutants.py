"""The table of slips fits the program: a slip that no longer applies tests nothing."""

from __future__ import annotations

import pytest

from bench.mutants.__main__ import fits
from bench.mutants.slips import SLIPS, Slip

pytestmark = pytest.mark.pure


@pytest.mark.parametrize("slip", SLIPS, ids=lambda slip: f"{slip.file}: {slip.old.strip():.40}")
def test_a_slip_is_in_its_file_once(slip: Slip) -> None:
    assert fits(slip), f"{slip.old!r} is not exactly once in {slip.file}"
    assert slip.new != slip.old


def test_no_slip_is_there_twice() -> None:
    assert len({(slip.file, slip.old, slip.new) for slip in SLIPS}) == len(SLIPS)
