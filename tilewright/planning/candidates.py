"""Which stencils a problem may be given to: those of the device's kind, and which of them accept it there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tilewright.catalog import of_target
from tilewright.model import Device, Gemm
from tilewright.stencils.protocol import Stencil, refused


def of(device: Device) -> dict[str, Stencil]:
    """The stencils that write for a device's kind."""
    return of_target(device.kind)


def refusal(stencil: Stencil, problem: Gemm, device: Device) -> str | None:
    """Why a stencil's kernel cannot serve a problem here; None when it can.

    A stencil may accept problems on devices whose space can only be counted: it says so by ``runs``.
    """
    return refused(stencil, problem, device) or stencil.runs(device)


def accepting(problem: Any, device: Device) -> Iterator[str]:
    """The stencils that accept a problem, in the order of the catalog."""
    known = of(device).items()
    return (name for name, stencil in known if refusal(stencil, problem, device) is None)


def stranger(problem: Gemm, device: Device) -> bool:
    """Whether no stencil of the device's kind accepts a problem."""
    return all(refusal(stencil, problem, device) for stencil in of(device).values())


def serves(problem: Gemm, device: Device, stencil: str | None) -> bool:
    """Whether this stencil, or with None any of the device's kind, accepts a problem."""
    known = of(device)
    some = known if stencil is None else {stencil: known[stencil]} if stencil in known else {}
    return any(refusal(one, problem, device) is None for one in some.values())
