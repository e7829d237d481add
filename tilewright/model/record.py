"""What came of a try."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tilewright.model.config import Config


@dataclass(frozen=True, slots=True)
class Verdict:
    """Right or wrong, and by how much: the worst componentwise error over its bound (1 is the limit)."""

    ok: bool
    error: float
    why: str = ""


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds for one pass over a batch: raw samples, their median and a 95 % interval of it."""

    samples: tuple[float, ...]
    median: float
    low: float
    high: float
    regime: str
    batch: int
    protocol: int


VENDOR = "vendor"
"""What a record of the library's product has for its stencil, and the origin of a plan that runs that."""
PREDICTED = "predicted"
"""The status of a record of which nothing was run: its ``seconds`` are cycles by LLVM's scheduling model at 1
GHz, and its ``detail`` says so. No question for what is right, or fast, is answered by one."""
STATUSES = ("ok", "rejected", "compile_failed", "spills", "wrong", "crashed", "timeout", PREDICTED)


@dataclass(frozen=True, slots=True)
class Record:
    """One try, good or bad, with all that is needed to judge it later."""

    problem: Any
    """A task (``task.Task``): of matrix products a ``Gemm``."""
    regime: str
    stencil: str
    config: Config
    status: str
    device: str
    toolchain: str
    source: str = ""
    seconds: float | None = None
    timing: Timing | None = None
    error: float | None = None
    detail: str = ""
    protocol: int = 0
    clocks: str = ""
    driver: str = ""
    when: str = ""
