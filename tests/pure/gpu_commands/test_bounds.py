"""Ceilings and bounds of GPUs as numbers, without one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from tests.pure.gpu_commands.asked import CEILINGS, H200, KNOWN, one
from tilewright.errors import ArgumentError, DeviceError
from tilewright.planning import roofline
from tilewright.targets.cuda import bindings, capability
from tilewright.tuning import ceilings_cuda

pytestmark = pytest.mark.pure


def test_units_are_lanes_times_clock() -> None:
    found = capability.units(H200)
    assert found["peak.s.1"] == found["peak.c.1"] == pytest.approx(66.9e12, rel=1e-3)
    assert found["peak.d.1"] == found["peak.z.1"] == pytest.approx(33.45e12, rel=1e-3)
    assert found["peak.h.1"] == found["peak.b.1"] == found["peak.hc.1"] == found["peak.s.1"]
    # 989.4 Tflop/s at the lower clock of the white paper's tensor units.
    assert (
        found["tensor.h.1"] == found["tensor.b.1"] == found["tensor.hc.1"] == pytest.approx(1070e12, rel=1e-2)
    )
    assert capability.units(capability.named("a100"))["tensor.h.1"] == pytest.approx(312e12, rel=1e-2)
    assert found["tensor.d.1"] == found["tensor.z.1"] == pytest.approx(66.9e12, rel=1e-3)
    assert capability.units(capability.named("a100"))["tensor.d.1"] == pytest.approx(19.5e12, rel=1e-2)
    assert not [name for name in capability.units(capability.named("b200")) if "tensor" in name]
    # Table 1 of the paper on the Fermi: 1030 and 515 Gflop/s.
    fermi = capability.units(capability.named("fermi-s2050"))
    assert fermi["peak.s.1"] == pytest.approx(1030e9, rel=1e-2)
    assert fermi["peak.d.1"] == pytest.approx(515e9, rel=1e-2)


def test_a_large_product_is_bound_by_the_units() -> None:
    for letter, limit, speed in (
        ("s", "peak", 66.9e12),
        ("c", "peak", 66.9e12),
        ("d", "tensor", 66.9e12),
        ("z", "tensor", 66.9e12),
    ):
        for regime in ("memory", "cached"):
            bound = roofline.bound(one(f"{letter}:nn:4096x4096x4096"), KNOWN, regime)
            assert bound.limit == limit
            assert bound.flops_per_s == pytest.approx(speed, rel=1e-3)
            assert bound.seconds == pytest.approx(one(f"{letter}:nn:4096x4096x4096").flops / speed, rel=1e-3)
    plain = replace(
        H200, ceilings={name: rate for name, rate in CEILINGS.items() if not name.startswith("tensor")}
    )
    assert roofline.bound(one("d:nn:4096x4096x4096"), plain, "memory").limit == "peak"


def test_a_small_product_is_bound_by_the_copy() -> None:
    n = 16
    product = one(f"d:nn:{n}x{n}x{n}@100000")
    bound = roofline.bound(product, KNOWN, "memory")
    assert bound.limit == "bandwidth.copy"
    assert bound.seconds == pytest.approx(3 * 8 * n * n / 4e12)
    assert bound.flops_per_s == pytest.approx(product.flops / bound.seconds)
    assert "4000.0 GB/s" in bound.formula
    for beta in ("1", "any"):
        update = roofline.bound(product.with_(beta=beta), KNOWN, "memory")
        assert update.seconds == pytest.approx(4 / 3 * bound.seconds)
    # Whatever a CPU's kernel may do with its stores.
    assert roofline.bound(product, KNOWN, "memory", 7, streaming=True) == bound
    # An operand of the whole batch is read once.
    shared = roofline.bound(product.with_(stride_b=0), KNOWN, "memory")
    assert shared.seconds == pytest.approx(2 / 3 * bound.seconds, rel=1e-4)
    assert roofline.bound(product, KNOWN, "cached").limit == "tensor"


def test_what_was_not_measured_is_named() -> None:
    with pytest.raises(DeviceError, match=r"tilewright doctor"):
        roofline.bound(one("s:nn:8x8x8@9"), H200, "cached")
    with pytest.raises(ArgumentError, match="regime='warm'"):
        roofline.bound(one("s:nn:8x8x8@9"), KNOWN, "warm")


class Gpu:
    """Stands for the driver: memory is a number, a copy takes as long as its bytes say."""

    def __init__(self, free: int, rate: float = 4e12):
        self.free, self.rate = free, rate
        self.told: list[tuple[int, int, int]] = []
        self.contexts: list[int] = []
        self.elapsed = 0.0

    def context(self, index: int = 0) -> int:
        self.contexts.append(index)
        return 1

    def allocate(self, size: int) -> Any:
        if size > self.free // 2:
            raise DeviceError(f"size={size}")
        return SimpleNamespace(address=4096 * (1 + len(self.told)), size=size)

    def fill(self, address: int, size: int, byte: int) -> None:
        assert size <= self.free // 2

    def bindings(self) -> Any:
        return SimpleNamespace(cuMemcpyDtoDAsync=self.copy)

    def copy(self, target: int, source: int, size: int, stream: int) -> tuple[int]:
        self.told.append((target, source, size))
        self.elapsed += 2 * size / self.rate
        return (0,)

    @property
    def Stopwatch(self) -> Any:
        def time(run: Callable[[], object], repeats: int, stream: int = 0) -> float:
            before = self.elapsed
            for _ in range(repeats):
                run()
            # Every ninth sample is disturbed.
            return (self.elapsed - before) * (3 if len(self.told) % 9 == 0 else 1)

        return lambda: SimpleNamespace(time=time)


@pytest.mark.parametrize(("free", "size"), [(1 << 34, 1 << 30), (600 << 20, 256 << 20)])
def test_a_copy_is_measured(free: int, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    gpu = Gpu(free)
    monkeypatch.setattr(ceilings_cuda, "driver", gpu)
    monkeypatch.setattr(bindings, "bindings", gpu.bindings)
    found = ceilings_cuda.measure(H200, 3)
    assert found.keys() == CEILINGS.keys()
    assert found["bandwidth.copy.1"] == pytest.approx(4e12)
    assert {told[2] for told in gpu.told} == {size}
    assert set(gpu.contexts) == {3}


def test_no_room_for_a_copy_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ceilings_cuda, "driver", Gpu(1 << 20))
    with pytest.raises(DeviceError, match="no room"):
        ceilings_cuda.measure(H200)
