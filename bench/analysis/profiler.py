"""Nsight Compute: where it is, a run of it over a child that launches a kernel, and what it prints."""

from __future__ import annotations

import csv
import io
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from bench.analysis.child import LAUNCHES
from bench.lines import Line
from tilewright.errors import DeviceError
from tilewright.model import Problem
from tilewright.targets.cuda import disassemble

ROOT = Path(__file__).resolve().parents[2]
"""The folder in which ``python -m bench.analysis`` is found."""
METRICS = {
    "seconds": "gpu__time_duration.sum",
    "bytes_read": "dram__bytes_read.sum",
    "bytes_written": "dram__bytes_write.sum",
    "instructions": "smsp__inst_executed.sum",
    "tensor": "smsp__inst_executed_pipe_tensor.sum",
    "fp32": "smsp__sass_thread_inst_executed_op_fp32_pred_on.sum",
    "fp64": "smsp__sass_thread_inst_executed_op_fp64_pred_on.sum",
    "fp16": "smsp__sass_thread_inst_executed_op_fp16_pred_on.sum",
    "integer": "smsp__sass_thread_inst_executed_op_integer_pred_on.sum",
    "bit": "smsp__sass_thread_inst_executed_op_bit_pred_on.sum",
    "conversion": "smsp__sass_thread_inst_executed_op_conversion_pred_on.sum",
    "memory": "smsp__sass_thread_inst_executed_op_memory_pred_on.sum",
    "control": "smsp__sass_thread_inst_executed_op_control_pred_on.sum",
    "misc": "smsp__sass_thread_inst_executed_op_misc_pred_on.sum",
}
"""What is asked of Nsight Compute: seconds, bytes of device memory, instructions of warps, those of the
tensor units, and instructions of threads by class."""
_UNKNOWN = re.compile(r"[Ff]ailed to find metric (\S+)")
PATIENCE = 240.0
"""Seconds that ncu may take over one child."""


def find() -> str | None:
    """The path of Nsight Compute; None where it is not."""
    others = sorted(Path("/opt/nvidia/nsight-compute").glob("*"), reverse=True)
    places = (None, disassemble.TOOLKIT, *map(str, others))
    return next((found for place in places if (found := shutil.which("ncu", path=place))), None)


def profiled(problem: Problem) -> Line:
    """What Nsight Compute measures of a problem's kernel on this machine's GPU.

    Raises ``DeviceError`` with the reason where it measures nothing.
    """
    program = find()
    if program is None:
        raise DeviceError("Nsight Compute (ncu) is not here")
    wanted = list(METRICS.values())
    said = _asked(program, problem, wanted)
    if unknown := set(_UNKNOWN.findall(said)) & set(wanted):
        said = _asked(program, problem, [metric for metric in wanted if metric not in unknown])
    found = measured(said)
    if not found:
        errors = [line for line in said.splitlines() if "ERROR" in line or "rror:" in line]
        raise DeviceError(f"ncu measured nothing: {(errors or ['it says no reason'])[-1].strip()}")
    if found.get("seconds"):
        moved = found.get("bytes_read", 0.0) + found.get("bytes_written", 0.0)
        found["bytes_per_second"] = moved / found["seconds"]
        found["bytes_over_least"] = moved / (problem.bytes * problem.batch)
    return found


def _asked(program: str, problem: Problem, metrics: Sequence[str]) -> str:
    """What ncu prints of the last launch of a child."""
    command = [program, "--csv", "--print-units", "base", "--clock-control", "none"]
    command += ["--launch-skip", str(LAUNCHES - 1), "--launch-count", "1", "--metrics", ",".join(metrics)]
    command += [sys.executable, "-m", "bench.analysis", "--launch", problem.spelling, "--beta", problem.beta]
    try:
        done = subprocess.run(
            command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise DeviceError(f"ncu does not run: {error}") from error
    return f"{done.stdout}\n{done.stderr}"


def measured(text: str) -> Line:
    """The metrics in what ``ncu --csv --print-units base`` prints, by the names of ``METRICS``; a metric
    that a device does not have is left out."""
    start = text.find('"ID",')
    names = {metric: name for name, metric in METRICS.items()}
    found: Line = {}
    for row in csv.DictReader(io.StringIO(text[start:])) if start >= 0 else ():
        name = names.get(row.get("Metric Name") or "")
        try:
            value = float((row.get("Metric Value") or "").replace(",", ""))
        except ValueError:
            continue
        if name is not None:
            scale = 1e-9 if name == "seconds" and row.get("Metric Unit") in ("ns", "nsecond") else 1.0
            found[name] = value * scale
    return found
