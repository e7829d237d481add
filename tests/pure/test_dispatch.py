"""The ladder of a call where the records speak of near problems, and of libraries."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import tilewright.dispatch as dispatch
from tilewright.model import Config, Problem, Record
from tilewright.targets import capability

pytestmark = pytest.mark.pure

H200 = capability.named("h200")


class Told:
    """Records that know one near problem, at which the vendor is faster."""

    def __init__(self, batch: int):
        self.batch = batch

    def best(self, *_: Any, **__: Any) -> None:
        return None

    def near(self, problem: Problem, regime: str, device: str, *, without: str = "") -> list[Record]:
        near = problem.with_(m=problem.m + 1, batch=self.batch)
        record = Record(near, regime, dispatch.VENDOR, Config({}), "ok", device, "1")
        return [] if without == dispatch.VENDOR else [record]


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    yield
    dispatch.forget()


@pytest.mark.parametrize(
    ("asked", "known", "origin"),
    [
        (1, 1, "vendor"),
        (5000, 5000, "vendor"),
        (5000, 7, "vendor"),
        (1, 5000, "vendor"),
        (5000, 1, "default"),
    ],
)
def test_a_vendor_that_is_faster_nearby(
    monkeypatch: pytest.MonkeyPatch, asked: int, known: int, origin: str
) -> None:
    dispatch.forget()
    monkeypatch.setattr(dispatch, "records", lambda: Told(known))
    monkeypatch.setattr(dispatch.records, "cache_clear", lambda: None, raising=False)
    problem = Problem.parse(f"s:300x200x100@{asked}")[0]
    plan = dispatch.plan(problem, H200)
    assert plan.origin == origin
    assert (plan.stencil is None) == (origin == "vendor")
    assert ("near problem" in plan.why) == ((asked == 1) == (known == 1))
    # Who rules the vendor out gets a kernel.
    assert dispatch.plan(problem, H200, vendor=False).origin == "default"


def test_a_device_that_is_only_counted_runs_nothing() -> None:
    fermi = capability.named("fermi-s2050")
    plan = dispatch.plan(Problem.parse("s:300x200x100")[0], fermi)
    assert plan.origin == "vendor"
    assert "8.0" in plan.why
