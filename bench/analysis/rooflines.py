"""Rooflines: operations and bytes of a product, and the speed that a device allows."""

from __future__ import annotations

from dataclasses import dataclass

from bench.lines import Line
from tilewright.model import Device, Problem


@dataclass(frozen=True, slots=True)
class Roof:
    """Operations and bytes of one product, their ratio, and the speed in flop/s that it allows."""

    flops: int
    bytes: float
    flops_per_s: float
    limit: str

    @property
    def intensity(self) -> float:
        """Operations for each byte."""
        return self.flops / self.bytes


def interleaved_bytes(problem: Problem) -> int:
    """Bytes of one product whose complex numbers lie as (re, im) pairs: A and B read, C written, and read
    where beta is not 0, each once.

    A. Abdelfattah, S. Tomov, J. Dongarra (2020), section 6, with e bytes an element (4 of complex half):

        Q = e (mk + kn + mn)           beta = 0
        Q = e (mk + kn + 2mn)          beta != 0

    With m = n = k and beta != 0 that is 4 e n^2, and with 8 n^3 operations the intensity is n/2 for
    complex half; for float16 (2 n^3 operations, e = 2) it is n/4.
    """
    p = problem
    return p.dtype.itemsize * (p.m * p.k + p.k * p.n + (1 if p.beta == "0" else 2) * p.m * p.n)


def planar_bytes(problem: Problem) -> int:
    """Bytes of one product of complex numbers whose real and imaginary parts are matrices of their own.

    The same section: the product is four real ones of e/2 bytes an element,

        C.re = A.re B.re;   C.re -= A.im B.im;   C.im = A.re B.im;   C.im += A.im B.re,

    each of which reads its part of A and of B and writes its part of C. With beta != 0 all four read C,
    with beta = 0 only the second and the fourth:

        Q = e/2 (4 mk + 4 kn + 4 mn + 2 mn)        beta = 0
        Q = e/2 (4 mk + 4 kn + 4 mn + 4 mn)        beta != 0

    With m = n = k and beta != 0 that is 8 e n^2, twice the interleaved bytes for as many operations: an
    intensity of n/4 for complex half, which is that of float16.
    """
    p = problem
    reads = 2 if p.beta == "0" else 4
    return p.dtype.itemsize // 2 * (4 * (p.m * p.k + p.k * p.n + p.m * p.n) + reads * p.m * p.n)


def roof(problem: Problem, device: Device, moved: float) -> Roof:
    """The bound of a product that moves ``moved`` bytes: the copy, or the units of its type."""
    ceilings, letter = device.ceilings, problem.dtype.letter
    unit = "tensor" if f"tensor.{letter}.1" in ceilings else "peak"
    units = ceilings[f"{unit}.{letter}.1"]
    memory = problem.flops / moved * ceilings["bandwidth.copy.1"]
    if memory < units:
        return Roof(problem.flops, moved, memory, "bandwidth.copy")
    return Roof(problem.flops, moved, units, unit)


def rooflines(problem: Problem, device: Device) -> Line:
    """The roofline of a problem, and for complex types that of planes."""
    found = {"interleaved": roof(problem, device, interleaved_bytes(problem))}
    if problem.dtype.is_complex:
        found["planar"] = roof(problem, device, planar_bytes(problem))
    return {
        name: {
            "flops": one.flops,
            "bytes": one.bytes,
            "intensity": one.intensity,
            "bound_tflops": one.flops_per_s / 1e12,
            "bound_terabytes": one.flops_per_s / one.intensity / 1e12,
            "limit": one.limit,
        }
        for name, one in found.items()
    }
