"""What the commands that tune for shipping ask, keep and count, without a GPU."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bench import lanes, public, sure, winners
from tilewright.catalog import STENCILS, TARGETS
from tilewright.model import Config, Device, Plan, Problem, Record, Timing
from tilewright.planning import dispatch
from tilewright.store.jsonl import compact, encode
from tilewright.store.records import Records
from tilewright.tuning import starts, timing
from tilewright.tuning.results import Result
from tilewright.tuning.tasks import sized, toolchain

pytestmark = pytest.mark.pure

DEVICE = dispatch.known(TARGETS["cuda"].devices["h200"])
EIGHT = Problem.parse("d:8x8x8@1000")[0]
CONFIG = Config({"one": 1})


def shape(a: tuple[int, ...], b: tuple[int, ...] = ()) -> str | None:
    found = winners.of_shape(public.Shape("somebody", "c", a, b), "0")
    return found and found.key.partition("|alpha")[0]


def test_row_major_products_are_problems_with_the_operands_swapped() -> None:
    assert shape((0, 9, 3), (0, 3, 128)) == "c:nn:128x9x3|packed"
    assert shape((1, 2, 4), (0, 4, 5)) == "c:nn:5x2x4|packed+sharedB"
    assert shape((0, 25, 5), (5, 6)) == "c:nn:6x25x5|packed+sharedA"
    assert shape((10, 3), (3, 4)) == "c:nn:4x10x3|packed"
    assert shape((0, 16, 4)) == "c:cn:16x16x4|packed"
    assert shape((8, 1, 4, 4), (8, 100, 4, 4)) is None, "several batch axes"
    assert shape((8, 100, 4, 4), (8, 100, 4, 4)) == "c:nn:4x4x4|packed"


def test_the_problems_of_lists_are_asked_once_and_in_the_order_given() -> None:
    found = winners.asked(["public", "skewed", "squares"])
    keys = [problem.key for problem in found]
    assert len(set(keys)) == len(keys) > 300
    assert {problem.beta for problem in found} == {"0", "1"}
    assert [problem.key for problem in winners.asked(["squares"], [keys[-1], "unknown", keys[-3]])] == [
        keys[-1],
        keys[-3],
    ]


def test_stencils_far_behind_the_best_are_not_tried() -> None:
    names = lanes.promising(sized(replace(EIGHT, batch=1), "memory", DEVICE), "memory", DEVICE)
    assert names == ["tiny"]


def tried(stencil: str, config: Config, seconds: float, protocol: int) -> Record:
    found = Timing((seconds,), seconds, seconds, seconds, "memory", EIGHT.batch, protocol)
    written = toolchain(DEVICE, stencil) if stencil != "vendor" else "theirs"
    return Record(
        *(EIGHT, "memory", stencil, config, "ok", DEVICE.key, written), timing=found, protocol=protocol
    )


@pytest.mark.parametrize(
    ("ours", "theirs", "before", "ships"),
    [(1.0, 2.0, 1.1, True), (1.0, 0.5, 1.1, True), (1.2, 2.0, 1.1, False), (1.0, 2.0, None, False)],
)
def test_what_is_slower_than_what_calls_run_does_not_ship(
    ours: float, theirs: float, before: float | None, ships: bool, tmp_path: Any
) -> None:
    records = Records(tmp_path / "tries.sqlite", shipped=tmp_path)
    made = Plan(EIGHT, DEVICE, "memory", "default", "", "tiny", CONFIG)
    if before is not None:
        records.append(tried("tiny", CONFIG, before, timing.ALONE))
    best = tried("tiny", Config({"one": 2}), ours, timing.DECIDED)
    vendor = tried("vendor", Config({}), theirs, timing.DECIDED)
    line = lanes.told(Result(EIGHT, "memory", best, vendor), made, records, DEVICE)
    assert line["ships"] is ships
    # Where a call ran the vendor's product, nothing is slower than that.
    library = Plan(EIGHT, DEVICE, "memory", "vendor", "")
    assert lanes.told(Result(EIGHT, "memory", best, vendor), library, records, DEVICE)["ships"]


def process(winner: str, *tied: str, widths: tuple[float, ...] = (0.001,)) -> dict[str, Any]:
    finalists = [{"name": winner, "rounds": 10, "half_width": width} for width in widths]
    return {"problem": "d", "winner": winner, "tied": list(tied), "finalists": finalists}


def test_winners_agree_that_are_the_same_or_declared_tied() -> None:
    found = [process("a"), process("a", "b"), process("b"), process("c", widths=(0.02, 0.004))]
    total = sure.agreed(found)
    assert (total["same"], total["agreed"], total["processes"]) == (2, 3, 4)
    assert total["half_width"] == {"median": 0.001, "largest": 0.02, "narrow": 0.8}
    assert sure.half_width(Timing((1.0,), 2.0, 1.9, 2.4, "memory", 1, 2)) == pytest.approx(0.2)


def test_rows_replace_those_of_their_problem_and_regime_alone() -> None:
    def line(problem: str, regime: str, seconds: float) -> str:
        made = replace(tried("tiny", CONFIG, seconds, timing.DECIDED), regime=regime)
        return compact(encode(replace(made, problem=Problem.parse(problem)[0]), samples=False))

    held = [
        line("d:8x8x8@1000", "cached", 1.0),
        line("d:8x8x8@1000", "memory", 2.0),
        line("s:4x4x4", "memory", 3.0),
    ]
    new = [line("c:4x4x4", "memory", 4.0), line("d:8x8x8@2000", "memory", 5.0)]
    found = winners.merged(["\n".join(held) + "\n", "\n".join(new)])
    assert found.split("\n") == [new[0], held[0], new[1], held[2], ""]


def shipped(device: Device) -> list[Record]:
    return Records(Path("/nonexistent/records.sqlite")).shipped(device.key)


def test_what_ships_is_run_for_its_own_problem(new_home: Path) -> None:
    """Some of each stencil: every call of theirs goes by its record, or by the library's."""
    rows = {(row.stencil, row.problem.dtype.letter, row.problem.beta): row for row in shipped(DEVICE)}
    assert len(rows) > 40
    for row in rows.values():
        plan = dispatch.plan(row.problem, DEVICE)
        if plan.regime != row.regime:
            continue
        if row.stencil == "vendor":
            assert (plan.origin, plan.stencil) == ("vendor", None)
        else:
            assert (plan.origin, plan.stencil, plan.config) == ("tuned", row.stencil, row.config)


def test_what_the_library_won_against_kernels_of_one_size_says_nothing_of_other_sizes(new_home: Path) -> None:
    won = [row for row in shipped(DEVICE) if row.stencil == "vendor" and row.problem.extents == (64, 64, 64)]
    assert won
    for row in won:
        other = row.problem.with_(m=65, n=65, k=65)
        assert dispatch.plan(other, DEVICE).why.find("near problem") < 0


def test_what_ships_is_tried_again_under_rules_that_came_later(new_home: Path) -> None:
    """A winner outside a rule of thumb is still among the first, and one that the hardware forbids is not."""
    problem = sized(Problem.parse("d:48x48x48")[0], "memory", DEVICE)
    space, default = STENCILS["tiny"].space(problem, DEVICE), STENCILS["tiny"].default(problem, DEVICE)
    won = default.with_(mma=8, rows=24, columns=24, warps=8, stages=4, blocks=132)
    assert (starts.inside(space, won), starts.fits(space, won)) == (False, True)
    assert not starts.fits(space, won.with_(stages=64))
    records = Records(new_home / "tries.sqlite", shipped=new_home)
    records.append(replace(tried("tiny", won, 1e-3, timing.DECIDED), problem=problem))
    found = starts.starts(records, problem, "memory", DEVICE, "tiny", space, [default], [])
    assert found.sure == {default, won}


def test_what_was_recorded_before_a_parameter_was_there_is_tried_again(new_home: Path) -> None:
    problem = sized(Problem.parse("d:8x8x8")[0], "memory", DEVICE)
    space, default = STENCILS["tiny"].space(problem, DEVICE), STENCILS["tiny"].default(problem, DEVICE)
    later = {param.name: param.absent for param in space.params if param.absent is not None}
    assert "per_block" in later
    won = default.with_(**later)
    assert default != won
    early = Config({name: value for name, value in won.items() if name not in later})
    records = Records(new_home / "tries.sqlite", shipped=new_home)
    records.append(replace(tried("tiny", early, 1e-3, timing.DECIDED), problem=problem))
    assert starts.starts(records, problem, "memory", DEVICE, "tiny", space, [default], []).sure == {
        default,
        won,
    }
