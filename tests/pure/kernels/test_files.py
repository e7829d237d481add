"""Kernels of one's own and files of other tuners: T1, caches of Kernel Tuner, and T4."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tests.pure.kernels.copies import kernel
from tilewright.cli.report import sources
from tilewright.custom import spaces
from tilewright.custom.problem import KernelProblem
from tilewright.errors import ArgumentError, RecordsError, UnsupportedError
from tilewright.kernels import caches, calls, t4
from tilewright.model import Config, Problem, Record
from tilewright.space import Param, Rule, Space
from tilewright.store.jsonl import decode, encode
from tilewright.tuning.evaluate import kernels as evaluation

pytestmark = pytest.mark.pure
pytest.importorskip("jsonschema")


T1: dict[str, Any] = {
    "General": {"OutputFormat": "JSON"},
    "ConfigurationSpace": {
        "TuningParameters": [
            {"Name": "block_size_x", "Type": "int", "Values": "[32, 64, 2048]", "Default": 64},
            {"Name": "tile", "Type": "int", "Values": "list(range(1, 4))", "Default": 1},
        ],
        "Conditions": [
            {"Parameters": ["block_size_x"], "Expression": "block_size_x <= 1024"},
            {"Parameters": ["tile"], "Expression": "tile >= 1"},
        ],
    },
    "Budget": [
        {"Type": "TuningDuration", "BudgetValue": 20},
        {"Type": "ConfigurationCount", "BudgetValue": 5},
    ],
    "KernelSpecification": {
        "Language": "CUDA",
        "CompilerOptions": ["-std=c++11", "--use_fast_math"],
        "KernelName": "twice",
        "KernelFile": "twice.cu",
        "GlobalSize": {"X": "1000 // block_size_x"},
        "LocalSize": {"X": "block_size_x"},
        "ProblemSize": [1000],
        "GridDivX": ["block_size_x", "tile"],
        "Arguments": [
            {
                "Name": "y",
                "Type": "float",
                "MemoryType": "Vector",
                "AccessType": "WriteOnly",
                "Size": 1000,
                "FillType": "Constant",
            },
            {
                "Name": "x",
                "Type": "float2",
                "MemoryType": "Vector",
                "AccessType": "ReadOnly",
                "Size": "(ProblemSize[0] - 1000 + max(tile)) * 500 - 1000",
                "FillType": "Random",
                "FillValue": 2.0,
            },
            {"Name": "n", "Type": "int32", "MemoryType": "Scalar", "FillValue": 1000},
        ],
    },
}


def t1(folder: Path, **changes: Any) -> Path:
    """A T1 file with parts of its kernel changed, and its kernel beside it."""
    (folder / "twice.cu").write_text("__global__ void twice(float *y, const float2 *x, int n) {}\n")
    document = {**T1, "KernelSpecification": {**T1["KernelSpecification"], **changes}}
    path = folder / "twice.json"
    path.write_text(json.dumps(document))
    return path


def test_a_t1_file_is_a_kernel(tmp_path: Path) -> None:
    made = tw.Stencil.from_t1(t1(tmp_path))
    definition = made.definition
    assert made.space({}).count() == 6
    assert definition.text.startswith('extern "C" {\n#line 1\n')
    assert definition.options == ("--use_fast_math",)
    assert [array.shape for array in definition.arrays] == [(1000,), (1000,)]
    assert definition.launched({"block_size_x": 64, "tile": 3}, {}).grid == (6, 1, 1)
    assert definition.default == {"block_size_x": 64, "tile": 1}
    assert made.search["budget"] == 20
    said = made.search["said"]
    assert [line.partition(" ")[0] for line in said] == ["condition", "budget", "there"]
    x = evaluation.drawn(definition, {}, 1)["x"]
    assert 0 <= x.min() < 0.1 < 1.9 < x.max() <= 2
    # Its functions go to children whether they can be sent by value or not.
    assert pickle.loads(pickle.dumps(made.problem({}))).made.digest == definition.digest


def test_a_t1_file_may_hold_what_is_right(tmp_path: Path) -> None:
    np.arange(1000, dtype=np.float32).tofile(tmp_path / "right.bin")
    stored = {
        "Name": "r",
        "TargetName": "y",
        "FillType": "BinaryRaw",
        "DataSource": "right.bin",
        "ValidationMethod": "AbsoluteDifference",
        "ValidationThreshold": 0.999,
    }
    made = tw.Stencil.from_t1(t1(tmp_path, ReferenceArguments=[stored])).definition
    assert made.reference is not None
    assert made.reference()[0][7] == 7
    assert made.tolerance == pytest.approx(0.001)


@pytest.mark.parametrize(
    ("changes", "error", "said"),
    [
        ({"Language": "OpenCL"}, UnsupportedError, "Language 'OpenCL'; accepted: CUDA, C"),
        ({"Language": "Fortran"}, RecordsError, r"\['Language'\].*'Fortran' is not one of"),
        ({"KernelName": 3}, RecordsError, r"\['KernelName'\].*3 is not of type 'string'"),
        ({"LocalSize": {}}, RecordsError, "'X' is a required property"),
        ({"KernelFile": "gone.cu"}, RecordsError, r"gone\.cu' cannot be read"),
        (
            {"Arguments": [{"Name": "c", "Type": "float", "MemoryType": "Symbol"}]},
            UnsupportedError,
            "'c' lies in Symbol memory; accepted: Vector and Scalar",
        ),
    ],
)
def test_a_t1_file_that_is_not_understood_is_named(
    tmp_path: Path, changes: dict[str, Any], error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        tw.Stencil.from_t1(t1(tmp_path, **changes))


@pytest.mark.parametrize(
    ("values", "listed"),
    [
        ("[32, 64]", [32, 64]),
        ("range(3, 9, 2)", [3, 5, 7]),
        ("[i for i in range(3, 9, 2)]", [3, 5, 7]),
        ("[128 + 64 * i for i in range(4) if i != 1]", [128, 256, 320]),
        ("list([2**k for k in [1, 5]])", [2, 32]),
    ],
)
def test_values_are_lists_ranges_and_what_is_made_of_them(
    tmp_path: Path, values: str, listed: list[int]
) -> None:
    path = t1(tmp_path)
    document = json.loads(path.read_text())
    document["ConfigurationSpace"]["TuningParameters"][1]["Values"] = values
    document["ConfigurationSpace"]["Conditions"] = []
    path.write_text(json.dumps(document))
    assert list(tw.Stencil.from_t1(path).definition.params[1].values) == listed


@pytest.mark.parametrize(
    "values", ["[]", "range(x)", "__import__('os')", "[1, 'a']", "3", "[j for i in [1]]"]
)
def test_values_that_are_no_list_are_named(tmp_path: Path, values: str) -> None:
    path = t1(tmp_path)
    document = json.loads(path.read_text())
    document["ConfigurationSpace"]["TuningParameters"][0]["Values"] = values
    path.write_text(json.dumps(document))
    with pytest.raises(ArgumentError, match=r"parameter 'block_size_x' has|reads 'j'"):
        tw.Stencil.from_t1(path)


CACHE = """{"schema_version": "1.1.0", "device_name": "Some GPU 40GB", "kernel_name": "copy",
"problem_size": 8, "tune_params_keys": ["STEP", "DEEP"], "tune_params": {"STEP": [1, 2, 9], "DEEP": [0, 1]},
"cache": {
"1,0": {"STEP": 1, "DEEP": 0, "time": 2.0, "times": [1.0, 2.0, 3.0], "timestamp": "2023-12-22 09:54:05"},
"2,1": {"STEP": 2, "DEEP": 1, "time": "CompilationFailedConfig", "timestamp": "2023-12-22 09:54:06"},
"9,0": {"STEP": 9, "DEEP": 0, "time": 1.0},"""


@pytest.mark.parametrize("ending", ["", "}}"])
def test_a_cache_of_kernel_tuner_becomes_records(tmp_path: Path, ending: str) -> None:
    path = tmp_path / "cache.json"
    path.write_text(CACHE.rstrip(",") + ending if ending else CACHE)
    fast, failed = caches.read(path, kernel().problem({"n": 8}))
    assert (fast.status, fast.seconds, fast.device) == ("ok", 0.002, "some-gpu-40gb")
    assert fast.timing is not None
    assert fast.timing.samples == (0.001, 0.002, 0.003)
    assert (failed.status, failed.config) == ("compile_failed", Config({"STEP": 2, "DEEP": 1}))
    assert decode(json.loads(json.dumps(encode(fast)))) == fast


def test_a_cache_of_another_kernel_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "cache.json"
    path.write_text(CACHE)
    with pytest.raises(RecordsError, match="is of parameters STEP, DEEP; accepted: those of copy: A"):
        caches.read(path, kernel(parameters={"A": [1]}).problem({"n": 8}))
    for text, said in (
        ("[", "is no JSON"),
        ("{}", "'device_name' is a required property"),
        ("7", "7 is not of type"),
    ):
        path.write_text(text)
        with pytest.raises(RecordsError, match=said):
            caches.read(path, kernel().problem({"n": 8}))


def test_imported_records_begin_a_search_and_are_run_by_no_call(tmp_path: Path, new_home: Path) -> None:
    from tilewright.planning import dispatch

    path = tmp_path / "cache.json"
    path.write_text(CACHE)
    one, device = kernel(), dispatch.device()
    assert one.take_in(path, {"n": 8}, device.key) == 2
    assert one.take_in(path, {"n": 8}, device.key) == 0
    problem = one.problem({"n": 8})
    assert one._imported(problem) == [Config({"STEP": 1, "DEEP": 0})]
    assert calls.planned(problem, device)[1] == "default"


def test_records_are_written_as_t4(tmp_path: Path) -> None:
    problem = kernel().problem({"n": 8})
    rows = [
        Record(problem, "cached", "custom-cpu", Config({"STEP": 1}), status, "here", "cc", detail="because")
        for status in t4.INVALIDITY
    ]
    path = tmp_path / "results.json"
    assert t4.write(path, rows) == len(rows)
    document = json.loads(path.read_text())
    assert [row["invalidity"] for row in document["results"]] == list(t4.INVALIDITY.values())
    assert [row["correctness"] for row in document["results"]] == [1, *[0] * (len(rows) - 1)]
    assert document["schema_version"] == "1.0.0"


def test_no_page_is_made_of_kernels_of_ones_own() -> None:
    product = Problem.parse("d:8x8x8")[0]
    rows = [
        Record(problem, "cached", "some", Config({"A": 1}), "ok", "here", "cc")
        for problem in (kernel().problem({"n": 8}), product)
    ]
    assert [row.problem for row in sources.Source("all", rows).rows] == [product]


def test_idle_rules_are_looked_for_where_that_takes_no_time() -> None:
    many = [Param(name, tuple(range(2000))) for name in "AB"]
    rule = Rule("never", "soft", "", lambda A, B: True)
    assert spaces.idle_rules(Space(many, [rule])) == []
    assert spaces.idle_rules(Space(many[:1], [Rule("never", "soft", "", lambda A: True)])) != []


def test_a_problem_says_what_it_moves_and_does() -> None:
    problem = kernel(flops="2 * n", batch="n").problem({"n": 8})
    assert (problem.flops, problem.footprint, problem.spelling) == (2.0, 64, "copy:@8")
    assert isinstance(problem, KernelProblem)
