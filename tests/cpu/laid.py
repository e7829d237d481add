"""Interleaved operands for the kernels of ``compact``, and a kernel's result for them."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.cpu.test_lanes import Fenced
from tilewright.model import Config, Device, Problem, Source
from tilewright.stencils.cpu.compact.stencil import CompactStencil
from tilewright.stencils.cpu.ir import LAYOUT, launched, layout_words
from tilewright.targets.cpu import llvm

_built: dict[tuple[str, Device], Any] = {}


def kernel_of(source: Source, device: Device) -> Any:
    """The kernel of a program, made once where it comes again: numbers of matrices and distances of operands
    are arguments of it, and the compiler takes a hundred times as long as a call."""
    key = source.digest, device
    if key not in _built:
        if len(_built) > 20:
            _built.clear()
        _built[key] = llvm.load(llvm.compile(source, device))
    return _built[key]


class Laid:
    """Interleaved operands between pages that cannot be touched, at some distance from a line."""

    def __init__(self, p: Problem, shapes: list[tuple[int, ...]], shift: int, seed: int = 1):
        draw = np.random.default_rng(seed).standard_normal
        self.p = p
        self.values = [
            (draw(shape) + (1j * draw(shape) if p.dtype.is_complex else 0)).astype(p.dtype.name)
            for shape in shapes
        ]
        # What comes behind the operand is as much as what it is moved by, and belongs to the guard.
        self.operands = [
            Fenced(np.append(value.ravel(), np.ones(shift, value.dtype)), True) for value in self.values
        ]

    def run(self, config: Config, device: Device) -> np.ndarray:
        """The result, of which nothing was written that is not its own."""
        return self.by(CompactStencil().source(self.p, config, device), device)

    def by(self, source: Source, device: Device) -> np.ndarray:
        """The same by a program."""
        p, (a, b, c) = self.p, self.operands
        block = np.array([0] * (LAYOUT // 8) + list(layout_words(p)), np.int64)
        kernel = kernel_of(source, device)
        strides, number = launched(p)
        llvm.PROTOTYPE(kernel.address)(a.address, b.address, c.address, *strides, number, block.ctypes.data)
        shape = self.values[2].shape
        count = self.values[2].size
        assert all(operand.intact() for operand in self.operands)
        assert (c.view[count:] == 1).all()
        return np.asarray(c.view[:count].reshape(shape))
