"""The kernel of chains on operands of its own, as a call has it but for the GPU."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tests.emulator.machine import SCHEDULES, Schedule, launch
from tests.emulator.memory import Fault, Memory, Segment
from tests.emulator.products import LINE, compiled
from tilewright.catalog import STENCILS
from tilewright.dtypes import COMPLEX_HALF
from tilewright.model import ChainProblem, Config, Device, Factor, Stored
from tilewright.targets.cuda.arguments import pack

Array = np.ndarray[Any, np.dtype[Any]]
POISON = 0xFF


def offsets(stored: Stored, batch: int) -> Array:
    """Elements from the first to each: (batch or 1, rows, columns)."""
    count = batch if stored.stride else 1
    matrix, row, column = np.ogrid[:count, : stored.rows, : stored.columns]
    return np.asarray(matrix * stored.stride + row + column * stored.ld)


def wide(values: Array) -> Array:
    """Elements as complex128."""
    if values.dtype == COMPLEX_HALF:
        return np.asarray(values["re"].astype(np.complex128) + 1j * values["im"])
    return values.astype(np.complex128)


def drawn(shape: tuple[int, ...], dtype: np.dtype[Any], random: np.random.Generator) -> Array:
    """Random elements of a type."""
    real, imaginary = random.standard_normal((2, *shape))
    if dtype == COMPLEX_HALF:
        made = np.empty(shape, dtype)
        made["re"], made["im"] = real, imaginary
        return made
    return (real + 1j * imaginary if dtype.kind == "c" else real).astype(dtype)


class Operand:
    """A batch of matrices at an address that ``align`` bytes divide and no more, with poison between them."""

    def __init__(self, name: str, stored: Stored, p: ChainProblem, number: int, written: bool = False):
        at, dtype = offsets(stored, p.batch), p.dtype.numpy
        self.before = LINE + (p.align if p.align < 16 else 0)
        size = self.before + (int(at.max()) + 1) * dtype.itemsize
        data = np.full(-(-size // LINE) * LINE, POISON, np.uint8)
        self.places = self.before + at[..., None] * dtype.itemsize + np.arange(dtype.itemsize)
        if not written:
            self.values = drawn(at.shape, dtype, np.random.default_rng(number))
            data[self.places] = self.values.view(np.uint8).reshape(*at.shape, dtype.itemsize)
        used = np.zeros(data.size, bool)
        used[self.places] = True
        self.dtype = dtype
        self.segment = Segment(name, (1 << 45) + (number << 32), data, used, used & written)
        self.address = self.segment.address + self.before

    def found(self) -> Array:
        """What is in memory now."""
        return np.ascontiguousarray(self.segment.data[self.places]).view(self.dtype)[..., 0]


def op(values: Array, factor: Factor) -> Array:
    """op of matrices."""
    values = np.swapaxes(values, -1, -2) if factor.transposed else values
    return values.conj() if factor.conjugated else values


def chain_wrongs(
    p: ChainProblem, config: Config, device: Device, *, schedule: Schedule = SCHEDULES[0], grid: int = 2
) -> Iterator[str]:
    """What is wrong with the results of ``chain`` on a problem, beyond what rounding explains.

    The bound is that of each product, |A| |B| k u, of which the first one's is carried through the second
    (N. J. Higham, "Accuracy and Stability of Numerical Algorithms", 2002, section 3.5).
    """
    stencil = STENCILS["chain"]
    read = [Operand(f"operand {i}", stored, p, i + 1) for i, stored in enumerate(p.operands)]
    out = Operand("C", p.out, p, len(read) + 1, written=True)
    argument = pack(stencil.arguments(p, config))
    argument.put([*(x.address for x in read), out.address])
    asked = stencil.launch(p, config)
    try:
        launch(
            compiled(stencil.source(p, config, device), device),
            (min(grid, asked.grid[0]), 1, 1),
            asked.block[0],
            asked.shared,
            bytes(argument.block),
            Memory([x.segment for x in (*read, out)]),
            schedule=schedule,
        )
    except Fault as fault:
        yield f"{p.key} {config} {schedule}: {fault}"
        return
    factors = [op(wide(read[factor.operand].values), factor) for factor in p.factors]
    right, size = factors[0], abs(factors[0])
    for factor in factors[1:]:
        right, size = right @ factor, size @ abs(factor)
    if p.add is not None:
        added = op(wide(read[p.add.operand].values), p.add)
        right, size = right + added, size + abs(added)
    allowed = (
        4 * (sum(p.sizes) + 2) * p.dtype.unit_roundoff * size + p.dtype.storage_roundoff * abs(right) * 2
    )
    error = abs(wide(out.found()) - right)
    if not (error <= allowed).all():
        worst = np.unravel_index(np.nanargmax(np.nan_to_num(error / allowed, nan=np.inf)), error.shape)
        yield f"{p.key} {config} {schedule}: element {worst} is {out.found()[worst]}, not {right[worst]}"
