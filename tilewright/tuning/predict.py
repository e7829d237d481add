"""What a kernel of a processor may need by LLVM's scheduling model of it, beside what its multiply-adds ask
for: for processors that are not here. Nothing is run, and nothing is said of memory."""

from __future__ import annotations

from dataclasses import dataclass

from tilewright.catalog import STENCILS
from tilewright.errors import CompileError
from tilewright.model import Config, Device, Problem
from tilewright.targets.cpu import cycles, llvm, trace


@dataclass(frozen=True, slots=True)
class Prediction:
    """One kernel on one processor, for one product of a batch that lies in cache.

    ``cycles``: by the scheduling model, of the whole product. ``instructions``, ``loads``, ``stores`` and
    ``multiply_adds`` (of vectors) are counted in what is executed. ``bound``: cycles that the fewest vector
    multiply-adds take which cover C column by column, where nothing else is asked of the model's units.
    ``inner``: the share of its multiply-adds' rate that the innermost loop reaches, that of the whole product
    where there is no loop in it. ``spills``: vectors that the code puts on the stack.
    """

    cycles: float
    instructions: float
    loads: float
    stores: float
    multiply_adds: float
    bound: float
    inner: float
    spills: int

    @property
    def share(self) -> float:
        """The bound over the cycles: 1 where nothing but multiply-adds sets the pace."""
        return self.bound / self.cycles


def vectors(problem: Problem, device: Device) -> int:
    """The fewest vector multiply-adds of a product whose vectors hold rows of one column each."""
    unit = 2 if problem.dtype.is_complex else 1
    lanes = device["vector_bits"] // problem.dtype.sum_bits
    return -(-problem.m * unit // lanes) * problem.n * problem.k * unit


def simulated(problem: Problem, device: Device, stencil: str, config: Config) -> tuple[float, int]:
    """Cycles of one product by the scheduling model, and the vectors that the code spills. Raises
    ``CompileError`` for what LLVM refuses or whose turns cannot be followed, ``DeviceError`` without
    ``llvm-mca``."""
    executed, spills = _executed(problem, device, stencil, config)
    unit = STENCILS[stencil].launch(problem, config).unit
    return cycles.cycles(executed.lines, device, executed.before) / unit, spills


def predicted(problem: Problem, device: Device, stencil: str, config: Config) -> Prediction:
    """All that can be said of a kernel without the processor. Raises as ``simulated``."""
    executed, spills = _executed(problem, device, stencil, config)
    unit = STENCILS[stencil].launch(problem, config).unit
    counted = cycles.counts(executed.lines, device)
    rate = cycles.rate(executed.lines, device, executed.before)
    every = cycles.cycles(executed.lines, device, executed.before)
    inner = vectors(problem, device) * unit / rate / every
    if executed.inner:
        once = cycles.counts(executed.inner, device).multiply_adds
        inner = once / rate / cycles.cycles(executed.inner, device, executed.inner_before)
    return Prediction(
        every / unit,
        counted.instructions / unit,
        counted.loads / unit,
        counted.stores / unit,
        counted.multiply_adds / unit,
        vectors(problem, device) / rate,
        inner,
        spills,
    )


def _executed(problem: Problem, device: Device, stencil: str, config: Config) -> tuple[trace.Trace, int]:
    source = STENCILS[stencil].source(problem, config, device)
    text = llvm.assembly(source, device)
    facts = llvm.facts_of(source, text, device)
    if facts["fma"] < facts["fma_expected"]:
        raise CompileError(f"{facts['fma']} multiply-adds of {facts['fma_expected']} are left in the code")
    # A loop that packs is not the innermost one of the products.
    found = trace.executed(source, text, weigh=lambda line: cycles.multiplies(line, device))
    return found, facts["spills"]
