"""The command: every answer as JSON, and every mistake as one line that names it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import tilewright as tw
from tests.commands import answered, said
from tilewright.calls import settings
from tilewright.cli import compare
from tilewright.errors import DeviceError
from tilewright.model import Device
from tilewright.planning import dispatch
from tilewright.targets.cuda import capability, devices, nvrtc
from tilewright.tuning import ceilings_cpu, ceilings_cuda

pytestmark = pytest.mark.cpu


@pytest.fixture(autouse=True)
def measured_once(ceilings: dict[str, float], monkeypatch: pytest.MonkeyPatch) -> None:
    """Measuring the machine takes seconds: all tests share one run of it."""
    monkeypatch.setattr(ceilings_cpu, "measure", lambda *_: dict(ceilings))
    if devices.missing() is None:
        # A GPU's are of no interest here, and others may be using it.
        monkeypatch.setattr(ceilings_cuda, "measure", lambda device, index: capability.units(device))


def test_doctor(capsys: pytest.CaptureFixture[str], new_home: Path, ceilings: dict[str, float]) -> None:
    data = answered(capsys, "doctor")
    device = dispatch.device()
    assert (data["key"], data["name"]) == (device.key, device.name)
    assert data["limits"] == dict(device.limits)
    assert data["ceilings"] == ceilings
    assert data["records"] == str(new_home / "records.sqlite")
    assert "llvm" in data["toolchain"]
    code, out, _ = said(capsys, "doctor")
    assert code == 0
    assert device.name in out
    assert answered(capsys, "doctor", "--remeasure")["ceilings"] == ceilings


def test_doctor_without_a_gpu(
    capsys: pytest.CaptureFixture[str], new_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(devices, "missing", lambda: "no CUDA driver is installed")
    data = answered(capsys, "doctor")
    assert (data["gpus"], data["gpu_missing"]) == ([], "no CUDA driver is installed")
    code, out, _ = said(capsys, "doctor")
    assert code == 0
    assert "no GPU: no CUDA driver is installed" in out.splitlines()


@pytest.fixture
def two_gpus(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A machine with two GPUs of one model; the numbers of those that were measured."""
    gpu, done = capability.named("b200"), []

    def measured(device: Device, index: int) -> dict[str, float]:
        done.append(index)
        if len(done) > 2:
            raise DeviceError("there is no room on the device")
        return {"bandwidth.copy.1": 6e12, **capability.units(device)}

    monkeypatch.setattr(devices, "missing", lambda: None)
    monkeypatch.setattr(devices, "count", lambda: 2)
    monkeypatch.setattr(devices, "probe", lambda index=0: gpu)
    monkeypatch.setattr(devices, "driver_version", lambda: "580.1, CUDA 13.0")
    monkeypatch.setattr(nvrtc, "toolchain", lambda: "nvrtc 13.0.88")
    monkeypatch.setattr(ceilings_cuda, "measure", measured)
    return done


def test_doctor_with_gpus(capsys: pytest.CaptureFixture[str], new_home: Path, two_gpus: list[int]) -> None:
    data = answered(capsys, "doctor")
    first, second = data["gpus"]
    assert two_gpus == [0]
    assert (first["index"], second["index"]) == (0, 1)
    assert first["key"] == second["key"] == "b200"
    assert first["ceilings"] == second["ceilings"]
    assert first["ceilings"]["bandwidth.copy.1"] == 6e12
    assert data["gpu_missing"] is None
    code, out, _ = said(capsys, "doctor")
    assert (code, two_gpus) == (0, [0])
    for text in ("GPU 0: NVIDIA B200 (b200)", "148, up to 1965 MHz", "228 KB", "580.1", "nvrtc 13.0.88"):
        assert text in out
    assert re.search(r"bandwidth\.copy\s+6000\.0\s+GB/s", out)
    assert re.search(r"peak\.s\s+74\.4\s+TF/s", out)
    code, out, _ = said(capsys, "explain", "s:nn:4096x4096x4096", "--device", "cuda")
    assert code == 0
    assert "bound  74.45 TF/s, by peak" in out
    answered(capsys, "doctor", "--remeasure")
    assert two_gpus == [0, 0]
    code, out, _ = said(capsys, "doctor", "--remeasure")
    assert "not measured again: there is no room on the device" in out


def test_a_gpu_that_cannot_be_measured(
    capsys: pytest.CaptureFixture[str], new_home: Path, two_gpus: list[int]
) -> None:
    two_gpus += [0, 0]
    code, out, _ = said(capsys, "doctor")
    assert code == 0
    told = " ".join(out.split())
    assert "not measured (there is no room on the device): tilewright doctor --remeasure" in told


def test_space(capsys: pytest.CaptureFixture[str]) -> None:
    (row,) = answered(capsys, "space", "d:3x3x3", "--stencil", "tile", "--funnel")
    assert row["stencil"] == "tile"
    assert row["all"] - sum(step["removed"] for step in row["funnel"]) == row["left"] > 0
    names = [step["rule"] for step in row["funnel"]]
    assert {"registers", "reuse", "tail-is-there"} <= set(names)
    (bare,) = answered(capsys, "space", "d:3x3x3", "--stencil", "tile", "--no-funnel")
    assert bare["left"] == row["left"]
    (hardware,) = answered(capsys, "space", "d:2x2x2", "--stencil", "tile", "--rules", "hardware")
    assert "reuse" not in [step["rule"] for step in hardware["funnel"]]
    code, out, _ = said(capsys, "space", "d:2x2x2", "--stencil", "tile")
    assert code == 0
    assert "registers" in out


@pytest.mark.parametrize("value", ["0", "-1", "9" * 5000, "nothing"], ids=lambda value: value[:9])
def test_space_says_why_not_of_what_is_no_value(capsys: pytest.CaptureFixture[str], value: str) -> None:
    (row,) = answered(capsys, "space", "d:8x8x8", "--stencil", "tile", "--why", f"blk_n={value}")
    (why,) = (each["why"] for each in row["broken"] if each["rule"] == "value")
    assert why.startswith("blk_n is one of")


def test_space_says_why(capsys: pytest.CaptureFixture[str]) -> None:
    (row,) = answered(capsys, "space", "d:3x3x3", "--stencil", "tile", "--why", "reg_a=8,tail=curly")
    assert {"reg-a-in-tile", "value"} <= {each["rule"] for each in row["broken"]}
    # On some processors the default breaks soft rules; the rules of the hardware it keeps on all of them.
    (row,) = answered(capsys, "space", "d:3x3x3", "--stencil", "tile", "--why", "prefetch=0,spread=0")
    assert [each for each in row["broken"] if each["kind"] != "soft"] == []


def test_explain(capsys: pytest.CaptureFixture[str], new_home: Path) -> None:
    rows = answered(capsys, "explain", "d:2..4")
    assert [row["problem"].partition("|")[0] for row in rows] == ["d:nn:2x2x2", "d:nn:3x3x3", "d:nn:4x4x4"]
    # A machine that records ship for starts tuned.
    assert {row["origin"] for row in rows} <= {"tuned", "near", "kin", "default"}
    assert all(row["stencil"] and row["config"] and row["threads"] == 1 for row in rows)
    (row,) = answered(capsys, "explain", "d:200x200x200")
    assert (row["origin"], row["stencil"]) == ("vendor", None)
    code, out, _ = said(capsys, "explain", "d:8x8x8")
    assert code == 0
    assert "runs" in out


@pytest.mark.parametrize("stage", ["ir", "asm"])
def test_show(stage: str, capsys: pytest.CaptureFixture[str]) -> None:
    (row,) = answered(capsys, "show", "d:4x4x4", "--stage", stage)
    assert "tilewright_kernel" in row[stage]
    assert row["facts"]["fma"] == row["facts"]["fma_expected"] > 0
    code, out, _ = said(capsys, "show", "d:4x4x4", "--stage", stage)
    assert code == 0
    assert out.strip() == row[stage].strip()


def test_show_a_config(capsys: pytest.CaptureFixture[str]) -> None:
    (row,) = answered(capsys, "show", "d:4x4x4", "--stencil", "tile", "--config", "blk_n=1")
    assert row["config"]["blk_n"] == 1


def test_tune_export_import_and_report(
    capsys: pytest.CaptureFixture[str], new_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (row,) = answered(capsys, "tune", "d:2x2x2", "--budget", "3", "--regime", "cached", "--beta", "0")
    assert row["problem"].startswith("d:nn:2x2x2")
    assert row["regime"] == "cached"
    assert row["tried"] == sum(row["statuses"].values()) > 0
    assert row["gflops"] > 0
    assert row["vendor_gflops"] > 0
    assert row["stencil"]

    lines = tmp_path / "shared.jsonl"
    count = answered(capsys, "export", str(lines))["records"]
    assert count >= 1
    assert sum("ceilings" not in json.loads(line) for line in lines.read_text().splitlines()) == count
    every = answered(capsys, "export", str(tmp_path / "all.jsonl"), "--every")["records"]
    assert every > count

    page = tmp_path / "page.html"
    if pytest.importorskip("plotly"):
        written = answered(capsys, "report", str(page))
        assert written["path"] == str(page)
        assert dispatch.device().key in written["devices"]
        # Without the vendor's; the records of a GPU of this machine may have come with the package.
        assert written["tries"] >= row["tried"]
        assert "plotly" in page.read_text()

    monkeypatch.setenv("TILEWRIGHT_HOME", str(tmp_path / "another"))
    settings.forget()
    assert answered(capsys, "import", str(lines))["new"] == count
    assert answered(capsys, "import", str(lines))["new"] == 0
    (explained,) = answered(capsys, "explain", "d:2x2x2@10")
    assert explained["origin"] in ("tuned", "vendor")

    rows = [json.loads(line) for line in (tmp_path / "all.jsonl").read_text().splitlines()]
    spoiled = next(number for number, row in enumerate(rows) if row.get("config") and row["status"] == "ok")
    name = next(iter(rows[spoiled]["config"]))
    rows[spoiled]["config"][name] = -1
    told = f"{tmp_path / 'spoiled.jsonl'}, line {spoiled + 1}: config says {name}=-1; accepted: "
    (tmp_path / "spoiled.jsonl").write_text("\n".join(map(json.dumps, rows)))
    monkeypatch.setenv("TILEWRIGHT_HOME", str(tmp_path / "third"))
    settings.forget()
    taken = answered(capsys, "import", str(tmp_path / "spoiled.jsonl"))
    assert taken["new"] == every - 1
    assert [line.startswith(told) for line in taken["refused"]] == [True]
    code, out, _ = said(capsys, "import", str(tmp_path / "spoiled.jsonl"))
    assert (code, "0 new records\n1 left out:\n  " + told in out) == (0, True)

    (tmp_path / "spoiled.jsonl").write_text(json.dumps(rows[spoiled]))
    code, out, err = said(capsys, "import", str(tmp_path / "spoiled.jsonl"))
    assert (code, out) == (2, "")
    assert f"spoiled.jsonl, line 1: config says {name}=-1" in err


def test_bench(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    slow = compare.compare
    monkeypatch.setattr(compare, "compare", lambda p, regime, cores, *_: slow(p, regime, cores, 0.2))
    (row,) = answered(capsys, "bench", "d:8x8x8", "--regime", "cached", "--cores", "1")
    assert row["problem"].startswith("d:nn:8x8x8")
    assert row["cores"] == 1
    assert row["gflops"] > 0
    assert "numpy" in row["ratios"]
    assert set(row["ratios"]) < set(row["seconds"])


MISTAKES = [
    (("explain", "x:8x8"), "problem='x:8x8'"),
    (("explain", "d:8..2"), "problem='d:8..2'"),
    (("explain",), "'problem'"),
    (("explain", "d:8x8x8", "--beta", "2"), "beta='2'"),
    (("space", "d:8x8x8", "--stencil", "none"), "stencil='none'; accepted: outer, sme, lanes, tile"),
    (("space", "d:8x8x8", "--rules", "some"), "rules='some'; accepted: all, hardware"),
    (("space", "d:8x8x8", "--why", "nonsense"), "'nonsense'"),
    (("space", "d:8x8x8", "--why", "colour=3"), "colour"),
    (("space", "d:200x200x200"), "problem=d:nn:200x200x200"),
    (("tune", "d:2x2x2", "--effort", "mighty"), "effort='mighty'"),
    (("tune", "d:2x2x2", "--regime", "disk"), "regime='disk'"),
    (("tune", "d:2x2x2", "--beta", "0,2"), "beta='2'; accepted: 0, 1, any"),
    (("tune", "d:2x2x2", "--budget", "-1"), "budget=-1"),
    (("tune", "d:2x2x2", "--budget", "soon"), "budget"),
    (("tune", "d:200x200x200", "--budget", "1"), "problem=d:nn:200x200x200"),
    (("bench", "d:2x2x2", "--regime", "disk"), "regime='disk'"),
    (("bench", "d:2x2x2", "--cores", "-1"), "cores"),
    (("bench", "d:2x2x2", "--cores", "99999"), "cores=99999"),
    (("show", "d:4x4x4", "--stage", "wood"), "stage='wood'; accepted: asm, ir"),
    (("show", "d:4x4x4", "--stage", "ptx"), "stage='ptx'; accepted: asm, ir"),
    (("bench", "d:2x2x2", "--device", "h200"), "device='h200'; accepted: cpu, cuda"),
    (("export", "x", "--device", "none"), "device='none'; accepted: cpu, cuda, "),
    (("show", "d:4x4x4", "--stencil", "tile", "--config", "blk_n=0"), "blk_n=0"),
    (("show", "d:4x4x4", "--config", "colour=3"), "colour"),
    (("show", "d:200x200x200"), "d:nn:200x200x200"),
    (("import", "/does/not/exist"), "/does/not/exist"),
    (("export", "/does/not/exist"), "/does/not/exist"),
    (("export", ""), "records file"),
    (("export", "/"), "records file '/'"),
    (("export", "x" * 300), "too long"),
    (("import", ""), "records file"),
    (("explain", "d:99999999999999999999x1x1"), "up to 2147483647"),
    (("explain", f"d:{'9' * 5000}x1x1"), "up to 2147483647"),
    (("explain", "d:1..3000000"), "up to 10000 sizes"),
    (("show", "d:4x4x4", "--config", f"blk_n={'9' * 5000}"), "blk_n"),
    (("show", "d:4x4x4", "--config", "blk_n=²"), "blk_n"),
    (("show", "d:4x4x4", "--config", "blk_n=--5"), "blk_n"),
    (("juggle",), "juggle"),
    (("doctor", "--loud"), "--loud"),
]


@pytest.mark.parametrize(("words", "named"), MISTAKES, ids=[" ".join(words)[:60] for words, _ in MISTAKES])
def test_a_mistake_is_one_line(
    words: tuple[str, ...], named: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    code, out, err = said(capsys, *words)
    assert code == 2
    assert out == ""
    assert named in err
    assert err.count("\n") == 1
    assert err.startswith("tilewright")


def test_a_bad_file_changes_nothing(
    capsys: pytest.CaptureFixture[str], new_home: Path, tmp_path: Path
) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text('{"device": "x"}\n')
    code, _, err = said(capsys, "import", str(path))
    assert code == 2
    assert "bad.jsonl, line 1" in err
    assert dispatch.records().all() == []


def test_a_name_that_no_screen_can_show_is_no_mistake(
    capsys: pytest.CaptureFixture[str], new_home: Path, tmp_path: Path
) -> None:
    path = tmp_path / os.fsdecode(b"caf\xe9")
    code, out, _ = said(capsys, "export", str(path))
    assert (code, path.exists()) == (0, True)
    assert "caf\\udce9: 0 records" in out
    code, out, _ = said(capsys, "import", str(path))
    assert (code, "caf\\udce9: 0 new records" in out) == (0, True)


def test_a_bad_home_is_named(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("TILEWRIGHT_HOME", str(tmp_path / "file" / "home"))
    settings.forget()
    try:
        code, _, err = said(capsys, "explain", "d:2x2x2")
    finally:
        settings.forget()
    assert code == 2
    assert "TILEWRIGHT_HOME=" in err
    assert err.count("\n") == 1


def test_the_module_is_the_command(tmp_path: Path) -> None:
    environment = os.environ | {
        "PYTHONPATH": str(Path(tw.__file__).parent.parent),
        "TILEWRIGHT_HOME": str(tmp_path),
    }
    done = subprocess.run(
        [sys.executable, "-m", "tilewright.cli.main", "explain", "nonsense"],
        env=environment, capture_output=True, text=True, timeout=100,
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "nonsense" in done.stderr


@pytest.mark.parametrize(
    ("output", "code", "told"),
    [
        (">&-", 0, ""),
        ("> /dev/full", 2, "tilewright: standard output cannot be written: No space left on device\n"),
        ("| true", 0, ""),
    ],
)
def test_output_that_nobody_takes(tmp_path: Path, output: str, code: int, told: str) -> None:
    environment = os.environ | {
        "PYTHONPATH": str(Path(tw.__file__).parent.parent),
        "TILEWRIGHT_HOME": str(tmp_path),
    }
    done = subprocess.run(
        ["/bin/sh", "-c", f"{sys.executable} -m tilewright space d:4x4x4 {output}"],
        env=environment, stderr=subprocess.PIPE, text=True, timeout=100,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (code, told)
