"""Kernels of one's own on this processor: tuned, verified, recorded and called, and what bad ones come to."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright.cli import main as command
from tilewright.errors import CompileError
from tilewright.planning import dispatch
from tilewright.targets.cpu import cc

pytestmark = [
    pytest.mark.cpu,
    pytest.mark.skipif(cc.compiler() is None, reason="there is no C compiler"),
]

# y = a x + x[0]; every mode but 0 and 9 is wrong in another way.
TEXT = r"""
#include <stdlib.h>
void scaled(const float *x, float *y, int *count, long n, float a) {
#if MODE == 1
    a += 1;
#elif MODE == 2
    abort();
#elif MODE == 3
    this is no C;
#elif MODE == 4
    y[n] = 0;
#elif MODE == 5
    ((float *)x)[0] = 1;
#elif MODE == 6
    n--;
#elif MODE == 9
    for (volatile int wait = 0; wait < 100000; wait++);
#endif
    for (long i = 0; i < n; i++) y[i] = a * x[i] + x[0];
    *count += n;
}
"""
ARGUMENTS = [
    tw.Input("x", "float32", ("n",)),
    tw.Output("y", "float32", ("n",)),
    tw.InOut("count", "int32", (1,)),
    tw.Scalar("n_", "int64", "n"),
    tw.Scalar("a", "float32"),
]


def functions() -> tuple[Any, Any]:
    """The reference and the inputs. Functions of a function are sent by value: a child imports no tests."""

    def right(x: Any, count: Any, a: float, n: int) -> tuple[Any, Any]:
        return np.float32(a) * x + x[0], count + n

    def inputs(random: Any) -> dict[str, Any]:
        return {"a": 3.0}

    return right, inputs


def scaled(*modes: int, **changes: Any) -> tw.Stencil:
    """The kernel in some modes, with some parts changed."""
    right, inputs = functions()
    parts: dict[str, Any] = {"reference": right, "inputs": inputs, "language": "c"}
    parts["cases"] = [{"n": 5}, {"n": 64}]
    return tw.Stencil("scaled", TEXT, {"MODE": list(modes)}, ARGUMENTS, **{**parts, **changes})


def test_every_bad_config_is_recorded_as_what_it_is_and_the_fastest_right_one_runs(
    new_home: Path, tmp_path: Path
) -> None:
    one = scaled(9, 1, 2, 3, 4, 5, 6, 0)
    result = one.tune({"n": 1000}, search="exhaustive", budget=60, regime="cached")
    assert result.best is not None
    assert dict(result.best.config) == {"MODE": 0}
    newest = {row.config["MODE"]: (row.status, row.detail) for row in one.records({"n": 1000})}
    statuses = {mode: status for mode, (status, _) in newest.items()}
    expected = {0: "ok", 9: "ok", 2: "crashed", 3: "compile_failed", **dict.fromkeys((1, 4, 5, 6), "wrong")}
    assert statuses == expected
    assert "scaled:n=5: y[" in newest[1][1]
    assert "refused scaled" in newest[3][1]
    assert "something was written behind y" in newest[4][1]
    assert "x was written, which is an input" in newest[5][1]
    nothing = replace(result, best=None, statuses={"wrong": 4, "crashed": 1}, tried=5)
    error = one._failed(one.problem({"n": 1000}), nothing)
    assert isinstance(error, tw.KernelError)
    assert "none of 5 configs is of use (4 wrong, 1 crashed). MODE=" in str(error)
    # A call runs it, on arrays of any kind, and says so.
    assert "tuned (cached): MODE=0" in one.explain({"n": 1000})
    x, count = np.arange(1000, dtype=np.float32) + 1, np.zeros(1, np.int32)
    assert np.array_equal(one(x, count, a=2.0), 2 * x + 1)
    assert count[0] == 1000
    out = np.zeros(1000, np.float32)
    assert one(x, count, a=2.0, out=out) is out
    assert np.array_equal(out, 2 * x + 1)
    # One that nothing was recorded for goes by the nearest.
    assert "near: scaled:n=1000: MODE=0" in one.explain({"n": 1500})
    assert one.export_t4(tmp_path / "t4.json", {"n": 1000}) == len(one.records({"n": 1000}))


def test_when_no_config_compiles_the_error_says_what_the_compiler_said(new_home: Path) -> None:
    with pytest.raises(
        CompileError, match=r"(?s)none of 1 configs .*refused scaled: .*accepted: a source that"
    ):
        scaled(3).tune({"n": 64}, budget=30)


def test_what_cannot_be_tuned_is_named_before_a_child_is_started(new_home: Path) -> None:
    for options, said in (
        ({"effort": "huge"}, "effort='huge'; accepted"),
        ({"search": "best"}, "search='best'; accepted"),
        ({"budget": -1}, "budget=-1; accepted"),
    ):
        with pytest.raises(tw.ArgumentError, match=said):
            scaled(0).tune({"n": 8}, **options)
    with pytest.raises(tw.ArgumentError, match="reference disagrees with itself"):
        scaled(0, reference=lambda x, count: (x + np.random.random(), count)).tune({"n": 8})
    with pytest.raises(tw.ArgumentError, match="an exhaustive search takes up to"):
        tw.Stencil(
            "scaled", TEXT, {name: list(range(1000)) for name in ("MODE", "B", "C")}, ARGUMENTS, language="c"
        ).tune({"n": 8}, effort="exhaustive")
    assert dispatch.records().all() == []


def test_arguments_that_do_not_fit_are_named(new_home: Path) -> None:
    one = scaled(0)
    x, count = np.ones(8, np.float32), np.zeros(1, np.int32)
    for call, said in (
        (lambda: one(x, a=1.0), "is given 1 arrays; accepted: 2: x, count"),
        (lambda: one(x, count), "is not given a; accepted: a=, a number"),
        (lambda: one(x, count, a=1.0, n=9), "n=9; accepted: 8, as the arrays have it"),
        (lambda: one(x, count, a=1.0, m=9), "m=9; accepted: n, a"),
        (lambda: one(x[::2], count, a=1.0), "x has strides .8,.; accepted: .4,.: a contiguous array"),
        (lambda: one(x.astype(np.float64), count, a=1.0), "x is float64; accepted: float32"),
        (lambda: one(x[None], count, a=1.0), r"x has shape \(1, 8\); accepted: 1 axes"),
        (lambda: one(x, np.zeros(2, np.int32), a=1.0), r"count has shape \(2,\); accepted: \(1,\)"),
        (lambda: one(x, count, a=1.0, out=np.zeros(7, np.float32)), r"y has shape \(7,\)"),
        (lambda: one(x, count, a=1.0, out=(x, x)), "out has 2 arrays; accepted: 1: y"),
        (lambda: one(x, count, a=1.0, config={"MODE": 7}), "config=.*MODE.*the nearest that is: MODE=0"),
    ):
        with pytest.raises(tw.TilewrightError, match=said):
            call()
    count.flags.writeable = False
    with pytest.raises(tw.ArgumentError, match="count is read-only"):
        one(x, count, a=1.0)


def test_tensors_of_pytorch_come_back_as_tensors(new_home: Path) -> None:
    torch = pytest.importorskip("torch")
    x = torch.arange(1.0, 9.0)
    found = scaled(0)(x, torch.zeros(1, dtype=torch.int32), a=2.0, config={"MODE": 0})
    assert torch.equal(found, 2 * x + 1)


def test_llvm_is_a_language_too(new_home: Path) -> None:
    text = """
    define void @twice(ptr %x, ptr %y) {
      %a = load double, ptr %x
      %b = fmul double %a, {FACTOR}
      store double %b, ptr %y
      ret void
    }
    """
    one = tw.Stencil(
        "twice",
        text,
        {"FACTOR": ["2.0", "3.0"]},
        [tw.Input("x", "float64", (1,)), tw.Output("y", "float64", (1,))],
        language="llvm",
    )
    assert one(np.array([4.0])) == [8.0]
    assert one(np.array([4.0]), config={"FACTOR": "3.0"}) == [12.0]


def test_a_kernel_stays_on_the_disk_and_goes_with_its_text(new_home: Path) -> None:
    x, count = np.ones(4, np.float32), np.zeros(1, np.int32)
    scaled(0)(x, count, a=1.0)
    kept = set((new_home / "objects").rglob("*"))
    scaled(0)(x, count, a=2.0)
    assert set((new_home / "objects").rglob("*")) == kept
    scaled(0, options=["-O1"])(x, count, a=2.0)
    assert set((new_home / "objects").rglob("*")) > kept


def test_the_command_tunes_what_a_file_describes(
    tmp_path: Path, new_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("jsonschema")
    (tmp_path / "twice.c").write_text("void twice(const float *x, float *y) { *y = FACTOR * *x; }\n")
    (tmp_path / "right.py").write_text("def right(x):\n    return 2 * x\n")
    vector = {"Type": "float", "MemoryType": "Vector", "Size": 1}
    document = {
        "ConfigurationSpace": {"TuningParameters": [{"Name": "FACTOR", "Type": "int", "Values": "[3, 2]"}]},
        "KernelSpecification": {
            "Language": "C",
            "KernelName": "twice",
            "KernelFile": "twice.c",
            "GlobalSize": {"X": "1"},
            "LocalSize": {"X": "1"},
            "Arguments": [
                {"Name": "x", "AccessType": "ReadOnly", "FillType": "Random", **vector},
                {"Name": "y", "AccessType": "WriteOnly", **vector},
            ],
        },
    }
    path, output = tmp_path / "twice.json", tmp_path / "results.json"
    path.write_text(json.dumps(document))
    options = ["--reference", f"{tmp_path / 'right.py'}:right", "--output", str(output), "--regime", "cached"]
    command.main(["tune-kernel", str(path), *options, "--budget", "30", "--json"])
    row = json.loads(capsys.readouterr().out)
    assert row["config"] == {"FACTOR": 2}
    assert row["statuses"] == {"wrong": 1, "ok": 1}
    assert row["verified"]
    results = json.loads(output.read_text())["results"]
    assert {each["invalidity"] for each in results} == {"correct", "correctness"}
    with pytest.raises(SystemExit):
        command.main(["tune-kernel", str(path), "--reference", "nowhere.py:right"])
    assert "accepted: FILE.py:NAME" in capsys.readouterr().err
    assert dispatch.records().all(status="wrong") != []
