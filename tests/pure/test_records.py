"""The store: nothing written is lost, the right record is found, and a bad file harms nobody."""

from __future__ import annotations

import json
import multiprocessing
import os
import pickle
import signal
import sqlite3
import subprocess
import sys
import threading
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from importlib.resources import files as resources
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tilewright
from tilewright.catalog import STENCILS
from tilewright.errors import ArgumentError, RecordsError
from tilewright.model import DTYPES, STATUSES, Config, Device, Interleaved, Problem, Record, Timing
from tilewright.store import codecs, jsonl
from tilewright.store.fields import checks
from tilewright.store.jsonl import decode, encode
from tilewright.store.paths import home, set_aside, warn_once
from tilewright.store.records import SCHEMA, Records, _check_version, _identity, _retire
from tilewright.targets.cuda import capability

pytestmark = pytest.mark.pure

PROBLEM = Problem.parse("d:8x8x8@1000")[0]
DEVICE = "zen-avx2"


def timing(median: float, batch: int = 1000, regime: str = "memory", protocol: int = 1) -> Timing:
    samples = (median, median * 1.25, median * 0.75)
    return Timing(samples, median, median * 0.75, median * 1.25, regime, batch, protocol)


def record(
    median: float | None = 1e-3,
    problem: Problem | str = PROBLEM,
    regime: str = "memory",
    config: dict[str, Any] | None = None,
    protocol: int = 1,
    batch: int = 1000,
    **changes: Any,
) -> Record:
    """A usable result, or a failed try when there is no median."""
    if isinstance(problem, str):
        (problem,) = Problem.parse(problem)
    plain = Record(
        problem, regime, "tile", Config(config or {"mr": 8, "nr": 4}), "ok", DEVICE, "llvm 20",
        timing=None if median is None else timing(median, batch, regime, protocol), protocol=protocol,
    )  # fmt: skip
    return replace(plain, **changes)


@pytest.fixture
def shipped(tmp_path: Path) -> Path:
    """The folder of shipped files, empty."""
    folder = tmp_path / "shipped"
    folder.mkdir()
    return folder


@pytest.fixture
def store(tmp_path: Path, shipped: Path) -> Records:
    """An empty store with nothing shipped."""
    return Records(tmp_path / "records.sqlite", shipped=shipped)


def ship(folder: Path, *lines: Record | dict[str, Any], device: str = DEVICE) -> None:
    plain = [encode(line, samples=False) if isinstance(line, Record) else line for line in lines]
    (folder / f"{device}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in plain))


# ---- what goes in comes out

NUMBERS = st.floats(allow_nan=False)
TEXTS = st.text(max_size=5)
VALUES = st.integers() | st.booleans() | TEXTS | st.tuples(st.integers(), TEXTS) | st.none()


@st.composite
def records(draw: st.DrawFn) -> Record:
    """Any record: every status, with and without a timing, every field of a problem, texts of any kind."""
    letters = st.sampled_from("ntcj")
    sizes = [draw(st.integers(0, 99)) for _ in range(3)]
    layout = draw(
        st.fixed_dictionaries(
            {},
            optional={
                **dict.fromkeys(("lda", "ldb", "ldc", "stride_c"), st.integers(99, 200)),
                **dict.fromkeys(("stride_a", "stride_b"), st.just(0)),
                "alpha": st.just("any"), "beta": st.sampled_from(["1", "any"]), "math": st.just("tf32"),
                "align": st.sampled_from([1, 2, 4, 8]), "pointers": st.just(True),
            },
        )
    )  # fmt: skip
    problem = Problem(  # type: ignore[call-arg]
        DTYPES[draw(st.sampled_from(sorted(DTYPES)))], *sizes, draw(letters), draw(letters),
        draw(st.integers(1, 10**6)), **layout,
    )  # fmt: skip
    timed = st.builds(
        Timing, st.lists(NUMBERS, max_size=3).map(tuple), NUMBERS, NUMBERS, NUMBERS, TEXTS,
        st.integers(0, 10**6), st.integers(0, 9),
    )  # fmt: skip
    return Record(
        problem, draw(TEXTS), draw(TEXTS), Config(draw(st.dictionaries(TEXTS, VALUES, max_size=3))),
        draw(st.sampled_from(STATUSES)), draw(TEXTS), draw(TEXTS), draw(TEXTS),
        draw(st.none() | NUMBERS), draw(st.none() | timed), draw(st.none() | NUMBERS), draw(TEXTS),
        draw(st.integers(0, 9)), draw(TEXTS), draw(TEXTS), draw(TEXTS),
    )  # fmt: skip


@given(records())
def test_a_line_of_text_holds_all_of_a_record(original: Record) -> None:
    line = json.dumps(encode(original), allow_nan=False)
    assert decode(json.loads(line)) == original


@given(records())
def test_without_samples_only_the_samples_are_missing(original: Record) -> None:
    bare = original.timing and replace(original.timing, samples=())
    assert decode(encode(original, samples=False)) == replace(original, timing=bare)


def different(name: str) -> Any:
    """A value of a problem's field that is not its default: by its name, else by the default's type."""
    named = {
        "dtype": DTYPES["z"],
        "trans_a": "t",
        "trans_b": "c",
        "alpha": "any",
        "beta": "1",
        "math": "tf32",
        "interleaved": Interleaved(),
        "outer": ((3, 4, 0, 16),),
    }
    plain = getattr(PROBLEM, name)
    if name in named or type(plain) is str:
        return named.get(name, "another")
    return not plain if type(plain) is bool else plain // 2 if name == "align" else plain + 9


@pytest.mark.parametrize("name", [each.name for each in fields(Problem)])
def test_a_record_is_found_under_the_key_of_its_own_problem(store: Records, name: str) -> None:
    """Whatever field a problem has: a line holds it, and the record does not compete with another's."""
    changed = {name: different(name)}
    other = PROBLEM.with_(**changed) if name == "interleaved" else replace(PROBLEM, **changed)
    assert other != PROBLEM
    mine, plain = record(1e-9, other), record(1.0)
    for each in (mine, plain):
        store.append(each)
    if name != "batch":  # which no key holds
        assert best(store, other) == mine
        assert best(store) == plain
    (newest,) = store.tried(other, "memory", DEVICE, "tile", 1, "llvm 20").values()
    assert newest == (mine if name != "batch" else plain)
    assert store.all() == [mine, plain]


@dataclass(frozen=True)
class Longer:
    """A noun with a field that has the given kind of value."""

    count: int
    extra: complex


def test_a_field_whose_value_no_line_can_hold_is_an_error() -> None:
    with pytest.raises(TypeError, match=r"Longer\.extra.*complex"):
        checks(Longer, (), {})
    assert list(checks(Longer, ("extra",), {})) == ["count"]


def test_a_new_field_of_a_problem_is_in_the_line_by_itself() -> None:
    @dataclass(frozen=True, slots=True)
    class Grown(Problem):
        shade: str = "light"
        depth: int = 0

    codec = codecs.gemm_codec(Grown)
    problem = Grown(DTYPES["d"], 2, 3, 4, shade="dark", depth=5)
    line = json.loads(json.dumps(codec.encode(problem)))
    assert line == {"problem": "d:nn:2x3x4@1", "shade": "dark", "depth": 5}
    assert codec.decode(line) == problem


def test_another_kind_of_problem_has_a_codec_of_its_own(
    store: Records, monkeypatch: pytest.MonkeyPatch
) -> None:
    @dataclass(frozen=True, slots=True)
    class Sum:
        m: int
        key: str = "sum"
        family: str = "sums"

        @property
        def extents(self) -> tuple[int, int, int]:
            return self.m, 1, 1

    codec = codecs.Codec(
        "sum", Sum, {"m": ("a count", lambda value: value > 0)}, lambda p: {"m": p.m}, lambda v: Sum(v["m"])
    )
    with pytest.raises(RecordsError, match="Sum"):
        store.append(record(problem=Sum(3)))  # type: ignore[arg-type]
    monkeypatch.setitem(codecs.CODECS, "sum", codec)
    one = record(problem=Sum(3))  # type: ignore[arg-type]
    store.append(one)
    assert encode(one)["kind"] == "sum"
    assert store.best("sum", "memory", DEVICE) == one
    with pytest.raises(RecordsError, match="kind='riddle'"):
        decode(encode(record()) | {"kind": "riddle"})


def test_a_record_comes_back_whole_from_another_connection(store: Records) -> None:
    full = record(
        1e-4, PROBLEM.with_(ldc=12, beta="any"), config={"nr": 4, "mr": 8, "order": ("n", "m"), "mask": True},
        source="abc", seconds=1.5, error=0.25, detail="two\nlines | ü", clocks="3.1 GHz",
        driver="none", when="2030-01-02T03:04:05Z",
    )  # fmt: skip
    store.append(full)
    store.close()
    (found,) = Records(store.path).all()
    assert found == full
    assert list(found.config) == ["nr", "mr", "order", "mask"]


def test_an_error_that_is_no_number_is_kept(store: Records) -> None:
    store.append(record(None, status="wrong", error=float("nan")))
    (found,) = store.all()
    assert found.error is not None
    assert found.error != found.error


def test_numpy_numbers_are_stored_as_numbers(store: Records) -> None:
    store.append(record(config={"mr": np.int64(8), "fast": np.bool_(True)}, protocol=np.int32(1)))
    (found,) = store.all()
    assert found.config == Config({"mr": 8, "fast": True})
    assert type(found.config["mr"]) is int


@pytest.mark.parametrize(
    ("bad", "told"),
    [
        ({"status": "splendid"}, "status='splendid'"),
        ({"config": Config({"f": len})}, "cannot be written"),
        ({"protocol": -1}, "protocol=-1"),
    ],
)
def test_a_record_that_could_not_be_read_back_is_refused(
    store: Records, bad: dict[str, Any], told: str
) -> None:
    with pytest.raises(RecordsError, match=told):
        store.append(record(**bad))
    assert store.all() == []


def test_all_filters_by_each_value_and_keeps_the_order(store: Records) -> None:
    plain = record(config={"n": 0})
    others = {
        "problem_key": record(problem="d:9x9x9"),
        "regime": record(regime="cached"),
        "device": replace(plain, device="other"),
        "stencil": replace(plain, stencil="other"),
        "status": replace(plain, status="spills", timing=None),
    }
    values = {
        "problem_key": PROBLEM.key,
        "regime": "memory",
        "device": DEVICE,
        "stencil": "tile",
        "status": "ok",
    }
    tries = [*others.values(), plain]
    for each in tries:
        store.append(each)

    assert store.all() == tries
    assert store.all(**values) == [plain]
    for name, other in others.items():
        assert store.all(**{name: values[name]}) == [each for each in tries if each is not other]


# ---- the best


def best(store: Records, problem: Problem = PROBLEM, regime: str = "memory") -> Record | None:
    return store.best(problem.key, regime, DEVICE)


def test_nothing_is_best_in_an_empty_store(store: Records) -> None:
    assert best(store) is None


def test_the_best_is_the_fastest_per_product(store: Records) -> None:
    slow_but_short = record(1e-3, batch=10, config={"n": 1})
    fast_but_long = record(2e-3, batch=1000, config={"n": 2})
    for each in (slow_but_short, fast_but_long, record(3e-3, batch=1000, config={"n": 3})):
        store.append(each)
    assert best(store) == fast_but_long


@pytest.mark.parametrize(
    "other",
    [
        {"problem": "d:8x8x9@1000"}, {"problem": "d:nt:8x8x8@1000"}, {"problem": PROBLEM.with_(beta="any")},
        {"regime": "cached"}, {"device": "other"}, {"status": "wrong"}, {"status": "spills"},
        {"timing": None}, {"median": float("inf")}, {"median": 0.0}, {"batch": 0},
    ],
    ids=str,
)  # fmt: skip
def test_only_usable_records_of_the_same_question_can_be_best(store: Records, other: dict[str, Any]) -> None:
    right = record(1.0, config={"n": 1})
    store.append(right)
    store.append(record(**({"median": 1e-9, "config": {"n": 2}} | other)))
    assert best(store) == right


@pytest.mark.parametrize("first", [0, 1, 2, 3])
def test_a_tie_goes_to_the_first_spelling_whatever_the_order(store: Records, first: int) -> None:
    tied = [
        record(config={"b": 9, "a": 1}),  # names sorted: a=1 b=9
        record(config={"a": 2, "b": 1}),
        record(config={"a": 10, "b": 1}),
        record(config={"b": 9, "a": 1}, stencil="wide"),
    ]
    for each in tied[first:] + tied[:first]:
        store.append(each)
    assert best(store) == tied[0]


def test_only_the_newest_protocol_counts(store: Records) -> None:
    new = record(2e-3, protocol=2, config={"n": 1})
    for each in (new, record(1e-3, protocol=1, config={"n": 2}), record(3e-3, protocol=2, config={"n": 3})):
        store.append(each)
    assert best(store) == new


def test_a_failed_try_of_a_newer_protocol_hides_nothing(store: Records) -> None:
    old = record(protocol=1, config={"n": 1})
    store.append(old)
    store.append(record(None, protocol=2, status="timeout", config={"n": 2}))
    assert best(store) == old


def test_a_config_found_wrong_later_is_no_longer_best(store: Records) -> None:
    fallen, second = record(1e-3, config={"a": 1, "b": 2}), record(2e-3, config={"a": 2, "b": 2})
    store.append(fallen)
    store.append(second)
    assert best(store) == fallen
    store.append(record(None, status="wrong", config={"b": 2, "a": 1}))
    assert best(store) == second


def test_a_later_time_replaces_a_lucky_one(store: Records) -> None:
    again = record(5e-3, config={"n": 1})
    for each in (record(1e-3, config={"n": 1}), again):
        store.append(each)
    assert best(store) == again


def test_an_older_try_that_arrives_late_replaces_nothing(store: Records) -> None:
    new = record(5e-3, when="2030-02-01T00:00:00Z")
    for each in (new, record(1e-3, when="2030-01-01T00:00:00Z")):
        store.append(each)
    assert best(store) == new


def test_a_stencil_can_be_left_out(store: Records) -> None:
    ours, theirs = record(2e-3, "d:8x8x9"), record(1e-3, "d:8x8x9", stencil="vendor")
    for each in (ours, theirs, record(1e-3, "d:8x8x10", stencil="vendor")):
        store.append(each)
    assert best(store, ours.problem) == theirs
    assert store.best(ours.problem.key, "memory", DEVICE, without="vendor") == ours
    assert store.near(PROBLEM, "memory", DEVICE)[0] == theirs
    assert store.near(PROBLEM, "memory", DEVICE, without="vendor") == [ours]


# ---- resuming


def test_tried_is_the_newest_record_of_each_config_good_or_bad(store: Records) -> None:
    again = record(3e-3, config={"n": 1})
    failed = record(None, status="compile_failed", detail="why", config={"n": 2})
    for each in (record(1e-3, config={"n": 1}), failed, again):
        store.append(each)
    found = store.tried(PROBLEM, "memory", DEVICE, "tile", 1, "llvm 20")
    assert found == {Config({"n": 1}): again, Config({"n": 2}): failed}


@pytest.mark.parametrize(
    "other",
    [{"protocol": 2}, {"toolchain": "llvm 21"}, {"stencil": "lanes"}, {"device": "other"},
     {"regime": "cached"}, {"problem": "d:8x8x9"}],
    ids=str,
)  # fmt: skip
def test_what_was_tried_otherwise_is_not_tried(store: Records, other: dict[str, Any]) -> None:
    store.append(record(**other))
    assert store.tried(PROBLEM, "memory", DEVICE, "tile", 1, "llvm 20") == {}


def test_another_batch_count_is_the_same_question(store: Records) -> None:
    store.append(record(problem=PROBLEM.with_(batch=7)))
    assert len(store.tried(PROBLEM, "memory", DEVICE, "tile", 1, "llvm 20")) == 1


# ---- near


def test_near_records_come_nearest_first(store: Records) -> None:
    expected = [
        record(problem=PROBLEM, regime="cached"),
        record(problem=PROBLEM.with_(beta="any")),
        record(problem=PROBLEM.with_(lda=9), regime="cached"),
        record(problem="d:8x8x9@1000"),
        record(problem="d:9x9x9@1000", regime="cached"),
        record(problem="d:8x8x12@1000"),
        record(problem="d:8x4x8@1000"),
        record(problem="d:16x16x16@1000"),
    ]
    unlike = [
        record(problem=PROBLEM), record(problem="s:8x8x8@1000"), record(problem="d:nt:8x8x8@1000"),
        record(problem="d:8x8x17@1000"), record(problem="d:3x8x8@1000"),
        record(device="other", problem="d:8x8x7"), record(None, problem="d:8x8x10", status="wrong"),
        record(problem=PROBLEM.with_(math="tf32")),
    ]  # fmt: skip
    for each in [*unlike, *reversed(expected)]:
        store.append(each)
    assert store.near(PROBLEM, "memory", DEVICE) == expected


def test_near_gives_the_best_of_each_problem_in_the_regime_that_was_asked(store: Records) -> None:
    fast = record(1e-3, "d:9x8x8@1000", config={"n": 1})
    for each in (
        record(1e-6, "d:9x8x8@1000", regime="cached"),
        record(2e-3, "d:9x8x8@1000", config={"n": 2}),
        fast,
    ):
        store.append(each)
    assert store.near(PROBLEM, "memory", DEVICE) == [fast]


def test_near_gives_at_most_eight(store: Records) -> None:
    for k in range(4, 17):
        store.append(record(problem=f"d:8x8x{k}"))
    found = [each.problem.k for each in store.near(PROBLEM, "memory", DEVICE)]
    assert found == [9, 7, 10, 6, 11, 12, 5, 13]


def test_near_is_within_a_factor_of_two_both_ways(store: Records) -> None:
    sizes = ["5x9x9", "18x9x9", "9x5x9", "9x18x9", "9x9x5", "9x9x18"]
    beyond = ["4x9x9", "19x9x9", "9x4x9", "9x19x9", "9x9x4", "9x9x19"]
    for size in sizes + beyond:
        store.append(record(problem=f"d:{size}"))
    (asked,) = Problem.parse("d:9x9x9")
    found = {each.problem.spelling for each in store.near(asked, "memory", DEVICE)}
    assert found == {f"d:nn:{size}@1" for size in sizes}


def test_near_leaves_out_a_problem_whose_only_result_was_withdrawn(store: Records) -> None:
    store.append(record(problem="d:9x8x8"))
    store.append(record(None, problem="d:9x8x8", status="wrong"))
    assert store.near(PROBLEM, "memory", DEVICE) == []


def test_near_of_an_empty_product_is_an_empty_product(store: Records) -> None:
    flat = record(problem="d:8x8x0")
    store.append(flat)
    store.append(record(problem="d:8x8x1"))
    (asked,) = Problem.parse("d:8x9x0")
    assert store.near(asked, "memory", DEVICE) == [flat]


def test_near_finds_shipped_records_too(store: Records, shipped: Path) -> None:
    ship(shipped, record(problem="d:8x8x9"), record(problem="d:8x8x10"))
    store.append(record(5.0, problem="d:8x8x10"))
    found = store.near(PROBLEM, "memory", DEVICE)
    assert [(each.problem.k, each.timing and each.timing.median) for each in found] == [(9, 1e-3), (10, 5.0)]


# ---- shipped records


def test_a_shipped_record_answers_until_a_local_one_does(store: Records, shipped: Path) -> None:
    theirs = record(1e-9, config={"n": 1}, protocol=5)
    ship(shipped, theirs, record(2e-9, config={"n": 2}, protocol=5))
    found = best(store)
    assert found is not None
    assert (found.config, found.timing and found.timing.samples) == (theirs.config, ())

    store.append(record(None, status="wrong", config={"n": 3}))
    assert best(store) == found
    ours = record(1.0, config={"n": 4})
    store.append(ours)
    assert best(store) == ours
    assert store.all(status="ok") == [ours]
    assert [each.config["n"] for each in store.shipped(DEVICE)] == [1, 2]


def test_only_the_file_of_the_device_is_read(store: Records, shipped: Path) -> None:
    ship(shipped, record(device="other"), device="other")
    (shipped / "broken.jsonl").write_text("{")
    assert best(store) is None
    assert store.best(PROBLEM.key, "memory", "other") is not None
    with pytest.raises(RecordsError, match=r"broken\.jsonl, line 1"):
        store.best(PROBLEM.key, "memory", "broken")


def test_a_device_key_cannot_lead_out_of_the_folder(store: Records, shipped: Path) -> None:
    ship(shipped.parent, record(device="../secret"), device="secret")
    ship(shipped, record(device="a card/80 GB"), device="a_card_80_GB")
    assert store.best(PROBLEM.key, "memory", "../secret") is None
    assert store.best(PROBLEM.key, "memory", "a card/80 GB") is not None


def test_what_the_package_ships_can_be_read(tmp_path: Path) -> None:
    for each in resources("tilewright.store").joinpath("data").iterdir():
        if each.name.endswith(".jsonl"):
            target = tmp_path / each.name
            target.write_text(each.read_text(encoding="utf-8"), encoding="utf-8")
            taken = Records(tmp_path / f"{each.name}.sqlite")
            assert taken.import_(target).new > 0
            assert {Path(each.name).stem} == {found.device for found in taken.all()}


def test_what_the_package_ships_is_found_under_the_keys_of_its_problems(tmp_path: Path) -> None:
    store, found = Records(tmp_path / "records.sqlite"), 0
    for each in resources("tilewright.store").joinpath("data").iterdir():
        if each.name.endswith(".jsonl"):
            for line in map(json.loads, each.read_text(encoding="utf-8").splitlines()):
                problem = decode(line).problem
                shipped = store.best(problem.key, line["regime"], line["device"])
                assert shipped is not None
                assert shipped.problem == problem
                found += 1
    assert found > 1000


def device_of(key: str) -> Device:
    """The device of a shipped file: a GPU by its name, a processor by its core and instruction set."""
    if key in capability.DEVICES:
        return capability.DEVICES[key]
    core, _, isa = key.rpartition("-")
    assert isa == "avx512"
    l1d, l2 = {"emeraldrapids": (48, 2048), "znver4": (32, 1024)}[core]
    limits = {"vector_bits": 512, "vector_registers": 32, "masks": 1, "cores": 4}
    limits |= {"l1d": l1d << 10, "l2": l2 << 10, "l3": 64 << 20}
    return Device("cpu", core, key, limits, f"x86_64/{core} +fma")


def test_what_the_package_ships_are_members_of_the_spaces() -> None:
    """One that is not would be passed over by every call."""
    foreign = []
    for each in resources("tilewright.store").joinpath("data").iterdir():
        if each.name.endswith(".jsonl"):
            device = device_of(Path(each.name).stem)
            for line in each.read_text(encoding="utf-8").splitlines():
                found = decode(json.loads(line))
                if isinstance(found, Record) and found.stencil in STENCILS:
                    stencil = STENCILS[found.stencil]
                    reason = stencil.accepts(found.problem, device)
                    reason = reason or stencil.space(found.problem, device).member(found.config)
                    if reason is not None:
                        foreign.append((device.key, found.stencil, found.problem.spelling, reason))
    assert foreign == []


# ---- ceilings


def test_ceilings_are_kept_by_device_and_cores(store: Records) -> None:
    store.save_ceilings(DEVICE, 4, {"bandwidth.read": 1e11, "peak.d": 2e12})
    store.save_ceilings(DEVICE, 1, {"bandwidth.read": 3e10})
    store.save_ceilings(DEVICE, 4, {"peak.d": 3e12})
    assert store.ceilings(DEVICE, 4) == {"bandwidth.read": 1e11, "peak.d": 3e12}
    assert store.ceilings(DEVICE, 1) == {"bandwidth.read": 3e10}
    assert store.ceilings("other", 4) == {}


def test_local_ceilings_win_over_shipped_ones(store: Records, shipped: Path) -> None:
    ship(shipped, {"device": DEVICE, "cores": 4, "ceilings": {"peak.d": 1.0, "peak.s": 2.0}})
    store.save_ceilings(DEVICE, 4, {"peak.d": 3.0})
    assert store.ceilings(DEVICE, 4) == {"peak.d": 3.0, "peak.s": 2.0}


# ---- export and import


def test_what_is_exported_can_be_imported(store: Records, tmp_path: Path) -> None:
    tries = [
        record(2e-3, config={"n": 1}), record(None, status="spills", config={"n": 2}),
        record(1e-3, config={"n": 3}, error=0.5, source="abc", when="2030"),
        record(problem=Problem.parse("d:8x8x10", stride_b=0, alpha="any")[0]), record(problem="d:8x8x9"),
        record(device="other"),
    ]  # fmt: skip
    for each in tries:
        store.append(each)
    store.save_ceilings(DEVICE, 4, {"peak.d": 1e12})
    bare = [replace(each, timing=each.timing and replace(each.timing, samples=())) for each in tries]

    assert store.export(tmp_path / "all.jsonl", best_only=False) == 6
    copy = Records(tmp_path / "copy.sqlite")
    assert copy.import_(tmp_path / "all.jsonl").new == 6
    assert copy.all() == bare
    assert copy.ceilings(DEVICE, 4) == {"peak.d": 1e12}

    assert store.export(tmp_path / "best.jsonl", device=DEVICE) == 3
    winners = Records(tmp_path / "winners.sqlite")
    assert winners.import_(tmp_path / "best.jsonl").new == 3
    assert winners.all() == [bare[2], bare[4], bare[3]]


def test_exported_lines_are_flat_and_short(store: Records, tmp_path: Path) -> None:
    store.append(record(1e-3, PROBLEM.with_(beta="any"), when="2030"))
    store.export(tmp_path / "best.jsonl")
    (line,) = (tmp_path / "best.jsonl").read_text().splitlines()
    assert line == (
        '{"device": "zen-avx2", "problem": "d:nn:8x8x8@1000", "beta": "any", "regime": "memory", '
        '"stencil": "tile", "config": {"mr": 8, "nr": 4}, "status": "ok", "median": 0.001, "low": 0.00075, '
        '"high": 0.00125, "batch": 1000, "protocol": 1, "toolchain": "llvm 20", "when": "2030"}'
    )


def test_stores_of_several_machines_are_merged(store: Records, tmp_path: Path) -> None:
    other = Records(tmp_path / "other.sqlite", shipped=tmp_path)
    store.append(record(1.0, config={"n": 1}))
    for each in (record(1.0, config={"n": 1}), record(2.0, config={"n": 2})):
        other.append(each)
    other.save_ceilings("there", 2, {"copy": 5.0})
    assert store.import_(other.path).new == 1
    assert store.import_(other.path).new == 0
    assert store.all() == [record(1.0, config={"n": 1}), record(2.0, config={"n": 2})]
    assert store.ceilings("there", 2) == {"copy": 5.0}
    # The other one is as it was, and may be open meanwhile.
    assert len(other.all()) == 2
    other.close()


def test_a_second_import_adds_nothing(store: Records, tmp_path: Path) -> None:
    store.append(record(1e-3, config={"n": 1}))
    store.append(record(None, status="spills", config={"n": 2}))
    store.export(tmp_path / "all.jsonl", best_only=False)
    before = store.all()
    assert store.import_(tmp_path / "all.jsonl").new == 0
    assert store.all() == before


def test_what_is_refused_is_left_out_of_an_import_and_named(store: Records, tmp_path: Path) -> None:
    def refusal(each: Record) -> str | None:
        return "config says n=2" if each.config["n"] == 2 else None

    source = tmp_path / "in.jsonl"
    lines = [json.dumps(encode(record(config={"n": n}))) for n in (1, 2, 3)]
    source.write_text("\n".join(lines))
    taken = store.import_(source, refusal)
    assert (taken.new, taken.refused) == (2, (f"{source}, line 2: config says n=2",))
    assert points_n(store) == [1, 3]

    source.write_text(lines[1])
    with pytest.raises(RecordsError, match=r"in\.jsonl, line 1: config says n=2"):
        store.import_(source, refusal)
    assert points_n(store) == [1, 3]


def test_a_try_by_another_toolchain_is_another_try(store: Records, tmp_path: Path) -> None:
    tries = [record(toolchain=f"llvm {version}") for version in (20, 21)]
    source = tmp_path / "in.jsonl"
    source.write_text("".join(json.dumps(encode(each)) + "\n" for each in tries))
    assert store.import_(source).new == 2
    assert store.all() == tries
    assert store.import_(source).new == 0


def test_a_file_without_end_is_refused(
    store: Records, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "in.jsonl"
    source.write_text(json.dumps(GOOD))
    monkeypatch.setattr(jsonl, "LONGEST", source.stat().st_size - 1)
    with pytest.raises(RecordsError, match=r"in\.jsonl.*too long; accepted: up to"):
        store.import_(source)
    monkeypatch.setattr(jsonl, "LONGEST", source.stat().st_size)
    assert store.import_(source).new == 1


def test_the_best_that_is_accepted_is_the_next_best(store: Records, shipped: Path) -> None:
    ship(shipped, record(9.0, config={"n": 9}))
    for n in (1, 2, 3):
        store.append(record(float(n), config={"n": n}))
    for least, n in ((1, 1), (3, 3), (4, 9)):
        found = store.best(
            PROBLEM.key, "memory", DEVICE, accept=lambda r, least=least: r.config["n"] >= least
        )
        assert found is not None
        assert found.config["n"] == n


def test_an_import_keeps_the_ceilings_measured_here(store: Records, tmp_path: Path) -> None:
    line = {"device": DEVICE, "cores": 4, "ceilings": {"peak.d": 1.0, "peak.s": 2.0}}
    (tmp_path / "in.jsonl").write_text(json.dumps(line))
    store.save_ceilings(DEVICE, 4, {"peak.d": 3.0})
    assert store.import_(tmp_path / "in.jsonl").new == 0
    assert store.ceilings(DEVICE, 4) == {"peak.d": 3.0, "peak.s": 2.0}


GOOD = encode(record(), samples=False)


def without(name: str) -> str:
    return json.dumps({key: value for key, value in GOOD.items() if key != name})


@pytest.mark.parametrize(
    ("bad", "told"),
    [
        ("{", "not JSON"),
        ("[]", "not an object"),
        ("{}", "'problem' is missing"),
        (without("device"), "'device' is missing"),
        (without("median"), "median"),
        (json.dumps(GOOD | {"colour": 1}), "'colour'"),
        (json.dumps(GOOD | {"problem": "d:8x8"}), "'d:8x8'"),
        (json.dumps(GOOD | {"problem": "d:2..4"}), "not one problem"),
        (json.dumps(GOOD | {"status": "splendid"}), "status='splendid'.*accepted: one of ok, rejected"),
        (json.dumps(GOOD | {"beta": "2"}), "beta='2'"),
        (json.dumps(GOOD | {"lda": 8.5}), "lda=8.5"),
        (json.dumps(GOOD | {"batch": True}), "batch=True"),
        (json.dumps(GOOD | {"protocol": 2**63}), "protocol=9223372036854775808"),
        (json.dumps(GOOD | {"median": "fast"}), "median='fast'"),
        (json.dumps(GOOD | {"config": [1]}), "config="),
        (json.dumps(GOOD | {"config": {"mr": {"deep": 1}}}), "config="),
        (json.dumps(GOOD | {"config": {"mr": float("nan")}}), "nan"),
        (json.dumps(GOOD | {"config": {"mr": [{"deep": 1}]}}), "config="),
        (json.dumps(GOOD | {"align": 3}), "align=3"),
        (json.dumps(GOOD | {"align": True}), "align=True"),
        (json.dumps(GOOD | {"pointers": 1}), "pointers=1"),
        (json.dumps(GOOD | {"seconds": 10**400}), "seconds="),
        (json.dumps(GOOD | {"kind": []}), "kind="),
        (json.dumps(GOOD | {"detail": chr(0xD800)}), "cannot be written"),
        (json.dumps(GOOD | {"config": {"mr": chr(0xD800)}}), "cannot be written"),
        (json.dumps(GOOD)[:-1] + ', "protocol": ' + "9" * 5000 + "}", "not JSON"),
        ("[" * 100_000, "not JSON"),
        (json.dumps({"ceilings": {"peak": 10**400}, "device": "d", "cores": 1}), "ceilings="),
        (json.dumps(GOOD | {"toolchain": None}), "toolchain=None"),
        (json.dumps({"ceilings": {"peak": "high"}, "device": "d", "cores": 1}), "ceilings="),
        (json.dumps({"ceilings": {}, "device": "d"}), "'cores' is missing"),
    ],
)
def test_one_bad_line_rejects_the_whole_file(store: Records, tmp_path: Path, bad: str, told: str) -> None:
    source = tmp_path / "in.jsonl"
    ceilings = json.dumps({"device": DEVICE, "cores": 4, "ceilings": {"peak.d": 1.0}})
    source.write_text(f"{ceilings}\n{json.dumps(GOOD)}\n\n{bad}\n{json.dumps(GOOD)}\n")
    with pytest.raises(RecordsError, match=rf"in\.jsonl, line 4: .*{told}"):
        store.import_(source)
    assert store.all() == []
    assert store.ceilings(DEVICE, 4) == {}


@pytest.mark.parametrize("content", [None, b"\xff\xfe\x00"])
def test_a_file_that_cannot_be_read_is_named(store: Records, tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / "in.jsonl").write_bytes(content)
    with pytest.raises(RecordsError, match=r"in\.jsonl"):
        store.import_(tmp_path / "in.jsonl")


def test_an_export_that_cannot_be_written_leaves_the_old_file(store: Records, tmp_path: Path) -> None:
    with pytest.raises(RecordsError, match="nowhere"):
        store.export(tmp_path / "nowhere" / "out.jsonl")
    (tmp_path / "folder").mkdir()
    with pytest.raises(RecordsError, match="folder"):
        store.export(tmp_path / "folder")
    assert not list(tmp_path.glob("*.part"))


# ---- what an export is written to


def test_an_export_follows_a_link(store: Records, tmp_path: Path) -> None:
    store.append(record())
    target, link, dangling = tmp_path / "target", tmp_path / "link", tmp_path / "dangling"
    target.write_text("keep")
    link.symlink_to(target)
    dangling.symlink_to(tmp_path / "new")
    assert store.export(link) == store.export(dangling) == 1
    assert link.is_symlink()
    assert dangling.is_symlink()
    assert target.read_text() == (tmp_path / "new").read_text()
    assert Records(tmp_path / "copy.sqlite").import_(target).new == 1


def test_an_export_writes_into_a_pipe(store: Records, tmp_path: Path) -> None:
    store.append(record())
    pipe, link, got = tmp_path / "pipe", tmp_path / "link", []
    os.mkfifo(pipe)
    link.symlink_to(pipe)
    for name in (pipe, link):
        reader = threading.Thread(target=lambda: got.append(pipe.read_text()), daemon=True)
        reader.start()
        assert store.export(name) == 1
        reader.join(60)
        assert pipe.is_fifo()
    store.export(tmp_path / "file")
    assert got == [(tmp_path / "file").read_text()] * 2
    assert sorted(path.name for path in tmp_path.iterdir() if "sqlite" not in path.name) == [
        "file", "link", "pipe", "shipped"
    ]  # fmt: skip


def test_an_export_in_a_loop_of_links_is_refused(store: Records, tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    with pytest.raises(RecordsError, match="/a'"):
        store.export(tmp_path / "a")
    assert (tmp_path / "a").is_symlink()


@pytest.mark.parametrize("name", ["", "/", ".", "x" * 300, "a\0b"], ids=repr)
def test_an_export_to_what_is_no_name_is_refused(
    store: Records, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(RecordsError, match=r"records file .* cannot be written"):
        store.export(Path(name))
    with pytest.raises(RecordsError, match=r"records file .* cannot be read"):
        store.import_(Path(name))
    assert not list(tmp_path.glob("*.part"))


def test_an_export_may_have_the_longest_name_and_one_of_any_bytes(store: Records, tmp_path: Path) -> None:
    store.append(record())
    for name in ("x" * 255, os.fsdecode(b"caf\xe9")):
        assert store.export(tmp_path / name) == 1
        assert Records(tmp_path / f"{len(name)}.sqlite").import_(tmp_path / name).new == 1


# ---- damage


def points_n(store: Records) -> list[int]:
    return [each.config["n"] for each in store.all()]


def damaged(folder: Path, name: str = "records.sqlite") -> list[Path]:
    return sorted(folder.glob(f"{name}.damaged-*"))


@pytest.mark.parametrize("ask", [Records.all, lambda store: store.append(record())], ids=["read", "write"])
def test_a_file_that_is_no_store_is_set_aside(store: Records, ask: Callable[[Records], Any]) -> None:
    content = b"this was a store once " * 1000
    store.path.write_bytes(content)
    beside = store.path.with_name("notes.txt")
    beside.write_text("keep")

    with pytest.warns(RuntimeWarning, match="is damaged") as told:
        ask(store)

    (kept,) = damaged(store.path.parent)
    assert kept.read_bytes() == content
    assert beside.read_text() == "keep"
    assert len(told) == 1
    assert repr(str(store.path)) in str(told[0].message)
    assert repr(str(kept)) in str(told[0].message)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        store.append(record(5.0))
        assert Records(store.path).all()[-1] == record(5.0)


def test_a_store_that_turns_out_malformed_is_set_aside(store: Records) -> None:
    for n in range(200):
        store.append(record(config={"n": n}))
    store.close()
    content = bytearray(store.path.read_bytes())
    content[3 * 4096 :] = b"\xa5" * (len(content) - 3 * 4096)
    store.path.write_bytes(content)

    with pytest.warns(RuntimeWarning, match="is damaged"):
        assert store.all() == []

    (kept,) = damaged(store.path.parent)
    assert kept.read_bytes() == content
    store.append(record())
    assert store.all() == [record()]


def test_the_side_files_of_a_damaged_store_go_with_it(store: Records) -> None:
    """While another process has the store open, its log lies beside the file under the file's name."""
    store.append(record(config={"n": 1}))
    other = sqlite3.connect(store.path, isolation_level=None)
    assert other.execute("SELECT count(*) FROM tries").fetchone() == (1,)
    store.close()
    other.execute("PRAGMA wal_checkpoint")
    log = store.path.with_name(store.path.name + "-wal")
    content = log.read_bytes()
    store.path.write_bytes(b"x" * store.path.stat().st_size)

    with pytest.warns(RuntimeWarning, match="is damaged"):
        store.append(record(config={"n": 2}))

    (kept,) = damaged(store.path.parent, log.name)
    assert content
    assert kept.read_bytes() == content
    other.close()
    assert points_n(store) == points_n(Records(store.path)) == [2]


def test_a_store_that_another_has_replaced_is_left_alone(store: Records) -> None:
    store.path.write_bytes(b"damaged")
    seen = _identity(store.path)
    set_aside(store.path)
    store.append(record())
    _retire(store.path, seen, sqlite3.DatabaseError("malformed"))
    assert store.all() == [record()]
    assert len(damaged(store.path.parent)) == 1


def test_a_store_that_stays_damaged_is_an_error(store: Records, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> None:
        failure = sqlite3.DatabaseError("malformed")
        failure.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
        raise failure

    monkeypatch.setattr("tilewright.store.records._prepare", broken)
    with (
        pytest.warns(RuntimeWarning, match="is damaged"),
        pytest.raises(RecordsError, match=r"records\.sqlite"),
    ):
        store.all()


def changed(store: Records, *statements: str) -> None:
    """Changes a store behind its back."""
    store.close()
    connection = sqlite3.connect(store.path)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()


SPOILED = {
    "truncated": "UPDATE tries SET body = substr(body, 1, length(body) / 2) WHERE id = 1",
    "empty object": "UPDATE tries SET body = '{}' WHERE id = 1",
    "list": "UPDATE tries SET body = '[]' WHERE id = 1",
    "number": "UPDATE tries SET body = 7 WHERE id = 1",
    "no text": "UPDATE tries SET body = CAST(x'7bff7d' AS TEXT) WHERE id = 1",
    "too deep": f"UPDATE tries SET body = '{'[' * 100_000}' WHERE id = 1",
    "another config": """UPDATE tries SET body = replace(body, '"config": {', '"config": [{') WHERE id = 1""",
}


@pytest.mark.parametrize("how", SPOILED)
def test_a_damaged_row_is_set_aside_once(store: Records, how: str) -> None:
    good = record(5.0, config={"n": 2})
    store.append(record(1.0, config={"n": 1}))
    store.append(good)
    changed(store, SPOILED[how])

    with pytest.warns(RuntimeWarning, match=r"records\.sqlite.* damaged rows.*row 1") as told:
        assert best(store) == good
    assert len(told) == 1

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert store.all() == Records(store.path).all() == [good]
        assert store.tried(PROBLEM, "memory", DEVICE, "tile", 1, "llvm 20") == {good.config: good}
        store.append(record(7.0, config={"n": 3}))
        assert best(store) == good
    assert damaged(store.path.parent) == []
    connection = sqlite3.connect(store.path)
    ((number, config, cause),) = connection.execute("SELECT id, config, cause FROM damaged").fetchall()
    connection.close()
    assert (number, config) == (1, "n=1")
    assert cause


def test_a_damaged_row_in_a_store_that_cannot_be_written_counts_as_absent(
    store: Records, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = record(5.0, config={"n": 2})
    store.append(record(1.0, config={"n": 1}))
    store.append(good)
    changed(store, SPOILED["truncated"])
    only_reads(monkeypatch)
    with pytest.warns(RuntimeWarning, match=r"damaged rows.*count as absent") as told:
        found = [(best(store), store.all()) for _ in range(3)]
    assert found == [(good, [good])] * 3
    assert len(told) == 1


@pytest.mark.parametrize(
    "statements",
    [
        ["DROP TABLE tries"],
        ["DROP TABLE solved"],
        ["DROP TABLE ceilings"],
        ["ALTER TABLE tries DROP COLUMN body"],
        ["PRAGMA user_version = 0"],
    ],
    ids=str,
)
def test_a_store_that_lacks_a_table_or_a_column_is_set_aside_once(
    store: Records, statements: list[str]
) -> None:
    store.append(record())
    changed(store, *statements)
    with pytest.warns(RuntimeWarning, match="is damaged") as told:
        found = (store.near(PROBLEM, "memory", DEVICE), store.ceilings(DEVICE, 1), store.all())
    assert found == ([], {}, [])
    assert len(told) == 1
    assert len(damaged(store.path.parent)) == 1
    store.append(record(5.0))
    assert store.all() == [record(5.0)]


def test_a_question_that_is_wrong_is_not_a_damaged_store(store: Records) -> None:
    store.append(record())
    with pytest.raises(RecordsError, match="nonsense"):
        store._read(lambda connection: connection.execute("SELECT nonsense FROM tries"))
    assert damaged(store.path.parent) == []


def test_a_text_that_is_not_utf_8_does_not_fail_the_questions(store: Records) -> None:
    store.append(record(config={"n": 1}))
    store.append(record(2.0, "d:9x9x9"))
    store.save_ceilings(DEVICE, 1, {"peak.d": 1.0, "peak.s": 2.0})
    spoil = "SET {0} = CAST(x'ff' || CAST({0} AS BLOB) AS TEXT)"
    changed(
        store,
        f"UPDATE solved {spoil.format('key')} WHERE m = 9",
        f"UPDATE ceilings {spoil.format('name')} WHERE name = 'peak.s'",
    )
    assert store.near(PROBLEM, "memory", DEVICE) == []
    assert store.ceilings(DEVICE, 1)["peak.d"] == 1.0
    assert store.export(store.path.with_name("out.jsonl")) == 1


def test_a_locked_store_is_not_a_damaged_one(store: Records) -> None:
    store.append(record())
    store.patience = 0.2
    store.close()
    other = sqlite3.connect(store.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")

    with pytest.raises(RecordsError, match=r"records\.sqlite.*locked"):
        store.append(record(5.0))
    assert store.all() == [record()]
    other.execute("ROLLBACK")
    other.close()

    store.append(record(5.0))
    assert store.all() == [record(), record(5.0)]
    assert damaged(store.path.parent) == []


def test_a_writer_waits_for_another(store: Records) -> None:
    store.append(record())
    other = sqlite3.connect(store.path, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    release = threading.Timer(0.5, lambda: other.execute("ROLLBACK"))
    release.start()
    store.append(record(5.0))
    release.join()
    other.close()
    assert len(store.all()) == 2


def test_a_store_of_a_newer_schema_is_refused_and_left_alone(store: Records) -> None:
    store.append(record())
    store.close()
    with sqlite3.connect(store.path) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(RecordsError, match=r"records\.sqlite.*99"):
        store.append(record())
    assert damaged(store.path.parent) == []


NEWER = {1: ("damaged", "leases", "holders", "finished"), 2: ("leases", "holders", "finished"), 3: ()}


def as_of_schema(number: int, store: Records) -> None:
    """Makes a store what an earlier version of the package wrote."""
    store.close()
    connection = sqlite3.connect(store.path)
    for table in NEWER[number]:
        connection.execute(f"DROP TABLE {table}")
    connection.execute(f"PRAGMA user_version = {number}")
    connection.commit()
    connection.close()


@pytest.mark.parametrize("number", sorted(NEWER))
def test_a_store_of_an_earlier_schema_goes_on(number: int, store: Records) -> None:
    store.append(record(1.0))
    as_of_schema(number, store)
    assert store.all() == [record(1.0)]
    store.append(record(2.0, PROBLEM.with_(align=8)))
    assert best(store) == record(1.0)
    store.close()
    connection = sqlite3.connect(store.path)
    assert connection.execute("PRAGMA user_version").fetchone() == (SCHEMA,)
    connection.close()
    assert max(NEWER) + 1 == SCHEMA
    assert damaged(store.path.parent) == []


def test_a_damaged_row_of_a_store_of_the_first_schema_is_set_aside(store: Records) -> None:
    good = record(5.0, config={"n": 2})
    store.append(record(1.0, config={"n": 1}))
    store.append(good)
    changed(store, SPOILED["truncated"])
    as_of_schema(1, store)
    with pytest.warns(RuntimeWarning, match="are kept in its table 'damaged'"):
        assert store.all() == [good]


@pytest.mark.parametrize("old", [False, True])
def test_another_may_be_quicker_to_make_the_tables(
    store: Records, old: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the look at the version and the transaction that brings it up to date."""
    if old:
        store.append(record(1.0))
        as_of_schema(1, store)
    looked = "tilewright.store.records._check_version"

    def late(*asked: Any) -> int:
        version = _check_version(*asked)
        monkeypatch.setattr(looked, _check_version)
        Records(store.path).append(record(2.0))
        return version

    monkeypatch.setattr(looked, late)
    store.append(record(3.0))
    assert store.all() == [record(seconds) for seconds in ((1.0, 2.0, 3.0) if old else (2.0, 3.0))]
    assert damaged(store.path.parent) == []


def test_a_store_that_was_deleted_is_begun_again(store: Records) -> None:
    store.append(record())
    for each in store.path.parent.glob("records.sqlite*"):
        each.unlink()
    store.append(record(5.0))
    assert Records(store.path).all() == [record(5.0)]


# ---- places that cannot be written


def only_reads(monkeypatch: pytest.MonkeyPatch, code: int = sqlite3.SQLITE_READONLY) -> None:
    """Lets no store be set up for writing, whoever runs the tests: as on a full disk, or a read-only one."""

    def refuse(*_: Any) -> None:
        failure = sqlite3.OperationalError("not here")
        failure.sqlite_errorcode = code
        raise failure

    monkeypatch.setattr("tilewright.store.records._prepare", refuse)


def as_a_stranger(work: Callable[[], None]) -> None:
    """Runs work in a child that may not write where it has no permission, whoever runs the tests."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            if os.geteuid() == 0:
                os.setgid(65534)
                os.setuid(65534)
            work()
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.fixture
def open_place(tmp_path: Path) -> Path:
    """A folder that every user may reach; the folders above are opened up for it."""
    for folder in (tmp_path, *tmp_path.parents):
        if folder.stat().st_uid == os.geteuid() and not folder.stat().st_mode & 0o001:
            folder.chmod(folder.stat().st_mode | 0o011)
    return tmp_path


needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


@needs_fork
@pytest.mark.parametrize("locked", ["folder", "file", "both"])
def test_a_store_that_cannot_be_written_can_be_read(open_place: Path, shipped: Path, locked: str) -> None:
    path = open_place / "place" / "records.sqlite"
    store = Records(path, shipped=shipped)
    store.append(record())
    store.close()
    shipped.chmod(0o755)
    path.parent.chmod(0o755 if locked == "file" else 0o555)
    path.chmod(0o644 if locked == "folder" else 0o444)

    def look() -> None:
        stranger = Records(path, shipped=shipped)
        assert stranger.all() == [record()]
        assert stranger.best(PROBLEM.key, "memory", DEVICE) == record()
        with pytest.raises(RecordsError, match=r"records\.sqlite.*cannot be written"):
            stranger.append(record(5.0))
        assert stranger.all() == [record()]

    try:
        as_a_stranger(look)
    finally:
        path.parent.chmod(0o755)


@needs_fork
def test_a_store_that_cannot_be_made_reads_as_empty(open_place: Path, shipped: Path) -> None:
    ship(shipped, record())
    shipped.chmod(0o755)
    place = open_place / "place"
    place.mkdir()
    place.chmod(0o555)

    def look() -> None:
        stranger = Records(place / "new" / "records.sqlite", shipped=shipped)
        assert stranger.all() == []
        assert stranger.best(PROBLEM.key, "memory", DEVICE) is not None
        with pytest.raises(RecordsError, match=r"records\.sqlite.*cannot be written"):
            stranger.append(record())

    as_a_stranger(look)


def test_a_folder_is_no_store(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(RecordsError, match="folder"):
        Records(tmp_path / "folder").all()


# Reads and writes under a limit of 8192 bytes a file: what a full disk does, whoever runs the tests.
NO_ROOM = """
import resource, sys
from pathlib import Path
from test_records import DEVICE, PROBLEM, record
from tilewright.errors import RecordsError
from tilewright.store.records import Records

resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))
store = Records(Path(sys.argv[1]))
print(len(store.all()), store.best(PROBLEM.key, "memory", DEVICE) == record())
try:
    for n in range(100):
        store.append(record(config={"n": n}))
except RecordsError as error:
    print(error)
"""


@needs_fork
@pytest.mark.parametrize("filled", [True, False], ids=["filled", "empty"])
def test_on_a_full_disk_what_is_there_can_be_read(store: Records, filled: bool) -> None:
    if filled:
        store.append(record())
        store.append(record(None, PROBLEM.with_(beta="any"), status="spills", detail="x" * 20_000))
        store.close()
    paths = [str(Path(tilewright.__file__).parent.parent), str(Path(__file__).parent)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
    done = subprocess.run(
        [sys.executable, "-c", NO_ROOM, str(store.path)], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    first, last = done.stdout.splitlines()
    assert first == ("2 True" if filled else "0 False")
    assert str(store.path) in last
    assert damaged(store.path.parent) == []
    if filled:
        assert record() in store.all()


# ---- many at once


def append_many(store: Records, writer: int, count: int) -> None:
    for n in range(count):
        store.append(record(config={"writer": writer, "n": n}))


def points(store: Records) -> list[tuple[int, int]]:
    return [(each.config["writer"], each.config["n"]) for each in store.all()]


def test_two_processes_lose_nothing(store: Records) -> None:
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=append_many, args=(store, writer, 200)) for writer in (0, 1)]
    for each in writers:
        each.start()
    for each in writers:
        each.join()
    assert [each.exitcode for each in writers] == [0, 0]
    found = points(store)
    assert len(found) == 400
    assert set(found) == {(writer, n) for writer in (0, 1) for n in range(200)}
    assert [n for writer, n in found if writer == 0] == list(range(200))


def test_threads_share_a_store(store: Records) -> None:
    threads = [threading.Thread(target=append_many, args=(store, writer, 50)) for writer in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert sorted(points(store)) == [(writer, n) for writer in range(4) for n in range(50)]


@needs_fork
def test_a_store_survives_a_fork(store: Records, monkeypatch: pytest.MonkeyPatch) -> None:
    append_many(store, 0, 1)
    made = []
    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *a, **k: made.append(a) or connect(*a, **k))
    child = os.fork()
    if child == 0:
        try:
            append_many(store, 1, 50)
        finally:
            # SQLite forbids the use of a connection on the other side of a fork: the child makes its own.
            os._exit(len(made))
    append_many(store, 2, 50)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1
    assert made == []
    expected = [(0, 0)] + [(writer, n) for writer in (1, 2) for n in range(50)]
    assert sorted(points(store)) == expected
    store.close()
    check = sqlite3.connect(store.path)
    assert check.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    check.close()


def test_a_store_can_be_sent_to_another_process(store: Records) -> None:
    store.append(record())
    assert pickle.loads(pickle.dumps(store)).all() == [record()]


WRITER = """
import sys
from pathlib import Path
from test_records import record
from tilewright.store.records import Records

store = Records(Path(sys.argv[1]))
for n in range(100_000):
    store.append(record(config={"round": int(sys.argv[2]), "n": n}))
    print(n, flush=True)
"""


def test_a_killed_writer_loses_nothing_that_it_acknowledged(store: Records) -> None:
    paths = [str(Path(tilewright.__file__).parent.parent), str(Path(__file__).parent)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
    for turn in range(3):
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(store.path), str(turn)],
            stdout=subprocess.PIPE, text=True, env=environment,
        )  # fmt: skip
        assert writer.stdout is not None
        acknowledged = [int(writer.stdout.readline()) for _ in range(40 + 7 * turn)]
        writer.send_signal(signal.SIGKILL if hasattr(signal, "SIGKILL") else signal.SIGTERM)
        acknowledged += [int(line) for line in writer.stdout if line.endswith("\n")]
        writer.stdout.close()
        assert writer.wait() != 0

        with warnings.catch_warnings():
            warnings.simplefilter("error")
            held = [each.config["n"] for each in store.all() if each.config["round"] == turn]
        assert held[: len(acknowledged)] == acknowledged
        assert len(held) - len(acknowledged) <= 1
        store.close()


# ---- home


def test_home_is_made_where_the_variable_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEWRIGHT_HOME", str(tmp_path / "a" / "b"))
    assert home() == tmp_path / "a" / "b"
    assert home().is_dir()
    Records().append(record())
    assert (tmp_path / "a" / "b" / "records.sqlite").is_file()


def test_home_may_be_written_as_a_shell_would(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("TILEWRIGHT_HOME", "~/tw")
    assert home() == tmp_path / "tw"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TILEWRIGHT_HOME", "here")
    assert home() == tmp_path / "here"


def test_home_is_the_cache_folder_without_the_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TILEWRIGHT_HOME", raising=False)
    monkeypatch.setattr("tilewright.store.paths.user_cache_path", lambda name: tmp_path / "cache" / name)
    assert home() == tmp_path / "cache" / "tilewright"


def test_a_home_that_cannot_be_made_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("in the way")
    value = str(tmp_path / "file" / "home")
    monkeypatch.setenv("TILEWRIGHT_HOME", value)
    with pytest.raises(ArgumentError, match="cannot be made") as refusal:
        home()
    assert f"TILEWRIGHT_HOME={value!r}" in str(refusal.value)


@needs_fork
@pytest.mark.parametrize("named", [True, False])
def test_a_home_that_cannot_be_written_is_read(
    open_place: Path, monkeypatch: pytest.MonkeyPatch, named: bool
) -> None:
    place = open_place / "home"
    monkeypatch.setenv("TILEWRIGHT_HOME", str(place))
    store = Records()
    store.append(record())
    store.close()
    place.chmod(0o555)
    if not named:
        monkeypatch.delenv("TILEWRIGHT_HOME")
        monkeypatch.setattr("tilewright.store.paths.user_cache_path", lambda name: place)

    def look() -> None:
        assert home() == place
        stranger = Records()
        assert stranger.best(PROBLEM.key, "memory", DEVICE) == record()
        with pytest.raises(RecordsError, match=r"home/records\.sqlite' cannot be written"):
            stranger.append(record())

    try:
        as_a_stranger(look)
    finally:
        place.chmod(0o755)


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("~nobodyhere/x", "home directory"),
        (os.fsdecode(b"/tmp/\xff"), "UTF-8"),
        ("/tmp/" + "x" * 300, "be made"),
    ],
    ids=["user", "bytes", "length"],
)
def test_a_home_that_is_no_name_is_named(monkeypatch: pytest.MonkeyPatch, value: str, told: str) -> None:
    monkeypatch.setenv("TILEWRIGHT_HOME", value)
    with pytest.raises(ArgumentError, match=told) as refusal:
        home()
    assert f"TILEWRIGHT_HOME={value!r}" in str(refusal.value)


def test_a_warning_is_given_once() -> None:
    with pytest.warns(RuntimeWarning, match="once and for all") as told:
        [warn_once("once and for all") for _ in range(3)]
    assert len(told) == 1


def test_a_system_without_a_cache_folder_works_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.delenv("TILEWRIGHT_HOME", raising=False)
    monkeypatch.setattr("tilewright.store.paths.user_cache_path", lambda name: tmp_path / "file" / name)
    with pytest.warns(UserWarning, match="kept for this process only"):
        folder = home()
    assert folder.is_dir()
    assert home() == folder
    Records().append(record())
    assert (folder / "records.sqlite").is_file()


def test_making_a_store_touches_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEWRIGHT_HOME", str(tmp_path / "home"))
    Records()
    assert not (tmp_path / "home").exists()


def test_setting_aside_overwrites_nothing(tmp_path: Path) -> None:
    kept = []
    for content in ("first", "second", "third"):
        (tmp_path / "a.bin").write_text(content)
        kept.append(set_aside(tmp_path / "a.bin"))
    assert [path.read_text() for path in kept] == ["first", "second", "third"]
    assert all(path.name.startswith("a.bin.damaged-2") and path.parent == tmp_path for path in kept)
    assert not (tmp_path / "a.bin").exists()
