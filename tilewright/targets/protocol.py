"""What every kind of processor can do: the only things that the rest asks of one."""

from __future__ import annotations

from typing import Protocol

from tilewright.model import Binary, Device, Kernel, Source


class Target(Protocol):
    """A kind of processor. It turns programs into code and says what there is; of GEMM it never hears."""

    kind: str

    def missing(self) -> str | None:
        """Why nothing can run on this kind here; None when it can."""

    def probe(self, index: int = 0) -> Device:
        """The device of that number as data. Raises ``DeviceError`` when there is none."""

    def toolchain(self) -> str:
        """Names and versions of all that decides what a program becomes."""

    def compile(self, source: Source, device: Device) -> Binary:
        """A program as code for a device, with the compiler's facts. Raises ``CompileError``."""

    def load(self, binary: Binary) -> Kernel:
        """Code in memory, ready to be launched. Raises ``CompileError`` for what cannot be linked."""
