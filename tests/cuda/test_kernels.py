"""Kernels of one's own on a GPU: right in the configs that are drawn, tuned, and what bad ones come to."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from bench.custom import example
from tilewright.planning import dispatch
from tilewright.targets.cuda import devices

pytestmark = [
    pytest.mark.cuda,
    pytest.mark.skipif(devices.missing() is not None, reason=str(devices.missing())),
]
torch: Any = pytest.importorskip("torch")

CHOLESKY = example("12_cholesky")
TRANSPOSE = example("13_transpose")
DEVICE = dispatch.device("cuda") if devices.missing() is None else None


def matrices(batch: int, n: int) -> Any:
    torch.manual_seed(n)
    made = torch.randn(batch, n, 2 * n, device="cuda", dtype=torch.float64)
    return made @ made.mT / (2 * n) + 0.1 * torch.eye(n, device="cuda", dtype=torch.float64)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 7, 8, 13, 16, 24, 31, 32])
def test_cholesky_is_right_in_configs_of_its_space(n: int) -> None:
    configs = CHOLESKY.cholesky.configs({"batch": 100, "N": n}, DEVICE)
    for config in random.Random(n).sample(configs, min(3, len(configs))):
        for batch in (1, 5, 333):
            a = matrices(batch, n)
            found = CHOLESKY.cholesky(a.float(), config=config)
            right = torch.linalg.cholesky(a)
            assert torch.allclose(found.double(), right, atol=1e-4), (n, batch, config)


@pytest.mark.parametrize(("n", "m"), [(1, 1), (3, 3), (6, 1), (6, 4), (16, 2), (32, 1)])
def test_solve_is_right_in_configs_of_its_space(n: int, m: int) -> None:
    configs = CHOLESKY.solve.configs({"batch": 100, "N": n, "M": m}, DEVICE)
    for config in random.Random(n).sample(configs, min(3, len(configs))):
        a, b = matrices(77, n), torch.randn(77, n, m, device="cuda", dtype=torch.float64)
        found = CHOLESKY.solve(a.float(), b.float(), config=config)
        right = torch.linalg.solve(a, b)
        assert torch.allclose(found.double(), right, atol=1e-3 * float(right.abs().max())), (n, m, config)


def test_transpositions_of_any_shape_are_right() -> None:
    configs = TRANSPOSE.transpose.configs({"rows": 1, "columns": 1}, DEVICE)
    for rows, columns in ((1, 1), (33, 100), (257, 31)):
        x = torch.randn(rows, columns, device="cuda")
        for config in random.Random(rows).sample(configs, 4):
            assert torch.equal(TRANSPOSE.transpose(x, config=config), x.T), (rows, columns, config)


def test_a_call_is_recorded_into_a_graph_and_goes_to_the_callers_stream() -> None:
    x, out = torch.randn(64, 48, device="cuda"), torch.zeros(48, 64, device="cuda")
    TRANSPOSE.transpose(x, out=out)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        TRANSPOSE.transpose(x, out=out)
    x.normal_()
    graph.replay()
    assert torch.equal(out, x.T)


def test_arrays_elsewhere_and_of_other_kinds_are_refused() -> None:
    x = torch.randn(8, 6, device="cuda")
    with pytest.raises(tw.DeviceError, match="accepted: arrays of a cuda"):
        TRANSPOSE.transpose(np.zeros((8, 6), np.float32))
    with pytest.raises(tw.DTypeError, match="accepted: float32"):
        TRANSPOSE.transpose(x.double())
    with pytest.raises(tw.ArgumentError, match="contiguous"):
        TRANSPOSE.transpose(x.T)


def test_kernels_that_fault_hang_or_write_elsewhere_cost_one_record_each(new_home: Path) -> None:

    text = r"""
    extern "C" __global__ void twice(const float *x, float *y, int n) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
    #if MODE == 1
        if (i == 0) *(volatile float *)8 = 1;
    #elif MODE == 2
        if (i == 0) y[n] = 1;
    #elif MODE == 3
        __trap();
    #elif MODE == 4
        no C++
    #endif
        if (i < n) y[i] = (2 + (MODE == 5)) * x[i];
    }
    """
    one = tw.Stencil(
        "twice",
        text,
        {"MODE": [1, 2, 3, 4, 5, 0]},
        [
            tw.Input("x", "float32", ("n",)),
            tw.Output("y", "float32", ("n",)),
            tw.Scalar("count", "int32", "n"),
        ],
        launch={"grid": "ceil_div(n, 128)", "block": 128},
        reference=lambda x: 2 * x,
        language="cuda",
    )
    result = one.tune({"n": 1000}, search="exhaustive", budget=60)
    statuses = {row.config["MODE"]: row.status for row in one.records({"n": 1000})}
    wrong = {2: "wrong", 5: "wrong"}
    assert statuses == {0: "ok", 1: "crashed", 3: "crashed", 4: "compile_failed", **wrong}
    assert result.best is not None
    assert result.best.config["MODE"] == 0
    x = torch.arange(1000.0, device="cuda")
    assert torch.equal(one(x), 2 * x)
    assert one.explain({"n": 1000}).endswith("tuned (memory): MODE=0")


def test_a_t1_file_is_tuned(tmp_path: Path, new_home: Path) -> None:
    pytest.importorskip("jsonschema")
    (tmp_path / "vector.cu").write_text(
        "__global__ void vector(float *y, const float *x, int n) {\n"
        "    int i = blockIdx.x * block_size_x + threadIdx.x;\n"
        "    if (i < n) y[i] = 2 * x[i];\n}\n"
    )
    array = {"Type": "float", "MemoryType": "Vector", "Size": 100000, "FillType": "Random"}
    document = {
        "ConfigurationSpace": {
            "TuningParameters": [{"Name": "block_size_x", "Type": "int", "Values": "[32, 128, 2048]"}]
        },
        "KernelSpecification": {
            "Language": "CUDA",
            "KernelName": "vector",
            "KernelFile": "vector.cu",
            "GlobalSizeType": "OpenCL",
            "GlobalSize": {"X": "100000"},
            "LocalSize": {"X": "block_size_x"},
            "Arguments": [
                {"Name": "y", "AccessType": "WriteOnly", **array},
                {"Name": "x", "AccessType": "ReadOnly", **array},
                {"Name": "n", "Type": "int32", "MemoryType": "Scalar", "FillValue": 100000},
            ],
        },
    }
    path = tmp_path / "vector.json"
    path.write_text(json.dumps(document))
    made = tw.Stencil.from_t1(path, reference=lambda x: 2 * x)
    result = made.tune({}, search="exhaustive", budget=30)
    assert result.statuses == {"ok": 2}
    x = torch.randn(100000, device="cuda")
    assert torch.equal(made(x), 2 * x)
