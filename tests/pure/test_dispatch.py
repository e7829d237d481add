"""The ladder of a call where the records speak of near problems, and of libraries."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import tilewright.dispatch as dispatch
from tilewright.catalog import STENCILS
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


class Neighbour(Told):
    """Records that know one near problem of another size, or of another alpha, by one stencil."""

    def __init__(self, name: str, changes: dict[str, Any]):
        self.name, self.changes = name, changes

    def near(self, problem: Problem, regime: str, device: str, *, without: str = "") -> list[Record]:
        near = problem.with_(**self.changes)
        config = STENCILS[self.name].default(near, H200)
        return [Record(near, regime, self.name, config, "ok", device, "1")]


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Makes dispatch go by other records."""

    def tell(records: Any) -> None:
        dispatch.forget()
        monkeypatch.setattr(dispatch, "records", lambda: records)
        monkeypatch.setattr(dispatch.records, "cache_clear", lambda: None, raising=False)

    return tell


@pytest.mark.parametrize(
    ("spelling", "name", "changes", "origin"),
    [
        ("d:8x8x8@100000", "tiny", {"alpha": "any"}, "near"),
        ("d:8x8x8@100000", "tiny", {"m": 9}, "default"),
        ("s:300x200x100@5000", "classic", {"k": 104}, "near"),
        ("hc:100x100x100@5000", "tensor", {"k": 104}, "near"),
    ],
)
def test_what_is_tuned_for_one_size_serves_that_size(
    told: Any, spelling: str, name: str, changes: dict[str, Any], origin: str
) -> None:
    told(Neighbour(name, changes))
    plan = dispatch.plan(Problem.parse(spelling)[0], H200)
    assert (plan.origin, plan.stencil) == (origin, name)


@pytest.mark.parametrize(("n", "stencil"), [(50, "tiny"), (52, None), (100, None)])
def test_a_vendor_that_is_faster_at_one_size_has_that_size_where_sizes_are_compiled_in(
    told: Any, n: int, stencil: str | None
) -> None:
    class Vendor(Told):
        """Records that know where the vendor is faster: at 52, and at 96."""

        def near(self, problem: Problem, regime: str, device: str, *, without: str = "") -> list[Record]:
            found = [problem.with_(m=m, n=m, k=m, alpha="any") for m in (52, 96)]
            return [Record(p, regime, dispatch.VENDOR, Config({}), "ok", device, "1") for p in found]

    told(Vendor(1000))
    plan = dispatch.plan(Problem.parse(f"d:{n}x{n}x{n}@5000")[0], H200)
    assert plan.stencil == stencil


class Empty(Told):
    """Records that know nothing."""

    def __init__(self) -> None:
        super().__init__(1)

    def near(self, *_: Any, **__: Any) -> list[Record]:
        return []


@pytest.mark.parametrize(
    ("spelling", "fields", "stencil"),
    [
        ("h:128x128x128@1000", {}, None),
        ("hc:128x128x128@1000", {}, "tensor"),
        ("d:128x128x8@1000", {}, None),
        ("s:128x128x8@1000", {}, "classic"),
        ("d:128x128x8", {}, None),
        ("d:32x32x32@9000", {}, "tiny"),
        ("d:32x32x32@9000", {"lda": 33}, "tiny"),
        ("d:32x32x32@9000", {"lda": 33, "align": 8}, None),
        ("d:32x32x32@9000", {"lda": 34}, "tiny"),
        ("d:16x16x16@9000", {"lda": 17}, "tiny"),
        ("h:16x16x16@9000", {"ldb": 17}, "tiny"),
        ("h:16x16x16@9000", {"ldb": 17, "align": 8}, None),
        ("hc:32x32x32@9000", {"lda": 33}, "tiny"),
    ],
)
def test_kernels_that_run_on_record_leave_untuned_products_to_the_library(
    told: Any, spelling: str, fields: dict[str, int], stencil: str | None
) -> None:
    told(Empty())
    problem = Problem.parse(spelling, **fields)[0]
    plan = dispatch.plan(problem, H200)
    assert plan.stencil == stencil
    assert ("no record speaks for it" in plan.why) == (stencil is None)
    assert dispatch.plan(problem, H200, vendor=False).origin == "default"


def test_a_device_that_is_only_counted_runs_nothing() -> None:
    fermi = capability.named("fermi-s2050")
    plan = dispatch.plan(Problem.parse("s:300x200x100")[0], fermi)
    assert plan.origin == "vendor"
    assert "8.0" in plan.why
