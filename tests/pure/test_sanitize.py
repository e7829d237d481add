"""``bench.sanitize`` without a GPU: what would be launched, lists and what is right of them, logs of the
tools and what is reported of them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from bench import lines
from bench.sanitize import chains, forms, groups, lists, nests, small, tool
from bench.sanitize.__main__ import SHOWN, report
from bench.sanitize.child import results
from bench.sanitize.job import Job, fits, made, named
from bench.sanitize.jobs import jobs
from tilewright.catalog import STENCILS
from tilewright.model import DTYPES, Config, Device, GroupedProblem, Problem
from tilewright.space import HARDWARE
from tilewright.stencils.cuda.grouped import stencil as grouped
from tilewright.stencils.protocol import Stencil
from tilewright.targets.cuda import capability
from tilewright.tutorial import ladder

pytestmark = pytest.mark.pure

CUDA = {name: stencil for name, stencil in STENCILS.items() if stencil.target == "cuda"}


# ---- what is launched


class Made(NamedTuple):
    """What a job of a stencil was made of; rungs of the ladder have none of it."""

    stencil: Stencil
    problem: Problem
    config: Config


class Listed(NamedTuple):
    """All jobs for a device, and what those of stencils were made of, by name."""

    device: Device
    jobs: list[Job]
    made: dict[str, Made]


def watched(make: Callable[..., Job], kept: dict[str, Made]) -> Callable[..., Job]:
    """The same maker of jobs, which also keeps what it makes them of."""

    def keeping(stencil: Any, problem: Any, config: Any, name: str, *rest: Any, **more: Any) -> Job:
        kept[name] = Made(stencil, problem, config)
        return make(stencil, problem, config, name, *rest, **more)

    return keeping


NEEDS = {
    "whole": "bulk_copy",
    "single": "bulk_copy",
    "boxes": "wgmma",
    "experts": "wgmma",
    "warpgroup": "wgmma",
    "dmma": "wgmma",
    "ffma": "wgmma",
    "pairs": "wgmma",
    "unaligned": "wgmma",
}
"""What stencils need that not every device has."""


@pytest.fixture(scope="module", params=["h200", "a100"])
def listed(request: pytest.FixtureRequest) -> Listed:
    device = capability.named(request.param)
    kept: dict[str, Made] = {}
    with pytest.MonkeyPatch.context() as patch:
        for module in (chains, forms, groups, nests, small):
            patch.setattr(module, "made", watched(module.made, kept))
        return Listed(device, list(jobs(device)), kept)


def test_names_tell_jobs_apart(listed: Listed) -> None:
    (most,) = Counter(job.name for job in listed.jobs).most_common(1)
    assert most[1] == 1, most
    for job in listed.jobs:
        # One word of a log, and the name of the kernel in the program.
        assert re.fullmatch(r"[a-z]\w*", job.name)
        assert job.source.entry == job.name
        (entry,) = (before for before, now in job.source.defines if now == job.name)
        assert re.search(rf"__global__[^;{{]*\b{entry}\b", job.source.text), job.name


def test_every_stencil_and_every_rung_is_launched(listed: Listed) -> None:
    of = {name: [job for job in listed.jobs if job.stencil == name] for name in CUDA}
    for name, mine in of.items():
        if NEEDS.get(name, "ldg") not in listed.device.supports:
            assert not mine
            continue
        assert mine, f"{name} has no job"
        assert {listed.made[job.name].stencil.name for job in mine} == {name}
        # Each with a C that is read and with one that is not; of groups it never is.
        assert {job.problem.beta == "0" for job in mine} == ({True} if CUDA[name].segments else {False, True})
    rungs = [job for job in listed.jobs if job.name not in listed.made]
    steps = [
        (letter, rung)
        for letter, rungs_of in ladder.LADDERS.items()
        for rung in rungs_of
        if rung.missing(listed.device) is None
    ]
    assert {job.stencil for job in rungs} == {rung.name for _, rung in steps}
    assert len(rungs) + sum(map(len, of.values())) == len(listed.jobs)
    for letter, rung in steps:
        name = rung.name if letter == "s" else f"half_{letter}_{rung.name}"
        mine = [job for job in rungs if re.fullmatch(rf"{name}_\d+", job.name)]
        assert len(mine) == len(rung.configs), rung.name
        for job, config in zip(mine, rung.configs, strict=True):
            assert job.source.text == rung.source(config).text
            assert set(rung.source(config).defines) < set(job.source.defines)
            assert job.swapped
    assert len(rungs) == sum(len(rung.configs) for _, rung in steps)


def test_every_type_of_a_stencil_is_launched(listed: Listed) -> None:
    found: dict[str, set[str]] = {name: set() for name in CUDA}
    for stencil, problem, _ in listed.made.values():
        found[stencil.name].add(problem.dtype.letter)
    for kernel in ("tiny", "panel", "grouped", "chain", "segments", "interleaved"):
        assert found[kernel] == set(DTYPES), kernel
    assert found["tensor"] == {"h", "b", "hc", "d", "z"}
    types = {"single": {"s", "d", "c", "z"}, "whole": {"h", "b", "hc"}}
    types |= {
        "dmma": {"d", "z"},
        "ffma": {"s", "c"},
        "warpgroup": {"h", "b", "s"},
        "pairs": {"hc"},
        "experts": {"h", "b", "hc"},
    }
    for kernel, feature in NEEDS.items():
        served = types.get(kernel, {"h", "b"})
        assert found[kernel] == (served if feature in listed.device.supports else set())
    for kernel in ("classic", "middle"):
        assert found[kernel] == {"s", "d", "c", "z"}
    assert found["strips"] == {"s"}
    sizes = {
        (m.problem.dtype.letter, m.problem.m)
        for m in listed.made.values()
        if m.stencil is CUDA["tiny"] and m.problem.m == m.problem.n == m.problem.k
    }
    assert sizes >= {(letter, n) for letter in DTYPES for n in range(1, 41)}


def test_every_config_obeys_the_hardware(listed: Listed) -> None:
    for name, (stencil, problem, config) in listed.made.items():
        assert stencil.accepts(problem, listed.device) is None, name
        rules = stencil.space(problem, listed.device).why(config)
        broken = [rule.name for rule in rules if rule.kind in HARDWARE]
        assert not broken, f"{name}: {broken}"
    for job in listed.jobs:
        x, y, z = job.launch.block
        assert x * y * z <= listed.device["threads_per_block"], job.name
        assert job.launch.shared <= listed.device["shared_per_block_optin"], job.name
        assert min(job.launch.grid) > 0, job.name


def test_a_config_beyond_the_hardware_does_not_fit(listed: Listed) -> None:
    tensor = CUDA["tensor"]
    (problem,) = Problem.parse("h:nn:64x64x64@3", beta="0")
    default = tensor.default(problem, listed.device)
    assert fits(tensor, problem, default, listed.device)
    # What would come early is not read.
    assert not fits(tensor, problem, default.with_(early_c=1), listed.device)


def test_c_comes_early_where_it_is_read(listed: Listed) -> None:
    tensor = {name: m for name, m in listed.made.items() if m.stencil is CUDA["tensor"]}
    early = {name: m for name, m in tensor.items() if m.config["early_c"]}
    assert early.keys() == {name for name in tensor if name.endswith("_early")}
    assert {m.problem.dtype.letter for m in early.values()} == {"h", "b", "hc"}
    launched = {job.name: job for job in listed.jobs}
    for name, (_, problem, config) in early.items():
        assert problem.beta != "0", name
        defines = dict(launched[name].source.defines)
        assert defines["EARLY_C"] == "1"
        assert defines["BETA"] != "0"
        other = listed.made[name.removesuffix("_early")]
        assert other.problem == problem
        assert other.config == config.with_(early_c=0)


def test_operands_begin_as_oddly_as_they_may(listed: Listed) -> None:
    odd: Counter[str] = Counter()
    for job in listed.jobs:
        # What is promised of the addresses must hold.
        assert job.shift % job.problem.align == 0, job.name
        odd[job.stencil] += job.shift == job.problem.dtype.itemsize
    assert odd["tiny"]
    assert odd["tensor"]


def test_what_lists_add_up_to_is_exact_in_their_type(listed: Listed) -> None:
    mine = [m.problem for m in listed.made.values() if isinstance(m.problem, GroupedProblem)]
    assert mine
    for problem in mine:
        right = lists.drawn(problem).right()
        again = lists.wide(lists.stored(right, problem.dtype), problem.dtype)
        assert (again == right).all(), problem.key


# ---- lists


LISTS = [("d", "tn", "any"), ("s", "nt", "0"), ("z", "cn", "any"), ("c", "jc", "1"), ("hc", "tj", "any")]


def products(letter: str, trans: str, beta: str, count: int = 30) -> Any:
    alpha = "any" if beta == "any" else "1"
    return grouped.products(DTYPES[letter], 8, 8, 8, trans, count, alpha=alpha, beta=beta)


def operand(list_: lists.Drawn, which: int, number: int, row: int, column: int) -> complex:
    """An element of op(A), of op(B) or of C, of one product."""
    trans = (list_.problem.trans_a, list_.problem.trans_b, "n")[which]
    if trans in "tc":
        row, column = column, row
    at = list_.begins[which][number] + row + column * list_.leading[which][number]
    value = complex(list_.values[which][at])
    return value.conjugate() if trans in "cj" else value


@pytest.mark.parametrize(("letter", "trans", "beta"), LISTS)
def test_what_is_right_of_a_list(letter: str, trans: str, beta: str) -> None:
    list_ = lists.drawn(products(letter, trans, beta))
    want = list_.values[2].copy()
    for number, (m, n, k) in enumerate(zip(*list_.sizes, strict=True)):
        for column in range(n):
            for row in range(m):
                total = 0j
                for inner in range(k):
                    total += operand(list_, 0, number, row, inner) * operand(list_, 1, number, inner, column)
                total *= list_.alphas[number]
                total += list_.betas[number] * operand(list_, 2, number, row, column)
                want[list_.begins[2][number] + row + column * list_.leading[2][number]] = total
    before = list_.values[2].copy()
    assert (list_.right() == want).all()
    # What is given is not written to, and what is right is another.
    assert (list_.values[2] == before).all()
    assert (want != before).any()
    assert (want.imag != 0).any() == list_.problem.dtype.is_complex


@pytest.mark.parametrize(("letter", "trans", "beta"), LISTS)
def test_how_a_list_is_drawn(letter: str, trans: str, beta: str) -> None:
    p = products(letter, trans, beta, 60)
    list_ = lists.drawn(p)
    m, n, k = list_.sizes
    assert k[0] == 0
    assert min(m.min(), n.min(), k[1:].min()) >= 1
    assert (m.max(), n.max(), k.max()) <= (p.m, p.n, p.k)
    rows = (k if trans[0] in "tc" else m, n if trans[1] in "tc" else k, m)
    columns = (m if trans[0] in "tc" else k, k if trans[1] in "tc" else n, n)
    for which in range(3):
        begin, ld, values = list_.begins[which], list_.leading[which], list_.values[which]
        assert (ld >= np.maximum(1, rows[which])).all()
        # Some have gaps between their columns, and some have none.
        assert {bool(gap) for gap in ld - rows[which]} == {False, True}
        end = np.where(columns[which] > 0, begin + (columns[which] - 1) * ld + rows[which], begin)
        assert (begin[1:] >= end[:-1]).all(), "they overlap"
        assert begin[0] >= 1
        assert end[-1] == values.size, "an access beyond the last element would not be seen"
        assert set(values.real) | set(values.imag) == {-1, 0, 1}
        if not p.dtype.is_complex:
            assert not values.imag.any()
    assert set(list_.alphas) == ({1, -1} if beta == "any" else {1})
    assert set(list_.betas) == ({0, 1, -1} if beta == "any" else {int(beta)})
    again = lists.drawn(p)
    assert all((a == b).all() for a, b in zip(list_.values, again.values, strict=True))


def test_each_product_takes_its_own_scalars_and_begins() -> None:
    list_ = lists.drawn(products("z", "cn", "any"))
    moved, rows = list_.arguments((10_000, 20_000, 30_000))
    still, _ = list_.arguments((0, 0, 0))
    assert rows.shape == (30, 4)
    assert (rows[:, 0] == list_.alphas).all()
    assert (rows[:, 2] == list_.betas).all()
    assert not rows[:, 1::2].any()
    assert len(moved) == len(still) == 30
    assert (np.asarray(moved) != np.asarray(still)).any(axis=1).all()


@pytest.mark.parametrize("letter", list(DTYPES))
def test_numbers_are_stored_and_widened_again(letter: str) -> None:
    dtype = DTYPES[letter]
    values = np.array([0, 1, -1, 1, -1]) + 1j * np.array([1, 0, 0, -1, 1]) * dtype.is_complex
    held = lists.stored(values, dtype)
    assert held.dtype == dtype.numpy
    assert held.nbytes == 5 * dtype.itemsize
    assert (lists.wide(held, dtype) == values).all()


# ---- logs

NAMES = ["tiny_d_nn_3_0", "tiny_d_nn_3_0_early", "naive_1"]
CLEAN = {
    "memcheck": "========= ERROR SUMMARY: 0 errors\n",
    "racecheck": "========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)\n",
}
OUTSIDE = (
    "========= Invalid __global__ read of size 8 bytes\n"
    "=========     at tiny_d_nn_3_0_early+0x2d0\n"
    "=========     by thread (31,0,0) in block (4,0,0)\n"
    "=========     Access at 0x7f0000000400 is out of bounds\n"
    "=========     Saved host backtrace up to driver entry point at kernel launch time\n"
    "=========         Host Frame: cuLaunchKernel in libcuda.so.1\n"
    "=========\n"
)
RACE = (
    "========= Error: Race reported between Write access at tiny_d_nn_3_0(Gemm)+0x1b0\n"
    "=========     and Read access at tiny_d_nn_3_0(Gemm)+0x2f0 [64 hazards]\n"
    "========= \n"
)
FOUND = {
    "memcheck": (OUTSIDE, "========= ERROR SUMMARY: 1 error\n", NAMES[1]),
    "racecheck": (
        RACE,
        "========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)\n",
        NAMES[0],
    ),
}
TOOLS = list(FOUND)


def log_of(*parts: str, without: str = "", wrong: str = "") -> str:
    """A log: all kernels were launched but ``without``, all are right but ``wrong``; then these parts."""
    said = {name: "right" if name != wrong else "3 of 9 differ" for name in NAMES if name != without}
    launched = "".join(f"launched {name}: {result}\n" for name, result in said.items())
    return "========= COMPUTE-SANITIZER\n" + launched + "".join(parts)


@pytest.mark.parametrize("name", TOOLS)
def test_a_log_without_a_finding(name: str) -> None:
    log = log_of(CLEAN[name])
    assert tool.findings(log) == []
    assert tool.total(log) == 0
    assert results(log) == dict.fromkeys(NAMES, "right")
    # What the child itself prints is nothing that the tool says.
    assert tool.findings("Invalid __global__ read\n    at naive_1+0x10\n") == []
    ended = "========= Target application returned an error\n========= Error: process is gone\n"
    assert tool.findings(ended) == []


@pytest.mark.parametrize("name", TOOLS)
def test_a_log_with_a_finding(name: str) -> None:
    finding, end, where = FOUND[name]
    log = log_of(finding, end)
    (one,) = tool.findings(log)
    assert one[0] == finding.splitlines()[0].removeprefix("========= ")
    assert len(one) == len(finding.splitlines()) - 1
    assert not any(line.startswith(("=", " ")) for line in one)
    # Not the kernel whose name only begins alike, in whichever order they are asked.
    assert tool.owner(one, NAMES) == tool.owner(one, NAMES[::-1]) == where
    assert tool.owner(one, ["naive_1"]) == tool.owner([], NAMES) == ""
    assert tool.total(log) == 1
    twice = log_of(finding, "launched naive_2: right\n", finding, end.replace(" 1 ", " 2 ", 1))
    assert tool.findings(twice) == [one, one]
    assert tool.total(twice) == 2
    # An empty line has ended it.
    assert tool.findings(log_of(finding, "=========     no line of it\n", end)) == [one]


@pytest.mark.parametrize("name", TOOLS)
def test_a_log_that_was_cut_short(name: str) -> None:
    finding, _, where = FOUND[name]
    two_lines = "".join(finding.splitlines(keepends=True)[:2])
    log = log_of(finding, two_lines, "\nstopped after 5 s\n", without="naive_1")
    whole, begun = tool.findings(log)
    assert begun == whole[:2]
    assert tool.owner(begun, NAMES) == where
    assert tool.total(log) is None
    assert results(log).keys() == set(NAMES[:2])
    # Nothing found so far is not the same as nothing found.
    assert tool.total(log_of()) is None


# ---- the report

Told = Callable[..., tuple[int, list[lines.Line], str, str]]


@pytest.fixture(scope="module")
def asked() -> list[Job]:
    """Jobs by the names of the logs."""
    device, tiny, rung = capability.named("h200"), CUDA["tiny"], ladder.LADDERS["s"][0]
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
