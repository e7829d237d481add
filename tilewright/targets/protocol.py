"""What every kind of processor can do: the only things that the rest asks of one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar

from tilewright.model import Binary, Device, Kernel, Source


class Target(ABC):
    """A kind of processor. It turns programs into code and says what there is; of GEMM it never hears."""

    kind: ClassVar[str]
    """What devices of this kind say that they are, and how ``catalog`` names it."""
    devices: ClassVar[Mapping[str, Device]] = {}
    """Devices that need not be there, by key: their spaces can be counted, and their kernels compiled."""

    @abstractmethod
    def missing(self) -> str | None:
        """Why nothing can run on this kind here; None when it can."""

    @abstractmethod
    def probe(self, index: int = 0) -> Device:
        """The device of that number as data. Raises ``DeviceError`` when there is none."""

    @abstractmethod
    def toolchain(self) -> str:
        """Names and versions of all that decides what a program becomes."""

    def other_toolchain(self) -> str:
        """The same of the compiler that takes sources in another language than the target's own, if any."""
        return ""

    @abstractmethod
    def compile(self, source: Source, device: Device) -> Binary:
        """A program as code for a device, with the compiler's facts. Raises ``CompileError``."""

    @abstractmethod
    def load(self, binary: Binary) -> Kernel:
        """Code in memory, ready to be launched. Raises ``CompileError`` for what cannot be linked."""

    def keys(self, key: str) -> tuple[str, ...]:
        """A device's key, and behind it those under which older versions filed its records."""
        return (key,)

    def canonical(self, key: str) -> str:
        """The one key of a device that has two."""
        return key

    def ceilings(self, device: Device) -> Mapping[str, float]:
        """What arithmetic units can do by a device's limits alone, by the names of ``Device.ceilings``."""
        return {}
