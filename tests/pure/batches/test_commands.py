"""The commands of ``bench.batches`` without a GPU: what they ask for, and the lines of what they find."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from bench import lines
from bench.batches import calls, commands, figures, problems, rectangles
from bench.batches.classes import SHAPES
from bench.batches.classes import shapes as drawn_shapes
from bench.batches.points import Point
from bench.batches.result import bounded
from bench.batches.seeds import origin_of, seeds_of
from bench.batches.summed import summary
from tests.pure.batches.tuners import KNOWN, one
from tilewright.catalog import STENCILS
from tilewright.errors import ArgumentError
from tilewright.model import Config, Device

pytestmark = pytest.mark.pure


def test_types_are_spelled_with_commas_or_without() -> None:
    assert lines.letters("sdcz") == ["s", "d", "c", "z"]
    assert lines.letters("h,b,hc") == ["h", "b", "hc"]
    assert lines.letters("hc") == ["hc"]
    assert lines.letters("h, s") == ["h", "s"]
    for text in ("x", "h,cz", "s,d,q"):
        with pytest.raises(ArgumentError, match="accepted: any of h, b, s, d, c, z, hc"):
            lines.letters(text)


def test_lines_and_sectors_are_counted() -> None:
    packed = [one(text) for text in ("d:8x8x8", "h:3x3x3", "s:7x13x24", "hc:5x5x5", "z:tn:3x8x13")]
    for problem in packed:
        for beta in ("0", "1"):
            asked = problem.with_(beta=beta)
            assert problems.forced(asked) == pytest.approx(asked.bytes)
    # Columns of 24 bytes, 64 apart: a line of each is read, a sector written, for whose rest C is read.
    wide = one("d:3x3x3", lda=8, ldb=8, ldc=8)
    assert problems.forced(wide) == 3 * 3 * 64 + 3 * 32
    assert problems.forced(wide.with_(beta="1")) == 3 * 3 * 64 + 3 * 32
    # Whole sectors, each half of a line: nothing of C needs to be read.
    assert problems.forced(one("d:4x4x4", lda=8, ldb=8, ldc=8)) == 2 * 4 * 64 + 4 * 32
    # 32 bytes from column to column, of which 24 are wanted: all that lies there is read.
    assert problems.forced(one("d:3x3x3", lda=4, ldb=4, ldc=4)) == 4 * 96
    # Gaps of two bytes cost as much as no gaps, but that each sector of C is written in part.
    assert problems.forced(one("h:3x3x3", lda=4, ldb=4, ldc=4)) == 4 * 24
    # 17 doubles: columns begin anywhere in a sector; each gap makes one sector a part, in a line of its own.
    assert problems.forced(one("d:16x16x16", lda=17, ldb=17, ldc=17)) == 3 * 17 * 16 * 8 + 16 * 64
    # By hand: columns of 40 bytes, 72 apart, eight of them in 576 bytes, which are 9 lines: all of them.
    assert problems.forced(one("d:5x4x4", lda=9, ldb=4, ldc=5)) == 288 + 128 + 160
    shared = one("d:8x8x8@10", stride_b=0)
    assert problems.forced(shared) == pytest.approx(8 * 64 * 2.1)


def test_shapes_are_the_same_every_time() -> None:
    shapes = rectangles.mixed()
    assert len(set(shapes)) == len(shapes) == 60
    assert shapes == rectangles.mixed()
    assert not any(m == n == k for m, n, k in shapes)
    assert {extent for shape in shapes for extent in shape} == {3, 7, 8, 13, 16, 24, 32}
    assert [rectangles.paddings(n) for n in (3, 8, 16)] == [(4, 6, 16), (9, 11, 16), (17, 19, 24)]
    assert problems.filling(one("d:8x8x8"), 1e9).batch == 651041
    assert problems.filling(one("d:8x8x8"), 1e9, most=100).batch == 100
    assert problems.filling(one("d:8x8x8"), 1.0).batch == 1


def test_a_command_of_batches_has_its_own_defaults() -> None:
    squares = commands.parsed(["squares"])
    assert squares.types == ["h", "b", "s", "d", "c", "z", "hc"]
    assert lines.numbers(squares.sizes) == list(range(1, 33))
    assert (squares.betas, squares.bytes, squares.budget) == ("0,1", 1e9, 20.0)
    assert commands.parsed(["rectangles"]).budget == 0
    for words, parts in (([], "shapes,padded"), (["--shapes"], "shapes"), (["--padded"], "padded")):
        assert commands.parsed(["rectangles", *words]).parts == parts
    with pytest.raises(SystemExit):
        commands.parsed(["rectangles", "--padded", "--shapes"])
    told = commands.parsed(["counts", "--types", "h,hc", "--n", "8", "--counts", "1,10", "--bytes", "1e6"])
    assert (told.types, told.sizes, told.counts, told.bytes) == (["h", "hc"], "8", "1,10", 1e6)
    for words, match in (
        (["half", "--betas", "2"], "'2'; accepted: 0, 1, any"),
        (["rectangles", "--parts", "all"], "'all'; accepted: shapes, padded"),
        (["half", "--types", "hx"], "type 'x'"),
        (["half", "--draw", "a.jsonl"], "needs --plot"),
    ):
        with pytest.raises(ArgumentError, match=match):
            commands.parsed(words)


def test_squares_are_searched_and_summed_up(bench_run: Any, tmp_path: Path) -> None:
    run, found = bench_run("squares", "--types", "d,hc", "--sizes", "4,7,8")
    assert len(found) == 12
    assert [line for line in found if "of_copy" not in line] == [
        line for line in found if "7x7x7" in line["problem"]
    ]
    best = found[0]
    assert best["of_copy"] == pytest.approx(0.99)
    assert best["against_cublas"] == 1.0
    assert (best["stencil"], best["peer"]) == ("tiny", "cublas by torch 9")
    texts = summary(found)
    assert len(texts) == 4
    assert "2 of 3 points at 95% of a copy or more, least 99.0 % at n=4" in texts[0]
    assert "n=2..16: 1.00 x peer (geometric mean of 2)" in texts[0]
    assert "97%" in texts[1]
    # What was measured once is where the next run begins, the fastest first.
    seeds = tmp_path / "seeds.jsonl"
    line: dict[str, Any] = {"kind": "squares", "problem": "d:nn:4x4x4@9", "beta": "0", "stencil": "tiny"}
    rows = [line | {"config": {"path": "bulk", "group": g}, "tflops": g} for g in (1, 3, 2)]
    rows += [line | {"config": {"path": "bulk", "group": 9}, "tflops": 9, "stencil": "tensor"}]
    rows += [line | {"config": None, "tflops": None}]
    seeds.write_text("\n".join(json.dumps(row) for row in rows))
    configs = seeds_of(seeds, one("d:4x4x4@77"), "tiny", 2)
    assert [config["group"] for config in configs] == [3, 2]
    run, found = bench_run("squares", "--types", "d", "--sizes", "4", "--betas", "0", "--seeds", str(seeds))
    (_, options) = run.tuner.searched[0]
    assert options["search"] == "exhaustive"
    assert found[0]["stage"] == "seeds"


def test_rectangles_are_timed_as_dispatch_chooses(bench_run: Any) -> None:
    run, found = bench_run("rectangles", "--types", "d", "--count", "5")
    assert len(found) == 5 + 15
    for line in found:
        problem = one(line["problem"])
        if problem.m == 16:
            assert line["wrong"] == line["missing"] == "no room"
            continue
        # Tensor cores take twice as long, which the peer does too.
        faster = 1.0 if line["config"]["mma"] else 2.0
        assert line["against_cublas"] == pytest.approx(faster)
        assert line["origin"] in ("tuned", "near", "default")
        assert line["tflops"] == pytest.approx(faster * line["cublas_tflops"])
        # Packed bytes move at the speed of a copy here, so a padded layout has more than all of it.
        assert line["of_copy"] == pytest.approx(line["bytes_per_second"] / 4e12)
        assert line["of_copy"] >= 0.499 * faster
    assert {line["layout"] for line in found} >= {"packed", "ld4,4,4", "ld6,6,6", "ld16,16,16"}
    assert "stop" in run.tuner.bench.asked
    padded = next(line for line in found if line["layout"] == "ld4,4,4")
    assert padded["of_copy"] == pytest.approx(384 / 216, rel=1e-3)
    run, found = bench_run("rectangles", "--types", "d", "--parts", "padded", "--budget", "1")
    assert len(run.tuner.searched) == 15
    assert {line["stencil"] for line in found} == {"tiny"}
    assert not run.tuner.bench.asked


def test_rectangles_are_tuned_from_seeds(bench_run: Any, tmp_path: Path) -> None:
    tiny = STENCILS["tiny"]
    # The made-up tuner fails at 7 rows.
    asked = [one(f"d:{m}x{n}x{k}") for m, n, k in rectangles.mixed(5) if m != 7]
    filled = [problems.filling(problem, 1e9, problems.forced(problem)) for problem in asked]
    default = [tiny.default(problem, KNOWN) for problem in filled]
    drawn = [
        [config for config in tiny.space(problem, KNOWN).sample(4, 1) if config != start][:3]
        for problem, start in zip(filled, default, strict=True)
    ]
    listed: list[list[Config]] = [[]] * len(filled)
    listed[:3] = drawn[0], [default[1], *drawn[1]], drawn[2][:1]
    written = []
    for problem, configs in zip(filled, listed, strict=True):
        if configs:
            line = {"kind": "tries", "problem": problem.with_(batch=7).spelling, "beta": "0"}
            rows = [[*config.values(), "ok", 9.0 - place] for place, config in enumerate(configs)]
            written.append(line | {"names": [*configs[0], "status", "tflops"], "rows": rows})
    # The third best of the first, and the fastest of all, but in another layout.
    written.append(written[0] | {"layout": "ld33,33,33", "rows": [[*drawn[0][2].values(), "ok", 99.0]]})
    held = tmp_path / "held.jsonl"
    held.write_text("\n".join(json.dumps(line) for line in written))
    words = ("rectangles", "--types", "d", "--seeds", str(held), "--top", "2")
    run, found = bench_run(*words, "--count", "5", "--shapes")
    assert not run.tuner.bench.asked
    searched = [(problem, options) for problem, options in run.tuner.searched if problem.m != 7]
    found = [line for line in found if one(line["problem"]).m != 7]
    assert [problem for problem, _ in searched] == filled
    for number, ((problem, options), line) in enumerate(zip(searched, found, strict=True)):
        assert options["search"] == "exhaustive"
        tried = list(options["spaces"](tiny.space(problem, KNOWN)))
        assert tried == listed[number][:2]
        assert line["origin"] == ("tuned" if number in (0, 2) else "default")
        assert (line["stage"], line["stencil"], line["layout"]) == ("seeds", "tiny", "packed")
        assert line["plain_bytes"] == problem.bytes
    _, found = bench_run(*words, "--padded")
    assert len(found) == 15
    assert {line["origin"] for line in found} == {"default"}
    assert "packed" not in {line["layout"] for line in found}


def test_where_a_winner_is_from() -> None:
    a, b, c, d = (Config({"group": group}) for group in range(4))
    assert origin_of(a, a, [a], [a]) == "default"
    assert origin_of(b, a, [b], [b]) == "tuned"
    assert origin_of(c, a, [b], [c]) == "near"
    assert origin_of(d, a, [b], [c]) == "tuned"


def test_seeds_are_of_the_same_layout(tmp_path: Path) -> None:
    held = tmp_path / "held.jsonl"
    line = {"kind": "rectangles", "problem": "d:nn:8x8x8@9", "beta": "0", "stencil": "tiny"}
    packed = line | {"layout": "packed", "config": {"group": 1}, "tflops": 1.0}
    padded = line | {"layout": "ld9,9,9", "config": {"group": 2}, "tflops": 2.0}
    held.write_text(json.dumps(packed) + "\n" + json.dumps(padded) + "\n")
    assert seeds_of(held, one("d:8x8x8@5"), "tiny", 4) == [Config({"group": 1})]
    assert seeds_of(held, one("d:8x8x8@5", lda=9, ldb=9, ldc=9), "tiny", 4) == [Config({"group": 2})]
    assert seeds_of(held, one("d:8x8x8@5", lda=11, ldb=11, ldc=11), "tiny", 4) == []


def test_half_times_every_stencil_and_counts_the_conversion(bench_run: Any) -> None:
    _, found = bench_run("half", "--sizes", "32,128", "--betas", "0")
    where = [(line["problem"].partition("@")[0], line["stencil"]) for line in found]
    assert ("h:nn:32x32x32", "tiny") in where
    assert ("h:nn:32x32x32", "tensor") in where
    assert ("hc:nn:128x128x128", "tensor") in where
    assert ("hc:nn:128x128x128", "tiny") not in where
    for line in found:
        assert line["regime"] == "memory"
        assert one(line["problem"]).batch <= 100_000
        counted = (line["cublas_seconds"] + 1.0) / line["seconds"]
        assert line.get("against_counted") == (
            pytest.approx(counted) if line["problem"].startswith("hc") else None
        )
    named = figures.curves("half", found)
    assert named["hc beta 0 tensor"][0] == [32.0, 128.0]
    assert named["h beta 0 peer"][1] == pytest.approx(
        [line["cublas_tflops"] for line in found if line["problem"][1] == ":" and line["stencil"] == "tensor"]
    )


def test_updates_and_counts(bench_run: Any) -> None:
    _, found = bench_run("updates", "--types", "h,s", "--ks", "8", "--sizes", "32,128")
    assert {(line["alpha"], line["beta"], line["k"]) for line in found} == {("any", "1", 8)}
    assert len(found) == 4
    assert set(figures.curves("updates", found)) >= {"h beta 1 k=8 peer", "s beta 1 k=8 peer"}
    _, found = bench_run("counts", "--types", "s", "--n", "8", "--counts", "1,1000,1000000", "--bytes", "1e8")
    assert [line["count"] for line in found] == [1000000, 1, 1000]
    assert found[0]["missing"] == "0.8 GB, more than --bytes"
    assert {line["regime"] for line in found[1:]} == {"cached"}
    (curve, peer) = figures.curves("counts", found).values()
    assert curve[0] == peer[0] == [1.0, 1000.0]


def test_the_crossover_is_found(bench_run: Any) -> None:
    _, found = bench_run("crossover", "--types", "h", "--sizes", "4,8", "--count", "3")
    assert [line["problem"].partition("@")[0] for line in found] == ["h:nn:4x4x4", "h:nn:8x8x8"]
    for line in found:
        assert line["tried"] in (6, 7)
        assert line["fma"]["config"]["mma"] == 0
        assert line["tensor"]["config"]["mma"] == 16
        assert line["tensor_over_fma"] == pytest.approx(0.5)
    assert summary(found) == ["h beta 0: tensor cores win at none of 2 sizes"]
    ratios = {2: 0.7, 4: 1.1, 6: 0.9, 8: 1.2, 10: 1.5}
    made = [
        {"kind": "crossover", "problem": f"h:nn:{n}x{n}x{n}@9", "beta": "0", "tensor_over_fma": ratio}
        for n, ratio in ratios.items()
    ]
    assert summary(made) == ["h beta 0: tensor cores win first at n=4, at every size from n=8 on"]


def test_time_runs_out(bench_run: Any) -> None:
    _, found = bench_run("squares", "--types", "d", "--sizes", "4,8", "--limit", "0")
    assert found == []
    _, found = bench_run("rectangles", "--types", "d", "--parts", "shapes", "--limit", "0")
    assert len(found) == 1


def test_calls_are_clocked_in_turns() -> None:
    done: list[str] = []
    ways = {"a": lambda: done.append("a"), "b": lambda: done.append("b")}
    waits: list[int] = []
    single = calls.clocked(ways, calls.Synchronized(lambda: waits.append(len(done)), 1), 7)
    assert set(single) == {"a", "b"}
    assert all(0 < figures["low"] <= figures["us"] <= figures["high"] for figures in single.values())
    # After every call, and around it.
    assert len(waits) >= 2 * 7 * 3
    assert done.count("a") == done.count("b")
    watch = calls.Synchronized(lambda: None, 0)
    assert watch.sample("cached") > 0
    assert watch.time(lambda: None, 3) > 0


def test_a_figure_without_plotly_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert figures.plot(tmp_path / "x.html", "calls", []) == "calls has no figure"
    monkeypatch.setitem(sys.modules, "plotly", None)
    assert figures.plot(tmp_path / "x.html", "half", []) == "no figure: plotly is not installed"


def test_classes_of_shapes_are_named_with_commas() -> None:
    assert drawn_shapes("to 128, long m by 32") == (("to", 128), ("long m", 32))
    assert drawn_shapes("") == SHAPES
    with pytest.raises(ArgumentError, match="'to 3'"):
        drawn_shapes("to 128,to 3")


def test_skewed_products_are_beside_a_copy_of_as_many_bytes_and_their_bound(
    bench_run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[float] = []

    def copy_of(device: Device, moved: float) -> float:
        asked.append(moved)
        return 2e12

    monkeypatch.setattr("tilewright.tuning.ceilings_cuda.copy_of", copy_of)
    _, found = bench_run(
        "skewed", "--types", "s", "--betas", "0", "--count", "2", "--long", "m", "--bytes", "1e7"
    )
    timed = [line for line in found if line.get("seconds")]
    assert timed
    assert {line["copy_bytes_per_second"] for line in timed} == {2e12}
    for line in timed:
        assert line["of_copy"] == pytest.approx(line["bytes_per_second"] / 2e12)
        assert any(moved == pytest.approx(line["bytes_per_second"] * line["seconds"]) for moved in asked)
        # A copy is slow here, so no arithmetic takes longer.
        assert line["of_bound"] == pytest.approx(line["of_copy"])
    assert "of the bound" in summary(found)[0]


def test_the_bound_is_arithmetic_where_that_takes_longer() -> None:
    point = Point(one("s:500x64x64@1000"), "memory", ())
    line = {"seconds": 1e-3, "problem": "s:500x64x64@1000", "tflops": 4.0}
    peaks = {"peak.s.1": 1e12, "tensor.d.1": 1e15}
    said = bounded(line, point, 4e12, peaks)
    assert (said["bound"], said["of_bound"]) == ("arithmetic", pytest.approx(4.096))
    assert bounded(line, point, 4e12, {"peak.s.1": 1e15})["bound"] == "memory"
    assert bounded({"missing": "no room"}, point, 4e12, peaks) == {}
