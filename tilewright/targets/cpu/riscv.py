"""What a RISC-V processor says of its vectors: which extensions it has, and how long its registers are.

LLVM asks the system for extensions where that can tell. Of the length, which a processor may choose, it knows
nothing: a register says it (``vlenb``), to whoever may use vectors at all.
"""

from __future__ import annotations

import ctypes
import re

import llvmlite.binding as llvm

LENGTHS = (128, 256, 512, 1024)
"""Bits of a vector register, as far as anything is made of them."""
_ASK = """
define i64 @vector_bytes() {
  %bytes = call i64 asm sideeffect "csrr $0, 0xc22", "=r"()
  ret i64 %bytes
}
"""


def extensions(cpuinfo: str, vector_bits: int) -> set[str]:
    """LLVM's names of the extensions in what Linux says of the first core, and of lengths to ``vector_bits``.

    Of a line such as ``isa : rv64imafdcv_zicsr_zvfhmin`` single letters stand before the first underscore.
    """
    found = re.search(r"^isa\s*:\s*rv64(\w+)$", cpuinfo, re.M)
    letters, *longer = found[1].split("_") if found else [""]
    names = {*letters, *longer}
    if "g" in names:
        names |= set("imafd")
    return names | {f"zvl{bits}b" for bits in LENGTHS if bits <= vector_bits}


def vector_bits() -> int:
    """Bits of a vector register of this machine, which must have vectors: without, it ends the process."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    llvm.initialize_native_asmparser()
    module = llvm.parse_assembly(_ASK)
    machine = llvm.Target.from_default_triple().create_target_machine(reloc="pic", jit=True)
    with llvm.create_mcjit_compiler(module, machine) as engine:
        engine.finalize_object()
        ask = ctypes.CFUNCTYPE(ctypes.c_int64)(engine.get_function_address("vector_bytes"))
        return 8 * int(ask())
