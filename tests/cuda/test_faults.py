"""What a caller gets for arrays that no kernel takes, and what is left of a process after memory ran out.

Beside what ``test_api.py`` (types, mixed memory, several GPUs, sizes, alignment to elements) and
``test_tune.py`` (kernels that fault, hang or write beside C) hold.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright.errors import ArgumentError, DeviceError, DTypeError, TilewrightError
from tilewright.model import Problem
from tilewright.store.records import Records
from tilewright.targets.cuda import devices, driver
from tilewright.tuning.tuner import Tuner

pytestmark = [
    pytest.mark.cuda,
    pytest.mark.skipif(devices.missing() is not None, reason=str(devices.missing())),
]


@pytest.fixture
def torch() -> Any:
    module = pytest.importorskip("torch")
    if not module.cuda.is_available():
        pytest.skip("this PyTorch sees no GPU")
    return module


@pytest.fixture
def records(tmp_path: Path) -> Iterator[Records]:
    made = Records(tmp_path / "records.sqlite")
    yield made
    made.close()


def test_the_first_array_on_the_cpu_and_the_second_on_a_gpu(torch: Any) -> None:
    here, there = torch.ones(4, 4), torch.ones(4, 4, device="cuda")
    for run in (tw.matmul, tw.gemm, tw.plan):
        with pytest.raises(ArgumentError, match="a of type Tensor is not on a GPU, and b is"):
            run(here, there)
        with pytest.raises(ArgumentError, match="a of type ndarray is not on a GPU, and b is"):
            run(np.ones((4, 4), np.float32), there)
        with pytest.raises(ArgumentError, match="is not on a GPU, and out is"):
            run(here, here, out=there)


@pytest.mark.parametrize("name", ["int16", "int32", "bool"])
def test_types_that_gemm_has_no_kernel_for(torch: Any, name: str) -> None:
    a = torch.ones(4, 4, device="cuda").to(getattr(torch, name))
    with pytest.raises(DTypeError, match="accepted: float16, bfloat16, float32"):
        tw.gemm(a, a)


WITHIN = """
import torch
import tilewright as tw

class Moved:
    def __init__(self, array, count):
        self.array = array
        told = dict(array.__cuda_array_interface__)
        told |= {"data": (told["data"][0] + count, False), "shape": (8, 8), "strides": None}
        self.__cuda_array_interface__ = told | {"typestr": "<f4"}

a = torch.ones(8, 8, device="cuda")
memory = torch.zeros(8 * 8 * 4 + 16, dtype=torch.uint8, device="cuda")
for count in (1, 2):
    try:
        assert (tw.matmul(a, Moved(memory, count)) == 0).all()
    except (tw.TilewrightError, ValueError, TypeError) as error:
        print(error)
    torch.cuda.synchronize()
assert (tw.matmul(a, a) == 8).all()
"""


def test_an_address_within_an_element_does_no_harm(torch: Any) -> None:
    """An error or a copy, and the context lives on. In a process of its own, in case it does not."""
    made = subprocess.run([sys.executable, "-c", WITHIN], capture_output=True, text=True, timeout=120)
    assert made.returncode == 0, made.stderr[-2000:]


def test_a_tensor_that_begins_one_element_later(torch: Any) -> None:
    flat = torch.randn(1 + 33 * 20, device="cuda", dtype=torch.float64)
    a, b = flat[1:].view(33, 20), torch.randn(20, 17, device="cuda", dtype=torch.float64)
    assert a.data_ptr() % 16 == 8
    for _ in range(2):
        torch.testing.assert_close(tw.matmul(a, b), a @ b)


def test_no_room_for_a_result_leaves_all_as_it_was(torch: Any) -> None:
    order = 1_000_000
    tall, wide = torch.ones(order, 1, device="cuda"), torch.ones(1, order, device="cuda")
    for _ in range(2):
        with pytest.raises((torch.cuda.OutOfMemoryError, MemoryError, TilewrightError)):
            tw.matmul(tall, wide)
    torch.testing.assert_close(tw.matmul(wide, tall).item(), float(order))


def test_no_room_for_an_allocation_says_how_many_bytes() -> None:
    driver.context()
    size = 1 << 50
    with pytest.raises(DeviceError, match=rf"size={size}: .*\d+ of its \d+ are free"):
        driver.allocate(size)
    memory = driver.allocate(1 << 20)
    driver.fill(memory.address, 1 << 20, 0)
    driver.synchronize()


def test_tuning_without_room_names_the_bytes_and_the_tuner_goes_on(records: Records) -> None:
    (large,) = Problem.parse("s:nn:64x64x64@20000000")
    (small,) = Problem.parse("s:nn:256x256x256")
    with Tuner(devices.probe(), records, timeout=60.0) as tuner:
        for _ in range(2):
            with pytest.raises(TilewrightError, match=r"no room for its operands, \d+ bytes"):
                tuner.tune(large, "cached", search="sample", budget=2.0, stencils=("classic",))
        result = tuner.tune(small, "cached", search="sample", budget=2.0, stencils=("classic",))
    assert result.best is not None
    assert result.statuses["ok"] >= 1
    # Nothing is held against the problem that there was no room for.
    assert not [row for row in records.all() if row.problem.batch == large.batch]
    driver.context()
    driver.synchronize()
