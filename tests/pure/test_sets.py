"""A set of few kernels for many problems: what is tried, what is believed, and what calls then run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import tilewright as tw
from tilewright.calls import settings
from tilewright.catalog import STENCILS
from tilewright.cli import render
from tilewright.cli.commands import arguments
from tilewright.cli.queries import runs
from tilewright.errors import ArgumentError, RecordsError
from tilewright.model import VENDOR, Config, Device, Problem, Record, Timing
from tilewright.planning import alike, dispatch
from tilewright.runtime import build
from tilewright.space import HARDWARE, Space
from tilewright.store.records import Records
from tilewright.tuning import timing as measure
from tilewright.tuning.sets import cells
from tilewright.tuning.sets.kernel_set import KernelSet, kernel_set
from tilewright.tuning.tasks import sized, toolchain

pytestmark = pytest.mark.pure

DEVICE = dispatch.device()
Kernel = tuple[str, Config]


def one(spelling: str, **fields: Any) -> Problem:
    return Problem.parse(spelling, **fields)[0]


SIZES = [one(f"d:{n}x{n}x8") for n in (6, 8, 12)]


def kernel(width: int) -> Kernel:
    """A kernel that all of the sizes can have: tiles of so many columns, k in steps of 4."""
    spaces = [STENCILS["tile"].space(p, DEVICE).only(HARDWARE) for p in SIZES]
    found = (config for config in spaces[0].restricted(blk_n=width, blk_k=4, roll=0))
    # The largest size refuses most of them.
    return "tile", next(config for config in found if all(config in space for space in spaces[:0:-1]))


NARROW, MIDDLE, WIDE = kernel(1), kernel(2), kernel(3)


@dataclass
class FakeTuner:
    """In place of the tuner: kernels take the seconds that it is told, tried alone and in turns."""

    records: Records
    alone: Callable[[int, Kernel], float]
    turns: Callable[[int, Kernel], float]
    winners: dict[int, Kernel]
    vendor: float | None = None
    device: Device = DEVICE
    tuned: list[tuple[int, tuple[Kernel, ...]]] = field(default_factory=list)
    beside: list[tuple[int, Kernel]] = field(default_factory=list)
    wrong: set[tuple[int, Kernel]] = field(default_factory=set)
    """What a round in turns finds wrong."""

    def append(self, p: Problem, regime: str, which: Kernel, seconds: float, protocol: int) -> None:
        batch = sized(p, regime, self.device).batch
        timing = Timing((seconds,), seconds, seconds, seconds, regime, batch, protocol)
        written = "their 1" if which[0] == VENDOR else toolchain(self.device, which[0])
        row = Record(
            sized(p, regime, self.device), regime, *which, "ok", self.device.key, written,
            timing=timing, protocol=protocol, when=f"2026-01-{protocol:02}",
        )  # fmt: skip
        self.records.append(row)

    def tune(self, p: Problem, regime: str, **options: Any) -> None:
        asked: tuple[Kernel, ...] = ()
        if "spaces" in options:
            space: Space = options["spaces"](STENCILS["tile"].space(p, self.device))
            asked = tuple(("tile", config) for config in space)
        self.tuned.append((p.m, asked))
        winner = self.winners[p.m]
        for each in asked or (winner,):
            self.append(p, regime, each, self.alone(p.m, each), measure.ALONE)
        self.append(p, regime, winner, self.turns(p.m, winner), measure.DECIDED)
        if self.vendor is not None:
            self.append(p, regime, (VENDOR, Config({})), self.vendor, measure.DECIDED)

    def in_turns(self, p: Problem, regime: str, kernels: list[Kernel]) -> dict[Kernel, Record]:
        self.beside.append((p.m, kernels[1]))
        best, found = min(kernels, key=lambda each: self.turns(p.m, each)), {}
        for each in kernels:
            seconds = self.turns(p.m, each)
            # What drifts, drifts for all of a round.
            samples = tuple(seconds * (1 + drift) for drift in (0.0, 0.5, 1.0))
            timing = Timing(samples, seconds, seconds, seconds, regime, p.batch, measure.INTERLEAVED)
            wrong = (p.m, each) in self.wrong
            found[each] = Record(
                *(p, regime, *each, "wrong" if wrong else "ok", self.device.key),
                toolchain(self.device, each[0]),
                timing=None if wrong else timing,
                protocol=measure.DECIDED if each == best and not wrong else measure.INTERLEAVED,
                when="2026-02",
            )
            self.records.append(found[each])
        return found


@pytest.fixture
def store(new_home: Path, tmp_path: Path) -> Iterator[Records]:
    made = Records(shipped=tmp_path)
    yield made
    made.close()
    settings.use_kernels(None)


JOBS = [(p, "cached") for p in SIZES]
BEST = {6: NARROW, 8: MIDDLE, 12: WIDE}


def made(tuner: FakeTuner, within: float = 0.05, **options: Any) -> KernelSet:
    asked = {"search": "model", "seconds": 1.0, **options}
    return kernel_set(tuner, JOBS, within=within, **asked)  # type: ignore[arg-type]


def seconds(m: int, which: Kernel) -> float:
    """The middle one loses 4 % on what others win, the others lose much."""
    return 1e-3 if which == BEST[m] else 1.04e-3 if which == MIDDLE else 1.5e-3


def test_one_kernel_that_loses_little_on_all(store: Records) -> None:
    tuner = FakeTuner(store, seconds, seconds, BEST)
    said: list[str] = []
    found = made(tuner, listen=said.append)
    assert (found.kernels, found.exact, found.holds) == ((MIDDLE,), True, True)
    assert [case.loss for case in found.cases] == pytest.approx([0.04, 0.0, 0.04])
    assert all(case.beside for case in found.cases)
    assert sorted(tuner.beside) == [(6, MIDDLE), (12, MIDDLE)], "the winner needs no comparison"
    # Sizes are compiled in.
    keys = {build.key(*MIDDLE[:1], p, MIDDLE[1], DEVICE) for p in SIZES}
    assert found.binaries == (len(keys),) == (3,)
    assert [(point.kernels, round(point.worst, 6)) for point in found.curve] == [(1, 0.04), (3, 0.0)]
    # First each is tuned, then the winners of others are tried.
    assert [m for m, _ in tuner.tuned] == [6, 8, 12, 6, 8, 12]
    assert {MIDDLE, WIDE} <= set(tuner.tuned[3][1])
    assert NARROW not in tuner.tuned[3][1]
    assert len(said) == 3 + 3 + 2
    again = FakeTuner(store, seconds, seconds, BEST)
    assert made(again).kernels == found.kernels
    assert again.tuned == [], "the records know it"


def test_what_is_slower_side_by_side_is_not_taken(store: Records) -> None:
    def turns(m: int, which: Kernel) -> float:
        return 1.2e-3 if (m, which) == (12, MIDDLE) else seconds(m, which)

    found = made(FakeTuner(store, seconds, turns, BEST))
    assert set(found.kernels) == {MIDDLE, WIDE}
    assert [case.kernel for case in found.cases] == [
        found.kernels.index(each) for each in (MIDDLE, MIDDLE, WIDE)
    ]
    assert (found.holds, found.worst) == (True, pytest.approx(0.04))


def test_what_was_timed_in_turns_is_recorded_and_goes_by(store: Records) -> None:
    def turns(m: int, which: Kernel) -> float:
        return 0.9e-3 if (m, which) == (12, MIDDLE) else seconds(m, which)

    found = made(FakeTuner(store, seconds, turns, BEST))
    assert [case.record.protocol for case in found.cases] == [
        *(measure.INTERLEAVED, measure.DECIDED, measure.DECIDED)
    ]
    written = toolchain(DEVICE, "tile")
    wide = store.tried(found.cases[2].problem, "cached", DEVICE.key, "tile", measure.INTERLEAVED, written)
    assert list(wide) == [WIDE[1]], "it was beaten in turns"
    winner = store.best(found.cases[2].problem.key, "cached", DEVICE.key)
    assert winner is not None
    assert (winner.stencil, winner.config) == MIDDLE
    # The next set begins there: that problem has nothing left to compare.
    again = FakeTuner(store, seconds, turns, BEST)
    assert made(again).kernels == (MIDDLE,)
    assert again.beside == [(6, MIDDLE)]


def test_who_turns_out_wrong_in_turns_serves_nobody(store: Records) -> None:
    tuner = FakeTuner(store, seconds, seconds, BEST, wrong={(12, WIDE)})
    found = made(tuner)
    assert found.kernels == (MIDDLE,)
    assert [case.loss for case in found.cases] == pytest.approx([0.04, 0.0, 0.0])


def test_what_the_vendor_does_faster_is_left_to_it(store: Records) -> None:
    tuner = FakeTuner(store, seconds, seconds, BEST, vendor=0.9e-3)
    found = made(tuner)
    assert (found.kernels, found.cases, found.worst, found.curve) == ((), (), 0.0, ())
    assert [(p.extents, regime) for p, regime in found.left] == [(p.extents, "cached") for p in SIZES]
    assert made(tuner, rival=lambda problem: False).kernels == (MIDDLE,)
    assert [case.problem.m for case in made(tuner, rival=lambda problem: problem.m == 6).cases] == [8, 12]
    assert [alike.has_rival(one(text)) for text in ("hc:8", "h:8", "d:8")] == [False, True, True]


def test_records_only_measures_nothing(store: Records) -> None:
    tuner = FakeTuner(store, seconds, seconds, BEST)
    with pytest.raises(ArgumentError, match=r"d:nn:6x6x8.*no kernel is known to be right"):
        made(tuner, search="")
    for p in SIZES:
        for each in (NARROW, MIDDLE, WIDE):
            tuner.append(p, "cached", each, seconds(p.m, each), measure.ALONE)
    found = made(tuner, search="")
    assert (found.kernels, [case.beside for case in found.cases]) == ((MIDDLE,), [False, True, False])
    assert tuner.tuned == tuner.beside == []


def test_what_was_wrong_once_serves_nobody(store: Records) -> None:
    tuner = FakeTuner(store, seconds, seconds, BEST)
    made(tuner)
    case = cells.Case(sized(SIZES[0], "cached", DEVICE), "cached")
    cells.look(case, store, DEVICE)
    assert case.knows(MIDDLE)
    written = toolchain(DEVICE, "tile")
    store.append(
        Record(
            *(case.problem, "cached", *MIDDLE, "wrong", DEVICE.key, written),
            protocol=measure.ALONE,
            when="2027",
        )
    )
    cells.look(case, store, DEVICE)
    assert not case.knows(MIDDLE)
    assert case.knows(NARROW)


def test_calls_go_by_the_set_that_is_in_use(store: Records, tmp_path: Path) -> None:
    found = made(FakeTuner(store, seconds, seconds, BEST))
    settings.forget()
    problem = SIZES[0]

    def runs() -> Kernel:
        plan = dispatch.plan(problem, DEVICE)
        assert plan.origin == "tuned"
        assert plan.stencil is not None
        assert plan.config is not None
        return plan.stencil, plan.config

    assert runs() == NARROW
    assert found.save(tmp_path / "set.jsonl") == 3
    for kernels in (found, tmp_path / "set.jsonl", str(tmp_path / "set.jsonl")):
        assert tw.use_kernels(kernels) == 3
        assert runs() == MIDDLE
        assert dispatch.plan(one("d:7x7x7"), DEVICE).stencil is not None, "others go by the ladder"
        assert tw.use_kernels(None) == 0
        assert runs() == NARROW
    # They are ordinary records as well.
    assert Records(tmp_path / "other.sqlite").import_(tmp_path / "set.jsonl").new == 3
    (tmp_path / "set.jsonl").write_text("{}")
    with pytest.raises(RecordsError, match=r"set\.jsonl, line 1: .* is missing"):
        tw.use_kernels(tmp_path / "set.jsonl")


def test_what_is_no_set_is_refused(store: Records, monkeypatch: pytest.MonkeyPatch) -> None:
    tuner: Any = FakeTuner(store, seconds, seconds, BEST)
    with pytest.raises(ArgumentError, match="problems is empty"):
        kernel_set(tuner, [], within=0.05, search="model", seconds=1.0)
    for within in (-0.1, float("nan"), float("inf")):
        with pytest.raises(ArgumentError, match=r"within=.*accepted: a share from 0"):
            made(tuner, within)
    for options in ({"effort": "hard"}, {"device": "tpu"}, {"budget": -1.0}):
        with pytest.raises(ArgumentError, match=f"{next(iter(options))}=.*accepted"):
            tw.kernel_set("d:8", **options)  # type: ignore[arg-type]
    assert [arguments.share_of(text) for text in ("5%", "0.05", " 12.5 %", "0")] == [0.05, 0.05, 0.125, 0.0]
    for text in ("much", "-1%", "2000%", "nan"):
        with pytest.raises(ArgumentError, match=r"within=.*accepted: a share such as 5% or 0.05"):
            arguments.share_of(text)


def test_the_table_says_both_counts_and_what_was_not_measured(
    store: Records, capsys: pytest.CaptureFixture[str]
) -> None:
    row = runs.kernel_set(made(FakeTuner(store, seconds, seconds, BEST)))
    assert row["kernels"][0]["serves"] == row["kernels"][0]["binaries"] == 3
    render.kernel_set(row)
    said = capsys.readouterr().out
    assert "1 kernels (no fewer do), 3 binaries, for 3 problems; largest loss 4.0%, as measured" in said
    row["cases"][0]["beside"] = row["holds"] = row["exact"] = False
    render.kernel_set(row)
    said = capsys.readouterr().out
    assert "fewer may do" in said
    assert "4.0% ?" in said
    assert "the bound of 5.0% does not hold" in said
