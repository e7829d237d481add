"""Which record answers: the best, those of near problems, and what was tried."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.pure.records.samples import DEVICE, PROBLEM, best, record, ship
from tilewright.model import Config, Problem, Record
from tilewright.store.records import Records

pytestmark = pytest.mark.pure


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


def test_some_stencils_can_be_asked_alone(store: Records, shipped: Path) -> None:
    """Of their records the newest protocol counts, and local ones go before shipped ones."""
    won, lost = record(1e-3, stencil="won", protocol=3), record(2e-3, stencil="lost")
    slower, theirs = record(3e-3, stencil="lost", config={"n": 1}), record(4e-3, stencil="else")
    ship(shipped, theirs, record(1e-6, stencil="lost", config={"n": 2}))
    for each in (slower, won, lost):
        store.append(each)

    def asked(*names: str) -> Record | None:
        return store.best(PROBLEM.key, "memory", DEVICE, among=names)

    assert asked() == won
    assert asked("lost") == asked("lost", "else") == lost
    assert asked("won", "lost") == won
    found = asked("else")
    assert found is not None
    assert found.stencil == "else"
    assert asked("nobody") is None


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
