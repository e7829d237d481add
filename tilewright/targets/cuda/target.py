"""NVIDIA GPUs as a target: CUDA C++, compiled by NVRTC in this process."""

from __future__ import annotations

from collections.abc import Mapping

from tilewright.model import Binary, Device, Kernel, Source
from tilewright.targets.cuda import capability, devices, modules, nvrtc
from tilewright.targets.protocol import Target


class CudaTarget(Target):
    """The GPUs of this machine, by the driver's numbers."""

    kind = "cuda"
    devices = capability.DEVICES

    def missing(self) -> str | None:
        return devices.missing()

    def probe(self, index: int = 0) -> Device:
        return devices.probe(index)

    def toolchain(self) -> str:
        return nvrtc.toolchain()

    def compile(self, source: Source, device: Device) -> Binary:
        return nvrtc.compile(source, device)

    def load(self, binary: Binary) -> Kernel:
        return modules.load(binary)

    def keys(self, key: str) -> tuple[str, ...]:
        return capability.keys(key)

    def canonical(self, key: str) -> str:
        return capability.canonical(key)

    def ceilings(self, device: Device) -> Mapping[str, float]:
        return capability.units(device)
