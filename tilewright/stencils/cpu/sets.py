"""Which class writes the programs of a processor: what is common to all sets, or what its own adds."""

from __future__ import annotations

from tilewright.model import Device, DType
from tilewright.stencils.cpu.arm import Neon, Sve
from tilewright.stencils.cpu.bits import BitsIr, by_bits
from tilewright.stencils.cpu.ir import Ir, ordered, ways
from tilewright.stencils.cpu.power import Pairs, Power8, Power8Pairs, exchanges, reads_both_ways


def multiplies_stored(dtype: DType, device: Device) -> bool:
    """Whether a processor multiplies numbers of 16 bits as they are stored, exactly, and adds to float32 with
    one rounding: what widening both first comes to.

    Not with vectors of 128 bits, where instructions of NEON read four widened numbers of B at a time and this
    would take more of them (counted for h and b at 7, 8 and 16).
    """
    asked = {"h": "sve2", "b": "arm_bf16"}.get(dtype.letter, "")
    return {"sve", asked} <= device.supports and device["vector_bits"] > 128


def complex_slots(device: Device) -> int:
    """Multiply-adds in whose time a processor does a complex one."""
    return device.limits.get("complex_slots", 1)


def ir_of(dtype: DType, device: Device, keeps_order: bool = False) -> Ir:
    """An empty function for a processor. ``keeps_order``: in the order of ``ordered``, where it has one."""
    register = ordered(device) if keeps_order else ""
    if dtype.real_bits == 16 and by_bits(device):
        return BitsIr(dtype, register)
    if exchanges(device) and (keeps_order or not dtype.is_complex):
        # Of programs for complex numbers only those that keep an order read lanes as they come.
        kind = Power8Pairs if dtype.letter == "z" else Power8
        return kind(dtype, register, **ways(device))
    if reads_both_ways(dtype, device):
        return Pairs(dtype, register, **ways(device))
    if "sve" in device.supports:
        return Sve(dtype, register, device["vector_bits"], complex_slots(device) <= 1)
    if "fcma" in device.supports:
        return Neon(dtype, register)
    return Ir(dtype, register, **ways(device))
