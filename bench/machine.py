"""What the measurements need to know of this machine: cores, caches, names and versions."""

from __future__ import annotations

import os
import platform
import subprocess
import time
from functools import cache
from pathlib import Path

_HERE = Path(__file__).resolve().parent


def cores() -> list[int]:
    """The cores that this process may use, in order."""
    return sorted(os.sched_getaffinity(0))


def measured_core() -> int:
    """The one core that every peer is pinned to: the last, because the first serves most interrupts."""
    return cores()[-1]


def thread_environment(threads: int) -> dict[str, str]:
    """Variables that hold any thread pool to ``threads``; to be set before a library is loaded."""
    pools = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS")
    return dict.fromkeys(pools, str(threads)) | {
        "MKL_DYNAMIC": "FALSE",
        # Intel's OpenMP spins for 200 ms after a region, into the next peer's sample. Passes of one
        # sample follow each other within microseconds, so a shorter wait changes nothing in it.
        "KMP_BLOCKTIME": "5",
    }


def cache_bytes(level: int) -> int:
    """Bytes of the data cache of that level as the measured core sees it, 0 if there is none."""
    for index in Path(f"/sys/devices/system/cpu/cpu{measured_core()}/cache").glob("index*"):
        if (index / "type").read_text().strip() == "Instruction":
            continue
        if int((index / "level").read_text()) == level:
            text = (index / "size").read_text().strip()
            return int(text.rstrip("KMG")) << {"K": 10, "M": 20, "G": 30}.get(text[-1], 0)
    return 0


def last_level_cache_bytes() -> int:
    """Bytes of the largest cache level, 32 MiB if the system does not tell."""
    return max((cache_bytes(level) for level in (2, 3, 4)), default=0) or 32 << 20


def busy_cores(seconds: float = 0.2) -> float:
    """How many of the machine's cores other programs keep busy, seen while this one sleeps."""

    def worked() -> int:
        fields = [int(x) for x in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
        return sum(fields) - fields[3] - fields[4]

    before = worked()
    time.sleep(seconds)
    return (worked() - before) / os.sysconf("SC_CLK_TCK") / seconds


@cache
def processor() -> str:
    """The processor's model name with its family and model numbers (cloud machines hide the name)."""
    facts: dict[str, str] = {}
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        key, _, value = line.partition(":")
        facts.setdefault(key.strip(), value.strip())
    name = facts.get("model name") or platform.processor() or platform.machine()
    numbers = [f"{key} {facts[key]}" for key in ("cpu family", "model") if key in facts]
    return f"{name} ({', '.join(numbers)})" if numbers else name


@cache
def commit() -> str:
    """Short hash of the checked-out commit, with ``+`` if files differ from it; empty if unknown.

    A copy of the tree that holds no repository is told by whoever copied it, in ``BENCH_COMMIT``.
    """
    if told := os.environ.get("BENCH_COMMIT"):
        return told
    try:
        head = _git("rev-parse", "--short", "HEAD")
        return head + ("+" if _git("status", "--porcelain", "--untracked-files=no") else "")
    except (OSError, subprocess.CalledProcessError):
        return ""


@cache
def llvm() -> str:
    """LLVM's version as llvmlite has it, empty if llvmlite is not installed."""
    try:
        from llvmlite import binding
    except ImportError:
        return ""
    return ".".join(map(str, binding.llvm_version_info))


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=_HERE, capture_output=True, text=True, check=True)
    return done.stdout.strip()
