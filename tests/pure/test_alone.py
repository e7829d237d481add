"""Products alone: what points say of them, what records of other sizes do not, and how both are measured."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.alone import HIGH, LISTED, LOW, drawn, listed, near
from bench.foretold import added, gathered, timed, verdicts
from tilewright.catalog import STENCILS
from tilewright.model import Problem
from tilewright.planning import alike, alone, dispatch
from tilewright.stencils.cuda.common import units
from tilewright.targets.cuda import capability

pytestmark = pytest.mark.pure

H200, A100 = capability.named("h200"), capability.named("a100")
ROWS = [[2**e, 2**f, 512, "nn", "0", None, 1.3 if e > 9 else 0.8] for e in range(5, 14) for f in range(5, 14)]


def problem(text: str, **fields: object) -> Problem:
    return Problem.parse(text, **fields)[0]


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    """What is remembered of a table ends with the test that put another in its place."""
    alone.measured.cache_clear()
    yield
    alone.measured.cache_clear()


@pytest.fixture
def table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alone, "table", lambda: {"h200": {"classic": {"s": ROWS}, "warpgroup": {"h": ROWS}}})


@pytest.mark.usefixtures("table")
def test_a_default_runs_where_it_was_faster_and_nowhere_else() -> None:
    for text, wins in (("s:4000x3000x500", True), ("s:100x3000x500", False)):
        found = alone.standing("classic", problem(text), H200)
        assert found is not None
        assert found[0] is wins
    # What was measured in float16 stands for bfloat16.
    found = alone.standing("warpgroup", problem("b:4000x3000x500"), H200)
    assert found is not None
    assert found[0]
    # Where some around gain and others lose nothing may be counted on.
    between = alone.standing("classic", problem("s:724x3000x500"), H200)
    assert between is not None
    assert not between[0]


def test_a_product_that_was_timed_goes_by_its_own_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever those around it did; of float16 and bfloat16 by its own type's, where both were timed."""
    around = [row for row in ROWS if row[0] > 512]
    one = [[4096, 4096, 512, "nn", "0", None, gain] for gain in (1.02, 0.97, 1.004)]
    table = {"s": [*around, one[0]], "h": [*around, one[0]], "b": [one[1]]}
    monkeypatch.setattr(
        alone, "table", lambda: {"h200": {"warpgroup": table, "classic": {"s": [*ROWS, one[2]]}}}
    )
    same = "4096x4096x512"
    assert alone.standing("warpgroup", problem(f"s:{same}"), H200) == (True, 1.02)
    assert alone.standing("warpgroup", problem(f"h:{same}"), H200) == (True, 1.02)
    assert alone.standing("warpgroup", problem(f"b:{same}"), H200) == (False, 0.97)
    # What medians leave open is taken off.
    assert alone.standing("classic", problem(f"s:{same}"), H200) == (False, 1.004)


@pytest.mark.usefixtures("table")
def test_nothing_is_said_of_what_was_not_measured() -> None:
    assert alone.standing("classic", problem("s:4000x3000x500@2"), H200) is None
    assert alone.standing("classic", problem("s:64x64x64"), H200) is None
    assert alone.standing("classic", problem("d:4000x3000x500"), H200) is None
    assert alone.standing("inner", problem("s:4000x3000x500"), H200) is None
    assert alone.standing("classic", problem("s:4000x3000x500"), A100) is None


def test_a_stencil_that_hardly_met_a_type_alone_is_not_counted_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """However much it gains in batches; of a type that nobody met nothing is said."""
    held = {"h200": {"whole": {"h": ROWS[:7]}, "warpgroup": {"h": ROWS}}}
    monkeypatch.setattr(alone, "table", lambda: held)
    assert alone.standing("whole", problem("h:tt:34x386x17"), H200) == (False, 1.0)
    assert alone.standing("whole", problem("b:tt:34x386x17"), H200) == (False, 1.0)
    assert alone.standing("whole", problem("hc:tt:34x386x17"), H200) is None


def test_products_alone_in_complex64_go_to_the_array_librarys_own_routine(new_home: Path) -> None:
    """Where the library multiplies: others, batches and conjugates go to cuBLASLt."""
    for text, by in (
        ("c:847x1582x424", {"by": "library"}),
        ("c:nj:847x1582x424", {}),
        ("z:847x31x424", {}),
        ("c:847x1582x424@3", {}),
    ):
        plan = dispatch.plan(problem(text), H200)
        assert plan.origin == "vendor", text
        assert dict(plan.config or {}) == by, text


def test_a_point_says_how_columns_are_aligned() -> None:
    for text in ("h:nn:33x17x99", "d:tt:33x17x99", "s:tn:64x128x100"):
        p = problem(text)
        assert alone.point(p).units == units(p)
        # Of packed columns it follows from the sizes.
        bare = alone.Point(*p.extents, p.trans)
        assert alone.coordinates(p.dtype.letter, bare) == alone.coordinates(p.dtype.letter, alone.point(p))


def test_a_record_says_nothing_of_a_product_alone_of_another_size() -> None:
    asked = problem("s:4096x4096x4096")
    assert alike.strange(problem("s:6144x6144x6144"), asked, H200)
    assert alike.strange(problem("s:4096x4096x2048"), asked, H200)
    assert not alike.strange(problem("s:4096x4096x4096", beta="any"), asked, H200)
    assert not alike.strange(problem("s:40x40x40"), problem("s:41x44x50"), H200)
    assert not alike.strange(problem("s:400x400x400@9"), problem("s:300x300x300@9"), H200)


def test_records_that_ship_say_nothing_of_other_large_products(new_home: Path) -> None:
    """From memory, too, for which the planner asks about a batch."""
    for text in ("s:4096x4096x4096", "c:8192x8192x8192"):
        plan = dispatch.plan(problem(text), H200)
        assert (plan.regime, plan.origin) in {("memory", "default"), ("memory", "vendor")}


def test_what_is_drawn_is_log_uniform_and_the_same_for_a_seed() -> None:
    found = list(drawn("h", 400, 1))
    assert found == list(drawn("h", 400, 1)) != list(drawn("h", 400, 2))
    extents = [extent for p in found for extent in p.extents]
    assert (min(extents), max(extents)) >= (LOW, 8000)
    assert max(extents) <= HIGH
    logs = sorted(math.log2(extent) for extent in extents)
    assert abs(logs[len(logs) // 2] - 9) < 0.5
    aligned = [all(extent % 8 == 0 for extent in p.extents) for p in found]
    assert sum(aligned) >= 200
    assert {p.trans for p in found} == {"nn", "tn", "nt", "tt"}
    assert problem("h:nn:8192x16x8192") in list(listed("h"))


def test_data_is_made_of_measurements_and_held_against_others() -> None:
    measured = {("h200", problem(f"s:nn:{m}x{n}x{k}")): {"classic": gain} for m, n, k, *_, gain in ROWS}
    data = gathered(measured)
    # Short products are those of batches.
    assert len(data["h200"]["classic"]["s"]) == len(ROWS)
    both = added(data, {"h200": {"classic": {"s": [[*ROWS[0][:-1], 2.0]]}, "inner": {"s": ROWS[:1]}}})
    assert len(both["h200"]["classic"]["s"]) == len(ROWS)
    assert both["h200"]["classic"]["s"][0][-1] == 2.0
    assert both["h200"]["inner"]["s"] == ROWS[:1]
    judged = verdicts(measured, data)
    by = {line["problem"]: line for line in judged}
    assert by["s:nn:8192x8192x512@1"]["runs"] == "classic"
    assert by["s:nn:32x32x512@1"]["runs"] == "cublas"
    assert by["s:nn:32x32x512@1"]["gain"] == 1


def test_a_measurement_of_columns_that_begin_anywhere_is_a_point_of_its_own(tmp_path: Path) -> None:
    """And not one of the packed product that has the same extents; of others nothing is kept."""
    line = {"kind": "large", "origin": "default", "problem": "b:nn:4096x4096x4096@1"}
    layouts = {"packed": 1.02, "ld4097,4097,4098+align2": 4.0, "ld4100,4100,4104": 1.1, "+gaps": 9.0}
    told = [line | {"layout": at, "stencil": "s unaligned", "against_cublas": x} for at, x in layouts.items()]
    file = tmp_path / "lines.jsonl"
    file.write_text("".join(json.dumps(each) + "\n" for each in ({"device": "h200"}, *told)))
    rows = gathered(timed([file]))["h200"]["s"]["b"]
    assert [row[5:] for row in rows] == [[None, 1.02], [(2, 2, 2), 4.0], [(8, 8, 16), 1.1]]


def test_what_a_call_ran_untuned_is_a_point_and_what_was_tuned_or_the_library_is_none(tmp_path: Path) -> None:
    line = {"kind": "alone", "origin": "call", "layout": "packed", "stencil": "ffma", "against_cublas": 1.2}
    kinds = {"default": "s:nn:999x99x99@1", "tuned": "s:nn:998x99x99@1", "vendor": "s:nn:997x99x99@1"}
    told = [line | {"from": source, "problem": problem} for source, problem in kinds.items()]
    file = tmp_path / "lines.jsonl"
    file.write_text("".join(json.dumps(each) + "\n" for each in ({"device": "h200"}, *told)))
    assert gathered(timed([file]))["h200"]["ffma"]["s"] == [[999, 99, 99, "nn", "0", None, 1.2]]


def test_turns_are_a_point_where_what_is_the_default_now_was_in_them(tmp_path: Path) -> None:
    text = "d:nn:440x696x2309@1"
    now = dict(STENCILS["dmma"].default(problem(text), H200))
    other = now | {"stages": 2}
    took = {"cublas_us": 6.0, "default_us": 4.0, "first_us": 3.0, "best_us": 2.0}
    line = {"kind": "models", "device": "h200", "problem": text, "stencil": "dmma", **took}
    file = tmp_path / "models.jsonl"
    for ways, want in (((now, other, other), 1.5), ((other, now, other), 2.0), ((other, other, other), None)):
        file.write_text(json.dumps(line | dict(zip(("default", "first", "best"), ways, strict=True))))
        rows = gathered(timed([file])).get("h200", {})
        assert rows == ({} if want is None else {"dmma": {"d": [[440, 696, 2309, "nn", "0", None, want]]}})


def test_what_ships_is_points() -> None:
    for stencils in alone.table().values():
        for letters in stencils.values():
            for letter, rows in letters.items():
                for row in rows:
                    at = alone.Point(*row[:-1])
                    assert max(at[:3]) > alone.SHORT
                    assert row[-1] > 0
                    assert len(alone.coordinates(letter, at)) == 12


def test_neighbours_of_the_list_are_the_same_for_a_seed() -> None:
    found = list(near("h", len(LISTED) + 2, 5))
    assert found == list(near("h", len(LISTED) + 2, 5)) != list(near("h", len(LISTED) + 2, 6))
    for p, q in zip(found, listed("h"), strict=False):
        assert all(
            extent % 8 == 0 and 0.6 < extent / of_list < 1.7
            for extent, of_list in zip(p.extents, q.extents, strict=True)
        )
