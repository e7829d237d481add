"""What is executed by a listing, what llvm-mca says of it, and what becomes of predictions in the store and
in plans. What the tool said was recorded, but for one test that asks it."""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import tilewright as tw
from bench import predicted
from tilewright.catalog import STENCILS
from tilewright.errors import ArgumentError, CompileError, DeviceError
from tilewright.model import PREDICTED, Config, Device, Problem, Record, Source, Timing
from tilewright.planning import dispatch
from tilewright.store.records import Records
from tilewright.targets.cpu import cycles, llvm, named, trace
from tilewright.tuning import modelled, predict
from tilewright.tuning.gemm.jobs import tuning_jobs

pytestmark = pytest.mark.pure

DEVICE = named.device("neoverse-v2-neon")
PROBLEM = Problem.parse("d:8x8x8@2")[0]
"""A batch in cache."""
TILE = STENCILS["tile"]
CONFIG = TILE.default(PROBLEM, DEVICE)

PROGRAM = """
define void @kernel(ptr %A, i64 %count) {
entry:
  br label %batch
batch:
  %batch.i = phi i64 [ 0, %entry ], [ %n1, %latch ]
  br label %head
head:
  br label %k
k:
  %k.i = phi i64 [ 0, %head ], [ %n2, %k ]
  %n2 = add i64 %k.i, 4
  %m2 = icmp slt i64 %n2, 10
  br i1 %m2, label %k, label %tail
tail:
  br label %latch
latch:
  %n1 = add i64 %batch.i, 1
  %m1 = icmp slt i64 %n1, %count
  br i1 %m1, label %batch, label %done
done:
  ret void
}
"""
LISTING = """
kernel:                                 // @kernel
\t.cfi_startproc
// %bb.0:                               // %entry
\tcmp\tx1, #1
\tb.lt\t.LBB0_4
.LBB0_1:                                // %head
\tmov\tx8, #3                          // =0x3
.LBB0_2:                                // %k
\tfmla\tv0.2d, v1.2d, v2.2d
\t//APP
\t//NO_APP
\tb.lt\t.LBB0_2
// %bb.3:                               // %tail
\tstr\tq0, [x0]
\tb.lt\t.LBB0_1
.LBB0_4:                                // %done
\tret
.Lfunc_end0:
"""


def prediction(cycles: float, when: str = "2026-01-01", **changes: Any) -> Record:
    config = changes.pop("config", CONFIG)
    record = Record(PROBLEM, "cached", "tile", config, PREDICTED, DEVICE.key, "some", when=when)
    return replace(record, seconds=cycles * 1e-9 * PROBLEM.batch, detail=f"{cycles} cycles", **changes)


def measured(seconds: float, when: str = "2026-01-01", **changes: Any) -> Record:
    timing = Timing((seconds,), seconds, seconds, seconds, "cached", PROBLEM.batch, 1)
    record = prediction(1.0, when, **changes)
    return replace(record, status="ok", seconds=seconds, timing=timing, protocol=1, detail="")


# -- what is executed -----------------------------------------------------------------------------
def test_a_turn_of_the_batch_is_followed_through_its_loops() -> None:
    found = trace.executed(Source(PROGRAM, "kernel"), LISTING)
    loop = ("\tfmla\tv0.2d, v1.2d, v2.2d", "\tb.lt\t.LBB0_2")
    # Steps of 4 of 10 are three turns, and a constant's comment is no part of the instruction.
    assert found.lines == ("\tmov\tx8, #3", *loop * 3, "\tstr\tq0, [x0]", "\tb.lt\t.LBB0_1")
    assert (found.inner, found.turns) == (loop, 3)


def test_the_innermost_loop_is_that_of_what_is_asked_for() -> None:
    source = Source(PROGRAM, "kernel")
    assert trace.executed(source, LISTING, weigh=lambda line: "fmla" in line).turns == 3
    # Nothing in any loop is a store.
    found = trace.executed(source, LISTING, weigh=lambda line: "str" in line)
    assert (found.inner, found.turns) == ((), 0)


@pytest.mark.parametrize(
    ("change", "to", "why"),
    [
        ("kernel:", "other:", "no function 'kernel'"),
        ("\tb.lt\t.LBB0_1\n", "", "no loop over the batch"),
        ("\tstr\tq0, [x0]", "\tcbz\tx1, .LBB0_4", "depends on is not known"),
    ],
)
def test_what_cannot_be_followed_is_said(change: str, to: str, why: str) -> None:
    with pytest.raises(CompileError, match=why):
        trace.executed(Source(PROGRAM, "kernel"), LISTING.replace(change, to))


FAR = """
kernel:                                 # @kernel
\tblez\ta1, .LBB0_4
.LBB0_1:                                # %head
\tvsetivli\tzero, 2, e64, m1, ta, ma
\tli\ta5, 3
.LBB0_2:                                # %k
\tvfmacc.vf\tv8, fa5, v9
\tbge\ta5, a4, .LBB0_3
\tj\t.LBB0_2
.LBB0_3:                                # %tail
\tvse64.v\tv8, (a0)
\tbge\ta6, a1, .LBB0_4
\tj\t.LBB0_1
.LBB0_4:                                # %done
\tret
.Lfunc_end0:
"""


def test_a_loop_that_is_too_long_for_its_jump_is_left_over_another() -> None:
    found = trace.executed(Source(PROGRAM, "kernel"), FAR, weigh=lambda line: "vfmacc" in line)
    turn = ("\tvfmacc.vf\tv8, fa5, v9", "\tbge\ta5, a4, .LBB0_3", "\tj\t.LBB0_2")
    first = ("\tvsetivli\tzero, 2, e64, m1, ta, ma", "\tli\ta5, 3")
    last = ("\tvse64.v\tv8, (a0)", "\tbge\ta6, a1, .LBB0_4", "\tj\t.LBB0_1")
    # The last turn leaves the loop before its jump back.
    assert found.lines == (*first, *turn * 2, *turn[:2], *last)
    assert (found.inner, found.turns) == (turn, 3)


def test_what_says_how_long_vectors_are_goes_before_what_is_asked_of() -> None:
    found = trace.executed(Source(PROGRAM, "kernel"), FAR, weigh=lambda line: "vfmacc" in line)
    assert (found.before, found.inner_before) == ((), found.lines[:1])
    moved = FAR.replace(found.lines[0] + "\n", "").replace("\tblez", found.lines[0] + "\n\tblez")
    found = trace.executed(Source(PROGRAM, "kernel"), moved, weigh=lambda line: "vfmacc" in line)
    assert found.before == found.inner_before == ("\tvsetivli\tzero, 2, e64, m1, ta, ma",)


def test_a_model_of_risc_v_is_asked_of_vectors_of_their_length() -> None:
    """By itself a multiply-add counts as one of eight registers: 4 cycles in place of half of one."""
    try:
        cycles.tool()
    except DeviceError as error:
        pytest.skip(str(error))
    device, add = named.device("sifive-p670"), "\tvfmacc.vf\tv8, fa5, v16"
    said = "\tvsetivli\tzero, 2, e64, m1, ta, ma"
    assert cycles.rate([add], device) < 1
    assert cycles.rate([add], device, [said]) == cycles.rate([said, add], device) == 2
    # Of vectors of two lengths the longer ones count.
    half = "\tvsetivli\tzero, 4, e64, m2, ta, ma"
    assert cycles.rate([add, half, add], device, [said]) == 1
    adds = [f"\tvfmacc.vf\tv{8 + number}, fa5, v7" for number in range(16)]
    assert cycles.cycles(adds, device, [said]) == pytest.approx(8, rel=0.05)


def test_a_table_of_shares_marks_what_is_missed() -> None:
    rows = [
        {"processor": "pwr9", "problem": f"d:nn:{n}x{n}x{n}@1", "inner": inner, "full": n % 2 == 0}
        for n, inner in ((8, 0.894), (16, 0.896), (9, 0.79), (7, 0.8))
    ]
    assert list(predicted.table(rows, [8, 16, 9, 7, 5])) == [
        "| | | 8 | 16 | 9 | 7 | 5 |",
        "|---|---|--:|--:|--:|--:|--:|",
        "| pwr9 | d | 89* | 90 | 79/* | 80/ |  |",
    ]


@pytest.mark.parametrize("name", ["cortex-a57", "pwr8", "pwr10", "sifive-p670", "cascadelake"])
def test_all_multiply_adds_of_a_default_are_executed(name: str) -> None:
    device = named.device(name)
    problem = Problem.parse("d:20x6x26@2")[0]
    source = TILE.source(problem, TILE.default(problem, device), device)
    found = trace.executed(source, llvm.assembly(source, device))
    adds = sum(cycles.multiplies(line, device) for line in found.lines)
    # 20 rows are whole vectors, or two and a narrower one.
    vectors = 3 if name == "cascadelake" else 10
    assert adds == vectors * problem.n * problem.k
    assert found.turns > 1


def test_an_outer_product_is_several_multiply_adds() -> None:
    device, outer = named.device("pwr10"), STENCILS["outer"]
    problem = Problem.parse("d:20x6x26@2")[0]
    source = outer.source(problem, outer.default(problem, device), device)
    found = trace.executed(source, llvm.assembly(source, device))
    # Six columns are two fours.
    assert sum(cycles.multiplies(line, device) for line in found.lines) == 10 * 8 * problem.k
    assert cycles.multiplies("\txvbf16ger2pp 0, 34, 35", device) == 8
    assert cycles.multiplies("\tlxv 34, 0(4)", device) == 0


# -- what the tool says ---------------------------------------------------------------------------
ANSWER = {
    "CodeRegions": [
        {"Name": "once", "SummaryView": {"TotalCycles": 30}},
        {"Name": "again", "SummaryView": {"TotalCycles": 30 + 4 * 1500}},
        {
            "Name": "all",
            "InstructionInfoView": {
                "InstructionList": [
                    {"mayLoad": True, "mayStore": False, "RThroughput": 0.5},
                    {"mayLoad": False, "mayStore": False, "RThroughput": 0.25},
                ]
            },
        },
    ]
}


@pytest.fixture
def answered(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tool says ``ANSWER``, whatever it is asked."""

    class Done:
        returncode, stdout, stderr = 0, json.dumps(ANSWER), ""

    monkeypatch.setattr(cycles, "tool", lambda: ("llvm-mca", "19.1.7"))
    monkeypatch.setattr(cycles.subprocess, "run", lambda *words, **options: Done)


@pytest.mark.usefixtures("answered")
def test_what_the_tool_says_is_read() -> None:
    lines = ["\tldr\tq1, [x0]", "\tfmla\tv0.2d, v1.2d, v2.2d"]
    # What further times cost, of as many as make 3,000 instructions.
    assert cycles.cycles(lines, DEVICE) == 4
    assert cycles.counts([*lines, lines[1]], DEVICE) == cycles.Counts(3, 1, 0, 2)


@pytest.mark.parametrize(
    ("line", "asked"),
    [
        ("\txxmrghw 0, 1, 2", "\txxlor\t0, 1, 2"),
        ("\txxpermdi 3, 34, 35, 1", "\txxlor\t3, 34, 35"),
        ("\txxspltw 5, 40, 3", "\txxlor\t5, 40, 40"),
        ("\txxswapd\t6, 7", "\txxlor\t6, 7, 7"),
        ("\txvmaddasp 0, 1, 2", "\txvmaddasp 0, 1, 2"),
    ],
)
@pytest.mark.usefixtures("answered")
def test_power8_is_asked_of_permutes_without_their_queue(
    line: str, asked: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(words: list[str], **options: Any) -> Any:
        given.append(options["input"])
        return answer(words, **options)

    given, answer = list[str](), cycles.subprocess.run
    monkeypatch.setattr(cycles.subprocess, "run", run)
    for name, said in (("pwr8", asked), ("pwr9", line)):
        cycles.ask({"all": [line]}, named.device(name))
        assert given.pop() == f"# LLVM-MCA-BEGIN all\n{said}\n# LLVM-MCA-END all\n"


def test_without_the_tool_an_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    cycles.tool.cache_clear()
    monkeypatch.setattr(cycles.shutil, "which", lambda name: None)
    monkeypatch.setattr(Path, "glob", lambda *_: iter(()))
    with pytest.raises(DeviceError, match="there is none here; install it"):
        cycles.tool()
    monkeypatch.setattr(cycles.shutil, "which", lambda name: "/somewhere/llvm-mca")
    monkeypatch.setattr(cycles, "_version", lambda path: (14, 0, 6))
    with pytest.raises(DeviceError, match=r"the newest here is 14\.0\.6"):
        cycles.tool()
    cycles.tool.cache_clear()


def test_the_tool_predicts_a_default_on_each_architecture() -> None:
    try:
        cycles.tool()
    except DeviceError as error:
        pytest.skip(str(error))
    for name, rate in (("neoverse-v2", 4), ("neoverse-v2-neon", 4), ("pwr9", 2), ("znver4", 1)):
        device = named.device(name)
        found = predict.predicted(PROBLEM, device, "tile", TILE.default(PROBLEM, device))
        lanes = device["vector_bits"] // 64
        assert found.multiply_adds == 512 / lanes
        assert found.bound == 512 / lanes / rate
        assert 0.2 < found.share <= 1.01
        assert found.spills == 0


@pytest.mark.parametrize(
    ("name", "spelling", "least"),
    [
        ("pwr8", "s:24", 0.9),
        ("pwr8", "d:17", 0.9),
        ("pwr8", "c:16", 0.9),
        ("pwr8", "z:16", 0.9),
        ("pwr9", "s:16", 0.9),
        ("pwr9", "s:17", 0.9),
        ("pwr9", "c:24", 0.9),
        ("pwr9", "z:17", 0.9),
    ],
)
def test_inner_loops_of_power_are_near_their_bound(name: str, spelling: str, least: float) -> None:
    try:
        cycles.tool()
    except DeviceError as error:
        pytest.skip(str(error))
    device, problem = named.device(name), Problem.parse(spelling)[0].with_(batch=2)
    assert predict.predicted(problem, device, "tile", TILE.default(problem, device)).inner >= least


def test_figures_go_by_the_lesser_of_core_and_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    row = {"cycles": 10.0, "instructions": 100.0, "bound": 5.0, "inner": 0.5, "share": 0.5}
    monkeypatch.setattr(predicted, "foreseen", lambda job: row | {"core": job[0]})
    given = argparse.Namespace(figures="9a,12,13", pool=SimpleNamespace(map=map))
    found = {
        (line["figure"], line["cores"], line["memory"]): line
        for line in predicted.figures(given)
        if line["n"] == 8
    }
    # 1,024 flop in 10 cycles of one core at 2.3 GHz are 235 Gflop/s, and 18 GB/s allow 9.
    one = found["9a", 1, ""]
    assert (one["cycles"], one["share"], one["core"]) == (10, 0.5, "haswell")
    assert one["in_cache"] == pytest.approx(235.52e9)
    assert one["flops_per_s"] == pytest.approx(9e9)
    assert [cores for figure, cores, _ in found if figure == "9a"] == [1, 6, 8, 10]
    # Of Knights Landing only what was counted: 100 instructions, two in a cycle.
    for memory, bound in (("DDR4", 46e9), ("MCDRAM", 210e9)):
        line = found["12", 68, memory]
        assert (line["cycles"], line["share"], line["inner"]) == (50, None, None)
        assert line["flops_per_s"] == pytest.approx(bound)
    assert all(line["predicted"] for line in found.values())


# -- processors by name ---------------------------------------------------------------------------
def test_a_named_processor_has_the_key_of_the_same_one_where_it_is_found() -> None:
    assert (DEVICE.key, DEVICE.features) == ("neoverse-v2-neon", "aarch64/neoverse-v2 +neon")
    sve = named.device("neoverse-v2")
    assert (sve.key, sve["vector_bits"]) == ("neoverse-v2-sve128", 128)
    assert sve.features == "aarch64/neoverse-v2 +bf16,+neon,+sve,+sve2"


def test_a_name_that_is_nearly_right_is_told() -> None:
    with pytest.raises(ArgumentError, match=r"device='neoverse-v3'.*did you mean neoverse-v2"):
        named.device("neoverse-v3")
    with pytest.raises(ArgumentError, match="device='neoverse-v2'; accepted: cpu, cuda, and with model"):
        tw.tune("d:8", device="neoverse-v2")


# -- predictions as records -----------------------------------------------------------------------
@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Records:
    """The records that plans are made of: an empty store."""
    held = Records(tmp_path / "records.sqlite", shipped=tmp_path)
    monkeypatch.setattr(dispatch, "records", lambda: held)
    for each in dispatch.CACHED:
        getattr(each, "cache_clear", lambda: None)()
    return held


OTHER = CONFIG.with_(blk_m=2, reg_a=2, blk_n=8)


def test_the_prediction_of_the_fewest_cycles_is_found_and_no_measurement_is_one(store: Records) -> None:
    store.append(prediction(80.0))
    store.append(prediction(70.0, config=OTHER))
    found = store.predicted(PROBLEM.key, "cached", DEVICE.key)
    assert found is not None
    assert found.config == OTHER
    assert store.best(PROBLEM.key, "cached", DEVICE.key) is None
    assert store.near(PROBLEM.with_(beta="1"), "cached", DEVICE.key) == []
    assert store.devices() == []


def test_a_prediction_supersedes_no_measurement(store: Records) -> None:
    store.append(measured(1e-6))
    store.append(prediction(1.0, "2026-02-02"))
    best = store.best(PROBLEM.key, "cached", DEVICE.key)
    assert best is not None
    assert best.status == "ok"


def test_predictions_are_exported_where_nothing_was_measured(store: Records, tmp_path: Path) -> None:
    store.append(prediction(80.0))
    store.append(prediction(70.0, config=OTHER))
    path = tmp_path / "lines.jsonl"
    assert store.export(path) == 1
    other = Records(tmp_path / "other.sqlite", shipped=tmp_path / "none")
    assert other.import_(path).new == 1
    found = other.predicted(PROBLEM.key, "cached", DEVICE.key)
    assert found is not None
    assert found.config == OTHER
    store.append(measured(1e-6))
    store.export(path)
    assert [json.loads(line)["status"] for line in path.read_text().splitlines()] == ["ok"]


def planned(device: Device = DEVICE) -> tuple[str, Config | None, str]:
    for each in dispatch.CACHED:
        getattr(each, "cache_clear", lambda: None)()
    plan = dispatch.plan(PROBLEM, device)
    return plan.origin, plan.config, plan.why


def test_a_plan_takes_a_prediction_before_the_default_and_a_measurement_before_it(store: Records) -> None:
    assert planned()[0] == "default"
    store.append(prediction(70.0, config=OTHER))
    assert planned() == ("predicted", OTHER, "not measured: 70.0 cycles")
    near = replace(measured(1e-6), problem=PROBLEM.with_(beta="1"))
    store.append(near)
    assert planned()[:2] == ("near", CONFIG)
    store.append(measured(1e-6))
    assert planned()[0] == "tuned"


def test_a_prediction_that_its_stencil_would_not_run_is_left(store: Records) -> None:
    store.append(prediction(1.0, config=CONFIG.with_(vector_bits=512)))
    assert planned()[0] == "default"


# -- tuning by a model ----------------------------------------------------------------------------
def test_a_search_is_answered_by_the_model(store: Records, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Config] = []

    def simulated(problem: Problem, device: Device, stencil: str, config: Config) -> tuple[float, int]:
        asked.append(config)
        if config["blk_n"] == 3:
            raise CompileError("no such instruction")
        return 100.0 / config["blk_n"], int(config["blk_n"] == 8)

    monkeypatch.setattr(cycles, "tool", lambda: ("llvm-mca", "19.1.7"))
    monkeypatch.setattr(predict, "simulated", simulated)
    heard = []
    run = {"effort": "quick", "search": "exhaustive", "listen": heard.append, "budget": 60}
    jobs = tuning_jobs("d:8", "0", ("memory", "cached"))
    (result,) = modelled.modelled(jobs, DEVICE, store, **run)
    best = result.best
    assert best is not None
    assert (best.status, best.timing) == (PREDICTED, None)
    assert best.config["blk_n"] == max(config["blk_n"] for config in asked if config["blk_n"] != 8)
    assert set(result.statuses) <= {PREDICTED, "compile_failed", "spills"}
    assert result.tried == len(asked) == len(set(asked)) == len(heard)
    # What is known is not asked again, and who wants no search is told what is known.
    (again,) = modelled.modelled(jobs, DEVICE, store, **run)
    assert (len(asked), again.best) == (result.tried, best)
    (known,) = modelled.modelled(jobs, DEVICE, store, effort="records-only")
    assert (known.tried, known.best) == (0, best)


def test_what_a_model_cannot_do_is_refused(store: Records, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ArgumentError, match="regimes='memory'; accepted with a model: cached"):
        modelled.modelled(tuning_jobs("d:8", "0", "memory"), DEVICE, store, effort="quick")
    with pytest.raises(ArgumentError, match="model=True goes with no gaps, gpus or cluster"):
        tw.tune("d:8", device="neoverse-v2", model=True, gaps=True)
