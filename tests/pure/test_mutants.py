"""The table of slips fits the program: a slip that no longer applies tests nothing."""

from __future__ import annotations

import shlex

import pytest

from bench.mutants.__main__ import ROOT, fits
from bench.mutants.slip import Slip
from bench.mutants.slips import SLIPS

pytestmark = pytest.mark.pure


@pytest.mark.parametrize("slip", SLIPS, ids=lambda slip: f"{slip.file}: {slip.old.strip():.40}")
def test_a_slip_is_in_its_file_once(slip: Slip) -> None:
    assert fits(slip), f"{slip.old!r} is not exactly once in {slip.file}"
    assert slip.new != slip.old


@pytest.mark.parametrize("tests", sorted({slip.tests for slip in SLIPS}))
def test_the_tests_that_should_see_a_slip_are_there(tests: str) -> None:
    files = [part for part in shlex.split(tests) if part.endswith(".py")]
    assert files
    assert all((ROOT / file).is_file() for file in files)


def test_no_slip_is_there_twice() -> None:
    assert len({(slip.file, slip.old, slip.new) for slip in SLIPS}) == len(SLIPS)
