"""Arrays of other libraries: results in kind, and calls from functions that PyTorch compiles."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright.arrays import tracing

pytestmark = pytest.mark.cpu


class Foreign:
    """An array as JAX's are: read by ``__array__``, handed over by DLPack, never written to."""

    def __init__(self, values: Any):
        self.values = values

    @property
    def dtype(self) -> Any:
        return self.values.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.values.shape)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        view = self.values.view()
        view.flags.writeable = False
        return np.array(view, dtype) if copy else view

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0

    def __dlpack__(self, **options: Any) -> Any:
        return self.values.__dlpack__(**options)

    def __array_namespace__(self, api_version: str | None = None) -> Any:
        return SimpleNamespace(from_dlpack=lambda made: Foreign(np.from_dlpack(made)))


class Narrow(Foreign):
    """Of a library without float64, which comes out as float32 there."""

    def __array_namespace__(self, api_version: str | None = None) -> Any:
        return SimpleNamespace(from_dlpack=lambda made: Narrow(np.from_dlpack(made).astype("f4")))


class Mute(Foreign):
    """Of a library that hands over and takes nothing."""

    def __array_namespace__(self, api_version: str | None = None) -> Any:
        raise NotImplementedError


@pytest.mark.parametrize("dtype", ["f4", "f8", "c16", "i8"])
def test_results_are_of_the_library_of_a(dtype: str) -> None:
    a, b = np.arange(24).reshape(2, 3, 4).astype(dtype), np.arange(8).reshape(4, 2).astype(dtype)
    want = np.matmul(a, b)
    calls = [lambda x, y: tw.matmul(x, y)]
    if dtype != "i8":
        calls += [lambda x, y: tw.gemm(x, y), lambda x, y: tw.plan(x, y)(x, y)]
    for call in calls:
        for _ in range(2):
            got = call(Foreign(a), b)
            assert type(got) is Foreign
            np.testing.assert_array_equal(got.values, want)
            assert got.dtype == want.dtype
            assert type(call(a, Foreign(b))) is np.ndarray
    vector = tw.matmul(Foreign(np.ones(3)), np.ones(3))
    assert type(vector) is Foreign
    assert vector.shape == ()


def test_no_element_is_copied_on_the_way_back(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    space = SimpleNamespace(from_dlpack=lambda made: seen.append(made) or Foreign(np.from_dlpack(made)))
    monkeypatch.setattr(Foreign, "__array_namespace__", lambda self: space)
    got = tw.matmul(Foreign(np.eye(3)), np.eye(3))
    assert np.may_share_memory(got.values, seen[0])


@pytest.mark.parametrize("kind", [Narrow, Mute])
def test_what_a_library_does_not_take_is_numpys(kind: type[Foreign]) -> None:
    a = np.eye(3)
    got = tw.matmul(kind(a), a)
    assert type(got) is np.ndarray
    np.testing.assert_array_equal(got, a)
    if kind is Narrow:
        assert type(tw.matmul(Narrow(a.astype("f4")), a.astype("f4"))) is Narrow


def test_bfloat16_that_dlpack_cannot_carry_is_numpys() -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    a = np.eye(3).astype(ml_dtypes.bfloat16)
    assert type(tw.matmul(Foreign(a), a)) is np.ndarray


def test_an_array_that_cannot_be_written_is_no_out() -> None:
    with pytest.raises(ValueError, match="out is read-only"):
        tw.matmul(np.eye(3), np.eye(3), out=Foreign(np.eye(3)))


def test_arrays_of_jax() -> None:
    jax = pytest.importorskip("jax")
    a = jax.numpy.arange(24, dtype="float32").reshape(2, 3, 4)
    for _ in range(2):
        got = tw.matmul(a, a.swapaxes(1, 2))
        assert isinstance(got, jax.Array)
        np.testing.assert_array_equal(np.asarray(got), np.matmul(a, a.swapaxes(1, 2)))


def test_jax_beside_torch_gives_jax() -> None:
    jax, _ = pytest.importorskip("jax"), pytest.importorskip("torch")
    a = jax.numpy.ones((2, 3, 3), "float32")
    assert isinstance(tw.matmul(a, a), jax.Array)


# ---- torch.compile


PUBLIC = ("matmul", "gemm", "plan", "explain", "gemm_batched", "gemm_grouped", "plan_grouped")


@pytest.mark.parametrize("name", PUBLIC)
def test_the_tracer_looks_into_no_public_call(name: str) -> None:
    assert getattr(tw, name)._torchdynamo_disable is True


def test_the_mark_is_put_on_the_function_itself() -> None:
    def function() -> None:
        pass

    assert tracing.untraced(function) is function


def test_the_tracer_is_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[str] = []
    monkeypatch.setattr(tracing, "_passed_over", set())
    monkeypatch.delitem(sys.modules, "torch._dynamo.trace_rules", raising=False)
    tracing.pass_over()
    monkeypatch.setitem(sys.modules, "torch._dynamo.trace_rules", SimpleNamespace(add=given.append))
    tw.gemm(np.eye(2), np.eye(2))
    tracing.pass_over()
    assert given == [f"tilewright.{room}" for room in tracing.ROOMS]


def test_a_tracer_of_another_kind_does_no_harm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracing, "_passed_over", set())
    monkeypatch.setitem(sys.modules, "torch._dynamo.trace_rules", SimpleNamespace())
    tracing.pass_over()


COMPILED = """
import warnings
warnings.simplefilter("error")
{imports}
warnings.simplefilter("error", UserWarning)
a, b = torch.randn(3, 8, 8), torch.randn(3, 8, 8)
graphs = []

def keep(graph, inputs):
    graphs.append([node.target for node in graph.graph.nodes if node.op == "call_function"])
    return graph.forward

calls = [
    lambda a, b: tw.matmul(a * 2, b) + 1,
    lambda a, b: tw.gemm(a * 2, b, alpha=2) + 1,
    lambda a, b: tw.gemm_batched(list(a * 2), list(b))[0] + 1,
    lambda a, b: tw.plan(a, b)(a * 2, b) + 1,
]
for call in calls:
    compiled = torch.compile(call, backend=keep)
    for shift in range(3):
        with torch.no_grad():
            torch.testing.assert_close(compiled(a + shift, b), call(a + shift, b))
    torch._dynamo.reset()
for graph in graphs:
    assert {"mul", "add"} & {target.__name__ for target in graph} and len(graph) <= 9, graphs
print(len(graphs))
"""


@pytest.mark.parametrize(
    "imports", ["import torch\nimport tilewright as tw", "import tilewright as tw\nimport torch"]
)
def test_calls_break_the_graph_of_a_compiled_function(imports: str, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    path = os.pathsep.join([str(Path(tw.__file__).parent.parent), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-c", COMPILED.replace("{imports}", imports)],
        env=os.environ | {"TILEWRIGHT_HOME": str(tmp_path), "PYTHONPATH": path},
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) == 8
