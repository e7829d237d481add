"""Products alone: what points say of them, what records of other sizes do not, and how both are measured."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.alone import HIGH, LISTED, LOW, drawn, listed, near, vectors
from bench.foretold import added, by_draws, gathered, timed, verdicts, without
from bench.foretold import drawn as draws_of
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


@pytest.mark.parametrize(
    ("text", "own"),
    [
        ("z:128x9000x512", True),
        ("z:9000x128x512", True),
        ("z:129x9000x512", False),
        ("z:128x9000x511", False),
        ("d:20x900x9000", False),
        ("s:20x900x9000", False),
        ("c:2000x900x90", True),
        ("z:20x900x9000@2", False),
    ],
)
def test_thin_results_of_long_sums_in_complex128_are_the_own_routines(text: str, own: bool) -> None:
    assert alone.by_own_routine(problem(text)) is own


def test_matrices_times_vectors_and_others_say_nothing_of_each_other() -> None:
    rows = [[2**e, 1, 2**f, "tn", "0", None, 1.3] for e in range(5, 14) for f in range(5, 14)]
    column, row = alone.Point(700, 1, 900, "tn"), alone.Point(1, 700, 900, "nn")
    known = alone.Measured("s", ((alone.Point(*one[:-1]), one[-1]) for one in rows))
    # A row times a matrix is a matrix times a column, whose letters are those of the transposes.
    assert known.foretold(column) == known.foretold(row)
    assert 1 < known.foretold(column)[0] < known.foretold(column)[1] < 1.3
    assert known.foretold(column._replace(n=700)) == (0.0, 1.0)
    others = alone.Measured("s", ((alone.Point(*one[:-1]), one[-1]) for one in ROWS))
    assert others.foretold(column) == (0.0, 1.0)
    # So long sums of columns that lie across them are another matter.
    assert known.foretold(alone.Point(700, 1, 900, "nn"))[0] < known.foretold(column)[0]


def test_random_matrices_times_vectors_are_the_same_for_a_seed() -> None:
    found = list(vectors("h", 200, 1))
    assert found == list(vectors("h", 200, 1)) != list(vectors("h", 200, 2))
    for number, p in enumerate(found):
        assert (min(p.m, p.n), p.products) == (1, 1)
        extents = (max(p.m, p.n), p.k)
        assert max(extents) > alone.SHORT
        assert all(LOW <= extent <= HIGH and extent % (8 if number % 2 else 1) == 0 for extent in extents)
    assert {p.m == 1 for p in found} == {True, False}
    assert {p.trans for p in found} == {"nn", "tn", "nt", "tt"}


def test_how_sure_a_type_has_to_be_is_said_by_its_draws() -> None:
    """The same points, whose coordinates are the same where columns are aligned."""
    at = alone.Point(720, 720, 720, "nn")
    taken = {}
    for letter in ("s", "d", "c", "z", "h", "b"):
        sure, gain = alone.Measured(letter, ((alone.Point(*row[:-1]), row[-1]) for row in ROWS)).foretold(at)
        taken[letter] = math.log(gain / sure)
    assert taken["s"] == pytest.approx(taken["d"]) == pytest.approx(taken["z"])
    for letter, doubt in (("c", 2.5), ("h", 1.6), ("b", 1.6)):
        assert taken[letter] / taken["s"] == pytest.approx(doubt / 2.0)


def test_products_alone_in_complex64_go_to_the_array_librarys_own_routine(new_home: Path) -> None:
    """Where the library multiplies: others, batches and conjugates go to cuBLASLt."""
    for text, by in (
        ("c:847x1582x424", {"by": "library"}),
        ("c:nj:847x1582x424", {}),
        ("z:847x31x424", {}),
        ("z:tt:23x828x13608", {"by": "library"}),
        ("z:jt:23x828x13608", {}),
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
    told = [
        line | {"layout": at, "stencil": "tensor unaligned", "against_cublas": x} for at, x in layouts.items()
    ]
    file = tmp_path / "lines.jsonl"
    file.write_text("".join(json.dumps(each) + "\n" for each in ({"device": "h200"}, *told)))
    rows = gathered(timed([file]))["h200"]["tensor"]["b"]
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


def test_draws_are_foretold_without_their_own_points(tmp_path: Path) -> None:
    """Those that no call ran in parts, and the library's product as it was timed."""

    def run(seed: int | None, what: str = "random") -> dict[str, object]:
        return {"kind": "run", "device": "h200", "options": {"what": what, "seed": seed}}

    def way(text: str, source: str, gain: float, stencil: str | None = "classic") -> dict[str, object]:
        about = {"kind": "alone", "problem": text, "layout": "packed", "against_cublas": gain}
        return about | {"stencil": stencil, "origin": source.split()[0], "from": source.split()[-1]}

    called = [
        way("s:nn:4096x4096x512@1", "call default", 0.7),
        way("s:nn:64x64x512@1", "call vendor", 0.97, None),
        way("c:nn:64x64x512@1", "call vendor", 0.6, None),
    ]
    timed_alone = [way(f"s:nn:{2**e}x8192x512@1", "default", 1.3) for e in range(5, 14)]
    skinny = [way("s:nn:1024x1024x512@1", "default", 1.0)]
    file = tmp_path / "lines.jsonl"
    told = [run(7), *called, run(8), *timed_alone, run(1, "skinny"), *skinny, run(None)]
    file.write_text("".join(json.dumps(each) + "\n" for each in told))
    draws, library = draws_of([file])
    assert {len(products) for name, products in draws.items() if name.startswith("8.")} == {0, 1}
    assert [len(products) for name, products in draws.items() if name.startswith("7.")] == [3]
    assert sum(map(len, draws.values())) == 12
    assert sorted(library.values()) == [0.6, 0.97]

    table = {"h200": {"classic": {"s": ROWS, "h": ROWS, "b": ROWS}}}
    product = "h200", problem("s:nn:4096x4096x512")
    left = without(table, [product])["h200"]["classic"]
    assert (len(left["s"]), len(left["h"])) == (len(ROWS) - 1, len(ROWS))
    twins = without(table, [("h200", problem("b:nn:4096x4096x512"))])["h200"]["classic"]
    assert [len(twins[letter]) for letter in "shb"] == [len(ROWS), len(ROWS) - 1, len(ROWS) - 1]

    judged = {line["problem"]: line for line in by_draws([file], table)}
    # What ships is newer than what the draw saw; the others' points say that it gains.
    ours, theirs = judged["s:nn:4096x4096x512@1"], judged["s:nn:64x64x512@1"]
    assert (ours["runs"], ours["gain"]) == ("classic", 1.3)
    assert (theirs["runs"], theirs["gain"]) == ("cublas", 0.97)
    # PyTorch's own routine runs these since.
    assert judged["c:nn:64x64x512@1"]["gain"] == 1.0


def test_what_ships_is_points() -> None:
    for stencils in alone.table().values():
        for letters in stencils.values():
            for letter, rows in letters.items():
                for row in rows:
                    at = alone.Point(*row[:-1])
                    assert max(at[:3]) > alone.SHORT
                    assert row[-1] > 0
                    assert len(alone.coordinates(letter, at)) == (8 if alone.of_vector(at) else 12)


def test_neighbours_of_the_list_are_the_same_for_a_seed() -> None:
    found = list(near("h", len(LISTED) + 2, 5))
    assert found == list(near("h", len(LISTED) + 2, 5)) != list(near("h", len(LISTED) + 2, 6))
    for p, q in zip(found, listed("h"), strict=False):
        assert all(
            extent % 8 == 0 and 0.6 < extent / of_list < 1.7
            for extent, of_list in zip(p.extents, q.extents, strict=True)
        )
