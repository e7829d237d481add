"""What ``bench.sanitize`` reads in the logs of the tools."""

from __future__ import annotations

import pytest

from bench.sanitize import tool
from bench.sanitize.child import results
from tests.pure.sanitize.logs import CLEAN, FOUND, NAMES, TOOLS, log_of

pytestmark = pytest.mark.pure


@pytest.mark.parametrize("name", TOOLS)
def test_a_log_without_a_finding(name: str) -> None:
    log = log_of(CLEAN[name])
    assert tool.findings(log) == []
    assert tool.total(log) == 0
    assert results(log) == dict.fromkeys(NAMES, "right")
    # What the child itself prints is nothing that the tool says.
    assert tool.findings("Invalid __global__ read\n    at naive_1+0x10\n") == []
    ended = "========= Target application returned an error\n========= Error: process is gone\n"
    assert tool.findings(ended) == []


@pytest.mark.parametrize("name", TOOLS)
def test_a_log_with_a_finding(name: str) -> None:
    finding, end, where = FOUND[name]
    log = log_of(finding, end)
    (one,) = tool.findings(log)
    assert one[0] == finding.splitlines()[0].removeprefix("========= ")
    assert len(one) == len(finding.splitlines()) - 1
    assert not any(line.startswith(("=", " ")) for line in one)
    # Not the kernel whose name only begins alike, in whichever order they are asked.
    assert tool.owner(one, NAMES) == tool.owner(one, NAMES[::-1]) == where
    assert tool.owner(one, ["naive_1"]) == tool.owner([], NAMES) == ""
    assert tool.total(log) == 1
    twice = log_of(finding, "launched naive_2: right\n", finding, end.replace(" 1 ", " 2 ", 1))
    assert tool.findings(twice) == [one, one]
    assert tool.total(twice) == 2
    # An empty line has ended it.
    assert tool.findings(log_of(finding, "=========     no line of it\n", end)) == [one]


@pytest.mark.parametrize("name", TOOLS)
def test_a_log_that_was_cut_short(name: str) -> None:
    finding, _, where = FOUND[name]
    two_lines = "".join(finding.splitlines(keepends=True)[:2])
    log = log_of(finding, two_lines, "\nstopped after 5 s\n", without="naive_1")
    whole, begun = tool.findings(log)
    assert begun == whole[:2]
    assert tool.owner(begun, NAMES) == where
    assert tool.total(log) is None
    assert results(log).keys() == set(NAMES[:2])
    # Nothing found so far is not the same as nothing found.
    assert tool.total(log_of()) is None
