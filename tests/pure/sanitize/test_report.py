"""What ``bench.sanitize`` reports of the logs of the tools."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bench import lines
from bench.sanitize import tool
from bench.sanitize.__main__ import SHOWN, report
from bench.sanitize.job import Job, made, named
from tests.pure.sanitize.logs import CLEAN, CUDA, FOUND, NAMES, OUTSIDE, TOOLS, log_of
from tilewright.model import Problem
from tilewright.targets.cuda import capability
from tilewright.tutorial import outlines

pytestmark = pytest.mark.pure

Told = Callable[..., tuple[int, list[lines.Line], str, str]]


@pytest.fixture(scope="module")
def asked() -> list[Job]:
    """Jobs by the names of the logs."""
    device, tiny, rung = capability.named("h200"), CUDA["tiny"], outlines.LADDERS["s"][0]
    (problem,) = Problem.parse("d:nn:3x3x3@29")
    config, other = tiny.default(problem, device), rung.configs[0]
    found = [made(tiny, problem, config, name, device) for name in NAMES[:2]]
    source = named(rung.source(other), NAMES[2])
    return [*found, Job(NAMES[2], problem, rung.launch(other, 3, 3, device), source, rung.name)]


@pytest.fixture
def told(
    asked: list[Job], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Told:
    """Report on a log: the exit code, the lines of the file without that of the run, what is printed."""
    monkeypatch.setattr(lines, "facts", lambda device: {})

    def go(name: str, code: int, log: str) -> tuple[int, list[lines.Line], str, str]:
        path = tmp_path / "sanitize.jsonl"
        path.unlink(missing_ok=True)
        sink = lines.Sink(path, "sanitize", capability.named("h200"))
        status = report(sink, name, asked, code, log)
        first, *found = lines.read(path)
        assert first["kind"] == "run"
        out, err = capsys.readouterr()
        return status, found, out, err

    return go


def kinds(found: list[lines.Line]) -> tuple[dict[str, lines.Line], dict[str, lines.Line], lines.Line]:
    """Lines of kernels and of stencils by name, and the summary, which come in this order."""
    assert [line["kind"] for line in found] == ["kernel"] * 3 + ["stencil"] * 2 + ["summary"]
    return {x["name"]: x for x in found[:3]}, {x["stencil"]: x for x in found[3:5]}, found[5]


@pytest.mark.parametrize("name", TOOLS)
def test_a_report_of_nothing_found(told: Told, asked: list[Job], name: str) -> None:
    status, found, out, err = told(name, 0, log_of(CLEAN[name]))
    assert status == 0
    kernels, stencils, summary = kinds(found)
    assert kernels[NAMES[0]] == {
        "kind": "kernel",
        "name": NAMES[0],
        "problem": asked[0].problem.key,
        "tool": name,
        "result": "right",
        "findings": 0,
        "first": [],
    }
    assert list(kernels) == NAMES
    assert {(line["result"], line["findings"]) for line in kernels.values()} == {("right", 0)}
    counts = {"launched": 2, "wrong": 0, "findings": 0}
    assert stencils["tiny"] == {"kind": "stencil", "stencil": "tiny", "tool": name, "kernels": 2} | counts
    assert (stencils["naive"]["kernels"], stencils["naive"]["launched"]) == (1, 1)
    assert summary.pop("date")
    want = {"kind": "summary", "tool": name, "kernels": 3, "wrong": 0, "findings": 0}
    assert summary == want | {"finished": True, "exit_code": 0, "unnamed": []}
    assert out.splitlines() == [
        f"{name} tiny: 2 kernels, 0 findings, 0 wrong or not launched",
        f"{name} naive: 1 kernels, 0 findings, 0 wrong or not launched",
        f"{name}: 3 kernels, 0 findings, 0 wrong or not launched",
    ]
    assert err == ""


@pytest.mark.parametrize("name", TOOLS)
def test_a_report_of_one_finding(told: Told, name: str) -> None:
    finding, end, where = FOUND[name]
    status, found, out, err = told(name, tool.FOUND, log_of(finding, end))
    assert status == 1
    kernels, stencils, summary = kinds(found)
    assert {kernel: line["findings"] for kernel, line in kernels.items()} == {
        kernel: int(kernel == where) for kernel in NAMES
    }
    assert kernels[where]["first"] == tool.findings(finding)
    assert kernels[where]["result"] == "right"
    assert (stencils["tiny"]["findings"], stencils["naive"]["findings"]) == (1, 0)
    assert (summary["findings"], summary["wrong"], summary["exit_code"]) == (1, 0, tool.FOUND)
    assert summary["finished"]
    assert summary["unnamed"] == []
    assert f"{where} (d:nn:3x3x3@29): right, 1 findings" in out
    assert tool.findings(finding)[0][1] in out
    assert err == ""


@pytest.mark.parametrize("name", TOOLS)
def test_a_report_of_a_kernel_that_was_not_launched(told: Told, name: str) -> None:
    # The tool ends without a finding: only the missing line tells.
    status, found, out, _ = told(name, 0, log_of(CLEAN[name], without="naive_1"))
    assert status == 1
    kernels, stencils, summary = kinds(found)
    assert [kernels[kernel]["result"] for kernel in NAMES] == ["right", "right", "not launched"]
    assert (stencils["naive"]["launched"], stencils["naive"]["wrong"]) == (0, 1)
    assert (stencils["tiny"]["launched"], stencils["tiny"]["wrong"]) == (2, 0)
    assert (summary["wrong"], summary["findings"]) == (1, 0)
    assert "naive_1 (d:nn:3x3x3@29): not launched, 0 findings" in out
    status, found, out, _ = told(name, 0, log_of(CLEAN[name], wrong="naive_1"))
    assert status == 1
    kernels, stencils, summary = kinds(found)
    assert kernels["naive_1"]["result"] == "3 of 9 differ"
    assert (stencils["naive"]["launched"], stencils["naive"]["wrong"], summary["wrong"]) == (1, 1, 1)


def test_a_report_of_a_log_that_was_cut_short(told: Told) -> None:
    status, found, _, err = told("memcheck", -9, log_of("stopped after 5 s\n"))
    assert status == 1
    _, _, summary = kinds(found)
    assert (summary["finished"], summary["exit_code"], summary["findings"]) == (False, -9, 0)
    assert "stopped after 5 s" in err
    # Its own count is missing: findings are counted.
    status, found, _, _ = told("memcheck", -9, log_of(OUTSIDE, OUTSIDE))
    assert (status, kinds(found)[2]["findings"]) == (1, 2)


def test_many_findings_are_counted_and_a_few_are_kept(told: Told) -> None:
    nobody = "========= Program hit cudaErrorUnknown on a call\n=========     in libcuda.so.1\n=========\n"
    many = SHOWN + 2
    end = f"========= ERROR SUMMARY: {many + 1} errors\n"
    status, found, out, _ = told("memcheck", tool.FOUND, log_of(OUTSIDE * many, nobody, end))
    assert status == 1
    kernels, stencils, summary = kinds(found)
    assert kernels[NAMES[1]]["findings"] == stencils["tiny"]["findings"] == many
    assert len(kernels[NAMES[1]]["first"]) == SHOWN
    assert summary["findings"] == many + 1
    assert summary["unnamed"] == tool.findings(nobody)
    assert out.count("Invalid __global__ read") == SHOWN
    assert "of no kernel: Program hit" in out
