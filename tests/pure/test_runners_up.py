"""Rows of other stencils than a problem's winner, for batches that the winner's refuses."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bench import winners
from tilewright.catalog import STENCILS
from tilewright.cli.queries import records as queries
from tilewright.model import DTYPES, Config, Problem, Record, Timing
from tilewright.planning import dispatch, runners_up
from tilewright.runtime import call_cache
from tilewright.store.jsonl import compact, decode, encode
from tilewright.store.records import Records
from tilewright.targets.cuda.capability import named

pytestmark = pytest.mark.pure

H200 = named("h200")
SIZE = 50
MATRIX = SIZE * SIZE
PLAIN = Problem(DTYPES["z"], SIZE, SIZE, SIZE, batch=9000)
SHARED = PLAIN.with_(stride_a=0)
NESTED = PLAIN.with_(batch=49, stride_a=0, outer=((100, MATRIX, 49 * MATRIX, 49 * MATRIX),))
Tell = Callable[..., Records]


def row(stencil: str, seconds: float, protocol: int = 3, problem: Problem = PLAIN) -> Record:
    """A record of a stencil's default, or of a stencil that is not ours."""
    config = STENCILS[stencil].default(problem, H200) if stencil in STENCILS else Config({})
    timing = Timing((seconds,), seconds, seconds, seconds, "memory", problem.batch, 2)
    return Record(
        *(problem, "memory", stencil, config, "ok", "h200", "any"), timing=timing, protocol=protocol
    )


@pytest.fixture
def recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Tell]:
    """Makes plans go by these records, and no shipped ones but those of ``shelf``."""
    shelf = tmp_path / "data"
    shelf.mkdir()
    store = Records(tmp_path / "records.sqlite", shipped=shelf)

    def tell(*rows: Record, ships: tuple[Record, ...] = ()) -> Records:
        for each in rows:
            store.append(each)
        lines = "".join(compact(encode(each, samples=False)) + "\n" for each in ships)
        (shelf / "h200.jsonl").write_text(lines)
        call_cache.clear()
        return store

    monkeypatch.setattr(dispatch, "records", lambda: store)
    monkeypatch.setattr(dispatch.records, "cache_clear", lambda: None, raising=False)
    call_cache.clear()
    yield tell
    store.close()
    call_cache.clear()


def planned(problem: Problem) -> tuple[str, str | None]:
    plan = dispatch.plan(problem, H200)
    return plan.origin, plan.stencil


def test_without_records_both_go_elsewhere(recorded: Tell) -> None:
    """So that what the other tests find is what their records say."""
    recorded()
    assert planned(NESTED) == ("vendor", None)
    assert planned(SHARED) == ("default", "middle")
    assert planned(PLAIN)[0] == "default"


@pytest.mark.parametrize("ships", [False, True])
def test_batches_that_the_winner_refuses_go_by_the_row_of_another_stencil(
    recorded: Tell, ships: bool
) -> None:
    rows = row("single", 1.0), row("tiny", 1.5, protocol=2)
    recorded(*(() if ships else rows), ships=rows if ships else ())
    assert planned(PLAIN) == ("tuned", "single")
    assert planned(SHARED) == ("near", "tiny")
    plan = dispatch.plan(NESTED, H200)
    assert (plan.origin, plan.stencil) == ("default", "tiny")
    assert plan.config == STENCILS["tiny"].default(NESTED, H200)


def test_a_winner_of_ones_own_leaves_the_shipped_row_of_another_stencil(recorded: Tell) -> None:
    recorded(row("single", 1.0), ships=(row("tiny", 1.5),))
    assert planned(PLAIN) == ("tuned", "single")
    assert planned(NESTED) == ("default", "tiny")


def test_what_lost_to_another_stencil_and_to_the_library_says_nothing(recorded: Tell) -> None:
    """What was measured of batches like it says more."""
    recorded(row("single", 1.0), row("tiny", 1.5), row("vendor", 1.4))
    assert planned(NESTED) == ("vendor", None)
    assert planned(SHARED) == ("default", "middle")


def test_the_best_kernel_speaks_for_its_stencil_though_the_library_was_faster(recorded: Tell) -> None:
    """No product of a library is one call along several axes."""
    recorded(row("single", 1.5), row("tiny", 1.0), row("vendor", 0.9))
    assert planned(PLAIN) == ("vendor", None)
    assert planned(NESTED) == ("default", "tiny")


def test_the_best_of_the_other_stencils_is_asked_and_only_of_those_that_accept(recorded: Tell) -> None:
    recorded(row("single", 1.0), row("middle", 1.2), row("tiny", 1.5), row("classic", 1.1))
    assert planned(SHARED) == ("near", "classic")
    assert planned(NESTED) == ("default", "tiny")


def test_a_record_of_one_product_that_was_cut_is_none_of_a_batch(recorded: Tell) -> None:
    """Tiles are cut along k of one product alone."""
    one = Problem(DTYPES["d"], 400, 400, 400)
    config = STENCILS["dmma"].default(one, H200).with_(cut=2)
    timing = Timing((1e-5,), 1e-5, 1e-5, 1e-5, "cached", 1, 2)
    recorded(Record(one, "cached", "dmma", config, "ok", "h200", "any", timing=timing))
    assert planned(one) == ("tuned", "dmma")
    assert planned(one.with_(batch=3))[0] != "tuned"
    plain = config.with_(cut=0)
    recorded(Record(one, "cached", "dmma", plain, "ok", "h200", "any", timing=timing, protocol=2))
    assert planned(one.with_(batch=3)) == ("tuned", "dmma")
    recorded(Record(one, "memory", "dmma", plain, "ok", "h200", "any", timing=timing, protocol=2))
    assert planned(one.with_(batch=2**12)) == ("tuned", "dmma")
    # More products than the kernel counts are refused, whatever the record says of two.
    assert planned(one.with_(batch=2**21))[1] != "dmma"


def counted(problem: Problem) -> Counter[str]:
    """Look-ups of a plan."""
    asked: Counter[str] = Counter()

    def counting(name: str, kept: Any) -> Any:
        def method(*given: Any, **named: Any) -> Any:
            asked["other" if named.get("among") else name] += 1
            return kept(*given, **named)

        return method

    with pytest.MonkeyPatch.context() as patch:
        for name in ("best", "near"):
            patch.setattr(Records, name, counting(name, getattr(Records, name)))
        dispatch.plan(problem, H200)
    return asked


def test_other_rows_are_looked_up_only_where_a_winner_does_not_fit(
    recorded: Tell,
) -> None:
    recorded(row("single", 1.0), row("tiny", 1.5), row("vendor", 2.0))
    assert counted(PLAIN) == {"best": 1}
    # One for the key itself, one for the near problem.
    assert counted(PLAIN.with_(alpha="any")) == {"best": 2, "near": 1}
    # That row and the library's.
    assert counted(SHARED)["other"] == 2
    assert counted(PLAIN.with_(m=40))["other"] == 0
    # Nor where a winner of other sizes does not fit.
    assert counted(SHARED.with_(m=41, stride_a=0))["other"] == 0


# ---- what is kept


def test_rows_are_kept_for_what_the_winner_refuses(recorded: Tell, tmp_path: Path) -> None:
    recorded(row("single", 1.0), row("middle", 1.1), row("tiny", 1.5), row("vendor", 2.0))
    path = tmp_path / "out.jsonl"
    assert queries.exported(path, H200, every=False) == 3
    found = [decode(json.loads(line)) for line in path.read_text().splitlines()]
    assert [each.stencil for each in found] == ["single", "tiny", "middle"]
    other = Records(tmp_path / "other.sqlite", shipped=tmp_path / "none")
    other.import_(path)
    best = other.best(PLAIN.key, "memory", "h200")
    assert best is not None
    assert best.stencil == "single"


@pytest.mark.parametrize(
    ("rows", "kept"),
    [
        ([("tiny", 1.0), ("single", 1.1)], []),
        ([("single", 1.0), ("tiny", 2.5)], []),
        ([("tiny", 2.5), ("single", 2.6)], ["tiny"]),
    ],
)
def test_no_row_is_kept_that_no_call_would_go_by(
    recorded: Tell, rows: list[tuple[str, float]], kept: list[str]
) -> None:
    """A winner that refuses nothing; a row that lost to both; the best kernel where the library won."""
    store = recorded(*(row(*each) for each in rows), row("vendor", 2.0))
    winner = store.best(PLAIN.key, "memory", "h200")
    assert winner is not None
    assert [each.stencil for each in runners_up.others(store, winner)] == kept


@pytest.mark.parametrize("changes", [{"m": 24}, {"dtype": DTYPES["d"]}, {"batch": 1}, {"pointers": True}])
def test_none_is_kept_for_problems_whose_records_say_nothing_of_structures(changes: dict[str, Any]) -> None:
    assert list(runners_up.beside(row("single", 1.0))) != []
    assert list(runners_up.beside(replace(row("single", 1.0), problem=PLAIN.with_(**changes)))) == []


def test_new_winners_keep_the_rows_behind_them_as_decided_no_longer() -> None:
    def lines(*rows: Record) -> str:
        return "".join(compact(encode(each, samples=False)) + "\n" for each in rows)

    def merged(*texts: str) -> list[tuple[str, int]]:
        found = [decode(json.loads(line)) for line in winners.merged(texts).splitlines()]
        return [(each.stencil, each.protocol) for each in found]

    tiny, single = row("tiny", 1.0), row("single", 1.1)
    # A single one that serves all of them stands for itself, and one that brings others brings all.
    assert merged(lines(single), lines(tiny)) == [("tiny", 3)]
    assert merged(lines(tiny), lines(single, row("tiny", 1.2, protocol=2))) == [("single", 3), ("tiny", 2)]
    # Though its time of another day is the better one, the row that is kept does not win.
    assert merged(lines(tiny), lines(single)) == [("single", 3), ("tiny", 2)]
    assert merged(lines(single, tiny), lines(row("vendor", 0.9))) == [("vendor", 3), ("tiny", 2)]
    real = PLAIN.with_(dtype=DTYPES["d"])
    assert merged(lines(row("tiny", 1.0, problem=real)), lines(row("single", 1.1, problem=real))) == [
        ("single", 3)
    ]


def test_of_several_shipped_rows_the_first_wins_and_others_are_for_what_it_refuses() -> None:
    store = Records(Path("/nonexistent/records.sqlite"))
    rows: dict[tuple[str, str, str], list[Record]] = {}
    for device in ("h200", "h100"):
        for each in store.shipped(device):
            rows.setdefault((each.problem.key, each.regime, device), []).append(each)
    several = {key: each for key, each in rows.items() if len(each) > 1}
    assert len(several) >= 5
    for key, (first, *rest) in several.items():
        assert store.best(*key) == first
        named = [set(names) for names in runners_up.beside(first)]
        assert all(any(each.stencil in names for names in named) for each in rest)


@pytest.mark.parametrize(
    ("letter", "size", "beta", "winner"),
    [
        *(("z", 37, "1", "middle"), ("z", 41, "1", "single"), ("z", 42, "1", "single")),
        *(("c", 56, "1", "single"), ("c", 64, "0", "single")),
    ],
)
def test_plain_batches_run_the_winner_and_structures_what_accepts_them(
    new_home: Path, letter: str, size: int, beta: str, winner: str
) -> None:
    matrix = size * size
    plain = Problem(DTYPES[letter], size, size, size, batch=9000, beta=beta)
    nested = plain.with_(batch=49, stride_a=0, outer=((100, matrix, 49 * matrix, 49 * matrix),))
    assert planned(plain) == ("tuned", winner)
    assert planned(nested) == ("default", "tiny")
    if letter == "c":
        # Of ``z`` the row of beta 0 answers, whose stencil accepts what shares an operand.
        assert planned(plain.with_(stride_a=0)) == ("near", "tiny")
