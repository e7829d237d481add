"""Workspaces of launches on a live GPU: who launches, and what runs where there is no room."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import tilewright as tw
from tilewright.errors import DeviceError, RoomError
from tilewright.planning import dispatch
from tilewright.targets.cuda import devices, workspace

pytestmark = [
    pytest.mark.cuda,
    pytest.mark.skipif(devices.missing() is not None, reason=devices.missing() or ""),
]

CUT = {"tile_m": 256, "tile_n": 128, "ping_pong": 0, "cluster_m": 1, "cluster_n": 2, "stages": 4, "outs": 2}
CUT |= {"band": 1024, "overlap": 0, "backwards": 1, "blocks": 132, "cut": 1, "lanes": 0}


@pytest.fixture
def operands() -> Any:
    """PyTorch, two matrices, their product, and room for a result."""
    torch = pytest.importorskip("torch")
    if "wgmma" not in devices.probe().supports or not torch.cuda.is_available():
        pytest.skip("no product of warp groups, or this PyTorch sees no GPU")
    a, b = (torch.randn(1536, 1536, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    return torch, a, b, a @ b, torch.empty_like(a)


def near(torch: Any, found: Any, want: Any) -> bool:
    return bool(torch.allclose(found.float(), want.float(), rtol=2e-2, atol=0.5))


def test_python_launches_until_a_stream_has_a_workspace(operands: Any, by_python: list[int]) -> None:
    torch, a, b, want, out = operands
    planned = tw.plan(a, b, out=out, stencil="warpgroup", config=CUT)
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(10):
            out.zero_()
            planned(a, b, out=out)
            assert near(torch, out, want)
    assert by_python == [stream.cuda_stream]


def test_where_there_is_no_room_calls_run_what_needs_none(
    operands: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch, a, b, want, out = operands
    plan = dispatch.plan

    def cut(problem: Any, device: Any, **_: Any) -> Any:
        return replace(plan(problem, device, stencil="warpgroup", config=CUT), origin="default")

    def full(*_: Any, **__: Any) -> int:
        raise RoomError("size=1: the device has no room")

    monkeypatch.setattr(dispatch, "plan", cut)
    tw.forget()
    with monkeypatch.context() as without:
        without.setattr(workspace, "_HELD", workspace.Held())
        without.setattr(workspace, "_fresh", full)
        for _ in range(3):
            assert near(torch, tw.matmul(a, b, out=out.zero_()), want)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            tw.matmul(a, b, out=out)
        out.zero_()
        graph.replay()
        assert near(torch, out, want)
        monkeypatch.setattr(dispatch, "plan", plan)
        with pytest.raises(DeviceError, match=r"no room.*without stencil='warpgroup'"):
            tw.plan(a, b, out=out, stencil="warpgroup", config=CUT)(a, b, out=out)
    tw.forget()
