"""A stencil's kernel on a batch along several axes, its operands anywhere that the strides say."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.emulator.machine import SCHEDULES, Schedule, launch
from tests.emulator.memory import Fault, Memory, Segment
from tests.emulator.products import LINE, compiled
from tilewright.catalog import STENCILS
from tilewright.model import Config, Device, Problem
from tilewright.targets.cuda import arguments

ALPHA, BETA = 2.0, 3.0


def places(p: Problem, which: int, rows: int, columns: int, ld: int) -> NDArray[np.int64]:
    """Offsets of all elements of operand number ``which``, in elements: (batch axes..., rows, columns)."""
    axes = [*((extent, steps[which]) for extent, *steps in p.outer), (p.batch, p.strides[which])]
    axes += [(rows, 1), (columns, ld)]
    out = np.zeros([extent for extent, _ in axes], np.int64)
    for number, (extent, step) in enumerate(axes):
        out += (np.arange(extent) * step).reshape(-1, *(1,) * (len(axes) - number - 1))
    return out


def memory_of(
    name: str, at: NDArray[np.int64], p: Problem, number: int, written: bool
) -> tuple[Segment, int]:
    """Memory that holds the elements at these offsets and nothing else that may be used, and the address of
    the element at 0. Numbers are small and whole, so that sums are exact; what lies between is NaN."""
    size, low = p.dtype.itemsize, int(at.min())
    # Element 0 is aligned as the problem says and no better.
    before = -(low * size) % 16 + (p.align if p.align < 16 else 0)
    data = np.full(-(-(before + (int(at.max()) - low + 1) * size) // LINE) * LINE, 0xFF, np.uint8)
    used = np.zeros(data.size, bool)
    first = before + (at.ravel() - low) * size
    bytes_of = (first[:, None] + np.arange(size)).ravel()
    drawn = np.random.default_rng(number).integers(-3, 4, (at.size, 2 if p.dtype.is_complex else 1))
    real = {16: np.float16, 32: np.float32, 64: np.float64}[p.dtype.real_bits]
    data[bytes_of] = drawn.astype(real).view(np.uint8).ravel()
    used[bytes_of] = True
    start = (1 << 50) + (1 << 40) * number
    return Segment(
        name, start, data, used, used if written else np.zeros_like(used)
    ), start + before - low * size


def elements(part: Segment, address: int, at: NDArray[np.int64], p: Problem) -> NDArray[Any]:
    """What the memory holds at these offsets, as complex128."""
    real = {16: np.float16, 32: np.float32, 64: np.float64}[p.dtype.real_bits]
    count = 2 if p.dtype.is_complex else 1
    first = address - part.address + at.ravel() * p.dtype.itemsize
    raw = part.data[first[:, None] + np.arange(p.dtype.itemsize)].reshape(-1).view(real).astype(np.float64)
    parts = raw.reshape(*at.shape, count)
    return np.asarray(parts[..., 0] + 1j * (parts[..., 1] if count == 2 else 0))


def nested_wrongs(
    stencil: str,
    p: Problem,
    config: Config,
    device: Device,
    *,
    schedule: Schedule = SCHEDULES[0],
    grid: int = 2,
) -> Iterator[str]:
    """What is wrong with the results of one launch on ``grid`` blocks, and whether anything was touched that
    is no element."""
    shapes = [(p.k, p.m) if p.transposed_a else (p.m, p.k), (p.n, p.k) if p.transposed_b else (p.k, p.n)]
    shapes.append((p.m, p.n))
    ats = [
        places(p, which, *shape, ld or 0)
        for which, (shape, ld) in enumerate(zip(shapes, (p.lda, p.ldb, p.ldc), strict=True))
    ]
    made = [
        memory_of(name, at, p, i, name == "C") for i, (name, at) in enumerate(zip("ABC", ats, strict=True))
    ]
    a, b, c = (elements(part, start, at, p) for (part, start), at in zip(made, ats, strict=True))
    a = a.swapaxes(-1, -2) if p.transposed_a else a
    b = b.swapaxes(-1, -2) if p.transposed_b else b
    alpha, beta = (ALPHA if p.alpha == "any" else 1.0), {"0": 0.0, "1": 1.0}.get(p.beta, BETA)
    expected = alpha * (a.conj() if p.conj_a else a) @ (b.conj() if p.conj_b else b)
    if beta:
        expected = expected + beta * c
    chosen = STENCILS[stencil]
    packed = arguments.pack(chosen.arguments(p, config), {"alpha": alpha, "beta": beta})
    packed.put([start for _, start in made])
    asked = chosen.launch(p, config)
    try:
        launch(
            compiled(chosen.source(p, config, device), device),
            (grid, 1, 1),
            asked.block[0],
            asked.shared,
            bytes(packed.block),
            Memory([part for part, _ in made]),
            schedule=schedule,
        )
    except Fault as fault:
        yield f"{p.key} {config} {schedule}: {fault}"
        return
    got = elements(made[2][0], made[2][1], ats[2], p)
    if not np.array_equal(got, expected):
        where = np.argwhere(got != expected)
        yield f"{p.key} {config} {schedule}: {len(where)} of {got.size} elements, the first at {where[0]}"
