"""A comparison on host memory that stands for a device's, and pages and files of records of GPUs."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.pure.gpu_commands.asked import CEILINGS, H200, KNOWN, one
from tilewright.cli import compare, render
from tilewright.cli.queries.records import exported, page, reported
from tilewright.cli.report import pages
from tilewright.errors import ArgumentError
from tilewright.model import Config, Device, Plan, Problem, Record, Timing
from tilewright.planning import dispatch
from tilewright.store.records import Records
from tilewright.targets.cuda import devices
from tilewright.tuning.baselines import cublas

pytestmark = pytest.mark.pure


# ---- measuring beside others


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A GPU that counts what is done on it, PyTorch that fails, and no CuPy."""
    seen: dict[str, Any] = {"uploads": [], "calls": []}
    device = replace(KNOWN, limits={**KNOWN.limits, "l2": 1 << 20})
    monkeypatch.setattr(dispatch, "device", lambda kind="cpu": device)
    places = iter(range(1, 1 << 20))

    def upload(address: int, array: Any) -> None:
        seen["uploads"].append((address, array.nbytes, array.dtype.name))

    driver = SimpleNamespace(
        context=lambda index=0: 1,
        allocate=lambda size: SimpleNamespace(address=512 * next(places), size=size),
        upload=upload,
        synchronize=lambda: None,
    )
    monkeypatch.setattr(compare, "driver", driver)

    class Watch:
        def time(self, run: Callable[[], object], repeats: int) -> float:
            before = len(seen["calls"])
            for _ in range(repeats):
                run()
            # Ours takes 1 ms, a peer's 2 ms.
            return sum(1e-3 if name == "ours" else 2e-3 for name, *_ in seen["calls"][before:])

        def sample(self, regime: str) -> float:
            return 2e-3

    def plan(a: Any, b: Any, c: Any = None, **options: Any) -> Any:
        def run(a: Any, b: Any, c: Any, *, out: Any) -> None:
            seen["calls"].append(("ours", *(x.__cuda_array_interface__["data"][0] for x in (a, b, out))))

        run.plan = Plan(one("s:nn:64x64x64"), device, "memory", "default", "", "classic", Config({}))  # type: ignore[attr-defined]
        seen["options"] = options
        return run

    def no_cupy() -> str | None:
        raise ImportError("cupy")

    def product(problem: Problem, pointers: tuple[int, int, int], alpha: complex, beta: complex) -> Any:
        return lambda: seen["calls"].append(("torch", *pointers))

    monkeypatch.setattr(compare, "Events", Watch)
    monkeypatch.setattr(compare, "api", SimpleNamespace(plan=plan))
    monkeypatch.setattr(compare, "_viewed", lambda memories, libraries: memories)
    monkeypatch.setattr(cublas, "has_torch", lambda: "cublas by torch 9")
    monkeypatch.setattr(cublas, "has_cupy", no_cupy)
    monkeypatch.setattr(cublas, "torch_product", product)
    return seen


def test_a_comparison_goes_through_copies(host: dict[str, Any]) -> None:
    problem = one("c:nt:256x256x256")
    row = compare.compare_cuda(problem, "memory", 0.01).to_json()
    assert row["kind"] == "cuda"
    assert row["device"] == "h200"
    assert row["missing"] == ["cupy: not installed"]
    assert row["ratios"] == {"torch": pytest.approx(2.0)}
    assert row["gflops"] == pytest.approx(problem.flops / 1e-3 / 1e9)
    assert row["percent_of_bound"] == pytest.approx(100 * row["gflops"] / row["bound_gflops"])
    assert host["options"]["trans_b"] == "t"
    # Twice the cache of 1 MiB: two copies of 1.5 MiB, each used by everybody in turns.
    assert len(host["uploads"]) == 6
    assert {kind for _, _, kind in host["uploads"]} == {"complex64"}
    assert {size for _, size, _ in host["uploads"]} == {8 * 256 * 256}
    for name in ("ours", "torch"):
        assert len({tuple(place) for who, *place in host["calls"] if who == name}) == 2
    cached = compare.compare_cuda(problem.with_(beta="1"), "cached", 0.01)
    assert cached.bound is not None
    assert len(host["uploads"]) == 9
    assert host["options"]["beta"] == 1


def test_a_peer_that_fails_is_left_out(host: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> Any:
        raise RuntimeError("no memory")

    monkeypatch.setattr(cublas, "torch_product", broken)
    row = compare.compare_cuda(one("s:nn:256x256x256"), "cached", 0.01).to_json()
    assert row["ratios"] == {}
    assert row["missing"] == ["torch: RuntimeError: no memory", "cupy: not installed"]


def test_what_cannot_be_compared(host: dict[str, Any]) -> None:
    for problem in (
        one("s:nn:64x64x64", beta="any"),
        one("s:nn:64x64x64", lda=80),
        one("c:jn:64x64x64"),
    ):
        with pytest.raises(ArgumentError, match="accepted: packed, n, t or c"):
            compare.compare_cuda(problem, "memory")


def test_the_screen_of_a_comparison(host: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    row = compare.compare_cuda(one("s:nn:4096x4096x4096"), "cached", 0.01).to_json()
    render.comparison([row | {"gflops": 51300.0, "percent_of_bound": 76.7}])
    out = capsys.readouterr().out
    assert "cached, beta 0, h200: TF/s" in out
    assert "x torch" in out
    assert "51.30" in out
    assert "not compared with cupy: not installed" in out
    assert "core" not in out


# ---- records


def tried(device: str, spelling: str, stencil: str, seconds: float, toolchain: str, **config: Any) -> Record:
    timing = Timing((seconds,), seconds, seconds, seconds, "memory", 1, 2)
    return Record(
        one(spelling),
        "memory",
        stencil,
        Config(config),
        "ok",
        device,
        toolchain,
        timing=timing,
        seconds=seconds,
        protocol=2,
        when="2026-01-01",
    )


@pytest.fixture
def records(tmp_path: Path) -> Records:
    made = Records(tmp_path / "records.sqlite")
    for n in (512, 1024):
        for k in (8, 16, 32):
            made.append(tried("h200", f"s:nn:{n}x{n}x{n}", "classic", n**3 / (k * 1e12), "nvrtc 13", k_blk=k))
        made.append(tried("h200", f"s:nn:{n}x{n}x{n}", "vendor", n**3 / 25e12, "cublas by torch"))
    made.append(tried("old <gpu>", "d:nn:64x64x64", "classic", 1e-5, "nvrtc 12", k_blk=8))
    made.append(tried("a-cpu", "d:nn:8x8x8", "tile", 1e-7, "llvm 20", blk_n=1))
    return made


def test_a_page_of_several_devices(records: Records, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("plotly")
    cpu = Device("cpu", "A processor", "a-cpu", {})
    monkeypatch.setattr(dispatch, "records", lambda: records)
    monkeypatch.setattr(dispatch, "device", lambda kind="cpu": cpu)
    monkeypatch.setattr(devices, "missing", lambda: "no driver")
    records.save_ceilings("h200", 1, CEILINGS)
    rows, known = reported()
    assert [(d.key, d.kind) for d in known] == [("a-cpu", "cpu"), ("h200", "cuda"), ("old <gpu>", "cuda")]
    path = tmp_path / "page.html"
    written = page(path, [], [], every=False, library="embedded")
    assert {name: written[name] for name in ("devices", "problems", "tries", "shown")} == {
        "devices": ["a-cpu", "h200", "old <gpu>"],
        "problems": 4,
        "tries": 8,
        "shown": 8,
    }
    text = path.read_text()
    assert text.count("plotly.js v") == 1
    assert "old &lt;gpu&gt;" in text
    assert "old <gpu>" not in text
    # 64 Tflop/s of 66.9, of cuBLAS 50.
    assert re.search(r">64\.00 TF/s</td><td[^>]*>96</td><td[^>]*>1\.28</td>", text)
    with pytest.raises(ArgumentError, match="no timed kernel"):
        pages.report(path, rows, [Device("cpu", "x", "x", {})])


def test_records_of_a_gpu_are_written_without_ceilings(
    records: Records, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    records.save_ceilings("h200", 1, CEILINGS)
    records.save_ceilings("a-cpu", 1, {"peak.d.1": 1e10})
    monkeypatch.setattr(dispatch, "records", lambda: records)
    path = tmp_path / "gpu.jsonl"
    assert exported(path, H200, every=False) == 2
    assert [json.loads(line).keys() & {"ceilings"} for line in path.read_text().splitlines()] == [set()] * 2
    assert exported(path, H200, every=True) == 8
    assert len(path.read_text().splitlines()) == 8
    assert exported(path, Device("cpu", "A", "a-cpu", {}), every=False) == 1
    assert len(path.read_text().splitlines()) == 2
