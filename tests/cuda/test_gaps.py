"""Calls on a GPU without a record: counted whichever way they go, tuned, and then no gaps any more."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tilewright as tw
from tilewright.planning import dispatch
from tilewright.store import gaps as file
from tilewright.targets.cuda import devices

torch: Any = pytest.importorskip("torch")
pytestmark = [
    pytest.mark.cuda,
    pytest.mark.skipif(devices.missing() is not None, reason=devices.missing() or ""),
]


@pytest.fixture(autouse=True)
def counted(new_home: Path) -> Iterator[None]:
    tw.count_gaps(True)
    yield
    tw.count_gaps(False)


def test_calls_are_counted_and_the_worst_are_tuned() -> None:
    # A size that no record is of: a kernel serves it, or the library where its class is not won.
    a, b = (torch.rand(4000, 11, 13, device="cuda", dtype=torch.float64) for _ in range(2))
    out = torch.empty(4000, 11, 11, device="cuda", dtype=torch.float64)
    planned = tw.plan(a, b.mT, out=out)
    for _ in range(7):
        tw.matmul(a, b.mT, out=out)
        tw.matmul(a, b.mT)
        planned(a, b.mT, out=out)
    assert torch.allclose(out, a @ b.mT)
    (gap,) = tw.gaps("cuda")
    assert (gap.calls, gap.products, gap.timed) == (21, 84_000, False)
    assert gap.loss > 0
    assert tw.gaps("cpu") == []
    (result,) = tw.tune(gaps=True, device="cuda", tries=4, budget=4.0)
    assert result.best is not None
    assert result.problem.key == gap.problem.key
    assert tw.gaps() == []
    before = [each.calls for each in file.read()]
    tw.matmul(a, b.mT, out=out)
    assert tw.gaps() == []
    assert [each.calls for each in file.read()] == before, "it has a record"
    assert dispatch.plan(gap.problem, dispatch.device("cuda")).origin in ("tuned", "vendor")


def test_a_set_of_few_kernels_serves_several_sizes() -> None:
    found = tw.kernel_set(
        ["hc:72x72x72@4000", "hc:96x96x96@3000", "hc:120x120x120@2000"],
        within=0.5,
        budget=6.0,
        betas="0",
        regimes="memory",
        device="cuda",
    )
    assert found.holds
    assert len(found.kernels) <= len(found.cases) == 3
    assert tw.use_kernels(found) == 3
    try:
        for case in found.cases:
            plan = dispatch.plan(case.problem, dispatch.device("cuda"))
            assert (plan.stencil, plan.config) == found.kernels[case.kernel]
    finally:
        tw.use_kernels(None)
