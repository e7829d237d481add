"""Plans and kernels of several GPUs, without one."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tests.device_arrays import KERNEL, Bare
from tests.pretended import Log
from tests.products import filled
from tilewright.arrays import dlpack
from tilewright.model import Binary, Device, Kernel, Source
from tilewright.runtime import bound_cuda
from tilewright.store.records import Records
from tilewright.targets.cuda import capability, devices, driver, modules, nvrtc

pytestmark = pytest.mark.pure


@dataclass
class Made:
    """Architectures that were compiled for, and the GPU that each kernel was loaded on."""

    compiled: list[str] = field(default_factory=list)
    loaded: list[tuple[str, int]] = field(default_factory=list)


MODELS = ("h200", "a100")


@pytest.fixture
def two_gpus(gpu: Log, new_home: Any, monkeypatch: pytest.MonkeyPatch) -> Made:
    """An H200 and an A100; compiling and loading take notes only."""
    made = Made()

    def compiled(source: Source, device: Device) -> Binary:
        made.compiled.append(device.features)
        return Binary(device.features.encode(), source.entry, source.digest)

    def load(binary: Binary) -> Kernel:
        made.loaded.append((binary.code.decode(), driver.current_device()))
        return Kernel(1, binary)

    monkeypatch.setattr(devices, "count", lambda: 2)
    monkeypatch.setattr(
        devices, "probe", lambda index=0: replace(capability.named(MODELS[index]), index=index)
    )
    monkeypatch.setattr(nvrtc, "toolchain", lambda: "nvrtc 0")
    monkeypatch.setattr(nvrtc, "compile", compiled)
    monkeypatch.setattr(modules, "load", load)
    monkeypatch.setattr(bound_cuda.build, "kernel", KERNEL)
    monkeypatch.setattr(gpu, "computes", False)
    bound_cuda._elsewhere.cache_clear()
    return made


def on(monkeypatch: pytest.MonkeyPatch, index: int) -> None:
    """Arrays lie on a GPU, and it is current."""
    monkeypatch.setattr(dlpack, "device_of", lambda address, name: index)
    monkeypatch.setattr(driver, "current_device", lambda: index)


def test_each_gpu_has_its_own_plans_and_kernels(
    gpu: Log, two_gpus: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    best = Records.best

    def noted(self: Records, key: str, kind: str, device: str, **options: Any) -> Any:
        asked.append(device)
        return best(self, key, kind, device, **options)

    monkeypatch.setattr(Records, "best", noted)
    x = Bare(filled((8, 8)))
    for index in (0, 1, 0):
        on(monkeypatch, index)
        tw.matmul(x, x, out=Bare(np.zeros((8, 8))))
    # Others are asked after them, for they may be alike.
    own = [name for name in map(capability.canonical, asked) if name in MODELS]
    assert list(dict.fromkeys(own)) == list(MODELS)
    assert two_gpus.compiled == ["sm_90a", "sm_80"]
    assert two_gpus.loaded == [("sm_90a", 0), ("sm_80", 1)]
    for index in (0, 1):
        on(monkeypatch, index)
        made = tw.plan(x, x, out=Bare(np.zeros((8, 8))))
        assert (made.plan.device.key, made.plan.device.index) == (MODELS[index], index)
        assert f"GPU {index}" in made.explain()


def test_a_product_of_nothing_is_planned_where_its_arrays_lie(
    gpu: Log, two_gpus: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    on(monkeypatch, 1)
    empty = Bare(np.zeros((0, 4)))
    assert tw.plan(empty, Bare(np.zeros((4, 4))), out=empty).plan.device.key == "a100"


def test_alike_gpus_share_what_is_looked_up() -> None:
    one, other = (replace(capability.named("h200"), index=i, uuid=f"GPU-{i}") for i in (0, 1))
    assert one == other
    assert hash(one) == hash(other)
    assert one != capability.named("a100")


def test_a_gpu_is_named_as_nvidias_tools_name_it(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = SimpleNamespace(bytes=bytes(range(16)))
    monkeypatch.setattr(devices, "bindings", lambda: SimpleNamespace(cuDeviceGetUuid=lambda handle: (0, raw)))
    assert devices._uuid(7) == "GPU-00010203-0405-0607-0809-0a0b0c0d0e0f"
    monkeypatch.setattr(
        devices, "bindings", lambda: SimpleNamespace(cuDeviceGetUuid=lambda handle: (999, raw))
    )
    assert devices._uuid(7) == ""
