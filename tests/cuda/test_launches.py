"""Kernels of several parameters on a live GPU, and tensor maps that follow the address of a call."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests import tma
from tilewright.errors import ArgumentError
from tilewright.runtime import fastcall_cuda
from tilewright.targets.cuda import devices, driver, modules, nvrtc, tensormap
from tilewright.targets.cuda.arguments import Scalar, TensorMap
from tilewright.targets.cuda.binding import Binding

pytestmark = [
    pytest.mark.cuda,
    pytest.mark.skipif(devices.missing() is not None, reason=str(devices.missing())),
]

ROWS, COLUMNS = 40, 100
FIELD = TensorMap("map", 0, "float32", (1024, 512), (4096,), (32, 16), swizzle=128, promotion=256)


@pytest.fixture
def copier() -> Binding:
    if devices.probe()["capability"] < 90:
        pytest.skip("tensor maps came with compute capability 9.0")
    driver.context()
    kernel = modules.load(nvrtc.compile(tma.SOURCE, devices.probe()))
    return Binding(kernel, tma.launch(ROWS, COLUMNS), tma.arguments(ROWS, COLUMNS), {"factor": 2.0})


def test_the_driver_writes_the_address_as_one_word_of_a_map(copier: Binding) -> None:
    """What patching relies on, and sees for itself: where this fails, calls encode every map again."""
    words = tensormap.encode(FIELD, 1 << 33)
    assert tensormap.address_at(words, 1 << 33) is not None
    assert copier.words is not None
    assert {word.mask for word in copier.words} == {0, 15}


@pytest.mark.parametrize(
    "field",
    [
        FIELD,
        TensorMap("map", 0, "bfloat16", (64, 64, 3), (128, 8192), (64, 8, 1), swizzle=128),
        TensorMap("map", 0, "uint8", (256,), (), (64,)),
        TensorMap("map", 0, "float64", (33, 7), (272,), (8, 4), nan=True),
    ],
)
def test_a_map_with_another_address_is_the_map_of_that_address(copier: Binding, field: TensorMap) -> None:
    first, second = (driver.allocate(1 << 22) for _ in range(2))
    words = tensormap.encode(field, first.address)
    want = tensormap.encode(field, second.address)
    assert tensormap.replace(words, second.address) == want
    prepared, at = tensormap.prepared(field)
    assert tensormap.replace(prepared, second.address) == want
    if at is not None:
        patched = bytearray(prepared)
        patched[at : at + 8] = second.address.to_bytes(8, "little")
        assert bytes(patched) == want


@pytest.mark.parametrize("way", ["compiled", "python", "encoded"])
def test_a_map_follows_the_address_of_the_call(copier: Binding, way: str) -> None:
    start = starting(copier, way)
    wide, high = tma.boxes(ROWS, COLUMNS)
    shape = high * tma.ROWS, wide * tma.COLUMNS
    made = []
    for seed in (1, 2):
        host = np.random.default_rng(seed).standard_normal((ROWS, COLUMNS), np.float32)
        source, to = driver.allocate(host.nbytes + 512), driver.allocate(4 * shape[0] * shape[1])
        # Not where the allocation begins, but for the first.
        at = source.address + 256 * (seed - 1)
        driver.upload(at, host)
        driver.fill(to.address, to.size, 0xFF)
        start(at, 0, to.address, 0)
        made.append((host, source, to))
    driver.synchronize()
    for host, _, to in made:
        got = np.empty(shape, np.float32)
        driver.download(got, to.address)
        want = np.zeros(shape, np.float32)
        want[:ROWS, :COLUMNS] = 2 * host
        np.testing.assert_array_equal(got, want)


def starting(copier: Binding, way: str) -> Callable[[int, int, int, int], object]:
    """``start(a, b, out, stream)`` by the compiled program, by Python, or by Python that encodes the map each
    time."""

    def python(a: int, b: int, out: int, stream: int) -> None:
        copier.put((a, b, out))(stream)

    if way == "compiled":
        if copier.words is None:
            pytest.skip("this driver does not keep the address as one word")
        found = fastcall_cuda.starting(copier.launcher, copier.words, python)
        assert found is not None
        return found
    if way == "encoded":
        patches = copier.packed.patches
        copier._maps = [
            (patch.offset, patch.field) for patch in patches if isinstance(patch.field, TensorMap)
        ]
        copier._words = [word for word in copier._words if not word.mask]
    return python


def test_an_address_that_no_map_can_have_is_refused(copier: Binding) -> None:
    memory = driver.allocate(1 << 16)
    with pytest.raises(ArgumentError, match="multiples of 16 bytes"):
        copier.put((memory.address + 8, 0, memory.address))


def test_parameters_that_are_not_the_kernels_are_refused(copier: Binding) -> None:
    kernel = modules.load(nvrtc.compile(tma.SOURCE, devices.probe()))
    asked, described = tma.launch(ROWS, COLUMNS), tma.arguments(ROWS, COLUMNS)
    with pytest.raises(ArgumentError, match="parameter 1 of copy_boxes is given 8 bytes; accepted: 4"):
        Binding(kernel, asked, (described[0], Scalar("factor", "d", 2.0), described[2]))
    with pytest.raises(ArgumentError, match="copy_boxes is given 2 parameters"):
        Binding(kernel, asked, described[:2], {"factor": 2.0})
