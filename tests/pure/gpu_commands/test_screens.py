"""Screens of commands for GPUs: made-up rows, and what is said of a device that is not here."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.commands import said
from tests.pure.gpu_commands.asked import CEILINGS, KNOWN, one
from tilewright.calls import explain, settings
from tilewright.catalog import TARGETS
from tilewright.cli import render
from tilewright.errors import DeviceError
from tilewright.model import Device, Plan
from tilewright.planning import dispatch
from tilewright.runtime import build
from tilewright.targets.cuda import devices, disassemble

pytestmark = pytest.mark.pure


# ---- screens


def test_numbers_are_as_long_as_they_can_be_read() -> None:
    assert render.count(0) == "0"
    assert render.count(9_999_999) == "9,999,999"
    assert render.count(68_000_000_000_000_000) == "6.8e16"
    assert render.count(10_000_000) == "1.0e7"
    assert render.count(1_234_567_890_123_456_789_012) == "1.2e21"
    assert render.rate(None) == "-"
    assert render.rate(9999.0) == "9999.0 GF/s"
    assert render.rate(51300.0) == "51.30 TF/s"
    assert render.speeds([12.34, None]) == ("GF/s", ["12.3", "-"])
    assert render.speeds([51300.0, None, 120.0]) == ("TF/s", ["51.30", "-", "0.12"])
    assert render.speeds([]) == ("GF/s", [])


def result(kind: str, gflops: float) -> dict[str, Any]:
    return {
        "problem": "s:nn:4096x4096x4096@1",
        "beta": "0",
        "kind": kind,
        "regime": "memory",
        "tried": 10,
        "seconds": 6.0,
        "waited": 1.25,
        "gflops": gflops,
        "against_vendor": 1.0,
        "stencil": "classic",
        "config": {"n_dim": 16},
        "missing": "",
        "predicted": None,
        "half_width": 0.002,
        "tied": [{"stencil": "tiny", "config": {}}],
        "note": "a drift of +3%",
    }


def test_tuning_a_gpu_says_how_long_it_waited(capsys: pytest.CaptureFixture[str]) -> None:
    render.tuned([result("cuda", 51300.0)])
    out = capsys.readouterr().out
    assert re.search(r"tried\s+s\s+s waited\s+TF/s\s+±\s+x vendor", out)
    assert re.search(r"10\s+6\.0\s+1\.2\s+51\.30\s+0\.2%\s+1\.00", out)
    assert "memory: tied with 1 other; a fixed order chose" in out
    assert "memory: while the best were timed: a drift of +3%" in out
    render.tuned([result("cpu", 51.3)])
    out = capsys.readouterr().out
    assert "waited" not in out
    assert re.search(r"10\s+6\.0\s+51\.3\s+0\.2%\s+1\.00", out)


def test_a_funnel_of_large_numbers_stays_in_its_lines(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = said(capsys, "space", "z:nn:4096x4096x4096", "--device", "fermi-s2050")
    assert code == 0
    assert re.search(r"\d\.\de\d\d", out)
    assert not re.search(r"\d{1,3}(,\d{3}){3}", out)
    code, out, _ = said(capsys, "space", "z:nn:4096x4096x4096", "--device", "fermi-s2050", "--json")
    (row,) = json.loads(out)
    assert row["all"] == row["funnel"][0]["left"] > 10**15


# ---- looking without a device


@pytest.fixture
def no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    def probe(index: int = 0) -> Device:
        raise DeviceError("no CUDA driver is installed")

    monkeypatch.setattr(devices, "missing", lambda: "no CUDA driver is installed")
    monkeypatch.setattr(devices, "probe", probe)
    settings.forget()


@pytest.mark.parametrize(
    "words",
    [
        ("explain", "s:nn:64x64x64"),
        ("show", "s:nn:64x64x64"),
        ("space", "s:nn:64x64x64"),
        ("bench", "s:nn:64x64x64"),
        ("tune", "s:nn:64x64x64"),
        ("export", "nowhere.jsonl"),
    ],
)
def test_without_a_gpu_one_line_says_so(
    words: tuple[str, ...], no_gpu: None, new_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = said(capsys, *words, "--device", "cuda")
    assert code == 2
    assert out == ""
    assert err.count("\n") == 1
    assert "no CUDA driver is installed" in err


def test_a_device_that_nobody_knows(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = said(capsys, "explain", "s:nn:64x64x64", "--device", "tpu")
    assert code == 2
    assert "device='tpu'; accepted: cpu, cuda, fermi-s2050, a100, h100, h200, b200" in err


def test_explain_on_a_device_that_is_not_here(
    no_gpu: None, new_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dispatch.records().save_ceilings("b200", 1, CEILINGS)
    code, out, _ = said(capsys, "explain", "s:nn:4096x4096x4096", "--device", "b200")
    assert code == 0
    assert "runs   vendor: cuBLAS" in out
    assert "no record speaks for it" in out
    code, out, _ = said(capsys, "explain", "s:nn:4096x4096x4096@2", "--device", "b200")
    assert code == 0
    assert "runs   default: classic" in out
    assert re.search(r"tile   \d+ x \d+ of C a block, k in steps of \d+", out)
    assert re.search(r"starts \d+ blocks of \d+ threads", out)
    assert "reads  memory" in out
    assert "bound  66.91 TF/s, by peak" in out
    assert "core" not in out
    code, out, _ = said(capsys, "explain", "s:nn:4096x4096x4096@2", "--device", "b200", "--json")
    (row,) = json.loads(out)
    assert row["device"] == "b200"
    assert row["bound_gflops"] == pytest.approx(66908, rel=1e-3)
    assert row["launch"]["block"][0] >= 32


def test_a_vendor_plan_names_cublas() -> None:
    plan = Plan(one("s:nn:8x8x8"), KNOWN, "cached", "vendor", "the records say that it is faster")
    text = explain.explain_plan(plan)
    assert "runs   vendor: cuBLAS, by the array library's matmul" in text
    assert "numpy" not in text


def test_registers_are_told_of_what_was_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = dispatch.plan(one("s:nn:512x512x512"), KNOWN, vendor=False)
    assert "registers a thread" not in explain.explain_plan(plan)
    kernel = SimpleNamespace(binary=SimpleNamespace(facts={"registers": 77}))
    monkeypatch.setattr(build, "key", lambda *_: "its name")
    monkeypatch.setattr(build, "_loaded", {"its name": kernel})
    assert "77 registers a thread" in explain.explain_plan(plan)


def test_the_source_is_shown_without_a_compiler(
    no_gpu: None, new_home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> Any:
        raise DeviceError("no compiler")

    monkeypatch.setattr(TARGETS["cuda"], "compile", refuse)
    asked = ("show", "z:tn:64x64x64", "--device", "a100")
    code, out, _ = said(capsys, *asked, "--stage", "cuda")
    assert code == 0
    assert "#define TYPE_BITS 64\n#define COMPLEX 1\n#define TRANS_A 1\n" in out
    assert "__global__" in out
    assert "no facts" in out
    code, out, err = said(capsys, *asked, "--stage", "sass")
    assert (code, out) == (2, "")
    assert "no compiler" in err
    code, _, err = said(capsys, *asked, "--stage", "asm")
    assert code == 2
    assert "stage='asm'; accepted: ptx, cuda, sass" in err


def test_sass_without_a_disassembler_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disassemble, "disassembler", lambda: None)
    with pytest.raises(DeviceError, match="neither nvdisasm nor cuobjdump"):
        disassemble.sass(SimpleNamespace(entry="classic", code=b""))  # type: ignore[arg-type]


def test_commands_ask_for_another_math(capsys: pytest.CaptureFixture[str]) -> None:
    """What may be made of parts is where that gains, and of another type it is refused by its name."""
    code, out, _ = said(capsys, "explain", "s:nn:4096x4096x4096", "--device", "h200", "--math", "bf16x6")
    assert code == 0
    assert "bf16x6" in out
    assert "emulated" in out
    code, out, _ = said(capsys, "explain", "s:nn:9x9x9@9", "--device", "h200", "--math", "bf16x6")
    assert code == 0
    assert "bf16x6" not in out
    code, out, _ = said(
        capsys, "space", "c:nc:999x999x999", "--device", "h200", "--math", "bf16x3", "--stencil", "emulated"
    )
    assert code == 0
    assert "ring" in out
    for command in ("explain", "show", "space", "tune"):
        code, _, err = said(capsys, command, "d:9x9x9", "--math", "tf32")
        assert code == 2
        assert "math='tf32' for d:nn:9x9x9@1; accepted: products of type s" in err
        code, _, err = said(capsys, command, "s:9x9x9", "--math", "fp8")
        assert code == 2
        assert "math='fp8'; accepted: ieee, tf32, bf16x3, bf16x6" in err
