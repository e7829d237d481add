"""A machine whose GPU is this processor, for groups on the device.

The launcher does in NumPy, on host memory, what the kernel would do with its argument block.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

from tilewright.arrays import backend as lookup
from tilewright.arrays import dlpack
from tilewright.calls import settings
from tilewright.calls.segments import clamped
from tilewright.catalog import STENCILS
from tilewright.dtypes import COMPLEX_HALF, widened
from tilewright.model import Binary, Config, Device, Kernel, Launch, SegmentedProblem
from tilewright.runtime import build
from tilewright.stencils.cuda.segments.needs import aligned
from tilewright.stencils.cuda.segments.stencil import SegmentsStencil, struct_segments
from tilewright.targets.cuda import capability, devices, driver
from tilewright.targets.cuda.arguments import Pointer, laid

SEGMENTS = SegmentsStencil()

H200, A100, FERMI = (capability.named(key) for key in ("h200", "a100", "fermi-s2050"))


class Bare:
    """An array of no library on a GPU, with memory of NumPy's."""

    def __init__(self, array: np.ndarray):
        self.array = array
        self.__cuda_array_interface__ = {
            "data": (array.__array_interface__["data"][0], not array.flags.writeable),
            "shape": array.shape,
            "strides": array.strides,
            "typestr": array.dtype.str,
            "version": 3,
            "stream": None,
        }


def memory(address: int, shape: Sequence[int], steps: Sequence[int], dtype: np.dtype) -> np.ndarray:
    """Host memory as an array; strides in elements."""

    class Interface:
        __array_interface__ = {  # noqa: RUF012
            "data": (address, False),
            "shape": (1,),
            "strides": None,
            "typestr": dtype.str,
            "version": 3,
        }

    # The type string of a record says its size alone.
    return as_strided(
        np.asarray(Interface()).view(dtype), tuple(shape), [step * dtype.itemsize for step in steps]
    )


def compute(p: SegmentedProblem, block: bytes) -> None:
    """What the kernel does with its argument."""
    said: dict[str, int] = {}
    for each in laid(struct_segments(p))[0]:
        code = "Q" if isinstance(each.field, Pointer) else each.field.format
        (said[each.field.name],) = struct.unpack_from("<" + code, block, each.offset)
    dtype, (m, n, k) = p.dtype.numpy, (said[name] for name in "mnk")
    stacked = {"m": "b", "n": "a", "k": "c"}[p.axis]

    def operand(name: str, rows: int, columns: int, transposed: bool, conj: bool) -> np.ndarray:
        # All addresses and strides that wide accesses go by are as aligned as the problem says.
        assert said[name] % min(p.align, aligned(p)["abc".index(name)]) == 0
        count = said["groups"] if name == stacked else 1
        steps = (1, said[f"ld{name}"])
        found = memory(
            said[name],
            (said["batch"], count, rows, columns),
            (said[f"stride_{name}"], said[f"group_{name}"], *(steps[::-1] if transposed else steps)),
            dtype,
        )
        wide = found if name == "c" else widened(found)
        return wide.conj() if conj else wide

    def put(target: np.ndarray, product: np.ndarray) -> None:
        if dtype == COMPLEX_HALF:
            target["re"], target["im"] = product.real, product.imag
        else:
            target[...] = product

    a = operand("a", m, k, p.transposed_a, p.conj_a)
    b = operand("b", k, n, p.transposed_b, p.conj_b)
    c = operand("c", m, n, False, False)
    kind = np.dtype(np.int64 if said["wide"] else np.int32)
    ends = memory(said["offsets"], (said["groups"] + said["first"],), (1,), kind)
    if p.axis != "k":
        put(c, np.zeros(()))
    for group, (begin, end) in enumerate(clamped(ends, p.length, p.groups, bool(said["sizes"]))):
        here = slice(begin, end)
        if p.axis == "m":
            put(c[:, 0, here], a[:, 0, here] @ b[:, group])
        elif p.axis == "n":
            put(c[:, 0, :, here], a[:, group] @ b[:, 0, :, here])
        else:
            put(c[:, group], a[:, 0, :, here] @ b[:, 0, here])


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[SegmentedProblem]]:
    """A machine whose GPU is this processor; the problems that were launched."""
    log: list[SegmentedProblem] = []

    class Launcher:
        def __init__(self, kernel: Kernel, launch: Launch, block: bytearray):
            self.problem, self.block = kernel.owner, block

        def __call__(self, stream: int = 0) -> None:
            log.append(self.problem)
            compute(self.problem, bytes(self.block))

    def kernel(stencil: str, problem: Any, config: Config, device: Device) -> Kernel:
        assert not [x for x in STENCILS[stencil].space(problem, device).why(config) if x.kind != "soft"]
        return Kernel(1, Binary(b"", stencil, ""), problem)

    monkeypatch.setattr(devices, "missing", lambda: None)
    monkeypatch.setattr(devices, "count", lambda: 1)
    monkeypatch.setattr(devices, "probe", lambda index=0: H200)
    monkeypatch.setattr(driver, "context", lambda index=0: 1)
    monkeypatch.setattr(driver, "current_device", lambda: 0)
    monkeypatch.setattr(driver, "Launcher", Launcher)
    monkeypatch.setattr(build, "kernel", kernel)
    monkeypatch.setattr(dlpack, "device_of", lambda address, name: 0)
    monkeypatch.setattr(lookup, "default_library", lambda: None)
    settings.forget()
    yield log
    settings.forget()
