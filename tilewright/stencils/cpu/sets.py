"""Which class writes the programs of a processor: what is common to all sets, or what its own adds to that."""

from __future__ import annotations

from tilewright.model import Device, DType
from tilewright.stencils.cpu.arm import Neon, Sve
from tilewright.stencils.cpu.ir import Ir, ordered


def complex_slots(device: Device) -> int:
    """Multiply-adds in whose time a processor does a complex one."""
    return device.limits.get("complex_slots", 1)


def ir_of(dtype: DType, device: Device, keeps_order: bool = False) -> Ir:
    """An empty function for a processor. ``keeps_order``: with the order of ``ordered``, where that has one."""
    register = ordered(device) if keeps_order else ""
    if "sve" in device.supports:
        return Sve(dtype, register, device["vector_bits"], complex_slots(device) <= 1)
    return Neon(dtype, register) if "fcma" in device.supports else Ir(dtype, register)
