"""LLVM IR to machine code in memory, through llvmlite, with facts from its assembly.

A module is compiled as it stands, with no optimiser (see ``stencils/cpu/ir.py``), by LLVM's code generator at
its highest level, to assembly; the assembly says what the code cannot hide (spilled vectors, fused
multiply-adds), and is then assembled.
"""

from __future__ import annotations

import ctypes
import functools
import itertools
import platform
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import llvmlite
import llvmlite.binding as llvm

from tilewright import forks
from tilewright.errors import CompileError
from tilewright.model import Binary, Device, Kernel, Source
from tilewright.targets.cpu import listing, permission
from tilewright.targets.cpu.isa import ISAS


def compiler_lock() -> AbstractContextManager[Any]:
    """The lock that llvmlite takes around every call into LLVM; it may be taken again by its holder.

    Where a version of llvmlite keeps none, this is one that holds nobody back.
    """
    lock = getattr(llvm.ffi.lib, "_lock", None)
    return lock if isinstance(lock, AbstractContextManager) else nullcontext()


# A fork waits until no thread is within LLVM.
forks.wait_for("compiler", compiler_lock)


@functools.cache
def _target(arch: str) -> llvm.Target:
    """LLVM's back end for an architecture, initialised once."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    llvm.initialize_native_asmparser()
    triple = {"x86_64": "x86_64-unknown-linux-gnu", "aarch64": "aarch64-unknown-linux-gnu"}.get(
        arch, f"{arch}-unknown-linux-gnu"
    )
    return llvm.Target.from_triple(triple)


@functools.cache
def _machine(device: Device) -> llvm.TargetMachine:
    cpu, _, features = device.features.partition(" ")
    arch, _, cpu = cpu.partition("/")
    return _target(arch).create_target_machine(cpu=cpu, features=features, opt=3, reloc="pic", jit=True)


def toolchain() -> str:
    """The compiler behind this target, part of every cache key and record."""
    return f"llvm {'.'.join(map(str, llvm.llvm_version_info))} llvmlite {llvmlite.__version__}"


def parse(text: str) -> llvm.ModuleRef:
    """The verified module of a program. Raises ``CompileError`` with LLVM's message."""
    try:
        module = llvm.parse_assembly(text)
        module.verify()
    except RuntimeError as error:
        raise CompileError(f"LLVM refused the generated program: {error}") from error
    return module


def assembly(source: Source, device: Device) -> str:
    """The program as assembly with the compiler's comments. Raises ``CompileError``."""
    machine = _machine(device)
    machine.set_asm_verbosity(True)
    text: str = machine.emit_assembly(parse(source.text))
    return text


def compile(source: Source, device: Device) -> Binary:
    """Machine code for a source, assembled from the very text that its facts were read from.

    Facts: ``spills`` (vectors stored to the stack and read back), ``scalar_spills`` (the same of
    addresses and counters, mostly outside loops), ``fma`` (fused multiply-adds in the text), what the
    source expects of each (``fma_expected``), ``code_bytes``, and ``tiles`` (products of tile registers in
    the text) where there are any. Raises ``CompileError`` when LLVM
    refuses the program.
    """
    text = assembly(source, device)
    facts = facts_of(source, text, device)
    if _arch(device) != platform.machine():
        # The assembler that is there is this machine's, and for others LLVM would end the process.
        code = _machine(device).emit_object(parse(source.text))
        return Binary(code, source.entry, source.digest, facts | {"code_bytes": len(code)})
    escapes = str.maketrans({"\\": "\\5C", '"': "\\22", "\n": "\\0A", "\t": "\\09"})
    wrapped = f'target triple = "{_target(_arch(device)).triple}"\nmodule asm "{text.translate(escapes)}"\n'
    code = _machine(device).emit_object(parse(wrapped))
    return Binary(code, source.entry, source.digest, facts | {"code_bytes": len(code)})


def facts(source: Source, device: Device) -> dict[str, int]:
    """The facts of ``compile`` but for ``code_bytes``, of any processor that LLVM knows, without an object.
    Raises ``CompileError``."""
    return facts_of(source, assembly(source, device), device)


def facts_of(source: Source, text: str, device: Device) -> dict[str, int]:
    """The same of a source that was compiled: ``text`` is its assembly."""
    return {f"{name}_expected": value for name, value in source.expect} | _facts(text, device)


@functools.cache
def _static(features: str) -> llvm.TargetMachine:
    """A back end for objects that a linker takes, as libraries hold them."""
    arch, _, rest = features.partition("/")
    cpu, _, wanted = rest.partition(" ")
    machine = _target(arch).create_target_machine(
        cpu=cpu, features=wanted, opt=3, reloc="pic", codemodel="small"
    )
    machine.set_asm_verbosity(True)
    return machine


def library(programs: Mapping[str, Source], device: Device) -> tuple[bytes, dict[str, int]]:
    """One relocatable ELF object (position independent, hidden symbols) with a program under each name, and
    the facts of ``compile`` for all of them together.

    A program's functions are named by its entry and what follows it. Raises ``CompileError`` when LLVM
    refuses a program.
    """

    def linked() -> llvm.ModuleRef:
        whole = parse(f'target triple = "{_target(_arch(device)).triple}"\n')
        for name, source in programs.items():
            whole.link_in(parse(source.text.replace(f"@{source.entry}", f"@{name}")))
        for function in whole.functions:
            if not function.is_declaration:
                function.visibility = "hidden"
        return whole

    machine = _static(device.features)
    text = machine.emit_assembly(linked())
    # Generating code changes a module, so the object is made of another one.
    code = machine.emit_object(linked())
    expected = sum(value for source in programs.values() for name, value in source.expect if name == "fma")
    return code, {"fma_expected": expected} | _facts(text, device) | {"code_bytes": len(code)}


def _arch(device: Device) -> str:
    return device.features.partition("/")[0]


def _facts(text: str, device: Device) -> dict[str, int]:
    """What the comments and the mnemonics of an assembly listing say."""
    starts = next(isa.fma_text for isa in ISAS if isa.arch == _arch(device))
    operations = [line.split(None, 1)[0] for line in text.splitlines() if line.startswith("\t")]
    tiles = sum(operation.startswith("tdp") for operation in operations)
    vectors, scalars = listing.spills(text, _arch(device))
    return {
        "spills": vectors,
        "scalar_spills": scalars,
        "fma": sum(operation.startswith(starts) for operation in operations),
    } | ({"tiles": tiles} if tiles else {})


@functools.cache
def _jit() -> llvm.LLJIT:
    """The process's linker of objects. One for all: making one costs more than loading into it."""
    _target(platform.machine())
    return llvm.create_lljit_compiler()


_serial = itertools.count()


def load(binary: Binary) -> Kernel:
    """A binary in memory, callable at ``Kernel.address`` for as long as ``Kernel.owner`` lives.

    Raises ``CompileError`` when the binary cannot be linked or lacks its entry.
    """
    return load_entries(binary, (binary.entry,))[0]


def load_entries(
    binary: Binary, entries: tuple[str, ...], imports: Mapping[str, int] | None = None
) -> tuple[Kernel, dict[str, int]]:
    """``load`` for a binary with several entries, and the address of each. ``imports``: where names lie that
    it refers to and that are not global in this process."""
    if binary.entry not in entries:
        raise CompileError(f"the compiled object has no {', '.join(entries)}, but {binary.entry!r}")
    if "tiles" in binary.facts and not permission.tiles():
        raise CompileError("the compiled object uses tile registers, which the system does not allow here")
    # What C calls (memset, expf) is found among this process's own libraries.
    builder = llvm.JITLibraryBuilder().add_object_img(binary.code).add_current_process()
    for entry in entries:
        builder.export_symbol(entry)
    for name, address in (imports or {}).items():
        builder.import_symbol(name, address)
    try:
        library = builder.link(_jit(), f"{binary.digest}.{next(_serial)}")
    except RuntimeError as error:
        raise CompileError(f"the compiled object cannot be linked: {error}") from error
    addresses = {entry: library[entry] for entry in entries}
    return Kernel(addresses[binary.entry], binary, library), addresses


# The signature of every kernel, as ``stencils/cpu/ir.py`` writes it.
_ARGUMENTS = (*[ctypes.c_void_p] * 3, *[ctypes.c_longlong] * 4, ctypes.c_void_p)
PROTOTYPE = ctypes.CFUNCTYPE(None, *_ARGUMENTS)

_REPEAT = """
define void @repeat(ptr %kernel, i64 %times,
                    ptr %A, ptr %B, ptr %C, i64 %sa, i64 %sb, i64 %sc, i64 %n, ptr %s) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  call void %kernel(ptr %A, ptr %B, ptr %C, i64 %sa, i64 %sb, i64 %sc, i64 %n, ptr %s)
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %times
  br i1 %more, label %loop, label %done
done:
  ret void
}
"""


@functools.cache
def _repeat(device: Device) -> tuple[Kernel, Callable[..., None]]:
    kernel = load(compile(Source(_REPEAT, "repeat"), device))
    return kernel, ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_longlong, *_ARGUMENTS)(kernel.address)


def repeated(kernel: Kernel, times: int, arguments: tuple[int, ...], device: Device) -> Callable[[], None]:
    """A call that runs a kernel ``times`` times: from Python one call costs a microsecond, which a pass
    over a cached batch would show."""
    address, call = kernel.address, _repeat(device)[1]

    def run() -> None:
        call(address, times, *arguments)

    run.kernel = kernel  # type: ignore[attr-defined]  # the code lives as long as its owner
    return run
