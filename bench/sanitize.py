"""Every CUDA kernel under NVIDIA's compute-sanitizer: ``python -m bench.sanitize --tool racecheck``.

A child process launches the universal stencil in all its forms, the defaults of the other stencils and all
configs of the ladder on a small and odd product, each with scalars that read C and with such that do not.
Operands fill their allocations to the last element, so an access beyond them is seen by the tool; what is
written between their columns, and wrong results, are seen by the project's own checks. Under ``initcheck``
a C that is not to be read is not initialised either.

Each kernel is compiled under a name of its own, by which findings go to cases. Exit code: 0 nothing found,
1 findings or wrong results, 2 nothing could be run.
"""

from __future__ import annotations

import argparse
import os
import pickle
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from bench import lines
from tilewright import ladder
from tilewright.catalog import STENCILS
from tilewright.errors import TilewrightError
from tilewright.model import Binary, Config, Device, Launch, Problem, Source
from tilewright.operands import Region, scalars
from tilewright.space import HARDWARE
from tilewright.stencils.cuda.call import pack
from tilewright.stencils.cuda.classic import READS
from tilewright.targets import cuda, driver
from tilewright.verify import Case, judge, prepare

TOOLS = ("memcheck", "racecheck", "synccheck", "initcheck")
SIZE = (67, 45, 37)
TRANS = {"s": ("nn", "tt"), "d": ("nt", "tn"), "c": ("nc", "cn"), "z": ("nn", "ct")}
PLAIN = {"read": "global", "split": 1, "early": 0, "mma": 0}
PAPER = (
    {"m_dim": 16, "n_dim": 16, "k_blk": 16, "m_blk": 96, "n_blk": 96}
    | {"m_dima": 16, "n_dima": 16, "m_dimb": 16, "n_dimb": 16}
    | {"wide": 1, "vec": 1, "lanes": 16, "buffers": 1, "order": 0, "min_blocks": 1}
    | PLAIN
)
SHOWN = 4
"""Findings of one kernel that are kept whole; the others are counted."""


@dataclass(frozen=True, slots=True)
class Job:
    """A kernel under its own name, and the product that it is launched on."""

    name: str
    problem: Problem
    launch: Launch
    source: Source
    swapped: bool = False
    """Row-major, as the ladder's: A and B, and m and n, change places in the argument."""


# ---- what is launched


def named(source: Source, name: str) -> Source:
    """The same program with another name for its kernel."""
    return replace(source, entry=name, defines=(*source.defines, (source.entry, name)))


def padded(spelling: str, size: tuple[int, int, int], unit: int, step: int, **fields: Any) -> Problem:
    """A problem of about this size: extents that are odd multiples of ``unit``, columns of ``step``."""
    m, n, k = (unit * (extent // unit | 1) for extent in size)
    (problem,) = Problem.parse(f"{spelling}:{m}x{n}x{k}", **fields)
    lda, ldb, ldc = (step * ((ld or 0) // step + 1) for ld in (problem.lda, problem.ldb, problem.ldc))
    return problem.with_(m=m, lda=lda, ldb=ldb, ldc=ldc)


def forms(large: Problem, device: Device) -> dict[str, Config]:
    """Configs of the universal stencil by name."""
    stencil = STENCILS["classic"]
    default = stencil.default(large, device)
    other = stencil.default(large.with_(m=64, n=64, k=64), device).with_(**PLAIN)
    paper = Config(PAPER)
    found = {
        "default": default,
        "small": other,
        "one_buffer": other.with_(buffers=1, order=2),
        "paper": paper,
        "early": other.with_(early=1),
        "split2": other.with_(split=2),
        "split4": paper.with_(split=4),
    }
    found |= {read: paper.with_(read=read) for read in READS[1:]}
    if large.dtype.real_bits == 64:
        tile = paper.with_(m_blk=64, n_blk=64, lanes=8, mma=1, vec=1 if large.dtype.is_complex else 2)
        found |= {"mma": tile.with_(buffers=2), "mma_split": tile.with_(split=2)}
    return found


def jobs(device: Device) -> Iterator[Job]:
    """Everything that is launched."""
    for letter, pairs in TRANS.items():
        for number, trans in enumerate(pairs):
            spelling = f"{letter}:{trans}"
            for stencil in STENCILS.values():
                if stencil.target == "cuda":
                    yield from _of_stencil(stencil, spelling, number, device)
    for rung in ladder.RUNGS:
        for number, config in enumerate(rung.configs):
            # Row-major C = A B is column-major C' = B' A'.
            problem = padded("s:nn", SIZE, 1, 1, alpha="any", beta="any" if number % 2 else "0")
            launch = rung.launch(config, problem.n, problem.m)
            name = f"{rung.name}_{number}"
            yield Job(name, problem, launch, named(rung.source(config), name), swapped=True)


def _of_stencil(stencil: Any, spelling: str, number: int, device: Device) -> Iterator[Job]:
    (large,) = Problem.parse(f"{spelling}:4096x4096x4096")
    configs: dict[str, Config | None] = {"default": None}
    if stencil.name == "classic":
        configs = dict(forms(large, device))
    for turn, (form, config) in enumerate(configs.items()):
        beta = "any" if form == "early" or (turn + number) % 2 else "0"
        fields = {"alpha": "any" if turn % 3 else "1", "beta": beta}
        for size, unit, step in (
            *((SIZE, wide, pitch) for wide in (1, 2, 4) for pitch in (wide, 32)),
            *(((8, 8, 8), 1, 1), ((4, 4, 4), 1, 1)),
        ):
            batch = 1 if form.startswith("tex") else 3
            problem = padded(spelling, size, unit, step, batch=batch, **fields)
            if stencil.accepts(problem, device) is not None:
                continue
            chosen = config or stencil.default(problem, device)
            if any(rule.kind in HARDWARE for rule in stencil.space(problem, device).why(chosen)):
                continue
            name = f"{stencil.name}_{spelling.replace(':', '_')}_{form}"
            source = named(stencil.source(problem, chosen, device), name)
            yield Job(name, problem, stencil.launch(problem, chosen), source)
            break


# ---- the child: launch and check


def _bytes(region: Region) -> slice:
    """The words of a region from the first to the last element of its matrices."""
    view = region.view
    per_element = view.itemsize // region.words.itemsize
    last = sum((extent - 1) * stride for extent, stride in zip(view.shape, view.strides, strict=True))
    first = region.origin * per_element
    return slice(first, first + (last // view.itemsize + 1) * per_element)


def launched(job: Job, binary: Binary, tool: str) -> str:
    """Launch once on fresh operands; what is wrong with the result, empty when nothing is."""
    p = job.problem
    ready = prepare(p, Case(p.batch), 1)
    regions = ready.operands.regions
    unread = tool == "initcheck" and p.beta == "0"
    memories = []
    for name, region in zip("ABC", regions, strict=True):
        part = region.words[_bytes(region)]
        memories.append(driver.allocate(part.nbytes))
        if not (unread and name == "C"):
            driver.upload(memories[-1].address, part)
    a, b, c = (memory.address for memory in memories)
    textures = _textures(job, (a, b))
    handles = (textures[0].handle, textures[1].handle) if textures else (0, 0)
    alpha, beta, _ = scalars(p)
    if job.swapped:
        block = ladder.pack(
            p.n, p.m, p.k, (b, a, c), (p.ldb or 0, p.lda or 0, p.ldc or 0), alpha.real, beta.real
        )
    else:
        block = pack(p, (a, b, c), alpha, beta, handles)
    driver.Launcher(cuda.load(binary), job.launch, block)(0)
    driver.synchronize()
    if unread:
        return ""
    for memory, region in zip(memories, regions, strict=True):
        part = np.empty_like(region.words[_bytes(region)])
        driver.download(part, memory.address)
        region.words[_bytes(region)] = part
    return judge(ready).why


def _textures(job: Job, pointers: tuple[int, int]) -> list[driver.Texture]:
    p, size = job.problem, job.problem.dtype.itemsize
    made = []
    stored = ((p.turned_a, p.lda or 0, p.m, p.k), (p.turned_b, p.ldb or 0, p.k, p.n))
    for address, (turned, ld, rows, cols) in zip(pointers, stored, strict=True):
        rows, cols = (cols, rows) if turned else (rows, cols)
        if job.launch.reading == "tex1d":
            made.append(driver.texture1d(address, ld * (cols - 1) + rows, size))
        elif job.launch.reading == "tex2d":
            made.append(driver.texture2d(address, rows, cols, ld * size, size))
    return made


def child(path: Path, tool: str) -> None:
    """Launch all that is in a file, a line for each: its name, and what is wrong with the result."""
    work: list[tuple[Job, Binary]] = pickle.loads(path.read_bytes())
    driver.context()
    for job, binary in work:
        try:
            why = launched(job, binary, tool)
        except TilewrightError as error:
            why = str(error)
        print(f"launched {job.name}: {why or 'right'}", flush=True)


# ---- the parent: the tool and its log


def find() -> str | None:
    """The tool: on PATH, or beside the compiler that CUDA_HOME or CUDA_PATH names."""
    found = shutil.which("compute-sanitizer")
    homes = [os.environ[name] for name in ("CUDA_HOME", "CUDA_PATH") if os.environ.get(name)]
    for home in (*homes, "/usr/local/cuda"):
        for inside in ("bin", "compute-sanitizer"):
            found = found or shutil.which("compute-sanitizer", path=str(Path(home) / inside))
    return found


_MARK = re.compile(r"^=+ ?")
_SAID = re.compile(
    r"COMPUTE-SANITIZER|SUMMARY|No issues found|^Launching|^Target application|were found|Error: process|"
    r"^Saved |not shown"
)


def findings(log: str) -> list[list[str]]:
    """Findings in a log, each as its lines without the mark at their beginning.

    The first line of a finding is not indented; an empty line ends it.
    """
    found: list[list[str]] = []
    inside = False
    for line in log.splitlines():
        if not line.startswith("====="):
            continue
        text = _MARK.sub("", line, count=1)
        if not text.strip():
            inside = False
        elif inside and text.startswith(" "):
            found[-1].append(text.strip())
        elif not text.startswith(" ") and not _SAID.search(text):
            found.append([text.strip()])
            inside = True
    return found


def total(log: str) -> int | None:
    """The number of findings that the tool itself states; None when it did not come to its end."""
    stated = re.findall(r"ERROR SUMMARY: (\d+) error|RACECHECK SUMMARY: (\d+) hazard", log)
    return sum(int(a or b) for a, b in stated) if stated else None


def owner(finding: Sequence[str], names: Sequence[str]) -> str:
    """The kernel that a finding speaks of; empty when it names none."""
    words = set(re.findall(r"\w+", " ".join(finding)))
    return next((name for name in names if name in words), "")


def run(sanitizer: str, tool: str, work: Sequence[tuple[Job, Binary]], patience: float) -> tuple[int, str]:
    """Exit code and log of the tool over a child."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "work"
        path.write_bytes(pickle.dumps(list(work)))
        command = [sanitizer, "--tool", tool, "--print-limit", "10000", "--error-exitcode", "9"]
        command += [sys.executable, "-m", "bench.sanitize", "--tool", tool, "--child", str(path)]
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
        ) as process:
            try:
                log, _ = process.communicate(timeout=patience)
            except subprocess.TimeoutExpired:
                # The tool's own child would go on, and on the device.
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, 9)
                log, _ = process.communicate()
                log += f"\nstopped after {patience:g} s\n"
            return process.returncode, log


def main() -> int:
    """Run the tool, say what it found, and keep it."""
    parser = argparse.ArgumentParser(
        prog="bench.sanitize", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tool", choices=TOOLS, default="memcheck")
    parser.add_argument("--only", default="", help="only kernels whose names contain this")
    parser.add_argument("--patience", type=float, default=540.0, help="seconds for all of it (default: 540)")
    parser.add_argument("--out", type=Path, help="lines of JSON are added to this file")
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child is not None:
        child(given.child, given.tool)
        return 0
    reason, sanitizer = cuda.missing(), find()
    if reason is not None:
        print(f"nothing can be launched: {reason}", file=sys.stderr)
        return 2
    if sanitizer is None:
        print(
            "compute-sanitizer is not on PATH, nor under CUDA_HOME; it comes with the CUDA toolkit",
            file=sys.stderr,
        )
        return 2
    device = cuda.probe()
    asked = [job for job in jobs(device) if given.only in job.name]
    with ThreadPoolExecutor(min(16, os.cpu_count() or 1)) as pool:
        binaries = pool.map(lambda job: cuda.compile(job.source, device), asked)
        work = list(zip(asked, binaries, strict=True))
    sink = lines.Sink(given.out, "sanitize", device, vars(given))
    code, log = run(sanitizer, given.tool, work, given.patience)

    results = dict(re.findall(r"^launched (\w+): (.*)$", log, re.MULTILINE))
    names = [job.name for job in asked]
    by_name: dict[str, list[list[str]]] = {}
    for finding in findings(log):
        by_name.setdefault(owner(finding, names), []).append(finding)
    for job in asked:
        mine = by_name.get(job.name, [])
        result = results.get(job.name, "not launched")
        sink.write(
            {"kind": "kernel", "name": job.name, "problem": job.problem.key, "tool": given.tool}
            | {"result": result, "findings": len(mine), "first": mine[:SHOWN]}
        )
        if mine or result != "right":
            print(f"{job.name} ({job.problem.spelling}): {result}, {len(mine)} findings")
            for finding in mine[:SHOWN]:
                print("    " + "\n        ".join(finding[:6]))
    rest = by_name.get("", [])
    for finding in rest[:SHOWN]:
        print("of no kernel: " + "\n        ".join(finding[:6]))
    wrong = [name for name in names if results.get(name) != "right"]
    stated = total(log)
    found = stated if stated is not None else sum(map(len, by_name.values()))
    summary = {"kind": "summary", "tool": given.tool, "kernels": len(names), "wrong": len(wrong)}
    summary |= {"findings": found, "finished": stated is not None, "exit_code": code, "unnamed": rest[:SHOWN]}
    sink.write(summary | {"date": lines.now()})
    print(f"{given.tool}: {len(names)} kernels, {found} findings, {len(wrong)} wrong or not launched")
    if stated is None or code not in (0, 9):
        print(log[-2000:], file=sys.stderr)
    return int(bool(found or by_name or wrong or code))


if __name__ == "__main__":
    sys.exit(main())
