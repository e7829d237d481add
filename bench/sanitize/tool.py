"""compute-sanitizer: where it is, a run of it over a child, and what its log says."""

from __future__ import annotations

import os
import pickle
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from bench.sanitize.job import Job
from tilewright.model import Binary

TOOLS = ("memcheck", "racecheck", "synccheck", "initcheck")
FOUND = 9
"""Its exit code when it has found something."""


def find() -> str | None:
    """The tool: on PATH, or beside the compiler that CUDA_HOME or CUDA_PATH names."""
    found = shutil.which("compute-sanitizer")
    homes = [os.environ[name] for name in ("CUDA_HOME", "CUDA_PATH") if os.environ.get(name)]
    for home in (*homes, "/usr/local/cuda"):
        for inside in ("bin", "compute-sanitizer"):
            found = found or shutil.which("compute-sanitizer", path=str(Path(home) / inside))
    return found


def run(sanitizer: str, tool: str, work: Sequence[tuple[Job, Binary]], patience: float) -> tuple[int, str]:
    """Exit code and log of the tool over a child."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "work"
        path.write_bytes(pickle.dumps(list(work)))
        command = [sanitizer, "--tool", tool, "--print-limit", "10000", "--error-exitcode", str(FOUND)]
        if tool == "memcheck":
            # What the driver answers is looked at by the caller, who may ask for what is not there.
            command += ["--report-api-errors", "no"]
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


def owner(finding: Sequence[str], names: Sequence[str]) -> str:
    """The kernel that a finding speaks of; empty when it names none."""
    words = set(re.findall(r"\w+", " ".join(finding)))
    return next((name for name in names if name in words), "")


def total(log: str) -> int | None:
    """The number of findings that the tool itself states; None when it did not come to its end."""
    stated = re.findall(r"ERROR SUMMARY: (\d+) error|RACECHECK SUMMARY: (\d+) hazard", log)
    return sum(int(a or b) for a, b in stated) if stated else None
