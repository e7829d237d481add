"""Batches along several axes on a GPU: every matrix is found, nothing between them is touched, one launch."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tests.compile.test_nested import EIGHT, PAIRS, REUSE, STRUCTURES
from tests.emulator.nested import Batch
from tilewright.calls.product_plans import plan as planned
from tilewright.calls.spec import PLAIN
from tilewright.errors import ArgumentError
from tilewright.model import Config, Launch, Problem
from tilewright.runtime import launch
from tilewright.runtime.bound_cuda import Gpu
from tilewright.stencils.cuda.tiny.stencil import TinyStencil
from tilewright.targets.cuda import devices, driver, modules, nvrtc

pytestmark = [
    pytest.mark.cuda,
    pytest.mark.skipif(devices.missing() is not None, reason=devices.missing() or ""),
]

TINY = TinyStencil()


class Small(TinyStencil):
    """The same on few blocks, which have many groups each."""

    def __init__(self, grid: int):
        self.grid = grid

    def launch(self, problem: Problem, config: Config) -> Launch:
        return replace(super().launch(problem, config), grid=(self.grid, 1, 1))


def wrong(p: Problem, config: Any, grid: int = 0) -> str:
    """What is wrong after one launch on operands of the problem, in memory that holds nothing else; on so
    many blocks, where it says how many."""
    driver.context()
    batch = Batch.of(p)
    before = [part.segment.data.copy() for part in batch.parts]
    held = [driver.allocate(data.nbytes) for data in before]
    for memory, data in zip(held, before, strict=True):
        driver.upload(memory.address, data)
    starts = [m.address + x.start - x.segment.address for m, x in zip(held, batch.parts, strict=True)]
    device = devices.probe()
    kernel = modules.load(nvrtc.compile(TINY.source(p, config, device), device))
    stencil = Small(grid) if grid else TINY
    launch.bind(stencil, kernel, p, config, batch.scalars, starts)()
    driver.synchronize()
    for memory, part in zip(held, batch.parts, strict=True):
        driver.download(part.segment.data, memory.address)
    for part, data in zip(batch.parts, before, strict=True):
        writable = part.segment.writable
        assert writable is not None
        if (part.segment.data != data)[~writable].any():
            return f"{part.segment.name}: what is no element was written to"
    return batch.wrong()


@pytest.mark.parametrize("path", ["plain", "async", "bulk"])
@pytest.mark.parametrize("name", STRUCTURES)
def test_each_matrix_is_found(name: str, path: str) -> None:
    p, device = STRUCTURES[name], devices.probe()
    space = TINY.space(p, device).only(("tabled", "queryable", "hard")).restricted(path=path)
    for config in space.sample(4, len(name)):
        if config["rows"] * config["columns"] <= 64 or config["mma"]:
            assert wrong(p, config) == "", config


@pytest.mark.parametrize("name", [*EIGHT, *PAIRS])
def test_several_products_of_halves_are_found_together(name: str) -> None:
    p, own = (EIGHT | PAIRS)[name]
    device = devices.probe()
    space = TINY.space(p, device).only(("tabled", "queryable", "hard"))
    fixed = {"path": "bulk", "mma": 0, "rows": p.m, "columns": p.n} | own
    for config in space.restricted(**fixed).sample(4, len(name)):
        assert wrong(p, config) == "", config


@pytest.mark.parametrize("name", REUSE)
def test_what_two_groups_have_is_brought_once_with_reuse(name: str) -> None:
    p, _, own = REUSE[name]
    space = TINY.space(p, devices.probe()).only(("tabled", "queryable", "hard"))
    # None where a device has no bulk copies.
    for config in space.restricted(path="bulk", reuse=1, **{"mma": 0} | own).sample(4, len(name)):
        if config["rows"] * config["columns"] <= 64 or config["mma"]:
            for grid in (1, 5):
                assert wrong(p, config, grid) == "", config


def drawn(seed: int) -> Problem:
    """Axes in any order of memory, shared, with gaps and backwards."""
    draw = random.Random(seed)
    m, n, k = (draw.randrange(1, 18) for _ in range(3))
    text = f"{draw.choice('sdczh')}:{draw.choice(('nn', 'tn', 'nt'))}:{m}x{n}x{k}"
    extents = [draw.randrange(2, 9) for _ in range(draw.randrange(1, 5))] + [draw.choice((3, 16, 100))]
    steps = []
    for number, room in enumerate((m * k, k * n, m * n)):
        order, found = list(range(len(extents))), [0] * len(extents)
        # Half of them have the innermost axis of C innermost, too.
        draw.shuffle(order)
        order.sort(key=lambda axis: seed % 2 and axis == len(extents) - 1, reverse=True)
        for axis in order:
            if number == 2 or draw.random() < 0.7:
                found[axis] = room * draw.choice((1, 1, -1))
                room *= extents[axis] * draw.choice((1, 1, 1, 2))
        steps.append(found)
    axes = [(extent, *(each[axis] for each in steps)) for axis, extent in enumerate(extents)]
    batch, a, b, c = axes.pop()
    p = Problem.parse(f"{text}@{batch}", beta=draw.choice("01"))[0]
    align = draw.choice((16, p.dtype.itemsize))
    return p.with_(stride_a=a, stride_b=b, stride_c=c, outer=tuple(axes), align=align)


@pytest.mark.parametrize("seed", range(40))
def test_random_axes(seed: int) -> None:
    """By the default, and by a config drawn from all that the hardware takes."""
    p, device = drawn(seed), devices.probe()
    space = TINY.space(p, device)
    some = space.only(("tabled", "queryable", "hard")).restricted(path="bulk", mma=0, rows=1, columns=1)
    for config in (TINY.default(p, device), *some.sample(1, seed)):
        assert wrong(p, config) == "", (p, config)
        assert wrong(p, config, 3) == "", (p, config)


@pytest.mark.parametrize(
    ("first", "second", "launches"),
    [
        ((8, 1, 4, 4), (8, 500, 4, 4), 1),
        ((5, 1, 7, 6, 4), (9, 1, 4, 3), 1),
        ((40, 1, 70, 4), (3, 4, 2), 3),
    ],
)
def test_a_call_is_one_launch_where_a_kernel_knows_all_axes(
    first: tuple[int, ...], second: tuple[int, ...], launches: int
) -> None:
    torch: Any = pytest.importorskip("torch")
    a, b = (torch.randn(*shape, device="cuda", dtype=torch.float64) for shape in (first, second))
    want = torch.matmul(a, b)
    out = torch.empty_like(want)
    for _ in range(3):
        tw.matmul(a, b, out=out.fill_(np.nan))
        assert torch.allclose(out, want)
    place = Gpu.of({"a": a})
    assert place is not None
    with place.current():
        x, y, z = (place.view(value, "x")[0] for value in (a, b, out))
        bound = planned(place, PLAIN[False], x, y, z, fresh=True).bound
    if bound is not None:
        assert np.prod(bound.job.outer, dtype=int) == launches


class Backwards:
    """A tensor whose first axis is read from its end, as PyTorch itself has none."""

    def __init__(self, tensor: Any):
        self.tensor = tensor
        size = tensor.element_size()
        steps = [step * size for step in tensor.stride()]
        last = tensor.data_ptr() + (len(tensor) - 1) * steps[0]
        self.__cuda_array_interface__ = {
            "shape": tuple(tensor.shape),
            "strides": (-steps[0], *steps[1:]),
            "typestr": "<f8",
            "data": (last, False),
            "version": 3,
            "stream": None,
        }


@pytest.mark.parametrize("order", [4, 70])
def test_batches_that_run_backwards(order: int) -> None:
    """By a kernel, and where only the library multiplies, which takes no negative steps."""
    torch: Any = pytest.importorskip("torch")
    a, b = (torch.randn(6, 1, order, order, device="cuda", dtype=torch.float64) for _ in range(2))
    out = torch.empty(6, 3, order, order, device="cuda", dtype=torch.float64)
    tw.gemm(Backwards(a), b.expand(6, 3, order, order), out=Backwards(out))
    assert torch.allclose(out.flip(0), (a.flip(0) @ b).expand(6, 3, order, order))


def test_outputs_that_overlap_are_refused() -> None:
    torch: Any = pytest.importorskip("torch")
    a, b = torch.randn(4, 3, 2, 2, device="cuda"), torch.randn(3, 2, 2, device="cuda")
    out = torch.empty(3, 2, 2, device="cuda").expand(4, 3, 2, 2)
    with pytest.raises(ArgumentError, match="out"):
        tw.gemm(a, b, out=out)
