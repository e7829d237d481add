"""Kernels of one's own before anything is compiled: expressions, their parts, spaces and references."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tests.pure.kernels.copies import H200, gpu, kernel, same
from tilewright.custom import shipping, spaces
from tilewright.custom.expressions import Expression
from tilewright.errors import ArgumentError
from tilewright.model import Config, Record
from tilewright.store.jsonl import decode, encode
from tilewright.tuning.evaluate import kernels as evaluation

pytestmark = pytest.mark.pure
pytest.importorskip("jsonschema")


# ---- expressions


@pytest.mark.parametrize(
    ("text", "values", "right"),
    [
        ("A * B <= 1024", {"A": 32, "B": 33}, False),
        ("A % B == 0 and B in (2, 4) or not A", {"A": 8, "B": 4}, True),
        ("ceil_div(A, B) if B else max(A, 3)", {"A": 7, "B": 2}, 4),
        ("min(A, B)", {"A": 7, "B": 2}, 2),
        ("max", {"max": 5}, 5),
    ],
)
def test_expressions(text: str, values: dict[str, int], right: Any) -> None:
    made = pickle.loads(pickle.dumps(Expression(text)))
    assert set(made.reads) == set(values)
    assert made(**values) == right


@pytest.mark.parametrize(
    "text",
    ["A.real", "__import__('os')", "A[0]", "lambda: 1", "A :=1", "open('x')", "[a for a in A]", "A" * 5000],
)
def test_what_is_no_expression_is_refused(text: str) -> None:
    with pytest.raises(ArgumentError, match=r"is not understood.*accepted: arithmetic"):
        Expression(text)


# ---- definitions


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"parameters": {}}, "parameters={}; accepted: at least one"),
        ({"parameters": {"STEP": []}}, r"parameters\['STEP'\]=\[\]; accepted: values, each once"),
        ({"parameters": {"x": [1]}}, "parameter and argument are both named 'x'"),
        ({"parameters": {"out": [1]}}, "parameter 'out'; accepted: a name"),
        ({"language": "rust"}, "language='rust'; accepted: cuda, c, llvm"),
        ({"language": None}, "a text without a language"),
        ({"launch": {"grid": 1, "block": 1}}, "launch=.* for a kernel in c; accepted"),
        ({"language": "cuda"}, "launch=None for a kernel in cuda; accepted"),
        ({"batch": "m"}, "batch='m' is no size; accepted: n"),
        ({"batch": "n", "compiled": ["n"]}, "batch='n' is compiled in"),
        ({"arguments": [tw.Input("x", "float32", ("n",))]}, "none is written; accepted"),
        ({"rules": ["STEP < WIDE"]}, "reads 'WIDE'; accepted: parameters .STEP, DEEP. and sizes .n."),
        ({"rules": [7]}, "rule 7; accepted: an expression"),
    ],
)
def test_parts_that_do_not_fit_are_named(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ArgumentError, match=said):
        kernel(**changes)


def test_types_that_are_not_known_are_named() -> None:
    with pytest.raises(tw.DTypeError, match=r"argument 'x' is of type 'float12'; accepted: bfloat16"):
        kernel(arguments=[tw.Output("x", "float12", ("n",))])


def test_a_source_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match=r"gone\.cu' cannot be read"):
        tw.Stencil("x", tmp_path / "gone.cu", {"A": [1]}, [], launch={})
    with pytest.raises(ArgumentError, match=r"accepted: a file \.cu, \.cuh, \.c, \.ll"):
        tw.Stencil("x", "kernel.f90", {"A": [1]}, [])


def test_a_problem_is_filed_under_what_decides_its_kernel() -> None:
    one = kernel(batch="n").problem({"n": 8})
    assert (one.batch, one.bytes, one.key) == (8, 8.0, kernel(batch="n").problem({"n": 9}).key)
    assert kernel().problem({"n": 8}).key != kernel().problem({"n": 9}).key
    # A wider space leaves records as they are; another text does not.
    assert kernel(parameters={"STEP": [1, 8]}).definition.digest == kernel().definition.digest
    assert kernel(options=["-O1"]).definition.digest != kernel().definition.digest
    for sizes in ({}, {"n": 0}, {"n": 8, "m": 1}, {"n": True}):
        with pytest.raises(ArgumentError, match=r"sizes=.*accepted"):
            kernel().problem(sizes)


def test_a_record_is_read_as_it_was_written() -> None:
    problem = kernel(batch="n").problem({"n": 8})
    record = Record(problem, "cached", "custom-cpu", Config({"STEP": 1}), "ok", "here", "cc")
    read = decode(json.loads(json.dumps(encode(record))))
    assert read == record
    assert read.problem.definition is None
    with pytest.raises(ArgumentError, match="was read from records"):
        _ = read.problem.made


def test_parameters_and_compiled_sizes_are_definitions() -> None:
    made = kernel(compiled=["n"]).definition
    assert made.source(Config({"STEP": 2, "DEEP": True}), {"n": 7}).defines == (
        ("STEP", "2"),
        ("DEEP", "1"),
        ("n", "7"),
    )
    llvm = kernel(language="llvm").definition
    assert "{STEP}" not in llvm.source(Config({"STEP": 2, "DEEP": 0}), {"n": 7}).text


def test_functions_travel_by_value_or_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = pickle.loads(pickle.dumps(kernel(rules=["STEP > 1"]).problem({"n": 8})))
    assert problem.made.reference(np.ones(2)).tolist() == [1, 1]
    assert spaces.space(problem.made, {"n": 8}, None).count() == 4
    monkeypatch.setattr(shipping, "_cloudpickle", lambda: None)
    assert pickle.loads(pickle.dumps(kernel().problem({"n": 8}))).made.reference is same
    for one in (kernel(reference=lambda x: x), kernel(rules=[lambda STEP: STEP > 1])):
        with pytest.raises(ArgumentError, match=r"cannot be sent to a child .*pip install cloudpickle"):
            pickle.dumps(one.problem({"n": 8}))


# ---- spaces


def test_a_rule_that_raises_says_where() -> None:
    with pytest.raises(ArgumentError, match=r"rule 'whole' raises ZeroDivisionError .* at STEP=4, DEEP=0"):
        kernel(rules={"whole": "STEP < 4 or STEP % DEEP == 0"}).space({"n": 8})


def test_rules_that_contradict_are_named_and_no_others() -> None:
    rules = {"small": "STEP < 2", "flat": "DEEP == 0", "large": "STEP > n"}
    with pytest.raises(ArgumentError, match="rules 'small' and 'large' contradict"):
        kernel(rules=rules).space({"n": 3})
    with pytest.raises(ArgumentError, match="rule 'large' lets no config through"):
        kernel(rules=rules).space({"n": 8})


def test_a_rule_that_removes_nothing_is_named() -> None:
    with pytest.raises(ArgumentError, match="rule 'STEP > 0' removes nothing"):
        kernel(rules=["STEP > 0", "STEP < 4"]).space({"n": 8})
    # One that reads sizes may do so for others.
    assert kernel(rules=["STEP <= n"]).space({"n": 8}).count() == 6


def test_a_list_that_is_too_long_is_refused() -> None:
    assert len(kernel().configs({"n": 8})) == 6
    wide = kernel(parameters={name: list(range(1000)) for name in "ABCD"})
    with pytest.raises(
        ArgumentError, match=r"1000000000000 configs, more than limit=100000; .*space\.sample"
    ):
        wide.configs({"n": 8})


def test_a_launch_is_within_what_the_device_has() -> None:
    assert [dict(config) for config in gpu().configs({"n": 8}, H200)] == [
        {"THREADS": 256, "SHARED": 0},
        {"THREADS": 1024, "SHARED": 0},
    ]
    with pytest.raises(ArgumentError, match=r"rule 'launch' lets no config.*2048 threads; .* has 1 to 1024"):
        gpu(parameters={"THREADS": [2048], "SHARED": [0]}).space({"n": 8}, H200)
    with pytest.raises(ArgumentError, match=r"shared=1048576 bytes; a block of .* has up to 232448"):
        gpu(parameters={"THREADS": [256], "SHARED": [1 << 20]}).space({"n": 8}, H200)


@pytest.mark.parametrize(
    ("launch", "said"),
    [
        ({"grid": 1}, "accepted: a mapping of grid, block and perhaps shared"),
        ({"grid": "n / 3", "block": 1}, "launch: grid is 2.66.* accepted: a whole number"),
        ({"grid": "n // (n - 8)", "block": 1}, "launch: grid raises ZeroDivisionError"),
        ({"grid": 1, "block": (1, 1, 1, 1)}, "has 4 extents; accepted: 1 to 3"),
        (lambda n: 7, "launch gives 7; accepted: a mapping"),
    ],
)
def test_a_launch_that_is_none_is_named(launch: Any, said: str) -> None:
    with pytest.raises(ArgumentError, match=said):
        gpu(launch=launch).definition.launched({"THREADS": 1, "SHARED": 0}, {"n": 8})


def test_the_default_is_the_one_named_or_the_nearest_valid_one() -> None:
    from tilewright.catalog import STENCILS

    def default(one: tw.Stencil) -> dict[str, Any]:
        return dict(STENCILS["custom-cuda"].default(one.problem({"n": 8}), H200))

    assert default(gpu()) == {"THREADS": 256, "SHARED": 0}
    assert default(gpu(default={"THREADS": 1024, "SHARED": 0})) == {"THREADS": 1024, "SHARED": 0}
    assert default(gpu(default={"THREADS": 2048, "SHARED": 0})) == {"THREADS": 1024, "SHARED": 0}


def test_kernels_of_ones_own_are_asked_for_no_product() -> None:
    from tilewright.catalog import STENCILS, of_target

    assert "custom-cpu" not in STENCILS
    assert not {"custom-cpu", "custom-cuda"} & {*of_target("cpu"), *of_target("cuda"), *STENCILS}
    problem = kernel().problem({"n": 8})
    assert "is a cuda" in str(STENCILS["custom-cuda"].accepts(problem, H200))


# ---- references


def test_a_reference_that_disagrees_with_itself_is_named() -> None:
    calls_ = []

    def drifting(x: Any) -> Any:
        calls_.append(x)
        return x + len(calls_)

    with pytest.raises(ArgumentError, match=r"reference disagrees with itself: .* y\[\d+\] is .* should be"):
        evaluation.agreed(kernel(reference=drifting).problem({"n": 8}))


def spoiling(x: Any) -> Any:
    x[0] = 7
    return x


@pytest.mark.parametrize(
    ("reference", "said"),
    [
        (spoiling, "reference changes its argument 'x'"),
        (lambda z: z, "reference takes 'z'; accepted: any of"),
        (lambda x: (x, x), "reference returns 2 arrays; accepted: one for each of y"),
        (lambda x: x[1:], r"reference returns 'y' of shape \(7,\)"),
        (lambda x: 1 / 0, "reference raises ZeroDivisionError"),
    ],
)
def test_a_reference_that_is_of_no_use_says_why(reference: Callable[..., Any], said: str) -> None:
    with pytest.raises(ArgumentError, match=said):
        evaluation.agreed(kernel(reference=reference).problem({"n": 8}))


def test_inputs_are_drawn_and_checked() -> None:
    made = kernel(inputs=lambda random, n: {"x": np.arange(n)}).definition
    assert evaluation.drawn(made, {"n": 4}, 1)["x"].tolist() == [0, 1, 2, 3]
    one, other = (evaluation.drawn(kernel().definition, {"n": 4}, seed)["x"] for seed in (1, 2))
    assert (one != other).all()
    for inputs, said in (
        (lambda random: {"x": np.zeros(3)}, r"'x' of shape \(3,\)"),
        (lambda random, k: {}, "inputs takes random, k; accepted"),
        (lambda random: 3, "inputs returns a int"),
    ):
        with pytest.raises(ArgumentError, match=said):
            evaluation.drawn(kernel(inputs=inputs).definition, {"n": 4}, 1)


def test_verdicts_are_by_item_and_know_infinities() -> None:
    made = kernel(batch="n").definition
    array = made.arrays[1]
    right = np.array([1e6, 1.0, np.inf, np.nan], np.float32)
    assert evaluation.compared(made, array, right.copy(), right).ok
    for place, value in ((1, 1.1), (2, 1.0), (3, 0.0), (0, np.nan)):
        wrong = right.copy()
        wrong[place] = value
        verdict = evaluation.compared(made, array, wrong, right)
        assert not verdict.ok
        assert f"y[{place}]" in verdict.why
    # Without a batch the largest number of all is what counts.
    near = right.copy()
    near[1] = 1.1
    assert evaluation.compared(kernel().definition, array, near, right).ok


def test_what_lies_beside_an_array_is_guarded() -> None:
    made = kernel().definition
    x, y = evaluation.images(made, {"n": 3}, {"x": np.arange(3, dtype=np.float32)})
    assert x.read(x.words).tolist() == [0, 1, 2]
    assert np.isnan(y.read(y.words)).all()
    for image, at, said in (
        (y, 0, "before y"),
        (y, -1, "behind y"),
        (x, evaluation.GUARD, "x was written, which"),
    ):
        left = image.words.copy()
        left[at] ^= 1
        assert said in image.spoiled(left)
    changed = y.words.copy()
    changed[evaluation.GUARD] = 0
    assert y.spoiled(changed) == ""


def test_cases_vary_the_batch_or_are_those_that_are_named() -> None:
    assert [case["n"] for case in evaluation.cases(kernel(batch="n").problem({"n": 900}))] == [1, 2, 37]
    assert evaluation.cases(kernel().problem({"n": 900})) == [{"n": 900}]
    assert evaluation.cases(kernel(cases=[{"n": 3}]).problem({"n": 900})) == [{"n": 3}]
    with pytest.raises(ArgumentError, match=r"case .* names 'n'; accepted: sizes that are not compiled in"):
        evaluation.cases(kernel(cases=[{"n": 3}], compiled=["n"]).problem({"n": 900}))
