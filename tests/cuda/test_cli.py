"""The commands on a GPU: what they say of it, and that their numbers are those of such a device."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.commands import answered, said
from tilewright import api
from tilewright.cli import compare
from tilewright.model import Problem
from tilewright.planning import dispatch
from tilewright.targets.cuda import devices, disassemble, driver
from tilewright.tuning import ceilings_cpu, ceilings_cuda

pytestmark = [
    pytest.mark.cuda,
    pytest.mark.skipif(devices.missing() is not None, reason=devices.missing() or ""),
]


@pytest.fixture
def few_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    """The processor's ceilings take seconds and are of no interest here."""
    monkeypatch.setattr(ceilings_cpu, "measure", lambda *_: {"peak.d.1": 1e9})


def test_a_copy_is_measured() -> None:
    before = driver.context()
    device = devices.probe()
    first, again = (ceilings_cuda.measure(device) for _ in range(2))
    assert first.keys() == again.keys() >= {"bandwidth.copy.1", "peak.s.1", "peak.z.1"}
    assert 1e11 < first["bandwidth.copy.1"] < 2e13
    assert first["bandwidth.copy.1"] == pytest.approx(again["bandwidth.copy.1"], rel=0.1)
    assert driver.context() == before
    if device.key == "h200":
        # 4.8 TB/s on paper.
        assert 3.2e12 < first["bandwidth.copy.1"] < 4.9e12
        assert first["tensor.d.1"] == pytest.approx(66.9e12, rel=0.05)


def test_doctor(capsys: pytest.CaptureFixture[str], new_home: Path, few_cores: None) -> None:
    data = answered(capsys, "doctor")
    assert data["gpu_missing"] is None
    assert len(data["gpus"]) == devices.count()
    gpu, device = data["gpus"][0], dispatch.device("cuda")
    assert (gpu["name"], gpu["key"]) == (device.name, device.key)
    assert gpu["limits"] == dict(device.limits)
    assert gpu["ceilings"] == dict(device.ceilings)
    assert gpu["ceilings"]["bandwidth.copy.1"] > 0
    assert gpu["driver"] == devices.driver_version()
    assert gpu["not_measured"] is None
    code, out, _ = said(capsys, "doctor")
    assert code == 0
    assert device.name in out
    assert "bandwidth.copy" in out
    assert answered(capsys, "doctor", "--remeasure")["gpus"][0]["ceilings"].keys() == gpu["ceilings"].keys()


def test_explain(capsys: pytest.CaptureFixture[str], new_home: Path, few_cores: None) -> None:
    asked = ("explain", "s:nn:1024x1024x1024@2", "--device", "cuda")
    code, out, _ = said(capsys, *asked)
    assert code == 0
    assert "starts" in out
    answered(capsys, "doctor")
    code, out, _ = said(capsys, *asked)
    assert "F/s, by peak" in out
    (row,) = answered(capsys, *asked)
    assert row["device"] == devices.probe().key
    assert row["launch"]["block"][0] % 32 == 0
    assert row["bound_gflops"] > 0


@pytest.mark.parametrize("stage", ["ptx", "cuda", "sass"])
def test_show(stage: str, capsys: pytest.CaptureFixture[str]) -> None:
    if stage == "sass" and disassemble.disassembler() is None:
        code, _, err = said(capsys, "show", "d:nn:512x512x512", "--device", "cuda", "--stage", stage)
        assert code == 2
        assert "disassembler" in err
        return
    (row,) = answered(capsys, "show", "d:nn:512x512x512", "--device", "cuda", "--stage", stage)
    assert row["facts"]["registers"] > 0
    assert {"ptx": ".entry", "cuda": "__global__", "sass": "EXIT"}[stage] in row[stage]


@pytest.mark.parametrize("regime", ["memory", "cached"])
@pytest.mark.parametrize(
    ("spelling", "beta"), [("s:nn:1024x1024x1024", "0"), ("z:ct:300x200x100", "1"), ("d:nn:16x16x16", "0")]
)
def test_bench(
    spelling: str,
    beta: str,
    regime: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    slow = compare.compare_cuda
    monkeypatch.setattr(compare, "compare_cuda", lambda problem, regime, _: slow(problem, regime, 0.3))
    asked = ("bench", spelling, "--device", "cuda", "--beta", beta, "--regime", regime)
    (row,) = answered(capsys, *asked)
    assert row["kind"] == "cuda"
    assert row["gflops"] > 0
    assert set(row["ratios"]) < set(row["seconds"])
    installed = {name for name in ("torch", "cupy") if not any(m.startswith(name) for m in row["missing"])}
    assert set(row["ratios"]) == installed
    assert all(0.01 < ratio < 100 for ratio in row["ratios"].values())
    # The clock may rise above what was asked for by nothing, and a copy is not the fastest mix.
    assert 0 < row["percent_of_bound"] < 130
    code, out, _ = said(capsys, *asked)
    assert code == 0
    assert devices.probe().key in out


def test_a_comparison_computes_the_product(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is timed as ours and as theirs leaves the same C."""
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("this PyTorch sees no GPU")
    from tilewright.tuning.baselines import cublas

    problem = Problem.parse("c:ct:96x80x72@3")[0]
    sizes = [n * problem.dtype.itemsize for n in (96 * 72 * 3, 80 * 72 * 3, 96 * 80 * 3)]
    memory = [driver.allocate(size) for size in sizes]
    rng = torch.Generator(device="cuda").manual_seed(1)
    a, b, c = compare._viewed(
        cublas.memories(problem, tuple(m.address for m in memory)),
        ["torch"],  # type: ignore[arg-type]
    )
    for x in (a, b):
        x.copy_(torch.randn(x.shape, dtype=x.dtype, device="cuda", generator=rng))
    call = api.plan(a, b, trans_a="c", trans_b="t", out=c)
    call(a, b, out=c)
    ours = c.clone()
    c.zero_()
    cublas.torch_product(problem, tuple(m.address for m in memory), 1, 0)()  # type: ignore[arg-type]
    torch.testing.assert_close(ours, c, rtol=1e-4, atol=1e-4)


def test_tune_export_and_report(
    capsys: pytest.CaptureFixture[str], new_home: Path, tmp_path: Path, few_cores: None
) -> None:
    options = ("--device", "cuda", "--budget", "5", "--regime", "cached", "--beta", "0")
    words = ("tune", "s:nn:512x512x512", *options)
    (row,) = answered(capsys, *words)
    assert row["kind"] == "cuda"
    assert row["device"] == devices.probe().key
    assert row["waited"] >= 0
    code, out, _ = said(capsys, *words)
    assert code == 0
    assert "s waited" in out
    answered(capsys, "doctor")
    file = tmp_path / "gpu.jsonl"
    count = answered(capsys, "export", str(file), "--device", "cuda")["records"]
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert len(lines) == count == 1
    assert lines[0]["device"] == devices.probe().key
    pytest.importorskip("plotly")
    page = tmp_path / "page.html"
    written = answered(capsys, "report", str(page))
    assert devices.probe().key in written["devices"]
    assert devices.probe().name in page.read_text()
    (explained,) = answered(capsys, "explain", "s:nn:512x512x512", "--device", "cuda")
    assert explained["origin"] in ("tuned", "vendor")
