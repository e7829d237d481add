"""Kernels of one's own on a GPU: right in every config that is drawn, on arrays of PyTorch and of NumPy's
kind."""

from __future__ import annotations

import random
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
    configs = TRANSPOSE.transpose.configs({"rows": 1, "columns": 1})
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
