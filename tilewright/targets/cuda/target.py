"""NVIDIA GPUs as a target: CUDA C++, compiled by NVRTC in this process."""

from __future__ import annotations

from tilewright.model import Binary, Device, Kernel, Source
from tilewright.targets.cuda import devices, modules, nvrtc


class CudaTarget:
    """The GPUs of this machine, by the driver's numbers."""

    kind = "cuda"

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
