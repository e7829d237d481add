"""A stencil's kernel on a batch along several axes, its operands anywhere that the strides say."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.emulator.launch import launch
from tests.emulator.machine import SCHEDULES, Schedule
from tests.emulator.memory import Fault, Memory, Segment
from tests.emulator.products import LINE, compiled
from tilewright.catalog import STENCILS
from tilewright.model import Config, Device, Problem
from tilewright.targets.cuda import arguments

ALPHA, BETA = 2.0, 3.0
REAL = {16: np.float16, 32: np.float32, 64: np.float64}


@dataclass(frozen=True)
class Part:
    """The memory of an operand: ``segment`` holds its elements, at these offsets (batch axes..., rows,
    columns) from ``start``, and nothing else that may be used."""

    problem: Problem
    segment: Segment
    start: int
    at: NDArray[np.int64]

    def elements(self) -> NDArray[Any]:
        """What the memory holds, as complex128."""
        size, bits = self.problem.dtype.itemsize, self.problem.dtype.real_bits
        first = self.start - self.segment.address + self.at.ravel() * size
        raw = self.segment.data[first[:, None] + np.arange(size)].reshape(-1).view(REAL[bits])
        pairs = raw.astype(np.float64).reshape(*self.at.shape, -1)
        return np.asarray(pairs[..., 0] + 1j * (pairs[..., 1] if self.problem.dtype.is_complex else 0))


def part(p: Problem, which: int) -> Part:
    """Operand number ``which`` with small whole numbers, so that sums are exact, and NaN between them."""
    stored = ((p.k, p.m) if p.transposed_a else (p.m, p.k), (p.n, p.k) if p.transposed_b else (p.k, p.n))
    rows, columns = (*stored, (p.m, p.n))[which]
    axes = [*((extent, steps[which]) for extent, *steps in p.outer), (p.batch, p.strides[which])]
    axes += [(rows, 1), (columns, (p.lda, p.ldb, p.ldc)[which] or 0)]
    at = np.zeros([extent for extent, _ in axes], np.int64)
    for number, (extent, step) in enumerate(axes):
        at += (np.arange(extent) * step).reshape(-1, *(1,) * (len(axes) - number - 1))
    size, low = p.dtype.itemsize, int(at.min())
    # Element 0 is aligned as the problem says and no better.
    before = low * size % 16 + p.align % 16
    data = np.full(-(-(before + (int(at.max()) - low + 1) * size) // LINE) * LINE, 0xFF, np.uint8)
    used = np.zeros(data.size, bool)
    bytes_of = ((before + (at.ravel() - low) * size)[:, None] + np.arange(size)).ravel()
    drawn = np.random.default_rng(which).integers(-3, 4, (at.size, 1 + p.dtype.is_complex))
    data[bytes_of] = drawn.astype(REAL[p.dtype.real_bits]).view(np.uint8).ravel()
    used[bytes_of] = True
    # A vector may be read whole up to an element in it.
    lines = np.maximum.accumulate(used.reshape(-1, 16)[:, ::-1], axis=1)[:, ::-1].ravel()
    address = (1 << 50) + (1 << 40) * which
    written = used if which == 2 else np.zeros_like(used)
    return Part(p, Segment("ABC"[which], address, data, lines, written), address + before - low * size, at)


@dataclass(frozen=True)
class Batch:
    """Operands of a problem and the right answer."""

    parts: tuple[Part, Part, Part]
    expected: NDArray[Any]
    scalars: tuple[float, float]

    @staticmethod
    def of(p: Problem) -> Batch:
        parts = part(p, 0), part(p, 1), part(p, 2)
        a, b, c = (each.elements() for each in parts)
        a = a.swapaxes(-1, -2) if p.transposed_a else a
        b = b.swapaxes(-1, -2) if p.transposed_b else b
        alpha, beta = (ALPHA if p.alpha == "any" else 1.0), {"0": 0.0, "1": 1.0}.get(p.beta, BETA)
        expected = alpha * (a.conj() if p.conj_a else a) @ (b.conj() if p.conj_b else b)
        return Batch(parts, expected + beta * c if beta else expected, (alpha, beta))

    def wrong(self) -> str:
        """What of C is not the right answer, "" for nothing."""
        where = np.argwhere(self.parts[2].elements() != self.expected)
        return f"{len(where)} of {self.expected.size} elements, the first at {where[0]}" if len(where) else ""


def nested_wrongs(
    stencil: str, p: Problem, config: Config, device: Device, schedule: Schedule = SCHEDULES[0], grid: int = 2
) -> Iterator[str]:
    """What is wrong with the results of one launch on ``grid`` blocks; so is touching what is no element."""
    batch, chosen = Batch.of(p), STENCILS[stencil]
    alpha, beta = batch.scalars
    packed = arguments.pack(chosen.arguments(p, config), {"alpha": alpha, "beta": beta})
    packed.put([each.start for each in batch.parts])
    asked = chosen.launch(p, config)
    try:
        launch(
            compiled(chosen.source(p, config, device), device),
            (grid, 1, 1),
            asked.block[0],
            asked.shared,
            bytes(packed.block),
            Memory([each.segment for each in batch.parts]),
            schedule=schedule,
        )
        wrong = batch.wrong()
    except Fault as fault:
        wrong = str(fault)
    if wrong:
        yield f"{p.key} {config} {schedule}: {wrong}"
