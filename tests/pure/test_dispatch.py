"""The ladder of a call where the records speak of near problems, and of libraries."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from importlib.resources import files
from typing import Any

import pytest

import tilewright.planning.dispatch as dispatch
from tilewright.catalog import STENCILS
from tilewright.errors import ArgumentError
from tilewright.model import VENDOR, Config, Problem, Record
from tilewright.runtime import call_cache
from tilewright.space import HARDWARE
from tilewright.store.jsonl import decode
from tilewright.targets.cuda import capability

pytestmark = pytest.mark.pure

H200 = capability.named("h200")


class Told:
    """Records that know one near problem, at which the vendor is faster."""

    def __init__(self, batch: int):
        self.batch = batch

    def best(self, *_: Any, **__: Any) -> None:
        return None

    def devices(self) -> list[str]:
        return []

    def predicted(self, *_: Any) -> None:
        return None

    def near(self, problem: Problem, regime: str, device: str, *, without: str = "") -> list[Record]:
        near = problem.with_(m=problem.m + 1, batch=self.batch)
        record = Record(near, regime, VENDOR, Config({}), "ok", device, "1")
        return [] if without == VENDOR else [record]


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    yield
    call_cache.clear()


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
    call_cache.clear()
    monkeypatch.setattr(dispatch.alone, "standing", lambda *_: None)
    monkeypatch.setattr(dispatch.neighbours, "standing", lambda *_: None)
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
        call_cache.clear()
        monkeypatch.setattr(dispatch, "records", lambda: records)
        monkeypatch.setattr(dispatch.records, "cache_clear", lambda: None, raising=False)

    return tell


@pytest.mark.parametrize(
    ("spelling", "name", "changes", "origin"),
    [
        ("d:8x8x8@100000", "tiny", {"alpha": "any"}, "near"),
        ("d:8x8x8@100000", "tiny", {"m": 9}, "default"),
        ("s:300x200x100@5000", "classic", {"k": 104}, "near"),
        ("hc:tt:100x100x100@5000", "tensor", {"k": 104}, "near"),
    ],
)
def test_what_is_tuned_for_one_size_serves_that_size(
    told: Any, spelling: str, name: str, changes: dict[str, Any], origin: str
) -> None:
    told(Neighbour(name, changes))
    plan = dispatch.plan(Problem.parse(spelling)[0], H200)
    assert (plan.origin, plan.stencil) == (origin, name)


@pytest.mark.parametrize(("n", "stencil"), [(16, "tiny"), (28, None), (600, None)])
def test_a_vendor_that_is_faster_at_one_size_has_that_size_where_sizes_are_compiled_in(
    told: Any, n: int, stencil: str | None
) -> None:
    class Vendor(Told):
        """Records that know where the vendor is faster: at 28, and at 596."""

        def near(self, problem: Problem, regime: str, device: str, *, without: str = "") -> list[Record]:
            found = [problem.with_(m=m, n=m, k=m, alpha="any") for m in (28, 596)]
            return [Record(p, regime, VENDOR, Config({}), "ok", device, "1") for p in found]

    told(Vendor(1000))
    plan = dispatch.plan(Problem.parse(f"d:{n}x{n}x{n}@5000")[0], H200)
    assert plan.stencil == stencil
    assert ("records say" in plan.why) == (stencil is None)


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
        ("h:67x67x67@90000", {}, "whole"),
        ("h:126x126x126@9000", {}, None),
        ("hc:128x128x128@1000", {}, "tensor"),
        ("s:128x128x8@1000", {}, None),
        ("s:300x9x9@9000", {}, "panel"),
        ("s:300x60x60@9000", {}, None),
        ("s:300x20x20@9000", {}, "panel"),
        ("d:300x60x60@9000", {}, None),
        ("c:9x300x9@9000", {}, "panel"),
        ("d:20x20x20@9000", {}, "tiny"),
        ("d:20x20x20@9000", {"lda": 21}, "tiny"),
        ("d:16x16x16@9000", {"lda": 17}, "tiny"),
        ("h:16x16x16@9000", {"ldb": 17}, "tiny"),
        ("h:16x16x16@900000", {"ldb": 17, "align": 8}, "tiny"),
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


class Recorded(Told):
    """Records that know one config of one stencil: of this very problem, or of a near one."""

    def __init__(self, name: str, config: dict[str, Any], changes: dict[str, Any] | None = None):
        self.name, self.config, self.changes = name, Config(config), changes

    def made(self, problem: Problem, regime: str, device: str) -> Record:
        return Record(problem, regime, self.name, self.config, "ok", device, "1")

    def best(self, key: str, regime: str, device: str, *, accept: Any = None, **_: Any) -> Record | None:
        record = self.made(ASKED, regime, device)
        return record if self.changes is None and accept(record) else None

    def near(self, problem: Problem, regime: str, device: str, *, without: str = "") -> list[Record]:
        near = [] if self.changes is None else [problem.with_(**self.changes)]
        return [self.made(each, regime, device) for each in near]


ASKED = Problem.parse("s:300x200x100@5000")[0]
SPACE = dispatch.STENCILS["classic"].space(ASKED, H200)
PLAIN = dict(dispatch.STENCILS["classic"].default(ASKED, H200))


def broken(kinds: Sequence[str]) -> dict[str, Any]:
    """The default with one value changed so that it breaks rules of these kinds and of no other."""
    for param in SPACE.params:
        for value in param.values:
            config = PLAIN | {param.name: value}
            if (rules := SPACE.why(config)) and all(rule.kind in kinds for rule in rules):
                return config
    raise AssertionError(f"no config breaks rules of {kinds} alone")


STRANGE = {
    "a value that the parameter has not": PLAIN | {"m_blk": -1},
    "nothing": PLAIN | {"m_blk": 0},
    "a truth value": PLAIN | {"m_blk": True},
    "a fraction": PLAIN | {"m_blk": float(PLAIN["m_blk"])},
    "a text": PLAIN | {"m_blk": str(PLAIN["m_blk"])},
    "a parameter more": PLAIN | {"colour": 1},
    "a parameter less": {name: value for name, value in PLAIN.items() if name != "m_blk"},
    "a hardware rule broken": broken(HARDWARE),
}


@pytest.mark.parametrize("config", STRANGE.values(), ids=STRANGE)
@pytest.mark.parametrize("changes", [None, {"k": 104}], ids=["tuned", "near"])
def test_a_recorded_config_that_is_not_of_the_space_is_passed_over(
    told: Any, config: dict[str, Any], changes: dict[str, Any] | None
) -> None:
    rung = "tuned" if changes is None else "near"
    told(Recorded("classic", PLAIN, changes))
    assert dispatch.plan(ASKED, H200).origin == rung
    told(Recorded("classic", config, changes))
    assert dispatch.plan(ASKED, H200).origin not in ("tuned", "near")


def test_a_soft_rule_binds_what_was_tuned_nearby_and_not_what_was_tuned_here(told: Any) -> None:
    slow = broken(("soft", "guideline"))
    told(Recorded("classic", slow))
    assert dispatch.plan(ASKED, H200).origin == "tuned"
    told(Recorded("classic", slow, {"k": 104}))
    assert dispatch.plan(ASKED, H200).origin not in ("tuned", "near")


def test_where_sizes_are_compiled_in_another_layout_is_another_problem(told: Any) -> None:
    asked = Problem.parse("d:8x8x8@100000")[0]
    for changes, origin in (({"alpha": "any"}, "near"), ({"lda": 9}, "default")):
        told(Recorded("tiny", dict(dispatch.STENCILS["tiny"].default(asked, H200)), changes))
        assert dispatch.plan(asked, H200).origin == origin


@pytest.mark.parametrize("config", [c for c in STRANGE.values() if c.keys() == PLAIN.keys()], ids=str)
def test_a_forced_config_is_held_against_the_same_space(config: dict[str, Any]) -> None:
    with pytest.raises(ArgumentError, match=r"config (says m_blk=|breaks ')"):
        dispatch.plan(ASKED, H200, stencil="classic", config=config)


def test_an_import_is_told_what_no_kernel_could_run() -> None:
    right = Record(ASKED, "memory", "classic", Config(PLAIN), "ok", "h200", "nvrtc")
    assert dispatch.misfit(right) is None
    for config in STRANGE.values():
        wrong = replace(right, config=Config(config))
        assert "config " in str(dispatch.misfit(wrong))
        assert dispatch.misfit(replace(wrong, status="spills")) is None
        assert dispatch.misfit(replace(wrong, device="nobody knows")) is None
        assert dispatch.misfit(replace(wrong, stencil="of another version")) is None
    assert "tile" in str(dispatch.misfit(replace(right, stencil="tile")))
    assert "grouped" in str(dispatch.misfit(replace(right, stencil="grouped")))


def test_every_config_that_ships_for_a_gpu_is_of_its_space() -> None:
    """A few were found before the sides of tiles were chosen among fewer; they are passed over."""
    text = files("tilewright.store").joinpath("data", "h200.jsonl").read_text(encoding="utf-8")
    records = [decode(json.loads(line)) for line in text.splitlines()]
    reasons = [reason for record in records if (reason := dispatch.misfit(record)) is not None]
    assert len(reasons) <= 5
    assert all("config says rows=2" in reason or "config says columns=10" in reason for reason in reasons)
    assert sum(record.stencil in dispatch.STENCILS for record in records) > 600
