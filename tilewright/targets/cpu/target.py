"""The processor as a target: LLVM IR, compiled in this process, and C by the machine's own compiler."""

from __future__ import annotations

from tilewright.model import Binary, Device, Kernel, Source
from tilewright.targets.cpu import llvm, processor
from tilewright.targets.protocol import Target


class CpuTarget(Target):
    """This machine's processor. There is one, whatever index is asked for."""

    kind = "cpu"

    def missing(self) -> str | None:
        return None

    def probe(self, index: int = 0) -> Device:
        return processor.probe()

    def toolchain(self) -> str:
        return llvm.toolchain()

    def other_toolchain(self) -> str:
        from tilewright.targets.cpu.cc import toolchain

        return toolchain()

    def compile(self, source: Source, device: Device) -> Binary:
        if source.language != "c":
            return llvm.compile(source, device)
        from tilewright.targets.cpu.cc import compile

        return compile(source, device)

    def load(self, binary: Binary) -> Kernel:
        return llvm.load(binary)
