"""The slips of all areas: a file an area, in it the rows of one file of the program beside each other."""

from __future__ import annotations

from bench.mutants.slip import Slip
from bench.mutants.slips import calls, cpu, kernels, launches, tuning

SLIPS: tuple[Slip, ...] = (*tuning.SLIPS, *calls.SLIPS, *cpu.SLIPS, *launches.SLIPS, *kernels.SLIPS)
