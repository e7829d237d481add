"""The evaluations by the kind of device."""

from __future__ import annotations

from tilewright.tuning.evaluate import Kind, kind_cpu, kind_cuda

EVALUATIONS: dict[str, Kind] = {"cpu": kind_cpu.KIND, "cuda": kind_cuda.KIND}
