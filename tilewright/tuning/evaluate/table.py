"""The evaluations by the kind of device."""

from __future__ import annotations

from tilewright.tuning.evaluate import Kind, cpu, cuda

EVALUATIONS: dict[str, Kind] = {"cpu": cpu.KIND, "cuda": cuda.KIND}
